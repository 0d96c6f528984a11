"""What all programs that read have in common: their command line, and the clock.

The rate is that of an epoch after its first batch: starting threads and filling buffers are
no part of it. The time to the first batch is told apart, for shuffling may hide work there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

IMAGE_SIZE = (224, 224)


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """What is read and how."""

    path: str
    batch_size: int
    shuffle: bool


def parse_arguments() -> ReadArguments:
    """Read the command line: PATH --batch-size N [--shuffle]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--shuffle", action="store_true")
    arguments = parser.parse_args()
    return ReadArguments(arguments.path, arguments.batch_size, arguments.shuffle)


def report_rate(dataset: Iterable[Any]) -> None:
    """Go through a dataset of (images, labels) batches once and print what was read, as JSON."""
    first_start_s = time.perf_counter()
    batches = iter(dataset)
    images, _ = next(batches)
    first_batch_s = time.perf_counter() - first_start_s
    if images.shape[1:] != (*IMAGE_SIZE, 3):
        raise ValueError(f"images must be {IMAGE_SIZE} with 3 channels (got {images.shape})")
    num_records = 0
    start_s = time.perf_counter()
    for images, _ in batches:
        num_records += images.shape[0]
    time_s = time.perf_counter() - start_s
    result = {"num_records": num_records, "time_s": time_s, "first_batch_s": first_batch_s}
    print(json.dumps(result))
