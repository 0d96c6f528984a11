"""PNG files: what their header says, and whether their data are whole (PNG specification, 3rd ed.)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

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
PALETTE = 3
END_CHUNK = b"\0\0\0\0IEND\xaeB`\x82"


@dataclass(frozen=True, slots=True)
class PngHeader:
    """``has_alpha``: an alpha channel, or transparent colours (tRNS)."""

    height: int
    width: int
    depth: int
    color_type: int
    interlaced: bool
    has_alpha: bool
    animated: bool
    orientation: int
    has_end: bool


def _chunks(content: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield (type, start of its data, length) of the chunks that are all there."""
    offset = 8
    while offset + 12 <= len(content):
        length = int.from_bytes(content[offset : offset + 4], "big")
        if offset + 12 + length > len(content):
            return
        yield content[offset + 4 : offset + 8], offset + 8, length
        offset += 12 + length


def read_header(content: bytes) -> PngHeader:
    """Return what the chunks before the picture's data say. Raises RecordError."""
    if content[12:16] != b"IHDR" or len(content) < 33:
        raise RecordError("the PNG ends in its header (truncated)")
    width, height = (int.from_bytes(content[16 + 4 * i : 20 + 4 * i], "big") for i in (0, 1))
    depth, color_type, _, _, interlace = content[24:29]
    if not width or not height or depth not in _DEPTHS.get(color_type, ()):
        raise RecordError("the PNG's header is damaged")
    has_alpha = color_type in (4, 6)
    animated = False
    orientation = 1
    for kind, start, length in _chunks(content):
        if kind == b"tRNS":
            has_alpha = True
        elif kind == b"acTL":
            animated = True
        elif kind == b"eXIf":
            orientation = exif_orientation(content[start : start + length])
        elif kind == b"IDAT":
            break
    # Bytes behind the end are passed over by every decoder.
    has_end = content.endswith(END_CHUNK) or END_CHUNK in content[-(1 << 16) :]
    return PngHeader(
        height, width, depth, color_type, bool(interlace), has_alpha, animated, orientation, has_end
    )


def check_data(content: bytes, header: PngHeader) -> None:
    """Check every chunk's CRC and that the compressed data hold all rows. Raises RecordError."""
    data = []
    ended = has_palette = False
    for kind, start, length in _chunks(content):
        crc = int.from_bytes(content[start + length : start + length + 4], "big")
        if zlib.crc32(content[start - 4 : start + length]) != crc:
            raise RecordError("the PNG is damaged (a chunk's checksum is wrong)")
        if kind == b"IDAT":
            data.append(content[start : start + length])
        has_palette |= kind == b"PLTE"
        ended |= kind == b"IEND"
        if ended:
            break
    if not ended:
        raise RecordError("the PNG ends too early (truncated)")
    if header.color_type == PALETTE and not has_palette:
        raise RecordError("the PNG is damaged (its palette is missing)")
    expected = _data_bytes(header)
    try:
        inflater = zlib.decompressobj()
        # One byte more than can be right bounds what a hostile file makes us allocate.
        found = len(inflater.decompress(b"".join(data), expected + 1))
    except zlib.error:
        raise RecordError("the PNG is damaged (its compressed data are)") from None
    if found < expected:
        raise RecordError("the PNG is damaged (rows are missing)")


def _data_bytes(header: PngHeader) -> int:
    """Return how many bytes the rows have with their filter bytes."""
    bits = header.depth * _CHANNELS[header.color_type]

    def rows(height: int, width: int) -> int:
        return height * (1 + (width * bits + 7) // 8) if height and width else 0

    if not header.interlaced:
        return rows(header.height, header.width)
    return sum(
        rows(-(-(header.height - y) // dy), -(-(header.width - x) // dx))
        for y, x, dy, dx in _ADAM7
        if header.height > y and header.width > x
    )
