"""Inputs of many units: the same bytes on every runner, in any order, after failures, by retries.

`test_runners` has one small unit per input, and more kinds of inputs; here blocks are small, in
the processes of workers, too, so that tasks and units really are divided among them.
"""

from __future__ import annotations

import gzip
import json
import logging
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tfrec_tools
from tfrec_tools import stages
from tfrec_tools.errors import RecordError, SourceError

logging.disable(logging.WARNING)
running = pytest.importorskip("beam_jobs.running")
beam = pytest.importorskip("apache_beam")
fn_runner = pytest.importorskip("apache_beam.runners.portability.fn_api_runner.fn_runner")
logging.disable(logging.NOTSET)

EXPECTED = {
    "BundleBasedDirectRunner with failures",
    "FnApiRunner in memory, repeated",
    "FnApiRunner multi_processing",
    "FnApiRunner multi_threading",
    "FnApiRunner with paged groups",
    "PortableRunner with a worker pool",
}


def draw_images(folder: Path, draw_folder: Any) -> None:
    draw_folder(folder, {"a": 9, "b": 5, "b/deep": 3})
    (folder / "a" / "bad.jpg").write_bytes(b"no picture")


def rows(first: int, stop: int) -> str:
    return "".join(f'{n},"a ""cell""\nof {n}",{"xyz"[n % 3]}\n' for n in range(first, stop))


def draw_csv(folder: Path, _: Any) -> None:
    folder.mkdir()
    (folder / "1.csv").write_text(f"id,text,label\n{rows(0, 700)}")
    (folder / "2.csv").write_text(
        f"id,text,label\n{rows(700, 900)}1,one cell too few\n{rows(900, 1100)}"
    )


def draw_text(folder: Path, _: Any) -> None:
    folder.mkdir()
    lines = [f"line {n} of a text, \u00e4 {'x' * (n % 40)}" for n in range(500)]
    (folder / "a.txt").write_bytes("\n".join(lines).encode() + b"\nbad \xff\nlast line of all\n")
    (folder / "b.txt").write_bytes(gzip.compress("\r\n".join(lines[::-1]).encode()))


def draw_json(folder: Path, _: Any) -> None:
    folder.mkdir()
    lines = [json.dumps({"id": n, "words": ["a"] * (n % 3)}) for n in range(400)]
    (folder / "a.jsonl").write_text("\n".join([*lines[:300], "no object", *lines[300:]]))


def draw_pairs(folder: Path, _: Any) -> None:
    folder.mkdir()
    (folder / "t.en").write_text("".join(f"line {n}\n" for n in range(900)))
    (folder / "t.de").write_text("".join(f"Zeile {n}\n" for n in range(900)))


def draw_image_list(folder: Path, draw_folder: Any) -> None:
    draw_folder(folder, {"a": 6})
    names = [f"a/{n % 6:03d}.jpg,{n}" for n in range(400)]
    (folder / "list.csv").write_text("\n".join(["file,number", "a/none.jpg,0", *names, ""]))


TOKENS = {
    "kind": "tokens",
    "from": "text",
    "vocabulary": ["line", "of", "a", "end"],
    "pack": True,
    "max_length": 16,
    "end_token": "end",
}
LIST = {"image": {"kind": "image", "from": "file"}, "number": {"kind": "int64"}}
SPLITS = {"splits": {"train": 0.8, "test": 0.2}, "num_shards": {"train": 3, "test": 70}}
PACKED = SPLITS | {"kind": "text", "schema": {"features": {"ids": TOKENS}}}
INPUTS: dict[str, tuple[Callable[..., None], str, dict[str, Any]]] = {
    "images": (draw_images, "", SPLITS),
    "csv": (draw_csv, "", SPLITS | {"target": "label", "stratify": "label"}),
    "text": (draw_text, "", SPLITS | {"kind": "text", "text": {"min_chars": 20}}),
    "packed": (draw_text, "", PACKED),
    "json lines": (draw_json, "", SPLITS),
    "pairs": (draw_pairs, "", SPLITS | {"text": {"parallel": "en,de"}}),
    "image list": (draw_image_list, "list.csv", SPLITS | {"schema": {"features": LIST}}),
}
MAIN_INPUTS = ("images", "csv", "text")
STAGES = {
    "images": {"list_unit", "write_shard"},
    "csv": {"scan", "encode_unit", "write_table_shard"},
    "text": {"scan", "encode_unit", "write_table_shard"},
}


