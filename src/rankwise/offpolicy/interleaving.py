"""Tests of interleaving experiments, with users as sampling units, and a check of the draft."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice
from rankwise.core.saved_forms import INTERLEAVING
from rankwise.core.terminal import TableView, level_text
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.findings.words import p_value
from rankwise.offpolicy.exposures import (
    OnMissing,
    check_outcomes,
    read_log,
    read_outcomes,
    read_rows,
)
from rankwise.offpolicy.result import SavedTables, doubts_of, limits_text, notes_of, signed
from rankwise.stats.differences import MANY, check_level
from rankwise.stats.equivalence import users_needed
from rankwise.stats.intervals import sign_flip_interval
from rankwise.stats.many_systems import adjust, max_t
from rankwise.stats.paired_tests import paired_t, sign_flip, t_interval
from rankwise.tables.columns import Columns, check_columns, missing_column_error
from rankwise.tables.memory import from_mapping_of_columns
from rankwise.tables.table import Table

Credits: TypeAlias = Literal["sum", "winner"]
_CHECKED = 3


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving(SavedTables):
    """The result of `rankwise.interleaving`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per pair of teams: the mean ``difference`` of credit per user (``team`` minus
        ``other``) with its interval ``low`` to ``high``, ``p`` and ``p_adjusted`` (max-T over
        pairs), ``verdict``, ``wins``, ``ties`` and ``losses`` of users, the ``share`` of all credit
        (a description), and ``users_needed`` to find this difference.
    draft : polars.DataFrame
        The check of the draft: for each odd position, how often the first team was there, and the
        p-value (Holm).
    per_user : polars.DataFrame
        ``user``, ``requests`` and the credit of each team.
    counts : dict
        What was joined, and what was left out.
    settings : dict
        The options, the teams and the test.
    """

    table: pl.DataFrame
    draft: pl.DataFrame
    per_user: pl.DataFrame
    counts: dict[str, int]
    settings: dict[str, Any]
    form = INTERLEAVING

    @property
    def views(self) -> list[TableView]:
        """The table for readers, with notes."""
        head = ("", "difference per user", "interval", "p", "wins, ties, losses", "verdict")
        rows = [
            (
                f"{row['team']} − {row['other']}",
                signed(row["difference"]),
                limits_text(row["low"], row["high"]),
                p_value(row["p_adjusted"]),
                f"{row['wins']:,}, {row['ties']:,}, {row['losses']:,}",
                row["verdict"],
            )
            for row in self.table.iter_rows(named=True)
        ]
        return [
            TableView(
                head, rows, self._notes(), left=(0, 5), caption="\n".join(doubts_of(self.counts))
            )
        ]

    def _notes(self) -> list[str]:
        users = len(self.per_user)
        requests, credit = int(self.per_user["requests"].sum()), self.settings["credit"]
        head = (
            f"{requests:,} requests of {users:,} users. Credit: {credit}. Test: "
            f"{self.settings['test']} over users."
        )
        notes = [f"{head} Intervals: {level_text(1 - self.settings['alpha'])}."]
        notes += [
            f"{row['team']} has {row['share']:.1%} of the credit of both; a difference of this "
            "size is found with "
            f"{row['users_needed']:,} users"
            for row in self.table.iter_rows(named=True)
            if row["users_needed"] is not None
        ]
        notes += [
            f"position {row['position']}: {row['team']} was there in {row['share']:.1%} of "
            f"{row['rows']:,} requests "
            f"(p = {p_value(row['p_adjusted'])}): the draft was not fair"
            for row in self.draft.filter(~pl.col("fair")).iter_rows(named=True)
        ]
        return notes + notes_of(self.counts)


def interleaving(
    exposures: Any,
    outcomes: Any = None,
    *,
    teams: Sequence[str] | None = None,
    credit: Credits = "sum",
    alpha: float = 0.05,
    window: Any = None,
    missing: OnMissing = "error",
    columns: Columns | None = None,
) -> Interleaving:
    """Test which ranker users of an interleaving experiment prefer, with users as sampling units.

    Parameters
    ----------
    exposures : table or path
        One row per item that was shown, with its ``team``, request, user and position, as
        `rankwise.interleave` drafts them, or with the ``credit`` of a click, as
        `rankwise.interleave.optimised` does; or one row per request, with the credit of each team
        in columns such as ``credit_a`` and ``credit_b``.
    outcomes : table or path, optional
        One row per outcome, as for `rankwise.off_policy`.
    teams : sequence of str, optional
        The names of the teams, in the order of the pairs; by default sorted.
    credit : {"sum", "winner"}, default="sum"
        The credit of a request: the rewards on the items of each team, or 1 for the team with more.
    alpha : float, default=0.05
        The significance level.
    window : str or timedelta, optional
        For outcomes without a request: how long after an exposure they count. By default one day.
    missing : {"error", "drop", "logged"}, default="error"
        What to do if over 1 % of the outcomes belong to no exposure; the last two leave them out.
    columns : mapping of str to str or None, optional
        Names of columns that are not recognised: ``{"exposures.team": "ranker"}``.

    Returns
    -------
    Interleaving

    Raises
    ------
    InputError
        If there are neither teams nor credits, or fewer than two teams.

    Examples
    --------
    >>> import rankwise as rw
    >>> credits = {"user": range(40), "credit_a": [1] * 30 + [0] * 10, "credit_b": [0] * 30 + [1] * 10}
    >>> rw.interleaving(credits).table.select("wins", "losses", "verdict").row(0)
    (30, 10, 'A is preferred')
    """
    check_level("alpha", alpha)
    check_choice("credit", credit, Credits)
    check_columns(columns, ["exposures", "outcomes"])
    requests, names, draft, counts = _credits(exposures, outcomes, columns, window, missing, teams)
    if credit == "winner":
        best = pl.max_horizontal(names)
        alone = pl.sum_horizontal(*((pl.col(name) == best).cast(pl.Int64) for name in names)) == 1
        requests = requests.with_columns(
            *(((pl.col(name) == best) & alone).cast(pl.Float64) for name in names)
        )
    sums = requests.group_by("user").agg(
        pl.len().alias("requests"), *(pl.col(name).sort().sum() for name in names)
    )
    per_user = sums.sort("user")
    fair = bool(draft["fair"].all())
    table, test = _pairs(per_user, names, alpha, fair)
    settings = {"teams": list(names), "credit": credit, "alpha": alpha, "test": test}
    return Interleaving(table, draft, per_user, counts, settings)


def _credits(
    exposures: Any,
    outcomes: Any,
    columns: Columns | None,
    window: Any,
    missing: OnMissing,
    teams: Sequence[str] | None,
) -> tuple[pl.DataFrame, list[str], pl.DataFrame, dict[str, int]]:
    """Return the credit of each team by request, the teams, the check of the draft, and counts."""
    direct = _credit_columns(exposures)
    if direct is not None:
        return (*direct, _draft_check(None, []), {})
    results = read_outcomes(outcomes, columns, None)
    log = read_log(exposures, results, columns, window=window)
    frame = log.frame
    numbers = {"request": pl.Series(log.request)} | (
        {} if "user" in frame.columns else {"user": pl.Series(log.user)}
    )
    frame = frame.with_columns(**numbers)
    if "team" not in frame.columns:
        requests = _credits_of_clicks(frame, log.table)
        counts = (
            {} if results is None else check_outcomes(results, log.outcomes, missing)
        ) | log.counts
        return (
            requests,
            ["A", "B"],
            _draft_check(None, []),
            {name: count for name, count in counts.items() if count},
        )
    frame = frame.with_columns(pl.col("team").cast(pl.String))
    names = (
        list(teams) if teams is not None else frame["team"].drop_nulls().unique().sort().to_list()
    )
    unknown = set(frame["team"].drop_nulls().to_list()) - set(names)
    if len(names) < 2 or unknown:
        raise ParameterError(
            "an experiment has two teams or more, all of them named",
            found=", ".join([*names, *unknown]),
        )
    draft = _draft_check(frame, names)
    counts = {} if results is None else check_outcomes(results, log.outcomes, missing)
    counts |= log.counts
    if "differs" in frame.columns:
        same = frame.filter(~pl.col("differs"))["request"].n_unique()
        counts["requests for which all rankers had the same list, left out"] = same
        frame = frame.filter("differs")
    if frame.is_empty():
        raise InputError("all rankers had the same lists", where=log.table.source)
    credit = [pl.col("reward").filter(pl.col("team") == name).sum().alias(name) for name in names]
    requests = frame.group_by("user", "request", maintain_order=True).agg(*credit)
    return requests, names, draft, {name: count for name, count in counts.items() if count}


def _credits_of_clicks(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return the credit of A and B by request, from the click credits of optimised interleaving.

    Raises
    ------
    ColumnError
        If there is no such credit, as in a balanced draft.
    """
    if "credit" not in frame.columns:
        error = missing_column_error(
            "there is no column for the team, and none for credits", "exposures.team", table
        )
        if "first" not in frame.columns:
            raise error
        raise ColumnError(
            "a balanced draft has no teams, and a random click prefers one of two lists that "
            "differ by a shift",
            where=table.source,
            found=error.found,
            hint="draft with rankwise.interleave.team_draft, or optimised; of an old log count the "
            "clicks of both "
            "rankers yourself, in columns credit_a and credit_b",
        )
    credit = pl.col("credit").cast(pl.Float64)
    if frame["credit"].null_count() or not frame.select(credit.is_finite().all()).item():
        raise InputError(
            "a credit is missing",
            where=table.source,
            hint="each row of a draft has the credit of a click",
        )
    earned = {"A": credit.clip(lower_bound=0.0), "B": (-credit).clip(lower_bound=0.0)}
    sums = [(pl.col("reward") * value).sum().alias(name) for name, value in earned.items()]
    return frame.group_by("user", "request", maintain_order=True).agg(*sums)


