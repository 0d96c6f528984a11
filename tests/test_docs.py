"""What the documentation says is so: commands, flags, defaults, schemas, recipes, links."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import inspect
import json
import math
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
import numpy as np
import pytest
import yaml

import tfrec_tools
from tfrec_tools import errors, local_engine, placement, reader, request_parsing, schema_files
from tfrec_tools.cli import main
from tfrec_tools.cli.main import tfrec_group
from tfrec_tools.cli.schema import ready_schemas
from tfrec_tools.records import Action
from tfrec_tools.request import Request, SourceSpec
from tfrec_tools.schema import (
    FEATURE_KINDS,
    ImageEncoding,
    ImageFeature,
    Resize,
    Schema,
    SourceDefaults,
    SplitsSpec,
    TokensFeature,
)

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FORMAT = (ROOT / "docs" / "format.md").read_text("utf-8")
SCHEMA = (ROOT / "docs" / "schema.md").read_text("utf-8")
IMAGES = (ROOT / "docs" / "images.md").read_text("utf-8")
READING = (ROOT / "docs" / "reading.md").read_text("utf-8")


class Block(NamedTuple):
    """A fenced block; ``language`` is all that stands behind the opening fence."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    for page in PAGES:
        language: str | None = None
        start, lines = 0, []
        for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
            if not line.startswith("```"):
                lines.append(line)
            elif language is None:
                language, start, lines = line.removeprefix("```"), number, []
            else:
                yield Block(page.name, start, language, "\n".join(lines) + "\n")
                language = None
        assert language is None, f"{page.name}: the block in line {start} does not end"


BLOCKS = list(blocks())
YAML_BLOCKS = [block for block in BLOCKS if block.language == "yaml"]
PYTHON_BLOCKS = [block for block in BLOCKS if block.language == "python"]
RUN_PAGES = ("tables.md", "text.md", "beam.md")
RUN_CONSOLE_BLOCKS = [b for b in BLOCKS if b.page in RUN_PAGES and b.language == "console"]
RUN_PYTHON_BLOCKS = [b for b in PYTHON_BLOCKS if b.page in RUN_PAGES]


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_cli", ROOT / "docs/generate_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_block_has_a_language_that_is_looked_at() -> None:
    known = {"console", "json", "python", "text", "yaml", "yaml invalid"}
    assert {block.language for block in BLOCKS} <= known


class TestCommandLine:
    """docs/cli.md, and every command that any page shows."""

    def test_page_is_what_the_commands_say(self, generator) -> None:
        page = generator.CLI_FILE.read_text("utf-8")
        assert page == generator.generate(), "run `make docs`"

    def test_every_command_and_option_has_help(self, generator) -> None:
        for name, command in generator.commands(tfrec_group, "tfrec"):
            assert command.help, name
            for parameter in command.params:
                assert isinstance(parameter, click.Argument) or parameter.help, parameter.name

    def test_every_command_and_option_is_on_the_page(self, generator) -> None:
        page = generator.generate()
        for name, command in generator.commands(tfrec_group, "tfrec"):
            assert f"\n## {name}\n" in page
            for parameter in command.params:
                if isinstance(parameter, click.Option) and not parameter.is_eager:
                    for word in (*parameter.opts, *parameter.secondary_opts):
                        assert f"`{word}`" in page

    def test_exit_codes_are_all_on_the_page_and_in_the_readme(self, generator) -> None:
        assert set(generator.EXIT_CODES) == set(errors.ExitCode)
        readme = PAGES[0].read_text("utf-8")
        assert all(f"\n| {code.value} | " in readme for code in errors.ExitCode)

    def test_shown_commands_have_only_arguments_that_exist(self) -> None:
        shown = list(shown_commands())
        assert len(shown) >= 15
        for where, words in shown:
            try:
                parse(words)
            except click.ClickException as error:
                pytest.fail(f"{where}: {shlex.join(words)}: {error.format_message()}")


def shown_commands() -> Iterator[tuple[Block, list[str]]]:
    """Yield the words of every ``$ tfrec …`` and ``$ tfrec-convert …``, up to a ``>`` or ``|``."""
    for block in BLOCKS:
        if block.language != "console":
            continue
        for line in block.text.replace("\\\n", " ").splitlines():
            if not line.startswith(("$ tfrec ", "$ tfrec-convert ")):
                continue
            words = shlex.split(line.removeprefix("$ "), comments=True)
            end = next((words.index(word) for word in words if word in (">", "|")), len(words))
            yield block, words[:end]


