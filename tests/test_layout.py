"""What folders mean, and what is said when they mean nothing."""

from __future__ import annotations

import pytest

from tfrec_tools.errors import SourceError
from tfrec_tools.layout import find_layout, has_class_folders
from tfrec_tools.request import Request, SourceSpec, TextOptions
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


def layout(*paths: str, labelled=True, files=None, folder=None, **source):
    splits = SplitsSpec(files=files) if files else None
    request = Request(source=SourceSpec(**{"root": "in"} | source), output="out", splits=splits)
    return find_layout(request, survey(*paths), labelled=labelled, folder=folder)


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


DOCUMENTS = {"kind": "text", "text": TextOptions(record="document")}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (
            ["a/"],
            "in must hold text files (.txt, .text or without extension; found none)",
        ),
        (
            ["1", "2"],
            "documents must lie in one folder per class (2 documents directly in in, no class "
            "folders); make such folders, or use --no-labels",
        ),
        (
            ["a/1", "2"],
            "every document must lie in a class folder (1 document beside the class folders, in . "
            "of in); move them, leave them out with --exclude, or use --no-labels",
        ),
        (
            ["train/a/1", "test/2"],
            "every split must have class folders (none in test of in, but 1 document directly); "
            "leave it out with --exclude 'test/**', or use --no-labels",
        ),
        (
            ["x/a/1", "x/b/1"],
            "in must hold the class folders (it holds the one folder 'x', with folders a, b in "
            "it); give in/x, or name the classes in a schema",
        ),
        (
            ["a/1", "b/"],
            "a class folder must hold documents (in/b/ holds none); remove it, or leave it out "
            "with --exclude",
        ),
    ],
)
def test_layouts_of_documents_that_mean_nothing(paths, message) -> None:
    with pytest.raises(SourceError) as found:
        layout(*paths, **DOCUMENTS)
    assert str(found.value) == message


class TestPatterns:
    named = DOCUMENTS | {"root": "in/**/*.md", "folder": "in"}

    def test_folders_without_files_that_fit_are_no_classes(self) -> None:
        assert layout("a/1", "b/1", "c/", **self.named).class_names == ("a", "b")

    @pytest.mark.parametrize(
        ("paths", "message"),
        [
            (["a/"], "in/**/*.md must fit files (found none)"),
            (
                ["x/a/1", "x/b/1"],
                "in must hold the class folders (it holds the one folder 'x', with folders a, b in "
                "it); begin the pattern with in/x, or name the classes in a schema",
            ),
        ],
    )
    def test_messages_name_pattern_or_folder(self, paths, message) -> None:
        with pytest.raises(SourceError) as found:
            layout(*paths, **self.named)
        assert str(found.value) == message


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["1", "2"], False),
        (["train/1", "test/2"], False),
        ([], False),
        (["a/1"], True),
        (["train/a/1", "test/2"], True),
        (["a/1", "2"], True),
        (["train/1", "other/2"], True),
    ],
)
def test_whether_there_are_class_folders(paths, expected) -> None:
    request = Request(source=SourceSpec(root="in", **DOCUMENTS), output="out")
    assert has_class_folders(request, survey(*paths)) is expected


def test_folders_of_documents_that_are_called_like_splits() -> None:
    found = layout("train/1", "test/2", "more/3", labelled=False, **DOCUMENTS)
    assert found.folder_splits is None
    assert found.notes == (
        "folders test, train are not taken as splits, since there are others (more); use --split "
        "NAME=GLOB if they are, or --exclude the others",
    )
    assert layout("train/1", "test/2", labelled=False, **DOCUMENTS).notes == ()
    assert layout("train/1", "more/2", labelled=False).notes == ()
