"""What kind of values a column of text cells holds, judged by every cell of the input.

Only what is written exactly in one way is a number: ``02134``, ``1_000``, ``0x1F``, ``nan``
and Arabic digits make a column text. Evidence is counted per batch and merged in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import clipped, counted, listed

MAX_WORDS = 3
"""Distinct words that may keep a column from being numeric and still be named."""

_BLANKS = " \t"
_SURE_INT64 = r"^(0|-?[1-9][0-9]{0,17})$"  # at most 18 digits: never too large
_INT = r"^(0|-?[1-9][0-9]*)$"
_DECIMAL = r"^[+-]?((0|[1-9][0-9]*)(\{mark}[0-9]*)?|\{mark}[0-9]+)([eE][+-]?[0-9]+)?$"
_BOOL = r"^(?i:true|false)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEvidence:
    """Counts over the cells of a column.

    ``num_not_int64``, ``num_not_decimal``, ``num_not_bool``: cells that are not missing and
    none of these. ``words``: those that are neither, with counts; None if there are many.
    """

    num_cells: int = 0
    num_missing: int = 0
    num_not_int64: int = 0
    num_not_decimal: int = 0
    num_not_bool: int = 0
    num_long_integers: int = 0
    words: Mapping[str, int] | None = None
    num_spaced: int = 0
    num_single_quoted: int = 0
    num_other_mark: int = 0

    @property
    def num_filled(self) -> int:
        """Cells that are not missing."""
        return self.num_cells - self.num_missing


def evidence(cells: pa.Array, decimal: str = ".") -> ColumnEvidence:
    """Return the evidence of a batch: binary cells, null where missing."""
    num_cells, num_missing = len(cells), cells.null_count
    if num_missing:
        cells = cells.drop_null()
    number = len(cells)
    counted_so_far = {"num_cells": num_cells, "num_missing": num_missing}
    if not number or _all(pc.match_substring_regex(cells, _SURE_INT64)):
        return ColumnEvidence(**counted_so_far, num_not_bool=number, words={})
    text = cells.view(pa.large_string() if pa.types.is_large_binary(cells.type) else pa.string())
    trimmed = pc.ascii_trim(text, characters=_BLANKS)
    num_spaced = int(
        np.count_nonzero(
            np.asarray(pc.binary_length(trimmed)) != np.asarray(pc.binary_length(text))
        )
    )
    plain = trimmed.view(cells.type)
    is_decimal = pc.match_substring_regex(plain, _decimal_pattern(decimal))
    num_decimal = _count(is_decimal)
    num_int64 = 0
    num_bool = 0
    words: Mapping[str, int] | None = {}
    num_single_quoted = num_other_mark = 0
    num_long_integers = 0
    if num_decimal:
        num_int64, num_long_integers = _count_integers(plain)
    if num_decimal < number:
        others = plain if not num_decimal else plain.filter(pc.invert(is_decimal))
        words = _words(others)
        num_bool = _count(pc.match_substring_regex(others, _BOOL))
        num_single_quoted = _count(pc.match_substring_regex(others, r"^'.*'$"))
        mark = "," if decimal == "." else "."
        num_other_mark = _count(
            pc.and_(
                pc.match_substring_regex(others, _decimal_pattern(mark)),
                pc.match_substring(others, mark),
            )
        )
    return ColumnEvidence(
        **counted_so_far,
        num_not_int64=number - num_int64,
        num_not_decimal=number - num_decimal,
        num_not_bool=number - num_bool,
        num_long_integers=num_long_integers,
        words=words,
        num_spaced=num_spaced,
        num_single_quoted=num_single_quoted,
        num_other_mark=num_other_mark,
    )


def _decimal_pattern(mark: str) -> str:
    return _DECIMAL.replace("{mark}", mark)


def _count_integers(cells: pa.Array) -> tuple[int, int]:
    """Return how many cells are whole numbers of 64 bits, and how many are longer ones."""
    sure = pc.match_substring_regex(cells, _SURE_INT64)
    num_sure = _count(sure)
    if num_sure == len(cells):
        return num_sure, 0
    long = cells.filter(pc.and_not(pc.match_substring_regex(cells, _INT), sure))
    # Few, as a rule: whole numbers of more than 18 digits.
    inside = sum(-(1 << 63) <= int(cell) < 1 << 63 for cell in long.to_pylist())
    return num_sure + inside, len(long) - inside


def _words(cells: pa.Array) -> dict[str, int] | None:
    """Return the distinct cells with their counts, None if there are more than a few."""
    if len(pc.unique(cells.slice(0, 256))) > MAX_WORDS:
        return None
    counts = pc.value_counts(cells)
    if len(counts) > MAX_WORDS:
        return None
    return {
        pair["values"].as_py().decode("utf-8", "backslashreplace"): pair["counts"].as_py()
        for pair in counts
    }


def _all(mask: pa.BooleanArray) -> bool:
    return bool(pc.all(mask).as_py())


def _count(mask: pa.BooleanArray) -> int:
    return int(pc.sum(mask).as_py() or 0)


def merge(a: ColumnEvidence, b: ColumnEvidence) -> ColumnEvidence:
    """Return the evidence of both."""
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
        if name != "words"
    }
    return ColumnEvidence(**sums, words=words)


def decide(found: ColumnEvidence) -> Literal["int64", "float32", "bool", "text"]:
    """Return the kind of a column. All cells must fit; a column without values is text."""
    if not found.num_filled:
        return "text"
    if not found.num_not_int64:
        return "int64"
    if not found.num_not_decimal:
        # Whole numbers beyond 64 bits are decimals too, but would lose their digits.
        return "float32" if not found.num_long_integers else "text"
    return "bool" if not found.num_not_bool else "text"


def notes(columns: Mapping[str, ColumnEvidence]) -> list[str]:
    """Return what people should know about the kinds that columns got."""
    found = []
    for name, column in columns.items():
        kind = decide(column)
        if kind == "text":
            found += _text_notes(name, column)
    found += float_notes([name for name, column in columns.items() if decide(column) == "float32"])
    spaced = [name for name, column in columns.items() if column.num_spaced]
    texts = [name for name in spaced if decide(columns[name]) == "text"]
    if texts:
        found.append(
            f"cells of {counted(len(texts), 'text column')} begin or end with a space "
            f"({listed(texts, limit=3)}); --trim removes them"
        )
    quoted = [n for n, c in columns.items() if c.num_filled and c.num_single_quoted == c.num_filled]
    if quoted:
        found.append(
            f"all cells of {counted(len(quoted), 'column')} stand in single quotes "
            f'({listed(quoted, limit=3)}); --quote "\'" removes them'
        )
    return found


def _text_notes(name: str, column: ColumnEvidence) -> list[str]:
    num_numbers = column.num_filled - column.num_not_decimal
    if column.num_other_mark and column.num_other_mark + num_numbers == column.num_filled:
        return [f"column {name!r} holds numbers with decimal commas; use --decimal ,"]
    words = {word: n for word, n in (column.words or {}).items() if not any(map(str.isdigit, word))}
    if column.words and len(words) == len(column.words) and 2 * num_numbers >= column.num_filled:
        kind = "int64" if column.num_not_int64 == column.num_not_decimal else "float32"
        named = listed([f"{clipped(word)} ({counted(n, 'cell')})" for word, n in words.items()])
        flag = ",".join(words)
        return [
            f"column {name!r} is text, but would be {kind} without {named}; if that means "
            f"missing, use --null-values {flag}"
        ]
    return []


def float_notes(names: Sequence[str]) -> list[str]:
    """Return the note that decimals are stored with 32 bits."""
    if not names:
        return []
    which = "column" if len(names) == 1 else "columns"
    return [
        f"{which} {listed(list(names), limit=6)} stored as float32, about 7 digits; kind: float64 "
        "in a schema keeps all"
    ]
