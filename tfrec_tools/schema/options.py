"""What options of several kinds have in common."""

from __future__ import annotations

import dataclasses
from typing import Any

WRITTEN_IF_GIVEN = {"written": "if given"}
"""Metadata of an option that manifests and schemas leave out while it has its default.

Manifests written before the option came must stay as they are, byte by byte.
"""


def list_problems(feature: Any) -> list[str]:
    """Return what is wrong between ``many``, ``shape`` and ``separator``."""
    if feature.separator is None:
        return []
    if not feature.separator:
        return ["separator must be at least one character"]
    packed = getattr(feature, "shape", None) is not None
    if not feature.many and not packed:
        return ["`separator` goes with `many: true`"]
    return []


def is_written(option: dataclasses.Field[Any], value: object) -> bool:
    """Say whether a schema's file or a manifest shows the option."""
    if value is None:
        return False
    return value != option.default or option.metadata.get("written") != "if given"
