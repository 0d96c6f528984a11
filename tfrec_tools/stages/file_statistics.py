"""What is counted of images: partial statistics per block, merged per shard and split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tfrec_tools.plan import Plan
from tfrec_tools.schema import ClassLabelFeature, TextFeature


def block_statistics(
    plan: Plan, columns: Mapping[str, Any], formats: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Count pictures, and of image folders labels and texts; sums become means at the end."""
    statistics: dict[str, Any] = {}
    is_images = plan.request.source.kind == "images"
    for name, feature in plan.schema.features.items():
        if name in formats:
            heights, widths = (
                np.asarray(columns[f"{name}_{side}"]) for side in ("height", "width")
            )
            statistics[name] = {
                "values": len(heights),
                "formats": dict(sorted(Counter(formats[name]).items())),
            }
            if len(heights):
                statistics[name] |= {
                    "max_shorter_side": int(np.minimum(heights, widths).max()),
                    "min_height": int(heights.min()),
                    "max_height": int(heights.max()),
                    "sum_height": int(heights.sum()),
                    "min_width": int(widths.min()),
                    "max_width": int(widths.max()),
                    "sum_width": int(widths.sum()),
                }
        elif is_images and isinstance(feature, ClassLabelFeature):
            counts = feature.count(columns[name])
            statistics[name] = {"values": sum(counts), "counts": counts}
        elif is_images and isinstance(feature, TextFeature) and len(columns[name]):
            text = columns[name].cast(pa.large_binary()).view(pa.large_string())
            lengths = np.asarray(pc.utf8_length(text), dtype=np.int64)
            statistics[name] = {
                "values": len(lengths),
                "min_length": int(lengths.min()),
                "max_length": int(lengths.max()),
                "sum_length": int(lengths.sum()),
            }
    return statistics


def merged_statistics(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the statistics of several blocks or shards together; the order does not matter."""
    merged: dict[str, Any] = {}
    for part in parts:
        for name, found in part.items():
            into = merged.setdefault(name, {})
            for key, value in found.items():
                if key == "counts":
                    before = into.get(key, [0] * len(value))
                    into[key] = [a + b for a, b in zip(before, value, strict=True)]
                elif key == "formats":
                    counts = Counter(into.get(key, {}))
                    counts.update(value)
                    into[key] = dict(sorted(counts.items()))
                elif key == "values" or key.startswith("sum_"):
                    into[key] = into.get(key, 0) + value
                else:
                    choose = min if key.startswith("min_") else max
                    into[key] = choose(into[key], value) if key in into else value
    return {name: dict(sorted(found.items())) for name, found in sorted(merged.items())}


def with_means(statistics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return merged statistics as the manifest holds them: means in place of sums."""
    return {
        name: dict(
            sorted(
                (f"mean_{key.removeprefix('sum_')}", value / found["values"])
                if key.startswith("sum_")
                else (key, value)
                for key, value in found.items()
            )
        )
        for name, found in statistics.items()
    }
