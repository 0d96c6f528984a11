"""The plan: a request resolved by a survey. All that follows is a function of plan and input."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tfrec_tools import file_schema
from tfrec_tools.errors import RequestError
from tfrec_tools.layout import Layout, find_layout, has_class_folders
from tfrec_tools.manifest import FORMAT_VERSION
from tfrec_tools.request import Order, Request
from tfrec_tools.schema import ImageFeature, MaskFeature, Schema
from tfrec_tools.shard_names import ShardId, shard_name
from tfrec_tools.splitting import SplitRule, resolve_splits, split_of_group
from tfrec_tools.survey import Survey
from tfrec_tools.tables import Table

TARGET_SHARD_BYTES = 128 << 20  # 128 MiB: a minute's work for one worker, 400 files for 50 GB
PARALLEL_SHARD_BYTES = 4 << 20  # 4 MiB: small data still gets shards enough …
PARALLEL_SHARDS = 16  # … to be written and read in parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """What a plan holds for a table besides.

    ``inputs``: the columns that each feature is made of. ``num_ranges``: into how many ranges
    of ranks each shard of a split is cut, so that one range fits in memory. ``cuts``: the
    positions before which the splits end that are cut by order.
    """

    source: Table
    inputs: Mapping[str, tuple[str, ...]]
    num_ranges: tuple[int, ...]
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``schema``: with its name and all class names. ``num_shards``: per split.

    ``codecs``: versions of the encoders, where the schema asks for other bytes than the
    files'. ``first_positions``: for source order, the position of each unit's first record
    within each split that paths decide; ``num_positions`` their number per such split.
    """

    request: Request
    schema: Schema
    layout: Layout
    splits: SplitRule
    num_shards: tuple[int, ...]
    codecs: Mapping[str, str] = field(default_factory=dict)
    first_positions: Mapping[bytes, tuple[int, ...]] = field(default_factory=dict)
    num_positions: tuple[int, ...] = ()
    num_files: int = 0
    num_bytes: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)
    table: TablePlan | None = None
    _fingerprint: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        """Compute the fingerprint once: workers ask for it with every shard."""
        object.__setattr__(self, "_fingerprint", self._computed_fingerprint())

    @property
    def name(self) -> str:
        """The dataset's name, an identifier in lower case."""
        return self.schema.name or "dataset"

    @property
    def shards(self) -> list[ShardId]:
        """Every shard, empty ones too, in order."""
        return [
            ShardId(split, index)
            for split, count in zip(self.splits.names, self.num_shards, strict=True)
            for index in range(count)
        ]

    def shard_name(self, shard: ShardId) -> str:
        """Return the file name of ``shard``."""
        count = self.num_shards[self.splits.names.index(shard.split)]
        return shard_name(shard, count, gzip=self.request.compression == "gzip")

    def fingerprint(self) -> str:
        """Return what identifies the plan: equal plans on equal input give equal bytes.

        It holds no root, no output, no times, no workers, no runner and no on-error policy.
        """
        return self._fingerprint

    def _computed_fingerprint(self) -> str:
        request = self.request
        content = {
            "format_version": FORMAT_VERSION,
            "schema": self.schema.to_dict(),
            "source": request.source.kind,
            "label_depth": self.layout.label_depth,
            "splits": self.splits.to_dict(),
            "num_shards": list(self.num_shards),
            "seed": request.seed,
            "order": request.order.value,
            "check": request.check.value,
            "compression": request.compression,
            "codecs": dict(self.codecs),
        }
        if request.source.kind == "text":
            content["text"] = request.source.text.to_dict()
        if self.table is not None:
            content["table"] = self.table.source.to_dict()
        text = json.dumps(content, sort_keys=True, ensure_ascii=True)
        return hashlib.blake2b(text.encode(), digest_size=16, person=b"tfrec.plan").hexdigest()


