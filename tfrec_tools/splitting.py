"""The rule that gives each record its split, resolved: plain values, the same on every engine.

A rule is stored in the manifest, so that data added later can be divided as before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tfrec_tools import placement
from tfrec_tools.errors import DatasetError, RequestError, SourceError, counted, listed
from tfrec_tools.layout import SPLIT_ORDER, Layout
from tfrec_tools.request import Request
from tfrec_tools.survey import FileGroup, Survey

DEFAULT_SPLIT = "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRule:
    """How records are divided into ``names``.

    ``one``: all in the only split. ``folders``, ``files``: the path says it. ``hash``: the
    split hash of the key, or of the column ``by``, against ``thresholds``. ``stratified``: the
    split hash of the key against the thresholds of the record's class. ``order``: by the
    record's position in the source, the shares one after the other.
    """

    method: Literal["one", "folders", "files", "hash", "stratified", "order"]
    names: tuple[str, ...]
    seed: int = 0
    ratios: tuple[str, ...] = ()
    by: str | None = None
    stratify: str | None = None
    thresholds: tuple[int, ...] = ()
    class_thresholds: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; thresholds as hexadecimal text, being 64 bits wide."""
        data: dict[str, Any] = {"method": self.method, "names": list(self.names)}
        if self.method in ("hash", "stratified"):
            data |= {"seed": self.seed, "ratios": list(self.ratios)}
        if self.method == "order":
            data |= {"ratios": list(self.ratios)}
        if self.by is not None:
            data["by"] = self.by
        if self.thresholds:
            data["thresholds"] = [f"{threshold:x}" for threshold in self.thresholds]
        if self.stratify is not None:
            data["stratify"] = self.stratify
            data["class_thresholds"] = {
                name: [f"{threshold:x}" for threshold in thresholds]
                for name, thresholds in sorted(self.class_thresholds.items())
            }
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SplitRule:
        """Return the rule that `to_dict` wrote. Raises DatasetError if it is none."""
        try:
            return cls(
                method=data["method"],
                names=tuple(data["names"]),
                seed=data.get("seed", 0),
                ratios=tuple(data.get("ratios", ())),
                by=data.get("by"),
                stratify=data.get("stratify"),
                thresholds=tuple(int(t, 16) for t in data.get("thresholds", ())),
                class_thresholds={
                    name: tuple(int(t, 16) for t in thresholds)
                    for name, thresholds in data.get("class_thresholds", {}).items()
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DatasetError(f"the manifest's splits_rule makes no sense ({error})") from None

    @property
    def is_by_path(self) -> bool:
        """Whether folders or patterns, not hashes, decide."""
        return self.method in ("folders", "files")

    def share(self, index: int) -> Fraction:
        """Return the share of all records that split ``index`` is to get."""
        return Fraction(self.ratios[index]) if self.ratios else Fraction(1)


def unmatched_error(number: int, paths: Sequence[str]) -> RequestError:
    """Return the error that so many files, these among them, fit no split pattern."""
    shown = ", ".join(paths[:3]) + (f" and {number - 3:,} more" if number > 3 else "")
    return RequestError(
        f"every file must fit a --split pattern ({counted(number, 'file')} fit none: "
        f"{shown}); add a pattern, or --exclude them"
    )


def resolve_splits(request: Request, layout: Layout, survey: Survey) -> SplitRule:
    """Return the rule that the request and the folders together mean.

    Raises RequestError where they contradict each other.
    """
    spec = request.splits
    if spec is not None and spec.files is not None:
        if survey.num_unmatched:
            raise unmatched_error(survey.num_unmatched, survey.unmatched)
        return SplitRule(method="files", names=tuple(spec.files))
    asked = "--splits-from" if request.splits_from is not None else "ratios"
    if layout.folder_splits is not None:
        if spec is not None or request.splits_from is not None:
            folders = listed(sorted(layout.folder_splits.values()))
            raise RequestError(
                f"the folders of {request.source.root} are splits already ({folders}); drop the "
                f"{asked}, or give one of these folders as the source"
            )
        found = set(layout.folder_splits.values())
        return SplitRule(method="folders", names=tuple(n for n in SPLIT_ORDER if n in found))
    if request.splits_from is not None:
        rule = SplitRule.from_dict(request.splits_from["splits_rule"])
        if rule.is_by_path:
            raise RequestError(
                "--splits-from needs a dataset that was divided by ratios "
                f"(that one was divided by {rule.method})"
            )
        return rule
    if spec is None:
        return SplitRule(method="one", names=(DEFAULT_SPLIT,))
    ratios = list(spec.exact_ratios.values())
    shared: dict[str, Any] = {
        "names": tuple(spec.exact_ratios),
        "seed": request.seed,
        "ratios": tuple(str(ratio) for ratio in ratios),
    }
    if spec.stratify is None:
        return SplitRule(
            method="hash", by=spec.by, thresholds=placement.ratio_thresholds(ratios), **shared
        )
    if layout.label_depth is None:
        raise RequestError(f"stratify needs a class label (the source has no {spec.stratify!r})")
    return SplitRule(
        method="stratified",
        stratify=spec.stratify,
        class_thresholds=_class_thresholds(survey, layout.label_depth, ratios),
        **shared,
    )


def _class_thresholds(
    survey: Survey, label_depth: int, ratios: Sequence[Fraction]
) -> dict[str, tuple[int, ...]]:
    by_class: dict[bytes, dict[int, int]] = {}
    for group, count in survey.groups.items():
        bins = by_class.setdefault(group.folder(label_depth), {})
        for bin_index, number in count.bins.items():
            bins[bin_index] = bins.get(bin_index, 0) + number
    return class_thresholds(by_class, ratios)


def class_thresholds(
    by_class: Mapping[bytes, Mapping[int, int]], ratios: Sequence[Fraction]
) -> dict[str, tuple[int, ...]]:
    """Return each class's thresholds; ``by_class``: how many split hashes fall in which bin."""
    thresholds = {}
    for name, bins in sorted(by_class.items()):
        if not bins:
            continue
        indices = np.array(sorted(bins), dtype=np.int64)
        counts = np.array([bins[index] for index in indices.tolist()], dtype=np.int64)
        thresholds[name.decode("utf-8", "backslashreplace")] = placement.stratified_thresholds(
            indices, counts, ratios
        )
    return thresholds


def split_of_group(rule: SplitRule, layout: Layout, group: FileGroup) -> int | None:
    """Return the index of the split of all files in ``group``, None if hashes decide."""
    match rule.method:
        case "one":
            return 0
        case "files":
            return group.glob_index
        case "folders":
            split = layout.split(group.first)
            return None if split is None else rule.names.index(split)
        case _:
            return None


def hashed_splits(
    rule: SplitRule, hashed: Sequence[bytes], labels: Sequence[bytes] | None
) -> pa.Int32Array:
    """Return the split index of each record (int32 [n]) under a rule that hashes.

    ``hashed``: the keys, or the values of the column ``by``; ``labels``: the class of each
    record, where the rule is stratified. Raises SourceError for a class without thresholds.
    """
    return splits_of_hashes(rule, placement.split_hashes(hashed, seed=rule.seed), labels)


def splits_of_hashes(
    rule: SplitRule, hashes: placement.Uint64s, labels: Sequence[bytes] | None
) -> pa.Int32Array:
    """Return what `hashed_splits` does, from the split hashes (uint64 [n])."""
    if rule.method == "hash":
        return pa.array(placement.split_indices(hashes, rule.thresholds).astype(np.int32))
    found = np.zeros(len(hashes), dtype=np.int32)
    classes = np.array(labels, dtype=object)
    for label in set(labels or ()):
        thresholds = rule.class_thresholds.get(label.decode("utf-8", "backslashreplace"))
        if thresholds is None:
            raise SourceError(
                f"class {label.decode('utf-8', 'backslashreplace')!r} must be one of those that "
                "the splits were made for; divide the data anew, or leave the class out"
            )
        here = np.flatnonzero(classes == label)
        found[here] = placement.split_indices(hashes[here], thresholds)
    return pa.array(found)
