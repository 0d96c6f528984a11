"""Schema files: every problem with its place and in our words, and a description for editors."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrec_tools.errors import RequestError, SchemaError
from tfrec_tools.schema import (
    FEATURE_KINDS,
    BoolFeature,
    ClassLabelFeature,
    Float32Feature,
    Float64Feature,
    ImageEncoding,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    Resize,
    Schema,
    SourceDefaults,
    SplitsSpec,
    TextFeature,
    TimestampFeature,
)
from tfrec_tools.schema_files import dump_schema, json_schema, load_schema, parse_schema

FULL = """\
name: flowers
description: Flowers of the meadow
source: {kind: images, labels: true, exclude: ["drafts/**"]}
features:
  image: {kind: image, channels: 3, resize: {shorter_side: 256}, encode: {format: jpeg, quality: 90}}
  thumb: {kind: image, from: "{stem}.small.jpg", resize: {height: 8, width: 8}, encode: raw}
  mask:  {kind: mask, from: "../masks/{stem}.png", dtype: uint16}
  label: {kind: class_label, target: true, names: [cat, dog]}
  age:   {kind: int64}
  note:  {kind: text, from: comment}
splits: {ratios: {train: 0.8, test: 0.2}, stratify: label}
"""

FULL_SCHEMA = Schema(
    name="flowers",
    description="Flowers of the meadow",
    source=SourceDefaults(kind="images", exclude=("drafts/**",)),
    features={
        "image": ImageFeature(
            resize=Resize(shorter_side=256), encode=ImageEncoding(format="jpeg", quality=90)
        ),
        "thumb": ImageFeature(
            from_="{stem}.small.jpg",
            resize=Resize(height=8, width=8),
            encode=ImageEncoding(format="raw"),
        ),
        "mask": MaskFeature(from_="../masks/{stem}.png", dtype="uint16"),
        "label": ClassLabelFeature(target=True, names=("cat", "dog")),
        "age": Int64Feature(),
        "note": TextFeature(from_="comment"),
    },
    splits=SplitsSpec(ratios={"train": 0.8, "test": 0.2}, stratify="label"),
)

TABLE = """\
source:
  kind: csv
  delimiter: ";"
  decimal: ","
  header: false
  column_names: [a, b]
  null_values: [NA, "-"]
  skip_rows: 1
features:
  age:    {kind: int64, missing: 0, min: 0, max: 150}
  pixels: {kind: float32, columns: ["p*"], shape: [28, 28]}
  exact:  {kind: float64, missing: empty}
  tags:   {kind: class_label, many: true, separator: "|", missing: empty}
  flag:   {kind: bool, missing: false}
  taken:  {kind: timestamp, format: "%Y-%m-%d", unit: ms}
  size:   {kind: text, vocabulary: [S, M], missing: M}
  image:  {kind: image, from: file, root: images}
