"""`nulls`: how much of a system's value is personal, and whether a shortcut does as well."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.comparison.compare import compare
from rankwise.comparison.movers import positions
from rankwise.core.arguments import check_choice, check_count, check_positive
from rankwise.core.saved_forms import NULLS
from rankwise.core.terminal import (
    Detail,
    TableView,
    brief,
    count_of,
    level_text,
    percent,
    signed,
)
from rankwise.errors import MetricError, ParameterError
from rankwise.evaluation.evaluate import evaluate
from rankwise.findings.finding import OPPOSITE
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import limits_text, verdict_words
from rankwise.messages import parameter
from rankwise.models.recommenders import Baseline, Popularity, Random, Transitions
from rankwise.results.result import Result
from rankwise.stats.differences import Floats, check_level, t_quantile
from rankwise.tables.read import read_table
from rankwise.tables.table import Table
from rankwise.tables.times import Duration

Shortcut: TypeAlias = Literal["popularity", "recent", "transitions", "random"]
"""A baseline that a system has to beat."""
SWAP = "another user's list"
OWN = "one list for all, its own"
_OPTIONS = (
    *("relevance_threshold", "threshold", "columns", "duplicates", "population"),
    *("undefined", "without_list"),
)
_ALONE = "system"  # the name of a system without a name
_FEWEST = 30  # users with a pair, below which there is no share
_MANY = 300  # users from which a quarter that is personal is found in half of the samples
_PERSONAL = ("personal", "not shown to be personal", "no value changes")


@dataclass(frozen=True, eq=False, repr=False)
class Nulls(ResultTable):
    """The result of `rankwise.nulls`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per system and null: the ``value`` of the null, that ``of_system`` beside it, the
        ``difference`` (system minus null) with its interval, ``p`` (adjusted over the baselines),
        the ``verdict``, and the number of ``users``. Of another user's list the value of the system
        is on items that are new to both, the difference is what is *personal*, and ``share`` its
        share of the value with its interval.
    settings : dict
        The options, and notes.
    """

    table: pl.DataFrame
    settings: dict[str, Any]
    form = NULLS

    @property
    def sentences(self) -> list[str]:
        """How much of each system's value is personal, and which shortcut scores as much or more."""
        systems = self.table["system"].unique(maintain_order=True).to_list()
        return [
            self._sentence(self.table.filter(pl.col("system") == system).to_dicts())
            for system in systems
        ]

    @property
    def asides(self) -> list[str]:
        """The sentences, which say what a verdict between systems does not."""
        return self.sentences

    def _sentence(self, rows: Sequence[Mapping[str, Any]]) -> str:
        swap, *others = sorted(rows, key=lambda row: row["null"] != SWAP)
        text = _personal_text(swap, self.settings["metric"])
        above = [row for row in others if row["value"] > row["of_system"] and row["null"] != OWN]
        if above:
            best = max(above, key=lambda row: row["value"])
            text += (
                f", and {best['null']} scores more: {brief(best['value'])} against "
                f"{brief(best['of_system'])}"
            )
            if best["verdict"] != "worse":
                text += " (a difference that is not shown)"
        return f"{text}."

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the sentences with one table per system."""
        systems = self.table["system"].unique(maintain_order=True).to_list()
        tables = [self._view(system) for system in systems]
        last = tables[-1]
        notes = [*last.notes, *self.settings["notes"]]
        return [self._lead, *tables[:-1], TableView(**{**vars(last), "notes": notes})]

    def _view(self, system: str) -> TableView:
        rows = self.table.filter(pl.col("system") == system).to_dicts()
        swap = next(row for row in rows if row["null"] == SWAP)
        others = [row for row in rows if row["null"] != SWAP]
        level = level_text(self.settings["confidence"])
        corner = f"{self.settings['metric']}, {count_of(self.settings['users'], 'user')}"
        lines = [(system, brief(others[0]["of_system"]), "", "", "")] if others else []
        lines += [
            (
                row["null"],
                brief(row["value"]),
                signed(row["difference"]),
                limits_text(row["low"], row["high"], signed),
                verdict_words(row),
            )
            for row in others
        ]
        own = f"Another user's list, on items new to both: {brief(swap['value'])} where one's own"
        return TableView(
            (corner, "value", f"{system} − it", f"{level} interval", ""),
            lines,
            [f"{own} has {brief(swap['of_system'])}."],
            left=(0, 4),
            title=f"Nulls of {system}.",
            label="rankwise-nulls",
        )


def nulls(
    lists: Any,
    truth: Any,
    metric: str = "ndcg@10",
    *,
    train: Any = None,
    baselines: Sequence[Shortcut | str] = ("popularity", "recent", "random"),
    window: str = "30d",
    others: int = 20,
    confidence: float = 0.95,
    seed: int = 0,
    **options: Any,
) -> Nulls:
    """Tell how much of a system's value is personal, and whether a shortcut does as well.

    *Another user's list*: for a pair of users the items that either has seen are taken off both
    lists and off the ground truth, both lists are cut to the shorter length, and both are evaluated
    for the first user. Personal is what the own list scores more. For any one ranking of items with
    each user's seen items removed it is exactly 0. Exchanging lists as they are would call a
    popularity list personal, because it lacks other items for every user.

    *One list for all, its own*: the items of the system's lists by their summed discount, without
    those that a user has seen: would the average of the system do?

    *Shortcuts*: popularity, popularity of the last ``window`` of training, transitions from the last
    item, random lists; compared with the system as `rankwise.compare` does.

    Parameters
    ----------
    lists : table, path, mapping of user to items, or mapping of system to these
        The recommendation lists of a system, or of several by name.
    truth : table, path, mapping or Split
        The ground truth, or a split, whose training part is then known.
    metric : str, default="ndcg@10"
        A metric with one cut-off that is a mean over users, in which higher is better.
    train : table, path or mapping, optional
        The training interactions: what users have seen, and what shortcuts are fitted to.
    baselines : list of str, default=("popularity", "recent", "random")
        The shortcuts: these, or ``"transitions"``.
    window : str, default="30d"
        The last period of training that ``"recent"`` counts.
    others : int, default=20
        How many other users' lists each user gets.
    confidence : float, default=0.95
        The confidence level of intervals.
    seed : int, default=0
        Random seed of the other users, and of random lists.
    **options
        Options of `rankwise.evaluate`: ``relevance_threshold``, ``columns``, ``duplicates``,
        ``population``, ``undefined`` and ``without_list``.

    Returns
    -------
    Nulls

    Raises
    ------
    ParameterError
        If a shortcut is unknown, or needs training interactions.
    MetricError
        If the metric has no cut-off, or is no mean over users.

    Notes
    -----
    The personal part and its share are means over pairs of users, in which every user gives and
    receives equally often. The influence of a user on them has two terms, as receiver and as giver;
    intervals are those of the mean influence, by Student's t. Below 30 users with a pair there is no
    share. A filter by more than seen items, for example by country or age, counts as personal.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {user % 5} for user in range(60)}
    >>> lists = {user: [user % 5, (user + 1) % 5] for user in truth}
    >>> found = rw.nulls(lists, truth, "ndcg@2", baselines=[])
    >>> row = found.table.filter(null="another user's list").row(0, named=True)
    >>> row["of_system"], row["value"] < 0.4, row["verdict"]
    (1.0, True, 'personal')
    """
    known = _training_of(truth, train)
    cell, k = check_nulls(
        metric,
        baselines=baselines,
        window=window,
        others=others,
        confidence=confidence,
        seed=seed,
        is_trained=known is not None,
    )
    systems = systems_of(lists)
    _check_options(options)

    given = {name: value for name, value in options.items() if value is not None}
    results = [evaluate(own, truth, metric, **given) for own in systems.values()]
    for result in results:
        _check_mean(result, cell)
    facts = _Facts.read(truth, known, results[0], given)
    fitted = dict(_fit(name, known, window, seed) for name in baselines)
    of_baselines = {
        label: facts.result_of(positions(model.recommend(facts.ids, k)), cell)
        for label, model in fitted.items()
    }

    rows: list[dict[str, Any]] = []
    for name, source in systems.items():
        own = positions(read_table(source, "recommendations", given.get("columns")).frame)
        average = facts.result_of(_own_average(own, facts, k), cell)
        found = [
            _swap(own, facts, cell, k, others, seed, confidence),
            *_compare_with(facts.result_of(own, cell), {OWN: average, **of_baselines}, confidence),
        ]
        rows += [{"system": name, **row} for row in found]
    settings = {
        "metric": cell,
        "baselines": list(baselines),
        "window": window,
        "others": others,
        "confidence": confidence,
        "seed": seed,
        "users": len(facts.ids),
        "notes": _notes(rows, known is not None, facts),
    }
    return Nulls(pl.DataFrame(rows, schema=_ROW), settings)


def check_nulls(
    metric: str = "ndcg@10",
    *,
    baselines: Sequence[Shortcut | str] = ("popularity", "recent", "random"),
    window: str = "30d",
    others: int = 20,
    confidence: float = 0.95,
    seed: int = 0,
    is_trained: bool = True,
) -> tuple[str, int]:
    """Return the name of the value and its cut-off; raise for options that no lists can mend."""
    check_level("confidence", confidence)
    check_positive(others=others)
    check_count(least=0, seed=seed)
    Duration.read("window", window)
    cell, k = _checked_metric(metric)
    _check_baselines(baselines, is_trained=is_trained)
    return cell, k


_ROW = {
    "system": pl.String,
    "null": pl.String,
    "value": pl.Float64,
    "of_system": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "verdict": pl.String,
    "condition": pl.Float64,
    "share": pl.Float64,
    "share_low": pl.Float64,
    "share_high": pl.Float64,
    "users": pl.Int64,
}


def _checked_metric(metric: str) -> tuple[str, int]:
    """Return the key of a metric and its cut-off."""
    from rankwise.metrics.base import parse

    parsed = parse(metric)
    if len(parsed.cells) != 1 or not parsed.ks or len(parsed.ks) != 1:
        raise MetricError(
            "nulls are of one metric with one cut-off", found=str(metric), hint='such as "ndcg@10"'
        )
    cell = parsed.cells[0]
    if parsed.value_kind != "mean":
        raise MetricError(f"{cell} is not a mean over users, so lists of users cannot be exchanged")
    if parsed.higher_is_better is not True:
        raise MetricError(f"nulls are of a metric in which higher is better, and {cell} is not")
    if not parsed.reads_truth or any(leaf.reads.facts for leaf in parsed.leaves):
        raise MetricError(
            "nulls compare lists with the ground truth, and with no other table",
            found=cell,
            hint='such as "ndcg@10"',
        )
    return cell, int(parsed.ks[0])


def _check_mean(result: Result, cell: str) -> None:
    """Raise for a result in which users are no pairs, or whose value is no mean of theirs."""
    if result.has_requests:
        raise ParameterError(
            "the lists of two requests of one person are no pair of users",
            hint=f"evaluate lists of users, or of one request each ({parameter('mean_over')})",
        )
    if not result.is_mean_of_users(cell):
        raise MetricError(f"{cell} is not a mean over users, so lists of users cannot be exchanged")


def _check_baselines(baselines: Sequence[str], *, is_trained: bool) -> None:
    for name in baselines:
        check_choice("baselines", name, Shortcut)
    if baselines and not is_trained:
        raise ParameterError(
            "shortcuts are fitted to training interactions, and there are none",
            found=parameter("baselines", list(baselines)),
            hint=f"pass {parameter('train')}",
        )


def _check_options(options: Mapping[str, Any]) -> None:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise ParameterError(
            f"nulls do not take {unknown[0]}", found=", ".join(unknown), hint=", ".join(_OPTIONS)
        )


def systems_of(lists: Any, *, alone: str = _ALONE) -> dict[str, Any]:
    """Return the lists of each system by name; one system has the name ``alone``."""
    is_named = isinstance(lists, Mapping) and all(
        isinstance(own, Mapping | str | Path | Table) or hasattr(own, "__arrow_c_stream__")
        for own in lists.values()
    )
    if not is_named or _has_scores(lists):
        return {alone: lists}
    if not lists:
        raise ParameterError("nulls need the lists of a system", found="none")
    return {str(name): own for name, own in lists.items()}


def _has_scores(lists: Mapping[Any, Any]) -> bool:
    """Return whether a mapping has the scores of each user's items, and not lists by system."""
    values = [value for own in lists.values() if isinstance(own, Mapping) for value in own.values()]
    if not values or not all(isinstance(value, int | float | np.number) for value in values):
        return False
    if any(isinstance(value, float | np.floating) for value in values):  # it is no id of an item
        return True
    raise ParameterError(
        "whole numbers are the scores of each user's items, or one item of each user",
        found="{…: {…: " + str(values[0]) + "}}",
        hint=f"write {{{_ALONE!r}: {{user: {{item: 3.0}}}}}}, or lists: {{user: [item]}}",
    )


