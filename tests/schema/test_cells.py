"""Cells before their kind is looked at: trimmed, dealt out to lists, told apart."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tfrec_tools.schema.cells import cell_texts, content, lists_of, looked_up, plain, trimmed


def test_plain_cells_are_large_binary_without_dictionaries() -> None:
    for values in (
        pa.array(["a", None]),
        pa.array([b"a", None]),
        pa.array(["a", None]).dictionary_encode(),
    ):
        assert plain(values) == pa.array([b"a", None], pa.large_binary())
    assert plain(pa.array([1])) == pa.array([1])


def test_cell_texts_are_exact_and_whole_numbers_in_decimal_digits() -> None:
    assert cell_texts(pa.array([" a", None])).to_pylist() == [b" a", None]
    assert cell_texts(pa.array([-7, None], pa.int8())).to_pylist() == [b"-7", None]


def test_trimmed_takes_spaces_and_tabs_also_beside_bytes_that_are_no_text() -> None:
    values = pa.array([b" \ta b\t", b" \xff ", b"\n", None], pa.large_binary())
    assert trimmed(values).to_pylist() == [b"a b", b"\xff", b"\n", None]


def test_content_is_that_of_a_slice() -> None:
    data, offsets = content(pa.array([b"ab", b"", b"cd", b"e"], pa.large_binary()).slice(1, 2))
    assert data.tobytes() == b"cd"
    assert offsets.tolist() == [0, 0, 2]
    assert content(pa.array([], pa.large_binary()))[1].tolist() == [0]


def test_looked_up_asks_once_per_distinct_cell() -> None:
    asked: list[bytes] = []

    def meaning(cell: bytes) -> int | None:
        asked.append(cell)
        return {b"a": 7}.get(cell)

    found, wrong = looked_up(pa.array([b"a", b"b", None, b"a"], pa.large_binary()), meaning)
    assert found.to_pylist() == [7, None, None, 7]
    assert wrong.to_pylist() == [False, True, False, False]
    assert asked == [b"a", b"b"]


def test_lists_know_the_record_of_an_item() -> None:
    lists = lists_of(pa.array(["a|b", "", None, "c"]), "|", trim=False)
    assert lists.items.to_pylist() == [b"a", b"b", b"c"]
    assert lists.lengths.tolist() == [2, 0, 0, 1]
    assert lists.present.tolist() == [True, True, False, True]
    assert [lists.record_of(item) for item in range(3)] == [0, 0, 3]
    assert lists.faults({2: "z", 1: "y", 0: "x"}) == {0: "x", 3: "z"}
    assert lists.wrapped(pa.array(np.arange(3))).to_pylist() == [[0, 1], [], None, [2]]
