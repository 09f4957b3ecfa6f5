"""Conventions of rankers and retrieval tools give the numbers that the tools themselves returned.

The values lie beside the project (``conventions-more.json``): 40 worlds, and what eleven tools, run
on them, printed. A name of the file is written under the convention as it stands there.
"""

from __future__ import annotations

import contextlib
import json
import math
from functools import cache

import pytest

import rankwise as rw
from golden_cases import SHARED
from rankwise.errors import MetricError, RankwiseError, ScoreError

_PATH = SHARED / "conventions-more.json"
pytestmark = pytest.mark.skipif(not _PATH.is_file(), reason="no shared/conventions-more.json")


@cache
def _data():
    nothing = {"worlds": {}, "libraries": {}}
    return json.loads(_PATH.read_text(encoding="utf-8")) if _PATH.is_file() else nothing


def worlds(kind):
    return {name: world for name, world in _data()["worlds"].items() if world["kind"] == kind}


def rows_of(world):
    """Return lists of (row, score), labels by query and weights by query of a ranker's world."""
    lists, truth, start = {}, {}, 0
    for query, size in enumerate(world["groups"]):
        rows = range(start, start + size)
        lists[query] = [(row, world["scores"][row]) for row in rows]
        truth[query] = {row: world["labels"][row] for row in rows}
        start += size
    weights = world["weights"]
    return lists, truth, None if weights is None else dict(enumerate(weights))


def lists_of(world, *, scores):
    """Return the lists of a retrieval world, with or without their scores."""
    return {
        query: [tuple(row) for row in rows] if scores else [document for document, _ in rows]
        for query, rows in world["lists"].items()
    }


def relevant_of(world):
    """Return the relevant documents of each query, as tools of binary relevance are given them."""
    return {
        query: {document: grade for document, grade in judged.items() if grade > 0}
        for query, judged in world["qrels"].items()
    }


def value_of(name, lists, truth, convention, **options):
    return rw.evaluate(lists, truth, name, convention=convention, **options).values.popitem()[1]


def is_error(value):
    return isinstance(value, dict) and "error" in value


def number(value):
    """Return the mean that a tool returned; None for an error or for no number."""
    if isinstance(value, dict):
        value = value.get("mean", value.get("aggregate", {}).get("mean"))
    return value if isinstance(value, int | float) else None


def named_values(library, world):
    """Yield each name of a library with the number that it returned for a world."""
    for name, value in _data()["libraries"][library]["values"].get(world, {}).items():
        if number(value) is not None:
            yield name, number(value)
        elif isinstance(value, dict):
            yield from ((n, v) for n, v in value.items() if isinstance(v, int | float))


def check(library, world, convention, cases, *, tolerance, at_least):
    """Check each case, (name, arguments, expected); at least so many of them must be there."""
    together = {}
    for name, (lists, truth, options), expected in cases:
        key = id(lists), id(truth), *options
        together.setdefault(key, (lists, truth, options, []))[-1].append((name, expected))
    for lists, truth, options, named in together.values():
        ours = values_of([name for name, _ in named], lists, truth, convention, options)
        for value, (name, expected) in zip(ours, named, strict=True):
            near = pytest.approx(expected, rel=tolerance, abs=tolerance)
            assert value == near, (library, world, name)
    assert len(cases) >= at_least


def values_of(names, lists, truth, convention, options):
    """Return the value of each name, from calls that take as many names as are taken together."""
    if len(names) == 1:
        return [value_of(names[0], lists, truth, convention, **options)]
    with contextlib.suppress(RankwiseError):
        values = rw.evaluate(lists, truth, names, convention=convention, **options).values
        if len(values) == len(names):  # and not two names of one metric
            return [*values.values()]
    middle = len(names) // 2
    return [
        value
        for half in (names[:middle], names[middle:])
        for value in values_of(half, lists, truth, convention, options)
    ]


