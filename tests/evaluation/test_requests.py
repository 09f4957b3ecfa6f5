"""Requests of users: lists and ground truth by request, all other tables by user, users as clusters."""

from __future__ import annotations

import math
import pickle

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise import stats
from rankwise.blocks.partial import Partial
from rankwise.errors import (
    ColumnError,
    DuplicateError,
    EmptyError,
    IdError,
    ParameterError,
    ScoreError,
)
from strategies import fewer, ids

LISTS = pl.DataFrame(
    {
        "user_id": ["ann", "ann", "ann", "ann", "bob", "bob"],
        "request_id": [1, 1, 2, 2, 1, 1],
        "item": [1, 2, 3, 1, 1, 4],
        "rank": [1, 2, 1, 2, 1, 2],
    }
)
BY_REQUEST = pl.DataFrame(
    {"user_id": ["ann", "ann", "bob"], "request_id": [1, 2, 1], "item": [1, 1, 4]}
)
BY_USER = pl.DataFrame({"user_id": ["ann", "bob", "cyd"], "item": [1, 4, 3]})
SECOND = 1 / math.log2(3)


def values(result, cell):
    return {
        (user, request): value
        for user, request, value in result.per_user.select("user", "request", cell).rows()
    }


def test_lists_and_ground_truth_by_request():
    result = rw.evaluate(LISTS, BY_REQUEST, ["ndcg@2", "hit_rate@1"])
    assert values(result, "ndcg@2") == pytest.approx(
        {("ann", 1): 1, ("ann", 2): SECOND, ("bob", 1): SECOND}
    )
    assert result["ndcg@2"] == pytest.approx((1 + 2 * SECOND) / 3)
    assert (result.counts["requests"], result.counts["users"]) == (3, 2)
    assert "3 requests of 2 users" in repr(result)
    assert "ground truth by request; means over requests" in repr(result)
    assert result.per_user.schema["request"] == pl.Int64


def test_the_ground_truth_of_a_user_holds_for_all_requests():
    result = rw.evaluate(LISTS, BY_USER, "ndcg@2", without_list="zero")
    expected = {("ann", 1): 1, ("ann", 2): SECOND, ("bob", 1): SECOND, ("cyd", None): 0}
    assert values(result, "ndcg@2") == pytest.approx(expected)
    assert result.counts["users_without_list"] == 1
    assert "the ground truth of a user holds for all requests" in repr(result)


def test_means_over_users_first():
    result = rw.evaluate(LISTS, BY_REQUEST, ["ndcg@2", "catalog_coverage@2"], mean_over="users")
    assert result["ndcg@2"] == pytest.approx(((1 + SECOND) / 2 + SECOND) / 2)
    assert result["catalog_coverage@2"] == 1.0
    assert len(result.per_user) == 3
    assert result.units["user"].to_list() == ["ann", "bob"]
    interval = result.interval("ndcg@2")
    assert interval.estimate == result["ndcg@2"]
    assert interval.n == 2


def test_values_that_are_no_means_stay_over_requests_and_say_so():
    result = rw.evaluate(
        LISTS, BY_REQUEST, ["recall@1", "quantile(of=recall,q=0.5)@1"], mean_over="users"
    )
    assert (
        "then over users, except quantile(of=recall,q=0.5)@1, which is over requests"
        in result.notes[-2].replace("(recall", "(of=recall")
    )


def test_groups_of_users_are_means_over_users_too():
    users = {"user": ["ann", "bob"], "country": ["x", "x"]}
    result = rw.evaluate(LISTS, BY_REQUEST, "ndcg@2", users=users, by="country", mean_over="users")
    assert result.slices["ndcg@2"].to_list() == pytest.approx([result["ndcg@2"]])
    by_request = rw.evaluate(LISTS, BY_REQUEST, "ndcg@2", users=users, by="country")
    assert by_request.slices["ndcg@2"].to_list() == pytest.approx([(1 + 2 * SECOND) / 3])


