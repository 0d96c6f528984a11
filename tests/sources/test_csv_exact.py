"""The exact scanner: like Python's csv module where a file is legal, and sure where it is not."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError
from tfrec_tools.sources import csv_exact
from tfrec_tools.sources.csv_exact import ExactRow

PLAIN = CsvDialect()
ESCAPED = CsvDialect(escape="\\")


def rows_of(data: bytes, num_columns: int | None, dialect=PLAIN, sizes=(), **options):
    """All records, with the data in chunks of these sizes, or whole."""
    chunks, start = [], 0
    for size in sizes:
        chunks.append(data[start : start + size])
        start += size
    chunks.append(data[start:])
    return list(csv_exact.scan(chunks, dialect, num_columns, name="a.csv", **options))


def cells_of(data: bytes, num_columns: int | None, dialect=PLAIN):
    """The cells of all records, faults in their place; the same however the data are cut."""
    whole = rows_of(data, num_columns, dialect)
    if len(data) < 1000:
        assert rows_of(data, num_columns, dialect, [1] * len(data)) == whole
    return [row.fault or row.cells for row in whole]


def test_words_that_mean_missing() -> None:
    dialect = CsvDialect(null_values=("NA", " ? ", "NA"))
    assert dialect.null_words == (b"", b"NA", b" NA", b"?", b" ?")


def test_places_of_records() -> None:
    data = b'a,b\r\n\r\n"x\r\ny",2\n# no\r3,4\n\n"5",\n'
    dialect = CsvDialect(comment="#")
    expected = [
        ExactRow(0, 1, 1, [b"a", b"b"], stop=5),
        ExactRow(7, 3, 3, [b"x\r\ny", b"2"], stop=16),
        ExactRow(21, 5, 6, [b"3", b"4"], stop=25),
        ExactRow(26, 7, 8, [b"5", None], stop=31),
    ]
    assert rows_of(data, 2, dialect) == expected
    assert rows_of(data, 2, dialect, [1] * len(data)) == expected
    moved = rows_of(data[5:], 2, dialect, first_offset=5, first_row=2)
    assert moved == expected[1:]
    assert rows_of(data[5:], 2, dialect, first_offset=5, first_row=2, first_line=4)[0].line == 5


def test_blank_lines_are_missing_cells_of_one_column_and_else_nothing() -> None:
    assert cells_of(b"1\n\n2\n\n", 1) == [[b"1"], [None], [b"2"], [None]]
    assert cells_of(b"1,2\n\n\r\n\r3,4\n\n", 2) == [[b"1", b"2"], [b"3", b"4"]]
    assert cells_of(b"\n1\n", None) == [[b"1"]]
    assert cells_of(b"\n 1\n", 2) == ["must have 2 cells like the header (got 1)"]


def test_missing_cells_are_never_quoted() -> None:
    dialect = CsvDialect(null_values=("NA", '"no"'))
    data = b'NA,"NA", NA\n"",,"no"\n  NA,NA ,NAN\n'
    assert cells_of(data, 3, dialect) == [
        [None, b"NA", None],
        [b"", None, b"no"],
        [b"  NA", b"NA ", b"NAN"],
    ]


def test_another_number_of_cells() -> None:
    data = b'1,2,3\n1,2,3,4\n"1",2\n1,2,3'
    assert cells_of(data, 3) == [
        [b"1", b"2", b"3"],
        "must have 3 cells like the header (got 4)",
        "must have 3 cells like the header (got 2)",
        [b"1", b"2", b"3"],
    ]
    assert cells_of(b"1,2", 1) == ["must have 1 cell like the header (got 2)"]
    assert cells_of(b"1,2", None) == [[b"1", b"2"]]


@pytest.mark.parametrize(
    ("data", "got"),
    [
        (b'"x"y,2', "'y'"),
        (b'1,"x" ', "' '"),
        (b'"x"\xc3\xa9,2', "'\u00e9'"),
        (b'"x"\xff,2', "'\\udcff'"),
        (b'"a\nb"c', "'c'"),
        (b'1,"x""y"z","', "'z'"),
        (b'1,2,"x"\x00', "'\\x00'"),
    ],
)
def test_a_quote_that_ends_inside_a_cell_spoils_its_record_only(data, got) -> None:
    fault = f"a quote ends inside a cell, behind it must come , or the line's end (got {got})"
    assert cells_of(b"a,b\n" + data + b"\r\n1,2\n", 2) == [[b"a", b"b"], fault, [b"1", b"2"]]
    assert cells_of(data, 2) == [fault]


def test_a_fault_names_its_delimiter_and_counts_its_lines() -> None:
    assert rows_of(b'"a\n\n"b\tc\n1\t2', 2, CsvDialect(delimiter="\t")) == [
        ExactRow(
            0,
            1,
            1,
            [],
            "a quote ends inside a cell, behind it must come a tab or the line's end (got 'b')",
            stop=9,
        ),
        ExactRow(9, 2, 4, [b"1", b"2"], stop=12),
    ]


def test_a_quote_opens_only_at_a_cell_s_start() -> None:
    data = b'5" disk,"a ""b"" c"\n x"y"z, "1"\n""""\t,""\n'
    assert cells_of(data, 2)[:2] == [[b'5" disk', b'a "b" c'], [b' x"y"z', b' "1"']]
    assert cells_of(data, 2)[2] == (
        "a quote ends inside a cell, behind it must come , or the line's end (got '\\t')"
    )


