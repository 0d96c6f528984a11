"""Tables of every format behind one interface: open, scan, read.

open_table(request)              → Table: files and what is known of their columns
scan_tasks(table)                → tasks, which `scan` carries out anywhere
settle(table, scans)             → the table with its parts, and further tasks if there must be
read_part(root, table, part, …)  → batches of records
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import RequestError
from tfrec_tools.records import path_text
from tfrec_tools.request import Request
from tfrec_tools.sources import (
    arrow_table,
    csv_opening,
    csv_table,
    json_lines,
    text_content,
    text_opening,
    text_ranges,
    text_table,
)
from tfrec_tools.sources.table_listing import compression_of, list_files, table_root
from tfrec_tools.sources.text_ranges import FileScan
from tfrec_tools.storage import Storage, open_storage
from tfrec_tools.tables import Table, TableBatch, TableFile, TablePart

BLOCKS_PER_TASK = 4  # 16 MiB


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Blocks ``first`` to ``stop`` of a file, or all of it, or the kinds of its JSON values.

    It carries the file, so that workers need not know all of them.
    """

    file_index: int
    file: TableFile
    what: Literal["blocks", "whole", "exact", "kinds"]
    first: int = 0
    stop: int = 0
    parts: tuple[TablePart, ...] = ()


def table_storage(request: Request) -> Storage:
    """Return the storage that the keys of the table's files are relative to."""
    return open_storage(table_root(request.source.root).folder)


def open_table(request: Request) -> Table:
    """Return the table at the request's source. Raises SourceError or RequestError."""
    source = request.source
    if source.kind == "text":
        return text_opening.open_text(table_storage(request), source)
    format_, files, ignored = list_files(source.root, source.kind, source.exclude)
    storage = table_storage(request)
    if format_ in ("csv", "jsonl"):
        files = tuple(_with_compression(storage, file) for file in files)
    if format_ == "csv":
        return csv_opening.open_csv(storage, files, source.csv, ignored)
    given = [
        f"--{name.replace('_', '-')}"
        for name in source.csv.__dataclass_fields__
        if getattr(source.csv, name) is not None
    ]
    if given:
        raise RequestError(f"{given[0]} goes with CSV files, not with {format_} files")
    if format_ == "jsonl":
        return Table(
            format=format_, types={}, files=files, dialect=CsvDialect(quote=None), ignored=ignored
        )
    types = arrow_table.read_types(storage, files, format_)
    return Table(format=format_, types=types, files=files, ignored=ignored)


def _with_compression(storage: Storage, file: TableFile) -> TableFile:
    head = text_content.read_range(storage, file, 0, min(8, file.num_bytes))
    compression = compression_of(head)
    return dataclasses.replace(
        file, compression=compression, mode="ranges" if compression is None else "stream"
    )


def scan_tasks(table: Table) -> list[ScanTask]:
    """Return what must be looked at to know where the records lie."""
    tasks = []
    for index, file in enumerate(table.files):
        if file.mode == "document":
            continue  # its listing says all that there is to know
        by_paragraphs = table.text is not None and table.text.record == "paragraph"
        if table.format in ("parquet", "arrow") or file.mode != "ranges" or by_paragraphs:
            tasks.append(ScanTask(index, file, "exact" if file.mode == "exact" else "whole"))
            continue
        stop = text_ranges.num_blocks(file)
        tasks += [
            ScanTask(index, file, "blocks", first, min(first + BLOCKS_PER_TASK, stop))
            for first in range(0, stop, BLOCKS_PER_TASK)
        ]
    return tasks


def scan(storage: Storage, table: Table, task: ScanTask) -> FileScan:
    """Carry out one task. Raises SourceError if the file cannot be read."""
    file = task.file
    match task.what:
        case "blocks":
            blocks = text_ranges.scan_blocks(storage, table, file, task.first, task.stop)
            return dataclasses.replace(blocks, file_index=task.file_index)
        case "kinds":
            kinds = [
                json_lines.kinds_of(part, given)
                for part in task.parts
                for given in text_ranges.read_ranges(storage, table, part)
            ]
            return FileScan(task.file_index, parts=task.parts, kinds=json_lines.merged_kinds(kinds))
        case _ if table.format in ("parquet", "arrow"):
            parts = arrow_table.scan_parts(storage, file, table.format)
            return FileScan(task.file_index, parts=parts)
        case _:
            whole = text_ranges.scan_whole(storage, table, file, exact=task.what == "exact")
            return dataclasses.replace(whole, file_index=task.file_index)


def settle(
    table: Table, scans: Sequence[FileScan]
) -> tuple[Table, tuple[TablePart, ...], list[ScanTask]]:
    """Return the table, the parts of all files in order, and what must still be scanned.

    If there are such tasks, all scans so far and theirs are to be given again.
    """
    if table.text is not None and table.text.record == "document":
        return table, text_opening.document_parts(table), []
    parts: list[TablePart] = []
    again: list[ScanTask] = []
    notes = list(table.notes)
    kinds: list[json_lines.Kinds] = []
    by_file: dict[int, list[FileScan]] = {}
    for scan_ in scans:
        by_file.setdefault(scan_.file_index, []).append(scan_)
    for index, file in enumerate(table.files):
        found = by_file.get(index, [])
        # The last scan with parts counts: that of the exact scanner, or of kinds.
        settled = [scan_ for scan_ in found if scan_.parts is not None]
        if not settled:
            blocks = text_ranges.parts_of_scans(table, file, found)
            if blocks is None:
                again.append(ScanTask(index, file, "exact"))
                continue
            settled = [FileScan(index, parts=blocks)]
        with_kinds = sorted(
            (scan_ for scan_ in settled if scan_.kinds is not None), key=_first_byte
        )  # as they lie in the file: keys keep the order in which they come first
        if table.format == "jsonl" and not with_kinds:
            again += [
                ScanTask(index, file, "kinds", parts=(part,)) for part in settled[-1].parts or ()
            ]
        if settled[-1].exact and file.mode != "exact":
            notes.append(
                f"{path_text(file.key)} has quotes inside of cells, and is read by one process"
            )
        if with_kinds:
            kinds += [scan_.kinds for scan_ in with_kinds if scan_.kinds is not None]
            parts += [part for scan_ in with_kinds for part in scan_.parts or ()]
        else:
            parts += settled[-1].parts or ()
    if table.format == "jsonl" and not again:
        types = json_lines.types_of(json_lines.merged_kinds(kinds))
        table = dataclasses.replace(table, types=types)
    if table.num_parallel > 1:
        parts = list(text_opening.parallel_parts(table, parts))
    return dataclasses.replace(table, notes=tuple(notes)), tuple(parts), again


def _first_byte(scan_: FileScan) -> int:
    return scan_.parts[0].start if scan_.parts else 0


def read_part(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> Iterator[TableBatch]:
    """Yield the records of a part with the named columns.

    Raises SourceError if the file cannot be read, or changed since it was scanned.
    """
    number = 0
    for batch in _batches(storage, table, part, columns):
        number += batch.num_seen
        yield batch
    if number != part.num_records:
        raise text_ranges.changed(part.file)


def _batches(
    storage: Storage, table: Table, part: TablePart, columns: Sequence[str]
) -> Iterator[TableBatch]:
    if table.format == "csv":
        return csv_table.batches(storage, table, part, columns)
    if table.format == "text":
        return text_table.batches(storage, table, part, columns)
    if table.format == "jsonl":
        return (
            batch
            for given in text_ranges.read_ranges(storage, table, part)
            for batch in json_lines.batches(table, part, given, columns)
        )
    return arrow_table.read_part(storage, table, part, columns)
