"""The exact scanner of CSV files, for those that a vectorised pass cannot cut.

It keeps to RFC 4180 where a file does, and never lets a cell slip into another column where
it does not: a quote opens only at a cell's start, and a record in which something stands
behind a closing quote is given up as a whole. Compiled patterns find a record's end and its
cells; a record without quotes is merely split.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError, clipped

MAX_RECORD_BYTES = 1 << 31
"""No record of a dataset can be larger; a quote left open would fill the memory instead."""

_LINE_END = re.compile(rb"\r\n?|\n")
_DELIMITER_NAMES = {"\t": "a tab", " ": "a space"}


class ExactRow(NamedTuple):
    """One record. ``offset``: of its first byte in the file; ``row`` and ``line`` from 1.

    ``cells``: None for a missing one. ``fault``: why the record has no cells, if it has none.
    ``stop``: the offset behind it and its line end.
    """

    offset: int
    row: int
    line: int
    cells: list[bytes | None]
    fault: str | None = None
    stop: int = -1


class _Grammar:
    """The patterns of a dialect."""

    def __init__(self, dialect: CsvDialect) -> None:
        self.delimiter = dialect.delimiter.encode()
        self.quote = dialect.quote.encode() if dialect.quote else None
        self.escape = dialect.escape.encode() if dialect.escape else None
        if self.escape == self.quote:
            self.escape = None  # a doubled quote is one quote anyway
        self.comment = dialect.comment.encode() if dialect.comment else None
        self.delimiter_name = _DELIMITER_NAMES.get(dialect.delimiter, dialect.delimiter)
        # What is quoted is never missing, whatever words were declared.
        self.null_words = frozenset(
            word for word in dialect.null_words if not (self.quote and word.startswith(self.quote))
        )
        delimiter, quote, escape = (
            re.escape(sign or b"") for sign in (self.delimiter, self.quote, self.escape)
        )
        # Possessive throughout: a byte is looked at once, however broken the file.
        # An escaped CRLF is one line end. At the file's end there may be nothing to escape.
        escaped = rb"%s(?:\r\n|(?s:.)|\Z)" % escape
        bare = rb"[^%s\r\n%s]*+" % (delimiter, escape)
        cell = rb"%s(?:%s%s)*+" % (bare, escaped, bare) if escape else bare
        if self.quote:
            inside, doubled = rb"[^%s%s]*+" % (quote, escape), quote + quote
            special = rb"(?:%s|%s)" % (doubled, escaped) if escape else doubled
            quoted = rb"%s%s(?:%s%s)*+%s" % (quote, inside, special, inside, quote)
            cell = rb"(?:%s|(?!%s)%s)" % (quoted, quote, cell)
        self.record = re.compile(rb"%s(?:%s%s)*+" % (cell, delimiter, cell))
        self.cells = re.compile(rb"%s(%s)" % (delimiter, cell))
        self.escaped = re.compile(rb"%s(\r\n|(?s:.))" % escape)
        self.escaped_or_doubled = re.compile(rb"%s(\r\n|(?s:.))|%s(%s)" % (escape, quote, quote))

    def is_special(self, line: bytes) -> bool:
        """Say whether a line has a quote or an escape, and must not merely be split."""
        return bool((self.quote and self.quote in line) or (self.escape and self.escape in line))

    def cells_of(self, record: bytes) -> list[bytes | None]:
        """Return the cells of a record that fits the patterns."""
        words, quote, escape = self.null_words, self.quote, self.escape
        return [
            None
            if cell in words
            else self._content(cell)
            if cell[:1] == quote or (escape is not None and escape in cell)
            else cell
            for cell in self.cells.findall(self.delimiter + record)
        ]

    def _content(self, cell: bytes) -> bytes:
        """Return what a cell with a quote or an escape holds."""
        quote = self.quote or b""
        if self.quote is None or cell[:1] != quote:
            return self.escaped.sub(rb"\1", cell)
        if self.escape is None or self.escape not in cell:
            return cell[1:-1].replace(quote + quote, quote)
        return self.escaped_or_doubled.sub(rb"\1\2", cell[1:-1])


class _Incomplete(Exception):  # noqa: N818 - no error: the rest is in a later chunk
    """The record goes on behind the buffer's end, perhaps in a quote open since ``opened``."""

    def __init__(self, opened: int = -1) -> None:
        super().__init__(opened)
        self.opened = opened


