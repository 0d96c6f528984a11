"""Finding text files, and what one record of them is by default."""

from __future__ import annotations

from collections.abc import Sequence

from tfrec_tools.errors import SourceError, counted, listed
from tfrec_tools.layout import SPLIT_WORDS
from tfrec_tools.records import path_text
from tfrec_tools.request import RecordKind
from tfrec_tools.sources.table_listing import extension_of, found_files, table_root
from tfrec_tools.tables import TableFile

TEXT_EXTENSIONS = frozenset({b"txt", b"text", b""})
"""Of files taken from a folder; others are taken if a pattern or a path names them."""


def list_text_files(url: str, exclude: tuple[str, ...]) -> tuple[list[TableFile], dict[str, int]]:
    """Return the text files in byte order of their keys, and what was passed over.

    Raises SourceError if there are none.
    """
    root = table_root(url)
    is_named = root.file is not None or root.pattern is not None
    files: list[TableFile] = []
    ignored: dict[str, int] = {}
    for key, size in found_files(url, exclude):
        extension = extension_of(key.rpartition(b"/")[2])
        if is_named or extension in TEXT_EXTENSIONS:
            files.append(TableFile(key=key, num_bytes=size))
        else:
            name = f".{path_text(extension)}"
            ignored[name] = ignored.get(name, 0) + 1
    if not files:
        kinds = listed([f"{number} {name}" for name, number in ignored.items()]) or "none"
        more = f"; others are taken with a pattern, such as '{url.rstrip('/')}/**/*.md'"
        raise SourceError(
            f"{url} must hold text files (.txt, .text or without extension; found {kinds})"
            + (more if ignored else "")
        )
    return files, ignored


def list_parallel_files(
    url: str, exclude: tuple[str, ...], endings: Sequence[str]
) -> tuple[list[tuple[TableFile, ...]], dict[str, int]]:
    """Return the files that belong together, one per ending, sorted by the first one's key.

    ``train.en`` and ``train.de`` do, and ``train.en.txt.gz`` and ``train.de.txt.gz``. Raises
    SourceError if there are none, or one of them is missing.
    """
    groups: dict[bytes, dict[str, TableFile]] = {}
    ignored: dict[str, int] = {}
    for key, size in found_files(url, exclude):
        folder, slash, name = key.rpartition(b"/")
        parts = name.split(b".")
        place = next(
            (i for i in range(len(parts) - 1, 0, -1) if path_text(parts[i]) in endings), None
        )
        if place is None:
            extension = extension_of(name)
            shown = f".{path_text(extension)}" if extension else "without extension"
            ignored[shown] = ignored.get(shown, 0) + 1
            continue
        stem = folder + slash + b".".join(parts[:place])
        ending = path_text(parts[place])
        other = groups.setdefault(stem, {}).setdefault(ending, TableFile(key=key, num_bytes=size))
        if other.key != key:
            raise SourceError(
                f"there must be one file per ending ({path_text(other.key)} and "
                f"{path_text(key)} are both {ending} of {path_text(stem)}); use --exclude"
            )
    if not groups:
        kinds = listed([f"{number} {name}" for name, number in ignored.items()]) or "none"
        raise SourceError(
            f"{url} must hold files that end in {listed([f'.{e}' for e in endings])} (found {kinds})"
        )
    for stem, group in groups.items():
        missing = [ending for ending in endings if ending not in group]
        if missing:
            there = ", ".join(path_text(file.key) for file in group.values())
            raise SourceError(
                f"each of {counted(len(endings), 'parallel file')} must be there "
                f"({path_text(stem)}.{missing[0]} is missing beside {there}); add it, or use "
                "--exclude"
            )
    found = [tuple(group[ending] for ending in endings) for group in groups.values()]
    return sorted(found, key=lambda group: group[0].key), ignored


def default_record(url: str, exclude: tuple[str, ...]) -> RecordKind:
    """Return what one record is where nobody says it.

    Documents if every file lies in a folder that is no split: a class folder. Else lines.
    """
    root = table_root(url)
    if root.file is not None:
        return "line"
    folders = [file.key.split(b"/")[:-1] for file in list_text_files(url, exclude)[0]]
    if all(parts and path_text(parts[0]).lower() in SPLIT_WORDS for parts in folders):
        folders = [parts[1:] for parts in folders]
    return "document" if all(folders) else "line"
