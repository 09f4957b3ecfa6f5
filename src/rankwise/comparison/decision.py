"""Ship, hold or stop: one decision from success metrics, guardrails and slices, also at repeated looks."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.comparison.alignment import align_users
from rankwise.comparison.compare import compare
from rankwise.comparison.comparison import Comparison, check_plain_design, margin_of, size_of
from rankwise.comparison.rows import ALL_LISTS, EffectSizes, PairRow, columns_of, p_value, table_of, values_of
from rankwise.core import __version__
from rankwise.core.arguments import Missing, check_count, check_path
from rankwise.core.saved_forms import DECISION, LOOKS
from rankwise.core.terminal import Cell, Marked, TableView, as_json, finite, float_of, html, number, plain
from rankwise.errors import FileError, MetricError, ParameterError
from rankwise.results.display import plan_statements
from rankwise.results.intervals import group_column, groups_of_users, is_truth_slice, range_of
from rankwise.results.result import Result
from rankwise.stats.confidence_sequences import confidence_sequence
from rankwise.stats.differences import Differences, Interval, check_level
from rankwise.stats.equivalence import users_to_show
from rankwise.stats.many_systems import adjust
from rankwise.tables.storage import output_errors, write_text

__all__ = [
    "Check",
    "Decision",
    "InterimAnalysis",
    "Outcome",
    "decide",
    "deciding_cell",
    "record_interim_analysis",
    "rule_for",
]

Outcome: TypeAlias = Literal["ship", "hold", "stop"]
_CODES: Mapping[Outcome, int] = {"ship": 0, "stop": 1, "hold": 5}  # 2 is wrong usage


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of a decision; its fields are the columns of `Decision.checks`."""

    role: str
    metric: str
    by: str | None
    group: str | None
    users: int
    difference: float
    low: float
    high: float
    margin: float | None = None
    p: float
    outcome: str
    shown: str | None = None
    users_needed: int | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Decision:
    """The result of `rankwise.decide`: ship, hold or stop, with every check behind it.

    Attributes
    ----------
    outcome : {"ship", "hold", "stop"}
        Ship: a success metric is better, and every guardrail holds. Stop: a metric is worse.
        Hold: neither is shown.
    reasons : list of str
        The reasons, one sentence each.
    checks : polars.DataFrame
        One row per check: its ``role`` (success, guardrail, deterioration), metric, slice, users,
        difference with its interval, margin, the p-value that decides, ``outcome`` (passed,
        failed, undecided, not shown), what that p-value has ``shown`` (better, not worse, worse;
        null if nothing), for guardrails the number of users needed, and ``flags``.
    small_slices : list of str
        Slices with too few users to be checked.
    record : dict
        The rule, the inputs with their hashes, the checks and the outcome, as plain values.
    """

    outcome: Outcome
    reasons: list[str]
    checks: pl.DataFrame
    small_slices: list[str]
    record: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """The exit code of ``rankwise decide``: ship 0, stop 1, hold 5 (2 is wrong usage)."""
        return _CODES[self.outcome]

    @cached_property
    def text(self) -> str:
        """The record and its version as canonical JSON: sorted keys, no whitespace, with a digest of the rest."""
        content = {DECISION.key: DECISION.version, **self.record}
        return _canonical({**content, "sha256": _digest(content)}) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Decision:
        """Read a decision that `save`, or ``rankwise run``, wrote.

        Raises
        ------
        FileError
            If the file holds no decision, one of a version that cannot be read, or one that was changed.

        Examples
        --------
        >>> import tempfile
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> old = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
        >>> new = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
        >>> decision = rw.decide({"old": old, "new": new}, success="recall@2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rw.Decision.load(decision.save(folder + "/decision.json")).outcome
        'ship'
        """
        return _read_decision(check_path("path", path))

    def save(self, path: str | Path) -> Path:
        """Write the record as canonical JSON.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        file = check_path("path", path)
        with output_errors(file):
            write_text(file, self.text)
        return file

    @property
    def view(self) -> TableView:
        """The checks as a table."""
        head = ["check", "slice", "users", "difference", "interval", "margin", "p", "outcome"]
        rows: list[list[Cell]] = [
            [
                f"{row['role']}: {row['metric']}",
                _slice(row),
                f"{row['users']:,}",
                f"{row['difference']:+.4f}" if row["users"] else "–",
                f"{number(row['low'])} to {number(row['high'])}",
                number(row["margin"]),
                p_value(row["p"]),
                Marked(
                    ": ".join(filter(None, (row["outcome"], row["shown"]))),
                    "bold" if row["outcome"] == "failed" else "",
                ),
            ]
            for row in self.checks.iter_rows(named=True)
        ]
        notes, rule = [*self.reasons, *self.record.get("plans", ())], self.record["rule"]
        said = " ".join(notes)
        flagged = {f"{row['metric']}, {_slice(row)}": row["flags"] for row in self.checks.iter_rows(named=True)}
        notes += [f"{where}: {flag}" for where, flags in flagged.items() for flag in flags if flag not in said]
        if self.small_slices:
            notes.append(f"too small to be checked: {', '.join(self.small_slices)}")
        return TableView(
            head,
            rows,
            notes,
            caption=f"Decision: {self.outcome}. {rule['system']} in place of {rule['baseline']}.",
            left=(0, 1, 7),
        )

    def __repr__(self) -> str:
        return plain(self.view)

    def _repr_html_(self) -> str:
        return html(self.view)


def _slice(row: Mapping[str, Any]) -> str:
    if row["by"] is None:
        return "all users"
    return f"{row['by']}={'–' if row['group'] is None else row['group']}"


def _read_decision(file: Path) -> Decision:
    """Return the decision in a file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        version, digest = DECISION.version_of(content), content.pop("sha256")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            "this file does not hold a saved decision",
            where=str(file),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Decision.save writes it, and so does rankwise run",
        ) from error
    DECISION.check(version, str(file), written_by=content.get("rankwise"))
    if digest != _digest(content):
        raise FileError("this file was changed after the decision was saved", where=str(file), hint="decide again")
    record = DECISION.upgrade(content, version)
    record.pop(DECISION.key, None)
    schema = {name: column.dtype for name, column in columns_of(Check).items()}
    try:
        checks = [
            # A check without a margin has none; other numbers that are missing are NaN.
            [
                float_of(row[name]) if kind == pl.Float64 and name != "margin" else row[name]
                for name, kind in schema.items()
            ]
            for row in record["checks"]
        ]
        table = pl.DataFrame(checks, schema=schema, orient="row")
        return Decision(record["outcome"], record["reasons"], table, record["small_slices"], record)
    except (LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise FileError("this saved decision lacks a part", where=str(file), found=f"{error!r}") from error


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _canonical(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


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
      users or in a slice (Holm over all of these tests), unless a guardrail is shown to lose less
      than its margin there.
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
    guardrails : mapping of metric to margin, optional
        Guardrail metrics, each with the loss that it must not reach: a number, or a share of the
        baseline such as ``"1%"``. Values that are not means over users (coverage, Gini) need
        ``evaluate(…, jackknife=64)``, and are checked over all users alone.
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
    ParameterError, MetricError
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
    >>> decision = rw.decide({"old": old, "new": new}, success="recall@2", guardrails={"mrr@2": "1%"})
    >>> decision.outcome, decision.exit_code
    ('ship', 0)
    """
    if isinstance(results, Comparison):
        check_plain_design(results.settings, "a decision", over_requests=True)
    by_name = results.results if isinstance(results, Comparison) else results
    if not isinstance(by_name, Mapping):
        raise ParameterError(
            "results come by name", found=type(results).__name__, hint="pass {name: result, …}, or a comparison"
        )
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in by_name.items() if not isinstance(r, Result)]
    if wrong:
        raise ParameterError("a decision is about one result per system", found=", ".join(wrong))
    if baseline is None and isinstance(results, Comparison):
        baseline = results.settings["baseline"]
    rule = rule_for(
        by_name,
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
    return _decided(rule, {name: by_name[name] for name in (rule.baseline, rule.system)})


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
            "guardrails map metrics to margins", found=repr(guardrails)[:80], hint='pass guardrails={"recall@10": "1%"}'
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
        raise ParameterError("a decision needs a metric of success", found="success=[]")
    return rule


def deciding_cell(result: Result, name: str) -> str:
    """Return the key of a value, given any name of its metric.

    Raises
    ------
    MetricError
        If the result does not have it, or it cannot decide.
    """
    cell = result.cell(name)
    if result.direction(cell) is None:
        raise MetricError(f"{name} has no better direction, so it cannot decide")
    jackknifed = result.replicates is not None and cell in result.replicates.columns
    if not result.is_mean_of_users(cell) and not jackknifed and not result.per_user.is_empty():
        raise MetricError(
            f"{name} is not a mean over users, so it needs the jackknife to decide",
            hint="evaluate(…, jackknife=64) computes it without each of 64 groups of users",
        )
    return cell


@dataclass(frozen=True)
class Rule:
    """Which metrics decide, with their margins, and between which results."""

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
        """Return the rule with the canonical names of metrics."""
        cells = {name: deciding_cell(result, name) for name in (*self.success, *self.guardrails, *self.deterioration)}
        twice = [n for n in self.guardrails if [cells[m] for m in self.guardrails].count(cells[n]) > 1]
        if twice:
            raise ParameterError("duplicate guardrail", found=", ".join(twice))
        return replace(
            self,
            success=[cells[n] for n in self.success],
            guardrails={cells[n]: m for n, m in self.guardrails.items()},
            deterioration=[cells[n] for n in self.deterioration],
        )

    @property
    def metrics(self) -> list[str]:
        return list(dict.fromkeys([*self.success, *self.guardrails, *self.deterioration]))


def _names(option: str, names: str | Sequence[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ParameterError(f"{option} is a name, or a list of names", found=repr(names)[:80])
    return list(listed)


def _pair(results: Mapping[str, Result], baseline: str | None, system: str | None) -> tuple[str, str]:
    """Return the names of baseline and system."""
    names = list(results)
    for name in (baseline, system):
        if name is not None and name not in results:
            raise ParameterError(f"there is no result {name!r}", found=", ".join(names))
    if len(names) < 2:
        raise ParameterError("a decision needs two results", found=", ".join(names) or "none")
    first = names[0] if baseline is None else baseline
    rest = [name for name in names if name != first]
    if system is None and len(rest) > 1:
        raise ParameterError("a decision is about one system", found=", ".join(rest), hint="say which: system=")
    if system == first:
        raise ParameterError("a decision compares two systems, and both names are those of one", found=repr(first))
    return first, rest[0] if system is None else system


def _decided(rule: Rule, results: dict[str, Result]) -> Decision:
    small: list[str] = []
    rows = list(_rows(rule, results, small))
    checks = [*_success(rule, rows), *_guardrails(rule, rows)]
    checks += _deterioration(rule, rows, checks)
    outcome, reasons = _decision_outcome(checks)
    table = table_of(checks, Check)
    record = {
        "rankwise": __version__,
        "rule": asdict(rule),
        "outcome": outcome,
        "reasons": reasons,
        "small_slices": small,
        "checks": finite(table.to_dicts()),
        "inputs": {name: _inputs(result) for name, result in results.items()},
    }
    plans = plan_statements(result.provenance for result in results.values())
    return Decision(outcome, reasons, table, small, record | ({"plans": plans} if plans else {}))


def _rows(rule: Rule, results: Mapping[str, Result], small: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of comparisons over all users and in every slice that is large enough."""
    first = next(iter(results.values()))
    means = [metric for metric in rule.metrics if first.is_mean_of_users(metric)]
    for by in (None, *(rule.slices if means else ())):
        metrics = rule.metrics if by is None else means  # only means are compared in groups
        comparison = compare(
            results,
            baseline=rule.baseline,
            metrics=metrics,
            by=by,
            alpha=rule.alpha,
            correction="none",
            margin=rule.guardrails or None,
            missing=rule.missing,
        )
        directions = comparison.settings["directions"]
        rows = {(row["group"], row["metric"]): row for row in comparison.table.iter_rows(named=True)}
        sizes = {None: None} if by is None else _sizes(results, by)
        for group, size in sizes.items():
            if size is not None and size < rule.min_slice_size:
                small.append(f"{by}={'–' if group is None else group}")
                continue
            for metric in metrics:
                without_values = PairRow(metric, group, rule.baseline, rule.system, effect=EffectSizes(users=0))
                row = rows.get((group, metric)) or values_of(without_values)
                yield {**row, "by": by, "up": directions.get(metric, True)}


def _sizes(results: Mapping[str, Result], by: str) -> dict[str | None, int]:
    """Return the number of users of each group."""
    if is_truth_slice(by):
        slices = next(iter(results.values())).slices
        return {} if slices is None else dict(slices.filter(pl.col("by") == by).select("group", "users").rows())
    users = groups_of_users({name: result.per_user for name, result in results.items()}, by)
    counts = users.group_by(group_column(by)).len().sort(group_column(by), nulls_last=True)
    return dict(counts.rows())


def _check(row: Mapping[str, Any], role: str, p: float, outcome: str, **more: Any) -> Check:
    """Return the check of a row of a comparison."""
    pair = {name: row[name] for name in ("metric", "by", "group", "users", "difference", "low", "high")}
    flags = tuple(flag for flag in row["flags"] if flag not in ("exploratory", ALL_LISTS))
    return Check(**pair, role=role, p=p, outcome=outcome, flags=flags, **more)


def _success(rule: Rule, rows: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Return the checks of success over all users, corrected for the number of metrics.

    A p-value is not below that of the bound of the metric, which a rare large loss cannot escape.
    """
    rows = [row for row in rows if row["by"] is None and row["metric"] in rule.success]
    ps = [row["p"] if math.isnan(row["p_bound"]) else max(row["p"], row["p_bound"]) for row in rows]
    checks = []
    for row, p in zip(rows, adjust(ps, "holm").tolist(), strict=True):
        better = p < rule.alpha and _gains(row)
        outcome, shown = ("passed", "better") if better else ("not shown", None)
        checks.append(_check(row, "success", p, outcome, shown=shown))
    return checks


def _gains(row: Mapping[str, Any]) -> bool:
    return bool((row["difference"] > 0) == row["up"])


def _guardrails(rule: Rule, rows: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Return the checks of guardrails, over all users and in slices."""
    checks = []
    for row in rows:
        if row["metric"] not in rule.guardrails:
            continue
        p = row["p_non_inferior"]
        outcome, shown = ("passed", "not worse") if p < rule.alpha else ("not shown", None)
        checks.append(
            _check(
                row,
                "guardrail",
                p,
                outcome,
                shown=shown,
                margin=size_of(rule.guardrails[row["metric"]], row["mean_baseline"]),
                users_needed=None if shown else _needed(row, rule),
            )
        )
    return checks


def _needed(row: Mapping[str, Any], rule: Rule) -> int | None:
    """Return the users that show a guardrail, with a power shared among all guardrails."""
    if row["users_needed"] is None:
        return None
    power = 1 - 0.2 / len(rule.guardrails)
    shared, alone = (users_to_show(1.0, 1e3, rule.alpha, power=each) or 0 for each in (power, 0.8))
    return math.ceil(int(row["users_needed"]) * shared / alone)


def _deterioration(rule: Rule, rows: Sequence[Mapping[str, Any]], checks: Sequence[Check]) -> list[Check]:
    """Return the checks that nothing is significantly worse, anywhere; corrected together."""
    harmless = {(c.metric, c.by, c.group) for c in checks if c.role == "guardrail" and c.outcome == "passed"}
    failures = []
    for row, p in zip(rows, adjust([row["p"] for row in rows], "holm").tolist(), strict=True):
        worse = p < rule.alpha and not _gains(row)
        if worse and (row["metric"], row["by"], row["group"]) not in harmless:
            failures.append(_check(row, "deterioration", p, "failed", shown="worse"))
        elif row["metric"] in rule.deterioration:
            outcome = "undecided" if p == p and row["users"] > 1 else "not shown"
            failures.append(_check(row, "deterioration", p, outcome))
    return failures


_SHOWN = "every guardrail is shown to lose less than its margin"


def _decision_outcome(checks: Sequence[Check]) -> tuple[Outcome, list[str]]:
    """Return the outcome, and why."""

    def text(check: Check) -> str:
        inside = "" if check.by is None else f" in {check.by}={check.group}"
        size = f"{check.difference:+.4f}" if check.users else "no user has a value"
        return "; ".join((f"{check.metric}{inside} ({size})", *check.flags))

    worse = [check for check in checks if check.outcome == "failed"]
    if worse:
        return "stop", [f"worse: {text(check)}" for check in worse]
    better = [check for check in checks if check.role == "success" and check.outcome == "passed"]
    open_ = [check for check in checks if check.role != "success" and check.outcome == "not shown"]
    reasons = [f"better: {text(check)}" for check in better] or ["no success metric is shown to be better"]
    for check in open_:
        needed = "" if check.users_needed is None else f"; about {check.users_needed:,} users would show it"
        what = "lose less than its margin" if check.role == "guardrail" else "be no worse"
        reasons.append(f"not shown to {what}: {text(check)}{needed}")
    if better and not open_:
        rails = [check for check in checks if check.role == "guardrail"]
        flags = dict.fromkeys(f"{check.metric}: {flag}" for check in rails for flag in check.flags)
        return "ship", [*reasons, *(["; ".join((_SHOWN, *flags))] if rails else [])]
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


@dataclass(frozen=True)
class InterimAnalysis:
    """What one more look shows of a pair of systems.

    Attributes
    ----------
    system, baseline, metric : str
        The pair, and the primary metric.
    outcome : {"passed", "failed", "not shown"}
        Passed: the loss is below the margin. Failed: the system is worse.
    why : str
        The interval of the sequence with its level, and how many looks there were.
    """

    system: str
    baseline: str
    metric: str
    outcome: str
    why: str


def record_interim_analysis(comparison: Comparison, file: Path) -> list[InterimAnalysis]:
    """Return what a comparison shows at any number of looks, and record this one in a file.

    "Passed" is wrong with a probability of at most alpha over all looks together, and so is "failed". A
    margin that is a share of the baseline is tested user by user, on x − (1 − share) · y.

    Parameters
    ----------
    comparison : Comparison
        The comparison with a baseline, with a margin.
    file : Path
        The record of earlier looks, which this one is added to; a new file begins a record.

    Raises
    ------
    ParameterError
        If the comparison has no margin or groups, the metric has no bounds, or another question was
        looked at before.
    FileError
        If the file is not a record of looks.
    """
    settings = comparison.settings
    if settings["margin"] is None or settings["by"] is not None or not comparison.results:
        raise ParameterError(
            "looks need a comparison of all users, with a margin",
            found=f"margin={settings['margin']}, by={settings['by']}",
            hint="pass margin=",
        )
    check_plain_design(settings, "a look")
    rows = comparison.table.to_dicts()
    record = _read(file) if file.exists() else {}
    looks: list[InterimAnalysis] = []
    for row in rows:
        if not row["primary"]:
            continue
        key = f"{row['system']} − {row['baseline']}: {row['metric']}"
        pairs = _pairs(comparison, row)
        rule = {
            "alpha": settings["alpha"],
            "margin": margin_of(settings["margin"], row["metric"]),
            "missing": settings["missing"],
        }
        entry = record.setdefault(key, {"rule": rule, "looks": []})
        _check_rule(entry["rule"], rule)
        looks.append(_looked(comparison, row, pairs, entry))
    write_text(file, as_json({LOOKS.key: LOOKS.version, "pairs": record}))
    return looks


def _check_rule(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise unless the settings are those of the first look: else looks are not valid together."""
    changes = [f"{name}: {before.get(name)} before, {now[name]} now" for name in now if now[name] != before.get(name)]
    if changes:
        raise ParameterError(
            "the settings differ from those of the first look",
            found="; ".join(changes),
            hint="use the same settings, or begin a new file",
        )


def _pairs(comparison: Comparison, row: Mapping[str, Any]) -> Differences:
    aligned = align_users(dict(comparison.results), row["metric"], comparison.settings["missing"]).values
    column = {name: at for at, name in enumerate(comparison.results)}
    return Differences(aligned[:, column[row["system"]]], aligned[:, column[row["baseline"]]])


def _looked(
    comparison: Comparison, row: Mapping[str, Any], pairs: Differences, entry: dict[str, Any]
) -> InterimAnalysis:
    """Return the outcome of a pair, and add the look to its record."""
    before = entry["looks"]
    if before and pairs.n < before[-1]["users"]:
        raise ParameterError(
            "each look must include the users of all earlier looks",
            found=f"{before[-1]['users']:,} users before, {pairs.n:,} now",
            hint="compare all users so far, or begin a new file",
        )
    margin = margin_of(comparison.settings["margin"], row["metric"])
    size = size_of(margin, pairs.means[1])
    better = comparison.settings["directions"].get(row["metric"])
    if better is None or size is None:
        raise ParameterError(f"{row['metric']} has no direction, or no margin to clear")
    interval, gain, spare = _sequences(comparison, row["metric"], pairs, margin, better)
    outcome = "passed" if spare.low > 0 else "failed" if gain.high < 0 else "not shown"
    before.append(
        {
            "users": pairs.n,
            "difference": pairs.mean,
            "low": interval.low,
            "high": interval.high,
            "confidence": interval.confidence,
            "margin": size,
            "outcome": outcome,
        }
    )
    why = f"look {len(before)}, {pairs.n:,} users: difference {pairs.mean:+.4f}, "
    why += f"{100 * interval.confidence:.6g} % confidence sequence, valid at all looks, "
    why += f"from {interval.low:+.4f} to {interval.high:+.4f}, margin {size:.4g}"
    return InterimAnalysis(row["system"], row["baseline"], row["metric"], outcome, why)


def _sequences(
    comparison: Comparison, metric: str, pairs: Differences, margin: float | str | None, higher_is_better: bool
) -> tuple[Interval, Interval, Interval]:
    """Return the confidence sequences of the difference, of the gain, and of the gain plus the margin."""
    lowest, highest = range_of((m for result in comparison.results.values() for m in result.metrics), metric)
    width, relative = highest - lowest, isinstance(margin, str)
    if not math.isfinite(width):
        raise ParameterError(
            f"{metric} has no valid confidence sequence, because its values have no bounds",
            found=f"range {lowest:g} to {highest:g}",
            hint="look at a bounded metric, or fix the number of users before, and compare once without looks",
        )
    if relative and lowest < 0:
        raise ParameterError(
            f"{metric} can be negative, so a share of it is no margin at looks",
            found=f"margin={margin}",
            hint="pass a number as the margin",
        )
    # Of both outcomes at most one can be wrong, so that either side may err with alpha.
    sequence = partial(confidence_sequence, confidence=1 - 2 * comparison.settings["alpha"])
    interval = sequence(pairs.d, lowest=-width, highest=width)
    gain = interval if higher_is_better else replace(interval, low=-interval.high, high=-interval.low)
    share = size_of(margin, 1.0) or 0.0
    if not relative:
        return interval, gain, replace(gain, low=gain.low + share, high=gain.high + share)
    spare = (pairs.d if higher_is_better else -pairs.d) + share * pairs.y
    return interval, gain, sequence(spare, lowest=share * lowest - width, highest=share * highest + width)


def _read(file: Path) -> dict[str, Any]:
    """Return the looks so far, by pair."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        version = LOOKS.version_of(content)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _no_record(file, error) from error
    LOOKS.check(version, str(file))
    try:
        pairs = LOOKS.upgrade(content, version)["pairs"]
        valid = all(
            isinstance(entry["rule"], dict) and all(isinstance(look["users"], int) for look in entry["looks"])
            for entry in pairs.values()
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _no_record(file, error) from error
    if not valid:
        raise _no_record(file)
    return dict(pairs)


def _no_record(file: Path, error: Exception | None = None) -> FileError:
    return FileError(
        "this file is no record of looks",
        where=str(file),
        found=str(error).splitlines()[0] if str(error or "") else None,
        hint="name a file that does not exist to begin one",
    )
