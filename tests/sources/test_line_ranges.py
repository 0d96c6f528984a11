"""Where lines and paragraphs begin: the fast passes against a plain reader, line by line."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tfrec_tools.sources import csv_scanning, line_ranges
from tfrec_tools.sources.csv_scanning import Range
from tfrec_tools.sources.line_ranges import LineScan, RecordRules

ALL_LINES = RecordRules()
NOT_BLANK = RecordRules(skip_blank=True)
PARAGRAPHS = RecordRules(record="paragraph")

BLOCKS = st.sampled_from([1, 2, 3, 4, 7, 16, 50])
LINES = st.sampled_from([
    *(b"", b"a", b"bb", b" ", b"\t \t", b"      ", b" c", b"\r", b" \r", b"\r ", b"\r\r", b"#", b"##"),
    *(b"#! x", b" #", b"\xe9", b"\v", b"\f", b"\0", b"\xc2\x85", b"\xe2\x80\xa8"),
])  # fmt: skip
RULES = st.builds(
    RecordRules,
    skip_blank=st.booleans(),
    comment=st.sampled_from([None, b"#", b"##", b"#! ", b" ", b" \t"]),
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Draw lines with either end; the last may have none."""
    lines = draw(st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n"])), max_size=10))
    data = b"".join(line + end for line, end in lines)
    return data + draw(LINES)


@st.composite
def texts_behind(draw: st.DrawFn) -> tuple[bytes, int]:
    """Draw a text, and where its data start: behind a byte order mark, or lines passed over."""
    head = draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"head\n", b"one\r\ntwo\n\n"]))
    return head + draw(texts()), len(head)


def split(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """Offset, text and end of each line, one byte after another."""
    lines, start = [], 0
    for index in range(len(data)):
        if data[index : index + 1] == b"\n":
            stop = index - (index > start and data[index - 1 : index] == b"\r")
            lines.append((start, data[start:stop], data[stop : index + 1]))
            start = index + 1
    return lines + ([(start, data[start:], b"")] if start < len(data) else [])


def is_left_out(line: bytes, rules: RecordRules) -> bool:
    is_comment = rules.comment is not None and line.startswith(rules.comment)
    return is_comment or (rules.skip_blank and not line.strip(b" \t"))


def expected_lines(
    data: bytes, data_start: int, block_bytes: int, rules: RecordRules
) -> list[Range]:
    ranges: list[Range] = []
    block = -1
    for offset, line, end in split(data[data_start:]):
        start = data_start + offset
        if start // block_bytes != block:
            ranges.append(Range(start, start, 0, 0))
            block = start // block_bytes
        last = ranges[-1]
        stop = start + len(line) + len(end)
        num_left_out = last.num_blank + is_left_out(line, rules)
        ranges[-1] = Range(last.start, stop, last.num_rows + 1, num_left_out)
    return ranges


def paragraphs(data: bytes) -> list[tuple[int, int, bytes]]:
    """Offset, number of the first line and text of each paragraph."""
    found: list[tuple[int, int, bytes]] = []
    pending = b""  # the end of the line before, if that is of the same paragraph
    is_open = False
    for number, (start, line, end) in enumerate(split(data)):
        if not line.strip(b" \t"):
            is_open = False
        elif is_open:
            found[-1] = (*found[-1][:2], found[-1][2] + pending + line)
        else:
            found.append((start, number, line))
            is_open = True
        pending = end
    return found


def expected_paragraphs(data: bytes, data_start: int, block_bytes: int) -> list[Range]:
    own = data[data_start:]
    starts: list[int] = []
    block = -1
    for offset, _, _ in paragraphs(own):
        if (data_start + offset) // block_bytes != block:
            block = (data_start + offset) // block_bytes
            starts.append(offset if starts else 0)
    if own and not starts:
        starts = [0]
    ranges = []
    for start, stop in itertools.pairwise([*starts, len(own)]):
        num_lines = sum(start <= line[0] < stop for line in split(own))
        number = sum(start <= found[0] < stop for found in paragraphs(own))
        ranges.append(Range(data_start + start, data_start + stop, num_lines, num_lines - number))
    return ranges


def scanned(data: bytes, data_start: int, rules: RecordRules = ALL_LINES) -> list[Range]:
    """The ranges of a file, its blocks looked at one by one."""
    scans = []
    num_blocks = -(-len(data) // csv_scanning.BLOCK_BYTES)
    for block in range(csv_scanning.first_block(data_start), num_blocks):
        start, stop = line_ranges.block_window(block, data_start, len(data), rules)
        scans.append(
            line_ranges.scan_block(data[start:stop], start, block, data_start, len(data), rules)
        )
    return line_ranges.ranges_of(scans, data_start, len(data))


def streamed(data: bytes, data_start: int, cuts: list[int], rules: RecordRules) -> list[Range]:
    """The ranges of a stream that is cut into pieces of these sizes, over and over."""
    found = list(line_ranges.stream_ranges(pieces(data, cuts), data_start, rules))
    assert all(content == data[each.start : each.stop] for content, each in found)
    return [each for _, each in found]


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    start = 0
    for size in itertools.cycle(cuts):
        if start >= len(data):
            return
        yield data[start : start + size]
        start += size


def lines_of(data: bytes, rules: RecordRules = ALL_LINES) -> list[bytes]:
    return line_ranges.records_of(data, rules).values.to_pylist()


CUTS = st.lists(st.integers(1, 12), min_size=1, max_size=4)


@given(texts_behind(), BLOCKS, CUTS, RULES)
@example((b"a  \r\n\n", 0), 4, [1], NOT_BLANK)
@example((b"a\n   \r\nb", 0), 2, [1], NOT_BLANK)
@example((b"a\n      ", 0), 2, [1], NOT_BLANK)
@example((b"a\n \r", 0), 2, [1], NOT_BLANK)
@example((b"#! a\n#! b", 0), 1, [3], RecordRules(comment=b"#! "))
@settings(max_examples=300, deadline=None)
def test_lines_are_found_whatever_the_blocks(text, block_bytes, cuts, rules):
    data, data_start = text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scanning, "BLOCK_BYTES", block_bytes)
        expected = expected_lines(data, data_start, block_bytes, rules)
        assert scanned(data, data_start, rules) == expected
        assert streamed(data, data_start, cuts, rules) == expected


@given(texts_behind(), BLOCKS, CUTS)
@settings(max_examples=150, deadline=None)
def test_paragraphs_are_found_whatever_the_blocks(text, block_bytes, cuts):
    data, data_start = text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scanning, "BLOCK_BYTES", block_bytes)
        expected = expected_paragraphs(data, data_start, block_bytes)
        assert streamed(data, data_start, cuts, PARAGRAPHS) == expected


