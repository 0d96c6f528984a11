"""``kind: class_label``: one of a fixed list of names, stored as its index."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import clipped, listed
from tfrec_tools.schema.cells import (
    MISSING_FAULT,
    Lists,
    cell_texts,
    indices_of,
    lists_of,
    looked_up,
    plain,
    shown,
    trimmed,
    type_problem,
    without_nulls,
)
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn
from tfrec_tools.schema.options import WRITTEN_IF_GIVEN, list_problems

UNKNOWN_CLASS = "the class must be one of"
"""How the fault of a label that is no class begins."""

MISSING_CLASS = "must not be missing; give `missing: empty` or a class name in the schema"


def class_name_problems(names: Sequence[str]) -> list[str]:
    """Return what is wrong with these class names; TFDS keeps them one a line, stripped."""
    problems = []
    by_form: dict[str, str] = {}
    for name in names:
        if not name or name != name.strip() or "\n" in name or "\r" in name:
            problems.append(
                f"a class name must not be empty, have space at its ends or a line break "
                f"(got {clipped(name)})"
            )
        form = unicodedata.normalize("NFC", name)
        if form in by_form:
            same = (
                "twice the same"
                if by_form[form] == name
                else ("equal after Unicode normalization (NFC), though not byte by byte")
            )
            problems.append(
                f"class names must differ: {clipped(by_form[form])} and {clipped(name)} are {same}"
            )
        by_form.setdefault(form, name)
    return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLabelFeature:
    """An int64 index into ``names``; names not given are found in the source and sorted.

    ``many``: the classes between separators. ``missing``: a class to stand for a missing
    one, or ``empty`` (an empty list), or ``error`` (the default).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["class_label"] = "class_label"
    from_: str | None = None
    target: bool = False
    names: tuple[str, ...] | None = None
    many: bool = field(default=False, metadata=WRITTEN_IF_GIVEN)
    separator: str | None = None
    missing: str | None = None

    def __post_init__(self) -> None:
        """Refuse names that could not be written down and found again, and contradictions."""
        problems = list_problems(self)
        if self.names is not None:
            problems += class_name_problems(self.names)
            if not self.names:
                problems.append("names must hold at least one name, or be left out")
            elif self._missing_class is not None and self._missing_class not in self.names:
                problems.append(
                    f"missing must be error, empty or one of the class names (got {self.missing!r})"
                )
        if self.many and self._missing_class is not None:
            problems.append("with `many: true`, `missing` must be error or empty")
        if problems:
            raise ValueError("; ".join(problems))

    @property
    def _missing_class(self) -> str | None:
        return None if self.missing in {None, "error", "empty"} else self.missing

    @property
    def needs_separator(self) -> bool:
        """Whether text cells cannot be understood without a separator."""
        return self.many and self.separator is None

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64, is_list=self.many),)

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""
        return type_problem(self.kind, arrow_type, pa.types.is_integer, lists=self.many)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:  # noqa: ARG002
        """Encode names of folders (binary [n]) to their indices; an unknown name is a fault."""
        return self._encode_names(plain(values), "move the file")

    def encode_cells(self, values: pa.Array) -> EncodedColumn:
        """Encode cells of a table, or lists, to indices; blanks around names mean nothing."""
        if self.many:
            return self._encode_lists(lists_of(values, self.separator, trim=True))
        cells = trimmed(cell_texts(values))
        encoded = self._encode_names(cells, "mend the cell", ignore_missing=True)
        if not cells.null_count or self.missing == "empty":
            return encoded
        if self._missing_class is None:
            faults = dict(encoded.faults) | self._missing_faults(indices_of(cells.is_null()))
            return EncodedColumn(encoded.values, faults, encoded.unknown)
        stand_in = (self.names or ()).index(self._missing_class)
        return EncodedColumn(
            pc.if_else(cells.is_null(), stand_in, encoded.values), encoded.faults, encoded.unknown
        )

    def _encode_lists(self, lists: Lists) -> EncodedColumn:
        lists, faults = without_nulls(lists, MISSING_FAULT)
        items = self._encode_names(trimmed(cell_texts(lists.items)), "mend the cell")
        faults |= lists.faults(items.faults)
        if self.missing == "error":
            faults |= self._missing_faults(np.flatnonzero(~lists.present).tolist())
        return EncodedColumn(lists.wrapped(items.values), faults, items.unknown)

    def _missing_faults(self, indices: Sequence[int]) -> dict[int, str]:
        return dict.fromkeys(indices, MISSING_FAULT if self.missing == "error" else MISSING_CLASS)

    def _encode_names(
        self, names: pa.LargeBinaryArray, remedy: str, *, ignore_missing: bool = False
    ) -> EncodedColumn:
        known = {name.encode(): index for index, name in enumerate(self.names or ())}
        indices, wrong = looked_up(names, known.get)
        if not ignore_missing and names.null_count:
            wrong = pc.or_(wrong, names.is_null())
        unknown = indices_of(wrong)
        if not unknown:
            return EncodedColumn(indices)
        words = listed(self.names or (), limit=8)
        found = names.take(pa.array(unknown, pa.int64()))
        faults = {
            index: f"{UNKNOWN_CLASS} {words} (got {shown(value)}); "
            f"add it to `names` in the schema, or {remedy}"
            for index, value in zip(unknown, found.to_pylist(), strict=True)
        }
        return EncodedColumn(pc.if_else(wrong, -1, indices), faults, _counted(found.drop_null()))

    def count(self, values: pa.Array) -> list[int]:
        """Return how many of the encoded indices fall on each class."""
        counts = Counter(values.to_pylist())
        return [counts.get(index, 0) for index in range(len(self.names or ()))]


def _counted(texts: pa.LargeBinaryArray) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for pair in texts.value_counts():
        counts[pair["values"].as_py().decode("utf-8", "backslashreplace")] += pair["counts"].as_py()
    return dict(counts)
