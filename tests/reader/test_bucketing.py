"""Bucketing by length: which records land in which batch, padding, order, errors."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from PIL import Image

import tfrec_tools
from tfrec_tools import reader
from tfrec_tools.errors import RequestError
from tfrec_tools.reader.values import ValueReader
from tfrec_tools.schema import TokensFeature

LENGTHS = [1, 5, 2, 0, 9, 3, 4, 1, 2, 6]
IDS = [[10 * number + place for place in range(n)] for number, n in enumerate(LENGTHS)]
IDS[4][0] = 7  # no 0 among the ids: 0 is what pads
IDS[0] = [3]
TABLE = {
    "n": pa.array(range(10), pa.int64()),
    "ids": pa.array(IDS, pa.list_(pa.int64())),
    "tags": pa.array([["ab"[k % 2] for k in range(n % 3)] for n in range(10)]),
    "scores": pa.array([[0.5] * (n % 2) for n in range(10)], pa.list_(pa.float64())),
    "note": pa.array([f"note {n}" for n in range(10)]),
    "cls": pa.array(["x", "y"] * 5),
}
SCHEMA = {
    "features": {
        "n": {"kind": "int64"},
        "ids": {"kind": "int64", "many": True},
        "tags": {"kind": "class_label", "many": True},
        "scores": {"kind": "float64", "many": True},
        "note": {"kind": "text"},
        "cls": {"kind": "class_label", "target": True},
    }
}
# Buckets of lengths 0 to 2, 3 to 4, and from 5.
BOUNDARIES = [3, 5]


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Ten records with lists, numbered, in the order of the table."""
    out = tmp_path_factory.mktemp("lists") / "out"
    tfrec_tools.convert(pa.table(TABLE), out, schema=SCHEMA, order="source")
    return out


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """2,000 numbered records in four shards; number n has a list of n % 23 times n + 1."""
    out = tmp_path_factory.mktemp("many") / "out"
    numbers = range(2000)
    table = pa.table({"n": numbers, "ids": [[n + 1] * (n % 23) for n in numbers]})
    schema = {"features": {"n": {"kind": "int64"}, "ids": {"kind": "int64", "many": True}}}
    tfrec_tools.convert(table, out, schema=schema, num_shards=4)
    return out


def load(out, names=("n", "ids"), **options) -> tf.data.Dataset:
    options = {
        "batch_size": 2,
        "shuffle": False,
        "as_dict": True,
        "bucket_boundaries": BOUNDARIES,
        "features": names,
    } | options
    return reader.load(out, **options)


def numbers(dataset: tf.data.Dataset) -> list[list[int]]:
    return [batch["n"].numpy().tolist() for batch in dataset]


