"""Command lines of contenders, and which contenders the machine can run."""

import sys
from pathlib import Path

import pytest

from benchmarks.measuring import BenchmarkError, Contender
from benchmarks.programs import convert_command, peer_command, printed_by, with_packages


def test_command_lines():
    source, output = Path("data"), Path("out")
    assert convert_command(source, output, "--kind", "text") == [
        *(sys.executable, "-m", "tfrec_tools", "convert", source, output),
        *("--overwrite", "--quiet", "--kind", "text"),
    ]
    assert peer_command("text_loop", source, output) == [
        *(sys.executable, "-m", "benchmarks.peers.text_loop", source, output)
    ]


def test_contenders_without_their_packages_are_left_out(capsys):
    contenders = [Contender(name, "a test", lambda _output: ["true"]) for name in "abc"]
    needs = {"a": ("json",), "b": ("json", "no_such_package", "nor_this_one")}
    assert [one.name for one in with_packages(contenders, needs)] == ["a", "c"]
    said = capsys.readouterr().err
    assert said == "b is left out: not installed: no_such_package, nor_this_one\n"


def test_what_a_command_printed():
    code = "import sys; print('result'); print('chatter', file=sys.stderr)"
    assert printed_by([sys.executable, "-c", code], task="a test") == "result\n"


def test_a_failure_says_what_the_command_said():
    code = "import sys; print('so far'); sys.exit('bad luck')"
    with pytest.raises(BenchmarkError) as caught:
        printed_by([sys.executable, "-c", code], task="reading")
    assert str(caught.value) == "reading failed:\nso far\nbad luck\n"
