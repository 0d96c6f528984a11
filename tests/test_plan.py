"""Requests resolved by surveys."""

from __future__ import annotations

import dataclasses

import pytest

from tfrec_tools.errors import RecordError, RequestError, SchemaError
from tfrec_tools.plan import dataset_name, default_num_shards, resolve
from tfrec_tools.request import Check, OnError, Order, Request, SourceSpec, TextOptions
from tfrec_tools.schema import (
    ClassLabelFeature,
    ImageEncoding,
    ImageFeature,
    MaskFeature,
    Resize,
    Schema,
    SplitsSpec,
    TextFeature,
)
from tfrec_tools.shard_names import ShardId
from tfrec_tools.survey import FileGroup, GroupCount, Survey

MIB = 1 << 20
CODECS = {"pillow": "1", "simplejpeg": "2"}


def survey(**classes: tuple[int, int]) -> Survey:
    """A survey of class folders with so many files and bytes."""
    return Survey(
        groups={FileGroup(n.encode(), b""): GroupCount(*count) for n, count in classes.items()}
    )


def request(**options) -> Request:
    return Request(source=SourceSpec(root="pets"), output="out", **options)


def schema(**features) -> Schema:
    return Schema(features={"image": ImageFeature()} | features)


@pytest.mark.parametrize(
    ("num_bytes", "num_shards"),
    [
        (0, 1),
        (1, 1),
        (4 * MIB, 1),
        (4 * MIB + 1, 2),
        (63 * MIB, 16),
        (1000 * MIB, 16),
        (2048 * MIB, 16),
        (2048 * MIB + 1, 17),
        (128 * 1000 * MIB, 1000),
    ],
)
def test_default_number_of_shards(num_bytes, num_shards) -> None:
    assert default_num_shards(num_bytes) == num_shards


def test_shards_follow_each_splits_share_of_the_bytes() -> None:
    plan = resolve(
        request(splits=SplitsSpec(ratios={"train": 0.75, "test": "0.25"})),
        survey(a=(10, 16 * MIB), b=(10, 16 * MIB)),
        CODECS,
    )
    assert plan.num_shards == (6, 2)
    assert plan.shards[0] == ShardId("train", 0)
    assert plan.shard_name(ShardId("test", 1)) == "test-00001-of-00002.tfrecord"


def test_raw_pixels_count_instead_of_files() -> None:
    raw = ImageFeature(resize=Resize(height=1024, width=1024), encode=ImageEncoding(format="raw"))
    plan = resolve(
        request(schema=Schema(features={"image": raw}), num_shards=None), survey(a=(20, 99)), CODECS
    )
    assert plan.num_shards == (15,)


def test_given_numbers_of_shards_win() -> None:
    found = survey(a=(1, 1), b=(1, 1))
    ratios = SplitsSpec(ratios={"train": 0.5, "test": 0.5})
    assert resolve(request(num_shards=7, splits=ratios), found, {}).num_shards == (7, 7)
    assert resolve(request(num_shards={"test": 3}, splits=ratios), found, {}).num_shards == (1, 3)


def test_class_names_are_found_sorted_and_frozen_into_the_schema() -> None:
    plan = resolve(request(), survey(b=(1, 1), a=(1, 1), B=(1, 1)), {})
    assert plan.schema.features["label"].names == ("B", "a", "b")
    assert plan.schema.target == "label"


def test_labels_follow_the_schema() -> None:
    given = schema(
        kind=ClassLabelFeature(target=True, names=("a", "b", "z")), filename=TextFeature()
    )
    plan = resolve(request(schema=given), survey(a=(1, 1), b=(0, 0)), {})
    assert plan.schema.features["kind"].names == ("a", "b", "z")
    assert plan.layout.label_depth == 0
    assert resolve(request(schema=schema()), survey(a=(1, 1)), {}).layout.label_depth is None


def test_unknown_classes_are_skipped_only_on_request() -> None:
    given = schema(label=ClassLabelFeature(names=("a",)))
    found = survey(a=(1, 1), b=(3, 1), c=(1, 1))
    with pytest.raises(RecordError, match=r"also found: b \(3 images\), c \(1 image\)"):
        resolve(request(schema=given), found, {})
    assert resolve(request(schema=given, on_error=OnError.SKIP), found, {}).schema


