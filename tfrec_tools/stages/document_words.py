"""The stage that counts the words of documents, where a vocabulary is to be made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from tfrec_tools import tokenization
from tfrec_tools.file_schema import TEXT_COLUMN, column_of
from tfrec_tools.records import keys_of
from tfrec_tools.request import Request
from tfrec_tools.schema import Schema, TokensFeature
from tfrec_tools.sources import documents
from tfrec_tools.stages.shard_writing import block_slices

WordCounts = dict[str, dict[bytes, int]]
"""How often each word stands in the text, by feature."""


def counted_features(request: Request) -> dict[str, TokensFeature]:
    """Return the features whose vocabulary is to be made of the words of the documents."""
    if request.schema is None or request.source.kind != "text":
        return {}
    return {
        name: feature
        for name, feature in request.schema.features_of(TokensFeature).items()
        if feature.vocabulary_size is not None and column_of(name, feature) == TEXT_COLUMN
    }


def survey_documents(request: Request, files: pa.RecordBatch | pa.Table) -> WordCounts:
    """Return the words of listed documents (LISTING_SCHEMA), read in blocks that bound the memory.

    Those that do not fit, or are left out, are passed over.
    """
    features = counted_features(request)
    found: WordCounts = {name: {} for name in features}
    storage = documents.file_storage(request)
    sizes = files.column("num_bytes").to_pylist()
    for start, stop in block_slices(sizes):
        keys = keys_of(files.slice(start, stop - start))
        texts = documents.read_documents(storage, keys, request.source.text)
        kept = [i for i in range(len(keys)) if i not in texts.faults and i not in texts.left_out]
        values = (
            texts.values
            if len(kept) == len(keys)
            else texts.values.take(pa.array(kept, pa.int64()))
        )
        found = merge_words(
            [found, {n: tokenization.count_words(f, values) for n, f in features.items()}]
        )
    return found


def merge_words(parts: Iterable[Mapping[str, Mapping[bytes, int]]]) -> WordCounts:
    """Return the counts of several parts together; their order does not matter."""
    merged: WordCounts = {}
    for part in parts:
        for name, counts in part.items():
            into = merged.setdefault(name, {})
            for word, number in counts.items():
                into[word] = into.get(word, 0) + number
    return merged


def with_vocabularies(schema: Schema, words: Mapping[str, Mapping[bytes, int]]) -> Schema:
    """Return a request's schema, resolved, with the vocabularies made of these words.

    It is what `resolve` takes as ``schema``.
    """
    return tokenization.with_vocabularies(tokenization.resolved(schema), words)
