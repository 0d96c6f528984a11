"""Reads the TFRecord files with bare tf.data pipelines, written by hand.

python -m benchmarks.peers.read_csv_records FOLDER --batch-size N [--texts] --how HOW, where HOW is

* each: every record parsed, then batched, as most tutorials do;
* batch: batched, then parsed;
* raw: batched and not parsed, the least that reading costs.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from benchmarks.peers.csv_columns import DECIMALS, LABEL, TEXTS
from benchmarks.peers.csv_epoch import CsvReadArguments, parse_arguments, report_rate


def spec(columns: tuple[str, ...]) -> dict[str, tf.io.FixedLenFeature]:
    """Return what TensorFlow needs to parse these columns."""
    types = dict.fromkeys(DECIMALS, tf.float32) | dict.fromkeys(TEXTS, tf.string)
    return {name: tf.io.FixedLenFeature((), types.get(name, tf.int64)) for name in columns}


def pipeline(arguments: CsvReadArguments) -> tf.data.Dataset:
    """Return batches of (others, labels), or of serialized records, from all shards."""
    features = spec(arguments.columns)

    def pair(record: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        label = record.pop(LABEL)
        return record, label

    def parse_each(payload: tf.Tensor) -> tuple[dict[str, Any], Any]:
        return pair(tf.io.parse_single_example(payload, features))

    def parse_batch(payloads: tf.Tensor) -> tuple[dict[str, Any], Any]:
        return pair(tf.io.parse_example(payloads, features))

    records = tf.data.TFRecordDataset(sorted(tf.io.gfile.glob(f"{arguments.path}/train*.tfrecord")))
    if arguments.how == "each":
        records = records.map(parse_each, num_parallel_calls=tf.data.AUTOTUNE)
    batches = records.batch(arguments.batch_size)
    if arguments.how == "batch":
        batches = batches.map(parse_batch, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE)


if __name__ == "__main__":
    arguments = parse_arguments()
    report_rate(pipeline(arguments), () if arguments.how == "raw" else arguments.columns)
