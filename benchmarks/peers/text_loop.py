"""Writes the lines of a file as one TFRecord file, in a loop as in TensorFlow's tutorials.

python -m benchmarks.peers.text_loop FILE OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import tensorflow as tf

from benchmarks.peers.text_columns import TEXT


def example_of(line: bytes) -> tf.train.Example:
    """Return a line as an Example."""
    feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[line]))
    return tf.train.Example(features=tf.train.Features(feature={TEXT: feature}))


def main(path: Path, output: Path) -> None:
    """Convert the file ``path``, in its order."""
    with path.open("rb") as file, tf.io.TFRecordWriter(str(output / "train.tfrecord")) as writer:
        for line in file:
            writer.write(example_of(line.removesuffix(b"\n")).SerializeToString())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
