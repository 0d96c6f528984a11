"""Data in memory: written to an Arrow file in the types that equal data share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc

from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.records import MAX_BATCH_RECORDS
from tfrec_tools.sources import memory


def table_of(source: object) -> pa.Table:
    with memory.written(source, None) as path:
        return ipc.open_file(path).read_all()


def test_the_file_lasts_as_long_as_the_block(tmp_path) -> None:
    with memory.written({"a": np.arange(3)}, str(tmp_path)) as path:
        assert os.path.basename(path) == "dataset.arrow"
        assert os.path.dirname(os.path.dirname(path)) == str(tmp_path)
    assert list(tmp_path.iterdir()) == []


EQUAL: dict[str, Any] = {
    "arrow": pa.table({"n": [1, 2], "t": ["a", "b"], "d": [0.5, None]}),
    "batch": pa.RecordBatch.from_pydict({"n": [1, 2], "t": ["a", "b"], "d": [0.5, None]}),
    "large": pa.table(
        {"n": [1, 2], "t": pa.array(["a", "b"], pa.large_string()), "d": [0.5, None]}
    ).replace_schema_metadata({"made": "here"}),
    "coded": pa.table(
        {"n": [1, 2], "t": pa.array(["a", "b"]).dictionary_encode(), "d": [0.5, None]}
    ),
    "lists": {"n": [1, 2], "t": ["a", "b"], "d": [0.5, None]},
    "records": lambda: iter([{"n": 1, "t": "a", "d": 0.5}, {"n": 2, "t": "b"}]),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_data_are_equal_files(name) -> None:
    expected = pa.schema({"n": pa.int64(), "t": pa.large_string(), "d": pa.float64()})
    found = table_of(EQUAL[name])
    assert found.schema.equals(expected, check_metadata=True)
    assert found.to_pydict() == {"n": [1, 2], "t": ["a", "b"], "d": [0.5, None]}


def test_frames() -> None:
    frame = pd.DataFrame(
        {"n": [1, 2], "t": ["a", None], "c": pd.Categorical(["x", "y"]), "i": pd.array([1, None])},
        index=[7, 9],
    )
    found = table_of(frame)
    assert found.to_pydict() == {"n": [1, 2], "t": ["a", None], "c": ["x", "y"], "i": [1, None]}
    assert found.schema.metadata is None


def test_arrays_of_more_dimensions_are_lists_of_fixed_sizes() -> None:
    pixels = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    found = table_of({"pixels": pixels[:, ::-1]})
    assert found.schema.field("pixels").type == pa.list_(pa.list_(pa.float32(), 2), 3)
    assert found.column("pixels").to_pylist() == pixels[:, ::-1].tolist()
    records = table_of(lambda: ({"pixels": one} for one in pixels))
    assert records.schema.field("pixels").type == pa.list_(pa.list_(pa.float32(), 2), 3)
    assert table_of({"a": [[1, 2], [3, 4]]}).schema.field("a").type == pa.list_(pa.int64(), 2)
    ragged = table_of({"a": [[1, 2], [3]]})
    assert ragged.schema.field("a").type == pa.large_list(pa.int64())


@pytest.mark.parametrize("values", [[1, "a"], [2**53 + 1, 0.5], [2**64], [True, 2]])
def test_lists_are_not_rounded_or_made_text(values) -> None:
    with pytest.raises(SourceError, match=r"^the data in memory must be a table \("):
        table_of({"a": values})
    with pytest.raises(SourceError, match=r"^the records must be dicts with values of one type \("):
        table_of(lambda: ({"a": value} for value in values))


def test_types_of_all_records_count() -> None:
    """The first decimal comes in the second batch, and a key of its own with it."""
    number = MAX_BATCH_RECORDS + 1

    def records():
        for index in range(number - 1):
            yield {"a": index}
        yield {"a": 0.5, "b": "x"}

    found = table_of(records)
    assert found.schema == pa.schema({"a": pa.float64(), "b": pa.large_string()})
    assert found.num_rows == number
    assert found.slice(number - 2).to_pydict() == {"a": [number - 2, 0.5], "b": [None, "x"]}


@pytest.mark.parametrize("source", [7, [1, 2], b"text"])
def test_other_things_are_refused(source) -> None:
    with pytest.raises(RequestError) as caught:
        table_of(source)
    assert str(caught.value) == (
        "the source must be a path, a pandas DataFrame, a dict of arrays, an Arrow table or a "
        f"function that returns an iterator over records (got {type(source).__name__})"
    )


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(SourceError) as caught:
        table_of({"a": 7})
    assert str(caught.value) == "column 'a' must have a value per record (got one value)"
    with pytest.raises(SourceError, match=r"^the data in memory must be a table "):
        table_of({"a": np.arange(2), "b": np.arange(3)})
    with pytest.raises(SourceError) as caught:
        table_of(lambda: iter(()))
    assert str(caught.value) == "the function must return records (it returned none)"
    with pytest.raises(SourceError, match=r"^the records must be dicts with values of one type "):
        table_of(lambda: iter([1, 2]))


def test_a_function_whose_second_records_differ_is_an_error() -> None:
    calls = []

    def records():
        calls.append(1)
        return iter([{"a": 1 if len(calls) == 1 else "x"}])

    with pytest.raises(
        SourceError, match=r"^the function must return the same records when it is called again "
    ):
        table_of(records)
