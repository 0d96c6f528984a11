"""The schema of a source whose records are files: images, or documents.

Columns of such a source are what paths say, and of documents also their text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from tfrec_tools.errors import Problem, RecordError, RequestError, SchemaError, counted, listed
from tfrec_tools.layout import Layout, nouns_of
from tfrec_tools.records import path_text
from tfrec_tools.request import Check, OnError, Request
from tfrec_tools.schema import (
    BytesFeature,
    ClassLabelFeature,
    Feature,
    ImageFeature,
    MaskFeature,
    Schema,
    TextFeature,
    TokensFeature,
    is_path_pattern,
)
from tfrec_tools.survey import Survey

SOURCE_COLUMNS = ("label", "filename", "folder", "stem", "extension")
"""What an image source knows of each record besides its bytes, all of it from the path."""

TEXT_COLUMN = "text"
"""What a document source knows besides: the whole content of the file."""

DEFAULT_SCHEMA = Schema(
    features={
        "image": ImageFeature(),
        "label": ClassLabelFeature(target=True),
        "filename": TextFeature(),
    }
)

PATTERN_FIELDS = ("stem", "folder", "label", "file", "extension")
"""Placeholders of a path pattern, all taken from the path of the listed file."""


def default_schema(request: Request, *, labelled: bool) -> Schema:
    """Return the schema of a source for which nobody gives one."""
    features: dict[str, Feature] = dict(DEFAULT_SCHEMA.features)
    if request.source.kind == "text":
        text = BytesFeature() if request.source.text.keeps_bytes else TextFeature()
        features = {TEXT_COLUMN: text} | features
        del features["image"]
    if not labelled:
        del features["label"]
    return Schema(features=features)


def label_features(schema: Schema) -> list[str]:
    """Return the names of the features that are the class folder."""
    return [
        name
        for name, feature in schema.features_of(ClassLabelFeature).items()
        if (feature.from_ or "label") == "label"
    ]


def column_of(name: str, feature: Feature) -> str:
    """Return the column that a feature is made from, if from none of other files."""
    return feature.from_ or ("label" if isinstance(feature, ClassLabelFeature) else name)


def check_columns(request: Request, schema: Schema, *, labelled: bool) -> None:
    """Refuse features that name a column which the source does not have, all at once.

    Raises SchemaError; RequestError for an option that goes with other features.
    """
    is_text = request.source.kind == "text"
    columns = [c for c in SOURCE_COLUMNS if labelled or c != "label"]
    if is_text:
        problems = _document_problems(request, schema, [TEXT_COLUMN, *columns])
    else:
        problems = _image_problems(schema, columns)
    if problems:
        raise SchemaError(problems)
    if is_text and request.check is Check.HEADER:
        raise RequestError("--check goes with images (the schema has none)")


def _image_problems(schema: Schema, columns: Sequence[str]) -> list[Problem]:
    problems = []
    for name, feature in schema.features.items():
        if is_path_pattern(feature):
            allowed = isinstance(feature, (ImageFeature, MaskFeature)) or feature.kind in (
                "text",
                "bytes",
            )
            if not allowed:
                problems.append(_not_from_file(name, feature))
            problems += pattern_problems(name, feature.from_ or "")
        elif isinstance(feature, ImageFeature):
            if feature.from_ is not None:
                problems.append(
                    Problem(
                        f"features.{name}.from",
                        "must be left out (the listed image itself) or be a path pattern such as "
                        f"'../depth/{{stem}}.png' (got {feature.from_!r})",
                    )
                )
        elif isinstance(feature, TokensFeature):
            problems.append(
                Problem(f"features.{name}.kind", "tokens are made of text, not of what paths say")
            )
        elif (column := column_of(name, feature)) not in columns:
            problems.append(
                Problem(
                    f"features.{name}.from",
                    f"an image source has the columns {', '.join(columns)} (got {column!r})",
                )
            )
    if not any(isinstance(f, ImageFeature) and f.from_ is None for f in schema.features.values()):
        problems.append(
            Problem("features", "must hold a feature `kind: image` for the listed images")
        )
    return problems


def _document_problems(request: Request, schema: Schema, columns: Sequence[str]) -> list[Problem]:
    problems = []
    has_content = False
    for name, feature in schema.features.items():
        where = f"features.{name}"
        if isinstance(feature, (ImageFeature, MaskFeature)):
            problems.append(
                Problem(f"{where}.kind", f"{feature.kind} goes with images, not with documents")
            )
            continue
        if is_path_pattern(feature):
            has_content = True
            if not isinstance(feature, (TextFeature, BytesFeature)):
                problems.append(_not_from_file(name, feature))
            problems += pattern_problems(name, feature.from_ or "")
            continue
        column = column_of(name, feature)
        has_content |= column == TEXT_COLUMN
        if column not in columns:
            problems.append(
                Problem(
                    f"{where}.from",
                    f"a document source has the columns {', '.join(columns)} (got {column!r})",
                )
            )
        elif column == TEXT_COLUMN:
            problems += _text_problems(request, where, feature)
        elif isinstance(feature, TokensFeature):
            problems.append(
                Problem(f"{where}.from", f"tokens are made of the column text (got {column!r})")
            )
        if getattr(feature, "needs_separator", False):
            problems.append(
                Problem(f"{where}.separator", "is required with many: true, such as separator: '|'")
            )
    if not has_content:
        problems.append(
            Problem("features", "must hold a feature from the column text, or from a path pattern")
        )
    return problems


def _text_problems(request: Request, where: str, feature: Feature) -> list[Problem]:
    """Return why a feature cannot be made of the text of a document."""
    if not isinstance(feature, (TextFeature, BytesFeature, TokensFeature)):
        return [
            Problem(
                f"{where}.from",
                f"kinds text, bytes and tokens are made of the column text (got {feature.kind})",
            )
        ]
    if isinstance(feature, TokensFeature) and request.source.text.keeps_bytes:
        return [Problem(f"{where}.kind", "tokens are made of text, not of bytes; drop as: bytes")]
    return []


def _not_from_file(name: str, feature: Feature) -> Problem:
    return Problem(f"features.{name}.from", f"kind {feature.kind} cannot come from a file")


def pattern_problems(name: str, pattern: str) -> list[Problem]:
    """Return what is wrong with a path pattern."""
    if pattern.startswith("/") or "://" in pattern:
        return [
            Problem(
                f"features.{name}.from",
                "must be relative to the source, since the dataset's manifest holds it "
                f"(got {pattern!r})",
            )
        ]
    try:
        pattern.format(**dict.fromkeys(PATTERN_FIELDS, "x"))
    except (KeyError, IndexError, ValueError, AttributeError):
        known = ", ".join(f"{{{placeholder}}}" for placeholder in PATTERN_FIELDS)
        return [
            Problem(f"features.{name}.from", f"knows the placeholders {known} (got {pattern!r})")
        ]
    return []


def with_names(
    schema: Schema,
    name: str,
    labels: Sequence[str],
    layout: Layout,
    frozen: Mapping[str, Any],
) -> Schema:
    """Return the schema with the dataset's name and every class name filled in.

    ``labels``: the features that are the class folder; ``frozen``: names of another dataset.
    """
    features = dict(schema.features)
    for label, feature in schema.features_of(ClassLabelFeature).items():
        if feature.names is not None:
            continue
        if label in frozen:
            names = tuple(frozen[label])
        elif label in labels:
            names = layout.class_names
        else:
            raise SchemaError(
                [Problem(f"features.{label}.names", "are required where the label is no folder")]
            )
        features[label] = dataclasses.replace(feature, names=names)
    return dataclasses.replace(schema, name=name, features=features)


def check_unknown_classes(
    request: Request, schema: Schema, labels: Sequence[str], layout: Layout, survey: Survey
) -> None:
    """Refuse folders that are none of the classes. Raises RecordError naming all of them."""
    if layout.label_depth is None or request.on_error is OnError.SKIP:
        return
    noun = nouns_of(request.source.kind).one
    for label in labels:
        known = {name.encode() for name in schema.features[label].names or ()}  # type: ignore[union-attr]
        unknown: dict[bytes, int] = {}
        for group, count in survey.groups.items():
            folder = group.folder(layout.label_depth)
            if count.num_files and folder and folder not in known:
                unknown[folder] = unknown.get(folder, 0) + count.num_files
        if unknown:
            found = listed([f"{path_text(f)} ({counted(n, noun)})" for f, n in unknown.items()])
            names = listed(schema.features[label].names or ())  # type: ignore[union-attr]
            raise RecordError(
                f"every class folder of {request.source.root} must be one of {names} (also found: "
                f"{found}); add them to features.{label}.names, or leave them out with --exclude"
            )


def check_split_column(schema: Schema, column: str | None, *, stratify: bool) -> None:
    """Refuse a split column that paths do not say. Raises RequestError."""
    if column is None:
        return
    if stratify:
        if column not in label_features(schema):
            raise RequestError(
                f"stratify must name a class label that is the folder (got {column!r})"
            )
    elif column not in SOURCE_COLUMNS:
        raise RequestError(
            f"`by` must name a column of the source: {', '.join(SOURCE_COLUMNS)} (got {column!r})"
        )
