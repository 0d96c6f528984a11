"""The same bytes on every runner of Beam that needs nothing but Python, and errors told alike."""

from __future__ import annotations

import gzip
import json
import logging
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import tfrec_tools
from tfrec_tools import local_engine, stages
from tfrec_tools.errors import RecordError, RequestError, TfrecError
from tfrec_tools.request import Request
from tfrec_tools.request_parsing import make_request

logging.disable(logging.WARNING)
running = pytest.importorskip("beam_jobs.running")
from apache_beam import coders  # noqa: E402 (only where Beam is installed)

from beam_jobs.file_pipeline import _place  # noqa: E402
from beam_jobs.options import pipeline_of  # noqa: E402

logging.disable(logging.NOTSET)

COUNTERS = ("records_written", "inputs_rejected", "records_left_out")

RAN: set[str] = set()
"""The engines that really ran."""


def request(source: Path, output: Path, **options: Any) -> Request:
    defaults: dict[str, Any] = dict.fromkeys(
        [
            "kind",
            "schema",
            "splits",
            "split_files",
            "split_by",
            "stratify",
            "splits_from",
            "num_shards",
            "labels",
            "columns",
            "target",
            "csv",
            "text",
            "compression",
            "max_errors",
            "name",
            "spill_dir",
        ]
    )
    defaults |= {"seed": 0, "order": "shuffled", "check": "decode", "exclude": ()}
    defaults |= {"fail_fast": False, "overwrite": False, "split_method": "hash"}
    return make_request(str(source), str(output), **defaults | {"on_error": "skip"} | options)


def csv_text(number: int, first: int = 0) -> str:
    rows = (f'{n},"a ""cell""\nof {n}",{"xyz"[n % 3]}' for n in range(first, first + number))
    return "id,text,label\n" + "\n".join(rows) + "\n"


def draw_images(folder: Path, draw_folder: Any) -> None:
    draw_folder(folder, {"a": 9, "b": 5, "b/deep": 3})
    (folder / "a" / "bad.jpg").write_bytes(b"no picture")


def draw_csv(folder: Path, _: Any) -> None:
    folder.mkdir()
    (folder / "1.csv").write_text(csv_text(300))
    (folder / "2.csv").write_text(csv_text(200, first=300) + "7,one cell too few\n")


def draw_text(folder: Path, _: Any) -> None:
    folder.mkdir()
    lines = [f"line {n} of a text, \u00e4 {'x' * (n % 40)}" for n in range(500)]
    (folder / "a.txt").write_bytes("\n".join(lines).encode() + b"\nbad \xff\n")
    (folder / "b.txt").write_bytes(gzip.compress("\r\n".join(lines[::-1]).encode()))


def draw_documents(folder: Path, _: Any) -> None:
    for number in range(30):
        path = folder / ["pos", "neg"][number % 2] / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"good film " * number if number else b"\xff")


def draw_pairs(folder: Path, _: Any) -> None:
    folder.mkdir()
    (folder / "t.en").write_text("".join(f"line {n}\n" for n in range(200)))
    (folder / "t.de").write_text("".join(f"Zeile {n}\n" for n in range(200)))


def draw_json(folder: Path, _: Any) -> None:
    folder.mkdir()
    lines = (json.dumps({"id": n, "words": ["a"] * (n % 3)}) for n in range(200))
    (folder / "a.jsonl").write_text("\n".join(lines) + "\nno object\n")


def draw_parquet(folder: Path, _: Any) -> None:
    folder.mkdir()
    table = pa.table({"id": list(range(200)), "x": [n / 8 for n in range(200)]})
    parquet.write_table(table, folder / "a.parquet", row_group_size=50)


def draw_image_list(folder: Path, draw_folder: Any) -> None:
    draw_folder(folder, {"a": 6})
    names = [f"a/{n:03d}.jpg" for n in range(6)]
    (folder / "list.csv").write_text("file,label\n" + "".join(f"{n},x\n" for n in names))


