"""Runs contenders as whole processes, in turns, and keeps what each run cost."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

REPOSITORY = Path(__file__).resolve().parent.parent
NUM_SHOWN_CHARS = 2_000

_METER = Path(__file__).with_name("process_meter.py")
_ENVIRONMENT = {
    "TF_CPP_MIN_LOG_LEVEL": "2",  # TensorFlow's start-up chatter
    "PYTHONDONTWRITEBYTECODE": "",  # modules are compiled once, as they are in an installation
    "CUDA_VISIBLE_DEVICES": "-1",  # input pipelines are compared, on the CPU
}


class BenchmarkError(Exception):
    """A contender failed, so there is nothing to compare."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work. ``command`` gets a fresh folder that the run may write to."""

    name: str
    what: str
    command: Callable[[Path], Sequence[str | Path]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one run of a command cost, and what it printed and left in its folder.

    ``cpu_s`` is summed over the command and its descendants; ``peak_bytes`` is the
    resident memory of the largest single one of them.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    written_bytes: int
    printed: str


Results: TypeAlias = Mapping[str, Sequence[Measurement]]
"""What every run of every contender cost, by the contender's name."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several runs, and how far they lie apart."""

    median: float
    smallest: float
    largest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise at least one value."""
        return cls(statistics.median(values), min(values), max(values))


def measure(contender: Contender, work: Path) -> Measurement:
    """Run a contender once, in a fresh folder below ``work`` that is removed afterwards.

    Raises BenchmarkError with the end of its output if it fails.
    """
    with tempfile.TemporaryDirectory(dir=work, prefix="run-") as name:
        scratch, result_path = Path(name, "output"), Path(name, "result.json")
        scratch.mkdir()
        # What earlier runs left to be written to disk must not slow this one down.
        os.sync()
        command = [str(part) for part in contender.command(scratch)]
        done = subprocess.run(
            [sys.executable, "-I", "-S", _METER, result_path, *command],
            cwd=REPOSITORY,
            env=os.environ | _ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise BenchmarkError(f"{contender.name} could not be run:\n{done.stdout}")
        result = json.loads(result_path.read_text(encoding="utf-8"))
        if result["exit_code"]:
            raise BenchmarkError(
                f"{contender.name} ended with exit code {result['exit_code']}:\n"
                f"{done.stdout[-NUM_SHOWN_CHARS:]}"
            )
        return Measurement(
            wall_s=result["wall_s"],
            cpu_s=result["cpu_s"],
            peak_bytes=result["peak_bytes"],
            written_bytes=folder_bytes(scratch),
            printed=done.stdout,
        )


def measure_in_turns(
    contenders: Sequence[Contender],
    *,
    num_runs: int,
    work: Path,
    on_run: Callable[[str], None] = lambda _text: None,
) -> Results:
    """Run all contenders in turns, ``num_runs`` times after one round that is not counted.

    The first round fills the page cache and compiles Python files.
    """
    kept: dict[str, list[Measurement]] = {contender.name: [] for contender in contenders}
    for round_index in range(num_runs + 1):
        for contender in contenders:
            measurement = measure(contender, work)
            which = f"run {round_index} of {num_runs}" if round_index else "warm-up"
            on_run(f"{which}: {contender.name}: {measurement.wall_s:.2f} s")
            if round_index:
                kept[contender.name].append(measurement)
    return kept


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def use_cores(num_cores: int) -> int:
    """Bind this process, and all it starts, to at most ``num_cores`` cores; return how many."""
    cores = sorted(os.sched_getaffinity(0))[:num_cores]
    os.sched_setaffinity(0, cores)
    return len(cores)


def has_program(name: str) -> bool:
    """Whether a program can be started by its name."""
    return shutil.which(name) is not None
