"""What all programs that read records of a CSV file have in common: command line and clock.

The rate is that of an epoch after its first batch: starting threads and filling buffers are
no part of it. The time to the first batch is told apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers.csv_columns import DECIMALS, HEADER, INTEGERS, LABEL


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvReadArguments:
    """What is read; ``has_texts``: all columns, or only numbers and the label.

    ``how`` is for programs that can do it in several ways.
    """

    path: str
    batch_size: int
    has_texts: bool
    how: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns to read, in the file's order."""
        numbers = (*INTEGERS, *DECIMALS, LABEL)
        return tuple(name for name in HEADER if self.has_texts or name in numbers)


def parse_arguments() -> CsvReadArguments:
    """Read the command line: PATH --batch-size N [--texts] [--how HOW]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--how", default="")
    arguments = parser.parse_args()
    return CsvReadArguments(
        path=arguments.path,
        batch_size=arguments.batch_size,
        has_texts=arguments.texts,
        how=arguments.how,
    )


def report_rate(dataset: Iterable[Any], columns: tuple[str, ...]) -> None:
    """Go through a dataset of batches once and print what was read, as JSON.

    A batch is a pair of a dict of the other ``columns`` and the labels, or, with no columns,
    a vector of serialized records. Raises ValueError for a batch with other columns.
    """
    first_start_s = time.perf_counter()
    batches = iter(dataset)
    first = next(batches)
    first_batch_s = time.perf_counter() - first_start_s
    if columns and {*first[0], LABEL} != set(columns):
        raise ValueError(f"a batch must have the columns {columns} (got {[*first[0], LABEL]})")
    num_records = 0
    start_s = time.perf_counter()
    for batch in batches:
        counted = batch[1] if columns else batch
        num_records += counted.shape[0]
    time_s = time.perf_counter() - start_s
    result = {"num_records": num_records, "time_s": time_s, "first_batch_s": first_batch_s}
    print(json.dumps(result))
