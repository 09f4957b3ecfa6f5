"""Rankings on the device, against those of `rankwise.rank` and `rankwise.rank_relevant`."""

from __future__ import annotations

import numpy as np
import pytest

import rankwise as rw
from rankwise.errors import IdError, InputError, ParameterError, ScoreError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from tensor_worlds import DEVICE  # noqa: E402

from rankwise.torch import Collection, rank, rank_relevant  # noqa: E402

N_USERS, N_ITEMS = 30, 50


@pytest.fixture
def factors():
    generator = torch.Generator().manual_seed(4)
    users = torch.randn((N_USERS, 6), generator=generator, dtype=torch.float64)
    items = torch.randn((N_ITEMS, 6), generator=generator, dtype=torch.float64)
    bias = torch.randn(N_ITEMS, generator=generator, dtype=torch.float64)
    return tuple((x * 2).round().to(DEVICE) for x in (users, items, bias))  # with ties


@pytest.fixture
def pairs():
    generator = torch.Generator().manual_seed(5)
    seen = torch.rand((N_USERS, N_ITEMS), generator=generator) < 0.1
    target = (torch.rand((N_USERS, N_ITEMS), generator=generator) < 0.1) & ~seen
    target[:, 7] = True
    seen[:, 7] = False
    return seen.to(DEVICE), target.to(DEVICE)


def as_dict(matrix):
    return {u: row.nonzero()[:, 0].tolist() for u, row in enumerate(matrix) if row.any()}


@pytest.mark.parametrize("block_size", [None, 1, 7])
@pytest.mark.parametrize("ties", ["item", "item_desc"])
def test_top_items(factors, pairs, ties, block_size):
    users, items, bias = factors
    seen, _ = pairs
    theirs = rw.rank(
        users=users.cpu().numpy(),
        items=items.cpu().numpy(),
        bias=bias.cpu().numpy(),
        k=8,
        ties=ties,
        exclude=as_dict(seen),
    ).frame
    ours = rank(
        users=users, items=items, bias=bias, k=8, ties=ties, exclude=seen, block_size=block_size
    )
    assert ours.items.ravel().tolist() == theirs["item"].to_list()
    assert ours.scores.ravel().tolist() == theirs["score"].to_list()
    of_scores = rank(users @ items.T + bias, 8, ties=ties, exclude=seen)
    assert torch.equal(of_scores.items, ours.items)
    assert ours.n_tied == of_scores.n_tied > 0


@pytest.mark.parametrize("block_size", [None, 1, 7])
def test_ranks_of_relevant_items(factors, pairs, block_size):
    users, items, bias = factors
    seen, target = pairs
    theirs = rw.rank_relevant(
        users=users.cpu().numpy(),
        items=items.cpu().numpy(),
        bias=bias.cpu().numpy(),
        truth=as_dict(target),
        exclude=as_dict(seen),
    )
    ours = rank_relevant(
        users=users, items=items, bias=bias, target=target, exclude=seen, k=5, block_size=block_size
    )
    frame = theirs.frame.sort("user", "item")
    for name in ("user", "item", "first", "last", "score"):
        assert getattr(ours, name).tolist() == frame[name].to_list(), name
    assert ours.n_candidates.tolist() == theirs.lengths["length"].to_list()
    assert ours.n_tied == int((frame["last"] > frame["first"]).sum())
    assert ours.top is not None
    top = rank(users=users, items=items, bias=bias, k=5, exclude=seen)
    assert torch.equal(ours.top.items, top.items)


