"""Payloads to Arrow columns.

`decode` walks all records in lockstep: field after field, each step one NumPy operation
on the cursors of all records, since records of one dataset look alike. What it does not
expect (unpacked numbers, repeated keys, unknown fields: all legal protobuf, none of them
written by us or by TensorFlow) it leaves to `decode_one`, the plain reader of one payload.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tfrec_tools.errors import RecordError
from tfrec_tools.example_codec import wire
from tfrec_tools.example_codec.wire import Int64s

Values: TypeAlias = list[bytes] | list[int] | list[float]

_VARINT, _FIXED64, _LENGTH_DELIMITED, _GROUP, _END_GROUP, _FIXED32 = range(6)
_BYTES, _FLOAT32, _INT64 = 1, 2, 3
_MAX_DEPTH = 100  # of groups in groups, as in protobuf
_ARROW_TYPES = {
    _BYTES: pa.large_list(pa.large_binary()),
    _FLOAT32: pa.large_list(pa.float32()),
    _INT64: pa.large_list(pa.int64()),
}
_BULK_COPY_BYTES = 256  # above this many bytes a value, slicing beats gathering by index


class _UnexpectedFormError(Exception):
    """The lockstep walk met a form that only the plain reader knows."""


class _MalformedError(Exception):
    """Bytes that no protobuf message consists of."""


def decode(payloads: pa.Array) -> dict[str, pa.Array]:
    """Decode n payloads ((large) binary [n]) to columns of lists, by feature name.

    Types: ``large_list`` of large_binary, float32 or int64. A record without the feature,
    or with one of no kind, has null there.

    Raises RecordError if a payload is no Example, or a feature has two kinds.
    """
    array = payloads.cast(pa.large_binary())
    if len(array) == 0:
        return {}
    try:
        return _Walk(array).columns()
    except (_UnexpectedFormError, IndexError):
        return _columns([decode_one(payload) for payload in array.to_pylist()])


def decode_one(payload: bytes) -> dict[str, tuple[int, Values]]:
    """Decode one payload to ``{name: (kind, values)}``; kind 1 bytes, 2 float32, 3 int64.

    Accepts every legal encoding of an Example, and reads it as protobuf does: what stands
    twice is merged, or the last one counts. Raises RecordError if it is none.
    """
    features: dict[str, tuple[int, Values] | None] = {}
    try:
        for entries in _messages(payload, 1):
            for entry in _messages(entries, 1):
                name, feature = _entry(entry)
                features[name] = feature
    except (_MalformedError, IndexError) as error:
        what = str(error) if isinstance(error, _MalformedError) else "it ends inside a number"
        raise RecordError(f"a payload must be a tf.train.Example ({what})") from None
    return {name: feature for name, feature in features.items() if feature is not None}


def _entry(entry: bytes) -> tuple[str, tuple[int, Values] | None]:
    """Return one feature's name and content; no content if it has no kind."""
    name = ""
    kind = 0
    values: list[Any] = []
    for number, wire_type, part in _fields(entry):
        if wire_type != _LENGTH_DELIMITED:
            continue
        if number == 1:
            try:
                name = part.decode()
            except UnicodeDecodeError:
                raise _MalformedError("the name of a feature is no UTF-8") from None
        elif number == 2:
            for found, list_wire_type, content in _fields(part):
                if list_wire_type != _LENGTH_DELIMITED or found not in _ARROW_TYPES:
                    continue
                if found != kind:
                    kind, values = found, []
                values += _VALUES[kind](content)
    return name, ((kind, values) if kind else None)


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, offset
        shift += 7
        if shift > 63:
            raise _MalformedError("a number has more than ten bytes")


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield (field number, wire type, value) of a message: an int for numbers, else bytes.

    Groups, which no Example has, are legal unknown fields and passed over.
    """
    offset = 0
    groups: list[int] = []
    while offset < len(data):
        tag, offset = _read_varint(data, offset)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise _MalformedError(f"there is no field {number}")
        value: bytes | int = b""
        if wire_type == _VARINT:
            value, offset = _read_varint(data, offset)
        elif wire_type in (_LENGTH_DELIMITED, _FIXED64, _FIXED32):
            if wire_type == _LENGTH_DELIMITED:
                size, offset = _read_varint(data, offset)
            else:
                size = 8 if wire_type == _FIXED64 else 4
            if offset + size > len(data):
                raise _MalformedError("a field reaches beyond its message")
            value = data[offset : offset + size]
            offset += size
        elif wire_type == _GROUP and len(groups) < _MAX_DEPTH:
            groups.append(number)
            continue
        elif wire_type == _END_GROUP and groups and groups.pop() == number:
            continue
        else:
            raise _MalformedError(f"wire type {wire_type} has no meaning there")
        if not groups:
            yield number, wire_type, value
    if groups:
        raise _MalformedError("a group has no end")


def _messages(data: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the length-delimited fields with the number ``wanted``; others are unknown fields."""
    for number, wire_type, value in _fields(data):
        if number == wanted and wire_type == _LENGTH_DELIMITED:
            yield value


