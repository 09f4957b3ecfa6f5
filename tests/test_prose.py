"""What can be held of how rankwise speaks: words that name nothing, and defaults of parameters.

``python tests/test_prose.py`` writes the counts of pages that have fewer such words now.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import Field
from importlib import import_module
from pathlib import Path

import pytest

import rankwise

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "generators"))

from api_reference import GROUPS, public_objects  # noqa: E402 - it lies in docs/generators

INDEFINITE = re.compile(r"\b(?:what|such|own|those|some|whether|another|others?)\b", re.IGNORECASE)
"""Words that stand in the place of a noun: name the thing instead."""
UNSPOKEN = re.compile(
    r"\A---\n.*?^---$|^(`{3,}).*?^\1$|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)",
    re.MULTILINE | re.DOTALL,
)
"""Parts of a page that are no sentences: its head, blocks, comments, code and targets of links."""
COUNTS = Path(__file__).with_name("indefinite_words.txt")
"""How many such words each page had when it was last edited: a number that may only fall."""
GENERATED = {"docs/libraries.md"}  # by tests/peers/compare.py
PER_PAGE = 200  # words of a new page to one indefinite word


def pages():
    """Return every page that is written by hand, by its path, without what are no sentences."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    return {name: UNSPOKEN.sub(" ", text) for name, text in texts.items() if name not in GENERATED}


def committed():
    rows = (line.split() for line in COUNTS.read_text("utf-8").splitlines())
    return {name: int(count) for count, name in rows}


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_names_things(name):
    """It has no more indefinite words than before, and a new page few of them."""
    text = pages()[name]
    allowed = committed().get(name, len(text.split()) // PER_PAGE)
    found = [
        " ".join(text[max(0, hit.start() - 40) : hit.end() + 30].split())
        for hit in INDEFINITE.finditer(text)
    ]
    assert len(found) <= allowed, f"{len(found)} of at most {allowed}:\n" + "\n".join(found)


def test_indefinite_words_are_counted_in_sentences_alone():
    text = "What is it?\n```python\nsome = own\n```\n`other` [another one](such.md), mother\n"
    assert INDEFINITE.findall(UNSPOKEN.sub(" ", text)) == ["What", "another"]


def described(path, sections="Parameters"):
    """Return the parameters that an object documents, with their types as written, and its own."""
    head, _, last = path.rpartition(".")
    found = getattr(import_module(head), last)
    text = inspect.getdoc(found) or ""
    pattern = rf"^(?:{sections})\n-+\n(.*?)(?=^\w+\n-+\n|\Z)"
    section = "\n".join(re.findall(pattern, text, re.MULTILINE | re.DOTALL))
    documented = re.findall(r"^(\*{0,2}\w[\w, *]*) : (.*)$", section, re.MULTILINE)
    try:
        signature = inspect.signature(found).parameters
    except (TypeError, ValueError):
        signature = {}
    return {name: kind for names, kind in documented for name in names.split(", ")}, signature


ENGINES = {"torch", "spark"}
OBJECTS = [
    (group, path)
    for group, (_, names) in GROUPS.items()
    if group not in ENGINES
    for path in public_objects(names)
]


def test_every_public_object_is_in_the_reference():
    named = {path.rpartition(".")[2] for _, path in OBJECTS} | {*GROUPS}
    assert {*rankwise.__all__} - {"__version__"} <= named


@pytest.mark.parametrize("path", dict.fromkeys(path for _, path in OBJECTS))
def test_defaults_are_visible(path):
    documented, signature = described(path)
    for name, kind in documented.items():
        parameter = signature.get(name)
        if parameter is None or parameter.default is parameter.empty:
            continue
        assert "default" in kind or "optional" in kind, f"{path}: {name} : {kind}"


@pytest.mark.parametrize("path", dict.fromkeys(path for _, path in OBJECTS))
def test_stated_defaults_are_those_of_the_signature(path):
    documented, signature = described(path, "Parameters|Attributes")
    for name, kind in documented.items():
        stated = re.search(r"default=(\d.*|-\d.*|True|False|None|\"[^\"]*\")$", kind)
        if not stated or name not in signature or isinstance(signature[name].default, Field):
            continue
        value = ast.literal_eval(re.sub(r"(?<=\d),(?=\d{3})", "", stated[1]))  # 10,000
        names = [other for other, its_kind in documented.items() if its_kind == kind]
        if isinstance(value, tuple) and len(value) == len(names):  # one line for several parameters
            value = value[names.index(name)]
        assert signature[name].default == value, f"{path}: {name} : {kind}"


def write_counts():
    before = committed() if COUNTS.exists() else {}
    now = {name: len(INDEFINITE.findall(text)) for name, text in pages().items()}
    least = {name: min(count, before.get(name, count)) for name, count in now.items()}
    COUNTS.write_text("".join(f"{least[name]:3} {name}\n" for name in sorted(least)), "utf-8")


if __name__ == "__main__":
    write_counts()
