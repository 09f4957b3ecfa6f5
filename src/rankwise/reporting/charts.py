"""Altair charts of tidy frames; the only module that imports Altair.

Colours mean verdicts: blue is better, orange worse, grey not shown; systems are named beside their
marks, and only where lines cross each has a colour. A `Look` is a theme and a size. In the report
colours are variables of the page, so that one chart serves light and dark pages and print. Names of
systems and groups are data, never part of a specification that Vega would read as a field or an
expression. Text is cleaned here: vl-convert ends the whole process at a character that XML does not
allow.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import altair as alt
import numpy as np
import polars as pl

from rankwise.messages import printable

Chart: TypeAlias = (
    "alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart"
)
Theme: TypeAlias = Literal["light", "dark"]
Size: TypeAlias = Literal["web", "column", "page", "slide"]


@dataclass(frozen=True)
class Colours:
    """The colours of a theme, by meaning."""

    ink: str
    soft: str
    grid: str
    better: str
    worse: str
    flat: str
    bad: str
    third: str
    fourth: str
    paper: str

    def of(self, tone: str) -> str:
        """Return the colour of a verdict."""
        return {"better": self.better, "worse": self.worse}.get(tone, self.flat)

    @property
    def lines(self) -> list[str]:
        """The colours of lines that have to be told apart; from the fifth on lines are grey."""
        return [self.better, self.worse, self.third, self.fourth]


THEMES = {
    "light": Colours(
        "#191c20",
        "#59626d",
        "#e6e9ed",
        "#0b6a8f",
        "#b2441a",
        "#6d7681",
        "#f9e9e1",
        "#6a4c9c",
        "#7a6a00",
        "#ffffff",
    ),
    "dark": Colours(
        "#e8ebee",
        "#a6afb9",
        "#2a3038",
        "#62c0e3",
        "#f0905f",
        "#9aa3ad",
        "#3a2219",
        "#b79be6",
        "#d3c04a",
        "#14171b",
    ),
}
_VARIABLES = ("ink", "soft", "grid", "better", "worse", "flat", "bad", "third", "fourth", "page")
PAGE = Colours(*(f"var(--{name})" for name in _VARIABLES))
"""The colours of the report, which its page defines."""
_FONT = "Arial, Helvetica, Liberation Sans, sans-serif"  # of equal widths, which layout needs


@dataclass(frozen=True)
class Look:
    """The look of a chart: colours, total width, text size, and whether a title is shown."""

    colours: Colours = THEMES["light"]
    width: int = 720
    font: float = 12
    titled: bool = True

    @property
    def scale(self) -> float:
        """The size of marks, relative to the size for the web."""
        return self.font / 12

    @property
    def row(self) -> float:
        """The height of a row."""
        return 28 * self.scale


_SIZES = {
    "web": (720, 12.0, True),
    "column": (336, 10.0, False),
    "page": (682, 10.0, False),
    "slide": (1600, 24.0, True),
}


def look_of(size: Size, theme: Theme) -> Look:
    """Return the look of a size and a theme."""
    return Look(THEMES[theme], *_SIZES[size])


SMALL = Look(PAGE, 340, 12, titled=False)
"""The look of a panel of the report."""
_NAMES = ("system", "group", "pair", "name", "metric")  # columns that label rows and panels
_LABEL, _TITLE = 36, 70  # letters of a label, and of a title


def specification(chart: Chart) -> str:
    """Return a chart as Vega-Lite JSON, without a limit on the number of marks."""
    with alt.data_transformers.enable("default", max_rows=None):
        return str(chart.to_json(validate=False))  # tests hold charts against the schema


def _clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose text is allowed in XML, and whose names are short."""
    names = [name for name in _NAMES if name in frame.columns]
    short = {name: _shortened(frame[name].unique(maintain_order=True)) for name in names}
    columns = [pl.col(name).replace_strict(short[name], return_dtype=pl.String) for name in names]
    texts = [
        name for name, dtype in frame.schema.items() if dtype == pl.String and name not in names
    ]
    return frame.with_columns(*columns, pl.col(texts).map_elements(_text, pl.String))


