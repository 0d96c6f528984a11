"""Costs of processes whose costs are known."""

import sys

import pytest

from benchmarks.measuring import BenchmarkError, Contender, Spread, measure, measure_in_turns

ALLOCATED_BYTES = 120_000_000
USE_MEMORY = f"data = b'x' * {ALLOCATED_BYTES}"
USE_CPU = "import time\nwhile time.process_time() < 0.5: pass"


def python(code, name="python"):
    return Contender(name, "a test", lambda _output: [sys.executable, "-S", "-c", code])


def started_and_left(code):
    """Return a command that ends while its child goes on, as a pool's parent may."""
    starts = (
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-S', '-c', {code!r}], stdout=subprocess.DEVNULL)"
    )
    return python(starts)


def test_memory_of_a_command(tmp_path):
    assert ALLOCATED_BYTES < measure(python(USE_MEMORY), tmp_path).peak_bytes < 160_000_000


def test_memory_of_the_caller_is_not_counted(tmp_path):
    held = b"x" * ALLOCATED_BYTES
    assert measure(python("pass"), tmp_path).peak_bytes < 40_000_000 < len(held)


def test_memory_is_that_of_the_largest_process_not_the_sum(tmp_path):
    child = (
        f"import subprocess, sys\n{USE_MEMORY}\n"
        f"subprocess.run([sys.executable, '-S', '-c', {USE_MEMORY!r}], check=True)"
    )
    assert ALLOCATED_BYTES < measure(python(child), tmp_path).peak_bytes < 160_000_000


def test_time_of_a_command(tmp_path):
    measured = measure(python(USE_CPU), tmp_path)
    assert 0.5 <= measured.cpu_s < 2
    assert measured.wall_s >= 0.5


def test_sleep_costs_wall_time_and_no_cpu_time(tmp_path):
    measured = measure(python("import time; time.sleep(0.5)"), tmp_path)
    assert measured.wall_s >= 0.5 > measured.cpu_s


def test_processes_that_are_left_running_are_counted(tmp_path):
    measured = measure(started_and_left(f"{USE_MEMORY}\n{USE_CPU}"), tmp_path)
    assert measured.cpu_s >= 0.5
    assert measured.peak_bytes > ALLOCATED_BYTES


def test_what_a_command_wrote_and_printed(tmp_path):
    code = "import sys; open(sys.argv[1] + '/file', 'wb').write(bytes(1234)); print('done')"
    writer = Contender("writer", "a test", lambda output: [sys.executable, "-c", code, output])
    measured = measure(writer, tmp_path)
    assert (measured.written_bytes, measured.printed) == (1234, "done\n")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_says_what_the_command_said(tmp_path):
    with pytest.raises(BenchmarkError, match=r"(?s)python ended with exit code 3:.*bad luck"):
        measure(python("import sys; print('bad luck'); sys.exit(3)"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_does_not_exist(tmp_path):
    missing = Contender("missing", "a test", lambda _output: ["no-such-program"])
    with pytest.raises(BenchmarkError, match="missing could not be run"):
        measure(missing, tmp_path)


def test_contenders_take_turns_and_the_first_round_is_not_counted(tmp_path):
    seen = []

    def contender(name):
        def command(_output):
            seen.append(name)
            return ["true"]

        return Contender(name, "a test", command)

    lines = []
    results = measure_in_turns(
        [contender("a"), contender("b")], num_runs=2, work=tmp_path, on_run=lines.append
    )
    assert "".join(seen) == "ababab"
    assert {name: len(runs) for name, runs in results.items()} == {"a": 2, "b": 2}
    assert [line.rpartition(":")[0] for line in lines] == [
        "warm-up: a",
        "warm-up: b",
        "run 1 of 2: a",
        "run 1 of 2: b",
        "run 2 of 2: a",
        "run 2 of 2: b",
    ]


def test_spread():
    assert Spread.of([3.0, 1.0, 2.0]) == Spread(2.0, 1.0, 3.0)
