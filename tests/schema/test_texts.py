"""Text and bytes: kept exactly, and refused where they are not what is promised."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfrec_tools.schema import BytesFeature, StoredColumn, StoredType, TextFeature, encode_cells


def cells(*texts: str | bytes | None) -> pa.Array:
    values = [text.encode() if isinstance(text, str) else text for text in texts]
    return pa.array(values, pa.binary())


class TestTextFeature:
    def test_keeps_text_byte_by_byte(self) -> None:
        encoded = TextFeature().encode(cells(" a\n", "ä", "", "02134", None))
        assert encoded.values.to_pylist() == [b" a\n", "ä".encode(), b"", b"02134", None]
        assert encoded.values.type == pa.large_binary()
        assert encoded.faults == {}

    def test_names_the_first_byte_that_is_no_utf8(self) -> None:
        encoded = TextFeature().encode(cells("ab", b"ab\xff", None, b"\xc3"))
        assert encoded.faults == {
            1: "must be UTF-8 text (byte 2 is none); use kind: bytes",
            3: "must be UTF-8 text (byte 0 is none); use kind: bytes",
        }

    @pytest.mark.parametrize(
        ("missing", "value", "faults"),
        [
            ("empty", None, {}),
            ("", b"", {}),
            ("ä", "ä".encode(), {}),
            ("error", None, {1: "must not be missing"}),
        ],
    )
    def test_says_what_stands_for_a_missing_text(
        self, missing: str, value: bytes | None, faults: dict[int, str]
    ) -> None:
        encoded = TextFeature(missing=missing).encode(cells("a", None))
        assert encoded.values.to_pylist() == [b"a", value]
        assert encoded.faults == faults

    def test_splits_without_touching_the_parts(self) -> None:
        feature = TextFeature(many=True, separator="||")
        encoded = feature.encode(cells("a|| b ||", "", " ", None, "ä"))
        assert encoded.values.to_pylist() == [
            [b"a", b" b ", b""], [], [b" "], None, ["ä".encode()],
        ]  # fmt: skip
        assert encoded.values.type == pa.large_list(pa.large_binary())

    def test_checks_every_part(self) -> None:
        feature = TextFeature(many=True, separator="|", vocabulary=("a", "b"), missing="error")
        assert feature.encode(cells("a|c|d", b"a|\xff", None, "", "b")).faults == {
            0: "must be one of a, b (got 'c')",
            1: "must be UTF-8 text (byte 0 is none); use kind: bytes",
            2: "must not be missing",
        }

    def test_takes_columns_of_lists_without_missing_items(self) -> None:
        values = pa.array([["a", "b"], None, [], ["c", None]])
        encoded = TextFeature(many=True).encode(values)
        assert encoded.values.to_pylist()[:3] == [[b"a", b"b"], None, []]
        assert encoded.faults == {3: "must not be missing"}

    def test_takes_only_the_vocabulary(self) -> None:
        encoded = TextFeature(vocabulary=("a", "ä")).encode(cells("a", "ä", " a", None))
        assert encoded.faults == {2: "must be one of a, ä (got ' a')"}

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"separator": "|"}, "`separator` goes with `many: true`"),
            (
                {"many": True, "missing": "x"},
                "with `many: true`, `missing` must be error or empty",
            ),
            ({"vocabulary": ()}, "vocabulary must hold at least one text, or be left out"),
            ({"vocabulary": ("a", "a")}, "the texts of a vocabulary must differ"),
        ],
    )
    def test_refuses_contradictions(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            TextFeature(**options)

    def test_takes_text_only(self) -> None:
        assert TextFeature().accepts(pa.string()) is None
        assert TextFeature().accepts(pa.binary()) is None
        assert TextFeature(many=True).accepts(pa.list_(pa.string())) is None
        assert TextFeature().accepts(pa.int64()) == "holds int64, which kind text does not take"
        assert TextFeature().accepts(pa.list_(pa.string())) == (
            "holds list<item: string>, which kind text takes only with `many: true`"
        )


class TestBytesFeature:
    def test_keeps_any_bytes(self) -> None:
        encoded = BytesFeature().encode(cells(b"\xff\x00", b"", None))
        assert encoded.values.to_pylist() == [b"\xff\x00", b"", None]
        assert encoded.faults == {}
        fixed = pa.array([b"ab"], pa.binary(2))
        assert BytesFeature().encode(fixed).values.to_pylist() == [b"ab"]

    def test_may_have_to_be_there(self) -> None:
        faults = BytesFeature(missing="error").encode(cells("a", None)).faults
        assert faults == {1: "must not be missing"}

    def test_takes_bytes_and_text(self) -> None:
        for type_ in (pa.binary(), pa.string(), pa.binary(4)):
            assert BytesFeature().accepts(type_) is None
        assert BytesFeature().accepts(pa.list_(pa.binary())) == (
            "holds list<item: binary>, which kind bytes does not take"
        )


def test_each_stores_one_column() -> None:
    assert TextFeature().stored("x") == (StoredColumn("x", StoredType.BYTES),)
    assert BytesFeature().stored("x") == (StoredColumn("x", StoredType.BYTES),)
    assert TextFeature(many=True).stored("x") == (
        StoredColumn("x", StoredType.BYTES, is_list=True),
    )


@given(st.lists(st.one_of(st.none(), st.binary(max_size=8)), max_size=6))
def test_any_bytes_are_encoded_or_a_fault(values: list[bytes | None]) -> None:
    for feature in (TextFeature(), TextFeature(many=True, separator="a"), BytesFeature()):
        encoded = encode_cells(feature, pa.array(values, pa.binary()))
        encoded.values.validate(full=True)
        assert len(encoded.values) == len(values)
        assert set(encoded.faults) <= set(range(len(values)))
