"""Where bytes lie: local paths and fsspec URLs behind one small interface.

The only module that opens, lists, renames or removes. Paths are bytes relative to a
storage's root, since local file names need not be text. Errors while reading are
``OSError`` (the caller knows which record they concern); errors while writing are
``DatasetError``, since nobody can go on after one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, Protocol

from tfrec_tools.errors import DatasetError, MissingDependencyError, RequestError

MAX_PIECES_PER_WRITE = 1024  # IOV_MAX on Linux
REMOTE_READS_IN_FLIGHT = 16
"""Object stores answer slowly but many at a time."""


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A name in a folder. ``identity`` tells folders reached by several links apart."""

    name: bytes
    is_folder: bool
    num_bytes: int = 0
    identity: tuple[int, int] | None = None
    problem: str | None = None


class OutputFile(Protocol):
    """A file being written."""

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Append the pieces, in order. Raises DatasetError."""


class Storage(Protocol):
    """A folder, local or remote, and all below it."""

    url: str
    is_local: bool

    def exists(self, path: bytes = b"") -> bool:
        """Say whether there is anything at ``path``."""
        ...

    def is_folder(self, path: bytes = b"") -> bool:
        """Say whether ``path`` is a folder."""
        ...

    def size(self, path: bytes) -> int | None:
        """Return the size of a file in bytes, None if there is none."""
        ...

    def entries(self, path: bytes = b"") -> Iterator[FolderEntry]:
        """Yield what is in a folder. Raises OSError."""
        ...

    def read(self, path: bytes) -> bytes:
        """Return the whole content of a file. Raises OSError."""
        ...

    def read_many(self, paths: Sequence[bytes]) -> Iterator[bytes | OSError]:
        """Yield the content of each file in turn, or the error in its place."""
        ...

    def create(self, path: bytes) -> contextlib.AbstractContextManager[OutputFile]:
        """Open a file for writing, complete when the block ends. Raises DatasetError."""
        ...

    def make_folder(self, path: bytes = b"") -> None:
        """Create a folder, where missing. Raises DatasetError."""
        ...

    def rename(self, source: bytes, target: bytes) -> None:
        """Move a file, replacing what has the new name. Raises DatasetError."""
        ...

    def remove(self, path: bytes) -> None:
        """Remove a file, if it is there. Raises DatasetError."""
        ...

    def remove_tree(self, path: bytes) -> None:
        """Remove a folder with all in it, if it is there."""
        ...

    def sync(self, path: bytes = b"") -> None:
        """Make the names in a folder durable."""
        ...

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Hold the lock of the folder, where there are locks. Raises DatasetError."""
        ...


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
    return RemoteStorage(url) if "://" in url else LocalStorage(url)


def reason_of(error: OSError) -> str:
    """Return why the operating system refused, without the path it names."""
    return (error.strerror or type(error).__name__).lower()


def _cannot_write(where: str, error: OSError) -> DatasetError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = "the disk is full; make room and run the same command again to go on"
    else:
        what = reason_of(error)
    return DatasetError(f"{where} could not be written: {what}")


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
            raise _cannot_write(self._where, error) from None


class LocalStorage:
    """A folder of this machine."""

    is_local = True

    def __init__(self, root: str) -> None:
        """Take the folder ``root``, which need not exist yet."""
        self.url = root
        self._root = os.fsencode(root)

    def _path(self, path: bytes) -> bytes:
        return os.path.join(self._root, path) if path else self._root

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

    def read(self, path: bytes) -> bytes:
        """Return the whole content of a file. Raises OSError."""
        descriptor = os.open(self._path(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            wanted = os.fstat(descriptor).st_size + 1
            content = os.read(descriptor, wanted)
            if len(content) < wanted - 1 or len(content) == wanted:
                pieces = [content]  # it grows or shrinks, or one read gives at most 2 GiB
                while piece := os.read(descriptor, 1 << 24):
                    pieces.append(piece)
                content = b"".join(pieces)
            return content
        finally:
            os.close(descriptor)

    def read_many(self, paths: Sequence[bytes]) -> Iterator[bytes | OSError]:
        """Yield the content of each file in turn, or the error in its place."""
        for path in paths:
            try:
                yield self.read(path)
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
            raise _cannot_write(where, error) from None
        try:
            yield _LocalFile(descriptor, where)
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise _cannot_write(where, error) from None
        finally:
            os.close(descriptor)

    def make_folder(self, path: bytes = b"") -> None:
        """Create a folder and its parents, where missing. Raises DatasetError."""
        try:
            os.makedirs(self._path(path), exist_ok=True)
        except OSError as error:
            raise _cannot_write(self._where(path), error) from None

    def rename(self, source: bytes, target: bytes) -> None:
        """Move a file, replacing what has the new name. Raises DatasetError."""
        try:
            os.replace(self._path(source), self._path(target))
        except OSError as error:
            raise _cannot_write(self._where(target), error) from None

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


class _RemoteFile:
    def __init__(self, stream: IO[bytes], where: str) -> None:
        self._stream = stream
        self._where = where

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        try:
            self._stream.write(b"".join(pieces))
        except OSError as error:
            raise _cannot_write(self._where, error) from None


class RemoteStorage:
    """A folder that fsspec reaches: gs://, s3://, memory:// and others."""

    is_local = False

    def __init__(self, url: str) -> None:
        """Open the file system of ``url``. Raises RequestError or MissingDependencyError."""
        import fsspec  # here alone, and only for URLs: it costs 0.2 s of start-up

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
        root = self._root.rstrip("/")
        return f"{root}/{os.fsdecode(path)}" if path else root

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

    def read(self, path: bytes) -> bytes:
        """Return the whole content of an object. Raises OSError."""
        return bytes(self._fs.cat_file(self._path(path)))

    def read_many(self, paths: Sequence[bytes]) -> Iterator[bytes | OSError]:
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
            raise _cannot_write(where, error) from None
        try:
            yield _RemoteFile(stream, where)
        except BaseException:
            # Closing would publish a partial object: let fsspec drop the upload instead.
            with contextlib.suppress(Exception):
                stream.discard()
            raise
        try:
            stream.close()
        except OSError as error:
            raise _cannot_write(where, error) from None

    def make_folder(self, path: bytes = b"") -> None:
        """Create a folder, where the store has folders at all."""
        self._fs.makedirs(self._path(path), exist_ok=True)

    def rename(self, source: bytes, target: bytes) -> None:
        """Move an object, replacing what has the new name."""
        try:
            self._fs.mv(self._path(source), self._path(target))
        except OSError as error:
            raise _cannot_write(self._where(target), error) from None

    def remove(self, path: bytes) -> None:
        """Remove an object, if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path(path))

    def remove_tree(self, path: bytes) -> None:
        """Remove all below a prefix, if there is anything."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm(self._path(path), recursive=True)

    def sync(self, path: bytes = b"") -> None:
        """Do nothing: an object is durable when its upload has ended."""

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Object stores have no locks: two conversions at once are the user's to avoid."""
        yield
