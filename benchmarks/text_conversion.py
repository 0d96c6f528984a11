"""``python -m benchmarks text``: text files to TFRecord files, in several ways."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import click

from benchmarks.conversion_report import conversion_report
from benchmarks.measuring import BenchmarkError, Results, folder_bytes
from benchmarks.programs import peer_command, printed_by
from benchmarks.promises import Promise, memory_targets, time_targets
from benchmarks.run_options import RunOptions, say, with_run_options, with_slow_runs_option
from benchmarks.tables import MB, Bound, Target
from benchmarks.text_digest import TextDigest, digest_of, source_texts
from benchmarks.text_inputs import TextKind, drawn_text
from benchmarks.text_memory import MAX_PEAK_MB, measured_memory, memory_report
from benchmarks.text_peers import LOOP, OURS, TFDS, convert_text_command, text_contenders

SLOW = (TFDS,)

_PROMISES = {
    TextKind.LINES: (
        Promise(TFDS, OURS, Bound.AT_LEAST, 25),
        Promise(LOOP, OURS, Bound.AT_LEAST, 5),
    ),
    TextKind.DOCUMENTS: (Promise(TFDS, OURS, Bound.AT_LEAST, 3),),
}


@click.command("text")
@click.option("--documents", is_flag=True, help="Draw documents in class folders, not lines.")
@click.option(
    "--memory",
    is_flag=True,
    help="Only how much memory ours takes for a file, for 20 times of it, and for a line of "
    "64 MiB; one run of each. Takes 10 GB of disk.",
)
@click.option(
    "--records",
    "num_records",
    type=click.IntRange(1),
    help="How many are drawn. [default: 1000000, or 50000 documents]",
)
@with_slow_runs_option(SLOW)
@with_run_options
def text_command(
    *,
    documents: bool,
    memory: bool,
    num_records: int | None,
    slow_num_runs: int,
    options: RunOptions,
) -> None:
    """Convert a file of lines, in three ways, or documents, in two.

    Afterwards ours is run once more, and what TensorFlow reads from it is compared with
    the input.
    """
    if documents and memory:
        raise click.UsageError("--memory is for lines (got --documents too); leave one out")
    kind = TextKind.DOCUMENTS if documents else TextKind.LINES
    num_records = num_records or kind.default_num_records
    work = options.work.resolve()
    say("drawing text, unless it is there from last time")
    source = drawn_text(kind, num_records, work)
    if memory:
        click.echo(memory_report(measured_memory(source, work), work))
        return
    contenders = text_contenders(kind, source)
    results = options.run(contenders, slow=SLOW, slow_num_runs=slow_num_runs)
    input_bytes = folder_bytes(source) if source.is_dir() else source.stat().st_size
    click.echo(
        conversion_report(
            f"Converting {num_records:,} {kind.value} of {input_bytes / num_records:,.0f} bytes, "
            f"{input_bytes / MB:,.0f} MB",
            contenders,
            results,
            ours=(OURS,),
            targets=text_targets(kind, results),
            num_records=num_records,
            num_promised=kind.default_num_records,
            work=work,
            remarks=[compared(source, work)] if OURS in results else [],
        )
    )


def text_targets(kind: TextKind, results: Results) -> list[Target]:
    """Return the project's promises for text, as far as they were measured."""
    return [
        *time_targets(_PROMISES[kind], results),
        *memory_targets([OURS], results, max_peak_mb=MAX_PEAK_MB),
    ]


def compared(source: Path, work: Path) -> str:
    """Convert ``source`` anew and say that TensorFlow reads from it what the source holds.

    Raises BenchmarkError if that is not so.
    """
    if importlib.util.find_spec("tensorflow") is None:
        return "Input and output were not compared: tensorflow is not installed."
    say("comparing input and output")
    flags = ["--labelled"] if source.is_dir() else []
    with tempfile.TemporaryDirectory(dir=work, prefix="compared-") as name:
        output = Path(name)
        printed_by(convert_text_command(source, output), task="converting the text")
        stored = printed_by(peer_command("digest_text", output, *flags), task="reading the records")
    return comparison(digest_of(source_texts(source)), TextDigest.from_json(stored))


def comparison(source: TextDigest, stored: TextDigest) -> str:
    """Say that input and output are equal; raises BenchmarkError if they are not."""
    if source != stored:
        raise BenchmarkError(
            f"the records must be those of the input, {source.to_json()} (got {stored.to_json()}); "
            "the times mean nothing until that is mended"
        )
    return (
        f"Input and output hold the same {source.num_texts:,} texts, in any order (sum of hashes "
        f"{source.hex_sum})."
    )
