"""The records of text files: lines, paragraphs, whole documents, and lines side by side."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tfrec_tools.records import MAX_BATCH_RECORDS
from tfrec_tools.sources import documents, line_ranges, text_cleaning, text_ranges
from tfrec_tools.sources.range_formats import rules_of
from tfrec_tools.sources.text_opening import FILENAME, LINE
from tfrec_tools.storage import Storage
from tfrec_tools.tables import CellFault, Table, TableBatch, TablePart
from tfrec_tools.text_options import TextOptions


def batches(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Yield the records of a part with the named columns: text as UTF-8, cleaned as asked."""
    options = options_of(table)
    texts = tuple(options.parallel or _texts(table))
    if part.file.mode == "document":
        yield _document(storage, table, part, columns)
        return
    found = _beside if part.beside else _alone
    for whole in found(storage, table, part, texts):
        for first in range(0, whole.num_records, MAX_BATCH_RECORDS):
            yield _batch(table, part, whole.sliced(first, MAX_BATCH_RECORDS), columns)


def options_of(table: Table) -> TextOptions:
    """Return how the table's text files become records."""
    assert table.text is not None
    return table.text


def _texts(table: Table) -> list[str]:
    return [name for name in table.columns if name not in (FILENAME, LINE)]


Rows = Callable[[], NDArray[np.int64]]
"""The numbers of the lines in which some records begin; counted only if somebody asks."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """Consecutive records: position and index in the part of the first, texts by column."""

    position: int
    first_index: int
    values: Mapping[str, pa.LargeBinaryArray]
    rows: Rows

    @property
    def num_records(self) -> int:
        return len(next(iter(self.values.values())))

    def sliced(self, first: int, size: int) -> _Slice:
        return _Slice(
            self.position + first,
            self.first_index + first,
            {name: column.slice(first, size) for name, column in self.values.items()},
            lambda: self.rows()[first : first + size],
        )


def _alone(
    storage: Storage, table: Table, part: TablePart, names: Sequence[str]
) -> Iterator[_Slice]:
    rules = rules_of(options_of(table))
    for given in text_ranges.read_ranges(storage, table, part):
        records = line_ranges.records_of(given.data, rules)
        rows = functools.cache(functools.partial(_numbered, records.lines, given.first_row))
        found = _Slice(given.start, given.first_index, {names[0]: records.values}, rows)
        del given, records  # a long line must not be kept twice
        yield found


def _numbered(lines: Rows, first_row: int) -> NDArray[np.int64]:
    return first_row + lines()


def _beside(
    storage: Storage, table: Table, part: TablePart, names: Sequence[str]
) -> Iterator[_Slice]:
    """Yield lines of parallel files, cut where the first file's ranges end."""
    others = [_Lines(storage, table, own, part.first_row) for own in part.beside]
    rules = rules_of(options_of(table))
    for given in text_ranges.read_ranges(storage, table, part):
        values = line_ranges.records_of(given.data, rules).values
        columns = [values, *(own.next(len(values)) for own in others)]
        first = given.first_row
        rows = functools.partial(np.arange, first, first + len(values), dtype=np.int64)
        texts = dict(zip(names, columns, strict=True))
        yield _Slice(given.start, given.first_index, texts, rows)


class _Lines:
    """Lines of one file, handed out in the numbers asked for."""

    def __init__(self, storage: Storage, table: Table, part: TablePart, first_row: int) -> None:
        rules = rules_of(options_of(table))
        self._part = part
        self._ranges = (
            line_ranges.records_of(given.data, rules).values
            for given in text_ranges.read_ranges(storage, table, part)
        )
        self._rest: pa.LargeBinaryArray = pa.array([], pa.large_binary())
        self.next(first_row - part.first_row)

    def next(self, number: int) -> pa.LargeBinaryArray:
        """Return the next lines. Raises SourceError if there are not so many."""
        taken = [self._rest.slice(0, number)]
        self._rest = self._rest.slice(number)
        missing = number - len(taken[0])
        while missing:
            values = next(self._ranges, None)
            if values is None:
                raise text_ranges.changed(self._part.file)
            taken.append(values.slice(0, missing))
            self._rest = values.slice(missing)
            missing -= len(taken[-1])
        return pa.concat_arrays(taken) if len(taken) > 1 else taken[0]


def _batch(table: Table, part: TablePart, given: _Slice, columns: Sequence[str]) -> TableBatch:
    """Clean the texts; what does not fit, or is to be left out, is set apart."""
    options = options_of(table)
    files = [part.file, *(own.file for own in part.beside)]
    cleaned = {
        name: text_cleaning.cleaned(column, options, file.encoding, unit=options.record or "line")
        for (name, column), file in zip(given.values.items(), files, strict=True)
    }
    faults: dict[int, tuple[str, str]] = {}
    left_out: dict[int, str] = {}
    for name, found in cleaned.items():
        for index, reason in found.faults.items():
            faults.setdefault(index, (name if part.beside else "", reason))
        left_out = dict(found.left_out) | left_out
    left_out = {index: word for index, word in left_out.items() if index not in faults}
    kept = np.arange(given.num_records, dtype=np.int64)
    texts = {name: found.values for name, found in cleaned.items()}
    if faults or left_out:
        kept = np.delete(kept, np.fromiter([*faults, *left_out], np.int64))
        here = pa.array(kept)
        texts = {name: column.take(here) for name, column in texts.items()}
    if LINE in columns:
        texts[LINE] = pa.array(given.rows()[kept])
    repaired = {
        file: [i for i in found.repaired if i not in faults and i not in left_out]
        for found, file in zip(cleaned.values(), files, strict=True)
        if found.repaired
    }
    rows = given.rows() if faults or repaired else ()
    return TableBatch(
        key=part.file.key,
        columns=_columns(columns, texts, part, len(kept)),
        positions=given.position + kept,
        indices=given.first_index + kept,
        rows=lambda: given.rows()[kept],
        rejected=tuple(
            CellFault(int(rows[index]), name, reason)
            for index, (name, reason) in sorted(faults.items())
        ),
        left_out=Counter(left_out.values()),
        repaired={
            file.key: (file.encoding, tuple(int(rows[index]) for index in indices))
            for file, indices in repaired.items()
            if indices
        },
        keys={
            name: file.key for name, file in zip(given.values, files, strict=True) if part.beside
        },
    )


def _columns(
    names: Sequence[str], found: Mapping[str, pa.Array], part: TablePart, number: int
) -> dict[str, pa.Array]:
    """Return the named columns: those found, and the file's path."""
    path = pa.scalar(part.file.key, pa.large_binary())
    return {name: found[name] if name in found else pa.repeat(path, number) for name in names}


def _document(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> TableBatch:
    """Return the one record that a file is."""
    options = options_of(table)
    found = documents.read_documents(storage, [part.file.key], options)
    kept = np.array([] if found.faults or found.left_out else [0], dtype=np.int64)
    texts = {name: found.values.slice(0, len(kept)) for name in _texts(table)}
    no_rows = np.zeros(1, np.int64)
    return TableBatch(
        key=part.file.key,
        columns=_columns(columns, texts, part, len(kept)),
        positions=kept,
        indices=kept,
        rows=lambda: no_rows[kept],
        rejected=tuple(CellFault(0, "", reason) for reason in found.faults.values()),
        left_out=Counter(found.left_out.values()),
    )
