"""``kind: timestamp``: a moment, stored as whole units since 1970-01-01 in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tfrec_tools.errors import clipped
from tfrec_tools.schema.cells import (
    MISSING_FAULT,
    indices_of,
    is_text,
    plain,
    shown,
    trimmed,
    type_problem,
)
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn
from tfrec_tools.schema.number_cells import parse_int64
from tfrec_tools.schema.time_formats import (
    ISO_PATTERN,
    UNITS_PER_SECOND,
    format_pattern,
    parse_times,
)

_ISO_WITHOUT_OFFSET = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?$"
)
_FIRST_SECOND = -62_135_596_800  # 0001-01-01


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampFeature:
    """A date or a time; without an offset it is understood as UTC.

    ``format``: strptime's codes, with English names; None: an ISO 8601 date or date-time.
    ``missing``: whole units to stand for a missing time, ``error``, or ``empty`` (default).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["timestamp"] = "timestamp"
    from_: str | None = None
    target: bool = False
    format: str | None = None
    unit: Literal["s", "ms", "us", "ns"] = "s"
    missing: int | Literal["error", "empty"] | None = None

    def __post_init__(self) -> None:
        """Refuse a format that gives no date, and a number that is none of 64 bits."""
        if self.format is not None:
            format_pattern(self.format)
        if isinstance(self.missing, int) and not -(1 << 63) <= self.missing < 1 << 63:
            raise ValueError(f"missing must be a whole number of 64 bits (got {self.missing})")

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64),)

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""

        def takes(type_: pa.DataType) -> bool:
            tests = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_integer)
            return any(test(type_) for test in tests)

        return type_problem(self.kind, arrow_type, takes, lists=None)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:  # noqa: ARG002
        """Encode texts, times, dates or whole units [n] to int64."""
        values = plain(values)
        if is_text(values.type):
            numbers, faults = self._of_text(values)
        elif pa.types.is_timestamp(values.type) or pa.types.is_date(values.type):
            numbers, faults = self._of_times(values)
        else:
            numbers, faults = parse_int64(values)
        if values.null_count:
            absent = values.is_null()
            if self.missing == "error":
                faults |= dict.fromkeys(indices_of(absent), MISSING_FAULT)
            elif isinstance(self.missing, int):
                numbers = pc.if_else(absent, pa.scalar(self.missing, pa.int64()), numbers)
        return EncodedColumn(numbers, faults)

    def _of_text(self, cells: pa.LargeBinaryArray) -> tuple[pa.Int64Array, dict[int, str]]:
        texts = trimmed(cells)
        if self.format is None:
            numbers = self._clean_iso(texts)
            if numbers is not None:
                return numbers, {}
        pattern = ISO_PATTERN if self.format is None else format_pattern(self.format)
        times = parse_times(texts, pattern, self.unit)
        present = np.asarray(cells.is_valid())
        if self.format is None:
            unlike, advice = "an ISO 8601 date or time", "; give its `format` in the schema"
        else:
            unlike, advice = f"a time of the format {clipped(self.format)}", ""
        faults: dict[int, str] = {}
        for wrong, what, hint in (
            (times.unlike, unlike, advice),
            (times.impossible, "a time that exists", ""),
            (times.outside, f"a time that 64 bits hold in the unit {self.unit}", ""),
            (times.finer, f"a time without parts finer than the unit {self.unit}",
             "; give a finer `unit` in the schema"),
        ):  # fmt: skip
            for index in np.flatnonzero(wrong & present).tolist():
                found = shown(cells[index].as_py())
                faults.setdefault(index, f"must be {what} (got {found}){hint}")
        return pa.array(times.values, mask=~present), faults

    def _clean_iso(self, texts: pa.LargeBinaryArray) -> pa.Int64Array | None:
        """Return the times if all texts are ISO times without offsets; None leaves it open."""
        if not pc.all(pc.match_substring_regex(texts, _ISO_WITHOUT_OFFSET), min_count=0).as_py():
            return None
        try:
            moments = texts.cast(pa.large_string()).cast(pa.timestamp(self.unit))
        except pa.ArrowInvalid:
            return None
        numbers = moments.cast(pa.int64())
        first = pc.min(numbers).as_py()
        if first is not None and first < _FIRST_SECOND * UNITS_PER_SECOND[self.unit]:
            return None
        return numbers

    def _of_times(self, values: pa.Array) -> tuple[pa.Int64Array, dict[int, str]]:
        if pa.types.is_date(values.type):
            values = values.cast(pa.timestamp("ms" if pa.types.is_date64(values.type) else "s"))
        have, want = UNITS_PER_SECOND[values.type.unit], UNITS_PER_SECOND[self.unit]
        absent = np.asarray(values.is_null())
        numbers: NDArray[np.int64] = np.asarray(pc.fill_null(values.cast(pa.int64()), 0))
        if want >= have:
            factor = want // have
            limit = ((1 << 63) - 1) // factor
            wrong = (numbers > limit) | (numbers < -limit)
            what, hint = f"a time that 64 bits hold in the unit {self.unit}", ""
            numbers = np.where(wrong, 0, numbers) * factor
        else:
            factor = have // want
            wrong = numbers % factor != 0
            what = f"a time without parts finer than the unit {self.unit}"
            hint = "; give a finer `unit` in the schema"
            numbers = numbers // factor
        faults = {
            index: f"must be {what} (got {values[index].cast(pa.string()).as_py()}){hint}"
            for index in np.flatnonzero(wrong).tolist()
        }
        return pa.array(numbers, mask=absent), faults
