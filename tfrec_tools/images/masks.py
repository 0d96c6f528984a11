"""Masks: one whole number per pixel, kept exactly, stored as a grey PNG of 8 or 16 bits.

TensorFlow decodes a palette PNG to its colours and scales grey of less than 8 bits; stored
as plain grey, the numbers themselves come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfrec_tools.errors import RecordError
from tfrec_tools.images import pixels, png
from tfrec_tools.images.formats import Format, image_format
from tfrec_tools.images.preparing import PreparedImage
from tfrec_tools.request import Check
from tfrec_tools.schema import MaskFeature

if TYPE_CHECKING:
    from PIL import Image

_BITS = {"uint8": 8, "uint16": 16}
_NUMBERS = np.iinfo


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

    with pixels.opened(content, kind, feature.max_pixels) as image:
        image.load()
        if image.mode not in ("1", "L", "P") and not image.mode.startswith("I"):
            raise RecordError(
                f"a mask must have one number per pixel (got a picture of mode {image.mode}); "
                "store class numbers as grey or palette PNG"
            )
        numbers = _numbers(image, kind, content)
    largest = int(numbers.max(initial=0))
    if largest > _NUMBERS(feature.dtype).max or int(numbers.min(initial=0)) < 0:
        raise RecordError(
            f"a mask of dtype {feature.dtype} must hold at most {_NUMBERS(feature.dtype).max} "
            f"(got {largest}); use dtype: uint16"
        )
    size = numbers.shape[0], numbers.shape[1]
    if feature.resize is not None:
        numbers = _nearest(numbers, *feature.resize.target_size(*size))
    stored = pil.fromarray(numbers.astype(feature.dtype))
    height, width = numbers.shape
    return PreparedImage(pixels.encoded_png(stored), height, width, "png", size, recoded=True)


def _numbers(image: Image.Image, kind: Format, content: bytes) -> np.ndarray:
    numbers = np.asarray(image).astype(np.int64)
    if kind is Format.PNG and image.mode == "L":
        depth = png.read_header(content).depth
        if depth < 8:  # Pillow scales grey of 2 and 4 bits to 8
            numbers //= 255 // ((1 << depth) - 1)
    return numbers


def _nearest(numbers: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the number at the centre of each target pixel."""
    rows = (2 * np.arange(height) + 1) * numbers.shape[0] // (2 * height)
    columns = (2 * np.arange(width) + 1) * numbers.shape[1] // (2 * width)
    nearest: np.ndarray = numbers[rows[:, np.newaxis], columns]
    return nearest
