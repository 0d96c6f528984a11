"""``schema.pbtxt`` is a schema of TensorFlow Metadata."""

from __future__ import annotations

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

import tfrec_tools
from tfrec_tools.interop.tfmd import schema_pbtxt
from tfrec_tools.manifest import Manifest
from tfrec_tools.schema import Schema, TokensFeature


def test_schema_says_type_presence_domain_and_target(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"ä": 1, "b": 1, "c": 1})
    tfrec_tools.convert(source, tmp_path / "out")
    text = (tmp_path / "out" / "schema.pbtxt").read_text()
    schema = text_format.Parse(text, schema_pb2.Schema())
    features = {feature.name: feature for feature in schema.feature}
    assert list(features) == ["filename", "image", "image_height", "image_width", "label"]
    label = features["label"]
    assert label.type == schema_pb2.INT
    assert (label.int_domain.min, label.int_domain.max) == (0, 2)
    assert label.int_domain.is_categorical
    assert list(label.annotation.tag) == ["target"]
    assert features["image"].type == schema_pb2.BYTES
    assert features["image"].HasField("image_domain")
    assert features["filename"].HasField("natural_language_domain")
    for feature in features.values():
        assert feature.HasField("shape")
        assert len(feature.shape.dim) == 0
        assert (feature.presence.min_fraction, feature.presence.min_count) == (1.0, 1)


def parsed(tmp_path, text: str, features: dict[str, dict]) -> dict[str, schema_pb2.Feature]:
    (tmp_path / "x.csv").write_text(text)
    out = tmp_path / "out"
    tfrec_tools.convert(tmp_path / "x.csv", out, schema={"features": features})
    schema = text_format.Parse((out / "schema.pbtxt").read_text(), schema_pb2.Schema())
    return {feature.name: feature for feature in schema.feature}


def test_tables_have_shapes_counts_and_domains(tmp_path) -> None:
    many = {"many": True, "separator": "|"}
    features = parsed(
        tmp_path,
        "i,f,d,b,t,tags,p1,p2\n1,0.5,0.5,yes,x,a|b,1,2\n,,,no,y,,3,4\n",
        {
            "i": {"kind": "int64", "min": 0, "max": 9},
            "filled": {"kind": "int64", "from": "i", "min": 0, "missing": -1},
            "f": {"kind": "float32", "min": 0.25, "max": 1, "target": True},
            "fe": {"kind": "float32", "from": "f", "missing": "empty"},
            "d": {"kind": "float64", "min": 0},
            "rounded": {"kind": "float64", "from": "d", "store": "float32", "min": 0},
            "b": {"kind": "bool"},
            "t": {"kind": "text", "vocabulary": ["x", "y"], "missing": "ä"},
            "tags": {"kind": "class_label", "names": ["a", "b"], **many},
            "p": {"kind": "int64", "columns": ["p*"], "shape": [2, 1]},
        },
    )
    types = {name: schema_pb2.FeatureType.Name(feature.type) for name, feature in features.items()}
    assert types == {
        "b": "INT",
        "d": "BYTES",
        "f": "FLOAT",
        "fe": "FLOAT",
        "filled": "INT",
        "i": "INT",
        "p": "INT",
        "rounded": "FLOAT",
        "t": "BYTES",
        "tags": "INT",
    }
    for name in ("i", "fe"):  # a record has no such value
        assert (features[name].value_count.min, features[name].value_count.max) == (0, 1)
        assert features[name].presence.min_fraction == 0
    assert features["tags"].HasField("value_count")
    assert not features["tags"].value_count.HasField("max")
    assert (features["tags"].int_domain.min, features["tags"].int_domain.max) == (0, 1)
    for name in ("b", "d", "f", "filled", "rounded", "t", "p"):  # NaN and others stand for it
        assert features[name].HasField("shape")
        assert features[name].presence.min_fraction == 1
    assert [dim.size for dim in features["p"].shape.dim] == [2, 1]
    assert (features["i"].int_domain.min, features["i"].int_domain.max) == (0, 9)
    assert features["filled"].int_domain.min == -1
    assert not features["filled"].int_domain.HasField("max")
    assert (features["f"].float_domain.min, features["f"].float_domain.max) == (0.25, 1)
    assert features["rounded"].float_domain.min == 0
    assert features["d"].WhichOneof("domain_info") is None
    assert features["b"].HasField("bool_domain")
    assert list(features["t"].string_domain.value) == ["x", "y", "ä"]
    assert [name for name, one in features.items() if one.annotation.tag] == ["f"]


def test_tokens_are_lists_and_packed_ones_have_a_shape() -> None:
    features = {
        "words": TokensFeature(vocabulary=("a", "b"), num_oov=3),
        "pieces": TokensFeature(tokenizer="t.model", target=True),
        "packed": TokensFeature(tokenizer="t.model", pack=True, max_length=8),
    }
    manifest = Manifest(
        schema=Schema(features=features),
        splits=(),
        fingerprint="",
        seed=0,
        order="hash",
        check="decode",
        compression=None,
        splits_rule={},
    )
    schema = text_format.Parse(schema_pbtxt(manifest).decode(), schema_pb2.Schema())
    found = {feature.name: feature for feature in schema.feature}
    assert list(found) == ["packed", "packed_length", "pieces", "words"]
    assert {feature.type for feature in found.values()} == {schema_pb2.INT}
    for name in ("words", "pieces"):
        assert not found[name].HasField("shape")
        assert found[name].value_count.HasField("min")
        assert found[name].value_count.min == 0
        assert found[name].presence.min_fraction == 0.0
    assert [dim.size for dim in found["packed"].shape.dim] == [8]
    assert list(found["packed_length"].shape.dim) == []
    for name in ("packed", "packed_length"):
        assert not found[name].HasField("value_count")
        assert (found[name].presence.min_fraction, found[name].presence.min_count) == (1.0, 1)
    domains = {name: feature.WhichOneof("domain_info") for name, feature in found.items()}
    assert domains == dict.fromkeys(found) | {"words": "int_domain"}
    assert (found["words"].int_domain.min, found["words"].int_domain.max) == (0, 5)
    assert found["words"].int_domain.is_categorical
    assert list(found["pieces"].annotation.tag) == ["target"]
