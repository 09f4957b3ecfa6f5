"""Charts and a report of policies on logged impressions: values, differences and support."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.comparison.decision import Decision
from rankwise.core import __version__
from rankwise.core.terminal import (
    TableView,
    brief,
    change,
    decimals,
    format_number,
    level_text,
    percent,
    signed,
)
from rankwise.errors import ParameterError
from rankwise.findings.columns import values_of
from rankwise.findings.words import (
    deciding_p,
    interval_text,
    is_missing,
    limits_text,
    named_p,
    places,
    verdict_tone,
)
from rankwise.offpolicy.result import LOGGED, OffPolicy, of_all_requests, worth
from rankwise.reporting.forest import Forest, ForestRow, value_axis
from rankwise.reporting.plots import charts
from rankwise.reporting.report_data import Block, Figure, Grid, Notes, Section, Text
from rankwise.reporting.report_head import Fact, Gap, Head, sure

if TYPE_CHECKING:
    from rankwise.reporting.charts import Chart, Size, Theme

_POINTS = 101


def value_frame(result: OffPolicy) -> pl.DataFrame:
    """Return the value and interval of every policy, one row per policy; none without support."""
    rows = []
    for row in of_all_requests(result.table).iter_rows(named=True):
        said = "observed" if row["policy"] == LOGGED else f"{row['support']} support"
        value = "no number" if math.isnan(row["value"]) else format_number(row["value"])
        text = f"{row['policy']}: {value} ({limits_text(row['low'], row['high'], format_number)}), {said}"
        rows.append(
            {
                "name": row["policy"],
                "tone": "",
                "right": f"{value}  {said}",
                "text": text,
                **_limits(row),
            }
        )
    return _frame(rows)


def pair_frame(result: OffPolicy) -> pl.DataFrame:
    """Return every target's difference from the baseline with its interval, one row per target."""
    rows = []
    for row in result.primary.iter_rows(named=True):
        value = signed(row["difference"], places(row))
        limits = interval_text(row, signed)
        text = f"{row['system']} − {row['baseline']}: {value} ({limits}), {row['verdict']}"
        names = {
            "name": row["system"],
            "tone": verdict_tone(row["verdict"]),
            "right": f"{value}  {row['verdict']}",
            "text": text,
        }
        rows.append(names | _limits(row | {"value": row["difference"]}))
    return _frame(rows)


def clip_frame(result: OffPolicy) -> pl.DataFrame:
    """Return every policy's value by the clip of its weights, beside the value of the log."""
    clips = result.sensitivity.filter(method="clip").select(
        system="policy", clip="parameter", value="value"
    )
    largest = dict(
        of_all_requests(result.table)
        .filter(pl.col("policy") != LOGGED)
        .select("policy", "largest_weight")
        .rows()
    )
    most = max((largest[name] for name in clips["system"].unique()), default=1.0)
    clips = clips.filter(pl.col("clip") <= max(2 * most, 2.0))
    logged = (
        clips.select("clip")
        .unique()
        .select(system=pl.lit(LOGGED), clip="clip", value=pl.lit(result[LOGGED]))
    )
    said = pl.format("{}, weights clipped at {}: {}", "system", "clip", pl.col("value").round(4))
    order = pl.col("system").replace_strict(
        {name: at for at, name in enumerate([*result.policies[1:], LOGGED])}
    )
    return pl.concat([logged, clips]).sort(order, "clip").with_columns(text=said)


def weight_frame(result: OffPolicy) -> pl.DataFrame:
    """Return for every target the share of the weight that the users with the least weight have."""
    frames = []
    for name in result.policies[1:]:
        weight = np.sort(result.per_user[f"weight({name})"].to_numpy())
        total = float(weight.sum())
        if not total:
            continue
        shares = np.concatenate([[0.0], np.cumsum(weight) / total])
        at = np.unique(np.linspace(0, len(weight), _POINTS).round().astype(int))
        frames.append(
            pl.DataFrame({"system": name, "users": at / len(weight), "weight": shares[at]})
        )
    empty = pl.DataFrame(schema={"system": pl.String, "users": pl.Float64, "weight": pl.Float64})
    percent = [(100 * pl.col(name)).round(1) for name in ("users", "weight")]
    said = pl.format(
        "{}: the {} % of the users with the least weight have {} % of it", "system", *percent
    )
    return pl.concat([empty, *frames]).with_columns(text=said)


