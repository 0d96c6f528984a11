"""The stage that writes one shard of a table from the spill files of all units."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from tfrec_tools import placement
from tfrec_tools.plan import Plan
from tfrec_tools.records import ReportEntry, ShardResult, path_text
from tfrec_tools.shard_names import ShardId
from tfrec_tools.sources import table_source
from tfrec_tools.stages import spilling
from tfrec_tools.stages.encoding import EncodedBlock, encode_references
from tfrec_tools.stages.shard_writing import write_staged_shard
from tfrec_tools.stages.spilling import FRAME, RANK_HIGH, RANK_LOW, Spill
from tfrec_tools.stages.table_encoding import (
    KEY,
    REFERENCE,
    ROW,
    VALUE,
)
from tfrec_tools.stages.table_placing import bin_starts
from tfrec_tools.tables import TableUnit

BLOCK_RECORDS = 256
"""Records whose files are read and encoded at once: what bounds the memory of a worker."""

OnProgress = Callable[[int, int, int], None]


def write_table_shard(
    plan: Plan,
    shard: ShardId,
    spills: Sequence[Spill],
    fingerprint: str,
    on_progress: OnProgress | None = None,
    *,
    attempt: str | None = None,
) -> ShardResult:
    """Write one shard into the staging folder, range by range, each sorted by rank.

    ``spills``: in the order of their units. The files that records name are read here. See
    `write_staged_shard` for ``attempt``.
    """
    return write_staged_shard(
        plan,
        shard,
        fingerprint,
        blocks=_blocks(plan, shard, spills, on_progress),
        attempt=attempt,
    )


def table_fingerprint(plan: Plan, units: Sequence[TableUnit], shard: ShardId) -> str:
    """Return what identifies a shard of a table: the plan and where all records come from."""
    digest = hashlib.blake2b(digest_size=16, person=b"tfrec.shard")
    digest.update(f"{plan.fingerprint()} {shard.split} {shard.index}".encode())
    for unit in units:
        for part in (own for parts in unit.parts for own in (parts, *parts.beside)):
            numbers = (part.start, part.stop, part.num_records, part.content_crc32c)
            digest.update(part.file.key + b"\0" + repr((part.file.num_bytes, *numbers)).encode())
    return digest.hexdigest()


def _blocks(
    plan: Plan, shard: ShardId, spills: Sequence[Spill], on_progress: OnProgress | None
) -> Iterator[EncodedBlock | pa.LargeBinaryArray]:
    """Yield the shard's records in final order: frames, or blocks with their files read."""
    assert plan.table is not None
    split = plan.splits.names.index(shard.split)
    num_ranges = plan.table.num_ranges[split]
    first = int(bin_starts(plan)[split]) + shard.index * num_ranges
    storage = table_source.table_storage(plan.request)
    for bin_index in range(first, first + num_ranges):
        found = spilling.read_range(spills, bin_index)
        if found is None:
            continue
        ranks = placement.Ranks(*(found.column(n).to_numpy() for n in (RANK_HIGH, RANK_LOW)))
        order = _order(ranks)
        if FRAME in found.column_names:
            frames = found.column(FRAME).combine_chunks().take(pa.array(order))
            del found
            yield frames
            continue
        found = found.take(pa.array(order))
        for start in range(0, len(order), BLOCK_RECORDS):
            block = found.slice(start, BLOCK_RECORDS).combine_chunks()
            columns = {
                name.removeprefix(VALUE): block.column(name).combine_chunks()
                for name in block.column_names
                if name.startswith(VALUE)
            }
            paths = {
                name.removeprefix(REFERENCE): block.column(name).to_pylist()
                for name in block.column_names
                if name.startswith(REFERENCE)
            }
            places = list(
                zip(block.column(KEY).to_pylist(), block.column(ROW).to_pylist(), strict=True)
            )

            encoded = encode_references(plan, storage, columns, paths, _PlaceOf(plan, places))
            if on_progress is not None:
                number = block.num_rows
                on_progress(0, encoded.num_bytes, number - encoded.num_records)
            yield encoded


def _order(ranks: placement.Ranks) -> np.ndarray:
    """Return the indices that sort by rank, equal ranks in the order of units and positions."""
    # Halves are hardly ever equal; sorting one of them, in any order of equals, is quicker.
    order = np.argsort(ranks.high)
    high = ranks.high[order]
    if bool((high[1:] == high[:-1]).any()):
        return np.lexsort((ranks.low, ranks.high))
    return order


class _PlaceOf:
    """Says where a record of a block comes from, for the report."""

    def __init__(self, plan: Plan, places: Sequence[tuple[bytes, int]]) -> None:
        self._plan = plan
        self._places = places

    def __call__(self, index: int, feature: str) -> ReportEntry:
        """Return the report entry of a record without action and reason."""
        assert self._plan.table is not None
        key, row = self._places[index]
        columns = self._plan.table.inputs.get(feature, ("",))
        return ReportEntry(path_text(key), "", "", row=row, column=columns[0])
