"""The command line: one command per benchmark. A new benchmark adds its command here."""

from __future__ import annotations

import sys

import click

from benchmarks.beam_conversion import beam_command
from benchmarks.csv_conversion import csv_command
from benchmarks.csv_reading import csv_read_command
from benchmarks.image_conversion import images_command
from benchmarks.image_reading import read_command
from benchmarks.measuring import BenchmarkError
from benchmarks.text_conversion import text_command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def benchmarks_group() -> None:
    r"""Compare tfrec-tools with other ways to do the same work.

    Contenders are whole processes that take turns (A B C A B C …) after one round
    that is not counted. The result is a markdown table on standard output, ready for
    benchmarks/RESULTS.md; progress goes to standard error. Linux only. Nothing else
    should run on the machine meanwhile.

    \b
    Examples:
      python -m benchmarks images                     6,000 drawn photographs
      python -m benchmarks images --small             50,000 drawn images of 1 KB
      python -m benchmarks images my/photos --runs 3  your own
      python -m benchmarks read --shuffle             images per second into training
      python -m benchmarks csv                        a CSV file of 1,000,000 records
      python -m benchmarks csv-read                   its records per second into training
      python -m benchmarks text                       a file of 1,000,000 lines
      python -m benchmarks text --documents           50,000 documents in class folders
      python -m benchmarks text --memory              memory for 100 MB, 2 GB, a long line
      python -m benchmarks beam                       200,000 lines on the local engine and on Beam
    """


benchmarks_group.add_command(images_command)
benchmarks_group.add_command(read_command)
benchmarks_group.add_command(csv_command)
benchmarks_group.add_command(csv_read_command)
benchmarks_group.add_command(text_command)
benchmarks_group.add_command(beam_command)


def main(prog_name: str = "python -m benchmarks") -> None:
    """Run a benchmark; a contender that fails ends it with what the contender said."""
    try:
        benchmarks_group(prog_name=prog_name)
    except BenchmarkError as error:
        sys.exit(f"error: {error}")