def _limits(row: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: None if is_missing(row[name]) else row[name] for name in ("value", "low", "high")}


def _frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    texts = dict.fromkeys(("name", "tone", "right", "text"), pl.String)
    return pl.DataFrame(
        list(rows), schema={**texts, **dict.fromkeys(("value", "low", "high"), pl.Float64)}
    )


class LoggedPlots:
    """Altair charts of policies on logged impressions, for notebooks or to ``save``.

    Each takes ``size`` and ``theme``, as the charts of a comparison.
    """

    def __init__(self, result: OffPolicy) -> None:
        self._result = result

    def _subtitle(self, text: str) -> str:
        row = self._result.row(LOGGED)
        return f"{text}, {row['n']:,} requests of {row['users']:,} users\nrankwise {__version__}"

    @property
    def _intervals(self) -> str:
        return f"{level_text(1 - self._result.settings['alpha'])} intervals by user"

    def values(self, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw the value of every policy with its interval and support.

        Parameters
        ----------
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        axis = f"reward per {self._result.per}"
        chart: Chart = charts().interval_chart(
            value_frame(self._result),
            look=charts().look_of(size, theme),
            axis=axis,
            zero=False,
            title="What each policy would have earned",
            subtitle=self._subtitle(self._intervals),
        )
        return chart

    def differences(self, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw every target's paired difference from the baseline, with its interval and verdict.

        Parameters
        ----------
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        chart: Chart = charts().interval_chart(
            pair_frame(self._result),
            look=charts().look_of(size, theme),
            axis=f"difference from {self._result.settings['baseline']} in reward per "
            f"{self._result.per}",
            title=self._result.verdict,
            subtitle=self._subtitle(self._intervals),
        )
        return chart

    def sensitivity(self, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw every value against the clip of its weights, which trades bias for variance.

        A verdict is fragile if the order of the lines depends on the clip. Clipped values have no
        interval: their bias is unknown.

        Parameters
        ----------
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        if self._result.sensitivity.is_empty():
            raise ParameterError("no target has a number", hint="result.table has the reasons")
        chart: Chart = charts().line_chart(
            clip_frame(self._result),
            x=("clip", "weights clipped at (logarithmic)"),
            y=("value", f"reward per {self._result.per}"),
            logarithmic=True,
            look=charts().look_of(size, theme),
            title="Values if large weights are clipped",
            subtitle=self._subtitle("Clipped values are biased, and have no interval"),
        )
        return chart

    def overlap(self, *, size: Size = "web", theme: Theme = "light") -> Chart:
        """Draw how few users carry the weight of each target; on the diagonal all weigh the same.

        Parameters
        ----------
        size : {"web", "column", "page", "slide"}, default="web"
            Where the chart goes.
        theme : {"light", "dark"}, default="light"
            The colours.
        """
        chart: Chart = charts().share_chart(
            weight_frame(self._result),
            x=("users", "share of the users, least weight first"),
            y=("weight", "share of the weight"),
            look=charts().look_of(size, theme),
            title="How many users carry each value",
            subtitle=self._subtitle("Weights by user"),
        )
        return chart


def logged_head(
    result: OffPolicy, title: str, decision: Decision | None, gaps: Sequence[Gap]
) -> Head:
    """Return the first screen of the page: verdict, gain, support, and the first three gaps."""
    logged = result.row(LOGGED)
    kick = [title, f"{logged['n']:,} requests", f"{logged['users']:,} users"]
    unseen = [gap.title for gap in gaps[:3]]
    state, verdict, more = "", result.verdict, result.sentences[1:]
    if decision is not None:
        state, verdict, more = decision.outcome, decision.verdict, decision.reasons[1:]
    rows = result.primary.iter_rows(named=True)
    row = next(rows)
    if decision is not None:
        rule = decision.record["rule"]
        row = values_of(result.findings(rule["baseline"], rule["system"])[0])
    return Head(kick, state, verdict, more, _facts(result, row), unseen)


def _facts(result: OffPolicy, row: Mapping[str, Any]) -> list[Fact]:
    """Return the gain, its cost in assumptions, the support, and how sure a difference is."""
    system, baseline, alpha = row["system"], row["baseline"], result.settings["alpha"]
    table = min((result.row(name) for name in (system, baseline)), key=worth)
    reasons = "; ".join(table["reasons"])
    support = Fact(
        "Can the log say so?",
        {"sound": "Yes", "weak": "Weakly", "none": "No", "observed": "Observed"}[table["support"]],
        f"{table['effective_users']:,.0f} effective users, {table['effective_rewarded']:,.0f} with "
        "a reward.",
        f"{reasons}."
        if reasons
        else f"The heaviest request has {percent(table['largest_share'], 2)} of the weight.",
        tone="" if table["support"] in ("sound", "observed") else "worse",
    )
    if is_missing(row["difference"]):
        return [Fact("Gain", "–", f"{system} against {baseline} has no number."), support]
    size = change(row["lift"])
    if is_missing(row["lift"]):
        size = signed(row["difference"], places(row))
    means = f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])} per {result.per}"
    limits = (
        f"{level_text(row['confidence'])} interval of the difference {interval_text(row, signed)}."
    )
    gain = Fact(
        "Difference",
        size,
        f"{means}, {system} against {baseline}.",
        limits,
        tone=verdict_tone(row["verdict"]),
    )
    flips = row["flips_at"]
    turns = Fact("Robust", "Yes", "No clip of the weights turns the sign.")
    if flips is not None:
        turns = Fact(
            "Robust",
            f"{flips:g}",
            "is the clip of the weights at which the sign turns.",
            tone="worse",
        )
    p = deciding_p(row)
    how = Fact(
        "How sure", sure(p, alpha), f"{named_p('p', p, alpha)}.", f"Level {alpha:g}, two-sided."
    )
    if table["support"] == "weak":
        turns = Fact("Robust", "Unknown", "Few users carry the weight.")
        how = Fact(
            "How sure", "No verdict", f"{row['why']}.", "The interval holds, and decides nothing."
        )
    return [gain, support, turns, how]


