"""Cells end to end: what a CSV file says is what the dataset stores, or there is an error."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tfrec_tools
from tfrec_tools.errors import RecordError, RequestError, SourceError
from tfrec_tools.local_engine import plan_table
from tfrec_tools.manifest import Manifest
from tfrec_tools.request import CsvOptions, Request, SourceSpec

Stored = Callable[..., dict[str, list[Any]]]


@pytest.fixture
def stored(tmp_path, read_dataset) -> Stored:
    """Convert the content of a CSV file in its own order; all values by feature."""

    def convert(content: str | bytes, name: str = "in.csv", **options: Any) -> dict[str, list[Any]]:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        options = {"order": "source", "num_shards": 1} | options
        tfrec_tools.convert(path, tmp_path / "out", kind="csv", num_workers=1, **options)
        records = read_dataset(tmp_path / "out")
        return {name: [record.get(name) for record in records] for name in records[0]}

    return convert


@pytest.fixture
def kinds(tmp_path) -> Callable[[], dict[str, str]]:
    """Return the kind of each feature of the dataset that was written."""
    return lambda: {n: f.kind for n, f in _manifest(tmp_path).schema.features.items()}


def _manifest(tmp_path: Path) -> Manifest:
    return tfrec_tools.load_manifest(str(tmp_path / "out"))


def _notes(tmp_path: Path, **csv: Any) -> list[str]:
    """What is told of the file when it is converted."""
    source = SourceSpec(root=str(tmp_path / "in.csv"), kind="csv", csv=CsvOptions(**csv))
    _, plan = plan_table(Request(source=source, output=str(tmp_path / "other")))
    return list(plan.layout.notes)


def test_large_ids_next_to_empty_cells_keep_all_digits(stored) -> None:
    found = stored("id,x\n9223372036854775807,1\n,2\n-9223372036854775808,\n9007199254740993,4\n")
    assert found == {
        "id": [[9223372036854775807], [], [-9223372036854775808], [9007199254740993]],
        "x": [[1], [2], [], [4]],
    }


def test_a_whole_number_over_64_bits_makes_the_column_text(stored, kinds) -> None:
    found = stored("id,x\n1,1\n9223372036854775808,2\n")
    assert found["id"] == [[b"1"], [b"9223372036854775808"]]
    assert kinds() == {"id": "text", "x": "int64"}


def test_a_late_decimal_makes_the_whole_column_decimal(stored, kinds) -> None:
    lines = [f"{number},x\n" for number in range(1000)]
    found = stored("a,b\n" + "".join(lines) + "1.5,x\n")
    assert found["a"] == [[float(number)] for number in range(1000)] + [[1.5]]
    assert kinds() == {"a": "float32", "b": "text"}


def test_leading_zeros_stay_for_200_000_records(stored) -> None:
    """A reader that guesses from the first records makes 7 of 007."""
    found = stored("code,n\n" + "007,1\n" * 200_000 + "A7,2\n")
    assert found["code"] == [[b"007"]] * 200_000 + [[b"A7"]]


@pytest.mark.parametrize(
    "cell",
    ["02134", "100_1", "0x1F", "nan", "NaN", "inf", "-inf", "Infinity", "NA", "NULL", "None", "-0",
     "+5", "03/04/2020", "2020-03-04", "1,5", "٣", "1 000", "1e5x", "--", "T", "yes"],
)  # fmt: skip
def test_what_is_no_plain_number_stays_text(stored, cell) -> None:
    quoted = f'"{cell}"' if "," in cell else cell
    found = stored(f"a,b\n{quoted},x\n{quoted},y\n")
    expected = {"-0": [-0.0], "+5": [5.0]}.get(cell, [cell.encode()])
    assert found["a"] == [expected] * 2


def test_na_is_a_country(stored) -> None:
    found = stored("country,n\nDE,1\nNA,2\n,3\n")
    assert found == {"country": [[b"DE"], [b"NA"], []], "n": [[1], [2], [3]]}


def test_declared_words_are_missing_behind_a_space_too(stored, kinds) -> None:
    content = 'age,job\n39, Clerk\n ?, ?\n?,"?"\n'
    found = stored(content, csv={"null_values": ["?"]})
    assert found == {"age": [[39], [], []], "job": [[b" Clerk"], [], [b"?"]]}
    assert kinds() == {"age": "int64", "job": "text"}


def test_quoted_newlines_and_quotes(stored) -> None:
    found = stored('a,b\n"x\ny","say ""hi"""\n"",\n"p\r\nq",","\n')
    assert found == {
        "a": [[b"x\ny"], [b""], [b"p\r\nq"]],
        "b": [[b'say "hi"'], [], [b","]],
    }


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_marks_are_no_part_of_the_first_name(stored, bom, encoding) -> None:
    found = stored(bom + 'näme,n\nÄ,1\n"𝄞\n",2\n'.encode(encoding))
    assert found == {"näme": [["Ä".encode()], ["𝄞\n".encode()]], "n": [[1], [2]]}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "cp1252", "shift_jis", "utf-16"])
