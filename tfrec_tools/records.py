"""Values that travel between stages: units, listings of files, report entries, shard results.

All are frozen and made of plain values, since they cross process borders and are compared
between executors.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from tfrec_tools.errors import RecordError, SourceError, TfrecError
from tfrec_tools.shard_names import ShardId

MAX_LISTED_FAULTS = 20
MAX_BATCH_RECORDS = 16_384

LISTING_SCHEMA = pa.schema(
    [
        ("folder", pa.dictionary(pa.int32(), pa.binary())),
        ("file", pa.binary()),
        ("num_bytes", pa.int64()),
    ]
)
"""A listed file: its folder relative to the source root ('' for the root), name and size.

Folders repeat, so they are dictionary-encoded: a listed file costs about 40 bytes.
"""

PLACED_SCHEMA = pa.schema(
    [
        *LISTING_SCHEMA,
        ("rank_high", pa.uint64()),
        ("rank_low", pa.uint64()),
        ("split", pa.int32()),
        ("shard", pa.int32()),
    ]
)
"""A listed file with its place; ``split`` is an index into the plan's splits."""


@dataclass(frozen=True, slots=True, order=True)
class Unit:
    """What one worker lists or reads in one go: a first-level folder, or the root's own files."""

    folder: bytes
    recursive: bool = True


class Action(enum.Enum):
    """What became of an input that was not simply stored as it came."""

    SKIPPED = "skipped"
    REPAIRED = "repaired"
    CONVERTED = "converted"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class ReportEntry:
    """One line of ``report.jsonl``. ``unreadable``: the file, not its content, is at fault.

    ``row`` (from 1) and ``column`` say where in the file, where that has rows, or lines, as
    ``numbered`` says.
    """

    path: str
    action: str
    reason: str
    unreadable: bool = False
    row: int = 0
    column: str = ""
    numbered: Literal["row", "line"] = "row"

    def __lt__(self, other: ReportEntry) -> bool:
        """Order by place: path, then row."""
        return self._place < other._place

    @property
    def _place(self) -> tuple[str, int, str, str, str, bool]:
        return self.path, self.row, self.column, self.action, self.reason, self.unreadable

    @property
    def where(self) -> str:
        """The place as text: ``data.csv: row 7, column 'age'``."""
        row = f": {self.numbered} {self.row:,}" if self.row else ""
        return f"{self.path}{row}" + (f", column {self.column!r}" if self.column else "")

    def to_dict(self) -> dict[str, str | int]:
        """Return the line as plain values."""
        place: dict[str, str | int] = {"path": self.path}
        if self.row:
            place[self.numbered] = self.row
        if self.column:
            place["column"] = self.column
        return place | {"action": self.action, "reason": self.reason}

    @property
    def is_fault(self) -> bool:
        """Whether the input is missing from the output."""
        return self.action == Action.SKIPPED.value


def path_text(key: bytes) -> str:
    """Return a key as text for people; bytes that are no UTF-8 are escaped."""
    return key.decode("utf-8", "backslashreplace")


def keys_of(batch: pa.RecordBatch | pa.Table) -> list[bytes]:
    """Return the key of each listed file: its path relative to the source root."""
    folders = batch.column("folder")
    if isinstance(folders, pa.ChunkedArray):
        folders = folders.unify_dictionaries().combine_chunks()
    prefixes = [folder + b"/" if folder else b"" for folder in folders.dictionary.to_pylist()]
    return [
        prefixes[code] + name
        for code, name in zip(
            folders.indices.to_pylist(), batch.column("file").to_pylist(), strict=True
        )
    ]


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What writing one shard gave; enough for the manifest, and to recognise it again.

    ``num_bytes`` counts the file, ``payload_bytes`` the payloads without their frames.
    A shard with faults under ``on_error="fail"`` has no file: ``written`` is False.
    ``statistics`` are of pictures, ``cells`` of documents, and of cells beside pictures.
    ``left_out``: how many records are not to be in the dataset, by the word that says why.
    """

    shard: ShardId
    name: str
    fingerprint: str
    written: bool
    num_records: int = 0
    num_bytes: int = 0
    payload_bytes: int = 0
    crc32c: int = 0
    index_bytes: int = 0
    index_crc32c: int = 0
    entries: tuple[ReportEntry, ...] = ()
    statistics: Mapping[str, object] = field(default_factory=dict)
    cells: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    codecs: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def faults(self) -> list[ReportEntry]:
        """The inputs that are not in the shard."""
        return [entry for entry in self.entries if entry.is_fault]


def faults_error(
    faults: Sequence[ReportEntry], *, complete: bool, fail_fast: bool = False
) -> TfrecError:
    """Return the error that lists these faults, at most 20, in the order of their paths.

    ``complete`` says that the whole input was looked at; ``fail_fast`` lists only one.
    """
    ordered = sorted(faults)
    lines = [f"{fault.where}: {fault.reason}" for fault in ordered]
    if fail_fast or (complete and len(lines) == 1):
        message = lines[0] + "; mend or remove it, or use --on-error skip"
    else:
        number = f"{len(lines)} inputs" if complete else f"{len(lines)} or more inputs"
        shown = lines[:MAX_LISTED_FAULTS]
        if len(lines) > len(shown):
            shown.append(f"… and {len(lines) - len(shown)} more")
        message = f"{number} do not fit; mend or remove them, or use --on-error skip:\n  " + (
            "\n  ".join(shown)
        )
    unreadable = all(fault.unreadable for fault in ordered)
    return SourceError(message) if unreadable else RecordError(message)