def parse(words: list[str]) -> None:
    """Parse a command line without carrying it out. Raises ClickException."""
    command: click.Command = tfrec_group
    words = ["tfrec", "convert", *words[1:]] if words[0] == "tfrec-convert" else list(words)
    name = words.pop(0)
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        name = words.pop(0)
        command = command.commands[name]
    assert not isinstance(command, click.Group), f"{name} needs a command"
    command.make_context(name, words)


class TestSchemas:
    """Every schema shown is one, and every option of every kind is described."""

    @pytest.mark.parametrize("block", YAML_BLOCKS, ids=str)
    def test_shown_schemas_can_be_planned(self, tmp_path, monkeypatch, block) -> None:
        monkeypatch.chdir(tmp_path)
        schema = schema_files.parse_schema(yaml.safe_load(block.text), origin=str(block))
        plan_of(tmp_path, schema)

    @pytest.mark.parametrize("name", ready_schemas())
    def test_ready_schemas_can_be_planned(self, tmp_path, monkeypatch, name) -> None:
        monkeypatch.chdir(tmp_path)
        schema = schema_files.load_schema(str(ready_schemas()[name]))
        plan_of(tmp_path, schema)
        assert f"{name}: " in SCHEMA

    def test_the_wrong_schema_has_the_shown_problems(self) -> None:
        (wrong,) = (block for block in BLOCKS if block.language == "yaml invalid")
        shown = BLOCKS[BLOCKS.index(wrong) + 1]
        with pytest.raises(errors.SchemaError) as caught:
            schema_files.parse_schema(yaml.safe_load(wrong.text), origin="flowers.yaml")
        assert f"{caught.value}\n" == shown.text

    @pytest.mark.parametrize(
        ("heading", "described"),
        [
            ("### source", SourceDefaults),
            ("### splits", SplitsSpec),
            *((f"### {kind}", cls) for kind, cls in FEATURE_KINDS.items()),
        ],
    )
    def test_every_option_is_described_with_its_default(self, heading, described) -> None:
        (table, *_) = tables(section(SCHEMA, heading))
        assert_describes(table, described)

    def test_options_of_resizing_and_encoding_are_described(self) -> None:
        _, resize, encode = tables(section(SCHEMA, "### image"))
        assert_describes(resize, Resize)
        assert_describes(encode, ImageEncoding)


def folder_for_examples(root: Path) -> Path:
    """Make a folder of empty files, laid out so that every shown schema fits it."""
    source = root / "images"
    for label in ("daisy", "iris", "sunflower"):
        (source / label).mkdir(parents=True)
        for index in range(20):
            (source / label / f"image_{index:02}.jpg").touch()
    return source


def plan_of(root: Path, schema: Schema) -> None:
    """Resolve what a conversion would do; no image is opened. Works in the folder ``root``."""
    if schema.source.kind == "text":
        plan_of_text(root, schema)
        return
    if is_of_table(schema):
        plan_of_table(root, schema)
        return
    source = folder_for_examples(root)
    labels = None if schema.source.labels else False
    request = Request(
        source=SourceSpec(root=str(source), labels=labels, exclude=schema.source.exclude),
        output=str(root / "out"),
        schema=schema,
        splits=schema.splits,
    )
    assert local_engine.plan_conversion(request).files.num_rows == 60


def is_of_table(schema: Schema) -> bool:
    """Say whether the schema is one for tables: it lists no images, or a column names them."""
    images = schema.features_of(ImageFeature).values()
    return not images or any(image.from_ and "{" not in image.from_ for image in images)


CELLS = {
    "image": "a.jpg",
    "class_label": "daisy",
    "text": "some words",
    "bytes": "b",
    "int64": "17",
    "float32": "0.5",
    "float64": "0.5",
    "bool": "yes",
    "timestamp": "2024-05-01",
    "tokens": "some words",
}
"""A cell that fits each kind of feature."""


