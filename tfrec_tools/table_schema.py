"""The schema of a table: inferred from its columns, or given and checked against them."""

from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tfrec_tools import inference
from tfrec_tools.errors import (
    Problem,
    RequestError,
    SchemaError,
    SourceError,
    clipped,
    listed,
)
from tfrec_tools.request import Request
from tfrec_tools.schema import (
    BoolFeature,
    BytesFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    NumberFeature,
    Schema,
    TextFeature,
    TimestampFeature,
    TokensFeature,
    class_name_problems,
    is_path_pattern,
)
from tfrec_tools.table_survey import TableSurvey
from tfrec_tools.tables import Table, fixed_shape, flat_type

TEXT_COLUMN = "text"
"""Of text files that are not parallel."""

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def inferred_schema(request: Request, table: Table, survey: TableSurvey) -> Schema:
    """Return the schema that the columns suggest: one feature each.

    Raises RequestError if a column that was named is none.
    """
    if table.text is not None:
        return _text_schema(table)
    target = request.source.target
    columns = request.source.columns or table.columns
    for flag, names in (("--columns", columns), ("--target", [target] if target else [])):
        unknown = [name for name in names if name not in table.columns]
        if unknown:
            raise RequestError(f"{flag} {unknown_column(unknown[0], table.columns)}")
    if target is not None and target not in columns:
        columns = (*columns, target)
    features: dict[str, Feature] = {}
    for column in columns:
        name = _feature_name(column, features)
        feature = _inferred(table, survey, column, is_target=column == target)
        changes: dict[str, Any] = {"target": True} if column == target else {}
        if name != column:
            changes["from_"] = column
        features[name] = dataclasses.replace(feature, **changes)
    return Schema(features=features)


def _text_schema(table: Table) -> Schema:
    """Return the schema of text files: their text, and not where it stood."""
    assert table.text is not None
    feature: Feature = BytesFeature() if table.text.keeps_bytes else TextFeature()
    return Schema(features=dict.fromkeys(table.text.parallel or (TEXT_COLUMN,), feature))


def packed_feature(schema: Schema) -> str | None:
    """Return the name of the feature whose tokens are packed, if there is one."""
    packed = (n for n, feature in schema.features_of(TokensFeature).items() if feature.pack)
    return next(packed, None)


def packing_problems(schema: Schema) -> list[Problem]:
    """Return what a schema has beside packed tokens: their sequences span records."""
    packed = packed_feature(schema)
    others = [name for name in schema.features if name != packed]
    if packed is None or not others:
        return []
    return [
        Problem(
            f"features.{packed}.pack",
            f"must be the only feature, since its sequences span records (got {others[0]!r} "
            "beside it)",
        )
    ]


def _feature_name(column: str, taken: Mapping[str, Feature]) -> str:
    """Return a column's name as a feature's, which has no slash and nothing unprintable."""
    name = "".join(c if c.isprintable() and c != "/" else "_" for c in column).strip() or "column"
    while name in taken:
        name += "_"
    return name


def _inferred(table: Table, survey: TableSurvey, column: str, *, is_target: bool) -> Feature:
    if table.is_text:
        kind = inference.decide(survey.evidence[column])
        if kind == "text" and is_target:
            return ClassLabelFeature()
        by_kind: Mapping[str, Feature] = {
            "int64": Int64Feature(),
            "float32": Float32Feature(),
            "bool": BoolFeature(),
            "text": TextFeature(),
        }
        return by_kind[kind]
    type_ = table.types[column]
    fixed, value = fixed_shape(type_)
    many = not fixed and (pa.types.is_list(value) or pa.types.is_large_list(value))
    value = value.value_type if many else value
    value = value.value_type if pa.types.is_dictionary(value) else value
    shape = fixed or None
    if pa.types.is_boolean(value) and not (many or fixed):
        return BoolFeature()
    if pa.types.is_integer(value):
        return Int64Feature(many=many, shape=shape)
    if pa.types.is_floating(value) or pa.types.is_decimal(value):
        return Float32Feature(many=many, shape=shape)
    if (pa.types.is_timestamp(value) or pa.types.is_date(value)) and not (many or fixed):
        return TimestampFeature(unit=value.unit if pa.types.is_timestamp(value) else "s")
    if pa.types.is_string(value) or pa.types.is_large_string(value):
        if is_target and not many:
            return ClassLabelFeature()
        return TextFeature(many=many)
    if (pa.types.is_binary(value) or pa.types.is_large_binary(value)) and not (many or fixed):
        return BytesFeature()
    raise RequestError(
        f"column {column!r} must hold numbers, text, bytes, booleans or times (it holds {type_}); "
        "leave it out with --columns"
    )


