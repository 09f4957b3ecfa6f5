"""The page "PyTorch: evaluation during training": its blocks print what stands below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import check

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

PAGE = Path(__file__).parents[2] / "docs" / "training.md"


def test_the_blocks_print_what_the_page_says(tmp_path):
    assert check(PAGE, tmp_path) == 6


def test_what_waits_is_named():
    from test_device import STEPWISE

    from rankwise.torch import Collection

    text = Collection.__doc__
    assert all(f"``{name}" in text for name in STEPWISE if name != "srecall")
