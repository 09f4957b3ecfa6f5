"""Hashes of rows to the bit: splits are drawn from them, and a seed has to give the same split for good."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwise.core import hashing, kernels
from rankwise.core.hashing import (
    combine_hashes,
    digest_of,
    hash_of_column,
    hash_of_text,
    id_numbers,
)
from rankwise.core.texts import clean_labels
from rankwise.core.vocabularies import ascending_ranks, lookup_rows

NULL = 0x9E3779B97F4A7C15


def hashes(values, dtype=None, *, as_ids=True):
    return hash_of_column(pl.Series(values, dtype=dtype, strict=False), ids=as_ids).tolist()


def test_hashes_of_text_and_rows_are_those_of_every_version():
    assert hash_of_text("ann") == 11957940740637538957
    assert digest_of([pl.Series([1, 2]), pl.Series(["a", "b"])]) == "8bfa591b0ef6dbfa"
    assert digest_of([pl.Series([2, 1]), pl.Series(["b", "a"])]) == "8bfa591b0ef6dbfa"


@pytest.mark.parametrize("seed", [0, 7])
def test_a_row_is_mixed_as_by_splitmix64(seed):
    """The first two numbers of SplitMix64 from 0, halved."""
    start = np.array([hash_of_text(f"seed {seed}")], dtype=np.uint64)
    assert combine_hashes([start], seed).tolist() == [0xE220A8397B1DCDAF >> 1]
    assert combine_hashes([start ^ np.uint64(NULL)], seed).tolist() == [0x6E789E6AA1B965F4 >> 1]
    column = np.array([5, 6, 5], dtype=np.uint64)
    one, other, same = combine_hashes([start.repeat(3), column], seed).tolist()
    assert one == same != other


def test_hashes_of_rows_do_not_depend_on_steps(monkeypatch):
    columns = [np.arange(7, dtype=np.uint64), np.arange(7, dtype=np.uint64) % np.uint64(3)]
    whole = combine_hashes(columns, 3)
    monkeypatch.setattr(hashing, "_CHUNK", 2)
    assert combine_hashes(columns, 3).tolist() == whole.tolist()
    assert len(set(whole.tolist())) == 7
    assert int(whole.max()) < 2**63


def test_whole_numbers_hash_alike_in_every_type():
    assert hashes([3, 0, -1, None], pl.Int64) == [3, 0, 2**64 - 1, NULL]
    for dtype in (
        pl.Int8,
        pl.Int32,
        pl.Float32,
        pl.Float64,
        pl.Int128,
        pl.String,
        pl.Decimal(9, 0),
    ):
        assert hashes([3, 0, -1, None], dtype) == [3, 0, 2**64 - 1, NULL]
    assert hashes([3, 0], pl.UInt8) == hashes([3, 0], pl.UInt64) == [3, 0]
    assert hashes([2**63], pl.UInt64) == hashes([2**63], pl.UInt128) != hashes([2**63], pl.Float64)


def test_floats_hash_by_value():
    zero, minus, half, missing, large = hashes([0.0, -0.0, 0.5, float("nan"), 2.0**61])
    assert (zero, minus, missing, large) == (0, 0, NULL, 2**61)
    assert half == np.array([0.5]).view(np.uint64)[0]
    bits = np.array([2.0**62, np.inf, -np.inf]).view(np.uint64)
    assert hashes([2.0**62, np.inf, -np.inf]) == bits.tolist()
    assert hashes([-(2.0**62)])[0] == np.array([-(2.0**62)]).view(np.uint64)[0]


def test_truth_values_hash_as_1_and_0_and_dates_alike_in_every_unit():
    assert hashes([True, False, None]) == [1, 0, NULL]
    moment = datetime(1970, 1, 2, 0, 0, 1)
    for unit in ("ms", "us", "ns"):
        assert hashes([moment], pl.Datetime(unit)) == [86_401_000_000]
    assert hashes([date(1970, 1, 2), None]) == [86_400_000_000, NULL]
    assert hashes([timedelta(seconds=2)], pl.Duration("us")) == [2_000_000]
    assert hashes([time(0, 0, 1)]) == [10**9]


def test_text_is_hashed_as_the_value_that_a_file_writes_so_unless_it_is_an_id():
    texts = ["true", "True", "false", "False", "1.5", "1000.0", "7", "2024-01-01"]
    values = [1, 1, 0, 0, *hashes([1.5]), 1000, 7, 1_704_067_200_000_000]
    assert hashes(texts, as_ids=False) == values
    assert hashes(texts) == [hash_of_text(text) if text != "7" else 7 for text in texts]
    written_otherwise = [
        "TRUE",
        "07",
        "1.50",
        "1e3",
        "inf",
        "nan",
        "2024-13-01",
        "2024-01-01x",
        "+7",
        "",
        "-0",
    ]
    for as_ids in (True, False):
        assert hashes(written_otherwise, as_ids=as_ids) == [
            hash_of_text(text) for text in written_otherwise
        ]


def test_other_values_hash_as_their_text():
    assert hashes([[1, 2], None]) == [hash_of_text("[1, 2]"), hash_of_text("None")]
    assert hashes([b"a"]) == [hash_of_text("b'a'")]
    assert hashes(["b", "a", "b", None], pl.Categorical) == [
        hash_of_text("b"),
        hash_of_text("a"),
        hash_of_text("b"),
        NULL,
    ]
    assert hashes([Decimal("1.50"), Decimal("2.00")]) == [
        hash_of_text("1.50"),
        hash_of_text("2.00"),
    ]


@pytest.mark.parametrize("compiled", [True, False])
def test_ids_in_text_are_numbers_only_in_canonical_form_and_within_64_bits(compiled):
    whole = [0, 7, -7, 10, 2**63 - 1, -(2**63)]
    other = [
        "07",
        "-0",
        "+7",
        " 7",
        "7 ",
        "-",
        "7.0",
        str(2**63),
        str(-(2**63) - 1),
        "9" * 19,
        "9" * 20,
        "a",
    ]
    texts = ["a", "é", "item 4711", "a longer text than sixteen bytes"]
    with nullcontext() if compiled else kernels.without_library():
        assert id_numbers(pl.Series(map(str, whole))).tolist() == whole
        found = id_numbers(pl.Series(other)).tolist()
        numbers = id_numbers(pl.Series(texts)).tolist()
    assert numbers == [
        -6919958279945591092,
        5609587175641609895,
        -1412107097878004808,
        8952478858259851041,
    ]
    assert not {*found} & {*whole}
    assert len({*found}) == len(other)


def test_names_have_no_blanks_around_them_and_empty_ones_are_missing():
    assert clean_labels(pl.Series([" war", "", "war ", "  ", None])).to_list() == [
        "war",
        None,
        "war",
        None,
        None,
    ]
    assert clean_labels(pl.Series(["a b", "c"])).to_list() == ["a b", "c"]
    numbers = pl.Series([3, 1])
    assert clean_labels(numbers) is numbers
    kept = pl.Series(["low", "high"], dtype=pl.Enum(["low", "high"]))
    assert clean_labels(kept).dtype == kept.dtype
    changed = clean_labels(pl.Series(["low ", ""], dtype=pl.Categorical))
    assert (changed.dtype, changed.to_list()) == (pl.String, ["low", None])


def test_places_are_those_of_the_ascending_order():
    assert ascending_ranks(pl.Series(["b", "c", "a"])).tolist() == [1, 2, 0]
    assert ascending_ranks(pl.Series([10, -3, 2, 11])).tolist() == [2, 0, 1, 3]
    assert ascending_ranks(pl.Series([], dtype=pl.Int64)).tolist() == []


SOME_INTEGERS = st.one_of(st.integers(-20, 20), st.integers(-(2**63), 2**63 - 1))


@given(
    *[st.lists(st.one_of(st.none(), SOME_INTEGERS), max_size=12)] * 2,
    st.sampled_from([pl.Int64, pl.String]),
)
def test_the_rows_of_ids_among_others(ids, others, kind):
    known = [one for one in others if one is not None]
    columns = [pl.Series(values, dtype=pl.Int64).cast(kind) for values in (ids, known)]
    assert lookup_rows(*columns).tolist() == [
        known.index(one) if one in known else -1 for one in ids
    ]
