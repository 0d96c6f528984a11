"""Reads the CSV file itself with TensorFlow's make_csv_dataset."""

from __future__ import annotations

import tensorflow as tf

from benchmarks.peers.csv_columns import LABEL
from benchmarks.peers.csv_epoch import CsvReadArguments, parse_arguments, report_rate


def pipeline(arguments: CsvReadArguments) -> tf.data.Dataset:
    """Return batches of (others, labels); the labels are texts, as in the file."""
    return tf.data.experimental.make_csv_dataset(
        arguments.path,
        batch_size=arguments.batch_size,
        label_name=LABEL,
        select_columns=None if arguments.has_texts else list(arguments.columns),
        num_epochs=1,
        shuffle=False,
    )


if __name__ == "__main__":
    arguments = parse_arguments()
    report_rate(pipeline(arguments), arguments.columns)
