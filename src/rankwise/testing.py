"""Assertions for test suites: a system that got worse fails a test, with the lines of the gate.

They work in any test framework, and take results, or paths of what was saved.

>>> import rankwise as rw
>>> truth = {user: {1, 2} for user in range(40)}
>>> old = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
>>> new = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
>>> assert_not_worse(new, old, "recall@2", margin="1%")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from rankwise.comparison.compare import compare
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.decide import decide
from rankwise.comparison.gate import (
    GateOutcome,
    NotShown,
    gate_outcomes,
    gravest_first,
    holding_back,
)
from rankwise.core.arguments import check_choice
from rankwise.findings.margins import Margin
from rankwise.results.result import Result
from rankwise.results.storage import open_result

__all__ = ["assert_better", "assert_not_worse", "assert_ships"]

System: TypeAlias = Result | str | Path | Sequence[Any] | Mapping[str, Any]


def assert_not_worse(
    new: System,
    old: System,
    metric: str,
    *,
    margin: Margin,
    not_shown: NotShown = "fail",
    **options: Any,
) -> None:
    """Assert that a system is shown to lose less than a margin on a metric.

    It is the gate of ``rankwise compare NEW --no-regression OLD``, and fails with what that prints.

    Parameters
    ----------
    new, old : Result, str or Path, or list or mapping of these
        The system and its baseline: a result, the folder or table of a saved one, or the file that
        names what shipped last; several seeds as a list, several data sets by name.
    metric : str
        The metric.
    margin : float or str
        The loss that does not matter: a number, or a share of the baseline such as ``"1%"``.
    not_shown : {"fail", "pass"}, default="fail"
        Whether too few users to show either fail the test.
    **options
        Further options of `rankwise.compare`, such as ``alpha=0.01``, ``by="country"`` or
        ``missing="common"``.

    Raises
    ------
    AssertionError
        If the system is worse, or by default if neither is shown.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> old = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
    >>> new = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
    >>> try:
    ...     assert_not_worse(new, old, "recall@2", margin="1%")
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    FAIL  new is worse than old on recall@2.
    """
    __tracebackhide__ = True
    check_choice("not_shown", not_shown, NotShown)
    outcomes = gate_outcomes(_compare(new, old, metric, margin=margin, **options))
    if holding_back(outcomes, not_shown):
        raise AssertionError(_lines(outcomes))


def assert_better(new: System, old: System, metric: str, **options: Any) -> None:
    """Assert that a system is shown to be better on a metric.

    Parameters
    ----------
    new, old : Result, str or Path, or list or mapping of these
        The system and its baseline, as for `assert_not_worse`.
    metric : str
        The metric.
    **options
        Further options of `rankwise.compare`, such as ``alpha=0.01`` or ``largest_loss=0.5``.

    Raises
    ------
    AssertionError
        If the system is not shown to be better.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> old = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
    >>> new = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
    >>> assert_better(new, old, "recall@2")
    """
    __tracebackhide__ = True
    outcomes = gate_outcomes(_compare(new, old, metric, margin=None, **options))
    if holding_back(outcomes, "fail"):
        raise AssertionError(_lines([replace(outcome, hint="") for outcome in outcomes]))


def assert_ships(
    new: System,
    old: System,
    *,
    success: str | Sequence[str],
    not_shown: NotShown = "fail",
    **options: Any,
) -> None:
    """Assert that the decision on a system is ship.

    It is ``rankwise decide OLD NEW``, and fails with what that prints.

    Parameters
    ----------
    new, old : Result, str or Path
        The system and its baseline: a result, the folder or table of a saved one, or the file that
        names what shipped last.
    success : str or list of str
        Success metrics: at least one of them has to improve.
    not_shown : {"fail", "pass"}, default="fail"
        Whether hold, where the data show neither, fails the test.
    **options
        Further options of `rankwise.decide`, such as ``guardrails={"recall@10": "1%"}``.

    Raises
    ------
    AssertionError
        If the decision is stop, or by default if it is hold.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> old = rw.evaluate({user: [1, 3] for user in truth}, truth, ["recall@2", "mrr@2"])
    >>> new = rw.evaluate({user: [1, 2] for user in truth}, truth, ["recall@2", "mrr@2"])
    >>> assert_ships(new, old, success="recall@2", guardrails={"mrr@2": 0.2})
    """
    __tracebackhide__ = True
    check_choice("not_shown", not_shown, NotShown)
    decision = decide({"old": _open(old), "new": _open(new)}, success=success, **options)
    if decision.outcome == "stop" or (decision.outcome == "hold" and not_shown == "fail"):
        raise AssertionError(str(decision))


def _compare(new: System, old: System, metric: str, **options: Any) -> Comparison:
    """Return the comparison of a gate."""
    systems = {"old": _open(old), "new": _open(new)}
    return compare(systems, baseline="old", primary=metric, metrics=[metric], **options)


def _open(system: Any) -> Any:
    """Return a system with its paths opened."""
    if isinstance(system, Result):  # a mapping of its values as well
        return system
    if isinstance(system, str | Path):
        return open_result(system)
    if isinstance(system, list | tuple):
        return [_open(each) for each in system]
    if isinstance(system, Mapping):
        return {name: _open(each) for name, each in system.items()}
    return system


def _lines(outcomes: Sequence[GateOutcome]) -> str:
    """Return what the gate prints, the gravest outcome first."""
    return "\n".join(map(str, gravest_first(outcomes)))
