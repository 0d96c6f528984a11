"""Pixels: decoding, turning, converting, resizing and encoding, by Pillow and simplejpeg.

Pillow is imported when the first picture needs it: most conversions keep all bytes as they
are and should start without it.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from tfrec_tools.errors import RecordError, counted
from tfrec_tools.images.formats import Format
from tfrec_tools.schema import ImageEncoding, Resize
from tfrec_tools.schema.image import DEFAULT_JPEG_QUALITY

if TYPE_CHECKING:
    from PIL import Image

PNG_COMPRESS_LEVEL = 6
TURNED_QUALITY = DEFAULT_JPEG_QUALITY
_OVERSAMPLING = 2  # a JPEG is decoded to at least this many times the wanted size, then resized
_SUBSAMPLING = {"4:4:4": "444", "4:2:2": "422", "4:2:0": "420"}


def codec_versions() -> dict[str, str]:
    """Return the versions of the libraries that encode: other versions, other bytes."""
    return {name: importlib.metadata.version(name) for name in ("pillow", "simplejpeg")}


@contextlib.contextmanager
def opened(content: bytes, kind: Format, max_pixels: int) -> Iterator[Image.Image]:
    """Open a picture with Pillow for exactly its own format; its size is checked first.

    Raises RecordError for what Pillow cannot read, also while the block decodes.
    """
    from PIL import Image, UnidentifiedImageError

    # Pillow's own limit is global and would warn or refuse below ours.
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about metadata that is not stored
            with Image.open(io.BytesIO(content), formats=[kind.name]) as image:
                check_num_pixels(image.height, image.width, max_pixels)
                yield image
    except UnidentifiedImageError:
        raise RecordError(f"the {kind.name} could not be decoded (damaged)") from None
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError) as error:
        if isinstance(error, RecordError):
            raise
        what = "truncated" if "truncated" in str(error) else "damaged"
        raise RecordError(f"the {kind.name} could not be decoded ({what})") from None
    finally:
        Image.MAX_IMAGE_PIXELS = limit


def check_num_pixels(height: int, width: int, max_pixels: int) -> None:
    """Raise RecordError for a picture over the limit, before its pixels are allocated."""
    if height * width > max_pixels:
        raise RecordError(
            f"must have at most {max_pixels:,} pixels (got {width} x {height}); resize it, or raise "
            "max_pixels in the schema"
        )


def decode_jpeg(content: bytes, *, height: int, width: int, resize: Resize | None) -> Image.Image:
    """Decode a grey or RGB JPEG, damage that costs pixels refused, no larger than resizing needs."""
    from PIL import Image

    min_height = min_width = 0
    if resize is not None:
        target = resize.target_size(height, width)
        min_height, min_width = (_OVERSAMPLING * side for side in target)
    space = simplejpeg.decode_jpeg_header(content)[2]
    try:
        pixels = simplejpeg.decode_jpeg(
            content,
            "GRAY" if space == "Gray" else "RGB",
            min_height=min(min_height, height),
            min_width=min(min_width, width),
            min_factor=1,
            strict=False,  # checked before by jpeg.check_data
        )
    except ValueError:
        raise RecordError("the JPEG could not be decoded (damaged)") from None
    return Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)


def turned(image: Image.Image, orientation: int) -> Image.Image:
    """Return the picture as EXIF orientation 1 to 8 says it is to be shown."""
    from PIL.Image import Transpose

    how = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }.get(orientation)
    return image if how is None else image.transpose(how)


def resized(image: Image.Image, resize: Resize | None, size: tuple[int, int]) -> Image.Image:
    """Return the picture in the size that ``resize`` means for a picture of ``size`` (h, w)."""
    from PIL.Image import Resampling

    if resize is None:
        return image
    height, width = resize.target_size(*size)
    if (image.height, image.width) == (height, width):
        return image
    return image.resize((width, height), Resampling[resize.resample.upper()])


def has_transparency(image: Image.Image) -> bool:
    """Say whether the picture has an alpha channel or transparent colours."""
    return "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info


def without_alpha(image: Image.Image, policy: str) -> Image.Image:
    """Return the picture without transparency: over white, or its colours as they are."""
    from PIL import Image as pil

    if not has_transparency(image):
        return image
    if policy == "error":
        raise RecordError(
            "must have no transparency; use alpha: white or alpha: drop in the schema"
        )
    grey = image.mode in ("LA", "La", "L", "1")
    rgba = image.convert("RGBA")
    if policy == "white":
        opaque = pil.alpha_composite(pil.new("RGBA", rgba.size, (255, 255, 255, 255)), rgba)
    else:
        opaque = rgba
    return opaque.convert("RGB").convert("L") if grey else opaque.convert("RGB")


def eight_bit(image: Image.Image, depth: int | None) -> Image.Image:
    """Return the picture with 8 bits per channel; 16-bit ones only if ``depth`` says so.

    Of 16 bits the upper 8 are taken, as ``tf.io.decode_png`` does for uint8.
    """
    from PIL import Image as pil

    mode = image.mode
    if mode.startswith("I"):
        check_depth(16, depth)
        values = np.asarray(image).astype(np.int64)
        if values.min(initial=0) < 0 or values.max(initial=0) > 0xFFFF:
            raise RecordError("must have 8 or 16 bits per channel (got 32)")
        return pil.fromarray((values >> 8).astype(np.uint8))
    if mode == "F":
        raise RecordError("must have whole numbers as pixels (got 32-bit floats); use PNG or JPEG")
    return image


def check_depth(found: int, wanted: int | None) -> None:
    """Raise RecordError for a 16-bit picture unless the schema says ``depth: 8``."""
    if found == 16 and wanted is None:
        raise RecordError(
            "must have 8 bits per channel (got 16); use depth: 8 to keep the upper 8 bits, or "
            "kind: mask to keep the values exactly"
        )


def with_channels(image: Image.Image, channels: int) -> Image.Image:
    """Return the picture as grey or RGB of 8 bits: exactly ``channels`` of them."""
    return image.convert("L" if channels == 1 else "RGB")


def as_array(image: Image.Image) -> NDArray[np.uint8]:
    """Return pixels as uint8 [height, width, channels]."""
    pixels = np.asarray(image, dtype=np.uint8)
    return pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels


def encoded(image: Image.Image, encoding: ImageEncoding) -> bytes:
    """Return the picture, grey or RGB, as JPEG, PNG or raw pixels."""
    if image.mode not in ("L", "RGB"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    match encoding.format:
        case "raw":
            return as_array(image).tobytes()
        case "png":
            return encoded_png(image)
        case "jpeg":
            if max(image.size) > 65_500:
                raise RecordError(
                    f"a JPEG has at most 65,500 pixels a side (got {max(image.size)})"
                )
            pixels = np.ascontiguousarray(as_array(image))
            grey = pixels.shape[2] == 1
            data = simplejpeg.encode_jpeg(
                pixels,
                quality=encoding.quality,
                colorspace="GRAY" if grey else "RGB",
                colorsubsampling="Gray" if grey else _SUBSAMPLING[encoding.subsampling],
                fastdct=False,
            )
            return bytes(data)


def encoded_png(image: Image.Image) -> bytes:
    """Return the picture as PNG, without metadata."""
    stream = io.BytesIO()
    image.info.clear()
    image.save(stream, "PNG", compress_level=PNG_COMPRESS_LEVEL)
    return stream.getvalue()


def frames_remark(image: Image.Image, kind: Format) -> str:
    """Return what a report says of a picture whose first frame was stored as PNG."""
    number = getattr(image, "n_frames", 1)
    if number > 1:
        return f"{kind.name} with {counted(number, 'frame')}: the first stored as PNG"
    return f"{kind.name} stored as PNG"
