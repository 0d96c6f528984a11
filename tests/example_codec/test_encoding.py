"""Encoding: byte by byte what protobuf's deterministic serialization gives."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfrec_tools.example_codec import ExternalBytes, decode, decode_one, encode

INT64 = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200), st.sampled_from([2**63 - 1, -(2**63)])
)
FLOAT32 = st.floats(width=32)
BINARY = st.one_of(st.binary(max_size=12), st.binary(min_size=120, max_size=300))
TEXT = st.text(max_size=8)
NAMES = st.one_of(
    st.text(min_size=1, max_size=6),
    st.sampled_from(["a", "a/b", "a\0", "ab", "abc", "é", "éa", "\U0001f600", "z" * 140]),
)

TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int64(), INT64),
    (pa.float32(), FLOAT32),
    (pa.binary(), BINARY),
    (pa.large_binary(), BINARY),
    (pa.string(), TEXT),
    (pa.large_string(), TEXT),
]


def feature_of(value: Any, arrow_type: pa.DataType) -> tf.train.Feature:
    """The feature that one value of a column stands for, made by TensorFlow's own classes."""
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type):
        values, arrow_type = value or [], arrow_type.value_type
    else:
        values = [] if value is None else [value]
    if pa.types.is_int64(arrow_type):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    if pa.types.is_float32(arrow_type):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    data = [value.encode() if isinstance(value, str) else value for value in values]
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=data))


def serialized(features: dict[str, tf.train.Feature]) -> bytes:
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return bytes(example.SerializeToString(deterministic=True))


@st.composite
def columns(draw: st.DrawFn) -> dict[str, pa.Array]:
    num_records = draw(st.integers(0, 5))
    drawn = {}
    for name in draw(st.lists(NAMES, min_size=1, max_size=6, unique=True)):
        arrow_type, values = draw(st.sampled_from(TYPES))
        form = draw(st.sampled_from(["scalar", "list", "large_list", "constant"]))
        if form == "constant":
            values = st.just(draw(values))
        elif form != "scalar":
            values = st.lists(values, max_size=4)
            arrow_type = pa.list_(arrow_type) if form == "list" else pa.large_list(arrow_type)
        if draw(st.booleans()):
            values = st.one_of(st.none(), values)
        cells = draw(st.lists(values, min_size=num_records + 2, max_size=num_records + 2))
        # A slice: what is encoded may be a part of a larger array.
        drawn[name] = pa.array(cells, type=arrow_type)[1:-1]
    return drawn


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(columns())
def test_equals_tensorflows_deterministic_serialization(drawn: dict[str, pa.Array]) -> None:
    encoded = encode(drawn)
    (num_records,) = {len(column) for column in drawn.values()}
    expected = [
        serialized(
            {
                name: feature_of(column[i].as_py(), column.type)
                for name, column in drawn.items()
                if column[i].is_valid or pa.types.is_nested(column.type)  # else it has no key
            }
        )
        for i in range(num_records)
    ]
    assert encoded.payloads.to_pylist() == expected
    assert encoded.payload_bytes.tolist() == [len(payload) for payload in expected]
    assert encoded.externals == ()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(columns())
def test_decoding_gives_the_columns_back(drawn: dict[str, pa.Array]) -> None:
    payloads = encode(drawn).payloads
    decoded = decode(payloads)
    for name, column in drawn.items():
        if not len(column):
            continue
        for i, cell in enumerate(column.to_pylist()):
            if cell is None and not pa.types.is_nested(column.type):
                assert name not in decoded or not decoded[name][i].is_valid
                assert name not in decode_one(payloads[i].as_py())
                continue
            values = cell if isinstance(cell, list) else [] if cell is None else [cell]
            if values and isinstance(values[0], str):
                values = [value.encode() for value in values]
            found = decoded[name][i].as_py()
            assert np.array_equal(
                np.array(found, dtype=object), np.array(values, dtype=object)
            ) or str(found) == str(values)  # nan differs from itself
            assert str(decode_one(payloads[i].as_py())[name][1]) == str(values)


