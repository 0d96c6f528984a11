"""``python -m benchmarks images``: a folder of images to TFRecord files, in five ways."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.inputs import ImageKind, drawn_folder
from benchmarks.machine import describe_machine
from benchmarks.measuring import Contender, Results, Spread, folder_bytes, has_program
from benchmarks.run_options import RunOptions, say, with_run_options
from benchmarks.tables import MB, Bound, Target, peak_bytes, target_table, time_table

OURS_HEADER, OURS_DECODE = "ours-header", "ours-decode"
TAR, PLAIN_TENSORFLOW, TFDS = "tar", "plain-tensorflow", "tfds"

MAX_PEAK_MB = 200


@dataclass(frozen=True, slots=True)
class _Promise:
    """One time divided by another, and the side of the limit that it has to be on."""

    above: str
    below: str
    bound: Bound
    limit: float


_PROMISES = {
    ImageKind.PHOTOS: (
        _Promise(OURS_HEADER, TAR, Bound.AT_MOST, 2),
        _Promise(TFDS, OURS_HEADER, Bound.AT_LEAST, 8),
        _Promise(TFDS, OURS_DECODE, Bound.AT_LEAST, 3),
        _Promise(PLAIN_TENSORFLOW, OURS_DECODE, Bound.AT_LEAST, 5),
    ),
    ImageKind.SMALL: (
        _Promise(OURS_HEADER, TAR, Bound.AT_MOST, 5),
        _Promise(TFDS, OURS_HEADER, Bound.AT_LEAST, 4),
        _Promise(TFDS, OURS_DECODE, Bound.AT_LEAST, 3),
    ),
}


@click.command("images")
@click.argument(
    "folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--small", is_flag=True, help="Draw images of 32x32 and 1 KB, not photographs.")
@click.option(
    "--num-images",
    type=click.IntRange(1),
    help="How many are drawn. [default: 6000, or 50000 small ones]",
)
@with_run_options
def images_command(
    folder: Path | None, *, small: bool, num_images: int | None, options: RunOptions
) -> None:
    """Convert a folder of images, in five ways.

    FOLDER has one folder of JPEGs per class. Without it, images are drawn: the kinds
    that the project's targets are set for.
    """
    kind = None
    if folder is None:
        kind = ImageKind.SMALL if small else ImageKind.PHOTOS
        say("drawing images, unless they are there from last time")
        folder = drawn_folder(kind, num_images or kind.default_num_images, options.work)
    contenders = conversion_contenders(folder.resolve())
    results = options.run(contenders)
    click.echo(_report(folder, contenders, results, kind, options))


def conversion_contenders(folder: Path) -> list[Contender]:
    """Return all ways that this machine has the programs for; say which are left out."""
    everything = [
        Contender(
            OURS_HEADER,
            "`tfrec-convert --check header`",
            functools.partial(convert_command, folder, check="header"),
        ),
        Contender(
            OURS_DECODE,
            "`tfrec-convert`, which decodes every image once",
            functools.partial(convert_command, folder, check="decode"),
        ),
        Contender(
            TAR,
            "`tar cf` of the folder: the least that reading and writing the bytes costs",
            lambda output: ["tar", "cf", output / "images.tar", "-C", folder, "."],
        ),
        Contender(
            PLAIN_TENSORFLOW,
            "a script as in TensorFlow's tutorials: decode_jpeg for the size, "
            "tf.train.Example, TFRecordWriter; one process, one file, no shuffle",
            functools.partial(_peer, "plain_tensorflow", folder),
        ),
        Contender(
            TFDS,
            "a GeneratorBasedBuilder of TensorFlow Datasets: shuffled and sharded, nothing checked",
            functools.partial(_peer, "tfds_builder", folder),
        ),
    ]
    missing = _missing()
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    return [contender for contender in everything if contender.name not in missing]


def convert_command(
    folder: Path, output: Path, *, check: str = "decode", schema: Path | None = None
) -> list[str | Path]:
    """Return the command that converts ``folder`` to a dataset in ``output``."""
    flags = ["--check", check, "--overwrite", "--quiet"]
    if schema is not None:
        flags += ["--schema", str(schema)]
    return [sys.executable, "-m", "tfrec_tools", "convert", folder, output, *flags]


def _peer(module: str, folder: Path, output: Path) -> list[str | Path]:
    return [sys.executable, "-m", f"benchmarks.peers.{module}", folder, output]


def _missing() -> dict[str, str]:
    missing = {}
    if not has_program("tar"):
        missing[TAR] = "there is no program tar"
    if importlib.util.find_spec("tensorflow") is None:
        missing[PLAIN_TENSORFLOW] = "tensorflow is not installed"
    if importlib.util.find_spec("tensorflow_datasets") is None:
        missing[TFDS] = "tensorflow-datasets is not installed; pip install 'tfrec-tools[bench]'"
    return missing


def _report(
    folder: Path,
    contenders: Sequence[Contender],
    results: Results,
    kind: ImageKind | None,
    options: RunOptions,
) -> str:
    num_images = sum(path.is_file() for path in folder.rglob("*"))
    input_mb = folder_bytes(folder) / MB
    image_kb = input_mb * 1_000 / num_images
    parts = [
        f"### Converting {num_images:,} images of {image_kb:.1f} KB, {input_mb:,.0f} MB",
        describe_machine(options.work),
        f"Whole processes, {options.num_runs} runs each, in turns, after one that is not counted.",
        time_table(results, ours=(OURS_HEADER, OURS_DECODE)),
        "\n".join(f"* {one.name}: {one.what}" for one in contenders if one.name in results),
    ]
    targets = conversion_targets(kind, results) if kind else []
    if targets:
        parts.append(target_table(targets))
    if kind and num_images != kind.default_num_images:
        parts.append(f"The promises are made for {kind.default_num_images:,} images.")
    return "\n\n".join(parts)


def conversion_targets(kind: ImageKind, results: Results) -> list[Target]:
    """Return the project's promises for drawn images, as far as they were measured."""
    times_s = {
        name: Spread.of([run.wall_s for run in runs]).median for name, runs in results.items()
    }
    targets = [
        Target(
            what=f"time of {promise.above} ÷ {promise.below}",
            bound=promise.bound,
            limit=promise.limit,
            measured=times_s[promise.above] / times_s[promise.below],
        )
        for promise in _PROMISES[kind]
        if promise.above in times_s and promise.below in times_s
    ]
    return targets + [
        Target(
            what=f"peak memory of {name}, largest process",
            bound=Bound.AT_MOST,
            limit=MAX_PEAK_MB,
            measured=peak_bytes(results[name]) / MB,
            unit=" MB",
        )
        for name in (OURS_HEADER, OURS_DECODE)
        if name in results
    ]
