"""Reads a dataset of ours, converted from a CSV file, with the reader of tfrec-tools."""

from __future__ import annotations

from benchmarks.peers.csv_epoch import parse_arguments, report_rate
from tfrec_tools import reader

if __name__ == "__main__":
    arguments = parse_arguments()
    report_rate(
        reader.load(
            arguments.path,
            split="train",
            batch_size=arguments.batch_size,
            shuffle=False,
            features=arguments.columns if arguments.has_texts else None,
        ),
        arguments.columns,
    )
