"""Stages of tables before the plan: open, scan, and learn what the request leaves open."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools import images, inference, placement, table_plan, table_survey, tokenization
from tfrec_tools.errors import RequestError
from tfrec_tools.plan import Plan, dataset_name
from tfrec_tools.request import Request
from tfrec_tools.schema import TokensFeature
from tfrec_tools.schema.cells import is_text, plain
from tfrec_tools.sources import references, table_listing, table_source
from tfrec_tools.sources.table_source import ScanTask
from tfrec_tools.sources.text_ranges import FileScan
from tfrec_tools.storage import Storage, base_name
from tfrec_tools.table_schema import inputs_of
from tfrec_tools.table_survey import MAX_CLASSES, SurveyedTable, SurveyNeeds, TableSurvey
from tfrec_tools.tables import Table, TableUnit

scan_tasks = table_source.scan_tasks
settle = table_source.settle
units_of = table_plan.units_of
survey_needs = table_survey.survey_needs
merge_surveys = table_survey.merge


def open_table(request: Request) -> Table:
    """Return the table at the source, each file with its split where names decide."""
    return table_plan.with_splits(request, table_source.open_table(request))


def scan(request: Request, table: Table, task: ScanTask) -> FileScan:
    """Look for records in a part of the source."""
    return table_source.scan(table_source.table_storage(request), table, task)


def survey_unit(request: Request, table: Table, needs: SurveyNeeds, unit: TableUnit) -> TableSurvey:
    """Return what the cells of a unit tell."""
    storage = table_source.table_storage(request)
    surveys = []
    for part in unit.parts:
        for batch in table_source.read_part(storage, table, part, needs.columns):
            bins = {}
            if needs.stratify is not None:
                hashes = placement.split_hashes_in_file(
                    batch.key, batch.positions, seed=request.seed
                )
                bins = _bins(labels_of(batch.columns[needs.stratify]), hashes)
            surveys.append(
                TableSurvey(
                    evidence={
                        name: inference.evidence(batch.columns[name], table.decimal)
                        for name in needs.evidence
                    },
                    classes={
                        name: _classes(batch.columns[name], separator)
                        for name, separator in needs.classes.items()
                    },
                    bins=bins,
                    reference_bytes=sum(
                        _reference_bytes(storage, batch.columns[column], root)
                        for column, root in needs.references
                    ),
                    words={
                        name: tokenization.count_words(
                            _tokens_feature(request, name), batch.columns[column]
                        )
                        for name, column in needs.words
                    },
                )
            )
    return table_survey.merge(surveys)


def _tokens_feature(request: Request, name: str) -> TokensFeature:
    assert request.schema is not None
    feature = request.schema.features[name]
    assert isinstance(feature, TokensFeature)
    return feature


def labels_of(column: pa.Array) -> list[bytes]:
    """Return the label of each record as it is compared, empty where it is missing."""
    texts = _texts(column).to_pylist()
    return [b"" if text is None else text.strip(b" \t") for text in texts]


def _texts(column: pa.Array) -> pa.LargeBinaryArray:
    """Return text cells as bytes, and typed values as their text."""
    column = plain(column)
    if not is_text(column.type):
        column = column.cast(pa.large_string()).cast(pa.large_binary())
    return column


def _bins(labels: list[bytes], hashes: np.ndarray) -> dict[bytes, dict[int, int]]:
    names = sorted(set(labels))
    number_of = {name: number for number, name in enumerate(names)}
    numbers = np.fromiter((number_of[label] for label in labels), np.int64, len(labels))
    pairs = numbers * placement.NUM_BINS + placement.hash_bins(hashes)
    bins: dict[bytes, dict[int, int]] = {name: {} for name in names}
    for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
        number, bin_index = divmod(int(pair), placement.NUM_BINS)
        bins[names[number]][bin_index] = int(count)
    return bins


def _classes(column: pa.Array, separator: str | None) -> frozenset[str] | None:
    """Return the distinct labels of a column, None if there are too many."""
    values = column
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        values = column.flatten()
    found = pc.unique(_texts(values).drop_null())
    if separator is None and len(found) > MAX_CLASSES:
        return None
    labels: set[bytes] = set()
    for text in found.to_pylist():
        pieces = text.split(separator.encode()) if separator is not None else [text]
        labels.update(piece.strip(b" \t") for piece in pieces)
    labels.discard(b"")
    if len(labels) > MAX_CLASSES:
        return None
    # What is no UTF-8 is left out: the record's own fault says what is wrong with it.
    return frozenset(label.decode() for label in labels if is_utf8(label))


def is_utf8(label: bytes) -> bool:
    """Say whether the bytes are text."""
    try:
        label.decode()
    except UnicodeDecodeError:
        return False
    return True


def _reference_bytes(storage: Storage, column: pa.Array, root: str) -> int:
    """Return the bytes of the files that a column names; those missing are found later."""
    return sum(size or 0 for size in references.reference_sizes(storage, column, root))


def resolve_table(request: Request, surveyed: SurveyedTable) -> Plan:
    """Return the plan that request, table and survey make."""
    asked = request
    if request.schema is not None and request.schema.features_of(TokensFeature):
        inputs_of(request.schema, surveyed.table)  # raises for columns that have no words
        schema = tokenization.resolved(request.schema)
        schema = tokenization.with_vocabularies(schema, surveyed.survey.words)
        request = dataclasses.replace(request, schema=schema)
    if request.name is None and (request.schema is None or request.schema.name is None):
        root = table_listing.table_root(request.source.root)
        url = root.folder if root.pattern is not None else request.source.root
        name = base_name(url).lstrip(".").partition(".")[0]
        request = dataclasses.replace(request, name=dataset_name(name or "dataset"))
    plan = table_plan.resolve_table(request, surveyed, images.codec_versions())
    # Workers find the tokenizers' files where the request says they are.
    request = dataclasses.replace(plan.request, schema=asked.schema)
    return dataclasses.replace(plan, request=request)


def refuse_options(request: Request) -> None:
    """Raise RequestError for options that mean nothing of no table, or a tokenizer that is none."""
    if request.schema is not None:
        tokenization.resolved(request.schema)  # now rather than after all was looked through
    if request.source.labels is not None and request.source.kind == "text":
        raise RequestError("--labels and --no-labels go with documents in folders, not with lines")
    if request.source.labels is not None:
        raise RequestError("--labels and --no-labels go with image folders, not with tables")
    if request.schema is not None and (request.source.columns or request.source.target):
        raise RequestError("--columns and --target go without a schema, which says both")
