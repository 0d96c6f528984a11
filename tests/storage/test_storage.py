"""Local and fsspec storages behave alike."""

from __future__ import annotations

import os

import fsspec
import pytest

import tfrec_tools
from tfrec_tools.errors import DatasetError, RequestError
from tfrec_tools.storage import base_name, open_storage, split_url


@pytest.fixture(params=["local", "memory"])
def storage(request, tmp_path):
    if request.param == "local":
        return open_storage(str(tmp_path / "folder"))
    fsspec.filesystem("memory").store.clear()
    return open_storage("memory://bucket/folder")


def test_files_are_written_listed_read_renamed_and_removed(storage) -> None:
    storage.make_folder()
    with storage.create(b"a.bin") as file:
        file.write_pieces([b"one", b"", b"two"])
        file.write_pieces([b"x"] * 5000)
    assert storage.read(b"a.bin") == b"onetwo" + b"x" * 5000
    assert storage.size(b"a.bin") == 5006
    storage.make_folder(b"inner")
    with storage.create(b"inner/[b]*.bin") as file:
        file.write_pieces([b"b"])
    assert sorted((e.name, e.is_folder, e.num_bytes) for e in storage.entries()) == [
        (b"a.bin", False, 5006),
        (b"inner", True, 0),
    ]
    storage.rename(b"inner/[b]*.bin", b"c?.bin")
    assert storage.exists(b"c?.bin")
    storage.remove(b"c?.bin")
    storage.remove(b"c?.bin")
    assert not storage.exists(b"c?.bin")
    assert storage.size(b"c?.bin") is None
    storage.remove_tree(b"inner")
    storage.remove_tree(b"inner")
    assert [e.name for e in storage.entries()] == [b"a.bin"]


def test_reading_many_keeps_the_order_and_gives_errors_in_their_place(storage) -> None:
    storage.make_folder()
    for name in (b"1", b"2", b"3"):
        with storage.create(name) as file:
            file.write_pieces([name * 10])
    found = list(storage.read_many([b"3", b"missing", b"1", b"2"], [10, 5, 3, 500]))
    assert found[0] == b"3" * 10
    assert isinstance(found[1], FileNotFoundError)
    assert found[2:] == [b"1" * 10, b"2" * 10]


def test_a_file_whose_writing_fails_does_not_appear_remotely() -> None:
    storage = open_storage("memory://bucket/broken")
    with pytest.raises(KeyError), storage.create(b"x") as file:
        file.write_pieces([b"half"])
        raise KeyError
    assert not storage.exists(b"x")


def test_errors_say_what_could_not_be_written(tmp_path) -> None:
    storage = open_storage(str(tmp_path))
    missing = r"x/y could not be written: no such file or directory"
    with pytest.raises(DatasetError, match=missing), storage.create(b"x/y"):
        pass
    (tmp_path / "file").write_text("x")
    with pytest.raises(DatasetError, match="could not be written: not a directory"):
        storage.make_folder(b"file/inner")


def test_urls() -> None:
    assert split_url("a/b/c.yaml") == ("a/b", "c.yaml")
    assert split_url("c.yaml") == (".", "c.yaml")
    assert split_url("/c.yaml") == ("/", "c.yaml")
    assert split_url("gs://bucket/x/c.yaml") == ("gs://bucket/x", "c.yaml")
    assert base_name("gs://bucket/pets/") == "pets"
    assert base_name("images/pets/") == "pets"
    assert base_name(".") == os.path.basename(os.getcwd())
    assert open_storage("file:///tmp").is_local
    with pytest.raises(RequestError, match="is no URL that fsspec knows"):
        open_storage("nonsense://x")


def test_a_conversion_between_urls_gives_the_bytes_of_local_paths(
    tmp_path, draw_folder, file_hashes
) -> None:
    source = draw_folder(tmp_path / "pets", {"a[1]*": 5, "b?": 5})
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.put(str(source), "/in/pets", recursive=True)
    options = {"num_shards": 3, "splits": {"train": 0.6, "test": 0.4}}
    tfrec_tools.convert(source, tmp_path / "local", **options)
    tfrec_tools.convert("memory://in/pets", "memory://out/pets", **options)
    memory.get("/out/pets", str(tmp_path / "copied"), recursive=True)
    assert file_hashes(tmp_path / "copied") == file_hashes(tmp_path / "local")
