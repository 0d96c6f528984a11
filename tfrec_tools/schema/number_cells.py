"""Numbers that cells hold: only what is written exactly in one way is a number.

``02134``, ``1_000``, ``+5``, ``0x1F``, ``nan`` and Arabic digits are none. Most columns are
clean, so Arrow's own parser tries first, where a look at the bytes proves that it accepts
nothing else; cell by cell tests decide only on the other columns.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.schema import cells as cell_tools
from tfrec_tools.schema.cells import as_text, faults_where, indices_of, is_text, plain, trimmed

INT64_FAULT = "a whole number of 64 bits"
FLOAT_FAULT = "a decimal number"

_INT_PATTERN = r"^(0|-?[1-9][0-9]{0,18})$"
_FLOAT_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_WIDE = pa.decimal128(20, 0)


def parse_int64(values: pa.Array) -> tuple[pa.Int64Array, dict[int, str]]:
    """Return int64 [n], null where a cell is missing, and the faults.

    Takes text cells, integers, decimals without a fraction and nulls.
    """
    values = plain(values)
    if is_text(values.type):
        return _int64_of_text(values)
    try:
        return values.cast(pa.int64()), {}
    except pa.ArrowInvalid:  # uint64 or decimals beyond the range
        wide = values.cast(pa.decimal256(76, 0))
        wrong = pc.or_(pc.greater(wide, _MAX_INT64), pc.less(wide, _MIN_INT64))
        numbers = pc.if_else(wrong, None, wide).cast(pa.int64())
        whole = {
            index: f"must be {INT64_FAULT} (got {values[index].as_py()})"
            for index in indices_of(wrong)
        }
        return numbers, whole


def _int64_of_text(cells: pa.LargeBinaryArray) -> tuple[pa.Int64Array, dict[int, str]]:
    bare = _without_blanks(cells)
    numbers = _clean_int64(bare)
    if numbers is not None:
        return numbers, {}
    bare = as_text(bare)
    wrong = pc.invert(pc.match_substring_regex(bare, _INT_PATTERN))
    digits = pc.if_else(wrong, None, bare)
    # Nineteen digits may be too large; up to eighteen fit.
    wide = pc.indices_nonzero(pc.greater_equal(pc.binary_length(digits), 19))
    if len(wide):
        exact = digits.take(wide).cast(_WIDE)
        outside = pc.or_(pc.greater(exact, _MAX_INT64), pc.less(exact, _MIN_INT64))
        mask = np.zeros(len(cells), np.bool_)
        mask[np.asarray(wide.filter(outside))] = True
        wrong = pc.or_(wrong, pa.array(mask))
        digits = pc.if_else(wrong, None, digits)
    return digits.cast(pa.int64()), faults_where(cells, wrong, INT64_FAULT)


def _without_blanks(cells: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Trim the cells where any has a blank: a parser that fails on each is ten times as slow."""
    data, _ = cell_tools.content(cells)
    return trimmed(cells) if len(data) and data.min() <= ord(" ") else cells


def _clean_int64(cells: pa.LargeBinaryArray) -> pa.Int64Array | None:
    """Return the numbers if every cell is one, by Arrow's parser; None leaves it open.

    That parser knows hexadecimal digits, ``007`` and ``-0``, too. No byte above ``9`` rules
    out the first, a look at each first digit the others.
    """
    data, offsets = cell_tools.content(cells)
    if len(data) and data.max() > ord("9"):
        return None
    try:
        numbers = as_text(cells).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    if not len(data):
        return numbers
    starts = np.minimum(offsets[:-1], len(data) - 1)
    lengths = np.diff(offsets)
    negative = data[starts] == ord("-")
    starts = np.minimum(starts + negative, len(data) - 1)
    padded = (data[starts] == ord("0")) & (lengths > 1)
    return None if padded.any() else numbers


def parse_float(
    values: pa.Array, type_: pa.DataType, decimal: str
) -> tuple[pa.Array, dict[int, str]]:
    """Return numbers of the type [n], null where a cell is missing, and the faults.

    Takes text cells with this decimal mark, numbers and nulls. Rounds to the nearest.
    """
    values = plain(values)
    bits = type_.bit_width
    if is_text(values.type):
        return _float_of_text(values, type_, decimal)
    numbers = values.cast(type_, safe=False)
    if not pa.types.is_floating(values.type) or values.type.bit_width <= bits:
        return numbers, {}
    overflown = pc.and_(pc.is_inf(numbers), pc.is_finite(values))
    return numbers, {
        index: f"must be a number that {bits} bits can hold (got {values[index].as_py()})"
        for index in indices_of(overflown)
    }


def _float_of_text(
    cells: pa.LargeBinaryArray, type_: pa.DataType, decimal: str
) -> tuple[pa.Array, dict[int, str]]:
    text = as_text(_without_blanks(cells))
    if decimal == ",":
        data, _ = cell_tools.content(cells)
        if (data == ord(".")).any():  # a point is no mark here: no number must come of it
            text = pc.replace_substring(text, ".", "_")
        text = pc.replace_substring(text, ",", ".")
    numbers = _clean_float(text, type_)
    if numbers is not None:
        return numbers, {}
    wrong = pc.invert(pc.match_substring_regex(text, _FLOAT_PATTERN))
    # Not every Arrow parses a leading plus.
    digits = pc.replace_substring_regex(pc.if_else(wrong, None, text), r"^\+", "")
    numbers = digits.cast(type_)
    faults = faults_where(cells, wrong, FLOAT_FAULT)
    what = f"a number that {type_.bit_width} bits can hold"
    faults |= faults_where(cells, pc.is_inf(numbers), what)
    return numbers, faults


def _clean_float(text: pa.LargeStringArray, type_: pa.DataType) -> pa.Array | None:
    """Return the numbers if every cell is one, by Arrow's parser; None leaves it open.

    Besides our numbers it knows only the names of nan and infinity, which are not finite.
    """
    try:
        numbers = text.cast(type_)
    except pa.ArrowInvalid:
        return None
    finite = pc.all(pc.is_finite(numbers), min_count=0).as_py()
    return numbers if finite else None
