"""Glob patterns: what each wildcard stands for, and what it does not."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.errors import RequestError
from tfrec_tools.path_globs import compiled, folder_pattern, matches, takes_folder

FITS = [
    ("*.png", "a.png"),
    ("*.png", "x/y/a.png"),
    ("fold1_*", "x/fold1_7.jpg"),
    ("test/*", "test/a.png"),
    ("test/**", "test/x/a.png"),
    ("**/a.png", "a.png"),
    ("**/a.png", "x/y/a.png"),
    ("a/**/b", "a/b"),
    ("a/**/b", "a/x/y/b"),
    ("*/x/*", "a/x/b"),
    ("/test/*/", "test/a"),
    ("?.png", "a.png"),
    ("[ab].png", "b.png"),
    ("[0-9][0-9].png", "07.png"),
    ("[!ab].png", "c.png"),
    ("[]a].png", "].png"),
    ("[!]a].png", "b.png"),
    ("[a-]x", "-x"),
    ("[-a]x", "-x"),
    ("[\\]x", "\\x"),
    ("[a&&b]x", "&x"),
    ("[[]x", "[x"),
    ("[ab", "[ab"),
    ("[!]", "[!]"),
    ("a]", "a]"),
    ("a+(b)|c", "a+(b)|c"),
    ("a\nb", "a\nb"),
    ("*", "a\nb"),
    ("**/*", "x/a\nb"),
    ("?.png", "ä.png"),
    ("[äö].png", "ö.png"),
    ("[!ä].png", "ö.png"),
    ("[а-я]*", "жук.png"),  # noqa: RUF001
    ("猫/*", "猫/1.png"),
    ("?.png", "😀.png"),
]
DOES_NOT_FIT = [
    ("*.png", "a.png/b"),
    ("fold1_*", "fold1_x/7.jpg"),
    ("test/*", "test/x/a.png"),
    ("test/**", "tests/a.png"),
    ("**/a.png", "xa.png"),
    ("a/**/b", "a/xb"),
    ("*/x/*", "a/b/x/c"),
    ("?.png", ".png"),
    ("?.png", "ab.png"),
    ("a?b", "a/b"),
    ("[ab].png", "c.png"),
    ("[^ab].png", "a.png"),
    ("x[!a]y", "x/y"),
    ("x[.-0]y", "x/y"),
    ("a.png", "aXpng"),
    ("A.png", "a.png"),
    ("", "a"),
    ("??.png", "ä.png"),
    ("*??", "€"),
    ("[äö].png", "ü.png"),
]
TAKES = [
    ("drafts", "drafts"),
    ("drafts", "x/drafts"),
    ("drafts/*", "drafts"),
    ("drafts/**", "drafts"),
    ("drafts/**", "drafts/x"),
]
DOES_NOT_TAKE = [
    ("drafts/*.png", "drafts"),
    ("*.png", "drafts"),
    ("x/drafts", "drafts"),
    ("**", ""),
]


class TestMatches:
    @pytest.mark.parametrize(("pattern", "path"), FITS)
    def test_takes_a_path_that_fits_as_a_whole(self, pattern: str, path: str) -> None:
        assert matches(pattern, path.encode())

    @pytest.mark.parametrize(("pattern", "path"), DOES_NOT_FIT)
    def test_takes_no_other_path(self, pattern: str, path: str) -> None:
        assert not matches(pattern, path.encode())

    def test_names_that_are_no_utf8_fit_wildcards_and_their_own_text(self) -> None:
        assert matches("*.png", b"\xff\xfe.png")
        assert matches("x/?.png", b"x/\xff.png")
        assert matches(os.fsdecode(b"\xff.png"), b"\xff.png")
        assert not matches("ÿ.png", b"\xff.png")

    @pytest.mark.parametrize("pattern", ["[b-a]", "x/[z-0]*", "[a--b]"])
    def test_a_range_downwards_is_an_error(self, pattern: str) -> None:
        with pytest.raises(RequestError, match="a range in a pattern must go upwards"):
            matches(pattern, b"a")

    def test_the_error_shows_range_and_pattern(self) -> None:
        with pytest.raises(RequestError) as caught:
            compiled("x/[z-0]*")
        assert str(caught.value) == "a range in a pattern must go upwards (got z-0 in 'x/[z-0]*')"

    @given(st.text(alphabet="ab*?[]!^-/.\\äß^$(){}|+\n", max_size=12), st.binary(max_size=8))
    def test_any_text_is_a_pattern_or_a_request_error(self, pattern: str, path: bytes) -> None:
        try:
            matches(pattern, path)
        except RequestError as error:
            assert "must go upwards" in str(error)

    @given(st.lists(st.text(alphabet="abä.+$", min_size=1, max_size=4), min_size=2, max_size=4))
    def test_a_path_without_wildcards_fits_itself_only(self, names: list[str]) -> None:
        path = "/".join(names)
        assert matches(path, path.encode())
        assert not matches(path, path.encode() + b"x")
        assert not matches(path, b"x" + path.encode())

    @given(st.text(alphabet="ab?*", min_size=1, max_size=6), st.text(alphabet="abä", max_size=6))
    def test_a_star_is_any_text_and_a_question_mark_any_character(
        self, pattern: str, name: str
    ) -> None:
        if pattern == "**":
            return
        expression = "".join({"*": ".*", "?": "."}.get(c, c) for c in pattern)
        assert matches(pattern, name.encode()) is (re.fullmatch(expression, name) is not None)


class TestTakesFolder:
    @pytest.mark.parametrize(("pattern", "folder"), TAKES)
    def test_says_that_all_of_a_folder_is_taken(self, pattern: str, folder: str) -> None:
        assert takes_folder(pattern, folder.encode())

    @pytest.mark.parametrize(("pattern", "folder"), DOES_NOT_TAKE)
    def test_says_that_not_all_of_a_folder_is_taken(self, pattern: str, folder: str) -> None:
        assert not takes_folder(pattern, folder.encode())


class TestFolderPattern:
    @pytest.mark.parametrize(
        ("pattern", "folder"),
        [
            ("test/*", "test"),
            ("test/**", "test"),
            ("test/**/*", "test"),
            ("te?t*/**", "te?t*"),
            ("test", None),
            ("test/*.png", None),
            ("test/x/*", None),
            ("**/*", None),
            ("*", None),
        ],
    )
    def test_is_the_first_level_folder_that_is_taken_whole(
        self, pattern: str, folder: str | None
    ) -> None:
        assert folder_pattern(pattern) == folder
