"""The API reference: one page per group of public objects, from their docstrings."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

from reference import make_anew

import rankwise
from rankwise import metrics
from rankwise.metrics import registry

__all__ = ["GROUPS", "public_objects", "write_api"]

POLICIES = ("Lists", "Scores", "Probabilities", "Column", "Uniform", "Logged")
DRAFTS = ("team_draft", "optimised", "balanced", "multileave")

GROUPS: dict[str, tuple[str, list[str]]] = {
    "evaluation": (
        "Evaluation",
        [
            "evaluate",
            "evaluate_model",
            "evaluate_ratings",
            "Evaluator",
            "Partial",
            "read_chunks",
            "curve",
            "compute_metrics",
            "RecommenderEvaluator",
        ],
    ),
    "results": (
        "Results and reports",
        [
            "Result",
            "load",
            "from_per_user",
            "report",
            "reporting.report.Report",
            "reporting.plots.ResultPlots",
            "reporting.plots.ComparisonPlots",
        ],
    ),
    "comparison": (
        "Comparison and decisions",
        ["compare", "Comparison", "decide", "Decision", "power", "sample_size"],
    ),
    "evidence": (
        "Evidence across studies",
        [
            "validate_metrics",
            "evidence.launches.MetricValidation",
            "judged",
            "evidence.judged.JudgedResult",
            "nulls",
            "evidence.nulls.Nulls",
            "stages",
            "evidence.stages.Stages",
            "leaderboard",
            "evidence.leaderboard.Leaderboard",
            "claim",
            "evidence.claim.Claim",
            "stability",
            "evidence.stability.Stability",
            "rank_agreement",
            "evidence.rank_agreement.RankAgreement",
        ],
    ),
    "off_policy": (
        "Off-policy evaluation",
        ["off_policy", "OffPolicy", "interleaving", "Interleaving"],
    ),
    "policies": ("Policies", [f"offpolicy.policies.{name}" for name in POLICIES]),
    "interleave": ("Interleaved lists", [f"interleave.drafts.{name}" for name in DRAFTS]),
    "ranking": ("Ranking", ["rank", "Ranking", "rank_relevant", "Ranks", "correct"]),
    "conventions": (
        "Conventions",
        ["conventions", "Convention", "across_conventions", "convention_of", "explain"],
    ),
    "metrics": (
        "rankwise.metrics",
        ["parse", *(f"metrics.{name}" for name in metrics.FOR_AUTHORS)],
    ),
    "audit": ("Audit", ["audit", "Audit"]),
    "candidates": ("rankwise.candidates", ["candidates"]),
    "splits": ("rankwise.splits", ["splits"]),
    "stats": ("rankwise.stats", ["stats"]),
    "models": ("rankwise.models", ["models"]),
    "functional": ("rankwise.functional", ["functional"]),
    "testing": ("rankwise.testing", ["testing"]),
    "datasets": ("rankwise.datasets", ["datasets"]),
    "torch": ("rankwise.torch", ["torch"]),
    "spark": ("rankwise.spark", ["spark"]),
    "errors": ("Errors", ["errors", "RankwiseError"]),
}
"""Title and content of each page: public names of rankwise, or of one of its modules."""


def public_objects(names: list[str]) -> list[str]:
    """Return the full names of objects; a module stands for all that it exports."""
    found = []
    for name in names:
        module = f"rankwise.{name}"
        head = name.rpartition(".")[0]
        if head:
            found.append(module)
        elif name[:1].islower() and not callable(getattr(rankwise, name, None)):
            found += [f"{module}.{each}" for each in import_module(module).__all__]
        else:
            found.append(module)
    return list(dict.fromkeys(found))


def _object(path: str) -> Any:
    head, _, last = path.rpartition(".")
    return getattr(import_module(head), last)


def write_api(folder: Path) -> None:
    """Write the pages into a folder, made anew."""
    make_anew(folder)
    described: dict[int, str] = {}
    for name, (title, names) in GROUPS.items():
        (folder / f"{name}.rst").write_text(_page(title, names, described), encoding="utf-8")
    (folder / "index.rst").write_text(_index(), encoding="utf-8")


def _page(title: str, names: list[str], described: dict[int, str]) -> str:
    """Return a page; of objects that another page describes it has a link."""
    lines = [title, "=" * len(title), ""]
    if title.startswith("rankwise."):
        lines += [f".. automodule:: {title}", "   :no-members:", ""]
    for path in public_objects(names):
        found = _object(path)
        if described.setdefault(id(found), path) != path:
            lines += [f"``{path}`` is :py:obj:`{described[id(found)]}`.", ""]
        elif inspect.isclass(found):
            kind = "autoexception" if issubclass(found, BaseException) else "autoclass"
            lines += [f".. {kind}:: {path}", "   :members:", ""]
        elif callable(found):
            lines += [f".. autofunction:: {path}", ""]
        elif not inspect.ismodule(found):
            lines += [f".. autodata:: {path}", ""]
    return "\n".join(lines)


def _index() -> str:
    lines = [
        "API reference",
        "=============",
        "",
        (
            "**You need** a name. **You get** its parameters, defaults, errors and an example. "
            "**Time** 1 minute."
        ),
        "",
        "Every public function and class.",
        "The metrics have :doc:`pages </metrics/index>` with formulas.",
        "",
        ".. toctree::",
        "   :maxdepth: 1",
        "",
        *(f"   {name}" for name in GROUPS),
        "",
        "Metric classes",
        "--------------",
        "",
        "Each metric is also a class of ``rankwise.metrics``, and of ``rankwise``, for example",
        '``rankwise.NDCG(gain="exponential") @ 10``:',
        "",
    ]
    links = [f":doc:`{cls.__name__} </metrics/{cls.name}>`" for cls in registry.all_metrics()]
    return "\n".join([*lines, ", ".join(links) + ".", ""])
