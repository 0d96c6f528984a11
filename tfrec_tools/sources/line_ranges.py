"""Lines and paragraphs of text files as ranges of records.

A line is ended by LF or CRLF and by nothing else; a last one may lack its end. Blank is a
line of nothing but spaces and tabs. A paragraph is a run of lines that are not blank.

scan_block, ranges_of   the lines of files that can be cut, block by block
stream_ranges           lines of other files, and paragraphs, from front to back
records_of              the records of a range
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tfrec_tools.sources import csv_scanning
from tfrec_tools.sources.csv_scanning import Range

_LF, _CR = ord("\n"), ord("\r")
_BLANKS = b" \t"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRules:
    """What a record is.

    Only of lines: with ``skip_blank`` blank ones are none, and neither are those that begin
    with ``comment``, which is not empty and holds no line end.
    """

    record: Literal["line", "paragraph"] = "line"
    skip_blank: bool = False
    comment: bytes | None = None

    @property
    def takes_every_line(self) -> bool:
        """Whether each line is a record."""
        return self.record == "line" and not self.skip_blank and self.comment is None


@dataclass(frozen=True, slots=True)
class LineScan:
    """What one block of a file says of the lines that start in it.

    ``first_start``: offset in the file of the first one, -1 for none; ``num_left_out`` of
    the ``num_lines`` are no records. A line can be blank to the end of its block and beyond:
    with ``is_open`` the last one is, and not counted as left out. ``head_is_blank`` says what
    becomes of such a line of the blocks before: blank to its end in this block or not, or
    None if all of this block is blank too.
    """

    first_start: int
    num_lines: int
    num_left_out: int
    is_open: bool = False
    head_is_blank: bool | None = None


def block_window(
    block: int, data_start: int, num_bytes: int, rules: RecordRules
) -> tuple[int, int]:
    """Return which bytes of the file `scan_block` wants: the block, one before, some behind.

    Those behind show how a comment or CRLF goes on.
    """
    block_bytes = csv_scanning.BLOCK_BYTES
    behind = max(int(rules.skip_blank), len(rules.comment or b"") - 1)
    start = max(data_start, block * block_bytes - 1)
    return start, min((block + 1) * block_bytes + behind, num_bytes)


def scan_block(  # noqa: PLR0917  (as `block_window`, with the bytes in front)
    window: bytes, start: int, block: int, data_start: int, num_bytes: int, rules: RecordRules
) -> LineScan:
    """Look at one block. ``window``: the bytes of `block_window`, which begin at ``start``."""
    own = max(block * csv_scanning.BLOCK_BYTES, data_start)
    begin, stop = own - start, min((block + 1) * csv_scanning.BLOCK_BYTES, num_bytes) - start
    at_end = start + stop == num_bytes
    head = _is_blank(window, begin, stop, at_end=at_end) if rules.skip_blank else None
    # A line that starts in the block has its line end before it; the file's first has none.
    first = begin if own == data_start else window.find(b"\n", begin - 1, stop - 1) + 1
    if first >= stop or (first == 0 and own != data_start):
        return LineScan(-1, 0, 0, head_is_blank=head)
    last = max(window.rfind(b"\n", first, stop - 1) + 1, first)
    num_lines = window.count(b"\n", first, last) + 1
    if rules.takes_every_line:
        return LineScan(start + first, num_lines, 0)
    num_left_out = int(np.count_nonzero(_left_out(window[first:last], rules)))
    is_open = False
    if rules.comment is not None and window.startswith(rules.comment, last):
        num_left_out += 1
    elif rules.skip_blank:
        is_blank = _is_blank(window, last, stop, at_end=at_end)
        is_open = is_blank is None
        num_left_out += bool(is_blank)
    return LineScan(start + first, num_lines, num_left_out, is_open, head)


def _is_blank(window: bytes, begin: int, stop: int, *, at_end: bool) -> bool | None:
    """Say whether a line is blank from ``begin`` on; None if it may go on behind ``stop``."""
    end = window.find(b"\n", begin, stop)
    text = window[begin : end if end >= 0 else stop].lstrip(_BLANKS)
    if end < 0 and not at_end:
        return None if not text else text == b"\r" and window[stop : stop + 1] == b"\n"
    return not text or (text == b"\r" and end >= 0)


def ranges_of(scans: Sequence[LineScan], data_start: int, num_bytes: int) -> list[Range]:
    """Put a file's blocks together: one range per block in which lines start."""
    found: list[LineScan] = []
    for scan in scans:
        if found and found[-1].is_open and scan.head_is_blank is not None:
            num_left_out = found[-1].num_left_out + scan.head_is_blank
            found[-1] = dataclasses.replace(found[-1], num_left_out=num_left_out, is_open=False)
        if scan.num_lines:
            found.append(scan)
    assert not found or found[0].first_start == data_start
    stops = [*(scan.first_start for scan in found[1:]), num_bytes][: len(found)]
    return [
        Range(scan.first_start, stop, scan.num_lines, scan.num_left_out)
        for scan, stop in zip(found, stops, strict=True)
    ]


