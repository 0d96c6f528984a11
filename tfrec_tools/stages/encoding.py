"""The stage that turns listed files and their contents into payload columns."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tfrec_tools import file_schema, images
from tfrec_tools.errors import RecordError
from tfrec_tools.example_codec import ExternalBytes
from tfrec_tools.plan import Plan
from tfrec_tools.records import Action, ReportEntry, path_text
from tfrec_tools.schema import (
    BytesFeature,
    Feature,
    ImageFeature,
    MaskFeature,
    TextFeature,
    TokensFeature,
    is_path_pattern,
)
from tfrec_tools.sources import documents, image_folder
from tfrec_tools.stages.file_statistics import block_statistics
from tfrec_tools.stages.tokenizing import encode_tokens
from tfrec_tools.statistics import ColumnStatistics
from tfrec_tools.storage import Storage, reason_of


@dataclass(slots=True)
class EncodedBlock:
    """Columns of the records that fit; bytes of external columns per record; what to report.

    ``num_bytes``: of the files that were read. ``cells``: statistics of the features of tables
    and documents. ``left_out``: how many records are not to be in the dataset, by the word
    that says why.
    """

    columns: dict[str, pa.Array | ExternalBytes]
    contents: dict[str, list[bytes]]
    entries: list[ReportEntry]
    statistics: dict[str, Any]
    num_records: int
    num_bytes: int = 0
    recoded: bool = False
    cells: dict[str, ColumnStatistics] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Block:
    """State while one block of records is encoded; ``faults`` by index in the block.

    ``left_out``: why a record is not to be in the dataset, by index; it cannot be at fault.

    ``place_of``: the report entry of a record by its index, without action and reason.
    ``remarks``: what else is to be reported of a record.
    """

    plan: Plan
    num_records: int
    place_of: Callable[[int], ReportEntry]
    faults: dict[int, ReportEntry] = field(default_factory=dict)
    left_out: Mapping[int, str] = field(default_factory=dict)
    remarks: list[tuple[int, ReportEntry]] = field(default_factory=list)
    columns: dict[str, pa.Array] = field(default_factory=dict)
    contents: dict[str, list[bytes]] = field(default_factory=dict)
    formats: dict[str, list[str]] = field(default_factory=dict)
    source_sizes: dict[str, list[tuple[int, int] | None]] = field(default_factory=dict)
    num_bytes: int = 0
    recoded: bool = False

    def reject(self, index: int, reason: str, *, unreadable: bool = False) -> None:
        """Leave a record out; its first fault is the one that is reported."""
        if index not in self.faults and index not in self.left_out:
            self.faults[index] = self.entry(index, Action.SKIPPED, reason, unreadable=unreadable)

    def entry(
        self, index: int, action: Action, reason: str, *, unreadable: bool = False
    ) -> ReportEntry:
        """Return what is to be reported of a record."""
        place = self.place_of(index)
        return dataclasses.replace(place, action=action.value, reason=reason, unreadable=unreadable)


def encode_block(
    plan: Plan, storage: Storage, keys: Sequence[bytes], sizes: Sequence[int]
) -> EncodedBlock:
    """Read and encode the listed files with these keys and listed sizes in bytes."""
    block = _Block(plan, len(keys), lambda index: ReportEntry(path_text(keys[index]), "", ""))
    is_text = plan.request.source.kind == "text"
    text = _read_texts(block, storage, keys, sizes) if is_text else None
    for name, feature in plan.schema.features.items():
        if isinstance(feature, (ImageFeature, MaskFeature)) or is_path_pattern(feature):
            beside = is_path_pattern(feature)
            paths = _pattern_paths(block, feature, keys) if beside else dict(enumerate(keys))
            contents = _contents(block, storage, paths, None if beside else sizes)
            if isinstance(feature, (ImageFeature, MaskFeature)):
                _encode_images(block, name, feature, contents, sizes=None if beside else sizes)
            else:
                _encode_files(block, name, feature, contents)
        elif text is not None and file_schema.column_of(name, feature) == file_schema.TEXT_COLUMN:
            _encode_text(block, name, feature, text)
        else:
            _encode_column(block, name, feature, keys)
    _check_mask_sizes(block)
    encoded = _finished(block)
    if is_text:
        _count_cells(plan, encoded, plan.schema.features)
    return encoded


def encode_references(
    plan: Plan,
    storage: Storage,
    columns: Mapping[str, pa.Array],
    paths: Mapping[str, Sequence[bytes]],
    place_of: Callable[[int, str], ReportEntry],
) -> EncodedBlock:
    """Read the files that records of a table name, and put them beside their encoded columns.

    ``paths``: per image feature the path of each record's file; ``place_of``: the report
    entry of a record by index and feature.
    """
    number = len(next(iter(paths.values())))
    block = _Block(plan, number, lambda index: place_of(index, ""), columns=dict(columns))
    for name, own in paths.items():
        feature = plan.schema.features[name]
        assert isinstance(feature, ImageFeature)
        block.place_of = functools.partial(_place_in, place_of, name)
        contents = _contents(block, storage, dict(enumerate(own)), None)
        _encode_images(block, name, feature, contents, shown=own)
    encoded = _finished(block)
    _count_cells(plan, encoded, columns)
    return encoded


def _count_cells(plan: Plan, encoded: EncodedBlock, names: Iterable[str]) -> None:
    for name in names:
        counted = encoded.cells.setdefault(name, ColumnStatistics())
        counted.add(plan.schema.features[name], encoded.columns[name])


def _place_in(place_of: Callable[[int, str], ReportEntry], name: str, index: int) -> ReportEntry:
    return place_of(index, name)


def _encode_column(block: _Block, name: str, feature: Feature, keys: Sequence[bytes]) -> None:
    column = file_schema.column_of(name, feature)
    values = image_folder.source_column(column, list(keys), block.plan.layout)
    assert not isinstance(feature, (ImageFeature, MaskFeature, TokensFeature))
    encoded = feature.encode(values)
    for index, reason in encoded.faults.items():
        if column == "label" and not values[index].as_py():
            block.reject(index, "must lie in a class folder")
        else:
            block.reject(index, f"{name}: {reason}")
    block.columns[name] = encoded.values


def _read_texts(
    block: _Block, storage: Storage, keys: Sequence[bytes], sizes: Sequence[int]
) -> pa.LargeBinaryArray:
    """Return the text of each document; reject those that do not fit, and set others apart."""
    contents: list[bytes] = [b""] * block.num_records
    for index, content in _contents(block, storage, dict(enumerate(keys)), sizes):
        if _is_as_listed(block, index, content, sizes):
            contents[index] = content
    texts = documents.texts_of(contents, block.plan.request.source.text)
    block.left_out = {i: word for i, word in texts.left_out.items() if i not in block.faults}
    for index, reason in texts.faults.items():
        block.reject(index, reason)
    for index, reason in texts.repaired.items():
        block.remarks.append((index, block.entry(index, Action.REPAIRED, reason)))
    return texts.values


def _encode_text(block: _Block, name: str, feature: Feature, text: pa.LargeBinaryArray) -> None:
    """Encode what is made of the text of documents."""
    if isinstance(feature, TokensFeature):
        encoded = encode_tokens(block.plan, name, text)
    else:
        assert isinstance(feature, (TextFeature, BytesFeature))
        encoded = feature.encode(text)
    for index, reason in encoded.faults.items():
        block.reject(index, f"{name}: {reason}")
    block.columns[name] = encoded.values


def _is_as_listed(block: _Block, index: int, content: bytes, sizes: Sequence[int]) -> bool:
    """Say whether a file has the size it was listed with; else reject it."""
    if len(content) == sizes[index]:
        return True
    block.reject(
        index,
        f"changed while it was converted ({sizes[index]} bytes when listed, "
        f"{len(content)} when read)",
        unreadable=True,
    )
    return False


def _pattern_paths(block: _Block, feature: Feature, keys: Sequence[bytes]) -> dict[int, bytes]:
    """Return the path of the file beside each record; reject those that leave their root."""
    paths: dict[int, bytes] = {}
    pattern = feature.from_ or ""
    for index, key in enumerate(keys):
        path = image_folder.referenced_path(pattern, key, block.plan.layout)
        if path is None:
            block.reject(index, f"a file it refers to must lie below the root of {pattern!r}")
        else:
            paths[index] = path
    return paths


def _contents(
    block: _Block,
    storage: Storage,
    paths: Mapping[int, bytes],
    sizes: Sequence[int] | None,
) -> Iterator[tuple[int, bytes]]:
    """Yield (index, content) of each file; reject what cannot be read.

    ``sizes``: as listed, where the files are the records themselves.
    """
    contents = storage.read_many(list(paths.values()), sizes)
    for (index, path), content in zip(paths.items(), contents, strict=True):
        if isinstance(content, bytes):
            block.num_bytes += len(content)
            yield index, content
        elif sizes is None:
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
    name: str,
    feature: ImageFeature | MaskFeature,
    found: Iterator[tuple[int, bytes]],
    *,
    sizes: Sequence[int] | None = None,
    shown: Sequence[bytes] | None = None,
) -> None:
    """Check and prepare pictures. ``shown``: paths that reports are to name."""
    check = block.plan.request.check
    number = block.num_records
    prepare: partial[images.PreparedImage]
    if isinstance(feature, MaskFeature):
        prepare = partial(images.prepare_mask, feature=feature, check=check)
    else:
        prepare = partial(images.prepare_image, feature=feature, check=check)
    contents: list[bytes] = [b""] * number
    formats = [""] * number
    source_sizes: list[tuple[int, int] | None] = [None] * number
    heights, widths = np.zeros(number, np.int64), np.zeros(number, np.int64)

    def reason_at(index: int, reason: object) -> str:
        if shown is not None:
            return f"{path_text(shown[index])}: {reason}"
        return f"{reason}" if sizes is not None else f"{name}: {reason}"

    # A loop over records: each picture is one call of a library, nothing is shared.
    for index, content in found:
        if sizes is not None and not _is_as_listed(block, index, content, sizes):
            continue
        try:
            prepared = prepare(content)
        except RecordError as error:
            block.reject(index, reason_at(index, error))
            continue
        contents[index] = prepared.content
        formats[index] = prepared.format
        heights[index], widths[index] = prepared.height, prepared.width
        source_sizes[index] = prepared.source_size
        block.recoded |= prepared.recoded
        block.remarks += [
            (index, block.entry(index, action, reason_at(index, reason)))
            for action, reason in prepared.remarks
        ]
    block.contents[name] = contents
    block.formats[name] = formats
    block.source_sizes[name] = source_sizes
    block.columns[f"{name}_height"] = pa.array(heights)
    block.columns[f"{name}_width"] = pa.array(widths)


def _encode_files(
    block: _Block, name: str, feature: Feature, found: Iterator[tuple[int, bytes]]
) -> None:
    values: list[bytes] = [b""] * block.num_records
    for index, content in found:
        values[index] = content
    assert isinstance(feature, (TextFeature, BytesFeature))
    encoded = feature.encode(pa.array(values, type=pa.large_binary()))
    for index, reason in encoded.faults.items():
        block.reject(index, f"{name}: {reason}")
    block.columns[name] = encoded.values


def _check_mask_sizes(block: _Block) -> None:
    """Reject a record whose mask has not the size of its picture."""
    schema = block.plan.schema
    for mask in schema.features_of(MaskFeature):
        image = next(n for n, f in schema.features_of(ImageFeature).items() if f.from_ is None)
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
    dropped = {*block.faults, *block.left_out}
    if dropped:
        keep = [index for index in range(block.num_records) if index not in dropped]
        columns = {
            name: column.take(pa.array(keep, pa.int64())) for name, column in block.columns.items()
        }
        contents = {name: [values[i] for i in keep] for name, values in contents.items()}
        formats = {name: [values[i] for i in keep] for name, values in formats.items()}
    remarks = [entry for index, entry in block.remarks if index not in dropped]
    statistics = block_statistics(block.plan, columns, formats)
    for name, values in contents.items():
        lengths = np.fromiter(map(len, values), dtype=np.int64, count=len(values))
        columns[name] = ExternalBytes(lengths)
    return EncodedBlock(
        columns=columns,
        contents=contents,
        entries=[*block.faults.values(), *remarks],
        statistics=statistics,
        num_records=block.num_records - len(dropped),
        num_bytes=block.num_bytes,
        recoded=block.recoded,
        left_out=Counter(block.left_out.values()),
    )
