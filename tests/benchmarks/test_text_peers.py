"""The ways to convert text: they do the same work."""

import subprocess

import pytest

from benchmarks.measuring import REPOSITORY
from benchmarks.programs import peer_command
from benchmarks.text_digest import TextDigest, digest_of, source_texts
from benchmarks.text_inputs import TextKind, drawn_text
from benchmarks.text_peers import convert_text_command, text_contenders

pytest.importorskip("tensorflow")

NUM_RECORDS = 300
KINDS = {TextKind.LINES: (), TextKind.DOCUMENTS: ("--labelled",)}


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.value)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def source(kind, tmp_path_factory):
    return drawn_text(kind, NUM_RECORDS, tmp_path_factory.mktemp("drawn"))


def run(command):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_names_of_contenders(kind, source):
    pytest.importorskip("tensorflow_datasets")
    names = {TextKind.LINES: ["ours", "loop", "tfds"], TextKind.DOCUMENTS: ["ours", "tfds"]}
    assert [one.name for one in text_contenders(kind, source)] == names[kind]


def test_all_write_the_records(kind, source, tmp_path):
    expected = digest_of(source_texts(source))
    assert expected.num_texts == NUM_RECORDS
    for contender in text_contenders(kind, source):
        output = tmp_path / contender.name
        output.mkdir()
        run(contender.command(output))
        printed = run(peer_command("digest_text", output, *KINDS[kind]))
        assert TextDigest.from_json(printed) == expected, contender.name


def test_command_line_of_ours(tmp_path):
    command = convert_text_command(tmp_path / "lines.txt", tmp_path / "out")
    assert command[3:] == [
        *("convert", tmp_path / "lines.txt", tmp_path / "out"),
        *("--overwrite", "--quiet", "--kind", "text"),
    ]
