"""From what people write, on the command line or in Python, to a request.

Values come as people write them: ``"train=0.8,test=0.2"``, a schema's file name or mapping.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

from tfrec_tools.errors import RequestError, clipped
from tfrec_tools.request import (
    Check,
    CsvOptions,
    IfExists,
    OnError,
    Order,
    RecordKind,
    Request,
    SourceKind,
    SourceSpec,
    TextOptions,
)
from tfrec_tools.schema import Schema, SourceDefaults, SplitsSpec

Choice = TypeVar("Choice", Order, Check, OnError)
Ratios = Mapping[str, float | str] | str
Globs = Mapping[str, str | Sequence[str]]


def make_request(
    source: str,
    output: str,
    *,
    kind: str | None,
    schema: str | os.PathLike[str] | Mapping[str, object] | Schema | None,
    splits: Ratios | None,
    split_files: Globs | None,
    split_by: str | None,
    split_method: str,
    stratify: str | None,
    splits_from: str | None,
    num_shards: int | Mapping[str, int] | str | None,
    seed: int,
    order: str,
    check: str,
    labels: bool | None,
    exclude: Sequence[str],
    columns: Sequence[str] | str | None,
    target: str | None,
    csv: CsvOptions | Mapping[str, Any] | None,
    text: TextOptions | Mapping[str, Any] | None,
    compression: str | None,
    on_error: str,
    max_errors: int | None,
    fail_fast: bool,
    overwrite: bool,
    name: str | None,
    spill_dir: str | None,
) -> Request:
    """Return the request that these values mean; see `convert`. Raises RequestError or SchemaError."""
    loaded = _schema(schema)
    defaults = loaded.source if loaded is not None else None
    if labels is None and defaults is not None and not defaults.labels:
        labels = False
    if compression not in (None, "gzip"):
        raise RequestError(f"compression must be gzip, or none at all (got {compression!r})")
    asked = _splits(splits, split_files, split_by, stratify, split_method)
    if asked is None and splits_from is None and loaded is not None:
        asked = loaded.splits
    return Request(
        source=make_source(
            source,
            kind=kind,
            labels=labels,
            exclude=exclude,
            columns=columns,
            target=target,
            csv=csv,
            text=text,
            defaults=defaults,
        ),
        output=output,
        schema=loaded,
        splits=asked,
        splits_from=_splits_from(splits_from),
        num_shards=_num_shards(num_shards),
        seed=seed,
        order=_choice(Order, order, "order"),
        check=_choice(Check, check, "check"),
        compression="gzip" if compression else None,
        on_error=_choice(OnError, on_error, "on_error"),
        max_errors=max_errors,
        fail_fast=fail_fast,
        if_exists=IfExists.OVERWRITE if overwrite else IfExists.FAIL,
        spill_dir=spill_dir,
        name=name,
    )


def make_source(
    source: str,
    *,
    kind: str | None,
    labels: bool | None = None,
    exclude: Sequence[str],
    columns: Sequence[str] | str | None,
    target: str | None,
    csv: CsvOptions | Mapping[str, Any] | None = None,
    text: TextOptions | Mapping[str, Any] | None = None,
    defaults: SourceDefaults | None = None,
) -> SourceSpec:
    """Return the source that these values and a schema's ``defaults`` mean. Raises RequestError."""
    if kind not in (None, "images", "csv", "table", "text"):
        raise RequestError(f"kind must be images, csv, table or text (got {kind!r})")
    excluded = (*(defaults.exclude if defaults is not None else ()), *exclude)
    csv_values, text_values = _given(CsvOptions, csv, "csv"), _given(TextOptions, text, "text")
    found = _source_kind(
        source, kind, defaults, is_text=bool({"record", "parallel"} & set(text_values))
    )
    if found == "text":  # flags that both kinds have come with those of CSV files
        for name in set(csv_values) & set(TextOptions.__dataclass_fields__):
            text_values.setdefault(name, csv_values.pop(name))
    options = TextOptions(**_completed(text_values, TextOptions, defaults, found))
    if found == "text" and options.record is None:
        options = dataclasses.replace(options, record=_record(source, excluded, options))
    return SourceSpec(
        root=source,
        kind=found,
        labels=labels,
        exclude=excluded,
        csv=CsvOptions(**_completed(csv_values, CsvOptions, defaults, found)),
        text=options,
        columns=_columns(columns),
        target=target,
    )


