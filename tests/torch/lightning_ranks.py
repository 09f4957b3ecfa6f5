"""Validation with Lightning on some processes: run by test_examples, as `lightning_ranks.py SIZE`."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import torch
from lightning.pytorch import LightningModule, Trainer
from torch.utils.data import DataLoader, TensorDataset

from rankwise.torch import Collection
from rankwise.torch.lightning import Evaluation

N_USERS, N_ITEMS = 31, 40  # an odd number of users: the sampler gives one of them twice


class Fixed(LightningModule):
    """Scores that are the same in every process."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(2)
        self.scores = torch.randn((N_USERS, N_ITEMS), generator=generator)
        self.target = torch.randint(N_ITEMS, (N_USERS,), generator=generator)
        self.weight = torch.nn.Parameter(torch.zeros(1))

    def validation_step(self, batch, batch_idx):
        (rows,) = batch
        return {"scores": self.scores[rows], "target": self.target[rows], "users": rows}


def validated(size: int, folder: Path) -> list:
    """Validate on so many processes, and return the values of the evaluation and of the trainer, and the users."""
    evaluation = Evaluation(Collection(["ndcg@10", "recall@5", "gini@5"]))
    trainer = Trainer(
        accelerator="cpu",
        devices=size,
        strategy="ddp" if size > 1 else "auto",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        callbacks=[evaluation],
    )
    users = DataLoader(TensorDataset(torch.arange(N_USERS)), batch_size=4)
    trainer.validate(Fixed(), users, verbose=False)
    result = evaluation.results["val"][0]
    values = {name: value.item() for name, value in trainer.callback_metrics.items()}
    return [dict(result.values), values, result.counts["users"]]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # Lightning's own
    sys.stdout.write(json.dumps(validated(int(sys.argv[1]), Path(sys.argv[2]))) + "\n")
