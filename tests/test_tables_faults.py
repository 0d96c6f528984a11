"""What does not fit is an error with file, row and column, or skipped and listed; nothing moves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfrec_tools
from tfrec_tools.errors import RecordError, RequestError, SourceError

MEND = "; mend or remove it, or use --on-error skip"


@pytest.fixture
def convert(tmp_path):
    """Convert the content of a file called in.csv."""

    def run(content: str, **options: Any):
        path = tmp_path / options.pop("file", "in.csv")
        path.write_text(content, newline="")
        options = {"order": "source", "num_shards": 1, "num_workers": 1} | options
        return tfrec_tools.convert(path, tmp_path / "out", **options)

    return run


def report(tmp_path: Path) -> list[dict[str, Any]]:
    lines = (tmp_path / "out/report.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def schema(**features: dict[str, Any]) -> dict[str, Any]:
    return {"features": features}


@pytest.mark.parametrize(
    ("cells", "number"), [("1", 1), ("1,2,3", 3), ("1,2,", 3), ('"1\n,"', 1), ("1,,2", 3)]
)
def test_ragged_rows(convert, tmp_path, read_dataset, cells, number) -> None:
    content = f"a,b\n7,8\n{cells}\n\n{cells}\n9,10\n"
    reason = f"must have 2 cells like the header (got {number})"
    with pytest.raises(RecordError) as caught:
        convert(content)
    assert str(caught.value) == (
        "2 inputs do not fit; mend or remove them, or use --on-error skip:\n"
        f"  in.csv: row 3: {reason}\n  in.csv: row 5: {reason}"
    )
    manifest = convert(content, on_error="skip")
    assert manifest.num_records == 2
    assert read_dataset(tmp_path / "out") == [{"a": [7], "b": [8]}, {"a": [9], "b": [10]}]
    assert report(tmp_path) == [
        {"path": "in.csv", "row": row, "action": "skipped", "reason": reason} for row in (3, 5)
    ]


@pytest.mark.parametrize(
    ("feature", "cell", "reason"),
    [
        ({"kind": "int64"}, "x", "must be a whole number (got 'x')"),
        ({"kind": "int64"}, "1.5", "must be a whole number (got '1.5')"),
        ({"kind": "int64", "min": 0}, "-1", "must be at least 0 (got -1)"),
        ({"kind": "float32", "max": 1}, "1.5", "must be at most 1 (got 1.5)"),
        ({"kind": "text", "vocabulary": ["a", "b"]}, "c", "must be one of a, b (got 'c')"),
        ({"kind": "text", "missing": "error"}, "", "must not be missing"),
    ],
)
def test_cells_that_do_not_fit(convert, tmp_path, read_dataset, feature, cell, reason) -> None:
    good = {"text": "a"}.get(feature["kind"], "1")
    content = f"n,a\n1,{good}\n2,{cell}\n3,{good}\n"
    options = {"schema": schema(n={"kind": "int64"}, a=feature), "csv": {"header": True}}
    with pytest.raises(RecordError) as caught:
        convert(content, **options)
    message = str(caught.value)
    assert message.startswith("in.csv: row 3, column 'a': ")
    assert message.endswith(MEND)
    if "whole number" in reason:
        assert "whole number" in message
    else:
        assert message == f"in.csv: row 3, column 'a': {reason}{MEND}"
    convert(content, on_error="skip", **options)
    assert [record["n"] for record in read_dataset(tmp_path / "out")] == [[1], [3]]
    (entry,) = report(tmp_path)
    assert (entry["path"], entry["row"], entry["column"]) == ("in.csv", 3, "a")


def test_many_faults_are_listed_up_to_twenty(convert) -> None:
    content = "a,b\n1,2\n" + "1\n" * 30
    with pytest.raises(RecordError) as caught:
        convert(content)
    lines = str(caught.value).split("\n")
    assert lines[0] == "20 or more inputs do not fit; mend or remove them, or use --on-error skip:"
    assert lines[1:] == [
        f"  in.csv: row {row}: must have 2 cells like the header (got 1)" for row in range(3, 23)
    ]
    with pytest.raises(RecordError) as caught:
        convert(content, fail_fast=True)
    assert str(caught.value).startswith("in.csv: row 3: must have 2 cells like the header (got 1)")


def test_too_many_skipped_records_are_an_error(convert, tmp_path) -> None:
    content = "a,b\n1,2\n" + "1\n" * 3
    assert convert(content, on_error="skip", max_errors=3).num_records == 1
    with pytest.raises(RecordError, match=r"^at most 2 inputs may be rejected \(3 or more are"):
        convert(content, on_error="skip", max_errors=2, overwrite=True)


def test_no_record_left_is_an_error(convert, tmp_path) -> None:
    with pytest.raises((SourceError, RecordError)):
        convert("a,b\n1\n", on_error="skip", csv={"header": True})
    assert not (tmp_path / "out/manifest.json").exists()


def test_unknown_labels_are_all_named_with_their_counts(convert, tmp_path, read_dataset) -> None:
    features = schema(label={"kind": "class_label", "names": ["cat", "dog"]})
    content = "label,n\ncat,1\nemu,2\nemu,3\nEmu,4\ndog,5\n"
    with pytest.raises(RecordError) as caught:
        convert(content, schema=features)
    assert str(caught.value) == (
        "every label must be one of cat, dog (also found: 'Emu' (1 record), 'emu' (2 records)); add "
        "them to features.label.names, mend the cells, or use --on-error skip"
    )
    assert convert(content, schema=features, on_error="skip").num_records == 2
    assert read_dataset(tmp_path / "out") == [{"label": [0]}, {"label": [1]}]
    assert [entry["row"] for entry in report(tmp_path)] == [3, 4, 5]


def test_more_unknown_labels_than_faults_are_listed(convert) -> None:
    features = schema(label={"kind": "class_label", "names": ["cat", "dog"]})
    content = "label,n\n" + "".join(f"x{number % 25:02},1\n" for number in range(100))
    with pytest.raises(RecordError) as caught:
        convert(content, schema=features)
    found = ", ".join(f"'x{number:02}' (4 records)" for number in range(25))
    assert f"(also found: {found})" in str(caught.value)


def test_missing_labels(convert) -> None:
    with pytest.raises(RecordError, match=r"^in\.csv: row 3, column 'b': must not be missing"):
        convert("a,b\n1,x\n2,\n3,y\n", target="b")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ("", "a CSV file must not be empty (in.csv); remove it, or use --exclude"),
        ("\n\n", "in.csv must hold records (it holds none)"),
    ],
)
def test_files_without_records(convert, content, error) -> None:
    with pytest.raises(SourceError) as caught:
        convert(content)
    assert str(caught.value) == error


def test_a_header_alone(convert, tmp_path) -> None:
    with pytest.raises(SourceError) as caught:
        convert("a,b\n", csv={"header": True})
    assert str(caught.value) == (f"{tmp_path}/in.csv must hold records (it holds a header at most)")
    with pytest.raises(RequestError) as caught2:
        convert("a,b\n")
    assert str(caught2.value) == (
        "whether the first row of in.csv holds the columns' names must be told (there is only one "
        "row); use --header or --no-header"
    )


def test_files_with_other_headers(tmp_path) -> None:
    """A test file without the column that is to be predicted, as competitions give it."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "train.csv").write_text("id,x,y\n1,2,3\n")
    (folder / "test.csv").write_text("id,x\n4,5\n")
    with pytest.raises(SourceError) as caught:
        tfrec_tools.convert(folder, tmp_path / "out")
    assert str(caught.value) == (
        "all files must have the same header (test.csv has id, x, train.csv has id, x, y); convert "
        "them apart, or use --exclude"
    )