# What a world holds that a tool gets wrong, or that rankwise does not imitate; notes say so.
NEGATIVE = {"p_negative"}  # negative labels have negative gains
FRACTIONS = {"p_fractional"}  # a label is relevant above 0.5
WEIGHTED_ONES = {"p_weights_no_positive"}  # nDCG adds 1 without the weight
POOLED = ("auc", "average_precision", "aucpr", "AUC:", "FilteredDCG")  # refused
REPEATED = {"p_r_duplicates", "p_r_duplicate_hit"}


@pytest.mark.parametrize("world", worlds("ranker"))
def test_lightgbm(world):
    lists, truth, weights = rows_of(_data()["worlds"][world])
    cases = []
    for group, values in _data()["libraries"]["lightgbm"]["values"][world].items():
        if group.startswith(POOLED) or world in WEIGHTED_ONES or is_error(values):
            continue
        for name, expected in values.items():
            if "label_gain=0,1,2,3,4" in group:
                name = name.replace("ndcg", "ndcg(gain=linear)")
            elif "label_gain" in group:
                continue
            if not (world in FRACTIONS and name.startswith("map")):
                cases.append((name, (lists, truth, {"weights": weights}), expected))
    check("lightgbm", world, "lightgbm", cases, tolerance=1e-9, at_least=0)


@pytest.mark.parametrize("world", worlds("ranker"))
def test_xgboost(world):
    lists, truth, weights = rows_of(_data()["worlds"][world])
    cases = [
        (name, (lists, truth, {"weights": weights}), expected)
        for name, expected in named_values("xgboost", world)
        if not name.startswith(POOLED)
        and not (world in WEIGHTED_ONES and name.startswith("ndcg") and "-" not in name)
        and not (world in NEGATIVE and "exp_gain=false" in name)
    ]
    check(
        "xgboost", world, "xgboost", cases, tolerance=1e-9, at_least=0 if world in NEGATIVE else 12
    )


_IGNORES_WEIGHTS = ("MAP", "PrecisionAt", "RecallAt", "QueryAUC")
_OF_BORDER = ("MAP", "MRR", "PrecisionAt", "RecallAt", "QueryAUC")
_OTHER_BORDER = "border=1.5"  # a threshold is an option of the evaluation


@pytest.mark.parametrize("world", worlds("ranker"))
def test_catboost(world):
    lists, truth, weights = rows_of(_data()["worlds"][world])
    above_one = max(map(max, (labels.values() for labels in truth.values()))) > 1
    cases = []
    for name, expected in named_values("catboost", world):
        base = name.partition(":")[0]
        if name.startswith(POOLED) or (above_one and base in ("ERR", "PFound")):
            continue
        if world in FRACTIONS and base in _OF_BORDER and "Ranking" not in name:
            continue
        if _OTHER_BORDER in name:
            continue
        if world in NEGATIVE and base in ("NDCG", "DCG", "AverageGain", "ERR", "PFound"):
            continue
        options = {} if base in _IGNORES_WEIGHTS else {"weights": weights}
        cases.append((name, (lists, truth, options), expected))
    check("catboost", world, "catboost", cases, tolerance=1e-9, at_least=20)


def test_labels_above_one_are_no_probabilities_of_catboost():
    lists, truth, _ = rows_of(_data()["worlds"]["p_graded"])
    with pytest.raises(ScoreError, match="a relevance above 1 is no probability to stop"):
        value_of("ERR:top=3", lists, truth, "catboost")


@pytest.mark.parametrize("world", worlds("ranker"))
def test_ignite(world):
    lists, truth, _ = rows_of(_data()["worlds"][world])
    cases = []
    for name, values in _data()["libraries"]["ignite"]["values"][world].items():
        refused = "threshold" in name or "HitRate(ignore" in name or "top_k" in name
        tied = name == "HitRate" and ("ties" in world or world == "p_constant")
        if refused or tied or world in FRACTIONS or not isinstance(values, dict):
            continue
        for k, expected in values.items():
            if isinstance(expected, float):
                cases.append((f"{name}@{k}", (lists, truth, {}), expected))
    check("ignite", world, "torch_ignite", cases, tolerance=2e-6, at_least=0)


