"""Groups of users that training interactions define: by="activity" and by="popularity"."""

from __future__ import annotations

import pickle

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.encoding.side_information import TrainingCounts
from rankwise.errors import ParameterError
from rankwise.evaluation.engine import finish, prepare, work
from rankwise.evaluation.evaluate import read_inputs
from rankwise.evaluation.settings import Settings
from rankwise.tables.table import Tables
from rankwise.tables.training import Terciles, TrainGroups, user_values, with_train_groups
from strategies import fewer, worlds

# Distinct training items: ann 1, bob 1, cyd 2, dan 3, eve 4, fay 6. Of six values the second
# smallest is 1, the fourth 3.
TRAIN = {
    "ann": ["a"],
    "bob": ["f"],
    "cyd": ["a", "b"],
    "dan": ["a", "b", "c"],
    "eve": ["a", "b", "c", "d"],
    "fay": ["a", "b", "c", "d", "e", "g"],
}
ACTIVITY = {
    "ann": "low",
    "bob": "low",
    "cyd": "middle",
    "dan": "middle",
    "eve": "high",
    "fay": "high",
}
# Training users of items: a 5, b 4, c 3, d 2, e 1, f 1, g 1. Means: ann 5, bob 1, cyd 4.5, dan 4,
# eve 3.5, fay 16/6. The second smallest is fay's, the fourth dan's.
POPULARITY = {
    "bob": "low",
    "fay": "low",
    "eve": "middle",
    "dan": "middle",
    "cyd": "high",
    "ann": "high",
}
LISTS = {user: ["x", "y"] for user in [*TRAIN, "new"]}
TRUTH = {user: {"x"} if user in "ann cyd eve new" else {"z"} for user in [*TRAIN, "new"]}
CELLS = ["recall@2", "gini@2", "novelty@2"]


def evaluate(**options):
    return rw.evaluate(LISTS, TRUTH, CELLS, **{"train": TRAIN, **options})


def groups_in(result, by):
    return dict(result.per_user.select("user", f"group({by})").iter_rows())


def test_by_hand(tmp_path):
    result = evaluate(by=["activity", "popularity"])
    assert groups_in(result, "activity") == {**ACTIVITY, "new": "none"}
    assert groups_in(result, "popularity") == {**POPULARITY, "new": "none"}
    table = result.slices.select("by", "group", "users", "recall@2")
    assert table.rows() == [
        ("activity", "low", 2, 0.5),
        ("activity", "middle", 2, 0.5),
        ("activity", "high", 2, 0.5),
        ("activity", "none", 1, 1.0),
        ("popularity", "low", 2, 0.0),
        ("popularity", "middle", 2, 0.5),
        ("popularity", "high", 2, 1.0),
        ("popularity", "none", 1, 1.0),
    ]
    assert result.provenance["groups"] == {
        "activity": {
            "value": "distinct training items of the user",
            "low_up_to": 1.0,
            "middle_up_to": 3.0,
            "training_users": 6,
        },
        "popularity": {
            "value": "mean number of training users of the user's training items",
            "low_up_to": 16 / 6,
            "middle_up_to": 4.0,
            "training_users": 6,
        },
    }
    assert (
        "activity: low up to 1, middle up to 3 (distinct training items of the user; terciles of 6 "
        in result.notes[-1]
    )
    again = rw.load(result.save(tmp_path / "out"))
    assert again.slices.equals(result.slices)
    assert repr(again) == repr(result)


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([5], ["low"]),
        ([1, 2], ["low", "middle"]),
        ([1, 2, 3], ["low", "middle", "high"]),
        ([3, 1, 2, 4], ["middle", "low", "low", "high"]),
        ([1, 1, 1, 1], ["low"] * 4),
        ([1, 1, 1, 9], ["low", "low", "low", "high"]),
        ([1, 9, 9, 9], ["low", "low", "low", "low"]),
        ([1, 2, 2, 2, 2, 2, 3], ["low", "low", "low", "low", "low", "low", "high"]),
    ],
)
def test_equal_values_are_in_one_group(values, groups):
    numbers = pl.Series([float(value) for value in values])
    counted = pl.DataFrame({"value": numbers}).group_by("value").len("count")
    assert Terciles.of(counted).groups(numbers).to_list() == groups


def test_repeated_training_rows_count_once():
    rows = [(user, item) for user, items in TRAIN.items() for item in items]
    train = pl.DataFrame([*rows, *rows[:1] * 9], schema=["user", "item"], orient="row")
    same = evaluate(by=["activity", "popularity"], train=train)
    assert same.slices.equals(evaluate(by=["activity", "popularity"]).slices)


