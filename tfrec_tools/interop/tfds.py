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
    Float64Feature,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    StoredType,
    TextFeature,
    TimestampFeature,
    TokensFeature,
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
    pair = _supervised(manifest)
    if pair is not None:
        info["supervisedKeys"] = {"tuple": {"items": [{"featureKey": key} for key in pair]}}
    return info


def _supervised(manifest: Manifest) -> tuple[str, str] | None:
    """Return input and target, if one feature is the input: an image, or the only one but the path."""
    schema = manifest.schema
    if schema.target is None:
        return None
    inputs = [name for name in schema.features if name != schema.target]
    images = [name for name in schema.features_of(ImageFeature) if name != schema.target]
    if images:
        return images[0], schema.target
    # The path of a document is no input.
    inputs = [n for n in inputs if (schema.features[n].from_ or n) != "filename"] or inputs
    # Of several inputs, TFDS would have to be given a dict.
    return (inputs[0], schema.target) if len(inputs) == 1 else None


def _features(manifest: Manifest) -> dict[str, Any]:
    features: dict[str, Any] = {}
    for name, feature in manifest.schema.features.items():
        absent = manifest.may_be_absent(name)
        features[name] = _optional(feature) if absent else _feature(feature)
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
                return _tensor("uint8", feature.raw_shape, encoding="bytes")
            return _image("uint8", feature.channels)
        case MaskFeature(dtype=dtype):
            return _image(dtype, 1)
        case ClassLabelFeature(names=names):
            label = {
                "pythonClassName": f"{_PREFIX}class_label_feature.ClassLabel",
                "classLabel": {"numClasses": str(len(names or ()))},
            }
            return _sequence(label) if feature.many else label
        case TextFeature(many=many):
            text = {"pythonClassName": f"{_PREFIX}text_feature.Text", "text": {}}
            return _sequence(text) if many else text
        case BytesFeature():
            return _scalar("string")
        case Int64Feature(shape=shape, many=many):
            return _number("int64", shape, many=many)
        case Float32Feature(shape=shape, many=many):
            return _number("float32", shape, many=many)
        case Float64Feature(shape=shape, many=many, store="float32"):
            return _number("float32", shape, many=many)
        case Float64Feature(shape=shape, many=many):
            # All values in one bytes value, which TFDS decodes to the shape; -1 is any length.
            return _tensor("float64", (-1,) if many else shape or (), encoding="bytes")
        case BoolFeature():
            return _scalar("bool")
        case TimestampFeature():
            return _scalar("int64")
        case TokensFeature(shape=shape, many=many):
            return _number("int64", shape, many=many)
    assert_never(feature)


def _image(dtype: str, channels: int) -> dict[str, Any]:
    image: dict[str, Any] = {"shape": {"dimensions": ["-1", "-1", str(channels)]}, "dtype": dtype}
    if dtype == "uint16":
        image["encodingFormat"] = "png"
    return {"pythonClassName": f"{_PREFIX}image_feature.Image", "image": image}


def _optional(feature: Feature) -> dict[str, Any]:
    """Return the scalar that some records do not have.

    TFDS then gives the least number, False or an empty string. No other of its features can
    be absent: labels are numbers here, and float64 kept as bytes stays bytes.
    """
    (column,) = feature.stored("")
    dtype = {StoredType.BYTES: "string", StoredType.INT64: "int64", StoredType.FLOAT32: "float32"}
    scalar = _scalar("bool" if isinstance(feature, BoolFeature) else dtype[column.type])
    scalar["tensor"]["optional"] = True
    return scalar


def _number(dtype: str, shape: tuple[int, ...] | None, *, many: bool) -> dict[str, Any]:
    if many:
        return _sequence(_scalar(dtype))
    return _scalar(dtype) if shape is None else _tensor(dtype, shape, encoding="none")


def _tensor(dtype: str, shape: tuple[int, ...], *, encoding: str) -> dict[str, Any]:
    sides = {"dimensions": [str(side) for side in shape]} if shape else {}
    return {
        "pythonClassName": f"{_PREFIX}tensor_feature.Tensor",
        "tensor": {"shape": sides, "dtype": dtype, "encoding": encoding},
    }


def _sequence(feature: dict[str, Any]) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PREFIX}sequence_feature.Sequence",
        "sequence": {"feature": feature, "length": "-1"},
    }


def _scalar(dtype: str) -> dict[str, Any]:
    return {
        "pythonClassName": f"{_PREFIX}scalar.Scalar",
        "tensor": {"shape": {}, "dtype": dtype, "encoding": "none"},
    }
