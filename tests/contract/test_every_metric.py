"""What holds for every metric in the registry, present and future."""

from __future__ import annotations

import ast
import inspect
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import functional as fn
from rankwise.errors import ParameterError
from rankwise.metrics import registry
from rankwise.metrics.base import direction, interval
from rankwise.metrics.composite_kinds import Composed, Grouped
from rankwise.metrics.kinds import Accumulated, PerUser
from rankwise.results.values import labelled_values
from strategies import fewer, numbered_worlds, worlds

EVERY = registry.all_metrics()
NAMES = [cls.name for cls in EVERY]
# What a metric needs to be worth asking: the top of the scale.
SPECIAL = {"err": {"max_relevance": 4.0}}
# Those that look at the scores themselves, not only at the order that they give.
BY_SCORE = {"item_mad_rating", "user_mad_rating", "mean_score"}
# Those whose best list depends on how many items are relevant, or whose smoothing keeps it below 1.
NO_BEST = {
    "mar",
    "mean_recall",
    "rbp",
    "err",
    "snips_dcg",
    "fallout",
    "list_auc",
    "inferred_average_precision",
    "complete",
}


def cell_of(cls, k=3):
    metric = cls(**SPECIAL.get(cls.name, {}))
    return str(metric if cls.cutoff == "none" else metric @ k)


CELLS = [cell_of(cls) for cls in EVERY]
NEEDS_ALL_TRUTH = {"hole@3"}
"""What is judged for anybody matters to everybody: no piece and no slice has this value alone."""


def with_chances(world):
    """Distinct scores in (0, 1), so that every metric can be asked and no score ties."""
    place = world.place
    lists = {
        user: {item: (score + 1 + place[item] / 50) / 6 for item, score in own.items()}
        for user, own in world.lists.items()
    }
    return replace(world, lists=lists)


def run(world, cells=CELLS, **options):
    return rw.evaluate(world.lists, world.truth, cells, population="all", **world.around, **options)


def same(ours, theirs):
    """Whether all values have the same bits."""
    return list(ours.values) == list(theirs.values) and all(
        np.array_equal(ours.values[cell], theirs.values[cell], equal_nan=True)
        for cell in ours.values
    )


def differing(ours, theirs):
    return [
        (cell, value, theirs.values.get(cell))
        for cell, value in ours.values.items()
        if not np.array_equal(value, theirs.values.get(cell, "missing"), equal_nan=True)
    ]


SCORED = worlds(scores=True, judged=True).map(with_chances)


@pytest.mark.slow
@fewer(12)
@given(SCORED)
def test_values_are_within_the_range(world):
    result = run(world)
    for cls, cell in zip(EVERY, CELLS, strict=True):
        low, high = cls.range
        own = [
            value
            for name, value in labelled_values(result.values, cell)
            if not name or cell not in result.values
        ]
        if cell in result.per_user.columns:
            own += result.per_user[cell].to_list()
        for value in own:
            assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, (cell, value)


def shuffled_rows(world, shuffled):
    def mixed(table):
        rows = [(user, list(own.items())) for user, own in table.items()]
        shuffled.shuffle(rows)
        for _, own in rows:
            shuffled.shuffle(own)
        return {user: dict(own) for user, own in rows}

    train = [(user, own[::-1]) for user, own in world.train.items()][::-1]
    return replace(world, lists=mixed(world.lists), truth=mixed(world.truth), train=dict(train))


def raised(world):
    """The world with other scores in the same order."""
    lists = {u: {i: math.exp(s) - 7 for i, s in own.items()} for u, own in world.lists.items()}
    return replace(world, lists=lists)


@fewer(16)
@given(
    SCORED,
    st.sets(st.sampled_from(["work", "rows", "names", "scores"]), min_size=1),
    st.integers(1, 3),
    st.sampled_from([1, 7, 1000]),
    st.randoms(),
)
def test_threads_order_names_and_a_monotone_transform_change_nothing(
    world, changed, threads, block, shuffled
):
    other = shuffled_rows(world, shuffled) if "rows" in changed else world
    other = raised(other) if "scores" in changed else other
    if "names" in changed:
        other = other.renamed(lambda user: f"u{user:03}", lambda item: f"i{item:03}")
    work = {"threads": threads, "block_size": block} if "work" in changed else {}
    by_score = {
        c
        for cls, c in zip(EVERY, CELLS, strict=True)
        if cls.family == "rating" or cls.name in BY_SCORE
    }
    cells = [cell for cell in CELLS if "scores" not in changed or cell not in by_score]
    assert not differing(run(world, cells), run(other, cells, **work))


