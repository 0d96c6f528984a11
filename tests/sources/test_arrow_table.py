"""Parquet and Arrow files: their types, their parts, and records with their places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

from tfrec_tools.errors import SourceError
from tfrec_tools.records import MAX_BATCH_RECORDS
from tfrec_tools.sources import arrow_table
from tfrec_tools.storage import open_storage
from tfrec_tools.tables import Table, TableFile


def file_of(path: Path) -> TableFile:
    return TableFile(key=path.name.encode(), num_bytes=path.stat().st_size)


def write(folder: Path, name: str, table: pa.Table, group: int) -> TableFile:
    if name.endswith(".parquet"):
        parquet.write_table(table, folder / name, row_group_size=group)
    else:
        with ipc.new_file(folder / name, table.schema) as writer:
            writer.write_table(table, max_chunksize=group)
    return file_of(folder / name)


def read(folder: Path, file: TableFile, format_: str, columns: list[str]):
    """All records of a file, read part by part: columns, positions, indices, rows."""
    storage = open_storage(str(folder))
    types = arrow_table.read_types(storage, [file], format_)
    table = Table(format=format_, types=types, files=(file,))
    return [
        [
            (
                {name: column.to_pylist() for name, column in batch.columns.items()},
                batch.positions.tolist(),
                batch.indices.tolist(),
                batch.rows().tolist(),
            )
            for batch in arrow_table.read_part(storage, table, part, columns)
        ]
        for part in arrow_table.scan_parts(storage, file, format_)
    ]


@pytest.mark.parametrize("format_", ["parquet", "arrow"])
def test_parts_are_groups_of_records(tmp_path, format_) -> None:
    table = pa.table({"a": [1, None, 3, 4, 5], "b.c": list("vwxyz"), "b": [True] * 5})
    file = write(tmp_path, f"t.{format_}", table, 2)
    assert read(tmp_path, file, format_, ["b.c", "a"]) == [
        [({"b.c": ["v", "w"], "a": [1, None]}, [0, 1], [0, 1], [1, 2])],
        [({"b.c": ["x", "y"], "a": [3, 4]}, [2, 3], [0, 1], [3, 4])],
        [({"b.c": ["z"], "a": [5]}, [4], [0], [5])],
    ]


def test_batches_are_bounded(tmp_path) -> None:
    number = MAX_BATCH_RECORDS + 5
    table = pa.table({"a": np.arange(number)})
    for format_ in ("parquet", "arrow"):
        file = write(tmp_path, f"t.{format_}", table, number)
        ((first, second),) = read(tmp_path, file, format_, ["a"])
        assert len(first[1]) == MAX_BATCH_RECORDS
        assert second[1:] == (
            list(range(MAX_BATCH_RECORDS, number)),
            list(range(MAX_BATCH_RECORDS, number)),
            list(range(MAX_BATCH_RECORDS + 1, number + 1)),
        )


def test_groups_without_records_are_no_parts(tmp_path) -> None:
    table = pa.table({"a": [1, 2]})
    with parquet.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        writer.write_table(table.slice(0, 0))
        writer.write_table(table.slice(0, 1))
        writer.write_table(table.slice(0, 0))
        writer.write_table(table.slice(1, 1))
    found = read(tmp_path, file_of(tmp_path / "t.parquet"), "parquet", ["a"])
    assert [batch[0][0]["a"] for batch in found] == [[1], [2]]
    file = write(tmp_path, "e.parquet", table.slice(0, 0), 1)
    assert arrow_table.scan_parts(open_storage(str(tmp_path)), file, "parquet") == ()


def test_sizes_are_those_of_the_decompressed_content(tmp_path) -> None:
    table = pa.table({"a": np.zeros(1 << 17, np.int64), "b": ["x" * 50] * (1 << 17)})
    parquet.write_table(table, tmp_path / "t.parquet", compression="zstd", use_dictionary=False)
    file = file_of(tmp_path / "t.parquet")
    (part,) = arrow_table.scan_parts(open_storage(str(tmp_path)), file, "parquet")
    assert file.num_bytes < 50_000
    assert part.num_bytes > 7 << 20


def test_another_content_of_the_same_size_is_noticed(tmp_path) -> None:
    crcs = set()
    sizes = set()
    for values in ([1, 2], [1, 3]):
        file = write(tmp_path, "t.arrow", pa.table({"a": values}), 2)
        sizes.add(file.num_bytes)
        (part,) = arrow_table.scan_parts(open_storage(str(tmp_path)), file, "arrow")
        crcs.add(part.content_crc32c)
    assert len(sizes) == 1
    assert len(crcs) == 2


def test_files_must_have_the_same_columns(tmp_path) -> None:
    first = write(tmp_path, "a.parquet", pa.table({"a": [1], "b": ["x"]}), 1)
    storage = open_storage(str(tmp_path))
    assert arrow_table.read_types(storage, [first, first], "parquet") == {
        "a": pa.int64(),
        "b": pa.string(),
    }
    for other, what in (
        (pa.table({"a": [1.5], "b": ["x"]}), "a is double instead of int64"),
        (pa.table({"a": [1]}), "b is missing instead of string"),
        (pa.table({"a": [1], "b": ["x"], "c": [1]}), "c is int64 instead of missing"),
    ):
        file = write(tmp_path, "z.parquet", other, 1)
        with pytest.raises(SourceError) as caught:
            arrow_table.read_types(storage, [first, file], "parquet")
        assert str(caught.value) == (
            "all files must have the same columns (z.parquet differs from a.parquet: " + what + ")"
        )


def test_columns_in_another_order_are_the_same(tmp_path) -> None:
    first = write(tmp_path, "a.parquet", pa.table({"a": [1], "b": ["x"]}), 1)
    other = write(tmp_path, "b.parquet", pa.table({"b": ["y"], "a": [2]}), 1)
    storage = open_storage(str(tmp_path))
    types = arrow_table.read_types(storage, [first, other], "parquet")
    assert list(types) == ["a", "b"]


def test_damaged_and_missing_files_are_errors(tmp_path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nothing PAR1")
    storage = open_storage(str(tmp_path))
    for format_ in ("parquet", "arrow"):
        with pytest.raises(SourceError, match=r"^t.parquet could not be read \(it is damaged: "):
            arrow_table.read_types(storage, [file_of(tmp_path / "t.parquet")], format_)
    with pytest.raises(SourceError) as caught:
        arrow_table.scan_parts(storage, TableFile(key=b"x.parquet", num_bytes=1), "parquet")
    assert str(caught.value) == "x.parquet could not be read: no such file or directory"


def test_nested_lists_become_flat(tmp_path) -> None:
    type_ = pa.list_(pa.list_(pa.int64(), 2), 3)
    values = [[[1, 2], [3, 4], [5, 6]], None, [[7, 8], [9, 10], [11, 12]]]
    column = pa.array(values, type_)
    flat = [[1, 2, 3, 4, 5, 6], None, [7, 8, 9, 10, 11, 12]]
    assert arrow_table.flattened(column).to_pylist() == flat
    assert arrow_table.flattened(column.slice(1)).to_pylist() == flat[1:]
    assert arrow_table.flattened(column.slice(2)).to_pylist() == flat[2:]
    assert arrow_table.flattened(column.slice(0, 1)).type == pa.list_(pa.int64(), 6)
    plain = pa.array([[1], None])
    assert arrow_table.flattened(plain) is plain
    with pytest.raises(SourceError) as caught:
        arrow_table.flattened(pa.array([[[1, 2], None, [3, 4]]], type_))
    assert str(caught.value) == (
        f"lists of a fixed size must not be missing inside of others (found in {type_})"
    )
