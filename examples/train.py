"""Trains a small model on a converted dataset, and shows what a training script needs.

    python examples/train.py build/demo/dataset

The dataset has the splits train and test, as written by
``tfrec-convert IMAGES DATASET --splits train=0.8,test=0.2``.
"""

from __future__ import annotations

import argparse

import keras
from keras import layers

from tfrec_tools import reader

IMAGE_SIZE = (64, 64)  # height, width: the reader resizes
BATCH_SIZE = 16
NUM_EPOCHS = 7
SEED = 1


def describe(path: str) -> list[str]:
    """Print what was written and return the names of the classes.

    This reads the manifest only: no image is opened, and TensorFlow is not needed.
    """
    dataset = reader.open(path)
    for split in dataset.splits:
        print(f"{split}: {dataset.num_records(split)} records")
    classes = list(dataset.class_names())
    print(f"{len(classes)} classes: {', '.join(classes)}")
    return classes


def build_model(num_classes: int) -> keras.Model:
    """Return a small convolutional network for uint8 images."""
    # With few batches per epoch, the averages that normalization keeps for evaluation must
    # follow quickly: hence the low momentum.
    model = keras.Sequential(
        [
            keras.Input((*IMAGE_SIZE, 3)),
            layers.Rescaling(1 / 127.5, offset=-1),  # 0…255 to -1…1
            layers.Conv2D(16, 5, strides=2, padding="same", activation="relu"),
            layers.BatchNormalization(momentum=0.8),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.BatchNormalization(momentum=0.8),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.GlobalMaxPooling2D(),
            layers.Dense(num_classes, activation="softmax"),
        ]
    )
    model.compile(
        optimizer=keras.optimizers.Adam(0.003),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    return model


def main() -> None:
    """Train on the split train, evaluate on the split test."""
    parser = argparse.ArgumentParser(description="Train a small model on a converted dataset.")
    parser.add_argument("dataset", help="the folder that tfrec-convert wrote")
    path = parser.parse_args().dataset

    classes = describe(path)
    keras.utils.set_random_seed(SEED)

    # Batches of (images, labels), decoded and resized in parallel; train is shuffled anew
    # in every epoch.
    train = reader.load(path, split="train", batch_size=BATCH_SIZE, image_size=IMAGE_SIZE)
    test = reader.load(path, split="test", batch_size=BATCH_SIZE, image_size=IMAGE_SIZE)

    model = build_model(len(classes))
    model.fit(train, epochs=NUM_EPOCHS, verbose=2)
    _, accuracy = model.evaluate(test, verbose=0)
    print(f"accuracy on the split test: {accuracy:.0%} (chance: {1 / len(classes):.0%})")


if __name__ == "__main__":
    main()
