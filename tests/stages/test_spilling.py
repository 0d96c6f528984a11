"""Spill files: every record comes back from its range, in the order in which it was added."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tfrec_tools.errors import DatasetError
from tfrec_tools.stages import spilling
from tfrec_tools.stages.spilling import SpillWriter


def spill(path, chunks: list[list[tuple[int, int]]], flush: bool = False):
    """Write (range, number) pairs, a batch per list."""
    writer = SpillWriter(str(path))
    for chunk in chunks:
        bins, numbers = zip(*chunk, strict=True)
        batch = pa.RecordBatch.from_pydict({"n": list(numbers), "t": [f"t{n}" for n in numbers]})
        writer.add(batch, np.array(bins))
        if flush:
            writer.flush()
    return writer.close()


@pytest.mark.parametrize("flush", [False, True])
def test_records_come_back_by_range(tmp_path, flush) -> None:
    first = spill(tmp_path / "0", [[(2, 0), (0, 1), (2, 2)], [(0, 3), (2, 4)]], flush)
    second = spill(tmp_path / "1", [[(0, 5), (1, 6)]], flush)
    found = {
        index: table and table.column("n").to_pylist()
        for index in range(4)
        for table in [spilling.read_range([first, second], index)]
    }
    assert found == {0: [1, 3, 5], 1: [6], 2: [0, 2, 4], 3: None}
    assert spilling.read_range([first], 2).to_pydict()["t"] == ["t0", "t2", "t4"]
    spilling.remove([first, second])
    assert list(tmp_path.iterdir()) == []
    spilling.remove([first])


def test_much_is_written_in_chunks(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(spilling, "CHUNK_BYTES", 100)
    generator = np.random.default_rng(0)
    bins = generator.integers(0, 3, 1_000)
    writer = SpillWriter(str(tmp_path / "0"))
    for start in range(0, 1_000, 10):
        batch = pa.RecordBatch.from_pydict({"n": np.arange(start, start + 10)})
        writer.add(batch, bins[start : start + 10])
    found = writer.close()
    assert len(found.bins) // 8 > 100
    for index in range(3):
        numbers = spilling.read_range([found], index).column("n").to_pylist()
        assert numbers == np.flatnonzero(bins == index).tolist()


def test_nothing_added_leaves_no_file(tmp_path) -> None:
    assert SpillWriter(str(tmp_path / "0")).close() is None
    assert list(tmp_path.iterdir()) == []
    assert spilling.read_range([], 0) is None


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path) -> None:
    with pytest.raises(DatasetError) as caught:
        spill(tmp_path / "none" / "0", [[(0, 1)]])
    assert str(caught.value) == (
        "temporary files could not be written: no such file or directory; make room, or give "
        "another folder with --spill-dir"
    )
