"""Decoding: reads every legal encoding as protobuf does, and refuses all else in our words."""

from __future__ import annotations

import math
import re
from typing import Any

import pyarrow as pa
import pytest
import tensorflow as tf
from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfrec_tools.errors import RecordError
from tfrec_tools.example_codec import decode, decode_one, encode

BYTES, FLOAT32, INT64 = 1, 2, 3


def varint(value: int) -> bytes:
    septets = b""
    while value > 0x7F:
        septets += bytes([value & 0x7F | 0x80])
        value >>= 7
    return septets + bytes([value])


def field(number: int, content: bytes | int) -> bytes:
    """A field: a varint for a number, length-delimited for bytes."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(name: str, feature: bytes) -> bytes:
    return field(1, field(1, name.encode()) + field(2, feature))


def payload(*entries: bytes) -> bytes:
    return field(1, b"".join(entries))


Decoded = dict[str, tuple[int, list[Any]]]


def protobufs(data: bytes) -> Decoded | None:
    """What TensorFlow's own class reads; None if it refuses."""
    try:
        message = tf.train.Example.FromString(data)
    except DecodeError:
        return None
    kinds = {"bytes_list": BYTES, "float_list": FLOAT32, "int64_list": INT64}
    features = {}
    for name, feature in message.features.feature.items():
        kind = feature.WhichOneof("kind")
        if kind is not None:
            features[name] = (kinds[kind], list(getattr(feature, kind).value))
    return features


def sets_entries_aside(data: bytes) -> bool:
    """Say whether protobuf for Python treats an entry as an unknown field as a whole.

    It does so if something in the entry is unknown; we pass over the unknown part alone.
    """
    features = tf.train.Example.FromString(data).features
    return any(item.field_number == 1 for item in UnknownFieldSet(features))


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right or (math.isnan(left) and math.isnan(right))
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return bool(left == right)


def rows_of(columns: dict[str, pa.Array], num_records: int) -> list[dict[str, list[Any]]]:
    rows: list[dict[str, list[Any]]] = [{} for _ in range(num_records)]
    for name, column in columns.items():
        for row, values in zip(rows, column.to_pylist(), strict=True):
            if values is not None:
                row[name] = values
    return rows


PACKED = entry("x", field(3, field(1, b"\x01\x02")))
LEGAL = {
    "packed": PACKED,
    "unpacked integers": entry("x", field(3, field(1, 1) + field(1, 2**64 - 5))),
    "packed and unpacked": entry("x", field(3, field(1, 7) + field(1, b"\x01\x02"))),
    "two packed fields": entry("x", field(3, field(1, b"\x01") + field(1, b"\x02"))),
    "unpacked floats": entry("x", field(2, b"\x0d\x00\x00\xc0\x3f" * 2)),
    "no values": entry("x", field(3, b"")),
    "an empty packed field": entry("x", field(3, field(1, b""))),
    "a feature of no kind": entry("x", b""),
    "an entry without a feature": field(1, field(1, b"x")),
    "an entry without a name": field(1, field(2, field(3, field(1, 4)))),
    "an empty entry": field(1, b""),
    "the feature before the name": field(1, field(2, field(3, field(1, 4))) + field(1, b"x")),
    "one key twice": entry("x", field(3, field(1, 1))) + entry("x", field(3, field(1, 2))),
    "one key twice, the last of no kind": PACKED + entry("x", b""),
    "one key twice, of two kinds": PACKED + entry("x", field(1, field(1, b"a"))),
    "one kind twice": entry("x", field(3, field(1, 1)) + field(3, field(1, 2))),
    "two kinds": entry("x", field(3, field(1, 1)) + field(1, field(1, b"a"))),
    "a feature twice in an entry": field(
        1, field(1, b"x") + field(2, field(3, field(1, 1))) + field(2, field(3, field(1, 2)))
    ),
    "unknown fields": PACKED + field(9, b"abc") + field(10, 300),
    "an unknown kind": entry("x", field(4, b"abc")),
    "an unknown field in a list": entry("x", field(3, field(2, 5) + field(1, 1))),
    "a fixed64 unknown field": PACKED + b"\x49" + bytes(8),
    "a fixed32 unknown field": PACKED + b"\x4d" + bytes(4),
    "an unknown group": PACKED + b"\x4b" + field(2, 5) + b"\x4c",
    "groups in a group": PACKED + b"\x4b\x53\x54\x4c",
    "a number where bytes belong": entry("x", field(1, field(1, 5))),
    "a number where a list belongs": entry("x", field(3, 5)),
    "a number where a name belongs": field(1, field(1, 5)),
    "eight bytes where floats belong": entry("x", field(2, b"\x09" + bytes(8))),
    "a longer varint than needed": entry("x", field(3, field(1, b"\x81\x00"))),
    "a longer length than needed": b"\x0a\x83\x00\x0a\x01\x78",
    "a negative number": entry("x", field(3, field(1, b"\xff" * 9 + b"\x01"))),
    "bytes with an empty value": entry("x", field(1, field(1, b"") + field(1, b"a"))),
}


