"""`claim`: what a published table can support, from its means and the number of users."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice, check_count, check_positive
from rankwise.core.saved_forms import CLAIM
from rankwise.core.terminal import Detail, TableView, brief, count_of, level_text
from rankwise.errors import MetricError, ParameterError
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import limits_text, listing
from rankwise.messages import mention, parameter
from rankwise.metrics.base import parse
from rankwise.stats.differences import check_above_zero, check_level, t_quantile, two_sided_t
from rankwise.stats.many_systems import adjust
from rankwise.stats.published import (
    DifferenceClaim,
    PrintedValue,
    graded_difference,
    graded_mean,
    hits_difference,
    hits_interval,
    possible_users,
    unpaired_p,
    unpaired_p_of_hits,
    users_at_widest,
)

Kind: TypeAlias = Literal["hits", "graded"]
"""Whether a user's value is 0 or 1, or any number of the range."""
Published: TypeAlias = str | float
"""A mean as it is printed, or a number whose digits are all known."""
CANNOT, ANY_CASE = "cannot be significant", "significant in any case"
UNDECIDED, IMPOSSIBLE = "not decided by the table", "not possible"
_NAMELESS = ("value", "baseline")  # values without the name of a system
_NUMBER = re.compile(r"([-+]?)(\d*)(?:\.(\d*))?\s*(%?)")
_MOST_NAMED = 20  # numbers of users
_EXACT_NEEDS = 6  # users who differ, from which the exact sign test can reach 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Claim(ResultTable):
    """The result of `rankwise.claim`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per system: the ``value`` with the numbers that print so (``value_low``,
        ``value_high``), of hits the possible ``counts`` of users, the interval of the mean whatever
        the users' values are (``low``, ``high``), the widest t interval (``t_low``, ``t_high``) and
        the largest standard deviation (``sd_most``).
    pairs : polars.DataFrame
        One row per difference from the baseline: its ``verdict``, the smallest and the largest
        p-value of the paired t test (``p_least``, ``p_most``) and, of hits, of the exact sign test
        (``exact_least``, ``exact_most``), adjusted over pairs by Holm; how many users differ; of
        graded values the standard deviation below which t is significant (``sd_critical``) and the
        largest one (``sd_most``); ``users_needed`` at the widest.
    users : list of int or None
        Where no number of users was passed, those for which every value can be printed.
    settings : dict
        The options.
    """

    table: pl.DataFrame
    pairs: pl.DataFrame
    users: list[int] | None
    settings: dict[str, Any]
    form = CLAIM

    @property
    def verdicts(self) -> list[str]:
        """The verdict of each difference from the baseline."""
        return self.pairs["verdict"].to_list()

    @property
    def sentences(self) -> list[str]:
        """What the table supports, the most important sentence first."""
        if self.users is not None:
            return [_users_sentence(self.users, self.settings)]
        rows = self.table.to_dicts()
        impossible = [row for row in rows if row["counts"] == []]
        sentences = [_impossible_sentence(row, self.settings) for row in impossible]
        fits = {row["system"]: row["sd_possible"] for row in rows}
        for pair in self.pairs.to_dicts():
            is_used = fits[pair["system"]] and fits[pair["baseline"]]
            is_used = is_used and self.settings["kind"] != "hits"
            settings = self.settings if is_used else {**self.settings, "sd": None}
            sentences += _pair_sentences(pair, settings)
        sentences = sentences or [_single_sentence(rows[0], self.settings)]
        return [
            *sentences,
            *(_deviation_sentence(row) for row in rows if row["sd_possible"] is False),
        ]

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the sentences with the intervals of each value."""
        if self.users is not None:
            return [self._lead]
        rows = [
            (
                name_of(row),
                limits_text(row["low"], row["high"], brief),
                limits_text(row["t_low"], row["t_high"], brief),
            )
            for row in self.table.to_dicts()
        ]
        of_hits = self.settings["kind"] == "hits"
        is_stated = self.table["sd_possible"].fill_null(value=False).all()
        wide = "interval" if of_hits else "interval whatever the users' values"
        table = TableView(
            ("value", wide, "t interval" if is_stated else "t interval, widest"),
            rows,
            self.notes,
            title="Published values.",
            label="rankwise-claim",
        )
        return [self._lead, table]

    @property
    def notes(self) -> list[str]:
        """Notes on the numbers of users needed, on rounding and on what the intervals are."""
        notes = []
        needed = {row["users_needed"]: row for row in self.pairs.to_dicts() if row["users_needed"]}
        for users, row in list(needed.items())[:1]:
            stated = self.settings["difference_sd"] is not None
            spread = "with such differences" if stated else "at the widest"
            notes.append(
                f"A true difference of {abs(row['difference']):.2g} is found 4 times in 5 with "
                f"{count_of(users, 'user')} {spread}."
            )
        if not self.settings["paired"]:
            notes.append("The systems are compared over other users: by Welch's test.")
        return [*notes, *self.settings["notes"]]


def claim(
    value: Published | Mapping[str, Published],
    *,
    users: int | None = None,
    baseline: Published | None = None,
    metric: str | None = None,
    kind: Kind | None = None,
    bounds: tuple[float, float] | None = None,
    alpha: float = 0.05,
    sd: float | None = None,
    difference_sd: float | None = None,
    per: int = 1,
    paired: bool = True,
    most: int = 10_000,
) -> Claim:
    r"""Tell what a published table can support, from its means and the number of users.

    Of all values that users can have and that print these means, a difference either *cannot be
    significant*, is *significant in any case*, or is *not decided by the table*: then the standard
    deviation of the differences decides, and the answer names the critical one.

    Parameters
    ----------
    value : str, float, or mapping of str to these
        The mean as it is printed, ``"0.31"`` or ``"31.0%"``, so that its digits are known; a float
        is taken to be exact. Of several systems by name, each is compared with the best.
    users : int, optional
        The number of users, queries or items that the means are over. Without it, the numbers for
        which every value can be printed.
    baseline : str or float, optional
        The mean of the system to compare with.
    metric : str, optional
        The metric, which says whether values are hits and what their bounds are.
    kind : {"hits", "graded"}, optional
        Whether a user's value is 0 or 1; by default what the metric says, else graded.
    bounds : tuple of float, optional
        The smallest and the largest value of a user; by default those of the metric, else 0 and 1.
    alpha : float, default=0.05
        The significance level.
    sd : float, optional
        A published standard deviation of the users' values, of every system: it is checked, and
        users' differences deviate by its double at most.
    difference_sd : float, optional
        A published standard deviation of the users' differences: the answer is then exact.
    per : int, default=1
        For the numbers of users: how many whole numbers a user's value has, 5 for precision@5.
    paired : bool, default=True
        Whether both systems were evaluated on the same users.
    most : int, default=10_000
        For the numbers of users: the largest one that is tried.

    Returns
    -------
    Claim

    Raises
    ------
    ParameterError
        If a value is no number or outside its bounds, or nothing says how many users there are.
    MetricError
        If the metric has no bounds, and none are passed.

    Notes
    -----
    Each value is anything that prints the same, and the least favourable combination counts.

    *Hits*: the number of users with a hit is a whole number that prints as the value. With a and b
    hits, at least abs(a − b) users differ, and at most as many as both allow. The p-values of the
    paired t test and of the exact sign test grow with the number of users who differ, so the two
    ends give the range. A difference of five users or fewer is never significant by the exact test.

    *Graded values*: the variance of a mean m in [0, 1] is at most m (1 − m) n / (n − 1), that of a
    difference δ at most (min(m + m₀, 2 − m − m₀) − δ²) n / (n − 1), which users of 0 and 1 that
    overlap least reach. The smallest variance is 0, so graded means are never "cannot be
    significant". Typical values give no verdict: in our data the variance of nDCG was 0.27 to 0.71
    of the largest one.

    Intervals of one mean are Clopper and Pearson's for hits, and Chernoff's for graded values,
    which holds for every distribution. The t interval with the largest variance is the widest that
    a paper could have printed, and no bound: for hits of 3 % of 25 users it covers 54 % of samples.
    Two samples of users (``paired=False``) are compared by Welch's test with the largest variances.

    References
    ----------
    Chernoff 1952, A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
    observations, Annals of Mathematical Statistics 23; Clopper & Pearson 1934, Biometrika 26.

    Examples
    --------
    >>> import rankwise as rw
    >>> found = rw.claim("0.31", users=943, metric="ndcg@10", baseline="0.29")
    >>> found.verdicts, found.pairs["sd_critical"][0]
    (['not decided by the table'], 0.3129)
    >>> rw.claim("0.52", users=100, metric="hit_rate@1", baseline="0.50").verdicts
    ['cannot be significant']
    >>> rw.claim({"a": "0.4545", "b": "0.4798"}, metric="hit_rate@1").users[:3]
    [198, 396, 594]
    """
    check_level("alpha", alpha)
    check_positive(per=per, most=most)
    for name, deviation in (("sd", sd), ("difference_sd", difference_sd)):
        if deviation is not None:
            check_above_zero(name, deviation)
    if difference_sd is not None and not paired:
        raise ParameterError(
            "two samples of users have no differences of a user",
            found=f"{parameter('paired', False)}, {parameter('difference_sd', difference_sd)}",
            hint=f"leave {mention('difference_sd')} out, or {parameter('paired', False)}",
        )
    if kind is not None:
        check_choice("kind", kind, Kind)
    kind, ends = _kind_and_bounds(metric, kind, bounds)
    values = {"value": value} if not isinstance(value, Mapping) else dict(value)
    if not values:
        raise ParameterError("a claim is about one value or more", found="none")
    printed = {str(name): _read_printed(own, ends) for name, own in values.items()}
    if baseline is not None:
        printed["baseline"] = _read_printed(baseline, ends)
    exact = any(one.is_exact for one in printed.values())
    settings: dict[str, Any] = {
        "metric": metric,
        "higher_is_better": True if metric is None else parse(metric).higher_is_better,
        "kind": kind,
        "bounds": list(ends),
        "alpha": alpha,
        "users": users,
        "per": per,
        "paired": paired,
        "sd": sd,
        "difference_sd": difference_sd,
        "most": most,
        "notes": ["A value that is no text is taken to be exact."] if exact else [],
    }
    if users is None:
        return _possible(printed, settings)
    check_count(least=2, users=users)
    table = pl.DataFrame(
        [_row(name, one, settings) for name, one in printed.items()],
        schema_overrides={"counts": pl.List(pl.Int64)},
    )
    pairs = _pairs(printed, settings, difference_sd)
    frame = pl.DataFrame(pairs, schema=_PAIR) if pairs else pl.DataFrame(schema=_PAIR)
    return Claim(table, frame, None, settings)


_PAIR = {
    "system": pl.String,
    "baseline": pl.String,
    "value": pl.String,
    "value_baseline": pl.String,
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "verdict": pl.String,
    "p_least": pl.Float64,
    "p_most": pl.Float64,
    "exact_least": pl.Float64,
    "exact_most": pl.Float64,
    "differ_least": pl.Int64,
    "differ_most": pl.Int64,
    "sd_critical": pl.Float64,
    "sd_most": pl.Float64,
    "users_needed": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
}


_EXACT = ("exact_least", "exact_most", "differ_least", "differ_most")
"""What the exact sign test says of a pair: over other users, or by a stated deviation, it says nothing."""


def name_of(row: Mapping[str, Any]) -> str:
    """Return the name of a value of a table: its text, after the name of its system."""
    is_named = row["system"] not in _NAMELESS
    return f"{row['system']} {row['value']}" if is_named else str(row["value"])


def _kind_and_bounds(
    metric: str | None, kind: Kind | None, bounds: tuple[float, float] | None
) -> tuple[Kind, tuple[float, float]]:
    """Return whether values are hits, and their bounds."""
    known = None if metric is None else parse(metric)
    if known is not None and known.value_kind != "mean":
        raise MetricError(
            f"{metric} is not a mean over users, so users' values do not bound it",
            hint="the table supports claims about metrics that every user has a value of",
        )
    if bounds is None:
        low, high = (0.0, 1.0) if known is None else known.range
        if not math.isfinite(high - low):
            raise MetricError(
                f"a user's value of {metric} has no bounds, so its mean says nothing of its spread",
                hint=f"pass {parameter('bounds', (0, 10))}, if you know them",
            )
    else:
        low, high = bounds
        if not low < high:
            raise ParameterError(
                "bounds are the smallest and the largest value",
                found=parameter("bounds", bounds),
            )
    if kind is None:
        kind = "hits" if known is not None and known.name == "hit_rate" else "graded"
    return kind, (low, high)


def _read_printed(value: Published, bounds: tuple[float, float]) -> PrintedValue:
    """Return a printed value, scaled to between 0 and 1."""
    low, high = bounds
    number, half, text = _read(value)
    if not low <= number <= high:
        raise ParameterError(f"a mean lies between {low:g} and {high:g}", found=f"{value!r}")
    scaled = [(end - low) / (high - low) for end in (number, number - half, number + half)]
    return PrintedValue(text, scaled[0], max(scaled[1], 0.0), min(scaled[2], 1.0))


def _read(value: Published) -> tuple[float, float, str]:
    """Return the number that a text prints, half a unit of its last digit, and the text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise ParameterError("a mean is a finite number", found=f"{value!r}")
        return float(value), 0.0, f"{value:g}"
    text = str(value).strip()
    match = _NUMBER.fullmatch(text)
    if not isinstance(value, str) or match is None or not (match[2] or match[3]):
        raise ParameterError(
            "a published mean is a number as it is printed",
            found=f"{value!r}",
            hint='such as "0.31" or "31.0%"',
        )
    digits = len(match[3] or "")
    scale = 0.01 if match[4] else 1.0
    number = float(f"{match[1]}{match[2] or 0}.{match[3] or 0}")
    return number * scale, 0.5 * 10.0**-digits * scale, text


