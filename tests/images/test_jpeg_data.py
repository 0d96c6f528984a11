"""Damage that costs pixels is found, also where decoders pass over it; whole files are kept."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from drawing import flat_jpeg, inserted, jpeg, offset_of, photo, save, ycck_jpeg
from PIL import Image, ImageDraw

from tfrec_tools.errors import RecordError
from tfrec_tools.images.jpeg import read_header
from tfrec_tools.images.jpeg_data import check_data

PHOTO = photo(60, 80)
PLAIN = jpeg(PHOTO)
PROGRESSIVE = jpeg(PHOTO, progressive=True)
SOF, SOS, DHT, APP0 = 0xC0, 0xDA, 0xC4, 0xE0
LOST = "the JPEG data are damaged (pixels would be lost)"


def remark_of(content: bytes) -> str | None:
    return check_data(content, read_header(content))


def fault_of(content: bytes) -> str:
    with pytest.raises(RecordError) as caught:
        remark_of(content)
    return str(caught.value)


WHOLE: dict[str, dict[str, Any]] = {
    "plain": {},
    "4:4:4": {"subsampling": 0},
    "4:2:2": {"subsampling": 1},
    "progressive": {"progressive": True},
    "progressive 4:4:4": {"progressive": True, "subsampling": 0},
    "restarts": {"restart_marker_blocks": 3},
    "restarts, progressive": {"restart_marker_rows": 1, "progressive": True},
    "optimized": {"optimize": True},
    "quality 100": {"quality": 100, "subsampling": 0},
    "quality 5": {"quality": 5},
    "comment": {"comment": b"x" * 1000},
    "in RGB": {"keep_rgb": True},
}


class TestCheckData:
    @pytest.mark.parametrize("form", WHOLE)
    @pytest.mark.parametrize("size", [(60, 80), (1, 1), (7, 130)], ids=str)
    def test_finds_nothing_in_whole_files(self, form: str, size: tuple[int, int]) -> None:
        assert remark_of(jpeg(photo(*size), **WHOLE[form])) is None
        if form != "in RGB":
            assert remark_of(jpeg(photo(*size)[:, :, 0], **WHOLE[form])) is None

    def test_finds_nothing_in_whole_cmyk_files(self) -> None:
        assert remark_of(save(Image.fromarray(PHOTO).convert("CMYK"), "JPEG")) is None
        assert remark_of(ycck_jpeg(np.dstack([PHOTO, PHOTO[:, :, 0]]))) is None

    @pytest.mark.parametrize("form", ["plain", "optimized", "progressive", "4:4:4"])
    def test_finds_nothing_in_drawings_and_flat_pictures(self, form: str) -> None:
        drawing = Image.new("RGB", (300, 200), "white")
        ImageDraw.Draw(drawing).line((10, 10, 280, 190), fill="black", width=3)
        for quality in (20, 75, 100):
            options = {"quality": quality, **WHOLE[form]}
            assert remark_of(jpeg(drawing, **options)) is None
            assert remark_of(jpeg(Image.new("L", (500, 500)), **options)) is None

    def test_bytes_before_a_marker_are_harmless_and_told(self) -> None:
        for marker in (SOF, DHT, SOS):
            odd = inserted(PLAIN, offset_of(PLAIN, marker), b"1234567")
            assert remark_of(odd) == "7 superfluous bytes in the JPEG, which cost no pixels"

    def test_padding_before_the_end_marker_is_harmless(self) -> None:
        for padding in (bytes(100), b"\x20" * 33):
            for content in (PLAIN, PROGRESSIVE):
                remark = remark_of(inserted(content, len(content) - 2, padding))
                assert remark is not None
                assert remark.endswith(" superfluous bytes in the JPEG, which cost no pixels")

    def test_padding_between_the_scans_of_a_progressive_file_is_harmless(self) -> None:
        last = PROGRESSIVE.rfind(b"\xff\xc4")
        assert "superfluous" in str(remark_of(inserted(PROGRESSIVE, last, bytes(20))))

    def test_data_left_over_once_all_pixels_are_decoded_are_a_fault(self) -> None:
        # So decoders end that lost their place somewhere before.
        for content in (PLAIN, PROGRESSIVE):
            data = content[len(content) // 2 : len(content) // 2 + 60].replace(b"\xff", b"\xfe")
            assert fault_of(inserted(content, len(content) - 2, data)) == LOST

    def test_harmless_bytes_hide_no_damage(self) -> None:
        # libjpeg tells of its first warning only.
        for content, marker in ((PLAIN, SOF), (PROGRESSIVE, 0xC2)):
            odd = inserted(content, offset_of(content, marker), bytes(3))
            assert fault_of(odd[: len(odd) // 2] + b"\xff\xd9") == LOST

    def test_odd_fields_that_decoders_pass_over_are_harmless_and_hide_no_damage(self) -> None:
        revision = bytearray(PLAIN)
        revision[offset_of(PLAIN, APP0) + 9] = 7
        parameters = bytearray(PLAIN)
        start = offset_of(PLAIN, SOS)
        parameters[start + int.from_bytes(PLAIN[start + 2 : start + 4], "big")] = 0
        for odd in (bytes(revision), bytes(parameters)):
            assert remark_of(odd) == "an odd field in the JPEG's header, which costs no pixels"
            assert fault_of(odd[: len(odd) * 2 // 3] + b"\xff\xd9") == LOST

    def test_a_file_with_many_oddities_is_damaged(self) -> None:
        odd = inserted(PLAIN, offset_of(PLAIN, SOF), b"\0\0\xff\xfe\0\2" * 20)
        assert fault_of(odd) == LOST

    def test_zeroed_data_are_a_fault_also_where_the_decoder_comes_out_at_the_end(self) -> None:
        content = jpeg(photo(240, 320, seed=1), quality=90)
        for hole in range(read_header(content).data_start, len(content) - 502, 997):
            zeroed = content[:hole] + bytes(500) + content[hole + 500 :]
            assert fault_of(zeroed) == "the JPEG data are damaged (a part is zeroed)"

    def test_zeros_behind_the_end_and_in_the_header_are_harmless(self) -> None:
        assert remark_of(PLAIN + bytes(1000)) is None
        assert remark_of(inserted(PLAIN, 2, b"\xff\xe5\x01\x02" + bytes(256))) is None

    def test_a_piece_missing_between_restarts_is_a_fault(self) -> None:
        content = jpeg(PHOTO, restart_marker_blocks=3)
        start = content.find(b"\xff\xd3", offset_of(content, SOS))
        for damaged in (
            content[: start - 20] + content[start:],
            content[:start] + content[start + 2 :],
        ):
            assert fault_of(damaged) == LOST

    def test_truncation_is_a_fault_at_every_place(self) -> None:
        for content in (PLAIN, PROGRESSIVE, jpeg(PHOTO[:, :, 0])):
            for size in range(read_header(content).data_start, len(content) - 2, 61):
                fault = fault_of(content[:size])
                cut_table = "the JPEG could not be decoded (damaged)"  # between two scans
                assert fault in ("the JPEG data end too early (truncated)", LOST, cut_table)

    def test_no_words_of_the_library_are_in_a_fault(self) -> None:
        for process in (0xC2, 0xC3, 0xCB):
            damaged = bytearray(PLAIN)
            damaged[offset_of(PLAIN, SOF) + 1] = process
            assert fault_of(bytes(damaged)) == "the JPEG could not be decoded (damaged)"
        without_tables = b"\xff\xd8" + PLAIN[offset_of(PLAIN, SOF) :]
        assert fault_of(without_tables) == "the JPEG could not be decoded (damaged)"

    @pytest.mark.parametrize(
        "factors", [(0x31, 0x11, 0x11), (0x14, 0x12, 0x11), (0x22, 0x12, 0x21)]
    )
    def test_a_subsampling_that_simplejpeg_does_not_know_is_no_damage(
        self, factors: tuple[int, int, int]
    ) -> None:
        content = flat_jpeg(*factors)
        assert remark_of(content) is None
        assert fault_of(content[:-5]) == "the JPEG could not be decoded (truncated)"


def test_damage_is_found_in_photographs_of_all_kinds_and_whole_ones_are_not_refused() -> None:
    generator = np.random.default_rng(5)
    found: Counter[str] = Counter()
    total = 0
    for number in range(66):
        form = list(WHOLE)[number % len(WHOLE)]
        pixels = photo(*generator.integers(150, 330, 2), seed=number)
        grey = number % 5 == 4 and form != "in RGB"
        content = jpeg(pixels[:, :, 0] if grey else pixels, **WHOLE[form])
        assert remark_of(content) is None
        size = len(content)
        if size < 2_000:
            continue
        for _ in range(5):
            total += 1
            cut = int(generator.integers(read_header(content).data_start, size - 2))
            hole = int(generator.integers(size // 2, size - 502))
            noise = generator.integers(0, 255, 500, dtype=np.uint8).tobytes()
            damaged = {
                "truncated": content[:cut],
                "end marker": content[:cut] + b"\xff\xd9",
                "zeroed": content[:hole] + bytes(500) + content[hole + 500 :],
                "overwritten": content[:hole] + noise + content[hole + 500 :],
                "missing": content[:hole] + content[hole + 500 :],
            }
            found.update(kind for kind, data in damaged.items() if _is_refused(data))
    assert total > 250
    assert found["truncated"] == total
    for kind in ("end marker", "zeroed", "missing"):
        assert found[kind] >= 0.95 * total
    assert found["overwritten"] >= 0.8 * total


def _is_refused(content: bytes) -> bool:
    try:
        header = read_header(content)
        if header.has_end:
            check_data(content, header)
    except RecordError:
        return True
    return not header.has_end
