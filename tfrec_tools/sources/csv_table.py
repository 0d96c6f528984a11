"""The cells of CSV files: parsed by pyarrow range by range, or by the exact scanner."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError
from tfrec_tools.records import MAX_BATCH_RECORDS, path_text
from tfrec_tools.schema.cells import trimmed
from tfrec_tools.sources import csv_exact, csv_scanning, text_ranges
from tfrec_tools.sources.csv_scanning import BLOCK_BYTES
from tfrec_tools.sources.range_formats import dialect_of, quote_of, skips_blank
from tfrec_tools.sources.text_ranges import RangeData
from tfrec_tools.storage import Storage
from tfrec_tools.tables import CellFault, Table, TableBatch, TablePart


def batches(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Yield the records of a part: binary cells of the named columns, null where missing."""
    if part.file.mode == "exact":
        yield from _exact_batches(storage, table, part, columns)
        return
    for found in text_ranges.read_ranges(storage, table, part):
        yield from _parsed(table, part, found, columns)


def _parsed(
    table: Table, part: TablePart, given: RangeData, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Parse one range with pyarrow; records with too many or too few cells are set apart."""
    file, data = part.file, given.data
    if data.startswith(codecs.BOM_UTF8):
        # That of the file was left out before: this is a cell's, and pyarrow drops one.
        data = codecs.BOM_UTF8 + data
    dialect = dialect_of(table)
    wrong: list[tuple[int, int]] = []

    def set_apart(row: csv.InvalidRow) -> str:
        wrong.append((row.number - 1, row.actual_columns))
        return "skip"

    names = [str(index) for index in range(len(table.columns))]
    place_of = {name: str(place) for place, name in enumerate(table.columns)}
    wanted = [place_of[name] for name in columns]
    try:
        found = csv.read_csv(
            pa.BufferReader(data),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=names
            ),
            parse_options=csv.ParseOptions(
                delimiter=dialect.delimiter,
                quote_char=dialect.quote or False,
                newlines_in_values=True,
                ignore_empty_lines=skips_blank(table),
                invalid_row_handler=set_apart,
            ),
            convert_options=csv.ConvertOptions(
                # Of a record that is left out of no column there must be something to count.
                include_columns=wanted or names[:1],
                column_types=dict.fromkeys(names, pa.large_binary()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[word.decode() for word in dialect.null_words],
                check_utf8=False,
            ),
        )
    except pa.ArrowInvalid as error:
        raise SourceError(f"{path_text(file.key)} could not be parsed ({error})") from None
    bad = np.array([index for index, _ in wrong], dtype=np.int64)
    kept = np.delete(np.arange(found.num_rows + len(bad)), bad)
    skip_blank = skips_blank(table)

    @functools.cache  # found out only when a fault has to name a row
    def rows() -> NDArray[np.int64]:
        found = csv_scanning.row_numbers(data, quote=quote_of(dialect), skip_blank=skip_blank)
        return given.first_row + found

    rejected = tuple(
        CellFault(int(rows()[index]), "", csv_exact.ragged(len(table.columns), actual))
        for index, actual in wrong
    )
    chunks = [found.column(name).combine_chunks() for name in wanted]
    size = MAX_BATCH_RECORDS
    for first in range(0, max(found.num_rows, 1), size):
        here = kept[first : first + size]
        yield TableBatch(
            key=file.key,
            columns={
                name: _trimmed(chunk.slice(first, size), dialect)
                for name, chunk in zip(columns, chunks, strict=True)
            },
            positions=given.start + here,
            indices=given.first_index + here,
            rows=functools.partial(_taken, rows, here),
            rejected=rejected if first == 0 else (),
        )


def _taken(rows: Callable[[], NDArray[np.int64]], indices: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows()[indices]


def _exact_batches(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Yield batches of the exact scanner; a loop over records, as its cells come one by one."""
    file = part.file
    place_of = {name: place for place, name in enumerate(table.columns)}
    wanted = [place_of[name] for name in columns]
    rows: list[list[bytes | None]] = []
    places: list[tuple[int, int, int]] = []  # position, index in the part, row
    rejected: list[CellFault] = []

    def batch() -> TableBatch:
        found = np.array(places, dtype=np.int64).reshape(-1, 3)
        cells = zip(*rows, strict=True) if rows else [()] * len(wanted)
        return TableBatch(
            key=file.key,
            columns={
                name: _trimmed(pa.array(values, pa.large_binary()), dialect_of(table))
                for name, values in zip(columns, cells, strict=True)
            },
            positions=found[:, 0],
            indices=found[:, 1],
            rows=lambda: found[:, 2],
            rejected=tuple(rejected),
        )

    block = -1
    index_in_block = block_start = 0
    for index, row in enumerate(text_ranges.exact_rows(storage, table, file)):
        if row.offset // BLOCK_BYTES != block:
            block, block_start, index_in_block = row.offset // BLOCK_BYTES, row.offset, 0
        if row.fault is not None:
            rejected.append(CellFault(row.row, "", row.fault))
        else:
            rows.append([row.cells[column] for column in wanted])
            places.append((block_start + index_in_block, index, row.row))
        index_in_block += 1
        if len(rows) + len(rejected) >= MAX_BATCH_RECORDS:
            yield batch()
            rows, places, rejected = [], [], []
    if rows or rejected:
        yield batch()


def _trimmed(cells: pa.Array, dialect: CsvDialect) -> pa.Array:
    return trimmed(cells) if dialect.trim else cells