def test_boundaries_are_those_of_all_training_users():
    some = {user: LISTS[user] for user in ("eve", "fay")}
    truth = {user: TRUTH[user] for user in some}
    result = rw.evaluate(some, truth, CELLS, train=TRAIN, by="activity")
    assert result.slices.select("group", "users").rows() == [("high", 2)]


@pytest.mark.parametrize("name", ["{}", "u{}"])
def test_ids_of_text_files_are_of_the_type_of_the_others(name, tmp_path):
    """The ids of the file are integers, or text; those of the lists are both in turn."""
    file = tmp_path / "train.csv"
    names = [name.format(number) for number in (1, 1, 2)]
    pl.DataFrame({"user": names, "item": [5, 6, 7]}).write_csv(file)
    one, cold = (1, 3) if name == "{}" else ("u1", "u3")
    for user, other in ((one, cold), (str(one), str(cold))):
        result = rw.evaluate(
            {user: ["5"], other: ["6"]},
            {user: {"5"}, other: {"5"}},
            ["recall@1", "gini@1"],
            train=file,
            by="activity",
        )
        assert groups_in(result, "activity") == {user: "middle", other: "none"}
        assert result.slices["group"].to_list() == ["middle", "none"]


def test_metrics_of_groups_see_them_too():
    result = evaluate(by="activity", users={"user": ["ann"], "age": ["x"]})
    assert "users_without_group(activity)" not in result.counts
    gap = rw.evaluate(
        LISTS, TRUTH, "group_gap(recall,user_group=activity)@2", train=TRAIN, by="activity"
    )
    assert list(gap.values)[1:] == [
        f"group_gap(user_group=activity,metric=recall)@2[user_group={name}]"
        for name in ("low", "middle", "high", "none")
    ]


def test_what_is_refused():
    users = {"user": list(TRAIN), "activity": ["x"] * 6}
    with pytest.raises(ParameterError, match="has two meanings") as caught:
        evaluate(by="activity", users=users)
    assert caught.value.hint == "rename the column of the table of users"
    assert evaluate(by="popularity", users=users).slices.height == 4
    with pytest.raises(
        ParameterError, match="groups users by their training interactions"
    ) as caught:
        evaluate(by="popularity", train=None)
    assert caught.value.hint == "pass train="
    with pytest.raises(ParameterError, match="groups users by their training"):
        rw.Evaluator(CELLS[:2], truth=TRUTH, by="activity")


def test_groups_are_compared():
    lists = {user: ["z", "y"] for user in LISTS}
    results = {
        "a": evaluate(by="activity"),
        "b": rw.evaluate(lists, TRUTH, CELLS, train=TRAIN, by="activity"),
    }
    table = rw.compare(results, by="activity", metrics="recall@2").table
    assert table["group"].to_list() == ["low", "middle", "high", "none"]
    with pytest.raises(ParameterError) as caught:
        rw.compare({"a": evaluate(), "b": evaluate()}, by="activity")
    assert caught.value.hint == 'evaluate with train= and by="activity"'
    interval = results["a"].interval("recall@2", by="activity", group="low")
    assert interval.estimate == 0.5


def test_beside_other_options():
    """Jackknife groups and histories are columns of the users as well."""
    result = evaluate(
        by=["activity", "age", "history", "item:cold"],
        jackknife=3,
        users={"user": ["ann", "cyd"], "age": ["old", "young"]},
    )
    assert result.slices["by"].unique(maintain_order=True).to_list() == [
        "activity",
        "age",
        "history",
        "item:cold",
    ]
    assert result.provenance["inputs"]["users"]["rows"] is not None
    plain = evaluate(by="activity")
    mine = result.slices.filter(by="activity").select(plain.slices.columns)
    assert mine.equals(plain.slices)
    assert "users" not in plain.provenance["inputs"]


def test_a_model_and_lists_without_truth():
    class Model:
        def recommend(self, user_id, n):
            return LISTS[user_id][:n]

    asked = rw.evaluate_model(Model(), TRUTH, CELLS, train=TRAIN, by="activity")
    assert asked.slices.equals(evaluate(by="activity").slices)
    alone = rw.evaluate(LISTS, None, CELLS[1:], train=TRAIN, by="activity")
    assert alone.slices["users"].to_list() == [2, 2, 2, 1]


BY = ["activity", "popularity", "group"]
EVERY = ["ndcg@3", "novelty@3", "gini@3", "reo@3", "group_gap(recall)@3", "rmse"]


