"""Fixtures that draw the inputs: tests need no files but their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from tfrec_tools import example_codec, shard_files
from tfrec_tools.manifest_files import load_manifest
from tfrec_tools.sources import csv_scanning, csv_table, text_ranges
from tfrec_tools.storage import open_storage

DrawImage = Callable[..., Path]
DrawFolder = Callable[..., Path]
FileHashes = Callable[[Path], dict[str, str]]


@pytest.fixture
def draw_image() -> DrawImage:
    """Draw one picture whose pixels depend on ``seed`` alone."""

    def draw(
        path: Path, seed: int = 0, size: tuple[int, int] = (24, 32), mode: str = "RGB"
    ) -> Path:
        generator = np.random.default_rng(seed)
        shape = size if mode == "L" else (*size, len(mode))
        coarse = generator.integers(0, 256, shape, dtype=np.uint8)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(coarse).save(path)
        return path

    return draw


@pytest.fixture
def draw_folder(draw_image: DrawImage) -> DrawFolder:
    """Draw a folder of pictures given as relative paths, or ``{class: number}``."""

    def draw(root: Path, files: dict[str, int] | list[str]) -> Path:
        if isinstance(files, dict):
            files = [f"{name}/{i:03d}.jpg" for name, n in files.items() for i in range(n)]
        for seed, name in enumerate(files):
            draw_image(root / name, seed)
        return root

    return draw


@pytest.fixture
def file_hashes() -> FileHashes:
    """Return a digest per file below a folder, by relative path."""

    def hashes(folder: Path) -> dict[str, str]:
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }

    return hashes


ReadDataset = Callable[..., "list[dict[str, list[object]]]"]
SmallBlocks = Callable[[int], None]


@pytest.fixture
def read_dataset() -> ReadDataset:
    """Return all records of a split in order, decoded by our own codec: lists by feature.

    A feature whose key a record lacks has an empty list.
    """

    def read(out: Path | str, split: str = "train") -> list[dict[str, list[object]]]:
        storage = open_storage(str(out))
        found = []
        for shard in load_manifest(str(out)).split(split).shards:
            payloads = shard_files.read_payloads(storage, shard.name.encode())
            columns = example_codec.decode(pa.array(payloads, pa.large_binary()))
            lists = {name: column.to_pylist() for name, column in columns.items()}
            names = [column.name for column in load_manifest(str(out)).schema.stored]
            found += [
                {name: (lists[name][i] if name in lists else None) or [] for name in names}
                for i in range(len(payloads))
            ]
        return found

    return read


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> SmallBlocks:
    """Make blocks of text files so small that a few lines take several."""

    def change(num_bytes: int) -> None:
        for module in (csv_scanning, text_ranges, csv_table):
            monkeypatch.setattr(module, "BLOCK_BYTES", num_bytes)

    return change