def _floats(content: bytes) -> Iterator[float]:
    for number, wire_type, value in _fields(content):
        if number == 1 and wire_type in (_FIXED32, _LENGTH_DELIMITED):
            if len(value) % 4:
                raise _MalformedError("packed floats must have four bytes each")
            yield from struct.unpack(f"<{len(value) // 4}f", value)


def _ints(content: bytes) -> Iterator[int]:
    for number, wire_type, value in _fields(content):
        if number != 1:
            continue
        if wire_type == _VARINT:
            yield value - (value >> 63 << 64)
        elif wire_type == _LENGTH_DELIMITED:
            offset = 0
            while offset < len(value):
                unsigned, offset = _read_varint(value, offset)
                yield unsigned - (unsigned >> 63 << 64)


_VALUES: dict[int, Callable[[bytes], Iterator[Any]]] = {
    _BYTES: lambda content: _messages(content, 1),
    _FLOAT32: _floats,
    _INT64: _ints,
}


def _columns(records: Sequence[dict[str, tuple[int, Values]]]) -> dict[str, pa.Array]:
    kinds: dict[str, int] = {}
    for record in records:
        for name, (kind, _) in record.items():
            if kinds.setdefault(name, kind) != kind:
                raise RecordError(f"feature {name!r} must have one kind in all records")
    return {
        name: pa.array(
            [record[name][1] if name in record else None for record in records],
            type=_ARROW_TYPES[kinds[name]],
        )
        for name in sorted(kinds)
    }


@dataclass(slots=True)
class _Found:
    """Where one feature's list messages lie."""

    kind: int
    records: list[Int64s] = field(default_factory=list)
    starts: list[Int64s] = field(default_factory=list)
    stops: list[Int64s] = field(default_factory=list)