def stream_ranges(
    blocks: Iterator[bytes], data_start: int, rules: RecordRules
) -> Iterator[tuple[bytes, Range]]:
    """Yield each range of a stream with its bytes.

    ``blocks``: the stream from its start, cut anywhere. Lines are put into the ranges of
    `ranges_of`. A range of paragraphs goes from the first one that starts in a block to the
    first one that starts in a later block; the first range from ``data_start``. Of its
    ``num_rows`` lines all are ``num_blank`` but one per paragraph.
    """
    behind = text_from(blocks, data_start)
    if rules.record == "paragraph":
        return _paragraph_ranges(behind, data_start)
    return _line_ranges(behind, data_start, rules)


def text_from(blocks: Iterator[bytes], offset: int) -> Iterator[bytes]:
    """Yield content that comes in blocks from an offset on."""
    for block in blocks:
        if offset < len(block):
            yield block[offset:]
        offset = max(offset - len(block), 0)


def _line_ranges(
    blocks: Iterator[bytes], start: int, rules: RecordRules
) -> Iterator[tuple[bytes, Range]]:
    pieces: list[bytes] = []
    offset = start
    for block in blocks:
        position = 0
        while True:  # one round per range
            # A line that starts in a later block has its line end here or behind.
            border = (start // csv_scanning.BLOCK_BYTES + 1) * csv_scanning.BLOCK_BYTES - 1
            end = block.find(b"\n", max(border - offset, position)) + 1
            if not end:
                break
            pieces.append(block[position:end])
            yield _lines_closed(start, pieces, rules)
            position, start = end, offset + end
        pieces.append(block[position:])
        offset += len(block)
    if offset > start:
        yield _lines_closed(start, pieces, rules)


def _lines_closed(start: int, pieces: list[bytes], rules: RecordRules) -> tuple[bytes, Range]:
    data = _taken(pieces)
    num_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    num_left_out = 0 if rules.takes_every_line else int(np.count_nonzero(_left_out(data, rules)))
    return data, Range(start, start + len(data), num_lines, num_left_out)


def _paragraph_ranges(blocks: Iterator[bytes], start: int) -> Iterator[tuple[bytes, Range]]:
    pieces: list[bytes] = []
    num_lines = num_paragraphs = 0
    offset = start
    block = -1  # that of the range; -1 before the first paragraph
    after_blank = True

    def closed() -> tuple[bytes, Range]:
        data = _taken(pieces)
        return data, Range(start, start + len(data), num_lines, num_lines - num_paragraphs)

    for lines in _whole_lines(blocks):
        starts, _ = _bounds(lines)
        is_text = ~_blank_lines(lines)
        opening = np.flatnonzero(is_text & ~np.append(not after_blank, is_text[:-1]))
        after_blank = not is_text[-1]
        cuts: list[int] = []
        if len(opening):
            blocks_of = (offset + starts[opening]) // csv_scanning.BLOCK_BYTES
            before = int(blocks_of[0]) if block < 0 else block
            cuts = opening[np.diff(blocks_of, prepend=before) != 0].tolist()
            block = int(blocks_of[-1])
        line = position = 0
        for cut in cuts:  # one round per range
            stop = int(starts[cut])
            pieces.append(lines[position:stop])
            num_lines += cut - line
            num_paragraphs += int(np.count_nonzero((opening >= line) & (opening < cut)))
            yield closed()
            pieces, num_lines, num_paragraphs, start = [], 0, 0, offset + stop
            line, position = cut, stop
        pieces.append(lines[position:])
        num_lines += len(starts) - line
        num_paragraphs += int(np.count_nonzero(opening >= line))
        offset += len(lines)
    if num_lines:
        yield closed()


def _taken(pieces: list[bytes]) -> bytes:
    """Return the pieces joined, and forget them: a long line must not be kept twice."""
    data = b"".join(pieces)
    pieces.clear()
    return data


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut content where lines end; none is empty."""
    pieces: list[bytes] = []
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*pieces, block[:end]])
            pieces = []
        pieces.append(block[end:])
    if rest := b"".join(pieces):
        yield rest


@dataclass(frozen=True, slots=True)
class Records:
    """The records of a range without their line ends, and how to get the line of each.

    ``lines``: returns the number of each record's first line, from 0 in the range.
    """

    values: pa.LargeBinaryArray
    lines: Callable[[], NDArray[np.int64]]


def records_of(data: bytes, rules: RecordRules) -> Records:
    """Return the records of a range. Line ends inside paragraphs stay as they are."""
    if rules.record == "paragraph":
        return _paragraphs(data)
    lines = _lines(data)
    if rules.takes_every_line:
        return Records(lines, functools.partial(np.arange, len(lines), dtype=np.int64))
    kept = ~_left_out(data, rules)
    return Records(lines.filter(pa.array(kept)), lambda: np.flatnonzero(kept))


def _lines(data: bytes) -> pa.LargeBinaryArray:
    """Return the lines; splitting one value is as fast as any way, and the shortest."""
    data = _without_returns(data)
    lines = pc.split_pattern(_slices(data, np.array([0, len(data)])), "\n").flatten()
    # What is behind the last line end is a line only if there is something.
    return lines if data and not data.endswith(b"\n") else lines.slice(0, len(lines) - 1)


def _paragraphs(data: bytes) -> Records:
    starts, ends = _bounds(data)
    is_text = ~_blank_lines(data)
    first = np.flatnonzero(is_text & ~np.append(False, is_text[:-1]))
    last = np.flatnonzero(is_text & ~np.append(is_text[1:], False))
    bounds = np.stack([starts[first], ends[last]], axis=1).reshape(-1)
    values = _slices(data, bounds).take(pa.array(np.arange(0, 2 * len(first), 2)))
    return Records(values, lambda: first)


def _slices(data: bytes, bounds: NDArray[np.int64]) -> pa.LargeBinaryArray:
    """Return the bytes between the bounds as values, uncopied."""
    buffers = [None, pa.py_buffer(bounds.astype(np.int64)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), max(len(bounds) - 1, 0), buffers)


def _bounds(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where lines start, and where they stop without their line ends."""
    content = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(content == _LF)
    is_open = bool(data) and not data.endswith(b"\n")
    starts = np.append(0, ends + 1)[: len(ends) + is_open]
    if b"\r" in data:
        # The first byte has none before it: a line that ends there is empty.
        ends = ends - ((ends > 0) & (content[ends - 1] == _CR))
    return starts, np.append(ends, len(data)) if is_open else ends


def _left_out(data: bytes, rules: RecordRules) -> NDArray[np.bool_]:
    """Return which of the lines are no records (bool [num_lines])."""
    if rules.comment is None:
        return _blank_lines(data)
    starts, _ = _bounds(data)
    content = np.frombuffer(data + b"\n" * len(rules.comment), np.uint8)
    found = np.arange(len(starts))
    for index, byte in enumerate(rules.comment):
        found = found[content[starts[found] + index] == byte]
    left_out = _blank_lines(data) if rules.skip_blank else np.zeros(len(starts), np.bool_)
    left_out[found] = True
    return left_out


def _blank_lines(data: bytes) -> NDArray[np.bool_]:
    """Return which of the lines are blank (bool [num_lines]): empty without their blanks."""
    is_open = data and not data.endswith(b"\n")
    text = _without_returns(data).translate(None, _BLANKS)
    text = b"\n" + text + (b"\n" if is_open else b"")
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _LF)
    is_blank: NDArray[np.bool_] = np.diff(ends) == 1
    return is_blank


def _without_returns(data: bytes) -> bytes:
    """Return the text with LF for CRLF."""
    if b"\r" not in data:
        return data
    content = np.frombuffer(data, np.uint8)
    returns = content == _CR
    if returns[-1] or (returns[:-1] & (content[1:] != _LF)).any():
        return data.replace(b"\r\n", b"\n")
    return data.replace(b"\r", b"")  # twice as fast or more: one byte is looked for