def logged_gaps(result: OffPolicy) -> list[Gap]:
    """Return the gaps of the estimate, with a remedy where there is a remedy."""
    gaps = [
        Gap(
            "an experiment",
            "An estimate from a log holds for the users, items and habits of the log; nobody has "
            "seen the new policy.",
            "A/B test, or rankwise interleaving …",
        ),
        Gap(
            "whether propensities are those of the requests",
            "Weights cannot show in general that a propensity belongs to another request. The mean "
            "weight and the "
            "calibration of items find a part of it.",
        ),
    ]
    if result.settings["estimator"] == "snips" and not result.settings["slates"]:
        text = "A model of the reward narrows intervals where it predicts well."
        gaps.append(
            Gap("predictions of the reward", text, "rankwise off-policy … --predictions FILE")
        )
    if result.settings["by"] is None:
        text = "No groups were evaluated: a mean can hide who loses."
        gaps.append(Gap("groups of requests", text, "rankwise off-policy … --by COLUMN"))
    return gaps


def logged_blocks(result: OffPolicy) -> list[Block]:
    """Return the differences, the values with their support, the sensitivity and the weights."""
    rows = _forest_rows(result)
    axis = value_axis([value for row in rows for value in (row.point, row.low, row.high)])
    intervals = f"{level_text(1 - result.settings['alpha'])} intervals"
    figure = Figure("logged-differences", result.verdict, pair_frame(result), charts_of_pairs)
    values, _ = result.views
    blocks: list[Block] = [
        Text(f"Reward per {result.per}: differences, paired by user, with {intervals}."),
        Forest(rows, axis, heads=("difference", "outcome"), figure=figure),
        Grid(replace(values, caption="", notes=())),
    ]
    clips, weights = clip_frame(result), weight_frame(result)
    if len(clips):
        caption = (
            "Values if large weights are clipped. Clipped values are biased, and have no interval."
        )
        blocks.append(Figure("logged-sensitivity", caption, clips, _clip_chart))
    if len(weights):
        caption = "How many users carry each value: on the diagonal all users weigh the same."
        blocks.append(Figure("logged-overlap", caption, weights, _weight_chart))
    return [*blocks, Notes([*result.doubts, *result.notes])]


