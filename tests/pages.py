"""Pages of the documentation: their code, and what they say that it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path


def code_and_output(page: Path) -> list[tuple[str, str]]:
    """Return every block of Python that is followed by a block of text, with that text."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"```python\n([^`]*?)```\n\n```text\n(.*?)```", text, re.DOTALL)


def printed_by(code: str, namespace: dict[str, object]) -> str:
    """Return what code prints; the names it defines stay in the namespace."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(code, namespace)
    return said.getvalue()