@pytest.mark.parametrize(
    ("features", "problems"),
    [
        (
            {"x": TextFeature(from_="colour")},
            "schema: features.x.from: an image source has the columns filename, folder, stem, "
            "extension (got 'colour')",
        ),
        (
            {"x": TextFeature(from_="../{name}.txt")},
            "schema: features.x.from: knows the placeholders {stem}, {folder}, {label}, {file}, "
            "{extension} (got '../{name}.txt')",
        ),
        (
            {"x": TextFeature(from_="/data/{stem}.txt")},
            "schema: features.x.from: must be relative to the source, since the dataset's manifest "
            "holds it (got '/data/{stem}.txt')",
        ),
        (
            {"image": MaskFeature(from_="{stem}.png")},
            "schema: features: must hold a feature `kind: image` for the listed images",
        ),
        (
            {"colour": ClassLabelFeature(from_="stem")},
            "schema: features.colour.names: are required where the label is no folder",
        ),
    ],
)
def test_features_that_an_image_source_cannot_fill(features, problems) -> None:
    with pytest.raises(SchemaError) as found:
        resolve(request(schema=schema(**features)), survey(a=(1, 1)), {})
    assert str(found.value) == problems


def test_labels_and_no_labels_contradict_each_other() -> None:
    given = Request(
        source=SourceSpec(root="pets", labels=False),
        output="out",
        schema=schema(label=ClassLabelFeature()),
    )
    with pytest.raises(RequestError, match="--no-labels contradicts the schema's class label"):
        resolve(given, survey(a=(1, 1)), {})


def test_folders_that_are_splits_allow_no_ratios() -> None:
    groups = {FileGroup(s, c): GroupCount(1, 1) for s in (b"train", b"test") for c in (b"a", b"b")}
    ratios = SplitsSpec(ratios={"train": 0.5, "test": 0.5})
    with pytest.raises(RequestError) as found:
        resolve(request(splits=ratios), Survey(groups=groups), {})
    assert str(found.value) == (
        "the folders of pets are splits already (test, train); drop the ratios, or give one of "
        "these folders as the source"
    )


class TestFingerprint:
    def fingerprint(self, **options) -> str:
        return resolve(request(**options), survey(a=(5, 5), b=(5, 5)), CODECS).fingerprint()

    def test_it_is_golden(self) -> None:
        """
        Recipe: print it. It changes with every change of the format or of the defaults.
        """
        assert self.fingerprint(name="pets") == GOLDEN_FINGERPRINT

    def test_it_does_not_depend_on_places_and_policies(self) -> None:
        plan = resolve(request(), survey(a=(5, 5), b=(5, 5)), CODECS)
        moved = dataclasses.replace(
            plan.request,
            output="elsewhere",
            source=SourceSpec(root="moved"),
            on_error=OnError.SKIP,
            max_errors=3,
        )
        assert dataclasses.replace(plan, request=moved).fingerprint() == plan.fingerprint()

    @pytest.mark.parametrize(
        "options",
        [
            {"seed": 1},
            {"num_shards": 2},
            {"check": Check.HEADER},
            {"order": Order.SOURCE},
            {"compression": "gzip"},
            {"name": "other"},
            {"splits": SplitsSpec(ratios={"train": 0.5, "test": 0.5})},
            {"schema": schema(label=ClassLabelFeature())},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_it_depends_on_what_changes_the_bytes(self, options) -> None:
        assert self.fingerprint(**options) != self.fingerprint()

    @pytest.mark.parametrize(
        "changes",
        [{"record": "document", "encoding": "cp1252"}, {"record": "document", "strip": True}],
        ids=str,
    )
    def test_it_depends_on_how_text_is_understood(self, changes) -> None:
        prints = []
        for options in ({"record": "document"}, changes):
            source = SourceSpec(root="pets", kind="text", text=TextOptions(**options))
            plan = resolve(Request(source=source, output="out"), survey(a=(5, 5)), {})
            prints.append(plan.fingerprint())
        assert prints[0] != prints[1]

    def test_encoders_count_only_if_the_schema_encodes(self) -> None:
        plain, resized = schema(), schema(image=ImageFeature(resize=Resize(shorter_side=8)))
        for given, equal in ((plain, True), (resized, False)):
            found = survey(a=(1, 1))
            prints = [
                resolve(request(schema=given), found, {"pillow": v}).fingerprint() for v in "12"
            ]
            assert (prints[0] == prints[1]) is equal


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Flower Photos!", "flower_photos"),
        ("101_food", "dataset_101_food"),
        ("Übung-2", "ubung_2"),
        ("花", "dataset"),
        ("", "dataset"),
        ("_x_", "x"),
    ],
)
def test_names_are_identifiers(text, name) -> None:
    assert dataset_name(text) == name


GOLDEN_FINGERPRINT = "d0cd03692c4573f4ab2baaf59e0afd86"
