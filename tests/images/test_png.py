"""PNG headers are read as decoders read them, and what is not whole is found."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pytest
from drawing import (
    GREY,
    GREY_ALPHA,
    PALETTE,
    RGB,
    RGBA,
    chunk,
    palette_chunk,
    photo,
    pillow_pixels,
    png,
    png_of,
    tensorflow_pixels,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tfrec_tools.errors import RecordError
from tfrec_tools.images.png import PngHeader, check_data, read_header

PHOTO = photo(37, 43)
WHOLE = png(PHOTO, 8, RGB)
IDAT = WHOLE.index(b"IDAT") - 4
ROWS = b"".join(b"\0" + row.tobytes() for row in PHOTO)

ALL_FORMS = [
    *((GREY, depth) for depth in (1, 2, 4, 8, 16)),
    *((RGB, depth) for depth in (8, 16)),
    *((PALETTE, depth) for depth in (1, 2, 4, 8)),
    *((GREY_ALPHA, depth) for depth in (8, 16)),
    *((RGBA, depth) for depth in (8, 16)),
]


def samples(color_type: int, depth: int, height: int, width: int) -> NDArray[Any]:
    channels = {RGB: (3,), GREY_ALPHA: (2,), RGBA: (4,)}.get(color_type, ())
    generator = np.random.default_rng(depth)
    return generator.integers(0, 1 << depth, (height, width, *channels), dtype=np.uint16)


def chunks_for(color_type: int) -> list[bytes]:
    colors = np.arange(768).reshape(256, 3) % 251
    return [palette_chunk(colors)] if color_type == PALETTE else []


def fault_of(content: bytes) -> str:
    with pytest.raises(RecordError) as caught:
        check_data(content, read_header(content))
    return str(caught.value)


def with_data(data: bytes) -> bytes:
    """The photograph's header with other compressed data."""
    return png_of(43, 37, 8, RGB, chunk(b"IDAT", data))


class TestReadHeader:
    def test_gives_what_the_chunks_say(self) -> None:
        assert read_header(WHOLE) == PngHeader(37, 43, 8, RGB, False, False, None, False, 1, True)
        assert read_header(png(PHOTO, 8, RGB, interlaced=True)).interlaced

    @pytest.mark.parametrize(("color_type", "depth"), ALL_FORMS)
    def test_knows_all_forms(self, color_type: int, depth: int) -> None:
        values = samples(color_type, depth, 3, 5)
        header = read_header(png(values, depth, color_type, *chunks_for(color_type)))
        assert header[:4] == (3, 5, depth, color_type)
        assert header.has_alpha is (color_type in (GREY_ALPHA, RGBA))

    def test_finds_transparent_colours(self) -> None:
        grey = png(PHOTO[:, :, 0], 8, GREY, chunk(b"tRNS", b"\0\x07"))
        assert read_header(grey).has_alpha
        assert read_header(grey).transparent_grey == 7
        rgb = png(PHOTO, 8, RGB, chunk(b"tRNS", bytes(6)))
        assert read_header(rgb).has_alpha
        assert read_header(rgb).transparent_grey is None

    def test_a_trns_behind_the_data_does_not_count(self) -> None:
        late = WHOLE[:-12] + chunk(b"tRNS", bytes(6)) + WHOLE[-12:]
        assert not read_header(late).has_alpha

    def test_finds_animation_and_orientation(self) -> None:
        assert read_header(png(PHOTO, 8, RGB, chunk(b"acTL", bytes(8)))).animated
        tiff = b"MM\0*\0\0\0\x08" + struct.pack(">HHHIHxxI", 1, 0x0112, 3, 1, 6, 0)
        assert read_header(png(PHOTO, 8, RGB, chunk(b"eXIf", tiff))).orientation == 6

    def test_bytes_behind_the_end_are_passed_over(self) -> None:
        assert read_header(WHOLE + b"anything").has_end
        check_data(WHOLE + b"anything", read_header(WHOLE + b"anything"))

    def test_has_an_end_only_if_every_chunk_is_there(self) -> None:
        for size in range(33, len(WHOLE), 7):
            assert not read_header(WHOLE[:size]).has_end
        assert not read_header(WHOLE[:-1]).has_end

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (WHOLE[:8], "the PNG ends in its header (truncated)"),
            (WHOLE[:32], "the PNG ends in its header (truncated)"),
            (
                WHOLE[:8] + chunk(b"CgBI", bytes(4)) + WHOLE[8:],
                "the PNG is in Apple's own form for iOS, which others cannot read",
            ),
            (WHOLE[:8] + WHOLE[IDAT:], "the PNG's header is damaged"),
            (png_of(0, 5, 8, RGB), "the PNG's header is damaged"),
            (png_of(5, 0, 8, RGB), "the PNG's header is damaged"),
            (png_of(5, 5, 4, RGB), "the PNG's header is damaged"),
            (png_of(5, 5, 8, 5), "the PNG's header is damaged"),
            (png_of(5, 5, 8, RGB, interlace=2), "the PNG's header is damaged"),
        ],
        ids=range(9),
    )
    def test_says_what_is_wrong(self, content: bytes, message: str) -> None:
        with pytest.raises(RecordError) as caught:
            read_header(content)
        assert str(caught.value) == message


