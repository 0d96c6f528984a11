"""Where records begin: the vectorised pass against a plain reader of one byte after another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfrec_tools.csv_dialect import CsvDialect
from tfrec_tools.errors import SourceError
from tfrec_tools.sources import csv_exact, csv_scanning
from tfrec_tools.sources.csv_scanning import NotExactError, Range

LEGAL_CELLS = st.sampled_from(
    [b"a", b"", b"bb", b'"x"', b'"a\nb"', b'"q""q"', b'""', b'"\r\n"', b'"""x"', b'"\r"', b" "]
)
LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
BLOCKS = st.sampled_from([1, 2, 3, 4, 7, 16, 50])


@st.composite
def legal_texts(draw: st.DrawFn) -> bytes:
    """Draw records that keep to RFC 4180, blank lines among them."""
    records = draw(st.lists(st.tuples(st.lists(LEGAL_CELLS, max_size=3), LINE_ENDS), max_size=8))
    data = b"".join(b",".join(cells) + end for cells, end in records)
    return data.rstrip(b"\r\n") if draw(st.booleans()) else data


def starts_of(data: bytes, data_start: int) -> list[int]:
    """Where records and blank lines begin, one byte after another."""
    inside = False
    starts = [data_start] if data_start < len(data) else []
    for index in range(data_start, len(data)):
        byte = data[index : index + 1]
        if byte == b'"':
            inside = not inside
        ends = byte == b"\n" or (byte == b"\r" and data[index + 1 : index + 2] != b"\n")
        if ends and not inside and index + 1 < len(data):
            starts.append(index + 1)
    return starts


