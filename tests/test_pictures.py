"""The pictures of the documentation show what commands print today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from rankwise.experiments import demo

pytest.importorskip("altair")

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def pictures():
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "generators" / "pictures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.deep  # the pages around the pictures always run
def test_pictures_show_what_is_printed_today(pictures, tmp_path):
    shown = pictures.texts(demo.run(), tmp_path)
    for name, text in shown.items():
        kept = (DOCS / "images" / f"{name}.txt").read_text(encoding="utf-8")
        assert kept == text, f"{name}.png is stale: run python docs/generators/pictures.py"
        assert (DOCS / "images" / f"{name}.png").is_file()
