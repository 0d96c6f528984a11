"""``python -m benchmarks csv``: a CSV file to TFRecord files, in several ways."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.conversion_report import conversion_report
from benchmarks.csv_inputs import DEFAULT_NUM_RECORDS, drawn_csv, written_schema
from benchmarks.measuring import Contender, Results
from benchmarks.programs import convert_command, peer_command, with_packages
from benchmarks.promises import Promise, memory_targets, time_targets
from benchmarks.run_options import RunOptions, say, with_run_options, with_slow_runs_option
from benchmarks.tables import MB, Bound, Target

OURS, OURS_INFERRED, OURS_ONE_SHARD = "ours", "ours-inferred", "ours-one-shard"
PYARROW, PANDAS_LOOP, TFDS = "pyarrow", "pandas-loop", "tfds"
SLOW = (PANDAS_LOOP, TFDS)

MAX_PEAK_MB = 500

_NEEDS = {PANDAS_LOOP: ("pandas", "tensorflow"), TFDS: ("tensorflow", "tensorflow_datasets")}

_PROMISES = (
    Promise(TFDS, OURS, Bound.AT_LEAST, 40),
    Promise(TFDS, OURS_INFERRED, Bound.AT_LEAST, 30),
    Promise(PANDAS_LOOP, OURS, Bound.AT_LEAST, 15),
    Promise(OURS, PYARROW, Bound.AT_MOST, 5),
)


@click.command("csv")
@click.option(
    "--records",
    "num_records",
    type=click.IntRange(1),
    default=DEFAULT_NUM_RECORDS,
    show_default=True,
    help="How many are drawn.",
)
@with_slow_runs_option(SLOW)
@with_run_options
def csv_command(*, num_records: int, slow_num_runs: int, options: RunOptions) -> None:
    """Convert a CSV file of ten mixed columns, in six ways.

    For memory that does not grow with the file: --records 10000000 --only ours.
    """
    say("drawing records, unless they are there from last time")
    data = drawn_csv(num_records, options.work.resolve())
    contenders = csv_contenders(data, written_schema(options.work.resolve()))
    results = options.run(contenders, slow=SLOW, slow_num_runs=slow_num_runs)
    input_mb = data.stat().st_size / MB
    click.echo(
        conversion_report(
            f"Converting a CSV file of {num_records:,} records and 10 columns, {input_mb:,.0f} MB",
            contenders,
            results,
            ours=(OURS, OURS_INFERRED),
            targets=csv_targets(results),
            num_records=num_records,
            num_promised=DEFAULT_NUM_RECORDS,
            work=options.work,
        )
    )


def csv_contenders(data: Path, schema: Path) -> list[Contender]:
    """Return all ways that this machine has the packages for; say which are left out."""
    given = functools.partial(convert_csv_command, data, schema=schema)
    everything = [
        Contender(OURS, "`tfrec-convert` with a schema", given),
        Contender(
            OURS_INFERRED,
            "`tfrec-convert`, which finds the types of the columns itself",
            functools.partial(convert_csv_command, data),
        ),
        Contender(
            OURS_ONE_SHARD,
            "`tfrec-convert` with a schema and `--num-shards 1`",
            functools.partial(given, flags=("--num-shards", "1")),
        ),
        Contender(
            PYARROW,
            "`pyarrow.csv.read_csv` alone: the least that parsing costs; nothing is written",
            lambda _output: peer_command("pyarrow_csv", data),
        ),
        Contender(
            PANDAS_LOOP,
            "`pandas.read_csv`, then tf.train.Example and TFRecordWriter record by record, as in "
            "TensorFlow's tutorials; one process, one file, no shuffle",
            functools.partial(peer_command, "pandas_csv_loop", data),
        ),
        Contender(
            TFDS,
            "a GeneratorBasedBuilder of TensorFlow Datasets over csv.DictReader, with typed "
            "features: shuffled and sharded",
            functools.partial(peer_command, "tfds_csv_builder", data),
        ),
    ]
    return with_packages(everything, _NEEDS)


def convert_csv_command(
    data: Path, output: Path, *, schema: Path | None = None, flags: Sequence[str] = ()
) -> list[str | Path]:
    """Return the command that converts the file ``data`` to a dataset in ``output``."""
    given: tuple[str | Path, ...] = () if schema is None else ("--schema", schema)
    return convert_command(data, output, *flags, *given)


def csv_targets(results: Results) -> list[Target]:
    """Return the project's promises for CSV files, as far as they were measured."""
    names = (OURS, OURS_INFERRED, OURS_ONE_SHARD)
    return [
        *time_targets(_PROMISES, results),
        *memory_targets(names, results, max_peak_mb=MAX_PEAK_MB),
    ]
