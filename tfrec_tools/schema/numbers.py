"""``int64``, ``float32``, ``float64``: numbers, one or many per record, or many columns packed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.schema.cells import (
    MISSING_ADVICE,
    MISSING_FAULT,
    indices_of,
    is_list,
    lists_of,
    type_problem,
)
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn
from tfrec_tools.schema.number_cells import parse_float, parse_int64
from tfrec_tools.schema.options import WRITTEN_IF_GIVEN, list_problems

_MAX_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFeature:
    """What the kinds of numbers have in common; no kind itself.

    ``columns``: patterns of columns that make one value of ``shape`` together. ``many``: a
    list of any length per record; a ``shape`` without ``columns``, one of that many values.
    Text cells hold lists with a ``separator``. ``missing``: what stands for a missing value.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: str
    from_: str | None = None
    target: bool = False
    columns: tuple[str, ...] | None = None
    shape: tuple[int, ...] | None = None
    many: bool = field(default=False, metadata=WRITTEN_IF_GIVEN)
    separator: str | None = None
    missing: float | Literal["error", "empty"] | None = None
    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        problems = list_problems(self)
        if self.columns is not None:
            if not self.columns:
                problems.append("columns must hold at least one pattern")
            if self.from_ is not None:
                problems.append("`columns` and `from` exclude each other")
            if self.many:
                problems.append("`columns` and `many` exclude each other")
            if self.separator is not None:
                problems.append("`columns` and `separator` exclude each other")
        elif self.shape is not None and self.many:
            problems.append("`shape` and `many` exclude each other")
        if self.shape is not None and not (self.shape and min(self.shape) >= 1):
            problems.append(f"shape must hold whole numbers of at least 1 (got {list(self.shape)})")
        if self.is_packed and self.missing == "empty":
            problems.append("`missing: empty` goes with one value per record, not with a shape")
        problems += _limit_problems(self)
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def is_packed(self) -> bool:
        """Whether every record has the same number of values, more than a scalar."""
        return self.columns is not None or self.shape is not None

    @property
    def num_values(self) -> int | None:
        """Values per record, where a shape is known."""
        return None if self.shape is None else math.prod(self.shape)

    @property
    def needs_separator(self) -> bool:
        """Whether text cells cannot be understood without a separator."""
        return self.separator is None and self.has_lists

    @property
    def has_lists(self) -> bool:
        """Whether one column gives lists."""
        return self.many or (self.shape is not None and self.columns is None)

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in which values are understood."""
        raise NotImplementedError

    def parse(self, values: pa.Array, *, decimal: str = ".") -> tuple[pa.Array, dict[int, str]]:
        """Return numbers [n] and faults, without regard to ``missing``, which stays null.

        Values outside ``min`` and ``max`` are faults.
        """
        if pa.types.is_int64(self.arrow_type):
            numbers, faults = parse_int64(values)
        else:
            numbers, faults = parse_float(values, self.arrow_type, decimal)
        return numbers, self._outside(numbers) | faults

    def filled(self, numbers: pa.Array) -> tuple[pa.Array, dict[int, str]]:
        """Return the numbers with those that stand for missing ones, and faults where none do."""
        missing = self.missing
        if not numbers.null_count:
            return numbers, {}
        if missing is None and pa.types.is_floating(numbers.type):
            missing = math.nan
        if missing is not None and not isinstance(missing, str):
            return pc.fill_null(numbers, pa.scalar(missing, numbers.type)), {}
        if missing != "error" and not (self.is_packed or self.many):
            return numbers, {}
        # One of several values of a record cannot be left out: the others would move.
        fault = MISSING_FAULT if missing == "error" else MISSING_ADVICE
        return numbers, dict.fromkeys(indices_of(numbers.is_null()), fault)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:
        """Encode one column [n] to numbers, or lists of them."""
        if self.has_lists:
            return self._encode_lists(values, decimal)
        numbers, faults = self.parse(values, decimal=decimal)
        numbers, unfilled = self.filled(numbers)
        return EncodedColumn(self.as_stored(numbers), unfilled | faults)

    def as_stored(self, numbers: pa.Array) -> pa.Array:
        """Return the numbers [n] (or lists of them) as they are stored; most kinds as they are."""
        return numbers

    def _encode_lists(self, values: pa.Array, decimal: str) -> EncodedColumn:
        lists = lists_of(values, self.separator, trim=True)
        numbers, item_faults = self.parse(lists.items, decimal=decimal)
        present = lists.present
        # An item that is at fault is null, too: it must not count as missing as well.
        numbers, unfilled = self.filled(numbers)
        faults = lists.faults(unfilled | item_faults)
        if numbers.null_count:
            numbers = pc.fill_null(numbers, pa.scalar(0, numbers.type))
        if self.num_values is None:
            faults |= self._missing_lists(present)
            return EncodedColumn(self.as_stored(lists.wrapped(numbers)), faults)
        return self._fixed(lists.wrapped(numbers), faults)

    def _missing_lists(self, present: np.ndarray) -> dict[int, str]:
        if self.missing != "error":
            return {}
        return dict.fromkeys(np.flatnonzero(~present).tolist(), MISSING_FAULT)

    def _fixed(self, lists: pa.LargeListArray, faults: dict[int, str]) -> EncodedColumn:
        """Give every record ``num_values`` values: others are faults, missing cells are filled."""
        size = self.num_values
        assert size is not None
        absent = np.asarray(lists.is_null())
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), size), dtype=np.int64)
        wrong = lengths != size
        for index in np.flatnonzero(wrong).tolist():
            faults.setdefault(index, f"must hold {size} values (got {lengths[index]})")
        if absent.any():
            stand_in, unfilled = self.filled(pa.nulls(int(absent.sum()) * size, self.arrow_type))
            if unfilled:
                fault = next(iter(unfilled.values()))
                faults |= dict.fromkeys(np.flatnonzero(absent).tolist(), fault)
                stand_in = pc.fill_null(stand_in, pa.scalar(0, stand_in.type))
        else:
            stand_in = pa.nulls(0, self.arrow_type)
        if not absent.any() and not wrong.any():
            return EncodedColumn(self.as_stored(lists), faults)
        block = np.zeros((len(lists), size), stand_in.type.to_pandas_dtype())
        block[absent] = np.asarray(stand_in).reshape(-1, size)
        good = ~(absent | wrong)
        block[good] = np.asarray(lists.filter(pa.array(good)).flatten()).reshape(-1, size)
        return EncodedColumn(self.as_stored(packed_lists(block)), faults)

    def _outside(self, numbers: pa.Array) -> dict[int, str]:
        faults: dict[int, str] = {}
        for bound, is_outside, words in (
            (self.min, pc.less, "at least"),
            (self.max, pc.greater, "at most"),
        ):
            if bound is None:
                continue
            # The bound is rounded like the values: 0.1 as float32 is at most 0.1.
            with np.errstate(over="ignore"):
                limit = np.asarray(bound).astype(numbers.type.to_pandas_dtype()).item()
            wrong = is_outside(numbers, pa.scalar(limit, numbers.type))
            faults |= {
                index: f"must be {words} {plain_number(bound)} (got {_number_text(numbers[index])})"
                for index in indices_of(wrong)
            }
        return faults

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""
        whole = pa.types.is_int64(self.arrow_type)

        def takes(type_: pa.DataType) -> bool:
            if pa.types.is_decimal(type_):
                return not whole or type_.scale <= 0
            return pa.types.is_integer(type_) or (not whole and pa.types.is_floating(type_))

        if self.columns is not None and is_list(arrow_type):
            return f"holds {arrow_type}, where `columns` takes one value of each column"
        return type_problem(self.kind, arrow_type, takes, lists=self.has_lists)


def plain_number(value: float) -> str:
    """Return a number as people write it: 0, not 0.0."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else str(value)


