"""Tests of interleaving experiments, with users as sampling units, and a check of the draft."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice, check_number
from rankwise.core.saved_forms import INTERLEAVING
from rankwise.core.terminal import Detail, TableView, level_text, percent
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.findings.columns import table_of
from rankwise.findings.conclude import Family, conclude
from rankwise.findings.finding import EffectSizes, Finding, Limits, Means, TestOutcome
from rankwise.findings.sentences import pair_sentence
from rankwise.findings.tables import ResultTable, columns_for_readers, finding_view
from rankwise.findings.words import level_of, p_value
from rankwise.interleave.events import SHOWN, open_files, read_events
from rankwise.messages import mention, parameter
from rankwise.offpolicy.exposures import (
    OnMissing,
    check_outcomes,
    read_log,
    read_outcomes,
    read_rows,
)
from rankwise.offpolicy.result import doubts_of, notes_of
from rankwise.stats.differences import DIGITS, MANY, Floats, check_level, paired_differences
from rankwise.stats.equivalence import users_needed
from rankwise.stats.intervals import sign_flip_interval
from rankwise.stats.many_systems import adjust, max_t
from rankwise.stats.paired_tests import paired_t, sign_flip, t_interval
from rankwise.tables.columns import Columns, check_columns, missing_column_error, where_in
from rankwise.tables.memory import from_mapping_of_columns
from rankwise.tables.table import Table
from rankwise.tables.values import as_numbers

Credits: TypeAlias = Literal["sum", "winner"]
_CHECKED = 3


@dataclass(frozen=True)
class Credit:
    """The share of all credit of both teams, and the users who would show a difference so large."""

    share: float = math.nan
    users_to_find: int | None = None


@dataclass(frozen=True, kw_only=True)
class TeamFinding(Finding):
    """A finding of an interleaving experiment: the difference in credit of two teams."""

    credit: Credit = Credit()


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving(ResultTable):
    """The result of `rankwise.interleaving`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per pair of teams, with the columns of a comparison: the mean credit per user of
        ``system`` and of ``baseline``, their ``difference`` with its interval, ``p`` and
        ``p_adjusted`` (max-T over pairs), ``verdict`` (not checked if the draft was not fair),
        ``wins``, ``ties`` and ``losses`` of users; and the ``share`` of all credit (a description)
        with ``users_to_find``, the users who show a difference of this size with power 0.8.
    draft : polars.DataFrame
        The check of the draft: for each odd position, how often the first team was there, and the
        p-value (Holm).
    per_user : polars.DataFrame
        ``user``, ``requests`` and the credit of each team.
    counts : dict
        What was joined, and what was left out.
    settings : dict
        The options, the teams, the test, and the rewards of actions or kinds where they have some.
    """

    table: pl.DataFrame
    draft: pl.DataFrame
    per_user: pl.DataFrame
    counts: dict[str, int]
    settings: dict[str, Any]
    form = INTERLEAVING

    @property
    def sentences(self) -> list[str]:
        """The verdict on each pair of teams, as one sentence each."""
        several = len(self.table) > 1
        return [
            pair_sentence(
                row,
                per=" per user",
                p_name="p (max-T)" if several else "p",
                alpha=self.settings["alpha"],
            )
            for row in self.table.iter_rows(named=True)
        ]

    @property
    def _lead(self) -> TableView:
        """The checks to make, and the sentences."""
        return TableView((), (), caption="\n".join([*doubts_of(self.counts), *self.sentences]))

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the table of pairs, or every column."""
        rows = self.table.to_dicts()
        level = level_of(rows)
        view = finding_view(
            rows,
            columns_for_readers(TeamFinding),
            heads={
                "interval": "interval" if math.isnan(level) else f"{level_text(level)} interval",
                "p": "p (max-T)" if len(rows) > 1 else "p",
                "verdict": "",
            },
            level=level,
            hidden=() if detail == "full" else ("test", "p alone", "d_z", "users"),
            may_leave=detail != "full",
            notes=self._notes(),
        )
        return [replace(view, caption=self._lead.caption)]

    def _notes(self) -> list[str]:
        users = len(self.per_user)
        requests, credit = int(self.per_user["requests"].sum()), self.settings["credit"]
        head = (
            f"{requests:,} requests of {users:,} users. Credit: {credit}. Test: "
            f"{self.settings['test']} over users."
        )
        levels = dict.fromkeys(level_text(level) for level in self.table["confidence"])
        notes = [f"{head} Intervals: {' and '.join(levels)}."]
        notes += [
            _credit_note(row)
            for row in self.table.iter_rows(named=True)
            if row["users_to_find"] is not None
        ]
        notes += [
            f"position {row['position']}: {row['team']} was there in {percent(row['share'], 1)} of "
            f"{row['rows']:,} requests "
            f"(p = {p_value(row['p_adjusted'])}): the draft was not fair"
            for row in self.draft.filter(~pl.col("fair")).iter_rows(named=True)
        ]
        return notes + notes_of(self.counts)


