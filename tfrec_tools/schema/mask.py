"""``kind: mask``: one whole number per pixel, kept exactly, stored as a grey PNG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tfrec_tools.schema.columns import StoredColumn, StoredType
from tfrec_tools.schema.image import DEFAULT_MAX_PIXELS, Resize


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskFeature:
    """Class or instance numbers per pixel: uint8 or uint16 [height, width, 1] when decoded.

    Palette indices and 16-bit values are the values; nothing is scaled. ``from_`` is a path
    pattern relative to the source root, such as ``../masks/{stem}.png``.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    from_: str
    kind: Literal["mask"] = "mask"
    target: bool = False
    dtype: Literal["uint8", "uint16"] = "uint8"
    resize: Resize | None = None
    max_pixels: int = DEFAULT_MAX_PIXELS

    def __post_init__(self) -> None:
        """Refuse what would invent values between two classes."""
        if "{" not in self.from_:
            raise ValueError(
                f"from must be a path pattern such as '../masks/{{stem}}.png' (got {self.from_!r})"
            )
        if self.resize is not None and self.resize.resample not in ("nearest", "bilinear"):
            raise ValueError("a mask is always resized with resample: nearest")

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the columns: the PNG's bytes, then its height and width."""
        return (
            StoredColumn(name, StoredType.BYTES),
            StoredColumn(f"{name}_height", StoredType.INT64),
            StoredColumn(f"{name}_width", StoredType.INT64),
        )
