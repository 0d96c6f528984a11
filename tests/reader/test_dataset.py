"""``reader.open``: the facts of a dataset without TensorFlow."""

from __future__ import annotations

import builtins
import subprocess
import sys

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
