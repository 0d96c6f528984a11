"""``python -m benchmarks text``, with few records."""

import pytest
from click.testing import CliRunner

from benchmarks.cli import benchmarks_group
from benchmarks.measuring import BenchmarkError, Measurement
from benchmarks.text_conversion import comparison, text_targets
from benchmarks.text_digest import digest_of
from benchmarks.text_inputs import TextKind

SECOND = {"cpu_s": 1, "peak_bytes": 10**8, "written_bytes": 0, "printed": ""}


@pytest.fixture(autouse=True)
def all_cores_stay_usable(monkeypatch):
    """The commands bind their process to some cores; here that process is the tests' own."""
    monkeypatch.setattr("benchmarks.run_options.use_cores", lambda _num_cores: 1)


def invoke(*arguments):
    return CliRunner().invoke(benchmarks_group, ["text", *map(str, arguments)])


@pytest.mark.parametrize(
    ("flags", "title", "kept"),
    [
        ([], "### Converting 200 lines of ", "lines-200-v1.txt"),
        (["--documents"], "### Converting 200 documents of ", "documents-200-v1"),
    ],
)
def test_ours_alone(tmp_path, flags, title, kept):
    pytest.importorskip("tensorflow")
    arguments = ["--records=200", "--runs=1", "--only=ours", f"--work={tmp_path}"]
    result = invoke(*flags, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(title)
    assert "; 1 run each.\n" in result.stdout
    assert "| ours |" in result.stdout
    assert f"The promises are made for {1_000_000 if not flags else 50_000:,} records." in (
        result.stdout
    )
    last = result.stdout.splitlines()[-1]
    assert last.startswith("Input and output hold the same 200 texts, in any order (sum of hashes ")
    assert str(tmp_path) not in result.stdout
    assert [path.name for path in tmp_path.iterdir()] == [kept]


def test_memory_of_documents_is_refused(tmp_path):
    result = invoke("--memory", "--documents", f"--work={tmp_path}")
    assert result.exit_code == 2
    assert "--memory is for lines (got --documents too); leave one out" in result.output


def test_unknown_contender(tmp_path):
    result = invoke("--records=2", "--only=nobody", f"--work={tmp_path}")
    assert result.exit_code == 1
    assert "--only must be one of ours" in result.output


def run(wall_s):
    return Measurement(wall_s=wall_s, **SECOND)


def test_targets_of_lines():
    results = {"ours": [run(3)], "loop": [run(12)], "tfds": [run(75)]}
    targets = text_targets(TextKind.LINES, results)
    assert [(target.what, target.measured, target.is_reached) for target in targets] == [
        ("time of tfds ÷ ours", 25, True),
        ("time of loop ÷ ours", 4, False),
        ("peak memory of ours, largest process", 100, True),
    ]


def test_targets_of_documents():
    targets = text_targets(TextKind.DOCUMENTS, {"ours": [run(2)], "tfds": [run(5)]})
    assert [(target.what, target.measured, target.is_reached) for target in targets] == [
        ("time of tfds ÷ ours", 2.5, False),
        ("peak memory of ours, largest process", 100, True),
    ]


def test_equal_texts():
    assert comparison(digest_of([b"a", b"b"]), digest_of([b"b", b"a"])) == (
        "Input and output hold the same 2 texts, in any order (sum of hashes "
        f"{digest_of([b'a', b'b']).hex_sum})."
    )


def test_other_texts_make_the_benchmark_fail():
    source, stored = digest_of([b"a", b"b"]), digest_of([b"a", b"c"])
    with pytest.raises(BenchmarkError) as caught:
        comparison(source, stored)
    assert str(caught.value) == (
        f"the records must be those of the input, {source.to_json()} (got {stored.to_json()}); "
        "the times mean nothing until that is mended"
    )