def _credit_columns(exposures: Any) -> tuple[pl.DataFrame, list[str]] | None:
    """Return a table of credits per request with its teams; None if the source is none."""
    if isinstance(exposures, Mapping):
        exposures = from_mapping_of_columns(exposures, "exposures")
    table = read_rows(exposures, "exposures", {"item": None})
    prefix = "credit_"
    found = [name for name in table.frame.columns if name.lower().startswith(prefix)]
    if len(found) < 2:
        return None
    names = [
        name[len(prefix) :].upper() if len(name) == len(prefix) + 1 else name[len(prefix) :]
        for name in found
    ]
    values = table.frame.select(
        pl.col(name).cast(pl.Float64).alias(team) for name, team in zip(found, names, strict=True)
    )
    if (
        values.null_count().sum_horizontal()[0]
        or values.select(pl.any_horizontal(pl.all().is_nan().any())).item()
    ):
        raise InputError(
            "a credit is missing",
            where=table.source,
            hint="give each request a credit, 0 if there was none",
        )
    user = (
        table.frame["user"]
        if "user" in table.frame.columns
        else pl.Series("user", range(len(values)))
    )
    return values.insert_column(0, user.alias("user")), names


def _pairs(
    per_user: pl.DataFrame, names: Sequence[str], alpha: float, fair: bool
) -> tuple[pl.DataFrame, str]:
    """Return one row per pair of teams, and the name of the test."""
    pairs = list(combinations(names, 2))
    gaps = np.column_stack([(per_user[one] - per_user[other]).to_numpy() for one, other in pairs])
    large = len(per_user) >= MANY
    tests = [paired_t(gap) if large else sign_flip(gap) for gap in gaps.T]
    intervals = [
        (t_interval if large else sign_flip_interval)(gap, confidence=1 - alpha) for gap in gaps.T
    ]
    p = [test.p for test in tests]
    adjusted = p if len(p) == 1 or np.isnan(p).any() else max_t(gaps).tolist()
    rows = []
    for at, (one, other) in enumerate(pairs):
        gap, mean = gaps[:, at], float(gaps[:, at].mean())
        deviation = float(gap.std(ddof=1)) if len(gap) > 1 else math.nan
        effect = abs(mean) / deviation if deviation > 0 else 0.0
        total = float(per_user[one].sum()) + float(per_user[other].sum())
        row: dict[str, Any] = {
            "team": one,
            "other": other,
            "difference": mean,
            "low": intervals[at].low,
            "high": intervals[at].high,
        }
        row |= {"error": deviation / math.sqrt(len(gap)), "p": p[at], "p_adjusted": adjusted[at]}
        row |= {
            "wins": int((gap > 0).sum()),
            "ties": int((gap == 0).sum()),
            "losses": int((gap < 0).sum()),
        }
        row |= {
            "share": float(per_user[one].sum()) / total if total else math.nan,
            "users": len(gap),
        }
        row["users_needed"] = users_needed(effect, alpha=alpha) if effect > 1e-3 else None
        better = one if mean > 0 else other
        decided = f"{better} is preferred" if adjusted[at] < alpha else "not shown"
        row["verdict"] = decided if fair else "no verdict (the draft was not fair)"
        rows.append(row)
    table = pl.DataFrame(
        rows, schema_overrides={"users_needed": pl.Int64}, infer_schema_length=None
    )
    return table, "paired t" if large else "sign flips"


