"""Results carry digests of the tables that their metrics read, and are compared only where these agree."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.core import kernels
from rankwise.core.digests import (
    add_digests,
    column_words,
    digest_in_parts,
    id_words,
    number_words,
    row_digest,
)
from rankwise.core.hashing import id_numbers
from rankwise.errors import ParameterError

USERS = 30
TRUTH = pl.DataFrame(
    {
        "user": np.repeat(np.arange(USERS), 2),
        "item": np.ravel([[user % 5, 5 + user % 4] for user in range(USERS)]),
        "rating": np.tile([0.7, 2.0], USERS),
    }
)
LISTS = {user: [0, 6, 3, 8] for user in range(USERS)}
TRAIN = pl.DataFrame({"user": [0, 0, 1, 2, 3], "item": [1, 2, 2, 4, 8]})
ITEMS = pl.DataFrame(
    {
        "item": range(9),
        "genres": ["a|b", "b", "a", "c", "b|a", "c", "a", "b", "a|c"],
        "group": ["x", "y", "x"] * 3,
    }
)
GROUPS = pl.DataFrame(
    {"user": range(USERS), "sex": ["f", "m"] * 15, "weight": [1.0, 2.0, 0.5] * 10}
)


def digests(truth=TRUTH, metrics="recall@3", lists=LISTS, **options):
    return rw.evaluate(lists, truth, metrics, **options).provenance["digests"]


def as_csv(folder):
    TRUTH.write_csv(folder / "truth.csv")
    return folder / "truth.csv"


def as_parquet(folder):
    TRUTH.cast({"rating": pl.Float32}).write_parquet(folder / "truth.parquet")
    return folder / "truth.parquet"


def as_json_lines(folder):
    TRUTH.write_ndjson(folder / "truth.jsonl")
    return folder / "truth.jsonl"


CONTAINERS = {
    "shuffled": lambda _: TRUTH.sample(fraction=1, shuffle=True, seed=1),
    "pandas": lambda _: TRUTH.to_pandas(),
    "int32, float32": lambda _: TRUTH.cast(
        {"user": pl.Int32, "item": pl.UInt16, "rating": pl.Float32}
    ),
    "arrow": lambda _: TRUTH.to_arrow(),
    "csr": lambda _: sp.csr_array(
        (TRUTH["rating"].to_numpy(), (TRUTH["user"].to_numpy(), TRUTH["item"].to_numpy()))
    ),
    "dict": lambda _: {
        user[0]: dict(zip(rows["item"], rows["rating"], strict=True))
        for user, rows in TRUTH.group_by("user")
    },
    "csv": as_csv,
    "parquet": as_parquet,
    "json lines": as_json_lines,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_digest_is_that_of_the_rows_whatever_holds_them(container, tmp_path):
    assert digests(CONTAINERS[container](tmp_path)) == digests()


def test_text_ids_that_are_whole_numbers_have_the_digest_of_the_numbers():
    text = TRUTH.cast({"user": pl.String, "item": pl.String})
    lists = {str(user): [str(item) for item in items] for user, items in LISTS.items()}
    assert digests(text, lists=lists) == digests() == digests(text, ids="text")
    mixed = {user: {f"i{item}" for item in items} for user, items in LISTS.items()}
    assert digests(mixed, lists={user: ["i0"] for user in LISTS}) != digests()


def test_pieces_chunks_and_processes_have_the_digest_of_the_whole(tmp_path):
    options = {"train": TRAIN, "items": ITEMS, "users": GROUPS, "weights": "weight"}
    metrics = ["recall@3", "novelty@3", "intra_list_diversity(distance=jaccard)@3"]
    whole = rw.evaluate(LISTS, TRUTH, metrics, **options)
    shared = rw.Evaluator(metrics, truth=TRUTH, **options)
    in_pieces = rw.Evaluator(metrics, **options)
    for part in (range(13), range(13, 20), range(20, USERS)):
        lists = {user: LISTS[user] for user in part}
        shared.update(lists)
        in_pieces.update(lists, truth=TRUTH.filter(pl.col("user").is_in(part)))
    table = pl.DataFrame(
        [(u, i, r) for u, row in LISTS.items() for r, i in enumerate(row, 1)],
        ["user", "item", "rank"],
        orient="row",
    )
    table.write_parquet(tmp_path / "lists.parquet")
    chunked = rw.evaluate(tmp_path / "lists.parquet", TRUTH, metrics, chunk_rows=20, **options)
    loaded = rw.load(whole.save(tmp_path / "saved"))
    for result in (shared.result(), in_pieces.result(), chunked, loaded):
        assert result.provenance["digests"] == whole.provenance["digests"]
    assert whole.provenance["digests"].keys() == {
        "truth",
        "train",
        "weights",
        "categories(categories)",
    }


@given(
    st.lists(
        st.tuples(st.integers(-5, 2**62), st.text(max_size=15), st.floats(width=32)), max_size=30
    ),
    st.data(),
)
def test_compiled_loops_and_numpy_agree_and_pieces_add_up(rows, data):
    columns = [
        pl.Series("a", [row[0] for row in rows], pl.Int64),
        pl.Series("b", [row[1] for row in rows], pl.String),
    ]
    numbers = np.array([row[2] for row in rows], dtype=np.float64)

    def digest(first=0, stop=None):
        words = [
            *(id_words(column[first:stop]) for column in columns),
            number_words(numbers[first:stop]),
        ]
        return row_digest([*words, None])

    whole, cut = digest(), data.draw(st.integers(0, len(rows)))
    assert add_digests([digest(0, cut), digest(cut)]) == whole
    with kernels.without_library():
        assert digest() == whole


@given(
    st.lists(
        st.one_of(st.integers().map(str), st.text("-0123456789", max_size=22), st.text(max_size=30))
    )
)
def test_ids_in_text_have_the_same_number_with_and_without_compiled_loops(ids):
    column = pl.Series(ids, dtype=pl.String)
    compiled = id_numbers(column).tolist()
    with kernels.without_library():
        assert id_numbers(column).tolist() == compiled
    for text, number in zip(ids, compiled, strict=True):
        if (
            text.lstrip("-").isdecimal()
            and str(int(text)) == text
            and -(2**63) <= int(text) < 2**63
        ):
            assert number == int(text)


def test_numbers_in_text_are_numbers_and_missing_ones_differ_from_0():
    assert (
        column_words(pl.Series(["1", "2.5", None])).tolist()
        == column_words(pl.Series([1.0, 2.5, None])).tolist()
    )
    assert (
        column_words(pl.Series([0.0, None, -0.0])).tolist().count(column_words(pl.Series([0]))[0])
        == 2
    )


CHANGED = {
    "truth": (
        "recall@3",
        {"truth": TRUTH.with_columns(item=9 - pl.col("item"))},
        "different truths",
    ),
    "grades": (
        "recall@3",
        {"truth": TRUTH.with_columns(rating=pl.col("rating") + 1)},
        "different truths",
    ),
    "train": (
        "novelty@3",
        {"train": TRAIN.with_columns(item=9 - pl.col("item"))},
        "training interactions",
    ),
    "catalogue": ("gini@3", {"items": ITEMS[:8]}, "different catalogues"),
    "seen": ("recall@3", {"exclude_seen": True, "train": TRAIN[1:]}, "training interactions"),
    "categories": (
        "category_count@3",
        {"items": ITEMS.with_columns(genres=pl.lit("a"))},
        "columns of categories",
    ),
    "item groups": (
        "reo@3",
        {"items": ITEMS.with_columns(group=pl.Series(["y", "x", "x"] * 3))},
        "columns of item_group",
    ),
    "user groups": (
        "group_gap(ndcg)@3",
        {"users": GROUPS.rename({"sex": "group"}).reverse().with_columns(user=pl.int_range(30))},
        "columns of user_group",
    ),
    "weights": (
        "recall@3",
        {"users": GROUPS.with_columns(weight=1 + pl.col("weight")), "weights": "weight"},
        "weights of users",
    ),
    "reference": (
        "overlap@3",
        {"reference": {user: [0, 3] for user in range(USERS)}},
        "reference lists",
    ),
}
SAME = {
    "train": TRAIN,
    "items": ITEMS,
    "users": GROUPS.with_columns(group=pl.col("sex")),
    "reference": {user: [0, 6] for user in range(USERS)},
}


@pytest.mark.parametrize("name", CHANGED)
def test_results_of_other_tables_are_refused_and_the_table_is_named(name):
    metric, change, message = CHANGED[name]
    options = {key: value for key, value in change.items() if key in ("exclude_seen", "weights")}
    before = rw.evaluate(LISTS, TRUTH, [metric, "ndcg@3"], **SAME, **options)
    tables = {**SAME, **change}
    after = rw.evaluate(LISTS, tables.pop("truth", TRUTH), [metric, "ndcg@3"], **tables)
    pair = {"before": before, "after": after}
    with pytest.raises(ParameterError, match=message):
        rw.compare(pair)
    if name == "weights":  # weighted means are not tested
        return
    with pytest.raises(ParameterError, match=message):
        rw.decide(pair, success="ndcg@3")
    forced = rw.compare(pair, primary="ndcg@3", force=True)
    assert "Compared by force, although these results" in " ".join(str(forced).split())
    assert message in " ".join(str(forced).split())
    assert rw.compare({"before": before, "again": before})


def test_tables_that_no_metric_reads_may_differ():
    before = rw.evaluate(LISTS, TRUTH, "ndcg@3", **SAME)
    other = {"train": TRAIN[1:], "users": GROUPS.reverse(), "reference": {1: [2]}}
    assert rw.compare(before, rw.evaluate(LISTS, TRUTH, "ndcg@3", items=ITEMS, by="sex", **other))
    assert rw.compare(before, rw.evaluate(LISTS, TRUTH, ["ndcg@3", "novelty@3"], **SAME))


def test_categories_count_as_they_are_read():
    lists = ITEMS.with_columns(genres=pl.col("genres").str.split("|").list.reverse())
    one, other = (digests(metrics="category_count@3", items=table) for table in (ITEMS, lists))
    assert one == other


def test_a_result_that_does_not_say_its_truth_is_compared_with_a_note():
    result = rw.evaluate(LISTS, TRUTH, "ndcg@3")
    table = rw.from_per_user(result.per_user.select("user", "ndcg@3"))
    comparison = rw.compare({"ours": result, "theirs": table})
    assert "Not known to have the same ground truth: theirs" in str(comparison)
    assert "Not known" not in str(rw.compare(result, result))


def test_a_table_of_many_parts_has_one_digest_on_any_number_of_threads():
    n = (1 << 19) + 5
    ids, items = pl.Series(np.arange(n) % 977), pl.Series(np.arange(n) % 131)

    def words(rows):
        return [id_words(ids[rows]), id_words(items[rows]), None]

    assert {digest_in_parts(n, words, threads) for threads in (1, 2, 5)} == {
        row_digest(words(slice(0, n)))
    }