class TestBatches:
    def test_which_records_are_together_and_how_they_are_padded(self, lists) -> None:
        batches = [(b["n"].numpy().tolist(), b["ids"].numpy().tolist()) for b in load(lists)]
        assert batches == [
            # As their buckets get full, then the rest of each.
            ([0, 2], [[3, 0], [20, 21]]),
            ([1, 4], [[10, 11, 12, 13, 14, 0, 0, 0, 0], [7, *range(41, 49)]]),
            ([5, 6], [[50, 51, 52, 0], [60, 61, 62, 63]]),
            ([3, 7], [[0], [70]]),
            ([8], [[80, 81]]),
            ([9], [[90, 91, 92, 93, 94, 95]]),
        ]

    def test_they_are_those_of_bucket_by_sequence_length(self, many) -> None:
        boundaries, sizes = [4, 9, 16], [64, 32, 16, 8]
        options = {"shuffle": False, "features": ["n", "ids"], "as_dict": True}
        for drop in (False, True):
            records = reader.load(many, batch_size=None, **options)
            expected = list(
                records.bucket_by_sequence_length(
                    lambda record: tf.size(record["ids"]), boundaries, sizes, drop_remainder=drop
                )
            )
            found = list(
                reader.load(
                    many,
                    bucket_boundaries=boundaries,
                    bucket_batch_sizes=sizes,
                    drop_remainder=drop,
                    **options,
                )
            )
            assert len(found) == len(expected) == (132 if drop else 135)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one["n"], other["n"])
                np.testing.assert_array_equal(one["ids"], other["ids"])
                assert one["ids"].dtype == tf.int64

    def test_sizes_of_batches_by_bucket(self, lists) -> None:
        found = numbers(load(lists, bucket_batch_sizes=[3, 1, 4]))
        assert found == [[0, 2, 3], [5], [6], [7, 8], [1, 4, 9]]

    def test_numbers_of_numpy_are_taken(self, lists) -> None:
        sizes = np.array([3, 1, 4], np.int32)
        found = numbers(load(lists, bucket_boundaries=np.array([3, 5]), bucket_batch_sizes=sizes))
        assert found == [[0, 2, 3], [5], [6], [7, 8], [1, 4, 9]]

    def test_drop_remainder(self, lists) -> None:
        assert numbers(load(lists, drop_remainder=True)) == [[0, 2], [1, 4], [5, 6], [3, 7]]

    def test_repeat_fills_buckets_across_epochs(self, lists) -> None:
        found = numbers(load(lists, repeat=2))
        assert found == [
            *([0, 2], [1, 4], [5, 6], [3, 7]),
            *([8, 0], [9, 1], [2, 3], [5, 6], [7, 8], [4, 9]),
        ]
        endless = load(lists, repeat=True)
        assert endless.cardinality() == tf.data.INFINITE_CARDINALITY
        assert numbers(endless.take(6)) == found[:6]

    def test_an_empty_split(self, lists, tmp_path) -> None:
        (tmp_path / "t.csv").write_text("n,ids\n1,2|3\n")
        listed = {"kind": "int64", "many": True, "separator": "|"}
        tfrec_tools.convert(
            tmp_path / "t.csv",
            tmp_path / "out",
            schema={"features": {"n": {"kind": "int64"}, "ids": listed}},
            split_files={"train": "*", "test": "none/*"},
        )
        assert list(load(tmp_path / "out", split="test")) == []