@pytest.mark.parametrize(
    "name",
    [
        "request_id",
        "session_id",
        "query_id",
        "qid",
        "impression_id",
        "visit_id",
        "requestId",
        "page",
    ],
)
def test_names_of_the_column(name):
    lists, truth = (table.rename({"request_id": name}) for table in (LISTS, BY_REQUEST))
    columns = {"request": "page"} if name == "page" else None
    result = rw.evaluate(lists, truth, "ndcg@2", columns=columns)
    assert result.counts["requests"] == 3
    assert result.provenance["requests"] == {"column": name, "truth": "request"}


@pytest.mark.parametrize("name", ["session_id", "query", "qid"])
def test_a_column_alone_is_the_user(name):
    lists = LISTS.filter(pl.col("request_id") == 1).drop("request_id").rename({"user_id": name})
    result = rw.evaluate(lists, BY_USER.rename({"user_id": name}), "ndcg@2")
    assert "requests" not in result.counts
    assert result.per_user.columns[:2] == ["user", "n_relevant"]


def test_requests_in_the_ground_truth_alone_are_not_read():
    lists = LISTS.filter(pl.col("request_id") == 1).drop("request_id")
    result = rw.evaluate(lists, BY_REQUEST.filter(pl.col("request_id") == 1), "ndcg@2")
    assert "requests" not in result.counts
    assert result.provenance["inputs"]["truth"]["unread"] == ["request_id"]


@given(st.integers(0, 2**32 - 1))
def test_requests_are_evaluated_like_users_of_their_own(seed):
    """The same values as with one id per request, and tables by user that have a row for each of them."""
    rng = np.random.default_rng(seed)
    pairs = [(user, request) for user in range(6) for request in range(rng.integers(0, 4))]
    rows = [
        (u, r, int(i), n + 1)
        for u, r in pairs
        for n, i in enumerate(rng.permutation(12)[: rng.integers(1, 6)])
    ]
    truth = [
        (u, r, int(i))
        for u, r in [*pairs, (6, 0)]
        for i in rng.permutation(12)[: rng.integers(1, 4)]
    ]
    if not rows:
        return
    lists = pl.DataFrame(rows, schema=["user", "request", "item", "rank"], orient="row")
    truth = pl.DataFrame(truth, schema=["user", "request", "item"], orient="row")
    train = pl.DataFrame(
        [(u, int(i)) for u in range(6) for i in rng.permutation(12)[:3]],
        schema=["user", "item"],
        orient="row",
    )
    users = pl.DataFrame(
        {"user": range(7), "team": list("xyxyxyx"), "weight": [1.0, 2, 3, 1, 2, 3, 1]}
    )
    together = pl.concat_str("user", pl.lit("/"), "request").alias("user")
    key = (
        pl.concat([lists, truth], how="diagonal")
        .select("user", "request")
        .unique()
        .select("user", unit=together)
    )

    def of_units(table):
        return table.join(key, on="user").drop("user").rename({"unit": "user"})

    cells = ["ndcg@3", "recall@5", "mrr", "precision@2", "repeated@3", "catalog_coverage@3"]
    options = {"by": "team", "weights": "weight", "population": "all", "items": range(12)}
    ours = rw.evaluate(lists, truth, cells, users=users, train=train, **options)
    theirs = rw.evaluate(
        *(table.with_columns(together).drop("request") for table in (lists, truth)),
        cells,
        users=of_units(users),
        train=of_units(train),
        **options,
    )
    assert dict(ours.values) == pytest.approx(dict(theirs.values), nan_ok=True)
    mine = ours.per_user.with_columns(together).drop("request").sort("user")
    for cell in ("ndcg@3", "repeated@3", "group(team)", "weight"):
        assert mine[cell].to_list() == pytest.approx(theirs.per_user[cell].to_list(), nan_ok=True)
    assert ours.slices["requests"].to_list() == theirs.slices["users"].to_list()
    people = (
        ours.per_user.group_by("group(team)").agg(pl.col("user").n_unique()).sort("group(team)")
    )
    assert ours.slices["users"].to_list() == people["user"].to_list()
    assert ours.slices[cells].to_numpy() == pytest.approx(
        theirs.slices[cells].to_numpy(), nan_ok=True
    )


