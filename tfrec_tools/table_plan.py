"""The plan of a table: columns become features, files splits, and cells the shards' sizes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tfrec_tools import inference, placement
from tfrec_tools.errors import RequestError, SourceError, listed
from tfrec_tools.layout import SPLIT_ORDER, SPLIT_WORDS, Layout
from tfrec_tools.plan import Plan, TablePlan, asked_num_shards, dataset_name
from tfrec_tools.records import path_text
from tfrec_tools.request import Check, Order, Request
from tfrec_tools.schema import ClassLabelFeature, Float32Feature, ImageFeature, Schema
from tfrec_tools.splitting import (
    DEFAULT_SPLIT,
    SplitRule,
    class_thresholds,
    unmatched_error,
)
from tfrec_tools.survey import NO_GLOB, glob_indices
from tfrec_tools.table_schema import (
    inferred_schema,
    inputs_of,
    unknown_column,
    with_class_names,
    with_shapes,
)
from tfrec_tools.table_survey import SurveyedTable, TableSurvey
from tfrec_tools.tables import Table, TableFile, TablePart, TableUnit, unit_bytes

RANGE_BYTES = 16 << 20
"""Of a shard so much is in memory at once while it is sorted; copies of it come on top."""

_STEM = re.compile(r"([A-Za-z]+)(?:[-_.]?\d+(?:-of-\d+)?)?")


def with_splits(request: Request, table: Table) -> Table:
    """Return the table with the split of each file, where names decide on splits.

    They do with ``--split`` patterns; or if all files, or all first-level folders, are called
    like splits.
    """
    size = table.num_parallel
    files = table.files[::size]  # parallel ones go where the first of them goes
    spec = request.splits

    def with_files(named: Sequence[TableFile]) -> Table:
        splits = [file.split for file in named for _ in range(size)]
        changed = [
            dataclasses.replace(file, split=split)
            for file, split in zip(table.files, splits, strict=True)
        ]
        return dataclasses.replace(table, files=tuple(changed))

    if spec is not None and spec.files is not None:
        return with_files(_split_by_globs(request, list(spec.files), files))
    names = [_folder_name(file.key) for file in files]
    words = [SPLIT_WORDS.get(name) for name in names]
    if None in words:
        names = [_stem_name(file.key) for file in files]
        words = [SPLIT_WORDS.get(name) for name in names]
    asked = "--splits-from" if request.splits_from is not None else "ratios"
    if None in words or len(files) < 2:
        return table
    if spec is not None or request.splits_from is not None:
        raise RequestError(
            f"the files of {request.source.root} are splits already "
            f"({listed(sorted({w for w in words if w}))}); drop the {asked}, or give one of them"
        )
    known: dict[str | None, tuple[str, str]] = {}
    for name, word, file in zip(names, words, files, strict=True):
        other, other_path = known.setdefault(word, (name, path_text(file.key)))
        if other != name:
            raise SourceError(
                f"a split must have one name (both {other} and {name} in {request.source.root} "
                f"mean {word!r}); say what all files are, as with --split {word}={other_path} "
                f"--split NAME={path_text(file.key)}"
            )
    return with_files([dataclasses.replace(f, split=w) for f, w in zip(files, words, strict=True)])


def _folder_name(key: bytes) -> str:
    """Return the first-level folder in lower case, empty for files in the root."""
    first, slash, _ = key.partition(b"/")
    return path_text(first).lower() if slash else ""


def _stem_name(key: bytes) -> str:
    """Return a file's stem in lower case, without numbers of parts behind it."""
    stem = path_text(key.rpartition(b"/")[2]).partition(".")[0]
    match = _STEM.fullmatch(stem)
    return match[1].lower() if match else ""


def _split_by_globs(
    request: Request, names: Sequence[str], files: Sequence[TableFile]
) -> tuple[TableFile, ...]:
    indices = glob_indices(request, [file.key for file in files])
    unmatched = [
        path_text(file.key) for file, index in zip(files, indices, strict=True) if index == NO_GLOB
    ]
    if unmatched:
        raise unmatched_error(len(unmatched), unmatched)
    return tuple(
        dataclasses.replace(file, split=names[index])
        for file, index in zip(files, indices, strict=True)
    )


