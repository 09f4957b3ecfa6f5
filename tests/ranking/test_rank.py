"""Exact top k from scores and from factors, against sorting every row in plain Python."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from rankwise.errors import EmptyError, IdError, InputError, MetricError, ParameterError, ScoreError
from rankwise.ranking import pool as score_blocks
from rankwise.ranking.pool import groups_for, largest_of_groups, top
from rankwise.ranking.scores import Factors, Matrix


@st.composite
def score_matrices(draw):
    """Few distinct scores, so that ties are common; some are minus infinity."""
    users, items = draw(st.integers(1, 6)), draw(st.integers(1, 14))
    score = st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 1.0, 2.0])
    rows = [[draw(score) for _ in range(items)] for _ in range(users)]
    seen = {u: draw(st.lists(st.integers(0, items - 1), max_size=4)) for u in range(users)}
    kind = draw(st.sampled_from([np.float32, np.float64]))
    return np.array(rows, dtype=kind), {u: own for u, own in seen.items() if own}


def by_hand(scores, seen, k, ties):
    """Every user's list by sorting all items."""
    out = {}
    for user, row in enumerate(scores.tolist()):
        items = [i for i, s in enumerate(row) if s > -math.inf and i not in seen.get(user, ())]
        sign = -1 if ties == "item_desc" else 1
        items.sort(key=lambda i: (-row[i], sign * i))
        if ties == "expected" and len(items) > k:
            items = [i for i in items if row[i] >= row[items[k - 1]]]
        elif ties != "expected":
            items = items[:k]
        if items:
            out[user] = items
    return out


def lists_of(ranking):
    return {
        user: own["item"].to_list()
        for (user,), own in ranking.frame.group_by("user", maintain_order=True)
    }


@given(score_matrices(), st.integers(1, 16), st.sampled_from(["expected", "item", "item_desc"]))
def test_against_sorting(data, k, ties):
    scores, seen = data
    expected = by_hand(scores, seen, k, ties)
    if not expected:
        with pytest.raises(EmptyError):
            rw.rank(scores, k=k, exclude=seen or None, ties=ties)
        return
    ranking = rw.rank(scores, k=k, exclude=seen or None, ties=ties)
    assert lists_of(ranking) == expected
    short = sum(len(own) < k for own in expected.values())
    assert ranking.counts["lists_shorter_than_k"] == short
    assert ranking.counts["users_with_nothing_to_rank"] == len(scores) - len(expected)


@pytest.mark.parametrize("items", [1, 63, 64, 65, 511, 512, 513, 1025])
@pytest.mark.parametrize("k", [1, 10, 700])
def test_sizes_around_groups(items, k):
    scores = np.random.default_rng(items).integers(0, 40, (5, items)).astype(np.float32)
    assert lists_of(rw.rank(scores, k=k, ties="item")) == by_hand(scores, {}, k, "item")


def test_top_keeps_few_more_than_asked():
    scores = np.random.default_rng(0).normal(size=(50, 4096))
    rows = top(scores, largest_of_groups(scores, groups_for(10, 4096)), 10)
    assert 10 * 50 <= len(rows.user) < 20 * 50


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("with_bias", [False, True])
def test_factors_are_their_product(dtype, with_bias):
    rng = np.random.default_rng(3)
    # Whole numbers, so that sums are exact in any order.
    users, items = (rng.integers(-4, 5, (n, 7)).astype(dtype) for n in (90, 130))
    bias = rng.integers(0, 9, 130).astype(dtype) if with_bias else None
    scores = users @ items.T + (0 if bias is None else bias)
    seen = {u: rng.choice(130, 5, replace=False).tolist() for u in range(90)}
    ours = rw.rank(users=users, items=items, bias=bias, k=6, exclude=seen)
    assert ours.frame.equals(rw.rank(scores, k=6, exclude=seen).frame)


