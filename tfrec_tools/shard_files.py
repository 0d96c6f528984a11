"""Shards as files: framed records, their checksums and the index beside them."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools import record_framing
from tfrec_tools.errors import DatasetError
from tfrec_tools.storage import OutputFile, Storage, reason_of

WRITE_BUFFER_BYTES = 4 << 20
JOIN_BYTES = 4096  # copying less than this is cheaper than one more call per piece
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # mtime 0, no name, unknown system


@dataclass(slots=True)
class ShardWriter:
    """Frames records and appends them to one file. Not shared between threads.

    The ``index`` beside it gets one line ``offset length`` per record, as DALI expects; a
    gzip file has none. After `finish`: ``num_bytes`` and ``crc32c`` of the file,
    ``payload_bytes`` of the payloads, ``index_bytes`` and ``index_crc32c``.
    """

    file: OutputFile
    index: OutputFile | None = None
    num_records: int = 0
    num_bytes: int = 0
    payload_bytes: int = 0
    crc32c: int = 0
    index_bytes: int = 0
    index_crc32c: int = 0
    _index_lines: list[bytes] = field(default_factory=list)
    _pieces: list[bytes] = field(default_factory=list)
    _pending_bytes: int = 0
    _deflate: _Deflater | None = None

    def __post_init__(self) -> None:
        if self.index is None:
            self._deflate = _Deflater()

    def append(self, pieces: Sequence[bytes], payload_bytes: int) -> None:
        """Append one record whose payload is the pieces joined; large ones are not copied."""
        if payload_bytes < JOIN_BYTES:
            pieces = (b"".join(pieces),)
        footer = record_framing.footer(record_framing.crc32c_of(pieces))
        self._pieces.append(record_framing.header(payload_bytes))
        self._pieces += pieces
        self._pieces.append(footer)
        frame_bytes = payload_bytes + record_framing.FRAME_BYTES
        offset = self.num_bytes + self._pending_bytes
        self._index_lines.append(b"%d %d\n" % (offset, frame_bytes))
        self.num_records += 1
        self.payload_bytes += payload_bytes
        self._pending_bytes += frame_bytes
        if self._pending_bytes >= WRITE_BUFFER_BYTES:
            self._flush()

    def append_frames(self, frames: pa.LargeBinaryArray) -> None:
        """Append records that are in their frames already (large_binary [n], no nulls)."""
        self._flush()
        offsets = np.frombuffer(frames.buffers()[1], dtype=np.int64)
        offsets = offsets[frames.offset : frames.offset + len(frames) + 1]
        if not len(frames):
            return
        lengths = np.diff(offsets)
        if self.index is not None:
            starts = pa.array(offsets[:-1] - offsets[0] + self.num_bytes).cast(pa.string())
            sizes = pa.array(lengths).cast(pa.string())
            lines = pc.binary_join_element_wise(starts, sizes, " ")
            text = pc.binary_join_element_wise(lines, "\n", "")
            self._index_lines.append(bytes(text.buffers()[2]))
        self.num_records += len(frames)
        self.payload_bytes += int(lengths.sum()) - len(frames) * record_framing.FRAME_BYTES
        data = frames.buffers()[2]
        for start in range(int(offsets[0]), int(offsets[-1]), WRITE_BUFFER_BYTES):
            stop = min(start + WRITE_BUFFER_BYTES, int(offsets[-1]))
            self._pieces = [data.slice(start, stop - start).to_pybytes()]
            self._pending_bytes = stop - start
            self._flush()

    def finish(self) -> None:
        """Write what is pending."""
        self._flush(last=True)

    def _flush(self, *, last: bool = False) -> None:
        pieces = self._pieces
        if len(pieces) > 1 and self._pending_bytes < JOIN_BYTES * len(pieces):
            pieces = [b"".join(pieces)]
        if self._deflate is not None:
            pieces = self._deflate.compress(pieces, last=last)
            self._pending_bytes = sum(map(len, pieces))
        self.crc32c = record_framing.crc32c_of(pieces, self.crc32c)
        self.file.write_pieces(pieces)
        self.num_bytes += self._pending_bytes
        self._pieces = []
        self._pending_bytes = 0
        if self.index is not None and self._index_lines:
            lines = b"".join(self._index_lines)
            self.index.write_pieces([lines])
            self.index_bytes += len(lines)
            self.index_crc32c = record_framing.crc32c(lines, self.index_crc32c)
        self._index_lines = []


class _Deflater:
    """A gzip member written by hand: the clock and the file's name must not get into it."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._crc = 0
        self._size = 0
        self._started = False

    def compress(self, pieces: Sequence[bytes], *, last: bool) -> list[bytes]:
        data = b"".join(pieces)
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        compressed: list[bytes] = [] if self._started else [_GZIP_HEADER]
        self._started = True
        compressed.append(self._zlib.compress(data))
        if last:
            compressed.append(self._zlib.flush())
            trailer = self._crc.to_bytes(4, "little")
            compressed.append(trailer + (self._size & 0xFFFFFFFF).to_bytes(4, "little"))
        return compressed


@contextlib.contextmanager
def shard_writer(
    storage: Storage, path: bytes, index_path: bytes | None = None
) -> Iterator[ShardWriter]:
    """Open a shard and its index for writing; without an index the shard is a gzip file.

    Both are complete and on disk when the block ends without an exception.
    """
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(storage.create(path))
        index = None if index_path is None else stack.enter_context(storage.create(index_path))
        writer = ShardWriter(file, index)
        yield writer
        writer.finish()


def write_file(storage: Storage, path: bytes, content: bytes) -> int:
    """Write a small file whole and return its CRC-32C."""
    with storage.create(path) as file:
        file.write_pieces([content])
    return record_framing.crc32c(content)


def read_payloads(storage: Storage, path: bytes) -> list[bytes]:
    """Return the payloads of a shard, every checksum checked. Raises DatasetError."""
    name = path.decode()
    try:
        content = storage.read(path)
    except OSError as error:
        raise DatasetError(f"{name} could not be read: {reason_of(error)}") from None
    if name.endswith(".gz"):
        try:
            content = zlib.decompress(content, zlib.MAX_WBITS | 16)
        except zlib.error:
            raise DatasetError(f"{name} is damaged: it is no gzip file") from None
    return list(record_framing.iter_payloads(content, name=name))
