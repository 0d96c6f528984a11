"""Draws the CSV input of the benchmarks: ten mixed columns, about 105 bytes a record.

Ids lie above 2**53, where a detour through float64 would change them; comments hold commas and
quotes, so that cells are quoted and quotes doubled as Python's csv module does it: only where
needed. The first records are the same for any number of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from benchmarks.kept_inputs import joined_bytes, kept_file
from benchmarks.peers.csv_columns import (
    CLASS_NAMES,
    DECIMALS,
    HEADER,
    INTEGERS,
    LABEL,
    TEXTS,
)

DRAWING_VERSION = 1
"""Part of the file's name: raise it when a change makes other records."""

DEFAULT_NUM_RECORDS = 1_000_000
CHUNK_NUM_RECORDS = 50_000

FIRST_ID = 2**53 + 1
ID_STEP = 1_000

CHANNELS = ("app", "branch", "email", "fax", "kiosk", "phone", "post", "web")
_TEXT = (
    "late parcel arrived broken again refund asked twice nobody answers quick reply good "
    "service wrong colour size fits well cheaper elsewhere never will order more still waiting "
    "for invoice number missing thanks everyone box wet but fine inside café Straße"
)
WORDS = tuple(_TEXT.split())
QUOTED_WORDS = ('"perfect"', '"free"', '5" screen')
COMMENT_NUM_WORDS = 4
COMMA_RATIO, QUOTE_RATIO = 0.05, 0.02

_FIRST_DAY, _NUM_DAYS = np.datetime64("2015-01-01"), 3_650
_FIRST_SECOND, _NUM_SECONDS = 1_420_070_400, 315_360_000


def drawn_csv(num_records: int, work: Path) -> Path:
    """Return a CSV file with a header and ``num_records`` records, written unless it is there."""

    def parts() -> Iterator[bytes]:
        yield f"{','.join(HEADER)}\n".encode()
        for chunk_index, start in enumerate(range(0, num_records, CHUNK_NUM_RECORDS)):
            yield csv_lines(draw_chunk(chunk_index), num_records - start)

    return kept_file(work / f"records-{num_records}-v{DRAWING_VERSION}.csv", parts())


def written_schema(work: Path) -> Path:
    """Write the schema of the drawn file, as its owner would, and return its path."""
    path = work / "records.yaml"
    kinds = dict.fromkeys(INTEGERS, "int64") | dict.fromkeys(DECIMALS, "float32")
    kinds |= dict.fromkeys(TEXTS, "text")
    lines = [f"  {name}: {{kind: {kinds[name]}}}" for name in HEADER if name in kinds]
    names = ", ".join(CLASS_NAMES)
    lines.append(f"  {LABEL}: {{kind: class_label, names: [{names}], target: true}}")
    path.write_text("\n".join(["features:", *lines, ""]), encoding="utf-8")
    return path


def draw_chunk(chunk_index: int) -> Mapping[str, pa.Array]:
    """Return CHUNK_NUM_RECORDS records as columns: int64, decimal128, date32 and string."""
    random = np.random.default_rng([DRAWING_VERSION, chunk_index])
    size = CHUNK_NUM_RECORDS
    indices = np.arange(chunk_index * size, (chunk_index + 1) * size)
    days = _FIRST_DAY + random.integers(_NUM_DAYS, size=size)
    columns = {
        "id": pa.array(FIRST_ID + indices * ID_STEP + random.integers(ID_STEP, size=size)),
        "day": pa.array(days.astype("datetime64[D]")),
        "channel": _chosen(random, CHANNELS),
        "quantity": pa.array(random.geometric(0.02, size)),
        "price": _decimals(random.integers(100, 100_000, size), scale=2),
        "comment": _comments(random),
        "weight": _decimals(random.integers(-5_000_000, 5_000_000, size), scale=4),
        "recorded_at": pa.array(_FIRST_SECOND + random.integers(_NUM_SECONDS, size=size)),
        "score": _decimals(random.integers(1_000_000, size=size), scale=6),
        "label": _chosen(random, CLASS_NAMES),
    }
    return {name: columns[name] for name in HEADER}


def csv_lines(columns: Mapping[str, pa.Array], num_records: int) -> bytes:
    """Return the first ``num_records`` records, or all there are, as lines of a CSV file."""
    cells = [_cells(column.slice(0, num_records)) for column in columns.values()]
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*cells, ","), "", "\n")
    return joined_bytes(lines)


def _cells(column: pa.Array) -> pa.Array:
    """Return values as they stand in the file.

    pyarrow's own writer would quote every text or none.
    """
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    doubled = pc.replace_substring(column, '"', '""')
    quoted = pc.binary_join_element_wise('"', doubled, '"', "")
    return pc.if_else(pc.match_substring_regex(column, '[",]'), quoted, column)


def _chosen(random: np.random.Generator, values: tuple[str, ...]) -> pa.Array:
    return pa.array(values).take(pa.array(random.integers(len(values), size=CHUNK_NUM_RECORDS)))


def _decimals(unscaled: NDArray[np.int64], *, scale: int) -> pa.Array:
    """Return integers divided by 10**scale, exactly, and with all their digits."""
    words = np.stack([unscaled, unscaled >> 63], axis=-1)  # 128 bits: low half, sign
    return pa.Array.from_buffers(
        pa.decimal128(18, scale), len(unscaled), [None, pa.py_buffer(words)]
    )


def _comments(random: np.random.Generator) -> pa.Array:
    """Return a few words each, some with a comma between and some with quotes."""
    size = (COMMENT_NUM_WORDS, CHUNK_NUM_RECORDS)
    words = random.integers(len(WORDS), size=size)
    is_quoted = random.random(CHUNK_NUM_RECORDS) < QUOTE_RATIO
    words[1, is_quoted] = len(WORDS) + random.integers(len(QUOTED_WORDS), size=is_quoted.sum())
    has_comma = random.random(CHUNK_NUM_RECORDS) < COMMA_RATIO
    vocabulary = pa.array([*WORDS, *QUOTED_WORDS])
    first, *others = (vocabulary.take(pa.array(indices)) for indices in words)
    separator = pc.if_else(pa.array(has_comma), ", ", " ")
    return pc.binary_join_element_wise(first, pc.binary_join_element_wise(*others, " "), separator)
