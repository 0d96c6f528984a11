"""What one feature stores in an Example: columns of a type and shape."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class StoredType(enum.Enum):
    """The three lists an Example knows."""

    BYTES = "bytes"
    INT64 = "int64"
    FLOAT32 = "float32"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One key of the Example; ``shape`` is ``()`` for a scalar, ``is_list`` for any length."""

    name: str
    type: StoredType
    shape: tuple[int, ...] = ()
    is_list: bool = False