class TestCheckData:
    @pytest.mark.parametrize(("color_type", "depth"), ALL_FORMS)
    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    @pytest.mark.parametrize("size", [(1, 1), (2, 5), (5, 2), (9, 33)], ids=str)
    def test_finds_nothing_in_whole_files(
        self, color_type: int, depth: int, interlaced: bool, size: tuple[int, int]
    ) -> None:
        values = samples(color_type, depth, *size)
        content = png(values, depth, color_type, *chunks_for(color_type), interlaced=interlaced)
        header = read_header(content)
        assert header.has_end
        check_data(content, header)
        if color_type in (GREY, RGB) and depth == 8:
            expected = values if color_type == RGB else np.repeat(values[:, :, np.newaxis], 3, 2)
            assert np.array_equal(tensorflow_pixels(content), expected)
            assert np.array_equal(pillow_pixels(content), expected)

    def test_data_may_lie_in_many_chunks_some_empty(self) -> None:
        data = zlib.compress(ROWS)
        parts = [chunk(b"IDAT", data[i : i + 100]) for i in range(0, len(data), 100)]
        content = png_of(43, 37, 8, RGB, chunk(b"IDAT", b""), *parts, chunk(b"IDAT", b""))
        check_data(content, read_header(content))
        assert np.array_equal(tensorflow_pixels(content), PHOTO)

    def test_every_wrong_bit_is_found(self) -> None:
        small = png(PHOTO[:4, :4], 8, RGB)
        for offset in range(16, len(small)):
            damaged = bytearray(small)
            damaged[offset] ^= 0x10
            with pytest.raises(RecordError):
                check_data(bytes(damaged), read_header(bytes(damaged)))

    def test_truncation_is_a_fault_at_every_place(self) -> None:
        for size in range(33, len(WHOLE), 11):
            assert fault_of(WHOLE[:size]) == "the PNG ends too early (truncated)"

    def test_a_wrong_checksum_is_a_fault(self) -> None:
        damaged = bytearray(WHOLE)
        damaged[IDAT + 200] ^= 1
        assert fault_of(bytes(damaged)) == "the PNG is damaged (a chunk's checksum is wrong)"

    def test_data_that_cannot_be_inflated_are_a_fault(self) -> None:
        data = bytearray(zlib.compress(ROWS))
        data[len(data) // 2 : len(data) // 2 + 60] = b"\xff" * 60
        assert fault_of(with_data(bytes(data))).startswith("the PNG is damaged (")
        assert fault_of(with_data(b"rubbish")) == "the PNG is damaged (its compressed data are)"

    @pytest.mark.parametrize("missing", [1, 130, len(ROWS)])
    def test_missing_rows_are_a_fault(self, missing: int) -> None:
        content = with_data(zlib.compress(ROWS[:-missing]))
        assert fault_of(content) == "the PNG is damaged (rows are missing)"

    def test_no_data_at_all_are_a_fault(self) -> None:
        assert fault_of(png_of(43, 37, 8, RGB)) == "the PNG is damaged (rows are missing)"

    def test_missing_rows_of_the_last_interlaced_pass_are_a_fault(self) -> None:
        whole = png(PHOTO, 8, RGB, interlaced=True)
        start = whole.index(b"IDAT")
        data = zlib.decompress(whole[start + 4 : -16])
        cut = png_of(43, 37, 8, RGB, chunk(b"IDAT", zlib.compress(data[:-1])), interlace=1)
        assert fault_of(cut) == "the PNG is damaged (rows are missing)"

    def test_bytes_behind_the_last_row_are_harmless(self) -> None:
        content = with_data(zlib.compress(ROWS + bytes(1000)))
        check_data(content, read_header(content))
        assert np.array_equal(tensorflow_pixels(content), PHOTO)

    @pytest.mark.parametrize("row", [0, 1, 36])
    def test_an_unknown_filter_is_a_fault(self, row: int) -> None:
        rows = bytearray(ROWS)
        rows[row * (1 + 3 * 43)] = 5
        content = with_data(zlib.compress(rows))
        assert fault_of(content) == "the PNG is damaged (a row has no known filter)"

    def test_the_filter_of_each_row_is_looked_at_in_any_pieces(self) -> None:
        # Rows longer than what is inflated at a time.
        width = (1 << 20) // 3 + 5
        rows = bytearray(b"".join(b"\2" + bytes(3 * width) for _ in range(5)))
        header = png_of(width, 5, 8, RGB, chunk(b"IDAT", zlib.compress(rows)))
        check_data(header, read_header(header))
        rows[4 * (1 + 3 * width)] = 9
        damaged = png_of(width, 5, 8, RGB, chunk(b"IDAT", zlib.compress(rows)))
        assert fault_of(damaged) == "the PNG is damaged (a row has no known filter)"

    def test_a_missing_palette_is_a_fault(self) -> None:
        content = png(PHOTO[:, :, 0], 8, PALETTE)
        assert fault_of(content) == "the PNG is damaged (its palette is missing)"

    def test_data_that_inflate_to_far_more_are_not_kept_in_memory(self) -> None:
        bomb = with_data(zlib.compress(ROWS + bytes(64 << 20), 9))
        check_data(bomb, read_header(bomb))

    @settings(max_examples=60, deadline=None)
    @given(st.integers(8, len(WHOLE) - 1), st.binary(min_size=1, max_size=20))
    def test_of_any_bytes_is_a_record_error_or_nothing(self, offset: int, data: bytes) -> None:
        damaged = WHOLE[:offset] + data + WHOLE[offset + len(data) :]
        try:
            check_data(damaged, read_header(damaged))
        except RecordError as error:
            assert "PNG" in str(error)
        else:
            assert np.array_equal(tensorflow_pixels(damaged), PHOTO)
