"""Text to numbers of tokens, by a tokenizer's file or a vocabulary of words.

The only module that imports ``tokenizers`` and ``sentencepiece``, and only for a feature
that uses them. `resolved` reads all files and finds out, before anything is converted,
whether they fit their features; `load` makes the tokenizers where texts are encoded.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import (
    MissingDependencyError,
    Problem,
    RecordError,
    RequestError,
    SchemaError,
    SourceError,
    clipped,
    counted,
    listed,
)
from tfrec_tools.schema import Schema, TokensFeature
from tfrec_tools.schema.cells import Lists, as_text, content, looked_up
from tfrec_tools.schema.tokens import HUGGING_FACE, SENTENCE_PIECE
from tfrec_tools.storage import base_name, open_storage, reason_of, split_url

_SLICE_BYTES = 1 << 20  # of text at once: what a library makes of it is many times as large
_LIST_TYPE = pa.large_list(pa.int64())
_NO_LETTERS = r"[^\pL\pN\pM']+"


class Tokenizer(Protocol):
    """What makes tokens of texts. ``end_id`` is the mark behind a text, where texts are packed."""

    end_id: int | None

    def encode(self, texts: pa.LargeBinaryArray) -> pa.LargeListArray:
        """Return the tokens (large_list [n] of int64) of texts in UTF-8; of a null, a null.

        `TokensFeature.texts` gives such texts, and says which cells are none.
        """
        ...


def resolved(schema: Schema) -> Schema:
    """Return the schema without paths: words and hashes in the place of files.

    Paths are relative to the working directory; `load` wants them again. Everything that can be wrong with the files is found here. Raises RequestError for a file
    that cannot be read or is something else, MissingDependencyError for a library that is not
    installed, and SchemaError with all options that do not fit their files.
    """
    features = dict(schema.features)
    problems: list[Problem] = []
    for name, feature in schema.features_of(TokensFeature).items():
        where = f"features.{name}"
        try:
            features[name] = _resolved(feature, where)
        except SchemaError as error:
            problems += [Problem(f"{where}.{p.where}", p.what) for p in error.problems]
    if problems:
        raise SchemaError(problems)
    return dataclasses.replace(schema, features=features)


def _resolved(feature: TokensFeature, where: str) -> TokensFeature:
    if isinstance(feature.vocabulary, str):
        path = feature.vocabulary
        words = _words_of_file(_read(path, f"{where}.vocabulary"), path)
        try:
            return dataclasses.replace(feature, vocabulary=words)
        except ValueError as error:
            raise SchemaError([Problem("vocabulary", f"{path}: {error}")]) from None
    if feature.tokenizer is None:
        return feature
    path = feature.tokenizer
    data = _read(path, f"{where}.tokenizer")
    found = _hash(data)
    if feature.tokenizer_hash not in {None, found}:
        raise RequestError(
            f"{where}.tokenizer must be the file whose hash is tokenizer_hash, "
            f"{feature.tokenizer_hash} ({path} has {found}); give that file, or leave "
            "tokenizer_hash out"
        )
    _of_file(feature, data, path)
    return dataclasses.replace(feature, tokenizer=base_name(path), tokenizer_hash=found)


@functools.cache
def load(feature: TokensFeature, path: str | None = None) -> Tokenizer:
    """Return the tokenizer of a resolved feature; ``path`` is where its file lies, if it has one.

    Made once per process. Raises RequestError if the file is no longer what it was.
    """
    if feature.tokenizer is None:
        return _Words(feature)
    assert path is not None
    data = _read(path, "a tokenizer")
    if _hash(data) != feature.tokenizer_hash:
        raise RequestError(
            f"a tokenizer's file must stay as it was when the conversion began ({path} has "
            "changed); run the command again"
        )
    return _of_file(feature, data, path)


def _read(path: str, what: str) -> bytes:
    folder, name = split_url(path)
    try:
        return open_storage(folder).read(os.fsencode(name))
    except OSError as error:
        raise RequestError(
            f"{what} must be a file that can be read ({path}: {reason_of(error)})"
        ) from None


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _words_of_file(data: bytes, path: str) -> tuple[str, ...]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RequestError(
            f"a vocabulary must be UTF-8 text, one word per line ({path}: line {line} is none); "
            "save it as UTF-8"
        ) from None
    lines = text.removesuffix("\n").split("\n") if text else []
    words = [line.removesuffix("\r") for line in lines]
    if "" in words:
        raise RequestError(
            f"a vocabulary must have one word per line ({path}: line {words.index('') + 1} is "
            "empty); take the line out"
        )
    return tuple(words)


def _of_file(feature: TokensFeature, data: bytes, path: str) -> Tokenizer:
    assert feature.tokenizer is not None
    if feature.tokenizer.endswith(SENTENCE_PIECE):
        return _SentencePiece(feature, data, path)
    return _HuggingFace(feature, data, path)


def _no_library(package: str, ending: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"a tokenizer that ends in {ending} needs {package}; install it with: "
        f"pip install 'tfrec-tools[{package}]'"
    )


class _HuggingFace:
    """A tokenizer of Hugging Face's ``tokenizers``; padding and cutting of its own are off."""

    def __init__(self, feature: TokensFeature, data: bytes, path: str) -> None:
        # Workers are processes; threads of the library's own would only be in their way.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        try:
            import tokenizers
        except ModuleNotFoundError as error:
            if error.name != "tokenizers":
                raise
            raise _no_library("tokenizers", HUGGING_FACE) from None
        self._name = base_name(path)
        self._adds = feature.adds_special_tokens
        try:
            model = tokenizers.Tokenizer.from_str(data.decode())
            model.no_padding()
            model.no_truncation()
            model.encode_batch([""], add_special_tokens=self._adds)
        except BaseException as error:
            # What the library panics about is no Exception; it must not pass for a bug of ours.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise RequestError(
                f"a tokenizer that ends in {HUGGING_FACE} must be a file of Hugging Face "
                f"tokenizers ({path} is none: {_first_line(error)})"
            ) from None
        dropout = getattr(model.model, "dropout", None)
        if dropout:
            raise RequestError(
                f"a tokenizer must make the same tokens of the same text ({path} has a dropout of "
                f"{dropout:g}); set dropout to null in the file"
            )
        if feature.cuts_records and feature.max_length is not None:
            num_added = model.num_special_tokens_to_add(False) if self._adds else 0
            _check_room(feature.max_length, num_added, path)
            model.enable_truncation(feature.max_length)  # which keeps the special tokens
        self.end_id: int | None = None
        if feature.pack:
            added = model.get_added_tokens_decoder()
            special = [added[number].content for number in sorted(added) if added[number].special]
            self.end_id = (
                None if feature.end_token is None else model.token_to_id(feature.end_token)
            )
            if self.end_id is None:
                raise _no_end(feature, path, f"its special tokens are {listed(special) or 'none'}")
        # Without the places of tokens in the text; older versions do not have it.
        self._encode: Callable[..., list[Any]] = getattr(
            model, "encode_batch_fast", model.encode_batch
        )

    def encode(self, texts: pa.LargeBinaryArray) -> pa.LargeListArray:
        return _encoded(texts, self._ids)

    def _ids(self, texts: pa.LargeBinaryArray) -> list[list[int]]:
        try:
            found = self._encode(as_text(texts).to_pylist(), add_special_tokens=self._adds)
        except Exception as error:
            raise RecordError(
                f"a tokenizer must have tokens for all texts ({self._name} says: "
                f"{_first_line(error)}); give one with a token for unknown words"
            ) from None
        return [encoding.ids for encoding in found]  # a loop: the library gives objects


