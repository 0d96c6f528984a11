"""``tfrec schema``: check schema files, print ready ones and the JSON Schema for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import tfrec_tools
from tfrec_tools.cli.source_flags import source_options, source_values
from tfrec_tools.errors import RequestError, counted, listed


def ready_schemas() -> dict[str, Path]:
    """Return the ready schema files by name: in the wheel, or in a checkout's ``schemas/``."""
    package = Path(tfrec_tools.__file__).parent
    folder = package / "ready_schemas"
    if not folder.is_dir():
        folder = package.parent / "schemas"
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


@click.group("schema", context_settings={"help_option_names": ["-h", "--help"]})
def schema_group() -> None:
    """Check schema files, and start new ones."""


@schema_group.command("check")
@click.argument("file")
def check_command(file: str) -> None:
    """Check the schema FILE and name everything that is wrong in it."""
    from tfrec_tools import schema_files  # pydantic and YAML: other commands start without

    schema = schema_files.load_schema(file)
    click.echo(f"{file}: {counted(len(schema.features), 'feature')}, no problems")


@schema_group.command("infer")
@click.argument("source")
@click.option(
    "--kind", type=click.Choice(["images", "csv", "table", "text"]), help="What SOURCE is."
)
@click.option("--exclude", metavar="GLOB", multiple=True, help="Paths to leave out.")
@click.option(
    "--labels/--no-labels", default=None, help="Whether folders are classes. By default they are."
)
@source_options
def infer_command(source: str, **options: Any) -> None:
    """Print the schema that SOURCE is converted with if none is given.

    The whole input is looked at. Converted with this schema, SOURCE gives the
    same bytes as without. Notes go to the standard error output.
    """
    from tfrec_tools import conversion, schema_files

    schema, notes = conversion.infer_schema(source, **source_values(options), **options)
    for note in notes:
        click.echo(f"Note: {note}", err=True)
    click.echo(schema_files.dump_schema(schema), nl=False)


@schema_group.command("example")
@click.argument("name", required=False)
def example_command(name: str | None) -> None:
    """Print the ready schema NAME; without a name, list them."""
    ready = ready_schemas()
    if name is None:
        for known, file in ready.items():
            title = file.read_text("utf-8").partition("\n")[0].lstrip("# ")
            click.echo(f"{known}: {title}")
        return
    if name not in ready:
        raise RequestError(f"NAME must be one of {listed(sorted(ready))} (got {name!r})")
    click.echo(ready[name].read_text("utf-8"), nl=False)


@schema_group.command("json-schema")
def json_schema_command() -> None:
    """Print the JSON Schema of schema files, for editors that check YAML."""
    from tfrec_tools import schema_files

    click.echo(json.dumps(schema_files.json_schema(), indent=2))
