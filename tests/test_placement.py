"""Placement: golden values, and every vectorised formula against plain Python integers."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrec_tools import placement
from tfrec_tools.placement import Ranks

UINT64 = st.integers(0, 2**64 - 1)
SEEDS = st.integers(0, 2**64 - 1)
RANKS = st.lists(
    st.one_of(st.integers(0, 2**128 - 1), st.sampled_from([0, 1, 2**64 - 1, 2**64, 2**128 - 1])),
    max_size=30,
)


def ranks_of(numbers: list[int]) -> Ranks:
    return Ranks(
        np.array([number >> 64 for number in numbers], dtype=np.uint64),
        np.array([number & (2**64 - 1) for number in numbers], dtype=np.uint64),
    )


def numbers_of(ranks: Ranks) -> list[int]:
    return [h << 64 | w for h, w in zip(ranks.high.tolist(), ranks.low.tolist(), strict=True)]


def digest(key: bytes, seed: int, person: bytes, size: int) -> int:
    data = hashlib.blake2b(key, digest_size=size, key=seed.to_bytes(8, "big"), person=person)
    return int.from_bytes(data.digest(), "big")


def reference_mix64(value: int) -> int:
    """splitmix64's finaliser, as Steele, Lea and Flood published it."""
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


class TestFileRanks:
    def test_equal_the_golden_values(self) -> None:
        # Recipe: int.from_bytes(hashlib.blake2b(key, digest_size=16,
        #     key=seed.to_bytes(8, "big"), person=b"tfrec.rank").digest(), "big")
        golden = {
            (b"cat/1.jpg", 0): 0x42AD65EFE945351CD8CA3491E4137A5C,
            (b"cat/1.jpg", 7): 0x2F6A279B7220DED05A52DDE20644F161,
            (b"", 0): 0xB97DFC0D0661B958415A45012E22F50C,
        }
        for (key, seed), rank in golden.items():
            assert numbers_of(placement.file_ranks([key], seed=seed)) == [rank]
            assert digest(key, seed, b"tfrec.rank", 16) == rank

    @given(st.lists(st.binary(max_size=40), max_size=10), SEEDS)
    def test_equal_blake2b_in_python_integers(self, keys: list[bytes], seed: int) -> None:
        ranks = placement.file_ranks(keys, seed=seed)
        assert numbers_of(ranks) == [digest(key, seed, b"tfrec.rank", 16) for key in keys]

    def test_another_seed_gives_another_order(self) -> None:
        keys = [b"%d" % number for number in range(100)]
        orders = {
            tuple(placement.rank_order(placement.file_ranks(keys, seed=seed), lambda: keys))
            for seed in range(5)
        }
        assert len(orders) == 5

    def test_of_no_keys_are_none(self) -> None:
        ranks = placement.file_ranks([], seed=0)
        assert len(ranks.high) == len(ranks.low) == 0


class TestMix64:
    @given(st.lists(UINT64, max_size=20))
    def test_equals_splitmix64(self, values: list[int]) -> None:
        mixed = placement.mix64(np.array(values, dtype=np.uint64))
        assert mixed.tolist() == [reference_mix64(value) for value in values]

    def test_equals_the_published_first_output_of_splitmix64(self) -> None:
        # Recipe: splitmix64 seeded with 0 first returns 0xe220a8397b1dcdaf.
        gamma = np.array([0x9E3779B97F4A7C15], dtype=np.uint64)
        assert placement.mix64(gamma).tolist() == [0xE220A8397B1DCDAF]


class TestRanksInFile:
    @given(st.binary(max_size=20), st.lists(st.integers(0, 2**63 - 1), max_size=20), SEEDS)
    def test_equal_the_designs_formula(self, key: bytes, positions: list[int], seed: int) -> None:
        found = placement.ranks_in_file(key, np.array(positions, dtype=np.int64), seed=seed)
        d = digest(key, seed, b"tfrec.rank", 16)
        expected = []
        for position in positions:
            high = reference_mix64(((d >> 64) + position * 0x9E3779B97F4A7C15) % 2**64)
            low = reference_mix64((d & (2**64 - 1)) ^ high)
            expected.append(high << 64 | low)
        assert numbers_of(found) == expected

    def test_are_distinct_within_a_file(self) -> None:
        ranks = placement.ranks_in_file(b"a.csv", np.arange(100_000), seed=3)
        assert len(np.unique(ranks.high)) == 100_000


