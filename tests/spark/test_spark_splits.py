"""Spark gives every part the rows that the same rule gives it in memory."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import reduce

import numpy as np
import polars as pl
import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as sf

import rankwise as rw
from rankwise import splits
from rankwise.errors import (
    ColumnError,
    EmptyError,
    IdError,
    InputError,
    ParameterError,
    RankwiseError,
    ScoreError,
)
from rankwise.spark.evaluate import evaluate
from rankwise.spark.splits import k_core, split
from rankwise.spark.tables import collected, send
from rankwise.splits import (
    Deduplicate,
    GlobalTime,
    Holdout,
    KCore,
    LeaveOut,
    MinRating,
    MinRows,
    UserHoldout,
)
from rankwise.tables.table import is_card
from tools import deep

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

RNG = np.random.default_rng(0)
NUMBERS = pl.DataFrame(
    {
        "user": RNG.integers(0, 12, 120),
        "item": RNG.integers(0, 15, 120).astype(np.int32),
        "timestamp": RNG.integers(1_000_000, 1_000_020, 120),
        "rating": RNG.integers(1, 6, 120).astype(float),
    }
)
NUMBERS = pl.concat([NUMBERS, NUMBERS[:15], NUMBERS[:10].with_columns(rating=2.5)])
BEGIN = datetime(2024, 3, 10, 6, tzinfo=UTC)  # the clocks of New York go forward at 7
TEXT = NUMBERS.select(
    pl.col("timestamp")
    .map_elements(
        lambda tick: BEGIN + timedelta(minutes=10 * (tick % 12), microseconds=tick % 3),
        return_dtype=pl.Datetime("us", "UTC"),
    )
    .alias("when"),
    pl.format("u{}", "user").alias("uid"),
    pl.col("rating").cast(pl.Int64).alias("key0"),
    pl.col("item").cast(pl.String).alias("product id"),
    pl.Series("part", [["a", None, "b c"][n % 3] for n in range(145)]),
    pl.Series("a.b", [[float("nan"), None, 1.5, 2.0][n % 4] for n in range(145)]),
    pl.Series("tags", [["x", "y"][: n % 3] for n in range(145)]),
)
COLUMNS = {"user": "uid", "item": "product id", "timestamp": "when"}

RULES = [
    GlobalTime(share=0.3, gap="2s", until=1_000_016, validation=LeaveOut(1)),
    GlobalTime(
        last="6s", until=1_000_015, target="random", seed=-3, cold_users="drop", seen="drop"
    ),
    Holdout(0.4, seed=5, validation=Holdout(0.3, "user", seed=5)),
    GlobalTime(at="best", validation=GlobalTime(last="3s", target="first"), seen="drop"),
    GlobalTime(share=0.4, target="last", filters=[KCore(7, 3), MinRating(2)], cold_users="drop"),
    LeaveOut(9, short="some", validation=LeaveOut(4, "random", seed=2), cold_items="only"),
    LeaveOut(11, short="test", filters=[Deduplicate("last"), MinRows(3, 2)], cold_users="only"),
    LeaveOut(2, filters=[MinRows(12, 8), Deduplicate("highest")], filter_on="all"),
    LeaveOut(9, "random", short="drop", seed=7, filters=[Deduplicate("first")]),
    Holdout(0.29, "user", "last", validation=UserHoldout(0.3, fold_in=None, seed=1)),
    UserHoldout(0.4, fold_in=LeaveOut(2, short="test"), strong=False),
    UserHoldout(0.3, fold_in=GlobalTime(share=0.5, gap="1s"), validation=GlobalTime(last=4)),
]
ONE_WITH_THE_SAME_PARTS = [*{tuple(rule.split(NUMBERS).masks): rule for rule in RULES}.values()]
OTHERS = [rule for rule in RULES if rule not in ONE_WITH_THE_SAME_PARTS]
OTHER_COMBINATIONS = [
    GlobalTime(at="best", until=1_000_012, filters=[KCore(3, 2)], validation=Holdout(0.3, seed=4)),
    GlobalTime(at=1_000_009.5, target="random", seed=-3, validation=Holdout(0.4, seed=5)),
]


def plain(value):
    if isinstance(value, list):
        return tuple(map(plain, value))
    return "NaN" if value != value else value


def as_multiset(table):
    return Counter(tuple(map(plain, row.values())) for row in table.to_pylist())


def in_memory(rule, table, **options):
    made = rule.split(table.to_arrow(), **options)
    return {name: as_multiset(made.part(name)) for name in made.masks}, made


def on_spark(rule, frame, **options):
    """All parts as multisets of rows, collected by one job."""
    made = split(frame, rule, **options)
    labelled = [part.withColumn("its part", sf.lit(name)) for name, part in made.parts.items()]
    table = collected(reduce(type(frame).union, labelled)).to_arrow()
    label = pl.Series(table["its part"])
    rows = table.drop_columns("its part")
    return {name: as_multiset(rows.filter((label == name).to_arrow())) for name in made.parts}, made


def assert_same(rule, frame, table, **options):
    expected, memory = in_memory(rule, table, **options)
    found, made = on_spark(rule, frame, **options)
    assert found == expected
    assert made.found == memory.found
    assert made.rule == memory.rule
    return made, memory


@pytest.fixture(scope="module")
def numbers(spark):
    return send(spark, NUMBERS).cache()


@pytest.fixture(scope="module")
def text(spark):
    return send(spark, TEXT).cache()


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        *ONE_WITH_THE_SAME_PARTS[::2],
        *deep(*ONE_WITH_THE_SAME_PARTS[1::2], *OTHERS, *OTHER_COMBINATIONS),
    ],
    ids=repr,
)
def test_same_rows_as_in_memory(rule, numbers):
    made, memory = assert_same(rule, numbers, NUMBERS)
    assert (made.validation is None) == (rule.validation is None)
    if (
        rule in ONE_WITH_THE_SAME_PARTS
    ):  # what is known are whole parts, which depend on their names alone
        assert as_multiset(collected(made.known()).to_arrow()) == as_multiset(memory.known())


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        LeaveOut(2, validation=GlobalTime(share=0.3, target="random")),
        GlobalTime(at="2024-03-10T07:00:00", gap="10m", validation=UserHoldout(0.3)),
    ],
    ids=repr,
)
def test_text_ids_timestamps_and_other_columns(rule, text):
    """Rows that differ in other columns alone are told apart, and no name of a column clashes."""
    made, _ = assert_same(rule, text, TEXT, columns=COLUMNS)
    assert made.train.columns == TEXT.columns


def test_card(numbers):
    rule = GlobalTime(share=0.3, target="first", gap="2s", validation=LeaveOut(1))
    made, memory = split(numbers, rule), rule.split(NUMBERS)
    absent = {"cold", "time"}
    assert is_card(made.card)
    assert {**memory.card, **made.card}.keys() == memory.card.keys()
    assert {k: v for k, v in made.card.items() if k not in absent} == {
        k: v for k, v in memory.card.items() if k not in absent
    }
    assert made.card["time"].items() <= memory.card["time"].items()
    assert "history: " in repr(made)


TIMES = {
    "date": "date_add(date'2024-03-01', cast(timestamp % 9 as int))",
    "timestamp without zone": "to_timestamp_ntz('1969-12-31 23:59:58.000001') + "
    "make_dt_interval(0, 0, 0, timestamp % 9)",
    "float": "cast(timestamp % 9 / 10 as float)",
    "double": "timestamp + 0.25D * (rating % 2)",
    "whole double": "cast(timestamp as double)",
}


@pytest.mark.parametrize("name", TIMES)
def test_types_of_times(name, numbers):
    frame = numbers.withColumn("timestamp", sf.expr(TIMES[name]))
    last = {"date": "2d", "timestamp without zone": "3s", "float": 0.1}.get(name, "3ms")
    table = collected(frame)
    assert_same(GlobalTime(last=last, gap=last), frame, table, time_unit="ms")


def test_no_times(numbers):
    frame, table = numbers.drop("timestamp"), NUMBERS.drop("timestamp")
    made, _ = assert_same(LeaveOut(2, "random"), frame, table)
    assert "time" not in made.card
    with pytest.raises(ColumnError, match="no column for the timestamp"):
        split(frame, LeaveOut(1))


def test_a_rating_is_compared_in_its_own_precision(spark):
    table = pl.DataFrame(
        {"user": [1] * 6, "item": range(6), "rating": [0.7, 0.6, 0.9, 0.8, 0.7, 0.1]}
    )
    table = table.cast({"rating": pl.Float32})
    rule = LeaveOut(1, "random", filters=[MinRating(0.7)])
    parts, _ = in_memory(rule, table)
    assert sum(len(part) for part in parts.values()) == 4
    assert_same(rule, send(spark, table), table)


def test_equal_rows_are_drawn_one_by_one(numbers):
    table = NUMBERS.select("user", "item", "rating").vstack(
        NUMBERS.select("user", "item", "rating")
    )
    frame = send(numbers.sparkSession, table)
    for rule in (LeaveOut(3, "random", seed=1), Holdout(0.3, seed=2)):
        assert_same(rule, frame, table)


def test_a_split_is_what_is_known_before_its_test_part(numbers):
    rule = GlobalTime(share=0.4, target="last", validation=LeaveOut(1))
    made, memory = split(numbers, rule), rule.split(NUMBERS)
    assert made.card["known"] == memory.card["known"]
    before = as_multiset(collected(made.known("validation")).to_arrow())
    assert before == as_multiset(memory.known("validation").to_arrow())
    lists = NUMBERS.select("user", "item", score=pl.col("rating")).unique(
        ["user", "item"], maintain_order=True
    )
    metrics, options = (
        ["recall@3", "novelty@3", "repeated@3", "coverage@3"],
        {"by": ["activity", "popularity"]},
    )
    expected = rw.evaluate(lists, memory.test, metrics, train=memory, **options)
    found = evaluate(lists, made.test, metrics, train=made, **options)
    assert found.values == expected.values
    assert found.slices.equals(expected.slices)
    with pytest.raises(ParameterError, match="can be passed as truth or train, not as reference"):
        evaluate(lists, made.test, "recall@3", reference=made)


@pytest.mark.deep  # the split above always runs
def test_counts_and_cold_items_of_a_split_of_two_parts(numbers):
    rule = GlobalTime(share=0.4, target="last")
    made, memory = split(numbers, rule), rule.split(NUMBERS)
    lists = NUMBERS.select("user", "item", score=pl.col("rating")).unique(
        ["user", "item"], maintain_order=True
    )
    popularity = ["novelty@3", "coverage@3"]  # of which no bucket needs the training rows
    expected = rw.evaluate(lists, memory.test, popularity, train=memory)
    assert evaluate(lists, made.test, popularity, train=made).counts == expected.counts
    cold = ["history", "item:cold"]
    masked = rw.evaluate(lists, memory.test, "recall@3", train=memory, exclude_seen=True, by=cold)
    taken = evaluate(lists, made.test, "recall@3", train=made, exclude_seen=True, by=cold)
    assert taken.values == masked.values
    assert taken.slices.equals(masked.slices)
    assert taken.counts["seen_items_taken_out"] == masked.counts["seen_items_taken_out"]


def test_a_split_without_a_part_says_so(numbers):
    with pytest.raises(ParameterError, match="no part 'validation'"):
        split(numbers, LeaveOut(1)).known("validation")


def test_a_split_is_its_test_part_with_what_is_known_before_it(numbers):
    rule = GlobalTime(share=0.4, target="last")
    made, memory = split(numbers, rule), rule.split(NUMBERS)
    lists = NUMBERS.select("user", "item", score=pl.col("rating")).unique(
        ["user", "item"], maintain_order=True
    )
    metrics, options = (
        ["ndcg@3", "novelty@3"],
        {"columns": {"truth.relevance": "rating"}, "threshold": 2.5},
    )
    expected = rw.evaluate(lists, memory, metrics, **options)
    for truth in (made, memory):
        result = evaluate(lists, truth, metrics, **options)
        assert result.values == expected.values
        assert result.counts["truth_rows"] == expected.counts["truth_rows"]
        assert result.split["id"] == expected.split["id"]
    assert evaluate(lists, made, "novelty@3", train=made.test)["novelty@3"] != expected["novelty@3"]


@pytest.mark.parametrize("rule", [KCore(9, 4), KCore(1, 10)], ids=repr)
def test_k_core(rule, text):
    expected = as_multiset(rule.apply(TEXT.to_arrow(), columns=COLUMNS))
    assert as_multiset(collected(k_core(text, rule, columns=COLUMNS)).to_arrow()) == expected


ERRORS = [GlobalTime(at=0), GlobalTime(at="soon"), LeaveOut(1, validation=GlobalTime(at=5_000_000))]


@pytest.mark.parametrize("rule", ERRORS, ids=repr)
def test_same_errors_as_in_memory(rule, numbers):
    with pytest.raises(RankwiseError) as memory:
        rule.split(NUMBERS)
    with pytest.raises(type(memory.value)) as caught:
        split(numbers, rule)
    assert str(caught.value) == str(memory.value)


def test_no_user_on_both_sides(numbers):
    with pytest.raises(EmptyError, match="no moment has a user on both sides"):
        split(numbers.withColumn("timestamp", sf.col("user")), GlobalTime(at="best"))


def test_users_with_too_few_rows(numbers):
    with pytest.raises(InputError, match="too few rows to leave 9 out") as caught:
        split(numbers, LeaveOut(9, short="error"))
    short = {user: n for user, n in Counter(NUMBERS["user"]).items() if n <= 9}
    assert caught.value.where == f"user {min(short)}"
    assert caught.value.found == f"{short[min(short)]} rows ({len(short)} such users)"


MISSING = {
    "user": (IdError, "if(rating = 1, null, user)"),
    "item": (IdError, "if(rating = 1, null, item)"),
    "timestamp": (ColumnError, "if(rating = 1, double('inf'), timestamp)"),
}


@pytest.mark.parametrize("column", MISSING)
def test_missing_values_are_counted(column, numbers):
    error, values = MISSING[column]
    with pytest.raises(error) as caught:
        split(numbers.withColumn(column, sf.expr(values)), LeaveOut(1))
    assert f"column {column!r}" in caught.value.where
    assert caught.value.found == f"{(NUMBERS['rating'] == 1).sum()} such rows"


def test_ratings_may_be_missing_where_no_filter_reads_them(numbers):
    frame = numbers.withColumn("rating", sf.expr("if(rating = 1, double('nan'), rating)"))
    table = NUMBERS.with_columns(
        rating=pl.when(pl.col("rating") == 1).then(float("nan")).otherwise("rating")
    )
    assert_same(LeaveOut(1), frame, table)
    for rule in (MinRating(2), Deduplicate("highest")):
        with pytest.raises(ScoreError, match="this filter compares ratings") as caught:
            split(frame, LeaveOut(1, filters=[rule]))
        with pytest.raises(ScoreError, match="this filter compares ratings") as memory:
            LeaveOut(1, filters=[rule]).split(table)
        assert caught.value.found == memory.value.found


TYPES = {
    "float ids": (IdError, "user", "cast(user as double)"),
    "decimal ids": (IdError, "item", "cast(item as decimal(9, 0))"),
    "times as text": (ColumnError, "timestamp", "cast(timestamp as string)"),
    "times out of range": (ColumnError, "timestamp", "timestamp + 4611686018427387904"),
    "ratings as text": (ColumnError, "rating", "cast(rating as string)"),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_that_cannot_serve(name, numbers):
    error, column, values = TYPES[name]
    with pytest.raises(error):
        split(numbers.withColumn(column, sf.expr(values)), LeaveOut(1))


def test_nothing_left(numbers):
    with pytest.raises(EmptyError, match="the table of interactions is empty"):
        split(numbers.limit(0), LeaveOut(1))
    with pytest.raises(EmptyError, match="the filters leave no rows"):
        split(numbers, LeaveOut(1, filters=[MinRows(99)]))
    with pytest.raises(EmptyError, match=r"KCore\(k=99, items=None\) leaves no rows"):
        k_core(numbers, KCore(99))


class Odd(splits.Filter):
    """A filter that Spark does not know."""


REFUSED = [
    splits.ItemHoldout(),
    splits.KFold(),
    splits.SuccessiveTargets(share=0.2),
    splits.TimeWindows("1d"),
    splits.TwoStage(share=0.2),
    LeaveOut(1, validation=splits.ItemHoldout()),
    UserHoldout(fold_in=splits.ItemHoldout()),
    LeaveOut(1, filters=[Odd()]),
    None,
]


@pytest.mark.parametrize("rule", REFUSED, ids=repr)
def test_what_does_not_run_on_spark_is_named(rule):
    with pytest.raises(ParameterError, match="does not run on Spark") as caught:
        split(None, rule)
    inner = getattr(rule, "validation", None) or getattr(rule, "fold_in", None) or rule
    inner = inner.filters[0] if getattr(inner, "filters", ()) else inner
    assert caught.value.found.startswith(f"{inner!r}; on Spark: ")
    assert "in memory" in caught.value.hint


def test_tables_of_other_libraries_are_refused():
    for refuse in (lambda: split(NUMBERS, LeaveOut(1)), lambda: k_core(NUMBERS, KCore(2))):
        with pytest.raises(ParameterError, match="interactions must be a Spark DataFrame"):
            refuse()
    with pytest.raises(ParameterError, match="rule is a KCore"):
        k_core(NUMBERS, MinRows(2))
