"""``text`` and ``bytes``: cells or files kept exactly as they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import listed
from tfrec_tools.schema.cells import (
    MISSING_FAULT,
    indices_of,
    lists_of,
    looked_up,
    plain,
    shown,
    type_problem,
    without_nulls,
)
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn
from tfrec_tools.schema.options import WRITTEN_IF_GIVEN, list_problems

_SHOWN_WORDS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFeature:
    """UTF-8 text, from a column or from a file beside the record (a path pattern).

    ``many``: the texts between separators. ``missing``: a text to stand for a missing one,
    or ``error``, or ``empty`` (the default: an empty list). ``vocabulary``: the only texts
    allowed.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["text"] = "text"
    from_: str | None = None
    target: bool = False
    many: bool = field(default=False, metadata=WRITTEN_IF_GIVEN)
    separator: str | None = None
    missing: str | None = None
    vocabulary: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        problems = list_problems(self)
        if self.many and self.missing not in {None, "error", "empty"}:
            problems.append("with `many: true`, `missing` must be error or empty")
        if self.vocabulary is not None:
            if not self.vocabulary:
                problems.append("vocabulary must hold at least one text, or be left out")
            if len(set(self.vocabulary)) != len(self.vocabulary):
                problems.append("the texts of a vocabulary must differ")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def needs_separator(self) -> bool:
        """Whether text cells cannot be understood without a separator."""
        return self.many and self.separator is None

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.BYTES, is_list=self.many),)

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""
        return type_problem(self.kind, arrow_type, lambda _: False, lists=self.many)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:  # noqa: ARG002
        """Keep the bytes (binary or text [n], or lists of these); what is no UTF-8 is a fault."""
        if not self.many:
            texts = plain(values).cast(pa.large_binary())
            faults = self._faults(texts)
            filled, unfilled = filled_bytes(texts, self.missing)
            return EncodedColumn(filled, unfilled | faults)
        lists, missing_items = without_nulls(
            lists_of(values, self.separator, trim=False), MISSING_FAULT
        )
        items = plain(lists.items).cast(pa.large_binary())
        faults = missing_items | lists.faults(self._faults(items))
        if self.missing == "error":
            faults |= dict.fromkeys(np.flatnonzero(~lists.present).tolist(), MISSING_FAULT)
        return EncodedColumn(lists.wrapped(items), faults)

    def _faults(self, texts: pa.LargeBinaryArray) -> dict[int, str]:
        faults = {}
        try:
            texts.cast(pa.large_string())
        except pa.ArrowInvalid:
            faults = _not_utf8(texts)
        if self.vocabulary is not None:
            known = {word.encode(): index for index, word in enumerate(self.vocabulary)}
            _, wrong = looked_up(texts, known.get)
            words = listed(self.vocabulary, limit=_SHOWN_WORDS)
            faults = {
                index: f"must be one of {words} (got {shown(texts[index].as_py())})"
                for index in indices_of(wrong)
            } | faults
        return faults


def _not_utf8(values: pa.Array) -> dict[int, str]:
    faults = {}
    # A loop over records: only where some of them are no text, to say where they are none.
    for index, value in enumerate(values.to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            faults[index] = f"must be UTF-8 text (byte {error.start} is none); use kind: bytes"
    return faults


def filled_bytes(
    values: pa.LargeBinaryArray, missing: str | None
) -> tuple[pa.LargeBinaryArray, dict[int, str]]:
    """Return the values with a text in place of nulls, or the faults that nulls are."""
    if not values.null_count or missing in {None, "empty"}:
        return values, {}
    if missing == "error":
        return values, dict.fromkeys(indices_of(values.is_null()), MISSING_FAULT)
    assert missing is not None
    return pc.fill_null(values, pa.scalar(missing.encode(), pa.large_binary())), {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesFeature:
    """Bytes as they are, from a column or from a file beside the record (a path pattern)."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["bytes"] = "bytes"
    from_: str | None = None
    target: bool = False
    missing: Literal["error", "empty"] | None = None

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.BYTES),)

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""
        return type_problem(self.kind, arrow_type, pa.types.is_fixed_size_binary, lists=None)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:  # noqa: ARG002
        """Keep the bytes (binary or text [n])."""
        return EncodedColumn(*filled_bytes(plain(values).cast(pa.large_binary()), self.missing))
