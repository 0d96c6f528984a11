"""Image features: sizes after resizing, in exact integers, and options that contradict."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.schema import ImageEncoding, ImageFeature, Resize, StoredColumn, StoredType

SIDES = st.integers(1, 70_000)


def rounded(value: Fraction) -> int:
    """Half up, as said in the design."""
    return int(value + Fraction(1, 2))


class TestResize:
    @pytest.mark.parametrize(
        ("resize", "size", "target"),
        [
            (Resize(shorter_side=256), (375, 500), (256, 341)),
            (Resize(shorter_side=256), (500, 375), (341, 256)),
            (Resize(shorter_side=256), (200, 500), (200, 500)),
            (Resize(shorter_side=256), (256, 500), (256, 500)),
            (Resize(shorter_side=256, enlarge=True), (128, 200), (256, 400)),
            (Resize(longer_side=256), (375, 500), (192, 256)),
            (Resize(longer_side=256), (100, 256), (100, 256)),
            (Resize(longer_side=256), (100, 200), (100, 200)),
            (Resize(longer_side=256, enlarge=True), (100, 200), (128, 256)),
            (Resize(height=10, width=20), (375, 500), (10, 20)),
            (Resize(height=1000, width=2000), (3, 5), (1000, 2000)),
            (Resize(shorter_side=1), (2, 5), (1, 3)),  # 2.5, half up
            (Resize(longer_side=10), (1, 1000), (1, 10)),  # no side of 0
        ],
    )
    def test_gives_exact_sizes(
        self, resize: Resize, size: tuple[int, int], target: tuple[int, int]
    ) -> None:
        assert resize.target_size(*size) == target

    @given(SIDES, SIDES, st.integers(1, 2000))
    def test_equals_exact_fractions_rounded_half_up(
        self, height: int, width: int, side: int
    ) -> None:
        for resize, old in (
            (Resize(shorter_side=side), min(height, width)),
            (Resize(longer_side=side), max(height, width)),
        ):
            expected = height, width
            if side < old:
                ratio = Fraction(side, old)
                expected = max(1, rounded(height * ratio)), max(1, rounded(width * ratio))
            assert resize.target_size(height, width) == expected

    @given(SIDES, SIDES, st.integers(1, 2000))
    def test_never_enlarges_unless_told(self, height: int, width: int, side: int) -> None:
        for resize in (Resize(shorter_side=side), Resize(longer_side=side)):
            new_height, new_width = resize.target_size(height, width)
            assert new_height <= height
            assert new_width <= width

    @given(SIDES, SIDES, st.integers(1, 2000))
    def test_turning_and_resizing_may_change_places(
        self, height: int, width: int, side: int
    ) -> None:
        resize = Resize(shorter_side=side, enlarge=True)
        assert resize.target_size(width, height) == resize.target_size(height, width)[::-1]

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"shorter_side": 1, "longer_side": 2},
            {"height": 1},
            {"width": 1},
            {"shorter_side": 1, "height": 1, "width": 1},
        ],
    )
    def test_must_be_one_of_three_forms(self, options: dict[str, int]) -> None:
        sentence = "^must give shorter_side, or longer_side, or both height and width$"
        with pytest.raises(ValueError, match=sentence):
            Resize(**options)

    @pytest.mark.parametrize("options", [{"shorter_side": 0}, {"height": 5, "width": -1}])
    def test_must_be_positive(self, options: dict[str, int]) -> None:
        with pytest.raises(ValueError, match=r"^sizes must be at least 1 pixel$"):
            Resize(**options)

    def test_an_exact_size_is_known_beforehand(self) -> None:
        assert Resize(height=3, width=4).exact_size == (3, 4)
        assert Resize(shorter_side=3).exact_size is None


class TestImageEncoding:
    @pytest.mark.parametrize("quality", [0, 101, -1])
    def test_refuses_a_quality_that_jpeg_does_not_have(self, quality: int) -> None:
        sentence = re.escape(f"quality must be 1 to 100 (got {quality})")
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            ImageEncoding(format="jpeg", quality=quality)


class TestImageFeature:
    def test_stores_bytes_height_and_width(self) -> None:
        assert ImageFeature().stored("picture") == (
            StoredColumn("picture", StoredType.BYTES),
            StoredColumn("picture_height", StoredType.INT64),
            StoredColumn("picture_width", StoredType.INT64),
        )

    @pytest.mark.parametrize("resize", [None, Resize(shorter_side=8)])
    def test_raw_pixels_need_one_exact_size(self, resize: Resize | None) -> None:
        with pytest.raises(ValueError, match=r"^encode: raw needs resize: {height: H, width: W}"):
            ImageFeature(resize=resize, encode=ImageEncoding(format="raw"))

    def test_raw_pixels_have_a_static_shape(self) -> None:
        raw = ImageEncoding(format="raw")
        size = Resize(height=4, width=5)
        assert ImageFeature(resize=size, encode=raw).raw_shape == (4, 5, 3)
        assert ImageFeature(resize=size, encode=raw, channels=1).raw_shape == (4, 5, 1)
        assert ImageFeature(resize=size).raw_shape is None

    def test_refuses_a_limit_below_one_pixel(self) -> None:
        with pytest.raises(ValueError, match=r"^max_pixels must be at least 1 \(got 0\)$"):
            ImageFeature(max_pixels=0)

    def test_may_be_found_below_a_folder_of_the_source(self) -> None:
        assert ImageFeature(from_="file", root="images").root == "images"
        assert ImageFeature().root is None