def test_training_is_that_of_the_user_and_popularity_counts_users():
    train = {"ann": [1, 9], "bob": [1]}
    result = rw.evaluate(LISTS, BY_USER, ["repeated@2", "novelty@2"], train=train)
    assert values(result, "repeated@2") == pytest.approx(
        {("ann", 1): 0.5, ("ann", 2): 0.5, ("bob", 1): 0.5, ("cyd", None): math.nan}, nan_ok=True
    )
    once = rw.evaluate({"ann": [1]}, {"ann": {1}}, "novelty@1", train=train)
    of_first = rw.evaluate(LISTS.filter(pl.col("rank") == 1), BY_USER, "novelty@1", train=train)
    assert values(of_first, "novelty@1")["ann", 1] == once["novelty@1"]


def test_seen_items_are_those_of_the_user():
    result = rw.evaluate(
        LISTS, BY_USER, "ndcg@2", train={"ann": [2, 3], "bob": [9]}, exclude_seen=True
    )
    assert result.counts["seen_items_taken_out"] == 2
    assert values(result, "ndcg@2")["ann", 2] == 1.0


@pytest.mark.parametrize("over", ["requests", "users"])
def test_a_list_of_seen_items_alone_counts_as_zero(over):
    lists = pl.DataFrame(
        {
            "user": list("aabb"),
            "request_id": [1, 1, 1, 2],
            "item": [1, 2, 3, 5],
            "rank": [1, 2, 1, 1],
        }
    )
    options = {"train": {"b": [3]}, "exclude_seen": True, "mean_over": over}
    result = rw.evaluate(lists, {"a": {2}, "b": {5}}, "recall@2", **options)
    assert result.counts["requests"] == 3
    assert result["recall@2"] == pytest.approx(2 / 3 if over == "requests" else 3 / 4)


@pytest.mark.parametrize("kind", [pl.String, pl.Int64])
def test_items_judged_for_nobody_are_counted_by_request(kind):
    """The ground truth is read as items that are judged: its users are numbers of requests."""
    columns, types = ["user", "request", "item"], {"user": kind}
    rows = [(1, "monday", 7), (1, "monday", 8), (2, "friday", 9), (2, "friday", 7)]
    lists = pl.DataFrame(rows, schema=columns, orient="row").cast(types)
    truth = pl.DataFrame([(1, "monday", 7), (2, "friday", 8)], schema=columns, orient="row")
    result = rw.evaluate(lists, truth.cast(types), "hole@2")
    assert dict(result.per_user.select("request", "hole@2").rows()) == {"monday": 0, "friday": 0.5}


def test_columns_of_requests_that_do_not_matter():
    truth = pl.DataFrame({"user": ["ann"], "session_id": [1], "query_id": [2], "item": [1]})
    assert rw.evaluate({"ann": [1]}, truth, "recall@1")["recall@1"] == 1.0
    with pytest.raises(ColumnError, match="two columns of the ground truth could be the request"):
        rw.evaluate(LISTS, truth, "recall@1")
    only = rw.evaluate(
        LISTS.filter(pl.col("request_id") == 1), BY_USER, "recall@1", columns={"request": None}
    )
    assert "requests" not in only.counts
    with pytest.raises(IdError, match="empty id"):
        rw.evaluate(LISTS.with_columns(request_id=pl.lit("")), BY_USER, "recall@1")


def world(seed, gain=0.0, n_users=80):
    """Lists and ground truth of one to five requests per user, of whom some are always served better."""
    rng, fixed, rows, truth = np.random.default_rng(seed), np.random.default_rng(1), [], []
    for user in range(n_users):
        lucky = rng.random() < gain
        for request in range(fixed.integers(1, 6)):
            target = int(fixed.integers(40))
            items = rng.permutation(40)[:8].tolist()
            items = [target, *[i for i in items if i != target][:7]] if lucky else items
            rows += [(user, request, item, at + 1) for at, item in enumerate(items)]
            truth.append((user, request, target))
    return (
        pl.DataFrame(rows, schema=["user", "request", "item", "rank"], orient="row"),
        pl.DataFrame(truth, schema=["user", "request", "item"], orient="row"),
    )


