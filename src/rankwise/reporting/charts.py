"""Altair charts of tidy frames; the only module that imports Altair.

Text takes the colour of the page (``currentColor``), and colours of marks have contrast on white
and on black, so that one chart serves light and dark pages and print. Names of systems and groups
are data, never part of a specification that Vega would read as a field or an expression. Text is
cleaned here: vl-convert ends the whole process at a character that XML does not allow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import altair as alt
import polars as pl

from rankwise.errors import printable

__all__ = [
    "COLOURS",
    "Chart",
    "curve_chart",
    "difference_chart",
    "histogram_chart",
    "lorenz_chart",
    "pareto_chart",
    "reliability_chart",
    "slice_chart",
    "specification",
]

Chart: TypeAlias = "alt.Chart | alt.LayerChart | alt.FacetChart"

COLOURS = ("#3b7dd8", "#d9541e", "#14945f", "#a85fc4", "#a8770f", "#d6457f", "#108a99", "#7a7f36", "#9c6b52", "#6f7bbf")
"""Colours of systems, each with a contrast of 3 or more on white and on a dark page."""
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
_FONT = "Arial, Helvetica, Liberation Sans, sans-serif"  # of equal widths, which layout needs
_INK = "currentColor"
_GRID = "#8888884d"
_GREY = "#888888"
_WIDTH, _PANEL = 600, 270  # widths of a chart, and of one of several
_NAMES = ("system", "group", "pair", "name", "metric")  # columns that label rows and panels
_LABEL, _TITLE = 36, 70  # letters of a label, and of the title of an axis
_ROW = 18  # height of a row in points


def specification(chart: Chart) -> str:
    """Return a chart as Vega-Lite JSON, however many marks it has."""
    with alt.data_transformers.enable("default", max_rows=None):
        return str(chart.to_json())


def _clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose text is allowed in XML, and whose names are short."""
    names = [name for name in _NAMES if name in frame.columns]
    short = {name: _shortened(frame[name].unique(maintain_order=True)) for name in names}
    columns = [pl.col(name).replace_strict(short[name], return_dtype=pl.String) for name in names]
    return frame.with_columns(*columns, pl.col("text").map_elements(_text, pl.String))


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


def _title(text: str, most: int) -> str:
    """Return text that is at most so many letters wide, without its middle if it is long."""
    text = _text(text)
    if sum(map(_width, text)) <= most:
        return text
    start, end = "", ""
    for letter in text:
        if sum(map(_width, start + letter)) > most * 2 // 3:
            break
        start += letter
    for letter in reversed(text):
        if sum(map(_width, end + letter)) > most // 3 - 1:
            break
        end = letter + end
    return f"{start}…{end}"


def _width(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _text(text: str) -> str:
    return re.sub("[\ufffe\uffff]", " ", printable(text))


def _styled(chart: Any, names: Sequence[str] = ()) -> Any:
    """Return a chart in the style of all, with room in its legend for the longest of the names."""
    longest = max(map(len, names), default=10)
    # At once: each call of a method of a chart copies all of it.
    styled: Any = chart.configure(
        background="transparent",
        font=_FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=_INK,
            titleColor=_INK,
            gridColor=_GRID,
            domainColor=_GREY,
            tickColor=_GREY,
            labelLimit=0,
            titleFontWeight="normal",
            labelFontSize=12,
            titleFontSize=12,
            titleLimit=0,
            labelFlush=False,
        ),
        header=alt.HeaderConfig(labelColor=_INK, titleColor=_INK, labelFontSize=12, labelLimit=0),
        legend=alt.LegendConfig(
            labelColor=_INK,
            titleColor=_INK,
            labelLimit=0,
            labelFontSize=12,
            orient="top",
            columns=max(1, min(4, _WIDTH // (7 * longest + 30))),
            columnPadding=18,
            symbolLimit=0,
            symbolOpacity=1,
        ),
        title=alt.TitleConfig(color=_INK),
    )
    return styled


def _scale(names: Sequence[str]) -> Any:
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(names))]
    return alt.Scale(domain=list(names), range=colours)


