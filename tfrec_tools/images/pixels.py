"""Pixels: decoding, turning, converting, resizing and encoding, by Pillow and simplejpeg.

Pillow is imported when the first picture needs it: most conversions keep all bytes as they
are and should start without it.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import simplejpeg
from numpy.typing import NDArray

from tfrec_tools.errors import RecordError
from tfrec_tools.images.formats import Format
from tfrec_tools.schema import ImageEncoding

if TYPE_CHECKING:
    from PIL import Image, ImageFile

PNG_COMPRESS_LEVEL = 6
MAX_JPEG_SIDE = 65_500
_OVERSAMPLING = 2  # a JPEG is decoded to at least this many times the wanted size, then resized
_SUBSAMPLING = {"4:4:4": "444", "4:2:2": "422", "4:2:0": "420"}
_ORIENTATION = 0x0112
_BITS_PER_SAMPLE, _PHOTOMETRIC, _SAMPLE_FORMAT = 258, 262, 339  # TIFF tags
_UNTURNED = {6: 8, 8: 6}  # the orientations that are not their own inverse


class Picture(NamedTuple):
    """A decoded first frame: pixels as they lie in the file.

    ``bits``: per channel in the file. ``inverted``: a grey TIFF whose 0 is white.
    """

    image: Image.Image
    num_frames: int
    orientation: int
    bits: int
    inverted: bool


def codec_versions() -> dict[str, str]:
    """Return the versions of the libraries that encode: other versions, other bytes."""
    import PIL  # the package alone, not its decoders

    return {"pillow": PIL.__version__, "simplejpeg": simplejpeg.__version__}


def decoded(content: bytes, kind: Format, max_pixels: int) -> Picture:
    """Decode the first frame with Pillow; the size is checked before pixels are allocated.

    Raises RecordError for what Pillow cannot read.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about metadata that is not stored
            if kind is Format.WEBP:  # its decoder allocates pixels when it is opened
                check_num_pixels(*_webp_size(content), max_pixels)
            with _plugin(kind)(io.BytesIO(content)) as image:
                check_num_pixels(image.height, image.width, max_pixels)
                return _picture(image, kind)
    except RecordError:
        raise
    except Image.DecompressionBombError:  # frames and tiles far larger than the picture
        raise RecordError(f"the {kind.name} could not be decoded (a part is too large)") from None
    except MemoryError:
        raise RecordError(f"the {kind.name} needs more memory than there is") from None
    except Exception as error:
        # Nothing of ours runs above; what Pillow's plugins raise for damage is not limited to
        # a few classes (struct.error, OverflowError, AttributeError and more were seen).
        what = "truncated" if "truncated" in str(error) else "damaged"
        raise RecordError(f"the {kind.name} could not be decoded ({what})") from None


def _plugin(kind: Format) -> type[ImageFile.ImageFile]:
    """Return Pillow's class for exactly one format.

    ``Image.open`` would try others, make an MPO of a JPEG, and apply a limit on pixels that is
    a global variable, so that raising it here would raise it for all threads.
    """
    from PIL import (
        BmpImagePlugin,
        GifImagePlugin,
        JpegImagePlugin,
        PngImagePlugin,
        TiffImagePlugin,
        WebPImagePlugin,
    )

    return {
        Format.JPEG: JpegImagePlugin.JpegImageFile,
        Format.PNG: PngImagePlugin.PngImageFile,
        Format.GIF: GifImagePlugin.GifImageFile,
        Format.WEBP: WebPImagePlugin.WebPImageFile,
        Format.BMP: BmpImagePlugin.BmpImageFile,
        Format.TIFF: TiffImagePlugin.TiffImageFile,
    }[kind]


def _webp_size(content: bytes) -> tuple[int, int]:
    """Return height and width as the first chunk's header says (RFC 9649); 0 if it does not."""
    bits = int.from_bytes(content[20:30], "little")
    match content[12:16]:
        case b"VP8X":
            return (bits >> 56) + 1, (bits >> 32 & 0xFFFFFF) + 1
        case b"VP8L":
            return (bits >> 22 & 0x3FFF) + 1, (bits >> 8 & 0x3FFF) + 1
        case b"VP8 ":
            return bits >> 64 & 0x3FFF, bits >> 48 & 0x3FFF
        case _:
            return 0, 0


def _picture(image: ImageFile.ImageFile, kind: Format) -> Picture:
    tags = getattr(image, "tag_v2", {}) if kind is Format.TIFF else {}
    bits = max(tags.get(_BITS_PER_SAMPLE, (8,)))
    if any(form != 1 for form in tags.get(_SAMPLE_FORMAT, ())) and bits <= 16:
        raise RecordError("must have unsigned whole numbers as pixels (got signed ones)")
    found = image.getexif().get(_ORIENTATION, 1)
    orientation = found if found in range(1, 9) else 1
    num_frames = getattr(image, "n_frames", 1)
    image.load()
    pixels: Image.Image = image
    if kind is Format.TIFF:  # Pillow has turned it while it was loaded
        pixels = turned(image, _UNTURNED.get(orientation, orientation))
    inverted = kind is Format.TIFF and tags.get(_PHOTOMETRIC) == 0
    return Picture(pixels, num_frames, orientation, bits, inverted)


