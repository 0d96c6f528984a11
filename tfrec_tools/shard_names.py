"""Names of shards: ``train-00003-of-00016.tfrecord`` and its index ``….tfrecord.idx``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tfrec_tools.errors import RequestError

MIN_DIGITS = 5
"""TFDS pads shard numbers to five digits, or to as many as the count has."""

_SPLIT_NAME = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_\-]+")
_SHARD_NAME = re.compile(
    r"(?P<split>[A-Za-z0-9_\-]+)-(?P<index>\d{5,})-of-(?P<count>\d{5,})\.tfrecord(?P<gz>\.gz)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, order=True)
class ShardId:
    """One output file: the ``index``-th shard of ``split``."""

    split: str
    index: int


def check_split_name(name: str) -> None:
    """Raise RequestError unless ``name`` can be part of a file name that TFDS accepts."""
    if not _SPLIT_NAME.fullmatch(name):
        raise RequestError(
            f"a split's name must consist of letters, digits, '_' and '-' (got {name!r})"
        )


def shard_name(shard: ShardId, num_shards: int, *, gzip: bool = False) -> str:
    """Return the file name of ``shard`` among the ``num_shards`` of its split."""
    digits = max(MIN_DIGITS, len(str(num_shards)))
    name = f"{shard.split}-{shard.index:0{digits}d}-of-{num_shards:0{digits}d}.tfrecord"
    return name + ".gz" if gzip else name


def index_name(name: str) -> str:
    """Return the name of the record index that belongs to the shard called ``name``."""
    return name + ".idx"


def is_shard_name(name: str) -> bool:
    """Say whether ``name`` has the form that `shard_name` gives."""
    return _SHARD_NAME.fullmatch(name) is not None
