"""Reads a dataset of ours with the reader of tfrec-tools, as its documentation shows."""

from __future__ import annotations

from benchmarks.peers.epoch_timing import IMAGE_SIZE, parse_arguments, report_rate
from tfrec_tools import reader

if __name__ == "__main__":
    arguments = parse_arguments()
    report_rate(
        reader.load(
            arguments.path,
            split="train",
            batch_size=arguments.batch_size,
            image_size=IMAGE_SIZE,
            shuffle=arguments.shuffle,
        )
    )
