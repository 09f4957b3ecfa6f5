"""Docstrings name the parameters and attributes that there are, as numpydoc reads them."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import fields

import pytest

from rankwise.options import Options
from test_defaults import functions, modules

OPTIONS = {"options", "threshold", *(entry.name for entry in fields(Options))}
"""``**options``, and the names that they stand for."""


def documented(thing, section):
    """Return the names that a section of a docstring has."""
    docscrape = pytest.importorskip("numpydoc.docscrape")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sections of other tools, such as those of pages
        doc = docscrape.NumpyDocString(inspect.getdoc(thing) or "")
    names = (name for entry in doc[section] for name in entry.name.split(","))
    return {name.strip().lstrip("*") for name in names} - {""}


def classes():
    """Every class of rankwise."""
    for module in modules():
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == module.__name__:
                yield value


def parameters_of(cls):
    """Return the parameters of a class, and of all classes that are made of it."""
    names = set(inspect.signature(cls).parameters)
    return names.union(*map(parameters_of, cls.__subclasses__()))


def attributes_of(cls):
    """Return the attributes of a class: declared, defined, or set in a method."""
    own = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", ())}
    return own | {*dir(cls)}


@pytest.mark.slow
def test_documented_parameters_exist():
    for function in functions():
        parameters = inspect.signature(function).parameters
        takes_options = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        unknown = documented(function, "Parameters") - {*parameters}
        unknown -= OPTIONS if takes_options else set()
        assert not unknown, f"{function.__module__}.{function.__qualname__}"


@pytest.mark.slow
def test_documented_parameters_and_attributes_of_classes_exist():
    for cls in classes():
        parameters = documented(cls, "Parameters")
        if parameters:
            assert parameters <= parameters_of(cls) | OPTIONS, cls
        for name in documented(cls, "Attributes") - attributes_of(cls):
            assert f"self.{name}" in inspect.getsource(cls), (cls, name)
