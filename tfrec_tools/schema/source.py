"""``source:`` of a schema: what it expects of the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

NO_QUOTES = "none"
"""As ``quote``: cells are never quoted, and a quote is a character like any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDefaults:
    """What the source is like; an option that is None is not said, and found out.

    ``labels`` and ``exclude`` are of image folders and files. The others are of CSV files:
    ``delimiter``, ``quote`` (or "none"), ``escape`` and ``comment`` are one ASCII character, ``decimal``
    the mark in numbers, ``column_names`` stand for a header, ``null_values`` are cells that
    mean a missing value, ``trim`` takes blanks off the ends of cells.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["images", "csv", "table"] | None = None
    labels: bool = True
    exclude: tuple[str, ...] = ()
    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    decimal: Literal[".", ","] | None = None
    header: bool | None = None
    column_names: tuple[str, ...] | None = None
    encoding: str | None = None
    comment: str | None = None
    skip_rows: int | None = None
    null_values: tuple[str, ...] | None = None
    trim: bool | None = None

    def __post_init__(self) -> None:
        """Refuse what no CSV file can be like."""
        problems = [
            f"{name} must be one ASCII character (got {value!r})"
            for name in ("delimiter", "quote", "escape", "comment")
            if (value := getattr(self, name)) is not None
            and (len(value) != 1 or not value.isascii() or value in "\r\n\0")
            and not (name == "quote" and value == NO_QUOTES)
        ]
        if self.decimal not in {None, ".", ","}:
            problems.append(f"decimal must be '.' or ',' (got {self.decimal!r})")
        given = [value for value in (self.delimiter, self.quote, self.decimal) if value]
        if len(set(given)) != len(given):
            problems.append("delimiter, quote and decimal must differ")
        if self.skip_rows is not None and self.skip_rows < 0:
            problems.append(f"skip_rows must be at least 0 (got {self.skip_rows})")
        if self.column_names is not None:
            if not self.column_names or not all(self.column_names):
                problems.append("column_names must hold names that are not empty")
            if len(set(self.column_names)) != len(self.column_names):
                problems.append("column_names must differ")
        if problems:
            raise ValueError("; ".join(problems))
