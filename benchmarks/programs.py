"""The command lines of contenders, and what these need to be installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.measuring import NUM_SHOWN_CHARS, REPOSITORY, BenchmarkError, Contender
from benchmarks.run_options import say


def convert_command(source: Path, output: Path, *flags: str | Path) -> list[str | Path]:
    """Return the command that converts ``source`` to a dataset in ``output``."""
    command: list[str | Path] = [sys.executable, "-m", "tfrec_tools", "convert", source, output]
    return [*command, "--overwrite", "--quiet", *flags]


def peer_command(module: str, *arguments: str | Path) -> list[str | Path]:
    """Return the command that runs a program of ``benchmarks.peers``."""
    return [sys.executable, "-m", f"benchmarks.peers.{module}", *arguments]


def with_packages(
    contenders: Sequence[Contender], needs: Mapping[str, Sequence[str]]
) -> list[Contender]:
    """Return the contenders whose packages are installed; say which are left out.

    ``needs``: by the name of a contender, the modules that it imports.
    """
    there = []
    for contender in contenders:
        needed = needs.get(contender.name, ())
        absent = [name for name in needed if importlib.util.find_spec(name) is None]
        if absent:
            say(f"{contender.name} is left out: not installed: {', '.join(absent)}")
        else:
            there.append(contender)
    return there


def printed_by(command: Sequence[str | Path], *, task: str) -> str:
    """Run a command that is not measured and return its standard output.

    Raises BenchmarkError, with ``task`` and the end of what the command said, if it fails.
    """
    done = subprocess.run(
        command, cwd=REPOSITORY, check=False, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        said = f"{done.stdout}{done.stderr}"[-NUM_SHOWN_CHARS:]
        raise BenchmarkError(f"{task} failed:\n{said}")
    return done.stdout
