"""Batches of records whose lists have like lengths: bucketing of payloads."""

from __future__ import annotations

from typing import Any

from tfrec_tools.errors import RequestError, listed
from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.reader.dataset import Dataset
from tfrec_tools.reader.options import ReadOptions
from tfrec_tools.reader.parse_specs import absent_value, parse_spec
from tfrec_tools.reader.values import ValueReader

_MEASURED_TOGETHER = 256  # records


def bucketed(
    records: tf.data.Dataset, dataset: Dataset, names: list[str], options: ReadOptions
) -> tf.data.Dataset:
    """Return batches of payloads: string [batch], each of one bucket's records.

    A batch comes when its bucket is full; at the end come the rests, short lengths first.
    Raises RequestError if no feature of ``names``, or not the one wanted, has a length.

    The batches are those of ``bucket_by_sequence_length``. That one works on single parsed
    records, which is several times slower than finding the buckets of many payloads at once
    and parsing whole batches afterwards.
    """
    assert options.buckets is not None
    boundaries, sizes = options.buckets
    name = _measured(dataset, names, options.bucket_by)
    feature = dataset.schema.features[name]
    reader = ValueReader(
        feature=feature, absent=absent_value(feature), is_list=True, wants_presence=False
    )
    spec = parse_spec(dataset.manifest, dataset.columns([name]))

    def with_buckets(payloads: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        lengths = reader.lengths(tf.io.parse_example(payloads, spec)[name])
        starts = tf.constant(boundaries, tf.int64)
        found = tf.searchsorted(starts, lengths, side="right", out_type=tf.int64)
        return payloads, found

    def size(bucket: Any) -> Any:
        if len(set(sizes)) == 1:
            return sizes[0]  # known beforehand, and so in the shapes of the batches
        return tf.constant(sizes, tf.int64)[bucket]

    def batch(bucket: Any, window: tf.data.Dataset) -> tf.data.Dataset:
        return window.batch(size(bucket), drop_remainder=options.drop_remainder)

    measured = records.batch(_MEASURED_TOGETHER)
    measured = measured.map(with_buckets, num_parallel_calls=tf.data.AUTOTUNE).unbatch()
    found = measured.group_by_window(
        key_func=lambda _, bucket: bucket,
        reduce_func=batch,
        window_size_func=lambda bucket: tf.cast(size(bucket), tf.int64),
    )
    # Only here: a function called for each record of a window would take most of the time.
    found = found.map(lambda payloads, _: payloads)
    if options.repeat is True:
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        found = found.apply(endless)
    return found


def _measured(dataset: Dataset, names: list[str], wanted: str | None) -> str:
    """Return the name of the feature whose length counts. Raises RequestError."""
    lists = [n for n, one in dataset.schema.features.items() if getattr(one, "many", False)]
    if wanted is not None:
        if wanted not in lists:
            raise RequestError(
                "bucket_by must be a feature whose records have lists of any length: kind "
                "tokens, or any kind with `many: true` "
                f"(here {listed(lists) or 'none'}; got {wanted!r})"
            )
        return wanted
    read = [name for name in names if name in lists]
    if not read:
        raise RequestError(
            "bucket_boundaries need a feature whose records have lists of any length: kind "
            f"tokens, or any kind with `many: true` (read: {listed(names)})"
        )
    if len(read) > 1:
        raise RequestError(
            "bucket_by must name the feature whose length counts, as several have lists of any "
            f"length ({listed(read)})"
        )
    return read[0]
