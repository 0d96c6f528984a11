"""What kind of values a column of text cells holds, judged by every cell of the input.

Only what is written exactly in one way is a number: ``02134``, ``1_000``, ``0x1F``, ``nan``
and Arabic digits make a column text. Evidence is counted per batch and merged in any order.
A look at each cell's first and last byte spares most text cells the patterns.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tfrec_tools.errors import clipped, counted, listed

MAX_WORDS = 4
"""Up to so many distinct words of a column are counted exactly."""
MAX_NAMED_WORDS = 3
"""So many words may keep a column from being numeric and still be named in a hint."""

_BLANKS = " \t"
_INT = r"^(0|-?[1-9][0-9]*)$"
_DECIMAL = r"^[+-]?((0|[1-9][0-9]*)(\{mark}[0-9]*)?|\{mark}[0-9]+)([eE][+-]?[0-9]+)?$"
_BOOL = r"^(?i:true|false)$"
_LONG_DIGITS = 19  # whole numbers with fewer digits have 64 bits
_MAX_DIGITS, _MIN_DIGITS = "9223372036854775807", "9223372036854775808"


def _table(members: bytes) -> NDArray[np.bool_]:
    table = np.zeros(256, dtype=np.bool_)
    table[list(members)] = True
    return table


_IS_BLANK = _table(_BLANKS.encode())
_STARTS_NUMBER = _table(b"0123456789+-.,")
_ENDS_NUMBER = _table(b"0123456789.,")
_STARTS_BOOL = _table(b"tTfF")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEvidence:
    """Counts over the cells of a column, spaces and tabs at their ends left out of account.

    ``num_not_int64``, ``num_not_decimal``, ``num_not_bool``: cells that are not missing and
    not this. ``num_beyond_int64``: whole numbers that 64 bits cannot hold. ``words``: the
    distinct cells that are no decimals, with counts; None if there are more than MAX_WORDS.
    ``num_swapped_decimal``: numbers only if the mark in them is not ``decimal`` but the other.
    """

    decimal: str = "."
    num_cells: int = 0
    num_missing: int = 0
    num_not_int64: int = 0
    num_not_decimal: int = 0
    num_not_bool: int = 0
    num_beyond_int64: int = 0
    num_ends_with_space: int = 0
    num_single_quoted: int = 0
    num_swapped_decimal: int = 0
    words: Mapping[str, int] | None = None

    @property
    def num_filled(self) -> int:
        """Cells that are not missing."""
        return self.num_cells - self.num_missing


def evidence(cells: pa.Array, decimal: str = ".") -> ColumnEvidence:
    """Return the evidence of a batch: binary or large_binary [n], null where missing.

    ``decimal``: the mark in numbers, a point or a comma.
    """
    filled = cells.drop_null() if cells.null_count else cells
    first, last, lengths = _ends(filled)
    has_space = _IS_BLANK[first] | _IS_BLANK[last]
    num_ends_with_space = int(np.count_nonzero(has_space))
    if num_ends_with_space:
        filled = _trimmed(filled)
        first, last, lengths = _ends(filled)
    quoted = (first == ord("'")) & (last == ord("'")) & (lengths >= 2)
    numbers = _Numbers(filled, _STARTS_NUMBER[first] & _ENDS_NUMBER[last], lengths, decimal)
    words = _words(filled, numbers.is_decimal)
    if words is None:
        short = (lengths == len("true")) | (lengths == len("false"))
        num_bool = _count(filled.take(np.flatnonzero(_STARTS_BOOL[first] & short)), _BOOL)
    else:
        num_bool = sum(n for word, n in words.items() if word.lower() in ("true", "false"))
    return ColumnEvidence(
        decimal=decimal,
        num_cells=len(cells),
        num_missing=cells.null_count,
        num_not_int64=len(filled) - numbers.num_int64,
        num_not_decimal=len(filled) - numbers.num_decimal,
        num_not_bool=len(filled) - num_bool,
        num_beyond_int64=numbers.num_beyond_int64,
        num_ends_with_space=num_ends_with_space,
        num_single_quoted=int(np.count_nonzero(quoted)),
        num_swapped_decimal=numbers.num_swapped,
        words=words,
    )


def _ends(cells: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.int64]]:
    """Return the first and the last byte of each cell, 0 of an empty one, and the lengths."""
    bounds, content = _bounds(cells), _content(cells)
    lengths = np.diff(bounds)
    if not len(content):
        nothing = np.zeros(len(cells), np.uint8)
        return nothing, nothing, lengths
    bounds = bounds - bounds[0]
    first = content[np.minimum(bounds[:-1], len(content) - 1)]
    last = content[np.maximum(bounds[1:] - 1, 0)]
    if not lengths.all():
        first[lengths == 0] = 0
        last[lengths == 0] = 0
    return first, last, lengths


def _bounds(cells: pa.Array) -> NDArray[np.int64]:
    """Return where the cells begin and end in the array's data: [n + 1]."""
    width = np.int64 if pa.types.is_large_binary(cells.type) else np.int32
    _, offsets, _ = cells.buffers()
    if not len(cells) or offsets is None:
        return np.zeros(1, np.int64)
    bounds = np.frombuffer(offsets, width)[cells.offset : cells.offset + len(cells) + 1]
    return bounds.astype(np.int64)