def test_a_missing_source(tmp_path) -> None:
    with pytest.raises(SourceError) as caught:
        tfrec_tools.convert(tmp_path / "none.csv", tmp_path / "out")
    assert str(caught.value) == f"the source must exist ({tmp_path}/none.csv does not)"


def test_json_lines_that_are_none(convert, tmp_path, read_dataset) -> None:
    content = '{"a": 1}\n[2]\n\n{"a": 3\n{"a": 4}\n'
    with pytest.raises(RecordError) as caught:
        convert(content, file="in.jsonl")
    assert str(caught.value) == (
        "2 inputs do not fit; mend or remove them, or use --on-error skip:\n"
        "  in.jsonl: row 2: must be a JSON object (got '[2]')\n"
        "  in.jsonl: row 4: must be a JSON object (got '{\"a\": 3')"
    )
    convert(content, file="in.jsonl", on_error="skip")
    assert read_dataset(tmp_path / "out") == [{"a": [1]}, {"a": [4]}]


@pytest.fixture
def pictures(tmp_path, draw_image) -> Path:
    """A folder with pictures beside a list of them."""
    folder = tmp_path / "in"
    for number in range(4):
        draw_image(folder / f"images/{number}.png", number, size=(4, 6))
    return folder


IMAGES = schema(
    image={"kind": "image", "root": "images"},
    label={"kind": "class_label"},
    tags={"kind": "class_label", "many": True, "separator": " "},
    age={"kind": "int64"},
)


