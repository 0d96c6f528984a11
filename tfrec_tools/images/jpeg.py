"""JPEG files: what their header says, and whether their data are whole.

The walk over the markers follows ITU-T T.81, annex B; the orientation is the EXIF tag
0x0112 in the first APP1 segment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import simplejpeg

from tfrec_tools.errors import RecordError

_STANDALONE = frozenset({0x01, *range(0xD0, 0xD9)})
_START_OF_FRAME = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_EXTRANEOUS = re.compile(r"(\d+) extraneous bytes? before marker", re.ASCII)


@dataclass(frozen=True, slots=True)
class JpegHeader:
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
    offset = 2
    orientation = 1
    frame: tuple[int, int, int, int, int] | None = None
    size = len(content)
    while True:
        while offset < size and content[offset] != 0xFF:
            offset += 1  # bytes between segments: decoders pass over them
        while offset < size and content[offset] == 0xFF:
            offset += 1
        if offset + 3 > size:
            raise RecordError("the JPEG ends before its picture data (truncated)")
        marker = content[offset]
        offset += 1
        if marker in _STANDALONE:
            continue
        if marker == 0xD9:
            raise RecordError("the JPEG ends before its picture data (it has none)")
        length = int.from_bytes(content[offset : offset + 2], "big")
        if length < 2 or offset + length > size:
            raise RecordError("the JPEG ends before its picture data (truncated)")
        if marker in _START_OF_FRAME:
            if length < 8:
                raise RecordError("the JPEG's frame header is damaged")
            frame = (
                marker & 0x0F,
                content[offset + 2],
                int.from_bytes(content[offset + 3 : offset + 5], "big"),
                int.from_bytes(content[offset + 5 : offset + 7], "big"),
                content[offset + 7],
            )
        elif marker == 0xE1 and content[offset + 2 : offset + 8] == b"Exif\0\0":
            orientation = exif_orientation(content[offset + 8 : offset + length])
        elif marker == 0xDA:
            break
        offset += length
    if frame is None:
        raise RecordError("the JPEG has no frame header (damaged)")
    process, precision, height, width, num_components = frame
    if not height or not width:
        raise RecordError("the JPEG has a height or width of 0 (damaged)")
    has_end = content.endswith(b"\xff\xd9") or content.rfind(b"\xff\xd9") > offset
    return JpegHeader(height, width, num_components, precision, process, orientation, has_end)


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
            value = number(entry + 8, 2)
            return value if 1 <= value <= 8 else 1
    return 1


def check_data(content: bytes, num_components: int) -> str | None:
    """Decode at 1/8 scale and refuse every warning that costs pixels.

    Decoders pass over a tail missing behind an end marker, or a zeroed middle, without a
    word; libjpeg-turbo's warnings, made errors by simplejpeg's strict mode, tell of nearly
    all of them. Returns a remark about harmless damage, or None. Raises RecordError.
    """
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
        return _remark_or_fault(str(error))
    return None


def _remark_or_fault(message: str) -> str:
    """Return the remark that a warning of libjpeg's means, or raise the fault it means."""
    if found := _EXTRANEOUS.search(message):
        return f"{found[1]} superfluous bytes in the JPEG data, which cost no pixels"
    if "Premature end of JPEG" in message:
        raise RecordError("the JPEG data end too early (truncated)") from None
    if "premature end of data segment" in message or "Huffman" in message:
        raise RecordError("the JPEG data are damaged (pixels would be lost)") from None
    raise RecordError(
        f"the JPEG data are damaged ({message.partition(': ')[2] or message})"
    ) from None
