"""Tokens: options that fit each other, what is stored, and lists cut or refused."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools import schema_files
from tfrec_tools.errors import SchemaError
from tfrec_tools.schema import Schema, StoredColumn, StoredType, TokensFeature, encode_cells

LISTS = pa.large_list(pa.int64())
WORDS = {"vocabulary": ("a", "b")}
HASH = "0123456789abcdef" * 2


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (
                {},
                "exactly one of tokenizer, vocabulary and vocabulary_size is needed (got none)",
            ),
            (
                {"tokenizer": "t.json", "vocabulary_size": 3},
                "exactly one of tokenizer, vocabulary and vocabulary_size is needed "
                "(got tokenizer and vocabulary_size)",
            ),
            (
                {"tokenizer": "t.txt"},
                "tokenizer must be a file that ends in .json (Hugging Face tokenizers) or .model "
                "(SentencePiece) (got 't.txt')",
            ),
            (
                {"tokenizer": "t.json", "tokenizer_hash": "abc"},
                "tokenizer_hash must be 32 hexadecimal digits (got 'abc')",
            ),
            ({**WORDS, "tokenizer_hash": HASH}, "`tokenizer_hash` goes with a tokenizer"),
            ({**WORDS, "add_special_tokens": False}, "`add_special_tokens` goes with a tokenizer"),
            ({"tokenizer": "t.json", "num_oov": 2}, "`num_oov` goes with a vocabulary"),
            ({"tokenizer": "t.model", "words": "letters"}, "`words` goes with a vocabulary"),
            ({"vocabulary_size": 0}, "vocabulary_size must be at least 1 (got 0)"),
            ({**WORDS, "num_oov": 0}, "num_oov must be at least 1 (got 0)"),
            ({**WORDS, "max_length": 0}, "max_length must be at least 1 (got 0)"),
            ({"tokenizer": "t.json", "pad_id": -1}, "pad_id must be at least 0 (got -1)"),
            (
                {"tokenizer": "t.json", "pad_id": 1 << 63},
                f"pad_id must be a whole number of 64 bits (got {1 << 63})",
            ),
            ({**WORDS, "pad_id": 1}, "with a vocabulary, pad_id is 0 (got 1)"),
            ({**WORDS, "truncate": False}, "`truncate: false` goes with max_length"),
            ({**WORDS, "end_token": "a"}, "`end_token` goes with `pack: true`"),
            ({**WORDS, "remainder": "drop"}, "`remainder` goes with `pack: true`"),
            (
                {"tokenizer": "t.model", "pack": True},
                "`pack: true` needs max_length, the length of all sequences",
            ),
            (
                {"tokenizer": "t.model", "pack": True, "max_length": 8, "truncate": False},
                "`pack: true` and `truncate: false` exclude each other",
            ),
            (
                {**WORDS, "pack": True, "max_length": 8},
                "`pack: true` with a vocabulary needs an end_token, such as <end>",
            ),
            (
                {**WORDS, "pack": True, "max_length": 8, "end_token": "<end>"},
                "end_token must be a word of the vocabulary (got '<end>')",
            ),
            (
                {"vocabulary_size": 1, "pack": True, "max_length": 8, "end_token": "<end>"},
                "vocabulary_size must be at least 2 with an end_token (got 1)",
            ),
            ({"vocabulary": ()}, "vocabulary must hold at least one word"),
            (
                {"vocabulary": ""},
                "vocabulary must be words, or a file with one per line (got '')",
            ),
            ({"vocabulary": ("a", "")}, "the words of a vocabulary must not be empty"),
            (
                {"vocabulary": ("b", "a", "b")},
                "the words of a vocabulary must differ ('b' is there 2 times)",
            ),
            (
                {"vocabulary": ("a", "b c")},
                "the words of a vocabulary must be without white space (got 'b c')",
            ),
            (
                {**WORDS, "from_": "{stem}.txt"},
                "from must name a column of text (got '{stem}.txt')",
            ),
            (
                {"num_oov": 0, "max_length": 0, "truncate": False, "pack": True},
                "exactly one of tokenizer, vocabulary and vocabulary_size is needed (got none); "
                "`num_oov` goes with a vocabulary; num_oov must be at least 1 (got 0); "
                "max_length must be at least 1 (got 0); "
                "`pack: true` and `truncate: false` exclude each other",
            ),
        ],
    )
    def test_contradictions_are_refused(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            TokensFeature(**options)

    def test_words_of_letters_may_hold_anything(self) -> None:
        assert TokensFeature(vocabulary=("a b",), words="letters").num_ids == 3

    def test_numbers_are_known_with_the_vocabulary(self) -> None:
        assert TokensFeature(vocabulary=("a", "b"), num_oov=3).num_ids == 6
        assert TokensFeature(vocabulary="words.txt").num_ids is None
        assert TokensFeature(tokenizer="t.json").num_ids is None

    def test_special_tokens_are_added_unless_packed(self) -> None:
        feature = TokensFeature(tokenizer="t.model")
        packed = TokensFeature(tokenizer="t.model", pack=True, max_length=8)
        assert feature.adds_special_tokens
        assert not packed.adds_special_tokens
        assert dataclasses.replace(packed, add_special_tokens=True).adds_special_tokens


class TestStored:
    def test_a_list_of_any_length(self) -> None:
        feature = TokensFeature(vocabulary=("a",), max_length=8)
        assert feature.stored("x") == (StoredColumn("x", StoredType.INT64, is_list=True),)
        assert (feature.many, feature.shape, feature.is_packed) == (True, None, False)
        assert not feature.needs_separator

    def test_a_packed_sequence_and_its_length(self) -> None:
        feature = TokensFeature(tokenizer="t.model", max_length=8, pack=True)
        assert feature.stored("x") == (
            StoredColumn("x", StoredType.INT64, (8,)),
            StoredColumn("x_length", StoredType.INT64),
        )
        assert (feature.many, feature.shape, feature.is_packed) == (False, (8,), True)

    def test_only_text_is_taken(self) -> None:
        feature = TokensFeature(vocabulary=("a",))
        for type_ in (pa.string(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())):
            assert feature.accepts(type_) is None
        assert feature.accepts(pa.int64()) == "holds int64, which kind tokens does not take"
        assert feature.accepts(pa.list_(pa.string())) == (
            "holds list<item: string>, which kind tokens does not take"
        )

    def test_text_has_to_be_tokenized_first(self) -> None:
        with pytest.raises(TypeError, match="tokenize the text first"):
            encode_cells(TokensFeature(vocabulary=("a",)), pa.array(["a"]))


class TestTexts:
    def test_text_is_kept_as_it_is(self) -> None:
        found = TokensFeature(vocabulary=("a",)).texts(pa.array(["é ", None, ""]))
        assert found.values.to_pylist() == ["é ".encode(), None, b""]
        assert found.values.type == pa.large_binary()
        assert found.faults == {}

    def test_what_is_no_utf8_is_at_fault_and_null(self) -> None:
        found = TokensFeature(vocabulary=("a",)).texts(pa.array([b"a", b"ab\xff", None, b"\xc3"]))
        assert found.values.to_pylist() == [b"a", None, None, None]
        assert found.faults == {
            1: "must be UTF-8 text (byte 2 is none); give the encoding of the source",
            3: "must be UTF-8 text (byte 0 is none); give the encoding of the source",
        }


class TestEncodeIds:
    LISTS = pa.array([[1, 2, 3], None, [], [4], [5, 6, 7, 8]], LISTS)

    def test_without_a_limit_nothing_changes(self) -> None:
        encoded = TokensFeature(vocabulary=("a",)).encode_ids(self.LISTS)
        assert encoded.values.equals(self.LISTS)
        assert encoded.faults == {}

    def test_lists_are_cut(self) -> None:
        encoded = TokensFeature(vocabulary=("a",), max_length=2).encode_ids(self.LISTS)
        assert encoded.values.to_pylist() == [[1, 2], None, [], [4], [5, 6]]
        assert encoded.values.type == LISTS
        assert encoded.faults == {}

    def test_longer_lists_can_be_faults(self) -> None:
        feature = TokensFeature(vocabulary=("a",), max_length=2, truncate=False)
        assert feature.encode_ids(self.LISTS).faults == {
            0: "must have at most 2 tokens (it has 3); raise max_length, or use truncate: true",
            4: "must have at most 2 tokens (it has 4); raise max_length, or use truncate: true",
        }
        assert feature.encode_ids(self.LISTS[1:4]).faults == {}

    def test_texts_that_are_to_be_packed_stay_long(self) -> None:
        feature = TokensFeature(tokenizer="t.model", max_length=2, pack=True)
        assert feature.encode_ids(self.LISTS).values.equals(self.LISTS)

    @given(
        st.lists(st.none() | st.lists(st.integers(0, 9), max_size=5), max_size=9),
        st.integers(1, 6),
        st.integers(0, 3),
    )
    def test_cutting_is_slicing(self, lists, length, start) -> None:
        feature = TokensFeature(vocabulary=("a",), max_length=length)
        values = feature.encode_ids(pa.array(lists, LISTS)[start:]).values
        expected = [None if one is None else one[:length] for one in lists[start:]]
        assert values.to_pylist() == expected


class TestSchemas:
    def test_options_with_their_defaults_are_left_out(self) -> None:
        schema = Schema(features={"x": TokensFeature(vocabulary=("a", "b"), max_length=4)})
        data = schema.to_dict()["features"]["x"]
        assert data == {
            "kind": "tokens",
            "target": False,
            "vocabulary": ["a", "b"],
            "max_length": 4,
        }

    @pytest.mark.parametrize(
        "feature",
        [
            TokensFeature(vocabulary=("a", "b"), num_oov=2, words="letters", from_="t"),
            TokensFeature(vocabulary="words.txt", max_length=3, truncate=False),
            TokensFeature(tokenizer="a/t.json", tokenizer_hash=HASH, add_special_tokens=False),
            TokensFeature(tokenizer="t.json", pack=True, max_length=9, end_token="</s>", pad_id=2),
            TokensFeature(
                vocabulary_size=5, pack=True, max_length=9, end_token="</s>", remainder="drop"
            ),
        ],
    )
    def test_schemas_come_back(self, feature: TokensFeature) -> None:
        schema = Schema(features={"x": feature})
        assert Schema.from_dict(schema.to_dict()) == schema
        data = {"features": schema.to_dict()["features"]}
        assert schema_files.parse_schema(data) == schema

    def test_stored_columns_must_not_clash(self) -> None:
        packed = TokensFeature(tokenizer="t.model", max_length=8, pack=True)
        with pytest.raises(SchemaError, match="is also stored by feature 'x'"):
            Schema(features={"x": packed, "x_length": TokensFeature(vocabulary=("a",))})

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"vocabulary": 3}, "schema: features.x.vocabulary: must be a list (got 3)"),
            ({"vocabulary": ["a", 3]}, "schema: features.x.vocabulary.1: must be text (got 3)"),
            (
                {"vocabulary": ["a", "a"]},
                "schema: features.x: the words of a vocabulary must differ ('a' is there 2 times)",
            ),
            (
                {"vocabulary": ["a"], "words": "lines"},
                "schema: features.x.words: must be 'whitespace' or 'letters' (got 'lines')",
            ),
        ],
    )
    def test_problems_have_their_place(self, options, problem) -> None:
        with pytest.raises(SchemaError) as caught:
            schema_files.parse_schema({"features": {"x": {"kind": "tokens", **options}}})
        assert str(caught.value) == problem
