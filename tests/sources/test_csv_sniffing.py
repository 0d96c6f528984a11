"""Guesses from a sample of a CSV file, and where no guess is made."""

from __future__ import annotations

import pytest

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError
from tfrec_tools.sources import csv_sniffing
from tfrec_tools.sources.csv_sniffing import HeaderGuess, column_names, sniff_header

PLAIN = CsvDialect()
NAMES = HeaderGuess(has_header=True)
NO_NAMES = HeaderGuess(has_header=False)


def delimiter_of(sample, name="a.csv", dialect=PLAIN, complete=True):
    return csv_sniffing.sniff_delimiter(sample, dialect, file_name=name, complete=complete)


def header_of(*lines):
    return sniff_header([[cell or None for cell in line.encode().split(b",")] for line in lines])


def sampled(sample, dialect=PLAIN, complete=True, **options):
    rows = csv_sniffing.sample_rows(sample, dialect, complete=complete, name="a.csv", **options)
    return [row.cells for row in rows]


def test_rows_of_a_sample() -> None:
    assert sampled(b"a,b\n1,2\n3") == [[b"a", b"b"], [b"1", b"2"], [b"3"]]
    assert sampled(b"a,b\n1,2\n3", complete=False) == [[b"a", b"b"], [b"1", b"2"]]
    assert sampled(b'a,b\n1,2\n3,"4', complete=False) == [[b"a", b"b"], [b"1", b"2"]]
    assert sampled(b"a,b\n1,2\n", complete=False) == [[b"a", b"b"]]
    assert sampled(b"a,b", complete=False) == [[b"a", b"b"]]
    assert sampled(b"", complete=False) == []
    assert len(sampled(b"1\n" * 5000)) == 1000
    with pytest.raises(SourceError, match=r"row 2, line 2 of a\.csv opens one"):
        sampled(b'a,b\n1,"2')


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        (b"a,b\n1,2\n", ","),
        (b"a;b\n1;2\n", ";"),
        (b"a\tb\n1\t2\n", "\t"),
        (b"a|b\n1|2\n", "|"),
        (b"a;b;c\n1,5;2,5;3,5\n" * 20, ";"),
        (b"1,5;2,5\n2,5;3,5\n", ";"),
        (b'"a";"b"\n1,5;"x, y"\n', ";"),
        (b"id,tags\n1,x;y\n2,z;w\n", ","),
        (b"a,b,c|d\n1,2,3|4\n", ","),
        (b"a,b|c\n1,2|3\n", ","),
        (b"a|b;c\n1|2;3\n", ";"),
        (b"name\nx\ny\n", ","),
        (b"text\nhello, world\na; b\nc\n", ","),
        (b"a b\n1 2\n", ","),
        (b'"a,b";"c;d"\n"1";"2"\n', ";"),
        (b'a\tb\n5" disk, x\t"y"\n', "\t"),
        (b'a\tb\nx,"y\tz\n', "\t"),
        (b"a;b\n" * 9 + b"a;b;c\n", ";"),
        (b"a;b\n" * 8 + b"a;b;c\n" * 2, ","),
        (b"a,b\n" * 9 + b"a,b,c|d\n", ","),
        (b"a,b,c;d\n" * 9 + b"a,b;d\n", ";"),
        (b"", ","),
        (b"\n\n", ","),
    ],
)
def test_delimiters(sample, delimiter) -> None:
    assert delimiter_of(sample) == delimiter


def test_delimiters_by_name() -> None:
    sample = b"a,b,c\td\n1,2,3\t4\n"
    assert delimiter_of(sample) == ","
    assert delimiter_of(sample, "a.TSV") == "\t"
    assert delimiter_of(sample, "x/a.tsv.gz") == "\t"
    assert delimiter_of(sample, "a.tsv.csv.bak") == ","
    assert delimiter_of(b"hello, world\nx\n", "a.tsv") == "\t"
    assert delimiter_of(b"a;b\n1;2\n", "a.tsv") == ";"


