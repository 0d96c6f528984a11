"""Tables end to end: the same data give the same bytes, and every record has its place."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import tfrec_tools
from tfrec_tools import table_plan
from tfrec_tools.errors import RecordError, RequestError, SourceError
from tfrec_tools.local_engine import tables

WORDS = ("ant", "bee", "cat", "dog")


def csv_text(num_records: int, first: int = 0) -> str:
    """Records with an id, a group of about ten, a label, a decimal and a text."""
    lines = ["id,group,label,x,text"]
    for number in range(first, first + num_records):
        word = WORDS[number % 7 % 4]
        text = f'"line {number}\nof ""{word}"""' if number % 5 == 0 else f"t{number}"
        lines.append(f"{number},g{number // 10},{word},{number / 8},{text}")
    return "\n".join(lines) + "\n"


def ids(records: list[dict[str, Any]], name: str = "id") -> list[int]:
    return [record[name][0] for record in records]


@pytest.fixture
def source(tmp_path) -> Path:
    path = tmp_path / "data.csv"
    path.write_text(csv_text(3_000))
    return path


def test_any_number_of_workers_writes_the_same_bytes(
    tmp_path, source, file_hashes, monkeypatch
) -> None:
    monkeypatch.setattr(tables, "SMALL_NUM_BYTES", 0)
    folder = tmp_path / "in"
    for number in range(3):
        (folder / f"{number}").mkdir(parents=True)
        (folder / f"{number}/part.csv").write_text(csv_text(700, first=number * 700))
    options = {
        "splits": {"train": 0.8, "test": 0.2},
        "num_shards": {"train": 5, "test": 2},
        "target": "label",
        "on_error": "skip",
    }
    text = (folder / "1/part.csv").read_text() + "1,2\n"
    (folder / "1/part.csv").write_text(text)
    for workers in (1, 2):
        manifest = tfrec_tools.convert(
            folder, tmp_path / f"out{workers}", num_workers=workers, **options
        )
        assert manifest.num_records == 2_100
    assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out2")


def test_the_order_of_the_listing_does_not_matter(tmp_path, source, file_hashes) -> None:
    """Files that were written in another order lie in another order in their folder."""
    names = ["b.csv", "a.csv", "c.csv"]
    for folder, order in (("1", names), ("2", names[::-1])):
        (tmp_path / folder / "in").mkdir(parents=True)
        for name in order:
            text = csv_text(50, first=50 * names.index(name))
            (tmp_path / folder / "in" / name).write_text(text)
        tfrec_tools.convert(tmp_path / folder / "in", tmp_path / folder / "out")
    assert file_hashes(tmp_path / "1/out") == file_hashes(tmp_path / "2/out")


def test_memory_urls_give_the_same_bytes(tmp_path, source, file_hashes) -> None:
    tfrec_tools.convert(source, tmp_path / "out", num_shards=3)
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/tables/data.csv", source.read_bytes())
    try:
        tfrec_tools.convert(
            "memory://tables/data.csv", "memory://tables/out", num_shards=3, num_workers=2
        )
        memory.get("/tables/out", str(tmp_path / "copy"), recursive=True)
    finally:
        memory.rm("/tables", recursive=True)
    assert file_hashes(tmp_path / "copy") == file_hashes(tmp_path / "out")


@pytest.mark.parametrize("num_records", [10, 40_000])
def test_data_in_memory_give_the_same_bytes_whatever_holds_them(
    tmp_path, file_hashes, num_records
) -> None:
    numbers = np.arange(num_records, dtype=np.int64)
    texts = [f"t{number % 977}" for number in range(num_records)]
    arrays = {"id": numbers, "x": numbers / 8, "text": np.array(texts, dtype=object)}
    table = pa.table({name: pa.array(values) for name, values in arrays.items()})

    def records():
        return ({name: column[i] for name, column in columns.items()} for i in range(num_records))

    columns = {"id": numbers.tolist(), "x": (numbers / 8).tolist(), "text": texts}
    sources = {
        "frame": pd.DataFrame(arrays),
        "dict": arrays,
        "lists": columns,
        "arrow": table,
        "chunked": pa.concat_tables([table.slice(0, 7), table.slice(7)]),
        "records": records,
    }
    found = {}
    for name, source in sources.items():
        tfrec_tools.convert(source, tmp_path / name, num_shards=2)
        found[name] = file_hashes(tmp_path / name)
    for name in sources:
        assert found[name] == found["arrow"], name