@pytest.fixture
def same_bytes(tmp_path, draw_folder, file_hashes, request_of, many_units):
    """Convert an input on one machine, then with ``run``, and compare every file."""

    def compare(name: str, run: Callable[[Any], Any]) -> None:
        draw, file, options = INPUTS[name]
        draw(tmp_path / name, draw_folder)
        options = options | {"on_error": "skip"}
        local = tfrec_tools.convert(tmp_path / name / file, tmp_path / "local", **options)
        assert local.num_rejected == (name != "pairs")  # which has no bad record
        assert any(shard.num_records == 0 for shard in local.split("test").shards)
        run(request_of(tmp_path / name / file, tmp_path / "beam", **options))
        assert file_hashes(tmp_path / "beam") == file_hashes(tmp_path / "local")

    return compare


@pytest.mark.parametrize("name", INPUTS)
def test_shuffled_and_repeated(same_bytes, engines, monkeypatch, name) -> None:
    numbers = {}
    for function in ("list_units", "scan_tasks", "units_of"):
        original = getattr(stages, function)

        def shuffled(*args: Any, original: Any = original, function: str = function) -> list[Any]:
            found = list(original(*args))
            numbers[function] = len(found)
            if function != "units_of":  # of which the order is the plan
                random.Random(4).shuffle(found)
            return found

        monkeypatch.setattr(stages, function, shuffled)
    repeated = "--direct_runner_bundle_repeat=2"
    same_bytes(name, lambda request: running.run(request, args=[repeated]))
    assert numbers["list_units" if name == "images" else "units_of"] > 1
    engines.add("FnApiRunner in memory, repeated")


@pytest.mark.parametrize("name", ["csv", "images"])
def test_groups_that_come_page_by_page(same_bytes, engines, name) -> None:
    def run(request: Any) -> None:
        pipeline = beam.Pipeline(runner=fn_runner.FnApiRunner(use_state_iterables=True))
        running.build(pipeline, request)
        pipeline.run().wait_until_finish()

    same_bytes(name, run)
    engines.add("FnApiRunner with paged groups")


@pytest.mark.parametrize(
    ("mode", "name"),
    [("multi_threading", "csv"), *(("multi_processing", name) for name in MAIN_INPUTS)],
)
def test_two_workers(same_bytes, engines, spied_workers, mode, name) -> None:
    flags = [f"--direct_running_mode={mode}", "--direct_num_workers=2"]
    same_bytes(name, lambda request: running.run(request, args=flags))
    ran = spied_workers()
    assert os.getpid() not in ran
    if mode == "multi_processing":
        assert len(ran) == 2
        assert {stage for stages in ran.values() for stage, _ in stages} == STAGES[name]
    engines.add(f"FnApiRunner {mode}")


@pytest.mark.parametrize("name", MAIN_INPUTS)
def test_a_pool_of_workers(same_bytes, engines, spied_workers, spied_job_service, name) -> None:
    same_bytes(
        name,
        lambda request: running.run(request, runner="PortableRunner", args=spied_job_service),
    )
    ran = spied_workers()
    assert len(ran) == 1
    assert {stage for stages in ran.values() for stage, _ in stages} == STAGES[name]
    engines.add("PortableRunner with a worker pool")


@pytest.mark.parametrize("name", MAIN_INPUTS)
def test_stages_that_fail_twice(same_bytes, engines, monkeypatch, name) -> None:
    left: dict[str, int] = {}

    def run(request: Any) -> None:
        for function in STAGES[name]:
            left[function] = 2
            original = getattr(stages, function)

            def failing(
                *args: Any, original: Any = original, function: str = function, **named: Any
            ) -> Any:
                found = original(*args, **named)  # the work is done, and then lost
                if left[function]:
                    left[function] -= 1
                    raise OSError("injected")
                return found

            monkeypatch.setattr(stages, function, failing)
        running.run(request, runner="BundleBasedDirectRunner")

    same_bytes(name, run)
    assert left == dict.fromkeys(STAGES[name], 0)
    engines.add("BundleBasedDirectRunner with failures")


