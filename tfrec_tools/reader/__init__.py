"""Reading datasets: facts about them without TensorFlow, and ``tf.data`` pipelines of them.

from tfrec_tools import reader
ds = reader.load("out/", split="train", batch_size=64, image_size=(224, 224))
model.fit(ds, epochs=3)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from tfrec_tools.errors import RequestError
from tfrec_tools.reader.dataset import Dataset
from tfrec_tools.reader.options import Interpolation, ReadOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tensorflow as tf

__all__ = ["Dataset", "load", "open"]


def open(path: str | os.PathLike[str]) -> Dataset:  # noqa: A001 (reads well as reader.open)
    """Open the dataset in the folder ``path`` (local or URL), without importing TensorFlow.

    Raises DatasetError if there is none or its manifest is damaged.
    """
    return Dataset.open(os.fspath(path))


def load(
    path: str | os.PathLike[str],
    split: str = "train",
    *,
    batch_size: int | None = 32,
    image_size: tuple[int, int] | None = None,
    shuffle: bool | None = None,
    seed: int | None = None,
    repeat: bool | int = False,
    drop_remainder: bool = False,
    num_parallel_reads: int | None = None,
    as_dict: bool = False,
    dtype: Literal["uint8", "float32"] = "uint8",
    features: Sequence[str] | None = None,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    interpolation: Interpolation = "bilinear",
    scale: float | None = None,
    fast_decode: bool = True,
    ragged: bool = True,
    shuffle_buffer: int | None = None,
    deterministic: bool | None = None,
    bucket_boundaries: Sequence[int] | None = None,
    bucket_batch_sizes: Sequence[int] | None = None,
    bucket_by: str | None = None,
) -> tf.data.Dataset:
    """Return a split as a ``tf.data.Dataset`` of batches, ready for ``model.fit``.

    Shards are read in parallel, shuffled as serialized bytes, then parsed, decoded, resized,
    batched and prefetched, each with as many threads as help. Records without images to
    decode are batched first and parsed a batch at a time. Shapes are static and the number
    of batches is known (not with ``bucket_boundaries``: there it depends on the lengths).

    Args:
        path: the dataset's folder, local or a URL that TensorFlow can read.
        split: name of a split.
        batch_size: records per batch; None for single records.
        image_size: (height, width) of all images and masks. Needed unless all stored images
            have one size, or ``batch_size`` is None.
        shuffle: whether records come in a new order each epoch; by default for ``train`` only.
            Unshuffled, they come exactly in the stored order.
        seed: makes the order of shuffling, and the pipeline, deterministic.
        repeat: True for an endless dataset, or a number of epochs.
        drop_remainder: leave out the last, smaller batch.
        num_parallel_reads: shards read at once while shuffling; up to 8 by default.
        as_dict: give a dict even if the schema names a target.
        dtype: of images: ``"uint8"``, or ``"float32"`` with the same values, 0 to 255.
        features: names of what to read; by default everything but sizes (``<image>_height``,
            ``<image>_width``), and text and bytes, which are read if one is the target, or
            on request. If nothing else is left beside the target, text and bytes are read
            too, except text that says where a record comes from (``filename``, ``folder``,
            ``stem``, ``extension``, ``line``): labelled documents give ``(text, label)``. The
            number of a record's ``line`` (int64) is read on request. On request only:
            ``<name>_present`` (bool) for a feature that some record has no value of, and
            ``<name>_length`` (int64) for one with many values per record, such as tokens.
        crop_to_aspect_ratio: cut images centrally to the shape of ``image_size`` first,
            instead of distorting them.
        pad_to_aspect_ratio: pad images with black to that shape first.
        interpolation: how images are resized; masks always take the nearest pixel.
        scale: factor for images of dtype float32, such as ``1 / 255``.
        fast_decode: decode a JPEG at the smallest of the scales 1, 1/2, 1/4 and 1/8 that still
            covers ``image_size``; False decodes all of its pixels before resizing.
        ragged: give features with many values as ``tf.RaggedTensor``; False pads them to the
            longest of the batch, with 0, "" or, for labels, -1. Buckets are always padded.
        shuffle_buffer: records to shuffle among; by default as many as fit in 256 MiB.
        deterministic: whether the order is the same in every run; by default only if it is
            not shuffled, or a ``seed`` is given.
        bucket_boundaries: lengths at which a new bucket begins, increasing. Each batch has
            records of one bucket, so that little is padded: ``[10, 20]`` makes buckets of
            lengths up to 9, 10 to 19, and from 20. Shuffling and repeating come before.
        bucket_batch_sizes: records per batch of each bucket, one number more than boundaries;
            by default ``batch_size`` for each.
        bucket_by: the feature with many values per record whose length counts; by default
            the only one that is read.

    Returns:
        Batches ``(x, target)`` if the schema names a target, else dicts by feature name. ``x``
        is the only other feature, or a dict of the others. Images: ``[batch, height, width,
        channels]`` of ``dtype``; masks: uint8 or uint16 ``[batch, height, width, 1]``; labels
        and timestamps (whole units since 1970): int64 ``[batch]``; numbers: int64, float32 or
        float64 ``[batch]``, packed ones ``[batch, *shape]``; bool ``[batch]``; text and bytes:
        string ``[batch]``. Many values per record, such as tokens (int64): ``[batch, None]``. A value that a record
        does not have is 0, False, NaN, ``""`` or, for a label, -1.

    Raises:
        RequestError: an argument makes no sense for this dataset.
        DatasetError: the dataset, the split or one of its shards is missing or damaged.
        MissingDependencyError: TensorFlow is not installed.

    """
    if isinstance(features, str):
        raise RequestError(f"features must be a list of names (got {features!r})")
    options = ReadOptions(
        batch_size=batch_size,
        image_size=image_size,
        shuffle=split == "train" if shuffle is None else shuffle,
        seed=seed,
        repeat=repeat,
        drop_remainder=drop_remainder,
        num_parallel_reads=num_parallel_reads,
        as_dict=as_dict,
        dtype=dtype,
        features=None if features is None else tuple(features),
        crop_to_aspect_ratio=crop_to_aspect_ratio,
        pad_to_aspect_ratio=pad_to_aspect_ratio,
        interpolation=interpolation,
        scale=scale,
        fast_decode=fast_decode,
        ragged=ragged,
        shuffle_buffer=shuffle_buffer,
        deterministic=deterministic,
        bucket_boundaries=bucket_boundaries,
        bucket_batch_sizes=bucket_batch_sizes,
        bucket_by=bucket_by,
    )
    dataset = open(path)
    dataset.check_shards(split)
    from tfrec_tools.reader import pipeline  # it imports TensorFlow

    return pipeline.batches(dataset, split, options)