def resolve(
    request: Request,
    survey: Survey,
    codecs: Mapping[str, str],
    *,
    schema: Schema | None = None,
    folder: str | None = None,
) -> Plan:
    """Return the plan. ``codecs``: the versions of this machine's image encoders.

    ``schema``: the request's, resolved as far as it names files. ``folder``: where the paths
    begin, if the source is a file or a pattern. Raises RequestError, SchemaError or
    SourceError where request and input do not fit.
    """
    schema = schema or request.schema
    if schema is None:
        schema = file_schema.default_schema(request, labelled=_has_labels(request, survey))
    labels = file_schema.label_features(schema)
    file_schema.check_columns(request, schema, labelled=bool(labels))
    if labels and request.source.labels is False:
        raise RequestError(
            f"--no-labels contradicts the schema's class label {labels[0]!r}; drop one of them"
        )
    names_given = any(schema.features[name].names for name in labels)  # type: ignore[union-attr]
    frozen = (request.splits_from or {}).get("class_names") or {}
    request = dataclasses.replace(request, name=request.name or schema.name)
    layout = find_layout(
        request,
        survey,
        labelled=bool(labels),
        names_given=names_given or bool(frozen),
        folder=folder,
    )
    name = dataset_name(request.name or "dataset")
    schema = file_schema.with_names(schema, name, labels, layout, frozen)
    file_schema.check_unknown_classes(request, schema, labels, layout, survey)
    splits = resolve_splits(request, layout, survey)
    for column in (splits.by, splits.stratify):
        file_schema.check_split_column(
            schema, column, stratify=column is not None and column == splits.stratify
        )
    first_positions, num_positions = (
        _positions(layout, splits, survey) if request.order is Order.SOURCE else ({}, ())
    )
    return Plan(
        request=request,
        schema=schema,
        layout=layout,
        splits=splits,
        num_shards=_num_shards(request, schema, layout, splits, survey),
        codecs=dict(codecs)
        if any(f.recodes for f in schema.features_of(ImageFeature).values())
        or any(f.resize for f in schema.features_of(MaskFeature).values())
        else {},
        first_positions=first_positions,
        num_positions=num_positions,
        num_files=survey.num_files,
        num_bytes=survey.num_bytes,
        ignored=survey.ignored,
    )


def dataset_name(text: str) -> str:
    r"""Return ``text`` as a dataset name ``[a-z]\w*``, as TFDS wants it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"\W+", "_", plain).strip("_")
    if not name:
        return "dataset"
    return name if name[0].isalpha() else f"dataset_{name}"


def default_num_shards(num_bytes: int) -> int:
    """Return how many shards a split of so many source bytes gets."""
    by_size = -(-num_bytes // TARGET_SHARD_BYTES)
    for_parallelism = min(PARALLEL_SHARDS, -(-num_bytes // PARALLEL_SHARD_BYTES))
    return max(by_size, for_parallelism, 1)


def _has_labels(request: Request, survey: Survey) -> bool:
    """Say whether folders are to be classes where no schema says it: images always have them."""
    if request.source.labels is not None or request.source.kind != "text":
        return request.source.labels is not False
    return has_class_folders(request, survey)


def _split_bytes(schema: Schema, layout: Layout, splits: SplitRule, survey: Survey) -> list[int]:
    """Return the surveyed bytes of each split, by exact arithmetic."""
    images = [f for f in schema.features_of(ImageFeature).values() if f.from_ is None]
    shape = images[0].raw_shape if images else None
    totals = [Fraction(0) for _ in splits.names]
    for group, count in survey.groups.items():
        size = count.num_bytes
        if shape is not None:
            size = count.num_files * shape[0] * shape[1] * shape[2]
        index = split_of_group(splits, layout, group)
        if index is not None and index >= 0:
            totals[index] += size
        elif index is None:
            for split in range(len(totals)):
                totals[split] += size * splits.share(split)
    return [-(-total.numerator // total.denominator) for total in totals]


def _num_shards(
    request: Request, schema: Schema, layout: Layout, splits: SplitRule, survey: Survey
) -> tuple[int, ...]:
    return asked_num_shards(request, splits, _split_bytes(schema, layout, splits, survey))


def asked_num_shards(
    request: Request, splits: SplitRule, split_bytes: Sequence[int]
) -> tuple[int, ...]:
    """Return how many shards each split gets: as many as were asked for, or by its bytes."""
    defaults = [default_num_shards(num_bytes) for num_bytes in split_bytes]
    asked = request.num_shards
    if asked is None:
        return tuple(defaults)
    if isinstance(asked, int):
        return tuple(asked for _ in defaults)
    unknown = sorted(set(asked) - set(splits.names))
    if unknown:
        raise RequestError(
            f"--num-shards must name one of the splits {', '.join(splits.names)} (got {unknown[0]!r})"
        )
    return tuple(
        asked.get(name, default) for name, default in zip(splits.names, defaults, strict=True)
    )


def _positions(
    layout: Layout, splits: SplitRule, survey: Survey
) -> tuple[dict[bytes, tuple[int, ...]], tuple[int, ...]]:
    """Return where each unit's records start in source order, and how many there are.

    Positions are counted within each split that paths decide: counted over all splits, a
    folder's records would share one range of ranks and fall into few of their shards.
    """
    count_of = [0] * (len(splits.names) if splits.is_by_path else 1)
    first: dict[bytes, tuple[int, ...]] = {}
    for unit in sorted({group.first for group in survey.groups}):
        first[unit] = tuple(count_of)
        for group, count in survey.groups.items():
            if group.first == unit:
                index = split_of_group(splits, layout, group) if splits.is_by_path else 0
                count_of[index or 0] += count.num_files
    return first, tuple(count_of)