def _training_of(truth: Any, train: Any) -> Any:
    """Return the training interactions, which a split has."""
    from rankwise.splits.split import Split

    return truth if train is None and isinstance(truth, Split) else train


@dataclass(frozen=True, eq=False)
class _Facts:
    """What lists are evaluated against: ground truth and seen items, ids as text.

    ``ids`` are the evaluated users in order, as the caller writes them.
    """

    ids: list[Any]
    truth: pl.DataFrame
    seen: pl.DataFrame
    options: Mapping[str, Any]

    @classmethod
    def read(cls, truth: Any, train: Any, result: Result, options: Mapping[str, Any]) -> _Facts:
        """Return the facts of a result."""
        columns = options.get("columns")
        threshold = result.provenance["settings"].get("relevance_threshold")
        table = read_table(truth, "truth", columns)
        text = [pl.col(name).cast(pl.String) for name in ("user", "item")]
        graded = [name for name in ("relevance",) if name in table.frame.columns]
        rows = table.frame.select(*text, *graded)
        if threshold is not None and graded:
            rows = rows.filter(pl.col("relevance") >= threshold)
        users = result.units["user"]
        rows = rows.filter(pl.col("user").is_in(users.cast(pl.String).implode()))
        seen = rows.select("user", "item").head(0)
        if train is not None:
            seen = read_table(train, "train", columns).frame.select(text).unique()
        passed = {
            name: value
            for name, value in options.items()
            if name not in ("columns", "train", "relevance_threshold", "threshold")
        }
        return cls(users.to_list(), rows, seen, passed)

    @property
    def users(self) -> pl.Series:
        """The evaluated users, as text."""
        return pl.Series("user", [str(user) for user in self.ids], dtype=pl.String)

    def values_of(self, lists: pl.DataFrame, truth: pl.DataFrame, cell: str) -> Floats:
        """Return the value of each user; NaN for those without a relevant item."""
        result = self._evaluate(lists, truth, cell)
        values = self.users.to_frame().join(
            result.units.select(pl.col("user").cast(pl.String), value=cell), on="user", how="left"
        )
        has_truth = self.users.is_in(truth["user"].implode()).to_numpy()
        found = values["value"].fill_null(0.0).fill_nan(0.0).to_numpy()
        return np.where(has_truth, found, np.nan)

    def result_of(self, lists: pl.DataFrame, cell: str) -> Result:
        """Return the result of lists on the whole ground truth."""
        inside = lists.filter(pl.col("user").is_in(self.users.implode()))
        return self._evaluate(inside, self.truth, cell)

    def _evaluate(self, lists: pl.DataFrame, truth: pl.DataFrame, cell: str) -> Result:
        ranked = lists.select("user", "item", rank="position")
        if ranked.is_empty():  # no list at all: a user with one item that nobody has
            ranked = pl.DataFrame({"user": truth["user"].head(1), "item": [""], "rank": [1]})
        return evaluate(ranked, truth, cell, **self.options)


