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
from typing import NamedTuple

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError
from tfrec_tools.record_framing import crc32c
from tfrec_tools.records import path_text
from tfrec_tools.sources import csv_exact, csv_scanning, text_content
from tfrec_tools.sources.csv_scanning import BLOCK_BYTES, BlockScan, NotExactError, Range
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
    blocks: tuple[BlockScan, ...] = ()
    crcs: tuple[int, ...] = ()
    parts: tuple[TablePart, ...] | None = None
    exact: bool = False
    kinds: dict[str, dict[str, str]] | None = None


def num_blocks(file: TableFile) -> int:
    """Return into how many blocks a file that can be cut falls."""
    return -(-file.num_bytes // BLOCK_BYTES)


def scan_blocks(storage: Storage, table: Table, file: TableFile, first: int, stop: int) -> FileScan:
    """Look for records in the blocks ``first`` to ``stop`` of a file that can be cut."""
    dialect = dialect_of(table)
    found, crcs = [], []
    for block in range(max(first, csv_scanning.first_block(file.data_start)), stop):
        start, end = csv_scanning.block_window(block, file.data_start, file.num_bytes)
        window = _read(storage, file, start, end)
        own = max(block * BLOCK_BYTES, start)
        crcs.append(crc32c(window[own - start : (block + 1) * BLOCK_BYTES - start]))
        found.append(
            csv_scanning.scan_block(
                window,
                start,
                block,
                delimiter=dialect.delimiter.encode(),
                quote=quote_of(dialect),
                is_last=end == file.num_bytes,
            )
        )
    return FileScan(0, first, tuple(found), tuple(crcs))


def parts_of_scans(
    table: Table, file: TableFile, scans: Sequence[FileScan]
) -> tuple[TablePart, ...] | None:
    """Put the scans of a file's blocks together; None if the file needs the exact scanner."""
    ordered = sorted(scans, key=lambda scan: scan.first_block)
    blocks = [block for scan in ordered for block in scan.blocks]
    ranges, exact = csv_scanning.ranges_of(blocks, file.data_start, file.num_bytes)
    if not exact:
        return None
    content = b"".join(crc.to_bytes(4, "big") for scan in ordered for crc in scan.crcs)
    row = file.first_row
    parts = []
    for found in ranges:
        num_records = _num_records(table, found)
        first_row, row = row, row + found.num_rows
        if not num_records:
            continue  # nothing but blank lines
        parts.append(
            TablePart(
                file=file,
                start=found.start,
                stop=found.stop,
                num_records=num_records,
                first_row=first_row,
                content_crc32c=crc32c(content),
                num_bytes=found.stop - found.start,
            )
        )
    return tuple(parts)


def scan_whole(storage: Storage, table: Table, file: TableFile, *, exact: bool) -> FileScan:
    """Read a file from front to back, and count its records: one part."""
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
    for data, found in _stream_ranges(storage, table, file):
        crc = crc32c(data, crc)
        num_records += _num_records(table, found)
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


def _stream_ranges(
    storage: Storage, table: Table, file: TableFile
) -> Iterator[tuple[bytes, Range]]:
    """Yield the ranges of a file that is read from front to back. Raises NotExactError."""
    dialect = dialect_of(table)
    return csv_scanning.stream_ranges(
        text_content.blocks(storage, file, BLOCK_BYTES),
        file.data_start,
        delimiter=dialect.delimiter.encode(),
        quote=quote_of(dialect),
    )


def _num_records(table: Table, found: Range) -> int:
    return found.num_rows - (found.num_blank if skips_blank(table) else 0)


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
        data = _read(storage, file, part.start, part.stop)
        yield RangeData(text_content.as_utf8(data, file, part.start), part.start, part.first_row, 0)
        return
    row, index = part.first_row, 0
    try:
        for data, found in _stream_ranges(storage, table, file):
            yield RangeData(data, found.start, row, index)
            row += found.num_rows
            index += _num_records(table, found)
    except NotExactError:
        raise changed(file) from None


def exact_rows(storage: Storage, table: Table, file: TableFile) -> Iterator[csv_exact.ExactRow]:
    """Yield the records of a file one by one, by the exact scanner."""
    return _exact_rows(table, file, text_content.blocks(storage, file, BLOCK_BYTES))


def _exact_rows(
    table: Table, file: TableFile, blocks: Iterator[bytes]
) -> Iterator[csv_exact.ExactRow]:
    return csv_exact.scan(
        _from_offset(blocks, file.data_start),
        dialect_of(table),
        len(table.columns),
        name=path_text(file.key),
        first_offset=file.data_start,
        first_row=file.first_row,
    )


def _from_offset(blocks: Iterator[bytes], offset: int) -> Iterator[bytes]:
    for block in blocks:
        if offset < len(block):
            yield block[offset:]
        offset = max(offset - len(block), 0)


def dialect_of(table: Table) -> CsvDialect:
    """Return the dialect, which all text files have."""
    assert table.dialect is not None
    return table.dialect


def quote_of(dialect: CsvDialect) -> bytes | None:
    """Return the quote as bytes, None without quotes."""
    return dialect.quote.encode() if dialect.quote else None


def skips_blank(table: Table) -> bool:
    """Say whether blank lines are no records: in a file of one column they are missing cells."""
    return table.format != "csv" or len(table.columns) != 1


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
