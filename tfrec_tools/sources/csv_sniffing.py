"""Guessing how a CSV file is written from a sample of it; in doubt the user is asked."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError, clipped, counted, listed
from tfrec_tools.sources import csv_exact

DELIMITERS = (",", ";", "\t", "|")
AGREEING = 0.9  # share of the records that must have the most frequent number of cells
MAX_SAMPLE_ROWS = 1_000

_DECIMAL_COMMA = re.compile(rb"\s*[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\s*")
_NUMBER = re.compile(rb"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class HeaderGuess:
    """Whether the first row holds names; None with the reason where it may be either."""

    has_header: bool | None
    reason: str = ""


def sample_rows(
    sample: bytes,
    dialect: CsvDialect,
    *,
    complete: bool,
    name: str,
    first_offset: int = 0,
    first_row: int = 1,
) -> list[csv_exact.ExactRow]:
    """Return up to 1,000 records of a sample; its last one is left out if it may be cut."""
    rows: list[csv_exact.ExactRow] = []
    scanned = csv_exact.scan(
        [sample], dialect, None, name=name, first_offset=first_offset, first_row=first_row
    )
    try:
        for row in scanned:
            if len(rows) == MAX_SAMPLE_ROWS:
                break
            rows.append(row)
    except SourceError:
        if complete:
            raise
    end = first_offset + len(sample)
    if not complete and len(rows) > 1 and rows[-1].stop == end:
        rows.pop()
    return rows


def sniff_delimiter(sample: bytes, dialect: CsvDialect, *, file_name: str, complete: bool) -> str:
    """Return the delimiter under which the records agree best on their number of cells.

    A comma if no candidate makes at least two cells of nine records in ten; in a .tsv file,
    a tab, which also goes before all others there.
    """
    preferred = "\t" if re.search(r"\.(tsv|tab)(\.\w+)?$", file_name.lower()) else ","
    scores: dict[str, tuple[bool, bool, int, int]] = {}
    has_decimal_commas = False
    for place, candidate in enumerate(DELIMITERS):
        if candidate in (dialect.quote, dialect.escape) or candidate.encode() not in sample:
            continue
        tried = dataclasses.replace(dialect, delimiter=candidate)
        try:
            rows = sample_rows(sample, tried, complete=complete, name=file_name)
        except SourceError:
            continue  # under a wrong delimiter, a quote that is none may seem to open
        sizes = Counter(len(row.cells) for row in rows)
        size, number = sizes.most_common(1)[0] if sizes else (0, 0)
        if size < 2 or number < AGREEING * len(rows):
            continue
        is_tab = candidate == preferred == "\t"
        scores[candidate] = (is_tab, number == len(rows), size, -place)
        if candidate == ";":
            has_decimal_commas = _has_decimal_commas(rows)
    if has_decimal_commas:
        # Each number would be two cells: the commas agree as well, and make more cells.
        scores.pop(",", None)
    return max(scores, key=scores.__getitem__, default=preferred)


def _has_decimal_commas(rows: Sequence[csv_exact.ExactRow]) -> bool:
    """Say whether most commas of these cells stand in numbers."""
    with_comma = [cell for row in rows for cell in row.cells if cell is not None and b"," in cell]
    numbers = sum(_DECIMAL_COMMA.fullmatch(cell) is not None for cell in with_comma)
    return numbers > 0 and 2 * numbers >= len(with_comma)


def sniff_header(rows: Sequence[Sequence[bytes | None]]) -> HeaderGuess:
    """Say whether the first row holds the names of the columns.

    It does if its cells are not empty, all different, no numbers, and none stands in its
    column again; it does not if one stands there again, or is a number above numbers.
    """
    if not rows:
        return HeaderGuess(None, "there is no row")
    first, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    names = [(cell or b"").strip() for cell in first]
    columns = [[(row[i] or b"").strip() for row in below] for i in range(len(names))]
    is_year_row = _is_year_row(names)
    for name, column in zip(names, columns, strict=True):
        is_number = _NUMBER.fullmatch(name) is not None
        if not name or (is_number and is_year_row):
            continue
        if name in column or (is_number and _holds_numbers(column)):
            return HeaderGuess(has_header=False)
    if len(rows) == 1:
        return HeaderGuess(None, "there is only one row")
    if not below:
        return HeaderGuess(None, f"no other row has {counted(len(first), 'cell')}")
    empty = next((place for place, name in enumerate(names, 1) if not name), None)
    if empty is not None:
        return HeaderGuess(None, f"cell {empty} of that row is empty")
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        return HeaderGuess(None, f"two cells of that row are {_text(twice[0])}")
    number_name = next((name for name in names if _NUMBER.fullmatch(name)), None)
    if number_name is not None:
        return HeaderGuess(None, f"the cell {_text(number_name)} of that row is a number")
    return HeaderGuess(has_header=True)


def _holds_numbers(column: Sequence[bytes]) -> bool:
    filled = [cell for cell in column if cell]
    numbers = sum(_NUMBER.fullmatch(cell) is not None for cell in filled)
    return numbers > 0 and numbers >= AGREEING * len(filled)


def _is_year_row(names: Sequence[bytes]) -> bool:
    """Say whether names beside numbers look like a header of years: ``country,1990,1991``."""
    years = [name for name in names if re.fullmatch(rb"(1[5-9]|20)[0-9]{2}", name)]
    others = [name for name in names if name not in years]
    values = list(map(int, years))
    return (
        len(years) > 1
        and values == sorted(set(values))
        and all(_NUMBER.fullmatch(name) is None for name in others)
    )


def column_names(
    first: Sequence[bytes | None],
) -> tuple[list[str], list[str], list[str]]:
    """Return the columns' names, problems with them, and what else people should know.

    Names are trimmed; columns without one are called ``column_<place>``.
    """
    names: list[str] = []
    notes: list[str] = []
    problems: list[str] = []
    unnamed = []
    for cell in first:
        try:
            name = (cell or b"").decode().strip()
        except UnicodeDecodeError:
            name = (cell or b"").decode("utf-8", "backslashreplace").strip()
            problems.append(
                f"the name of a column must be UTF-8 text (got {clipped(name)}); use --encoding, "
                "such as cp1252"
            )
        names.append(name)
    for place, name in enumerate(names, 1):
        if not name:
            name = f"column_{place}"
            while name in names:
                name += "_"
            names[place - 1] = name
            unnamed.append(name)
    if unnamed:
        notes.append(f"columns without a name are called {listed(unnamed)}")
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names, 1):
        places.setdefault(name, []).append(place)
    for name, found in places.items():
        if len(found) > 1:
            which = f"{', '.join(map(str, found[:-1]))} and {found[-1]}"
            problems.append(
                f"column names must differ ({clipped(name)} names columns {which}); rename one, "
                "or give --column-names with --skip-rows 1"
            )
    return names, problems, notes


def _text(cell: bytes) -> str:
    return clipped(cell.decode("utf-8", "backslashreplace"))
