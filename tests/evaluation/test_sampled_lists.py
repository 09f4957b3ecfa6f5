"""Lists from a table that are samples of negatives are said to be, and labelled; other lists are not."""

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ParameterError

N_USERS = 60


def sampled(n_items=2000, negatives=99, seed=0, popular=False, n_relevant=1):
    """Return lists of relevant items among sampled negatives, best first, and the ground truth."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, n_items + 1) if popular else np.ones(n_items)
    truth, lists = {}, {}
    for user in range(N_USERS):
        own = rng.choice(n_items, n_relevant if n_relevant == 1 else rng.integers(1, 4), replace=False)
        others = np.setdiff1d(np.arange(n_items), own)
        drawn = rng.choice(others, negatives, replace=False, p=chances[others] / chances[others].sum())
        truth[user] = set(own.tolist())
        lists[user] = rng.permutation(np.append(drawn, own)).tolist()
    return lists, truth


def best(n_items=2000, k=100, seed=0):
    """Return a model's lists: half of the users find their item in the top k."""
    rng = np.random.default_rng(seed)
    popular = np.argsort(rng.random(n_items))[: 2 * k]
    lists = {user: rng.choice(popular, k, replace=False).tolist() for user in range(N_USERS)}
    truth = {user: {own[user % k] if user % 2 else int(n_items + 1)} for user, own in lists.items()}
    return lists, truth


def warned(lists, truth, measures="ndcg@10", **options):
    result = rw.evaluate(lists, truth, measures, **options)
    said = [doubt for doubt in result.provenance["doubts"] if "sampled negatives" in doubt]
    assert bool(said) == bool(result.label) == ("label" in result.per_user.columns)
    return result if said else None


@pytest.mark.parametrize("negatives", [9, 99, 150])
@pytest.mark.parametrize("n_relevant", [1, 3])
@pytest.mark.parametrize("popular", [False, True])
def test_sampled_lists_are_labelled(negatives, n_relevant, popular):
    lists, truth = sampled(negatives=negatives, n_relevant=n_relevant, popular=popular)
    result = warned(lists, truth)
    assert result.label == f"looks sampled (m={negatives})"
    assert f"looks sampled (m={negatives})" in repr(result)
    assert f"check: the lists look like relevant items among {negatives} sampled negatives" in repr(result)
    assert set(result.scores["label"]) == {result.label}


def test_samples_of_a_small_catalogue_spread_evenly():
    lists, truth = sampled(n_items=300, negatives=100)
    assert warned(lists, truth)
    lists, truth = sampled(n_items=300, negatives=100, popular=True)
    assert not warned(lists, truth)  # may be the lists of a good model


def test_a_full_ranking_of_a_small_catalogue_is_no_sample():
    truth = {user: {user % 80} for user in range(N_USERS)}
    rng = np.random.default_rng(1)
    lists = {user: rng.permutation(80).tolist() for user in truth}
    assert not warned(lists, truth)


def test_top_lists_and_perfect_lists_are_no_samples():
    assert not warned(*best())
    truth = {user: {user, user + 1, 7} for user in range(N_USERS)}
    assert not warned({user: list(items) for user, items in truth.items()}, truth)
    lists, truth = sampled()
    assert not warned({user: lists[user] for user in range(19)}, {user: truth[user] for user in range(19)})


def test_candidates_that_are_known_are_not_inferred():
    rng = np.random.default_rng(0)
    train = {user: [user % 50, 99] for user in range(N_USERS)}
    truth = {user: {100 + user} for user in range(N_USERS)}
    chosen = rw.candidates.sampled(truth, 20, train=train, items=range(300), seed=1)
    ranking = rw.rank(rng.random((N_USERS, 300)), 21, candidates=chosen, user_ids=list(range(N_USERS)))
    result = rw.evaluate(ranking, truth, "ndcg@10")
    assert result.label == "sampled (m=20, seed=1)"
    assert not result.provenance["doubts"]


def test_files_and_chunks_are_labelled_alike(tmp_path):
    lists, truth = sampled()
    rows = [(user, item, rank) for user, own in lists.items() for rank, item in enumerate(own, start=1)]
    pl.DataFrame(rows, schema=["user", "item", "rank"], orient="row").write_parquet(tmp_path / "run.parquet")
    plain, groups = {"user": list(truth), "kind": ["a", "b"] * (N_USERS // 2)}, {"by": "kind"}
    memory = warned(lists, truth, users=plain, **groups)
    whole = warned(tmp_path / "run.parquet", truth, users=plain, **groups)
    pieces = warned(tmp_path / "run.parquet", truth, users=plain, chunk_rows=2_500, **groups)
    assert len({result.label for result in (memory, whole, pieces)}) == 1
    assert whole.slices["label"].to_list() == [whole.label] * 2
    saved = rw.load(whole.save(tmp_path / "saved"))
    assert saved.label == whole.label
    whole.per_user.write_csv(tmp_path / "users.csv")
    assert rw.from_per_user(tmp_path / "users.csv").label == whole.label


def test_sampled_lists_do_not_compare_with_ranked_ones():
    lists, truth = sampled()
    shuffled = {user: own[::-1] for user, own in lists.items()}
    one, two = (rw.evaluate(some, truth, "ndcg@10") for some in (lists, shuffled))
    assert rw.compare(one, two).table["measure"].to_list() == ["ndcg@10"]
    full = {user: [item for item in own if item not in truth[user]][:50] for user, own in lists.items()}
    with pytest.raises(ParameterError, match="sampled results do not compare"):
        rw.compare(one, rw.evaluate(full, truth, "ndcg@10"))
    assert rw.compare(one, rw.evaluate(full, truth, "ndcg@10"), force=True)
