"""The options that every benchmark has."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.measuring import Contender, Results, measure_in_turns, use_cores


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a benchmark is run. ``only``: the names of contenders, or empty for all."""

    num_runs: int
    work: Path
    only: tuple[str, ...]

    def run(
        self,
        contenders: Sequence[Contender],
        *,
        slow: Sequence[str] = (),
        slow_num_runs: int = 0,
    ) -> Results:
        """Measure the chosen contenders in turns, and say on the terminal how far it is.

        The ``slow`` ones take part in the first ``slow_num_runs`` rounds only; the rounds
        without them begin with one more that is not counted.
        """
        chosen = [one for one in contenders if not self.only or one.name in self.only]
        if not chosen:
            names = ", ".join(contender.name for contender in contenders)
            raise click.ClickException(f"--only must be one of {names} (got {self.only})")
        fast = [one for one in chosen if one.name not in slow]
        if len(fast) == len(chosen):
            return self._in_turns(chosen, self.num_runs)
        num_common = min(self.num_runs, slow_num_runs)
        num_more = self.num_runs - num_common
        results = self._in_turns(chosen, num_common)
        if not (fast and num_more):
            return results
        more = self._in_turns(fast, num_more)
        return {name: [*runs, *more.get(name, ())] for name, runs in results.items()}

    def _in_turns(self, contenders: Sequence[Contender], num_runs: int) -> Results:
        return measure_in_turns(contenders, num_runs=num_runs, work=self.work, on_run=say)


def say(text: str) -> None:
    """Show a line of progress; standard output is for the result."""
    click.echo(text, err=True)


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options, which it gets as ``options: RunOptions``."""

    @click.option("--runs", default=5, show_default=True, help="Counted runs of each contender.")
    @click.option("--cores", default=2, show_default=True, help="Cores that may be used.")
    @click.option(
        "--work",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(tempfile.gettempdir(), "tfrec-benchmarks"),
        show_default="tfrec-benchmarks in the folder for temporary files",
        help="Folder for drawn input, kept for the next time, and for outputs, removed.",
    )
    @click.option(
        "--only", metavar="NAME", multiple=True, help="Run this contender. May be repeated."
    )
    @functools.wraps(command)
    def with_options(
        *arguments: Any,
        runs: int,
        cores: int,
        work: Path,
        only: tuple[str, ...],
        **others: Any,
    ) -> None:
        work.mkdir(parents=True, exist_ok=True)
        use_cores(cores)
        options = RunOptions(num_runs=runs, work=work, only=only)
        command(*arguments, options=options, **others)

    return with_options


def with_slow_runs_option(
    names: Sequence[str],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the option ``--slow-runs``, which it gets as ``slow_num_runs``."""
    return click.option(
        "--slow-runs",
        "slow_num_runs",
        type=click.IntRange(1),
        default=2,
        show_default=True,
        help=f"Counted runs of {' and '.join(names)}, which take minutes; at most --runs.",
    )