def results(cells="ndcg@8", **options):
    (first, truth), (second, _) = world(1), world(2, 0.2)
    return [rw.evaluate(lists, truth, cells, **options) for lists in (first, second)]


def test_users_are_the_clusters_of_intervals():
    _, result = results()
    table = result.per_user
    expected = stats.clustered(table["ndcg@8"], table["user"].to_list())
    interval = result.interval("ndcg@8")
    limits = pytest.approx((expected.low, expected.high), abs=1e-14)  # SciPy's last digit
    assert (interval.low, interval.high) == limits
    assert interval.n == 80


def test_users_are_the_clusters_of_comparisons():
    one, two = results()
    found = rw.compare(one, two)
    assert found.design.clusters == "user"
    assert found["B"]["clusters"] == 80
    assert found["B"]["users"] == len(one.per_user)
    assert "those of 80 users, the sampling units" in " ".join(repr(found).split())
    grouped = two.per_user.join(one.per_user, on=["user", "request"], suffix=" of A")
    expected = stats.clustered(
        grouped["ndcg@8"] - grouped["ndcg@8 of A"], grouped["user"].to_list()
    )
    assert found["B"]["difference"] == pytest.approx(expected.estimate)
    assert found["B"]["low"] <= expected.low + 1e-12
    assert found["B"]["high"] >= expected.high - 1e-12


def test_means_over_users_are_compared_user_by_user():
    one, two = results(mean_over="users")
    found = rw.compare(one, two)
    assert found["B"]["users"] == 80
    assert found.design.clusters is None
    assert found["B"]["difference"] == pytest.approx(two["ndcg@8"] - one["ndcg@8"])
    with pytest.raises(ParameterError, match="different settings of mean_over"):
        rw.compare(one, results()[1])


def test_requests_are_not_compared_with_users():
    lists, truth = world(3)
    first = {"request": 0}
    one = rw.evaluate(
        lists.filter(pl.col("request") == 0).drop("request"),
        truth.filter(**first).drop("request"),
        "ndcg@8",
    )
    with pytest.raises(ParameterError, match="means are over requests in some results"):
        rw.compare(one, results()[0])


def test_a_decision_and_slices_take_users_as_clusters():
    users = {"user": range(80), "team": ["x", "y"] * 40}
    pair = dict(zip("ab", results(["ndcg@8", "recall@8"], users=users, by="team"), strict=True))
    decided = rw.decide(pair, success="ndcg@8", guardrails={"recall@8": 0.2}, slices=["team"])
    assert decided.outcome == "ship"
    assert rw.compare(pair, by="team").table["clusters"].drop_nulls().to_list() == [40] * 4


def test_a_decision_takes_the_stated_number_of_requests_of_a_user():
    pair = dict(zip("ab", results(), strict=True))
    plain, stated = (rw.decide(pair, success="ndcg@8", largest_cluster=n) for n in (None, 500))
    assert [plain.outcome, stated.outcome] == ["ship", "hold"]
    assert rw.decide(rw.compare(pair, largest_cluster=500), success="ndcg@8").outcome == "hold"
    assert stated.record["rule"]["largest_cluster"] == 500
    broken = rw.compare(pair, largest_cluster=1)
    flags = broken["ndcg@8", "b"]["flags"]
    assert any("requests, more than the 1 that were stated" in flag for flag in flags)
    over_users = dict(zip("ab", results(mean_over="users"), strict=True))
    with pytest.raises(ParameterError, match="independent"):
        rw.decide(over_users, success="ndcg@8", largest_cluster=5)


@pytest.mark.slow
def test_a_report_of_requests_says_what_it_does_not_draw():
    one, two = results(["ndcg@8", "recall@[2,8]"])
    page = rw.report({"one": one, "two": two}).html
    assert "requests of 80 users" in page
    assert "is drawn for one list per user" in page
    found = rw.compare({"one": one, "two": two})
    assert rw.decide(found, success="ndcg@8").outcome == "ship"
    assert two.plot.slices is not None
    assert found.plot.differences("ndcg@8")


