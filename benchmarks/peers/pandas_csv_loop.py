"""Writes a CSV file as one TFRecord file, with pandas and a loop as in TensorFlow's tutorials.

python -m benchmarks.peers.pandas_csv_loop FILE OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import tensorflow as tf

from benchmarks.peers.csv_columns import CLASS_NAMES, DECIMALS, INTEGERS, LABEL, TEXTS

LABEL_INDICES = {name: index for index, name in enumerate(CLASS_NAMES)}


def int64_feature(value: int) -> tf.train.Feature:
    """Return an integer as a Feature."""
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def float_feature(value: float) -> tf.train.Feature:
    """Return a number as a Feature."""
    return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))


def bytes_feature(value: str) -> tf.train.Feature:
    """Return a text as a Feature."""
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode()]))


def example_of(record: Any) -> tf.train.Example:
    """Return a record, a named tuple, as an Example."""
    feature = {name: int64_feature(getattr(record, name)) for name in INTEGERS}
    feature |= {name: float_feature(getattr(record, name)) for name in DECIMALS}
    feature |= {name: bytes_feature(getattr(record, name)) for name in TEXTS}
    feature[LABEL] = int64_feature(LABEL_INDICES[getattr(record, LABEL)])
    return tf.train.Example(features=tf.train.Features(feature=feature))


def main(path: Path, output: Path) -> None:
    """Convert the file ``path``, in its order."""
    frame = pd.read_csv(path)
    with tf.io.TFRecordWriter(str(output / "train.tfrecord")) as writer:
        for record in frame.itertuples(index=False):
            writer.write(example_of(record).SerializeToString())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
