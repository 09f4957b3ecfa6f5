"""`report`: an HTML report of results and their comparison.

Charts are SVG inside the page, in its colours and fonts. Text in SVG of Vega has neither ``<`` nor
``>``, and attributes have no quotes, so that expressions for tags never change what strangers
wrote.

Intervals and bars of the page are HTML whose places are per cents of an axis, so that they fit a
phone; curves and trade-offs are SVG, which Vega-Lite draws once, in Python and not in the browser.
The page needs no charting script (0.9 MB), prints as it looks, and shows its charts where scripts
are blocked. Colours of a chart are those of a ``Look``: a theme, or the variables of the page, so
that one chart serves both themes. A part that fails, or that lacks its inputs, is a gap with the
reason.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from html import escape
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankwise.comparison.comparability import check_slices, default_primary
from rankwise.comparison.compare import compare, compare_groups
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.decision import Decision
from rankwise.comparison.design import Design
from rankwise.comparison.systems import marks
from rankwise.core import __version__
from rankwise.core.arguments import check_path
from rankwise.core.hashing import digest_of_values
from rankwise.core.terminal import Marked, TableView, csv_text
from rankwise.errors import MetricError, ParameterError, RankwiseError, UsageError
from rankwise.findings.tables import ResultTable
from rankwise.messages import call, parameter, printable
from rankwise.offpolicy.result import OffPolicy
from rankwise.reporting import report_data, report_sections, report_users
from rankwise.reporting.chart_data import Estimates, groups_of
from rankwise.reporting.forest import Forest
from rankwise.reporting.logged import logged_blocks, logged_gaps, logged_head, logged_sections
from rankwise.reporting.lookup import names_of_systems
from rankwise.reporting.plots import charts
from rankwise.reporting.report_data import (
    Block,
    Figure,
    Folded,
    Lists,
    Missing,
    Panels,
    ReportData,
    Section,
    reason,
    section,
)
from rankwise.reporting.report_head import Gap, Head, gaps, head, pairs_with_reference, reference
from rankwise.reporting.report_titles import finding_of
from rankwise.results.result import Result
from rankwise.splits.reading import truth_and_train
from rankwise.tables.columns import Columns, check_columns
from rankwise.tables.storage import new_file, output_errors, write_text

if TYPE_CHECKING:
    from jinja2 import Template

_EDGE = 12  # room for what a reader's font makes wider than it was measured
_SHRUNK = 0.92  # Verdana and DejaVu Sans are wider than Arial, by which labels are laid out
_INVISIBLE = re.compile(
    r'<path class="(?:foreground|background)"[^<>]*/>'
    r'|<text [^<>]*opacity="0">[^<>]*</text>'  # labels that would overlap
)
_TAG = re.compile("<[^<>]*>")
_DEFAULT = re.compile(
    r' (?:opacity="1"|fill-opacity="1"|pointer-events="none"|font-family="[^"]*"'
    r'|transform="translate\(0,0\)")'
)
_LONG = re.compile(r'( (?:d|transform|x2|y2)=")([^"]*")')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_FONT = re.compile(r'( font-size=")([\d.]+)px"')


def inlined(svg: str, name: str, caption: str) -> str:
    """Return an SVG for inlining in a page: named, without a fixed size or common ids."""
    head, _, body = svg.partition(">")
    width, height = (re.search(rf'{side}="([\d.]+)"', head) for side in ("width", "height"))
    assert width is not None
    assert height is not None
    wide = float(width[1]) + 2 * _EDGE
    body = _TAG.sub(lambda tag: _small(tag[0], name), _INVISIBLE.sub("", body))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="group" class="chart" '
        f'viewBox="{-_EDGE} 0 {wide:g} {height[1]}" style="max-width:{wide:g}px" '
        f'aria-label="{escape(caption, quote=True)}">{body}'
    )


def _small(tag: str, name: str) -> str:
    """Return a tag without defaults, with coordinates of two decimals and ids of this chart."""
    tag = _DEFAULT.sub("", tag)
    tag = _LONG.sub(lambda part: part[1] + _DIGITS.sub(r"\1", part[2]), tag)
    tag = _FONT.sub(lambda size: f'{size[1]}{_SHRUNK * float(size[2]):.4g}px"', tag)
    # Ids of clip paths are counted from 0 in every chart.
    return re.sub(r'(<clipPath id="|clip-path="url\(#)', rf"\g<1>{name}-", tag)


def on_white(svg: str) -> str:
    """Return an SVG file that does not depend on the colours of a page."""
    colours = charts().THEMES["light"]
    names = dict(zip(asdict(charts().PAGE).values(), asdict(colours).values(), strict=True))
    svg = _TAG.sub(lambda tag: _VARIABLE.sub(lambda name: names[name[0]], tag[0]), svg)
    return re.sub(
        r"(<svg[^>]*>)",
        rf'\1<rect width="100%" height="100%" fill="{colours.paper}"/>',
        svg,
        count=1,
    )


_VARIABLE = re.compile(r"var\(--\w+\)")
_INTERVAL = re.compile(r"^(.*?)( \[[-+\d.–, ]*\])?$", re.DOTALL)  # at the end of a value
_ROWS = 40  # of a chart's data on the page: all of them are among the assets


def sections_of(material: ReportData) -> list[Section]:
    """Return the sections of a report in reading order, without sections not asked for."""
    sections, data = report_sections, report_data
    builders: dict[tuple[str, str], dict[str, Callable[[ReportData], Sequence[Block]]]] = {
        ("decision", "The decision"): {"the decision": sections.decision},
        ("systems", "Systems"): {"the table of systems": sections.systems},
        ("differences", "Differences"): {"paired differences": sections.differences},
        ("for-whom", "For whom"): {"groups of users": sections.for_whom},
        ("examples", "Users that moved most"): {
            "users that moved most": report_users.movers,
            "examples of users": report_users.examples,
        },
        ("costs", "What accuracy costs"): {"trade-offs": sections.trade_offs},
        ("other-metrics", "Other metrics"): {"the other metrics": sections.other_metrics},
        ("thirds", "Users by activity, and by the popularity of their items"): {
            "users by activity": sections.activity,
            "users by popularity of their items": sections.truth_popularity,
        },
        ("curves", "Metrics against k"): {"curves": sections.curves},
        ("exposure", "Exposure of items"): {"the exposure of items": sections.exposure},
        ("calibration", "Calibration of probabilities"): {
            "reliability curves": sections.calibration
        },
        ("fairness", "Fairness: values of groups"): {"metrics of groups": sections.fairness},
        ("evidence", "Evidence of other studies"): {"the evidence": sections.evidence},
        ("method", "How it was done"): {"the method": sections.method},
        ("pairs", "All paired comparisons"): {"the table of pairs": sections.pair_table},
        ("values", "All values"): {"all values": sections.all_values},
        ("data", "Data and split"): {"the counts": data.data, "the split": data.split},
        ("audit", "Leakage audit"): {"the audit": data.audit},
        ("settings", "Settings, inputs and versions"): {
            "the settings": data.conventions,
            "the inputs": data.inputs,
            "notes": data.remarks,
        },
        ("words", "Words"): {"the glossary": data.glossary},
    }
    curves = any(
        m.name == "reliability_curve" for r in material.results.values() for m in r.metrics
    )
    asked = {
        "decision": material.decision is not None,
        "evidence": bool(material.evidence),
        "calibration": curves,
        "examples": material.show_users,
    }
    made = [
        section(name, title, material, parts)
        for (name, title), parts in builders.items()
        if asked.get(name, True)
    ]
    return [
        replace(part, folded=part.name in _FOLDED, finding=_finding(part.name, material))
        for part in made
    ]


def _finding(section: str, material: ReportData) -> str:
    """Return the finding of a section; empty if it cannot be said, which loses nothing."""
    try:
        return finding_of(section, material)
    except RankwiseError:
        return ""


_FOLDED = {
    "thirds",
    "curves",
    "exposure",
    "fairness",
    "pairs",
    "values",
    "data",
    "audit",
    "settings",
    "words",
}
"""Sections that a reader opens: nothing in them decides."""


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """One self-contained HTML page about results and their comparison.

    Attributes
    ----------
    title : str
        The title of the page.
    sections : sequence of Section
        The sections of the page, in order.
    head : Head
        The verdict, the facts behind it, and what was not looked at.
    gaps : sequence of Gap
        Everything that was not looked at, each with the command that would.
    systems : sequence of str
        The systems that a reader can hide, rename and highlight.
    words : mapping of str to str
        What each value says, in a sentence.
    """

    title: str
    sections: Sequence[Section]
    head: Head
    gaps: Sequence[Gap]
    systems: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def html(self) -> str:
        """The page as one self-contained HTML text, which opens without a network."""
        return _template().render(
            title=self.title,
            head=self.head,
            gaps=self.gaps,
            sections=[part for part in self.sections if _shown(part.blocks)],
            version=__version__,
            systems=names_of_systems(self.systems),
            words=self.words,
            kind=lambda block: type(block).__name__.lower(),
            svg=self._svg,
            cells=_cells,
            data=_data,
        )

    @property
    def missing(self) -> dict[str, str]:
        """The sections that could not be computed, with the reasons."""
        return {block.what: block.reason for block in _missing_of(self.sections)}

    @property
    def figures(self) -> list[Figure]:
        """The charts of the page."""
        blocks = (block for section in self.sections for block in _every(section.blocks))
        return [block for block in blocks if isinstance(block, Figure)]

    def save(self, path: str | Path) -> Path:
        """Write the page atomically.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        file = check_path("path", path)
        html = self.html
        with output_errors(file):
            write_text(file, html)
        return file

    def save_assets(self, folder: str | Path) -> list[Path]:
        """Write every chart as SVG and PNG, and its data as CSV; return the files.

        Raises
        ------
        OutputError
            If the folder cannot be written.
        """
        out = check_path("folder", folder)
        files = []
        with output_errors(out):
            out.mkdir(parents=True, exist_ok=True)
            for figure in self.figures:
                for name, content in _assets(figure).items():
                    new_file(out / name, partial(_write, content))
                    files.append(out / name)
        return files

    def _repr_html_(self) -> str:
        page = base64.b64encode(self.html.encode()).decode()
        source = f"data:text/html;base64,{page}"
        return (
            f'<iframe title="{escape(self.title, quote=True)}" src="{source}" '
            'style="width:100%;height:70vh;border:1px solid #888"></iframe>'
        )

    def __repr__(self) -> str:
        missing = "".join(f"\n  without {what}: {why}" for what, why in self.missing.items())
        return f"<Report {self.title!r}: {len(self.figures)} charts>{printable(missing)}"

    def _svg(self, figure: Figure) -> Mapping[str, str]:
        """Return a figure's chart as SVG, or the reason why drawing failed."""
        try:
            return {
                "svg": inlined(_drawn(figure), figure.name, printable(figure.caption)),
                "why": "",
            }
        except Exception as error:  # noqa: BLE001 - one chart is not worth a page
            return {"svg": "", "why": reason(error)}


