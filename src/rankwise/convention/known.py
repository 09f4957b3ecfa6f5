"""`conventions`: the built-in conventions, by name."""

from __future__ import annotations

import importlib
from typing import Any

from rankwise.errors import ParameterError, nearest

__all__ = ["conventions", "find"]


def conventions() -> dict[str, Any]:
    """Return the built-in conventions by name: rankwise's own, and those of other libraries.

    Returns
    -------
    dict of str to Convention

    Examples
    --------
    >>> import rankwise as rw
    >>> list(rw.conventions())[0]
    'default'
    """
    shipped = importlib.import_module("rankwise.convention.shipped")  # made of conventions itself
    return {one.name: one for one in shipped.SHIPPED}


def find(name: str) -> Any:
    """Return a convention by name.

    Raises
    ------
    ParameterError
        If there is no such convention.
    """
    known = conventions()
    if not isinstance(name, str) or name.lower() not in known:
        raise ParameterError(
            "there is no such convention",
            found=repr(name)[:80],
            hint=nearest(str(name), known) or f"one of {', '.join(known)}",
        )
    return known[name.lower()]
