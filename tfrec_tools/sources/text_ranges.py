"""Text files as ranges of records: where records lie, and the bytes of each range.

scan_blocks, parts_of_scans   files that can be cut, block by block
scan_whole                    others, from front to back
read_ranges                   the bytes of a part's ranges, as UTF-8
exact_rows                    the records of files that break the quoting rules
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tfrec_tools.errors import SourceError
from tfrec_tools.record_framing import crc32c
from tfrec_tools.records import path_text
from tfrec_tools.sources import csv_exact, csv_scanning, line_ranges, text_content
from tfrec_tools.sources.csv_scanning import BLOCK_BYTES, NotExactError, Range
from tfrec_tools.sources.range_formats import dialect_of, range_format
from tfrec_tools.storage import Storage
from tfrec_tools.tables import Table, TableFile, TablePart


@dataclass(frozen=True, slots=True)
class FileScan:
    """What a scan tells of some blocks of a file, or of the whole file in ``parts``.

    ``file_index`` is set by whom asked. ``exact``: quotes stand where none may; ``parts`` are then those of the exact scanner.
    ``kinds``: what values the keys of JSON lines have.
    """

    file_index: int
    first_block: int = 0
    blocks: tuple[Any, ...] = ()
    crcs: tuple[int, ...] = ()
    parts: tuple[TablePart, ...] | None = None
    exact: bool = False
    kinds: dict[str, dict[str, str]] | None = None


def num_blocks(file: TableFile) -> int:
    """Return into how many blocks a file that can be cut falls."""
    return -(-file.num_bytes // BLOCK_BYTES)


def scan_blocks(storage: Storage, table: Table, file: TableFile, first: int, stop: int) -> FileScan:
    """Look for records in the blocks ``first`` to ``stop`` of a file that can be cut."""
    format_ = range_format(table)
    found, crcs = [], []
    for block in range(max(first, csv_scanning.first_block(file.data_start)), stop):
        start, end = format_.window(block, file)
        window = _read(storage, file, start, end)
        own = max(block * BLOCK_BYTES, start)
        crcs.append(crc32c(window[own - start : (block + 1) * BLOCK_BYTES - start]))
        found.append(format_.scan(window, start, block, file))
    return FileScan(0, first, tuple(found), tuple(crcs))


def parts_of_scans(
    table: Table, file: TableFile, scans: Sequence[FileScan]
) -> tuple[TablePart, ...] | None:
    """Put the scans of a file's blocks together; None if the file needs the exact scanner."""
    ordered = sorted(scans, key=lambda scan: scan.first_block)
    blocks = [block for scan in ordered for block in scan.blocks]
    format_ = range_format(table)
    ranges = format_.ranges(blocks, file)
    if ranges is None:
        return None
    content = b"".join(crc.to_bytes(4, "big") for scan in ordered for crc in scan.crcs)
    row = file.first_row
    parts = []
    for found in ranges:
        num_records = format_.num_records(found)
        if num_records:  # else nothing but blank lines
            parts.append(_part(file, found, num_records, row, crc32c(content)))
        row += found.num_rows
    return tuple(parts)


def _part(file: TableFile, found: Range, num_records: int, first_row: int, crc: int) -> TablePart:
    return TablePart(
        file=file,
        start=found.start,
        stop=found.stop,
        num_records=num_records,
        first_row=first_row,
        content_crc32c=crc,
        num_bytes=found.stop - found.start,
    )


def scan_whole(storage: Storage, table: Table, file: TableFile, *, exact: bool) -> FileScan:
    """Read a file from front to back, and count its records: one part."""
    if table.text is not None and file.mode == "ranges":
        return _scan_paragraphs(storage, table, file)
    if not exact and file.mode == "stream":
        try:
            return _scan_stream(storage, table, file)
        except NotExactError:
            pass
    mode_file = dataclasses.replace(file, mode="exact")
    crc = num_records = stop = 0

    def counted() -> Iterator[bytes]:
        nonlocal crc, stop
        for block in text_content.blocks(storage, mode_file, BLOCK_BYTES):
            crc = crc32c(block, crc)
            stop += len(block)
            yield block

    for _ in _exact_rows(table, mode_file, counted()):
        num_records += 1
    part = TablePart(
        file=mode_file,
        start=file.data_start,
        stop=stop,
        num_records=num_records,
        first_row=file.first_row,
        content_crc32c=crc,
        num_bytes=stop,
    )
    return FileScan(0, parts=(part,), exact=True)


