"""`from_dict`: splitting rules from plain values, as cards and configuration files hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwise.errors import ParameterError, nearest
from rankwise.splits.entities import ItemHoldout, UserHoldout, UserKFold
from rankwise.splits.filters import Deduplicate, Filter, KCore, MinRating, MinRows
from rankwise.splits.folds import KFold, LeavePOut, StratifiedKFold
from rankwise.splits.holdout import Holdout, LeaveOut
from rankwise.splits.splitter import Splitter
from rankwise.splits.stages import TwoStage
from rankwise.splits.temporal import GlobalTime, SuccessiveTargets
from rankwise.splits.windows import TimeWindows
from rankwise.tables.cards import is_deep

_EXAMPLE = 'write {"rule": "LeaveOut", "n": 1, "filters": [{"filter": "KCore", "k": 5}]}'
__all__ = ["FILTERS", "RULES", "from_dict"]

RULES: dict[str, type[Splitter]] = {
    rule.__name__: rule
    for rule in (
        GlobalTime,
        Holdout,
        ItemHoldout,
        KFold,
        LeaveOut,
        LeavePOut,
        StratifiedKFold,
        SuccessiveTargets,
        TimeWindows,
        TwoStage,
        UserHoldout,
        UserKFold,
    )
}
FILTERS: dict[str, type[Filter]] = {rule.__name__: rule for rule in (Deduplicate, KCore, MinRating, MinRows)}


def from_dict(rule: Mapping[str, Any]) -> Splitter:
    """Return a splitting rule from plain values: the inverse of `Splitter.to_dict`.

    Parameters
    ----------
    rule : mapping
        The name of the rule under ``"rule"``, and its parameters; the ``"rule"`` of a card.

    Returns
    -------
    Splitter

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
        raise ParameterError("a rule is written as a mapping", found=repr(rule), hint=_EXAMPLE)
    if is_deep(rule):
        raise ParameterError(
            "a rule is nested too deeply", hint="a rule may hold one for validation, and that one for fold_in"
        )
    values = dict(rule)
    for name in ("validation", "fold_in"):
        if isinstance(values.get(name), dict):
            values[name] = from_dict(values[name])
    if "filters" in values:
        filters = values["filters"]
        if not isinstance(filters, list | tuple):
            raise ParameterError("filters is a list", found=repr(filters), hint=_EXAMPLE)
        values["filters"] = [_construct(FILTERS, "filter", value) for value in filters]
    splitter: Splitter = _construct(RULES, "rule", values)
    return splitter


def _construct(classes: Mapping[str, type[Any]], key: str, values: Mapping[str, Any]) -> Any:
    """Return an instance of the class that ``values[key]`` names, with the other values."""
    if not isinstance(values, Mapping):
        raise ParameterError(f"a {key} is written as a mapping", found=repr(values), hint=_EXAMPLE)
    parameters = dict(values)
    name = parameters.pop(key, None)
    if not isinstance(name, str) or name not in classes:
        raise ParameterError(
            f"there is no {key} {name!r}", found=", ".join(sorted(classes)), hint=nearest(str(name), classes)
        )
    allowed = classes[name].__dataclass_fields__
    unknown = next((parameter for parameter in parameters if parameter not in allowed), None)
    if unknown is not None:
        raise ParameterError(
            f"{name} has no parameter {unknown!r}", found=", ".join(allowed), hint=nearest(unknown, allowed)
        )
    try:
        return classes[name](**parameters)
    except TypeError as error:  # a required parameter is missing, or one has the wrong type
        raise ParameterError(f"{name} cannot be made of this", found=f"{values}: {error}") from error
