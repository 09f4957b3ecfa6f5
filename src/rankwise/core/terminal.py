"""Tables for terminals, notebooks, JSON, CSV, Markdown and LaTeX; and the progress bar."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, TypeVar

import polars as pl

from rankwise.core.arguments import check_choice
from rankwise.messages import HIDDEN, printable

if TYPE_CHECKING:
    from tqdm import tqdm


def terminal_width() -> int | None:
    """Return the number of columns of the terminal; None if output goes elsewhere."""
    if sys.stdout is not None and sys.stdout.isatty():
        return shutil.get_terminal_size(fallback=(0, 0)).columns or None
    return None


PAGE = 80
"""The columns of text that goes into a file or a pipe."""
_PATIENCE = 1.0


class _Hidden:
    """No bar, for which tqdm need not be loaded."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, steps: float) -> None:
        """Do nothing."""


def progress_bar(total: int, unit: str, *, shown: bool | None = None) -> tqdm[Any] | _Hidden:
    """Return a bar on stderr that appears after a second.

    Parameters
    ----------
    total : int
        Steps in all.
    unit : str
        What a step is.
    shown : bool or None, default=None
        True: always; False: never; None: if stderr is a terminal.
    """
    if shown is False or (shown is None and not sys.stderr.isatty()):
        return _Hidden()
    from tqdm import tqdm

    return tqdm(total=total, unit=f" {unit}", delay=_PATIENCE, leave=False)


Format: TypeAlias = Literal["json", "csv", "markdown", "latex"]
Detail: TypeAlias = Literal["verdict", "table", "full"]
"""How much is shown: the verdict alone, with one table, or everything that is known."""
Style: TypeAlias = Literal["", "bold", "underlined", "better", "worse"]
_MARKUP = r"[\\|<>*`~#&$!\[\]]|(?<!\w)_|_(?!\w)"  # inside a word _ is none
_FORMULA = r"^\s*[=+\-@＝＋－＠]"  # spreadsheets take full-width signs as well
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?$"
_JOINER = "\u2060"  # WORD JOINER: a character of width 0


@dataclass(frozen=True)
class Marked:
    """The text of a cell with marks; `plain` leaves the marks out."""

    text: str
    style: Style = ""
    raised: str = ""


Cell: TypeAlias = str | Marked