PACKED = {
    "features": {
        "ids": {
            "kind": "tokens",
            "from": "text",
            "vocabulary": ["line", "of", "a", "end"],
            "pack": True,
            "max_length": 16,
            "end_token": "end",
        }
    }
}
WORDS = {
    "features": {
        "ids": {"kind": "tokens", "from": "text", "vocabulary_size": 2},
        "label": {"kind": "class_label", "target": True},
    }
}
LIST = {"features": {"image": {"kind": "image", "from": "file"}, "label": {"kind": "text"}}}
SPLITS = {"splits": {"train": 0.8, "test": 0.2}, "num_shards": {"train": 3, "test": 70}}
INPUTS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "images": (draw_images, "", SPLITS),
    "csv": (draw_csv, "", SPLITS | {"target": "label", "stratify": "label"}),
    "text": (draw_text, "", SPLITS | {"kind": "text", "text": {"min_chars": 20}}),
    "paragraphs": (draw_text, "", {"kind": "text", "text": {"record": "paragraph"}}),
    "source order": (draw_text, "", {"kind": "text", "order": "source", "num_shards": 4}),
    "documents": (draw_documents, "", SPLITS | {"kind": "text"}),
    "words of documents": (draw_documents, "", {"kind": "text", "schema": WORDS}),
    "packed": (draw_text, "", SPLITS | {"kind": "text", "schema": PACKED}),
    "pairs": (draw_pairs, "", SPLITS | {"text": {"parallel": "en,de"}}),
    "json lines": (draw_json, "", SPLITS),
    "parquet": (draw_parquet, "", SPLITS),
    "image list": (draw_image_list, "list.csv", {"schema": LIST}),
}
MAIN_INPUTS = ("images", "csv", "text")


@pytest.fixture
def compare(tmp_path, draw_folder, file_hashes):
    """Convert an input on one machine and on Beam, and compare every file."""

    def run(name: str, runner: str = "FnApiRunner", args: tuple[str, ...] = ()) -> None:
        draw, file, options = INPUTS[name]
        source = tmp_path / name
        draw(source, draw_folder)
        options = {"on_error": "skip"} | options
        local = tfrec_tools.convert(source / file, tmp_path / "local", **options)
        beam = running.run(
            request(source / file, tmp_path / "beam", **options), runner=runner, args=args
        )
        assert beam == local
        assert file_hashes(tmp_path / "beam") == file_hashes(tmp_path / "local")

    return run


@pytest.mark.parametrize("name", INPUTS)
def test_every_input_in_memory(compare, name) -> None:
    compare(name)
    RAN.add("FnApiRunner in memory")


@pytest.mark.parametrize("name", MAIN_INPUTS)
def test_shuffled_tasks_and_repeated_bundles(compare, name, monkeypatch) -> None:
    for function in ("list_units", "scan_tasks"):
        original = getattr(stages, function)

        def shuffled(*args: Any, original: Any = original) -> list[Any]:
            found = list(original(*args))
            random.Random(4).shuffle(found)
            return found

        monkeypatch.setattr(stages, function, shuffled)
    compare(name, args=("--direct_runner_bundle_repeat=2",))
    RAN.add("FnApiRunner with repeated bundles")


@pytest.mark.parametrize("name", MAIN_INPUTS)
@pytest.mark.parametrize("mode", ["multi_threading", "multi_processing"])
def test_two_workers(compare, name, mode) -> None:
    compare(name, args=(f"--direct_running_mode={mode}", "--direct_num_workers=2"))
    RAN.add(f"FnApiRunner {mode}")


