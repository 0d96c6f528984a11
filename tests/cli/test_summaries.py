"""What is said about finished datasets."""

from __future__ import annotations

import pytest

from tfrec_tools.cli.summaries import manifest_summary
from tfrec_tools.manifest import Manifest, SplitInfo
from tfrec_tools.schema import ImageFeature, Schema, TextFeature


def manifest(schema: Schema, **options: object) -> Manifest:
    return Manifest(
        schema=schema,
        splits=(SplitInfo(name="train", shards=()),),
        fingerprint="0" * 32,
        seed=0,
        order="shuffled",
        check="decode",
        compression=None,
        splits_rule={"method": "one"},
        **options,
    )


TEXT = Schema(features={"text": TextFeature()})
IMAGES = Schema(features={"image": ImageFeature()})


def test_records_that_were_left_out() -> None:
    left_out = {"not utf-8": 2, "too short": 10}
    lines = manifest_summary(manifest(TEXT, left_out=left_out), "out").splitlines()
    assert "Left out 12 records: 10 too short, 2 not utf-8" in lines
    assert "Left out" not in manifest_summary(manifest(TEXT), "out")


@pytest.mark.parametrize(
    ("schema", "kind", "what"),
    [
        (TEXT, "text", "text files"),
        (TEXT, "csv", "tables"),
        (TEXT, None, "tables"),
        (IMAGES, "images", "images"),
        (IMAGES, "csv", "images"),
        (IMAGES, None, "images"),
    ],
)
def test_files_that_were_passed_over(schema, kind, what) -> None:
    lines = manifest_summary(manifest(schema, ignored={".md": 2}), "out", kind).splitlines()
    assert f"Ignored files that are no {what}: 2 .md" in lines
