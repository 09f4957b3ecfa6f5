"""Counts that tell lists of sampled negatives: they add up over pieces, and travel."""

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.core.sample_counts import SampleCounts
from sampled_negatives import as_tables, sampled


def counts_of(lists, truth, n_pieces=1):
    """Return the counts of pieces of the users, merged in another order."""
    pieces = [pl.col("user") % n_pieces == piece for piece in range(n_pieces)]
    return SampleCounts.merged(
        [SampleCounts.of_lists(lists.filter(rows), truth) for rows in reversed(pieces)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [300, 20_000])  # above 4,096 items their number is estimated
def test_pieces_have_the_counts_of_all_users(n_items):
    lists, truth = as_tables(*sampled(n_items=n_items, negatives=100, n_users=240, n_relevant=3))
    whole = counts_of(lists, truth)
    assert whole.sampled_negatives == 100
    for n_pieces in (2, 17):
        merged = counts_of(lists, truth, n_pieces)
        assert (merged.relevant, merged.hits) == (whole.relevant, whole.hits)
        assert merged.negatives.sort("negatives").equals(whole.negatives.sort("negatives"))
        assert merged.items.equals(whole.items)
        assert len(whole.items) == min(4096, lists["item"].n_unique())


@pytest.mark.parametrize(("n_items", "negatives"), [(12_000, 1000), (8_000, 1000), (12_000, 7000)])
def test_the_number_of_many_items_is_estimated(n_items, negatives):
    """A twelfth and an eighth of the items; more than half of them are as good as all."""
    spread = [
        np.random.default_rng(user).permutation(n_items)[: negatives + 1] for user in range(40)
    ]
    lists = pl.DataFrame({"user": range(40), "item": spread}).explode("item")
    truth = lists.group_by("user", maintain_order=True).first()
    assert counts_of(lists, truth).sampled_negatives == (
        negatives if negatives < n_items / 2 else None
    )
    skewed = lists.filter(pl.col("user") < 40).with_columns(
        (pl.col("item") ** 2 // n_items).alias("item")
    )
    skewed = skewed.unique(maintain_order=True)
    assert counts_of(skewed, truth).sampled_negatives is None  # lists have various lengths


@pytest.mark.parametrize("rows", [19, 20])
def test_twenty_users_are_enough(rows):
    lists, truth = as_tables(*sampled(n_users=rows))
    assert counts_of(lists, truth).sampled_negatives == (99 if rows == 20 else None)


@pytest.mark.parametrize(("lost", "expected"), [(5, 99), (6, None)])
def test_five_percent_of_the_relevant_items_may_be_missing(lost, expected):
    lists, truth = as_tables(*sampled(n_users=100))
    truth = truth.with_columns(item=pl.when(pl.col("user") < lost).then(-1).otherwise("item"))
    assert counts_of(lists, truth).sampled_negatives == expected


@pytest.mark.parametrize(("cut", "expected"), [(5, 99), (6, None)])
def test_five_percent_of_the_users_may_have_other_numbers_of_negatives(cut, expected):
    lists, truth = as_tables(*sampled(n_users=100))
    hits = lists.join(truth, on=["user", "item"], how="semi")
    cut_lists = lists.filter((pl.col("user") >= cut) | (pl.col("rank") <= 50))
    lists = pl.concat([cut_lists, hits]).unique(["user", "item"], maintain_order=True)
    assert counts_of(lists, truth).sampled_negatives == expected


def lists_with(rows, negatives=9, users=20):
    """Return the counts of lists that hold every relevant item, and items with these numbers of rows."""
    return SampleCounts(
        relevant=users,
        hits=users,
        negatives=pl.DataFrame({"negatives": [negatives], "users": [users]}),
        items=pl.DataFrame({"hash": range(len(rows)), "rows": rows}).cast({"hash": pl.UInt64}),
    )


@pytest.mark.parametrize(
    ("most_frequent", "is_even"),
    [([145] * 10, True), ([146] * 9 + [136], True), ([145] * 9 + [146], False)],
)
def test_items_occur_evenly_up_to_a_quarter_and_two_deviations_above_the_mean(
    most_frequent, is_even
):
    """At a mean of 100 rows the most frequent tenth of the items has 125 + 6 · 10 / 3 = 145 at most."""
    rest = 10_000 - sum(most_frequent)
    rows = [rest // 90 + (at < rest % 90) for at in range(90)] + most_frequent
    assert sum(rows) / len(rows) == 100
    assert lists_with(rows, negatives=10).sampled_negatives == (10 if is_even else None)
    assert lists_with(rows[::-1], negatives=10).sampled_negatives == (10 if is_even else None)


def test_lists_of_a_tenth_of_the_items_are_short_and_of_half_of_them_if_items_occur_evenly():
    uneven, even = [1000] + [1] * 99, [10] * 100
    for rows, negatives, expected in (
        (uneven, 9, 9),
        (uneven, 10, None),
        (even, 49, 49),
        (even, 50, None),
    ):
        assert lists_with(rows, negatives).sampled_negatives == expected


@pytest.mark.parametrize(
    ("most", "negatives", "expected"),
    [(100_000, 818, 818), (100_000, 819, None), (1, 4094, 4094), (1, 4095, None)],
)
def test_the_largest_of_4096_hashes_tells_the_number_of_items(most, negatives, expected):
    """If it is half of all numbers there are 2 · 4,095 items, of which 819 are a tenth, and 4,095 a half."""
    hashes = pl.Series("hash", [*range(4095), 2**62], dtype=pl.UInt64)
    counts = lists_with([most] + [1] * 4095, negatives)
    assert replace(counts, items=counts.items.with_columns(hashes)).sampled_negatives == expected


@pytest.mark.parametrize(("negatives", "expected"), [(8, None), (9, 9)])
def test_nine_negatives_are_enough(negatives, expected):
    assert lists_with([2] * 100, negatives).sampled_negatives == expected


def test_ids_as_text_have_the_same_counts():
    lists, truth = as_tables(*sampled())
    text = [frame.with_columns(pl.col("user", "item").cast(pl.String)) for frame in (lists, truth)]
    assert SampleCounts.of_lists(*text).items.equals(SampleCounts.of_lists(lists, truth).items)


@pytest.mark.parametrize(
    "travel",
    [
        lambda partial: pickle.loads(pickle.dumps(partial)),
        lambda partial: rw.Partial.from_bytes(partial.to_bytes()),
    ],
    ids=["pickle", "Arrow"],
)
def test_counts_travel_with_a_partial(travel):
    lists, truth = sampled()
    partial = rw.Evaluator("ndcg@10").update(lists, truth).partial()
    sent = travel(partial).sample
    assert (sent.relevant, sent.hits, sent.sampled_negatives) == (60, 60, 99)
    assert sent.items.equals(partial.sample.items)
