"""Where a record goes: its rank in the dataset's one order, its shard and its split.

All of this is part of the dataset format: another hash moves every record, which needs a
new ``FORMAT_VERSION`` and new golden files. blake2b was taken because it is in the
standard library on every platform, keyed (the seed) and with separate domains (``person``,
so that split and order are independent). A rank has 128 bits because 64 would make two of
10**9 records collide about once in 40 datasets.

A shard is a *range* of ranks, not a rank modulo something: the shards read one after the
other are one fixed permutation for a seed, whatever the number of shards.

Ranks are kept as two uint64 arrays (high and low half) since NumPy has no uint128.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Uint64s = NDArray[np.uint64]

RANK_PERSON = b"tfrec.rank"
SPLIT_PERSON = b"tfrec.split"
MAX_NUM_SHARDS = (1 << 32) - 1
NUM_BINS = 1 << 16
"""Bins of the split hash that stratified thresholds are chosen from."""

_GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_32 = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


class Ranks(NamedTuple):
    """128-bit ranks of n records as two uint64 [n] arrays."""

    high: Uint64s
    low: Uint64s


def _digests(keys: Iterable[bytes], *, seed: int, person: bytes, num_bytes: int) -> bytes:
    # A Python loop per key: no library hashes many short strings in one call. Copying a
    # keyed state halves its cost against building one per key (0.6 us against 1.2 us).
    empty = hashlib.blake2b(digest_size=num_bytes, key=seed.to_bytes(8, "big"), person=person)
    copy = empty.copy
    parts: list[bytes] = []
    append = parts.append
    for key in keys:
        state = copy()
        state.update(key)
        append(state.digest())
    return b"".join(parts)


def file_ranks(keys: Iterable[bytes], *, seed: int) -> Ranks:
    """Return the ranks of records that are one whole file each.

    ``keys`` are the files' paths relative to the source root, as ``os.fsencode`` gives them.
    """
    digests = _digests(keys, seed=seed, person=RANK_PERSON, num_bytes=16)
    halves = np.frombuffer(digests, dtype=">u8").astype(np.uint64).reshape(-1, 2)
    return Ranks(np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1]))


def mix64(values: Uint64s) -> Uint64s:
    """Return splitmix64's finaliser of each value, wrapping in 64 bits."""
    mixed = (values ^ (values >> np.uint64(30))) * _MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    return mixed ^ (mixed >> np.uint64(31))


def ranks_in_file(key: bytes, positions: NDArray[np.int64], *, seed: int) -> Ranks:
    """Return the ranks of records at ``positions`` (int64 [n]) of the one file ``key``."""
    digest = file_ranks([key], seed=seed)
    steps = positions.astype(np.uint64) * _GOLDEN_GAMMA
    high = mix64(digest.high[0] + steps)
    return Ranks(high, mix64(digest.low[0] ^ high))


def source_order_ranks(positions: NDArray[np.int64], num_records: int) -> Ranks:
    """Return ``(position << 128) // num_records``: ranks that keep the source's order."""
    count = np.uint64(max(num_records, 1))
    remainder = positions.astype(np.uint64)
    digits = []
    # Long division in base 2**32. num_records is below 2**32 here: a listing is in memory.
    for _ in range(4):
        shifted = remainder << _32
        digits.append(shifted // count)
        remainder = shifted % count
    return Ranks(digits[0] << _32 | digits[1], digits[2] << _32 | digits[3])


def shard_indices(ranks: Ranks, num_shards: int) -> NDArray[np.int64]:
    """Return ``rank * num_shards >> 128`` per record, exactly, as int64 [n]."""
    count = np.uint64(num_shards)
    carry = np.zeros_like(ranks.low)
    for half in (ranks.low, ranks.high):
        for digit in (half & _LOW_32, half >> _32):
            carry = (digit * count + carry) >> _32
    return carry.astype(np.int64)


def rank_order(ranks: Ranks, keys: Callable[[], Sequence[bytes]]) -> NDArray[np.int64]:
    """Return the indices that sort records by rank, equal ranks by key.

    ``keys`` is called only if two ranks are equal: 128 bits make that next to impossible.
    """
    order = np.lexsort((ranks.low, ranks.high)).astype(np.int64)
    high, low = ranks.high[order], ranks.low[order]
    if bool(np.any((high[1:] == high[:-1]) & (low[1:] == low[:-1]))):
        rank_of = list(zip(ranks.high.tolist(), ranks.low.tolist(), keys(), strict=True))
        return np.array(sorted(range(len(rank_of)), key=rank_of.__getitem__), dtype=np.int64)
    return order


def split_hashes(values: Iterable[bytes], *, seed: int) -> Uint64s:
    """Return the 64-bit hash that decides a record's split, per key (or grouping value)."""
    digests = _digests(values, seed=seed, person=SPLIT_PERSON, num_bytes=8)
    return np.frombuffer(digests, dtype=">u8").astype(np.uint64)


def split_hashes_in_file(key: bytes, positions: NDArray[np.int64], *, seed: int) -> Uint64s:
    """Return the split hashes of records at ``positions`` (int64 [n]) of the one file ``key``."""
    digest = split_hashes([key], seed=seed)
    return mix64(digest[0] + positions.astype(np.uint64) * _GOLDEN_GAMMA)


def order_cuts(ratios: Sequence[Fraction], num_records: int) -> tuple[int, ...]:
    """Return before which positions each split ends that is cut by order."""
    cumulative = Fraction(0)
    cuts = []
    for ratio in ratios:
        cumulative += ratio
        cuts.append(int(cumulative * num_records))
    return tuple(cuts)


def ratio_thresholds(ratios: Sequence[Fraction]) -> tuple[int, ...]:
    """Return ``floor(cumulative ratio * 2**64)`` for all splits but the last."""
    cumulative = Fraction(0)
    thresholds = []
    for ratio in ratios[:-1]:
        cumulative += ratio
        thresholds.append(int(cumulative * (1 << 64)))
    return tuple(thresholds)


def split_indices(hashes: Uint64s, thresholds: Sequence[int]) -> NDArray[np.int64]:
    """Return the index of the split each hash falls in: the number of thresholds ≤ it."""
    found = np.zeros(len(hashes), dtype=np.int64)
    for threshold in thresholds:
        if threshold < 1 << 64:  # a threshold of 2**64 lies above every hash
            found += hashes >= np.uint64(threshold)
    return found


def hash_bins(hashes: Uint64s) -> NDArray[np.int64]:
    """Return the upper 16 bits of each hash: the bin that stratification counts."""
    return (hashes >> np.uint64(48)).astype(np.int64)


def stratified_thresholds(
    bins: NDArray[np.int64], counts: NDArray[np.int64], ratios: Sequence[Fraction]
) -> tuple[int, ...]:
    """Return one class's thresholds so that each split gets its share of the class.

    ``bins`` (sorted, int64 [k]) and ``counts`` (int64 [k]) are the class's histogram of
    `hash_bins`. A threshold lies on the border of a bin: the count below it is the wanted
    one, rounded half up, or that of the nearest border above.
    """
    below = np.concatenate(([0], np.cumsum(counts)))
    total = int(below[-1])
    cumulative = Fraction(0)
    thresholds = []
    for ratio in ratios[:-1]:
        cumulative += ratio
        wanted = int(cumulative * total + Fraction(1, 2))
        taken = int(np.searchsorted(below, wanted))  # so many bins, in order, hold `wanted`
        border = 0 if taken == 0 else int(bins[taken - 1]) + 1
        thresholds.append(border << 48)
    return tuple(thresholds)
