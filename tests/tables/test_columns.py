"""Which columns are read: by name, and never by silence where numbers could decide."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import ColumnError
from rankwise.tables.columns import ROLES, may_have_names, names_of, recognise

LISTS = pl.DataFrame({"user": [1, 1, 2], "item": [3, 1, 2]})
SCORES = [0.2, 0.9, 0.5]  # the first list is not in the order of its rows
TRUTH = pl.DataFrame({"user": [1, 1, 2], "item": [1, 3, 2]})
GRADES = [1, 0, 1]


@pytest.mark.parametrize(
    "name",
    ["predicted_score", "yhat", "y_pred", "probability", "logit", "prediction", "Score", "est"],
)
def test_names_of_scores(name):
    lists = LISTS.with_columns(pl.Series(name, SCORES))
    assert rw.evaluate(lists, {1: {1}, 2: {2}}, "mrr")["mrr"] == 1.0


@pytest.mark.parametrize(
    "name", ["weight", "value", "count", "click", "clicks", "clicked", "target", "rating", "label"]
)
def test_names_of_relevance(name):
    truth = TRUTH.with_columns(pl.Series(name, GRADES))
    assert rw.evaluate(LISTS, truth, "recall")["recall"] == 1.0
    assert rw.evaluate(LISTS, truth, "mrr")["mrr"] == 0.75  # item 3 is not relevant


@pytest.mark.parametrize("user", ["customer_id", "session_id", "visitor_id", "uid"])
@pytest.mark.parametrize("item", ["asin", "parent_asin", "movieId"])
def test_names_of_ids(user, item):
    lists = LISTS.rename({"user": user, "item": item})
    assert rw.evaluate(lists, TRUTH, "recall")["recall"] == 1.0


def test_a_rare_name_counts_only_without_a_usual_one():
    assert names_of(["session_id", "user_id"], "truth", "user") == ["user_id"]
    assert names_of(["rating", "count"], "truth", "relevance") == ["rating"]
    assert names_of(["weight"], "interactions", "relevance") == []
    truth = TRUTH.with_columns(rating=pl.Series(GRADES), count=pl.lit(7))
    card = rw.evaluate(LISTS, truth, "mrr").provenance["inputs"]["truth"]
    assert card["columns"]["relevance"] == "rating"
    assert card["unread"] == ["count"]


@pytest.mark.parametrize("numbers", [[0.2, 0.9, 0.5], [1, 2, 3], [True, False, True]])
@pytest.mark.parametrize("in_file", [False, True])
def test_numbers_that_could_order_or_judge_are_asked_for(numbers, in_file, tmp_path):
    def source(frame, name):
        if not in_file:
            return frame
        numeric = frame.with_columns(pl.col("foo").cast(pl.Float64))
        numeric.write_csv(tmp_path / name)
        return tmp_path / name

    odd = source(LISTS.with_columns(foo=pl.Series(numbers)), "run.csv")
    with pytest.raises(ColumnError, match="'foo' could be it") as raised:
        rw.evaluate(odd, TRUTH)
    assert '"recommendations.score": "foo"' in raised.value.hint
    assert '"recommendations.score": None' in raised.value.hint
    assert rw.evaluate(odd, TRUTH, "mrr", columns={"recommendations.score": None})["mrr"] == 1.0
    assert rw.evaluate(odd, {1: {1}, 2: {2}}, "mrr", columns={"score": "foo"})["mrr"] > 0.5
    odd = source(TRUTH.with_columns(foo=pl.Series(numbers)), "truth.csv")
    with pytest.raises(ColumnError, match="known to be the relevance, and 'foo' could be it"):
        rw.evaluate(LISTS, odd)
    assert rw.evaluate(LISTS, odd, "recall", columns={"truth.relevance": None})["recall"] == 1.0
    judged = rw.evaluate(LISTS, odd, "mrr", columns={"truth.relevance": "foo"})
    assert judged["mrr"] == (1.0 if numbers[1] else 0.75)


def test_what_cannot_decide_is_not_asked_for():
    """Text, times, pandas' row numbers, and anything beside a column that decides."""
    extra = {"title": ["a", "b", "c"], "timestamp": [7, 8, 9], "__index_level_0__": [0, 1, 2]}
    lists = LISTS.with_columns(**{name: pl.Series(values) for name, values in extra.items()})
    assert rw.evaluate(lists, TRUTH, "mrr")["mrr"] == 1.0
    ranked = lists.with_columns(rank=pl.Series([1, 2, 1]), foo=pl.Series(SCORES))
    result = rw.evaluate(ranked, TRUTH, "mrr")
    assert "foo" in result.provenance["inputs"]["recommendations"]["unread"]


