"""Results are compared only if every option that can move a number agrees, or the error names it."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise_here
from rankwise.comparison.comparability import check_comparable
from rankwise.errors import InputError, ParameterError, RankwiseError
from rankwise.evaluation.settings import option_fields
from rankwise.options import compared_options

USERS = range(40)
TRUTH = {user: {user % 5: 2.0, 5 + user % 3: 1.0, 9: 0.0} for user in USERS}
TRAIN = {user: [user % 7, 8] for user in USERS}
GROUPS = pl.DataFrame({"user": USERS, "sex": ["f", "m"] * 20, "weight": [1.0, 3.0] * 20})


def scored(user):
    return [(item, 1.0 if item % 2 else 0.5) for item in range(9)]


SCORED = {user: scored(user) for user in USERS}
RANKED = [
    (user, item, 0.1 * item, rank)
    for user in USERS
    for rank, item in ((1, 2), (3, 0), (4, user % 5 + 10))
]
BOTH = pl.DataFrame(RANKED, schema=["user", "item", "score", "rank"], orient="row")
VIEWS = pl.DataFrame(
    [(user, view, item, item) for user in USERS for view in range(2) for item in range(1, 9)],
    schema=["user", "request", "item", "rank"],
    orient="row",
)
GROUPED = pl.DataFrame(
    [(user, item, 1.0, "a" if item < 6 else "b") for user, own in TRUTH.items() for item in own],
    schema=["user", "item", "relevance", "fact"],
    orient="row",
)
REPEATED = {user: [2, 0, 2, 1] for user in USERS}
INPUTS = {"lists": SCORED, "truth": TRUTH, "train": TRAIN, "users": GROUPS}

EXAMPLES = {
    "convention": ({"convention": "ranx"}, {"convention": "elliot"}),
    "relevance_threshold": ({"relevance_threshold": 1.0}, {"relevance_threshold": 2.0}),
    "relevance": ({"relevance": "positive"}, {"relevance": "any"}),
    "population": ({"population": "truth"}, {"population": "both"}),
    "undefined": ({"undefined": "skip"}, {"undefined": "zero"}),
    "without_list": ({"without_list": "skip"}, {"without_list": "zero"}),
    "ties": ({"ties": "pessimistic"}, {"ties": "optimistic"}),
    "duplicates": (
        {"lists": REPEATED, "duplicates": "first"},
        {"lists": REPEATED, "duplicates": "keep"},
    ),
    "alternatives": (
        {"lists": BOTH, "truth": GROUPED},
        {"lists": BOTH, "truth": GROUPED, "alternatives": "fact"},
    ),
    "ranks": ({"lists": BOTH, "ranks": "close"}, {"lists": BOTH, "ranks": "keep"}),
    "empty_lists": (
        {"lists": {**REPEATED, 0: []}, "duplicates": "first", "empty_lists": "absent"},
        {"lists": {**REPEATED, 0: []}, "duplicates": "first", "empty_lists": "present"},
    ),
    "order_by": ({"lists": BOTH, "order_by": "rank"}, {"lists": BOTH, "order_by": "score"}),
    "ids": ({"ids": "typed"}, {"ids": "text"}),
    "score_precision": ({"score_precision": "float64"}, {"score_precision": "float32"}),
    "catalogue": ({"items": range(20)}, {"catalogue": "train"}),
    "exclude_seen": ({}, {"exclude_seen": True}),
    "mean_over": (
        {"lists": VIEWS, "mean_over": "requests"},
        {"lists": VIEWS, "mean_over": "users"},
    ),
    "weights": ({}, {"weights": "weight"}),
    "depth": ({"depth": 4}, {"depth": 3}),
    "judged_only": ({}, {"judged_only": True}),
}
"""For every option that is compared, two evaluations that differ in it alone."""
EXEMPT = {
    "by": ({}, {"by": "sex"}),
    "cross": ({"by": ["sex", "activity"]}, {"by": ["sex", "activity"], "cross": True}),
    "min_size": ({"min_size": 2}, {"min_size": 3}),
    "codes": ({}, {"codes": {str(item): item for item in range(9)}}),
    "titles": ({}, {"titles": {str(item): item for item in range(9)}}),
    "same": ({}, {"same": {500: 501}}),
    "jackknife": ({"jackknife": 2}, {"jackknife": 3}),
    "columns": ({}, {"columns": {"user": None}}),
    "threads": ({"threads": 1}, {"threads": 2}),
    "block_size": ({"block_size": 7}, {"block_size": 9}),
    "progress": ({"progress": False}, {"progress": None}),
}


def evaluated(options):
    lists = options.get("lists", SCORED)
    truth = options.get("truth", TRUTH)
    more = {name: value for name, value in options.items() if name not in ("lists", "truth")}
    metrics = "P@5" if "convention" in options else ["ndcg@5", "recall@2"]
    if more.get("convention") == "elliot":
        metrics = "Precision@5"
    if "catalogue" in options or "items" in options:  # which no other metric reads
        metrics = ["ndcg@5", "catalog_coverage@5"]
    return rw.evaluate(lists, truth, metrics, train=TRAIN, users=GROUPS, **more)


def pair_of(options):
    return {name: evaluated(one) for name, one in zip(("left", "right"), options, strict=True)}


def test_a_catalogue_that_no_compared_metric_reads_may_differ():
    """NDCG is the same number with any catalogue; coverage is not."""
    one = rw.evaluate(
        SCORED, TRUTH, ["ndcg@5", "catalog_coverage@5"], train=TRAIN, items=range(20), jackknife=4
    )
    other = rw.evaluate(
        SCORED, TRUTH, ["ndcg@5", "catalog_coverage@5"], train=TRAIN, catalogue="train", jackknife=4
    )
    assert rw.compare(one, other, metrics="ndcg@5")["B"]["difference"] == 0
    for metrics in (None, ["ndcg@5", "catalog_coverage@5"]):
        with pytest.raises(ParameterError, match="different settings of catalogue"):
            rw.compare(one, other, metrics=metrics)


def test_slices_of_one_name_are_the_same_slices():
    """Results that say how they were sliced are compared within slices only if they say the same."""
    items = {"item": list(range(20)), "genre": ["a", "b"] * 10}
    one, other = (
        rw.evaluate(SCORED, TRUTH, "ndcg@5", items=items, by="item:genre") for _ in range(2)
    )
    digests = [{"slice_digests": {"item:genre": digest}} for digest in ("abc", "def")]
    one, same, other = (
        replace(result, provenance=result.provenance | more)
        for result, more in ((one, digests[0]), (other, digests[0]), (other, digests[1]))
    )
    rw.compare(one, same, by="item:genre")
    with pytest.raises(ParameterError, match="sliced differently by item:genre") as caught:
        rw.compare(one, other, by="item:genre")
    assert "force" not in caught.value.hint
    with pytest.raises(ParameterError, match="sliced differently by item:genre"):
        rw.decide(
            {"a": one, "b": other}, success="ndcg@5", deterioration="ndcg@5", slices="item:genre"
        )
    rw.compare(one, other, by="item:genre", force=True)
    rw.compare(one, other)


def test_every_option_has_an_example():
    assert EXAMPLES.keys() | EXEMPT.keys() == option_fields().keys()
    assert EXAMPLES.keys() == compared_options().keys() | {"convention"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_results_that_differ_in_one_option_are_refused(name, tmp_path):
    pair = pair_of(EXAMPLES[name])
    metric = next(iter(pair["left"].values))
    message = f"these results were evaluated with different settings of {name}"
    for refused in (
        lambda: rw.compare(pair),
        lambda: rw.decide(pair, success=metric),
        lambda: check_comparable({key: pair[key] for key in ("right", "left")}),
    ):
        with pytest.raises(ParameterError, match=message):
            refused()
    page = rw.report(pair).html
    assert message in page
    assert not re.search("(left|right) beats", page)
    folders = [str(result.save(tmp_path / key)) for key, result in pair.items()]
    for command in (["compare"], ["decide", "--success", metric]):
        done = rankwise_here(tmp_path, *command, *folders)
        assert done.returncode not in (0, 1)
        flag = {"relevance_threshold": "threshold"}.get(name, name).replace("_", "-")
        assert message in done.stderr or message.replace(name, f"--{flag}") in done.stderr
    if name not in (
        "convention",
        "weights",
        "mean_over",
    ):  # which have no name, or no user, in common
        assert rw.compare(pair, force=True)


@pytest.mark.parametrize("name", EXEMPT)
def test_options_that_need_not_agree_say_why(name):
    assert option_fields()[name].metadata["not_compared"]
    if name != "columns":
        assert rw.compare(pair_of(EXEMPT[name]))


def test_rank_gaps_matter_only_where_both_have_them():
    closed = rw.evaluate({user: [2, 0] for user in USERS}, TRUTH, "ndcg@5")
    kept = rw.evaluate(BOTH, TRUTH, "ndcg@5", ranks="keep")
    assert rw.compare({"closed": closed, "kept": kept})


TIES = ("input", "expected", "item", "item_desc", "optimistic", "pessimistic", None)


@pytest.mark.parametrize(("rule", "other"), [*itertools.product(TIES, repeat=2)], ids=str)
def test_a_rule_for_ties_agrees_with_itself_and_with_its_default(rule, other):
    pair = {
        name: rw.evaluate(SCORED, TRUTH, "ndcg@5", ties=ties)
        for name, ties in (("a", rule), ("b", other))
    }
    if (rule or "expected") == (other or "expected"):
        assert rw.compare(pair)
    else:
        with pytest.raises(ParameterError, match="different settings of ties"):
            rw.compare(pair)


@pytest.mark.parametrize("rule", TIES, ids=str)
def test_ranked_lists_compare_with_scored_ones_unless_ties_favour_or_wrong_them(rule):
    ranked = rw.evaluate({user: [2, 0] for user in USERS}, TRUTH, "ndcg@5")
    pair = {"ranked": ranked, "scored": rw.evaluate(SCORED, TRUTH, "ndcg@5", ties=rule)}
    if rule in ("optimistic", "pessimistic"):
        with pytest.raises(ParameterError, match=r"different settings of ties\n"):
            rw.compare(pair)
    else:
        assert rw.compare(pair)


CHOICES = {
    "relevance": ["positive", "any"],
    "population": ["truth", "both", "recommended", "judged", "judged_both", "all"],
    "undefined": ["skip", "zero", "nan"],
    "without_list": ["skip", "zero"],
    "ties": [None, "input", "expected", "item", "item_desc", "optimistic", "pessimistic"],
    "duplicates": ["error", "first"],
    "score_precision": ["float64", "float32"],
    "exclude_seen": [False, True],
    "weights": [None, "weight"],
}


@st.composite
def questions(draw):
    """A world with ties, repeats, grade 0 and users without lists, and options that differ in one or two."""
    items = st.integers(0, 6)
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 5), items, st.sampled_from([0.1, 0.1 + 1e-12, 0.9])),
            min_size=6,
        )
    )
    judged = draw(
        st.lists(st.tuples(st.integers(0, 5), items, st.sampled_from([0.0, 1.0, 2.0])), min_size=4)
    )
    first = {name: draw(st.sampled_from(values)) for name, values in CHOICES.items()}
    moved = draw(st.sets(st.sampled_from([*CHOICES]), min_size=1, max_size=2))
    second = first | {name: draw(st.sampled_from(CHOICES[name])) for name in sorted(moved)}
    if draw(st.integers(0, 3)):
        rows = [*{row[:2]: row for row in rows}.values()]
    return rows, [*{row[:2]: row for row in judged}.values()], (first, second)


@given(questions())
def test_the_same_lists_and_truth_with_other_values_are_never_compared(question):
    rows, judged, options = question
    users = pl.DataFrame({"user": range(6), "weight": [1.0, 2.0, 0.5, 1.0, 4.0, 1.0]})
    tables = {"train": {0: [1], 3: [2, 4]}, "users": users}
    try:
        left, right = (
            rw.evaluate(rows, judged, ["ndcg@3", "judged@3"], **tables, **one) for one in options
        )
    except RankwiseError:
        return
    if str(left.values) == str(right.values):  # NaN is equal to NaN
        return
    with pytest.raises(RankwiseError):
        rw.compare({"left": left, "right": right}, missing="common")


REQUESTS = pl.DataFrame({"user": [1, 1], "request_id": [1, 2], "item": [5, 6], "rank": [1, 1]})


def test_requests_are_named_as_such_where_results_do_not_compare():
    truth = pl.DataFrame({"user": [1, 1], "request_id": [1, 2], "item": [5, 7]})
    more = pl.concat([truth, pl.DataFrame({"user": [1], "request_id": [2], "item": [8]})])
    evaluated = [rw.evaluate(REQUESTS, each, ["recall@1"]) for each in (truth, more)]
    with pytest.raises(ParameterError, match="different truths") as caught:
        rw.compare(dict(zip("ab", evaluated, strict=True)))
    assert (
        caught.value.found
        == "request 2 of user 1 has 1 relevant items in a, 2 in b (1 such requests)"
    )
    some = rw.evaluate(REQUESTS, truth.head(1), ["recall@1"])
    with pytest.raises(ParameterError, match="none in another") as caught:
        rw.compare({"a": evaluated[0], "b": some}, force=True)
    assert caught.value.found == "request 2 of user 1 has none in b (1 such requests of 2)"
    users = pl.DataFrame({"user": [1, 1], "request_id": [1, 2], "page": ["x", None]})
    grouped = rw.evaluate(REQUESTS, truth, ["recall@1"], users=users, by="page")
    with pytest.raises(ParameterError, match="no cluster by 'page'") as caught:
        rw.compare({"a": grouped, "b": grouped}, clusters="page")
    assert caught.value.found == "request 2 of user 1 (1 such requests)"
    with pytest.raises(InputError, match="a weight of 0 or more") as caught:
        rw.evaluate(REQUESTS, truth, ["recall@1"], weights={2: 1.0})
    assert caught.value.found == "no weight (1 such users)"


def test_force_is_a_way_out_only_where_it_can_be_passed():
    pair = {
        "a": rw.evaluate(SCORED, TRUTH, "ndcg@5"),
        "b": rw.evaluate(SCORED, TRUTH, "ndcg@5", population="both"),
    }
    with pytest.raises(ParameterError, match="settings of population") as caught:
        rw.compare(pair)
    assert (
        caught.value.hint
        == "evaluate all with the same population; force=True compares them anyway"
    )
    with pytest.raises(ParameterError, match="settings of population") as caught:
        rw.decide(pair, success="ndcg@5")
    assert caught.value.hint == "evaluate all with the same population"