def _swap(
    own: pl.DataFrame,
    facts: _Facts,
    cell: str,
    k: int,
    others: int,
    seed: int,
    confidence: float,
) -> dict[str, Any]:
    """Return what the own list scores more than another user's, on items that are new to both."""
    n = len(facts.ids)
    totals = np.zeros((2, n))  # own, and the other's, as receiver
    given = np.zeros((2, n))
    pairs, gifts = np.zeros(n), np.zeros(n)
    for partner in _partners(n, others, seed):
        values = np.stack(_of_pair(own, facts, partner, cell, k))
        known = ~np.isnan(values).any(axis=0)
        np.add.at(pairs, np.flatnonzero(known), 1)
        np.add.at(gifts, partner[known], 1)
        for at in range(2):
            totals[at, known] += values[at, known]
            np.add.at(given[at], partner[known], values[at, known])
    has_pair = pairs > 0
    if has_pair.sum() < 2:
        raise ParameterError("nulls need two users with relevant items that are new to another")
    received = np.where(has_pair, totals / np.maximum(pairs, 1), np.nan)
    as_giver = np.where(gifts > 0, given / np.maximum(gifts, 1), np.nan)
    return _personal(received, as_giver, confidence)


def _partners(n: int, others: int, seed: int) -> Iterator[Any]:
    """Yield the partner of each user: cyclic shifts of a random order, all if there are few."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    place = np.argsort(order)
    shifts = np.arange(1, n)
    if others < n - 1:
        shifts = rng.choice(shifts, others, replace=False)
    for shift in shifts.tolist():
        yield order[(place + shift) % n]


def _of_pair(
    own: pl.DataFrame, facts: _Facts, partner: Any, cell: str, k: int
) -> tuple[Floats, Floats]:
    """Return the values of the own lists and of the partners', without what either has seen."""
    users = facts.users
    pairs = pl.DataFrame({"user": users, "partner": users.gather(partner)})
    theirs = facts.seen.join(pairs, left_on="user", right_on="partner", suffix="_to").select(
        pl.col("user_to").alias("user"), "item"
    )
    seen = pl.concat([facts.seen, theirs])
    lists = [
        own.join(pairs.select("user"), on="user"),
        own.join(pairs, left_on="user", right_on="partner", suffix="_to").select(
            pl.col("user_to").alias("user"), "item", "position"
        ),
    ]
    lists = [
        rows.join(seen, on=["user", "item"], how="anti")
        .sort("user", "position")
        .with_columns(position=pl.int_range(1, pl.len() + 1).over("user"))
        for rows in lists
    ]
    lengths = [rows.group_by("user").agg(pl.len().alias(f"n{at}")) for at, rows in enumerate(lists)]
    both = pairs.select("user").join(lengths[0], on="user", how="left")
    both = both.join(lengths[1], on="user", how="left").fill_null(0)
    cut = both.select("user", cut=pl.min_horizontal("n0", "n1", pl.lit(k)))
    lists = [
        rows.join(cut, on="user").filter(pl.col("position") <= pl.col("cut")) for rows in lists
    ]
    truth = facts.truth.join(seen, on=["user", "item"], how="anti")
    if truth.is_empty():
        empty = np.full(len(users), np.nan)
        return empty, empty
    return (
        facts.values_of(lists[0], truth, cell),
        facts.values_of(lists[1], truth, cell),
    )