class TestGoldenBytes:
    def test_of_three_kinds(self) -> None:
        # Recipe: tf.train.Example(features=tf.train.Features(feature={
        #   "f": Feature(float_list=FloatList(value=[1.5])),
        #   "i": Feature(int64_list=Int64List(value=[-1])),
        #   "s": Feature(bytes_list=BytesList(value=[b"ab"])),
        # })).SerializeToString(deterministic=True)
        columns = {
            "s": pa.array([b"ab"], pa.binary()),
            "i": pa.array([-1], pa.int64()),
            "f": pa.array([1.5], pa.float32()),
        }
        assert encode(columns).payloads.to_pylist() == [
            bytes.fromhex(
                "0a310a0d0a0166120812060a040000c03f0a130a0169120e1a0c0a0affffffffffffffffff010a0b0a017312060a040a026162"
            )
        ]

    def test_of_keys_that_are_prefixes_of_each_other(self) -> None:
        # Recipe: as above, with "a", "ab" and "abc" each an empty Int64List.
        columns = {name: pa.array([[]], pa.list_(pa.int64())) for name in ("a", "ab", "abc")}
        assert encode(columns).payloads.to_pylist() == [
            bytes.fromhex("0a1e0a090a0361626312021a000a080a02616212021a000a070a016112021a00")
        ]


class TestExternalBytes:
    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(columns(), st.lists(NAMES, min_size=1, max_size=3, unique=True), st.data())
    def test_segments_joined_with_their_contents_are_the_payloads(
        self, drawn: dict[str, pa.Array], names: list[str], data: st.DataObject
    ) -> None:
        (num_records,) = {len(column) for column in drawn.values()}
        contents = {
            name: data.draw(st.lists(BINARY, min_size=num_records, max_size=num_records))
            for name in names
        }
        plain = drawn | {name: pa.array(values, pa.binary()) for name, values in contents.items()}
        external = drawn | {
            name: ExternalBytes(np.array([len(value) for value in values], dtype=np.int64))
            for name, values in contents.items()
        }
        encoded = encode(external)
        assert sorted(encoded.externals) == sorted(names)
        expected = encode(plain).payloads.to_pylist()
        for i in range(num_records):
            joined = encoded.segments[0][i].as_py()
            for name, segment in zip(encoded.externals, encoded.segments[1:], strict=True):
                joined += contents[name][i] + segment[i].as_py()
            assert joined == expected[i]
        assert encoded.payload_bytes.tolist() == [len(payload) for payload in expected]

    def test_sizes_of_gigabytes_are_only_numbers(self) -> None:
        encoded = encode({"image": ExternalBytes(np.array([2**40], dtype=np.int64))})
        before, after = (segment[0].as_py() for segment in encoded.segments)
        assert encoded.payload_bytes.tolist() == [len(before) + 2**40 + len(after)]

    def test_have_no_payloads_of_their_own(self) -> None:
        encoded = encode({"image": ExternalBytes(np.array([3], dtype=np.int64))})
        with pytest.raises(ValueError, match="too many values"):
            encoded.payloads  # noqa: B018


class TestRefusals:
    @pytest.mark.parametrize(
        "column",
        [
            pa.array([1], pa.int32()),
            pa.array([1.0], pa.float64()),
            pa.array([True]),
            pa.array([[1]], pa.list_(pa.uint64())),
        ],
        ids=lambda column: str(column.type),
    )
    def test_a_type_without_a_place_in_an_example_is_an_error(self, column: pa.Array) -> None:
        with pytest.raises(ValueError, match="an Example holds int64, float32 and bytes, not "):
            encode({"x": column})

    def test_a_null_inside_a_list_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="must not contain nulls"):
            encode({"x": pa.array([[1, None]], pa.list_(pa.int64()))})

    def test_columns_of_different_lengths_are_an_error(self) -> None:
        with pytest.raises(ValueError, match="values to unpack"):
            encode({"x": pa.array([1]), "y": pa.array([1, 2])})


def test_nothing_is_registered_with_protobuf_and_tensorflow_can_be_imported_afterwards() -> None:
    code = """
import sys
import pyarrow as pa
from tfrec_tools.example_codec import decode, encode
payloads = encode({"x": pa.array([1, 2])}).payloads
assert decode(payloads)["x"].to_pylist() == [[1], [2]]
assert "tensorflow" not in sys.modules
assert not [name for name in sys.modules if name.startswith("google.protobuf")]
import tensorflow as tf
example = tf.train.Example.FromString(payloads[0].as_py())
assert example.features.feature["x"].int64_list.value == [1]
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
