"""The registry of all metrics by name, from the package and its plug-ins, and their parsing.

A metric enters by being defined (`rankwise.metrics.base.metric`). Modules of this package are
imported when a name is first looked up, as are packages with an entry point in the group
``rankwise.metrics``: at first those of the most common metrics, and all others only for a name that
these do not have.

Metrics from text: ``ndcg@10``, ``recall@[5,10,20]``, ``ndcg(gain=exponential)@10``.

The text is read with Python's own grammar and then walked node by node; nothing is evaluated.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol

from rankwise.errors import MetricError, ParameterError, UsageError, nearest

__all__ = [
    "RANKWISE",
    "Language",
    "Registered",
    "add",
    "all_metrics",
    "find",
    "is_metric_parameter",
    "knows",
    "make",
    "names",
    "normal_form",
    "normalise_name",
    "parse_cached",
    "parse_text",
    "several_metrics",
]


class Registered:
    """The attributes of a metric that the registry uses."""

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    family: ClassVar[str]
    parts_as_written: ClassVar[bool] = False
    """Whether the metrics that it is made of mean the same under every convention."""


_HERE = "rankwise.metrics"
_COMMON = ("accuracy", "graded")
"""Modules of the metrics that most evaluations ask for; they take a fifth of the time of all."""
_TWO_MEANINGS = {
    "hits": "hit_rate@k is 1 for a user with a hit in the top k; tp@k is the number of hits of all "
    "users"
}
"""Names that libraries use for different metrics, with the metrics that they may mean."""
_classes: dict[str, type[Any]] = {}
_remembered: dict[str, tuple[Any, ...]] = {}
_MOST = 1024  # texts


def normalise_name(name: str) -> str:
    """Return a name without case, blanks, ``_`` and ``-``, which do not matter."""
    return re.sub(r"[\s_\-]", "", name).lower()


def add(cls: type[Registered]) -> None:
    """Enter a metric under its name and aliases, in place of the same one defined before."""
    _remembered.clear()
    if not _is_of_package(cls):
        _load_package()  # so that it cannot take the name of a metric that is not loaded yet
    spellings = (cls.name, *cls.aliases)
    for name in spellings:
        holder = _classes.get(normalise_name(name), cls)
        same = holder.__qualname__ == cls.__qualname__  # a module may be imported by two names
        if not same or _is_of_package(holder) != _is_of_package(cls):
            raise ParameterError(
                f"two metrics are called {name!r}",
                found=f"{holder.__module__}.{holder.__qualname__} and "
                f"{cls.__module__}.{cls.__qualname__}",
            )
    _classes.update({normalise_name(name): cls for name in spellings})


def _is_of_package(cls: type[Any]) -> bool:
    return cls.__module__.startswith(f"{_HERE}.")


def parse_cached(text: str, read: Callable[[], Iterable[Any]]) -> tuple[Any, ...]:
    """Return the metrics that a text names, as they were read the last time if none was entered.

    Metrics are immutable, and every evaluation asks for the same ones.
    """
    metrics = _remembered.get(text)
    if metrics is None:
        metrics = tuple(read())  # which may enter metrics
        if len(_remembered) >= _MOST:
            _remembered.clear()
        _remembered[text] = metrics
    return metrics


@cache
def _load_module(name: str) -> Any:
    """Import a module; wait if another thread is importing the same module."""
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
    """Return the metric of a name or alias, if there is one."""
    spelling = normalise_name(name)
    if spelling not in _classes:
        for module in _COMMON:
            _load_module(f"{_HERE}.{module}")
    if spelling not in _classes:
        _load()
    cls = _classes.get(spelling)
    if cls is not None and _is_of_package(cls):
        _load_module(cls.__module__)  # a class is known before its module is complete
    return cls


def all_metrics() -> list[type[Any]]:
    """Return every metric, family by family, by name.

    >>> [cls.name for cls in all_metrics() if cls.family == "rating"][:3]
    ['brier', 'calibration_ratio', 'classification']
    """
    _load()
    return sorted(set(_classes.values()), key=lambda cls: (cls.family, cls.name))


def names() -> list[str]:
    """Return every canonical name."""
    return [cls.name for cls in all_metrics()]


def knows(name: str) -> bool:
    """Return whether there is a metric of a name or alias."""
    return _called(name) is not None


def _nearest(name: str) -> str | None:
    """Return a hint with the metric that was probably meant, by a name in use."""
    from difflib import get_close_matches  # only errors need it

    if any(word in normalise_name(name) for word in ("genre", "categor", "topic")):
        classes = [
            cls.name
            for cls in all_metrics()
            if any(word in cls.name for word in ("category", "topic"))
        ]
        return (
            f"metrics of categories: {', '.join(classes)}; and "
            "intra_list_diversity(distance=jaccard)"
        )
    spelled = {
        normalise_name(one): one for cls in all_metrics() for one in (*cls.aliases, cls.name)
    }
    near = get_close_matches(normalise_name(name), spelled, n=1, cutoff=0.6)
    return f"did you mean '{spelled[near[0]]}'?" if near else None


def find(name: str) -> type[Any]:
    """Return the metric of a name or alias; case, ``_`` and ``-`` do not matter.

    >>> find("nDCG").name, find("hit-rate").name, find("HR").name
    ('ndcg', 'hit_rate', 'hit_rate')
    """
    cls = _called(name)
    if cls is None and normalise_name(name) in _TWO_MEANINGS:
        raise MetricError(f"{name!r} has two meanings", hint=_TWO_MEANINGS[normalise_name(name)])
    if cls is None:
        raise MetricError(
            f"there is no metric called {name!r}",
            hint=_nearest(name) or "'rankwise metrics' lists all of them",
        )
    return cls


class Language(Protocol):
    """The meaning of metric names."""

    def knows(self, name: str) -> bool:
        """Return whether a name means a metric."""

    def find(self, name: str) -> type[Any]:
        """Return the class of the metric that a name means."""

    def make(self, name: str, parameters: dict[str, Any]) -> Any:
        """Return the metric that a name with these parameters means."""


class _Rankwise:
    """The names and defaults of rankwise."""

    knows = staticmethod(knows)
    find = staticmethod(find)

    @staticmethod
    def make(name: str, parameters: dict[str, Any]) -> Any:
        return make(find(name), parameters)


RANKWISE: Language = _Rankwise()

_LONGEST = 10_000  # characters of a text that is read: nesting needs a stack


def parse_text(text: str, language: Language = RANKWISE) -> list[Any]:
    """Return the metrics that a text names: one, or several with a comma between them.

    ``language`` says what names and left-out parameters mean.

    >>> [str(metric) for metric in parse_text("ndcg@10, recall@5,10")]
    ['ndcg@10', 'recall@[5,10]']
    """
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise _unreadable(text)
    if language is not RANKWISE:
        return _read(text, language)
    return list(parse_cached(text, lambda: _read(text, RANKWISE)))


def _read(text: str, language: Language) -> list[Any]:
    try:
        node = ast.parse(normal_form(text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _unreadable(text) from error
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    try:
        return _metrics(nodes, text, language)
    except RecursionError as error:
        raise _unreadable(text) from error


def normal_form(text: str) -> str:
    """Return a text in which names like hit-rate are one word, as they are to people."""
    return re.sub(  # what stands in quotes is left alone
        r"""('[^']*'|"[^"]*")|(?<=[A-Za-z])-(?=[A-Za-z])""",
        lambda match: match[1] or "_",
        text.strip(),
    )