class _SentencePiece:
    """A SentencePiece model; special tokens are its marks of beginning and end, if it has them."""

    def __init__(self, feature: TokensFeature, data: bytes, path: str) -> None:
        try:
            import sentencepiece
        except ModuleNotFoundError as error:
            if error.name != "sentencepiece":
                raise
            raise _no_library("sentencepiece", SENTENCE_PIECE) from None
        try:
            if not data:  # of which the library makes a processor without a model
                raise ValueError
            self._model = sentencepiece.SentencePieceProcessor(model_proto=data)
        except Exception:
            found = "its content is something else" if data else "it is empty"
            raise RequestError(
                f"a tokenizer that ends in {SENTENCE_PIECE} must be a SentencePiece model "
                f"({path} is none: {found})"
            ) from None
        marks = [self._model.bos_id(), self._model.eos_id()]
        self._start, self._end = (
            [mark] if mark >= 0 and feature.adds_special_tokens else [] for mark in marks
        )
        self._room: int | None = None
        if feature.cuts_records and feature.max_length is not None:
            num_added = len(self._start) + len(self._end)
            _check_room(feature.max_length, num_added, path)
            self._room = feature.max_length - num_added
        self.end_id: int | None = self._end_id(feature, path) if feature.pack else None

    def _end_id(self, feature: TokensFeature, path: str) -> int:
        model, token = self._model, feature.end_token
        number = int(model.eos_id() if token is None else model.piece_to_id(token))
        if number >= 0 and token in {None, model.id_to_piece(number)}:
            return number  # else it is the number of unknown pieces
        pieces = range(model.get_piece_size())
        control = [model.id_to_piece(number) for number in pieces if model.is_control(number)]
        raise _no_end(feature, path, f"its control symbols are {listed(control) or 'none'}")

    def encode(self, texts: pa.LargeBinaryArray) -> pa.LargeListArray:
        return _encoded(texts, self._ids)

    def _ids(self, texts: pa.LargeBinaryArray) -> list[list[int]]:
        found = self._model.encode(texts.to_pylist(), out_type=int, num_threads=1)
        # A loop: the library gives a list per text.
        return [[*self._start, *ids[: self._room], *self._end] for ids in found]


