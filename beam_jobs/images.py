"""``python -m beam_jobs.images --input … --output …``: the conversion of images on Beam."""

from __future__ import annotations

import sys

from beam_jobs.main import main

if __name__ == "__main__":
    sys.exit(main("images"))