def _metrics(nodes: list[ast.expr], text: str, language: Language) -> list[Any]:
    out: list[Any] = []
    for part in nodes:
        number = _number(part)
        if number is None:
            out.append(_metric(part, text, language))
        elif out and out[-1].k:  # recall@5,10: another cut-off of the same metric
            out[-1] = out[-1] @ (*out[-1].k, number)
        else:
            raise _unreadable(text)
    return out


def _metric(node: ast.expr, text: str, language: Language) -> Any:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        metric = _metric(node.left, text, language)
        if _has_cutoff(node.left, metric, language):  # ndcg@10@5
            raise _unreadable(text)
        return metric @ _cutoffs(node.right, text)
    if isinstance(node, ast.Name):
        return _named(node.id, language)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) < 2:
        return _metric_with_parameters(node.func.id, node, text, language)
    raise _unreadable(text)


def _has_cutoff(node: ast.expr, metric: Any, language: Language) -> bool:
    """Whether a cut-off is written in a metric, and is not that of a convention's name alone."""
    if isinstance(node, ast.Name):
        return bool(metric.k) and not language.knows(node.id)
    return isinstance(node, ast.BinOp)


def _metric_with_parameters(name: str, call: ast.Call, text: str, language: Language) -> Any:
    """Return the metric of a call: ``rbp(p=0.8)``, or ``group_gap(ndcg)`` without its parameter."""
    cls = language.find(name)
    inside = RANKWISE if cls.parts_as_written else language
    parameters = {word.arg or "": _value(word.value, text, inside) for word in call.keywords}
    for part in call.args:  # at most one: the metric that this one is made of
        parameter = next(
            (word for word, kind in _defaults(cls).items() if is_metric_parameter(kind)), None
        )
        if parameter is None or parameter in parameters:
            raise _unreadable(text)
        parameters[parameter] = _value(part, text, inside)
    return language.make(name, parameters)


