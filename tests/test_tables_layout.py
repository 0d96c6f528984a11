"""What the files of a table mean together, and what is said about them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import tfrec_tools
from tfrec_tools import conversion
from tfrec_tools.cli.main import tfrec, tfrec_convert
from tfrec_tools.errors import RequestError, SourceError


def test_two_names_of_one_split_are_an_error(tmp_path) -> None:
    for name in ("train", "val", "validation"):
        (tmp_path / f"{name}.csv").write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(SourceError) as found:
        tfrec_tools.convert(tmp_path, tmp_path / "out")
    assert str(found.value) == (
        f"a split must have one name (both val and validation in {tmp_path} mean 'validation'); "
        "say what all files are, as with --split validation=val.csv --split NAME=validation.csv"
    )


def test_parts_of_a_split_are_one_split(tmp_path) -> None:
    for name in ("train-00000-of-00002", "train-00001-of-00002", "test"):
        (tmp_path / f"{name}.csv").write_text("a,b\n1,x\n2,y\n")
    manifest = tfrec_tools.convert(tmp_path, tmp_path / "out")
    assert {split.name: split.num_records for split in manifest.splits} == {"train": 4, "test": 2}


def test_the_header_is_told_from_a_file_with_records(tmp_path, read_dataset) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("n,s\n")
    (tmp_path / "in" / "b.csv").write_text("n,s\n1,x\n2,y\n")
    tfrec_tools.convert(tmp_path / "in", tmp_path / "out", order="source")
    assert read_dataset(tmp_path / "out") == [{"n": [1], "s": [b"x"]}, {"n": [2], "s": [b"y"]}]


def test_files_without_a_header_must_have_as_many_columns(tmp_path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("1,2,3\n3,4,5\n")
    with pytest.raises(SourceError) as found:
        tfrec_tools.convert(tmp_path, tmp_path / "out")
    assert str(found.value) == (
        "all files must have the same number of columns (a.csv has 2, b.csv 3); convert them "
        "apart, or use --exclude"
    )


def test_quotes_can_be_characters_like_any_other(tmp_path, read_dataset) -> None:
    (tmp_path / "q.csv").write_text('a,b\n1,"open\n2,x"\n')
    tfrec_tools.convert(tmp_path / "q.csv", tmp_path / "out", csv={"quote": "none"}, order="source")
    assert [record["b"] for record in read_dataset(tmp_path / "out")] == [[b'"open'], [b'x"']]


def test_what_was_found_out_is_said(tmp_path, capsys) -> None:
    (tmp_path / "u.csv").write_text("a;b\n1;x\n2;y\n", encoding="utf-16")
    assert tfrec_convert([str(tmp_path / "u.csv"), str(tmp_path / "out")]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Note")]
    assert notes == [
        "Note: u.csv is read as utf-16-le, as its byte order mark says",
        "Note: cells of u.csv are separated by ;",
        "Note: the first row of u.csv is taken for the columns' names",
    ]


def test_the_printed_schema_converts_to_the_same_bytes(tmp_path, capsys, file_hashes) -> None:
    source = tmp_path / "d.csv"
    source.write_bytes("id;name;größe\n1;Ä;1,5\n2;B;\n".encode("cp1252"))
    flags = ["--encoding", "cp1252", "--decimal", ","]
    assert tfrec(["schema", "infer", str(source), *flags, "--target", "name"]) == 0
    printed = capsys.readouterr()
    (tmp_path / "s.yaml").write_text(printed.out)
    assert printed.out == (
        "name: d\nsource:\n  kind: csv\n  delimiter: ;\n  decimal: ','\n  header: true\n"
        "  encoding: cp1252\nfeatures:\n  id:\n    kind: int64\n  name:\n    kind: class_label\n"
        "    target: true\n    names:\n    - B\n    - Ä\n  größe:\n    kind: float32\n"
    )
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    assert tfrec_convert([str(source), a, "-q", *flags, "--target", "name"]) == 0
    assert tfrec_convert([str(source), b, "-q", "--schema", str(tmp_path / "s.yaml")]) == 0
    assert file_hashes(Path(a)) == file_hashes(Path(b))


def test_cells_beside_a_rejected_picture_are_not_counted(tmp_path) -> None:
    (tmp_path / "images").mkdir()
    for name in ("a", "b"):
        Image.new("RGB", (8, 6)).save(tmp_path / "images" / f"{name}.png")
    (tmp_path / "labels.csv").write_text("filename,age,kind\na.png,3,x\nb.png,5,y\nc.png,90,x\n")
    schema = {
        "features": {
            "image": {"kind": "image", "from": "filename", "root": "images"},
            "age": {"kind": "int64"},
            "kind": {"kind": "class_label", "target": True},
        }
    }
    manifest = tfrec_tools.convert(
        tmp_path / "labels.csv", tmp_path / "out", schema=schema, on_error="skip", num_shards=3
    )
    statistics = manifest.splits[0].statistics
    assert statistics["age"] == {
        "missing": 0, "values": 2, "min": 3, "max": 5, "mean": 4.0, "std": 1.0, "distinct": 2,
    }  # fmt: skip
    assert statistics["kind"] == {"missing": 0, "values": 2, "counts": [1, 1]}
    assert statistics["image"]["values"] == 2
    assert manifest.num_rejected == 1


def test_options_of_tables_are_refused_where_they_mean_nothing(tmp_path, draw_folder) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(RequestError, match="--labels and --no-labels go with image folders"):
        tfrec_tools.convert(tmp_path / "t.csv", tmp_path / "out", labels=False)
    with pytest.raises(RequestError, match="--columns and --target go without a schema"):
        tfrec_tools.convert(
            tmp_path / "t.csv",
            tmp_path / "out",
            schema={"features": {"a": {"kind": "int64"}}},
            target="a",
        )
    folder = draw_folder(tmp_path / "pets", {"cat": 2, "dog": 2})
    with pytest.raises(RequestError) as found:
        tfrec_tools.convert(folder, tmp_path / "out", csv={"delimiter": ";"})
    assert str(found.value) == "--delimiter goes with CSV files, not with images"
    with pytest.raises(RequestError) as found:
        tfrec_tools.convert(folder, tmp_path / "out", target="label")
    assert str(found.value) == "--target goes with tables, not with images"


def test_inferring_the_schema_of_images_names_their_classes(draw_folder, tmp_path) -> None:
    folder = draw_folder(tmp_path / "pets", {"cat": 2, "dog": 2})
    schema, notes = conversion.infer_schema(folder)
    assert schema.features["label"].names == ("cat", "dog")
    assert notes == ()
