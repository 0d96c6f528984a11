"""Drawn text: the same every time, and of the size that the targets are set for."""

from collections import Counter
from statistics import mean

import pytest

from benchmarks import text_inputs
from benchmarks.text_inputs import CHUNK_NUM_LINES, TextKind, draw_lines, drawn_text


@pytest.fixture(scope="module")
def lines():
    return draw_lines(0).to_pylist()


def test_a_chunk_is_a_function_of_its_index(lines):
    assert draw_lines(0).to_pylist() == lines != draw_lines(1).to_pylist()


def test_lines_are_of_about_100_bytes_and_of_many_lengths(lines):
    assert len(lines) == CHUNK_NUM_LINES
    sizes = [len(line.encode()) for line in lines]
    assert 97 < mean(sizes) < 103
    assert min(sizes) < 40
    assert max(sizes) > 170
    assert {line.count(" ") for line in lines} == set(range(7, 29))
    assert all(line.endswith("\n") and line.count("\n") == 1 for line in lines)


def test_words_are_as_unequal_as_those_of_a_language(lines):
    words = Counter(word for line in lines for word in line.split())
    frequencies = [count for _, count in words.most_common()]
    share = frequencies[0] / sum(frequencies)
    assert 0.02 < share < 0.05
    assert 0.3 < frequencies[15] / frequencies[3] < 0.5
    assert len(words) > 20_000


def test_some_words_are_not_ascii(lines):
    share = mean(not word.isascii() for line in lines[:5_000] for word in line.split())
    assert 0.05 < share < 0.15


def test_a_file_of_several_chunks_has_them_one_after_the_other(tmp_path, lines):
    path = drawn_text(TextKind.LINES, CHUNK_NUM_LINES + 1, tmp_path)
    assert path.name == f"lines-{CHUNK_NUM_LINES + 1}-v1.txt"
    drawn = path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert drawn[:-1] == lines
    assert drawn[-1] == draw_lines(1)[0].as_py()


def test_documents_in_class_folders(tmp_path, lines):
    folder = drawn_text(TextKind.DOCUMENTS, 5, tmp_path)
    assert folder.name == "documents-5-v1"
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.txt"))
    assert paths == [
        "neg/document_000000.txt",
        "neg/document_000002.txt",
        "neg/document_000004.txt",
        "pos/document_000001.txt",
        "pos/document_000003.txt",
    ]
    text = (folder / "pos/document_000001.txt").read_bytes().decode()
    assert text == "".join(lines[13:26])


def test_documents_are_of_about_1300_bytes(tmp_path):
    folder = drawn_text(TextKind.DOCUMENTS, 500, tmp_path)
    assert 1_260 < mean(path.stat().st_size for path in folder.rglob("*.txt")) < 1_340


def test_documents_are_drawn_once_and_those_broken_off_anew(tmp_path):
    folder = drawn_text(TextKind.DOCUMENTS, 2, tmp_path)
    first = folder / "neg/document_000000.txt"
    first.write_bytes(b"kept")
    assert drawn_text(TextKind.DOCUMENTS, 2, tmp_path) == folder
    assert first.read_bytes() == b"kept"
    folder.rename(folder.with_suffix(".partial"))
    assert drawn_text(TextKind.DOCUMENTS, 2, tmp_path) == folder
    assert first.read_bytes() != b"kept"


def test_a_file_several_times_over(tmp_path):
    path = tmp_path / "once.txt"
    path.write_bytes(b"one\ntwo\n")
    assert text_inputs.repeated_file(path, 3, tmp_path / "more.txt").read_bytes() == (
        b"one\ntwo\n" * 3
    )


@pytest.mark.parametrize("num_bytes", [10_000, 10_001, 10_002, 6_000_000])
def test_a_long_line_in_the_middle(tmp_path, num_bytes):
    path = text_inputs.file_with_long_line(num_bytes, tmp_path / "long.txt")
    found = path.read_bytes().decode().encode().splitlines()
    assert len(found) == 2 * CHUNK_NUM_LINES + 1
    assert len(found[CHUNK_NUM_LINES]) == num_bytes
    assert found[:CHUNK_NUM_LINES] == found[CHUNK_NUM_LINES + 1 :]
