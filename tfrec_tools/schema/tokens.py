"""``kind: tokens``: text turned into the numbers of its tokens.

The numbers themselves are made by ``tfrec_tools.tokenization``, which reads files and knows
the libraries; here is what they mean and how they are stored.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import clipped
from tfrec_tools.schema.cells import type_problem
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn
from tfrec_tools.schema.options import WRITTEN_IF_GIVEN
from tfrec_tools.schema.texts import TextFeature

HUGGING_FACE, SENTENCE_PIECE = ".json", ".model"
"""How the names of tokenizers' files end."""

_ADVICE_FOR_TEXT = "; use kind: bytes"
_ADVICE = "; give the encoding of the source"
_HASH = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensFeature:
    """Tokens of a column of text as int64: a list per record, or sequences of equal length.

    Exactly one of ``tokenizer`` (a tokenizers JSON file or a SentencePiece model),
    ``vocabulary`` (words, or a file with one a line) and ``vocabulary_size`` (as many words
    as the vocabulary shall have: ``end_token`` if given, and the most frequent words of the
    source). With a vocabulary, 0 is padding, 1 to ``num_oov`` are words that it does not
    have, then come its words; a word is what stands between white space, or a run of
    letters, digits, marks and apostrophes (``words: letters``).

    ``max_length``: tokens that a record has at most; it is cut there, or at fault
    (``truncate: false``). ``pack``: all texts, an end mark behind each, are one stream that
    is cut into sequences of ``max_length``; the last is filled with ``pad_id`` or dropped
    (``remainder``). ``add_special_tokens``: by default, unless packed.

    ``tokenizer_hash``, of the file's content, is filled in when a request is resolved.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["tokens"] = "tokens"
    from_: str | None = None
    target: bool = False
    tokenizer: str | None = None
    tokenizer_hash: str | None = None
    vocabulary: tuple[str, ...] | str | None = None
    vocabulary_size: int | None = None
    num_oov: int = field(default=1, metadata=WRITTEN_IF_GIVEN)
    words: Literal["whitespace", "letters"] = field(default="whitespace", metadata=WRITTEN_IF_GIVEN)
    max_length: int | None = None
    truncate: bool = field(default=True, metadata=WRITTEN_IF_GIVEN)
    pack: bool = field(default=False, metadata=WRITTEN_IF_GIVEN)
    end_token: str | None = None
    remainder: Literal["pad", "drop"] = field(default="pad", metadata=WRITTEN_IF_GIVEN)
    pad_id: int = field(default=0, metadata=WRITTEN_IF_GIVEN)
    add_special_tokens: bool | None = None

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        problems = [
            *self._tokenizer_problems(),
            *self._number_problems(),
            *self._length_problems(),
            *self._vocabulary_problems(),
        ]
        if self.from_ is not None and "{" in self.from_:
            problems.append(f"from must name a column of text (got {clipped(self.from_)})")
        if problems:
            raise ValueError("; ".join(problems))

    def _tokenizer_problems(self) -> list[str]:
        problems = []
        names = ("tokenizer", "vocabulary", "vocabulary_size")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            problems.append(
                f"exactly one of tokenizer, vocabulary and vocabulary_size is needed (got {found})"
            )
        if self.tokenizer is None:
            problems += [
                f"`{name}` goes with a tokenizer"
                for name in ("tokenizer_hash", "add_special_tokens")
                if getattr(self, name) is not None
            ]
        elif not self.tokenizer.endswith((HUGGING_FACE, SENTENCE_PIECE)):
            problems.append(
                f"tokenizer must be a file that ends in {HUGGING_FACE} (Hugging Face tokenizers) "
                f"or {SENTENCE_PIECE} (SentencePiece) (got {clipped(self.tokenizer)})"
            )
        if self.tokenizer_hash is not None and not _HASH.fullmatch(self.tokenizer_hash):
            problems.append(
                f"tokenizer_hash must be 32 hexadecimal digits (got {clipped(self.tokenizer_hash)})"
            )
        if not self.uses_words:
            problems += [
                f"`{name}` goes with a vocabulary"
                for name, default in (("num_oov", 1), ("words", "whitespace"))
                if getattr(self, name) != default
            ]
        return problems

    def _number_problems(self) -> list[str]:
        least = (("vocabulary_size", 1), ("num_oov", 1), ("max_length", 1), ("pad_id", 0))
        problems = [
            f"{name} must be at least {bound} (got {value})"
            for name, bound in least
            if (value := getattr(self, name)) is not None and value < bound
        ]
        problems += [
            f"{name} must be at most {most:,} (got {value:,})"
            for name, most in (("max_length", 1 << 31), ("num_oov", 1 << 31))
            if (value := getattr(self, name)) is not None and value > most
        ]
        if self.uses_words and self.pad_id > 0:
            problems.append(f"with a vocabulary, pad_id is 0 (got {self.pad_id})")
        elif self.pad_id >= 1 << 63:
            problems.append(f"pad_id must be a whole number of 64 bits (got {self.pad_id})")
        return problems

    def _length_problems(self) -> list[str]:
        problems = []
        if not self.truncate and self.max_length is None:
            problems.append("`truncate: false` goes with max_length")
        if not self.pack:
            problems += [
                f"`{name}` goes with `pack: true`"
                for name, default in (("end_token", None), ("remainder", "pad"))
                if getattr(self, name) != default
            ]
            return problems
        if self.max_length is None:
            problems.append("`pack: true` needs max_length, the length of all sequences")
        if not self.truncate:
            problems.append("`pack: true` and `truncate: false` exclude each other")
        if self.uses_words and self.end_token is None:
            problems.append("`pack: true` with a vocabulary needs an end_token, such as <end>")
        return problems

    def _vocabulary_problems(self) -> list[str]:
        if self.vocabulary_size == 1 and self.end_token is not None:
            return ["vocabulary_size must be at least 2 with an end_token (got 1)"]
        if self.vocabulary is None or isinstance(self.vocabulary, str):
            if self.vocabulary == "":
                return ["vocabulary must be words, or a file with one per line (got '')"]
            return []
        if not self.vocabulary:
            return ["vocabulary must hold at least one word"]
        problems = []
        if "" in self.vocabulary:
            problems.append("the words of a vocabulary must not be empty")
        if len(set(self.vocabulary)) != len(self.vocabulary):
            word, number = Counter(self.vocabulary).most_common(1)[0]
            problems.append(
                f"the words of a vocabulary must differ ({clipped(word)} is there {number} times)"
            )
        if self.words == "whitespace":
            # By the kernel that takes texts apart: what it does not part, it can find.
            parts = pc.utf8_split_whitespace(pa.array(self.vocabulary, pa.large_string()))
            parted = np.flatnonzero(np.asarray(pc.list_value_length(parts)) > 1)
            if len(parted):
                problems.append(
                    "the words of a vocabulary must be without white space "
                    f"(got {clipped(self.vocabulary[parted[0]])})"
                )
        if self.end_token is not None and self.end_token not in self.vocabulary:
            problems.append(
                f"end_token must be a word of the vocabulary (got {clipped(self.end_token)})"
            )
        return problems

    @property
    def uses_words(self) -> bool:
        """Whether tokens are words of a vocabulary, given or found."""
        return self.vocabulary is not None or self.vocabulary_size is not None

    @property
    def num_ids(self) -> int | None:
        """How many different numbers there can be, where the vocabulary is known."""
        if isinstance(self.vocabulary, tuple):
            return 1 + self.num_oov + len(self.vocabulary)
        return None

    @property
    def adds_special_tokens(self) -> bool:
        """Whether the tokenizer adds its marks of beginnings and ends."""
        return not self.pack if self.add_special_tokens is None else self.add_special_tokens

    @property
    def cuts_records(self) -> bool:
        """Whether a record's tokens beyond ``max_length`` are left out."""
        return self.max_length is not None and self.truncate and not self.pack

    @property
    def many(self) -> bool:
        """Whether a record has any number of tokens."""
        return not self.pack

    @property
    def is_packed(self) -> bool:
        """Whether every record has the same number of tokens."""
        return self.pack

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of a record's tokens, if all records have the same."""
        return (self.max_length,) if self.pack and self.max_length is not None else None

    @property
    def needs_separator(self) -> bool:
        """Whether text cells cannot be understood without a separator."""
        return False

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the list of tokens; of a packed sequence also how many are no padding."""
        if self.shape is None:
            return (StoredColumn(name, StoredType.INT64, is_list=True),)
        return (
            StoredColumn(name, StoredType.INT64, self.shape),
            StoredColumn(f"{name}_length", StoredType.INT64),
        )

    def accepts(self, arrow_type: pa.DataType) -> str | None:
        """Return why a column of this type cannot feed the feature, or None if it can."""
        return type_problem(self.kind, arrow_type, lambda _: False, lists=None)

    def encode(self, values: pa.Array, *, decimal: str = ".") -> EncodedColumn:  # noqa: ARG002
        """Raise TypeError: text has to be tokenized first."""
        raise TypeError("kind tokens is stored from numbers of tokens; tokenize the text first")

    def texts(self, values: pa.Array) -> EncodedColumn:
        """Return cells of text as large_binary [n], fit for a tokenizer.

        What is no UTF-8 is a fault, and null; a missing cell is null.
        """
        found = TextFeature().encode(values)
        if not found.faults:
            return found
        faults = {
            index: reason.removesuffix(_ADVICE_FOR_TEXT) + _ADVICE
            for index, reason in found.faults.items()
        }
        is_text = np.ones(len(found.values), np.bool_)
        is_text[list(faults)] = False
        return EncodedColumn(pc.if_else(pa.array(is_text), found.values, None), faults)

    def encode_ids(self, lists: pa.LargeListArray) -> EncodedColumn:
        """Cut lists of tokens (large_list [n] of int64) to ``max_length``, or find faults.

        Texts that are to be packed stay as long as they are.
        """
        if self.max_length is None or self.pack:
            return EncodedColumn(lists)
        lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0), dtype=np.int64)
        too_long = np.flatnonzero(lengths > self.max_length).tolist()
        if not too_long:
            return EncodedColumn(lists)
        if self.truncate:
            return EncodedColumn(pc.list_slice(lists, 0, self.max_length))
        return EncodedColumn(
            lists,
            {
                index: f"must have at most {self.max_length} tokens (it has {lengths[index]}); "
                "raise max_length, or use truncate: true"
                for index in too_long
            },
        )