class _Words:
    """Words of a vocabulary; those that it does not have are spread over ``num_oov`` numbers."""

    def __init__(self, feature: TokensFeature) -> None:
        assert isinstance(feature.vocabulary, tuple)
        self._feature = feature
        first = 1 + feature.num_oov
        self._ids = {word.encode(): first + i for i, word in enumerate(feature.vocabulary)}
        self.end_id: int | None = None
        if feature.pack and feature.end_token is not None:
            self.end_id = self._ids[feature.end_token.encode()]

    def encode(self, texts: pa.LargeBinaryArray) -> pa.LargeListArray:
        words = _words(self._feature, texts)
        numbers, _ = looked_up(words.items, self._id)
        return words.wrapped(numbers)

    def _id(self, word: bytes) -> int:
        found = self._ids.get(word)
        if found is not None or self._feature.num_oov == 1:
            return found or 1
        digest = hashlib.blake2b(word, digest_size=8).digest()
        return 1 + int.from_bytes(digest, "big") % self._feature.num_oov


def count_words(feature: TokensFeature, texts: pa.LargeBinaryArray) -> dict[bytes, int]:
    """Return how often each word stands in the texts; what is no UTF-8 is passed over."""
    counts = _words(feature, feature.texts(texts).values).items.value_counts()
    values, numbers = counts.flatten()
    return dict(zip(values.to_pylist(), numbers.to_pylist(), strict=True))


