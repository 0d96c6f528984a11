"""The TFRecord frame around a payload.

Format (TensorFlow's ``record_writer.h``): ``uint64 length``, ``uint32 masked crc of the
length bytes``, ``payload``, ``uint32 masked crc of the payload``, all little endian. The
CRC is CRC-32C (Castagnoli); it is masked because a CRC of data that holds CRCs is weak:
``((crc >> 15) | (crc << 17)) + 0xa282ead8`` modulo 2**32.
"""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING

import google_crc32c
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEADER_BYTES = 12
FOOTER_BYTES = 4
FRAME_BYTES = HEADER_BYTES + FOOTER_BYTES
_MAX_TABLE = 1 << 16

_MASK_DELTA = 0xA282EAD8
_UINT32 = 0xFFFFFFFF
_LENGTH = struct.Struct("<Q")
_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")


def crc32c(data: bytes, crc: int = 0) -> int:
    """Return the plain (unmasked) CRC-32C of ``data``, continuing from ``crc``."""
    return int(google_crc32c.extend(crc, data))


def crc32c_of(pieces: Sequence[bytes], crc: int = 0) -> int:
    """Return the CRC-32C of the pieces as if they were joined, without joining them."""
    extend = google_crc32c.extend
    for piece in pieces:
        crc = extend(crc, piece)
    return crc


def masked(crc: int) -> int:
    """Return the masked form in which TFRecord files store a CRC."""
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _UINT32


@functools.lru_cache(maxsize=1 << 14)
def header(length: int) -> bytes:
    """Return the 12 bytes before a payload of ``length`` bytes.

    They depend on the length alone, and many records share one: hence the cache.
    """
    return _HEADER.pack(length, masked(google_crc32c.value(_LENGTH.pack(length))))


def footer(payload_crc: int) -> bytes:
    """Return the 4 bytes behind a payload whose plain CRC-32C is ``payload_crc``."""
    return _CRC.pack(masked(payload_crc))


def frame(payload: bytes) -> bytes:
    """Return ``payload`` in its frame: header, payload, footer."""
    return b"".join((header(len(payload)), payload, footer(google_crc32c.value(payload))))


def frames(payloads: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Return each payload (large_binary [n], no nulls) in its frame."""
    # A loop over records, in C but for the call: no library computes many CRCs at once.
    # (Arrow makes objects for NumPy a third quicker than a list of them.)
    objects = payloads.to_numpy(zero_copy_only=False)
    crcs = np.fromiter(map(google_crc32c.value, objects), dtype=np.uint32, count=len(payloads))
    masked_crcs = ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(_MASK_DELTA)
    sizes = np.asarray(pc.binary_length(payloads))
    if len(sizes) and int(sizes.max()) < _MAX_TABLE:  # quicker than sorting
        lengths = np.flatnonzero(np.bincount(sizes))
        number_of = np.zeros(int(lengths[-1]) + 1, dtype=np.int32)
        number_of[lengths] = np.arange(len(lengths), dtype=np.int32)
        which = number_of[sizes]
    else:
        lengths, which = np.unique(sizes, return_inverse=True)
    headers = pa.array([header(length) for length in lengths.tolist()], pa.large_binary())
    footers = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(FOOTER_BYTES), len(crcs), [None, pa.py_buffer(masked_crcs.astype("<u4"))]
    )
    empty = pa.scalar(b"", pa.large_binary())
    return pc.binary_join_element_wise(
        headers.take(pa.array(which)), payloads, footers.cast(pa.large_binary()), empty
    )


def iter_payloads(framed: bytes | memoryview, *, name: str = "shard") -> Iterator[bytes]:
    """Yield the payloads of a whole shard's bytes, both CRCs of each record checked.

    Raises DatasetError with ``name``, the record's index and byte offset at the first damage.
    """
    view = memoryview(framed)
    offset = 0
    record_index = 0
    while offset < len(view):
        where = f"{name}: record {record_index} at byte {offset}"
        if offset + HEADER_BYTES > len(view):
            raise DatasetError(f"{where}: the file ends inside the record's header")
        length, length_crc = _HEADER.unpack_from(view, offset)
        if length_crc != masked(google_crc32c.value(bytes(view[offset : offset + 8]))):
            raise DatasetError(f"{where}: the checksum of the length is wrong")
        start = offset + HEADER_BYTES
        if start + length + FOOTER_BYTES > len(view):
            raise DatasetError(f"{where}: the file ends inside the record's {length} bytes")
        payload = bytes(view[start : start + length])
        (payload_crc,) = _CRC.unpack_from(view, start + length)
        if payload_crc != masked(google_crc32c.value(payload)):
            raise DatasetError(f"{where}: the checksum of the payload is wrong")
        yield payload
        offset = start + length + FOOTER_BYTES
        record_index += 1