class TestSourceOrderRanks:
    @given(st.integers(1, 2**32 - 1), st.data())
    def test_equal_python_integers(self, num_records: int, data: st.DataObject) -> None:
        positions = data.draw(st.lists(st.integers(0, num_records - 1), max_size=20))
        positions += [0, num_records - 1]
        ranks = placement.source_order_ranks(np.array(positions, dtype=np.int64), num_records)
        assert numbers_of(ranks) == [(p << 128) // num_records for p in positions]

    def test_cut_the_source_into_runs_of_equal_length(self) -> None:
        ranks = placement.source_order_ranks(np.arange(12), 12)
        shards = placement.shard_indices(ranks, 4)
        assert shards.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]

    def test_of_no_records_are_none(self) -> None:
        assert numbers_of(placement.source_order_ranks(np.arange(0), 0)) == []


class TestShardIndices:
    @given(RANKS, st.one_of(st.integers(1, 2**32 - 1), st.integers(1, 50)))
    def test_equal_rank_times_shards_shifted_by_128_bits(
        self, numbers: list[int], num_shards: int
    ) -> None:
        found = placement.shard_indices(ranks_of(numbers), num_shards)
        assert found.tolist() == [number * num_shards >> 128 for number in numbers]

    @given(RANKS, st.integers(1, 9), st.integers(1, 9))
    def test_shards_in_turn_are_one_order_for_any_number_of_shards(
        self, numbers: list[int], few: int, many: int
    ) -> None:
        ranks = ranks_of(numbers)
        order = placement.rank_order(ranks, lambda: [b"%d" % i for i in range(len(numbers))])
        for num_shards in (few, many):
            shards = placement.shard_indices(ranks, num_shards)
            read_in_turn = [
                index for shard in range(num_shards) for index in order if shards[index] == shard
            ]
            assert read_in_turn == order.tolist()


class TestRankOrder:
    @given(RANKS)
    def test_sorts_by_rank(self, numbers: list[int]) -> None:
        keys = [b"%03d" % index for index in range(len(numbers))]
        order = placement.rank_order(ranks_of(numbers), lambda: keys)
        assert order.tolist() == sorted(range(len(numbers)), key=lambda i: (numbers[i], keys[i]))

    def test_breaks_ties_by_key(self) -> None:
        ranks = ranks_of([5, 2**100, 5, 5])
        keys = [b"c", b"x", b"a", b"b"]
        assert placement.rank_order(ranks, lambda: keys).tolist() == [2, 3, 0, 1]

    def test_asks_for_keys_only_if_there_are_ties(self) -> None:
        def no_keys() -> list[bytes]:
            raise AssertionError("keys were asked for")

        ranks = ranks_of([3 << 64, 2 << 64, 2 << 64 | 1])
        assert placement.rank_order(ranks, no_keys).tolist() == [1, 2, 0]


class TestSplitHashes:
    @given(st.lists(st.binary(max_size=30), max_size=10), SEEDS)
    def test_equal_blake2b_in_a_domain_of_their_own(self, keys: list[bytes], seed: int) -> None:
        found = placement.split_hashes(keys, seed=seed)
        assert found.tolist() == [digest(key, seed, b"tfrec.split", 8) for key in keys]

    def test_equal_the_golden_value(self) -> None:
        # Recipe: as for ranks, with digest_size=8 and person=b"tfrec.split".
        assert placement.split_hashes([b"cat/1.jpg"], seed=0).tolist() == [0xF9B7C207E8C2EF7B]


