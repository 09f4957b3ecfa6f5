from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.core.vocabulary import (
    HashedStrings,
    IntegerVocabulary,
    StringVocabulary,
    vocabulary_for,
)


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


@given(st.lists(st.lists(st.text(max_size=3)), min_size=1))
def test_strings_there_and_back(columns):
    vocabulary = StringVocabulary()
    codes = [vocabulary.encode(pl.Series(ids, dtype=pl.String)) for ids in columns]
    for ids, own in zip(columns, codes, strict=True):
        assert vocabulary.decode(own).to_list() == ids
    every = np.arange(vocabulary.size)
    known = vocabulary.decode(every).to_list()
    ordered = [known[at] for at in np.argsort(vocabulary.ordered(every))]
    assert ordered == sorted(known, key=lambda text: text.encode())


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


@pytest.mark.parametrize("shuffled", [False, True])
def test_strings_whose_hashes_collide(monkeypatch, shuffled):
    lists = pl.DataFrame(
        {"user": ["u", "u", "v", "v"], "item": ["aa", "bb", "bb", "c"], "rank": [1, 2, 1, 2]}
    )
    lists = lists[[3, 0, 2, 1]] if shuffled else lists
    truth = pl.DataFrame({"user": ["u", "u", "v"], "item": ["cc", "bb", "aa"]})
    expected = rw.evaluate(lists, truth, ["mrr", "recall@2"])
    tried = []

    def by_length(self, ids):
        tried.append(len(ids))
        self._columns.append(ids)
        return ids.str.len_bytes().to_numpy().astype(np.int64)

    monkeypatch.setattr(HashedStrings, "encode", by_length)
    result = rw.evaluate(lists, truth, ["mrr", "recall@2"])
    assert tried
    assert result.values == expected.values == {"mrr": 0.25, "recall@2": 0.25}
    assert result.counts == expected.counts


def test_a_repetition_is_told_with_hashes_too():
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
