"""Columns of text as compiled loops read them, against Python's strings."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise.core.texts
from rankwise.core import kernels
from rankwise.core.hashing import hash_of_column
from rankwise.core.ragged import user_runs
from rankwise.core.texts import plain_strings, string_views
from rankwise.core.vocabularies import StringVocabulary

needs_kernels = pytest.mark.skipif(
    kernels.load() is None, reason=f"no compiled loops here: {kernels.implementation()}"
)
LENGTHS = (0, 1, 4, 5, 11, 12, 13, 16, 20, 21, 28, 29, 300)
texts = st.one_of(
    st.text(max_size=3),
    st.builds(lambda letter, n: letter * n, st.sampled_from("aé\0"), st.sampled_from(LENGTHS)),
    # They differ in one place: among the first four bytes, later, or in the last one.
    st.builds(lambda n, at: "x" * at + "y" + "x" * n, st.integers(0, 30), st.integers(0, 30)),
)


def column_of(values, cut, chunked):
    """Return the values in one column, cut out of a longer one, in one chunk or two."""
    if chunked:
        half = len(values) // 2
        parts = [pl.Series("id", part, dtype=pl.String) for part in (values[:half], values[half:])]
        return pl.concat(parts, rechunk=False)
    return pl.Series("id", ["cut off"] * cut + values, dtype=pl.String)[cut:]


@pytest.mark.parametrize("compiled", [True, False])
@given(
    columns=st.lists(st.lists(texts, max_size=40), min_size=1, max_size=4),
    cut=st.integers(0, 3),
    chunked=st.booleans(),
)
def test_texts_are_numbered_as_they_come(compiled, columns, cut, chunked):
    vocabulary, code_of = StringVocabulary(), {}
    for values in columns:
        with nullcontext() if compiled else kernels.without_library():
            codes = vocabulary.encode(column_of(values, cut, chunked))
        assert codes.tolist() == [code_of.setdefault(text, len(code_of)) for text in values]
    assert vocabulary.size == len(code_of)
    assert vocabulary.decode(np.arange(len(code_of))).to_list() == list(code_of)


@pytest.mark.parametrize("compiled", [True, False])
@given(
    runs=st.lists(st.tuples(texts, st.integers(1, 40)), min_size=1, max_size=9),
    cut=st.integers(0, 3),
    chunked=st.booleans(),
    threads=st.integers(1, 3),
)
def test_runs_of_text_ids(compiled, runs, cut, chunked, threads):
    values = [text for text, length in runs for _ in range(length)]
    vocabulary = StringVocabulary()
    with nullcontext() if compiled else kernels.without_library():
        starts, codes = user_runs(column_of(values, cut, chunked), vocabulary, threads)
    heads = [at for at, text in enumerate(values) if not at or text != values[at - 1]]
    if starts is None:  # hardly grouped: a run for every row
        heads = [*range(len(values))]
    else:
        assert starts.tolist() == [*heads, len(values)]
    assert vocabulary.decode(codes).to_list() == [values[at] for at in heads]


@pytest.mark.parametrize("make", ["{}", "user_{}", "https://example.org/items/{}?lang=en"])
@pytest.mark.parametrize("pieces", [1, 7])
def test_a_table_of_texts_grows_as_pieces_come(make, pieces):
    numbers = np.random.default_rng(7).integers(0, 120_000, 200_000)
    vocabulary, codes = StringVocabulary(), []
    for part in np.array_split(numbers, pieces):
        column = pl.Series([make.format(number) for number in part])
        codes.append(vocabulary.encode(column))
        assert vocabulary.decode(codes[-1]).equals(column)
    first, number_of_row = np.unique(numbers, return_index=True, return_inverse=True)[1:]
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    assert np.array_equal(np.concatenate(codes), place[number_of_row])


def test_texts_that_came_without_the_loops_are_known_to_them():
    vocabulary = StringVocabulary()
    with kernels.without_library():
        assert vocabulary.encode(pl.Series(["b", "a", "b"])).tolist() == [0, 1, 0]
    assert vocabulary.encode(pl.Series(["c", "a"])).tolist() == [2, 1]


@needs_kernels
@pytest.mark.parametrize(
    "dates", [["1969-07-20", "2024-02-29"], ["1969-07-20 20:17:40", "2024-02-29T12:00:00.25"]]
)
def test_dates_in_text_have_the_hashes_of_dates(dates):
    moments = pl.Series([datetime.fromisoformat(date) for date in dates])
    assert (
        hash_of_column(pl.Series(dates), ids=False).tolist()
        == hash_of_column(moments, ids=False).tolist()
    )
    assert hash_of_column(pl.Series(dates)).tolist() != hash_of_column(moments).tolist()


def test_no_loop_reads_what_is_no_text():
    for column in (pl.Series([1, 2]), pl.Series([], dtype=pl.String), pl.Series([b"a"])):
        with string_views(column) as found:
            assert found is None


@needs_kernels
def test_nothing_is_kept_of_a_column():
    resource = pytest.importorskip("resource")
    unit = 1 if sys.platform == "darwin" else 1024

    def lend():
        column = pl.Series(["a long text that stands in a buffer"]).new_from_index(0, 1_000_000)
        with string_views(column) as found:
            assert found is not None

    lend()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(40):  # of 16 MB each
        lend()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * unit < 200e6


@given(
    st.lists(st.sampled_from(["", "a", "b", "é", "a long text in a buffer"]) | st.none()),
    st.sampled_from(
        [
            pl.Categorical,
            pl.Categorical(pl.Categories.random("test", pl.UInt8)),
            pl.Enum(["b", "a", "", "unused", "é", "a long text in a buffer"]),
        ]
    ),
    st.integers(0, 3),
)
def test_categories_become_the_text_of_each_row(values, dtype, first):
    column = pl.Series("id", values, dtype=dtype)[first:]
    assert plain_strings(column).equals(pl.Series("id", values[first:], dtype=pl.String))


def test_columns_without_categories_of_their_own(monkeypatch):
    every = pl.Series([f"item {at}" for at in range(1000)], dtype=pl.Categorical)
    assert plain_strings(every).equals(every.cast(pl.String))
    monkeypatch.setattr(rankwise.core.texts.np, "arange", lambda n: pytest.fail(f"{n} texts"))
    for column in (every[-3:], every.clear(), pl.Series([None], dtype=pl.Categorical)):
        assert plain_strings(column).equals(column.cast(pl.String))
    assert plain_strings(pl.Series([1, 2])).to_list() == [1, 2]
