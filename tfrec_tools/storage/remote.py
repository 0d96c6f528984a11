"""Folders that fsspec reaches. fsspec is imported with the first URL: it costs 0.2 s of start-up."""

from __future__ import annotations

import contextlib
import os
import posixpath
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, BinaryIO, cast

import fsspec

from tfrec_tools.errors import MissingDependencyError, RequestError
from tfrec_tools.storage.interface import CHUNK_BYTES, FolderEntry, OutputFile, cannot_write

REMOTE_READS_IN_FLIGHT = 16
"""Object stores answer slowly but many at a time."""


class _RemoteFile:
    def __init__(self, stream: IO[bytes], where: str) -> None:
        self._stream = stream
        self._where = where

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        try:
            self._stream.write(b"".join(pieces))
        except OSError as error:
            raise cannot_write(self._where, error) from None


class RemoteStorage:
    """A folder that fsspec reaches: gs://, s3://, memory:// and others."""

    is_local = False

    def __init__(self, url: str) -> None:
        """Open the file system of ``url``. Raises RequestError or MissingDependencyError."""
        self.url = url
        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise MissingDependencyError(f"{url} needs a further package: {error}") from None
        except ValueError as error:
            raise RequestError(f"{url} is no URL that fsspec knows ({error})") from None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the URL: connections belong to one process."""
        return RemoteStorage, (self.url,)

    def _path(self, path: bytes) -> str:
        root = str(self._root).rstrip("/")
        if not path:
            return root
        name = os.fsdecode(path)
        # Stores have no `..` of their own: ../masks/x.png lies beside the root.
        path_text = f"{root}/{name}"
        return posixpath.normpath(path_text) if ".." in name else path_text

    def _where(self, path: bytes) -> str:
        return f"{self.url.rstrip('/')}/{os.fsdecode(path)}"

    def exists(self, path: bytes = b"") -> bool:
        """Say whether there is anything at ``path``."""
        return bool(self._fs.exists(self._path(path)))

    def is_folder(self, path: bytes = b"") -> bool:
        """Say whether there are objects below ``path``."""
        return bool(self._fs.isdir(self._path(path)))

    def size(self, path: bytes) -> int | None:
        """Return the size of an object in bytes, None if there is none."""
        try:
            return int(self._fs.info(self._path(path))["size"])
        except FileNotFoundError:
            return None

    def identity(self, path: bytes = b"") -> tuple[int, int] | None:  # noqa: ARG002
        """Return None: there are no links that could lead back."""
        return None

    def entries(self, path: bytes = b"") -> Iterator[FolderEntry]:
        """Yield what lies directly below a prefix. Raises OSError."""
        here = self._path(path)
        for found in self._fs.ls(here, detail=True):
            name = found["name"].rstrip("/")
            if name == here.lstrip("/") or name == here:
                continue  # some stores list the folder's own marker object
            yield FolderEntry(
                os.fsencode(name.rpartition("/")[2]),
                is_folder=found["type"] == "directory",
                num_bytes=int(found.get("size") or 0),
            )

    def read(self, path: bytes, expected_bytes: int | None = None) -> bytes:  # noqa: ARG002
        """Return the whole content of an object. Raises OSError."""
        return bytes(self._fs.cat_file(self._path(path)))

    def read_range(self, path: bytes, start: int, stop: int) -> bytes:
        """Return the bytes of an object from ``start`` to before ``stop``. Raises OSError."""
        return bytes(self._fs.cat_file(self._path(path), start=start, end=stop))

    def open(self, path: bytes) -> BinaryIO:
        """Open an object for reading from front to back. Raises OSError."""
        return cast("BinaryIO", self._fs.open(self._path(path), "rb"))

    def chunks(self, path: bytes) -> Iterator[bytes]:
        """Yield the content of an object piece by piece. Raises OSError."""
        with self._fs.open(self._path(path), "rb") as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk

    def read_many(
        self,
        paths: Sequence[bytes],
        expected: Sequence[int] | None = None,  # noqa: ARG002
    ) -> Iterator[bytes | OSError]:
        """Yield the content of each object in turn, or the error in its place.

        Up to 16 reads are under way at once: a bounded read-ahead, in order.
        """

        def read(path: bytes) -> bytes | OSError:
            try:
                return self.read(path)
            except OSError as error:
                return error

        with ThreadPoolExecutor(REMOTE_READS_IN_FLIGHT) as pool:
            yield from pool.map(read, paths)

    @contextlib.contextmanager
    def create(self, path: bytes) -> Iterator[OutputFile]:
        """Open an object for writing; it appears when the block ends without an exception."""
        where = self._where(path)
        try:
            stream = self._fs.open(self._path(path), "wb")
        except OSError as error:
            raise cannot_write(where, error) from None
        try:
            yield _RemoteFile(stream, where)
        except BaseException:
            # Closing would publish a partial object: let fsspec drop the upload instead.
            with contextlib.suppress(Exception):
                stream.discard()
            with contextlib.suppress(Exception):  # some systems show a file while it is written
                self._fs.rm_file(self._path(path))
            raise
        try:
            stream.close()
        except OSError as error:
            raise cannot_write(where, error) from None

    def make_folder(self, path: bytes = b"") -> None:
        """Create a folder, where the store has folders at all."""
        self._fs.makedirs(self._path(path), exist_ok=True)

    def rename(self, source: bytes, target: bytes) -> None:
        """Move an object, replacing what has the new name."""
        try:
            # Not mv and rm: they take *, ? and [ in names for patterns.
            self._fs.cp_file(self._path(source), self._path(target))
            self._fs.rm_file(self._path(source))
        except OSError as error:
            raise cannot_write(self._where(target), error) from None

    def remove(self, path: bytes) -> None:
        """Remove an object, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path(path))

    def remove_tree(self, path: bytes) -> None:
        """Remove all below a prefix, if there is anything."""
        root = self._path(path)
        with contextlib.suppress(FileNotFoundError):
            for name in self._fs.find(root):
                self._fs.rm_file(name)
        with contextlib.suppress(Exception):  # most stores have no folders to remove
            self._fs.rmdir(root)

    def sync(self, path: bytes = b"") -> None:
        """Do nothing: an object is durable when its upload has ended."""

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Object stores have no locks: two conversions at once are the user's to avoid."""
        yield
