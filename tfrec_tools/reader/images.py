"""Stored images to pixels of one size, as graph functions without a line of Python at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tfrec_tools.errors import RequestError
from tfrec_tools.reader._tensorflow import tf
from tfrec_tools.reader.options import ReadOptions
from tfrec_tools.schema import ImageFeature, MaskFeature

_RATIOS = (8, 4, 2)
"""Denominators of the scales at which libjpeg decodes for less than the full price."""


@dataclass(frozen=True, slots=True)
class ImageReader:
    """How one image or mask feature is decoded.

    ``stored_size``: (height, width) if all stored images of the split share it. ``smallest``
    and ``largest``: (height, width) that none falls below or exceeds. ``max_shorter_side``:
    what the shorter side of none exceeds. ``formats``: jpeg, png, raw.
    """

    name: str
    feature: ImageFeature | MaskFeature
    options: ReadOptions
    stored_size: tuple[int, int] | None
    smallest: tuple[int, int] | None
    largest: tuple[int, int] | None
    max_shorter_side: int | None
    formats: frozenset[str]

    @classmethod
    def of(
        cls,
        name: str,
        feature: ImageFeature | MaskFeature,
        options: ReadOptions,
        statistics: Mapping[str, Any],
    ) -> ImageReader:
        """Return the reader of a feature. Raises RequestError if its sizes do not fit a batch."""
        known = "max_height" in statistics
        largest = (statistics["max_height"], statistics["max_width"]) if known else None
        smallest = (statistics["min_height"], statistics["min_width"]) if known else None
        stored_size = largest if largest == smallest else None
        if isinstance(feature, ImageFeature) and feature.raw_shape is not None:
            stored_size = feature.raw_shape[:2]
        in_batches = options.batch_size is not None and options.image_size is None
        if in_batches and stored_size is None and smallest is not None and largest is not None:
            raise RequestError(
                f"images of a batch must have one size ({name!r} has {smallest[1]} x "
                f"{smallest[0]} to {largest[1]} x {largest[0]}); give image_size=(height, width)"
            )
        formats = frozenset(statistics.get("formats", {}))
        shorter = statistics.get("max_shorter_side")
        return cls(name, feature, options, stored_size, smallest, largest, shorter, formats)

    @property
    def is_raw(self) -> bool:
        """Whether pixels are stored, which a whole batch decodes at once."""
        return isinstance(self.feature, ImageFeature) and self.feature.is_raw

    @property
    def needs_sizes(self) -> bool:
        """Whether stored heights and widths decide at which scale to decode."""
        return bool(self._possible_ratios()) and self._sure_ratio() is None

    def raw_pixels(self, content: tf.Tensor) -> tf.Tensor:
        """Decode raw pixels: string [] or [batch] to [..., height, width, channels]."""
        assert isinstance(self.feature, ImageFeature)
        shape = self.feature.raw_shape
        assert shape is not None
        # The batch's own size, not -1: pixels that are too few must not change the batch.
        batch = tuple(content.shape[i] or tf.shape(content)[i] for i in range(content.shape.rank))
        pixels = tf.io.decode_raw(content, tf.uint8)
        return self._finished(tf.reshape(pixels, [*batch, *shape]))

    def pixels(self, content: tf.Tensor, stored: tuple[tf.Tensor, tf.Tensor] | None) -> tf.Tensor:
        """Decode one image file to [height, width, channels]; ``stored``: its height and width."""
        if isinstance(self.feature, MaskFeature):
            mask = tf.io.decode_png(content, channels=1, dtype=tf.as_dtype(self.feature.dtype))
            return self._finished(mask)
        image = self._decoded(content, stored)
        if self.stored_size is not None and not self._possible_ratios():
            image.set_shape([*self.stored_size, self.feature.channels])
        return self._finished(image)

    def pixels_of_batch(
        self, contents: tf.Tensor, stored: tuple[tf.Tensor, tf.Tensor] | None
    ) -> tf.Tensor:
        """Decode image files [batch] to [batch, height, width, channels]; see `pixels`."""
        # One after another: no decoder of TensorFlow takes several files.
        size = self.options.image_size or self.stored_size or (None, None)
        if isinstance(self.feature, MaskFeature):
            spec = tf.TensorSpec((*size, 1), tf.as_dtype(self.feature.dtype))
        else:
            spec = tf.TensorSpec((*size, self.feature.channels), tf.as_dtype(self.options.dtype))
        if stored is None:
            return tf.map_fn(lambda one: self.pixels(one, None), contents, fn_output_signature=spec)
        return tf.map_fn(
            lambda one: self.pixels(one[0], (one[1], one[2])),
            (contents, *stored),
            fn_output_signature=spec,
        )

    def _decoded(self, content: tf.Tensor, stored: tuple[tf.Tensor, tf.Tensor] | None) -> tf.Tensor:
        ratios = self._possible_ratios()
        sure = self._sure_ratio()
        if sure is not None:
            return self._decoded_at(content, sure)
        assert stored is not None  # see needs_sizes
        # The number of ratios that still cover the wanted size picks the branch.
        choice = tf.add_n([tf.cast(self._covers(*stored, r), tf.int32) for r in ratios])
        if self.formats != {"jpeg"}:
            choice = tf.where(tf.strings.substr(content, 0, 3) == b"\xff\xd8\xff", choice, 0)
        branches = [1, *sorted(ratios)]
        return tf.switch_case(
            choice, [lambda ratio=ratio: self._decoded_at(content, ratio) for ratio in branches]
        )

    def _decoded_at(self, content: tf.Tensor, ratio: int) -> tf.Tensor:
        channels = self.feature.channels if isinstance(self.feature, ImageFeature) else 1
        if ratio > 1 or self.formats == {"jpeg"}:
            return tf.io.decode_jpeg(content, channels=channels, ratio=ratio)
        if self.formats == {"png"}:
            return tf.io.decode_png(content, channels=channels)
        return tf.io.decode_image(content, channels=channels, expand_animations=False)

    def _possible_ratios(self) -> list[int]:
        """Return the ratios at which some image of the split could be decoded."""
        options = self.options
        if (
            not options.fast_decode
            or options.image_size is None
            or self.largest is None
            or "jpeg" not in self.formats
        ):
            return []
        ratios = [ratio for ratio in _RATIOS if self._covers(*self.largest, ratio)]
        if self.max_shorter_side is None or options.pad_to_aspect_ratio:
            return ratios
        # Upright and lying pictures together look large in both directions; none may be.
        side = min(options.image_size)
        return [ratio for ratio in ratios if -(-self.max_shorter_side // ratio) >= side]

    def _sure_ratio(self) -> int | None:
        """Return the ratio at which every image of the split is decoded, if there is one."""
        ratios = self._possible_ratios()
        if not ratios:
            return 1
        assert self.smallest is not None
        if self.formats == {"jpeg"} and self._covers(*self.smallest, max(ratios)):
            return max(ratios)
        return None

    def _covers(self, height: Any, width: Any, ratio: int) -> Any:
        """Say whether an image (numbers or tensors) decoded at 1/ratio is large enough."""
        assert self.options.image_size is not None
        wanted_height, wanted_width = self.options.image_size
        tall = -(-height // ratio) >= wanted_height
        wide = -(-width // ratio) >= wanted_width
        # A padded image is limited by one side; the other is smaller than wanted anyway.
        return tall | wide if self.options.pad_to_aspect_ratio else tall & wide

    def _finished(self, pixels: tf.Tensor) -> tf.Tensor:
        """Resize to the wanted size and convert to the wanted type."""
        size = self.options.image_size
        is_mask = isinstance(self.feature, MaskFeature)
        if size is not None and tuple(pixels.shape[-3:-1]) != tuple(size):
            method = "nearest" if is_mask else self.options.interpolation
            if self.options.crop_to_aspect_ratio:
                pixels = _cropped(pixels, size)
            if self.options.pad_to_aspect_ratio:
                pixels = tf.image.resize_with_pad(pixels, *size, method=method)
            else:
                pixels = tf.image.resize(pixels, size, method=method)
        elif size is None and self.stored_size is not None:
            pixels.set_shape([*pixels.shape[:-3], *self.stored_size, pixels.shape[-1]])
        if is_mask:
            return pixels
        if self.options.dtype == "uint8":
            return _as_uint8(pixels, self.options.interpolation)
        pixels = tf.cast(pixels, tf.float32)
        return pixels if self.options.scale is None else pixels * self.options.scale


def _as_uint8(pixels: tf.Tensor, interpolation: str) -> tf.Tensor:
    if pixels.dtype == tf.uint8:
        return pixels
    if interpolation in ("bicubic", "lanczos3", "lanczos5", "mitchellcubic"):
        pixels = tf.clip_by_value(pixels, 0.0, 255.0)  # these overshoot at edges
    return tf.cast(tf.round(pixels), tf.uint8)


def _cropped(pixels: tf.Tensor, size: tuple[int, int]) -> tf.Tensor:
    """Cut the centre that has the aspect ratio of ``size``, as Keras does."""
    shape = tf.shape(pixels)
    height, width = shape[-3], shape[-2]
    new_height = tf.maximum(tf.minimum(height, width * size[0] // size[1]), 1)
    new_width = tf.maximum(tf.minimum(width, height * size[1] // size[0]), 1)
    return tf.image.crop_to_bounding_box(
        pixels, (height - new_height) // 2, (width - new_width) // 2, new_height, new_width
    )