def _personal(received: Floats, given: Floats, confidence: float) -> dict[str, Any]:
    """Return the personal part of a value with its interval, and its share."""
    from scipy.special import stdtr

    own, other = (float(np.nanmean(values)) for values in received)
    personal = own - other
    inside = ~np.isnan(received[0])
    n = int(inside.sum())
    influence = _influence(received[0] - received[1], given[0] - given[1], personal)[inside]
    of_own = _influence(received[0], given[0], own)[inside]
    error = float(influence.std(ddof=1)) / math.sqrt(n)
    quantile = t_quantile((1 + confidence) / 2, n - 1)
    is_same = bool(np.all(np.abs(influence) < 1e-12)) and abs(personal) < 1e-12
    p = 1.0 if is_same or not error > 0 else float(stdtr(n - 1, -personal / error))
    row: dict[str, Any] = {
        "null": SWAP,
        "value": other,
        "of_system": own,
        "difference": personal,
        "low": personal - quantile * error,
        "high": personal + quantile * error,
        "p": p,
        "verdict": _PERSONAL[0] if p < (1 - confidence) / 2 else _PERSONAL[1],
        "share": math.nan,
        "share_low": math.nan,
        "share_high": math.nan,
        "users": n,
    }
    if is_same:
        row["verdict"] = _PERSONAL[2]
    if own > 0 and n >= _FEWEST:
        share = personal / own
        spread = float((influence - share * of_own).std(ddof=1)) / math.sqrt(n) / own
        row |= {
            "share": share,
            "share_low": share - quantile * spread,
            "share_high": share + quantile * spread,
        }
    return row


