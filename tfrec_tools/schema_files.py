"""Schemas as YAML files or mappings: read, checked with every problem named, described.

The only module that knows PyYAML and pydantic. Pydantic checks the frozen dataclasses of
``tfrec_tools.schema`` as they are; the words of the messages are ours.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

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

_MAX_BITS = 64
_PYTHON_NAMES = {"from_": "from", "as_": "as"}
"""Options whose names are words of Python's."""
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
        data = yaml.load(text, Loader=_CheckingLoader)  # noqa: S506 (a SafeLoader)
    except RecursionError:
        raise SchemaError(
            [Problem("", "is no valid YAML: it is nested too deeply")], path
        ) from None
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
    if features or not problems:  # what features do to each other is looked at in any case
        try:
            schema = Schema(
                name=data.get("name"),
                description=data.get("description"),
                source=sections["source"] or SourceDefaults(),
                features=features,
                splits=sections["splits"],
            )
        except SchemaError as error:
            problems += error.problems
        else:
            if not problems:
                return schema
    raise SchemaError(problems, origin)


def dump_schema(schema: Schema) -> str:
    """Return the schema as YAML that `load_schema` reads back; options with defaults left out."""
    data: dict[str, Any] = {
        key: value for key in ("name", "description") if (value := getattr(schema, key)) is not None
    }
    if schema.source != SourceDefaults():
        data["source"] = _without_defaults(schema.source)
    data["features"] = {
        name: {"kind": feature.kind} | _without_defaults(feature)
        for name, feature in schema.features.items()
    }
    if schema.splits is not None:
        data["splits"] = _without_defaults(schema.splits)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _without_defaults(value: Any) -> dict[str, Any]:
    given = {
        field.name.rstrip("_")
        for field in fields(value)
        if getattr(value, field.name) != field.default
    }
    return {key: item for key, item in plain_values(value).items() if key in given}


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
        for python_name, name in _PYTHON_NAMES.items():
            if python_name in properties:
                properties[name] = properties.pop(python_name) | {"title": name.capitalize()}
                required = definition.get("required", [])
                definition["required"] = [name if r == python_name else r for r in required]
        if "encode" in properties:
            properties["encode"]["anyOf"].append({"enum": list(_SHORT_ENCODINGS)})
        if "files" in properties:  # one pattern needs no list
            (globs,) = (c for c in properties["files"]["anyOf"] if c.get("type") == "object")
            globs["additionalProperties"] = {
                "anyOf": [{"type": "string"}, globs["additionalProperties"]]
            }
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


class _CheckingLoader(yaml.SafeLoader):
    """A SafeLoader that refuses a key given twice, where YAML would keep the last in silence.

    It also names the line of a value that PyYAML fails to construct.
    """

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        try:
            value = super().construct_object(node, deep=deep)
        except (ValueError, AttributeError, OverflowError):  # such as 2024-13-45, !!int x
            raise yaml.constructor.ConstructorError(
                None, None, "a value is not what it looks like; put it in quotes", node.start_mark
            ) from None
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            raise yaml.constructor.ConstructorError(
                None, None, "a number has more than 64 bits", node.start_mark
            )
        return value

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
    named = _named_as_in_python(value, _SECTIONS[key], key, problems)
    return None if named is None else _validated(_SECTIONS[key], named, key, problems)


def _named_as_in_python(
    options: Mapping[str, Any], cls: type[Any], where: str, problems: list[Problem]
) -> dict[str, Any] | None:
    """Return the options with the names that Python keeps for itself spelled as there.

    None, with a problem, if one was spelled so: that is its name in Python only.
    """
    spelled = [name for name in _PYTHON_NAMES if name in options]
    if spelled:
        problems.append(_unknown_key(spelled[0], _options_of(cls), where))
        return None
    known = {name.rstrip("_"): name for name in cls.__dataclass_fields__ if name in _PYTHON_NAMES}
    return {known.get(key, key): item for key, item in options.items()}


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
        named = _named_as_in_python(options, cls, where, problems)
        if named is None:
            continue
        if isinstance(named.get("encode"), str):
            named["encode"] = {"format": named["encode"]}
        feature = _validated(cls, named, where, problems)
        if feature is not None:
            features[name] = feature
    return features


