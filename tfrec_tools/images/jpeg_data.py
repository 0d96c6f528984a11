"""Whether the data of a JPEG are whole.

Decoders pass over a tail missing behind an end marker, or a zeroed middle, without a word.
Three signs tell of nearly all such damage:

* libjpeg-turbo's warnings, which simplejpeg's strict mode makes errors;
* bytes that are left over once all pixels are decoded (one of these warnings, too). They are
  harmless where they are padding, all of one value. Else the decoder has lost its place: of
  photographs of quality 95 with 500 bytes overwritten, 9 of 10 show nothing but this;
* a run of zero bytes that no encoder writes. Decoders read on there, and with bad luck (1 in
  10 at quality 90) come out at the very end.
"""

from __future__ import annotations

import re
import sys

import simplejpeg

from tfrec_tools.errors import RecordError
from tfrec_tools.images import pixels
from tfrec_tools.images.formats import Format
from tfrec_tools.images.jpeg import END_MARKER, START_OF_SCAN, JpegHeader, segments

_LEFT_OVER = re.compile(r"(\d+) extraneous bytes before marker 0x([0-9a-f]{2})", re.ASCII)
_RESTART = range(0xD0, 0xD8)
_APP0, _HUFFMAN_TABLES = 0xE0, 0xC4
_MAX_OVERSIGHTS = 8
"""So many harmless faults of one file are looked past; a file with more is damaged."""

_ZEROS = bytes(48)
"""At least two blocks of 63 equal coefficients each, where zeros stand for coefficients."""


def check_data(content: bytes, header: JpegHeader) -> str | None:
    """Decode at 1/8 scale and refuse every sign of lost pixels.

    Returns a remark about harmless damage, or None. Raises RecordError.
    """
    if content.find(_ZEROS, header.data_start) > 0 and _has_zeroed_data(content, header):
        raise RecordError("the JPEG data are damaged (a part is zeroed)")
    remark: str | None = None
    for _ in range(_MAX_OVERSIGHTS):
        warning = _first_warning(content, header)
        if warning is None:
            return remark
        if "subsampling" in warning:
            # Rare factors, which simplejpeg does not know. Pillow finds plain truncation at least.
            pixels.decoded(content, Format.JPEG, sys.maxsize)
            return remark
        mended = _mended(content, header, warning)
        if mended is None:
            raise _fault(warning)
        # Only the first warning is told: take away what it was about, and look on.
        found = _LEFT_OVER.search(warning)
        remark = remark or (
            f"{found[1]} superfluous bytes in the JPEG, which cost no pixels"
            if found
            else "an odd field in the JPEG's header, which costs no pixels"
        )
        content = mended
    raise RecordError("the JPEG data are damaged (pixels would be lost)")


def _first_warning(content: bytes, header: JpegHeader) -> str | None:
    try:
        simplejpeg.decode_jpeg(
            content,
            "CMYK" if header.num_components == 4 else "GRAY",
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


def _fault(warning: str) -> RecordError:
    """Return the fault that a warning or error of libjpeg's means, in our words."""
    if "Premature end of JPEG" in warning:
        return RecordError("the JPEG data end too early (truncated)")
    lost = ("premature end of data segment", "Huffman", "extraneous", "instead of RST")
    if any(words in warning for words in lost):
        return RecordError("the JPEG data are damaged (pixels would be lost)")
    return RecordError("the JPEG could not be decoded (damaged)")


def _mended(content: bytes, header: JpegHeader, warning: str) -> bytes | None:
    """Return the file without what ``warning`` is about, if that costs no pixels, else None."""
    if found := _LEFT_OVER.search(warning):
        return _without_left_over(content, header, int(found[1]), int(found[2], 16))
    mended = bytearray(content)
    if "unknown JFIF revision" in warning:
        for _, body, marker in segments(content):
            if marker == _APP0 and content.startswith(b"JFIF\0", body + 2):
                mended[body + 7] = 1
    elif "Invalid SOS parameters for sequential" in warning:
        # Decoders take 0, 63 and 0, the only values such a file can have.
        for _, body, marker in segments(content):
            if marker == START_OF_SCAN:
                stop = body + int.from_bytes(content[body : body + 2], "big")
                mended[stop - 3 : stop] = b"\x00\x3f\x00"
    return bytes(mended) if mended != content else None


def _without_left_over(
    content: bytes, header: JpegHeader, number: int, before: int
) -> bytes | None:
    """Return the file without ``number`` bytes before a marker, if they were not data."""
    if before in _RESTART:
        return None
    previous, previous_stop = 0, 2
    for start, body, marker in segments(content):
        if marker == before:
            without = content[: start - number] + content[start:]
            if previous != START_OF_SCAN:
                if start - previous_stop >= number:
                    return without
            elif _is_left_over(content[:start] + END_MARKER, header, number):
                is_padding = len(set(content[start - number : start])) == 1
                return without if is_padding else None
        previous, previous_stop = marker, body + int.from_bytes(content[body : body + 2], "big")
    return None


def _is_left_over(content: bytes, header: JpegHeader, number: int) -> bool:
    """Say whether ``number`` bytes are left over at the end of the last scan."""
    found = _LEFT_OVER.search(_first_warning(content, header) or "")
    return found is not None and int(found[1]) == number


def _has_zeroed_data(content: bytes, header: JpegHeader) -> bool:
    """Say whether zeros stand where they would be long runs of one coefficient.

    The all-zero code means the first symbol of a Huffman table: the end of a block, so that
    zeros are flat areas, or a coefficient with bits of its own, as in the tables that most
    encoders use. Progressive files are not looked at: there, zeros may be refinements.
    """
    if header.process > 1:
        return False
    first_symbols: dict[int, int] = {}
    for _, body, marker in segments(content):
        stop = body + int.from_bytes(content[body : body + 2], "big")
        if marker == _HUFFMAN_TABLES:
            table = body + 2
            while table + 17 < stop:
                first_symbols[content[table]] = content[table + 17]
                table += 17 + sum(content[table + 1 : table + 17])
        elif marker == START_OF_SCAN:
            # Selectors of the AC tables, whose class is 1 in the upper half.
            selectors = content[body + 4 : stop - 3 : 2]
            coefficients = [first_symbols.get(0x10 | s & 0x0F, 0) & 0x0F for s in selectors]
            data_stop, _, _ = next(segments(content, stop), (len(content), 0, 0))
            # Zeros that follow the last bytes of the data may be padding: those are no sign.
            if any(coefficients) and _ZEROS in content[stop:data_stop].rstrip(b"\0"):
                return True
    return False
