"""Presenters: functions that draw and report results, which `rankwise` registers from above.

A result has a method for each, so that it is found where the result is; the code that draws stands
above it, and is loaded at the first call. Importing any module of rankwise registers all presenters.

>>> register_presenter("shout", lambda text: text.upper())
>>> present("shout", "ndcg")
'NDCG'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_PRESENTERS: dict[str, Callable[..., Any]] = {}


def register_presenter(name: str, presenter: Callable[..., Any]) -> None:
    """Register the function that presents results under a name."""
    _PRESENTERS[name] = presenter


def present(name: str, *arguments: Any, **options: Any) -> Any:
    """Call the presenter of a name."""
    return _PRESENTERS[name](*arguments, **options)
