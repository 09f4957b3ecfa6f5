"""Frames of pandas and other libraries: the index is columns, and columns that nobody needs may be anything."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import rankwise as rw
from rankwise.errors import ColumnError, DuplicateError, InputError, ScoreError
from rankwise.tables import frames
from rankwise.tables.frames import (
    in_one_piece,
    is_truth_values,
    parse_integers,
    parse_numbers,
    readable_columns,
)

RANKED = pd.DataFrame(
    {
        "user": [3, 3, 4, 4],
        "item": [7, 8, 6, 5],
        "rank": [2, 1, 2, 1],
        "score": [0.5, 0.25, 0.75, 0.125],
    }
)
TRUTH = {3: {8}, 4: {6}}


def columns_of(result, role="recommendations"):
    return result.provenance["inputs"][role]["columns"]


@pytest.mark.parametrize(
    ("index", "mrr"),
    [
        (["user", "rank"], 0.75),
        (["user", "item", "rank"], 0.75),
        (["rank"], 0.75),
        (["item", "rank"], 0.75),
        (["user", "score"], 0.75),
        (["score"], 0.75),
    ],
)
def test_levels_of_the_index_are_columns(index, mrr):
    kept = RANKED.drop(columns=["rank" if "score" in index else "score"])
    by_column = rw.evaluate(kept, TRUTH, "mrr")
    by_level = rw.evaluate(kept.set_index(index), TRUTH, "mrr")
    assert by_level["mrr"] == by_column["mrr"] == mrr
    assert columns_of(by_level) == columns_of(by_column)


def test_other_levels_are_named_as_not_read():
    run = RANKED.assign(fold=["a", "b", "a", "b"]).set_index(["fold", "user"])
    result = rw.evaluate(run, TRUTH, "mrr")
    assert result.provenance["inputs"]["recommendations"]["unread"] == ["fold"]
    truth = pd.DataFrame({"user": [3, 4], "item": [8, 6], "day": [1, 2]}).set_index("day")
    with pytest.raises(ColumnError, match="'day' could be it"):
        rw.evaluate(RANKED, truth, "mrr")
    assert rw.evaluate(RANKED, truth, "mrr", columns={"truth.relevance": None})["mrr"] == 0.75


def test_a_relevance_in_the_index():
    truth = pd.DataFrame({"user": [3, 3, 4], "rating": [1, 5, 4], "item": [7, 8, 6]}).set_index(
        ["user", "rating"]
    )
    assert rw.evaluate({3: [7, 8], 4: [6]}, truth, "mrr", threshold=4)["mrr"] == 0.75


def test_an_index_called_as_a_column_is():
    grouped = RANKED.set_index("user", drop=False)
    assert rw.evaluate(grouped, TRUTH, "mrr")["mrr"] == 0.75
    shifted = grouped.set_axis(pd.Index([9, 9, 9, 9], name="user"))
    with pytest.raises(
        ColumnError, match="the index and a column are both called 'user', and differ"
    ) as raised:
        rw.evaluate(shifted, TRUTH, "mrr")
    assert "reset_index(drop=True)" in raised.value.hint
    assert rw.evaluate(shifted.reset_index(drop=True), TRUTH, "mrr")["mrr"] == 0.75


def test_levels_of_a_series_without_names_are_an_error_whose_hint_works():
    scores = RANKED.set_index(["user", "item", "rank"])["score"]
    by_name = rw.evaluate(scores, TRUTH, "mrr")["mrr"]
    for names in ([None, None, None], [None, "item", "rank"], ["user", None, "rank"]):
        series = scores.rename_axis(names)
        with pytest.raises(
            ColumnError, match="levels of the index of a Series have no names"
        ) as raised:
            rw.evaluate(series, TRUTH, "mrr")
        named = eval(raised.value.hint.partition(": ")[2], {"series": series})
        assert rw.evaluate(named, TRUTH, "mrr", columns={"rank": None})["mrr"] == by_name
    assert rw.evaluate(scores.rename_axis(["user", "item", None]), TRUTH, "mrr")["mrr"] == by_name


def test_levels_of_a_series():
    scores = RANKED.set_index(["user", "item", "rank"])["score"]
    assert rw.evaluate(scores, TRUTH, "mrr")["mrr"] == 0.75
    items = RANKED.set_index(["user", "rank"])["item"]
    assert rw.evaluate(items, TRUTH, "mrr")["mrr"] == 0.75
    with pytest.raises(
        ColumnError, match="the index of a Series holds users, and this one is called 'rank'"
    ):
        rw.evaluate(RANKED.set_index("rank")["item"], TRUTH, "mrr")


def test_the_values_of_a_series_need_no_usual_name():
    plays = (
        pd.DataFrame({"user": [3, 3, 3, 4], "item": [7, 8, 8, 6]}).groupby(["user", "item"]).size()
    )
    for name in ("plays", None, "rating"):
        result = rw.evaluate({3: [7, 8], 4: [6]}, plays.rename(name), "mrr", threshold=2)
        assert result["mrr"] == 0.5
        assert columns_of(result, "truth")["relevance"] == (name or "relevance")
    affinity = RANKED.set_index(["user", "item"])["score"].rename("affinity")
    assert rw.evaluate(affinity, TRUTH, "mrr")["mrr"] == 0.75
    unordered = rw.evaluate(affinity, TRUTH, "mrr", columns={"recommendations.score": None})
    assert unordered["mrr"] == 0.75
    assert columns_of(unordered) == {"user": "user", "item": "item"}


MIXED = [1, "two", None, 3.5]


@pytest.mark.parametrize("kind", ["pandas", "dict", "records"])
def test_a_mixed_column_that_nobody_needs(kind):
    run = RANKED.drop(columns="rank").assign(
        note=pd.Series(MIXED, dtype=object), meta=[{"a": 1}, [1], None, "x"]
    )
    source = run if kind == "pandas" else run.to_dict("list" if kind == "dict" else "records")
    result = rw.evaluate(source, TRUTH, "mrr")
    assert result["mrr"] == 0.75
    assert result.provenance["inputs"]["recommendations"]["unread"] == ["note", "meta"]
    with pytest.raises(ColumnError, match="column 'note' holds values of several types") as raised:
        rw.evaluate(source, TRUTH, "mrr", columns={"recommendations.score": "note"})
    assert raised.value.found == "float and int and str"


def test_a_mixed_column_of_items_and_users():
    items = pd.DataFrame({"item": [7, 8, 6, 5], "genre": ["a", "b", "a", "b"], "note": MIXED})
    expected = rw.evaluate(RANKED, TRUTH, "srecall@2", items=items.drop(columns="note"))[
        "srecall@2"
    ]
    assert rw.evaluate(RANKED, TRUTH, "srecall@2", items=items)["srecall@2"] == expected
    with pytest.raises(ColumnError, match="column 'note' holds values of several types"):
        rw.evaluate(RANKED, TRUTH, "srecall(categories=note)@2", items=items)
    users = pd.DataFrame({"user": [3, 4], "team": ["x", "y"], "note": ["a", 2]})
    assert rw.evaluate(RANKED, TRUTH, "mrr", users=users, by="team")["mrr"] == 0.75
    with pytest.raises(ColumnError, match="column 'note' holds values of several types"):
        rw.evaluate(RANKED, TRUTH, "mrr", users=users, by="note")


def test_ratings_with_a_mixed_column():
    rated = RANKED.rename(columns={"score": "prediction"}).assign(rating=[1, 2, 3, 4], note=MIXED)
    expected = rw.evaluate_ratings(rated.drop(columns="note"), "rmse")["rmse"]
    assert rw.evaluate_ratings(rated, "rmse")["rmse"] == expected
    with pytest.raises(ColumnError, match="column 'note' holds values of several types"):
        rw.evaluate_ratings(rated, "rmse", columns={"relevance": "note"})


def test_sparse_columns_of_pandas_are_read():
    run = RANKED.drop(columns="rank").astype({"score": pd.SparseDtype(float, 0.0)})
    assert rw.evaluate(run, TRUTH, "mrr")["mrr"] == 0.75
    genres = pd.get_dummies(pd.Series(["a", "b", "a", "b"]), prefix="genre", sparse=True)
    items = pd.concat([pd.DataFrame({"item": [7, 8, 6, 5]}), genres], axis=1)
    dense = items.astype(dict.fromkeys(genres, bool))
    values = [
        rw.evaluate(RANKED, TRUTH, "srecall(categories='genre_*')@2", items=table).values
        for table in (items, dense)
    ]
    assert values[0] == values[1]


def test_two_columns_of_one_name():
    run = pd.concat([RANKED, RANKED[["score"]]], axis=1)
    with pytest.raises(ColumnError, match="two columns are called 'score'"):
        rw.evaluate(run, TRUTH, "mrr")


@pytest.mark.parametrize("lowest", [-1, -1.0])
def test_a_negative_rank_is_no_rank(lowest, tmp_path):
    run = pl.DataFrame({"user": [3, 3, 4], "item": [7, 8, 6], "rank": [1, lowest, 1]}, strict=False)
    run.write_parquet(tmp_path / "run.parquet")
    run.write_csv(tmp_path / "run.csv")
    for source in (
        run,
        run.to_pandas(),
        run.to_dicts(),
        tmp_path / "run.parquet",
        tmp_path / "run.csv",
    ):
        for options in ({}, {"ranks": "keep"}):
            with pytest.raises(
                InputError, match="a rank is negative: ranks count from 0 or 1"
            ) as raised:
                rw.evaluate(source, TRUTH, "mrr", **options)
            assert raised.value.where.endswith("column 'rank', row 2, user 3")
    with pytest.raises(InputError, match="a rank is negative"):
        rw.evaluate(RANKED, TRUTH, "overlap@1", reference=run)
    with pytest.raises(InputError, match="a rank is negative"):
        rw.evaluate(tmp_path / "run.parquet", TRUTH, "mrr", chunk_rows=2)
    assert rw.evaluate(run.filter(pl.col("rank") >= 0), TRUTH, "mrr")["mrr"] == 0.5


def test_a_relevance_that_is_nan():
    truth = pd.DataFrame({"user": [3, 4], "item": [8, 6], "rating": [np.nan, 4.0]})
    with pytest.raises(InputError, match="a relevance is null, NaN or infinite") as raised:
        rw.evaluate(RANKED, truth, "mrr")
    assert raised.value.hint == "drop those rows, or give each of them a relevance"
    assert rw.evaluate(RANKED, truth.dropna(), "mrr")["mrr"] == 0.5


def test_a_prediction_beside_a_rating_is_the_score():
    run = (
        RANKED.drop(columns="rank")
        .rename(columns={"score": "rating"})
        .assign(prediction=[0.25, 0.5, 0.125, 0.75])
    )
    with pytest.raises(ColumnError, match="two columns could be the score") as raised:
        rw.evaluate(run, TRUTH, "mrr")
    assert 'columns={"recommendations.score": "prediction"}' in raised.value.hint
    assert "rw.evaluate_ratings" in raised.value.hint
    assert (
        rw.evaluate(run, TRUTH, "mrr", columns={"recommendations.score": "prediction"})["mrr"]
        == 0.75
    )
    assert rw.evaluate_ratings(run, "mae")["mae"] > 0


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.csr_array, sparse.csc_matrix])
def test_an_entry_of_a_matrix_that_is_stored_in_parts(kind):
    row, column, data = (
        np.array([3, 3, 3, 4]),
        np.array([7, 7, 8, 6]),
        np.array([0.5, 0.5, 0.75, 1.0]),
    )
    matrix = sparse.coo_array((data, (row, column)), shape=(5, 9))
    if (
        kind is not sparse.coo_array
    ):  # compressed, with repeated entries: conversion would add them up
        major, minor = (row, column) if kind is sparse.csr_array else (column, row)
        order = np.argsort(major, kind="stable")
        size = 5 if kind is sparse.csr_array else 9
        edges = np.searchsorted(major[order], np.arange(size + 1))
        matrix = kind((data[order], minor[order], edges), shape=(5, 9))
    for options in ({}, {"duplicates": "first"}):
        for lists, truth in ((matrix, TRUTH), ({3: [7, 8]}, matrix)):
            with pytest.raises(
                DuplicateError, match="several entries of one user and item"
            ) as raised:
                rw.evaluate(lists, truth, "mrr", **options)
            assert raised.value.hint.startswith("matrix.sum_duplicates()")
    matrix.sum_duplicates()
    assert rw.evaluate(matrix, TRUTH, "mrr")["mrr"] == 0.75


def test_stored_zeros_of_a_matrix_are_rows():
    train = sparse.coo_array(
        (np.array([0.0, 1.0]), (np.array([3, 4]), np.array([7, 5]))), shape=(5, 9)
    )
    rows = pd.DataFrame({"user": [3, 4], "item": [7, 5], "rating": [0.0, 1.0]})
    for kind in (train, train.tocsr(), train.tocsc(), rows):
        result = rw.evaluate({3: [7, 8], 4: [5, 6]}, TRUTH, "mrr", train=kind, exclude_seen=True)
        assert result["mrr"] == 1.0
        assert result.counts["seen_items_taken_out"] == 2


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("moved", [False, True])
def test_a_repeated_row_with_its_rank_is_a_duplicate_not_two_items(text, moved):
    run = pl.DataFrame({"user": [3, 3, 3, 4], "item": [7, 7, 8, 6], "rank": [1, 1, 2, 1]})
    truth = TRUTH
    if text:
        run, truth = run.with_columns(pl.col("item").cast(pl.String)), {3: {"8"}, 4: {"6"}}
    run = run[[2, 0, 3, 1]] if moved else run
    with pytest.raises(DuplicateError, match="duplicate item in a") as raised:
        rw.evaluate(run, truth, "mrr")
    assert 'duplicates="first"' in raised.value.hint
    for ranks in ("close", "keep"):
        result = rw.evaluate(run, truth, "mrr", duplicates="first", ranks=ranks)
        assert result["mrr"] == 0.75
        assert result.counts["duplicates_dropped"] == 1
        assert not result.counts.get("lists_with_rank_gaps")
    two = run.with_columns(
        item=pl.Series(["7", "9", "8", "6"] if text else [7, 9, 8, 6])[
            [2, 0, 3, 1] if moved else [0, 1, 2, 3]
        ]
    )
    with pytest.raises(ScoreError, match="two items of one list have the same rank"):
        rw.evaluate(two, truth, "mrr", duplicates="first")


def test_a_gap_below_a_repeated_row_is_kept():
    run = pl.DataFrame({"user": [3, 3, 3], "item": [7, 7, 8], "rank": [1, 1, 3]})
    result = rw.evaluate(run, {3: {8}}, "mrr", duplicates="first", ranks="keep")
    assert result["mrr"] == pytest.approx(1 / 3)


def test_trec_files_in_the_place_of_each_other(tmp_path):
    qrels, run = tmp_path / "a.qrels", tmp_path / "b.run"
    qrels.write_text("q1 0 d1 1\nq1 0 d2 0\n")
    run.write_text("q1 Q0 d2 1 0.9 me\nq1 Q0 d1 2 0.5 me\n")
    assert rw.evaluate(run, qrels, "mrr")["mrr"] == 0.5
    with pytest.raises(InputError, match="this table holds relevance judgements") as raised:
        rw.evaluate(qrels, qrels, "mrr")
    assert "swapped" in raised.value.hint
    with pytest.raises(
        InputError, match=r"this table holds ranked lists \(a run\), and is passed as the truth"
    ):
        rw.evaluate(run, run, "mrr")


def test_columns_of_types_that_polars_does_not_have():
    run = RANKED.assign(
        month=pd.period_range("2020-01", periods=4, freq="M"),
        span=pd.interval_range(0, 4),
        wave=[1j, 2j, 3j, 4j],
    )
    result = rw.evaluate(run, TRUTH, "mrr")
    assert result["mrr"] == 0.75
    assert set(result.provenance["inputs"]["recommendations"]["unread"]) >= {
        "month",
        "span",
        "wave",
    }
    wide = pa.table(
        {**RANKED.to_dict("list"), "wide": pa.array([1, 2, 3, 4], pa.decimal256(50, 0))}
    )
    assert rw.evaluate(wide, TRUTH, "mrr")["mrr"] == 0.75


def test_numbers_beside_a_mixed_column_keep_their_type():
    rated = pd.DataFrame(
        {"user": [3, 4], "item": [8, 6], "rating": np.array([0.7, 0.9], dtype="f4")}
    )
    plain = readable_columns(rated, "truth").schema
    mixed = readable_columns(rated.assign(note=["a", 1]), "truth").drop("note").schema
    assert mixed == plain


def test_a_table_of_judgements_is_no_run():
    qrels = pl.DataFrame({"query": [1, 1], "iteration": [0, 0], "doc": [5, 6], "relevance": [1, 0]})
    with pytest.raises(InputError, match="this table holds relevance judgements") as raised:
        rw.evaluate(qrels, {1: {5}}, "recall@1")
    assert "swapped" in str(raised.value)
    assert rw.evaluate({1: [5]}, qrels, "recall@1")["recall@1"] == 1


GAPS = st.sampled_from([None, float("nan"), pd.NA])


@given(
    st.lists(
        st.tuples(
            st.text("aé\n", max_size=20),
            st.integers(0, 3),
            st.none() | st.text("b"),
            GAPS | st.text("c"),
        )
    )
)
def test_text_as_objects_is_read_as_polars_reads_it(rows):
    names = ["user", "rank", "item", "note"]
    frame = pd.DataFrame(rows, columns=names).astype(
        {name: object for name in names if name != "rank"}
    )
    read = readable_columns(frame, "table")
    assert read.columns == names
    assert read.equals(pl.DataFrame(frame))


@pytest.mark.parametrize(
    ("values", "are_numbers"),
    [
        (["1", "2.5"], True),
        (["1,5", "NA", " - ", "?"], True),
        (["true", "FALSE"], True),
        (["true", "1"], False),
        (["1", "a"], False),
        (["", "nan"], False),
        ([None, None], False),
        (["1", None], True),
        ([1, None], True),
        ([True], True),
        ([[1], [2]], True),
        ([["a"]], False),
        ([date(2020, 1, 1)], False),
    ],
)
def test_text_holds_numbers_if_all_but_gaps_are_numbers(values, are_numbers):
    assert frames._holds_numbers(pl.Series(values)) == are_numbers


def test_truth_values_are_written_true_and_false():
    assert is_truth_values(pl.Series(["true", "False", "TRUE"]))
    assert not is_truth_values(pl.Series(["true", None]))
    assert not is_truth_values(pl.Series(["true", "yes"]))


def test_text_becomes_numbers_if_all_of_it_is_written_so():
    frame = pl.DataFrame(
        {
            "a": ["1", "2"],
            "b": ["1", "02"],
            "c": ["1", None],
            "d": ["x", "1"],
            "e": [None, None],
            "f": ["9" * 19, "1"],
        },
        schema_overrides={"e": pl.String},
    )
    integers = parse_integers(frame, frame.columns)
    assert [str(kind) for kind in integers.dtypes] == [
        "Int64",
        "String",
        "String",
        "String",
        "String",
        "String",
    ]
    numbers = parse_numbers(frame, frame.columns)
    assert [str(kind) for kind in numbers.dtypes] == [
        "Float64",
        "Float64",
        "Float64",
        "String",
        "String",
        "Float64",
    ]
    assert numbers["c"].to_list() == [1.0, None]


def test_half_precision_is_the_decimal_that_was_stored():
    halves = pl.Series("score", [0.1, 0.1, 0.3]).cast(pl.Float16)
    assert frames._as_float(halves, "score", "lists").to_list() == [0.1, 0.1, 0.3]
    assert frames._as_float(pl.Series([True, False]), "score", "lists").to_list() == [1.0, 0.0]
    with pytest.raises(ColumnError, match="does not hold numbers"):
        frames._as_float(pl.Series(["a"]), "score", "lists")


@pytest.mark.parametrize("worth_threads", [1, 1 << 18])
def test_columns_are_each_in_one_piece(worth_threads, monkeypatch):
    monkeypatch.setattr(frames, "_WORTH_THREADS", worth_threads)
    part = pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    many = pl.concat([part, part], rechunk=False)
    found = in_one_piece(many)
    assert (found.n_chunks("all"), found.equals(many)) == ([1, 1], True)
    assert in_one_piece(part) is part
    empty = pl.DataFrame()
    assert in_one_piece(empty) is empty


@pytest.mark.parametrize("gap", [None, float("nan")])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_text_of_pandas_may_have_a_gap_anywhere(gap, at):
    pd = pytest.importorskip("pandas")
    texts = ["a", "b", "c"]
    texts[at] = gap
    frame = frames._of_pandas(
        pd.DataFrame({"item": [1, 2, 3], "genre": pd.Series(texts, dtype=object)}), "items"
    )
    assert frame["genre"].to_list() == [
        None if here == at else text for here, text in enumerate("abc")
    ]


@pytest.mark.parametrize("name", ["x", "item"])
def test_two_columns_of_one_name_of_pyarrow_are_refused(name):
    pyarrow = pytest.importorskip("pyarrow")
    columns = [pyarrow.array([1])] * 4
    table = pyarrow.Table.from_arrays(columns, names=["user", "item", name, "x"])
    with pytest.raises(ColumnError, match=f"two columns are called '{name}'"):
        rw.evaluate(table, {1: {1}}, "recall@1")


def test_intervals_and_periods_of_pandas_are_groups_by_their_text():
    pandas = pytest.importorskip("pandas")
    ages = pandas.Series([5.0, 15.0, 150.0, None])
    users = pandas.DataFrame(
        {
            "user": range(4),
            "age": pandas.cut(ages, [0, 10, 100, 200]),
            "since": pandas.period_range("2024-01", periods=4, freq="M"),
            7: pandas.arrays.IntervalArray.from_breaks(range(5)),
        }
    )
    before = users.copy()
    lists, truth = {user: [user % 2] for user in range(4)}, {user: {0} for user in range(4)}
    result = rw.evaluate(lists, truth, "recall@1", users=users, by=["age", "since"])
    groups = result.slices.group_by("by", maintain_order=True).agg("group")
    assert dict(groups.rows()) == {
        "age": ["(0, 10]", "(10, 100]", "(100, 200]", None],
        "since": ["2024-01", "2024-02", "2024-03", "2024-04"],
    }
    assert users.equals(before)


def test_a_sparse_column_may_have_any_name():
    pandas = pytest.importorskip("pandas")
    sparse = pandas.arrays.SparseArray([0.5, 2.5])
    users = pandas.DataFrame({"user": [1, 2], "town": ["Graz", "Linz"], 3: sparse})
    result = rw.evaluate({1: [6], 2: [5]}, {1: {6}, 2: {6}}, "mrr@1", users=users, by="town")
    assert result.slices["mrr@1"].to_list() == [1.0, 0.0]
