"""p-values as readers see them: none is shown as 0."""

from __future__ import annotations

from rankwise.core.view import number

__all__ = ["named_p", "p_value"]

_LEAST = 1e-4


def p_value(p: float | None) -> str:
    """Return a p-value for a cell of a table.

    >>> p_value(0.01234), p_value(1e-9), p_value(None)
    ('0.0123', '<0.0001', '–')
    """
    return f"<{_LEAST:.4f}" if p is not None and p < _LEAST else number(p)


def named_p(name: str, p: float) -> str:
    """Return a p-value for a sentence.

    >>> named_p("p", 0.01234), named_p("adjusted p", 1e-9)
    ('p = 0.0123', 'adjusted p < 0.0001')
    """
    return f"{name} < {_LEAST:.4f}" if p < _LEAST else f"{name} = {number(p)}"
