"""``python -m benchmarks csv-read``: records of a CSV file per second into training."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.csv_conversion import convert_csv_command
from benchmarks.csv_inputs import DEFAULT_NUM_RECORDS, drawn_csv, written_schema
from benchmarks.machine import describe_machine
from benchmarks.measuring import Contender, Results
from benchmarks.programs import peer_command, printed_by
from benchmarks.run_options import RunOptions, say, with_run_options
from benchmarks.tables import rate_table, runs_text

OURS, PARSE_EACH, PARSE_BATCH, RAW = "ours", "parse-each", "parse-batch", "raw"
MAKE_CSV_DATASET = "make-csv-dataset"
_OF_DATASET = (OURS, PARSE_EACH, PARSE_BATCH, RAW)


@click.command("csv-read")
@click.option(
    "--records",
    "num_records",
    type=click.IntRange(1),
    default=DEFAULT_NUM_RECORDS,
    show_default=True,
    help="How many are drawn.",
)
@click.option("--batch-size", type=click.IntRange(1), default=256, show_default=True)
@click.option(
    "--texts/--no-texts",
    default=False,
    show_default=True,
    help="Read the three columns of text too; by default what `reader.load` gives by default: "
    "numbers and the label. For all alike.",
)
@with_run_options
def csv_read_command(
    *, num_records: int, batch_size: int, texts: bool, options: RunOptions
) -> None:
    """Read the records of a CSV file for training, in five ways.

    Each way is one process that goes through all records once, in order; the clock
    starts after the first batch.
    """
    work = options.work.resolve()
    say("drawing records, unless they are there from last time")
    data = drawn_csv(num_records, work)
    dataset = None
    if not options.only or set(options.only) & set(_OF_DATASET):
        dataset = _dataset(data, written_schema(work), work)
    flags = ["--batch-size", str(batch_size), *(["--texts"] if texts else [])]
    contenders = csv_reading_contenders(data, dataset, flags)
    results = options.run(contenders)
    click.echo(_report(num_records, contenders, results, " ".join(flags), options))


def csv_reading_contenders(
    data: Path, dataset: Path | None, flags: Sequence[str]
) -> list[Contender]:
    """Return everything that reads the file, or the dataset that it was converted to."""
    by_hand = "a bare tf.data loop over the same shards as ours: "
    descriptions = {
        OURS: ("`reader.load`", "read_csv_ours", ()),
        PARSE_EACH: (
            f"{by_hand}`tf.io.parse_single_example`, then batched",
            "read_csv_records",
            ("--how", "each"),
        ),
        PARSE_BATCH: (
            f"{by_hand}batched, then `tf.io.parse_example`",
            "read_csv_records",
            ("--how", "batch"),
        ),
        RAW: (f"{by_hand}batched and not parsed", "read_csv_records", ("--how", "raw")),
        MAKE_CSV_DATASET: (
            "`tf.data.experimental.make_csv_dataset` on the CSV file",
            "read_csv_file",
            (),
        ),
    }
    paths = {name: data if name == MAKE_CSV_DATASET else dataset for name in descriptions}
    return [
        Contender(name, what, functools.partial(_peer, module, path, [*flags, *how]))
        for name, (what, module, how) in descriptions.items()
        if (path := paths[name]) is not None
    ]


def _peer(module: str, path: Path, flags: Sequence[str], output: Path) -> list[str | Path]:
    del output  # nothing is written
    return peer_command(module, path, *flags)


def _dataset(data: Path, schema: Path, work: Path) -> Path:
    """Convert ``data`` anew, with the present code, and return the dataset."""
    output = work / "dataset-csv"
    say("converting")
    printed_by(convert_csv_command(data, output, schema=schema), task="converting the CSV file")
    return output


def _report(
    num_records: int,
    contenders: Sequence[Contender],
    results: Results,
    flags: str,
    options: RunOptions,
) -> str:
    epochs = {name: [_epoch(run.printed) for run in runs] for name, runs in results.items()}
    rates = {name: [epoch.rate for epoch in runs] for name, runs in epochs.items()}
    first_batch_s = {name: [epoch.first_batch_s for epoch in runs] for name, runs in epochs.items()}
    how = (
        f"One process each, in turns, after a run of each that is not counted; "
        f"{runs_text(results)}; `{flags}`. Rates are those of an epoch after its first batch."
    )
    peers = (PARSE_EACH, PARSE_BATCH, RAW, MAKE_CSV_DATASET)
    return "\n\n".join(
        [
            f"### Reading {num_records:,} records of a CSV file",
            describe_machine(options.work),
            how,
            rate_table(rates, first_batch_s, results, unit="records/s", peers=peers),
            "\n".join(f"* {one.name}: {one.what}" for one in contenders if one.name in results),
        ]
    )


@dataclass(frozen=True, slots=True)
class _Epoch:
    """Records per second after the first batch, and the time to the first batch."""

    rate: float
    first_batch_s: float


def _epoch(printed: str) -> _Epoch:
    """Return what a program that reads has printed; its last line is JSON."""
    result = json.loads(printed.splitlines()[-1])
    return _Epoch(result["num_records"] / result["time_s"], result["first_batch_s"])