def _template() -> Template:
    try:
        import jinja2
    except ImportError as error:
        raise UsageError(
            "a report is written with Jinja2", hint='pip install "rankwise[report]"'
        ) from error
    text = resources.files("rankwise.reporting").joinpath("page.html.j2").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every text is on one line and can be encoded; markup is text that was escaped already.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    environment.filters |= {"breaks": _breakable, "together": _unbroken}
    return environment.from_string(text)


_SHORT = 20  # characters of a name that stays on one line
_AFTER = re.compile(r"(?<=[_/(,=])(?=.)")
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%)")


def _breakable(text: str) -> Any:
    """Return a name that may wrap between its parts if it is long, never within a number or a word."""
    import markupsafe

    parts = _AFTER.split(printable(text)) if len(text) > _SHORT else [printable(text)]
    return markupsafe.Markup("<wbr>").join(parts)


def _unbroken(text: str) -> str:
    """Return a sentence in which no number is parted from its per cent sign."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def _every(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield blocks, and the blocks and charts inside them."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from _every(block.blocks)
        if isinstance(block, Forest) and block.figure is not None:
            yield block.figure
        if isinstance(block, Panels):
            yield from (chart for chart in block.charts if isinstance(chart, Figure))


def _missing_of(sections: Sequence[Section]) -> list[Missing]:
    """Return the parts that could not be computed, each once."""
    blocks = [block for section in sections for block in _every(section.blocks)]
    return [*{block.what: block for block in blocks if isinstance(block, Missing)}.values()]


def _shown(blocks: Sequence[Block]) -> bool:
    """Return whether a block shows anything; missing parts are listed among the gaps."""
    return any(not isinstance(block, Missing) for block in blocks)


def _drawn(figure: Figure) -> str:
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError(
            "charts are drawn with vl-convert", hint='pip install "rankwise[report]"'
        ) from error
    svg: str = vl_convert.vegalite_to_svg(charts().specification(figure.draw(figure.data)))
    return svg


def _assets(figure: Figure) -> dict[str, bytes]:
    """Return the files of a chart: its data, and its images if they can be drawn."""
    files = {f"{figure.name}.csv": csv_text(figure.data.drop("text", strict=False)).encode()}
    try:
        svg = on_white(_drawn(figure))
        import vl_convert

        png = vl_convert.svg_to_png(svg, scale=2)
    except Exception:  # noqa: BLE001 - the page says why; the data are there
        return files
    return files | {f"{figure.name}.svg": svg.encode(), f"{figure.name}.png": png}


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _data(figure: Figure) -> Mapping[str, Any]:
    """Return the data of a chart as a table for the page, and how many rows are left out."""
    frame = figure.data.drop("text", strict=False)
    rows = [
        [
            "–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
            for value in row
        ]
        for row in frame.head(_ROWS).iter_rows()
    ]
    left = [index for index, dtype in enumerate(frame.dtypes) if not dtype.is_numeric()]
    return {"view": TableView(frame.columns, rows, left=left), "more": max(len(frame) - _ROWS, 0)}


def _cells(view: TableView) -> list[list[dict[str, Any]]]:
    """Return the cells of a table for the template, with their sort keys."""
    out = []
    for row in view.rows:
        cells = []
        for alignment, cell in zip(view.alignment, row, strict=True):
            marked = cell if isinstance(cell, Marked) else Marked(cell)
            text = printable(marked.text)
            value, interval = _INTERVAL.match(text).groups("")  # type: ignore[union-attr]
            key = _sort_key(text)
            cells.append(
                {
                    "text": value,
                    "interval": interval,
                    "style": marked.style,
                    "raised": marked.raised,
                    "left": alignment == "left",
                    "key": "" if key == text else key,
                }
            )
        out.append(cells)
    return out


def _sort_key(text: str) -> str:
    """Return the number that a cell begins with, or its text."""
    match = re.match(r"^[-+−<]?\d[\d,]*(\.\d+)?", text)
    return match[0].replace(",", "").replace("−", "-").lstrip("<") if match else text


def make_report(
    results: Mapping[str, Result],
    comparison: tuple[pl.DataFrame, Design] | None,
    *,
    not_compared: str = "",
    primary: str | None = None,
    title: str | None = None,
    runs: Mapping[str, Any] | None = None,
    tables: Mapping[str, Any] | None = None,
    columns: Columns | None = None,
    audit: Any = None,
    decision: Any = None,
    evidence: Any = (),
    show_users: bool,
) -> Report:
    """Return the report of results, and of the table and design of their comparison if any.

    ``runs`` are recommendation lists by system, ``tables`` those of ``truth``, ``train`` and
    ``items``, and ``columns`` the columns of all of these.
    """
    if not results:
        raise ParameterError(
            "this comparison was read from a file, which holds no results",
            hint="make the report from the results that were compared",
        )
    table, design = comparison or (None, Design())
    if comparison is not None:
        design.check_is_plain("a report", over_requests=True, with_noise=True)

    runs = dict(runs or {})
    _check_runs(runs, results)
    checks = _checks_of(audit)
    if decision is not None:
        _check_decided_systems(_checked_decision(decision), results)
    studies = list(evidence) if isinstance(evidence, list | tuple) else [evidence]
    logs = [study for study in studies if isinstance(study, OffPolicy)]
    views = _views_of(studies)

    main = design.primary or _main(next(iter(results.values())), primary)
    tables = {role: source for role, source in (tables or {}).items() if source is not None}
    check_columns(columns, ["recommendations", "truth", "train", "items"])
    material = _with_groups(
        ReportData(
            Estimates(results, design.alpha),
            main,
            table,
            not_compared,
            design,
            Lists(results, runs, tables, columns),
            checks,
            decision,
            views,
            show_users=show_users,
        )
    )

    heading = title or _default_title(results, main)
    sections = _insert_logs(sections_of(material), logs)
    found = gaps(material, _missing_of(sections))
    first = _make_head(material, heading, found, studies)
    return Report(heading, sections, first, found, [*results], material.summaries)


def _check_runs(runs: Mapping[str, Any], results: Mapping[str, Result]) -> None:
    """Raise if recommendation lists are of a system without a result."""
    unknown = [name for name in runs if name not in results]
    if unknown:
        raise ParameterError(
            f"recommendations of {unknown[0]!r}, which is not a result", found=", ".join(results)
        )


def _checks_of(audit: Any) -> pl.DataFrame | Literal[False] | None:
    """Return the checks of an audit; None where it is to be made, False where it is not."""
    if audit is None or isinstance(audit, bool):
        return None if audit is not False else False
    checks = getattr(audit, "table", None)
    if not isinstance(checks, pl.DataFrame):
        raise ParameterError(
            f"audit takes what {call('audit')} returns, or whether to audit",
            found=type(audit).__name__,
        )
    return checks


def _checked_decision(decision: Any) -> Decision:
    if not isinstance(decision, Decision):
        raise ParameterError(
            f"decision takes what {call('decide')} returns", found=type(decision).__name__
        )
    return decision


def _check_decided_systems(decision: Decision, results: Mapping[str, Result]) -> None:
    """Raise if a decision is about a system without a result, or about other values of it."""
    rule = decision.record["rule"]
    absent = [rule[side] for side in ("baseline", "system") if rule[side] not in results]
    if absent:
        raise ParameterError(
            f"the decision is about {absent[0]!r}, which is not a result here",
            found=", ".join(results),
        )
    for name, own in decision.record["inputs"].items():
        if own["per_user"] != digest_of_values(results[name].per_user):
            raise _other_values_error(name)


def _other_values_error(name: str) -> ParameterError:
    return ParameterError(
        "the decision was made from other values than these",
        where=name,
        hint=f"decide again from what is reported: {call('decide')}",
    )


def _views_of(studies: Sequence[Any]) -> list[TableView]:
    """Return the tables of studies other than logs; raise for an object that has none."""
    views: list[list[TableView]] = [
        getattr(study, "views", []) for study in studies if not isinstance(study, OffPolicy)
    ]
    if not all(views):
        raise ParameterError(
            f"evidence takes what {call('off_policy')}, validate_metrics and judged return",
            found=", ".join(type(study).__name__ for study in studies),
        )
    return list(chain.from_iterable(views))


def _main(result: Result, primary: str | None) -> str:
    """Return the primary metric of a single result: as asked, or as `rankwise.compare` chooses."""
    if primary is not None:
        return result.cell(primary)
    if not result.values:
        raise MetricError("the result has no values")
    return default_primary(result, list(result.values))


def _default_title(results: Mapping[str, Result], main: str) -> str:
    """Return the names of the systems, or the number of many, and the primary metric."""
    systems = ", ".join(results) if len(results) < 6 else f"{len(results)} systems"
    return f"{systems}: {main}"


def _insert_logs(sections: list[Section], logs: Sequence[OffPolicy]) -> list[Section]:
    """Insert a section for each log before the one on the method."""
    at = next(number for number, part in enumerate(sections) if part.name == "method")
    of_logs = [
        Section("logged", "Policies on logged impressions", logged_blocks(log)) for log in logs
    ]
    return [*sections[:at], *of_logs, *sections[at:]]


def _make_head(
    material: ReportData, heading: str, found: Sequence[Gap], studies: Sequence[Any]
) -> Head:
    """Make the head of a report, with the remarks of studies; where it fails, with the reason."""
    asides = [text for study in studies if isinstance(study, ResultTable) for text in study.asides]
    try:
        first = head(material, heading, found)
        return replace(first, more=[*first.more, *asides])
    except Exception as error:  # noqa: BLE001 - the page says it, and shows the rest
        return Head([heading], "", reason(error), [], [], [gap.title for gap in found[:3]])


def report(
    results: Result | Comparison | Iterable[Result] | Mapping[str, Result] | OffPolicy,
    *,
    primary: str | None = None,
    baseline: str | None = None,
    title: str | None = None,
    recommendations: Mapping[str, Any] | None = None,
    truth: Any = None,
    train: Any = None,
    items: Any = None,
    columns: Columns | None = None,
    audit: Any = None,
    decision: Any = None,
    evidence: Any = (),
    show_users: bool = True,
) -> Report:
    """Make an HTML report: the verdict, its evidence, the groups, the costs, and the gaps.

    The report is one self-contained HTML file, which opens without a network. What cannot be
    computed is listed at its end with the reason, and the command that would compute it.
    Recommendation lists and tables are read again from the files that the results name, if these
    are unchanged; pass tables that were passed.

    Parameters
    ----------
    results : Result, Comparison, OffPolicy, list of Result, or mapping of str to Result
        The results to report. Several results are compared; in a list they are called A, B, …. Of
        the result of `rankwise.off_policy` a report takes ``title`` and ``decision`` alone.
    primary : str, optional
        The primary metric; by default that of the comparison.
    baseline : str, optional
        Compare every other result with this one; by default all pairs.
    title : str, optional
        The title of the page.
    recommendations : mapping of str to table or path, optional
        The recommendation lists of each result, for item exposure and examples of users.
    truth : table or path, optional
        The ground truth, or a split or the folder of one. Of a split it is the test part.
    train : table or path, optional
        The training interactions; by default those of the split.
    items : table or path, optional
        The items with their titles.
    columns : mapping of str to str or None, optional
        The columns of tables that are passed here, where their names are not recognised:
        ``{"truth.relevance": "stars"}``, as for `rankwise.evaluate`.
    audit : Audit or bool, optional
        The audit of the split, from `rankwise.audit`. By default training interactions and ground
        truth are audited, if both can be read; False leaves the audit out.
    decision : Decision, optional
        The decision, from `rankwise.decide`.
    evidence : OffPolicy, MetricValidation, JudgedResult, Nulls, …, or a list of them, optional
        Policies on logged impressions, from `rankwise.off_policy`; past launches, from
        `rankwise.validate_metrics`; human and model labels, from `rankwise.judged`; what is
        personal, from `rankwise.nulls`, which is also said below the verdict.
    show_users : bool, default=True
        Whether users are named: those that moved most, and others by id, with their lists and
        their last training interactions. False for a page that leaves the team.

    Returns
    -------
    Report
        ``html``, ``save(path)``, ``save_assets(folder)``, ``missing``; notebooks display it.

    Raises
    ------
    UsageError
        If a name is unknown, or the extra ``report`` is not installed.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {user: {1, 2} for user in range(40)}
    >>> a = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
    >>> b = rw.evaluate({user: [1, 2 + user % 2] for user in truth}, truth, "recall@2")
    >>> page = rw.report({"a": a, "b": b})
    >>> "b beats a on recall@2: 0.750 against 0.500" in page.html
    True
    """
    if isinstance(results, OffPolicy):
        others: dict[str, Any] = {
            "primary": primary,
            "baseline": baseline,
            "recommendations": recommendations or None,
        }
        others |= {
            "truth": truth,
            "train": train,
            "items": items,
            "columns": columns or None,
            "audit": audit,
        }
        others |= {"evidence": None if evidence == () else evidence}
        others |= {"show_users": None if show_users else show_users}
        _check_unused(others)
        return _of_log(results, title, decision)
    named, comparison, why = _compared(results, primary, baseline)
    truth, train = truth_and_train(truth, train, columns)
    return make_report(
        named,
        None if comparison is None else (comparison.table, comparison.design),
        not_compared=why,
        primary=primary,
        title=title,
        runs=recommendations or {},
        tables={"truth": truth, "train": train, "items": items},
        columns=columns,
        audit=audit,
        decision=decision,
        evidence=evidence,
        show_users=show_users,
    )


def _check_unused(options: Mapping[str, Any]) -> None:
    """Raise if an option is passed that a report of logged impressions does not know."""
    passed = [name for name, value in options.items() if value is not None]
    if passed:
        raise ParameterError(
            "a report of logged impressions has no such option",
            found=", ".join(map(parameter, passed)),
            hint=f"leave {parameter(passed[0])} out: the log has its policies, its baseline and its rewards",
        )


def _of_log(result: OffPolicy, title: str | None, decision: Any) -> Report:
    """Return the page about policies on one log."""
    heading = title or f"{', '.join(result.policies[1:])}: logged impressions"
    sections = logged_sections(result)
    if decision is not None:
        decision = _checked_decision(decision)
        rule = decision.record["rule"]
        unknown = {rule["baseline"], rule["system"]} - {*result.policies}
        if unknown:
            raise ParameterError(
                f"the decision is about {min(unknown)!r}, which is no policy here",
                found=", ".join(result.policies),
            )
        made_from = {own["per_user"] for own in decision.record["inputs"].values()}
        if result.inputs["per_user"] not in made_from:
            raise _other_values_error("the log")
        sections.insert(0, Section("decision", "The decision", report_sections.checks(decision)))
    gaps_of_log = logged_gaps(result)
    return Report(
        heading, sections, logged_head(result, heading, decision, gaps_of_log), gaps_of_log
    )


def _compared(
    results: Any, primary: str | None, baseline: str | None
) -> tuple[dict[str, Result], Comparison | None, str]:
    """Return results by name, their comparison, and why there is none."""
    if isinstance(results, Comparison):
        if baseline is not None or primary is not None:
            raise ParameterError(
                "a comparison has its baseline and its primary metric already",
                hint=f"pass the results of the comparison, and {parameter('baseline')}",
            )
        return dict(results.results), results, ""

    named = _results_by_name(results)
    if baseline is not None and baseline not in named:
        raise ParameterError(f"there is no result {baseline!r}", found=", ".join(named))
    if primary is not None:
        primary = next(iter(named.values())).cell(primary)

    if len(named) == 1:
        return named, None, "a single result cannot be compared"
    try:
        return named, compare(named, primary=primary, baseline=baseline), ""
    except Exception as error:  # noqa: BLE001 - the page says it, and shows the rest
        return named, None, reason(error)


def _results_by_name(results: Any) -> dict[str, Result]:
    """Return results by name, those of a list as A, B, …; raise for anything else."""
    if isinstance(results, Result):
        results = {"result": results}
    if not isinstance(results, Mapping):
        several = list(results) if isinstance(results, Iterable) else [results]
        names = map(str.upper, marks(len(several)))
        results = dict(zip(names, several, strict=True))

    named = dict(results)
    wrong = [f"{n!r}: {type(r).__name__}" for n, r in named.items() if not isinstance(r, Result)]
    if wrong or not named or not all(isinstance(name, str) for name in named):
        raise ParameterError(
            "a report needs results",
            found=", ".join(wrong) or "no result by name",
            hint="pass rw.report({name: result, …}), or a comparison",
        )
    return named


def _with_groups(material: ReportData) -> ReportData:
    """Return the data of a report with differences from the reference within groups of users."""
    rows = pairs_with_reference(material)
    if not rows:
        return material
    baseline = reference(material)
    compared = {name: material.results[name] for name in (baseline, *(r["system"] for r in rows))}
    differences, reasons = {}, {}
    for by in groups_of(material.results):
        try:
            if not material.design.forced:
                check_slices(compared, by)
            made = compare_groups(compared, material.design, by, baseline=baseline, force=True)
            differences[by] = made.table
        except Exception as error:  # noqa: BLE001 - the page says it, and shows the rest
            reasons[by] = reason(error)
    return replace(material, group_differences=differences, groups_not_compared=reasons)
