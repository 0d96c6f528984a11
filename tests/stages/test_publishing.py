"""Staging and publishing: a dataset appears whole, last of all its manifest, or not at all."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tfrec_tools
from tfrec_tools import stages
from tfrec_tools.errors import DatasetError, RecordError
from tfrec_tools.stages import shard_writing
from tfrec_tools.storage import LocalStorage
from tfrec_tools.storage import local as local_storage


@pytest.fixture
def source(tmp_path, draw_folder):
    return draw_folder(tmp_path / "in", {"a": 12, "b": 12})


@pytest.fixture
def expected(source, tmp_path, file_hashes):
    """What an undisturbed conversion into four shards writes."""
    tfrec_tools.convert(source, tmp_path / "undisturbed", num_shards=4)
    return file_hashes(tmp_path / "undisturbed")


def staged(out: Path) -> list[str]:
    return sorted(path.name for path in out.glob(".tfrec-*/*.shard.json"))


def interrupt_after(monkeypatch, number: int) -> list[str]:
    """Let writing the shard after ``number`` shards be interrupted; return who was written."""
    write, written = stages.write_shard, []

    def interrupted(plan, shard, files, on_progress=None):
        if len(written) == number:
            raise KeyboardInterrupt
        written.append(plan.shard_name(shard))
        return write(plan, shard, files, on_progress)

    monkeypatch.setattr(stages, "write_shard", interrupted)
    return written


def test_the_same_command_continues_and_ends_with_the_same_bytes(
    source, tmp_path, expected, file_hashes, monkeypatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_after(patch, 2)
        tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert [p.name[:7] for p in (tmp_path / "out").iterdir()] == [".tfrec-"]
    assert len(staged(tmp_path / "out")) == 2
    again = interrupt_after(monkeypatch, 99)
    tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert again == [f"train-0000{i}-of-00004.tfrecord" for i in (2, 3)]
    assert file_hashes(tmp_path / "out") == expected


def test_an_interruption_before_any_shard_leaves_nothing(source, tmp_path, monkeypatch) -> None:
    interrupt_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("damage", ["shard", "sidecar", "fingerprint", "missing"])
def test_a_staged_shard_that_is_not_whole_is_written_again(
    source, tmp_path, expected, file_hashes, monkeypatch, damage
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_after(patch, 2)
        tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    (staging,) = (tmp_path / "out").glob(".tfrec-*")
    shard = staging / "train-00001-of-00004.tfrecord"
    sidecar = Path(f"{shard}.shard.json")
    if damage == "shard":
        content = bytearray(shard.read_bytes())
        content[77] ^= 1
        shard.write_bytes(content)
    elif damage == "sidecar":
        sidecar.write_bytes(sidecar.read_bytes().replace(b'"num_records": ', b'"num_records": 1'))
    elif damage == "fingerprint":
        sidecar.write_bytes((staging / "train-00000-of-00004.tfrecord.shard.json").read_bytes())
    else:
        shard.unlink()
    again = interrupt_after(monkeypatch, 99)
    tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert again == [f"train-0000{i}-of-00004.tfrecord" for i in (1, 2, 3)]
    assert file_hashes(tmp_path / "out") == expected


def test_only_the_shard_of_a_mended_input_is_written_again(
    source, tmp_path, expected, file_hashes, monkeypatch
) -> None:
    good = (source / "a" / "003.jpg").read_bytes()
    (source / "a" / "003.jpg").write_bytes(good[:-1] + b"x")
    with pytest.raises(RecordError):
        tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert len(staged(tmp_path / "out")) == 3
    (source / "a" / "003.jpg").write_bytes(good)
    again = interrupt_after(monkeypatch, 99)
    tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert len(again) == 1
    assert file_hashes(tmp_path / "out") == expected


@pytest.mark.parametrize("after", range(0, 15, 2))
def test_an_interrupted_publishing_is_no_dataset_and_is_continued(
    source, tmp_path, expected, file_hashes, monkeypatch, after
) -> None:
    rename, renamed = LocalStorage.rename, []

    def interrupted(self, source, target):
        if len(renamed) == after:
            raise KeyboardInterrupt
        renamed.append(target)
        rename(self, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "rename", interrupted)
        try:
            tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
        except KeyboardInterrupt:
            assert not (tmp_path / "out" / "manifest.json").exists()
    if not (tmp_path / "out" / "manifest.json").exists():
        tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert file_hashes(tmp_path / "out") == expected


def test_overwriting_removes_the_old_files_and_keeps_others(source, tmp_path) -> None:
    out = tmp_path / "out"
    tfrec_tools.convert(source, out, num_shards=3, splits={"train": 0.5, "old": 0.5})
    (out / "notes.txt").write_text("mine")
    tfrec_tools.convert(source, out, num_shards=2, overwrite=True)
    assert sorted(path.name for path in out.iterdir()) == [
        "dataset_info.json",
        "features.json",
        "label.labels.txt",
        "manifest.json",
        "notes.txt",
        "report.jsonl",
        "schema.pbtxt",
        "train-00000-of-00002.tfrecord",
        "train-00000-of-00002.tfrecord.idx",
        "train-00001-of-00002.tfrecord",
        "train-00001-of-00002.tfrecord.idx",
    ]


def test_a_failed_overwrite_keeps_the_old_dataset(source, tmp_path, file_hashes) -> None:
    tfrec_tools.convert(source, tmp_path / "out")
    before = file_hashes(tmp_path / "out")
    (source / "a" / "000.jpg").write_bytes(b"")
    with pytest.raises(RecordError):
        tfrec_tools.convert(source, tmp_path / "out", overwrite=True)
    after = file_hashes(tmp_path / "out")
    assert {name: digest for name, digest in after.items() if "/" not in name} == before


def test_leftovers_of_other_plans_go_when_a_dataset_is_published(
    source, tmp_path, expected, file_hashes, monkeypatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        interrupt_after(patch, 1)
        tfrec_tools.convert(source, tmp_path / "out", seed=7, num_shards=4)
    tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert file_hashes(tmp_path / "out") == expected


def _hold_lock(path: str, held, done) -> None:
    with LocalStorage(path).locked():
        held.set()
        done.wait(30)


def test_a_second_conversion_into_the_same_folder_is_refused(source, tmp_path) -> None:
    (tmp_path / "out").mkdir()
    context = multiprocessing.get_context("fork")
    held, done = context.Event(), context.Event()
    holder = context.Process(target=_hold_lock, args=(str(tmp_path / "out"), held, done))
    holder.start()
    try:
        assert held.wait(30)
        with pytest.raises(DatasetError, match="is being written by another conversion"):
            tfrec_tools.convert(source, tmp_path / "out")
    finally:
        done.set()
        holder.join()
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_is_said_and_publishes_nothing(source, tmp_path, monkeypatch) -> None:
    writev = os.writev

    def full(descriptor, pieces):
        if "00002" in os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/")[2]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return writev(descriptor, pieces)

    monkeypatch.setattr(local_storage.os, "writev", full)
    with pytest.raises(DatasetError) as found:
        tfrec_tools.convert(source, tmp_path / "out", num_shards=4)
    assert str(found.value).endswith(
        "train-00002-of-00004.tfrecord could not be written: the disk is full; make room and run "
        "the same command again to go on"
    )
    assert found.value.exit_code == 5
    assert [p.name[:7] for p in (tmp_path / "out").iterdir()] == [".tfrec-"]


def test_a_really_full_disk(source, tmp_path) -> None:
    """The kernel's own refusal: files may not grow over 8 KiB."""
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "from tfrec_tools.cli.main import tfrec_convert\n"
        f"sys.exit(tfrec_convert([{str(source)!r}, {str(tmp_path / 'out')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.endswith(".tfrecord could not be written: file too large\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_signals_leave_at_most_the_staging_folder(
    tmp_path, draw_image, file_hashes, number
) -> None:
    """A conversion with a pool, stopped by a signal to its whole process group."""
    picture = draw_image(tmp_path / "picture.png", size=(300, 400)).read_bytes()
    for index in range(600):
        path = tmp_path / "in" / "ab"[index % 2] / f"{index}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
    command = [sys.executable, "-m", "tfrec_tools", "convert", tmp_path / "in", tmp_path / "out"]
    command += ["--num-shards", "12", "--workers", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(staged(tmp_path / "out")) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == (
        "tfrec: interrupted; what was finished is kept, the same command goes on from there"
    )
    assert [p.name[:7] for p in (tmp_path / "out").iterdir()] == [".tfrec-"]
    subprocess.run(command, check=True)
    tfrec_tools.convert(tmp_path / "in", tmp_path / "undisturbed", num_shards=12)
    assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "undisturbed")


