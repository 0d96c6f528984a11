"""Protobuf's wire format on whole columns: varints, and joins of byte pieces.

Reference: the protocol buffers encoding guide. The messages (TensorFlow's
``feature.proto``): ``Example{1: Features}``, ``Features{1: map<string, Feature>}``,
``Feature{1: BytesList | 2: FloatList | 3: Int64List}``, each list ``{1: repeated value}``,
numbers packed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

TAG_1 = b"\x0a"  # field 1, length-delimited: Example.features, map entry, key, list values
TAG_2 = b"\x12"  # field 2, length-delimited: map value, Feature.float_list
TAG_3 = b"\x1a"  # field 3, length-delimited: Feature.int64_list

Int64s: TypeAlias = NDArray[np.int64]
Uint64s: TypeAlias = NDArray[np.uint64]

Piece: TypeAlias = bytes | pa.LargeBinaryArray
"""Bytes at one place of every record: the same for all (bytes), or one value per record."""


def varint_sizes(values: Uint64s | Int64s) -> Int64s:
    """Return how many bytes each value takes as a varint (1 to 10)."""
    unsigned = values.view(np.uint64)
    sizes = np.ones(len(unsigned), dtype=np.int64)
    largest = int(unsigned.max(initial=0))
    for shift in range(7, 64, 7):
        if largest >> shift == 0:
            break
        sizes += unsigned >= np.uint64(1 << shift)
    return sizes


def large_binary(data: NDArray[np.uint8], offsets: Int64s) -> pa.LargeBinaryArray:
    """Return the array whose i-th value is ``data[offsets[i]:offsets[i + 1]]``, no copy."""
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def offsets_of(lengths: Int64s) -> Int64s:
    """Return the n + 1 offsets of n values with these lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def varints(values: Uint64s | Int64s) -> pa.LargeBinaryArray:
    """Return each value as a varint; int64 as its two's complement, like protobuf."""
    unsigned = values.view(np.uint64)
    sizes = varint_sizes(unsigned)
    offsets = offsets_of(sizes)
    most = int(sizes.max(initial=0))
    if most >= _WIDE_BYTES:
        return large_binary(_wide_varints(unsigned, sizes, most), offsets)
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    for place in range(most):
        here = np.flatnonzero(sizes > place)
        septet = (unsigned[here] >> np.uint64(7 * place)).astype(np.uint8) & np.uint8(0x7F)
        more = np.where(sizes[here] > place + 1, np.uint8(0x80), np.uint8(0))
        data[offsets[here] + place] = septet | more
    return large_binary(data, offsets)


_WIDE_BYTES = 6  # from which on writing all places of all values is quicker than choosing


def _wide_varints(unsigned: Uint64s, sizes: Int64s, most: int) -> NDArray[np.uint8]:
    """Return the varints' bytes, by way of a matrix with ``most`` places for each value."""
    places = np.empty((len(unsigned), most), dtype=np.uint8)
    for place in range(most):
        places[:, place] = (unsigned >> np.uint64(7 * place)).astype(np.uint8) | np.uint8(0x80)
    places[np.arange(len(unsigned)), sizes - 1] &= np.uint8(0x7F)
    if bool((sizes == most).all()):
        return places.reshape(-1)
    return places[np.arange(most) < sizes[:, None]]


def varint(value: int) -> bytes:
    """Return one non-negative value as a varint."""
    septets = bytearray()
    while value > 0x7F:
        septets.append(value & 0x7F | 0x80)
        value >>= 7
    septets.append(value)
    return bytes(septets)


def varint_piece(values: Int64s) -> Piece:
    """Return the varints of ``values``; one constant if they are all equal, as often."""
    if len(values) and bool((values == values[0]).all()):
        return varint(int(values[0]))
    return varints(values)


def joined(pieces: Sequence[Piece], num_records: int) -> pa.LargeBinaryArray:
    """Return the pieces of each record joined, as large_binary [num_records]."""
    merged: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, bytes) and merged and isinstance(merged[-1], bytes):
            merged[-1] += piece
        elif piece != b"" if isinstance(piece, bytes) else True:
            merged.append(piece)
    if all(isinstance(piece, bytes) for piece in merged):
        constant = b"".join(piece for piece in merged if isinstance(piece, bytes))
        return pa.repeat(pa.scalar(constant, pa.large_binary()), num_records)
    if len(merged) == 1:
        return merged[0]
    empty = pa.scalar(b"", pa.large_binary())
    arguments = [
        pa.scalar(piece, pa.large_binary()) if isinstance(piece, bytes) else piece
        for piece in merged
    ]
    return pc.binary_join_element_wise(*arguments, empty)


def value_offsets(array: pa.LargeBinaryArray) -> Int64s:
    """Return the n + 1 offsets into the array's data buffer (an offset array is copied not)."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)
    return offsets[array.offset : array.offset + len(array) + 1]


def value_data(array: pa.LargeBinaryArray) -> NDArray[np.uint8]:
    """Return the array's data buffer as uint8, to be indexed by `value_offsets`."""
    buffer = array.buffers()[2]
    return np.empty(0, np.uint8) if buffer is None else np.frombuffer(buffer, dtype=np.uint8)


def value_lengths(array: pa.LargeBinaryArray) -> Int64s:
    """Return the number of bytes of each value, as int64."""
    return np.diff(value_offsets(array))


def regrouped(values: pa.LargeBinaryArray, list_offsets: Int64s) -> pa.LargeBinaryArray:
    """Join consecutive values: the i-th result is values ``list_offsets[i]`` to the next.

    The bytes of consecutive values lie side by side, so that only offsets are computed.
    """
    offsets = np.ascontiguousarray(value_offsets(values)[list_offsets])
    return large_binary(value_data(values), offsets)