def scan(
    chunks: Iterable[bytes],
    dialect: CsvDialect,
    num_columns: int | None,
    *,
    name: str,
    first_offset: int = 0,
    first_row: int = 1,
    first_line: int | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[ExactRow]:
    """Yield the records of a file that is given in chunks, cut anywhere.

    ``first_offset``, ``first_row``, ``first_line``: where the chunks begin; the line is the
    row unless told. Rows are counted as spreadsheets do: blank lines and comments too, which
    are no records; with one column, a blank line is one with a missing cell. Without
    ``num_columns`` any number of cells will do. Holds a chunk and twice the largest record.

    Raises SourceError if a quote is still open at the end of the file, which is called
    ``name``, or a record is larger than ``max_record_bytes``.
    """
    grammar = _Grammar(dialect)
    source = iter(chunks)
    place = _Place(first_offset, first_row, first_row if first_line is None else first_line)
    buffer, is_last = b"", False
    while not is_last:
        # At least as much again as was left over, so that a large record is not looked at
        # once per chunk.
        pieces, wanted = [buffer], max(len(buffer), 1)
        while wanted > 0 and not is_last:
            piece = next(source, None)
            is_last = piece is None
            pieces.append(piece or b"")
            wanted -= len(pieces[-1])
        buffer = b"".join(pieces)
        yield from _rows_in(buffer, place, grammar, num_columns, is_last=is_last)
        position = place.position
        if position < len(buffer) and is_last:
            line = place.line + _num_line_ends(buffer[position : place.opened])
            raise SourceError(
                f"a quote that opens must be closed (row {place.row:,}, line {line:,} of {name} "
                "opens one that is still open at the end of the file); close it, or use "
                "--quote none"
            )
        buffer = buffer[position:]
        place.base += position
        if len(buffer) > max_record_bytes:
            raise SourceError(
                f"a record must not be larger than {max_record_bytes:,} bytes (the one in row "
                f"{place.row:,}, line {place.line:,} of {name} is); end it, close its quote, or "
                "use --quote none"
            )


@dataclass(slots=True)
class _Place:
    """Where the scan is: ``base``: the buffer's offset in the file, ``position``: in the buffer.

    ``opened``: the quote in the buffer that is still open at its end, if one is.
    """

    base: int
    row: int
    line: int
    position: int = 0
    opened: int = -1


def _rows_in(
    buffer: bytes, place: _Place, grammar: _Grammar, num_columns: int | None, *, is_last: bool
) -> Iterator[ExactRow]:
    """Yield the records of a buffer that end in it, and move ``place`` behind them."""
    base, row, line, position = place.base, place.row, place.line, 0
    words, delimiter, comment = grammar.null_words, grammar.delimiter, grammar.comment
    has_returns = b"\r" in buffer
    # A loop over records: where one ends is known only once its quotes are understood.
    while position < len(buffer):
        try:
            end, next_position = _line_at(
                buffer, position, has_returns=has_returns, is_last=is_last
            )
            text = buffer[position:end]
            num_lines, fault = 1, None
            cells: list[bytes | None]
            if (not text and num_columns != 1) or (comment and text.startswith(comment)):
                cells = []
            elif not grammar.is_special(text):
                cells = [None if cell in words else cell for cell in text.split(delimiter)]
            else:
                end, next_position, fault = _record_at(buffer, position, grammar, is_last=is_last)
                text = buffer[position:end]
                num_lines += _num_line_ends(text)
                cells = [] if fault else grammar.cells_of(text)
        except _Incomplete as incomplete:
            place.opened = incomplete.opened
            break
        if cells and num_columns is not None and num_columns != len(cells):
            fault = ragged(num_columns, len(cells))
            cells = []
        if cells or fault:
            yield ExactRow(base + position, row, line, cells, fault, base + next_position)
        row += 1
        line += num_lines
        position = next_position
    place.row, place.line, place.position = row, line, position


def _line_at(buffer: bytes, position: int, *, has_returns: bool, is_last: bool) -> tuple[int, int]:
    """Return where the line that starts at ``position`` ends, and where the next one starts."""
    if not has_returns:
        end = buffer.find(b"\n", position)
        if end >= 0:
            return end, end + 1
    else:
        found = _LINE_END.search(buffer, position)
        if found is not None and (is_last or found.end() < len(buffer)):
            return found.start(), found.end()
        # A CR that ends the buffer may be half a CRLF.
    if not is_last:
        raise _Incomplete
    return len(buffer), len(buffer)


def _record_at(
    buffer: bytes, position: int, grammar: _Grammar, *, is_last: bool
) -> tuple[int, int, str | None]:
    """Return where a record with quotes or escapes ends, the next one starts, and its fault."""
    found = grammar.record.match(buffer, position)
    if found is None:  # its first cell opens a quote
        raise _Incomplete(position)
    end = found.end()
    if end == len(buffer):
        if not is_last:
            raise _Incomplete
        return end, end, None
    if buffer.startswith(grammar.delimiter, end):  # so the cell behind it opens a quote
        raise _Incomplete(end + 1)
    fault = None
    if buffer[end] not in b"\r\n":
        got = buffer[end : end + 4].decode("utf-8", "surrogateescape")[0]
        fault = (
            f"a quote ends inside a cell, behind it must come {grammar.delimiter_name} or the "
            f"line's end (got {clipped(got)})"
        )
    return *_line_at(buffer, end, has_returns=True, is_last=is_last), fault


def _num_line_ends(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def ragged(expected: int | None, actual: int) -> str:
    """Return the fault of a record with another number of cells than there are columns."""
    cells = "1 cell" if expected == 1 else f"{expected} cells"
    return f"must have {cells} like the header (got {actual})"
