"""Leakage-free splits of interactions into training, validation and test.

Each rule is an immutable object whose method ``split`` takes any table and returns a `Split`, or
several as `Folds`.

>>> from rankwise import splits
>>> table = {"ann": ["a", "b", "c"], "bob": ["a", "c"], "cyd": ["b"]}
>>> split = splits.LeaveOut(1, which="random").split(table)
>>> len(split.train), len(split.test), split.found
(4, 2, {'users_too_short': 1})
"""

from rankwise.splits.holdout import (
    Holdout,
    ItemHoldout,
    KFold,
    LeaveOut,
    LeavePOut,
    StratifiedKFold,
    UserHoldout,
    UserKFold,
)
from rankwise.splits.reading import from_dict, read
from rankwise.splits.split import Folds, Split
from rankwise.splits.splitter import Deduplicate, Filter, KCore, MinRating, MinRows, Splitter
from rankwise.splits.temporal import (
    GlobalTime,
    SuccessiveTargets,
    TimeWindows,
    TwoStage,
    leave_one_out_cv,
    time_based_split,
)

__all__ = [
    "Deduplicate",
    "Filter",
    "Folds",
    "GlobalTime",
    "Holdout",
    "ItemHoldout",
    "KCore",
    "KFold",
    "LeaveOut",
    "LeavePOut",
    "MinRating",
    "MinRows",
    "Split",
    "Splitter",
    "StratifiedKFold",
    "SuccessiveTargets",
    "TimeWindows",
    "TwoStage",
    "UserHoldout",
    "UserKFold",
    "from_dict",
    "leave_one_out_cv",
    "read",
    "time_based_split",
]
