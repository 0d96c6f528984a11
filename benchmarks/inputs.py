"""Draws the input of the benchmarks: JPEGs that cost a decoder and a disk what photographs do.

Every picture is a pure function of its index, so the same files come out on every machine
that has the same versions of NumPy and Pillow. Photographs have energy at all scales,
falling with the frequency; the textures are noise with such a spectrum, sharp where the
subject is and smooth behind it, with the edges of some shapes and a little sensor noise.
A picture without noise would compress to a tenth of the size and decode twice as fast.
"""

from __future__ import annotations

import enum
import functools
import io
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

Plane = NDArray[np.float32]
"""One channel of a picture, float32 [height, width]."""

DRAWING_VERSION = 1
"""Part of the folder's name: raise it when a change makes other pictures."""

NUM_CLASSES = 10
CHUNK_NUM_IMAGES = 100

PHOTO_SIZES = ((375, 500), (333, 500), (500, 375), (400, 500))
PHOTO_QUALITY = 85
SMALL_SIDE = 32
SMALL_QUALITY = 90

_TEXTURE_SIDE = 1024
_NUM_TEXTURES = 4
_ROUGH_EXPONENT, _SMOOTH_EXPONENT = 1.15, 1.8


class ImageKind(enum.Enum):
    """What is drawn; the value is the name of its folder."""

    PHOTOS = "photos"
    SMALL = "small"

    @property
    def default_num_images(self) -> int:
        """How many the targets of the project are set for."""
        return {ImageKind.PHOTOS: 6_000, ImageKind.SMALL: 50_000}[self]


def drawn_folder(kind: ImageKind, num_images: int, work: Path) -> Path:
    """Return a folder with ``num_images`` pictures in class folders, drawn unless it is there."""
    folder = work / f"{kind.value}-{num_images}-v{DRAWING_VERSION}"
    if folder.is_dir():
        return folder
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for class_index in range(NUM_CLASSES):
        _class_folder(partial, class_index).mkdir(parents=True)
    draw_chunk = functools.partial(_draw_chunk, kind, partial)
    chunks = [
        range(start, min(start + CHUNK_NUM_IMAGES, num_images))
        for start in range(0, num_images, CHUNK_NUM_IMAGES)
    ]
    if len(chunks) == 1:
        draw_chunk(chunks[0])
    else:
        context = multiprocessing.get_context("forkserver")
        with ProcessPoolExecutor(len(os.sched_getaffinity(0)), context) as pool:
            for _ in pool.map(draw_chunk, chunks):
                pass
    partial.rename(folder)  # last, so that a folder that was broken off is never used
    return folder


def draw_photo(index: int) -> bytes:
    """Return a JPEG of about 500x375 pixels and about 40 KB."""
    random = np.random.default_rng([DRAWING_VERSION, index])
    height, width = PHOTO_SIZES[int(random.integers(len(PHOTO_SIZES)))]
    crop = functools.partial(_crop, random, height, width)
    subject = _subject_mask(random, height, width)
    contrast = random.uniform(30, 55)
    light = crop(_SMOOTH_EXPONENT) * (1 - subject) + crop(_ROUGH_EXPONENT) * subject
    luma = random.uniform(90, 160) + contrast * light + random.uniform(-50, 50) * subject
    luma += random.standard_normal((height, width), np.float32) * np.float32(
        random.uniform(0.2, 2.2)
    )
    blue, red = (
        128 + random.uniform(5, 20) * crop(_SMOOTH_EXPONENT) + random.uniform(-30, 30) * subject
        for _ in range(2)
    )
    return _jpeg(luma, blue, red, PHOTO_QUALITY)


def draw_small(index: int) -> bytes:
    """Return a JPEG of 32x32 pixels and about 1 KB."""
    random = np.random.default_rng([DRAWING_VERSION, index])
    crop = functools.partial(_crop, random, SMALL_SIDE, SMALL_SIDE)
    luma = random.uniform(90, 160) + random.uniform(25, 50) * crop(_ROUGH_EXPONENT)
    blue, red = (
        random.uniform(100, 156) + random.uniform(5, 20) * crop(_SMOOTH_EXPONENT) for _ in range(2)
    )
    return _jpeg(luma, blue, red, SMALL_QUALITY)


_DRAW: dict[ImageKind, Callable[[int], bytes]] = {
    ImageKind.PHOTOS: draw_photo,
    ImageKind.SMALL: draw_small,
}


def _draw_chunk(kind: ImageKind, folder: Path, indices: Iterable[int]) -> None:
    draw = _DRAW[kind]
    for index in indices:
        path = _class_folder(folder, index % NUM_CLASSES) / f"image_{index:06}.jpg"
        path.write_bytes(draw(index))


def _class_folder(folder: Path, class_index: int) -> Path:
    return folder / f"class_{class_index}"


@functools.cache
def _texture(exponent: float, texture_index: int) -> Plane:
    """Return noise whose amplitude falls with the frequency to this power; mean 0, deviation 1."""
    random = np.random.default_rng([DRAWING_VERSION, round(exponent * 1000), texture_index])
    spectrum = np.fft.rfft2(random.standard_normal((_TEXTURE_SIDE, _TEXTURE_SIDE)))
    frequency = np.hypot(
        np.fft.fftfreq(_TEXTURE_SIDE)[:, np.newaxis], np.fft.rfftfreq(_TEXTURE_SIDE)
    )
    frequency[0, 0] = np.inf  # no constant part
    plane: Plane = np.fft.irfft2(spectrum / frequency**exponent).astype(np.float32)
    plane /= plane.std()
    return plane


def _crop(random: np.random.Generator, height: int, width: int, exponent: float) -> Plane:
    texture = _texture(exponent, int(random.integers(_NUM_TEXTURES)))
    top = int(random.integers(_TEXTURE_SIDE - height))
    left = int(random.integers(_TEXTURE_SIDE - width))
    return texture[top : top + height, left : left + width]


def _subject_mask(random: np.random.Generator, height: int, width: int) -> Plane:
    """Return 1 where the subject of the picture is: some ellipses, from a third to most of it."""
    mask = Image.new("L", (width, height))
    canvas = ImageDraw.Draw(mask)
    for _ in range(int(random.integers(3, 8))):
        x, y = random.uniform(0.1, 0.9) * width, random.uniform(0.1, 0.9) * height
        across, down = random.uniform(0.1, 0.4, 2) * min(height, width)
        canvas.ellipse((x - across, y - down, x + across, y + down), fill=1)
    return np.asarray(mask, np.float32)


def _jpeg(luma: Plane, blue: Plane, red: Plane, quality: int) -> bytes:
    planes = np.stack([luma, blue, red], axis=-1)
    pixels = np.clip(np.rint(planes), 0, 255).astype(np.uint8)
    height, width, _ = pixels.shape
    file = io.BytesIO()
    # The planes are luma and chroma already, and JPEG stores these.
    Image.frombytes("YCbCr", (width, height), pixels.tobytes()).save(file, "JPEG", quality=quality)
    return file.getvalue()
