"""The values of a result by name."""

from __future__ import annotations

from collections.abc import ValuesView

__all__ = ["Values"]


class Values(dict[str, float]):
    """The values of a result by name; as `Result` is a mapping, ``values()`` works as well."""

    def __call__(self) -> ValuesView[float]:
        """Return the numbers alone."""
        return super().values()
