"""The ``tf.data`` pipeline: shards, records, parsed and decoded, batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from tfrec_tools.manifest import SplitInfo
from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.reader.bucketing import bucketed
from tfrec_tools.reader.dataset import Dataset, Derived
from tfrec_tools.reader.images import ImageReader
from tfrec_tools.reader.options import ReadOptions
from tfrec_tools.reader.parse_specs import ParseSpec, absent_value, parse_spec
from tfrec_tools.reader.values import ValueReader
from tfrec_tools.schema import ImageFeature, MaskFeature

SHUFFLE_BYTES = 256 << 20  # 256 MiB of serialized records, not of decoded pixels
READ_BUFFER_BYTES = 1 << 20
REMOTE_READ_BUFFER_BYTES = 16 << 20
MAX_PARALLEL_READS = 8
_SIDES = ("height", "width")

Tensors: TypeAlias = dict[str, Any]


def batches(dataset: Dataset, split: str, options: ReadOptions) -> tf.data.Dataset:
    """Return the batches that `load` documents."""
    info = dataset.split(split)
    names = dataset.names(options.features)
    readers = _Readers.of(dataset, names, info, options)
    records = _records(dataset, info, options)
    if options.repeat:
        records = records.repeat(None if options.repeat is True else options.repeat)
    shape = _shaper(dataset, names, as_dict=options.as_dict)
    spec = readers.spec

    def parse_batch(payloads: tf.Tensor) -> Any:
        features = readers.decode(tf.io.parse_example(payloads, spec))
        return shape(readers.batched_lists(features))

    def parse_record(payload: tf.Tensor) -> Any:
        return shape(readers.decode(tf.io.parse_single_example(payload, spec)))

    def decode_record(payload: tf.Tensor) -> Tensors:
        return readers.decode(tf.io.parse_single_example(payload, spec))

    def finish_batch(features: Tensors) -> Any:
        return shape(readers.batched_lists(features))

    size, drop = options.batch_size, options.drop_remainder
    parallel = {"num_parallel_calls": tf.data.AUTOTUNE}
    if options.buckets is not None:
        found = bucketed(records, dataset, names, options).map(parse_batch, **parallel)
    elif size is None:
        found = records.map(parse_record, **parallel)
    elif all(reader.is_raw for reader in readers.images.values()):
        # Nothing is done per record: one vectorised parse for a whole batch.
        found = records.batch(size, drop_remainder=drop).map(parse_batch, **parallel)
    elif readers.lists:
        found = records.map(decode_record, **parallel)
        found = found.ragged_batch(size, drop_remainder=drop).map(finish_batch)
    else:
        found = records.map(parse_record, **parallel).batch(size, drop_remainder=drop)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Readers:
    """How all that was asked for is parsed and decoded: images, and other values by name.

    ``outputs``: of what each name tells, a feature's values or what is derived of them.
    """

    spec: ParseSpec
    images: Mapping[str, ImageReader]
    values: Mapping[str, ValueReader]
    outputs: Mapping[str, Derived | None]
    pads: bool

    @classmethod
    def of(cls, dataset: Dataset, names: list[str], info: SplitInfo, options: ReadOptions) -> Self:
        """Return the readers of ``names``. Raises RequestError if images fit no batch."""
        derived = dataset.derived
        outputs = {name: derived.get(name) for name in names}
        columns = dataset.columns([one.feature if one else name for name, one in outputs.items()])
        features = dataset.schema.features
        images = {
            name: ImageReader.of(name, feature, options, info.statistics.get(name, {}))
            for name, feature in dataset.schema.features_of(ImageFeature, MaskFeature).items()
            if name in columns
        }
        present = {one.feature for one in outputs.values() if one and one.what == "present"}
        values = {
            name: ValueReader(
                feature=features[name],
                absent=absent_value(features[name]),
                is_list=getattr(features[name], "many", False),
                wants_presence=name in present,
            )
            for name in columns
            if name in features and name not in images
        }
        sizes = [f"{n}_{s}" for n, r in images.items() if r.needs_sizes for s in _SIDES]
        parsed = columns | dataset.columns(sizes) if sizes else columns
        as_lists = {name for name, reader in values.items() if reader.parses_as_list}
        return cls(
            spec=parse_spec(dataset.manifest, parsed, as_lists=as_lists),
            images=images,
            values=values,
            outputs=outputs,
            pads=options.pads_lists,
        )

    @property
    def lists(self) -> list[str]:
        """The names whose records have any number of values."""
        return [name for name, one in self.values.items() if one.is_list and name in self.outputs]

    def decode(self, parsed: Tensors) -> Tensors:
        """Decode parsed columns to what was asked for, by name."""
        return {
            name: self._decoded(name, derived, parsed) for name, derived in self.outputs.items()
        }

    def _decoded(self, name: str, derived: Derived | None, parsed: Tensors) -> Any:
        if derived is not None:
            reader, value = self.values[derived.feature], parsed[derived.feature]
            return reader.present(value) if derived.what == "present" else reader.lengths(value)
        value = parsed[name]
        if name in self.values:
            return self.values[name].values(value)
        image = self.images.get(name)
        if image is None:
            return value  # the height or width of an image
        if image.is_raw:
            return image.raw_pixels(value)
        stored = None
        if image.needs_sizes:
            stored = (parsed[f"{name}_height"], parsed[f"{name}_width"])
        if value.shape.rank == 0:
            return image.pixels(value, stored)
        return image.pixels_of_batch(value, stored)

    def batched_lists(self, features: Tensors) -> Tensors:
        """Pad the lists of a batch, unless they are to stay ragged."""
        if not self.pads:
            return features
        return features | {name: self.values[name].padded(features[name]) for name in self.lists}


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
