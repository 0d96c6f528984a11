"""Starting worker processes early and cheaply. Imports nothing heavy itself.

Workers are forked from a server process (multiprocessing's forkserver) that imports the
stages once. Importing NumPy and pyarrow takes as long as converting thousands of images:
the server is started first, so that it imports them while this process does.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import itertools
import multiprocessing
import os
import sys
import types
from collections.abc import Iterator
from multiprocessing import forkserver

SMALL_NUM_FILES = 1_000
"""Fewer files (or little data) are written by one process before a second could help."""

SMALL_NUM_BYTES = 8 << 20
"""A file of less is a table that one process has converted before a second could help."""

_PRELOADED = ["tfrec_tools.local_engine"]


def before_numpy() -> None:
    """Keep NumPy from starting threads to multiply matrices, in processes of our own.

    Nobody here does, and they take 0.1 s to start.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def start_early(source: str) -> None:
    """Start the server process if ``source`` is a local folder with many files, or a big file."""
    with contextlib.suppress(OSError):
        if os.path.isfile(source) and os.path.getsize(source) > SMALL_NUM_BYTES:
            start_forkserver()
            return
    files = _files_below(source) if os.path.isdir(source) else iter(())
    if next(itertools.islice(files, SMALL_NUM_FILES, None), None) is not None:
        start_forkserver()


def start_forkserver() -> None:
    """Start the process that workers are forked from, unless it runs already."""
    multiprocessing.set_forkserver_preload(_PRELOADED)
    with hidden_main():
        forkserver.ensure_running()


@contextlib.contextmanager
def hidden_main() -> Iterator[None]:
    """Let new processes start without running the user's script again.

    multiprocessing imports ``__main__`` into every worker; a training script without an
    ``if __name__`` guard would start over in each.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def tune_own_process(*, gives_back: bool = True) -> None:
    """Set pyarrow up to start quickly and give memory back, in processes of our own.

    Without ``gives_back`` pyarrow's own allocator keeps some: quicker for batches of one size.
    Never in a user's process: where people hand over pandas objects, pyarrow needs pandas.
    """
    import pyarrow as pa

    if gives_back:
        # Of a million listed files 90 MB stay in use then; with the default allocator 110.
        pa.set_memory_pool(pa.system_memory_pool())
    _leave_pandas_out()


def _leave_pandas_out() -> None:
    """Keep pyarrow from importing pandas, which it does at its first use of a Python value.

    That costs 0.35 s and 40 MB in every process that starts.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)  # pyarrow looks once, and remembers what it found
    finally:
        sys.meta_path.remove(finder)


class _NoPandas(importlib.abc.MetaPathFinder):
    """Says that pandas is not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def _files_below(folder: str) -> Iterator[str]:
    """Yield files below a folder, breadth first, without following links."""
    pending = [folder]
    for path in pending:
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)  # the loop goes on to it
                else:
                    yield entry.path
