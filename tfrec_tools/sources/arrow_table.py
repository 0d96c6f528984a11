"""Tables whose columns have types already: Parquet files, and Arrow files of our own making."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

from tfrec_tools.errors import SourceError
from tfrec_tools.record_framing import crc32c
from tfrec_tools.records import MAX_BATCH_RECORDS, path_text
from tfrec_tools.storage import Storage, reason_of
from tfrec_tools.tables import Table, TableBatch, TableFile, TablePart, fixed_shape

READ_BYTES = 4 << 20
_NESTED = 2  # lists of lists


def read_types(
    storage: Storage, files: Sequence[TableFile], format_: str
) -> dict[str, pa.DataType]:
    """Return the columns' types. Raises SourceError unless all files have the same."""
    first: dict[str, pa.DataType] | None = None
    for file in files:
        with _reading(file), storage.open(file.key) as stream:
            schema = (
                parquet.ParquetFile(stream).schema_arrow
                if format_ == "parquet"
                else ipc.open_file(stream).schema
            )
        types = dict(zip(schema.names, schema.types, strict=True))
        if len(types) != len(schema.names):
            raise SourceError(f"{path_text(file.key)} must have columns with different names")
        if first is None:
            first = types
        elif types != first:
            what = next(
                f"{name} is {types.get(name, 'missing')} instead of {first.get(name, 'missing')}"
                for name in (*first, *types)
                if types.get(name) != first.get(name)
            )
            raise SourceError(
                f"all files must have the same columns ({path_text(file.key)} differs from "
                f"{path_text(files[0].key)}: {what})"
            )
    return first or {}


def scan_parts(storage: Storage, file: TableFile, format_: str) -> tuple[TablePart, ...]:
    """Return the row groups of a Parquet file, or the batches of an Arrow file, as parts."""
    with _reading(file), storage.open(file.key) as stream:
        if format_ == "parquet":
            metadata = parquet.ParquetFile(stream).metadata
            groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
            sizes = [(group.num_rows, group.total_byte_size) for group in groups]
        else:
            reader = ipc.open_file(stream)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
            sizes = [(batch.num_rows, batch.nbytes) for batch in batches]
        crc = _content_crc(stream)
    parts = []
    start = 0
    for size, num_bytes in sizes:
        if size:
            parts.append(
                TablePart(
                    file=file,
                    start=start,
                    stop=start + size,
                    num_records=size,
                    first_row=start + 1,
                    content_crc32c=crc,
                    num_bytes=num_bytes,
                )
            )
        start += size
    return tuple(parts)


def _content_crc(stream: BinaryIO) -> int:
    """Return the checksum of a whole file: another content may have the very same size."""
    stream.seek(0)
    crc = 0
    while piece := stream.read(READ_BYTES):
        crc = crc32c(piece, crc)
    return crc


def read_part(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Yield the records of a part with the named columns."""
    with _reading(part.file), storage.open(part.file.key) as stream:
        start = part.start
        for batch in _batches(stream, table, part, list(columns)):
            positions = np.arange(start, start + batch.num_rows)
            rows = positions + 1
            yield TableBatch(
                key=part.file.key,
                columns={name: flattened(batch.column(name)) for name in columns},
                positions=positions,
                indices=positions - part.start,
                rows=functools.partial(np.asarray, rows),
            )
            start += batch.num_rows


def _batches(
    stream: object, table: Table, part: TablePart, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    if table.format == "parquet":
        file = parquet.ParquetFile(stream)
        starts = np.cumsum(
            [0, *(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups))]
        )
        group = int(np.flatnonzero(starts[:-1] == part.start)[-1])
        yield from file.iter_batches(MAX_BATCH_RECORDS, row_groups=[group], columns=columns)
        return
    reader = ipc.open_file(stream)
    start = 0
    for index in range(reader.num_record_batches):
        batch = reader.get_batch(index)
        if start == part.start and batch.num_rows:
            for first in range(0, batch.num_rows, MAX_BATCH_RECORDS):
                yield batch.slice(first, MAX_BATCH_RECORDS).select(columns)
            return
        start += batch.num_rows


def flattened(column: pa.Array) -> pa.Array:
    """Return nested lists of fixed sizes as one list per record; other columns as they are."""
    shape, _ = fixed_shape(column.type)
    if len(shape) < _NESTED:
        return column
    values = column.drop_null()
    for _ in shape:
        if values.null_count:
            raise SourceError(
                f"lists of a fixed size must not be missing inside of others (found in {column.type})"
            )
        values = values.flatten()
    lists = pa.FixedSizeListArray.from_arrays(values, math.prod(shape))
    if not column.null_count:
        return lists
    valid = np.asarray(column.is_valid())
    return lists.take(pa.array(np.cumsum(valid) - 1, mask=~valid))


class _reading:  # noqa: N801 (a context manager that reads like a function)
    """Turns errors of the library into ours, which name the file."""

    def __init__(self, file: TableFile) -> None:
        self._file = file

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Raise SourceError in place of what Arrow and the system say."""
        name = path_text(self._file.key)
        if isinstance(error, pa.ArrowException):
            raise SourceError(f"{name} could not be read (it is damaged: {error})") from None
        if isinstance(error, OSError):
            raise SourceError(f"{name} could not be read: {reason_of(error)}") from None
