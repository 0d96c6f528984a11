"""Documents: which files are some, and what their text is."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pytest

from tfrec_tools.errors import SourceError
from tfrec_tools.layout import Layout
from tfrec_tools.records import Unit, keys_of
from tfrec_tools.request import Request, SourceSpec, TextOptions
from tfrec_tools.sources import documents, image_folder
from tfrec_tools.storage import open_storage

COMPRESS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.Codec("zstd").compress(data).to_pybytes(),
}


def request(root: Path | str, **options: object) -> Request:
    text = TextOptions(record="document")
    return Request(source=SourceSpec(root=str(root), kind="text", text=text, **options), output="o")


def touch(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    return root


def listed(asked: Request, *, sort: bool = False) -> tuple[list[bytes], dict[str, int]]:
    keys: list[bytes] = []
    ignored: dict[str, int] = {}
    for unit in documents.list_units(asked):
        for batch in documents.list_unit(asked, unit, sort=sort):
            keys += keys_of(batch.files)
            for word, number in batch.ignored.items():
                ignored[word] = ignored.get(word, 0) + number
    return keys if sort else sorted(keys), ignored


def texts(*contents: bytes, **options: object) -> documents.Texts:
    return documents.texts_of(contents, TextOptions(record="document", **options))


class TestListing:
    def test_text_files_of_a_folder(self, tmp_path) -> None:
        taken = ["a/1.txt", "a/2.TXT", "a/3.text", "a/README", "a/4.txt.gz", "a/deep/5.text.zst"]
        touch(tmp_path, *taken, "a/x.md", "a/y.md.gz", "a/.hidden.txt", ".git/z.txt", "b/c.jpg")
        assert listed(request(tmp_path)) == (
            sorted(name.encode() for name in taken),
            {".md": 2, "hidden": 1, ".jpg": 1},
        )

    def test_excluded_ones_are_counted(self, tmp_path) -> None:
        touch(tmp_path, "a/1.txt", "a/2.txt")
        assert listed(request(tmp_path, exclude=("a/2.*",))) == ([b"a/1.txt"], {"excluded": 1})

    @pytest.mark.parametrize(
        ("pattern", "keys"),
        [
            ("*.md", [b"0.md"]),
            ("*/*.md", [b"a/1.md", b"b/3.md"]),
            ("**/*.md", [b"0.md", b"a/1.md", b"a/deep/2.md", b"b/3.md"]),
            ("[b-z]/*", [b"b/3.md", b"b/4.txt"]),
        ],
    )
    def test_a_pattern_takes_all_files_that_fit(self, tmp_path, pattern, keys) -> None:
        touch(tmp_path, "0.md", "a/1.md", "a/deep/2.md", "b/3.md", "b/4.txt", "b/.5.md")
        found, ignored = listed(request(f"{tmp_path}/{pattern}"))
        assert found == keys
        assert set(ignored) <= {"hidden"}

    def test_a_pattern_without_folders_lists_no_folder(self, tmp_path) -> None:
        touch(tmp_path, "0.md", "a/1.md")
        assert documents.list_units(request(f"{tmp_path}/*.md")) == [Unit(b"", recursive=False)]

    def test_one_file(self, tmp_path) -> None:
        touch(tmp_path, "a/1.md", "a/2.md")
        asked = request(tmp_path / "a" / "1.md")
        assert listed(asked) == ([b"1.md"], {})
        assert documents.file_storage(asked).url == str(tmp_path / "a")

    def test_a_path_that_exists_is_no_pattern(self, tmp_path) -> None:
        touch(tmp_path, "a[1]/x.txt", "a1/y.txt")
        assert listed(request(tmp_path / "a[1]"))[0] == [b"x.txt"]

    def test_images_are_those_of_a_folder_whatever_its_name(self, tmp_path) -> None:
        asked = Request(source=SourceSpec(root=f"{tmp_path}/*.md"), output="o")
        assert documents.file_root(asked).folder == f"{tmp_path}/*.md"

    def test_a_source_that_is_not_there(self, tmp_path) -> None:
        with pytest.raises(SourceError) as found:
            documents.list_units(request(tmp_path / "none"))
        assert str(found.value) == (
            f"the source must be a folder of text files ({tmp_path / 'none'} does not exist)"
        )

    @pytest.mark.parametrize(
        ("source", "name"),
        [("pets", "pets"), ("pets/1.txt.gz", "1"), ("pets/**/*.md", "pets"), ("pets/", "pets")],
    )
    def test_names(self, tmp_path, source, name) -> None:
        touch(tmp_path, "pets/1.txt.gz")
        assert documents.source_name(request(f"{tmp_path}/{source}")) == name

    def test_stems_of_compressed_files(self) -> None:
        parts = [image_folder.path_parts(key, Layout()) for key in (b"a/x.y.txt.gz", b"x.gz")]
        assert [(part["stem"], part["extension"]) for part in parts] == [
            (b"x.y", b".txt"),
            (b"x", b".gz"),
        ]


class TestTexts:
    def test_line_ends_and_all_else_are_kept(self) -> None:
        contents = [b"a\r\nb\n\rc\n", b"", b"\0\n\n ", "é 𝄞".encode(), b"BZh is no archive"]
        found = texts(*contents)
        assert found.values.to_pylist() == contents
        assert found.values.type == pa.large_binary()
        assert (found.faults, found.left_out) == ({}, {})

    def test_no_documents(self) -> None:
        assert texts().values.to_pylist() == []

    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_compressed_ones(self, suffix) -> None:
        compress = COMPRESS[suffix]
        found = texts(compress("né\r\n".encode()), compress(b"a") + compress(b"b"), compress(b""))
        assert found.values.to_pylist() == ["né\r\n".encode(), b"ab", b""]

    @pytest.mark.parametrize(
        ("suffix", "name"), [("gz", "gzip"), ("bz2", "bz2"), ("xz", "xz"), ("zst", "zstd")]
    )
    def test_truncated_ones(self, suffix, name) -> None:
        content = COMPRESS[suffix](b"some text " * 100)
        found = texts(b"whole", content[:-3], content[: len(content) // 2], min_chars=1)
        message = f"must be a whole {name} file (it is truncated or damaged); get it anew"
        assert found.faults == {1: message, 2: message}
        assert found.left_out == {}

    @pytest.mark.parametrize(
        ("mark", "encoding"),
        [
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (codecs.BOM_UTF32_LE, "utf-32-le"),
            (codecs.BOM_UTF32_BE, "utf-32-be"),
        ],
    )
    def test_byte_order_marks_tell_the_encoding(self, mark, encoding) -> None:
        content = mark + "né\r\n".encode(encoding)
        found = texts(b"plain", content, gzip.compress(content), mark)
        assert found.values.to_pylist() == [b"plain", *2 * ["né\r\n".encode()], b""]
        assert found.faults == {}

    def test_an_encoding_that_is_said(self) -> None:
        contents = ["né".encode("cp1252"), b"", "x€".encode("cp1252")]
        assert texts(*contents, encoding="cp1252").values.to_pylist() == [
            "né".encode(),
            b"",
            "x€".encode(),
        ]
        utf16 = codecs.BOM_UTF16_LE + "né".encode("utf-16-le")
        for name in ("utf-16", "utf-16-le"):
            assert texts(utf16, encoding=name).values.to_pylist() == ["né".encode()]

    def test_wrong_encodings(self) -> None:
        utf16 = codecs.BOM_UTF16_LE + "né".encode("utf-16-le") + b"\0"
        contents = [b"a", b"n\xe9\n", utf16, b"b"]
        assert texts(*contents).faults == {
            1: "must be UTF-8 text (byte 2 of the document, 0xe9, is none); use --encoding such as "
            "cp1252, or --errors replace",
            2: "must be text in utf-16-le (character 3 of the document is none); use another "
            "--encoding, or --errors replace",
        }
        replaced = texts(*contents, errors="replace")
        assert replaced.values.to_pylist() == [
            b"a",
            "n\ufffd\n".encode(),
            "né\ufffd".encode(),
            b"b",
        ]
        skipped = texts(*contents, errors="skip")
        assert (skipped.faults, skipped.left_out) == ({}, {1: "not utf-8", 2: "not utf-16-le"})
        assert skipped.values.to_pylist()[::3] == [b"a", b"b"]

    def test_bytes_stay_as_they_are(self) -> None:
        contents = [codecs.BOM_UTF8 + b"a", b"\xff\xfea\0", b"\xe9\0"]
        found = texts(*contents, gzip.compress(b"\xe9"), as_="bytes")
        assert found.values.to_pylist() == [*contents, b"\xe9"]
        assert found.faults == {}

    def test_limits(self) -> None:
        found = texts(b"a", "éé".encode(), b"abc", b"abcdef", min_chars=2, max_chars=3)
        assert found.left_out == {0: "too short", 3: "too long"}
        assert texts(b"a", b"abc", max_record_bytes=2).faults == {
            1: "must have at most 2 bytes (it has 3); raise max_record_bytes, or split it"
        }

    def test_changes(self) -> None:
        found = texts(" E\u0301 \n".encode(), normalize="NFC", strip=True, lowercase=True)
        assert found.values.to_pylist() == ["é".encode()]


def test_reading_names_what_cannot_be_read(tmp_path) -> None:
    touch(tmp_path, "a.txt", "b.txt")
    storage = open_storage(str(tmp_path))
    options = TextOptions(record="document", min_chars=1)
    found = documents.read_documents(storage, [b"a.txt", b"none", b"b.txt"], options)
    assert found.values.to_pylist()[::2] == [b"a.txt", b"b.txt"]
    assert found.faults == {1: "could not be read (no such file or directory)"}
    assert found.left_out == {}