def listed(world):
    return {
        user: {item: 1 - at / 10 for at, item in enumerate(items)}
        for user, items in world.lists.items()
    }


@fewer(12)
@given(worlds(judged=True), st.integers(1, 3))
def test_pieces_merged_are_the_whole(world, block_size):
    options = {"by": BY, "population": "all"}
    lists = listed(world)
    whole = rw.evaluate(lists, world.truth, EVERY, **world.around, **options)
    blocks = rw.evaluate(
        lists, world.truth, EVERY, **world.around, **options, block_size=block_size
    )
    evaluator = rw.Evaluator(EVERY, truth=world.truth, **world.around, **options)
    settings = Settings.read(EVERY, options)
    job = prepare(settings, read_inputs(settings, truth=world.truth, **world.around))
    partials = []
    for user, items in lists.items():
        evaluator.update({user: items})
        there = pickle.loads(pickle.dumps(job))
        partials.append(work(there, read_inputs(settings, recommendations={user: items})))
    for other in (blocks, evaluator.result(), finish(pickle.loads(pickle.dumps(job)), partials)):
        assert other.slices.equals(whole.slices, null_equal=True)
        assert other.per_user.equals(whole.per_user)
        assert repr(other.values) == repr(whole.values)
        assert other.provenance["groups"] == whole.provenance["groups"]


@given(worlds(judged=True))
def test_groups_by_a_second_reading(world):
    result = rw.evaluate(
        listed(world), world.truth, "recall@3", by=BY[:2], population="all", **world.around
    )
    own = {user: set(items) for user, items in world.train.items() if items}
    holders = {item: sum(item in items for items in own.values()) for item in world.catalogue}
    values = {
        "activity": {user: len(items) for user, items in own.items()},
        "popularity": {u: sum(holders[i] for i in items) / len(items) for u, items in own.items()},
    }
    for by, of in values.items():
        ordered, n = sorted(of.values()), len(of)
        low, middle = ordered[(n + 2) // 3 - 1], ordered[(2 * n + 2) // 3 - 1]
        for user, group in groups_in(result, by).items():
            value = of.get(user)
            expected = (
                "none"
                if value is None
                else "low"
                if value <= low
                else "middle"
                if value <= middle
                else "high"
            )
            assert group == expected


@fewer(12)
@given(worlds(judged=True), st.integers(1, 4))
def test_pieces_that_bring_their_rows(world, n):
    """As on machines of which none has all of training: what is counted over all is told."""
    asked = Settings.read(EVERY, {"by": BY, "population": "all"})
    tables = read_inputs(asked, recommendations=listed(world), truth=world.truth, **world.around)
    train = tables.train.frame.unique()
    popularity = train.group_by("item").len("count")
    made = {
        by: TrainGroups(Terciles.of(user_values(train, by).group_by("value").len("count")))
        for by in ("activity", "popularity")
    }
    groups = {"group": tables.users.frame["group"].unique()}
    counted = TrainingCounts(
        popularity=popularity,
        train_users=train["user"].n_unique(),
        groups=groups,
        train_groups=made,
    )
    empty = {role: t.with_frame(t.frame.clear()) for role, t in tables.by_role.items()}
    first = with_train_groups(
        Tables(truth=empty["truth"], train=empty["train"], users=empty["users"]), made, None
    )
    shared = Tables(
        train=empty["train"], users=first.users, items=tables.items, reference=empty["reference"]
    )
    job = pickle.loads(pickle.dumps(prepare(asked, shared, training_counts=counted)))
    partials, users = [], []
    roles = ("recommendations", "truth", "train", "users", "reference")
    frames = {role: tables.by_role[role].frame for role in roles}
    everybody = pl.concat([frame["user"] for frame in frames.values()]).unique().sort()
    for at in range(n):
        is_here = pl.col("user").is_in(everybody[at::n].implode())
        rows = {
            role: tables.by_role[role].with_frame(frame.filter(is_here))
            for role, frame in frames.items()
        }
        if rows["recommendations"].frame.is_empty():
            rows["recommendations"] = None
        piece = with_train_groups(Tables(**rows), made, popularity)
        users.append(piece.users.frame)
        partials.append(work(job, piece))
    whole_users = tables.users.with_frame(pl.concat(users))
    ours = finish(job.for_users(Tables(users=whole_users)), partials)
    one = rw.evaluate(listed(world), world.truth, EVERY, by=BY, population="all", **world.around)
    assert ours.slices.equals(one.slices, null_equal=True)
    assert ours.per_user.equals(one.per_user)
    assert ours.provenance["groups"] == one.provenance["groups"]
