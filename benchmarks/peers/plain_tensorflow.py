"""Writes a folder of images as one TFRecord file, as TensorFlow's tutorials do.

python -m benchmarks.peers.plain_tensorflow FOLDER OUTPUT
"""

from __future__ import annotations

import sys
from pathlib import Path

import tensorflow as tf


def example_of(path: Path, label: int) -> tf.train.Example:
    """Return an image file as an Example: its bytes, class, name and size."""
    content = path.read_bytes()
    height, width, _ = tf.io.decode_jpeg(content).shape
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[content])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
        "filename": tf.train.Feature(bytes_list=tf.train.BytesList(value=[path.name.encode()])),
        "image_height": tf.train.Feature(int64_list=tf.train.Int64List(value=[height])),
        "image_width": tf.train.Feature(int64_list=tf.train.Int64List(value=[width])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature))


def main(folder: Path, output: Path) -> None:
    """Convert ``folder``, which has one folder per class."""
    with tf.io.TFRecordWriter(str(output / "train.tfrecord")) as writer:
        for label, class_folder in enumerate(sorted(folder.iterdir())):
            for path in sorted(class_folder.iterdir()):
                writer.write(example_of(path, label).SerializeToString())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
