"""Cells of tables before their kind is looked at: text or typed, trimmed, split, told apart.

Text cells are (large) binary or string arrays that need not be UTF-8; a null is a missing
cell. Every function takes all records of a batch at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tfrec_tools.errors import clipped

MISSING_FAULT = "must not be missing"
MISSING_ADVICE = "must not be missing; give `missing` a value in the schema"

_BLANKS = " \t"
_TEXT_TESTS = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_string,
    pa.types.is_large_string,
)
_LIST_TESTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_VIEWS = ("binary_view", "string_view")  # their Arrow functions are newer than our oldest Arrow


def is_text(type_: pa.DataType) -> bool:
    """Say whether these are text cells, whose meaning is open."""
    return any(test(type_) for test in _TEXT_TESTS) or str(type_) in _VIEWS


def is_list(type_: pa.DataType) -> bool:
    """Say whether each record has a list of values."""
    return any(test(type_) for test in _LIST_TESTS)


def plain(values: pa.Array) -> pa.Array:
    """Return the values without a dictionary, and text cells as large_binary."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if is_text(values.type) and not pa.types.is_large_binary(values.type):
        if pa.types.is_string(values.type) or str(values.type) == "string_view":
            values = values.cast(pa.large_string())
        values = values.cast(pa.large_binary())
    return values


def cell_texts(values: pa.Array) -> pa.LargeBinaryArray:
    """Return cells as they are, and typed values as text: whole numbers in decimal digits."""
    values = plain(values)
    if is_text(values.type):
        return values
    return values.cast(pa.large_string()).cast(pa.large_binary())


def as_text(cells: pa.LargeBinaryArray) -> pa.LargeStringArray:
    """Return the bytes under the name of text, unchecked and uncopied.

    Only for kernels that go byte by byte: what is no UTF-8 stays as it is.
    """
    return pa.Array.from_buffers(
        pa.large_string(), len(cells), cells.buffers(), offset=cells.offset
    )


def trimmed(cells: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Return the cells without spaces and tabs at their ends."""
    return pc.ascii_trim(as_text(cells), characters=_BLANKS).cast(pa.large_binary())


def content(cells: pa.LargeBinaryArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of all cells together, and the n + 1 offsets of the cells in them."""
    _, offsets, data = cells.buffers()
    if offsets is None or not len(cells):
        return np.zeros(0, np.uint8), np.zeros(len(cells) + 1, np.int64)
    bounds = np.frombuffer(offsets, np.int64)[cells.offset : cells.offset + len(cells) + 1]
    if data is None:
        return np.zeros(0, np.uint8), np.zeros_like(bounds)
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]], bounds - bounds[0]


def shown(value: object) -> str:
    """Return a cell for a message; bytes that are no UTF-8 are escaped."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    return clipped(value)


def indices_of(mask: pa.BooleanArray) -> list[int]:
    """Return where the mask is true."""
    return pc.indices_nonzero(mask).to_pylist()  # type: ignore[no-any-return]


def faults_where(cells: pa.Array, wrong: pa.BooleanArray, what: str) -> dict[int, str]:
    """Return the fault of each cell that is wrong; ``what`` it must be."""
    return {
        index: f"must be {what} (got {shown(cells[index].as_py())})" for index in indices_of(wrong)
    }


def looked_up(
    cells: pa.LargeBinaryArray, meaning: Callable[[bytes], int | None]
) -> tuple[pa.Int64Array, pa.BooleanArray]:
    """Return the meaning (int64 [n]) of each cell and which cells have none.

    ``meaning`` is asked once per distinct cell. A missing cell is null, and not wrong.
    """
    coded = cells.dictionary_encode()
    meanings = pa.array([meaning(value) for value in coded.dictionary.to_pylist()], pa.int64())
    found = meanings.take(coded.indices)
    return found, pc.and_(found.is_null(), cells.is_valid())


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of n records: all their items, and how they are dealt out (int64 [n + 1]).

    ``present`` is false for a record whose cell is missing; it has no items.
    """

    items: pa.Array
    offsets: NDArray[np.int64]
    present: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of items of each record."""
        return np.diff(self.offsets)

    def record_of(self, item: int) -> int:
        """Return the record that the item belongs to."""
        return int(np.searchsorted(self.offsets, item, side="right")) - 1

    def faults(self, item_faults: Mapping[int, str]) -> dict[int, str]:
        """Return the first fault of each record, given the faults of items."""
        faults: dict[int, str] = {}
        for item in sorted(item_faults):
            faults.setdefault(self.record_of(item), item_faults[item])
        return faults

    def wrapped(self, items: pa.Array) -> pa.LargeListArray:
        """Return these items, as many as there were, as large_list [n]; null if missing."""
        mask = None if self.present.all() else pa.array(~self.present)
        return pa.LargeListArray.from_arrays(pa.array(self.offsets), items, mask=mask)


def lists_of(values: pa.Array, separator: str | None, *, trim: bool) -> Lists:
    """Return the lists that the values are, or that text cells hold between separators.

    A text cell without text is an empty list. ``trim``: blanks at a cell's ends mean nothing.
    """
    values = plain(values)
    if is_text(values.type):
        if separator is None:
            raise ValueError("text cells need a separator")
        if trim:
            values = trimmed(values)
        filled = pc.not_equal(pc.binary_length(values), 0)
        present = np.asarray(values.is_valid())
        values = pc.split_pattern(pc.if_else(filled, values, None), separator)
    else:
        present = np.asarray(values.is_valid())
    lengths = np.asarray(pc.fill_null(pc.list_value_length(values), 0), dtype=np.int64)
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Lists(values.flatten(), offsets, present)


def without_nulls(lists: Lists, fault: str) -> tuple[Lists, dict[int, str]]:
    """Drop null items, each of which is this fault of its item's record."""
    items = lists.items
    if not items.null_count:
        return lists, {}
    valid = np.asarray(items.is_valid())
    faults = lists.faults(dict.fromkeys(np.flatnonzero(~valid).tolist(), fault))
    kept = np.concatenate([[0], np.cumsum(valid)])
    return Lists(items.drop_null(), kept[lists.offsets], lists.present), faults


def type_problem(
    kind: str, type_: pa.DataType, takes: Callable[[pa.DataType], bool], *, lists: bool | None
) -> str | None:
    """Return why a column of this type cannot feed the kind, or None if it can.

    ``takes`` says it for the type of one value; ``lists``, whether records have lists (None:
    never, for a kind without `many`).
    """
    inner = type_
    if pa.types.is_dictionary(inner):
        inner = inner.value_type
    listed = is_list(inner)
    if listed:
        inner = inner.value_type
        if pa.types.is_dictionary(inner):
            inner = inner.value_type
    if listed and lists is None:
        return f"holds {type_}, which kind {kind} does not take"
    if not (is_text(inner) or pa.types.is_null(inner) or takes(inner)):
        return f"holds {type_}, which kind {kind} does not take"
    if listed and not lists:
        return f"holds {type_}, which kind {kind} takes only with `many: true`"
    if lists and not listed and not (is_text(inner) or pa.types.is_null(inner)):
        return f"holds {type_}, one value per record; leave out `many` and `shape`"
    return None