def test_formats_of_equal_data_hold_equal_records(tmp_path, read_dataset) -> None:
    numbers = [7, None, -(2**63), 2**63 - 1]
    texts = ["a", "", None, "ü\n"]
    table = pa.table({"n": pa.array(numbers, pa.int64()), "t": texts})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    lines = [
        json.dumps({"n": n, "t": t}, ensure_ascii=False)
        for n, t in zip(numbers, texts, strict=True)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "a.csv").write_text(
        'n,t\n7,a\n,""\n-9223372036854775808,\n9223372036854775807,"ü\n"\n'
    )
    expected = [
        {"n": [7], "t": [b"a"]},
        {"n": [], "t": [b""]},
        {"n": [-(2**63)], "t": []},
        {"n": [2**63 - 1], "t": ["ü\n".encode()]},
    ]
    for name in ("a.parquet", "a.jsonl", "a.jsonl.gz", "a.csv"):
        tfrec_tools.convert(tmp_path / name, tmp_path / f"out-{name}", order="source", num_shards=1)
        assert read_dataset(tmp_path / f"out-{name}") == expected, name
    tfrec_tools.convert(table, tmp_path / "out", order="source", num_shards=1)
    assert read_dataset(tmp_path / "out") == expected


def test_concatenated_shards_do_not_depend_on_their_number(tmp_path, source, read_dataset) -> None:
    found = {}
    for num_shards in (1, 3, 16):
        out = tmp_path / str(num_shards)
        tfrec_tools.convert(source, out, num_shards=num_shards)
        found[num_shards] = ids(read_dataset(out))
    assert found[1] == found[3] == found[16]
    assert sorted(found[1]) == list(range(3_000))
    assert found[1] != sorted(found[1])
    tfrec_tools.convert(source, tmp_path / "other", num_shards=3, seed=1)
    other = ids(read_dataset(tmp_path / "other"))
    assert other != found[3]
    assert sorted(other) == list(range(3_000))


def test_ranges_of_a_shard_are_written_one_after_the_other(
    tmp_path, source, file_hashes, monkeypatch
) -> None:
    """Only one range of a shard is in memory at a time; the bytes must not show it."""
    plans = []
    for name, range_bytes in (("whole", table_plan.RANGE_BYTES), ("ranges", 20_000)):
        monkeypatch.setattr(table_plan, "RANGE_BYTES", range_bytes)
        tfrec_tools.convert(source, tmp_path / name, num_shards=2)
        plans.append(_num_ranges(source))
    assert plans[0] == (1,)
    assert plans[1][0] > 4
    assert file_hashes(tmp_path / "whole") == file_hashes(tmp_path / "ranges")


def _num_ranges(source: Path) -> tuple[int, ...]:
    from tfrec_tools.request import Request, SourceSpec

    spec = SourceSpec(root=str(source), kind="csv")
    _, plan = tables.plan_table(Request(source=spec, output="unused", num_shards=2))
    assert plan.table is not None
    return plan.table.num_ranges


@pytest.mark.parametrize(("num_records", "block_bytes"), [(150, 64), (600, 1_000), (3_000, 30_000)])
def test_blocks_do_not_change_the_records(
    tmp_path, source, read_dataset, small_blocks, num_records, block_bytes
) -> None:
    """Blocks decide on positions, and so on the order, but never on what a record holds."""
    source.write_text(csv_text(num_records))
    tfrec_tools.convert(source, tmp_path / "whole", num_shards=2)
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    stray = tmp_path / "stray.csv"
    stray.write_text(source.read_text() + '9999,g,ant,0,5" disk\n')
    small_blocks(block_bytes)
    tfrec_tools.convert(source, tmp_path / "cut", num_shards=2)
    tfrec_tools.convert(packed, tmp_path / "stream", num_shards=2)
    tfrec_tools.convert(stray, tmp_path / "exact", num_shards=2)

    def records(name: str) -> list[dict[str, Any]]:
        return sorted(read_dataset(tmp_path / name), key=lambda record: record["id"])

    assert records("cut") == records("stream") == records("whole")
    assert records("exact")[:-1] == records("whole")
    tfrec_tools.convert(source, tmp_path / "ordered", num_shards=3, order="source")
    assert ids(read_dataset(tmp_path / "ordered")) == list(range(num_records))
    tfrec_tools.convert(packed, tmp_path / "ordered2", num_shards=3, order="source")
    assert ids(read_dataset(tmp_path / "ordered2")) == list(range(num_records))


