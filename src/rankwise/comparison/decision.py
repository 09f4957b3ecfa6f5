"""Ship, hold or stop: one decision from success metrics, guardrails and slices."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import polars as pl

from rankwise.comparison.alignment import without_force
from rankwise.comparison.compare import compare, compared_rows
from rankwise.comparison.comparison import Comparison, check_plain_design
from rankwise.core import __version__
from rankwise.core.arguments import Missing, Test, check_choice, check_count, check_path
from rankwise.core.saved_forms import DECISION
from rankwise.core.terminal import (
    Cell,
    Detail,
    DetailedDisplay,
    Marked,
    Style,
    TableView,
    brief,
    change,
    count_of,
    float_of,
    json_safe,
    level_text,
    signed,
)
from rankwise.errors import FileError, MetricError, ParameterError
from rankwise.findings.columns import columns_of, table_of, values_of
from rankwise.findings.finding import ALL_LISTS, EffectSizes, Finding, Limits, within_sign
from rankwise.findings.margins import (
    Margin,
    check_margin,
    check_within_range,
    margin_flags,
    margin_test,
    margin_text,
    size_of,
)
from rankwise.findings.words import (
    group_name,
    group_words,
    interval_text,
    listing,
    natural_key,
    p_value,
    places,
)
from rankwise.results.display import plan_statements
from rankwise.results.intervals import group_column, groups_of_users, is_truth_slice
from rankwise.results.result import Result, knows_lists
from rankwise.results.sampling_unit import SamplingUnit
from rankwise.stats.differences import check_level
from rankwise.stats.equivalence import users_to_show
from rankwise.stats.many_systems import adjust, level_left
from rankwise.tables.storage import output_errors, write_text

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
    mean_baseline: float
    mean_system: float
    difference: float
    low: float
    high: float
    confidence: float
    change: float
    change_low: float
    change_high: float
    margin: float | None = None
    p: float
    p_name: str = ""
    outcome: str
    shown: str | None = None
    users_needed: int | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Decision(DetailedDisplay):
    """The result of `rankwise.decide`: ship, hold or stop, with every check behind the outcome.

    Attributes
    ----------
    outcome : {"ship", "hold", "stop"}
        Ship: a success metric is better, and every guardrail holds. Stop: a metric is worse.
        Hold: neither is shown.
    reasons : list of str
        The verdict in a sentence, then further reasons and what no rule guards, one sentence each.
    checks : polars.DataFrame
        One row per check: its ``role`` (success, guardrail, deterioration), metric, slice, users,
        both means, the difference and the relative ``change`` with intervals of the test and the
        level that decide (``confidence``), margin, the p-value that decides, ``outcome`` (passed,
        failed, not shown, not checked; of a deterioration metric also no loss shown, and passed
        where its guardrail allows the loss), what that p-value has ``shown`` (better, not worse,
        worse; null if nothing), for guardrails the number of users needed, and ``flags``.
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
        """The record and its version as canonical JSON: sorted keys, no whitespace, a digest."""
        content = {DECISION.key: DECISION.version, **self.record}
        return _canonical({**content, "sha256": _digest(content)}) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Decision:
        """Read a decision that `save`, or ``rankwise run``, wrote.

        Raises
        ------
        FileError
            If the file holds no decision, one of a version that cannot be read, or one that was
            changed.

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
    def verdict(self) -> str:
        """The decision in a sentence, with the reason that decided."""
        return self.reasons[0]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per metric and slice for readers; of two checks, the failed one decides.

        Beside the columns of `checks` each has ``said``, the outcome in words, ``title``, the part
        of the rule that it belongs to, ``name``, its metric and slice in words, and whether it is a
        slice ``below`` a row of its metric, which alone names that.
        """
        return _merged(self.checks.to_dicts(), self.record["rule"])

    csv_table = "checks"

    def to_dict(self) -> dict[str, Any]:
        """Return the record: rule, checks, outcome and inputs, as plain values."""
        return dict(self.record)

    def views_at(self, detail: Detail) -> list[TableView]:
        """Return the verdict alone, the verdict with a table, or every column of the checks.

        Parameters
        ----------
        detail : {"verdict", "table", "full"}
            How much is shown.
        """
        caption = f"{self.outcome.upper()}  {self.verdict}"
        if detail == "verdict":
            return [TableView((), (), caption=caption)]
        notes = [*self.reasons[1:], *self.record.get("plans", ())]
        if self.small_slices:
            notes.append(f"Too few users to be checked: {', '.join(self.small_slices)}.")
        if detail == "full":
            notes += self._flags()
        return [_decision_view(self.rows, caption, notes, full=detail == "full")]

    def _flags(self) -> list[str]:
        """Return the caveats of checks, each with its metrics and slices."""
        flags: dict[str, dict[str, None]] = {}
        for row in self.checks.iter_rows(named=True):
            for flag in row["flags"]:
                flags.setdefault(flag, {})[f"{row['metric']}, {_slice(row)}"] = None
        return [f"{'; '.join(where)}: {flag}" for flag, where in flags.items()]


