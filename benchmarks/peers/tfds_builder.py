"""Writes a folder of images with a TensorFlow Datasets builder.

python -m benchmarks.peers.tfds_builder FOLDER OUTPUT
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import tensorflow_datasets as tfds

FOLDER, OUTPUT = (Path(argument) for argument in sys.argv[1:3])


class ImageFolder(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc] # TFDS is untyped here
    """Pictures with their class and file name; the bytes of a file are stored as they are."""

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar[dict[str, str]] = {"1.0.0": "First."}

    def _info(self) -> tfds.core.DatasetInfo:
        classes = sorted(path.name for path in FOLDER.iterdir())
        return tfds.core.DatasetInfo(
            builder=self,
            features=tfds.features.FeaturesDict(
                {
                    "image": tfds.features.Image(),
                    "label": tfds.features.ClassLabel(names=classes),
                    "filename": tfds.features.Text(),
                }
            ),
        )

    def _split_generators(self, dl_manager: object) -> dict[str, Iterator[tuple[str, Any]]]:
        del dl_manager  # nothing is downloaded
        return {"train": self._generate_examples(FOLDER)}

    def _generate_examples(self, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
        for class_folder in sorted(folder.iterdir()):
            for path in sorted(class_folder.iterdir()):
                key = f"{class_folder.name}/{path.name}"
                yield key, {"image": str(path), "label": class_folder.name, "filename": path.name}


if __name__ == "__main__":
    tfds.disable_progress_bar()
    ImageFolder(data_dir=OUTPUT).download_and_prepare()
