"""``tfrec schema``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tfrec_tools import schema_files
from tfrec_tools.cli.main import tfrec
from tfrec_tools.cli.schema import ready_schemas


def test_check_names_every_problem(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text("features: {image: {kind: image}}")
    Path("bad.yaml").write_text("feature: {}\nfeatures: {image: {kind: image, channels: 2}}")
    assert tfrec(["schema", "check", "good.yaml"]) == 0
    assert capsys.readouterr().out == "good.yaml: 1 feature, no problems\n"
    assert tfrec(["schema", "check", "bad.yaml"]) == 2
    assert capsys.readouterr().err == (
        "tfrec: error: bad.yaml: feature: is no option here; did you mean 'features'?\n"
        "bad.yaml: features.image.channels: must be 1 or 3 (got 2)\n"
    )


def test_ready_schemas_are_listed_and_printed(capsys) -> None:
    assert tfrec(["schema", "example"]) == 0
    listed = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == sorted(ready_schemas())
    assert {"segmentation", "text_documents", "text_lines", "text_packed", "text_pairs"} < {*listed}
    assert tfrec(["schema", "example", "images"]) == 0
    assert capsys.readouterr().out == ready_schemas()["images"].read_text()
    assert tfrec(["schema", "example", "nonsense"]) == 2
    assert "NAME must be one of adult_income, air_pollution, captions" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(ready_schemas()))
def test_ready_schemas_are_right(name) -> None:
    assert schema_files.load_schema(str(ready_schemas()[name])).features


def test_json_schema_is_json(capsys) -> None:
    assert tfrec(["schema", "json-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_files.json_schema()
