"""What is inferred from requests of users: copies of a request add nothing, whoever infers and however it is told."""

from __future__ import annotations

import dataclasses
import math
import re

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.comparison.comparison import Comparison
from rankwise.comparison.looks import record_interim_analysis
from rankwise.errors import ColumnError, InputError, ParameterError
from rankwise.results.sampling_unit import REQUESTS, USERS
from rankwise.stats.group_means import group_interval

PEOPLE, COPIES = 24, 50
ATTRIBUTES = pl.DataFrame(
    {
        "user": range(PEOPLE),
        "team": ["x", "y"] * (PEOPLE // 2),
        "home": [user // 2 for user in range(PEOPLE)],
    }
)
ITEMS = pl.DataFrame({"item": range(8), "genre": list("ggghhhkk")})
TRAIN = {user: [user % 8, (user + 1) % 8] for user in range(PEOPLE)}
METRICS = [
    "ndcg@4",
    "recall@4",
    "group_gap(recall,user_group=team)@4",
    "catalog_coverage@4",
    "novelty(popularity=interactions)@4",
]
GAP = "group_gap(user_group=team,metric=recall)@4"


def tables(copies):
    """Lists of three systems and the ground truth of one to three requests per user, each of them so many times."""
    rng, lists, truth = np.random.default_rng(4), {name: [] for name in "abc"}, []
    for user in range(PEOPLE):
        for request in range(1 + user % 3):
            target, ranked = (
                int(rng.integers(8)),
                {name: rng.permutation(8)[:4].tolist() for name in "abc"},
            )
            ranked["c"] = list(dict.fromkeys([target, *ranked["c"]]))
            for copy in range(copies):
                ids = (user, f"{request}-{copy}")
                for name, items in ranked.items():
                    lists[name] += [(*ids, item, rank) for rank, item in enumerate(items, 1)]
                truth.append((*ids, target))
    head = ["user", "request", "item"]
    frames = {
        name: pl.DataFrame(rows, schema=[*head, "rank"], orient="row")
        for name, rows in lists.items()
    }
    return frames, pl.DataFrame(truth, schema=head, orient="row")


def evaluated(copies, **options):
    lists, truth = tables(copies)
    options = {
        "items": ITEMS,
        "train": TRAIN,
        "jackknife": 6,
        "users": ATTRIBUTES,
        "min_size": 18,
    } | options
    options = {"by": ["team", "home", "item:genre"]} | options
    return {name: rw.evaluate(rows, truth, METRICS, **options) for name, rows in lists.items()}


@pytest.fixture(scope="module", params=["requests", "users"])
def worlds(request):
    """The same people with each request once, and fifty times."""
    return tuple(evaluated(copies, mean_over=request.param) for copies in (1, COPIES))


COUNTED = re.compile(
    r"\d[\d,.]* (?:to \d[\d,]* )?(?:of \d[\d,]* )?(?:requests|rows|lists|recommend\w+)\b"
    r"|largest here has \d[\d,]*"
)


def plain(text):
    """A text without what counts requests: their number before the word, and in tables the columns that count them."""
    return COUNTED.sub("… requests", text)


def same(one, many):
    """Whether two values agree, texts up to counts of requests and numbers up to rounding."""
    if isinstance(one, dict):
        assert one.keys() == many.keys()
        for name in one:
            same(one[name], many[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(many)
        for pair in zip(one, many, strict=True):
            same(*pair)
    elif isinstance(one, float):
        assert one == pytest.approx(many, rel=1e-6, abs=1e-9, nan_ok=True)
    elif isinstance(one, str):
        assert plain(" ".join(one.split())) == plain(" ".join(many.split()))
    else:
        assert one == many


ROWS_COUNTED = (
    "users",
    "wins",
    "ties",
    "losses",
    "users_dropped",
    "users_not_zero",
    "dropped_because",
    "requests",
)
# in requests' worth: of a user with copies of its requests, so many times as much
WORTH = ("largest_loss", "loss_seen", "gain_seen", "loss_possible", "condition")
SPREAD = (
    "d_z",
)  # the standard deviation of requests, which a sample of so many has one less degree of freedom of


def rows_of(table):
    return table.drop(ROWS_COUNTED + WORTH + SPREAD, strict=False).to_dicts()


def intervals(results):
    cells = ("ndcg@4", "recall@4", GAP, "catalog_coverage@4", METRICS[-1])
    return [
        dataclasses.asdict(result.interval(cell)) for result in results.values() for cell in cells
    ]


def decided(results):
    found = rw.decide(
        {name: results[name] for name in "bc"},
        success="ndcg@4",
        guardrails={"recall@4": "20%"},
        slices=["team", "item:genre"],
        min_slice_size=5,
    )
    return {
        "reasons": found.reasons,
        "checks": found.checks.to_dicts(),
        "small": found.small_slices,
    }


INFERRED = {
    "interval": intervals,
    "intervals of clusters": lambda r: dataclasses.asdict(
        r["a"].interval("ndcg@4", clusters="home")
    ),
    "intervals of groups": lambda r: r["a"].slice_intervals().to_dicts(),
    "groups that are small": lambda r: r["a"].slices.select("by", "group", "users").to_dicts(),
    "compare": lambda r: rows_of(rw.compare(r).table),
    "compare with a margin": lambda r: rows_of(rw.compare(r, margin="20%", baseline="a").table),
    "compare by the bound": lambda r: rows_of(
        rw.compare(r, test="bounded", metrics="ndcg@4").table
    ),
    "compare over clusters": lambda r: rows_of(rw.compare(r, clusters="home", baseline="a").table),
    "compare in groups": lambda r: rows_of(rw.compare(r, by="team", baseline="a").table),
    "compare in slices": lambda r: rows_of(rw.compare(r, by="item:genre", baseline="a").table),
    "compare seeds": lambda r: rows_of(
        rw.compare({"one": [r["a"], r["b"]], "two": [r["c"], r["b"]]}, seeds="paired").table
    ),
    "compare on data sets": lambda r: rows_of(
        rw.compare({"one": {"x": r["a"], "y": r["b"]}, "two": {"x": r["c"], "y": r["a"]}}).table
    ),
    "ranks": lambda r: [vars(rank) for rank in rw.compare(r).design.ranks],
    "decide": decided,
    "rank_agreement": lambda r: rw.rank_agreement(r, metrics=["ndcg@4", "recall@4"]).to_dict(),
    "words of an order": lambda r: repr(rw.rank_agreement(r, metrics=["ndcg@4", "recall@4"])),
    "scores": lambda r: r["a"].scores.to_dicts(),
}


@pytest.mark.parametrize("what", INFERRED)
def test_copies_of_requests_change_nothing_that_is_inferred(worlds, what):
    one, many = map(INFERRED[what], worlds)
    same(one, many)


TOLD = {
    "methods": lambda found: found.export("methods"),
    "latex": lambda found: found.export("latex"),
    "markdown": lambda found: found.export("markdown"),
    "terminal": repr,
}


@pytest.mark.parametrize("way", TOLD)
def test_copies_of_requests_change_no_word(worlds, way, monkeypatch):
    """All numbers and words of a comparison's outputs, with the counts of requests alone apart."""
    monkeypatch.setenv("COLUMNS", "200")
    texts = [TOLD[way](rw.compare(results, baseline="a")) for results in worlds]
    one, many = (" ".join(plain(" ".join(text.split())).split()) for text in texts)
    assert one == many
    sample = "ndcg@4, 48 requests" if way == "terminal" else "48 requests of 24 users"
    assert (sample in " ".join(texts[0].split())) is worlds[0]["a"].has_requests
    assert "48 users" not in texts[0]


def judged(world, **options):
    """Human labels of every third user, and a judge's of all of them."""
    lists, truth = world
    judge = truth.with_columns(item=(pl.col("item") + (pl.col("user") % 4 == 1).cast(pl.Int64)) % 8)
    options = {"population": "judged", "undefined": "zero"} | options
    some = truth.filter(pl.col("user") % 3 == 0)
    human, model = (
        {n: rw.evaluate(lists[n], t, "recall@4", **options) for n in "ab"} for t in (some, judge)
    )
    return rw.judged(human=human, judge=model, sampled="random")


@pytest.mark.parametrize("over", ["requests", "users"])
def test_copies_of_requests_are_no_labels(over):
    one, many = (judged(tables(copies), mean_over=over) for copies in (1, COPIES))
    same(one.table.to_dicts(), many.table.to_dicts())
    same(repr(one), repr(many))
    assert one.table["labelled"].to_list() == [8] * 3
    assert one.table["others"].to_list() == [16] * 3
    assert ("users are the sample" in repr(one)) is (over == "requests")


def test_users_of_equal_numbers_of_requests_are_judged_as_users():
    """Of two requests each, the value and its limits are those of the users' means."""
    lists, truth = tables(1)
    two = pl.col("request").is_in(["0-0", "1-0"]) & (pl.col("user") % 3 > 0)
    lists, truth = {name: rows.filter(two) for name, rows in lists.items()}, truth.filter(two)
    judge = truth.with_columns(item=(pl.col("item") + (pl.col("user") % 4 == 1).cast(pl.Int64)) % 8)
    options = {"population": "judged", "undefined": "zero"}

    def estimated(over):
        some = truth.filter(pl.col("user") % 2 == 0)
        sides = [
            rw.evaluate(lists["a"], table, "recall@4", mean_over=over, **options)
            for table in (some, judge)
        ]
        return rw.judged(human=sides[0], judge=sides[1], sampled="random").table

    one, other = map(estimated, ("requests", "users"))
    for name in ("value", "low", "high", "human", "judge", "weight", "labelled", "others"):
        assert one[name].to_list() == pytest.approx(other[name].to_list())


def test_labels_of_some_requests_of_a_user_are_refused_with_a_way_that_works():
    lists, truth = tables(1)
    some = truth.filter(pl.col("user") % 3 == 2, pl.col("request") != "1-0")
    options = {"metrics": "recall@4", "population": "judged", "undefined": "zero"}
    human, judge = (rw.evaluate(lists["a"], table, **options) for table in (some, truth))
    with pytest.raises(
        InputError,
        match=r"(?s)some of their requests have no human labels.*8 such users.*mean_over",
    ):
        rw.judged(human=human, judge=judge, sampled="random")
    human, judge = (
        rw.evaluate(lists["a"], table, mean_over="users", **options) for table in (some, truth)
    )
    assert rw.judged(human=human, judge=judge, sampled="random").table["labelled"].to_list() == [8]


def test_labels_that_all_agree_are_printed():
    lists = {user: [1] for user in range(60)}
    options = {"metrics": "precision@1", "population": "judged", "undefined": "zero"}
    human, judge = (
        rw.evaluate(lists, {user: {1} for user in range(n)}, **options) for n in (20, 60)
    )
    found = rw.judged(human=human, judge=judge, sampled="random")
    assert math.isnan(found.table["as_good_as"][0])
    assert found.views[0].rows[0][-1] == "–"


def test_means_over_users_come_back_from_their_table(tmp_path):
    """A table of values by request says that means are over users first."""
    result, cells = evaluated(1, mean_over="users", by="team")["b"], ["ndcg@4", "recall@4"]
    result.per_user.write_csv(tmp_path / "values.csv")
    for source in (result.per_user, tmp_path / "values.csv"):
        again = rw.from_per_user(source)
        assert [again[cell] for cell in cells] == [result[cell] for cell in cells]
        assert again.interval("ndcg@4") == result.interval("ndcg@4")
        assert again.sampling_unit == USERS
        assert rw.compare(again, result, metrics=cells)["ndcg@4", "B"]["users"] == PEOPLE
    assert rw.from_per_user(result.per_user.drop("mean_over"))["ndcg@4"] != result["ndcg@4"]
    of_rows = result.per_user.with_columns(mean_over=pl.lit("rows"))
    of_users = result.units.with_columns(mean_over=pl.lit("users"))
    for wrong in (of_rows, of_users):
        with pytest.raises(ColumnError, match="'users' in every row"):
            rw.from_per_user(wrong)


@pytest.mark.parametrize("over", ["requests", "users"])
def test_the_unit_travels(over, tmp_path):
    """Pieces, chunks, saved results and their comparisons know the unit of the plain call."""
    lists, truth = tables(2)
    options = {"users": ATTRIBUTES, "by": "team", "mean_over": over}
    plainly = rw.evaluate(lists["a"], truth, METRICS[:3], **options)
    evaluator = rw.Evaluator(METRICS[:3], truth=truth, **options)
    for part in (0, 1):
        evaluator.update(lists["a"].filter(pl.col("user") % 2 == part))
    lists["a"].write_parquet(tmp_path / "lists.parquet")
    truth.write_parquet(tmp_path / "truth.parquet")
    files = (tmp_path / "lists.parquet", tmp_path / "truth.parquet")
    roads = {
        "pieces": evaluator.result(),
        "chunks": rw.evaluate(*files, METRICS[:3], chunk_rows=40, **options),
        "saved": rw.load(plainly.save(tmp_path / "saved")),
    }
    other = rw.evaluate(lists["b"], truth, METRICS[:3], **options)
    expected = rw.compare(plainly, other, metrics=["ndcg@4"])
    counts = ["group", "users", "requests"]
    for result in roads.values():
        assert (
            result.sampling_unit
            == plainly.sampling_unit
            == (REQUESTS if over == "requests" else USERS)
        )
        assert result.interval(GAP) == plainly.interval(GAP)
        assert result.slices.select(counts).equals(plainly.slices.select(counts))
        assert result.slices["users"].to_list() == [PEOPLE // 2] * 2
        same(
            rw.compare(result, other, metrics=["ndcg@4"]).table.to_dicts(),
            expected.table.to_dicts(),
        )
    loaded = Comparison.load(expected.save(tmp_path / "comparison"))
    assert loaded.design.unit == expected.design.unit
    assert expected.design.unit == plainly.sampling_unit
    assert repr(loaded) == repr(expected)


def test_gaps_between_groups_take_users_as_the_sample():
    """The interval of users with one request each is that of the users."""
    lists, truth = tables(1)
    once = [table.filter(pl.col("request") == "0-0") for table in (lists["a"], lists["b"], truth)]
    options = {"users": ATTRIBUTES, "by": "team"}
    with_requests = [rw.evaluate(rows, once[2], METRICS[1:3], **options) for rows in once[:2]]
    plain_truth = once[2].drop("request")
    without = [
        rw.evaluate(rows.drop("request"), plain_truth, METRICS[1:3], **options) for rows in once[:2]
    ]
    one, other = (results[0].interval(GAP) for results in (with_requests, without))
    assert (one.low, one.high, one.n) == pytest.approx((other.low, other.high, other.n))
    assert one.flags == other.flags == ("a group has only 12 users",)
    one, other = (rw.compare(*results, metrics=[GAP])["B"] for results in (with_requests, without))
    assert (one["low"], one["high"], one["p"]) == pytest.approx(
        (other["low"], other["high"], other["p"])
    )
    assert (one["clusters"], other["clusters"]) == (PEOPLE, None)


def test_gaps_over_requests_beside_means_over_users_are_left_out_with_a_reason():
    results = evaluated(1, mean_over="users")
    why = rw.compare(results).design.not_compared[GAP]
    assert why.startswith("it is over requests, and means are over users, in a")
    assert why.endswith('(evaluate with mean_over="requests")')
    assert GAP not in rw.compare(evaluated(1)).design.not_compared
    assert evaluated(1)["a"].interval(GAP) == results["a"].interval(GAP)


def test_looks_are_refused_over_requests_with_a_way_that_works(tmp_path):
    requests, users = (evaluated(1, mean_over=over) for over in ("requests", "users"))
    options = {"baseline": "a", "margin": 0.2, "metrics": "ndcg@4"}
    with pytest.raises(
        ParameterError, match=r'(?s)looks are at means over users.*mean_over="users"'
    ):
        record_interim_analysis(rw.compare(requests, **options), tmp_path / "looks.json")
    assert (
        "24 users"
        in record_interim_analysis(rw.compare(users, **options), tmp_path / "looks.json")[0].why
    )


@pytest.mark.parametrize("over", ["users", "requests"])
def test_plans_do_not_count_copies(over):
    one, many = (evaluated(copies, mean_over=over)["a"] for copies in (1, COPIES))
    assert rw.power(one, "ndcg@4", difference=0.1) == pytest.approx(
        rw.power(many, "ndcg@4", difference=0.1)
    )
    assert (
        rw.sample_size(one, "ndcg@4", difference=0.1).users
        == rw.sample_size(many, "ndcg@4", difference=0.1).users
    )


def test_a_margin_of_a_metric_without_bounds_does_not_count_copies():
    """Copies do not make enough values for a t test of a margin."""

    def compared_with(copies):
        gains = np.repeat(np.random.default_rng(8).normal(0.1, 0.05, 25), copies)
        ids = {"user": np.repeat(np.arange(25), copies), "request": np.tile(np.arange(copies), 25)}
        pair = [rw.from_per_user(pl.DataFrame({**ids, "minutes": 1 + gains * at})) for at in (0, 1)]
        return rw.compare(*pair, margin=0.5).table

    one, many = map(compared_with, (1, 40))
    same(rows_of(one), rows_of(many))
    assert one["p_equivalence"].to_list() == [1.0]  # 25 users are too few


def test_gates_speak_of_requests_and_of_their_users(tmp_path):
    for name, result in evaluated(1).items():
        result.save(tmp_path / name)
    gate = ["compare", "b", "--no-regression", "a", "-m", "ndcg@4", "--margin", "0.2"]
    found = rankwise_here(tmp_path, *gate)
    assert "48 requests of 24 users" in " ".join(found.stderr.split())
    found = rankwise_here(tmp_path, *gate, "--looks", "looks.json")
    assert "evaluate with --mean-over users" in " ".join(found.stderr.split())


@pytest.mark.slow
def test_a_report_names_requests_and_users():
    page = rw.report(evaluated(1), baseline="a").html
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))
    assert "48 requests of 24 users" in text
    assert not re.search(r"\b(?:over|of|for) 48 users", text)
    assert re.search(r"\d+ requests? gain, \d+ lose,", text)


def test_a_decision_counts_users():
    results = evaluated(1)
    found = rw.decide(
        {name: results[name] for name in "ba"}, success="ndcg@4", guardrails={"recall@4": "1%"}
    )
    assert set(found.checks["users"]) == {PEOPLE}
    assert "(24 users" in " ".join(found.reasons)


def test_rare_gains_of_many_users_are_decided_by_the_bound_as_well():
    """Of 1,200 users with two requests each, eight requests gain: t alone would call that shown."""
    rng = np.random.default_rng(3)
    ids = {"user": np.repeat(np.arange(1200), 2), "request": np.tile([0, 1], 1200)}
    old = rng.integers(0, 2, 2400).astype(float)
    new = np.where(
        np.isin(np.arange(2400), rng.choice(np.flatnonzero(old == 0), 8, replace=False)), 1.0, old
    )
    pair = {
        name: rw.from_per_user(pl.DataFrame({**ids, "mrr@10": x}))
        for name, x in {"old": old, "new": new}.items()
    }
    row = rw.compare(pair)["new"]
    assert row["p_design"] < 0.05 < row["p"]
    decided = rw.decide(pair, success="mrr@10")
    assert decided.outcome == "hold"
    assert decided.checks["low"][0] < 0 < decided.checks["difference"][0]


def test_a_gap_of_users_in_two_groups_is_refused():
    with pytest.raises(InputError, match="belong to one group"):
        group_interval([0.1, 0.2, 0.3, 0.5], [0, 1, 0, 1], cluster=[1, 1, 2, 3])


def test_one_user_with_most_requests_of_a_group_leaves_no_interval():
    rng = np.random.default_rng(2)
    cluster, groups = (
        np.r_[np.zeros(90), np.arange(1, 11), np.arange(11, 31)],
        np.r_[np.zeros(100), np.ones(20)],
    )
    interval = group_interval(rng.random(120), groups, cluster=cluster)
    assert math.isnan(interval.low)
    assert interval.n == 31


def test_a_user_with_most_requests_leaves_no_test_and_the_reason_is_said():
    rng = np.random.default_rng(6)
    ids = {"user": [0] * 60 + list(range(1, 11)), "request": [*range(60), *[0] * 10]}
    pair = [rw.from_per_user(pl.DataFrame({**ids, "minutes": rng.random(70)})) for _ in range(2)]
    found = rw.compare(*pair)
    text = " ".join(repr(found).split())
    assert "B is not tested against A on minutes" in text
    assert "fewer than two users, or one with more than 80 % of the requests: no test" in text
    assert "not shown" not in text
    assert "not checked" in text.split("minutes, 70 requests")[1]


def test_methods_that_take_users_alone_name_the_way():
    results = {over: evaluated(1, mean_over=over)["a"] for over in ("requests", "users")}
    with pytest.raises(ParameterError, match='mean_over="users"'):
        results["requests"].interval("ndcg@4", method="bca")
    assert results["users"].interval("ndcg@4", method="bca").n == PEOPLE
    pair = evaluated(1)
    with pytest.raises(ParameterError, match='mean_over="users" for any test'):
        rw.compare(pair, test="wilcoxon")


def equal_systems(seed, people=30, requests=10):
    """Values of two systems that are equal in the mean, and differ alike in all requests of a user."""
    rng = np.random.default_rng(seed)
    of_user, values = (
        rng.choice([-0.25, 0.25], (people, 1)),
        rng.uniform(0.25, 0.75, (people, requests)),
    )
    ids = {
        "user": np.repeat(np.arange(people), requests),
        "request": np.tile(np.arange(requests), people),
    }
    columns = {"a": values, "b": values + of_user}
    return {
        name: rw.from_per_user(
            pl.DataFrame({**ids, "ndcg@10": column.ravel(), "mrr@10": values.ravel()})
        )
        for name, column in columns.items()
    }


def shown(samples):
    """How many of so many samples call the pair shown by the first order."""
    orders = (
        rw.rank_agreement(equal_systems(seed), metrics=["ndcg@10", "mrr@10"])
        for seed in range(samples)
    )
    return sum(order.counts["first only"] for order in orders)


def test_equal_systems_are_shown_at_no_more_than_the_level():
    assert shown(20) <= 2  # 0.025 of them expected at most; more than 2 with a probability of 0.01


@pytest.mark.deep
def test_equal_systems_are_shown_at_no_more_than_the_level_in_many_samples():
    assert shown(300) <= 15  # more with a probability of 0.004


def test_validation_refuses_what_it_would_ignore():
    effects = {"ndcg": [0.1, 0.4, -0.2, 0.3], "online": [0.3, 0.9, -0.3, 0.7]}
    launches = effects | {"ndcg_se": [0.05] * 4, "online_se": [0.1] * 4}
    for offline in ([], ()):
        with pytest.raises(ParameterError, match="no offline metric is named"):
            rw.validate_metrics(launches, offline=offline, same_users=False)
    for offline in ("online", ["ndcg", "online"]):
        with pytest.raises(ParameterError, match="the online effect is no offline metric"):
            rw.validate_metrics(launches, offline=offline, same_users=False)
    for name in ("ndcg_covariance", "covariance"):
        table = launches | {name: [0.001, 0.0, 0.002, 0.001]}
        with pytest.raises(
            ParameterError, match=r"(?s)errors of different users.*3 launches with a covariance"
        ):
            rw.validate_metrics(table, same_users=False)
        assert rw.validate_metrics(table).table["launches"].to_list() == [4]
        assert rw.validate_metrics(launches | {name: [0.0] * 4}, same_users=False).table[
            "launches"
        ].to_list() == [4]