def _values(frame: pl.DataFrame, column: str) -> list[str]:
    """Return the values of a column, each once, as they come."""
    return frame[column].unique(maintain_order=True).to_list()


def _system(frame: pl.DataFrame) -> dict[str, Any]:
    """Return the encodings that tell systems apart: by colour, and by shape for who sees none."""
    names = _values(frame, "system")
    shown = alt.Legend(title=None) if len(names) > 1 else None
    shapes = [_SHAPES[index % len(_SHAPES)] for index in range(len(names))]
    return {
        "color": alt.Color("system:N", scale=_scale(names), legend=shown),
        "shape": alt.Shape("system:N", scale=alt.Scale(domain=names, range=shapes), legend=shown),
    }


_SAID = {"tooltip": "text:N", "description": "text:N"}
_NEAR = alt.Scale(zero=False)  # scales start at the data: differences are small
_FEW = alt.Axis(tickCount=6)  # labels of many ticks run into each other


def curve_chart(frame: pl.DataFrame) -> Chart:
    """Return metrics against the cut-off k, with bands of their confidence intervals."""
    frame = _clean(frame)
    system = _system(frame)
    cutoffs = frame["k"].unique().sort().to_list()
    axis = alt.Axis(format="d", values=cutoffs[:: -(-len(cutoffs) // 8)])
    base = alt.Chart(frame).encode(x=alt.X("k:Q", title="cut-off k", scale=_NEAR, axis=axis))
    band = base.mark_area(opacity=0.15, aria=False).encode(
        y=alt.Y("low:Q", title=None, scale=_NEAR), y2="high:Q", color=system["color"]
    )
    line = base.mark_line(aria=False).encode(y="value:Q", color=system["color"])
    dots = base.mark_point(filled=True, size=45).encode(y="value:Q", **system, **_SAID)
    return _faceted(band + line + dots, frame)


def _faceted(layers: Any, frame: pl.DataFrame) -> Chart:
    """Return layers side by side, one panel per metric, each with scales of its own."""
    metrics = _values(frame, "metric")
    wide = len(metrics) == 1
    panel = layers.properties(width=_WIDTH if wide else _PANEL, height=220 if wide else 170)
    field = alt.Facet("metric:N", title=None, sort=metrics)
    chart = panel.facet(facet=field, columns=1 if wide else 2)
    # A shared axis would be drawn in the empty place of an odd number of panels.
    chart = chart.resolve_scale(x="independent", y="independent")
    faceted: Chart = _styled(chart, _values(frame, "system"))
    return faceted


def pareto_chart(frame: pl.DataFrame, y: str) -> Chart:
    """Return the metric ``y`` against others, one panel each, with intervals both ways."""
    frame = _clean(frame)
    system = _system(frame)
    x = alt.X("x_value:Q", title=None, scale=_NEAR, axis=_FEW)
    base = alt.Chart(frame).encode(color=system["color"])
    across = base.mark_rule(aria=False, opacity=0.6).encode(
        x=alt.X("x_low:Q", title=None, scale=_NEAR, axis=_FEW),
        x2="x_high:Q",
        y=alt.Y("value:Q", title=_title(y, _TITLE // 2), scale=_NEAR),
    )
    up = base.mark_rule(aria=False, opacity=0.6).encode(x="x_value:Q", y="low:Q", y2="high:Q")
    dots = alt.Chart(frame).mark_point(filled=True, size=80, opacity=1).encode(x=x, y="value:Q", **system, **_SAID)
    return _faceted(across + up + dots, frame)


def _rows(frame: pl.DataFrame, row: str, title: str, looks: dict[str, Any], *, offset: str | None = None) -> Any:
    """Return a dot with its interval in each row; several in one row are drawn below another."""
    names = _values(frame, row)
    order = [] if offset is None else _values(frame, offset)
    encodings: dict[str, Any] = {
        "y": alt.Y(f"{row}:N", title=None, sort=names, scale=alt.Scale(paddingInner=0.2)),
        "color": looks["color"],
    }
    if len(order) > 1:
        encodings["yOffset"] = alt.YOffset(f"{offset}:N", sort=order)
    base = alt.Chart(frame).encode(**encodings)
    x = alt.X("low:Q", title=_title(title, _TITLE), scale=_NEAR, axis=_FEW)
    bars = base.mark_rule(strokeWidth=2, aria=False).encode(x=x, x2="high:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(x="value:Q", shape=looks["shape"], **_SAID)
    each = _ROW + 6 if len(order) < 2 else 8 + 10 * len(order)
    return (bars + dots).properties(width=_WIDTH, height=each * max(len(names), 1))


def slice_chart(frame: pl.DataFrame, title: str) -> Chart:
    """Return a metric within groups, one row per group."""
    frame = _clean(frame)
    chart: Chart = _styled(_rows(frame, "group", title, _system(frame), offset="system"), _values(frame, "system"))
    return chart


_VERDICTS = {
    "better": (COLOURS[2], "triangle-up"),
    "worse": (COLOURS[1], "triangle-down"),
    "different": (COLOURS[3], "diamond"),
    "equivalent": (COLOURS[0], "square"),
    "undecided": ("#8a8a8a", "circle"),
}


def difference_chart(frame: pl.DataFrame) -> Chart:
    """Return paired differences as dots with intervals; a rule marks no difference."""
    frame = _clean(frame)
    verdicts = [name for name in _VERDICTS if name in frame["verdict"]]
    colours, shapes = ([_VERDICTS[name][part] for name in verdicts] for part in (0, 1))
    legend = alt.Legend(title=None)
    colour, shape = (alt.Scale(domain=verdicts, range=looks) for looks in (colours, shapes))
    looks = {
        "color": alt.Color("verdict:N", legend=legend, scale=colour),
        "shape": alt.Shape("verdict:N", legend=legend, scale=shape),
    }
    zero = alt.Chart(pl.DataFrame({"zero": [0.0]})).mark_rule(strokeDash=[4, 3], color=_GREY, aria=False)
    panels = []
    for metric in _values(frame, "metric"):
        rows = frame.filter(pl.col("metric") == metric)
        drawn = _rows(rows, "pair", f"difference in {metric}", looks)
        panels.append(zero.encode(x="zero:Q") + drawn)
    chart: Chart = _styled(alt.vconcat(*panels) if len(panels) > 1 else panels[0])
    return chart


def histogram_chart(frame: pl.DataFrame, title: str, *, signed: bool = False, better: bool | None = True) -> Chart:
    """Return how many users have which value.

    If ``signed``, values are differences: gains and losses have their colours, by whether higher
    values are ``better``.
    """
    frame = _clean(frame)
    names = _values(frame, "name")
    ends: list[Any] = [frame["left"].min(), frame["right"].max()]
    edges = alt.Scale(domain=ends, nice=False)
    if signed:
        sides, colours = _SIDES[better]
        frame = _signed(frame, sides)
        scale = alt.Scale(domain=sides, range=colours)
        colour: Any = alt.Color("side:N", scale=scale, legend=alt.Legend(title=None))
    else:
        colour = alt.Color("name:N", scale=_scale(names), legend=None)
    bars = (
        alt.Chart(frame.filter(pl.col("users") > 0))  # an empty bin is nothing to point at
        .mark_bar()
        .encode(
            x=alt.X("left:Q", title=_title(title, _TITLE), bin="binned", scale=edges, axis=_FEW),
            x2="right:Q",
            y=alt.Y("users:Q", title="users"),
            color=colour,
            **_SAID,
        )
    )
    wide = len(names) == 1
    panel = bars.properties(width=_WIDTH if wide else _PANEL, height=160 if wide else 130)
    chart: Any = panel.facet(facet=alt.Facet("name:N", title=None, sort=names), columns=1 if wide else 2)
    styled: Chart = _styled(chart.resolve_scale(x="independent", y="independent"))
    return styled


_SIDES: dict[bool | None, tuple[list[str], list[str]]] = {
    True: (["loss", "around 0", "gain"], [COLOURS[1], "#8a8a8a", COLOURS[2]]),
    False: (["gain", "around 0", "loss"], [COLOURS[2], "#8a8a8a", COLOURS[1]]),
    None: (["below 0", "around 0", "above 0"], [COLOURS[3], "#8a8a8a", COLOURS[0]]),
}
"""Names and colours of differences below, around and above 0, by whether higher is better."""


def _signed(frame: pl.DataFrame, sides: Sequence[str]) -> pl.DataFrame:
    """Return bins with the side of 0 that they lie on; the bin around 0 lies on neither."""
    below, around, above = map(pl.lit, sides)
    not_above = pl.when(pl.col("right") < 0).then(below).otherwise(around)
    return frame.with_columns(side=pl.when(pl.col("left") > 0).then(above).otherwise(not_above))


def lorenz_chart(frame: pl.DataFrame) -> Chart:
    """Return Lorenz curves of exposure; the diagonal is equal exposure of all items."""
    frame = _clean(frame)
    system = _system(frame)
    equal = alt.Chart(pl.DataFrame({"items": [0.0, 1.0], "recommendations": [0.0, 1.0]}))
    diagonal = equal.mark_line(strokeDash=[4, 3], color=_GREY, aria=False)
    x = alt.X("items:Q", title="share of the items, least recommended first", axis=alt.Axis(format="%", tickCount=6))
    y = alt.Y("recommendations:Q", title="share of the recommendations", axis=alt.Axis(format="%"))
    curves = alt.Chart(frame).mark_line(aria=False).encode(x=x, y=y, color=system["color"])
    # Both ends are the same for all systems, and would lie above one another.
    inner = pl.col("items").is_between(0, 1, closed="none")
    step = pl.max_horizontal((pl.len().over("system") - 1) // 10, 1)
    inner_points = frame.filter(inner & (pl.int_range(pl.len()).over("system") % step == 0))
    dots = alt.Chart(inner_points).mark_point(filled=True, size=30).encode(x=x, y=y, **system, **_SAID)
    layers = diagonal.encode(x=x, y=y) + curves + dots
    chart: Chart = _styled(layers.properties(width=_WIDTH, height=300), _values(frame, "system"))
    return chart


def reliability_chart(frame: pl.DataFrame) -> Chart:
    """Return predicted against observed click rates, with intervals; the diagonal is perfect calibration."""
    frame = _clean(frame)
    system = _system(frame)
    ends: list[Any] = [0.0, frame.select(pl.max_horizontal("predicted", "value", "high").max()).item()]
    diagonal = alt.Chart(pl.DataFrame({"predicted": ends, "value": ends}))
    x = alt.X("predicted:Q", title="mean predicted probability", axis=_FEW)
    y = alt.Y("value:Q", title="observed rate", axis=_FEW)
    base = alt.Chart(frame).encode(x=x, color=system["color"])
    limits = base.mark_rule(aria=False, opacity=0.6).encode(y="low:Q", y2="high:Q")
    lines = base.mark_line(aria=False).encode(y=y)
    size = alt.Size("rows:Q", legend=None, scale=alt.Scale(range=[25, 200]))
    dots = alt.Chart(frame).mark_point(filled=True, opacity=1).encode(x=x, y=y, size=size, **system, **_SAID)
    equal = diagonal.mark_line(strokeDash=[4, 3], color=_GREY, aria=False).encode(x=x, y=y)
    layers = equal + limits + lines + dots
    chart: Chart = _styled(layers.properties(width=_WIDTH, height=300), _values(frame, "system"))
    return chart