def plan_of_table(root: Path, schema: Schema) -> None:
    """Resolve the conversion of a CSV file of one record, with the columns that are named."""
    cells: dict[str, str] = {}
    for name, feature in schema.features.items():
        patterns = getattr(feature, "columns", None)
        size = math.prod(getattr(feature, "shape", None) or (1,))
        if patterns is None:
            cells[feature.from_ or name] = CELLS[feature.kind]
        elif "*" in patterns[0]:
            cells |= {patterns[0].replace("*", str(i)): CELLS[feature.kind] for i in range(size)}
        else:
            cells |= dict.fromkeys(patterns, CELLS[feature.kind])
    if schema.splits is not None and schema.splits.by is not None:
        cells.setdefault(schema.splits.by, "a")
    names = list(schema.source.column_names or cells)
    mark = schema.source.delimiter or ","
    lines = [names] if schema.source.header is not False else []
    lines.append([cells.get(name, "x") for name in names])
    table = root / "train.csv"
    table.write_text("".join(f"{mark.join(line)}\n" for line in lines), "utf-8")
    (root / "a.jpg").touch()
    csv = {"header": schema.source.header is not False}
    request = make_request(table, root / "out", schema, kind="csv", csv=csv)
    _, plan = local_engine.plan_table(request)
    assert plan.num_files == 1


def plan_of_text(root: Path, schema: Schema) -> None:
    """Resolve the conversion of a few text files, with the tokenizers that are named."""
    names = [f"corpus/{label}/{number}.txt" for label in ("neg", "pos") for number in range(10)]
    if schema.source.parallel is not None:
        names = [f"corpus/words.{ending}" for ending in schema.source.parallel]
    for path in map(root.joinpath, names):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("some words\n")
    for feature in schema.features_of(TokensFeature).values():
        if feature.tokenizer is not None:
            library = pytest.importorskip("tokenizers")
            model = library.models.WordLevel({"<unk>": 0}, unk_token="<unk>")
            tokenizer = library.Tokenizer(model)
            tokenizer.add_special_tokens([feature.end_token or "<end>"])
            tokenizer.save(feature.tokenizer)
    request = make_request(root / "corpus", root / "out", schema)
    if request.reads_files:
        assert local_engine.plan_conversion(request).files.num_rows == 20
    else:
        surveyed, _ = local_engine.plan_table(request)
        num_records = sum(unit.num_records for unit in surveyed.units)
        assert num_records == (20 if schema.source.parallel is None else 1)


def make_request(source: Path, output: Path, schema: Schema, **others: object) -> Request:
    defaults = inspect.signature(request_parsing.make_request).parameters
    options = dict.fromkeys(defaults) | {
        "split_method": "hash",
        "seed": 0,
        "order": "shuffled",
        "check": "decode",
        "exclude": (),
        "on_error": "fail",
        "fail_fast": False,
        "overwrite": False,
        "schema": schema,
    }
    return request_parsing.make_request(
        **{**options, "source": str(source), "output": str(output), **others}  # type: ignore[arg-type]
    )


def section(page: str, heading: str) -> str:
    """Return the text below a heading, up to the next one of its level or above."""
    level = heading.partition(" ")[0]
    text = page.partition(f"\n{heading}\n")[2]
    assert text, f"there is no {heading!r}"
    return re.split(rf"\n#{{1,{len(level)}}} ", text)[0]


def tables(text: str, first: str = "option") -> list[dict[str, str]]:
    """Return the tables whose columns are ``first``, default and meaning: default by option."""
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:2] == [first, "default"]:
            found.append({})
        elif found and line.startswith("| `"):
            found[-1][cells[0].strip("`")] = cells[1]
    return found


def assert_describes(table: dict[str, str], described: type) -> None:
    fields = {field.name.rstrip("_"): field for field in dataclasses.fields(described)}
    if described not in (SourceDefaults, SplitsSpec):
        fields.pop("kind", None)
    assert set(table) == set(fields)
    for name, shown in table.items():
        default = fields[name].default
        if default is dataclasses.MISSING:
            assert not shown.startswith("`"), name
        elif default is None:
            assert not shown.startswith("`") or name == "from", name
        else:
            assert yaml.safe_load(shown.strip("`")) == (
                list(default) if isinstance(default, tuple) else default
            ), name


