"""Schemas as YAML files or mappings: read, checked with every problem named, described.

The only module that knows PyYAML and pydantic. Pydantic checks the frozen dataclasses of
``tfrec_tools.schema`` as they are; the words of the messages are ours.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pydantic
import yaml

from tfrec_tools.errors import Problem, RequestError, SchemaError, clipped
from tfrec_tools.schema import (
    FEATURE_KINDS,
    Feature,
    Schema,
    SourceDefaults,
    SplitsSpec,
    plain_values,
)
from tfrec_tools.storage import open_storage, split_url

JSON_SCHEMA_TITLE = "tfrec-tools schema"

_SHORT_ENCODINGS = ("raw", "jpeg", "png")
_SECTIONS = {"source": SourceDefaults, "splits": SplitsSpec}


def load_schema(path: str) -> Schema:
    """Read a YAML schema file (local path or fsspec URL).

    Raises RequestError if it cannot be read, SchemaError with all of its problems.
    """
    folder, name = split_url(path)
    try:
        text = open_storage(folder).read(name.encode())
    except OSError as error:
        raise RequestError(
            f"the schema file must be readable ({path}: {error.strerror or error})"
        ) from None
    try:
        data = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 (a SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        what = getattr(error, "problem", None) or "must be YAML text in UTF-8"
        raise SchemaError([Problem(place, f"is no valid YAML: {what}")], path) from None
    return parse_schema(data, origin=path)


def parse_schema(data: object, *, origin: str = "schema") -> Schema:
    """Check a mapping as YAML gives it. Raises SchemaError with all problems, each with its place."""
    if not isinstance(data, Mapping):
        raise SchemaError([Problem("", f"must be a mapping (got {clipped(data)})")], origin)
    problems: list[Problem] = []
    known = ("name", "description", "source", "features", "splits")
    problems += [_unknown_key(str(key), known, "") for key in data if key not in known]
    for key in ("name", "description"):
        if data.get(key) is not None and not isinstance(data[key], str):
            problems.append(Problem(key, f"must be text (got {clipped(data[key])})"))
    sections = {key: _section(key, data.get(key), problems) for key in _SECTIONS}
    features = _features(data.get("features"), problems)
    if not problems:
        try:
            return Schema(
                name=data.get("name"),
                description=data.get("description"),
                source=sections["source"] or SourceDefaults(),
                features=features,
                splits=sections["splits"],
            )
        except SchemaError as error:
            problems += error.problems
    raise SchemaError(problems, origin)


def dump_schema(schema: Schema) -> str:
    """Return the schema as YAML that `load_schema` reads back."""
    data = schema.to_dict()
    if schema.splits is not None:
        data["splits"] = plain_values(schema.splits)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True)


def json_schema() -> dict[str, Any]:
    """Return a JSON Schema of schema files, for editors that complete and check YAML."""
    kinds = Annotated[Feature, pydantic.Field(discriminator="kind")]
    described = pydantic.TypeAdapter(dict[str, kinds]).json_schema()
    definitions = described.pop("$defs")
    features = described
    for key, cls in _SECTIONS.items():
        section = _adapters()[cls].json_schema()
        definitions |= section.pop("$defs", {})
        definitions[key] = section
    for definition in definitions.values():
        properties = definition.get("properties", {})
        if "from_" in properties:
            properties["from"] = properties.pop("from_") | {"title": "From"}
            required = definition.get("required", [])
            definition["required"] = ["from" if r == "from_" else r for r in required]
        if "encode" in properties:
            properties["encode"]["anyOf"].append({"enum": list(_SHORT_ENCODINGS)})
        if "kind" in properties and "target" in properties:
            definition["required"] = sorted({*definition.get("required", []), "kind"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": JSON_SCHEMA_TITLE,
        "type": "object",
        "additionalProperties": False,
        "required": ["features"],
        "properties": {
            "name": {"type": "string"},
            "description": {"type": "string"},
            "source": {"$ref": "#/$defs/source"},
            "features": features,
            "splits": {"$ref": "#/$defs/splits"},
        },
        "$defs": definitions,
    }


class _UniqueKeyLoader(yaml.SafeLoader):
    """A SafeLoader that refuses a key given twice, where YAML would keep the last in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (str, int, float, bool)) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands here twice", key_node.start_mark
                )
            if isinstance(key, (str, int, float, bool)):
                seen.add(key)
        return super().construct_mapping(node, deep=deep)


