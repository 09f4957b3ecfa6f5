"""Words and digests of rows to the bit: they are saved, and compared with those of later programs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rankwise.core import digests
from rankwise.core.digests import (
    add_digests,
    digest_in_parts,
    digest_of_rows,
    id_words,
    number_words,
    row_digest,
    set_words,
    text_words,
)
from rankwise.core.hashing import hash_of_text

NOTHING = 0x9E3779B97F4A7C15
A, B = 5373181477853876416, 1112341248167845503  # the hashes of words 3 and 4


def words(*values):
    return np.array(values, dtype=np.uint64)


def mixed(number, shifts, factors):
    """Return the finaliser of SplitMix64 in whole numbers of Python."""
    for shift, factor in zip(shifts, factors, strict=True):
        number = (number ^ number >> shift) * factor % 2**64
    return number


def test_a_row_is_hashed_as_the_finaliser_of_its_words_times_odd_numbers():
    shifts, factors = (30, 27, 31), (0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 1)
    (start, odd), user, item = (
        digests.start_and_factors((False, False)),
        words(7, 2**64 - 1),
        words(1, 9),
    )
    assert start == hash_of_text("seed 0") == 9025756203284825921
    assert [int(factor) % 2 for factor in odd] == [1, 1]
    assert odd[0] != odd[1]
    rows = [
        start + int(u) * int(odd[0]) + int(i) * int(odd[1])
        for u, i in zip(user.tolist(), item.tolist(), strict=True)
    ]
    assert (
        row_digest([user, item]) == sum(mixed(row % 2**64, shifts, factors) for row in rows) % 2**64
    )


def test_digests_are_those_of_every_version():
    rows = [words(1, 2), words(5, 6)]
    assert row_digest(rows) == 3065934958361541465
    assert row_digest([*rows, None]) == 5396200949749481729
    assert text_words(["a", "7"]).tolist() == [11526785793763960524, 7]
    frame = pl.DataFrame({"user": ["1"], "item": ["2"], "x": [2.0]})
    assert digest_of_rows(frame, "x") == 17470748157377234063
    assert digest_of_rows(frame, "y") == 7891900225018910830


def test_a_column_that_is_not_there_holds_ones():
    user, item, ones = words(1, 2, 3), words(4, 4, 5), number_words(np.ones(3))
    assert row_digest([user, item, None]) == row_digest([user, item, ones])
    assert row_digest([None, item, user]) == row_digest([ones, item, user])
    assert row_digest([None, None, user]) == row_digest([ones, ones, user])
    assert row_digest([user, item, None]) != row_digest([user, item])
    frame = pl.DataFrame({"user": [1, 2], "item": [3, 3], "x": [1.0, 1.0]})
    assert digest_of_rows(frame, "x") == digest_of_rows(frame, "y")
    assert digest_of_rows(frame.with_columns(x=pl.lit(2.0)), "x") != digest_of_rows(frame, "y")


def test_columns_do_not_change_places():
    user, item = words(1, 2), words(2, 1)
    assert row_digest([user, item]) == row_digest([item, user])  # the same rows in another order
    assert row_digest([user, user]) != row_digest([user, item])


def test_numbers_are_words_in_single_precision_zero_has_no_sign_and_nan_is_missing():
    values = np.array([1.0, -0.0, 0.0, np.nan, 0.7, np.float32(0.7), 1e300, np.inf])
    one, minus, zero, missing, *same, huge, infinite = number_words(values).tolist()
    assert (one, minus, zero, missing) == (0x3F800000, 0, 0, NOTHING)
    assert same[0] == same[1]
    assert huge == infinite == 0x7F800000
    assert number_words(np.array([[1.0, np.nan]])).tolist() == [[0x3F800000, NOTHING]]


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.Int64, pl.UInt8, pl.UInt64, pl.String])
def test_a_whole_number_is_its_own_word_in_every_type(dtype):
    found = id_words(pl.Series([0, 7, 100], dtype=pl.Int64).cast(dtype))
    assert (found.tolist(), found.dtype) == ([0, 7, 100], np.uint64)
    if dtype not in (pl.UInt8, pl.UInt64):
        assert id_words(pl.Series([-1]).cast(dtype)).tolist() == [2**64 - 1]
    assert id_words(pl.Series([2**64 - 1], dtype=pl.UInt64)).tolist() == [2**64 - 1]


def test_a_set_has_the_sum_of_the_hashes_of_its_names():
    codes, names = np.array([0, 1, -1]), words(3, 4)
    assert set_words(codes, names, None).tolist() == [A, B, NOTHING]
    assert set_words(codes, names, np.array([0, 2, 2, 3])).tolist() == [A + B, 0, NOTHING]
    assert set_words(codes[[1, 0, 2]], names, np.array([0, 2, 2, 3])).tolist() == [
        A + B,
        0,
        NOTHING,
    ]


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_parts_cover_every_row_once(n, monkeypatch):
    monkeypatch.setattr(digests, "_PART", 3)
    user, seen = words(*range(n)), []

    def part(rows):
        seen.append(range(n)[rows])
        return [user[rows]]

    assert digest_in_parts(n, part, 1) == row_digest([user])
    assert [row for rows in seen for row in rows] == list(range(n))
    assert max(map(len, seen)) <= 3
    assert len(seen) == max(-(-n // 3), 1)


def test_digests_are_added_modulo_2_to_64():
    assert add_digests([2**64 - 1, 1]) == 0
    assert add_digests([2**64 - 2, 1]) == 2**64 - 1
    assert add_digests([]) == 0
