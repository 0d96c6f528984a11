"""Words of documents, of which vocabularies are made."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tfrec_tools import stages
from tfrec_tools.request import Request, SourceSpec, TextOptions
from tfrec_tools.schema import Schema, TextFeature, TokensFeature
from tfrec_tools.stages import shard_writing

WORDS = TokensFeature(from_="text", vocabulary_size=3)
LETTERS = TokensFeature(from_="text", vocabulary_size=9, words="letters")
GIVEN = TokensFeature(from_="text", vocabulary=("b",))
SCHEMA = Schema(features={"text": TextFeature(), "w": WORDS, "l": LETTERS, "g": GIVEN})


def request(root: Path, schema: Schema | None = SCHEMA, **text: object) -> Request:
    options = TextOptions(record="document", **text)
    source = SourceSpec(root=str(root), kind="text", text=options)
    return Request(source=source, output=str(root / "out"), schema=schema)


@pytest.fixture
def root(tmp_path) -> Path:
    (tmp_path / "in").mkdir()
    for name, content in {
        "1.txt": b"b a b\nc!\n",
        "2.txt.gz": gzip.compress(b"c! a b"),
        "3.txt": b"\xff b",
        "4.txt": b"",
        "5.txt": b"far too long too long",
    }.items():
        (tmp_path / "in" / name).write_bytes(content)
    return tmp_path / "in"


def counted(asked: Request) -> dict[str, dict[bytes, int]]:
    found = [
        stages.survey_documents(asked, batch.files)
        for unit in stages.list_units(asked)
        for batch in stages.list_unit(asked, unit)
    ]
    return stages.merge_words(found)


@pytest.mark.parametrize("block_records", [1024, 1])
def test_words_of_documents_that_are_records(root, monkeypatch, block_records) -> None:
    monkeypatch.setattr(shard_writing, "BLOCK_RECORDS", block_records)
    assert counted(request(root, max_chars=12)) == {
        "w": {b"b": 3, b"a": 2, b"c!": 2},
        "l": {b"b": 3, b"a": 2, b"c": 2},
    }


def test_only_where_a_vocabulary_is_to_be_found(root) -> None:
    assert list(stages.counted_features(request(root))) == ["w", "l"]
    assert stages.counted_features(request(root, None)) == {}
    assert counted(request(root, Schema(features={"g": GIVEN}))) == {}


def test_vocabularies_are_frozen_into_the_schema_and_not_into_the_request(root) -> None:
    asked = request(root, max_chars=12, errors="skip")
    schema = stages.with_vocabularies(SCHEMA, counted(asked))
    (unit,) = stages.list_units(asked)
    survey = stages.merge(stages.survey(asked, batch) for batch in stages.list_unit(asked, unit))
    plan = stages.resolve(asked, survey, schema=schema)
    assert plan.schema.features["w"].vocabulary == ("b", "a", "c!")
    assert plan.schema.features["l"].vocabulary == ("b", "a", "c")
    assert plan.request.schema == SCHEMA
