"""What the project promises of a conversion: times beside those of others, and peak memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measuring import Results, Spread
from benchmarks.tables import MB, Bound, Target, peak_bytes


@dataclass(frozen=True, slots=True)
class Promise:
    """One time divided by another, and the side of the limit that it has to be on."""

    above: str
    below: str
    bound: Bound
    limit: float


def median_s(results: Results, name: str) -> float:
    """Return the median wall time of a contender's runs."""
    return Spread.of([run.wall_s for run in results[name]]).median


def time_targets(promises: Sequence[Promise], results: Results) -> list[Target]:
    """Return the promises of which both times were measured."""
    return [
        Target(
            what=f"time of {promise.above} ÷ {promise.below}",
            bound=promise.bound,
            limit=promise.limit,
            measured=median_s(results, promise.above) / median_s(results, promise.below),
        )
        for promise in promises
        if promise.above in results and promise.below in results
    ]


def memory_targets(names: Sequence[str], results: Results, *, max_peak_mb: float) -> list[Target]:
    """Return one target for each of ``names`` that was measured."""
    return [
        Target(
            what=f"peak memory of {name}, largest process",
            bound=Bound.AT_MOST,
            limit=max_peak_mb,
            measured=peak_bytes(results[name]) / MB,
            unit=" MB",
        )
        for name in names
        if name in results
    ]
