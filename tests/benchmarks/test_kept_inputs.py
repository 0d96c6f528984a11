"""Drawn files: written once, and whole."""

import pyarrow as pa
import pytest

from benchmarks.kept_inputs import joined_bytes, kept_file


def test_a_file_is_written_once(tmp_path):
    path = kept_file(tmp_path / "data.txt", [b"one\n", b"two\n"])
    assert path.read_bytes() == b"one\ntwo\n"
    assert kept_file(path, [b"other"]) == path
    assert path.read_bytes() == b"one\ntwo\n"


def test_a_file_that_was_broken_off_is_written_anew(tmp_path):
    def broken_off():
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept_file(tmp_path / "data.txt", broken_off())
    assert not (tmp_path / "data.txt").exists()
    assert kept_file(tmp_path / "data.txt", [b"all"]).read_bytes() == b"all"
    assert [path.name for path in tmp_path.iterdir()] == ["data.txt"]


def test_bytes_of_a_slice():
    strings = pa.array(["a", "bé", "", "c", "d"])
    assert joined_bytes(strings) == "abécd".encode()
    assert joined_bytes(strings.slice(1, 3)) == "béc".encode()
    assert joined_bytes(strings.slice(5)) == b""
