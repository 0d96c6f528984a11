"""Labelled documents end to end: one text file a record, its class from its folder."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

import tfrec_tools
from tfrec_tools import local_engine
from tfrec_tools.cli.main import tfrec_convert
from tfrec_tools.errors import RecordError, RequestError, SchemaError, SourceError
from tfrec_tools.manifest import Manifest
from tfrec_tools.worker_start import SMALL_NUM_FILES


def write(root: Path, files: dict[str, bytes | str]) -> Path:
    """Write files by their paths."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def reviews(root: Path) -> Path:
    """Write five reviews of two classes."""
    texts = {"neg/0.txt": "bad\r\n", "neg/1.txt": "dull", "pos/0.txt": "good\n", "pos/1.txt": ""}
    return write(root, texts | {"pos/2.txt": "très bon\0\n\n"})


def convert(source: Path | str, out: Path, text: dict[str, Any] | None = None, **options: Any):
    given = {"record": "document"} | (text or {})
    return tfrec_tools.convert(source, out, kind="text", text=given, **options)


@pytest.fixture
def by_name(read_dataset):
    """Return the records of a split by file name: their other features, each one value or none."""

    def read(out: Path, split: str = "train") -> dict[str, dict[str, Any]]:
        found = {}
        for record in read_dataset(out, split):
            values = {name: value[0] if value else None for name, value in record.items()}
            found[values.pop("filename").decode()] = values
        return found

    return read


def report(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "report.jsonl").read_text().splitlines()]


def counts(manifest: Manifest) -> dict[str, dict[str, int]]:
    return {split.name: manifest.class_counts(split.name) for split in manifest.splits}