def test_delimiters_of_other_dialects() -> None:
    assert delimiter_of(b"'a;b'|1\n'c'|2\n", dialect=CsvDialect(quote="'")) == "|"
    assert delimiter_of(b"a|b;c\n1|2;3\n", dialect=CsvDialect(quote=";")) == "|"
    assert delimiter_of(b"# x, y\na;b\n1;2\n", dialect=CsvDialect(comment="#")) == ";"
    assert delimiter_of(b"a\\,b;c\n1;2\n", dialect=CsvDialect(escape="\\")) == ";"


def test_a_cut_record_is_not_counted() -> None:
    assert delimiter_of(b"a;b\n1;2\n3", complete=False) == ";"
    assert delimiter_of(b"a;b\n1;2\n3", complete=True) == ","
    assert delimiter_of(b"a;b;c", complete=False) == ";"


@pytest.mark.parametrize(
    ("lines", "guess"),
    [
        (("a,b", "1,2"), NAMES),
        (("a,b", "x,"), NAMES),
        ((" id ,x1", "1,2"), NAMES),
        (("1,2", "3,4"), NO_NAMES),
        (("x,2", "y,4"), NO_NAMES),
        (("x,-2.5e3", "y,1,5", "y,4"), NO_NAMES),
        (("red,big", "red,small"), NO_NAMES),
        (("red,big", "green,small", " red ,small"), NO_NAMES),
        (("red,a", "a,red"), NAMES),
        (("1,a", "x,b", "1,c"), NO_NAMES),
        ((",1", ",2"), NO_NAMES),
        (
            ("country,1990,1991", "x,5,6"),
            HeaderGuess(None, "the cell '1990' of that row is a number"),
        ),
        ((",a,b", "0,1,2"), HeaderGuess(None, "cell 1 of that row is empty")),
        (("a,b,a ", "1,2,3"), HeaderGuess(None, "two cells of that row are 'a'")),
        (("a,7", "b,x", "c,y"), HeaderGuess(None, "the cell '7' of that row is a number")),
        (("a,7", "b,"), HeaderGuess(None, "the cell '7' of that row is a number")),
        (("a,b",), HeaderGuess(None, "there is only one row")),
        (("1,2",), HeaderGuess(None, "there is only one row")),
        (("a,b", "1", "2"), HeaderGuess(None, "no other row has 2 cells")),
        ((), HeaderGuess(None, "there is no row")),
    ],
)
def test_headers(lines, guess) -> None:
    assert header_of(*lines) == guess


def test_nine_numbers_in_ten_below_a_number_are_enough() -> None:
    assert header_of("5", *["7"] * 9, "x") == NO_NAMES
    assert header_of("5", *["7"] * 8, "x") == HeaderGuess(
        None, "the cell '5' of that row is a number"
    )


def test_names_of_columns() -> None:
    assert column_names([b" a ", b"b c", "\u00e9".encode()]) == (["a", "b c", "\u00e9"], [], [])
    assert column_names([None, b"a", b" "]) == (
        ["column_1", "a", "column_3"],
        [],
        ["columns without a name are called column_1, column_3"],
    )
    assert column_names([b"column_2", None]) == (
        ["column_2", "column_2_"],
        [],
        ["columns without a name are called column_2_"],
    )


def test_problems_of_names() -> None:
    _, problems, _ = column_names([b"a", b"b", b"a ", b"b", b"a"])
    assert problems == [
        "column names must differ ('a' names columns 1, 3 and 5); rename one, or give "
        "--column-names with --skip-rows 1",
        "column names must differ ('b' names columns 2 and 4); rename one, or give --column-names "
        "with --skip-rows 1",
    ]
    names, problems, _ = column_names([b"\xe9t\xe9", b"a"])
    assert names == ["\\xe9t\\xe9", "a"]
    assert problems == [
        "the name of a column must be UTF-8 text (got '\\\\xe9t\\\\xe9'); use --encoding, such as "
        "cp1252"
    ]
