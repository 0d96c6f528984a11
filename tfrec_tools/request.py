"""What the user asks for. Frozen when the work starts; refuses nonsense at birth."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tfrec_tools.errors import RequestError
from tfrec_tools.placement import MAX_NUM_SHARDS
from tfrec_tools.schema import Schema, SplitsSpec, TokensFeature
from tfrec_tools.text_options import RecordKind, TextOptions

__all__ = [
    "MAX_SEED",
    "Check",
    "CsvOptions",
    "IfExists",
    "OnError",
    "Order",
    "RecordKind",
    "Request",
    "SourceKind",
    "SourceSpec",
    "TextOptions",
]

MAX_SEED = (1 << 64) - 1


class OnError(enum.Enum):
    """What a bad input does to the conversion."""

    FAIL = "fail"
    SKIP = "skip"


class Check(enum.Enum):
    """How closely an image is looked at before it is stored."""

    DECODE = "decode"
    HEADER = "header"


class Order(enum.Enum):
    """The dataset's one order: by hash, or as in the source."""

    SHUFFLED = "shuffled"
    SOURCE = "source"


class IfExists(enum.Enum):
    """What to do when the output folder already holds a dataset."""

    FAIL = "fail"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvOptions:
    """How CSV files are written; None for what is to be found out, or is as usual."""

    delimiter: str | None = None
    quote: str | None = None
    escape: str | None = None
    decimal: str | None = None
    header: bool | None = None
    column_names: tuple[str, ...] | None = None
    encoding: str | None = None
    comment: str | None = None
    skip_rows: int | None = None
    null_values: tuple[str, ...] | None = None
    trim: bool | None = None


SourceKind: TypeAlias = Literal["images", "csv", "table", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """Where the input lies and how it is to be understood.

    ``labels``: None means labels if the schema has any. ``exclude``: glob patterns of paths.
    ``columns``, ``target``: of tables without a schema, which columns become features, and
    which of them a model is to predict.
    """

    root: str
    kind: SourceKind = "images"
    labels: bool | None = None
    exclude: tuple[str, ...] = ()
    csv: CsvOptions = CsvOptions()
    text: TextOptions = field(default_factory=TextOptions)
    columns: tuple[str, ...] | None = None
    target: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything that was asked. ``schema=None``: the default of the source's kind.

    ``num_shards``: for all splits, or per split. ``splits_from``: the ``splits_rule`` and
    class names of another dataset's manifest, to divide new data as that one was divided.
    """

    source: SourceSpec
    output: str
    schema: Schema | None = None
    splits: SplitsSpec | None = None
    splits_from: Mapping[str, Any] | None = None
    num_shards: int | Mapping[str, int] | None = None
    seed: int = 0
    order: Order = Order.SHUFFLED
    check: Check = Check.DECODE
    compression: Literal["gzip"] | None = None
    on_error: OnError = OnError.FAIL
    max_errors: int | None = None
    fail_fast: bool = False
    if_exists: IfExists = IfExists.FAIL
    spill_dir: str | None = None
    name: str | None = field(default=None)

    def __post_init__(self) -> None:
        """Refuse values that make no sense, showing them."""
        self._refuse_other_options()
        counts = self.num_shards
        for count in counts.values() if isinstance(counts, Mapping) else [counts]:
            if count is not None and not 1 <= count <= MAX_NUM_SHARDS:
                raise RequestError(f"the number of shards must be at least 1 (got {count})")
        if not 0 <= self.seed <= MAX_SEED:
            raise RequestError(f"the seed must be from 0 to 2**64 - 1 (got {self.seed})")
        if self.max_errors is not None and self.max_errors < 0:
            raise RequestError(f"max_errors must be at least 0 (got {self.max_errors})")
        if self.max_errors is not None and self.on_error is OnError.FAIL:
            raise RequestError("--max-errors goes with --on-error skip")
        if self.fail_fast and self.on_error is OnError.SKIP:
            raise RequestError("--fail-fast goes with --on-error fail, not with skip")
        if self.splits is not None and self.splits_from is not None:
            raise RequestError("splits are either given or taken from a manifest, not both")

    @property
    def reads_files(self) -> bool:
        """Whether a record is a file: only paths are shuffled, and files read in final order.

        Images are, and documents that are not packed.
        """
        if self.source.kind != "text":
            return self.source.kind == "images"
        return self.source.text.record == "document" and not self._packs

    @property
    def _packs(self) -> bool:
        return self.schema is not None and any(
            feature.pack for feature in self.schema.features_of(TokensFeature).values()
        )

    def _refuse_other_options(self) -> None:
        """Refuse options of other kinds of sources; an option must not be passed over."""
        kind = self.source.kind
        own = {"images": "images", "csv": "CSV files", "table": "tables", "text": "text files"}[
            kind
        ]
        for cls, options, whose, kinds in (
            (CsvOptions, self.source.csv, "CSV files", ("csv", "table")),
            (TextOptions, self.source.text, "text files", ("text",)),
        ):
            for name in cls.__dataclass_fields__:
                if getattr(options, name) is not None and kind not in kinds:
                    flag = name.rstrip("_").replace("_", "-")
                    raise RequestError(f"--{flag} goes with {whose}, not with {own}")
        for flag, value in (("--columns", self.source.columns), ("--target", self.source.target)):
            if value is not None and kind in ("images", "text"):
                raise RequestError(f"{flag} goes with tables, not with {own}")
        if self.reads_files:
            what = "images" if kind == "images" else "documents"
            if self.spill_dir is not None:
                raise RequestError(f"--spill-dir goes with tables and lines, not with {what}")
            if self.splits is not None and self.splits.method == "order":
                raise RequestError(
                    f"--split-method order goes with tables and lines, not with {what}"
                )
