"""Ship, hold or stop: one decision from success measures, guardrails and slices."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rankwise.core.arguments import check_count
from rankwise.core.choices import Missing
from rankwise.core.version import __version__
from rankwise.core.view import finite
from rankwise.errors import MeasureError, ParameterError
from rankwise.results.compare import compare
from rankwise.results.comparison import Comparison
from rankwise.results.decision import CHECKS, Decision, Outcome
from rankwise.results.group_columns import group_column, groups_of_users
from rankwise.results.margins import margin_flags, size_of
from rankwise.results.pair_rows import blank_row
from rankwise.results.plain_design import check_plain_design
from rankwise.results.result import Result
from rankwise.stats.multiple import adjust
from rankwise.stats.non_inferiority import users_to_show
from rankwise.stats.values import check_level

__all__ = ["decide", "deciding_cell", "rule_for"]


def decide(
    results: Comparison | Mapping[str, Result],
    *,
    success: str | Sequence[str],
    guardrails: Mapping[str, float | str] | None = None,
    deterioration: str | Sequence[str] = (),
    slices: str | Sequence[str] = (),
    min_slice_size: int = 100,
    alpha: float = 0.05,
    missing: Missing = "error",
    baseline: str | None = None,
    system: str | None = None,
) -> Decision:
    """Decide whether to ship a system: success, guardrails, and no deterioration.

    * **Ship** if at least one success metric is significantly better (Holm over the success
      metrics), and every guardrail is non-inferior: shown to lose less than its margin, over all
      users and in every slice that is large enough.
    * **Stop** if any success, guardrail or deterioration metric is significantly worse, over all
      users or in a slice (Holm over all of these tests), unless a guardrail is shown to be within
      its margin there.
    * **Hold** otherwise: the data show neither.

    Guardrails are not corrected for their number, because all of them have to hold. The number of
    users that they need is for a power of 1 − 0.2 / number of guardrails, so that a harmless system
    passes all of them with probability 0.8.

    Parameters
    ----------
    results : Comparison, or mapping of str to Result
        Results by name.
    success : str or list of str
        Success metrics: at least one of them has to improve.
    guardrails : mapping of measure to margin, optional
        Guardrail metrics, each with the loss that it must not reach: a number, or a share of the
        baseline such as ``"1%"``.
    deterioration : str or list of str, optional
        Further metrics that must not get significantly worse.
    slices : str or list of str, optional
        Columns of user groups, as passed to ``evaluate(…, by=…)``: guardrails and deterioration
        are checked in each group as well.
    min_slice_size : int, default=100
        Groups with fewer users are not checked; the decision lists them.
    alpha : float, default=0.05
        The significance level.
    missing : {"error", "zero", "common"}, default="error"
        What to do with users who have a value in one result only, as for `rankwise.compare`.
    baseline, system : str, optional
        The names of the two results; by default the first is the baseline, the second the system.

    Returns
    -------
    Decision

    Raises
    ------
    ParameterError, MeasureError
        If a name is unknown, or a metric has no better direction or no per-user values.

    See Also
    --------
    compare : All pairs and metrics, without a decision.

    References
    ----------
    Schultzberg, Ankargren & Frånberg 2024, Risk-aware product decisions in A/B tests with multiple
    metrics, arXiv:2402.11609.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {user % 7, 9} for user in range(700)}
    >>> old = rw.evaluate({u: [9, 8] for u in truth}, truth, ["recall@2", "mrr@2"])
    >>> new = rw.evaluate({u: [9, u % 7] for u in truth}, truth, ["recall@2", "mrr@2"])
    >>> found = rw.decide({"old": old, "new": new}, success="recall@2", guardrails={"mrr@2": "1%"})
    >>> found.outcome, found.exit_code
    ('ship', 0)
    """
    if isinstance(results, Comparison):
        check_plain_design(results.settings, "a decision")
    given = results.results if isinstance(results, Comparison) else results
    if not isinstance(given, Mapping):
        raise ParameterError(
            "results come by name", found=type(results).__name__, hint="pass {name: result, …}, or a comparison"
        )
    named = dict(given)
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in named.items() if not isinstance(r, Result)]
    if wrong:
        raise ParameterError("a decision is about one result per system", found=", ".join(wrong))
    if baseline is None and isinstance(results, Comparison):
        baseline = results.settings["baseline"]
    rule = rule_for(
        named,
        success=success,
        guardrails=guardrails,
        deterioration=deterioration,
        slices=slices,
        min_slice_size=min_slice_size,
        alpha=alpha,
        missing=missing,
        baseline=baseline,
        system=system,
    )
    return _decided(rule, {name: named[name] for name in (rule.baseline, rule.system)})


def rule_for(
    results: Mapping[str, Result],
    *,
    success: str | Sequence[str],
    guardrails: Mapping[str, float | str] | None = None,
    deterioration: str | Sequence[str] = (),
    slices: str | Sequence[str] = (),
    min_slice_size: int = 100,
    alpha: float = 0.05,
    missing: Missing = "error",
    baseline: str | None = None,
    system: str | None = None,
) -> Rule:
    """Return the rule of a decision about these results, checked; parameters as in `decide`."""
    check_level("alpha", alpha)
    check_count(least=2, min_slice_size=min_slice_size)
    if not isinstance(guardrails, Mapping | None):
        raise ParameterError(
            "guardrails map measures to margins",
            found=repr(guardrails)[:80],
            hint='pass guardrails={"recall@10": "1%"}',
        )
    first, second = _pair(results, baseline, system)
    rule = Rule(
        _names("success", success),
        dict(guardrails or {}),
        _names("deterioration", deterioration),
        list(dict.fromkeys(_names("slices", slices))),
        int(min_slice_size),
        float(alpha),
        missing,
        first,
        second,
    ).canonical(results[first])
    if not rule.success:
        raise ParameterError("a decision needs a measure of success", found="success=[]")
    return rule


def deciding_cell(result: Result, name: str) -> str:
    """Return the key of a value, given any name of its metric.

    Raises
    ------
    MeasureError
        If the result does not have it, or it cannot decide.
    """
    cell = result.cell(name)
    if result.direction(cell) is None:
        raise MeasureError(f"{name} has no better direction, so it cannot decide")
    if not result.is_mean_of_users(cell) and not result.per_user.is_empty():
        raise MeasureError(f"{name} is not a mean over users, so it cannot decide")
    return cell


@dataclass(frozen=True)
class Rule:
    """Which measures decide, with their margins, and between which results."""

    success: list[str]
    guardrails: dict[str, float | str]
    deterioration: list[str]
    slices: list[str]
    min_slice_size: int
    alpha: float
    missing: Missing
    baseline: str
    system: str

    def canonical(self, result: Result) -> Rule:
        """Return the rule with the canonical names of measures."""
        cells = {name: deciding_cell(result, name) for name in (*self.success, *self.guardrails, *self.deterioration)}
        twice = [n for n in self.guardrails if [cells[m] for m in self.guardrails].count(cells[n]) > 1]
        if twice:
            raise ParameterError("duplicate guardrail", found=", ".join(twice))
        return Rule(
            [cells[n] for n in self.success],
            {cells[n]: m for n, m in self.guardrails.items()},
            [cells[n] for n in self.deterioration],
            self.slices,
            self.min_slice_size,
            self.alpha,
            self.missing,
            self.baseline,
            self.system,
        )

    @property
    def measures(self) -> list[str]:
        return list(dict.fromkeys([*self.success, *self.guardrails, *self.deterioration]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "success": self.success,
            "guardrails": self.guardrails,
            "deterioration": self.deterioration,
            "slices": self.slices,
            "min_slice_size": self.min_slice_size,
            "alpha": self.alpha,
            "missing": self.missing,
            "baseline": self.baseline,
            "system": self.system,
        }


def _names(option: str, names: str | Sequence[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ParameterError(f"{option} is a name, or a list of names", found=repr(names)[:80])
    return list(listed)


def _pair(results: Mapping[str, Result], baseline: str | None, system: str | None) -> tuple[str, str]:
    """Return the names of baseline and system."""
    known = list(results)
    for name in (baseline, system):
        if name is not None and name not in results:
            raise ParameterError(f"there is no result {name!r}", found=", ".join(known))
    if len(known) < 2:
        raise ParameterError("a decision needs two results", found=", ".join(known) or "none")
    first = known[0] if baseline is None else baseline
    others = [name for name in known if name != first]
    if system is None and len(others) > 1:
        raise ParameterError("a decision is about one system", found=", ".join(others), hint="say which: system=")
    if system == first:
        raise ParameterError("a decision compares two systems, and both names are those of one", found=repr(first))
    return first, others[0] if system is None else system


def _decided(rule: Rule, results: dict[str, Result]) -> Decision:
    small: list[str] = []
    rows = list(_rows(rule, results, small))
    checks = [*_success(rule, rows), *_guardrails(rule, rows)]
    checks += _deterioration(rule, rows, checks)
    outcome, reasons = _outcome(checks)
    table = pl.DataFrame([[check.get(name) for name in CHECKS] for check in checks], schema=CHECKS, orient="row")
    record = {
        "rankwise": __version__,
        "rule": rule.to_dict(),
        "outcome": outcome,
        "reasons": reasons,
        "small_slices": small,
        "checks": finite(table.to_dicts()),
        "inputs": {name: _inputs(result) for name, result in results.items()},
    }
    return Decision(outcome, reasons, table, small, record)


def _rows(rule: Rule, results: Mapping[str, Result], small: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of comparisons over all users and in every slice that is large enough."""
    for by in (None, *rule.slices):
        found = compare(
            results,
            baseline=rule.baseline,
            measures=rule.measures,
            by=by,
            alpha=rule.alpha,
            correction="none",
            margin=rule.guardrails or None,
            missing=rule.missing,
        )
        directions = found.settings["directions"]
        rows = {(row["group"], row["measure"]): row for row in found.table.iter_rows(named=True)}
        sizes = {None: None} if by is None else _sizes(results, by)
        for group, size in sizes.items():
            if size is not None and size < rule.min_slice_size:
                small.append(f"{by}={'–' if group is None else group}")
                continue
            for measure in rule.measures:
                row = rows.get((group, measure)) or _without_values(measure, group)
                yield {**row, "by": by, "up": directions.get(measure, True)}


