"""What folders mean, and what is said when they mean nothing."""

from __future__ import annotations

import pytest

from tfrec_tools.errors import SourceError
from tfrec_tools.layout import find_layout
from tfrec_tools.request import Request, SourceSpec
from tfrec_tools.schema import SplitsSpec
from tfrec_tools.survey import FileGroup, GroupCount, Survey


def survey(*paths: str) -> Survey:
    """A survey of one file per path; a path that ends in a slash is an empty folder."""
    groups: dict[FileGroup, GroupCount] = {}
    for path in paths:
        *folders, name = path.split("/")
        first, second = [*folders, "", ""][:2]
        group = FileGroup(first.encode(), second.encode())
        groups[group] = groups.get(group, GroupCount()).plus(GroupCount(int(bool(name)), 1))
    return Survey(groups=groups)


def layout(*paths: str, labelled=True, files=None):
    splits = SplitsSpec(files=files) if files else None
    request = Request(source=SourceSpec(root="in"), output="out", splits=splits)
    return find_layout(request, survey(*paths), labelled=labelled)


def test_folders_are_classes() -> None:
    found = layout("b/1", "a/x/2", "c/3")
    assert found.folder_splits is None
    assert found.class_names == ("a", "b", "c")
    assert found.label(b"a/x") == b"a"


@pytest.mark.parametrize(
    ("folders", "splits"),
    [
        (["train", "test"], ["train", "test"]),
        (["Training", "Valid", "testing"], ["train", "validation", "test"]),
        (["train", "dev"], ["train", "validation"]),
        (["eval"], ["validation"]),
    ],
)
def test_folders_are_splits_if_all_are_split_words(folders, splits) -> None:
    found = layout(*(f"{folder}/{label}/1" for folder in folders for label in "ab"))
    assert found.folder_splits == {f.encode(): s for f, s in zip(folders, splits, strict=True)}
    assert found.class_names == ("a", "b")
    assert found.label(b"%s/b/deep" % folders[0].encode()) == b"b"


def test_one_other_folder_makes_all_of_them_classes_and_that_is_said() -> None:
    found = layout("train/a/1", "test/a/1", "extra/1")
    assert found.folder_splits is None
    assert found.class_names == ("extra", "test", "train")
    assert found.notes == (
        "folders test, train are taken as classes, since others (extra) are no splits; use "
        "--split NAME=GLOB if they are",
    )


def test_a_folder_without_images_is_no_reason_against_splits() -> None:
    assert layout("train/a/1", "test/a/1", "docs/").folder_splits is not None


def test_patterns_that_take_whole_folders_leave_the_class_to_the_next_one() -> None:
    found = layout("f1/a/1", "f2/b/1", "h/a/1", files={"train": ("f?/**",), "test": ("h/*",)})
    assert found.folder_splits == {b"f1": "train", b"f2": "train", b"h": "test"}
    assert found.label_depth == 1


def test_patterns_of_names_leave_the_class_to_the_first_folder() -> None:
    found = layout("a/1", "b/1", files={"train": ("train_*",), "test": ("test_*",)})
    assert (found.folder_splits, found.label_depth) == (None, 0)


def test_a_class_may_be_empty_in_one_split() -> None:
    found = layout("train/a/1", "train/b/1", "test/a/1", "test/b/")
    assert found.class_names == ("a", "b")


def test_one_class_is_said() -> None:
    assert layout("a/1").notes == ("there is only one class; a model has nothing to tell apart",)


def test_without_labels_any_folder_will_do() -> None:
    assert layout("1", "a/b/c/2", labelled=False).label(b"a/b") == b""


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a/"], "in must contain images"),
        (["1", "2"], "images must lie in one folder per class"),
        (["a/1", "2"], "every image must lie in a class folder"),
        (["train/1", "test/2"], "images must lie in one folder per class"),
        (["train/a/1", "test/2"], "every split must have class folders"),
        (["x/a/1", "x/b/1"], "in must hold the class folders"),
        (["a/1", "b/"], "a class folder must hold images"),
        (["train/a/1", "training/a/1"], "a split must have one folder"),
    ],
)
def test_layouts_that_mean_nothing(paths, message) -> None:
    with pytest.raises(SourceError, match=message):
        layout(*paths)
