"""Texts of any length to sequences of one length, without loss: no token is cut off or padded over.

All texts, in order and with an end mark behind each, are one stream; it is cut every
``length`` tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Sequences (int64 [n, length]) and how many tokens of each are no padding (int64 [n]).

    ``num_dropped_tokens``: tokens and end marks behind the last whole sequence, if dropped.
    """

    sequences: NDArray[np.int64]
    lengths: NDArray[np.int64]
    num_dropped_tokens: int = 0


def pack(
    lists: Sequence[pa.LargeListArray],
    end_id: int,
    length: int,
    pad_id: int = 0,
    remainder: Literal["pad", "drop"] = "pad",
) -> Packed:
    """Pack texts (large_lists of int64, in the order of the source) to sequences of ``length``.

    A text without tokens is an end mark alone; a missing one (null) is left out.
    """
    if length < 1:
        raise ValueError(f"length must be at least 1 (got {length})")
    valid = [part.drop_null() if part.null_count else part for part in lists]
    sizes = np.concatenate(
        [
            np.zeros(0, np.int64),
            *(np.asarray(pc.list_value_length(part), dtype=np.int64) for part in valid),
        ]
    )
    ends = np.cumsum(sizes + 1) - 1
    num_tokens = int(ends[-1]) + 1 if len(ends) else 0
    rest = num_tokens % length
    num_padding = (length - rest) % length
    stream = np.full(num_tokens + num_padding, pad_id, np.int64)
    is_token = np.zeros(len(stream), np.bool_)
    is_token[:num_tokens] = True
    is_token[ends] = False
    stream[ends] = end_id
    values = [np.asarray(part.flatten()) for part in valid]
    stream[is_token] = np.concatenate([np.zeros(0, np.int64), *values])
    sequences = stream.reshape(-1, length)
    lengths = np.full(len(sequences), length, np.int64)
    if not rest:
        return Packed(sequences=sequences, lengths=lengths)
    if remainder == "drop":
        return Packed(sequences=sequences[:-1], lengths=lengths[:-1], num_dropped_tokens=rest)
    lengths[-1] = rest
    return Packed(sequences=sequences, lengths=lengths)
