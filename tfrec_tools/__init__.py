"""Image folders, tables and text to sharded, shuffled, checked TFRecord files, and back.

import tfrec_tools
tfrec_tools.convert("images/", "out/")

from tfrec_tools import reader
ds = reader.load("out/", split="train", batch_size=64, image_size=(224, 224))
"""

from tfrec_tools.conversion import convert
from tfrec_tools.errors import (
    DatasetError,
    MissingDependencyError,
    RecordError,
    RequestError,
    SchemaError,
    SourceError,
    TfrecError,
)
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
    "load_manifest",
]