class TestFormat:
    """docs/format.md against the code."""

    def test_recipe_gives_the_places_that_the_code_gives(self) -> None:
        (recipe,) = (b for b in PYTHON_BLOCKS if b.page == "format.md" and "file_rank" in b.text)
        names: dict = {}
        exec(compile(recipe.text, str(recipe), "exec"), names)
        for seed in (0, 7, 2**64 - 1):
            keys = [b"daisy/image_0801.jpg", b"\xff\n", "日本/é.png".encode()]
            ranks = placement.file_ranks(keys, seed=seed)
            positions = np.array([0, 1, 2**40])
            in_file = placement.ranks_in_file(keys[0], positions, seed=seed)
            assert joined(ranks) == [names["file_rank"](key, seed) for key in keys]
            assert joined(in_file) == [
                names["rank_in_file"](keys[0], p, seed) for p in positions.tolist()
            ]
            assert placement.shard_indices(ranks, 1000).tolist() == [
                names["shard_index"](rank, 1000) for rank in joined(ranks)
            ]
            assert placement.split_hashes_in_file(keys[0], positions, seed=seed).tolist() == [
                names["split_hash_in_file"](keys[0], p, seed) for p in positions.tolist()
            ]
            assert placement.split_hashes(keys, seed=seed).tolist() == [
                names["split_hash"](key, seed) for key in keys
            ]

    def test_every_field_of_the_manifest_is_described(self, tmp_path, draw_folder) -> None:
        source = draw_folder(tmp_path / "in", {"a": 6, "b": 6})
        for number, splits in enumerate(
            [
                {"splits": {"x": 0.5, "y": 0.5}, "split_by": "stem"},
                {"splits": {"x": 0.5, "y": 0.5}, "stratify": "label"},
            ]
        ):
            out = tmp_path / f"out{number}"
            tfrec_tools.convert(source, out, **splits)
            data = json.loads((out / "manifest.json").read_text("utf-8"))
            missing = [name for name in manifest_fields(data) if f"`{name}`" not in FORMAT]
            assert not missing

    @pytest.mark.parametrize(
        "splits", [{}, {"splits": {"a": 0.5, "b": 0.5}, "split_method": "order"}]
    )
    def test_every_field_of_the_manifest_of_a_table_is_described(self, tmp_path, splits) -> None:
        table = tmp_path / "in.csv"
        table.write_text("label,size,name\na,1.5,x\nb,-,y\nb,2.5,z\n")
        features = {
            "label": {"kind": "class_label"},
            "size": {"kind": "float64"},
            "name": {"kind": "text"},
        }
        out = tmp_path / "out"
        tfrec_tools.convert(table, out, schema={"features": features}, on_error="skip", **splits)
        data = json.loads((out / "manifest.json").read_text("utf-8"))
        (entry,) = map(json.loads, (out / "report.jsonl").read_text("utf-8").splitlines())
        assert set(entry) == {"path", "row", "column", "action", "reason"}
        assert not [n for n in [*manifest_fields(data), *entry] if f"`{n}`" not in FORMAT]

    def test_every_field_of_the_manifest_of_a_text_is_described(self, tmp_path) -> None:
        (tmp_path / "in.txt").write_bytes(b"one two three\nno\nfour\n\xff\n")
        packed = {"kind": "tokens", "from": "text", "vocabulary_size": 9, "max_length": 4}
        packed |= {"pack": True, "end_token": "<end>", "remainder": "drop"}
        out = tmp_path / "out"
        tfrec_tools.convert(
            tmp_path / "in.txt",
            out,
            schema={"features": {"ids": packed}},
            text={"min_chars": 3},
            on_error="skip",
        )
        data = json.loads((out / "manifest.json").read_text("utf-8"))
        assert {"left_out", "num_dropped_tokens"} <= set(data)
        (entry,) = map(json.loads, (out / "report.jsonl").read_text("utf-8").splitlines())
        assert set(entry) == {"path", "line", "action", "reason"}
        assert not [n for n in [*manifest_fields(data), *entry] if f"`{n}`" not in FORMAT]

    def test_every_kind_is_described_with_what_it_stores(self) -> None:
        stored = section(FORMAT, "### Payloads")
        tensors = section(READING, "## Loading")
        for kind in FEATURE_KINDS:
            assert f"`{kind}`" in stored
            assert f"`{kind}`" in tensors

    def test_every_action_is_described(self) -> None:
        for action in Action:
            assert f"`{action.value}`" in FORMAT
            assert f"\n| `{action.value}` | " in IMAGES
            assert f'"action": "{action.value}"' in IMAGES

    def test_shown_reports_are_json(self) -> None:
        for block in BLOCKS:
            if block.language == "json":
                for line in block.text.splitlines():
                    assert set(json.loads(line)) == {"path", "action", "reason"}


