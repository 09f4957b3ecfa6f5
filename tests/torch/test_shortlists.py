"""Lists from shortlists of embeddings, against rankings of all scores; and the kernels that make them on a GPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from strategies import examples

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from tensor_worlds import DEVICE, differences  # noqa: E402

from rankwise.torch import Collection, factors, rank  # noqa: E402

NAMES = ["ndcg@[2,3]", "recall@3", "coverage@3", "mrr@3", "gini@3", "novelty@3"]
K = 3
N_USERS = 18


def plain_largest(users, items, bias, size):
    scores = plain_scores(users, items, bias)
    n_groups = -(-len(items) // size)
    padded = scores.new_full((len(users), n_groups * size), -torch.inf)
    padded[:, : len(items)] = scores
    # As wrong as the rounding of a kernel may be: down for one user, up for the next.
    off = (
        2.0**-23
        * scores.abs().max()
        * (1 - 2 * (torch.arange(len(users), device=users.device) % 2))
    )
    return padded.view(len(users), n_groups, size).amax(2) + off[:, None]


def plain_groups(users, items, bias, rows, groups, bits, size):
    place = torch.arange(size, device=users.device)
    item = groups[:, None] * size + place
    scores = plain_scores(users, items, bias)[rows[:, None], item.clamp(max=len(items) - 1)]
    outside = item >= len(items)
    if bits is not None:
        outside |= ((bits[:, None] >> place) & 1).bool()
    return scores.masked_fill(outside, -torch.inf)


def plain_scores(users, items, bias):
    scores = users.float() @ items.float().T
    return scores if bias is None else scores + bias


PLAIN = SimpleNamespace(largest_of_groups=plain_largest, group_scores=plain_groups)


@pytest.fixture(params=["product", "groups", pytest.param("kernels", marks=pytest.mark.slow)])
def road(request, monkeypatch):
    """Shortlists are made from products, or by groups, with PyTorch or with kernels; blocks are small.

    Kernels run on a GPU, or in the interpreter of Triton (conftest.py).
    """
    kernels = {"product": None, "groups": PLAIN}.get(request.param) or factors.product_kernels()
    if request.param == "kernels" and kernels is None:
        pytest.skip("Triton is not installed")
    monkeypatch.setattr(factors, "CELLS", 1 << 14)
    monkeypatch.setattr(
        factors, "_kernels_for", lambda of, width: None if request.param == "product" else kernels
    )


HALF = (
    torch.float16 if DEVICE == "cpu" else torch.bfloat16
)  # the interpreter has no product of bfloat16


def embeddings(seed, n_users=N_USERS, n_items=700, *, levels=None, dtype=HALF):
    generator = torch.Generator().manual_seed(seed)
    users, items, bias = (
        torch.randn(shape, generator=generator) for shape in ((n_users, 8), (n_items, 8), n_items)
    )
    if levels is not None:
        users, items, bias = ((x * levels).round() for x in (users, items, bias))
    return users.to(DEVICE, dtype), items.to(DEVICE, dtype), bias.to(DEVICE)


def seen_items(seed, n_users=N_USERS, n_items=700, share=0.05):
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand((n_users, n_items), generator=generator) < share).to(DEVICE)


@pytest.mark.parametrize("levels", [None, 1, 3])
@pytest.mark.parametrize("ties", ["item", "item_desc"])
@pytest.mark.parametrize("with_seen", [False, True])
@pytest.mark.usefixtures("road")
def test_lists_are_those_of_all_scores(levels, ties, with_seen):
    users, items, bias = embeddings(1, levels=levels)
    exclude = seen_items(2) if with_seen else None
    scores = users.double() @ items.double().T + bias.double()
    expected = rank(scores, K, ties=ties, exclude=exclude)
    for size in (None, 7):
        top = rank(
            users=users, items=items, bias=bias, k=K, ties=ties, exclude=exclude, block_size=size
        )
        assert torch.equal(top.items, expected.items)
        assert torch.allclose(top.scores.double(), expected.scores)
        assert top.n_tied == expected.n_tied
    assert (expected.n_tied > 0) == (levels is not None)


@pytest.mark.parametrize("levels", [None, 1, 3])
@pytest.mark.parametrize("ties", ["expected", "item", "item_desc", "optimistic"])
@pytest.mark.usefixtures("road")
def test_metrics_are_those_of_all_scores(levels, ties):
    users, items, bias = embeddings(3, levels=levels)
    train, target, exclude = seen_items(4), seen_items(5, share=0.01), seen_items(6, share=0.002)
    history = torch.nonzero(train).cpu()
    item_ids = [f"item {number}" for number in range(len(items))]  # in another order as text
    results = []
    for by_scores in (True, False):
        metrics = Collection(
            NAMES, train=history, item_ids=item_ids, exclude_seen=True, ties=ties
        ).to(DEVICE)
        of_users = torch.arange(len(users), device=DEVICE)
        if by_scores:
            scores = users.double() @ items.double().T + bias.double()
            metrics.update(scores, target, users=of_users, exclude=exclude)
        else:
            metrics.update_factors(users, items, target, bias=bias, users=of_users, exclude=exclude)
        results.append(metrics.result())
    assert not differences(*results)
    assert results[0].counts == results[1].counts
    assert results[0].counts["truth_rows_that_are_no_candidates"] > 0


@pytest.mark.usefixtures("road")
def test_items_that_all_tie_are_ranked_from_all_scores():
    users, items, bias = torch.ones((30, 4)), torch.ones((700, 4)), torch.zeros(700)
    users[20:] = 0.5
    items[:, 0] += torch.arange(700) % 5
    users, items, bias = (
        users.to(DEVICE, torch.float16),
        items.to(DEVICE, torch.float16),
        bias.to(DEVICE),
    )
    assert rank(users=users, items=items, bias=bias, k=K).items.tolist() == [[4, 9, 14]] * 30
    results = []
    for scores in (None, users.double() @ items.double().T):
        metrics = Collection(
            NAMES[:2], ties="expected", n_items=700, train=torch.tensor([[0, 1]])
        ).to(DEVICE)
        target = torch.arange(30, device=DEVICE) * 7
        if scores is None:
            metrics.update_factors(users, items, target)
        else:
            metrics.update(scores, target)
        results.append(metrics.result())
    assert not differences(*results)
    assert results[0].per_user["recall@3"].to_list()[2] == 3 / 140


@pytest.mark.usefixtures("road")
def test_users_with_fewer_candidates_than_places():
    users, items, _ = embeddings(7)
    exclude = torch.ones((N_USERS, 700), dtype=torch.bool, device=DEVICE)
    exclude[3, 691] = exclude[3, 5] = exclude[4, 699] = False
    top = rank(users=users, items=items, k=K, exclude=exclude)
    assert {*top.items[3].tolist()} == {691, 5, -1}
    assert top.items[4].tolist() == [699, -1, -1]
    assert top.items[5].tolist() == [-1, -1, -1]


@pytest.mark.usefixtures("road")
def test_scores_of_minus_infinity_are_no_candidates():
    users, items, bias = embeddings(9)
    bias[5] = -torch.inf
    target = torch.tensor([[5, 99]] * N_USERS, device=DEVICE)
    for scores in (None, users.double() @ items.double().T + bias.double()):
        metrics = Collection(["recall@3"]).to(DEVICE)
        if scores is None:
            metrics.update_factors(users, items, target, bias=bias)
        else:
            metrics.update(scores, target)
        assert metrics.result().counts["truth_rows_that_are_no_candidates"] == N_USERS


@pytest.mark.usefixtures("road")
@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused(number):
    users, items, _ = embeddings(8)
    items[123, 2] = number
    with pytest.raises(rw.errors.ScoreError, match="NaN or infinite"):
        rank(users=users, items=items, k=K)


def test_kernels_that_cannot_be_compiled_are_left_with_a_warning(monkeypatch):
    def fail(*_):
        raise RuntimeError("no C compiler")

    device = torch.device("cpu")
    monkeypatch.setattr(factors, "product_kernels", lambda: SimpleNamespace(largest_of_groups=fail))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 6))
    with pytest.warns(RuntimeWarning, match="take longer: no C compiler"):
        assert factors.usable_kernels.__wrapped__(device) is None
    monkeypatch.setattr(factors, "product_kernels", lambda: PLAIN)
    assert factors.usable_kernels.__wrapped__(device) is PLAIN
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    assert factors.usable_kernels.__wrapped__(device) is None


@pytest.mark.slow
@examples(20)
@given(st.integers(0, 2**31), st.integers(1, 4), st.integers(420, 700))
def test_every_top_is_certain(seed, levels, n_items):
    """Groups whose largest score comes out wrong by as much as rounding allows never hide an item."""
    users, items, bias = embeddings(seed, 12, n_items, levels=levels)
    exclude = seen_items(seed, 12, n_items)
    expected = rank(users.double() @ items.double().T + bias.double(), K, exclude=exclude)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factors, "_kernels_for", lambda of, width: PLAIN)
        assert torch.equal(
            rank(users=users, items=items, bias=bias, k=K, exclude=exclude).items, expected.items
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("n_users", "n_items", "dimensions"), [(7, 300, 8), (130, 257, 24), (1, 33, 128)]
)
@pytest.mark.parametrize("with_bias", [False, True])
def test_kernels_multiply_as_pytorch_does(dtype, n_users, n_items, dimensions, with_bias):
    if dtype == torch.bfloat16 and DEVICE == "cpu":
        pytest.skip("bfloat16 needs a GPU")
    kernels = factors.product_kernels()
    if kernels is None:
        pytest.skip("Triton is not installed")
    generator = torch.Generator().manual_seed(0)
    users = torch.randn((n_users, dimensions), generator=generator).to(DEVICE, dtype)
    items = torch.randn((n_items, dimensions), generator=generator).to(DEVICE, dtype)
    bias = torch.randn(n_items, generator=generator).to(DEVICE) if with_bias else None
    n_groups = -(-n_items // 32)
    largest = kernels.largest_of_groups(users, items, bias, 32)
    rows = torch.arange(n_users, device=DEVICE).repeat_interleave(n_groups)
    groups = torch.arange(n_groups, device=DEVICE).repeat(n_users)
    bits = torch.randint(2**32, (len(rows),), generator=generator).to(DEVICE)
    rounding = factors._rounding(factors.Factors(users, items, bias))
    exact = PLAIN.group_scores(users.double(), items.double(), bias, rows, groups, None, 32)
    scores = kernels.group_scores(users, items, bias, rows, groups, None, 32)
    assert bool(((scores - exact).nan_to_num().abs() <= rounding[rows, None] / 2).all())
    assert torch.equal(scores == -torch.inf, exact == -torch.inf)
    assert bool(((largest.ravel() - exact.amax(1)).abs() <= rounding[rows] / 2).all())
    some = torch.arange(0, len(rows), 3, device=DEVICE)
    masked = kernels.group_scores(users, items, bias, rows[some], groups[some], bits[some], 32)
    kept = (~(bits[some, None] >> torch.arange(32, device=DEVICE)) & 1).bool() & (
        exact[some] > -torch.inf
    )
    assert torch.equal(masked, scores[some].masked_fill(~kept, -torch.inf))
    for user in (0, n_users - 1):  # numbers that are no memory of their own
        of_user = torch.tensor(user, device=DEVICE).expand(n_groups)
        alone = kernels.group_scores(users, items, bias, of_user, groups[:n_groups], None, 32)
        assert torch.equal(alone, scores.view(n_users, n_groups, 32)[user])