def test_encodings_that_are_told(stored, encoding) -> None:
    text = "日" if encoding == "shift_jis" else "é€"[: 2 if encoding == "cp1252" else 1]
    found = stored(f"a,b\n{text},1\n".encode(encoding), csv={"encoding": encoding})
    assert found == {"a": [[text.encode()]], "b": [[1]]}


def test_cp1252_without_encoding_is_an_error_that_names_it(stored) -> None:
    with pytest.raises(RecordError) as caught:
        stored("name,n\nok,1\ncafé,2\n".encode("cp1252"))
    assert str(caught.value) == (
        "in.csv: row 3, column 'name': must be UTF-8 text (byte 3 is none); use kind: bytes, or "
        "--encoding, such as cp1252; mend or remove it, or use --on-error skip"
    )


def test_cp1252_in_a_header_is_an_error_that_names_the_encoding(stored) -> None:
    with pytest.raises(SourceError) as caught:
        stored("café,n\nok,1\n".encode("cp1252"))
    assert str(caught.value) == (
        "in.csv: the name of a column must be UTF-8 text (got 'caf\\\\xe9'); use --encoding, such "
        "as cp1252"
    )


def test_labels_that_are_no_utf8_are_an_error(stored) -> None:
    """Escaped bytes must not become the names of classes."""
    with pytest.raises(RecordError) as caught:
        stored("name,n\nok,1\ncafé,2\n".encode("cp1252"), target="name")
    assert str(caught.value) == (
        "in.csv: row 3, column 'name': must be UTF-8 text (got 'caf\\\\xe9'); use --encoding, such as "
        "cp1252; mend or remove it, or use --on-error skip"
    )


def test_a_byte_that_the_encoding_has_not_is_an_error_with_its_place(stored) -> None:
    with pytest.raises(SourceError) as caught:
        stored(b"a,b\nx\x81,1\n", csv={"encoding": "cp1252"})
    assert str(caught.value) == (
        "in.csv must be text in cp1252 (byte 0x81 at 5 is none); give --encoding"
    )
    with pytest.raises(SourceError) as caught:
        stored(codecs.BOM_UTF16_LE + "a,b\nx,1\n".encode("utf-16-le") + b"\x00\xdc\x41\x00")
    assert str(caught.value) == (
        "in.csv must be text in utf-16-le (byte 0x00 at 18 is none); give --encoding"
    )


def test_semicolons_with_decimal_commas(stored, kinds, tmp_path) -> None:
    found = stored("a;b\n1,5;x\n-0,25;y\n3;z\n", csv={"decimal": ","})
    assert found == {"a": [[1.5], [-0.25], [3.0]], "b": [[b"x"], [b"y"], [b"z"]]}
    assert "cells of in.csv are separated by ;" in _notes(tmp_path, decimal=",")


