"""One image file to the bytes that are stored: the table of docs/images.md, row by row.

Files that every decoder reads alike keep their bytes, once they are known to be whole. All
others are decoded and stored anew, which is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tfrec_tools.errors import RecordError
from tfrec_tools.images import jpeg, pixels, png
from tfrec_tools.images.formats import Format, image_format
from tfrec_tools.records import Action
from tfrec_tools.request import Check
from tfrec_tools.schema import ImageEncoding, ImageFeature

if TYPE_CHECKING:
    from PIL import Image

MAX_JPEG_BYTES = 1 << 29
"""TensorFlow refuses to decode a JPEG to more bytes than this."""

_LOSSLESS = ImageEncoding(format="png")
_NEAR_LOSSLESS = ImageEncoding(format="jpeg", quality=pixels.TURNED_QUALITY)


@dataclass(frozen=True, slots=True)
class PreparedImage:
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
    pixels.check_num_pixels(header.height, header.width, feature.max_pixels)
    if header.height * header.width * feature.channels >= MAX_JPEG_BYTES:
        raise RecordError(
            "must decode to less than 2**29 bytes, TensorFlow's limit for a JPEG "
            f"(got {header.width} x {header.height}); resize it"
        )
    if not header.has_end:
        raise RecordError("the JPEG has no end marker (truncated)")
    plain = header.num_components in (1, 3) and header.process in (0, 1, 2)
    if header.precision != 8:
        raise RecordError(f"a JPEG must have 8 bits per channel (got {header.precision})")
    turn = header.orientation != 1 and feature.exif != "keep"
    changed = not plain or turn or feature.recodes
    remarks: list[tuple[Action, str]] = []
    # What is decoded anyway must be whole, too: libjpeg would fill up with grey.
    if (changed or check is Check.DECODE) and header.process in (0, 1, 2):
        harmless = jpeg.check_data(content, header.num_components)
        if harmless:
            remarks.append((Action.KEPT, harmless))
    size = header.height, header.width
    if header.orientation != 1 and feature.exif == "keep":
        remarks.append((Action.KEPT, f"EXIF orientation {header.orientation} kept, not applied"))
    if not changed:
        return PreparedImage(content, *size, "jpeg", size, tuple(remarks))
    shown = size[::-1] if turn and header.orientation >= 5 else size
    if feature.resize is not None and feature.encode is None and plain and not turn:
        if feature.resize.target_size(*size) == size:
            return PreparedImage(content, *size, "jpeg", size, tuple(remarks))
    if plain:
        wanted = feature.resize if not turn or header.orientation < 5 else None
        image = pixels.decode_jpeg(content, height=size[0], width=size[1], resize=wanted)
    else:
        with pixels.opened(content, Format.JPEG, feature.max_pixels) as opened:
            if opened.mode not in ("L", "RGB", "CMYK"):
                raise RecordError(f"a JPEG must be grey, RGB or CMYK (got {opened.mode})")
            what = "CMYK" if opened.mode == "CMYK" else "JPEG with an uncommon coding"
            image = opened.convert("RGB") if opened.mode == "CMYK" else opened.copy()
            remarks.append((Action.CONVERTED, f"{what} stored as RGB JPEG"))
    encoding = feature.encode or _NEAR_LOSSLESS
    if turn:
        image = pixels.turned(image, header.orientation)
        if feature.exif == "png" and feature.encode is None:
            encoding = _LOSSLESS
        remarks.append((Action.REPAIRED, f"turned as EXIF orientation {header.orientation} says"))
    return _stored(image, feature, encoding, shown, remarks)


def _prepare_png(content: bytes, feature: ImageFeature, check: Check) -> PreparedImage:
    header = png.read_header(content)
    pixels.check_num_pixels(header.height, header.width, feature.max_pixels)
    if not header.has_end:
        raise RecordError("the PNG ends too early (truncated)")
    pixels.check_depth(header.depth, feature.depth)
    turn = header.orientation != 1 and feature.exif != "keep"
    changed = header.has_alpha or header.depth == 16 or turn or feature.recodes
    if changed or check is Check.DECODE:
        png.check_data(content, header)
    size = header.height, header.width
    remarks: list[tuple[Action, str]] = []
    if header.animated:
        remarks.append((Action.KEPT, "animated PNG: readers see its default image"))
    if not changed:
        return PreparedImage(content, *size, "png", size, tuple(remarks))
    only_resize = not (header.has_alpha or header.depth == 16 or turn or feature.encode)
    if only_resize and feature.resize is not None and feature.resize.target_size(*size) == size:
        return PreparedImage(content, *size, "png", size, tuple(remarks))
    with pixels.opened(content, Format.PNG, feature.max_pixels) as image:
        if header.has_alpha:
            how = "over white" if feature.alpha == "white" else "dropped"
            remarks.append((Action.CONVERTED, f"transparency {how}, stored anew"))
        if header.depth == 16:
            remarks.append((Action.CONVERTED, "the upper 8 of 16 bits stored"))
        image = _flat(image, feature)
        if turn:
            image = pixels.turned(image, header.orientation)
            remarks.append(
                (Action.REPAIRED, f"turned as EXIF orientation {header.orientation} says")
            )
        shown = size[::-1] if turn and header.orientation >= 5 else size
        return _stored(image, feature, feature.encode or _LOSSLESS, shown, remarks)


def _prepare_other(content: bytes, kind: Format, feature: ImageFeature) -> PreparedImage:
    with pixels.opened(content, kind, feature.max_pixels) as image:
        remarks = [(Action.CONVERTED, pixels.frames_remark(image, kind))]
        orientation = image.getexif().get(0x0112, 1) if feature.exif != "keep" else 1
        image.load()
        image = _flat(image, feature)
        if orientation in range(2, 9):
            image = pixels.turned(image, orientation)
            remarks.append((Action.REPAIRED, f"turned as EXIF orientation {orientation} says"))
        size = image.height, image.width
        return _stored(image, feature, feature.encode or _LOSSLESS, size, remarks)


def _flat(image: Image.Image, feature: ImageFeature) -> Image.Image:
    """Return the picture as 8-bit grey or RGB without transparency."""
    image = pixels.without_alpha(pixels.eight_bit(image, feature.depth), feature.alpha)
    return image.convert("L" if image.mode in ("1", "L") else "RGB")


def _stored(
    image: Image.Image,
    feature: ImageFeature,
    encoding: ImageEncoding,
    shown: tuple[int, int],
    remarks: list[tuple[Action, str]],
) -> PreparedImage:
    """Resize and encode; ``shown`` is the (height, width) that the whole picture has."""
    image = pixels.resized(image, feature.resize, shown)
    if encoding.format == "raw":
        image = pixels.with_channels(image, feature.channels)
    content = pixels.encoded(image, encoding)
    return PreparedImage(
        content, image.height, image.width, encoding.format, shown, tuple(remarks), recoded=True
    )
