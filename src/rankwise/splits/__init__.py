"""Leakage-free splits of interactions into training, validation and test.

Each rule is an immutable object whose method ``split`` takes any table and returns a `Split`, or
several as `Folds`.

>>> from rankwise import splits
>>> table = {"ann": ["a", "b", "c"], "bob": ["a", "c"], "cyd": ["b"]}
>>> split = splits.LeaveOut(1, which="random").split(table)
>>> len(split.train), len(split.test), split.found
(4, 2, {'users_too_short': 1})
"""

from rankwise.splits.entities import ItemHoldout, UserHoldout, UserKFold
from rankwise.splits.filters import Deduplicate, Filter, KCore, MinRating, MinRows
from rankwise.splits.folds import KFold, LeavePOut, StratifiedKFold
from rankwise.splits.holdout import Holdout, LeaveOut
from rankwise.splits.matrix import leave_one_out_cv
from rankwise.splits.reading import read
from rankwise.splits.rules import from_dict
from rankwise.splits.split import Folds, Split
from rankwise.splits.splitter import Splitter
from rankwise.splits.stages import TwoStage
from rankwise.splits.temporal import GlobalTime, SuccessiveTargets, time_based_split
from rankwise.splits.windows import TimeWindows

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
