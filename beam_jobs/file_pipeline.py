"""Images and documents on Beam. Only places and paths are shuffled; a file is read by its writer.

units ─► list ─► survey ─► merge ─► plan ┄┄ side input ┄┄┐
           └───────────────────────► place ─► group by shard ─► write ─► publish
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.pvalue import AsSingleton

from tfrec_tools import stages
from tfrec_tools.manifest import Manifest
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
    """Add the conversion to ``pipeline`` and return the manifest as its only element."""
    listed = (  # (Unit, ListedBatch)
        pipeline
        | "Request" >> beam.Create([request])
        | "Units" >> beam.FlatMap(_units)
        | "SpreadUnits" >> beam.Reshuffle()
        | "ListUnits" >> beam.FlatMap(_list_unit, request)
    )
    survey = (  # Survey
        listed
        | "SurveyBatches" >> beam.Map(_survey, request)
        | "MergeSurveys" >> beam.CombineGlobally(stages.merge)
    )
    words = (  # of documents, where a vocabulary is made of them
        listed
        | "CountWords" >> beam.FlatMap(_count_words, request)
        | "MergeWords" >> beam.CombineGlobally(stages.merge_words)
    )
    plan = survey | "Resolve" >> beam.Map(_resolve, request, AsSingleton(words))  # Plan
    placed = listed | "Place" >> beam.FlatMap(_place, AsSingleton(plan))
    # A group-by yields nothing for a shard without records: every shard gets an empty entry.
    empty = plan | "EveryShard" >> beam.FlatMap(every_shard)
    results = (
        (placed, empty)  # (ShardKey, PlacedEntry or None)
        | "Flatten" >> beam.Flatten()
        | "GatherShards" >> beam.GroupByKey()  # (ShardKey, entries)
        | "WriteShards" >> beam.Map(_write_shard, AsSingleton(plan))  # ShardResult
    )
    return (
        results
        | "GatherResults" >> beam.CombineGlobally(_in_one_list)
        | "Publish" >> beam.Map(_publish, AsSingleton(plan), AsSingleton(survey))
    )


def _in_one_list(parts: Iterable[Any]) -> list[Any]:
    """Put elements, and lists of such, into one list."""
    return [e for part in parts for e in (part if isinstance(part, list) else [part])]


def _units(request: Request) -> Sequence[Unit]:
    return stages.list_units(request)


def _list_unit(unit: Unit, request: Request) -> Iterator[tuple[Unit, ListedBatch]]:
    for batch in stages.list_unit(request, unit):
        yield unit, batch


def _survey(listed: tuple[Unit, ListedBatch], request: Request) -> Survey:
    return stages.survey(request, listed[1])


def _count_words(listed: tuple[Unit, ListedBatch], request: Request) -> Iterator[stages.WordCounts]:
    if stages.counted_features(request):
        yield stages.survey_documents(request, listed[1].files)


def _resolve(survey: Survey, request: Request, words: stages.WordCounts) -> Plan:
    schema = None
    if stages.counted_features(request):
        assert request.schema is not None
        schema = stages.with_vocabularies(request.schema, words)
    plan = stages.resolve(request, survey, schema=schema)
    stages.prepare_output(plan)
    return plan


def _place(
    listed: tuple[Unit, ListedBatch], plan: Plan
) -> Iterator[tuple[ShardKey, stages.PlacedEntry]]:
    unit, batch = listed
    for shard, entry in stages.placed_entries(plan, stages.place(plan, unit, batch.files)):
        yield (shard.split, shard.index), entry


def every_shard(plan: Plan) -> Iterator[tuple[ShardKey, None]]:
    """Yield the key of every shard."""
    for shard in plan.shards:
        yield (shard.split, shard.index), None


def counted(manifest: Manifest) -> Manifest:
    """Show the counts of a finished dataset among the job's metrics, as ``tfrec`` counters.

    They are for people: a step that is repeated counts again. The manifest is what holds.
    """
    for name, number in (
        ("records_written", manifest.num_records),
        ("inputs_rejected", manifest.num_rejected),
        ("records_left_out", sum(manifest.left_out.values())),
    ):
        Metrics.counter("tfrec", name).inc(number)
    return manifest


def attempt() -> str:
    """Return a name that no other attempt at the same work has."""
    return uuid.uuid4().hex


def _write_shard(
    gathered: tuple[ShardKey, Iterable[stages.PlacedEntry | None]], plan: Plan
) -> ShardResult:
    key, entries = gathered
    files = stages.shard_files_of(entries)
    shard = ShardId(*key)
    found = stages.finished_shard(plan, shard, files)
    return found or stages.write_shard(plan, shard, files, attempt=attempt())


def _publish(results: list[ShardResult], plan: Plan, survey: Survey) -> Manifest:
    with open_storage(plan.request.output).locked():
        return counted(stages.published(plan) or stages.publish(plan, survey, results))
