"""The values of a result by name."""

from __future__ import annotations

from collections.abc import Sequence, ValuesView

__all__ = ["Values", "listed"]


class Values(dict[str, float]):
    """The values of a result by name; as `Result` is a mapping, ``values()`` works as well."""

    def __call__(self) -> ValuesView[float]:
        """Return the numbers alone."""
        return super().values()


def listed(names: Sequence[str]) -> str:
    """Return the first names in one line, and how many there are."""
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")
