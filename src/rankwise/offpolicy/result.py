"""The result of an off-policy evaluation: values, paired differences, diagnostics and exports."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from rankwise.core.hashing import digest_of_values
from rankwise.core.saved_forms import OFF_POLICY
from rankwise.core.terminal import (
    Detail,
    TableView,
    brief,
    format_number,
    json_safe,
    level_text,
    percent,
    signed,
)
from rankwise.errors import MissingValueError, ParameterError
from rankwise.findings.columns import rows_of
from rankwise.findings.sentences import pair_sentence
from rankwise.findings.tables import ResultTable, columns_for_readers, finding_view
from rankwise.findings.words import level_of, limits_text, pair_name
from rankwise.messages import call
from rankwise.offpolicy.exposures import CHECK
from rankwise.offpolicy.finding import LogFinding
from rankwise.offpolicy.intervals import METHOD
from rankwise.offpolicy.support import SUPPORTS
from rankwise.results.methods import logged_plots
from rankwise.stats.differences import Interval, check_above_zero

LOGGED = "logged"
"""The name of the logging policy in results."""
NO_GROUP = "–"
"""The name of the group of rows without a value."""


@dataclass(frozen=True, eq=False, repr=False)
class OffPolicy(ResultTable):
    """The result of `rankwise.off_policy`: values of policies, and how well the log supports them.

    ``result["new"]`` is the value of a target: NaN where its support is none.

    Attributes
    ----------
    table : polars.DataFrame
        One row per policy: ``value`` per request with its interval ``low`` to ``high``, the
        ``support`` (observed, sound, weak, none) with its ``reasons``, ``n`` requests, ``users``,
        and the diagnostics: effective users, with a reward, users with weight, largest share and
        weight, mean weight with its error and z, share of unused requests, effective requests,
        perplexity, Pareto k, mass without support, and item calibration. With ``by`` also ``by``
        and ``group``.
    differences : polars.DataFrame
        One row per pair and group, with the columns of a comparison: both means, the paired
        ``difference`` with the interval of the test and the level of its verdict (``confidence``),
        and that of the pair alone (``low_alone`` to ``high_alone``); ``p`` and ``p_adjusted``; with
        a ``margin``, ``p_non_inferior`` (of a loss of the margin or more) and ``p_equivalence``,
        also adjusted; the ``verdict`` (better, worse, equivalent, not worse, not shown, not
        checked) and ``why`` it was not checked; the ``minimum_detectable`` difference (power 0.8),
        ``users``, whether it is ``primary``, the support of both policies, ``flips_at`` (the
        largest clip of the weights at which the sign turns) and ``flags``.
    sensitivity : polars.DataFrame
        One row per policy, ``method`` (ips, clip, switch, shrink, dm, standard) and ``parameter``:
        the ``value`` by estimators whose bias is unknown, and its ``difference`` from the printed
        one. They have no interval.
    positions : polars.DataFrame
        One row per policy and position: its part of the value, and the effective users.
    per_user : polars.DataFrame
        One row per user: ``requests``, ``reward``, and for each policy the weighted reward (NaN
        without support) and the weight.
    counts : dict
        What was joined, and what was not.
    sources : dict
        The cards of the exposures, the outcomes and the tables of policies: columns, and hashes of
        files.
    settings : dict
        All options, with the estimator and the range of rewards.
    """

    table: pl.DataFrame
    differences: pl.DataFrame
    sensitivity: pl.DataFrame
    positions: pl.DataFrame
    per_user: pl.DataFrame
    counts: dict[str, int]
    sources: dict[str, Any]
    settings: dict[str, Any]
    form = OFF_POLICY

    def row(self, policy: str, group: Any = None) -> dict[str, Any]:
        """Return the row of a policy: of all requests, or of one group."""
        rows = self.table.filter(pl.col("policy") == policy)
        if "group" in rows.columns:
            rows = rows.filter(
                pl.col("group").is_null() if group is None else pl.col("group") == str(group)
            )
        if len(rows) != 1:
            raise MissingValueError(
                f"there is no single row of the policy {policy!r}",
                found=f"policies {', '.join(self.table['policy'].unique(maintain_order=True))}",
                hint="filter the table: result.table",
            )
        return rows.row(0, named=True)

    def __getitem__(self, policy: str) -> float:
        """Return the value of a policy; NaN where its support is none."""
        return float(self.row(policy)["value"])

    def interval(self, policy: str, group: Any = None) -> Interval:
        """Return the printed interval of a policy's value.

        Parameters
        ----------
        policy : str
            The name of a target, or ``"logged"``.
        group : str, optional
            With ``by``: the group of requests; by default all of them.
        """
        row, confidence = self.row(policy, group), 1 - self.settings["alpha"]
        return Interval(
            row["value"],
            row["low"],
            row["high"],
            confidence,
            METHOD,
            row["users"],
            tuple(row["reasons"]),
        )

    def requests_needed(self, policy: str, *, difference: float) -> int:
        """Return the number of requests that would show a difference from the baseline.

        Parameters
        ----------
        policy : str
            The name of a target.
        difference : float
            The true difference, above 0, to be found with probability 0.8.
        """
        check_above_zero("difference", difference)
        row = self.row(policy)
        pairs = self.differences.filter(pl.col("primary") & (pl.col("system") == policy))
        if pairs.is_empty() or math.isnan(pairs["minimum_detectable"][0]):
            raise ParameterError(
                "there is no difference from the baseline for this policy", found=repr(policy)
            )
        ratio = pairs["minimum_detectable"][0] / difference
        requests: int = math.ceil(row["n"] * ratio**2)
        return requests

    plot = cached_property(logged_plots)

    @property
    def per(self) -> str:
        """The unit of a reward: a request if requests have several rows, else a row."""
        return "request" if self.settings["slates"] else "row"

    @property
    def primary(self) -> pl.DataFrame:
        """The differences of all requests from the baseline."""
        return of_all_requests(self.differences).filter(pl.col("primary"))

    @cached_property
    def sentences(self) -> list[str]:
        """The verdict on each target against the baseline, as one sentence each."""
        return [_sentence(self, row) for row in self.primary.iter_rows(named=True)]

    @property
    def verdict(self) -> str:
        """The verdict on the first target against the baseline, as a sentence."""
        return self.sentences[0]

    @property
    def doubts(self) -> list[str]:
        """Checks to make before a verdict is believed, one line each, starting with ``check:``."""
        return doubts_of(self.counts)

    @property
    def notes(self) -> list[str]:
        """Notes on the estimation, reasons of weak support, caveats, and counts."""
        return _notes(self)

    @property
    def policies(self) -> list[str]:
        """The names of the policies, the logging policy first."""
        return self.table["policy"].unique(maintain_order=True).to_list()

    @property
    def inputs(self) -> dict[str, Any]:
        """The hashes of the input tables and of the users' values, and the settings."""
        values = digest_of_values(self.per_user)
        tables = {role: card.get("sha256") for role, card in self.sources.items()}
        return {"tables": tables, "settings": json_safe(self.settings), "per_user": values}

    def findings(self, baseline: str, system: str) -> list[LogFinding]:
        """Return the findings of a pair of policies: all requests first, then each group."""
        chosen = self.differences.filter(pl.col("system") == system, pl.col("baseline") == baseline)
        if chosen.is_empty():
            raise ParameterError(
                f"{system} was not compared with {baseline}",
                hint=call("off_policy", baseline=baseline),
            )
        return rows_of(chosen, LogFinding)

    @property
    def _lead(self) -> TableView:
        """The checks to make, and the sentences."""
        return TableView((), (), caption="\n".join([*self.doubts, *self.sentences]))

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the values and differences, or every column."""
        values = replace(_value_view(self.table), caption=self._lead.caption)
        return [values, _difference_view(self, full=detail == "full")]


def is_off_policy(path: Path) -> bool:
    """Return whether a path is a folder that `OffPolicy.save` wrote."""
    try:
        return OFF_POLICY.key in json.loads((path / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _value_view(table: pl.DataFrame) -> TableView:
    head = (
        "",
        "value",
        "interval",
        "support",
        "effective users",
        "with reward",
        "largest share",
        "mean weight",
    )
    return TableView(head, [_value_cells(row) for row in table.iter_rows(named=True)], left=(0,))


def _value_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    z = row["mean_weight_z"]
    observed = row["support"] == "observed"
    mean = (
        "1"
        if observed
        else f"{row['mean_weight']:.3f}" + ("" if math.isnan(z) else f" (z {signed(z, 1)})")
    )
    return (
        f"{row['policy']}{_group(row)}",
        format_number(row["value"]),
        limits_text(row["low"], row["high"], format_number),
        row["support"],
        f"{row['effective_users']:,.0f}",
        f"{row['effective_rewarded']:,.0f}",
        "–" if math.isnan(row["largest_share"]) else f"{percent(row['largest_share'], 2)}",
        mean,
    )


def of_all_requests(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a table that are of no group."""
    return table.filter(pl.col("group").is_null()) if "group" in table.columns else table


