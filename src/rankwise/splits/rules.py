"""Rules as plain values: what a card holds, and what a file of settings may say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankwise.errors import ParameterError, nearest
from rankwise.splits.entities import ItemHoldout, UserHoldout, UserKFold
from rankwise.splits.filters import Deduplicate, Filter, KCore, MinRating, MinRows
from rankwise.splits.folds import KFold, LeavePOut, StratifiedKFold
from rankwise.splits.holdout import Holdout, LeaveOut
from rankwise.splits.stages import TwoStage
from rankwise.splits.temporal import GlobalTime, SuccessiveTargets
from rankwise.splits.windows import TimeWindows

if TYPE_CHECKING:
    from rankwise.splits.splitter import Splitter

_LIKE = 'write {"rule": "LeaveOut", "n": 1, "filters": [{"filter": "KCore", "k": 5}]}'
__all__ = ["FILTERS", "RULES", "from_dict"]

RULES: dict[str, type[Splitter]] = {
    rule.__name__: rule
    for rule in (
        GlobalTime, Holdout, ItemHoldout, KFold, LeaveOut, LeavePOut, StratifiedKFold,
        SuccessiveTargets, TimeWindows, TwoStage, UserHoldout, UserKFold,
    )
}  # fmt: skip
FILTERS: dict[str, type[Filter]] = {
    each.__name__: each for each in (Deduplicate, KCore, MinRating, MinRows)
}


def from_dict(rule: Mapping[str, Any]) -> Splitter:
    """Make a rule of plain values, as `Splitter.to_dict` and the card write it.

    Raises
    ------
    ParameterError
        If there is no such rule or parameter.

    Examples
    --------
    >>> from_dict({"rule": "GlobalTime", "share": 0.2, "validation": {"rule": "LeaveOut"}}).share
    0.2
    >>> from_dict(KFold(3).to_dict()) == KFold(3)
    True
    """
    if not isinstance(rule, Mapping):
        raise ParameterError("a rule is written as a mapping", found=repr(rule), hint=_LIKE)
    given = dict(rule)
    for name in ("validation", "fold_in"):
        if isinstance(given.get(name), dict):
            given[name] = from_dict(given[name])
    if "filters" in given:
        filters = given["filters"]
        if not isinstance(filters, list | tuple):
            raise ParameterError("filters is a list", found=repr(filters), hint=_LIKE)
        given["filters"] = [_made(FILTERS, "filter", each) for each in filters]
    made: Splitter = _made(RULES, "rule", given)
    return made


def _made(known: Mapping[str, type[Any]], word: str, values: Mapping[str, Any]) -> Any:
    if not isinstance(values, Mapping):
        raise ParameterError(f"a {word} is written as a mapping", found=repr(values), hint=_LIKE)
    given = dict(values)
    name = given.pop(word, None)
    if not isinstance(name, str) or name not in known:
        raise ParameterError(
            f"there is no {word} {name!r}",
            found=", ".join(sorted(known)),
            hint=nearest(str(name), known),
        )
    allowed = known[name].__dataclass_fields__
    unknown = next((key for key in given if key not in allowed), None)
    if unknown is not None:
        raise ParameterError(
            f"{name} has no parameter {unknown!r}",
            found=", ".join(allowed),
            hint=nearest(unknown, allowed),
        )
    try:
        return known[name](**given)
    except TypeError as error:  # a parameter without a default, or of another type
        found = f"{values}: {error}"
        raise ParameterError(f"{name} cannot be made of this", found=found) from error