@dataclass(frozen=True, eq=False)
class TableView:
    """A table for display; the text has no markup, so that any writer can escape the text.

    Columns in ``left`` are aligned to the left, the others to the right. ``title`` and ``label``
    are for LaTeX alone, whose notes a reader does not see: ``title`` opens the caption, ``label``
    is what the text refers to, as ``tab:label``. Columns in ``leaving`` are left out of a terminal
    that is too narrow for all, the first one first.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    caption: str = ""
    left: Sequence[int] = (0,)
    leaving: Sequence[int] = ()
    title: str = ""
    label: str = ""

    @property
    def alignment(self) -> list[str]:
        """The alignment of each column."""
        return ["left" if index in self.left else "right" for index in range(len(self.head))]


_MINUS = "−"  # U+2212, as wide as a plus


def format_number(value: float | None) -> str:
    """Return a value as text: four decimals, none for whole numbers above 1, a dash for NaN.

    >>> format_number(0.123456), format_number(-17.0), format_number(float("nan"))
    ('0.1235', '−17', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else f"{_MINUS}inf"
    text = f"{value:.0f}" if value == round(value) and abs(value) > 1 else f"{value:.4f}"
    return text.replace("-", _MINUS)


def decimals(*values: float | None) -> int:
    """Return decimals for three significant digits of the largest value: at most 6; 4 for 0.

    >>> decimals(0.0534, 0.0568), decimals(3.78), decimals(0.0, float("nan"))
    (4, 2, 4)
    """
    largest = max(
        (abs(value) for value in values if value is not None and math.isfinite(value)), default=0.0
    )
    return min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest else 4


def brief(value: float | None, places: int | None = None) -> str:
    """Return a value with three significant digits, or so many decimals; a dash for NaN.

    >>> brief(0.06588), brief(0.46751), brief(3.1083), brief(-17.0), brief(12345.6), brief(0.0), brief(0.000144, 4)
    ('0.0659', '0.468', '3.11', '−17', '12,346', '0', '0.0001')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else f"{_MINUS}inf"
    if value == round(value) and (not value or abs(value) > 1):
        return f"{value + 0.0:,.0f}".replace("-", _MINUS)  # -0.0 becomes 0.0
    text = f"{value:,.{decimals(value) if places is None else places}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", _MINUS)


def signed(value: float | None, places: int | None = None) -> str:
    """Return a difference with its sign, and three significant digits or so many decimals.

    >>> signed(0.0456), signed(-0.0151), signed(0.0), signed(float("nan"))
    ('+0.0456', '−0.0151', '0', '–')
    """
    text = brief(value, places)
    return f"+{text}" if value is not None and value > 0 and text.strip("0.") else text


def change(value: float | None, *, unit: str = " %", tiny: int = 1) -> str:
    """Format a relative difference in per cent: one decimal below 10, ``tiny`` if that shows 0.

    >>> change(2.246), change(-0.0812), change(0.00004), change(float("nan"))
    ('+225 %', '−8.1 %', '0 %', '–')
    """
    if value is None or not math.isfinite(value):
        return "–" if value is None or math.isnan(value) else signed(value) + unit
    places = 0 if abs(100 * value) >= 9.95 else 1 if abs(100 * value) >= 0.05 else tiny
    text = f"{100 * value:+,.{places}f}"
    return ("0" if float(text.replace(",", "")) == 0 else text.replace("-", _MINUS)) + unit


def first_names(names: Sequence[str]) -> str:
    """Return the first three names, and the number of further names.

    >>> first_names(["gini@5", "arp@5", "hhi@5", "entropy@5"])
    'gini@5, arp@5, hhi@5 and 1 more'
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun, in the singular for one.

    >>> count_of(1, "user"), count_of(1200, "request")
    ('1 user', '1,200 requests')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def percent(share: float, places: int = 0) -> str:
    """Format a share in per cent.

    >>> percent(0.123), percent(-0.29), percent(0.00084, 2), percent(float("nan"))
    ('12 %', '−29 %', '0.08 %', '–')
    """
    return "–" if math.isnan(share) else f"{brief(100 * share, places)} %"


def level_text(confidence: float) -> str:
    """Format a confidence level in per cent, exact or with four digits, but never as 100.

    >>> level_text(0.95), level_text(1 - 0.001), level_text(1 - 0.05 / 3), level_text(1 - 1e-7)
    ('95 %', '99.9 %', '98.33 %', '99.99999 %')
    """
    level = 100 * confidence
    text = f"{level:.6g}"
    if abs(float(text) - level) > 1e-9 and level < 99.99:
        text = f"{level:.4g}"
    digits = 7
    while float(text) >= 100 > level and digits < 16:
        text, digits = f"{level:.{digits}g}", digits + 1
    return f"{text} %"


@dataclass(frozen=True, eq=False, repr=False)
class _Medium:
    """The escapes of a medium for foreign text, such as ids and group names, and its marks."""

    escape: Callable[[str], str] = str
    styles: Mapping[str, str] = field(default_factory=dict)
    raised: str = ""

    def text(self, text: str) -> str:
        """Return text on one line, escaped."""
        return self.escape(printable(text))

    def cells(self, view: TableView) -> list[list[str]]:
        """Return the cells of a table as text, its head first."""
        return [[self.cell(cell) for cell in row] for row in (view.head, *view.rows)]

    def cell(self, cell: Cell) -> str:
        """Return the text of a cell with its marks, escaped."""
        if isinstance(cell, str):
            return self.text(cell)
        text = self.styles.get(cell.style, "{}").format(self.text(cell.text))
        return text + self.raised.format(cell.raised) if cell.raised else text


def _styles(bold: str, underlined: str) -> dict[str, str]:
    """Return the marks of a medium without colours: outcomes are bold."""
    return {**dict.fromkeys(("bold", "better", "worse"), bold), "underlined": underlined}


def _width(text: str) -> int:
    """Return the columns that a text takes: 0 for colours and combining marks, 2 for wide ones."""
    return sum(map(_columns, re.sub(_COLOURS, "", text)))


def _columns(letter: str) -> int:
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _aligned(
    rows: Sequence[Sequence[str]], alignment: Sequence[str], separators: tuple[str, str, str]
) -> list[str]:
    """Return one line per row, cells padded to the width of their column."""
    start, between, end = separators
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        blanks = [" " * (width - _width(cell)) for width, cell in zip(widths, row, strict=True)]
        cells = [
            cell + blank if side == "left" else blank + cell
            for cell, blank, side in zip(row, blanks, alignment, strict=True)
        ]
        lines.append((start + between.join(cells) + end).rstrip())
    return lines


_COLOURS = "\x1b\\[[0-9;]*m"
_PLAIN = _Medium()
_TERMINAL = _Medium(
    styles={
        "bold": "\x1b[1m{}\x1b[0m",
        "better": "\x1b[1;36m{}\x1b[0m",
        "worse": "\x1b[1;33m{}\x1b[0m",
    }
)


def plain(*views: TableView, coloured: bool = False) -> str:
    """Return tables as aligned text for a terminal, or for a page of 80 columns.

    Of a table that is too wide, columns leave that may; the others are continued below with the
    first column repeated, so that no number is cut. Without a terminal these stay as wide as they
    are.
    """
    medium, limit = _TERMINAL if coloured else _PLAIN, terminal_width()
    blocks = [block for view in views for block in _plain_blocks(view, medium, limit)]
    return "\n\n".join(block for block in blocks if block)


def _plain_blocks(view: TableView, medium: _Medium, limit: int | None) -> list[str]:
    """Return the paragraphs of a table: its caption with the first part, other parts, notes."""
    caption = "\n".join(_wrapped([view.caption], limit or PAGE, medium, "bold"))
    notes = "\n".join(_wrapped(view.notes, limit or PAGE, medium))
    parts = _plain_parts(view, medium, limit)
    if not parts:  # a verdict, and what belongs to it
        return ["\n".join(filter(None, (caption, notes)))]

    between = "\n\n" if view.leaving else "\n"  # a verdict stands by itself
    return [between.join(filter(None, (caption, parts[0]))), *parts[1:], notes]


def _plain_parts(view: TableView, medium: _Medium, limit: int | None) -> list[str]:
    """Return the aligned rows of a table, in as many parts as the limit needs."""
    cells = medium.cells(view)
    fitting = _fitting(cells, view.leaving, limit or PAGE)
    if not fitting:
        return []

    alignment = [view.alignment[index] for index in fitting]
    rows = _folded([_pick(row, fitting) for row in cells], limit)
    return [
        "\n".join(
            _aligned(
                [_pick(row, columns) for row in rows],
                _pick(alignment, columns),
                ("", "  ", ""),
            )
        )
        for columns in _parts(rows, limit)
    ]


_T = TypeVar("_T")


def _pick(row: Sequence[_T], columns: Iterable[int]) -> list[_T]:
    return [row[index] for index in columns]


def _fitting(rows: Sequence[Sequence[str]], leaving: Sequence[int], limit: int) -> list[int]:
    """Return the columns that stay where the table would be wider than the limit."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    stays = list(range(len(widths)))
    for index in leaving:
        if sum(widths[column] + 2 for column in stays) - 2 > limit:
            stays.remove(index)
    return stays


def _folded(rows: Sequence[Sequence[str]], limit: int | None) -> list[list[str]]:
    """Continue the first cell of a row in rows below, if a number has no room beside the cell."""
    if limit is None or not any(rows):
        return [list(row) for row in rows]
    widest = max((_width(cell) for row in rows for cell in row[1:]), default=-2)
    out = []
    for first, *others in rows:
        head, *rest = _lines(first, max(limit - widest - 2, 1), "    ") or [""]
        out.append([head, *others])
        out += [[line, *("" for _ in others)] for line in rest]
    return out


def _parts(rows: Sequence[Sequence[str]], limit: int | None) -> list[list[int]]:
    """Split the columns of a table into parts that fit the limit."""
    columns = zip(*rows, strict=True)
    first, *others = [max(map(_width, column)) for column in columns]
    parts, used = [[0]], first
    for index, width in enumerate(others, start=1):
        used += 2 + width
        if limit is not None and len(parts[-1]) > 1 and used > limit:
            parts.append([0])
            used = first + 2 + width
        parts[-1].append(index)
    return parts


def _wrapped(
    texts: Sequence[str], limit: int, medium: _Medium = _PLAIN, style: str = ""
) -> list[str]:
    """Return the lines of notes, wrapped between words."""
    form = medium.styles.get(style, "{}")
    notes = (medium.text(text) for text in texts if text)
    return [form.format(line) for note in notes for line in _lines(note, limit, "  ")]


_NO_BREAK = "\u00a0%"
"""A per cent sign that stays with its number."""


def _lines(text: str, limit: int, indent: str) -> list[str]:
    """Wrap text at a limit of columns; a joiner makes a wide character as long as its width."""
    text = text.replace(" %", _NO_BREAK)
    long = "".join(letter + _JOINER * (_columns(letter) - 1) for letter in text)
    lines = textwrap.wrap(
        long, limit, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [line.replace(_JOINER, "").replace(_NO_BREAK, " %") for line in lines]


_HTML = _Medium(escape, _styles("<b>{}</b>", "<u>{}</u>"), "<sup>{}</sup>")
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.5em 0 1em"
_RULE = ";border-bottom:1px solid"
"""The rule below the head: as wide as the cells, and as dark or light as their text."""


def html(*views: TableView) -> str:
    """Return HTML tables, dark or light as the text around, with all notes below.

    Every cell has its own style, so that a table looks the same in notebooks, which have rules for
    tables, and on a bare page or in a mail, which have none.
    """
    tables = "".join(map(_html_table, views))
    notes = (_HTML.text(note) for view in views if view.head for note in view.notes)
    return tables + "".join(f"<p><small>{note}</small></p>" for note in notes)


def _html_table(view: TableView) -> str:
    """Return a table below its caption; of a table without columns, the caption and its notes."""
    caption = f"<p><b>{_HTML.text(view.caption)}</b></p>" if view.caption else ""
    if not view.head:
        return caption + "".join(f"<p>{_HTML.text(note)}</p>" for note in view.notes if note)

    head = "".join(
        _html_cell(cell, side, "col") for cell, side in zip(view.head, view.alignment, strict=True)
    )
    rows = "".join(f"<tr>{_html_row(row, view.alignment)}</tr>" for row in view.rows)
    return (
        f'{caption}<div style="overflow-x:auto"><table style="{_TABLE}">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _html_row(row: Sequence[Cell], alignment: Sequence[str]) -> str:
    """Return the cells of a row, whose first one is its head."""
    first, *others = row
    cells = [_html_cell(cell, side) for cell, side in zip(others, alignment[1:], strict=True)]
    return _html_cell(first, "left", "row") + "".join(cells)


def _html_cell(cell: Cell, side: str, scope: str = "") -> str:
    """Return a cell; blanks before its text indent it, and heads and numbers stay on one line."""
    text = cell if isinstance(cell, str) else cell.text
    indent = 0.6 + 0.5 * (len(text) - len(text.lstrip(" ")))
    style = f"text-align:{side};padding:.25em .6em .25em {indent:g}em"
    style += ";white-space:nowrap" if side == "right" or scope == "col" else ""
    style += _RULE if scope == "col" else ""
    tag, where = ("th", f' scope="{scope}"') if scope else ("td", "")
    return f'<{tag}{where} style="{style}">{_HTML.cell(cell)}</{tag}>'


_MARKDOWN = _Medium(
    lambda text: re.sub(_MARKUP, r"\\\g<0>", text), _styles("**{}**", "<u>{}</u>"), "<sup>{}</sup>"
)


def markdown_text(*parts: Cell) -> str:
    r"""Return texts as one line of Markdown.

    >>> print(markdown_text(Marked("OPEN", "bold"), "a*b is not shown to be better."))
    **OPEN** a\*b is not shown to be better.
    """
    return " ".join(_MARKDOWN.cell(part) for part in parts)


def markdown(*views: TableView) -> str:
    """Return Markdown tables, each with its caption and notes below."""
    blocks = []
    for view in views:
        if not view.head:
            blocks += [_MARKDOWN.text(text) for text in (view.caption, *view.notes) if text]
            continue
        head, *rows = _MARKDOWN.cells(view)
        rule = ["---:" if alignment == "right" else "---" for alignment in view.alignment]
        lines = _aligned([head, rule, *rows], view.alignment, ("| ", " | ", " |"))
        blocks.append("\n".join(lines))
        blocks += [_MARKDOWN.text(text) for text in (view.caption, *view.notes) if text]
    return "\n\n".join(blocks) + "\n"


_ACCENTS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327"
_LATEX_LETTERS = "ÆæØøßıŁłŒœ" + "".join(
    letter
    for letter in map(chr, range(0xC0, 0x180))
    if re.fullmatch(f"[A-Za-z][{_ACCENTS}]", unicodedata.normalize("NFD", letter))
)
_LATEX_TEXT = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": r"\textbar{}",
    '"': r'\texttt{"}',
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "-": r"-\/",  # before another hyphen: two would be a dash
    "  ": r"\quad ",
    "\u00a0": "~",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "…": r"\ldots{}",
    "−": "$-$",
    "‡": r"$\ddagger$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "✓": r"$\surd$",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
}
_LATEX_PIECE = (
    "  |-(?=-)|["
    + re.escape("".join(sign for sign in _LATEX_TEXT if sign not in ("  ", "-")))
    + f"]|[^ -~{_LATEX_LETTERS}"
    + re.escape("".join(_LATEX_TEXT))
    + "]+"
)


def latex_text(text: str) -> str:
    r"""Escape text for pdfLaTeX with its default fonts, also for a caption.

    Letters that these fonts lack are given by code point, where LuaLaTeX and XeLaTeX have the
    letters themselves: only those two know ``\Umathcode``.

    >>> print(latex_text("R&B, Škoda--1"), latex_text("-0.5"), latex_text("映画"))
    R\&B, Škoda-\/-1 $-$0.5 \ifdefined\Umathcode 映画\else\texttt{U+6620 U+753B}\fi{}
    """
    text = re.sub(r"^-(?=\d+(\.\d+)?$|inf$)", "−", unicodedata.normalize("NFC", text))
    # A row that starts with one of these would give the end of the row above an argument.
    shield = "{}" if text.lstrip().startswith(("[", "*")) else ""
    return shield + re.sub(_LATEX_PIECE, lambda match: _latex_piece(match[0]), text)


def _latex_piece(piece: str) -> str:
    if piece in _LATEX_TEXT:
        return _LATEX_TEXT[piece]
    codes = rf"\texttt{{{' '.join(f'U+{ord(letter):04X}' for letter in piece)}}}"
    if "\ufffd" in piece:  # LuaTeX takes it for broken UTF-8
        return codes
    return rf"\ifdefined\Umathcode {piece}\else{codes}\fi{{}}"


_LATEX = _Medium(latex_text, _styles(r"\textbf{{{}}}", r"\underline{{{}}}"), "$^{{{}}}$")


def latex(*views: TableView) -> str:
    r"""Return one ``table`` environment per view, with caption and label; notes are comments.

    What has no columns, as a verdict, is a comment as well.

    It compiles under pdfLaTeX, LuaLaTeX and XeLaTeX with ``\usepackage{booktabs}``. A table is as
    wide as its columns: systems by metrics is the shape that fits a page, and a table with a
    column for each of many groups has to be cut or turned by hand.
    """
    blocks = []
    for view in views:
        if not view.head:
            texts = (view.caption, *view.notes)
            blocks += [f"% {_Medium().text(text)}" for text in texts if text]
            continue
        head, *rows = _aligned(_LATEX.cells(view), view.alignment, ("", " & ", r" \\"))
        columns = "".join(alignment[0] for alignment in view.alignment)
        caption = _LATEX.text(" ".join(filter(None, (view.title, view.caption))))
        lines = [r"\begin{table}", r"\centering"]
        lines += [rf"\caption{{{caption}}}"] if caption else []
        lines += [rf"\label{{tab:{view.label}}}"] if view.label else []
        lines += [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
        blocks += ["\n".join(lines), *(f"% {_Medium().text(note)}" for note in view.notes)]
    return "\n\n".join(blocks) + "\n"


def export(
    form: Format,
    data: Callable[[], dict[str, Any]],
    table: Callable[[], pl.DataFrame],
    views: Callable[[], Sequence[TableView]],
) -> str:
    """Return ``data`` as JSON, ``table`` as CSV in full precision, or ``views`` for readers."""
    check_choice("format", form, Format)
    if form == "json":
        return as_json(data())
    if form == "csv":
        return csv_text(table())
    return markdown(*views()) if form == "markdown" else latex(*views())


class TableDisplay:
    """A result that is shown as tables, in a terminal and in a notebook, and exported as text."""

    csv_table: ClassVar[str] = "table"
    """The attribute that holds the table for CSV."""

    @property
    def views(self) -> list[TableView]:
        """The tables for readers."""
        raise NotImplementedError

    def views_at(self, detail: Detail) -> list[TableView]:
        """Return the tables for readers who want the verdict alone, or everything."""
        return self.views

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        raise NotImplementedError

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the result as text.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex"}
            JSON is `to_dict`, CSV the table in full precision; Markdown and LaTeX are the tables
            for readers.
        """
        lists = pl.col(pl.List(pl.String), pl.List(pl.Int64))
        texts = lists.cast(pl.List(pl.String)).list.join("; ")
        table: pl.DataFrame = getattr(self, self.csv_table)
        return export(format, self.to_dict, lambda: table.with_columns(texts), lambda: self.views)

    def __repr__(self) -> str:
        return plain(*self.views)

    def _repr_html_(self) -> str:
        return html(*self.views)


class DetailedDisplay(TableDisplay):
    """A result with a choice of detail for readers; a subclass implements `views_at`."""

    @property
    def views(self) -> list[TableView]:
        """The tables that are shown where nothing else is asked for."""
        return self.views_at("table")


def as_json(data: Any) -> str:
    """Return readable JSON; characters that a terminal would obey or hide are escaped."""
    text = json.dumps(json_safe(data), indent=2, ensure_ascii=False)
    return re.sub("(?!\n)" + HIDDEN, lambda c: json.dumps(c[0])[1:-1], text) + "\n"


def csv_text(table: pl.DataFrame) -> str:
    """Return a table as CSV in which no text is a formula to a spreadsheet.

    An apostrophe before it marks it as text, which numbers are not in need of.
    """
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    shown = table.with_columns(pl.col(name).map_elements(printable, pl.String) for name in texts)
    risky = pl.col(texts).str.contains(_FORMULA) & ~pl.col(texts).str.contains(_NUMBER)
    return shown.with_columns(
        pl.when(risky).then("'" + pl.col(texts)).otherwise(pl.col(texts)).name.keep()
    ).write_csv()


def json_safe(data: Any) -> Any:
    """Replace numbers that JSON lacks: NaN by None, and infinity by ``"inf"``."""
    if isinstance(data, Mapping):
        return {name: json_safe(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [json_safe(value) for value in data]
    if not isinstance(data, float) or math.isfinite(data):
        return data
    return None if math.isnan(data) else str(data)


def float_of(value: Any) -> Any:
    """Restore NaN and infinity in a number that `json_safe` wrote."""
    return math.nan if value is None else float(value) if isinstance(value, str) else value
