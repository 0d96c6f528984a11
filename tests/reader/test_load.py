"""``reader.load``: exact pixels, exact order, every record once, errors before anything is read."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

import tfrec_tools
from tfrec_tools import reader
from tfrec_tools.errors import DatasetError, RequestError

SCHEMA = {
    "features": {
        "image": {"kind": "image"},
        "label": {"kind": "class_label", "target": True},
        "filename": {"kind": "text"},
        "number": {"kind": "int64", "from": "stem"},
    }
}


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """60 JPEGs of 48 x 40 whose file names are their numbers, in two splits and many shards."""
    root = tmp_path_factory.mktemp("pets")
    for number in range(60):
        pixels = np.random.default_rng(number).integers(0, 256, (5, 6, 3), dtype=np.uint8)
        path = root / "in" / "cde"[number % 3] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).resize((48, 40), Image.Resampling.BILINEAR).save(path, quality=90)
    tfrec_tools.convert(
        root / "in",
        root / "out",
        schema=SCHEMA,
        splits={"train": 0.75, "test": 0.25},
        num_shards={"train": 5, "test": 2},
    )
    return root


def numbers(dataset: tf.data.Dataset) -> list[int]:
    return [int(n) for batch in dataset for n in np.ravel(batch["number"])]


def load(pets, split="train", **options) -> tf.data.Dataset:
    options = {"features": ["number"], "as_dict": True} | options
    return reader.load(pets / "out", split, **options)


class TestOrder:
    def test_unshuffled_is_the_stored_order(self, pets) -> None:
        stored = numbers(load(pets, shuffle=False))
        paths = reader.open(pets / "out").shard_paths("train")
        spec = reader.open(pets / "out").parse_spec(["number"])
        parsed = [tf.io.parse_single_example(r, spec) for r in tf.data.TFRecordDataset(paths)]
        assert stored == [int(record["number"]) for record in parsed]
        assert numbers(load(pets, "test")) == numbers(load(pets, "test"))

    @pytest.mark.parametrize("options", [{}, {"seed": 1}, {"shuffle_buffer": 4}])
    def test_shuffled_gives_every_record_once_and_a_new_order_each_epoch(
        self, pets, options
    ) -> None:
        stored = numbers(load(pets, shuffle=False))
        dataset = load(pets, **options)
        first, second = numbers(dataset), numbers(dataset)
        assert sorted(first) == sorted(second) == sorted(stored)
        assert first != second
        assert stored not in (first, second)

    def test_a_seed_makes_it_deterministic(self, pets) -> None:
        runs = [numbers(load(pets, seed=seed)) for seed in (7, 7, 8)]
        assert runs[0] == runs[1] != runs[2]

    def test_repeat(self, pets) -> None:
        count = reader.open(pets / "out").num_records("test")
        assert len(numbers(load(pets, "test", repeat=3))) == 3 * count
        endless = load(pets, "test", repeat=True)
        assert endless.cardinality() == tf.data.INFINITE_CARDINALITY


class TestShapes:
    def test_pairs_are_static_and_counted(self, pets) -> None:
        dataset = reader.load(pets / "out", features=["image", "label"], batch_size=7)
        image, label = dataset.element_spec
        assert image == tf.TensorSpec((None, 40, 48, 3), tf.uint8)
        assert label == tf.TensorSpec((None,), tf.int64)
        count = reader.open(pets / "out").num_records("train")
        assert int(dataset.cardinality()) == -(-count // 7)
        sizes = [len(labels) for _, labels in dataset]
        assert sum(sizes) == count
        assert set(sizes[:-1]) == {7}

    def test_drop_remainder(self, pets) -> None:
        dataset = reader.load(
            pets / "out", features=["image", "label"], batch_size=7, drop_remainder=True
        )
        assert dataset.element_spec[0].shape == (7, 40, 48, 3)
        assert {len(labels) for _, labels in dataset} == {7}

    def test_default_features_are_all_but_text_and_sizes(self, pets) -> None:
        x, y = reader.load(pets / "out").element_spec
        assert sorted(x) == ["image", "number"]
        assert y.dtype == tf.int64
        record = reader.load(pets / "out", as_dict=True).element_spec
        assert sorted(record) == ["image", "label", "number"]

    def test_features_by_name(self, pets) -> None:
        dataset = reader.load(
            pets / "out", "test", features=["filename", "image_height"], batch_size=None
        )
        record = next(iter(dataset))
        assert record["filename"].numpy().endswith(b".jpg")
        assert int(record["image_height"]) == 40
        assert isinstance(reader.load(pets / "out", features=["label"]).element_spec, dict)


class TestPixels:
    def pixels(self, pets, **options) -> dict[int, np.ndarray]:
        dataset = reader.load(
            pets / "out",
            "test",
            features=["image", "number"],
            as_dict=True,
            batch_size=None,
            **options,
        )
        return {int(record["number"]): record["image"].numpy() for record in dataset}

    def original(self, pets, number: int, **options) -> tf.Tensor:
        path = pets / "in" / "cde"[number % 3] / f"{number}.jpg"
        return tf.io.decode_jpeg(path.read_bytes(), channels=3, **options)

    def test_stored_size(self, pets) -> None:
        for number, image in self.pixels(pets).items():
            np.testing.assert_array_equal(image, self.original(pets, number))

    def test_distorted(self, pets) -> None:
        for number, image in self.pixels(pets, image_size=(30, 20), fast_decode=False).items():
            expected = tf.image.resize(self.original(pets, number), (30, 20))
            np.testing.assert_array_equal(image, np.round(expected).astype(np.uint8))

    def test_float32_keeps_the_range_and_scale_is_explicit(self, pets) -> None:
        options = {"image_size": (30, 20), "fast_decode": False, "dtype": "float32"}
        plain, scaled = self.pixels(pets, **options), self.pixels(pets, **options, scale=1 / 255)
        for number, image in plain.items():
            expected = tf.image.resize(self.original(pets, number), (30, 20))
            np.testing.assert_array_equal(image, expected)
            np.testing.assert_allclose(scaled[number], image / 255, rtol=1e-6)

    @pytest.mark.parametrize(
        ("size", "ratio"), [((5, 6), 8), ((6, 6), 4), ((10, 12), 4), ((20, 9), 2), ((21, 6), 1)]
    )
    def test_fast_decoding_takes_the_smallest_scale_that_covers(self, pets, size, ratio) -> None:
        for number, image in self.pixels(pets, image_size=size).items():
            expected = tf.image.resize(self.original(pets, number, ratio=ratio), size)
            np.testing.assert_array_equal(image, np.round(expected).astype(np.uint8))

    @pytest.mark.parametrize("size", [(30, 20), (20, 30), (64, 64), (11, 13)])
    @pytest.mark.parametrize("how", ["crop_to_aspect_ratio", "pad_to_aspect_ratio"])
    def test_aspect_ratio_is_kept_as_keras_does(self, pets, size, how) -> None:
        keras_utils = pytest.importorskip("keras.utils")
        keras = keras_utils.image_dataset_from_directory(
            pets / "in", image_size=size, batch_size=None, shuffle=False, verbose=0, **{how: True}
        )
        expected = dict(zip(keras.file_paths, keras, strict=True))
        by_number = {
            int(path.rpartition("/")[2][:-4]): image for path, (image, _) in expected.items()
        }
        options = {"image_size": size, "fast_decode": False, "dtype": "float32", how: True}
        for number, image in self.pixels(pets, **options).items():
            np.testing.assert_allclose(image, by_number[number], atol=1e-3)

    def test_padding_may_decode_at_a_scale_too(self, pets) -> None:
        for image in self.pixels(pets, image_size=(64, 12), pad_to_aspect_ratio=True).values():
            assert image.shape == (64, 12, 3)
            assert not image[:27].any()
            assert image[27:37].any()


def test_mixed_formats_and_sizes(tmp_path, draw_image) -> None:
    for number, size in enumerate([(40, 50), (100, 90), (17, 30), (64, 64)]):
        draw_image(tmp_path / "in" / "a" / f"{number}.png", number, size)
        draw_image(tmp_path / "in" / "b" / f"{number + 10}.jpg", number, size)
        draw_image(tmp_path / "in" / "b" / f"{number + 20}.png", number, size, mode="L")
    tfrec_tools.convert(tmp_path / "in", tmp_path / "out", schema=SCHEMA)
    with pytest.raises(RequestError) as found:
        reader.load(tmp_path / "out")
    assert str(found.value) == (
        "images of a batch must have one size ('image' has 30 x 17 to 90 x 100); give "
        "image_size=(height, width)"
    )
    dataset = reader.load(
        tmp_path / "out", image_size=(20, 20), features=["image", "number"], as_dict=True
    )
    seen = 0
    for batch in dataset:
        for number, image in zip(batch["number"].numpy(), batch["image"].numpy(), strict=True):
            suffix = "jpg" if 10 <= number < 20 else "png"
            path = tmp_path / "in" / ("a" if number < 10 else "b") / f"{number}.{suffix}"
            ratio = {10: 2, 11: 4, 13: 2}.get(int(number), 1)
            decoded = (
                tf.io.decode_jpeg(path.read_bytes(), channels=3, ratio=ratio)
                if suffix == "jpg"
                else tf.io.decode_png(path.read_bytes(), channels=3)
            )
            expected = np.round(tf.image.resize(decoded, (20, 20))).astype(np.uint8)
            np.testing.assert_array_equal(image, expected)
            seen += 1
    assert seen == 12
    unbatched = reader.load(tmp_path / "out", batch_size=None, features=["image", "label"])
    assert unbatched.element_spec[0].shape == (None, None, 3)
    assert len(list(unbatched)) == 12


def test_raw_pixels_come_back_without_decoding(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", [f"a/{i}.png" for i in range(9)])
    encoded = {"kind": "image", "encode": "raw", "resize": {"height": 24, "width": 32}}
    schema = {"features": SCHEMA["features"] | {"image": encoded}}
    tfrec_tools.convert(source, tmp_path / "out", schema=schema)
    for options, shape in (({}, (24, 32)), ({"image_size": (12, 10)}, (12, 10))):
        dataset = reader.load(
            tmp_path / "out", features=["image", "number"], as_dict=True, batch_size=4, **options
        )
        assert dataset.element_spec["image"].shape == (None, *shape, 3)
        full = reader.load(
            tmp_path / "out", features=["image"], batch_size=4, drop_remainder=True, **options
        )
        assert full.element_spec["image"].shape == (4, *shape, 3)
        for batch in dataset:
            for number, image in zip(batch["number"].numpy(), batch["image"], strict=True):
                original = tf.io.decode_png((source / "a" / f"{number}.png").read_bytes())
                expected = np.round(tf.image.resize(original, shape)).astype(np.uint8)
                np.testing.assert_array_equal(image, expected)
    single = next(iter(reader.load(tmp_path / "out", features=["image"], batch_size=None)))
    assert single["image"].shape == (24, 32, 3)


def test_masks_come_back_exactly(tmp_path, draw_image) -> None:
    numbers_16 = np.arange(24 * 32, dtype=np.uint16).reshape(24, 32) * 80
    draw_image(tmp_path / "in" / "1.jpg")
    (tmp_path / "m").mkdir()
    Image.fromarray(numbers_16).save(tmp_path / "m" / "1.png")
    palette = Image.fromarray((numbers_16 % 7).astype(np.uint8)).convert("P")
    palette.putpalette([value for index in range(256) for value in (index, 255 - index, 7)])
    palette.save(tmp_path / "m" / "p1.png")
    schema = {
        "features": {
            "image": {"kind": "image"},
            "wide": {"kind": "mask", "from": "../m/{stem}.png", "dtype": "uint16"},
            "mask": {"kind": "mask", "from": "../m/p{stem}.png", "target": True},
        }
    }
    tfrec_tools.convert(tmp_path / "in", tmp_path / "out", schema=schema, labels=False)
    x, y = next(iter(reader.load(tmp_path / "out")))
    assert (x["wide"].dtype, y.dtype) == (tf.uint16, tf.uint8)
    np.testing.assert_array_equal(x["wide"][0, :, :, 0], numbers_16)
    np.testing.assert_array_equal(y[0, :, :, 0], np.asarray(palette))
    x, y = next(iter(reader.load(tmp_path / "out", image_size=(12, 16))))
    assert set(np.unique(y)) <= set(range(7))
    assert x["image"].shape == (1, 12, 16, 3)


def test_gzip(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 3, "b": 4})
    tfrec_tools.convert(source, tmp_path / "out", compression="gzip")
    assert sum(len(labels) for _, labels in reader.load(tmp_path / "out")) == 7


def test_an_empty_split(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 2})
    tfrec_tools.convert(source, tmp_path / "out", split_files={"train": "**", "test": "none/*"})
    assert list(reader.load(tmp_path / "out", "test", image_size=(8, 8))) == []


@pytest.mark.filterwarnings("ignore:.shuffle=True. was passed")  # Keras's own default
def test_keras_fits(pets) -> None:
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(loss=loss, metrics=["accuracy"])
    options = {"features": ["image", "label"], "image_size": (8, 8), "dtype": "float32"}
    train = reader.load(pets / "out", **options, scale=1 / 255)
    history = model.fit(train, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2
    assert np.isfinite(history.history["loss"]).all()


class TestErrors:
    def damaged(self, pets, tmp_path):
        out = tmp_path / "out"
        tfrec_tools.convert(pets / "in", out, schema=SCHEMA, num_shards=2)
        return out, out / "train-00001-of-00002.tfrecord"

    def test_a_missing_shard(self, pets, tmp_path) -> None:
        out, shard = self.damaged(pets, tmp_path)
        size = shard.stat().st_size
        shard.unlink()
        with pytest.raises(DatasetError) as found:
            reader.load(out)
        assert str(found.value) == (
            f"{shard} must have {size:,} bytes (it is missing); copy the dataset again, or convert "
            "the data again"
        )

    def test_a_short_shard(self, pets, tmp_path) -> None:
        out, shard = self.damaged(pets, tmp_path)
        shard.write_bytes(shard.read_bytes()[:100])
        with pytest.raises(DatasetError, match=r"bytes \(it has 100\)"):
            reader.load(out)

    def test_a_damaged_record_is_an_error_while_reading(self, pets, tmp_path) -> None:
        out, shard = self.damaged(pets, tmp_path)
        content = bytearray(shard.read_bytes())
        content[500] ^= 1
        shard.write_bytes(content)
        with pytest.raises(tf.errors.DataLossError):
            list(reader.load(out, features=["number"]))

    def test_no_such_split_or_dataset(self, pets, tmp_path) -> None:
        with pytest.raises(DatasetError) as found:
            reader.load(pets / "out", "dev")
        assert str(found.value) == ("the dataset 'in' has the splits train, test (asked for 'dev')")
        with pytest.raises(DatasetError, match="must be the folder of a dataset"):
            reader.load(tmp_path / "nowhere")
        with pytest.raises(DatasetError, match="must be a finished dataset"):
            reader.load(pets / "in")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"batch_size": 0}, "batch_size must be a number of at least 1 (got 0)"),
            ({"image_size": 224}, "image_size must be (height, width) in pixels (got 224)"),
            ({"image_size": (0, 5)}, "image_size must be (height, width) in pixels (got (0, 5))"),
            ({"dtype": "int8"}, "dtype must be 'uint8' or 'float32' (got 'int8')"),
            ({"repeat": 0}, None),
            ({"repeat": -1}, "repeat must be True, False or a number of epochs (got -1)"),
            (
                {"scale": 0.5},
                "scale goes with dtype='float32': scaled pixels are no whole numbers",
            ),
            (
                {"crop_to_aspect_ratio": True},
                "an aspect ratio needs image_size=(height, width)",
            ),
            (
                {"shuffle": False, "shuffle_buffer": 5},
                "num_parallel_reads and shuffle_buffer go with shuffle=True: unshuffled records "
                "come in the stored order",
            ),
            (
                {"features": ["image", "colour"]},
                "features must be among filename, image, image_height, image_width, label, number "
                "(got 'colour')",
            ),
            ({"features": "image"}, "features must be a list of names (got 'image')"),
            (
                {"seed": 1, "deterministic": False},
                "a seed means a deterministic order: drop it, or deterministic=False",
            ),
            ({"seed": -1}, "seed must be from 0 to 2**63 - 1 (got -1)"),
            ({"features": []}, "features must name at least one feature"),
            ({"drop_remainder": True, "batch_size": None}, "drop_remainder goes with a batch_size"),
        ],
    )
    def test_arguments_that_make_no_sense(self, pets, options, message) -> None:
        if message is None:
            message = "repeat must be True, False or a number of epochs (got 0)"
        with pytest.raises(RequestError) as found:
            reader.load(pets / "out", **options)
        assert str(found.value) == message
