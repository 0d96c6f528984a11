"""What is said about plans and finished datasets: text from values, nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tfrec_tools.errors import counted, listed
from tfrec_tools.layout import nouns_of
from tfrec_tools.manifest import Manifest, left_out_text
from tfrec_tools.schema import ClassLabelFeature, ImageFeature, TokensFeature

if TYPE_CHECKING:
    from tfrec_tools.local_engine import Placed
    from tfrec_tools.plan import Plan
    from tfrec_tools.request import SourceKind
    from tfrec_tools.schema import Schema

MAX_SHOWN_CLASSES = 20


def bytes_text(num_bytes: int) -> str:
    """Return a size for people: ``812 B``, ``4.1 MB``."""
    size = float(num_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return rows as lines with columns of equal width; all but the first are right-aligned."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def ignored_text(ignored: dict[str, int]) -> str:
    """Return which files were passed over, by extension."""
    return listed([f"{number} {extension}" for extension, number in ignored.items()])


def manifest_summary(manifest: Manifest, output: str, kind: SourceKind | None = None) -> str:
    """Return what was written, and how it is read. ``kind``: of the source, which words depend on."""
    rows = [("split", "records", "shards", "size")]
    rows += [
        (
            split.name,
            f"{split.num_records:,}",
            f"{len(split.shards):,}",
            bytes_text(split.num_bytes),
        )
        for split in manifest.splits
    ]
    lines = [
        f"Wrote {counted(manifest.num_records, 'record')} to {output}",
        *_indented(aligned(rows)),
    ]
    if not manifest.schema.features_of(ImageFeature):
        lines += _indented(feature_lines(manifest.schema))
    for name, feature in manifest.schema.features_of(ClassLabelFeature).items():
        names = feature.names or ()
        lines.append(
            f"{name}: {counted(len(names), 'class', 'classes')} ({listed(names, limit=6)})"
        )
        lines += [f"Note: {text}" for text in _missing_classes(manifest, name)]
    lines += _token_lines(manifest.schema)
    if manifest.num_rejected:
        lines.append(f"Rejected {counted(manifest.num_rejected, 'input')}, listed in report.jsonl")
    if manifest.left_out:
        number = counted(sum(manifest.left_out.values()), "record")
        lines.append(f"Left out {number}: {left_out_text(manifest.left_out)}")
    if manifest.num_dropped_tokens:
        lines.append(f"Dropped {counted(manifest.num_dropped_tokens, 'token')} of remainders")
    if manifest.ignored:
        has_images = kind == "images" or manifest.schema.features_of(ImageFeature)
        what = nouns_of(kind).files if kind == "text" else "images" if has_images else "tables"
        lines.append(f"Ignored files that are no {what}: {ignored_text(dict(manifest.ignored))}")
    if len(manifest.splits) == 1:
        lines.append("All records are in one split; --splits train=0.9,test=0.1 would divide them.")
    first = manifest.splits[0]
    size = ", image_size=(224, 224)" if _sizes_differ(manifest) else ""
    lines.append(f'Read it with: tfrec_tools.reader.load("{output}", split="{first.name}"{size})')
    return "\n".join(lines)


def _token_lines(schema: Schema) -> list[str]:
    """Return how large vocabularies are, and which tokens are not stored."""
    lines = []
    for name, feature in schema.features_of(TokensFeature).items():
        if isinstance(feature.vocabulary, tuple):
            lines.append(f"{name}: a vocabulary of {counted(len(feature.vocabulary), 'word')}")
        if feature.cuts_records:
            lines.append(
                f"Note: {name} holds at most {counted(feature.max_length or 0, 'token')} of a "
                "record; those behind are cut off (truncate)"
            )
    return lines


def _sizes_differ(manifest: Manifest) -> bool:
    """Say whether pictures have to be resized to make up batches."""
    sizes = {
        (found[f"{bound}_height"], found[f"{bound}_width"])
        for split in manifest.splits
        for found in split.statistics.values()
        if "max_height" in found
        for bound in ("min", "max")
    }
    return len(sizes) > 1


def _missing_classes(manifest: Manifest, feature: str) -> list[str]:
    notes = []
    for split in manifest.splits:
        counts = manifest.class_counts(split.name, feature)
        missing = [name for name, number in counts.items() if not number]
        if missing:
            notes.append(f"split {split.name!r} has no records of {listed(missing, limit=5)}")
    return notes


def plan_summary(placed: Placed) -> str:
    """Return what a conversion would write: splits, shards, sizes and classes."""
    plan = placed.plan
    nouns = nouns_of(plan.request.source.kind)
    split = placed.files.column("split").to_numpy()
    sizes = placed.files.column("num_bytes").to_numpy()
    rows = [("split", "records", "shards", "source size")]
    for index, name in enumerate(plan.splits.names):
        here = split == index
        size = bytes_text(int(sizes[here].sum()))
        rows.append((name, f"{int(here.sum()):,}", f"{plan.num_shards[index]:,}", size))
    lines = [
        f"Would convert {counted(plan.num_files, nouns.one)} ({bytes_text(plan.num_bytes)}) of "
        f"{plan.request.source.root} to dataset {plan.name!r} in {plan.request.output}",
        *_indented(aligned(rows)),
        *_class_lines(placed, split),
    ]
    lines += [f"Note: {note}" for note in plan.layout.notes]
    if plan.ignored:
        lines.append(
            f"Ignoring files that are no {nouns.files}: {ignored_text(dict(plan.ignored))}"
        )
    lines.append(f"Plan {plan.fingerprint()}; nothing was written")
    return "\n".join(lines)


def table_summary(plan: Plan) -> str:
    """Return what a conversion of a table would write: splits, shards, features."""
    rows = [("split", "shards")]
    rows += [
        (name, f"{number:,}")
        for name, number in zip(plan.splits.names, plan.num_shards, strict=True)
    ]
    lines = [
        f"Would convert {counted(plan.num_files, 'record')} ({bytes_text(plan.num_bytes)}) of "
        f"{plan.request.source.root} to dataset {plan.name!r} in {plan.request.output}",
        *_indented(aligned(rows)),
        *_indented(feature_lines(plan.schema)),
    ]
    lines += [f"Note: {note}" for note in plan.layout.notes]
    if plan.ignored:
        what = "text files" if plan.request.source.kind == "text" else "tables"
        lines.append(f"Ignoring files that are no {what}: {ignored_text(dict(plan.ignored))}")
    lines.append(f"Plan {plan.fingerprint()}; nothing was written")
    return "\n".join(lines)


def feature_lines(schema: Schema) -> list[str]:
    """Return one line per kind of feature, with the features' names."""
    by_kind: dict[str, list[str]] = {}
    for name, feature in schema.features.items():
        by_kind.setdefault(feature.kind, []).append(name)
    return [f"{kind}: {listed(names, limit=12)}" for kind, names in by_kind.items()]


def _class_lines(placed: Placed, split: np.ndarray) -> list[str]:
    plan = placed.plan
    if plan.layout.label_depth is None:
        return []
    names = next(iter(plan.schema.features_of(ClassLabelFeature).values())).names or ()
    folders = placed.files.column("folder").combine_chunks()
    labels = [plan.layout.label(folder) for folder in folders.dictionary.to_pylist()]
    index_of = {name.encode(): index for index, name in enumerate(names)}
    per_folder = np.array([index_of.get(label, -1) for label in labels], dtype=np.int32)
    class_of = per_folder[np.asarray(folders.indices)]
    rows = [("class", *plan.splits.names)]
    for index, name in enumerate(names[:MAX_SHOWN_CLASSES]):
        counts = np.bincount(split[class_of == index], minlength=len(plan.splits.names))
        rows.append((name, *(f"{count:,}" for count in counts)))
    more = len(names) - MAX_SHOWN_CLASSES
    lines = _indented(aligned(rows))
    return [*lines, f"  … and {more} more classes"] if more > 0 else lines


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
