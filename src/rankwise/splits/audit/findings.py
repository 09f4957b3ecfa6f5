"""The results of an audit: 21 checks, each with a verdict, a number and the rows at fault."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.core.terminal import terminal_width
from rankwise.core.view import Marked, TableView, html, markdown
from rankwise.errors import ParameterError, nearest, printable

__all__ = ["Audit", "Check", "Status", "not_run", "verdict"]

Status: TypeAlias = Literal["pass", "warn", "fail", "not run"]


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes
    ----------
    code : str
        ``"L1"`` to ``"L21"``.
    name : str
        The kind of leakage or mistake that it looks for.
    status : {"pass", "warn", "fail", "not run"}
        The verdict; ``"not run"`` if a required input was not given.
    value : float or None
        The number that decides, or the most informative one.
    said : str
        The finding with its other numbers; for checks that were not run, the required inputs.
    find_rows : callable or None
        Returns the rows at fault.
    """

    code: str
    name: str
    status: Status
    value: float | None
    said: str
    find_rows: Callable[[], pl.DataFrame] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "said", printable(self.said))  # it may name columns of strangers


def not_run(code: str, name: str, needs: str) -> Check:
    """Return a check whose required inputs were not given."""
    return Check(code, name, "not run", None, f"needs {needs}")


def verdict(bad: object, otherwise: Status = "pass", *, worst: Status = "warn") -> Status:
    """Return the worst status if ``bad`` is true, non-zero or not empty."""
    return worst if bad else otherwise


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of `rankwise.audit`: all checks, with the rows at fault.

    Attributes
    ----------
    checks : tuple of Check
        L1 to L21, in order.

    Examples
    --------
    >>> import rankwise as rw
    >>> audit = rw.audit({1: ["a", "b"]}, {1: ["b"]})
    >>> audit["L1"].status, audit["L1"].value, audit.failed
    ('fail', 1, True)
    >>> audit.rows("L1").rows()
    [(1, 'b')]
    """

    checks: tuple[Check, ...]

    @property
    def failed(self) -> bool:
        """Whether any check failed."""
        return any(check.status == "fail" for check in self.checks)

    def __getitem__(self, code: str) -> Check:
        """Return one check by its code."""
        for check in self.checks:
            if check.code == code.upper():
                return check
        codes = [check.code for check in self.checks]
        raise ParameterError(f"there is no check {code!r}", found="L1 to L21", hint=nearest(code, codes))

    def rows(self, code: str) -> pl.DataFrame:
        """Return the rows, users or items at fault in a check; an empty table if there are none."""
        find_rows = self[code].find_rows
        return pl.DataFrame() if find_rows is None else find_rows()

    @property
    def table(self) -> pl.DataFrame:
        """One row per check: ``code``, ``name``, ``status``, ``value``, ``said``."""
        rows = [{name: getattr(check, name) for name in _COLUMNS} for check in self.checks]
        return pl.DataFrame(rows, schema=_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the rows as plain values, ready for JSON.

        NaN and infinite values are None, because JSON has neither.
        """
        checks = [
            {**row, "value": row["value"] if math.isfinite(row["value"] or 0.0) else None}
            for row in self.table.to_dicts()
        ]
        return {"failed": self.failed, "checks": checks}

    def export(self, format: Literal["json", "markdown"]) -> str:  # noqa: A002
        """Return the checks as text."""
        if format == "json":
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if format != "markdown":
            raise ParameterError("format must be one of json, markdown", found=f"{format!r}")
        return markdown(self._view())

    def __repr__(self) -> str:
        limit = terminal_width()
        lines = [line for check in self.checks for line in _lines(check, limit)]
        return "\n".join([*lines, self._counts()])

    def _repr_html_(self) -> str:
        return html(replace(self._view(), notes=[self._counts()]))

    def _view(self) -> TableView:
        """Return one row per check; verdicts are words, so that no reader depends on colour."""
        rows = [
            (
                f"{check.code} {check.name}",
                Marked(check.status, "bold" if check.status in ("fail", "warn") else ""),
                _number(check.value),
                check.said,
            )
            for check in self.checks
        ]
        return TableView(["check", "verdict", "number", "what was found"], rows, left=(0, 1, 3))

    def _counts(self) -> str:
        """Return how many checks have which verdict, the worst first."""
        counts = Counter(check.status for check in self.checks)
        order: tuple[Status, ...] = ("fail", "warn", "pass", "not run")
        return ", ".join(f"{counts[status]} {status}" for status in order)


_COLUMNS = {"code": pl.String, "name": pl.String, "status": pl.String, "value": pl.Float64, "said": pl.String}


def _lines(check: Check, limit: int | None) -> list[str]:
    """Return a check on one line, or with its finding below where the terminal is too narrow."""
    head = f"{check.status.upper():8}{check.code:4} {check.name:28} {_number(check.value):>10}"
    line = f"{head}  {check.said}"
    if limit is None or len(line) <= limit:
        return [line]
    indent = " " * 13  # below the name
    below = textwrap.wrap(
        check.said, max(limit, 40), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return [head, *below]


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"