def logged_sections(result: OffPolicy) -> list[Section]:
    """Return the sections of a page about one log."""
    settings = [
        [name, str(value)] for name, value in result.settings.items() if value not in (None, [], "")
    ]
    cards = [
        [
            role,
            str(card.get("source", "")),
            f"{card.get('rows') or 0:,}",
            str(card.get("sha256") or "–"),
        ]
        for role, card in result.sources.items()
    ]
    sensitivity = [
        [
            row["policy"],
            row["method"],
            "" if is_missing(row["parameter"]) else f"{row['parameter']:g}",
            format_number(row["value"]),
            signed(row["difference"], decimals(row["value"])),
        ]
        for row in result.sensitivity.iter_rows(named=True)
    ]
    head = ("policy", "method", "parameter", "value", "difference from the printed value")
    return [
        Section("logged", "Policies on logged impressions", logged_blocks(result)),
        Section(
            "sensitivity",
            "Other estimators",
            [Grid(TableView(head, sensitivity, left=(0, 1)))],
            folded=True,
        ),
        Section(
            "settings",
            "Settings, inputs and versions",
            [
                Grid(TableView(("option", "value"), settings, left=(0, 1))),
                Grid(TableView(("table", "source", "rows", "SHA-256"), cards, left=(0, 1, 3))),
            ],
            folded=True,
        ),
    ]


def _forest_rows(result: OffPolicy) -> list[ForestRow]:
    """Return one row per pair; the pairs of a group follow a heading with its name."""
    rows: list[ForestRow] = []
    last = None
    for row in result.differences.iter_rows(named=True):
        group = row["group"]
        if group != last:
            rows.append(ForestRow(f"{row['by']} {group}", heading=True))
        last = group
        rows.append(_forest_row(row))
    return rows


def _forest_row(row: Mapping[str, Any]) -> ForestRow:
    shown = not is_missing(row["difference"])
    return ForestRow(
        f"{row['system']} − {row['baseline']}",
        small=f"{row['users']:,} users" if shown else "",
        point=row["difference"],
        low=row["low"],
        high=row["high"],
        value=signed(row["difference"], places(row)) if shown else "",
        value_small=f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}" if shown else "",
        outcome=row["verdict"],
        outcome_small="" if row["primary"] else "exploratory",
        tone=verdict_tone(row["verdict"]),
        note="" if shown else "no number",
    )


def charts_of_pairs(frame: pl.DataFrame) -> Any:
    """Return the chart of differences for a report's files, in place of the chart of the page."""
    return charts().interval_chart(
        frame, look=replace(charts().SMALL, width=720), axis="difference in reward"
    )


def _clip_chart(frame: pl.DataFrame) -> Any:
    x, y = ("clip", "weights clipped at (logarithmic)"), ("value", "reward")
    return charts().line_chart(frame, x=x, y=y, logarithmic=True)


def _weight_chart(frame: pl.DataFrame) -> Any:
    x, y = ("users", "share of the users, least weight first"), ("weight", "share of the weight")
    return charts().share_chart(frame, x=x, y=y)