def worth(row: Mapping[str, Any]) -> int:
    """Rank the support of a policy, given its row of the table, from 0 (none) to 3 (observed)."""
    return SUPPORTS.index(row["support"])


def _group(row: Mapping[str, Any]) -> str:
    """Return the row's group in brackets; an empty text for all requests."""
    return "" if row.get("group") is None else f" [{row['by']}={row['group']}]"


def _difference_view(result: OffPolicy, *, full: bool) -> TableView:
    """Return one row per pair and group, with the columns that a log fills, or the main ones."""
    # The table of values above has the support that a verdict lacks.
    rows = [row | {"why": ""} for row in result.differences.to_dicts()]
    level = level_of(rows)
    several = len(rows) > 1 and result.settings["correction"] != "none"
    return finding_view(
        rows,
        _COLUMNS,
        name=lambda row: f"{pair_name(row)}{_group(row)}",
        heads={
            "interval": "interval" if math.isnan(level) else f"{level_text(level)} interval",
            "p": "p adjusted" if several else "p",
            "verdict": "",
        },
        level=level,
        hidden=() if full else ("test", "p alone"),
        may_leave=not full,
        notes=_notes(result),
    )


_COLUMNS = columns_for_readers(LogFinding)


def _sentence(result: OffPolicy, row: Mapping[str, Any]) -> str:
    """Return the verdict on a pair as a sentence; support comes first."""
    target = min((result.row(name) for name in (row["system"], row["baseline"])), key=worth)
    if target["support"] == "none":
        return (
            f"The log cannot say what {target['policy']} would have earned: {target['reasons'][0]}."
        )
    if target["support"] == "weak":
        means = f"{brief(row['mean_system'])} against {brief(row['mean_baseline'])}"
        return (
            f"No verdict on {target['policy']}, which the log supports weakly "
            f"({target['reasons'][0]}): {means} per {result.per}."
        )
    several = len(result.primary) > 1 and result.settings["correction"] != "none"
    return pair_sentence(
        row,
        per=f" per {result.per}",
        p_name="adjusted p" if several else "p",
        alpha=result.settings["alpha"],
    )


