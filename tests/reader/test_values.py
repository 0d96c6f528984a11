"""``reader.load`` of tables: exact values of every kind, missing ones, lists, batches."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from PIL import Image

import tfrec_tools
from tfrec_tools import reader
from tfrec_tools.errors import RequestError

LIST = {"many": True, "separator": "|"}
SCHEMA = {
    "features": {
        "age": {"kind": "int64"},
        "visits": {"kind": "int64"},
        "ratio": {"kind": "float32"},
        "exact": {"kind": "float64"},
        "lossy": {"kind": "float64", "store": "float32"},
        "share": {"kind": "float32", "missing": "empty"},
        "price": {"kind": "float64", "missing": "empty"},
        "flag": {"kind": "bool"},
        "maybe": {"kind": "bool"},
        "note": {"kind": "text"},
        "remark": {"kind": "text"},
        "blob": {"kind": "bytes"},
        "level": {"kind": "text", "vocabulary": ["high", "low"]},
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
    }
}
# The second record has values that equal those for missing ones; the last lacks all it may.
TABLE = """\
age,visits,ratio,exact,lossy,share,price,flag,maybe,note,remark,blob,level,colour,income,tags,words,counts,\
sizes,points,born,died,g0,g1,g2,g3,q0,q1
30,5,1.5,0.1,0.1,0.75,0.7,true,true,é,hello,ab,low,red,<=50K,b|a,x|y|z,7,0.5|0.25,0.1|0.2|0.3,\
2020-01-01,2020-01-02,1,2,3,4,0.1,0.2
-4,0,-2,-1e300,16777217,0,0,false,false,n,0,b,high,blue,>50K,c,q,-1|0,3,-5,\
1969-12-31,1970-01-01,5,6,7,8,0.3,0.4
9223372036854775807,,,,,,,true,,m,,,low,,<=50K,,,,,,1970-01-01T00:00:01Z,,9,10,11,,,1e-9
"""
AGES = [30, -4, 2**63 - 1]
LISTS = {
    "tags": [[1, 0], [2], []],
    "words": [[b"x", b"y", b"z"], [b"q"], []],
    "counts": [[7], [-1, 0], []],
    "sizes": [[0.5, 0.25], [3.0], []],
    "points": [[0.1, 0.2, 0.3], [-5.0], []],
}
NAN = math.nan
SCALARS = {
    "age": (tf.int64, AGES),
    "visits": (tf.int64, [5, 0, 0]),
    "ratio": (tf.float32, [1.5, -2.0, NAN]),
    "exact": (tf.float64, [0.1, -1e300, NAN]),
    "lossy": (tf.float32, [float(np.float32(0.1)), 16777216.0, NAN]),
    "share": (tf.float32, [0.75, 0, NAN]),
    "price": (tf.float64, [0.7, 0, NAN]),
    "flag": (tf.bool, [True, False, True]),
    "maybe": (tf.bool, [True, False, False]),
    "note": (tf.string, ["é".encode(), b"n", b"m"]),
    "remark": (tf.string, [b"hello", b"0", b""]),
    "blob": (tf.string, [b"ab", b"b", b""]),
    "level": (tf.string, [b"low", b"high", b"low"]),
    "colour": (tf.int64, [1, 0, -1]),
    "income": (tf.int64, [0, 1, 0]),
    "born": (tf.int64, [1577836800, -86400, 1]),
    "died": (tf.int64, [1577923200, 0, 0]),
}
PACKED = {
    "grid": (tf.float32, [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, NAN]]]),
    "pair": (tf.float64, [[0.1, 0.2], [0.3, 0.4], [NAN, 1e-9]]),
}
FIXED = SCALARS | PACKED
LIST_DTYPES = {
    "tags": tf.int64,
    "words": tf.string,
    "counts": tf.int64,
    "sizes": tf.float32,
    "points": tf.float64,
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """A table of three records with every kind, in the order of its file."""
    root = tmp_path_factory.mktemp("kinds")
    (root / "kinds.csv").write_text(TABLE, encoding="utf-8")
    tfrec_tools.convert(root / "kinds.csv", root / "out", schema=SCHEMA, order="source")
    return root / "out"


def stored_order(out, names=None, *, batch_size: int | None = 3, **options) -> tf.data.Dataset:
    return reader.load(
        out, batch_size=batch_size, shuffle=False, as_dict=True, features=names, **options
    )


def only(dataset: tf.data.Dataset):
    (batch,) = dataset
    return batch


def assert_equal(found: tf.Tensor, expected: object) -> None:
    """Compare all values; NaN equals NaN."""
    values = np.asarray(found)
    if values.dtype.kind in "OS":  # bytes
        assert values.tolist() == expected
    else:
        np.testing.assert_array_equal(values, np.array(expected, values.dtype))


class TestKinds:
    @pytest.fixture(scope="class")
    def batch(self, kinds):
        """All features of all records."""
        return only(stored_order(kinds, list(FIXED | LISTS)))

    @pytest.mark.parametrize("name", FIXED)
    def test_fixed_shapes(self, batch, name) -> None:
        dtype, expected = FIXED[name]
        assert batch[name].dtype == dtype
        assert_equal(batch[name], expected)

    @pytest.mark.parametrize("name", LISTS)
    def test_lists(self, batch, name) -> None:
        assert isinstance(batch[name], tf.RaggedTensor)
        assert batch[name].dtype == LIST_DTYPES[name]
        assert batch[name].row_splits.dtype == tf.int64
        assert batch[name].to_list() == LISTS[name]

    @pytest.mark.parametrize("name", ["exact", "pair", "points", "tags", "colour"])
    def test_one_alone(self, kinds, name) -> None:
        alone = only(stored_order(kinds, [name]))
        assert list(alone) == [name]
        if name in LISTS:
            assert alone[name].to_list() == LISTS[name]
        else:
            assert_equal(alone[name], FIXED[name][1])

    def test_names_come_as_asked_and_classes_are_sorted(self, kinds, batch) -> None:
        assert list(batch) == list(FIXED | LISTS)
        dataset = reader.open(kinds)
        assert dataset.class_names() == ("<=50K", ">50K")
        assert dataset.class_names("tags") == ("a", "b", "c")

    def test_single_records(self, kinds) -> None:
        dataset = stored_order(kinds, list(FIXED | LISTS), batch_size=None)
        shapes = {name: spec.shape.as_list() for name, spec in dataset.element_spec.items()}
        assert shapes == {key: [] for key in SCALARS} | {"grid": [2, 2], "pair": [2]} | (
            {key: [None] for key in LISTS}
        )
        records = list(dataset)
        assert len(records) == 3
        for index, record in enumerate(records):
            for name, (dtype, expected) in FIXED.items():
                assert record[name].dtype == dtype
                assert_equal(record[name], expected[index])
            for name, expected in LISTS.items():
                assert record[name].dtype == LIST_DTYPES[name]
                assert record[name].numpy().tolist() == expected[index]

    def test_batches_cut_lists_at_their_records(self, kinds) -> None:
        batches = list(stored_order(kinds, ["age", *LISTS], batch_size=2))
        assert [batch["age"].numpy().tolist() for batch in batches] == [AGES[:2], AGES[2:]]
        for name, expected in LISTS.items():
            assert [batch[name].to_list() for batch in batches] == [expected[:2], expected[2:]]

    def test_padded_lists(self, kinds) -> None:
        batch = only(stored_order(kinds, list(LISTS), ragged=False))
        assert_equal(batch["tags"], [[1, 0], [2, -1], [-1, -1]])
        assert_equal(batch["words"], [[b"x", b"y", b"z"], [b"q", b"", b""], [b"", b"", b""]])
        assert_equal(batch["counts"], [[7, 0], [-1, 0], [0, 0]])
        assert_equal(batch["sizes"], [[0.5, 0.25], [3, 0], [0, 0]])
        assert_equal(batch["points"], [[0.1, 0.2, 0.3], [-5, 0, 0], [0, 0, 0]])
        assert {name: one.dtype for name, one in batch.items()} == LIST_DTYPES

    def test_padded_lists_of_a_batch_of_empty_ones(self, kinds) -> None:
        *_, last = stored_order(kinds, list(LISTS), ragged=False, batch_size=2)
        assert {name: tuple(one.shape) for name, one in last.items()} == dict.fromkeys(
            LISTS, (1, 0)
        )


PRESENT = {
    "visits": [True, True, False],
    "ratio": [True, True, False],
    "exact": [True, True, False],
    "lossy": [True, True, False],
    "share": [True, True, False],
    "price": [True, True, False],
    "maybe": [True, True, False],
    "remark": [True, True, False],
    "blob": [True, True, False],
    "colour": [True, True, False],
    "died": [True, True, False],
    "tags": [True, True, False],
    "words": [True, True, False],
    "counts": [True, True, False],
    "sizes": [True, True, False],
    "points": [True, True, False],
}
LENGTHS = {
    "tags": [2, 1, 0],
    "words": [3, 1, 0],
    "counts": [1, 2, 0],
    "sizes": [2, 1, 0],
    "points": [3, 1, 0],
}
DERIVED = {f"{name}_present": one for name, one in PRESENT.items()} | {
    f"{name}_length": one for name, one in LENGTHS.items()
}


class TestPresenceAndLengths:
    def test_what_can_be_asked_for(self, kinds) -> None:
        assert set(reader.open(kinds).derived) == set(DERIVED)

    @pytest.mark.parametrize("batch_size", [2, None])
    def test_alone(self, kinds, batch_size) -> None:
        dataset = stored_order(kinds, list(DERIVED), batch_size=batch_size)
        for name, spec in dataset.element_spec.items():
            assert spec.dtype == (tf.bool if name.endswith("_present") else tf.int64)
            assert spec.shape.as_list() == ([] if batch_size is None else [None])
        found = {name: np.hstack([one[name] for one in dataset]).tolist() for name in DERIVED}
        assert found == DERIVED

    @pytest.mark.parametrize(("batch_size", "ragged"), [(3, False), (None, True)])
    def test_beside_the_values(self, kinds, batch_size, ragged) -> None:
        names = [*DERIVED, *FIXED, *LISTS]
        dataset = stored_order(kinds, names, batch_size=batch_size, ragged=ragged)
        records = list(dataset if batch_size is None else dataset.unbatch())
        for index, record in enumerate(records):
            assert list(record) == names
            for name, expected in DERIVED.items():
                assert_equal(record[name], expected[index])
            for name, (_, expected) in FIXED.items():
                assert_equal(record[name], expected[index])
            for name, expected in LISTS.items():
                values = record[name].numpy().tolist()
                assert values[: len(expected[index])] == expected[index]

    def test_a_value_that_equals_the_stand_in_is_there(self, tmp_path) -> None:
        table = {"number": [0, None, 3], "text": ["", None, "x"], "flag": [False, None, True]}
        schema = {
            "features": {
                "number": {"kind": "int64"},
                "text": {"kind": "text"},
                "flag": {"kind": "bool"},
            }
        }
        tfrec_tools.convert(pa.table(table), tmp_path / "out", schema=schema, order="source")
        names = [*table, *(f"{name}_present" for name in table)]
        for batch_size in (3, None):
            found = stored_order(tmp_path / "out", names, batch_size=batch_size)
            values = {name: np.hstack([one[name] for one in found]).tolist() for name in names}
            assert values == {
                "number": [0, 0, 3],
                "text": [b"", b"", b"x"],
                "flag": [False, False, True],
                "number_present": [True, False, True],
                "text_present": [True, False, True],
                "flag_present": [True, False, True],
            }

    def test_there_is_no_presence_where_nothing_is_missing(self, kinds) -> None:
        with pytest.raises(RequestError) as caught:
            reader.load(kinds, features=["age_present"])
        assert str(caught.value).endswith(" (got 'age_present')")


class TestNames:
    def test_an_unknown_name(self, tmp_path) -> None:
        source = tmp_path / "t.csv"
        source.write_text("a,b,c\n1,x|y,5\n2,,\n")
        schema = {
            "features": {
                "a": {"kind": "int64"},
                "b": {"kind": "text", **LIST},
                "c": {"kind": "int64"},
            }
        }
        tfrec_tools.convert(source, tmp_path / "out", schema=schema)
        with pytest.raises(RequestError) as caught:
            reader.load(tmp_path / "out", features=["a", "d"])
        assert str(caught.value) == (
            "features must be among a, b, c, b_present, b_length, c_present (got 'd')"
        )
        with pytest.raises(RequestError) as caught:
            reader.load(tmp_path / "out", features=[])
        assert str(caught.value) == "features must name at least one feature"
        with pytest.raises(RequestError) as caught:
            reader.load(tmp_path / "out", features="a")
        assert str(caught.value) == "features must be a list of names (got 'a')"

    def test_default_features_leave_out_text_and_bytes(self, kinds) -> None:
        texts = {"note", "remark", "blob", "level", "words"}
        x, y = reader.load(kinds).element_spec
        assert set(x) == set(FIXED | LISTS) - texts - {"income"}
        assert y == tf.TensorSpec((None,), tf.int64)

    def test_text_is_given_where_nothing_else_is(self, tmp_path) -> None:
        (tmp_path / "t.csv").write_text("word,cls\nhello,a\nbye,b\n")
        schema = {
            "features": {"word": {"kind": "text"}, "cls": {"kind": "class_label", "target": True}}
        }
        tfrec_tools.convert(tmp_path / "t.csv", tmp_path / "out", schema=schema, order="source")
        x, y = only(reader.load(tmp_path / "out", shuffle=False))
        assert x.numpy().tolist() == [b"hello", b"bye"]
        assert y.numpy().tolist() == [0, 1]

    def test_labelled_documents_give_text_and_label(self, tmp_path) -> None:
        table = pa.table(
            {
                "text": ["good", "", "bad\nfilm"],
                "label": ["pos", "pos", "neg"],
                "filename": ["pos/0.txt", "pos/1.txt", "neg/0.txt"],
            }
        )
        schema = {
            "features": {
                "text": {"kind": "text"},
                "label": {"kind": "class_label", "target": True},
                "filename": {"kind": "text"},
            }
        }
        out = tmp_path / "out"
        tfrec_tools.convert(table, out, schema=schema, order="source")
        assert reader.load(out).element_spec == (
            tf.TensorSpec((None,), tf.string),
            tf.TensorSpec((None,), tf.int64),
        )
        texts, labels = only(reader.load(out, shuffle=False))
        assert_equal(texts, [b"good", b"", b"bad\nfilm"])
        assert_equal(labels, [1, 1, 0])
        names = ["text", "label", "filename"]
        x, _ = only(reader.load(out, shuffle=False, features=names))
        assert_equal(x["filename"], [b"pos/0.txt", b"pos/1.txt", b"neg/0.txt"])

    def test_a_pair_of_one_feature_or_of_a_dict(self, kinds) -> None:
        x, y = only(reader.load(kinds, features=["income", "grid"], shuffle=False))
        assert_equal(x, PACKED["grid"][1])
        assert_equal(y, [0, 1, 0])
        names = ["income", "age", "tags_length"]
        x, y = only(reader.load(kinds, features=names, shuffle=False))
        assert list(x) == ["age", "tags_length"]
        assert_equal(x["tags_length"], LENGTHS["tags"])
        assert_equal(y, [0, 1, 0])
        alone = only(reader.load(kinds, features=["income"], shuffle=False))
        assert list(alone) == ["income"]

    def test_a_column_that_is_called_like_a_presence_is_itself(self, tmp_path) -> None:
        (tmp_path / "t.csv").write_text("a,a_present\n1,7\n,8\n")
        schema = {"features": {"a": {"kind": "int64"}, "a_present": {"kind": "int64"}}}
        tfrec_tools.convert(tmp_path / "t.csv", tmp_path / "out", schema=schema, order="source")
        batch = only(stored_order(tmp_path / "out", batch_size=2))
        assert {name: one.numpy().tolist() for name, one in batch.items()} == {
            "a": [1, 0],
            "a_present": [7, 8],
        }


@pytest.fixture(scope="module")
def many_records(tmp_path_factory):
    """1,000 numbers and lists of theirs, in four shards."""
    root = tmp_path_factory.mktemp("many")
    lines = [f"{n},{'|'.join(['1'] * (n % 3))},{n / 8}" for n in range(1000)]
    (root / "t.csv").write_text("\n".join(["n,ones,eighth", *lines]) + "\n")
    schema = {
        "features": {
            "n": {"kind": "int64"},
            "ones": {"kind": "int64", **LIST},
            "eighth": {"kind": "float64"},
        }
    }
    tfrec_tools.convert(root / "t.csv", root / "out", schema=schema, num_shards=4)
    return root / "out"


class TestBatches:
    def test_shapes_are_static(self, kinds) -> None:
        names = [*FIXED, *LISTS, *DERIVED]
        dataset = stored_order(kinds, names, batch_size=2, drop_remainder=True)
        shapes = {name: spec.shape.as_list() for name, spec in dataset.element_spec.items()}
        assert shapes == {key: [2] for key in [*SCALARS, *DERIVED]} | {
            "grid": [2, 2, 2],
            "pair": [2, 2],
        } | {key: [2, None] for key in LISTS}
        assert len(list(dataset)) == 1
        padded = stored_order(kinds, list(LISTS), batch_size=2, drop_remainder=True, ragged=False)
        assert padded.element_spec["tags"] == tf.TensorSpec((2, None), tf.int64)

    def test_without_drop_remainder_only_the_batch_is_open(self, kinds) -> None:
        spec = stored_order(kinds, ["grid", "pair", "age"]).element_spec
        assert spec == {
            "grid": tf.TensorSpec((None, 2, 2), tf.float32),
            "pair": tf.TensorSpec((None, 2), tf.float64),
            "age": tf.TensorSpec((None,), tf.int64),
        }

    @pytest.mark.parametrize("seed", [None, 3])
    def test_a_shuffled_epoch_is_a_permutation(self, many_records, seed) -> None:
        dataset = reader.load(many_records, batch_size=64, seed=seed)
        assert int(dataset.cardinality()) == 16
        epochs = []
        for _ in range(2):
            batches = list(dataset)
            epochs.append(np.concatenate([batch["n"] for batch in batches]).tolist())
            for batch in batches:
                assert_equal(batch["eighth"], batch["n"].numpy() / 8)
                assert_equal(batch["ones"].row_lengths(), batch["n"].numpy() % 3)
        assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(1000))
        assert epochs[0] != epochs[1]

    def test_tables_are_parsed_a_batch_at_a_time(self, many_records, monkeypatch) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a table must not be parsed a record at a time")

        monkeypatch.setattr(tf.io, "parse_single_example", refuse)
        batches = []
        parse = tf.io.parse_example

        def parse_example(payloads: tf.Tensor, spec: object) -> object:
            batches.append(payloads.shape.as_list())
            return parse(payloads, spec)

        monkeypatch.setattr(tf.io, "parse_example", parse_example)
        dataset = reader.load(many_records, batch_size=256, features=["n"], drop_remainder=True)
        assert [len(batch["n"]) for batch in dataset] == [256, 256, 256]
        assert batches == [[256]]  # traced once

    def test_a_pipeline_of_ones_own(self, kinds) -> None:
        dataset = reader.open(kinds)
        names = ["visits", "colour", "exact", "grid", "tags", "points"]
        spec = dataset.parse_spec(names)
        payloads = next(iter(tf.data.TFRecordDataset(dataset.shard_paths("train")).batch(3)))
        parsed = tf.io.parse_example(payloads, spec)
        assert_equal(parsed["visits"], [5, 0, 0])
        assert_equal(parsed["colour"], [1, 0, -1])
        assert_equal(parsed["grid"], PACKED["grid"][1])
        assert_equal(tf.io.decode_raw(parsed["exact"], tf.float64)[:, 0], SCALARS["exact"][1])
        assert parsed["tags"].to_list() == LISTS["tags"]
        points = [np.frombuffer(one, "<f8").tolist() for one in parsed["points"].numpy()]
        assert points == LISTS["points"]


class TestImageLists:
    @pytest.fixture(scope="class")
    def listed(self, tmp_path_factory):
        """Five pictures named in a table beside labels, numbers and lists."""
        root = tmp_path_factory.mktemp("listed")
        lines = ["file,cls,width,tags,exact,visits"]
        for number in range(5):
            size = (8, 6) if number % 2 else (12, 10)
            Image.new("RGB", size, (number * 10, 20, 30)).save(root / f"{number}.png")
            visits = "" if number == 2 else number
            lines.append(
                f"{number}.png,{'ab'[number % 2]},{number}.5,{'|'.join('xyz'[: number % 3])},"
                f"{number / 10},{visits}"
            )
        (root / "list.csv").write_text("\n".join(lines) + "\n")
        schema = {
            "features": {
                "image": {"kind": "image", "from": "file"},
                "cls": {"kind": "class_label", "target": True},
                "width": {"kind": "float32"},
                "tags": {"kind": "class_label", **LIST},
                "exact": {"kind": "float64"},
                "visits": {"kind": "int64"},
            }
        }
        tfrec_tools.convert(root / "list.csv", root / "out", schema=schema, order="source")
        return root / "out"

    def test_pixels_labels_numbers_and_lists(self, listed) -> None:
        names = ["image", "cls", "width", "tags", "exact", "visits", "visits_present"]
        names += ["tags_length", "image_height"]
        batch = only(stored_order(listed, names, batch_size=5, image_size=(4, 4)))
        assert batch["image"].shape == (5, 4, 4, 3)
        assert_equal(batch["image"][:, 0, 0], [[n * 10, 20, 30] for n in range(5)])
        assert_equal(batch["cls"], [0, 1, 0, 1, 0])
        assert_equal(batch["width"], [0.5, 1.5, 2.5, 3.5, 4.5])
        assert_equal(batch["exact"], [0.0, 0.1, 0.2, 0.3, 0.4])
        assert batch["tags"].to_list() == [[], [0], [0, 1], [], [0]]
        assert_equal(batch["tags_length"], [0, 1, 2, 0, 1])
        assert_equal(batch["visits"], [0, 1, 0, 3, 4])
        assert_equal(batch["visits_present"], [True, True, False, True, True])
        assert_equal(batch["image_height"], [10, 6, 10, 6, 10])

    def test_pairs_and_padded_lists(self, listed) -> None:
        dataset = reader.load(
            listed,
            batch_size=2,
            image_size=(4, 4),
            drop_remainder=True,
            ragged=False,
            shuffle=False,
        )
        x, y = dataset.element_spec
        assert x["image"] == tf.TensorSpec((2, 4, 4, 3), tf.uint8)
        assert x["tags"] == tf.TensorSpec((2, None), tf.int64)
        assert y == tf.TensorSpec((2,), tf.int64)
        (first, _), (second, classes) = dataset
        assert_equal(first["tags"], [[-1], [0]])
        assert_equal(second["tags"], [[0, 1], [-1, -1]])
        assert_equal(classes, [0, 1])
        images, _ = next(iter(reader.load(listed, features=["image", "cls"], image_size=(4, 4))))
        assert images.shape == (5, 4, 4, 3)

    def test_numbers_alone_need_no_image_size(self, listed) -> None:
        x, y = only(reader.load(listed, features=["width", "cls"], shuffle=False))
        assert_equal(x, [0.5, 1.5, 2.5, 3.5, 4.5])
        assert_equal(y, [0, 1, 0, 1, 0])


def test_a_keras_model_learns_a_rule_from_numbers_and_texts(tmp_path) -> None:
    generator = np.random.default_rng(1)
    jobs = np.array(["clerk", "cook", "judge", "nurse"])[generator.integers(0, 4, 2000)]
    ages = generator.integers(17, 90, 2000)
    hours = generator.integers(1, 99, 2000)
    rich = (jobs == "judge") | (ages > 60)
    income = np.where(rich, ">50K", "<=50K")
    lines = [f"{a},{j},{h},{i}" for a, j, h, i in zip(ages, jobs, hours, income, strict=True)]
    (tmp_path / "adult.csv").write_text("\n".join(["age,job,hours,income", *lines]) + "\n")
    schema = {
        "features": {
            "age": {"kind": "int64", "min": 17},
            "job": {"kind": "text"},
            "hours": {"kind": "float32"},
            "income": {"kind": "class_label", "target": True},
        }
    }
    splits = {"train": 0.8, "test": 0.2}
    out = tmp_path / "out"
    tfrec_tools.convert(tmp_path / "adult.csv", out, schema=schema, splits=splits)
    names = ["age", "job", "hours", "income"]
    train = reader.load(out, features=names, batch_size=64, seed=1)
    test = reader.load(out, "test", features=names, batch_size=256)

    layers = tf.keras.layers
    tf.keras.utils.set_random_seed(1)
    lookup = layers.StringLookup(output_mode="one_hot")
    # adapt() takes data of one dimension for single values, and would batch them again.
    lookup.adapt(train.map(lambda x, _: x["job"][:, None]))
    inputs = {
        "age": tf.keras.Input((1,), dtype="int64", name="age"),
        "job": tf.keras.Input((1,), dtype="string", name="job"),
        "hours": tf.keras.Input((1,), dtype="float32", name="hours"),
    }
    columns = [lookup(inputs["job"])]
    for name in ("age", "hours"):
        scale = layers.Normalization(axis=None)
        scale.adapt(train.map(lambda x, _, name=name: x[name][:, None]))
        columns.append(scale(inputs[name]))
    hidden = layers.Dense(16, activation="relu")(layers.Concatenate()(columns))
    model = tf.keras.Model(inputs, layers.Dense(1, activation="sigmoid")(hidden))
    model.compile(tf.keras.optimizers.Adam(0.03), "binary_crossentropy", metrics=["accuracy"])
    model.fit(train, epochs=4, verbose=0, shuffle=False)
    assert model.evaluate(test, verbose=0, return_dict=True)["accuracy"] > 0.9
