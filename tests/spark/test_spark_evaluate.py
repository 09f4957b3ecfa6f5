"""Spark gives what one process gives, to the bit: values, users' values, counts and slices."""

from __future__ import annotations

import dataclasses
import functools
import pickle
import warnings

import numpy as np
import polars as pl
import pytest
from spark_worlds import frames, on_spark

import rankwise as rw
from rankwise.errors import (
    ColumnError,
    EmptyError,
    FileError,
    IdError,
    InputError,
    MetricError,
    OutputError,
    ParameterError,
    ScoreError,
)
from rankwise.metrics import registry
from sampled_negatives import as_tables, sampled
from tools import deep

rs = pytest.importorskip("rankwise.spark")
sf = pytest.importorskip("pyspark.sql.functions")

EVERY = [
    str(
        cls(**({"max_relevance": 4.0} if cls.name == "err" else {}))
        if cls.cutoff == "none"
        else cls(**({"max_relevance": 4.0} if cls.name == "err" else {})) @ 3
    )
    for cls in registry.all_metrics()
    if cls.name != "hole"  # which needs the ground truth of all users at once
]
SOME = ["ndcg@[3,5]", "gini@5", "novelty@5", "reo@5", "group_gap(metric=recall)@5", "auc", "rmse"]


def evaluate(spark, tables, metrics, **options):
    """Evaluate the same tables on Spark and in one process."""
    ours = {role: table for role, table in tables.items() if role in rw_roles(tables)}
    sent = on_spark(spark, ours)
    local = {name: value for name, value in options.items() if name not in ("buckets", "collect")}
    one = rw.evaluate(ours["recommendations"], ours.get("truth"), metrics, **around(ours), **local)
    there = rs.evaluate(
        sent["recommendations"], sent.get("truth"), metrics, spark=spark, **around(sent), **options
    )
    return one, there


def rw_roles(tables):
    return [role for role, table in tables.items() if table is not None]


def around(tables):
    return {r: t for r, t in tables.items() if r not in ("recommendations", "truth")}


def check_same(one, there):
    assert list(there.values) == list(one.values)
    for cell, value in one.values.items():
        assert np.array_equal(value, there.values[cell], equal_nan=True), cell
    assert there.counts == one.counts
    assert there.kinds == one.kinds
    assert there.diagnostics == one.diagnostics
    assert there.per_user.equals(one.per_user)
    for ours, theirs in ((one.slices, there.slices), (one.replicates, there.replicates)):
        assert (ours is None) == (theirs is None)
        assert ours is None or ours.equals(theirs, null_equal=True)
    for name in (
        "settings",
        "metrics",
        "facts",
        "groups",
        "jackknife",
        "split",
        "candidates",
        "digests",
    ):
        assert there.provenance[name] == one.provenance[name], name
    rows = {role: card["rows"] for role, card in there.provenance["inputs"].items()}
    assert rows == {role: card["rows"] for role, card in one.provenance["inputs"].items()}


@pytest.mark.parametrize("collect", [True, False])
def test_every_metric(spark, collect):
    options = {"population": "all", "by": "age"}  # metrics of all shown rows need all users
    check_same(*evaluate(spark, frames(), EVERY, buckets=3, collect=collect, **options))


@pytest.mark.parametrize("collect", [True, *deep(False)])
def test_lists_that_look_sampled_have_the_label_of_one_process(spark, collect):
    lists, truth = as_tables(*sampled(n_items=300, negatives=100))
    kinds = pl.DataFrame({"user": range(60), "kind": ["a", None, "b"] * 20})
    train = pl.concat(
        [truth.select("user", item=5), lists.select(pl.lit(-1).alias("user"), "item").unique()],
        how="vertical_relaxed",
    )
    tables = {"recommendations": lists, "truth": truth, "users": kinds, "train": train}
    options = {
        "buckets": 3,
        "collect": collect,
        "by": ["kind", "history", *(["item:cold"] if collect else [])],
    }
    one, there = evaluate(spark, tables, ["ndcg@10", "gini@10"], **options)
    check_same(one, there)
    assert there.label == "looks sampled (m=100)"
    assert there.provenance["doubts"] == one.provenance["doubts"]
    assert there.slices["label"].to_list() == [there.label] * len(one.slices)
    assert set(there.per_user["label"]) == {there.label}


