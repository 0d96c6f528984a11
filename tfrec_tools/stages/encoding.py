"""The stage that turns listed files and their contents into payload columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tfrec_tools import images
from tfrec_tools.errors import RecordError
from tfrec_tools.example_codec import ExternalBytes
from tfrec_tools.plan import Plan
from tfrec_tools.records import Action, ReportEntry, path_text
from tfrec_tools.schema import (
    BytesFeature,
    ClassLabelFeature,
    Feature,
    ImageFeature,
    MaskFeature,
    TextFeature,
    is_path_pattern,
)
from tfrec_tools.sources import image_folder
from tfrec_tools.storage import Storage, reason_of


@dataclass(slots=True)
class EncodedBlock:
    """Columns of the records that fit; bytes of external columns per record; what to report."""

    columns: dict[str, pa.Array | ExternalBytes]
    contents: dict[str, list[bytes]]
    entries: list[ReportEntry]
    statistics: dict[str, Any]
    num_records: int
    recoded: bool = False


@dataclass(slots=True)
class _Block:
    """State while one block of records is encoded; ``faults`` by index in the block."""

    plan: Plan
    keys: Sequence[bytes]
    faults: dict[int, ReportEntry] = field(default_factory=dict)
    entries: list[ReportEntry] = field(default_factory=list)
    columns: dict[str, pa.Array] = field(default_factory=dict)
    contents: dict[str, list[bytes]] = field(default_factory=dict)
    formats: dict[str, list[str]] = field(default_factory=dict)
    source_sizes: dict[str, list[tuple[int, int] | None]] = field(default_factory=dict)
    recoded: bool = False

    def reject(self, index: int, reason: str, *, unreadable: bool = False) -> None:
        """Leave a record out; its first fault is the one that is reported."""
        if index not in self.faults:
            path = path_text(self.keys[index])
            self.faults[index] = ReportEntry(path, Action.SKIPPED.value, reason, unreadable)


def encode_block(
    plan: Plan, storage: Storage, keys: Sequence[bytes], sizes: Sequence[int]
) -> EncodedBlock:
    """Read and encode the listed files with these keys and listed sizes in bytes."""
    block = _Block(plan, keys)
    for name, feature in plan.schema.features.items():
        if isinstance(feature, (ImageFeature, MaskFeature)):
            _encode_images(block, storage, name, feature, sizes)
        elif is_path_pattern(feature):
            _encode_files(block, storage, name, feature)
        else:
            _encode_column(block, name, feature)
    _check_mask_sizes(block)
    return _finished(block)


def _encode_column(block: _Block, name: str, feature: Feature) -> None:
    default = "label" if isinstance(feature, ClassLabelFeature) else name
    column = feature.from_ or default
    values = image_folder.source_column(column, list(block.keys), block.plan.layout)
    assert not isinstance(feature, (ImageFeature, MaskFeature))
    encoded = feature.encode(values)
    for index, reason in encoded.faults.items():
        if column == "label" and not values[index].as_py():
            block.reject(index, "must lie in a class folder")
        else:
            block.reject(index, f"{name}: {reason}")
    block.columns[name] = encoded.values


def _contents(
    block: _Block, storage: Storage, feature: Feature, sizes: Sequence[int] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (index, content) of the file that each record refers to; reject what cannot be read."""
    paths: dict[int, bytes] = {}
    for index, key in enumerate(block.keys):
        if not is_path_pattern(feature):
            paths[index] = key
            continue
        pattern = feature.from_ or ""
        path = image_folder.referenced_path(pattern, key, block.plan.layout)
        if path is None:
            block.reject(index, f"a file it refers to must lie below the root of {pattern!r}")
        else:
            paths[index] = path
    contents = storage.read_many(list(paths.values()), sizes)
    for (index, path), content in zip(paths.items(), contents, strict=True):
        if isinstance(content, bytes):
            yield index, content
        elif is_path_pattern(feature):
            what = (
                "is missing"
                if isinstance(content, FileNotFoundError)
                else (f"could not be read ({reason_of(content)})")
            )
            block.reject(index, f"its file {path_text(path)} {what}", unreadable=True)
        else:
            block.reject(index, f"could not be read ({reason_of(content)})", unreadable=True)