def test_a_compressed_file_has_the_order_of_the_plain_one(
    tmp_path, source, read_dataset, small_blocks
) -> None:
    small_blocks(5_000)
    folder = tmp_path / "packed"
    folder.mkdir()
    (folder / "data.csv").write_bytes(gzip.compress(source.read_bytes()))  # of the same key
    tfrec_tools.convert(source, tmp_path / "1", num_shards=1)
    tfrec_tools.convert(folder / "data.csv", tmp_path / "2", num_shards=1)
    assert ids(read_dataset(tmp_path / "1")) == ids(read_dataset(tmp_path / "2"))


def test_rows_in_errors_are_true_in_later_blocks(tmp_path, source, small_blocks) -> None:
    small_blocks(5_000)
    text = source.read_text().replace("\n2500,g250,", "\n\n2500,g250,,,")
    source.write_text(text)
    with pytest.raises(RecordError) as caught:
        tfrec_tools.convert(source, tmp_path / "out")
    # The header, 2,500 records and a blank line stand before it.
    assert str(caught.value) == (
        "data.csv: row 2,503: must have 5 cells like the header (got 7); mend or remove it, or "
        "use --on-error skip"
    )


def test_order_source_keeps_the_order_of_files_and_records(tmp_path, read_dataset) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, name in enumerate(("a.csv", "b.csv", "c.csv")):
        (folder / name).write_text(csv_text(100, first=number * 100))
    for num_shards in (1, 7):
        out = tmp_path / f"out{num_shards}"
        tfrec_tools.convert(folder, out, order="source", num_shards=num_shards)
        assert ids(read_dataset(out)) == list(range(300))


def test_split_method_order_cuts_the_table(tmp_path, source, read_dataset) -> None:
    for order in ("source", "shuffled"):
        out = tmp_path / order
        tfrec_tools.convert(
            source,
            out,
            splits={"train": 0.7, "validation": 0.2, "test": 0.1},
            split_method="order",
            order=order,
            num_shards=2,
        )
        found = [ids(read_dataset(out, name)) for name in ("train", "validation", "test")]
        expected = [list(range(2_100)), list(range(2_100, 2_700)), list(range(2_700, 3_000))]
        assert [sorted(split) for split in found] == expected
        assert (found == expected) == (order == "source")


def test_order_source_with_rejected_records(tmp_path, read_dataset) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x\n" + "".join(f"{n},{n}\n" if n % 3 else "bad\n" for n in range(30)))
    tfrec_tools.convert(
        path,
        tmp_path / "out",
        order="source",
        splits={"train": 0.5, "test": 0.5},
        split_method="order",
        on_error="skip",
        num_shards=2,
    )
    assert ids(read_dataset(tmp_path / "out")) == [n for n in range(15) if n % 3]
    assert ids(read_dataset(tmp_path / "out", "test")) == [n for n in range(15, 30) if n % 3]


def test_files_called_like_splits_are_splits(tmp_path, read_dataset) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "train-0.csv").write_text(csv_text(20))
    (folder / "train-1.csv").write_text(csv_text(20, first=20))
    (folder / "test.csv").write_text(csv_text(10, first=40))
    manifest = tfrec_tools.convert(folder, tmp_path / "out", order="source", num_shards=2)
    assert [(split.name, split.num_records) for split in manifest.splits] == [
        ("train", 40),
        ("test", 10),
    ]
    assert ids(read_dataset(tmp_path / "out")) == list(range(40))
    assert ids(read_dataset(tmp_path / "out", "test")) == list(range(40, 50))
    with pytest.raises(RequestError) as caught:
        tfrec_tools.convert(folder, tmp_path / "out2", splits={"train": 0.5, "test": 0.5})
    assert str(caught.value) == (
        f"the files of {folder} are splits already (test, train); drop the ratios, or give one of "
        "them"
    )


def test_a_split_whose_file_has_no_records_is_there_all_the_same(tmp_path, read_dataset) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "test.csv").write_text("a,b\n1,x\n")
    (folder / "train.csv").write_text("a,b\n")
    manifest = tfrec_tools.convert(folder, tmp_path / "out")
    assert [(split.name, split.num_records) for split in manifest.splits] == [
        ("train", 0),
        ("test", 1),
    ]
    assert read_dataset(tmp_path / "out", "train") == []


