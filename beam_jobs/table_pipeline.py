"""Tables and lines of text on Beam: ranges are planned as on one machine, records shuffled once.

table ─► scan tasks ─► scan ─► settle (three rounds) ─► units ─► survey ─► merge ─► plan ┄┄┐
                                                          └────► encode ─► group by shard ─► write ─► publish

What is shuffled are the batches that the local engine spills: the records of one unit and one
range of ranks. A writer puts those of its shard into a file on its own disk, in the order in
which they come, and reads them range by range.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
from apache_beam.pvalue import AsIter, AsList, AsSingleton

from beam_jobs.file_pipeline import ShardKey, attempt, counted, every_shard
from tfrec_tools import stages
from tfrec_tools.manifest import Manifest
from tfrec_tools.plan import Plan
from tfrec_tools.records import ShardResult
from tfrec_tools.request import Request
from tfrec_tools.shard_names import ShardId
from tfrec_tools.storage import open_storage
from tfrec_tools.table_survey import SurveyedTable, TableSurvey
from tfrec_tools.tables import Table, TableUnit

BATCHES, RESULTS = "batches", "results"

NUM_SCAN_ROUNDS = 3
"""Blocks; those of unusual files again, record by record; what kinds JSON values have."""

Task: TypeAlias = tuple[Table, Any]
"""A table without its files, and a scan task."""


class Settled(NamedTuple):
    """What the scans so far say: the table, the parts of its files, what to scan next."""

    table: Table
    parts: tuple[Any, ...]
    tasks: tuple[Any, ...]
    scans: tuple[Any, ...] = ()


def build(pipeline: beam.Pipeline, request: Request) -> beam.PCollection[Manifest]:
    """Add the conversion to ``pipeline`` and return the manifest as its only element."""
    settled = (
        pipeline
        | "Request" >> beam.Create([request])
        | "OpenTable" >> beam.Map(_open)  # Settled, with the first tasks
    )
    for number in range(NUM_SCAN_ROUNDS):
        settled = _scan_round(settled, request, number)
    units = (  # TableUnit
        settled
        | "Units" >> beam.FlatMap(lambda found: stages.units_of(found.parts))
        | "SpreadUnits" >> beam.Reshuffle()
    )
    table = settled | "Table" >> beam.Map(lambda found: _without_files(found.table))
    survey = (
        units
        | "SurveyUnits" >> beam.FlatMap(_survey, request, AsSingleton(table))
        | "MergeSurveys" >> beam.CombineGlobally(stages.merge_surveys)
    )
    plan = settled | "Resolve" >> beam.Map(_resolve, request, AsSingleton(survey))
    encoded = units | "Encode" >> beam.FlatMap(_encode, AsSingleton(plan)).with_outputs(
        RESULTS, main=BATCHES
    )
    checked = (  # the unit results, folded: an error ends the job before a shard is written
        encoded[RESULTS]
        | "GatherUnits" >> beam.combiners.ToList()
        | "CheckUnits" >> beam.Map(_checked, AsSingleton(plan))
    )
    empty = plan | "EveryShard" >> beam.FlatMap(every_shard)
    results = (
        (encoded[BATCHES], empty)  # (ShardKey, SpilledBatch or None)
        | "Flatten" >> beam.Flatten()
        | "GatherShards" >> beam.GroupByKey()
        | "WriteShards"
        >> beam.Map(_write_shard, AsSingleton(plan), AsList(units), AsSingleton(checked))
    )
    return (
        results
        | "GatherResults" >> beam.combiners.ToList()
        | "Publish" >> beam.Map(_publish, AsSingleton(plan), AsSingleton(checked))
    )


def _scan_round(
    settled: beam.PCollection[Settled], request: Request, number: int
) -> beam.PCollection[Settled]:
    """Carry out the tasks that are left, and settle what all scans so far say."""
    scans = (
        settled
        | f"Tasks{number}" >> beam.FlatMap(_tasks)
        | f"SpreadTasks{number}" >> beam.Reshuffle()
        | f"Scan{number}" >> beam.Map(_scan, request)
    )
    return settled | f"Settle{number}" >> beam.Map(_settle, AsIter(scans))


def _open(request: Request) -> Settled:
    stages.refuse_options(request)
    stages.refuse_dataset(request)
    table = stages.open_table(request)
    return Settled(table, (), tuple(stages.scan_tasks(table)))


def _without_files(table: Table) -> Table:
    return dataclasses.replace(table, files=())


def _tasks(settled: Settled) -> Iterator[Task]:
    table = _without_files(settled.table)
    for task in settled.tasks:
        yield table, task


def _scan(task: Task, request: Request) -> Any:
    return stages.scan(request, *task)


def _settle(settled: Settled, scans: Iterable[Any]) -> Settled:
    if not settled.tasks and settled.parts:
        return settled
    every = (*settled.scans, *scans)
    table, parts, tasks = stages.settle(settled.table, every)
    # Notes are made anew from all scans: the table goes on as it was opened.
    return Settled(table if not tasks else settled.table, parts, tuple(tasks), every)


def _survey(unit: TableUnit, request: Request, table: Table) -> Iterator[TableSurvey]:
    needs = stages.survey_needs(request, table)
    if needs.columns:
        yield stages.survey_unit(request, table, needs, unit)


def _resolve(settled: Settled, request: Request, survey: TableSurvey) -> Plan:
    surveyed = SurveyedTable(
        table=settled.table, units=stages.units_of(settled.parts), survey=survey
    )
    plan = stages.resolve_table(request, surveyed)
    stages.prepare_output(plan)
    return plan


def _encode(unit: TableUnit, plan: Plan) -> Iterator[Any]:
    with tempfile.TemporaryDirectory(prefix="tfrec-") as folder:
        result = stages.encode_unit(plan, unit, os.path.join(folder, "unit.arrow"))
        if result.spill is not None:
            for batch in stages.spilled_batches(unit.index, result.spill):
                shard = stages.shard_of_bin(plan, batch.bin_index)
                yield (shard.split, shard.index), tuple(batch)
    yield beam.pvalue.TaggedOutput(RESULTS, dataclasses.replace(result, spill=None))


def _checked(results: Sequence[stages.UnitResult], plan: Plan) -> stages.UnitResult:
    folded = stages.UnitResult(index=-1)
    for result in sorted(results, key=lambda result: result.index):
        folded = stages.folded(folded, result)
    error = stages.failure(plan, [], folded)
    if error is not None:
        raise error
    return folded


def _write_shard(
    gathered: tuple[ShardKey, Iterable[tuple[Any, ...] | None]],
    plan: Plan,
    units: Sequence[TableUnit],
    _checked: stages.UnitResult,
) -> ShardResult:
    key, batches = gathered
    shard = ShardId(*key)
    ordered = sorted(units, key=lambda unit: unit.index)
    fingerprint = stages.table_fingerprint(plan, ordered, shard)
    found = stages.finished_staged_shard(plan, shard, fingerprint)
    if found is not None:
        return found
    with tempfile.TemporaryDirectory(prefix="tfrec-") as folder:
        spilled = (stages.SpilledBatch(*batch) for batch in batches if batch is not None)
        spill = stages.respilled(os.path.join(folder, "shard.arrow"), spilled)
        spills = [spill] if spill is not None else []
        return stages.write_table_shard(plan, shard, spills, fingerprint, attempt=attempt())


def _publish(results: Sequence[ShardResult], plan: Plan, units: stages.UnitResult) -> Manifest:
    with open_storage(plan.request.output).locked():
        return counted(stages.published(plan) or stages.publish(plan, None, results, units))