def _content(cells: pa.Array) -> NDArray[np.uint8]:
    """Return the bytes of all cells together."""
    bounds, data = _bounds(cells), cells.buffers()[2]
    if data is None:
        return np.zeros(0, np.uint8)
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]


def _as_text(cells: pa.Array) -> pa.Array:
    """Return the bytes under the name of text, unchecked: only for kernels that go by bytes."""
    return cells.view(pa.large_string() if pa.types.is_large_binary(cells.type) else pa.string())


def _trimmed(cells: pa.Array) -> pa.Array:
    return pc.ascii_trim(_as_text(cells), characters=_BLANKS).view(cells.type)


class _Numbers:
    """The numbers among cells [n], looked for where ``maybe`` (bool [n]) lets them be."""

    def __init__(
        self, cells: pa.Array, maybe: NDArray[np.bool_], lengths: NDArray[np.int64], decimal: str
    ) -> None:
        self.is_decimal = maybe
        self.num_beyond_int64 = self.num_swapped = 0
        if maybe.all() and _are_all_int64(cells):
            self.num_int64 = self.num_decimal = len(cells)
            return
        places = np.flatnonzero(maybe)
        some = cells if len(places) == len(cells) else cells.take(places)
        is_int = _matches(some, _INT)
        self.num_beyond_int64 = _num_beyond_int64(
            some.filter(is_int & (lengths[places] >= _LONG_DIGITS))
        )
        self.num_int64 = int(np.count_nonzero(is_int)) - self.num_beyond_int64
        if not is_int.all():
            rest = some.filter(~is_int)
            fits = _matches(rest, _DECIMAL.replace("{mark}", decimal))
            self.is_decimal = maybe.copy()
            self.is_decimal[places[~is_int]] = fits
            other = "," if decimal == "." else "."
            if not fits.all() and (_content(rest) == ord(other)).any():
                self.num_swapped = _count(rest.filter(~fits), _DECIMAL.replace("{mark}", other))
        self.num_decimal = int(np.count_nonzero(self.is_decimal))


def _are_all_int64(cells: pa.Array) -> bool:
    """Say whether the bytes prove that all cells, each of which ends in a digit, are int64.

    A clean column is all digits and first minuses; a pattern takes several times as long.
    """
    content = _content(cells)
    if not len(content) or content.min() < ord("-") or content.max() > ord("9"):
        return False
    if (content == ord(".")).any() or (content == ord("/")).any():
        return False
    bounds = _bounds(cells)
    starts = bounds[:-1] - bounds[0]
    is_negative = content[starts] == ord("-")
    if np.count_nonzero(is_negative) != np.count_nonzero(content == ord("-")):
        return False
    num_digits = np.diff(bounds) - is_negative
    is_zero = content[starts + is_negative] == ord("0")
    wrong = is_zero & ((num_digits > 1) | is_negative)
    return bool(num_digits.max() < _LONG_DIGITS and not wrong.any())


def _num_beyond_int64(integers: pa.Array) -> int:
    """Return how many whole numbers with at least 19 bytes 64 bits cannot hold."""
    if not len(integers):
        return 0
    text = _as_text(integers)
    limit = pc.if_else(pc.starts_with(text, "-"), _MIN_DIGITS, _MAX_DIGITS)
    digits = pc.ascii_ltrim(text, characters="-")
    num_digits = np.asarray(pc.binary_length(digits))
    # Digits of the same number are in the order of their bytes.
    above = np.asarray(pc.greater(digits, limit.cast(digits.type)))
    is_beyond = (num_digits > _LONG_DIGITS) | ((num_digits == _LONG_DIGITS) & above)
    return int(np.count_nonzero(is_beyond))


def _words(cells: pa.Array, is_decimal: NDArray[np.bool_]) -> dict[str, int] | None:
    """Return the distinct cells that are no decimals with counts, None if there are many."""
    places = np.flatnonzero(~is_decimal)
    # Where there are many, a few cells show it; all of a long text column are costly to count.
    for number in (64, 4096):
        if len(pc.unique(cells.take(places[:number]))) > MAX_WORDS:
            return None
    counts = pc.value_counts(cells.take(places))
    if len(counts) > MAX_WORDS:
        return None
    return {
        pair["values"].decode("utf-8", "backslashreplace"): pair["counts"]
        for pair in counts.to_pylist()
    }


def _matches(cells: pa.Array, pattern: str) -> NDArray[np.bool_]:
    return np.asarray(pc.match_substring_regex(cells, pattern))


def _count(cells: pa.Array, pattern: str) -> int:
    return int(np.count_nonzero(_matches(cells, pattern)))


