"""What two and three processes do: run by test_distributed, as `ranks.py FOLDER`.

All cases run in one start of the processes; what they gave goes to a file of each process. The processes are copies of
one that has loaded PyTorch, which takes longer than all cases.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler, TensorDataset

import rankwise as rw
from rankwise.torch import Collection

N_USERS, N_ITEMS = 25, 30
NAMES = ["ndcg@[3,10]", "recall@10", "gini@5", "coverage@5", "personalization@5", "reo@5"]
WHOLE = ["auc", "mrr", "ndcg", "rmse"]
ITEMS = {"group": torch.arange(N_ITEMS) % 3}


def data():
    generator = torch.Generator().manual_seed(11)
    scores = torch.randn((N_USERS, N_ITEMS), generator=generator)
    scores = (scores * 3).round() / 3  # with ties
    target = torch.rand((N_USERS, N_ITEMS), generator=generator) < 0.2
    target[:, 4] = True
    return scores, target, torch.arange(100, 100 + N_USERS)


def collection(names, **options):
    return Collection(names, n_items=N_ITEMS, items=ITEMS, **options)


def feed(metrics, rows, *, named=True, batch=4):
    scores, target, users = data()
    for part in torch.as_tensor(rows, dtype=torch.int64).split(batch):
        if len(part):
            metrics.update(scores[part], target[part], users=users[part] if named else None)
    return metrics


def outcome(metrics):
    try:
        result = metrics.result()
    except rw.RankwiseError as error:
        return f"{type(error).__name__}: {error}"
    return {
        "values": dict(result.values),
        "per_user": result.per_user,
        "counts": dict(result.counts),
        "slices": result.slices,
    }


def sampled(rank, size, *, shuffle):
    sampler = DistributedSampler(
        TensorDataset(torch.arange(N_USERS)), size, rank, shuffle=shuffle, seed=3
    )
    return list(sampler)


def cases(rank, size):
    yield "padded", outcome(feed(collection(NAMES), sampled(rank, size, shuffle=False)))
    yield "shuffled", outcome(feed(collection(NAMES), sampled(rank, size, shuffle=True)))
    yield "whole", outcome(feed(collection(WHOLE), sampled(rank, size, shuffle=False)))
    without = feed(collection(NAMES), sampled(rank, size, shuffle=False), named=False)
    yield "without users", outcome(without)
    empty = feed(collection(NAMES), range(N_USERS) if rank == 0 else [])
    yield "empty", outcome(empty)
    ragged = feed(collection(NAMES), range(rank * 3, N_USERS if rank == size - 1 else rank * 3 + 3))
    yield "ragged", outcome(ragged)
    values = {name: value.item() for name, value in ragged.compute().items()}
    yield "computed again", values
    more = feed(collection(NAMES), [rank])
    more.compute()
    feed(more, [size + rank])  # what was gathered is not kept
    yield "two of each", outcome(more)
    differ = collection(NAMES)
    scores, target, users = data()
    differ.update(scores[:2] * (1 - 2 * rank), target[:2], users=users[:2])
    yield "different", outcome(differ)
    early = feed(collection(NAMES), [5, rank + 6], batch=1)
    yield "early", outcome(early)
    rows = sampled(rank, size, shuffle=False)
    yield "n_items of scores", outcome(feed(Collection(NAMES, items=ITEMS), rows))
    last = feed(Collection(NAMES, items=ITEMS), range(N_USERS) if rank == size - 1 else [])
    yield "n_items of the last process", outcome(last)
    yield "computed values", {name: value.item() for name, value in last.compute().items()}
    yield "no users", outcome(Collection(NAMES, items=ITEMS))
    other = Collection("gini@5")
    other.update(
        scores[:1, : N_ITEMS - rank], target[:1, : N_ITEMS - rank], users=users[rank : rank + 1]
    )
    yield "n_items differ", outcome(other)


def one_process(rank, size, folder):
    torch.set_num_threads(1)
    one_minute = timedelta(minutes=1)  # for a process that waits for one that failed
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size, timeout=one_minute
    )
    results = dict(cases(rank, size))
    (folder / f"{rank}.pickle").write_bytes(pickle.dumps(results))
    dist.barrier()
    dist.destroy_process_group()


def main(folder):
    for size in (2, 3):
        (folder / str(size)).mkdir()
        started = []
        for rank in range(size):
            if not (process := os.fork()):
                code = 1
                try:
                    one_process(rank, size, folder / str(size))
                    code = 0
                except BaseException:  # noqa: BLE001 - the copy must end here
                    traceback.print_exc()
                finally:
                    os._exit(code)
            started.append(process)
        if codes := [code for process in started if (code := os.waitpid(process, 0)[1])]:
            sys.exit(f"{size} processes: {codes}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
