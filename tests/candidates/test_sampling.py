"""Sampled candidates: what is drawn, and that results never hide that it was."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import EmptyError, IdError, MetricError, ParameterError

TRAIN = {user: [user % 50, 50 + user % 7] for user in range(40)}
TRUTH = {user: {(user * 3) % 97: 5.0, (user + 11) % 97: 1.0} for user in range(40)}
ITEMS = range(100)


def drawn(n=30, seed=1, truth=TRUTH, **options):
    return rw.candidates.sampled(truth, n, seed=seed, items=ITEMS, train=TRAIN, **options)


def by_user(candidates):
    return {u: own["item"].to_list() for (u,), own in candidates.frame.group_by("user")}


@pytest.mark.parametrize("by", ["uniform", "popularity"])
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("n", [5, 30])  # of few and of many of what is left
def test_nobody_draws_what_is_theirs_already(by, replacement, n):
    candidates = drawn(n, by=by, replacement=replacement)
    short = candidates.counts["users_with_fewer_negatives"]
    for user, items in by_user(candidates).items():
        positives = set(TRUTH[user])
        assert positives <= set(items)
        negatives = [item for item in items if item not in positives]
        assert not set(negatives) & set(TRAIN[user])
        assert len(items) == len(positives) + n or short
        assert replacement or len(set(items)) == len(items)
    left = dict(candidates.eligible.iter_rows())
    if by == "uniform":
        assert left[0] == len(set(ITEMS) - set(TRUTH[0]) - set(TRAIN[0]))


def test_the_same_seed_draws_the_same_for_rows_in_any_order():
    first, again = drawn(), drawn(truth=dict(reversed(TRUTH.items())))
    assert first.frame.equals(again.frame)
    assert first.protocol == again.protocol
    other = drawn(seed=2)
    assert not first.frame.equals(other.frame)
    assert first.protocol.digest != other.protocol.digest


def test_numpy_s_numbers_are_numbers(tmp_path):
    frozen = rw.candidates.sampled(
        TRUTH, np.int64(3), seed=np.int64(1), items=ITEMS, relevance_threshold=np.float32(3)
    )
    ranks = rw.rank_relevant(SCORES, truth=TRUTH, candidates=frozen)
    result = rw.evaluate(ranks, TRUTH, "mrr", relevance_threshold=3)
    assert rw.load(result.save(tmp_path / "out")).label == "sampled (m=3, seed=1)"


def test_text_ids_and_a_threshold():
    truth = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "z"], "rating": [5, 1, 4]})
    candidates = rw.candidates.sampled(
        truth, 2, seed=0, items=list("pqrxyz"), relevance_threshold=4
    )
    lists = by_user(candidates)
    assert "x" in lists["a"]
    assert "y" not in lists["a"]  # judged, not relevant: neither positive nor negative
    assert len(lists["a"]) == len(lists["b"]) == 3


@pytest.mark.parametrize("power", [0.0, 0.5, 2.0])
def test_draws_are_by_a_power_of_popularity(power):
    truth = {user: {0} for user in range(4000)}
    train = {f"t{n}": [item for item in (1, 2, 3) if n % item**2 == 0] for n in range(36)}
    train = {10_000 + n: items for n, items in enumerate(train.values())}
    counts = {1: 36, 2: 9, 3: 4, 4: 0}
    drawn = rw.candidates.sampled(
        truth, 1, seed=5, items=range(5), train=train, by="popularity", power=power
    )
    shares = drawn.frame.filter(pl.col("item") != 0)["item"].value_counts(normalize=True)
    total = sum(count**power for count in counts.values())
    expected = {item: count**power / total for item, count in counts.items() if count**power}
    assert dict(shares.rows()) == pytest.approx(expected, abs=0.03)
    assert drawn.protocol.label == f"sampled (m=1, seed=5, by popularity^{power:g})"
    assert (
        rw.candidates.sampled(
            truth, 1, seed=5, items=range(5), train=train, by="popularity"
        ).protocol
        != drawn.protocol
    )


@pytest.mark.parametrize(
    ("by", "power"), [("popularity", -1), ("uniform", 0.5), ("popularity", float("nan"))]
)
def test_a_power_that_means_nothing_is_refused(by, power):
    with pytest.raises(ParameterError, match="power"):
        rw.candidates.sampled({1: {2}}, 1, seed=1, train={1: [3, 4]}, by=by, power=power)


def test_draws_are_uniform_and_by_popularity():
    truth = {user: {0} for user in range(4000)}
    train = {f"t{j}": [1] * (j < 30) + [2] * (j < 10) + [3] for j in range(40)}
    train = {int(name[1:]) + 10**6: own for name, own in train.items()}
    for n in (1, 3):
        uniform = rw.candidates.sampled(truth, n, seed=3, items=range(11))
        counts = np.bincount(uniform.frame["item"], minlength=11)[1:]
        assert counts == pytest.approx(4000 * n / 10, rel=0.2)
    popular = rw.candidates.sampled(truth, 1, seed=3, items=range(11), train=train, by="popularity")
    counts = np.bincount(popular.frame["item"], minlength=11)
    assert counts[[1, 2, 3]] == pytest.approx(4000 * np.array([30, 10, 40]) / 80, rel=0.1)
    assert counts[4:].sum() == 0


def test_a_heavy_head_does_not_take_for_ever():
    train = {user: [0, 1, 2] for user in range(3000)} | {10**6: list(range(3, 60))}
    truth = {user: {0} for user in range(300)}
    popular = rw.candidates.sampled(
        truth, 12, seed=3, items=range(60), train=train, by="popularity"
    )
    assert popular.frame.group_by("user").len()["len"].unique().to_list() == [13]
    tail = np.bincount(popular.frame["item"], minlength=60)[3:]
    assert tail == pytest.approx(300 * 12 / 57, rel=0.45)
    many = {user: {0} for user in range(2000, 2300)} | {10**7: {0}}
    once = rw.candidates.sampled(
        {10**7: {0}, **many}, 12, seed=3, items=range(100), train=train, by="popularity"
    )
    assert {1, 2} <= set(once.frame.filter(user=10**7)["item"])  # hardly missed by anyone


def test_few_left_are_all_taken_and_counted():
    candidates = rw.candidates.sampled(
        {1: {0}, 2: {1}}, 3, seed=0, items=range(5), train={1: [1, 2]}
    )
    assert by_user(candidates)[1] == [0, 3, 4]
    assert candidates.counts["users_with_fewer_negatives"] == 1


SCORES = np.random.default_rng(0).normal(size=(40, 100))


@pytest.fixture(scope="module")
def results():
    frozen = drawn()
    sampled = rw.evaluate(
        rw.rank(SCORES, k=10, candidates=frozen),
        TRUTH,
        ["ndcg@5", "recall@5"],
        users={"user": list(range(40)), "half": ["a", "b"] * 20},
        by="half",
    )
    exact = rw.evaluate(rw.rank(SCORES, k=10), TRUTH, ["ndcg@5", "recall@5"])
    return sampled, exact


def test_the_label_is_in_every_display_and_export(results, tmp_path):
    sampled, exact = results
    label = "sampled (m=30, seed=1)"
    assert sampled.label == label
    assert sampled.scores["label"].unique().to_list() == [label]
    for text in (
        repr(sampled),
        sampled._repr_html_(),
        sampled.export("csv"),
        sampled.export("markdown"),
        sampled.export("latex"),
        sampled.export("json"),
    ):
        assert label in text
        assert "sampled" not in "".join(exact.export(f) for f in ("csv", "markdown", "latex"))
    # In the tables themselves, so that a table that is cut out still says it.
    for text in (repr(sampled), sampled.export("markdown")):
        assert text.count(label) == 3  # values, groups, footnote
    assert sampled.export("latex").count(label) == 5  # and both captions
    loaded = rw.load(sampled.save(tmp_path / "out"))
    assert loaded.label == label
    assert loaded.protocol == sampled.protocol
    for frame in (sampled.per_user, sampled.slices, loaded.per_user, loaded.slices):
        assert frame["label"].unique().to_list() == [label]
    assert "label" not in exact.per_user.columns
    assert json.loads(exact.export("json"))["label"] == ""


def test_a_comparison_does_not_mix_them(results):
    sampled, exact = results
    with pytest.raises(ParameterError, match="exact"):
        rw.compare({"a": sampled, "b": exact})
    other = rw.evaluate(rw.rank(SCORES, k=10, candidates=drawn(seed=2)), TRUTH, "ndcg@5")
    with pytest.raises(ParameterError, match="different samples"):
        rw.compare({"a": sampled, "b": other})
    forced = rw.compare({"a": sampled, "b": exact}, force=True)
    assert forced.values.columns == ["metric", "a, sampled (m=30, seed=1)", "b"]
    same = rw.evaluate(rw.rank(-SCORES, k=10, candidates=drawn()), TRUTH, "ndcg@5")
    label = "sampled (m=30, seed=1)"
    assert rw.compare({"a": sampled, "b": same}).values.columns == [
        "metric",
        f"a, {label}",
        f"b, {label}",
    ]
    elsewhere = rw.candidates.sampled(TRUTH, 30, seed=1, items=range(98))
    third = rw.evaluate(rw.rank(SCORES, k=10, candidates=elsewhere), TRUTH, "ndcg@5")
    with pytest.raises(ParameterError, match="different samples"):
        rw.compare({"a": same, "b": third})
    whole = rw.evaluate(rw.rank(SCORES, k=5, exclude=TRAIN), TRUTH, "ndcg@5")
    with pytest.raises(ParameterError, match="different candidates"):
        rw.compare({"a": exact, "b": whole})
    given = rw.evaluate({0: [1]}, TRUTH, "ndcg@5")
    assert rw.compare({"a": exact, "b": given}).values.height == 2
    for odd in ({}, [exact], {"a": 1}, {1: exact}, {"metric": exact}):
        with pytest.raises(ParameterError):
            rw.compare(odd)


def test_counting_over_a_sample_with_replacement():
    frozen = rw.candidates.sampled({0: {0}}, 40, seed=5, items=range(4), replacement=True)
    ranks = rw.rank_relevant(np.array([[2.5, 3.0, 2.0, 1.0]]), truth={0: {0}}, candidates=frozen)
    above = frozen.frame["item"].to_list().count(1)
    assert ranks.frame["first"].item() == above + 1
    assert ranks.lengths["length"].item() == 41
    result = rw.evaluate(ranks, {0: {0}}, "gauc")
    assert result["gauc"] == pytest.approx(1 - above / 40)
    assert result.label == "sampled (m=40, seed=5, with replacement)"
    with pytest.raises(ParameterError, match="replacement"):
        rw.rank(np.array([[2.5, 3.0, 2.0, 1.0]]), k=2, candidates=frozen)


def test_area_over_a_sample_is_not_area_over_the_catalogue():
    lists = rw.rank(SCORES, k=40, candidates=drawn())
    with pytest.raises(MetricError, match="sample"):
        rw.evaluate(lists, TRUTH, "auc", train=TRAIN)
    ranks = rw.rank_relevant(SCORES, truth=TRUTH, candidates=drawn())
    assert 0.4 < rw.evaluate(ranks, TRUTH, "auc")["auc"] < 0.6


def test_partials_carry_the_label():
    from rankwise.blocks.partial import Partial

    first, second = ({u: TRUTH[u] for u in users} for users in (range(20), range(20, 40)))

    def part(truth, **options):
        ranks = rw.rank_relevant(SCORES, truth=truth, **options)
        return rw.Evaluator("ndcg@5", exact=True).update(ranks, truth).partial()

    frozen = drawn()
    parts = [part(first, candidates=frozen), part(second, candidates=frozen)]
    parts = [Partial.from_bytes(own.to_bytes()) for own in parts]
    assert rw.Evaluator("ndcg@5", exact=True).merge(*parts).result().label == frozen.protocol.label
    with pytest.raises(ParameterError, match="different candidate sets"):
        rw.Evaluator("ndcg@5", exact=True).merge(parts[0], part(second))
    exact = rw.Evaluator("ndcg@5", exact=True).merge(part(second))
    with pytest.raises(ParameterError, match="different candidate sets"):
        exact.merge(parts[0])
    assert exact.result().label == ""


def test_pieces_are_of_one_protocol():
    evaluator = rw.Evaluator("ndcg@5", truth=TRUTH)
    evaluator.update(rw.rank(SCORES, k=5, only=range(20)))
    with pytest.raises(ParameterError, match="different candidate sets"):
        evaluator.update(rw.rank(SCORES, k=5, only=range(20, 40), candidates=drawn()))
    evaluator.update(rw.rank(SCORES, k=5, only=range(20, 40)))
    whole = rw.evaluate(rw.rank(SCORES, k=5), TRUTH, "ndcg@5")
    assert evaluator.result().values == whole.values


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ParameterError, {"n": 0}),
        (ParameterError, {"n": 2.5}),
        (ParameterError, {"n": 10**12, "replacement": True}),
        (ParameterError, {"seed": -1}),
        (ParameterError, {"seed": None}),
        (ParameterError, {"by": "score"}),
        (ParameterError, {"by": "popularity", "train": None}),
        (ParameterError, {"relevance_threshold": "high"}),
        (EmptyError, {"relevance_threshold": 99}),
        (IdError, {"items": ["a", "b"]}),
    ],
)
def test_bad_input(error, options):
    given = {"n": 3, "seed": 1, "items": ITEMS, "train": TRAIN, **options}
    n = given.pop("n")
    with pytest.raises(error):
        rw.candidates.sampled(TRUTH, n, **given)
