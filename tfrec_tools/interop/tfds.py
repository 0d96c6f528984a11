"""TFDS: ``dataset_info.json``, ``features.json`` and one ``<feature>.labels.txt`` per label.

Format: TFDS's ``DatasetInfo`` and ``Feature`` protos as proto3 JSON (camelCase, 64-bit
numbers as strings). TFDS refuses keys it does not know, so only those that old versions
know are written.
"""

from __future__ import annotations

import json
from typing import Any, assert_never

from tfrec_tools.manifest import Manifest
from tfrec_tools.schema import (
    BoolFeature,
    BytesFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    TextFeature,
)

_PREFIX = "tensorflow_datasets.core.features."
DATASET_VERSION = "1.0.0"
FILE_TEMPLATE = "{SPLIT}-{SHARD_X_OF_Y}.{FILEFORMAT}"


def tfds_files(manifest: Manifest) -> dict[str, bytes]:
    """Return the files by name; none for a compressed dataset, which TFDS cannot read."""
    if manifest.compression is not None:
        return {}
    files = {
        "dataset_info.json": _json(_dataset_info(manifest)),
        "features.json": _json(_features(manifest)),
    }
    for name, feature in manifest.schema.features_of(ClassLabelFeature).items():
        names = "".join(f"{class_name}\n" for class_name in feature.names or ())
        files[f"{name}.labels.txt"] = names.encode()
    return files


def _json(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode()


def _dataset_info(manifest: Manifest) -> dict[str, Any]:
    info: dict[str, Any] = {
        "name": manifest.name,
        "version": DATASET_VERSION,
        "description": manifest.schema.description or f"{manifest.name}, written by tfrec-tools.",
        "fileFormat": "tfrecord",
        "splits": [
            {
                "name": split.name,
                "shardLengths": [str(shard.num_records) for shard in split.shards],
                "numBytes": str(split.payload_bytes),
                "filepathTemplate": FILE_TEMPLATE,
            }
            for split in manifest.splits
        ],
    }
    image = next(iter(manifest.schema.features_of(ImageFeature)), None)
    target = manifest.schema.target
    if image is not None and target is not None:
        info["supervisedKeys"] = {
            "tuple": {"items": [{"featureKey": image}, {"featureKey": target}]}
        }
    return info


def _features(manifest: Manifest) -> dict[str, Any]:
    features: dict[str, Any] = {}
    for name, feature in manifest.schema.features.items():
        features[name] = _feature(feature)
        for column in feature.stored(name):
            if column.name != name:
                features[column.name] = _scalar("int64")
    return {
        "pythonClassName": f"{_PREFIX}features_dict.FeaturesDict",
        "featuresDict": {"features": features},
    }


def _feature(feature: Feature) -> dict[str, Any]:
    match feature:
        case ImageFeature():
            if feature.raw_shape is not None:
                return {
                    "pythonClassName": f"{_PREFIX}tensor_feature.Tensor",
                    "tensor": {
                        "shape": {"dimensions": [str(side) for side in feature.raw_shape]},
                        "dtype": "uint8",
                        "encoding": "bytes",
                    },
                }
            return _image("uint8", feature.channels)
        case MaskFeature(dtype=dtype):
            return _image(dtype, 1)
        case ClassLabelFeature(names=names):
            return {
                "pythonClassName": f"{_PREFIX}class_label_feature.ClassLabel",
                "classLabel": {"numClasses": str(len(names or ()))},
            }
        case TextFeature():
            return {"pythonClassName": f"{_PREFIX}text_feature.Text", "text": {}}
        case BytesFeature():
            return _scalar("string")
        case Int64Feature():
            return _scalar("int64")
        case Float32Feature():
            return _scalar("float32")
        case BoolFeature():
            return _scalar("bool")
    assert_never(feature)


def _image(dtype: str, channels: int) -> dict[str, Any]:
    image: dict[str, Any] = {"shape": {"dimensions": ["-1", "-1", str(channels)]}, "dtype": dtype}
    if dtype == "uint16":
        image["encodingFormat"] = "png"
    return {"pythonClassName": f"{_PREFIX}image_feature.Image", "image": image}


def _scalar(dtype: str) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PREFIX}scalar.Scalar",
        "tensor": {"shape": {}, "dtype": dtype, "encoding": "none"},
    }
