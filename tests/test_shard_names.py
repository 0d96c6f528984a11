"""Names of shards and their indices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.errors import RequestError
from tfrec_tools.shard_names import (
    ShardId,
    check_split_name,
    index_name,
    is_shard_name,
    shard_name,
)


class TestShardName:
    @pytest.mark.parametrize(
        ("shard", "num_shards", "name"),
        [
            (ShardId("train", 0), 1, "train-00000-of-00001.tfrecord"),
            (ShardId("train", 3), 16, "train-00003-of-00016.tfrecord"),
            (ShardId("a_b-c", 99_999), 100_000, "a_b-c-099999-of-100000.tfrecord"),
            (ShardId("test", 7), 4_294_967_295, "test-0000000007-of-4294967295.tfrecord"),
        ],
    )
    def test_pads_to_five_digits_or_as_many_as_the_count_has(
        self, shard: ShardId, num_shards: int, name: str
    ) -> None:
        assert shard_name(shard, num_shards) == name
        assert shard_name(shard, num_shards, gzip=True) == name + ".gz"
        assert index_name(name) == name + ".idx"

    @given(
        st.from_regex(r"[A-Za-z][A-Za-z0-9_\-]{0,8}", fullmatch=True),
        st.integers(1, 2**32 - 1),
        st.data(),
    )
    def test_is_recognised_again(self, split: str, num_shards: int, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, num_shards - 1))
        assert is_shard_name(shard_name(ShardId(split, index), num_shards))
        assert is_shard_name(shard_name(ShardId(split, index), num_shards, gzip=True))

    def test_names_sort_in_the_order_of_shards(self) -> None:
        names = [shard_name(ShardId("train", index), 100_001) for index in range(0, 100_001, 997)]
        assert names == sorted(names)

    @pytest.mark.parametrize(
        "name",
        [
            "train-0-of-1.tfrecord",
            "train-00000-of-00001.tfrecord.idx",
            "train-00000-of-00001.tfrecord.gz.idx",
            "-00000-of-00001.tfrecord",
            "tränen-00000-of-00001.tfrecord",
            "train-\u0660\u0660\u0660\u0660\u0660-of-00001.tfrecord",  # Arabic digits
            "train-00000-of-00001.tfrecord\n",
            "a/train-00000-of-00001.tfrecord",
            "manifest.json",
            "",
        ],
    )
    def test_other_names_are_not_taken_for_shards(self, name: str) -> None:
        assert not is_shard_name(name)

    def test_shards_sort_by_split_then_index(self) -> None:
        shards = [ShardId("train", 10), ShardId("test", 1), ShardId("train", 9)]
        assert sorted(shards) == [ShardId("test", 1), ShardId("train", 9), ShardId("train", 10)]


class TestCheckSplitName:
    @pytest.mark.parametrize("name", ["train", "fold-1", "A_b", "0"])
    def test_accepts_what_tfds_accepts(self, name: str) -> None:
        check_split_name(name)

    @pytest.mark.parametrize("name", ["", "a b", "a/b", "trän", "a.b", "--", "_", "train\n"])
    def test_refuses_all_else_and_shows_it(self, name: str) -> None:
        with pytest.raises(RequestError) as caught:
            check_split_name(name)
        assert str(caught.value) == (
            f"a split's name must consist of letters, digits, '_' and '-' (got {name!r})"
        )
