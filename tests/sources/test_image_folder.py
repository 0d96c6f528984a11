"""Listing folders of images, and what paths say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.errors import SourceError
from tfrec_tools.layout import Layout
from tfrec_tools.records import LISTING_SCHEMA, Unit, keys_of
from tfrec_tools.sources import image_folder
from tfrec_tools.storage import LocalStorage


def listed(root: Path, *, exclude=(), sort=False) -> list[bytes]:
    storage = LocalStorage(str(root))
    keys = []
    for unit in image_folder.list_units(storage):
        for batch in image_folder.list_unit(storage, unit, exclude, sort=sort):
            assert batch.files.schema == LISTING_SCHEMA
            keys += keys_of(batch.files)
    return keys


def touch(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())
    return root


def test_units_are_the_root_and_its_folders_in_byte_order(tmp_path) -> None:
    touch(tmp_path, "b/1.jpg", "a-b/1.jpg", "a/1.jpg", ".git/x.jpg", "__MACOSX/x.jpg", "0.jpg")
    assert image_folder.list_units(LocalStorage(str(tmp_path))) == [
        Unit(b"", recursive=False),
        Unit(b"a"),
        Unit(b"a-b"),
        Unit(b"b"),
    ]


def test_excluded_folders_are_no_units(tmp_path) -> None:
    touch(tmp_path, "a/1.jpg", "b/1.jpg", "masks/1.jpg", "0.jpg")
    assert image_folder.list_units(LocalStorage(str(tmp_path)), ("masks/**", "b", "a/1*")) == [
        Unit(b"", recursive=False),
        Unit(b"a"),
    ]


def test_images_are_files_with_image_extensions_or_none(tmp_path) -> None:
    names = ["a/1.jpg", "a/2.JPEG", "a/3.Png", "a/noext", "a/4.webp", "a/5.heic"]
    touch(tmp_path, *names, "a/x.txt", "a/y.xml", "a/.hidden.jpg", "a/._1.jpg", "a/Thumbs.db")
    assert sorted(listed(tmp_path)) == sorted(name.encode() for name in names)


def test_ignored_files_are_counted_by_extension(tmp_path) -> None:
    touch(tmp_path, "a/1.jpg", "a/x.txt", "a/y.TXT", "a/.z", "a/deep/x.json")
    storage = LocalStorage(str(tmp_path))
    (batch,) = image_folder.list_unit(storage, Unit(b"a"))
    assert batch.ignored == {".txt": 2, "hidden": 1, ".json": 1}
    assert batch.folders == (b"a", b"a/deep")


def test_sorted_listing_is_in_byte_order_of_whole_paths(tmp_path) -> None:
    names = ["u/a/1.jpg", "u/a-b/1.jpg", "u/a.jpg", "u/a/b/c.jpg", "u/B.jpg", "u/é.jpg", "u/z.jpg"]
    touch(tmp_path, *names)
    assert listed(tmp_path, sort=True) == sorted(os.fsencode(name) for name in names)


def test_links_keep_their_own_place_and_loops_end(tmp_path) -> None:
    touch(tmp_path / "in", "a/1.jpg", "b/2.jpg")
    touch(tmp_path / "elsewhere", "deep/3.jpg")
    os.symlink(tmp_path / "elsewhere", tmp_path / "in" / "a" / "linked")
    os.symlink(tmp_path / "in" / "b" / "2.jpg", tmp_path / "in" / "a" / "two.jpg")
    os.symlink(tmp_path / "in" / "a", tmp_path / "in" / "a" / "loop")
    os.symlink("..", tmp_path / "elsewhere" / "deep" / "up")
    os.symlink(".", tmp_path / "in" / "self")
    assert sorted(listed(tmp_path / "in")) == [
        b"a/1.jpg",
        b"a/linked/deep/3.jpg",
        b"a/two.jpg",
        b"b/2.jpg",
    ]


def test_names_that_are_no_text_are_kept_as_bytes(tmp_path) -> None:
    name = os.fsencode(tmp_path) + b"/a/\xff\xfe.jpg"
    os.mkdir(tmp_path / "a")
    with open(name, "wb"):
        pass
    assert listed(tmp_path) == [b"a/\xff\xfe.jpg"]


def test_excluded_folders_are_not_entered(tmp_path) -> None:
    touch(tmp_path, "a/1.jpg", "a/skip/2.jpg", "masks/1.png", "b/x_small.jpg", "b/x.jpg")
    patterns = ("masks/**", "a/skip", "*_small.jpg")
    assert sorted(listed(tmp_path, exclude=patterns)) == [b"a/1.jpg", b"b/x.jpg"]


def test_more_files_than_a_batch_holds(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(image_folder, "MAX_BATCH_RECORDS", 4)
    touch(tmp_path, *(f"a/{i}/{i}.jpg" for i in range(11)))
    storage = LocalStorage(str(tmp_path))
    batches = list(image_folder.list_unit(storage, Unit(b"a")))
    assert [batch.files.num_rows for batch in batches] == [4, 4, 3]
    assert image_folder.joined_batches(batches).files.num_rows == 11


def test_a_source_that_is_none(tmp_path) -> None:
    (tmp_path / "file").write_text("x")
    for name, what in (("nowhere", "does not exist"), ("file", "is a file")):
        with pytest.raises(SourceError, match=what):
            image_folder.list_units(LocalStorage(str(tmp_path / name)))


def test_columns_of_a_path() -> None:
    layout = Layout(folder_splits={b"train": "train"}, label_depth=1)
    assert image_folder.path_parts(b"train/cat/old/x.y.jpg", layout) == {
        "label": b"cat",
        "filename": b"train/cat/old/x.y.jpg",
        "folder": b"train/cat/old",
        "file": b"x.y.jpg",
        "stem": b"x.y",
        "extension": b".jpg",
    }
    keys = [b"train/cat/1.jpg", b"train/dog/2.jpg"]
    for name in ("label", "filename", "stem"):
        assert image_folder.source_column(name, keys, layout).to_pylist() == [
            image_folder.path_parts(key, layout)[name] for key in keys
        ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{folder}/{stem}.txt", b"cat/x.txt"),
        ("../masks/{label}/{stem}.png", b"../masks/cat/x.png"),
        ("../masks/../{stem}.png", b"../x.png"),
        ("../masks/{folder}/../../{stem}.png", None),
        ("../{stem}.png", b"../x.png"),
        ("{folder}/../../{stem}.png", None),
        ("masks/{stem}{extension}", b"masks/x.jpg"),
    ],
)
def test_path_patterns_stay_below_their_declared_root(pattern, expected) -> None:
    layout = Layout(label_depth=0)
    assert image_folder.referenced_path(pattern, b"cat/x.jpg", layout) == expected


@given(st.from_regex(rb"[a-z.]{1,8}(/[a-z.]{1,8}){0,3}", fullmatch=True))
def test_no_name_of_a_file_leads_out_of_the_declared_root(key) -> None:
    path = image_folder.referenced_path("../masks/{folder}/{stem}.png", key, Layout())
    assert path is None or path.startswith(b"../masks/")