def test_scores_do_not_depend_on_how_the_work_is_cut(monkeypatch):
    rng = np.random.default_rng(5)
    users, items = (rng.normal(size=(n, 33)) for n in (300, 1000))
    whole = rw.rank(users=users, items=items, k=20).frame
    assert rw.rank(users=users, items=items, k=20, threads=1).frame.equals(whole)
    some = [250, 3, 77]
    part = rw.rank(users=users, items=items, k=20, only=some).frame
    monkeypatch.setattr(score_blocks, "_CELLS", 100 * 1024)
    again = rw.rank(users=users, items=items, k=20, threads=2).frame
    # The bits are BLAS's own; where it works on other panels the last may differ.
    for ours, theirs in ((again, whole), (part, whole.filter(pl.col("user").is_in(some)))):
        ours = ours.sort("user", maintain_order=True)
        assert ours["item"].equals(theirs["item"])
        assert ours["score"].to_numpy() == pytest.approx(theirs["score"].to_numpy(), rel=1e-12)


def test_large_catalogues_use_small_blocks(monkeypatch):
    monkeypatch.setattr(score_blocks, "_BYTES", 1 << 16)
    scores = np.random.default_rng(7).normal(size=(70, 200))
    assert lists_of(rw.rank(scores, k=3, ties="item")) == by_hand(scores, {}, 3, "item")


def test_ids_in_any_order():
    scores = np.array([[1.0, 1.0, 0.5], [0.1, 0.2, 0.3]])
    ranking = rw.rank(
        scores,
        k=2,
        ties="item",
        user_ids=["zoe", "ann"],
        item_ids=["c", "a", "b"],
        exclude={"ann": ["b"], "nobody": ["a"]},
    )
    assert lists_of(ranking) == {"zoe": ["a", "c"], "ann": ["a", "c"]}
    assert ranking.counts["excluded_without_scores"] == 1
    assert lists_of(rw.rank(scores, k=1, user_ids=[7, 9], item_ids=[30, 10, 20], ties="item")) == {
        7: [10],
        9: [20],
    }


@pytest.mark.parametrize(
    "seen",
    [
        {0: [1], 1: [0]},
        pl.DataFrame({"user_id": [0, 1], "movieId": [1, 0]}),
        pytest.param("sparse", id="sparse"),
        pytest.param("file", id="file"),
    ],
)
def test_what_was_seen_comes_in_any_form(seen, tmp_path):
    from scipy.sparse import csr_array

    if isinstance(seen, str) and seen == "sparse":
        seen = csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2))
    elif isinstance(seen, str):
        (tmp_path / "seen.csv").write_text("user,item\n0,1\n1,0\n")
        seen = tmp_path / "seen.csv"
    ranking = rw.rank(np.array([[0.1, 0.9], [0.9, 0.1]]), k=2, exclude=seen)
    assert lists_of(ranking) == {0: [0], 1: [1]}


def test_a_constant_score_comes_out_at_chance():
    truth = {u: {u} for u in range(20)}
    ranking = rw.rank(np.zeros((20, 20)), k=5)
    assert rw.evaluate(ranking, truth, "hit_rate@5")["hit_rate@5"] == pytest.approx(5 / 20)


@given(score_matrices(), st.integers(1, 5))
def test_cut_lists_have_the_expectation_of_whole_lists(data, k):
    scores, seen = data
    truth = {u: {0, scores.shape[1] - 1} for u in range(len(scores))}
    if not by_hand(scores, seen, k, "item"):
        return
    cells = [f"ndcg@{k}", f"map@{k}", f"hit_rate@{k}"]
    cut, whole = (
        rw.evaluate(rw.rank(scores, k=n, exclude=seen or None), truth, cells)
        for n in (k, scores.shape[1])
    )
    assert cut.values == pytest.approx(whole.values, rel=1e-12)


def test_ties_that_would_fill_memory_are_an_error(monkeypatch):
    from rankwise.ranking import rank

    monkeypatch.setattr(rank, "_SLACK", 100)
    with pytest.raises(InputError, match="tie"):
        rw.rank(np.zeros((40, 90)), k=2)
    assert len(rw.rank(np.zeros((40, 90)), k=2, ties="item")) == 80


def test_pytorch_tensors_are_arrays():
    torch = pytest.importorskip("torch")
    scores = torch.tensor([[0.1, 0.9, 0.5]])
    assert lists_of(rw.rank(scores, k=2)) == {0: [1, 2]}