def _influence(received: Floats, given: Floats, mean: float) -> Floats:
    """Return what each user adds to a mean over pairs, as receiver and as giver."""
    influence: Floats = received + np.where(np.isnan(given), mean, given) - 2 * mean
    return influence


def _own_average(own: pl.DataFrame, facts: _Facts, k: int) -> pl.DataFrame:
    """Return the system's items by summed discount for every user, without those seen."""
    discounts = own.filter(pl.col("user").is_in(facts.users.implode())).with_columns(
        weight=1 / (pl.col("position") + 1.0).log(2)
    )
    ranked = (
        discounts.group_by("item")
        .agg(pl.col("weight").sum())
        .sort("weight", "item", descending=[True, False])["item"]
    )
    most = int(facts.seen.group_by("user").len()["len"].max() or 0)  # type: ignore[arg-type]
    order = pl.DataFrame({"item": ranked.head(k + most)}).with_row_index("place")
    lists = facts.users.to_frame().join(order, how="cross")
    return (
        lists.join(facts.seen, on=["user", "item"], how="anti")
        .sort("user", "place")
        .with_columns(position=pl.int_range(1, pl.len() + 1).over("user"))
        .filter(pl.col("position") <= k)
        .select("user", "item", "position")
    )


def _fit(name: str, train: Any, window: str, seed: int) -> tuple[str, Baseline]:
    """Return a fitted shortcut, with what it is called."""
    models: dict[str, tuple[str, Baseline]] = {
        "popularity": ("popularity", Popularity()),
        "recent": (f"popularity of the last {_period(window)}", Popularity(last=window)),
        "transitions": ("transitions from the last item", Transitions()),
        "random": ("random", Random(seed=seed)),
    }
    label, model = models[name]
    try:
        return label, model.fit(train)
    except ParameterError as error:
        if name != "recent":
            raise
        raise ParameterError(
            error.what,
            where=error.where,
            found=error.found,
            hint=f"give {parameter('train')} dates, or leave 'recent' out of the baselines",
        ) from error


