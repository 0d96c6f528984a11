"""What had to be learnt from the input before planning: files and bytes per folder.

A survey is counted per listed batch and merged in any order with the same outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tfrec_tools import path_globs, placement
from tfrec_tools.errors import RequestError
from tfrec_tools.records import MAX_LISTED_FAULTS, ReportEntry, keys_of, path_text
from tfrec_tools.request import Request

NO_GLOB = -1
"""Index of the split of files that no ``--split`` pattern decides on."""


class FileGroup(NamedTuple):
    """Files that are alike for planning: one first- and second-level folder, one glob.

    ``first`` is empty for files in the root itself, ``second`` for files directly in ``first``.
    """

    first: bytes
    second: bytes
    glob_index: int = NO_GLOB

    def folder(self, depth: int) -> bytes:
        """Return the first (0) or second (1) folder."""
        return self.second if depth else self.first


@dataclass(frozen=True, slots=True)
class GroupCount:
    """Sums over a group. ``bins``: how many split hashes fall in which bin, if counted."""

    num_files: int = 0
    num_bytes: int = 0
    bins: Mapping[int, int] = field(default_factory=dict)

    def plus(self, other: GroupCount) -> GroupCount:
        """Return the sums over both."""
        bins = dict(self.bins)
        for bin_index, count in other.bins.items():
            bins[bin_index] = bins.get(bin_index, 0) + count
        return GroupCount(self.num_files + other.num_files, self.num_bytes + other.num_bytes, bins)


@dataclass(frozen=True, slots=True)
class Survey:
    """``ignored``: files that are no images, by extension. ``faults``: what could not be listed.

    ``unmatched``: the first paths that fit no ``--split`` pattern.
    """

    groups: Mapping[FileGroup, GroupCount] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    faults: tuple[ReportEntry, ...] = ()
    unmatched: tuple[str, ...] = ()
    num_unmatched: int = 0

    @property
    def num_files(self) -> int:
        """How many files are to be converted."""
        return sum(count.num_files for count in self.groups.values())

    @property
    def num_bytes(self) -> int:
        """How many bytes these files have."""
        return sum(count.num_bytes for count in self.groups.values())


def merge(surveys: Iterable[Survey]) -> Survey:
    """Return one survey of all the inputs; the order in which they come does not matter."""
    groups: dict[FileGroup, GroupCount] = {}
    ignored: dict[str, int] = {}
    faults: set[ReportEntry] = set()
    unmatched: list[str] = []
    num_unmatched = 0
    for survey in surveys:
        for group, count in survey.groups.items():
            groups[group] = groups[group].plus(count) if group in groups else count
        for extension, number in survey.ignored.items():
            ignored[extension] = ignored.get(extension, 0) + number
        faults.update(survey.faults)
        unmatched += survey.unmatched
        num_unmatched += survey.num_unmatched
    return Survey(
        groups=dict(sorted(groups.items())),
        ignored=dict(sorted(ignored.items())),
        faults=tuple(sorted(faults)),
        unmatched=tuple(sorted(unmatched)[:MAX_LISTED_FAULTS]),
        num_unmatched=num_unmatched,
    )


def first_levels(folder: bytes) -> tuple[bytes, bytes]:
    """Return the first and second component of a folder's path, empty where there is none."""
    first, _, rest = folder.partition(b"/")
    return first, rest.partition(b"/")[0]


def glob_indices(request: Request, keys: Iterable[bytes]) -> list[int]:
    """Return for each key which of the split patterns takes it, NO_GLOB for none.

    Raises RequestError if two splits' patterns take one file.
    """
    files = request.splits.files if request.splits and request.splits.files else {}
    patterns = [
        (index, path_globs.compiled(pattern))
        for index, globs in enumerate(files.values())
        for pattern in globs
    ]
    names = list(files)
    found = []
    for key in keys:
        taken = {index for index, pattern in patterns if pattern.fullmatch(key)}
        if len(taken) > 1:
            both = " and ".join(names[index] for index in sorted(taken))
            raise RequestError(
                f"a file must belong to one split ({path_text(key)} fits --split {both}); "
                "make the patterns exclude each other"
            )
        found.append(taken.pop() if taken else NO_GLOB)
    return found


def survey_batch(request: Request, batch: pa.RecordBatch) -> Survey:
    """Count one listed batch (LISTING_SCHEMA)."""
    folders = batch.column("folder")
    codes = np.asarray(folders.indices, dtype=np.int64)
    levels = [first_levels(folder) for folder in folders.dictionary.to_pylist()]
    has_globs = request.splits is not None and request.splits.files is not None
    stratify = request.splits is not None and request.splits.stratify is not None
    keys = keys_of(batch) if has_globs or stratify else []
    globs = np.array(glob_indices(request, keys) if has_globs else [], dtype=np.int64)
    names = [FileGroup(*level, glob) for level, glob in _pairs(levels, codes, globs)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if has_globs:
        per_file = np.array([numbers[name] for name in names], dtype=np.int64)
    else:
        per_folder = np.array([numbers[FileGroup(*level)] for level in levels], dtype=np.int64)
        per_file = per_folder[codes]
    num_files = np.bincount(per_file, minlength=len(numbers))
    num_bytes = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(num_bytes, per_file, np.asarray(batch.column("num_bytes")))
    bins: list[dict[int, int]] = [{} for _ in numbers]
    if stratify:
        hashes = placement.split_hashes(keys, seed=request.seed)
        pairs = per_file * placement.NUM_BINS + placement.hash_bins(hashes)
        for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
            number, bin_index = divmod(int(pair), placement.NUM_BINS)
            bins[number][bin_index] = int(count)
    unmatched = (
        sorted(
            path_text(key)
            for key, glob in zip(keys, globs.tolist(), strict=False)
            if glob == NO_GLOB
        )
        if has_globs
        else []
    )
    return Survey(
        groups={
            name: GroupCount(int(num_files[number]), int(num_bytes[number]), bins[number])
            for name, number in numbers.items()
        },
        unmatched=tuple(unmatched[:MAX_LISTED_FAULTS]),
        num_unmatched=len(unmatched),
    )


def _pairs(
    levels: list[tuple[bytes, bytes]], codes: np.ndarray, globs: np.ndarray
) -> Iterable[tuple[tuple[bytes, bytes], int]]:
    """Yield the group of each file where globs decide, else of each folder."""
    if len(globs):
        return (
            (levels[code], glob) for code, glob in zip(codes.tolist(), globs.tolist(), strict=True)
        )
    return ((level, NO_GLOB) for level in levels)
