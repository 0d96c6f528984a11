"""``python -m benchmarks read``: images per second at 224x224 into training, in five ways."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.image_conversion import convert_command
from benchmarks.inputs import ImageKind, drawn_folder
from benchmarks.machine import describe_machine
from benchmarks.measuring import REPOSITORY, BenchmarkError, Contender, Results, Spread
from benchmarks.run_options import RunOptions, say, with_run_options
from benchmarks.tables import Bound, Target, rate_table, target_table

OURS, OURS_256, OURS_RAW = "ours", "ours-256", "ours-raw"
TF_DATA, KERAS = "tf-data", "keras"

_PROMISES = ((OURS, TF_DATA, 0.95), (OURS, KERAS, 1), (OURS_256, KERAS, 1.8), (OURS_RAW, KERAS, 5))

_IMAGE_OPTIONS = {
    OURS: "",
    OURS_256: ", resize: {shorter_side: 256}",
    OURS_RAW: ", resize: {height: 224, width: 224}, encode: raw",
}
_SCHEMA = """\
features:
  image: {{kind: image, channels: 3{options}}}
  label: {{kind: class_label, target: true}}
"""


@click.command("read")
@click.argument(
    "folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--num-images",
    type=click.IntRange(1),
    default=ImageKind.PHOTOS.default_num_images,
    show_default=True,
    help="How many are drawn.",
)
@click.option("--batch-size", type=click.IntRange(1), default=64, show_default=True)
@click.option("--shuffle/--no-shuffle", default=False, show_default=True, help="For all alike.")
@with_run_options
def read_command(
    folder: Path | None, *, num_images: int, batch_size: int, shuffle: bool, options: RunOptions
) -> None:
    """Read images at 224x224 for training, in five ways.

    FOLDER has one folder of JPEGs per class. Without it, photographs are drawn. Each
    way is one process that goes through all images once; the clock starts after the
    first batch.
    """
    if folder is None:
        say("drawing images, unless they are there from last time")
        folder = drawn_folder(ImageKind.PHOTOS, num_images, options.work)
    flags = ["--batch-size", str(batch_size), *(["--shuffle"] if shuffle else [])]
    contenders = reading_contenders(folder.resolve(), flags, options)
    results = options.run(contenders)
    click.echo(_report(contenders, results, " ".join(flags), options))


def reading_contenders(folder: Path, flags: Sequence[str], options: RunOptions) -> list[Contender]:
    """Convert ``folder`` in three ways and return everything that reads it or its datasets."""
    if options.only:
        wanted = {OURS if name == TF_DATA else name for name in options.only}
    else:
        wanted = set(_IMAGE_OPTIONS)
    datasets = {
        name: _dataset(folder, name, options.work) for name in _IMAGE_OPTIONS if name in wanted
    }
    descriptions = {
        OURS: ("read_ours", "`reader.load`, images stored as they came"),
        OURS_256: ("read_ours", "`reader.load`, converted with `resize: {shorter_side: 256}`"),
        OURS_RAW: ("read_ours", "`reader.load`, converted to raw pixels of 224x224"),
        TF_DATA: ("read_tf_data", "a bare tf.data loop over the same shards as ours"),
        KERAS: ("read_keras", "`keras.utils.image_dataset_from_directory` on the folder"),
    }
    paths = {**datasets, KERAS: folder}
    if OURS in datasets:
        paths[TF_DATA] = datasets[OURS]
    return [
        Contender(name, what, functools.partial(_peer, module, paths[name], flags))
        for name, (module, what) in descriptions.items()
        if name in paths
    ]


def _peer(module: str, path: Path, flags: Sequence[str], output: Path) -> list[str | Path]:
    del output  # nothing is written
    return [sys.executable, "-m", f"benchmarks.peers.{module}", path, *flags]


def _dataset(folder: Path, name: str, work: Path) -> Path:
    """Convert ``folder`` anew, with the present code, and return the dataset."""
    schema, output = work / f"{name}.yaml", work / f"dataset-{name}"
    schema.write_text(_SCHEMA.format(options=_IMAGE_OPTIONS[name]), encoding="utf-8")
    say(f"converting for {name}")
    command = convert_command(folder, output, schema=schema)
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    if done.returncode:
        raise BenchmarkError(f"the dataset for {name} could not be converted:\n{done.stdout}")
    return output


def _report(
    contenders: Sequence[Contender], results: Results, flags: str, options: RunOptions
) -> str:
    epochs = {name: [_epoch(run.printed) for run in runs] for name, runs in results.items()}
    rates = {name: [epoch.rate for epoch in runs] for name, runs in epochs.items()}
    first_batch_s = {name: [epoch.first_batch_s for epoch in runs] for name, runs in epochs.items()}
    how = (
        f"One process each, {options.num_runs} runs each, in turns, after one that is not counted; "
        f"`{flags}`. Rates are those of an epoch after its first batch."
    )
    parts = [
        "### Reading images at 224x224",
        describe_machine(options.work),
        how,
        rate_table(rates, first_batch_s, results, unit="images/s", peers=(TF_DATA, KERAS)),
        "\n".join(f"* {one.name}: {one.what}" for one in contenders if one.name in results),
    ]
    targets = reading_targets(rates)
    if targets:
        parts.append(target_table(targets))
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Epoch:
    """Records per second after the first batch, and the time to the first batch."""

    rate: float
    first_batch_s: float


def _epoch(printed: str) -> _Epoch:
    """Return what a program that reads has printed; its last line is JSON."""
    result = json.loads(printed.splitlines()[-1])
    return _Epoch(result["num_records"] / result["time_s"], result["first_batch_s"])


def reading_targets(rates: Mapping[str, Sequence[float]]) -> list[Target]:
    """Return the project's promises for reading, as far as they were measured."""
    medians = {name: Spread.of(values).median for name, values in rates.items()}
    return [
        Target(
            what=f"rate of {ours} ÷ {peer}",
            bound=Bound.AT_LEAST,
            limit=limit,
            measured=medians[ours] / medians[peer],
        )
        for ours, peer, limit in _PROMISES
        if ours in medians and peer in medians
    ]
