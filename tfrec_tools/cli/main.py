"""Entry points. Our errors become one line and an exit code; tracebacks are for bugs."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from tfrec_tools import __version__
from tfrec_tools.cli.convert import convert_command
from tfrec_tools.cli.schema import schema_group
from tfrec_tools.errors import ExitCode, TfrecError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tfrec")
def tfrec_group() -> None:
    """Turn images, tables and texts into sharded, shuffled, checked TFRecord datasets.

    \b
    Exit codes: 0 done · 2 the request or schema is wrong · 3 the source
    cannot be read · 4 records do not fit · 5 the dataset exists, is missing,
    damaged or cannot be written · 130 interrupted
    """  # noqa: D301 (\b is click's sign for a paragraph that keeps its lines)


tfrec_group.add_command(convert_command)
tfrec_group.add_command(schema_group)


def tfrec(arguments: Sequence[str] | None = None) -> int:
    """Run ``tfrec`` and return its exit code."""
    return _run(tfrec_group, "tfrec", arguments)


def tfrec_convert(arguments: Sequence[str] | None = None) -> int:
    """Run ``tfrec-convert``, which is ``tfrec convert``, and return its exit code."""
    return _run(convert_command, "tfrec-convert", arguments)


def _run(command: click.Command, name: str, arguments: Sequence[str] | None) -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        command.main(arguments, prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return ExitCode.REQUEST
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(name)
    except RuntimeError as error:
        # Python 3.11 wraps what comes up while a class is being made.
        if isinstance(error.__cause__, KeyboardInterrupt):
            return _interrupted(name)
        raise
    except TfrecError as error:
        click.echo(f"{name}: error: {error}", err=True)
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away: nothing is left to say
        return ExitCode.OK
    return ExitCode.OK


def _interrupted(name: str) -> int:
    click.echo(
        f"{name}: interrupted; what was finished is kept, the same command goes on from there",
        err=True,
    )
    return ExitCode.INTERRUPTED


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM like Ctrl-C."""
    raise KeyboardInterrupt
