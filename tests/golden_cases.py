"""Golden cases that lie beside the project; tests skip, saying so, where they are absent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


def golden_cases(folder, is_wanted):
    """Return the wanted cases of a folder as parameters of a test, by their ids."""
    path = SHARED / folder / "golden-public.json"
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no shared/{folder}"))]
    cases = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [pytest.param(case, id=case["id"]) for case in cases if is_wanted(case)]