def _shortened(names: Iterable[str]) -> dict[str, str]:
    """Return short names, each another: Vega would cut long ones in the middle of a character."""
    short: dict[str, str] = {}
    taken = set()
    for name in names:
        text, count = _title(name, _LABEL), 1
        while text in taken:
            count += 1
            text = f"{_title(name, _LABEL - 5)} ({count})"
        taken.add(text)
        short[name] = text
    return short


def _title(text: str, letters: int = _TITLE) -> str:
    """Shorten text wider than ``letters`` by leaving out its middle."""
    text = _text(text)
    if sum(map(_width, text)) <= letters:
        return text
    start, end = "", ""
    for letter in text:
        if sum(map(_width, start + letter)) > letters * 2 // 3:
            break
        start += letter
    for letter in reversed(text):
        if sum(map(_width, end + letter)) > letters // 3 - 1:
            break
        end = letter + end
    return f"{start}…{end}"


def _width(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _text(text: str) -> str:
    return re.sub("[\ufffe\uffff]", " ", printable(text))


def _styled(chart: Any, look: Look, title: str = "", subtitle: str = "") -> Any:
    """Apply the common style: no frame, a grid across the values, the title above on the left."""
    colours, text = look.colours, look.font
    if look.titled and (title or subtitle):
        lines = [_text(line) for line in subtitle.split("\n") if line]
        wrapped = textwrap.wrap(
            _text(title), int(look.width / (9 * look.scale)), break_long_words=True
        )
        chart = chart.properties(title=alt.TitleParams(text=wrapped[:3], subtitle=lines))
    # At once: each call of a method of a chart copies all of it.
    return chart.configure(
        background="transparent" if look.colours is PAGE else colours.paper,
        padding={"left": 16, "right": 16, "top": 8, "bottom": 8},
        font=_FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=colours.soft,
            titleColor=colours.soft,
            gridColor=colours.grid,
            domain=False,
            tickColor=colours.soft,
            labelLimit=0,
            titleFontWeight="normal",
            labelFontSize=text,
            titleFontSize=text,
            titleLimit=0,
            labelFlush=False,
        ),
        axisX=alt.AxisConfig(tickSize=4),
        axisBand=alt.AxisConfig(grid=False, ticks=False, labelColor=colours.ink, labelPadding=8),
        header=alt.HeaderConfig(
            labelColor=colours.ink,
            titleColor=colours.ink,
            labelFontSize=text + 1,
            labelFontWeight="bold",
            labelLimit=0,
            labelAnchor="start",
        ),
        legend=alt.LegendConfig(
            labelColor=colours.ink, labelLimit=0, labelFontSize=text, orient="top", symbolLimit=0
        ),
        title=alt.TitleConfig(
            color=colours.ink,
            fontSize=16 * look.scale,
            anchor="start",
            frame="bounds",
            offset=12,
            subtitleColor=colours.soft,
            subtitleFontSize=13 * look.scale,
            subtitlePadding=4,
        ),
    )


def _values(frame: pl.DataFrame, column: str) -> list[str]:
    """Return the values of a column, each once, as they come."""
    return frame[column].unique(maintain_order=True).to_list()


_SAID = {"tooltip": "text:N", "description": "text:N"}
_NEAR = alt.Scale(zero=False)  # scales start at the data: differences are small
_FEW = alt.Axis(tickCount=5)


def _lines(look: Look, names: Sequence[str]) -> alt.Scale:
    """Return the colours of systems whose lines cross: four, then grey."""
    colours = [*look.colours.lines[: len(names)], *[look.colours.flat] * max(len(names) - 4, 0)]
    return alt.Scale(domain=list(names), range=colours)


