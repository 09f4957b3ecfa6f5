"""Checks of arguments before any computation; types and descriptions of shared parameters.

Splitting rules, filters and baselines are dataclasses whose fields are checked by their annotated
types (``check_fields`` in ``core/arguments``): a ``Literal``, a flag, or a type that is annotated
with its check, such as ``Count``, ``Share``, ``Seed``, ``Folds`` and ``Period``. A rule adds only
what concerns several fields together.
"""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from rankwise.errors import ParameterError

TrainGroup: TypeAlias = Literal["activity", "popularity", "history"]
"""Groups of users that training interactions define, as `by` names them."""
_TERCILES = ("low", "middle", "high", "none")
TRAIN_GROUP_NAMES: dict[str, tuple[str, ...]] = {
    "activity": _TERCILES,
    "popularity": _TERCILES,
    "history": ("warm", "cold"),
}
"""The names of these groups in order; the last is that of users without training interactions."""
SMALL_GROUP = 30
"""The number of users below which a group is marked as small, by default."""

CorrectionMethod: TypeAlias = Literal[
    "none", "bonferroni", "holm", "hochberg", "bh", "by", "max_t", "tukey"
]
GroupStatistic: TypeAlias = Literal["gap", "ratio", "mean_difference"]
"""The highest minus the lowest group mean, the lowest over the highest, the mean difference over pairs."""
Missing: TypeAlias = Literal["error", "zero", "common"]
SeedDesign: TypeAlias = Literal["auto", "independent", "paired"]
Test: TypeAlias = Literal["auto", "bounded", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"]

Claim: TypeAlias = Literal["time", "users", "none"]
Cold: TypeAlias = Literal["keep", "drop", "only"]
FileFormat: TypeAlias = Literal["parquet", "csv", "recbole", "elliot", "warprec"]
FilterOn: TypeAlias = Literal["train", "all"]
Predicted: TypeAlias = Literal["test", "validation"]
Sampled: TypeAlias = Literal["random"]
Seen: TypeAlias = Literal["keep", "drop"]
TimeUnit: TypeAlias = Literal["s", "ms", "us", "ns"]


_F = TypeVar("_F", bound="Callable[..., Any]")


def described(**texts: str) -> Callable[[_F], _F]:
    """Return a decorator: a docstring's line ``%(name)s`` becomes the text of that name."""

    def fill(function: _F) -> _F:
        if function.__doc__:  # None under python -OO
            document = inspect.cleandoc(function.__doc__)
            for name, text in texts.items():
                document = document.replace(f"%({name})s", text)
            function.__doc__ = document
        return function

    return fill


_T = TypeVar("_T")


def bounded(name: str, values: Iterable[_T], longest: int = 50_000_000) -> list[_T]:
    """Return values as a list; raise if there are too many, for example in an endless generator.

    >>> bounded("items", range(3))
    [0, 1, 2]
    """
    out = list(islice(values, longest + 1))
    if len(out) > longest:
        raise ParameterError(f"{name} has no more than {longest:,} values", found="more")
    return out


def check_choice(name: str, value: object, choices: Any) -> None:
    """Raise unless a value is a choice of a `Literal`."""
    if not isinstance(value, str) or value not in get_args(choices):
        raise ParameterError(
            f"{name} must be one of {', '.join(get_args(choices))}", found=f"{name}={value!r}"
        )


def check_number(name: str, value: object, *, optional: bool = True) -> None:
    """Raise unless a value is a finite number, or an optional None."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (value is None and optional) and not (number and _finite(value)):
        raise ParameterError(f"{name} must be a number", found=f"{name}={value!r}")


def _finite(value: Any) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:  # a whole number that is larger than any float
        return False


def check_count(*, least: int = 1, **values: object) -> None:
    """Raise unless each value is a whole number, by default at least 1."""
    for name, value in values.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not whole or not least <= value < 2**62:  # type: ignore[operator]
            raise ParameterError(
                f"{name} must be a whole number from {least}", found=f"{name}={value!r}"
            )


def check_flag(**values: object) -> None:
    """Raise unless each value is a Boolean, Python's or NumPy's."""
    for name, value in values.items():
        if type(value).__name__ != "bool":
            raise ParameterError(f"{name} must be True or False", found=f"{name}={value!r}")


Count: TypeAlias = Annotated[int, lambda name, value: check_count(**{name: value})]
"""A whole number from 1."""
Number: TypeAlias = Annotated[float, partial(check_number, optional=False)]
"""A finite number."""


@cache
def _annotations(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def check_fields(instance: Any) -> None:
    """Raise unless the annotated type of each field of a dataclass allows its value.

    A `bool` and a `Literal` are checked, and what is `Annotated` with a check: a function of the
    name and the value of a field. None passes where the annotation has it.
    """
    cls: Any = type(instance)
    for name, annotation in _annotations(cls).items():
        value = getattr(instance, name)
        kinds = (
            get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        )
        if value is None and NoneType in kinds:
            continue
        for kind in kinds:
            if kind is bool:
                check_flag(**{name: value})
            elif get_origin(kind) is Literal:
                check_choice(name, value, kind)
            for check in getattr(kind, "__metadata__", ()):
                check(name, value)


def check_path(name: str, value: object) -> Path:
    """Convert a value to a path; raise if the value cannot be a path."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ParameterError(f"{name} must be a path", found=f"{name}={value!r}")
    return Path(text)


def check_positive(*, least: int = 1, **values: int | None) -> None:
    """Raise unless each value is None or a whole number, by default at least 1."""
    check_count(least=least, **{name: value for name, value in values.items() if value is not None})


def rounded_number(number: float | str) -> tuple[float, float]:
    """Parse a number; return its value and half a unit of the last digit written.

    >>> rounded_number("0.25"), rounded_number("25%")
    ((0.25, 0.005), (0.25, 0.005))
    """
    text = str(number).strip()
    try:
        decimal = Decimal(text.removesuffix("%"))
        digits = decimal.as_tuple().exponent
    except InvalidOperation:
        digits = "n"
    if not isinstance(digits, int):
        raise ParameterError(
            "this is not a number", found=repr(number)[:40], hint='write it as text: "0.2317"'
        )
    scale = 0.01 if text.endswith("%") else 1.0
    return float(decimal) * scale, 0.5 * 10.0**digits * scale


def is_slice_of_truth(name: str) -> bool:
    """Return whether a name in ``by`` says a slice of relevant items, not groups of users.

    >>> [is_slice_of_truth(name) for name in ("item:genre", "truth:channel", "repeat", "country")]
    [True, True, True, False]
    """
    return name.partition("[")[0] == "repeat" or name.startswith(("item:", "truth:"))
