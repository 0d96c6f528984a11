"""Arrow columns to payloads: a handful of kernel calls per column, no loop over records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.example_codec import wire
from tfrec_tools.example_codec.wire import Int64s, Piece


@dataclass(frozen=True, slots=True)
class ExternalBytes:
    """A bytes column whose content the writer puts in: only its sizes are needed here.

    Image files pass through this way, so that their bytes are never copied into Arrow.
    """

    sizes: Int64s

    def __len__(self) -> int:
        return len(self.sizes)


@dataclass(frozen=True, slots=True)
class EncodedExamples:
    """Payloads of n records, cut at the columns whose bytes the writer puts in.

    Record i is ``segments[0][i] + content of externals[0] + segments[1][i] + …``.
    """

    segments: tuple[pa.LargeBinaryArray, ...]
    externals: tuple[str, ...]
    payload_bytes: Int64s

    @property
    def payloads(self) -> pa.LargeBinaryArray:
        """The whole payloads, where no column is external."""
        (payloads,) = self.segments
        return payloads


@dataclass(frozen=True, slots=True)
class _Content:
    """What stands inside one column's list message, with its size per record."""

    list_tag: bytes
    pieces: list[Piece]
    sizes: Int64s
    external: bool = False


def map_order(name: str) -> bytes:
    """Return the sort key of a feature's name in deterministic serialization.

    Keys are sorted by their UTF-8 bytes. Where one is the prefix of another, the longer
    comes first: so does upb, the implementation behind ``tf.train.Example`` in Python
    (tried with protobuf 4.25 to 7.36; the pure Python one puts the shorter first). 0xFF,
    which UTF-8 never contains, behind each key gives just that order.
    """
    return name.encode() + b"\xff"


def encode(columns: Mapping[str, pa.Array | ExternalBytes]) -> EncodedExamples:
    """Encode n records given as columns of n values each.

    Column types: int64, float32, (large) binary or string, lists of these, or
    `ExternalBytes`. A null becomes an empty list of its kind, like an empty list. Equal to
    ``tf.train.Example(…).SerializeToString(deterministic=True)``.

    Raises ValueError if a column's type has no place in an Example, or lengths differ.
    """
    (num_records,) = {len(column) for column in columns.values()}
    runs: list[list[Piece]] = [[]]
    externals: list[str] = []
    total = np.zeros(num_records, dtype=np.int64)
    for name in sorted(columns, key=map_order):
        column = columns[name]
        key = name.encode()
        content = _content(column)
        key_field = wire.TAG_1 + wire.varint(len(key)) + key
        feature_sizes = 1 + wire.varint_sizes(content.sizes) + content.sizes
        entry_sizes = len(key_field) + 1 + wire.varint_sizes(feature_sizes) + feature_sizes
        runs[-1] += [
            wire.TAG_1,
            wire.varint_piece(entry_sizes),
            key_field + wire.TAG_2,
            wire.varint_piece(feature_sizes),
            content.list_tag,
            wire.varint_piece(content.sizes),
            *content.pieces,
        ]
        if content.external:
            externals.append(name)
            runs.append([])
        total += 1 + wire.varint_sizes(entry_sizes) + entry_sizes
    runs[0][:0] = [wire.TAG_1, wire.varint_piece(total)]
    return EncodedExamples(
        segments=tuple(wire.joined(run, num_records) for run in runs),
        externals=tuple(externals),
        payload_bytes=1 + wire.varint_sizes(total) + total,
    )


def _content(column: pa.Array | ExternalBytes) -> _Content:
    if isinstance(column, ExternalBytes):
        lengths = column.sizes
        return _Content(
            wire.TAG_1,
            [wire.TAG_1, wire.varint_piece(lengths)],
            1 + wire.varint_sizes(lengths) + lengths,
            external=True,
        )
    values, offsets = _values_and_offsets(column)
    if pa.types.is_int64(values.type):
        packed = wire.regrouped(wire.varints(np.asarray(values)), offsets)
        return _packed_content(wire.TAG_3, packed)
    if pa.types.is_float32(values.type):
        data = np.ascontiguousarray(np.asarray(values), dtype="<f4").view(np.uint8)
        return _packed_content(wire.TAG_2, wire.large_binary(data, offsets * 4))
    if pa.types.is_large_binary(values.type):
        return _bytes_content(values, offsets)
    raise ValueError(f"an Example holds int64, float32 and bytes, not {values.type}")


def _values_and_offsets(column: pa.Array) -> tuple[pa.Array, Int64s]:
    """Return the column's values without nulls and the n + 1 offsets of its records' lists."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        counts = np.asarray(pc.fill_null(pc.list_value_length(column), 0), dtype=np.int64)
        values = column.flatten()
        if values.null_count:
            raise ValueError("a list in a column must not contain nulls")
    else:
        counts = np.asarray(column.is_valid()).astype(np.int64)
        values = column.drop_null() if column.null_count else column
    if not (pa.types.is_int64(values.type) or pa.types.is_float32(values.type)):
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            values = values.cast(pa.large_string())
            values = values.cast(pa.large_binary())
        elif pa.types.is_binary(values.type):
            values = values.cast(pa.large_binary())
    return values, wire.offsets_of(counts)


def _packed_content(list_tag: bytes, packed: pa.LargeBinaryArray) -> _Content:
    lengths = wire.value_lengths(packed)
    if bool((lengths > 0).all()):
        sizes = 1 + wire.varint_sizes(lengths) + lengths
        return _Content(list_tag, [wire.TAG_1, wire.varint_piece(lengths), packed], sizes)
    # An empty packed field is left out altogether.
    present = lengths > 0
    sizes = np.where(present, 1 + wire.varint_sizes(lengths) + lengths, 0)
    prefixes = wire.joined([wire.TAG_1, wire.varints(lengths)], len(lengths))
    prefixes = pc.if_else(pa.array(present), prefixes, pa.scalar(b"", pa.large_binary()))
    return _Content(list_tag, [prefixes, packed], sizes)


def _bytes_content(values: pa.LargeBinaryArray, offsets: Int64s) -> _Content:
    lengths = wire.value_lengths(values)
    pieces: list[Piece] = [wire.TAG_1, wire.varint_piece(lengths), values]
    num_records = len(offsets) - 1
    if len(values) == num_records and bool((np.diff(offsets) == 1).all()):
        return _Content(wire.TAG_1, pieces, 1 + wire.varint_sizes(lengths) + lengths)
    fields = wire.regrouped(wire.joined(pieces, len(values)), offsets)
    return _Content(wire.TAG_1, [fields], wire.value_lengths(fields))
