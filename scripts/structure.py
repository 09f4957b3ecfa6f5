"""Print how much of the project has to be held in the head: ``python scripts/structure.py``.

Of every package: code lines, functions, classes, the density of bodies, functions with more than
ten branches, names that are participles, indefinite words in summaries. Of the whole: imports that
run in a circle, late imports counted. Of a small `evaluate`, `compare` and `decide`: functions and
files that the second call enters, how often the file changes, how deep it goes, and the classes of
rankwise it makes instances of.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import rankwise as rw

SOURCE = Path(rw.__file__).parent
METRICS = ["ndcg@10", "recall@10", "catalog_coverage@10"]

MOST_BRANCHES = 10
INDEFINITE = re.compile(
    r"\b(what|those|that of|some|such|which ones?|one of|it|whatever|others?|each other)\b",
    re.IGNORECASE,
)
PARTICIPLE = re.compile(
    r"^_*(?:\w*[a-z](?<!e)ed|made|held|shown|said|told|given|taken|known|kept|left|drawn|written|read_by"
    r"|spelt|sought|found|bound|built|done|seen|met|dealt|cut_at|split_at|worn|torn|sent|chosen)(?:_\w+)?$"
)
NOT_PARTICIPLES = {"seed", "need", "feed", "speed", "embed", "shed"}
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.match_case)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Figures:
    """What is counted of a package."""

    files: int = 0
    code_lines: int = 0
    functions: int = 0
    classes: int = 0
    body_lines: int = 0
    nodes: int = 0
    blank_lines: int = 0
    comments: int = 0
    comprehensions: int = 0
    conditional_expressions: int = 0
    participles: int = 0
    called_of: int = 0
    summary_words: int = 0
    indefinite_words: int = 0
    ceremony: int = 0
    branched: list[tuple[int, str]] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        """Add the figures of a file, or of another package."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def per_hundred(self, count: int) -> str:
        """Return a count by 100 lines of bodies."""
        return f"{100 * count / max(self.body_lines, 1):.1f}"

    def cells(self) -> list[str]:
        """Return the cells of a row of the table."""
        words = 100 * self.indefinite_words / max(self.summary_words, 1)
        return [
            f"{self.code_lines:,}",
            f"{self.files}",
            f"{self.functions:,}",
            f"{self.classes}",
            f"{self.body_lines / max(self.functions, 1):.1f}",
            f"{self.nodes / max(self.body_lines, 1):.1f}",
            self.per_hundred(self.blank_lines),
            self.per_hundred(self.comments),
            self.per_hundred(self.comprehensions),
            self.per_hundred(self.conditional_expressions),
            f"{len(self.branched)}",
            f"{self.participles}",
            f"{self.called_of}",
            f"{words:.1f}",
            f"{self.ceremony:,}",
        ]


COLUMNS = [
    "package",
    "code",
    "files",
    "functions",
    "classes",
    "body",
    "nodes/line",
    "blank/100",
    "comments/100",
    "compr./100",
    "cond./100",
    ">10 branches",
    "participles",
    "`of`",
    "indefinite/100",
    "imports, lists",
]


def figures_of(path: Path) -> Figures:
    """Count one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = text.splitlines()
    comments = comment_lines(text)
    figures = Figures(files=1, ceremony=ceremony_lines(tree))

    docstrings = {line for node in ast.walk(tree) for line in docstring_lines(node)}
    figures.code_lines = sum(
        bool(line.strip()) and number not in docstrings and not line.lstrip().startswith("#")
        for number, line in enumerate(lines, start=1)
    )

    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            figures.classes += 1
        if isinstance(node, ast.ClassDef | Function):
            add_summary(figures, node)
        if isinstance(node, Function):
            add_function(figures, node, lines, comments, path)
    return figures


def add_summary(figures: Figures, node: ast.ClassDef | Function) -> None:
    """Count the words of the first line of a docstring."""
    summary = (ast.get_docstring(node) or "").partition("\n")[0]
    figures.summary_words += len(summary.split())
    figures.indefinite_words += len(INDEFINITE.findall(summary))


def add_function(
    figures: Figures, node: Function, lines: list[str], comments: set[int], path: Path
) -> None:
    """Count a function: its name, its branches, and the density of its body."""
    figures.functions += 1
    figures.called_of += node.name == "of"
    figures.participles += is_participle(node)

    branches = branches_of(node)
    if branches > MOST_BRANCHES:
        name = f"{path.relative_to(SOURCE).with_suffix('')}.{node.name}"
        figures.branched.append((branches, name))

    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if not body:
        return
    numbers = range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1)
    inside = [inner for statement in body for inner in ast.walk(statement)]
    blank = sum(not lines[number - 1].strip() for number in numbers)
    figures.blank_lines += blank
    figures.body_lines += len(numbers) - blank
    figures.nodes += len(inside)
    figures.comments += sum(number in comments for number in numbers)
    figures.comprehensions += sum(isinstance(inner, COMPREHENSIONS) for inner in inside)
    figures.conditional_expressions += sum(isinstance(inner, ast.IfExp) for inner in inside)


def branches_of(function: Function) -> int:
    """Count the ways that a function parts, without those of functions inside it."""
    count, open_nodes = 0, [*ast.iter_child_nodes(function)]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, Function | ast.Lambda):
            continue
        count += isinstance(node, BRANCHES)
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        if isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        open_nodes += ast.iter_child_nodes(node)
    return count


def is_participle(node: Function) -> bool:
    """Return whether the first word of a function's name is a participle; properties are adjectives."""
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    if decorators & {"property", "cached_property"}:
        return False
    first = node.name.strip("_").partition("_")[0]
    return first not in NOT_PARTICIPLES and PARTICIPLE.match(first) is not None


