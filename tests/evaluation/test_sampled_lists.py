"""Lists from a table that are samples of negatives are said to be, and labelled; other lists are not."""

import numpy as np
import pytest

import rankwise as rw
from rankwise.errors import ParameterError
from sampled_negatives import as_tables, sampled

N_USERS = 60
KINDS = {"user": range(N_USERS), "kind": ["a", "b", None] * (N_USERS // 3)}


def best(n_items=2000, k=100, seed=0):
    """Return a model's lists: half of the users find their item in the top k."""
    rng = np.random.default_rng(seed)
    popular = np.argsort(rng.random(n_items))[: 2 * k]
    lists = {user: rng.choice(popular, k, replace=False).tolist() for user in range(N_USERS)}
    truth = {user: {own[user % k] if user % 2 else int(n_items + 1)} for user, own in lists.items()}
    return lists, truth


def warned(lists, truth, metrics="ndcg@10", **options):
    result = rw.evaluate(lists, truth, metrics, **options)
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
    assert f"check: the lists look like relevant items among {negatives} sampled negatives" in repr(
        result
    )
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
    assert not warned(
        {user: lists[user] for user in range(19)}, {user: truth[user] for user in range(19)}
    )


def test_candidates_that_are_known_are_not_inferred():
    rng = np.random.default_rng(0)
    train = {user: [user % 50, 99] for user in range(N_USERS)}
    truth = {user: {100 + user} for user in range(N_USERS)}
    chosen = rw.candidates.sampled(truth, 20, train=train, items=range(300), seed=1)
    ranking = rw.rank(
        rng.random((N_USERS, 300)), 21, candidates=chosen, user_ids=list(range(N_USERS))
    )
    result = rw.evaluate(ranking, truth, "ndcg@10")
    assert result.label == "sampled (m=20, seed=1)"
    assert not result.provenance["doubts"]


def test_files_and_chunks_are_labelled_alike(tmp_path):
    lists, truth = sampled()
    as_tables(lists, truth)[0].write_parquet(tmp_path / "run.parquet")
    plain, groups = {"user": list(truth), "kind": ["a", "b"] * (N_USERS // 2)}, {"by": "kind"}
    memory = warned(lists, truth, users=plain, **groups)
    whole = warned(tmp_path / "run.parquet", truth, users=plain, **groups)
    pieces = warned(tmp_path / "run.parquet", truth, users=plain, chunk_rows=2_500, **groups)
    assert len({result.label for result in (memory, whole, pieces)}) == 1
    assert len({tuple(result.provenance["doubts"]) for result in (memory, whole, pieces)}) == 1
    assert whole.slices["label"].to_list() == [whole.label] * 2
    saved = rw.load(whole.save(tmp_path / "saved"))
    assert saved.label == whole.label
    whole.per_user.write_csv(tmp_path / "users.csv")
    assert rw.from_per_user(tmp_path / "users.csv").label == whole.label


def test_sampled_lists_do_not_compare_with_ranked_ones():
    lists, truth = sampled()
    shuffled = {user: own[::-1] for user, own in lists.items()}
    one, two = (rw.evaluate(some, truth, "ndcg@10") for some in (lists, shuffled))
    assert rw.compare(one, two).table["metric"].to_list() == ["ndcg@10"]
    full = {
        user: [item for item in own if item not in truth[user]][:50] for user, own in lists.items()
    }
    with pytest.raises(ParameterError, match="sampled results do not compare"):
        rw.compare(one, rw.evaluate(full, truth, "ndcg@10"))
    assert rw.compare(one, rw.evaluate(full, truth, "ndcg@10"), force=True)


@pytest.mark.slow
@pytest.mark.parametrize("with_truth", [False, True])
@pytest.mark.parametrize("n_pieces", [2, 7, N_USERS])
def test_merged_partials_are_labelled_like_one_call(n_pieces, with_truth):
    lists, truth = sampled(
        n_items=300, negatives=100, seed=2
    )  # short only because items occur evenly
    sent = []
    for first in range(n_pieces):
        users = range(first, N_USERS, n_pieces)
        there = rw.Evaluator(
            ["ndcg@10", "gini@10"], truth=None if with_truth else truth, by="kind", users=KINDS
        )
        there.update(
            {user: lists[user] for user in users},
            {user: truth[user] for user in users} if with_truth else None,
        )
        sent.append(there.partial().to_bytes())
    merged = rw.Evaluator(
        ["ndcg@10", "gini@10"], truth=None if with_truth else truth, by="kind", users=KINDS
    )
    result = merged.merge(*map(rw.Partial.from_bytes, reversed(sent))).result()
    whole = warned(lists, truth, ["ndcg@10", "gini@10"], by="kind", users=KINDS)
    assert result.label == whole.label == "looks sampled (m=100)"
    assert result.provenance["doubts"] == whole.provenance["doubts"]
    assert result.per_user.equals(whole.per_user)
    assert result.slices.equals(whole.slices)


def test_pieces_of_other_lists_are_not_labelled():
    lists, truth = best()
    evaluator = rw.Evaluator("ndcg@10", truth=truth)
    for user, own in lists.items():  # the lists of half of the users look sampled by themselves
        evaluator.update({user: own})
    assert evaluator.result().label == ""
    assert evaluator.result().provenance["doubts"] == []


@pytest.mark.parametrize(
    "other", [{"train": {u: [u, 5000 + u] for u in range(N_USERS)}}, {"items": range(9000)}]
)
def test_the_label_is_one_of_lists_and_ground_truth_alone(other):
    lists, truth = sampled(n_items=150, negatives=100, seed=4)  # as good as all items
    assert not warned(lists, truth, **({"items": range(2000)} if "items" in other else other))
    lists, truth = sampled(seed=4)
    assert warned(lists, truth, "coverage@10", **other).label == "looks sampled (m=99)"


def test_the_label_does_not_depend_on_the_rule_of_users_and_seen_items():
    lists, truth = sampled(n_relevant=3)
    truth = {user: dict.fromkeys(own, 4.0) | {5000 + user: 1.0} for user, own in truth.items()}
    assert not warned(lists, truth)  # half of what is relevant is in no list
    lists |= {
        user: [1, 2, 3] for user in range(N_USERS, 2 * N_USERS)
    }  # of users without relevant items
    for population in ("judged", "recommended", "all"):
        assert (
            warned(lists, truth, relevance_threshold=4, population=population).label
            == "looks sampled (m=99)"
        )
    seen = {user: [own[0]] for user, own in lists.items() if own[0] not in truth.get(user, ())}
    result = warned(
        lists,
        truth,
        relevance_threshold=4,
        train=seen,
        exclude_seen=True,
        by=["history", "item:cold"],
    )
    assert result.slices["label"].null_count() == 0


def test_all_conventions_show_the_label():
    lists, truth = sampled()
    across = rw.across_conventions(
        lists, truth, ["ndcg@10", "hit_rate@10"], conventions=["default", "recbole"]
    )
    assert across.label == "looks sampled (m=99)"
    assert set(across.table["label"]) == {across.label}
    assert "metric, looks sampled (m=99)" in repr(across)
    assert "check: the lists look like relevant items among 99 sampled negatives" in repr(across)
    assert all(row["label"] == across.label for row in across.to_dict()["rows"])
    value = across.table.filter(convention="recbole", metric="ndcg@10")["value"].item()
    match = rw.convention_of(value, lists, truth, "ndcg@10", conventions=["recbole"])
    assert match.label == across.label
    assert "sampled negatives" in repr(
        rw.convention_of(2.0, lists, truth, "ndcg@10", conventions=["recbole"])
    )
    text = {str(user): {str(item) for item in own} for user, own in truth.items()}
    assert (
        rw.across_conventions(lists, text, "ndcg@10", conventions=["ir_measures"]).label
        == across.label
    )
    plain = rw.across_conventions(*best(), "ndcg@10", conventions=["default"])
    assert plain.label == ""
    assert "label" not in plain.table.columns


def test_all_conventions_show_the_label_of_known_candidates():
    truth = {user: {100 + user} for user in range(N_USERS)}
    chosen = rw.candidates.sampled(truth, 20, items=range(300), seed=1)
    scores = np.random.default_rng(0).random((N_USERS, 300))
    ranking = rw.rank(scores, 21, candidates=chosen, user_ids=list(range(N_USERS)))
    assert (
        rw.across_conventions(ranking, truth, "ndcg@10", conventions=["default"]).label
        == "sampled (m=20, seed=1)"
    )


def test_several_passes_of_a_convention_have_one_label():
    lists, truth = sampled()
    result = rw.evaluate(*as_tables(lists, truth), ["ndcg@10", "mrr@10"], convention="ir_measures")
    assert len({str(metric) for metric in result.metrics}) == 2
    assert result.label == "looks sampled (m=99)"
    assert set(result.per_user["label"]) == {result.label}
    assert sum("sampled negatives" in doubt for doubt in result.provenance["doubts"]) == 1
