"""Where the records of a CSV file begin, found a block at a time by a vectorised quote pass.

Blocks are 4 MiB and are looked at independently: nobody knows whether a block starts inside
a quoted cell before those in front of it were counted, so each is looked at under both
hypotheses, and the right one is chosen when they are put together. Counting quotes is exact
only if every quote stands where RFC 4180 allows one: an opening quote behind a delimiter,
line end, quote or the start; a closing one before a delimiter, line end, quote or the end.
Any other (one stray ``5" disk``) is a violation, and the file goes to the exact scanner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 4 << 20
"""Part of the dataset format: a record's position is counted from the start of its block."""

_LF, _CR = ord("\n"), ord("\r")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """What a block says if it starts outside (or inside) quotes.

    ``first_start``: offset in the file of the first record that starts in the block, -1 for
    none. ``num_starts``: how many start in it, ``num_blank`` of them blank lines.
    """

    first_start: int
    num_starts: int
    num_blank: int
    violated: bool


@dataclass(frozen=True, slots=True)
class BlockScan:
    """One block under both hypotheses. ``flips``: it holds an odd number of quotes."""

    outside: Hypothesis
    inside: Hypothesis
    flips: bool


@dataclass(frozen=True, slots=True)
class Range:
    """Consecutive records of a file: bytes ``start`` to ``stop``; blank lines counted apart."""

    start: int
    stop: int
    num_rows: int
    num_blank: int


def block_window(block: int, data_start: int, num_bytes: int) -> tuple[int, int]:
    """Return which bytes of the file `scan_block` wants: the block, one before, one behind.

    Block 0 starts at ``data_start``, behind the header.
    """
    start = max(data_start, block * BLOCK_BYTES - 1)
    return start, min((block + 1) * BLOCK_BYTES + 1, num_bytes)


def first_block(data_start: int) -> int:
    """Return the block in which the data start."""
    return data_start // BLOCK_BYTES


def scan_block(
    window: bytes, start: int, block: int, *, delimiter: bytes, quote: bytes | None, is_last: bool
) -> BlockScan:
    """Look at one block. ``window``: the bytes of `block_window`, which begin at ``start``."""
    first = max(block * BLOCK_BYTES, start)
    # What is looked at is the window with a line end put before the data's start and behind
    # the file's end, so that every byte has neighbours.
    data = np.frombuffer(
        (b"" if start < first else b"\n") + window + (b"\n" if is_last else b""), dtype=np.uint8
    )
    # data[0] is the byte at first - 1; the last one only serves as a neighbour.
    quotes = np.flatnonzero(data[1:-1] == quote[0]) + 1 if quote else np.empty(0, np.int64)
    ends = _line_ends(data, has_returns=b"\r" in window)
    # A record that starts at the last byte is the next block's; at the file's end is none.
    ends = ends[ends + 2 < len(data)]
    blank = np.isin(data[ends + 1], (_LF, _CR))  # whether the record behind the line end is blank
    is_inside = (np.searchsorted(quotes, ends) & 1).astype(bool) if len(quotes) else None
    wrong = _violations(data, quotes, delimiter) if len(quotes) else (False, False)

    def hypothesis(*, inside: bool) -> Hypothesis:
        if is_inside is None:
            taken = ends[:0] if inside else ends
            num_blank = 0 if inside else int(np.count_nonzero(blank))
            violated = False
        else:
            here = is_inside if inside else ~is_inside
            taken = ends[here]
            num_blank = int(np.count_nonzero(blank[here]))
            violated = bool(wrong[int(inside)])
        num_starts = len(taken)
        first_start = first + int(taken[0]) if num_starts else -1
        return Hypothesis(first_start, num_starts, num_blank, violated)

    return BlockScan(
        outside=hypothesis(inside=False),
        inside=hypothesis(inside=True),
        flips=bool(len(quotes) & 1),
    )


def _line_ends(data: NDArray[np.uint8], *, has_returns: bool) -> NDArray[np.int64]:
    """Return where lines end, the last byte of each end; the last byte of ``data`` left out."""
    inner = data[:-1]
    is_end = inner == _LF
    if has_returns:
        returns = np.flatnonzero(inner == _CR)
        is_end[returns[data[returns + 1] != _LF]] = True
    return np.flatnonzero(is_end)


