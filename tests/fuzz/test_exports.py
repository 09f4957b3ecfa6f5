"""Hostile text in ids, groups, names and paths: every export keeps the rules of its medium."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import RankwiseError
from tools import deep

NASTY = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\nb",
    "a\r\nb",
    "\u202egpj.exe",
    "\u2066x\u2069",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "＝1+1",
    "\t=1",
    "<script>alert(1)</script>",
    '"><img src=x onerror=1>',
    "</td></tr></table>",
    "a|b",
    "a\\|b",
    "\\",
    "a\\\\b",
    "$x$",
    "a_b_c",
    "__bold__",
    "50 % & # ~ ^ {x}",
    "\\input{/etc/passwd}",
    "%",
    "[link](javascript:1)",
    "`code`",
    "![x](y)",
    "&amp;",
    "\x00",
    "\x7f",
    "\u2028",
    "日本" * 9,
    "e\u0301",
    "\U000e0041",
    "NaN",
    "'",
    '"',
    ",",
    '","',
    "x" * 5000,
    "--output",
    " ",
    "null",
    "\ufeff",
]
TEXT = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"])))


@st.composite
def results(draw):
    """Draw a result, and a comparison, in which whatever can be named is hostile."""
    a, b, user, item, column = (draw(TEXT) for _ in range(5))
    # Not u, v and w: {"u": […], "I": […]} is a table with columns of users and items.
    users = list(dict.fromkeys([user, "ann", "bob", "cyd"]))
    kinds = dict.fromkeys(["i", item, "j"])
    by = f"{column} "  # no name that has a meaning
    result = rw.evaluate(
        {one: list(kinds) for one in users},
        {one: {"i"} for one in users},
        ["recall@1", "mrr", "reo(item_group=kind)@2"],
        users={"user": users, by: [a, b, "y", None][: len(users)]},
        items={"item": list(kinds), "kind": [a, "x", b][: len(kinds)]},
        by=by,
    )
    other = rw.evaluate({one: ["j", "i"] for one in users}, {one: {"i"} for one in users}, "mrr")
    return result, rw.compare({f"{a} 1": result, f"{b} 2": other}, metrics="mrr", force=True)


class Tags(HTMLParser):
    OURS = frozenset(
        ["table", "thead", "tbody", "tr", "th", "td", "p", "small", "sup", "b", "u", "div"]
    )

    def __init__(self, text):
        super().__init__()
        self.opened = []
        self.feed(text)
        self.close()
        assert not self.opened

    def handle_starttag(self, tag, attributes):
        assert tag in self.OURS
        assert {name for name, _ in attributes} <= {"style", "scope"}
        self.opened.append(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag

    def handle_comment(self, data):
        raise AssertionError(data)

    handle_decl = handle_pi = handle_comment


def obeyed(text):
    """Return the characters that a terminal obeys or hides."""
    hidden = {"Cc", "Zl", "Zp"}
    bidi = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    return [
        c
        for c in text
        if c != "\n" and (unicodedata.category(c) in hidden or unicodedata.bidirectional(c) in bidi)
    ]


def cells(line):
    """Return how many cells a line of a Markdown table has: bars that no backslash escapes."""
    return len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1


def check_markdown(text):
    tables = [line for line in text.split("\n") if line.startswith("|")]
    assert tables
    width = 0
    for line, after in zip(tables, [*tables[1:], ""], strict=True):
        if re.fullmatch(r"[|\s:-]+", after):
            width = cells(line)
        assert cells(line) == width
    assert not re.search(r"(?<!\\)<(?!/?(?:sup|u)>)", text)
    assert not re.search(r"(?<!\\)\]\(", text)


def check_latex(text):
    text = re.sub(
        r"\\ifdefined\\Umathcode [^ -~]+\\else\\texttt\{(U\+[0-9A-F]{4,6} ?)+\}\\fi\{\}", "", text
    )
    for line in text.split("\n"):
        if line.startswith("%"):  # a comment, which ends with its line
            continue
        plain = re.sub(r"\\texttt\{(\"|U\+FFFD[U+ 0-9A-F]*)\}", "", line)
        plain = re.sub(r"\\(text(?!bf)[a-z]+|ldots)\{\}|\\quad |-\\/|\\[&%$#_{}]", "", plain)
        blocks = r"@\{\}l(\*\{\d+\}\{l\}(@\{\\hspace\{10pt\}\})?)+@\{\}"
        plain = re.sub(
            rf"\\(begin|end)\{{(table\*?|tabular)\}}(\{{([lr]+|{blocks})\}})?", "", plain
        )
        plain = re.sub(
            r"\\setlength\{\\tabcolsep\}\{4pt\}|\\cmidrule\(lr\)\{\d+-\d+\}|\(\$n=[\d{},]+\$\)",
            "",
            plain,
        )
        plain = re.sub(r"\$([<>-]|\\[a-z]+)\$|\$\^\{[a-z,+-]*\}\$|(?<!\\)\{\}|~", "", plain)
        plain = re.sub(
            r"\\(textbf|underline|label|multicolumn\{\d+\}\{c\})\{([^{}]*)\}", r"\2", plain
        )
        plain = re.sub(r"\\caption\{([^{}]*)\}", r"\1", plain)
        plain = re.sub(r"\\(toprule|midrule|bottomrule|centering|small|addlinespace)", "", plain)
        plain = re.sub(r" \\\\$", "", plain).replace(" & ", "")
        assert not set(plain.rstrip("&").strip(" &")) & set("\\%$#_{}~^"), line


def check_csv(text):
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1
    for cell in [cell for row in rows for cell in row]:
        assert re.match(r"^\s*[=+@＝＋＠-]", cell) is None or re.fullmatch(r"[+-]?[\d.e-]+", cell)
    return rows


@given(shown=results())
def test_every_export_keeps_the_rules_of_its_medium(shown):
    for one in shown:
        for form in ("csv", "json", "markdown", "latex"):
            assert obeyed(one.export(form)) == []
        assert obeyed(repr(one)) == []
        assert obeyed(one._repr_html_()) == []
        Tags(one._repr_html_())
        check_markdown(one.export("markdown"))
        check_latex(one.export("latex"))
        check_csv(one.export("csv"))
        json.loads(one.export("json"), parse_constant=pytest.fail)


@given(shown=results())
def test_json_and_the_saved_result_have_the_text_itself(shown, tmp_path_factory):
    result = shown[0]
    by, *groups = result.slices["by"][0], *result.slices["group"]
    rows = json.loads(result.export("json"))["slices"]
    assert [row["group"] for row in rows] == groups
    assert {row["by"] for row in rows} == {by}
    back = rw.load(result.save(tmp_path_factory.mktemp("result")))
    assert back.slices.equals(result.slices)
    assert back.values == result.values


@given(name=TEXT, body=TEXT)
def test_messages_and_paths_are_harmless(name, body, tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    path = re.sub(r"[/\x00]", "_", name)[:40] or "x"
    frame = pl.DataFrame({"user": [body], "item": ["i"], "score": [1.0]})
    (folder / "truth.json").write_text(json.dumps([{"user": body, "item": "i"}]))
    frame.write_parquet(folder / f"{path}.parquet")
    run = rankwise_here(folder, "evaluate", f"./{path}.parquet", "truth.json", "-m", "mrr")
    assert run.returncode in (0, 3)
    assert obeyed(run.stdout + run.stderr) == []
    for source in ({body: [name, name]}, {name: 1.5}, folder / name.replace("\x00", "")):
        with pytest.raises(RankwiseError) as raised:
            rw.evaluate(source, {body: {name}}, columns={"user": body} if body else None)
        assert obeyed(str(raised.value)) == []


@pytest.mark.parametrize("size", [2**16, *deep(2**20)])
def test_long_text(size):
    """What takes the square of the length would take minutes."""
    long = "=<|\\," * (size // 4)
    lists, users = {long: ["i"]}, {"user": [long], "g": [long]}
    result = rw.evaluate(lists, {long: {"i"}}, "mrr", users=users, by="g")
    assert json.loads(result.export("json"))["slices"][0]["group"] == long
    assert result.export("csv").count("'=<|") == 1
    check_markdown(result.export("markdown"))
    check_latex(result.export("latex"))
    Tags(result._repr_html_())
    with pytest.raises(RankwiseError) as raised:
        rw.evaluate({long: ["i", "i"]}, {long: {"i"}}, "mrr")
    assert len(str(raised.value)) < 5000
