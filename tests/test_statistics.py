"""Exact statistics of columns, merged in any number of parts."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tfrec_tools.schema import (
    BytesFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    Float64Feature,
    Int64Feature,
    TextFeature,
    TimestampFeature,
    TokensFeature,
)
from tfrec_tools.statistics import MAX_DISTINCT, ColumnStatistics


def counted(feature: Feature, *columns: pa.Array) -> dict[str, Any]:
    """The statistics of columns that were counted apart and merged."""
    merged = ColumnStatistics()
    for column in columns:
        part = ColumnStatistics()
        part.add(feature, column)
        merged.merge(part)
    return merged.to_dict(feature)


def test_whole_numbers_are_summed_exactly() -> None:
    numbers = [2**63 - 1, 2**63 - 1, -(2**63), 2**53 + 1, -1]
    expected = {
        "missing": 1,
        "values": 5,
        "min": -(2**63),
        "max": 2**63 - 1,
        "mean": sum(numbers) / 5,
        "distinct": 4,
    }
    for columns in ([[*numbers, None]], [numbers[:2], [None], numbers[2:]], [[], numbers, [None]]):
        found = counted(Int64Feature(), *(pa.array(part, pa.int64()) for part in columns))
        std = found.pop("std")
        assert found == expected
        mean = sum(numbers) / 5
        assert std == pytest.approx(math.sqrt(sum((n - mean) ** 2 for n in numbers) / 5), rel=1e-12)


def test_the_spread_of_times_does_not_cancel() -> None:
    """Seconds of a day far from zero: squares of them would lose all digits."""
    times = [1_700_000_000_000_000_000 + 1_000_000_000 * number for number in range(10)]
    found = counted(TimestampFeature(unit="ns"), pa.array(times[:4]), pa.array(times[4:]))
    assert found["min"] == times[0]
    assert found["max"] == times[-1]
    assert found["std"] == pytest.approx(1e9 * math.sqrt(8.25), rel=1e-6)
    assert found["distinct"] == 10


def test_floats() -> None:
    column = pa.array([0.5, float("nan"), 2.5, None, -1.0], pa.float32())
    assert counted(Float32Feature(), column) == {
        "missing": 2,
        "values": 3,
        "min": -1.0,
        "max": 2.5,
        "mean": 2.0 / 3,
        "std": pytest.approx(1.4337208778404378),
        "distinct": 3,
    }
    parts = [column.slice(0, 1), column.slice(1, 1), column.slice(2)]
    assert counted(Float32Feature(), *parts)["std"] == pytest.approx(1.4337208778404378)


def test_the_same_parts_give_the_same_bits() -> None:
    values = np.random.default_rng(0).normal(size=10_000)
    parts = [pa.array(part) for part in np.array_split(values, 7)]
    first = counted(Float64Feature(store="float32"), *parts)
    assert first == counted(Float64Feature(store="float32"), *parts)
    assert first["mean"] == pytest.approx(values.mean(), rel=1e-9)
    assert first["std"] == pytest.approx(values.std(), rel=1e-9)


def test_doubles_are_counted_from_their_bytes() -> None:
    stored = [struct.pack("<d", value) for value in (0.1, 0.2, float("nan"))]
    found = counted(Float64Feature(), pa.array([*stored, None], pa.large_binary()))
    assert (found["missing"], found["values"]) == (2, 2)
    assert (found["min"], found["max"]) == (0.1, 0.2)
    lists = pa.array(
        [struct.pack("<2d", 1.0, 2.0), struct.pack("<2d", 3.0, 4.0)], pa.large_binary()
    )
    assert counted(Float64Feature(shape=(2,)), lists)["values"] == 4


def test_numbers_too_large_for_sums_are_left_out() -> None:
    for values in ([1e308, 1e308], [float("inf"), 1.0], [float("inf"), float("-inf")]):
        parts = [pa.array([value]) for value in values]
        for columns in ([pa.array(values)], parts, [*parts, *parts]):
            found = counted(Float64Feature(store="float32"), *columns)
            assert found["values"] == len(values) * (2 if len(columns) == 4 else 1)
            assert all(math.isfinite(found[name]) for name in found)
            assert found["distinct"] == len(set(values))


def test_lists() -> None:
    column = pa.array([[1, 2], [], None, [5]], pa.large_list(pa.int64()))
    assert counted(Int64Feature(many=True), column) == {
        "missing": 2,
        "values": 3,
        "min": 1,
        "max": 5,
        "mean": 8 / 3,
        "std": pytest.approx(math.sqrt(26 / 9)),
        "distinct": 3,
    }
    sliced = column.slice(2)
    assert counted(Int64Feature(many=True), sliced)["values"] == 1


def test_packed_columns_with_nan() -> None:
    column = pa.array([[1.0, float("nan")], [3.0, 5.0]], pa.large_list(pa.float32()))
    found = counted(Float32Feature(shape=(2,)), column)
    assert (found["missing"], found["values"], found["max"]) == (0, 3, 5.0)


def test_lengths_of_texts_are_characters_and_of_bytes_bytes() -> None:
    column = pa.array(["a", "äöü", "", None, "a"], pa.large_string()).cast(pa.large_binary())
    assert counted(TextFeature(), column) == {
        "missing": 1,
        "values": 4,
        "min_length": 0,
        "max_length": 3,
        "mean_length": 5 / 4,
        "std_length": pytest.approx(math.sqrt((0.25**2 * 2) / 4 + (1.75**2 + 1.25**2) / 4)),
        "distinct": 3,
    }
    assert counted(BytesFeature(), column)["max_length"] == 6


def test_classes_are_counted() -> None:
    feature = ClassLabelFeature(names=("a", "b", "c"))
    columns = [pa.array([0, 2, None], pa.int64()), pa.array([2], pa.int64())]
    assert counted(feature, *columns) == {"missing": 1, "values": 3, "counts": [1, 0, 2]}
    lists = pa.array([[0, 1], []], pa.large_list(pa.int64()))
    assert counted(ClassLabelFeature(names=("a", "b"), many=True), lists) == {
        "missing": 1,
        "values": 2,
        "counts": [1, 1],
    }


def test_distinct_values_are_exact_up_to_a_limit() -> None:
    exact = pa.array(np.arange(MAX_DISTINCT))
    one_more = pa.array([MAX_DISTINCT])
    assert counted(Int64Feature(), exact, exact)["distinct"] == MAX_DISTINCT
    for columns in ([exact, one_more], [one_more, exact], [pa.array(np.arange(MAX_DISTINCT + 1))]):
        assert counted(Int64Feature(), *columns)["distinct"] is None
    long = [f"{number:040}" for number in range(50)] * 2
    texts = pa.array(long, pa.large_string()).cast(pa.large_binary())
    assert counted(TextFeature(), texts)["distinct"] == 50


def test_nothing_but_missing_values() -> None:
    column = pa.array([None, None], pa.int64())
    assert counted(Int64Feature(), column) == {"missing": 2, "values": 0, "distinct": 0}
    column = pa.array([math.nan], pa.float32())
    assert counted(Float32Feature(), column) == {"missing": 1, "values": 0, "distinct": 0}


def test_of_tokens_lengths_are_counted() -> None:
    column = pa.array([[5, 6, 7], [], None, [5]], pa.large_list(pa.int64()))
    expected = {
        "missing": 2,
        "values": 4,
        "min_length": 0,
        "max_length": 3,
        "mean_length": 1.0,
        "std_length": pytest.approx(math.sqrt(6 / 4)),
    }
    feature = TokensFeature(vocabulary=("a",))
    assert counted(feature, column) == expected
    assert counted(feature, column[:1], column[1:3], column[3:]) == expected
    assert counted(feature, column[:0]) == {"missing": 0, "values": 0}


def test_of_packed_tokens_the_lengths_may_be_given() -> None:
    feature = TokensFeature(tokenizer="t.model", pack=True, max_length=4)
    assert counted(feature, pa.array([4, 4], pa.int64()), pa.array([1], pa.int64())) == {
        "missing": 0,
        "values": 9,
        "min_length": 1,
        "max_length": 4,
        "mean_length": 3.0,
        "std_length": pytest.approx(math.sqrt(2)),
    }
    whole = pa.array([[1, 2, 3, 4]], pa.large_list(pa.int64()))
    assert counted(feature, whole)["values"] == 4