def _credit_note(row: Mapping[str, Any]) -> str:
    """Return the share of all credit, where it is one, and the users that find the difference."""
    found = f"difference of this size is found with {row['users_to_find']:,} users"
    if math.isnan(row["share"]):
        return f"{row['system']} − {row['baseline']}: a {found}"
    return f"{row['system']} has {percent(row['share'], 1)} of the credit of both; a {found}"


def interleaving(
    exposures: Any,
    outcomes: Any = None,
    *,
    teams: Sequence[str] | None = None,
    credit: Credits = "sum",
    shown: str = SHOWN,
    reward: Mapping[str, float] | None = None,
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
        in columns such as ``credit_a`` and ``credit_b``; or the click events of a search engine,
        as User Behavior Insights (UBI, ubisearch.dev, schema 1.3) has them.
    outcomes : table or path, optional
        One row per outcome, as for `rankwise.off_policy`; click events have them already.
    teams : sequence of str, optional
        The names of the teams, in the order of the pairs; by default sorted.
    credit : {"sum", "winner"}, default="sum"
        The credit of a request: the rewards on the items of each team, or 1 for the team with more.
    shown : str, default="impression"
        The action of a shown item in a table of click events.
    reward : mapping of str to float, optional
        The reward of each action or kind of outcome, ``{"click": 1, "add_to_cart": 5}``. Click
        events have ``{"click": 1}`` by default.
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
        If there are neither teams nor credits, or fewer than two teams; or if events lack an
        action, a query, an item or a team.

    Notes
    -----
    A table with a column ``action_name`` holds click events, one row per event. Read are, nested
    or as flat columns, ``query_id`` (the request), ``client_id`` (the user), ``timestamp``,
    ``event_attributes.object.object_id`` (the item), ``event_attributes.position.ordinal`` and
    ``event_attributes.object.search_config`` (the team).

    Examples
    --------
    >>> import rankwise as rw
    >>> credits = {"user": range(40), "credit_a": [1] * 30 + [0] * 10, "credit_b": [0] * 30 + [1] * 10}
    >>> rw.interleaving(credits).table.select("system", "wins", "losses", "verdict").row(0)
    ('A', 30, 10, 'better')
    """
    check_level("alpha", alpha)
    check_choice("credit", credit, Credits)
    check_columns(columns, ["exposures", "outcomes"])
    _check_rewards(shown, reward)
    exposures = open_files(exposures)
    events = None if outcomes is not None else read_events(exposures, shown, reward, columns)
    if events is not None:
        exposures, outcomes, reward = events.exposures, events.outcomes, events.reward
    elif shown != SHOWN or (outcomes is None and reward is not None):
        raise ParameterError(
            "there are no click events" if shown != SHOWN else "there are no outcomes",
            found=parameter("shown", shown) if shown != SHOWN else parameter("reward"),
            hint="pass a table of events with a column action_name, or leave it out",
        )
    results = read_outcomes(outcomes, columns, reward)
    requests, names, draft, counts = _credits(exposures, results, columns, window, missing, teams)
    counts = {**({} if events is None else events.counts), **counts}
    if credit == "winner":
        requests = _credit_winners(requests, names)
    sums = requests.group_by("user").agg(
        pl.len().alias("requests"), *(_total(pl.col(name)) for name in names)
    )
    per_user = sums.sort("user")
    fair = bool(draft["fair"].all())
    findings = _findings(per_user, names, alpha, fair=fair)
    test = findings[0].test.test
    settings: dict[str, Any] = {
        "teams": list(names),
        "credit": credit,
        "alpha": alpha,
        "test": test,
    }
    settings |= {} if reward is None else {"reward": dict(reward)}
    return Interleaving(table_of(findings, TeamFinding), draft, per_user, counts, settings)


def _credit_winners(requests: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return requests with the credit 1 for the team with the most, if it is one alone, else 0."""
    # Three rewards of 0.1 are as much as one of 0.3, which sums of floats would not say.
    least = pl.max_horizontal(names) - DIGITS * pl.max_horizontal(pl.col(*names).abs())
    is_best = [pl.col(name) >= least for name in names]
    is_alone = pl.sum_horizontal(best.cast(pl.Int64) for best in is_best) == 1
    return requests.with_columns((best & is_alone).cast(pl.Float64) for best in is_best)


def _total(values: pl.Expr) -> pl.Expr:
    """Return the sum, the same to the bit in whatever order the rows are."""
    return values.sort().sum()


def _check_rewards(shown: str, reward: Mapping[str, float] | None) -> None:
    """Raise unless the shown action is a name, and rewards are numbers by action."""
    if not isinstance(shown, str):
        raise ParameterError("shown is the name of one action", found=parameter("shown", shown))
    if reward is None:
        return
    if not isinstance(reward, Mapping):
        raise ParameterError(
            "reward has a number for each action or kind of outcome",
            found=parameter("reward", reward),
            hint=f"write {parameter('reward', {'click': 1})}",
        )
    for value in reward.values():
        check_number("reward", value, optional=False)


def _credits(
    exposures: Any,
    results: Table | None,
    columns: Columns | None,
    window: Any,
    missing: OnMissing,
    teams: Sequence[str] | None,
) -> tuple[pl.DataFrame, list[str], pl.DataFrame, dict[str, int]]:
    """Return the credit of each team by request, the teams, the check of the draft, and counts."""
    direct = _credit_columns(exposures)
    if direct is not None:
        _refuse_beside_credits(results, window)
        found = [name for name in direct.columns if name != "user"]
        names = _team_names(teams, found)
        if absent := [name for name in names if name not in found]:
            raise ParameterError(
                "a team has no column of credits",
                found=", ".join(map(repr, absent)),
                hint=f"the teams are {', '.join(map(repr, found))}",
            )
        return direct, names, _draft_check(None, []), {}
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
            _team_names(teams, ["A", "B"]),
            _draft_check(None, []),
            {name: count for name, count in counts.items() if count},
        )
    frame = frame.with_columns(pl.col("team").cast(pl.String))
    names = _team_names(teams, frame["team"].drop_nulls().unique().to_list())
    draft = _draft_check(frame, names)
    counts = {} if results is None else check_outcomes(results, log.outcomes, missing)
    counts |= log.counts
    if "differs" in frame.columns:
        same = frame.filter(~pl.col("differs"))["request"].n_unique()
        counts["requests for which all rankers had the same list, left out"] = same
        frame = frame.filter("differs")
    if frame.is_empty():
        raise InputError("all rankers had the same lists", where=log.table.source)
    of_nobody = frame.filter(pl.col("team").is_null() & (pl.col("reward") != 0))
    counts["rewarded items of no team, which credit nobody"] = len(of_nobody)
    credit = [_total(pl.col("reward").filter(pl.col("team") == name)).alias(name) for name in names]
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
    sums = [_total(pl.col("reward") * value).alias(name) for name, value in earned.items()]
    return frame.group_by("user", "request", maintain_order=True).agg(*sums)


