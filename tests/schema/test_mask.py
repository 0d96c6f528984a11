"""Mask features: found by a path pattern, never interpolated."""

from __future__ import annotations

import pytest

from tfrec_tools.schema import MaskFeature, Resize, StoredColumn, StoredType

PATTERN = "../masks/{stem}.png"


def test_stores_bytes_height_and_width() -> None:
    assert MaskFeature(from_=PATTERN).stored("mask") == (
        StoredColumn("mask", StoredType.BYTES),
        StoredColumn("mask_height", StoredType.INT64),
        StoredColumn("mask_width", StoredType.INT64),
    )


def test_must_be_found_by_a_path_pattern() -> None:
    with pytest.raises(ValueError, match="from must be") as caught:
        MaskFeature(from_="mask")
    assert str(caught.value) == (
        "from must be a path pattern such as '../masks/{stem}.png' (got 'mask')"
    )


@pytest.mark.parametrize("resample", ["bicubic", "lanczos"])
def test_is_never_interpolated(resample: str) -> None:
    with pytest.raises(ValueError, match=r"^a mask is always resized with resample: nearest$"):
        MaskFeature(from_=PATTERN, resize=Resize(shorter_side=8, resample=resample))  # type: ignore[arg-type]


def test_takes_the_resizing_of_its_picture() -> None:
    resize = Resize(shorter_side=8)
    assert MaskFeature(from_=PATTERN, resize=resize).resize == resize
