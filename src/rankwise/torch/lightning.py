"""A Lightning callback that evaluates every validation and test epoch, and logs the values.

>>> from rankwise.torch import Collection
>>> from rankwise.torch.lightning import Evaluation
>>> callback = Evaluation(Collection(["ndcg@10", "recall@10"]))  # Trainer(callbacks=[callback])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from rankwise.errors import InputError, ParameterError
from rankwise.results.result import Result
from rankwise.torch.metrics import Collection

_TAKEN = ("scores", "target", "users", "exclude", "candidates")


class Evaluation(Callback):
    """Evaluate the outputs of ``validation_step`` and ``test_step``.

    Both steps return a mapping with ``scores`` (or lists of items) and ``target``, and optionally
    ``users``, ``exclude`` and ``candidates``: the arguments of `Collection.update`. Values are
    logged as ``val/ndcg@10`` and ``test/ndcg@10``, so that ``EarlyStopping`` and
    ``ModelCheckpoint`` can monitor them. In a distributed run they are values over all users, each
    of whom is counted once.

    Parameters
    ----------
    metrics : Collection
        The metrics; with ``safe_names=True`` for loggers that reject ``@``.
    prog_bar : bool, default=False
        Show the values in the progress bar.

    Attributes
    ----------
    results : dict of str to list of Result
        The results of every epoch, under ``"val"`` and ``"test"``, without the sanity check. With
        ``strategy="ddp_spawn"`` they stay in the spawned processes.
    """

    def __init__(self, metrics: Collection, *, prog_bar: bool = False) -> None:
        if not isinstance(metrics, Collection):
            raise ParameterError(
                "a Collection is evaluated",
                found=type(metrics).__name__,
                hint='Evaluation(Collection(["ndcg@10"]))',
            )
        self.metrics = metrics
        self.prog_bar = prog_bar
        self.results: dict[str, list[Result]] = {"val": [], "test": []}

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget the lists of the epoch before."""
        self._start(pl_module)

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Add the lists of a batch."""
        self._add("validation_step", outputs, dataloader_idx)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the values, and keep the result."""
        self._end("val", trainer, pl_module)

    def on_test_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Forget the lists of the epoch before."""
        self._start(pl_module)

    def on_test_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Add the lists of a batch."""
        self._add("test_step", outputs, dataloader_idx)

    def on_test_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log the values, and keep the result."""
        self._end("test", trainer, pl_module)

    def _start(self, pl_module: LightningModule) -> None:
        self.metrics.reset()
        self.metrics.to(pl_module.device)

    def _add(self, step: str, outputs: Any, dataloader_idx: int) -> None:
        if dataloader_idx:
            raise InputError(
                "there are several dataloaders, and their users would be evaluated as one set",
                found=f"dataloader {dataloader_idx}",
                hint="evaluate each with a Collection of its own, in the steps of the module",
            )
        if not isinstance(outputs, Mapping) or not {"scores", "target"} <= outputs.keys():
            outcome = list(outputs) if isinstance(outputs, Mapping) else type(outputs).__name__
            raise InputError(
                f"{step} returns a mapping with scores and target",
                found=str(outcome),
                hint='return {"scores": scores, "target": target, "users": users}',
            )
        arguments = {name: outputs[name] for name in _TAKEN if outputs.get(name) is not None}
        self.metrics.update(arguments.pop("scores"), arguments.pop("target"), **arguments)

    def _end(self, stage: str, trainer: Trainer, pl_module: LightningModule) -> None:
        # All processes have the value of all users: there is nothing left to be reduced.
        computed = self.metrics.compute()
        if not isinstance(computed, dict):  # of a single MetricModule
            computed = {self.metrics.spec.settings.metrics[0].cells[0]: computed}
        values = {f"{stage}/{name}": value for name, value in computed.items()}
        pl_module.log_dict(values, prog_bar=self.prog_bar, sync_dist=False)
        if not trainer.sanity_checking:
            self.results[stage].append(self.metrics.result())
