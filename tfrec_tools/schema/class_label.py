"""``kind: class_label``: one of a fixed list of names, stored as its index."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import clipped, listed
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn


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
    """An int64 index into ``names``; names not given are found in the source and sorted."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["class_label"] = "class_label"
    from_: str | None = None
    target: bool = False
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse names that could not be written down and found again."""
        if self.names is not None:
            problems = class_name_problems(self.names)
            if not self.names:
                problems.append("names must hold at least one name, or be left out")
            if problems:
                raise ValueError("; ".join(problems))

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64),)

    def encode(self, values: pa.Array) -> EncodedColumn:
        """Encode names (binary [n]) to their indices; an unknown name is a fault."""
        names = pa.array([name.encode() for name in self.names or ()], type=pa.large_binary())
        indices = pc.index_in(values.cast(pa.large_binary()), value_set=names).cast(pa.int64())
        if not indices.null_count:
            return EncodedColumn(indices)
        unknown = pc.indices_nonzero(indices.is_null()).to_pylist()
        known = listed(self.names or (), limit=8)
        faults = {
            index: f"the class must be one of {known} (got {clipped(_text(values[index]))}); "
            "add it to `names` in the schema, or move the file"
            for index in unknown
        }
        return EncodedColumn(pc.fill_null(indices, -1), faults)

    def count(self, values: pa.Array) -> list[int]:
        """Return how many of the encoded indices fall on each class."""
        counts = Counter(values.to_pylist())
        return [counts.get(index, 0) for index in range(len(self.names or ()))]


def _text(value: pa.Scalar) -> str:
    raw = value.as_py()
    return raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else str(raw)
