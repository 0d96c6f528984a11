"""TFDS opens the output folder, with right counts, pixels and class names."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

import tfrec_tools
from tfrec_tools.interop.tfds import tfds_files
from tfrec_tools.manifest import Manifest, ShardInfo, SplitInfo
from tfrec_tools.schema import Schema, TokensFeature


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


TABLE = """\
i,b,t,w,l,f,fe,d,de,when,mi,mf,md,tags,words,p1,p2,q1,q2
1,yes,ab,x,cat,1.5,2.5,0.1,0.2,2020-01-01,1|2,1.5|2,0.1|0.2,cat|dog,a|b,1,2,0.1,0.2
2,no,b,x,cat,0.5,2.5,0.1,0.2,2020-01-01,,,0.5,,,3,4,,0.4
-3,no,ç,y,dog,-2.5,3.5,1e300,0.3,1970-01-02,3,3,0.3,dog,c,5,6,0.5,0.6
"""
MANY = {"many": True, "separator": "|"}
KINDS = {
    "i": {"kind": "int64"},
    "b": {"kind": "bool"},
    "t": {"kind": "text"},
    "w": {"kind": "bytes"},
    "l": {"kind": "class_label", "missing": "empty", "names": ["cat", "dog"]},
    "f": {"kind": "float32"},
    "fe": {"kind": "float32", "missing": "empty"},
    "d": {"kind": "float64"},
    "de": {"kind": "float64", "missing": "empty"},
    "rounded": {"kind": "float64", "from": "de", "store": "float32", "missing": "empty"},
    "when": {"kind": "timestamp"},
    "mi": {"kind": "int64", **MANY},
    "mf": {"kind": "float32", **MANY},
    "md": {"kind": "float64", **MANY},
    "tags": {"kind": "class_label", "names": ["cat", "dog"], **MANY},
    "words": {"kind": "text", **MANY},
    "p": {"kind": "int64", "columns": ["p*"]},
    "p_float": {"kind": "float32", "columns": ["p*"], "shape": [2, 1]},
    "q": {"kind": "float64", "columns": ["q*"], "shape": [1, 2]},
}
ABSENT = {  # what TFDS gives for a value that a record does not have
    "i": (tf.int64, tf.int64.min),
    "b": (tf.bool, False),
    "t": (tf.string, b""),
    "w": (tf.string, b""),
    "l": (tf.int64, tf.int64.min),
    "f": (tf.float32, np.nan),  # stored, so not absent
    "fe": (tf.float32, float(tf.float32.min)),
    "d": (tf.float64, np.nan),
    "de": (tf.string, b""),
    "rounded": (tf.float32, float(tf.float32.min)),
    "when": (tf.int64, tf.int64.min),
    "mi": (tf.int64, []),
    "mf": (tf.float32, []),
    "md": (tf.string, b""),
    "tags": (tf.int64, []),
    "words": (tf.string, []),
}


def read_table(tmp_path, text: str, schema_features: dict | None = None):
    (tmp_path / "x.csv").write_text(text)
    schema = {"features": schema_features or KINDS}
    tfrec_tools.convert(
        tmp_path / "x.csv", tmp_path / "out", schema=schema, order="source", num_shards=1
    )
    builder = tfds.builder_from_directory(str(tmp_path / "out"))
    return builder, list(builder.as_dataset(split="train"))


def check(record, name: str, dtype: tf.DType, value) -> None:
    assert record[name].dtype == dtype
    assert repr(np.asarray(record[name].numpy()).tolist()) == repr(value), name


def test_every_kind_of_a_table_comes_back_exactly(tmp_path) -> None:
    text = TABLE.replace("3,4,,0.4", "3,4,0.3,0.4")
    builder, records = read_table(tmp_path, text)
    assert builder.info.features["l"].names == ["cat", "dog"]
    assert builder.info.features["tags"].feature.names == ["cat", "dog"]
    assert builder.info.supervised_keys is None
    expected = {
        "i": (tf.int64, [1, 2, -3]),
        "b": (tf.bool, [True, False, False]),
        "t": (tf.string, [b"ab", b"b", "ç".encode()]),
        "w": (tf.string, [b"x", b"x", b"y"]),
        "l": (tf.int64, [0, 0, 1]),
        "f": (tf.float32, [1.5, 0.5, -2.5]),
        "fe": (tf.float32, [2.5, 2.5, 3.5]),
        "d": (tf.float64, [0.1, 0.1, 1e300]),
        "de": (tf.float64, [0.2, 0.2, 0.3]),
        "when": (tf.int64, [1_577_836_800, 1_577_836_800, 86_400]),
        "mi": (tf.int64, [[1, 2], [], [3]]),
        "mf": (tf.float32, [[1.5, 2.0], [], [3.0]]),
        "md": (tf.float64, [[0.1, 0.2], [0.5], [0.3]]),
        "tags": (tf.int64, [[0, 1], [], [1]]),
        "words": (tf.string, [[b"a", b"b"], [], [b"c"]]),
        "p": (tf.int64, [[1, 2], [3, 4], [5, 6]]),
        "p_float": (tf.float32, [[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]),
        "q": (tf.float64, [[[0.1, 0.2]], [[0.3, 0.4]], [[0.5, 0.6]]]),
    }
    for name, (dtype, values) in expected.items():
        for record, value in zip(records, values, strict=True):
            check(record, name, dtype, value)
    assert float(records[0]["rounded"]) == float(np.float32(0.2))


def test_missing_values_are_absent_and_told_by_the_least_of_their_type(tmp_path) -> None:
    text = TABLE.replace("2,no,b,x,cat,0.5,2.5,0.1,0.2,2020-01-01,,,0.5,,", "," * 14)
    builder, (first, second, _) = read_table(tmp_path, text)
    for name, (dtype, value) in ABSENT.items():
        check(second, name, dtype, value)
    check(second, "q", tf.float64, [[np.nan, 0.4]])
    check(first, "i", tf.int64, 1)
    check(first, "l", tf.int64, 0)
    # TFDS cannot decode these where some are absent: the bytes are there.
    assert np.frombuffer(first["de"].numpy()).tolist() == [0.2]
    assert np.frombuffer(first["md"].numpy()).tolist() == [0.1, 0.2]
    assert builder.info.splits["train"].num_examples == 3


def test_only_one_input_makes_a_supervised_pair(tmp_path) -> None:
    label = {"kind": "class_label", "names": ["a", "b"], "target": True}
    text = {"kind": "text"}
    for number, (features, keys) in enumerate(
        [({"s": text, "l": label}, ("s", "l")), ({"s": text, "t": text, "l": label}, None)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        builder, _ = read_table(folder, "s,t,l\nx,y,a\nz,w,b\n", features)
        assert builder.info.supervised_keys == keys
    pairs = tfds.builder_from_directory(str(tmp_path / "0/out")).as_dataset(
        split="train", as_supervised=True
    )
    assert [(x.numpy(), int(y)) for x, y in pairs] == [(b"x", 0), (b"z", 1)]


def int_feature(*values: int) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def dataset_of(path, feature: TokensFeature, records: list[dict[str, tf.train.Feature]]):
    """What TFDS makes of records of one feature of tokens, called x."""
    name = "train-00000-of-00001.tfrecord"
    payloads = [
        tf.train.Example(features=tf.train.Features(feature=record)).SerializeToString()
        for record in records
    ]
    with tf.io.TFRecordWriter(str(path / name)) as writer:
        for payload in payloads:
            writer.write(payload)
    size = sum(map(len, payloads))
    num_missing = sum(not record["x"].int64_list.value for record in records)
    shard = ShardInfo(
        name=name,
        num_records=len(payloads),
        num_bytes=(path / name).stat().st_size,
        payload_bytes=size,
        crc32c="",
        fingerprint="",
    )
    manifest = Manifest(
        schema=Schema(name="texts", features={"x": feature}),
        splits=(
            SplitInfo(name="train", shards=(shard,), statistics={"x": {"missing": num_missing}}),
        ),
        fingerprint="",
        seed=0,
        order="hash",
        check="decode",
        compression=None,
        splits_rule={},
    )
    for file, content in tfds_files(manifest).items():
        (path / file).write_bytes(content)
    builder = tfds.builder_from_directory(str(path))
    return builder.info.features, list(tfds.as_numpy(builder.as_dataset("train")))


def test_tokens_are_sequences_of_numbers(tmp_path) -> None:
    records = [{"x": int_feature(5, 6, 7)}, {"x": int_feature()}, {"x": int_feature(2**40)}]
    features, found = dataset_of(tmp_path, TokensFeature(vocabulary=("a",)), records)
    assert isinstance(features["x"], tfds.features.Sequence)
    assert (features["x"].dtype, features["x"].shape) == (np.int64, (None,))
    assert [record["x"].tolist() for record in found] == [[5, 6, 7], [], [2**40]]


def test_packed_tokens_are_tensors_beside_their_lengths(tmp_path) -> None:
    feature = TokensFeature(tokenizer="t.model", pack=True, max_length=4)
    records = [
        {"x": int_feature(5, 6, 7, 8), "x_length": int_feature(4)},
        {"x": int_feature(9, 0, 0, 0), "x_length": int_feature(1)},
    ]
    features, found = dataset_of(tmp_path, feature, records)
    assert set(features) == {"x", "x_length"}
    assert isinstance(features["x"], tfds.features.Tensor)
    assert (features["x"].dtype, features["x"].shape) == (np.int64, (4,))
    assert (features["x_length"].dtype, features["x_length"].shape) == (np.int64, ())
    assert [record["x"].tolist() for record in found] == [[5, 6, 7, 8], [9, 0, 0, 0]]
    assert [int(record["x_length"]) for record in found] == [4, 1]
