"""How CSV files are opened: where their records begin, and what is to be told."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest

from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.request import CsvOptions
from tfrec_tools.sources import csv_opening
from tfrec_tools.storage import open_storage
from tfrec_tools.tables import Table, TableFile


def opened(folder: Path, *contents: bytes, **options: object) -> Table:
    """Open files a.csv, b.csv and so on."""
    files = []
    for name, content in zip("abcd", contents, strict=False):
        (folder / f"{name}.csv").write_bytes(content)
        packed = content.startswith(b"\x1f\x8b")
        files.append(
            TableFile(
                key=f"{name}.csv".encode(),
                num_bytes=len(content),
                compression="gzip" if packed else None,
                mode="stream" if packed else "ranges",
            )
        )
    return csv_opening.open_csv(open_storage(str(folder)), files, CsvOptions(**options), {})


def start(table: Table, index: int = 0) -> tuple[int, int, str]:
    file = table.files[index]
    return file.data_start, file.first_row, file.mode


@pytest.mark.parametrize(
    ("content", "options", "columns", "expected"),
    [
        (b"a,b\n1,2\n", {}, ("a", "b"), (4, 2, "ranges")),
        (b"\n\na,b\n\n1,2\n", {}, ("a", "b"), (7, 5, "ranges")),
        (codecs.BOM_UTF8 + b"a,b\n1,2\n", {}, ("a", "b"), (7, 2, "ranges")),
        (b'"a\nx",b\r\n1,2\r\n', {}, ("a\nx", "b"), (9, 2, "ranges")),
        (b"1,2\n3,4\n", {}, ("column_1", "column_2"), (0, 1, "ranges")),
        (b"1,2\n3,4\n", {"column_names": ("x", "y")}, ("x", "y"), (0, 1, "ranges")),
        (b"a,b\n1,2\n", {"column_names": ("x", "y"), "skip_rows": 1}, ("x", "y"), (4, 2, "ranges")),
        (b"t\n\na,b\n1,2\n", {"skip_rows": 1}, ("a", "b"), (7, 4, "ranges")),
        (b"a,b\n", {"header": True}, ("a", "b"), (4, 2, "ranges")),
        (b"a,b", {"header": True}, ("a", "b"), (3, 2, "ranges")),
        (b"a\tb\n1\t2\n", {}, ("a", "b"), (4, 2, "ranges")),
        (b"a|b\n1|2\n", {}, ("a", "b"), (4, 2, "ranges")),
        (b"a,b\n1,x\\,y\n", {"escape": "\\"}, ("a", "b"), (4, 2, "exact")),
        (gzip.compress(b"a,b\n1,2\n"), {}, ("a", "b"), (4, 2, "stream")),
        (gzip.compress(codecs.BOM_UTF8 + b"a,b\n1,2\n"), {}, ("a", "b"), (4, 2, "stream")),
        ("ä,b\n1,2\n".encode("utf-16"), {}, ("ä", "b"), (5, 2, "stream")),
        ("ä,b\n1,2\n".encode("cp1252"), {"encoding": "cp1252"}, ("ä", "b"), (4, 2, "ranges")),
    ],
)
def test_where_records_begin(tmp_path, content, options, columns, expected) -> None:
    """In files whose bytes can be cut, by their own bytes; in others by those of UTF-8."""
    table = opened(tmp_path, content, **options)
    assert table.columns == columns
    assert start(table) == expected


def test_each_file_has_its_own_start(tmp_path) -> None:
    table = opened(tmp_path, b"a,b\n1,2\n", b"\na, b\r\n\r\n3,4\n", b"a,b\n")
    assert [start(table, index) for index in range(3)] == [
        (4, 2, "ranges"),
        (9, 4, "ranges"),
        (4, 2, "ranges"),
    ]
    assert len(opened(tmp_path, b"1,x\n2,y\n", b"a,b\n1,2\n", header=False).files) == 2


def test_headers_must_agree(tmp_path) -> None:
    for other, shown in ((b"b,a\n1,2\n", "b, a"), (b"a\n1\n", "a"), (b"A,b\n1,2\n", "A, b")):
        with pytest.raises(SourceError) as caught:
            opened(tmp_path, b"a,b\n1,2\n", other)
        assert str(caught.value) == (
            f"all files must have the same header (a.csv has a, b, b.csv has {shown}); convert "
            "them apart, or use --exclude"
        )


def test_files_without_content_are_errors(tmp_path) -> None:
    with pytest.raises(SourceError) as caught:
        opened(tmp_path, b"a,b\n1,2\n", b"")
    assert str(caught.value) == (
        "a CSV file must not be empty (b.csv); remove it, or use --exclude"
    )
    with pytest.raises(SourceError) as caught:
        opened(tmp_path, b"a,b\n1,2\n", b"\n\n")
    assert str(caught.value) == (
        "b.csv must hold records (it holds none); remove it, or use --exclude"
    )


def test_names_that_do_not_fit(tmp_path) -> None:
    with pytest.raises(RequestError) as caught:
        opened(tmp_path, b"1,2\n", column_names=("x",))
    assert str(caught.value) == "--column-names must name 2 columns of a.csv (got 1)"


@pytest.mark.parametrize("num_bytes", [csv_opening.HEAD_BYTES, csv_opening.SAMPLE_BYTES])
def test_records_larger_than_a_sample(tmp_path, num_bytes) -> None:
    """Whole records are wanted: of half a header the names would be wrong."""
    text = b"x" * (2 * num_bytes)
    wide = b",".join(b"c%06d" % number for number in range(num_bytes // 7))
    for header, record in ((b"a,b", b'"' + text + b'\n",1'), (wide, wide.replace(b"c", b"1"))):
        content = header + b"\n" + record + b"\n"
        table = opened(tmp_path, content, content)
        assert table.columns == tuple(header.decode().split(","))
        assert [start(table, index)[0] for index in range(2)] == [len(header) + 1] * 2
