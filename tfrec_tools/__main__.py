"""``python -m tfrec_tools``: the same as the command ``tfrec``."""

import sys

from tfrec_tools.cli.main import tfrec

if __name__ == "__main__":
    sys.exit(tfrec())
