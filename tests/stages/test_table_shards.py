"""Shards of tables: sorted within and across ranges, whatever units they come from."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tfrec_tools import example_codec, shard_files, stages, table_plan
from tfrec_tools.local_engine import plan_table
from tfrec_tools.request import Request, SourceSpec
from tfrec_tools.shard_names import ShardId
from tfrec_tools.stages.table_shards import table_fingerprint, write_table_shard
from tfrec_tools.storage import open_storage


@pytest.fixture
def planned(tmp_path):
    """Plan files in a folder, with units of a file each."""

    def plan(num_records: int, **options):
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        for number in range(4):
            lines = [f"{number * num_records + index},x" for index in range(num_records)]
            (folder / f"{number}.csv").write_text("\n".join(["n,t", *lines]) + "\n")
        request = Request(
            source=SourceSpec(root=str(folder), kind="csv"),
            output=str(tmp_path / "out"),
            **options,
        )
        return plan_table(request)

    return plan


def written(tmp_path, surveyed, plan, order) -> list[list[int]]:
    """Encode the units in this order, write all shards, and return what they hold."""
    (tmp_path / "out").mkdir(exist_ok=True)
    stages.prepare_output(plan)
    results = {}
    for index in order:
        unit = surveyed.units[index]
        results[index] = stages.encode_unit(plan, unit, str(tmp_path / f"spill{index}"))
    spills = [results[index].spill for index in sorted(results)]
    storage = open_storage(str(tmp_path / "out"))
    found = []
    for shard in plan.shards:
        result = write_table_shard(plan, shard, spills, "fingerprint")
        staged = f"{stages.staging_folder(plan)}/{result.name}".encode()
        payloads = shard_files.read_payloads(storage, staged)
        assert result.num_records == len(payloads)
        columns = example_codec.decode(pa.array(payloads, pa.large_binary()))
        found.append([n for (n,) in columns["n"].to_pylist()] if columns else [])
    return found


def test_units_may_be_encoded_in_any_order(tmp_path, planned, monkeypatch) -> None:
    monkeypatch.setattr(table_plan, "unit_bytes", lambda _: 1)
    monkeypatch.setattr(table_plan, "RANGE_BYTES", 1_000)
    surveyed, plan = planned(50, num_shards=3)
    assert len(surveyed.units) == 4
    assert plan.table is not None
    assert plan.table.num_ranges[0] > 1
    first = written(tmp_path, surveyed, plan, range(4))
    assert first == written(tmp_path, surveyed, plan, [3, 1, 0, 2])
    assert sorted(number for shard in first for number in shard) == list(range(200))
    assert all(40 < len(shard) < 95 for shard in first)


def test_shards_without_records_are_empty_files(tmp_path, planned) -> None:
    surveyed, plan = planned(1, num_shards=30)
    found = written(tmp_path, surveyed, plan, range(len(surveyed.units)))
    assert len(found) == 30
    assert sorted(number for shard in found for number in shard) == [0, 1, 2, 3]


def test_fingerprints_tell_contents_apart(tmp_path, planned) -> None:
    def fingerprint(shard: int = 0) -> str:
        surveyed, plan = planned(5, num_shards=2)
        return table_fingerprint(plan, surveyed.units, ShardId("train", shard))

    first = fingerprint()
    assert first == fingerprint()
    assert first != fingerprint(1)
    path = tmp_path / "in/2.csv"
    changed = path.read_text().replace("12,x", "12,y")
    _, plan = planned(5, num_shards=2)
    path.write_text(changed)
    again, plan = plan_table(plan.request)
    assert table_fingerprint(plan, again.units, ShardId("train", 0)) != first
