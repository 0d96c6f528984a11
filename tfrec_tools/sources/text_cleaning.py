"""From the bytes of records to their text: valid UTF-8, cleaned as asked, neither too short nor too long."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tfrec_tools.errors import counted
from tfrec_tools.schema.cells import as_text
from tfrec_tools.text_options import TextOptions

DEFAULT_MAX_RECORD_BYTES = 1 << 30

MARKER = "\udcff".encode("utf-8", "surrogatepass")
"""Stands for what could not be decoded; it is no UTF-8, so that the record is found faulty."""

_MARKING = "tfrec_tools.marking"  # the name of our error handler
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_REPLACEMENT = "\ufffd".encode()
_FEW_RECORDS = 64  # in which invalid ones are looked for one by one


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The texts of n records, and which of them are none.

    ``values``: all n, in order; that of a record in ``faults`` (index to reason) or in
    ``left_out`` (index to the word it is counted under) means nothing. ``repaired``: indices
    of others in which something that was no text was replaced.
    """

    values: pa.LargeBinaryArray
    faults: dict[int, str]
    left_out: dict[int, str]
    repaired: tuple[int, ...] = ()


def cleaned(
    values: pa.LargeBinaryArray,
    options: TextOptions,
    encoding: str = "utf-8",
    *,
    unit: str = "line",
) -> Cleaned:
    """Check and change records as the options say.

    ``values``: as they came, or as `decoded` returns them from another ``encoding``.
    ``unit``: the word for a record in messages.
    """
    limit = options.max_record_bytes
    faults = _too_large(values, DEFAULT_MAX_RECORD_BYTES if limit is None else limit)
    if options.keeps_bytes:
        return Cleaned(values, faults, {})
    if faults:
        values = _with(values, sorted(faults), [b""] * len(faults))
    left_out: dict[int, str] = {}
    replaced: list[int] = []
    if invalid := _invalid(values):
        texts = [values[index].as_py() for index in invalid]
        repaired = [b""] * len(invalid)
        if options.errors == "replace":
            repaired = [_replaced(text, encoding) for text in texts]
            replaced = invalid
        elif options.errors == "skip":
            left_out = dict.fromkeys(invalid, f"not {encoding}")
        else:
            reasons = (_invalid_fault(text, encoding, unit) for text in texts)
            faults |= zip(invalid, reasons, strict=True)
        values = _with(values, invalid, repaired)
    text = _changed(as_text(values), options)
    if options.min_chars is not None or options.max_chars is not None:
        lengths = np.asarray(pc.utf8_length(text))
        for index, word in _out_of_bounds(lengths, options).items():
            if index not in faults:
                left_out.setdefault(index, word)
    kept = (index for index in replaced if index not in faults and index not in left_out)
    return Cleaned(text.cast(pa.large_binary()), faults, left_out, tuple(kept))


def repair_text(encoding: str, number: int = 1, unit: str = "record") -> str:
    """Return what the report says of records in which something was replaced."""
    where = f" in {counted(number, unit)}, of which this is the first" if number > 1 else ""
    name = "UTF-8" if encoding == "utf-8" else encoding
    return f"what is no text in {name} was replaced with U+FFFD{where}"


def _too_large(values: pa.LargeBinaryArray, limit: int) -> dict[int, str]:
    lengths = np.asarray(pc.binary_length(values))
    return {
        index: f"must have at most {counted(limit, 'byte')} (it has {int(lengths[index]):,}); "
        "raise max_record_bytes, or split it"
        for index in np.flatnonzero(lengths > limit).tolist()
    }


def _invalid(values: pa.LargeBinaryArray) -> list[int]:
    """Return which values are no UTF-8."""
    try:
        values.cast(pa.large_string())
    except pa.ArrowInvalid:  # which does not say where
        pass
    else:
        return []
    if len(values) > _FEW_RECORDS:
        half = len(values) // 2
        behind = _invalid(values.slice(half))
        return _invalid(values.slice(0, half)) + [half + index for index in behind]
    # A loop over a few records, near one that is invalid: an Arrow call each takes longer.
    return [
        index for index, value in enumerate(values.to_pylist()) if _first_invalid(value) is not None
    ]


