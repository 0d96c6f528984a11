"""Pixels are turned, flattened, resized and encoded as said, on pictures of any mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from drawing import jpeg, photo, pillow_pixels, save, turned
from PIL import Image

from tfrec_tools.errors import RecordError
from tfrec_tools.images import codec_versions, pixels
from tfrec_tools.images.formats import Format
from tfrec_tools.schema import ImageEncoding

PHOTO = photo(21, 34)
GREY = PHOTO[:, :, 0].copy()


def picture(image: Image.Image, **fields: Any) -> pixels.Picture:
    return pixels.Picture(
        image, **{"num_frames": 1, "orientation": 1, "bits": 8, "inverted": False, **fields}
    )


def test_versions_of_all_codecs_are_told() -> None:
    assert set(codec_versions()) == {"pillow", "simplejpeg"}
    assert codec_versions()["pillow"] == Image.__version__


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turning_follows_the_table_of_exif(orientation: int) -> None:
    image = pixels.turned(Image.fromarray(PHOTO), orientation)
    assert np.array_equal(np.asarray(image), turned(PHOTO, orientation))


def test_resizing_to_the_same_size_changes_nothing() -> None:
    image = Image.fromarray(PHOTO)
    assert pixels.resized(image, (21, 34), "bilinear") is image


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA", "La", "RGBa"])
def test_transparency_is_found(mode: str) -> None:
    assert pixels.has_transparency(Image.new(mode, (2, 2)))


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "CMYK", "I;16"])
def test_no_transparency_is_found(mode: str) -> None:
    assert not pixels.has_transparency(Image.new(mode, (2, 2)))


def test_opaque_pictures_are_left_alone() -> None:
    image = Image.fromarray(PHOTO)
    assert pixels.without_alpha(image, "error") is image


@pytest.mark.parametrize(
    ("mode", "found"), [("1", "L"), ("L", "L"), ("RGB", "RGB"), ("P", "RGB"), ("CMYK", "RGB")]
)
def test_all_modes_become_grey_or_rgb(mode: str, found: str) -> None:
    assert pixels.as_grey_or_rgb(Image.new(mode, (2, 3))).mode == found


@pytest.mark.parametrize("mode", ["LAB", "HSV", "F"])
def test_other_modes_are_refused(mode: str) -> None:
    with pytest.raises(RecordError) as caught:
        pixels.as_grey_or_rgb(Image.new(mode, (2, 3)))
    assert str(caught.value) == f"must be grey, RGB, palette or CMYK (got {mode})"


def test_odd_depths_are_refused() -> None:
    with pytest.raises(RecordError, match=r"^must have 8 or 16 bits per channel \(got 12\)$"):
        pixels.eight_bit(picture(Image.new("I;16", (2, 2)), bits=12), 8)
    with pytest.raises(RecordError, match="32-bit floats"):
        pixels.eight_bit(picture(Image.new("F", (2, 2)), bits=32), 8)


@pytest.mark.parametrize("wanted", [(21, 34), (10, 17), (3, 4), (1, 1), (100, 200)])
def test_a_jpeg_is_decoded_no_smaller_than_wanted(wanted: tuple[int, int]) -> None:
    for content in (jpeg(PHOTO), jpeg(GREY)):
        image = pixels.decode_jpeg(content, (21, 34), wanted)
        assert image.height >= min(21, wanted[0])
        assert image.width >= min(34, wanted[1])
        assert image.mode == ("RGB" if content == jpeg(PHOTO) else "L")


@pytest.mark.parametrize("kind", [Format.JPEG, Format.PNG, Format.GIF, Format.TIFF, Format.BMP])
def test_messages_of_libraries_are_not_passed_on(kind: Format) -> None:
    content = save(PHOTO, kind.name)
    for size in (20, len(content) // 2):
        with pytest.raises(RecordError) as caught:
            pixels.decoded(content[:size], kind, 10_000)
        what = str(caught.value)
        assert what in {
            f"the {kind.name} could not be decoded ({why})" for why in ("truncated", "damaged")
        }
        assert caught.value.__suppress_context__


def test_limits_of_pillow_are_not_changed() -> None:
    before = Image.MAX_IMAGE_PIXELS
    pixels.decoded(save(PHOTO, "PNG"), Format.PNG, 10_000)
    assert before == Image.MAX_IMAGE_PIXELS


def test_png_has_no_metadata() -> None:
    image = Image.fromarray(PHOTO)
    image.info.update(dpi=(72, 72), icc_profile=b"profile", exif=b"Exif\0\0x", transparency=3)
    content = pixels.encoded_png(image)
    assert np.array_equal(pillow_pixels(content), PHOTO)
    for kind in (b"pHYs", b"iCCP", b"eXIf", b"tRNS", b"tEXt"):
        assert kind not in content


@pytest.mark.parametrize("values", [PHOTO, GREY], ids=["RGB", "grey"])
def test_raw_pixels_are_rows_of_channels(values: Any) -> None:
    content = pixels.encoded(Image.fromarray(values), ImageEncoding(format="raw"))
    assert content == values.tobytes()