def _slice(row: Mapping[str, Any]) -> str:
    return "all users" if row["by"] is None else group_words(row["by"], row["group"])


_TITLES = {
    "success": "must improve",
    "guardrail": "may lose less than",
    "deterioration": "must not get worse",
}
_SAID = {
    ("success", "passed"): "✓ better",
    ("guardrail", "passed"): "✓ within",
    ("guardrail", "failed"): "✕ loses",
    ("deterioration", "passed"): "✓ within",
    ("deterioration", "no loss shown"): "· no loss shown",
}
"""What a reader is told of an outcome; of any other, that it failed, is not shown or was not checked."""
_OTHERWISE = {"failed": "✕ worse", "not shown": "? not shown", "not checked": "not checked"}
_TONES: Mapping[str, Style] = {"✓": "better", "✕": "worse", "?": "bold"}


def _merged(checks: Sequence[dict[str, Any]], rule: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per metric and slice, by role, metric and slice in their order."""
    rows: dict[tuple[str, str | None, str | None], dict[str, Any]] = {}
    for row in checks:
        first = rows.setdefault((row["metric"], row["by"], row["group"]), dict(row))
        if row["outcome"] == "failed":
            first |= {name: row[name] for name in _DECIDING}
    for row in rows.values():
        row["role"] = (
            "success" if row["metric"] in rule["success"] and row["by"] is None else row["role"]
        )
        row["title"] = _TITLES[row["role"]]
        if row["role"] == "guardrail":
            row["title"] += f" {margin_text(rule['guardrails'][row['metric']])}"
    merged = _under_titles(list(rows.values()), rule)
    for before, row in zip([None, *merged], merged, strict=False):
        named = before is not None and all(
            before[name] == row[name] for name in ("title", "metric")
        )
        where = "" if row["by"] is None else group_words(row["by"], row["group"])
        row["below"] = named and row["by"] is not None
        row["name"] = where if row["below"] else ", ".join(filter(None, (row["metric"], where)))
        row["said"] = _SAID.get((row["role"], row["outcome"])) or _OTHERWISE[row["outcome"]]
    return merged


def _under_titles(rows: Sequence[dict[str, Any]], rule: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Sort rows by title and metric in the order of the rule, then by slice."""
    order = list(dict.fromkeys([*rule["success"], *rule["guardrails"], *rule["deterioration"]]))
    roles, slices = list(_TITLES), [None, *rule["slices"]]
    titles: list[str] = []
    for row in sorted(rows, key=lambda row: (roles.index(row["role"]), order.index(row["metric"]))):
        titles += [row["title"]] if row["title"] not in titles else []

    def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
        metric = order.index(row["metric"])
        return (
            titles.index(row["title"]),
            metric,
            slices.index(row["by"]),
            natural_key(row["group"]),
        )

    return sorted(rows, key=place)


_DECIDING = ("outcome", "p", "p_name", "low", "high", "confidence", "change_low", "change_high")
"""The columns of a check that decides in the place of another one of the same metric and slice."""


def levels_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the confidence levels of a decision's intervals, each with its parts of the rule."""
    levels: dict[str, dict[str, None]] = {}
    for row in rows:
        if not math.isnan(row["confidence"]):
            levels.setdefault(level_text(row["confidence"]), {})[row["title"]] = None
    return {level: list(titles) for level, titles in levels.items()}


def _decision_view(
    rows: Sequence[Mapping[str, Any]], caption: str, notes: Sequence[str], *, full: bool
) -> TableView:
    """Return one row per metric and slice, each under its part of the rule."""
    body: list[list[Cell]] = []
    levels, last = levels_of(rows), ""
    for row in rows:
        title = row["title"]
        if title != last:
            body.append([title, *[""] * (7 if full else 4)])
        last = title
        name = f"{'    ' if row['below'] else '  '}{row['name']}"
        users = f"{row['users']:,}"
        said = Marked(row["said"], _TONES.get(row["said"][0], ""))
        means = f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}"
        label = f" ({row['p_name']})" if row["p_name"] else ""
        p = p_value(row["p"]) + ("" if math.isnan(row["p"]) else label)
        more = (
            [signed(row["difference"], places(row)), interval_text(row, signed), p] if full else []
        )
        if row["outcome"] == "not checked" or _NO_LIST in row["flags"]:
            empty = "no list" if _NO_LIST in row["flags"] else "no value"
            body.append([name, users, "", empty, *([""] * len(more)), said])
            continue
        limits = [change(row[name], unit="") for name in ("change_low", "change_high")]
        level = f"; {level_text(row['confidence'])}" if len(levels) > 1 else ""
        size = f"{change(row['change'])} ({' to '.join(limits)}{level})"
        if "–" in limits:
            size = f"{signed(row['difference'], places(row))} ({interval_text(row, signed)}{level})"
        body.append([name, users, means, size, *more, said])
    interval = f"{next(iter(levels))} interval" if len(levels) == 1 else "interval"
    more = ["difference", "interval", "p"] if full else []
    head = ["", "users", "from → to", f"change ({interval})", *more, ""]
    return TableView(
        head, body, notes, caption=caption, left=(0, len(head) - 1), leaving=() if full else (1, 2)
    )


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
        raise FileError(
            "this file was changed after the decision was saved",
            where=str(file),
            hint="decide again",
        )
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
        raise FileError(
            "this saved decision lacks a part", where=str(file), found=f"{error!r}"
        ) from error


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _canonical(record: Mapping[str, Any]) -> str:
    return json.dumps(
        record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


class LoggedRewards(Protocol):
    """The rewards of policies on logged requests, as `rankwise.off_policy` estimates them."""

    @property
    def settings(self) -> dict[str, Any]:
        """The options of the estimate."""

    def pair_rows(self, reward: str, baseline: str, system: str) -> list[dict[str, Any]]:
        """Return the comparison rows of a pair: all requests first, then each group."""

    @property
    def policies(self) -> list[str]:
        """The names of the policies."""

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of the estimate, and the hash of the users' values."""


def decide(
    results: Comparison | Mapping[str, Result] | LoggedRewards | Mapping[str, LoggedRewards],
    *,
    success: str | Sequence[str],
    guardrails: Mapping[str, float | str] | None = None,
    deterioration: str | Sequence[str] = (),
    slices: str | Sequence[str] = (),
    min_slice_size: int = 100,
    alpha: float | None = None,
    missing: Missing | None = None,
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
    results : Comparison, OffPolicy, or mapping of str to Result or OffPolicy
        Results by name, or a comparison of them, whose test, seed, resamples and ``earlier`` pairs
        the decision has as well. Of policies on logged requests the result of
        `rankwise.off_policy`, whose metric is called ``"reward"``, or the results of several
        rewards by the name of the reward. Where a log supports a policy weakly or not at all,
        nothing is shown: the decision is hold.
    success : str or list of str
        Success metrics: at least one of them has to improve.
    guardrails : mapping of metric to margin, optional
        Guardrail metrics, each with the loss that it must not reach: a number, or a share of the
        baseline such as ``"1%"``. Values that are not means over users (coverage, Gini) need
        ``evaluate(…, jackknife=64)``, and are checked over all users alone. On logged requests the
        margin is that of ``off_policy(…, margin=…)``.
    deterioration : str or list of str, optional
        Further metrics that must not get significantly worse.
    slices : str or list of str, optional
        Columns of user groups, as passed to ``evaluate(…, by=…)``: guardrails and deterioration
        are checked in each group as well.
    min_slice_size : int, default=100
        Groups with fewer users are not checked; the decision lists them.
    alpha : float, optional
        The significance level; by default that of the comparison or the log, 0.05 for results.
    missing : {"error", "zero", "common"}, optional
        What to do with users who have a value in one result only, as for `rankwise.compare`; by
        default as the comparison did, ``"error"`` for results.
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
    rewards = _rewards_of(results)
    options: dict[str, Any] = {
        "guardrails": guardrails,
        "deterioration": deterioration,
        "slices": slices,
    }
    options |= {
        "min_slice_size": min_slice_size,
        "alpha": alpha,
        "missing": missing,
        "success": success,
    }
    if rewards is not None:
        return _decided_from_logs(rewards, baseline, system, **options)
    compared: Mapping[str, Any] = results.settings if isinstance(results, Comparison) else {}
    if isinstance(results, Comparison):
        check_plain_design(results.settings, "a decision", over_requests=True)
    by_name = results.results if isinstance(results, Comparison) else results
    if not isinstance(by_name, Mapping):
        raise ParameterError(
            "results come by name",
            found=type(results).__name__,
            hint="pass {name: result, …}, or a comparison",
        )
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in by_name.items() if not isinstance(r, Result)]
    if wrong:
        raise ParameterError("a decision is about one result per system", found=", ".join(wrong))
    baseline = compared.get("baseline") if baseline is None else baseline
    options |= {"alpha": compared.get("alpha", 0.05) if alpha is None else alpha}
    options |= {"missing": compared.get("missing", "error") if missing is None else missing}
    options |= {name: compared[name] for name in _INHERITED if name in compared}
    users: dict[str, Result] = dict(by_name)  # type: ignore[arg-type]
    rule = rule_for(users, baseline=baseline, system=system, **options)
    return _decided_from_users(rule, {name: users[name] for name in (rule.baseline, rule.system)})


_INHERITED = ("test", "n_resamples", "seed", "earlier")
"""Options of a comparison that the decision about it has as well."""


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
    test: Test = "auto",
    n_resamples: int | None = None,
    seed: int = 0,
    earlier: int = 0,
    baseline: str | None = None,
    system: str | None = None,
) -> Rule:
    """Return the checked rule of a decision; parameters as in `decide` and `rankwise.compare`."""
    pair = _pair(list(results), baseline, system)
    rule = Rule.of(pair, success, guardrails, deterioration, slices, min_slice_size, alpha, missing)
    rule = replace(rule, test=test, n_resamples=n_resamples, seed=seed, earlier=earlier)
    return rule.canonical(results[pair[0]])


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
    test: Test = "auto"
    n_resamples: int | None = None
    seed: int = 0
    earlier: int = 0

    @classmethod
    def of(
        cls,
        pair: tuple[str, str],
        success: str | Sequence[str],
        guardrails: Mapping[str, float | str] | None,
        deterioration: str | Sequence[str],
        slices: str | Sequence[str],
        min_slice_size: int,
        alpha: float,
        missing: Missing,
    ) -> Rule:
        """Return the rule of a pair of baseline and system, checked."""
        check_level("alpha", alpha)
        check_count(least=2, min_slice_size=min_slice_size)
        check_choice("missing", missing, Missing)
        if not isinstance(guardrails, Mapping | None):
            raise ParameterError(
                "guardrails map metrics to margins",
                found=repr(guardrails)[:80],
                hint='pass guardrails={"recall@10": "1%"}',
            )
        chosen = _names("success", success)
        if not chosen:
            raise ParameterError("a decision needs a metric of success", found="success=[]")
        return cls(
            chosen,
            {name: check_margin(margin) for name, margin in (guardrails or {}).items()},
            _names("deterioration", deterioration),
            list(dict.fromkeys(_names("slices", slices))),
            int(min_slice_size),
            float(alpha),
            missing,
            *pair,
        )

    def canonical(self, result: Result) -> Rule:
        """Return the rule with the canonical names of metrics."""
        cells = {
            name: deciding_cell(result, name)
            for name in (*self.success, *self.guardrails, *self.deterioration)
        }
        for name, margin in self.guardrails.items():
            check_within_range(margin, cells[name], result)
        twice = [
            n for n in self.guardrails if [cells[m] for m in self.guardrails].count(cells[n]) > 1
        ]
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
        """The metrics that the rule names, each once."""
        return list(dict.fromkeys([*self.success, *self.guardrails, *self.deterioration]))


