"""``splits:`` of a schema: how records are divided when folders do not say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from tfrec_tools.errors import RequestError
from tfrec_tools.schema.options import WRITTEN_IF_GIVEN
from tfrec_tools.shard_names import check_split_name


def exact_ratio(value: float | str) -> Fraction:
    """Return the ratio that was written down: ``0.1`` is one tenth, not its nearest double."""
    try:
        ratio = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"a ratio must be a number such as 0.8 (got {value!r})") from None
    if not 0 < ratio <= 1:
        raise ValueError(f"a ratio must be above 0 and at most 1 (got {value})")
    return ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitsSpec:
    """The wish; either ``ratios`` (with ``by`` or ``stratify``) or ``files``.

    ``ratios``: share per split, in order, summing to 1. ``by``: records with an equal value
    of this column share a split. ``stratify``: every class of this feature is divided in
    these ratios. ``files``: glob patterns of paths per split. ``method``: by ``hash``, or
    the source in its ``order`` cut by the ratios: the first split takes its beginning.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    ratios: Mapping[str, float | str] | None = None
    by: str | None = None
    stratify: str | None = None
    files: Mapping[str, tuple[str, ...]] | None = None
    method: Literal["hash", "order"] = field(default="hash", metadata=WRITTEN_IF_GIVEN)

    def __post_init__(self) -> None:
        """Refuse combinations that contradict each other."""
        if (self.ratios is None) == (self.files is None):
            raise ValueError("must have either ratios or files")
        if self.files is not None and (self.by or self.stratify):
            raise ValueError("`by` and `stratify` go with ratios, not with files")
        if self.by and self.stratify:
            raise ValueError(
                "`by` keeps groups together and `stratify` cuts through them: give one of them"
            )
        if self.method == "order" and self.files is not None:
            raise ValueError("`method: order` goes with ratios, not with files")
        if self.method == "order" and (self.by or self.stratify):
            raise ValueError(
                "`method: order` cuts the source in its order: give it, or `by` or `stratify`"
            )
        names = list(self.ratios or self.files or ())
        if not names:
            raise ValueError("must name at least one split")
        try:
            for name in names:
                check_split_name(name)
        except RequestError as error:
            raise ValueError(str(error)) from None
        if self.ratios is not None:
            total = sum(self.exact_ratios.values())
            if total != 1:
                raise ValueError(f"ratios must sum to 1 (they sum to {float(total):g})")

    @property
    def exact_ratios(self) -> dict[str, Fraction]:
        """The ratios as fractions, in the order given."""
        return {name: exact_ratio(value) for name, value in (self.ratios or {}).items()}
