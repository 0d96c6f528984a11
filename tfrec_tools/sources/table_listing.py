"""Finding what kind of input a source is, and the files of tables: CSV, Parquet, JSON lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tfrec_tools import path_globs
from tfrec_tools.errors import RequestError, SourceError, counted, listed
from tfrec_tools.records import path_text
from tfrec_tools.request import SourceKind
from tfrec_tools.sources.image_folder import IMAGE_EXTENSIONS
from tfrec_tools.storage import Storage, base_name, open_storage, reason_of, split_url
from tfrec_tools.tables import Compression, TableFile, TableFormat

EXTENSIONS: Mapping[bytes, TableFormat] = {
    b"csv": "csv",
    b"tsv": "csv",
    b"txt": "csv",
    b"parquet": "parquet",
    b"jsonl": "jsonl",
    b"ndjson": "jsonl",
    b"arrow": "arrow",
}
_KINDS: Mapping[bytes, SourceKind] = {
    b"txt": "text",
    b"text": "text",
    b"csv": "csv",
    b"tsv": "csv",
    b"parquet": "table",
    b"jsonl": "table",
    b"ndjson": "table",
    b"arrow": "table",
}
COMPRESSED = (b"gz", b"bz2", b"zst", b"zstd", b"xz")
_MAGIC: tuple[tuple[bytes, Compression], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bz2"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
)
_WILDCARDS = ("*", "?", "[")


def compression_of(head: bytes) -> Compression | None:
    """Return how a file is compressed, by its first 8 bytes."""
    found = next((name for magic, name in _MAGIC if head.startswith(magic)), None)
    # A text may begin with the letters BZh; a block, or the end of an empty file, begins so:
    is_bz2 = head[4:8] in (b"1AY&", b"\x17rE8")
    return None if found == "bz2" and not is_bz2 else found


def extension_of(name: bytes) -> bytes:
    """Return a name's extension in lower case, that in front of ``.gz`` and the like."""
    parts = name.lower().split(b".")
    if len(parts) > 2 and parts[-1] in COMPRESSED:
        parts.pop()
    return parts[-1] if len(parts) > 1 else b""


def kind_of(url: str) -> SourceKind:
    """Return the kind of input at ``url``, by what files there are.

    A folder with an image in it is one of images. Raises RequestError if nothing tells.
    """
    root = table_root(url)
    storage = open_storage(root.folder)
    if root.file is None and root.pattern is None:
        if not storage.exists():  # the source's own message names what is missing
            return _KINDS.get(extension_of(os.fsencode(base_name(url))), "images")
        names: Iterator[bytes] = (name for name, _ in _files_below(storage, sort=False))
    else:
        names = iter([root.file or os.fsencode(root.pattern or "")])
    found: dict[SourceKind, bytes] = {}
    others: dict[bytes, int] = {}
    for name in names:
        extension = extension_of(name)
        if extension in IMAGE_EXTENSIONS:
            return "images"
        if extension in _KINDS:
            found.setdefault(_KINDS[extension], name)
        else:
            others[extension] = others.get(extension, 0) + 1
    if len(found) > 1:
        found.pop("text", None)  # beside tables, a text file is a README
    if len(found) == 1:
        return next(iter(found))
    if found:
        both = " and ".join(path_text(name) for name in found.values())
        raise RequestError(f"the source must be of one kind ({url} holds {both}); use --kind")
    if root.file is None and root.pattern is None:
        return "images"  # whose own message tells what such a folder must hold
    names_found = listed(
        [f".{path_text(extension)}" if extension else "no extension" for extension in others]
    )
    raise RequestError(
        f"the kind of {url} must be told with --kind csv, table, text or images (its name ends "
        f"in {names_found})"
    )


class TableRoot(NamedTuple):
    """The folder that keys are relative to, and the one file or the pattern in it, if any."""

    folder: str
    file: bytes | None = None
    pattern: str | None = None


def table_root(url: str) -> TableRoot:
    """Return what ``url`` means: a folder, a file, or a pattern of files.

    A path that exists is taken as it stands, whatever characters it has.
    """
    plain = url.rstrip("/") or "/"
    storage = open_storage(plain)
    if storage.exists():
        if storage.is_folder():
            return TableRoot(url)
        folder, name = split_url(plain)
        return TableRoot(folder, file=os.fsencode(name))
    parts = plain.split("/")
    for index, part in enumerate(parts):
        if any(sign in part for sign in _WILDCARDS):
            folder = "/".join(parts[:index]) or ("/" if plain.startswith("/") else ".")
            return TableRoot(folder, pattern="/".join(parts[index:]))
    return TableRoot(url)