@fewer(12)
@given(SCORED, st.randoms())
def test_pieces_merge_in_any_order(world, shuffled):
    cells = [cell for cell in CELLS if cell not in NEEDS_ALL_TRUTH]
    whole = run(world, cells)
    users = sorted({*world.lists, *world.truth})
    shuffled.shuffle(users)
    half = len(users) // 2
    pieces = []
    for own in (users[:half], users[half:]):
        lists = {user: world.lists[user] for user in own if user in world.lists}
        truth = {user: world.truth[user] for user in own if user in world.truth}
        if not lists or not any(value > 0 for rows in truth.values() for value in rows.values()):
            return  # a piece that cannot be evaluated on its own is an error, tested elsewhere
        pieces.append((lists, truth))

    def evaluator(piece):
        return rw.Evaluator(cells, population="all", **world.around).update(*piece)

    first, second = map(evaluator, pieces)
    assert not differing(whole, evaluator(pieces[0]).merge(second).result())
    assert not differing(whole, evaluator(pieces[1]).merge(first).result())


@fewer(12)
@given(SCORED)
def test_what_stands_below_k_does_not_matter(world):
    cells = [cell for cell in CELLS if "@" in cell]
    extra = (20, 21)
    wider = replace(
        world,
        genres={**world.genres, **dict.fromkeys(extra, ())},
        features={**world.features, 20: [0.0, 0.0, 0.0], 21: [0.0, 0.0, 0.0]},
        propensity={**world.propensity, **dict.fromkeys(extra, 1.0)},
    )
    long = {
        user: {**own, 20: 1e-3, 21: 1e-4} if len(own) >= 3 else own
        for user, own in world.lists.items()
    }
    assert not differing(run(wider, cells), run(replace(wider, lists=long), cells))


@fewer(10)
@given(SCORED)
def test_a_slice_is_an_evaluation_of_its_users(world):
    """What a group is said to score is what it scores alone."""
    result = run(world, by="group")
    for row in result.slices.to_dicts():
        own = [user for user, group in world.user_groups.items() if group == row["group"]]
        lists = {user: world.lists[user] for user in own if user in world.lists}
        truth = {user: world.truth[user] for user in own if user in world.truth}
        if not lists or not any(value > 0 for rows in truth.values() for value in rows.values()):
            continue  # cannot be evaluated on its own
        alone = run(replace(world, lists=lists, truth=truth))
        for cell, value in row.items():
            if cell in ("by", "group", "users", *NEEDS_ALL_TRUTH) or "bias_disparity" in cell:
                continue
            assert value == pytest.approx(alone.values.get(cell, math.nan), rel=1e-12, nan_ok=True)
    sliced = {re.split(r"\[(?:item_group|bin)=", cell)[0] for cell in result.slices.columns}
    missing = {cell for cell in CELLS if cell not in sliced}
    assert {cell.split("@")[0] for cell in missing} <= {
        "bias_disparity",
        "bias_disparity_recommendation",
        "bias_disparity_source",
    }


@fewer(12)
@given(numbered_worlds())
def test_doubling_all_users_leaves_means_alone(world):
    def twice(table):
        return table | {user + 100: own for user, own in table.items()}

    double = replace(
        world,
        lists=twice(world.lists),
        truth=twice(world.truth),
        reference=twice(world.reference),
        user_groups=twice(world.user_groups),
    )
    for past in (False, True):  # twice the history would be twice the popularity
        cells = [
            cell
            for cls, cell in zip(EVERY, CELLS, strict=True)
            if issubclass(cls, PerUser)
            and cls().aggregate == "mean"
            and "scores" not in cls().reads.rows
            and any(fact.kind == "history" for fact in cls().reads.facts) == past
        ]
        other = replace(double, train=twice(world.train)) if past else double
        once, both = run(world, cells), run(other, cells)
        for cell in cells:
            assert both[cell] == pytest.approx(once[cell], rel=1e-12, nan_ok=True), cell


