"""Check for functions that need one result per system, over independent users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwise.errors import ParameterError

__all__ = ["check_plain_design"]


def check_plain_design(settings: Mapping[str, Any], what: str) -> None:
    """Raise if a comparison has several seeds or data sets, or clusters of users."""
    design = [name for name in ("seeds", "data_sets", "clusters") if settings[name]]
    if design:
        raise ParameterError(
            f"{what} is about one result per system, over independent users",
            found=f"a comparison with {', '.join(design)}",
            hint="compare the results of one seed, on one data set",
        )