def _draft_check(frame: pl.DataFrame | None, names: Sequence[str]) -> pl.DataFrame:
    """Test the first team's share of the first odd positions against 1/2, as in a fair draft.

    Even positions of a draft of two are complements of odd ones, so that they say nothing more.
    """
    from scipy.stats import binomtest

    rows: list[dict[str, Any]] = []
    if frame is not None and "position" in frame.columns and len(names) == 2:
        drafted = frame.filter(pl.col("team").is_not_null())
        drafted = drafted.filter(pl.col("differs")) if "differs" in drafted.columns else drafted
        first: Any = drafted["position"].min()
        for at in range(_CHECKED):
            teams = drafted.filter(pl.col("position") == first + 2 * at)["team"]
            if len(teams):
                hits = int((teams == names[0]).sum())
                p = float(binomtest(hits, len(teams), 0.5).pvalue)
                rows.append(
                    {
                        "position": 2 * at + 1,
                        "team": names[0],
                        "rows": len(teams),
                        "share": hits / len(teams),
                        "p": p,
                    }
                )
    adjusted = adjust([row["p"] for row in rows], "holm").tolist() if rows else []
    for row, p in zip(rows, adjusted, strict=True):
        row |= {"p_adjusted": p, "fair": p >= 0.01}
    schema = {
        "position": pl.Int64,
        "team": pl.String,
        "rows": pl.Int64,
        "share": pl.Float64,
        "p": pl.Float64,
    }
    return pl.DataFrame(rows, schema={**schema, "p_adjusted": pl.Float64, "fair": pl.Boolean})
