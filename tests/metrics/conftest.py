"""Metrics that tests define: the registry forgets them afterwards."""

from __future__ import annotations

import pytest

from rankwise.metrics import registry


def _restored():
    registry.all_metrics()  # loads all families, which the copy then has
    before = dict(registry._classes)
    yield
    registry._classes.clear()
    registry._classes.update(before)


own_metrics = pytest.fixture(_restored, name="own_metrics")
own_metrics_of_module = pytest.fixture(_restored, scope="module", name="own_metrics_of_module")