def test_line_ends_inside_quotes_stay() -> None:
    assert cells_of(b'"a\rb\nc\r\nd",1\r"\r",2\r\n', 2) == [[b"a\rb\nc\r\nd", b"1"], [b"\r", b"2"]]


def test_other_signs() -> None:
    dialect = CsvDialect(delimiter="|", quote="'", comment="//")
    assert cells_of(b"'a|b'|\"c\n// x|'\n'it''s'|/\n", 2, dialect) == [
        [b"a|b", b'"c'],
        [b"it's", b"/"],
    ]
    assert cells_of(b'"a,b"\n"', 2, CsvDialect(quote=None)) == [
        [b'"a', b'b"'],
        "must have 2 cells like the header (got 1)",
    ]
    assert cells_of(b"a^]^]", 2, CsvDialect(delimiter="^", quote="]")) == [[b"a", b"^"]]


def test_escaped_signs_are_literal() -> None:
    data = b'a\\,b,"c\\"d""e\\\\"\n\\"x,"y\\\nz"\nline\\\nend,\\#\\\r\n\n\\N,a""b\\\\'
    dialect = CsvDialect(escape="\\", null_values=("\\N",))
    assert cells_of(data, 2, dialect) == [
        [b"a,b", b'c"d"e\\'],
        [b'"x', b"y\nz"],
        [b"line\nend", b"#\r\n"],
        [None, b'a""b\\'],
    ]


def test_an_escape_at_the_very_end_stands_for_itself() -> None:
    assert cells_of(b"a,b\\", 2, ESCAPED) == [[b"a", b"b\\"]]
    assert cells_of(b"a\\,b", 2, CsvDialect(escape="\\", quote=None)) == [
        "must have 2 cells like the header (got 1)"
    ]


def test_a_quote_as_escape_is_a_doubled_quote() -> None:
    assert cells_of(b'"a""b",1', 2, CsvDialect(escape='"')) == [[b'a"b', b"1"]]


@pytest.mark.parametrize(
    ("data", "row", "line"),
    [
        (b'"', 1, 1),
        (b'a,b\n1,"2\n3,4\n', 2, 2),
        (b'a,b\n\n"x\r\ny","2\n', 3, 4),
        (b'a,b\n1,"""', 2, 2),
        (b'a,b\n"1\n2",3\n\n4,"', 4, 5),
    ],
)
def test_a_quote_that_is_left_open(data, row, line) -> None:
    for sizes in ([], [1] * len(data)):
        with pytest.raises(SourceError) as caught:
            rows_of(data, 2, sizes=sizes)
        assert str(caught.value) == (
            f"a quote that opens must be closed (row {row}, line {line} of a.csv opens one that is "
            "still open at the end of the file); close it, or use --quote none"
        )


