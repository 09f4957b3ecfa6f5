"""What holds for all pages of the documentation: how they begin, how wide they are, how they are found."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ELSEWHERE = {"index", "contributing", "changelog"}
"""The first page, and those that show a file of the repository."""
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path for path in sorted(DOCS.rglob("*.md"))
}
WIDTH = 88
"""The columns of code that fit beside the navigation."""
MOST = 8  # entries of a section of the navigation
HEAD = re.compile(r"\A---\n.*?^---\n+", re.MULTILINE | re.DOTALL)  # keywords for the search


def navigation():
    """Return the entries of each section, and those below other pages."""
    parts = [
        (re.search(r":caption: (.*)", part), re.findall(r"^[a-z]\S+$", part, re.MULTILINE))
        for path in PAGES.values()
        for part in re.findall(
            r"^```\{toctree\}\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
    ]
    return {caption[1]: entries for caption, entries in parts if caption}, [
        entries for caption, entries in parts if not caption
    ]


@pytest.mark.parametrize("name", sorted({*PAGES} - ELSEWHERE))
def test_a_page_begins_with_what_one_needs_gets_and_how_long_it_takes(name):
    text = HEAD.sub("", PAGES[name].read_text("utf-8"))
    begin = " ".join(text.split("\n\n")[1].split())
    assert re.fullmatch(
        r"\*\*You need\*\* .+\. \*\*You get\*\* .+\. \*\*Time\*\* \d+ minutes?( .+)?\.", begin
    ), begin


@pytest.mark.parametrize(
    "path",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES.values()],
    ids=lambda path: path.stem,
)
def test_code_fits_the_page(path):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    wide = [
        line
        for kind, text in blocks
        if kind != "text"
        for line in text.splitlines()
        if len(line) > WIDTH
    ]
    assert not wide, "\n".join(wide)


def test_every_page_is_in_the_navigation_once():
    sections, below = navigation()
    entries = [entry for entries in (*sections.values(), *below) for entry in entries]
    generated = {"metrics/index", "api/index", "command_line", "config_keys"}
    folders = {path.parent.name for path in PAGES.values()} - {"docs"}
    below_them = {f"{folder}/{entry}" for folder in folders for entry in entries}
    assert {*PAGES} - {"index"} <= {*entries} | below_them
    unknown = {
        e
        for e in entries
        if e not in PAGES and not any(f"{folder}/{e}" in PAGES for folder in folders)
    }
    assert unknown == generated
    assert len(entries) == len({*entries})
    assert max(map(len, sections.values())) <= MOST


def texts():
    """Return every text of the source, with … in place of its values."""
    for path in sorted((ROOT / "src" / "rankwise").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                yield "".join(
                    part.value if isinstance(part, ast.Constant) else "…" for part in node.values
                )


@pytest.mark.slow
def test_the_page_of_notes_quotes_what_the_source_says():
    notes = PAGES["errors"].read_text("utf-8").split("## Warnings about the inputs")[1]
    heads = re.findall(r"^\([a-z-]+\)=\n### (.+)$", notes, re.MULTILINE)
    assert len(heads) == len(re.findall("^### ", notes, re.MULTILINE)) > 30  # each has an anchor
    known = [*texts()]
    assert not [head for head in heads if not any(head in text for text in known)]


def test_every_class_of_errors_is_explained():
    from rankwise import errors

    page = PAGES["errors"].read_text("utf-8")
    named = {name for name in errors.__all__ if name.endswith("Error")}
    assert not [name for name in named if name not in page]


HOMES = {
    r"eliminate_zeros": "tables",
    r"force=True": "compare",
    r"of the relevant items in a list .* are the mean over all orders": "tables",
    r"1\.3 to 1\.7 times as wide": "statistics",
    r"one user in 500": "statistics",
    r"Of 20 candidates|With 20 candidates": "compare",
    r"less than its margin, overall and in every slice": "decisions",
}
"""What is explained once, and the page; elsewhere a clause has a link to it."""


@pytest.mark.parametrize("explained", HOMES)
def test_what_is_explained_has_one_home(explained):
    found = {name for name, path in PAGES.items() if re.search(explained, path.read_text("utf-8"))}
    assert found == {HOMES[explained]}
