"""The report as a page: sections in order, charts as SVG inside it, and as files beside it."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwise.core.arguments import check_path
from rankwise.core.version import __version__
from rankwise.core.view import Marked, TableView, csv_text
from rankwise.errors import RankwiseError, UsageError, printable
from rankwise.results.plots.plots import charts
from rankwise.results.report import behaviour, outcome, record
from rankwise.results.report.blocks import Block, Figure, Folded, Missing, Section, fault, reason, section
from rankwise.results.report.inline import inlined, on_white
from rankwise.results.report.material import Material
from rankwise.tables.atomic_files import new_file, output_errors, write_text

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["Report", "sections_of"]

_INTERVAL = re.compile(r"^(.*?)( \[[-+\d.–, ]*\])?$", re.DOTALL)  # at the end of a value
_ROWS = 100  # of a chart's data on the page: all of them are among the assets


def sections_of(material: Material) -> list[Section]:
    """Return the sections of a report, in the order in which a reader asks."""
    m = material
    decided = (
        [] if m.decision is None else [section("decision", "Decision", ("the decision", lambda: outcome.decision(m)))]
    )
    return [
        section("verdict", "Verdict", ("the verdict", lambda: outcome.verdict(m))),
        *decided,
        section(
            "leaderboard",
            "Leaderboard",
            ("the leaderboard", lambda: outcome.leaderboard(m)),
            ("all values", lambda: outcome.all_values(m)),
        ),
        section(
            "differences",
            "Paired differences",
            ("paired differences", lambda: outcome.differences(m)),
            ("the table of pairs", lambda: outcome.pair_table(m)),
        ),
        section("curves", "Measures against k", ("curves", lambda: outcome.curves(m))),
        section(
            "trade-offs", "Accuracy against coverage, novelty and bias", ("trade-offs", lambda: outcome.trade_offs(m))
        ),
        section(
            "slices",
            "For whom: groups of users and items",
            ("groups", lambda: behaviour.given_slices(m)),
            ("users by activity", lambda: behaviour.activity(m)),
            ("users by popularity of their items", lambda: behaviour.truth_popularity(m)),
        ),
        section("users", "Who gains and who loses", ("the distribution over users", lambda: outcome.distribution(m))),
        section("exposure", "Exposure of items", ("the exposure of items", lambda: behaviour.exposure(m))),
        section("fairness", "Fairness: values of groups", ("measures of groups", lambda: behaviour.fairness(m))),
        section(
            "data",
            "Data, split and audit",
            ("the counts", lambda: record.data(m)),
            ("the split", lambda: record.split(m)),
            ("the audit", lambda: record.audit(m)),
        ),
        section(
            "examples", "Users where the systems differ most", ("examples of users", lambda: behaviour.examples(m))
        ),
        section(
            "conventions",
            "Conventions and provenance",
            ("the settings", lambda: record.conventions(m)),
            ("the inputs", lambda: record.inputs(m)),
            ("notes", lambda: record.remarks(m)),
        ),
        section("glossary", "Glossary", ("the glossary", lambda: record.glossary(m))),
    ]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """One self-contained HTML page about results and their comparison.

    Attributes
    ----------
    title : str
        The title of the page.
    sections : sequence of Section
        The sections of the page, in order.
    """

    title: str
    sections: Sequence[Section]

    @cached_property
    def html(self) -> str:
        """The page as one self-contained HTML text, which opens without a network."""
        return _template().render(
            title=self.title,
            sections=self.sections,
            version=__version__,
            kind=lambda block: type(block).__name__.lower(),
            svg=self._svg,
            cells=_cells,
            data=_data,
        )

    @property
    def missing(self) -> dict[str, str]:
        """The sections that could not be computed, with the reasons."""
        blocks = (block for section in self.sections for block in _every(section.blocks))
        return {block.what: block.why for block in blocks if isinstance(block, Missing)}

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
        """Return the chart of a figure as SVG, or why it could not be drawn."""
        try:
            return {"svg": inlined(_drawn(figure), figure.name, printable(figure.caption)), "why": ""}
        except RankwiseError as error:
            return {"svg": "", "why": reason(error)}
        except Exception as error:  # noqa: BLE001 - one chart is not worth a page
            return {"svg": "", "why": fault(error)}


def _template() -> Template:
    try:
        import jinja2
    except ImportError as error:
        raise UsageError("a report is written with Jinja2", hint='pip install "rankwise[report]"') from error
    text = resources.files("rankwise.results.report").joinpath("page.html.j2").read_text("utf-8")
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Every text is on one line and can be encoded; markup is text that was escaped already.
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    return environment.from_string(text)


def _every(blocks: Sequence[Block]) -> Iterator[Block]:
    """Return blocks and those folded away in them."""
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from _every(block.blocks)


def _drawn(figure: Figure) -> str:
    try:
        import vl_convert
    except ImportError as error:
        raise UsageError("charts are drawn with vl-convert", hint='pip install "rankwise[report]"') from error
    svg: str = vl_convert.vegalite_to_svg(charts().specification(figure.draw(figure.data)))
    return svg


def _assets(figure: Figure) -> dict[str, bytes]:
    """Return the files of a chart: its data, and the chart if it can be drawn."""
    files = {f"{figure.name}.csv": csv_text(figure.data.drop("text", strict=False)).encode()}
    try:
        alone = on_white(_drawn(figure))
        import vl_convert

        png = vl_convert.svg_to_png(alone, scale=2)
    except Exception:  # noqa: BLE001 - the page says why; the data are there
        return files
    return files | {f"{figure.name}.svg": alone.encode(), f"{figure.name}.png": png}


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def _data(figure: Figure) -> Mapping[str, Any]:
    """Return the data of a chart as a table for the page, and how many rows are left out."""
    frame = figure.data.drop("text", strict=False)
    rows = [
        ["–" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value) for value in row]
        for row in frame.head(_ROWS).iter_rows()
    ]
    left = [index for index, dtype in enumerate(frame.dtypes) if not dtype.is_numeric()]
    return {"view": TableView(frame.columns, rows, left=left), "more": max(len(frame) - _ROWS, 0)}


def _cells(view: TableView) -> list[list[dict[str, Any]]]:
    """Return the cells of a table for the template, with what they are sorted by."""
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
