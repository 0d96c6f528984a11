"""From bytes to text: what is valid, how it is changed, and what is left out."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrec_tools.sources import text_cleaning
from tfrec_tools.sources.text_cleaning import Cleaned, cleaned, decoded, incremental_decoder
from tfrec_tools.text_options import TextOptions

FAIL = TextOptions()
REPLACE = TextOptions(errors="replace")
SKIP = TextOptions(errors="skip")

UTF8_ADVICE = "use --encoding such as cp1252, or --errors replace"
OTHER_ADVICE = "use another --encoding, or --errors replace"

ENCODINGS = [
    *("utf-8", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"),
    *("shift_jis", "gb18030", "euc-jp"),
]


def binary(*values: bytes) -> pa.LargeBinaryArray:
    return pa.array(values, pa.large_binary())


def texts(found: Cleaned) -> list[str]:
    return [value.decode() for value in found.values.to_pylist()]


def changed(options: TextOptions, *values: str) -> list[str]:
    """The texts after the changes that are asked for."""
    found = cleaned(binary(*(value.encode() for value in values)), options)
    assert (found.faults, found.left_out) == ({}, {})
    return texts(found)


def test_valid_text_is_not_copied():
    given = binary("é\0".encode(), b"", "\U0001f600".encode())
    found = cleaned(given, FAIL)
    assert found == Cleaned(given, {}, {})
    assert found.values.buffers()[2].address == given.buffers()[2].address


def test_bytes_are_left_as_they_are():
    given = binary(b"\xff\xe9", b" A ")
    options = TextOptions(as_="bytes", strip=True, lowercase=True, min_chars=9)
    assert cleaned(given, options) == Cleaned(given, {}, {})


def test_invalid_text_is_a_fault_that_names_the_byte():
    found = cleaned(binary(b"ab", b"caf\xe9", b"\xff", b"cut \xe2\x82"), FAIL)
    assert found.faults == {
        1: f"must be UTF-8 text (byte 4 of the line, 0xe9, is none); {UTF8_ADVICE}",
        2: f"must be UTF-8 text (byte 1 of the line, 0xff, is none); {UTF8_ADVICE}",
        3: f"must be UTF-8 text (byte 5 of the line, 0xe2, is none); {UTF8_ADVICE}",
    }
    assert found.left_out == {}
    assert texts(found)[0] == "ab"


def test_a_fault_calls_the_record_by_its_word():
    found = cleaned(binary(b"x" * 1233 + b"\xe9"), FAIL, unit="paragraph")
    assert found.faults == {
        0: f"must be UTF-8 text (byte 1,234 of the paragraph, 0xe9, is none); {UTF8_ADVICE}"
    }


def test_invalid_text_can_be_replaced():
    values = [b"ab", b"caf\xe9", b"\xe2\x82x\xf0\x9f\x98", b"\xed\xb3\xbf"]
    found = cleaned(binary(*values), REPLACE)
    assert (found.faults, found.left_out) == ({}, {})
    assert texts(found) == ["ab", "caf\ufffd", "\ufffdx\ufffd", "\ufffd\ufffd\ufffd"]
    assert texts(found) == [value.decode("utf-8", "replace") for value in values]


def test_invalid_text_can_be_left_out():
    found = cleaned(binary(b"caf\xe9", b"ab"), SKIP)
    assert (found.faults, found.left_out) == ({}, {0: "not utf-8"})
    assert texts(found)[1] == "ab"


def test_faults_of_another_encoding_name_the_character():
    data = decoded(b"\x80 5\nna\xefve \x81\n", "cp1252")
    assert data == "€ 5\nnaïve ".encode() + text_cleaning.MARKER + b"\n"
    values = binary(*data.splitlines())
    found = cleaned(values, FAIL, "cp1252")
    assert found.faults == {
        1: f"must be text in cp1252 (character 7 of the line is none); {OTHER_ADVICE}"
    }
    assert texts(found)[0] == "€ 5"
    assert texts(cleaned(values, REPLACE, "cp1252")) == ["€ 5", "naïve \ufffd"]
    assert cleaned(values, SKIP, "cp1252").left_out == {1: "not cp1252"}


def test_lone_surrogates_of_utf_16_are_no_text():
    data = decoded("a\n".encode("utf-16-le") + b"b\0\x00\xd8c\0", "utf-16-le")
    assert data == b"a\nb" + text_cleaning.MARKER + b"c"
    values = binary(*data.splitlines())
    assert cleaned(values, FAIL, "utf-16-le", unit="document").faults == {
        1: f"must be text in utf-16-le (character 2 of the document is none); {OTHER_ADVICE}"
    }
    assert texts(cleaned(values, REPLACE, "utf-16-le")) == ["a", "b\ufffdc"]
    assert cleaned(values, SKIP, "utf-16-le").left_out == {1: "not utf-16-le"}


@given(st.lists(st.one_of(st.text(max_size=6).map(str.encode), st.binary(max_size=6))))
@settings(max_examples=200, deadline=None)
def test_invalid_records_are_found_wherever_they_are(values):
    values = [b"ok"] * 60 + values + [b"\xc3", b"\xa9"] + values  # é, were they not cut in two
    expected = [value.decode("utf-8", "replace") for value in values]
    wrong = [
        index
        for index, value in enumerate(values)
        if "\ufffd" in expected[index] and value.decode("utf-8", "ignore") != expected[index]
    ]
    array = binary(b"\xff", *values, b"\xff").slice(1, len(values))
    assert sorted(cleaned(array, FAIL).faults) == wrong
    assert sorted(cleaned(array, SKIP).left_out) == wrong
    assert texts(cleaned(array, REPLACE)) == expected


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("NFC", "\xe9\xe9\ufb01\xc5"),
        ("NFD", "e\u0301e\u0301\ufb01A\u030a"),
        ("NFKC", "\xe9\xe9fi\xc5"),
        ("NFKD", "e\u0301e\u0301fiA\u030a"),
    ],
)
def test_normal_forms(form, expected):
    assert changed(TextOptions(normalize=form), "x", "e\u0301\xe9\ufb01\u212b", "", "y") == [
        "x",
        expected,
        "",
        "y",
    ]


@given(st.lists(st.text(max_size=5)), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
@settings(max_examples=100, deadline=None)
def test_normal_forms_are_those_of_python(values, form):
    expected = [unicodedata.normalize(form, value) for value in values]
    assert changed(TextOptions(normalize=form), *values) == expected


def test_strip_takes_all_that_unicode_calls_white_space():
    blanks = " \t\r\n\v\f\u0085\u00a0\u2028\u3000"
    assert changed(TextOptions(strip=True), f"{blanks}a b{blanks}", blanks, "\0a\ufeff") == [
        "a b",
        "",
        "\0a\ufeff",
    ]


def test_lowercase_goes_character_by_character():
    assert changed(TextOptions(lowercase=True), "ÄB\0İ", "ẞΣ") == ["äb\0i", "ßσ"]


def test_changes_come_in_their_order():
    options = TextOptions(normalize="NFKC", strip=True, lowercase=True)
    assert changed(options, "\u2003\uff21 ", "\ufb01\xa0") == ["a", "fi"]


def test_nothing_is_changed_unless_asked_for():
    options = TextOptions(strip=False, lowercase=False)
    assert changed(options, " A\u0301 ") == [" A\u0301 "]


def test_records_of_too_few_or_too_many_characters_are_left_out():
    values = binary(b"a", "éé".encode(), "\U0001f600\U0001f600\U0001f600".encode(), b"four")
    found = cleaned(values, TextOptions(min_chars=2, max_chars=3))
    assert (found.faults, found.left_out) == ({}, {0: "too short", 3: "too long"})
    assert cleaned(values, TextOptions(min_chars=1)).left_out == {}
    assert cleaned(values, TextOptions(max_chars=4)).left_out == {}
    assert cleaned(binary(b""), TextOptions(max_chars=0)).left_out == {}
    assert cleaned(binary(b""), TextOptions(min_chars=1)).left_out == {0: "too short"}


def test_characters_are_counted_after_the_changes():
    options = TextOptions(normalize="NFC", strip=True, min_chars=2, max_chars=2)
    values = binary(b" a ", "e\u0301e\u0301 ".encode(), "e\u0301".encode())
    assert cleaned(values, options).left_out == {0: "too short", 2: "too short"}


def test_what_is_no_text_is_not_counted_as_too_short():
    values = binary(b"\xff", b"a", b"abc")
    for errors, faults, word in (("fail", [0], None), ("skip", [], "not utf-8")):
        found = cleaned(values, TextOptions(errors=errors, min_chars=2))
        assert list(found.faults) == faults
        assert found.left_out == ({0: word} if word else {}) | {1: "too short"}


def test_records_of_too_many_bytes_are_faults():
    values = binary("é".encode() * 600, b"x" * 1000, b"\xff" * 1001, b"x")
    reason = "must have at most 1,000 bytes (it has {}); raise max_record_bytes, or split it"
    faults = {0: reason.format("1,200"), 2: reason.format("1,001")}
    for options in (
        TextOptions(max_record_bytes=1000, min_chars=1),
        TextOptions(max_record_bytes=1000, errors="skip"),
        TextOptions(max_record_bytes=1000, as_="bytes"),
    ):
        found = cleaned(values, options)
        assert (found.faults, found.left_out) == (faults, {})
        assert found.values.to_pylist()[1::2] == [b"x" * 1000, b"x"]


def test_bytes_are_counted_as_they_came():
    options = TextOptions(max_record_bytes=3, strip=True, normalize="NFD")
    assert list(cleaned(binary(b"  a "), options).faults) == [0]
    assert texts(cleaned(binary("é".encode()), options)) == ["e\u0301"]


def test_no_records_are_none():
    options = TextOptions(normalize="NFC", strip=True, lowercase=True, min_chars=1, max_chars=2)
    assert cleaned(binary(), options) == Cleaned(binary(), {}, {})


@pytest.mark.parametrize(
    ("encoding", "data", "expected"),
    [
        ("utf-8", b"a\xff", b"a\xff"),
        ("latin-1", b"\xe9", "é".encode()),
        ("cp1252", b"\x81\x81", text_cleaning.MARKER * 2),
        ("utf-16-be", b"\0a\xdc\0\0", b"a" + text_cleaning.MARKER * 2),
        ("utf-16", b"\xfe\xff\0a", b"a"),
        ("utf-16", b"a\0b", b"a" + text_cleaning.MARKER),
        ("shift_jis", b"\x83\x65\xff\x83", "テ".encode() + text_cleaning.MARKER * 2),
        ("gb18030", b"\xc4\xe3\xff", "你".encode() + text_cleaning.MARKER),
        ("euc-jp", b"\xa4\xa2\xa4\n", "あ".encode() + text_cleaning.MARKER + b"\n"),
    ],
)
def test_each_sequence_that_is_no_text_is_marked(encoding, data, expected):
    assert decoded(data, encoding) == expected
    decoder = incremental_decoder(encoding)
    assert decoder.decode(data, final=True) == expected


@given(
    st.lists(
        st.one_of(
            st.binary(max_size=5),
            st.sampled_from(
                [b"\x83\x65", b"\xc4\xe3", b"\xa4\xa2", b"\x81\x30\x81\x30", b"\x00\xd8"]
            ),
        )
    ),
    st.sampled_from(ENCODINGS),
)
@settings(max_examples=400, deadline=None)
def test_streams_are_decoded_as_the_whole_is(pieces, encoding):
    decoder = incremental_decoder(encoding)
    found = [decoder.decode(piece, final=False) for piece in pieces]
    found.append(decoder.decode(b"", final=True))
    assert b"".join(found) == decoded(b"".join(pieces), encoding)
