from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.core import kernels, vocabularies
from rankwise.core.vocabularies import (
    IntegerVocabulary,
    PlainIntegers,
    StringVocabulary,
    vocabulary_for,
)
from rankwise.errors import IdError


@given(st.lists(st.lists(st.integers(-(2**62), 2**62)), min_size=1), st.integers(0, 50))
def test_integers_there_and_back(columns, limit):
    vocabulary = IntegerVocabulary(limit)
    codes = [vocabulary.encode(pl.Series(ids, dtype=pl.Int64)) for ids in columns]
    code_of = {}
    for ids, own in zip(columns, codes, strict=True):
        assert vocabulary.decode(own).to_list() == ids
        for identity, code in zip(ids, own.tolist(), strict=True):
            assert code_of.setdefault(identity, code) == code
    assert len(set(code_of.values())) == len(code_of)
    assert all(code < vocabulary.size for code in code_of.values())


def test_a_single_id_that_polars_lends_for_writing_stays_as_it_is():
    vocabulary = IntegerVocabulary(10)
    ids = pl.Series([2**40, 2**40]).unique()  # Polars lends its memory
    assert vocabulary.encode(pl.Series([-7])).tolist() == [0]
    assert vocabulary.encode(ids).tolist() == [1]
    assert ids.to_list() == [2**40]
    assert vocabulary.encode(pl.Series([2**40, -7])).tolist() == [1, 0]
    assert vocabulary.size == 2


def test_pieces_have_the_activity_of_one_user_with_a_large_id():
    train = pl.DataFrame({"user": [10**10] * 2, "item": [6, 8]})
    evaluator = rw.Evaluator("gini@3", truth={1: {0}}, train=train, items=range(9), by="activity")
    evaluator.update({1: [1]})
    assert evaluator.result().slices["group"].to_list() == ["none"]


def test_codes_stay_dense_beside_an_id_far_away():
    vocabulary = vocabulary_for([pl.Series([1, 2, 3])], dense=True)
    assert vocabulary.encode(pl.Series([4, 6])).tolist() == [4, 6]
    assert vocabulary.encode(pl.Series([10**12, 9, -1, 6])).tolist() == [10, 9, 11, 6]
    assert vocabulary.encode(pl.Series([1000, 9])).tolist() == [12, 9]
    assert vocabulary.size == 13
    assert vocabulary.decode(np.arange(9, 13)).to_list() == [9, 10**12, -1, 1000]


def test_integers_that_are_only_compared_are_not_looked_at():
    ids = pl.Series([-(2**63), 2**63 - 1, 0])
    vocabulary = vocabulary_for([ids], dense=False)
    codes = vocabulary.encode(ids)
    assert np.shares_memory(codes, ids.to_numpy())
    assert vocabulary.decode(codes).to_list() == ids.to_list()
    with pytest.raises(TypeError, match="not dense"):
        _ = vocabulary.size
    with pytest.raises(IdError, match="fit 64 bits with a sign"):
        PlainIntegers().encode(pl.Series([2**63], dtype=pl.UInt64))


@given(st.lists(st.lists(st.text(max_size=3)), min_size=1))
def test_strings_there_and_back(columns):
    vocabulary = StringVocabulary()
    codes = [vocabulary.encode(pl.Series(ids, dtype=pl.String)) for ids in columns]
    for ids, own in zip(columns, codes, strict=True):
        assert vocabulary.decode(own).to_list() == ids
    every = np.arange(vocabulary.size)
    known = vocabulary.decode(every).to_list()
    ordered = [known[at] for at in np.argsort(vocabulary.sort_keys(every))]
    assert ordered == sorted(known, key=lambda text: text.encode())


