"""Draws pictures and the files that hold them, with every oddity that real folders have."""

from __future__ import annotations

import io
import itertools
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import simplejpeg
import tensorflow as tf
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]

GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
ADAM7 = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2),
         (1, 0, 2, 1))  # fmt: skip


def photo(height: int = 48, width: int = 64, seed: int = 0) -> Pixels:
    """Return RGB pixels with the statistics of a photograph.

    Structure at all scales, the finer the weaker, much the same in all channels; edges.
    """
    generator = np.random.default_rng(seed)
    pixels = np.zeros((height, width, 3))
    for scale in (64, 32, 16, 8, 4, 2, 1):
        grid = (-(-width // scale) + 1, -(-height // scale) + 1)
        for channels, weight in ((slice(None), 1.0), (0, 0.3), (2, 0.3)):
            coarse = Image.fromarray(generator.normal(0, 1, grid[::-1]).astype(np.float32))
            fine = np.asarray(coarse.resize((width, height), Image.Resampling.BILINEAR))
            pixels[:, :, channels] += (weight * scale**0.8 * fine).reshape(
                (height, width, 1) if channels == slice(None) else (height, width)
            )
    pixels = 120 + 2 * pixels
    top, left = generator.integers(0, height), generator.integers(0, width)
    pixels[top : top + height // 4, left : left + width // 4] += generator.integers(-90, 90, 3)
    return pixels.clip(0, 255).astype(np.uint8)


def save(image: Image.Image | NDArray[Any], file_format: str, **options: Any) -> bytes:
    """Return the picture as a file of Pillow's."""
    stream = io.BytesIO()
    if not isinstance(image, Image.Image):
        image = Image.fromarray(image)
    image.save(stream, file_format, **options)
    return stream.getvalue()


def jpeg(
    pixels: NDArray[Any] | Image.Image, orientation: int | None = None, **options: Any
) -> bytes:
    """Return a JPEG, with an EXIF orientation if asked for."""
    if orientation is not None:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif
    return save(pixels, "JPEG", **{"quality": 90, **options})


def turned(pixels: NDArray[Any], orientation: int) -> NDArray[Any]:
    """Return the pixels as EXIF says they are to be shown, by its table of rows and columns."""
    flipped = {2: (0, 1), 3: (1, 1), 4: (1, 0), 5: (0, 0), 6: (0, 1), 7: (1, 1), 8: (1, 0)}
    if orientation == 1:
        return pixels
    rows, columns = flipped[orientation]
    if orientation >= 5:
        pixels = np.swapaxes(pixels, 0, 1)
    return pixels[:: -1 if rows else 1, :: -1 if columns else 1]


def ycck_jpeg(cmyk: Pixels) -> bytes:
    """Return a JPEG in YCCK, inverted as Adobe's programs store it."""
    data = simplejpeg.encode_jpeg(
        np.ascontiguousarray(255 - cmyk), quality=95, colorspace="CMYK", colorsubsampling="444"
    )
    return bytes(data)


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a PNG chunk."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def packed_rows(values: NDArray[Any], depth: int) -> list[bytes]:
    """Return rows of samples ([height, width] or [height, width, channels]) at a bit depth."""
    rows = values.reshape(len(values), -1)
    if depth == 16:
        return [row.astype(">u2").tobytes() for row in rows]
    bits = (rows[:, :, np.newaxis] >> np.arange(depth - 1, -1, -1)) & 1
    return [np.packbits(row.reshape(-1)).tobytes() for row in bits.astype(np.uint8)]


def png(
    values: NDArray[Any],
    depth: int = 8,
    color_type: int = GREY,
    *chunks: bytes,
    interlaced: bool = False,
) -> bytes:
    """Return a PNG with exactly these samples; ``chunks`` stand before the data."""
    height, width = values.shape[:2]
    if interlaced:
        passes = [values[y::dy, x::dx] for y, x, dy, dx in ADAM7]
        rows = itertools.chain.from_iterable(
            packed_rows(part, depth) for part in passes if part.shape[0] and part.shape[1]
        )
    else:
        rows = iter(packed_rows(values, depth))
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return png_of(width, height, depth, color_type, *chunks, chunk(b"IDAT", data),
                  interlace=int(interlaced))  # fmt: skip


def png_of(
    width: int, height: int, depth: int, color_type: int, *chunks: bytes, interlace: int = 0
) -> bytes:
    """Return a PNG of a header, these chunks and an end."""
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, interlace)
    parts = [chunk(b"IHDR", header), *chunks, chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def palette_chunk(colors: NDArray[Any]) -> bytes:
    """Return the palette of colours [n, 3]."""
    return chunk(b"PLTE", colors.astype(np.uint8).tobytes())


def bmp(values: NDArray[Any], depth: int, palette: NDArray[Any]) -> bytes:
    """Return a BMP with palette indices of 1, 4 or 8 bits."""
    height, width = values.shape
    rows = [row.ljust(-(-len(row) // 4) * 4, b"\0") for row in packed_rows(values, depth)]
    data = b"".join(rows[::-1])
    table = b"".join(bytes([b, g, r, 0]) for r, g, b in palette.tolist())
    start = 54 + len(table)
    header = b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start)
    info = struct.pack(
        "<IiiHHIIiiII", 40, width, height, 1, depth, 0, len(data), 0, 0, len(palette), 0
    )
    return header + info + table + data


def tiff(data: bytes, tags: dict[int, int | tuple[int, ...]]) -> bytes:
    """Return a TIFF of one strip; ``tags``: width 256, height 257, bits 258 and so on."""
    entries = {259: 1, 262: 1, 277: 1, 278: tags[257], 279: len(data), **tags}
    start = 8 + 2 + 12 * (len(entries) + 1) + 4
    extra = b""
    for value in entries.values():
        if isinstance(value, tuple) and len(value) * 2 > 4:
            extra += struct.pack(f"<{len(value)}H", *value)
    entries[273] = start + len(extra)
    directory, used = struct.pack("<H", len(entries)), 0
    for tag, value in sorted(entries.items()):
        if isinstance(value, tuple):
            packed = struct.pack(f"<{len(value)}H", *value)
            if len(packed) > 4:
                field = struct.pack("<I", start + used)
                used += len(packed)
            else:
                field = packed.ljust(4, b"\0")
            directory += struct.pack("<HHI", tag, 3, len(value)) + field
        else:
            directory += struct.pack("<HHII", tag, 4, 1, value)
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", 0) + extra + data


def pillow_pixels(content: bytes, mode: str = "RGB") -> Pixels:
    """Return what Pillow decodes."""
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert(mode))


def tensorflow_pixels(content: bytes, channels: int = 3) -> Pixels:
    """Return what TensorFlow's readers decode, the slow and exact way where there are two."""
    if content.startswith(b"\xff\xd8"):
        decoded = tf.io.decode_jpeg(content, channels=channels, dct_method="INTEGER_ACCURATE")
    else:
        decoded = tf.io.decode_png(content, channels=channels)
        image = tf.io.decode_image(content, channels=channels, expand_animations=False)
        assert np.array_equal(decoded, image)
    return np.asarray(decoded)


def inserted(content: bytes, offset: int, more: bytes) -> bytes:
    """Return the content with more bytes at ``offset``."""
    return content[:offset] + more + content[offset:]


def segment(marker: int, data: bytes) -> bytes:
    """Return a JPEG segment."""
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg_segments(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield (marker, offset of its 0xFF) of the segments up to the picture's data."""
    offset = 2
    while True:
        marker = content[offset + 1]
        yield marker, offset
        if marker == 0xDA:
            return
        offset += 2 + int.from_bytes(content[offset + 2 : offset + 4], "big")


def offset_of(content: bytes, marker: int) -> int:
    """Return where the first segment with this marker starts."""
    return next(offset for found, offset in jpeg_segments(content) if found == marker)


def resized_header(content: bytes, height: int, width: int) -> bytes:
    """Return a JPEG whose frame header claims another size."""
    offset = next(o for m, o in jpeg_segments(content) if 0xC0 <= m <= 0xC2) + 5
    return content[:offset] + struct.pack(">HH", height, width) + content[offset + 4 :]


def flat_jpeg(*factors: int) -> bytes:
    """Return a mid-grey JPEG of 48 x 48 pixels with any sampling factors, written bit by bit."""
    blocks = [(factor >> 4) * (factor & 15) for factor in factors]
    widest, highest = max(f >> 4 for f in factors), max(f & 15 for f in factors)
    num_units = -(-48 // (8 * widest)) * -(-48 // (8 * highest))
    # One table for all: code 0 is a DC difference of 0 bits, code 0 of AC is the end of a block.
    bits = "00" * sum(blocks) * num_units
    bits += "1" * (-len(bits) % 8)
    data = int(bits, 2).to_bytes(len(bits) // 8, "big")
    table = bytes([1] + [0] * 15) + b"\0"
    frame = struct.pack(">BHHB", 8, 48, 48, 3)
    scan = b"\x03"
    for number, factor in enumerate(factors, start=1):
        frame += bytes([number, factor, 0])
        scan += bytes([number, 0])
    return (
        b"\xff\xd8"
        + segment(0xDB, b"\0" + b"\x10" * 64)
        + segment(0xC0, frame)
        + segment(0xC4, b"\0" + table)
        + segment(0xC4, b"\x10" + table)
        + segment(0xDA, scan + b"\0\x3f\0")
        + data
        + b"\xff\xd9"
    )
