"""Masks keep every number, whatever file they come in; what cannot is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from drawing import (
    GREY,
    GREY_ALPHA,
    PALETTE,
    RGB,
    bmp,
    chunk,
    jpeg,
    palette_chunk,
    photo,
    png,
    png_of,
    save,
    tiff,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from tfrec_tools.errors import RecordError
from tfrec_tools.images import PreparedImage, prepare_mask
from tfrec_tools.request import Check
from tfrec_tools.schema import MaskFeature, Resize

HEIGHT, WIDTH = 13, 21
NUMBERS = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8)
LARGE = (np.arange(HEIGHT * WIDTH) * 240 + 7).reshape(HEIGHT, WIDTH).astype(np.uint16)
COLORS = np.random.default_rng(2).integers(0, 256, (256, 3), dtype=np.uint8)
BOTH = pytest.mark.parametrize("check", Check, ids=lambda check: check.value)
DTYPES = pytest.mark.parametrize("dtype", ["uint8", "uint16"])


def feature(**options: Any) -> MaskFeature:
    return MaskFeature(from_="{stem}.png", **options)


def numbers_of(image: PreparedImage, dtype: str = "uint8") -> NDArray[Any]:
    """What TensorFlow decodes."""
    decoded = tf.io.decode_png(image.content, channels=1, dtype=tf.as_dtype(dtype))
    assert decoded.shape == (image.height, image.width, 1)
    assert image.format == "png"
    return np.asarray(decoded)[:, :, 0]


def fault_of(content: bytes, check: Check = Check.DECODE, **options: Any) -> str:
    with pytest.raises(RecordError) as caught:
        prepare_mask(content, feature(**options), check)
    return str(caught.value)


def paletted(values: NDArray[Any], depth: int, *chunks: bytes) -> bytes:
    return png(values, depth, PALETTE, palette_chunk(COLORS[: 1 << depth]), *chunks)


@BOTH
@DTYPES
@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("form", ["grey", "palette", "palette with transparency", "interlaced"])
def test_a_png_gives_its_numbers(form: str, depth: int, dtype: str, check: Check) -> None:
    values = NUMBERS >> (8 - depth)
    content = {
        "grey": png(values, depth),
        "palette": paletted(values, depth),
        "palette with transparency": paletted(values, depth, chunk(b"tRNS", b"\0")),
        "interlaced": png(values, depth, interlaced=True),
    }[form]
    image = prepare_mask(content, feature(dtype=dtype), check)
    assert np.array_equal(numbers_of(image, dtype), values)
    assert image.source_size == (HEIGHT, WIDTH)
    kept = form in ("grey", "interlaced") and depth == 8 and dtype == "uint8"
    assert image.recoded is not kept
    if kept:
        assert image.content == content


@BOTH
@pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
def test_a_png_of_16_bits_keeps_its_bytes(interlaced: bool, check: Check) -> None:
    content = png(LARGE, 16, interlaced=interlaced)
    image = prepare_mask(content, feature(dtype="uint16"), check)
    assert image == PreparedImage(content, HEIGHT, WIDTH, "png", (HEIGHT, WIDTH))
    assert np.array_equal(numbers_of(image, "uint16"), LARGE)


@BOTH
def test_small_numbers_of_16_bits_fit_8(check: Check) -> None:
    image = prepare_mask(png(NUMBERS.astype(np.uint16), 16), feature(), check)
    assert np.array_equal(numbers_of(image), NUMBERS)


PICTURE = Image.fromarray(NUMBERS, "P")
PICTURE.putpalette(COLORS.tobytes())
SIZE = {256: WIDTH, 257: HEIGHT}


@DTYPES
@pytest.mark.parametrize(
    ("content", "values"),
    [
        (save(NUMBERS, "TIFF"), NUMBERS),
        (save(NUMBERS, "TIFF", compression="tiff_lzw"), NUMBERS),
        (save(PICTURE, "TIFF"), NUMBERS),
        (save(NUMBERS.astype(np.uint16), "TIFF"), NUMBERS),
        (save(NUMBERS.astype(np.int32), "TIFF"), NUMBERS),
        (tiff(np.packbits(NUMBERS >> 7, axis=1).tobytes(), {**SIZE, 258: 1}), NUMBERS >> 7),
        (save(PICTURE, "GIF", optimize=False), NUMBERS),
        (bmp(NUMBERS >> 4, 4, COLORS[:16]), NUMBERS >> 4),
        (bmp(NUMBERS >> 7, 1, COLORS[:2]), NUMBERS >> 7),
        (save(PICTURE, "BMP"), NUMBERS),
    ],
    ids=["TIFF", "LZW", "palette TIFF", "16 bits", "32 bits", "1 bit", "GIF", "BMP of 4 bits",
         "BMP of 1 bit", "palette BMP"],
)  # fmt: skip
def test_other_files_give_their_numbers(content: bytes, values: NDArray[Any], dtype: str) -> None:
    image = prepare_mask(content, feature(dtype=dtype), Check.DECODE)
    assert np.array_equal(numbers_of(image, dtype), values)
    assert image.recoded


def test_a_tiff_of_16_bits_gives_its_numbers() -> None:
    image = prepare_mask(save(LARGE, "TIFF"), feature(dtype="uint16"), Check.DECODE)
    assert np.array_equal(numbers_of(image, "uint16"), LARGE)


@pytest.mark.parametrize("depth", [2, 4])
def test_a_tiff_of_few_bits_gives_its_numbers(depth: int) -> None:
    values = NUMBERS[:, :16] >> (8 - depth)
    bits = np.unpackbits(values[:, :, np.newaxis], axis=2)[:, :, 8 - depth :].reshape(HEIGHT, -1)
    data = np.packbits(bits, axis=1).tobytes()
    content = tiff(data, {256: 16, 257: HEIGHT, 258: depth})
    image = prepare_mask(content, feature(), Check.DECODE)
    assert np.array_equal(numbers_of(image), values)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (png(LARGE, 16), f"to 255 (got {LARGE.max()}); use dtype: uint16"),
        (save(LARGE, "TIFF"), f"to 255 (got {LARGE.max()}); use dtype: uint16"),
        (save(LARGE.astype(np.int32) * 100, "TIFF"), f"to 255 (got {int(LARGE.max()) * 100})"),
        (save(LARGE.astype(np.int32) - 9, "TIFF"), "to 255 (got -2)"),
    ],
    ids=range(4),
)
def test_numbers_beyond_the_dtype_are_refused(content: bytes, message: str) -> None:
    assert fault_of(content) == f"a mask of dtype uint8 must hold numbers from 0 {message}"


def test_numbers_beyond_16_bits_are_refused() -> None:
    content = save(LARGE.astype(np.int32) + 65536, "TIFF")
    found = int(LARGE.max()) + 65536
    assert fault_of(content, dtype="uint16") == (
        f"a mask of dtype uint16 must hold numbers from 0 to 65535 (got {found})"
    )


@BOTH
@pytest.mark.parametrize(
    ("content", "mode"),
    [
        (png(photo(HEIGHT, WIDTH), 8, RGB), "RGB"),
        (png(np.dstack([NUMBERS, NUMBERS]), 8, GREY_ALPHA), "LA"),
        (save(photo(HEIGHT, WIDTH), "BMP"), "RGB"),
        (save(NUMBERS.astype(np.float32), "TIFF"), "F"),
    ],
    ids=["RGB", "LA", "BMP", "floats"],
)
def test_more_than_one_number_per_pixel_is_refused(content: bytes, mode: str, check: Check) -> None:
    assert fault_of(content, check) == (
        f"a mask must have one number per pixel (got a picture of mode {mode}); "
        "store class numbers as grey or palette PNG"
    )


@BOTH
@pytest.mark.parametrize("name", ["JPEG", "WEBP"])
def test_formats_that_lose_numbers_are_refused(name: str, check: Check) -> None:
    content = jpeg(NUMBERS) if name == "JPEG" else save(NUMBERS, "WEBP", lossless=True)
    assert fault_of(content, check) == (
        f"a mask must keep its values exactly ({name} does not); use PNG"
    )


def test_inverted_numbers_are_refused() -> None:
    content = tiff(NUMBERS.tobytes(), {**SIZE, 258: 8, 262: 0})
    assert fault_of(content) == (
        "a mask must not have its numbers inverted (0 as white); store it as PNG"
    )


@BOTH
@DTYPES
@pytest.mark.parametrize(
    "resize",
    [
        Resize(shorter_side=6),
        Resize(longer_side=40, enlarge=True),
        Resize(height=7, width=5, resample="nearest"),
        Resize(height=26, width=42),
    ],
    ids=range(4),
)
def test_is_resized_to_the_nearest_number(resize: Resize, dtype: str, check: Check) -> None:
    height, width = resize.target_size(HEIGHT, WIDTH)
    rows = np.floor((np.arange(height) + 0.5) * HEIGHT / height).astype(int)
    columns = np.floor((np.arange(width) + 0.5) * WIDTH / width).astype(int)
    for content in (png(NUMBERS), paletted(NUMBERS, 8), save(NUMBERS, "TIFF")):
        image = prepare_mask(content, feature(resize=resize, dtype=dtype), check)
        assert np.array_equal(numbers_of(image, dtype), NUMBERS[rows][:, columns])
        assert image.source_size == (HEIGHT, WIDTH)
        assert image.recoded


def test_lies_on_its_picture_after_resizing_as_pillow_places_pixels() -> None:
    resize = Resize(height=6, width=9)
    image = prepare_mask(png(NUMBERS), feature(resize=resize), Check.DECODE)
    nearest = Image.fromarray(NUMBERS).resize((9, 6), Image.Resampling.NEAREST)
    assert np.array_equal(numbers_of(image), np.asarray(nearest))


@BOTH
@pytest.mark.parametrize(
    "resize", [Resize(shorter_side=HEIGHT), Resize(longer_side=900)], ids=range(2)
)
def test_keeps_its_bytes_where_the_size_does_not_change(resize: Resize, check: Check) -> None:
    content = png(NUMBERS)
    assert prepare_mask(content, feature(resize=resize), check).content == content


@BOTH
def test_is_refused_over_the_limit_and_once_enlarged(check: Check) -> None:
    huge = png_of(60_000, 60_000, 8, GREY, chunk(b"IDAT", b""))
    assert "must have at most 100,000,000 pixels (got 60000 x 60000)" in fault_of(huge, check)
    resize = Resize(height=60_000, width=60_000)
    assert "pixels once resized (got 60000 x 60000)" in fault_of(png(NUMBERS), check, resize=resize)
    assert "must have at most 9 pixels" in fault_of(save(NUMBERS, "TIFF"), check, max_pixels=9)


def test_damage_is_found() -> None:
    content = png(NUMBERS)
    for check in Check:
        for size in range(8, len(content), 9):
            assert "(truncated)" in fault_of(content[:size], check)
    wrong = bytearray(content)
    wrong[60] ^= 1
    assert "checksum" in fault_of(bytes(wrong))
    assert prepare_mask(bytes(wrong), feature(), Check.HEADER).content == bytes(wrong)
    assert "checksum" in fault_of(bytes(wrong), Check.HEADER, dtype="uint16")


REAL = [png(NUMBERS), png(LARGE, 16), paletted(NUMBERS >> 4, 4), save(NUMBERS, "TIFF"),
        save(PICTURE, "GIF"), save(PICTURE, "BMP")]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(REAL),
    st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=6)), max_size=4),
    st.sampled_from(Check),
    st.sampled_from([None, Resize(shorter_side=5)]),
)
def test_mutated_files_raise_nothing_but_record_errors(
    content: bytes, changes: list[tuple[float, bytes]], check: Check, resize: Resize | None
) -> None:
    mutated = bytearray(content)
    for place, data in changes:
        offset = int(place**3 * len(content))
        mutated[offset : offset + len(data)] = data
    try:
        prepare_mask(bytes(mutated), feature(max_pixels=100_000, resize=resize), check)
    except RecordError as error:
        assert "\n" not in str(error)
