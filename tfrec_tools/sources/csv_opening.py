"""Finding out how CSV files are written: encoding, delimiter, header, columns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import pyarrow as pa

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import RequestError, SourceError, counted, listed
from tfrec_tools.records import path_text
from tfrec_tools.request import CsvOptions
from tfrec_tools.schema.source import NO_QUOTES
from tfrec_tools.sources import csv_exact, csv_sniffing, text_content
from tfrec_tools.storage import Storage
from tfrec_tools.tables import Table, TableFile

SAMPLE_BYTES = 1 << 20
HEAD_BYTES = 64 << 10
MIN_ROWS = 2
"""Rows that must be seen: the header, and a record to compare it with."""


def open_csv(
    storage: Storage,
    files: Sequence[TableFile],
    options: CsvOptions,
    ignored: Mapping[str, int],
) -> Table:
    """Return the files as a table, sniffing what ``options`` do not say.

    Raises SourceError if they are empty, differ, or cannot be read; RequestError where the
    user has to say what is meant.
    """
    files = [_with_encoding(storage, file, options) for file in files]
    empty = [path_text(file.key) for file in files if not file.num_bytes]
    if empty:
        raise SourceError(
            f"a CSV file must not be empty ({listed(empty, limit=3)}); remove it, or use --exclude"
        )
    first = next((file for file in files if _has_two_lines(storage, file)), files[0])
    notes = (
        []
        if first.encoding == "utf-8" or options.encoding is not None
        else [f"{path_text(first.key)} is read as {first.encoding}, as its byte order mark says"]
    )
    sample, complete = _sample(storage, first, SAMPLE_BYTES)
    dialect, sniffed = _dialect(first, sample, options, complete=complete)
    notes += sniffed
    rows = _rows(first, sample, dialect, options, complete=complete)
    if len(rows) < MIN_ROWS and not complete:
        rows = _head_rows(storage, first, dialect, options, 2 * SAMPLE_BYTES)
    if not rows:
        raise SourceError(f"{path_text(first.key)} must hold records (it holds none)")
    has_header = _has_header(first, rows, options)
    if has_header:
        notes.append(f"the first row of {path_text(first.key)} is taken for the columns' names")
    names, more = _column_names(first, rows, options, has_header=has_header)
    if len(names) == 1 and options.delimiter is None:
        more.append(f"no delimiter was found in {path_text(first.key)}: it has one column")
    opened = []
    for file in files:
        own = rows if file is first else _head_rows(storage, file, dialect, options)
        opened.append(_with_start(file, own, names, first, has_header=has_header))
    if dialect.escape is not None or dialect.comment is not None:
        opened = [dataclasses.replace(file, mode="exact") for file in opened]
        notes.append("files with escaped cells or comments are read by one process each")
    if options.header is not None or options.column_names is not None:
        notes = [note for note in notes if "columns' names" not in note]
    return Table(
        format="csv",
        types=dict.fromkeys(names, pa.large_binary()),
        files=tuple(opened),
        dialect=dialect,
        decimal=options.decimal or ".",
        has_header=has_header,
        notes=(*notes, *more),
        ignored=dict(ignored),
    )


def _has_two_lines(storage: Storage, file: TableFile) -> bool:
    """Say whether there can be a header and a record, from which to tell what is what."""
    sample, complete = _sample(storage, file, HEAD_BYTES)
    return not complete or sum(map(bool, sample.splitlines())) >= MIN_ROWS


def _with_encoding(storage: Storage, file: TableFile, options: CsvOptions) -> TableFile:
    """Return the file with its encoding, and how it can be read with that."""
    head = b""
    for head in text_content.blocks_of_bytes(storage, file):  # noqa: B007 (the first one is enough)
        break
    bom = text_content.encoding_of_bom(head)
    given = None if options.encoding is None else text_content.known_encoding(options.encoding)
    encoding = given or (bom[0] if bom is not None else "utf-8")
    file = dataclasses.replace(file, encoding=encoding)
    if not text_content.can_be_cut(file):
        return dataclasses.replace(file, mode="stream")
    start = bom[1] if bom is not None and bom[0] == encoding else 0
    return dataclasses.replace(file, data_start=start)


def _sample(storage: Storage, file: TableFile, num_bytes: int) -> tuple[bytes, bool]:
    """Return the start of the file, without a byte order mark; and whether it is all.

    In UTF-8, unless its bytes can be cut anywhere.
    """
    if file.mode == "ranges":
        stop = min(file.data_start + num_bytes, file.num_bytes)
        data = text_content.read_range(storage, file, file.data_start, stop)
        # As it is: offsets in it must be those in the file. Only cells are decoded.
        return data, file.data_start + len(data) >= file.num_bytes
    block = next(iter(text_content.blocks(storage, file, num_bytes)), b"")
    return block, len(block) < num_bytes


def _dialect(
    file: TableFile, sample: bytes, options: CsvOptions, *, complete: bool
) -> tuple[CsvDialect, list[str]]:
    notes: list[str] = []
    quote = '"' if options.quote is None else options.quote
    dialect = CsvDialect(
        quote=None if quote == NO_QUOTES else quote,
        escape=options.escape,
        comment=options.comment,
        null_values=options.null_values or (),
        trim=bool(options.trim),
    )
    if options.delimiter is not None:
        return dataclasses.replace(dialect, delimiter=options.delimiter), notes
    _, body = _skipped(sample, options.skip_rows or 0)
    found = csv_sniffing.sniff_delimiter(
        body, dialect, file_name=path_text(file.key), complete=complete
    )
    if found != ",":
        shown = {"\t": "tab"}.get(found, found)
        notes.append(f"cells of {path_text(file.key)} are separated by {shown}")
    return dataclasses.replace(dialect, delimiter=found), notes


def _skipped(sample: bytes, num_rows: int) -> tuple[int, bytes]:
    """Return how many bytes the first lines take, and what follows them."""
    lines = sample.splitlines(keepends=True)[:num_rows]
    size = sum(map(len, lines))
    return size, sample[size:]


def _rows(
    file: TableFile, sample: bytes, dialect: CsvDialect, options: CsvOptions, *, complete: bool
) -> list[csv_exact.ExactRow]:
    """Return the rows of a sample, after those that are to be skipped."""
    skipped, body = _skipped(sample, options.skip_rows or 0)
    rows = csv_sniffing.sample_rows(
        body,
        dialect,
        complete=complete,
        name=path_text(file.key),
        first_offset=file.data_start + skipped,
        first_row=1 + (options.skip_rows or 0),
    )
    if rows and rows[0].fault is not None:
        raise SourceError(
            f"{path_text(file.key)}: row {rows[0].row:,} {rows[0].fault}; mend it, or say how the "
            "file is written (--quote, --delimiter)"
        )
    if file.mode != "ranges" or file.encoding == "utf-8":
        return rows
    text_content.as_utf8(sample, file, file.data_start)  # names a byte that is none by its place
    return [row._replace(cells=[_decoded(cell, file) for cell in row.cells]) for row in rows]


def _decoded(cell: bytes | None, file: TableFile) -> bytes | None:
    return None if cell is None else text_content.as_utf8(cell, file, 0)


def _head_rows(
    storage: Storage,
    file: TableFile,
    dialect: CsvDialect,
    options: CsvOptions,
    num_bytes: int = HEAD_BYTES,
) -> list[csv_exact.ExactRow]:
    """Return the first rows of a file, two at least if it has them, however large they are."""
    while True:
        sample, complete = _sample(storage, file, num_bytes)
        rows = _rows(file, sample, dialect, options, complete=complete)
        if len(rows) >= MIN_ROWS or complete:
            return rows
        num_bytes *= 4


def _has_header(file: TableFile, rows: Sequence[csv_exact.ExactRow], options: CsvOptions) -> bool:
    if options.header is not None:
        return options.header
    if options.column_names is not None:
        return False
    guess = csv_sniffing.sniff_header([row.cells for row in rows if row.cells])
    if guess.has_header is None:
        raise RequestError(
            f"whether the first row of {path_text(file.key)} holds the columns' names must be told "
            f"({guess.reason}); use --header or --no-header"
        )
    return guess.has_header


def _column_names(
    file: TableFile,
    rows: Sequence[csv_exact.ExactRow],
    options: CsvOptions,
    *,
    has_header: bool,
) -> tuple[tuple[str, ...], list[str]]:
    cells = rows[0].cells
    if options.column_names is not None:
        if len(options.column_names) != len(cells):
            raise RequestError(
                f"--column-names must name {counted(len(cells), 'column')} of "
                f"{path_text(file.key)} (got {len(options.column_names)})"
            )
        cells = [name.encode() for name in options.column_names]
    elif not has_header:
        return tuple(f"column_{index + 1}" for index in range(len(cells))), [
            f"{path_text(file.key)} has no header: its columns are called column_1 to "
            f"column_{len(cells)}; --column-names gives better names"
        ]
    names, problems, notes = csv_sniffing.column_names(cells)
    if problems:
        raise SourceError(f"{path_text(file.key)}: {problems[0]}")
    return tuple(names), list(notes)


def _with_start(
    file: TableFile,
    rows: Sequence[csv_exact.ExactRow],
    names: Sequence[str],
    first: TableFile,
    *,
    has_header: bool,
) -> TableFile:
    """Return the file with the place of its first record; its header must be that of the first."""
    if not rows:
        raise SourceError(
            f"{path_text(file.key)} must hold records (it holds none); remove it, or use --exclude"
        )
    if not has_header:
        if len(rows[0].cells) != len(names):
            raise SourceError(
                f"all files must have the same number of columns ({path_text(first.key)} has "
                f"{len(names)}, {path_text(file.key)} {len(rows[0].cells)}); convert them apart, "
                "or use --exclude"
            )
        return dataclasses.replace(file, data_start=rows[0].offset, first_row=rows[0].row)
    if file.key != first.key:
        found, _, _ = csv_sniffing.column_names(rows[0].cells)
        if tuple(found) != tuple(names):
            raise SourceError(
                f"all files must have the same header ({path_text(first.key)} has "
                f"{listed(list(names))}, {path_text(file.key)} has {listed(list(found))}); convert "
                "them apart, or use --exclude"
            )
    if len(rows) > 1:
        return dataclasses.replace(file, data_start=rows[1].offset, first_row=rows[1].row)
    return dataclasses.replace(file, data_start=rows[0].stop, first_row=rows[0].row + 1)