def _encode_images(
    block: _Block,
    storage: Storage,
    name: str,
    feature: ImageFeature | MaskFeature,
    sizes: Sequence[int],
) -> None:
    check = block.plan.request.check
    number = len(block.keys)
    prepare: partial[images.PreparedImage]
    if isinstance(feature, MaskFeature):
        prepare = partial(images.prepare_mask, feature=feature, check=check)
    else:
        prepare = partial(images.prepare_image, feature=feature, check=check)
    contents: list[bytes] = [b""] * number
    formats = [""] * number
    shown: list[tuple[int, int] | None] = [None] * number
    heights, widths = np.zeros(number, np.int64), np.zeros(number, np.int64)
    listed = not is_path_pattern(feature)
    # A loop over records: each picture is one call of a library, nothing is shared.
    for index, content in _contents(block, storage, feature, sizes if listed else None):
        if listed and len(content) != sizes[index]:
            block.reject(
                index,
                f"changed while it was converted ({sizes[index]} bytes when listed, "
                f"{len(content)} when read)",
                unreadable=True,
            )
            continue
        try:
            prepared = prepare(content)
        except RecordError as error:
            block.reject(index, f"{error}" if listed else f"{name}: {error}")
            continue
        contents[index] = prepared.content
        formats[index] = prepared.format
        heights[index], widths[index] = prepared.height, prepared.width
        shown[index] = prepared.source_size
        block.recoded |= prepared.recoded
        if prepared.remarks:
            path = path_text(block.keys[index])
            block.entries += [
                ReportEntry(path, action.value, reason if listed else f"{name}: {reason}")
                for action, reason in prepared.remarks
            ]
    block.contents[name] = contents
    block.formats[name] = formats
    block.source_sizes[name] = shown
    block.columns[f"{name}_height"] = pa.array(heights)
    block.columns[f"{name}_width"] = pa.array(widths)


def _encode_files(block: _Block, storage: Storage, name: str, feature: Feature) -> None:
    values: list[bytes] = [b""] * len(block.keys)
    for index, content in _contents(block, storage, feature):
        values[index] = content
    assert isinstance(feature, (TextFeature, BytesFeature))
    encoded = feature.encode(pa.array(values, type=pa.large_binary()))
    for index, reason in encoded.faults.items():
        block.reject(index, f"{name}: {reason}")
    block.columns[name] = encoded.values


def _check_mask_sizes(block: _Block) -> None:
    """Reject a record whose mask has not the size of its picture."""
    schema = block.plan.schema
    image = next(n for n, f in schema.features_of(ImageFeature).items() if f.from_ is None)
    for mask in schema.features_of(MaskFeature):
        pairs = zip(block.source_sizes[image], block.source_sizes[mask], strict=True)
        for index, (wanted, found) in enumerate(pairs):
            if wanted and found and wanted != found:
                block.reject(
                    index,
                    f"{mask}: must have the size of the picture, {wanted[1]} x {wanted[0]} "
                    f"(got {found[1]} x {found[0]})",
                )


def _finished(block: _Block) -> EncodedBlock:
    """Drop the rejected records, and count the others."""
    columns: dict[str, pa.Array | ExternalBytes] = dict(block.columns)
    contents, formats = block.contents, block.formats
    if block.faults:
        keep = [index for index in range(len(block.keys)) if index not in block.faults]
        columns = {
            name: column.take(pa.array(keep, pa.int64())) for name, column in block.columns.items()
        }
        contents = {name: [values[i] for i in keep] for name, values in contents.items()}
        formats = {name: [values[i] for i in keep] for name, values in formats.items()}
        rejected = {path_text(block.keys[index]) for index in block.faults}
        block.entries = [entry for entry in block.entries if entry.path not in rejected]
    statistics = _statistics(block.plan, columns, formats)
    for name, values in contents.items():
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        columns[name] = ExternalBytes(lengths)
    return EncodedBlock(
        columns=columns,
        contents=contents,
        entries=[*block.faults.values(), *block.entries],
        statistics=statistics,
        num_records=len(block.keys) - len(block.faults),
        recoded=block.recoded,
    )


def _statistics(
    plan: Plan, columns: Mapping[str, Any], formats: Mapping[str, list[str]]
) -> dict[str, Any]:
    statistics: dict[str, Any] = {}
    for name, feature in plan.schema.features.items():
        if isinstance(feature, ClassLabelFeature):
            statistics[name] = {"counts": feature.count(columns[name])}
        elif name in formats:
            heights, widths = (
                np.asarray(columns[f"{name}_{side}"]) for side in ("height", "width")
            )
            statistics[name] = {"formats": dict(sorted(Counter(formats[name]).items()))}
            if len(heights):
                statistics[name] |= {
                    "max_shorter_side": int(np.minimum(heights, widths).max()),
                    "min_height": int(heights.min()),
                    "max_height": int(heights.max()),
                    "min_width": int(widths.min()),
                    "max_width": int(widths.max()),
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
                else:
                    choose = min if key.startswith("min_") else max
                    into[key] = choose(into[key], value) if key in into else value
    return {name: dict(sorted(found.items())) for name, found in sorted(merged.items())}