@pytest.mark.parametrize("threads", [1, 2, 3])
@given(
    data=st.lists(st.text("ab\u00fc", max_size=20), min_size=1, max_size=80),
    window=st.integers(1, 30),
)
def test_texts_that_are_looked_up_first_have_the_codes_of_one_pass(threads, data, window):
    """New texts come in every window, rare and frequent, and the table grows on the way."""
    column = pl.Series(data, dtype=pl.String)
    expected = {text: code for code, text in enumerate(dict.fromkeys(data))}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_HEAD", window), ("_WINDOW", 2 * window), ("_RARE", 2)):
            patch.setattr(vocabularies, name, value)
        vocabulary = StringVocabulary()
        codes = vocabulary.encode(column, threads=threads)
        again = vocabulary.encode(column[::-1], threads=threads)
    assert codes.tolist() == [expected[text] for text in data]
    assert again.tolist() == codes[::-1].tolist()
    assert vocabulary.decode(np.arange(vocabulary.size)).to_list() == [*expected]


def test_dense_integers_are_not_copied():
    ids = pl.Series(np.arange(1000))
    codes = vocabulary_for([ids], dense=True).encode(ids)
    assert np.shares_memory(codes, ids.to_numpy())


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int32, pl.UInt64])
def test_any_integer_type(dtype):
    lists = pl.DataFrame(
        {"user": [1, 1, 2], "item": [5, 6, 5]}, schema={"user": dtype, "item": dtype}
    )
    truth = pl.DataFrame({"user": [1, 2], "item": [6, 5]})
    assert rw.evaluate(lists, truth, "mrr")["mrr"] == 0.75


def test_ids_far_apart():
    lists = {-5: [10**15, -(10**15)], 10**17: [0]}
    result = rw.evaluate(lists, {-5: {-(10**15)}, 10**17: {0}}, ["mrr", "coverage@2"])
    assert result["mrr"] == 0.75
    assert result.per_user["user"].to_list() == [-5, 10**17]
    assert result["coverage@2"] == 1.0


def test_a_repetition_is_told_by_its_text():
    lists = pl.DataFrame({"user": ["u"] * 3, "item": ["a", "b", "a"]})
    with pytest.raises(rw.RankwiseError, match="item 'a' more than once"):
        rw.evaluate(lists, {"u": {"b"}}, "mrr")
    with pytest.raises(rw.RankwiseError, match="item 'a' more than once"):
        rw.evaluate(lists[:2], lists, "mrr")


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.Int32, pl.Int64])
def test_negative_ids_are_the_same_in_every_type(dtype):
    """Spark's hash() gives negative ids; a narrow type holds them as well as a wide one."""
    lists = pl.DataFrame({"user": [-1, -1, 2], "item": [-3, -5, 7]}).cast(dtype)
    truth = pl.DataFrame({"user": [-1, 2], "item": [-5, 7]})
    result = rw.evaluate(lists, truth, ["mrr@2", "gini@2", "arp@2"], train=truth.cast(dtype))
    assert list(result.values.values()) == [0.75, 0.0, 0.5]
    assert rw.evaluate(lists[:2], truth[:1], "gini@2", items=[-3, -5])["gini@2"] == 0.0


def test_a_narrow_type_beside_a_wide_one():
    lists = pl.DataFrame({"user": [300, -1], "item": [1, 2]})
    truth = pl.DataFrame({"user": [-1], "item": [2]}).cast(pl.Int8)
    assert rw.evaluate(lists, truth, ["mrr", "gini@1"])["mrr"] == 1.0