def docstring_lines(node: ast.AST) -> range:
    """Return the lines of the docstring of a module, class or function."""
    if not isinstance(node, ast.Module | ast.ClassDef | Function):
        return range(0)
    if ast.get_docstring(node) is None:
        return range(0)
    text = node.body[0]
    return range(text.lineno, (text.end_lineno or text.lineno) + 1)


def comment_lines(text: str) -> set[int]:
    """Return the lines with a comment, at their end or alone."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0] for token in tokens if token.type == tokenize.COMMENT}


def ceremony_lines(tree: ast.Module) -> int:
    """Count the lines of ``__all__`` and of imports from rankwise."""
    count = 0
    for node in ast.walk(tree):
        is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        is_own = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rankwise")
        if is_list or is_own:
            count += (node.end_lineno or node.lineno) - node.lineno + 1
    return count


def imports_of(path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """Return the modules of rankwise that a file imports when it runs, also late."""
    for node in running_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module for name in names)


def running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Return the nodes of a tree without those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from running_nodes(node)


def circles() -> list[list[str]]:
    """Return the groups of modules that import each other in a circle."""
    modules = {module_name(path): path for path in SOURCE.rglob("*.py")}
    arrows = {
        name: {to for to in imports_of(path, modules) if to in modules and to != name}
        for name, path in modules.items()
        if path.name != "__init__.py"
    }
    reached = {name: reachable(name, arrows) for name in arrows}
    groups = {
        frozenset({name, *(to for to in reached[name] if name in reached.get(to, ()))})
        for name in arrows
        if name in reached[name]
    }
    return sorted(map(sorted, groups))


def reachable(start: str, arrows: dict[str, set[str]]) -> set[str]:
    """Return the modules that can be reached by one import or more."""
    found: set[str] = set()
    open_names = [*arrows[start]]
    while open_names:
        name = open_names.pop()
        if name not in found:
            found.add(name)
            open_names += arrows.get(name, ())
    return found


def module_name(path: Path) -> str:
    """Return the dotted name of a file of rankwise."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def print_packages() -> None:
    """Print a row of figures a package, and the functions with the most branches."""
    by_package: dict[str, Figures] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        package = inside.parts[0] if len(inside.parts) > 1 else "(top)"
        by_package.setdefault(package, Figures()).add(figures_of(path))
    whole = Figures()
    for figures in by_package.values():
        whole.add(figures)

    print("| " + " | ".join(COLUMNS) + " |")
    print("|---" + "|--:" * (len(COLUMNS) - 1) + "|")
    for package, figures in [*by_package.items(), ("**all**", whole)]:
        print("| " + " | ".join([package, *figures.cells()]) + " |")

    print(
        "\nMost branches: "
        + ", ".join(f"{name} {n}" for n, name in sorted(whole.branched)[:-11:-1])
    )


class Tracer:
    """Records the functions of rankwise that a call enters, and the classes it makes instances of."""

    def __init__(self) -> None:
        self.entered: list[tuple[str, str]] = []
        self.classes: Counter[str] = Counter()
        self.deepest = 0
        self._depth = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Record an event of ``sys.setprofile``."""
        code = frame.f_code
        if event == "call" and code.co_name in ("__init__", "__new__") and code.co_argcount:
            self._add_instance(frame.f_locals.get(code.co_varnames[0]))
        if not code.co_filename.startswith(str(SOURCE)):
            return
        if event == "call":
            self._depth += 1
            self.deepest = max(self.deepest, self._depth)
            self.entered.append((code.co_filename, code.co_qualname))
        elif event == "return":
            self._depth -= 1

    def _add_instance(self, made: object) -> None:
        """Count the class of an object that is initialised, or of one that is made."""
        cls = made if isinstance(made, type) else type(made)
        if cls.__module__.startswith("rankwise"):
            self.classes[cls.__qualname__] += 1


def trace(call: Callable[[], Any]) -> str:
    """Return the figures of the second run of a call: what the first loads and remembers is left out."""
    call()
    tracer = Tracer()
    sys.setprofile(tracer)
    try:
        call()
    finally:
        sys.setprofile(None)

    files = [file for file, _ in tracer.entered]
    changes = sum(before != after for before, after in pairwise(files))
    return (
        f"{len(set(tracer.entered))} functions in {len(set(files))} files, {changes} changes of "
        "file, "
        f"{tracer.deepest} frames deep, {len(tracer.classes)} classes"
    )


def print_calls() -> None:
    """Print what small calls enter."""
    truth = {user: {1, 2} for user in range(20)}
    lists = {
        "a": {user: [1, 3] for user in truth},
        "b": {user: [1, 2 + user % 2] for user in truth},
    }
    results = {name: rw.evaluate(rows, truth, METRICS) for name, rows in lists.items()}
    rule = {"success": "ndcg@10", "guardrails": {"recall@10": "5%"}}

    print("evaluate:", trace(lambda: rw.evaluate(lists["a"], truth, METRICS)))
    print("compare:", trace(lambda: rw.compare(results)))
    print("compare and show:", trace(lambda: repr(rw.compare(results))))
    print("decide:", trace(lambda: rw.decide(results, **rule)))


def main() -> None:
    """Print all figures."""
    print_packages()
    print()
    for circle in circles():
        print(f"circle of {len(circle)} modules: {', '.join(circle)}")
    print_calls()


if __name__ == "__main__":
    main()