class TestRecords:
    def test_they_are_the_files_as_they_are(self, tmp_path, by_name) -> None:
        manifest = tfrec_tools.convert(reviews(tmp_path / "imdb"), tmp_path / "out", kind="text")
        assert by_name(tmp_path / "out") == {
            "neg/0.txt": {"text": b"bad\r\n", "label": 0},
            "neg/1.txt": {"text": b"dull", "label": 0},
            "pos/0.txt": {"text": b"good\n", "label": 1},
            "pos/1.txt": {"text": b"", "label": 1},
            "pos/2.txt": {"text": "très bon\0\n\n".encode(), "label": 1},
        }
        assert (manifest.name, manifest.schema.target) == ("imdb", "label")
        assert manifest.class_names() == ("neg", "pos")
        assert counts(manifest) == {"train": {"neg": 2, "pos": 3}}
        assert manifest.left_out == {}

    def test_statistics_are_those_of_lines(self, tmp_path) -> None:
        manifest = convert(reviews(tmp_path / "imdb"), tmp_path / "out")
        found = manifest.split("train").statistics
        assert found["label"] == {"missing": 0, "values": 5, "counts": [2, 3]}
        shown = {"missing": 0, "values": 5, "min_length": 0, "max_length": 11, "distinct": 5}
        assert shown.items() <= found["text"].items()
        assert found["text"]["mean_length"] == 5.0

    def test_folders_of_splits_hold_those_of_classes(self, tmp_path, by_name) -> None:
        files = {
            f"{s}/{c}/{i}.txt": f"{s} {c} {i}"
            for s in ("train", "test")
            for c in "ab"
            for i in "12"
        }
        del files["test/b/2.txt"]
        manifest = convert(write(tmp_path / "in", files), tmp_path / "out")
        assert counts(manifest) == {"train": {"a": 2, "b": 2}, "test": {"a": 2, "b": 1}}
        assert by_name(tmp_path / "out", "test")["test/b/1.txt"] == {
            "text": b"test b 1",
            "label": 1,
        }

    def test_stratified_ratios(self, tmp_path) -> None:
        files = {f"{c}/{i}.txt": f"{i}" for c, n in (("a", 40), ("b", 20)) for i in range(n)}
        manifest = convert(
            write(tmp_path / "in", files),
            tmp_path / "out",
            splits={"train": 0.75, "test": 0.25},
            stratify="label",
        )
        assert counts(manifest) == {"train": {"a": 30, "b": 15}, "test": {"a": 10, "b": 5}}

    def test_without_labels(self, tmp_path, by_name) -> None:
        convert(reviews(tmp_path / "in"), tmp_path / "out", labels=False)
        assert by_name(tmp_path / "out")["neg/1.txt"] == {"text": b"dull"}

    @pytest.mark.parametrize("files", [["a.txt", "b.txt"], ["train/a.txt", "test/b.txt"]])
    def test_files_in_no_class_folder_have_no_label(self, tmp_path, read_dataset, files) -> None:
        manifest = convert(write(tmp_path / "in", dict.fromkeys(files, "x")), tmp_path / "out")
        assert list(manifest.schema.features) == ["text", "filename"]
        assert manifest.num_records == 2
        assert [split.name for split in manifest.splits] == sorted(
            {path.split("/")[0] if "/" in path else "train" for path in files}, reverse=True
        )

    def test_one_file_is_one_record(self, tmp_path, by_name) -> None:
        write(tmp_path / "in", {"a.md": "# a\n", "b.md": "# b\n"})
        manifest = convert(tmp_path / "in" / "a.md", tmp_path / "out")
        assert by_name(tmp_path / "out") == {"a.md": {"text": b"# a\n"}}
        assert manifest.name == "a"

    def test_a_pattern_names_files_of_any_kind(self, tmp_path, by_name) -> None:
        files = {"a/1.md": "1", "a/deep/2.md": "2", "b/3.md": "3", "b/4.txt": "4", "c/5.txt": "5"}
        write(tmp_path / "corpus", files)
        manifest = convert(f"{tmp_path}/corpus/**/*.md", tmp_path / "out")
        assert by_name(tmp_path / "out") == {
            "a/1.md": {"text": b"1", "label": 0},
            "a/deep/2.md": {"text": b"2", "label": 0},
            "b/3.md": {"text": b"3", "label": 1},
        }
        assert (manifest.name, manifest.class_names()) == ("corpus", ("a", "b"))
        assert manifest.ignored == {}
        convert(f"{tmp_path}/corpus/*/*.md", tmp_path / "flat", order="source")
        assert list(by_name(tmp_path / "flat")) == ["a/1.md", "b/3.md"]

    def test_compressed_ones_among_others(self, tmp_path, by_name) -> None:
        text = "né\r\n".encode()
        files = {
            "a/0.txt": text,
            "a/1.txt.gz": gzip.compress(text) + gzip.compress(b"more"),
            "a/2.txt.bz2": bz2.compress(text),
            "b/3.text.xz": lzma.compress(text),
            "b/4.zst": pa.Codec("zstd").compress(text).to_pybytes(),
            "b/5": gzip.compress(text),
        }
        manifest = convert(write(tmp_path / "in", files), tmp_path / "out")
        assert {name: r["text"] for name, r in by_name(tmp_path / "out").items()} == {
            name: text + (b"more" if name == "a/1.txt.gz" else b"")
            for name in files
            if name != "b/4.zst"
        }
        assert manifest.ignored == {".zst": 1}

    def test_byte_order_marks(self, tmp_path, by_name) -> None:
        files = {
            "a/8.txt": codecs.BOM_UTF8 + "né".encode(),
            "a/16.txt": codecs.BOM_UTF16_LE + "né\r\n".encode("utf-16-le"),
            "b/be.txt": codecs.BOM_UTF16_BE + "né".encode("utf-16-be"),
        }
        source = write(tmp_path / "in", files)
        convert(source, tmp_path / "out")
        assert {name: r["text"].decode() for name, r in by_name(tmp_path / "out").items()} == {
            "a/8.txt": "né",
            "a/16.txt": "né\r\n",
            "b/be.txt": "né",
        }
        manifest = convert(source, tmp_path / "raw", text={"as": "bytes"})
        assert {name: r["text"] for name, r in by_name(tmp_path / "raw").items()} == files
        assert manifest.schema.features["text"].kind == "bytes"

    def test_source_order_is_that_of_paths(self, tmp_path, read_dataset) -> None:
        convert(reviews(tmp_path / "in"), tmp_path / "out", order="source", num_shards=2)
        names = [record["filename"][0].decode() for record in read_dataset(tmp_path / "out")]
        assert names == ["neg/0.txt", "neg/1.txt", "pos/0.txt", "pos/1.txt", "pos/2.txt"]

    def test_source_order_without_excluded_folders(self, tmp_path, read_dataset) -> None:
        convert(reviews(tmp_path / "in"), tmp_path / "out", order="source", exclude=["neg/**"])
        names = [record["filename"][0].decode() for record in read_dataset(tmp_path / "out")]
        assert names == ["pos/0.txt", "pos/1.txt", "pos/2.txt"]

    def test_remote_ones(self, tmp_path, by_name) -> None:
        files = {"a/1.txt": b"1", "a/2.md": b"2", "b/3.txt": b"3"}
        storage = fsspec.filesystem("memory")
        for name, content in files.items():
            storage.pipe(f"/{tmp_path.name}/{name}", content)
        convert(f"memory://{tmp_path.name}/*/*.txt", tmp_path / "out")
        assert by_name(tmp_path / "out") == {
            "a/1.txt": {"text": b"1", "label": 0},
            "b/3.txt": {"text": b"3", "label": 1},
        }