@given(worlds())
def test_composed_metrics_are_compositions(world):
    """The values of a composed metric are those of its parts, put together by hand."""
    parts = ["precision@3", "recall@3", "ndcg@3", "gini@3", "shannon_entropy@3", "item_coverage@3"]
    composed = [
        "f@3",
        "f(beta=2.0,of=means)@3",
        "euclidean_distance@3",
        "euclidean_distance(metrics=[ndcg,gini],utopia=[1,0],of=means)@3",
        "hypervolume@3",
        "hypervolume(metrics=[ndcg,gini],of=means)@3",
        "group_gap@3",
        "group_ratio(recall)@3",
        "user_mad_ranking@3",
        "complement@3",
        "complement(metric=recall)@3",
        "ratio@3",
        "ratio(first=recall,second=precision,of=users)@3",
    ]
    result = run(world, [*parts, *composed])
    users = result.per_user
    p, r, n = (users[cell].to_numpy() for cell in parts[:3])
    mean = lambda values: float(np.nanmean(values)) if not np.isnan(values).all() else math.nan  # noqa: E731
    f = np.where(p + r > 0, 2 * p * r / np.where(p + r > 0, p + r, 1), np.where(np.isnan(p), p, 0))
    expected = {"f@3": mean(f)}
    mp, mr, mn, gini, entropy, items = (result[cell] for cell in parts)
    expected["complement@3"] = fn.complement(gini)
    expected["complement(metric=recall)@3"] = mean(1 - r)
    expected["ratio@3"] = fn.ratio(entropy, items)
    some = p > 0
    expected["ratio(first=recall,second=precision,of=users)@3"] = mean(
        np.where(some, r / np.where(some, p, 1), math.nan)
    )
    expected["f(beta=2.0,of=means)@3"] = 5 * mp * mr / (4 * mp + mr) if mp + mr else 0.0
    expected["euclidean_distance@3"] = mean(np.sqrt((n - 1) ** 2 + (r - 1) ** 2))
    expected[composed[3]] = math.hypot(mn - 1, gini)
    expected["hypervolume@3"] = mean(n * r)
    expected[composed[5]] = max(mn, 0) * max(1 - gini, 0)
    group = np.array([world.user_groups.get(user, "") for user in users["user"]])
    for values, gap, ratio in ((n, "group_gap@3", None), (r, None, "group_ratio(metric=recall)@3")):
        means = [mean(values[group == g]) for g in "xy" if not np.isnan(values[group == g]).all()]
        if gap:
            expected[gap] = max(means) - min(means) if len(means) > 1 else math.nan
            expected["user_mad_ranking@3"] = expected[gap]  # of two groups
        if ratio:
            both = len(means) > 1 and max(means) > 0
            expected[ratio] = min(means) / max(means) if both else math.nan
    for cell, value in expected.items():
        assert result[cell] == pytest.approx(value, rel=1e-12, abs=1e-15, nan_ok=True), cell
    named = {cls for cls in EVERY if issubclass(cls, Composed | Grouped)}
    assert named - {type(rw.parse(cell)) for cell in composed} == {rw.UserMADRating}


@pytest.mark.parametrize("name", NAMES)
def test_the_ideal_list_has_the_best_value(name):
    cls = registry.find(name)
    if cls.family not in ("accuracy", "debiased", "diversity") or cls.range != (0, 1):
        return
    if issubclass(cls, Accumulated) or getattr(cls, "defined_for", "") == "list" or name in NO_BEST:
        return
    around = {
        "train": {1: [7], 2: [4, 7]},
        "items": {"item": range(4, 9), "genres": ["noir|war", "drama", "war", "war", "noir"]},
    }
    truth = {1: {4: 3, 5: 2, 6: 1}}
    assert rw.evaluate({1: [4, 5, 6]}, truth, cell_of(cls), **around)[cell_of(cls)] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_says_what_it_must(name):
    cls = registry.find(name)
    text = inspect.getdoc(cls)
    assert text is not None
    assert len(text.splitlines()[0]) <= 100
    assert text.splitlines()[0].endswith(".")
    for part in (".. math::", "References\n----------", "Examples\n--------", ">>> "):
        assert part in text, part
    assert text.count(f"\n\nRange {interval(cls.range)}; {direction(cls.higher_is_better)}.") == 1
    assert text.count("The mean over users with a list.") == (cls.defined_for == "list")
    for parameter in cls().parameters:
        assert parameter in text.split("Parameters", 1)[1].split("References")[0], parameter
    for fact in cls().reads.facts:
        table = {"reference": "reference", "user_group": "users"}.get(fact.kind, "items")
        table = "train" if fact.kind in ("popularity", "history", "source") else table
        if fact.kind == "judged_anywhere":
            assert "Needs the ground truth of all users at once." in " ".join(text.split())
            continue
        assert f"``{table}``" in text, f"does not say that it needs {table}"