def _compare_with(
    result: Result, shortcuts: Mapping[str, Result], confidence: float
) -> Iterator[dict[str, Any]]:
    """Yield the difference of a system from each shortcut, corrected over all of them."""
    found = compare(
        {"system": result, **shortcuts},
        baseline="system",
        alpha=1 - confidence,
        missing="zero",
    )
    for name in shortcuts:
        row = found[name]
        yield {
            "null": name,
            "value": row["mean_system"],
            "of_system": row["mean_baseline"],
            "difference": -row["difference"],
            "low": -row["high"],
            "high": -row["low"],
            "p": row["p_adjusted"],
            "verdict": OPPOSITE.get(row["verdict"], row["verdict"]),
            "condition": row["condition"],
            "users": row["users"],
        }


def _personal_text(row: Mapping[str, Any], metric: str) -> str:
    """Return how much of a value is personal."""
    share, limits = row["share"], (row["share_low"], row["share_high"])
    value = f"{_possessive(row['system'])} {metric}"
    if row["verdict"] == _PERSONAL[2]:
        why = "no list has a relevant item" if not row["of_system"] else "no user's value changes"
        return f"Nothing of {value} is shown to be personal: with another user's list {why}"
    if math.isnan(share):
        users = count_of(row["users"], "user")
        return f"Whether {value} is personal is not shown ({users})"
    low, high = (percent(min(max(limit, 0.0), 1.0)) for limit in limits)
    if row["verdict"] == _PERSONAL[1]:
        users = count_of(row["users"], "user")
        return (
            f"{value[0].upper()}{value[1:]} is not shown to be personal ({users}; {low} to {high})"
        )
    return f"{percent(share)} of {value} is personal ({low} to {high})"


def _possessive(system: str) -> str:
    """Return the name of a system as an owner."""
    name = "this system" if system == _ALONE else system
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _period(window: str) -> str:
    """Return a period in words, where it is one of days.

    >>> _period("30d"), _period("2w")
    ('30 days', '2w')
    """
    days = re.fullmatch(r"(\d+)d", window)
    return count_of(int(days[1]), "day") if days else window


def _notes(rows: Sequence[Mapping[str, Any]], has_training: bool, facts: _Facts) -> list[str]:
    """Return the caveats of nulls."""
    notes = []
    if not has_training:
        notes.append(
            "Items that users had seen are not known: part of what is personal may be their removal."
        )
    if len(facts.ids) < _MANY and any(row["verdict"] == _PERSONAL[1] for row in rows):
        notes.append(
            f"Below {_MANY} users a quarter that is personal is found in less than half of the "
            "samples."
        )
    return notes
