"""Files that the cells of a table name: their paths, which must not leave the declared root."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

import pyarrow as pa

from tfrec_tools.storage import Storage


def reference_paths(column: pa.Array, root: str) -> list[bytes | None]:
    """Return the path of each named file relative to the source; None if it leaves ``root``.

    ``root`` itself may lie outside the source (``../images``); a cell may not leave it.
    """
    prefix = root.strip("/").encode()
    paths: list[bytes | None] = []
    for cell in column.to_pylist():
        name = cell.encode() if isinstance(cell, str) else cell
        inner = posixpath.normpath(name) if name else b"."
        if inner in (b".", b"..") or inner.startswith((b"../", b"/")):
            paths.append(None)
        else:
            paths.append(posixpath.normpath(prefix + b"/" + inner) if prefix else inner)
    return paths


def reference_sizes(storage: Storage, column: pa.Array, root: str) -> Sequence[int | None]:
    """Return the size of each named file in bytes, None where there is none to read."""
    sizes: list[int | None] = []
    for path in reference_paths(column, root):
        try:
            sizes.append(None if path is None else storage.size(path))
        except OSError:
            sizes.append(None)
    return sizes
