"""A small world for every library, and the check that all adapters pass."""

from __future__ import annotations

import numpy as np

import rankwise as rw

USERS, ITEMS = [f"u{n}" for n in range(30)], [f"i{n}" for n in range(40)]


def interactions():
    """Rows of user, item and rating, each pair once; tastes in three groups."""
    rng = np.random.default_rng(0)
    rows = []
    for at, user in enumerate(USERS):
        near = [n for n in range(40) if n % 3 == at % 3]
        some = {*rng.choice(near, 6, replace=False), *rng.choice(40, 2, replace=False)}
        rows += [(user, ITEMS[n], float(rng.integers(1, 6))) for n in sorted(some)]
    return rows


ROWS = interactions()
SEEN = {user: {i for u, i, _ in ROWS if u == user} for user in USERS}


def matrix():
    """Users by items in the order of the ids."""
    import scipy.sparse as sp

    row = [USERS.index(u) for u, _, _ in ROWS]
    column = [ITEMS.index(i) for _, i, _ in ROWS]
    shape = (len(USERS), len(ITEMS))
    return sp.csr_matrix(([r for _, _, r in ROWS], (row, column)), shape=shape, dtype=np.float32)


def check(adapter, score=None, *, n=8, seen=SEEN, full=True):
    """Lists are sorted, without repetition or seen items, and have the library's own scores."""
    lists = adapter.recommend([*USERS, "nobody"], n)
    assert "nobody" not in lists
    assert set(lists) == set(USERS)
    for user, own in lists.items():
        items, scores = [i for i, _ in own], [s for _, s in own]
        assert all(isinstance(s, float) for s in scores)
        assert len(set(items)) == len(items) == n or (not full and len(items) <= n)
        assert not set(items) & seen.get(user, set())
        assert scores == sorted(scores, reverse=True)
        if score is not None:
            expected = [score(user, item) for item in items]
            assert np.allclose(scores, expected, rtol=1e-4, atol=1e-4), (scores, expected)
            rest = [i for i in ITEMS if i not in seen.get(user, set()) and i not in items]
            assert max(score(user, i) for i in rest) <= min(scores) + 1e-4
    many = adapter.recommend(USERS[:2], 10_000)
    for user, own in many.items():  # more than there are: no padding
        assert len(own) <= len(ITEMS) - len(seen.get(user, ()))
        assert len({i for i, _ in own}) == len(own)
    truth = {user: {ITEMS[(at * 7) % 40]} for at, user in enumerate([*USERS, "nobody"])}
    train = {user: sorted(own) for user, own in SEEN.items()}
    result = rw.evaluate_model(adapter, truth, ["recall@8", "mrr@8"], train=train)
    assert result.counts["users_model_failed_for"] == 1
    assert result.counts.get("seen_items_recommended", 0) == (
        0 if seen else result.counts.get("seen_items_recommended", 0)
    )
    assert result.counts.get("items_unknown", 0) == 0
    by_hand = np.mean([len(truth[u] & {i for i, _ in lists.get(u, [])}) for u in truth])
    assert np.isclose(result["recall@8"], by_hand)
