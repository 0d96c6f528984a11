"""Data in memory as a source: written once to an Arrow file, which workers then read.

A pandas DataFrame, a dict of NumPy arrays, an Arrow table, or a function that returns an
iterator over records. Equal data give equal bytes, whichever of them holds it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.records import MAX_BATCH_RECORDS

FILE_NAME = "dataset.arrow"
BATCH_RECORDS = 4 * MAX_BATCH_RECORDS


@contextlib.contextmanager
def written(source: object, folder: str | None) -> Iterator[str]:
    """Write the data to a file in ``folder`` (or the system's) for as long as the block lasts.

    Raises RequestError if the data are of no known kind, SourceError if they do not fit.
    """
    schema, batches = _batches(source)
    with tempfile.TemporaryDirectory(prefix="tfrec-", dir=folder) as temporary:
        path = os.path.join(temporary, FILE_NAME)
        with pa.OSFile(path, "wb") as sink, ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        yield path


def _batches(source: object) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    if callable(source):
        return _of_records(source)
    try:
        table = _table(source)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise SourceError(f"the data in memory must be a table ({error})") from None
    return table.schema, table.to_batches(max_chunksize=BATCH_RECORDS)


def _table(source: object) -> pa.Table:
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return source.combine_chunks()
    if isinstance(source, Mapping):
        return pa.table({str(name): _column(name, values) for name, values in source.items()})
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
        table = pa.Table.from_pandas(source, preserve_index=False).combine_chunks()
        return table.replace_schema_metadata(None)
    raise RequestError(
        "the source must be a path, a pandas DataFrame, a dict of arrays, an Arrow table or a "
        f"function that returns an iterator over records (got {type(source).__name__})"
    )


def _column(name: object, values: Any) -> pa.Array:
    """Return an array ``[records, …]`` as a column: more dimensions as lists of fixed sizes."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    array = np.asarray(values)
    if array.ndim == 0:
        raise SourceError(f"column {name!r} must have a value per record (got one value)")
    if array.ndim == 1:
        return pa.array(values if array.dtype == object else array)
    column = pa.array(np.ascontiguousarray(array).reshape(-1))
    for size in reversed(array.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, size)
    return column


def _of_records(
    factory: Callable[[], Iterable[Mapping[str, Any]]],
) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Read once to learn the types, and again to write: what a factory is for."""
    schema: pa.Schema | None = None
    try:
        for table in _record_tables(factory()):
            found = table.schema
            schema = (
                found
                if schema is None
                else pa.unify_schemas([schema, found], promote_options="permissive")
            )
        if schema is None:
            raise SourceError("the function must return records (it returned none)")
        fixed = schema

        def batches() -> Iterator[pa.RecordBatch]:
            for table in _record_tables(factory()):
                columns = {
                    field.name: table.column(field.name).cast(field.type)
                    if field.name in table.column_names
                    else pa.nulls(table.num_rows, field.type)
                    for field in fixed
                }
                yield from pa.table(columns, schema=fixed).combine_chunks().to_batches()

        return fixed, batches()
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise SourceError(f"the records must be dicts with values of one type ({error})") from None


def _record_tables(records: Iterable[Mapping[str, Any]]) -> Iterator[pa.Table]:
    remaining = iter(records)
    while chunk := list(itertools.islice(remaining, MAX_BATCH_RECORDS)):
        names = dict.fromkeys(name for record in chunk for name in record)
        columns = {}
        for name in names:
            values = [record.get(name) for record in chunk]
            arrays = [value for value in values if isinstance(value, np.ndarray)]
            same = len(arrays) == len(values) and len({value.shape for value in arrays}) == 1
            columns[str(name)] = (
                _column(name, np.stack(arrays)) if same and arrays[0].ndim else pa.array(values)
            )
        yield pa.table(columns)