def vocabulary_of(counts: Mapping[bytes, int], feature: TokensFeature) -> tuple[str, ...]:
    """Return the ``vocabulary_size`` words: the end token if given, then the most frequent first.

    Equally frequent ones are sorted by their bytes. Raises SourceError if there are none.
    """
    assert feature.vocabulary_size is not None
    first = [] if feature.end_token is None else [feature.end_token]
    words = [word for word in counts if word.decode() not in first]
    if not words:
        raise SourceError(
            "a vocabulary must be found in texts with words (there is none in the source); "
            "give other texts, or a vocabulary"
        )
    words.sort(key=lambda word: (-counts[word], word))
    found = [word.decode() for word in words[: feature.vocabulary_size - len(first)]]
    return (*first, *found)


def with_vocabularies(schema: Schema, counts: Mapping[str, Mapping[bytes, int]]) -> Schema:
    """Return the schema with vocabularies made of the words that were counted, by feature.

    Raises SourceError where a feature needs words, and there are none.
    """
    features = {
        name: dataclasses.replace(
            feature,
            vocabulary=vocabulary_of(counts.get(name, {}), feature),
            vocabulary_size=None,
        )
        if isinstance(feature, TokensFeature) and feature.vocabulary_size is not None
        else feature
        for name, feature in schema.features.items()
    }
    return dataclasses.replace(schema, features=features)


def _words(feature: TokensFeature, texts: pa.LargeBinaryArray) -> Lists:
    """Take texts apart to words (large_binary)."""
    strings = as_text(texts)
    if feature.words == "letters":
        strings = pc.replace_substring_regex(strings, pattern=_NO_LETTERS, replacement=" ")
    parts = pc.utf8_split_whitespace(strings)
    lengths = np.asarray(pc.fill_null(pc.list_value_length(parts), 0), dtype=np.int64)
    words = parts.flatten().cast(pa.large_binary())
    # White space at an end leaves an empty word.
    is_word = pc.not_equal(pc.binary_length(words), 0)
    before = np.concatenate([[0], np.cumsum(np.asarray(is_word), dtype=np.int64)])
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return Lists(words.filter(is_word), before[bounds], np.asarray(texts.is_valid()))


def _encoded(
    texts: pa.LargeBinaryArray, ids_of: Callable[[pa.LargeBinaryArray], list[list[int]]]
) -> pa.LargeListArray:
    """Encode the texts that are there, some at a time, and leave nulls where they are."""
    valid = texts.drop_null() if texts.null_count else texts
    parts = [pa.array(ids_of(part), _LIST_TYPE) for part in _slices(valid)]
    lists = pa.concat_arrays([pa.array([], _LIST_TYPE), *parts])
    if not texts.null_count:
        return lists
    is_valid = np.asarray(texts.is_valid())
    return lists.take(pa.array(np.cumsum(is_valid) - 1, mask=~is_valid))


def _slices(texts: pa.LargeBinaryArray) -> Iterator[pa.LargeBinaryArray]:
    """Yield the texts, at most about `_SLICE_BYTES` of them at once, but at least one."""
    _, offsets = content(texts)
    pieces = offsets[:-1] // _SLICE_BYTES
    cuts = [0, *(np.flatnonzero(np.diff(pieces)) + 1).tolist(), len(texts)]
    for start, stop in itertools.pairwise(cuts):
        if stop > start:
            yield texts[start:stop]


def _check_room(max_length: int, num_added: int, path: str) -> None:
    """Refuse a length that leaves no room for the text itself."""
    if num_added and max_length <= num_added:
        what = (
            f"must be more than the {counted(num_added, 'special token')} that {path} adds "
            f"(got {max_length}); raise it, or use add_special_tokens: false"
        )
        raise SchemaError([Problem("max_length", what)])


def _no_end(feature: TokensFeature, path: str, known: str) -> SchemaError:
    found = "it is missing" if feature.end_token is None else f"got {clipped(feature.end_token)}"
    what = f"must be a token of {path}, to be put behind each text ({found}; {known})"
    return SchemaError([Problem("end_token", what)])


def _first_line(error: BaseException) -> str:
    """Return what a library says, as the end of a sentence."""
    return (str(error).splitlines() or ["it says no more"])[0].rstrip(".")
