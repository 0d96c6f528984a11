"""The bytes of text files: decompressed, and as UTF-8 whatever their encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pytest

from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.sources import text_content
from tfrec_tools.storage import open_storage
from tfrec_tools.tables import TableFile

COMPRESS = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.Codec("zstd").compress(data).to_pybytes(),
}


def blocks(folder: Path, content: bytes, num_bytes: int = 4, **options: object) -> list[bytes]:
    """The content of a file in blocks."""
    (folder / "a.csv").write_bytes(content)
    file = TableFile(key=b"a.csv", num_bytes=len(content), **options)
    return list(text_content.blocks(open_storage(str(folder)), file, num_bytes))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"\xef\xbb\xbfa", ("utf-8", 3)),
        (b"\xff\xfea\0", ("utf-16-le", 2)),
        (b"\xfe\xff\0a", ("utf-16-be", 2)),
        (b"\xff\xfe\0\0", ("utf-32-le", 4)),
        (b"\0\0\xfe\xff", ("utf-32-be", 4)),
        (b"a,b", None),
        (b"", None),
    ],
)
def test_byte_order_marks(head, expected) -> None:
    assert text_content.encoding_of_bom(head) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("UTF8", "utf-8"), ("utf-8-sig", "utf-8"), ("ascii", "utf-8"), ("latin-1", "iso8859-1"),
     ("Windows-1252", "cp1252"), ("utf_16", "utf-16")],
)  # fmt: skip
def test_names_of_encodings(name, expected) -> None:
    assert text_content.known_encoding(name) == expected


@pytest.mark.parametrize("name", ["utf-9", "", "rot13", "hex", "a\0b"])
def test_names_that_are_no_encoding_are_refused(name) -> None:
    with pytest.raises(RequestError) as caught:
        text_content.known_encoding(name)
    assert str(caught.value) == (
        f"--encoding must name an encoding such as utf-8, cp1252 or utf-16 (got {name!r})"
    )


@pytest.mark.parametrize(
    "name", ["cp1252", "iso8859-1", "iso8859-15", "koi8-r", "cp437", "mac-roman"]
)
def test_files_of_one_byte_per_character_can_be_cut(name) -> None:
    assert text_content.is_single_byte(name)
    assert text_content.can_be_cut(TableFile(key=b"a", num_bytes=1, encoding=name))
    assert not text_content.can_be_cut(
        TableFile(key=b"a", num_bytes=1, encoding=name, compression="gzip")
    )


@pytest.mark.parametrize(
    "name",
    ["utf-16", "utf-16-le", "utf-32-be", "shift_jis", "gb18030", "big5", "euc_jp", "cp037",
     "iso2022_jp", "utf-7", "hz", "cp932", "johab"],
)  # fmt: skip
def test_others_cannot(name) -> None:
    """EBCDIC (cp037) has one byte per character, but not those of ASCII."""
    assert not text_content.is_single_byte(name)


def test_blocks_are_all_of_one_size_but_the_last(tmp_path) -> None:
    assert blocks(tmp_path, b"abcdefghij") == [b"abcd", b"efgh", b"ij"]
    assert blocks(tmp_path, b"abcdefgh") == [b"abcd", b"efgh"]
    assert blocks(tmp_path, b"") == []
    assert blocks(tmp_path, codecs.BOM_UTF8 + b"abcde") == [b"abcd", b"e"]
    assert blocks(tmp_path, codecs.BOM_UTF8) == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("with_bom", [True, False])
def test_characters_may_be_cut_anywhere(tmp_path, monkeypatch, encoding, with_bom) -> None:
    monkeypatch.setattr(text_content, "READ_BYTES", 5)
    content = (("\ufeff" if with_bom else "") + "aé€𝄞z").encode(encoding)
    found = blocks(tmp_path, content, encoding=encoding)
    assert b"".join(found) == "aé€𝄞z".encode()


def test_utf_16_finds_its_own_byte_order(tmp_path) -> None:
    for content in (codecs.BOM_UTF16_BE + "aé".encode("utf-16-be"), "aé".encode("utf-16")):
        assert blocks(tmp_path, content, encoding="utf-16") == [b"a\xc3\xa9"]


@pytest.mark.parametrize("read_bytes", [4, 5, 1000])
def test_a_wrong_byte_is_named_with_its_place(tmp_path, monkeypatch, read_bytes) -> None:
    monkeypatch.setattr(text_content, "READ_BYTES", read_bytes)
    content = codecs.BOM_UTF16_LE + "abc".encode("utf-16-le") + b"\x00\xdcA\0"
    with pytest.raises(SourceError) as caught:
        blocks(tmp_path, content, encoding="utf-16-le")
    assert str(caught.value) == (
        "a.csv must be text in utf-16-le (byte 0x00 at 8 is none); give --encoding"
    )
    with pytest.raises(SourceError) as caught:
        blocks(tmp_path, "abc".encode("utf-16-le") + b"d", encoding="utf-16-le")
    assert str(caught.value) == (
        "a.csv must be text in utf-16-le (byte 0x64 at 6 is none); give --encoding"
    )


def test_a_range_in_another_encoding(tmp_path) -> None:
    file = TableFile(key=b"a.csv", num_bytes=9, encoding="cp1252")
    assert text_content.as_utf8(b"\x80\xe9", file, 0) == "€é".encode()
    with pytest.raises(SourceError) as caught:
        text_content.as_utf8(b"ab\x81", file, 1_000)
    assert str(caught.value) == (
        "a.csv must be text in cp1252 (byte 0x81 at 1,002 is none); give --encoding"
    )
    plain = TableFile(key=b"a.csv", num_bytes=9)
    assert text_content.as_utf8(b"\xff", plain, 0) == b"\xff"  # its cell is tested later


@pytest.mark.parametrize("compression", COMPRESS)
def test_members_are_read_to_the_last(tmp_path, compression) -> None:
    compress = COMPRESS[compression]
    content = compress(b"") + compress(b"a") + compress(b"bcdef") + compress(b"")
    assert blocks(tmp_path, content, compression=compression) == [b"abcd", b"ef"]
    marked = compress(codecs.BOM_UTF8[:1]) + compress(codecs.BOM_UTF8[1:] + b"a")
    assert blocks(tmp_path, marked, compression=compression) == [b"a"]
    assert blocks(tmp_path, compress(b""), compression=compression) == []


@pytest.mark.parametrize("compression", COMPRESS)
def test_truncated_and_damaged_files_are_errors(tmp_path, compression) -> None:
    whole = COMPRESS[compression](bytes(range(256)) * 40)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    contents = [whole[:-1], whole[:9], whole + whole[:-3], whole + b"rubbish", bytes(damaged)]
    if compression == "zstd":
        contents.pop()  # Arrow writes no checksums
    for content in contents:
        with pytest.raises(SourceError) as caught:
            blocks(tmp_path, content, compression=compression)
        assert str(caught.value) == (
            f"a.csv must be a whole {compression} file (it is truncated or damaged); get it anew"
        )


def test_a_missing_file_is_an_error(tmp_path) -> None:
    with pytest.raises(SourceError) as caught:
        list(text_content.blocks(open_storage(str(tmp_path)), TableFile(key=b"b", num_bytes=1), 4))
    assert str(caught.value) == "b could not be read: no such file or directory"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_order_of_bytes_that_nobody_tells_is_an_error(tmp_path, encoding) -> None:
    (tmp_path / "a.csv").write_bytes("a,b\n".encode(f"{encoding}-le"))
    file = TableFile(key=b"a.csv", num_bytes=8, encoding=encoding, mode="stream")
    with pytest.raises(SourceError) as error:
        list(text_content.blocks(open_storage(str(tmp_path)), file, 8))
    assert str(error.value) == (
        f"a.csv must begin with a byte order mark (it has none); give --encoding {encoding}-le or "
        f"{encoding}-be"
    )
