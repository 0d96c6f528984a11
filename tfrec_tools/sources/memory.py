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

from tfrec_tools.errors import RequestError, SourceError, TfrecError
from tfrec_tools.records import MAX_BATCH_RECORDS
from tfrec_tools.schema.cells import is_list

FILE_NAME = "dataset.arrow"


@contextlib.contextmanager
def written(source: object, folder: str | None) -> Iterator[str]:
    """Write the data to a file in ``folder`` (or the system's) for as long as the block lasts.

    Raises RequestError if the data are of no known kind, SourceError if they do not fit.
    """
    schema, batches = _batches(source)
    with tempfile.TemporaryDirectory(prefix="tfrec-", dir=folder) as temporary:
        path = os.path.join(temporary, FILE_NAME)
        with pa.OSFile(path, "wb") as sink, ipc.new_file(sink, schema) as writer:
            try:
                for batch in batches:
                    # Taken anew, so that equal data have equal buffers, whatever they are cut from.
                    writer.write_batch(batch.take(pa.array(np.arange(batch.num_rows))))
            except pa.ArrowException as error:
                raise SourceError(
                    f"the function must return the same records when it is called again ({error})"
                ) from None
        yield path


def _batches(source: object) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    if callable(source):
        return _of_records(source)
    try:
        table = _plain(_table(source))
    except TfrecError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise SourceError(f"the data in memory must be a table ({error})") from None
    return table.schema, table.to_batches(max_chunksize=MAX_BATCH_RECORDS)


def _plain(table: pa.Table) -> pa.Table:
    """Return the table in the types that equal data share, without metadata of its maker."""
    types = [_plain_type(type_) for type_ in table.schema.types]
    columns = [c.cast(type_) for c, type_ in zip(table.columns, types, strict=True)]
    return pa.Table.from_arrays(columns, names=table.column_names).combine_chunks()


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """Return a type with large offsets in place of small ones, and without a dictionary."""
    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_plain_type(type_.value_type), type_.list_size)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return pa.large_list(_plain_type(type_.value_type))
    if pa.types.is_string(type_) or str(type_) == "string_view":
        return pa.large_string()
    if pa.types.is_binary(type_) or str(type_) == "binary_view":
        return pa.large_binary()
    return type_


def _table(source: object) -> pa.Table:
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Mapping):
        return pa.table({str(name): _column(name, values) for name, values in source.items()})
    if type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns"):
        return pa.Table.from_pandas(source, preserve_index=False)
    raise RequestError(
        "the source must be a path, a pandas DataFrame, a dict of arrays, an Arrow table or a "
        f"function that returns an iterator over records (got {type(source).__name__})"
    )


def _column(name: object, values: Any) -> pa.Array:
    """Return an array ``[records, …]`` as a column: more dimensions as lists of fixed sizes."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, (list, tuple)):
        # Not by NumPy, which makes texts of [1, "a"] and rounded floats of [2**53 + 1, 0.5].
        column = pa.array(values)
        if not is_list(column.type) or len(set(map(len, values))) > 1:
            return column
    array = np.asarray(values)
    if array.ndim == 0:
        raise SourceError(f"column {name!r} must have a value per record (got one value)")
    if array.ndim == 1:
        if array.dtype == object:
            return pa.array(values)
        # NaN is a missing value, as it is in a DataFrame.
        return pa.array(array, from_pandas=array.dtype.kind == "f")
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
        fixed = pa.schema([(field.name, _plain_type(field.type)) for field in schema])

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
    except (pa.ArrowException, ValueError, TypeError, OverflowError, AttributeError) as error:
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
