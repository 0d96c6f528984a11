"""How far a conversion is, what came out of it so far, and when to give it up."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from tfrec_tools import stages
from tfrec_tools.local_engine.pool import POLL_S
from tfrec_tools.plan import Plan
from tfrec_tools.records import MAX_LISTED_FAULTS, ShardResult
from tfrec_tools.request import OnError
from tfrec_tools.stages import Spill, UnitResult

OnProgress = Callable[["Progress"], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a conversion is: files, or the records of tables.

    ``total_files`` is None while the source is being listed or looked through.
    """

    num_files: int
    num_bytes: int
    num_rejected: int
    total_files: int | None
    total_bytes: int


class Collector:
    """Gathers results and decides when there are faults enough to stop."""

    def __init__(self, plan: Plan, on_progress: OnProgress | None) -> None:
        """Start with nothing."""
        self.results: list[ShardResult] = []
        self.units = UnitResult(index=-1)
        self.spills: dict[int, Spill] = {}
        self._waiting: dict[int, UnitResult] = {}
        self.total_files = plan.num_files
        self._plan = plan
        self._on_progress = on_progress
        self._shown_s = 0.0
        self._num_faults = 0
        if plan.request.on_error is OnError.FAIL:
            self._enough = 1 if plan.request.fail_fast else MAX_LISTED_FAULTS
        else:
            limit = plan.request.max_errors
            self._enough = sys.maxsize if limit is None else limit + 1

    def show_counts(self, num_files: int, num_bytes: int, num_rejected: int) -> None:
        """Tell how far the conversion is, ten times a second at most."""
        now_s = time.monotonic()
        if self._on_progress is not None and now_s - self._shown_s >= POLL_S:
            self._shown_s = now_s
            self._on_progress(
                Progress(num_files, num_bytes, num_rejected, self.total_files, self._plan.num_bytes)
            )

    def take(self, result: ShardResult) -> None:
        """Keep a shard's result. Raises what the faults amount to once they are enough."""
        self.results.append(result)
        self._count(len(result.faults))

    def take_unit(self, result: UnitResult) -> None:
        """Keep the result of a unit of a table.

        Labels that are no classes do not stop the looking: all of them are to be named.
        """
        if result.spill is not None:
            self.spills[result.index] = result.spill
        self._waiting[result.index] = result
        while self.units.index + 1 in self._waiting:  # in order: see `folded`
            self.units = stages.folded(self.units, self._waiting.pop(self.units.index + 1))
        others = sum(not stages.is_unknown_class(entry) for entry in result.entries)
        self._count(others if self._plan.request.on_error is OnError.FAIL else len(result.entries))

    def _count(self, num_faults: int) -> None:
        self._num_faults += num_faults
        if self._num_faults >= self._enough:
            units = self.units
            for index in sorted(self._waiting):
                units = stages.folded(units, self._waiting[index])
            error = stages.failure(self._plan, self.results, units, complete=False)
            assert error is not None
            raise error

    def raise_if_failed(self) -> None:
        """Raise what the faults so far amount to, if the conversion cannot succeed any more."""
        error = stages.failure(self._plan, self.results, self.units)
        if error is not None:
            raise error
