"""Beam's own options: parsed strictly, and the runner they name."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.portability.fn_api_runner import fn_runner
from apache_beam.runners.portability.portable_runner import JobServiceHandle
from apache_beam.runners.runner import PipelineRunner

from tfrec_tools.errors import RequestError

IN_PROCESS = ("DirectRunner", "FnApiRunner")
"""Both mean the portable runner in this process. Beam's DirectRunner would first try to load
another one from the internet, and wait for it without end behind some firewalls."""


def beam_options(args: Sequence[str], runner: str) -> PipelineOptions:
    """Return the options that these flags mean.

    Raises RequestError for a flag that no class of Beam's knows, which Beam only logs.
    """
    flags = [*args, f"--runner={runner}"]
    try:
        options = PipelineOptions(flags)
        known = set(options.get_all_options(drop_default=False, retain_unknown_options=False))
        given = options.get_all_options(drop_default=False, retain_unknown_options=True)
    except SystemExit:  # argparse said on stderr what is wrong with a value
        raise RequestError(
            f"options of Beam must be such as it knows (got {' '.join(args)})"
        ) from None
    unknown = sorted(set(given) - known)
    if unknown:
        raise RequestError(
            f"options must be those of tfrec-convert or of Beam (got --{unknown[0]}); see "
            "`tfrec-convert --help` and the page of the runner"
        )
    return options


def runner_of(options: PipelineOptions, name: str) -> PipelineRunner | str:
    """Return the runner called ``name``, so that workers get the options, too."""
    if name not in IN_PROCESS:
        return name
    info = beam_provision_api_pb2.ProvisionInfo(
        pipeline_options=JobServiceHandle.encode_pipeline_options(options.get_all_options())
    )
    return fn_runner.FnApiRunner(provision_info=fn_runner.ExtendedProvisionInfo(info))


def pipeline_of(args: Sequence[str], runner: str) -> beam.Pipeline:
    """Return an empty pipeline for the runner with Beam's flags."""
    options = beam_options(args, runner)
    return beam.Pipeline(runner=runner_of(options, runner), options=options)


logging.getLogger("apache_beam.options").setLevel(logging.ERROR)