def fractions(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


class TestRatioThresholds:
    def test_are_cumulative_ratios_times_two_to_the_64_rounded_down(self) -> None:
        ratios = fractions("0.8", "0.1", "0.1")
        assert placement.ratio_thresholds(ratios) == (8 * 2**64 // 10, 9 * 2**64 // 10)
        assert placement.ratio_thresholds(fractions("1/3", "2/3")) == (2**64 // 3,)
        assert placement.ratio_thresholds(fractions("1")) == ()

    def test_divide_hashes_at_the_very_border(self) -> None:
        (border,) = placement.ratio_thresholds(fractions("0.5", "0.5"))
        hashes = np.array([0, border - 1, border, 2**64 - 1], dtype=np.uint64)
        assert placement.split_indices(hashes, [border]).tolist() == [0, 0, 1, 1]

    def test_a_threshold_of_two_to_the_64_lies_above_every_hash(self) -> None:
        hashes = np.array([0, 2**64 - 1], dtype=np.uint64)
        assert placement.split_indices(hashes, [2**64]).tolist() == [0, 0]

    @given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.lists(UINT64, max_size=30))
    def test_put_each_hash_where_exact_arithmetic_does(
        self, parts: list[int], hashes: list[int]
    ) -> None:
        ratios = [Fraction(part, sum(parts)) for part in parts]
        thresholds = placement.ratio_thresholds(ratios)
        found = placement.split_indices(np.array(hashes, dtype=np.uint64), thresholds)
        cuts = [sum(ratios[: i + 1]) * 2**64 // 1 for i in range(len(ratios) - 1)]
        assert found.tolist() == [sum(h >= cut for cut in cuts) for h in hashes]

    def test_a_record_keeps_its_split_when_data_are_added(self) -> None:
        keys = [b"%d" % number for number in range(2_000)]
        thresholds = placement.ratio_thresholds(fractions("0.8", "0.2"))
        before = placement.split_indices(placement.split_hashes(keys[:500], seed=1), thresholds)
        after = placement.split_indices(placement.split_hashes(keys, seed=1), thresholds)
        assert after[:500].tolist() == before.tolist()
        assert 1_550 < int((after == 0).sum()) < 1_650

    def test_split_and_order_are_independent(self) -> None:
        keys = [b"%d" % number for number in range(4_000)]
        splits = placement.split_indices(
            placement.split_hashes(keys, seed=0),
            placement.ratio_thresholds(fractions("0.5", "0.5")),
        )
        first_shard = placement.shard_indices(placement.file_ranks(keys, seed=0), 2) == 0
        assert 850 < int((first_shard & (splits == 0)).sum()) < 1_150


class TestStratifiedThresholds:
    @settings(max_examples=200)
    @given(
        st.sets(st.integers(0, placement.NUM_BINS - 1), min_size=1, max_size=60),
        st.lists(st.integers(1, 9), min_size=1, max_size=4),
    )
    def test_give_each_split_its_share_within_one_record(
        self, bins: set[int], parts: list[int]
    ) -> None:
        ratios = [Fraction(part, sum(parts)) for part in parts]
        ordered = np.array(sorted(bins), dtype=np.int64)
        thresholds = placement.stratified_thresholds(ordered, np.ones_like(ordered), ratios)
        hashes = ordered.astype(np.uint64) << np.uint64(48) | np.uint64(12345)
        found = placement.split_indices(hashes, thresholds)
        counts = np.bincount(found, minlength=len(ratios)).tolist()
        cumulative = 0
        wanted = Fraction(0)
        for ratio, count in zip(ratios, counts, strict=True):
            assert abs(count - ratio * len(bins)) <= 1
            cumulative, wanted = cumulative + count, wanted + ratio * len(bins)
            assert abs(cumulative - wanted) <= Fraction(1, 2)

    def test_lie_on_the_border_of_a_bin(self) -> None:
        bins, counts = np.array([3, 7, 9]), np.array([2, 2, 2])
        assert placement.stratified_thresholds(bins, counts, fractions("1/3", "2/3")) == (4 << 48,)
        assert placement.stratified_thresholds(bins, counts, fractions("2/3", "1/3")) == (8 << 48,)

    def test_round_half_up(self) -> None:
        bins, counts = np.array([1, 2, 3]), np.array([1, 1, 1])
        assert placement.stratified_thresholds(bins, counts, fractions("1/2", "1/2")) == (3 << 48,)

    def test_take_the_next_border_above_where_one_bin_holds_several_records(self) -> None:
        bins, counts = np.array([5, 6]), np.array([4, 4])
        assert placement.stratified_thresholds(bins, counts, fractions("0.25", "0.75")) == (
            6 << 48,
        )

    def test_of_a_share_that_rounds_to_nothing_take_nothing(self) -> None:
        bins, counts = np.array([5]), np.array([1])
        assert placement.stratified_thresholds(bins, counts, fractions("0.1", "0.9")) == (0,)
        hashes = np.array([5 << 48], dtype=np.uint64)
        assert placement.split_indices(hashes, (0,)).tolist() == [1]

    def test_the_last_bin_can_be_taken_whole(self) -> None:
        last = placement.NUM_BINS - 1
        thresholds = placement.stratified_thresholds(
            np.array([last]), np.array([1]), fractions("0.9", "0.1")
        )
        assert thresholds == (1 << 64,)

    def test_bins_are_the_upper_16_bits(self) -> None:
        hashes = np.array([0, (7 << 48) - 1, 7 << 48, 2**64 - 1], dtype=np.uint64)
        assert placement.hash_bins(hashes).tolist() == [0, 6, 7, 65_535]


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_every_seed_of_64_bits_is_a_key(seed: int) -> None:
    assert numbers_of(placement.file_ranks([b"a"], seed=seed)) == [
        digest(b"a", seed, b"tfrec.rank", 16)
    ]
