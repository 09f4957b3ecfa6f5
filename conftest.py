"""Keep pytest from importing, for their doctests, subpackages whose libraries are not installed."""

from __future__ import annotations

from importlib.util import find_spec

_LIBRARIES = {
    "src/rankwise/torch": ("torch", "torchmetrics"),
    "src/rankwise/torch/lightning.py": ("torch", "lightning"),
    "src/rankwise/spark": ("pyspark", "pyarrow", "pandas"),
}
collect_ignore = [path for path, names in _LIBRARIES.items() if any(find_spec(name) is None for name in names)]