def _scan_stream(storage: Storage, table: Table, file: TableFile) -> FileScan:
    crc = num_records = stop = 0
    format_ = range_format(table)
    for data, found in _stream_ranges(storage, table, file):
        crc = crc32c(data, crc)
        num_records += format_.num_records(found)
        stop = found.stop
    part = TablePart(
        file=file,
        start=file.data_start,
        stop=stop,
        num_records=num_records,
        first_row=file.first_row,
        content_crc32c=crc,
        num_bytes=stop,
    )
    return FileScan(0, parts=(part,) if num_records else ())


def _scan_paragraphs(storage: Storage, table: Table, file: TableFile) -> FileScan:
    """Find the ranges of a file that can be cut, but only where somebody read all before it."""
    format_ = range_format(table)
    row = file.first_row
    parts = []
    for data, found in _stream_ranges(storage, table, file):
        num_records = format_.num_records(found)
        if num_records:
            parts.append(_part(file, found, num_records, row, crc32c(data)))
        row += found.num_rows
    return FileScan(0, parts=tuple(parts))


def _stream_ranges(
    storage: Storage, table: Table, file: TableFile
) -> Iterator[tuple[bytes, Range]]:
    """Yield the ranges of a file that is read from front to back. Raises NotExactError."""
    if file.mode == "ranges":  # its bytes as they lie: ranges of them are read again
        blocks = text_content.blocks_of_bytes(storage, file)
    else:
        blocks = text_content.blocks(storage, file, BLOCK_BYTES, mark=table.text is not None)
    return range_format(table).stream(blocks, file.data_start)


class RangeData(NamedTuple):
    """The bytes of consecutive records, where they start, and the first one's row and index."""

    data: bytes
    start: int
    first_row: int
    first_index: int


def read_ranges(storage: Storage, table: Table, part: TablePart) -> Iterator[RangeData]:
    """Yield the ranges of a part that is not read by the exact scanner.

    Raises SourceError if the file cannot be read, or changed since it was scanned.
    """
    file = part.file
    if file.mode == "ranges":
        yield RangeData(_range_as_utf8(storage, table, part), part.start, part.first_row, 0)
        return
    try:
        yield from map(_Numbering(table, part), _stream_ranges(storage, table, file))
    except NotExactError:
        raise changed(file) from None


def _range_as_utf8(storage: Storage, table: Table, part: TablePart) -> bytes:
    data = _read(storage, part.file, part.start, part.stop)
    return text_content.as_utf8(data, part.file, part.start, mark=table.text is not None)


class _Numbering:
    """Gives the ranges of a stream their numbers. Keeps none of the data, which may be large."""

    def __init__(self, table: Table, part: TablePart) -> None:
        self._format = range_format(table)
        self._row, self._index = part.first_row, 0

    def __call__(self, found: tuple[bytes, Range]) -> RangeData:
        data, range_ = found
        given = RangeData(data, range_.start, self._row, self._index)
        self._row += range_.num_rows
        self._index += self._format.num_records(range_)
        return given


def exact_rows(storage: Storage, table: Table, file: TableFile) -> Iterator[csv_exact.ExactRow]:
    """Yield the records of a file one by one, by the exact scanner."""
    return _exact_rows(table, file, text_content.blocks(storage, file, BLOCK_BYTES))


def _exact_rows(
    table: Table, file: TableFile, blocks: Iterator[bytes]
) -> Iterator[csv_exact.ExactRow]:
    return csv_exact.scan(
        line_ranges.text_from(blocks, file.data_start),
        dialect_of(table),
        len(table.columns),
        name=path_text(file.key),
        first_offset=file.data_start,
        first_row=file.first_row,
    )


def changed(file: TableFile) -> SourceError:
    """Return the error of a file that is not what was scanned."""
    return SourceError(
        f"{path_text(file.key)} changed while it was converted; run the conversion again"
    )


def _read(storage: Storage, file: TableFile, start: int, stop: int) -> bytes:
    data = text_content.read_range(storage, file, start, stop)
    if len(data) != stop - start:
        raise changed(file)
    return data