@pytest.mark.parametrize("collect", [False, *deep(True)])
def test_users_without_a_group_are_evaluated_as_by_themselves(spark, collect):
    tables, metrics = frames(7), ["ndcg@3", "gini@3", "catalog_coverage@3"]
    roles = ("recommendations", "truth", "users", "items")
    tables = {role: tables[role] for role in roles} | {
        "users": tables["users"].filter(pl.col("user") % 5 > 0)
    }
    grouped = tables["users"].filter(pl.col("group").is_not_null())
    by_themselves = {role: tables[role].join(grouped, on="user", how="anti") for role in roles[:2]}
    expected = rw.evaluate(*by_themselves.values(), metrics, items=tables["items"])
    _, there = evaluate(spark, tables, metrics, by="group", buckets=3, collect=collect)
    row = there.slices.filter(pl.col("group").is_null()).to_dicts()
    assert row == [
        {"by": "group", "group": None, "users": expected.counts["users"], **expected.values}
    ]


OPTIONS = {
    "groups and weights": {"by": ["group", "age"], "weights": "weight"},
    "terciles": {
        "by": ["activity", "group", "popularity", "history"],
        "population": "all",
        "jackknife": 3,
    },
    "warm and cold rows": {"by": ["item:cold", "group"], "population": "both"},
    "judged": {"population": "judged", "relevance_threshold": 4, "without_list": "zero"},
    "everything": {
        "by": "group",
        "jackknife": 4,
        "exclude_seen": True,
        "population": "all",
        "undefined": "zero",
        "collect": False,
    },
}
ALMOST_IN_OTHERS = {
    "undefined": {"population": "recommended", "undefined": "nan"},
    "terciles in Spark": {"by": ["popularity", "activity"], "collect": False},
    "bins": {"by": ["age[9,11]", "age[10.5]", "group"]},
    "threshold": {"population": "both", "relevance_threshold": 3, "ties": "pessimistic"},
    "jackknife": {"jackknife": 5},
    "warm and cold, seen taken out": {"by": ["history", "item:cold"], "exclude_seen": True},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [*OPTIONS.values(), *deep(*ALMOST_IN_OTHERS.values())],
    ids=[*OPTIONS, *ALMOST_IN_OTHERS],
)
def test_options(spark, options):
    text = "weights" in options
    check_same(*evaluate(spark, frames(1, text=text), SOME, buckets=3, **options))


@pytest.mark.slow
def test_buckets_without_rows_of_some_tables(spark):
    """Most of so many buckets have no user, or one who is in some of the tables only."""
    check_same(*evaluate(spark, frames(5, users=6), EVERY, buckets=40, population="all"))


@pytest.mark.parametrize("buckets", [1, 60])  # 60: more than users
def test_ranks_and_any_number_of_buckets(spark, buckets):
    tables = {**dict.fromkeys(frames()), **frames(3, ranks=True)}
    only = {role: tables[role] for role in ("recommendations", "truth")}
    check_same(*evaluate(spark, only, ["ndcg@5", "recall@3"], buckets=buckets, ranks="keep"))


def test_popularity_alone_leaves_train_where_it_is(spark):
    tables = {role: frames(6)[role] for role in ("recommendations", "truth", "train")}
    tables["train"] = pl.concat([tables["train"], tables["train"].head(5)])
    check_same(*evaluate(spark, tables, ["novelty@5", "aplt@5", "gini@5"], buckets=3))


@pytest.mark.slow
def test_spark_forgets_what_nobody_asks_for(spark, pair):
    def kept():
        return spark.sparkContext._jsc.getPersistentRDDs().size()

    before = kept()
    lists, truth = pair["recommendations"], pair["truth"]
    rs.evaluate(lists, truth, "ndcg@5", train=truth, by="item:cold", spark=spark)
    assert kept() == before
    result = rs.evaluate(lists, truth, "ndcg@5", collect=False, spark=spark)
    assert kept() > before
    result.release()
    assert kept() == before


