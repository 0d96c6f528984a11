"""Peak memory of converting lines, with small files."""

import pytest

from benchmarks import text_memory
from benchmarks.measuring import BenchmarkError, Measurement
from benchmarks.text_inputs import TextKind, drawn_text
from benchmarks.text_memory import MemoryRun, memory_report, require_disk


def memory_run(what, input_mb, peak_mb):
    cost = Measurement(
        wall_s=2, cpu_s=3, peak_bytes=peak_mb * 10**6, written_bytes=10**6, printed=""
    )
    return MemoryRun(what=what, input_bytes=input_mb * 10**6, cost=cost)


def test_report(tmp_path):
    names, input_mb, peak_mb = ("one", "big", "odd"), (100, 2_000, 70), (200, 210, 401)
    runs = [memory_run(*values) for values in zip(names, input_mb, peak_mb, strict=True)]
    report = memory_report(runs, tmp_path)
    assert report.startswith("### Memory of converting lines\n\n* ")
    assert report.partition("one run of each.\n\n")[2] == (
        "|     | MB read |    s | CPU s | peak MB | MB written |\n"
        "| :-- | ------: | ---: | ----: | ------: | ---------: |\n"
        "| one |     100 | 2.00 |  3.00 |     200 |       1.00 |\n"
        "| big |   2,000 | 2.00 |  3.00 |     210 |       1.00 |\n"
        "| odd |    70.0 | 2.00 |  3.00 |     401 |       1.00 |\n\n"
        "Peak memory of big ÷ that of one: 1.05x.\n\n"
        "| target                              |       promised | measured | reached |\n"
        "| :---------------------------------- | -------------: | -------: | ------: |\n"
        "| peak memory of one, largest process | at most 400 MB |   200 MB |     yes |\n"
        "| peak memory of big, largest process | at most 400 MB |   210 MB |     yes |\n"
        "| peak memory of odd, largest process | at most 400 MB |   401 MB |      NO |"
    )


def test_too_little_disk(tmp_path):
    require_disk(tmp_path, 1)
    with pytest.raises(
        BenchmarkError,
        match=r"^--work must have 5,000,000,000 MB of free disk \(it has [\d,]+\); "
        r"name another folder$",
    ):
        require_disk(tmp_path, 10**15)


def test_files_are_measured_and_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(text_memory, "LONG_LINE_BYTES", 2 << 20)
    lines = drawn_text(TextKind.LINES, 1_000, tmp_path)
    once, large, long_line = text_memory.measured_memory(lines, tmp_path)
    assert [run.what for run in (once, large, long_line)] == [
        "the file",
        "20 times the file",
        "a line of 2 MiB",
    ]
    assert large.input_bytes == 20 * once.input_bytes == 20 * lines.stat().st_size
    assert all(run.cost.written_bytes > run.input_bytes for run in (once, large, long_line))
    assert list(tmp_path.iterdir()) == [lines]
