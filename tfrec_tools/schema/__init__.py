"""What the records of a dataset consist of: a name and features of certain kinds.

A schema is plain frozen values. It neither reads files (``schema_files`` does) nor knows
TensorFlow (the reader maps kinds to its types).
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from tfrec_tools.errors import DatasetError, Problem, SchemaError
from tfrec_tools.schema.booleans import FALSE_WORDS, TRUE_WORDS, BoolFeature
from tfrec_tools.schema.class_label import ClassLabelFeature, class_name_problems
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn
from tfrec_tools.schema.image import ImageEncoding, ImageFeature, Resize
from tfrec_tools.schema.mask import MaskFeature
from tfrec_tools.schema.numbers import (
    Float32Feature,
    Float64Feature,
    Int64Feature,
    NumberFeature,
    encode_packed,
)
from tfrec_tools.schema.options import is_written
from tfrec_tools.schema.source import SourceDefaults
from tfrec_tools.schema.splits import SplitsSpec
from tfrec_tools.schema.texts import BytesFeature, TextFeature
from tfrec_tools.schema.timestamp import TimestampFeature
from tfrec_tools.schema.tokens import TokensFeature

__all__ = [
    "FALSE_WORDS",
    "FEATURE_KINDS",
    "TRUE_WORDS",
    "BoolFeature",
    "BytesFeature",
    "ClassLabelFeature",
    "EncodedColumn",
    "Feature",
    "Float32Feature",
    "Float64Feature",
    "ImageEncoding",
    "ImageFeature",
    "Int64Feature",
    "MaskFeature",
    "NumberFeature",
    "Resize",
    "Schema",
    "SourceDefaults",
    "SplitsSpec",
    "StoredColumn",
    "StoredType",
    "TextFeature",
    "TimestampFeature",
    "TokensFeature",
    "class_name_problems",
    "encode_cells",
    "encode_packed",
    "feature_from_dict",
    "is_path_pattern",
]

Feature: TypeAlias = (
    ImageFeature
    | MaskFeature
    | ClassLabelFeature
    | TextFeature
    | BytesFeature
    | Int64Feature
    | Float32Feature
    | Float64Feature
    | BoolFeature
    | TimestampFeature
    | TokensFeature
)

FEATURE_KINDS: Mapping[str, type[Feature]] = types.MappingProxyType(
    {cls.__dataclass_fields__["kind"].default: cls for cls in get_args(Feature)}
)
"""Kinds by the name they have in a schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Features by name, in the order in which people listed them."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    features: Mapping[str, Feature]
    name: str | None = None
    description: str | None = None
    source: SourceDefaults = field(default_factory=SourceDefaults)
    splits: SplitsSpec | None = None

    def __post_init__(self) -> None:
        """Refuse features that contradict each other, all problems at once."""
        problems = []
        if not self.features:
            problems.append(Problem("features", "must hold at least one feature"))
        problems += [
            Problem(
                f"features.{name}",
                "a feature's name must be printable, without '/' and spaces at its ends",
            )
            for name in self.features
            if not name or name != name.strip() or "/" in name or not name.isprintable()
        ]
        owners: dict[str, str] = {}
        for name, feature in self.features.items():
            for column in feature.stored(name):
                owner = owners.setdefault(column.name, name)
                if owner != name:
                    problems.append(
                        Problem(
                            f"features.{column.name}",
                            f"is also stored by feature {owner!r}; choose another name",
                        )
                    )
        targets = [name for name, feature in self.features.items() if feature.target]
        if len(targets) > 1:
            problems.append(
                Problem("features", f"only one feature can be the target (got {targets})")
            )
        if problems:
            raise SchemaError(problems)

    @property
    def target(self) -> str | None:
        """The name of the feature that a model is to predict."""
        return next((name for name, feature in self.features.items() if feature.target), None)

    @property
    def stored(self) -> tuple[StoredColumn, ...]:
        """All columns of an Example, sorted by name."""
        columns = [c for name, feature in self.features.items() for c in feature.stored(name)]
        return tuple(sorted(columns, key=lambda column: column.name))

    def features_of(self, *kinds: type[Feature]) -> dict[str, Any]:
        """Return the features of these classes, by name."""
        return {n: feature for n, feature in self.features.items() if isinstance(feature, kinds)}

    def to_dict(self) -> dict[str, Any]:
        """Return the name, the description and the features as plain values for JSON.

        What the source and the splits were is not part of what a record consists of.
        """
        described = {"name": self.name, "description": self.description}
        return {key: value for key, value in described.items() if value is not None} | {
            "features": {name: plain_values(f) for name, f in self.features.items()}
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Schema:
        """Return the schema that `to_dict` wrote. Raises DatasetError if it is none."""
        try:
            features = {name: feature_from_dict(f) for name, f in data["features"].items()}
            return cls(
                name=data.get("name"), description=data.get("description"), features=features
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DatasetError(f"the manifest's schema could not be understood ({error})") from None


def is_path_pattern(feature: Feature) -> bool:
    """Say whether the feature's values come from files beside the record."""
    return feature.from_ is not None and "{" in feature.from_


def encode_cells(feature: Feature, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:
    """Encode a column [n] of a table, text cells or typed, to what an Example stores.

    ``decimal`` is the mark in text cells of numbers. Raises TypeError for kinds of files.
    """
    if isinstance(feature, ClassLabelFeature):
        return feature.encode_cells(values)
    if isinstance(feature, (ImageFeature, MaskFeature)):
        raise TypeError(f"kind {feature.kind} is stored from files, not from cells")
    return feature.encode(values, decimal=decimal)


def plain_values(value: Any) -> Any:
    """Return a dataclass of ours as JSON values: ``from_`` is called ``from``.

    Nones are left out, and newer options that have their default.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field_.name.rstrip("_"): plain_values(item)
            for field_ in dataclasses.fields(value)
            if is_written(field_, item := getattr(value, field_.name))
        }
    if isinstance(value, Mapping):
        return {key: plain_values(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [plain_values(item) for item in value]
    return value


def feature_from_dict(data: Mapping[str, Any]) -> Feature:
    """Return the feature that `plain_values` wrote."""
    return _structured(FEATURE_KINDS[data["kind"]], data)  # type: ignore[no-any-return]


def _structured(hint: Any, value: Any) -> Any:
    """Return JSON values as the type ``hint`` says: a dataclass, a tuple, or themselves."""
    if get_origin(hint) in (Union, types.UnionType):
        for choice in get_args(hint):
            if choice is not type(None) and value is not None:
                return _structured(choice, value)
    if dataclasses.is_dataclass(hint) and isinstance(value, Mapping):
        hints = get_type_hints(hint)
        known = {field_.name.rstrip("_"): field_.name for field_ in dataclasses.fields(hint)}
        return hint(  # type: ignore[operator, unused-ignore]
            **{known[key]: _structured(hints[known[key]], item) for key, item in value.items()}
        )
    if get_origin(hint) is tuple and not isinstance(value, str):  # a file's name may stand for it
        return tuple(value)
    return value
