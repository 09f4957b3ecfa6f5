"""A parameter of one name has one default, in public and in private functions."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import defaultdict

import pytest

import rankwise
from tools import installed

# Names that mean several things, with all of their defaults that are numbers or flags.
SEVERAL = {
    "alpha": {0.05, 0.01, 0.5},  # a level, that of the audit of experiments, and of α-nDCG
    "digits": {12, 3},  # of values that are compared, and of those in a paper
    "epsilon": {1e-15, 1e-05, 0.0},
    "gamma": {0.01, 1.0},
    "in_order": {True, False},
    "items": {20, 1},
    "k": {10, 5},
    "least": {1, 2},
    "missing": {10.0, 0},
    "n": {100, 10, 1},
    "n_resamples": {10_000, 1000},
    "p": {0.8, 0.9, 1},
    "paired": {True, False},
    "power": {0.8, 0.5, 1.0},
    "required": {True, False},
    "share": {0.1, 0.2},
    "strong": {True, False},
    "threshold": {0.5, 3.5},
    "users": {400, 1},
}
NOT_INSTALLED = {
    package
    for package, libraries in {
        "torch": ("torch", "torchmetrics", "lightning"),
        "spark": ("pyspark", "pyarrow", "pandas"),
        "reporting": ("altair", "jinja2"),
        "experiments": ("pydantic", "yaml"),
    }.items()
    if not all(map(installed, libraries))
}


def modules():
    """Every module of rankwise that can be imported here."""
    for info in pkgutil.walk_packages(rankwise.__path__, "rankwise."):
        if info.name.endswith(("__main__", "_kernels")) or info.name.split(".")[1] in NOT_INSTALLED:
            continue
        if info.name.endswith("triton_products") and not installed("triton"):
            continue
        yield importlib.import_module(info.name)


def functions():
    """Every function, method and constructor of rankwise."""
    for module in modules():
        for value in vars(module).values():
            if getattr(value, "__module__", None) == module.__name__:
                members = vars(value).values() if inspect.isclass(value) else [value]
                members = [
                    getattr(member, "fget", None) or getattr(member, "__func__", member)
                    for member in members
                ]
                yield from filter(inspect.isfunction, members)


@pytest.mark.slow
def test_a_name_has_one_default():
    defaults = defaultdict(lambda: defaultdict(list))
    for function in functions():
        for name, parameter in inspect.signature(function).parameters.items():
            default = parameter.default
            if type(default) in (bool, int, float) and default == default:  # not NaN
                defaults[name][repr(default)].append(
                    f"{function.__module__}.{function.__qualname__}"
                )
    assert len(defaults) > 100
    for name, by_value in defaults.items():
        several = {*map(repr, SEVERAL.get(name, ()))}
        assert len(by_value) == 1 or by_value.keys() <= several, (name, dict(by_value))
    assert {name: [*defaults[name]] for name in ("confidence", "seed")} == {
        "confidence": ["0.95"],
        "seed": ["0"],
    }
