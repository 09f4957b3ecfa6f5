"""A split in the place of a truth: its test part, and its training part beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankwise.errors import ParameterError
from rankwise.splits.reading import read
from rankwise.splits.split import Folds, Split

__all__ = ["open_split"]


def open_split(truth: Any, train: Any) -> tuple[Any, Any]:
    """Return truth and training as they are, or those of a split that stands for the truth."""
    if isinstance(truth, str | Path) and Path(truth).is_dir():
        truth = read(truth)
    if isinstance(truth, Folds):
        raise ParameterError(
            "several folds are evaluated one after the other",
            found=repr(truth),
            hint="for split in folds: evaluate(…, split); on the command line the folder DIR/0",
        )
    if isinstance(truth, Split) and train is None:
        train = truth.as_table("train")
    return truth, train
