"""The examples run, models learn, and Lightning trains, evaluates and logs for real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

import rankwise as rw  # noqa: E402
from rankwise.errors import InputError, ParameterError  # noqa: E402
from rankwise.torch import Collection  # noqa: E402

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *options):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def ndcg(text):
    return [float(value) for value in re.findall(r"epoch \d+: \D*?ndcg@10\D+([\d.]+)", text)]


@pytest.mark.deep  # the example with Lightning always runs
def test_plain_pytorch():
    text = run("train_with_pytorch.py", "--epochs", "2")
    values = ndcg(text)
    assert len(values) == 2
    assert values[-1] > values[0]
    assert "95% confidence interval" in text
    assert "catalogue: 400 items" in text


@pytest.mark.deep  # the ranks of test_distributed.py run always
def test_two_processes():
    text = run("evaluate_on_two_processes.py")
    values = re.findall(r": (\{.*?\})", text)  # two processes may write one line
    assert len(values) == 3
    assert len(set(values)) == 1


def test_lightning_trains_and_logs(monkeypatch):
    lightning = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    from torch.utils.data import DataLoader, TensorDataset

    from rankwise.torch.lightning import Evaluation

    monkeypatch.syspath_prepend(EXAMPLES)
    import train_with_lightning as example

    train, held_out, n_users, n_items = example.load(300, 200)
    target = example.targets(held_out, n_users, n_items)
    metrics = Collection(["ndcg@10", "gini@10"], n_items=n_items, train=train, exclude_seen=True)
    evaluation = Evaluation(metrics)
    model = example.Recommender(n_users, n_items, target)
    model.test_step = model.validation_step
    untrained = lists_of(model, metrics, target, n_users)
    users = DataLoader(TensorDataset(torch.arange(n_users)), batch_size=64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's own, about workers and coming versions
        lightning.seed_everything(0, verbose=False)
        trainer = lightning.Trainer(
            max_epochs=4,
            accelerator="cpu",
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=False,
            callbacks=[evaluation],
        )
        trainer.fit(model, DataLoader(TensorDataset(train), batch_size=128, shuffle=True), users)
        results = evaluation.results["val"]
        assert len(results) == 4  # without the sanity check
        assert trainer.logged_metrics["val/ndcg@10"].item() == pytest.approx(results[-1]["ndcg@10"])
        assert results[-1]["ndcg@10"] > 1.5 * untrained["ndcg@10"]
        assert results[-1].values == lists_of(model, metrics, target, n_users).values
        trainer.test(model, users, verbose=False)
    assert evaluation.results["test"][0].values == results[-1].values
    assert isinstance(results[0], rw.Result)


@pytest.mark.deep  # the other examples and the ranks of test_distributed.py run always
def test_lightning_on_two_processes(tmp_path):
    pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    import lightning_ranks

    done = subprocess.run(
        [sys.executable, lightning_ranks.__file__, "2", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    both = [json.loads(line) for line in done.stdout.splitlines() if line[:2] == "[{"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's own
        alone = lightning_ranks.validated(1, tmp_path)
    assert both == [alone, alone]
    assert alone[1]["val/recall@5"] == pytest.approx(alone[0]["recall@5"])
    assert alone[2] == 31


def lists_of(model, metrics, target, n_users):
    metrics.reset()
    model.eval()
    metrics.update_factors(
        model.model.users.weight,
        model.model.items.weight,
        target,
        bias=model.model.bias,
        users=torch.arange(n_users),
    )
    return metrics.result()


def test_a_step_that_returns_something_else():
    pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    from rankwise.torch.lightning import Evaluation

    evaluation = Evaluation(Collection("recall@1"))
    with pytest.raises(InputError, match="several dataloaders"):
        evaluation.on_validation_batch_end(None, None, {}, None, 0, dataloader_idx=1)
    with pytest.raises(ParameterError, match="a Collection is evaluated"):
        Evaluation(["recall@1"])
    for outputs in (None, torch.zeros(1), {"scores": torch.rand(1, 2)}):
        with pytest.raises(InputError, match="validation_step returns a mapping"):
            evaluation.on_validation_batch_end(None, None, outputs, None, 0)
