"""The stage that writes one shard: its files are read once, in final order, block by block."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from tfrec_tools import example_codec, images, shard_files
from tfrec_tools.plan import Plan
from tfrec_tools.record_framing import crc32c
from tfrec_tools.records import MAX_LISTED_FAULTS, ReportEntry, ShardResult, keys_of
from tfrec_tools.request import OnError
from tfrec_tools.shard_files import ShardWriter, shard_writer
from tfrec_tools.shard_names import ShardId, index_name
from tfrec_tools.sources import documents
from tfrec_tools.stages.encoding import EncodedBlock, encode_block
from tfrec_tools.stages.file_statistics import merged_statistics
from tfrec_tools.stages.publishing import SIDECAR_SUFFIX, staging_folder
from tfrec_tools.statistics import ColumnStatistics
from tfrec_tools.storage import Storage, open_storage

BLOCK_BYTES = 4 << 20  # 4 MiB of listed files at once: what bounds the memory of a worker
BLOCK_RECORDS = 1024

Block: TypeAlias = EncodedBlock | pa.LargeBinaryArray
"""Records of a shard in final order: encoded, or in their frames already."""

OnProgress = Callable[[int, int, int], None]
"""Called after each block with the files, bytes and rejected inputs that it added."""


def write_shard(
    plan: Plan,
    shard: ShardId,
    files: pa.Table,
    on_progress: OnProgress | None = None,
    *,
    attempt: str | None = None,
) -> ShardResult:
    """Write one shard into the staging folder. ``files`` (PLACED_SCHEMA) are in final order.

    With ``on_error="fail"`` the first fault ends the writing, but not the looking: the shard's
    other files are still checked until 20 faults are found (one with ``fail_fast``). Such a
    shard leaves no file.
    """
    source = documents.file_storage(plan.request)
    blocks = _blocks(plan, source, files, on_progress)
    fingerprint = shard_fingerprint(plan, files)
    return write_staged_shard(plan, shard, fingerprint, blocks, attempt=attempt)


def write_staged_shard(
    plan: Plan,
    shard: ShardId,
    fingerprint: str,
    blocks: Iterator[Block],
    *,
    attempt: str | None = None,
) -> ShardResult:
    """Write the shard that consists of these blocks, its index and its sidecar.

    ``attempt``: where others may write the same shard at the same time, a name that this one
    alone has: files are called so until they are whole.
    Under ``on_error="fail"``, a shard with faults leaves no file; see `write_shard`.
    """
    output = open_storage(plan.request.output)
    name = plan.shard_name(shard)
    staged = f"{staging_folder(plan)}/{name}".encode()
    path = staged if attempt is None else f"{staging_folder(plan)}/{attempt}.{name}".encode()
    result = ShardResult(shard=shard, name=name, fingerprint=fingerprint, written=True)
    index_path = None if plan.request.compression else index_name(path.decode()).encode()
    try:
        with shard_writer(output, path, index_path) as writer:
            sums = _write_blocks(plan, writer, blocks)
    except _FaultFoundError as found:
        output.remove(path)
        if index_path is not None:
            output.remove(index_path)
        return dataclasses.replace(
            result, written=False, entries=tuple(_all_faults(plan, found.entries, blocks))
        )
    result = dataclasses.replace(
        result,
        num_records=writer.num_records,
        num_bytes=writer.num_bytes,
        payload_bytes=writer.payload_bytes,
        crc32c=writer.crc32c,
        index_bytes=writer.index_bytes,
        index_crc32c=writer.index_crc32c,
        entries=tuple(sorted(sums.entries)),
        statistics=merged_statistics(sums.statistics),
        cells={name: found.to_plain() for name, found in sums.cells.items()},
        codecs=images.codec_versions() if sums.recoded else {},
        left_out=dict(sorted(sums.left_out.items())),
    )
    sidecar = json.dumps(dataclasses.asdict(result), sort_keys=True).encode()
    sealed = b"%08x\n%s" % (crc32c(sidecar), sidecar)
    shard_files.write_file(output, path + SIDECAR_SUFFIX.encode(), sealed)
    if attempt is not None:
        index = [b".idx"] if index_path is not None else []
        for suffix in (b"", *index, SIDECAR_SUFFIX.encode()):
            output.rename(path + suffix, staged + suffix)
    return result


def finished_shard(plan: Plan, shard: ShardId, files: pa.Table) -> ShardResult | None:
    """Return the result of the shard of these files, if an earlier run of the plan finished it."""
    return finished_staged_shard(plan, shard, shard_fingerprint(plan, files))


def finished_staged_shard(plan: Plan, shard: ShardId, fingerprint: str) -> ShardResult | None:
    """Return the result of a shard that an earlier run of the same plan finished, if it is whole.

    Checked: the sidecar's own checksum, the shard's fingerprint, its size and checksum, and
    that this machine's encoders are the ones that made it.
    """
    output = open_storage(plan.request.output)
    path = f"{staging_folder(plan)}/{plan.shard_name(shard)}".encode()
    try:
        crc, _, text = output.read(path + SIDECAR_SUFFIX.encode()).partition(b"\n")
        if crc != b"%08x" % crc32c(text):
            return None
        data = json.loads(text)
        if data["fingerprint"] != fingerprint:
            return None
        checks = {path: data["crc32c"]}
        if not plan.request.compression:
            checks[index_name(path.decode()).encode()] = data["index_crc32c"]
        if any(_crc32c_of(output, file) != crc for file, crc in checks.items()):
            return None
    except (OSError, ValueError, KeyError):
        return None
    entries = tuple(ReportEntry(**entry) for entry in data.pop("entries"))
    result = ShardResult(**{**data, "shard": shard, "entries": entries})
    if result.faults and plan.request.on_error is OnError.FAIL:
        return None
    if result.codecs and dict(result.codecs) != images.codec_versions():
        return None
    return result


def _crc32c_of(output: Storage, path: bytes) -> int:
    """Return the checksum of a staged file, or of where an interrupted publishing moved it."""
    if not output.exists(path):
        path = path.rpartition(b"/")[2]
    crc = 0
    for chunk in output.chunks(path):
        crc = crc32c(chunk, crc)
    return crc


def shard_fingerprint(plan: Plan, files: pa.Table) -> str:
    """Return what identifies a shard: the plan and its files' ranks, keys and sizes."""
    digest = hashlib.blake2b(digest_size=16, person=b"tfrec.shard")
    digest.update(plan.fingerprint().encode())
    for name in ("rank_high", "rank_low", "num_bytes"):
        digest.update(files.column(name).to_numpy().astype("<u8").tobytes())
    digest.update(b"\0".join(keys_of(files)))
    return digest.hexdigest()


