"""What an audit found: twenty checks, each with a verdict, a number and its rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from rankwise.errors import ParameterError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Audit", "Check", "Status", "not_run", "verdict"]

Status: TypeAlias = Literal["pass", "warn", "fail", "not run"]


@dataclass(frozen=True)
class Check:
    """One check.

    Attributes
    ----------
    code : str
        ``"L1"`` to ``"L20"``.
    name : str
        What it looks for.
    status : {"pass", "warn", "fail", "not run"}
        The verdict; ``"not run"`` where something that it needs was not given.
    value : float or None
        The number that decides, or the most telling one.
    said : str
        What was found, with the other numbers; for checks that were not run, what they need.
    find_rows : callable or None
        Finds the rows at fault.
    """

    code: str
    name: str
    status: Status
    value: float | None
    said: str
    find_rows: Callable[[], pl.DataFrame] | None = None


def not_run(code: str, name: str, needs: str) -> Check:
    """Return a check that could not be made."""
    return Check(code, name, "not run", None, f"needs {needs}")


def verdict(bad: object, otherwise: Status = "pass", *, worst: Status = "warn") -> Status:
    """Return the worst status if something is bad."""
    return worst if bad else otherwise


@dataclass(frozen=True, repr=False)
class Audit:
    """What all checks found.

    Attributes
    ----------
    checks : tuple of Check
        L1 to L20, in order.

    Examples
    --------
    >>> import rankwise as rw
    >>> found = rw.audit({1: ["a", "b"]}, {1: ["b"]})
    >>> found["L1"].status, found["L1"].value, found.failed
    ('fail', 1, True)
    >>> found.rows("L1").rows()
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
        raise ParameterError(
            f"there is no check {code!r}", found="L1 to L20", hint=nearest(code, codes)
        )

    def rows(self, code: str) -> pl.DataFrame:
        """Return the rows, users or items that a check speaks of; none if all is well."""
        found = self[code].find_rows
        return pl.DataFrame() if found is None else found()

    @property
    def table(self) -> pl.DataFrame:
        """A row a check: ``code``, ``name``, ``status``, ``value``, ``said``."""
        rows = [{name: getattr(check, name) for name in _COLUMNS} for check in self.checks]
        return pl.DataFrame(rows, schema=_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but rows as plain values, ready for JSON."""
        return {"failed": self.failed, "checks": self.table.to_dicts()}

    def export(self, format: Literal["json", "markdown"]) -> str:  # noqa: A002
        """Write the checks as text."""
        if format == "json":
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
        if format != "markdown":
            raise ParameterError("format must be one of json, markdown", found=f"{format!r}")
        lines = ["| check | verdict | number | what was found |", "|---|---|---:|---|"]
        for check in self.checks:
            said = check.said.replace("|", r"\|")
            name = f"{check.code} {check.name}"
            lines.append(f"| {name} | {check.status} | {_number(check.value)} | {said} |")
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        lines = []
        for check in self.checks:
            head = f"{check.status.upper():8}{check.code:4} {check.name:28}"
            lines.append(f"{head} {_number(check.value):>10}  {check.said}")
        counts = [
            f"{sum(check.status == status for check in self.checks)} {status}"
            for status in ("fail", "warn", "pass", "not run")
        ]
        return "\n".join([*lines, ", ".join(counts)])


_COLUMNS = {"code": pl.String, "name": pl.String, "status": pl.String, "value": pl.Float64,
            "said": pl.String}  # fmt: skip


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"
