"""What encoding one unit of a table gives, and how such results are put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tfrec_tools.plan import Plan
from tfrec_tools.records import Action, ReportEntry, path_text
from tfrec_tools.schema.class_label import UNKNOWN_CLASS
from tfrec_tools.sources import text_cleaning
from tfrec_tools.stages.spilling import Spill
from tfrec_tools.statistics import ColumnStatistics
from tfrec_tools.tables import CellFault, TableBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitResult:
    """What encoding one unit gave; per split how many records, and their statistics.

    ``unknown``: labels that are no classes, with their counts, per feature. ``left_out``: how
    many records were, by the word that says why. ``remarks``: what else is to be reported. ``num_taken``: records of the source that
    are in the output, which are more or less than ``num_records`` where they are packed;
    ``num_dropped_tokens``: of remainders that are not stored.
    """

    index: int
    spill: Spill | None = None
    num_records: Mapping[str, int] = field(default_factory=dict)
    num_rejected: int = 0
    statistics: Mapping[str, Mapping[str, ColumnStatistics]] = field(default_factory=dict)
    entries: tuple[ReportEntry, ...] = ()
    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    remarks: tuple[ReportEntry, ...] = ()
    num_taken: int = 0
    num_dropped_tokens: int = 0


def folded(units: UnitResult, unit: UnitResult) -> UnitResult:
    """Return the results of the units so far with that of the next one, spills left out.

    Folded in order, statistics are the same on every engine, and there is one set of them
    whatever the number of units.
    """
    counts = dict(units.num_records)
    for name, number in unit.num_records.items():
        counts[name] = counts.get(name, 0) + number
    merged_statistics = {name: dict(found) for name, found in units.statistics.items()}
    for split, found in unit.statistics.items():
        into = merged_statistics.setdefault(split, {})
        for name, column in found.items():
            into.setdefault(name, ColumnStatistics()).merge(column)
    unknown = {name: dict(labels) for name, labels in units.unknown.items()}
    count_unknown(unknown, unit.unknown)
    return UnitResult(
        index=unit.index,
        num_records=counts,
        num_rejected=units.num_rejected + unit.num_rejected,
        statistics=merged_statistics,
        entries=(*units.entries, *unit.entries),
        unknown=unknown,
        left_out=Counter(units.left_out) + Counter(unit.left_out),
        remarks=(*units.remarks, *unit.remarks),
        num_taken=units.num_taken + unit.num_taken,
        num_dropped_tokens=units.num_dropped_tokens + unit.num_dropped_tokens,
    )


def count_unknown(into: dict[str, dict[str, int]], found: Mapping[str, Mapping[str, int]]) -> None:
    """Add the unknown labels of some records, per feature, to those found before."""
    for name, labels in found.items():
        counts = into.setdefault(name, {})
        for label, number in labels.items():
            counts[label] = counts.get(label, 0) + number


def entries_of(plan: Plan, batch: TableBatch, faults: Sequence[CellFault]) -> list[ReportEntry]:
    """Return the report entries of faults in a batch.

    A fault in one of parallel files is one of that file.
    """
    assert plan.table is not None
    return [
        ReportEntry(
            path_text(batch.keys.get(fault.column, batch.key)),
            Action.SKIPPED.value,
            fault.reason,
            row=fault.row,
            column="" if fault.column in batch.keys else fault.column,
            numbered="line" if plan.table.source.text is not None else "row",
        )
        for fault in faults
    ]


@dataclass(slots=True)
class Repairs:
    """Counts the repaired records of a part: one entry per file for all of them, however many."""

    _found: dict[bytes, tuple[str, int, int]] = field(default_factory=dict)

    def add(self, batch: TableBatch) -> None:
        """Count those of a batch."""
        for key, (encoding, rows) in batch.repaired.items():
            _, first_row, number = self._found.get(key, (encoding, rows[0], 0))
            self._found[key] = encoding, first_row, number + len(rows)

    def entries(self) -> list[ReportEntry]:
        """Return what is to be reported."""
        return [
            ReportEntry(
                path_text(key),
                Action.REPAIRED.value,
                text_cleaning.repair_text(encoding, number),
                row=first_row,
                numbered="line",
            )
            for key, (encoding, first_row, number) in self._found.items()
        ]


def is_unknown_class(entry: ReportEntry) -> bool:
    """Say whether the record was rejected for a label that is no class."""
    return UNKNOWN_CLASS in entry.reason
