"""Numbers and tables as readers see them, to the letter."""

from __future__ import annotations

import math
import os
import re
import sys

import pytest

from rankwise.core import terminal
from rankwise.core.terminal import (
    Marked,
    TableView,
    brief,
    change,
    decimals,
    format_number,
    html,
    latex,
    latex_text,
    markdown,
    plain,
    progress_bar,
    signed,
    terminal_width,
)

INF, NAN = math.inf, math.nan


@pytest.fixture
def terminal_of(monkeypatch):
    """A function that makes standard output a terminal of some width."""

    def make(width):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))

    return make


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (NAN, "–"),
        (INF, "inf"),
        (-INF, "−inf"),
        (0.0, "0.0000"),
        (1.0, "1.0000"),
        (-1.0, "−1.0000"),
        (2.0, "2"),
        (-2.0, "−2"),
        (1.5, "1.5000"),
        (123456.0, "123456"),
        (0.00004, "0.0000"),
    ],
)
def test_a_number_has_four_decimals_unless_it_is_whole_and_above_1(value, text):
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((), 4),
        ((None, NAN, INF), 4),
        ((0.0,), 4),
        ((0.0, 0.5), 3),
        ((0.1,), 3),
        ((0.0999,), 4),
        ((1.0,), 2),
        ((-12.0, 3.0), 1),
        ((99.9,), 1),
        ((100.0,), 0),
        ((12345.0,), 0),
        ((0.00123,), 5),
        ((0.000123,), 6),
        ((0.0000123,), 6),
        ((0.0534, -12.0, INF), 1),
    ],
)
def test_the_largest_value_has_three_significant_digits(values, expected):
    assert decimals(*values) == expected


@pytest.mark.parametrize(
    ("value", "places", "text", "with_sign"),
    [
        (None, None, "–", "–"),
        (NAN, None, "–", "–"),
        (INF, None, "inf", "+inf"),
        (-INF, None, "−inf", "−inf"),
        (0.0, None, "0", "0"),
        (-0.0, None, "0", "0"),
        (1.0, None, "1.00", "+1.00"),
        (-1.0, None, "−1.00", "−1.00"),
        (2.0, None, "2", "+2"),
        (-2.0, 3, "−2", "−2"),
        (0.5, None, "0.500", "+0.500"),
        (1234.5, None, "1,234", "+1,234"),
        (-12345.0, None, "−12,345", "−12,345"),
        (0.04, 1, "0.0", "0.0"),
        (-0.04, 1, "0.0", "0.0"),
        (-0.06, 1, "−0.1", "−0.1"),
        (0.06, 1, "0.1", "+0.1"),
        (0.4, 0, "0", "0"),
    ],
)
def test_a_value_in_brief_and_as_a_difference(value, places, text, with_sign):
    assert brief(value, places) == text
    assert signed(value, places) == with_sign


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (NAN, "–"),
        (INF, "+inf %"),
        (-INF, "−inf %"),
        (0.0, "0 %"),
        (0.0004, "0 %"),
        (-0.0004, "0 %"),
        (0.0006, "+0.1 %"),
        (0.0994, "+9.9 %"),
        (0.0995, "+10 %"),
        (-0.0994, "−9.9 %"),
        (-0.0996, "−10 %"),
        (1.0, "+100 %"),
        (12.345, "+1,234 %"),
        (-0.5, "−50 %"),
    ],
)
def test_a_change_has_a_decimal_below_10_per_cent(value, text):
    assert change(value) == text
    assert change(value, unit="") == text.removesuffix(" %")


def test_output_that_is_no_terminal_has_no_width(monkeypatch, terminal_of):
    monkeypatch.setenv("COLUMNS", "70")
    assert terminal_width() is None
    terminal_of(70)
    assert terminal_width() == 70
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((0, 0)))
    assert terminal_width() is None
    monkeypatch.setattr(sys, "stdout", None)
    assert terminal_width() is None


def test_a_bar_is_shown_by_default_where_stderr_is_a_terminal(monkeypatch):
    hidden = type(progress_bar(2, "users", shown=False))
    assert type(progress_bar(2, "users")) is hidden
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert type(progress_bar(2, "users", shown=False)) is hidden
    with progress_bar(2, "users") as bar:
        assert type(bar) is not hidden
        assert (bar.total, bar.unit, bar.delay, bar.leave) == (2, " users", 1.0, False)


