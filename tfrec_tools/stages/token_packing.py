"""The stage that packs the tokens of a unit's records to sequences of one length.

Records get their split first; those of one split follow one another in source order, each
with an end mark behind it, and are cut into sequences. What remains at the end of a unit is
its last sequence: so sequences depend on the units, which depend on the input alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tfrec_tools import example_codec, packing, placement, record_framing, splitting
from tfrec_tools.plan import Plan
from tfrec_tools.records import MAX_LISTED_FAULTS, Action, ReportEntry, path_text
from tfrec_tools.request import OnError
from tfrec_tools.schema import TokensFeature
from tfrec_tools.schema.numbers import packed_lists
from tfrec_tools.sources import documents, table_source
from tfrec_tools.stages.spilling import FRAME, RANK_HIGH, RANK_LOW, SpillWriter
from tfrec_tools.stages.table_placing import bins_of, sequence_ranks, splits_of
from tfrec_tools.stages.tokenizing import tokenizer_of
from tfrec_tools.stages.unit_results import Repairs, UnitResult, entries_of
from tfrec_tools.statistics import ColumnStatistics
from tfrec_tools.table_schema import packed_feature
from tfrec_tools.tables import TablePart, TableUnit

DOCUMENTS_PER_READ = 1024

OnProgress = Callable[[int, int, int], None]


@dataclass(slots=True)
class _Texts:
    """Texts of some records in source order, with split and global position of each.

    ``num_seen`` counts those that are rejected or left out, too; ``num_bytes`` likewise.
    """

    values: pa.LargeBinaryArray
    split: NDArray[np.int64]
    positions: NDArray[np.int64]
    num_seen: int
    num_bytes: int
    entries: list[ReportEntry] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[ReportEntry] = field(default_factory=list)


def pack_unit(
    plan: Plan, unit: TableUnit, spill_path: str, on_progress: OnProgress | None = None
) -> UnitResult:
    """Read, tokenize and pack a unit, and spill its sequences; see `encode_unit`."""
    fail = plan.request.on_error is OnError.FAIL
    limit = 1 if plan.request.fail_fast else MAX_LISTED_FAULTS
    packer = _Packer(plan, unit)
    entries: list[ReportEntry] = []
    left_out: Counter[str] = Counter()
    remarks: list[ReportEntry] = []
    num_taken = num_rejected = 0
    read = _documents if unit.parts[0].file.mode == "document" else _records
    for texts in read(plan, unit, packer.column):
        num_rejected += len(texts.entries)
        if len(entries) < limit or not fail:
            entries += texts.entries
        left_out.update(texts.left_out)
        remarks += texts.remarks
        if on_progress is not None:
            on_progress(texts.num_seen, texts.num_bytes, len(texts.entries))
        if fail and len(entries) >= limit:
            break
        if not (fail and entries):
            num_taken += len(texts.values)
            packer.add(texts)
    writer = SpillWriter(spill_path)
    counts: dict[str, int] = {}
    statistics: dict[str, dict[str, ColumnStatistics]] = {}
    if not (fail and entries):
        counts, statistics = packer.spill(writer)
    return UnitResult(
        index=unit.index,
        spill=writer.close(),
        num_records=counts,
        num_rejected=num_rejected,
        statistics=statistics,
        entries=tuple(sorted(entries)[:limit] if fail else sorted(entries)),
        left_out=left_out,
        remarks=tuple(remarks),
        num_taken=num_taken,
        num_dropped_tokens=packer.num_dropped_tokens,
    )


class _Packer:
    """Gathers the tokens of a unit's records by split, and packs them at its end."""

    def __init__(self, plan: Plan, unit: TableUnit) -> None:
        name = packed_feature(plan.schema)
        assert name is not None
        feature = plan.schema.features[name]
        assert isinstance(feature, TokensFeature)
        assert plan.table is not None
        (self.column,) = plan.table.inputs[name]
        self.num_dropped_tokens = 0
        self._plan, self._unit = plan, unit
        self._name, self._feature = name, feature
        self._tokenizer = tokenizer_of(plan.request, name, feature)
        self._ids: dict[int, list[pa.LargeListArray]] = {}
        self._bounds: dict[int, tuple[int, int]] = {}

    def add(self, texts: _Texts) -> None:
        """Tokenize texts, and put them to those of their splits."""
        lists = self._tokenizer.encode(texts.values)
        for split in np.unique(texts.split).tolist():
            here = np.flatnonzero(texts.split == split)
            own = lists if len(here) == len(lists) else lists.take(pa.array(here))
            self._ids.setdefault(split, []).append(own)
            first, last = int(texts.positions[here[0]]), int(texts.positions[here[-1]])
            self._bounds[split] = self._bounds.get(split, (first, last))[0], last

    def spill(
        self, writer: SpillWriter
    ) -> tuple[dict[str, int], dict[str, dict[str, ColumnStatistics]]]:
        """Pack what was added; return the number of sequences and statistics per split."""
        counts, statistics = {}, {}
        end_id, length = self._tokenizer.end_id, self._feature.max_length
        assert end_id is not None
        assert length is not None
        for split, bounds in sorted(self._bounds.items()):
            packed = packing.pack(
                self._ids.pop(split), end_id, length, self._feature.pad_id, self._feature.remainder
            )
            self.num_dropped_tokens += packed.num_dropped_tokens
            number = len(packed.sequences)
            if not number:
                continue
            columns = {
                self._name: packed_lists(packed.sequences),
                f"{self._name}_length": pa.array(packed.lengths),
            }
            counted = ColumnStatistics()
            counted.add(self._feature, columns[f"{self._name}_length"])
            name = self._plan.splits.names[split]
            counts[name], statistics[name] = number, {self._name: counted}
            ranks = sequence_ranks(self._plan, self._unit, split, bounds, number)
            splits = np.full(number, split, dtype=np.int64)
            writer.add(_spilled(columns, ranks), bins_of(self._plan, splits, ranks))
        return counts, statistics


