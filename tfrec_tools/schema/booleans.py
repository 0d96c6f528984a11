"""``kind: bool``: true or false, stored as 1 or 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.schema.cells import (
    MISSING_FAULT,
    faults_where,
    indices_of,
    is_text,
    looked_up,
    plain,
    trimmed,
    type_problem,
)
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn

TRUE_WORDS = ("true", "yes", "1", "t", "y", "on")
FALSE_WORDS = ("false", "no", "0", "f", "n", "off")

_MEANINGS = {word.encode(): 1 for word in TRUE_WORDS} | {word.encode(): 0 for word in FALSE_WORDS}


@dataclass(frozen=True, slots=True, kw_only=True)
class BoolFeature:
    """True or false, in one of the usual words in any case; ``missing`` stands for a missing one."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["bool"] = "bool"
    from_: str | None = None
    target: bool = False
    missing: bool | Literal["error", "empty"] | None = None

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64),)

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""
        return type_problem(self.kind, arrow_type, pa.types.is_boolean, lists=None)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:  # noqa: ARG002
        """Encode booleans or words (text [n]) to int64 1 and 0."""
        values = plain(values)
        faults: dict[int, str] = {}
        if is_text(values.type):
            numbers, wrong = looked_up(trimmed(values), lambda word: _MEANINGS.get(word.lower()))
            faults = faults_where(values, wrong, "true or false, yes or no, 1 or 0")
        else:
            numbers = values.cast(pa.int64())
        if values.null_count:
            if self.missing == "error":
                faults |= dict.fromkeys(indices_of(values.is_null()), MISSING_FAULT)
            elif isinstance(self.missing, bool):
                numbers = pc.fill_null(numbers, int(self.missing))
        return EncodedColumn(numbers, faults)