def test_jackknife_groups_have_all_requests_of_a_user():
    result = results(["catalog_coverage@8"], jackknife=8)[0]
    assert result.interval("catalog_coverage@8").method == "jackknife"
    assert len(result.replicates) == 8


def test_saved_and_tabled_values_keep_the_requests(tmp_path):
    result = results()[1]
    back = rw.load(result.save(tmp_path / "out"))
    assert back.per_user.equals(result.per_user)
    assert back.interval("ndcg@8") == result.interval("ndcg@8")
    result.per_user.write_csv(tmp_path / "values.csv")
    table = rw.from_per_user(tmp_path / "values.csv")
    assert table.counts == {"requests": len(result.per_user), "users": 80}
    assert table.interval("ndcg@8").n == 80
    with pytest.raises(ColumnError, match="occurs twice"):
        rw.from_per_user(result.per_user.drop("request"))


def test_plans_count_users_and_their_requests():
    """A plan of means over requests counts users, and the requests that they will have."""
    pilot = results()[0]
    size = rw.sample_size(pilot, "ndcg@8", difference=0.02)
    valued = pilot.per_user.filter(pl.col("ndcg@8").is_not_nan())
    each = len(valued) / valued["user"].n_unique()
    assert size.users > 80
    assert size.requests == pytest.approx(size.users * each, abs=1)
    assert size.clusters is None
    of_users = rw.sample_size(results(mean_over="users")[0], "ndcg@8", difference=0.02)
    assert of_users.users > 80
    assert of_users.requests is None


def test_two_requests_without_a_column_are_an_error_that_names_the_candidates():
    unnamed = LISTS.rename({"request_id": "page"})
    with pytest.raises(ScoreError, match=r"(?s)same rank.*columns not read: 'page'"):
        rw.evaluate(unnamed, BY_USER, "ndcg@2")
    unordered = unnamed.drop("rank").with_columns(score=pl.Series([2.0, 1, 2, 1, 2, 1]))
    with pytest.raises(DuplicateError, match=r"(?s)duplicate item.*columns not read: 'page'"):
        rw.evaluate(unordered, BY_USER, "ndcg@2")


def test_errors_name_user_and_request():
    twice = pl.concat([LISTS, LISTS.head(1).with_columns(rank=pl.lit(3, pl.Int64))])
    with pytest.raises(DuplicateError) as caught:
        rw.evaluate(twice, BY_REQUEST, "ndcg@2")
    assert "user 'ann, request 1'" in str(caught.value)


def test_what_does_not_fit_requests_is_refused():
    with pytest.raises(ParameterError, match="those of another to users"):
        rw.Evaluator("ndcg@2", truth=BY_USER).update(LISTS).update({"dan": [1]})
    with pytest.raises(ParameterError, match="needs requests"):
        rw.Evaluator("ndcg@2", truth=BY_USER, mean_over="users").update({"dan": [1]}).result()
    with pytest.raises(ParameterError, match="needs requests"):
        rw.evaluate({"ann": [1]}, {"ann": {1}}, "ndcg@2", mean_over="users")
    with pytest.raises(ParameterError, match="every user counts alike"):
        rw.evaluate(
            LISTS, BY_USER, "ndcg@2", mean_over="users", weights={"ann": 1, "bob": 1, "cyd": 2}
        )
    with pytest.raises(IdError, match="control character"):
        rw.evaluate(LISTS.with_columns(user_id=pl.lit("a\x1fb")), BY_USER, "ndcg@2")


def test_ids_that_are_numbers_in_one_table_and_text_in_another(tmp_path):
    (tmp_path / "lists.csv").write_text("user,request,item\n1,1,5\n1,2,6\n2,1,5\n")
    (tmp_path / "truth.csv").write_text("user,request,item\n1,1,5\nu9,x,6\n")
    result = rw.evaluate(
        tmp_path / "lists.csv", tmp_path / "truth.csv", "recall@1", population="all"
    )
    assert result.per_user.select("user", "request").rows() == [
        ("1", "1"),
        ("1", "2"),
        ("2", "1"),
        ("u9", "x"),
    ]