class TestSchemas:
    def test_several_features_are_made_of_the_text(self, tmp_path, read_dataset) -> None:
        source = write(
            tmp_path / "in", {"x/a.txt": "one|two", "y/b.txt.gz": gzip.compress(b"three")}
        )
        write(tmp_path / "summaries", {"a.txt": "short", "b.txt": "shorter"})
        features = {
            "body": {"kind": "text", "from": "text"},
            "raw": {"kind": "bytes", "from": "text"},
            "parts": {"kind": "text", "from": "text", "many": True, "separator": "|"},
            "summary": {"kind": "text", "from": "../summaries/{stem}.txt"},
            "topic": {"kind": "class_label", "from": "label"},
            "stem": {"kind": "text"},
            "where": {"kind": "bytes", "from": "folder"},
            "extension": {"kind": "text"},
        }
        convert(source, tmp_path / "out", schema={"features": features}, order="source")
        assert read_dataset(tmp_path / "out") == [
            {
                "body": [b"one|two"],
                "raw": [b"one|two"],
                "parts": [b"one", b"two"],
                "summary": [b"short"],
                "topic": [0],
                "stem": [b"a"],
                "where": [b"x"],
                "extension": [b".txt"],
            },
            {
                "body": [b"three"],
                "raw": [b"three"],
                "parts": [b"three"],
                "summary": [b"shorter"],
                "topic": [1],
                "stem": [b"b"],
                "where": [b"y"],
                "extension": [b".txt"],
            },
        ]

    def test_tokens_of_a_vocabulary(self, tmp_path, read_dataset, file_hashes) -> None:
        source = write(tmp_path / "in", {"x/a.txt": "b a\r\nb ?", "y/b.txt": "", "y/c.txt": "a"})
        vocabulary = tmp_path / "words.txt"
        vocabulary.write_text("a\nb\n")
        for name, words in (("list", ["a", "b"]), ("file", str(vocabulary))):
            ids = {"kind": "tokens", "from": "text", "vocabulary": words, "max_length": 3}
            features = {"text": {"kind": "text"}, "ids": ids, "label": {"kind": "class_label"}}
            manifest = convert(
                source, tmp_path / name, schema={"name": "x", "features": features}, order="source"
            )
            assert read_dataset(tmp_path / name) == [
                {"text": [b"b a\r\nb ?"], "ids": [3, 2, 3], "label": [0]},
                {"text": [b""], "ids": [], "label": [1]},
                {"text": [b"a"], "ids": [2], "label": [1]},
            ]
            assert manifest.schema.features["ids"].vocabulary == ("a", "b")
            found = manifest.split("train").statistics["ids"]
            assert (found["missing"], found["values"], found["max_length"]) == (1, 4, 3)
        assert file_hashes(tmp_path / "list") == file_hashes(tmp_path / "file")

    def test_a_vocabulary_that_is_found(self, tmp_path, read_dataset, file_hashes) -> None:
        """In few documents, and in so many that a pool counts their words."""
        ids = {"kind": "tokens", "from": "text", "vocabulary_size": 2}
        schema = {"name": "x", "features": {"ids": ids}}
        files: dict[str, bytes | str] = {"0.txt": gzip.compress(b"b b b a a c"), "1.txt": "a a"}
        manifest = convert(write(tmp_path / "in", files), tmp_path / "out", schema=schema)
        assert manifest.schema.features["ids"].vocabulary == ("a", "b")
        assert sorted(read_dataset(tmp_path / "out"), key=str) == [
            {"ids": [2, 2]},
            {"ids": [3, 3, 3, 2, 2, 1]},
        ]
        many = {f"{index}.txt": f"w{index % 3} w0" for index in range(SMALL_NUM_FILES + 10)}
        source = write(tmp_path / "many", many)
        for workers in (1, 2):
            manifest = convert(
                source, tmp_path / f"out{workers}", schema=schema, num_workers=workers, num_shards=2
            )
            assert manifest.schema.features["ids"].vocabulary == ("w0", "w1")
        assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out2")

    def test_texts_with_too_many_tokens(self, tmp_path) -> None:
        ids = {"kind": "tokens", "from": "text", "vocabulary": ["a"], "max_length": 1}
        schema = {"features": {"ids": ids | {"truncate": False}}}
        with pytest.raises(RecordError) as found:
            convert(write(tmp_path / "in", {"a.txt": "a a"}), tmp_path / "out", schema=schema)
        assert str(found.value) == (
            "a.txt: ids: must have at most 1 tokens (it has 2); raise max_length, or use "
            "truncate: true; mend or remove it, or use --on-error skip"
        )

    def test_tokens_of_what_is_no_text(self, tmp_path) -> None:
        tokens = {"kind": "tokens", "vocabulary": ["a"]}
        schema = {"features": {"filename": tokens, "ids": tokens | {"from": "text"}}}
        with pytest.raises(SchemaError) as found:
            convert(reviews(tmp_path / "in"), tmp_path / "out", text={"as": "bytes"}, schema=schema)
        assert str(found.value).splitlines() == [
            "schema: features.filename.from: tokens are made of the column text (got 'filename')",
            "schema: features.ids.kind: tokens are made of text, not of bytes; drop as: bytes",
        ]

    def test_all_problems_at_once(self, tmp_path) -> None:
        features = {
            "image": {"kind": "image"},
            "colour": {"kind": "text"},
            "length": {"kind": "int64", "from": "text"},
            "words": {"kind": "text", "from": "text", "many": True},
            "label": {"kind": "class_label"},
            "mood": {"kind": "class_label", "from": "../moods/{name}"},
        }
        with pytest.raises(SchemaError) as found:
            convert(reviews(tmp_path / "in"), tmp_path / "out", schema={"features": features})
        assert str(found.value).splitlines() == [
            "schema: features.image.kind: image goes with images, not with documents",
            "schema: features.colour.from: a document source has the columns text, label, "
            "filename, folder, stem, extension (got 'colour')",
            "schema: features.length.from: kinds text, bytes and tokens are made of the column "
            "text (got int64)",
            "schema: features.words.separator: is required with many: true, such as separator: '|'",
            "schema: features.mood.from: kind class_label cannot come from a file",
            "schema: features.mood.from: knows the placeholders {stem}, {folder}, {label}, {file}, "
            "{extension} (got '../moods/{name}')",
        ]

    def test_something_must_be_read(self, tmp_path) -> None:
        with pytest.raises(SchemaError) as found:
            convert(
                reviews(tmp_path / "in"),
                tmp_path / "out",
                schema={"features": {"filename": {"kind": "text"}}},
            )
        assert str(found.value) == (
            "schema: features: must hold a feature from the column text, or from a path pattern"
        )

    def test_labels_that_are_asked_for_must_be_there(self, tmp_path) -> None:
        source = write(tmp_path / "in", {"a.txt": "x", "b.txt": "y"})
        schema = {"features": {"text": {"kind": "text"}, "label": {"kind": "class_label"}}}
        for number, options in enumerate(({"labels": True}, {"schema": schema})):
            with pytest.raises(SourceError) as found:
                convert(source, tmp_path / f"out{number}", **options)
            assert str(found.value) == (
                f"documents must lie in one folder per class (2 documents directly in {source}, no "
                "class folders); make such folders, or use --no-labels"
            )

    def test_unknown_classes(self, tmp_path) -> None:
        label = {"kind": "class_label", "names": ["pos"]}
        schema = {"features": {"text": {"kind": "text"}, "label": label}}
        source = reviews(tmp_path / "in")
        with pytest.raises(RecordError) as found:
            convert(source, tmp_path / "out", schema=schema)
        assert str(found.value) == (
            f"every class folder of {source} must be one of pos (also found: neg (2 documents)); "
            "add them to features.label.names, or leave them out with --exclude"
        )
        manifest = convert(source, tmp_path / "out", schema=schema, on_error="skip")
        assert (manifest.num_records, manifest.num_rejected) == (3, 2)

    def test_options_of_images(self, tmp_path) -> None:
        with pytest.raises(RequestError) as found:
            convert(reviews(tmp_path / "in"), tmp_path / "out", check="header")
        assert str(found.value) == "--check goes with images (the schema has none)"


