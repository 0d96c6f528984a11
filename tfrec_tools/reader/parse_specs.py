"""Stored columns as TensorFlow's parsing functions want them described."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Mapping
from typing import TypeAlias, assert_never

from tfrec_tools.manifest import Manifest
from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.schema import (
    BytesFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    Float64Feature,
    StoredColumn,
    StoredType,
    TextFeature,
)

NAN_BYTES = struct.pack("<d", math.nan)

ParseSpec: TypeAlias = "dict[str, tf.io.FixedLenFeature | tf.io.RaggedFeature]"


def parse_spec(
    manifest: Manifest, columns: Mapping[str, StoredColumn], *, as_lists: Collection[str] = ()
) -> ParseSpec:
    """Return a parse spec of these columns, by name.

    Lists of any length are ragged, and so are the scalars of ``as_lists``: a list of one
    value, or of none where a record has none. Other scalars get a default there; where no
    record lacks a value, one that does is damaged, and an error.
    """
    spec: ParseSpec = {}
    for name, column in columns.items():
        if column.is_list or name in as_lists:
            # Splits of 64 bits, as those that tf.strings and Keras make.
            spec[name] = tf.io.RaggedFeature(_dtype(column.type), row_splits_dtype=tf.int64)
            continue
        feature = manifest.schema.features.get(name)
        default = None
        if feature is not None and manifest.may_be_absent(name):
            default = absent_value(feature)
        spec[name] = tf.io.FixedLenFeature(column.shape, _dtype(column.type), default)
    return spec


def absent_value(feature: Feature) -> bytes | float:
    """Return what stands for a value that a record does not have, in the type it is stored in."""
    match feature:
        case TextFeature() | BytesFeature():
            return b""
        case ClassLabelFeature():
            return -1
        case Float64Feature(store="bytes", many=many):
            return b"" if many else NAN_BYTES
        case Float32Feature() | Float64Feature():
            return math.nan
        case _:
            return 0


def _dtype(stored: StoredType) -> tf.DType:
    match stored:
        case StoredType.BYTES:
            return tf.string
        case StoredType.INT64:
            return tf.int64
        case StoredType.FLOAT32:
            return tf.float32
    assert_never(stored)
