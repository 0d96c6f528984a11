"""Conversions end to end: the same request gives the same bytes, and nothing is lost."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import tfrec_tools
from tfrec_tools import example_codec, shard_files
from tfrec_tools.errors import RecordError, RequestError, SourceError
from tfrec_tools.storage import LocalStorage
from tfrec_tools.worker_start import SMALL_NUM_FILES

GOLDEN = Path(__file__).parent / "golden"
DATA_FILES = "train-00000-of-00001.tfrecord"


def records(out: Path, split: str = "train") -> list[dict[str, object]]:
    """Return every record of a split in order, decoded: one value per feature."""
    manifest = tfrec_tools.load_manifest(str(out))
    found = []
    for shard in manifest.split(split).shards:
        for payload in shard_files.read_payloads(LocalStorage(str(out)), shard.name.encode()):
            decoded = example_codec.decode_one(payload)
            found.append({name: values[0] for name, (_, values) in decoded.items()})
    return found


def test_golden_bytes(tmp_path, file_hashes) -> None:
    """
    The whole output for three committed pictures. Recipe: convert(GOLDEN / "images", out,
    num_shards=2, splits={"train": 0.5, "test": 0.5}); a change needs a new FORMAT_VERSION.
    """
    tfrec_tools.convert(
        GOLDEN / "images", tmp_path / "out", num_shards=2, splits={"train": 0.5, "test": 0.5}
    )
    assert file_hashes(tmp_path / "out") == file_hashes(GOLDEN / "dataset")


def test_any_number_of_workers_writes_the_same_bytes(tmp_path, file_hashes) -> None:
    """More files than one process takes alone, damaged ones among them, so that a pool runs."""
    source = tmp_path / "in"
    picture = tmp_path / "a.jpg"
    Image.new("RGB", (8, 8), (200, 10, 30)).save(picture)
    for label in ("cat", "dog", "emu"):
        (source / label).mkdir(parents=True)
        for index in range(SMALL_NUM_FILES // 3 + 20):
            shutil.copy(picture, source / label / f"{index}.jpg")
    (source / "cat" / "7.jpg").write_bytes(picture.read_bytes()[:200])
    (source / "cat" / "LICENSE.txt").write_text("free")
    for workers in (1, 2, 5):
        manifest = tfrec_tools.convert(
            source,
            tmp_path / f"out{workers}",
            num_workers=workers,
            on_error="skip",
            num_shards={"train": 7},
            splits={"train": 0.8, "test": 0.2},
        )
        assert manifest.num_records == 3 * (SMALL_NUM_FILES // 3 + 20) - 1
    one, two, five = (file_hashes(tmp_path / f"out{workers}") for workers in (1, 2, 5))
    assert one == two == five


def test_listing_order_does_not_matter(tmp_path, draw_folder, file_hashes, monkeypatch) -> None:
    source = draw_folder(tmp_path / "in", {"a": 9, "b": 9, "b/deep": 3, "c": 2})
    tfrec_tools.convert(source, tmp_path / "out1", splits={"train": 0.7, "test": 0.3})
    entries = LocalStorage.entries

    def shuffled(self, path=b""):
        found = list(entries(self, path))
        random.Random(1).shuffle(found)
        return iter(found)

    monkeypatch.setattr(LocalStorage, "entries", shuffled)
    tfrec_tools.convert(source, tmp_path / "out2", splits={"train": 0.7, "test": 0.3})
    assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out2")


def test_pythonhashseed_does_not_matter(tmp_path, draw_folder, file_hashes) -> None:
    source = draw_folder(tmp_path / "in", {"a": 5, "b": 5, "c": 5})
    flags = ["--splits", "train=0.5,test=0.5", "--stratify", "label"]
    for seed in ("0", "12345"):
        subprocess.run(
            [sys.executable, "-m", "tfrec_tools", "convert", source, tmp_path / seed, *flags],
            env=os.environ | {"PYTHONHASHSEED": seed},
            check=True,
        )
    assert file_hashes(tmp_path / "0") == file_hashes(tmp_path / "12345")


def test_concatenated_shards_do_not_depend_on_their_number(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 20, "b": 20})
    joined = []
    for num_shards in (1, 7, 64):
        out = tmp_path / str(num_shards)
        manifest = tfrec_tools.convert(source, out, num_shards=num_shards)
        names = [shard.name for shard in manifest.split("train").shards]
        assert len(names) == num_shards
        joined.append(b"".join((out / name).read_bytes() for name in names))
    assert joined[0] == joined[1] == joined[2]


def test_another_seed_gives_another_order_of_the_same_records(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 20, "b": 20})
    tfrec_tools.convert(source, tmp_path / "0")
    tfrec_tools.convert(source, tmp_path / "1", seed=1)
    names = [[r["filename"] for r in records(tmp_path / seed)] for seed in ("0", "1")]
    assert names[0] != names[1]
    assert sorted(names[0]) == sorted(names[1])


def test_source_order_is_that_of_the_paths(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 11, "a-b": 3, "b": 7, "b/x": 2})
    tfrec_tools.convert(source, tmp_path / "out", order="source", num_shards=3)
    names = [record["filename"] for record in records(tmp_path / "out")]
    assert len(names) == 23
    assert names == sorted(names, key=lambda name: (name.split(b"/")[0], name))


def test_source_order_fills_every_shard_of_every_split_that_folders_decide(
    tmp_path, draw_folder
) -> None:
    source = draw_folder(tmp_path / "in", {"train/a": 12, "test/a": 4, "test/b": 4, "train/b": 4})
    manifest = tfrec_tools.convert(source, tmp_path / "out", order="source", num_shards=4)
    counts = {s.name: [shard.num_records for shard in s.shards] for s in manifest.splits}
    assert counts == {"train": [4, 4, 4, 4], "test": [2, 2, 2, 2]}


def test_records_hold_what_the_source_says(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 1})
    manifest = tfrec_tools.convert(source, tmp_path / "out")
    assert manifest.class_names() == ("a", "b")
    assert manifest.class_counts("train") == {"a": 2, "b": 1}
    by_name = {record["filename"].decode(): record for record in records(tmp_path / "out")}
    assert sorted(by_name) == ["a/000.jpg", "a/001.jpg", "b/000.jpg"]
    for name, record in by_name.items():
        assert record["image"] == (source / name).read_bytes()
        assert record["label"] == {"a": 0, "b": 1}[name[0]]
        assert (record["image_height"], record["image_width"]) == (24, 32)


def test_small_shards_may_be_empty(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 1, "b": 1})
    manifest = tfrec_tools.convert(source, tmp_path / "out", num_shards=9)
    counts = [shard.num_records for shard in manifest.split("train").shards]
    assert (len(counts), sum(counts)) == (9, 2)
    for shard in manifest.split("train").shards:
        assert (tmp_path / "out" / shard.name).stat().st_size == shard.num_bytes


def test_a_record_keeps_its_split_when_data_are_added(tmp_path, draw_folder) -> None:
    splits = {"train": 0.6, "test": 0.4}
    source = draw_folder(tmp_path / "in", {"a": 30, "b": 30})
    tfrec_tools.convert(source, tmp_path / "before", splits=splits)
    draw_folder(source, [f"a/more{i}.jpg" for i in range(20)])
    tfrec_tools.convert(source, tmp_path / "after", splits=splits)
    for split in splits:
        before = {record["filename"] for record in records(tmp_path / "before", split)}
        after = {record["filename"] for record in records(tmp_path / "after", split)}
        assert before
        assert before == {name for name in after if b"more" not in name}


def test_stratified_splits_give_every_class_its_share(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"rare": 10, "common": 60})
    manifest = tfrec_tools.convert(
        source, tmp_path / "out", splits={"train": 0.8, "test": 0.2}, stratify="label"
    )
    assert manifest.class_counts("train") == {"common": 48, "rare": 8}
    assert manifest.class_counts("test") == {"common": 12, "rare": 2}


def test_equal_values_of_a_column_share_a_split(tmp_path, draw_folder) -> None:
    files = [f"{c}/p{p}/{i}.jpg" for c in "ab" for p in range(12) for i in range(3)]
    source = draw_folder(tmp_path / "in", files)
    tfrec_tools.convert(
        source, tmp_path / "out", splits={"train": 0.5, "test": 0.5}, split_by="folder"
    )
    folders = [
        {record["filename"].rpartition(b"/")[0] for record in records(tmp_path / "out", split)}
        for split in ("train", "test")
    ]
    assert not folders[0] & folders[1]
    assert len(folders[0] | folders[1]) == 24
    assert all(folders)


def test_splits_from_divides_as_the_other_dataset_was(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 20, "b": 20})
    old = tmp_path / "old"
    tfrec_tools.convert(source, old, splits={"train": 0.7, "test": 0.3}, stratify="label", seed=5)
    shutil.rmtree(source / "b")
    draw_folder(source, [f"b/{i:03d}.jpg" for i in range(5)])
    tfrec_tools.convert(source, tmp_path / "new", splits_from=str(old))
    new = tfrec_tools.load_manifest(str(tmp_path / "new"))
    assert new.class_names() == ("a", "b")
    for split in ("train", "test"):
        before = {record["filename"] for record in records(old, split)}
        after = {record["filename"] for record in records(tmp_path / "new", split)}
        assert after <= before


def test_patterns_decide_splits_and_take_their_folder_from_the_class(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"fold1/a": 2, "fold2/b": 3, "held/a": 1})
    manifest = tfrec_tools.convert(
        source, tmp_path / "out", split_files={"train": "fold*/**", "test": "held/**"}
    )
    assert manifest.class_names() == ("a", "b")
    assert manifest.class_counts("train") == {"a": 2, "b": 3}
    assert manifest.class_counts("test") == {"a": 1, "b": 0}


def test_flat_folders_without_labels(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", ["1.jpg", "2.jpg", "deep/er/3.jpg"])
    manifest = tfrec_tools.convert(source, tmp_path / "out", labels=False)
    assert manifest.num_records == 3
    assert set(records(tmp_path / "out")[0]) == {
        "filename",
        "image",
        "image_height",
        "image_width",
    }


def test_a_pictures_files_of_other_kinds_come_with_it(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", ["a/1.jpg", "b/2.jpg"])
    (source / "a" / "1.txt").write_text("eins")
    (source / "b" / "2.txt").write_text("zwei")
    schema = {
        "features": {
            "image": {"kind": "image"},
            "caption": {"kind": "text", "from": "{folder}/{stem}.txt"},
            "number": {"kind": "int64", "from": "stem"},
            "ratio": {"kind": "float32", "from": "stem"},
            "is_one": {"kind": "bytes", "from": "extension"},
        }
    }
    tfrec_tools.convert(source, tmp_path / "out", schema=schema, labels=False)
    found = {record["number"]: record for record in records(tmp_path / "out")}
    assert found[1]["caption"] == b"eins"
    assert found[2]["caption"] == b"zwei"
    assert (found[1]["ratio"], found[1]["is_one"]) == (1.0, b".jpg")


def test_a_reference_that_leaves_its_root_is_an_error(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", ["a/1.jpg"])
    schema = {
        "features": {
            "image": {"kind": "image"},
            "caption": {"kind": "text", "from": "{folder}/../../secret.txt"},
        }
    }
    with pytest.raises(RecordError, match="must lie below the root of"):
        tfrec_tools.convert(source, tmp_path / "out", schema=schema, labels=False)


def test_masks_of_another_size_are_refused(tmp_path, draw_image) -> None:
    draw_image(tmp_path / "in" / "1.png", size=(10, 12))
    draw_image(tmp_path / "masks" / "1.png", size=(10, 11), mode="L")
    schema = {
        "features": {
            "image": {"kind": "image"},
            "mask": {"kind": "mask", "from": "../masks/{stem}.png"},
        }
    }
    with pytest.raises(
        RecordError, match=r"1.png: mask: must have the size of the picture, 12 x 10 \(got 11 x 10"
    ):
        tfrec_tools.convert(tmp_path / "in", tmp_path / "out", schema=schema, labels=False)


def test_gzip_is_stable_and_has_no_index(tmp_path, draw_folder, file_hashes) -> None:
    source = draw_folder(tmp_path / "in", {"a": 3, "b": 3})
    for name in ("one", "two"):
        tfrec_tools.convert(source, tmp_path / name, compression="gzip")
    assert file_hashes(tmp_path / "one") == file_hashes(tmp_path / "two")
    assert sorted(file_hashes(tmp_path / "one")) == [
        "manifest.json",
        "report.jsonl",
        "schema.pbtxt",
        "train-00000-of-00001.tfrecord.gz",
    ]
    assert len(records(tmp_path / "one")) == 6


def test_published_files_hold_no_paths_of_this_machine(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 2})
    (source / "a" / "bad.jpg").write_text("no picture")
    tfrec_tools.convert(source, tmp_path / "out", on_error="skip")
    for path in (tmp_path / "out").iterdir():
        assert str(tmp_path).encode() not in path.read_bytes()
        assert tfrec_tools.__version__.encode() not in path.read_bytes() or path.suffix != ".json"


def test_rejected_inputs_are_counted_and_listed(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 3, "b": 3})
    (source / "a" / "001.jpg").write_bytes(b"")
    (source / "b" / "x.jpg").write_text("<!DOCTYPE html><p>404")
    (source / "b" / "Thumbs.db").write_bytes(b"x")
    manifest = tfrec_tools.convert(source, tmp_path / "out", on_error="skip")
    assert (manifest.num_records, manifest.num_rejected) == (5, 2)
    assert manifest.ignored == {".db": 1}
    lines = (tmp_path / "out" / "report.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {
            "path": "a/001.jpg",
            "action": "skipped",
            "reason": "must be an image (the file is empty)",
        },
        {
            "path": "b/x.jpg",
            "action": "skipped",
            "reason": "must be an image (it is an HTML page, as a failed download leaves behind)",
        },
    ]


def test_more_rejects_than_allowed_are_an_error(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 2})
    (source / "a" / "000.jpg").write_bytes(b"")
    (source / "b" / "000.jpg").write_bytes(b"")
    with pytest.raises(RecordError, match=r"at most 1 input may be rejected \(2 or more are"):
        tfrec_tools.convert(source, tmp_path / "out", on_error="skip", max_errors=1)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert (
        tfrec_tools.convert(source, tmp_path / "out", on_error="skip", max_errors=2).num_rejected
        == 2
    )


def test_all_rejected_is_an_error(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 1, "b": 1})
    for path in source.rglob("*.jpg"):
        path.write_bytes(b"")
    with pytest.raises(SourceError, match="all 2 inputs were rejected; nothing is written"):
        tfrec_tools.convert(source, tmp_path / "out", on_error="skip")
    assert not (tmp_path / "out" / "manifest.json").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_shards": 0}, "the number of shards must be at least 1 (got 0)"),
        ({"seed": -1}, "the seed must be from 0 to 2**64 - 1 (got -1)"),
        ({"num_workers": 0}, "the number of workers must be at least 1 (got 0)"),
        ({"max_errors": 3}, "--max-errors goes with --on-error skip"),
        ({"check": "maybe"}, "check must be 'decode' or 'header' (got 'maybe')"),
        (
            {"split_by": "folder"},
            "--split-by goes with ratios, such as --splits train=0.8,test=0.2",
        ),
        (
            {"splits": {"train": 0.8, "test": 0.3}},
            "splits: ratios must sum to 1 (they sum to 1.1)",
        ),
        (
            {"splits": "train=0.5,test=0.5", "split_by": "folder", "stratify": "label"},
            "splits: `by` keeps groups together and `stratify` cuts through them: give one of them",
        ),
        (
            {"splits": "train=1", "split_by": "image"},
            "`by` must name a column of the source: label, filename, folder, stem, extension "
            "(got 'image')",
        ),
        ({"num_shards": {"dev": 2}}, "--num-shards must name one of the splits train (got 'dev')"),
        (
            {"splits": "train=1", "split_files": {"train": "**"}},
            "splits are made either by ratios (--splits) or by patterns (--split)",
        ),
        ({"compression": "zip"}, "compression must be gzip, or none at all (got 'zip')"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_requests_that_make_no_sense(tmp_path, draw_folder, options, message) -> None:
    source = draw_folder(tmp_path / "in", {"a": 1, "b": 1})
    with pytest.raises(RequestError) as found:
        tfrec_tools.convert(source, tmp_path / "out", **options)
    assert str(found.value) == message
    assert not (tmp_path / "out").exists()
