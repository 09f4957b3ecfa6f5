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
    "errors": set(),
    "core": {"errors"},
    "functional": {"errors"},
    "datasets": {"errors"},
    "tables": {"core", "errors"},
    "models": {"tables", "core", "errors"},
    "stats": {"core", "errors"},
    "measures": {"functional", "core", "errors"},
    "convention": {"measures", "core", "errors"},
    "encoding": {"tables", "core", "errors"},
    "candidates": {"tables", "core", "errors"},
    "results": {"convention", "measures", "stats", "tables", "core", "errors"},
    "splits": {"models", "tables", "core", "errors"},
    "ranking": {"candidates", "tables", "core", "errors"},
    "evaluation": {
        "convention",
        "ranking",
        "splits",
        "results",
        "candidates",
        "encoding",
        "measures",
        "stats",
        "tables",
        "datasets",
        "models",
        "functional",
        "core",
        "errors",
    },
    "cli": {
        "convention",
        "spark",
        "evaluation",
        "ranking",
        "splits",
        "results",
        "measures",
        "stats",
        "tables",
        "core",
        "errors",
    },
    "torch": {"convention", "evaluation", "ranking", "results", "encoding", "measures", "tables", "core", "errors"},
    "spark": {"evaluation", "splits", "results", "encoding", "measures", "stats", "tables", "core", "errors"},
}
"""Every room with the rooms that it may import; what is not named, it may not."""
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
"""Rooms that run the work elsewhere, with the libraries that only they import."""
EXTRAS = {
    "altair": "results/plots/charts.py",
    "vl_convert": "results/report/page.py",
    "jinja2": "results/report/page.py",
    "pydantic": "evaluation/config/",
    "yaml": "evaluation/config/",
}
"""Libraries of the extras plot, report and config, with the files that may import them."""
METHODS = "rankwise.results.methods"
"""The only module that imports from above: typed methods of results that draw, report and log them."""
BY_STRING = {"rankwise.cli.main", "rankwise.measures.registry"}
"""Modules that import others of rankwise by their names: commands, and the families of metrics."""
FILES = sorted(SOURCE.rglob("*.py"))
LOADERS = {"import_module", "__import__"}
NAMES = [str(path.relative_to(SOURCE)) for path in FILES]


def module_of(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


@cache
def imports(path):
    """Return every module that a file imports; those of rankwise as whole modules."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module or "")
    return frozenset(found)


def room_of(module):
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
    room = room_of(module_of(path))
    for name in imports(path):
        assert name.split(".")[0] not in HEAVY - ENGINES.get(room, set())
        if (
            room in ALLOWED
            and room_of(name) not in (room, "")
            and name.startswith("rankwise.")
            and module_of(path) != METHODS
        ):
            assert room_of(name) in ALLOWED[room], f"{path.name} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_who_imports_the_extras(path):
    inside = path.relative_to(SOURCE).as_posix()
    for name in {name.split(".")[0] for name in imports(path)} & EXTRAS.keys():
        assert inside.startswith(EXTRAS[name])


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
        | {"rankwise": set(), METHODS: set()}
    )


def test_methods_import_from_above_only_when_they_are_called():
    tree = ast.parse(MODULES[METHODS].read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert not (getattr(node, "module", None) or "").startswith("rankwise.")


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_no_file_imports_by_string(path):
    """Nothing hides an import from these tests."""
    if module_of(path) in {"rankwise", *BY_STRING}:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in LOADERS:
            names = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            assert not any("rankwise" in str(name) for name in names)


def test_every_package_has_its_row():
    packages = {room_of(module) for module in MODULES if module not in ("rankwise", "rankwise.__main__")}
    assert packages == ALLOWED.keys()
