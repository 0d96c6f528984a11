"""Writes drawn input once: it is there the next time, and never half of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa


def kept_file(path: Path, parts: Iterable[bytes]) -> Path:
    """Return ``path``, with the ``parts`` written to it unless it is there."""
    if path.is_file():
        return path
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        file.writelines(parts)
    partial.rename(path)  # last, so that a file that was broken off is never used
    return path


def joined_bytes(strings: pa.StringArray) -> bytes:
    """Return the UTF-8 of all strings, one after the other; none may be null."""
    _, offsets, values = strings.buffers()
    ends = np.frombuffer(offsets, np.int32)
    start, end = ends[strings.offset], ends[strings.offset + len(strings)]
    return memoryview(values)[start:end].tobytes()