def test_warm_and_cold_without_cold_items(spark):
    tables = {role: frames(9)[role] for role in ("recommendations", "truth")}
    tables["train"] = tables["truth"].select("user", "item")
    check_same(
        *evaluate(
            spark,
            tables,
            ["recall@5", "gini@5"],
            by=["history", "item:cold"],
            population="recommended",
            undefined="zero",
            buckets=2,
        )
    )


def test_terciles_of_training_users_without_a_table_of_users(spark):
    tables = {role: frames(4)[role] for role in ("recommendations", "truth", "train")}
    asked = {"by": ["activity", "popularity"], "population": "all", "buckets": 7}
    for cells in (["recall@5"], ["recall@5", "gini@5"]):
        check_same(*evaluate(spark, tables, cells, **asked))
    users = on_spark(spark, frames(4))["users"].withColumnRenamed("age", "activity")
    sent = on_spark(spark, tables)
    for options, said in (
        ({"users": users, "train": sent["train"]}, "has two meanings"),
        ({}, "by their training interactions"),
    ):
        with pytest.raises(ParameterError, match=said):
            rs.evaluate(
                sent["recommendations"],
                sent["truth"],
                "recall@5",
                by="activity",
                spark=spark,
                **options,
            )


def test_groups_in_a_collation_are_those_of_their_letters(spark):
    sent = on_spark(spark, frames(9))
    letter = sf.expr("if(user % 2 = 0, 'a', 'A') collate UTF8_LCASE")
    users = sent["users"].withColumn("letter", letter)
    result = rs.evaluate(
        sent["recommendations"],
        sent["truth"],
        ["reo@5", "recall@5"],
        by="letter",
        users=users,
        items=sent["items"],
        spark=spark,
    )
    assert result.slices["group"].to_list() == ["A", "a"]


@pytest.mark.parametrize("kind", [pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64])
def test_unsigned_integers_of_tables_on_the_driver(spark, kind):
    last = min(2**63 - 1, int(pl.select(kind.max()).item()))
    ids = {"user": [last, last, last - 1], "item": [last, 0, 0]}
    lists = pl.DataFrame(ids, schema_overrides={"user": kind, "item": kind})
    truth = lists.head(2).with_columns(relevance=pl.Series([1, 3], dtype=kind))
    groups = [2**64 - 1, 5] if kind == pl.UInt64 else [7, 5]
    users = lists[1:].select("user", group=pl.Series(groups, dtype=kind))
    options = {"users": users, "by": "group", "population": "all"}
    one = rw.evaluate(lists, truth, ["ndcg@2", "recall@1"], **options)
    there = rs.evaluate(lists, truth, ["ndcg@2", "recall@1"], spark=spark, **options)
    assert dict(there.values) == dict(one.values)
    assert there.slices.equals(one.slices)


def test_true_and_false_are_a_relevance(spark):
    tables = {role: frames(8)[role] for role in ("recommendations", "truth")}
    tables["truth"] = tables["truth"].with_columns(pl.col("relevance") > 2)
    weights = {user: 0.5 + user for user in range(60)}
    check_same(*evaluate(spark, tables, ["ndcg@5", "gini@5"], jackknife=3, weights=weights))


@pytest.mark.parametrize("dtype", [pl.Float32, *deep(pl.Float64)])
def test_a_threshold_is_met_in_the_precision_of_the_ratings(spark, dtype):
    tables = {role: frames(8)[role] for role in ("recommendations", "truth")}
    grade = (pl.col("relevance") / 10 + 0.4).cast(dtype)
    tables["truth"] = tables["truth"].with_columns(grade)
    for threshold in (0.6, 0.7):
        check_same(
            *evaluate(
                spark, tables, ["recall@5", "gini@5"], jackknife=3, relevance_threshold=threshold
            )
        )
    expected = tables["truth"].filter(pl.col("relevance") > 0.65)["user"].n_unique()
    assert (
        rw.evaluate(**tables, metrics="recall@5", relevance_threshold=0.7).counts["users"]
        == expected
    )


def test_no_truth_and_no_buckets_named(spark):
    only = {"recommendations": frames()["recommendations"]}
    check_same(*evaluate(spark, only, ["gini@5", "coverage@5"]))