def _names(option: str, names: str | Sequence[str]) -> list[str]:
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, list | tuple) or not all(isinstance(name, str) for name in listed):
        raise ParameterError(f"{option} is a name, or a list of names", found=repr(names)[:80])
    return list(listed)


def _pair(names: Sequence[str], baseline: str | None, system: str | None) -> tuple[str, str]:
    """Return the names of baseline and system."""
    for name in (baseline, system):
        if name is not None and name not in names:
            raise ParameterError(f"there is no result {name!r}", found=", ".join(names))
    if len(names) < 2:
        raise ParameterError("a decision needs two results", found=", ".join(names) or "none")
    first = names[0] if baseline is None else baseline
    rest = [name for name in names if name != first]
    if system is None and len(rest) > 1:
        raise ParameterError(
            "a decision is about one system", found=", ".join(rest), hint="say which: system="
        )
    if system == first:
        raise ParameterError(
            "a decision compares two systems, and both names are those of one", found=repr(first)
        )
    return first, rest[0] if system is None else system


def _decided_from_users(rule: Rule, results: dict[str, Result]) -> Decision:
    """Return the decision about two results."""
    small: list[str] = []
    rows = list(_rows(rule, results, small))
    made = _decided(rule, rows, _success(rule, rows), small, _unguarded(rule, results))
    first = results[rule.baseline]
    record = {
        "lower_is_better": [m for m in rule.metrics if first.direction(m) is False],
        "inputs": {name: _inputs(result) for name, result in results.items()},
    }
    made = replace(made, record=made.record | record)
    return held_to_plan(
        made,
        [result.provenance["plan"] for result in results.values() if "plan" in result.provenance],
    )


