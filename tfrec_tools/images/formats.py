"""Which picture format some bytes are, by their first bytes; names of files are not trusted."""

from __future__ import annotations

import enum

from tfrec_tools.errors import RecordError


class Format(enum.Enum):
    """Formats that can be stored, as they are or converted."""

    JPEG = "jpeg"
    PNG = "png"
    GIF = "gif"
    WEBP = "webp"
    BMP = "bmp"
    TIFF = "tiff"


def image_format(content: bytes) -> Format:
    """Return the format of a file's content.

    Raises RecordError saying what was found instead.
    """
    if content.startswith(b"\xff\xd8\xff"):
        return Format.JPEG
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return Format.PNG
    if content.startswith((b"GIF87a", b"GIF89a")):
        return Format.GIF
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Format.WEBP
    if content.startswith((b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")):
        return Format.TIFF
    if content.startswith(b"BM") and len(content) > 18:
        return Format.BMP
    raise RecordError(f"must be an image ({_description(content)})")


def _description(content: bytes) -> str:
    if not content:
        return "the file is empty"
    if not content.strip(b"\0"):
        return f"all of its {len(content)} bytes are zero"
    brand = content[8:12] if content[4:8] == b"ftyp" else b""
    if brand in (b"avif", b"avis"):
        return "it is AVIF, which is not supported; convert it to PNG or JPEG"
    if brand in (b"heic", b"heix", b"mif1", b"msf1", b"hevc"):
        return "it is HEIF, which is not supported; convert it to PNG or JPEG"
    if brand:
        return "it is a video; extract pictures from it"
    if content.startswith((b"\xff\x0a", b"\x00\x00\x00\x0cJXL ")):
        return "it is JPEG XL, which is not supported; convert it to PNG or JPEG"
    if content.startswith((b"\x00\x00\x00\x0cjP", b"\xff\x4f\xff\x51")):
        return "it is JPEG 2000, which is not supported; convert it to PNG or JPEG"
    if content.startswith(b"8BPS"):
        return "it is a Photoshop file; export it as PNG or JPEG"
    start = content[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "it is an HTML page, as a failed download leaves behind"
    if start.startswith((b"<?xml", b"<svg")):
        return "it is SVG" if b"<svg" in start else "it is XML"
    if start.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer; run git lfs pull"
    if start.startswith(b"%pdf"):
        return "it is a PDF"
    if start.startswith((b"{", b"[")):
        return "it is JSON text"
    return f"its first bytes are {content[:8].hex(' ')}, no known format's"
