"""What users may import, and that it says what it does."""

from __future__ import annotations

import dataclasses
import inspect
import pickle

import pytest

import tfrec_tools
from tfrec_tools import conversion, errors
from tfrec_tools.request import Request, SourceSpec


def test_public_names_are_exactly_all() -> None:
    lazy = set(tfrec_tools._HOMES)
    assert lazy <= set(tfrec_tools.__all__)
    for name in tfrec_tools.__all__:
        assert getattr(tfrec_tools, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tfrec_tools.nonsense  # noqa: B018


def test_defaults_of_convert_are_those_of_the_request() -> None:
    defaults = {f.name: f.default for f in dataclasses.fields(Request)} | {
        f.name: f.default for f in dataclasses.fields(SourceSpec)
    }
    for name, parameter in inspect.signature(conversion.convert).parameters.items():
        if (
            name in defaults
            and name not in ("kind", "csv", "text")
            and parameter.default is not inspect.Parameter.empty
        ):
            default = defaults[name]
            assert parameter.default == getattr(default, "value", default), name


@pytest.mark.parametrize(
    "error",
    [
        errors.RequestError("a"),
        errors.MissingDependencyError("b"),
        errors.SchemaError([errors.Problem("features.x", "is wrong")], "file.yaml"),
        errors.SourceError("c"),
        errors.RecordError("d"),
        errors.DatasetError("e"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_cross_process_borders(error: errors.TfrecError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.exit_code) == (type(error), str(error), error.exit_code)
