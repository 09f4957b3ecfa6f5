"""Who may import whom, and that nothing imports in a circle.

Everything is computed from the code: imports inside functions, for type checkers and by string count
like any other. The face (``__init__``) loads what it exports late, and stands above all packages.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import rankwise

SOURCE = Path(rankwise.__file__).parent
ALLOWED = {
    "messages": set(),
    "errors": {"messages"},
    "core": {"errors", "messages"},
    "functional": {"errors", "messages"},
    "datasets": {"errors", "messages"},
    "options": {"core", "errors", "messages"},
    "models": {"core", "errors", "messages", "tables"},
    "stats": {"core", "errors", "messages"},
    "tables": {"core", "errors", "messages"},
    "blocks": {"core", "errors", "messages", "options"},
    "candidates": {"core", "errors", "messages", "tables"},
    "splits": {"core", "errors", "messages", "models", "tables"},
    "encoding": {"blocks", "core", "errors", "messages", "options", "tables"},
    "metrics": {"blocks", "core", "errors", "functional", "messages", "options"},
    "ranking": {"candidates", "core", "errors", "messages", "tables"},
    "convention": {"core", "errors", "messages", "metrics", "options"},
    "results": {
        "convention",
        "core",
        "errors",
        "messages",
        "metrics",
        "options",
        "stats",
        "tables",
    },
    "findings": {"core", "errors", "messages", "results", "stats", "tables"},
    "comparison": {
        "core",
        "errors",
        "findings",
        "messages",
        "metrics",
        "options",
        "results",
        "stats",
        "tables",
    },
    "evaluation": {
        "blocks",
        "candidates",
        "convention",
        "core",
        "encoding",
        "errors",
        "messages",
        "metrics",
        "models",
        "options",
        "ranking",
        "results",
        "splits",
        "stats",
        "tables",
    },
    "rankers": {
        "blocks",
        "convention",
        "core",
        "errors",
        "evaluation",
        "messages",
        "metrics",
        "options",
        "results",
        "tables",
    },
    "evidence": {
        "comparison",
        "core",
        "errors",
        "evaluation",
        "findings",
        "messages",
        "metrics",
        "models",
        "results",
        "splits",
        "stats",
        "tables",
    },
    "offpolicy": {
        "comparison",
        "core",
        "errors",
        "findings",
        "messages",
        "results",
        "splits",
        "stats",
        "tables",
    },
    "interleave": {
        "core",
        "errors",
        "findings",
        "messages",
        "offpolicy",
        "stats",
        "tables",
    },
    "reporting": {
        "comparison",
        "core",
        "errors",
        "findings",
        "messages",
        "metrics",
        "offpolicy",
        "options",
        "results",
        "splits",
        "stats",
        "tables",
    },
    "spark": {
        "blocks",
        "comparison",
        "core",
        "encoding",
        "errors",
        "evaluation",
        "findings",
        "messages",
        "metrics",
        "offpolicy",
        "options",
        "results",
        "splits",
        "stats",
        "tables",
    },
    "torch": {
        "blocks",
        "convention",
        "core",
        "encoding",
        "errors",
        "evaluation",
        "messages",
        "metrics",
        "options",
        "ranking",
        "results",
        "tables",
    },
    "experiments": {
        "candidates",
        "comparison",
        "convention",
        "core",
        "datasets",
        "encoding",
        "errors",
        "evaluation",
        "evidence",
        "findings",
        "messages",
        "metrics",
        "models",
        "offpolicy",
        "reporting",
        "results",
        "splits",
        "stats",
        "tables",
    },
    "testing": {"comparison", "core", "findings", "results"},
    "loading": {
        "comparison",
        "core",
        "errors",
        "evidence",
        "interleave",
        "messages",
        "offpolicy",
        "results",
        "splits",
    },
    "cli": {
        "comparison",
        "convention",
        "core",
        "errors",
        "evaluation",
        "evidence",
        "experiments",
        "findings",
        "interleave",
        "loading",
        "messages",
        "metrics",
        "offpolicy",
        "reporting",
        "results",
        "spark",
        "splits",
        "tables",
    },
}
"""Every package, in order of its level, with the packages that it may import and no others."""
HEAVY = {
    "torch",
    "torchmetrics",
    "lightning",
    "pyspark",
    "pandas",
    "pyarrow",
    "sklearn",
    "mlflow",
    "wandb",  # results/trackers.py asks for them by name, when a result is logged
}
ENGINES = {"torch": {"torch", "torchmetrics", "lightning"}, "spark": {"pyspark", "pyarrow"}}
"""Packages that run the work elsewhere, with the libraries that only they import."""
EXTRAS = {
    "altair": "reporting/charts.py",
    "vl_convert": "reporting/report.py",
    "jinja2": "reporting/report.py",
    "pydantic": "experiments/",
    "yaml": "experiments/",
}
"""Libraries of the extras plot, report and config, with the files that may import them."""
BY_STRING = {"rankwise.cli.main", "rankwise.metrics", "rankwise.metrics.registry"}
"""Modules that import others of rankwise by their names: commands, exports, and the families of metrics."""
FILES = sorted(SOURCE.rglob("*.py"))
LOADERS = {"import_module", "__import__"}
NAMES = [str(path.relative_to(SOURCE)) for path in FILES]


def module_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def nodes(path):
    """Return the imports and the calls of a file, without imports for type checkers alone."""
    found, inside = [], [ast.parse(path.read_text(encoding="utf-8"))]
    while inside:
        node = inside.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            inside += node.orelse
            continue
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            found.append(node)
        inside += ast.iter_child_nodes(node)
    return found


@cache
def imports(path):
    """Return every module that a file imports; those of rankwise as whole modules."""
    found = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module or "")
    return frozenset(found)


def package_of(module):
    return module.split(".")[1] if "." in module else ""


def levels(arrows):
    """Return the level of each node above those it points to; raise if there is a circle."""
    known: dict[str, int] = {}

    def level(node, above):
        assert node not in above, f"a circle: {' -> '.join([*above[above.index(node) :], node])}"
        if node not in known:
            known[node] = 1 + max((level(n, [*above, node]) for n in arrows[node]), default=0)
        return known[node]

    return {node: level(node, []) for node in arrows}


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_who_imports_whom(path):
    package = package_of(module_of(path))
    for name in imports(path):
        assert name.split(".")[0] not in HEAVY - ENGINES.get(package, set())
        if (
            package in ALLOWED
            and package_of(name) not in (package, "")
            and name.startswith("rankwise.")
        ):
            assert package_of(name) in ALLOWED[package], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_who_imports_the_extras(path):
    inside = path.relative_to(SOURCE).as_posix()
    for name in {name.split(".")[0] for name in imports(path)} & EXTRAS.keys():
        assert inside.startswith(EXTRAS[name])


@pytest.mark.slow
def test_evaluating_loads_no_extra():
    """Whoever has not installed the extras evaluates and compares; whoever has does not wait."""
    code = (
        "import sys, rankwise as rw\n"
        "lists = {user: [user % 3] for user in range(9)}\n"
        "result = rw.evaluate(lists, {user: {0, 1} for user in range(9)}, 'recall@1')\n"
        "repr(rw.compare(result, result)), result._repr_html_()\n"
        f"print(*sorted({set(EXTRAS)} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_no_file_imports_in_a_circle():
    levels(
        {module: imports(path) & MODULES.keys() for module, path in MODULES.items()}
        | {"rankwise": set()}
    )


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_file_imports_by_string(path):
    """Nothing hides an import from these tests."""
    if module_of(path) in {"rankwise", *BY_STRING}:
        return
    for node in nodes(path):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "attr", getattr(node.func, "id", "")) in LOADERS
        ):
            names = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            assert not any("rankwise" in str(name) for name in names)


def test_no_file_outside_metrics_imports_a_kind_of_metric():
    """What differs between kinds are methods of the kinds; the rest of the package knows no cases."""
    kinds = {
        *(
            "PerUser",
            "Pooled",
            "Accumulated",
            "Catalogue",
            "GroupRates",
            "OverItemGroups",
            "Composed",
            "Grouped",
        ),
        *(
            "OverUsers",
            "RunningSum",
            "HitSum",
            "DerivedMetric",
            "CompositeMetric",
            "MeanOfUsers",
            "MeanOfRows",
            "kinds",
            "composite_kinds",
        ),
    }
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and path.parent.name != "metrics":
                is_of_metrics = (node.module or "").startswith("rankwise.metrics")
                assert not (is_of_metrics and kinds & {alias.name for alias in node.names}), path


def test_every_package_has_its_row():
    packages = {
        package_of(module) for module in MODULES if module not in ("rankwise", "rankwise.__main__")
    }
    assert packages == ALLOWED.keys()