@given(texts(), RULES)
@settings(max_examples=150, deadline=None)
def test_lines_lose_their_ends_alone(data, rules):
    expected = [
        (number, line)
        for number, (_, line, _) in enumerate(split(data))
        if not is_left_out(line, rules)
    ]
    records = line_ranges.records_of(data, rules)
    assert records.values.to_pylist() == [line for _, line in expected]
    assert records.lines().tolist() == [number for number, _ in expected]


@given(texts())
@settings(max_examples=150, deadline=None)
def test_paragraphs_keep_their_inner_line_ends(data):
    expected = paragraphs(data)
    records = line_ranges.records_of(data, PARAGRAPHS)
    assert records.values.to_pylist() == [text for _, _, text in expected]
    assert records.lines().tolist() == [number for _, number, _ in expected]


@given(texts_behind(), BLOCKS, st.one_of(RULES, st.just(PARAGRAPHS)))
@settings(max_examples=100, deadline=None)
def test_records_of_the_ranges_are_those_of_the_whole(text, block_bytes, rules):
    data, data_start = text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_scanning, "BLOCK_BYTES", block_bytes)
        found = list(line_ranges.stream_ranges(iter([data]), data_start, rules))
    records = [lines_of(content, rules) for content, _ in found]
    assert list(itertools.chain(*records)) == lines_of(data[data_start:], rules)
    assert [len(each) for each in records] == [each.num_rows - each.num_blank for _, each in found]


