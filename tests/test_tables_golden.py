"""The bytes of a table's dataset, kept in the repository."""

from __future__ import annotations

from pathlib import Path

import tfrec_tools

GOLDEN = Path(__file__).parent / "golden" / "table"


def test_golden_bytes(tmp_path, file_hashes) -> None:
    """
    The whole output for a committed CSV file. Recipe: convert(GOLDEN / "people.csv", out,
    schema=GOLDEN / "schema.yaml", num_shards=2); a change needs a new FORMAT_VERSION.
    """
    out = tmp_path / "out"
    tfrec_tools.convert(GOLDEN / "people.csv", out, schema=GOLDEN / "schema.yaml", num_shards=2)
    assert file_hashes(out) == file_hashes(GOLDEN / "dataset")


def test_what_is_inferred_is_written_down_as_a_schema_that_gives_the_same_bytes(
    tmp_path, file_hashes
) -> None:
    from tfrec_tools import conversion, schema_files

    source = GOLDEN / "people.csv"
    schema, notes = conversion.infer_schema(source, target="name")
    (tmp_path / "s.yaml").write_text(schema_files.dump_schema(schema))
    tfrec_tools.convert(source, tmp_path / "a", target="name")
    tfrec_tools.convert(source, tmp_path / "b", schema=tmp_path / "s.yaml")
    assert file_hashes(tmp_path / "a") == file_hashes(tmp_path / "b")
    kinds = {name: feature.kind for name, feature in schema.features.items()}
    assert kinds == {
        "id": "int64",
        "name": "class_label",
        "height": "float32",
        "tags": "text",
        "when": "text",
        "note": "text",
    }
    assert any("the first row of people.csv" in note for note in notes)
