"""What people see when their input is bad: one clear sentence, the exit code, no dataset."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from tfrec_tools.cli.main import tfrec_convert

PNG_HEADER = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (60_000).to_bytes(4, "big") * 2 + b"\x08\x02\0\0\0\0\0\0\0"
)


@pytest.fixture
def source(tmp_path, draw_folder, monkeypatch) -> Path:
    """A good folder ``in`` of two classes, seen from the folder that holds it."""
    monkeypatch.chdir(tmp_path)
    return draw_folder(Path("in"), {"cat": 3, "dog": 3})


@pytest.fixture
def run(capsys):
    """Run ``tfrec-convert`` and return its exit code and what it said on standard error."""

    def run(*arguments: str) -> tuple[int, str]:
        code = tfrec_convert([*map(str, arguments)])
        said = capsys.readouterr()
        if code:
            assert not Path("out/manifest.json").exists()
            assert said.out == ""
        return int(code), said.err.removeprefix("tfrec-convert: error: ").rstrip("\n")

    return run


def test_no_such_folder(source, run) -> None:
    assert run("nowhere", "out") == (
        3,
        "the source must be a folder of images (nowhere does not exist)",
    )


def test_the_source_is_a_file(source, run) -> None:
    assert run("in/cat/000.jpg", "out") == (
        3,
        "the source must be a folder of images (in/cat/000.jpg is a file)",
    )


def test_no_images_at_all(source, run) -> None:
    os.mkdir("empty")
    assert run("empty", "out") == (
        3,
        "empty must contain images (found none); give the folder that holds the class folders",
    )


def test_only_other_files(source, run) -> None:
    os.makedirs("texts/a")
    Path("texts/a/x.md").write_text("x")
    assert run("texts", "out") == (
        3,
        "texts must contain images (found only files of other kinds: 1 .md); give the folder "
        "that holds the class folders",
    )


def test_a_class_folder_as_the_source(source, run) -> None:
    assert run("in/cat", "out") == (
        3,
        "images must lie in one folder per class (3 images directly in in/cat, no class folders); "
        "make such folders, or use --no-labels",
    )


def test_the_folder_above_as_the_source(source, run) -> None:
    os.mkdir("above")
    os.rename("in", "above/in")
    assert run("above", "out") == (
        3,
        "above must hold the class folders (it holds the one folder 'in', with folders cat, dog "
        "in it); give above/in, or name the classes in a schema",
    )


def test_images_beside_the_class_folders(source, run) -> None:
    os.rename("in/cat/000.jpg", "in/000.jpg")
    assert run("in", "out") == (
        3,
        "every image must lie in a class folder (1 image beside the class folders, in . of in); "
        "move them, leave them out with --exclude, or use --no-labels",
    )
    assert run("in", "out", "--on-error", "skip")[0] == 0
    assert '"path": "000.jpg", "action": "skipped", "reason": "must lie in a class folder"' in (
        Path("out/report.jsonl").read_text()
    )


def test_an_empty_class_folder(source, run) -> None:
    os.mkdir("in/emu")
    assert run("in", "out") == (
        3,
        "a class folder must hold images (in/emu/ holds none); remove it, or leave it out with "
        "--exclude",
    )
    assert run("in", "out", "--exclude", "emu")[0] == 0


def test_an_empty_class_folder_is_reported_when_skipping(source, run) -> None:
    os.mkdir("in/emu")
    assert run("in", "out", "--on-error", "skip")[0] == 0
    assert Path("out/report.jsonl").read_text() == (
        '{"path": "emu/", "action": "skipped", "reason": "the class folder holds no images"}\n'
    )
    assert Path("out/label.labels.txt").read_text() == "cat\ndog\n"


def test_class_names_equal_after_normalization(source, run, draw_folder) -> None:
    for form in ("NFC", "NFD"):
        draw_folder(Path("in"), [f"{unicodedata.normalize(form, 'é')}/1.jpg"])
    code, said = run("in", "out")
    assert code == 3
    assert said == (
        "in: class names must differ: 'e\u0301' and 'é' are equal after Unicode normalization "
        "(NFC), though not byte by byte; rename the folder"
    )


def test_a_class_name_that_cannot_be_written_down(source, run, draw_folder) -> None:
    draw_folder(Path("in"), ["emu /1.jpg"])
    assert run("in", "out") == (
        3,
        "in: a class name must not be empty, have space at its ends or a line break (got 'emu '); "
        "rename the folder",
    )


def test_two_folders_for_one_split(source, run, draw_folder) -> None:
    draw_folder(Path("s"), {"val/a": 1, "validation/a": 1, "train/a": 1})
    assert run("s", "out") == (
        3,
        "a split must have one folder (both val and validation in s mean 'validation'); say what "
        "they are with --split validation='val/**' --split NAME='validation/**'",
    )


def test_an_unlabelled_split_beside_a_labelled_one(source, run, draw_folder) -> None:
    draw_folder(Path("s"), ["train/a/1.jpg", "train/b/2.jpg", "test/3.jpg"])
    assert run("s", "out") == (
        3,
        "every split must have class folders (none in test of s, but 1 image directly); "
        "leave it out with --exclude 'test/**', or use --no-labels",
    )
    assert run("s", "out", "--exclude", "test/**")[0] == 0


def test_files_that_fit_no_pattern(source, run) -> None:
    assert run("in", "out", "--split", "train=cat/**") == (
        2,
        "every file must fit a --split pattern (3 files fit none: dog/000.jpg, dog/001.jpg, "
        "dog/002.jpg); add a pattern, or --exclude them",
    )


def test_a_file_that_fits_two_patterns(source, run) -> None:
    code, said = run("in", "out", "--split", "train=**", "--split", "test=cat/000.jpg")
    assert (code, said) == (
        2,
        "a file must belong to one split (cat/000.jpg fits --split train and test); make the "
        "patterns exclude each other",
    )


def test_unknown_classes_are_named_with_their_counts(source, run) -> None:
    Path("s.yaml").write_text(
        "features:\n  image: {kind: image}\n  label: {kind: class_label, names: [cat, emu]}\n"
    )
    assert run("in", "out", "--schema", "s.yaml") == (
        4,
        "every class folder of in must be one of cat, emu (also found: dog (3 images)); add "
        "them to features.label.names, or leave them out with --exclude",
    )


CONTENTS = {
    "empty file": (b"", "must be an image (the file is empty)"),
    "HTML": (
        b"<html><body>Not found",
        "must be an image (it is an HTML page, as a failed download leaves behind)",
    ),
    "pixel limit": (
        PNG_HEADER,
        "must have at most 100,000,000 pixels (got 60000 x 60000); resize it, or raise max_pixels "
        "in the schema",
    ),
    "text": (b"hello", "must be an image (its first bytes are 68 65 6c 6c 6f, no known format's)"),
}


@pytest.mark.parametrize("case", CONTENTS, ids=str)
@pytest.mark.parametrize("check", ["decode", "header"])
def test_files_that_are_no_images(source, run, case, check) -> None:
    content, reason = CONTENTS[case]
    Path("in/dog/001.jpg").write_bytes(content)
    assert run("in", "out", "--check", check) == (
        4,
        f"dog/001.jpg: {reason}; mend or remove it, or use --on-error skip",
    )
    assert not Path("out").exists()


@pytest.mark.parametrize("check", ["decode", "header"])
def test_truncated_jpeg(source, run, check) -> None:
    path = Path("in/dog/001.jpg")
    path.write_bytes(path.read_bytes()[:-40])
    assert run("in", "out", "--check", check) == (
        4,
        "dog/001.jpg: the JPEG has no end marker (truncated); mend or remove it, or use --on-error "
        "skip",
    )


@pytest.mark.parametrize("check", ["decode", "header"])
def test_truncated_png(source, run, draw_image, check) -> None:
    path = draw_image(Path("in/dog/x.png"))
    path.write_bytes(path.read_bytes()[:-40])
    assert run("in", "out", "--check", check) == (
        4,
        "dog/x.png: the PNG ends too early (truncated); mend or remove it, or use --on-error skip",
    )


def test_unreadable_files_are_the_sources_fault(source, run) -> None:
    os.symlink("nowhere.jpg", "in/dog/broken.jpg")
    os.mkfifo("in/dog/pipe.jpg")
    assert run("in", "out") == (
        3,
        "2 or more inputs do not fit; mend or remove them, or use --on-error skip:\n"
        "  dog/broken.jpg: is a link that leads nowhere\n"
        "  dog/pipe.jpg: is no regular file",
    )
    assert run("in", "out", "--on-error", "skip")[0] == 0
    assert len(Path("out/report.jsonl").read_text().splitlines()) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(source, run) -> None:
    Path("in/dog/001.jpg").chmod(0)
    assert run("in", "out") == (
        3,
        "dog/001.jpg: could not be read (permission denied); mend or remove it, or use --on-error "
        "skip",
    )


def test_up_to_twenty_faults_are_listed(source, run) -> None:
    for index in range(15):
        Path(f"in/cat/bad{index:02d}.jpg").write_bytes(b"")
        Path(f"in/dog/bad{index:02d}.jpg").write_bytes(b"")
    code, said = run("in", "out")
    lines = said.splitlines()
    assert code == 4
    assert lines[0] == (
        "30 or more inputs do not fit; mend or remove them, or use --on-error skip:"
    )
    assert lines[1] == "  cat/bad00.jpg: must be an image (the file is empty)"
    assert (len(lines), lines[-1]) == (22, "  … and 10 more")
    code, said = run("in", "out", "--fail-fast")
    assert code == 4
    assert len(said.splitlines()) == 1


def test_all_faults_are_listed_if_there_are_few(source, run) -> None:
    for name in ("cat/x.jpg", "dog/y.jpg", "dog/z.jpg"):
        Path("in", name).write_bytes(b"")
    assert run("in", "out", "--num-shards", "3") == (
        4,
        "3 inputs do not fit; mend or remove them, or use --on-error skip:\n"
        "  cat/x.jpg: must be an image (the file is empty)\n"
        "  dog/y.jpg: must be an image (the file is empty)\n"
        "  dog/z.jpg: must be an image (the file is empty)",
    )


def test_files_that_are_no_images_are_ignored_and_counted(source, capsys) -> None:
    for name in ("LICENSE.txt", "cat/Thumbs.db", "dog/.DS_Store", "._x.jpg"):
        Path("in", name).write_bytes(b"x")
    os.mkdir("in/__MACOSX")
    Path("in/__MACOSX/x.jpg").write_bytes(b"x")
    assert tfrec_convert(["in", "out"]) == 0
    assert "Ignored files that are no images: 1 .db, 1 .txt, 2 hidden" in capsys.readouterr().out


def test_an_existing_dataset_is_not_touched(source, capsys) -> None:
    assert tfrec_convert(["in", "out"]) == 0
    before = {path: path.read_bytes() for path in Path("out").iterdir()}
    assert tfrec_convert(["in", "out", "--seed", "1"]) == 5
    assert capsys.readouterr().err == (
        "tfrec-convert: error: the output must be a new folder (out holds a dataset already); use "
        "--overwrite to replace it, or choose another folder\n"
    )
    assert {path: path.read_bytes() for path in Path("out").iterdir()} == before


def test_an_output_with_other_files_is_not_touched(source, run) -> None:
    os.mkdir("out")
    Path("out/notes.txt").write_text("mine")
    assert run("in", "out") == (
        5,
        "the output must be an empty folder (out holds 'notes.txt'); choose another folder, or use "
        "--overwrite to write beside what is there",
    )
    assert [path.name for path in Path("out").iterdir()] == ["notes.txt"]


def test_the_output_is_a_file(source, run) -> None:
    Path("file").write_text("x")
    assert run("in", "file") == (5, "the output must be a folder (file is a file)")


def test_a_schema_with_problems(source, run) -> None:
    Path("s.yaml").write_text("features:\n  image: {kind: picture}\n  label: {names: cat}\n")
    code, said = run("in", "out", "--schema", "s.yaml")
    assert code == 2
    assert [line.partition(" must")[0] for line in said.splitlines()] == [
        "s.yaml: features.image.kind:",
        "s.yaml: features.label.kind:",
    ]


def test_a_flag_that_does_not_exist(source, run) -> None:
    code, said = run("in", "out", "--shards", "3")
    assert code == 2
    assert "No such option" in said
    assert "--shards" in said
