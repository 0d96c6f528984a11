"""The ``tf.data`` pipeline: shards, records, parsed and decoded, batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tfrec_tools.manifest import SplitInfo
from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.reader.dataset import Dataset
from tfrec_tools.reader.images import ImageReader
from tfrec_tools.reader.options import ReadOptions
from tfrec_tools.reader.parse_specs import parse_spec
from tfrec_tools.schema import BoolFeature, ImageFeature, MaskFeature

SHUFFLE_BYTES = 256 << 20  # 256 MiB of serialized records, not of decoded pixels
READ_BUFFER_BYTES = 1 << 20
REMOTE_READ_BUFFER_BYTES = 16 << 20
MAX_PARALLEL_READS = 8

Tensors: TypeAlias = dict[str, Any]


def batches(dataset: Dataset, split: str, options: ReadOptions) -> tf.data.Dataset:
    """Return the batches that `load` documents."""
    info = dataset.split(split)
    columns = dataset.columns(options.features)
    images = {
        name: ImageReader.of(name, feature, options, info.statistics.get(name, {}))
        for name, feature in dataset.schema.features_of(ImageFeature, MaskFeature).items()
        if name in columns
    }
    records = _records(dataset, info, options)
    if options.repeat:
        records = records.repeat(None if options.repeat is True else options.repeat)
    sizes = [f"{n}_{s}" for n, r in images.items() if r.needs_sizes for s in ("height", "width")]
    spec = parse_spec(columns | dataset.columns(sizes) if sizes else columns)
    decode = _decoder(dataset, list(columns), images)
    shape = _shaper(dataset, list(columns), as_dict=options.as_dict)
    whole_batches = all(reader.is_raw for reader in images.values())

    def batched(records: tf.data.Dataset) -> tf.data.Dataset:
        if options.batch_size is None:
            return records
        return records.batch(options.batch_size, drop_remainder=options.drop_remainder)

    def parse_batch(payloads: tf.Tensor) -> Any:
        return shape(decode(tf.io.parse_example(payloads, spec)))

    def parse_record(payload: tf.Tensor) -> Any:
        return shape(decode(tf.io.parse_single_example(payload, spec)))

    if whole_batches and options.batch_size is not None:
        # Nothing is done per image: one vectorised parse for a whole batch.
        found = batched(records).map(parse_batch, num_parallel_calls=tf.data.AUTOTUNE)
    else:
        found = batched(records.map(parse_record, num_parallel_calls=tf.data.AUTOTUNE))
    pipeline_options = tf.data.Options()
    pipeline_options.deterministic = options.is_deterministic
    return found.prefetch(tf.data.AUTOTUNE).with_options(pipeline_options)


def _records(dataset: Dataset, info: SplitInfo, options: ReadOptions) -> tf.data.Dataset:
    """Return the split's payloads, one epoch of them, shuffled if that is wanted."""
    compression = "GZIP" if dataset.manifest.compression == "gzip" else None
    buffer_bytes = REMOTE_READ_BUFFER_BYTES if "://" in dataset.path else READ_BUFFER_BYTES

    def read(path: Any) -> tf.data.Dataset:
        return tf.data.TFRecordDataset(path, compression, buffer_bytes)

    paths = dataset.shard_paths(info.name)
    # A shard that lost records ends in an error, not in a shorter epoch.
    exactly = tf.data.experimental.assert_cardinality(info.num_records)
    if not options.shuffle:
        return read(paths).apply(exactly)
    shards = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths), seed=options.seed)
    records = shards.interleave(
        read,
        cycle_length=min(options.num_parallel_reads or MAX_PARALLEL_READS, len(paths)),
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=options.is_deterministic,
    )
    records = records.apply(exactly)
    return records.shuffle(_shuffle_buffer(info, options), seed=options.seed)


def _shuffle_buffer(info: SplitInfo, options: ReadOptions) -> int:
    """Return how many serialized records to shuffle among."""
    if options.shuffle_buffer is not None:
        return options.shuffle_buffer
    record_bytes = max(info.payload_bytes // max(info.num_records, 1), 1)
    return max(min(info.num_records, SHUFFLE_BYTES // record_bytes), 1)


def _decoder(
    dataset: Dataset, names: list[str], images: Mapping[str, ImageReader]
) -> Callable[[Tensors], Tensors]:
    """Return the function from parsed columns to the features that were asked for."""
    bools = dataset.schema.features_of(BoolFeature)

    def decode(parsed: Tensors) -> Tensors:
        features: Tensors = {}
        for name in names:
            value = parsed[name]
            reader = images.get(name)
            if reader is None:
                features[name] = tf.cast(value, tf.bool) if name in bools else value
            elif reader.is_raw:
                features[name] = reader.raw_pixels(value)
            else:
                stored = (
                    (parsed[f"{name}_height"], parsed[f"{name}_width"])
                    if reader.needs_sizes
                    else None
                )
                features[name] = reader.pixels(value, stored)
        return features

    return decode


def _shaper(dataset: Dataset, names: list[str], *, as_dict: bool) -> Callable[[Tensors], Any]:
    """Return the function from features by name to what a batch is: a pair, or the dict."""
    target = dataset.schema.target
    if as_dict or target not in names or len(names) == 1:
        return lambda features: features
    others = [name for name in names if name != target]

    def pair(features: Tensors) -> tuple[Any, Any]:
        if len(others) == 1:
            return features[others[0]], features[target]
        return {name: features[name] for name in others}, features[target]

    return pair
