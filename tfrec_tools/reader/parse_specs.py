"""Stored columns as TensorFlow's parsing functions want them described."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.schema import StoredColumn, StoredType


def parse_spec(columns: Mapping[str, StoredColumn]) -> dict[str, tf.io.FixedLenFeature]:
    """Return a parse spec of these columns, by name."""
    return {
        name: tf.io.FixedLenFeature(column.shape, _dtype(column.type))
        for name, column in columns.items()
    }


def _dtype(stored: StoredType) -> tf.DType:
    match stored:
        case StoredType.BYTES:
            return tf.string
        case StoredType.INT64:
            return tf.int64
        case StoredType.FLOAT32:
            return tf.float32
    assert_never(stored)