@pytest.mark.parametrize("world", worlds("ranker"))
def test_evidently(world):
    lists, truth, _ = rows_of(_data()["worlds"][world])
    ranked = {
        query: [row for row, _ in sorted(rows, key=lambda pair: -pair[1])]
        for query, rows in lists.items()
    }
    shortest = min(map(len, ranked.values()))
    language = rw.conventions()["evidently"].language
    cases = []
    for name, values in _data()["libraries"]["evidently"]["values"][world].items():
        name, _, kind = name.partition(" type=")
        if kind == "score" or is_error(values) or (world in NEGATIVE and name.startswith("NDCG")):
            continue
        for k, expected in enumerate(values["value"], start=1):
            at_k = name.replace("k=5", f"k={k}")
            is_wrong = name.startswith("MAP") and k > shortest
            if (
                not isinstance(expected, float) or math.isnan(expected) or is_wrong
            ):  # F of 0 and 0 is NaN there
                continue
            if not language.find_entry(at_k).refused:
                cases.append((at_k, (ranked, truth, {}), expected))
    check("evidently", world, "evidently", cases, tolerance=1e-9, at_least=0)


@pytest.mark.parametrize("world", worlds("retrieval"))
@pytest.mark.parametrize(
    ("library", "convention"), [("llama", "llama_index"), ("haystack", "haystack")]
)
def test_tools_without_a_cutoff(library, convention, world):
    if library == "llama" and world in REPEATED:
        pytest.skip("a repeated document is counted again there")
    content = _data()["worlds"][world]
    lists, binary, cases = lists_of(content, scores=False), relevant_of(content), []

    @cache
    def cut(k):
        return {query: documents[:k] for query, documents in lists.items()}

    for name, expected in named_values(library, world):
        name, _, k = name.partition(" of the first ")
        if "graded truth" in name and "NDCG" not in name:
            continue  # all judged documents are relevant there
        truth = content["qrels"] if "graded truth" in name else binary
        cases.append((f"{name}@{k}" if k else name, (lists, truth, {}), expected))
        if k:  # a list that is cut before is the same
            cases.append((name, (cut(int(k)), truth, {}), expected))
    check(library, world, convention, cases, tolerance=1e-9, at_least=20)


@pytest.mark.parametrize("world", worlds("retrieval"))
@pytest.mark.parametrize("library", ["mlflow", "sentence_transformers", "beir", "mteb"])
def test_tools_with_a_cutoff(library, world):
    if world in REPEATED:
        pytest.skip("a repeated document is counted again there, or passed once")
    content = _data()["worlds"][world]
    binary = library in ("mlflow", "sentence_transformers")
    lists = lists_of(content, scores=library != "mlflow")
    truth = relevant_of(content) if binary else content["qrels"]
    cases = [
        (name, (lists, truth, {}), expected)
        for name, expected in named_values(library, world)
        if name != "queries"
    ]
    tolerance = 1e-9 if binary else 6e-6
    has_no_value = world == "p_r_no_relevant" and not binary
    check(library, world, library, cases, tolerance=tolerance, at_least=0 if has_no_value else 9)


@pytest.mark.parametrize(
    ("convention", "name"),
    [
        ("lightgbm", "auc"),
        ("lightgbm", "average_precision"),
        ("xgboost", "auc"),
        ("xgboost", "aucpr"),
        ("catboost", "AUC:type=Ranking"),
        ("catboost", "FilteredDCG"),
        ("torch_ignite", "NDCG(relevance_threshold=2)@5"),
        ("evidently", "MRR(k=5,no_feedback_users=True)"),
    ],
)
def test_names_that_rankwise_does_not_compute_say_why(convention, name):
    with pytest.raises(MetricError, match="is not computed here") as caught:
        rw.evaluate({"q": [(1, 0.5), (2, 0.4)]}, {"q": {1: 1, 2: 0}}, name, convention=convention)
    assert caught.value.found
