"""JSON lines files as tables: one object per line, flat, read exactly.

Python's ``json`` reads them, a loop over records: pyarrow's reader takes text that looks like
a time for one, and whole numbers over 64 bits for floats.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tfrec_tools.errors import RecordError, clipped
from tfrec_tools.records import MAX_BATCH_RECORDS, path_text
from tfrec_tools.sources.text_ranges import RangeData
from tfrec_tools.tables import CellFault, Table, TableBatch, TablePart

_INT64 = range(-(1 << 63), 1 << 63)
_MAY_OVERFLOW = re.compile(r"[eE]\+?[0-9]{3}|[0-9]{309}")
Kinds = dict[str, dict[str, str]]
"""Of each key the kinds of its values, each with where it was seen first."""


def kinds_of(part: TablePart, given: RangeData) -> Kinds:
    """Return what kinds of values the keys of a range have."""
    kinds: Kinds = {}
    for row, line in _lines(given.data, given.first_row):
        record = _parsed(line)
        if isinstance(record, dict):
            for name, value in record.items():
                kind = _kind(value)
                found = kinds.setdefault(name, {})
                if kind not in found:
                    found[kind] = f"{path_text(part.file.key)} row {row}"
    return kinds


def merged_kinds(parts: Sequence[Kinds]) -> Kinds:
    """Return the kinds of several ranges together; the first place of each is kept."""
    merged: Kinds = {}
    for kinds in parts:
        for name, found in kinds.items():
            into = merged.setdefault(name, {})
            for kind, where in found.items():
                into.setdefault(kind, where)
    return merged


def types_of(kinds: Kinds) -> dict[str, pa.DataType]:
    """Return the columns' types. Raises RecordError if a key's values are of kinds that differ."""
    return {name: _type(name, found) for name, found in kinds.items()}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return "whole number" if value in _INT64 else "whole number over 64 bits"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        kinds = {_kind(item) for item in value}
        if not kinds:
            return "empty list"
        if kinds <= {"whole number", "number"}:
            return f"list of {'number' if 'number' in kinds else 'whole number'}"
        return f"list of {kinds.pop()}" if len(kinds) == 1 else "list of several kinds"
    return "object"


_TYPES: Mapping[frozenset[str], pa.DataType] = {
    frozenset({"true or false"}): pa.bool_(),
    frozenset({"whole number"}): pa.int64(),
    frozenset({"number"}): pa.float64(),
    frozenset({"whole number", "number"}): pa.float64(),
    frozenset({"text"}): pa.large_string(),
    frozenset({"whole number over 64 bits"}): pa.large_string(),
    frozenset({"whole number", "whole number over 64 bits"}): pa.large_string(),
    frozenset(): pa.large_string(),
    frozenset({"list of whole number"}): pa.large_list(pa.int64()),
    frozenset({"list of number"}): pa.large_list(pa.float64()),
    frozenset({"list of whole number", "list of number"}): pa.large_list(pa.float64()),
    frozenset({"list of text"}): pa.large_list(pa.large_string()),
    frozenset({"empty list"}): pa.large_list(pa.large_string()),
}


def _type(name: str, found: Mapping[str, str]) -> pa.DataType:
    kinds = frozenset(found) - {"null"}
    found_type = _TYPES.get(kinds) or _TYPES.get(kinds - {"empty list"})
    if found_type is None or ("empty list" in kinds and not pa.types.is_large_list(found_type)):
        where = ", ".join(f"{kind} in {found[kind]}" for kind in sorted(kinds))
        raise RecordError(
            f"the values of a key must be of one kind, and no objects (key {name!r} has {where})"
        )
    return found_type


def batches(
    table: Table, part: TablePart, given: RangeData, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Yield the records of a range; keys that a record lacks are null."""
    records: list[dict[str, Any]] = []
    places: list[tuple[int, int]] = []
    rejected: list[CellFault] = []

    def batch() -> TableBatch:
        found = np.array(places, dtype=np.int64).reshape(-1, 2)
        return TableBatch(
            key=part.file.key,
            columns={name: _column(records, name, table.types[name]) for name in columns},
            positions=given.start + found[:, 0],
            indices=given.first_index + found[:, 0],
            rows=lambda: found[:, 1],
            rejected=tuple(rejected),
        )

    for index, (row, line) in enumerate(_lines(given.data, given.first_row)):
        record = _parsed(line)
        if isinstance(record, dict):
            records.append(record)
            places.append((index, row))
        else:
            shown = clipped(line.decode("utf-8", "backslashreplace"))
            rejected.append(CellFault(row, "", f"must be a JSON object (got {shown})"))
        if len(records) + len(rejected) >= MAX_BATCH_RECORDS:
            yield batch()
            records, places, rejected = [], [], []
    if records or rejected:
        yield batch()


def _column(records: list[dict[str, Any]], name: str, type_: pa.DataType) -> pa.Array:
    values = [record.get(name) for record in records]
    if pa.types.is_large_string(type_):
        values = [str(v) if isinstance(v, int) else v for v in values]
    elif pa.types.is_float64(type_):
        values = [float(v) if isinstance(v, int) else v for v in values]
    return pa.array(values, type=type_)


def _lines(data: bytes, first_row: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the content of each line that is not blank."""
    for row, line in enumerate(data.splitlines(), first_row):
        if line:
            yield row, line


def _parsed(line: bytes) -> Any:
    r"""Return what a line holds, None if it is no JSON.

    NaN and Infinity are none, nor are numbers over 64 bits of a float, or halves of a
    character (``\ud83d``), which no UTF-8 text can hold.
    """
    try:
        text = line.decode("utf-8-sig")  # the first line may begin with a byte order mark
        if _MAY_OVERFLOW.search(text):
            value = json.loads(text, parse_constant=_refused, parse_float=_finite)
        else:
            value = json.loads(text, parse_constant=_refused)
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def _refused(name: str) -> Any:
    raise ValueError(name)


def _finite(number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(number)
    return value
