"""Draws a small folder of images to try tfrec-tools with.

    python examples/draw_images.py build/demo/images

Every class is a folder, and every folder is full of JPEGs:

    build/demo/images/circle/circle_000.jpg
    build/demo/images/square/square_000.jpg
    …

Shapes differ in size, place, angle and colour, backgrounds in colour and texture, and the
pictures in height and width, so that a model has something to learn and a converter has
something to resize. The same seed draws the same pictures.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

Point = tuple[float, float]

MIN_SIDE, MAX_SIDE = 96, 160  # pixels


def polygon(num_corners: int, angle: float, *, inner: float = 1.0) -> list[Point]:
    """Return corners on a circle of radius 1; every second one at the radius ``inner``."""
    corners = []
    for index in range(num_corners):
        radius = inner if index % 2 else 1.0
        turn = angle + 2 * math.pi * index / num_corners
        corners.append((radius * math.cos(turn), radius * math.sin(turn)))
    return corners


SHAPES: dict[str, Callable[[float], list[Point]]] = {
    "circle": lambda angle: polygon(60, angle),
    "square": lambda angle: polygon(4, angle),
    "star": lambda angle: polygon(10, angle, inner=0.4),
    "triangle": lambda angle: polygon(3, angle),
}


def draw_background(chance: random.Random, width: int, height: int) -> Image.Image:
    """Return a dark picture of one colour with a coarse and a fine texture."""
    noise = np.random.default_rng(chance.getrandbits(64))
    colour = [chance.uniform(20, 110) for _ in range(3)]
    coarse = noise.normal(0, 25, (height // 12 + 1, width // 12 + 1, 3))
    fine = noise.normal(0, 10, (height, width, 3))
    coarse = coarse.repeat(12, axis=0).repeat(12, axis=1)[:height, :width]
    pixels = np.clip(colour + coarse + fine, 0, 255).astype(np.uint8)
    return Image.fromarray(pixels)


def draw_image(shape: str, chance: random.Random) -> Image.Image:
    """Return a picture with one bright shape somewhere on it."""
    width, height = chance.randint(MIN_SIDE, MAX_SIDE), chance.randint(MIN_SIDE, MAX_SIDE)
    image = draw_background(chance, width, height)
    radius = chance.uniform(0.25, 0.42) * min(width, height)
    x, y = chance.uniform(radius, width - radius), chance.uniform(radius, height - radius)
    corners = SHAPES[shape](chance.uniform(0, 2 * math.pi))
    colour = (chance.randint(150, 255), chance.randint(150, 255), chance.randint(150, 255))
    ImageDraw.Draw(image).polygon(
        [(x + radius * across, y + radius * down) for across, down in corners], fill=colour
    )
    return image


def draw_folder(folder: Path, *, num_per_class: int, seed: int) -> int:
    """Fill ``folder`` with one folder of pictures per class; return how many were drawn."""
    for shape in SHAPES:
        (folder / shape).mkdir(parents=True, exist_ok=True)
        for index in range(num_per_class):
            # One generator per picture: it does not depend on how many are drawn.
            image = draw_image(shape, random.Random(f"{seed} {shape} {index}"))
            image.save(folder / shape / f"{shape}_{index:03}.jpg", quality=90)
    return num_per_class * len(SHAPES)


def main() -> None:
    """Draw what the command line asks for."""
    parser = argparse.ArgumentParser(description="Draw a small folder of images.")
    parser.add_argument("folder", type=Path, help="where; one folder per class is made in it")
    parser.add_argument("--num-per-class", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    num_images = draw_folder(
        arguments.folder, num_per_class=arguments.num_per_class, seed=arguments.seed
    )
    print(f"{num_images} images of {', '.join(SHAPES)} are in {arguments.folder}")


if __name__ == "__main__":
    main()
