"""The schema as a whole: problems between features all at once, and the way into a manifest."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.errors import DatasetError, Problem, SchemaError
from tfrec_tools.schema import (
    FEATURE_KINDS,
    BoolFeature,
    BytesFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    Float64Feature,
    ImageEncoding,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    Resize,
    Schema,
    TextFeature,
    TimestampFeature,
    class_name_problems,
    encode_cells,
    is_path_pattern,
)

CLASS_NAMES = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=4).filter(
    lambda names: not class_name_problems(names)
)
SOURCES = st.none() | st.text(min_size=1, max_size=5)
SIDES = st.integers(1, 500)
RESIZES = st.one_of(
    st.builds(Resize, shorter_side=SIDES, enlarge=st.booleans()),
    st.builds(Resize, longer_side=SIDES, resample=st.sampled_from(["nearest", "bilinear"])),
    st.builds(Resize, height=SIDES, width=SIDES),
)
ENCODINGS = st.builds(
    ImageEncoding,
    format=st.sampled_from(["jpeg", "png"]),
    quality=st.integers(1, 100),
    subsampling=st.sampled_from(["4:4:4", "4:2:2", "4:2:0"]),
)
FEATURES: st.SearchStrategy[Feature] = st.one_of(
    st.builds(
        ImageFeature,
        channels=st.sampled_from([1, 3]),
        resize=st.none() | RESIZES,
        encode=st.none() | ENCODINGS,
        exif=st.sampled_from(["turn", "keep", "png"]),
        alpha=st.sampled_from(["white", "drop", "error"]),
        depth=st.sampled_from([None, 8]),
        max_pixels=st.integers(1, 10**12),
    ),
    st.builds(
        ImageFeature,
        resize=st.builds(Resize, height=SIDES, width=SIDES),
        encode=st.just(ImageEncoding(format="raw")),
    ),
    st.builds(
        MaskFeature,
        from_=st.just("../{stem}.png"),
        dtype=st.sampled_from(["uint8", "uint16"]),
        resize=st.none() | RESIZES,
    ),
    st.builds(ClassLabelFeature, from_=SOURCES, names=st.none() | CLASS_NAMES.map(tuple)),
    st.builds(
        TextFeature,
        from_=SOURCES,
        missing=st.none() | st.text(max_size=3),
        vocabulary=st.none() | st.lists(st.text(), min_size=1, unique=True).map(tuple),
    ),
    st.builds(ClassLabelFeature, many=st.just(True), separator=st.text(min_size=1, max_size=2)),
    st.builds(BytesFeature, from_=SOURCES, missing=st.sampled_from([None, "empty", "error"])),
    st.builds(BoolFeature, from_=SOURCES, missing=st.sampled_from([None, "empty", True, False])),
    st.builds(
        Int64Feature,
        from_=SOURCES,
        missing=st.none() | st.integers(-(2**63), 2**63 - 1) | st.just("empty"),
        min=st.none() | st.integers(-(2**63), 2**63 - 1),
    ),
    st.builds(
        Float32Feature,
        columns=st.just(("a*", "b")),
        shape=st.none() | st.just((2, 3)),
        missing=st.none() | st.floats(-9, 9),
        max=st.none() | st.floats(-9, 9),
    ),
    st.builds(
        Float64Feature,
        many=st.just(True),
        separator=st.none() | st.just("|"),
        store=st.sampled_from(["bytes", "float32"]),
    ),
    st.builds(
        TimestampFeature,
        format=st.none() | st.just("%Y-%m-%d"),
        unit=st.sampled_from(["s", "ms", "us", "ns"]),
        missing=st.none() | st.integers(-9, 9) | st.just("error"),
    ),
)
SCHEMAS = st.builds(
    Schema,
    name=st.none() | st.from_regex(r"[a-z]\w{0,5}", fullmatch=True),
    description=st.none() | st.text(max_size=20),
    features=st.dictionaries(
        st.from_regex(r"[a-z]{1,4}", fullmatch=True), FEATURES, min_size=1, max_size=5
    ),
)


class TestSchema:
    def test_names_all_problems_at_once_with_their_places(self) -> None:
        with pytest.raises(SchemaError) as caught:
            Schema(
                features={
                    "image": ImageFeature(target=True),
                    "image_width": Int64Feature(target=True),
                    " a": TextFeature(),
                    "b/c": TextFeature(),
                }
            )
        unprintable = "a feature's name must be printable, without '/' and spaces at its ends"
        assert caught.value.problems == (
            Problem("features. a", unprintable),
            Problem("features.b/c", unprintable),
            Problem(
                "features.image_width", "is also stored by feature 'image'; choose another name"
            ),
            Problem(
                "features", "only one feature can be the target (got ['image', 'image_width'])"
            ),
        )

    def test_needs_a_feature(self) -> None:
        with pytest.raises(SchemaError) as caught:
            Schema(features={})
        assert str(caught.value) == "schema: features: must hold at least one feature"

    def test_stores_all_columns_sorted_by_name(self) -> None:
        schema = Schema(features={"x": Int64Feature(), "image": ImageFeature(), "a": TextFeature()})
        assert [column.name for column in schema.stored] == [
            "a",
            "image",
            "image_height",
            "image_width",
            "x",
        ]

    def test_knows_its_target_and_its_features_by_kind(self) -> None:
        label = ClassLabelFeature(target=True)
        schema = Schema(features={"image": ImageFeature(), "label": label})
        assert schema.target == "label"
        assert schema.features_of(ClassLabelFeature) == {"label": label}
        assert Schema(features={"a": TextFeature()}).target is None

    def test_kinds_are_known_by_their_names(self) -> None:
        assert list(FEATURE_KINDS) == [
            "image", "mask", "class_label", "text", "bytes", "int64", "float32", "float64",
            "bool", "timestamp", "tokens",
        ]  # fmt: skip

    def test_a_path_pattern_has_braces(self) -> None:
        assert is_path_pattern(TextFeature(from_="{stem}.txt"))
        assert not is_path_pattern(TextFeature(from_="comment"))
        assert not is_path_pattern(TextFeature())


class TestToAndFromDict:
    @given(SCHEMAS)
    def test_a_schema_comes_back_from_json_as_it_was(self, schema: Schema) -> None:
        data = json.loads(json.dumps(schema.to_dict()))
        assert Schema.from_dict(data) == schema

    def test_nothing_that_is_none_is_written(self) -> None:
        schema = Schema(features={"label": ClassLabelFeature(names=("a",), from_="x")})
        assert schema.to_dict() == {
            "features": {
                "label": {"kind": "class_label", "from": "x", "target": False, "names": ["a"]}
            }
        }

    def test_newer_options_are_written_only_if_given(self) -> None:
        # Manifests of image folders stay as they were before tables came.
        schema = Schema(
            features={
                "age": Int64Feature(),
                "tags": TextFeature(many=True, separator="|"),
                "pixels": Float32Feature(columns=("p*",), shape=(28, 28), missing=0.0),
            }
        )
        assert schema.to_dict()["features"] == {
            "age": {"kind": "int64", "target": False},
            "tags": {"kind": "text", "target": False, "many": True, "separator": "|"},
            "pixels": {
                "kind": "float32", "target": False, "columns": ["p*"], "shape": [28, 28],
                "missing": 0.0,
            },
        }  # fmt: skip

    def test_features_keep_their_order(self) -> None:
        schema = Schema(features={"z": TextFeature(), "a": TextFeature()})
        assert list(Schema.from_dict(schema.to_dict()).features) == ["z", "a"]

    @pytest.mark.parametrize(
        "data",
        [
            {},
            {"features": []},
            {"features": {"x": {}}},
            {"features": {"x": {"kind": "video"}}},
            {"features": {"x": {"kind": "text", "size": 3}}},
            {"features": {"x": {"kind": "class_label", "names": ["a", "a"]}}},
            {"features": {}},
            {"features": {"x": 3}},
        ],
    )
    def test_anything_else_is_a_damaged_manifest(self, data: dict[str, Any]) -> None:
        sentence = re.escape("the manifest's schema could not be understood (")
        with pytest.raises(DatasetError, match=f"^{sentence}"):
            Schema.from_dict(data)


class TestEncodeCells:
    def test_encodes_cells_of_every_kind(self) -> None:
        cells = pa.array(["1"])
        for feature in (Int64Feature(), BoolFeature(), ClassLabelFeature(names=("0", "1"))):
            assert encode_cells(feature, cells).values.to_pylist() == [1]
        assert encode_cells(TextFeature(), cells).values.to_pylist() == [b"1"]
        assert encode_cells(
            Float32Feature(), pa.array(["1,5"]), decimal=","
        ).values.to_pylist() == [1.5]

    def test_refuses_kinds_of_files(self) -> None:
        with pytest.raises(TypeError, match=r"^kind image is stored from files, not from cells$"):
            encode_cells(ImageFeature(), pa.array(["a.png"]))
