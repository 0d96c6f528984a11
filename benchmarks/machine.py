"""Says what a benchmark ran on: hardware and versions, and nothing that names a person's machine."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from benchmarks.measuring import has_program

PACKAGES = (
    "tensorflow",
    "keras",
    "tensorflow-datasets",
    "numpy",
    "pyarrow",
    "pandas",
    "pillow",
    "simplejpeg",
    "google-crc32c",
)


def describe_machine(work: Path) -> str:
    """Return markdown lines; ``work`` is where the contenders read and write."""
    cores = os.sched_getaffinity(0)
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    lines = [
        f"{_cpu_model()}, {len(cores)} of {os.cpu_count()} cores, {memory_bytes / 1e9:.0f} GB of memory",
        f"{platform.system()} {platform.release()}, file system {file_system(work)}, files in the page cache",
        f"{platform.python_implementation()} {platform.python_version()}, {_versions(PACKAGES)}",
    ]
    if has_program("tar"):
        lines.append(_tar_version())
    return "\n".join(f"* {line}" for line in lines)


def file_system(path: Path) -> str:
    """Return the type of the file system that a path lies on, such as ext4."""
    best_mount, best_type = "", "unknown"
    for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines():
        _, mount, kind, *_ = line.split()
        # The longest mount point that holds the path; of equal ones the last hides the others.
        if path.resolve().is_relative_to(mount) and len(mount) >= len(best_mount):
            best_mount, best_type = mount, kind
    return best_type


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _versions(packages: Sequence[str]) -> str:
    found = []
    for name in packages:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


def _tar_version() -> str:
    done = subprocess.run(
        ["tar", "--version"], stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    return done.stdout.splitlines()[0]
