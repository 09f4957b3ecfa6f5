"""Let tests and doctests be collected where libraries of the extras are not installed."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

from tools import installed

_LIBRARIES = {
    "src/rankwise/torch": ("torch", "torchmetrics"),
    "src/rankwise/torch/lightning.py": ("torch", "lightning"),
    "src/rankwise/torch/triton_products.py": ("torch", "triton"),
    "src/rankwise/spark": ("pyspark", "pyarrow", "pandas"),
    "src/rankwise/reporting/charts.py": ("altair",),
}
collect_ignore = [path for path, names in _LIBRARIES.items() if not all(map(installed, names))]


class _NotInstalled(MetaPathFinder):
    """Finds no PyTorch where there is none: the folder tests/torch would be taken for it."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


if not installed("torch"):
    sys.meta_path.insert(0, _NotInstalled())