def test_decimal_commas_that_are_not_told_stay_text_and_are_named(stored, tmp_path) -> None:
    found = stored("a;b\n1,5;x\n2,5;y\n")
    assert found["a"] == [[b"1,5"], [b"2,5"]]
    assert "column 'a' holds numbers with decimal commas; use --decimal ," in _notes(tmp_path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends(stored, end, last) -> None:
    lines = ["a,b", "1,x", '2,"y\r\nz"', ",", "4,w"]
    found = stored(end.join(lines) + (end if last else ""))
    assert found == {"a": [[1], [2], [], [4]], "b": [[b"x"], [b"y\r\nz"], [], [b"w"]]}


def test_a_cell_longer_than_others_allow(stored) -> None:
    """Python's csv module refuses more than 131,072 characters."""
    text = "x" * 131_073
    assert stored(f"a,b\n{text},1\n")["a"] == [[text.encode()]]
    with_lines = "y\n" * 70_000
    assert stored(f'a,b\n"{with_lines}",1\n', overwrite=True)["a"] == [[with_lines.encode()]]


def test_a_first_record_larger_than_the_sample(stored) -> None:
    text = "x" * (2 << 20)
    assert stored(f"a,b\n{text},1\ny,2\n")["a"] == [[text.encode()], [b"y"]]
    assert stored(f'a,b\n"{text}\n",1\ny,2\n', overwrite=True)["b"] == [[1], [2]]


def test_a_header_larger_than_the_sample(stored) -> None:
    names = [f"a_rather_long_name_of_a_column_{number:06d}" for number in range(32_000)]
    content = ",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n"
    found = stored(content, columns=names[-2:])
    assert found == {name: [[1]] for name in names[-2:]}


def test_nul_bytes_are_kept(stored) -> None:
    assert stored(b"a,b\nx\0y,1\n\0,2\n")["a"] == [[b"x\0y"], [b"\0"]]


def test_spellings_of_true_and_false(stored, kinds) -> None:
    found = stored("a,b,c\ntrue,True,yes\nFALSE,false,no\n,,\n")
    assert found == {
        "a": [[1], [0], []],
        "b": [[1], [0], []],
        "c": [[b"yes"], [b"no"], []],
    }
    assert kinds() == {"a": "bool", "b": "bool", "c": "text"}


def test_five_thousand_columns(stored, kinds) -> None:
    names = [f"c{number}" for number in range(5000)]
    rows = [[str(row * 7 + number) for number in range(5000)] for row in range(3)]
    found = stored("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    assert found == {
        name: [[int(rows[row][number])] for row in range(3)] for number, name in enumerate(names)
    }


def test_names_are_trimmed_and_empty_ones_get_their_place(stored, tmp_path) -> None:
    found = stored(' a ,,"c d"\n1,2,3\n', csv={"header": True})
    assert found == {"a": [[1]], "column_2": [[2]], "c d": [[3]]}
    assert "columns without a name are called column_2" in _notes(tmp_path, header=True)


def test_names_that_recur_are_an_error(stored) -> None:
    with pytest.raises(SourceError) as caught:
        stored("a,b,a\n1,2,3\n", csv={"header": True})
    assert str(caught.value) == (
        "in.csv: column names must differ ('a' names columns 1 and 3); rename one, or give "
        "--column-names with --skip-rows 1"
    )


def test_a_stray_quote_beside_quoted_line_ends(stored, tmp_path) -> None:
    """Counting quotes would glue records together."""
    found = stored('size,note\n5" disk,"two\nlines"\n"3",x\n7,8" "y"\n')
    assert found == {
        "size": [[b'5" disk'], [b"3"], [b"7"]],
        "note": [[b"two\nlines"], [b"x"], [b'8" "y"']],
    }
    assert "in.csv has quotes inside of cells, and is read by one process" in _notes(tmp_path)


def test_an_open_quote_is_an_error_with_its_row(stored) -> None:
    with pytest.raises(SourceError) as caught:
        stored('a,b\n1,x\n2,"y\n3,z\n')
    assert str(caught.value) == (
        "a quote that opens must be closed (row 3, line 3 of in.csv opens one that is still open "
        "at the end of the file); close it, or use --quote none"
    )


def test_blank_lines_are_records_only_in_files_of_one_column(stored) -> None:
    found = stored("\na,b\n\n1,2\n\n\n3,4\n\n")
    assert found == {"a": [[1], [3]], "b": [[2], [4]]}
    found = stored("a\n1\n\n3\n\n", csv={"header": True}, overwrite=True)
    assert found == {"a": [[1], [], [3], []]}


@pytest.mark.parametrize(
    ("extension", "compress"),
    [
        ("gz", gzip.compress),
        ("bz2", bz2.compress),
        ("xz", lzma.compress),
        ("zst", lambda data: pa.Codec("zstd").compress(data).to_pybytes()),
    ],
)
def test_compressed_files(stored, extension, compress) -> None:
    text = b'a,b\n1,"x\ny"\n' + b"".join(b"%d,z\n" % number for number in range(500))
    expected = {
        "a": [[1], *([number] for number in range(500))],
        "b": [[b"x\ny"], *[[b"z"]] * 500],
    }
    name = f"in.csv.{extension}"
    assert stored(compress(text), name=name) == expected
    members = compress(text[:2]) + compress(text[2:9]) + compress(text[9:])
    assert stored(members, name=name, overwrite=True) == expected
    assert stored(compress(text), name="in.csv", overwrite=True) == expected
    for cut in (1, 8, 200):
        with pytest.raises(SourceError) as caught:
            stored(compress(text)[:-cut], name=name, overwrite=True)
        assert str(caught.value) == (
            f"{name} must be a whole {_full(extension)} file (it is truncated or damaged); get it "
            "anew"
        )
    with pytest.raises(SourceError, match="must be a whole"):
        stored(compress(text) + compress(text)[:-9], name=name, overwrite=True)


def _full(extension: str) -> str:
    return {"gz": "gzip", "zst": "zstd"}.get(extension, extension)


def test_one_member_per_record(stored) -> None:
    """Files to which a member was added at a time have thousands."""
    lines = [b"a,b\n", *(b"%d,x\n" % number for number in range(300))]
    found = stored(b"".join(map(gzip.compress, lines)), name="in.csv.gz")
    assert found["a"] == [[number] for number in range(300)]


def test_a_byte_order_mark_inside_is_kept(stored) -> None:
    found = stored(b"a,b\n\xef\xbb\xbfx,1\ny,2\n")
    assert found["a"] == [[b"\xef\xbb\xbfx"], [b"y"]]


def test_comments_and_escapes(stored) -> None:
    found = stored(
        "# made by hand\na,b\n1,x\\,y\n#2,no\n3,z\\\nw\n", csv={"comment": "#", "escape": "\\"}
    )
    assert found == {"a": [[1], [3]], "b": [[b"x,y"], [b"z\nw"]]}


def test_blanks_stay_unless_they_are_to_be_trimmed(stored) -> None:
    content = "a,b,c\n 1 , x , p\n2,y\t,\n"
    assert stored(content) == {
        "a": [[1], [2]],
        "b": [[b" x "], [b"y\t"]],
        "c": [[b" p"], []],
    }
    assert stored(content, csv={"trim": True}, overwrite=True)["b"] == [[b"x"], [b"y"]]


def test_files_without_header(stored) -> None:
    found = stored("1,x\n2,y\n")
    assert found == {"column_1": [[1], [2]], "column_2": [[b"x"], [b"y"]]}
    found = stored("1,x\n2,y\n", csv={"column_names": "n,t"}, overwrite=True)
    assert found == {"n": [[1], [2]], "t": [[b"x"], [b"y"]]}


def test_lines_to_skip_may_hold_anything(stored) -> None:
    found = stored('title "of" all\n\na,b\n1,2\n', csv={"skip_rows": 2})
    assert found == {"a": [[1]], "b": [[2]]}


FEATURES = {
    "pixels": {"kind": "float32", "columns": ["p*"], "shape": [2, 2]},
    "tags": {"kind": "class_label", "many": True, "separator": "|"},
    "taken": {"kind": "timestamp", "format": "%d.%m.%Y", "unit": "s"},
    "exact": {"kind": "float64"},
    "size": {"kind": "text", "vocabulary": ["small", "large"]},
    "age": {"kind": "int64", "min": 0, "max": 120, "missing": -1},
    "raw": {"kind": "bytes"},
    "label": {"kind": "class_label", "names": ["no", "yes"], "target": True},
}


def test_every_kind_of_a_schema(stored, tmp_path) -> None:
    found = stored(
        "p0,p1,p2,p3,tags,taken,exact,size,age,raw,label\n"
        "1,2.5,-3,0,b|a,01.02.1970,0.1,small,7,x,yes\n"
        "0,0,0,1e3,,,,large,,,no\n",
        schema={"features": FEATURES},
    )
    assert found == {
        "pixels": [[1.0, 2.5, -3.0, 0.0], [0.0, 0.0, 0.0, 1000.0]],
        "tags": [[1, 0], []],
        "taken": [[31 * 86_400], []],
        "exact": [[struct.pack("<d", 0.1)], [struct.pack("<d", float("nan"))]],
        "size": [[b"small"], [b"large"]],
        "age": [[7], [-1]],
        "raw": [[b"x"], []],
        "label": [[1], [0]],
    }
    features = _manifest(tmp_path).schema.features
    assert features["tags"].names == ("a", "b")


def test_columns_may_be_chosen_and_named_anew(stored) -> None:
    schema = {"features": {"years": {"kind": "int64", "from": "age in years"}}}
    assert stored("x,age in years\n1,7\n", schema=schema) == {"years": [[7]]}
    assert stored("a,b,c\n1,2,3\n", columns=["c", "a"], overwrite=True) == {"a": [[1]], "c": [[3]]}


def test_a_column_that_is_none_is_named(stored) -> None:
    for options in ({"columns": ["ege"]}, {"target": "ege"}):
        with pytest.raises(RequestError) as caught:
            stored("age,b\n1,2\n", **options)
        flag = f"--{next(iter(options))}"
        assert str(caught.value) == (
            f"{flag} must name columns of the source (got 'ege'; did you mean 'age'?)"
        )
