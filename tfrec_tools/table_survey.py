"""What must be learnt from the cells of a table before planning; merged in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from tfrec_tools import inference
from tfrec_tools.inference import ColumnEvidence
from tfrec_tools.request import Request
from tfrec_tools.schema import ClassLabelFeature, ImageFeature, TokensFeature
from tfrec_tools.tables import Table, TableUnit

MAX_CLASSES = 10_000
"""A column with more distinct values is no label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyNeeds:
    """What the request leaves open.

    ``evidence``: columns whose kind is to be inferred. ``classes``: columns whose distinct
    values are the names of classes, with their separator. ``stratify``: the column whose
    classes are to be divided alike. ``references``: columns that name files, and their root.
    ``words``: features whose vocabulary is to be found, each with its column.
    """

    evidence: tuple[str, ...] = ()
    classes: Mapping[str, str | None] = field(default_factory=dict)
    stratify: str | None = None
    references: tuple[tuple[str, str], ...] = ()
    words: tuple[tuple[str, str], ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read; none if nothing is open."""
        named = [*self.evidence, *self.classes, *(column for column, _ in self.references)]
        named += [column for _, column in self.words]
        named += [self.stratify] if self.stratify is not None else []
        return tuple(dict.fromkeys(named))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSurvey:
    """What was found. ``classes``: None for a column with too many distinct values.

    ``bins``: how many split hashes fall in which bin, per class. ``words``: how often each
    word stands in the source, per feature.
    """

    evidence: Mapping[str, ColumnEvidence] = field(default_factory=dict)
    classes: Mapping[str, frozenset[str] | None] = field(default_factory=dict)
    bins: Mapping[bytes, Mapping[int, int]] = field(default_factory=dict)
    reference_bytes: int = 0
    words: Mapping[str, Mapping[bytes, int]] = field(default_factory=dict)


def merge(surveys: Iterable[TableSurvey]) -> TableSurvey:
    """Return one survey of all units; the order in which they come does not matter."""
    evidence: dict[str, ColumnEvidence] = {}
    classes: dict[str, frozenset[str] | None] = {}
    bins: dict[bytes, dict[int, int]] = {}
    reference_bytes = 0
    words: dict[str, Counter[bytes]] = {}
    for survey in surveys:
        for name, found in survey.evidence.items():
            evidence[name] = inference.merge(evidence[name], found) if name in evidence else found
        for name, values in survey.classes.items():
            classes[name] = _union(classes[name], values) if name in classes else values
        for label, counts in survey.bins.items():
            into = bins.setdefault(label, {})
            for bin_index, count in counts.items():
                into[bin_index] = into.get(bin_index, 0) + count
        reference_bytes += survey.reference_bytes
        for name, numbers in survey.words.items():
            words.setdefault(name, Counter()).update(numbers)
    return TableSurvey(
        evidence=evidence,
        classes=classes,
        bins=bins,
        reference_bytes=reference_bytes,
        words=words,
    )


def _union(a: frozenset[str] | None, b: frozenset[str] | None) -> frozenset[str] | None:
    if a is None or b is None or len(a | b) > MAX_CLASSES:
        return None
    return a | b


def survey_needs(request: Request, table: Table) -> SurveyNeeds:
    """Return what must be learnt from the cells for this request.

    Names that are no columns are left out: resolving the request says what is wrong.
    """
    needs = _asked_needs(request, table)
    known = frozenset(table.columns)
    return SurveyNeeds(
        evidence=tuple(name for name in needs.evidence if name in known),
        classes={name: s for name, s in needs.classes.items() if name in known},
        stratify=needs.stratify if needs.stratify in known else None,
        references=tuple(pair for pair in needs.references if pair[0] in known),
        words=tuple((n, c) for n, c in needs.words if c in known and _is_text(table.types[c])),
    )


def _is_text(type_: pa.DataType) -> bool:
    """Say whether a column has words; what is wrong with others is said when all is resolved."""
    return TokensFeature(vocabulary_size=1).accepts(type_) is None


def _asked_needs(request: Request, table: Table) -> SurveyNeeds:
    schema, target = request.schema, request.source.target
    splits = request.splits
    if schema is None:
        columns = (*(request.source.columns or table.columns), *((target,) if target else ()))
        return SurveyNeeds(
            evidence=tuple(dict.fromkeys(columns)) if table.is_text else (),
            classes={target: None} if target is not None else {},
            stratify=splits.stratify if splits is not None else None,
        )
    frozen = (request.splits_from or {}).get("class_names") or {}
    labels = schema.features_of(ClassLabelFeature)
    stratify = splits.stratify if splits is not None else None
    return SurveyNeeds(
        classes={
            feature.from_ or name: feature.separator
            for name, feature in labels.items()
            if feature.names is None and name not in frozen
        },
        stratify=(labels[stratify].from_ or stratify) if stratify in labels else None,
        references=tuple(
            (feature.from_ or name, feature.root or "")
            for name, feature in schema.features_of(ImageFeature).items()
        ),
        words=tuple(
            (name, feature.from_ or name)
            for name, feature in schema.features_of(TokensFeature).items()
            if feature.vocabulary_size is not None
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedTable:
    """All that is known before planning: the table, its units, what its cells told."""

    table: Table
    units: tuple[TableUnit, ...]
    survey: TableSurvey
