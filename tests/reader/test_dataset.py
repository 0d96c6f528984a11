"""``reader.open``: the facts of a dataset without TensorFlow."""

from __future__ import annotations

import builtins
import subprocess
import sys

import pyarrow as pa
import pytest

import tfrec_tools
from tfrec_tools import reader
from tfrec_tools.errors import DatasetError, RequestError


@pytest.fixture
def out(tmp_path, draw_folder):
    source = draw_folder(tmp_path / "in", {"train/cat": 5, "train/dog": 3, "test/cat": 2})
    tfrec_tools.convert(source, tmp_path / "out", num_shards=2)
    return tmp_path / "out"


def test_facts(out) -> None:
    dataset = reader.open(out)
    assert dataset.name == "in"
    assert list(dataset.splits) == ["train", "test"]
    assert (dataset.num_records("train"), dataset.num_records()) == (8, 10)
    assert dataset.class_names() == dataset.class_names("label") == ("cat", "dog")
    assert dataset.class_counts("test") == {"cat": 2, "dog": 0}
    assert dataset.schema.target == "label"
    assert dataset.shard_paths("test") == [
        f"{out}/test-00000-of-00002.tfrecord",
        f"{out}/test-00001-of-00002.tfrecord",
    ]
    assert repr(dataset) == (
        f"<dataset 'in' in {out}: train: 8 records, test: 2 records; image, label, filename>"
    )


def test_parse_spec_is_for_pipelines_of_ones_own(out) -> None:
    import tensorflow as tf

    dataset = reader.open(f"file://{out}")
    spec = dataset.parse_spec()
    assert spec == {
        "filename": tf.io.FixedLenFeature((), tf.string),
        "image": tf.io.FixedLenFeature((), tf.string),
        "image_height": tf.io.FixedLenFeature((), tf.int64),
        "image_width": tf.io.FixedLenFeature((), tf.int64),
        "label": tf.io.FixedLenFeature((), tf.int64),
    }
    payloads = next(iter(tf.data.TFRecordDataset(dataset.shard_paths("train")).batch(8)))
    assert tf.io.parse_example(payloads, spec)["label"].shape == (8,)
    assert list(dataset.parse_spec(["label"])) == ["label"]


def test_names_that_are_none(out) -> None:
    dataset = reader.open(out)
    with pytest.raises(DatasetError, match=r"has the splits train, test \(asked for 'dev'\)"):
        dataset.num_records("dev")
    with pytest.raises(DatasetError, match=r"must be asked for \(got 'image'; known: label\)"):
        dataset.class_names("image")
    with pytest.raises(RequestError, match="features must be among filename, image"):
        dataset.parse_spec(["colour"])


