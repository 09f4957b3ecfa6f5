"""The page "Evaluate while you train": its blocks print what stands below them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_the_blocks_print_what_the_page_says():
    namespace: dict[str, object] = {}
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n([^`]*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    for code, expected in blocks:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, namespace)
        assert said.getvalue() == expected


def test_what_waits_is_named():
    from test_device import STEPWISE

    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}" in text for name in STEPWISE if name != "srecall")
