"""What rankwise.torch is measured against, in the fastest form that was found for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor
from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG, RetrievalRecall

__all__ = ["CUTOFFS", "DenseEvaluator", "TorchMetricsRetrieval", "bare_product", "searchers"]

CUTOFFS = (5, 10, 20, 50)


class TorchMetricsRetrieval:
    """The three retrieval metrics of TorchMetrics, fed with one row per user and item."""

    names = ("ndcg@10", "map(normaliser=hits)@10", "recall@10")

    def __init__(self, device: torch.device) -> None:
        options: dict[str, Any] = {"top_k": 10, "empty_target_action": "skip"}
        kinds = (RetrievalNormalizedDCG, RetrievalMAP, RetrievalRecall)
        self.metrics = [kind(**options).to(device) for kind in kinds]

    def __call__(self, scores: Tensor, target: Tensor) -> dict[str, float]:
        """Return the three values."""
        size, width = scores.shape
        indexes = torch.arange(size, device=scores.device)[:, None].expand(size, width).ravel()
        values = {}
        for name, metric in zip(self.names, self.metrics, strict=True):
            metric.reset()
            metric.update(scores.ravel(), target.ravel(), indexes=indexes)
            values[name] = float(metric.compute())
        return values


class DenseEvaluator:
    """An evaluator in the shape of WarpRec's: dense float targets, a value per metric and cut-off.

    Every metric at every cut-off keeps the value of every user. The top k of a batch, and the
    relevances in it, are computed once and shared.
    """

    def __init__(self, device: torch.device) -> None:
        ranks = torch.arange(1, max(CUTOFFS) + 1, device=device, dtype=torch.float32)
        self.discount = 1 / torch.log2(ranks + 1)
        self.ranks = ranks
        self.ideal = torch.cat([torch.zeros(1, device=device), self.discount.cumsum(0)])
        self.kept: dict[str, list[Tensor]] = {}

    def __call__(self, scores: Tensor, target: Tensor) -> dict[str, float]:
        """Return the mean of every metric at every cut-off."""
        self.kept.clear()
        for first in range(0, len(scores), 1024):
            self.update(scores[first : first + 1024], target[first : first + 1024])
        return {name: float(torch.cat(values).nanmean()) for name, values in self.kept.items()}

    def update(self, scores: Tensor, target: Tensor) -> None:
        """Add a batch."""
        top = scores.topk(max(CUTOFFS), dim=1).indices
        relevant = target.sum(1)
        for k in CUTOFFS:
            hits = target.gather(1, top[:, :k])
            for name, metric in self.metrics.items():
                values = metric(self, hits, relevant, k)
                values = torch.where(relevant > 0, values, torch.nan)
                self.kept.setdefault(f"{name}@{k}", []).append(values)

    def precision(self, hits: Tensor, relevant: Tensor, k: int) -> Tensor:
        """Return precision."""
        return hits.sum(1) / k

    def recall(self, hits: Tensor, relevant: Tensor, k: int) -> Tensor:
        """Return recall."""
        return hits.sum(1) / relevant

    def ndcg(self, hits: Tensor, relevant: Tensor, k: int) -> Tensor:
        """Return nDCG."""
        ideal = self.ideal[relevant.clamp(max=k).to(torch.int64)]
        return (hits * self.discount[:k]).sum(1) / ideal

    def average_precision(self, hits: Tensor, relevant: Tensor, k: int) -> Tensor:
        """Return average precision."""
        return (hits * hits.cumsum(1) / self.ranks[:k]).sum(1) / relevant.clamp(max=k)

    def reciprocal_rank(self, hits: Tensor, relevant: Tensor, k: int) -> Tensor:
        """Return the reciprocal rank of the first hit."""
        return (hits / self.ranks[:k]).max(1).values

    def hit_rate(self, hits: Tensor, relevant: Tensor, k: int) -> Tensor:
        """Return whether there is a hit."""
        return hits.max(1).values

    metrics: ClassVar[dict[str, Callable[[DenseEvaluator, Tensor, Tensor, int], Tensor]]] = {
        "precision": precision,
        "recall": recall,
        "ndcg": ndcg,
        "map": average_precision,
        "mrr": reciprocal_rank,
        "hit_rate": hit_rate,
    }


def bare_product(users: Tensor, items: Tensor, rows: int) -> None:
    """Multiply all users by all items, a block of users at a time, into one buffer."""
    buffer = torch.empty((rows, len(items)), dtype=users.dtype, device=users.device)
    for first in range(0, len(users), rows):
        part = users[first : first + rows]
        torch.mm(part, items.T, out=buffer[: len(part)])


def searchers(users: Tensor, items: Tensor, k: int, rows: int) -> dict[str, Callable[[], object]]:
    """Return searches for the top k by name: PyTorch's, and libraries that are installed."""

    def in_pytorch() -> None:
        for first in range(0, len(users), rows):
            (users[first : first + rows] @ items.T).topk(k, dim=1)

    found: dict[str, Callable[[], object]] = {"torch.matmul and topk": in_pytorch}
    if users.device.type != "cuda":
        return found
    try:
        import faiss

        index = faiss.GpuIndexFlatIP(faiss.StandardGpuResources(), items.shape[1])
        index.add(items.float().cpu().numpy())
        queries = users.float().cpu().numpy()
        found["FAISS, flat, on the GPU"] = lambda: index.search(queries, k)
    except ImportError:
        print("FAISS for the GPU is not installed: left out")
    try:
        from cuvs.neighbors import brute_force

        built = brute_force.build(items.float(), metric="inner_product")
        found["cuVS, brute force"] = lambda: brute_force.search(built, users.float(), k)
    except ImportError:
        print("cuVS is not installed: left out")
    return found