@functools.cache
def _adapters() -> dict[type[Any], pydantic.TypeAdapter[Any]]:
    """Return the validators; building one costs some milliseconds."""
    classes = (*FEATURE_KINDS.values(), *_SECTIONS.values())
    return {cls: pydantic.TypeAdapter(cls) for cls in classes}


def _section(key: str, value: object, problems: list[Problem]) -> Any:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        problems.append(Problem(key, f"must be a mapping (got {clipped(value)})"))
        return None
    if key == "splits" and isinstance(value.get("files"), Mapping):
        globs = {n: [g] if isinstance(g, str) else g for n, g in value["files"].items()}
        value = {**value, "files": globs}
    return _validated(_SECTIONS[key], value, key, problems)


def _features(value: object, problems: list[Problem]) -> dict[str, Feature]:
    if not isinstance(value, Mapping):
        found = "it is missing" if value is None else f"got {clipped(value)}"
        problems.append(Problem("features", f"must be a mapping of names to features ({found})"))
        return {}
    features = {}
    for name, options in value.items():
        where = f"features.{name}"
        if not isinstance(name, str):
            problems.append(Problem(where, f"a feature's name must be text (got {clipped(name)})"))
            continue
        if not isinstance(options, Mapping):
            problems.append(
                Problem(where, f"must be a mapping with a `kind` (got {clipped(options)})")
            )
            continue
        kind = options.get("kind")
        cls = FEATURE_KINDS.get(kind) if isinstance(kind, str) else None
        if cls is None:
            found = "it is missing" if kind is None else f"got {clipped(kind)}"
            problems.append(
                Problem(f"{where}.kind", f"must be one of {', '.join(FEATURE_KINDS)} ({found})")
            )
            continue
        fields = {("from_" if k == "from" else k): item for k, item in options.items()}
        if isinstance(fields.get("encode"), str):
            fields["encode"] = {"format": fields["encode"]}
        feature = _validated(cls, fields, where, problems)
        if feature is not None:
            features[name] = feature
    return features


def _validated(
    cls: type[Any], value: Mapping[str, Any], where: str, problems: list[Problem]
) -> Any:
    try:
        return _adapters()[cls].validate_python(dict(value))
    except pydantic.ValidationError as error:
        problems += [_problem(cls, item, where) for item in error.errors()]
    return None


def _problem(cls: type[Any], error: Any, where: str) -> Problem:
    parts = [str(part).rstrip("_") for part in error["loc"]]
    # The branches of a union (such as `float` and `str`) are places of pydantic's, not the user's.
    parts = [part for part in parts if part not in ("float", "str", "int")]
    place = ".".join([where, *parts])
    got = f"(got {clipped(error['input'])})"
    context = error.get("ctx", {})
    match error["type"]:
        case "value_error":
            return Problem(place, str(context["error"]))
        case "missing":
            return Problem(place, "is required")
        case "unexpected_keyword_argument" | "extra_forbidden":
            known = [name.rstrip("_") for name in cls.__dataclass_fields__ if name[0] != "_"]
            return _unknown_key(parts[-1], known, ".".join([where, *parts[:-1]]))
        case "literal_error":
            return Problem(place, f"must be {context['expected']} {got}")
        case _:
            pass
    expected = {
        "tuple_type": "a list",
        "list_type": "a list",
        "mapping_type": "a mapping",
        "dict_type": "a mapping",
        "dataclass_type": "a mapping",
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "float_parsing": "a number",
        "string_type": "text",
        "bool_type": "true or false",
        "bool_parsing": "true or false",
    }.get(error["type"])
    return Problem(place, f"must be {expected} {got}" if expected else f"{error['msg']} {got}")


def _unknown_key(key: str, known: Sequence[str], where: str) -> Problem:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return Problem(f"{where}.{key}" if where else key, f"is no option here; {hint}")
