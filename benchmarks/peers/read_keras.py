"""Reads the image folder itself with Keras."""

from __future__ import annotations

import keras

from benchmarks.peers.epoch_timing import IMAGE_SIZE, parse_arguments, report_rate

if __name__ == "__main__":
    arguments = parse_arguments()
    report_rate(
        keras.utils.image_dataset_from_directory(
            arguments.path,
            batch_size=arguments.batch_size,
            image_size=IMAGE_SIZE,
            shuffle=arguments.shuffle,
            verbose=False,
        )
    )
