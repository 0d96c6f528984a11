"""Texts of dates and times, read strictly: the whole text, existing days, nothing guessed.

Arrow's own ``strptime`` is the C library's: it turns 2020-02-30 into the first of March,
takes second 60 and a wrong weekday, knows no fractions, and follows the machine's language.
So a format becomes a regular expression, its parts become integers, and NumPy counts days.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tfrec_tools.errors import listed
from tfrec_tools.schema.cells import as_text

UNITS_PER_SECOND: Mapping[str, int] = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT = 3
_NAMES: Mapping[str, tuple[str, ...]] = {
    "B": _MONTHS,
    "b": tuple(name[:_SHORT] for name in _MONTHS),
    "A": _WEEKDAYS,
    "a": tuple(name[:_SHORT] for name in _WEEKDAYS),
    "p": ("am", "pm"),
}
_DIGITS: Mapping[str, tuple[int, int]] = {  # least and most digits
    "Y": (4, 4),
    "y": (2, 2),
    "m": (1, 2),
    "d": (1, 2),
    "j": (1, 3),
    "H": (1, 2),
    "I": (1, 2),
    "M": (1, 2),
    "S": (1, 2),
    "f": (1, 9),
}
_OFFSET = r"Z|[+-][0-9]{2}:?[0-9]{2}"
_LONG_FOR = {"F": "%Y-%m-%d", "T": "%H:%M:%S"}
_CODES = (*_DIGITS, *_NAMES, "z", *_LONG_FOR, "%")

ISO_PATTERN = (
    r"^(?P<Y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})"
    r"(?:[T ](?P<H>[0-9]{2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:\.(?P<f>[0-9]{1,9}))?)?"
    r"(?P<z>Z|[+-][0-9]{2}:[0-9]{2})?)?$"
)


@functools.cache
def format_pattern(format_: str) -> str:
    """Return the regular expression of a format with strptime's codes.

    Raises ValueError if a code is unknown or stands there twice, or the codes give no date.
    """
    for code, long in _LONG_FOR.items():
        format_ = re.sub(rf"(?<!%)((?:%%)*)%{code}", rf"\g<1>{long}", format_)
    parts = re.findall(r"%.|%$|[^%]+", format_, re.DOTALL)
    codes = [part[1:] for part in parts if part[0] == "%"]
    unknown = [f"%{code}" for code in codes if code not in _CODES]
    if unknown:
        known = listed([f"%{code}" for code in _CODES], limit=len(_CODES))
        raise ValueError(
            f"format has codes that are not known (got {listed(unknown)}; {known} are)"
        )
    _check_codes([code for code in codes if code != "%"])
    pattern = ""
    for index, part in enumerate(parts):
        if part == "%%":
            pattern += "%"
        elif part[0] != "%":
            pattern += re.escape(part)
        else:
            around = parts[max(index - 1, 0) : index] + parts[index + 1 : index + 2]
            pattern += f"(?P<{part[1]}>{_code_pattern(part[1], around)})"
    return f"^{pattern}$"


def _code_pattern(code: str, around: list[str]) -> str:
    if code == "z":
        return _OFFSET
    if code in _NAMES:
        return f"(?i:{'|'.join(_NAMES[code])})"
    least, most = _DIGITS[code]
    touches = any(part[0] == "%" and part[1] in _DIGITS for part in around)
    # Beside other digits the number of digits must be fixed: 2020111 could be two days.
    if touches and least != most:
        least = most = 6 if code == "f" else most
    return f"[0-9]{{{least},{most}}}"


def _check_codes(codes: list[str]) -> None:
    """Raise ValueError unless the codes give one date and at most one time of day."""
    twice = sorted({f"%{code}" for code in codes if codes.count(code) > 1})
    if twice:
        raise ValueError(f"format must have each code once (got {listed(twice)} twice)")
    given = set(codes)
    year, month = given & {"Y", "y"}, given & {"m", "b", "B"}
    if len(year) != 1:
        raise ValueError("format must have one year, %Y or %y")
    if len(month) > 1 or len(given & {"H", "I"}) > 1 or len(given & {"a", "A"}) > 1:
        raise ValueError("format must say each part of a date once")
    if ("j" in given and month | (given & {"d"})) or ("d" in given and not month):
        raise ValueError("format must have a month with its day, or the day of the year, %j")
    if ("I" in given) != ("p" in given):
        raise ValueError("format must have %I and %p together, or %H")
    if "f" in given and "S" not in given:
        raise ValueError("format must have %S where it has %f")


@dataclass(frozen=True, slots=True)
class Times:
    """Times of n texts in a unit since 1970 (int64), and which texts are none, and why.

    ``unlike``: not of the format; ``impossible``: no such day or time of day; ``finer``:
    with a fraction finer than the unit; ``outside``: more than 64 bits.
    """

    values: NDArray[np.int64]
    unlike: NDArray[np.bool_]
    impossible: NDArray[np.bool_]
    finer: NDArray[np.bool_]
    outside: NDArray[np.bool_]


def parse_times(texts: pa.LargeBinaryArray, pattern: str, unit: str) -> Times:
    """Return the times of texts [n] by a pattern of `format_pattern` or `ISO_PATTERN`."""
    found = pc.extract_regex(as_text(texts), pattern)
    parts = dict(zip([field.name for field in found.type], found.flatten(), strict=True))
    unlike = np.asarray(found.is_null())
    length = len(texts)

    def number(code: str, default: int) -> NDArray[np.int64]:
        return _number(parts.get(code), default, length)

    days, impossible = _days(parts, number)
    hour = number("H", 0)
    if "I" in parts:
        half = number("I", 12)
        impossible |= (half < 1) | (half > 12)
        hour = half % 12 + 12 * _named("p", parts["p"])
    minute, second = number("M", 0), number("S", 0)
    impossible |= (hour > 23) | (minute > 59) | (second > 59)
    offset, wrong_offset = _offset_seconds(parts.get("z"), length)
    impossible |= wrong_offset
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    nanoseconds = _nanoseconds(parts.get("f"), length)
    per_second = UNITS_PER_SECOND[unit]
    step = 10**9 // per_second
    outside = np.zeros(length, np.bool_)
    if unit == "ns":
        # 2^63 nanoseconds are 9,223,372,036.854775808 seconds.
        most, least = (9_223_372_036, 854_775_807), (-9_223_372_037, 145_224_192)
        outside = (seconds > most[0]) | ((seconds == most[0]) & (nanoseconds > most[1]))
        outside |= (seconds < least[0]) | ((seconds == least[0]) & (nanoseconds < least[1]))
    return Times(
        values=seconds * per_second + nanoseconds // step,
        unlike=unlike,
        impossible=impossible & ~unlike,
        finer=(nanoseconds % step != 0) & ~unlike,
        outside=outside & ~unlike & ~impossible,
    )


def _days(
    parts: Mapping[str, pa.Array], number: Callable[[str, int], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return days since 1970, and which do not exist."""
    year = number("Y", 1970)
    if "y" in parts:  # the years that POSIX means
        short = number("y", 70)
        year = np.where(short < 69, 2000 + short, 1900 + short)
    month = number("m", 1)
    for code in ("b", "B"):
        if code in parts:
            month = _named(code, parts[code]) + 1
    impossible = (year < 1) | (month < 1) | (month > 12)
    months = np.where(impossible, 0, (year - 1970) * 12 + month - 1)
    first, following = _first_days(months), _first_days(months + 1)
    day = number("d", 1)
    if "j" in parts:
        day = number("j", 1)
        following = _first_days(months + 12)
    impossible |= (day < 1) | (day > following - first)
    days = first + day - 1
    for code in ("a", "A"):
        if code in parts:  # 1970-01-01 was a Thursday, the fourth day
            impossible |= _named(code, parts[code]) != (days + 3) % 7
    return days, impossible