def test_metrics_of_lists_in_slices_of_means_over_users():
    items = {"item": [1, 2, 3, 4], "kind": ["x", "y", "x", "y"]}
    cells = ["recall@2", "repeated@2"]
    result = rw.evaluate(
        LISTS, BY_REQUEST, cells, items=items, train={"ann": [1]}, by="item:kind", mean_over="users"
    )
    assert result.slices["group"].to_list() == ["x", "y"]
    assert result.slices[cells[1]].is_nan().all()


def test_lists_alone_are_described_by_request():
    result = rw.evaluate(LISTS, metrics=["catalog_coverage@2", "gini@2"])
    assert result.counts["requests"] == 3
    assert result.provenance["requests"]["truth"] == "none"


def test_conventions_in_one_call():
    result = rw.evaluate(LISTS, BY_REQUEST, ["ndcg@2", "map@2"], convention="trec_eval")
    assert result.per_user["request"].to_list() == [1, 2, 1]


@pytest.mark.slow
def test_equal_systems_are_rarely_called_different():
    """Users, whose requests share most of their luck, are the sample: 0.05 of worlds at most, and not 0.2."""
    wrong, naive = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        owner = np.repeat(np.arange(60), rng.integers(1, 9, 60))
        request = np.concatenate([np.arange((owner == user).sum()) for user in range(60)])
        base = rng.beta(2, 4, len(owner))
        gain = rng.normal(0, 0.1, 60)[owner] + rng.normal(0, 0.03, len(owner))
        frames = [
            pl.DataFrame({"user": owner, "request": request, "ndcg@5": np.clip(x, 0, 1)})
            for x in (base, base + gain)
        ]
        one, two = map(rw.from_per_user, frames)
        wrong += rw.compare(one, two)["B"]["verdict"] != "not shown"
        naive += stats.paired_t(two.per_user["ndcg@5"], one.per_user["ndcg@5"]).p < 0.05
    assert wrong <= 7
    assert naive > 7


def test_a_request_with_an_empty_list_counts_as_a_list_without_hits():
    lists = pl.DataFrame(
        {"user": ["ann", "ann", "bob"], "request": [1, 2, 1], "items": [["a", "b"], [], ["c"]]}
    )
    result = rw.evaluate(lists, {"ann": {"a"}, "bob": {"c"}}, "recall@2")
    assert result.per_user.select("user", "request", "recall@2").rows() == [
        ("ann", 1, 1.0),
        ("ann", 2, 0.0),
        ("bob", 1, 1.0),
    ]
    assert result.counts["users_without_list"] == 1


