"""Folders of images: listing them, and what a path says about its image.

Folders of documents are listed alike: see `documents`.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from tfrec_tools import path_globs
from tfrec_tools.errors import SourceError
from tfrec_tools.layout import Layout
from tfrec_tools.records import (
    LISTING_SCHEMA,
    MAX_BATCH_RECORDS,
    Action,
    ReportEntry,
    Unit,
    path_text,
)
from tfrec_tools.storage import FolderEntry, Storage, reason_of

IMAGE_EXTENSIONS = frozenset(
    (
        b"jpg jpeg jpe jfif png apng gif bmp dib webp tif tiff "
        # Not stored, but named as such instead of being passed over in silence:
        b"heic heif avif jxl jp2 psd svg"
    ).split()
)
"""Files with other extensions are ignored and counted; files without one are looked at."""

IGNORED_FOLDERS = frozenset({b"__MACOSX"})
COMPRESSED = frozenset({b".gz", b".bz2", b".zst", b".zstd", b".xz"})

ReasonToIgnore: TypeAlias = Callable[[bytes, bytes], str | None]
"""From a file's folder and name to the word under which it is counted as ignored.

Empty if it is passed over without being counted, None if it is taken.
"""


@dataclass(slots=True)
class ListedBatch:
    """Listed files (LISTING_SCHEMA), the folders visited, and what was passed over."""

    files: pa.RecordBatch
    folders: tuple[bytes, ...] = ()
    ignored: dict[str, int] = field(default_factory=dict)
    faults: tuple[ReportEntry, ...] = ()


def list_units(
    storage: Storage, exclude: tuple[str, ...] = (), *, what: str = "images"
) -> list[Unit]:
    """Return the root's own files and its first-level folders as units, sorted.

    Raises SourceError, naming ``what`` is looked for, if the root is no folder to be listed.
    """
    if not storage.exists():
        raise SourceError(f"the source must be a folder of {what} ({storage.url} does not exist)")
    if not storage.is_folder():
        raise SourceError(f"the source must be a folder of {what} ({storage.url} is a file)")
    try:
        own = storage.identity() or ()  # a link to the root itself would list all of it again
        folders = [
            entry.name
            for entry in storage.entries()
            if entry.is_folder and not _is_hidden(entry.name) and entry.identity != own
            if not any(path_globs.takes_folder(pattern, entry.name) for pattern in exclude)
        ]
    except OSError as error:
        raise SourceError(f"{storage.url} could not be listed: {reason_of(error)}") from None
    return [Unit(b"", recursive=False), *(Unit(folder) for folder in sorted(folders))]


def reason_to_ignore(folder: bytes, name: bytes) -> str | None:  # noqa: ARG001
    """Return under which word a file is counted as ignored, None for an image."""
    if name.startswith(b"."):
        return "hidden"
    _, dot, extension = name.rpartition(b".")
    if not dot or extension in IMAGE_EXTENSIONS or extension.lower() in IMAGE_EXTENSIONS:
        return None
    return path_text(b"." + extension.lower())


def list_unit(
    storage: Storage,
    unit: Unit,
    exclude: tuple[str, ...] = (),
    *,
    sort: bool = False,
    reason_to_ignore: ReasonToIgnore = reason_to_ignore,
) -> Iterator[ListedBatch]:
    """Yield the files of ``unit`` in batches; in byte order of their paths with ``sort``.

    ``reason_to_ignore`` says which are taken: by default images. Links are followed and keep their own names; a link to a folder that encloses it is
    passed over, since it would never end.
    """
    batch = _BatchBuilder()
    for folder, entry in _walk(storage, unit, exclude, sort=sort):
        if entry is None:
            batch.folders.append(folder)
            continue
        if exclude and _matches_any(exclude, _joined(folder, entry.name)):
            batch.ignore("excluded")
        elif (reason := reason_to_ignore(folder, entry.name)) is not None:
            if reason:
                batch.ignore(reason)
        elif entry.problem is not None:
            path = path_text(_joined(folder, entry.name))
            batch.faults.append(
                ReportEntry(path, Action.SKIPPED.value, entry.problem, unreadable=True)
            )
        else:
            batch.add(folder, entry)
            if len(batch.files) >= MAX_BATCH_RECORDS:
                yield batch.taken()
    yield batch.taken()


def _matches_any(patterns: tuple[str, ...], path: bytes) -> bool:
    return any(path_globs.matches(pattern, path) for pattern in patterns)


def joined_batches(batches: Iterable[ListedBatch]) -> ListedBatch:
    """Return one batch of all that the batches hold, in their order."""
    parts = list(batches)
    ignored: Counter[str] = Counter()
    for part in parts:
        ignored.update(part.ignored)
    files = pa.Table.from_batches([part.files for part in parts]).unify_dictionaries()
    (joined,) = files.combine_chunks().to_batches() or [parts[0].files]
    return ListedBatch(
        joined,
        tuple(folder for part in parts for folder in part.folders),
        dict(ignored),
        tuple(fault for part in parts for fault in part.faults),
    )


class _BatchBuilder:
    def __init__(self) -> None:
        self.folders: list[bytes] = []
        self.faults: list[ReportEntry] = []
        self.files: list[bytes] = []
        self._ignored: dict[str, int] = {}
        self._sizes: list[int] = []
        self._codes: list[int] = []
        self._code_of: dict[bytes, int] = {}

    def ignore(self, reason: str) -> None:
        self._ignored[reason] = self._ignored.get(reason, 0) + 1

    def add(self, folder: bytes, entry: FolderEntry) -> None:
        self._codes.append(self._code_of.setdefault(folder, len(self._code_of)))
        self.files.append(entry.name)
        self._sizes.append(entry.num_bytes)

    def taken(self) -> ListedBatch:
        """Return what was collected, and start anew."""
        folders = pa.DictionaryArray.from_arrays(
            pa.array(self._codes, pa.int32()), pa.array(list(self._code_of), pa.binary())
        )
        files = pa.RecordBatch.from_arrays(
            [folders, pa.array(self.files, pa.binary()), pa.array(self._sizes, pa.int64())],
            schema=LISTING_SCHEMA,
        )
        batch = ListedBatch(files, tuple(self.folders), self._ignored, tuple(self.faults))
        self.__init__()  # type: ignore[misc]
        return batch


def _walk(
    storage: Storage, unit: Unit, exclude: tuple[str, ...], *, sort: bool
) -> Iterator[tuple[bytes, FolderEntry | None]]:
    """Yield (folder, file) for every file, and (folder, None) for every folder entered.

    Folders that are excluded, hidden or enclosed in themselves are not entered.
    """
    enclosing = {storage.identity(b""), storage.identity(unit.folder)}
    # Iterative, newest folder first: recursion would limit the depth of a tree.
    pending: list[tuple[bytes, FolderEntry | None, frozenset[tuple[int, int]]]] = [
        (unit.folder, None, frozenset(filter(None, enclosing)))
    ]
    while pending:
        folder, entry, above = pending.pop()
        if entry is not None and not entry.is_folder:
            yield folder, entry
            continue
        here = _joined(folder, entry.name) if entry is not None else folder
        identity = entry.identity if entry is not None else None
        if identity is not None and identity in above:
            continue
        if any(path_globs.takes_folder(pattern, here) for pattern in exclude):
            continue
        yield here, None
        above = above if identity is None else above | {identity}
        try:
            found = storage.entries(here)
            if sort:
                ordered = sorted(found, key=lambda e: e.name + (b"/" if e.is_folder else b""))
                pending += [
                    (here, e, above)
                    for e in reversed(ordered)
                    if not e.is_folder or (unit.recursive and not _is_hidden(e.name))
                ]
                continue
            for inner in found:
                if not inner.is_folder:
                    yield here, inner
                elif unit.recursive and not _is_hidden(inner.name):
                    pending.append((here, inner, above))
        except OSError as error:
            problem = f"could not be listed ({reason_of(error)})"
            yield here, FolderEntry(b"", is_folder=False, problem=problem)


def _joined(folder: bytes, name: bytes) -> bytes:
    """Return the path of a name in a folder; without a name, that of the folder itself."""
    if not name:
        return folder + b"/"
    return folder + b"/" + name if folder else name


def _is_hidden(name: bytes) -> bool:
    """Say whether a folder is not entered."""
    return name.startswith(b".") or name in IGNORED_FOLDERS


def source_column(name: str, keys: list[bytes], layout: Layout) -> pa.Array:
    """Return a column of the source (large_binary [n]) for the records with these keys."""
    match name:
        case "filename":
            values = keys
        case "label":
            folders = [key.rpartition(b"/")[0] for key in keys]
            label_of = {folder: layout.label(folder) for folder in set(folders)}
            values = [label_of[folder] for folder in folders]
        case _:
            values = [path_parts(key, layout)[name] for key in keys]
    return pa.array(values, type=pa.large_binary())


def path_parts(key: bytes, layout: Layout) -> dict[str, bytes]:
    """Return what a key says: label, filename, folder, file, stem and extension.

    Of a compressed file, stem and extension are those of what is in it.
    """
    folder, _, file = key.rpartition(b"/")
    stem, extension = os.path.splitext(file)
    if extension.lower() in COMPRESSED and b"." in stem[1:]:
        stem, extension = os.path.splitext(stem)
    return {
        "label": layout.label(folder),
        "filename": key,
        "folder": folder,
        "file": file,
        "stem": stem,
        "extension": extension,
    }


def referenced_path(pattern: str, key: bytes, layout: Layout) -> bytes | None:
    """Return the path, relative to the source root, that a pattern means for one image.

    The pattern's folder before its first placeholder is the declared root of what it refers
    to; None if a path leaves it.
    """
    declared = pattern.partition("{")[0].rpartition("/")[0]
    parts = {name: os.fsdecode(value) for name, value in path_parts(key, layout).items()}
    path = posixpath.normpath(pattern.format(**parts))
    root = posixpath.normpath(declared) if declared else "."
    inside = path.startswith(root + "/") if root != "." else not path.startswith(("../", "/"))
    return os.fsencode(path) if inside else None
