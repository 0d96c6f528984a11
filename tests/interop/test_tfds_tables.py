"""TFDS reads tables: exact values of every kind, lists, and records that lack a value."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import tensorflow_datasets as tfds

import tfrec_tools

LIST = {"many": True, "separator": "|"}
SCHEMA = {
    "features": {
        "age": {"kind": "int64"},
        "visits": {"kind": "int64"},
        "ratio": {"kind": "float32"},
        "share": {"kind": "float32", "missing": "empty"},
        "exact": {"kind": "float64"},
        "lossy": {"kind": "float64", "store": "float32"},
        "flag": {"kind": "bool"},
        "maybe": {"kind": "bool"},
        "note": {"kind": "text"},
        "remark": {"kind": "text"},
        "blob": {"kind": "bytes"},
        "colour": {"kind": "class_label", "names": ["blue", "red"], "missing": "empty"},
        "income": {"kind": "class_label", "target": True},
        "tags": {"kind": "class_label", **LIST},
        "words": {"kind": "text", **LIST},
        "counts": {"kind": "int64", **LIST},
        "sizes": {"kind": "float32", **LIST},
        "points": {"kind": "float64", **LIST},
        "born": {"kind": "timestamp"},
        "died": {"kind": "timestamp"},
        "grid": {"kind": "float32", "columns": ["g*"], "shape": [2, 2]},
        "pair": {"kind": "float64", "columns": ["q*"]},
        "level": {"kind": "text", "vocabulary": ["high", "low"]},
    }
}
TABLE = """\
age,visits,ratio,share,exact,lossy,flag,maybe,note,remark,blob,colour,income,tags,words,counts,\
sizes,points,born,died,g0,g1,g2,g3,q0,q1,level
30,5,1.5,0.25,0.1,0.1,true,true,é,hello,ab,red,<=50K,b|a,x|y,7|8,0.5|0.25,0.1|0.2,\
2020-01-01,2020-01-02,1,2,3,4,0.1,0.2,low
-4,,,,,,false,,n,,,,>50K,,,,,,1969-12-31,,5,6,7,8,0.3,,high
"""
MISSING_INT = np.iinfo(np.int64).min
NAN = math.nan
EXPECTED = {
    "age": [30, -4],
    "visits": [5, MISSING_INT],
    "ratio": [1.5, NAN],
    "exact": [0.1, NAN],
    "lossy": [float(np.float32(0.1)), NAN],
    "flag": [True, False],
    "note": ["é".encode(), b"n"],
    "remark": [b"hello", b""],
    "blob": [b"ab", b""],
    "colour": [1, MISSING_INT],
    "income": [0, 1],
    "tags": [[1, 0], []],
    "words": [[b"x", b"y"], []],
    "counts": [[7, 8], []],
    "sizes": [[0.5, 0.25], []],
    "points": [np.array([0.1, 0.2], "<f8").tobytes(), b""],
    "born": [1577836800, -86400],
    "died": [1577923200, MISSING_INT],
    "grid": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    "pair": [[0.1, 0.2], [0.3, NAN]],
    "level": [b"low", b"high"],
}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Two records in the order of their file; the second lacks all it may."""
    root = tmp_path_factory.mktemp("tables")
    (root / "kinds.csv").write_text(TABLE, encoding="utf-8")
    tfrec_tools.convert(root / "kinds.csv", root / "out", schema=SCHEMA, order="source")
    return root / "out"


@pytest.fixture(scope="module")
def builder(out):
    return tfds.builder_from_directory(str(out))


@pytest.fixture(scope="module")
def records(builder):
    return list(tfds.as_numpy(builder.as_dataset("train")))


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_exact(records, name) -> None:
    assert len(records) == 2
    for record, expected in zip(records, EXPECTED[name], strict=True):
        found = np.asarray(record[name])
        values = np.array(expected, found.dtype)
        assert found.shape == values.shape
        np.testing.assert_array_equal(found, values)


def test_missing_values_of_other_kinds(records) -> None:
    assert float(records[0]["share"]) == 0.25
    assert records[1]["share"] == np.finfo(np.float32).min
    assert [bool(record["maybe"]) for record in records] == [True, False]


def test_types(builder) -> None:
    features = builder.info.features
    assert features["visits"].dtype == np.int64
    assert features["age"].shape == ()
    assert features["exact"].shape == ()
    assert features["pair"].shape == (2,)
    assert features["grid"].shape == (2, 2)
    assert features["exact"].dtype == features["pair"].dtype == np.float64
    assert features["flag"].dtype == features["maybe"].dtype == np.bool_
    for name in ("tags", "words", "counts", "sizes"):
        assert isinstance(features[name], tfds.features.Sequence)
        assert features[name].shape == (None,)
    assert isinstance(features["income"], tfds.features.ClassLabel)
    assert isinstance(features["words"].feature, tfds.features.Text)
    assert features["counts"].dtype == np.int64
    assert features["sizes"].dtype == np.float32


def test_class_names(builder, out) -> None:
    features = builder.info.features
    assert features["income"].names == ["<=50K", ">50K"]
    assert features["tags"].feature.names == ["a", "b"]
    files = sorted(path.name for path in out.glob("*.labels.txt"))
    assert files == ["colour.labels.txt", "income.labels.txt", "tags.labels.txt"]
    assert (out / "colour.labels.txt").read_text() == "blue\nred\n"


def test_what_may_be_absent_is_optional(out) -> None:
    features = json.loads((out / "features.json").read_text())["featuresDict"]["features"]
    optional = {name for name, one in features.items() if one.get("tensor", {}).get("optional")}
    assert optional == {
        "visits",
        "share",
        "maybe",
        "remark",
        "blob",
        "colour",
        "points",
        "died",
    }


def test_counts(builder, out) -> None:
    manifest = tfrec_tools.load_manifest(str(out))
    info = builder.info.splits["train"]
    assert info.num_examples == 2
    assert info.num_bytes == manifest.split("train").payload_bytes
    assert builder.info.name == "kinds"


def test_labels_without_missing_ones_keep_their_names(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a,cls\n1,x\n2,y\n3,x\n")
    schema = {"features": {"a": {"kind": "int64"}, "cls": {"kind": "class_label", "target": True}}}
    tfrec_tools.convert(
        tmp_path / "t.csv",
        tmp_path / "out",
        schema=schema,
        splits={"train": 0.67, "test": 0.33},
        split_method="order",
        order="source",
    )
    builder = tfds.builder_from_directory(str(tmp_path / "out"))
    label = builder.info.features["cls"]
    found = [
        (int(record["a"]), label.int2str(int(record["cls"])))
        for split in ("train", "test")
        for record in builder.as_dataset(split)
    ]
    assert found == [(1, "x"), (2, "y"), (3, "x")]
