"""The engine for one machine: processes that run the stage functions on slices of the listing.

It knows nothing of formats: it lists, places, hands every shard's slice to a worker, and
publishes. Small inputs are written in this process, since starting a pool takes longer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tfrec_tools import stages
from tfrec_tools.local_engine.pool import Count, needs_this_process, workers
from tfrec_tools.local_engine.progress import Collector, OnProgress, Progress
from tfrec_tools.local_engine.tables import convert_table, plan_table
from tfrec_tools.manifest import Manifest
from tfrec_tools.plan import Plan
from tfrec_tools.records import ShardResult, Unit
from tfrec_tools.request import Request
from tfrec_tools.schema import Schema
from tfrec_tools.shard_names import ShardId
from tfrec_tools.survey import Survey
from tfrec_tools.worker_start import SMALL_NUM_FILES, start_forkserver

__all__ = ["OnProgress", "Placed", "Progress", "convert", "plan_conversion", "plan_table"]

SMALL_NUM_BYTES = 24 << 20  # 24 MiB; checking these takes about as long as starting a pool


SURVEYED_FILES = 2_048
"""Documents whose words one task counts."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A plan with the listing it was made from (PLACED_SCHEMA), every file with its place."""

    plan: Plan
    survey: Survey
    files: pa.Table


def available_cpus() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def convert(
    request: Request,
    *,
    num_workers: int | None = None,
    on_progress: OnProgress | None = None,
    on_plan: Callable[[Plan], None] | None = None,
) -> Manifest:
    """Carry out ``request`` and return the manifest of the dataset that was written.

    ``num_workers``: processes, one per core by default; 1 for none besides this one. The
    output does not depend on it. ``on_plan`` is told the plan. Raises TfrecError;
    KeyboardInterrupt leaves at most the staging folder, from which the same request goes on.
    """
    num_workers = num_workers or available_cpus()
    stages.refuse_dataset(request)  # now rather than after millions of files were listed
    if not request.reads_files:
        return convert_table(request, num_workers, on_progress, on_plan)
    placed = plan_conversion(request, num_workers=num_workers, on_progress=on_progress)
    if on_plan is not None:
        on_plan(placed.plan)
    with stages.claimed_output(placed.plan):
        results = _write_shards(placed, num_workers, on_progress)
        return stages.publish(placed.plan, placed.survey, results)


def plan_conversion(
    request: Request, *, num_workers: int = 1, on_progress: OnProgress | None = None
) -> Placed:
    """List the source, resolve the request and place every file; nothing is written.

    Raises TfrecError where request and source do not fit.
    """
    listed = []
    surveys = []
    num_files = num_bytes = 0
    forkserver_started = num_workers <= 1
    for unit in stages.list_units(request):
        for batch in stages.list_unit(request, unit):
            found = stages.survey(request, batch)
            surveys.append(found)
            listed.append((unit, batch.files))
            num_files, num_bytes = num_files + found.num_files, num_bytes + found.num_bytes
            if not forkserver_started and not _is_small(num_files, num_bytes):
                start_forkserver()  # it imports the stages while we go on listing
                forkserver_started = True
            if on_progress is not None:
                on_progress(Progress(num_files, num_bytes, 0, None, 0))
    survey = stages.merge(surveys)
    schema = None
    if stages.counted_features(request):
        schema = _with_vocabularies(request, listed, num_workers)
    plan = stages.resolve(request, survey, schema=schema)
    # Emptied as it is placed: a listing may have millions of files.
    placed = (stages.place(plan, *listed.pop()) for _ in range(len(listed)))
    return Placed(plan, survey, stages.placed_table(placed))


def _with_vocabularies(
    request: Request, listed: list[tuple[Unit, pa.RecordBatch]], num_workers: int
) -> Schema:
    """Count the words of all listed documents, and return the schema with its vocabularies."""
    assert request.schema is not None
    slices = (
        batch.slice(start, SURVEYED_FILES)
        for _, batch in listed
        for start in range(0, batch.num_rows, SURVEYED_FILES)
    )
    in_memory = needs_this_process(request.source.root, request.output)
    small = sum(batch.num_rows for _, batch in listed) <= SMALL_NUM_FILES
    with workers(1 if small or in_memory else num_workers) as pool:
        tasks = ((request, files) for files in slices)
        words = stages.merge_words(pool.run(_survey_documents, tasks, _show_nothing))
    return stages.with_vocabularies(request.schema, words)


def _survey_documents(request: Request, files: pa.RecordBatch, _count: Count) -> Any:
    return stages.survey_documents(request, files)


def _show_nothing(*_: int) -> None:
    pass


def _is_small(num_files: int, num_bytes: int) -> bool:
    return num_files <= SMALL_NUM_FILES and num_bytes <= SMALL_NUM_BYTES


def _write_shards(
    placed: Placed, num_workers: int, on_progress: OnProgress | None
) -> list[ShardResult]:
    """Write all shards that are not finished yet and return every shard's result.

    Ends early, and raises what the faults amount to, once there are enough of them.
    """
    plan = placed.plan
    collector = Collector(plan, on_progress)
    small = _is_small(placed.survey.num_files, placed.survey.num_bytes)
    in_memory = needs_this_process(plan.request.source.root, plan.request.output)
    if small or in_memory or len(plan.shards) == 1:
        num_workers = 1
    tasks = ((plan, *task) for task in stages.sorted_by_shard(plan, placed.files))
    with workers(min(num_workers, len(plan.shards))) as pool:
        for result in pool.run(_write_shard, tasks, collector.show_counts):
            collector.take(result)
    return collector.results


def _write_shard(plan: Plan, shard: ShardId, files: pa.Table, count: Count) -> ShardResult:
    result = stages.finished_shard(plan, shard, files)
    if result is None:
        return stages.write_shard(plan, shard, files, count)
    count(files.num_rows, sum(files.column("num_bytes").to_pylist()), len(result.faults))
    return result
