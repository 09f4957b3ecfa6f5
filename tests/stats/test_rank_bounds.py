"""Intervals from sampled ranks: what they must contain, when they are exact, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from scipy.stats import beta, lognorm

from rankwise.stats.sampled_metrics import _bounding_functions, rank_bounds, rank_probabilities
from tools import deep


def metrics(n):
    """Hit rate and nDCG at 10, hit rate at 50, and AUC of one relevant item at each of n ranks."""
    rank = np.arange(1, n + 1)
    gain = 1 / np.log2(rank + 1)
    return np.stack(
        [rank <= 10, np.where(rank <= 10, gain, 0), rank <= 50, 1 - (rank - 1) / (n - 1)], axis=1
    ).astype(float)


def exactly(ranks, probabilities, users=4000):
    """Return users who each have exactly the distribution of sampled ranks: no sampling noise."""
    return np.repeat((ranks @ probabilities)[None], users, axis=0)


def some_distributions(n, rng):
    yield np.full(n, 1 / n)
    for spread in (0.05, 0.5):
        yield rng.dirichlet(np.full(n, spread))
    for at in (1, 10, 11, 50, n):
        yield 0.5 * (np.arange(1, n + 1) == at) + 0.5 / n
        yield (np.arange(1, n + 1) == at).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n", "m"), [(60, 6), *deep((60, 1), (200, 20), (700, 100))])
def test_no_distribution_of_true_ranks_escapes(n, m, replacement):
    given_rank, values = rank_probabilities(n, m, replacement=replacement), metrics(n)
    for ranks in some_distributions(n, np.random.default_rng(0)):
        found = rank_bounds(given_rank, values, exactly(ranks, given_rank), confidence=0.01)
        assert (found.low <= ranks @ values + 1e-9).all()
        assert (found.high >= ranks @ values - 1e-9).all()


@pytest.mark.parametrize("decided", range(4))
def test_bounding_functions_are_above_the_metric_at_every_rank(decided):
    """Also between the ranks that the linear program looks at, and whatever the sample is."""
    given_rank, metric = rank_probabilities(700, 100, replacement=False), metrics(700)[:, decided]
    for run, size in enumerate((1, 5, 1000)):
        counts = np.random.default_rng(run).dirichlet(np.full(101, 0.1)) * size
        for sign in (1, -1):
            functions = _bounding_functions(given_rank, sign * metric)
            above = given_rank @ functions.above(sign * metric, counts, size)
            assert (above >= sign * metric - 1e-12).all()


@pytest.mark.slow
def test_bounds_hold_where_a_solver_fails(monkeypatch):
    """Another solver gives the same limits; without any, the limits are the smallest and the largest value."""
    given_rank, values = rank_probabilities(60, 10, replacement=True), metrics(60)
    counts = np.eye(11)[np.arange(220) % 11]
    expected = rank_bounds(given_rank, values, counts)
    solve, failures = scipy.optimize.linprog, {("highs", False)}

    def failing(*args, method, options, **program):
        solution = solve(*args, method=method, options=options, **program)
        if (method, options["presolve"]) in failures:
            solution.x = None
        return solution

    monkeypatch.setattr("scipy.optimize.linprog", failing)
    other = rank_bounds(given_rank, values, counts)
    assert other.low == pytest.approx(expected.low, abs=1e-3)
    assert other.high == pytest.approx(expected.high, abs=1e-3)
    failures |= {("highs-ipm", False), ("highs", True)}
    trivial = rank_bounds(given_rank, values, counts)
    assert (trivial.low == values.min(axis=0)).all()
    assert (trivial.high == values.max(axis=0)).all()
    assert trivial.unresolved == pytest.approx(np.ptp(values, axis=0))


def test_distributions_that_look_alike_are_all_inside():
    """Among 20 of 2,000 items, ranks 10 and 11 look the same: hit rates of 0 and of 1."""
    n, m = 2000, 20
    given_rank, values = rank_probabilities(n, m, replacement=True), metrics(n)
    inside, outside = (np.arange(1, n + 1) == rank for rank in (10, 11))
    assert abs((inside * 1.0 - outside) @ given_rank).sum() < 0.02
    found = rank_bounds(given_rank, values, exactly(outside * 1.0, given_rank))
    assert found.low[0] == 0
    assert found.high[0] > 0.95
    assert found.unresolved[0] > 0.95


@pytest.mark.deep
def test_unresolved_part_shrinks_with_more_negatives():
    n = 1000
    ranks = 0.97 ** np.arange(n)
    ranks /= ranks.sum()
    widths = []
    for m in (10, 30, 100, 300, 999):
        given_rank = rank_probabilities(n, m, replacement=False)
        widths.append(rank_bounds(given_rank, metrics(n), exactly(ranks, given_rank)).unresolved)
    top_heavy = np.array(widths)[:, :3]
    assert (np.diff(top_heavy, axis=0) < 0).all()
    # The share of negatives below is the AUC: nothing to correct, however few they are.
    assert np.array(widths)[:, 3] == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("n", [2, 12, 300])
def test_a_sample_of_everything_is_resolved(n):
    given_rank = rank_probabilities(n, n - 1, replacement=False)
    counts = np.eye(n)[np.random.default_rng(1).integers(0, n, 500)]
    found = rank_bounds(given_rank, metrics(n)[:, [0, 2, 3]], counts)
    assert found.unresolved == pytest.approx(0, abs=1e-4)
    mean = counts.mean(axis=0) @ metrics(n)[:, [0, 2, 3]]
    assert (found.low <= mean).all()
    assert (mean <= found.high).all()
    assert (found.high - found.low < 4.2 * 0.5 / np.sqrt(500)).all()


def test_edges():
    hit = metrics(30)[:, :1]
    given_rank = rank_probabilities(30, 5, replacement=False)
    first = np.eye(6)[:1]
    alone = rank_bounds(given_rank, hit, first)
    assert alone.low[0] < 0.05
    assert alone.high[0] == 1.0
    equal = rank_bounds(given_rank, hit, np.repeat(first, 1000, axis=0))
    assert 0.9 < equal.low[0] < equal.high[0] == 1.0
    constant = rank_bounds(given_rank, np.full((30, 1), 0.3), first)
    assert constant == pytest.approx([0.3, 0.3, 0.0])
    nothing_ranked = rank_bounds(given_rank, hit, np.zeros((500, 6)))
    assert nothing_ranked.low[0] == 0
    assert nothing_ranked.high[0] < 0.05


def test_ranks_that_no_distribution_explains():
    given_rank = rank_probabilities(500, 100, replacement=True)
    middle = np.repeat(np.eye(101)[50:51], 400, axis=0)  # half of 100, for every single user
    half = (np.arange(500) < 250).astype(float)[:, None]
    assert np.isnan(rank_bounds(given_rank, half, middle)).all()


@pytest.mark.slow
def test_an_assumption_narrows_the_interval_and_can_be_wrong():
    n, m = 2000, 100
    given_rank, values = rank_probabilities(n, m, replacement=False), metrics(n)
    falling = 0.99 ** np.arange(n)
    falling /= falling.sum()
    free, assumed = (
        rank_bounds(given_rank, values, exactly(falling, given_rank), decreasing=decreasing)
        for decreasing in (False, True)
    )
    truth = falling @ values
    assert (assumed.low <= truth).all()
    assert (truth <= assumed.high).all()
    assert (assumed.high - assumed.low)[0] < 0.25 * (free.high - free.low)[0]
    bump = np.zeros(n)
    bump[10:30] = 1 / 20
    wrong = rank_bounds(given_rank, values, exactly(bump, given_rank), decreasing=True)
    assert not (bump @ values)[0] >= wrong.low[0]  # also if there is none


def test_the_seed_decides_the_folds():
    given_rank, values = rank_probabilities(200, 20, replacement=False), metrics(200)
    counts = np.eye(21)[np.random.default_rng(1).binomial(20, 0.2, 100)]
    one, again, other = (rank_bounds(given_rank, values, counts, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


RANKS = np.arange(1, 5001)


def log_normal(spread, scale, share):
    near = lognorm.cdf(RANKS, np.exp(spread), scale=np.exp(scale))
    part = 1 / (1 + np.exp(-share))
    return np.diff(part * near / near[-1] + (1 - part) * RANKS / len(RANKS), prepend=0)


WORLDS = {  # of 5,000 true ranks
    "A": log_normal(-1.846, 1.124, -2.191),
    "B": np.diff(beta.cdf(RANKS / 5000, 1.023, 19.4), prepend=0),
    "C": log_normal(0.664, 3.041, 1.947),
    "geometric": 0.97**RANKS,
    "spike at rank 1": 0.3 * (RANKS == 1) + 0.7 / 5000,
    "uniform": np.full(5000, 1 / 5000),
    "half at rank 10": 0.5 * (RANKS == 10) + 0.5 / 5000,
}


def drawn(ranks, given_rank, users, several, rng):
    """Draw sampled ranks: one item per user, or one to four of which most rank alike."""
    m = given_rank.shape[1] - 1
    n_items = rng.integers(1, 5, users) if several else np.ones(users, int)
    user = np.repeat(np.arange(users), n_items)
    alike = rng.random(users)[user]
    place = np.where(rng.random(len(user)) < 0.7, alike, rng.random(len(user)))
    above = np.minimum(np.searchsorted(np.cumsum(ranks), place), len(ranks) - 1)
    counts = np.zeros((users, m + 1))
    sampled = rng.hypergeometric(above, len(ranks) - 1 - above, m)
    np.add.at(counts, (user, sampled), 1 / n_items[user])
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "samples"), [("A", 10), *deep(*((world, 40) for world in WORLDS))]
)
def test_intervals_hold(world, samples):
    """In 0.95 of samples or more, less 2.6 Monte-Carlo standard errors."""
    m, users, several = (100, 1000, False) if world in "ABC" else (500, 200, True)
    ranks = WORLDS[world] / WORLDS[world].sum()
    given_rank = rank_probabilities(len(RANKS), m, replacement=False)
    values = metrics(len(RANKS))[:, [0, 3]]
    held = np.zeros(2)
    for run in range(samples):
        counts = drawn(ranks, given_rank, users, several, np.random.default_rng([7, run]))
        found = rank_bounds(given_rank, values, counts, seed=run)
        held += (found.low <= ranks @ values) & (ranks @ values <= found.high)
    error = np.sqrt(0.95 * 0.05 / samples)
    assert (held >= samples * (0.95 - 2.6 * error)).all(), held / samples


@pytest.mark.deep
def test_users_do_not_choose_their_own_bounding_functions():
    """Half of the items at the cut-off, the worst case: 0.86 if they did, 0.95 or more as they do not.

    The Monte-Carlo standard error of 0.95 is 0.018 with 150 samples.
    """
    n, m, users = 1000, 500, 200
    ranks = 0.5 * (np.arange(1, n + 1) == 10) + 0.5 / n
    given_rank, hit = rank_probabilities(n, m, replacement=True), metrics(n)[:, :1]
    held = 0
    for run in range(150):
        rng = np.random.default_rng([5, run])
        sampled = rng.choice(m + 1, users, p=ranks @ given_rank)
        found = rank_bounds(given_rank, hit, np.eye(m + 1)[sampled], seed=run)
        held += found.low[0] <= (ranks @ hit)[0] <= found.high[0]
    assert held >= 150 * (0.95 - 2 * 0.018)


def test_sampled_ranks_that_nobody_has_leave_room_above():
    """All items are below their whole sample; that half of them were not ranked takes no room away."""
    probabilities = rank_probabilities(50, 10, replacement=False)
    hit = (np.arange(50) < 5).astype(float)[:, None]
    last = np.zeros((40, 11))
    last[:, 10] = 1.0
    whole, half = (rank_bounds(probabilities, hit, weight * last) for weight in (1.0, 0.5))
    assert (whole.low.item(), half.low.item()) == (0.0, 0.0)
    assert whole.high.item() == pytest.approx(0.10779, abs=1e-5)
    assert half.high.item() == pytest.approx(whole.high.item(), rel=1e-9)


def test_what_is_not_ranked_has_the_value_0_on_both_sides():
    """Of a metric that is 1 at every rank half is ranked: a share 1 − 0.025^(1/40) of users may have none or both."""
    probabilities = rank_probabilities(50, 10, replacement=False)
    half = np.zeros((40, 11))
    half[:, 10] = 0.5
    bounds = rank_bounds(probabilities, np.ones((50, 1)), half)
    missed = 1 - 0.025 ** (1 / 40)
    assert (bounds.low.item(), bounds.high.item()) == pytest.approx(
        (0.5 - missed / 2, 0.5 + missed / 2), abs=3e-4
    )
