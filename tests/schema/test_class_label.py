"""Class labels: names that can be written down and found again, and their indices."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest

from tfrec_tools.schema import ClassLabelFeature, StoredColumn, StoredType, class_name_problems

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

    def test_a_long_list_of_names_is_clipped(self) -> None:
        label = ClassLabelFeature(names=tuple(f"class {i:03d}" for i in range(1000)))
        (fault,) = label.encode(pa.array([b"x"], pa.binary())).faults.values()
        assert len(fault) < 200

    def test_counts_records_per_class(self) -> None:
        assert LABEL.count(pa.array([1, 1, 2])) == [0, 2, 1]

    def test_stores_one_integer(self) -> None:
        assert LABEL.stored("label") == (StoredColumn("label", StoredType.INT64),)
