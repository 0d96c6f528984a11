"""The engine of one machine: pools, progress, and workers that die."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tfrec_tools
from tfrec_tools import local_engine, worker_start
from tfrec_tools.errors import DatasetError


@pytest.fixture
def source(tmp_path, draw_folder, monkeypatch) -> Path:
    """Few files, but every conversion of them uses a pool."""
    monkeypatch.setattr(local_engine, "SMALL_NUM_FILES", 0)
    return draw_folder(tmp_path / "in", {"a": 30, "b": 30})


def test_progress_tells_of_listing_then_of_every_file(source, tmp_path) -> None:
    for workers in (1, 2):
        told: list[local_engine.Progress] = []
        tfrec_tools.convert(
            source,
            tmp_path / str(workers),
            num_workers=workers,
            num_shards=6,
            on_progress=told.append,
        )
        assert told[0].total_files is None
        assert {progress.total_files for progress in told} <= {None, 60}
        assert all(0 <= progress.num_files <= 60 for progress in told)
        assert told[-1].total_files == 60


def _die(*_: object) -> None:
    os._exit(9)


def test_a_worker_that_dies_is_an_error(source, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(local_engine, "_write_shard", _die)
    with pytest.raises(DatasetError) as found:
        tfrec_tools.convert(source, tmp_path / "out", num_workers=2, num_shards=6)
    assert str(found.value) == (
        "a worker process died (killed, or out of memory); run the same command again to go on, "
        "with fewer --workers if memory is short"
    )
    assert not (tmp_path / "out").exists()


def test_a_script_without_a_guard_is_not_run_again_by_workers(source, tmp_path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import tfrec_tools\nfrom tfrec_tools import local_engine\n"
        "local_engine.SMALL_NUM_FILES = 0\n"
        "print('started')\n"
        f"tfrec_tools.convert({str(source)!r}, {str(tmp_path / 'out')!r}, num_workers=2, "
        "num_shards=4)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "started\n"
    assert tfrec_tools.load_manifest(str(tmp_path / "out")).num_records == 60


def test_the_server_process_is_started_early_only_for_many_files(
    source, tmp_path, monkeypatch
) -> None:
    started = []
    monkeypatch.setattr(worker_start, "start_forkserver", lambda: started.append(True))
    monkeypatch.setattr(worker_start, "SMALL_NUM_FILES", 60)
    worker_start.start_early(str(source))
    worker_start.start_early(str(tmp_path / "nowhere"))
    worker_start.start_early("gs://bucket/folder")
    assert started == []
    monkeypatch.setattr(worker_start, "SMALL_NUM_FILES", 59)
    worker_start.start_early(str(source))
    assert started == [True]


def test_pandas_stays_usable_where_it_was_imported_before() -> None:
    code = (
        "import pandas, pyarrow as pa\nfrom tfrec_tools import worker_start\n"
        "worker_start.tune_own_process()\n"
        "print(pa.table({'x': [1]}).to_pandas().x.sum())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_workers_end_when_the_process_they_work_for_is_killed() -> None:
    code = (
        "import operator, time\nfrom tfrec_tools.local_engine.pool import workers\n"
        "with workers(2) as pool:\n"
        "    list(pool.run(operator.is_, [(1,)] * 8, lambda *_: None))\n"
        "    print(*pool._pool._processes, flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    workers = [int(pid) for pid in process.stdout.readline().split()]
    assert len(workers) == 2
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)
