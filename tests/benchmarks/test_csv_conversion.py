"""``python -m benchmarks csv`` and ``csv-read``, with contenders that are there everywhere."""

import pytest
from click.testing import CliRunner

from benchmarks import csv_conversion
from benchmarks.cli import benchmarks_group
from benchmarks.measuring import Measurement

SECOND = {"cpu_s": 1, "peak_bytes": 10**8, "written_bytes": 0, "printed": ""}


@pytest.fixture(autouse=True)
def all_cores_stay_usable(monkeypatch):
    """The commands bind their process to some cores; here that process is the tests' own."""
    monkeypatch.setattr("benchmarks.run_options.use_cores", lambda _num_cores: 1)


def invoke(*arguments):
    return CliRunner().invoke(benchmarks_group, [str(argument) for argument in arguments])


def test_csv_without_ours(tmp_path):
    pytest.importorskip("tensorflow_datasets")
    names = ("pyarrow", "pandas-loop", "tfds")
    only = [f"--only={name}" for name in names]
    result = invoke(
        "csv", "--records=2000", "--runs=2", "--slow-runs=1", *only, f"--work={tmp_path}"
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(
        "### Converting a CSV file of 2,000 records and 10 columns, 0 MB\n"
    )
    assert "; 2 runs each, 1 of pandas-loop, 1 of tfds.\n" in result.stdout
    assert [f"| {name} " in result.stdout for name in names] == [True] * 3
    assert result.stdout.endswith("The promises are made for 1,000,000 records.\n")
    assert str(tmp_path) not in result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "records-2000-v1.csv",
        "records.yaml",
    ]


def test_csv_read_of_the_file_itself(tmp_path):
    pytest.importorskip("tensorflow")
    arguments = ("--records=2000", "--runs=1", "--only=make-csv-dataset", f"--work={tmp_path}")
    result = invoke("csv-read", *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("### Reading 2,000 records of a CSV file\n")
    assert "1 run each; `--batch-size 256`." in result.stdout
    assert "| make-csv-dataset |" in result.stdout


@pytest.mark.parametrize(
    ("command", "names"),
    [("csv", "ours, ours-inferred, ours-one-shard, pyarrow"), ("csv-read", "make-csv-dataset")],
)
def test_unknown_contender(tmp_path, command, names):
    result = invoke(command, "--records=2", "--only=nobody", f"--work={tmp_path}")
    assert result.exit_code == 1
    assert f"must be one of {names}" in result.output


def run(wall_s):
    return Measurement(wall_s=wall_s, **SECOND)


def test_targets_leave_out_what_was_not_measured():
    results = {
        "ours": [run(1), run(2), run(3)],
        "ours-inferred": [run(4)],
        "pyarrow": [run(0.25)],
        "tfds": [run(90)],
    }
    targets = csv_conversion.csv_targets(results)
    assert [(target.what, target.measured, target.is_reached) for target in targets] == [
        ("time of tfds ÷ ours", 45, True),
        ("time of tfds ÷ ours-inferred", 22.5, False),
        ("time of ours ÷ pyarrow", 8, False),
        ("peak memory of ours, largest process", 100, True),
        ("peak memory of ours-inferred, largest process", 100, True),
    ]


def test_command_lines_of_ours(tmp_path):
    ours, inferred, one_shard = (
        one.command(tmp_path / "out")[3:]
        for one in csv_conversion.csv_contenders(tmp_path / "data.csv", tmp_path / "s.yaml")[:3]
    )
    assert inferred == [
        "convert",
        tmp_path / "data.csv",
        tmp_path / "out",
        "--overwrite",
        "--quiet",
    ]
    assert ours == [*inferred, "--schema", tmp_path / "s.yaml"]
    assert one_shard == [*inferred, "--num-shards", "1", "--schema", tmp_path / "s.yaml"]