def test_a_quote_whose_end_is_escaped_is_left_open() -> None:
    with pytest.raises(SourceError, match=r"row 1, line 1 of a\.csv"):
        rows_of(b'"a\\"', 1, ESCAPED)


def test_a_record_that_fills_the_memory() -> None:
    with pytest.raises(SourceError) as caught:
        rows_of(b'a\n"' + b"x" * 100, 1, sizes=[10] * 10, max_record_bytes=50)
    assert str(caught.value) == (
        "a record must not be larger than 50 bytes (the one in row 2, line 2 of a.csv is); end it, "
        "close its quote, or use --quote none"
    )


def test_long_cells_and_nul_bytes() -> None:
    long = b"x" * 131_073
    data = long + b',"' + long + b'"\n\x00,"\x00\x00"\n'
    expected = [[long, long], [b"\x00", b"\x00\x00"]]
    assert cells_of(data, 2) == expected
    assert [row.cells for row in rows_of(data, 2, sizes=[1000] * 262)] == expected
    quotes = b'"' * 2_000_000
    assert cells_of(quotes + b"\n1", 1) == [[b'"' * 999_999], [b"1"]]


def test_work_grows_with_the_file_only() -> None:
    """A cell in 10,000 chunks: looked at anew for each, it would take minutes."""
    cell = b"x\n" * 5_000_000
    rows = rows_of(b'"' + cell + b'",1\n2,3', 2, sizes=[1000] * 10_000)
    second = len(cell) + 5
    assert rows == [
        ExactRow(0, 1, 1, [cell, b"1"], stop=second),
        ExactRow(second, 2, 5_000_002, [b"2", b"3"], stop=second + 3),
    ]


CELLS = st.text(st.sampled_from('ab ,;"\n\r#\u00e9'), max_size=6)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6)
)


@given(TABLES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(0, 1 << 32))
def test_legal_files_are_read_like_by_python(table, line_end, seed) -> None:
    draw = random.Random(seed)

    def written(cell):
        needs_quotes = any(sign in cell for sign in ',"\r\n')
        quoted = needs_quotes or draw.random() < 0.3
        return '"' + cell.replace('"', '""') + '"' if quoted else cell

    lines = [",".join(map(written, cells)) for cells in table]
    text = line_end.join(lines)
    if lines and (not lines[-1] or draw.random() < 0.5):
        text += line_end
    data = text.encode()
    sizes = [draw.choice([0, 1, 2, 3, 10]) for _ in range(draw.randrange(20))]
    rows = rows_of(data, len(table[0]) if table else 2, sizes=sizes)
    assert [row.fault for row in rows] == [None] * len(rows)
    found = [[(cell or b"").decode() for cell in row.cells] for row in rows]
    assert found == table
    python = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert [cells or [""] for cells in python] == table
    assert [row.row for row in rows] == list(range(1, len(table) + 1))
    for row in rows:  # each is found again where it is said to begin
        again = rows_of(data[row.offset : row.stop], len(row.cells))
        assert [other.cells for other in again] == [row.cells]
        assert row.line == len(data[: row.offset].splitlines()) + 1


@given(
    st.binary(max_size=40).map(
        lambda data: data.translate(bytes(b'a,"\n\r\\#b'[i % 8] for i in range(256)))
    )
)
def test_any_file_reads_the_same_in_pieces_of_every_size(data) -> None:
    for dialect in (PLAIN, CsvDialect(escape="\\", comment="#")):

        def outcome(sizes, dialect=dialect):
            try:
                return rows_of(data, 2, dialect, sizes)
            except SourceError as error:
                return str(error)

        whole = outcome([])
        assert outcome([1] * 40) == whole
        assert outcome([3] * 14) == whole
