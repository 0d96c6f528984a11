"""The engine for one machine: processes that run the stage functions on slices of the listing.

It knows nothing of formats: it lists, places, hands every shard's slice to a worker, and
publishes. Small inputs are written in this process, since starting a pool takes longer.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tfrec_tools import stages
from tfrec_tools.errors import DatasetError
from tfrec_tools.manifest import Manifest
from tfrec_tools.plan import Plan
from tfrec_tools.records import MAX_LISTED_FAULTS, ShardResult
from tfrec_tools.request import OnError, Request
from tfrec_tools.shard_names import ShardId
from tfrec_tools.storage import open_storage
from tfrec_tools.survey import Survey
from tfrec_tools.worker_start import (
    SMALL_NUM_FILES,
    hidden_main,
    start_forkserver,
    tune_own_process,
)

SMALL_NUM_BYTES = 24 << 20  # 24 MiB; checking these takes about as long as starting a pool
POLL_S = 0.1

OnProgress = Callable[["Progress"], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a conversion is. ``total_files`` is None while the source is being listed."""

    num_files: int
    num_bytes: int
    num_rejected: int
    total_files: int | None
    total_bytes: int


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
    plan = stages.resolve(request, survey)
    # Emptied as it is placed: a listing may have millions of files.
    placed = (stages.place(plan, *listed.pop()) for _ in range(len(listed)))
    return Placed(plan, survey, stages.placed_table(placed))


def _is_small(num_files: int, num_bytes: int) -> bool:
    return num_files <= SMALL_NUM_FILES and num_bytes <= SMALL_NUM_BYTES


def _write_shards(
    placed: Placed, num_workers: int, on_progress: OnProgress | None
) -> list[ShardResult]:
    """Write all shards that are not finished yet and return every shard's result.

    Ends early, and raises what the faults amount to, once there are enough of them.
    """
    plan = placed.plan
    collector = _Collector(placed, on_progress)
    tasks = stages.sorted_by_shard(plan, placed.files)
    small = _is_small(placed.survey.num_files, placed.survey.num_bytes)
    local_only = open_storage(plan.request.output).url.startswith("memory://") or (
        open_storage(plan.request.source.root).url.startswith("memory://")
    )  # fsspec's memory belongs to this process
    if num_workers <= 1 or small or local_only or len(plan.shards) == 1:
        for shard, files in tasks:
            result = stages.finished_shard(plan, shard, files)
            collector.take(
                result or stages.write_shard(plan, shard, files, collector.add),
                files if result else None,
            )
        return collector.results
    with _pool(min(num_workers, len(plan.shards)), plan) as pool:
        _run(pool, tasks, collector, num_workers)
    return collector.results


class _Collector:
    """Gathers results and decides when there are faults enough to stop."""

    def __init__(self, placed: Placed, on_progress: OnProgress | None) -> None:
        self.results: list[ShardResult] = []
        self.plan = placed.plan
        self._survey = placed.survey
        self._on_progress = on_progress
        self._counts = [0, 0, 0]
        self._shown_s = 0.0

    def add(self, num_files: int, num_bytes: int, num_rejected: int) -> None:
        """Count a block that was written."""
        for place, number in enumerate((num_files, num_bytes, num_rejected)):
            self._counts[place] += number
        self.show(self._counts)

    def show(self, counts: list[int]) -> None:
        """Tell how far the conversion is, ten times a second at most."""
        now_s = time.monotonic()
        if self._on_progress is not None and now_s - self._shown_s >= POLL_S:
            self._shown_s = now_s
            self._on_progress(
                Progress(
                    counts[0], counts[1], counts[2], self._survey.num_files, self._survey.num_bytes
                )
            )

    def take(self, result: ShardResult, kept: pa.Table | None = None) -> None:
        """Keep a shard's result; ``kept``: its files, if an earlier run had finished it."""
        self.results.append(result)
        if kept is not None:
            self.add(kept.num_rows, sum(kept.column("num_bytes").to_pylist()), len(result.faults))
        num_faults = sum(len(found.faults) for found in self.results)
        if self.plan.request.on_error is OnError.FAIL:
            enough = 1 if self.plan.request.fail_fast else MAX_LISTED_FAULTS
        else:
            limit = self.plan.request.max_errors
            enough = sys.maxsize if limit is None else limit + 1
        if num_faults >= enough:
            error = stages.failure(self.plan, self.results, complete=False)
            assert error is not None
            raise error


def _run(
    pool: ProcessPoolExecutor,
    tasks: Iterator[tuple[ShardId, pa.Table]],
    collector: _Collector,
    num_workers: int,
) -> None:
    """Keep the workers busy with two tasks each, so that few slices exist at once."""
    pending: set[Future[ShardResult]] = set()
    counts = _worker_counts
    more = True
    while more or pending:
        while more and len(pending) < 2 * num_workers:
            task = next(tasks, None)
            if task is None:
                more = False
                break
            with hidden_main():
                pending.add(pool.submit(_work, *task))
        done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
        for future in done:
            try:
                collector.take(future.result())
            except BrokenProcessPool:
                raise DatasetError(
                    "a worker process died (killed, or out of memory); run the same command again "
                    "to go on, with fewer --workers if memory is short"
                ) from None
        if counts is not None:
            collector.show(list(counts))


_worker_plan: Plan | None = None
_worker_counts: Any = None
"""In a worker: the plan, and counters (files, bytes, rejected) shared with the parent."""


def _start_worker(plan: Plan, counts: Any) -> None:
    global _worker_plan, _worker_counts
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _worker_plan, _worker_counts = plan, counts
    tune_own_process()


def _count(num_files: int, num_bytes: int, num_rejected: int) -> None:
    with _worker_counts.get_lock():
        for place, number in enumerate((num_files, num_bytes, num_rejected)):
            _worker_counts[place] += number


def _work(shard: ShardId, files: pa.Table) -> ShardResult:
    assert _worker_plan is not None
    result = stages.finished_shard(_worker_plan, shard, files)
    if result is None:
        return stages.write_shard(_worker_plan, shard, files, _count)
    _count(files.num_rows, sum(files.column("num_bytes").to_pylist()), len(result.faults))
    return result


@contextlib.contextmanager
def _pool(num_workers: int, plan: Plan) -> Iterator[ProcessPoolExecutor]:
    global _worker_counts  # noqa: PLW0603
    context = multiprocessing.get_context("forkserver")
    _worker_counts = context.Array("q", 3)
    with hidden_main():
        pool = ProcessPoolExecutor(
            num_workers, context, initializer=_start_worker, initargs=(plan, _worker_counts)
        )
    try:
        yield pool
    except BaseException:
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 (no public way)
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
