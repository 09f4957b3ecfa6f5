"""Models that behave, and models that do not."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import EmptyError, ParameterError

TRAIN = {"ann": ["a", "b"], "bob": ["c"]}
TRUTH = {"ann": {"d"}, "bob": {"e"}, "cyd": {"a"}}
LISTS = {"ann": ["a", "d", "b"], "bob": ["e", "d", "f"], "cyd": ["b", "c", "d"]}
SCORES = [0.9, 0.8, 0.7]


def raising():
    yield "a"
    raise KeyError("half way")


def one(answer):
    """A model that is asked about one user."""

    class Model:
        def recommend(self, user_id, n):
            return answer(LISTS[user_id][:n])

    return Model()


def many(answer):
    """A model that is asked about many."""

    class Model:
        def recommend(self, user_ids, n):
            return answer({user: LISTS[user][:n] for user in user_ids})

    return Model()


def rows(lists):
    return [
        (user, item, score, rank)
        for user, own in lists.items()
        for rank, (item, score) in enumerate(zip(own, SCORES, strict=False), start=1)
    ]


def table(lists):
    return pl.DataFrame(rows(lists), schema=["user_id", "item_id", "score", "rank"], orient="row")


EXPECTED = {"recall@3": 2 / 3, "mrr@3": (1 / 2 + 1) / 3}


@pytest.mark.parametrize(
    "model",
    [
        one(lambda own: own),
        one(tuple),
        one(lambda own: iter(own)),
        one(lambda own: np.array(own)),
        one(lambda own: list(zip(own, SCORES, strict=True))),
        one(lambda own: (own, SCORES)),
        one(lambda own: (np.array(own), np.array(SCORES))),
        one(lambda own: dict(zip(reversed(own), reversed(SCORES), strict=True))),
        one(lambda own: pl.DataFrame({"item": own, "score": SCORES})),
        one(lambda own: pl.DataFrame({"item": own, "score": SCORES}).reverse()),
        one(lambda own: pl.DataFrame({"item_id": own, "rank": [1, 2, 3]}).reverse()),
        one(lambda own: pl.Series(own)),
        one(lambda own: pd.Series(own)),
        one(lambda own: pd.DataFrame({"item": own, "score": SCORES}, index=[5, 9, 7])),
        many(lambda lists: lists),
        many(lambda lists: {u: list(zip(own, SCORES, strict=True)) for u, own in lists.items()}),
        many(lambda lists: list(lists.values())),
        many(lambda lists: np.array(list(lists.values()))),
        many(lambda lists: (np.array(list(lists.values())), np.tile(SCORES, (len(lists), 1)))),
        many(table),
        many(lambda lists: table(lists).reverse()),
        many(lambda lists: pd.DataFrame(table(lists).to_dicts())),
    ],
)
@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_every_kind_of_answer(model, batch_size):
    result = rw.evaluate_model(model, TRUTH, ["recall@3", "mrr@3"], batch_size=batch_size)
    assert result.values == pytest.approx(EXPECTED)
    assert result.provenance["model"]["asked_for"] == 3


def test_failures_are_logged_counted_and_scored_0_or_left_out(caplog):
    class Model:
        def recommend(self, user_id, n):
            if user_id == "cyd":
                raise RuntimeError("who is that?")
            return LISTS[user_id][:n]

    with caplog.at_level(logging.WARNING, logger="rankwise"):
        zero = rw.evaluate_model(Model(), TRUTH, "recall@3")
    assert "cyd" in caplog.text
    assert "who is that?" in caplog.text
    assert zero["recall@3"] == pytest.approx(2 / 3)
    out = rw.evaluate_model(Model(), TRUTH, "recall@3", failed="leave_out")
    assert out["recall@3"] == 1.0
    assert out.counts["users"] == 2
    for result in (zero, out):
        assert result.counts["users_model_failed_for"] == 1
        assert "for whom the model failed" in repr(result)


def test_failures_for_one_reason_are_logged_once_with_their_number(caplog):
    class Model:
        def recommend(self, user_id, n):
            if user_id < 12:
                raise KeyError(user_id)
            return [5][:n]

    with caplog.at_level(logging.WARNING, logger="rankwise"):
        result = rw.evaluate_model(Model(), {user: {5} for user in range(15)}, "recall@1")
    assert caplog.messages == [
        "the model failed for user 0: KeyError: 0",
        "the model failed for 12 users in all",
    ]
    assert result.counts["users_model_failed_for"] == 12


def test_a_batch_that_fails_is_asked_one_by_one():
    class Model:
        def recommend(self, users, n):
            if "cyd" in users:
                raise ValueError("no")
            return [LISTS[user][:n] for user in users]

    result = rw.evaluate_model(Model(), TRUTH, "recall@3")
    assert result["recall@3"] == pytest.approx(2 / 3)
    assert result.counts["users_model_failed_for"] == 1


@pytest.mark.parametrize(
    "answer",
    [
        None,
        5,
        [("a", float("nan"))],
        [("a", "high")],
        [("a", 1.0), "b"],
        (["a"], [1.0, 2.0]),
        pl.DataFrame({"thing": ["a"]}),
        pl.DataFrame({"item": [None], "score": [1.0]}),
        "abc",
        b"abc",
        [None],
        [1.5],
        [True],
        {"a", "b"},
        [7],  # where the others got strings
        raising(),
    ],
)
def test_what_cannot_be_read_is_a_failure(answer):
    class Model:
        def recommend(self, user_id, n):
            return answer if user_id == "cyd" else LISTS[user_id][:n]

    assert rw.evaluate_model(Model(), TRUTH, "mrr@3").counts["users_model_failed_for"] == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([1, 2**70], "IdError: an item id does not fit 64 bits; found: 1180591620717411303424"),
        ([np.uint64(2**63)], "IdError: an item id does not fit 64 bits"),
        ([-(2**63) - 1], "IdError"),
        ([(1, 1 + 1j)], "ScoreError: a score is a complex number"),
        ([(1, np.complex64(1))], "ScoreError: a score is a complex number"),
        (np.ma.array([1, 2], mask=[0, 1]), "InputError: items are integers or strings"),
        (itertools.repeat(1, 2**21), "InputError: a list has more than 1,000,000 items"),
    ],
)
def test_an_answer_that_no_list_can_hold_is_a_failure(answer, said, caplog):
    """One by one they are counted; where nothing else came, the error names the user."""

    class Model:
        def recommend(self, user_id, n):
            return answer if user_id == "cyd" else [1, 2]

    result = rw.evaluate_model(Model(), {"ann": {1}, "cyd": {1}}, "mrr@2", k=2**40)
    assert result.counts["users_model_failed_for"] == 1
    assert result["mrr@2"] == 0.5
    assert f"'cyd': {said}" in caplog.text


def test_an_id_that_is_no_text_is_a_failure(caplog):
    model = one(lambda own: ["\ud800"] if own[0] == "b" else own)
    assert rw.evaluate_model(model, TRUTH, "mrr@3").counts["users_model_failed_for"] == 1
    assert "'cyd': IdError: an item id is not valid Unicode" in caplog.text


def test_complex_scores_are_not_cut_to_real_ones():
    class Model:
        def predict(self, users):
            return np.ones((len(users), 3)) * 1j

    with pytest.raises(EmptyError, match="predicted scores must be real numbers"):
        rw.evaluate_model(Model(), {"ann": {1}}, "mrr@2")


class Mute(Exception):  # noqa: N818
    def __str__(self):
        raise RuntimeError("nothing to say")


@pytest.mark.parametrize("error", [Mute(), pl.exceptions.PanicException("index out of bounds")])
def test_whatever_a_model_raises_is_a_failure(error):
    class Model:
        def recommend(self, user_id, n):
            if user_id == "cyd":
                raise error
            return LISTS[user_id][:n]

    class Scores:
        def predict(self, users):
            if "cyd" in users:
                raise error
            return np.ones((len(users), 6))

    for model in (Model(), Scores()):
        result = rw.evaluate_model(model, TRUTH, "mrr@3", items=list("abcdef"))
        assert result.counts["users_model_failed_for"] == 1


def test_no_more_is_taken_than_was_asked_for():
    """A generator need not end; a list is cut at the same place, so that both give the same."""
    items = ["z", "z", "d", "a", "e"]
    endless = one(lambda _: itertools.cycle(items))
    longer = one(lambda _: items)
    many_endless = many(lambda lists: [itertools.cycle(items) for _ in lists])
    for model in (endless, longer, many_endless):
        result = rw.evaluate_model(model, TRUTH, "recall@3", many=model is many_endless)
        assert result.per_user["recall@3"].to_list() == [1.0, 0.0, 0.0]
        assert result.counts["users_with_too_many_items"] == 3
        assert result.counts["items_repeated"] == 3
        assert "with more items than requested" in result.notes[0]
    exact = rw.evaluate_model(one(lambda own: own), TRUTH, "recall@3")
    assert "users_with_too_many_items" not in exact.counts
    users_without_end = many(lambda lists: (items for _ in itertools.count()))
    with pytest.raises(EmptyError, match="2 or more answers for 1 users"):
        rw.evaluate_model(users_without_end, TRUTH, "recall@3")


def test_oddities_are_counted():
    class Model:
        def recommend(self, user_id, n):
            return {"ann": ["a", "d", "d", "zzz"], "bob": ["e"], "cyd": []}[user_id][:n]

    result = rw.evaluate_model(Model(), TRUTH, ["recall@4", "precision@4"], train=TRAIN)
    counts = result.counts
    assert counts["items_repeated"] == 1
    assert counts["seen_items_recommended"] == 1
    assert counts["items_unknown"] == 1
    assert counts["users_with_too_few_items"] == 3
    assert result["precision@4"] == pytest.approx((1 / 4 + 1 / 4 + 0) / 3)
    catalogue = rw.evaluate_model(Model(), TRUTH, "recall@4", items=["a", "d", "e", "zzz"])
    assert catalogue.counts.get("items_unknown", 0) == 0


def test_what_was_seen_is_taken_out_and_more_is_asked_for():
    asked = {}

    class Model:
        def recommend(self, user_id, n):
            asked[user_id] = n
            return LISTS[user_id][:n]

    result = rw.evaluate_model(Model(), TRUTH, "mrr@1", train=TRAIN, exclude_seen=True)
    assert asked == {"ann": 3, "bob": 2, "cyd": 1}
    assert result.per_user["mrr@1"].to_list() == [1.0, 1.0, 0.0]
    assert result.counts["seen_items_taken_out"] == 2


class Scorer:
    """Scores every item, whoever asks; fails for cyd."""

    def __init__(self, rows=1):
        self.rows = rows

    def predict(self, users):
        if "cyd" in users:
            raise KeyError("cyd")
        return np.tile(np.arange(6.0), (len(users) * self.rows, 1))


def test_scores_are_ranked():
    items = list("abcdef")
    result = rw.evaluate_model(Scorer(), TRUTH, ["mrr@3"], items=items)
    assert result.per_user["mrr@3"].to_list() == [1 / 3, 1 / 2, 0.0]
    assert result.counts["users_model_failed_for"] == 1
    seen = rw.evaluate_model(
        Scorer(),
        TRUTH,
        ["mrr@3"],
        items=items,
        train={"ann": ["f"], "bob": ["f"]},
        exclude_seen=True,
    )
    assert seen.per_user["mrr@3"].to_list() == [1 / 2, 1.0, 0.0]
    out = rw.evaluate_model(Scorer(), TRUTH, "mrr@3", items=items, failed="leave_out")
    assert out.counts["users"] == 2
    own = rw.evaluate_model(
        Scorer(), TRUTH, "mrr@3", items=items, candidates=rw.candidates.of_truth(TRUTH)
    )
    assert own.per_user["mrr@3"].to_list() == [1 / 2, 1.0, 0.0]
    assert own.protocol.candidates == "items of the test"
    numbered = rw.evaluate_model(Scorer(), {"ann": {3}, "bob": {4}}, "mrr@3")
    assert numbered["mrr@3"] == pytest.approx((1 / 3 + 1 / 2) / 2)


def test_nobody_is_asked_whose_list_would_not_count():
    asked = []

    class Model:
        def recommend(self, user_id, n):
            asked.append(user_id)
            return LISTS[user_id][:n]

    truth = {"ann": {"d": 5}, "bob": {"e": 1}}
    rw.evaluate_model(Model(), truth, "mrr@3", relevance_threshold=3)
    assert asked == ["ann"]
    rw.evaluate_model(Model(), truth, "mrr@3", relevance_threshold=3, population="all")
    assert asked == ["ann", "ann", "bob"]


def test_failing_users_and_the_rest_of_the_evaluation():
    class Model:
        def recommend(self, user_id, n):
            if user_id == "bob":
                raise RuntimeError
            return ["d"]

    truth = {"ann": {"d"}, "bob": {"x", "y"}}
    zero, out = (
        rw.evaluate_model(Model(), truth, ["recall@1", "coverage@1"], failed=failed)
        for failed in ("zero", "leave_out")
    )
    # The catalogue is what it was: x and y are in it, whoever is left out.
    assert zero["catalog_coverage@1"] == out["catalog_coverage@1"] == pytest.approx(1 / 3)
    assert (zero["recall@1"], out["recall@1"]) == (0.5, 1.0)


def test_pairs_in_one_array_and_text_ids_of_a_file(tmp_path):
    class Model:
        def recommend(self, user_id, n):
            return np.array([[7, 0.9], [3, 0.5]])

    assert rw.evaluate_model(Model(), {1: {3}}, "mrr@2")["mrr@2"] == 0.5
    (tmp_path / "truth.csv").write_text("user,item\n1,7\n2,3\n")

    class Text:
        def recommend(self, user_id, n):
            return ["07", "3"]

    result = rw.evaluate_model(Text(), tmp_path / "truth.csv", "mrr@2")
    assert result["mrr@2"] == 0.25


def test_predictions_are_asked_for_in_batches():
    sizes = []

    class Model:
        def predict(self, users):
            sizes.append(len(users))
            return np.tile(np.arange(5.0), (len(users), 1))

    truth = {user: {4} for user in range(10)}
    frozen = rw.candidates.sampled(truth, 2, seed=1, items=range(5))
    for candidates in (None, frozen):
        sizes.clear()
        result = rw.evaluate_model(
            Model(),
            truth,
            "mrr@2",
            items=range(5),
            batch_size=3,
            train={0: [4]},
            candidates=candidates,
        )
        assert sizes == [3, 3, 3, 1]
        assert result["mrr@2"] == 1.0
        assert result.counts["seen_items_recommended"] == 1
    ties = rw.evaluate_model(Model(), truth, "mrr@2", ties="item_desc")
    assert ties.provenance["settings"]["ties"] == "input"


def test_answers_that_look_like_others():
    class Pairs:
        def recommend(self, user_ids, n):
            return tuple([(f"{user}a", 0.9), (f"{user}b", 0.8)] for user in user_ids)

    truth = {"x": {"xa", "xb"}, "y": {"ya", "yb"}}
    assert rw.evaluate_model(Pairs(), truth, "recall@2")["recall@2"] == 1.0

    class Series:
        def recommend(self, user_id, n):
            return pd.Series([0.2, 0.9], index=[3, 7])

    assert rw.evaluate_model(Series(), {1: {7}}, "mrr@2")["mrr@2"] == 1.0

    class Builtin:
        recommend = staticmethod(max)

    with pytest.raises(EmptyError):
        rw.evaluate_model(Builtin(), TRUTH, "mrr@2")


def test_a_first_call_that_fails_does_not_stay():
    calls = []

    class Model:
        def predict(self, users):
            calls.append(users)
            if len(calls) == 1:
                raise RuntimeError("warming up")
            return np.tile(np.arange(3.0), (len(users), 1))

    result = rw.evaluate_model(Model(), {0: {2}, 1: {2}}, "mrr@2")
    assert result["mrr@2"] == 1.0
    assert "users_model_failed_for" not in result.counts


def test_many_can_be_said():
    class Model:
        def recommend(self, whom, n):
            return {user: LISTS[user][:n] for user in whom}

    assert rw.evaluate_model(Model(), TRUTH, "mrr@3", many=True)["mrr@3"] == pytest.approx(0.5)


def test_baselines_are_models():
    from rankwise.models.recommenders import Popularity

    table = pl.DataFrame({"user": [1, 2, 2, 3], "item": ["a", "a", "b", "b"]})
    result = rw.evaluate_model(Popularity().fit(table), {1: {"b"}, 3: {"a"}}, "mrr@2")
    assert result["mrr@2"] == 1.0


class Silent:
    def recommend(self, user_id, n):
        raise RuntimeError("always")


class Nothing:
    pass


class Kinds:
    def recommend(self, user_id, n):
        return [1] if user_id == "ann" else ["x"]


@pytest.mark.parametrize(
    ("error", "model", "options"),
    [
        (ParameterError, Nothing(), {}),
        (EmptyError, Silent(), {}),
        (EmptyError, one(lambda own: []), {}),
        (EmptyError, Scorer(rows=2), {}),
        (EmptyError, Kinds(), {"truth": {"bob": {1}}}),
        (ParameterError, one(list), {"metrics": "mrr"}),
        (ParameterError, one(list), {"k": 0}),
        (ParameterError, one(list), {"batch_size": 0}),
        (ParameterError, one(list), {"failed": "ignore"}),
        (ParameterError, one(list), {"exclude_seen": True}),
        (ParameterError, one(list), {"ties": "item"}),
        (EmptyError, Scorer(rows=2), {"items": list("abcdef")}),
        (
            EmptyError,
            one(lambda own: ["a"]),
            {"train": {user: ["a"] for user in TRUTH}, "exclude_seen": True},
        ),
        (ParameterError, one(list), {"candidates": rw.candidates.these(["a"])}),
    ],
)
def test_bad_input(error, model, options):
    with pytest.raises(error):
        rw.evaluate_model(model, **{"truth": TRUTH, "metrics": "mrr@3", **options})


@pytest.mark.parametrize(
    "home", ["implicit", "lenskit", "rectools", "surprise", "cornac", "lightfm"]
)
def test_models_of_libraries_are_to_be_wrapped(home):
    kind = type("Model", (), {"__module__": f"{home}.models", "recommend": lambda self, u, n: []})
    with pytest.raises(ParameterError, match=home) as raised:
        rw.evaluate_model(kind(), TRUTH, "mrr@3")
    assert raised.value.hint.split("(")[0].removeprefix("wrap it: rankwise.models.") in dir(
        rw.models
    )


def test_rows_of_a_frame_are_items_whatever_their_labels():
    """Whole numbers are items, as in `rankwise.evaluate`; floats are scores of the labels."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [0, 0, 1, 1], "item": [4, 5, 6, 7]})

    class OfRows:
        def recommend(self, user, n):
            return frame[frame["user"] == user]["item"].head(n)

    class OfScores:
        def recommend(self, user, n):
            return pandas.Series([0.2, 0.9], index=[4 + 2 * user, 5 + 2 * user])

    truth = {0: {5}, 1: {7}}
    assert rw.evaluate_model(OfRows(), truth, "mrr@2")["mrr@2"] == 0.5
    assert rw.evaluate_model(OfScores(), truth, "mrr@2")["mrr@2"] == 1.0


def test_a_series_of_which_both_sides_may_be_items_is_told():
    pandas = pytest.importorskip("pandas")

    class Model:
        def recommend(self, user, n):
            return pandas.Series([3, 2], index=[7, 8])

    with pytest.raises(EmptyError, match="the labels of this series may be its items"):
        rw.evaluate_model(Model(), {0: {7}}, "mrr@2")