def check_num_pixels(height: int, width: int, max_pixels: int) -> None:
    """Raise RecordError for a picture over the limit, before its pixels are allocated."""
    if height * width > max_pixels:
        raise RecordError(
            f"must have at most {max_pixels:,} pixels (got {width} x {height}); resize it, or raise "
            "max_pixels in the schema"
        )


def check_target_size(height: int, width: int, max_pixels: int) -> None:
    """Raise RecordError if resizing would enlarge a picture beyond the limit."""
    if height * width > max_pixels:
        raise RecordError(
            f"must have at most {max_pixels:,} pixels once resized (got {width} x {height}); "
            "raise max_pixels in the schema, or do not enlarge"
        )


def decode_jpeg(content: bytes, size: tuple[int, int], wanted: tuple[int, int]) -> Image.Image:
    """Decode a grey or RGB JPEG that was checked, no larger than resizing to ``wanted`` needs.

    Both sizes are (height, width) as the picture lies in the file.
    """
    from PIL import Image

    enough = (
        size
        if wanted == size
        else tuple(
            min(whole, _OVERSAMPLING * side) for whole, side in zip(size, wanted, strict=True)
        )
    )
    try:
        space = simplejpeg.decode_jpeg_header(content)[2]
        pixels = simplejpeg.decode_jpeg(
            content,
            "GRAY" if space == "Gray" else "RGB",
            min_height=enough[0],
            min_width=enough[1],
            min_factor=1,
            strict=False,  # checked before, by jpeg_data.check_data
        )
    except ValueError:  # a subsampling that simplejpeg does not know
        return decoded(content, Format.JPEG, size[0] * size[1]).image
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


def resized(image: Image.Image, target: tuple[int, int], resample: str) -> Image.Image:
    """Return the picture with the height and width of ``target``."""
    from PIL.Image import Resampling

    if (image.height, image.width) == target:
        return image
    return image.resize(target[::-1], Resampling[resample.upper()])


def has_transparency(image: Image.Image) -> bool:
    """Say whether the picture has an alpha channel or transparent colours."""
    return "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info


def check_alpha(policy: str) -> None:
    """Raise RecordError for a picture with transparency unless the schema says what to do."""
    if policy == "error":
        raise RecordError(
            "must have no transparency; use alpha: white or alpha: drop in the schema"
        )


def without_alpha(image: Image.Image, policy: str) -> Image.Image:
    """Return the picture without transparency: over white, or its colours as they are."""
    from PIL import Image as pil

    if not has_transparency(image):
        return image
    check_alpha(policy)
    mode, white = ("L", 255) if image.mode in ("1", "L", "LA") else ("RGB", (255, 255, 255))
    with_alpha = image if image.mode == mode + "A" else image.convert(mode + "A")
    if policy == "drop":
        return with_alpha.convert(mode)
    background = pil.new(mode, image.size, white)
    background.paste(with_alpha, mask=with_alpha)
    return background


def whitened(image: Image.Image, where: NDArray[np.bool_]) -> Image.Image:
    """Return a grey picture with white pixels ``where`` that is true."""
    from PIL import Image as pil

    return pil.fromarray(np.where(where, np.uint8(255), np.asarray(image)))


def as_grey_or_rgb(image: Image.Image) -> Image.Image:
    """Return the picture without transparency as grey or RGB of 8 bits, whichever it is."""
    if image.mode in ("L", "RGB"):
        return image
    if image.mode not in ("1", "P", "CMYK", "YCbCr"):
        raise RecordError(f"must be grey, RGB, palette or CMYK (got {image.mode})")
    return image.convert("L" if image.mode == "1" else "RGB")


def eight_bit(picture: Picture, depth: int | None) -> Image.Image:
    """Return the picture with 8 bits per channel; 16-bit ones only if ``depth`` says so.

    Of 16 bits the upper 8 are taken, as ``tf.io.decode_png`` does for uint8.
    """
    from PIL import Image as pil

    image = picture.image
    if image.mode == "F":
        raise RecordError("must have whole numbers as pixels (got 32-bit floats); use PNG or JPEG")
    if picture.bits > 8:
        if picture.bits != 16:
            raise RecordError(f"must have 8 or 16 bits per channel (got {picture.bits})")
        check_depth(16, depth)
    if not image.mode.startswith("I"):
        return image
    upper = (np.asarray(image) >> 8).astype(np.uint8)
    return pil.fromarray(255 - upper if picture.inverted else upper)


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
    match encoding.format:
        case "raw":
            return as_array(image).tobytes()
        case "png":
            return encoded_png(image)
        case "jpeg":
            if max(image.size) > MAX_JPEG_SIDE:
                raise RecordError(
                    f"a JPEG has at most {MAX_JPEG_SIDE:,} pixels a side (got {max(image.size):,})"
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
