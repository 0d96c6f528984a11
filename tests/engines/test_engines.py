"""Engines that are programs of their own; `make test-engines` runs these where they are there.

``TFREC_PRISM``: Beam's Prism, built with `go install`. Without it, and where `go` cannot
build it, the tests are skipped.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tfrec_tools
from tfrec_tools.request_parsing import make_request

logging.disable(logging.WARNING)
beam = pytest.importorskip("apache_beam")
running = pytest.importorskip("beam_jobs.running")
logging.disable(logging.NOTSET)

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def prism(tmp_path_factory) -> str:
    """Return Prism's program: the one that is named, or one that is built."""
    named = os.environ.get("TFREC_PRISM")
    if named:
        return named
    if shutil.which("go") is None:
        pytest.skip("Prism is not named by TFREC_PRISM, and there is no `go` to build it")
    folder = tmp_path_factory.mktemp("go")
    module = f"github.com/apache/beam/sdks/v2/go/cmd/prism@v{beam.__version__}"
    environment = os.environ | {"GOBIN": str(folder)}
    built = subprocess.run(
        ["go", "install", module], env=environment, capture_output=True, timeout=900, check=False
    )
    if built.returncode:
        pytest.skip(f"Prism {beam.__version__} could not be built")
    return str(folder / "prism")


def draw_csv(folder: Path) -> None:
    folder.mkdir()
    rows = "".join(f'{n},"a ""cell""\nof {n}"\n' for n in range(500))
    (folder / "a.csv").write_text("id,text\n" + rows + "7\n")


def draw_text(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.txt").write_bytes(b"".join(b"line %d\n" % n for n in range(500)) + b"bad \xff\n")


@pytest.mark.parametrize("name", ["images", "csv", "text"])
def test_prism_writes_the_same_bytes(prism, tmp_path, draw_folder, file_hashes, name) -> None:
    source = tmp_path / "in"
    if name == "images":
        draw_folder(source, {"a": 9, "b": 5})
        (source / "a" / "bad.jpg").write_bytes(b"no picture")
    else:
        (draw_csv if name == "csv" else draw_text)(source)
    options = {
        "splits": {"train": 0.8, "test": 0.2},
        "num_shards": {"train": 3, "test": 40},
        "on_error": "skip",
        "kind": name,
    }
    local = tfrec_tools.convert(source, tmp_path / "local", **options)
    defaults = dict.fromkeys(
        [
            "schema",
            "split_files",
            "split_by",
            "stratify",
            "splits_from",
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
    ) | {"seed": 0, "order": "shuffled", "check": "decode", "exclude": ()}
    defaults |= {"fail_fast": False, "overwrite": False, "split_method": "hash"}
    request = make_request(str(source), str(tmp_path / "beam"), **defaults | options)
    manifest = running.run(request, runner="PrismRunner", args=[f"--prism_location={prism}"])
    assert manifest == local
    assert file_hashes(tmp_path / "beam") == file_hashes(tmp_path / "local")