@pytest.mark.slow
def test_a_user_with_many_rows(spark):
    items = pl.DataFrame({"user": 7, "item": range(200_000), "rank": range(1, 200_001)})
    truth = pl.DataFrame({"user": [7, 8], "item": [199_999, 5]})
    tables = {"recommendations": items, "truth": truth}
    check_same(*evaluate(spark, tables, ["mrr", "ndcg", "item_coverage@100000"], buckets=2))


@pytest.fixture
def pair(spark):
    tables = frames()
    return on_spark(spark, {r: tables[r] for r in ("recommendations", "truth")})


def test_nothing_brings_the_values_of_users_unasked(spark, pair, monkeypatch):
    """They may be too many for the driver: not even on the way to a result."""
    monkeypatch.setattr("rankwise.spark.engine.collected", None)
    lists, truth = pair["recommendations"], pair["truth"]
    result = rs.evaluate(
        lists,
        truth,
        ["ndcg@5", "gini@5"],
        train=truth,
        by=["history", "item:cold"],
        collect=False,
        spark=spark,
    )
    assert not result.is_collected
    assert "ndcg" in repr(result)
    with pytest.raises(TypeError):
        _ = result.per_user


def test_values_stay_in_spark(spark, pair, tmp_path):
    result = rs.evaluate(
        pair["recommendations"],
        pair["truth"],
        "ndcg(gain=exponential)@5",
        collect=False,
        buckets=2,
        spark=spark,
    )
    assert not result.is_collected
    result.write_per_user(str(tmp_path / "users"))
    assert result.scores["users"].item() == result.counts["users"]
    written = pl.read_parquet(tmp_path / "users" / "*.parquet").sort("user")
    assert written.equals(result.per_user)
    assert result.is_collected
    assert rw.load(result.save(tmp_path / "saved")).values == result.values


def test_values_on_the_driver_go_back(spark, pair):
    result = rs.evaluate(pair["recommendations"], pair["truth"], "recall@5", spark=spark)
    assert result.is_collected
    assert result.per_user_spark.count() == len(result.per_user)
    assert result.interval("recall@5").n == result.counts["users"]
    with pytest.raises(AttributeError, match="nothing"):
        _ = result.nothing
    away = pickle.loads(pickle.dumps(result))
    assert type(away) is rw.Result
    assert away.per_user.equals(result.per_user)
    assert dataclasses.replace(result, counts={}).per_user_spark.count() == len(result.per_user)


@pytest.mark.slow
def test_bucketed_files(spark, tmp_path):
    tables = frames(4, ranks=True)
    sent = on_spark(spark, tables)
    paths = {
        role: rs.bucket(sent[role], tmp_path / role, role=role, buckets=5, spark=spark)
        for role in sent
        if role != "items"
    }
    paths["items"] = tables["items"]
    one = rw.evaluate(
        tables["recommendations"], tables["truth"], SOME, by="group", **around(tables)
    )
    there = rs.evaluate(
        paths["recommendations"], paths["truth"], SOME, by="group", spark=spark, **around(paths)
    )
    check_same(one, there)
    mixed = rs.evaluate(paths["recommendations"], sent["truth"], "ndcg@5", spark=spark)
    assert mixed["ndcg@5"] == one["ndcg@5"]
    with pytest.raises(OutputError, match="exists already"):
        rs.bucket(sent["truth"], tmp_path / "truth", role="truth", spark=spark)
    with pytest.raises(ParameterError, match="bucketed for another role"):
        rs.evaluate(paths["recommendations"], paths["recommendations"], "ndcg@5", spark=spark)
    part = next((tmp_path / "truth").glob("rankwise_bucket=*/*.parquet"))
    pl.read_parquet(part).head(1).write_parquet(part.with_name("more.parquet"))
    with pytest.raises(FileError, match="changed since they were bucketed"):
        rs.evaluate(
            paths["recommendations"], paths["truth"], "ndcg@5", spark=spark, duplicates="first"
        )