def test_numbers_of_half_precision_are_read_as_they_are():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    generator = torch.Generator().manual_seed(0)
    users, items = (
        torch.randn((40, 6), generator=generator),
        torch.randn((90, 6), generator=generator),
    )
    bias = torch.randn(90, generator=generator)
    for kind in (torch.float16, torch.bfloat16):
        rounded = [x.to(kind) for x in (users, items, bias)]
        floats = [x.float().numpy() for x in rounded]
        for some in (slice(None), slice(None, None, 2)):  # rows that do not stand side by side, too
            ours = rw.rank(users=rounded[0][some], items=rounded[1], bias=rounded[2], k=7)
            theirs = rw.rank(users=floats[0][some], items=floats[1], bias=floats[2], k=7)
            assert ours.frame.equals(theirs.frame)
        scores = (rounded[0].float() @ rounded[1].float().T).to(kind)
        truth = {user: {user, 89 - user} for user in range(40)}
        assert rw.rank(scores, 7).frame.equals(rw.rank(scores.float().numpy(), 7).frame)
        ours = rw.rank_relevant(scores, truth=truth)
        assert ours.frame.equals(rw.rank_relevant(scores.float().numpy(), truth=truth).frame)
        with pytest.raises(InputError, match=r"found: b?float16 of shape \(6,\)"):
            rw.rank(users=rounded[0][0], items=rounded[1], k=7)
        for unread in (rounded[0].to_sparse(), rounded[0].clone().requires_grad_()):
            with pytest.raises(InputError, match="not an array"):
                rw.rank(users=unread, items=rounded[1], k=7)
        with pytest.raises(InputError, match="scores"):
            rw.rank(torch.tensor(1.0, dtype=kind), k=7)
        rounded[1][3, 2] = torch.inf
        with pytest.raises(ScoreError, match="NaN or infinite"):
            rw.rank(users=rounded[0], items=rounded[1], k=7)


def test_candidates():
    scores = np.array([[0.9, 0.8, 0.7, 0.6], [0.1, 0.2, 0.3, 0.4]])
    truth = {0: {2, 3}, 1: {3}}
    pick = rw.candidates
    everyone = rw.rank(scores, k=4, candidates=pick.of_truth(truth))
    assert lists_of(everyone) == {0: [2, 3], 1: [3, 2]}
    assert lists_of(rw.rank(scores, k=4, candidates=pick.these([0, 2, 9]))) == {
        0: [0, 2],
        1: [2, 0],
    }
    own = rw.rank(scores, k=4, candidates=pick.per_user(truth), exclude={0: [2]})
    assert lists_of(own) == {0: [3], 1: [3]}
    assert own.protocol.candidates == "given lists less seen"
    assert rw.evaluate(own, truth, "recall@1").label == ""


@given(score_matrices(), st.integers(1, 6), st.data())
def test_each_user_s_own_candidates(data, k, draw):
    scores, seen = data
    items = st.lists(st.integers(0, scores.shape[1] - 1), max_size=8, unique=True)
    own = {u: draw.draw(items) for u in range(len(scores))}
    own = {u: some for u, some in own.items() if some}
    if not own:
        return
    masked = np.full_like(scores, -np.inf)
    for user, some in own.items():
        masked[user, some] = scores[user, some]
    expected = by_hand(masked, seen, k, "expected")
    if not expected:
        return
    ranking = rw.rank(scores, k=k, exclude=seen or None, candidates=rw.candidates.per_user(own))
    assert lists_of(ranking) == expected


def test_lists_carry_their_counts_and_protocol():
    ranking = rw.rank(np.eye(3), k=2, exclude={0: [0, 1, 2], 1: [0, 2]}, only=[0, 1])
    result = rw.evaluate(ranking, {0: {0}, 1: {1}}, "recall@2")
    assert result.counts["users_with_nothing_to_rank"] == 1
    assert result.counts["lists_shorter_than_k"] == 1
    assert result.protocol.candidates == "catalogue less seen"
    assert "nothing left to rank" in repr(result)
    assert result["recall@2"] == 0.5


