"""Every page: its blocks run as they stand, in order, and print what stands below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import check, hidden_notes, unbound_names, uses_demo
from tools import deep

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
ELSEWHERE = {
    "training.md": "tests/torch/test_training_page.py",
    "spark.md": "tests/spark/test_spark_page.py",
    "contributing.md": "tests/test_plugin.py",
    "changelog.md": "nothing runs there",
    "libraries.md": "tests/peers",
}
"""Pages whose blocks run where their engine is started, or that have none."""
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in ELSEWHERE),
]


LONG = {"report", "seeds", "gallery"}
"""Pages whose blocks take seconds, and whose subjects have tests that always run."""
ALL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", ALL, ids=lambda path: path.stem)
def test_a_reader_sees_everything_that_a_block_needs(page):
    """No comment hides code, and each name is bound by a block that the page shows."""
    text = page.read_text("utf-8")
    assert not hidden_notes(text)
    assert not unbound_names(text)


def test_unbound_names_are_found():
    page = "```python\n{}\n```\n\n```python\nprint(a, [b for b in c], f(1))\n```\n"
    assert unbound_names(page.format("a, c = 1, 2")) == ["f"]
    assert unbound_names(page.format("import a, c\ndef f(x): return x + d")) == ["d"]
    assert hidden_notes("<!-- not run: slow -->\n<!-- file: a.py -->\n<!-- setup\na = 1\n-->\n")


def with_demo(needed):
    """Return the pages that run ``rankwise demo`` or start in its folder, or the others."""
    pages = [page for page in PAGES if uses_demo(page.read_text("utf-8")) == needed]
    return [each for page in pages for each in (deep(page) if page.stem in LONG else [page])]


@pytest.mark.parametrize("page", with_demo(False), ids=lambda path: path.stem)
def test_the_blocks_print_what_the_page_shows(page, tmp_path):
    check(page, tmp_path)


@pytest.mark.xdist_group("demo")
@pytest.mark.parametrize("page", with_demo(True), ids=lambda path: path.stem)
def test_blocks_after_the_demo_print_what_the_page_shows(page, saved_demo, tmp_path):
    check(page, tmp_path, saved_demo=saved_demo)


def test_outputs_are_compared(tmp_path):
    """A page that shows something else fails, and so does a command that fails."""
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n2\n```\n")
    assert check(page, tmp_path) == 1
    for wrong in (
        page.read_text().replace("text\n2", "text\n3"),
        "```sh\nrankwise metrics nonsense\n```\n",
        "```python\nassert False\n```\n",
    ):
        page.write_text(wrong)
        with pytest.raises(AssertionError):
            check(page, tmp_path)