@pytest.mark.slow
def test_what_cannot_be_bucketed(spark, pair, value_of_pair, tmp_path):
    good = tmp_path / "a b%20ü"  # a name that addresses escape
    path = rs.bucket(pair["truth"], good, role="truth", buckets=2, spark=spark)
    nulls = pair["truth"].withColumn("user", sf.lit(None).cast("long"))
    for table, message in (
        (nulls, "a user id is null"),
        (pair["truth"].where("false"), "is empty"),
    ):
        with pytest.raises(InputError, match=message):
            rs.bucket(table, good, role="truth", overwrite=True, spark=spark)
    assert (
        rs.evaluate(pair["recommendations"], path, "ndcg@5", spark=spark)["ndcg@5"] == value_of_pair
    )
    with pytest.raises(ColumnError, match="no order"):
        rs.bucket(pair["truth"].drop("relevance"), tmp_path / "x", spark=spark)
    with pytest.raises(ParameterError, match="into itself"):
        rs.bucket(good, good, role="truth", overwrite=True, spark=spark)
    with pytest.raises(ParameterError, match="at most 100,000"):
        rs.bucket(pair["truth"], tmp_path / "x", role="truth", buckets=10**9, spark=spark)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="a file"):
        rs.bucket(pair["truth"], tmp_path / "file", role="truth", overwrite=True, spark=spark)
    assert (tmp_path / "file").read_text() == "mine"
    (good / "_rankwise.json").write_text("[]")
    with pytest.raises(FileError, match="not complete"):
        rs.evaluate(pair["recommendations"], path, "ndcg@5", spark=spark)


@pytest.mark.slow
def test_overwriting_leaves_nothing_of_the_old(spark, pair, tmp_path):
    """Whatever is configured for tables of other tools."""
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        rs.bucket(pair["truth"], tmp_path / "t", role="truth", buckets=7, spark=spark)
        some = pair["truth"].where("user < 9")
        path = rs.bucket(some, tmp_path / "t", role="truth", buckets=3, overwrite=True, spark=spark)
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert spark.read.parquet(path).count() == some.count()


def test_a_table_that_is_not_repeatable_can_be_bucketed(spark, pair, tmp_path):
    shaky = pair["recommendations"].withColumn("score", sf.rand())
    with pytest.raises(InputError, match="other rows each time"):
        rs.evaluate(shaky, pair["truth"], "ndcg@5", spark=spark)
    path = rs.bucket(shaky, tmp_path / "lists", buckets=2, spark=spark)
    first, second = (rs.evaluate(path, pair["truth"], "ndcg@5", spark=spark) for _ in range(2))
    assert first["ndcg@5"] == second["ndcg@5"]


def test_null_ids_are_counted(spark, pair, tmp_path):
    nulls = pair["recommendations"].withColumn("item", sf.expr("if(item % 7 = 0, null, item)"))
    expected = nulls.where("item is null").count()
    with pytest.raises(IdError, match="an item id is null") as error:
        rs.evaluate(nulls, pair["truth"], "ndcg@5", buckets=4, spark=spark)
    assert error.value.found == f"{expected} null ids"
    with pytest.raises(IdError, match="an item id is null"):
        rs.bucket(nulls, tmp_path / "lists", spark=spark)
    train = pair["truth"].withColumn("item", sf.expr("if(user = 3, null, item)"))
    with pytest.raises(IdError, match="an item id is null"):  # counted, and not in any bucket
        rs.evaluate(pair["recommendations"], pair["truth"], "novelty@5", train=train, spark=spark)
    users = pair["truth"].withColumn("user", sf.expr("if(user = 3, null, user)"))
    with pytest.raises(IdError, match="a user id is null"):
        rs.evaluate(pair["recommendations"], users, "ndcg@5", buckets=4, spark=spark)