def _record(source: str, exclude: tuple[str, ...], options: TextOptions) -> RecordKind:
    """Return what a record is where nobody says it: other options, or the files, tell."""
    if any(value is not None for value in (options.parallel, options.blank, options.comment)):
        return "line"
    from tfrec_tools.sources import text_listing

    return text_listing.default_record(source, exclude)


def _source_kind(
    source: str, kind: str | None, defaults: SourceDefaults | None, *, is_text: bool
) -> SourceKind:
    """Return the kind that was said, by flag or schema, or that the files tell.

    ``is_text``: it was said what a record of text is.
    """
    said = kind or (defaults.kind if defaults is not None else None)
    if said is not None:
        return said  # type: ignore[return-value]
    if is_text:
        return "text"
    from tfrec_tools.sources import table_listing

    return table_listing.kind_of(source)


def _given(cls: type[CsvOptions | TextOptions], given: Any, what: str) -> dict[str, Any]:
    """Return the options that were given, by their names in Python; Nones are left out."""
    names = list(cls.__dataclass_fields__)
    if given is not None and not isinstance(given, (cls, Mapping)):
        raise RequestError(f"{what} must be a mapping of options (got {clipped(given)})")
    if isinstance(given, cls):
        values = {name: getattr(given, name) for name in names}
    else:
        spelled = {name.rstrip("_"): name for name in names}
        items: Mapping[Any, Any] = given if isinstance(given, Mapping) else {}
        values = {spelled.get(str(key), str(key)): value for key, value in items.items()}
        unknown = sorted(set(values) - set(names))
        if unknown:
            raise RequestError(f"{what} options are {', '.join(spelled)} (got {unknown[0]!r})")
    for name in ("column_names", "null_values", "parallel"):
        value = values.get(name)
        if isinstance(value, str):
            values[name] = tuple(value.split(","))
        elif isinstance(value, (list, tuple)):
            values[name] = tuple(value)
        elif value is not None:
            raise RequestError(f"{name} must be a list of texts (got {clipped(value)})")
    if values.get("delimiter") in ("tab", "\\t"):
        values["delimiter"] = "\t"
    return {name: value for name, value in values.items() if value is not None}


def _completed(
    values: Mapping[str, Any],
    cls: type[CsvOptions | TextOptions],
    defaults: SourceDefaults | None,
    kind: SourceKind,
) -> dict[str, Any]:
    """Return the options as given, else as the schema says; those of another kind as given."""
    own = (kind == "text") == (cls is TextOptions)
    values = dict(values)
    for name in cls.__dataclass_fields__ if own and defaults is not None else ():
        values.setdefault(name, getattr(defaults, name))
    if cls is TextOptions:
        _check_text_values(values)
    try:  # the schema's own checks are those of the flags, too
        SourceDefaults(**values, kind=kind)
    except ValueError as error:
        raise RequestError(str(error)) from None
    return values


_TEXT_TYPES: Mapping[str, tuple[type, str]] = {
    "comment": (str, "text"),
    "encoding": (str, "text"),
    "skip_lines": (int, "a whole number"),
    "min_chars": (int, "a whole number"),
    "max_chars": (int, "a whole number"),
    "max_record_bytes": (int, "a whole number"),
    "strip": (bool, "True or False"),
    "lowercase": (bool, "True or False"),
}


def _check_text_values(values: Mapping[str, Any]) -> None:
    """Raise RequestError for values that are none of an option's; schemas are checked before."""
    hints = get_type_hints(TextOptions)
    for name, value in values.items():
        if value is None:
            continue
        shown = name.rstrip("_")
        if name == "parallel":
            wrong = [e for e in value if not isinstance(e, str) or not e or set(e) & set("./")]
            if wrong:
                raise RequestError(
                    f"parallel must be endings without dots, such as en and de (got {wrong[0]!r})"
                )
        known = [c for hint in get_args(hints[name]) for c in get_args(hint) if c is not ...]
        if name not in (*_TEXT_TYPES, "parallel") and value not in known:
            words = " or ".join(repr(choice) for choice in known)
            raise RequestError(f"{shown} must be {words} (got {value!r})")
        if name in _TEXT_TYPES:
            kind, what = _TEXT_TYPES[name]
            if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
                raise RequestError(f"{shown} must be {what} (got {value!r})")


