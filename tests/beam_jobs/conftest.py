"""Requests, inputs of many units, and a look into the processes of workers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tfrec_tools
from tfrec_tools import tables
from tfrec_tools.request import Request
from tfrec_tools.request_parsing import make_request
from tfrec_tools.sources import csv_scanning, csv_table, text_ranges
from tfrec_tools.stages import shard_writing, spilling

BLOCK_BYTES = 4_096
CHUNK_BYTES = 16_384

WORKER = f"""
import os, sys
if any("worker" in argument for argument in sys.orig_argv):
    from tfrec_tools import stages, tables
    from tfrec_tools.sources import csv_scanning, csv_table, text_ranges
    from tfrec_tools.stages import shard_writing, spilling
    for module in (csv_scanning, csv_table, text_ranges, shard_writing):
        module.BLOCK_BYTES = {BLOCK_BYTES}
    tables.MIN_UNIT_BYTES = {BLOCK_BYTES}
    spilling.CHUNK_BYTES = {CHUNK_BYTES}

    def spied(name):
        original = getattr(stages, name)

        def spying(*args, **named):
            found = original(*args, **named)
            with open(os.path.join(os.environ["TFREC_SPIED"], str(os.getpid())), "a") as log:
                log.write(f"{{name}} {{' '.join(sys.modules)}}\\n")
            return found

        setattr(stages, name, spying)

    for name in ("list_unit", "scan", "encode_unit", "write_shard", "write_table_shard"):
        spied(name)
"""
"""Makes blocks small in a worker, too, and lets each stage say where it ran, and with what."""

Ran = dict[int, list[tuple[str, frozenset[str]]]]
"""By process: the stages that ran in it, each with the modules that were imported by then."""


@pytest.fixture(scope="session")
def engines() -> Iterator[set[str]]:
    """Collect the engines that really ran, and tell them at the end."""
    ran: set[str] = set()
    yield ran
    sys.stdout.write(f"\nParity was seen on: {', '.join(sorted(ran))}\n")


@pytest.fixture
def request_of() -> Callable[..., Request]:
    """Make a request with the defaults of `convert`."""

    def make(source: Path, output: Path, **options: Any) -> Request:
        names = (
            "kind schema splits split_files split_by stratify splits_from num_shards labels "
            "columns target csv text compression max_errors name spill_dir"
        )
        defaults: dict[str, Any] = dict.fromkeys(names.split())
        defaults |= {"seed": 0, "order": "shuffled", "check": "decode", "exclude": ()}
        defaults |= {"fail_fast": False, "overwrite": False, "split_method": "hash"}
        return make_request(str(source), str(output), **defaults | {"on_error": "fail"} | options)

    return make


@pytest.fixture
def many_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks, units and chunks so small that a few kB take many."""
    for module in (csv_scanning, csv_table, text_ranges, shard_writing):
        monkeypatch.setattr(module, "BLOCK_BYTES", BLOCK_BYTES)
    monkeypatch.setattr(tables, "MIN_UNIT_BYTES", BLOCK_BYTES)
    monkeypatch.setattr(spilling, "CHUNK_BYTES", CHUNK_BYTES)


@pytest.fixture(scope="session")
def worker_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what a process must have in its environment so that its workers are spied on."""
    folder = tmp_path_factory.mktemp("workers")
    (folder / "sitecustomize.py").write_text(WORKER)
    (folder / "ran").mkdir()
    root = str(Path(tfrec_tools.__file__).parent.parent)
    return {
        "PYTHONPATH": f"{folder}{os.pathsep}{root}",
        "TFREC_SPIED": str(folder / "ran"),
        # A pool starts literally `python`.
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


@pytest.fixture
def spied_workers(
    worker_environment: dict[str, str], many_units: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Ran]]:
    """Let workers started from now on have small blocks, and return what tells what ran in them."""
    for name, value in worker_environment.items():
        monkeypatch.setenv(name, value)
    folder = Path(worker_environment["TFREC_SPIED"])
    for path in folder.iterdir():
        path.unlink()

    def ran() -> Ran:
        lines = {int(path.name): path.read_text().splitlines() for path in folder.iterdir()}
        return {
            process: [(line.split()[0], frozenset(line.split()[1:])) for line in found]
            for process, found in lines.items()
        }

    yield ran


def free_ports() -> tuple[int, int]:
    """Return two ports that nobody listens on."""
    with socket.socket() as first, socket.socket() as second:
        for found in (first, second):
            found.bind(("localhost", 0))
        return int(first.getsockname()[1]), int(second.getsockname()[1])


@pytest.fixture(scope="session")
def spied_job_service(
    tmp_path_factory: pytest.TempPathFactory, worker_environment: dict[str, str]
) -> Iterator[tuple[str, ...]]:
    """Start Beam's job service and a pool of spied workers, and return the flags for both."""
    ports = free_ports()
    folder = tmp_path_factory.mktemp("service")
    service = "apache_beam.runners.portability.local_job_service_main"
    pool = "apache_beam.runners.worker.worker_pool_main"
    commands = [
        [service, "--job_port", str(ports[0]), "--staging_dir", str(folder)],
        [pool, "--service_port", str(ports[1])],
    ]
    with open(folder / "log", "w") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", *command],
                env=os.environ | worker_environment,
                stdout=log,
                stderr=log,
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