BAD = {
    "no column": (lambda t: t.drop("item"), ColumnError, "no column for the item"),
    "no order": (lambda t: t.drop("score"), ColumnError, "no order"),
    "lists": (
        lambda t: t.groupBy("user").agg(sf.collect_list("item").alias("items")),
        ColumnError,
        "one row per item",
    ),
    "twice": (lambda t: t.select("user", "item", "score", "score"), ColumnError, "two columns"),
    "float ids": (
        lambda t: t.withColumn("user", sf.col("user").cast("double")),
        IdError,
        "integers or strings",
    ),
    "two types": (
        lambda t: t.withColumn("item", sf.col("item").cast("string")),
        IdError,
        "none would match",
    ),
    "NaN": (
        lambda t: t.withColumn("score", sf.expr("if(user = 2, double('nan'), score)")),
        ScoreError,
        "null, NaN or infinite",
    ),
    "two cases": (
        lambda t: t.withColumn("x", sf.lit(1)).select("*", sf.lit(2).alias("X")),
        ColumnError,
        "in some case",
    ),
    "text": (
        lambda t: t.withColumn("score", sf.col("score").cast("string")),
        ColumnError,
        "must be a number",
    ),
    "no type of Polars": (
        lambda t: t.withColumn("x", sf.expr("interval '1' month")),
        ColumnError,
        "Polars does not have",
    ),
    "a query that fails": (
        lambda t: t.withColumn("score", sf.expr("cast('abc' as double)")),
        InputError,
        "Spark fails to compute",
    ),
    "empty": (lambda t: t.where("user < 0"), EmptyError, "recommendations is empty"),
    "twice in a list": (lambda t: t.union(t), InputError, "duplicate item"),
}


@pytest.mark.parametrize(("change", "kind", "message"), BAD.values(), ids=BAD)
def test_bad_recommendations(spark, pair, change, kind, message):
    with pytest.raises(kind, match=message):
        rs.evaluate(
            change(pair["recommendations"]), pair["truth"], "ndcg@5", buckets=3, spark=spark
        )


CASTS = {
    "decimal(12,0)": "F.col('who').cast('long')",
    "decimal(30,0)": "F.col('who').cast('string')",
    "decimal(12,2)": "F.col('who').cast('long')",
    "double": "F.col('who').cast('long')",
    "date": "F.col('who').cast('string')",
    "binary": "F.hex('who')",
    "struct<id: bigint>": "F.to_json('who')",
}


@pytest.fixture(scope="module")
def value_of_pair():
    tables = frames()
    return rw.evaluate(tables["recommendations"], tables["truth"], "ndcg@5")["ndcg@5"]


@pytest.mark.parametrize(("kind", "cast"), CASTS.items())
def test_the_hint_for_ids_works(spark, pair, value_of_pair, kind, cast):
    """It names the column at fault, and keeps ids apart that are."""
    values = {
        "date": "date_add(date'2020-01-01', cast({0} as int))",
        "binary": "cast(cast({0} as string) as binary)",
    }
    values["struct<id: bigint>"] = "named_struct('id', {0})"
    changed = values.get(kind, f"cast({{0}} as {kind})")
    lists, truth = (
        pair[role].withColumn("who", sf.expr(changed.format("user"))).drop("user")
        for role in ("recommendations", "truth")
    )
    columns = {"user": "who"}
    with pytest.raises(IdError, match="integers or strings") as error:
        rs.evaluate(lists, truth, "ndcg@5", columns=columns, spark=spark)
    hint = error.value.hint
    assert cast.replace("'", '"') in hint
    code = compile(hint[hint.index("df.with") :], "hint", "eval")
    changed = [eval(code, {"F": sf, "df": table}) for table in (lists, truth)]
    assert rs.evaluate(*changed, "ndcg@5", columns=columns, spark=spark)["ndcg@5"] == value_of_pair


def test_decimal_ranks(spark):
    tables = {
        role: table
        for role, table in frames(3, ranks=True).items()
        if role in ("recommendations", "truth")
    }
    tables["recommendations"] = (
        tables["recommendations"].drop("score").cast({"rank": pl.Decimal(10, 0)})
    )
    one, there = evaluate(spark, tables, ["ndcg@5", "mrr"])
    check_same(one, there)
    integers = tables["recommendations"].cast({"rank": pl.Int64})
    assert one.values == rw.evaluate(integers, tables["truth"], ["ndcg@5", "mrr"]).values


