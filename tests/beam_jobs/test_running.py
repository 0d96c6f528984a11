"""Beam writes byte for byte what the local engine writes, and fails as it does."""

from __future__ import annotations

import logging
import random

import pytest

import tfrec_tools
from tfrec_tools import stages
from tfrec_tools.errors import RecordError, SourceError
from tfrec_tools.request_parsing import make_request

logging.disable(logging.WARNING)
running = pytest.importorskip("beam_jobs.running")
logging.disable(logging.NOTSET)


def request(source, output, **options):
    defaults = dict.fromkeys(
        [
            "schema",
            "splits",
            "split_files",
            "split_by",
            "stratify",
            "splits_from",
            "num_shards",
            "labels",
            "compression",
            "max_errors",
            "name",
            "kind",
            "columns",
            "target",
            "csv",
            "text",
            "spill_dir",
        ]
    ) | {"seed": 0, "order": "shuffled", "check": "decode", "exclude": (), "on_error": "fail"}
    defaults |= {"fail_fast": False, "overwrite": False, "split_method": "hash"}
    return make_request(str(source), str(output), **(defaults | options))


@pytest.fixture
def source(tmp_path, draw_folder):
    source = draw_folder(tmp_path / "in", {"a": 17, "b": 9, "b/deep": 4, "c": 3})
    (source / "a" / "bad.jpg").write_bytes(b"no picture")
    (source / "c" / "LICENSE").mkdir()
    (source / "c" / "notes.txt").write_text("ignored")
    return source


CASES = {
    "defaults": {},
    "splits and empty shards": {
        "splits": {"train": 0.8, "test": 0.2},
        "num_shards": {"train": 20, "test": 9},
    },
    "stratified": {"splits": {"train": 0.5, "test": 0.5}, "stratify": "label", "seed": 3},
    "by folder": {"splits": {"train": 0.5, "test": 0.5}, "split_by": "folder"},
    "patterns": {"split_files": {"train": "[ab]/**", "test": "c/**"}, "labels": False},
    "source order": {"order": "source", "num_shards": 4},
    "gzip": {"compression": "gzip", "check": "header"},
    "resized": {
        "schema": {
            "features": {
                "image": {"kind": "image", "resize": {"shorter_side": 8}},
                "label": {"kind": "class_label", "target": True},
            }
        }
    },
}


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_as_the_local_engine(
    source, tmp_path, file_hashes, monkeypatch, case
) -> None:
    options = CASES[case] | {"on_error": "skip"}
    local = tfrec_tools.convert(source, tmp_path / "local", **options)
    units = stages.list_units

    def shuffled(request):
        found = units(request)
        random.Random(4).shuffle(found)
        return found

    monkeypatch.setattr(stages, "list_units", shuffled)
    beam = running.run(request(source, tmp_path / "beam", **options))
    assert beam == local
    assert file_hashes(tmp_path / "beam") == file_hashes(tmp_path / "local")


def test_faults_are_told_as_the_local_engine_tells_them(source, tmp_path) -> None:
    with pytest.raises(RecordError) as local:
        tfrec_tools.convert(source, tmp_path / "local")
    with pytest.raises(RecordError) as beam:
        running.run(request(source, tmp_path / "beam"))
    assert str(beam.value) == str(local.value)
    assert not (tmp_path / "beam" / "manifest.json").exists()


def test_a_wrong_source_is_told_as_the_local_engine_tells_it(source, tmp_path) -> None:
    with pytest.raises(SourceError) as local:
        tfrec_tools.convert(source / "b" / "deep", tmp_path / "local")
    with pytest.raises(SourceError) as beam:
        running.run(request(source / "b" / "deep", tmp_path / "beam"))
    assert str(beam.value) == str(local.value)
    assert not (tmp_path / "beam").exists()