def test_columns_that_may_leave_do_so_in_turn_until_the_table_fits(terminal_of):
    view = TableView(["name", "aa", "bb", "cc"], [["x", "1", "2", "3"]], leaving=(2, 1))
    full, without_one, without_two = "name  aa  bb  cc", "name  aa  cc", "name  cc"
    for width, head in (
        (16, full),
        (15, without_one),
        (12, without_one),
        (11, without_two),
        (8, without_two),
    ):
        terminal_of(width)
        assert plain(view).splitlines()[0] == head
    terminal_of(7)  # what may not leave goes on below
    assert plain(view).splitlines() == [without_two, "x      3"]


def test_a_page_has_80_columns_where_columns_may_leave():
    for length, head in ((76, "a" * 76 + "  bb"), (77, "a" * 77)):
        view = TableView(["a" * length, "bb"], [["x", "1"]], leaving=(1,))
        assert plain(view).splitlines()[0] == head
    notes = plain(TableView(["a"], [["1"]], ["word " * 20])).splitlines()
    assert [len(line) for line in notes[3:]] == [79, 21]


def test_parts_of_a_wide_table_repeat_its_first_column_and_fit(terminal_of):
    view = TableView(["n", "aaa", "bbb", "ccc"], [["x", "1", "2", "3"]])
    for width, heads in (
        (16, ["n  aaa  bbb  ccc"]),
        (15, ["n  aaa  bbb", "n  ccc"]),
        (11, ["n  aaa  bbb", "n  ccc"]),
        (10, ["n  aaa", "n  bbb", "n  ccc"]),
        (3, ["n  aaa", "n  bbb", "n  ccc"]),
    ):
        terminal_of(width)
        assert plain(view).splitlines()[::3] == heads


def test_a_caption_stands_apart_from_a_table_whose_columns_may_leave():
    rows = {"head": ["a"], "rows": [["1"]], "notes": ["a note"], "caption": "what"}
    assert plain(TableView(**rows)) == "what\na\n1\n\na note"
    both = TableView(["a", "b"], [["1", "2"]], caption="what", leaving=(1,))
    assert plain(both) == "what\n\na  b\n1  2"
    verdict = TableView([], [], ["a note"], "it is so")
    assert plain(verdict) == "it is so\na note"
    assert plain(verdict, TableView(["a"], [["1"]])) == "it is so\na note\n\na\n1"


def test_colours_are_for_terminals_and_take_no_columns():
    view = TableView(
        ["a", "b"], [[Marked("x", "bold"), Marked("1", "worse", "c")], ["yy", "23"]], caption="what"
    )
    assert plain(view) == "what\na    b\nx    1\nyy  23"
    assert plain(view, coloured=True).splitlines() == [
        "\x1b[1mwhat\x1b[0m",
        "a    b",
        "\x1b[1mx\x1b[0m    \x1b[1;33m1\x1b[0m",
        "yy  23",
    ]
    assert "\x1b[1;36m" in plain(TableView(["a"], [[Marked("1", "better")]]), coloured=True)
    assert plain(TableView(["a"], [[Marked("1", "underlined")]]), coloured=True) == "a\n1"


def test_marks_above_a_line_take_no_column_and_wide_letters_two():
    view = TableView(["n", "a"], [["e\u0301\u20dd", "1"], ["ｆ", "2"], ["xyz", "3"]])
    assert plain(view).splitlines() == ["n    a", "e\u0301\u20dd    1", "ｆ   2", "xyz  3"]


def test_columns_on_the_left_are_aligned_to_the_left():
    view = TableView(["n", "name", "v"], [["1", "a", "2"], ["22", "bbbbb", "33"]], left=(1,))
    assert view.alignment == ["right", "left", "right"]
    assert plain(view) == " n  name    v\n 1  a       2\n22  bbbbb  33"
    assert (
        markdown(view)
        == "|    n | name  |    v |\n| ---: | ---   | ---: |\n|    1 | a     |    2 |\n|   22 | bbbbb |   33 |\n"
    )


def test_markdown_has_caption_and_notes_below_the_table():
    views = [
        TableView(["a"], [[Marked("1_0", "underlined", "x")]], ["n*te", ""], "caption"),
        TableView(["b"], [["2"]]),
    ]
    assert markdown(*views).split("\n\n") == [
        "| a                      |\n| ---                    |\n| <u>1_0</u><sup>x</sup> |",
        "caption",
        r"n\*te",
        "| b   |\n| --- |\n| 2   |\n",
    ]


