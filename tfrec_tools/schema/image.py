"""``kind: image``: a picture, stored as JPEG or PNG file bytes, or as raw pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tfrec_tools.schema.columns import StoredColumn, StoredType

DEFAULT_MAX_PIXELS = 100_000_000
"""Pictures with more pixels are rejected before any pixel is allocated (300 MB as RGB)."""

DEFAULT_JPEG_QUALITY = 95


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """A target size in pixels: by one side (the aspect ratio is kept), or exact.

    Sides are not enlarged unless ``enlarge`` is set; an exact size is always reached.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    shorter_side: int | None = None
    longer_side: int | None = None
    height: int | None = None
    width: int | None = None
    enlarge: bool = False
    resample: Literal["nearest", "bilinear", "bicubic", "lanczos"] = "bilinear"

    def __post_init__(self) -> None:
        """Refuse a size that is not exactly one of the three forms."""
        sides = (self.shorter_side, self.longer_side, self.height, self.width)
        if any(side is not None and side < 1 for side in sides):
            raise ValueError("sizes must be at least 1 pixel")
        given = [
            self.shorter_side is not None,
            self.longer_side is not None,
            self.height is not None or self.width is not None,
        ]
        if sum(given) != 1 or (self.height is None) != (self.width is None):
            raise ValueError("must give shorter_side, or longer_side, or both height and width")

    @property
    def exact_size(self) -> tuple[int, int] | None:
        """Height and width, if these are the same for every picture."""
        if self.height is None or self.width is None:
            return None
        return self.height, self.width

    def target_size(self, height: int, width: int) -> tuple[int, int]:
        """Return height and width of a picture after resizing."""
        if self.height is not None and self.width is not None:
            return self.height, self.width
        if self.shorter_side is not None:
            side, wanted = min(height, width), self.shorter_side
        else:
            assert self.longer_side is not None
            side, wanted = max(height, width), self.longer_side
        if wanted >= side and not self.enlarge:
            return height, width

        def scaled(length: int) -> int:
            # Integers only, rounded half up: floats could differ between machines.
            return max(1, (2 * length * wanted + side) // (2 * side))

        return scaled(height), scaled(width)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageEncoding:
    """How pictures are stored instead of as they came."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    format: Literal["jpeg", "png", "raw"]
    quality: int = DEFAULT_JPEG_QUALITY
    subsampling: Literal["4:4:4", "4:2:2", "4:2:0"] = "4:2:0"

    def __post_init__(self) -> None:
        """Refuse a quality that JPEG does not have."""
        if not 1 <= self.quality <= 100:
            raise ValueError(f"quality must be 1 to 100 (got {self.quality})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFeature:
    """A picture: uint8 [height, width, channels] when decoded.

    Without ``resize`` and ``encode``, files that every decoder reads alike keep their bytes.
    ``exif``, ``alpha`` and ``depth`` say what happens to the others. ``root``: the folder,
    relative to the source, of the files that the column ``from_`` of a table names.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["image"] = "image"
    from_: str | None = None
    target: bool = False
    channels: Literal[1, 3] = 3
    resize: Resize | None = None
    encode: ImageEncoding | None = None
    exif: Literal["turn", "keep", "png"] = "turn"
    alpha: Literal["white", "drop", "error"] = "white"
    depth: Literal[8] | None = None
    max_pixels: int = field(default=DEFAULT_MAX_PIXELS)
    root: str | None = None

    def __post_init__(self) -> None:
        """Refuse raw pixels of unknown size, which no reader could give a static shape."""
        if self.max_pixels < 1:
            raise ValueError(f"max_pixels must be at least 1 (got {self.max_pixels})")
        if self.is_raw and (self.resize is None or self.resize.exact_size is None):
            raise ValueError(
                "encode: raw needs resize: {height: H, width: W}, so that all pictures have one size"
            )

    @property
    def is_raw(self) -> bool:
        """Whether pixels are stored, uint8 in [height, width, channels] order."""
        return self.encode is not None and self.encode.format == "raw"

    @property
    def recodes(self) -> bool:
        """Whether the schema asks for other bytes than those of the file."""
        return self.resize is not None or self.encode is not None

    @property
    def raw_shape(self) -> tuple[int, int, int] | None:
        """The shape of stored pixels, where pixels are stored."""
        if not self.is_raw or self.resize is None or self.resize.exact_size is None:
            return None
        return (*self.resize.exact_size, self.channels)

    def stored(self, name: str) -> tuple[StoredColumn, ...]:
        """Return the columns: the bytes, then height and width as they are stored."""
        return (
            StoredColumn(name, StoredType.BYTES),
            StoredColumn(f"{name}_height", StoredType.INT64),
            StoredColumn(f"{name}_width", StoredType.INT64),
        )
