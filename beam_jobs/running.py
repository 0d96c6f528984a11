"""Running a conversion on Beam, from a request to a manifest, with errors as people know them."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence

import apache_beam as beam

from beam_jobs import file_pipeline, table_pipeline
from beam_jobs.options import pipeline_of
from tfrec_tools import errors, stages
from tfrec_tools.errors import TfrecError
from tfrec_tools.manifest import Manifest
from tfrec_tools.manifest_files import load_manifest
from tfrec_tools.request import Request
from tfrec_tools.storage import open_storage


def build(pipeline: beam.Pipeline, request: Request) -> beam.PCollection[Manifest]:
    """Add the conversion to ``pipeline`` and return the manifest as its only element."""
    return (file_pipeline if request.reads_files else table_pipeline).build(pipeline, request)


def run(request: Request, *, runner: str = "FnApiRunner", args: Sequence[str] = ()) -> Manifest:
    """Run the conversion, wait for its end, and return the manifest.

    ``args``: flags of Beam's. Raises the TfrecError that a stage raised, as the local engine does.
    """
    stages.refuse_dataset(request)
    existed = open_storage(request.output).exists()
    pipeline = pipeline_of(args, runner)
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
