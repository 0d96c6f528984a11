"""The command line, with contenders that are there everywhere."""

import pytest
from click.testing import CliRunner

from benchmarks import image_conversion, image_reading, machine
from benchmarks.cli import benchmarks_group
from benchmarks.inputs import ImageKind
from benchmarks.measuring import Measurement

SECOND = {"cpu_s": 1, "peak_bytes": 10**8, "written_bytes": 0, "printed": ""}


@pytest.fixture(autouse=True)
def all_cores_stay_usable(monkeypatch):
    """The commands bind their process to some cores; here that process is the tests' own."""
    monkeypatch.setattr("benchmarks.run_options.use_cores", lambda _num_cores: 1)


def test_help_names_every_benchmark():
    result = CliRunner().invoke(benchmarks_group, ["--help"])
    assert result.exit_code == 0
    assert {"images", "read", "csv", "csv-read", "text"} <= set(
        result.output.split("Commands:")[1].split()
    )


def test_images_with_one_contender(tmp_path):
    arguments = ["images", "--small", "--num-images=20", "--runs=1", "--only=ours-header"]
    result = CliRunner().invoke(benchmarks_group, [*arguments, f"--work={tmp_path}"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("### Converting 20 images of 1.0 KB, 0 MB\n")
    assert "| ours-header |" in result.stdout
    assert "| peak memory of ours-header" in result.stdout
    assert str(tmp_path) not in result.stdout


def test_unknown_contender(tmp_path):
    arguments = ["images", "--small", "--num-images=2", "--only=nobody", f"--work={tmp_path}"]
    result = CliRunner().invoke(benchmarks_group, arguments)
    assert result.exit_code == 1
    assert "must be one of ours-header, ours-decode" in result.output


def test_conversion_targets_leave_out_what_was_not_measured():
    results = {
        "ours-header": [Measurement(wall_s=1, **SECOND)],
        "tfds": [Measurement(wall_s=9, **SECOND)],
    }
    targets = image_conversion.conversion_targets(ImageKind.PHOTOS, results)
    assert [(target.what, target.measured, target.is_reached) for target in targets] == [
        ("time of tfds ÷ ours-header", 9, True),
        ("peak memory of ours-header, largest process", 100, True),
    ]


def test_reading_targets():
    rates = {"ours": [940, 950, 960], "tf-data": [1000], "keras": [900], "ours-raw": [4000]}
    targets = image_reading.reading_targets(rates)
    assert [(target.what, target.is_reached) for target in targets] == [
        ("rate of ours ÷ tf-data", True),
        ("rate of ours ÷ keras", True),
        ("rate of ours-raw ÷ keras", False),
    ]


def test_the_machine_is_described_without_names_or_paths(tmp_path):
    text = machine.describe_machine(tmp_path)
    assert "cores" in text
    assert "numpy" in text
    assert str(tmp_path) not in text
    assert machine.platform.node() not in text
