"""The stage that reads one unit of a table, encodes it, and spills its records by rank.

Cells become the columns of the schema; each record gets its split, shard and rank from its
file's key and its position there. Records that only hold cells are spilled as finished
frames. Those that name files are spilled as columns: their files are read in final order,
when the shard is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tfrec_tools import example_codec, placement, record_framing
from tfrec_tools.plan import Plan
from tfrec_tools.records import MAX_LISTED_FAULTS, ReportEntry
from tfrec_tools.request import OnError
from tfrec_tools.schema import (
    ClassLabelFeature,
    EncodedColumn,
    Feature,
    ImageFeature,
    NumberFeature,
    TokensFeature,
    encode_cells,
    encode_packed,
)
from tfrec_tools.schema.cells import shown
from tfrec_tools.schema.class_label import UNKNOWN_CLASS
from tfrec_tools.sources import table_source
from tfrec_tools.sources.references import reference_paths
from tfrec_tools.stages import token_packing
from tfrec_tools.stages.spilling import FRAME, RANK_HIGH, RANK_LOW, SpillWriter
from tfrec_tools.stages.table_placing import bins_of, place_records
from tfrec_tools.stages.table_reading import is_utf8
from tfrec_tools.stages.tokenizing import encode_tokens
from tfrec_tools.stages.unit_results import Repairs, UnitResult, count_unknown, entries_of
from tfrec_tools.statistics import ColumnStatistics
from tfrec_tools.table_schema import packed_feature
from tfrec_tools.tables import CellFault, TableBatch, TableUnit

KEY, ROW = "key", "row"
VALUE, REFERENCE = "value:", "reference:"
"""Columns of a spilled batch; what a record's features hold, and the files they name."""
_USE_BYTES = "use kind: bytes"
_ENCODING_ADVICE = "--encoding, such as cp1252"

OnProgress = Callable[[int, int, int], None]
"""Called after each batch with the records, bytes and rejected records that it added."""


@dataclass(slots=True)
class _Encoded:
    """One batch: columns of the records that fit, and which of the batch these are."""

    columns: dict[str, pa.Array]
    references: dict[str, pa.Array]
    kept: NDArray[np.int64]
    faults: list[CellFault]
    unknown: dict[str, Mapping[str, int]]


def encode_unit(
    plan: Plan, unit: TableUnit, spill_path: str, on_progress: OnProgress | None = None
) -> UnitResult:
    """Read and encode a unit, and spill its records to a file at ``spill_path``.

    With ``on_error="fail"`` nothing is spilled from the first fault on, and the unit is given
    up after 20 (one with ``fail_fast``); unknown labels are looked for to its end.
    """
    assert plan.table is not None
    if packed_feature(plan.schema) is not None:
        return token_packing.pack_unit(plan, unit, spill_path, on_progress)
    fail = plan.request.on_error is OnError.FAIL
    limit = 1 if plan.request.fail_fast else MAX_LISTED_FAULTS
    columns = _columns(plan)
    storage = table_source.table_storage(plan.request)
    writer = SpillWriter(spill_path)
    entries: list[ReportEntry] = []
    counts: dict[str, int] = {}
    statistics: dict[str, dict[str, ColumnStatistics]] = {}
    unknown: dict[str, dict[str, int]] = {}
    left_out: Counter[str] = Counter()
    remarks: list[ReportEntry] = []
    num_rejected = first_index = 0
    for part in unit.parts:
        repairs = Repairs()
        bytes_per_record = part.num_bytes / max(part.num_records, 1)
        for batch in table_source.read_part(storage, plan.table.source, part, columns):
            found = _encode(plan, batch)
            number = len(found.faults) + len(batch.rejected)
            num_rejected += number
            left_out.update(batch.left_out)
            repairs.add(batch)
            count_unknown(unknown, found.unknown)
            if len(entries) < limit or not fail:
                entries += entries_of(plan, batch, [*batch.rejected, *found.faults])
            if on_progress is not None:
                size = int(bytes_per_record * batch.num_seen)
                on_progress(batch.num_seen, size, number)
            if fail and entries and not unknown and len(entries) >= limit:
                break
            if not (fail and (entries or unknown)) and len(found.kept):
                split, ranks = place_records(plan, unit, batch, found.kept, first_index)
                for index, name in enumerate(plan.splits.names):
                    here = split == index
                    counts[name] = counts.get(name, 0) + int(np.count_nonzero(here))
                    if not found.references:  # else counted once it is known which ones fit
                        _count(plan, statistics.setdefault(name, {}), found.columns, here)
                writer.add(_spilled(batch, found, ranks), bins_of(plan, split, ranks))
        first_index += part.num_records
        remarks += repairs.entries()
    return UnitResult(
        index=unit.index,
        spill=writer.close(),
        num_records=counts,
        num_rejected=num_rejected,
        statistics=statistics,
        entries=tuple(sorted(entries)[:limit] if fail else sorted(entries)),
        unknown=unknown,
        left_out=left_out,
        remarks=tuple(remarks),
        num_taken=sum(counts.values()),
    )


def _columns(plan: Plan) -> tuple[str, ...]:
    """Return the columns of the source that are needed, each once."""
    assert plan.table is not None
    named = [column for columns in plan.table.inputs.values() for column in columns]
    if plan.splits.by is not None:
        named.append(plan.splits.by)
    return tuple(dict.fromkeys(named))