_ESTIMATORS = {
    "snips": "self-normalised",
    "sndr": "doubly robust, self-normalised",
    "ips": "inverse propensity scoring",
    "beta_ips": "inverse propensity scoring with a control variate",
    "dr": "doubly robust",
}


def _notes(result: OffPolicy) -> list[str]:
    """Return notes on the estimation, reasons of weak support, caveats and counts."""
    settings = result.settings
    logged = result.table.row(0, named=True)
    low, high = settings["reward_range"]
    per = "request" if settings["slates"] else "row"
    taken = " (taken from the log)" if settings["range_from_log"] else ""
    slates = f", {settings['slates']} by position" if settings["slates"] else ""
    notes = [
        (
            f"{logged['n']:,} requests of {logged['users']:,} users; reward "
            f"{format_number(logged['value'])} per {per}, "
            f"from {low:g} to {high:g}{taken}. Values: "
            f"{_ESTIMATORS[settings['estimator']]}{slates}. "
            f"Intervals: {level_text(1 - settings['alpha'])}, clustered by user; they allow for "
            "one unobserved request of the largest weight."
        )
    ]
    notes += [
        f"{row['policy']}{_group(row)}: support is {row['support']}: {'; '.join(row['reasons'])}"
        for row in result.table.iter_rows(named=True)
        if row["reasons"]
    ]
    for row in result.differences.iter_rows(named=True):
        notes += [
            f"{row['system']} − {row['baseline']}{_group(row)}: {flag}" for flag in row["flags"]
        ]
    return notes + notes_of(result.counts)


def doubts_of(counts: Mapping[str, int]) -> list[str]:
    """Return the counts that put a result in doubt, as lines that start with ``check:``."""
    return [f"{name}: {count:,}." for name, count in counts.items() if name.startswith(CHECK)]


def notes_of(counts: Mapping[str, int]) -> list[str]:
    """Return the counts that are not checks, one line each."""
    return [f"{name}: {count:,}" for name, count in counts.items() if not name.startswith(CHECK)]
