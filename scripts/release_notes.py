"""Print the notes of a release: its section of CHANGELOG.md.

``python scripts/release_notes.py v1.2.3`` checks a tag before it is published: it must be the
version of ``src/rankwise/core/__init__.py``, CITATION.cff must have that version, and the section
must have a date. Without a tag the notes of the present version are printed, also if it is not
released yet.
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def release_notes(changelog: str, version: str) -> tuple[str, str]:
    """Return the date of a version, or ``unreleased``, and its section without the heading."""
    sections = re.split(r"^## (\S+) \((.+)\)\n", changelog, flags=re.MULTILINE)
    for name, date, text in zip(sections[1::3], sections[2::3], sections[3::3], strict=True):
        if name == version:
            return date, text.strip() + "\n"
    raise SystemExit(f"CHANGELOG.md has no section for {version}")


def main(tag: str = "", root: Path = ROOT) -> str:
    """Return the notes of a tag, or raise if it must not be published."""
    version = runpy.run_path(str(root / "src/rankwise/core/__init__.py"))["__version__"]
    date, notes = release_notes((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if tag:
        if tag != f"v{version}":
            raise SystemExit(f"the tag is {tag}, the version is {version}")
        if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text(encoding="utf-8"):
            raise SystemExit(f"CITATION.cff has another version than {version}")
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
            raise SystemExit(
                f"CHANGELOG.md says {version} ({date}); a release has a date: {version} "
                "(2026-01-31)"
            )
    return notes


if __name__ == "__main__":
    sys.stdout.write(main(*sys.argv[1:]))