def merge(a: ColumnEvidence, b: ColumnEvidence) -> ColumnEvidence:
    """Return the evidence of both."""
    assert a.decimal == b.decimal
    words: dict[str, int] | None = None
    if a.words is not None and b.words is not None:
        words = dict(a.words)
        for word, number in b.words.items():
            words[word] = words.get(word, 0) + number
        if len(words) > MAX_WORDS:
            words = None
    sums = {
        name: getattr(a, name) + getattr(b, name)
        for name in ColumnEvidence.__dataclass_fields__
        if name.startswith("num_")
    }
    return ColumnEvidence(decimal=a.decimal, words=words, **sums)


def decide(found: ColumnEvidence) -> Literal["int64", "float32", "bool", "text"]:
    """Return the kind of a column. All cells must fit; a column without values is text."""
    if not found.num_filled:
        return "text"
    if not found.num_not_int64:
        return "int64"
    if not found.num_not_decimal:
        # Whole numbers beyond 64 bits are decimals too, but would lose their digits.
        return "text" if found.num_beyond_int64 else "float32"
    return "text" if found.num_not_bool else "bool"


def hints(name: str, found: ColumnEvidence) -> list[str]:
    """Return why a column is text that might be numeric, and what would make it so."""
    num_numbers = found.num_filled - found.num_not_decimal
    if decide(found) != "text" or not found.num_not_decimal:
        return []
    column = f"column {clipped(name)}"
    if found.num_swapped_decimal == found.num_not_decimal:
        mark, marks = (",", "commas") if found.decimal == "." else (".", "points")
        return [f"{column} holds numbers with decimal {marks}; use --decimal {mark}"]
    words = found.words
    if words is None or len(words) > MAX_NAMED_WORDS or 2 * num_numbers < found.num_filled:
        return []
    if found.num_beyond_int64 or any(map(str.isdigit, "".join(words))):
        return []
    kind = "int64" if found.num_not_int64 == found.num_not_decimal else "float32"
    ordered = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
    named = listed([f"{clipped(word)} ({counted(number, 'cell')})" for word, number in ordered])
    if "" in words:
        advice = "cells that mean missing must be empty, without quotes or spaces"
    elif "," in "".join(words):
        advice = "if these mean missing, name them under source: null_values in a schema"
    else:
        flag = shlex.quote(",".join(word for word, _ in ordered))
        advice = f"if these mean missing, use --null-values {flag}"
    return [f"{column} would be {kind} but for {named}; {advice}"]


def float_notes(names: Sequence[str]) -> list[str]:
    """Return the note that decimals of these columns are stored with 32 bits."""
    if not names:
        return []
    columns = f"{_columns(names)} {'is' if len(names) == 1 else 'are'}"
    return [f"{columns} stored as float32 (7 digits); say kind: float64 in a schema for all digits"]


def spelling_notes(columns: Mapping[str, ColumnEvidence]) -> list[str]:
    """Return what stands around the cells of text columns and could be removed."""
    texts = {name: found for name, found in columns.items() if decide(found) == "text"}
    spaced = [name for name, found in texts.items() if found.num_ends_with_space]
    quoted = [
        name
        for name, found in texts.items()
        if found.num_filled and 2 * found.num_single_quoted >= found.num_filled
    ]
    notes_ = []
    if spaced:
        verb = "begin or end with a space; use --trim to remove them"
        notes_.append(f"cells of {counted(len(spaced), 'column')} {verb}")
    if quoted:
        notes_.append(f'cells of {_columns(quoted)} stand in single quotes; use --quote "\'"')
    return notes_


def notes(columns: Mapping[str, ColumnEvidence]) -> list[str]:
    """Return all that people should know about the kinds that columns got."""
    return [
        *_grouped_hints(columns),
        *float_notes([name for name, found in columns.items() if decide(found) == "float32"]),
        *spelling_notes(columns),
    ]


def _grouped_hints(columns: Mapping[str, ColumnEvidence]) -> list[str]:
    """Return the hints; where many columns have the same words, one hint for all of them."""
    by_words: dict[frozenset[str], list[str]] = {}
    for name, found in columns.items():
        if hints(name, found):
            by_words.setdefault(frozenset(found.words or (name,)), []).append(name)
    found_hints = []
    for words, names in by_words.items():
        if len(names) <= MAX_NAMED_WORDS:
            found_hints += [hint for name in names for hint in hints(name, columns[name])]
            continue
        (hint,) = hints(names[0], columns[names[0]])
        advice = hint.rpartition("; ")[2]
        named = listed([clipped(word) for word in sorted(words)])
        found_hints.append(f"{_columns(names)} would be numbers but for {named}; {advice}")
    return found_hints


def _columns(names: Sequence[str]) -> str:
    shown = listed([clipped(name) for name in names], limit=6)
    return f"column {shown}" if len(names) == 1 else f"columns {shown}"