def test_files_may_be_given_to_splits_by_patterns(tmp_path, read_dataset) -> None:
    folder = tmp_path / "in"
    for number in range(3):
        (folder / f"fold{number}").mkdir(parents=True)
        (folder / f"fold{number}/a.csv").write_text(csv_text(10, first=10 * number))
    globs = {"train": ["fold0/**", "fold1/**"], "test": "fold2/**"}
    tfrec_tools.convert(folder, tmp_path / "out", split_files=globs)
    assert sorted(ids(read_dataset(tmp_path / "out"))) == list(range(20))
    assert sorted(ids(read_dataset(tmp_path / "out", "test"))) == list(range(20, 30))
    with pytest.raises(RequestError) as caught:
        tfrec_tools.convert(folder, tmp_path / "out2", split_files={"train": "fold0/**"})
    assert str(caught.value) == (
        "every file must fit a --split pattern (2 files fit none: fold1/a.csv, fold2/a.csv); add a "
        "pattern, or --exclude them"
    )


def test_ratios_are_about_met_and_stay_when_data_are_added(tmp_path, source, read_dataset) -> None:
    options = {"splits": {"train": 0.8, "test": 0.2}}
    tfrec_tools.convert(source, tmp_path / "1", **options)
    source.write_text(csv_text(3_500))
    tfrec_tools.convert(source, tmp_path / "2", **options)
    first, second = (set(ids(read_dataset(tmp_path / n, "test"))) for n in ("1", "2"))
    assert 540 < len(first) < 660
    assert {number for number in second if number < 3_000} == first
    assert len(second) > len(first)


def test_groups_do_not_leak(tmp_path, source, read_dataset) -> None:
    out = tmp_path / "out"
    tfrec_tools.convert(source, out, splits={"train": 0.7, "test": 0.3}, split_by="group")
    train, test = (
        {record["group"][0] for record in read_dataset(out, name)} for name in ("train", "test")
    )
    assert not train & test
    assert len(train | test) == 300
    assert 60 < len(test) < 120
    with pytest.raises(RequestError) as caught:
        tfrec_tools.convert(source, tmp_path / "2", splits={"a": 0.7, "b": 0.3}, split_by="grup")
    assert str(caught.value) == (
        "--split-by must name columns of the source (got 'grup'; did you mean 'group'?)"
    )


