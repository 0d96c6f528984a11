"""Image folders and tables to sharded, shuffled, checked TFRecord files, and back.

import tfrec_tools
tfrec_tools.convert("images/", "out/")
tfrec_tools.convert("data.csv", "out2/")

from tfrec_tools import reader
ds = reader.load("out/", split="train", batch_size=64, image_size=(224, 224))
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tfrec_tools.errors import (
    DatasetError,
    MissingDependencyError,
    RecordError,
    RequestError,
    SchemaError,
    SourceError,
    TfrecError,
)

if TYPE_CHECKING:
    from tfrec_tools import reader as reader
    from tfrec_tools.conversion import convert, infer_schema
    from tfrec_tools.manifest import Manifest
    from tfrec_tools.manifest_files import load_manifest
    from tfrec_tools.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "DatasetError",
    "Manifest",
    "MissingDependencyError",
    "RecordError",
    "RequestError",
    "Schema",
    "SchemaError",
    "SourceError",
    "TfrecError",
    "__version__",
    "convert",
    "infer_schema",
    "load_manifest",
]

# Found when first used: the command line starts its workers before NumPy and pyarrow are
# imported, so that both processes import them at the same time.
_HOMES = {
    "Manifest": "tfrec_tools.manifest",
    "Schema": "tfrec_tools.schema",
    "convert": "tfrec_tools.conversion",
    "infer_schema": "tfrec_tools.conversion",
    "load_manifest": "tfrec_tools.manifest_files",
}
_MODULES = ("reader",)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