@pytest.mark.parametrize("order", ["grouped", "shuffled"])
@pytest.mark.parametrize("column", ["rank", "score"])
@pytest.mark.parametrize("scale", [1, -1, 2**40, -(2**40), 2**62])
@pytest.mark.parametrize("compiled", [True, False])
def test_items_of_any_size_and_sign_are_the_same_rows(order, column, scale, compiled):
    """Item ids are not looked at where they are only compared, and rows are moved all the same."""
    rng = np.random.default_rng(3)
    plain = pl.concat(
        [
            pl.DataFrame({"user": user, "item": rng.permutation(30)[:9], "rank": range(1, 10)})
            for user in range(60)
        ]
    )
    truth = pl.concat(
        [pl.DataFrame({"user": user, "item": rng.permutation(30)[:4]}) for user in range(60)]
    )
    asked = ["ndcg@3,9", "mrr", "precision@5"]
    expected = rw.evaluate(plain, truth, asked)
    item = pl.col("item").cast(pl.Int64)
    far = (item - 15) * scale
    if scale == 2**62:  # the smallest id that there is
        far = pl.when(item == 0).then(-(2**63)).otherwise(item)
    lists = plain.with_columns(item=far)
    if column == "score":
        lists = lists.with_columns(score=-pl.col("rank").cast(pl.Float64)).drop("rank")
    if order == "shuffled":
        lists = lists.sample(fraction=1, shuffle=True, seed=1)
    with nullcontext() if compiled else kernels.without_library():
        result = rw.evaluate(lists, truth.with_columns(item=far), asked)
    assert result.per_user.equals(expected.per_user)


@pytest.mark.parametrize(
    ("ids", "ordered"), [("typed", [-20, -3, 2, 10]), ("text", [-20, -3, 10, 2])]
)
def test_negative_ids_that_tie_are_ordered_as_numbers_or_as_text(ids, ordered):
    lists = pl.DataFrame({"user": [1] * 4, "item": [2, -3, 10, -20], "score": [0.5] * 4})
    for rank, item in enumerate(ordered, start=1):
        assert rw.evaluate(lists, {1: {item}}, "mrr", ties="item", ids=ids)["mrr"] == 1 / rank


@pytest.mark.parametrize(("n", "limit"), [(3, 1036), (100, 1424)])
def test_integers_are_their_own_codes_up_to_four_times_the_number_of_rows(n, limit):
    columns = [pl.Series(range(n - 1)), pl.Series([7])]
    assert vocabulary_for(columns, dense=True).encode(pl.Series([limit - 1])).tolist() == [
        limit - 1
    ]
    vocabulary = vocabulary_for(columns, dense=True)
    assert vocabulary.encode(pl.Series([limit, 5])).tolist() == [6, 5]
    assert vocabulary.size == 7


def test_kinds_of_columns_have_vocabularies_of_their_own():
    text, numbers = [pl.Series(["a"])], [pl.Series([1])]
    assert [type(vocabulary_for(text, dense=dense)) for dense in (True, False)] == [
        StringVocabulary
    ] * 2
    assert type(vocabulary_for(numbers, dense=True)) is IntegerVocabulary
    assert type(vocabulary_for(numbers, dense=False)) is PlainIntegers


def test_sizes_are_one_more_than_the_largest_code():
    strings, integers = StringVocabulary(), IntegerVocabulary(10)
    assert (strings.size, integers.size) == (0, 0)
    strings.encode(pl.Series(["b", "a", "b"]))
    integers.encode(pl.Series([0, 4], dtype=pl.UInt64))
    assert (strings.size, integers.size) == (2, 5)
    assert strings.encode(pl.Series([], dtype=pl.String)).tolist() == []
    assert integers.encode(pl.Series([], dtype=pl.Int64)).tolist() == []
    strings.encode(pl.Series(["a"]))
    integers.encode(pl.Series([2]))
    assert (strings.size, integers.size) == (2, 5)
    assert strings.sort_keys(np.array([0, 1])).tolist() == [1, 0]
    integers.encode(pl.Series([-7, 99]))
    assert integers.sort_keys(np.array([5, 4, 6])).tolist() == [-7, 4, 99]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.UInt8, pl.UInt64, pl.Int64])
def test_the_largest_id_of_a_type_is_its_own_code_within_the_limit(dtype):
    vocabulary = IntegerVocabulary(1000)
    assert vocabulary.encode(pl.Series([127, 0], dtype=dtype)).tolist() == [127, 0]
    assert vocabulary.size == 128
    if dtype not in (pl.UInt8, pl.UInt64):
        assert vocabulary.encode(pl.Series([-1, 3], dtype=dtype)).tolist() == [128, 3]
        assert vocabulary.decode(np.array([128, 3])).to_list() == [-1, 3]