def test_every_argument_of_the_reader_is_described_with_its_default() -> None:
    (described,) = tables(section(READING, "## Arguments"), "argument")
    parameters = inspect.signature(reader.load).parameters
    assert list(described) == list(parameters)
    for name, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            assert ast.literal_eval(described[name].strip("`")) == parameter.default, name


def test_every_public_name_of_a_dataset_is_described() -> None:
    internal = {"check_shards", "columns", "manifest", "open", "path", "split"}
    names = {name for name in vars(reader.Dataset) if not name.startswith("_")}
    for name in names - internal:
        assert f"dataset.{name}" in READING, name


def joined(ranks: placement.Ranks) -> list[int]:
    halves = zip(ranks.high.tolist(), ranks.low.tolist(), strict=True)
    return [high << 64 | low for high, low in halves]


def manifest_fields(data: dict) -> Iterator[str]:
    """Yield the fields that are the format's own, not names of features, files or classes."""
    yield from data
    yield from data["splits_rule"]
    yield from next(iter(data["files"].values()))
    for split in data["splits"]:
        yield from split
        yield from (name for found in split["statistics"].values() for name in found)
        yield from (name for shard in split["shards"] for name in shard)


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=str)
def test_shown_python_compiles_and_uses_names_that_exist(block: Block) -> None:
    tree = ast.parse(block.text, filename=str(block))
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    owners = {"tfrec_tools": tfrec_tools, "reader": reader, "dataset": reader.Dataset}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        owner = owners.get(node.value.id)
        if owner is None:
            continue
        found = getattr(owner, node.attr)  # of Dataset: a property is not callable
        if owner is not reader.Dataset:
            assert node.attr in owner.__all__
        assert callable(found) == (id(node) in called), node.attr
        if call := called.get(id(node)):
            known = inspect.signature(found).parameters
            assert {keyword.arg for keyword in call.keywords} <= set(known)


class TestExamples:
    """Those of docs/tables.md, text.md and beam.md, each in a folder of its own, give what is shown."""

    @pytest.mark.parametrize("block", RUN_CONSOLE_BLOCKS, ids=str)
    def test_shown_commands_say_what_is_shown(self, tmp_path, monkeypatch, capfd, block) -> None:
        monkeypatch.chdir(tmp_path)
        assert "".join(session(block.text, capfd)) == block.text

    @pytest.mark.filterwarnings("ignore:.shuffle=True. was passed")  # Keras, of its own default
    @pytest.mark.parametrize("block", RUN_PYTHON_BLOCKS, ids=str)
    def test_shown_python_prints_what_is_shown(self, tmp_path, monkeypatch, capfd, block) -> None:
        needed = re.findall(r"^import (tokenizers|sentencepiece)$", block.text, flags=re.MULTILINE)
        for package in [*needed, *(["tensorflow"] if "reader.load" in block.text else [])]:
            pytest.importorskip(package)
        monkeypatch.chdir(tmp_path)
        exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})
        shown = re.findall(r"^print\(.*\)  # (.*)$", block.text, flags=re.MULTILINE)
        assert capfd.readouterr().out.splitlines() == shown


def session(text: str, capfd: pytest.CaptureFixture[str]) -> Iterator[str]:
    """Carry out the commands of a console block; yield each with what it printed.

    A here-document belongs to its command. Our own commands run in this process.
    """
    lines = iter(text.splitlines(keepends=True))
    exit_code = 0
    for line in lines:
        if not line.startswith("$ "):
            continue  # what a command printed
        command = line.removeprefix("$ ")
        yield line
        while line.endswith("\\\n") or ("<<" in command and line != "END\n"):
            line = next(lines)
            command += line
            yield line
        if command.startswith(("tfrec ", "tfrec-convert ")):
            words = shlex.split(command)
            entry = main.tfrec if words[0] == "tfrec" else main.tfrec_convert
            end = words.index(">") if ">" in words else len(words)
            exit_code = int(entry(words[1:end]))
            if end < len(words):
                printed = capfd.readouterr()
                Path(words[end + 1]).write_text(printed.out, "utf-8")
                yield printed.err
        else:
            subprocess.run(["bash", "-c", f"(exit {exit_code}); {command}"], check=True)
        printed = capfd.readouterr()
        # A plan's fingerprint is of interest to nobody who reads the page.
        yield re.sub(r"Plan [0-9a-f]{32}", "Plan …", printed.err + printed.out)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    for link in links:
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name}: {link}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
