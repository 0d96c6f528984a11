"""The result of a benchmark that converts drawn records, as a section of markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import describe_machine
from benchmarks.measuring import Contender, Results
from benchmarks.promises import median_s
from benchmarks.tables import Target, number, runs_text, target_table, time_table


def conversion_report(
    title: str,
    contenders: Sequence[Contender],
    results: Results,
    *,
    ours: Sequence[str],
    targets: Sequence[Target],
    num_records: int,
    num_promised: int,
    work: Path,
    remarks: Sequence[str] = (),
) -> str:
    """Return the title, the machine, the times, what was run, the targets and the ``remarks``.

    ``num_promised``: the number of records that the targets are set for.
    """
    lines = [
        f"* {one.name}: {one.what}; {number(median_s(results, one.name) / num_records * 1e6)} us a "
        "record"
        for one in contenders
        if one.name in results
    ]
    parts = [
        f"### {title}",
        describe_machine(work),
        f"Whole processes, in turns, after a run of each that is not counted; {runs_text(results)}.",
        time_table(results, ours=ours),
        "\n".join(lines),
    ]
    if targets:
        parts.append(target_table(targets))
    if num_records != num_promised:
        parts.append(f"The promises are made for {num_promised:,} records.")
    return "\n\n".join([*parts, *remarks])
