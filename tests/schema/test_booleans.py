"""Booleans: the words people write for true and false, in any case."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tfrec_tools.schema import BoolFeature, StoredColumn, StoredType


def cells(*texts: str | bytes | None) -> pa.Array:
    values = [text.encode() if isinstance(text, str) else text for text in texts]
    return pa.array(values, pa.binary())


class TestBoolFeature:
    def test_takes_the_usual_words_in_any_case(self) -> None:
        encoded = BoolFeature().encode(
            cells("true", "TRUE", "Yes", "1", "t", "Y", "oN", " true ", None)
        )
        assert encoded.values.to_pylist() == [1, 1, 1, 1, 1, 1, 1, 1, None]
        encoded = BoolFeature().encode(
            cells("false", "False", "nO", "0", "F", "n", "OFF", "\t0", None)
        )
        assert encoded.values.to_pylist() == [0, 0, 0, 0, 0, 0, 0, 0, None]
        assert encoded.values.type == pa.int64()
        assert encoded.faults == {}

    @pytest.mark.parametrize("text", ["", "2", "-1", "tru", "yes please", "oui", "nan", "1.0"])
    def test_refuses_all_else(self, text: str) -> None:
        faults = BoolFeature().encode(cells("yes", None, text)).faults
        assert faults == {2: f"must be true or false, yes or no, 1 or 0 (got {text!r})"}

    def test_shows_bytes_that_are_no_text_escaped(self) -> None:
        faults = BoolFeature().encode(cells(b"\xff")).faults
        assert faults == {0: r"must be true or false, yes or no, 1 or 0 (got '\\xff')"}

    def test_takes_booleans(self) -> None:
        encoded = BoolFeature().encode(pa.array([True, None, False]))
        assert encoded.values.to_pylist() == [1, None, 0]

    @pytest.mark.parametrize(
        ("missing", "value", "faults"),
        [
            (None, None, {}),
            ("empty", None, {}),
            (True, 1, {}),
            (False, 0, {}),
            ("error", None, {0: "must not be missing"}),
        ],
    )
    def test_says_what_stands_for_a_missing_one(
        self, missing: Any, value: int | None, faults: dict[int, str]
    ) -> None:
        encoded = BoolFeature(missing=missing).encode(cells(None, "yes"))
        assert encoded.values.to_pylist() == [value, 1]
        assert encoded.faults == faults

    def test_takes_text_and_booleans_only(self) -> None:
        assert BoolFeature().accepts(pa.bool_()) is None
        assert BoolFeature().accepts(pa.string()) is None
        assert BoolFeature().accepts(pa.int64()) == "holds int64, which kind bool does not take"
        assert BoolFeature().accepts(pa.list_(pa.bool_())) == (
            "holds list<item: bool>, which kind bool does not take"
        )

    def test_stores_one_integer(self) -> None:
        assert BoolFeature().stored("x") == (StoredColumn("x", StoredType.INT64),)
