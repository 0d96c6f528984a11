"""Plans of tables: units, splits by names, and the sizes of shards and ranges."""

from __future__ import annotations

import pytest

from tfrec_tools import table_plan, tables
from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.local_engine import plan_table
from tfrec_tools.request import Request, SourceSpec
from tfrec_tools.schema import SplitsSpec
from tfrec_tools.tables import Table, TableFile, TablePart


def part(key: str, num_records: int, num_bytes: int, split: str | None = None) -> TablePart:
    file = TableFile(key=key.encode(), num_bytes=num_bytes, split=split)
    return TablePart(
        file=file,
        start=0,
        stop=num_bytes,
        num_records=num_records,
        first_row=2,
        num_bytes=num_bytes,
    )


def splits_of(*names: str, spec: SplitsSpec | None = None) -> list[str | None]:
    table = Table(
        format="csv", types={}, files=tuple(TableFile(key=n.encode(), num_bytes=1) for n in names)
    )
    request = Request(source=SourceSpec(root="in", kind="csv"), output="out", splits=spec)
    return [file.split for file in table_plan.with_splits(request, table).files]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["train.csv", "test.csv"], ["train", "test"]),
        (["train-00.csv", "train-01.csv", "Val.csv"], ["train", "train", "validation"]),
        (["train-00001-of-00002.csv.gz", "eval_1.csv"], ["train", "validation"]),
        (["train/a.csv", "train/b.csv", "dev/a.csv"], ["train", "train", "validation"]),
        (["train.csv", "other.csv"], [None, None]),
        (["train.csv"], [None]),
        (["train/a.csv", "b.csv"], [None, None]),
        (["testing_set.csv", "train.csv"], [None, None]),
    ],
)
def test_names_that_decide_on_splits(names, expected) -> None:
    assert splits_of(*names) == expected


def test_patterns_decide_on_splits() -> None:
    spec = SplitsSpec(files={"a": ("1/*",), "b": ("2/*", "3/*")})
    assert splits_of("1/x.csv", "3/x.csv", spec=spec) == ["a", "b"]
    with pytest.raises(RequestError) as caught:
        splits_of("1/x.csv", "4/x.csv", spec=spec)
    assert str(caught.value) == (
        "every file must fit a --split pattern (1 file fit none: 4/x.csv); add a pattern, or "
        "--exclude them"
    )
    both = SplitsSpec(files={"a": ("1/*",), "b": ("**",)})
    with pytest.raises(RequestError) as caught:
        splits_of("1/x.csv", spec=both)
    assert str(caught.value) == (
        "a file must belong to one split (1/x.csv fits --split a and b); make the patterns exclude "
        "each other"
    )


def test_small_parts_of_one_split_share_a_unit() -> None:
    size = tables.MIN_UNIT_BYTES // 2
    units = table_plan.units_of(
        [
            part("a", 10, size, "train"),
            part("b", 20, size, "train"),
            part("c", 30, 1, "train"),
            part("d", 40, 1, "test"),
            part("e", 50, 5 * size, "train"),
        ]
    )
    assert [
        (unit.index, [p.file.key for p in unit.parts], unit.split, unit.first_position)
        for unit in units
    ] == [
        (0, [b"a", b"b"], "train", 0),
        (1, [b"c"], "train", 30),
        (2, [b"d"], "test", 0),
        (3, [b"e"], "train", 60),
    ]
    assert [unit.num_records for unit in units] == [30, 30, 40, 50]


def plan_of(path, **options):
    source = SourceSpec(root=str(path), kind="csv")
    return plan_table(Request(source=source, output="unused", **options))[1]


def test_names_of_datasets_come_from_the_source(tmp_path) -> None:
    for name, expected in (("My Data.csv", "my_data"), ("x.csv", "x"), ("1.tar.csv", None)):
        (tmp_path / name).write_text("a,b\n1,x\n2,y\n")
        found = plan_of(tmp_path / name).schema.name
        assert found == expected or expected is None
    (tmp_path / "My tables").mkdir()
    (tmp_path / "My tables/x.csv").write_text("a,b\n1,x\n2,y\n")
    assert plan_of(tmp_path / "My tables/*.csv").schema.name == "my_tables"


def test_only_ranges_depend_on_the_memory_that_is_wanted(tmp_path, monkeypatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,x\n" * 5_000)
    whole = plan_of(path, num_shards=2)
    monkeypatch.setattr(table_plan, "RANGE_BYTES", 10_000)
    cut = plan_of(path, num_shards=2)
    assert whole.table is not None
    assert cut.table is not None
    assert whole.table.num_ranges == (1,)
    assert 5 < cut.table.num_ranges[0] < 40
    assert whole.fingerprint() == cut.fingerprint()


def test_neither_place_nor_workers_are_part_of_a_plan(tmp_path) -> None:
    fingerprints = set()
    for folder in ("1", "2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.csv").write_text("a,b\n1,x\n2,y\n")
        fingerprints.add(plan_of(tmp_path / folder / "a.csv").fingerprint())
    assert len(fingerprints) == 1
    fingerprints.add(plan_of(tmp_path / "1/a.csv", seed=1).fingerprint())
    assert len(fingerprints) == 2


def test_sources_without_records(tmp_path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    source = SourceSpec(root=str(tmp_path / "a.jsonl"), kind="table")
    with pytest.raises(SourceError) as caught:
        plan_table(Request(source=source, output="unused"))
    assert str(caught.value) == (
        f"{tmp_path}/a.jsonl must hold records (it holds a header at most)"
    )
