"""Evaluation on PyTorch: TorchMetrics modules, ranking from embeddings, Lightning.

Install with ``pip install "rankwise[torch]"``.

>>> import torch
>>> from rankwise.torch import MetricModule
>>> recall = MetricModule("recall@1")
>>> recall.update(torch.tensor([[0.1, 0.7], [0.6, 0.2]]), torch.tensor([1, 1]))
>>> recall.compute().item()
0.5
"""

from __future__ import annotations

from rankwise.torch.metrics import Collection, MetricModule
from rankwise.torch.rank import RelevantRanks, TopItems, rank, rank_relevant

__all__ = ["Collection", "MetricModule", "RelevantRanks", "TopItems", "rank", "rank_relevant"]

try:
    import torchmetrics as _torchmetrics  # noqa: F401
except ImportError as _error:
    raise ImportError(
        'rankwise.torch needs PyTorch and TorchMetrics: pip install "rankwise[torch]"'
    ) from _error
