"""Draws the text of the benchmarks: lines of about 100 bytes, documents of about 1.3 KB.

The words are made of syllables, the shortest first, and the n-th is drawn about 1/n times as
often as the first: words of natural languages are as unequal (Zipf's law), and the frequent ones
are short. Some syllables are not ASCII. The first records are the same for any number of them.
"""

from __future__ import annotations

import enum
import functools
import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.kept_inputs import joined_bytes, kept_file
from benchmarks.peers.text_columns import CLASS_NAMES

DRAWING_VERSION = 1
"""Part of the names of files: raise it when a change makes other records."""

CHUNK_NUM_LINES = 50_000
DOCUMENT_NUM_LINES = 13

MIN_LINE_WORDS, MAX_LINE_WORDS = 8, 29
_SYLLABLES = (
    "te na so ri lu ma de ko pi ra ta ne si lo mu da ke po ti ro se la ru mi do ka pe no né lü"
)
SYLLABLES = tuple(_SYLLABLES.split())
MAX_WORD_SYLLABLES = 3
ZIPF_SHIFT = 2.7
"""Mandelbrot's correction: without it the most frequent word would be too frequent."""

_COPIED_BYTES = 1 << 24


class TextKind(enum.Enum):
    """What is drawn; the value is a part of the name of the file or folder."""

    LINES = "lines"
    DOCUMENTS = "documents"

    @property
    def default_num_records(self) -> int:
        """How many the targets of the project are set for."""
        return {TextKind.LINES: 1_000_000, TextKind.DOCUMENTS: 50_000}[self]


def drawn_text(kind: TextKind, num_records: int, work: Path) -> Path:
    """Return a file of lines, or a folder of documents, drawn unless it is there."""
    name = f"{kind.value}-{num_records}-v{DRAWING_VERSION}"
    if kind is TextKind.DOCUMENTS:
        return _kept_documents(work / name, num_records)
    chunks = (joined_bytes(lines) for lines in _line_chunks(num_records))
    return kept_file(work / f"{name}.txt", chunks)


def repeated_file(path: Path, num_times: int, target: Path) -> Path:
    """Write what is in the file ``path`` to ``target``, ``num_times`` over."""
    with target.open("wb") as copy:
        for _ in range(num_times):
            with path.open("rb") as file:
                shutil.copyfileobj(file, copy, _COPIED_BYTES)
    return target


def file_with_long_line(num_bytes: int, target: Path) -> Path:
    """Write lines of which one, in the middle, has ``num_bytes`` without its line feed."""
    lines = joined_bytes(draw_lines(0))
    words = lines.replace(b"\n", b" ")
    long_line = (words * (num_bytes // len(words) + 1))[:num_bytes]
    # A character that was cut through at the end would be a fault of the file.
    mended = long_line.decode(errors="ignore").encode().ljust(num_bytes, b".")
    target.write_bytes(b"".join([lines, mended, b"\n", lines]))
    return target


def draw_lines(chunk_index: int) -> pa.StringArray:
    """Return CHUNK_NUM_LINES lines, each with its line feed."""
    random = np.random.default_rng([DRAWING_VERSION, chunk_index])
    vocabulary, shares = _vocabulary()
    num_words = random.integers(MIN_LINE_WORDS, MAX_LINE_WORDS, CHUNK_NUM_LINES, endpoint=True)
    starts = np.concatenate([[0], np.cumsum(num_words)])
    indices = np.searchsorted(shares, random.random(starts[-1]), side="right")
    words = vocabulary.take(pa.array(indices))
    lines = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), words)
    return pc.binary_join_element_wise(pc.binary_join(lines, " "), "\n", "")


@functools.cache
def _vocabulary() -> tuple[pa.StringArray, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return all words and, per word, the share of itself and of all words before it."""
    words = [
        "".join(syllables)
        for num_syllables in range(1, MAX_WORD_SYLLABLES + 1)
        for syllables in itertools.product(SYLLABLES, repeat=num_syllables)
    ]
    shares = np.cumsum(1 / (np.arange(1, len(words) + 1) + ZIPF_SHIFT))
    return pa.array(words), shares / shares[-1]


def _line_chunks(num_lines: int) -> Iterator[pa.StringArray]:
    for chunk_index, start in enumerate(range(0, num_lines, CHUNK_NUM_LINES)):
        yield draw_lines(chunk_index).slice(0, num_lines - start)


def _kept_documents(folder: Path, num_documents: int) -> Path:
    """Return a folder with class folders of files, the classes in turns."""
    if folder.is_dir():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for name in CLASS_NAMES:
        (partial / name).mkdir(parents=True)
    lines = itertools.chain.from_iterable(
        chunk.to_pylist() for chunk in _line_chunks(num_documents * DOCUMENT_NUM_LINES)
    )
    # One file after the other: it is files that are drawn here.
    for index in range(num_documents):
        class_name = CLASS_NAMES[index % len(CLASS_NAMES)]
        text = "".join(itertools.islice(lines, DOCUMENT_NUM_LINES))
        path = partial / class_name / f"document_{index:06}.txt"
        path.write_bytes(text.encode())
    partial.rename(folder)  # last, so that a folder that was broken off is never used
    return folder