class TestLegalForms:
    @pytest.mark.parametrize("form", LEGAL)
    def test_are_read_as_protobuf_reads_them(self, form: str) -> None:
        data = payload(LEGAL[form])
        expected = protobufs(data)
        assert expected is not None
        assert decode_one(data) == expected

    @pytest.mark.parametrize("form", LEGAL)
    def test_are_read_alike_among_plain_records(self, form: str) -> None:
        data = payload(LEGAL[form])
        kinds = {kind for kind, _ in decode_one(data).values()} or {INT64}
        plain = {
            BYTES: payload(entry("x", field(1, field(1, b"q")))),
            FLOAT32: payload(entry("x", field(2, field(1, bytes(4))))),
            INT64: payload(PACKED),
        }[kinds.pop()]
        for payloads in ([data], [plain, data, plain], [data, data]):
            expected = [
                {name: values for name, (_, values) in decode_one(one).items()} for one in payloads
            ]
            columns = decode(pa.array(payloads, pa.binary()))
            assert same(rows_of(columns, len(payloads)), expected)

    def test_an_example_without_features_is_one(self) -> None:
        for data in (b"", field(1, b""), field(1, b"") * 2, field(7, b"abc")):
            assert decode_one(data) == {} == protobufs(data)

    def test_an_unknown_field_in_an_entry_is_passed_over(self) -> None:
        # Decoders disagree here: protobuf for C++ passes over it, too, protobuf for Python sets
        # the whole entry aside, TensorFlow's parse_example refuses the record.
        feature = field(2, field(3, field(1, 1)))
        data = payload(field(1, field(1, b"x") + feature + field(5, 1)))
        assert decode_one(data) == {"x": (INT64, [1])}

    def test_two_feature_maps_are_merged(self) -> None:
        data = payload(PACKED) + payload(entry("y", field(3, field(1, 3))))
        assert decode_one(data) == protobufs(data) == {"x": (INT64, [1, 2]), "y": (INT64, [3])}


class TestColumns:
    def test_have_the_types_of_their_kinds(self) -> None:
        columns = {
            "b": pa.array([b"a", None], pa.binary()),
            "f": pa.array([1.5, None], pa.float32()),
            "i": pa.array([[1, 2], []], pa.list_(pa.int64())),
        }
        decoded = decode(encode(columns).payloads)
        assert {name: str(column.type) for name, column in decoded.items()} == {
            "b": "large_list<item: large_binary>",
            "f": "large_list<item: float>",
            "i": "large_list<item: int64>",
        }
        assert decoded["b"].to_pylist() == [[b"a"], None]
        assert decoded["f"].to_pylist() == [[1.5], None]
        assert decoded["i"].to_pylist() == [[1, 2], []]

    def test_have_null_where_a_record_lacks_the_feature(self) -> None:
        payloads = [payload(PACKED), payload(entry("y", field(3, field(1, 3)))), payload()]
        assert {n: c.to_pylist() for n, c in decode(pa.array(payloads)).items()} == {
            "x": [[1, 2], None, None],
            "y": [None, [3], None],
        }

    def test_of_no_payloads_are_none(self) -> None:
        assert decode(pa.array([], pa.binary())) == {}

    def test_of_a_slice_are_those_of_its_payloads(self) -> None:
        payloads = encode({"i": pa.array([1, 2, 3, 4])}).payloads
        assert decode(payloads[1:3])["i"].to_pylist() == [[2], [3]]

    def test_large_values_come_back(self) -> None:
        values = [bytes([i]) * 5_000 for i in range(5)]
        assert decode(encode({"x": pa.array(values, pa.binary())}).payloads)["x"].to_pylist() == [
            [value] for value in values
        ]

    def test_a_feature_of_two_kinds_is_an_error(self) -> None:
        payloads = pa.array([payload(PACKED), payload(entry("x", field(1, field(1, b"a"))))])
        with pytest.raises(RecordError, match=r"^feature 'x' must have one kind in all records$"):
            decode(payloads)