class _FaultFoundError(Exception):
    """A fault under ``on_error="fail"``: the shard is given up."""

    def __init__(self, entries: list[ReportEntry]) -> None:
        super().__init__(entries)
        self.entries = entries


def _blocks(
    plan: Plan, source: Storage, files: pa.Table, on_progress: OnProgress | None
) -> Iterator[EncodedBlock]:
    """Yield the shard's records encoded, in blocks that bound the memory."""
    sizes = files.column("num_bytes").to_pylist()
    for start, stop in block_slices(sizes):
        keys = keys_of(files.slice(start, stop - start))
        block = encode_block(plan, source, keys, sizes[start:stop])
        if on_progress is not None:
            num_faults = sum(entry.is_fault for entry in block.entries)
            on_progress(stop - start, sum(sizes[start:stop]), num_faults)
        yield block


def block_slices(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of files that are read at once, by their listed sizes in bytes."""
    start = 0
    while start < len(sizes):
        stop, num_bytes = start, 0
        while (
            stop < len(sizes)
            and stop - start < BLOCK_RECORDS
            and (stop == start or num_bytes + sizes[stop] <= BLOCK_BYTES)
        ):
            num_bytes += sizes[stop]
            stop += 1
        yield start, stop
        start = stop


@dataclass(slots=True)
class _Sums:
    """What the blocks of a shard add up to."""

    entries: list[ReportEntry] = field(default_factory=list)
    statistics: list[dict[str, object]] = field(default_factory=list)
    cells: dict[str, ColumnStatistics] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    recoded: bool = False


def _write_blocks(plan: Plan, writer: ShardWriter, blocks: Iterator[Block]) -> _Sums:
    sums = _Sums()
    fail = plan.request.on_error is OnError.FAIL
    for block in blocks:
        if not isinstance(block, EncodedBlock):
            writer.append_frames(block)
            continue
        sums.entries += block.entries
        if fail and any(entry.is_fault for entry in block.entries):
            raise _FaultFoundError([entry for entry in sums.entries if entry.is_fault])
        _append(writer, block)
        sums.statistics.append(block.statistics)
        sums.recoded |= block.recoded
        sums.left_out.update(block.left_out)
        for name, found in block.cells.items():
            sums.cells.setdefault(name, ColumnStatistics()).merge(found)
    return sums


def _append(writer: ShardWriter, block: EncodedBlock) -> None:
    if not block.num_records:
        return
    encoded = example_codec.encode(block.columns)
    sizes = encoded.payload_bytes.tolist()
    if not encoded.externals:
        records: Iterable[list[bytes]] = ([payload] for payload in encoded.payloads.to_pylist())
    else:
        # Segment, content, segment, content, …, segment: one record is one zip over them.
        parts: list[list[bytes]] = []
        for segment, name in zip(encoded.segments, [*encoded.externals, None], strict=True):
            parts.append(segment.to_pylist())
            if name is not None:
                parts.append(block.contents[name])
        records = map(list, zip(*parts, strict=True))
    for record, size in zip(records, sizes, strict=True):
        writer.append(record, size)


def _all_faults(
    plan: Plan, faults: list[ReportEntry], blocks: Iterator[Block]
) -> list[ReportEntry]:
    """Look on for faults, without writing, until there are as many as are listed."""
    limit = 1 if plan.request.fail_fast else MAX_LISTED_FAULTS
    while len(faults) < limit:
        block = next(blocks, None)
        if block is None:
            break
        if isinstance(block, EncodedBlock):
            faults += [entry for entry in block.entries if entry.is_fault]
    return faults
