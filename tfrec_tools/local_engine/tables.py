"""Tables on one machine: scan, survey, encode to spill files, write shards from them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tfrec_tools import stages
from tfrec_tools.local_engine.pool import ThisProcess, Workers, needs_this_process, workers
from tfrec_tools.local_engine.progress import Collector, OnProgress, Progress
from tfrec_tools.manifest import Manifest
from tfrec_tools.plan import Plan
from tfrec_tools.records import ShardResult
from tfrec_tools.request import Request
from tfrec_tools.shard_names import ShardId
from tfrec_tools.stages import Spill
from tfrec_tools.storage import open_storage
from tfrec_tools.table_survey import SurveyedTable, SurveyNeeds, TableSurvey
from tfrec_tools.tables import Table, TablePart, TableUnit
from tfrec_tools.worker_start import SMALL_NUM_BYTES, start_forkserver

SPILL_PREFIX = "spill-"

POOLED_SCAN_BYTES = 32 << 20
"""Less than this is scanned here, while the workers start."""


def convert_table(
    request: Request,
    num_workers: int,
    on_progress: OnProgress | None,
    on_plan: Callable[[Plan], None] | None,
) -> Manifest:
    """Carry out a request for a table."""
    with _table_workers(request, num_workers) as (table, pool):
        surveyed, plan = _plan(request, table, pool, on_progress)
        if on_plan is not None:
            on_plan(plan)
        with stages.claimed_output(plan), _spill_folder(plan) as folder:
            collector = Collector(plan, on_progress)
            _encode(plan, surveyed, pool, folder, collector)
            results = _write_shards(plan, surveyed, pool, collector)
            return stages.publish(plan, None, results, collector.units)


def plan_table(
    request: Request, *, num_workers: int = 1, on_progress: OnProgress | None = None
) -> tuple[SurveyedTable, Plan]:
    """Learn what the request leaves open, and resolve it; nothing is written."""
    with _table_workers(request, num_workers) as (table, pool):
        return _plan(request, table, pool, on_progress)


@contextlib.contextmanager
def _table_workers(request: Request, num_workers: int) -> Iterator[tuple[Table, Workers]]:
    """Open the table, and start as many workers as its size is worth."""
    stages.refuse_options(request)
    table = stages.open_table(request)
    num_bytes = sum(file.num_bytes for file in table.files)
    in_memory = needs_this_process(request.source.root, request.output)
    if num_workers > 1 and num_bytes > SMALL_NUM_BYTES and not in_memory:
        start_forkserver()
    else:
        num_workers = 1
    # Keeping memory makes encoding a tenth quicker; it stays within what one batch takes.
    with workers(num_workers, gives_back=False) as pool:
        yield table, pool


def _plan(
    request: Request, table: Table, pool: Workers, on_progress: OnProgress | None
) -> tuple[SurveyedTable, Plan]:
    table, parts = _scan(request, table, pool)
    units = stages.units_of(parts)
    needs = stages.survey_needs(request, table)
    survey = TableSurvey()
    if needs.columns:

        def show(num_records: int, surveyed_bytes: int, _rejected: int) -> None:
            if on_progress is not None:
                on_progress(Progress(num_records, surveyed_bytes, 0, None, 0))

        without_files = dataclasses.replace(table, files=())
        tasks = ((request, without_files, needs, unit) for unit in units)
        survey = stages.merge_surveys(pool.run(_survey_unit, tasks, show))
    surveyed = SurveyedTable(table=table, units=units, survey=survey)
    return surveyed, stages.resolve_table(request, surveyed)


def _scan(request: Request, table: Table, pool: Workers) -> tuple[Table, tuple[TablePart, ...]]:
    """Find where the records lie; files that prove to be unusual are scanned again."""
    num_bytes = sum(file.num_bytes for file in table.files)
    scanner: Workers = pool if num_bytes > POOLED_SCAN_BYTES else ThisProcess()
    without_files = dataclasses.replace(table, files=())
    scans: list[Any] = []
    tasks = stages.scan_tasks(table)
    while True:
        arguments = ((request, without_files, task) for task in tasks)
        scans += scanner.run(_scan_task, arguments, _show_nothing)
        settled, parts, tasks = stages.settle(table, scans)
        if not tasks:
            return settled, parts
        scanner = pool


def _show_nothing(*_: int) -> None:
    pass


def _scan_task(request: Request, table: Table, task: Any, _count: Any) -> Any:
    return stages.scan(request, table, task)


def _survey_unit(
    request: Request, table: Table, needs: SurveyNeeds, unit: TableUnit, count: Any
) -> TableSurvey:
    found = stages.survey_unit(request, table, needs, unit)
    count(unit.num_records, unit.num_bytes, 0)
    return found


@contextlib.contextmanager
def _spill_folder(plan: Plan) -> Iterator[str]:
    """Make a folder for spill files: where asked for, else beside the staged shards.

    For a remote output, in the system's folder for temporary files.
    """
    output = open_storage(plan.request.output)
    parent = plan.request.spill_dir
    if parent is None and output.is_local:
        parent = os.path.join(output.url, stages.staging_folder(plan))
        for name in os.listdir(parent) if os.path.isdir(parent) else ():
            if name.startswith(SPILL_PREFIX):  # of a run that was killed: we have the lock
                shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
    if parent is not None:
        os.makedirs(parent, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=SPILL_PREFIX, dir=parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _encode(
    plan: Plan, surveyed: SurveyedTable, pool: Workers, folder: str, collector: Collector
) -> None:
    tasks = (
        (plan, unit, os.path.join(folder, f"unit-{unit.index:06d}.arrow"))
        for unit in surveyed.units
    )
    for result in pool.run(stages.encode_unit, tasks, collector.show_counts):
        collector.take_unit(result)
    collector.raise_if_failed()


def _write_shards(
    plan: Plan,
    surveyed: SurveyedTable,
    pool: Workers,
    collector: Collector,
) -> list[ShardResult]:
    spills = [spill for _, spill in sorted(collector.spills.items())]
    tasks = (
        (plan, shard, spills, stages.table_fingerprint(plan, surveyed.units, shard))
        for shard in plan.shards
    )
    # Of shards only rejected records are new: the records were counted when they were encoded.
    for result in pool.run(_write_shard, tasks, _show_nothing):
        collector.take(result)
    return collector.results


def _write_shard(
    plan: Plan, shard: ShardId, spills: list[Spill], fingerprint: str, count: Any
) -> ShardResult:
    found = stages.finished_staged_shard(plan, shard, fingerprint)
    return found or stages.write_table_shard(plan, shard, spills, fingerprint, count)
