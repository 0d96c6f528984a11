"""What encoding one column gives: values, and the records that do not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class EncodedColumn:
    """Values of n records; where ``faults`` names a record's index, its value means nothing.

    A null in ``values`` is an empty list in the Example. ``unknown``: texts that are no
    class, with how often they stand in these records.
    """

    values: pa.Array
    faults: Mapping[int, str] = field(default_factory=dict)
    unknown: Mapping[str, int] = field(default_factory=dict)
