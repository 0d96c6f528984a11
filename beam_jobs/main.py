"""The programs of this package: ``tfrec-convert`` with names for its arguments."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tfrec_tools.cli.main import tfrec_convert


def main(kind: str, arguments: Sequence[str] | None = None) -> int:
    """Convert ``--input`` to ``--output`` on ``--runner``, and return the exit code.

    All other options are those of ``tfrec-convert`` and of the runner.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m beam_jobs.{kind}",
        description="Other options are those of `tfrec-convert`, and of the runner.",
        allow_abbrev=False,
    )
    parser.add_argument("--input", required=True, help="folder, file or pattern; local or a URL")
    parser.add_argument("--output", required=True, help="folder for the dataset")
    parser.add_argument("--runner", default="FnApiRunner", help="default: %(default)s")
    known, others = parser.parse_known_args(arguments)
    fixed = [known.input, known.output, "--kind", kind, "--runner", known.runner]
    return tfrec_convert([*fixed, *others])
