"""Flags that say how CSV files are written, shared by the commands that read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
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


def csv_options(command: Command) -> Command:
    """Give a command the flags."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def csv_values(options: dict[str, Any]) -> dict[str, Any]:
    """Take the values of the CSV flags out of a command's options."""
    return {name: options.pop(name) for name in _CSV}
