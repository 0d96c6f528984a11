"""Masks: one whole number per pixel, kept exactly, stored as a grey PNG of 8 or 16 bits.

TensorFlow decodes a palette PNG to its colours and scales grey of less than 8 bits; stored
as plain grey, the numbers themselves come back.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tfrec_tools.errors import RecordError
from tfrec_tools.images import pixels, png
from tfrec_tools.images.formats import Format, image_format
from tfrec_tools.images.preparing import PreparedImage
from tfrec_tools.request import Check
from tfrec_tools.schema import MaskFeature

Numbers: TypeAlias = NDArray[np.integer[Any] | np.bool_]

_BITS = {"uint8": 8, "uint16": 16}


def prepare_mask(content: bytes, feature: MaskFeature, check: Check) -> PreparedImage:
    """Return the mask as it is stored. Raises RecordError for what holds no exact numbers."""
    kind = image_format(content)
    if kind in (Format.JPEG, Format.WEBP):
        raise RecordError(f"a mask must keep its values exactly ({kind.name} does not); use PNG")
    if kind is Format.PNG:
        header = png.read_header(content)
        pixels.check_num_pixels(header.height, header.width, feature.max_pixels)
        if not header.has_end:
            raise RecordError("the PNG ends too early (truncated)")
        size = header.height, header.width
        resize = feature.resize is not None and feature.resize.target_size(*size) != size
        kept = header.color_type == 0 and header.depth == _BITS[feature.dtype] and not resize
        if check is Check.DECODE or not kept:
            png.check_data(content, header)
        if kept:
            return PreparedImage(content, *size, "png", size)
    return _stored_anew(content, kind, feature)


def _stored_anew(content: bytes, kind: Format, feature: MaskFeature) -> PreparedImage:
    from PIL import Image as pil

    picture = pixels.decoded(content, kind, feature.max_pixels)
    numbers = _numbers(picture, kind, content)
    _check_range(numbers, feature.dtype)
    size = numbers.shape[0], numbers.shape[1]
    if feature.resize is not None:
        target = feature.resize.target_size(*size)
        pixels.check_target_size(*target, feature.max_pixels)
        numbers = _nearest(numbers, *target)
    stored = pixels.encoded_png(pil.fromarray(numbers.astype(feature.dtype)))
    height, width = numbers.shape
    return PreparedImage(stored, height, width, "png", size, recoded=True)


def _numbers(picture: pixels.Picture, kind: Format, content: bytes) -> Numbers:
    """Return the number of each pixel as the file has it."""
    mode = picture.image.mode
    if mode not in ("1", "L", "P") and not mode.startswith("I"):
        raise RecordError(
            f"a mask must have one number per pixel (got a picture of mode {mode}); "
            "store class numbers as grey or palette PNG"
        )
    if picture.inverted:
        raise RecordError("a mask must not have its numbers inverted (0 as white); store it as PNG")
    bits = png.read_header(content).depth if kind is Format.PNG else picture.bits
    numbers = np.asarray(picture.image)
    if mode == "L" and bits < 8:  # Pillow scales grey of 2 and 4 bits to 8
        numbers = numbers // np.uint8(255 // ((1 << bits) - 1))
    return numbers


def _check_range(numbers: Numbers, dtype: str) -> None:
    largest = np.iinfo(dtype).max
    found = int(numbers.max()) if int(numbers.min()) >= 0 else int(numbers.min())
    if not 0 <= found <= largest:
        hint = "; use dtype: uint16" if 0 <= found <= np.iinfo(np.uint16).max else ""
        raise RecordError(
            f"a mask of dtype {dtype} must hold numbers from 0 to {largest} (got {found}){hint}"
        )


def _nearest(numbers: Numbers, height: int, width: int) -> Numbers:
    """Return the number at the centre of each target pixel."""
    rows = (2 * np.arange(height) + 1) * numbers.shape[0] // (2 * height)
    columns = (2 * np.arange(width) + 1) * numbers.shape[1] // (2 * width)
    nearest: Numbers = numbers[rows[:, np.newaxis], columns]
    return nearest
