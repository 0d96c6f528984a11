"""The drawn CSV file: the same every time, and as Python's csv module writes and reads it."""

import csv
import io
from statistics import mean

import pyarrow as pa
import pytest

from benchmarks import csv_inputs
from benchmarks.peers.csv_columns import CLASS_NAMES, DECIMALS, HEADER, INTEGERS
from tfrec_tools.schema_files import load_schema


@pytest.fixture(scope="module")
def chunk():
    return csv_inputs.draw_chunk(0)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = csv_inputs.drawn_csv(2_000, tmp_path_factory.mktemp("drawn"))
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_a_chunk_is_a_function_of_its_index(chunk):
    again, other = csv_inputs.draw_chunk(0), csv_inputs.draw_chunk(1)
    assert all(again[name].equals(chunk[name]) for name in HEADER)
    assert not any(other[name].equals(chunk[name]) for name in HEADER)


def test_columns(chunk):
    assert tuple(chunk) == HEADER
    types = {name: column.type for name, column in chunk.items()}
    assert [types[name] for name in INTEGERS] == [pa.int64()] * 3
    assert [types[name].scale for name in DECIMALS] == [2, 4, 6]
    assert {len(column) for column in chunk.values()} == {csv_inputs.CHUNK_NUM_RECORDS}


def test_ids_are_unique_ascend_over_chunks_and_need_all_64_bits(chunk):
    ids = chunk["id"].to_pylist() + csv_inputs.draw_chunk(1)["id"].slice(0, 10).to_pylist()
    assert ids == sorted(set(ids))
    assert ids[0] > 2**53
    assert any(int(float(value)) != value for value in ids[:10])


def test_the_file_holds_the_columns(chunk, rows):
    assert len(rows) == 2_000
    for name in HEADER:
        assert [row[name] for row in rows] == [
            str(value) for value in chunk[name].slice(0, 2_000).to_pylist()
        ]


def test_values(rows):
    assert {row["channel"] for row in rows} == set(csv_inputs.CHANNELS)
    assert {row["label"] for row in rows} == set(CLASS_NAMES)
    comments = [row["comment"] for row in rows]
    assert 20 < mean(map(len, comments)) < 28
    assert 60 < sum("," in comment for comment in comments) < 150
    assert 15 < sum('"' in comment for comment in comments) < 80


def test_cells_are_quoted_where_needed_as_by_the_csv_module(tmp_path, rows):
    expected = io.StringIO(newline="")
    writer = csv.DictWriter(expected, HEADER, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    drawn = csv_inputs.drawn_csv(2_000, tmp_path).read_text(encoding="utf-8")
    assert drawn == expected.getvalue()
    assert 90 < len(drawn) / 2_000 < 120


def test_a_file_is_drawn_once_and_one_that_was_broken_off_anew(tmp_path):
    path = csv_inputs.drawn_csv(3, tmp_path)
    kept = path.read_bytes()
    path.rename(path.with_suffix(".partial"))
    assert csv_inputs.drawn_csv(3, tmp_path).read_bytes() == kept
    path.write_bytes(b"kept")
    assert csv_inputs.drawn_csv(3, tmp_path).read_bytes() == b"kept"


def test_a_file_of_several_chunks_has_them_one_after_the_other(tmp_path):
    num_records = csv_inputs.CHUNK_NUM_RECORDS + 1
    lines = csv_inputs.drawn_csv(num_records, tmp_path).read_bytes().splitlines(keepends=True)
    assert len(lines) == num_records + 1
    assert lines[-1] == csv_inputs.csv_lines(csv_inputs.draw_chunk(1), 1)


def test_the_schema_is_one_of_ours(tmp_path):
    schema = load_schema(str(csv_inputs.written_schema(tmp_path)))
    assert tuple(schema.features) == HEADER
    assert schema.target == "label"
    assert schema.features["label"].names == CLASS_NAMES
