"""Opening text files: which there are, their encodings, and where their first records begin."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from tfrec_tools.errors import RecordError
from tfrec_tools.records import path_text
from tfrec_tools.request import SourceSpec
from tfrec_tools.sources import text_content, text_listing
from tfrec_tools.sources.table_listing import compression_of
from tfrec_tools.storage import Storage
from tfrec_tools.table_schema import TEXT_COLUMN
from tfrec_tools.tables import Table, TableFile, TablePart
from tfrec_tools.text_options import TextOptions

LINE, FILENAME = "line", "filename"
"""Columns of text files; of parallel ones, their endings stand for ``text``."""


def open_text(storage: Storage, source: SourceSpec) -> Table:
    """Return the text files at the source as a table. Raises SourceError or RequestError."""
    options = source.text
    columns: Sequence[str] = (TEXT_COLUMN,)
    if options.parallel is not None:
        columns = options.parallel
        groups, ignored = text_listing.list_parallel_files(
            source.root, source.exclude, options.parallel
        )
    else:
        files, ignored = text_listing.list_text_files(source.root, source.exclude)
        groups = [(file,) for file in files]
    notes: list[str] = []
    opened: list[TableFile] = []
    for group in groups:
        if options.record == "document":
            opened += [dataclasses.replace(file, mode="document") for file in group]
            continue
        with_encodings = [_with_encoding(storage, file, options, notes) for file in group]
        if any(file.mode == "stream" for file in with_encodings):
            # Files that are read side by side are read in the same way.
            with_encodings = [dataclasses.replace(f, mode="stream") for f in with_encodings]
        opened += [_with_start(storage, file, options.skip_lines or 0) for file in with_encodings]
    types = dict.fromkeys(columns, pa.large_binary())
    return Table(
        format="text",
        types={FILENAME: pa.large_binary(), LINE: pa.int64()} | types
        if options.record != "document"
        else {FILENAME: pa.large_binary()} | types,
        files=tuple(opened),
        text=options,
        notes=tuple(notes),
        ignored=ignored,
    )


def _with_encoding(
    storage: Storage, file: TableFile, options: TextOptions, notes: list[str]
) -> TableFile:
    """Return the file with compression and encoding; a byte order mark tells, if nobody does."""
    head = text_content.read_range(storage, file, 0, min(8, file.num_bytes))
    file = dataclasses.replace(file, compression=compression_of(head))
    if options.keeps_bytes:
        encoding = text_content.RAW
    elif options.encoding is not None:
        encoding = text_content.known_encoding(options.encoding)
    else:
        if file.compression is not None:
            head = next(text_content.blocks_of_bytes(storage, file), b"")
        bom = text_content.encoding_of_bom(head)
        encoding = bom[0] if bom is not None else "utf-8"
        if encoding != "utf-8":
            notes.append(
                f"{path_text(file.key)} is read as {encoding}, as its byte order mark says"
            )
    file = dataclasses.replace(file, encoding=encoding)
    return file if text_content.can_be_cut(file) else dataclasses.replace(file, mode="stream")


def _with_start(storage: Storage, file: TableFile, skip_lines: int) -> TableFile:
    """Return the file with the place of its first record, behind a byte order mark and lines."""
    start = 0
    pieces: Iterator[bytes]
    if file.mode == "stream":
        pieces = text_content.blocks(storage, file, text_content.READ_BYTES, mark=True)
    else:
        head = text_content.read_range(storage, file, 0, min(4, file.num_bytes))
        bom = text_content.encoding_of_bom(head)
        start = bom[1] if bom is not None and bom[0] == file.encoding else 0
        pieces = _plain_pieces(storage, file, start)
    if skip_lines:
        start += _bytes_of_lines(pieces, skip_lines)
    return dataclasses.replace(file, data_start=start, first_row=1 + skip_lines)


def _plain_pieces(storage: Storage, file: TableFile, start: int) -> Iterator[bytes]:
    size = text_content.READ_BYTES
    for place in range(start, file.num_bytes, size):
        stop = min(place + size, file.num_bytes)
        yield text_content.read_range(storage, file, place, stop)


def _bytes_of_lines(pieces: Iterable[bytes], num_lines: int) -> int:
    """Return how many bytes the first lines take; all of them, if there are not so many."""
    num_bytes = 0
    for piece in pieces:
        place = 0
        while num_lines and (found := piece.find(b"\n", place)) >= 0:
            place, num_lines = found + 1, num_lines - 1
        if not num_lines:
            return num_bytes + place
        num_bytes += len(piece)
    return num_bytes


def document_parts(table: Table) -> tuple[TablePart, ...]:
    """Return one part per file: each is one record."""
    return tuple(
        TablePart(
            file=file,
            start=0,
            stop=file.num_bytes,
            num_records=1,
            first_row=1,
            num_bytes=file.num_bytes,
        )
        for file in table.files
    )


def parallel_parts(table: Table, parts: Sequence[TablePart]) -> tuple[TablePart, ...]:
    """Put the parts of parallel files beside those of the first ones.

    Raises RecordError if files that belong together have not equally many lines.
    """
    by_file: dict[bytes, list[TablePart]] = {file.key: [] for file in table.files}
    for part in parts:
        by_file[part.file.key].append(part)
    merged: list[TablePart] = []
    for group in _groups(table):
        counts = [sum(part.num_records for part in by_file[file.key]) for file in group]
        if len(set(counts)) > 1:
            found = " and ".join(
                f"{path_text(file.key)} has {count:,}"
                for file, count in zip(group, counts, strict=True)
            )
            raise RecordError(
                f"parallel files must have equally many lines ({found}); mend them, or leave them "
                "out with --exclude"
            )
        first, *others = (by_file[file.key] for file in group)
        merged += [
            dataclasses.replace(part, beside=tuple(_covering(own, part) for own in others))
            for part in first
        ]
    return tuple(merged)


def _groups(table: Table) -> Iterator[tuple[TableFile, ...]]:
    """Yield the files that belong together."""
    size = table.num_parallel
    for place in range(0, len(table.files), size):
        yield table.files[place : place + size]


def _covering(parts: Sequence[TablePart], wanted: TablePart) -> TablePart:
    """Return the one part made of those that hold the lines of ``wanted``."""
    first_row, stop_row = wanted.first_row, wanted.first_row + wanted.num_records
    own = [
        part
        for part in parts
        if part.first_row < stop_row and part.first_row + part.num_records > first_row
    ]
    return dataclasses.replace(
        own[0],
        stop=own[-1].stop,
        num_records=sum(part.num_records for part in own),
        num_bytes=own[-1].stop - own[0].start,
    )
