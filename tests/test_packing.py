"""Packing: the sequences joined are all texts with their end marks, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.packing import pack

LISTS = pa.large_list(pa.int64())
END, PAD = 99, 77
Texts = Sequence[Sequence[int] | None]


def lists(*texts: Sequence[int] | None) -> pa.LargeListArray:
    return pa.array(texts, LISTS)


def test_texts_run_on_over_sequences() -> None:
    packed = pack([lists([1, 2, 3], [4]), lists([5, 6])], END, 4, PAD)
    assert packed.sequences.tolist() == [[1, 2, 3, END], [4, END, 5, 6], [END, PAD, PAD, PAD]]
    assert packed.lengths.tolist() == [4, 4, 1]
    assert packed.num_dropped_tokens == 0
    assert packed.sequences.dtype == packed.lengths.dtype == np.int64


def test_the_rest_can_be_dropped() -> None:
    packed = pack([lists([1, 2, 3], [4], [5, 6])], END, 4, PAD, "drop")
    assert packed.sequences.tolist() == [[1, 2, 3, END], [4, END, 5, 6]]
    assert packed.lengths.tolist() == [4, 4]
    assert packed.num_dropped_tokens == 1


@pytest.mark.parametrize("remainder", ["pad", "drop"])
def test_without_a_rest_nothing_is_filled_or_dropped(remainder) -> None:
    packed = pack([lists([1], [2, 3, 4])], END, 3, PAD, remainder)
    assert packed.sequences.tolist() == [[1, END, 2], [3, 4, END]]
    assert packed.lengths.tolist() == [3, 3]
    assert packed.num_dropped_tokens == 0


def test_an_empty_text_is_an_end_mark_and_a_missing_one_is_nothing() -> None:
    packed = pack([lists([], None, [1], None, [])], END, 5, PAD)
    assert packed.sequences.tolist() == [[END, 1, END, END, PAD]]
    assert packed.lengths.tolist() == [4]


@pytest.mark.parametrize("parts", [[], [lists()], [lists(None, None)]])
def test_no_text_is_no_sequence(parts) -> None:
    packed = pack(parts, END, 5, PAD)
    assert packed.sequences.shape == (0, 5)
    assert packed.lengths.tolist() == []


def test_a_text_may_be_longer_than_many_sequences() -> None:
    packed = pack([lists(range(7))], END, 3, PAD)
    assert packed.sequences.tolist() == [[0, 1, 2], [3, 4, 5], [6, END, PAD]]
    assert packed.lengths.tolist() == [3, 3, 2]


def test_a_length_must_be_one() -> None:
    with pytest.raises(ValueError, match=r"^length must be at least 1 \(got 0\)$"):
        pack([], END, 0)


TEXTS = st.lists(st.none() | st.lists(st.integers(0, 50), max_size=6), max_size=12)


@given(TEXTS, st.lists(st.integers(0, 12), max_size=3), st.integers(1, 7), st.booleans())
def test_joined_sequences_are_the_stream(texts: Texts, cuts, length, drops) -> None:
    """Whatever the batches in which the texts came, slices of larger ones included."""
    whole = pa.array(texts, LISTS)
    bounds = sorted({0, len(texts), *(min(cut, len(texts)) for cut in cuts)})
    batches = [whole[start:stop] for start, stop in itertools.pairwise(bounds)]
    packed = pack(batches, END, length, PAD, "drop" if drops else "pad")
    stream = [token for text in texts if text is not None for token in (*text, END)]
    found = [
        token
        for sequence, size in zip(packed.sequences.tolist(), packed.lengths.tolist(), strict=True)
        for token in sequence[:size]
    ]
    whole_length = len(stream) - len(stream) % length if drops else len(stream)
    assert found == stream[:whole_length]
    assert packed.num_dropped_tokens == len(stream) - whole_length
    padding = [
        token
        for sequence, size in zip(packed.sequences.tolist(), packed.lengths.tolist(), strict=True)
        for token in sequence[size:]
    ]
    assert padding == [PAD] * (packed.sequences.size - whole_length)
    assert packed.sequences.shape[1] == length
    assert all(size == length for size in packed.lengths[:-1])
