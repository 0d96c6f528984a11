"""From what people write, on the command line or in Python, to a request; and `convert`.

Values come as people write them: ``"train=0.8,test=0.2"``, a schema's file name or mapping.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from tfrec_tools.errors import RequestError
from tfrec_tools.manifest import Manifest
from tfrec_tools.request import Check, IfExists, OnError, Order, Request, SourceSpec
from tfrec_tools.schema import Schema, SplitsSpec

if TYPE_CHECKING:
    from tfrec_tools.local_engine import OnProgress

Choice = TypeVar("Choice", Order, Check, OnError)
Ratios = Mapping[str, float | str] | str
Globs = Mapping[str, str | Sequence[str]]


def convert(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    schema: str | os.PathLike[str] | Mapping[str, object] | Schema | None = None,
    splits: Ratios | None = None,
    split_files: Globs | None = None,
    split_by: str | None = None,
    stratify: str | None = None,
    splits_from: str | None = None,
    num_shards: int | Mapping[str, int] | None = None,
    seed: int = 0,
    order: Literal["shuffled", "source"] = "shuffled",
    check: Literal["decode", "header"] = "decode",
    labels: bool | None = None,
    exclude: Sequence[str] = (),
    compression: Literal["gzip"] | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    max_errors: int | None = None,
    fail_fast: bool = False,
    overwrite: bool = False,
    name: str | None = None,
    num_workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Manifest:
    """Convert a folder of images to a dataset of TFRecord shards on this machine.

    The bytes written depend on the input and the request alone, not on ``num_workers``.

    Args:
        source: folder of images: ``class/…/image`` or ``split/class/…/image``; a local path
            or an fsspec URL.
        output: folder for the dataset, new or empty.
        schema: YAML file, mapping or `Schema`; by default image, label and filename.
        splits: share per split, such as ``{"train": 0.8, "test": 0.2}``.
        split_files: glob patterns of paths per split, such as ``{"test": "fold1/**"}``.
        split_by: records with an equal value of this column share a split.
        stratify: name of the class label whose classes are all divided in the same ratios.
        splits_from: folder of a dataset, to divide these records as that one was divided.
        num_shards: for every split, or per split; by default about one per 128 MiB.
        seed: of order and splits.
        order: ``"shuffled"`` globally, or as in the ``"source"``.
        check: ``"decode"`` every image once, or trust its ``"header"``.
        labels: False if folders are no classes.
        exclude: glob patterns of paths to leave out.
        compression: ``"gzip"``, which only TensorFlow reads, and only from front to back.
        on_error: ``"fail"``, or ``"skip"`` bad inputs and list them in ``report.jsonl``.
        max_errors: how many may be skipped.
        fail_fast: stop at the first fault instead of listing up to 20.
        overwrite: replace the dataset in ``output``.
        name: the dataset's name; by default the source folder's.
        num_workers: processes; by default one per core.
        on_progress: called with a `Progress` now and then.

    Returns:
        The manifest of the dataset.

    Raises:
        RequestError: the arguments make no sense.
        SchemaError: the schema is wrong.
        SourceError: the source could not be read, or holds nothing to convert.
        RecordError: images do not fit.
        DatasetError: the output exists or could not be written.

    """
    from tfrec_tools import local_engine  # here: the package itself must stay quick to import

    request = make_request(
        os.fspath(source),
        os.fspath(output),
        schema=schema,
        splits=splits,
        split_files=split_files,
        split_by=split_by,
        stratify=stratify,
        splits_from=splits_from,
        num_shards=num_shards,
        seed=seed,
        order=order,
        check=check,
        labels=labels,
        exclude=exclude,
        compression=compression,
        on_error=on_error,
        max_errors=max_errors,
        fail_fast=fail_fast,
        overwrite=overwrite,
        name=name,
    )
    if num_workers is not None and num_workers < 1:
        raise RequestError(f"the number of workers must be at least 1 (got {num_workers})")
    return local_engine.convert(request, num_workers=num_workers, on_progress=on_progress)


def make_request(
    source: str,
    output: str,
    *,
    schema: str | os.PathLike[str] | Mapping[str, object] | Schema | None,
    splits: Ratios | None,
    split_files: Globs | None,
    split_by: str | None,
    stratify: str | None,
    splits_from: str | None,
    num_shards: int | Mapping[str, int] | str | None,
    seed: int,
    order: str,
    check: str,
    labels: bool | None,
    exclude: Sequence[str],
    compression: str | None,
    on_error: str,
    max_errors: int | None,
    fail_fast: bool,
    overwrite: bool,
    name: str | None,
) -> Request:
    """Return the request that these values mean; see `convert`. Raises RequestError or SchemaError."""
    loaded = _schema(schema)
    defaults = loaded.source if loaded is not None else None
    if labels is None and defaults is not None and not defaults.labels:
        labels = False
    if compression not in (None, "gzip"):
        raise RequestError(f"compression must be gzip, or none at all (got {compression!r})")
    asked = _splits(splits, split_files, split_by, stratify)
    if asked is None and splits_from is None and loaded is not None:
        asked = loaded.splits
    return Request(
        source=SourceSpec(
            root=source,
            labels=labels,
            exclude=(*(defaults.exclude if defaults is not None else ()), *exclude),
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
        name=name,
    )


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
    ratios: Ratios | None, files: Globs | None, by: str | None, stratify: str | None
) -> SplitsSpec | None:
    if ratios is None and not files:
        if by or stratify:
            flag = "--split-by" if by else "--stratify"
            raise RequestError(f"{flag} goes with ratios, such as --splits train=0.8,test=0.2")
        return None
    if ratios is not None and files:
        raise RequestError("splits are made either by ratios (--splits) or by patterns (--split)")
    if isinstance(ratios, str):
        ratios = named_values(ratios, "--splits", "train=0.8,test=0.2")
    globs = {n: (g,) if isinstance(g, str) else tuple(g) for n, g in (files or {}).items()}
    try:
        return SplitsSpec(ratios=ratios, files=globs or None, by=by, stratify=stratify)
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
