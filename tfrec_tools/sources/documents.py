"""Documents, text files of which each is one record: listing them, and their contents as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tfrec_tools import path_globs
from tfrec_tools.errors import SourceError
from tfrec_tools.records import Unit, path_text
from tfrec_tools.request import Request
from tfrec_tools.sources import image_folder, text_cleaning, text_content
from tfrec_tools.sources.image_folder import ListedBatch, ReasonToIgnore
from tfrec_tools.sources.table_listing import (
    TableRoot,
    compression_of,
    extension_of,
    table_root,
)
from tfrec_tools.sources.text_listing import TEXT_EXTENSIONS
from tfrec_tools.storage import Storage, base_name, open_storage, reason_of
from tfrec_tools.text_options import TextOptions

_MAGIC_BYTES = 8  # enough to tell compression and byte order marks


def file_root(request: Request) -> TableRoot:
    """Return where the paths of a source of files begin, and the one file or pattern, if any.

    Images are always all those of a folder; documents may be named.
    """
    root = request.source.root
    return table_root(root) if request.source.kind == "text" else TableRoot(root)


def file_storage(request: Request) -> Storage:
    """Return the storage that the keys of images and documents are relative to."""
    return open_storage(file_root(request).folder)


def source_name(request: Request) -> str:
    """Return what a dataset of the source's files is called, if nobody says it."""
    root = file_root(request)
    if root.file is not None:
        return path_text(root.file).lstrip(".").partition(".")[0]
    return base_name(root.folder)


def list_units(request: Request) -> list[Unit]:
    """Return what can be listed independently; see `image_folder.list_units`."""
    root = file_root(request)
    units = image_folder.list_units(
        open_storage(root.folder), request.source.exclude, what="text files"
    )
    only_root = root.file is not None or (root.pattern is not None and _depth(root.pattern) == 0)
    return units[:1] if only_root else units


def list_unit(request: Request, unit: Unit, *, sort: bool) -> Iterator[ListedBatch]:
    """Yield the documents of ``unit`` in batches; see `image_folder.list_unit`."""
    root = file_root(request)
    return image_folder.list_unit(
        open_storage(root.folder),
        unit,
        request.source.exclude,
        sort=sort,
        reason_to_ignore=_reason_to_ignore(root),
    )


def _depth(pattern: str) -> int | None:
    """Return in how many folders the files lie that fit a pattern, None if in any number."""
    return None if "**" in pattern else pattern.count("/")


def _reason_to_ignore(root: TableRoot) -> ReasonToIgnore:
    """Return what tells files that are no documents: in a folder those of other extensions."""
    if root.file is not None:
        return lambda folder, name: None if name == root.file else ""  # noqa: ARG005
    if root.pattern is None:
        return _other_than_text
    glob, depth = path_globs.compiled(root.pattern), _depth(root.pattern)

    def other_than_named(folder: bytes, name: bytes) -> str | None:
        key = folder + b"/" + name if folder else name
        if not glob.fullmatch(key) or depth not in (None, key.count(b"/")):
            return ""
        return "hidden" if name.startswith(b".") else None

    return other_than_named


def _other_than_text(folder: bytes, name: bytes) -> str | None:  # noqa: ARG001
    if name.startswith(b"."):
        return "hidden"
    extension = extension_of(name)
    return None if extension in TEXT_EXTENSIONS else path_text(b"." + extension)


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of n documents (large_binary [n]: UTF-8, or bytes as they are).

    ``faults``: why a document does not fit, by its index; ``left_out``: under which word one
    is counted that is not to be a record. What the text of these is means nothing.
    ``unreadable``: of which documents the file, not its content, is at fault. ``repaired``:
    what is to be reported of others, by index.
    """

    values: pa.LargeBinaryArray
    faults: Mapping[int, str]
    left_out: Mapping[int, str]
    unreadable: frozenset[int] = frozenset()
    repaired: Mapping[int, str] = field(default_factory=dict)


def read_documents(storage: Storage, keys: Sequence[bytes], options: TextOptions) -> Texts:
    """Return the text of the documents with these keys; what cannot be read is a fault."""
    contents = list(storage.read_many(keys))
    unread = {
        index: f"could not be read ({reason_of(content)})"
        for index, content in enumerate(contents)
        if isinstance(content, OSError)
    }
    texts = texts_of([b"" if isinstance(c, OSError) else c for c in contents], options)
    left_out = {index: word for index, word in texts.left_out.items() if index not in unread}
    faults = {**texts.faults, **unread}
    return Texts(texts.values, faults, left_out, frozenset(unread), texts.repaired)


def texts_of(contents: Sequence[bytes], options: TextOptions) -> Texts:
    """Return the text of documents from the contents of their files, compressed or not.

    Line ends are kept, byte order marks left out; with ``as: bytes`` all stays as it is.
    """
    values: list[bytes] = []
    damaged: dict[int, str] = {}
    by_encoding: dict[str, list[int]] = {}
    # A loop over documents: each is opened by a library that takes one.
    for index, content in enumerate(contents):
        try:
            data = text_content.decompressed(content, compression_of(content[:_MAGIC_BYTES]))
        except SourceError as error:
            damaged[index], data = str(error), b""
        encoding, start = _encoding(data, options)
        by_encoding.setdefault(encoding, []).append(index)
        if not options.keeps_bytes:
            data = text_cleaning.decoded(data[start:] if start else data, encoding)
        values.append(data)
    texts = _cleaned(pa.array(values, pa.large_binary()), by_encoding, options)
    left_out = {index: word for index, word in texts.left_out.items() if index not in damaged}
    faults = {**texts.faults, **damaged}
    return Texts(texts.values, faults, left_out, repaired=texts.repaired)


def _encoding(data: bytes, options: TextOptions) -> tuple[str, int]:
    """Return the encoding, and where the text begins behind a byte order mark of it.

    As for lines, the mark tells the encoding if nobody does.
    """
    if options.keeps_bytes:
        return text_content.RAW, 0
    bom = text_content.encoding_of_bom(data[:_MAGIC_BYTES])
    if options.encoding is None:
        return bom or ("utf-8", 0)
    encoding = text_content.known_encoding(options.encoding)
    return encoding, bom[1] if bom is not None and bom[0] == encoding else 0


def _cleaned(
    values: pa.LargeBinaryArray, by_encoding: Mapping[str, Sequence[int]], options: TextOptions
) -> Texts:
    """Clean texts, those of one encoding together: its name stands in what is said of them."""
    columns: list[pa.LargeBinaryArray] = []
    faults: dict[int, str] = {}
    left_out: dict[int, str] = {}
    repaired: dict[int, str] = {}
    for encoding, indices in by_encoding.items():
        own = values if len(by_encoding) == 1 else values.take(pa.array(indices))
        found = text_cleaning.cleaned(own, options, encoding, unit="document")
        columns.append(found.values)
        faults |= {indices[place]: reason for place, reason in found.faults.items()}
        left_out |= {indices[place]: word for place, word in found.left_out.items()}
        repair = text_cleaning.repair_text(encoding)
        repaired |= dict.fromkeys((indices[place] for place in found.repaired), repair)
    if len(columns) == 1:
        return Texts(columns[0], faults, left_out, repaired=repaired)
    if columns:
        order = np.argsort(np.concatenate([np.asarray(own) for own in by_encoding.values()]))
        values = pa.concat_arrays(columns).take(pa.array(order))
    return Texts(values, faults, left_out, repaired=repaired)