def _named(name: str, language: Language) -> Any:
    """Return the metric of a name, which may end in a cut-off: ``ndcg_cut_10``, ``P_5``."""
    if language.knows(name):
        return language.make(name, {})
    ending = re.fullmatch(r"(.+)_(\d{1,9})", name)
    if ending is not None:
        return _named(ending[1], language) @ int(ending[2])
    if name.lower() == "map_cut":  # trec_eval divides by all relevant items, also above k
        return language.make("map", {"normaliser": "relevant"})
    return language.make(name, {})


def make(cls: type[Any], parameters: dict[str, Any]) -> Any:
    """Make a metric from parameters by name, saying which is unknown."""
    defaults = _defaults(cls)
    for name in parameters:
        if name not in defaults:
            raise ParameterError(
                f"{cls.name} has no parameter {name!r}",
                found=f"its parameters: {', '.join(defaults) or 'none'}",
                hint=nearest(name, defaults),
            )
    values: dict[str, Any] = {}
    for name, value in parameters.items():
        none = value is None and isinstance(defaults[name], str)  # discount=none is a word there
        values[name] = "none" if none else value
    return cls(**values)


def _defaults(cls: type[Any]) -> dict[str, Any]:
    return {field.name: field.default for field in fields(cls) if field.name != "k"}


def is_metric_parameter(default: Any) -> bool:
    """Whether a parameter takes a metric, or several, as its default shows."""
    first = default[0] if isinstance(default, tuple) and default else default
    return isinstance(first, Registered)


def _cutoffs(node: ast.expr, text: str) -> tuple[int, ...]:
    nodes = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    numbers = [_number(part) for part in nodes]
    if not numbers or any(number is None for number in numbers):
        raise _unreadable(text)
    return tuple(number for number in numbers if number is not None)


def _number(node: ast.expr) -> int | None:
    value = _literal(node)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        return -inner if isinstance(inner, int | float) else None
    return None


def _value(node: ast.expr, text: str, language: Language) -> Any:
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "none": None}.get(node.id.lower(), node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(_value(entry, text, language) for entry in node.elts)
    literal = _literal(node)
    return literal if literal is not None else _metric(node, text, language)


def _unreadable(text: str) -> UsageError:
    return MetricError(
        "this is not the text of a metric",
        found=text if isinstance(text, str) and len(text) < 200 else repr(text)[:200] + "…",
        hint="write name@k, name@[5,10] or name(parameter=value)@k",
    )


def several_metrics(text: str) -> MetricError:
    """Return the error for a text that names several metrics where one is needed."""
    return MetricError("this names several metrics", found=text, hint="pass them as a list")
