"""Tokens end to end: ids as the library gives them, and sequences without loss."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfrec_tools
from tfrec_tools.errors import RecordError, RequestError, SchemaError, SourceError
from tfrec_tools.local_engine import tables

tokenizers = pytest.importorskip("tokenizers")
sentencepiece = pytest.importorskip("sentencepiece")

WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "and",
    "then",
    "it",
    "sleeps",
    "under",
    "an",
    "old",
    "tree",
]


def line(number: int) -> str:
    return " ".join(WORDS[number * 7 % 17 : number * 7 % 17 + number % 9]) + f" {number}"


LINES = [line(number) for number in range(2_000)]


@pytest.fixture(scope="module")
def tokenizer_file(tmp_path_factory) -> Path:
    """Train a tiny BPE tokenizer with an end mark."""
    model = tokenizers.Tokenizer(tokenizers.models.BPE())
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<end>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    model.train_from_iterator(LINES, trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "bpe.json"
    model.save(str(path))
    return path


@pytest.fixture(scope="module")
def library(tokenizer_file) -> Any:
    return tokenizers.Tokenizer.from_file(str(tokenizer_file))


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("\n".join(LINES))
    return path


def tokens(**options: Any) -> dict[str, Any]:
    return {"features": {"ids": {"kind": "tokens", "from": "text", **options}}}


def stream(library: Any, texts: list[str]) -> list[int]:
    """Return the tokens of texts, one after the other, each with the end mark behind it."""
    end = library.token_to_id("<end>")
    return [token for text in texts for token in (*library.encode(text).ids, end)]


def unpacked(records: list[dict[str, Any]]) -> list[int]:
    return [t for record in records for t in record["ids"][: record["ids_length"][0]]]


def test_ids_of_lines_are_those_of_the_library(
    tmp_path, source, tokenizer_file, library, read_dataset
) -> None:
    schema = tokens(tokenizer=str(tokenizer_file), max_length=6)
    schema["features"]["text"] = {"kind": "text"}
    manifest = tfrec_tools.convert(source, tmp_path / "out", schema=schema, order="source")
    records = read_dataset(tmp_path / "out")
    assert [record["text"][0].decode() for record in records] == LINES
    assert [record["ids"] for record in records] == [library.encode(t).ids[:6] for t in LINES]
    # The manifest knows the tokenizer by its content, not by where it lay.
    assert manifest.schema.features["ids"].tokenizer == "bpe.json"
    assert str(tokenizer_file.parent) not in (tmp_path / "out/manifest.json").read_text()


def test_a_record_that_is_too_long_can_be_a_fault(tmp_path, source, tokenizer_file) -> None:
    schema = tokens(tokenizer=str(tokenizer_file), max_length=6, truncate=False)
    with pytest.raises(RecordError) as error:
        tfrec_tools.convert(source, tmp_path / "out", schema=schema, fail_fast=True)
    assert "in.txt: line " in str(error.value)
    assert "must have at most 6 tokens (it has " in str(error.value)


@pytest.mark.parametrize("num_shards", [1, 3])
def test_packed_sequences_give_the_stream_back(
    tmp_path, source, tokenizer_file, library, read_dataset, small_blocks, num_shards
) -> None:
    small_blocks(4_096)
    schema = tokens(tokenizer=str(tokenizer_file), pack=True, max_length=32, end_token="<end>")
    manifest = tfrec_tools.convert(
        source, tmp_path / "out", schema=schema, order="source", num_shards=num_shards
    )
    records = read_dataset(tmp_path / "out")
    wanted = stream(library, LINES)
    assert unpacked(records) == wanted
    assert {len(record["ids"]) for record in records} == {32}
    # One unit: all sequences but the last are full.
    assert [r["ids_length"][0] for r in records[:-1]] == [32] * (len(records) - 1)
    assert manifest.num_records == -(-len(wanted) // 32)
    counts = [shard.num_records for shard in manifest.splits[0].shards]
    assert max(counts) - min(counts) <= 2  # shards are even in source order, too


def test_a_remainder_can_be_dropped_and_is_counted(
    tmp_path, source, tokenizer_file, library, read_dataset
) -> None:
    schema = tokens(
        tokenizer=str(tokenizer_file), pack=True, max_length=32, end_token="<end>", remainder="drop"
    )
    manifest = tfrec_tools.convert(source, tmp_path / "out", schema=schema, order="source")
    wanted = stream(library, LINES)
    full = len(wanted) // 32 * 32
    assert unpacked(read_dataset(tmp_path / "out")) == wanted[:full]
    assert manifest.num_dropped_tokens == len(wanted) - full > 0


def test_records_get_their_split_before_they_are_packed(
    tmp_path, source, tokenizer_file, library, read_dataset
) -> None:
    """The splits of packed lines are those of lines that are stored as they are."""
    splits = "train=0.7,test=0.3"
    tfrec_tools.convert(source, tmp_path / "text", splits=splits, order="source")
    schema = tokens(tokenizer=str(tokenizer_file), pack=True, max_length=16, end_token="<end>")
    tfrec_tools.convert(source, tmp_path / "out", splits=splits, order="source", schema=schema)
    for split in ("train", "test"):
        texts = [r["text"][0].decode() for r in read_dataset(tmp_path / "text", split)]
        assert unpacked(read_dataset(tmp_path / "out", split)) == stream(library, texts)


def test_documents_are_packed_in_the_order_of_their_paths(
    tmp_path, tokenizer_file, library, read_dataset
) -> None:
    contents = {f"{n % 3}/{n:03d}.txt": "\n".join(LINES[n * 5 : n * 5 + 5]) for n in range(90)}
    for name, text in contents.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        content = text.encode()
        (tmp_path / "in" / name).write_bytes(gzip.compress(content) if "7" in name else content)
    schema = tokens(tokenizer=str(tokenizer_file), pack=True, max_length=16, end_token="<end>")
    splits = "train=0.7,test=0.3"
    options: dict[str, Any] = {"splits": splits, "order": "source", "text": {"record": "document"}}
    tfrec_tools.convert(tmp_path / "in", tmp_path / "out", schema=schema, kind="text", **options)
    tfrec_tools.convert(tmp_path / "in", tmp_path / "text", kind="text", **options)
    for split in ("train", "test"):
        records = read_dataset(tmp_path / "text", split)
        names = sorted(record["filename"][0].decode() for record in records)
        assert unpacked(read_dataset(tmp_path / "out", split)) == stream(
            library, [contents[name] for name in names]
        )


def test_any_number_of_workers_writes_the_same_sequences(
    tmp_path, source, tokenizer_file, file_hashes, monkeypatch
) -> None:
    monkeypatch.setattr(tables, "SMALL_NUM_BYTES", 0)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.txt").write_text("\n".join(LINES[number * 500 :][:500]))
    schema = tokens(tokenizer=str(tokenizer_file), pack=True, max_length=16, end_token="<end>")
    for workers in (1, 2):
        tfrec_tools.convert(
            folder,
            tmp_path / f"out{workers}",
            kind="text",
            schema=schema,
            splits="train=0.8,test=0.2",
            num_workers=workers,
            num_shards=2,
        )
    assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out2")


def test_sentencepiece_models_tokenize_and_pack(tmp_path, source, read_dataset) -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, vocab_size=80, minloglevel=2
    )
    (tmp_path / "sp.model").write_bytes(model.getvalue())
    library = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    schema = tokens(tokenizer=str(tmp_path / "sp.model"), pack=True, max_length=24)
    tfrec_tools.convert(source, tmp_path / "out", schema=schema, order="source")
    wanted = [t for text in LINES for t in (*library.encode(text), library.eos_id())]
    assert unpacked(read_dataset(tmp_path / "out")) == wanted


def test_a_vocabulary_is_found_by_frequency(tmp_path, read_dataset) -> None:
    (tmp_path / "in.txt").write_text("b a b\nc a b x\n")
    manifest = tfrec_tools.convert(
        tmp_path / "in.txt", tmp_path / "out", schema=tokens(vocabulary_size=3), order="source"
    )
    assert manifest.schema.features["ids"].vocabulary == ("b", "a", "c")
    # 0 is padding, 1 stands for other words, then come the words.
    assert [r["ids"] for r in read_dataset(tmp_path / "out")] == [[2, 3, 2], [4, 3, 2, 1]]


def test_a_vocabulary_of_documents_is_found_by_frequency(tmp_path, read_dataset) -> None:
    for name, text in {"pos/1.txt": "good good film", "neg/2.txt": "bad film film"}.items():
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text(text)
    schema = tokens(vocabulary_size=2)
    schema["features"]["label"] = {"kind": "class_label", "target": True}
    manifest = tfrec_tools.convert(
        tmp_path / "in", tmp_path / "out", schema=schema, kind="text", order="source"
    )
    assert manifest.schema.features["ids"].vocabulary == ("film", "good")
    assert [(r["label"], r["ids"]) for r in read_dataset(tmp_path / "out")] == [
        ([0], [1, 2, 2]),
        ([1], [3, 3, 2]),
    ]


def test_tokens_of_a_table(tmp_path, read_dataset) -> None:
    (tmp_path / "in.csv").write_text("comment,stars\na b,1\n,2\n")
    schema = {
        "features": {
            "ids": {"kind": "tokens", "from": "comment", "vocabulary": ["a", "b"]},
            "stars": {"kind": "int64", "target": True},
        }
    }
    tfrec_tools.convert(tmp_path / "in.csv", tmp_path / "out", schema=schema, order="source")
    assert [(r["ids"], r["stars"]) for r in read_dataset(tmp_path / "out")] == [
        ([2, 3], [1]),
        ([], [2]),
    ]


def test_packed_tokens_stand_alone(tmp_path, source, tokenizer_file) -> None:
    schema = tokens(tokenizer=str(tokenizer_file), pack=True, max_length=8, end_token="<end>")
    schema["features"]["line"] = {"kind": "int64"}
    with pytest.raises(SchemaError) as error:
        tfrec_tools.convert(source, tmp_path / "out", schema=schema)
    assert str(error.value).endswith(
        "features.ids.pack: must be the only feature, since its sequences span records (got "
        "'line' beside it)"
    )


def test_a_tokenizer_that_is_none_is_named(tmp_path, source) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(RequestError) as error:
        tfrec_tools.convert(
            source, tmp_path / "out", schema=tokens(tokenizer=str(tmp_path / "bad.json"))
        )
    assert str(error.value).startswith(
        "a tokenizer that ends in .json must be a file of Hugging Face tokenizers "
        f"({tmp_path}/bad.json is none: "
    )
    assert not (tmp_path / "out").exists()


def test_a_missing_tokenizer_is_named(tmp_path, source) -> None:
    with pytest.raises(RequestError, match=r"no\.json"):
        tfrec_tools.convert(source, tmp_path / "out", schema=tokens(tokenizer="no.json"))


def test_other_tokens_are_another_plan(tmp_path, source, tokenizer_file) -> None:
    prints = {
        tfrec_tools.convert(
            source,
            tmp_path / f"out{length}",
            schema=tokens(tokenizer=str(tokenizer_file), max_length=length),
        ).fingerprint
        for length in (5, 6)
    }
    assert len(prints) == 2


def test_statistics_count_tokens(tmp_path, read_dataset) -> None:
    (tmp_path / "in.txt").write_text("b a b\n\nc a b x\n")
    manifest = tfrec_tools.convert(
        tmp_path / "in.txt", tmp_path / "out", schema=tokens(vocabulary_size=3)
    )
    found = manifest.splits[0].statistics["ids"]
    assert (found["min_length"], found["max_length"], found["values"]) == (0, 4, 7)
    assert np.isclose(found["mean_length"], 7 / 3)


def documents(folder: Path, number: int) -> Path:
    for index in range(number):
        (folder / "a").mkdir(parents=True, exist_ok=True)
        (folder / "a" / f"{index}.txt").write_text("hello bye")
    return folder


PACKED_WORDS = {
    "vocabulary": ["hello", "bye", "e"],
    "pack": True,
    "max_length": 2,
    "end_token": "e",
}


def test_packed_documents_are_made_of_their_text(tmp_path) -> None:
    schema = {"features": {"x": {"kind": "tokens", "from": "filename", **PACKED_WORDS}}}
    with pytest.raises(SchemaError) as error:
        tfrec_tools.convert(
            documents(tmp_path / "in", 2), tmp_path / "out", kind="text", schema=schema
        )
    assert str(error.value).endswith(
        "features.x.from: tokens are made of the column text (got 'filename')"
    )


def test_packed_documents_are_split_by_their_paths_only(tmp_path) -> None:
    with pytest.raises(RequestError) as error:
        tfrec_tools.convert(
            documents(tmp_path / "in", 2),
            tmp_path / "out",
            kind="text",
            schema=tokens(**PACKED_WORDS),
            splits="train=0.5,test=0.5",
            split_by="text",
        )
    assert str(error.value) == (
        "--split-by of packed documents must be filename, since paths decide (got 'text')"
    )


def test_words_are_counted_of_text_only(tmp_path) -> None:
    (tmp_path / "in.txt").write_text("a\n")
    schema = {"features": {"ids": {"kind": "tokens", "from": "line", "vocabulary_size": 3}}}
    with pytest.raises(SchemaError) as error:
        tfrec_tools.convert(tmp_path / "in.txt", tmp_path / "out", schema=schema)
    assert "features.ids: column 'line' holds int64" in str(error.value)


def test_remainders_that_are_all_dropped_are_named(tmp_path) -> None:
    (tmp_path / "in.txt").write_text("hello\nbye\n")
    schema = tokens(**PACKED_WORDS | {"max_length": 100, "remainder": "drop"})
    with pytest.raises(SourceError) as error:
        tfrec_tools.convert(tmp_path / "in.txt", tmp_path / "out", schema=schema)
    assert str(error.value) == (
        "packed tokens must fill a sequence of max_length (all 4 tokens were dropped as "
        "remainders); lower max_length, or use remainder: pad"
    )


def test_numbers_that_no_memory_holds_are_refused(tmp_path) -> None:
    (tmp_path / "in.txt").write_text("hello\n")
    with pytest.raises(
        SchemaError, match=r"max_length must be at most 2,147,483,648 \(got 1,000,000,000,000\)"
    ):
        tfrec_tools.convert(
            tmp_path / "in.txt",
            tmp_path / "out",
            schema=tokens(**PACKED_WORDS | {"max_length": 10**12}),
        )