class TestFaults:
    def test_wrong_encodings(self, tmp_path, by_name) -> None:
        source = write(tmp_path / "in", {"a/1.txt": b"n\xe9", "a/2.txt": "né", "b/3.txt": "b"})
        message = (
            "must be UTF-8 text (byte 2 of the document, 0xe9, is none); use --encoding such as "
            "cp1252, or --errors replace"
        )
        with pytest.raises(RecordError) as found:
            convert(source, tmp_path / "out")
        assert str(found.value) == (
            f"a/1.txt: {message}; mend or remove it, or use --on-error skip"
        )
        assert not (tmp_path / "out").exists()
        manifest = convert(source, tmp_path / "skip", on_error="skip")
        assert (manifest.num_records, manifest.num_rejected, manifest.left_out) == (2, 1, {})
        assert report(tmp_path / "skip") == [
            {"path": "a/1.txt", "action": "skipped", "reason": message}
        ]
        manifest = convert(source, tmp_path / "left", text={"errors": "skip"})
        assert (manifest.num_records, manifest.num_rejected) == (2, 0)
        assert manifest.left_out == {"not utf-8": 1}
        assert report(tmp_path / "left") == []
        convert(source, tmp_path / "replaced", text={"errors": "replace"})
        assert by_name(tmp_path / "replaced")["a/1.txt"]["text"] == "n\ufffd".encode()
        write(source, {"a/2.txt": b"\x80"})
        convert(source, tmp_path / "latin", text={"encoding": "cp1252"})
        assert by_name(tmp_path / "latin")["a/1.txt"]["text"] == "né".encode()
        assert by_name(tmp_path / "latin")["a/2.txt"]["text"] == "€".encode()

    def test_limits_leave_out_and_count(self, tmp_path, by_name) -> None:
        files = {f"a/{length}.txt": "é" * length for length in range(8)} | {"b/x.txt": "abc"}
        source = write(tmp_path / "in", files)
        write(source, {"a/bad.txt": b"\xff\xff\xff"})
        manifest = convert(
            source,
            tmp_path / "out",
            text={"min_chars": 3, "max_chars": 5, "errors": "skip"},
            num_shards=3,
        )
        assert sorted(by_name(tmp_path / "out")) == ["a/3.txt", "a/4.txt", "a/5.txt", "b/x.txt"]
        assert manifest.left_out == {"not utf-8": 1, "too long": 2, "too short": 3}
        written = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert written["left_out"] == manifest.left_out
        assert (manifest.num_records, manifest.num_rejected) == (4, 0)
        assert report(tmp_path / "out") == []

    def test_manifests_without_any_do_not_speak_of_it(self, tmp_path) -> None:
        convert(reviews(tmp_path / "in"), tmp_path / "out")
        assert "left_out" not in json.loads((tmp_path / "out" / "manifest.json").read_text())

    def test_what_is_left_out_is_not_at_fault(self, tmp_path) -> None:
        source = write(tmp_path / "in", {"a/1.txt": "", "b/2.txt": "xx", "c.txt": ""})
        label = {"kind": "class_label", "names": ["a", "b"]}
        schema = {"features": {"text": {"kind": "text"}, "label": label}}
        manifest = convert(
            source, tmp_path / "out", schema=schema, text={"min_chars": 1}, on_error="skip"
        )
        assert (manifest.num_rejected, manifest.left_out) == (0, {"too short": 2})

    def test_nothing_left(self, tmp_path) -> None:
        with pytest.raises(SourceError) as found:
            convert(reviews(tmp_path / "in"), tmp_path / "out", text={"min_chars": 99})
        assert str(found.value) == (
            "all 5 inputs were left out or rejected (5 too short); nothing is written"
        )

    def test_truncated_archives(self, tmp_path) -> None:
        content = gzip.compress(b"text " * 50)
        source = write(tmp_path / "in", {"a/1.txt.gz": content[:-4], "b/2.txt.gz": content})
        with pytest.raises(RecordError) as found:
            convert(source, tmp_path / "out")
        assert str(found.value) == (
            "a/1.txt.gz: must be a whole gzip file (it is truncated or damaged); get it anew; "
            "mend or remove it, or use --on-error skip"
        )

    def test_too_large_ones(self, tmp_path) -> None:
        with pytest.raises(RecordError) as found:
            convert(reviews(tmp_path / "in"), tmp_path / "out", text={"max_record_bytes": 11})
        assert str(found.value) == (
            "pos/2.txt: must have at most 11 bytes (it has 12); raise max_record_bytes, or split "
            "it; mend or remove it, or use --on-error skip"
        )

    def test_documents_beside_class_folders(self, tmp_path) -> None:
        source = write(reviews(tmp_path / "in"), {"README": "about"})
        with pytest.raises(SourceError) as found:
            convert(source, tmp_path / "out")
        assert str(found.value) == (
            f"every document must lie in a class folder (1 document beside the class folders, in "
            f". of {source}); move them, leave them out with --exclude, or use --no-labels"
        )
        assert convert(source, tmp_path / "out", exclude=["README"]).num_records == 5
        skipped = convert(source, tmp_path / "skipped", on_error="skip")
        assert report(tmp_path / "skipped") == [
            {"path": "README", "action": "skipped", "reason": "must lie in a class folder"}
        ]
        assert skipped.num_records == 5

    def test_no_documents(self, tmp_path) -> None:
        source = write(tmp_path / "in", {"a/1.md": "x", "a/2.md": "x", "b/3.pdf": "x"})
        with pytest.raises(SourceError) as found:
            convert(source, tmp_path / "out")
        assert str(found.value) == (
            f"{source} must hold text files (.txt, .text or without extension; found 2 .md, "
            f"1 .pdf); others are taken with a pattern, such as '{source}/**/*.md'"
        )
        with pytest.raises(SourceError) as found:
            convert(f"{source}/**/*.html", tmp_path / "out")
        assert str(found.value) == f"{source}/**/*.html must fit files (found none)"

    def test_a_class_folder_without_documents(self, tmp_path) -> None:
        source = write(reviews(tmp_path / "in"), {"pictures/1.jpg": b"x"})
        with pytest.raises(SourceError) as found:
            convert(source, tmp_path / "out")
        assert str(found.value) == (
            f"a class folder must hold documents ({source}/pictures/ holds none); remove it, or "
            "leave it out with --exclude"
        )
        assert convert(f"{source}/*/*.txt", tmp_path / "out").class_names() == ("neg", "pos")