def held_to_plan(decision: Decision, plans: Sequence[Mapping[str, Any]]) -> Decision:
    """Add the plans of the results to a decision; a ship from a run not as planned becomes hold.

    ``plans`` are what `rankwise.experiments.plan.check_plan` returned for each result.
    """
    if not plans:
        return decision

    record = decision.record | {"plans": plan_statements([{"plan": plan} for plan in plans])}
    outcome, reasons = decision.outcome, decision.reasons
    if outcome == "ship" and any(plan["differences"] for plan in plans):
        pair = record["rule"]
        gain = (
            f"Do not replace {pair['baseline']} with {pair['system']} yet: the run was not as "
            "planned."
        )
        outcome, reasons = "hold", [gain, *reasons[1:]]
    return replace(
        decision,
        outcome=outcome,
        reasons=reasons,
        record=record | {"outcome": outcome, "reasons": reasons},
    )


def _decided(
    rule: Rule,
    rows: Sequence[dict[str, Any]],
    success: list[Check],
    small: list[str],
    unguarded: list[dict[str, Any]],
) -> Decision:
    """Return the decision from the rows of a comparison; the record lacks the inputs."""
    checks = [*success, *_guardrails(rule, rows)]
    checks += _deterioration(rule, rows, checks)
    outcome = _decision_outcome(checks)
    reasons = _reasons(outcome, checks, rule, unguarded, small)
    table = table_of(checks, Check)
    record = {
        "rankwise": __version__,
        "rule": asdict(rule),
        "outcome": outcome,
        "reasons": reasons,
        "small_slices": small,
        "checks": json_safe(table.to_dicts()),
        "unguarded": unguarded,
        "lower_is_better": [],
    }
    return Decision(outcome, reasons, table, small, record)