def _files_below(storage: Storage, *, sort: bool = True) -> Iterator[tuple[bytes, int]]:
    """Yield (path, bytes) of all files, breadth first; hidden ones and links back left out."""
    pending: list[tuple[bytes, frozenset[tuple[int, int]]]] = [
        (b"", frozenset(filter(None, [storage.identity()])))
    ]
    for folder, outer in pending:
        try:
            entries = storage.entries(folder)
            for entry in sorted(entries) if sort else entries:
                if entry.name.startswith((b".", b"_")) or entry.name == b"__MACOSX":
                    continue
                path = folder + b"/" + entry.name if folder else entry.name
                if entry.is_folder:
                    if entry.identity is None or entry.identity not in outer:
                        inner = outer | ({entry.identity} if entry.identity else set())
                        pending.append((path, inner))  # the loop goes on to it
                elif entry.problem is not None:
                    yield path, 0  # its reading will say what is wrong
                else:
                    yield path, entry.num_bytes
        except OSError as error:
            where = f"{storage.url.rstrip('/')}/{path_text(folder)}".rstrip("/")
            raise SourceError(f"{where} could not be listed: {reason_of(error)}") from None


def found_files(url: str, exclude: tuple[str, ...]) -> list[tuple[bytes, int]]:
    """Return (key, bytes) of all files at ``url`` in byte order of the keys.

    Raises SourceError if it does not exist or cannot be listed.
    """
    root = table_root(url)
    storage = open_storage(root.folder)
    if root.file is not None:
        found = [(root.file, storage.size(root.file) or 0)]
    elif not storage.exists():
        raise SourceError(f"the source must exist ({url} does not)")
    else:
        found = list(_files_below(storage))
    if root.pattern is not None:
        glob = path_globs.compiled(root.pattern)
        depth = None if "**" in root.pattern else root.pattern.count("/")
        found = [
            (key, size)
            for key, size in found
            if glob.fullmatch(key) and depth in (None, key.count(b"/"))
        ]
    return [
        (key, size)
        for key, size in sorted(found)
        if not any(path_globs.matches(glob, key) for glob in exclude)
    ]


def list_files(
    url: str, kind: SourceKind, exclude: tuple[str, ...]
) -> tuple[TableFormat, tuple[TableFile, ...], dict[str, int]]:
    """Return the format, the files in byte order of their keys, and what was passed over.

    Raises SourceError if there are none, or files of several formats.
    """
    root = table_root(url)
    found = found_files(url, exclude)
    # Beside files that are called tables, a text file is a README.
    called_tables = any(
        _KINDS.get(extension_of(key.rpartition(b"/")[2])) == "csv" for key, _ in found
    )
    formats: dict[TableFormat, list[tuple[bytes, int]]] = {}
    ignored: dict[str, int] = {}
    for key, size in found:
        extension = extension_of(key.rpartition(b"/")[2])
        format_ = EXTENSIONS.get(extension)
        if kind == "csv" and (root.file is not None or root.pattern is not None):
            format_ = "csv"  # named by the user, whatever the extension
        elif called_tables and extension == b"txt":
            format_ = None
        if format_ is None or (format_ == "csv") != (kind == "csv"):
            name = f".{path_text(extension)}" if extension else "without extension"
            ignored[name] = ignored.get(name, 0) + 1
        else:
            formats.setdefault(format_, []).append((key, size))
    if not formats:
        what = "CSV files (.csv, .tsv, .txt)" if kind == "csv" else ".parquet or .jsonl files"
        kinds = listed([f"{number} {name}" for name, number in ignored.items()]) or "none"
        raise SourceError(f"{url} must hold {what} (found {kinds})")
    if len(formats) > 1:
        both = listed([f"{counted(len(names), 'file')} of {f}" for f, names in formats.items()])
        raise SourceError(f"{url} must hold files of one format (found {both}); use --exclude")
    ((format_, files),) = formats.items()
    return format_, tuple(TableFile(key=key, num_bytes=size) for key, size in files), ignored