def listed(pictures: Path, *lines: str) -> Path:
    path = pictures / "list.csv"
    path.write_text("\n".join(["image,label,tags,age", *lines]) + "\n")
    return path


def test_a_list_of_pictures(tmp_path, pictures, read_dataset) -> None:
    path = listed(pictures, "0.png,cat,b a,7", "./3.png,dog,,8", "1.png,cat,c,")
    tfrec_tools.convert(path, tmp_path / "out", kind="csv", schema=IMAGES, order="source")
    assert read_dataset(tmp_path / "out") == [
        {
            "image": [(pictures / f"images/{name}.png").read_bytes()],
            "image_height": [4],
            "image_width": [6],
            "label": [label],
            "tags": tags,
            "age": age,
        }
        for name, label, tags, age in (("0", 0, [1, 0], [7]), ("3", 1, [], [8]), ("1", 0, [2], []))
    ]


def test_pictures_that_are_missing_or_damaged(tmp_path, pictures, read_dataset) -> None:
    (pictures / "images/2.png").write_bytes((pictures / "images/2.png").read_bytes()[:-30])
    path = listed(pictures, "0.png,cat,a,1", "9.png,dog,,2", "2.png,cat,,3", "3.png,dog,,4")
    options = {"kind": "csv", "schema": IMAGES, "order": "source", "num_shards": 1}
    with pytest.raises((SourceError, RecordError)) as caught:
        tfrec_tools.convert(path, tmp_path / "out", **options)
    message = str(caught.value)
    assert "list.csv: row 3, column 'image': its file images/9.png is missing" in message
    assert "list.csv: row 4, column 'image': images/2.png: " in message
    manifest = tfrec_tools.convert(
        path, tmp_path / "out", on_error="skip", overwrite=True, **options
    )
    assert manifest.num_records == 2
    assert [record["age"] for record in read_dataset(tmp_path / "out")] == [[1], [4]]
    entries = report(tmp_path)
    assert [(entry["path"], entry["row"], entry["column"]) for entry in entries] == [
        ("list.csv", 3, "image"),
        ("list.csv", 4, "image"),
    ]
    assert entries[0]["reason"] == "its file images/9.png is missing"


@pytest.mark.parametrize("cell", ["../list.csv", "/etc/passwd", "a/../../x.png", "..", ".", ""])
def test_paths_must_stay_below_their_root(tmp_path, pictures, cell) -> None:
    path = listed(pictures, f"{cell},cat,a,1", "0.png,dog,,2")
    with pytest.raises(RecordError) as caught:
        tfrec_tools.convert(path, tmp_path / "out", kind="csv", schema=IMAGES)
    shown = repr(cell) if cell else "an empty cell"
    assert str(caught.value) == (
        f"list.csv: row 2, column 'image': must name a file below images (got {shown}){MEND}"
    )
