"""Formats are told by their first bytes; what is no image is called by its name."""

from __future__ import annotations

import numpy as np
import pytest
from drawing import bmp, jpeg, photo, png, save
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.errors import RecordError
from tfrec_tools.images.formats import Format, image_format

FILES = {
    Format.JPEG: jpeg(photo(8, 8)),
    Format.PNG: png(np.zeros((2, 2), np.uint8)),
    Format.GIF: save(photo(8, 8), "GIF"),
    Format.WEBP: save(photo(8, 8), "WEBP"),
    Format.BMP: bmp(np.zeros((2, 2), np.uint8), 8, np.zeros((2, 3), np.uint8)),
    Format.TIFF: save(photo(8, 8), "TIFF"),
}
UNSUPPORTED = "which is not supported; convert it to PNG or JPEG"


@pytest.mark.parametrize("kind", FILES, ids=lambda kind: kind.value)
def test_a_picture_is_known_by_its_first_bytes(kind: Format) -> None:
    assert image_format(FILES[kind]) is kind


@pytest.mark.parametrize(
    "start", [b"GIF87a", b"GIF89a", b"MM\0*", b"II*\0", b"II+\0", b"MM\0+"], ids=repr
)
def test_all_forms_of_a_format_are_known(start: bytes) -> None:
    assert image_format(start + bytes(20)) in (Format.GIF, Format.TIFF)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty"),
        (bytes(1000), "all of its 1000 bytes are zero"),
        (b"<!DOCTYPE html><html>", "it is an HTML page, as a failed download leaves behind"),
        (b"\xef\xbb\xbf\r\n  <HTML>", "it is an HTML page, as a failed download leaves behind"),
        (b"<head><title>404", "it is an HTML page, as a failed download leaves behind"),
        (b'<svg xmlns="">', "it is SVG"),
        (b'<?xml version="1.0"?><svg>', "it is SVG"),
        (b'<?xml version="1.0"?><annotation>', "it is XML"),
        (b"%PDF-1.7", "it is a PDF"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0",
            "it is a Git LFS pointer; run git lfs pull",
        ),
        (b'{"error": 404}', "it is JSON text"),
        (b"\0\0\0\x1cftypavif\0\0", f"it is AVIF, {UNSUPPORTED}"),
        (b"\0\0\0\x1cftypheic\0\0", f"it is HEIF, {UNSUPPORTED}"),
        (b"\0\0\0\x1cftypmif1\0\0", f"it is HEIF, {UNSUPPORTED}"),
        (b"\0\0\0\x1cftypmp42\0\0", "it is a video; extract pictures from it"),
        (b"\xff\x0a\xfa\x1f", f"it is JPEG XL, {UNSUPPORTED}"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", f"it is JPEG XL, {UNSUPPORTED}"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", f"it is JPEG 2000, {UNSUPPORTED}"),
        (b"8BPS\0\x01", "it is a Photoshop file; export it as PNG or JPEG"),
        (
            b"PK\x03\x04\x14\0\0\0\x08",
            "its first bytes are 50 4b 03 04 14 00 00 00, no known format's",
        ),
        (b"BM", "its first bytes are 42 4d, no known format's"),
        (b"\xff\xd8", "its first bytes are ff d8, no known format's"),
        (b"\x89PNG", "its first bytes are 89 50 4e 47, no known format's"),
    ],
    ids=range(23),
)
def test_what_is_no_picture_is_called_by_its_name(content: bytes, what: str) -> None:
    with pytest.raises(RecordError) as caught:
        image_format(content)
    assert str(caught.value) == f"must be an image ({what})"


@given(st.binary(max_size=40))
def test_any_bytes_are_a_format_or_a_record_error(content: bytes) -> None:
    try:
        assert image_format(content) in Format
    except RecordError as error:
        assert str(error).startswith("must be an image (")
