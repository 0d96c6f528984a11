"""Arrow columns to payloads: a handful of kernel calls per column, no loop over records."""

from __future__ import annotations

import dataclasses
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
    present: np.ndarray | None = None


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
    `ExternalBytes`. Where a scalar is null, the record has no such key: TensorFlow's parsers
    take a default then, but refuse an empty list. A null list is an empty list of its kind.
    Equal to ``tf.train.Example(…).SerializeToString(deterministic=True)``.

    Raises ValueError if a column's type has no place in an Example, or lengths differ.
    """
    (num_records,) = {len(column) for column in columns.values()}
    runs: list[list[Piece]] = [[]]
    externals: list[str] = []
    total = np.zeros(num_records, dtype=np.int64)
    for name in sorted(columns, key=map_order):
        column = columns[name]
        key = name.encode()
        key_field = wire.TAG_1 + wire.varint(len(key)) + key
        simple = _scalar_entries(column, key_field)
        if simple is not None:
            runs[-1] += simple.pieces
            total += simple.sizes
            continue
        content = _content(column)
        feature_sizes = 1 + wire.varint_sizes(content.sizes) + content.sizes
        entry_sizes = len(key_field) + 1 + wire.varint_sizes(feature_sizes) + feature_sizes
        pieces = [
            wire.TAG_1,
            wire.varint_piece(entry_sizes),
            key_field + wire.TAG_2,
            wire.varint_piece(feature_sizes),
            content.list_tag,
            wire.varint_piece(content.sizes),
            *content.pieces,
        ]
        sizes = 1 + wire.varint_sizes(entry_sizes) + entry_sizes
        if content.present is not None:
            empty = pa.scalar(b"", pa.large_binary())
            present = pa.array(content.present)
            pieces = [pc.if_else(present, wire.joined(pieces, num_records), empty)]
            sizes = np.where(content.present, sizes, 0)
        runs[-1] += pieces
        if content.external:
            externals.append(name)
            runs.append([])
        total += sizes
    runs[0][:0] = [wire.TAG_1, wire.varint_piece(total)]
    return EncodedExamples(
        segments=tuple(wire.joined(run, num_records) for run in runs),
        externals=tuple(externals),
        payload_bytes=1 + wire.varint_sizes(total) + total,
    )


@dataclass(frozen=True, slots=True)
class _Entries:
    """A column's map entries: pieces per record, and their sizes."""

    pieces: list[Piece]
    sizes: Int64s | int


def _scalar_entries(column: pa.Array | ExternalBytes, key_field: bytes) -> _Entries | None:
    """Return the entries of a column of scalars of few different lengths, else None.

    All bytes in front of a value depend on its length alone: tags, key and four sizes nested
    in each other. They are made once per length, and taken by it.
    """
    if isinstance(column, ExternalBytes) or pa.types.is_nested(column.type):
        return None
    column = _as_stored(column)
    if pa.types.is_int64(column.type):
        tag, values = wire.TAG_3, wire.varints(np.asarray(pc.fill_null(column, 0)))
        lengths = wire.value_lengths(values)
    elif pa.types.is_float32(column.type):
        filled = pc.fill_null(column, 0.0)
        data = np.ascontiguousarray(np.asarray(filled), dtype="<f4").view(np.uint8)
        tag, values = wire.TAG_2, wire.large_binary(data, np.arange(len(column) + 1) * 4)
        lengths = np.full(len(column), 4, dtype=np.int64)
    elif pa.types.is_large_binary(column.type):
        tag, values = wire.TAG_1, pc.fill_null(column, b"") if column.null_count else column
        lengths = wire.value_lengths(values)
    else:
        return None
    if column.null_count:
        valid = np.asarray(column.is_valid())
        if tag != wire.TAG_1:  # the stand-in for a null must not be written
            values = wire.regrouped(values.filter(column.is_valid()), _counted(valid))
        lengths = np.where(valid, lengths, _NO_VALUE)
    least, most = int(lengths.min(initial=0)), int(lengths.max(initial=0))
    if most - least > _MAX_TABLE:
        return None
    present = np.flatnonzero(np.bincount(lengths - least)) + least
    if len(present) > _MAX_LENGTHS:
        return None
    prefixes = [_prefix(int(length), key_field, tag) for length in present]
    sizes = [len(p) + max(int(n), 0) for p, n in zip(prefixes, present, strict=True)]
    if len(prefixes) == 1:
        return _Entries([prefixes[0], values], sizes[0])
    number_of = np.zeros(most - least + 1, dtype=np.int32)
    number_of[present - least] = np.arange(len(present), dtype=np.int32)
    numbers = number_of[lengths - least]
    taken = pa.array(prefixes, pa.large_binary()).take(pa.array(numbers))
    return _Entries([taken, values], np.array(sizes, dtype=np.int64)[numbers])


_NO_VALUE = -1  # in place of a length
_MAX_TABLE = 1 << 16
_MAX_LENGTHS = 1 << 10  # different lengths, beyond which tables cost more than they save


def _counted(valid: np.ndarray) -> Int64s:
    """Return the n + 1 offsets of n records that have one value or none."""
    return wire.offsets_of(valid.astype(np.int64))


def _prefix(length: int, key_field: bytes, tag: bytes) -> bytes:
    """Return what stands in front of a value of ``length`` bytes, from its map entry on."""
    if length == _NO_VALUE:
        return b""  # no entry at all
    inner = wire.TAG_1 + wire.varint(length)
    content = len(inner) + length
    list_part = tag + wire.varint(content) + inner
    feature = len(list_part) + length
    value_part = wire.TAG_2 + wire.varint(feature) + list_part
    entry = len(key_field) + len(value_part) + length
    return wire.TAG_1 + wire.varint(entry) + key_field + value_part


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
    content = None
    if pa.types.is_int64(values.type):
        packed = wire.regrouped(wire.varints(np.asarray(values)), offsets)
        content = _packed_content(wire.TAG_3, packed)
    elif pa.types.is_float32(values.type):
        data = np.ascontiguousarray(np.asarray(values), dtype="<f4").view(np.uint8)
        content = _packed_content(wire.TAG_2, wire.large_binary(data, offsets * 4))
    elif pa.types.is_large_binary(values.type):
        content = _bytes_content(values, offsets)
    if content is not None:
        if column.null_count and not pa.types.is_nested(column.type):
            return dataclasses.replace(content, present=np.asarray(column.is_valid()))
        return content
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
    return _as_stored(values), wire.offsets_of(counts)


def _as_stored(values: pa.Array) -> pa.Array:
    """Return text and bytes as large_binary; other values as they are."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values.cast(pa.large_string()).cast(pa.large_binary())
    return values.cast(pa.large_binary()) if pa.types.is_binary(values.type) else values


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
