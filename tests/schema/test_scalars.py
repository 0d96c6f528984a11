"""Scalar features: what a cell must look like, exactly, and what it becomes."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.schema import (
    BoolFeature,
    BytesFeature,
    Float32Feature,
    Int64Feature,
    StoredColumn,
    StoredType,
    TextFeature,
)


def cells(*texts: str | bytes | None) -> pa.Array:
    values = [text.encode() if isinstance(text, str) else text for text in texts]
    return pa.array(values, pa.binary())


class TestInt64Feature:
    def test_takes_decimal_numbers_of_64_bits(self) -> None:
        texts = ["0", "7", "-1", "9223372036854775807", "-9223372036854775808"]
        encoded = Int64Feature().encode(cells(*texts))
        assert encoded.values.type == pa.int64()
        assert encoded.values.to_pylist() == [int(text) for text in texts]
        assert encoded.faults == {}

    @pytest.mark.parametrize(
        "text",
        [
            "", " 1", "1 ", "1\n", "+1", "-0", "007", "02134", "1_000", "1,000", "0x1F", "1.0",
            "1e3", "nan", "inf", "true", "\u0663", "9223372036854775808", "-9223372036854775809",
            "9999999999999999999", "1" * 40,
        ],
    )  # fmt: skip
    def test_refuses_all_else_and_shows_it(self, text: str) -> None:
        encoded = Int64Feature().encode(cells("5", text, "6"))
        assert encoded.faults == {1: f"must be a whole number of 64 bits (got {text!r})"}
        assert encoded.values.to_pylist()[::2] == [5, 6]

    def test_shows_bytes_that_are_no_text_escaped(self) -> None:
        faults = Int64Feature().encode(cells("5", b"\xff1")).faults
        assert faults == {1: r"must be a whole number of 64 bits (got '\\xff1')"}

    def test_keeps_null_a_null_also_beside_bytes_that_are_no_text(self) -> None:
        assert Int64Feature().encode(cells("5", None)).values.to_pylist() == [5, None]
        encoded = Int64Feature().encode(cells(None, b"\xff"))
        assert list(encoded.faults) == [1]

    def test_keeps_integers_as_they_are(self) -> None:
        encoded = Int64Feature().encode(pa.array([1, -2], pa.int32()))
        assert encoded.values.to_pylist() == [1, -2]
        assert encoded.values.type == pa.int64()

    @given(st.lists(st.integers(-(2**70), 2**70), max_size=20))
    def test_agrees_with_python_about_what_fits(self, numbers: list[int]) -> None:
        encoded = Int64Feature().encode(cells(*map(str, numbers)))
        for index, number in enumerate(numbers):
            if -(2**63) <= number < 2**63:
                assert encoded.values[index].as_py() == number
            assert (index in encoded.faults) is not (-(2**63) <= number < 2**63)


class TestFloat32Feature:
    def test_takes_decimal_numbers(self) -> None:
        texts = ["0", "1.5", "-0.25", "+2", "5.", ".5", "1e3", "1E-3", "007", "-0", "1e-400"]
        encoded = Float32Feature().encode(cells(*texts))
        assert encoded.values.type == pa.float32()
        expected = [0.0, 1.5, -0.25, 2.0, 5.0, 0.5, 1000.0, 0.001, 7.0, -0.0, 0.0]
        assert encoded.values.to_pylist() == pa.array(expected, pa.float32()).to_pylist()
        assert encoded.faults == {}

    @pytest.mark.parametrize(
        "text",
        ["", " 1", "1,5", "1_0", "nan", "inf", "-inf", "infinity", "0x1p3", "1e", ".", "+", "1.0f"],
    )
    def test_refuses_all_else_and_shows_it(self, text: str) -> None:
        faults = Float32Feature().encode(cells("5", text)).faults
        assert faults == {1: f"must be a decimal number (got {text!r})"}

    @pytest.mark.parametrize("text", ["1e39", "-1e39", "3.4028236e38", "1e400"])
    def test_refuses_what_would_become_infinite(self, text: str) -> None:
        faults = Float32Feature().encode(cells("3.4028235e38", text)).faults
        assert faults == {1: f"must be a number that 32 bits can hold (got {text!r})"}

    def test_keeps_numbers_and_nulls(self) -> None:
        assert Float32Feature().encode(pa.array([1, 2])).values.to_pylist() == [1.0, 2.0]
        assert Float32Feature().encode(pa.array([0.5])).values.to_pylist() == [0.5]
        assert Float32Feature().encode(cells("1", None)).values.to_pylist() == [1.0, None]

    @given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=20))
    def test_reads_back_every_number_exactly(self, numbers: list[float]) -> None:
        encoded = Float32Feature().encode(cells(*map(repr, numbers)))
        assert encoded.faults == {}
        bits = [struct.pack("<f", value) for value in encoded.values.to_pylist()]
        assert bits == [struct.pack("<f", number) for number in numbers]


class TestBoolFeature:
    def test_takes_true_yes_and_1_in_any_case(self) -> None:
        encoded = BoolFeature().encode(
            cells("true", "TRUE", "Yes", "1", "false", "False", "nO", "0", None)
        )
        assert encoded.values.to_pylist() == [1, 1, 1, 1, 0, 0, 0, 0, None]
        assert encoded.values.type == pa.int64()
        assert encoded.faults == {}

    @pytest.mark.parametrize("text", ["", "t", "on", "2", " true", "wahr"])
    def test_refuses_all_else_and_shows_it(self, text: str) -> None:
        faults = BoolFeature().encode(cells("1", text)).faults
        assert faults == {1: f"must be true or false, yes or no, 1 or 0 (got {text!r})"}


class TestTextFeature:
    def test_keeps_text_byte_by_byte(self) -> None:
        encoded = TextFeature().encode(cells(" a\n", "ä", ""))
        assert encoded.values.to_pylist() == [b" a\n", "ä".encode(), b""]
        assert encoded.values.type == pa.large_binary()
        assert encoded.faults == {}

    def test_names_the_first_byte_that_is_no_utf8(self) -> None:
        encoded = TextFeature().encode(cells("ab", b"ab\xff", None, b"\xc3"))
        assert encoded.faults == {
            1: "must be UTF-8 text (byte 2 is none); use kind: bytes",
            3: "must be UTF-8 text (byte 0 is none); use kind: bytes",
        }


class TestBytesFeature:
    def test_keeps_any_bytes(self) -> None:
        encoded = BytesFeature().encode(cells(b"\xff\x00", b""))
        assert encoded.values.to_pylist() == [b"\xff\x00", b""]
        assert encoded.faults == {}


@pytest.mark.parametrize(
    ("feature", "stored_type"),
    [
        (TextFeature(), StoredType.BYTES),
        (BytesFeature(), StoredType.BYTES),
        (Int64Feature(), StoredType.INT64),
        (BoolFeature(), StoredType.INT64),
        (Float32Feature(), StoredType.FLOAT32),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_each_kind_stores_one_column_of_its_type(
    feature: TextFeature, stored_type: StoredType
) -> None:
    assert feature.stored("x") == (StoredColumn("x", stored_type),)


@given(st.lists(st.one_of(st.none(), st.binary(max_size=8)), max_size=6))
def test_any_bytes_are_encoded_or_a_fault(values: list[bytes | None]) -> None:
    features = (Int64Feature(), Float32Feature(), BoolFeature(), TextFeature(), BytesFeature())
    for feature in features:
        encoded = feature.encode(pa.array(values, pa.binary()))
        assert len(encoded.values) == len(values)
        assert set(encoded.faults) <= set(range(len(values)))