def _spilled(columns: dict[str, pa.Array], ranks: placement.Ranks) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            RANK_HIGH: pa.array(ranks.high),
            RANK_LOW: pa.array(ranks.low),
            FRAME: record_framing.frames(example_codec.encode(columns).payloads),
        }
    )


def _records(plan: Plan, unit: TableUnit, column: str) -> Iterator[_Texts]:
    """Yield lines or paragraphs."""
    assert plan.table is not None
    storage = table_source.table_storage(plan.request)
    columns = [column, *([plan.splits.by] if plan.splits.by not in (None, column) else [])]
    first = unit.first_position
    for part in unit.parts:
        bytes_per_record = part.all_bytes / max(part.num_records, 1)
        for batch in table_source.read_part(storage, plan.table.source, part, columns):
            kept = np.arange(len(batch))
            repairs = Repairs()
            repairs.add(batch)
            positions = first + batch.indices
            yield _Texts(
                values=batch.columns[column],
                split=splits_of(plan, unit, batch, kept, positions),
                positions=positions,
                num_seen=batch.num_seen,
                num_bytes=int(bytes_per_record * batch.num_seen),
                entries=entries_of(plan, batch, batch.rejected),
                left_out=Counter(batch.left_out),
                remarks=repairs.entries(),
            )
        first += part.num_records


def _documents(plan: Plan, unit: TableUnit, _column: str) -> Iterator[_Texts]:
    """Yield whole files, many at once; the split of each is that of its path."""
    assert plan.table is not None
    assert plan.table.source.text is not None
    options = plan.table.source.text
    storage = table_source.table_storage(plan.request)
    for start in range(0, len(unit.parts), DOCUMENTS_PER_READ):
        parts = unit.parts[start : start + DOCUMENTS_PER_READ]
        keys = [part.file.key for part in parts]
        found = documents.read_documents(storage, keys, options)
        wrong = [*found.faults, *found.left_out]
        kept = np.delete(np.arange(len(parts)), np.array(wrong, dtype=np.int64))
        positions = unit.first_position + start + kept
        yield _Texts(
            values=found.values.take(pa.array(kept)),
            split=_document_splits(plan, unit, [keys[i] for i in kept.tolist()], positions),
            positions=positions,
            num_seen=len(parts),
            num_bytes=_num_bytes(parts),
            entries=[
                ReportEntry(
                    path_text(keys[index]),
                    Action.SKIPPED.value,
                    reason,
                    unreadable=index in found.unreadable,
                )
                for index, reason in sorted(found.faults.items())
            ],
            left_out=Counter(found.left_out.values()),
            remarks=[
                ReportEntry(path_text(keys[index]), Action.REPAIRED.value, reason)
                for index, reason in sorted(found.repaired.items())
            ],
        )


def _num_bytes(parts: tuple[TablePart, ...]) -> int:
    return sum(part.num_bytes for part in parts)


def _document_splits(
    plan: Plan, unit: TableUnit, keys: list[bytes], positions: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the split of each document: the one it has where documents are not packed."""
    rule = plan.splits
    if rule.method == "one":
        return np.zeros(len(keys), dtype=np.int64)
    if rule.is_by_path:
        return np.full(len(keys), rule.names.index(unit.split or ""), dtype=np.int64)
    if rule.method == "order":
        assert plan.table is not None
        return np.searchsorted(np.array(plan.table.cuts[:-1]), positions, side="right")
    return np.asarray(splitting.hashed_splits(rule, keys, None), np.int64)
