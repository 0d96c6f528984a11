"""TFDS opens the output folder, with right counts, pixels and class names."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

import tfrec_tools


@pytest.fixture
def out(tmp_path, draw_folder, draw_image):
    source = draw_folder(tmp_path / "Flower Photos!", {"rose bush": 12, "daisy": 8})
    draw_image(source / "daisy" / "x.png", seed=99)
    tfrec_tools.convert(source, tmp_path / "out", splits={"train": 0.7, "test": 0.3}, num_shards=3)
    return tmp_path / "out"


def test_counts_names_and_sub_splits(out) -> None:
    builder = tfds.builder_from_directory(str(out))
    manifest = tfrec_tools.load_manifest(str(out))
    assert builder.info.name == manifest.name == "flower_photos"
    assert builder.info.features["label"].names == ["daisy", "rose bush"]
    for split in manifest.splits:
        info = builder.info.splits[split.name]
        assert info.num_examples == split.num_records
        assert info.num_bytes == split.payload_bytes
        assert info.shard_lengths == [shard.num_records for shard in split.shards]
    part = builder.as_dataset(split="train[10%:60%]")
    count = builder.info.splits["train"].num_examples
    assert len(list(part)) == round(count * 0.6) - round(count * 0.1)


def test_pixels_and_labels_are_those_of_the_files(out, tmp_path) -> None:
    builder = tfds.builder_from_directory(str(out))
    names = builder.info.features["label"].names
    seen = 0
    for split in ("train", "test"):
        for record in builder.as_dataset(split=split):
            file = tmp_path / "Flower Photos!" / record["filename"].numpy().decode()
            expected = tf.io.decode_image(file.read_bytes(), channels=3)
            np.testing.assert_array_equal(record["image"], expected)
            assert names[int(record["label"])] == file.parent.name
            assert (int(record["image_height"]), int(record["image_width"])) == (24, 32)
            seen += 1
    assert seen == 21


def test_supervised_pairs(out) -> None:
    builder = tfds.builder_from_directory(str(out))
    image, label = next(iter(builder.as_dataset(split="train", as_supervised=True)))
    assert (image.dtype, image.shape, label.dtype) == (tf.uint8, (24, 32, 3), tf.int64)


def test_tfds_load_finds_it_by_name_in_its_own_layout(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 2})
    tfrec_tools.convert(source, tmp_path / "data" / "pets" / "1.0.0", name="pets")
    found = tfds.load("pets", data_dir=str(tmp_path / "data"), split="train")
    assert len(found) == 4


def test_every_kind_is_described_so_that_tfds_reads_it(tmp_path, draw_folder, draw_image) -> None:
    source = draw_folder(tmp_path / "in", ["1/1.jpg", "0/2.jpg"])
    for name, seed in (("1", 5), ("2", 6)):
        draw_image(tmp_path / "masks" / f"{name}.png", seed, mode="L")
        (tmp_path / "masks" / f"{name}.bin").write_bytes(b"\xff\x00" + name.encode())
    schema = {
        "features": {
            "image": {"kind": "image"},
            "pixels": {
                "kind": "image",
                "from": "{folder}/{file}",
                "resize": {"height": 4, "width": 5},
                "encode": "raw",
            },
            "mask": {"kind": "mask", "from": "../masks/{stem}.png"},
            "blob": {"kind": "bytes", "from": "../masks/{stem}.bin"},
            "number": {"kind": "int64", "from": "stem"},
            "ratio": {"kind": "float32", "from": "stem"},
            "positive": {"kind": "bool", "from": "folder"},
            "where": {"kind": "text", "from": "folder"},
            "label": {"kind": "class_label", "target": True},
        }
    }
    tfrec_tools.convert(source, tmp_path / "out", schema=schema)
    found = {
        int(record["number"]): record
        for record in tfds.builder_from_directory(str(tmp_path / "out")).as_dataset("train")
    }
    record = found[1]
    mask = tf.io.decode_png((tmp_path / "masks" / "1.png").read_bytes())
    np.testing.assert_array_equal(record["mask"], mask)
    assert record["pixels"].shape == (4, 5, 3)
    assert record["blob"].numpy() == b"\xff\x001"
    assert (float(record["ratio"]), bool(record["positive"])) == (1.0, True)
    assert bool(found[2]["positive"]) is False
    assert (record["where"].numpy(), int(record["label"])) == (b"1", 1)


def test_files_are_only_what_old_versions_know(out) -> None:
    info = json.loads((out / "dataset_info.json").read_text())
    assert set(info) == {
        "description",
        "fileFormat",
        "name",
        "splits",
        "supervisedKeys",
        "version",
    }
    assert (out / "label.labels.txt").read_text() == "daisy\nrose bush\n"
