"""What the folders of images or documents mean: splits, classes, or nothing.

``class/…/image`` · ``split/class/…/image`` · no labels. The class is the first folder below
the root (or below the split's folder). Folders are splits only if *all* first-level folders
that hold images are split words; a ``--split`` pattern always wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tfrec_tools import path_globs
from tfrec_tools.errors import SourceError, clipped, counted, listed
from tfrec_tools.records import Action, ReportEntry, path_text
from tfrec_tools.request import OnError, Request, SourceKind
from tfrec_tools.schema import class_name_problems
from tfrec_tools.survey import FileGroup, GroupCount, Survey, first_levels

SPLIT_WORDS: Mapping[str, str] = {
    "train": "train",
    "training": "train",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "dev": "validation",
    "eval": "validation",
    "test": "test",
    "testing": "test",
}
SPLIT_ORDER = ("train", "validation", "test")


class Nouns(NamedTuple):
    """What messages call the files of a source: ``1 image``, ``no images``."""

    one: str
    many: str
    files: str


def nouns_of(kind: SourceKind) -> Nouns:
    """Return what the files of a source of images or documents are called."""
    if kind == "text":
        return Nouns("document", "documents", "text files")
    return Nouns("image", "images", "images")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """``folder_splits``: the split of each first-level folder, if folders are splits.

    ``label_depth``: which folder of a path is the class, 0 for the first; None without labels.
    ``class_names``: those found, sorted. ``notes``: what the user should know.
    ``left_out``: what ``--on-error skip`` leaves out before anything is read.
    """

    folder_splits: Mapping[bytes, str] | None = None
    label_depth: int | None = None
    class_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left_out: tuple[ReportEntry, ...] = ()

    def label(self, folder: bytes) -> bytes:
        """Return the class of the files in ``folder``; empty if they have none."""
        if self.label_depth is None:
            return b""
        return first_levels(folder)[self.label_depth]

    def split(self, folder: bytes) -> str | None:
        """Return the split that the folder decides, if folders do."""
        return (
            None if self.folder_splits is None else self.folder_splits.get(first_levels(folder)[0])
        )


def find_layout(
    request: Request,
    survey: Survey,
    *,
    labelled: bool,
    names_given: bool = False,
    folder: str | None = None,
) -> Layout:
    """Say what the surveyed folders mean. Raises SourceError if they mean nothing.

    ``names_given``: the schema names the classes, so that a folder may be empty or unknown.
    ``folder``: where the paths begin, if the source is a file or a pattern.
    """
    root = folder or request.source.root
    is_named = root != request.source.root
    nouns = nouns_of(request.source.kind)
    if not survey.num_files:
        raise SourceError(_nothing_found(request, survey, is_named=is_named))
    groups = _filled(survey)
    folder_splits = _folder_splits(request, groups)
    if not labelled:
        is_text = request.source.kind == "text"
        unused = _unused_splits(request, groups, folder_splits) if is_text else ()
        return Layout(folder_splits=folder_splits, notes=unused)
    depth = 0 if folder_splits is None else 1
    skip = request.on_error is OnError.SKIP
    _check_unlabelled(root, groups, depth, nouns, skip=skip)
    if not names_given:
        _check_level(root, groups, depth, is_named=is_named)
    # Folders without files that fit a pattern are none of its classes.
    counted_groups = groups if is_named else survey.groups
    names, notes, empty = _class_names(
        root, counted_groups, depth, nouns, skip=skip, given=names_given
    )
    if folder_splits is None:
        words = sorted(name for name in names if name.lower() in SPLIT_WORDS)
        if words and len(names) > 1:
            others = listed([name for name in names if name not in words], limit=3)
            notes += (
                f"folders {listed(words)} are taken as classes, since others ({others}) are no "
                "splits; use --split NAME=GLOB if they are",
            )
    return Layout(
        folder_splits=folder_splits,
        label_depth=depth,
        class_names=names,
        notes=notes,
        left_out=empty,
    )


def has_class_folders(request: Request, survey: Survey) -> bool:
    """Say whether some files lie in folders that are no splits."""
    groups = _filled(survey)
    depth = 0 if not groups or _folder_splits(request, groups) is None else 1
    return any(group.folder(depth) for group in groups)


def _filled(survey: Survey) -> dict[FileGroup, GroupCount]:
    return {group: count for group, count in survey.groups.items() if count.num_files}


def _nothing_found(request: Request, survey: Survey, *, is_named: bool) -> str:
    root = request.source.root
    if request.source.kind == "text":
        kinds = listed([f"{n} {extension}" for extension, n in survey.ignored.items()])
        what = "must fit files" if is_named else "must hold text files"
        which = "" if is_named else ".txt, .text or without extension; "
        text = f"{root} {what} ({which}found {kinds or 'none'})"
        if survey.ignored and not is_named:
            text += f"; others are taken with a pattern, such as '{root.rstrip('/')}/**/*.md'"
        return text
    if survey.ignored:
        kinds = listed([f"{n} {extension}" for extension, n in survey.ignored.items()])
        return (
            f"{root} must contain images (found only files of other kinds: {kinds}); "
            "give the folder that holds the class folders"
        )
    return f"{root} must contain images (found none); give the folder that holds the class folders"


def _folder_splits(
    request: Request, groups: Mapping[FileGroup, GroupCount]
) -> dict[bytes, str] | None:
    firsts = sorted({group.first for group in groups})
    if request.splits is not None and request.splits.files is not None:
        return _glob_folder_splits(request.splits.files, firsts)
    words = [SPLIT_WORDS.get(path_text(first).lower()) for first in firsts]
    if None in words:
        return None
    splits: dict[bytes, str] = {}
    for first, word in zip(firsts, words, strict=True):
        other = next((f for f, split in splits.items() if split == word), None)
        if other is not None:
            raise SourceError(
                f"a split must have one folder (both {path_text(other)} and {path_text(first)} in "
                f"{request.source.root} mean {word!r}); say what they are with "
                f"--split {word}='{path_text(other)}/**' --split NAME='{path_text(first)}/**'"
            )
        splits[first] = word or ""
    return splits


def _glob_folder_splits(
    files: Mapping[str, tuple[str, ...]], firsts: list[bytes]
) -> dict[bytes, str] | None:
    """Return which first-level folders the patterns take whole, if all patterns are such."""
    folders = [
        (name, path_globs.folder_pattern(glob)) for name, globs in files.items() for glob in globs
    ]
    splits = {}
    for first in firsts:
        for name, pattern in folders:
            if pattern is None:
                return None
            if first and path_globs.matches(pattern, first):
                splits[first] = name
    return splits if len(splits) == len(firsts) else None


def _unused_splits(
    request: Request,
    groups: Mapping[FileGroup, GroupCount],
    folder_splits: Mapping[bytes, str] | None,
) -> tuple[str, ...]:
    """Return a note if some folders are called like splits, but not all that there is."""
    decided = request.splits is not None and request.splits.files is not None
    firsts = sorted({path_text(group.first) for group in groups})
    words = [first for first in firsts if first.lower() in SPLIT_WORDS]
    if folder_splits is not None or decided or not words:
        return ()
    others = listed(
        [first or "files beside them" for first in firsts if first not in words], limit=3
    )
    return (
        f"folders {listed(words)} are not taken as splits, since there are others ({others}); use "
        "--split NAME=GLOB if they are, or --exclude the others",
    )


def _check_unlabelled(
    root: str, groups: Mapping[FileGroup, GroupCount], depth: int, nouns: Nouns, *, skip: bool
) -> None:
    """Refuse files that lie in no class folder; with ``skip`` each is a fault of its own later."""
    bare = {group: count for group, count in groups.items() if not group.folder(depth)}
    if not bare:
        return
    number = counted(sum(count.num_files for count in bare.values()), nouns.one)
    if len(bare) == len(groups):
        raise SourceError(
            f"{nouns.many} must lie in one folder per class ({number} directly in {root}, no class "
            "folders); make such folders, or use --no-labels"
        )
    if depth == 1:
        splits = listed(sorted({path_text(group.first) for group in bare}))
        labelled = {group.first for group in groups} - {group.first for group in bare}
        if labelled:
            raise SourceError(
                f"every split must have class folders (none in {splits} of {root}, but {number} "
                f"directly); leave it out with --exclude '{splits}/**', or use --no-labels"
            )
    where = listed(sorted({path_text(group.first) or "." for group in bare}))
    what = f"{number} beside the class folders, in {where} of {root}"
    if not skip:
        raise SourceError(
            f"every {nouns.one} must lie in a class folder ({what}); move them, leave them out with "
            "--exclude, or use --no-labels"
        )


def _check_level(
    root: str, groups: Mapping[FileGroup, GroupCount], depth: int, *, is_named: bool
) -> None:
    """Refuse a root that lies one level above the class folders."""
    if depth != 0:
        return
    firsts = {group.first for group in groups if group.first}
    seconds = {group.second for group in groups}
    if len(firsts) == 1 and b"" not in seconds and len(seconds) > 1:
        only = path_text(firsts.pop())
        inner = listed(sorted(map(path_text, seconds)), limit=3)
        give = "begin the pattern with" if is_named else "give"
        raise SourceError(
            f"{root} must hold the class folders (it holds the one folder {only!r}, with folders "
            f"{inner} in it); {give} {root.rstrip('/')}/{only}, or name the classes in a schema"
        )


def _class_names(
    root: str,
    groups: Mapping[FileGroup, GroupCount],
    depth: int,
    nouns: Nouns,
    *,
    skip: bool,
    given: bool,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[ReportEntry, ...]]:
    counts: dict[bytes, int] = {}
    for group, count in groups.items():
        if folder := group.folder(depth):
            counts[folder] = counts.get(folder, 0) + count.num_files
    empty = [] if given else sorted(name for name, number in counts.items() if not number)
    if empty and not skip:
        inside = "/…" if depth else ""
        raise SourceError(
            f"a class folder must hold {nouns.many} ({root.rstrip('/')}{inside}/{path_text(empty[0])}/ "
            "holds none); remove it, or leave it out with --exclude"
        )
    left_out = [
        ReportEntry(
            f"{path_text(name)}/",
            Action.SKIPPED.value,
            f"the class folder holds no {nouns.many}",
        )
        for name in empty
    ]
    names = []
    for name in sorted(name for name, number in counts.items() if number):
        try:
            names.append(name.decode())
        except UnicodeDecodeError:
            raise SourceError(
                f"a class folder's name must be UTF-8 text (got {clipped(name)} in {root}); "
                "rename it"
            ) from None
    problems = class_name_problems(names)
    if problems:
        raise SourceError(f"{root}: {problems[0]}; rename the folder")
    notes = (
        ("there is only one class; a model has nothing to tell apart",) if len(names) == 1 else ()
    )
    return tuple(names), notes, tuple(left_out)
