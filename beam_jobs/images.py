"""Images on Beam. Only places and paths are shuffled; each image is read once, by its writer.

units ─► list ─► survey ─► merge ─► plan ┄┄ side input ┄┄┐
           └───────────────────────► place ─► group by shard ─► write ─► publish
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import apache_beam as beam
from apache_beam.pvalue import AsSingleton
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

from tfrec_tools import errors, stages
from tfrec_tools.errors import TfrecError
from tfrec_tools.manifest import Manifest
from tfrec_tools.manifest_files import load_manifest
from tfrec_tools.plan import Plan
from tfrec_tools.records import ShardResult, Unit
from tfrec_tools.request import Request
from tfrec_tools.shard_names import ShardId
from tfrec_tools.sources.image_folder import ListedBatch
from tfrec_tools.storage import open_storage
from tfrec_tools.survey import Survey

ShardKey: TypeAlias = tuple[str, int]
"""Split and index of a shard: plain values, which every runner groups alike."""


def build(pipeline: beam.Pipeline, request: Request) -> beam.PCollection[Manifest]:
    """Add the conversion to ``pipeline`` and return the manifest as its only element.

    Raises TfrecError if the source cannot be listed at all.
    """
    listed = (  # (Unit, ListedBatch)
        pipeline
        | "Units" >> beam.Create(stages.list_units(request))
        | "ListUnits" >> beam.FlatMap(_list_unit, request)
    )
    survey = (  # Survey
        listed
        | "SurveyBatches" >> beam.Map(_survey, request)
        | "MergeSurveys" >> beam.CombineGlobally(stages.merge)
    )
    plan = survey | "Resolve" >> beam.Map(_resolve, request)  # Plan
    placed = listed | "Place" >> beam.FlatMap(_place, AsSingleton(plan))
    # A group-by yields nothing for a shard without records: every shard gets an empty entry.
    empty = plan | "EveryShard" >> beam.FlatMap(_every_shard)
    results = (
        (placed, empty)  # (ShardKey, PlacedEntry or None)
        | "Flatten" >> beam.Flatten()
        | "GatherShards" >> beam.GroupByKey()  # (ShardKey, entries)
        | "WriteShards" >> beam.Map(_write_shard, AsSingleton(plan))  # ShardResult
    )
    return (
        results
        | "GatherResults" >> beam.combiners.ToList()
        | "Publish" >> beam.Map(_publish, AsSingleton(plan), AsSingleton(survey))
    )


def run(request: Request) -> Manifest:
    """Run the conversion on Beam's portable runner in this process.

    Raises the TfrecError that a stage raised, as the local engine does.
    """
    existed = open_storage(request.output).exists()
    pipeline = beam.Pipeline(runner=FnApiRunner())
    build(pipeline, request)
    try:
        with _quiet_beam():
            pipeline.run().wait_until_finish()
    except Exception as error:
        stages.remove_useless(request.output, existed=existed)
        ours = _stage_error(error)
        if ours is None:
            raise
        raise ours from None
    return load_manifest(request.output)


@contextlib.contextmanager
def _quiet_beam() -> Iterator[None]:
    """Keep Beam from logging the traceback of every error that a stage raises on purpose."""
    logger = logging.getLogger("apache_beam")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _list_unit(unit: Unit, request: Request) -> Iterator[tuple[Unit, ListedBatch]]:
    for batch in stages.list_unit(request, unit):
        yield unit, batch


def _survey(listed: tuple[Unit, ListedBatch], request: Request) -> Survey:
    return stages.survey(request, listed[1])


def _resolve(survey: Survey, request: Request) -> Plan:
    plan = stages.resolve(request, survey)
    stages.prepare_output(plan)
    return plan


def _place(
    listed: tuple[Unit, ListedBatch], plan: Plan
) -> Iterator[tuple[ShardKey, stages.PlacedEntry]]:
    unit, batch = listed
    for shard, entry in stages.placed_entries(plan, stages.place(plan, unit, batch.files)):
        yield (shard.split, shard.index), entry


def _every_shard(plan: Plan) -> Iterator[tuple[ShardKey, None]]:
    for shard in plan.shards:
        yield (shard.split, shard.index), None


def _write_shard(
    gathered: tuple[ShardKey, Iterable[stages.PlacedEntry | None]], plan: Plan
) -> ShardResult:
    key, entries = gathered
    files = stages.shard_files_of(entries)
    shard = ShardId(*key)
    return stages.finished_shard(plan, shard, files) or stages.write_shard(plan, shard, files)


def _publish(results: list[ShardResult], plan: Plan, survey: Survey) -> Manifest:
    with open_storage(plan.request.output).locked():
        return stages.publish(plan, survey, results)


def _stage_error(error: Exception) -> TfrecError | None:
    """Return the error of ours that a stage raised, None if it is another's.

    Beam raises it anew with the step's name behind the message, or as a RuntimeError that
    holds it as text.
    """
    text = str(error)
    cls: object = type(error)
    if not isinstance(error, TfrecError):
        found = re.search(r"tfrec_tools\.errors\.(\w+): (.*)", text, re.DOTALL)
        if found is None:
            return None
        cls, text = getattr(errors, found[1], None), found[2]
    if not (isinstance(cls, type) and issubclass(cls, TfrecError)):
        return None
    text = re.sub(r" \[while running '[^]]*\]\s*\Z", "", text)
    if issubclass(cls, errors.SchemaError):
        return errors.SchemaError([errors.Problem("", text.removeprefix("schema: "))])
    return cls(text)
