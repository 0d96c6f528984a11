"""Peak memory of converting text: a file, 20 times of it, and a file with one huge line."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.measuring import BenchmarkError, Contender, Measurement, measure
from benchmarks.run_options import say
from benchmarks.tables import MB, Bound, Target, markdown_table, number, target_table
from benchmarks.text_inputs import file_with_long_line, repeated_file
from benchmarks.text_peers import OURS, convert_text_command

MIB = 1 << 20
LARGE_NUM_TIMES = 20
LONG_LINE_BYTES = 64 * MIB
MAX_PEAK_MB = 400

DISK_RATIO = 5
"""Free disk that is asked for, in sizes of the largest input: itself, what is put aside while
shuffling, the shards, their indexes, and one more to be on the safe side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRun:
    """What converting one file cost, and how large the file was."""

    what: str
    input_bytes: int
    cost: Measurement


def measured_memory(lines: Path, work: Path) -> list[MemoryRun]:
    """Convert the file ``lines``, a large one, and one with a long line, once each.

    The two others are written before their run and removed after it. Raises BenchmarkError
    if there is not enough disk.
    """
    require_disk(work, max(LARGE_NUM_TIMES * lines.stat().st_size, LONG_LINE_BYTES))
    target = work / "memory.txt"
    long_line = f"a line of {LONG_LINE_BYTES / MIB:g} MiB"
    runs = [_run("the file", lines, work)]
    try:
        repeated_file(lines, LARGE_NUM_TIMES, target)
        runs.append(_run(f"{LARGE_NUM_TIMES} times the file", target, work))
        file_with_long_line(LONG_LINE_BYTES, target)
        runs.append(_run(long_line, target, work))
    finally:
        target.unlink(missing_ok=True)
    return runs


def require_disk(work: Path, input_bytes: int) -> None:
    """Raise BenchmarkError unless an input of this size can be written and converted in ``work``."""
    needed, free = DISK_RATIO * input_bytes, shutil.disk_usage(work).free
    if free < needed:
        raise BenchmarkError(
            f"--work must have {needed / MB:,.0f} MB of free disk (it has {free / MB:,.0f}); name "
            "another folder"
        )


def memory_report(runs: Sequence[MemoryRun], work: Path) -> str:
    """Return the runs that ``measured_memory`` made as a section of markdown."""
    once, large, _ = runs
    ratio = large.cost.peak_bytes / once.cost.peak_bytes
    rows = [
        [
            run.what,
            number(run.input_bytes / MB),
            number(run.cost.wall_s),
            number(run.cost.cpu_s),
            number(run.cost.peak_bytes / MB),
            number(run.cost.written_bytes / MB),
        ]
        for run in runs
    ]
    header = ["", "MB read", "s", "CPU s", "peak MB", "MB written"]
    return "\n\n".join(
        [
            "### Memory of converting lines",
            describe_machine(work),
            "`tfrec-convert --kind text`, one run of each.",
            markdown_table(header, rows),
            f"Peak memory of {large.what} ÷ that of {once.what}: {number(ratio)}x.",
            target_table(memory_run_targets(runs)),
        ]
    )


def memory_run_targets(runs: Sequence[MemoryRun]) -> list[Target]:
    """Return the project's promise for each run."""
    return [
        Target(
            what=f"peak memory of {run.what}, largest process",
            bound=Bound.AT_MOST,
            limit=MAX_PEAK_MB,
            measured=run.cost.peak_bytes / MB,
            unit=" MB",
        )
        for run in runs
    ]


def _run(what: str, path: Path, work: Path) -> MemoryRun:
    say(f"converting {what}")
    contender = Contender(OURS, what, functools.partial(convert_text_command, path))
    cost = measure(contender, work)
    return MemoryRun(what=what, input_bytes=path.stat().st_size, cost=cost)
