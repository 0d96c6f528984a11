"""Tokenizers and vocabularies: the libraries' own ids, and every misfit found beforehand."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
import sentencepiece
import tokenizers
from tokenizers import models, pre_tokenizers, processors, trainers

from tfrec_tools import tokenization
from tfrec_tools.errors import (
    MissingDependencyError,
    RecordError,
    RequestError,
    SchemaError,
    SourceError,
)
from tfrec_tools.schema import Schema, TokensFeature

SENTENCES = [
    "the cat sat on the mat",
    "a dog ran to the cat",
    "der Hund läuft über die Straße",
    "cats and dogs and mats",
]
TEXTS = ["the cat sat", None, "", "die Straße über the dog ☃ 42", "a\0b", " the  mat "]
SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "<|end|>"]
LISTS = pa.large_list(pa.int64())


def cells(*texts: str | bytes | None) -> pa.LargeBinaryArray:
    return pa.array([t.encode() if isinstance(t, str) else t for t in texts], pa.large_binary())


@pytest.fixture(scope="module")
def hugging_face(tmp_path_factory) -> Path:
    """A BPE tokenizer that puts [CLS] and [SEP] around texts, and has settings of its own."""
    made = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(vocab_size=90, special_tokens=SPECIAL, show_progress=False)
    made.train_from_iterator(SENTENCES, trainer)
    marks = [("[CLS]", 1), ("[SEP]", 2)]
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=marks)
    made.enable_padding(length=50)
    made.enable_truncation(3)
    path = tmp_path_factory.mktemp("hugging_face") / "bpe.json"
    made.save(str(path))
    return path


def sentence_piece_model(path: Path, **options: object) -> Path:
    content = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=content,
        vocab_size=45,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    path.write_bytes(content.getvalue())
    return path


@pytest.fixture(scope="module")
def sentence_piece(tmp_path_factory) -> Path:
    return sentence_piece_model(
        tmp_path_factory.mktemp("piece") / "m.model", user_defined_symbols=["<doc>"]
    )


def loaded(feature: TokensFeature) -> tokenization.Tokenizer:
    """The tokenizer of a feature, after the way that a request takes."""
    schema = tokenization.resolved(Schema(features={"x": feature}))
    found = schema.features["x"]
    assert isinstance(found, TokensFeature)
    return tokenization.load(found, feature.tokenizer)


def problem_of(feature: TokensFeature) -> str:
    with pytest.raises(SchemaError) as caught:
        tokenization.resolved(Schema(features={"x": feature}))
    return str(caught.value)


def error_of(feature: TokensFeature) -> str:
    with pytest.raises(RequestError) as caught:
        tokenization.resolved(Schema(features={"x": feature}))
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestResolved:
    def test_a_path_becomes_a_name_and_a_hash(self, hugging_face) -> None:
        feature = TokensFeature(tokenizer=str(hugging_face), from_="t")
        schema = Schema(name="n", features={"x": feature})
        found = hashlib.blake2b(hugging_face.read_bytes(), digest_size=16).hexdigest()
        resolved = tokenization.resolved(schema)
        assert resolved == Schema(
            name="n",
            features={"x": TokensFeature(tokenizer="bpe.json", tokenizer_hash=found, from_="t")},
        )
        given = dataclasses.replace(feature, tokenizer_hash=found)
        assert tokenization.resolved(Schema(name="n", features={"x": given})) == resolved

    def test_a_path_is_relative_to_the_working_directory(self, sentence_piece, monkeypatch) -> None:
        monkeypatch.chdir(sentence_piece.parent)
        feature = TokensFeature(tokenizer="m.model")
        (found,) = tokenization.resolved(Schema(features={"x": feature})).features.values()
        assert isinstance(found, TokensFeature)
        assert found.tokenizer == "m.model"
        assert found.tokenizer_hash is not None

    def test_another_file_than_the_one_named_is_refused(self, hugging_face) -> None:
        found = hashlib.blake2b(hugging_face.read_bytes(), digest_size=16).hexdigest()
        feature = TokensFeature(tokenizer=str(hugging_face), tokenizer_hash="0" * 32)
        assert error_of(feature) == (
            f"features.x.tokenizer must be the file whose hash is tokenizer_hash, {'0' * 32} "
            f"({hugging_face} has {found}); give that file, or leave tokenizer_hash out"
        )

    def test_a_vocabulary_file_becomes_its_words(self, tmp_path) -> None:
        path = tmp_path / "words.txt"
        for content in (
            b"cat\ndog\xc3\xa9\n",
            b"cat\r\ndog\xc3\xa9\r\n",
            b"\xef\xbb\xbfcat\ndog\xc3\xa9",
        ):
            path.write_bytes(content)
            schema = Schema(features={"x": TokensFeature(vocabulary=str(path))})
            assert tokenization.resolved(schema).features == {
                "x": TokensFeature(vocabulary=("cat", "dogé"))
            }

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (
                b"cat\n\ndog\n",
                "a vocabulary must have one word per line ({path}: line 2 is empty); take the "
                "line out",
            ),
            (
                b"cat\ndog\n\n",
                "a vocabulary must have one word per line ({path}: line 3 is empty); take the "
                "line out",
            ),
            (
                b"cat\nd\xff\n",
                "a vocabulary must be UTF-8 text, one word per line ({path}: line 2 is none); "
                "save it as UTF-8",
            ),
        ],
    )
    def test_vocabulary_files_that_are_none(self, tmp_path, content, sentence) -> None:
        path = tmp_path / "words.txt"
        path.write_bytes(content)
        found = error_of(TokensFeature(vocabulary=str(path)))
        assert found == sentence.format(path=path)

    @pytest.mark.parametrize(
        ("content", "what"),
        [
            (b"", "vocabulary must hold at least one word"),
            (
                b"cat\ndog\ncat\n",
                "the words of a vocabulary must differ ('cat' is there 2 times)",
            ),
            (
                b"cat\nbig dog\n",
                "the words of a vocabulary must be without white space (got 'big dog')",
            ),
        ],
    )
    def test_words_that_are_none(self, tmp_path, content, what) -> None:
        path = tmp_path / "words.txt"
        path.write_bytes(content)
        found = problem_of(TokensFeature(vocabulary=str(path)))
        assert found == f"schema: features.x.vocabulary: {path}: {what}"

    def test_files_that_are_not_there(self, tmp_path) -> None:
        for options in ({"tokenizer": f"{tmp_path}/t.json"}, {"vocabulary": f"{tmp_path}/t.json"}):
            (name,) = options
            assert error_of(TokensFeature(**options)) == (
                f"features.x.{name} must be a file that can be read ({tmp_path}/t.json: no such "
                "file or directory)"
            )

    def test_all_misfits_are_found_at_once(self, hugging_face, sentence_piece) -> None:
        features = {
            "a": TokensFeature(tokenizer=str(hugging_face), max_length=2),
            "b": TokensFeature(
                tokenizer=str(sentence_piece), pack=True, max_length=4, end_token="?"
            ),
        }
        with pytest.raises(SchemaError) as caught:
            tokenization.resolved(Schema(features=features))
        assert [problem.where for problem in caught.value.problems] == [
            "features.a.max_length",
            "features.b.end_token",
        ]


class TestHuggingFace:
    def test_ids_are_those_of_the_library(self, hugging_face) -> None:
        own = tokenizers.Tokenizer.from_file(str(hugging_face))
        own.no_padding()
        own.no_truncation()
        for adds in (None, True, False):
            feature = TokensFeature(tokenizer=str(hugging_face), add_special_tokens=adds)
            found = loaded(feature).encode(cells(*TEXTS))
            expected = [
                None if text is None else own.encode(text, add_special_tokens=adds is not False).ids
                for text in TEXTS
            ]
            assert found.type == LISTS
            assert found.to_pylist() == expected
            assert expected[2] == ([] if adds is False else [1, 2])

    def test_slices_and_no_texts(self, hugging_face) -> None:
        tokenizer = loaded(TokensFeature(tokenizer=str(hugging_face)))
        whole = tokenizer.encode(cells(*TEXTS))
        assert tokenizer.encode(cells(*TEXTS)[3:5]).equals(whole[3:5])
        for texts in (cells(), cells(None, None), cells(*TEXTS)[1:2]):
            assert tokenizer.encode(texts).to_pylist() == [None] * len(texts)

    def test_much_text_is_encoded_in_slices(self, hugging_face, monkeypatch) -> None:
        tokenizer = loaded(TokensFeature(tokenizer=str(hugging_face)))
        whole = tokenizer.encode(cells(*TEXTS))
        for num_bytes in (1, 7, 20):
            monkeypatch.setattr(tokenization, "_SLICE_BYTES", num_bytes)
            assert tokenizer.encode(cells(*TEXTS)).equals(whole)

    def test_cut_texts_keep_their_special_tokens(self, hugging_face) -> None:
        own = tokenizers.Tokenizer.from_file(str(hugging_face))
        own.no_padding()
        own.no_truncation()
        plain = own.encode("the cat sat on", add_special_tokens=False).ids
        for adds, expected in ((True, [1, *plain[:2], 2]), (False, plain[:4])):
            feature = TokensFeature(
                tokenizer=str(hugging_face), max_length=4, add_special_tokens=adds
            )
            lists = loaded(feature).encode(cells("the cat sat on"))
            assert feature.encode_ids(lists).values.to_pylist() == [expected]
        strict = TokensFeature(tokenizer=str(hugging_face), max_length=4, truncate=False)
        lists = loaded(strict).encode(cells("the cat sat on"))
        assert lists.to_pylist() == [[1, *plain, 2]]
        assert strict.encode_ids(lists).faults == {
            0: f"must have at most 4 tokens (it has {len(plain) + 2}); raise max_length, or use "
            "truncate: true"
        }

    def test_packed_texts_have_an_end_mark(self, hugging_face) -> None:
        feature = TokensFeature(
            tokenizer=str(hugging_face), pack=True, max_length=4, end_token="<|end|>"
        )
        tokenizer = loaded(feature)
        own = tokenizers.Tokenizer.from_file(str(hugging_face))
        own.no_truncation()
        own.no_padding()
        assert tokenizer.end_id == own.token_to_id("<|end|>") == 3
        text = "the cat sat on the mat"
        expected = own.encode(text, add_special_tokens=False).ids
        assert len(expected) > 4
        assert tokenizer.encode(cells(text)).to_pylist() == [expected]
        assert loaded(TokensFeature(tokenizer=str(hugging_face))).end_id is None

    @pytest.mark.parametrize(("token", "found"), [(None, "it is missing"), ("</s>", "got '</s>'")])
    def test_an_end_mark_must_be_known(self, hugging_face, token, found) -> None:
        feature = TokensFeature(
            tokenizer=str(hugging_face), pack=True, max_length=4, end_token=token
        )
        assert problem_of(feature) == (
            f"schema: features.x.end_token: must be a token of {hugging_face}, to be put behind "
            f"each text ({found}; its special tokens are [UNK], [CLS], [SEP], <|end|>)"
        )

    def test_there_must_be_room_beside_special_tokens(self, hugging_face) -> None:
        assert problem_of(TokensFeature(tokenizer=str(hugging_face), max_length=2)) == (
            f"schema: features.x.max_length: must be more than the 2 special tokens that "
            f"{hugging_face} adds (got 2); raise it, or use add_special_tokens: false"
        )

    def test_dropout_is_refused(self, hugging_face, tmp_path) -> None:
        data = json.loads(hugging_face.read_bytes())
        data["model"]["dropout"] = 0.25
        path = tmp_path / "t.json"
        path.write_text(json.dumps(data))
        assert error_of(TokensFeature(tokenizer=str(path))) == (
            f"a tokenizer must make the same tokens of the same text ({path} has a dropout of "
            "0.25); set dropout to null in the file"
        )

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "EOF while parsing a value at line 1 column 0"),
            (b'{"version": "1.0", "mod', "EOF while parsing a string at line 1 column 23"),
            (b"[]", None),
            (b"{}", None),
            (b"\xff\xfe", None),
        ],
    )
    def test_files_that_are_no_tokenizers(self, tmp_path, content, reason) -> None:
        path = tmp_path / "t.json"
        path.write_bytes(content)
        found = error_of(TokensFeature(tokenizer=str(path)))
        start = (
            "a tokenizer that ends in .json must be a file of Hugging Face tokenizers "
            f"({path} is none: "
        )
        assert found.startswith(start)
        assert reason is None or found == f"{start}{reason})"

    def test_a_text_without_tokens_is_one_sentence(self, tmp_path) -> None:
        made = tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="[UNK]"))
        made.save(str(tmp_path / "t.json"))
        tokenizer = loaded(TokensFeature(tokenizer=str(tmp_path / "t.json")))
        assert tokenizer.encode(cells("a")).to_pylist() == [[0]]
        with pytest.raises(RecordError) as caught:
            tokenizer.encode(cells("a", "b"))
        assert str(caught.value) == (
            "a tokenizer must have tokens for all texts (t.json says: WordLevel error: Missing "
            "[UNK] token from the vocabulary); give one with a token for unknown words"
        )

    def test_workers_use_no_threads_of_the_library(self, hugging_face) -> None:
        loaded(TokensFeature(tokenizer=str(hugging_face)))
        assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


class TestSentencePiece:
    def test_ids_are_those_of_the_library(self, sentence_piece) -> None:
        own = sentencepiece.SentencePieceProcessor(model_file=str(sentence_piece))
        for adds in (None, True, False):
            feature = TokensFeature(tokenizer=str(sentence_piece), add_special_tokens=adds)
            found = loaded(feature).encode(cells(*TEXTS))
            marks = adds is not False
            expected = [
                None if text is None else own.encode(text, add_bos=marks, add_eos=marks)
                for text in TEXTS
            ]
            assert found.type == LISTS
            assert found.to_pylist() == expected
            assert expected[2] == ([1, 2] if marks else [])

    def test_marks_that_a_model_does_not_have_are_not_added(self, tmp_path) -> None:
        path = sentence_piece_model(tmp_path / "m.model", bos_id=-1)
        own = sentencepiece.SentencePieceProcessor(model_file=str(path))
        found = loaded(TokensFeature(tokenizer=str(path))).encode(cells("the cat"))
        assert found.to_pylist() == [[*own.encode("the cat"), own.eos_id()]]

    def test_cut_texts_keep_their_marks(self, sentence_piece) -> None:
        own = sentencepiece.SentencePieceProcessor(model_file=str(sentence_piece))
        plain = own.encode("the cat sat on the mat")
        feature = TokensFeature(tokenizer=str(sentence_piece), max_length=5)
        lists = loaded(feature).encode(cells("the cat sat on the mat", ""))
        assert lists.to_pylist() == [[1, *plain[:3], 2], [1, 2]]
        assert problem_of(dataclasses.replace(feature, max_length=1)) == (
            f"schema: features.x.max_length: must be more than the 2 special tokens that "
            f"{sentence_piece} adds (got 1); raise it, or use add_special_tokens: false"
        )

    def test_end_marks(self, sentence_piece, tmp_path) -> None:
        own = sentencepiece.SentencePieceProcessor(model_file=str(sentence_piece))
        feature = TokensFeature(tokenizer=str(sentence_piece), pack=True, max_length=4)
        tokenizer = loaded(feature)
        assert tokenizer.end_id == own.eos_id() == 2
        assert tokenizer.encode(cells("the cat sat")).to_pylist() == [own.encode("the cat sat")]
        chosen = loaded(dataclasses.replace(feature, end_token="<doc>"))
        assert chosen.end_id == own.piece_to_id("<doc>") == 3
        assert problem_of(dataclasses.replace(feature, end_token="</d>")) == (
            f"schema: features.x.end_token: must be a token of {sentence_piece}, to be put behind "
            "each text (got '</d>'; its control symbols are <s>, </s>)"
        )
        path = sentence_piece_model(tmp_path / "m.model", eos_id=-1, bos_id=-1)
        assert problem_of(dataclasses.replace(feature, tokenizer=str(path))) == (
            f"schema: features.x.end_token: must be a token of {path}, to be put behind "
            "each text (it is missing; its control symbols are none)"
        )

    @pytest.mark.parametrize(
        ("content", "found"),
        [
            (b"", "it is empty"),
            (b"\0" * 100, "its content is something else"),
            (bytes(range(256)) * 4, "its content is something else"),
            (b"the cat sat on the mat", "its content is something else"),
            (None, "its content is something else"),
        ],
    )
    def test_files_that_are_no_models(self, sentence_piece, tmp_path, content, found) -> None:
        path = tmp_path / "t.model"
        if content is None:  # the half of one
            whole = sentence_piece.read_bytes()
            content = whole[: len(whole) // 2]
        path.write_bytes(content)
        assert error_of(TokensFeature(tokenizer=str(path))) == (
            f"a tokenizer that ends in .model must be a SentencePiece model ({path} is none: "
            f"{found})"
        )


class TestLoad:
    def test_a_changed_file_is_refused(self, hugging_face, tmp_path) -> None:
        path = tmp_path / "t.json"
        path.write_bytes(hugging_face.read_bytes())
        feature = TokensFeature(tokenizer=str(path))
        (found,) = tokenization.resolved(Schema(features={"x": feature})).features.values()
        assert isinstance(found, TokensFeature)
        path.write_bytes(hugging_face.read_bytes() + b"\n")
        with pytest.raises(RequestError) as caught:
            tokenization.load(found, str(path))
        assert str(caught.value) == (
            f"a tokenizer's file must stay as it was when the conversion began ({path} has "
            "changed); run the command again"
        )

    def test_a_tokenizer_is_made_once(self, hugging_face) -> None:
        feature = TokensFeature(tokenizer=str(hugging_face))
        assert loaded(feature) is loaded(feature)

    @pytest.mark.parametrize(
        ("package", "ending"), [("tokenizers", ".json"), ("sentencepiece", ".model")]
    )
    def test_a_missing_library_is_named(
        self, package, ending, hugging_face, sentence_piece, monkeypatch
    ) -> None:
        path = hugging_face if ending == ".json" else sentence_piece
        monkeypatch.setitem(sys.modules, package, None)  # what Python takes for not installed
        with pytest.raises(MissingDependencyError) as caught:
            tokenization.resolved(Schema(features={"x": TokensFeature(tokenizer=str(path))}))
        assert str(caught.value) == (
            f"a tokenizer that ends in {ending} needs {package}; install it with: "
            f"pip install 'tfrec-tools[{package}]'"
        )

    def test_libraries_are_imported_only_when_used(self) -> None:
        code = (
            "import sys\nfrom tfrec_tools import tokenization\n"
            "from tfrec_tools.schema import Schema, TokensFeature\n"
            "tokenization.load(TokensFeature(vocabulary=('a',)))\n"
            "print({'tokenizers', 'sentencepiece'} & set(sys.modules))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout == "set()\n"


class TestWords:
    def test_padding_then_unknown_ones_then_the_vocabulary(self) -> None:
        tokenizer = loaded(TokensFeature(vocabulary=("cat", "dog", "é")))
        found = tokenizer.encode(
            cells("cat dog", None, "", " \t\n", "  é\u00a0bird\u2003cat ", "Cat")
        )
        assert found.to_pylist() == [[2, 3], None, [], [], [4, 1, 2], [1]]
        assert found.type == LISTS
        assert tokenizer.encode(cells("a", "dog", None)[1:]).to_pylist() == [[3], None]
        assert tokenizer.encode(cells()).to_pylist() == []

    def test_words_of_letters(self) -> None:
        feature = TokensFeature(vocabulary=("don't", "e\u0301té", "x2", "का"), words="letters")
        found = loaded(feature).encode(cells("Don't, don't!", "e\u0301té—x2/का", "...", "a_b"))
        assert found.to_pylist() == [[1, 2], [3, 4, 5], [], [1, 1]]

    def test_unknown_words_are_spread_by_their_hash(self) -> None:
        feature = TokensFeature(vocabulary=("cat",), num_oov=3)
        words = [f"w{number}" for number in range(50)]
        (found,) = loaded(feature).encode(cells(" ".join(["cat", *words]))).to_pylist()
        hashes = [hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words]
        assert found == [4, *(1 + int.from_bytes(digest, "big") % 3 for digest in hashes)]
        assert set(found) == {1, 2, 3, 4}

    def test_the_end_mark_is_a_word(self) -> None:
        feature = TokensFeature(
            vocabulary=("cat", "<end>"), num_oov=2, pack=True, max_length=4, end_token="<end>"
        )
        assert loaded(feature).end_id == 4
        assert loaded(TokensFeature(vocabulary=("cat",))).end_id is None


class TestVocabularies:
    def test_words_are_counted(self) -> None:
        feature = TokensFeature(vocabulary_size=3)
        texts = cells("b a b", None, "", "é  c. b", b"a \xff", "c.")
        assert tokenization.count_words(feature, texts) == {
            b"b": 3,
            b"a": 1,
            "é".encode(): 1,
            b"c.": 2,
        }
        letters = dataclasses.replace(feature, words="letters")
        assert tokenization.count_words(letters, cells("a-b, a", "b.b")) == {b"a": 2, b"b": 3}
        assert tokenization.count_words(feature, cells()) == {}

    def test_the_most_frequent_come_first(self) -> None:
        counts = {b"b": 3, b"a": 1, "é".encode(): 3, b"c": 5, b"Z": 1}
        feature = TokensFeature(vocabulary_size=4)
        assert tokenization.vocabulary_of(counts, feature) == ("c", "b", "é", "Z")
        large = TokensFeature(vocabulary_size=40)
        assert tokenization.vocabulary_of(counts, large) == ("c", "b", "é", "Z", "a")

    def test_the_end_mark_is_the_first_of_them(self) -> None:
        feature = TokensFeature(vocabulary_size=3, pack=True, max_length=4, end_token="b")
        counts = {b"b": 3, b"a": 1, b"c": 5}
        assert tokenization.vocabulary_of(counts, feature) == ("b", "c", "a")
        schema = tokenization.with_vocabularies(Schema(features={"x": feature}), {"x": counts})
        assert schema.features == {
            "x": TokensFeature(vocabulary=("b", "c", "a"), pack=True, max_length=4, end_token="b")
        }

    def test_other_features_stay_as_they_are(self) -> None:
        schema = Schema(features={"x": TokensFeature(vocabulary=("a",))})
        assert tokenization.with_vocabularies(schema, {}) == schema

    def test_texts_without_words_are_refused(self) -> None:
        sentence = (
            "a vocabulary must be found in texts with words (there is none in the source); give "
            "other texts, or a vocabulary"
        )
        with pytest.raises(SourceError, match=f"^{re.escape(sentence)}$"):
            tokenization.vocabulary_of({}, TokensFeature(vocabulary_size=3))