splits: {ratios: {train: 0.8, test: 0.2}, method: order}
"""

TABLE_SCHEMA = Schema(
    source=SourceDefaults(
        kind="csv",
        delimiter=";",
        decimal=",",
        header=False,
        column_names=("a", "b"),
        null_values=("NA", "-"),
        skip_rows=1,
    ),
    features={
        "age": Int64Feature(missing=0, min=0, max=150),
        "pixels": Float32Feature(columns=("p*",), shape=(28, 28)),
        "exact": Float64Feature(missing="empty"),
        "tags": ClassLabelFeature(many=True, separator="|", missing="empty"),
        "flag": BoolFeature(missing=False),
        "taken": TimestampFeature(format="%Y-%m-%d", unit="ms"),
        "size": TextFeature(vocabulary=("S", "M"), missing="M"),
        "image": ImageFeature(from_="file", root="images"),
    },
    splits=SplitsSpec(ratios={"train": 0.8, "test": 0.2}, method="order"),
)


def write(folder: Path, text: str | bytes) -> str:
    path = folder / "schema.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def problems_of(data: object) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        parse_schema(data)
    return [str(problem) for problem in caught.value.problems]


def with_feature(**options: Any) -> dict[str, Any]:
    return {"features": {"x": options}}


class TestLoadSchema:
    def test_reads_all_options(self, tmp_path: Path) -> None:
        assert load_schema(write(tmp_path, FULL)) == FULL_SCHEMA

    def test_reads_all_options_of_tables(self, tmp_path: Path) -> None:
        assert load_schema(write(tmp_path, TABLE)) == TABLE_SCHEMA

    def test_names_that_yaml_takes_for_booleans_need_quotes(self, tmp_path: Path) -> None:
        text = "features: {x: {kind: class_label, names: [yes, no]}}"
        with pytest.raises(SchemaError) as caught:
            load_schema(write(tmp_path, text))
        hint = "YAML takes yes, no, on, off, true and false as true or false: write them in quotes"
        assert [str(problem) for problem in caught.value.problems] == [
            f"features.x.names.0: must be text (got True); {hint}",
            f"features.x.names.1: must be text (got False); {hint}",
        ]

    def test_reads_what_dump_writes(self, tmp_path: Path) -> None:
        assert load_schema(write(tmp_path, dump_schema(FULL_SCHEMA))) == FULL_SCHEMA
        assert load_schema(write(tmp_path, dump_schema(TABLE_SCHEMA))) == TABLE_SCHEMA
        plain = Schema(features={"image": ImageFeature()})
        assert load_schema(write(tmp_path, dump_schema(plain))) == plain

    def test_reads_one_glob_without_brackets(self, tmp_path: Path) -> None:
        text = "features: {x: {kind: text}}\nsplits: {files: {train: 'a/*', test: [b/*, c/*]}}"
        splits = load_schema(write(tmp_path, text)).splits
        assert splits is not None
        assert splits.files == {"train": ("a/*",), "test": ("b/*", "c/*")}

    def test_a_file_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        path = str(tmp_path / "none.yaml")
        with pytest.raises(RequestError) as caught:
            load_schema(path)
        assert str(caught.value) == (
            f"the schema file must be readable ({path}: No such file or directory)"
        )

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            (
                "features: [",
                "line 1, column 12: is no valid YAML: expected the node content, but found "
                "'<stream end>'",
            ),
            (
                "name: a\nfeatures:\n\tx: 1",
                "line 3, column 1: is no valid YAML: found character '\\t' that cannot start any "
                "token",
            ),
            (
                "features:\n  x: {kind: text}\n  x: {kind: image}",
                "line 3, column 3: is no valid YAML: the key 'x' stands here twice",
            ),
            ("a: *b", "line 1, column 4: is no valid YAML: found undefined alias 'b'"),
            ("? [1]\n: 2", "line 1, column 3: is no valid YAML: found unhashable key"),
            (
                "name: a\ntaken: 2024-13-45",
                "line 2, column 8: is no valid YAML: a value is not what it looks like; put it in "
                "quotes",
            ),
            (
                "a: !!int x",
                "line 1, column 4: is no valid YAML: a value is not what it looks like; put it in "
                "quotes",
            ),
            (
                "a: 0x" + "f" * 50,
                "line 1, column 4: is no valid YAML: a number has more than 64 bits",
            ),
            (b"name: \xff\xfe", "is no valid YAML: must be YAML text in UTF-8"),
            (b"\x00", "is no valid YAML: must be YAML text in UTF-8"),
            ("[" * 1200, "is no valid YAML: it is nested too deeply"),
            ("", "must be a mapping (got None)"),
            ("- a", "must be a mapping (got ['a'])"),
        ],
        ids=range(13),
    )
    def test_a_syntax_error_has_line_and_column(
        self, tmp_path: Path, text: str | bytes, problem: str
    ) -> None:
        path = write(tmp_path, text)
        with pytest.raises(SchemaError) as caught:
            load_schema(path)
        assert str(caught.value) == f"{path}: {problem}"

    def test_no_python_object_is_made(self, tmp_path: Path) -> None:
        with pytest.raises(SchemaError, match="could not determine a constructor"):
            load_schema(write(tmp_path, "name: !!python/object/apply:os.getcwd []"))


class TestParseSchema:
    def test_names_all_problems_at_once(self) -> None:
        data = {
            "nme": "flowers",
            "description": 7,
            "source": {"kind": "excel", "lables": True},
            "features": {
                "image": {"kind": "image", "channels": 4, "encode": {"qualty": 3}},
                "label": {"kind": "class_label", "names": "cat,dog"},
                "mask": {"kind": "mask"},
                "x": {"kind": "imge"},
                "y": {"knd": "text"},
                "z": "text",
                7: {"kind": "text"},
            },
            "splits": {"ratios": {"train": 0.8}, "by": "x"},
        }
        kinds = ", ".join(FEATURE_KINDS)
        assert problems_of(data) == [
            "nme: is no option here; did you mean 'name'?",
            "description: must be text (got 7)",
            "source.kind: must be 'images', 'csv', 'table' or 'text' (got 'excel')",
            "source.lables: is no option here; did you mean 'labels'?",
            "splits: ratios must sum to 1 (they sum to 0.8)",
            "features.image.channels: must be 1 or 3 (got 4)",
            "features.image.encode.format: is required",
            "features.image.encode.qualty: is no option here; did you mean 'quality'?",
            "features.label.names: must be a list (got 'cat,dog')",
            "features.mask.from: is required",
            f"features.x.kind: must be one of {kinds} (got 'imge')",
            f"features.y.kind: must be one of {kinds} (it is missing)",
            "features.z: must be a mapping with a `kind` (got 'text')",
            "features.7: a feature's name must be text (got 7)",
        ]

    def test_names_what_features_do_to_each_other_along_with_all_else(self) -> None:
        data = {
            "nme": "x",
            "features": {
                "image": {"kind": "image", "target": True},
                "image_width": {"kind": "int64", "target": True},
            },
        }
        assert problems_of(data) == [
            "nme: is no option here; did you mean 'name'?",
            "features.image_width: is also stored by feature 'image'; choose another name",
            "features: only one feature can be the target (got ['image', 'image_width'])",
        ]

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (
                {"kind": "class_label", "names": ["a", 3]},
                "features.x.names.1: must be text (got 3)",
            ),
            (
                {"kind": "class_label", "names": [b"a"]},
                "features.x.names.0: must be text (got b'a')",
            ),
            (
                {"kind": "class_label", "names": ["a", "a"]},
                "features.x: class names must differ: 'a' and 'a' are twice the same",
            ),
            (
                {"kind": "class_label", "target": "yes"},
                "features.x.target: must be true or false (got 'yes')",
            ),
            ({"kind": "int64", "target": 1}, "features.x.target: must be true or false (got 1)"),
            ({"kind": "int64", "from": 3}, "features.x.from: must be text (got 3)"),
            (
                {"kind": "int64", "from_": "y"},
                "features.x.from_: is no option here; did you mean 'from'?",
            ),
            ({"kind": "int64", 3: "y"}, "features.x.3: is no option here; known are kind, from, "
             "target, columns, shape, many, separator, missing, min, max"),
            ({"kind": "image", "channels": "3"}, "features.x.channels: must be 1 or 3 (got '3')"),
            (
                {"kind": "image", "max_pixels": True},
                "features.x.max_pixels: must be a whole number (got True)",
            ),
            (
                {"kind": "image", "max_pixels": 0},
                "features.x: max_pixels must be at least 1 (got 0)",
            ),
            ({"kind": "image", "resize": 256}, "features.x.resize: must be a mapping (got 256)"),
            (
                {"kind": "image", "resize": {"shorter_side": "256"}},
                "features.x.resize.shorter_side: must be a whole number (got '256')",
            ),
            (
                {"kind": "image", "resize": {"shorter_side": 2.5}},
                "features.x.resize.shorter_side: must be a whole number (got 2.5)",
            ),
            (
                {"kind": "image", "resize": {"shorter_side": float("inf")}},
                "features.x.resize.shorter_side: must be a whole number (got inf)",
            ),
            (
                {"kind": "image", "resize": {"shortr_side": 3}},
                "features.x.resize.shortr_side: is no option here; did you mean 'shorter_side'?",
            ),
            (
                {"kind": "image", "resize": {"height": 3}},
                "features.x.resize: must give shorter_side, or longer_side, or both height and "
                "width",
            ),
            (
                {"kind": "image", "encode": "webp"},
                "features.x.encode.format: must be 'jpeg', 'png' or 'raw' (got 'webp')",
            ),
            (
                {"kind": "image", "encode": "raw"},
                "features.x: encode: raw needs resize: {height: H, width: W}, so that all "
                "pictures have one size",
            ),
            (
                {"kind": "image", "alpha": None},
                "features.x.alpha: must be 'white', 'drop' or 'error' (got None)",
            ),
            (
                {"kind": "mask", "from": "mask.png"},
                "features.x: from must be a path pattern such as '../masks/{stem}.png' "
                "(got 'mask.png')",
            ),
        ],
        ids=range(21),
    )  # fmt: skip
    def test_says_what_is_wrong_with_a_feature(self, options: dict[str, Any], problem: str) -> None:
        assert problems_of({"features": {"x": options}}) == [problem]

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (
                {"kind": "int64", "missing": "0"},
                "features.x.missing: must be a whole number (got '0')",
            ),
            (
                {"kind": "int64", "missing": "x"},
                "features.x.missing: must be a whole number, 'error' or 'empty' (got 'x')",
            ),
            (
                {"kind": "int64", "missing": True},
                "features.x.missing: must be a whole number (got True)",
            ),
            (
                {"kind": "int64", "missing": 0.0},
                "features.x.missing: must be a whole number (got 0.0)",
            ),
            (
                {"kind": "float32", "missing": "0.5"},
                "features.x.missing: must be a number (got '0.5')",
            ),
            (
                {"kind": "float32", "missing": float("nan")},
                "features.x: missing must be finite (got nan)",
            ),
            ({"kind": "float32", "min": "0"}, "features.x.min: must be a number (got '0')"),
            (
                {"kind": "bool", "missing": "yes"},
                "features.x.missing: must be true or false (got 'yes')",
            ),
            (
                {"kind": "bool", "missing": 1},
                "features.x.missing: must be true or false (got 1)",
            ),
            ({"kind": "text", "missing": 0}, "features.x.missing: must be text (got 0)"),
            (
                {"kind": "bytes", "missing": "x"},
                "features.x.missing: must be 'error' or 'empty' (got 'x')",
            ),
            (
                {"kind": "timestamp", "unit": "m"},
                "features.x.unit: must be 's', 'ms', 'us' or 'ns' (got 'm')",
            ),
            (
                {"kind": "timestamp", "format": "%H"},
                "features.x: format must have one year, %Y or %y",
            ),
            (
                {"kind": "class_label", "names": [True, "a"]},
                "features.x.names.0: must be text (got True); YAML takes yes, no, on, off, true "
                "and false as true or false: write them in quotes",
            ),
            (
                {"kind": "float32", "shape": 28},
                "features.x.shape: must be a list (got 28)",
            ),
            (
                {"kind": "float32", "shape": ["28"]},
                "features.x.shape.0: must be a whole number (got '28')",
            ),
            (
                {"kind": "float32", "columns": "p*"},
                "features.x.columns: must be a list (got 'p*')",
            ),
            (
                {"kind": "float32", "columns": ["p*"], "many": True},
                "features.x: `columns` and `many` exclude each other",
            ),
            (
                {"kind": "float64", "store": "float16"},
                "features.x.store: must be 'bytes' or 'float32' (got 'float16')",
            ),
        ],
        ids=range(19),
    )
    def test_says_what_is_wrong_with_a_feature_of_a_table(
        self, options: dict[str, Any], problem: str
    ) -> None:
        assert problems_of(with_feature(**options)) == [problem]

    @pytest.mark.parametrize(
        ("source", "problem"),
        [
            ({"delimiter": "||"}, "source: delimiter must be one ASCII character (got '||')"),
            ({"delimiter": 1}, "source.delimiter: must be text (got 1)"),
            ({"decimal": ";"}, "source.decimal: must be '.' or ',' (got ';')"),
            ({"header": "yes"}, "source.header: must be true or false (got 'yes')"),
            ({"skip_rows": "1"}, "source.skip_rows: must be a whole number (got '1')"),
            ({"null_values": "NA"}, "source.null_values: must be a list (got 'NA')"),
            (
                {"null_values": [False]},
                "source.null_values.0: must be text (got False); YAML takes yes, no, on, off, "
                "true and false as true or false: write them in quotes",
            ),
            (
                {"kind": "excel"},
                "source.kind: must be 'images', 'csv', 'table' or 'text' (got 'excel')",
            ),
            ({"delimeter": ";"}, "source.delimeter: is no option here; did you mean 'delimiter'?"),
        ],
        ids=range(9),
    )
    def test_says_what_is_wrong_with_the_source(self, source: dict[str, Any], problem: str) -> None:
        assert problems_of(with_feature(kind="text") | {"source": source}) == [problem]

    def test_takes_whole_numbers_where_floats_stand(self) -> None:
        schema = parse_schema(with_feature(kind="float32", missing=0, min=-1))
        assert schema.features["x"] == Float32Feature(missing=0.0, min=-1.0)

    @pytest.mark.parametrize(
        ("splits", "problem"),
        [
            ({}, "splits: must have either ratios or files"),
            ("0.8", "splits: must be a mapping (got '0.8')"),
            ({"ratios": [0.8]}, "splits.ratios: must be a mapping (got [0.8])"),
            ({"ratios": {"a": [1]}}, "splits.ratios.a: must be a number (got [1])"),
            ({"ratios": {"a": "x"}}, "splits: a ratio must be a number such as 0.8 (got 'x')"),
            ({"ratios": {1: 0.5, "b": 0.5}}, "splits.ratios.1: must be text (got 1)"),
            (
                {"ratios": {"a": 1}, "method": "random"},
                "splits.method: must be 'hash' or 'order' (got 'random')",
            ),
            ({"files": {"a": 3}}, "splits.files.a: must be a list (got 3)"),
            ({"files": {"a": [3]}}, "splits.files.a.0: must be text (got 3)"),
            (
                {"ratios": {"a": 1}, "stratfy": "x"},
                "splits.stratfy: is no option here; did you mean 'stratify'?",
            ),
        ],
        ids=range(10),
    )
    def test_says_what_is_wrong_with_splits(self, splits: Any, problem: str) -> None:
        assert problems_of(with_feature(kind="text") | {"splits": splits}) == [problem]

    def test_takes_whole_numbers_as_ratios(self) -> None:
        schema = parse_schema(with_feature(kind="text") | {"splits": {"ratios": {"train": 1}}})
        assert schema.splits == SplitsSpec(ratios={"train": 1})

    @pytest.mark.parametrize(
        ("data", "problem"),
        [
            ({}, "features: must be a mapping of names to features (it is missing)"),
            ({"features": [1]}, "features: must be a mapping of names to features (got [1])"),
            ({"features": {}}, "features: must hold at least one feature"),
            (None, "must be a mapping (got None)"),
        ],
        ids=range(4),
    )
    def test_needs_features(self, data: object, problem: str) -> None:
        assert problems_of(data) == [problem]

    def test_names_the_file_in_front_of_each_problem(self) -> None:
        with pytest.raises(SchemaError) as caught:
            parse_schema({"features": {}, "nme": 1}, origin="a.yaml")
        assert str(caught.value).splitlines() == [
            "a.yaml: nme: is no option here; did you mean 'name'?",
        ]

    def test_clips_what_it_shows(self) -> None:
        (problem,) = problems_of({"name": ["x" * 1000], **with_feature(kind="text")})
        assert len(problem) < 120


WORDS = [
    "name", "description", "source", "features", "splits", "kind", "image", "label", "x", "mask",
    "class_label", "text", "int64", "images", "from", "from_", "target", "names", "channels",
    "resize", "encode", "format", "quality", "jpeg", "png", "raw", "shorter_side", "height",
    "width", "ratios", "by", "stratify", "files", "train", "{stem}.png", "exif", "alpha", "depth",
    "max_pixels", "labels", "exclude", "dtype", "columns", "shape", "many", "separator", "missing",
    "min", "max", "error", "empty", "unit", "format", "%Y", "store", "float32", "method", "order",
    "delimiter", "decimal", ",", "null_values", "vocabulary", "root", "csv",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.integers(0, 300),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=6),
    st.binary(max_size=4),
    st.dates(),
)
KEYS = st.one_of(st.sampled_from(WORDS), st.integers(0, 3), st.none(), st.text(max_size=4))
YAML_LIKE = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)
FEATURE_LIKE = st.dictionaries(KEYS, YAML_LIKE, max_size=5).flatmap(
    lambda options: st.sampled_from([*FEATURE_KINDS, None]).map(
        lambda kind: options if kind is None else options | {"kind": kind}
    )
)


class TestArbitraryData:
    @settings(max_examples=300, deadline=None)
    @given(YAML_LIKE)
    def test_is_a_schema_or_a_schema_error(self, data: object) -> None:
        self._parse(data)

    @settings(max_examples=120, deadline=None)
    @given(
        st.dictionaries(KEYS, FEATURE_LIKE, max_size=4),
        st.dictionaries(st.sampled_from(["source", "splits", "name", "x"]), YAML_LIKE, max_size=2),
    )
    def test_of_the_right_outline_too(self, features: object, more: dict[str, Any]) -> None:
        self._parse({"features": features, **more})

    @settings(max_examples=300, deadline=None)
    @given(
        st.one_of(
            st.binary(max_size=60),
            st.text(alphabet="ab:{}[]&*!|>-?#%@,'\" \n0123.e~<\t", max_size=60),
        )
    )
    def test_in_a_file_too(self, tmp_path_factory: Any, text: str | bytes) -> None:
        folder = tmp_path_factory.getbasetemp()
        try:
            load_schema(write(folder, text))
        except (SchemaError, RequestError) as error:
            assert str(error)

    def _parse(self, data: object) -> None:
        try:
            schema = parse_schema(data)
        except SchemaError as error:
            assert error.problems
            assert "pydantic" not in str(error)
            assert "Input should" not in str(error)
        else:
            assert parse_schema(data) == schema
            assert Schema.from_dict(schema.to_dict()).features == schema.features


def fits(value: Any, rule: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """The part of JSON Schema that ours uses; a keyword that it does not know is an error."""
    known = {
        "$ref", "$defs", "$schema", "title", "description", "default", "discriminator", "type",
        "properties", "additionalProperties", "required", "items", "anyOf", "oneOf", "enum",
        "const",
    }  # fmt: skip
    assert set(rule) <= known, set(rule) - known
    if "$ref" in rule:
        return fits(value, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root)
    types = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    if "type" in rule:
        is_bool = isinstance(value, bool)
        if not isinstance(value, types[rule["type"]]) or is_bool != (rule["type"] == "boolean"):
            return False
    if "const" in rule and value != rule["const"]:
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "anyOf" in rule and not any(fits(value, branch, root) for branch in rule["anyOf"]):
        return False
    if "oneOf" in rule and sum(fits(value, branch, root) for branch in rule["oneOf"]) != 1:
        return False
    if isinstance(value, list):
        return all(fits(item, rule.get("items", {}), root) for item in value)
    if isinstance(value, dict):
        properties, others = rule.get("properties", {}), rule.get("additionalProperties", {})
        if not set(rule.get("required", [])) <= set(value):
            return False
        for key, item in value.items():
            inner = properties.get(key, others)
            if inner is False or (inner is not True and not fits(item, inner, root)):
                return False
    return True


GOOD: dict[str, Any] = {
    "name": "flowers",
    "source": {"kind": "images", "exclude": ["a/*"]},
    "features": {
        "image": {"kind": "image", "resize": {"shorter_side": 256}, "encode": "png"},
        "small": {"kind": "image", "encode": {"format": "jpeg", "quality": 90}, "depth": 8},
        "mask": {"kind": "mask", "from": "{stem}.png"},
        "label": {"kind": "class_label", "names": ["a", "b"], "target": True},
        "note": {"kind": "text", "from": "comment"},
    },
    "splits": {"files": {"train": "a/*", "test": ["b/*", "c/*"]}},
}


class TestJsonSchema:
    def test_accepts_what_we_accept(self) -> None:
        parse_schema(GOOD)
        assert fits(GOOD, json_schema(), json_schema())
        table = yaml.safe_load(TABLE)
        assert fits(table, json_schema(), json_schema())
        ratios = GOOD | {"splits": {"ratios": {"train": 0.5, "test": "1/2"}, "by": "x"}}
        parse_schema(ratios)
        assert fits(ratios, json_schema(), json_schema())

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (["nme"], "x"),
            (["name"], 3),
            (["source", "kind"], "excel"),
            (["features", "image", "kind"], "imge"),
            (["features", "image", "channels"], 4),
            (["features", "image", "size"], 4),
            (["features", "image", "encode"], "webp"),
            (["features", "image", "resize"], 256),
            (["features", "image", "resize", "shorter_side"], "256"),
            (["features", "small", "encode", "format"], "gif"),
            (["features", "label", "names"], "cat,dog"),
            (["features", "label", "names"], [1]),
            (["features", "label", "target"], "yes"),
            (["features", "mask"], {"kind": "mask"}),
            (["features", "note"], {"from": "comment"}),
            (["features", "note", "from_"], "comment"),
            (["features", "x"], "text"),
            (["features"], []),
            (["splits", "files"], ["a"]),
            (["splits", "files", "train"], 3),
            (["splits", "ratio"], {"train": 1}),
        ],
        ids=range(21),
    )
    def test_refuses_what_we_refuse(self, place: list[str], value: Any) -> None:
        bad = copy.deepcopy(GOOD)
        section: Any = bad
        for key in place[:-1]:
            section = section[key]
        section[place[-1]] = value
        assert not fits(bad, json_schema(), json_schema())
        with pytest.raises(SchemaError):
            parse_schema(bad)

    def test_requires_features(self) -> None:
        assert not fits({"name": "x"}, json_schema(), json_schema())

    def test_describes_every_option_of_every_kind(self) -> None:
        definitions = json_schema()["$defs"]
        for kind, cls in FEATURE_KINDS.items():
            described = definitions[cls.__name__]
            options = {field.name.rstrip("_") for field in dataclasses.fields(cls)}
            assert set(described["properties"]) == options
            assert described["properties"]["kind"]["const"] == kind
            assert "kind" in described["required"]


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.parent.glob("schemas/*.yaml")))
def test_ready_made_schemas_are_valid(path: Path) -> None:
    assert load_schema(str(path)).features
