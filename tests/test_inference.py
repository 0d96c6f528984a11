"""What columns of cells are taken for, exactly, and what is said about it."""

from __future__ import annotations

import pickle
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools import inference
from tfrec_tools.inference import ColumnEvidence, decide, evidence, hints, merge


def found(*cells, decimal=".", type_=None) -> ColumnEvidence:
    """The evidence of these cells; str cells are encoded."""
    values = [cell.encode() if isinstance(cell, str) else cell for cell in cells]
    return evidence(pa.array(values, type_ or pa.binary()), decimal)


def test_all_counts() -> None:
    cells = ["1", " 2", None, "-0", "1.5", "007", "'a'", "1,5", "9223372036854775808", "TRUE\t", ""]
    assert found(*cells) == ColumnEvidence(
        decimal=".",
        num_cells=11,
        num_missing=1,
        num_not_int64=8,
        num_not_decimal=5,
        num_not_bool=9,
        num_beyond_int64=1,
        num_ends_with_space=2,
        num_single_quoted=1,
        num_swapped_decimal=1,
        words=None,
    )
    assert found(*cells, type_=pa.large_binary()) == found(*cells)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1"] * 1000, "int64"),
        (["1"] * 1000 + ["1.5"], "float32"),
        (["007"] * 200_000 + ["A7"], "text"),
        (["007"], "text"),
        (["02134", "10001"], "text"),
        (["00.5"], "text"),
        (["-01"], "text"),
        (["0", "-5", "10"], "int64"),
        (["-0"], "float32"),
        (["+5"], "float32"),
        (["0.5", ".5", "5.", "-1e5", "2E+05", "+.5"], "float32"),
        (["100_1"], "text"),
        (["0x1F"], "text"),
        (["1", "NA"], "text"),
        (["1", None], "int64"),
        ([None, None], "text"),
        ([], "text"),
        ([""], "text"),
        (["1", "  "], "text"),
        (["9223372036854775807", "-9223372036854775808"], "int64"),
        (["9223372036854775808"], "text"),
        (["-9223372036854775809"], "text"),
        (["1", "99999999999999999999"], "text"),
        (["1.5", "99999999999999999999"], "text"),
        (["99999999999999999999.5"], "float32"),
        (["\u0664\u0662"], "text"),
        (["1", "nan"], "text"),
        (["inf"], "text"),
        (["-Infinity"], "text"),
        ([" 42", "7\t"], "int64"),
        ([" 4.2 "], "float32"),
        (["4 2"], "text"),
        (["1\n"], "text"),
        (["true", "FALSE", "True", " false"], "bool"),
        (["true", "tRUE", "True", "TRUE", "false", "False", "FALSE"], "bool"),
        (["true", None], "bool"),
        (["true", "1"], "text"),
        (["yes", "no"], "text"),
        (["t", "f"], "text"),
        (["falsy", "truer"], "text"),
        (["03/04/2020"], "text"),
        (["2020-04-03"], "text"),
        (["12-5"], "text"),
        (["-"], "text"),
        (["--5"], "text"),
        (["."], "text"),
        (["1.2.3"], "text"),
        (["1e"], "text"),
        (["1,5"], "text"),
        ([b"1\xff2"], "text"),
        ([b"\xff"], "text"),
        ([b"1\x002"], "text"),
    ],
)
def test_kinds(cells, kind) -> None:
    assert decide(found(*cells)) == kind
    assert decide(found(*cells, type_=pa.large_binary())) == kind


@pytest.mark.parametrize(
    ("cells", "kind"),
    [(["1,5", "2", ",5"], "float32"), (["1.5"], "text"), (["1", "2"], "int64")],
)
def test_kinds_with_decimal_commas(cells, kind) -> None:
    assert decide(found(*cells, decimal=",")) == kind


def test_slices_are_judged_by_their_own_cells() -> None:
    cells = pa.array([b"x", b" 1", b"2", None, b"y"])
    assert evidence(cells.slice(1, 3), ".") == found(" 1", "2", None)
    assert evidence(cells.slice(2, 1), ".") == found("2")
    assert evidence(cells.slice(5), ".") == found()


CELLS = st.lists(
    st.one_of(
        st.none(),
        st.sampled_from(["NA", "?", "-", "x", "true", "False", "", " ", "007", "1,5", "-0", "'q'"]),
        st.from_regex(r"\A[ ]?[+-]?[0-9]{0,20}[.,]?[0-9]?(e[0-9]?)?[ ]?\Z"),
        st.integers(-(1 << 64), 1 << 64).map(str),
    ),
    max_size=12,
)


