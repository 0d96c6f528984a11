"""The columns of the CSV file that all programs read, by their type."""

from __future__ import annotations

HEADER = (
    "id",
    "day",
    "channel",
    "quantity",
    "price",
    "comment",
    "weight",
    "recorded_at",
    "score",
    "label",
)
INTEGERS = ("id", "quantity", "recorded_at")
DECIMALS = ("price", "weight", "score")
TEXTS = ("day", "channel", "comment")
LABEL = "label"
CLASS_NAMES = ("churned", "loyal", "new", "returning")
