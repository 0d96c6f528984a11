"""Runs one command and writes what it cost: wall time, CPU time, peak memory.

    python -I -S process_meter.py RESULT.json COMMAND [ARGUMENT]...

A program of its own, for two reasons. It is small: Linux counts the memory of the process
that calls exec towards the peak of the program it becomes, so a large caller would show up
in every result. And it adopts its descendants: the workers of a forkserver are nobody's
children once the command has ended, and without being adopted and waited for, their CPU
time and memory would be counted nowhere. Linux only; standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
ORPHANS_GRACE_S = 10.0
POLL_S = 0.005


def measure(command: list[str]) -> dict[str, float]:
    """Run ``command`` to its end and return its status and costs.

    ``peak_bytes`` is the resident memory of the largest single process among the command
    and all its descendants; ``cpu_s`` is the sum over all of them.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start_s = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall_s = time.perf_counter() - start_s
    usages = [usage, *_wait_for_orphans()]
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "wall_s": wall_s,
        "cpu_s": sum(used.ru_utime + used.ru_stime for used in usages),
        "peak_bytes": max(used.ru_maxrss for used in usages) * 1024,  # Linux counts in KiB
    }


def _wait_for_orphans() -> list[resource.struct_rusage]:
    """Wait for what the command left running, and end it after a while."""
    usages: list[resource.struct_rusage] = []
    deadline_s = time.monotonic() + ORPHANS_GRACE_S
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return usages
        if pid:
            usages.append(usage)
            continue
        if time.monotonic() > deadline_s:
            for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        time.sleep(POLL_S)


def main() -> None:
    """Measure the command on the command line."""
    result_path, *command = sys.argv[1:]
    Path(result_path).write_text(json.dumps(measure(command)), encoding="utf-8")


if __name__ == "__main__":
    main()