def test_a_missing_tensorflow_is_told_apart_from_a_broken_one(out) -> None:
    code = (
        "import sys\nsys.modules['tensorflow'] = None\nfrom tfrec_tools import reader\n"
        f"print(reader.open({str(out)!r}).name)\nreader.load({str(out)!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "in\n"
    assert done.stderr.strip().endswith(
        "tfrec_tools.errors.MissingDependencyError: reading with tf.data needs TensorFlow; install "
        "it with: pip install 'tfrec-tools[tensorflow]'"
    )
    assert builtins.open is not reader.open


@pytest.fixture
def table(tmp_path):
    source = tmp_path / "t.csv"
    source.write_text("n,name,tags,ratio,x,y,cls\n1,é,a|b,0.5,1,2,p\n,,,,3,4,q\n")
    tags = {"kind": "text", "many": True, "separator": "|"}
    schema = {
        "features": {
            "n": {"kind": "int64"},
            "name": {"kind": "text"},
            "tags": tags,
            "ratio": {"kind": "float64"},
            "xy": {"kind": "float32", "columns": ["x", "y"]},
            "cls": {"kind": "class_label", "target": True},
        }
    }
    tfrec_tools.convert(source, tmp_path / "out", schema=schema, order="source")
    return tmp_path / "out"


def test_facts_of_a_table(table) -> None:
    dataset = reader.open(table)
    assert repr(dataset) == (
        f"<dataset 't' in {table}: train: 2 records; n, name, tags, ratio, xy, cls>"
    )
    assert dataset.names() == ["n", "ratio", "xy", "cls"]
    assert dataset.names(["tags", "n_present", "tags"]) == ["tags", "n_present"]
    assert {name: (one.feature, one.what) for name, one in dataset.derived.items()} == {
        "n_present": ("n", "present"),
        "name_present": ("name", "present"),
        "tags_present": ("tags", "present"),
        "tags_length": ("tags", "length"),
        "ratio_present": ("ratio", "present"),
    }
    assert dataset.class_counts("train") == {"p": 1, "q": 1}


class TestDefaultNames:
    """Which features `load` reads when none are named."""

    VALUES = {"int64": [1, 2], "class_label": ["a", "b"], "float32": [0.5, 1.5]}

    def names(self, out, target: str | None, **kinds: str) -> list[str]:
        """Return the names of a dataset with features of these kinds; ``x__line``: from line."""
        schema: dict[str, dict[str, object]] = {}
        columns = {}
        for key, kind in kinds.items():
            name, _, column = key.partition("__")
            schema[name] = {"kind": kind} | ({"from": column} if column else {})
            columns[column or name] = self.VALUES.get(kind, ["x", "y"])
        if target is not None:
            schema[target]["target"] = True
        tfrec_tools.convert(pa.table(columns), out, schema={"features": schema})
        return reader.open(out).names()

    @pytest.mark.parametrize(
        ("target", "kinds", "expected"),
        [
            # Labelled documents, and lines.
            ("label", {"text": "text", "label": "class_label", "filename": "text"}, "text label"),
            ("label", {"label": "class_label", "text": "text", "name__stem": "text"}, "label text"),
            (None, {"text": "text", "filename": "text", "line": "int64"}, "text"),
            (None, {"text": "text", "number__line": "int64", "where__folder": "text"}, "text"),
            ("text", {"text": "text", "filename": "text", "line": "int64"}, "filename line text"),
            (None, {"data": "bytes", "extension": "text"}, "data"),
            ("label", {"a": "text", "b": "bytes", "label": "class_label"}, "a b label"),
            # There is nothing else.
            (None, {"filename": "text", "line": "int64"}, "line"),
            (None, {"line": "int64"}, "line"),
            ("label", {"line": "int64", "label": "class_label"}, "line label"),
            # Numbers are read, and what is called like a place is one only as text.
            (None, {"text": "text", "line": "int64", "size": "int64"}, "size"),
            (None, {"text": "text", "line": "float32", "stem": "int64"}, "line stem"),
            ("line", {"text": "text", "line": "int64", "size": "int64"}, "line size"),
            ("filename", {"size": "int64", "filename": "text", "note": "text"}, "filename size"),
        ],
    )
    def test_of_tables(self, tmp_path, target, kinds, expected) -> None:
        found = self.names(tmp_path / "out", target, **kinds)
        assert sorted(found) == sorted(expected.split())
        assert found == [
            name for name in reader.open(tmp_path / "out").schema.features if name in found
        ]

    def test_of_images(self, tmp_path, out, draw_image) -> None:
        assert reader.open(out).names() == ["image", "label"]
        draw_image(tmp_path / "pictures" / "0.png")
        (tmp_path / "pictures" / "t.csv").write_text("file,line,note\n0.png,7,hello\n")
        schema = {
            "features": {
                "image": {"kind": "image", "from": "file"},
                "line": {"kind": "int64"},
                "note": {"kind": "text"},
            }
        }
        source = tmp_path / "pictures" / "t.csv"
        tfrec_tools.convert(source, tmp_path / "listed", schema=schema)
        assert reader.open(tmp_path / "listed").names() == ["image", "line"]


def test_parse_spec_of_a_table_has_defaults_only_where_a_value_may_be_absent(table) -> None:
    import tensorflow as tf

    dataset = reader.open(table)
    spec = dataset.parse_spec()
    assert spec == {
        "cls": tf.io.FixedLenFeature((), tf.int64),
        "n": tf.io.FixedLenFeature((), tf.int64, 0),
        "name": tf.io.FixedLenFeature((), tf.string, b""),
        "ratio": tf.io.FixedLenFeature((), tf.string),
        "tags": tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int64),
        "xy": tf.io.FixedLenFeature((2,), tf.float32),
    }
    payloads = next(iter(tf.data.TFRecordDataset(dataset.shard_paths("train")).batch(2)))
    parsed = tf.io.parse_example(payloads, spec)
    assert parsed["n"].numpy().tolist() == [1, 0]
    assert parsed["name"].numpy().tolist() == ["é".encode(), b""]
    assert parsed["tags"].to_list() == [[b"a", b"b"], []]
    assert parsed["xy"].numpy().tolist() == [[1, 2], [3, 4]]
    with pytest.raises(RequestError) as caught:
        dataset.parse_spec(["n_present"])
    assert str(caught.value) == (
        "features must be among cls, n, name, ratio, tags, xy (got 'n_present')"
    )