def test_lists_of_als(spark):
    """Rows of a user and an array of (item, rating), as `recommendForAllUsers` returns them."""
    tables = {role: frames(14)[role] for role in ("recommendations", "truth")}
    sent = on_spark(spark, tables)
    flat = sent["recommendations"].select(
        "user", sf.struct(sf.col("item").alias("movieId"), sf.col("score").alias("rating"))
    )
    packed = (
        flat.toDF("userId", "pair")
        .groupBy("userId")
        .agg(sf.collect_list("pair").alias("recommendations"))
    )
    empty = packed.limit(1).select(
        sf.lit(10**6).alias("userId"), sf.slice("recommendations", 1, 0).alias("recommendations")
    )
    there = rs.evaluate(packed.union(empty), sent["truth"], ["ndcg@5", "coverage@5"], spark=spark)
    check_same(
        rw.evaluate(tables["recommendations"], tables["truth"], ["ndcg@5", "coverage@5"]), there
    )
    nulls = packed.withColumn(
        "recommendations", sf.expr("if(userId % 9 = 0, null, recommendations)")
    )
    with pytest.raises(IdError, match="an item id is null") as error:
        rs.evaluate(nulls, sent["truth"], "ndcg@5", spark=spark)
    assert error.value.found == f"{nulls.where('recommendations is null').count()} null ids"
    with pytest.raises(ColumnError, match="two columns are called"):
        rs.evaluate(packed.withColumn("rating", sf.lit(1.0)), sent["truth"], "ndcg@5", spark=spark)


@pytest.mark.parametrize(
    "options", [{"order_by": "score", "ties": "item"}, {"convention": "trec_eval"}]
)
def test_scores_order_lists_that_have_ranks_too(spark, options):
    tables = frames(6, ranks=True)
    only = {role: tables[role] for role in ("recommendations", "truth")}
    check_same(*evaluate(spark, only, "recall@3", buckets=3, **options))


def test_bad_questions(spark, pair):
    lists, truth = pair["recommendations"], pair["truth"]

    def ask(*metrics, **options):
        return rs.evaluate(lists, options.pop("truth", truth), metrics, spark=spark, **options)

    with pytest.raises(ParameterError, match="no order"):
        ask("ndcg@5", ties="input")
    with pytest.raises(ParameterError, match="no order"):
        rs.evaluate(
            lists.withColumn("rank", sf.lit(1)),
            truth,
            "ndcg@5",
            spark=spark,
            ties="input",
            order_by="score",
        )
    with pytest.raises(ParameterError, match="exclude_seen needs training interactions"):
        ask("ndcg@5", exclude_seen=True)
    with pytest.raises(MetricError, match="needs training interactions"):
        ask("novelty@5")
    with pytest.raises(MetricError, match=r"on one machine[\s\S]*rankwise\.evaluate has it"):
        ask("serendipity(form=history,similarity=cooccurrence)@5", train=truth)
    with pytest.raises(EmptyError, match="no item is relevant"):
        ask("ndcg@5", relevance_threshold=100)
    with pytest.raises(EmptyError, match="truth is empty"):
        ask("ndcg@5", truth=truth.where("user < 0"))
    with pytest.raises(EmptyError, match="train is empty"):
        ask("novelty@5", train=truth.where("user < 0"))
    some = dict.fromkeys(range(5), 1.0)
    with pytest.raises(InputError, match="needs a weight") as error:
        ask("ndcg@5", weights=some, collect=False)
    assert type(error.value) is InputError
    with pytest.raises(ParameterError, match="buckets"):
        ask("ndcg@5", buckets=0)
    with pytest.raises(ParameterError, match="differs between processes"):
        ask(
            rw.ILD(distance=functools.partial(lambda vectors: vectors)) @ 5, items=frames()["items"]
        )
    with pytest.raises(ColumnError, match="'country'"):
        ask("ndcg@5", users=truth, by="country")


def test_paths_are_read_by_spark(spark, tmp_path):
    tables = frames()
    tables["recommendations"].write_csv(tmp_path / "lists.csv")
    tables["truth"].write_parquet(tmp_path / "truth.parquet")
    there = rs.evaluate(tmp_path / "lists.csv", tmp_path / "truth.parquet", "ndcg@5", spark=spark)
    assert (
        there["ndcg@5"]
        == rw.evaluate(tables["recommendations"], tables["truth"], "ndcg@5")["ndcg@5"]
    )
    assert there.provenance["inputs"]["truth"]["source"] == str(tmp_path / "truth.parquet")
    with pytest.raises(FileError, match="Spark cannot read this"):
        rs.evaluate(tmp_path / "nothing.parquet", tmp_path / "truth.parquet", "ndcg@5", spark=spark)