@pytest.mark.parametrize(
    "module", sorted({cls.__module__ for cls in EVERY if cls.__module__.startswith("rankwise.")})
)
def test_no_docstring_of_the_source_types_what_is_declared(module):
    """Range, direction and averaged users are declared once, and shown from there."""
    typed = r"\bRange [\[(]|\b(higher|lower|neither direction) (is|counts as) |[Mm]ean over users with a list[.;]"
    tree = ast.parse(Path(inspect.getfile(sys.modules[module])).read_text(encoding="utf-8"))
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        prose = (ast.get_docstring(node) or "").split("\n\nParameters\n")[0]
        text = " ".join(part for part in prose.split("\n\n") if not part.startswith(".. math::"))
        assert not re.search(typed, " ".join(text.split())), node.name


def limited_parameters():
    for cls in EVERY:
        for name, kind in get_type_hints(cls, include_extras=True).items():
            yield from (
                (cls, name, limits)
                for limits in getattr(kind, "__metadata__", ())
                if name in cls().parameters
            )


@pytest.mark.parametrize(
    ("cls", "name", "limits"),
    [pytest.param(*row, id=f"{row[0].name}-{row[1]}") for row in limited_parameters()],
)
def test_a_number_outside_the_declared_limits_raises(cls, name, limits):
    outside = [number for number in (-3, 0, 1, 4, 1002) if not limits.allow(number)]
    assert outside
    for number in outside:
        with pytest.raises(
            ParameterError, match=re.escape(f"{cls.name}: {name} {limits.rule}")
        ) as error:
            cls(**{name: number})
        assert f"{name}={number}" in str(error.value)


@pytest.mark.parametrize("name", NAMES)
def test_text_and_object_agree(name):
    metric = registry.find(name)()
    assert rw.parse(str(metric)) == metric
    for alias in metric.aliases:
        assert rw.parse(alias) == metric


WARPREC = [
    "Precision",
    "Recall",
    "nDCG",
    "nDCGRendle2020",
    "HitRate",
    "MAP",
    "MAR",
    "MRR",
    "F1",
    "AUC",
    "GAUC",
    "LAUC",
    "MAE",
    "MSE",
    "RMSE",
    "ItemCoverage",
    "UserCoverage",
    "NumRetrieved",
    "UserCoverageAtN",
    "EFD",
    "EPC",
    "Gini",
    "ShannonEntropy",
    "SRecall",
    "ARP",
    "ACLT",
    "APLT",
    "PopRSP",
    "PopREO",
    "REO",
    "RSP",
    "BiasDisparityBD",
    "BiasDisparityBR",
    "BiasDisparityBS",
    "ItemMADRanking",
    "ItemMADRating",
    "UserMADRanking",
    "UserMADRating",
    "EucDistance",
    "Hypervolume",
]


def test_the_forty_names_of_warprec_are_known():
    assert len(WARPREC) == 40
    assert len({registry.find(name) for name in WARPREC}) == 40


@pytest.mark.parametrize("cls", EVERY, ids=NAMES)
def test_the_plain_definition_has_the_same_defaults(cls):
    """A parameter that both have is one parameter: a default that differs is another number."""
    if cls.plain is None:  # metrics of other packages may do without
        assert not cls.__module__.startswith("rankwise.")
        return
    own = cls.plain.__module__ == cls.__module__  # a metric of one file
    assert own or cls.plain is getattr(rw.functional, cls.plain.__name__)
    asked = inspect.signature(cls.plain).parameters
    for name, default in cls().parameters.items():
        if name in asked and asked[name].default not in (
            inspect.Parameter.empty,
            None,
        ):  # None: by the data
            assert asked[name].default == default, name


def test_parameters_of_the_plain_definitions_are_those_of_metrics():
    """Whatever else a plain definition takes is data, and has no default, or None for none."""
    data = {"k", "history", "relevant", "catalog_size", "normalised", "scores", "higher_is_better"}
    # One definition of two metrics, or of a preset, one of which has the parameters.
    shared = {"reo", "pop_rsp", *(cls.name for cls in EVERY if cls.fixed)}
    for cls in (cls for cls in EVERY if cls.plain and cls.name not in shared):
        asked = inspect.signature(cls.plain).parameters.values()
        others = {p.name for p in asked if p.default is not inspect.Parameter.empty}
        assert others <= {*cls().parameters, *data}, cls.name
