"""What can be held of how rankwise speaks: patterns of sentences, and defaults of parameters."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import Field
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import rankwise

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "generators"))

from api_reference import GROUPS, public_objects  # noqa: E402 - it lies in docs/generators

THINGS = r"(?:row|value|number|column|list|line|name|result|bool|page|cell|block|fold|weight|score)"
OWNERS = (
    r"(?:row|user|item|group|pair|metric|metric|column|list|query|system|line|name|cut-off|fold)"
)
PATTERNS = {
    "one row per user": rf"\b(?:a|one|an) {THINGS}s? an? {OWNERS}\b",
    "except": r"\bbut for (?:the|those|its|their)\b",
    "anyway": r"\ball the same\b(?= ?[;.)\"'])",
    "per-user mean": r"\bno means? of users\b",
    "… is no candidate: excluded": r"\bwhat is no [a-z]+",
    "ground truth row": r"\bturned out to be\b",
    "related": r"\band (?:its|their) kin\b",
}
"""What to write instead, and the pattern of what not to write."""


@cache
def prose():
    """Return the text of every page, and every string of the source that is written for people."""
    pages = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    code = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
    trees = {
        path: ast.parse(path.read_text("utf-8")) for path in sorted((ROOT / "src").rglob("*.py"))
    }
    return [(path, code.sub("", path.read_text("utf-8"))) for path in pages] + [
        (path, node.value)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]


@pytest.mark.slow
@pytest.mark.xdist_group("prose")  # one process reads the source
@pytest.mark.parametrize("better", PATTERNS)
def test_no_private_dialect(better):
    pattern = re.compile(PATTERNS[better])
    found = [
        f"{path.relative_to(ROOT)}: …{text[max(0, hit.start() - 30) : hit.end() + 30]!r}"
        for path, text in prose()
        for hit in pattern.finditer(text)
    ]
    assert not found, f"write {better!r} instead:\n" + "\n".join(found)


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