@pytest.mark.parametrize(
    "name", ["trec_eval", *deep("warprec", "rectools", "replay", "rank_of_items")]
)
def test_conventions(spark, name):
    """Other names, populations that differ from metric to measure, ids ordered as text."""
    kept = ("recommendations", "truth", "train")
    tables = {role: table for role, table in frames(seed=5).items() if role in kept}
    if name == "rank_of_items":
        name = rw.Convention("mine", base="recommenders", ties="item")
    one, there = evaluate(
        spark, tables, ["ndcg@3", "precision@3", "recall@3", "gini@3"], convention=name, buckets=3
    )
    check_same(one, there)
    assert there["ndcg@3"] == one["ndcg@3"]
    assert there.provenance["rules"] == one.provenance["rules"]


def test_a_convention_that_takes_tied_rows_in_their_order_is_refused(spark):
    with pytest.raises(ParameterError, match="rows of a Spark table have no order"):
        evaluate(spark, frames(seed=5), "recall@3", convention="elliot")


def test_a_convention_that_orders_ties_reads_lists_with_ranks(spark):
    tables = {
        role: table
        for role, table in frames(3, ranks=True).items()
        if role in ("recommendations", "truth")
    }
    one, there = evaluate(spark, tables, ["ndcg@3", "ncrr@3"], convention="cornac", ranks="keep")
    check_same(one, there)


def with_requests(by_request):
    """Lists of requests of users, and a ground truth by request or by user."""
    rng = np.random.default_rng(11)
    lists, truth = [], []
    for user in range(30):
        for request in range(rng.integers(1, 4)):
            if user % 7:
                lists += [
                    (user, request, int(item), at)
                    for at, item in enumerate(rng.permutation(12)[:4], 1)
                ]
            truth += [(user, request, int(item)) for item in rng.permutation(12)[:2]]
    columns = ["user", "request", "item"]
    judged = pl.DataFrame(truth, schema=columns, orient="row")
    return {
        "recommendations": pl.DataFrame(lists, schema=[*columns, "rank"], orient="row"),
        "truth": judged if by_request else judged.drop("request").unique(maintain_order=True),
        "train": pl.DataFrame({"user": range(30), "item": [user % 12 for user in range(30)]}),
        "users": pl.DataFrame({"user": range(30), "kind": ["a", None, "b"] * 10}),
    }


@pytest.mark.parametrize("by_request", [True, *deep(False)])
@pytest.mark.parametrize("options", [{"mean_over": "users"}, *deep({}, {"exclude_seen": True})])
def test_requests_are_those_of_one_process(spark, by_request, options):
    tables, metrics = with_requests(by_request), ["ndcg@3", "recall@2", "gini@3", "novelty@3"]
    one, there = evaluate(spark, tables, metrics, by="kind", buckets=3, **options)
    check_same(one, there)
    assert there.provenance["requests"] == one.provenance["requests"]
    assert there.sampling_unit == one.sampling_unit
    assert there.per_user.columns[:2] == ["user", "request"]
    assert repr(there.interval("recall@2")) == repr(one.interval("recall@2"))


def test_what_requests_do_not_have_in_spark(spark):
    tables = with_requests(True)
    with pytest.raises(ParameterError, match="are collected on the driver"):
        evaluate(spark, tables, ["recall@2"], collect=False)
    _, there = evaluate(spark, tables, ["recall@2"], buckets=2)
    with pytest.raises(
        ParameterError, match="Spark compares values of users, and these are of requests"
    ):
        rs.compare(there, there)


def test_what_pyspark_says_of_pandas_is_left_out_and_nothing_else():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with rs.tables.errors_of_spark():
            warnings.warn(
                "PySpark does not yet fully support pandas >= 3.0.0. Some",
                FutureWarning,
                stacklevel=1,
            )
            warnings.warn("PySpark will drop this", FutureWarning, stacklevel=1)
    assert [str(warning.message) for warning in said] == ["PySpark will drop this"]
