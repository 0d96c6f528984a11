"""``python -m benchmarks beam``: the same conversion on one machine's processes, and on Beam."""

from __future__ import annotations

import functools
from pathlib import Path

import click

from benchmarks.conversion_report import conversion_report
from benchmarks.measuring import Contender
from benchmarks.programs import with_packages
from benchmarks.run_options import RunOptions, say, with_run_options
from benchmarks.tables import MB
from benchmarks.text_inputs import TextKind, drawn_text
from benchmarks.text_peers import convert_text_command

LOCAL, IN_MEMORY, TWO_PROCESSES = "local", "beam-in-memory", "beam-two-processes"
DEFAULT_NUM_RECORDS = 200_000
_BEAM = ("--runner", "FnApiRunner")
_NEEDS = {IN_MEMORY: ("apache_beam",), TWO_PROCESSES: ("apache_beam",)}


def beam_contenders(source: Path) -> list[Contender]:
    """Return the engines that this machine has the packages for; say which are left out."""
    everything = [
        Contender(
            LOCAL, "`tfrec-convert --kind text`", functools.partial(convert_text_command, source)
        ),
        Contender(
            IN_MEMORY,
            "the same with `--runner FnApiRunner`: one process",
            functools.partial(_on_beam, source),
        ),
        Contender(
            TWO_PROCESSES,
            "the same with `--direct_running_mode=multi_processing --direct_num_workers=2`",
            functools.partial(
                _on_beam,
                source,
                flags=("--direct_running_mode=multi_processing", "--direct_num_workers=2"),
            ),
        ),
    ]
    return with_packages(everything, _NEEDS)


def _on_beam(source: Path, output: Path, *, flags: tuple[str, ...] = ()) -> list[str | Path]:
    return [*convert_text_command(source, output), *_BEAM, *flags]


@click.command("beam")
@click.option(
    "--records",
    "num_records",
    type=click.IntRange(1),
    default=DEFAULT_NUM_RECORDS,
    show_default=True,
    help="How many lines are drawn.",
)
@with_run_options
def beam_command(*, num_records: int, options: RunOptions) -> None:
    """Convert a file of lines with the local engine, and with Beam in this machine."""
    work = options.work.resolve()
    say("drawing text, unless it is there from last time")
    source = drawn_text(TextKind.LINES, num_records, work)
    contenders = beam_contenders(source)
    results = options.run(contenders)
    input_bytes = source.stat().st_size
    click.echo(
        conversion_report(
            f"Converting {num_records:,} lines, {input_bytes / MB:,.0f} MB, on two engines",
            contenders,
            results,
            ours=(LOCAL,),
            targets=[],
            num_records=num_records,
            num_promised=num_records,
            work=work,
        )
    )