def _number_text(value: pa.Scalar) -> str:
    number = value.as_py()
    return plain_number(number) if value.type != pa.float32() else _float32_text(number)


def _float32_text(number: float) -> str:
    text = str(np.float32(number))  # the shortest that is this float32
    return text.removesuffix(".0")


def _limit_problems(feature: NumberFeature) -> list[str]:
    problems = []
    for name in ("missing", "min", "max"):
        value = getattr(feature, name)
        if value is None or isinstance(value, str):
            continue
        if not math.isfinite(value):
            problems.append(f"{name} must be finite (got {value})")
        elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            problems.append(f"{name} must be a whole number of 64 bits (got {value})")
        elif name == "missing" and feature.arrow_type == pa.float32() and abs(value) > _MAX_FLOAT32:
            problems.append(f"missing must be a number that 32 bits can hold (got {value})")
    if (
        not problems
        and feature.min is not None
        and feature.max is not None
        and feature.min > feature.max
    ):
        problems.append(f"min must be at most max (got {feature.min} and {feature.max})")
    return problems


def packed_lists(block: np.ndarray) -> pa.LargeListArray:
    """Return an array [n, k] as n lists of k values."""
    num_records, size = block.shape
    offsets = pa.array(np.arange(num_records + 1, dtype=np.int64) * size)
    return pa.LargeListArray.from_arrays(offsets, pa.array(block.reshape(-1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Int64Feature(NumberFeature):
    """A whole number of 64 bits; a missing one is an empty list unless ``missing`` says more."""

    kind: Literal["int64"] = "int64"
    missing: int | Literal["error", "empty"] | None = None
    min: int | None = None
    max: int | None = None

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in which values are understood."""
        return pa.int64()

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64, self.shape or (), is_list=self.many),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Float32Feature(NumberFeature):
    """A number of 32 bits; a missing one is NaN unless ``missing`` says more."""

    kind: Literal["float32"] = "float32"

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in which values are understood."""
        return pa.float32()

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.FLOAT32, self.shape or (), is_list=self.many),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Float64Feature(NumberFeature):
    """A number of 64 bits, which an Example has no list for.

    ``store: bytes`` keeps it exactly: all values of a record as one bytes value, 8 bytes
    little endian each. ``store: float32`` rounds it, which is then said and wanted.
    """

    kind: Literal["float64"] = "float64"
    store: Literal["bytes", "float32"] = "bytes"

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in which values are understood."""
        return pa.float64() if self.store == "bytes" else pa.float32()

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        if self.store == "bytes":
            return (StoredColumn(name, StoredType.BYTES),)
        return (StoredColumn(name, StoredType.FLOAT32, self.shape or (), is_list=self.many),)

    def as_stored(self, numbers: pa.Array) -> pa.Array:
        """Return the numbers [n] (or lists of them) as bytes; no value is null."""
        if self.store == "float32":
            return numbers
        if is_list(numbers.type):
            lengths = np.asarray(pc.fill_null(pc.list_value_length(numbers), 0), dtype=np.int64)
            numbers = numbers.flatten()
        else:
            lengths = np.asarray(numbers.is_valid()).astype(np.int64)
            numbers = numbers.drop_null()
        offsets = np.concatenate([[0], np.cumsum(lengths)]) * 8
        data = np.ascontiguousarray(np.asarray(numbers), dtype="<f8")
        validity = None if lengths.all() else pa.array(lengths > 0).buffers()[1]
        buffers = [validity, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_binary(), len(lengths), buffers)


def encode_packed(
    feature: NumberFeature, columns: Sequence[tuple[str, pa.Array]], *, decimal: str = "."
) -> EncodedColumn:
    """Encode k named columns of n cells to n records of k numbers each.

    Gives large_list [n] (bytes for float64); reasons of faults begin with the column's name.
    """
    parsed: list[np.ndarray] = []
    faults: dict[int, str] = {}
    for name, values in columns:
        numbers, wrong = feature.parse(values, decimal=decimal)
        numbers, unfilled = feature.filled(numbers)
        for index, reason in (unfilled | wrong).items():
            faults.setdefault(index, f"{name}: {reason}")
        if numbers.null_count:
            numbers = pc.fill_null(numbers, pa.scalar(0, numbers.type))
        parsed.append(np.asarray(numbers))
    if not parsed:
        raise ValueError("at least one column must be packed")
    return EncodedColumn(feature.as_stored(packed_lists(np.stack(parsed, axis=1))), faults)