def _first_invalid(value: bytes) -> int | None:
    try:
        value.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _invalid_fault(value: bytes, encoding: str, unit: str) -> str:
    start = _first_invalid(value)
    assert start is not None
    if encoding == "utf-8":
        return (
            f"must be UTF-8 text (byte {start + 1:,} of the {unit}, 0x{value[start]:02x}, is none); "
            "use --encoding such as cp1252, or --errors replace"
        )
    character = len(value[:start].decode()) + 1
    return (
        f"must be text in {encoding} (character {character:,} of the {unit} is none); "
        "use another --encoding, or --errors replace"
    )


def _replaced(value: bytes, encoding: str) -> bytes:
    """Return the text with U+FFFD for what is none."""
    if encoding != "utf-8":
        value = _SURROGATE.sub(_REPLACEMENT, value)
    return value.decode("utf-8", "replace").encode()


def _with(
    values: pa.LargeBinaryArray, indices: Sequence[int], others: Sequence[bytes]
) -> pa.LargeBinaryArray:
    """Return the values with others at the indices, which are sorted."""
    mask = np.zeros(len(values), np.bool_)
    mask[list(indices)] = True
    return pc.replace_with_mask(values, pa.array(mask), pa.array(others, values.type))


def _changed(text: pa.LargeStringArray, options: TextOptions) -> pa.LargeStringArray:
    if options.normalize is not None:
        text = _normalized(text, options.normalize)
    if options.strip:
        text = pc.utf8_trim_whitespace(text)
    if options.lowercase:
        text = pc.utf8_lower(text)
    return text


def _normalized(
    text: pa.LargeStringArray, form: Literal["NFC", "NFD", "NFKC", "NFKD"]
) -> pa.LargeStringArray:
    """Return the texts in a Unicode normal form; ASCII is in all of them.

    A loop over the others: Arrow's utf8_normalize does not compose (apache/arrow#51225,
    up to version 25), and is slower.
    """
    is_other = pc.invert(pc.string_is_ascii(text))
    others = text.filter(is_other).to_pylist()
    if not others:
        return text
    normal = [unicodedata.normalize(form, other) for other in others]
    return pc.replace_with_mask(text, is_other, pa.array(normal, text.type))


def _out_of_bounds(lengths: NDArray[np.int64], options: TextOptions) -> dict[int, str]:
    found: dict[int, str] = {}
    if options.max_chars is not None:
        found |= dict.fromkeys(np.flatnonzero(lengths > options.max_chars).tolist(), "too long")
    if options.min_chars is not None:
        found |= dict.fromkeys(np.flatnonzero(lengths < options.min_chars).tolist(), "too short")
    return found


def decoded(data: bytes, encoding: str) -> bytes:
    """Return text of an encoding as UTF-8, with a MARKER for each sequence that is none.

    UTF-8 is returned as it is.
    """
    if encoding == "utf-8":
        return data
    return data.decode(encoding, _MARKING).encode("utf-8", "surrogatepass")


class MarkingDecoder:
    """Does what `decoded` does for content that comes piece by piece."""

    def __init__(self, encoding: str) -> None:
        self._encoding = codecs.lookup(encoding).name
        self._decoder = codecs.getincrementaldecoder(encoding)(_MARKING)

    def decode(self, data: bytes, *, final: bool) -> bytes:
        """Return what the piece adds; a character cut by the end of all is one MARKER."""
        if self._encoding == "utf-8":
            return data
        try:
            text = self._decoder.decode(data, final)
        except UnicodeError:
            # Without a byte order mark UTF-16 and UTF-32 are little-endian, as for `decoded`.
            pending = self._decoder.getstate()[0]
            self._decoder = codecs.getincrementaldecoder(f"{self._encoding}-le")(_MARKING)
            text = self._decoder.decode(pending + data, final)
        return text.encode("utf-8", "surrogatepass")


def incremental_decoder(encoding: str) -> MarkingDecoder:
    """Return a decoder of a stream; see `decoded`."""
    return MarkingDecoder(encoding)


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\udcff", error.end


codecs.register_error(_MARKING, _mark)