def scanned(
    data: bytes, data_start: int, block_bytes: int, quote: bytes | None = b'"'
) -> tuple[list[Range], bool]:
    """The ranges of a file, its blocks looked at one by one."""
    num_blocks = -(-len(data) // block_bytes)
    scans = []
    for block in range(csv_scanning.first_block(data_start), num_blocks):
        start, stop = csv_scanning.block_window(block, data_start, len(data))
        scans.append(
            csv_scanning.scan_block(
                data[start:stop],
                start,
                block,
                delimiter=b",",
                quote=quote,
                is_last=block == num_blocks - 1,
            )
        )
    return csv_scanning.ranges_of(scans, data_start, len(data))


def streamed(
    data: bytes, data_start: int, block_bytes: int, quote: bytes | None = b'"'
) -> list[tuple[bytes, Range]] | None:
    """The ranges of a stream with their bytes; None if it needs the exact scanner."""
    try:
        return list(
            csv_scanning.stream_ranges(
                blocks(data, block_bytes), data_start, delimiter=b",", quote=quote
            )
        )
    except NotExactError:
        return None


def blocks(data: bytes, block_bytes: int) -> Iterator[bytes]:
    """Cut the data into blocks."""
    return iter([data[i : i + block_bytes] for i in range(0, len(data), block_bytes)])


@given(head=st.sampled_from([b"", b"h\n", b"name,n\r\n", b'"h\n""",x\n']), text=legal_texts(),
       block_bytes=BLOCKS)  # fmt: skip
def test_legal_files_are_cut_as_a_plain_reader_would(head, text, block_bytes) -> None:
    data, data_start = head + text, len(head)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scanning, "BLOCK_BYTES", block_bytes)
        starts = starts_of(data, data_start)
        ranges, exact = scanned(data, data_start, block_bytes)
        assert exact
        by_block: dict[int, list[int]] = {}
        for start in starts:
            by_block.setdefault(start // block_bytes, []).append(start)
        firsts = [own[0] for own in by_block.values()]
        stops = [*firsts[1:], len(data)][: len(firsts)]
        assert ranges == [
            Range(own[0], stop, len(own), sum(data[s : s + 1] in (b"\n", b"\r") for s in own))
            for own, stop in zip(by_block.values(), stops, strict=True)
        ]
        stream = streamed(data, data_start, block_bytes)
        assert stream == [(data[found.start : found.stop], found) for found in ranges]
        for found in ranges:
            own = data[found.start : found.stop]
            numbers = csv_scanning.row_numbers(own, quote=b'"', skip_blank=True).tolist()
            places = [s - found.start for s in starts if found.start <= s < found.stop]
            assert numbers == [
                number for number, s in enumerate(places) if own[s : s + 1] not in (b"\n", b"\r")
            ]
            every = csv_scanning.row_numbers(own, quote=b'"', skip_blank=False).tolist()
            assert every == list(range(len(places)))


@settings(max_examples=500)
@given(data=st.text(alphabet='ab,"\n\r ', max_size=30).map(str.encode), block_bytes=BLOCKS)
def test_what_counts_as_exact_reads_like_the_exact_scanner(data, block_bytes) -> None:
    """Violations at any place: whatever is accepted must give the very same records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scanning, "BLOCK_BYTES", block_bytes)
        ranges, exact = scanned(data, 0, block_bytes)
        stream = streamed(data, 0, block_bytes)
        assert stream == (
            [(data[found.start : found.stop], found) for found in ranges] if exact else None
        )
    if not exact:
        return
    for num_columns in (1, 2):
        expected = list(csv_exact.scan([data], CsvDialect(), num_columns, name="a.csv"))
        found = [
            row._replace(line=0)
            for range_ in ranges
            for row in csv_exact.scan(
                [data[range_.start : range_.stop]],
                CsvDialect(),
                num_columns,
                name="a.csv",
                first_offset=range_.start,
                first_row=1 + sum(r.num_rows for r in ranges if r.start < range_.start),
            )
        ]
        assert found == [row._replace(line=0) for row in expected]
        blank = 0 if num_columns == 1 else sum(range_.num_blank for range_ in ranges)
        assert sum(range_.num_rows for range_ in ranges) - blank == len(expected)


@given(data=st.text(alphabet='a,"\n\r', max_size=20).map(str.encode), block_bytes=BLOCKS)
def test_without_quotes_every_line_end_counts(data, block_bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scanning, "BLOCK_BYTES", block_bytes)
        ranges, exact = scanned(data, 0, block_bytes, quote=None)
        assert exact
        assert sum(found.num_rows for found in ranges) == len(data.splitlines())
        assert streamed(data, 0, block_bytes, quote=None) == [
            (data[found.start : found.stop], found) for found in ranges
        ]


@pytest.mark.parametrize(
    "text",
    [
        b'5" disk,x\n',
        b'a,"x"y\n',
        b'a,"x" ,y\n',
        b'a, "x"\n',
        b'"x',
        b'a,"x\ny',
        b'x"\n',
        b'"a"b"c"\n',
    ],
)
def test_violations_send_a_file_to_the_exact_scanner(text) -> None:
    assert scanned(b"a,b\n" + text + b"c,d\n" * 3, 0, csv_scanning.BLOCK_BYTES) == ([], False)
    assert streamed(b"a,b\n" + text + b"c,d\n" * 3, 0, csv_scanning.BLOCK_BYTES) is None


def test_an_open_quote_ends_at_the_file_s_end_for_the_exact_scanner() -> None:
    data = b'a,b\n"x\n'
    assert scanned(data, 0, csv_scanning.BLOCK_BYTES) == ([], False)
    with pytest.raises(SourceError, match="a quote that opens must be closed"):
        list(csv_exact.scan([data], CsvDialect(), 2, name="a.csv"))


def test_a_file_without_records_has_no_ranges() -> None:
    assert scanned(b"", 0, csv_scanning.BLOCK_BYTES) == ([], True)
    assert scanned(b"a,b\n", 4, csv_scanning.BLOCK_BYTES) == ([], True)
    assert streamed(b"a,b\n", 4, csv_scanning.BLOCK_BYTES) == []
    assert scanned(b"a,b", 3, csv_scanning.BLOCK_BYTES) == ([], True)


def test_a_record_longer_than_blocks_belongs_to_the_one_it_starts_in(small_blocks) -> None:
    small_blocks(4)
    data = b'a\n"0123456789\n01234567",x\nb\n'
    assert scanned(data, 0, 4) == ([Range(0, 26, 2, 0), Range(26, 28, 1, 0)], True)
