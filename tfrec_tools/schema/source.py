"""``source:`` of a schema: what it expects of the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

NO_QUOTES = "none"
"""As ``quote``: cells are never quoted, and a quote is a character like any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceDefaults:
    """What the source is like; an option that is None is not said, and found out.

    ``labels`` and ``exclude`` are of folders of files. Of CSV files: ``delimiter``, ``quote``
    (or "none"), ``escape`` and ``comment`` are one ASCII character, ``decimal`` the mark in
    numbers, ``column_names`` stand for a header, ``null_values`` are cells that mean a missing
    value, ``trim`` takes blanks off the ends of cells; ``encoding`` is of text files, too. Of
    text files, from ``record`` on: see `TextOptions`; their ``comment`` is any text at the
    start of a line.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["images", "csv", "table", "text"] | None = None
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
    record: Literal["line", "paragraph", "document"] | None = None
    blank: Literal["keep", "skip"] | None = None
    skip_lines: int | None = None
    errors: Literal["fail", "replace", "skip"] | None = None
    as_: Literal["text", "bytes"] | None = None
    normalize: Literal["NFC", "NFD", "NFKC", "NFKD"] | None = None
    strip: bool | None = None
    lowercase: bool | None = None
    min_chars: int | None = None
    max_chars: int | None = None
    max_record_bytes: int | None = None
    parallel: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse what no CSV or text file can be like."""
        problems = [
            f"{name} must be one ASCII character (got {value!r})"
            for name in (
                "delimiter",
                "quote",
                "escape",
                *([] if self.kind == "text" else ["comment"]),
            )
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
        problems += self._text_problems()
        if self.column_names is not None:
            if not self.column_names or not all(self.column_names):
                problems.append("column_names must hold names that are not empty")
            if len(set(self.column_names)) != len(self.column_names):
                problems.append("column_names must differ")
        if problems:
            raise ValueError("; ".join(problems))

    def _text_problems(self) -> list[str]:
        problems = [
            f"{name} must be at least {least} (got {value})"
            for name, least in (
                ("skip_lines", 0),
                ("min_chars", 0),
                ("max_chars", 1),
                ("max_record_bytes", 1),
            )
            if (value := getattr(self, name)) is not None and value < least
        ]
        least, most = self.min_chars, self.max_chars
        if least is not None and most is not None and least > most:
            problems.append(f"min_chars must be at most max_chars (got {least} and {most})")
        comment = self.comment if self.kind == "text" else None
        if comment is not None and (not comment or "\n" in comment or "\r" in comment):
            problems.append(f"comment must be the start of a line (got {comment!r})")
        if comment is not None and not comment.isascii() and self.encoding is not None:
            problems.append(f"comment must be ASCII in another encoding (got {comment!r})")
        if self.as_ == "bytes":
            problems += [
                f"as: bytes keeps bytes as they are, and {name} changes or reads them: give one of "
                "them"
                for name in ("encoding", "errors", "normalize", "strip", "lowercase")
                if getattr(self, name) not in {None, False}
            ]
            problems += [
                f"as: bytes has no characters to count: leave {name} out"
                for name in ("min_chars", "max_chars")
                if getattr(self, name) is not None
            ]
        if self.record in ("paragraph", "document"):
            names = ["blank", "comment", "parallel"]
            names += ["skip_lines"] if self.record == "document" else []
            problems += [
                f"{name} goes with record: line (got record: {self.record})"
                for name in names
                if getattr(self, name) is not None
                and not (name == "comment" and self.kind != "text")
            ]
        if self.parallel is not None:
            if len(self.parallel) < 2 or len(set(self.parallel)) != len(self.parallel):
                problems.append(
                    "parallel must name two or more endings that differ, such as en and de "
                    f"(got {', '.join(self.parallel) or 'none'})"
                )
            if self.blank == "skip":
                problems.append(
                    "blank: skip would put parallel lines out of step; min_chars: 1 leaves out "
                    "what has an empty side"
                )
            if self.comment is not None:
                problems.append("comment would put parallel lines out of step: leave it out")
        return problems
