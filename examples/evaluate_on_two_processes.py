"""Evaluate on several processes: each ranks a share of the users, all get the same values.

    python examples/evaluate_on_two_processes.py

`DistributedSampler` gives every process equally many users, and fills up with users whom another
process has as well. Because `update` is told who the users are, they count once: the values are
those of a single process, to the last digit.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from rankwise.torch import Collection

METRICS = ["ndcg@10", "recall@10", "gini@10"]
N_USERS, N_ITEMS, SIZE = 1001, 300, 16


def embeddings() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return users, items and one relevant item for each user: a stand-in for a trained model."""
    generator = torch.Generator().manual_seed(0)
    users = torch.randn((N_USERS, SIZE), generator=generator)
    items = torch.randn((N_ITEMS, SIZE), generator=generator)
    noise = torch.randn((N_USERS, N_ITEMS), generator=generator)
    return users, items, (users @ items.T + 6 * noise).argmax(1)


def evaluate(loader: DataLoader[tuple[torch.Tensor, ...]]) -> dict[str, float]:
    """Return the values for the users of a loader, and of those of all other processes."""
    users, items, target = embeddings()
    metrics = Collection(METRICS, n_items=N_ITEMS)
    for (rows,) in loader:
        metrics.update(users[rows] @ items.T, target[rows], users=rows)
    return {name: value.item() for name, value in metrics.compute().items()}


def work(rank: int, size: int) -> None:
    """Run one of the processes."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("gloo", rank=rank, world_size=size)
    data = TensorDataset(torch.arange(N_USERS))
    loader = DataLoader(data, batch_size=64, sampler=DistributedSampler(data, shuffle=False))
    print(f"process {rank}: {evaluate(loader)}", flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Evaluate in one process, then in several."""
    options = argparse.ArgumentParser(description="Evaluate on several processes.")
    options.add_argument("--processes", type=int, default=2)
    size = options.parse_args().processes
    alone = DataLoader(TensorDataset(torch.arange(N_USERS)), batch_size=64)
    print(f"one process: {evaluate(alone)}", flush=True)
    mp.spawn(work, args=(size,), nprocs=size)  # type: ignore[attr-defined,no-untyped-call]


if __name__ == "__main__":
    main()