def curve_chart(
    frame: pl.DataFrame,
    *,
    look: Look | None = None,
    banded: Sequence[str] = (),
    small: bool = False,
    subtitle: str = "",
) -> Chart:
    """Draw metrics against the cut-off k, labelled at the right, with bands for chosen systems."""
    look = SMALL if small else look or Look()
    banded = [_text(name) for name in banded]
    marked = frame.with_columns(
        banded=pl.col("system").is_in(banded) if banded else pl.lit(value=True)
    )
    panels = []
    metrics = _values(frame, "metric")
    for metric in metrics:
        rows = _clean(marked.filter(pl.col("metric") == metric))
        panels.append(_curve(rows, look, f"{metric}@k", 1 if small or len(metrics) == 1 else 2))
    titled = panels[0] if len(panels) == 1 else alt.concat(*panels, columns=2)
    title = f"{metrics[0]}@k" if len(metrics) == 1 else "Metrics against the cut-off k"
    styled: Chart = _styled(titled, look, title, subtitle)
    return styled


def _curve(frame: pl.DataFrame, look: Look, title: str, columns: int) -> Any:
    """Return the lines of one metric."""
    names, cutoffs = _values(frame, "system"), frame["k"].unique().sort().to_list()
    colour = alt.Color("system:N", scale=_lines(look, names), legend=None)
    axis = alt.Axis(format="d", values=cutoffs[:: -(-len(cutoffs) // 8)], grid=False)
    base = alt.Chart(frame).encode(x=alt.X("k:Q", title="cut-off k", scale=_NEAR, axis=axis))
    y = alt.Y(
        "value:Q",
        title=_title(title),
        scale=_NEAR,
        axis=alt.Axis(tickCount=5, titleAngle=0, titleAlign="left", titleY=-10, titleX=-30),
    )
    band = base.transform_filter("datum.banded").mark_area(opacity=0.15, aria=False)
    band = band.encode(y=alt.Y("low:Q", scale=_NEAR), y2="high:Q", color=colour)
    line = base.mark_line(aria=False, strokeWidth=1.5 * look.scale).encode(y=y, color=colour)
    dots = base.mark_point(filled=True, size=40 * look.scale, opacity=1).encode(
        y=y, color=colour, **_SAID
    )
    ends = _apart(
        frame.filter(pl.col("k") == pl.col("k").max().over("system")).drop_nulls("value"),
        "value",
        _span(frame),
    )
    labels = alt.Chart(ends).mark_text(align="left", dx=8, fontSize=look.font, aria=False)
    labels = labels.encode(
        x="k:Q", y=alt.Y("label_at:Q", scale=_NEAR), text="system:N", color=colour
    )
    room = 7 * min(max(map(len, names), default=4), 18) * look.scale
    width = (look.width - 60) / columns - room - 40
    return (band + line + dots + labels).properties(width=max(width, 100), height=200 * look.scale)


def _apart(frame: pl.DataFrame, column: str, span: float) -> pl.DataFrame:
    """Return rows with places of their labels, a fourteenth of the axis apart."""
    values = frame[column]
    places: list[float] = []
    order = values.arg_sort().to_list()
    for at in order:
        places.append(max(values[at], places[-1] + span / 14) if places else values[at])
    return frame.with_columns(
        label_at=pl.Series([places[order.index(at)] for at in range(len(values))])
    )


def _span(frame: pl.DataFrame) -> float:
    """Return the length of the axis of values with their limits."""
    ends = [value for name in ("value", "low", "high") for value in frame[name].drop_nulls()]
    return (max(ends) - min(ends) or abs(ends[0]) or 1.0) if ends else 1.0


def pareto_chart(
    frame: pl.DataFrame,
    *,
    y: str,
    up: bool | None = True,
    right: bool | None = True,
    baseline: str | None = None,
    look: Look | None = None,
    small: bool = False,
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Plot one metric against another, upper right better, with intervals, names and frontier."""
    look, (x,) = SMALL if small else look or Look(), _values(frame, "metric")
    colours = look.colours
    better = " and ".join([*(["lower"] if right is False else [])])
    frame = _clean(
        frame.with_columns(
            frontier=pl.Series(_frontier(frame, up, right)),
            held=pl.col("system") == (baseline or ""),
        )
    )
    ends = [v for name in ("x_value", "x_low", "x_high") for v in frame[name].drop_nulls()]
    tops = [v for name in ("value", "low", "high") for v in frame[name].drop_nulls()]
    scales = [_padded(ends, reverse=right is False), _padded(tops, reverse=up is False)]
    heading = f"{_title(x, 44)}{', lower is better' if better else ''}"
    xs = alt.X("x_value:Q", title=heading, scale=scales[0], axis=alt.Axis(tickCount=5, grid=False))
    ys = alt.Y(
        "value:Q",
        title=_title(y, 24),
        scale=scales[1],
        axis=alt.Axis(tickCount=5, titleAngle=0, titleAlign="left", titleY=-10, titleX=-30),
    )
    base = alt.Chart(frame)
    rule: dict[str, Any] = {
        "aria": False,
        "color": colours.flat,
        "opacity": 0.75,
        "strokeWidth": 1.5 * look.scale,
    }
    across = base.mark_rule(**rule).encode(x=alt.X("x_low:Q", scale=scales[0]), x2="x_high:Q", y=ys)
    upward = base.mark_rule(**rule).encode(x=xs, y=alt.Y("low:Q", scale=scales[1]), y2="high:Q")
    front = base.transform_filter("datum.frontier").mark_line(
        strokeDash=[4, 3], color=colours.soft, strokeWidth=1, aria=False
    )
    front = front.encode(x=xs, y=ys)
    dots = base.mark_point(filled=True, size=80 * look.scale, opacity=1, strokeWidth=2).encode(
        x=xs,
        y=ys,
        fill=alt.condition("datum.held", alt.value(colours.paper), alt.value(colours.ink)),
        stroke=alt.value(colours.ink),
        **_SAID,
    )
    names = _apart(frame.drop_nulls(["value", "x_value"]), "value", 0.0)
    labels = alt.Chart(names).mark_text(
        align="left", dx=9, dy=-9, fontSize=look.font, aria=False, color=colours.ink
    )
    labels = labels.encode(x=xs, y=ys, text="system:N")
    height = 200 * look.scale if small else 300 * look.scale
    width = look.width - (110 if small else 150) * look.scale
    corner = alt.Chart(pl.DataFrame({"said": ["better ↗"]})).mark_text(
        align="right", baseline="top", color=colours.soft, fontSize=look.font, aria=False
    )
    corner = corner.encode(x=alt.value(width), y=alt.value(-14), text="said:N")
    layers = [across, upward, front, dots, labels, *([corner] if None not in (up, right) else [])]
    styled: Chart = _styled(
        alt.layer(*layers).properties(width=width, height=height),
        look,
        title or f"{y} against {x}",
        subtitle,
    )
    return styled


def _padded(values: Sequence[float], *, reverse: bool) -> alt.Scale:
    """Return the scale from the ends of intervals, 8 % beyond them, better values at its end."""
    if not values:
        return alt.Scale(zero=False, reverse=reverse)
    low, high = min(values), max(values)
    pad = 0.08 * (high - low) or abs(high) * 0.1 or 1.0
    return alt.Scale(domain=[low - pad, high + pad], nice=False, zero=False, reverse=reverse)


def _frontier(frame: pl.DataFrame, up: bool | None, right: bool | None) -> list[bool]:
    """Return which points are on the Pareto frontier of both metrics."""
    signs = (-1 if right is False else 1, -1 if up is False else 1)
    points = [
        None if x is None or y is None else (signs[0] * x, signs[1] * y)
        for x, y in frame.select("x_value", "value").iter_rows()
    ]
    return [
        point is not None
        and not any(
            other is not None and other != point and other[0] >= point[0] and other[1] >= point[1]
            for other in points
        )
        for point in points
    ]


def interval_chart(
    frame: pl.DataFrame,
    *,
    look: Look | None = None,
    row: str = "name",
    axis: str = "",
    title: str = "",
    subtitle: str = "",
    percent: bool = False,
    zero: bool = True,
    panel: str | None = None,
    limit: bool = False,
) -> Chart:
    """Draw one row per estimate: a thick and a thin interval, with value and verdict at the right.

    ``frame`` has ``value``, ``low``, ``high``, ``tone`` and ``right``, the text at the right; it
    may have ``thin_low``, ``thin_high``, and with ``limit`` the end of what is not allowed,
    ``allowed``. ``panel`` is a column of panels.
    """
    look = look or Look()
    frame = _clean(frame)
    names, colours = _values(frame, row), look.colours
    tones = alt.Scale(
        domain=["better", "worse", ""], range=[colours.better, colours.worse, colours.flat]
    )
    colour = alt.Color("tone:N", scale=tones, legend=None)
    rows = alt.Y(f"{row}:N", title=None, sort=names, scale=alt.Scale(paddingInner=0.2))
    ends = [v for name in ("low", "high", "value") for v in frame[name].drop_nulls()]
    ends += [
        v
        for name in ("thin_low", "thin_high")
        if name in frame.columns
        for v in frame[name].drop_nulls()
    ]
    scale = _padded([*ends, *([0.0] if zero else [])], reverse=False)
    form: dict[str, Any] = {"format": "+.0%"} if percent else {}
    x = alt.X("low:Q", title=_title(axis) or None, scale=scale, axis=alt.Axis(tickCount=5, **form))
    longest = max((len(text) for text in frame["right"]), default=0)
    left = 6.6 * max(map(len, names), default=0) * look.scale
    width = max(look.width - left - 6.6 * longest * look.scale - 60 * look.scale, 120)

    def drawn(frame: pl.DataFrame) -> Any:
        base = alt.Chart(frame).encode(y=rows, color=colour)
        layers: list[Any] = []
        if limit:
            shade = alt.Chart(frame).mark_bar(color=colours.bad, aria=False, height=look.row)
            layers.append(
                shade.encode(y=rows, x=alt.X("allowed:Q", scale=scale), x2=alt.X2("bound:Q"))
            )
        if zero:
            rule = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(
                color=colours.ink, strokeWidth=1.5, aria=False
            )
            layers.append(rule.encode(x=alt.X("zero:Q", scale=scale)))
        if "thin_low" in frame.columns:
            thin = base.mark_rule(strokeWidth=1.5 * look.scale, aria=False)
            layers.append(thin.encode(x=alt.X("thin_low:Q", scale=scale), x2="thin_high:Q"))
        layers.append(
            base.mark_rule(strokeWidth=5 * look.scale, aria=False).encode(x=x, x2="high:Q")
        )
        dots = base.mark_point(
            filled=True, size=80 * look.scale, opacity=1, stroke=colours.paper, strokeWidth=1.5
        )
        layers.append(dots.encode(x=alt.X("value:Q", scale=scale), **_SAID))
        values = base.mark_text(align="left", fontSize=look.font + 1, aria=False)
        layers.append(values.encode(x=alt.value(width + 12), text="right:N"))
        return alt.layer(*layers).properties(
            width=width, height=look.row * max(frame[row].n_unique(), 1)
        )

    if panel is None:
        chart: Chart = _styled(drawn(frame), look, title, subtitle)
        return chart
    heads = _values(frame, panel)
    panels = [drawn(frame.filter(pl.col(panel) == head)).properties(title=head) for head in heads]
    stacked: Chart = _styled(alt.vconcat(*panels), look, title, subtitle)
    return stacked


def slice_chart(
    frame: pl.DataFrame, title: str, *, look: Look | None = None, subtitle: str = ""
) -> Chart:
    """Draw a metric within groups, one row per group and system."""
    look = look or Look(PAGE, 720, 12, titled=False)
    several = len(_values(frame, "system")) > 1
    labels = pl.format("{}: {}", "group", "system") if several else pl.col("group")
    rows = frame.with_columns(
        name=labels,
        tone=pl.lit(""),
        right=pl.col("value").map_elements(lambda v: f"{v:.4f}", pl.String).fill_null("–"),
    )
    return interval_chart(rows, look=look, axis=title, title=title, subtitle=subtitle, zero=False)


def stack_chart(
    frame: pl.DataFrame,
    noun: str = "users",
    *,
    look: Look | None = None,
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Draw the users or requests who lose, see no difference and gain, one bar per pair."""
    look = look or Look()
    frame = _clean(frame)
    names, colours = _values(frame, "name"), look.colours
    tones = alt.Scale(
        domain=["lose", "no difference", "gain"],
        range=[colours.worse, colours.grid, colours.better],
    )
    inks = alt.Scale(
        domain=["lose", "no difference", "gain"], range=[colours.paper, colours.ink, colours.paper]
    )
    order = alt.Order("place:Q")
    y = alt.Y("name:N", title=None, sort=names)
    base = alt.Chart(frame).encode(y=y, order=order)
    x = alt.X("users:Q", stack="zero", title=noun, axis=alt.Axis(tickCount=5, format=",d"))
    bars = base.mark_bar(height=22 * look.scale).encode(
        x=x, color=alt.Color("side:N", scale=tones, legend=None), **_SAID
    )
    shown = frame.with_columns(
        middle=(pl.col("users").cum_sum() - pl.col("users") / 2).over("name"),
        said=pl.format("{} {}", "users", "side"),
    ).filter(pl.col("users") > 0.12 * pl.col("users").sum().over("name"))
    labels = alt.Chart(shown).mark_text(fontSize=look.font, aria=False)
    labels = labels.encode(
        y=y, x="middle:Q", text="said:N", color=alt.Color("side:N", scale=inks, legend=None)
    )
    width = look.width - 6.6 * max(map(len, names), default=0) * look.scale - 60 * look.scale
    drawn = (
        (bars + labels)
        .resolve_scale(color="independent")
        .properties(width=width, height=look.row * len(names) + 10)
    )
    chart: Chart = _styled(drawn, look, title, subtitle)
    return chart


def histogram_chart(
    frame: pl.DataFrame,
    axis: str,
    *,
    signed: bool = False,
    better: bool | None = True,
    look: Look | None = None,
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Draw a histogram of users by value; if ``signed``, losses and gains are coloured."""
    look = look or Look()
    frame, colours = _clean(frame), look.colours
    ends: list[Any] = [frame["left"].min(), frame["right"].max()]
    if signed:
        sides = {True: ("worse", "better"), False: ("better", "worse"), None: ("", "")}[better]
        tone = (
            pl.when(pl.col("left") > 0)
            .then(pl.lit(sides[1]))
            .when(pl.col("right") < 0)
            .then(pl.lit(sides[0]))
        )
        frame = frame.with_columns(tone=tone.otherwise(pl.lit("")))
    else:
        frame = frame.with_columns(tone=pl.lit(""))
    tones = alt.Scale(
        domain=["better", "worse", ""], range=[colours.better, colours.worse, colours.flat]
    )
    bars = (
        alt.Chart(frame.filter(pl.col("users") > 0))  # an empty bin is nothing to point at
        .mark_bar(stroke=colours.paper, strokeWidth=1)
        .encode(
            x=alt.X(
                "left:Q",
                title=_title(axis),
                bin="binned",
                scale=alt.Scale(domain=ends, nice=False),
                axis=_FEW,
            ),
            x2="right:Q",
            y=alt.Y(
                "users:Q",
                title="users",
                axis=alt.Axis(tickCount=5, titleAngle=0, titleAlign="left", titleY=-10, titleX=-30),
            ),
            color=alt.Color("tone:N", scale=tones, legend=None),
            **_SAID,
        )
        .properties(width=look.width - 90 * look.scale, height=180 * look.scale)
    )
    names = _values(frame, "name")
    drawn = (
        bars.facet(facet=alt.Facet("name:N", title=None, sort=names), columns=1)
        if len(names) > 1
        else bars
    )
    styled: Chart = _styled(drawn, look, title, subtitle)
    return styled


def overview_chart(
    frame: pl.DataFrame, *, look: Look | None = None, title: str = "", subtitle: str = ""
) -> Chart:
    """Return metrics by systems: the change in per cent, coloured by its verdict."""
    look = look or Look()
    frame, colours = _clean(frame), look.colours
    metrics, names = _values(frame, "metric"), _values(frame, "system")
    tones = alt.Scale(
        domain=["better", "worse", ""], range=[colours.better, colours.worse, colours.soft]
    )
    cells = alt.Chart(frame).encode(
        x=alt.X("system:N", title=None, sort=names, axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("metric:N", title=None, sort=metrics),
    )
    text = cells.mark_text(fontSize=look.font + 1).encode(
        text="shown:N", color=alt.Color("tone:N", scale=tones, legend=None), **_SAID
    )
    lines = cells.mark_rule(color=colours.grid, aria=False, yOffset=look.row / 2).encode(
        x=alt.value(0), x2=alt.value("width")
    )
    width = look.width - 6.6 * max(map(len, metrics), default=0) * look.scale - 40
    drawn = (lines + text).properties(width=width, height=look.row * len(metrics))
    styled: Chart = _styled(drawn, look, title, subtitle)
    return styled


def _with_diagonal(
    frame: pl.DataFrame,
    look: Look,
    ends: pl.DataFrame,
    x: Any,
    y: Any,
    marks: Callable[[Any, Any], list[Any]],
) -> Any:
    """Layer lines of systems over a dashed diagonal, with a legend for several systems."""
    names = _values(frame, "system")
    colour = alt.Color(
        "system:N",
        scale=_lines(look, names),
        legend=alt.Legend(title=None) if len(names) > 1 else None,
    )
    dashed = (
        alt.Chart(ends)
        .mark_line(strokeDash=[4, 3], color=look.colours.soft, aria=False)
        .encode(x=x, y=y)
    )
    return alt.layer(dashed, *marks(alt.Chart(frame), colour)).properties(
        width=min(look.width - 110, 460) if look.width > 400 else look.width - 80,
        height=260 * look.scale,
    )


def lorenz_chart(frame: pl.DataFrame, *, look: Look | None = None) -> Chart:
    """Return Lorenz curves of exposure; the diagonal is equal exposure of all items."""
    x = ("items", "share of the items, least recommended first")
    return share_chart(frame, x=x, y=("recommendations", "share of the recommendations"), look=look)


def share_chart(
    frame: pl.DataFrame,
    *,
    x: tuple[str, str],
    y: tuple[str, str],
    look: Look | None = None,
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Draw Lorenz curves of two shares, each a column and its title; the diagonal is equality."""
    look = look or replace(SMALL, width=600)
    frame = _clean(frame)
    across = alt.X(f"{x[0]}:Q", title=x[1], axis=alt.Axis(format="%", tickCount=5, grid=False))
    up = alt.Y(f"{y[0]}:Q", title=y[1], axis=alt.Axis(format="%", tickCount=5))
    # Both ends are the same for all systems, and would lie above one another.
    inner = pl.col(x[0]).is_between(0, 1, closed="none")
    step = pl.max_horizontal((pl.len().over("system") - 1) // 10, 1)
    inner_points = frame.filter(inner & (pl.int_range(pl.len()).over("system") % step == 0))

    def marks(base: Any, colour: Any) -> list[Any]:
        dots = alt.Chart(inner_points).mark_point(filled=True, size=30)
        return [
            base.mark_line(aria=False).encode(x=across, y=up, color=colour),
            dots.encode(x=across, y=up, color=colour, **_SAID),
        ]

    equal = pl.DataFrame({x[0]: [0.0, 1.0], y[0]: [0.0, 1.0]})
    chart: Chart = _styled(
        _with_diagonal(frame, look, equal, across, up, marks), look, title, subtitle
    )
    return chart


def line_chart(
    frame: pl.DataFrame,
    *,
    x: tuple[str, str],
    y: tuple[str, str],
    logarithmic: bool = False,
    look: Look | None = None,
    title: str = "",
    subtitle: str = "",
) -> Chart:
    """Return one line per system of two columns, each with its title, labelled at the right end."""
    look = look or replace(SMALL, width=600)
    frame = _clean(frame)
    names = _values(frame, "system")
    colour = alt.Color("system:N", scale=_lines(look, names), legend=None)
    scale = alt.Scale(type="log", nice=False) if logarithmic else _NEAR
    across = alt.X(
        f"{x[0]}:Q", title=x[1], scale=scale, axis=alt.Axis(tickCount=5, grid=False, format="~g")
    )
    base = alt.Chart(frame).encode(
        x=across, y=alt.Y(f"{y[0]}:Q", title=y[1], scale=_NEAR, axis=_FEW), color=colour
    )
    last = frame.filter(pl.col(x[0]) == pl.col(x[0]).max().over("system")).drop_nulls(y[0])
    ends = _apart(last, y[0], float(np.ptp(frame[y[0]].drop_nulls().to_numpy())))
    labels = alt.Chart(ends).mark_text(align="left", dx=8, fontSize=look.font, aria=False)
    labels = labels.encode(
        x=across, y=alt.Y("label_at:Q", scale=_NEAR), text="system:N", color=colour
    )
    dots = base.mark_point(filled=True, size=30 * look.scale, opacity=1).encode(**_SAID)
    room = 7 * min(max(map(len, names), default=4), 18) * look.scale
    layers = alt.layer(base.mark_line(aria=False, strokeWidth=1.5 * look.scale), dots, labels)
    sized = layers.properties(width=max(look.width - 100 - room, 100), height=200 * look.scale)
    chart: Chart = _styled(sized, look, title, subtitle)
    return chart


def reliability_chart(
    frame: pl.DataFrame, *, look: Look | None = None, title: str = "", subtitle: str = ""
) -> Chart:
    """Draw observed against predicted rates, with intervals; the diagonal is calibration."""
    look = look or replace(SMALL, width=600)
    frame = _clean(frame)
    ends: list[Any] = [
        0.0,
        frame.select(pl.max_horizontal("predicted", "value", "high").max()).item(),
    ]
    x = alt.X(
        "predicted:Q", title="mean predicted probability", axis=alt.Axis(tickCount=5, grid=False)
    )
    y = alt.Y("value:Q", title="observed rate", axis=_FEW)

    def marks(base: Any, colour: Any) -> list[Any]:
        limits = base.mark_rule(aria=False, opacity=0.75).encode(
            x=x, y="low:Q", y2="high:Q", color=colour
        )
        lines = base.mark_line(aria=False).encode(x=x, y=y, color=colour)
        size = alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[25, 200]))
        dots = base.mark_point(filled=True, opacity=1).encode(
            x=x, y=y, size=size, color=colour, **_SAID
        )
        return [limits, lines, dots]

    diagonal = pl.DataFrame({"predicted": ends, "value": ends})
    chart: Chart = _styled(
        _with_diagonal(frame, look, diagonal, x, y, marks), look, title, subtitle
    )
    return chart
