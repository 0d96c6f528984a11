"""``python -m benchmarks csv``: a CSV file to TFRecord files, in several ways."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.csv_inputs import DEFAULT_NUM_RECORDS, drawn_csv, written_schema
from benchmarks.machine import describe_machine
from benchmarks.measuring import Contender, Results, Spread
from benchmarks.run_options import RunOptions, say, with_run_options
from benchmarks.tables import MB, Bound, Target, number, peak_bytes, target_table, time_table

OURS, OURS_INFERRED, OURS_ONE_SHARD = "ours", "ours-inferred", "ours-one-shard"
PYARROW, PANDAS_LOOP, TFDS = "pyarrow", "pandas-loop", "tfds"
SLOW = (PANDAS_LOOP, TFDS)

MAX_PEAK_MB = 500


@dataclass(frozen=True, slots=True)
class _Promise:
    """One time divided by another, and the side of the limit that it has to be on."""

    above: str
    below: str
    bound: Bound
    limit: float


_PROMISES = (
    _Promise(TFDS, OURS, Bound.AT_LEAST, 40),
    _Promise(TFDS, OURS_INFERRED, Bound.AT_LEAST, 30),
    _Promise(PANDAS_LOOP, OURS, Bound.AT_LEAST, 15),
    _Promise(OURS, PYARROW, Bound.AT_MOST, 5),
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
@click.option(
    "--slow-runs",
    "slow_num_runs",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help=f"Counted runs of {' and '.join(SLOW)}, which take minutes; at most --runs.",
)
@with_run_options
def csv_command(*, num_records: int, slow_num_runs: int, options: RunOptions) -> None:
    """Convert a CSV file of ten mixed columns, in six ways.

    For memory that does not grow with the file: --records 10000000 --only ours.
    """
    say("drawing records, unless they are there from last time")
    data = drawn_csv(num_records, options.work.resolve())
    contenders = csv_contenders(data, written_schema(options.work.resolve()))
    results = run_in_turns(contenders, options, slow=SLOW, slow_num_runs=slow_num_runs)
    click.echo(_report(data, num_records, contenders, results, options))


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
            lambda _output: _peer("pyarrow_csv", data),
        ),
        Contender(
            PANDAS_LOOP,
            "`pandas.read_csv`, then tf.train.Example and TFRecordWriter record by record, as in "
            "TensorFlow's tutorials; one process, one file, no shuffle",
            functools.partial(_peer, "pandas_csv_loop", data),
        ),
        Contender(
            TFDS,
            "a GeneratorBasedBuilder of TensorFlow Datasets over csv.DictReader, with typed "
            "features: shuffled and sharded",
            functools.partial(_peer, "tfds_csv_builder", data),
        ),
    ]
    missing = _missing()
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    return [contender for contender in everything if contender.name not in missing]


def convert_csv_command(
    data: Path, output: Path, *, schema: Path | None = None, flags: Sequence[str] = ()
) -> list[str | Path]:
    """Return the command that converts the file ``data`` to a dataset in ``output``."""
    command: list[str | Path] = [sys.executable, "-m", "tfrec_tools", "convert", data, output]
    command += ["--overwrite", "--quiet", *flags]
    return command if schema is None else [*command, "--schema", schema]


def run_in_turns(
    contenders: Sequence[Contender],
    options: RunOptions,
    *,
    slow: Sequence[str],
    slow_num_runs: int,
) -> Results:
    """Measure the chosen contenders in turns; the ``slow`` ones take part in the first rounds.

    The rounds without them begin with one more that is not counted.
    """
    chosen = [one for one in contenders if not options.only or one.name in options.only]
    fast = [one for one in chosen if one.name not in slow]
    if len(fast) == len(chosen):
        return options.run(contenders)
    num_common = min(options.num_runs, slow_num_runs)
    num_more = options.num_runs - num_common
    results = dataclasses.replace(options, num_runs=num_common).run(chosen)
    if not (fast and num_more):
        return results
    more = dataclasses.replace(options, num_runs=num_more).run(fast)
    return {name: [*runs, *more.get(name, ())] for name, runs in results.items()}


def _peer(module: str, data: Path, *output: Path) -> list[str | Path]:
    return [sys.executable, "-m", f"benchmarks.peers.{module}", data, *output]


def _missing() -> dict[str, str]:
    needs = {PANDAS_LOOP: ("pandas", "tensorflow"), TFDS: ("tensorflow", "tensorflow_datasets")}
    missing = {}
    for contender, packages in needs.items():
        absent = [name for name in packages if importlib.util.find_spec(name) is None]
        if absent:
            missing[contender] = f"not installed: {', '.join(absent)}"
    return missing


def _report(
    data: Path,
    num_records: int,
    contenders: Sequence[Contender],
    results: Results,
    options: RunOptions,
) -> str:
    input_mb = data.stat().st_size / MB
    lines = [
        f"* {one.name}: {one.what}; {_record_us(results, one.name, num_records)} us a record"
        for one in contenders
        if one.name in results
    ]
    parts = [
        f"### Converting a CSV file of {num_records:,} records and 10 columns, {input_mb:,.0f} MB",
        describe_machine(options.work),
        f"Whole processes, in turns, after a run of each that is not counted; {runs_text(results)}.",
        time_table(results, ours=(OURS, OURS_INFERRED)),
        "\n".join(lines),
    ]
    targets = csv_targets(results)
    if targets:
        parts.append(target_table(targets))
    if num_records != DEFAULT_NUM_RECORDS:
        parts.append(f"The promises are made for {DEFAULT_NUM_RECORDS:,} records.")
    return "\n\n".join(parts)


def runs_text(results: Results) -> str:
    """Return how many runs were counted, such as ``5 runs each, 2 of tfds``."""
    most = max(len(runs) for runs in results.values())
    fewer = [f"{len(runs)} of {name}" for name, runs in results.items() if len(runs) < most]
    return ", ".join([f"{most} {'run' if most == 1 else 'runs'} each", *fewer])


def _record_us(results: Results, name: str, num_records: int) -> str:
    return number(_median_s(results, name) / num_records * 1e6)


def _median_s(results: Results, name: str) -> float:
    return Spread.of([run.wall_s for run in results[name]]).median


def csv_targets(results: Results) -> list[Target]:
    """Return the project's promises for CSV files, as far as they were measured."""
    targets = [
        Target(
            what=f"time of {promise.above} ÷ {promise.below}",
            bound=promise.bound,
            limit=promise.limit,
            measured=_median_s(results, promise.above) / _median_s(results, promise.below),
        )
        for promise in _PROMISES
        if promise.above in results and promise.below in results
    ]
    return targets + [
        Target(
            what=f"peak memory of {name}, largest process",
            bound=Bound.AT_MOST,
            limit=MAX_PEAK_MB,
            measured=peak_bytes(results[name]) / MB,
            unit=" MB",
        )
        for name in (OURS, OURS_INFERRED, OURS_ONE_SHARD)
        if name in results
    ]
