"""How CSV files are written: which characters part, quote and escape cells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvDialect:
    """The characters that mean something in a CSV file; all are ASCII.

    All are single characters but ``comment``, which may be longer: what a line that is no
    record begins with. ``null_values``: words that mean missing where they are not quoted.
    ``trim``: spaces and tabs at a cell's ends mean nothing.
    """

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    comment: str | None = None
    null_values: tuple[str, ...] = ()
    trim: bool = False

    @property
    def null_words(self) -> tuple[bytes, ...]:
        """The cells that mean missing if not quoted: the empty one, and each word.

        A word also counts behind one space, since many files have one behind each delimiter.
        """
        words = (word.strip() for word in self.null_values)
        found = ["", *(form for word in words for form in (word, f" {word}"))]
        return tuple(word.encode() for word in dict.fromkeys(found))