def test_only_line_feeds_end_lines():
    data = "a\u2028b\u0085c\vd\fe\rf\0g\n\r\r\nlast\r".encode()
    assert lines_of(data) == ["a\u2028b\u0085c\vd\fe\rf\0g".encode(), b"\r", b"last\r"]
    assert scanned(data, 0) == [Range(0, len(data), 3, 0)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"\r\n", [b""]),
        (b"\r", [b"\r"]),
        (b"\n\n\n", [b"", b"", b""]),
        (b"a\nb", [b"a", b"b"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\n\r\nb\n", [b"a", b"", b"b"]),
        (b"a\r\r\n", [b"a\r"]),
    ],
)
def test_lines_of_small_texts(data, expected):
    assert lines_of(data) == expected
    assert scanned(data, 0) == ([Range(0, len(data), len(expected), 0)] if data else [])
    assert streamed(data, 0, [1], ALL_LINES) == scanned(data, 0)


def test_blank_lines_and_comments_are_no_records_if_so_told():
    data = b"# head\n\na\n \t\r\n #b\n\r \n#\n"
    assert lines_of(data, NOT_BLANK) == [b"# head", b"a", b" #b", b"\r ", b"#"]
    both = RecordRules(skip_blank=True, comment=b"#")
    assert lines_of(data, both) == [b"a", b" #b", b"\r "]
    assert line_ranges.records_of(data, both).lines().tolist() == [2, 4, 5]
    assert scanned(data, 0, both) == [Range(0, len(data), 7, 4)]


def test_a_line_that_is_blank_and_a_comment_is_left_out_once():
    rules = RecordRules(skip_blank=True, comment=b"\t")
    assert scanned(b"\t\t\na\n\t", 0, rules) == [Range(0, 6, 3, 2)]


def test_a_blank_line_can_be_longer_than_blocks(small_blocks):
    small_blocks(4)
    rules = NOT_BLANK
    assert scanned(b"ab\n" + b" " * 10 + b"\r\nc", 0, rules) == [
        Range(0, 15, 2, 1),
        Range(15, 16, 1, 0),
    ]
    assert scanned(b"ab\n" + b" " * 10 + b"\rc", 0, rules) == [Range(0, 15, 2, 0)]
    assert line_ranges.scan_block(b"b\n     ", 1, 1, 0, 20, rules) == LineScan(
        -1, 0, 0, head_is_blank=None
    )
    assert line_ranges.scan_block(b"ab\n  ", 0, 0, 0, 20, rules) == LineScan(
        0, 2, 0, is_open=True, head_is_blank=False
    )


def test_a_range_goes_to_the_next_block_in_which_a_line_starts(small_blocks):
    small_blocks(4)
    assert scanned(b"a\nbbbbbbbb\nc\nd", 0) == [
        Range(0, 11, 2, 0),
        Range(11, 13, 1, 0),
        Range(13, 14, 1, 0),
    ]


def test_paragraphs_lie_between_blank_lines(small_blocks):
    data = b"\n \t\na\r\nb\r\n \t \r\n\r\n c\n\nd\ne"
    assert lines_of(data, PARAGRAPHS) == [b"a\r\nb", b" c", b"d\ne"]
    assert line_ranges.records_of(data, PARAGRAPHS).lines().tolist() == [2, 6, 8]
    assert streamed(data, 0, [100], PARAGRAPHS) == [Range(0, len(data), 10, 7)]
    small_blocks(8)
    assert streamed(data, 0, [100], PARAGRAPHS) == [Range(0, 17, 6, 5), Range(17, 24, 4, 2)]


def test_text_without_paragraphs_is_one_range_without_records(small_blocks):
    small_blocks(2)
    assert streamed(b"\xef\xbb\xbf\n \n\t\r\n", 3, [1], PARAGRAPHS) == [Range(3, 9, 3, 3)]
    assert streamed(b"\xef\xbb\xbf", 3, [1], PARAGRAPHS) == []
    assert lines_of(b"\n \n\t\r\n", PARAGRAPHS) == []


def test_long_lines_are_put_together_once():
    data = b"a\n" + b"x" * (64 << 20) + b"\nb\n"
    for rules, num_lines in ((ALL_LINES, 2), (NOT_BLANK, 2)):
        assert streamed(data, 0, [1 << 16], rules) == [
            Range(0, len(data) - 2, num_lines, 0),
            Range(len(data) - 2, len(data), 1, 0),
        ]
        assert scanned(data, 0, rules) == streamed(data, 0, [1 << 16], rules)
    assert streamed(data, 0, [1 << 16], PARAGRAPHS) == [Range(0, len(data), 3, 2)]
