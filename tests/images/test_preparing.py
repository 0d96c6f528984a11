"""Every row of the design's table: what is stored, and what TensorFlow decodes from it."""

from __future__ import annotations

import io
import struct
import time
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from drawing import (
    GREY,
    GREY_ALPHA,
    PALETTE,
    RGB,
    RGBA,
    bmp,
    chunk,
    flat_jpeg,
    inserted,
    jpeg,
    offset_of,
    palette_chunk,
    photo,
    pillow_pixels,
    png,
    png_of,
    resized_header,
    save,
    tensorflow_pixels,
    tiff,
    turned,
    ycck_jpeg,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tfrec_tools.errors import RecordError
from tfrec_tools.images import PreparedImage, prepare_image
from tfrec_tools.images.jpeg import read_header
from tfrec_tools.records import Action
from tfrec_tools.request import Check
from tfrec_tools.schema import ImageEncoding, ImageFeature, Resize

# Sides that are no multiples of 8 or 16, and differ.
HEIGHT, WIDTH = 45, 70
PHOTO = photo(HEIGHT, WIDTH)
ALPHA = (np.arange(HEIGHT * WIDTH) * 7 % 256).reshape(HEIGHT, WIDTH).astype(np.uint8)
SMOOTH = np.dstack(
    [
        *(np.mgrid[:HEIGHT, :WIDTH] * np.array([4, 3]).reshape(2, 1, 1)),
        np.full((HEIGHT, WIDTH), 90),
    ]
).astype(np.uint8)
GREY_PHOTO = PHOTO[:, :, 1].copy()
TOLERANCE = 12  # of a JPEG of quality 95 in 4:4:4, per channel of a smooth picture
DEPTH_FAULT = (
    "must have 8 bits per channel (got 16); use depth: 8 to keep the upper 8 bits, or "
    "kind: mask to keep the values exactly"
)
BOTH = pytest.mark.parametrize("check", Check, ids=lambda check: check.value)


def prepared(content: bytes, check: Check = Check.DECODE, **options: Any) -> PreparedImage:
    """Prepare, and check what must hold of everything that is stored."""
    feature = ImageFeature(**options)
    image = prepare_image(content, feature, check)
    if image.format == "raw":
        assert len(image.content) == image.height * image.width * feature.channels
    else:
        assert image.content.startswith({"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG"}[image.format])
        with Image.open(io.BytesIO(image.content)) as stored:
            assert (stored.height, stored.width) == (image.height, image.width)
        assert tensorflow_pixels(image.content).shape == (image.height, image.width, 3)
    return image


def remarks(image: PreparedImage) -> list[str]:
    return [what for _, what in image.remarks]


def fault_of(content: bytes, check: Check = Check.DECODE, **options: Any) -> str:
    with pytest.raises(RecordError) as caught:
        prepare_image(content, ImageFeature(**options), check)
    return str(caught.value)


def three(values: NDArray[Any]) -> NDArray[Any]:
    """Grey as RGB."""
    return np.repeat(values[:, :, np.newaxis], 3, axis=2)


def difference(left: NDArray[Any], right: NDArray[Any]) -> int:
    assert left.shape == right.shape
    return int(np.abs(left.astype(int) - right.astype(int)).max())


def over_white(colors: NDArray[Any], alpha: NDArray[Any]) -> NDArray[Any]:
    if colors.ndim == 3:
        alpha = alpha[:, :, np.newaxis]
    return (colors * (alpha / 255) + 255 * (1 - alpha / 255)).round()


class TestJpegIsKept:
    @BOTH
    @pytest.mark.parametrize(
        "content",
        [
            jpeg(PHOTO),
            jpeg(PHOTO, subsampling=0),
            jpeg(PHOTO, subsampling=2),
            jpeg(PHOTO, progressive=True),
            jpeg(PHOTO, progressive=True, subsampling=0),
            jpeg(PHOTO, restart_marker_blocks=2),
            jpeg(GREY_PHOTO),
            jpeg(GREY_PHOTO, progressive=True),
            jpeg(PHOTO, keep_rgb=True),
            jpeg(PHOTO, 1),
            jpeg(PHOTO, icc_profile=b"x" * 300, comment=b"hello"),
        ],
        ids=range(11),
    )
    def test_byte_for_byte(self, content: bytes, check: Check) -> None:
        size = (HEIGHT, WIDTH)
        assert prepared(content, check) == PreparedImage(content, *size, "jpeg", size)
        assert difference(tensorflow_pixels(content), pillow_pixels(content)) <= 3

    @BOTH
    def test_one_pixel(self, check: Check) -> None:
        content = jpeg(PHOTO[:1, :1])
        assert prepared(content, check).content == content

    def test_subsampling_that_simplejpeg_does_not_know(self) -> None:
        content = flat_jpeg(0x31, 0x11, 0x11)
        assert prepared(content).content == content
        half = prepared(content, resize=Resize(shorter_side=24))
        assert difference(tensorflow_pixels(half.content), np.full((24, 24, 3), 128)) <= 1

    def test_superfluous_bytes_are_kept_and_told(self) -> None:
        content = inserted(jpeg(PHOTO), offset_of(jpeg(PHOTO), 0xC4), bytes(9))
        image = prepared(content)
        assert image.content == content
        told = "9 superfluous bytes in the JPEG, which cost no pixels"
        assert image.remarks == ((Action.KEPT, told),)
        assert prepared(content, Check.HEADER).remarks == ()
        assert prepared(content + b"trailer of a camera").content.endswith(b"camera")


class TestJpegIsTurned:
    @BOTH
    @pytest.mark.parametrize("orientation", range(2, 9))
    @pytest.mark.parametrize("options", [{}, {"subsampling": 0}, {"progressive": True}], ids=str)
    def test_as_its_exif_says(
        self, orientation: int, options: dict[str, Any], check: Check
    ) -> None:
        content = jpeg(SMOOTH, orientation, **{"subsampling": 0, **options})
        image = prepared(content, check)
        expected = turned(pillow_pixels(content), orientation)
        assert difference(tensorflow_pixels(image.content), expected) <= TOLERANCE
        assert (image.height, image.width) == expected.shape[:2] == image.source_size
        assert image.format == "jpeg"
        assert image.recoded
        header = read_header(image.content)
        assert header.orientation == 1
        assert b"Exif" not in image.content
        assert image.content[offset_of(image.content, 0xC0) + 11] == 0x11  # 4:4:4
        told = f"turned as EXIF orientation {orientation} says"
        assert image.remarks == ((Action.REPAIRED, told),)

    @pytest.mark.parametrize("orientation", range(2, 9))
    def test_grey_stays_grey(self, orientation: int) -> None:
        content = jpeg(SMOOTH[:, :, 0], orientation)
        image = prepared(content)
        assert read_header(image.content).num_components == 1
        expected = turned(pillow_pixels(content), orientation)
        assert difference(tensorflow_pixels(image.content), expected) <= TOLERANCE

    @BOTH
    @pytest.mark.parametrize("orientation", range(2, 9))
    def test_or_kept_and_told(self, orientation: int, check: Check) -> None:
        content = jpeg(PHOTO, orientation)
        image = prepared(content, check, exif="keep")
        told = f"EXIF orientation {orientation} kept, not applied"
        size = (HEIGHT, WIDTH)
        assert image == PreparedImage(content, *size, "jpeg", size, ((Action.KEPT, told),))

    @pytest.mark.parametrize("orientation", range(2, 9))
    def test_or_without_loss(self, orientation: int) -> None:
        content = jpeg(PHOTO, orientation)
        image = prepared(content, exif="png")
        assert image.format == "png"
        assert np.array_equal(
            tensorflow_pixels(image.content), turned(pillow_pixels(content), orientation)
        )

    def test_png_is_used_for_turned_ones_only(self) -> None:
        assert prepared(jpeg(PHOTO, 1), exif="png").content == jpeg(PHOTO, 1)

    def test_kept_orientation_of_one_that_is_resized_is_gone(self) -> None:
        image = prepared(jpeg(PHOTO, 6), exif="keep", resize=Resize(longer_side=35))
        assert (image.height, image.width) == (23, 35)
        assert remarks(image) == ["EXIF orientation 6 not applied"]
        assert read_header(image.content).orientation == 1

    @pytest.mark.parametrize("orientation", [5, 6, 7, 8])
    def test_before_it_is_resized(self, orientation: int) -> None:
        content = jpeg(SMOOTH, orientation, subsampling=0)
        fine = ImageEncoding(format="jpeg", quality=95, subsampling="4:4:4")
        image = prepared(content, resize=Resize(height=30, width=10), encode=fine)
        assert (image.height, image.width) == (30, 10)
        assert image.source_size == (WIDTH, HEIGHT)
        shown = Image.fromarray(np.ascontiguousarray(turned(SMOOTH, orientation)))
        expected = np.asarray(shown.resize((10, 30), Image.Resampling.BILINEAR))
        assert difference(tensorflow_pixels(image.content), expected) <= TOLERANCE


def test_a_resized_jpeg_is_stored_in_quality_90_and_420() -> None:
    resize = Resize(height=30, width=10)
    image = prepared(jpeg(SMOOTH), resize=resize)
    assert image.content[offset_of(image.content, 0xC0) + 11] == 0x22
    same = prepared(jpeg(SMOOTH), resize=resize, encode=ImageEncoding(format="jpeg", quality=90))
    assert image.content == same.content


class TestCmykJpeg:
    INK = SMOOTH // 2  # dark inks, so that no channel saturates
    CMYK = np.dstack([INK, np.full((HEIGHT, WIDTH), 40, np.uint8)])
    # Without a colour profile: what the paper reflects times what black lets through.
    COLORS = ((255 - INK.astype(float)) * (255 - 40) / 255).round().astype(np.uint8)

    @BOTH
    @pytest.mark.parametrize("kind", ["CMYK", "YCCK"])
    def test_is_stored_as_rgb_in_the_right_colours(self, kind: str, check: Check) -> None:
        if kind == "CMYK":
            content = jpeg(Image.fromarray(self.CMYK, "CMYK"), quality=98, subsampling=0)
        else:
            content = ycck_jpeg(self.CMYK)
        image = prepared(content, check)
        header = read_header(image.content)
        assert header.num_components == 3
        assert difference(tensorflow_pixels(image.content), self.COLORS) <= TOLERANCE
        assert image.remarks == ((Action.CONVERTED, "CMYK stored as RGB JPEG"),)
        assert image.recoded
        lossless = prepared(content, check, encode=ImageEncoding(format="png"))
        assert difference(tensorflow_pixels(lossless.content), self.COLORS) <= TOLERANCE
        assert remarks(lossless) == ["CMYK stored as RGB PNG"]

    def test_is_turned(self) -> None:
        content = jpeg(Image.fromarray(self.CMYK, "CMYK"), 6, quality=98)
        image = prepared(content)
        assert difference(tensorflow_pixels(image.content), turned(self.COLORS, 6)) <= TOLERANCE
        assert len(image.remarks) == 2


class TestDamagedJpeg:
    @BOTH
    @pytest.mark.parametrize(
        "content", [jpeg(PHOTO), jpeg(PHOTO, progressive=True), jpeg(GREY_PHOTO)], ids=range(3)
    )
    def test_truncated(self, content: bytes, check: Check) -> None:
        for size in range(3, len(content), 29):
            assert "(truncated)" in fault_of(content[:size], check)

    def test_behind_an_end_marker_is_found_by_decoding(self) -> None:
        content = jpeg(PHOTO)
        cut = content[: len(content) // 2] + b"\xff\xd9"
        assert fault_of(cut) == "the JPEG data are damaged (pixels would be lost)"
        assert prepared(cut, Check.HEADER).content == cut  # that is what the check trusts
        assert "damaged" in fault_of(cut, Check.HEADER, resize=Resize(shorter_side=10))

    def test_zeroed(self) -> None:
        content = jpeg(photo(200, 200))
        zeroed = content[:6000] + bytes(1000) + content[7000:]
        assert fault_of(zeroed).startswith("the JPEG data are damaged (")

    @pytest.mark.parametrize(
        ("components", "precision", "message"),
        [
            (2, 8, "a JPEG must be grey, RGB or CMYK (got 2 channels)"),
            (3, 12, "a JPEG must have 8 bits per channel (got 12)"),
        ],
    )
    def test_odd_frames(self, components: int, precision: int, message: str) -> None:
        content = bytearray(jpeg(PHOTO))
        frame = offset_of(bytes(content), 0xC0)
        content[frame + 4], content[frame + 9] = precision, components
        assert fault_of(bytes(content), Check.HEADER) == message


class TestPngIsKept:
    @BOTH
    @pytest.mark.parametrize("depth", [1, 2, 4, 8])
    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    def test_grey(self, depth: int, interlaced: bool, check: Check) -> None:
        values = GREY_PHOTO >> (8 - depth)
        content = png(values, depth, interlaced=interlaced)
        size = (HEIGHT, WIDTH)
        assert prepared(content, check) == PreparedImage(content, *size, "png", size)
        expected = values * (255 // ((1 << depth) - 1))
        assert np.array_equal(tensorflow_pixels(content), three(expected))

    @BOTH
    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    def test_rgb(self, interlaced: bool, check: Check) -> None:
        content = png(PHOTO, 8, RGB, interlaced=interlaced)
        assert prepared(content, check).content == content
        assert np.array_equal(tensorflow_pixels(content), PHOTO)

    @BOTH
    @pytest.mark.parametrize("depth", [1, 2, 4, 8])
    def test_palette(self, depth: int, check: Check) -> None:
        colors = np.random.default_rng(depth).integers(0, 256, (1 << depth, 3), dtype=np.uint8)
        values = GREY_PHOTO >> (8 - depth)
        content = png(values, depth, PALETTE, palette_chunk(colors))
        assert prepared(content, check).content == content
        assert np.array_equal(tensorflow_pixels(content), colors[values])

    def test_animated_with_a_remark(self) -> None:
        frame = {"append_images": [Image.fromarray(255 - PHOTO)], "save_all": True}
        content = save(PHOTO, "PNG", **frame)
        image = prepared(content)
        assert image.content == content
        assert image.remarks == ((Action.KEPT, "animated PNG: readers see its default image"),)
        assert np.array_equal(tensorflow_pixels(content), PHOTO)

    @pytest.mark.parametrize("orientation", range(2, 9))
    def test_unless_its_exif_turns_it(self, orientation: int) -> None:
        exif = Image.Exif()
        exif[0x0112] = orientation
        content = save(PHOTO, "PNG", exif=exif)
        image = prepared(content)
        assert np.array_equal(tensorflow_pixels(image.content), turned(PHOTO, orientation))
        assert image.format == "png"
        assert b"eXIf" not in image.content
        kept = prepared(content, exif="keep")
        assert kept.content == content
        assert remarks(kept) == [f"EXIF orientation {orientation} kept, not applied"]


class TestTransparency:
    """Colours, alpha and the file of each kind of transparency."""

    VALUES = GREY_PHOTO >> 4
    COLORS = np.random.default_rng(3).integers(0, 256, (16, 3), dtype=np.uint8)
    PALETTE_ALPHA = np.arange(0, 256, 17, dtype=np.uint8)
    FILES = {
        "RGBA": (PHOTO, ALPHA, png(np.dstack([PHOTO, ALPHA]), 8, RGBA)),
        "LA": (GREY_PHOTO, ALPHA, png(np.dstack([GREY_PHOTO, ALPHA]), 8, GREY_ALPHA)),
        "palette": (
            COLORS[VALUES],
            PALETTE_ALPHA[VALUES],
            png(VALUES, 4, PALETTE, palette_chunk(COLORS), chunk(b"tRNS", PALETTE_ALPHA.tobytes())),
        ),
        "palette, the first alone": (
            COLORS[VALUES],
            np.where(VALUES == 0, 0, 255),
            png(VALUES, 4, PALETTE, palette_chunk(COLORS), chunk(b"tRNS", b"\0")),
        ),
        "RGB": (
            PHOTO,
            np.where((PHOTO == PHOTO[5, 6]).all(axis=2), 0, 255),
            png(PHOTO, 8, RGB, chunk(b"tRNS", PHOTO[5, 6].astype(">u2").tobytes())),
        ),
        **{
            f"grey of {depth} bits": (
                (GREY_PHOTO >> (8 - depth)) * (255 // ((1 << depth) - 1)),
                np.where(GREY_PHOTO >> (8 - depth) == 1, 0, 255),
                png(GREY_PHOTO >> (8 - depth), depth, GREY, chunk(b"tRNS", b"\0\1")),
            )
            for depth in (1, 2, 4, 8)
        },
    }

    @BOTH
    @pytest.mark.parametrize("kind", FILES)
    def test_over_white(self, kind: str, check: Check) -> None:
        colors, alpha, content = self.FILES[kind]
        image = prepared(content, check)
        expected = over_white(colors, alpha)
        expected = expected if expected.ndim == 3 else three(expected)
        # Where alpha is all or nothing, exactly.
        exact = set(np.unique(alpha)) <= {0, 255}
        assert difference(tensorflow_pixels(image.content), expected) <= (0 if exact else 1)
        assert image.format == "png"
        assert image.recoded
        told = "transparency over white, stored anew"
        assert image.remarks == ((Action.CONVERTED, told),)

    @pytest.mark.parametrize("kind", FILES)
    def test_dropped(self, kind: str) -> None:
        colors, _, content = self.FILES[kind]
        image = prepared(content, alpha="drop")
        colors = colors if colors.ndim == 3 else three(colors)
        assert np.array_equal(tensorflow_pixels(image.content), colors)
        assert remarks(image) == ["transparency dropped, stored anew"]

    @BOTH
    @pytest.mark.parametrize("kind", FILES)
    def test_refused(self, kind: str, check: Check) -> None:
        assert fault_of(self.FILES[kind][2], check, alpha="error") == (
            "must have no transparency; use alpha: white or alpha: drop in the schema"
        )

    def test_of_a_webp_and_a_gif(self) -> None:
        content = save(np.dstack([PHOTO, ALPHA]), "WEBP", lossless=True, exact=True)
        image = prepared(content)
        assert difference(tensorflow_pixels(image.content), over_white(PHOTO, ALPHA)) <= 1
        assert "no transparency" in fault_of(content, alpha="error")
        dropped = prepared(content, alpha="drop")
        assert np.array_equal(tensorflow_pixels(dropped.content), PHOTO)
        paletted = Image.fromarray(self.VALUES, "P")
        paletted.putpalette(self.COLORS.tobytes())
        gif = save(paletted, "GIF", transparency=3)
        expected = np.where((self.VALUES == 3)[:, :, np.newaxis], 255, self.COLORS[self.VALUES])
        assert np.array_equal(tensorflow_pixels(prepared(gif).content), expected)
        assert "no transparency" in fault_of(gif, alpha="error")


class TestSixteenBits:
    GREY16 = (np.arange(HEIGHT * WIDTH) * 20 + 3).reshape(HEIGHT, WIDTH).astype(np.uint16)
    RGB16 = np.dstack([GREY16, GREY16[::-1], GREY16[:, ::-1]])
    FILES = {
        "grey": (GREY16, png(GREY16, 16, GREY)),
        "RGB": (RGB16, png(RGB16, 16, RGB)),
        "interlaced": (RGB16, png(RGB16, 16, RGB, interlaced=True)),
        "TIFF": (
            GREY16,
            tiff(GREY16.astype("<u2").tobytes(), {256: WIDTH, 257: HEIGHT, 258: 16}),
        ),
        "inverted TIFF": (
            65535 - GREY16,
            tiff(GREY16.astype("<u2").tobytes(), {256: WIDTH, 257: HEIGHT, 258: 16, 262: 0}),
        ),
        "RGB TIFF": (
            RGB16,
            tiff(
                RGB16.astype("<u2").tobytes(),
                {256: WIDTH, 257: HEIGHT, 258: (16, 16, 16), 262: 2, 277: 3},
            ),
        ),
    }

    @BOTH
    @pytest.mark.parametrize("kind", FILES)
    def test_are_refused(self, kind: str, check: Check) -> None:
        assert fault_of(self.FILES[kind][1], check) == DEPTH_FAULT

    @pytest.mark.parametrize("kind", FILES)
    def test_lose_the_lower_8_if_told(self, kind: str) -> None:
        values, content = self.FILES[kind]
        image = prepared(content, depth=8)
        expected = (values >> 8).astype(np.uint8)
        expected = expected if expected.ndim == 3 else three(expected)
        assert np.array_equal(tensorflow_pixels(image.content), expected)
        assert "the upper 8 of 16 bits stored" in remarks(image)
        if "TIFF" not in kind:  # just as TensorFlow decodes the file itself
            assert np.array_equal(tensorflow_pixels(content), expected)

    def test_with_alpha(self) -> None:
        alpha = np.where(ALPHA > 100, 65535, 0).astype(np.uint16)
        for colors, kind in ((self.RGB16, RGBA), (self.GREY16, GREY_ALPHA)):
            content = png(np.dstack([colors, alpha]), 16, kind)
            assert fault_of(content) == DEPTH_FAULT
            upper = (colors >> 8).astype(np.uint8)
            expected = over_white(upper, (alpha >> 8).astype(np.uint8))
            expected = expected if expected.ndim == 3 else three(expected)
            assert np.array_equal(tensorflow_pixels(prepared(content, depth=8).content), expected)

    def test_with_one_transparent_value(self) -> None:
        value = int(self.GREY16[3, 4])
        content = png(self.GREY16, 16, GREY, chunk(b"tRNS", struct.pack(">H", value)))
        expected = np.where(self.GREY16 == value, 255, self.GREY16 >> 8)
        stored = prepared(content, depth=8).content
        assert np.array_equal(tensorflow_pixels(stored), three(expected))
        rgb = png(self.RGB16, 16, RGB, chunk(b"tRNS", bytes(6)))
        assert fault_of(rgb, depth=8) == (
            "must not have one transparent colour (tRNS) of 16 bits per channel; store it "
            "with an alpha channel"
        )


class TestOtherFormats:
    COLORS = np.random.default_rng(8).integers(0, 256, (16, 3), dtype=np.uint8)
    VALUES = GREY_PHOTO >> 4
    PALETTED = Image.fromarray(VALUES, "P")
    PALETTED.putpalette(COLORS.tobytes())
    FILES = {
        "GIF": ("GIF", COLORS[VALUES], save(PALETTED, "GIF")),
        "interlaced GIF": ("GIF", COLORS[VALUES], save(PALETTED, "GIF", interlace=1)),
        "grey GIF": ("GIF", three(GREY_PHOTO), save(GREY_PHOTO, "GIF")),
        "WebP": ("WEBP", PHOTO, save(PHOTO, "WEBP", lossless=True)),
        "BMP": ("BMP", PHOTO, save(PHOTO, "BMP")),
        "grey BMP": ("BMP", three(GREY_PHOTO), save(GREY_PHOTO, "BMP")),
        "BMP of 4 bits": ("BMP", COLORS[VALUES], bmp(VALUES, 4, COLORS)),
        "BMP of 1 bit": ("BMP", COLORS[VALUES >> 3], bmp(VALUES >> 3, 1, COLORS[:2])),
        "TIFF": ("TIFF", PHOTO, save(PHOTO, "TIFF")),
        "TIFF, deflate": ("TIFF", PHOTO, save(PHOTO, "TIFF", compression="tiff_deflate")),
        "TIFF, LZW": ("TIFF", PHOTO, save(PHOTO, "TIFF", compression="tiff_lzw")),
        "grey TIFF": ("TIFF", three(GREY_PHOTO), save(GREY_PHOTO, "TIFF")),
        "palette TIFF": ("TIFF", COLORS[VALUES], save(PALETTED, "TIFF")),
        "inverted TIFF": (
            "TIFF",
            three(255 - GREY_PHOTO),
            tiff(GREY_PHOTO.tobytes(), {256: WIDTH, 257: HEIGHT, 258: 8, 262: 0}),
        ),
    }

    @BOTH
    @pytest.mark.parametrize("kind", FILES)
    def test_are_stored_as_png_of_exactly_these_pixels(self, kind: str, check: Check) -> None:
        name, expected, content = self.FILES[kind]
        image = prepared(content, check)
        assert image.format == "png"
        assert image.recoded
        assert np.array_equal(tensorflow_pixels(image.content), expected)
        assert image.remarks == ((Action.CONVERTED, f"{name} stored as PNG"),)

    @pytest.mark.parametrize(
        ("file_format", "options"),
        [
            ("GIF", {"duration": 50}),
            ("WEBP", {"lossless": True}),
            ("TIFF", {}),
        ],
    )
    def test_the_first_frame_is_stored(self, file_format: str, options: dict[str, Any]) -> None:
        frames = [Image.fromarray(shifted) for shifted in (GREY_PHOTO, GREY_PHOTO[::-1].copy())]
        content = save(
            frames[0], file_format, save_all=True, append_images=frames[1:] * 2, **options
        )
        image = prepared(content)
        assert np.array_equal(tensorflow_pixels(image.content), three(GREY_PHOTO))
        num_frames = 2 if file_format == "NONE" else Image.open(io.BytesIO(content)).n_frames
        assert num_frames > 1
        assert remarks(image) == [
            f"{file_format} with {num_frames} frames: the first stored as PNG"
        ]

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("file_format", ["TIFF", "WEBP"])
    def test_are_turned(self, file_format: str, orientation: int) -> None:
        exif = Image.Exif()
        exif[0x0112] = orientation
        options = {"lossless": True} if file_format == "WEBP" else {}
        content = save(PHOTO, file_format, exif=exif, **options)
        image = prepared(content)
        assert np.array_equal(tensorflow_pixels(image.content), turned(PHOTO, orientation))
        assert image.source_size == (image.height, image.width)
        kept = prepared(content, exif="keep")
        assert np.array_equal(tensorflow_pixels(kept.content), PHOTO)
        told = f"EXIF orientation {orientation} not applied"
        assert (told in remarks(kept)) is (orientation != 1)

    def test_a_cmyk_tiff_has_the_right_colours(self) -> None:
        content = save(Image.fromarray(TestCmykJpeg.CMYK, "CMYK"), "TIFF")
        image = prepared(content)
        assert difference(tensorflow_pixels(image.content), TestCmykJpeg.COLORS) <= 1

    def test_floats_and_signed_numbers_are_refused(self) -> None:
        floats = save(Image.fromarray(GREY_PHOTO.astype(np.float32)), "TIFF")
        assert fault_of(floats).startswith("must have whole numbers as pixels (got 32-bit floats)")
        signed = tiff(GREY_PHOTO.tobytes(), {256: WIDTH, 257: HEIGHT, 258: 8, 339: 2})
        assert fault_of(signed) == "must have unsigned whole numbers as pixels (got signed ones)"
        long = save(Image.fromarray(GREY_PHOTO.astype(np.int32)), "TIFF")
        assert fault_of(long) == "must have 8 or 16 bits per channel (got 32)"

    @pytest.mark.parametrize("kind", ["GIF", "WebP", "BMP", "TIFF", "TIFF, LZW"])
    def test_truncated_ones_are_refused_or_whole(self, kind: str) -> None:
        name, expected, content = self.FILES[kind]
        for size in range(20, len(content), max(1, len(content) // 25)):
            try:
                image = prepare_image(content[:size], ImageFeature(), Check.DECODE)
            except RecordError as error:
                assert str(error).startswith(f"the {name} could not be decoded (")
            else:
                assert np.array_equal(tensorflow_pixels(image.content), expected)


def webp_header(chunk_kind: bytes, side: int) -> bytes:
    """A WebP that claims a size, in each of its three forms."""
    bits = struct.pack("<I", (side - 1) | (side - 1) << 14)
    data = {
        b"VP8X": bytes(4) + struct.pack("<I", side - 1)[:3] * 2,
        b"VP8L": b"\x2f" + bits + bytes(101),
        b"VP8 ": b"\x50\0\0\x9d\x01\x2a" + struct.pack("<HH", side, side) + bytes(100),
    }[chunk_kind]
    body = b"WEBP" + chunk_kind + struct.pack("<I", len(data)) + data
    if chunk_kind == b"VP8X":
        body += save(PHOTO[:8, :8], "WEBP", lossless=True)[12:]
    return b"RIFF" + struct.pack("<I", len(body)) + body


class TestLimits:
    SIDE = 60_000
    HEADERS = {
        "JPEG": resized_header(jpeg(PHOTO), SIDE, SIDE),
        "CMYK JPEG": resized_header(ycck_jpeg(TestCmykJpeg.CMYK), SIDE, SIDE),
        "PNG": png_of(SIDE, SIDE, 8, RGB, chunk(b"IDAT", b"")),
        "RGBA PNG": png_of(SIDE, SIDE, 8, RGBA, chunk(b"IDAT", b"")),
        "GIF": b"GIF89a" + struct.pack("<HH", SIDE, SIDE) + save(GREY_PHOTO, "GIF")[10:],
        "BMP": b"BM" + bytes(12)[:8] + struct.pack("<I", 54)
        + struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 24, 0, 0, 0, 0, 0, 0),
        "TIFF": tiff(bytes(100), {256: SIDE, 257: SIDE, 258: 8}),
        "WebP, lossy": webp_header(b"VP8 ", 16_000),
        "WebP, lossless": webp_header(b"VP8L", 16_000),
        "WebP, extended": webp_header(b"VP8X", 16_000),
    }  # fmt: skip

    @BOTH
    @pytest.mark.parametrize("kind", HEADERS)
    def test_too_many_pixels_are_refused_before_any_is_allocated(
        self, kind: str, check: Check
    ) -> None:
        side = 16_000 if "WebP" in kind else self.SIDE
        started = time.perf_counter()
        assert fault_of(self.HEADERS[kind], check) == (
            f"must have at most 100,000,000 pixels (got {side} x {side}); resize it, or raise "
            "max_pixels in the schema"
        )
        assert time.perf_counter() - started < 0.5

    @pytest.mark.parametrize("file_format", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF"])
    def test_the_limit_itself_is_allowed(self, file_format: str) -> None:
        content = save(GREY_PHOTO, file_format)
        prepared(content, max_pixels=HEIGHT * WIDTH)
        assert fault_of(content, max_pixels=HEIGHT * WIDTH - 1) == (
            f"must have at most {HEIGHT * WIDTH - 1:,} pixels (got {WIDTH} x {HEIGHT}); resize "
            "it, or raise max_pixels in the schema"
        )

    def test_enlarging_over_the_limit_is_refused(self) -> None:
        assert fault_of(jpeg(PHOTO), resize=Resize(height=12_000, width=12_000)) == (
            "must have at most 100,000,000 pixels once resized (got 12000 x 12000); raise "
            "max_pixels in the schema, or do not enlarge"
        )

    @BOTH
    def test_a_jpeg_over_the_limit_of_tensorflow_is_refused(self, check: Check) -> None:
        # 3 * 13,378 * 13,378 is just over 2 ** 29, 3 * 13,377 ** 2 just below.
        over, below = 13_378, 13_377
        assert fault_of(resized_header(jpeg(PHOTO), over, over), check, max_pixels=1 << 30) == (
            "must decode to less than 2**29 bytes, TensorFlow's limit for a JPEG "
            f"(got {over} x {over}); resize it"
        )
        content = resized_header(jpeg(PHOTO), below, below)
        assert (
            prepare_image(content, ImageFeature(max_pixels=1 << 30), Check.HEADER).height == below
        )
        grey = resized_header(jpeg(GREY_PHOTO), over, over)
        feature = ImageFeature(max_pixels=1 << 30, channels=1)
        assert prepare_image(grey, feature, Check.HEADER).content == grey

    @pytest.mark.parametrize(
        "content", [png(PHOTO, 8, RGB), save(PHOTO, "BMP")], ids=["PNG", "BMP"]
    )
    def test_so_is_one_of_ours(self, content: bytes) -> None:
        options = {"encode": ImageEncoding(format="jpeg"), "max_pixels": 1 << 30}
        assert fault_of(content, resize=Resize(height=13_378, width=13_378), **options) == (
            "must decode to less than 2**29 bytes, TensorFlow's limit for a JPEG "
            "(got 13378 x 13378); resize it"
        )

    def test_what_tensorflow_itself_says_of_that_limit(self) -> None:
        content = resized_header(jpeg(PHOTO), 13_378, 13_378)
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.io.decode_jpeg(content, channels=3)


class TestDamagedPng:
    CONTENT = png(PHOTO, 8, RGB)

    @BOTH
    def test_truncated(self, check: Check) -> None:
        for size in range(8, len(self.CONTENT), 101):
            assert "(truncated)" in fault_of(self.CONTENT[:size], check)
        assert "(truncated)" in fault_of(self.CONTENT[:-1], check)

    def test_zeroed_is_found_by_decoding_alone(self) -> None:
        middle = len(self.CONTENT) // 2
        zeroed = self.CONTENT[:middle] + bytes(100) + self.CONTENT[middle + 100 :]
        assert fault_of(zeroed) == "the PNG is damaged (a chunk's checksum is wrong)"
        feature = ImageFeature()
        assert prepare_image(zeroed, feature, Check.HEADER).content == zeroed
        assert "checksum" in fault_of(zeroed, Check.HEADER, resize=Resize(shorter_side=10))


class TestResize:
    @pytest.mark.parametrize(
        ("resize", "size"),
        [
            (Resize(shorter_side=20), (20, 31)),  # 31.1
            (Resize(longer_side=20), (13, 20)),  # 12.86
            (Resize(longer_side=7), (5, 7)),  # 4.5, half up
            (Resize(shorter_side=90, enlarge=True), (90, 140)),
            (Resize(longer_side=140, enlarge=True), (90, 140)),
            (Resize(height=10, width=50), (10, 50)),
            (Resize(height=100, width=50), (100, 50)),
        ],
    )
    @pytest.mark.parametrize("file_format", ["JPEG", "PNG", "BMP"])
    def test_gives_exact_sizes_and_pillows_pixels(
        self, file_format: str, resize: Resize, size: tuple[int, int]
    ) -> None:
        options = {"quality": 98, "subsampling": 0} if file_format == "JPEG" else {}
        content = save(SMOOTH, file_format, **options)
        image = prepared(content, resize=resize)
        assert (image.height, image.width) == size
        assert image.source_size == (HEIGHT, WIDTH)
        assert image.recoded
        assert image.format == ("jpeg" if file_format == "JPEG" else "png")
        shrunk = Image.fromarray(SMOOTH).resize(size[::-1], Image.Resampling.BILINEAR)
        found = tensorflow_pixels(image.content)
        assert difference(found, np.asarray(shrunk)) <= (
            2 * TOLERANCE if image.format == "jpeg" else 0
        )

    @BOTH
    @pytest.mark.parametrize(
        "resize",
        [
            Resize(shorter_side=HEIGHT),
            Resize(shorter_side=1000),
            Resize(longer_side=WIDTH),
            Resize(longer_side=1000),
            Resize(height=HEIGHT, width=WIDTH),
            Resize(shorter_side=HEIGHT, enlarge=True),
        ],
        ids=range(6),
    )
    def test_keeps_bytes_where_the_size_does_not_change(self, resize: Resize, check: Check) -> None:
        for content in (jpeg(PHOTO), png(PHOTO, 8, RGB)):
            image = prepared(content, check, resize=resize)
            assert image.content == content
            assert not image.recoded

    @pytest.mark.parametrize("resample", ["nearest", "bilinear", "bicubic", "lanczos"])
    def test_uses_the_filter_that_was_asked_for(self, resample: Any) -> None:
        image = prepared(png(PHOTO, 8, RGB), resize=Resize(shorter_side=20, resample=resample))
        method = Image.Resampling[resample.upper()]
        expected = Image.fromarray(PHOTO).resize((31, 20), method)
        assert np.array_equal(tensorflow_pixels(image.content), np.asarray(expected))

    def test_a_palette_is_resized_in_its_colours(self) -> None:
        colors = np.array([[250, 0, 0], [0, 0, 250]])
        values = np.arange(8).reshape(1, 8).repeat(8, axis=0) % 2
        image = prepared(
            png(values, 1, PALETTE, palette_chunk(colors)), resize=Resize(height=2, width=2)
        )
        assert difference(tensorflow_pixels(image.content), np.full((2, 2, 3), [125, 0, 125])) <= 15

    def test_a_large_jpeg_decoded_smaller_looks_as_if_decoded_whole(self) -> None:
        content = jpeg(photo(800, 1000), quality=98, subsampling=0)
        image = prepared(
            content, resize=Resize(shorter_side=80), encode=ImageEncoding(format="png")
        )
        assert (image.height, image.width) == (80, 100)
        assert image.source_size == (800, 1000)
        whole = Image.fromarray(pillow_pixels(content)).resize((100, 80), Image.Resampling.BILINEAR)
        found = tensorflow_pixels(image.content).astype(int)
        assert np.abs(found - np.asarray(whole)).mean() < 2


class TestEncode:
    FILES = {
        "JPEG": jpeg(SMOOTH, quality=98, subsampling=0),
        "grey JPEG": jpeg(SMOOTH[:, :, 0], quality=98),
        "PNG": png(SMOOTH, 8, RGB),
        "grey PNG": png(SMOOTH[:, :, 0], 8, GREY),
        "BMP": save(SMOOTH, "BMP"),
        "turned": jpeg(SMOOTH, 6, quality=98, subsampling=0),
    }

    @pytest.mark.parametrize("kind", FILES)
    @pytest.mark.parametrize(
        ("subsampling", "factors"), [("4:4:4", 0x11), ("4:2:2", 0x21), ("4:2:0", 0x22)]
    )
    def test_jpeg(self, kind: str, subsampling: Any, factors: int) -> None:
        content = self.FILES[kind]
        image = prepared(
            content, encode=ImageEncoding(format="jpeg", quality=95, subsampling=subsampling)
        )
        assert image.format == "jpeg"
        assert image.content != content
        header = read_header(image.content)
        assert header.num_components == (1 if "grey" in kind else 3)
        if "grey" not in kind:
            assert image.content[offset_of(image.content, 0xC0) + 11] == factors
        expected = pillow_pixels(content)
        expected = turned(expected, 6) if kind == "turned" else expected
        assert difference(tensorflow_pixels(image.content), expected) <= 2 * TOLERANCE

    @pytest.mark.parametrize("kind", FILES)
    def test_png_is_exact(self, kind: str) -> None:
        image = prepared(self.FILES[kind], encode=ImageEncoding(format="png"))
        assert image.format == "png"
        expected = pillow_pixels(self.FILES[kind])
        expected = turned(expected, 6) if kind == "turned" else expected
        assert np.array_equal(tensorflow_pixels(image.content), expected)

    @pytest.mark.parametrize("kind", FILES)
    @pytest.mark.parametrize("channels", [1, 3])
    def test_raw(self, kind: str, channels: Any) -> None:
        height, width = (WIDTH, HEIGHT) if kind == "turned" else (HEIGHT, WIDTH)
        image = prepared(
            self.FILES[kind],
            channels=channels,
            encode=ImageEncoding(format="raw"),
            resize=Resize(height=height, width=width),
        )
        assert image.format == "raw"
        found = np.frombuffer(image.content, np.uint8).reshape(height, width, channels)
        expected = pillow_pixels(self.FILES[kind], "L" if channels == 1 else "RGB")
        expected = expected.reshape(HEIGHT, WIDTH, channels)
        expected = turned(expected, 6) if kind == "turned" else expected
        # Grey comes from simplejpeg's or from Pillow's weights.
        assert difference(found, expected) <= (2 if channels == 1 else 0)

    def test_quality_is_used(self) -> None:
        low, high = (
            prepared(png(PHOTO, 8, RGB), encode=ImageEncoding(format="jpeg", quality=quality))
            for quality in (20, 95)
        )
        assert len(low.content) < len(high.content) / 2

    def test_a_jpeg_has_no_side_over_65500(self) -> None:
        content = png(np.zeros((1, 65_501), np.uint8))
        assert fault_of(content, encode=ImageEncoding(format="jpeg")) == (
            "a JPEG has at most 65,500 pixels a side (got 65,501)"
        )
        assert prepared(content, encode=ImageEncoding(format="png")).width == 65_501

    def test_twice_the_same_bytes(self) -> None:
        for kind, content in self.FILES.items():
            encode = ImageEncoding(format="jpeg" if kind == "PNG" else "png")
            assert prepared(content, encode=encode) == prepared(content, encode=encode)


REAL = [
    jpeg(PHOTO, 6),
    jpeg(PHOTO, progressive=True),
    ycck_jpeg(TestCmykJpeg.CMYK),
    png(PHOTO, 8, RGB),
    *(content for _, _, content in list(TestTransparency.FILES.values())[1:3]),
    *(TestOtherFormats.FILES[kind][2] for kind in ("GIF", "WebP", "BMP", "TIFF, LZW")),
]
SMALL = ImageFeature(max_pixels=100_000, resize=Resize(shorter_side=20), depth=8)


class TestMutatedFiles:
    @settings(max_examples=60, deadline=None)
    @given(
        st.sampled_from(REAL),
        st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=6)), max_size=4),
        st.floats(0.2, 1),
        st.sampled_from(Check),
        st.sampled_from([ImageFeature(max_pixels=100_000), SMALL]),
    )
    def test_raise_nothing_but_record_errors(
        self,
        content: bytes,
        changes: list[tuple[float, bytes]],
        kept: float,
        check: Check,
        feature: ImageFeature,
    ) -> None:
        mutated = bytearray(content)
        for place, data in changes:
            # Most places near the start, where the headers are.
            offset = int(place**3 * len(content))
            mutated[offset : offset + len(data)] = data
        try:
            prepare_image(bytes(mutated[: int(kept * len(mutated)) + 1]), feature, check)
        except RecordError as error:
            assert "\n" not in str(error)

    @settings(max_examples=100, deadline=None)
    @given(
        st.sampled_from(
            [
                b"",
                b"\xff\xd8\xff",
                png_of(9, 9, 8, RGB)[:33],
                b"GIF89a",
                b"RIFF\0\1\0\0WEBPVP8L",
                b"BM",
                b"II*\0\x08\0\0\0",
            ]
        ),
        st.binary(max_size=80),
        st.sampled_from(Check),
    )
    def test_arbitrary_bytes_behind_any_start_raise_nothing_but_record_errors(
        self, start: bytes, rest: bytes, check: Check
    ) -> None:
        for feature in (ImageFeature(max_pixels=100_000), SMALL):
            try:
                prepare_image(start + rest, feature, check)
            except RecordError as error:
                assert "\n" not in str(error)
