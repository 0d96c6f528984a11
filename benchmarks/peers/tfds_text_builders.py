"""Writes lines of a file, or documents in class folders, with a TensorFlow Datasets builder.

python -m benchmarks.peers.tfds_text_builders SOURCE OUTPUT
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import tensorflow_datasets as tfds

from benchmarks.peers.text_columns import CLASS_NAMES, LABEL, TEXT

SOURCE, OUTPUT = (Path(argument) for argument in sys.argv[1:3])


class TextLines(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc] # TFDS is untyped here
    """One record per line of a file."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First."}

    def _info(self) -> tfds.core.DatasetInfo:
        features = tfds.features.FeaturesDict({TEXT: tfds.features.Text()})
        return tfds.core.DatasetInfo(builder=self, features=features)

    def _split_generators(self, dl_manager: object) -> dict[str, Iterator[tuple[int, Any]]]:
        del dl_manager  # nothing is downloaded
        return {"train": self._generate_examples(SOURCE)}

    def _generate_examples(self, path: Path) -> Iterator[tuple[int, dict[str, str]]]:
        with path.open(encoding="utf-8", newline="\n") as file:
            for index, line in enumerate(file):
                yield index, {TEXT: line.removesuffix("\n")}


class Documents(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc] # TFDS is untyped here
    """One record per file, with the class that its folder names."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First."}

    def _info(self) -> tfds.core.DatasetInfo:
        label = tfds.features.ClassLabel(names=CLASS_NAMES)
        features = tfds.features.FeaturesDict({TEXT: tfds.features.Text(), LABEL: label})
        return tfds.core.DatasetInfo(builder=self, features=features)

    def _split_generators(self, dl_manager: object) -> dict[str, Iterator[tuple[str, Any]]]:
        del dl_manager  # nothing is downloaded
        return {"train": self._generate_examples(SOURCE)}

    def _generate_examples(self, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
        for class_folder in sorted(folder.iterdir()):
            for path in sorted(class_folder.iterdir()):
                text = path.read_bytes().decode()
                yield f"{class_folder.name}/{path.name}", {TEXT: text, LABEL: class_folder.name}


if __name__ == "__main__":
    tfds.disable_progress_bar()
    builder = Documents if SOURCE.is_dir() else TextLines
    builder(data_dir=OUTPUT).download_and_prepare()
