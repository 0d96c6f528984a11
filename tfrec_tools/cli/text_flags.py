"""Flags that say how text files become records, shared by the commands that read them.

``--encoding`` and ``--comment`` are among the flags of CSV files, which have them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--record",
        type=click.Choice(["line", "paragraph", "document"]),
        help="Text: what a record is. By default a file, if files lie in class folders; else a line.",
    ),
    click.option(
        "--blank",
        type=click.Choice(["keep", "skip"]),
        help="Text: whether lines without text are records. By default they are.",
    ),
    click.option(
        "--skip-lines", type=int, metavar="N", help="Text: lines to pass over in each file."
    ),
    click.option(
        "--errors",
        type=click.Choice(["fail", "replace", "skip"]),
        help="Text: records in another encoding are faults, mended, or left out and counted.",
    ),
    click.option(
        "--as",
        "as_",
        type=click.Choice(["text", "bytes"]),
        help="Text: check the encoding, or keep the bytes as they are.",
    ),
    click.option(
        "--normalize",
        type=click.Choice(["NFC", "NFD", "NFKC", "NFKD"]),
        help="Text: the Unicode form to bring it to.",
    ),
    click.option(
        "--strip", is_flag=True, default=None, help="Text: drop white space at both ends."
    ),
    click.option("--lowercase", is_flag=True, default=None, help="Text: in lower case."),
    click.option(
        "--min-chars", type=int, metavar="N", help="Text: leave out shorter records, counted."
    ),
    click.option(
        "--max-chars", type=int, metavar="N", help="Text: leave out longer records, counted."
    ),
    click.option(
        "--max-record-bytes", type=int, metavar="N", help="Text: a longer record is a fault."
    ),
    click.option(
        "--parallel",
        metavar="ENDING,…",
        help="Text: endings of files whose lines belong together, such as en,de.",
    ),
)
_TEXT = (
    "record",
    "blank",
    "skip_lines",
    "errors",
    "as_",
    "normalize",
    "strip",
    "lowercase",
    "min_chars",
    "max_chars",
    "max_record_bytes",
    "parallel",
)


def text_options(command: Command) -> Command:
    """Give a command the flags."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def text_values(options: dict[str, Any]) -> dict[str, Any]:
    """Take the values of the text flags out of a command's options."""
    return {name: options.pop(name) for name in _TEXT}
