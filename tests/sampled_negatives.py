"""Lists of relevant items among sampled negatives, for every road of an evaluation."""

import numpy as np
import polars as pl


def sampled(n_items=2000, negatives=99, seed=0, popular=False, n_relevant=1, n_users=60):
    """Return lists of relevant items among sampled negatives, best first, and the ground truth."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, n_items + 1) if popular else np.ones(n_items)
    truth, lists = {}, {}
    for user in range(n_users):
        own = rng.choice(
            n_items, n_relevant if n_relevant == 1 else rng.integers(1, 4), replace=False
        )
        others = np.setdiff1d(np.arange(n_items), own)
        drawn = rng.choice(
            others, negatives, replace=False, p=chances[others] / chances[others].sum()
        )
        truth[user] = set(own.tolist())
        lists[user] = rng.permutation(np.append(drawn, own)).tolist()
    return lists, truth


def as_tables(lists, truth):
    """Return the same as tables, with ranks."""
    ranked = [
        (user, item, rank) for user, own in lists.items() for rank, item in enumerate(own, start=1)
    ]
    relevant = [(user, item) for user, own in truth.items() for item in own]
    return (
        pl.DataFrame(ranked, schema=["user", "item", "rank"], orient="row"),
        pl.DataFrame(relevant, schema=["user", "item"], orient="row"),
    )
