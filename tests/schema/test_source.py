"""What a schema says of its source, and what no CSV file can be like."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tfrec_tools.schema import SourceDefaults


class TestSourceDefaults:
    def test_say_nothing_but_that_folders_are_labels(self) -> None:
        source = SourceDefaults()
        assert source.labels is True
        assert source.exclude == ()
        assert source.kind is None
        assert source.delimiter is None
        assert source.null_values is None

    def test_take_what_csv_files_are_like(self) -> None:
        source = SourceDefaults(
            kind="csv", delimiter=";", quote="'", escape="\\", decimal=",", header=False,
            column_names=("a", "b"), encoding="latin-1", comment="#", skip_rows=2,
            null_values=("NA", ""), trim=True,
        )  # fmt: skip
        assert source.delimiter == ";"

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"delimiter": "||"}, "delimiter must be one ASCII character (got '||')"),
            ({"delimiter": ""}, "delimiter must be one ASCII character (got '')"),
            ({"quote": "\u201c"}, "quote must be one ASCII character (got '\u201c')"),
            ({"escape": "\n"}, "escape must be one ASCII character (got '\\n')"),
            ({"comment": "//"}, "comment must be one ASCII character (got '//')"),
            ({"decimal": "'"}, "decimal must be '.' or ',' (got \"'\")"),
            ({"delimiter": ",", "decimal": ","}, "delimiter, quote and decimal must differ"),
            ({"skip_rows": -1}, "skip_rows must be at least 0 (got -1)"),
            ({"column_names": ()}, "column_names must hold names that are not empty"),
            ({"column_names": ("a", "")}, "column_names must hold names that are not empty"),
            ({"column_names": ("a", "a")}, "column_names must differ"),
            (
                {"quote": "ab", "skip_rows": -1},
                "quote must be one ASCII character (got 'ab'); skip_rows must be at least 0 (got -1)",
            ),
        ],
    )
    def test_refuse_what_no_csv_file_can_be_like(
        self, options: dict[str, Any], sentence: str
    ) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            SourceDefaults(**options)