def units_of(parts: Iterable[TablePart]) -> tuple[TableUnit, ...]:
    """Return the units: parts in order, small ones of the same split together.

    A unit's first position counts records over all files, or over those of its split.
    """
    parts = list(parts)
    most = unit_bytes(sum(part.all_bytes for part in parts))
    units: list[TableUnit] = []
    pending: list[TablePart] = []
    positions: dict[str | None, int] = {}

    def close() -> None:
        if not pending:
            return
        split = pending[0].file.split
        unit = TableUnit(
            index=len(units),
            parts=tuple(pending),
            split=split,
            first_position=positions.get(split, 0),
        )
        positions[split] = unit.first_position + unit.num_records
        units.append(unit)
        pending.clear()

    num_bytes = 0
    for part in parts:
        part_bytes = part.all_bytes
        if pending and (num_bytes + part_bytes > most or part.file.split != pending[0].file.split):
            close()
            num_bytes = 0
        pending.append(part)
        num_bytes += part_bytes
    close()
    return tuple(units)


def resolve_table(request: Request, surveyed: SurveyedTable, codecs: Mapping[str, str]) -> Plan:
    """Return the plan. Raises RequestError, SchemaError or SourceError where things do not fit."""
    table, units, survey = surveyed.table, surveyed.units, surveyed.survey
    num_records = sum(unit.num_records for unit in units)
    if not num_records:
        at_most = "no line" if table.text is not None else "a header at most"
        raise SourceError(f"{request.source.root} must hold records (it holds {at_most})")
    schema = request.schema or inferred_schema(request, table, survey)
    request = dataclasses.replace(request, name=request.name or schema.name)
    if request.check is Check.HEADER and not schema.features_of(ImageFeature):
        raise RequestError("--check goes with images (the schema has none)")
    inputs = inputs_of(schema, table)
    frozen = (request.splits_from or {}).get("class_names") or {}
    schema = with_class_names(request, with_shapes(schema, inputs), survey, frozen)
    schema = dataclasses.replace(schema, name=dataset_name(request.name or "dataset"))
    splits = _split_rule(request, schema, surveyed)
    split_bytes = _split_bytes(splits, units, survey)
    num_shards = asked_num_shards(request, splits, split_bytes)
    cuts: tuple[int, ...] = ()
    if splits.method == "order":
        cuts = placement.order_cuts([Fraction(r) for r in splits.ratios], num_records)
    num_positions: tuple[int, ...] = ()
    if request.order is Order.SOURCE:
        num_positions = _num_positions(splits, units, cuts)
    return Plan(
        request=request,
        schema=schema,
        layout=Layout(notes=_notes(request, table, survey, schema)),
        splits=splits,
        num_shards=num_shards,
        codecs=dict(codecs)
        if any(f.recodes for f in schema.features_of(ImageFeature).values())
        else {},
        num_positions=num_positions,
        num_files=num_records,
        num_bytes=sum(unit.num_bytes for unit in units) + survey.reference_bytes,
        ignored=table.ignored,
        table=TablePlan(
            source=dataclasses.replace(table, files=()),  # units carry theirs
            inputs=inputs,
            num_ranges=_num_ranges(schema, splits, split_bytes, num_shards, num_records),
            cuts=cuts,
        ),
    )


def _notes(request: Request, table: Table, survey: TableSurvey, schema: Schema) -> tuple[str, ...]:
    notes = list(table.notes)
    if request.schema is None and table.is_text:
        labels = {f.from_ or n for n, f in schema.features_of(ClassLabelFeature).items()}
        notes += inference.notes(
            {name: found for name, found in survey.evidence.items() if name not in labels}
        )
    if request.schema is None and not table.is_text:
        wide = [
            name
            for name, feature in schema.features_of(Float32Feature).items()
            if "double" in str(table.types[feature.from_ or name])
        ]
        notes += inference.float_notes(wide)
    return tuple(notes)