def unknown_column(name: str, columns: Sequence[str]) -> str:
    """Return the sentence's rest about a name that is no column, with what was meant perhaps."""
    near = difflib.get_close_matches(name, columns, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {listed(columns)}"
    return f"must name columns of the source (got {name!r}; {hint})"


def inputs_of(schema: Schema, table: Table) -> dict[str, tuple[str, ...]]:
    """Return the columns that each feature is made of. Raises SchemaError with all problems."""
    columns = table.columns
    inputs: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = packing_problems(schema)
    for name, feature in schema.features.items():
        where = f"features.{name}"
        patterns = getattr(feature, "columns", None)
        if isinstance(feature, MaskFeature) or is_path_pattern(feature):
            problems.append(
                Problem(f"{where}.from", "path patterns go with folders of files, not with tables")
            )
            continue
        if patterns is not None:
            taken = [
                column
                for column in columns
                if any(fnmatch.fnmatchcase(column, pattern) for pattern in patterns)
            ]
            if not taken:
                problems.append(
                    Problem(f"{where}.columns", f"fit no column (got {clipped(list(patterns))})")
                )
            inputs[name] = tuple(taken)
        else:
            column = feature.from_ or name
            if column not in table.types:
                problems.append(Problem(f"{where}.from", unknown_column(column, columns)))
                continue
            inputs[name] = (column,)
            of_documents = table.text is not None and table.text.record == "document"
            if of_documents and isinstance(feature, TokensFeature) and column != TEXT_COLUMN:
                problems.append(
                    Problem(
                        f"{where}.from",
                        f"tokens are made of the column {TEXT_COLUMN} (got {column!r})",
                    )
                )
        problems += _type_problems(where, feature, table, inputs[name])
    if problems:
        raise SchemaError(problems)
    return inputs


def _type_problems(
    where: str, feature: Feature, table: Table, columns: Sequence[str]
) -> list[Problem]:
    problems = []
    if isinstance(feature, TokensFeature) and table.text is not None and table.text.keeps_bytes:
        problems.append(
            Problem(f"{where}.kind", "tokens are made of text, not of bytes; drop as: bytes")
        )
    for column in columns:
        type_ = flat_type(table.types[column])
        holds_cells = not isinstance(feature, (ImageFeature, MaskFeature))
        reason = feature.accepts(type_) if holds_cells else None  # type: ignore[union-attr]
        if reason is not None:
            problems.append(Problem(where, f"column {column!r} {reason}"))
    is_text = table.is_text or any(
        pa.types.is_string(table.types[c]) or pa.types.is_large_string(table.types[c])
        for c in columns
    )
    if is_text and getattr(feature, "needs_separator", False):
        problems.append(
            Problem(f"{where}.separator", "is required with many: true, such as separator: '|'")
        )
    shape = getattr(feature, "shape", None)
    if getattr(feature, "columns", None) is not None and shape is not None:
        size = math.prod(shape)
        if size != len(columns):
            problems.append(
                Problem(
                    f"{where}.shape",
                    f"must hold as many values as there are columns, {len(columns)} (got {size})",
                )
            )
    return problems


def with_shapes(schema: Schema, inputs: Mapping[str, tuple[str, ...]]) -> Schema:
    """Return the schema with the shape of every feature that packs columns."""
    features = {
        name: dataclasses.replace(feature, shape=(len(inputs[name]),))
        if isinstance(feature, NumberFeature) and feature.columns and feature.shape is None
        else feature
        for name, feature in schema.features.items()
    }
    return dataclasses.replace(schema, features=features)


def with_class_names(
    request: Request, schema: Schema, survey: TableSurvey, names: Mapping[str, Sequence[str]]
) -> Schema:
    """Return the schema with all class names: given, frozen by a manifest, or found."""
    features = dict(schema.features)
    for name, feature in schema.features_of(ClassLabelFeature).items():
        if feature.names is not None:
            continue
        if name in names:
            found: Sequence[str] = names[name]
        else:
            column = feature.from_ or name
            values = survey.classes[column]
            if values is None:
                raise RequestError(
                    f"a class label must have at most 10,000 classes (column {column!r} has "
                    "more distinct values); give another column, or kind: text"
                )
            found = sorted_names(values)
            if not found:
                raise SourceError(
                    f"a class label must have values (column {column!r} of "
                    f"{request.source.root} has none)"
                )
            problems = class_name_problems(found)
            if problems:
                raise SourceError(f"column {column!r}: {problems[0]}")
        features[name] = dataclasses.replace(feature, names=tuple(found))
    return dataclasses.replace(schema, features=features)


def sorted_names(values: Iterable[str]) -> list[str]:
    """Return class names sorted, by their value if all are whole numbers."""
    names = sorted(values)
    if all(_WHOLE.fullmatch(name) for name in names):
        return sorted(names, key=int)
    return names
