"""Reads a CSV file with pyarrow and writes nothing: the least that parsing costs.

python -m benchmarks.peers.pyarrow_csv FILE
"""

from __future__ import annotations

import sys

from pyarrow import csv

if __name__ == "__main__":
    print(csv.read_csv(sys.argv[1]).num_rows)
