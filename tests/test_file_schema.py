"""Schemas of images and documents: what they are by default, and what paths can give."""

from __future__ import annotations

import pytest

from tfrec_tools.errors import RequestError, SchemaError
from tfrec_tools.file_schema import (
    check_columns,
    check_split_column,
    default_schema,
    label_features,
    pattern_problems,
)
from tfrec_tools.request import Check, Request, SourceSpec, TextOptions
from tfrec_tools.schema import (
    BytesFeature,
    ClassLabelFeature,
    ImageFeature,
    Int64Feature,
    Schema,
    TextFeature,
    TokensFeature,
)


def documents(*, as_: str | None = None, **options: object) -> Request:
    text = TextOptions(record="document", as_=as_)
    return Request(source=SourceSpec(root="in", kind="text", text=text), output="out", **options)


IMAGES = Request(source=SourceSpec(root="in"), output="out")


def problems(request: Request, features: dict[str, object], *, labelled: bool = True) -> list[str]:
    with pytest.raises(SchemaError) as found:
        check_columns(request, Schema(features=features), labelled=labelled)
    return [str(problem) for problem in found.value.problems]


class TestDefaults:
    def test_of_images(self) -> None:
        label = ClassLabelFeature(target=True)
        expected = {"image": ImageFeature(), "label": label, "filename": TextFeature()}
        assert dict(default_schema(IMAGES, labelled=True).features) == expected
        del expected["label"]
        assert dict(default_schema(IMAGES, labelled=False).features) == expected

    @pytest.mark.parametrize(("as_", "feature"), [(None, TextFeature()), ("bytes", BytesFeature())])
    def test_of_documents(self, as_, feature) -> None:
        label = ClassLabelFeature(target=True)
        expected = {"text": feature, "label": label, "filename": TextFeature()}
        assert list(default_schema(documents(as_=as_), labelled=True).features) == list(expected)
        assert dict(default_schema(documents(as_=as_), labelled=True).features) == expected
        del expected["label"]
        assert dict(default_schema(documents(as_=as_), labelled=False).features) == expected


class TestColumns:
    def test_numbers_may_be_read_from_paths(self) -> None:
        features = {"text": TextFeature(), "stars": Int64Feature(from_="stem")}
        check_columns(documents(), Schema(features=features), labelled=False)

    def test_a_label_needs_folders(self) -> None:
        features = {"text": TextFeature(), "mood": TextFeature(from_="label")}
        check_columns(documents(), Schema(features=features), labelled=True)
        assert problems(documents(), features, labelled=False) == [
            "features.mood.from: a document source has the columns text, filename, folder, stem, "
            "extension (got 'label')"
        ]

    def test_tokens_are_made_of_text(self) -> None:
        ids = TokensFeature(vocabulary=("a",))
        assert problems(IMAGES, {"image": ImageFeature(), "stem": ids}) == [
            "features.stem.kind: tokens are made of text, not of what paths say"
        ]
        assert problems(documents(), {"text": TextFeature(), "stem": ids}) == [
            "features.stem.from: tokens are made of the column text (got 'stem')"
        ]
        assert problems(documents(as_="bytes"), {"text": ids}) == [
            "features.text.kind: tokens are made of text, not of bytes; drop as: bytes"
        ]

    def test_a_path_pattern_is_content_enough(self) -> None:
        features = {"summary": TextFeature(from_="../summaries/{stem}.txt")}
        check_columns(documents(), Schema(features=features), labelled=False)

    def test_options_of_images(self) -> None:
        schema = Schema(features={"text": TextFeature()})
        with pytest.raises(RequestError, match=r"^--check goes with images \(the schema has none"):
            check_columns(documents(check=Check.HEADER), schema, labelled=False)


def test_patterns_are_relative_and_know_some_placeholders() -> None:
    assert pattern_problems("x", "../masks/{folder}/{stem}.png") == []
    (absolute,) = pattern_problems("x", "gs://bucket/{stem}.png")
    assert str(absolute) == (
        "features.x.from: must be relative to the source, since the dataset's manifest holds it "
        "(got 'gs://bucket/{stem}.png')"
    )


def test_columns_that_splits_are_made_by() -> None:
    schema = Schema(features={"text": TextFeature(), "mood": ClassLabelFeature(from_="label")})
    assert label_features(schema) == ["mood"]
    check_split_column(schema, "mood", stratify=True)
    check_split_column(schema, "folder", stratify=False)
    with pytest.raises(RequestError) as found:
        check_split_column(schema, "text", stratify=False)
    assert str(found.value) == (
        "`by` must name a column of the source: label, filename, folder, stem, extension "
        "(got 'text')"
    )
    with pytest.raises(RequestError) as found:
        check_split_column(schema, "text", stratify=True)
    assert str(found.value) == "stratify must name a class label that is the folder (got 'text')"