def _team_names(teams: Sequence[str] | None, found: Sequence[str]) -> list[str]:
    """Return the teams in the order of the pairs, sorted if no order is asked for."""
    names = sorted(found) if teams is None else list(teams)
    unknown = [name for name in found if name not in names]
    if len(names) < 2 or unknown:
        raise ParameterError(
            "an experiment has two teams or more, all of them named",
            found=", ".join([*names, *unknown]),
        )
    return names


def _refuse_beside_credits(results: Table | None, window: Any) -> None:
    """Raise if outcomes, or a time within which they count, come with credits."""
    for name, value in (("outcomes", results), ("window", window)):
        if value is not None:
            raise ParameterError(
                f"{mention(name)} cannot be used here: each request has its credits already",
                hint=f"leave {mention(name)} out, or pass one row per item shown, with its team",
            )


def _credit_columns(exposures: Any) -> pl.DataFrame | None:
    """Return a table of each request's user and credits of the teams; None if the source is none."""
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
    values = pl.DataFrame(
        as_numbers(table.frame[name], where_in(table, name)).cast(pl.Float64).alias(team)
        for name, team in zip(found, names, strict=True)
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
    for name, team in zip(found, names, strict=True):
        if values[team].is_infinite().any():
            raise InputError("a credit is infinite", where=where_in(table, name))
    user = (
        table.frame["user"]
        if "user" in table.frame.columns
        else pl.Series("user", range(len(values)))
    )
    return values.insert_column(0, user.alias("user"))


def _findings(
    per_user: pl.DataFrame, names: Sequence[str], alpha: float, *, fair: bool
) -> list[TeamFinding]:
    """Return one finding per pair of teams, tested together by the largest t."""
    pairs = list(combinations(names, 2))
    gaps = [_gap(per_user, pair) for pair in pairs]
    tested = [_test_pair(per_user, pair, gap, alpha) for pair, gap in zip(pairs, gaps, strict=True)]
    p = [finding.test.p for finding in tested]
    joint = p if len(p) == 1 or np.isnan(p).any() else max_t(np.column_stack(gaps)).tolist()
    findings = [
        replace(
            finding,
            test=replace(finding.test, p_adjusted=adjusted),
            why="" if fair else "the draft was not fair",
        )
        for finding, adjusted in zip(tested, joint, strict=True)
    ]
    return conclude(findings, Family(method="holm", alpha=alpha, is_joint=True))


def _gap(per_user: pl.DataFrame, pair: tuple[str, str]) -> Floats:
    """Return the credit of one team minus that of the other, by user."""
    one, other = (per_user[name].cast(pl.Float64).to_numpy() for name in pair)
    return paired_differences(one, other)


def _test_pair(
    per_user: pl.DataFrame, pair: tuple[str, str], gap: Floats, alpha: float
) -> TeamFinding:
    """Return the test of one pair of teams over users."""
    one, other = pair
    large = len(gap) >= MANY
    test = paired_t(gap) if large else sign_flip(gap)
    interval_of = t_interval if large else sign_flip_interval

    def limits_of(level: float) -> Limits:
        interval = interval_of(gap, confidence=1 - level)
        return Limits(interval.low, interval.high)

    alone = limits_of(alpha)
    mean, before = float(gap.mean()), float(per_user[other].mean())  # type: ignore[arg-type]
    deviation = float(gap.std(ddof=1)) if len(gap) > 1 else math.nan
    effect = abs(mean) / deviation if deviation > 0 else 0.0
    total = float(per_user[one].sum()) + float(per_user[other].sum())
    has_shares = total > 0 and not (per_user.select(one, other) < 0).to_numpy().any()
    return TeamFinding(
        metric="credit",
        baseline=other,
        system=one,
        higher_is_better=True,
        primary=True,
        means=Means(
            before,
            float(per_user[one].mean()),  # type: ignore[arg-type]
            mean,
            low=alone.low,
            high=alone.high,
            confidence=1 - alpha,
            low_alone=alone.low,
            high_alone=alone.high,
            lift=mean / abs(before) if before else math.nan,
        ),
        test=TestOutcome("paired t" if large else "sign flips", test.p),
        effect=EffectSizes(
            mean / deviation if deviation > 0 else math.nan,
            wins=int((gap > 0).sum()),
            ties=int((gap == 0).sum()),
            losses=int((gap < 0).sum()),
            users=len(gap),
        ),
        credit=Credit(
            float(per_user[one].sum()) / total if has_shares else math.nan,
            users_needed(effect, alpha=alpha) if effect > 1e-3 else None,
        ),
        std_error=deviation / math.sqrt(len(gap)),
        limits_of=limits_of,
    )


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
