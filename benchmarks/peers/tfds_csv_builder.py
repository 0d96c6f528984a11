"""Writes a CSV file with a TensorFlow Datasets builder.

python -m benchmarks.peers.tfds_csv_builder FILE OUTPUT
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import tensorflow as tf
import tensorflow_datasets as tfds

from benchmarks.peers.csv_columns import CLASS_NAMES, DECIMALS, INTEGERS, LABEL, TEXTS

FILE, OUTPUT = (Path(argument) for argument in sys.argv[1:3])


class CsvRecords(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc] # TFDS is untyped here
    """One record per line of the file, every column with its type."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First."}

    def _info(self) -> tfds.core.DatasetInfo:
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(
                {
                    **dict.fromkeys(INTEGERS, tf.int64),
                    **dict.fromkeys(DECIMALS, tf.float32),
                    **{name: tfds.features.Text() for name in TEXTS},
                    LABEL: tfds.features.ClassLabel(names=CLASS_NAMES),
                }
            ),
        )

    def _split_generators(self, dl_manager: object) -> dict[str, Iterator[tuple[int, Any]]]:
        del dl_manager  # nothing is downloaded
        return {"train": self._generate_examples(FILE)}

    def _generate_examples(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        with path.open(encoding="utf-8", newline="") as file:
            for record in csv.DictReader(file):
                values: dict[str, Any] = {name: int(record[name]) for name in INTEGERS}
                values |= {name: float(record[name]) for name in DECIMALS}
                values |= {name: record[name] for name in (*TEXTS, LABEL)}
                yield values["id"], values


if __name__ == "__main__":
    tfds.disable_progress_bar()
    CsvRecords(data_dir=OUTPUT).download_and_prepare()
