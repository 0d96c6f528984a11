"""The ways to convert text that are compared: ours, and what others do on the same input."""

from __future__ import annotations

import functools
from pathlib import Path

from benchmarks.measuring import Contender
from benchmarks.programs import convert_command, peer_command, with_packages
from benchmarks.text_inputs import TextKind

OURS, LOOP, TFDS = "ours", "loop", "tfds"

_NEEDS = {LOOP: ("tensorflow",), TFDS: ("tensorflow", "tensorflow_datasets")}
_LOOP_WHAT = (
    "the lines of the file, tf.train.Example and TFRecordWriter one by one, as in TensorFlow's "
    "tutorials; one process, one file, no shuffle"
)
_TFDS_WHAT = {
    TextKind.LINES: "a GeneratorBasedBuilder of TensorFlow Datasets with every line as a Text: "
    "shuffled and sharded",
    TextKind.DOCUMENTS: "a GeneratorBasedBuilder of TensorFlow Datasets that reads every file: "
    "Text and ClassLabel, shuffled and sharded",
}


def text_contenders(kind: TextKind, source: Path) -> list[Contender]:
    """Return all ways that this machine has the packages for; say which are left out."""
    ours = Contender(
        OURS, "`tfrec-convert --kind text`", functools.partial(convert_text_command, source)
    )
    loop = Contender(LOOP, _LOOP_WHAT, functools.partial(peer_command, "text_loop", source))
    tfds = Contender(
        TFDS, _TFDS_WHAT[kind], functools.partial(peer_command, "tfds_text_builders", source)
    )
    everything = [ours, loop, tfds] if kind is TextKind.LINES else [ours, tfds]
    return with_packages(everything, _NEEDS)


def convert_text_command(source: Path, output: Path) -> list[str | Path]:
    """Return the command that converts a file of lines or a folder of documents."""
    return convert_command(source, output, "--kind", "text")
