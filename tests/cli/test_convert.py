"""``tfrec-convert``: what it prints, and that every flag reaches the request."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import tfrec_tools
from tfrec_tools import conversion
from tfrec_tools.cli.convert import convert_command
from tfrec_tools.cli.main import tfrec, tfrec_convert
from tfrec_tools.request import CsvOptions, TextOptions


@pytest.fixture
def source(tmp_path, draw_folder, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return draw_folder(Path("pets"), {"cat": 12, "dog": 8})


def test_summary_of_what_was_written(source, capsys) -> None:
    (source / "cat" / "bad.jpg").write_bytes(b"")
    (source / "cat" / "LICENSE.txt").write_bytes(b"")
    code = tfrec_convert(["pets", "out", "--splits", "train=0.8,test=0.2", "--on-error", "skip"])
    said = capsys.readouterr()
    sizes = [Path(f"out/{s}-00000-of-00001.tfrecord").stat().st_size for s in ("train", "test")]
    assert code == 0
    assert said.err == ""
    assert said.out == (
        "Wrote 20 records to out\n"
        "  split  records  shards     size\n"
        f"  train       18       1  {sizes[0] / 1000:.1f} kB\n"
        f"  test         2       1   {sizes[1] / 1000:.1f} kB\n"
        "label: 2 classes (cat, dog)\n"
        "Note: split 'test' has no records of dog\n"
        "Rejected 1 input, listed in report.jsonl\n"
        "Ignored files that are no images: 1 .txt\n"
        'Read it with: tfrec_tools.reader.load("out", split="train")\n'
    )


def test_dry_run_says_the_plan_and_writes_nothing(source, capsys) -> None:
    splits = ["--splits", "train=0.8,test=0.2", "--stratify", "label"]
    code = tfrec_convert(["pets", "out", *splits, "--dry-run"])
    said = capsys.readouterr().out.splitlines()
    assert code == 0
    assert said[0].startswith("Would convert 20 images (")
    assert said[0].endswith(" of pets to dataset 'pets' in out")
    assert [line.split() for line in said[4:7]] == [
        ["class", "train", "test"],
        ["cat", "10", "2"],
        ["dog", "6", "2"],
    ]
    assert said[-1].startswith("Plan ")
    assert said[-1].endswith("; nothing was written")
    assert [path.name for path in Path().iterdir()] == ["pets"]


def test_dry_run_tells_the_numbers_of_the_conversion(source, capsys) -> None:
    tfrec_convert(["pets", "out", "--splits", "train=0.8,test=0.2", "--dry-run"])
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()[2:4]]
    tfrec_convert(["pets", "out", "--splits", "train=0.8,test=0.2"])
    manifest = tfrec_tools.load_manifest("out")
    assert rows == [[s.name, str(s.num_records), str(len(s.shards))] for s in manifest.splits]


def test_quiet_says_nothing(source, capsys) -> None:
    assert tfrec_convert(["pets", "out", "-q"]) == 0
    assert capsys.readouterr() == ("", "")


def test_every_option_of_convert_has_a_flag() -> None:
    flags = {parameter.name for parameter in convert_command.params}
    options = set(inspect.signature(conversion.convert).parameters) - {"csv", "text"}
    options |= set(CsvOptions.__dataclass_fields__) | set(TextOptions.__dataclass_fields__)
    assert flags - options == {"workers", "runner", "dry_run", "quiet"}
    assert options - flags == {"num_workers", "on_progress"}


FLAGS = {
    "--schema": ["s.yaml"],
    "--splits": ["train=0.5,test=0.5"],
    "--split": ["all=**"],
    "--num-shards": ["3"],
    "--seed": ["9"],
    "--order": ["source"],
    "--check": ["header"],
    "--no-labels": [],
    "--exclude": ["cat/000.jpg"],
    "--compression": ["gzip"],
    "--name": ["other"],
}


@pytest.mark.parametrize("flag", FLAGS)
def test_every_flag_changes_the_output(source, file_hashes, flag) -> None:
    Path("s.yaml").write_text("features: {image: {kind: image, resize: {shorter_side: 8}}}")
    assert tfrec_convert(["pets", "plain", "-q"]) == 0
    assert tfrec_convert(["pets", "out", "-q", flag, *FLAGS[flag]]) == 0
    assert file_hashes(Path("plain")) != file_hashes(Path("out"))


def test_python_and_command_line_write_the_same_bytes(source, file_hashes) -> None:
    flags = "--splits train=0.5,test=0.5 --stratify label --num-shards train=4,test=2 --seed 3"
    assert tfrec(["convert", "pets", "one", *flags.split()]) == 0
    tfrec_tools.convert(
        "pets",
        Path("two"),
        splits={"train": 0.5, "test": 0.5},
        stratify="label",
        num_shards={"train": 4, "test": 2},
        seed=3,
    )
    assert file_hashes(Path("one")) == file_hashes(Path("two"))


def test_progress_is_silent_where_there_is_no_terminal(source) -> None:
    command = [sys.executable, "-m", "tfrec_tools", "convert", "pets", "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_runner_without_workers(source, capsys) -> None:
    assert tfrec_convert(["pets", "out", "--runner", "FnApiRunner", "--workers", "2"]) == 2
    assert "--workers goes with --runner local" in capsys.readouterr().err


def test_an_interrupt_while_classes_are_made_is_no_bug(source, monkeypatch, capsys) -> None:
    def interrupted(*_args: object, **_named: object) -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(convert_command, "main", interrupted)
    assert tfrec_convert([str(source), "out"]) == 130
    assert capsys.readouterr().err == (
        "tfrec-convert: interrupted; what was finished is kept, the same command goes on from there\n"
    )
