"""Spill files: encoded records of one unit, grouped by ranges of ranks, until shards are written.

An Arrow IPC file per unit, with a record batch per range (and chunk of the unit). Which batch
belongs to which range is kept in the unit's result. A shard is written range by range, so
that memory depends on the size of a range, not on that of a shard or of the input.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import ipc

from tfrec_tools.errors import DatasetError
from tfrec_tools.storage import reason_of

RANK_HIGH, RANK_LOW, FRAME = "rank_high", "rank_low", "frame"
"""Columns of a spilled batch: a record's rank, and the record with its frame."""

CHUNK_BYTES = 24 << 20
"""Encoded bytes that are gathered before they are written, grouped by range."""


@dataclass(frozen=True, slots=True)
class Spill:
    """A spill file; ``bins``: the range of each batch in it, as int64 bytes.

    ``places``: by what batches of one range are to be ordered (int64 bytes), if not as they lie.
    """

    path: str
    bins: bytes
    places: bytes = b""

    def batches_of(self, bin_index: int) -> NDArray[np.int64]:
        """Return the numbers of the batches of one range, in order."""
        found = np.flatnonzero(np.frombuffer(self.bins, dtype=np.int64) == bin_index)
        if self.places:
            places = np.frombuffer(self.places, dtype=np.int64)
            found = found[np.argsort(places[found], kind="stable")]
        return found


@dataclass(slots=True)
class SpillWriter:
    """Gathers batches, and writes them grouped by range. Not shared between threads."""

    path: str
    _bins: list[int] = field(default_factory=list)
    _pending: list[tuple[pa.RecordBatch, NDArray[np.int64]]] = field(default_factory=list)
    _pending_bytes: int = 0
    _sink: pa.OSFile | None = None
    _writer: ipc.RecordBatchFileWriter | None = None

    def add(self, batch: pa.RecordBatch, bins: NDArray[np.int64]) -> None:
        """Keep a batch, whose i-th record belongs to the range ``bins[i]``."""
        if self._pending_bytes >= CHUNK_BYTES:
            # Now rather than at once: what the last batch was made of is gone by now.
            self.flush()
        self._pending.append((batch, bins))
        self._pending_bytes += batch.nbytes

    def flush(self) -> None:
        """Write what is pending. Raises DatasetError if it cannot be written."""
        if not self._pending:
            return
        batch = pa.concat_batches([batch for batch, _ in self._pending])
        bins = np.concatenate([found for _, found in self._pending])
        self._pending, self._pending_bytes = [], 0
        if not len(bins):
            return
        # Sixteen bits are sorted by counting, in a tenth of the time.
        small = bins.astype(np.uint16) if int(bins.max()) < 1 << 16 else bins
        order = np.argsort(small, kind="stable")
        bins = bins[order]
        batch = batch.take(pa.array(order))
        borders = np.flatnonzero(np.diff(bins)) + 1
        starts = np.concatenate(([0], borders))
        stops = np.concatenate((borders, [len(bins)]))
        try:
            if self._writer is None:
                self._sink = pa.OSFile(self.path, "wb")
                self._writer = ipc.new_file(self._sink, batch.schema)
            for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
                self._writer.write_batch(batch.slice(start, stop - start))
                self._bins.append(int(bins[start]))
        except OSError as error:
            raise _cannot_spill(error) from None

    def close(self) -> Spill | None:
        """Finish the file, and return it; None if nothing was added."""
        self.flush()
        if self._writer is None or self._sink is None:
            return None
        try:
            self._writer.close()
            self._sink.close()
        except OSError as error:
            raise _cannot_spill(error) from None
        return Spill(self.path, np.array(self._bins, dtype=np.int64).tobytes())


def _cannot_spill(error: OSError) -> DatasetError:
    # Arrow's own errors have a text with the path in it.
    plain = OSError(error.errno, os.strerror(error.errno)) if error.errno else error
    return DatasetError(
        f"temporary files could not be written: {reason_of(plain)}; make room, or give another "
        "folder with --spill-dir"
    )


def read_range(spills: Sequence[Spill], bin_index: int) -> pa.Table | None:
    """Return all records of one range, those of earlier units first; None if there are none."""
    batches: list[pa.RecordBatch] = []
    for spill in spills:
        numbers = spill.batches_of(bin_index)
        if len(numbers):
            with pa.OSFile(spill.path, "rb") as source:
                reader = ipc.open_file(source)
                batches += [reader.get_batch(number) for number in numbers.tolist()]
    return pa.Table.from_batches(batches) if batches else None


class SpilledBatch(NamedTuple):
    """Records of one unit and one range of ranks, for engines that carry them about.

    ``number``: among the unit's batches; ``data``: an Arrow stream of one batch.
    """

    unit_index: int
    number: int
    bin_index: int
    data: bytes


_MAX_NUMBER_BITS = 32


def spilled_batches(unit_index: int, spill: Spill) -> Iterator[SpilledBatch]:
    """Yield the batches of a unit's spill file."""
    bins = np.frombuffer(spill.bins, dtype=np.int64).tolist()
    with pa.OSFile(spill.path, "rb") as source:
        reader = ipc.open_file(source)
        for number, bin_index in enumerate(bins):
            batch = reader.get_batch(number)
            sink = pa.BufferOutputStream()
            with ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield SpilledBatch(unit_index, number, bin_index, sink.getvalue().to_pybytes())


def respilled(path: str, batches: Iterable[SpilledBatch]) -> Spill | None:
    """Put batches of many units, in any order, into one spill file; None if there are none.

    Batches that come twice are kept once. Raises DatasetError if the file cannot be written.
    """
    bins: list[int] = []
    places: list[int] = []
    seen: set[int] = set()
    writer: ipc.RecordBatchFileWriter | None = None
    with contextlib.ExitStack() as stack:
        for batch in batches:
            place = batch.unit_index << _MAX_NUMBER_BITS | batch.number
            if place in seen:
                continue
            seen.add(place)
            found = ipc.open_stream(batch.data).read_next_batch()
            try:
                if writer is None:
                    sink = stack.enter_context(pa.OSFile(path, "wb"))
                    writer = stack.enter_context(ipc.new_file(sink, found.schema))
                writer.write_batch(found)
            except OSError as error:
                raise _cannot_spill(error) from None
            bins.append(batch.bin_index)
            places.append(place)
    if writer is None:
        return None
    return Spill(path, *(np.array(numbers, dtype=np.int64).tobytes() for numbers in (bins, places)))


def remove(spills: Iterator[Spill] | Sequence[Spill]) -> None:
    """Remove spill files."""
    for spill in spills:
        if os.path.exists(spill.path):
            os.remove(spill.path)
