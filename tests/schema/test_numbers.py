"""Numbers: what a cell must look like, exactly, what it becomes, and what stands for none."""

from __future__ import annotations

import decimal
import math
import re
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.schema import (
    Float32Feature,
    Float64Feature,
    Int64Feature,
    StoredColumn,
    StoredType,
    encode_cells,
    encode_packed,
)

ADVICE = "must not be missing; give `missing` a value in the schema"


def cells(*texts: str | bytes | None) -> pa.Array:
    values = [text.encode() if isinstance(text, str) else text for text in texts]
    return pa.array(values, pa.binary())


class TestInt64Feature:
    def test_takes_decimal_numbers_of_64_bits_next_to_missing_ones(self) -> None:
        texts = ["0", "7", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808"]
        encoded = Int64Feature().encode(cells(*texts, None))
        assert encoded.values.type == pa.int64()
        assert encoded.values.to_pylist() == [*(int(text) for text in texts), None]
        assert encoded.faults == {}

    def test_looks_past_blanks_at_the_ends(self) -> None:
        encoded = Int64Feature().encode(cells(" 42 ", "\t-7", "1"))
        assert encoded.values.to_pylist() == [42, -7, 1]
        assert encoded.faults == {}

    @pytest.mark.parametrize(
        "text",
        [
            "", " ", "1\n", "\u00a01", "+1", "+5", "-0", "007", "-07", "02134", "1_000", "100_1",
            "1,000", "0x1F", "0x10", "0x17bfac7c0", "1.0", "1.5", "1e3", "nan", "inf", "true", "-",
            "--1", "1-", "\u0663", "9223372036854775808", "-9223372036854775809",
            "9999999999999999999", "1" * 40, " 007 ",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("others", [("5", "6"), (" 5", "6x")])
    def test_refuses_all_else_and_shows_it(self, text: str, others: tuple[str, str]) -> None:
        encoded = Int64Feature().encode(cells(others[0], text, others[1], None))
        assert encoded.faults[1] == f"must be a whole number of 64 bits (got {text!r})"
        assert encoded.values[0].as_py() == 5
        assert list(encoded.faults) == ([1] if others[1] == "6" else [1, 2])

    def test_shows_bytes_that_are_no_text_escaped(self) -> None:
        faults = Int64Feature().encode(cells("5", None, b"\xff1")).faults
        assert faults == {2: r"must be a whole number of 64 bits (got '\\xff1')"}

    def test_reads_slices_and_every_type_of_text(self) -> None:
        whole = cells("x", "007", "1", "23", "y")
        for type_ in (pa.binary(), pa.large_binary(), pa.string(), pa.large_string()):
            encoded = Int64Feature().encode(whole.cast(type_).slice(2, 2))
            assert encoded.values.to_pylist() == [1, 23]
        coded = pa.array(["5", None, "5"]).dictionary_encode()
        assert Int64Feature().encode(coded).values.to_pylist() == [5, None, 5]
        assert Int64Feature().encode(cells()).values == pa.array([], pa.int64())
        assert Int64Feature().encode(cells(None)).values.to_pylist() == [None]
        assert Int64Feature().encode(pa.nulls(2)).values.to_pylist() == [None, None]

    def test_takes_integers_and_whole_decimals(self) -> None:
        for type_ in (pa.int8(), pa.uint16(), pa.int64(), pa.decimal128(9, 0)):
            assert Int64Feature().encode(pa.array([1, 2], type_)).values.to_pylist() == [1, 2]

    def test_refuses_integers_of_more_bits(self) -> None:
        encoded = Int64Feature().encode(pa.array([5, 2**64 - 1, None], pa.uint64()))
        assert encoded.values.to_pylist() == [5, None, None]
        assert encoded.faults == {1: "must be a whole number of 64 bits (got 18446744073709551615)"}

    @given(st.lists(st.none() | st.integers(-(2**70), 2**70), max_size=20))
    def test_agrees_with_python_about_what_fits(self, numbers: list[int | None]) -> None:
        texts = [None if number is None else str(number) for number in numbers]
        encoded = Int64Feature().encode(cells(*texts))
        for index, number in enumerate(numbers):
            fits = number is None or -(2**63) <= number < 2**63
            assert (index in encoded.faults) is not fits
            assert not fits or encoded.values[index].as_py() == number

    @given(st.lists(st.text("0123456789-+xX _.e", max_size=20), min_size=1, max_size=8))
    def test_takes_what_the_rule_says_and_no_more(self, texts: list[str]) -> None:
        encoded = Int64Feature().encode(cells(*texts))
        for index, text in enumerate(texts):
            bare = text.strip(" ")
            good = re.fullmatch("0|-?[1-9][0-9]*", bare) and -(2**63) <= int(bare) < 2**63
            assert (index in encoded.faults) is not bool(good)
            assert not good or encoded.values[index].as_py() == int(bare)

    @pytest.mark.parametrize(
        ("missing", "values", "faults"),
        [
            (None, [None, 3], {}),
            ("empty", [None, 3], {}),
            (0, [0, 3], {}),
            (-1, [-1, 3], {}),
            ("error", [None, 3], {0: "must not be missing"}),
        ],
    )
    def test_says_what_stands_for_a_missing_number(
        self, missing: Any, values: list[Any], faults: dict[int, str]
    ) -> None:
        encoded = Int64Feature(missing=missing, min=0).encode(cells(None, "3"))
        assert encoded.values.to_pylist() == values
        assert encoded.faults == faults

    def test_a_fault_is_not_also_a_missing_number(self) -> None:
        for missing in (0, "error", "empty"):
            faults = Int64Feature(missing=missing).encode(cells("x")).faults
            assert faults == {0: "must be a whole number of 64 bits (got 'x')"}

    def test_refuses_numbers_outside_of_the_limits(self) -> None:
        encoded = Int64Feature(min=0, max=9).encode(cells("-3", "0", "9", "10", None))
        assert encoded.faults == {
            0: "must be at least 0 (got -3)",
            3: "must be at most 9 (got 10)",
        }


class TestFloat32Feature:
    def test_takes_decimal_numbers(self) -> None:
        texts = ["0", "1.5", "-0.25", "+2", "5.", ".5", "1e3", "1E-3", "007", "-0", "1e-400", " 3 "]
        encoded = Float32Feature().encode(cells(*texts))
        assert encoded.values.type == pa.float32()
        expected = [0.0, 1.5, -0.25, 2.0, 5.0, 0.5, 1000.0, 0.001, 7.0, -0.0, 0.0, 3.0]
        assert encoded.values.to_pylist() == pa.array(expected, pa.float32()).to_pylist()
        assert encoded.faults == {}

    @pytest.mark.parametrize(
        "text",
        ["", "1,5", "1_0", "nan", "NaN", "inf", "-inf", "infinity", "0x1p3", "1e", ".", "+", "1.0f",
         "100_1", "1 2", "1\n"],
    )  # fmt: skip
    def test_refuses_all_else_and_shows_it(self, text: str) -> None:
        faults = Float32Feature().encode(cells("5", text, None, " +6 ")).faults
        assert faults == {1: f"must be a decimal number (got {text!r})"}

    @pytest.mark.parametrize("text", ["1e39", "-1e39", "3.4028236e38", "1e400"])
    def test_refuses_what_would_become_infinite(self, text: str) -> None:
        faults = Float32Feature().encode(cells("3.4028235e38", text)).faults
        assert faults == {1: f"must be a number that 32 bits can hold (got {text!r})"}

    def test_knows_the_decimal_comma(self) -> None:
        encoded = Float32Feature().encode(cells("1,5", " 2 ", "-,25", "1e1", None), decimal=",")
        assert encoded.values.to_pylist()[:4] == [1.5, 2.0, -0.25, 10.0]
        encoded = Float32Feature().encode(cells("1.5", "1,5,5", "2,5", "1.000,5"), decimal=",")
        assert encoded.values[2].as_py() == 2.5
        assert encoded.faults == {
            0: "must be a decimal number (got '1.5')",
            1: "must be a decimal number (got '1,5,5')",
            3: "must be a decimal number (got '1.000,5')",
        }

    def test_takes_typed_numbers(self) -> None:
        for values in (
            pa.array([1, 2]),
            pa.array([1.0, 2.0]),
            pa.array([decimal.Decimal("1.0"), decimal.Decimal("2.0")]),
            pa.array(np.array([1, 2], np.float16)),
        ):
            encoded = Float32Feature().encode(values)
            assert encoded.values == pa.array([1, 2], pa.float32())

    def test_rounds_doubles_and_refuses_those_out_of_range(self) -> None:
        encoded = Float32Feature().encode(pa.array([0.1, 1e300, math.inf]))
        assert encoded.values[0].as_py() == struct.unpack("<f", struct.pack("<f", 0.1))[0]
        assert encoded.faults == {1: "must be a number that 32 bits can hold (got 1e+300)"}

    def test_a_missing_number_is_nan_or_what_is_said(self) -> None:
        (value,) = Float32Feature().encode(cells(None)).values.to_pylist()
        assert math.isnan(value)
        for missing, values in ((0, [0.0]), (-1.5, [-1.5]), ("empty", [None])):
            encoded = Float32Feature(missing=missing).encode(cells(None))  # type: ignore[arg-type]
            assert encoded.values.to_pylist() == values
        assert Float32Feature(missing="error").encode(cells(None)).faults == {
            0: "must not be missing"
        }

    def test_limits_are_rounded_like_the_numbers(self) -> None:
        feature = Float32Feature(min=-1.5, max=0.1)
        encoded = feature.encode(cells("0.1", "-1.5", "0.1001", "-2", None))
        assert encoded.faults == {
            2: "must be at most 0.1 (got 0.1001)",
            3: "must be at least -1.5 (got -2)",
        }
        assert Float32Feature(max=1e300).encode(cells("3e38")).faults == {}

    @given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=20))
    def test_reads_back_every_number_exactly(self, numbers: list[float]) -> None:
        encoded = Float32Feature().encode(cells(*map(repr, numbers)))
        assert encoded.faults == {}
        bits = [struct.pack("<f", value) for value in encoded.values.to_pylist()]
        assert bits == [struct.pack("<f", number) for number in numbers]

    @given(st.lists(st.text("0123456789-+xX _.eEnaif", max_size=8), min_size=1, max_size=8))
    def test_takes_what_the_rule_says_and_no_more(self, texts: list[str]) -> None:
        faults = Float64Feature().encode(cells(*texts)).faults
        for index, text in enumerate(texts):
            rule = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?"
            good = re.fullmatch(rule, text.strip(" ")) and math.isfinite(float(text))
            assert (index in faults) is not bool(good)


class TestFloat64Feature:
    def test_keeps_every_bit_as_eight_bytes(self) -> None:
        encoded = Float64Feature().encode(cells("0.1", "-2", None))
        assert encoded.values.type == pa.large_binary()
        first, second, third = encoded.values.to_pylist()
        assert (first, second) == (struct.pack("<d", 0.1), struct.pack("<d", -2.0))
        assert math.isnan(struct.unpack("<d", third)[0])

    def test_leaves_out_what_is_missing_if_told(self) -> None:
        encoded = Float64Feature(missing="empty").encode(cells(None, "1", None))
        assert encoded.values.to_pylist() == [None, struct.pack("<d", 1.0), None]

    def test_keeps_lists_in_one_value_and_none_if_empty(self) -> None:
        feature = Float64Feature(many=True, separator=";")
        encoded = feature.encode(cells("1;2.5", "", None, "3"))
        assert encoded.values.to_pylist() == [
            struct.pack("<2d", 1.0, 2.5), None, None, struct.pack("<d", 3.0),
        ]  # fmt: skip

    def test_packs_columns_into_one_value(self) -> None:
        feature = Float64Feature(columns=("p*",))
        encoded = encode_packed(feature, [("p0", cells("1", "2")), ("p1", cells("3", None))])
        first, second = encoded.values.to_pylist()
        assert first == struct.pack("<2d", 1.0, 3.0)
        assert second == struct.pack("<2d", 2.0, math.nan)

    def test_is_rounded_only_if_that_is_said(self) -> None:
        encoded = Float64Feature(store="float32").encode(cells("0.5"))
        assert encoded.values == pa.array([0.5], pa.float32())

    @given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
    def test_reads_back_every_number_exactly(self, numbers: list[float]) -> None:
        values = Float64Feature().encode(cells(*map(repr, numbers))).values.to_pylist()
        assert values == [struct.pack("<d", number) for number in numbers]


class TestLists:
    def test_are_split_at_the_separator(self) -> None:
        feature = Int64Feature(many=True, separator="|")
        encoded = feature.encode(cells("1|2", " 3 | -4 ", "", " ", None, "5"))
        assert encoded.values.type == pa.large_list(pa.int64())
        assert encoded.values.to_pylist() == [[1, 2], [3, -4], [], [], None, [5]]
        assert encoded.faults == {}

    def test_name_the_first_item_that_is_wrong(self) -> None:
        feature = Int64Feature(many=True, separator="|", min=0)
        encoded = feature.encode(cells("1|x|y", "1|", "|", "3|-4"))
        assert encoded.faults == {
            0: "must be a whole number of 64 bits (got 'x')",
            1: "must be a whole number of 64 bits (got '')",
            2: "must be a whole number of 64 bits (got '')",
            3: "must be at least 0 (got -4)",
        }

    def test_come_from_columns_of_lists(self) -> None:
        values = pa.array([[1, 2], None, [], [3]], pa.list_(pa.int32()))
        encoded = Int64Feature(many=True).encode(values)
        assert encoded.values.to_pylist() == [[1, 2], None, [], [3]]
        assert Int64Feature(many=True).encode(values.slice(2)).values.to_pylist() == [[], [3]]

    def test_must_not_lose_a_missing_item(self) -> None:
        values = pa.array([[1, None], [2]])
        assert Int64Feature(many=True).encode(values).faults == {0: ADVICE}
        assert Int64Feature(many=True, missing="empty").encode(values).faults == {0: ADVICE}
        filled = Int64Feature(many=True, missing=7).encode(values)
        assert filled.values.to_pylist() == [[1, 7], [2]]
        (first, _) = Float32Feature(many=True).encode(values).values.to_pylist()
        assert first[0] == 1.0
        assert math.isnan(first[1])

    def test_may_have_to_be_there(self) -> None:
        feature = Int64Feature(many=True, separator="|", missing="error")
        assert feature.encode(cells("1", None, "")).faults == {1: "must not be missing"}

    def test_need_a_separator_in_text_cells_only(self) -> None:
        assert Int64Feature(many=True).needs_separator
        assert Float32Feature(shape=(4,)).needs_separator
        assert not Int64Feature(many=True, separator=" ").needs_separator
        assert not Int64Feature().needs_separator
        assert not Int64Feature(columns=("a*",)).needs_separator
        with pytest.raises(ValueError, match=r"^text cells need a separator$"):
            Int64Feature(many=True).encode(cells("1"))

    def test_of_a_shape_must_have_as_many_values(self) -> None:
        values = pa.array([[1, 2, 3, 4], [1, 2, 3], None, [5, 6, 7, 8]])
        encoded = Int64Feature(shape=(2, 2)).encode(values)
        assert encoded.values.to_pylist()[::3] == [[1, 2, 3, 4], [5, 6, 7, 8]]
        assert encoded.faults == {1: "must hold 4 values (got 3)", 2: ADVICE}
        filled = Int64Feature(shape=(2, 2), missing=0).encode(values)
        assert filled.values.to_pylist()[2] == [0, 0, 0, 0]
        assert list(filled.faults) == [1]

    def test_of_a_shape_may_stand_in_one_cell(self) -> None:
        feature = Float32Feature(shape=(3,), separator=" ")
        encoded = feature.encode(cells("1 2 3", " 4 5 6 ", None))
        first, second, third = encoded.values.to_pylist()
        assert (first, second) == ([1, 2, 3], [4, 5, 6])
        assert all(math.isnan(value) for value in third)
        fixed = pa.array([[1, 2, 3]], pa.list_(pa.int8(), 3))
        assert feature.encode(fixed).values.to_pylist() == [[1, 2, 3]]


class TestEncodePacked:
    def test_gives_each_record_the_values_of_its_columns(self) -> None:
        feature = Int64Feature(columns=("p*",), shape=(3,))
        columns = [("p0", cells("1", "2")), ("p1", pa.array([3, 4])), ("p2", cells(" 5", "6"))]
        encoded = encode_packed(feature, columns)
        assert encoded.values.type == pa.large_list(pa.int64())
        assert encoded.values.to_pylist() == [[1, 3, 5], [2, 4, 6]]
        assert encoded.faults == {}

    def test_names_the_column_of_the_first_fault(self) -> None:
        feature = Int64Feature(columns=("p*",), max=9)
        encoded = encode_packed(
            feature, [("p0", cells("1", "x", None)), ("p1", cells("10", "y", "2"))]
        )
        assert encoded.faults == {
            0: "p1: must be at most 9 (got 10)",
            1: "p0: must be a whole number of 64 bits (got 'x')",
            2: f"p0: {ADVICE}",
        }

    def test_fills_missing_numbers(self) -> None:
        columns = [("a", cells("1,5", None))]
        encoded = encode_packed(Float32Feature(columns=("a",)), columns, decimal=",")
        assert encoded.values[0].as_py() == [1.5]
        assert math.isnan(encoded.values[1].as_py()[0])
        encoded = encode_packed(Int64Feature(columns=("a",), missing=3), [("a", cells(None))])
        assert encoded.values.to_pylist() == [[3]]

    def test_needs_a_column(self) -> None:
        with pytest.raises(ValueError, match=r"^at least one column must be packed$"):
            encode_packed(Int64Feature(columns=("a",)), [])


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"columns": ()}, "columns must hold at least one pattern"),
            ({"columns": ("a",), "from_": "a"}, "`columns` and `from` exclude each other"),
            ({"columns": ("a",), "many": True}, "`columns` and `many` exclude each other"),
            ({"shape": (2,), "many": True}, "`shape` and `many` exclude each other"),
            ({"shape": (2, 0)}, "shape must hold whole numbers of at least 1 (got [2, 0])"),
            ({"shape": ()}, "shape must hold whole numbers of at least 1 (got [])"),
            ({"separator": "|"}, "`separator` goes with `many: true`"),
            ({"separator": "", "many": True}, "separator must be at least one character"),
            (
                {"columns": ("a",), "missing": "empty"},
                "`missing: empty` goes with one value per record, not with a shape",
            ),
            ({"min": 3, "max": 2}, "min must be at most max (got 3 and 2)"),
            ({"min": 2**63}, f"min must be a whole number of 64 bits (got {2**63})"),
            (
                {"separator": "|", "min": 3, "max": 2},
                "`separator` goes with `many: true`; min must be at most max (got 3 and 2)",
            ),
        ],
    )
    def test_that_contradict_are_refused(self, options: dict[str, Any], sentence: str) -> None:
        for kind in (Int64Feature, Float32Feature, Float64Feature):
            with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
                kind(**options)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"missing": math.nan}, "missing must be finite (got nan)"),
            ({"max": math.inf}, "max must be finite (got inf)"),
            ({"missing": 1e39}, "missing must be a number that 32 bits can hold (got 1e+39)"),
        ],
    )
    def test_of_floats_must_be_numbers(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            Float32Feature(**options)

    def test_decide_what_is_stored(self) -> None:
        assert Int64Feature().stored("x") == (StoredColumn("x", StoredType.INT64),)
        assert Int64Feature(many=True).stored("x") == (
            StoredColumn("x", StoredType.INT64, is_list=True),
        )
        assert Float32Feature(columns=("p*",), shape=(28, 28)).stored("x") == (
            StoredColumn("x", StoredType.FLOAT32, (28, 28)),
        )
        assert Float64Feature(columns=("p*",), shape=(28, 28)).stored("x") == (
            StoredColumn("x", StoredType.BYTES),
        )
        assert Float64Feature(shape=(2,), store="float32").stored("x") == (
            StoredColumn("x", StoredType.FLOAT32, (2,)),
        )


class TestAccepts:
    @pytest.mark.parametrize(
        ("feature", "type_", "reason"),
        [
            (Int64Feature(), pa.binary(), None),
            (Int64Feature(), pa.large_string(), None),
            (Int64Feature(), pa.dictionary(pa.int8(), pa.string()), None),
            (Int64Feature(), pa.null(), None),
            (Int64Feature(), pa.uint64(), None),
            (Int64Feature(), pa.decimal128(5, 0), None),
            (Int64Feature(), pa.decimal128(5, 1),
             "holds decimal128(5, 1), which kind int64 does not take"),
            (Int64Feature(), pa.float64(), "holds double, which kind int64 does not take"),
            (Int64Feature(), pa.bool_(), "holds bool, which kind int64 does not take"),
            (Float32Feature(), pa.int32(), None),
            (Float64Feature(), pa.float32(), None),
            (Float64Feature(), pa.timestamp("s"),
             "holds timestamp[s], which kind float64 does not take"),
            (Int64Feature(), pa.list_(pa.int64()),
             "holds list<item: int64>, which kind int64 takes only with `many: true`"),
            (Int64Feature(many=True), pa.list_(pa.int64()), None),
            (Int64Feature(many=True), pa.list_(pa.float32()),
             "holds list<item: float>, which kind int64 does not take"),
            (Int64Feature(many=True), pa.string(), None),
            (Int64Feature(many=True), pa.int64(),
             "holds int64, one value per record; leave out `many` and `shape`"),
            (Float32Feature(shape=(2,)), pa.list_(pa.float32(), 2), None),
            (Float32Feature(columns=("a",)), pa.int8(), None),
            (Float32Feature(columns=("a",)), pa.list_(pa.float32()),
             "holds list<item: float>, where `columns` takes one value of each column"),
        ],
        ids=str,
    )  # fmt: skip
    def test_says_which_types_feed_a_number(
        self, feature: Int64Feature, type_: pa.DataType, reason: str | None
    ) -> None:
        assert feature.accepts(type_) == reason


@given(st.lists(st.one_of(st.none(), st.binary(max_size=8)), max_size=6))
def test_any_bytes_are_encoded_or_a_fault(values: list[bytes | None]) -> None:
    for kind in (Int64Feature, Float32Feature, Float64Feature):
        for feature in (kind(), kind(many=True, separator="1"), kind(shape=(2,), separator="1")):
            for mark in (".", ","):
                encoded = encode_cells(feature, pa.array(values, pa.binary()), decimal=mark)
                encoded.values.validate(full=True)
                assert len(encoded.values) == len(values)
                assert set(encoded.faults) <= set(range(len(values)))