def _encode(plan: Plan, batch: TableBatch) -> _Encoded:
    """Encode all features of a batch; the first fault of a record is the one that counts."""
    assert plan.table is not None
    faults: dict[int, tuple[str, str]] = {}
    columns: dict[str, pa.Array] = {}
    references: dict[str, pa.Array] = {}
    unknown: dict[str, Mapping[str, int]] = {}
    decimal = plan.table.source.decimal
    for name, feature in plan.schema.features.items():
        inputs = plan.table.inputs[name]
        if isinstance(feature, ImageFeature):
            paths = reference_paths(batch.columns[inputs[0]], feature.root or "")
            for index in (i for i, path in enumerate(paths) if path is None):
                what = "must name a file" + (f" below {feature.root}" if feature.root else "")
                value = _shown(batch.columns[inputs[0]][index])
                faults.setdefault(index, (inputs[0], f"{what} (got {value})"))
            references[name] = pa.array(paths, pa.binary())
            continue
        if isinstance(feature, NumberFeature) and feature.columns is not None:
            cells = [(column, batch.columns[column]) for column in inputs]
            encoded = encode_packed(feature, cells, decimal=decimal)
            column = ""
        elif isinstance(feature, TokensFeature):
            encoded = encode_tokens(plan, name, batch.columns[inputs[0]])
            column = inputs[0]
        else:
            encoded = encode_cells(feature, batch.columns[inputs[0]], decimal=decimal)
            column = inputs[0]
            if encoded.faults and plan.table.source.is_text:
                encoded = _with_encoding_advice(feature, encoded, batch.columns[column])
        if encoded.unknown:
            unknown[name] = encoded.unknown
        for index, reason in encoded.faults.items():
            faults.setdefault(index, _placed(column, reason, inputs))
        columns[name] = encoded.values
    kept = np.arange(len(batch))
    if faults:
        kept = np.delete(kept, np.fromiter(faults, np.int64, len(faults)))
        here = pa.array(kept)
        columns = {name: values.take(here) for name, values in columns.items()}
        references = {name: paths.take(here) for name, paths in references.items()}
    rows = batch.rows() if faults else ()
    return _Encoded(
        columns=columns,
        references=references,
        kept=kept,
        faults=[
            CellFault(int(rows[index]), column, reason)
            for index, (column, reason) in sorted(faults.items())
        ],
        unknown=unknown,
    )


def _with_encoding_advice(
    feature: Feature, encoded: EncodedColumn, cells: pa.Array
) -> EncodedColumn:
    """Name the flag that helps where cells of a CSV file are no UTF-8.

    A label that is no text is no unknown class: it must not be called one to be added.
    """
    faults = dict(encoded.faults)
    unknown = Counter(encoded.unknown)
    # A loop over faults: there are few, or they end the conversion.
    for index, reason in encoded.faults.items():
        cell = cells[index].as_py() or b""
        if reason.endswith(_USE_BYTES):
            faults[index] = f"{reason}, or {_ENCODING_ADVICE}"
        elif isinstance(feature, ClassLabelFeature) and reason.startswith(UNKNOWN_CLASS):
            separator = feature.separator.encode() if feature.separator is not None else None
            labels = cell.split(separator) if separator is not None else [cell]
            wrong = [label for label in labels if not is_utf8(label)]
            if wrong:
                faults[index] = f"must be UTF-8 text (got {shown(cell)}); use {_ENCODING_ADVICE}"
                unknown.subtract(
                    label.strip(b" \t").decode("utf-8", "backslashreplace") for label in wrong
                )
    return EncodedColumn(encoded.values, faults, {k: n for k, n in unknown.items() if n > 0})


def _placed(column: str, reason: str, inputs: Sequence[str]) -> tuple[str, str]:
    """Return column and reason; those of packed columns begin with the column's name."""
    if column:
        return column, reason
    found = max((c for c in inputs if reason.startswith(f"{c}: ")), key=len, default="")
    return found, reason.removeprefix(f"{found}: ")


def _shown(value: pa.Scalar) -> str:
    raw = value.as_py()
    if raw is None:
        return "an empty cell"
    return repr(raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw)


def _count(
    plan: Plan,
    statistics: dict[str, ColumnStatistics],
    columns: Mapping[str, pa.Array],
    here: NDArray[np.bool_],
) -> None:
    """Add the records that are ``here`` to the statistics of their split."""
    if not here.any():
        return
    mask = None if here.all() else pa.array(here)
    for name, values in columns.items():
        own = values if mask is None else values.filter(mask)
        statistics.setdefault(name, ColumnStatistics()).add(plan.schema.features[name], own)


def _spilled(batch: TableBatch, found: _Encoded, ranks: placement.Ranks) -> pa.RecordBatch:
    columns: dict[str, pa.Array] = {
        RANK_HIGH: pa.array(ranks.high),
        RANK_LOW: pa.array(ranks.low),
    }
    if not found.references:
        columns[FRAME] = record_framing.frames(example_codec.encode(found.columns).payloads)
        return pa.RecordBatch.from_pydict(columns)
    columns[KEY] = pa.repeat(pa.scalar(batch.key, pa.binary()), len(found.kept))
    columns[ROW] = pa.array(batch.rows()[found.kept])
    columns |= {VALUE + name: values for name, values in found.columns.items()}
    columns |= {REFERENCE + name: paths for name, paths in found.references.items()}
    return pa.RecordBatch.from_pydict(columns)