def test_which_engines_ran(engines, request) -> None:
    if request.config.getoption("keyword") or "::" in "".join(request.config.args):
        pytest.skip("only some tests were asked for")
    assert engines == EXPECTED


def fails_for_one_input(original: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    def failing(plan: Any, unit: Any, *args: Any) -> Any:
        if any(part.file.key == b"2.csv" for part in unit.parts):
            raise error
        return original(plan, unit, *args)

    return failing


@pytest.mark.parametrize("runner", ["FnApiRunner", "BundleBasedDirectRunner"])
@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (SourceError("a file must be readable (2.csv is not)"), SourceError),
        (OSError(5, "Input/output error", "in/2.csv"), Exception),
    ],
)
def test_one_input_that_always_fails(
    tmp_path, draw_folder, request_of, many_units, monkeypatch, file_hashes, runner, error, raised
) -> None:
    draw_csv(tmp_path / "in", draw_folder)
    request = request_of(tmp_path / "in", tmp_path / "out", on_error="skip")
    with monkeypatch.context() as patched:
        patched.setattr(stages, "encode_unit", fails_for_one_input(stages.encode_unit, error))
        with pytest.raises(raised) as caught:
            running.run(request, runner=runner)
    if raised is SourceError:
        assert str(caught.value) == str(error)
    else:
        assert "Input/output error: 'in/2.csv'" in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("runner", ["FnApiRunner", "BundleBasedDirectRunner"])
@pytest.mark.parametrize("name", ["images", "csv"])
def test_one_shard_that_always_fails(
    tmp_path, draw_folder, request_of, many_units, monkeypatch, file_hashes, runner, name
) -> None:
    draw, _, options = INPUTS[name]
    draw(tmp_path / "in", draw_folder)
    options = options | {"num_shards": 4, "on_error": "skip"}
    request = request_of(tmp_path / "in", tmp_path / "out", **options)
    function = "write_shard" if name == "images" else "write_table_shard"
    original = getattr(stages, function)

    def failing(plan: Any, shard: Any, *args: Any, **named: Any) -> Any:
        if (shard.split, shard.index) == ("train", 2):
            raise SourceError("a shard must be written (train 2 is not)")
        return original(plan, shard, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(stages, function, failing)
        with pytest.raises(SourceError) as caught:
            running.run(request, runner=runner)
    assert str(caught.value) == "a shard must be written (train 2 is not)"
    # What is finished waits in the staging folder for the next run; nothing has a shard's name.
    assert [p for p in file_hashes(tmp_path / "out") if not p.startswith(".tfrec-")] == []
    running.run(request, runner=runner)
    tfrec_tools.convert(tmp_path / "in", tmp_path / "local", **options)
    assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "local")


@pytest.mark.parametrize("name", ["csv", "text"])
@pytest.mark.parametrize("num_bad", [3, 60])
def test_bad_records_of_many_units(
    tmp_path, draw_folder, request_of, many_units, name, num_bad
) -> None:
    draw, _, options = INPUTS[name]
    draw(tmp_path / "in", draw_folder)
    for path in (tmp_path / "in").glob("[2a].*"):
        lines = path.read_bytes().splitlines(keepends=True)
        bad = b"1,too few\n" if name == "csv" else b"bad \xfe\n"
        step = (len(lines) - 2) // num_bad // 2 * 2  # rows of CSV have two lines
        for n in range(num_bad):
            lines[1 + n * (step + 1) : 1 + n * (step + 1)] = [bad]
        path.write_bytes(b"".join(lines))
    with pytest.raises(RecordError) as local:
        tfrec_tools.convert(tmp_path / "in", tmp_path / "local", **options)
    with pytest.raises(RecordError) as beam:
        running.run(request_of(tmp_path / "in", tmp_path / "beam", **options))
    assert str(beam.value) == str(local.value)
    assert not (tmp_path / "beam").exists()
