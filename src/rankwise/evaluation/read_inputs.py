"""Reading what an evaluation is given: tables from anywhere, or a split with its parts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rankwise.evaluation.settings import Settings, check_population
from rankwise.tables.on_disk import is_folder
from rankwise.tables.read import read_tables
from rankwise.tables.table import Tables

__all__ = ["read_inputs"]


def read_inputs(
    settings: Settings,
    *,
    recommendations: Any = None,
    truth: Any = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    baseline: Any = None,
    required: Sequence[str] = (),
) -> Tables:
    """Read everything that was given, a split in place of ground truth and training included."""
    check_population(users)
    if _may_be_split(truth):
        from rankwise.splits.reading import truth_and_train

        truth, train = truth_and_train(truth, train, settings.columns)
    return read_tables(
        settings.columns,
        recommendations=recommendations,
        truth=truth,
        train=train,
        items=items,
        users=users,
        baseline=baseline,
        required=required,
        progress=settings.progress,
    )


def _may_be_split(truth: Any) -> bool:
    """Return whether ground truth is a folder, or may be a split: one made by a loaded package."""
    is_given_folder = isinstance(truth, str | Path) and is_folder(truth)
    return is_given_folder or "rankwise.splits" in sys.modules