def _columns(columns: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if columns is None:
        return None
    names = columns.split(",") if isinstance(columns, str) else list(columns)
    if not names or not all(names):
        raise RequestError(f"columns must be names such as age,income (got {columns!r})")
    return tuple(dict.fromkeys(names))


def _schema(schema: str | os.PathLike[str] | Mapping[str, object] | Schema | None) -> Schema | None:
    if schema is None or isinstance(schema, Schema):
        return schema
    from tfrec_tools import schema_files  # pydantic and YAML: 0.2 s that few conversions need

    if isinstance(schema, Mapping):
        return schema_files.parse_schema(schema)
    return schema_files.load_schema(os.fspath(schema))


def _choice(kinds: type[Choice], value: str, what: str) -> Choice:
    try:
        return kinds(value)
    except ValueError:
        known = " or ".join(repr(kind.value) for kind in kinds)
        raise RequestError(f"{what} must be {known} (got {value!r})") from None


def _splits(
    ratios: Ratios | None,
    files: Globs | None,
    by: str | None,
    stratify: str | None,
    method: str,
) -> SplitsSpec | None:
    if method not in ("hash", "order"):
        raise RequestError(f"the split method must be hash or order (got {method!r})")
    if ratios is None and not files:
        if by or stratify or method == "order":
            flag = "--split-by" if by else "--stratify" if stratify else "--split-method"
            raise RequestError(f"{flag} goes with ratios, such as --splits train=0.8,test=0.2")
        return None
    if ratios is not None and files:
        raise RequestError("splits are made either by ratios (--splits) or by patterns (--split)")
    if isinstance(ratios, str):
        ratios = named_values(ratios, "--splits", "train=0.8,test=0.2")
    globs = {n: (g,) if isinstance(g, str) else tuple(g) for n, g in (files or {}).items()}
    try:
        return SplitsSpec(
            ratios=ratios,
            files=globs or None,
            by=by,
            stratify=stratify,
            method=method,  # type: ignore[arg-type]
        )
    except ValueError as error:
        raise RequestError(f"splits: {error}") from None


def named_values(text: str, flag: str, example: str) -> dict[str, str]:
    """Return ``a=1,b=2`` as a mapping. Raises RequestError naming the flag."""
    values: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        name = name.strip()
        if not equals or not name or not value.strip() or name in values:
            raise RequestError(f"{flag} must look like {example} (got {text!r})")
        values[name] = value.strip()
    return values


def named_globs(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Return ``NAME=GLOB`` pairs as globs per name. Raises RequestError."""
    globs: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, glob = pair.partition("=")
        if not equals or not name or not glob:
            raise RequestError(f"--split must look like test='fold1/**' (got {pair!r})")
        globs.setdefault(name, []).append(glob)
    return globs


def _num_shards(value: int | Mapping[str, int] | str | None) -> int | Mapping[str, int] | None:
    if not isinstance(value, str):
        return value
    try:
        if "=" not in value:
            return int(value)
        named = named_values(value, "--num-shards", "8, or train=16,test=2")
        return {name: int(number) for name, number in named.items()}
    except ValueError as error:
        if isinstance(error, RequestError):
            raise
        raise RequestError(
            f"--num-shards must look like 8, or train=16,test=2 (got {value!r})"
        ) from None


def _splits_from(path: str | None) -> Mapping[str, object] | None:
    if path is None:
        return None
    from tfrec_tools.manifest_files import load_manifest
    from tfrec_tools.schema import ClassLabelFeature

    manifest = load_manifest(path.removesuffix("/manifest.json"))
    labels = manifest.schema.features_of(ClassLabelFeature)
    return {
        "splits_rule": manifest.splits_rule,
        "class_names": {name: list(feature.names or ()) for name, feature in labels.items()},
    }
