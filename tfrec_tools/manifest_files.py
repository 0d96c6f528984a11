"""Manifests as files."""

from __future__ import annotations

from tfrec_tools.errors import DatasetError
from tfrec_tools.manifest import MANIFEST_NAME, Manifest
from tfrec_tools.storage import open_storage, reason_of


def load_manifest(path: str) -> Manifest:
    """Return the manifest of the dataset in the folder ``path`` (local or URL).

    Raises DatasetError if there is none or it is damaged.
    """
    storage = open_storage(path)
    origin = f"{path.rstrip('/')}/{MANIFEST_NAME}"
    try:
        text = storage.read(MANIFEST_NAME.encode())
    except FileNotFoundError:
        if not storage.is_folder():
            raise DatasetError(f"{path} must be the folder of a dataset (there is none)") from None
        raise DatasetError(
            f"{path} must be a finished dataset (it has no {MANIFEST_NAME}); run the conversion "
            "to its end"
        ) from None
    except OSError as error:
        raise DatasetError(f"{origin} could not be read: {reason_of(error)}") from None
    return Manifest.from_json(text, origin=origin)
