"""One unit of a table encoded: faults with their places, splits, ranks and statistics."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest

from tfrec_tools import example_codec, record_framing
from tfrec_tools.local_engine import plan_table
from tfrec_tools.request import OnError, Order, Request, SourceSpec
from tfrec_tools.schema import (
    ClassLabelFeature,
    Float32Feature,
    Int64Feature,
    Schema,
    SplitsSpec,
    TextFeature,
)
from tfrec_tools.stages import spilling
from tfrec_tools.stages.spilling import FRAME, RANK_HIGH
from tfrec_tools.stages.table_encoding import encode_unit
from tfrec_tools.stages.table_placing import bin_starts
from tfrec_tools.stages.unit_results import UnitResult

SCHEMA = Schema(
    features={
        "n": Int64Feature(),
        "xy": Float32Feature(columns=("x", "y")),
        "label": ClassLabelFeature(names=("a", "b")),
    }
)
HEADER = "n,x,y,label\n"


def encoded(folder: Path, text: str, **options):
    """Plan and encode a small file: the plan and the result of its only unit."""
    path = folder / "in.csv"
    path.write_text(text, encoding=options.pop("encoding", "utf-8"))
    options = {"schema": SCHEMA, "order": Order.SOURCE} | options
    request = Request(
        source=SourceSpec(root=str(path), kind="csv"), output=str(folder / "out"), **options
    )
    surveyed, plan = plan_table(request)
    (unit,) = surveyed.units
    return plan, encode_unit(plan, unit, str(folder / "spill"))


def records(result: UnitResult, bin_index: int) -> list[dict[str, list[object]]]:
    """The records of a range as they were spilled."""
    table = spilling.read_range([result.spill], bin_index)
    if table is None:
        return []
    found = []
    for frame in table.column(FRAME).to_pylist():
        (payload,) = record_framing.iter_payloads(frame, name="frame")
        decoded = example_codec.decode_one(payload)
        found.append({name: list(values) for name, (_, values) in decoded.items()})
    return found


def test_records_that_fit(tmp_path) -> None:
    plan, found = encoded(tmp_path, HEADER + "1,0.5,2,a\n,1,1e3,b\n", num_shards=1)
    assert records(found, 0) == [
        {"n": [1], "xy": [0.5, 2.0], "label": [0]},
        {"xy": [1.0, 1000.0], "label": [1]},  # no value, no key
    ]
    assert found.entries == ()
    assert found.num_rejected == 0
    assert dict(found.num_records) == {"train": 2}
    numbers = found.statistics["train"]["n"].to_dict(plan.schema.features["n"])
    assert (numbers["values"], numbers["missing"], numbers["max"]) == (1, 1, 1)


def test_faults_name_row_and_column(tmp_path) -> None:
    text = HEADER + "x,1,1,a\n\n1,1,1,a\n2,1,z,a\n3,1\n4,1,1,c\n"
    _, found = encoded(tmp_path, text, on_error=OnError.SKIP, num_shards=1)
    assert [(entry.path, entry.row, entry.column) for entry in found.entries] == [
        ("in.csv", 2, "n"),
        ("in.csv", 5, "y"),
        ("in.csv", 6, ""),
        ("in.csv", 7, "label"),
    ]
    reasons = [entry.reason for entry in found.entries]
    assert reasons[1].startswith("must be ")
    assert reasons[2] == "must have 4 cells like the header (got 2)"
    assert found.num_rejected == 4
    assert found.unknown == {"label": {"c": 1}}
    assert records(found, 0) == [{"n": [1], "xy": [1.0, 1.0], "label": [0]}]
    assert dict(found.num_records) == {"train": 1}


def test_the_first_fault_of_a_record_counts(tmp_path) -> None:
    _, found = encoded(tmp_path, HEADER + "x,y,z,c\n", on_error=OnError.SKIP)
    assert [(entry.row, entry.column) for entry in found.entries] == [(2, "n")]


def test_nothing_is_spilled_once_it_is_in_vain(tmp_path) -> None:
    _, found = encoded(tmp_path, HEADER + "1,1,1,a\n" * 5 + "x,1,1,a\n")
    assert found.spill is None
    assert len(found.entries) == 1


def test_cells_in_another_encoding_are_told_apart_from_unknown_labels(tmp_path) -> None:
    schema = Schema(features={"t": TextFeature(), "label": SCHEMA.features["label"]})
    text = "t,label\nx,a\né,b\nz,é\nw,c\n"
    _, found = encoded(tmp_path, text, schema=schema, encoding="cp1252", on_error=OnError.SKIP)
    assert [(entry.row, entry.column, entry.reason) for entry in found.entries][:2] == [
        (
            3,
            "t",
            "must be UTF-8 text (byte 0 is none); use kind: bytes, or --encoding, such as cp1252",
        ),
        (4, "label", "must be UTF-8 text (got '\\\\xe9'); use --encoding, such as cp1252"),
    ]
    assert found.unknown == {"label": {"c": 1}}


def test_typed_columns_get_no_advice_of_csv_files(tmp_path) -> None:
    table = pa.table({"t": pa.array([b"\xe9"], pa.binary())})
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    request = Request(
        source=SourceSpec(root=str(path), kind="table"),
        output=str(tmp_path / "out"),
        schema=Schema(features={"t": TextFeature()}),
        on_error=OnError.SKIP,
    )
    surveyed, plan = plan_table(request)
    found = encode_unit(plan, surveyed.units[0], str(tmp_path / "spill"))
    assert found.entries[0].reason == "must be UTF-8 text (byte 0 is none); use kind: bytes"


@pytest.mark.parametrize("order", list(Order))
def test_ranges_hold_consecutive_ranks(tmp_path, order) -> None:
    text = HEADER + "".join(f"{number},1,1,a\n" for number in range(100))
    spec = SplitsSpec(ratios={"train": 0.6, "test": 0.4})
    plan, found = encoded(
        tmp_path, text, order=order, splits=spec, num_shards={"train": 3, "test": 2}
    )
    assert bin_starts(plan).tolist() == [0, 3, 5]
    numbers: list[list[int]] = []
    for bins in (range(3), range(3, 5)):
        own = [spilling.read_range([found.spill], index) for index in bins]
        highest = [table.column(RANK_HIGH).to_pylist() for table in own if table is not None]
        for ranks, following in itertools.pairwise(highest):
            assert max(ranks) <= min(following)
        numbers.append([r["n"][0] for index in bins for r in records(found, index)])
    assert sorted(numbers[0] + numbers[1]) == list(range(100))
    assert len(numbers[0]) == found.num_records["train"]
    if order is Order.SOURCE:
        assert numbers == [sorted(split) for split in numbers]
