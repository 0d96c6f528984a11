"""The features of the text records that all programs write, and the classes of the documents."""

from __future__ import annotations

TEXT = "text"
LABEL = "label"
CLASS_NAMES = ("neg", "pos")