@pytest.mark.parametrize("name", MAIN_INPUTS)
def test_bundles_that_fail_and_are_retried(compare, name, monkeypatch) -> None:
    left = dict.fromkeys(("scan", "encode_unit", "write_shard", "write_table_shard"), 2)
    for function in left:
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
    # The local engine uses the same functions: let it run first without failures.
    armed = dict(left)
    left.update(dict.fromkeys(left, 0))
    convert = tfrec_tools.convert

    def convert_then_arm(*args: Any, **named: Any) -> Any:
        manifest = convert(*args, **named)
        left.update(armed)
        return manifest

    monkeypatch.setattr(tfrec_tools, "convert", convert_then_arm)
    compare(name, runner="BundleBasedDirectRunner")
    used = ("write_shard",) if name == "images" else ("scan", "encode_unit", "write_table_shard")
    assert all(left[function] == 0 for function in used)
    RAN.add("BundleBasedDirectRunner with failures")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def job_service(tmp_path_factory) -> Iterator[tuple[str, ...]]:
    """Start Beam's job service and a pool of workers, each a process of its own."""
    ports = free_port(), free_port()
    folder = tmp_path_factory.mktemp("service")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    root = str(Path(tfrec_tools.__file__).parent.parent)
    environment = os.environ | {"PATH": path, "PYTHONPATH": root}
    commands = [
        ["apache_beam.runners.portability.local_job_service_main", "--job_port", str(ports[0]),
         "--staging_dir", str(folder)],
        ["apache_beam.runners.worker.worker_pool_main", "--service_port", str(ports[1])],
    ]  # fmt: skip
    with open(folder / "log", "w") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", *command], env=environment, stdout=log, stderr=log
            )
            for command in commands
        ]
    try:
        deadline = time.monotonic() + 60
        for port in ports:
            while True:
                assert time.monotonic() < deadline, (folder / "log").read_text()
                try:
                    socket.create_connection(("localhost", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
        yield (
            f"--job_endpoint=localhost:{ports[0]}",
            "--environment_type=EXTERNAL",
            f"--environment_config=localhost:{ports[1]}",
        )
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize("name", MAIN_INPUTS)
def test_a_job_service_and_a_pool_of_workers(compare, job_service, name) -> None:
    compare(name, runner="PortableRunner", args=job_service)
    RAN.add("PortableRunner with a worker pool")


def test_which_engines_ran(capsys) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\nBeam ran as: {', '.join(sorted(RAN))}\n")
    if "FnApiRunner in memory" in RAN and len(RAN) > 1:  # else only some tests were asked for
        assert RAN == {
            "BundleBasedDirectRunner with failures",
            "FnApiRunner in memory",
            "FnApiRunner multi_processing",
            "FnApiRunner multi_threading",
            "FnApiRunner with repeated bundles",
            "PortableRunner with a worker pool",
        }


@pytest.mark.parametrize("name", ["csv", "text", "json lines"])
def test_bad_records_are_told_as_on_one_machine(tmp_path, draw_folder, name) -> None:
    draw, _, options = INPUTS[name]
    draw(tmp_path / "in", draw_folder)
    with pytest.raises(TfrecError) as local:
        tfrec_tools.convert(tmp_path / "in", tmp_path / "local", **options)
    with pytest.raises(TfrecError) as beam:
        running.run(request(tmp_path / "in", tmp_path / "beam", **options | {"on_error": "fail"}))
    assert (type(beam.value), str(beam.value)) == (type(local.value), str(local.value))
    assert not (tmp_path / "beam").exists()


@pytest.mark.parametrize("runner", ["FnApiRunner", "BundleBasedDirectRunner"])
def test_a_failure_that_persists_names_the_input_and_leaves_no_shard(
    tmp_path, draw_folder, monkeypatch, runner
) -> None:
    draw_csv(tmp_path / "in", draw_folder)
    (tmp_path / "in/1.csv").write_bytes(b"")  # known to be empty only when it is opened
    with pytest.raises(TfrecError, match=r"1\.csv"):
        running.run(request(tmp_path / "in", tmp_path / "out"), runner=runner)
    assert not (tmp_path / "out").exists()


def test_an_unknown_option_is_an_error(tmp_path, draw_folder) -> None:
    draw_csv(tmp_path / "in", draw_folder)
    with pytest.raises(RequestError) as error:
        running.run(request(tmp_path / "in", tmp_path / "out"), args=["--num_shrads=3"])
    assert str(error.value) == (
        "options must be those of tfrec-convert or of Beam (got --num_shrads); see "
        "`tfrec-convert --help` and the page of the runner"
    )


def test_too_many_rejected_inputs_are_an_error(tmp_path, draw_folder) -> None:
    draw_csv(tmp_path / "in", draw_folder)
    with pytest.raises(RecordError, match="at most 0 inputs may be rejected"):
        running.run(request(tmp_path / "in", tmp_path / "out", max_errors=0))


def test_counts_are_among_the_metrics(tmp_path, draw_folder) -> None:
    draw_text(tmp_path / "in", draw_folder)
    asked = request(
        tmp_path / "in", tmp_path / "out", kind="text", text={"record": "line", "min_chars": 30}
    )
    pipeline = pipeline_of([], "FnApiRunner")
    running.build(pipeline, asked)
    result = pipeline.run()
    result.wait_until_finish()
    found = {c.key.metric.name: c.committed for c in result.metrics().query()["counters"]}
    manifest = tfrec_tools.load_manifest(str(tmp_path / "out"))
    assert {name: found[name] for name in COUNTERS} == {
        "records_written": manifest.num_records,
        "inputs_rejected": 1,
        "records_left_out": manifest.left_out["too short"],
    }
    assert manifest.num_records + 1 + manifest.left_out["too short"] == 1_001


def test_less_than_150_bytes_are_shuffled_per_image(tmp_path) -> None:
    """Of an image only its place and path go through the group-by, as Beam encodes them."""
    keys = [
        f"class_of_images_{n % 40:03d}/a_photograph_with_a_long_name_{n:06d}.jpg"
        for n in range(500)
    ]
    assert 60 <= len(keys[0]) < 70
    for key in keys:
        (tmp_path / "in" / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / key).write_bytes(b"x")
    asked = request(tmp_path / "in", tmp_path / "out", num_shards=1_000)
    plan = local_engine.plan_conversion(asked).plan
    sizes = []
    coder = coders.registry.get_coder(Any)
    for unit in stages.list_units(asked):
        for batch in stages.list_unit(asked, unit):
            sizes += [len(coder.encode(e)) for e in _place((unit, batch), plan)]
    assert len(sizes) == 500
    assert max(sizes) < 150


TELLTALE = """
import importlib.abc, os, pathlib, sys
here = pathlib.Path(__file__).parent
(here / f"started-{os.getpid()}").touch()
class Telltale(importlib.abc.MetaPathFinder):
    def find_spec(self, name, *_):
        if name == "tensorflow":
            (here / "imported-tensorflow").touch()
sys.meta_path.insert(0, Telltale())
"""


def test_workers_never_import_tensorflow(compare, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(TELLTALE)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    compare("csv", args=("--direct_running_mode=multi_processing", "--direct_num_workers=2"))
    assert len(list(folder.glob("started-*"))) >= 2
    assert not (folder / "imported-tensorflow").exists()


def test_programs_take_input_and_output_by_name(tmp_path, draw_folder, file_hashes) -> None:
    draw_csv(tmp_path / "in", draw_folder)
    arguments = ["--splits", "train=0.5,test=0.5", "--on-error", "skip", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "beam_jobs.csv", "--input", str(tmp_path / "in"), "--output",
         str(tmp_path / "beam"), *arguments, "--direct_num_workers=1"],
        check=True,
    )  # fmt: skip
    tfrec_tools.convert(
        tmp_path / "in", tmp_path / "local", splits="train=0.5,test=0.5", on_error="skip"
    )
    assert file_hashes(tmp_path / "beam") == file_hashes(tmp_path / "local")
