"""Evaluate while you train, in plain PyTorch: a matrix factorisation, measured after every epoch.

    python examples/train_with_pytorch.py

The last interactions of every user are held out. Each epoch takes steps on pairs of an item that
the user has interacted with and one that they have not (Rendle et al. 2009, BPR), and then ranks
the whole catalogue for all users, without what they have seen.
"""

from __future__ import annotations

import argparse

import polars as pl
import torch

import rankwise as rw
from rankwise.datasets import synthetic
from rankwise.torch import Collection

METRICS = ["ndcg@10", "recall@[10,20]", "coverage@10", "novelty@10"]


class Factors(torch.nn.Module):
    """User and item embeddings; a score is their product plus the bias of the item."""

    def __init__(self, n_users: int, n_items: int, size: int = 32) -> None:
        super().__init__()
        self.users = torch.nn.Embedding(n_users, size)
        self.items = torch.nn.Embedding(n_items, size)
        self.bias = torch.nn.Parameter(torch.zeros(n_items))
        for embedding in (self.users, self.items):
            torch.nn.init.normal_(embedding.weight, std=0.1)

    def loss(self, user: torch.Tensor, better: torch.Tensor, worse: torch.Tensor) -> torch.Tensor:
        """Return how badly the pairs are ordered."""
        of_user = self.users(user)
        gap = (of_user * (self.items(better) - self.items(worse))).sum(1)
        gap = gap + self.bias[better] - self.bias[worse]
        return torch.nn.functional.softplus(-gap).mean()


def load(n_users: int, n_items: int) -> tuple[torch.Tensor, torch.Tensor, int, int]:
    """Return pairs of user and item for training and for validation, shape (n, 2)."""
    frame = synthetic(n_users, n_items, seed=1).interactions
    split = rw.splits.LeaveOut(2).split(frame)
    train, held_out = split.train, split.test
    users = pl.concat([train["user"], held_out["user"]]).unique().sort()
    items = pl.concat([train["item"], held_out["item"]]).unique().sort()

    def pairs(part: pl.DataFrame) -> torch.Tensor:
        columns = [
            part[name].replace_strict(ids, range(len(ids)), return_dtype=pl.Int64).to_numpy()
            for name, ids in (("user", users), ("item", items))
        ]
        return torch.stack([torch.tensor(column) for column in columns], dim=1)

    return pairs(train), pairs(held_out), len(users), len(items)


def targets(pairs: torch.Tensor, n_users: int, n_items: int) -> torch.Tensor:
    """Return the held-out items as a matrix, users by items."""
    matrix = torch.zeros((n_users, n_items), dtype=torch.bool)
    matrix[pairs[:, 0], pairs[:, 1]] = True
    return matrix


def main() -> None:
    """Train, and print the metrics of every epoch."""
    options = argparse.ArgumentParser(description="Evaluate while training, in plain PyTorch.")
    options.add_argument("--users", type=int, default=600)
    options.add_argument("--items", type=int, default=400)
    options.add_argument("--epochs", type=int, default=8)
    asked = options.parse_args()
    torch.manual_seed(0)
    train, held_out, n_users, n_items = load(asked.users, asked.items)
    target = targets(held_out, n_users, n_items)
    model = Factors(n_users, n_items)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.005)
    metrics = Collection(METRICS, n_items=n_items, train=train, exclude_seen=True)
    users = torch.arange(n_users)
    for epoch in range(asked.epochs):
        for batch in torch.split(train[torch.randperm(len(train))], 256):
            worse = torch.randint(n_items, (len(batch),))
            optimiser.zero_grad()
            torch.autograd.backward(model.loss(batch[:, 0], batch[:, 1], worse))
            optimiser.step()
        metrics.reset()
        metrics.update_factors(
            model.users.weight, model.items.weight, target, bias=model.bias, users=users
        )
        shown = {name: round(value.item(), 4) for name, value in metrics.compute().items()}
        print(f"epoch {epoch + 1}: {shown}")
    result = metrics.result()
    print(result)
    low, high = result.interval("ndcg@10")
    print(f"ndcg@10 is {result['ndcg@10']:.4f}, 95% confidence interval {low:.4f} to {high:.4f}")


if __name__ == "__main__":
    main()
