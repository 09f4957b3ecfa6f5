"""What some tests need beside Python packages that are always there, and what is not tested without it.

``python tests/tools.py`` says in one line what is not tested on this machine. A comma-separated list in
the environment variable ``RANKWISE_REQUIRE``, such as ``java,chromium,compiler``, names what has to be
there: pytest then stops where it would skip tests.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def deep(*values: Any) -> list[Any]:
    """Return values of a parameter that only ``scripts/check --deep`` tries."""
    import pytest  # extras are checked without it

    return [
        pytest.param(*(value if type(value) is tuple else (value,)), marks=pytest.mark.deep)
        for value in values
    ]


def java() -> str | None:
    """Return the Java that Spark starts: that of JAVA_HOME where it is set, else that of the PATH."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")


def chromium() -> str | None:
    """Return the browser that opens reports."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def compiled() -> bool:
    """Return whether kernels are compiled, or switched off on purpose."""
    from rankwise.core import kernels

    return (
        kernels.implementation() == "compiled"
        or os.environ.get("RANKWISE_KERNELS", "").lower() == "off"
    )


def installed(name: str) -> bool:
    """Return whether a library is installed; a folder of this name without a module is none."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.origin is not None


def _installed(*names: str) -> Callable[[], bool]:
    return lambda: all(map(installed, names))


TOOLS: dict[str, tuple[Callable[[], object], str, str]] = {
    "pyspark": (_installed("pyspark", "pyarrow", "pandas"), "Spark", "no PySpark"),
    "java": (java, "Spark", "no Java"),
    "torch": (_installed("torch", "torchmetrics"), "PyTorch", "not installed"),
    "lightning": (_installed("torch", "lightning"), "Lightning", "not installed"),
    "chromium": (chromium, "reports in a browser", "no chromium"),
    "playwright": (_installed("playwright"), "reports in a browser", "no playwright"),
    "compiler": (compiled, "compiled kernels", "no C compiler when rankwise was installed"),
    "sphinx": (_installed("sphinx", "myst_parser", "furo"), "the documentation", "no Sphinx"),
    "pytrec_eval": (_installed("pytrec_eval"), "agreement with trec_eval", "no pytrec_eval"),
    "recometrics": (
        _installed("recometrics"),
        "agreement with recometrics on random worlds",
        "not installed",
    ),
    "mlflow": (_installed("mlflow"), "MLflow", "not installed"),
    "ray": (_installed("ray"), "the example with Ray", "not installed"),
    "pyright": (_installed("pyright"), "types under pyright", "not installed"),
    "pdflatex": (lambda: shutil.which("pdflatex"), "LaTeX that compiles", "no pdflatex"),
    "samples": (
        (ROOT.parent / "shared/data/trec_eval").is_dir,
        "trec_eval's own outputs",
        "no shared/data",
    ),
    "data": (
        (ROOT.parent / "shared/data/movietweetings-100k").is_dir,
        "real ratings",
        "no shared/data",
    ),
}
"""For each name of a tool: whether it is there, what needs it, and how its absence is said."""


def missing() -> dict[str, str]:
    """Return what is not tested here, by the name of the tool."""
    return {name: f"{what} ({why})" for name, (there, what, why) in TOOLS.items() if not there()}


def check_required() -> None:
    """Raise if a tool that RANKWISE_REQUIRE names is not there, or is none."""
    named = [
        name.strip() for name in os.environ.get("RANKWISE_REQUIRE", "").split(",") if name.strip()
    ]
    unknown = [name for name in named if name not in TOOLS]
    if unknown:
        raise LookupError(f"RANKWISE_REQUIRE names {', '.join(unknown)}; known: {', '.join(TOOLS)}")
    absent = [text for name, text in missing().items() if name in named]
    if absent:
        raise LookupError(f"RANKWISE_REQUIRE asks for what is not here: {', '.join(absent)}")


if __name__ == "__main__":
    print("not tested here: " + (", ".join(missing().values()) or "nothing"))  # noqa: T201
