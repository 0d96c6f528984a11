"""Flags that say what CSV and text files are like, shared by the commands that read them.

``--encoding`` and ``--comment`` are among those of CSV files; text files have them, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_CSV_OPTIONS = (
    click.option(
        "--columns", metavar="NAME,…", help="Tables: the columns to take; by default all."
    ),
    click.option(
        "--target", metavar="COLUMN", help="Tables: what a model is to predict; text is a class."
    ),
    click.option(
        "--delimiter", metavar="CHAR", help="CSV: between cells; `tab` for a tab. Else found out."
    ),
    click.option(
        "--header/--no-header", default=None, help="CSV: whether names come first. Else found out."
    ),
    click.option(
        "--column-names", metavar="NAME,…", help="CSV: names of the columns of headerless files."
    ),
    click.option("--encoding", metavar="NAME", help="CSV, text: such as cp1252. By default UTF-8."),
    click.option("--decimal", metavar="CHAR", help="CSV: mark in numbers; by default a dot."),
    click.option(
        "--null-values", metavar="WORD,…", help="CSV: unquoted cells that mean missing, as NA."
    ),
    click.option(
        "--trim", is_flag=True, default=None, help="CSV: drop spaces at the ends of cells."
    ),
    click.option("--quote", metavar="CHAR", help="CSV: around cells; `none` for no quotes."),
    click.option("--escape", metavar="CHAR", help="CSV: in front of characters without meaning."),
    click.option(
        "--comment", metavar="CHAR", help="CSV, text: at the start of lines to pass over."
    ),
    click.option("--skip-rows", type=int, metavar="N", help="CSV: lines in front of the header."),
)
_TEXT_OPTIONS = (
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
_CSV = (
    "delimiter",
    "header",
    "column_names",
    "encoding",
    "decimal",
    "null_values",
    "trim",
    "quote",
    "escape",
    "comment",
    "skip_rows",
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


def source_options(command: Command) -> Command:
    """Give a command the flags."""
    for option in reversed((*_CSV_OPTIONS, *_TEXT_OPTIONS)):
        command = option(command)
    return command


def source_values(options: dict[str, Any]) -> dict[str, Any]:
    """Take the values of the flags out of a command's options: those of CSV files and of text."""
    return {
        "csv": {name: options.pop(name) for name in _CSV},
        "text": {name: options.pop(name) for name in _TEXT},
    }
