"""Lines, paragraphs and parallel files end to end: every record exactly, and the same bytes."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tfrec_tools
from tfrec_tools import schema_files
from tfrec_tools.errors import RecordError, RequestError, SchemaError, SourceError
from tfrec_tools.local_engine import tables
from tfrec_tools.sources import csv_scanning

ODD_LINES = (
    "plain",
    "",
    "line separator \u2028 and next line \x85 inside",
    "vertical \v tab and form \f feed",
    "lone \r carriage return",
    "nul \0 inside",
    " blanks around \t",
    "\ufeffmark inside",
    "crlf",
    "last",
)
LINE_SCHEMA = {
    "features": {
        "text": {"kind": "text"},
        "line": {"kind": "int64"},
        "filename": {"kind": "text"},
    }
}


def converted(source: Path, out: Path, **options: Any) -> tfrec_tools.Manifest:
    return tfrec_tools.convert(source, out, kind="text", order="source", **options)


def texts(records: list[dict[str, Any]], name: str = "text") -> list[str]:
    return [record[name][0].decode() for record in records]


@pytest.fixture
def lines(tmp_path, read_dataset):
    """Convert the content of one file, and return its records."""

    def run(content: bytes, name: str = "in.txt", **options: Any) -> list[str]:
        source = tmp_path / "source" / name
        source.parent.mkdir(exist_ok=True)
        source.write_bytes(content)
        converted(source, tmp_path / "out", text={"record": "line", **options}, overwrite=True)
        return texts(read_dataset(tmp_path / "out"))

    return run


def test_lines_end_with_lf_and_crlf_and_with_nothing_else(lines) -> None:
    content = "\n".join(ODD_LINES[:-2]) + "\ncrlf\r\nlast"
    assert lines(content.encode()) == list(ODD_LINES)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a\nb", ["a", "b"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\n\n", ["a", ""]),
        (b"\n", [""]),
        (b"\r\n", [""]),
        (b"a\r\r\nb\r", ["a\r", "b\r"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b" \t\n", [" \t"]),
    ],
)
def test_small_files_exactly(lines, content: bytes, expected: list[str]) -> None:
    assert lines(content) == expected


def test_an_empty_file_is_named(tmp_path) -> None:
    (tmp_path / "in.txt").write_bytes(b"")
    with pytest.raises(SourceError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out")
    assert str(error.value) == f"{tmp_path}/in.txt must hold records (it holds no line)"


def test_an_empty_file_beside_others_has_no_records(tmp_path, read_dataset) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_bytes(b"")
    (tmp_path / "in/b.txt").write_bytes(b"b\n")
    manifest = converted(tmp_path / "in", tmp_path / "out", schema=LINE_SCHEMA)
    assert manifest.num_records == 1
    assert read_dataset(tmp_path / "out") == [{"filename": [b"b.txt"], "line": [1], "text": [b"b"]}]


def _two_gzip_members(text: bytes) -> bytes:
    return gzip.compress(text[:7]) + gzip.compress(text[7:])


def _two_bz2_members(text: bytes) -> bytes:
    return bz2.compress(text[:7]) + bz2.compress(text[7:])


def _zstd(text: bytes) -> bytes:
    return pa.Codec("zstd").compress(text, asbytes=True)


@pytest.mark.parametrize(
    "compress",
    [_two_gzip_members, _two_bz2_members, _zstd, lzma.compress],
    ids=lambda f: f.__name__,
)
def test_compressed_files_are_known_by_their_first_bytes(lines, compress) -> None:
    text = "\n".join(ODD_LINES).encode()
    assert lines(compress(text), name="in.txt") == list(ODD_LINES)


@pytest.mark.parametrize(
    ("compress", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bz2"), (lzma.compress, "xz")]
)
def test_a_truncated_compressed_file_is_an_error(tmp_path, compress, name) -> None:
    (tmp_path / "in.txt").write_bytes(compress(b"some lines\n" * 2_000)[:-9])
    with pytest.raises(SourceError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out")
    assert str(error.value) == (
        f"in.txt must be a whole {name} file (it is truncated or damaged); get it anew"
    )
    assert not (tmp_path / "out").exists()


def test_compressed_and_plain_files_give_the_same_records_in_the_same_order(
    tmp_path, read_dataset, small_blocks
) -> None:
    small_blocks(64)
    content = b"".join(b"line %d of many\r\n" % number for number in range(100))
    found = []
    for number, data in enumerate((content, gzip.compress(content))):
        source = tmp_path / f"{number}/in.txt"
        source.parent.mkdir()
        source.write_bytes(data)
        tfrec_tools.convert(source, tmp_path / f"out{number}", num_shards=3)
        found.append(texts(read_dataset(tmp_path / f"out{number}")))
    assert sorted(found[0]) == sorted(f"line {number} of many" for number in range(100))
    assert found[0] == found[1]  # the same positions, so the same ranks


def test_blank_lines_and_comments_are_left_out_on_request(tmp_path, read_dataset) -> None:
    content = b"# head\r\na\n\n \t\r\nb\n# rest\n #c\n"
    (tmp_path / "in.txt").write_bytes(content)
    manifest = converted(
        tmp_path / "in.txt",
        tmp_path / "out",
        schema=LINE_SCHEMA,
        text={"blank": "skip", "comment": "# "},
    )
    records = read_dataset(tmp_path / "out")
    assert [(r["line"][0], r["text"][0]) for r in records] == [(2, b"a"), (5, b"b"), (7, b" #c")]
    assert manifest.num_records == 3


def test_lines_at_the_start_are_passed_over(tmp_path, read_dataset) -> None:
    for name, content in (
        ("a.txt", b"\xef\xbb\xbfhead\nhead\r\none\ntwo"),
        ("b.txt", gzip.compress(b"head\nhead\nthree\n")),
        ("c.txt", b"head\n"),
        ("d.txt", "head\nhead\nfour".encode("utf-16")),
    ):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_bytes(content)
    converted(tmp_path / "in", tmp_path / "out", schema=LINE_SCHEMA, text={"skip_lines": 2})
    assert [(r["line"][0], r["text"][0]) for r in read_dataset(tmp_path / "out")] == [
        (3, b"one"),
        (4, b"two"),
        (3, b"three"),
        (3, b"four"),
    ]


def test_paragraphs_keep_their_inner_line_ends(tmp_path, read_dataset) -> None:
    content = b"\n\nfirst\nof two\n \t\n\r\nsecond\r\nof two\r\n\r\nthird"
    (tmp_path / "in.txt").write_bytes(content)
    converted(
        tmp_path / "in.txt", tmp_path / "out", schema=LINE_SCHEMA, text={"record": "paragraph"}
    )
    assert [(r["line"][0], r["text"][0]) for r in read_dataset(tmp_path / "out")] == [
        (3, b"first\nof two"),
        (7, b"second\r\nof two"),
        (10, b"third"),
    ]


PARALLEL = {"a.en": b"one\ntwo\r\nthree\n", "a.de": b"eins\nzwei\ndrei"}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def pairs(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(record["en"][0].decode(), record["de"][0].decode()) for record in records]


def test_parallel_files_become_one_record_per_line(tmp_path, read_dataset) -> None:
    folder = write(
        tmp_path / "in", PARALLEL | {"b.en.gz": gzip.compress(b"four\n"), "b.de": b"vier\n"}
    )
    manifest = converted(folder, tmp_path / "out", text={"parallel": "en,de"})
    assert list(manifest.schema.features) == ["en", "de"]
    assert pairs(read_dataset(tmp_path / "out")) == [
        ("one", "eins"),
        ("two", "zwei"),
        ("three", "drei"),
        ("four", "vier"),
    ]


@pytest.mark.parametrize("compress", [None, gzip.compress])
def test_parallel_files_stay_in_step_over_many_ranges(
    tmp_path, read_dataset, small_blocks, compress
) -> None:
    small_blocks(50)
    english = [f"line {number} " + "x" * (number * 7 % 40) for number in range(300)]
    german = [f"Zeile {number} " + "y" * (number * 11 % 90) for number in range(300)]
    content = "\n".join(german).encode()
    folder = write(
        tmp_path / "in",
        {
            "t.en": "\n".join(english).encode(),
            "t.de": compress(content) if compress else content,
        },
    )
    converted(folder, tmp_path / "out", text={"parallel": ["en", "de"]})
    assert pairs(read_dataset(tmp_path / "out")) == list(zip(english, german, strict=True))


def test_parallel_files_of_different_lengths_are_an_error(tmp_path) -> None:
    folder = write(tmp_path / "in", PARALLEL | {"a.de": b"eins\nzwei\n"})
    with pytest.raises(RecordError) as error:
        converted(folder, tmp_path / "out", text={"parallel": "en,de"})
    assert str(error.value) == (
        "parallel files must have equally many lines (a.en has 3 and a.de has 2); mend them, or "
        "leave them out with --exclude"
    )
    assert not (tmp_path / "out").exists()


def test_a_missing_parallel_file_is_an_error(tmp_path) -> None:
    folder = write(tmp_path / "in", {"a.en": b"one\n", "a.de": b"eins\n", "b.en": b"two\n"})
    with pytest.raises(SourceError) as error:
        converted(folder, tmp_path / "out", text={"parallel": "en,de"})
    assert str(error.value) == (
        "each of 2 parallel files must be there (b.de is missing beside b.en); add it, or use "
        "--exclude"
    )


def test_parallel_files_are_split_by_their_names(tmp_path, read_dataset) -> None:
    folder = write(
        tmp_path / "in",
        {"train.en": b"a\n", "train.de": b"A\n", "test.en": b"b\nc\n", "test.de": b"B\nC\n"},
    )
    converted(folder, tmp_path / "out", text={"parallel": "en,de"})
    assert pairs(read_dataset(tmp_path / "out", "train")) == [("a", "A")]
    assert pairs(read_dataset(tmp_path / "out", "test")) == [("b", "B"), ("c", "C")]


def test_a_short_side_leaves_the_pair_out(tmp_path, read_dataset) -> None:
    folder = write(tmp_path / "in", {"a.en": b"one\n\nthree\n", "a.de": b"eins\nzwei\ndrei\n"})
    manifest = converted(folder, tmp_path / "out", text={"parallel": "en,de", "min_chars": 1})
    assert pairs(read_dataset(tmp_path / "out")) == [("one", "eins"), ("three", "drei")]
    assert manifest.left_out == {"too short": 1}


def test_one_wrong_line_among_many_is_named(tmp_path, small_blocks) -> None:
    small_blocks(1 << 16)
    lines_ = [b"line %d" % number for number in range(100_000)]
    lines_[77_777] = b"caf\xe9 au lait"
    (tmp_path / "in.txt").write_bytes(b"\n".join(lines_))
    with pytest.raises(RecordError) as error:
        tfrec_tools.convert(tmp_path / "in.txt", tmp_path / "out")
    message = str(error.value)
    assert message.startswith(
        "in.txt: line 77,778: must be UTF-8 text (byte 4 of the line, 0xe9, is none)"
    )
    assert not (tmp_path / "out").exists()


def test_wrong_lines_are_replaced_skipped_or_reported(tmp_path, read_dataset) -> None:
    (tmp_path / "in.txt").write_bytes(b"good\nbad \xff\xfe\nfine\n")
    manifest = converted(tmp_path / "in.txt", tmp_path / "replaced", text={"errors": "replace"})
    assert texts(read_dataset(tmp_path / "replaced")) == ["good", "bad \ufffd\ufffd", "fine"]
    assert manifest.left_out == {}
    manifest = converted(tmp_path / "in.txt", tmp_path / "skipped", text={"errors": "skip"})
    assert texts(read_dataset(tmp_path / "skipped")) == ["good", "fine"]
    assert (manifest.left_out, manifest.num_rejected) == ({"not utf-8": 1}, 0)
    manifest = converted(tmp_path / "in.txt", tmp_path / "reported", on_error="skip")
    assert (manifest.left_out, manifest.num_rejected) == ({}, 1)
    (entry,) = map(json.loads, (tmp_path / "reported/report.jsonl").read_text().splitlines())
    assert (entry["path"], entry["line"], entry["action"]) == ("in.txt", 2, "skipped")


def test_bytes_are_kept_as_they_are(tmp_path, read_dataset) -> None:
    (tmp_path / "in.txt").write_bytes(b"\xef\xbb\xbfbad \xff\n\0\r\n")
    manifest = converted(tmp_path / "in.txt", tmp_path / "out", text={"as": "bytes"})
    assert [r["text"] for r in read_dataset(tmp_path / "out")] == [
        [b"\xef\xbb\xbfbad \xff"],
        [b"\0"],
    ]
    assert manifest.schema.features["text"].kind == "bytes"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-be", "shift_jis", "gb18030"])
def test_other_encodings_become_utf8(lines, encoding, small_blocks) -> None:
    small_blocks(32)
    expected = [f"caf\u00e9 {n}" if encoding == "cp1252" else f"\u6587 {n}" for n in range(30)]
    assert lines("\r\n".join(expected).encode(encoding), encoding=encoding) == expected


def test_text_is_changed_in_the_order_normalize_strip_lowercase(lines) -> None:
    content = "  E\u0301COLE \u3000\n\ufb01N".encode()
    changed = lines(content, normalize="NFKC", strip=True, lowercase=True)
    assert changed == ["\u00e9cole", "fin"]


def test_limits_leave_out_or_refuse(tmp_path, read_dataset) -> None:
    (tmp_path / "in.txt").write_bytes("a\nab\n\u00e4\u00f6\u00fc\nabcd\n".encode())
    options = {"min_chars": 2, "max_chars": 3}
    manifest = converted(tmp_path / "in.txt", tmp_path / "out", text=options)
    assert texts(read_dataset(tmp_path / "out")) == ["ab", "\u00e4\u00f6\u00fc"]
    assert manifest.left_out == {"too long": 1, "too short": 1}
    assert json.loads((tmp_path / "out/manifest.json").read_text())["left_out"] == {
        "too long": 1,
        "too short": 1,
    }
    with pytest.raises(RecordError) as error:
        converted(tmp_path / "in.txt", tmp_path / "no", text={"max_record_bytes": 5})
    assert str(error.value) == (
        "in.txt: line 3: must have at most 5 bytes (it has 6); raise max_record_bytes, or split "
        "it; mend or remove it, or use --on-error skip"
    )


def test_any_number_of_workers_writes_the_same_bytes(
    tmp_path, file_hashes, monkeypatch, small_blocks
) -> None:
    monkeypatch.setattr(tables, "SMALL_NUM_BYTES", 0)
    content = b"".join(b"line %d %s\n" % (n, b"x" * (n % 50)) for n in range(20_000))
    folder = write(tmp_path / "in", {"a.txt": content, "b.txt": gzip.compress(content), "c": b"c"})
    for workers in (1, 2):
        manifest = tfrec_tools.convert(
            folder,
            tmp_path / f"out{workers}",
            splits="train=0.8,test=0.2",
            num_shards=3,
            num_workers=workers,
        )
        assert manifest.num_records == 40_001
    assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out2")


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    pieces=st.lists(
        st.sampled_from(["a", "bb", "\n", "\r\n", "\r", "\u2028", " ", "\0", "\u00e9"]), max_size=60
    ),
    block=st.integers(1, 30),
)
def test_any_file_gives_its_lines(
    tmp_path, read_dataset, monkeypatch, small_blocks, pieces, block
) -> None:
    content = "".join(pieces)
    expected = [
        line.removesuffix("\r") if i < content.count("\n") else line
        for i, line in enumerate(content.split("\n"))
    ]
    if content.endswith("\n") or not content:
        expected.pop()
    (tmp_path / "in.txt").write_bytes(content.encode())
    small_blocks(block)
    if not expected:
        with pytest.raises(SourceError):
            converted(tmp_path / "in.txt", tmp_path / "out", overwrite=True)
        return
    converted(tmp_path / "in.txt", tmp_path / "out", overwrite=True)
    assert texts(read_dataset(tmp_path / "out")) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"parallel": "en"},
            "parallel must name two or more endings that differ, such as en and de (got en)",
        ),
        (
            {"parallel": "en,de", "blank": "skip"},
            "blank: skip would put parallel lines out of step; min_chars: 1 leaves out what has an "
            "empty side",
        ),
        ({"min_chars": 3, "max_chars": 2}, "min_chars must be at most max_chars (got 3 and 2)"),
        ({"skip_lines": -1}, "skip_lines must be at least 0 (got -1)"),
        (
            {"record": "document", "blank": "skip"},
            "blank goes with record: line (got record: document)",
        ),
        (
            {"as": "bytes", "lowercase": True},
            "as: bytes keeps bytes as they are, and lowercase changes or reads them: give one of them",
        ),
        ({"recrod": "line"}, None),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path, options, message) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    with pytest.raises(RequestError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out", text=options)
    if message is not None:
        assert str(error.value) == message
    else:
        assert str(error.value).startswith("text options are record, blank, comment, skip_lines, ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"csv": {"delimiter": ";"}}, "--delimiter goes with CSV files, not with text files"),
        ({"target": "text"}, "--target goes with tables, not with text files"),
        (
            {"labels": True},
            "--labels and --no-labels go with documents in folders, not with lines",
        ),
    ],
)
def test_options_of_other_sources_are_refused(tmp_path, options, message) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    with pytest.raises(RequestError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out", **options)
    assert str(error.value) == message


def test_an_option_of_text_is_refused_for_tables(tmp_path) -> None:
    (tmp_path / "in.csv").write_bytes(b"a\n1\n")
    with pytest.raises(RequestError) as error:
        tfrec_tools.convert(tmp_path / "in.csv", tmp_path / "out", text={"strip": True})
    assert str(error.value) == "--strip goes with text files, not with CSV files"


def test_a_column_that_is_none_is_named(tmp_path) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    schema = {"features": {"label": {"kind": "class_label"}}}
    with pytest.raises(
        SchemaError, match=r"features\.label\.from: must name columns of the source"
    ):
        converted(tmp_path / "in.txt", tmp_path / "out", schema=schema)


def test_small_blocks_reach_every_module(small_blocks) -> None:
    small_blocks(7)
    assert csv_scanning.BLOCK_BYTES == 7


def test_what_was_replaced_is_reported_once_per_part(tmp_path) -> None:
    (tmp_path / "in.txt").write_bytes(b"good\nbad \xff\nbad \xfe\n")
    converted(tmp_path / "in.txt", tmp_path / "out", text={"errors": "replace"})
    assert [json.loads(line) for line in (tmp_path / "out/report.jsonl").open()] == [
        {
            "path": "in.txt",
            "line": 2,
            "action": "repaired",
            "reason": "what is no text in UTF-8 was replaced with U+FFFD in 2 records, of which "
            "this is the first",
        }
    ]


def test_a_fault_in_one_of_parallel_files_names_that_file(tmp_path) -> None:
    folder = write(tmp_path / "in", {"a.en": b"one\ntwo\n", "a.de": b"eins\nzw\xffei\n"})
    with pytest.raises(RecordError) as error:
        converted(folder, tmp_path / "out", text={"parallel": "en,de"})
    assert str(error.value).startswith("a.de: line 2: must be UTF-8 text (byte 3 of the line")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"record": "sentence"},
            "record must be 'line' or 'paragraph' or 'document' (got 'sentence')",
        ),
        ({"as": "str"}, "as must be 'text' or 'bytes' (got 'str')"),
        ({"strip": "yes"}, "strip must be True or False (got 'yes')"),
        ({"max_chars": "5"}, "max_chars must be a whole number (got '5')"),
        ({"skip_lines": True}, "skip_lines must be a whole number (got True)"),
        ({"comment": 7}, "comment must be text (got 7)"),
    ],
)
def test_values_that_no_option_has_are_refused(tmp_path, options, message) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    with pytest.raises(RequestError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out", text=options)
    assert str(error.value) == message


def test_an_inferred_schema_gives_the_same_bytes(tmp_path, file_hashes) -> None:
    (tmp_path / "in.txt").write_bytes(b"\xefa\nb\n")
    options = {"as": "bytes", "skip_lines": 0}
    schema, _ = tfrec_tools.infer_schema(tmp_path / "in.txt", text=options)
    text = schema_files.dump_schema(schema)
    assert "as: bytes" in text
    (tmp_path / "s.yaml").write_text(text)
    tfrec_tools.convert(tmp_path / "in.txt", tmp_path / "out1", text=options)
    tfrec_tools.convert(tmp_path / "in.txt", tmp_path / "out2", schema=tmp_path / "s.yaml")
    assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out2")


def test_options_of_text_make_the_kind_text(tmp_path, read_dataset) -> None:
    folder = write(tmp_path / "in", PARALLEL)
    tfrec_tools.convert(folder, tmp_path / "out", text={"parallel": "en,de"}, order="source")
    assert len(pairs(read_dataset(tmp_path / "out"))) == 3


def test_tokens_are_not_made_of_bytes(tmp_path) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    schema = {"features": {"ids": {"kind": "tokens", "from": "text", "vocabulary": ["a"]}}}
    with pytest.raises(SchemaError, match="tokens are made of text, not of bytes; drop as: bytes"):
        converted(tmp_path / "in.txt", tmp_path / "out", schema=schema, text={"as": "bytes"})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_paragraphs_of_any_encoding_are_whole(
    tmp_path, read_dataset, small_blocks, encoding
) -> None:
    small_blocks(24)
    paragraphs = [f"K\u00f6ln {n}\nM\u00fcnchen {n}" for n in range(40)]
    (tmp_path / "in.txt").write_bytes("\n\n".join(paragraphs).encode(encoding))
    text = {"record": "paragraph"} | ({"encoding": encoding} if encoding == "cp1252" else {})
    converted(tmp_path / "in.txt", tmp_path / "out", text=text)
    assert texts(read_dataset(tmp_path / "out")) == paragraphs


def test_data_in_memory_are_no_text_files(tmp_path) -> None:
    with pytest.raises(RequestError) as error:
        tfrec_tools.convert({"text": ["a"]}, tmp_path / "out", kind="text")
    assert str(error.value) == (
        "the kind of data in memory must be table (got 'text'); leave it out"
    )


def test_what_was_replaced_in_a_parallel_file_is_reported_of_that_file(tmp_path) -> None:
    folder = write(tmp_path / "in", {"x.en": b"a\nb\n", "x.de": b"\xe4\n\xff\n"})
    converted(folder, tmp_path / "out", text={"parallel": "en,de", "errors": "replace"})
    (entry,) = map(json.loads, (tmp_path / "out/report.jsonl").open())
    assert (entry["path"], entry["line"]) == ("x.de", 1)
    assert entry["reason"].endswith("in 2 records, of which this is the first")


@pytest.mark.parametrize("name", ["idna", "punycode", "no_such"])
def test_encodings_that_decode_no_bytes_are_refused(tmp_path, name) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    with pytest.raises(RequestError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out", text={"encoding": name})
    assert str(error.value) == (
        f"--encoding must name an encoding such as utf-8, cp1252 or utf-16 (got '{name}')"
    )


def test_escapes_are_read_from_front_to_back(lines) -> None:
    assert lines(b"a\\u00e9\\nb\nc\n", encoding="unicode_escape") == ["a\u00e9", "b", "c"]


def test_a_text_may_begin_with_the_letters_of_bzip2(lines) -> None:
    assert lines(b"BZhello\nx\n") == ["BZhello", "x"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("line", "text must be a mapping of options (got 'line')"),
        ({"parallel": 5}, "parallel must be a list of texts (got 5)"),
        (
            {"parallel": [".en", ".de"]},
            "parallel must be endings without dots, such as en and de (got '.en')",
        ),
    ],
)
def test_options_of_other_types_are_refused(tmp_path, options, message) -> None:
    (tmp_path / "in.txt").write_bytes(b"a\n")
    with pytest.raises(RequestError) as error:
        converted(tmp_path / "in.txt", tmp_path / "out", text=options)
    assert str(error.value) == message
