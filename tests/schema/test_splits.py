"""Splits: ratios are the numbers written down, and wishes that contradict are refused."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest

from tfrec_tools.schema import SplitsSpec
from tfrec_tools.schema.splits import exact_ratio


class TestExactRatio:
    @pytest.mark.parametrize(
        ("written", "ratio"),
        [
            (0.1, Fraction(1, 10)),
            ("0.1", Fraction(1, 10)),
            ("1/3", Fraction(1, 3)),
            (1, Fraction(1)),
            ("1e-3", Fraction(1, 1000)),
        ],
    )
    def test_is_the_number_that_was_written_down(
        self, written: float | str, ratio: Fraction
    ) -> None:
        assert exact_ratio(written) == ratio

    @pytest.mark.parametrize("written", ["", "x", "80%", "1/0", float("nan"), float("inf")])
    def test_must_be_a_number(self, written: float | str) -> None:
        with pytest.raises(ValueError, match=r"^a ratio must be a number such as 0.8 "):
            exact_ratio(written)

    @pytest.mark.parametrize("written", [0, -0.1, 1.1, "3/2"])
    def test_must_be_a_share(self, written: float | str) -> None:
        sentence = re.escape(f"a ratio must be above 0 and at most 1 (got {written})")
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            exact_ratio(written)


class TestSplitsSpec:
    def test_ratios_that_no_double_can_add_up_sum_to_one(self) -> None:
        spec = SplitsSpec(ratios={"train": 0.7, "validation": 0.2, "test": 0.1})
        assert list(spec.exact_ratios.items()) == [
            ("train", Fraction(7, 10)),
            ("validation", Fraction(1, 5)),
            ("test", Fraction(1, 10)),
        ]

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({}, "must have either ratios or files"),
            (
                {"ratios": {"a": 1}, "files": {"a": ("*",)}},
                "must have either ratios or files",
            ),
            (
                {"files": {"a": ("*",)}, "by": "x"},
                "`by` and `stratify` go with ratios, not with files",
            ),
            (
                {"files": {"a": ("*",)}, "stratify": "x"},
                "`by` and `stratify` go with ratios, not with files",
            ),
            (
                {"ratios": {"a": 1}, "by": "x", "stratify": "y"},
                "`by` keeps groups together and `stratify` cuts through them: give one of them",
            ),
            (
                {"ratios": {"a": 1}, "by": "x", "method": "order"},
                "`method: order` cuts the source in its order: give it, or `by` or `stratify`",
            ),
            (
                {"ratios": {"a": 1}, "stratify": "x", "method": "order"},
                "`method: order` cuts the source in its order: give it, or `by` or `stratify`",
            ),
            (
                {"files": {"a": ("*",)}, "method": "order"},
                "`method: order` goes with ratios, not with files",
            ),
            ({"ratios": {}}, "must name at least one split"),
            ({"files": {}}, "must name at least one split"),
            (
                {"ratios": {"a/b": 1}},
                "a split's name must consist of letters, digits, '_' and '-' (got 'a/b')",
            ),
            ({"ratios": {"a": 0.5, "b": 0.4}}, "ratios must sum to 1 (they sum to 0.9)"),
            ({"ratios": {"a": "x"}}, "a ratio must be a number such as 0.8 (got 'x')"),
        ],
    )
    def test_a_contradiction_is_refused(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            SplitsSpec(**options)

    def test_a_source_may_be_cut_in_its_order(self) -> None:
        spec = SplitsSpec(ratios={"train": 0.5, "test": 0.5}, method="order")
        assert spec.method == "order"
        assert SplitsSpec(ratios={"train": 1}).method == "hash"
