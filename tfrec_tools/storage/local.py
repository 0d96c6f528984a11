"""Folders of this machine."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from itertools import islice, repeat
from typing import BinaryIO

from tfrec_tools.errors import DatasetError
from tfrec_tools.storage.interface import (
    CHUNK_BYTES,
    FolderEntry,
    OutputFile,
    cannot_write,
    reason_of,
)

MAX_PIECES_PER_WRITE = 1024  # IOV_MAX on Linux


class _LocalFile:
    def __init__(self, descriptor: int, where: str) -> None:
        self._descriptor = descriptor
        self._where = where

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        remaining = iter(pieces)
        try:
            while chunk := list(islice(remaining, MAX_PIECES_PER_WRITE)):
                written = os.writev(self._descriptor, chunk)
                total = sum(map(len, chunk))
                if written < total:  # a signal, or a disk that is nearly full
                    rest = memoryview(b"".join(chunk))[written:]
                    while rest:
                        rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise cannot_write(self._where, error) from None


class LocalStorage:
    """A folder of this machine."""

    is_local = True

    def __init__(self, root: str) -> None:
        """Take the folder ``root``, which need not exist yet."""
        self.url = root
        self._root = os.fsencode(root)
        self._prefix = os.path.join(self._root, b"")

    def _path(self, path: bytes) -> bytes:
        if path.startswith(b"/"):
            return path
        return self._prefix + path if path else self._root

    def _where(self, path: bytes) -> str:
        return os.fsdecode(self._path(path))

    def exists(self, path: bytes = b"") -> bool:
        """Say whether there is anything at ``path``."""
        return os.path.lexists(self._path(path))

    def is_folder(self, path: bytes = b"") -> bool:
        """Say whether ``path`` is a folder, or a link to one."""
        return os.path.isdir(self._path(path))

    def size(self, path: bytes) -> int | None:
        """Return the size of a file in bytes, None if there is none."""
        try:
            return os.stat(self._path(path)).st_size
        except FileNotFoundError:
            return None

    def identity(self, path: bytes = b"") -> tuple[int, int] | None:
        """Return what tells a folder apart from others, whatever link leads to it."""
        try:
            status = os.stat(self._path(path))
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def entries(self, path: bytes = b"") -> Iterator[FolderEntry]:
        """Yield what is in a folder, links followed. Raises OSError."""
        with os.scandir(self._path(path)) as found:
            for entry in found:
                try:
                    status = entry.stat()
                except OSError as error:
                    broken = entry.is_symlink() and error.errno in (errno.ENOENT, errno.ELOOP)
                    problem = (
                        "is a link that leads nowhere"
                        if broken
                        else (f"could not be looked at ({reason_of(error)})")
                    )
                    yield FolderEntry(entry.name, is_folder=False, problem=problem)
                    continue
                if stat.S_ISDIR(status.st_mode):
                    identity = (status.st_dev, status.st_ino)
                    yield FolderEntry(entry.name, is_folder=True, identity=identity)
                else:
                    regular = stat.S_ISREG(status.st_mode)
                    yield FolderEntry(
                        entry.name,
                        is_folder=False,
                        num_bytes=status.st_size,
                        problem=None if regular else "is no regular file",
                    )

    def read(self, path: bytes, expected_bytes: int | None = None) -> bytes:
        """Return the whole content of a file. Raises OSError."""
        descriptor = os.open(self._path(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            # One byte more than there should be: reading it all then takes one call.
            wanted = 1 + (
                os.fstat(descriptor).st_size if expected_bytes is None else expected_bytes
            )
            content = os.read(descriptor, wanted)
            if len(content) < wanted - 1 or len(content) == wanted:
                pieces = [content]  # it grows or shrinks, or one read gives at most 2 GiB
                while piece := os.read(descriptor, 1 << 24):
                    pieces.append(piece)
                content = b"".join(pieces)
            return content
        finally:
            os.close(descriptor)

    def read_range(self, path: bytes, start: int, stop: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``stop``. Raises OSError."""
        with open(self._path(path), "rb", buffering=0) as stream:
            stream.seek(start)
            pieces = []
            while start < stop and (piece := stream.read(stop - start)):
                pieces.append(piece)
                start += len(piece)
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def open(self, path: bytes) -> BinaryIO:
        """Open a file for reading from front to back. Raises OSError."""
        return open(self._path(path), "rb")

    def chunks(self, path: bytes) -> Iterator[bytes]:
        """Yield the content of a file piece by piece. Raises OSError."""
        with open(self._path(path), "rb", buffering=0) as stream:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk

    def read_many(
        self, paths: Sequence[bytes], expected: Sequence[int] | None = None
    ) -> Iterator[bytes | OSError]:
        """Yield the content of each file in turn, or the error in its place."""
        for path, expected_bytes in zip(paths, expected or repeat(None), strict=False):
            try:
                yield self.read(path, expected_bytes)
            except OSError as error:
                yield error

    @contextlib.contextmanager
    def create(self, path: bytes) -> Iterator[OutputFile]:
        """Open a file for writing; it is on disk (fsync) when the block ends."""
        where = self._where(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        try:
            descriptor = os.open(self._path(path), flags, 0o666)
        except OSError as error:
            raise cannot_write(where, error) from None
        try:
            yield _LocalFile(descriptor, where)
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise cannot_write(where, error) from None
        finally:
            os.close(descriptor)

    def make_folder(self, path: bytes = b"") -> None:
        """Create a folder and its parents, where missing. Raises DatasetError."""
        try:
            os.makedirs(self._path(path), exist_ok=True)
        except OSError as error:
            raise cannot_write(self._where(path), error) from None

    def rename(self, source: bytes, target: bytes) -> None:
        """Move a file, replacing what has the new name. Raises DatasetError."""
        try:
            os.replace(self._path(source), self._path(target))
        except OSError as error:
            raise cannot_write(self._where(target), error) from None

    def remove(self, path: bytes) -> None:
        """Remove a file, if it is there. Raises DatasetError."""
        try:
            os.unlink(self._path(path))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise DatasetError(
                f"{self._where(path)} could not be removed: {reason_of(error)}"
            ) from None

    def remove_tree(self, path: bytes) -> None:
        """Remove a folder with all in it, if it is there."""
        shutil.rmtree(self._path(path), ignore_errors=True)

    def sync(self, path: bytes = b"") -> None:
        """Make the names in a folder durable (fsync of the folder)."""
        descriptor = os.open(self._path(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder's lock (flock). Raises DatasetError if another process has it."""
        descriptor = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DatasetError(
                    f"{self.url} is being written by another conversion; wait for it to end, "
                    "or choose another output folder"
                ) from None
            yield
        finally:
            os.close(descriptor)
