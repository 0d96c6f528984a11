"""Results as markdown: aligned tables, numbers in few digits, targets and whether they hold."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measuring import Measurement, Results, Spread

MB = 1_000_000
DASH = "\u2013"


class Bound(enum.Enum):
    """On which side of its limit a measured number has to lie."""

    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A number that the project promises, beside what was measured."""

    what: str
    bound: Bound
    limit: float
    measured: float
    unit: str = "x"

    @property
    def is_reached(self) -> bool:
        """Whether the measured number lies on the promised side."""
        if self.bound is Bound.AT_MOST:
            return self.measured <= self.limit
        return self.measured >= self.limit


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are padded, the first to the left and the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def padded(line: Sequence[str]) -> str:
        first, *others = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        return f"| {' | '.join([first, *others])} |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([padded(lines[0]), padded(rule), *(padded(line) for line in lines[1:])])


def number(value: float) -> str:
    """Return a number in three digits or, where it has more before the point, without decimals."""
    for limit, decimals in ((10, 2), (100, 1)):
        if abs(value) < limit:
            return f"{value:.{decimals}f}"
    return f"{value:,.0f}"


def time_table(results: Results, *, ours: Sequence[str]) -> str:
    """Return one line per contender, with its time in multiples of each of ``ours``."""
    medians = {name: Spread.of([run.wall_s for run in runs]) for name, runs in results.items()}
    baselines = [name for name in ours if name in medians]
    header = [
        "",
        "s, median",
        f"min{DASH}max",
        *(f"÷ {name}" for name in baselines),
        "CPU s",
        "peak MB",
        "MB written",
    ]
    rows = [
        [
            name,
            number(wall.median),
            f"{number(wall.smallest)}{DASH}{number(wall.largest)}",
            *(f"{number(wall.median / medians[base].median)}x" for base in baselines),
            number(Spread.of([run.cpu_s for run in results[name]]).median),
            number(peak_bytes(results[name]) / MB),
            number(results[name][-1].written_bytes / MB),
        ]
        for name, wall in medians.items()
    ]
    return markdown_table(header, rows)


def rate_table(
    rates: Mapping[str, Sequence[float]],
    first_batch_s: Mapping[str, Sequence[float]],
    results: Results,
    *,
    unit: str,
    peers: Sequence[str],
) -> str:
    """Return one line per contender, with its rate in multiples of each of ``peers``.

    ``first_batch_s``: by contender, the time to the first batch in every run.
    """
    medians = {name: Spread.of(values) for name, values in rates.items()}
    baselines = [name for name in peers if name in medians]
    header = [
        "",
        f"{unit}, median",
        f"min{DASH}max",
        *(f"÷ {name}" for name in baselines),
        "first batch s",
        "peak MB",
    ]
    rows = [
        [
            name,
            number(rate.median),
            f"{number(rate.smallest)}{DASH}{number(rate.largest)}",
            *(f"{number(rate.median / medians[base].median)}x" for base in baselines),
            number(Spread.of(first_batch_s[name]).median),
            number(peak_bytes(results[name]) / MB),
        ]
        for name, rate in medians.items()
    ]
    return markdown_table(header, rows)


def target_table(targets: Sequence[Target]) -> str:
    """Return one line per target: what was promised, what was measured."""
    rows = [
        [
            target.what,
            f"{target.bound.value} {target.limit:g}{target.unit}",
            f"{number(target.measured)}{target.unit}",
            "yes" if target.is_reached else "NO",
        ]
        for target in targets
    ]
    return markdown_table(["target", "promised", "measured", "reached"], rows)


def runs_text(results: Results) -> str:
    """Return how many runs were counted, such as ``5 runs each, 2 of tfds``."""
    most = max(len(runs) for runs in results.values())
    fewer = [f"{len(runs)} of {name}" for name, runs in results.items() if len(runs) < most]
    return ", ".join([f"{most} {'run' if most == 1 else 'runs'} each", *fewer])


def peak_bytes(runs: Sequence[Measurement]) -> int:
    """Return the largest peak of all runs: memory has to suffice for every one of them."""
    return max(run.peak_bytes for run in runs)
