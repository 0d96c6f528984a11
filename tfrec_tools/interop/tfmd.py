"""TensorFlow Metadata: ``schema.pbtxt``, the text form of ``tensorflow.metadata.v0.Schema``.

Read by TFDV, TFT/TFXIO and Ray Data.
"""

from __future__ import annotations

from tfrec_tools.manifest import Manifest
from tfrec_tools.schema import (
    BoolFeature,
    ClassLabelFeature,
    Feature,
    Float32Feature,
    Float64Feature,
    ImageFeature,
    Int64Feature,
    MaskFeature,
    StoredColumn,
    StoredType,
    TextFeature,
    TokensFeature,
)

_TYPES = {StoredType.BYTES: "BYTES", StoredType.INT64: "INT", StoredType.FLOAT32: "FLOAT"}


def schema_pbtxt(manifest: Manifest) -> bytes:
    """Return the text proto: one ``feature`` per stored column, sorted by name."""
    owners = {
        column.name: (name, feature)
        for name, feature in manifest.schema.features.items()
        for column in feature.stored(name)
    }
    blocks = []
    for column in manifest.schema.stored:
        name, feature = owners[column.name]
        domain = _domain(name, feature) if column.name == name else ""
        optional = column.name == name and manifest.may_be_absent(name)
        target = feature.target and column.name == name
        blocks.append(_block(column, domain, target=target, optional=optional))
    return "".join(blocks).encode()


def _block(column: StoredColumn, domain: str, *, target: bool, optional: bool) -> str:
    dimensions = "".join(f" dim {{ size: {size} }}" for size in column.shape)
    lines = [f"  name: {_quoted(column.name)}", f"  type: {_TYPES[column.type]}"]
    if column.is_list:
        lines += ["  value_count { min: 0 }"]
    elif optional and not column.shape:
        lines += ["  value_count { min: 0 max: 1 }"]
    else:
        lines += [f"  shape {{{dimensions} }}" if dimensions else "  shape {}"]
    # A key with an empty list is there, but counts as absent.
    least = "" if column.is_list or optional else "min_fraction: 1.0 "
    lines += [f"  presence {{ {least}min_count: {0 if column.is_list or optional else 1} }}"]
    lines += [f"  {domain}"] if domain else []
    lines += ['  annotation { tag: "target" }'] if target else []
    return "feature {\n" + "\n".join(lines) + "\n}\n"


def _domain(name: str, feature: Feature) -> str:
    match feature:
        case ImageFeature() if feature.is_raw:
            return ""
        case ImageFeature() | MaskFeature():
            return "image_domain { minimum_supported_image_fraction: 1.0 }"
        case ClassLabelFeature(names=names):
            last = max(len(names or ()) - 1, 0)
            return f"int_domain {{ name: {_quoted(name)} min: 0 max: {last} is_categorical: true }}"
        case TextFeature(vocabulary=words, missing=missing) if words is not None:
            if missing is not None and missing not in {"error", "empty", *words}:
                words = (*words, missing)  # it stands for missing ones, so it is stored, too
            values = "".join(f" value: {_quoted(word)}" for word in words)
            return (
                f"string_domain {{ name: {_quoted(name)}{values} is_categorical: CATEGORICAL_YES }}"
            )
        case TextFeature():
            return "natural_language_domain {}"
        case BoolFeature():
            return "bool_domain {}"
        case TokensFeature(num_ids=num_ids) if num_ids is not None:
            return f"int_domain {{ name: {_quoted(name)} min: 0 max: {num_ids - 1} is_categorical: true }}"
        case Int64Feature() | Float32Feature() | Float64Feature(store="float32"):
            kind = "int" if isinstance(feature, Int64Feature) else "float"
            least, most = feature.min, feature.max
            if isinstance(feature.missing, (int, float)):  # stored, though it may lie outside
                least = None if least is None else min(least, feature.missing)
                most = None if most is None else max(most, feature.missing)
            limits = {"min": least, "max": most}
            found = " ".join(f"{k}: {v}" for k, v in limits.items() if v is not None)
            return f"{kind}_domain {{ {found} }}" if found else ""
        case _:
            return ""


def _quoted(text: str) -> str:
    """Return a string of the text proto format; bytes beyond ASCII as octal escapes."""
    escaped = "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{escaped}"'
