"""Evaluate while you train, with Lightning: metrics of every epoch, early stopping, one test.

    python examples/train_with_lightning.py

The callback evaluates what `validation_step` returns. In a distributed run (`devices=2`) the
values are those of all users, each counted once, because the step says who the users are.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer, seed_everything
from lightning.pytorch.callbacks import EarlyStopping
from torch.utils.data import DataLoader, TensorDataset
from train_with_pytorch import METRICS, Factors, load, targets

from rankwise.torch import Collection
from rankwise.torch.lightning import Evaluation


class Recommender(LightningModule):
    """A matrix factorisation, trained on pairs of a seen and another item."""

    def __init__(self, n_users: int, n_items: int, target: torch.Tensor) -> None:
        super().__init__()
        self.model = Factors(n_users, n_items)
        self.n_items = n_items
        self.target: torch.Tensor
        self.register_buffer("target", target, persistent=False)

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        """Return the loss of a batch of pairs of user and item."""
        (pairs,) = batch
        worse = torch.randint(self.n_items, (len(pairs),), device=self.device)
        return self.model.loss(pairs[:, 0], pairs[:, 1], worse)

    def validation_step(self, batch: Any, batch_idx: int) -> dict[str, torch.Tensor]:
        """Return what the callback evaluates."""
        (users,) = batch
        scores = self.model.users(users) @ self.model.items.weight.T + self.model.bias
        return {"scores": scores, "target": self.target[users], "users": users}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Return Adam."""
        return torch.optim.Adam(self.parameters(), lr=0.005)


def main() -> None:
    """Train until the metric falls, and print the result of the last epoch."""
    options = argparse.ArgumentParser(description="Evaluate while training, with Lightning.")
    options.add_argument("--users", type=int, default=600)
    options.add_argument("--items", type=int, default=400)
    options.add_argument("--epochs", type=int, default=6)
    asked = options.parse_args()
    warnings.filterwarnings("ignore", message=".*does not have many workers.*")
    seed_everything(0, verbose=False)
    train, held_out, n_users, n_items = load(asked.users, asked.items)
    evaluation = Evaluation(
        Collection(METRICS, n_items=n_items, train=train, exclude_seen=True), prog_bar=True
    )
    trainer = Trainer(
        max_epochs=asked.epochs,
        accelerator="auto",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_model_summary=False,
        enable_progress_bar=False,
        callbacks=[evaluation, EarlyStopping("val/ndcg@10", mode="max", patience=3)],
    )
    trainer.fit(
        Recommender(n_users, n_items, targets(held_out, n_users, n_items)),
        DataLoader(TensorDataset(train), batch_size=256, shuffle=True),
        DataLoader(TensorDataset(torch.arange(n_users)), batch_size=200),
    )
    for epoch, result in enumerate(evaluation.results["val"], start=1):
        print(f"epoch {epoch}: ndcg@10 {result['ndcg@10']:.4f}")
    print(evaluation.results["val"][-1])


if __name__ == "__main__":
    main()
