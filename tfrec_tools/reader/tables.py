"""Parsed columns of tables to features: types, missing values, lists of any length."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

from tfrec_tools.manifest import Manifest
from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.reader.dataset import LENGTH, PRESENT
from tfrec_tools.schema import (
    BoolFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    Float64Feature,
    StoredColumn,
    StoredType,
)


@dataclass(frozen=True, slots=True)
class CellReader:
    """How one feature of cells is read. ``ragged``: lists stay lists, else they are padded.

    ``may_be_missing``: some records of the dataset have no value.
    """

    name: str
    feature: Feature
    column: StoredColumn
    ragged: bool
    may_be_missing: bool
    wants_present: bool = False
    wants_length: bool = False

    @property
    def default(self) -> Any:
        """What is parsed where a record has no such key; None if all have it."""
        if not self.may_be_missing or self.column.is_list or self.column.shape:
            return None
        if self._is_doubles:
            return struct.pack("<d", math.nan) if self.feature.shape is None else None  # type: ignore[union-attr]
        return self._stand_in

    @property
    def counts_values(self) -> bool:
        """Whether presence is told by the number of values, and not by NaN."""
        return self.wants_present and not isinstance(self.feature, (Float32Feature, Float64Feature))

    @property
    def _stand_in(self) -> Any:
        """What people get for a missing value."""
        if isinstance(self.feature, ClassLabelFeature):
            return -1  # as TFDS has it; 0 would be a class
        if self.column.type is StoredType.FLOAT32:
            return math.nan
        return b"" if self.column.type is StoredType.BYTES else 0

    @property
    def _is_doubles(self) -> bool:
        return isinstance(self.feature, Float64Feature) and self.column.type is StoredType.BYTES

    def features(self, parsed: Any, *, batched: bool) -> dict[str, Any]:
        """Return the feature, and whether it is there or how long it is if that was asked for."""
        found: dict[str, Any] = {}
        value = self._doubles(parsed, batched=batched) if self._is_doubles else parsed
        if self.counts_values:
            # Parsed as a list of one value or none, since any value may be one that is stored.
            stand_in = tf.constant(self._stand_in, value.dtype)
            if batched:
                found[self.name + PRESENT] = value.row_lengths() > 0
                value = value.to_tensor(stand_in, shape=[None, 1])[:, 0]
            else:
                found[self.name + PRESENT] = tf.size(value) > 0
                value = tf.concat([value, [stand_in]], axis=0)[0]
        elif self.wants_present:
            found[self.name + PRESENT] = tf.logical_not(tf.math.is_nan(value))
        if isinstance(self.feature, BoolFeature):
            value = tf.cast(value, tf.bool)
        if self._has_lists and batched:
            if self.wants_length:
                found[self.name + LENGTH] = tf.cast(value.row_lengths(), tf.int64)
            if not self.ragged:
                stand_in = -1 if isinstance(self.feature, ClassLabelFeature) else 0
                value = value.to_tensor(None if value.dtype == tf.string else stand_in)
        elif self._has_lists and self.wants_length:
            found[self.name + LENGTH] = tf.size(value, tf.int64)
        return {self.name: value} | found

    @property
    def _has_lists(self) -> bool:
        return bool(getattr(self.feature, "many", False))

    def _doubles(self, content: Any, *, batched: bool) -> Any:
        """Decode float64 values from their bytes."""
        assert isinstance(self.feature, Float64Feature)
        if self.feature.many:
            if not batched:
                return tf.io.decode_raw(tf.strings.reduce_join(content), tf.float64)
            joined = tf.strings.reduce_join(content.to_tensor(b""), axis=1)
            lengths = tf.strings.length(joined) // 8
            values = tf.io.decode_raw(tf.strings.reduce_join(joined), tf.float64)
            return tf.RaggedTensor.from_row_lengths(values, lengths)
        shape = list(self.feature.shape or ())
        batch = [content.shape[0] or tf.shape(content)[0]] if batched else []
        return tf.reshape(tf.io.decode_raw(content, tf.float64), [*batch, *shape])


def cell_reader(
    manifest: Manifest, name: str, column: StoredColumn, asked: tuple[str, ...], *, ragged: bool
) -> CellReader:
    """Return the reader of a feature; ``asked``: all names that are wanted."""
    feature = manifest.schema.features[name]
    wants_present = name + PRESENT in asked
    is_float = isinstance(feature, (Float32Feature, Float64Feature))
    nan = is_float and getattr(feature, "missing", None) != "empty"
    doubles = isinstance(feature, Float64Feature) and column.type is StoredType.BYTES
    if (doubles and feature.many) or (wants_present and not is_float):  # type: ignore[union-attr]
        column = StoredColumn(column.name, column.type, is_list=True)
    return CellReader(
        name=name,
        feature=feature,
        column=column,
        ragged=ragged,
        may_be_missing=not nan and manifest.num_missing(name) > 0,
        wants_present=wants_present,
        wants_length=name + LENGTH in asked,
    )
