"""How text files become records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

RecordKind: TypeAlias = Literal["line", "paragraph", "document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextOptions:
    """How text files become records; None for what is as usual.

    ``record``: what one record is, known once the request is made. ``blank``: whether lines
    without anything but blanks are records (``keep``, the default). ``skip_lines``: lines to
    pass over at the start of each file; ``comment``: how lines begin that are none.
    ``errors``: what becomes of records that are no text in the ``encoding``. ``as_``:
    ``bytes`` keeps them unchecked. ``normalize``, ``strip``, ``lowercase`` change the text, in
    this order. Records with less than ``min_chars`` or more than ``max_chars`` are left out
    and counted; one with more than ``max_record_bytes`` is a fault. ``parallel``: the endings
    of the files whose lines belong together.
    """

    record: RecordKind | None = None
    blank: Literal["keep", "skip"] | None = None
    comment: str | None = None
    skip_lines: int | None = None
    encoding: str | None = None
    errors: Literal["fail", "replace", "skip"] | None = None
    as_: Literal["text", "bytes"] | None = None
    normalize: Literal["NFC", "NFD", "NFKC", "NFKD"] | None = None
    strip: bool | None = None
    lowercase: bool | None = None
    min_chars: int | None = None
    max_chars: int | None = None
    max_record_bytes: int | None = None
    parallel: tuple[str, ...] | None = None

    @property
    def keeps_bytes(self) -> bool:
        """Whether records are bytes that nobody looks at."""
        return self.as_ == "bytes"

    def to_dict(self) -> dict[str, Any]:
        """Return what was said as plain values, by the names that people write."""
        return {
            name.rstrip("_"): list(value) if isinstance(value, tuple) else value
            for name in type(self).__dataclass_fields__
            if (value := getattr(self, name)) is not None
        }
