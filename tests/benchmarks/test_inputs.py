"""Drawn images: the same every time, and of the size that the targets are set for."""

import io
from statistics import mean

import pytest
from PIL import Image

from benchmarks import inputs
from benchmarks.inputs import ImageKind


@pytest.mark.parametrize("draw", [inputs.draw_photo, inputs.draw_small])
def test_an_image_is_a_function_of_its_index(draw):
    first = draw(3)
    inputs._texture.cache_clear()
    assert draw(3) == first != draw(4)


def test_photos_are_of_about_500x375_and_40_kb():
    photos = [inputs.draw_photo(index) for index in range(24)]
    sizes = [len(photo) for photo in photos]
    assert 36_000 < mean(sizes) < 44_000
    assert min(sizes) > 15_000
    assert max(sizes) < 80_000
    opened = [Image.open(io.BytesIO(photo)) for photo in photos]
    assert {image.format for image in opened} == {"JPEG"}
    assert {(image.height, image.width) for image in opened} == set(inputs.PHOTO_SIZES)


def test_small_images_are_of_32x32_and_1_kb():
    images = [inputs.draw_small(index) for index in range(100)]
    assert 900 < mean(len(image) for image in images) < 1_150
    assert Image.open(io.BytesIO(images[0])).size == (32, 32)


def test_a_folder_is_drawn_once(tmp_path):
    folder = inputs.drawn_folder(ImageKind.SMALL, 25, tmp_path)
    drawn = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jpg"))
    assert len(drawn) == 25
    assert drawn[:3] == [
        "class_0/image_000000.jpg",
        "class_0/image_000010.jpg",
        "class_0/image_000020.jpg",
    ]
    (folder / drawn[0]).write_bytes(b"kept")
    assert inputs.drawn_folder(ImageKind.SMALL, 25, tmp_path) == folder
    assert (folder / drawn[0]).read_bytes() == b"kept"


def test_a_folder_that_was_broken_off_is_drawn_anew(tmp_path):
    folder = inputs.drawn_folder(ImageKind.SMALL, 3, tmp_path)
    folder.rename(folder.with_suffix(".partial"))
    assert inputs.drawn_folder(ImageKind.SMALL, 3, tmp_path) == folder
    assert len(list(folder.rglob("*.jpg"))) == 3


def test_processes_draw_what_one_process_draws(tmp_path):
    num_images = inputs.CHUNK_NUM_IMAGES + 1
    folder = inputs.drawn_folder(ImageKind.SMALL, num_images, tmp_path)
    last = folder / f"class_{inputs.CHUNK_NUM_IMAGES % inputs.NUM_CLASSES}" / "image_000100.jpg"
    assert len(list(folder.rglob("*.jpg"))) == num_images
    assert last.read_bytes() == inputs.draw_small(inputs.CHUNK_NUM_IMAGES)
