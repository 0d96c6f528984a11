"""Turning text into token ids: which tokenizer a feature has, and what it makes of a column."""

from __future__ import annotations

import functools

import pyarrow as pa

from tfrec_tools import tokenization
from tfrec_tools.plan import Plan
from tfrec_tools.request import Request
from tfrec_tools.schema import EncodedColumn, TokensFeature
from tfrec_tools.tokenization import Tokenizer

_loaded = functools.lru_cache(maxsize=8)(tokenization.load)


def tokenizer_of(request: Request, name: str, feature: TokensFeature) -> Tokenizer:
    """Return the tokenizer of the feature ``name``; the request says where its file lies."""
    asked = request.schema.features[name] if request.schema is not None else feature
    assert isinstance(asked, TokensFeature)
    return _loaded(feature, asked.tokenizer)


def encode_tokens(plan: Plan, name: str, cells: pa.Array) -> EncodedColumn:
    """Return the ids (large_list of int64 [n]) that a feature stores of cells of text."""
    feature = plan.schema.features[name]
    assert isinstance(feature, TokensFeature)
    texts = feature.texts(cells)
    ids = tokenizer_of(plan.request, name, feature).encode(texts.values)
    encoded = feature.encode_ids(ids)
    return EncodedColumn(encoded.values, dict(encoded.faults) | dict(texts.faults))
