"""`convert` and `infer_schema`: from arguments to a dataset, or to a schema."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

from tfrec_tools.errors import RequestError
from tfrec_tools.manifest import Manifest
from tfrec_tools.request import CsvOptions, Request, SourceKind, TextOptions
from tfrec_tools.request_parsing import Globs, Ratios, make_request, make_source
from tfrec_tools.schema import Schema, SourceDefaults

if TYPE_CHECKING:
    import pyarrow as pa

    from tfrec_tools.local_engine import OnProgress


class DataFrame(Protocol):
    """A pandas DataFrame, which is not imported for its name only."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...


Source: TypeAlias = Union[
    str,
    "os.PathLike[str]",
    DataFrame,
    "pa.Table",
    Mapping[str, Any],
    Callable[[], Iterable[Mapping[str, Any]]],
]
"""A path, or data in memory."""


def convert(
    source: Source,
    output: str | os.PathLike[str],
    *,
    kind: SourceKind | None = None,
    schema: str | os.PathLike[str] | Mapping[str, object] | Schema | None = None,
    splits: Ratios | None = None,
    split_files: Globs | None = None,
    split_by: str | None = None,
    split_method: Literal["hash", "order"] = "hash",
    stratify: str | None = None,
    splits_from: str | None = None,
    num_shards: int | Mapping[str, int] | None = None,
    seed: int = 0,
    order: Literal["shuffled", "source"] = "shuffled",
    check: Literal["decode", "header"] = "decode",
    labels: bool | None = None,
    exclude: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    target: str | None = None,
    csv: CsvOptions | Mapping[str, Any] | None = None,
    text: TextOptions | Mapping[str, Any] | None = None,
    compression: Literal["gzip"] | None = None,
    on_error: Literal["fail", "skip"] = "fail",
    max_errors: int | None = None,
    fail_fast: bool = False,
    overwrite: bool = False,
    name: str | None = None,
    spill_dir: str | os.PathLike[str] | None = None,
    num_workers: int | None = None,
    on_progress: OnProgress | None = None,
) -> Manifest:
    """Convert images, tables or texts to a dataset of TFRecord shards on this machine.

    The bytes written depend on the input and the request alone, not on ``num_workers``.

    Args:
        source: folder of images or text documents (``class/…/file`` or
            ``split/class/…/file``); a CSV, Parquet, JSON lines or text file, a folder or a
            pattern (``data/*.csv``) of such; each a local path or an fsspec URL. Or data in memory: a pandas DataFrame, a dict of NumPy
            arrays (``[records, …]``), an Arrow table, or a function that returns an iterator
            over records as dicts, called twice.
        output: folder for the dataset, new or empty.
        kind: of the source; by default told from its files.
        schema: YAML file, mapping or `Schema`; by default image, label and filename of
            images, a feature per column of tables, and the text of texts.
        splits: share per split, such as ``{"train": 0.8, "test": 0.2}``.
        split_files: glob patterns of paths per split, such as ``{"test": "fold1/**"}``.
        split_by: records with an equal value of this column share a split.
        split_method: ``"order"`` cuts a table in its own order, the first records to the
            first split; ``"hash"`` divides at random.
        stratify: name of the class label whose classes are all divided in the same ratios.
        splits_from: folder of a dataset, to divide these records as that one was divided.
        num_shards: for every split, or per split; by default about one per 128 MiB.
        seed: of order and splits.
        order: ``"shuffled"`` globally, or as in the ``"source"``.
        check: ``"decode"`` every image once, or trust its ``"header"``.
        labels: False if folders are no classes.
        exclude: glob patterns of paths to leave out.
        columns: of a table without a schema: which become features; by default all.
        target: of a table without a schema: the column that a model is to predict.
        csv: how CSV files are written, such as ``{"delimiter": ";", "header": False}``; found
            out where it is not said. See `CsvOptions`.
        text: how text files become records, such as ``{"record": "line", "blank": "skip"}``. See
            `TextOptions`.
        compression: ``"gzip"``, which only TensorFlow reads, and only from front to back.
        on_error: ``"fail"``, or ``"skip"`` bad inputs and list them in ``report.jsonl``.
        max_errors: how many may be skipped.
        fail_fast: stop at the first fault instead of listing up to 20.
        overwrite: replace the dataset in ``output``.
        name: the dataset's name; by default the source's.
        spill_dir: folder for temporary files of tables; by default inside ``output``.
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

    if num_workers is not None and num_workers < 1:
        raise RequestError(f"the number of workers must be at least 1 (got {num_workers})")
    if not isinstance(source, (str, os.PathLike)) and kind not in (None, "table"):
        raise RequestError(f"the kind of data in memory must be table (got {kind!r}); leave it out")
    with _source_path(source, spill_dir) as (path, found_kind):
        request = make_request(
            path,
            os.fspath(output),
            kind=kind or found_kind,
            schema=schema,
            splits=splits,
            split_files=split_files,
            split_by=split_by,
            split_method=split_method,
            stratify=stratify,
            splits_from=splits_from,
            num_shards=num_shards,
            seed=seed,
            order=order,
            check=check,
            labels=labels,
            exclude=exclude,
            columns=columns,
            target=target,
            csv=csv,
            text=text,
            compression=compression,
            on_error=on_error,
            max_errors=max_errors,
            fail_fast=fail_fast,
            overwrite=overwrite,
            name=name,
            spill_dir=None if spill_dir is None else os.fspath(spill_dir),
        )
        return local_engine.convert(request, num_workers=num_workers, on_progress=on_progress)


def infer_schema(
    source: str | os.PathLike[str],
    *,
    kind: SourceKind | None = None,
    labels: bool | None = None,
    exclude: Sequence[str] = (),
    columns: Sequence[str] | str | None = None,
    target: str | None = None,
    csv: CsvOptions | Mapping[str, Any] | None = None,
    text: TextOptions | Mapping[str, Any] | None = None,
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema that `convert` takes for a source without one, and notes for people.

    The whole input is looked at; class names are in it, and how CSV files are written.
    Arguments and errors are those of `convert`.
    """
    from tfrec_tools import local_engine

    source_spec = make_source(
        os.fspath(source),
        kind=kind,
        labels=labels,
        exclude=exclude,
        columns=columns,
        target=target,
        csv=csv,
        text=text,
    )
    request = Request(source=source_spec, output=os.curdir)
    kind, exclude = request.source.kind, request.source.exclude
    text = {
        name: getattr(request.source.text, name)
        for name in TextOptions.__dataclass_fields__
        if kind == "text"
    }
    if request.reads_files:
        plan = local_engine.plan_conversion(request).plan
        defaults = SourceDefaults(
            kind=kind, labels=labels is not False, exclude=exclude if text else (), **text
        )
        return dataclasses.replace(plan.schema, source=defaults), ()
    _, plan = local_engine.plan_table(request, num_workers=local_engine.available_cpus())
    assert plan.table is not None
    table, options = plan.table.source, request.source.csv
    written: dict[str, Any] = dict(text)
    if table.dialect is not None and table.format == "csv":
        written = {name: getattr(options, name) for name in CsvOptions.__dataclass_fields__}
        written |= {"delimiter": table.dialect.delimiter, "header": table.has_header}
        if not table.has_header:
            written["column_names"] = table.columns
    defaults = SourceDefaults(kind=kind, exclude=exclude, **written)
    return dataclasses.replace(plan.schema, source=defaults), plan.layout.notes


@contextlib.contextmanager
def _source_path(
    source: Source, spill_dir: str | os.PathLike[str] | None
) -> Iterator[tuple[str, Literal["table"] | None]]:
    """Yield the path of the source; data in memory are written to a temporary file first."""
    if isinstance(source, (str, os.PathLike)):
        yield os.fspath(source), None
        return
    from tfrec_tools.sources import memory

    with memory.written(source, None if spill_dir is None else os.fspath(spill_dir)) as path:
        yield path, "table"
