"""The stage that gives every record its split, shard and rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from tfrec_tools import placement, splitting
from tfrec_tools.plan import Plan
from tfrec_tools.records import PLACED_SCHEMA, Unit, keys_of
from tfrec_tools.request import Order
from tfrec_tools.shard_names import ShardId
from tfrec_tools.sources import image_folder
from tfrec_tools.survey import glob_indices


def place(plan: Plan, unit: Unit, files: pa.RecordBatch) -> pa.RecordBatch:
    """Return the files of one batch of ``unit`` (LISTING_SCHEMA) with their places (PLACED_SCHEMA)."""
    keys = keys_of(files)
    split = _splits(plan, files, keys)
    if plan.request.order is Order.SOURCE:
        ranks = _source_ranks(plan, unit, split)
    else:
        ranks = placement.file_ranks(keys, seed=plan.request.seed)
    shard = np.zeros(len(keys), dtype=np.int32)
    for index, num_shards in enumerate(plan.num_shards):
        here = np.flatnonzero(split == index)
        inside = placement.Ranks(ranks.high[here], ranks.low[here])
        shard[here] = placement.shard_indices(inside, num_shards)
    columns = [*files.columns, *map(pa.array, (*ranks, split, shard))]
    return pa.RecordBatch.from_arrays(columns, schema=PLACED_SCHEMA)


def _splits(plan: Plan, files: pa.RecordBatch, keys: list[bytes]) -> np.ndarray:
    rule, layout = plan.splits, plan.layout
    match rule.method:
        case "one":
            return np.zeros(len(keys), dtype=np.int32)
        case "files":
            return np.array(glob_indices(plan.request, keys), dtype=np.int32)
        case "folders":
            folders = files.column("folder")
            names = [layout.split(folder) for folder in folders.dictionary.to_pylist()]
            per_folder = np.array([rule.names.index(name or "") for name in names], dtype=np.int32)
            return np.asarray(per_folder[np.asarray(folders.indices)])
        case "hash" if rule.by is not None:
            values = image_folder.source_column(rule.by, keys, layout).to_pylist()
            return np.asarray(splitting.hashed_splits(rule, values, None))
    labels = [layout.label(first) for first in _folders(keys)] if rule.stratify else None
    return np.asarray(splitting.hashed_splits(rule, keys, labels))


def _folders(keys: list[bytes]) -> Iterator[bytes]:
    return (key.rpartition(b"/")[0] for key in keys)


def _source_ranks(plan: Plan, unit: Unit, split: np.ndarray) -> placement.Ranks:
    """Return ranks that keep the order of paths, within each split that paths decide.

    For source order a unit is one batch, so that its positions are known.
    """
    group = split if plan.splits.is_by_path else np.zeros_like(split)
    high, low = np.zeros(len(split), np.uint64), np.zeros(len(split), np.uint64)
    for index, num_positions in enumerate(plan.num_positions):
        here = np.flatnonzero(group == index)
        positions = plan.first_positions[unit.folder][index] + np.arange(len(here))
        high[here], low[here] = placement.source_order_ranks(positions, num_positions)
    return placement.Ranks(high, low)


PlacedEntry: TypeAlias = tuple[int, int, bytes, bytes, int]
"""One file of a shard as plain values: rank (high, low), folder, name, size in bytes."""


def placed_entries(plan: Plan, placed: pa.RecordBatch) -> Iterator[tuple[ShardId, PlacedEntry]]:
    """Yield every placed file with its shard, for engines that group single values."""
    names = ("rank_high", "rank_low", "folder", "file", "num_bytes")
    entries = zip(*(placed.column(name).to_pylist() for name in names), strict=True)
    places = zip(
        placed.column("split").to_pylist(), placed.column("shard").to_pylist(), strict=True
    )
    for (split, shard), entry in zip(places, entries, strict=True):
        yield ShardId(plan.splits.names[split], shard), entry


def shard_files_of(entries: Iterable[PlacedEntry | None]) -> pa.Table:
    """Return one shard's files in final order from grouped entries; None stands for no file."""
    columns = list(zip(*(entry for entry in entries if entry is not None), strict=True))
    high, low, folder, file, num_bytes = columns or ((), (), (), (), ())
    table = pa.table(
        {
            "folder": pa.array(folder, pa.binary()).dictionary_encode(),
            "file": pa.array(file, pa.binary()),
            "num_bytes": pa.array(num_bytes, pa.int64()),
            "rank_high": pa.array(high, pa.uint64()),
            "rank_low": pa.array(low, pa.uint64()),
        }
    )
    return in_rank_order(table)


def placed_table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return placed batches as one table without chunks.

    Column by column, each column's batches freed before the next: with millions of files the
    table must not exist twice.
    """
    chunks: list[list[pa.Array]] = [[] for _ in PLACED_SCHEMA]
    for batch in batches:
        for column, found in zip(chunks, batch.columns, strict=True):
            column.append(found)
    columns = []
    for field, column in zip(PLACED_SCHEMA, chunks, strict=True):
        joined = pa.chunked_array(column, type=field.type)
        column.clear()
        columns.append(joined.unify_dictionaries().combine_chunks())
        del joined
        pa.default_memory_pool().release_unused()
    return pa.table(columns, schema=PLACED_SCHEMA)


def sorted_by_shard(plan: Plan, placed: pa.Table) -> Iterator[tuple[ShardId, pa.Table]]:
    """Yield every shard of the plan with its files in final order, one slice at a time."""
    split, shard = (placed.column(name).to_numpy() for name in ("split", "shard"))
    # By place alone, which needs little memory; each shard's slice is then sorted by rank.
    place_of = split.astype(np.int64) << 32 | shard
    order = np.argsort(place_of, kind="stable").astype(np.int32)
    place_of = place_of[order]
    for split_index, name in enumerate(plan.splits.names):
        for shard_index in range(plan.num_shards[split_index]):
            wanted = split_index << 32 | shard_index
            start, stop = np.searchsorted(place_of, [wanted, wanted + 1])
            yield ShardId(name, shard_index), in_rank_order(placed.take(order[start:stop]))


def in_rank_order(files: pa.Table) -> pa.Table:
    """Return one shard's placed files in final order."""
    high, low = (files.column(name).to_numpy() for name in ("rank_high", "rank_low"))
    return files.take(placement.rank_order(placement.Ranks(high, low), lambda: keys_of(files)))