def test_a_column_that_was_left_out_is_not_replaced_by_silence():
    lists = LISTS.with_columns(rank=pl.Series([1, 2, 1]), foo=pl.Series(SCORES))
    with pytest.raises(ColumnError, match="'rank' could be it"):
        rw.evaluate(lists, TRUTH, columns={"recommendations.rank": None})


@pytest.mark.parametrize("columns", [["user"], {1: "user"}, {"user": 1}, "user"])
def test_columns_map_names_to_names(columns):
    with pytest.raises(rw.RankwiseError, match="columns maps roles to names"):
        rw.evaluate(LISTS, TRUTH, columns=columns)


@pytest.mark.parametrize("name", ["оценка", "評価", "#", "score_評"])
def test_names_in_any_script_are_names(name):
    with pytest.raises(ColumnError, match=f"{name!r} could be it"):
        rw.evaluate(LISTS.with_columns(pl.Series(name, SCORES)), TRUTH)


@pytest.mark.parametrize("numbers", ["0,2 0,9 0,5", ".2 .9 ?", "True False True"])
def test_numbers_that_are_written_in_another_way_are_asked_for(numbers, tmp_path):
    lists = LISTS.with_columns(foo=pl.Series(numbers.split()))
    lists.write_csv(tmp_path / "run.csv", separator=";")
    with pytest.raises(ColumnError, match="'foo' could be it"):
        rw.evaluate(tmp_path / "run.csv", TRUTH)
    titles = lists.with_columns(foo=pl.Series(["1984", "Heat", "Alien"]))
    titles.write_csv(tmp_path / "run.csv")
    assert rw.evaluate(tmp_path / "run.csv", TRUTH, "recall")["recall"] == 1.0


def test_relevance_may_be_written_as_true_and_false(tmp_path):
    TRUTH.with_columns(relevance=pl.Series(["True", "False", "true"])).write_csv(tmp_path / "t.csv")
    assert rw.evaluate(LISTS, tmp_path / "t.csv", "mrr")["mrr"] == 0.75


def test_what_an_evaluation_reads_of_a_split():
    """A split has no need of a relevance; the ground truth does, and asks for it."""
    rows = pl.DataFrame(
        {"user": [1] * 4, "item": [7, 8, 5, 6], "weight": [0, 1, 0, 1], "timestamp": [1, 2, 3, 4]}
    )
    split = rw.splits.GlobalTime(share=0.5).split(rows)
    result = rw.evaluate({1: [5, 6]}, split, "mrr")
    assert result["mrr"] == 0.5
    assert result.provenance["inputs"]["truth"]["columns"]["relevance"] == "weight"
    odd = rw.splits.GlobalTime(share=0.5).split(rows.rename({"weight": "liked"}))
    with pytest.raises(ColumnError, match="'liked' could be it"):
        rw.evaluate({1: [5, 6]}, odd, "mrr")
    named = rw.evaluate({1: [5, 6]}, odd, "mrr", columns={"truth.relevance": "liked"})
    assert named["mrr"] == 0.5
    assert rw.evaluate({1: [5, 6]}, odd, "mrr", columns={"truth.relevance": None})["mrr"] == 1.0


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_what_an_evaluation_reads_of_a_saved_split(form, tmp_path):
    rows = pl.DataFrame(
        {"uid": [1] * 4, "item": [7, 8, 5, 6], "liked": [0, 1, 0, 1], "timestamp": [1, 2, 3, 4]}
    )
    split = rw.splits.GlobalTime(share=0.5).split(rows, columns={"user": "uid"})
    split.save(tmp_path / "split", format=form)
    with pytest.raises(ColumnError, match="'liked' could be it"):
        rw.evaluate({1: [5, 6]}, tmp_path / "split", "mrr")
    options = {"columns": {"truth.relevance": "liked"}}
    assert rw.evaluate({1: [5, 6]}, tmp_path / "split", "mrr", **options)["mrr"] == 0.5


