"""JSON lines as tables: exact values, one type per key."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import RecordError
from tfrec_tools.sources import json_lines
from tfrec_tools.sources.text_ranges import RangeData
from tfrec_tools.tables import CellFault, Table, TableFile, TablePart

PART = TablePart(
    file=TableFile(key=b"a.jsonl", num_bytes=9), start=0, stop=9, num_records=1, first_row=1
)


def given(data: bytes, first_row: int = 1, start: int = 0, first_index: int = 0) -> RangeData:
    return RangeData(data, start, first_row, first_index)


def types_of(*lines: object) -> dict[str, pa.DataType]:
    """The types of records that are given as values."""
    data = "\n".join(json.dumps(line) for line in lines).encode()
    return json_lines.types_of(json_lines.kinds_of(PART, given(data)))


def read(data: bytes, types: dict[str, pa.DataType], **place: int):
    table = Table(format="jsonl", types=types, files=(), dialect=CsvDialect(quote=None))
    return list(json_lines.batches(table, PART, given(data, **place), list(types)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, None, -(2**63)], pa.int64()),
        ([1, 2.5], pa.float64()),
        ([True, None], pa.bool_()),
        (["2020-01-01T00:00:00", ""], pa.large_string()),
        ([2**63, 1], pa.large_string()),
        ([None], pa.large_string()),
        ([[1], [], None], pa.large_list(pa.int64())),
        ([[1], [0.5]], pa.large_list(pa.float64())),
        ([[1, 0.5]], pa.large_list(pa.float64())),
        ([["a"], ["b", "c"]], pa.large_list(pa.large_string())),
        ([[]], pa.large_list(pa.large_string())),
    ],
)
def test_types(values, expected) -> None:
    assert types_of(*({"a": value} for value in values)) == {"a": expected}


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1, "x"], "text in a.jsonl row 2, whole number in a.jsonl row 1"),
        ([True, 1], "true or false in a.jsonl row 1, whole number in a.jsonl row 2"),
        ([{"b": 1}], "object in a.jsonl row 1"),
        ([[1], "x"], "list of whole number in a.jsonl row 1, text in a.jsonl row 2"),
        ([[1, "x"]], "list of several kinds in a.jsonl row 1"),
        ([[], "x"], "empty list in a.jsonl row 1, text in a.jsonl row 2"),
        ([[[1]]], "list of list of whole number in a.jsonl row 1"),
        ([0.5, 2**63], "number in a.jsonl row 1, whole number over 64 bits in a.jsonl row 2"),
    ],
)
def test_kinds_that_do_not_go_together_are_named_with_their_rows(values, kinds) -> None:
    with pytest.raises(RecordError) as caught:
        types_of(*({"a": value} for value in values))
    assert str(caught.value) == (
        f"the values of a key must be of one kind, and no objects (key 'a' has {kinds})"
    )


def test_the_first_place_of_a_kind_is_kept() -> None:
    first = json_lines.kinds_of(PART, given(b'{"b": 1}\n{"a": 2}\n', first_row=1))
    second = json_lines.kinds_of(PART, given(b'{"a": "x"}\n{"b": 3}\n', first_row=3))
    assert json_lines.merged_kinds([first, second]) == {
        "b": {"whole number": "a.jsonl row 1"},
        "a": {"whole number": "a.jsonl row 2", "text": "a.jsonl row 3"},
    }


def test_values_are_exact() -> None:
    types = {"a": pa.int64(), "b": pa.float64(), "c": pa.large_string(), "d": pa.bool_()}
    (batch,) = read(
        b'{"a": 9007199254740993, "b": 1, "c": 9223372036854775808, "d": true}\r\n'
        b'\n{"b": 0.1, "c": "\\ud834\\udd1e\\u0000\\n", "a": -9223372036854775808}\n{}',
        types,
    )
    assert {name: column.to_pylist() for name, column in batch.columns.items()} == {
        "a": [9007199254740993, -(2**63), None],
        "b": [1.0, 0.1, None],
        "c": ["9223372036854775808", "𝄞\0\n", None],
        "d": [True, None, None],
    }
    assert {name: column.type for name, column in batch.columns.items()} == types
    assert batch.rows().tolist() == [1, 3, 4]
    assert batch.positions.tolist() == batch.indices.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "line",
    ["[1]", "1", "null", "{", '{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": 1e400}',
     '{"a": -1E+0400}', '{"a": ' + "9" * 400 + ".0}", '{"a": "\\ud800"}', '{"\\udc00": 1}', "  ",
     '{"a": 1} x', "[" * 100_000],
)  # fmt: skip
def test_what_is_no_object_is_rejected(line) -> None:
    (batch,) = read(f'{{"a": 1}}\n{line}\n{{"a": 2}}'.encode(), {"a": pa.int64()}, first_row=8)
    shown = repr(line) if len(line) < 79 else repr(line)[:79] + "…"
    assert batch.rejected == (CellFault(9, "", f"must be a JSON object (got {shown})"),)
    assert batch.columns["a"].to_pylist() == [1, 2]
    assert batch.rows().tolist() == [8, 10]
    assert batch.positions.tolist() == [0, 2]


def test_bytes_that_are_no_utf8_are_rejected() -> None:
    for line in (b'{"a": "\xe9"}', b'{"a": "\xed\xa0\x80"}', '{"a": "x"}'.encode("utf-16")):
        (batch,) = read(line, {"a": pa.large_string()})
        assert len(batch) == 0
        (fault,) = batch.rejected
        assert fault.reason.startswith("must be a JSON object (got ")


def test_a_byte_order_mark_is_no_part_of_the_first_record() -> None:
    (batch,) = read(b'\xef\xbb\xbf{"a": 1}\n{"a": 2}', {"a": pa.int64()})
    assert batch.columns["a"].to_pylist() == [1, 2]


def test_the_last_of_equal_keys_counts() -> None:
    (batch,) = read(b'{"a": 1, "a": 2}', {"a": pa.int64()})
    assert batch.columns["a"].to_pylist() == [2]


def test_places_count_from_the_range() -> None:
    (batch,) = read(
        b'{"a": 1}\n\n{"a": 2}', {"a": pa.int64()}, first_row=11, start=500, first_index=10
    )
    assert batch.positions.tolist() == [500, 501]
    assert batch.indices.tolist() == [10, 11]
    assert batch.rows().tolist() == [11, 13]