def test_publishing_refuses_results_that_do_not_add_up(source, tmp_path) -> None:
    from tfrec_tools import local_engine
    from tfrec_tools.request import Request, SourceSpec

    request = Request(source=SourceSpec(root=str(source)), output=str(tmp_path / "out"))
    placed = local_engine.plan_conversion(request)
    stages.prepare_output(placed.plan)
    shards = list(stages.sorted_by_shard(placed.plan, placed.files))
    results = [shard_writing.write_shard(placed.plan, *shard) for shard in shards]
    with pytest.raises(DatasetError, match="each of the 1 shards must report exactly once"):
        stages.publish(placed.plan, placed.survey, results + results)
    with pytest.raises(DatasetError, match="each of the 1 shards must report exactly once"):
        stages.publish(placed.plan, placed.survey, [])
    short = shard_writing.write_shard(placed.plan, shards[0][0], shards[0][1].slice(1))
    with pytest.raises(DatasetError, match=r"24 were listed, 23 written, 0 rejected"):
        stages.publish(placed.plan, placed.survey, [short])
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_checksums_in_the_manifest_are_those_of_the_files(source, tmp_path) -> None:
    import google_crc32c

    manifest = tfrec_tools.convert(source, tmp_path / "out", num_shards=2)
    data = json.loads((tmp_path / "out" / "manifest.json").read_text())
    infos = {s["name"]: s for split in data["splits"] for s in split["shards"]} | data["files"]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {*infos, "manifest.json"}
    for name, info in infos.items():
        content = (tmp_path / "out" / name).read_bytes()
        assert info["num_bytes"] == len(content)
        assert info["crc32c"] == f"{google_crc32c.value(content):08x}"
    assert manifest == tfrec_tools.load_manifest(str(tmp_path / "out"))
