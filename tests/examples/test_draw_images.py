"""The demo's images: drawn quickly, the same every time."""

import subprocess
import sys
from pathlib import Path

from PIL import Image

SCRIPT = Path(__file__).parents[2] / "examples" / "draw_images.py"


def draw(folder, *arguments):
    command = [sys.executable, SCRIPT, folder, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jpg")}


def test_draws_one_folder_per_class(tmp_path):
    said = draw(tmp_path / "images", "--num-per-class", "3")
    assert said.startswith("12 images of circle, square, star, triangle are in ")
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [
        "circle",
        "square",
        "star",
        "triangle",
    ]
    sizes = {Image.open(path).size for path in (tmp_path / "images").rglob("*.jpg")}
    assert len(sizes) > 3
    assert all(96 <= side <= 160 for size in sizes for side in size)


def test_the_same_seed_draws_the_same_images(tmp_path):
    for name, seed, number in (("a", "1", "2"), ("b", "1", "3"), ("c", "2", "2")):
        draw(tmp_path / name, "--num-per-class", number, "--seed", seed)
    first, more, other = (contents(tmp_path / name) for name in "abc")
    assert first.items() < more.items()
    assert first.keys() == other.keys()
    assert not first.items() & other.items()