@st.composite
def request_worlds(draw):
    """Lists, ground truth, training and users with ids of any type, truth by request or by user."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    users, requests, items = draw(ids(6)), draw(ids(3)), draw(ids(9))
    by_request = draw(st.booleans())
    lists, truth = [], []
    for user in users:
        for request in requests[: rng.integers(1, 4)]:
            if rng.random() < 0.8 or not lists:
                lists += [
                    (user, request, items[item], at)
                    for at, item in enumerate(rng.permutation(9)[:3], 1)
                ]
            if rng.random() < 0.8 or not truth:
                truth += [(user, request, items[item]) for item in rng.permutation(9)[:2]]
    columns = ["user", "request", "item"]
    judged = pl.DataFrame(truth, schema=columns, orient="row")
    judged = judged if by_request else judged.drop("request").unique(maintain_order=True)
    bought = [items[item] for item in rng.integers(0, 9, 6)]
    train = pl.DataFrame({"user": [users[at] for at in rng.permutation(6)], "item": bought})
    groups = pl.DataFrame(
        {"user": users, "country": ["a", "b", None] * 2, "weight": np.arange(1.0, 7.0)}
    )
    return pl.DataFrame(lists, schema=[*columns, "rank"], orient="row"), judged, train, groups


@fewer(16)
@given(
    request_worlds(),
    st.sampled_from(
        [
            {},
            {"mean_over": "users"},
            {"weights": "weight"},
            {"population": "all"},
            {"population": "both"},
        ]
    ),
)
def test_pieces_merged_on_another_machine_are_the_whole(world, options):
    lists, truth, train, users = world
    metrics = ["ndcg@3", "recall@2", "coverage@3", "novelty@3", "gini@2"]
    options = {**options, "train": train, "users": users, "by": "country"}
    whole = rw.evaluate(lists, truth, metrics, **options)
    here, there, together = (rw.Evaluator(metrics, truth=truth, **options) for _ in range(3))
    for number, (_, rows) in enumerate(lists.group_by("user", maintain_order=True)):
        (here if number % 2 else there).update(rows)
    parts = [Partial.from_bytes(one.partial().to_bytes()) for one in (here, there) if one._partials]
    result = together.merge(*parts).result()
    assert dict(result) == pytest.approx(dict(whole), rel=0, abs=0, nan_ok=True)
    assert result.per_user.equals(whole.per_user)
    assert result.slices.equals(whole.slices)
    assert result.counts == whole.counts
    inputs = {"date", "inputs"}
    said = [{k: v for k, v in one.provenance.items() if k not in inputs} for one in (result, whole)]
    assert said[0] == said[1]


@given(request_worlds())
def test_an_evaluator_of_requests_goes_on_in_another_process(world):
    lists, truth, train, users = world
    metrics, options = (
        ["ndcg@3", "recall@2", "coverage@3"],
        {"train": train, "users": users, "by": "country"},
    )
    whole = rw.evaluate(lists, truth, metrics, **options)
    evaluator = rw.Evaluator(metrics, truth=truth, **options)
    for _, rows in lists.group_by("user", maintain_order=True):
        evaluator = pickle.loads(pickle.dumps(evaluator.update(rows)))
    result = evaluator.result()
    assert result.per_user.equals(whole.per_user)
    assert result.slices.equals(whole.slices)
    assert result.counts == whole.counts


def test_chunks_of_a_file_have_requests(tmp_path):
    lists = LISTS.sort("user_id", maintain_order=True)
    lists.write_parquet(tmp_path / "lists.parquet")
    whole = rw.evaluate(lists, BY_USER, ["ndcg@2", "gini@2"])
    pieces = rw.evaluate(tmp_path / "lists.parquet", BY_USER, ["ndcg@2", "gini@2"], chunk_rows=2)
    assert pieces.per_user.equals(whole.per_user)
    assert (
        pieces.notes[-2] == whole.notes[-2]
    )  # the rules: lists by request, and what means are over
    none = BY_USER.with_columns(relevance=0.0)
    with pytest.raises(EmptyError, match="no item is relevant"):
        rw.evaluate(tmp_path / "lists.parquet", none, "ndcg@2", chunk_rows=2)


def test_pieces_of_requests_that_nobody_judged_have_no_value_as_in_one_call():
    """The ground truth has a relevant item, though of a request without a list."""
    lists = pl.DataFrame({"user": [4, 4], "request": [7, 7], "item": [1, 2], "rank": [1, 2]})
    truth = pl.DataFrame({"user": [4], "request": [8], "item": [1], "relevance": [3.0]})
    options = {"population": "recommended", "undefined": "skip"}
    whole = rw.evaluate(lists, truth, "ndcg@2", **options)
    piece = rw.Evaluator("ndcg@2", truth=truth, **options).update(lists).result()
    assert math.isnan(piece["ndcg@2"])
    assert piece.counts == whole.counts
    with pytest.raises(EmptyError, match="no item is relevant"):
        rw.Evaluator("ndcg@2", truth=truth, relevance_threshold=4, **options).update(lists).result()


def test_requests_of_users_without_training_beside_others():
    """Users come after those of training, in the order of ids or of rows."""
    for name in (int, str):
        lists = pl.DataFrame(
            {"user": [name(9), name(1)], "request": [1, 1], "item": [5, 6], "rank": [1, 1]}
        )
        truth = pl.DataFrame({"user": [name(9), name(1)], "item": [5, 6]})
        train = pl.DataFrame({"user": [name(1)], "item": [6]})
        result = rw.evaluate(lists, truth, ["repeated@1", "recall@1"], train=train)
        assert values(result, "repeated@1") == {(name(1), 1): 1.0, (name(9), 1): 0.0}