def _violations(
    data: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: bytes
) -> tuple[bool, bool]:
    """Say whether a quote stands where none may, if the block starts outside or inside quotes."""
    allowed = np.zeros(256, dtype=bool)
    allowed[[_LF, _CR, delimiter[0], data[quotes[0]]]] = True
    can_open, can_close = allowed[data[quotes - 1]], allowed[data[quotes + 1]]
    return (
        not (can_open[::2].all() and can_close[1::2].all()),
        not (can_open[1::2].all() and can_close[::2].all()),
    )


def ranges_of(
    scans: Sequence[BlockScan], data_start: int, num_bytes: int
) -> tuple[list[Range], bool]:
    """Put a file's blocks together: its ranges, and whether they are exact.

    They are not if a quote stands where none may, or one is open at the end of the file.
    """
    inside = False
    found: list[tuple[int, Hypothesis]] = []
    for scan in scans:
        chosen = scan.inside if inside else scan.outside
        if chosen.violated:
            return [], False
        if chosen.num_starts:
            found.append((chosen.first_start, chosen))
        inside ^= scan.flips
    if inside:
        return [], False
    stops = [*(start for start, _ in found[1:]), num_bytes][: len(found)]
    ranges = [
        Range(start, stop, chosen.num_starts, chosen.num_blank)
        for (start, chosen), stop in zip(found, stops, strict=True)
    ]
    assert not ranges or ranges[0].start == data_start
    return ranges, True


def row_numbers(data: bytes, *, quote: bytes | None, skip_blank: bool) -> NDArray[np.int64]:
    """Return for each record of a range which row of the range it is, from 0.

    Rows are records and, with ``skip_blank``, the blank lines that are none.
    """
    padded = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    ends = _line_ends(padded, has_returns=b"\r" in data)
    if quote:
        quotes = np.flatnonzero(padded == quote[0])
        ends = ends[(np.searchsorted(quotes, ends) & 1) == 0]
    ends = ends[ends + 2 < len(padded)]
    rows = np.arange(len(ends), dtype=np.int64)
    return rows[~np.isin(padded[ends + 1], (_LF, _CR))] if skip_blank else rows


def stream_ranges(
    blocks: Iterator[bytes], data_start: int, *, delimiter: bytes, quote: bytes | None
) -> Iterator[tuple[bytes, Range]]:
    """Yield each range of a stream with its bytes, as `ranges_of` would cut a file of them.

    ``blocks``: the stream from its start, cut at multiples of BLOCK_BYTES. Raises
    `NotExactError` where `ranges_of` would say False.
    """
    inside = False
    pending: list[bytes] = []
    open_range: tuple[int, Hypothesis] | None = None
    previous = b""
    offset = 0
    skipped = first_block(data_start)
    current = next(blocks, b"")
    for block in range(1 << 62):
        behind = next(blocks, b"")
        if block >= skipped and current:
            begin = max(data_start, offset - len(previous))
            window = (previous + current)[begin - (offset - len(previous)) :] + behind[:1]
            is_last = not behind
            scan = scan_block(
                window, begin, block, delimiter=delimiter, quote=quote, is_last=is_last
            )
            chosen = scan.inside if inside else scan.outside
            if chosen.violated:
                raise NotExactError
            inside ^= scan.flips
            body = current[max(data_start - offset, 0) :]
            body_start = max(data_start, offset)
            if chosen.num_starts:
                cut = chosen.first_start - body_start
                if open_range is not None:
                    pending.append(body[:cut])
                    yield _closed(open_range, pending)
                    body = body[cut:]
                pending, open_range = [], (chosen.first_start, chosen)
            pending.append(body)
        offset += len(current)
        previous, current = current[-1:], behind
        if not current:
            break
    if inside:
        raise NotExactError
    if open_range is not None:
        yield _closed(open_range, pending)


def _closed(open_range: tuple[int, Hypothesis], pieces: list[bytes]) -> tuple[bytes, Range]:
    start, chosen = open_range
    data = b"".join(pieces)
    return data, Range(start, start + len(data), chosen.num_starts, chosen.num_blank)


class NotExactError(Exception):
    """A stream breaks the quoting rules, or ends inside quotes."""
