"""What may be known about items, in every form that it may come in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.spatial.distance import pdist

import rankwise as rw
from rankwise.errors import ColumnError, MetricError

LISTS, TRUTH = {"u": [1, 2]}, {"u": {2, 3}}
GENRES = {1: {"war"}, 2: {"war", "noir"}, 3: {"noir", "drama"}}
FORMS = {
    "lists": {"item": [1, 2, 3], "genres": [["war"], ["war", "noir"], ["noir", "drama"]]},
    "sets": {"item": [1, 2, 3], "genres": [{"war"}, {"war", "noir"}, {"noir", "drama"}]},
    "bars": {"item": [1, 2, 3], "genres": ["war", "war|noir", "noir|drama"]},
    "semicolons": {"item": [1, 2, 3], "genres": ["war", "war; noir", " noir;drama;"]},
    "commas": {"item": [1, 2, 3], "tags": ["war", "war,noir", "noir,drama,noir"]},
    "columns": {
        "item": [1, 2, 3],
        "genre_war": [1, 1, 0],
        "genre_noir": [0, 1, 1],
        "genre_drama": [False, False, True],
    },
    "JSON as text": {
        "item": [1, 2, 3],
        "genres": ['["war"]', '["war", " noir"]', '["noir","drama", null, ""]'],
    },
    "Python as text": {
        "item": [1, 2, 3],
        "genres": ["['war']", "('war', 'noir')", " {'noir', 'drama'}"],
    },
    "NumPy as text": {
        "item": [1, 2, 3],
        "genres": ["['war']", "['war' 'noir']", "['noir' 'drama'\n 'noir']"],
    },
    "lists with blanks": {
        "item": [1, 2, 3],
        "genres": [["war", ""], [" war", "noir "], ["noir", "drama", " "]],
    },
    "pandas": pd.DataFrame({"item": [1, 2, 3], "genre": ["war", "war|noir", "noir|drama"]}),
    "polars": pl.DataFrame({"itemId": [3, 1, 2], "genres": ["noir|drama", "war", "war|noir"]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_categories(form):
    name = "srecall(categories='genre_*')@2" if form == "columns" else "srecall@2"
    result = rw.evaluate(LISTS, TRUTH, name, items=FORMS[form])
    assert result[name] == pytest.approx(2 / 3)  # war and noir, not drama
    said = result.provenance["facts"]
    split = {"bars": "'|'", "semicolons": "';'", "commas": "','", "pandas": "'|'", "polars": "'|'"}
    assert split.get(form, "column") in next(iter(said.values()))


def test_categories_named_for_all_metrics():
    table = {
        "item": [1, 2, 3],
        "genres": ["a", "a", "a"],
        "kind": ["war", "war|noir", "noir|drama"],
    }
    result = rw.evaluate(
        LISTS, TRUTH, "srecall@2", items=table, columns={"items.categories": "kind"}
    )
    assert result["srecall@2"] == pytest.approx(2 / 3)
    assert rw.evaluate(LISTS, TRUTH, "srecall(categories=kind)@2", items=table).values == {
        "subtopic_recall(categories=kind)@2": pytest.approx(2 / 3)
    }


VECTORS = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("ild@2", {"item": [1, 2, 3], "features": VECTORS}),
        ("ild@2", {"item": [1, 2, 3], "embedding": np.array(VECTORS)}),
        ("ild@2", pd.DataFrame({"item": [1, 2, 3], "vector": VECTORS})),
        ("ild@2", np.array([[9.0, 9.0], *VECTORS])),
        ("ild(features='f_*')@2", {"item": [1, 2, 3], "f_1": [1, 0, 1], "f_2": [0, 1, 1]}),
    ],
)
def test_features(name, items):
    assert rw.evaluate(LISTS, TRUTH, name, items=items)[name] == pytest.approx(1.0)


def test_items_that_are_not_in_the_table_have_no_features():
    items = {"item": [1], "features": [[1.0, 1.0]]}
    assert rw.evaluate(LISTS, TRUTH, "ild@2", items=items)["ild@2"] == 1.0
    items = {"item": [1, 2], "features": [[1.0, 1.0], None]}
    assert rw.evaluate(LISTS, TRUTH, "ild@2", items=items)["ild@2"] == 1.0


def by_hand(x):
    return np.abs(x[:, None, :] - x[None, :, :]).sum(axis=2)


def test_a_distance_of_ones_own():
    items = {"item": [1, 2, 3], "features": VECTORS}
    metric = rw.IntraListDiversity(distance=by_hand) @ 2
    result = rw.evaluate(LISTS, TRUTH, metric, items=items)
    assert result[metric] == pytest.approx(2.0)
    with pytest.raises(rw.RankwiseError, match=r"returns \(n, n\)"):
        rw.evaluate(LISTS, TRUTH, rw.IntraListDiversity(distance=pdist) @ 2, items=items)
    text = "ild(distance='scipy.spatial.distance:cdist')@2"  # text runs nothing
    with pytest.raises(rw.RankwiseError, match="named in text is never run"):
        rw.evaluate(LISTS, TRUTH, text, items=items)


def test_a_result_with_a_distance_of_ones_own_can_be_saved(tmp_path):
    items = {"item": [1, 2, 3], "features": VECTORS}
    metric = rw.IntraListDiversity(distance=by_hand) @ 2
    result = rw.evaluate(LISTS, TRUTH, metric, items=items)
    assert list(rw.load(result.save(tmp_path / "out")).values.values()) == [pytest.approx(2.0)]


@pytest.mark.parametrize("groups", [["x", "x", "y"], [1, 1, 2], [True, True, False], [0.5, 0.5, 1]])
def test_groups_of_any_type(groups):
    items = pl.DataFrame({"item": [1, 2, 3], "group": groups})
    result = rw.evaluate(LISTS, TRUTH, "reo@2", items=items)
    first, second = (f"reo@2[item_group={g!s}]" for g in sorted(set(groups), key=groups.index))
    if isinstance(groups[0], bool):
        first, second = "reo@2[item_group=true]", "reo@2[item_group=false]"
    if isinstance(groups[0], float):
        second = "reo@2[item_group=1.0]"
    assert (result[first], result[second]) == (1.0, 0.0)


def test_items_and_users_without_a_group_are_in_none():
    items = {"item": [1, 2, 3], "group": ["a", "b", None]}
    users = {"user": ["u", "v"], "group": ["x", None]}
    lists, truth = {"u": [1, 2], "v": [3, 2]}, {"u": {1, 3}, "v": {2, 3}}
    result = rw.evaluate(lists, truth, ["reo@2", "group_gap(recall)@2"], items=items, users=users)
    assert result.table("reo@2").rows() == [("a", 1.0), ("b", 1.0)]
    assert result.table(rw.parse("group_gap(recall)@2")).rows() == [("x", 0.5)]
    assert result.counts["users_without_group(group)"] == 1


def test_group_names_are_quoted_where_they_must_be(tmp_path):
    names = ["a,b", "c]=d", 'say "no"', "x y"]
    items = {"item": [1, 2, 3, 4], "group": names}
    result = rw.evaluate({"u": [1, 2, 3, 4]}, {"u": {1, 2, 3, 4}}, "reo@4", items=items)
    assert result.table("reo@4")["item_group"].to_list() == sorted(names)
    assert result['reo@4[item_group="a,b"]'] == 1.0
    assert rw.load(result.save(tmp_path / "out")).values == result.values
    for form in ("json", "csv", "markdown", "latex"):
        assert "a,b" in result.export(form)


def test_ids_are_aligned_in_all_tables(tmp_path):
    """Text in one file and numbers in another: the same rules as for lists and truth."""
    (tmp_path / "items.csv").write_text("item,group\n1,a\n2,b\nx,b\n")
    (tmp_path / "run.csv").write_text("user,item\n7,1\n7,2\n")
    (tmp_path / "truth.csv").write_text("user,item\n7,2\n")
    (tmp_path / "train.csv").write_text("user,item\n8,1\n9,1\n")
    result = rw.evaluate(
        tmp_path / "run.csv",
        tmp_path / "truth.csv",
        ["reo@2", "arp@2"],
        items=tmp_path / "items.csv",
        train=tmp_path / "train.csv",
    )
    assert result["arp@2"] == 1.0
    assert result["reo@2[item_group=b]"] == 1.0


def test_what_is_repeated_in_training_counts_once():
    train = pl.DataFrame({"user": ["a", "a", "b"], "item": [1, 1, 2]})
    result = rw.evaluate(LISTS, TRUTH, ["arp@1", "repeated@2"], train=train)
    assert result["arp@1"] == 1.0
    assert result.counts["train_rows_repeated"] == 1


def test_recommendations_of_items_never_seen_are_counted():
    result = rw.evaluate(LISTS, TRUTH, "novelty@2", train={"a": [1], "b": [1]})
    assert result.counts["recommendations_of_cold_items"] == 1
    assert "1 recommendation of items never seen in training" in repr(result)


def test_what_debiased_metrics_rest_on():
    train = {"a": [1], "b": [1], "c": [1], "d": [1, 2]}
    lists, truth = {"u": [1, 2], "v": [1, 3]}, {"u": {1, 2}, "v": {3}}
    result = rw.evaluate(lists, truth, ["ips_recall(clip=0.2)@2"], train=train)
    own = result.diagnostics["ips_recall(clip=0.2)"]
    weights = [1, 2, 5]
    assert own["effective_sample_size"] == pytest.approx(sum(weights) ** 2 / 30)
    assert own["largest_weight_share"] == pytest.approx(5 / 8)
    assert own["clip"] == 0.2
    assert own["clipped_share"] == pytest.approx(1 / 3)
    assert "effective sample size 2 of 3" in result.notes[-3]


@pytest.mark.parametrize("column", ["''", "'g*'"])
def test_a_group_is_one_column_that_has_a_name(column):
    items = {"item": [1, 2, 3], "g1": ["a", "a", "b"], "g2": ["a", "b", "b"]}
    with pytest.raises(MetricError, match="there is no such column in the table of items"):
        rw.evaluate(LISTS, TRUTH, f"rsp(item_group={column})@1", items=items, train={"a": [1]})


def count_of_categories(genres):
    table = {"item": [1, 2], "genres": genres}
    return rw.evaluate({"u": [1, 2]}, {"u": {2}}, "category_count@2", items=table)[
        "category_count@2"
    ]


@pytest.mark.parametrize(
    ("genres", "count"),
    [
        (['["war, crime", "noir"]', "[]"], 2),
        (["['war, crime']", None], 1),
        (["[1, 2]", "[2.5, NaN]"], 3),
        (["set()", "{'war'}"], 1),
        ([[""], ["war"]], 1),
        ([["war", " war"], ["war "]], 1),
        (["", " war"], 1),
        (["(no genres listed)", "war|noir"], 3),
        (["[REC]|war", "noir"], 3),
    ],
)
def test_categories_of_lists_and_text_are_read_by_one_rule(genres, count):
    assert count_of_categories(genres) == count


@pytest.mark.parametrize(
    "genres",
    [
        ["[{'id': 18, 'name': 'war'}]", "[]"],
        ["['war']", "noir"],
        ["[war, noir]", "[]"],
        ["['war'", "['noir']"],
        ['["war", ["noir"]]', '["noir"]'],
    ],
)
def test_text_that_is_no_list_of_categories_is_refused(genres):
    with pytest.raises(ColumnError, match="does not hold lists of categories") as caught:
        count_of_categories(genres)
    assert "such items" in caught.value.found


@pytest.mark.parametrize("sexes", [["", "m"], [" ", "m"], [None, "m"], [None, " m "]])
def test_empty_text_is_no_group(sexes):
    users = pl.DataFrame({"user": ["u", "v"], "sex": sexes})
    lists = {"u": [1, 2], "v": [3]}
    for table in (users, users.with_columns(pl.col("sex").cast(pl.Categorical)), users.to_pandas()):
        names = ["recall@2", "gini@2", "coverage@1", "group_gap(recall, user_group=sex)@2"]
        result = rw.evaluate(lists, {"u": {1}, "v": {4}}, names, users=table, by="sex")
        assert result.slices["group"].to_list() == ["m", None]
        assert result.counts["users_without_group(sex)"] == 1
        assert [name.partition("[")[2] for name in result.values if "[" in name] == [
            "user_group=m]"
        ]


def test_users_without_a_group_are_a_group_for_every_kind_of_metric():
    lists = {"a": [1, 2], "b": [3, 4], "c": [1, 4], "d": [2, 3]}
    truth = {user: {1, 3} for user in lists}
    names = ["ndcg@2", "gini@2", "coverage@2", "novelty@2", "personalization@2"]
    train = {"x": [1, 2, 3, 4], "y": [1, 2], "z": [1]}

    def row(sexes):
        users = pl.DataFrame({"user": list(lists), "sex": sexes})
        slices = rw.evaluate(lists, truth, names, users=users, by="sex", train=train).slices
        return slices.filter(slices["group"].is_null() | (slices["group"] == "n")).drop("group")

    assert row(["m", None, None, "f"]).equals(row(["m", "n", "n", "f"]))
    assert (
        not row(["m", None, None, "f"])
        .select(pl.all().exclude("by").is_nan().any())
        .row(0)
        .count(True)
    )
