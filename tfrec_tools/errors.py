"""Every error the project raises on purpose, and the exit code each one means.

TfrecError
├── RequestError            the request makes no sense                   exit 2
├── SchemaError             a schema is wrong (all problems at once)     exit 2
├── MissingDependencyError  an optional package is not installed         exit 2
├── SourceError             the input could not be read                  exit 3
├── RecordError             a record does not fit                        exit 4
└── DatasetError            a dataset is missing, damaged or not written exit 5

A message is one sentence: what must be, what was found, where, what to do. Everything
that makes up an error is passed to ``Exception.__init__``: otherwise it cannot be
unpickled, and a process pool would report nonsense in its place.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_CLIPPED_CHARS = 80


class ExitCode(enum.IntEnum):
    """What the command line returns."""

    OK = 0
    REQUEST = 2
    SOURCE = 3
    RECORD = 4
    DATASET = 5
    INTERRUPTED = 130


class TfrecError(Exception):
    """Root of all errors that a user can act on."""

    exit_code: ClassVar[ExitCode] = ExitCode.REQUEST


class RequestError(TfrecError, ValueError):
    """What was asked makes no sense, or contradicts itself."""


class MissingDependencyError(TfrecError, ImportError):
    """An optional package is needed and not installed."""


class SourceError(TfrecError):
    """The input could not be read or is laid out in a way that has no meaning."""

    exit_code: ClassVar[ExitCode] = ExitCode.SOURCE


class RecordError(TfrecError, ValueError):
    """One or more records do not fit their schema."""

    exit_code: ClassVar[ExitCode] = ExitCode.RECORD


class DatasetError(TfrecError):
    """A dataset is missing or damaged, exists already, or could not be written."""

    exit_code: ClassVar[ExitCode] = ExitCode.DATASET


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a schema, with its place such as ``features.label.names``."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class SchemaError(TfrecError, ValueError):
    """A schema is wrong; all of its problems are listed, not only the first."""

    def __init__(self, problems: Sequence[Problem], origin: str = "schema") -> None:
        """Keep the problems found in ``origin`` (a file name, or the word schema)."""
        super().__init__(tuple(problems), origin)
        self.problems = tuple(problems)
        self.origin = origin

    def __str__(self) -> str:
        return "\n".join(f"{self.origin}: {problem}" for problem in self.problems)


def clipped(value: object) -> str:
    """Return ``repr(value)``, shortened so that a message stays one readable line."""
    text = repr(value)
    return text if len(text) <= MAX_CLIPPED_CHARS else text[: MAX_CLIPPED_CHARS - 1] + "…"


def listed(values: Sequence[str], *, limit: int = 10) -> str:
    """Join names for a message: ``a, b, c`` and how many more there are."""
    shown = ", ".join(values[:limit])
    return shown if len(values) <= limit else f"{shown} and {len(values) - limit} more"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 file`` or ``3 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
