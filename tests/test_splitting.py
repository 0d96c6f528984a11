"""Rules that give records their splits."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tfrec_tools import placement
from tfrec_tools.errors import DatasetError, SourceError
from tfrec_tools.splitting import SplitRule, hashed_splits

KEYS = [b"%d.jpg" % index for index in range(4000)]

RULES = [
    SplitRule(method="one", names=("train",)),
    SplitRule(method="folders", names=("train", "test")),
    SplitRule(
        method="hash",
        names=("train", "test"),
        seed=3,
        ratios=("4/5", "1/5"),
        by="folder",
        thresholds=((1 << 64) * 4 // 5,),
    ),
    SplitRule(
        method="stratified",
        names=("a", "b", "c"),
        ratios=("1/2", "1/4", "1/4"),
        stratify="label",
        class_thresholds={"cat": (1 << 63, 3 << 62), "dog": (5, 1 << 64)},
    ),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.method)
def test_rules_survive_json(rule) -> None:
    assert SplitRule.from_dict(json.loads(json.dumps(rule.to_dict()))) == rule


def test_a_rule_that_is_none() -> None:
    with pytest.raises(DatasetError, match="the manifest's splits_rule makes no sense"):
        SplitRule.from_dict({"names": "x"})


def test_hashes_below_the_threshold_are_in_the_first_split() -> None:
    rule = RULES[2]
    found = np.asarray(hashed_splits(rule, KEYS, None))
    hashes = placement.split_hashes(KEYS, seed=3)
    expected = [0 if int(h) < (1 << 64) * 4 // 5 else 1 for h in hashes]
    assert found.tolist() == expected
    assert abs(found.mean() - 0.2) < 0.02


def test_every_class_has_its_own_thresholds() -> None:
    labels = [b"cat" if index % 2 else b"dog" for index in range(len(KEYS))]
    found = np.asarray(hashed_splits(RULES[3], KEYS, labels))
    cats, dogs = found[1::2], found[0::2]
    assert [round(float((cats == split).mean()), 1) for split in range(3)] == [0.5, 0.2, 0.3]
    assert set(dogs.tolist()) == {1}


def test_a_class_without_thresholds_is_named() -> None:
    with pytest.raises(SourceError, match="class 'emu' must be one of those that the splits"):
        hashed_splits(RULES[3], [b"x"], [b"emu"])
