"""The compiled loops against their twins in NumPy: the same bits, whatever the road."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import zlib
from dataclasses import astuple
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.blocks.hits import expect
from rankwise.blocks.lists import group_lists
from rankwise.blocks.matching import match
from rankwise.core import kernels, ragged
from rankwise.core.arrays import ExactTotal
from rankwise.core.ragged import counting_sort, group, segments_of
from rankwise.core.vocabularies import IntegerVocabulary
from rankwise.errors import ScoreError
from rankwise.stats import cliffs_delta
from rankwise.stats.differences import SortedColumn, moments_of_pairs, paired_differences

needs_kernels = pytest.mark.skipif(
    kernels.implementation() != "compiled", reason=f"the road is {kernels.implementation()}"
)


def on_both_roads(work):
    with kernels.without_library():
        reference = work()
    return work(), reference


@needs_kernels
@given(
    st.lists(st.lists(st.integers(-3, 12), max_size=9), min_size=1, max_size=40),
    st.sampled_from([np.int8, np.int32, np.int64]),
    st.integers(0, 2**32),
)
def test_matches(lists, dtype, seed):
    rng = np.random.default_rng(seed)
    truth = [rng.permutation(16)[: rng.integers(0, 6)] - 3 for _ in lists]
    arguments = [
        argument
        for rows in (lists, truth)
        for argument in (
            np.array([item for items in rows for item in items], dtype=dtype),
            np.cumsum([0, *map(len, rows)]),
        )
    ]
    groups = None  # or in any order, and none for some lists
    if seed % 2:
        groups = np.where(rng.random(len(lists)) < 0.7, rng.permutation(len(lists)), -1)
    ours, reference = on_both_roads(lambda: match(*arguments, groups))
    assert ours.repeated.tolist() == reference.repeated.tolist()
    if not len(ours.repeated):
        assert ours.rows.tolist() == reference.rows.tolist()
        assert ours.judged.tolist() == reference.judged.tolist()
        assert ours.lists.tolist() == reference.lists.tolist()
        assert ours.lists.tolist() == segments_of(arguments[1], ours.rows).tolist()


@needs_kernels
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30), st.integers(0, 2**32)
)
def test_positions_and_sums_of_rows_by_user(users, seed):
    """Users with no row, one, or more than a stream of the loop has."""
    rng = np.random.default_rng(seed)
    lengths = np.array([n * (12 if large == 3 else 1) for large, n in users], dtype=np.int64)
    user, n = np.repeat(np.arange(len(lengths)), lengths), int(lengths.sum())
    found = kernels.positions(user)
    assert found.tolist() == [at + 1.0 for length in lengths for at in range(length)]
    values = rng.normal(size=n) * 10.0 ** rng.integers(-20, 20, n)
    values[rng.random(n) < 0.1] = rng.choice([-0.0, np.inf, -np.inf, np.nan])
    rank = found.astype(np.int64) * 2
    cutoffs = (1, 2, 5, 10, 1000)
    ends = kernels.ends(user, rank, cutoffs, len(lengths))
    with np.errstate(invalid="ignore"):
        sums = kernels.sums(user, values, ends)
        for k, row in zip(cutoffs, sums, strict=True):
            for one, total in enumerate(row):
                expected = 0.0
                for value in values[(user == one) & (rank <= k)]:
                    expected += value
                assert np.array_equal([total], [expected], equal_nan=True)


@needs_kernels
def test_items_beyond_32_bits_do_not_match_their_lower_half():
    items, judged = np.array([5, 6], dtype=np.int32), np.array([2**32 + 5, 6])
    found = match(items, np.array([0, 2]), judged, np.array([0, 2]))
    assert (found.rows.tolist(), found.judged.tolist()) == ([1], [1])


@needs_kernels
def test_many_judged_items_in_any_order():
    items, starts = np.arange(100_000), np.array([0, 100_000])
    for judged in (items[::-1].copy(), np.random.default_rng(0).permutation(items)):
        ours, reference = on_both_roads(lambda judged=judged: match(items, starts, judged, starts))
        assert ours.rows.tolist() == reference.rows.tolist()
        assert ours.judged.tolist() == reference.judged.tolist()


@needs_kernels
def test_items_chosen_to_share_slots_take_the_other_road():
    back = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    mixed = ((number * back) % (1 << 64) for number in range(200_000))
    items = [((y >> 32) << 32) | ((y & 0xFFFFFFFF) ^ (y >> 32)) for y in mixed]
    items = np.array([item for item in items if item < 1 << 62])
    starts = np.array([0, len(items)])
    assert len(items) > 40_000
    judged, edges = items[:5].copy(), np.array([0, 5])
    assert kernels.match(items, starts, judged, edges, np.array([0])) is None
    assert match(items, starts, judged, edges).rows.tolist() == [0, 1, 2, 3, 4]


@needs_kernels
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40)), min_size=1, max_size=30))
def test_runs_of_users(runs):
    users = pl.Series([user for user, length in runs for _ in range(length)])
    ours, reference = on_both_roads(lambda: group(users, IntegerVocabulary(10)))
    for name in ("user", "starts", "order"):
        mine, theirs = getattr(ours, name), getattr(reference, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.tolist() == theirs.tolist()


@needs_kernels
def test_codes_of_64_bits_side_by_side_are_counted_by_the_loop():
    codes = np.array([2, 0, 2, 3, 2])
    assert kernels.count(codes, 1, 5, 4).tolist() == [1, 0, 2, 1]
    assert kernels.count(codes.astype(np.int32), 1, 5, 4) is None
    assert kernels.count(codes[::2], 0, 3, 4) is None


@needs_kernels
@given(st.lists(st.integers(0, 9)), st.sampled_from([np.int32, np.int64]))
def test_buckets(codes, dtype):
    ours, reference = on_both_roads(lambda: counting_sort(np.array(codes, dtype=dtype), 10))
    assert [part.tolist() for part in ours] == [part.tolist() for part in reference]


@needs_kernels
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=20),
    st.booleans(),
    st.integers(0, 2**32),
    st.sampled_from([0, 1, 2]),
)
def test_ranks_that_count_up_or_do_not(lengths, in_order, seed, base):
    user = np.repeat(np.arange(len(lengths)), lengths)
    rank = np.concatenate([np.arange(base, n + base) for n in lengths])
    if seed % 3 == 0:  # not all lists count from the same number
        rank[: lengths[0]] += 1
    if not in_order:
        rank = np.random.default_rng(seed).permutation(rank) + 10 * np.arange(len(rank))
    ours, reference = on_both_roads(
        lambda: group_lists(
            pl.Series(user), np.arange(len(user)), vocabulary=IntegerVocabulary(20), rank=rank
        )
    )
    assert ours.items.tolist() == reference.items.tolist()
    assert ours.gaps == reference.gaps


@needs_kernels
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=20),
    st.sampled_from(["rank", "score"]),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.sampled_from([0, 1, 2**31]),
)
def test_rows_in_any_order(lengths, by, seed, threads, first_item):
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(len(lengths)), lengths)
    if not len(user):
        return
    number = np.concatenate([np.arange(1, n + 1) for n in lengths])
    if by == "rank" and rng.random() < 0.3:
        number[rng.integers(len(number))] = rng.integers(-2, 15)  # a gap, twice, or no rank
        number = number * 100 + np.arange(len(number)) if (number < 1).any() else number
    order = rng.permutation(len(user))
    given = {by: number[order] if by == "rank" else -number[order] / 3}

    def work():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ragged, "_STEP", 1)  # shares of few rows
            try:
                return group_lists(
                    pl.Series(user[order]),
                    first_item + order,
                    threads=threads,
                    vocabulary=IntegerVocabulary(20),
                    **given,
                )
            except ScoreError as error:
                return error

    ours, reference = on_both_roads(work)
    if isinstance(reference, ScoreError):
        assert str(ours) == str(reference)
        return
    for name in ("user", "starts", "items", "scores", "gaps"):
        assert np.array_equal(getattr(ours, name), getattr(reference, name))


@needs_kernels
@given(st.lists(st.floats(width=64), max_size=300), st.integers(1, 3))
def test_exact_sums(values, times):
    array = np.array(values * times * 30)
    ours, reference = on_both_roads(lambda: ExactTotal.of(array))
    assert ours.units == reference.units
    assert repr(ours.beyond) == repr(reference.beyond)


@needs_kernels
@given(
    st.integers(0, 2**32), st.sampled_from([np.float32, np.float64]), st.sampled_from([3, 10**6])
)
def test_scores_above(seed, dtype, levels):
    rng = np.random.default_rng(seed)
    wide = rng.integers(0, levels, (rng.integers(1, 9), rng.integers(1, 300))).astype(dtype)
    wide[rng.random(wide.shape) < 0.1] = -np.inf
    scores = wide[:, : rng.integers(1, wide.shape[1] + 1)]  # rows that do not stand side by side
    n_judged = rng.integers(0, 11, len(scores))
    starts = np.concatenate([[0], np.cumsum(n_judged)])
    judged = rng.choice(scores.ravel(), int(starts[-1]))
    lengths, above, equal = kernels.count_above(scores, judged, starts)
    assert lengths.tolist() == (scores > -np.inf).sum(axis=1).tolist()
    row = scores[np.repeat(np.arange(len(scores)), n_judged)]
    assert above.tolist() == (row > judged[:, None]).sum(axis=1).tolist()
    assert equal.tolist() == (row == judged[:, None]).sum(axis=1).tolist()
    for bad in (np.nan, np.inf):
        scores[rng.integers(len(scores)), rng.integers(scores.shape[1])] = bad
        assert kernels.count_above(scores, judged, starts) is None


@needs_kernels
@given(
    st.integers(0, 2**32),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([3, 10**6]),
    st.integers(1, 40),
    st.sampled_from([1, 64, 512]),
)
def test_largest_scores(seed, dtype, levels, k, groups):
    rng = np.random.default_rng(seed)
    scores = rng.integers(-levels, levels, (rng.integers(1, 9), rng.integers(1, 2000))).astype(
        dtype
    )
    scores[rng.random(scores.shape) < rng.random()] = -np.inf
    found = kernels.top(scores, k, groups)
    if found is None:
        assert levels == 3  # more scores are equal than there is room for
        return
    lengths, items, best = found
    ends = np.cumsum(lengths)
    for row, here in zip(scores, np.split(np.arange(ends[-1]), ends[:-1]), strict=True):
        above = (row > row[:, None]).sum(axis=1)
        expected = np.flatnonzero((above < k) & (row > -np.inf))
        assert np.sort(items[here]).tolist() == expected.tolist()
        assert best[here].tolist() == row[items[here]].tolist()


@needs_kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_of_both_signs_are_equal_and_keep_their_sign(dtype):
    _, items, best = kernels.top(np.array([[0.0, -1.0, -0.0]], dtype=dtype), 1, 512)
    assert dict(zip(items.tolist(), np.signbit(best).tolist(), strict=True)) == {0: False, 2: True}


@needs_kernels
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_no_numbers_take_the_other_road(bad):
    assert kernels.top(np.array([[0.0, bad, 1.0]]), 1, 512) is None
    with pytest.raises(ScoreError, match="user 0, item 1"):
        rw.rank(np.array([[0.0, bad, 1.0]]), 1)


@needs_kernels
@given(
    st.lists(st.integers(-4, 4) | st.floats(-4, 4), min_size=1),
    st.lists(st.integers(-4, 4) | st.floats(-4, 4), min_size=1),
)
def test_pairs_above(x, y):
    ours, reference = on_both_roads(lambda: cliffs_delta(x, y))
    assert ours == reference


@needs_kernels
@given(
    st.sampled_from([1, 2, 15, 16, 17, 2047, 2048, 2049, 5000]),
    st.integers(0, 2**32),
    st.sampled_from([1e-320, 1e-200, 1.0, 1e200]),
    st.sampled_from(["zeros", "levels", "equal", "nearly equal", "any"]),
)
def test_moments_of_pairs(n, seed, size, kind):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, n))
    values *= rng.random((3, n)) < (0.2 if kind == "zeros" else 1)
    values = np.round(values) if kind == "levels" else values
    if kind in ("equal", "nearly equal"):
        values[:] = values[0] * (1 + 1e-15 * (kind == "nearly equal") * np.arange(3)[:, None])
    sides, pairs = (
        [SortedColumn(size * column) for column in values],
        [(0, 1), (1, 2), (2, 0), (1, 1)],
    )
    ours, reference = on_both_roads(lambda: [astuple(m) for m in moments_of_pairs(sides, pairs)])
    assert np.array_equal(np.array(ours), np.array(reference), equal_nan=True)
    for (x, y), found in zip(pairs, ours, strict=True):
        d = paired_differences(sides[x].values, sides[y].values)
        assert found[:3] == (
            (d > 0).sum(),
            (d < 0).sum(),
            ((sides[x].values != 0) | (sides[y].values != 0)).sum(),
        )
        if size == 1.0 and n > 1:
            assert found[3] == pytest.approx(math.fsum(d) / n, rel=1e-12, abs=1e-15)
            assert found[4] == pytest.approx(d.std(ddof=1), rel=1e-12, abs=1e-12)
        if size == 1.0 and n > 1 and found[4]:
            assert found[5] == pytest.approx((((d - found[3]) / found[4]) ** 3).mean(), rel=1e-9)


METRICS = [
    "precision@[2,5]",
    "recall@[2,5]",
    "ndcg@[2,5]",
    "map@[2,5]",
    "mrr",
    "hit_rate@2",
    "rbp@5",
    "ndcg(gain=exponential)@5",
    "bpref",
]


@needs_kernels
@pytest.mark.parametrize("ties", ["expected", "optimistic", "pessimistic", "item", "input"])
@given(seed=st.integers(0, 2**32), levels=st.sampled_from([3, 1000]))
def test_evaluations(ties, seed, levels):
    rng = np.random.default_rng(seed)
    rows = pl.DataFrame(
        {"user": rng.integers(0, 30, 400), "item": rng.integers(0, 40, 400)}
    ).unique(maintain_order=True)
    lists = rows.with_columns(score=pl.Series(rng.integers(0, levels, len(rows)) / 7))
    truth = pl.DataFrame({"user": rng.integers(0, 30, 90), "item": rng.integers(0, 40, 90)}).unique(
        maintain_order=True
    )
    truth = truth.with_columns(relevance=pl.Series(rng.integers(0, 4, len(truth)) * 1.0))
    ours, reference = on_both_roads(lambda: rw.evaluate(lists, truth, METRICS, ties=ties))
    assert ours.per_user.equals(reference.per_user, null_equal=True)
    assert dict(ours.values) == dict(reference.values) or np.isnan([*ours.values.values()]).any()
    assert ours.counts == reference.counts
    assert ours.provenance["versions"]["kernels"] == "compiled"
    assert reference.provenance["versions"]["kernels"] == "numpy (turned off)"


def fresh_road(monkeypatch, tmp_path, library, source=b"int x;"):
    """Return the road with a library and a source file of this test."""
    (tmp_path / "kernels.c").write_bytes(source)
    monkeypatch.delenv("RANKWISE_KERNELS", raising=False)
    monkeypatch.setattr(kernels, "SOURCE", tmp_path / "kernels.c")
    monkeypatch.setattr(kernels, "LIBRARY", library)
    kernels._load.cache_clear()
    try:
        return kernels.implementation()
    finally:
        kernels._load.cache_clear()


def test_a_missing_library_is_said(monkeypatch, tmp_path):
    road = fresh_road(monkeypatch, tmp_path, tmp_path / "nothing.so")
    assert road == "numpy (no kernels were compiled)"


def test_a_damaged_library_is_said(monkeypatch, tmp_path):
    (tmp_path / "damaged.so").write_bytes(b"not a library")
    road = fresh_road(monkeypatch, tmp_path, tmp_path / "damaged.so")
    assert road == "numpy (the compiled kernels cannot be loaded)"


@needs_kernels
def test_a_library_of_another_source_is_not_used(monkeypatch, tmp_path):
    built = ctypes.c_uint32(ctypes.CDLL(str(kernels.LIBRARY)).rw_source()).value
    assert built == zlib.crc32(kernels.SOURCE.read_bytes())
    road = fresh_road(monkeypatch, tmp_path, kernels.LIBRARY)
    assert road == "numpy (the compiled kernels are of another version: install again)"


def test_the_variable_turns_them_off(monkeypatch):
    monkeypatch.setenv("RANKWISE_KERNELS", "off")
    kernels._load.cache_clear()
    try:
        assert kernels.implementation() == "numpy (RANKWISE_KERNELS=off)"
    finally:
        kernels._load.cache_clear()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_sanitizers_find_nothing(tmp_path):
    driver, program = Path(__file__).with_name("kernels_driver.c"), tmp_path / "driver"
    flags = ["-std=c99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
    sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", *flags, *sanitizers, driver, "-o", program, "-lm"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all kernels agree\n"), done.stderr


@needs_kernels
def test_arrays_of_other_types_are_for_the_other_road():
    """Each function of the loops, with the arrays that it takes and with those that it does not."""
    user, rank, values = np.array([0, 0, 2]), np.array([1, 2, 1]), np.array([0.5, 0.25, 4.0])
    starts, small = np.array([0, 2, 3]), np.int32
    ends = kernels.ends(user, rank, [1, 2], 3)
    assert ends.tolist() == [[1, 0, 3], [2, 0, 3]]
    assert (
        kernels.ends(user.astype(small), rank, [1], 3)
        is kernels.ends(user, rank.astype(small), [1], 3)
        is None
    )
    assert kernels.positions(user).tolist() == [1.0, 2.0, 1.0]
    assert kernels.positions(user.astype(small)) is None
    assert kernels.sums(user, values, ends).tolist() == [[0.5, 0.0, 4.0], [0.75, 0.0, 4.0]]
    assert kernels.sums(user, values.astype(np.float32), ends) is None
    assert kernels.counts_up(rank, starts, 0, 2, 1) is True
    assert kernels.counts_up(rank, starts, 0, 2, 0) is False
    assert kernels.counts_up(rank.astype(small), starts, 0, 2, 1) is None
    assert kernels.counts_up(np.repeat(rank, 2)[::2], starts, 0, 2, 1) is None
    assert kernels.ranks(
        values, np.arange(3), starts, np.array([1, 0, 2]), np.array([0, 0, 1])
    ).tolist() == [2, 1, 1]
    assert kernels.ranks(values.astype(np.float32), np.arange(3), starts, user, user) is None
    assert kernels.changes(user.astype(np.int16), 1, 3) is None
    assert kernels.changes(np.repeat(user, 2)[::2], 1, 3) is None
    assert kernels.changes(user.astype(np.uint64), 1, 3).tolist() == [2]
    assert kernels.changes(user, 3, 1).tolist() == []


@needs_kernels
def test_few_values_or_one_that_is_huge_or_infinite_are_summed_elsewhere():
    assert kernels.exact_parts(np.full(63, 0.1)) is None
    assert sum(kernels.exact_parts(np.full(64, 0.5))) == 32.0
    assert sum(kernels.exact_parts(np.ones(64 * 2)[::2])) == 64.0
    for bad in (np.inf, np.nan, 1e305):
        assert kernels.exact_parts(np.append(np.full(64, 0.5), bad)) is None
    many = np.full((1 << 14) + 1, 0.1)
    assert ExactTotal.of(many).exact == len(many) * Fraction(0.1)


@needs_kernels
def test_scores_are_read_where_rows_are_contiguous():
    scores = np.array([[3.0, 1.0, 2.0, 9.0], [0.0, 5.0, 5.0, 9.0]])
    for rows in (scores[:, :3], scores[:, :3].astype(np.float32)):
        length, above, equal = kernels.count_above(rows, np.array([2.0, 5.0]), np.array([0, 1, 2]))
        assert (length.tolist(), above.tolist(), equal.tolist()) == ([3, 3], [1, 0], [1, 2])
        lengths, items, best = kernels.top(rows, 1, 4)
        assert (lengths.tolist(), sorted(items.tolist()[1:]), best.tolist()) == (
            [1, 2],
            [1, 2],
            [3.0, 5.0, 5.0],
        )
        assert items[0] == 0
    for rows in (
        scores[:, ::2],
        np.asfortranarray(scores),
        scores.astype(np.int64),
        scores.astype(np.float16),
    ):
        assert kernels.count_above(rows, np.array([2.0, 5.0]), np.array([0, 1, 2])) is None
        assert kernels.top(rows, 1, 4) is None
    assert kernels.top(scores[::-1], 1, 4)[2].tolist() == [9.0, 9.0]  # rows may come in any order


def test_the_road_is_numpy_while_loops_are_disabled_however_often():
    before = kernels.implementation()
    with kernels.without_library():
        with kernels.without_library():
            assert kernels.load() is None
        assert kernels.implementation() == "numpy (turned off)"
        assert kernels.load() is None
    assert kernels.implementation() == before


@needs_kernels
def test_unsigned_ids_of_64_bits_match_by_their_bits():
    items, judged = (
        np.array([2**63 + 1, 4, 2**64 - 1], dtype=np.uint64),
        np.array([2**64 - 1, 4], dtype=np.uint64),
    )
    rows, judged_rows, lists, repeated = kernels.match(
        items, np.array([0, 3]), judged, np.array([0, 2]), np.array([0])
    )
    assert (rows.tolist(), judged_rows.tolist(), lists.tolist(), repeated.tolist()) == (
        [1, 2],
        [1, 0],
        [0, 0],
        [],
    )
    rows, *_, repeated = kernels.match(
        items[[1, 1]], np.array([0, 2]), judged, np.array([0, 2]), np.array([-1])
    )
    assert (rows.tolist(), repeated.tolist()) == ([], [0])  # row 0, whose item comes again


@needs_kernels
@given(st.lists(st.integers(0, 2**52 - 1)))
def test_sorted_whole_numbers(values):
    ours, reference = on_both_roads(lambda: kernels.sorted_whole(np.array(values, dtype=np.int64)))
    assert ours.tolist() == reference.tolist() == sorted(values)


@st.composite
def tied_hits(draw):
    """Return user, first and last rank of the tied group of relevant items, in order."""
    hits = []
    for user in range(draw(st.integers(1, 4))):
        low = 1
        for size in draw(st.lists(st.integers(1, 20), max_size=4)):
            hits += [(user, low, low + size - 1)] * draw(st.integers(0, size))
            low += size
    return np.array(hits, dtype=np.int64).reshape(-1, 3)


@needs_kernels
@given(tied_hits(), st.sampled_from([None, 1, 7, 30]))
def test_tied_hits(hits, limit):
    if limit is not None:
        hits = hits[hits[:, 1] <= limit]
    user, low, high = hits.T
    gain = np.ones(len(hits))

    def spread():
        rows = expect(user, gain, np.arange(len(hits)), low, high, limit=limit)
        return [rows.user, rows.rank, rows.probability, rows.position, rows.first()]

    for ours, reference in zip(*on_both_roads(spread), strict=True):
        assert (ours.dtype, ours.tobytes()) == (reference.dtype, reference.tobytes())
