"""What is counted of the values of a feature: exact integers, floats summed in a fixed order.

Partial statistics are made per unit (or shard) and split, and merged in the order of the
units, so that every engine ends with the same numbers. Mean and standard deviation are
merged by the method of Chan, Golub and LeVeque (1979), which does not cancel.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.schema import (
    BytesFeature,
    ClassLabelFeature,
    Feature,
    Float64Feature,
    TextFeature,
    TokensFeature,
)
from tfrec_tools.schema.cells import is_list

MAX_DISTINCT = 10_000
"""Distinct values are counted exactly up to so many; of more, only that there are more."""

_SHORT_BYTES = 32  # longer texts are told apart by a 128-bit hash
_HALF = np.int64(32)
_DISTINCT_TYPES = (pa.int64(), pa.float32(), pa.float64(), pa.large_binary())


@dataclass(slots=True)
class ColumnStatistics:
    """Counts over some records of one feature, in the order in which batches were added.

    ``distinct``: the values that differ, unless there are ``too_many``.
    """

    num_records: int = 0
    num_missing: int = 0
    num_values: int = 0
    least: int | float | None = None
    most: int | float | None = None
    total: int | float = 0
    spread: float = 0.0
    distinct: pa.Array | None = None
    too_many: bool = False
    counts: list[int] | None = None

    def add(self, feature: Feature, column: pa.Array) -> None:
        """Count a batch of encoded values: scalars, or lists where a record has many.

        Of tokens only how many a record has; of packed ones the lengths may stand for the lists.
        """
        self.num_records += len(column)
        if isinstance(feature, TokensFeature):
            self._count_tokens(column)
            return
        values = column
        if is_list(column.type):
            lengths = pc.fill_null(pc.list_value_length(column), 0)
            self.num_missing += int(pc.sum(pc.equal(lengths, 0)).as_py() or 0)
            values = column.flatten()
        else:
            self.num_missing += column.null_count
            values = column.drop_null() if column.null_count else column
        num_filled = len(values)
        if isinstance(feature, Float64Feature) and not pa.types.is_floating(values.type):
            values = _doubles(values)
        if isinstance(feature, ClassLabelFeature):
            self._count_classes(feature, values)
        elif isinstance(feature, (TextFeature, BytesFeature)):
            text = isinstance(feature, TextFeature)
            self._count_distinct(values)
            strings = values.view(pa.large_string()) if text else values
            length = pc.utf8_length(strings) if text else pc.binary_length(strings)
            self._count_numbers(np.asarray(length, dtype=np.int64))
        else:
            numbers = np.asarray(values)
            if numbers.dtype.kind == "f":
                is_nan = np.isnan(numbers)
                if is_nan.any():
                    if num_filled == len(values) and not is_list(column.type):
                        self.num_missing += int(np.count_nonzero(is_nan))
                    numbers = numbers[~is_nan]
                    values = pa.array(numbers)
            self._count_distinct(values)
            self._count_numbers(numbers)

    def _count_tokens(self, column: pa.Array) -> None:
        if is_list(column.type):
            column = pc.fill_null(pc.list_value_length(column), 0)
        lengths = np.asarray(column, dtype=np.int64)
        self.num_missing += int(np.count_nonzero(lengths == 0))
        self._count_numbers(lengths)

    def _count_classes(self, feature: ClassLabelFeature, values: pa.Array) -> None:
        self.num_values += len(values)
        counts = np.bincount(np.asarray(values), minlength=len(feature.names or ())).tolist()
        before = self.counts or [0] * len(counts)
        self.counts = [a + b for a, b in zip(before, counts, strict=True)]

    def _count_distinct(self, values: pa.Array) -> None:
        if self.too_many or not len(values):
            return
        found = pc.unique(values)
        if len(found) > MAX_DISTINCT:  # no need to hash long texts then
            self.distinct, self.too_many = None, True
        else:
            self._merge_distinct(_short(found))

    def _merge_distinct(self, found: pa.Array) -> None:
        if self.distinct is not None and len(found) <= MAX_DISTINCT:
            found = pc.unique(pa.concat_arrays([self.distinct, found]))
        self.too_many = len(found) > MAX_DISTINCT
        self.distinct = None if self.too_many else found

    def _count_numbers(self, numbers: np.ndarray) -> None:
        if not len(numbers):
            return
        batch = ColumnStatistics(num_values=len(numbers))
        least, most = numbers.min(), numbers.max()
        batch.least, batch.most = least.item(), most.item()
        doubles = numbers.astype(np.float64)
        if numbers.dtype.kind == "f":
            with np.errstate(over="ignore", invalid="ignore"):  # infinite ones are not shown
                batch.total = float(doubles.sum())
        else:  # in two halves, which cannot overflow
            low = numbers & np.int64(0xFFFFFFFF)
            batch.total = (int((numbers >> _HALF).sum()) << 32) + int(low.sum())
        mean = batch.total / len(numbers)
        if math.isfinite(mean):
            with np.errstate(over="ignore"):
                batch.spread = float(np.square(doubles - mean).sum())
        self._merge_numbers(batch)

    def _merge_numbers(self, other: ColumnStatistics) -> None:
        if not other.num_values or other.least is None or other.most is None:
            self.num_values += other.num_values
            return
        if self.num_values and self.least is not None and self.most is not None:
            difference = other.total / other.num_values - self.total / self.num_values
            both = self.num_values + other.num_values
            weight = self.num_values * other.num_values / both
            parts = [self.spread, other.spread, difference * difference * weight]
            try:
                self.spread = math.fsum(parts)
            except OverflowError:
                self.spread = math.inf
            self.least, self.most = min(self.least, other.least), max(self.most, other.most)
            self.total = self.total + other.total
        else:
            self.least, self.most = other.least, other.most
            self.total, self.spread = other.total, other.spread
        self.num_values += other.num_values

    def merge(self, other: ColumnStatistics) -> None:
        """Add what was counted of later records."""
        self.num_records += other.num_records
        self.num_missing += other.num_missing
        if other.counts is not None:
            before = self.counts or [0] * len(other.counts)
            self.counts = [a + b for a, b in zip(before, other.counts, strict=True)]
            self.num_values += other.num_values
        else:
            self._merge_numbers(other)
        if other.too_many:
            self.distinct, self.too_many = None, True
        elif other.distinct is not None and not self.too_many:
            self._merge_distinct(other.distinct)

    def to_plain(self) -> dict[str, Any]:
        """Return all that was counted as values for JSON, to go on from with `from_plain`."""
        plain = {
            name: getattr(self, name)
            for name in ColumnStatistics.__dataclass_fields__
            if name != "distinct"
        }
        if self.distinct is not None:
            values = self.distinct.to_pylist()
            if pa.types.is_large_binary(self.distinct.type):
                values = [value.decode("latin-1") for value in values]
            plain["distinct"] = {"type": str(self.distinct.type), "values": values}
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> ColumnStatistics:
        """Return the statistics that `to_plain` wrote."""
        distinct = plain.get("distinct")
        column = None
        if distinct is not None:
            type_ = {str(known): known for known in _DISTINCT_TYPES}[distinct["type"]]
            values = distinct["values"]
            if pa.types.is_large_binary(type_):
                values = [value.encode("latin-1") for value in values]
            column = pa.array(values, type_)
        return cls(**{**plain, "distinct": column})

    def to_dict(self, feature: Feature) -> dict[str, Any]:
        """Return the statistics as the manifest holds them."""
        data: dict[str, Any] = {"missing": self.num_missing, "values": self.num_values}
        if isinstance(feature, ClassLabelFeature):
            return data | {"counts": self.counts or [0] * len(feature.names or ())}
        of_lengths = (TextFeature, BytesFeature, TokensFeature)
        suffix = "_length" if isinstance(feature, of_lengths) else ""
        if self.num_values and self.least is not None:
            numbers = {
                "min": self.least,
                "max": self.most,
                "mean": self.total / self.num_values,
                "std": math.sqrt(self.spread / self.num_values),
            }
            data |= {
                f"{name}{suffix}": number
                for name, number in numbers.items()
                if number is not None and math.isfinite(number)
            }
        if isinstance(feature, TokensFeature):
            return data | {"values": self.total}
        if self.too_many:
            return data | {"distinct": None}
        return data | {"distinct": 0 if self.distinct is None else len(self.distinct)}


def _short(values: pa.Array) -> pa.Array:
    """Return values with a hash in place of each long one, which tells it apart as well."""
    if not pa.types.is_large_binary(values.type):
        return values
    if (pc.max(pc.binary_length(values)).as_py() or 0) <= _SHORT_BYTES:
        return values
    hashed = (
        value if len(value) <= _SHORT_BYTES else hashlib.blake2b(value, digest_size=16).digest()
        for value in values.to_pylist()
    )
    return pa.array(hashed, pa.large_binary())


def _doubles(values: pa.Array) -> pa.Array:
    """Return the float64 values whose bytes (large_binary) a feature stores."""
    data = b"".join(values.to_pylist())
    return pa.array(np.frombuffer(data, dtype="<f8"))
