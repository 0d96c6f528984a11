"""How the formats of text files are cut into ranges of records, behind one interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.sources import csv_scanning, line_ranges
from tfrec_tools.sources.csv_scanning import Range
from tfrec_tools.sources.line_ranges import RecordRules
from tfrec_tools.tables import Table, TableFile
from tfrec_tools.text_options import TextOptions


class RangeFormat(Protocol):
    """Finds records block by block, or from front to back."""

    def window(self, block: int, file: TableFile) -> tuple[int, int]:
        """Return which bytes of the file `scan` wants for a block."""
        ...

    def scan(self, window: bytes, start: int, block: int, file: TableFile) -> Any:
        """Look at one block by itself; the window begins at ``start``."""
        ...

    def ranges(self, scans: Sequence[Any], file: TableFile) -> list[Range] | None:
        """Put all blocks of a file together; None if it must be read record by record."""
        ...

    def stream(self, blocks: Iterator[bytes], data_start: int) -> Iterator[tuple[bytes, Range]]:
        """Yield the ranges of content that comes from front to back."""
        ...

    def num_records(self, found: Range) -> int:
        """Return how many records a range has."""
        ...


@dataclass(frozen=True, slots=True)
class CsvRanges:
    """CSV files, and JSON lines, which have no quotes around records."""

    dialect: CsvDialect
    skips_blank: bool

    def window(self, block: int, file: TableFile) -> tuple[int, int]:
        """See `RangeFormat`."""
        return csv_scanning.block_window(block, file.data_start, file.num_bytes)

    def scan(self, window: bytes, start: int, block: int, file: TableFile) -> Any:
        """See `RangeFormat`."""
        return csv_scanning.scan_block(
            window,
            start,
            block,
            delimiter=self.dialect.delimiter.encode(),
            quote=quote_of(self.dialect),
            is_last=start + len(window) == file.num_bytes,
        )

    def ranges(self, scans: Sequence[Any], file: TableFile) -> list[Range] | None:
        """See `RangeFormat`."""
        found, exact = csv_scanning.ranges_of(scans, file.data_start, file.num_bytes)
        return found if exact else None

    def stream(self, blocks: Iterator[bytes], data_start: int) -> Iterator[tuple[bytes, Range]]:
        """See `RangeFormat`. Raises NotExactError."""
        return csv_scanning.stream_ranges(
            blocks,
            data_start,
            delimiter=self.dialect.delimiter.encode(),
            quote=quote_of(self.dialect),
        )

    def num_records(self, found: Range) -> int:
        """See `RangeFormat`."""
        return found.num_rows - (found.num_blank if self.skips_blank else 0)


@dataclass(frozen=True, slots=True)
class LineRanges:
    """Lines or paragraphs of text."""

    rules: RecordRules

    def window(self, block: int, file: TableFile) -> tuple[int, int]:
        """See `RangeFormat`."""
        return line_ranges.block_window(block, file.data_start, file.num_bytes, self.rules)

    def scan(self, window: bytes, start: int, block: int, file: TableFile) -> Any:
        """See `RangeFormat`."""
        return line_ranges.scan_block(
            window, start, block, file.data_start, file.num_bytes, self.rules
        )

    def ranges(self, scans: Sequence[Any], file: TableFile) -> list[Range] | None:
        """See `RangeFormat`."""
        return line_ranges.ranges_of(scans, file.data_start, file.num_bytes)

    def stream(self, blocks: Iterator[bytes], data_start: int) -> Iterator[tuple[bytes, Range]]:
        """See `RangeFormat`."""
        return line_ranges.stream_ranges(blocks, data_start, self.rules)

    def num_records(self, found: Range) -> int:
        """See `RangeFormat`."""
        return found.num_rows - found.num_blank


def range_format(table: Table) -> RangeFormat:
    """Return how files of the table's format are cut."""
    if table.text is not None:
        return LineRanges(rules_of(table.text))
    return CsvRanges(dialect_of(table), skips_blank(table))


def rules_of(options: TextOptions) -> RecordRules:
    """Return what a record of text files is."""
    return RecordRules(
        record="paragraph" if options.record == "paragraph" else "line",
        skip_blank=options.blank == "skip",
        comment=options.comment.encode() if options.comment is not None else None,
    )


def dialect_of(table: Table) -> CsvDialect:
    """Return the dialect, which CSV and JSON lines files have."""
    assert table.dialect is not None
    return table.dialect


def quote_of(dialect: CsvDialect) -> bytes | None:
    """Return the quote as bytes, None without quotes."""
    return dialect.quote.encode() if dialect.quote else None


def skips_blank(table: Table) -> bool:
    """Say whether blank lines are no records: in a file of one column they are missing cells."""
    return table.format != "csv" or len(table.columns) != 1
