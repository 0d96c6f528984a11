"""Digests of texts: of all of them, in any order."""

import pytest

from benchmarks.text_digest import TextDigest, digest_of, source_texts

TEXTS = [b"one", b"two", b"", b"two"]


def test_no_texts():
    assert digest_of([]) == TextDigest(num_texts=0, hex_sum="0" * 32)


def test_the_order_does_not_matter():
    assert digest_of(TEXTS) == digest_of(sorted(TEXTS))
    assert digest_of(TEXTS).num_texts == 4


@pytest.mark.parametrize(
    "others",
    [
        [b"one", b"two", b""],
        [b"one", b"one", b"", b"two"],
        [b"one", b"", b"", b""],
        [b"onetwo", b"", b"", b"two"],
        [b"one ", b"two", b"", b"two"],
    ],
    ids=["lost", "doubled", "pair lost", "joined", "changed"],
)
def test_other_texts_have_another_digest(others):
    assert digest_of(others) != digest_of(TEXTS)


def test_json():
    digest = digest_of(TEXTS)
    assert TextDigest.from_json(digest.to_json()) == digest


@pytest.mark.parametrize("data", [b"one\r\n\n two \n", b"one\r\n\n two "])
def test_lines_end_at_line_feeds(tmp_path, data):
    path = tmp_path / "lines.txt"
    path.write_bytes(data)
    assert list(source_texts(path)) == [b"one\r", b"", b" two "]


def test_documents_come_with_their_class(tmp_path):
    for name in ("neg", "pos"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_bytes(b"text\n")
    assert sorted(source_texts(tmp_path)) == [b"neg\0text\n", b"pos\0text\n"]