def test_a_rating_beside_predictions_is_not_taken_for_them():
    both = pl.DataFrame({"user": [1, 1], "item": [5, 6], "rating": [1, 5], "y_pred": [0.9, 0.1]})
    with pytest.raises(ColumnError, match="two columns could be the score"):
        rw.evaluate(both, {1: {6}}, "mrr")
    assert rw.evaluate(both.drop("y_pred"), {1: {6}}, "mrr")["mrr"] == 1.0


def test_two_columns_of_categories_are_asked_for():
    items = pl.DataFrame({"item": [5, 6], "tags": ["a", "b"], "genre": ["c", "c"]})
    with pytest.raises(ColumnError, match="two columns could be the categories"):
        rw.evaluate({1: [5, 6]}, {1: {6}}, "category_count@2", items=items)
    chosen = {"items.categories": "genre"}
    assert (
        rw.evaluate({1: [5, 6]}, {1: {6}}, "category_count@2", items=items, columns=chosen)[
            "category_count@2"
        ]
        == 1
    )


def test_lists_of_numbers_are_asked_for():
    lists = pl.DataFrame({"user": [1], "items": [[5, 6]], "affinity": [[0.2, 0.9]]})
    with pytest.raises(ColumnError, match="'affinity' could be it"):
        rw.evaluate(lists, {1: {6}}, "mrr")
    assert rw.evaluate(lists, {1: {6}}, "mrr", columns={"score": "affinity"})["mrr"] == 1.0


def test_columns_of_a_source_that_names_none():
    scored = {1: [(5, 0.1), (6, 0.9)]}
    assert rw.evaluate(scored, {1: {6}}, "mrr")["mrr"] == 1.0
    result = rw.evaluate(scored, {1: {6}}, "mrr", columns={"score": None})
    assert result["mrr"] == 0.5
    assert "in the order of their rows" in result.notes[-1]
    with pytest.raises(rw.RankwiseError, match="this source has no column names"):
        rw.evaluate(scored, {1: {6}}, columns={"recommendations.score": "s"})


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__", "index"])
def test_numbers_of_rows_as_pandas_writes_them_decide_nothing(name):
    lists = LISTS.with_columns(pl.Series(name, [0, 1, 2]))
    assert rw.evaluate(lists, TRUTH, "recall")["recall"] == 1.0


SPELLINGS = st.builds(
    "".join, st.lists(st.sampled_from([*"usU_ -:.\0\nıİ1", "user", "ser", "item", "ID", "asin"]))
)


@given(st.lists(SPELLINGS), st.sampled_from(sorted(ROLES)))
def test_names_are_looked_for_wherever_there_are_some(names, role):
    for column in {"user", "item"} & ROLES[role].keys():
        assert may_have_names(names, role, [column]) or not names_of(names, role, column)


def test_all_columns_that_are_missing_are_asked_for_at_once(tmp_path):
    path = tmp_path / "liste.csv"
    path.write_text("Nutzer,Ding,Platz\n1,5,1\n1,6,2\n2,5,1\n")
    with pytest.raises(ColumnError) as error:
        rw.evaluate(path, {1: {6}, 2: {5}}, "mrr")
    assert (
        error.value.what == "there is no column for the user, and there is no column for the item"
    )
    first, second = (named.value for named in error.value.hint.parameters)
    columns = {
        "recommendations.user": "Nutzer",
        "recommendations.item": "Ding",
        "recommendations.rank": "Platz",
    }
    assert (first, second) == (columns, {"recommendations.score": "Platz"})
    assert ", if that is what they are; " in error.value.hint
    assert error.value.hint.endswith(" where more is better")
    assert rw.evaluate(path, {1: {6}, 2: {5}}, "mrr", columns=columns)["mrr"] == 0.75
    columns = columns | {"recommendations.score": None}
    del columns["recommendations.rank"]
    assert rw.evaluate(path, {1: {6}, 2: {5}}, "mrr", columns=columns)["mrr"] == 0.75


