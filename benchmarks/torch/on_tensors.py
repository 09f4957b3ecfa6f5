"""rankwise.torch against TorchMetrics, a dense evaluator, and the floors of memory and product.

    python benchmarks/torch/on_tensors.py             # on a GPU, else on the CPU
    python benchmarks/torch/on_tensors.py --quick     # smaller, a minute
    python benchmarks/torch/on_tensors.py --only embeddings   # or torchmetrics, dense, lists; may be repeated
    python benchmarks/torch/on_tensors.py --device cpu

Every row is a ratio of times taken in turns in one run. Values are compared before anything is
timed. On a GPU the sizes are those of the targets; on a processor they are smaller, and said.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from opponents import CUTOFFS, DenseEvaluator, TorchMetricsRetrieval, bare_product, searchers
from torch import Tensor

sys.path.append(str(Path(__file__).parents[1]))

from timing import in_turns, ratio

from rankwise.torch import Collection, rank

SIX = ["precision", "recall", "ndcg", "map", "mrr", "hit_rate"]
TWENTY = [
    *(f"{name}@[10,50]" for name in SIX),
    "rbp@10",
    "r_precision",
    "gini@10",
    "coverage@10",
    "shannon_entropy@10",
    "item_coverage@10",
    "personalization@10",
    "arp@10",
]


def waiting(work: Callable[..., Any], device: torch.device) -> Callable[[], Any]:
    """Return the work with a wait for the device at its end, so that it can be timed."""

    def timed() -> Any:
        value = work()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return value

    return timed


def evaluate(
    metrics: Collection, *given: Tensor, batch: int | None = None, **more: Tensor
) -> dict[str, float]:
    """Return the values of lists or scores, a batch at a time."""
    metrics.reset()
    scores, target = given
    step = batch or len(scores)
    for first in range(0, len(scores), step):
        rows = slice(first, first + step)
        metrics.update(scores[rows], target[rows], **{n: v[rows] for n, v in more.items()})
    return {name: value.item() for name, value in metrics.compute().items()}


def check(ours: dict[str, float], theirs: dict[str, float]) -> None:
    """Raise unless the values agree."""
    for name, value in theirs.items():
        assert abs(ours[name] - value) < 1e-5 * max(1.0, abs(value)), (name, ours[name], value)


def row(what: str, jobs: list[Callable[[], Any]], target: str, turns: int, note: str = "") -> None:
    """Time two jobs in turns, and print how many times longer the first takes."""
    for job in jobs:
        job()  # warm
    theirs, ours = in_turns(jobs, turns)
    seconds = f"{min(theirs):.3f} s, {min(ours):.3f} s"
    print(f"| {what} | {ratio(theirs, ours):.2f}× | {target} | {seconds}{note} |", flush=True)


def against_torchmetrics(device: torch.device, size: int, turns: int) -> None:
    """Compare with the retrieval metrics: 100 scored items per user."""
    generator = torch.Generator(device).manual_seed(0)
    scores = torch.rand((size, 100), generator=generator, device=device)
    target = torch.rand((size, 100), generator=generator, device=device) < 0.05
    theirs, ours = TorchMetricsRetrieval(device), Collection(TorchMetricsRetrieval.names).to(device)
    check(
        evaluate(ours, scores, target),
        {
            n.replace("map(normaliser=hits)", "map(normaliser=hits)"): v
            for n, v in theirs(scores, target).items()
        },
    )
    jobs = [
        waiting(partial(theirs, scores, target), device),
        waiting(partial(evaluate, ours, scores, target), device),
    ]
    row(
        f"TorchMetrics, 3 metrics, {size:,} users × 100 items: time over rankwise",
        jobs,
        "≥ 20×",
        turns,
    )


def against_dense(device: torch.device, size: int, n_items: int, turns: int) -> None:
    """Compare with an evaluator of dense targets, 6 metrics at 4 cut-offs."""
    generator = torch.Generator(device).manual_seed(1)
    scores = torch.rand((size, n_items), generator=generator, device=device)
    target = (
        torch.rand((size, n_items), generator=generator, device=device) < 10 / n_items
    ).float()
    names = [f"{name}@[{','.join(map(str, CUTOFFS))}]" for name in SIX]
    theirs, ours = DenseEvaluator(device), Collection(names).to(device)
    mask = target.bool()
    check(evaluate(ours, scores, mask, batch=1024), theirs(scores, target))
    jobs = [
        waiting(partial(theirs, scores, target), device),
        waiting(partial(evaluate, ours, scores, mask, batch=1024), device),
    ]
    row(f"dense evaluator, 24 values, {size:,} × {n_items:,}: time over rankwise", jobs, "–", turns)


def against_reading(device: torch.device, size: int, turns: int) -> None:
    """Compare ready lists with reading them once."""
    generator = torch.Generator(device).manual_seed(2)
    lists = torch.rand((size, 1000), generator=generator, device=device).argsort(1)[:, :100]
    lists = lists.contiguous()
    target = torch.rand((size, 1000), generator=generator, device=device).argsort(1)[:, :10]
    metrics = Collection([f"{name}@[5,10,20,100]" for name in SIX]).to(device)
    jobs = [
        waiting(partial(evaluate, metrics, lists, target), device),
        waiting(lambda: (lists.sum(), target.sum()), device),
    ]
    row(
        f"ready lists, 24 values, {size:,} × 100: time over reading the tensors once",
        jobs,
        "–",
        turns,
    )


def from_embeddings(device: torch.device, users: int, items: int, turns: int) -> None:
    """Compare the full catalogue from embeddings with the bare blocked product."""
    half = device.type == "cuda"
    kind = torch.bfloat16 if half else torch.float32
    generator = torch.Generator(device).manual_seed(3)
    user_factors = torch.randn((users, 128), generator=generator, device=device).to(kind)
    item_factors = torch.randn((items, 128), generator=generator, device=device).to(kind)
    target = torch.randint(items, (users, 5), generator=generator, device=device).sort(1).values
    target[:, 1:][target[:, 1:] == target[:, :-1]] = -1
    seen = torch.randint(items, (users, 20), generator=generator, device=device).sort(1).values
    seen[:, 1:][seen[:, 1:] == seen[:, :-1]] = -1
    rows = max(1, (1 << 26) // items)
    popular = torch.stack([torch.arange(items), torch.arange(items)], dim=1)
    shape = f"{users:,} × {items:,}, d = 128, {str(kind).split('.')[1]}"
    flops = 2.0 * users * items * 128

    def job(names: list[str], exclude: Tensor | None = None) -> Callable[[], Any]:
        metrics = Collection(names, n_items=items, train=popular).to(device)

        def work() -> Any:
            metrics.reset()
            metrics.update_factors(user_factors, item_factors, target, exclude=exclude)
            return metrics.compute()

        return waiting(work, device)

    bare = waiting(partial(bare_product, user_factors, item_factors, rows), device)
    twenty = [name for name in TWENTY if name != "r_precision"]
    row(
        f"20 metrics from embeddings, {shape}: time over the bare product",
        [job(twenty), bare],
        "≤ 1.5×",
        turns,
    )
    row(
        f"6 metrics, seen items out, {shape}: time over the bare product",
        [job([f"{name}@10" for name in SIX], seen), bare],
        "–",
        turns,
        f"; product {flops / 1e9:.0f} GFLOP",
    )
    ours = waiting(partial(rank, users=user_factors, items=item_factors, k=10), device)
    for name, search in searchers(user_factors, item_factors, 10, rows).items():
        row(
            f"{name}, top 10, {shape}: time over rankwise.torch.rank",
            [waiting(search, device), ours],
            "–",
            turns,
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--turns", type=int, default=5)
    options.add_argument(
        "--only", action="append", choices=["torchmetrics", "dense", "lists", "embeddings"]
    )
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    asked = options.parse_args()
    device, small = torch.device(asked.device), 10 if asked.quick else 1
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "processor"
    print(f"PyTorch {torch.__version__} on: {name}, {torch.get_num_threads()} threads\n")
    print("| what | found | target | note |\n|---|--:|--:|---|")
    catalogue = (1_000_000 // small, 100_000) if device.type == "cuda" else (20_000, 20_000)
    parts: dict[str, Callable[[], None]] = {
        "torchmetrics": lambda: against_torchmetrics(device, 10_000 // small, asked.turns),
        "dense": lambda: against_dense(device, 8192 // small, 20_000, asked.turns),
        "lists": lambda: against_reading(device, 100_000 // small, asked.turns),
        "embeddings": lambda: from_embeddings(device, *catalogue, asked.turns),
    }
    for part in asked.only or parts:
        parts[part]()


if __name__ == "__main__":
    main()
