"""What `export("latex")` writes is compiled by a real pdfLaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import rankwise as rw
from rankwise.core.terminal import Marked, TableView, latex

PDFLATEX = shutil.which("pdflatex")
HOSTILE = [
    "\\input{/etc/passwd}",
    "\\",
    "\\\\",
    "{",
    "}",
    "{}",
    "\\end{tabular}",
    "%",
    "$x$",
    "&",
    "#",
    "##1",
    "_a_",
    "^",
    "^^M",
    "~",
    "[2pt]",
    " [x]",
    "*",
    "-5",
    "a--b",
    "---",
    "?`",
    "!`",
    "''",
    ",,",
    '"quoted"',
    "it's",
    "`code`",
    "<a>|b|",
    "\x00\x1b[31m\x9b",
    "a\r\nb",
    "\u2028",
    "\u202ex",
    "😀",
    "👩‍💻",
    "日本語",
    "שלום",
    "مرحبا",
    "Ω",
    "Škoda Žižek",
    "Ægir ßø łŁ",
    "Đorđe ąęį",
    "e\u0301",
    "m\u0301",
    "x\u0327\u0301",
    "\u0301",
    "–—−≥≤≠±×·…✓→←",
    "‘a’ “b” „c“ «d»",
    "€5 §",
    "\u00a0",
    "\u3000x",
    "\ufffd",
    "\uffff",
    "\U000f0000",
    "x" * 5000,
    "日" * 500,
    "".join(map(chr, range(0xA1, 0x250))),
]


def compiled(folder, text):
    """Return the log of a document that needs the package booktabs alone."""
    source = (
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n\\listoftables\n"
        f"{text}\\end{{document}}\n"
    )
    (folder / "tables.tex").write_text(source, encoding="utf-8")
    command = [PDFLATEX, "-halt-on-error", "-interaction=nonstopmode", "tables.tex"]
    for _ in range(2):  # the second run reads the captions that the first one wrote
        run = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
        assert run.returncode == 0, run.stdout.decode(errors="replace")[-3000:]
    return (folder / "tables.log").read_text(encoding="latin-1")


def exports():
    """Return the exports of a result with groups and cells, and of comparisons, hostile all over."""
    users, items = [f"{name} {at}" for at, name in enumerate(HOSTILE)], list(HOSTILE)
    lists = {user: [items[at], "i"] for at, user in enumerate(users)}
    truth = {user: {"i"} for user in users}
    of_users = {"user": users, "\\by_%": [name[:40] for name in HOSTILE]}
    of_items = {"item": [*items, "i"], "kind": [*(name[:40] for name in HOSTILE), "i"]}
    result = rw.evaluate(
        lists,
        truth,
        ["recall@[1,2]", "mrr", "reo(item_group=kind)@2"],
        users=of_users,
        by="\\by_%",
        items=of_items,
    )
    simple = rw.evaluate(lists, truth, "ndcg@2")
    results = dict.fromkeys(HOSTILE[:20], simple)
    found = rw.compare(results, baseline=HOSTILE[0])
    return [one.export("latex") for one in (simple, result, found)]


@pytest.mark.skipif(PDFLATEX is None, reason="pdflatex is not installed")
def test_every_export_compiles(tmp_path):
    rows = [[name, Marked(name[:60], "bold", "a,b")] for name in HOSTILE]
    caption = " ".join(name[:60] for name in HOSTILE)
    views = [
        TableView(["name", "value"], rows, HOSTILE, caption, title="Rows.", label="rows"),
        TableView([name[:60] for name in HOSTILE], [], label="heads"),
    ]
    (simple, result, found), text = exports(), latex(*views)
    # Each result has a table of its values: in one paper an author renames a label.
    result = result.replace("{tab:rankwise-values}", "{tab:rankwise-values-2}")
    log = compiled(tmp_path, simple + result + found + text)
    assert not re.search(r"(?im)undefined|missing character|multiply defined|^!", log)
    assert "(/etc/passwd" not in log
    assert (tmp_path / "tables.lot").read_text(encoding="utf-8").count("contentsline {table}") == 5
