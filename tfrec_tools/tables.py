"""Sources of which one file holds many records: what they are made of, as plain values.

A unit is what one worker reads in one go: one range of a big file, or several small files.
Its parts are ranges of files. A record's position in its file is the start of its range plus
its number in it: part of the dataset format, since rank and split come from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.text_options import TextOptions

MIN_UNIT_BYTES, MAX_UNIT_BYTES = 4 << 20, 16 << 20
"""Ranges and small files are read together up to a size between these; see `unit_bytes`."""

MANY_UNITS = 64


def unit_bytes(num_bytes: int) -> int:
    """Return up to how many bytes make a unit of an input of ``num_bytes``.

    Of a small input as many units as keep some workers evenly busy; of a large one so few
    that their spill files stay few, too.
    """
    return min(max(num_bytes // MANY_UNITS, MIN_UNIT_BYTES), MAX_UNIT_BYTES)


TableFormat: TypeAlias = Literal["csv", "parquet", "jsonl", "arrow", "text"]
Compression: TypeAlias = Literal["gzip", "bz2", "zstd", "xz"]
ReadMode: TypeAlias = Literal["ranges", "stream", "exact", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """One file. ``split``: the split its name decides, if names do.

    ``mode``: CSV files are read as independent ``ranges``; as one ``stream`` if compressed or
    in an encoding that is no superset of ASCII; record by record (``exact``) if quotes
    stand where none may, or cells are escaped. A ``document`` is one record. ``data_start``: where the first record
    begins in the (decompressed) bytes; ``first_row``: the number of its row, from 1.
    """

    key: bytes
    num_bytes: int
    compression: Compression | None = None
    encoding: str = "utf-8"
    mode: ReadMode = "ranges"
    data_start: int = 0
    first_row: int = 1
    split: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePart:
    """Records that lie together in one file.

    ``start`` and ``stop``: bytes of a text file, records of others; a stream is one part.
    ``num_bytes``: decompressed.
    ``num_records`` does not count blank lines. ``first_row``: of the file, from 1.
    ``content_crc32c``: of the bytes, so that a changed file is noticed. ``beside``: the parts
    of parallel files that hold these lines, which may begin with some lines more.
    """

    file: TableFile
    start: int
    stop: int
    num_records: int
    first_row: int
    content_crc32c: int = 0
    num_bytes: int = 0
    beside: tuple[TablePart, ...] = ()

    @property
    def all_bytes(self) -> int:
        """Bytes of this part and of those beside it."""
        return self.num_bytes + sum(part.num_bytes for part in self.beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableUnit:
    """What one worker reads in one go, all of one split where names decide on splits."""

    index: int
    parts: tuple[TablePart, ...]
    split: str | None = None
    first_position: int = 0

    @property
    def num_records(self) -> int:
        """Records in all parts, bad ones too."""
        return sum(part.num_records for part in self.parts)

    @property
    def num_bytes(self) -> int:
        """Bytes of all parts."""
        return sum(part.all_bytes for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A source of records with columns. ``types``: of each column; CSV cells are binary.

    ``dialect``, ``decimal`` and ``has_header`` are those of CSV files, ``text`` of text files.
    Of parallel text files, those that belong together follow one another in ``files``.
    ``notes``: what was sniffed and what else people should know.
    """

    format: TableFormat
    types: Mapping[str, pa.DataType]
    files: tuple[TableFile, ...]
    dialect: CsvDialect | None = None
    text: TextOptions | None = None
    decimal: str = "."
    has_header: bool | None = None
    notes: tuple[str, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in the order of the files."""
        return tuple(self.types)

    @property
    def num_parallel(self) -> int:
        """How many files the columns of a record come from."""
        return len(self.text.parallel) if self.text is not None and self.text.parallel else 1

    @property
    def is_text(self) -> bool:
        """Whether all cells are text whose meaning is still open."""
        return self.format == "csv"

    def to_dict(self) -> dict[str, Any]:
        """Return what decides how the files are understood, for the plan's fingerprint."""
        data: dict[str, Any] = {
            "format": self.format,
            "columns": {name: str(type_) for name, type_ in self.types.items()},
        }
        if self.dialect is not None:
            data["dialect"] = {
                name: getattr(self.dialect, name) for name in CsvDialect.__dataclass_fields__
            }
            data["decimal"] = self.decimal
        if self.text is not None:
            data["text"] = self.text.to_dict()
        return data


@dataclass(frozen=True, slots=True)
class CellFault:
    """Why a record of a table does not fit. ``column`` is empty for the record as a whole."""

    row: int
    column: str
    reason: str


@dataclass(slots=True)
class TableBatch:
    """Up to 16,384 records of one part: columns by name.

    ``positions`` (int64 [n]): of each record in its file, from which its rank comes.
    ``indices`` (int64 [n]): of each record in its part, those counted that are ``rejected``,
    which are those that could not be read at all, and those ``left_out``, which are counted
    under a word that says why. ``rows()`` gives the rows' numbers. ``repaired``: by file,
    its encoding and the rows of records in which something was replaced that was no text.
    ``keys``: of the files of columns that come from others than ``key``.
    """

    key: bytes
    columns: dict[str, pa.Array]
    positions: NDArray[np.int64]
    indices: NDArray[np.int64]
    rows: Callable[[], NDArray[np.int64]]
    rejected: tuple[CellFault, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    repaired: Mapping[bytes, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    keys: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def num_seen(self) -> int:
        """Records of the part that this batch accounts for."""
        return len(self) + len(self.rejected) + sum(self.left_out.values())

    def __len__(self) -> int:
        return len(self.positions)


def fixed_shape(type_: pa.DataType) -> tuple[tuple[int, ...], pa.DataType]:
    """Return the shape that nested lists of fixed sizes make up, and the type of the values."""
    shape: list[int] = []
    while pa.types.is_fixed_size_list(type_):
        shape.append(type_.list_size)
        type_ = type_.value_type
    return tuple(shape), type_


def flat_type(type_: pa.DataType) -> pa.DataType:
    """Return the type that nested lists of fixed sizes have once they are one list."""
    shape, value = fixed_shape(type_)
    return pa.list_(value, math.prod(shape)) if len(shape) > 1 else type_
