"""Class labels: names that can be written down and found again, and their indices."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

import pyarrow as pa
import pytest

from tfrec_tools.schema import (
    ClassLabelFeature,
    StoredColumn,
    StoredType,
    class_name_problems,
    encode_cells,
)

MISSING = "must not be missing; give `missing: empty` or a class name in the schema"
UNKNOWN = "the class must be one of cat, dog, ä (got {}); add it to `names` in the schema, or {}"
LABEL = ClassLabelFeature(names=("cat", "dog", "ä"))


class TestClassNameProblems:
    def test_are_none_for_good_names(self) -> None:
        assert class_name_problems(["cat", "a b", "Cat", "ä", "1"]) == []

    @pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\r", "\t"])
    def test_name_what_a_line_of_a_file_cannot_hold(self, name: str) -> None:
        assert class_name_problems(["cat", name]) == [
            f"a class name must not be empty, have space at its ends or a line break (got {name!r})"
        ]

    def test_name_a_pair_that_is_the_same(self) -> None:
        assert class_name_problems(["cat", "dog", "cat"]) == [
            "class names must differ: 'cat' and 'cat' are twice the same"
        ]

    def test_name_a_pair_that_only_looks_the_same(self) -> None:
        composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
        assert class_name_problems([composed, decomposed]) == [
            f"class names must differ: {composed!r} and {decomposed!r} are equal after Unicode "
            "normalization (NFC), though not byte by byte"
        ]

    def test_are_all_told_at_once(self) -> None:
        assert len(class_name_problems(["", "a", "a", " b"])) == 3


class TestClassLabelFeature:
    def test_refuses_bad_names_with_all_problems(self) -> None:
        with pytest.raises(ValueError, match="class names must differ") as caught:
            ClassLabelFeature(names=("a", "a", ""))
        assert str(caught.value) == (
            "class names must differ: 'a' and 'a' are twice the same; a class name must not be "
            "empty, have space at its ends or a line break (got '')"
        )

    def test_refuses_an_empty_list(self) -> None:
        with pytest.raises(
            ValueError, match=r"^names must hold at least one name, or be left out$"
        ):
            ClassLabelFeature(names=())

    def test_encodes_names_as_indices_in_the_given_order(self) -> None:
        encoded = LABEL.encode(pa.array([b"dog", b"cat", "ä".encode(), b"dog"], pa.binary()))
        assert encoded.values.to_pylist() == [1, 0, 2, 1]
        assert encoded.values.type == pa.int64()
        assert encoded.faults == {}

    def test_an_unknown_name_is_a_fault_that_shows_it(self) -> None:
        encoded = LABEL.encode(pa.array([b"cat", b"Dog", b"\xff"], pa.binary()))
        known = "the class must be one of cat, dog, ä"
        hint = "add it to `names` in the schema, or move the file"
        assert encoded.faults == {
            1: f"{known} (got 'Dog'); {hint}",
            2: rf"{known} (got '\\xff'); {hint}",
        }
        assert encoded.unknown == {"Dog": 1, r"\xff": 1}

    def test_a_long_list_of_names_is_clipped(self) -> None:
        label = ClassLabelFeature(names=tuple(f"class {i:03d}" for i in range(1000)))
        (fault,) = label.encode(pa.array([b"x"], pa.binary())).faults.values()
        assert len(fault) < 200

    def test_counts_records_per_class(self) -> None:
        assert LABEL.count(pa.array([1, 1, 2])) == [0, 2, 1]

    def test_stores_one_integer(self) -> None:
        assert LABEL.stored("label") == (StoredColumn("label", StoredType.INT64),)
        assert ClassLabelFeature(many=True).stored("label") == (
            StoredColumn("label", StoredType.INT64, is_list=True),
        )

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"separator": "|"}, "`separator` goes with `many: true`"),
            (
                {"names": ("a",), "missing": "b"},
                "missing must be error, empty or one of the class names (got 'b')",
            ),
            (
                {"many": True, "missing": "b"},
                "with `many: true`, `missing` must be error or empty",
            ),
        ],
    )
    def test_refuses_contradictions(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            ClassLabelFeature(**options)

    def test_takes_text_and_whole_numbers(self) -> None:
        for type_ in (pa.string(), pa.binary(), pa.int8(), pa.null()):
            assert LABEL.accepts(type_) is None
        assert LABEL.accepts(pa.dictionary(pa.int32(), pa.string())) is None
        assert LABEL.accepts(pa.float32()) == "holds float, which kind class_label does not take"
        assert ClassLabelFeature(many=True).accepts(pa.list_(pa.string())) is None
        assert ClassLabelFeature(many=True).needs_separator


class TestCells:
    def test_are_names_without_the_blanks_at_their_ends(self) -> None:
        encoded = encode_cells(LABEL, pa.array(["dog", " cat\t", "ä"]))
        assert encoded.values.to_pylist() == [1, 0, 2]
        assert encoded.faults == {}
        assert encoded.unknown == {}

    def test_that_are_unknown_are_counted(self) -> None:
        encoded = encode_cells(LABEL, pa.array([" x", "cat", "y", "x ", ""]))
        assert encoded.faults == {
            0: UNKNOWN.format("'x'", "mend the cell"),
            2: UNKNOWN.format("'y'", "mend the cell"),
            3: UNKNOWN.format("'x'", "mend the cell"),
            4: UNKNOWN.format("''", "mend the cell"),
        }
        assert encoded.unknown == {"x": 2, "y": 1, "": 1}

    @pytest.mark.parametrize(
        ("missing", "value", "faults"),
        [
            (None, None, {0: MISSING}),
            ("error", None, {0: "must not be missing"}),
            ("empty", None, {}),
            ("dog", 1, {}),
        ],
    )
    def test_that_are_missing(
        self, missing: str | None, value: int | None, faults: dict[int, str]
    ) -> None:
        label = ClassLabelFeature(names=("cat", "dog"), missing=missing)
        encoded = encode_cells(label, pa.array([None, "cat"]))
        assert encoded.values.to_pylist() == [value, 0]
        assert encoded.faults == faults
        assert encoded.unknown == {}

    def test_may_be_whole_numbers_or_coded(self) -> None:
        digits = ClassLabelFeature(names=("0", "7"))
        assert encode_cells(digits, pa.array([7, 0], pa.uint8())).values.to_pylist() == [1, 0]
        coded = pa.array(["dog", "cat", "dog"]).dictionary_encode()
        assert encode_cells(LABEL, coded).values.to_pylist() == [1, 0, 1]

    def test_may_hold_many(self) -> None:
        label = ClassLabelFeature(names=("cat", "dog", "ä"), many=True, separator="|")
        encoded = encode_cells(label, pa.array(["dog|cat", " ä | cat ", "", None, "x|y|dog", "|x"]))
        assert encoded.values.to_pylist()[:4] == [[1, 0], [2, 0], [], None]
        assert encoded.faults == {
            4: UNKNOWN.format("'x'", "mend the cell"),
            5: UNKNOWN.format("''", "mend the cell"),
        }
        assert encoded.unknown == {"x": 2, "y": 1, "": 1}
        lists = pa.array([["dog", "cat"], [], None, ["cat", None]])
        encoded = encode_cells(label, lists)
        assert encoded.values.to_pylist()[:3] == [[1, 0], [], None]
        assert encoded.faults == {3: "must not be missing"}
        strict = ClassLabelFeature(names=("cat",), many=True, separator="|", missing="error")
        assert encode_cells(strict, pa.array(["cat", None])).faults == {1: "must not be missing"}