def _row(name: str, printed: PrintedValue, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the printed mean of a system says."""
    users, alpha, sd = settings["users"], settings["alpha"], settings["sd"]
    low, high = settings["bounds"]
    graded = graded_mean(printed, users, alpha)
    counts = printed.counts(users) if settings["kind"] == "hits" else None
    interval = (graded.low, graded.high)
    if counts is not None:
        limits = [hits_interval(count, users, alpha) for count in counts]
        ends = (min(a for a, _ in limits), max(b for _, b in limits)) if limits else None
        interval = ends or (math.nan, math.nan)
    row = {
        "system": name,
        "value": printed.text,
        "value_low": low + (high - low) * printed.low,
        "value_high": low + (high - low) * printed.high,
        "counts": counts,
        "low": low + (high - low) * interval[0],
        "high": low + (high - low) * interval[1],
        "t_low": low + (high - low) * graded.t_low,
        "t_high": low + (high - low) * graded.t_high,
        "sd_most": (high - low) * graded.sd_most,
        "sd_possible": None,
    }
    if sd is None:
        return row
    possible = sd <= row["sd_most"] * (1 + 1e-9)
    half = t_quantile(1 - alpha / 2, users - 1) * sd / math.sqrt(users)
    middle = low + (high - low) * printed.value
    limits_by_sd = {"t_low": middle - half, "t_high": middle + half} if possible else {}
    return row | limits_by_sd | {"sd_possible": possible}


def _pairs(
    printed: Mapping[str, PrintedValue], settings: Mapping[str, Any], difference_sd: float | None
) -> list[dict[str, Any]]:
    """Return the differences from the baseline, or of the best from all others."""
    if len(printed) < 2:
        return []
    if "baseline" in printed:
        named = [(name, "baseline") for name in printed if name != "baseline"]
    else:
        choose = min if settings["higher_is_better"] is False else max
        best = choose(printed, key=lambda name: printed[name].value)
        named = [(best, name) for name in printed if name != best]
    rows = [
        _pair(system, base, printed[system], printed[base], settings, difference_sd)
        for system, base in named
    ]
    for name in ("p_least", "p_most", "exact_least", "exact_most"):
        known = [row for row in rows if not math.isnan(row[name])]
        if known:
            adjusted = np.asarray(adjust([row[name] for row in known], method="holm")).tolist()
            for row, p in zip(known, adjusted, strict=True):
                row[name] = p
    for row in rows:
        row["verdict"] = row["verdict"] or _verdict(row, settings["alpha"])
    return rows


def _pair(
    system: str,
    base: str,
    one: PrintedValue,
    other: PrintedValue,
    settings: Mapping[str, Any],
    difference_sd: float | None,
) -> dict[str, Any]:
    """Return what two printed means say of their difference."""
    users, alpha = settings["users"], settings["alpha"]
    low, high = settings["bounds"]
    unit = high - low
    row: dict[str, Any] = dict.fromkeys(_PAIR)
    row |= {"system": system, "baseline": base, "value": one.text, "value_baseline": other.text}
    gap = one.value - other.value
    row["difference"] = unit * gap
    deviation = _deviation_of_each(one, other, settings)
    graded = graded_difference(one, other, users, alpha, deviation or math.inf)
    found: DifferenceClaim | None = graded
    if settings["kind"] == "hits":
        of_hits = hits_difference(one, other, users)  # None if no numbers of hits print so
        found = of_hits if settings["paired"] or of_hits is None else graded
    if found is None:
        numbers = [name for name, kind in _PAIR.items() if kind == pl.Float64 and row[name] is None]
        return row | dict.fromkeys(numbers, math.nan) | {"verdict": IMPOSSIBLE}
    p_least, p_most = found.p_least, found.p_most
    row |= dict.fromkeys(("low", "high", "exact_least", "exact_most"), math.nan)
    if not settings["paired"]:
        p_least, p_most = unpaired_p(one, other, users, deviation)
        if settings["kind"] == "hits":
            p_least, p_most = unpaired_p_of_hits(one, other, users)
    elif difference_sd is not None:
        if difference_sd > unit * graded.sd_most * (1 + 1e-9):
            raise ParameterError(
                "users' differences cannot vary so much with these means",
                where=f"{system} and {base}",
                found=parameter("difference_sd", difference_sd),
                hint=f"it is at most {brief(unit * graded.sd_most)}",
            )
        p_least = p_most = _p_of_sd(gap * unit, difference_sd, users)
        half = t_quantile(1 - alpha / 2, users - 1) * difference_sd / math.sqrt(users)
        row |= {"low": gap * unit - half, "high": gap * unit + half}
    else:
        row |= {name: getattr(found, name) for name in _EXACT}
    widest = graded.sd_most if difference_sd is None else difference_sd / unit
    return row | {
        "difference_low": unit * found.low,
        "difference_high": unit * found.high,
        "p_least": p_least,
        "p_most": p_most,
        "sd_critical": unit * found.sd_critical,
        "sd_most": unit * found.sd_most,
        "users_needed": users_at_widest(abs(gap), widest, alpha)
        if gap and widest > 0 and settings["paired"]
        else None,
    }


def _deviation_of_each(
    one: PrintedValue, other: PrintedValue, settings: Mapping[str, Any]
) -> float | None:
    """Return the stated deviation of users' values in [0, 1]; None if neither system can have it."""
    if settings["sd"] is None:
        return None
    low, high = settings["bounds"]
    scaled = float(settings["sd"]) / (high - low)
    most = min(
        graded_mean(printed, settings["users"], settings["alpha"]).sd_most
        for printed in (one, other)
    )
    return scaled if scaled <= most * (1 + 1e-9) else None


def _p_of_sd(difference: float, deviation: float, users: int) -> float:
    return float(two_sided_t(difference / deviation * math.sqrt(users), users - 1))


def _verdict(row: Mapping[str, Any], alpha: float) -> str:
    """Return what all samples that print so have in common, by t and, of hits, by the exact test."""
    if _least(row) >= alpha:
        return CANNOT
    return ANY_CASE if _most(row) < alpha else UNDECIDED


def _possible(printed: Mapping[str, PrintedValue], settings: dict[str, Any]) -> Claim:
    """Return the numbers of users for which every value can be printed."""
    if settings["kind"] != "hits" and settings["per"] == 1:
        raise ParameterError(
            "nothing says how many users the means are over",
            hint=f"pass {parameter('users')}; of hits ({parameter('kind', 'hits')}) the values "
            "themselves tell which numbers are possible",
        )
    found = possible_users(list(printed.values()), settings["most"], settings["per"])
    empty: dict[str, Any] = {
        "system": pl.String,
        "value": pl.String,
        "counts": pl.List(pl.Int64),
    }
    rows = [{"system": name, "value": one.text, "counts": None} for name, one in printed.items()]
    return Claim(pl.DataFrame(rows, schema=empty), pl.DataFrame(schema=_PAIR), found, settings)


def _on(settings: Mapping[str, Any]) -> str:
    metric = "" if settings["metric"] is None else f"{settings['metric']}, "
    return f"{metric}{count_of(settings['users'], 'user')}"


def _single_sentence(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return what one mean says."""
    level = level_text(1 - settings["alpha"])
    limits = limits_text(row["low"], row["high"], brief)
    return f"{row['value']} ({_on(settings)}) is {limits} for other users ({level})."


def _deviation_sentence(row: Mapping[str, Any]) -> str:
    """Return the sentence that no users with this mean have the stated standard deviation."""
    return (
        f"The stated standard deviation cannot be that of users with a mean of {name_of(row)}: it "
        f"is at most {brief(row['sd_most'])}."
    )


def _impossible_sentence(row: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    return f"No number of users with a hit out of {settings['users']:,} prints as {row['value']}."


def _pair_sentences(pair: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the verdict of a difference, and what would decide it."""
    one, other = _names(pair)
    users = count_of(settings["users"], "user")
    if pair["verdict"] == IMPOSSIBLE:
        return []
    if pair["verdict"] == CANNOT:
        least = _least(pair)
        differ = pair["differ_least"]
        told = f"{count_of(differ, 'user')} differ at least, and " if differ is not None else ""
        than = {True: "better than", False: "worse than", None: "different from"}
        is_better = _is_better(pair, settings)
        cannot = f"{one} cannot be significantly {than[is_better]} {other} on {users}"
        return [
            f"{cannot}: {told}p is {least:.2g} or more {_condition_of_verdict(settings, 'they are')}."
        ]
    if pair["verdict"] == ANY_CASE:
        most = _most(pair)
        verb = {True: "beats", False: "is worse than", None: "differs from"}
        better = verb[_is_better(pair, settings)]
        size = f"p below {_above(most)}" if most < 0.001 else f"p is {most:.2g} or less"
        given = _condition_of_verdict(settings, "the users' values are")
        return [f"{one} {better} {other} on {users} {given} ({size})."]
    return [
        f"This table does not decide whether {one} differs from {other} ({_on(settings)}).",
        _condition_text(pair, settings),
        f"Ask for {_facts_to_ask_for(settings)}.",
    ]


def _is_better(pair: Mapping[str, Any], settings: Mapping[str, Any]) -> bool | None:
    """Return whether the difference is one for the better; None for a metric without a direction."""
    higher: bool | None = settings["higher_is_better"]
    return None if higher is None else (pair["difference"] > 0) == higher


def _facts_to_ask_for(settings: Mapping[str, Any]) -> str:
    """Return the facts that would decide a claim whose table does not."""
    if settings["paired"]:
        return "the values per user, the standard deviation of the differences, or a p-value"
    if settings["sd"] is None and settings["kind"] != "hits":
        return "the values per user, their standard deviation, or a p-value"
    return "the values per user, or a p-value"


def _condition_of_verdict(settings: Mapping[str, Any], they_are: str) -> str:
    """Return the clause that a verdict holds for all values, or by the stated standard deviation."""
    if settings["difference_sd"] is not None:
        deviation = brief(settings["difference_sd"])
        return f"with differences of the stated standard deviation, {deviation}"
    if settings["sd"] is not None:
        return f"whatever {they_are}, with the stated standard deviation, {brief(settings['sd'])}"
    return f"whatever {they_are}"


def _names(pair: Mapping[str, Any]) -> tuple[str, str]:
    """Return both values, with the names of their systems if they have any."""
    names = []
    for side, value in (("system", "value"), ("baseline", "value_baseline")):
        is_named = pair[side] not in _NAMELESS
        names.append(f"{pair[side]} ({pair[value]})" if is_named else str(pair[value]))
    return names[0], names[1]


def _least(pair: Mapping[str, Any]) -> float:
    """Return the smallest p-value, of t or of the exact test."""
    return min(float(p) for p in (pair["p_least"], pair["exact_least"]) if not math.isnan(p))


def _most(pair: Mapping[str, Any]) -> float:
    """Return the largest p-value, of t or of the exact test."""
    return max(float(p) for p in (pair["p_most"], pair["exact_most"]) if not math.isnan(p))


def _above(p: float) -> str:
    """Return a power of ten above a p-value."""
    return f"1e{math.ceil(math.log10(p)) if p > 0 else -300}"


def _condition_text(pair: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Return what decides a difference that the table leaves open."""
    low, high = pair["difference_low"], pair["difference_high"]
    rounding = f"Rounding leaves {low:+.3f} to {high:+.3f}." if low != high else ""
    if pair["differ_least"] is not None:
        return (
            f"{pair['differ_least']:,} to {pair['differ_most']:,} users differ: p is "
            f"{_least(pair):.2g} to {_most(pair):.2g}. {rounding}"
        ).rstrip()
    if not settings["paired"]:
        by = "" if settings["sd"] is not None else ", by how users' values vary"
        return f"p is {pair['p_least']:.2g} to {pair['p_most']:.2g}{by}. {rounding}".rstrip()
    if not pair["difference"]:
        return f"They are equal to the printed digit. {rounding}".rstrip()
    if pair["sd_most"] < pair["sd_critical"]:
        return f"At the printed difference it would be significant in any case. {rounding}".rstrip()
    stated = "" if settings["sd"] is None else " and the stated standard deviation of the values"
    return (
        "It would be significant if the users' differences had a standard deviation below "
        f"{brief(pair['sd_critical'])}; with these means{stated} it is anything from 0 to "
        f"{brief(pair['sd_most'])}. {rounding}"
    ).rstrip()


def _users_sentence(users: Sequence[int], settings: Mapping[str, Any]) -> str:
    """Return which numbers of users are possible."""
    most = settings["most"]
    if not users:
        return f"No number of users up to {most:,} prints all of these values."
    if len(users) > _MOST_NAMED:
        steps = {b - a for a, b in pairwise(users)}
        smallest = (
            f"from {users[0]:,} on" if max(steps, default=1) > 1 else f"all from {users[0]:,}"
        )
        return (
            f"The number of users is not identified: {len(users):,} are possible (to {most:,}), "
            f"{smallest}."
        )
    names = listing([f"{number:,}" for number in users], named=_MOST_NAMED).replace(" and ", " or ")
    return f"{names} users are possible (to {most:,})."
