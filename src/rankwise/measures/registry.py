"""The registry: every measure by name, found by walking the package and its plug-ins.

A measure enters by being defined (`rankwise.measures.measure.measure`). Modules of this package
are imported when a name is first looked up, as are packages with an entry point in the group
``rankwise.measures``: at first those of the most common measures, and all others only for a name
that these do not have.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from typing import Any, ClassVar

from rankwise.errors import MeasureError, ParameterError

__all__ = ["Registered", "add", "every", "find", "key", "knows", "names", "remembered"]


class Registered:
    """The attributes of a measure that the registry uses."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[str]
    parts_as_written: ClassVar[bool] = False
    """Whether the measures that it is made of mean the same under every convention."""


_HERE = "rankwise.measures"
_COMMON = ("accuracy", "graded", "reciprocal_ranks")
"""Modules of the measures that most evaluations ask for; they take a fifth of the time of all."""
_known: dict[str, type[Any]] = {}
_read: dict[str, tuple[Any, ...]] = {}
_MOST = 1024  # texts


def key(name: str) -> str:
    """Return a name without case, blanks, ``_`` and ``-``, which do not matter."""
    return re.sub(r"[\s_\-]", "", name).lower()


def add(cls: type[Registered]) -> None:
    """Enter a measure under its name and aliases, in place of the same one defined before."""
    _read.clear()
    if not _is_of_package(cls):
        _load_package()  # so that it cannot take the name of a measure that is not loaded yet
    spellings = (cls.name, *cls.aliases)
    for name in spellings:
        holder = _known.get(key(name), cls)
        same = holder.__qualname__ == cls.__qualname__  # a module may be imported by two names
        if not same or _is_of_package(holder) != _is_of_package(cls):
            raise ParameterError(
                f"two measures are called {name!r}",
                found=f"{holder.__module__}.{holder.__qualname__} and {cls.__module__}.{cls.__qualname__}",
            )
    _known.update({key(name): cls for name in spellings})


def _is_of_package(cls: type[Any]) -> bool:
    return cls.__module__.startswith(f"{_HERE}.")


def remembered(text: str, read: Callable[[], Iterable[Any]]) -> tuple[Any, ...]:
    """Return the measures that a text names, as they were read the last time if none was entered.

    Measures are immutable, and every evaluation asks for the same ones.
    """
    found = _read.get(text)
    if found is None:
        found = tuple(read())  # which may enter measures
        if len(_read) >= _MOST:
            _read.clear()
        _read[text] = found
    return found


@cache
def _load_module(name: str) -> Any:
    """Import a module; wait for it if another thread is importing it."""
    return importlib.import_module(name)


@cache
def _load_package() -> None:
    for module in pkgutil.iter_modules(_load_module(_HERE).__path__):
        _load_module(f"{_HERE}.{module.name}")


@cache
def _load() -> None:
    _load_package()
    for plugin in entry_points(group=_HERE):
        plugin.load()


def _called(name: str) -> type[Any] | None:
    """Return the measure of a name or alias, if there is one."""
    wanted = key(name)
    if wanted not in _known:
        for module in _COMMON:
            _load_module(f"{_HERE}.{module}")
    if wanted not in _known:
        _load()
    cls = _known.get(wanted)
    if cls is not None and _is_of_package(cls):
        _load_module(cls.__module__)  # a class is known before its module is complete
    return cls


def every() -> list[type[Any]]:
    """Return every measure, family by family, by name.

    >>> [cls.name for cls in every() if cls.family == "rating"][:3]
    ['explained_variance', 'fcp', 'log_loss']
    """
    _load()
    return sorted(set(_known.values()), key=lambda cls: (cls.family, cls.name))


def names() -> list[str]:
    """Return every canonical name."""
    return [cls.name for cls in every()]


def knows(name: str) -> bool:
    """Return whether there is a measure of a name or alias."""
    return _called(name) is not None


def _nearest(name: str) -> str | None:
    """Return a hint with the measure that was probably meant, by a name in use."""
    if any(word in key(name) for word in ("genre", "categor", "topic")):
        classes = [cls.name for cls in every() if any(word in cls.name for word in ("category", "topic"))]
        return f"metrics of categories: {', '.join(classes)}; and intra_list_diversity(distance=jaccard)"
    spelled = {key(one): one for cls in every() for one in (*cls.aliases, cls.name)}
    near = get_close_matches(key(name), spelled, n=1, cutoff=0.6)
    return f"did you mean '{spelled[near[0]]}'?" if near else None


def find(name: str) -> type[Any]:
    """Return the measure of a name or alias; case, ``_`` and ``-`` do not matter.

    >>> find("nDCG").name, find("hit-rate").name, find("HR").name
    ('ndcg', 'hit_rate', 'hit_rate')
    """
    cls = _called(name)
    if cls is None:
        raise MeasureError(
            f"there is no measure called {name!r}", hint=_nearest(name) or "'rankwise measures' lists all of them"
        )
    return cls
