"""The first and the last stage of writing: a staging folder, and the dataset made of it.

Everything is built in ``out/.tfrec-<plan fingerprint>/``. Publishing removes an old dataset
(only with ``--overwrite``), renames the new files into ``out/``, and writes the manifest last:
whatever ends a conversion before that leaves no dataset behind.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tfrec_tools import interop, manifest_files, shard_files
from tfrec_tools.errors import (
    DatasetError,
    RecordError,
    SourceError,
    TfrecError,
    clipped,
    counted,
    listed,
)
from tfrec_tools.manifest import (
    MANIFEST_NAME,
    FileInfo,
    Manifest,
    ShardInfo,
    SplitInfo,
    crc_text,
    left_out_text,
)
from tfrec_tools.plan import Plan
from tfrec_tools.record_framing import crc32c
from tfrec_tools.records import MAX_LISTED_FAULTS, ReportEntry, ShardResult, faults_error
from tfrec_tools.request import IfExists, OnError, Request
from tfrec_tools.schema import ClassLabelFeature
from tfrec_tools.shard_names import index_name
from tfrec_tools.stages.file_statistics import merged_statistics, with_means
from tfrec_tools.stages.unit_results import UnitResult, is_unknown_class
from tfrec_tools.statistics import ColumnStatistics
from tfrec_tools.storage import Storage, open_storage
from tfrec_tools.survey import Survey

REPORT_NAME = "report.jsonl"
STAGING_PREFIX = ".tfrec-"
MAX_LISTED_LABELS = 100
SIDECAR_SUFFIX = ".shard.json"
"""Of the file beside a staged shard that says it is finished, and how it was made."""


def staging_folder(plan: Plan) -> str:
    """Return the name of the folder, inside the output, in which ``plan`` is carried out."""
    return STAGING_PREFIX + plan.fingerprint()


def refuse_dataset(request: Request) -> None:
    """Raise DatasetError if the output holds a dataset that is not to be overwritten."""
    holds_one = open_storage(request.output).exists(MANIFEST_NAME.encode())
    if holds_one and request.if_exists is IfExists.FAIL:
        raise DatasetError(
            f"the output must be a new folder ({request.output} holds a dataset already); use "
            "--overwrite to replace it, or choose another folder"
        )


def prepare_output(plan: Plan) -> None:
    """Refuse an output that must not be written to, and create the staging folder.

    Raises DatasetError if the output holds a dataset (unless it is to be overwritten) or
    other files.
    """
    output = _output_folder(plan)
    _check_free(plan, output)
    output.make_folder(staging_folder(plan).encode())


@contextlib.contextmanager
def claimed_output(plan: Plan) -> Iterator[None]:
    """Hold the output's lock while the plan is carried out, and tidy up if that fails.

    Raises DatasetError if another conversion writes there, and what `prepare_output` raises.
    """
    existed = open_storage(plan.request.output).exists()
    with _output_folder(plan).locked():
        try:
            prepare_output(plan)
            yield
        except BaseException:
            remove_useless(plan.request.output, existed=existed)
            raise


def _output_folder(plan: Plan) -> Storage:
    output = open_storage(plan.request.output)
    if output.exists() and not output.is_folder():
        raise DatasetError(f"the output must be a folder ({plan.request.output} is a file)")
    output.make_folder()
    return output


def _check_free(plan: Plan, output: Storage) -> None:
    if plan.request.if_exists is IfExists.OVERWRITE:
        return
    refuse_dataset(plan.request)
    where = plan.request.output
    found = {entry.name.decode("utf-8", "backslashreplace") for entry in output.entries()}
    if staging_folder(plan) in found:
        found -= set(_published_names(plan))  # left behind by a publishing that was interrupted
    found = {name for name in found if not name.startswith(STAGING_PREFIX)}
    if found:
        raise DatasetError(
            f"the output must be an empty folder ({where} holds {min(found)!r}); choose "
            "another folder, or use --overwrite to write beside what is there"
        )


def remove_useless(url: str, *, existed: bool) -> None:
    """Remove what a failed conversion left in the output, unless a shard in it is finished.

    ``existed``: whether the output folder was there before.
    """
    output = open_storage(url)
    with contextlib.suppress(OSError):
        for entry in list(output.entries()):
            if entry.is_folder and entry.name.startswith(STAGING_PREFIX.encode()):
                staged = output.entries(entry.name)
                if not any(inner.name.endswith(SIDECAR_SUFFIX.encode()) for inner in staged):
                    output.remove_tree(entry.name)
        if not existed and not any(True for _ in output.entries()):
            output.remove_tree(b"")


def _published_names(plan: Plan) -> list[str]:
    names = [plan.shard_name(shard) for shard in plan.shards]
    labels = [f"{name}.labels.txt" for name in plan.schema.features_of(ClassLabelFeature)]
    side = ["dataset_info.json", "features.json", "schema.pbtxt", REPORT_NAME]
    return [*names, *map(index_name, names), *labels, *side]


def failure(
    plan: Plan,
    results: Iterable[ShardResult],
    units: UnitResult | None = None,
    *,
    complete: bool = True,
) -> TfrecError | None:
    """Return the error that these results amount to under the plan's policy, None if it is none.

    ``units``: of tables, folded. ``complete``: whether all units and shards are in the results.
    """
    faults = [fault for result in results for fault in result.faults]
    faults += units.entries if units is not None else ()
    if plan.request.on_error is OnError.SKIP:
        return too_many_rejected(plan, faults)
    unknown = _unknown_classes(plan, units) if units is not None else None
    if unknown is not None:
        faults = [fault for fault in faults if not is_unknown_class(fault)]
        if not faults:
            return RecordError(unknown)
    if not faults:
        return None
    # A shard or unit that has many stops looking: then there may be more.
    complete = complete and len(faults) < MAX_LISTED_FAULTS
    error = faults_error(faults, complete=complete, fail_fast=plan.request.fail_fast)
    return error if unknown is None else RecordError(f"{unknown}\n{error}")


def _unknown_classes(plan: Plan, units: UnitResult) -> str | None:
    """Return the sentence that names all labels that are no classes, with their counts."""
    sentences = []
    for name, counts in units.unknown.items():
        found = listed(
            [f"{clipped(label)} ({counted(n, 'record')})" for label, n in sorted(counts.items())],
            limit=MAX_LISTED_LABELS,
        )
        names = listed(plan.schema.features[name].names or ())  # type: ignore[union-attr]
        sentences.append(
            f"every {name} must be one of {names} (also found: {found}); add them to "
            f"features.{name}.names, mend the cells, or use --on-error skip"
        )
    return "\n".join(sentences) or None


def too_many_rejected(plan: Plan, faults: Sequence[ReportEntry]) -> TfrecError | None:
    """Return the error if more inputs were rejected than the request allows."""
    limit = plan.request.max_errors
    if limit is None or len(faults) <= limit:
        return None
    first = min(faults)
    return RecordError(
        f"at most {counted(limit, 'input')} may be rejected ({len(faults)} or more are, the first "
        f"is {first.where}: {first.reason}); mend them, or raise --max-errors"
    )


def published(plan: Plan) -> Manifest | None:
    """Return the manifest if an earlier attempt at this plan published it, else None.

    An engine may carry out any step twice: the staging folder, which goes last, tells.
    """
    output = open_storage(plan.request.output)
    if output.exists(staging_folder(plan).encode()):
        return None
    try:
        manifest = manifest_files.load_manifest(plan.request.output)
    except DatasetError:
        return None
    return manifest if manifest.fingerprint == plan.fingerprint() else None


def publish(
    plan: Plan,
    survey: Survey | None,
    results: Sequence[ShardResult],
    units: UnitResult | None = None,
) -> Manifest:
    """Make the staged shards a dataset. ``survey`` names what could not even be listed.

    ``units``: of tables, folded: rejected records and statistics come from there. Raises
    DatasetError unless every shard of the plan reported exactly once and every surveyed
    input is accounted for; SourceError or RecordError by the on-error policy.
    """
    shards = plan.shards
    position = {shard: index for index, shard in enumerate(shards)}
    ordered = sorted(results, key=lambda result: position[result.shard])
    if [result.shard for result in ordered] != shards:
        raise DatasetError(f"each of the {len(shards)} shards must report exactly once")
    unlisted = (*(survey.faults if survey is not None else ()), *plan.layout.left_out)
    rejected = units.entries if units is not None else ()
    remarks = units.remarks if units is not None else ()
    error = failure(plan, ordered, units)
    if error is None and unlisted:
        every = [*unlisted, *(fault for result in ordered for fault in result.faults)]
        error = too_many_rejected(plan, every)
    if error is not None:
        raise error
    left_out = _left_out(ordered, units)
    num_written = sum(result.num_records for result in ordered)
    num_faults = sum(len(result.faults) for result in ordered) + len(rejected)
    _check_counts(plan, ordered, units, num_faults, left_out)
    if not num_written:
        number = num_faults + sum(left_out.values())
        if units is not None and units.num_dropped_tokens and not number:
            raise SourceError(
                "packed tokens must fill a sequence of max_length (all "
                f"{counted(units.num_dropped_tokens, 'token')} were dropped as remainders); lower "
                "max_length, or use remainder: pad"
            )
        what = f"left out or rejected ({left_out_text(left_out)})" if left_out else "rejected"
        those = f"all {number} inputs were" if number > 1 else "the one input was"
        raise SourceError(f"{those} {what}; nothing is written")
    output = open_storage(plan.request.output)
    manifest = _manifest(plan, ordered, units, num_faults + len(unlisted), left_out)
    side_files = interop.tfds_files(manifest) | {
        "schema.pbtxt": interop.schema_pbtxt(manifest),
        REPORT_NAME: _report([*unlisted, *rejected, *remarks], ordered),
    }
    manifest = _with_files(manifest, ordered, side_files)
    _move_into_place(plan, output, manifest, side_files)
    return manifest


def _left_out(results: Sequence[ShardResult], units: UnitResult | None) -> dict[str, int]:
    """Return how many records were left out, by the word that says why."""
    left_out: Counter[str] = Counter(units.left_out if units is not None else {})
    for result in results:
        left_out.update(result.left_out)
    return dict(sorted(left_out.items()))


def _check_counts(
    plan: Plan,
    results: Sequence[ShardResult],
    units: UnitResult | None,
    num_faults: int,
    left_out: Mapping[str, int],
) -> None:
    """Raise DatasetError unless every input is in the shards, rejected, or left out."""
    num_written = sum(result.num_records for result in results)
    if units is not None:  # whose records are more or less than the inputs where they are packed
        num_written += units.num_taken - sum(units.num_records.values())
    if num_written + num_faults + sum(left_out.values()) != plan.num_files:
        more = f", {sum(left_out.values())} left out" if left_out else ""
        raise DatasetError(
            f"every input must be written or rejected ({plan.num_files} were listed, "
            f"{num_written} written, {num_faults} rejected{more}); run the conversion again"
        )


def _manifest(
    plan: Plan,
    results: Sequence[ShardResult],
    units: UnitResult | None,
    num_rejected: int,
    left_out: Mapping[str, int],
) -> Manifest:
    codecs: dict[str, str] = dict(plan.codecs)
    for result in results:
        for name, version in result.codecs.items():
            if codecs.setdefault(name, version) != version:
                raise DatasetError(
                    f"all workers must have one version of {name} ({codecs[name]} and {version} "
                    "were used): re-encoded images depend on it"
                )
    splits = []
    for split in plan.splits.names:
        own = [result for result in results if result.shard.split == split]
        shards = tuple(
            ShardInfo(
                name=result.name,
                num_records=result.num_records,
                num_bytes=result.num_bytes,
                payload_bytes=result.payload_bytes,
                crc32c=crc_text(result.crc32c),
                fingerprint=result.fingerprint,
            )
            for result in own
        )
        counts = _statistics(plan, split, own, units)
        splits.append(SplitInfo(name=split, shards=shards, statistics=counts))
    return Manifest(
        schema=plan.schema,
        splits=tuple(splits),
        fingerprint=plan.fingerprint(),
        seed=plan.request.seed,
        order=plan.request.order.value,
        check=plan.request.check.value,
        compression=plan.request.compression,
        splits_rule=plan.splits.to_dict(),
        num_rejected=num_rejected,
        ignored=plan.ignored,
        codecs=codecs,
        left_out=left_out,
        num_dropped_tokens=units.num_dropped_tokens if units is not None else 0,
    )


def _statistics(
    plan: Plan, split: str, shards: Sequence[ShardResult], units: UnitResult | None
) -> dict[str, Any]:
    """Return the statistics of one split, by feature: of shards, and for tables of units."""
    found = with_means(merged_statistics([shard.statistics for shard in shards]))
    of_cells = dict(units.statistics.get(split, {})) if units is not None else {}
    for shard in shards:
        for name, plain in shard.cells.items():
            of_cells.setdefault(name, ColumnStatistics()).merge(ColumnStatistics.from_plain(plain))
    found |= {name: of_cells[name].to_dict(plan.schema.features[name]) for name in of_cells}
    return dict(sorted(found.items()))


def _with_files(
    manifest: Manifest, results: Sequence[ShardResult], side_files: Mapping[str, bytes]
) -> Manifest:
    files = {
        name: FileInfo(num_bytes=len(content), crc32c=crc_text(crc32c(content)))
        for name, content in side_files.items()
    }
    if manifest.compression is None:
        files |= {
            index_name(result.name): FileInfo(
                num_bytes=result.index_bytes, crc32c=crc_text(result.index_crc32c)
            )
            for result in results
        }
    return dataclasses.replace(manifest, files=files)


def _report(unlisted: Iterable[ReportEntry], results: Iterable[ShardResult]) -> bytes:
    entries = {*unlisted, *(entry for result in results for entry in result.entries)}
    lines = [json.dumps(entry.to_dict(), ensure_ascii=False) for entry in sorted(entries)]
    return "".join(f"{line}\n" for line in lines).encode()


def _move_into_place(
    plan: Plan, output: Storage, manifest: Manifest, side_files: Mapping[str, bytes]
) -> None:
    staging = staging_folder(plan)
    for name, content in side_files.items():
        shard_files.write_file(output, f"{staging}/{name}".encode(), content)
    temporary = f"{staging}/{MANIFEST_NAME}".encode()
    shard_files.write_file(output, temporary, manifest.to_json().encode())
    output.sync(staging.encode())
    _remove_old(plan, output)
    shards = [shard.name for split in manifest.splits for shard in split.shards]
    for name in [*shards, *manifest.files]:
        staged = f"{staging}/{name}".encode()
        if output.exists(staged):  # else an interrupted publishing has moved it before
            output.rename(staged, name.encode())
    output.sync()
    output.rename(temporary, MANIFEST_NAME.encode())
    output.sync()
    for entry in list(output.entries()):
        if entry.is_folder and entry.name.startswith(STAGING_PREFIX.encode()):
            output.remove_tree(entry.name)


def _remove_old(plan: Plan, output: Storage) -> None:
    """Remove the dataset that is to be replaced: its manifest first, then its files."""
    if not output.exists(MANIFEST_NAME.encode()):
        return
    try:
        old = manifest_files.load_manifest(plan.request.output)
    except DatasetError:
        old = None
    output.remove(MANIFEST_NAME.encode())
    if old is not None:
        for name in [*(s.name for split in old.splits for s in split.shards), *old.files]:
            output.remove(name.encode())
