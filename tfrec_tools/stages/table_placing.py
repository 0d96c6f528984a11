"""Where the records of a table go: split, shard and rank, and the range they are spilled to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tfrec_tools import placement, splitting
from tfrec_tools.plan import Plan
from tfrec_tools.request import Order
from tfrec_tools.shard_names import ShardId
from tfrec_tools.stages.table_reading import labels_of
from tfrec_tools.tables import TableBatch, TableUnit


def place_records(
    plan: Plan, unit: TableUnit, batch: TableBatch, kept: NDArray[np.int64], first_index: int
) -> tuple[NDArray[np.int64], placement.Ranks]:
    """Return split index and rank of the records that were kept."""
    positions = batch.positions[kept]
    global_positions = unit.first_position + first_index + batch.indices[kept]
    split = splits_of(plan, unit, batch, kept, global_positions)
    if plan.request.order is not Order.SOURCE:
        return split, placement.ranks_in_file(batch.key, positions, seed=plan.request.seed)
    assert plan.table is not None
    starts = np.array((0, *plan.table.cuts[:-1]), dtype=np.int64)
    high, low = np.zeros(len(split), np.uint64), np.zeros(len(split), np.uint64)
    group = split if len(plan.num_positions) > 1 else np.zeros_like(split)
    for index, num_positions in enumerate(plan.num_positions):
        here = np.flatnonzero(group == index)
        own = global_positions[here] - (starts[index] if plan.table.cuts else 0)
        high[here], low[here] = placement.source_order_ranks(own, num_positions)
    return split, placement.Ranks(high, low)


def splits_of(
    plan: Plan,
    unit: TableUnit,
    batch: TableBatch,
    kept: NDArray[np.int64],
    global_positions: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the split index of each record that was kept."""
    rule = plan.splits
    assert plan.table is not None
    match rule.method:
        case "one":
            return np.zeros(len(kept), dtype=np.int64)
        case "files" | "folders":
            return np.full(len(kept), rule.names.index(unit.split or ""), dtype=np.int64)
        case "order":
            return np.searchsorted(np.array(plan.table.cuts[:-1]), global_positions, side="right")
        case "hash" if rule.by is not None:
            # Equal values have one hash: it is computed per distinct value.
            values = labels_of(batch.columns[rule.by].take(pa.array(kept)))
            distinct = {value: number for number, value in enumerate(dict.fromkeys(values))}
            hashes = placement.split_hashes(distinct, seed=rule.seed)
            which = np.fromiter((distinct[value] for value in values), np.int64, len(values))
            return np.asarray(splitting.splits_of_hashes(rule, hashes[which], None), np.int64)
    hashes = placement.split_hashes_in_file(batch.key, batch.positions[kept], seed=rule.seed)
    labels = None
    if rule.stratify is not None:
        (column,) = plan.table.inputs[rule.stratify]
        labels = labels_of(batch.columns[column].take(pa.array(kept)))
    return np.asarray(splitting.splits_of_hashes(rule, hashes, labels), np.int64)


def sequence_ranks(
    plan: Plan, unit: TableUnit, split: int, bounds: tuple[int, int], number: int
) -> placement.Ranks:
    """Return the ranks of the sequences that a unit's records of one split were packed to.

    Their key is the unit's and their number in it. In source order they are spread evenly
    over the positions ``bounds`` (first and last) of the records that they are made of.
    """
    numbers = np.arange(number, dtype=np.int64)
    if plan.request.order is not Order.SOURCE:
        first = unit.parts[0]
        key = b"%s\0%d" % (first.file.key, first.start)
        return placement.ranks_in_file(key, numbers, seed=plan.request.seed)
    assert plan.table is not None
    group = split if len(plan.num_positions) > 1 else 0
    num_positions = plan.num_positions[group]
    start = (0, *plan.table.cuts[:-1])[split] if plan.table.cuts else 0
    # Fractions of positions, as fine as 32 bits allow; equal ones keep the order they have.
    steps = 1 << max(0, 31 - num_positions.bit_length())
    first_position, last_position = bounds[0] - start, bounds[1] - start
    span = (last_position + 1 - first_position) * steps
    positions = first_position * steps + span * numbers // max(number, 1)
    return placement.source_order_ranks(positions, num_positions * steps)


def bin_starts(plan: Plan) -> NDArray[np.int64]:
    """Return the number of the first range of each split, and the number of all at the end."""
    assert plan.table is not None
    sizes = [
        shards * ranges
        for shards, ranges in zip(plan.num_shards, plan.table.num_ranges, strict=True)
    ]
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


def shard_of_bin(plan: Plan, bin_index: int) -> ShardId:
    """Return the shard that a range of ranks belongs to."""
    assert plan.table is not None
    starts = bin_starts(plan)
    split = int(np.searchsorted(starts, bin_index, side="right")) - 1
    index = (bin_index - int(starts[split])) // plan.table.num_ranges[split]
    return ShardId(plan.splits.names[split], index)


def bins_of(plan: Plan, split: NDArray[np.int64], ranks: placement.Ranks) -> NDArray[np.int64]:
    """Return the range that each record falls in, counted over all splits."""
    starts = bin_starts(plan)
    bins = np.zeros(len(split), dtype=np.int64)
    for index in range(len(plan.num_shards)):
        here = np.flatnonzero(split == index)
        own = placement.Ranks(ranks.high[here], ranks.low[here])
        number = int(starts[index + 1] - starts[index])
        bins[here] = starts[index] + placement.shard_indices(own, number)
    return bins
