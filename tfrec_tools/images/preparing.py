"""One image file to the bytes that are stored: the table of docs/images.md, row by row.

Files that every decoder reads alike keep their bytes, once they are known to be whole. All
others are decoded and stored anew, which is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfrec_tools.errors import RecordError, counted
from tfrec_tools.images import jpeg, jpeg_data, pixels, png
from tfrec_tools.images.formats import Format, image_format
from tfrec_tools.records import Action
from tfrec_tools.request import Check
from tfrec_tools.schema import ImageEncoding, ImageFeature

if TYPE_CHECKING:
    from PIL import Image

MAX_JPEG_BYTES = 1 << 29
"""TensorFlow refuses to decode a JPEG to more bytes than this."""

_NAMES = {"L": "grey", "RGB": "RGB"}
_LOSSLESS = ImageEncoding(format="png")
_NEAR_LOSSLESS = ImageEncoding(format="jpeg", quality=95, subsampling="4:4:4")
_RESIZED = ImageEncoding(format="jpeg", quality=90)
"""Colours at half the resolution, as cameras store them: decoded in three quarters of the time."""


class PreparedImage(NamedTuple):
    """What is stored of one image: ``content`` in ``format`` (jpeg, png or raw).

    ``source_size``: (height, width) as shown, before resizing. ``remarks``: what the report
    says. ``recoded``: whether an encoder of ours made the bytes.
    """

    content: bytes
    height: int
    width: int
    format: str
    source_size: tuple[int, int]
    remarks: tuple[tuple[Action, str], ...] = ()
    recoded: bool = False


def prepare_image(content: bytes, feature: ImageFeature, check: Check) -> PreparedImage:
    """Return what is stored of the file with this content. Raises RecordError."""
    kind = image_format(content)
    match kind:
        case Format.JPEG:
            return _prepare_jpeg(content, feature, check)
        case Format.PNG:
            return _prepare_png(content, feature, check)
        case _:
            return _prepare_other(content, kind, feature)


def _prepare_jpeg(content: bytes, feature: ImageFeature, check: Check) -> PreparedImage:
    header = jpeg.read_header(content)
    size = header.height, header.width
    pixels.check_num_pixels(*size, feature.max_pixels)
    if not header.has_end:
        raise RecordError("the JPEG has no end marker (truncated)")
    if header.num_components not in (1, 3, 4):
        raise RecordError(
            f"a JPEG must be grey, RGB or CMYK (got {header.num_components} channels)"
        )
    if header.precision != 8:
        raise RecordError(f"a JPEG must have 8 bits per channel (got {header.precision})")
    plain = header.num_components != 4 and header.process <= 2
    orientation = 1 if feature.exif == "keep" else header.orientation
    shown = _shown(size, orientation)
    target = feature.resize.target_size(*shown) if feature.resize else shown
    lossless = orientation != 1 and feature.exif == "png"
    default = _RESIZED if feature.resize is not None else _NEAR_LOSSLESS
    encoding = feature.encode or (_LOSSLESS if lossless else default)
    if encoding.format == "jpeg":
        _check_jpeg_size(*target, feature.channels)
    changed = not plain or orientation != 1 or target != shown or feature.encode is not None
    remarks: list[tuple[Action, str]] = []
    # What is decoded anyway must be whole, too: libjpeg would fill up with grey.
    if changed or check is Check.DECODE:
        harmless = jpeg_data.check_data(content, header)
        if harmless:
            remarks.append((Action.KEPT, harmless))
    if orientation != header.orientation:
        remarks.append(_not_applied(header.orientation, kept=not changed))
    if not changed:
        return PreparedImage(content, *size, "jpeg", size, tuple(remarks))
    if plain:
        image = pixels.decode_jpeg(content, size, _shown(target, orientation))
    else:
        picture = pixels.decoded(content, Format.JPEG, feature.max_pixels)
        what = "CMYK" if picture.image.mode == "CMYK" else "JPEG with an uncommon coding"
        image = pixels.as_grey_or_rgb(picture.image)
        how = f"{_NAMES[image.mode]} {_name_of(encoding)}"
        remarks.append((Action.CONVERTED, f"{what} stored as {how}"))
    return _stored(image, feature, encoding, size, orientation=orientation, remarks=remarks)


def _not_applied(orientation: int, *, kept: bool) -> tuple[Action, str]:
    how = "kept, not applied" if kept else "not applied"
    return Action.KEPT, f"EXIF orientation {orientation} {how}"


def _name_of(encoding: ImageEncoding) -> str:
    return "raw pixels" if encoding.format == "raw" else encoding.format.upper()


def _check_jpeg_size(height: int, width: int, channels: int) -> None:
    if height * width * channels >= MAX_JPEG_BYTES:
        raise RecordError(
            "must decode to less than 2**29 bytes, TensorFlow's limit for a JPEG "
            f"(got {width} x {height}); resize it"
        )


def _prepare_png(content: bytes, feature: ImageFeature, check: Check) -> PreparedImage:
    header = png.read_header(content)
    size = header.height, header.width
    pixels.check_num_pixels(*size, feature.max_pixels)
    if not header.has_end:
        raise RecordError("the PNG ends too early (truncated)")
    pixels.check_depth(header.depth, feature.depth)
    if header.has_alpha:
        pixels.check_alpha(feature.alpha)
    orientation = 1 if feature.exif == "keep" else header.orientation
    shown = _shown(size, orientation)
    target = feature.resize.target_size(*shown) if feature.resize else shown
    changed = (
        header.has_alpha
        or header.depth == 16
        or orientation != 1
        or target != shown
        or feature.encode is not None
    )
    if changed or check is Check.DECODE:
        png.check_data(content, header)
    remarks: list[tuple[Action, str]] = []
    if header.animated:
        remarks.append((Action.KEPT, "animated PNG: readers see its default image"))
    if orientation != header.orientation:
        remarks.append(_not_applied(header.orientation, kept=not changed))
    if not changed:
        return PreparedImage(content, *size, "png", size, tuple(remarks))
    picture = pixels.decoded(content, Format.PNG, feature.max_pixels)
    if header.has_alpha:
        how = "over white" if feature.alpha == "white" else "dropped"
        remarks.append((Action.CONVERTED, f"transparency {how}, stored anew"))
    if header.depth == 16:
        remarks.append((Action.CONVERTED, "the upper 8 of 16 bits stored"))
    image = (
        _without_trns(picture, header, feature) if _has_trns(header) else _flat(picture, feature)
    )
    return _stored(
        image, feature, feature.encode or _LOSSLESS, size, orientation=orientation, remarks=remarks
    )


def _has_trns(header: png.PngHeader) -> bool:
    """Say whether one grey or RGB colour is transparent."""
    return header.has_alpha and header.color_type in (png.GREY, png.RGB)


def _without_trns(
    picture: pixels.Picture, header: png.PngHeader, feature: ImageFeature
) -> Image.Image:
    """Return a PNG with one transparent colour without transparency.

    Pillow compares the colour with pixels that it has scaled (grey of 2 or 4 bits) or cut
    (RGB of 16 bits): those cases are decided here, or refused.
    """
    if header.color_type == png.RGB:
        if header.depth == 16:
            raise RecordError(
                "must not have one transparent colour (tRNS) of 16 bits per channel; store it "
                "with an alpha channel"
            )
        return _flat(picture, feature)
    values = np.asarray(picture.image)
    picture.image.info.pop("transparency", None)
    image = _flat(picture, feature)
    if feature.alpha == "drop" or header.transparent_grey is None:
        return image
    largest = (1 << header.depth) - 1
    scale = 255 // largest if values.dtype == np.uint8 else 1
    return pixels.whitened(image, values == (header.transparent_grey & largest) * scale)


def _prepare_other(content: bytes, kind: Format, feature: ImageFeature) -> PreparedImage:
    picture = pixels.decoded(content, kind, feature.max_pixels)
    encoding = feature.encode or _LOSSLESS
    stored = _name_of(encoding)
    what = f"{kind.name} stored as {stored}"
    if picture.num_frames > 1:
        frames = counted(picture.num_frames, "frame")
        what = f"{kind.name} with {frames}: the first stored as {stored}"
    remarks = [(Action.CONVERTED, what)]
    if picture.bits == 16 and feature.depth is not None:
        remarks.append((Action.CONVERTED, "the upper 8 of 16 bits stored"))
    orientation = 1 if feature.exif == "keep" else picture.orientation
    if orientation != picture.orientation:
        remarks.append(_not_applied(picture.orientation, kept=False))
    image = _flat(picture, feature)
    size = image.height, image.width
    return _stored(image, feature, encoding, size, orientation=orientation, remarks=remarks)


def _flat(picture: pixels.Picture, feature: ImageFeature) -> Image.Image:
    """Return the picture as 8-bit grey or RGB without transparency."""
    image = pixels.eight_bit(picture, feature.depth)
    return pixels.as_grey_or_rgb(pixels.without_alpha(image, feature.alpha))


def _stored(
    image: Image.Image,
    feature: ImageFeature,
    encoding: ImageEncoding,
    size: tuple[int, int],
    *,
    orientation: int,
    remarks: list[tuple[Action, str]],
) -> PreparedImage:
    """Turn, resize and encode a picture that is grey or RGB.

    ``size``: (height, width) in the file; a JPEG may have been decoded smaller.
    """
    if orientation != 1:
        image = pixels.turned(image, orientation)
        remarks.append((Action.REPAIRED, f"turned as EXIF orientation {orientation} says"))
    shown = _shown(size, orientation)
    target = shown if feature.resize is None else feature.resize.target_size(*shown)
    if encoding.format == "jpeg":
        _check_jpeg_size(*target, feature.channels)
    if feature.resize is not None:
        pixels.check_target_size(*target, feature.max_pixels)
        image = pixels.resized(image, target, feature.resize.resample)
    if encoding.format == "raw":
        image = pixels.with_channels(image, feature.channels)
    content = pixels.encoded(image, encoding)
    return PreparedImage(
        content, image.height, image.width, encoding.format, shown, tuple(remarks), recoded=True
    )


def _shown(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    """Return height and width of a picture once it is turned."""
    return size[::-1] if orientation >= 5 else size
