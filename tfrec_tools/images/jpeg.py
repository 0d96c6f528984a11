"""JPEG files: what their header says.

The walk over the markers follows ITU-T T.81, annex B; the orientation is the EXIF tag
0x0112 in the first APP1 segment that holds EXIF.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from tfrec_tools.errors import RecordError

_START_OF_FRAME = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_WITHOUT_LENGTH = frozenset({0x00, 0x01, *range(0xD0, 0xDA), 0xFF})  # 0xFF is a fill byte
START_OF_SCAN = 0xDA
END = 0xD9
END_MARKER = b"\xff\xd9"
_SEGMENT = struct.Struct(">BBH")  # 0xFF, marker, length
_FRAME = struct.Struct(">BHHB")  # precision, height, width, number of components
_NEXT_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd8\xff])", re.DOTALL)

_TAG_BYTES = {1: 1, 3: 2, 4: 4}  # TIFF's types BYTE, SHORT and LONG


class JpegHeader(NamedTuple):
    """``process``: the SOF marker's last nibble; 0 baseline, 1 extended, 2 progressive.

    ``orientation``: 1 to 8 from EXIF, 1 if there is none. ``has_end``: an end marker stands
    somewhere behind ``data_start``, where the picture's data begin.
    """

    height: int
    width: int
    num_components: int
    precision: int
    process: int
    orientation: int
    has_end: bool
    data_start: int


def read_header(content: bytes) -> JpegHeader:
    """Return what the segments before the picture's data say. Raises RecordError."""
    # Every file passes here, many have 1 KB: one call into C per segment.
    segment_at = _SEGMENT.unpack_from
    offset = 2
    orientation = 0
    process = -1
    precision = height = width = num_components = 0
    try:
        while True:
            prefix, marker, length = segment_at(content, offset)
            if prefix != 0xFF or marker in _WITHOUT_LENGTH:
                offset = _next_segment(content, offset)
                continue
            if length < 2:
                raise RecordError("the JPEG has a segment without length (damaged)")
            if marker in _START_OF_FRAME:
                process = marker & 0x0F
                precision, height, width, num_components = _FRAME.unpack_from(content, offset + 4)
            elif marker == 0xE1 and not orientation:
                if content.startswith(b"Exif\0\0", offset + 4):
                    orientation = exif_orientation(content[offset + 10 : offset + 2 + length])
            elif marker == START_OF_SCAN:
                break
            offset += 2 + length
    except struct.error:  # beyond the end
        what = "it has none" if content[offset:] == END_MARKER else "truncated"
        raise RecordError(f"the JPEG ends before its picture data ({what})") from None
    if process < 0:
        raise RecordError("the JPEG has no frame header (damaged)")
    if not height or not width:
        raise RecordError("the JPEG has a height or width of 0 (damaged)")
    has_end = content.endswith(END_MARKER) or content.rfind(END_MARKER, offset) > 0
    return JpegHeader(
        height,
        width,
        num_components,
        precision,
        process,
        orientation or 1,
        has_end,
        offset + 2 + length,
    )


def _next_segment(content: bytes, offset: int) -> int:
    """Return where the next segment starts; decoders pass over bytes between two of them."""
    found = _NEXT_MARKER.search(content, offset)
    if found is None:
        raise RecordError("the JPEG ends before its picture data (truncated)")
    if content[found.start(1)] == END:
        raise RecordError("the JPEG ends before its picture data (it has none)")
    return found.start(1) - 1


def exif_orientation(tiff: bytes) -> int:
    """Return the orientation (1 to 8) in a TIFF block as EXIF has it; 1 if it says none."""
    order = {b"II": "little", b"MM": "big"}.get(tiff[:2])
    if order is None:
        return 1

    def number(start: int, length: int) -> int:
        return int.from_bytes(tiff[start : start + length], order)  # type: ignore[arg-type]

    directory = number(4, 4)
    for index in range(min(number(directory, 2), 512)):
        entry = directory + 2 + 12 * index
        if number(entry, 2) == 0x0112:
            value = number(entry + 8, _TAG_BYTES.get(number(entry + 2, 2), 2))
            return value if 1 <= value <= 8 else 1
    return 1


def segments(content: bytes, offset: int = 2) -> Iterator[tuple[int, int, int]]:
    """Yield (start with fill bytes, start of the length field, marker) of the segments.

    The picture's data, which follow a segment with the marker 0xDA, belong to none. The last
    one is the end marker, if there is one.
    """
    while found := _NEXT_MARKER.search(content, offset):
        start = found.start()
        while start > offset and content[start - 1] == 0xFF:
            start -= 1
        offset = found.end()
        yield start, offset, content[offset - 1]
        if content[offset - 1] == END:
            return
        offset += int.from_bytes(content[offset : offset + 2], "big")