def test_underscores_are_markup_at_the_edges_of_words_alone():
    (cell,) = [
        line.strip("| ") for line in markdown(TableView(["_a b_c d_ e1_2"], [])).splitlines()[:1]
    ]
    assert cell == r"\_a b_c d\_ e1_2"


def test_html_marks_heads_of_rows_and_columns():
    text = html(
        TableView(
            ["a", "b"],
            [["x", Marked("1", "underlined")], ["y", "2"]],
            ["note <1>"],
            "caption & more",
        )
    )
    assert text.startswith("<p><b>caption &amp; more</b></p><div")
    assert text.endswith("</table></div><p><small>note &lt;1&gt;</small></p>")
    assert len(re.findall(r'<tr><th scope="row" style="text-align:left;[^"]*">x</th>', text)) == 1
    assert text.count('<th scope="row"') == 2
    assert text.count('<th scope="col"') == 2
    assert "<u>1</u>" in text
    assert text.count("<td") == 2


def test_html_of_a_verdict_is_text_and_of_no_rows_a_head():
    assert (
        html(TableView([], [], ["a note", ""], "it is so")) == "<p><b>it is so</b></p><p>a note</p>"
    )
    empty = html(TableView(["a", "b"], []))
    assert empty.count('<th scope="col"') == 2
    assert empty.count("<tr>") == 1


def test_every_cell_in_html_has_its_own_space_and_alignment():
    """A bare page has no rules for tables: without these, columns touch."""
    view = TableView(["name", "n", "said"], [["a", "1", "b"], ["  c", "2", "d"]], left=(0, 2))
    styles = re.findall(r'<t[hd][^>]* style="([^"]*)"', html(view))
    assert len(styles) == 9
    assert all("padding:.25em .6em" in style for style in styles)
    sides = [re.match(r"text-align:(\w+)", style)[1] for style in styles]
    assert sides == ["left", "right", "left"] * 3
    assert all("white-space:nowrap" in style for style in styles if "right" in style)
    assert [style.endswith("border-bottom:1px solid") for style in styles] == [True] * 3 + [
        False
    ] * 6


def test_blanks_before_the_name_of_a_row_indent_it_in_html():
    view = TableView(["", "n"], [["all", "1"], ["  part", "2"], ["    of it", "3"]])
    heads = re.findall(r'scope="row" style="[^"]*em ([\d.]+)em"', html(view))
    assert heads == ["0.6", "1.6", "2.6"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-0.5", "$-$0.5"),
        ("-7", "$-$7"),
        ("-inf", "$-$inf"),
        ("-x", "-x"),
        ("-1.", "-1."),
        ("a-1", "a-1"),
        ("a--b", r"a-\/-b"),
        ("a---b", r"a-\/-\/-b"),
        ("[a]", "{}[a]"),
        ("  *", r"{}\quad *"),
        ("a[", "a["),
        ("a b  c", r"a b\quad c"),
        ("100%", r"100\%"),
        ("e\u0301", "é"),
        ("é ß", "é ß"),
        ("\ufffdx", r"\texttt{U+FFFD}x"),
        ("→映", r"$\rightarrow$\ifdefined\Umathcode 映\else\texttt{U+6620}\fi{}"),
    ],
)
def test_text_in_latex(text, written):
    assert latex_text(text) == written


def test_a_table_in_latex_has_its_notes_as_comments():
    view = TableView(
        ["a", "b"], [["x", "1"]], ["50% of all"], "caption", title="Title.", label="slug"
    )
    assert latex(view) == (
        "\\begin{table}\n\\centering\n\\caption{Title. caption}\n\\label{tab:slug}\n\\begin{tabular}{lr}\n\\toprule\n"
        "a & b \\\\\n\\midrule\nx & 1 \\\\\n\\bottomrule\n\\end{tabular}\n\\end{table}\n\n% 50% of all\n"
    )
    assert latex(TableView(["a"], []), TableView(["b"], [])).count("\n\n\\begin{table}") == 1


def test_lines_break_between_words_and_never_inside(terminal_of):
    terminal_of(10)
    view = TableView(["a"], [["1"]], ["a well-known verylongwordindeed x", "映画 映画 映画"])
    assert plain(view).splitlines()[3:] == [
        "a",
        "  well-known",
        "  verylongwordindeed",
        "  x",
        "映画 映画",
        "  映画",
    ]
    assert terminal._JOINER not in plain(view)