@given(CELLS, st.sampled_from([".", ","]))
def test_counts_are_those_of_cell_by_cell_tests(cells, decimal) -> None:
    filled = [cell.strip(" \t") for cell in cells if cell is not None]
    integers = [cell for cell in filled if re.fullmatch("0|-?[1-9][0-9]*", cell)]
    inside = [cell for cell in integers if -(1 << 63) <= int(cell) < 1 << 63]

    def decimals(mark):
        pattern = rf"[+-]?((0|[1-9][0-9]*)(\{mark}[0-9]*)?|\{mark}[0-9]+)([eE][+-]?[0-9]+)?"
        return [re.fullmatch(pattern, cell) is not None for cell in filled]

    own, other = decimals(decimal), decimals("," if decimal == "." else ".")
    words = [cell for cell, fits in zip(filled, own, strict=True) if not fits]
    assert found(*cells, decimal=decimal) == ColumnEvidence(
        decimal=decimal,
        num_cells=len(cells),
        num_missing=cells.count(None),
        num_not_int64=len(filled) - len(inside),
        num_not_decimal=len(words),
        num_not_bool=sum(cell.lower() not in ("true", "false") for cell in filled),
        num_beyond_int64=len(integers) - len(inside),
        num_ends_with_space=sum(c is not None and c != c.strip(" \t") for c in cells),
        num_single_quoted=sum(len(c) > 1 and c[0] == c[-1] == "'" for c in filled),
        num_swapped_decimal=sum(b and not a for a, b in zip(own, other, strict=True)),
        words={w: words.count(w) for w in set(words)} if len(set(words)) <= 4 else None,
    )


@given(st.lists(CELLS, min_size=1, max_size=5), st.randoms())
def test_evidence_merges_in_any_order(batches, draw) -> None:
    whole = found(*(cell for cells in batches for cell in cells))
    parts = [found(*cells) for cells in batches]
    draw.shuffle(parts)
    while len(parts) > 1:
        parts.append(merge(parts.pop(0), parts.pop(0)))
    assert parts == [whole]
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_words_are_counted_until_there_are_too_many() -> None:
    assert found("NA", "?", "NA", "1", "x", "-").words == {"NA": 2, "?": 1, "x": 1, "-": 1}
    assert found("a", "b", "c", "d", "e").words is None
    late = ["a"] * 10_000 + ["b", "c", "d", "e"]
    assert found(*late).words is None
    assert found(*late[:-1]).words == {"a": 10_000, "b": 1, "c": 1, "d": 1}
    assert found(b"\xff").words == {"\\xff": 1}


def test_a_few_words_keep_a_column_from_being_numeric() -> None:
    cells = ["1.5"] * 2067 + ["NA"] * 2067
    assert hints("pm2.5", found(*cells)) == [
        "column 'pm2.5' would be float32 but for 'NA' (2,067 cells); if these mean missing, use "
        "--null-values NA"
    ]
    assert hints("pm2.5", found(*cells, "NA")) == []
    assert hints("n", found("1", "2", "3", "4", "?", "NA", "NA")) == [
        "column 'n' would be int64 but for 'NA' (2 cells), '?' (1 cell); if these mean missing, "
        "use --null-values 'NA,?'"
    ]
    assert hints("n", found("1", "2", "n/a, sorry")) == [
        "column 'n' would be int64 but for 'n/a, sorry' (1 cell); if these mean missing, name them "
        "under source: null_values in a schema"
    ]
    assert hints("n", found("1", "2", "")) == [
        "column 'n' would be int64 but for '' (1 cell); cells that mean missing must be empty, "
        "without quotes or spaces"
    ]


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [None],
        ["1"],
        ["1.5"],
        ["x"],
        ["true", "false"],
        ["1", "x", "y"],
        ["1", "2", "A7"],
        ["1", "2", "3", "4", "a", "b", "c", "d"],
        ["99999999999999999999", "1", "NA"],
        ["99999999999999999999"],
    ],
)
def test_columns_without_hints(cells) -> None:
    assert hints("x", found(*cells)) == []


def test_numbers_with_the_other_mark() -> None:
    assert hints("x", found("1,5", "2", None)) == [
        "column 'x' holds numbers with decimal commas; use --decimal ,"
    ]
    assert hints("x", found("1.5", "2", decimal=",")) == [
        "column 'x' holds numbers with decimal points; use --decimal ."
    ]
    assert hints("x", found("1,5", "2", "x1")) == []


def test_notes_over_all_columns() -> None:
    columns = {
        "a": found("1.5", " 2"),
        "b": found("x ", "y"),
        "c": found("'x'", " 'y'", "'z'", "1"),
        "d": found("1"),
        "e": found("1", "NA"),
        "f": found("2.5"),
    }
    assert inference.notes(columns) == [
        "column 'e' would be int64 but for 'NA' (1 cell); if these mean missing, use --null-values "
        "NA",
        "columns 'a', 'f' are stored as float32 (7 digits); say kind: float64 in a schema for all "
        "digits",
        "cells of 2 columns begin or end with a space; use --trim to remove them",
        "cells of column 'c' stand in single quotes; use --quote \"'\"",
    ]
    assert inference.notes({"d": columns["d"]}) == []
    assert inference.float_notes([]) == []
    assert inference.float_notes(["x"]) == [
        "column 'x' is stored as float32 (7 digits); say kind: float64 in a schema for all digits"
    ]