class _Walk:
    """The lockstep walk over n payloads in one data buffer."""

    def __init__(self, payloads: pa.LargeBinaryArray) -> None:
        self.data = wire.value_data(payloads)
        offsets = wire.value_offsets(payloads)
        self.num_records = len(payloads)
        self.starts, self.stops = offsets[:-1].copy(), offsets[1:].copy()

    def columns(self) -> dict[str, pa.Array]:
        cursors, stops = self._message(self.starts, self.stops, tag=0x0A)
        if not np.array_equal(stops, self.stops):
            raise _UnexpectedFormError
        found: dict[str, _Found] = {}
        records = np.arange(self.num_records)
        while True:
            active = np.flatnonzero(cursors < self.stops[records])
            if len(active) == 0:
                break
            records, cursors = records[active], cursors[active]
            entry, entry_stop = self._message(cursors, self.stops[records], tag=0x0A)
            self._entries(records, entry, entry_stop, found)
            cursors = entry_stop
        return {name: self._column(found[name]) for name in sorted(found)}

    def _varint(self, cursors: Int64s) -> tuple[Int64s, Int64s]:
        values = np.zeros(len(cursors), dtype=np.int64)
        pending = np.arange(len(cursors))
        cursors = cursors.copy()
        for shift in range(0, 63, 7):
            byte = self.data[cursors[pending]].astype(np.int64)
            values[pending] |= (byte & 0x7F) << shift
            cursors[pending] += 1
            pending = pending[byte >= 0x80]
            if len(pending) == 0:
                return values, cursors
        raise _UnexpectedFormError

    def _message(self, cursors: Int64s, limits: Int64s, *, tag: int) -> tuple[Int64s, Int64s]:
        """Return where the content of the message at each cursor starts and stops."""
        if bool((cursors >= limits).any()) or bool((self.data[cursors] != tag).any()):
            raise _UnexpectedFormError
        lengths, starts = self._varint(cursors + 1)
        if bool((lengths > limits - starts).any()):  # added, they might overflow
            raise _UnexpectedFormError
        stops = starts + lengths
        return starts, stops

    def _entries(
        self, records: Int64s, cursors: Int64s, stops: Int64s, found: dict[str, _Found]
    ) -> None:
        key_start, key_stop = self._message(cursors, stops, tag=0x0A)
        value, value_stop = self._message(key_stop, stops, tag=0x12)
        if not np.array_equal(value_stop, stops) or bool((value == value_stop).any()):
            raise _UnexpectedFormError
        names = self._bytes(key_start, key_stop - key_start).dictionary_encode()
        which = np.asarray(names.indices)
        for index, key in enumerate(names.dictionary.to_pylist()):
            chosen = np.flatnonzero(which == index)
            tag = int(self.data[value[chosen[0]]])
            if tag not in (0x0A, 0x12, 0x1A):
                raise _UnexpectedFormError
            start, stop = self._message(value[chosen], value_stop[chosen], tag=tag)
            if not np.array_equal(stop, value_stop[chosen]):
                raise _UnexpectedFormError
            try:
                feature = found.setdefault(key.decode(), _Found(kind=tag >> 3))
            except UnicodeDecodeError:
                raise _UnexpectedFormError from None
            if feature.kind != tag >> 3:
                raise _UnexpectedFormError
            feature.records.append(records[chosen])
            feature.starts.append(start)
            feature.stops.append(stop)

    def _bytes(self, starts: Int64s, lengths: Int64s) -> pa.LargeBinaryArray:
        return wire.large_binary(self._gathered(starts, lengths), wire.offsets_of(lengths))

    def _gathered(self, starts: Int64s, lengths: Int64s) -> NDArray[np.uint8]:
        offsets = wire.offsets_of(lengths)
        total = int(offsets[-1])
        if total > _BULK_COPY_BYTES * max(len(starts), 1):
            gathered = np.empty(total, dtype=np.uint8)
            for start, length, offset in zip(
                starts.tolist(), lengths.tolist(), offsets.tolist(), strict=False
            ):
                gathered[offset : offset + length] = self.data[start : start + length]
            return gathered
        index = np.repeat(starts - offsets[:-1], lengths) + np.arange(total)
        return self.data[index]

    def _column(self, feature: _Found) -> pa.Array:
        records = np.concatenate(feature.records)
        if len(np.unique(records)) != len(records):
            raise _UnexpectedFormError  # one key twice in a record: the last one counts
        starts, stops = np.concatenate(feature.starts), np.concatenate(feature.stops)
        order = np.argsort(records)
        records, starts, stops = records[order], starts[order], stops[order]
        match feature.kind:
            case 1:
                counts, values = self._bytes_values(starts, stops)
            case 2:
                start, length = self._packed(starts, stops)
                if bool((length % 4 != 0).any()):
                    raise _UnexpectedFormError
                counts = length // 4
                values = pa.array(self._gathered(start, length).view("<f4"), type=pa.float32())
            case _:
                counts, values = self._int64_values(*self._packed(starts, stops))
        per_record = np.zeros(self.num_records, dtype=np.int64)
        per_record[records] = counts
        present = np.zeros(self.num_records, dtype=bool)
        present[records] = True
        return pa.LargeListArray.from_arrays(
            pa.array(wire.offsets_of(per_record)), values, mask=pa.array(~present)
        )

    def _packed(self, starts: Int64s, stops: Int64s) -> tuple[Int64s, Int64s]:
        """Return start and length of the packed numbers in each list message."""
        content, length = starts.copy(), np.zeros(len(starts), dtype=np.int64)
        filled = np.flatnonzero(starts < stops)
        if len(filled):
            start, stop = self._message(starts[filled], stops[filled], tag=0x0A)
            if not np.array_equal(stop, stops[filled]):
                raise _UnexpectedFormError
            content[filled], length[filled] = start, stop - start
        return content, length

    def _int64_values(self, starts: Int64s, lengths: Int64s) -> tuple[Int64s, pa.Array]:
        data = self._gathered(starts, lengths)
        is_last = data < 0x80
        last_before = np.concatenate(([0], np.cumsum(is_last)))
        offsets = wire.offsets_of(lengths)
        if bool((~is_last[offsets[1:][lengths > 0] - 1]).any()):
            raise _UnexpectedFormError
        ends = np.flatnonzero(is_last)
        first = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
        sizes = ends - first + 1
        if bool((sizes > 10).any()):
            raise _UnexpectedFormError
        values = np.zeros(len(ends), dtype=np.uint64)
        for place in range(int(sizes.max(initial=0))):
            here = np.flatnonzero(sizes > place)
            septet = (data[first[here] + place] & 0x7F).astype(np.uint64)
            values[here] |= septet << np.uint64(7 * place)
        return np.diff(last_before[offsets]), pa.array(values.view(np.int64))

    def _bytes_values(self, starts: Int64s, stops: Int64s) -> tuple[Int64s, pa.Array]:
        counts = np.zeros(len(starts), dtype=np.int64)
        rounds: list[tuple[Int64s, Int64s, Int64s]] = []
        active, cursors = np.arange(len(starts)), starts
        while True:
            open_ = np.flatnonzero(cursors < stops[active])
            if len(open_) == 0:
                break
            active, cursors = active[open_], cursors[open_]
            start, stop = self._message(cursors, stops[active], tag=0x0A)
            rounds.append((active, start, stop - start))
            counts[active] += 1
            cursors = stop
        if not rounds:
            return counts, pa.array([], type=pa.large_binary())
        owners = np.concatenate([owner for owner, _, _ in rounds])
        order = np.argsort(owners, kind="stable")  # rounds are in value order already
        value_starts = np.concatenate([start for _, start, _ in rounds])[order]
        value_sizes = np.concatenate([size for _, _, size in rounds])[order]
        return counts, self._bytes(value_starts, value_sizes)