class TestSameBytes:
    def test_for_any_number_of_workers(self, tmp_path, file_hashes) -> None:
        """More files than one process takes alone, so that a pool runs."""
        source = tmp_path / "in"
        for label in ("a", "b", "c"):
            (source / label).mkdir(parents=True)
            for index in range(SMALL_NUM_FILES // 3 + 20):
                (source / label / f"{index}.txt").write_text(f"{label} {index}\r\n" * (index % 4))
        (source / "a" / "bad.txt").write_bytes(b"\xff")
        (source / "b" / "7.txt.gz").write_bytes(gzip.compress(b"seven"))
        for workers in (1, 3):
            manifest = convert(
                source,
                tmp_path / f"out{workers}",
                num_workers=workers,
                text={"min_chars": 1},
                on_error="skip",
                num_shards={"train": 5},
                splits={"train": 0.8, "test": 0.2},
            )
            num_empty = 3 * len(range(0, SMALL_NUM_FILES // 3 + 20, 4))
            assert manifest.left_out == {"too short": num_empty}
            assert manifest.num_rejected == 1
            assert manifest.num_records == 3 * (SMALL_NUM_FILES // 3 + 20) + 1 - num_empty
        assert file_hashes(tmp_path / "out1") == file_hashes(tmp_path / "out3")

    def test_for_an_interrupted_conversion(self, tmp_path, file_hashes, monkeypatch) -> None:
        """Finished shards are not written again, and what they left out is counted."""
        files = {f"{c}/{i}.txt": "x" * (i % 3) for c in "ab" for i in range(30)}
        source = write(tmp_path / "in", files)
        options = {"text": {"min_chars": 1}, "num_shards": 4}
        convert(source, tmp_path / "whole", **options)
        write_shard, written = local_engine._write_shard, []

        def interrupted(plan, shard, found, count):
            if len(written) == 2:
                raise KeyboardInterrupt
            written.append(shard)
            return write_shard(plan, shard, found, count)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(local_engine, "_write_shard", interrupted)
            convert(source, tmp_path / "out", num_workers=1, **options)
        manifest = convert(source, tmp_path / "out", **options)
        assert manifest.left_out == {"too short": 20}
        assert file_hashes(tmp_path / "out") == file_hashes(tmp_path / "whole")


class TestCommandLine:
    def test_the_summary(self, tmp_path, capsys) -> None:
        source = write(reviews(tmp_path / "imdb"), {"pos/bad.txt": b"\xff", "neg/x.pdf": b""})
        flags = ["--kind", "text", "--min-chars", "5", "--errors", "skip"]
        assert tfrec_convert([str(source), str(tmp_path / "out"), *flags]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"Wrote 3 records to {tmp_path / 'out'}"
        assert "Left out 3 records: 2 too short, 1 not utf-8" in lines

    def test_a_dry_run(self, tmp_path, capsys) -> None:
        source = write(reviews(tmp_path / "imdb"), {"neg/x.pdf": b""})
        flags = ["--kind", "text", "--dry-run"]
        assert tfrec_convert([str(source), str(tmp_path / "out"), *flags]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == (
            f"Would convert 5 documents (26 B) of {source} to dataset 'imdb' in {tmp_path / 'out'}"
        )
        assert "  class  train" in lines
        assert "Ignoring files that are no text files: 1 .pdf" in lines
        assert not (tmp_path / "out").exists()

    def test_folders_called_like_splits_beside_files(self, tmp_path, capsys) -> None:
        files = {"train/1.txt": "a", "test/2.txt": "b", "README": "about"}
        source = write(tmp_path / "in", files)
        flags = ["--kind", "text", "--record", "document", "--no-labels"]
        assert tfrec_convert([str(source), str(tmp_path / "out"), *flags]) == 0
        assert (
            "Note: folders test, train are not taken as splits, since there are others (files "
            "beside them); use --split NAME=GLOB if they are, or --exclude the others"
        ) in capsys.readouterr().out.splitlines()
