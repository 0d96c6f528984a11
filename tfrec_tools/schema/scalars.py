"""``text``, ``bytes``, ``int64``, ``float32``, ``bool``: one value per record.

Values come from a column of the source, as text. Only what is written exactly in one way
is a number: ``02134``, ``1_000``, ``0x1F``, ``nan`` and Arabic digits are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.errors import clipped
from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.encoded import EncodedColumn

_INT64_PATTERN = r"^(0|-?[1-9][0-9]{0,18})$"
_FLOAT_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_TRUE = ("true", "1", "yes")
_FALSE = ("false", "0", "no")


def _faults(values: pa.Array, wrong: pa.Array, what: str) -> dict[int, str]:
    return {
        index: f"must be {what} (got {clipped(values[index].as_py())})"
        for index in pc.indices_nonzero(wrong).to_pylist()
    }


def _readable_text(values: pa.Array) -> pa.Array:
    """Return the bytes as text; what is no UTF-8 becomes text that no pattern matches."""
    try:
        return values.cast(pa.large_binary()).cast(pa.large_string())
    except pa.ArrowInvalid:
        return pa.array(
            [
                None if value is None else value.decode("utf-8", "backslashreplace")
                for value in values.to_pylist()
            ],
            type=pa.large_string(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFeature:
    """UTF-8 text, from a column or from a file beside the record (a path pattern)."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["text"] = "text"
    from_: str | None = None
    target: bool = False

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.BYTES),)

    def encode(self, values: pa.Array) -> EncodedColumn:
        """Keep the bytes (binary [n]); what is no UTF-8 is a fault."""
        binary = values.cast(pa.large_binary())
        try:
            binary.cast(pa.large_string())
        except pa.ArrowInvalid:
            return EncodedColumn(binary, _not_utf8(binary))
        return EncodedColumn(binary)


def _not_utf8(values: pa.Array) -> dict[int, str]:
    faults = {}
    for index, value in enumerate(values.to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError as error:
            faults[index] = f"must be UTF-8 text (byte {error.start} is none); use kind: bytes"
    return faults


@dataclass(frozen=True, slots=True, kw_only=True)
class BytesFeature:
    """Bytes as they are, from a column or from a file beside the record (a path pattern)."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["bytes"] = "bytes"
    from_: str | None = None
    target: bool = False

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.BYTES),)

    def encode(self, values: pa.Array) -> EncodedColumn:
        """Keep the bytes (binary [n])."""
        return EncodedColumn(values.cast(pa.large_binary()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Int64Feature:
    """A whole number of 64 bits."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["int64"] = "int64"
    from_: str | None = None
    target: bool = False

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64),)

    def encode(self, values: pa.Array) -> EncodedColumn:
        """Parse decimal numbers (binary [n]) to int64."""
        if pa.types.is_integer(values.type):
            return EncodedColumn(values.cast(pa.int64()))
        text = _readable_text(values)
        wrong = pc.invert(pc.match_substring_regex(text, _INT64_PATTERN))
        # Nineteen digits may still be too large: a decimal comparison decides exactly.
        digits = pc.if_else(wrong, "0", text)
        wide = digits.cast(pa.decimal128(20, 0))
        outside = pc.or_(
            pc.greater(wide, pa.scalar((1 << 63) - 1, pa.decimal128(20, 0))),
            pc.less(wide, pa.scalar(-(1 << 63), pa.decimal128(20, 0))),
        )
        wrong = pc.or_(wrong, outside)
        numbers = pc.if_else(wrong, "0", text).cast(pa.int64())
        return EncodedColumn(numbers, _faults(text, wrong, "a whole number of 64 bits"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Float32Feature:
    """A number of 32 bits."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["float32"] = "float32"
    from_: str | None = None
    target: bool = False

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.FLOAT32),)

    def encode(self, values: pa.Array) -> EncodedColumn:
        """Parse decimal numbers (binary [n]) to the nearest float32."""
        if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
            return EncodedColumn(values.cast(pa.float32(), safe=False))
        text = _readable_text(values)
        wrong = pc.invert(pc.match_substring_regex(text, _FLOAT_PATTERN))
        plain = pc.replace_substring_regex(pc.if_else(wrong, "0", text), r"^\+", "")
        numbers = plain.cast(pa.float32())
        too_large = pc.is_inf(numbers)
        faults = _faults(text, wrong, "a decimal number")
        faults |= _faults(text, too_large, "a number that 32 bits can hold")
        return EncodedColumn(numbers, faults)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoolFeature:
    """True or false, stored as 1 or 0."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["bool"] = "bool"
    from_: str | None = None
    target: bool = False

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the one column."""
        return (StoredColumn(name, StoredType.INT64),)

    def encode(self, values: pa.Array) -> EncodedColumn:
        """Parse true/false, yes/no and 1/0 in any case (binary [n]) to int64 1 and 0."""
        text = _readable_text(values)
        lower = pc.utf8_lower(text)
        true = pc.is_in(lower, value_set=pa.array(_TRUE, lower.type))
        false = pc.is_in(lower, value_set=pa.array(_FALSE, lower.type))
        wrong = pc.invert(pc.or_(true, false))
        wrong = pc.and_(wrong, text.is_valid())
        numbers = pc.if_else(text.is_valid(), true.cast(pa.int64()), pa.scalar(None, pa.int64()))
        return EncodedColumn(numbers, _faults(text, wrong, "true or false, yes or no, 1 or 0"))
