"""The notes of a release, and which tags are refused."""

from __future__ import annotations

import re
import runpy

import pytest

from tools import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/release_notes.py"))
CHANGELOG = """# Changelog

About this file.

## 1.2.0 (2026-03-31)

- Ranks are integers.

### For people

- A page.

## 1.1.0 (unreleased)

- Sums.
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "src/rankwise/core").mkdir(parents=True)
    (tmp_path / "src/rankwise/core/__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "CITATION.cff").write_text("title: it\nversion: 1.2.0\nlicense: MIT\n")
    return tmp_path


def test_the_notes_are_the_section_of_the_version():
    date, notes = SCRIPT["release_notes"](CHANGELOG, "1.2.0")
    assert (date, notes) == ("2026-03-31", "- Ranks are integers.\n\n### For people\n\n- A page.\n")
    assert SCRIPT["release_notes"](CHANGELOG, "1.1.0") == ("unreleased", "- Sums.\n")
    with pytest.raises(SystemExit, match=r"no section for 1\.2$"):
        SCRIPT["release_notes"](CHANGELOG, "1.2")


def test_a_tag_is_released_if_everything_names_its_version(project):
    assert SCRIPT["main"]("v1.2.0", project).startswith("- Ranks")
    assert SCRIPT["main"]("", project) == SCRIPT["main"]("v1.2.0", project)
    with pytest.raises(SystemExit, match=r"the tag is v1\.3\.0, the version is 1\.2\.0"):
        SCRIPT["main"]("v1.3.0", project)
    (project / "CITATION.cff").write_text("title: it\nversion: 1.1.0\nlicense: MIT\n")
    with pytest.raises(SystemExit, match=r"CITATION\.cff has another version than 1\.2\.0"):
        SCRIPT["main"]("v1.2.0", project)


def test_an_unreleased_version_has_notes_for_a_dry_run_alone(project):
    (project / "CHANGELOG.md").write_text(CHANGELOG.replace("2026-03-31", "unreleased"))
    assert SCRIPT["main"]("", project).startswith("- Ranks")
    with pytest.raises(SystemExit, match=r"1\.2\.0 \(unreleased\); a release has a date"):
        SCRIPT["main"]("v1.2.0", project)


def test_this_version_has_notes():
    """Notes stand beside no files: they have no relative link."""
    notes = SCRIPT["main"]()
    assert len(notes) > 1000
    assert not re.findall(r"\]\((?!https?:)", notes)