FACTORS = {"users": np.ones((2, 3)), "items": np.ones((4, 3))}


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ParameterError, {}),
        (ParameterError, {"users": np.ones((2, 3))}),
        (ParameterError, {**FACTORS, "scores": np.ones((2, 4))}),
        (ParameterError, {"scores": np.ones((2, 4)), "bias": np.ones(4)}),
        (InputError, {"users": np.ones((2, 3)), "items": np.ones((4, 2))}),
        (InputError, {**FACTORS, "bias": np.ones(3)}),
        (InputError, {"scores": np.ones(3)}),
        (InputError, {"scores": np.array([["a"]])}),
        (InputError, {"scores": [[1.0], [1.0, 2.0]]}),
        (ScoreError, {"scores": np.array([[1.0, np.nan]])}),
        (ScoreError, {"scores": np.array([[1.0, np.inf]])}),
        (ScoreError, {**FACTORS, "bias": np.array([0, 0, 0, np.nan])}),
        (
            ScoreError,
            {
                "users": np.full((1, 1), 1e30, np.float32),
                "items": np.full((3, 1), 1e30, np.float32),
            },
        ),
        (ParameterError, {"scores": np.eye(2), "k": 0}),
        (ParameterError, {"scores": np.eye(2), "k": 1.5}),
        (ParameterError, {"scores": np.eye(2), "ties": "input"}),
        (ParameterError, {"scores": np.eye(2), "threads": 0}),
        (ParameterError, {"scores": np.eye(2), "candidates": [0, 1]}),
        (ParameterError, {"scores": np.eye(2), "user_ids": ["a"]}),
        (IdError, {"scores": np.eye(2), "item_ids": ["a", "a"]}),
        (IdError, {"scores": np.eye(2), "item_ids": [1, "a"]}),
        (IdError, {"scores": np.eye(2), "item_ids": [1.5, 2.5]}),
        (IdError, {"scores": np.eye(2), "exclude": {0: [-1]}}),
        (IdError, {"scores": np.eye(2), "exclude": {0: ["a"]}}),
        (IdError, {"scores": np.eye(2), "exclude": {"a": ["x"]}}),
        (InputError, {"scores": np.eye(3), "exclude": np.eye(3, dtype=int)}),
        (InputError, {"scores": np.ma.masked_array([[1.0, 9.0]], [[0, 1]])}),
        (ParameterError, {"scores": np.eye(2), "k": 10**30}),
        (ParameterError, {"scores": np.eye(2), "k": None}),
        (ParameterError, {"scores": np.eye(2), "threads": "2"}),
        (ParameterError, {"scores": np.eye(2), "threads": 1.5}),
        (IdError, {"scores": np.eye(2), "only": [None, 1]}),
        (IdError, {"scores": np.eye(2), "only": [1.0]}),
        (IdError, {"scores": np.eye(2), "only": [True]}),
        (IdError, {"scores": np.eye(2), "only": "01"}),
        (IdError, {"scores": np.eye(2), "only": [2**70]}),
        (EmptyError, {"scores": np.eye(2), "only": [7]}),
        (EmptyError, {"scores": np.eye(2), "only": []}),
        (EmptyError, {"scores": np.eye(2), "exclude": {0: [0, 1], 1: [0, 1]}}),
        (EmptyError, {"scores": np.eye(2), "candidates": rw.candidates.these([8, 9])}),
    ],
)
def test_bad_input(error, options):
    with pytest.raises(error):
        rw.rank(**{"k": 2, **options})


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.UInt8, pl.Int16, pl.Int32])
def test_ids_of_every_integer_type(dtype):
    seen = pl.DataFrame({"user": [0, 1], "item": [1, 0]}).cast(dtype)
    assert lists_of(rw.rank(np.eye(2), k=2, exclude=seen)) == {0: [0], 1: [1]}
    named = rw.rank(np.eye(2), k=2, exclude=seen, user_ids=[1, 0], item_ids=[0, 1])
    assert lists_of(named) == {1: [1], 0: [0]}


def test_text_ids_of_files_are_text_everywhere(tmp_path):
    (tmp_path / "t.csv").write_text("user,item\n0,1\n1,0\n")
    path, names = tmp_path / "t.csv", {"user_ids": ["0", "1"], "item_ids": ["0", "1"]}
    pick = rw.candidates
    for candidates in (pick.of_truth(path), pick.per_user(path), pick.sampled(path, 1, seed=0)):
        assert len(rw.rank(np.eye(2), k=2, candidates=candidates, **names)) >= 2
    ranks = rw.rank_relevant(np.eye(2), truth=path, **names)
    assert rw.evaluate(ranks, path, "mrr")["mrr"] == 0.5


