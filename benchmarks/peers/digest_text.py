"""Prints how many records TFRecord files hold and a digest of them, whatever their order.

python -m benchmarks.peers.digest_text FOLDER [--labelled]

TensorFlow reads them, not the project. What is printed is the JSON of a ``TextDigest``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from benchmarks.peers.text_columns import CLASS_NAMES, LABEL, TEXT
from benchmarks.text_digest import digest_of, labelled

BATCH_SIZE = 4096


def stored_texts(folder: Path, *, has_labels: bool) -> Iterator[bytes]:
    """Yield the text of every record, with its class in front if they have one."""
    spec = {TEXT: tf.io.FixedLenFeature((), tf.string)}
    if has_labels:
        spec[LABEL] = tf.io.FixedLenFeature((), tf.int64)
    paths = sorted(str(path) for path in folder.rglob("*.tfrecord*") if path.suffix != ".idx")
    batches = tf.data.TFRecordDataset(paths).batch(BATCH_SIZE)
    batches = batches.map(lambda payloads: tf.io.parse_example(payloads, spec))
    for batch in batches.as_numpy_iterator():
        if has_labels:
            pairs = zip(batch[LABEL], batch[TEXT], strict=True)
            yield from (labelled(CLASS_NAMES[label], text) for label, text in pairs)
        else:
            yield from batch[TEXT]


if __name__ == "__main__":
    texts = stored_texts(Path(sys.argv[1]), has_labels="--labelled" in sys.argv[2:])
    print(digest_of(texts).to_json())
