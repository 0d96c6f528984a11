"""Where bytes lie: local paths and fsspec URLs behind one small interface.

The only package that opens, lists, renames or removes. Paths are bytes relative to a
storage's root, since local file names need not be text. Errors while reading are
``OSError`` (the caller knows which record they concern); errors while writing are
``DatasetError``, since nobody can go on after one.
"""

from __future__ import annotations

import os

from tfrec_tools.storage.interface import FolderEntry, OutputFile, Storage, reason_of
from tfrec_tools.storage.local import LocalStorage

__all__ = [
    "FolderEntry",
    "LocalStorage",
    "OutputFile",
    "Storage",
    "base_name",
    "open_storage",
    "reason_of",
    "split_url",
]


def split_url(url: str) -> tuple[str, str]:
    """Return the folder of a path or URL and its last name."""
    folder, slash, name = url.rstrip("/").rpartition("/")
    return (folder + slash if not folder.strip("/") else folder) or ".", name


def base_name(url: str) -> str:
    """Return the last name of a path or URL; of ``.`` the name of the current folder."""
    _, scheme, rest = url.rpartition("://")
    return os.path.basename(rest.rstrip("/") if scheme else os.path.abspath(url))


def open_storage(url: str) -> Storage:
    """Return the storage at a local path, or at an fsspec URL such as ``gs://bucket/folder``.

    Raises RequestError for a protocol that fsspec does not know.
    """
    if url.startswith("file://"):
        url = url.removeprefix("file://")
    if "://" not in url:
        return LocalStorage(url)
    from tfrec_tools.storage.remote import RemoteStorage  # it imports fsspec

    return RemoteStorage(url)
