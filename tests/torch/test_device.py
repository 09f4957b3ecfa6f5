"""What an accelerator needs: no copies to the host, no waiting for single values, fixed orders.

There is none here: PyTorch's modes see every call, and count those that would wait.
"""

from __future__ import annotations

import pytest

import rankwise as rw
from rankwise.core import arrays

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from tensor_worlds import EVERY  # noqa: E402
from waits import NoCopies, Waits  # noqa: E402

from rankwise.torch import Collection  # noqa: E402

N_ITEMS, N_USERS = 30, 16
# These go through lists step by step, where the next step depends on what is there.
STEPWISE = (
    "alpha_ndcg",
    "bpref",
    "calibration_error",
    "err",
    "fcp",
    "xauc",
    "subtopic_recall",
    "srecall",
    "serendipity(form=history",
    "category_",
    "rbo",
)
TOGETHER = [name for name in EVERY if not name.startswith(STEPWISE)]
CUT = [name for name in TOGETHER if "@" in name and not rw.parse(name).reads_below_k]


def known():
    generator = torch.Generator().manual_seed(0)
    items = range(N_ITEMS)
    return {
        "population": "all",  # metrics of all shown rows beside sums over items
        "train": {
            user: torch.randperm(N_ITEMS, generator=generator)[:4].tolist()
            for user in range(N_USERS)
        },
        "items": {
            "item": list(items),
            "genres": [["war", "drama", "noir"][i % 3] for i in items],
            "features": [[float(i % 5), 1.0] for i in items],
            "group": [["x", "y"][i % 2] for i in items],
            "propensity": [0.5] * N_ITEMS,
        },
        "users": {"user": list(range(N_USERS)), "group": ["m", "f"] * (N_USERS // 2)},
        "reference": {user: [1, 2, 3] for user in range(N_USERS)},
        "n_items": N_ITEMS,
    }


def batch(ties):
    scores = torch.rand((N_USERS, N_ITEMS), generator=torch.Generator().manual_seed(1))
    target = torch.rand((N_USERS, N_ITEMS), generator=torch.Generator().manual_seed(2)) < 0.2
    return (scores * 5).round() / 5 if ties else scores, target, torch.arange(N_USERS)


@pytest.fixture
def as_on_accelerator(monkeypatch):
    """Tensors take the road that they take on an accelerator."""
    monkeypatch.setattr(arrays, "_is_on_accelerator", arrays.is_tensor)


def waits(names, *, ties):
    metrics = Collection(names, ties="expected" if ties else "item", **known())
    scores, target, users = batch(ties)
    seen, copies = Waits(), NoCopies()
    with copies, seen:
        metrics.update(scores, target, users=users)
    return sum(seen.counts.values()) + copies.lists, seen.counts


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.usefixtures("as_on_accelerator")
def test_the_number_of_metrics_does_not_matter(ties):
    few, _ = waits(["ndcg@3"], ties=ties)
    many, counts = waits(CUT, ties=ties)
    assert len(CUT) > 60
    # One wait for each set of rows that some of them read: judged, relevant, history, ….
    assert many <= few + 16, counts
    deeper = [name.replace("@3", "@4") for name in CUT if name.endswith("@3")]
    again, _ = waits([*CUT, *deeper], ties=ties)
    assert again <= many + 1  # the items' categories, once for each metric


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.usefixtures("as_on_accelerator")
def test_the_core_copies_no_tensor_to_the_host(ties):
    metrics = Collection(EVERY, **known())
    scores, target, users = batch(ties)
    with NoCopies():
        metrics.update(scores, target, users=users)
    assert metrics.result()["ndcg@3"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("as_on_accelerator")
def test_the_road_of_an_accelerator_gives_the_same(monkeypatch):
    scores, target, users = batch(ties=True)
    results = []
    for road in (arrays.is_tensor, lambda _: False):
        monkeypatch.setattr(arrays, "_is_on_accelerator", road)
        metrics = Collection(EVERY, **known())
        metrics.update(scores, target, users=users)
        results.append(metrics.result())
    assert results[0].values == pytest.approx(results[1].values, rel=1e-14, nan_ok=True)


@pytest.mark.slow
def test_memory_of_one_block():
    """Rankings of many users are cut into blocks, and the scores given are not changed."""
    scores, target, users = batch(ties=True)
    before = scores.clone()
    results = []
    for size in (None, 1, 5):
        metrics = Collection(EVERY, block_size=size, exclude_seen=True, **known())
        metrics.update(scores, target, users=users)
        results.append(metrics.result())
        assert torch.equal(scores, before)
    assert [r.values for r in results[1:]] == [pytest.approx(results[0].values, nan_ok=True)] * 2
