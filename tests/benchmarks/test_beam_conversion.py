"""The engines that are compared do the same work."""

import subprocess

import pytest

from benchmarks.beam_conversion import LOCAL, beam_contenders
from benchmarks.measuring import REPOSITORY
from benchmarks.text_inputs import TextKind, drawn_text

pytest.importorskip("apache_beam")


def test_every_engine_writes_the_same_files(tmp_path, file_hashes) -> None:
    source = drawn_text(TextKind.LINES, 300, tmp_path)
    found = {}
    for contender in beam_contenders(source):
        output = tmp_path / contender.name
        command = [str(part) for part in contender.command(output)]
        subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
        found[contender.name] = file_hashes(output)
    assert list(found) == [LOCAL, "beam-in-memory", "beam-two-processes"]
    assert all(hashes == found[LOCAL] for hashes in found.values())
