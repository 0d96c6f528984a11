"""Stages before the plan: what there is, and what it means."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from tfrec_tools import images, plan, tokenization
from tfrec_tools import survey as surveys
from tfrec_tools.plan import Plan
from tfrec_tools.records import Unit, faults_error
from tfrec_tools.request import OnError, Order, Request
from tfrec_tools.schema import Schema, TokensFeature
from tfrec_tools.sources import documents, image_folder
from tfrec_tools.sources.image_folder import ListedBatch
from tfrec_tools.survey import FileGroup, GroupCount, Survey

merge = surveys.merge


def list_units(request: Request) -> list[Unit]:
    """Return what can be listed independently. Raises SourceError if there is no such source."""
    if request.source.kind == "text":
        return documents.list_units(request)
    return image_folder.list_units(documents.file_storage(request), request.source.exclude)


def list_unit(request: Request, unit: Unit) -> Iterator[ListedBatch]:
    """Yield the files of ``unit``; for source order in one batch, in byte order of their paths."""
    in_order = request.order is Order.SOURCE
    if request.source.kind == "text":
        batches = documents.list_unit(request, unit, sort=in_order)
    else:
        storage = documents.file_storage(request)
        batches = image_folder.list_unit(storage, unit, request.source.exclude, sort=in_order)
    return iter([image_folder.joined_batches(batches)]) if in_order else batches


def survey(request: Request, batch: ListedBatch) -> Survey:
    """Return what one listed batch tells."""
    found = surveys.survey_batch(request, batch.files)
    visited = {
        FileGroup(*surveys.first_levels(folder)): GroupCount()
        for folder in batch.folders
        if folder.count(b"/") < 2
    }
    empty = Survey(groups=visited, ignored=batch.ignored, faults=batch.faults)
    return merge([found, empty])


def resolve(request: Request, survey: Survey, *, schema: Schema | None = None) -> Plan:
    """Return the plan that request and survey make. Raises TfrecErrors that say why there is none.

    ``schema``: the request's with vocabularies, where words had to be counted for it; see
    `document_words`. Plan and manifest name tokenizers by what is in their files, the plan's
    request says where these lie.
    """
    if survey.faults and request.on_error is OnError.FAIL:
        raise faults_error(survey.faults, complete=False)
    given = request.schema
    if schema is None and given is not None and given.features_of(TokensFeature):
        schema = tokenization.resolved(given)
    resolved = plan.resolve(
        request,
        survey,
        images.codec_versions(),
        schema=schema,
        folder=documents.file_root(request).folder,
    )
    if request.name is None and (request.schema is None or request.schema.name is None):
        name = plan.dataset_name(documents.source_name(request))
        named = dataclasses.replace(resolved.schema, name=name)
        resolved = dataclasses.replace(resolved, schema=named)
    return resolved