def test_few_and_many_relevant_items_are_counted_alike(factors):
    users, items, _ = factors
    scores = users @ items.T
    many = rank_relevant(scores, target=torch.ones_like(scores, dtype=torch.bool))
    for at in (0, 13, 49):
        one = rank_relevant(scores, target=torch.full((N_USERS,), at, device=DEVICE))
        here = many.item == at
        assert torch.equal(one.first, many.first[here])
        assert torch.equal(one.last, many.last[here])


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_half_precision_products_are_kept_in_float32(kind):
    generator = torch.Generator().manual_seed(6)
    users, items = (torch.randn((200, 16), generator=generator).to(DEVICE) for _ in range(2))
    ours = rank(users=users, items=items, k=20, dtype=kind)
    assert ours.scores.dtype == torch.float32
    rounded = (users.to(kind) @ items.to(kind).T).topk(20).values
    spurious = int((rounded[:, 1:] == rounded[:, :-1]).any(1).sum())
    assert ours.n_tied < spurious / 10 or (ours.n_tied == 0 and spurious > 0)
    exact = users.to(kind).double() @ items.to(kind).double().T
    assert torch.allclose(ours.scores.double(), exact.gather(1, ours.items), rtol=1e-5)


@pytest.mark.parametrize("names", [["ndcg@5", "gini@5"], ["mrr", "auc"]])
def test_metrics_from_embeddings(factors, pairs, names):
    users, items, bias = factors
    seen, target = pairs
    results = []
    for size in (None, 7):
        metrics = Collection(names, n_items=N_ITEMS, block_size=size).to(DEVICE)
        metrics.update_factors(users, items, target, bias=bias, exclude=seen)
        results.append(metrics.result())
    whole = Collection(names, n_items=N_ITEMS).to(DEVICE)
    whole.update(users @ items.T + bias, target, exclude=seen)
    assert results[0].values == results[1].values == whole.result().values
    assert metrics.compute()[names[0]].item() == results[0][names[0]]


def test_no_users_have_no_lists(factors):
    users, items, _ = factors
    assert rank(users[:0] @ items.T, 3).items.shape == (0, 3)
    assert rank(users=users[:0], items=items.repeat(9, 1), k=3).items.shape == (0, 3)
    ranks = rank_relevant(
        users[:0] @ items.T, target=torch.zeros(0, dtype=torch.int64, device=DEVICE), k=2
    )
    assert ranks.first.shape == (0,)
    assert ranks.top is not None
    assert ranks.top.items.shape == (0, 2)


def test_users_without_candidates(factors):
    users, items, _ = factors
    everything = torch.ones((N_USERS, N_ITEMS), dtype=torch.bool, device=DEVICE)
    top = rank(users=users, items=items, k=3, exclude=everything)
    assert top.items.unique().tolist() == [-1]
    first = torch.zeros(N_USERS, dtype=torch.int64, device=DEVICE)
    ranks = rank_relevant(users=users, items=items, exclude=everything, target=first)
    assert ranks.first.unique().tolist() == [0]
    assert bool(ranks.score.isnan().all())
    assert rank(users @ items.T, N_ITEMS + 5).items.shape == (N_USERS, N_ITEMS)


def test_what_is_refused(factors):
    users, items, bias = factors
    with pytest.raises(ParameterError, match="either scores"):
        rank(users=users, k=3)
    with pytest.raises(ParameterError, match="k, the length of the lists, is required"):
        rank(users=users, items=items)
    with pytest.raises(ParameterError, match="go with embeddings"):
        rank(users @ items.T, 3, bias=bias)
    with pytest.raises(InputError, match="different lengths"):
        rank(users=users[:, :3], items=items, k=3)
    with pytest.raises(InputError, match="one value per item"):
        rank(users=users, items=items, bias=bias[1:], k=3)
    with pytest.raises(InputError, match="holds floats"):
        rank(users=users.long(), items=items, k=3)
    with pytest.raises(InputError, match="different devices"):
        rank(users=users, items=items.to("meta"), k=3)
    with pytest.raises(InputError, match="tensor of floats"):
        rank(np.zeros((2, 2)), 1)
    blocks = torch.tensor([[0.0, 1.0], [torch.nan, 0.0]])
    with pytest.raises(ScoreError, match="NaN"):
        rank(blocks, 1, block_size=1)
    assert torch.is_grad_enabled()
    with pytest.raises(ScoreError, match="NaN"):
        rank(torch.tensor([[torch.nan, 0.0]]), 1)
    with pytest.raises(IdError, match="outside the catalogue"):
        rank_relevant(users @ items.T, target=torch.full((N_USERS,), N_ITEMS, device=DEVICE))