def test_columns_that_could_be_several_are_not_offered_by_order(tmp_path):
    path = tmp_path / "liste.csv"
    path.write_text("Nutzer,Ding,Platz,Land\n1,5,1,7\n1,6,2,7\n2,5,1,7\n")
    with pytest.raises(ColumnError) as error:
        rw.evaluate(path, {1: {6}, 2: {5}}, "mrr")
    first, second = (named.value for named in error.value.hint.parameters)
    assert first == dict.fromkeys(
        ("recommendations.user", "recommendations.item", "recommendations.rank"), "…"
    )
    assert second == {"recommendations.score": None}
    assert error.value.hint.endswith(" says that there is none")


def test_the_only_column_that_is_left_is_offered():
    frame = pl.DataFrame({"user": [1], "Ding": ["a"], "rank": [1]})
    with pytest.raises(ColumnError) as error:
        recognise(frame.columns, "recommendations", {}, "here")
    assert error.value.hint == 'say which: columns={"recommendations.item": "Ding"}'


def test_a_name_for_all_tables_need_not_be_in_a_split(tmp_path):
    rows = {"user": [1, 1, 2, 2], "item": [5, 6, 5, 6], "timestamp": [1, 3, 2, 4]}
    rw.splits.GlobalTime(share=0.5).split(pl.DataFrame(rows)).save(tmp_path / "split")
    lists = pl.DataFrame({"Nutzer": [1, 2], "item": [6, 5], "rank": [1, 1]})
    result = rw.evaluate(lists, tmp_path / "split", "mrr", columns={"user": "Nutzer"})
    assert result["mrr"] == 0.5


def test_a_name_for_all_tables_that_one_lacks_is_told_from_that_of_the_other():
    lists = pl.DataFrame({"Nutzer": [1], "item": [6], "rank": [1]})
    truth = pl.DataFrame({"Kunde": [1], "item": [6]})
    with pytest.raises(ColumnError, match="there is no column 'Nutzer' for the user") as error:
        rw.evaluate(lists, truth, "mrr", columns={"user": "Nutzer"})
    assert error.value.hint == (
        'columns={"user": "Nutzer"} names the column of every table; of the lists alone, it is '
        'columns={"recommendations.user": "Nutzer"}'
    )
    with pytest.raises(ColumnError, match="there is no column 'Kunde' for the user") as error:
        rw.evaluate(lists, truth, "mrr", columns={"user": "Kunde"})
    assert 'of the ground truth alone, it is columns={"truth.user": "Kunde"}' in error.value.hint


def test_a_name_for_all_tables_is_that_of_the_tables_that_have_it():
    lists = pl.DataFrame({"Nutzer": [1, 2], "item": [5, 6]})
    truth = pl.DataFrame({"user": [1, 2], "item": [5, 5]})
    assert rw.evaluate(lists, truth, "mrr", columns={"user": "Nutzer"})["mrr"] == 0.5
    with pytest.raises(ColumnError, match="there is no column 'Nuzer' for the user"):
        rw.evaluate(lists, truth, "mrr", columns={"user": "Nuzer"})
    with pytest.raises(
        ColumnError, match="there is no column 'Nuzer' for the user in any table"
    ) as error:
        rw.evaluate(truth, truth, "mrr", columns={"user": "Nuzer"})
    assert error.value.found == "columns 'user', 'item'"


@pytest.mark.parametrize("start", [0, 1])
def test_numbers_that_count_up_in_every_list_are_offered_as_the_rank(start):
    ranks = [start, start + 1, start + 1, start]
    lists = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 6], "Platz": ranks})
    with pytest.raises(ColumnError, match="'Platz' could be it") as error:
        rw.evaluate(lists, {1: {5}, 2: {5}}, "mrr")
    assert "count up in each list" in error.value.found
    assert error.value.hint.index('"recommendations.rank": "Platz"') < error.value.hint.index(
        "recommendations.score"
    )
    assert (
        rw.evaluate(lists, {1: {5}, 2: {5}}, "mrr", columns={"recommendations.rank": "Platz"})[
            "mrr"
        ]
        == 0.75
    )
    with pytest.raises(ColumnError, match="'Platz' could be it") as error:
        rw.evaluate(lists.with_columns(Platz=pl.Series([1, 3, 2, 1])), {1: {5}}, "mrr")
    assert "recommendations.rank" not in error.value.hint
