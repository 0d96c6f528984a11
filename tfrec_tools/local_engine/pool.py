"""Worker processes that run stage functions, or this process in their place.

A stage function takes its arguments and, last, a function that counts: records or files,
bytes, rejected inputs.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from tfrec_tools.errors import DatasetError
from tfrec_tools.storage import open_storage
from tfrec_tools.worker_start import hidden_main, tune_own_process

POLL_S = 0.1

Count = Callable[[int, int, int], None]


class Workers(Protocol):
    """Runs a function on many arguments."""

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], show: Count
    ) -> Iterator[Any]:
        """Yield the results as they come; ``show`` is told the counts so far."""
        ...


class ThisProcess:
    """Runs everything here, one after the other."""

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], show: Count
    ) -> Iterator[Any]:
        """Yield the results in the order of the tasks."""
        counts = [0, 0, 0]

        def add(*numbers: int) -> None:
            for place, number in enumerate(numbers):
                counts[place] += number
            show(*counts)

        for task in tasks:
            yield function(*task, add)


class Processes:
    """Keeps the workers busy with two tasks each, so that few tasks exist at once."""

    def __init__(self, pool: ProcessPoolExecutor, num_workers: int, counts: Any) -> None:
        """Take a running pool; use `workers` to get one."""
        self._pool = pool
        self._num_workers = num_workers
        self._counts = counts

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], show: Count
    ) -> Iterator[Any]:
        """Yield the results as they come. Raises DatasetError if a worker dies."""
        for place in range(3):
            self._counts[place] = 0
        pending: set[Future[Any]] = set()
        remaining = iter(tasks)
        more = True
        while more or pending:
            while more and len(pending) < 2 * self._num_workers:
                task = next(remaining, None)
                if task is None:
                    more = False
                    break
                try:
                    with hidden_main():
                        pending.add(self._pool.submit(_call, function, task))
                except BrokenProcessPool:
                    raise _died() from None
            done, pending = wait(pending, timeout=POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    yield future.result()
                except BrokenProcessPool:
                    raise _died() from None
            show(*self._counts)


def _died() -> DatasetError:
    return DatasetError(
        "a worker process died (killed, or out of memory); run the same command again "
        "to go on, with fewer --workers if memory is short"
    )


_counts: Any = None
"""In a worker: counters (files or records, bytes, rejected) shared with the parent."""


def _start_worker(counts: Any, gives_back: bool) -> None:  # noqa: FBT001 (called by a pool)
    global _counts  # noqa: PLW0603
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _counts = counts
    threading.Thread(target=_die_with_parent, daemon=True).start()
    tune_own_process(gives_back=gives_back)


def _die_with_parent() -> None:
    """End this process when the one it works for is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _count(*numbers: int) -> None:
    with _counts.get_lock():
        for place, number in enumerate(numbers):
            _counts[place] += number


def _call(function: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    return function(*task, _count)


def needs_this_process(*urls: str) -> bool:
    """Say whether one of these lies in fsspec's memory, which belongs to this process."""
    return any(open_storage(url).url.startswith("memory://") for url in urls)


@contextlib.contextmanager
def workers(num_workers: int, *, gives_back: bool = True) -> Iterator[Workers]:
    """Start worker processes; with fewer than two, everything is done in this process.

    ``gives_back``: workers give memory back to the system as soon as it is free.
    """
    if num_workers < 2:
        yield ThisProcess()
        return
    context = multiprocessing.get_context("forkserver")
    counts = context.Array("q", 3)
    with hidden_main():
        pool = ProcessPoolExecutor(
            num_workers, context, initializer=_start_worker, initargs=(counts, gives_back)
        )
    try:
        yield Processes(pool, num_workers, counts)
    except BaseException:
        for process in list((pool._processes or {}).values()):  # noqa: SLF001 (no public way)
            process.kill()
        # A worker may have died in the middle of a result: without this end of the pipe, the
        # thread that waits for the rest would do so for ever.
        if pool._result_queue is not None:  # noqa: SLF001
            pool._result_queue._writer.close()  # type: ignore[attr-defined]  # noqa: SLF001
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