def _rewards_of(results: Any) -> dict[str, LoggedRewards] | None:
    """Return the rewards of logged requests by name; None if the results are of users' lists."""
    if hasattr(results, "pair_rows"):
        return {"reward": results}
    values = list(results.values()) if isinstance(results, Mapping) else []
    if not any(hasattr(value, "pair_rows") for value in values):
        return None
    wrong = [
        f"{n!r}: {type(r).__name__}" for n, r in results.items() if not hasattr(r, "pair_rows")
    ]
    if wrong:
        raise ParameterError(
            "a decision is about users' lists or about logged requests", found=", ".join(wrong)
        )
    return dict(results)


def _decided_from_logs(
    rewards: Mapping[str, LoggedRewards], baseline: str | None, system: str | None, **options: Any
) -> Decision:
    """Return the decision about two policies on logged requests."""
    first = next(iter(rewards.values()))
    pair = _pair(
        first.policies, first.settings["baseline"] if baseline is None else baseline, system
    )
    options |= {"alpha": first.settings["alpha"] if options["alpha"] is None else options["alpha"]}
    rule = Rule.of(pair, **options | {"missing": options["missing"] or "error"})
    for name in rule.metrics:
        if name not in rewards:
            raise MetricError(f"there is no reward {name!r}", found=", ".join(rewards))
    for name in rule.metrics:
        if rewards[name].settings["alpha"] != rule.alpha:
            raise ParameterError(
                f"{name} was not estimated at the level of the decision",
                found=f"alpha={rule.alpha}, and alpha={rewards[name].settings['alpha']} of the "
                "estimate",
                hint=f"off_policy(…, alpha={rule.alpha})",
            )
    for name, margin in rule.guardrails.items():
        if not _same_margin(rewards[name].settings["margin"], margin):
            raise ParameterError(
                f"{name} was not estimated with the margin of its guardrail",
                found=f"{margin}, and margin={rewards[name].settings['margin']} of the estimate",
                hint=f"off_policy(…, margin={margin!r})",
            )
    known = {name: result.pair_rows(name, *pair) for name, result in rewards.items()}
    small, rows = [], []
    for row in (
        row for name in rule.metrics for row in known[name] if row["by"] in (None, *rule.slices)
    ):
        if row["by"] is not None and row["users"] < rule.min_slice_size:
            small.append(f"{row['by']} {group_name(row['group'])}")
        else:
            rows.append(row)
    names = ("metric", "users", "mean_baseline", "mean_system", "difference", "low", "high")
    others = (known[name][0] for name in rewards if name not in rule.metrics)
    unguarded = [
        json_safe({name: row[name] for name in names})
        for row in others
        if row["verdict"] == "worse"
    ]
    for name in rule.metrics:
        for by in {*rule.slices} - {row["by"] for row in known[name]}:
            raise ParameterError(f"{name} has no slices by {by}", hint=f"off_policy(…, by={by!r})")
    made = _decided(rule, rows, _success(rule, rows), list(dict.fromkeys(small)), unguarded)
    return replace(
        made, record=made.record | {"inputs": {name: each.inputs for name, each in rewards.items()}}
    )


def _same_margin(one: Margin, other: float | str) -> bool:
    """Return whether two margins are the same, however they are written."""
    return isinstance(one, int | float | str) and margin_test(check_margin(one)) == margin_test(
        other
    )