def test_the_tail_that_ties_is_not_recommended():
    truth = {0: {0}}
    lists = rw.rank(np.zeros((1, 10)), k=2)
    result = rw.evaluate(
        lists,
        truth,
        [
            "recall@[2,5]",
            "recall",
            "mrr",
            "num_retrieved@5",
            "gini@[2,5]",
            "item_coverage@5",
            "precision@5",
        ],
        items=range(10),
    )
    assert [result[f"recall{at}"] for at in ("@2", "@5", "")] == pytest.approx([0.2] * 3)
    assert result["mrr"] == pytest.approx((1 + 1 / 2) / 10)
    assert result["precision@5"] == pytest.approx(0.2 / 5)
    assert result["num_retrieved@5"] == result["item_coverage@5"] == 2
    assert result["gini@5"] == result["gini@2"]
    assert result.per_user["list_length"].to_list() == [2]
    for metric in ("gauc(seen=included)", "partial_auc@1", "bpref"):
        with pytest.raises(MetricError, match="needs to know which items tie"):
            rw.evaluate(lists, truth, metric)
    items = {"item": range(6), "genres": list("abcdef")}
    graded = {0: {4: 1, 5: 1, 0: 0, 1: 0}}
    cells = ["alpha_ndcg@[2,6]", "subtopic_recall@[2,6]", "mae"]
    ours, theirs = (
        rw.evaluate(rw.rank(np.zeros((1, 6)), k=2, ties=ties), graded, cells, items=items)
        for ties in ("expected", "item")
    )
    assert ours.values == theirs.values
    decided = rw.rank(np.zeros((1, 10)), k=2, ties="item")
    assert rw.evaluate(decided, truth, "num_retrieved@5")["num_retrieved@5"] == 2
    untied = rw.rank(np.arange(10.0)[None], k=2)
    assert rw.evaluate(untied, truth, "recall@5")["recall@5"] == 0


def test_factors_that_could_overflow_are_refused():
    large = np.full((2, 2), 1e20, dtype=np.float32)
    with pytest.raises(ScoreError, match="too large"):
        rw.rank(users=large, items=-large, k=1)
    assert len(rw.rank(users=large.astype(float), items=-large, k=1, ties="item")) == 2


def test_concurrent_calls_leave_blas_as_it_was():
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import threadpool_info

    before = [own["num_threads"] for own in threadpool_info()]
    scores = np.random.default_rng(0).random((2000, 300))
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: rw.rank(scores, k=5, ties="item").frame, range(6)))
    assert all(frame.equals(found[0]) for frame in found)
    assert [own["num_threads"] for own in threadpool_info()] == before


def test_equal_items_tie():
    users = np.random.default_rng(1).normal(size=(100, 16))
    items = np.repeat(np.random.default_rng(2).normal(size=(1, 16)), 100, axis=0)
    ranks = rw.rank_relevant(users=users, items=items, truth={u: {u} for u in range(100)})
    assert ranks.frame.select("first", "last").unique().rows() == [(1, 100)]


def test_scores_look_the_same_pair_by_pair():
    rng = np.random.default_rng(1)
    users, items, bias = rng.normal(size=(5, 3)), rng.normal(size=(9, 3)), rng.normal(size=9)
    whole = users @ items.T + bias
    rows, columns = np.array([0, 4, 4]), np.array([8, 0, 3])
    for scores in (Matrix(whole), Factors(users, items, bias)):
        assert scores.pairs(rows, columns) == pytest.approx(whole[rows, columns])
        some = scores.subset(np.array([3, 8]))
        assert some.pairs(rows, np.array([1, 0, 0])) == pytest.approx(whole[rows, [8, 3, 3]])


@pytest.mark.parametrize("as_column", [pa.array, lambda ids: pa.chunked_array([ids[:1], ids[1:]])])
def test_ids_in_arrow(as_column):
    plain = rw.rank(np.eye(2), k=1, user_ids=["zoe", "ann"], item_ids=[7, 9])
    arrow = rw.rank(np.eye(2), k=1, user_ids=as_column(["zoe", "ann"]), item_ids=as_column([7, 9]))
    assert arrow.frame.equals(plain.frame)
    with pytest.raises(IdError, match="integers or strings"):
        rw.rank(np.eye(2), k=1, user_ids=pa.table({"user": ["zoe", "ann"]}))