def test_a_column_may_decide_on_splits_without_being_stored(tmp_path, source, read_dataset) -> None:
    out = tmp_path / "out"
    options = {"splits": {"train": 0.7, "test": 0.3}, "split_by": "group"}
    tfrec_tools.convert(source, out, columns=["id"], **options)
    groups = [{i // 10 for i in ids(read_dataset(out, name))} for name in ("train", "test")]
    assert not groups[0] & groups[1]
    assert set(read_dataset(out)[0]) == {"id"}


def test_stratified_splits_divide_each_class_exactly(tmp_path, read_dataset) -> None:
    path = tmp_path / "a.csv"
    sizes = {"ant": 100, "bee": 40, "cat": 10}
    lines = [f"{label},{n}" for label, size in sizes.items() for n in range(size)]
    path.write_text("\n".join(["label,n", *lines]) + "\n")
    out = tmp_path / "out"
    ratios = {"train": 0.8, "validation": 0.1, "test": 0.1}
    tfrec_tools.convert(path, out, target="label", splits=ratios, stratify="label")
    found = {
        name: dict(sorted(Counter(ids(read_dataset(out, name), "label")).items()))
        for name in ratios
    }
    assert found == {
        "train": {0: 80, 1: 32, 2: 8},
        "validation": {0: 10, 1: 4, 2: 1},
        "test": {0: 10, 1: 4, 2: 1},
    }
    for stratify, target in (("label", None), ("nope", "label"), ("n", "label")):
        with pytest.raises(RequestError) as caught:
            tfrec_tools.convert(
                path, tmp_path / "2", target=target, splits=ratios, stratify=stratify
            )
        assert str(caught.value) == (
            "stratify must name a class label with one value per record "
            f"(got {stratify!r}); give a schema, or --target"
        )


def test_splits_from_another_dataset(tmp_path, source, read_dataset) -> None:
    options = {"splits": {"train": 0.7, "test": 0.3}, "split_by": "group", "target": "label"}
    tfrec_tools.convert(source, tmp_path / "1", **options)
    other = tmp_path / "other.csv"
    other.write_text(csv_text(1_000).replace(",ant,", ",bee,"))
    tfrec_tools.convert(other, tmp_path / "2", splits_from=str(tmp_path / "1"), target="label")
    groups = [{r["group"][0] for r in read_dataset(tmp_path / n, "test")} for n in ("1", "2")]
    assert groups[1] <= groups[0]
    manifest = tfrec_tools.load_manifest(str(tmp_path / "2"))
    assert manifest.schema.features["label"].names == WORDS
    other.write_text("a,b\n1,x\n2,y\n")
    with pytest.raises(RequestError) as caught:
        tfrec_tools.convert(other, tmp_path / "3", splits_from=str(tmp_path / "1"))
    assert str(caught.value) == (
        "--split-by must name columns of the source (got 'group'; there are a, b)"
    )


def test_empty_shards_are_written(tmp_path, read_dataset) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n2,y\n")
    manifest = tfrec_tools.convert(path, tmp_path / "out", num_shards=9)
    shards = manifest.split("train").shards
    assert len(shards) == 9
    assert sum(shard.num_records for shard in shards) == 2
    for shard in shards:
        assert (tmp_path / "out" / shard.name).exists()
        assert (tmp_path / "out" / f"{shard.name}.idx").exists()
    assert sorted(ids(read_dataset(tmp_path / "out"), "a")) == [1, 2]


def test_gzip_shards_hold_the_same_records(tmp_path, source, read_dataset) -> None:
    tfrec_tools.convert(source, tmp_path / "1", num_shards=2)
    tfrec_tools.convert(source, tmp_path / "2", num_shards=2, compression="gzip")
    assert read_dataset(tmp_path / "1") == read_dataset(tmp_path / "2")


def test_spill_files_lie_where_asked_and_are_removed(tmp_path, source) -> None:
    tfrec_tools.convert(source, tmp_path / "out", spill_dir=tmp_path / "spill")
    assert list((tmp_path / "spill").iterdir()) == []
    tfrec_tools.convert({"a": [1, 2]}, tmp_path / "out2", spill_dir=tmp_path / "spill")
    assert list((tmp_path / "spill").iterdir()) == []
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name[0] == "."] == []


def test_nothing_is_left_of_a_failed_conversion(tmp_path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,x\n2\n")
    with pytest.raises(RecordError):
        tfrec_tools.convert(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_resumed_run_writes_the_same_bytes(tmp_path, draw_image, file_hashes) -> None:
    """A missing picture fails one shard; the others are kept, and not written again."""
    folder = tmp_path / "in"
    for number in range(12):
        draw_image(folder / f"{number}.png", number, size=(4, 4))
    lines = [f"{number}.png,{number}" for number in range(12)]
    (folder / "list.csv").write_text("\n".join(["image,n", *lines]) + "\n")
    schema = {"features": {"image": {"kind": "image"}, "n": {"kind": "int64"}}}
    options = {"kind": "csv", "schema": schema, "num_shards": 4, "num_workers": 1}
    tfrec_tools.convert(folder / "list.csv", tmp_path / "whole", **options)
    hidden = (folder / "5.png").rename(tmp_path / "5.png")
    with pytest.raises(SourceError):
        tfrec_tools.convert(folder / "list.csv", tmp_path / "out", **options)
    staged = {path.name: path.stat().st_ino for path in (tmp_path / "out").rglob("*.tfrecord")}
    assert 1 <= len(staged) <= 4
    hidden.rename(folder / "5.png")
    tfrec_tools.convert(folder / "list.csv", tmp_path / "out", **options)
    assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "whole")
    kept = {path.name: path.stat().st_ino for path in (tmp_path / "out").glob("*.tfrecord")}
    assert sum(kept[name] == inode for name, inode in staged.items()) >= len(staged) - 1


@pytest.mark.slow
def test_a_file_of_several_blocks(tmp_path, read_dataset, file_hashes) -> None:
    """More than 40 MiB, with line ends in quotes, and a fault in the last block."""
    path = tmp_path / "big.csv"
    text = '"' + "two\nlines " * 20 + '"'
    with path.open("w") as file:
        file.write("id,text,x\n")
        for number in range(220_000):
            file.write(f"{number},{text},{number / 2}\n")
    assert path.stat().st_size > 40 << 20
    for workers in (1, 2):
        tfrec_tools.convert(path, tmp_path / f"{workers}", num_workers=workers)
    assert file_hashes(tmp_path / "1") == file_hashes(tmp_path / "2")
    found = read_dataset(tmp_path / "1")
    assert sorted(ids(found)) == list(range(220_000))
    with path.open("a") as file:
        file.write("1\n")
    with pytest.raises(RecordError, match=r"^big\.csv: row 220,002: must have 3 cells"):
        tfrec_tools.convert(path, tmp_path / "3")
