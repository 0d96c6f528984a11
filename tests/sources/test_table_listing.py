"""What kind of input a source is, and which files it consists of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.sources import table_listing
from tfrec_tools.sources.table_listing import (
    TableRoot,
    extension_of,
    kind_of,
    list_files,
    table_root,
)


def fill(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return str(folder)


def keys(url: str, kind: str = "csv", exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.key.decode() for file in list_files(url, kind, exclude)[1]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [(b"a.CSV", b"csv"), (b"a.csv.gz", b"csv"), (b"a.tar.gz", b"tar"), (b"gz", b""), (b"a.gz", b"gz"),
     (b".csv", b"csv"), (b"a.b.parquet", b"parquet"), (b"a.jsonl.zst", b"jsonl"), (b"", b"")],
)  # fmt: skip
def test_extensions(name, expected) -> None:
    assert extension_of(name) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [(b"\x1f\x8b\x08", "gzip"), (b"BZh91AY&", "bz2"), (b"BZh\x17rE8P", None), (b"BZh9\x17rE8", "bz2"), (b"BZh is text", None), (b"\x28\xb5\x2f\xfd", "zstd"),
     (b"\xfd7zXZ\x00", "xz"), (b"a,b", None), (b"", None)],
)  # fmt: skip
def test_compression_is_told_by_the_first_bytes(head, expected) -> None:
    assert table_listing.compression_of(head) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.csv", "deep/b.tsv.gz"], "csv"),
        (["a.parquet", "b.parquet"], "table"),
        (["x/a.jsonl"], "table"),
        (["a.csv", "pictures/a.jpg"], "images"),
        (["README.md"], "images"),
        ([], "images"),
        (["a.csv", "README.txt", ".hidden.parquet", "_SUCCESS", "__MACOSX/a.jpg"], "csv"),
    ],
)
def test_the_kind_of_a_folder(tmp_path, names, expected) -> None:
    assert kind_of(fill(tmp_path, *names)) == expected


def test_the_kind_of_one_file(tmp_path) -> None:
    fill(tmp_path, "a.csv", "a.txt", "a.parquet", "a.jpg", "a*.csv", "noext")
    assert kind_of(f"{tmp_path}/a.csv") == "csv"
    assert kind_of(f"{tmp_path}/a.parquet") == "table"
    assert kind_of(f"{tmp_path}/*.csv") == "csv"
    assert kind_of(f"{tmp_path}/missing.csv") == "csv"
    assert kind_of(f"{tmp_path}/missing") == "images"
    assert kind_of(f"{tmp_path}/a.txt") == "text"
    with pytest.raises(RequestError) as caught:
        kind_of(f"{tmp_path}/noext")
    assert str(caught.value) == (
        f"the kind of {tmp_path}/noext must be told with --kind csv, table, text or images (its "
        "name ends in no extension)"
    )


def test_a_folder_of_two_kinds_is_an_error(tmp_path) -> None:
    url = fill(tmp_path, "a.csv", "b.parquet")
    with pytest.raises(RequestError, match=r"must be of one kind \(.* holds (a\.csv and b\.parquet|"
                       r"b\.parquet and a\.csv)\); use --kind$"):  # fmt: skip
        kind_of(url)


def test_roots(tmp_path) -> None:
    fill(tmp_path, "a.csv", "b[1].csv", "deep/x.csv")
    assert table_root(f"{tmp_path}") == TableRoot(f"{tmp_path}")
    assert table_root(f"{tmp_path}/a.csv") == TableRoot(f"{tmp_path}", file=b"a.csv")
    assert table_root(f"{tmp_path}/b[1].csv") == TableRoot(f"{tmp_path}", file=b"b[1].csv")
    assert table_root(f"{tmp_path}/*/x*.csv") == TableRoot(f"{tmp_path}", pattern="*/x*.csv")
    assert table_root("*.csv") == TableRoot(".", pattern="*.csv")
    assert table_root("/*.csv") == TableRoot("/", pattern="*.csv")


def test_files_of_a_folder_in_the_order_of_their_bytes(tmp_path) -> None:
    url = fill(tmp_path, "b.csv", "B.csv", "a/z.tsv", "a.csv", ".x.csv", "_x.csv", "c.csv.gz")
    assert keys(url) == ["B.csv", "a.csv", "a/z.tsv", "b.csv", "c.csv.gz"]
    assert keys(url, exclude=("a/**", "B*")) == ["a.csv", "b.csv", "c.csv.gz"]


def test_text_files_are_tables_only_where_nothing_else_is(tmp_path) -> None:
    url = fill(tmp_path / "1", "a.csv", "README.txt", "LICENSE")
    _, files, ignored = list_files(url, "csv", ())
    assert [file.key for file in files] == [b"a.csv"]
    assert ignored == {".txt": 1, "without extension": 1}
    assert keys(fill(tmp_path / "2", "a.txt", "b.txt")) == ["a.txt", "b.txt"]
    assert keys(fill(tmp_path / "2") + "/a.txt") == ["a.txt"]
    assert keys(fill(tmp_path / "1") + "/*.txt") == ["README.txt"]


def test_patterns(tmp_path) -> None:
    url = fill(tmp_path, "a1.csv", "a2.csv", "b.csv", "deep/a3.csv", "deep/er/a4.csv")
    assert keys(f"{url}/a*.csv") == ["a1.csv", "a2.csv"]
    assert keys(f"{url}/*/a*.csv") == ["deep/a3.csv"]
    assert keys(f"{url}/**/a*.csv")[-2:] == ["deep/a3.csv", "deep/er/a4.csv"]
    assert keys(f"{url}/a[12].csv") == ["a1.csv", "a2.csv"]


def test_errors(tmp_path) -> None:
    url = fill(tmp_path, "a.parquet", "b.jsonl", "c.doc")
    with pytest.raises(SourceError) as caught:
        list_files(url, "csv", ())
    assert str(caught.value) == (
        f"{url} must hold CSV files (.csv, .tsv, .txt) (found 1 .parquet, 1 .jsonl, 1 .doc)"
    )
    with pytest.raises(SourceError) as caught:
        list_files(url, "table", ())
    assert str(caught.value) == (
        f"{url} must hold files of one format (found 1 file of parquet, 1 file of jsonl); use "
        "--exclude"
    )
    with pytest.raises(SourceError) as caught:
        list_files(f"{url}/none", "table", ())
    assert str(caught.value) == f"the source must exist ({url}/none does not)"
    with pytest.raises(SourceError) as caught:
        list_files(f"{url}/*.csv", "csv", ())
    assert str(caught.value) == f"{url}/*.csv must hold CSV files (.csv, .tsv, .txt) (found none)"