def _first_days(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first day of each month, both counted from January 1970."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _number(digits: pa.Array | None, default: int, length: int) -> NDArray[np.int64]:
    if digits is None:
        return np.full(length, default, np.int64)
    given = pc.if_else(pc.equal(pc.binary_length(digits), 0), None, digits)
    # A part that is left out, such as the seconds, is empty.
    return np.asarray(pc.fill_null(given.cast(pa.int64()), default), dtype=np.int64)


def _named(code: str, names: pa.Array) -> NDArray[np.int64]:
    known = pa.array(_NAMES[code], names.type)
    index = pc.index_in(pc.ascii_lower(names), value_set=known)
    return np.asarray(pc.fill_null(index, 0), dtype=np.int64)


def _offset_seconds(
    offsets: pa.Array | None, length: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    none = np.zeros(length, np.int64)
    if offsets is None:
        return none, np.zeros(length, np.bool_)
    plain = pc.if_else(pc.less_equal(pc.binary_length(offsets), 1), None, offsets)  # '' or 'Z'
    digits = pc.replace_substring(pc.utf8_slice_codeunits(plain, 1, 6), ":", "")
    number = np.asarray(pc.fill_null(digits.cast(pa.int64()), 0), dtype=np.int64)
    hours, minutes = number // 100, number % 100
    negative = np.asarray(pc.fill_null(pc.starts_with(plain, "-"), False))
    seconds = np.where(negative, -1, 1) * (hours * 3_600 + minutes * 60)
    return seconds, (hours > 23) | (minutes > 59)


def _nanoseconds(fractions: pa.Array | None, length: int) -> NDArray[np.int64]:
    if fractions is None:
        return np.zeros(length, np.int64)
    padded = pc.ascii_rpad(pc.fill_null(fractions, ""), 9, "0")
    return np.asarray(padded.cast(pa.int64()), dtype=np.int64)