ILLEGAL = {
    "it ends inside a number": [b"\x0a", b"\x0a\x80", payload(PACKED) + b"\x80"],
    "a field reaches beyond its message": [b"\x0a\x05abc", payload(PACKED)[:-1], b"\x49abc"],
    "a number has more than ten bytes": [b"\x48" + b"\xff" * 10 + b"\x01"],
    "there is no field 0": [b"\x02\x00"],
    "wire type 7 has no meaning there": [b"\x0f"],
    "wire type 4 has no meaning there": [b"\x4c", b"\x4b\x54"],
    "a group has no end": [b"\x4b"],
    "the name of a feature is no UTF-8": [payload(field(1, field(1, b"\xff\xfe")))],
    "packed floats must have four bytes each": [payload(entry("x", field(2, field(1, b"abc"))))],
}


class TestRefusals:
    @pytest.mark.parametrize("what", ILLEGAL)
    def test_say_what_is_wrong_in_our_words(self, what: str) -> None:
        for data in ILLEGAL[what]:
            assert protobufs(data) is None
            sentence = f"^a payload must be a tf.train.Example \\({re.escape(what)}\\)$"
            with pytest.raises(RecordError, match=sentence):
                decode_one(data)
            with pytest.raises(RecordError, match=sentence):
                decode(pa.array([payload(PACKED), data]))

    def test_a_length_that_would_overflow_is_one(self) -> None:
        for length in (2**63 - 1, 2**63 - 12, 2**62, 2**64 - 1):
            data = b"\x0a" + varint(length) + b"abc"
            with pytest.raises(RecordError):
                decode(pa.array([payload(PACKED), data, payload(PACKED)]))
            inner = payload(b"\x0a" + varint(length) + b"abc")
            with pytest.raises(RecordError):
                decode(pa.array([payload(PACKED), inner, payload(PACKED)]))


PIECES = st.recursive(
    st.one_of(
        st.binary(max_size=6),
        st.builds(field, st.integers(1, 4), st.one_of(st.integers(0, 2**64 - 1), st.binary())),
        st.sampled_from([b"x", b"\x4b", b"\x4c", b"\x0d\0\0\x80\x3f", b"\x08\x01", b"\xff"]),
    ),
    lambda inner: st.one_of(
        st.builds(field, st.integers(1, 3), inner), st.builds(bytes.__add__, inner, inner)
    ),
    max_leaves=12,
)
MUTATIONS = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 255)), max_size=3)
WHOLE = (
    encode(
        {
            "image": pa.array([b"abc" * 9], pa.binary()),
            "label": pa.array([3]),
            "more": pa.array([[1, -1, 300]], pa.list_(pa.int64())),
            "ratio": pa.array([[0.5, 2.0]], pa.list_(pa.float32())),
        }
    )
    .payloads[0]
    .as_py()
)


class TestArbitraryBytes:
    @settings(max_examples=400, deadline=None)
    @given(PIECES)
    @example(b"\x0a\x04\x0a\x02\x12\x00")
    def test_are_read_as_protobuf_does_or_refused(self, data: bytes) -> None:
        for candidate in (data, payload(data), payload(field(1, data)), payload(entry("x", data))):
            self._compare(candidate)

    @settings(max_examples=400, deadline=None)
    @given(MUTATIONS, st.integers(0, len(WHOLE)))
    def test_mutated_payloads_too(self, mutations: list[tuple[int, int]], size: int) -> None:
        mutated = bytearray(WHOLE)
        for offset, value in mutations:
            mutated[offset % len(WHOLE)] = value
        self._compare(bytes(mutated[:size]))
        self._compare(bytes(mutated))

    def _compare(self, data: bytes) -> None:
        expected = protobufs(data)
        if expected is None:
            with pytest.raises(RecordError):
                decode_one(data)
            with pytest.raises(RecordError):
                decode(pa.array([WHOLE, data]))
            return
        if sets_entries_aside(data):
            expected = decode_one(data)
        assert same(decode_one(data), expected)
        columns = decode(pa.array([data, data], pa.binary()))
        plain = {name: values for name, (_, values) in expected.items()}
        assert same(rows_of(columns, 2), [plain, plain])
