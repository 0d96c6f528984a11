"""The architecture, as tests: a module imports only from the layers below its own."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

LAYERS = [  # top first; a package stands for all of its modules
    {"tfrec_tools", "tfrec_tools.__main__"},
    {"beam_jobs.images", "beam_jobs.csv", "beam_jobs.text"},
    {"beam_jobs.main"},
    {"tfrec_tools.cli"},
    {"tfrec_tools.conversion"},
    {"tfrec_tools.request_parsing"},
    {"beam_jobs", "tfrec_tools.local_engine", "tfrec_tools.reader"},
    {"tfrec_tools.stages"},
    {
        "tfrec_tools.sources",
        "tfrec_tools.images",
        "tfrec_tools.tokenization",
        "tfrec_tools.interop",
    },
    {"tfrec_tools.shard_files", "tfrec_tools.manifest_files", "tfrec_tools.schema_files"},
    {"tfrec_tools.storage"},
    {"tfrec_tools.table_plan"},
    {"tfrec_tools.plan", "tfrec_tools.table_schema"},
    {"tfrec_tools.splitting", "tfrec_tools.file_schema"},
    {"tfrec_tools.layout"},
    {"tfrec_tools.survey", "tfrec_tools.table_survey"},
    {"tfrec_tools.request", "tfrec_tools.manifest", "tfrec_tools.tables"},
    {"tfrec_tools.statistics"},
    {"tfrec_tools.schema"},
    {"tfrec_tools.records", "tfrec_tools.example_codec"},
    {"tfrec_tools.csv_dialect", "tfrec_tools.text_options", "tfrec_tools.inference"},
    {"tfrec_tools.placement", "tfrec_tools.record_framing", "tfrec_tools.shard_names"},
    {"tfrec_tools.packing", "tfrec_tools.path_globs", "tfrec_tools.worker_start"},
    {"tfrec_tools.errors"},
]
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}
HOME = {  # third-party packages that only some modules may import
    "tensorflow": {"tfrec_tools.reader"},
    "keras": {"tfrec_tools.reader"},
    "apache_beam": {"beam_jobs"},
    "click": {"tfrec_tools.cli"},
    "tqdm": {"tfrec_tools.cli"},
    "yaml": {"tfrec_tools.schema_files"},
    "pydantic": {"tfrec_tools.schema_files"},
    "fsspec": {"tfrec_tools.storage"},
    "PIL": {"tfrec_tools.images"},
    "simplejpeg": {"tfrec_tools.images"},
    "tokenizers": {"tfrec_tools.tokenization"},
    "sentencepiece": {"tfrec_tools.tokenization"},
    "pandas": set(),
    "google_crc32c": {"tfrec_tools.record_framing"},
}
MAX_LINES = 420


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit_of(module: str) -> str | None:
    parts = module.split(".")
    return next((u for end in (3, 2, 1) if (u := ".".join(parts[:end])) in LEVEL), None)


def imports_of(path: Path) -> set[str]:
    """Every name a file imports, at any depth: a hidden import is an import too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


MODULES = sorted([*(ROOT / "tfrec_tools").rglob("*.py"), *(ROOT / "beam_jobs").rglob("*.py")])


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_come_from_lower_layers(path: Path) -> None:
    own = unit_of(module_name(path))
    assert own is not None
    if module_name(path) != "tfrec_tools":
        assert own != "tfrec_tools", f"say in LAYERS where {module_name(path)} belongs"
    for name in imports_of(path):
        package = name.split(".")[0]
        if package in HOME:
            assert own in HOME[package], f"{own} must not import {package}"
        if package not in ("tfrec_tools", "beam_jobs") or name == "tfrec_tools.__version__":
            continue
        target = unit_of(name)
        if target == "tfrec_tools":
            assert own in ("tfrec_tools", "tfrec_tools.cli"), f"{own} must not import the package"
        elif target != own:
            assert LEVEL[target] > LEVEL[own], f"{own} must not import {target}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_modules_are_short_and_have_telling_names(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MAX_LINES
    assert path.stem not in {"utils", "helpers", "common", "misc", "types"}


def loaded_after(code: str) -> set[str]:
    heavy = "{'tensorflow', 'apache_beam', 'pandas', 'numpy', 'pyarrow', 'keras'}"
    code = f"import sys\n{code}\nprint('loaded:', *{heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("loaded:")[1].split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded_after("import tfrec_tools") == set()


def test_help_imports_nothing_heavy() -> None:
    code = "from tfrec_tools.cli.main import tfrec\ntfrec(['--help'])\ntfrec(['convert', '--help'])"
    assert loaded_after(code) == set()


def test_converting_imports_neither_tensorflow_nor_beam_nor_pandas(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 2})
    code = (
        "from tfrec_tools.cli.main import tfrec_convert\n"
        f"assert tfrec_convert([{str(source)!r}, {str(tmp_path / 'out')!r}]) == 0"
    )
    assert loaded_after(code) == {"numpy", "pyarrow"}


def test_opening_a_dataset_imports_no_tensorflow(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 2, "b": 2})
    code = (
        "import tfrec_tools\nfrom tfrec_tools import reader\n"
        f"tfrec_tools.convert({str(source)!r}, {str(tmp_path / 'out')!r})\n"
        f"assert reader.open({str(tmp_path / 'out')!r}).num_records('train') == 4"
    )
    assert not {"tensorflow", "keras"} & loaded_after(code)
