"""The manifest: what was written comes back, and what is no manifest is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrec_tools.errors import DatasetError
from tfrec_tools.manifest import (
    FORMAT_VERSION,
    FileInfo,
    Manifest,
    ShardInfo,
    SplitInfo,
    crc_text,
    left_out_text,
)
from tfrec_tools.schema import (
    ClassLabelFeature,
    Float32Feature,
    Float64Feature,
    ImageFeature,
    Int64Feature,
    Schema,
)


def shard(name: str, num_records: int) -> ShardInfo:
    return ShardInfo(
        name=name,
        num_records=num_records,
        num_bytes=1000 * num_records,
        payload_bytes=984 * num_records,
        crc32c="00c0ffee",
        fingerprint="ab" * 16,
    )


MANIFEST = Manifest(
    schema=Schema(
        name="animals",
        features={
            "image": ImageFeature(),
            "label": ClassLabelFeature(names=("cat", "dög"), target=True),
            "size": ClassLabelFeature(names=("big", "small"), from_="size"),
        },
    ),
    splits=(
        SplitInfo(
            name="train",
            shards=(shard("train-0", 3), shard("train-1", 2)),
            statistics={"label": {"counts": [4, 1]}},
        ),
        SplitInfo(name="test", shards=(shard("test-0", 0),)),
    ),
    fingerprint="cd" * 16,
    seed=7,
    order="shuffled",
    check="decode",
    compression=None,
    splits_rule={"method": "folders"},
    files={"report.jsonl": FileInfo(num_bytes=5, crc32c="0000000a")},
    num_rejected=1,
    ignored={".txt": 2},
    codecs={"pillow": "12", "simplejpeg": "1"},
)


def changed(**values: Any) -> str:
    return json.dumps(json.loads(MANIFEST.to_json()) | values)


class TestJson:
    def test_what_was_left_out_is_written_if_anything_was(self) -> None:
        manifest = dataclasses.replace(MANIFEST, left_out={"too short": 10, "not utf-8": 2})
        assert json.loads(manifest.to_json())["left_out"] == {"too short": 10, "not utf-8": 2}
        assert Manifest.from_json(manifest.to_json()) == manifest
        assert "left_out" not in json.loads(MANIFEST.to_json())

    def test_comes_back_as_it_was(self) -> None:
        assert Manifest.from_json(MANIFEST.to_json()) == MANIFEST
        assert Manifest.from_json(MANIFEST.to_json().encode()) == MANIFEST

    def test_is_readable_text_of_the_same_bytes_each_time(self) -> None:
        text = MANIFEST.to_json()
        assert '"dög"' in text
        assert text.endswith("}\n")
        assert Manifest.from_json(text).to_json() == text

    def test_holds_sums_for_those_who_read_only_json(self) -> None:
        data = json.loads(MANIFEST.to_json())
        assert (data["format"], data["format_version"]) == ("tfrec-tools", FORMAT_VERSION)
        assert data["num_records"] == 5
        assert [split["num_records"] for split in data["splits"]] == [5, 0]
        assert [split["num_bytes"] for split in data["splits"]] == [5000, 0]

    @pytest.mark.parametrize(
        "text", ["{}", "[]", "3", '{"format": "tfds"}', "null", '"tfrec-tools"']
    )
    def test_of_something_else_is_refused(self, text: str) -> None:
        with pytest.raises(DatasetError) as caught:
            Manifest.from_json(text, origin="out/manifest.json")
        assert str(caught.value) == (
            "out/manifest.json must be a manifest of tfrec-tools (it is something else)"
        )

    def test_of_a_later_version_says_what_to_do(self) -> None:
        with pytest.raises(DatasetError) as caught:
            Manifest.from_json(changed(format_version=99), origin="m")
        assert str(caught.value) == (
            f"m has format version 99, this tfrec-tools reads up to {FORMAT_VERSION}; install a "
            "later one"
        )

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            MANIFEST.to_json()[:-20],
            "\ufeff" + MANIFEST.to_json(),
            b"\xff\xfe\x00",
            changed(splits=None),
            changed(splits=[{}]),
            changed(splits=[{"name": "train", "shards": [{"name": "x"}], "statistics": {}}]),
            changed(files={"a": 3}),
            changed(format_version="1"),
            changed(schema={}),
            json.dumps({"format": "tfrec-tools", "format_version": 1}),
        ],
        ids=range(12),
    )
    def test_that_is_damaged_is_refused(self, text: str | bytes) -> None:
        with pytest.raises(DatasetError, match=r"is damaged|could not be understood"):
            Manifest.from_json(text)

    @settings(max_examples=150, deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["name", "shards", "statistics", "features", "kind", "x"]),
                    inner,
                    max_size=3,
                )
            ),
            max_leaves=8,
        ),
        st.sampled_from(["schema", "splits", "files", "format_version", "seed"]),
    )
    def test_with_any_value_in_a_place_raises_nothing_but_dataset_error(
        self, value: object, place: str
    ) -> None:
        try:
            Manifest.from_json(changed(**{place: value}))
        except DatasetError as error:
            assert str(error)

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, len(MANIFEST.to_json())), st.text(max_size=3))
    def test_cut_and_patched_raises_nothing_but_dataset_error(self, cut: int, patch: str) -> None:
        text = MANIFEST.to_json()
        for damaged in (text[:cut] + patch, text[:cut] + patch + text[cut:]):
            try:
                Manifest.from_json(damaged)
            except DatasetError as error:
                assert str(error)


class TestQuestions:
    def test_splits_are_found_by_name(self) -> None:
        assert MANIFEST.split("train").num_records == 5
        assert MANIFEST.split("train").payload_bytes == 984 * 5
        with pytest.raises(DatasetError) as caught:
            MANIFEST.split("trian")
        assert str(caught.value) == (
            "the dataset 'animals' has the splits train, test (asked for 'trian')"
        )

    def test_class_names_are_those_of_the_target_unless_asked_otherwise(self) -> None:
        assert MANIFEST.class_names() == ("cat", "dög")
        assert MANIFEST.class_names("size") == ("big", "small")

    @pytest.mark.parametrize("feature", ["image", "nonsense"])
    def test_class_names_of_what_is_no_label_are_an_error(self, feature: str) -> None:
        with pytest.raises(DatasetError) as caught:
            MANIFEST.class_names(feature)
        assert str(caught.value) == (
            f"a class label must be asked for (got {feature!r}; known: label, size)"
        )

    def test_class_counts_are_zero_where_nothing_was_counted(self) -> None:
        assert MANIFEST.class_counts("train") == {"cat": 4, "dög": 1}
        assert MANIFEST.class_counts("test") == {"cat": 0, "dög": 0}

    def test_a_dataset_without_a_name_is_called_dataset(self) -> None:
        schema = Schema(features={"x": Int64Feature()})
        nameless = Manifest(
            schema=schema, splits=(), fingerprint="", seed=0, order="shuffled", check="decode",
            compression=None, splits_rule={},
        )  # fmt: skip
        assert nameless.name == "dataset"
        with pytest.raises(DatasetError, match=r"known: none\)$"):
            nameless.class_names()

    def test_a_crc_is_eight_hexadecimal_digits(self) -> None:
        assert [crc_text(crc) for crc in (0, 10, 2**32 - 1)] == ["00000000", "0000000a", "ffffffff"]


def test_missing_values_of_all_splits_count() -> None:
    features = {
        "age": Int64Feature(),
        "size": Float32Feature(),
        "weight": Float64Feature(missing="empty"),
        "parts": Int64Feature(many=True),
        "all": Int64Feature(),
    }
    missing = {name: {"missing": 0 if name == "all" else 2} for name in features}
    manifest = dataclasses.replace(
        MANIFEST,
        schema=Schema(features=features),
        splits=(
            SplitInfo(name="train", shards=(), statistics=missing),
            SplitInfo(name="test", shards=(), statistics={"age": {"missing": 1}}),
        ),
    )
    counts = [manifest.num_missing(name) for name in features]
    assert counts == [3, 2, 2, 2, 0]
    absent = [name for name in features if manifest.may_be_absent(name)]
    assert absent == ["age", "weight"]  # NaN and empty lists stand for the others


def test_reasons_are_said_most_frequent_first() -> None:
    counts = {"not utf-8": 2, "too long": 2, "too short": 1000}
    assert left_out_text(counts) == "1,000 too short, 2 not utf-8, 2 too long"