def _rows(rule: Rule, results: Mapping[str, Result], small: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of comparisons over all users and in every slice that is large enough."""
    first = next(iter(results.values()))
    means = [metric for metric in rule.metrics if first.is_mean_of_users(metric)]
    for by in (None, *(rule.slices if means else ())):
        metrics = rule.metrics if by is None else means  # only means are compared in groups
        with without_force():
            _, pairs, settings = compared_rows(
                [results],
                baseline=rule.baseline,
                metrics=metrics,
                by=by,
                alpha=rule.alpha,
                test=rule.test,
                correction="none",
                margin=rule.guardrails or None,
                missing=rule.missing,
                n_resamples=rule.n_resamples,
                seed=rule.seed,
            )
        directions, unit = settings["directions"], SamplingUnit.of_comparison(settings)
        rows = {(row.group, row.metric): row for row in pairs}
        sizes = {None: None} if by is None else _sizes(results, by)
        for group, size in sizes.items():
            if size is not None and size < rule.min_slice_size:
                small.append(f"{by} {group_name(group)}")
                continue
            for metric in metrics:
                without_values = Finding(
                    metric, group, rule.baseline, rule.system, effect=EffectSizes(users=0)
                )
                pair = rows.get((group, metric)) or without_values
                flags = [_NO_LIST] if by is not None and _without_lists(results, by, group) else []
                values = values_of(pair)
                values |= {
                    "by": by,
                    "up": directions.get(metric, True),
                    "users": unit.users_in(values),
                }
                yield values | {"flags": [*flags, *pair.flags], "pair": pair}


_NO_LIST = "no list from either system"


def _without_lists(results: Mapping[str, Result], by: str, group: str | None) -> bool:
    """Return whether no system has a list for any user of a group; False if lists are unknown."""
    if is_truth_slice(by) or not all(map(knows_lists, results.values())):
        return False
    inside = (
        result.per_user.filter(pl.col(group_column(by)).eq_missing(group))
        for result in results.values()
    )
    return not any(users["list_length"].sum() for users in inside)


def _sizes(results: Mapping[str, Result], by: str) -> dict[str | None, int]:
    """Return the number of users of each group."""
    if is_truth_slice(by):
        slices = next(iter(results.values())).slices
        return (
            {}
            if slices is None
            else dict(slices.filter(pl.col("by") == by).select("group", "users").rows())
        )
    users = groups_of_users({name: result.per_user for name, result in results.items()}, by)
    counts = users.group_by(group_column(by)).len().sort(group_column(by), nulls_last=True)
    return dict(counts.rows())


def _check(
    row: Mapping[str, Any],
    role: str,
    p: float,
    outcome: str,
    limits: Limits,
    confidence: float,
    **more: Any,
) -> Check:
    """Return the check of a comparison row, with limits of the deciding test and level."""
    names = ("metric", "by", "group", "users", "mean_baseline", "mean_system", "difference")
    pair = {name: row[name] for name in names}
    if _NO_LIST in row["flags"] or not row["users"]:
        outcome = "not checked" if outcome == "not shown" else outcome
    flags = tuple(flag for flag in row["flags"] if flag not in ("exploratory", ALL_LISTS))
    before = row["mean_baseline"]
    return Check(
        **pair,
        role=role,
        p=p,
        outcome=outcome,
        low=limits.low,
        high=limits.high,
        confidence=confidence,
        change=row["difference"] / abs(before) if before else math.nan,
        change_low=limits.lift_low,
        change_high=limits.lift_high,
        flags=flags,
        **more,
    )


def _limits(row: Mapping[str, Any], level: float, *, shown: bool, by_bound: bool = False) -> Limits:
    """Return the limits of a row at the deciding level, by the bounded mean if that test decides.

    Of a log only those at the level of its estimate are known.
    """
    pair = row.get("pair")
    if pair is None:
        known = math.isclose(level, row["level"])
        return Limits(row["low_alone"], row["high_alone"]) if known else Limits()
    limits_of = pair.margin_limits_of if by_bound else pair.limits_of
    return (
        Limits()
        if limits_of is None
        else within_sign(limits_of(1 - level), row["difference"], shown=shown)
    )


def _corrected(rows: Sequence[Mapping[str, Any]], rule: Rule) -> tuple[list[float], float]:
    """Return Holm-adjusted p-values of rows (and of earlier tests), and the level left to each."""
    together = [*(row["p"] for row in rows), *[1.0] * (rule.earlier * len(rows))]
    return adjust(together, "holm")[: len(rows)].tolist(), level_left(together, "holm", rule.alpha)


def _p_name(rows: Sequence[Mapping[str, Any]], rule: Rule) -> str:
    """Return the label of a family's p-values: ``Holm``, or empty text for a single test."""
    return "Holm" if len(rows) * (1 + rule.earlier) > 1 else ""


def _success(rule: Rule, rows: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Return the checks of success over all users, corrected for the number of metrics.

    A p-value is not below that of the bound of the metric, which a rare large loss cannot escape;
    the interval is of the same test.
    """
    chosen = [row for row in rows if row["by"] is None and row["metric"] in rule.success]
    decided = [
        {**row, "p": row["p"] if math.isnan(row["p_bound"]) else max(row["p"], row["p_bound"])}
        for row in chosen
    ]
    adjusted, level = _corrected(decided, rule)
    checks = []
    for row, p in zip(chosen, adjusted, strict=True):
        limits = _limits(row, level, shown=p < rule.alpha, by_bound=row["p_bound"] > row["p"])
        better = p < rule.alpha and _gains(row)
        outcome, shown = ("passed", "better") if better else ("not shown", None)
        name = _p_name(chosen, rule)
        checks.append(
            _check(row, "success", p, outcome, limits, 1 - level, shown=shown, p_name=name)
        )
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
                Limits(*(row[name] for name in _MARGIN_LIMITS)),
                1 - 2 * rule.alpha,
                shown=shown,
                p_name="one-sided",
                margin=size_of(rule.guardrails[row["metric"]], row["mean_baseline"]),
                users_needed=None if shown else _needed(row, rule),
            )
        )
    return checks


_MARGIN_LIMITS = ("margin_low", "margin_high", "margin_lift_low", "margin_lift_high")


def _needed(row: Mapping[str, Any], rule: Rule) -> int | None:
    """Return the users that show a guardrail, with a power shared among all guardrails."""
    if row["users_needed"] is None:
        return None
    power = 1 - 0.2 / len(rule.guardrails)
    shared, alone = (users_to_show(1.0, 1e3, rule.alpha, power=each) or 0 for each in (power, 0.8))
    return math.ceil(int(row["users_needed"]) * shared / alone)


def _deterioration(
    rule: Rule, rows: Sequence[Mapping[str, Any]], checks: Sequence[Check]
) -> list[Check]:
    """Return the checks that nothing is significantly worse, anywhere; corrected together."""
    harmless = {
        (c.metric, c.by, c.group) for c in checks if c.role == "guardrail" and c.outcome == "passed"
    }
    failures = []
    adjusted, level = _corrected(rows, rule)
    name = _p_name(rows, rule)
    for row, p in zip(rows, adjusted, strict=True):
        worse = p < rule.alpha and not _gains(row) and row["verdict"] != "different"
        failed = worse and (row["metric"], row["by"], row["group"]) not in harmless
        if not failed and row["metric"] not in rule.deterioration:
            continue
        outcome, shown = "not shown", None
        if failed:
            outcome, shown = "failed", "worse"
        elif worse:  # a loss that its guardrail allows
            outcome, shown = "passed", "worse"
        elif p == p and row["users"] > 1:
            outcome = "no loss shown"
        limits = _limits(row, level, shown=p < rule.alpha)
        failures.append(
            _check(row, "deterioration", p, outcome, limits, 1 - level, shown=shown, p_name=name)
        )
    return failures


_OPEN = ("not shown", "not checked")


def _decision_outcome(checks: Sequence[Check]) -> Outcome:
    if any(check.outcome == "failed" for check in checks):
        return "stop"
    better = any(check.role == "success" and check.outcome == "passed" for check in checks)
    return "ship" if better and not _open_checks(checks) else "hold"


def _open_checks(checks: Sequence[Check]) -> list[Check]:
    """Return the checks besides success that show neither outcome."""
    return [check for check in checks if check.role != "success" and check.outcome in _OPEN]


def _unguarded(rule: Rule, results: Mapping[str, Result]) -> list[dict[str, Any]]:
    """Return metrics outside the rule that are worse in exploratory tests, largest loss first."""
    comparison = compare(
        dict(results),
        baseline=rule.baseline,
        primary=rule.success[0],
        alpha=rule.alpha,
        missing=rule.missing,
        test=rule.test,
        n_resamples=rule.n_resamples,
        seed=rule.seed,
        earlier=rule.earlier,
    )
    unit = SamplingUnit.of_comparison(comparison.settings)
    worse = comparison.table.filter(
        pl.col("verdict") == "worse", ~pl.col("metric").is_in(rule.metrics)
    )
    names = ("metric", "users", "mean_baseline", "mean_system", "difference", "low", "high", "lift")
    rows = worse.sort(
        pl.col("lift").abs().fill_nan(0.0), descending=True, maintain_order=True
    ).to_dicts()
    return [
        json_safe({name: row[name] for name in names} | {"users": unit.users_in(row)})
        for row in rows
    ]


def _reasons(
    outcome: Outcome,
    checks: Sequence[Check],
    rule: Rule,
    unguarded: Sequence[Mapping[str, Any]],
    small: Sequence[str],
) -> list[str]:
    """Return the verdict in a sentence, further reasons, and the largest unguarded loss."""
    better = [
        check.metric for check in checks if check.role == "success" and check.outcome == "passed"
    ]
    if outcome == "stop":
        reasons = _losses([check for check in checks if check.outcome == "failed"], rule)
    elif outcome == "ship":
        holds = (
            f", and {_where_rails_hold(checks, rule, small)}"
            if rule.guardrails
            else "; nothing else is guarded"
        )
        gain = f"Replace {rule.baseline} with {rule.system}: better on {listing(better, 'metrics')}"
        reasons = [f"{gain}{holds}."]
        reasons += _caveats_of_rails([check for check in checks if check.role == "guardrail"])
    else:
        gaps = [_gap(check, rule) for check in _open_checks(checks)]
        names, several = listing(better or rule.success, "metrics"), len(better or rule.success) > 1
        said = f"{names} {'are' if several else 'is'}{'' if better else ' not shown to be'} better"
        why = f"{said}, but {gaps.pop(0)}" if better else said
        reasons = [
            f"Do not replace {rule.baseline} with {rule.system} yet: {why}.",
            *(f"{gap[0].upper()}{gap[1:]}." for gap in gaps),
        ]
    if unguarded:
        row, more = unguarded[0], len(unguarded) - 1
        others = f", and {more} other metric{'s' * (more > 1)}" if more else ""
        means = f"{brief(float_of(row['mean_baseline']))} → {brief(float_of(row['mean_system']))}"
        reasons.append(f"No rule guards {row['metric']}, which is worse: {means}{others}.")
    return reasons


def _caveats_of_rails(rails: Sequence[Check]) -> list[str]:
    """Return the caveats of guardrails, each once; of one that holds in slices alone, in which."""
    places: dict[tuple[str, str], list[Check]] = {}
    for check in rails:
        for flag in check.flags:
            places.setdefault((check.metric, flag), []).append(check)
    caveats = []
    for (metric, flag), inside in places.items():
        slices = (
            []
            if any(check.by is None for check in inside)
            else [_slice(asdict(check)) for check in inside]
        )
        where = f" for {listing(slices, 'slices')}" if slices else ""
        caveats.append(f"{metric}{where}: {flag}.")
    return caveats


def _where_rails_hold(checks: Sequence[Check], rule: Rule, small: Sequence[str]) -> str:
    """Return which guardrails hold, and in how many of the slices: only a checked slice is one."""
    passed = [check for check in checks if check.role == "guardrail" and check.outcome == "passed"]
    places: dict[str, list[str]] = {}
    for metric in rule.guardrails:
        inside = sum(check.metric == metric and check.by is not None for check in passed)
        every = inside + len(small)
        where = (
            f" in {inside} of {every} slices, the others being too small"
            if small
            else " in every slice"
        )
        where = where if inside else " over all users alone"
        places.setdefault(where if rule.slices else "", []).append(metric)
    named = ((listing(names, "guardrails"), len(names), where) for where, names in places.items())
    return ", and ".join(
        f"{names} {'holds' if count == 1 else 'hold'}{where}" for names, count, where in named
    )


_NAMED_LOSSES = 6


def _losses(worse: Sequence[Check], rule: Rule) -> list[str]:
    """Return sentences on losses: over all users first, success metrics first, then by size."""
    order = sorted(
        worse,
        key=lambda check: (
            check.by is not None,
            check.metric not in rule.success,
            -_relative(check),
        ),
    )
    first, others = order[0], order[1:]
    within = [
        f"{check.metric} for {_slice(asdict(check))}" for check in others if check.by is not None
    ]
    if len(within) > _NAMED_LOSSES:
        within = [*within[:_NAMED_LOSSES], count_of(len(within) - _NAMED_LOSSES, "more slice")]
    return [
        f"Keep {rule.baseline}: {rule.system} {_loss(first, rule)}.",
        *(f"It {_loss(check, rule, also='also ')}." for check in others if check.by is None),
        *([f"Worse as well: {listing(within, named=len(within))}."] if within else []),
    ]


def _relative(check: Check) -> float:
    return abs(check.difference / check.mean_baseline) if check.mean_baseline else 0.0


def _loss(check: Check, rule: Rule, also: str = "") -> str:
    """Describe the loss of a metric, with the allowed margin of a guardrail."""
    inside = "" if check.by is None else f" for {_slice(asdict(check))}"
    share = (
        change(_relative(check)).removeprefix("+")
        if check.mean_baseline
        else brief(abs(check.difference))
    )
    if check.metric in rule.guardrails:
        verb = (
            f"loses {share} of {check.metric}"
            if check.difference < 0
            else f"raises {check.metric} by {share}"
        )
        return f"{also}{verb}{inside}; {margin_text(rule.guardrails[check.metric])} is allowed"
    means = f"{brief(check.mean_baseline)} → {brief(check.mean_system)}"
    return f"is {also}worse on {check.metric}{inside}: {means}"


def _gap(check: Check, rule: Rule) -> str:
    """Describe a check that is not shown or not checked, with the number of users needed."""
    inside = "" if check.by is None else f" for {_slice(asdict(check))}"
    if check.outcome == "not checked":
        return (
            f"{check.metric} is not checked{inside} ({check.users:,} users): "
            f"{(*check.flags, 'no value')[0]}"
        )
    what = "to hold" if check.role == "guardrail" else "to be no worse"
    needed = "" if check.users_needed is None else f"; about {check.users_needed:,} needed"
    no_margin = "".join(f"; {flag}" for flag in _no_margin(check, rule))
    return f"{check.metric} is not shown {what}{inside} ({check.users:,} users{needed}{no_margin})"


def _no_margin(check: Check, rule: Rule) -> list[str]:
    """Return why the margin of a guardrail is none: a share of a baseline of 0."""
    margin = rule.guardrails.get(check.metric) if check.role == "guardrail" else None
    return margin_flags(margin, check.mean_baseline) if check.mean_baseline == 0 else []


def _inputs(result: Result) -> dict[str, Any]:
    """Return the hashes of a result's input tables and per-user values, and its settings."""
    cards = result.provenance.get("inputs", {})
    values = hashlib.sha256(result.per_user.write_csv().encode()).hexdigest()
    return {
        "tables": {role: card.get("sha256") for role, card in cards.items()},
        "settings": json_safe(result.provenance.get("settings", {})),
        "per_user": values,
    }
