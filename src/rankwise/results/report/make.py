"""Reports from parts, for `rankwise.report` and for the methods of results and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankwise.core.view import TableView
from rankwise.errors import MeasureError, ParameterError
from rankwise.results.plain_design import check_plain_design
from rankwise.results.result import Result
from rankwise.tables.columns import Columns

if TYPE_CHECKING:
    from rankwise.results.report.page import Report

__all__ = ["make_report"]


def make_report(
    results: Mapping[str, Result],
    comparison: tuple[pl.DataFrame, Mapping[str, Any]] | None,
    *,
    not_compared: str = "",
    primary: str | None = None,
    title: str | None = None,
    runs: Mapping[str, Any] | None = None,
    given: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    audit: Any = None,
    decision: Any = None,
) -> Report:
    """Return the report of results, and of the table and settings of their comparison if any.

    ``runs`` are recommendation lists by system, ``given`` the tables ``truth``, ``train`` and
    ``items``, and ``columns`` the columns of all of these.
    """
    from rankwise.results.plots.estimates import Estimates  # every result has a report: late
    from rankwise.results.report.material import Material
    from rankwise.results.report.page import Report, sections_of
    from rankwise.results.report.run_lists import Lists

    if not results:
        raise ParameterError(
            "this comparison was read from a file, which holds no results",
            hint="make the report from the results that were compared",
        )
    if comparison is not None:
        check_plain_design(comparison[1], "a report")
    unknown = [name for name in runs or {} if name not in results]
    if unknown:
        raise ParameterError(f"recommendations of {unknown[0]!r}, which is not a result", found=", ".join(results))
    checks = None if audit is None else getattr(audit, "table", None)
    if audit is not None and not isinstance(checks, pl.DataFrame):
        raise ParameterError("audit takes what rankwise.audit returns", found=type(audit).__name__)
    view = None if decision is None else getattr(decision, "view", None)
    if decision is not None and not isinstance(view, TableView):
        raise ParameterError("decision takes what rankwise.decide returns", found=type(decision).__name__)
    rule = {} if decision is None else decision.record["rule"]
    others = [rule[side] for side in ("baseline", "system") if rule and rule[side] not in results]
    if others:
        raise ParameterError(
            f"the decision is about {others[0]!r}, which is not a result here", found=", ".join(results)
        )
    table, settings = comparison or (None, {})
    main = settings.get("primary") or _main(next(iter(results.values())), primary)
    tables = {role: table for role, table in (given or {}).items() if table is not None}
    lists = Lists(results, dict(runs or {}), tables, columns)
    material = Material(Estimates(results), main, table, not_compared, settings, lists, checks, view)
    heading = title or f"{', '.join(results) if len(results) < 6 else f'{len(results)} systems'}: {main}"
    return Report(heading, sections_of(material))


def _main(result: Result, primary: str | None) -> str:
    """Return the primary measure of a single result: as asked, or as `rankwise.compare` chooses."""
    if primary is not None:
        return result.cell(primary)
    means = [cell for cell in result.values if result.is_mean_of_users(cell)]
    every = list(result.values)
    if not every:
        raise MeasureError("the result has no values")
    return "ndcg@10" if "ndcg@10" in every else (means or every)[0]
