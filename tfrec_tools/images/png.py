"""PNG files: what their header says, and whether their data are whole (PNG specification, 3rd ed.)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tfrec_tools.errors import RecordError
from tfrec_tools.images.jpeg import exif_orientation

_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_ADAM7 = (
    (0, 0, 8, 8),
    (0, 4, 8, 8),
    (4, 0, 8, 4),
    (0, 2, 4, 4),
    (2, 0, 4, 2),
    (0, 1, 2, 2),
    (1, 0, 2, 1),
)
_HEADER = struct.Struct(">4sIIBBBBB")  # IHDR, width, height, depth, colour type, three methods
_CHUNK = struct.Struct(">I4s")
_LAST_FILTER = 4
_INFLATED_BYTES = 1 << 20  # 1 MiB at a time: the pixels themselves are not needed
GREY = 0
RGB = 2
PALETTE = 3


class PngHeader(NamedTuple):
    """``has_alpha``: an alpha channel, or transparent colours (tRNS).

    ``transparent_grey``: the one transparent value of a grey picture. ``has_end``: every chunk
    is there, up to the one that marks the end.
    """

    height: int
    width: int
    depth: int
    color_type: int
    interlaced: bool
    has_alpha: bool
    transparent_grey: int | None
    animated: bool
    orientation: int
    has_end: bool


def _chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield (type, start of its data, length) of the chunks that are all there, IEND the last.

    Bytes behind it are passed over by every decoder.
    """
    offset, size = 8, len(content)
    while offset + 12 <= size:
        length, kind = _CHUNK.unpack_from(content, offset)
        if offset + 12 + length > size:
            return
        yield kind, offset + 8, length
        if kind == b"IEND":
            return
        offset += 12 + length


def read_header(content: bytes) -> PngHeader:
    """Return what the chunks say. Raises RecordError."""
    if len(content) < 33:
        raise RecordError("the PNG ends in its header (truncated)")
    kind, width, height, depth, color_type, *methods = _HEADER.unpack_from(content, 12)
    if kind == b"CgBI":
        raise RecordError("the PNG is in Apple's own form for iOS, which others cannot read")
    if kind != b"IHDR" or not width or not height or depth not in _DEPTHS.get(color_type, ()):
        raise RecordError("the PNG's header is damaged")
    compression, filtering, interlace = methods
    if compression or filtering or interlace > 1:
        raise RecordError("the PNG's header is damaged")
    has_alpha = color_type in (4, 6)
    transparent_grey = None
    animated = has_data = has_end = False
    orientation = 1
    for kind, start, length in _chunks(content):
        if kind == b"IDAT":
            has_data = True
        elif kind == b"tRNS" and not has_data:
            has_alpha = True
            if color_type == GREY:
                transparent_grey = int.from_bytes(content[start : start + length], "big")
        elif kind == b"acTL" and not has_data:
            animated = True
        elif kind == b"eXIf":
            orientation = exif_orientation(content[start : start + length])
        elif kind == b"IEND":
            has_end = True
    return PngHeader(
        height,
        width,
        depth,
        color_type,
        bool(interlace),
        has_alpha,
        transparent_grey,
        animated,
        orientation,
        has_end,
    )


def check_data(content: bytes, header: PngHeader) -> None:
    """Check every chunk's CRC and that the compressed data hold all rows. Raises RecordError."""
    inflater = zlib.decompressobj()
    rows = _RowCheck(header)
    view = memoryview(content)
    ended = has_palette = False
    for kind, start, length in _chunks(content):
        crc = int.from_bytes(content[start + length : start + length + 4], "big")
        if zlib.crc32(view[start - 4 : start + length]) != crc:
            raise RecordError("the PNG is damaged (a chunk's checksum is wrong)")
        if kind == b"IDAT" and not rows.complete:
            _inflate(inflater, view[start : start + length], rows)
        has_palette |= kind == b"PLTE"
        ended = kind == b"IEND"
    if not ended:
        raise RecordError("the PNG ends too early (truncated)")
    if header.color_type == PALETTE and not has_palette:
        raise RecordError("the PNG is damaged (its palette is missing)")
    if not rows.complete:
        raise RecordError("the PNG is damaged (rows are missing)")


def _inflate(inflater: zlib._Decompress, data: memoryview | bytes, rows: _RowCheck) -> None:
    """Inflate a piece of the data, a little at a time, until all rows are there."""
    try:
        while not rows.complete:
            inflated = inflater.decompress(data, _INFLATED_BYTES)
            if not inflated:
                return
            rows.add(inflated)
            data = inflater.unconsumed_tail
    except zlib.error:
        raise RecordError("the PNG is damaged (its compressed data are)") from None


class _RowCheck:
    """Counts the inflated bytes, and looks at the filter byte that every row begins with."""

    def __init__(self, header: PngHeader) -> None:
        bits = header.depth * _CHANNELS[header.color_type]
        steps = _ADAM7 if header.interlaced else ((0, 0, 1, 1),)
        self._passes: list[tuple[int, int]] = []  # bytes, bytes per row
        for y, x, dy, dx in steps:
            height = -(-(header.height - y) // dy) if header.height > y else 0
            width = -(-(header.width - x) // dx) if header.width > x else 0
            if height and width:
                stride = 1 + (width * bits + 7) // 8
                self._passes.append((height * stride, stride))
        self._passes.reverse()
        self._offset = 0  # in the pass that is the last of the list

    @property
    def complete(self) -> bool:
        """Whether all rows were there."""
        return not self._passes

    def add(self, inflated: bytes) -> None:
        """Take the next bytes; those behind the last row are passed over, as decoders do."""
        while inflated and self._passes:
            num_bytes, stride = self._passes[-1]
            piece = inflated[: num_bytes - self._offset]
            filters = np.frombuffer(piece, np.uint8)[-self._offset % stride :: stride]
            if len(filters) and int(filters.max()) > _LAST_FILTER:
                raise RecordError("the PNG is damaged (a row has no known filter)")
            inflated = inflated[len(piece) :]
            self._offset += len(piece)
            if self._offset == num_bytes:
                self._passes.pop()
                self._offset = 0
