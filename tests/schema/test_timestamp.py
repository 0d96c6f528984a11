"""Timestamps: whole texts and existing moments only, equal to what Python's datetime says."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.schema import StoredColumn, StoredType, TimestampFeature

DAY = 86_400
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MOMENTS = st.datetimes(timezones=st.just(dt.UTC))


def utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)  # type: ignore[misc, arg-type]


def cells(*texts: str | bytes | None) -> pa.Array:
    values = [text.encode() if isinstance(text, str) else text for text in texts]
    return pa.array(values, pa.binary())


def microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // dt.timedelta(microseconds=1)


class TestIsoTexts:
    @pytest.mark.parametrize(
        ("text", "seconds"),
        [
            ("1970-01-01", 0),
            ("1969-12-31", -DAY),
            ("2020-02-29", 1_582_934_400),
            ("2020-01-02T03:04", 1_577_934_240),
            ("2020-01-02 03:04:05", 1_577_934_245),
            (" 2020-01-02T03:04:05\t", 1_577_934_245),
            ("2020-01-02T03:04:05.000", 1_577_934_245),
            ("2020-01-02T03:04:05Z", 1_577_934_245),
            ("2020-01-02T03:04:05+02:00", 1_577_934_245 - 7_200),
            ("2020-01-02 03:04-00:30", 1_577_934_240 + 1_800),
            ("0001-01-01", -62_135_596_800),
            ("9999-12-31T23:59:59", 253_402_300_799),
        ],
    )
    def test_become_seconds(self, text: str, seconds: int) -> None:
        encoded = TimestampFeature().encode(cells(text, None))
        assert encoded.values.type == pa.int64()
        assert encoded.values.to_pylist() == [seconds, None]
        assert encoded.faults == {}

    @pytest.mark.parametrize(
        "text",
        [
            "", "2020", "2020-01", "2020-1-2", "20200102", "03/04/2020", "2020-01-02T", "x",
            "2020-01-02T03", "2020-01-02t03:04", "2020-01-02T03:04:05z", "2020-01-02Z",
            "2020-01-02T03:04:05.", "2020-01-02T03:04:05,5", "2020-01-02T03:04:05+0200",
            "2020-01-02T03:04:05 +02:00", "2020-01-02x", "+2020-01-02", "10000-01-01",
            "2020-01-02T03:04:05.1234567890", "2020-01-02\n", "\u0662020-01-02",
        ],
    )  # fmt: skip
    def test_of_other_forms_are_not_guessed(self, text: str) -> None:
        faults = TimestampFeature().encode(cells("2020-01-02", text)).faults
        assert faults == {
            1: f"must be an ISO 8601 date or time (got {text!r}); give its `format` in the schema"
        }

    @pytest.mark.parametrize(
        "text",
        [
            "2020-02-30", "2021-02-29", "1900-02-29", "2020-04-31", "2020-13-01", "2020-00-01",
            "2020-01-00", "2020-01-32", "0000-01-01", "0000-00-00", "2020-01-02T24:00",
            "2020-01-02T03:60", "2020-01-02T03:04:60", "2020-01-02T03:04+24:00",
            "2020-01-02T03:04+00:60",
        ],
    )  # fmt: skip
    def test_must_exist(self, text: str) -> None:
        faults = TimestampFeature().encode(cells("2020-01-02", text)).faults
        assert faults == {1: f"must be a time that exists (got {text!r})"}

    def test_must_not_lose_a_fraction(self) -> None:
        texts = cells("2020-01-02T03:04:05.120", "2020-01-02T03:04:05.1234", None)
        advice = "; give a finer `unit` in the schema"
        shown = "(got '2020-01-02T03:04:05.1234')"
        encoded = TimestampFeature(unit="ms").encode(texts)
        assert encoded.values[0].as_py() == 1_577_934_245_120
        assert encoded.faults == {
            1: f"must be a time without parts finer than the unit ms {shown}{advice}"
        }
        assert list(TimestampFeature(unit="s").encode(texts).faults) == [0, 1]
        encoded = TimestampFeature(unit="us").encode(texts)
        assert encoded.values[1].as_py() == 1_577_934_245_123_400
        assert encoded.faults == {}

    @pytest.mark.parametrize(
        ("text", "nanoseconds"),
        [
            ("2262-04-11T23:47:16.854775807", 2**63 - 1),
            ("2262-04-11T23:47:16.854775808", None),
            ("1677-09-21T00:12:43.145224192", -(2**63)),
            ("1677-09-21T00:12:43.145224191", None),
            ("9999-12-31", None),
            ("0001-01-01", None),
        ],
    )
    def test_must_fit_into_64_bits(self, text: str, nanoseconds: int | None) -> None:
        for suffix in ("", "Z" if "T" in text else ""):
            encoded = TimestampFeature(unit="ns").encode(cells(text + suffix))
            if nanoseconds is None:
                assert encoded.faults == {
                    0: f"must be a time that 64 bits hold in the unit ns (got {text + suffix!r})"
                }
            else:
                assert encoded.faults == {}
                assert encoded.values.to_pylist() == [nanoseconds]

    @given(st.lists(MOMENTS, min_size=1, max_size=5), st.booleans())
    def test_equal_what_python_says(self, moments: list[dt.datetime], offset: bool) -> None:
        texts = [moment.isoformat() for moment in moments]
        if not offset:
            texts = [text.removesuffix("+00:00") for text in texts]
        encoded = TimestampFeature(unit="us").encode(cells(*texts))
        assert encoded.faults == {}
        assert encoded.values.to_pylist() == [microseconds(moment) for moment in moments]


class TestFormats:
    @pytest.mark.parametrize(
        ("format_", "text", "moment"),
        [
            ("%d/%m/%Y", "03/04/2020", utc(2020, 4, 3)),
            ("%m/%d/%Y", "3/4/2020", utc(2020, 3, 4)),
            ("%Y%m%d", "20200304", utc(2020, 3, 4)),
            ("%d.%m.%y", "1.2.68", utc(2068, 2, 1)),
            ("%d.%m.%y", "1.2.69", utc(1969, 2, 1)),
            ("%b %d %Y", "JAN 5 2020", utc(2020, 1, 5)),
            ("%d %B %Y", "5 september 2020", utc(2020, 9, 5)),
            ("%a %b %d %H:%M:%S %Y", "Mon Jan 06 03:04:05 2020", utc(2020, 1, 6, 3, 4, 5)),
            ("%A, %F", "Thursday, 1970-01-01", utc(1970, 1, 1)),
            ("%Y %j", "2020 366", utc(2020, 12, 31)),
            ("%F %I:%M %p", "2020-01-02 12:30 AM", utc(2020, 1, 2, 0, 30)),
            ("%F %I:%M %p", "2020-01-02 12:30 pm", utc(2020, 1, 2, 12, 30)),
            ("%F %I %p", "2020-01-02 1 PM", utc(2020, 1, 2, 13)),
            ("%FT%T%z", "2020-01-02T03:04:05+0100", utc(2020, 1, 2, 2, 4, 5)),
            ("%FT%T%z", "2020-01-02T03:04:05Z", utc(2020, 1, 2, 3, 4, 5)),
            ("%Y年%m月", "2020年2月", utc(2020, 2, 1)),
            ("100%% %Y (x)", "100% 2020 (x)", utc(2020, 1, 1)),
        ],
    )
    def test_are_read_like_strptime(self, format_: str, text: str, moment: dt.datetime) -> None:
        encoded = TimestampFeature(format=format_).encode(cells(text, None))
        assert encoded.faults == {}
        seconds = (moment - EPOCH) // dt.timedelta(seconds=1)
        assert encoded.values.to_pylist() == [seconds, None]

    @pytest.mark.parametrize(
        ("format_", "text"),
        [
            ("%Y-%m-%d", "2020-01-02x"),
            ("%Y-%m-%d", "x2020-01-02"),
            ("%Y-%m-%d", "2020- 1-02"),
            ("%Y-%m-%d", "02020-01-02"),
            ("%Y-%m-%d", "20-01-02"),
            ("%Y-%m-%d", "2020-01-02 03:04"),
            ("%Y%m%d", "2020111"),
            ("%d %b %Y", "5 Mai 2020"),
            ("%Y.%m.%d", "2020x01x02"),
            ("%Y-%m-%d", "-2020-01-02"),
        ],
    )
    def test_must_fit_the_whole_text(self, format_: str, text: str) -> None:
        faults = TimestampFeature(format=format_).encode(cells(text)).faults
        assert faults == {0: f"must be a time of the format {format_!r} (got {text!r})"}

    @pytest.mark.parametrize(
        ("format_", "text"),
        [
            ("%d/%m/%Y", "30/02/2020"),
            ("%d/%m/%Y", "01/13/2020"),
            ("%Y %j", "2021 366"),
            ("%Y %j", "2021 0"),
            ("%a %F", "Tue 2020-01-06"),
            ("%F %T", "2020-01-02 03:04:60"),
            ("%F %H", "2020-01-02 24"),
            ("%F %I %p", "2020-01-02 13 PM"),
            ("%F %I %p", "2020-01-02 0 PM"),
        ],
    )
    def test_must_give_a_time_that_exists(self, format_: str, text: str) -> None:
        faults = TimestampFeature(format=format_).encode(cells(text)).faults
        assert faults == {0: f"must be a time that exists (got {text!r})"}

    @pytest.mark.parametrize(
        ("format_", "sentence"),
        [
            (
                "%Y-%Q %",
                "format has codes that are not known (got %Q, %; %Y, %y, %m, %d, %j, %H, %I, "
                "%M, %S, %f, %B, %b, %A, %a, %p, %z, %F, %T, %% are)",
            ),
            ("%H:%M", "format must have one year, %Y or %y"),
            ("", "format must have one year, %Y or %y"),
            ("%Y-%m-%m", "format must have each code once (got %m twice)"),
            ("%F %Y", "format must have each code once (got %Y twice)"),
            ("%Y %m %b", "format must say each part of a date once"),
            ("%Y %d", "format must have a month with its day, or the day of the year, %j"),
            ("%Y %m %j", "format must have a month with its day, or the day of the year, %j"),
            ("%F %I", "format must have %I and %p together, or %H"),
            ("%F %f", "format must have %S where it has %f"),
        ],
    )
    def test_must_give_one_date(self, format_: str, sentence: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            TimestampFeature(format=format_)

    @given(
        st.lists(MOMENTS, min_size=1, max_size=5),
        st.sampled_from(
            ["%Y-%m-%dT%H:%M:%S.%f%z", "%d %B %Y, %H:%M:%S.%f", "%A %b %d %Y %I:%M:%S %p %f",
             "%j/%Y %H%M%S%f"]
        ),
    )  # fmt: skip
    def test_equal_what_python_says(self, moments: list[dt.datetime], format_: str) -> None:
        # %Y of years before 1000 has less than four digits in C.
        moments = [m.replace(year=m.year + 4000 if m.year < 1000 else m.year) for m in moments
                   if (m.month, m.day) != (2, 29)] or [EPOCH]  # fmt: skip
        encoded = TimestampFeature(format=format_, unit="us").encode(
            cells(*(moment.strftime(format_) for moment in moments))
        )
        assert encoded.faults == {}
        assert encoded.values.to_pylist() == [microseconds(moment) for moment in moments]


class TestTypedColumns:
    def test_times_are_converted_exactly(self) -> None:
        values = pa.array([1_500, None, -1_000], pa.timestamp("ms", "Europe/Paris"))
        encoded = TimestampFeature(unit="us").encode(values)
        assert encoded.values.to_pylist() == [1_500_000, None, -1_000_000]
        encoded = TimestampFeature(unit="s").encode(values)
        assert encoded.values.to_pylist()[1:] == [None, -1]
        (fault,) = encoded.faults.values()
        assert fault.startswith("must be a time without parts finer than the unit s (got ")
        assert fault.endswith("); give a finer `unit` in the schema")

    def test_times_beyond_64_bits_are_refused(self) -> None:
        values = pa.array([2**62, 1], pa.timestamp("s"))
        encoded = TimestampFeature(unit="ns").encode(pa.array([10**11, 1], pa.timestamp("s")))
        assert list(encoded.faults) == [0]
        assert encoded.values[1].as_py() == 10**9
        assert TimestampFeature().encode(values).values.to_pylist() == [2**62, 1]

    def test_dates_and_whole_units_are_taken(self) -> None:
        for type_, value in ((pa.date32(), 2), (pa.date64(), 2 * DAY * 1_000)):
            encoded = TimestampFeature(unit="ms").encode(pa.array([value, None], type_))
            assert encoded.values.to_pylist() == [2 * DAY * 1_000, None]
        assert TimestampFeature().encode(pa.array([5, None])).values.to_pylist() == [5, None]

    def test_others_are_refused(self) -> None:
        for type_ in (pa.string(), pa.timestamp("ns", "UTC"), pa.date32(), pa.int32(), pa.null()):
            assert TimestampFeature().accepts(type_) is None
        assert TimestampFeature().accepts(pa.float64()) == (
            "holds double, which kind timestamp does not take"
        )


@pytest.mark.parametrize(
    ("missing", "value", "faults"),
    [
        (None, None, {}),
        ("empty", None, {}),
        (-1, -1, {}),
        ("error", None, {0: "must not be missing"}),
    ],
)
def test_says_what_stands_for_a_missing_time(
    missing: Any, value: int | None, faults: dict[int, str]
) -> None:
    for texts in (cells(None, "1970-01-01"), cells(None, "1970-01-01T00:00Z")):
        encoded = TimestampFeature(missing=missing).encode(texts)
        assert encoded.values.to_pylist() == [value, 0]
        assert encoded.faults == faults


def test_a_missing_value_must_fit() -> None:
    with pytest.raises(ValueError, match=r"^missing must be a whole number of 64 bits \(got 9"):
        TimestampFeature(missing=2**63)


def test_stores_one_integer() -> None:
    assert TimestampFeature().stored("x") == (StoredColumn("x", StoredType.INT64),)


@given(st.lists(st.one_of(st.none(), st.binary(max_size=8)), max_size=6))
def test_any_bytes_are_encoded_or_a_fault(values: list[bytes | None]) -> None:
    for format_ in (None, "%Y-%m-%d %H", "%d%b%y%z"):
        encoded = TimestampFeature(format=format_).encode(pa.array(values, pa.binary()))
        assert len(encoded.values) == len(values)
        assert set(encoded.faults) <= set(range(len(values)))
