"""Presets: a second name for a measure with some of its parameters fixed, equal by construction."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from rankwise.measures.measure import Measure, measure

__all__ = ["preset"]

_M = TypeVar("_M", bound=type[Measure])


def preset(
    name: str,
    *aliases: str,
    fixed: Mapping[str, Any],
    family: str,
    range: tuple[float, float] | None = None,  # noqa: A002 - the field's word
    plain: Callable[..., Any] | None = None,
) -> Callable[[_M], _M]:
    """Make a subclass of a measure a preset: the same measure with parameters that are fixed.

    Parameters
    ----------
    name, *aliases : str
        The names.
    fixed : mapping of str to object
        The values of the parameters that are fixed; the preset does not have these parameters.
    family : str
        The family.
    range : tuple of float, optional
        The smallest and the largest value; by default those of the measure.
    plain : callable, optional
        The definition in plain Python; by default that of the measure.

    Returns
    -------
    callable
        A class decorator.
    """

    def decorate(cls: _M) -> _M:
        base = cls.__mro__[1]
        assert issubclass(base, Measure)
        cls.__annotations__ = {**inspect.get_annotations(cls), **dict.fromkeys(fixed, ClassVar[Any])}
        for parameter, value in fixed.items():
            setattr(cls, parameter, value)
        cls.fixed = dict(fixed)
        return measure(
            name,
            *aliases,
            range=range or base.range,
            higher_is_better=base.higher_is_better,
            cutoff=base.cutoff,
            family=family,
            plain=plain or base.plain,
        )(cls)

    return decorate
