"""`report`: an HTML report of results and their comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankwise.errors import ParameterError, RankwiseError
from rankwise.results.compare import compare
from rankwise.results.comparison import Comparison
from rankwise.results.display.comparison_view import marks
from rankwise.results.report.blocks import fault, reason
from rankwise.results.report.make import make_report
from rankwise.results.report.page import Report
from rankwise.results.result import Result
from rankwise.tables.columns import Columns

__all__ = ["report"]


def report(
    results: Result | Comparison | Iterable[Result] | Mapping[str, Result],
    *,
    primary: str | None = None,
    baseline: str | None = None,
    title: str | None = None,
    recommendations: Mapping[str, Any] | None = None,
    truth: Any = None,
    train: Any = None,
    items: Any = None,
    columns: Columns | None = None,
    audit: Any = None,
    decision: Any = None,
) -> Report:
    """Make an HTML report: verdict, leaderboard, differences, trade-offs, groups, provenance.

    The report is one self-contained HTML file, which opens without a network. A section that cannot
    be computed is a grey box with the reason. Recommendation lists and tables are read again from
    the files that the results name, if these are unchanged; pass tables that came from memory.

    Parameters
    ----------
    results : Result, Comparison, list of Result, or mapping of str to Result
        The results to report. Several results are compared; in a list they are called A, B, ….
    primary : str, optional
        The primary metric; by default that of the comparison.
    baseline : str, optional
        Compare every other result with this one; by default all pairs.
    title : str, optional
        The title of the page.
    recommendations : mapping of str to table or path, optional
        The recommendation lists of each result, for item exposure and examples of users.
    truth, train, items : table or path, optional
        The ground truth, the training interactions, and the items with their titles.
    columns : mapping of str to str or None, optional
        The columns of tables that are passed here, where their names are not recognised:
        ``{"truth.relevance": "stars"}``, as for `rankwise.evaluate`.
    audit : Audit, optional
        The audit of the split, from `rankwise.audit`.
    decision : Decision, optional
        The decision, from `rankwise.decide`.

    Returns
    -------
    Report
        ``html``, ``save(path)``, ``save_assets(folder)``, ``missing``; notebooks display it.

    Raises
    ------
    UsageError
        If a name is unknown, or the extra ``report`` is not installed.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> a = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
    >>> b = rw.evaluate({user: [1, 2 + user % 2] for user in truth}, truth, "recall@2")
    >>> page = rw.report({"a": a, "b": b})
    >>> "b beats a on recall@2 by 50.0 %" in page.html
    True
    """
    named, comparison, why = _compared(results, primary, baseline)
    return make_report(
        named,
        None if comparison is None else (comparison.table, comparison.settings),
        not_compared=why,
        primary=primary,
        title=title,
        runs=recommendations or {},
        given={"truth": truth, "train": train, "items": items},
        columns=columns,
        audit=audit,
        decision=decision,
    )


def _compared(
    results: Any, primary: str | None, baseline: str | None
) -> tuple[dict[str, Result], Comparison | None, str]:
    """Return results by name, their comparison, and why there is none."""
    if isinstance(results, Comparison):
        if baseline is not None or primary is not None:
            raise ParameterError(
                "a comparison has its baseline and its primary measure already",
                hint="pass the results: rw.report(comparison.results, baseline=…)",
            )
        return dict(results.results), results, ""
    if isinstance(results, Result):
        results = {"result": results}
    if not isinstance(results, Mapping):
        several = list(results) if isinstance(results, Iterable) else [results]
        results = {mark.upper(): r for mark, r in zip(marks(len(several)), several, strict=True)}
    named = dict(results)
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in named.items() if not isinstance(r, Result)]
    if wrong or not named or not all(isinstance(name, str) for name in named):
        raise ParameterError(
            "a report needs results",
            found=", ".join(wrong) or "no result by name",
            hint="pass rw.report({name: result, …}), or a comparison",
        )
    if baseline is not None and baseline not in named:
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(named))
    if primary is not None:
        primary = next(iter(named.values())).cell(primary)
    if len(named) == 1:
        return named, None, "a single result cannot be compared"
    try:
        return named, compare(named, primary=primary, baseline=baseline), ""
    except RankwiseError as error:
        return named, None, reason(error)
    except Exception as error:  # noqa: BLE001 - the page says it, and shows the rest
        return named, None, fault(error)
