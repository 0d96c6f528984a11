"""JPEG headers are read as decoders read them."""

from __future__ import annotations

import struct

import pytest
from drawing import inserted, jpeg, offset_of, photo, save, segment
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tfrec_tools.errors import RecordError
from tfrec_tools.images.jpeg import exif_orientation, read_header

PHOTO = photo(60, 80)
PLAIN = jpeg(PHOTO)
SOF, SOS, DHT = 0xC0, 0xDA, 0xC4


def exif(orientation: int, *, order: str = "<", kind: int = 3) -> bytes:
    """A TIFF block with one tag."""
    value = struct.pack(order + {1: "Bxxx", 3: "Hxx", 4: "I"}[kind], orientation)
    mark = b"II" if order == "<" else b"MM"
    directory = struct.pack(order + "HHHI", 1, 0x0112, kind, 1) + value + bytes(4)
    return mark + struct.pack(order + "HI", 42, 8) + directory


class TestReadHeader:
    def test_gives_size_components_and_process(self) -> None:
        header = read_header(PLAIN)
        assert header[:-1] == (60, 80, 3, 8, 0, 1, True)
        assert header.data_start == offset_of(PLAIN, SOS) + 14
        assert read_header(jpeg(PHOTO[:, :, 0])).num_components == 1
        assert read_header(jpeg(PHOTO, progressive=True)).process == 2
        cmyk = save(Image.fromarray(PHOTO).convert("CMYK"), "JPEG")
        assert read_header(cmyk).num_components == 4

    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_gives_the_orientation(self, orientation: int) -> None:
        assert read_header(jpeg(PHOTO, orientation)).orientation == orientation

    def test_the_first_exif_segment_counts_and_other_app1_segments_do_not(self) -> None:
        xmp = segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0Exif\0\0" + exif(3))
        first, second = (segment(0xE1, b"Exif\0\0" + exif(n)) for n in (6, 8))
        assert read_header(inserted(PLAIN, 2, xmp)).orientation == 1
        assert read_header(inserted(PLAIN, 2, xmp + first + second)).orientation == 6

    def test_exif_behind_the_frame_header_counts(self) -> None:
        late = inserted(PLAIN, offset_of(PLAIN, SOS), segment(0xE1, b"Exif\0\0" + exif(5)))
        assert read_header(late).orientation == 5

    @pytest.mark.parametrize(
        "more", [b"\0", b"\0" * 5000, b"\xff" * 3, b"\xff\x01", b"\xff\xd0", b"abc\xff\0def"]
    )
    def test_passes_over_bytes_between_segments_as_decoders_do(self, more: bytes) -> None:
        for marker in (SOF, DHT, SOS):
            odd = inserted(PLAIN, offset_of(PLAIN, marker), more)
            assert read_header(odd)[:-1] == read_header(PLAIN)[:-1]

    def test_an_end_marker_may_be_followed_by_other_bytes(self) -> None:
        assert read_header(PLAIN + bytes(100_000)).has_end
        assert read_header(PLAIN + PLAIN).has_end
        assert not read_header(PLAIN[:-1]).has_end
        assert not read_header(PLAIN[:-2] + b"\0\0").has_end

    def test_the_end_marker_of_a_preview_in_exif_is_not_that_of_the_picture(self) -> None:
        preview = segment(0xE1, b"Exif\0\0" + exif(1) + jpeg(photo(8, 8)))
        assert not read_header(inserted(PLAIN, 2, preview)[:-2]).has_end
        assert read_header(inserted(PLAIN, 2, preview))[:2] == (60, 80)

    def test_every_truncation_before_the_data_is_a_fault(self) -> None:
        for size in range(3, offset_of(PLAIN, SOS) + 4):
            with pytest.raises(RecordError, match=r"truncated|damaged"):
                read_header(PLAIN[:size])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"\xff\xd8\xff", "the JPEG ends before its picture data (truncated)"),
            (PLAIN[:50], "the JPEG ends before its picture data (truncated)"),
            (b"\xff\xd8\xff\xd9\0\0", "the JPEG ends before its picture data (it has none)"),
            (b"\xff\xd8\xff\xe0\0\x01", "the JPEG has a segment without length (damaged)"),
            (
                b"\xff\xd8" + PLAIN[offset_of(PLAIN, SOS) :],
                "the JPEG has no frame header (damaged)",
            ),
            (
                PLAIN.replace(struct.pack(">HH", 60, 80), bytes(4)),
                "the JPEG has a height or width of 0 (damaged)",
            ),
        ],
        ids=range(6),
    )
    def test_says_what_is_wrong(self, content: bytes, message: str) -> None:
        with pytest.raises(RecordError) as caught:
            read_header(content)
        assert str(caught.value) == message

    def test_is_quick_for_a_long_file_of_rubbish(self) -> None:
        for filler in (b"\xff", b"\0", b"\xff\0", b"\xff\x01"):
            with pytest.raises(RecordError):
                read_header(b"\xff\xd8\xff\xe0\0\x02" + filler * (4 << 20))


class TestExifOrientation:
    @pytest.mark.parametrize("order", ["<", ">"])
    @pytest.mark.parametrize("kind", [1, 3, 4])
    def test_is_read_in_both_byte_orders_and_all_types_of_numbers(
        self, order: str, kind: int
    ) -> None:
        for orientation in range(1, 9):
            assert exif_orientation(exif(orientation, order=order, kind=kind)) == orientation

    @pytest.mark.parametrize("orientation", [0, 9, 300])
    def test_that_does_not_exist_is_none(self, orientation: int) -> None:
        assert exif_orientation(exif(orientation)) == 1

    @given(st.binary(max_size=60))
    def test_of_any_bytes_is_one_of_eight(self, data: bytes) -> None:
        for start in (b"", b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"):
            assert exif_orientation(start + data) in range(1, 9)
