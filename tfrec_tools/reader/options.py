"""What `load` was asked for, checked before anything is read."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

from tfrec_tools.errors import RequestError, clipped

Interpolation: TypeAlias = Literal[
    "bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The arguments of `load`, which documents them."""

    batch_size: int | None
    image_size: tuple[int, int] | None
    shuffle: bool
    seed: int | None
    repeat: bool | int
    drop_remainder: bool
    num_parallel_reads: int | None
    as_dict: bool
    dtype: Literal["uint8", "float32"]
    features: tuple[str, ...] | None
    crop_to_aspect_ratio: bool
    pad_to_aspect_ratio: bool
    interpolation: Interpolation
    scale: float | None
    fast_decode: bool
    ragged: bool
    shuffle_buffer: int | None
    deterministic: bool | None
    bucket_boundaries: Sequence[int] | None
    bucket_batch_sizes: Sequence[int] | None
    bucket_by: str | None

    def __post_init__(self) -> None:
        """Refuse values that make no sense, showing them."""
        for name in ("batch_size", "num_parallel_reads", "shuffle_buffer"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise RequestError(f"{name} must be a number of at least 1 (got {value!r})")
        if self.seed is not None and not 0 <= self.seed < 1 << 63:
            raise RequestError(f"seed must be from 0 to 2**63 - 1 (got {self.seed})")
        if self.seed is not None and self.deterministic is False:
            raise RequestError(
                "a seed means a deterministic order: drop it, or deterministic=False"
            )
        if self.image_size is not None:
            sides = self.image_size if isinstance(self.image_size, (tuple, list)) else ()
            if len(sides) != 2 or not all(isinstance(s, int) and s > 0 for s in sides):
                raise RequestError(
                    f"image_size must be (height, width) in pixels (got {clipped(self.image_size)})"
                )
        if self.dtype not in ("uint8", "float32"):
            raise RequestError(f"dtype must be 'uint8' or 'float32' (got {self.dtype!r})")
        if self.interpolation not in get_args(Interpolation):
            known = ", ".join(get_args(Interpolation))
            raise RequestError(f"interpolation must be one of {known} (got {self.interpolation!r})")
        if self.scale is not None and self.dtype != "float32":
            raise RequestError(
                "scale goes with dtype='float32': scaled pixels are no whole numbers"
            )
        if self.crop_to_aspect_ratio and self.pad_to_aspect_ratio:
            raise RequestError("images are either cropped or padded to the aspect ratio, not both")
        if (self.crop_to_aspect_ratio or self.pad_to_aspect_ratio) and self.image_size is None:
            raise RequestError("an aspect ratio needs image_size=(height, width)")
        if not self.shuffle and (self.num_parallel_reads or self.shuffle_buffer):
            raise RequestError(
                "num_parallel_reads and shuffle_buffer go with shuffle=True: unshuffled records "
                "come in the stored order"
            )
        if self.drop_remainder and self.batch_size is None:
            raise RequestError("drop_remainder goes with a batch_size")
        if not isinstance(self.repeat, bool) and self.repeat < 1:
            raise RequestError(
                f"repeat must be True, False or a number of epochs (got {self.repeat})"
            )
        self._check_buckets()

    def _check_buckets(self) -> None:
        if self.bucket_boundaries is None:
            if self.bucket_batch_sizes is not None or self.bucket_by is not None:
                raise RequestError("bucket_batch_sizes and bucket_by go with bucket_boundaries")
            return
        boundaries = _counts(self.bucket_boundaries)
        if not boundaries or any(low >= high for low, high in pairwise((0, *boundaries))):
            raise RequestError(
                "bucket_boundaries must be a list of lengths of at least 1, each larger than the "
                f"one before (got {clipped(self.bucket_boundaries)})"
            )
        if self.batch_size is None:
            raise RequestError("bucket_boundaries go with a batch_size (got None)")
        if self.bucket_batch_sizes is None:
            return
        sizes = _counts(self.bucket_batch_sizes)
        if len(sizes) != len(boundaries) + 1 or min(sizes) < 1:
            raise RequestError(
                f"bucket_batch_sizes must be a list of {len(boundaries) + 1} numbers of at least "
                "1, one more than bucket_boundaries has "
                f"(got {clipped(self.bucket_batch_sizes)})"
            )

    @property
    def buckets(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The lengths at which buckets begin, and the batch size of each of them, one more."""
        if self.bucket_boundaries is None:
            return None
        boundaries = _counts(self.bucket_boundaries)
        if self.bucket_batch_sizes is not None:
            return boundaries, _counts(self.bucket_batch_sizes)
        assert self.batch_size is not None  # __post_init__ sees to it
        return boundaries, (self.batch_size,) * (len(boundaries) + 1)

    @property
    def pads_lists(self) -> bool:
        """Whether the lists of a batch are made equally long."""
        return not self.ragged or self.bucket_boundaries is not None

    @property
    def is_deterministic(self) -> bool:
        """Whether the order must be the same in every run."""
        if self.deterministic is not None:
            return self.deterministic
        return self.seed is not None or not self.shuffle


def _counts(values: object) -> tuple[int, ...]:
    """Return whole numbers, NumPy's too, as ints; none at all if something else is among them."""
    try:
        return tuple(operator.index(value) for value in values)  # type: ignore[attr-defined]
    except TypeError:
        return ()
