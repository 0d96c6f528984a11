"""``schema.pbtxt`` of tables: types, counts of values, presence, domains and the target."""

from __future__ import annotations

import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

import tfrec_tools

LIST = {"many": True, "separator": "|"}
SCHEMA = {
    "features": {
        "age": {"kind": "int64", "min": 0, "max": 120},
        "visits": {"kind": "int64"},
        "filled": {"kind": "int64", "missing": 7},
        "ratio": {"kind": "float32", "min": -0.5},
        "share": {"kind": "float32", "missing": "empty"},
        "exact": {"kind": "float64", "min": 0},
        "lossy": {"kind": "float64", "store": "float32", "max": 1.5},
        "maybe": {"kind": "bool"},
        "note": {"kind": "text"},
        "level": {"kind": "text", "vocabulary": ['h"i', "lö"]},
        "blob": {"kind": "bytes"},
        "colour": {"kind": "class_label", "names": ["blue", "red", "sad"], "missing": "empty"},
        "income": {"kind": "class_label", "target": True},
        "tags": {"kind": "class_label", **LIST},
        "counts": {"kind": "int64", **LIST},
        "points": {"kind": "float64", **LIST},
        "born": {"kind": "timestamp"},
        "grid": {"kind": "float32", "columns": ["g*"], "shape": [2, 2]},
        "pair": {"kind": "float64", "columns": ["q*"]},
    }
}
TABLE = """\
age,visits,filled,ratio,share,exact,lossy,maybe,note,level,blob,colour,income,tags,counts,points,\
born,g0,g1,g2,g3,q0,q1
30,5,1,1.5,0.25,0.1,0.1,true,é,lö,ab,red,<=50K,b|a,7|8,0.1|0.2,2020-01-01,1,2,3,4,0.1,0.2
4,,,,,,,,n,"h""i",b,,>50K,,,,1969-12-31,5,6,7,,0.3,
"""


@pytest.fixture(scope="module")
def features(tmp_path_factory):
    """The features of the schema of two records, the second of which lacks all it may."""
    root = tmp_path_factory.mktemp("tables")
    (root / "kinds.csv").write_text(TABLE, encoding="utf-8")
    tfrec_tools.convert(root / "kinds.csv", root / "out", schema=SCHEMA)
    text = (root / "out" / "schema.pbtxt").read_text()
    schema = text_format.Parse(text, schema_pb2.Schema())
    assert [feature.name for feature in schema.feature] == sorted(SCHEMA["features"])
    return {feature.name: feature for feature in schema.feature}


def test_types(features) -> None:
    types = {name: schema_pb2.FeatureType.Name(one.type) for name, one in features.items()}
    floats = dict.fromkeys(["ratio", "share", "lossy", "grid"], "FLOAT")
    texts = dict.fromkeys(["exact", "note", "level", "blob", "points", "pair"], "BYTES")
    assert types == dict.fromkeys(features, "INT") | floats | texts


@pytest.mark.parametrize(
    "name",
    ["age", "filled", "ratio", "exact", "lossy", "note", "level", "blob", "income", "born", "pair"],
)
def test_what_every_record_has_is_a_scalar(features, name) -> None:
    feature = features[name]
    assert feature.HasField("shape")
    assert list(feature.shape.dim) == []
    assert not feature.HasField("value_count")
    assert (feature.presence.min_fraction, feature.presence.min_count) == (1.0, 1)


@pytest.mark.parametrize("name", ["visits", "share", "maybe", "colour", "points"])
def test_what_a_record_may_lack_has_at_most_one_value(features, name) -> None:
    feature = features[name]
    assert not feature.HasField("shape")
    assert (feature.value_count.min, feature.value_count.max) == (0, 1)
    assert (feature.presence.min_fraction, feature.presence.min_count) == (0.0, 0)


@pytest.mark.parametrize("name", ["tags", "counts"])
def test_lists_have_any_number_of_values(features, name) -> None:
    feature = features[name]
    assert not feature.HasField("shape")
    assert feature.value_count.HasField("min")
    assert feature.value_count.min == 0
    assert not feature.value_count.HasField("max")
    assert (feature.presence.min_fraction, feature.presence.min_count) == (0.0, 0)


def test_packed_values_have_their_shape(features) -> None:
    feature = features["grid"]
    assert [dim.size for dim in feature.shape.dim] == [2, 2]
    assert (feature.presence.min_fraction, feature.presence.min_count) == (1.0, 1)


def test_domains(features) -> None:
    domains = {name: one.WhichOneof("domain_info") for name, one in features.items()}
    assert domains == dict.fromkeys(features) | {
        "age": "int_domain",
        "ratio": "float_domain",
        "lossy": "float_domain",
        "maybe": "bool_domain",
        "note": "natural_language_domain",
        "level": "string_domain",
        "colour": "int_domain",
        "income": "int_domain",
        "tags": "int_domain",
    }
    assert (features["age"].int_domain.min, features["age"].int_domain.max) == (0, 120)
    assert not features["age"].int_domain.is_categorical
    assert features["ratio"].float_domain.min == -0.5
    assert not features["ratio"].float_domain.HasField("max")
    assert features["lossy"].float_domain.max == 1.5
    level = features["level"].string_domain
    assert (level.name, list(level.value)) == ("level", ['h"i', "lö"])
    assert level.is_categorical == schema_pb2.StringDomain.CATEGORICAL_YES
    colour = features["colour"].int_domain
    assert (colour.name, colour.min, colour.max, colour.is_categorical) == ("colour", 0, 2, True)
    assert (features["tags"].int_domain.min, features["tags"].int_domain.max) == (0, 1)


def test_only_the_target_is_marked(features) -> None:
    tags = {name: list(one.annotation.tag) for name, one in features.items()}
    assert tags == {key: [] for key in features} | {"income": ["target"]}
