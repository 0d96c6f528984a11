"""Reads the same shards with a bare tf.data pipeline, written by hand with the same operations."""

from __future__ import annotations

import tensorflow as tf

from benchmarks.peers.epoch_timing import IMAGE_SIZE, ReadArguments, parse_arguments, report_rate

SHUFFLE_NUM_RECORDS = 10_000  # all of the benchmark's, as in the reader of ours

FEATURES = {
    "image": tf.io.FixedLenFeature((), tf.string),
    "label": tf.io.FixedLenFeature((), tf.int64),
}


def decode(payload: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the picture, uint8 [height, width, 3], and the label of a record."""
    record = tf.io.parse_single_example(payload, FEATURES)
    image = tf.io.decode_jpeg(record["image"], channels=3)
    image = tf.image.resize(image, IMAGE_SIZE)
    return tf.cast(tf.round(image), tf.uint8), record["label"]


def pipeline(arguments: ReadArguments) -> tf.data.Dataset:
    """Return batches of (images, labels) from all shards of the split train."""
    shards = sorted(tf.io.gfile.glob(f"{arguments.path}/train-*.tfrecord"))
    dataset = tf.data.Dataset.from_tensor_slices(shards)
    if arguments.shuffle:
        dataset = dataset.shuffle(len(shards))
    dataset = dataset.interleave(
        tf.data.TFRecordDataset,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=not arguments.shuffle,
    )
    if arguments.shuffle:
        dataset = dataset.shuffle(SHUFFLE_NUM_RECORDS)
    dataset = dataset.map(
        decode, num_parallel_calls=tf.data.AUTOTUNE, deterministic=not arguments.shuffle
    )
    return dataset.batch(arguments.batch_size).prefetch(tf.data.AUTOTUNE)


if __name__ == "__main__":
    arguments = parse_arguments()
    report_rate(pipeline(arguments))
