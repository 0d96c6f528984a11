"""Parsed values that are no pixels to what `load` gives: types, lists, lengths, presence.

All methods take one record or a whole batch of them, and do nothing per record.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.schema import (
    BoolFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    Float64Feature,
    NumberFeature,
)

_FLOAT64_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueReader:
    """How one feature is decoded.

    ``is_list``: any number of values per record. ``absent``: what stands for a value that a
    record does not have. ``wants_presence``: it is asked which records have one.
    """

    feature: Feature
    absent: bytes | float
    is_list: bool
    wants_presence: bool

    @property
    def parses_as_list(self) -> bool:
        """Whether only a list tells which records have a value; floats are NaN where not."""
        return self.wants_presence and not self.is_list and not self._is_float

    @property
    def _is_float(self) -> bool:
        return isinstance(self.feature, (Float32Feature, Float64Feature))

    @property
    def _is_float64_bytes(self) -> bool:
        return isinstance(self.feature, Float64Feature) and self.feature.store == "bytes"

    def values(self, parsed: Any) -> Any:
        """Decode parsed values: [] or [batch], packed ones [..., *shape], lists [..., None]."""
        if self._is_float64_bytes:
            return _float64_lists(parsed) if self.is_list else self._float64_values(parsed)
        if self.parses_as_list:
            parsed = _first(parsed, self.absent)
        return tf.cast(parsed, tf.bool) if isinstance(self.feature, BoolFeature) else parsed

    def _float64_values(self, content: tf.Tensor) -> tf.Tensor:
        shape = self.feature.shape or () if isinstance(self.feature, NumberFeature) else ()
        # The batch's own size, not -1: values that are too few must not change the batch.
        batch = tuple(content.shape[i] or tf.shape(content)[i] for i in range(content.shape.rank))
        return tf.reshape(tf.io.decode_raw(content, tf.float64), [*batch, *shape])

    def present(self, parsed: Any) -> tf.Tensor:
        """Return whether there is a value: bool [] or [batch]."""
        if self._is_float and not self.is_list:
            return tf.logical_not(tf.math.is_nan(self.values(parsed)))
        return self.lengths(parsed) > 0

    def lengths(self, parsed: Any) -> tf.Tensor:
        """Return the number of values: int64 [] or [batch]."""
        if self._is_float64_bytes:
            return tf.cast(tf.strings.length(parsed), tf.int64) // _FLOAT64_BYTES
        if isinstance(parsed, tf.RaggedTensor):
            return parsed.row_lengths()
        return tf.size(parsed, out_type=tf.int64)

    def padded(self, lists: tf.RaggedTensor) -> tf.Tensor:
        """Return the lists of a batch, all as long as the longest: [batch, None]."""
        is_label = isinstance(self.feature, ClassLabelFeature)
        pad = -1 if is_label else getattr(self.feature, "pad_id", None)  # None: 0 or ""
        return lists.to_tensor(default_value=pad)


def _first(lists: Any, default: bytes | float) -> tf.Tensor:
    """Return the one value of each list, or the default: [] or [batch]."""
    if isinstance(lists, tf.RaggedTensor):
        return lists.to_tensor(default_value=default, shape=[None, 1])[:, 0]
    return tf.concat([lists, tf.constant([default], lists.dtype)], axis=0)[0]


def _float64_lists(content: tf.Tensor) -> Any:
    """Decode bytes [] or [batch] to float64 [None] or ragged [batch, None]."""
    if content.shape.rank == 0:
        return tf.io.decode_raw(content, tf.float64)
    # decode_raw takes values of one length only: the whole batch is one.
    numbers = tf.io.decode_raw(tf.strings.reduce_join(content), tf.float64)
    lengths = tf.cast(tf.strings.length(content), tf.int64) // _FLOAT64_BYTES
    return tf.RaggedTensor.from_row_lengths(numbers, lengths)
