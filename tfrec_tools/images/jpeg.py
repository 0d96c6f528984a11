"""JPEG files: what their header says, and whether their data are whole.

The walk over the markers follows ITU-T T.81, annex B; the orientation is the EXIF tag
0x0112 in the first APP1 segment that holds EXIF.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

import simplejpeg

from tfrec_tools.errors import RecordError
from tfrec_tools.images import pixels
from tfrec_tools.images.formats import Format

_START_OF_FRAME = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_WITHOUT_LENGTH = frozenset({0x00, 0x01, *range(0xD0, 0xDA), 0xFF})  # 0xFF is a fill byte
_END = 0xD9
_END_MARKER = b"\xff\xd9"
_SEGMENT = struct.Struct(">BBH")  # 0xFF, marker, length
_FRAME = struct.Struct(">BHHB")  # precision, height, width, number of components
_NEXT_MARKER = re.compile(rb"\xff([^\x00\x01\xd0-\xd8\xff])", re.DOTALL)

_EXTRANEOUS = re.compile(r"(\d+) extraneous bytes before marker 0x([0-9a-f]{2})", re.ASCII)
_MAX_OVERSIGHTS = 8
"""So many harmless faults of one file are looked past; a file with more is damaged."""

_TAG_BYTES = {1: 1, 3: 2, 4: 4}  # TIFF's types BYTE, SHORT and LONG


class JpegHeader(NamedTuple):
    """``process``: the SOF marker's last nibble; 0 baseline, 1 extended, 2 progressive.

    ``orientation``: 1 to 8 from EXIF, 1 if there is none. ``has_end``: an end marker stands
    somewhere behind the start of the picture's data.
    """

    height: int
    width: int
    num_components: int
    precision: int
    process: int
    orientation: int
    has_end: bool


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
            elif marker == 0xDA:
                break
            offset += 2 + length
    except struct.error:  # beyond the end
        raise RecordError("the JPEG ends before its picture data (truncated)") from None
    if process < 0:
        raise RecordError("the JPEG has no frame header (damaged)")
    if not height or not width:
        raise RecordError("the JPEG has a height or width of 0 (damaged)")
    has_end = content.endswith(_END_MARKER) or content.rfind(_END_MARKER, offset) > 0
    return JpegHeader(height, width, num_components, precision, process, orientation or 1, has_end)


def _next_segment(content: bytes, offset: int) -> int:
    """Return where the next segment starts; decoders pass over bytes between two of them."""
    found = _NEXT_MARKER.search(content, offset)
    if found is None:
        raise RecordError("the JPEG ends before its picture data (truncated)")
    if content[found.start(1)] == _END:
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


def check_data(content: bytes, num_components: int) -> str | None:
    """Decode at 1/8 scale and refuse every warning that costs pixels.

    Decoders pass over a tail missing behind an end marker, or a zeroed middle, without a
    word; libjpeg-turbo's warnings, made errors by simplejpeg's strict mode, tell of nearly
    all of them. Returns a remark about harmless damage, or None. Raises RecordError.
    """
    remark: str | None = None
    for _ in range(_MAX_OVERSIGHTS):
        warning = _first_warning(content, num_components)
        if warning is None:
            return remark
        if "subsampling" in warning:
            # Rare factors, which simplejpeg does not know. Pillow finds plain truncation at least.
            pixels.decoded(content, Format.JPEG, sys.maxsize)
            return remark
        found = _EXTRANEOUS.search(warning)
        if found and int(found[2], 16) == _END:  # all data were read by then
            return remark or _superfluous(found[1])
        mended = _mended(content, num_components, warning)
        if mended is None:
            raise _fault(warning)
        # Only the first warning is told: take away what it was about, and look on.
        remark = remark or (
            _superfluous(found[1]) if found else "an odd field in the JPEG's header"
        )
        content = mended
    raise RecordError("the JPEG data are damaged (pixels would be lost)")


def _first_warning(content: bytes, num_components: int) -> str | None:
    try:
        simplejpeg.decode_jpeg(
            content,
            "CMYK" if num_components == 4 else "GRAY",
            fastdct=True,
            fastupsample=True,
            min_height=1,
            min_width=1,
            min_factor=8,
            strict=True,
        )
    except ValueError as error:
        return str(error)
    return None


def _superfluous(number: str) -> str:
    return f"{number} superfluous bytes in the JPEG data, which cost no pixels"


def _fault(warning: str) -> RecordError:
    """Return the fault that a warning or error of libjpeg's means, in our words."""
    if "Premature end of JPEG" in warning:
        return RecordError("the JPEG data end too early (truncated)")
    lost = ("premature end of data segment", "Huffman", "extraneous", "instead of RST")
    if any(words in warning for words in lost):
        return RecordError("the JPEG data are damaged (pixels would be lost)")
    return RecordError("the JPEG could not be decoded (damaged)")


def _mended(content: bytes, num_components: int, warning: str) -> bytes | None:
    """Return the file without what ``warning`` is about, if that costs no pixels, else None."""
    found = _EXTRANEOUS.search(warning)
    if found is not None:
        number, marker = int(found[1]), int(found[2], 16)
        if 0xD0 <= marker <= 0xD7:  # inside of the data: a piece was not decoded
            return None
        for start, _, code in _segments(content):
            if code == marker:
                mended = content[: start - number] + content[start:]
                if _first_warning(mended, num_components) != warning:
                    return mended
    elif "unknown JFIF revision" in warning:
        for _, body, code in _segments(content):
            if code == 0xE0 and content.startswith(b"JFIF\0", body + 2):
                return content[: body + 7] + b"\1" + content[body + 8 :]
    elif "Invalid SOS parameters for sequential" in warning:
        # Decoders take 0, 63 and 0, the only values such a file can have.
        parameters_set = bytearray(content)
        for _, body, code in _segments(content):
            if code == 0xDA:
                stop = body + int.from_bytes(content[body : body + 2], "big")
                parameters_set[stop - 3 : stop] = b"\x00\x3f\x00"
        return bytes(parameters_set)
    return None


def _segments(content: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (start with fill bytes, start of the length field, marker) of all segments."""
    offset = 2
    while found := _NEXT_MARKER.search(content, offset):
        start = found.start()
        while start > offset and content[start - 1] == 0xFF:
            start -= 1
        offset = found.end()
        yield start, offset, content[offset - 1]
        offset += int.from_bytes(content[offset : offset + 2], "big")
