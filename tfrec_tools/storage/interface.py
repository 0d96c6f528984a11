"""What a storage can do, and how its failures are told."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple, Protocol

from tfrec_tools.errors import DatasetError

CHUNK_BYTES = 8 << 20
"""How much of a file is read at once where it need not be in memory as a whole."""


class FolderEntry(NamedTuple):
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

    def identity(self, path: bytes = b"") -> tuple[int, int] | None:
        """Return what tells a folder apart from others, whatever link leads to it."""
        ...

    def entries(self, path: bytes = b"") -> Iterator[FolderEntry]:
        """Yield what is in a folder. Raises OSError."""
        ...

    def read(self, path: bytes, expected_bytes: int | None = None) -> bytes:
        """Return the whole content of a file; its size is known or a guess. Raises OSError."""
        ...

    def read_range(self, path: bytes, start: int, stop: int) -> bytes:
        """Return the bytes of a file from ``start`` to before ``stop``. Raises OSError."""
        ...

    def open(self, path: bytes) -> BinaryIO:
        """Open a file for reading from front to back. Raises OSError."""
        ...

    def chunks(self, path: bytes) -> Iterator[bytes]:
        """Yield the content of a file piece by piece. Raises OSError."""
        ...

    def read_many(
        self, paths: Sequence[bytes], expected: Sequence[int] | None = None
    ) -> Iterator[bytes | OSError]:
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


def reason_of(error: OSError) -> str:
    """Return why the operating system refused, without the path it names."""
    return (error.strerror or type(error).__name__).lower()


def cannot_write(where: str, error: OSError) -> DatasetError:
    """Return the error that says what could not be written, and what to do."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = "the disk is full; make room and run the same command again to go on"
    else:
        what = reason_of(error)
    return DatasetError(f"{where} could not be written: {what}")
