"""The manifest: the whole result of a conversion, and all that a reader needs to know.

``manifest.json`` is written last: without it a folder is no dataset. It holds no times,
host names, absolute paths or package version, so that equal work gives equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tfrec_tools.errors import DatasetError, listed
from tfrec_tools.schema import ClassLabelFeature, Float32Feature, Float64Feature, Schema

FORMAT = "tfrec-tools"
FORMAT_VERSION = 1
MANIFEST_NAME = "manifest.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo:
    """One shard. ``num_bytes`` counts the file, ``payload_bytes`` the payloads in it."""

    name: str
    num_records: int
    num_bytes: int
    payload_bytes: int
    crc32c: str
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitInfo:
    """One split: its shards in order, and statistics by feature."""

    name: str
    shards: tuple[ShardInfo, ...]
    statistics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def num_records(self) -> int:
        """Records in all shards."""
        return sum(shard.num_records for shard in self.shards)

    @property
    def num_bytes(self) -> int:
        """Bytes of all shards' files."""
        return sum(shard.num_bytes for shard in self.shards)

    @property
    def payload_bytes(self) -> int:
        """Bytes of all payloads, without their frames."""
        return sum(shard.payload_bytes for shard in self.shards)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInfo:
    """A file beside the shards."""

    num_bytes: int
    crc32c: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A dataset. ``num_rejected`` inputs did not fit; ``report.jsonl`` names them.

    ``left_out``: how many records were, as asked, by the word that says why.
    ``num_dropped_tokens``: of the remainders of packed tokens, if these are not stored.
    """

    schema: Schema
    splits: tuple[SplitInfo, ...]
    fingerprint: str
    seed: int
    order: str
    check: str
    compression: str | None
    splits_rule: Mapping[str, Any]
    files: Mapping[str, FileInfo] = field(default_factory=dict)
    num_rejected: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)
    codecs: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    num_dropped_tokens: int = 0

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.schema.name or "dataset"

    @property
    def num_records(self) -> int:
        """Records in all splits."""
        return sum(split.num_records for split in self.splits)

    def split(self, name: str) -> SplitInfo:
        """Return the split called ``name``. Raises DatasetError naming those there are."""
        for split in self.splits:
            if split.name == name:
                return split
        names = listed([split.name for split in self.splits])
        raise DatasetError(f"the dataset {self.name!r} has the splits {names} (asked for {name!r})")

    def class_names(self, feature: str | None = None) -> tuple[str, ...]:
        """Return the class names of a label feature; of the only or the target one by default.

        Raises DatasetError if there is no such feature.
        """
        labels = self.schema.features_of(ClassLabelFeature)
        if feature is None:
            feature = (
                self.schema.target if self.schema.target in labels else next(iter(labels), None)
            )
        if feature not in labels:
            known = listed(list(labels)) or "none"
            raise DatasetError(f"a class label must be asked for (got {feature!r}; known: {known})")
        return labels[feature].names or ()

    def class_counts(self, split: str, feature: str | None = None) -> dict[str, int]:
        """Return the number of records of each class in ``split``."""
        names = self.class_names(feature)
        labels = self.schema.features_of(ClassLabelFeature)
        if feature is None:
            feature = self.schema.target if self.schema.target in labels else next(iter(labels))
        counts = self.split(split).statistics.get(feature, {}).get("counts", [0] * len(names))
        return dict(zip(names, counts, strict=True))

    def num_missing(self, feature: str) -> int:
        """Return how many records of all splits have no value of ``feature``."""
        return sum(split.statistics.get(feature, {}).get("missing", 0) for split in self.splits)

    def may_be_absent(self, feature: str) -> bool:
        """Say whether some record has no such key: no value of ``feature``, and none for it."""
        if not self.num_missing(feature):
            return False
        kind = self.schema.features[feature]
        if isinstance(kind, (Float32Feature, Float64Feature)) and not kind.many:
            return kind.missing == "empty"  # else NaN stands for it
        return not any(column.is_list for column in kind.stored(feature))

    def to_json(self) -> str:
        """Return the text of ``manifest.json``."""
        losses: dict[str, Any] = {"left_out": dict(self.left_out)} if self.left_out else {}
        if self.num_dropped_tokens:
            losses["num_dropped_tokens"] = self.num_dropped_tokens
        data = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "name": self.name,
            "fingerprint": self.fingerprint,
            "num_records": self.num_records,
            "num_rejected": self.num_rejected,
            **losses,
            "ignored_files": dict(self.ignored),
            "seed": self.seed,
            "order": self.order,
            "check": self.check,
            "compression": self.compression,
            "codecs": dict(sorted(self.codecs.items())),
            "schema": self.schema.to_dict(),
            "splits_rule": self.splits_rule,
            "splits": [
                {
                    "name": split.name,
                    "num_records": split.num_records,
                    "num_bytes": split.num_bytes,
                    "statistics": split.statistics,
                    "shards": [
                        {name: getattr(shard, name) for name in ShardInfo.__dataclass_fields__}
                        for shard in split.shards
                    ],
                }
                for split in self.splits
            ],
            "files": {
                name: {"num_bytes": info.num_bytes, "crc32c": info.crc32c}
                for name, info in sorted(self.files.items())
            },
        }
        return json.dumps(data, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, *, origin: str = MANIFEST_NAME) -> Manifest:
        """Return the manifest that `to_json` wrote.

        Raises DatasetError if it is damaged, of something else or of a later version.
        """
        try:
            data = json.loads(text)
            if not isinstance(data, dict) or data.get("format") != FORMAT:
                raise DatasetError(
                    f"{origin} must be a manifest of tfrec-tools (it is something else)"
                )
            if data["format_version"] > FORMAT_VERSION:
                raise DatasetError(
                    f"{origin} has format version {data['format_version']}, this tfrec-tools reads "
                    f"up to {FORMAT_VERSION}; install a later one"
                )
            return cls(
                schema=Schema.from_dict(data["schema"]),
                splits=tuple(
                    SplitInfo(
                        name=split["name"],
                        shards=tuple(ShardInfo(**shard) for shard in split["shards"]),
                        statistics=split["statistics"],
                    )
                    for split in data["splits"]
                ),
                files={name: FileInfo(**info) for name, info in data["files"].items()},
                fingerprint=data["fingerprint"],
                seed=data["seed"],
                order=data["order"],
                check=data["check"],
                compression=data["compression"],
                splits_rule=data["splits_rule"],
                num_rejected=data["num_rejected"],
                ignored=data["ignored_files"],
                codecs=data["codecs"],
                left_out=data.get("left_out", {}),
                num_dropped_tokens=data.get("num_dropped_tokens", 0),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, DatasetError):
                raise
            raise DatasetError(f"{origin} is damaged ({error!r}); convert the data again") from None


def crc_text(crc: int) -> str:
    """Return a CRC as the manifest writes it: eight hexadecimal digits."""
    return f"{crc:08x}"


def left_out_text(left_out: Mapping[str, int]) -> str:
    """Return why records were left out, the most frequent reason first: ``10 too short``."""
    ordered = sorted(left_out.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{number:,} {word}" for word, number in ordered)