def _split_rule(request: Request, schema: Schema, surveyed: SurveyedTable) -> SplitRule:
    spec = request.splits
    if spec is not None and spec.files is not None:
        return SplitRule(method="files", names=tuple(spec.files))
    named = {file.split for file in surveyed.table.files if file.split is not None}
    if named:
        return SplitRule(method="files", names=tuple(n for n in SPLIT_ORDER if n in named))
    if request.splits_from is not None:
        rule = SplitRule.from_dict(request.splits_from["splits_rule"])
        if rule.is_by_path or rule.method == "order":
            raise RequestError(
                "--splits-from needs a dataset that was divided by hashed ratios "
                f"(that one was divided by {rule.method})"
            )
        _check_split_columns(rule.by, rule.stratify, schema, surveyed.table)
        return rule
    if spec is None:
        return SplitRule(method="one", names=(DEFAULT_SPLIT,))
    ratios = list(spec.exact_ratios.values())
    shared: dict[str, Any] = {
        "names": tuple(spec.exact_ratios),
        "ratios": tuple(str(ratio) for ratio in ratios),
    }
    if spec.method == "order":
        return SplitRule(method="order", **shared)
    shared["seed"] = request.seed
    _check_split_columns(spec.by, spec.stratify, schema, surveyed.table)
    if spec.stratify is None:
        return SplitRule(
            method="hash", by=spec.by, thresholds=placement.ratio_thresholds(ratios), **shared
        )
    return SplitRule(
        method="stratified",
        stratify=spec.stratify,
        class_thresholds=class_thresholds(surveyed.survey.bins, ratios),
        **shared,
    )


def _check_split_columns(
    by: str | None, stratify: str | None, schema: Schema, table: Table
) -> None:
    """Raise RequestError if splits are to be made by what is not there."""
    if by is not None and by not in table.columns:
        raise RequestError(f"--split-by {unknown_column(by, table.columns)}")
    if by not in (None, "filename") and table.text is not None and table.text.record == "document":
        raise RequestError(
            f"--split-by of packed documents must be filename, since paths decide (got {by!r})"
        )
    if stratify is None:
        return
    feature = schema.features.get(stratify)
    if not isinstance(feature, ClassLabelFeature) or feature.many:
        raise RequestError(
            "stratify must name a class label with one value per record "
            f"(got {stratify!r}); give a schema, or --target"
        )


def _split_bytes(splits: SplitRule, units: Sequence[TableUnit], survey: TableSurvey) -> list[int]:
    """Return the surveyed bytes of each split, those of the files it refers to with it."""
    total = sum(unit.num_bytes for unit in units)
    num_records = sum(unit.num_records for unit in units)
    sizes = []
    for index, name in enumerate(splits.names):
        if splits.is_by_path:
            own = [unit for unit in units if unit.split == name]
            share = Fraction(sum(unit.num_records for unit in own), num_records)
            size = sum(unit.num_bytes for unit in own) + survey.reference_bytes * share
        else:
            size = (total + survey.reference_bytes) * splits.share(index)
        sizes.append(-(-Fraction(size).numerator // Fraction(size).denominator))
    return sizes


def _num_positions(
    splits: SplitRule, units: Sequence[TableUnit], cuts: Sequence[int]
) -> tuple[int, ...]:
    if cuts:
        starts = (0, *cuts[:-1])
        return tuple(stop - start for start, stop in zip(starts, cuts, strict=True))
    if splits.is_by_path:
        return tuple(
            sum(unit.num_records for unit in units if unit.split == name) for name in splits.names
        )
    return (sum(unit.num_records for unit in units),)


def _num_ranges(
    schema: Schema,
    splits: SplitRule,
    split_bytes: Sequence[int],
    num_shards: Sequence[int],
    num_records: int,
) -> tuple[int, ...]:
    """Return into how many ranges of ranks each split's shards are cut while they are sorted.

    Payloads repeat the features' names, which for tables may be most of their bytes.
    """
    overhead = sum(len(column.name) + 16 for column in schema.stored)
    values = sum(8 * math.prod(column.shape) for column in schema.stored if column.shape)
    found = []
    for index, (num_bytes, shards) in enumerate(zip(split_bytes, num_shards, strict=True)):
        share = splits.share(index) if splits.ratios else Fraction(1)
        payload_bytes = num_bytes + int(num_records * share) * (overhead + values)
        found.append(max(1, -(-payload_bytes // (shards * RANGE_BYTES))))
    return tuple(found)
