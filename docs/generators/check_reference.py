"""The reference of the leakage audit: every check, from the docstring of its function."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import rankwise
from rankwise.splits.audit_checks import CHECKS

__all__ = ["describe_checks", "write_checks"]

_LABELS = re.compile(r"^(Finds|Worst verdict|Remedy):\s*", re.MULTILINE)


def write_checks(path: Path) -> None:
    """Write the entries of all checks, which the page on the audit includes."""
    path.write_text(describe_checks(), encoding="utf-8")


def describe_checks() -> str:
    """Return one entry per check, in order, each with an anchor of its code."""
    checks = rankwise.audit({"ann": [1]}, {"ann": [2]}).checks
    return "\n".join(_entry(check.code, check.name) for check in checks)


def _entry(code: str, name: str) -> str:
    """Return what a check finds, its worst verdict and its remedy.

    A check whose docstring has no paragraph "Finds" finds what its first sentences say.
    """
    summary, *parts = _LABELS.split(inspect.getdoc(CHECKS[code]) or "")
    labelled = dict(zip(parts[::2], parts[1::2], strict=True))
    labelled = {"Finds": summary.removeprefix(f"{code}: ").strip()} | labelled
    lines = [f"({code.lower()})=", f"### {code}: {name}", ""]
    for label in ("Finds", "Worst verdict", "Remedy"):
        text = labelled[label].strip()
        gap = "\n" if text.startswith("- ") else " "
        lines.append(f"- **{label}**:{gap}{_indented(text, gap)}")
    return "\n".join([*lines, ""])


def _indented(text: str, gap: str) -> str:
    """Return a text within an item of a list; a list in it begins on the next line."""
    body = "\n".join(f"  {line}".rstrip() for line in text.splitlines())
    return body if gap == "\n" else body.lstrip()