def _validated(
    cls: type[Any], value: Mapping[str, Any], where: str, problems: list[Problem]
) -> Any:
    try:
        valid = _adapters()[cls].validate_python(dict(value))
    except pydantic.ValidationError as error:
        # A union gives one error per branch; the first says enough about its place, but for
        # the words that may stand there instead, such as `missing: empty`.
        by_place: dict[str, Problem] = {}
        for item in error.errors(include_url=False):
            problem = _problem(cls, item, where)
            first = by_place.setdefault(problem.where, problem)
            if item["type"] == "literal_error" and first is not problem:
                words = item["ctx"]["expected"]
                what = first.what.replace(" (got", f", {words} (got", 1)
                by_place[problem.where] = Problem(first.where, what)
        # What is wrong with an item of a list is said of the item alone, not that a list is no text.
        problems += [
            problem
            for place, problem in by_place.items()
            if not any(other.startswith(f"{place}.") for other in by_place)
        ]
        return None
    guessed = list(_guessed_values(value, plain_values(valid), where))
    problems += guessed
    return None if guessed else valid


def _guessed_values(given: Any, understood: Any, where: str) -> Iterator[Problem]:
    """Yield where pydantic made a value of another type: ``"3"`` to 3, or ``yes please`` to true."""
    if isinstance(given, Mapping) and isinstance(understood, Mapping):
        for key, item in given.items():
            place = str(key).rstrip("_")
            if place in understood:
                yield from _guessed_values(item, understood[place], f"{where}.{place}")
    elif isinstance(given, (list, tuple)) and isinstance(understood, list):
        for index, (item, valid) in enumerate(zip(given, understood, strict=True)):
            yield from _guessed_values(item, valid, f"{where}.{index}")
    else:
        for kind, (taken, expected) in _TAKEN_AS.items():
            if isinstance(understood, kind):
                if not isinstance(given, taken) or isinstance(given, bool) != (kind is bool):
                    yield Problem(where, f"must be {expected} (got {clipped(given)})")
                return


_TAKEN_AS: Mapping[type, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "true or false"),  # before int: a bool is one, too
    int: (int, "a whole number"),
    float: ((int, float), "a number"),
    str: (str, "text"),
}

_EXPECTED_OF_ERROR = {
    "tuple_type": "a list",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "int_from_float": "a whole number",
    "finite_number": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "text",
    "string_unicode": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}


def _problem(cls: type[Any], error: Any, where: str) -> Problem:
    # Branches of a union (such as `float` and `str`) and `[key]`, which says that the fault is in
    # a key, are places of pydantic's, not the user's.
    branches = ("float", "str", "int", "bool", "[key]")
    unknown_key = error["type"] in ("unexpected_keyword_argument", "extra_forbidden")
    parts = [
        str(part).rstrip("_")
        for index, part in enumerate(error["loc"])
        if (part not in branches and not str(part).startswith(("literal[", "tuple[")))
        or (unknown_key and index == len(error["loc"]) - 1)  # a key may be called so
    ]
    place = ".".join([where, *parts])
    got = f"(got {clipped(error['input'])})"
    context = error.get("ctx", {})
    match error["type"]:
        case "value_error":
            return Problem(place, str(context["error"]))
        case "missing":
            return Problem(place, "is required")
        case "unexpected_keyword_argument" | "extra_forbidden" | "invalid_key" if parts:
            *outer, key = parts
            known = _options_of(_nested_class(cls, outer))
            return _unknown_key(key, known, ".".join([where, *outer]))
        case "literal_error":
            return Problem(place, f"must be {context['expected']} {got}")
        case "string_type" if isinstance(error["input"], bool):
            return Problem(
                place,
                f"must be text {got}; YAML takes yes, no, on, off, true and false as true or "
                "false: write them in quotes",
            )
        case _:
            expected = _EXPECTED_OF_ERROR.get(error["type"])
            return Problem(
                place, f"must be {expected} {got}" if expected else f"has no meaning {got}"
            )


def _nested_class(cls: type[Any], parts: Sequence[str]) -> type[Any]:
    """Return the dataclass that the options below ``parts`` belong to, such as that of `resize`."""
    for part in parts:
        hint = get_type_hints(cls).get(part)
        cls = next((c for c in get_args(hint) if isinstance(c, type) and is_dataclass(c)), cls)
    return cls


def _options_of(cls: type[Any]) -> list[str]:
    return [field.name.rstrip("_") for field in fields(cls)]


def _unknown_key(key: str, known: Sequence[str], where: str) -> Problem:
    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return Problem(f"{where}.{key}" if where else key, f"is no option here; {hint}")