class TestWhatIsRead:
    def test_lists_are_padded_whatever_ragged_says(self, lists) -> None:
        names = ["ids", "tags", "scores", "tags_length", "ids_length", "note", "cls"]
        for ragged in (True, False):
            first, second, *_ = load(lists, names, bucket_by="ids", ragged=ragged)
            assert list(first) == names
            assert {name: one.numpy().tolist() for name, one in first.items()} == {
                "ids": [[3, 0], [20, 21]],
                "tags": [[-1, -1], [0, 1]],
                "scores": [[], []],
                "tags_length": [0, 2],
                "ids_length": [1, 2],
                "note": [b"note 0", b"note 2"],
                "cls": [0, 0],
            }
            assert second["tags"].numpy().tolist() == [[0], [0]]
            assert second["scores"].numpy().tolist() == [[0.5], [0.0]]
            assert second["ids_length"].numpy().tolist() == [5, 9]

    def test_shapes(self, lists) -> None:
        pair = load(lists, ["ids", "cls"], as_dict=False)
        assert pair.element_spec == (
            tf.TensorSpec((None, None), tf.int64),
            tf.TensorSpec((None,), tf.int64),
        )
        assert pair.cardinality() == tf.data.UNKNOWN_CARDINALITY
        full = load(lists, ["ids", "cls"], drop_remainder=True)
        assert full.element_spec["ids"] == tf.TensorSpec((2, None), tf.int64)
        several = load(lists, ["ids"], drop_remainder=True, bucket_batch_sizes=[3, 2, 1])
        assert several.element_spec["ids"] == tf.TensorSpec((None, None), tf.int64)

    def test_the_target_beside_the_list(self, lists) -> None:
        ids, classes = next(iter(load(lists, ["ids", "cls"], as_dict=False)))
        assert (ids.numpy().tolist(), classes.numpy().tolist()) == ([[3, 0], [20, 21]], [0, 0])

    @pytest.mark.parametrize(
        ("name", "boundaries", "expected"),
        [
            ("tags", [1, 2], [[0, 3], [1, 4], [2, 5], [6, 9], [7], [8]]),
            ("scores", [1], [[0, 2], [1, 3], [4, 6], [5, 7], [8], [9]]),
        ],
    )
    def test_labels_and_float64_have_lengths_too(self, lists, name, boundaries, expected) -> None:
        found = load(lists, ["n"], bucket_by=name, bucket_boundaries=boundaries)
        assert numbers(found) == expected

    def test_a_record_without_a_list_has_length_0(self, tmp_path) -> None:
        table = pa.table({"n": [0, 1, 2, 3], "ids": [[5], None, [6, 7], None]})
        schema = {"features": {"n": {"kind": "int64"}, "ids": {"kind": "int64", "many": True}}}
        tfrec_tools.convert(table, tmp_path / "out", schema=schema, order="source")
        found = load(tmp_path / "out", bucket_boundaries=[1])
        assert numbers(found) == [[0, 2], [1, 3]]
        assert [batch["ids"].numpy().tolist() for batch in found] == [[[5, 0], [6, 7]], [[], []]]

    def test_images_beside_lists(self, tmp_path) -> None:
        lines = ["file,n,words"]
        for number in range(6):
            size = (48, 40) if number % 2 else (12, 10)
            Image.new("RGB", size, (number * 10, 20, 30)).save(tmp_path / f"{number}.jpg")
            lines.append(f"{number}.jpg,{number},{'|'.join('xyz'[: number % 3])}")
        (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
        schema = {
            "features": {
                "image": {"kind": "image", "from": "file"},
                "n": {"kind": "int64"},
                "words": {"kind": "text", "many": True, "separator": "|"},
            }
        }
        tfrec_tools.convert(tmp_path / "list.csv", tmp_path / "out", schema=schema, order="source")
        names = ["image", "n", "words"]
        options = {"image_size": (6, 8), "fast_decode": True}
        dataset = load(tmp_path / "out", names, bucket_boundaries=[2], **options)
        assert dataset.element_spec["image"] == tf.TensorSpec((None, 6, 8, 3), tf.uint8)
        batches = list(dataset)
        assert numbers(batches) == [[0, 1], [3, 4], [2, 5]]
        assert [batch["words"].numpy().tolist() for batch in batches] == [
            [[b""], [b"x"]],
            [[b""], [b"x"]],
            [[b"x", b"y"], [b"x", b"y"]],
        ]
        records = reader.load(
            tmp_path / "out", batch_size=None, features=names, shuffle=False, **options
        )
        expected = {int(record["n"]): record["image"] for record in records}
        for batch in batches:
            for place, number in enumerate(batch["n"].numpy().tolist()):
                np.testing.assert_array_equal(batch["image"][place], expected[number])


class TestTokens:
    """Tokens are read as lists, and packed ones as sequences of equal length."""

    WORDS = {"kind": "tokens", "vocabulary": ["a", "b", "c", "<end>"]}
    TABLE = pa.table({"text": ["a b", "c", "", "b z c a"], "cls": ["x", "y", "y", "x"]})

    def converted(self, out, **options):
        schema = {
            "features": {
                "ids": self.WORDS | {"from": "text"} | options,
                "cls": {"kind": "class_label", "target": True},
            }
        }
        if options.get("pack"):
            del schema["features"]["cls"]  # a sequence is of several texts
        tfrec_tools.convert(self.TABLE, out, schema=schema, order="source")
        return out

    def test_lists(self, tmp_path) -> None:
        out = self.converted(tmp_path / "out")
        ids, classes = next(iter(reader.load(out, shuffle=False)))
        assert ids.to_list() == [[2, 3], [4], [], [3, 1, 4, 2]]
        assert classes.numpy().tolist() == [0, 1, 1, 0]
        ids, _ = next(iter(reader.load(out, shuffle=False, ragged=False)))
        expected = [[2, 3, 0, 0], [4, 0, 0, 0], [0, 0, 0, 0], [3, 1, 4, 2]]
        assert ids.numpy().tolist() == expected
        names = ["ids", "ids_length"]
        for ragged in (True, False):
            x = next(iter(reader.load(out, shuffle=False, ragged=ragged, features=names)))
            assert x["ids_length"].numpy().tolist() == [2, 1, 0, 4]
        records = list(reader.load(out, batch_size=None, shuffle=False, features=names))
        assert [record["ids"].numpy().tolist() for record in records] == [
            [2, 3],
            [4],
            [],
            [3, 1, 4, 2],
        ]
        assert [int(record["ids_length"]) for record in records] == [2, 1, 0, 4]

    def test_buckets(self, tmp_path) -> None:
        out = self.converted(tmp_path / "out")
        dataset = reader.load(out, shuffle=False, batch_size=2, bucket_boundaries=[2])
        assert [(x.numpy().tolist(), y.numpy().tolist()) for x, y in dataset] == [
            ([[4], [0]], [1, 1]),
            ([[2, 3, 0, 0], [3, 1, 4, 2]], [0, 0]),
        ]

    def test_packed_sequences(self, tmp_path) -> None:
        out = self.converted(tmp_path / "out", pack=True, max_length=4, end_token="<end>")
        names = ["ids", "ids_length"]
        assert reader.open(out).names() == ["ids"]
        dataset = reader.load(out, shuffle=False, features=names, drop_remainder=True, batch_size=3)
        assert dataset.element_spec == {
            "ids": tf.TensorSpec((3, 4), tf.int64),
            "ids_length": tf.TensorSpec((3,), tf.int64),
        }
        (batch,) = dataset
        assert batch["ids"].numpy().tolist() == [[2, 3, 5, 4], [5, 5, 3, 1], [4, 2, 5, 0]]
        assert batch["ids_length"].numpy().tolist() == [4, 4, 3]
        records = list(reader.load(out, batch_size=None, shuffle=False, features=names))
        assert [int(record["ids_length"]) for record in records] == [4, 4, 3]
        assert records[0]["ids"].numpy().tolist() == [2, 3, 5, 4]
        with pytest.raises(RequestError) as caught:
            reader.load(out, bucket_boundaries=[2])
        assert str(caught.value) == (
            "bucket_boundaries need a feature whose records have lists of any length: kind tokens, "
            "or any kind with `many: true` (read: ids)"
        )

    def test_padding_is_the_number_that_the_schema_says(self) -> None:
        feature = TokensFeature(tokenizer="t.json", pad_id=7)
        values = ValueReader(feature=feature, absent=0, is_list=True, wants_presence=False)
        lists = tf.ragged.constant([[1], [], [0, 2]], tf.int64)
        assert values.padded(lists).numpy().tolist() == [[1, 7], [7, 7], [0, 2]]


class TestOrder:
    @pytest.mark.parametrize("seed", [None, 3])
    def test_a_shuffled_epoch_has_every_record_once_in_its_bucket(self, many, seed) -> None:
        boundaries = [4, 9, 16]
        dataset = load(many, shuffle=True, seed=seed, batch_size=32, bucket_boundaries=boundaries)
        epochs = []
        for _ in range(2):
            batches = list(dataset)
            epochs.append([n for batch in numbers(batches) for n in batch])
            for batch in batches:
                lengths = batch["n"].numpy() % 23
                assert len({int(one) for one in np.digitize(lengths, boundaries)}) == 1
                assert batch["ids"].shape[1] == lengths.max()
                wide = np.arange(lengths.max()) < lengths[:, None]
                np.testing.assert_array_equal(
                    batch["ids"], np.where(wide, batch["n"].numpy()[:, None] + 1, 0)
                )
            assert Counter(len(batch["n"]) for batch in batches)[32] == 61
        assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(2000))
        assert epochs[0] != epochs[1]

    def test_a_seed_makes_it_deterministic(self, many) -> None:
        runs = [numbers(load(many, shuffle=True, seed=seed)) for seed in (7, 7, 8)]
        assert runs[0] == runs[1] != runs[2]

    def test_an_iterator_can_be_saved(self, many, tmp_path) -> None:
        iterator = iter(load(many, batch_size=64))
        next(iterator)
        saved = tf.train.Checkpoint(iterator=iterator).save(str(tmp_path / "saved"))
        expected = [next(iterator)["n"].numpy().tolist() for _ in range(3)]
        other = iter(load(many, batch_size=64))
        tf.train.Checkpoint(iterator=other).restore(saved)
        assert [next(other)["n"].numpy().tolist() for _ in range(3)] == expected


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"bucket_boundaries": [5, 5]},
                "bucket_boundaries must be a list of lengths of at least 1, each larger than the "
                "one before (got [5, 5])",
            ),
            (
                {"bucket_boundaries": [0, 5]},
                "bucket_boundaries must be a list of lengths of at least 1, each larger than the "
                "one before (got [0, 5])",
            ),
            (
                {"bucket_boundaries": []},
                "bucket_boundaries must be a list of lengths of at least 1, each larger than the "
                "one before (got [])",
            ),
            (
                {"bucket_boundaries": [2.5]},
                "bucket_boundaries must be a list of lengths of at least 1, each larger than the "
                "one before (got [2.5])",
            ),
            (
                {"bucket_boundaries": 5},
                "bucket_boundaries must be a list of lengths of at least 1, each larger than the "
                "one before (got 5)",
            ),
            (
                {"bucket_batch_sizes": [4, 4]},
                "bucket_batch_sizes must be a list of 3 numbers of at least 1, one more than "
                "bucket_boundaries has (got [4, 4])",
            ),
            (
                {"bucket_batch_sizes": [4, 0, 4]},
                "bucket_batch_sizes must be a list of 3 numbers of at least 1, one more than "
                "bucket_boundaries has (got [4, 0, 4])",
            ),
            (
                {"bucket_batch_sizes": "abc"},
                "bucket_batch_sizes must be a list of 3 numbers of at least 1, one more than "
                "bucket_boundaries has (got 'abc')",
            ),
            ({"batch_size": None}, "bucket_boundaries go with a batch_size (got None)"),
            (
                {"bucket_boundaries": None, "bucket_by": "ids"},
                "bucket_batch_sizes and bucket_by go with bucket_boundaries",
            ),
            (
                {"bucket_boundaries": None, "bucket_batch_sizes": [1]},
                "bucket_batch_sizes and bucket_by go with bucket_boundaries",
            ),
            (
                {"bucket_by": "words"},
                "bucket_by must be a feature whose records have lists of any length: kind tokens, "
                "or any kind with `many: true` (here ids, tags, scores; got 'words')",
            ),
            (
                {"bucket_by": "note"},
                "bucket_by must be a feature whose records have lists of any length: kind tokens, "
                "or any kind with `many: true` (here ids, tags, scores; got 'note')",
            ),
            (
                {"features": ["note", "cls"]},
                "bucket_boundaries need a feature whose records have lists of any length: kind "
                "tokens, or any kind with `many: true` (read: note, cls)",
            ),
            (
                {"features": None},
                "bucket_by must name the feature whose length counts, as several have lists of any "
                "length (ids, tags, scores)",
            ),
        ],
    )
    def test_arguments_that_make_no_sense(self, lists, options, message) -> None:
        with pytest.raises(RequestError) as caught:
            load(lists, **options)
        assert str(caught.value) == message

    def test_a_dataset_without_lists(self, tmp_path) -> None:
        tfrec_tools.convert({"n": [1, 2]}, tmp_path / "out")
        with pytest.raises(RequestError) as caught:
            load(tmp_path / "out", ["n"], bucket_by="n")
        assert str(caught.value) == (
            "bucket_by must be a feature whose records have lists of any length: kind tokens, or "
            "any kind with `many: true` (here none; got 'n')"
        )