def _sizes(results: Mapping[str, Result], by: str) -> dict[str | None, int]:
    """Return the number of users of each group."""
    users = groups_of_users({name: result.per_user for name, result in results.items()}, by)
    counts = users.group_by(group_column(by)).len().sort(group_column(by), nulls_last=True)
    return dict(counts.rows())


def _without_values(measure: str, group: str | None) -> dict[str, Any]:
    """Return the row of a measure that no user of a group has a value of: nothing is shown."""
    return blank_row() | {"measure": measure, "group": group, "users": 0}


def _check(row: Mapping[str, Any], role: str, p: float, outcome: str) -> dict[str, Any]:
    return {
        **{name: row.get(name) for name in CHECKS},
        "role": role,
        "p": p,
        "outcome": outcome,
        "shown": None,
        "margin": None,
        "users_needed": None,
        "caveats": [],
    }


def _success(rule: Rule, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the checks of success over all users, corrected for the number of measures."""
    whole = [row for row in rows if row["by"] is None and row["measure"] in rule.success]
    adjusted = adjust([row["p"] for row in whole], "holm")
    return [
        _check(row, "success", float(p), "passed" if p < rule.alpha and _gains(row) else "not shown")
        | {"shown": "better" if p < rule.alpha and _gains(row) else None}
        for row, p in zip(whole, adjusted, strict=True)
    ]


def _gains(row: Mapping[str, Any]) -> bool:
    return bool((row["difference"] > 0) == row["up"])


def _guardrails(rule: Rule, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the checks of guardrails, over all users and in slices."""
    checks = []
    for row in rows:
        if row["measure"] in rule.guardrails:
            better = row["p"] < rule.alpha and _gains(row)  # better systems are within every margin
            within = row["p_non_inferior"] < rule.alpha
            p = row["p"] if better and not within else row["p_non_inferior"]
            shown = better or within
            check = _check(row, "guardrail", p, "passed" if shown else "not shown")
            check["shown"] = "within margin" if within else "better" if better else None
            margin = rule.guardrails[row["measure"]]
            check["margin"] = size_of(margin, row["mean_baseline"])
            check["caveats"] = margin_flags(margin, row["mean_baseline"])
            check["users_needed"] = None if shown else _needed(row, check["margin"], rule)
            checks.append(check)
    return checks


def _needed(row: Mapping[str, Any], margin: float | None, rule: Rule) -> int | None:
    """Return the users that show a guardrail, with a power shared among all guardrails."""
    gap = (row["difference"] if row["up"] else -row["difference"]) + (math.nan if margin is None else margin)
    deviation = row["difference"] / row["d_z"] if row["d_z"] else math.nan
    power = 1 - 0.2 / len(rule.guardrails)
    users = users_to_show(gap, deviation, rule.alpha, power=power)
    # With fewer users than there are, the estimate rests on too little.
    return users if users is not None and users > row["users"] else None


def _deterioration(
    rule: Rule, rows: Sequence[Mapping[str, Any]], checks: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the checks that nothing is significantly worse, anywhere; corrected together."""
    adjusted = adjust([row["p"] for row in rows], "holm")
    harmless = {
        (c["measure"], c["by"], c["group"]) for c in checks if c["role"] == "guardrail" and c["outcome"] == "passed"
    }
    found = []
    for row, p in zip(rows, adjusted, strict=True):
        worse = p < rule.alpha and not _gains(row)
        place = (row["measure"], row["by"], row["group"])
        if worse and place not in harmless:
            found.append(_check(row, "deterioration", float(p), "failed") | {"shown": "worse"})
        elif row["measure"] in rule.deterioration:
            tested = "passed" if p == p and row["users"] > 1 else "not shown"
            found.append(_check(row, "deterioration", float(p), tested))
    return found


def _outcome(checks: Sequence[Mapping[str, Any]]) -> tuple[Outcome, list[str]]:
    """Return the outcome, and why."""

    def said(check: Mapping[str, Any]) -> str:
        inside = "" if check["by"] is None else f" in {check['by']}={check['group']}"
        size = f"{check['difference']:+.4f}" if check["users"] else "no user has a value"
        return f"{check['measure']}{inside} ({size})"

    worse = [check for check in checks if check["outcome"] == "failed"]
    if worse:
        return "stop", [f"worse: {said(check)}" for check in worse]
    better = [c for c in checks if c["role"] == "success" and c["outcome"] == "passed"]
    open_ = [c for c in checks if c["role"] != "success" and c["outcome"] != "passed"]
    reasons = [f"better: {said(check)}" for check in better]
    reasons += [] if better else ["no success measure is shown to be better"]
    for check in open_:
        needed = check["users_needed"]
        more = "" if needed is None else f"; about {needed:,} users would show it"
        what = "within its margin" if check["role"] == "guardrail" else "no worse"
        more += "".join(f"; {caveat}" for caveat in check["caveats"])
        reasons.append(f"not shown to be {what}: {said(check)}{more}")
    if better and not open_:
        rails = any(check["role"] == "guardrail" for check in checks)
        return "ship", [*reasons, *(["every guardrail is within its margin"] if rails else [])]
    return "hold", reasons


def _inputs(result: Result) -> dict[str, Any]:
    """Return the hashes of what a result was made from, and of its users' values."""
    cards = result.provenance.get("inputs", {})
    values = hashlib.sha256(result.per_user.write_csv().encode()).hexdigest()
    return {
        "tables": {role: card.get("sha256") for role, card in cards.items()},
        "settings": finite(result.provenance.get("settings", {})),
        "per_user": values,
    }
