"""A dataset as its manifest describes it; nothing here imports TensorFlow before it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tfrec_tools.errors import DatasetError, RequestError, counted, listed
from tfrec_tools.manifest import Manifest, SplitInfo
from tfrec_tools.manifest_files import load_manifest
from tfrec_tools.schema import (
    BytesFeature,
    Feature,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    Schema,
    StoredColumn,
    TextFeature,
    TokensFeature,
)
from tfrec_tools.storage import open_storage

if TYPE_CHECKING:
    from tfrec_tools.reader.parse_specs import ParseSpec

PRESENT = "_present"
"""``<feature>_present`` says for each record whether it has a value."""
LENGTH = "_length"
"""``<feature>_length`` says for each record how many values its list has."""
LINE = "line"
ORIGIN_COLUMNS = frozenset({"filename", "folder", "stem", "extension", LINE})
"""Columns that say where a record comes from, not what it is."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What is told of a feature's values in place of them: whether there is one, or how many."""

    feature: str
    what: Literal["present", "length"]


@dataclass(frozen=True, slots=True, repr=False)
class Dataset:
    """The manifest of the dataset in the folder ``path``. Made by `open`."""

    path: str
    manifest: Manifest

    @classmethod
    def open(cls, path: str) -> Dataset:
        """Read the manifest. Raises DatasetError."""
        path = path.removeprefix("file://")
        return cls(path, load_manifest(path))

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.manifest.name

    @property
    def schema(self) -> Schema:
        """The features, with all class names."""
        return self.manifest.schema

    @property
    def splits(self) -> Mapping[str, SplitInfo]:
        """The splits by name."""
        return {split.name: split for split in self.manifest.splits}

    def num_records(self, split: str | None = None) -> int:
        """Return how many records a split has, or all splits."""
        return self.manifest.num_records if split is None else self.split(split).num_records

    def split(self, name: str) -> SplitInfo:
        """Return a split. Raises DatasetError naming those there are."""
        return self.manifest.split(name)

    def class_names(self, feature: str | None = None) -> tuple[str, ...]:
        """Return the class names of a label; of the target, or the only label, by default."""
        return self.manifest.class_names(feature)

    def class_counts(self, split: str, feature: str | None = None) -> dict[str, int]:
        """Return how many records of a split have which class."""
        return self.manifest.class_counts(split, feature)

    def shard_paths(self, split: str) -> list[str]:
        """Return the paths or URLs of a split's shards, in order."""
        folder = self.path.rstrip("/") or "/"
        return [f"{folder}/{shard.name}" for shard in self.split(split).shards]

    def check_shards(self, split: str) -> None:
        """Compare the sizes of a split's shards with the manifest. Raises DatasetError."""
        storage = open_storage(self.path)
        for shard in self.split(split).shards:
            found = storage.size(shard.name.encode())
            if found != shard.num_bytes:
                what = "it is missing" if found is None else f"it has {found:,}"
                raise DatasetError(
                    f"{self.path.rstrip('/')}/{shard.name} must have {shard.num_bytes:,} bytes "
                    f"({what}); copy the dataset again, or convert the data again"
                )

    @property
    def derived(self) -> dict[str, Derived]:
        """What can be read besides stored columns, by name.

        ``<name>_present`` if some record has no value of the feature, ``<name>_length`` if
        records have many; not where a stored column is called so.
        """
        found = {}
        for name, feature in self.schema.features.items():
            if self.manifest.num_missing(name) and not getattr(feature, "is_packed", False):
                found[name + PRESENT] = Derived(name, "present")
            if getattr(feature, "many", False):
                found[name + LENGTH] = Derived(name, "length")
        stored = {column.name for column in self.schema.stored}
        return {name: derived for name, derived in found.items() if name not in stored}

    def names(self, features: Sequence[str] | None = None) -> list[str]:
        """Return the names of what `load` reads for ``features``, each once.

        By default all but text, bytes, the sizes of images and, without images, the number
        of a record's line. If that leaves nothing but the target, also text and bytes, but
        not those that only say where a record comes from, unless there is nothing else.
        The target is always read. Raises RequestError for a name that is none, naming those
        there are.
        """
        if features is not None:
            stored = [column.name for column in self.schema.stored]
            return _known(features, [*stored, *self.derived])
        described = self.schema.features
        numbers = [
            name
            for name, feature in described.items()
            if not isinstance(feature, (TextFeature, BytesFeature))
            and not self._is_line(name, feature)
        ]
        texts = [
            name
            for name, feature in described.items()
            if not self._is_line(name, feature)
            and not (isinstance(feature, TextFeature) and _column(name, feature) in ORIGIN_COLUMNS)
        ]
        target = self.schema.target
        for names in (numbers, texts):
            if set(names) - {target}:
                return [name for name in described if name in names or name == target]
        return list(described)

    def _is_line(self, name: str, feature: Feature) -> bool:
        """Say whether it is the number of a line of text, beside the text."""
        has_line = isinstance(feature, Int64Feature) and _column(name, feature) == LINE
        if not has_line or self.schema.features_of(ImageFeature, MaskFeature):
            return False
        texts = self.schema.features_of(TextFeature, BytesFeature, TokensFeature)
        return any(_column(n, f) not in ORIGIN_COLUMNS for n, f in texts.items())

    def columns(self, features: Sequence[str] | None = None) -> dict[str, StoredColumn]:
        """Return the stored columns that ``features`` name; by default as `names` does.

        Raises RequestError for a name that is none, naming those there are.
        """
        stored = {column.name: column for column in self.schema.stored}
        names = self.names() if features is None else _known(features, list(stored))
        return {name: stored[name] for name in names}

    def parse_spec(self, features: Sequence[str] | None = None) -> ParseSpec:
        """Return what ``tf.io.parse_example`` needs, for a pipeline of your own.

        Images are strings in it (file bytes, or raw pixels), and so is float64 kept as bytes.
        A value that a record does not have is 0, -1 (labels), NaN or "". By default all
        stored columns.
        """
        from tfrec_tools.reader.parse_specs import parse_spec  # it imports TensorFlow

        names = [column.name for column in self.schema.stored] if features is None else features
        return parse_spec(self.manifest, self.columns(names))

    def __repr__(self) -> str:
        splits = ", ".join(
            f"{split.name}: {counted(split.num_records, 'record')}"
            for split in self.manifest.splits
        )
        return f"<dataset {self.name!r} in {self.path}: {splits}; {listed(list(self.schema.features))}>"


def _column(name: str, feature: Feature) -> str:
    return feature.from_ or name


def _known(features: Sequence[str], known: list[str]) -> list[str]:
    names = list(dict.fromkeys(features))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RequestError(f"features must be among {listed(known, limit=40)} (got {unknown[0]!r})")
    if not names:
        raise RequestError("features must name at least one feature")
    return names
