"""The modules as users of TorchMetrics expect them, and what is refused."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array

import rankwise as rw
from rankwise.errors import (
    DuplicateError,
    EmptyError,
    FileError,
    IdError,
    InputError,
    MetricError,
    ParameterError,
    ScoreError,
)
from rankwise.splits import LeaveOut
from sampled_negatives import sampled

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torchmetrics = pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from rankwise.torch import Collection, MetricModule, rank, states  # noqa: E402

NAMES = ["ndcg@[2,5]", "recall@5", "gini@5", "mrr@5"]
N_ITEMS = 20


def batches(n=3, size=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    for at in range(n):
        scores = torch.randn((size, N_ITEMS), generator=generator)
        target = torch.rand((size, N_ITEMS), generator=generator) < 0.15
        target[:, 0] = True
        yield scores, target, torch.arange(at * size, (at + 1) * size)


def fed(metrics, **options):
    for scores, target, users in batches(**options):
        metrics.update(scores, target, users=users)
    return metrics


@pytest.fixture
def expected():
    scores, target, users = (torch.cat(parts) for parts in zip(*batches(), strict=True))
    truth = {int(u): set(t.nonzero()[:, 0].tolist()) for u, t in zip(users, target, strict=True)}
    lists = rw.rank(scores.numpy(), 5)
    return rw.evaluate(lists, truth, NAMES, items=range(N_ITEMS))


def test_compute_per_user_and_result(expected):
    metrics = fed(Collection(NAMES, n_items=N_ITEMS))
    values = metrics.compute()
    assert {name: v.item() for name, v in values.items()} == dict(expected.values)
    assert metrics.per_user().equals(expected.per_user)
    result = metrics.result()
    assert isinstance(result, rw.Result)
    assert result.interval("recall@5") == expected.interval("recall@5")
    assert result.counts["users"] == 24


def test_results_without_users_are_not_compared():
    named, unnamed = fed(Collection(NAMES, n_items=N_ITEMS)), Collection(NAMES, n_items=N_ITEMS)
    for scores, target, _ in batches():
        unnamed.update(scores, target)
    assert unnamed.result().values == named.result().values
    with pytest.raises(ParameterError, match="rows stand for users"):
        rw.compare({"a": named.result(), "b": unnamed.result()})


def test_candidates_that_were_passed_are_told_from_the_catalogue():
    results = []
    for candidates in (None, torch.arange(N_ITEMS).expand(8, -1)):
        metrics = Collection(NAMES, n_items=N_ITEMS)
        for scores, target, users in batches():
            metrics.update(scores, target, users=users, candidates=candidates)
        results.append(metrics.result())
    assert results[0].values == results[1].values
    assert "candidates: those passed with the scores" in " ".join(str(results[1]).split())
    with pytest.raises(ParameterError, match="different candidates"):
        rw.compare({"a": results[0], "b": results[1]})


def test_what_help_and_repr_say():
    assert "%(" not in Collection.__doc__
    assert "relevance_threshold : float" in Collection.__doc__
    assert "'ndcg@[2,5]'" in repr(Collection(NAMES, n_items=N_ITEMS))


def test_nothing_to_evaluate_is_said_as_it_is():
    metrics = Collection("recall@1")
    metrics.update(torch.rand(2, 3), torch.tensor([-1, -1]))
    assert metrics.compute()["recall@1"].isnan()
    with pytest.raises(EmptyError, match="no evaluated user has a recommendation list"):
        metrics.result()


def test_results_can_be_compared_and_saved(expected, tmp_path):
    result = fed(Collection(NAMES, n_items=N_ITEMS)).result()
    result.save(tmp_path / "result")
    assert rw.load(tmp_path / "result").values == expected.values
    assert rw.compare({"a": result, "b": expected}) is not None


def test_a_single_metric_is_a_scalar(expected):
    assert fed(MetricModule("recall@5")).compute().item() == expected["recall@5"]
    several = fed(MetricModule("ndcg@[2,5]")).compute()
    assert {n: v.item() for n, v in several.items()} == {
        n: expected[n] for n in ("ndcg@2", "ndcg@5")
    }
    assert MetricModule("recall@5").higher_is_better is True
    with pytest.raises(MetricError, match="one metric"):
        MetricModule(["ndcg@5", "recall@5"])


def test_metric_collection_with_a_first_batch_of_zeros():
    """Compute groups share the states of metrics that look alike after the first batch."""
    ours = [
        MetricModule(name, n_items=8) for name in ("ndcg@5", "recall@5", "mrr@5", "map@5", "gini@5")
    ]
    collection = torchmetrics.MetricCollection({str(at): m for at, m in enumerate(ours)})
    nothing = torch.tensor([[5.0, 4, 3, 2, 1, 0, 0, 0]])
    collection.update(nothing, torch.tensor([7]))
    collection.update(
        torch.tensor([[0.1, 0.9, 0.5, 0.4, 0.2, 0.0, 0.0, 0.0]]), torch.tensor([[0, 2]])
    )
    values = {name: v.item() for name, v in collection.compute().items()}
    alone = Collection([m.spec.settings.metrics[0] for m in ours], n_items=8)
    alone.update(nothing, torch.tensor([7]))
    alone.update(torch.tensor([[0.1, 0.9, 0.5, 0.4, 0.2, 0.0, 0.0, 0.0]]), torch.tensor([[0, 2]]))
    assert list(values.values()) == [v.item() for v in alone.compute().values()]
    assert len(set(values.values())) == 5


def test_metric_collection_with_equal_metrics_and_other_options():
    whole = {
        "all": MetricModule("recall@2"),
        "high": MetricModule("recall@2", relevance_threshold=4),
    }
    collection = torchmetrics.MetricCollection(whole)
    scores = torch.tensor([[0.9, 0.5, 0.1]])
    collection.update(scores, torch.tensor([[5.0, 0, 0]]))  # both alike after the first batch
    collection.update(scores, torch.tensor([[3.0, 0, 5]]))
    assert {n: v.item() for n, v in collection.compute().items()} == {"all": 0.75, "high": 0.5}


def test_a_running_window():
    running = torchmetrics.wrappers.Running(MetricModule("recall@5"), window=2)
    for scores, target, users in batches():
        running(scores, target, users=users)
    alone = MetricModule("recall@5")
    for scores, target, users in list(batches())[1:]:
        alone.update(scores, target, users=users)
    assert running.compute() == alone.compute()


def test_reset_clone_and_pickle(expected):
    metrics = fed(Collection(NAMES, n_items=N_ITEMS))
    for other in (copy.deepcopy(metrics), pickle.loads(pickle.dumps(metrics)), metrics.clone()):
        assert other.result().values == expected.values
    metrics.reset()
    with pytest.warns(UserWarning, match="before the ``update``"):  # TorchMetrics' own
        assert all(np.isnan(v.item()) for v in metrics.compute().values())
    with (
        pytest.warns(UserWarning, match="before the ``update``"),
        pytest.raises(EmptyError, match="no user has been evaluated"),
    ):
        metrics.result()
    assert fed(metrics).result().values == expected.values


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("single", [True, False])
def test_states_that_are_saved_in_mid_epoch(expected, tmp_path, fresh, single):
    """A repeated user of the last update before saving, or after loading, counts once."""
    names = "gini@5" if single else NAMES
    make = (
        (lambda: MetricModule(names, n_items=N_ITEMS))
        if single
        else (lambda: Collection(names, n_items=N_ITEMS))
    )
    (scores, target, users), *later = batches()
    metrics = make()
    metrics.update(scores, target, users=users)
    metrics.update(
        scores[:3], target[:3], users=users[:3]
    )  # as DistributedSampler fills up batches
    torch.save(metrics.state_dict(), tmp_path / "metrics.pt")
    other = make() if fresh else fed(make(), seed=1)
    other.load_state_dict(torch.load(tmp_path / "metrics.pt"))
    for one in (metrics, other):
        if one is metrics:  # the saved one cannot take back what came before its last update
            one.reset()
            one.update(scores, target, users=users)
        for part in later:
            one.update(part[0], part[1], users=part[2])
        one.update(scores[3:5], target[3:5], users=users[3:5])
    wanted = {name: value for name, value in expected.values.items() if not single or name == names}
    assert dict(metrics.result().values) == dict(other.result().values) == wanted
    assert other.per_user().equals(metrics.per_user())
    assert other.result().counts["users_repeated"] == metrics.result().counts["users_repeated"] + 3


def test_states_are_loaded_before_anything_else(expected):
    saved = fed(Collection(NAMES, n_items=N_ITEMS)).state_dict()
    one, other = Collection(NAMES, n_items=N_ITEMS), Collection(NAMES, n_items=N_ITEMS)
    one.load_state_dict(saved)
    other.load_state_dict(saved)
    one.update(torch.zeros(1, N_ITEMS), torch.tensor([0]), users=torch.tensor([99]))
    assert other.result().values == expected.values  # the loaded states are its own
    assert one.result().counts["users"] == 25
    one.load_state_dict(saved)  # over values that were computed already
    assert {name: value.item() for name, value in one.compute().items()} == dict(expected.values)


def test_states_of_an_empty_metric_and_of_a_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.metrics = torchmetrics.MetricCollection({"a": Collection(NAMES, n_items=N_ITEMS)})

    model, other = Model(), Model()
    other.load_state_dict(model.state_dict())
    fed(other.metrics["a"])
    fed(model.metrics["a"])
    other.load_state_dict(model.state_dict())
    assert other.metrics["a"].result().counts["users"] == 24
    other.metrics["a"].persistent(mode=False)
    assert not other.state_dict()


def test_states_of_a_user_who_came_twice_with_two_lists_are_saved_as_they_are():
    metrics = Collection("recall@1")
    for item in (0, 1):
        metrics.update(torch.tensor([[0.9, 0.1]]), torch.tensor([item]), users=torch.tensor([7]))
    other = Collection("recall@1")
    other.load_state_dict(metrics.state_dict())
    for one in (metrics, other):
        with pytest.raises(DuplicateError, match="a user came twice"):
            one.compute()


def test_forward_gives_the_batch_and_adds_it(expected):
    metrics = Collection(NAMES, n_items=N_ITEMS)
    for scores, target, users in batches():
        value = metrics(scores, target, users=users)
        alone = Collection(NAMES, n_items=N_ITEMS)
        alone.update(scores, target, users=users)
        assert value == alone.compute()
    assert metrics.result().values == expected.values


@pytest.mark.skipif(
    not hasattr(torchmetrics.Metric, "merge_state"), reason="TorchMetrics before 1.6"
)
def test_merge_state(expected):
    one, other = Collection(NAMES, n_items=N_ITEMS), Collection(NAMES, n_items=N_ITEMS)
    for at, (scores, target, users) in enumerate(batches()):
        (one if at else other).update(scores, target, users=users)
    one.merge_state(other)
    assert one.result().values == expected.values


def test_inference_mode_and_gradients(expected):
    metrics = Collection(NAMES, n_items=N_ITEMS)
    for at, (scores, target, users) in enumerate(batches()):
        scores.requires_grad_()
        with torch.inference_mode(mode=at == 1):
            metrics.update(scores, target, users=users)
        assert scores.grad is None
    assert metrics.result().values == expected.values
    metrics.to("cpu").double().half()
    assert metrics.result().values == expected.values


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_precisions(kind):
    metrics = Collection(NAMES, n_items=N_ITEMS)
    lists = {}
    for scores, target, users in batches():
        metrics.update(scores.to(kind), target, users=users)
        rows = zip(users.tolist(), scores.to(kind).double(), strict=True)
        lists |= {u: dict(enumerate(row.tolist())) for u, row in rows}
    frame = [(u, i, s) for u, own in lists.items() for i, s in own.items()]
    table = pl.DataFrame(frame, schema=["user", "item", "score"], orient="row")
    scores = table.pivot("item", index="user", values="score").drop("user").to_numpy()
    theirs = rw.evaluate(rw.rank(scores, 5), truth_of(), NAMES, items=range(N_ITEMS))
    assert metrics.result().values == theirs.values
    if kind == torch.bfloat16:
        assert metrics.result().counts["tied_rows"] == theirs.counts["tied_rows"] > 0


def truth_of():
    return {
        int(u): set(row.nonzero()[:, 0].tolist())
        for _, target, users in batches()
        for u, row in zip(users, target, strict=True)
    }


def forms(target):
    most = int(target.sum(1).max())
    lists = torch.full((len(target), most), -1)
    for row, own in enumerate(target):
        items = own.nonzero()[:, 0].flip(0)  # in any order
        lists[row, : len(items)] = items
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        csr = target.float().to_sparse_csr()
        coo = target.float().to_sparse_coo()
    return {
        "bool": target,
        "float": target.float(),
        "whole": target.long(),
        "csr": csr,
        "coo": coo,
        "lists": lists,
    }


@pytest.mark.parametrize("form", ["bool", "float", "whole", "csr", "coo", "lists"])
def test_forms_of_target_and_exclude(form):
    results = []
    for name in ("bool", form):
        metrics = Collection(NAMES, n_items=N_ITEMS)
        for scores, target, users in batches():
            seen = torch.zeros_like(target)
            seen[:, 3:6] = True
            metrics.update(scores, forms(target)[name], users=users, exclude=forms(seen)[name])
        results.append(metrics.result())
    assert results[0].values == results[1].values
    assert results[0].per_user.equals(results[1].per_user)


@pytest.mark.parametrize("width", [8, 16, 21])
def test_dense_bools_of_every_layout(width):
    generator = torch.Generator().manual_seed(9)
    whole = torch.rand((9, width + 1), generator=generator) < 0.3
    scores = torch.rand((9, width), generator=generator)
    for target in (
        whole[:, :width].contiguous(),
        whole[:, 1:],
        whole[:, :width],
        whole[:, :width].T.contiguous().T,
    ):
        results = []
        for form in (target, target.float()):
            metrics = Collection(["ndcg@5", "recall@2"])
            metrics.update(scores, form)
            results.append(metrics.result())
        assert results[0].per_user.equals(results[1].per_user)


def test_candidates_as_mask_or_as_lists():
    generator = torch.Generator().manual_seed(5)
    masked, sampled = Collection(NAMES, n_items=N_ITEMS), Collection(NAMES, n_items=N_ITEMS)
    labelled = Collection(["ndcg@5", "mrr@5"])
    whole = [Collection(["auc", "mrr", "ndcg@5"], n_items=N_ITEMS) for _ in range(2)]
    for scores, target, users in batches():
        chosen = torch.stack([torch.randperm(N_ITEMS, generator=generator)[:9] for _ in users])
        chosen[:, -1] = -1
        mask = torch.zeros((len(users), N_ITEMS + 1), dtype=torch.bool)
        mask.scatter_(1, chosen.remainder(N_ITEMS + 1), True)
        own = scores.gather(1, chosen.clamp(min=0))
        masked.update(scores, target, users=users, candidates=mask[:, :-1])
        sampled.update(own, target, users=users, candidates=chosen)
        whole[0].update(scores, target, users=users, candidates=mask[:, :-1])
        whole[1].update(own, target, users=users, candidates=chosen)
        labels = target.gather(1, chosen.clamp(min=0)) & (chosen >= 0)
        labelled.update(own, labels, users=users, candidates=chosen)
    assert masked.result().per_user.equals(sampled.result().per_user)
    assert masked.result().values == sampled.result().values
    assert whole[0].result().per_user.equals(whole[1].result().per_user)
    assert labelled.result().counts["users"] > 0


def test_sampled_candidates_are_labelled():
    metrics = Collection(["ndcg@5"], negatives=8)
    metrics.update(
        torch.rand(4, 9), torch.tensor([0, 1, 2, 3]), candidates=torch.arange(9).repeat(4, 1)
    )
    assert "sampled (m=8" in str(metrics.result())


def test_the_label_of_ready_lists_is_not_inferred():
    lists, truth = sampled()
    metrics = Collection(["ndcg@10"], n_items=2000)
    metrics.update(
        torch.tensor([*lists.values()]), torch.tensor([min(own) for own in truth.values()])
    )
    assert metrics.result().label == ""
    assert metrics.result().values == rw.evaluate(lists, truth, "ndcg@10").values


def test_seen_items_are_excluded():
    train = {0: [1, 2], 1: [0]}
    scores = torch.tensor([[0.1, 0.9, 0.8, 0.7], [0.9, 0.1, 0.8, 0.2]])
    metrics = Collection(["recall@1", "novelty@1"], n_items=4, train=train, exclude_seen=True)
    metrics.update(scores, torch.tensor([3, 2]), users=torch.tensor([0, 1]))
    assert metrics.compute()["recall@1"].item() == 1.0
    lists = Collection(["recall@1", "novelty@1"], n_items=4, train=train, exclude_seen=True)
    lists.update(
        scores.argsort(1, descending=True), torch.tensor([3, 2]), users=torch.tensor([0, 1])
    )
    assert lists.result().values == metrics.result().values
    assert lists.result().counts["seen_items_taken_out"] == 3
    metrics.update(scores[:1], torch.tensor([1]), users=torch.tensor([0]) + 7)
    hidden = torch.tensor([[True, False, False, False]])
    metrics.update(scores[:1], torch.tensor([0]), users=torch.tensor([9]), exclude=hidden)
    result = metrics.result()
    assert result.counts["truth_rows_that_are_no_candidates"] == 1
    assert "1 row of the truth that are not candidates" in str(result)


def test_facts_as_tensors():
    generator = torch.Generator().manual_seed(1)
    features = torch.randn((N_ITEMS, 3), generator=generator)
    group = torch.randint(3, (N_ITEMS,), generator=generator)
    genres = torch.rand((N_ITEMS, 4), generator=generator) < 0.4
    genres[:, 0] = True
    pairs = torch.stack(
        [torch.arange(24).repeat(2), torch.randint(N_ITEMS, (48,), generator=generator)], 1
    )
    pairs = pairs.unique(dim=0)
    names = ["ild@5", "novelty@5", "reo@5", "subtopic_recall@5", "ndcg@5"]
    metrics = Collection(
        names,
        n_items=N_ITEMS,
        train=pairs,
        users={"sex": torch.arange(24) % 2},
        items={"features": features, "group": group, "genres": genres},
        by="sex",
    )
    fed(metrics)
    scores = torch.cat([scores for scores, _, _ in batches()])
    theirs = rw.evaluate(
        rw.rank(scores.numpy(), 5),
        truth_of(),
        names,
        by="sex",
        train=pl.DataFrame({"user": pairs[:, 0].numpy(), "item": pairs[:, 1].numpy()}),
        items={
            "item": list(range(N_ITEMS)),
            "features": features.double().tolist(),
            "group": group.tolist(),
            "genres": [[str(i) for i in row.nonzero()[:, 0].tolist()] for row in genres],
        },
        users={"user": list(range(24)), "sex": [u % 2 for u in range(24)]},
    )
    assert metrics.result().values == pytest.approx(theirs.values)
    assert metrics.result().slices["group"].to_list() == theirs.slices["group"].to_list()


def test_ids_stand_for_numbers(expected):
    item_ids = [f"i{at:02}" for at in range(N_ITEMS)]
    user_ids = [f"u{at:02}" for at in range(24)]
    metrics = fed(Collection(NAMES, item_ids=item_ids, user_ids=user_ids))
    assert metrics.result().values == expected.values
    assert metrics.per_user()["user"].to_list() == user_ids
    with pytest.raises(InputError, match="positions in user_ids"):
        metrics.update(torch.rand(1, N_ITEMS), torch.tensor([1]), users=torch.tensor([24]))


def test_names_for_loggers():
    metrics = Collection(
        ["ndcg@2", "reo@2"], n_items=3, safe_names=True, items={"group": torch.tensor([0, 1, 1])}
    )
    metrics.update(torch.rand(4, 3), torch.tensor([0, 1, 2, 0]))
    names = list(metrics.compute())
    assert names[:2] == ["ndcg_at_2", "reo_at_2"]
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_") for name in names)


def test_users_who_come_twice_count_once(expected):
    metrics = fed(Collection(NAMES, n_items=N_ITEMS))
    scores, target, users = next(iter(batches()))
    metrics.update(scores[:3], target[:3], users=users[:3])
    result = metrics.result()
    assert result.values == expected.values
    assert result.counts["users_repeated"] == 3
    assert result.counts["hits"] == expected.counts["hits"]
    metrics.update(scores[:1] + 0.0, target[:1], users=users[:1])
    with pytest.raises(InputError, match="came again after other updates"):
        metrics.compute()


def test_a_user_with_two_lists():
    scores, target, users = next(iter(batches()))
    for rule in ("error", "first"):
        metrics = Collection(["recall@5", "gini@5"], n_items=N_ITEMS, repeated_users=rule)
        metrics.update(scores, target, users=users)
        once = metrics.result()
        metrics.update(-scores[:1], target[:1], users=users[:1])
        if rule == "first":
            assert metrics.result().values == once.values
        else:
            with pytest.raises(DuplicateError, match="different lists"):
                metrics.compute()


def test_users_who_come_twice_in_one_update():
    scores, target, users = next(iter(batches()))
    once = Collection(NAMES, n_items=N_ITEMS)
    once.update(scores, target, users=users)
    twice = Collection(NAMES, n_items=N_ITEMS, block_size=3)
    both = [torch.cat([x, x[2:5]]) for x in (scores, target, users)]
    twice.update(both[0], both[1], users=both[2])
    later, _, _ = list(batches())[1]
    for metrics in (once, twice):
        metrics.update(later, target, users=users + 100)
        metrics.update(later[:0], target[:0], users=users[:0])  # an empty batch changes nothing
        metrics.to("cpu")
    assert twice.result().values == once.result().values
    assert twice.result().counts["users_repeated"] == 3
    assert twice.result().counts["hits"] == once.result().counts["hits"]
    both[0][-1] *= -1
    with pytest.raises(DuplicateError, match="different lists"):
        twice.update(both[0], both[1], users=both[2])


def test_taking_back_a_user_takes_only_that_users_ties():
    metrics = Collection(["recall@2"])
    tied = torch.zeros((4, 6))
    metrics.update(tied, torch.tensor([0, 1, 2, 2]), users=torch.tensor([0, 1, 2, 2]))
    assert metrics.result().counts["tied_rows"] == 18


def test_lists_that_differ_below_what_is_kept_are_different():
    metrics = Collection("mrr")
    users = torch.tensor([7])
    metrics.update(torch.tensor([[0.9, 0.8, 0.1, 0.0]]), torch.tensor([2]), users=users)
    metrics.update(torch.tensor([[0.9, 0.2, 0.8, 0.1]]), torch.tensor([2]), users=users)
    with pytest.raises(DuplicateError, match="different lists"):
        metrics.compute()
    padded = Collection("recall@2")
    padded.update(torch.tensor([[1, 2]]), torch.tensor([2]), users=users)
    padded.update(torch.tensor([[1, 2, -1]]), torch.tensor([2]), users=users)
    assert padded.result().counts["users_repeated"] == 1


def test_labels_of_candidates_are_checked():
    candidates = torch.tensor([[0, 1, 2], [3, 4, 5]])
    metrics = Collection("recall@2")
    for labels in ([[torch.nan, 0.0, 1.0]] * 2, [[1, -1, -1], [4, 5, -1]]):
        with pytest.raises(ScoreError):
            metrics.update(torch.rand(2, 3), torch.tensor(labels), candidates=candidates)


def test_a_threshold_needs_relevances():
    scores, target = torch.tensor([[0.9, 0.1], [0.2, 0.3]]), torch.tensor([[True, False]] * 2)
    metrics = Collection("recall@1", relevance_threshold=4)
    for form in (target, torch.tensor([0, 0])):
        with pytest.raises(InputError, match="needs a target with relevances"):
            metrics.update(scores, form)
    metrics.update(scores, target.float() * 5)
    assert metrics.compute()["recall@1"].item() == 0.5


def sparse_row(values, width=3):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = torch.tensor([0, len(values)])
        return torch.sparse_csr_tensor(
            edges,
            torch.arange(len(values)),
            torch.tensor(values),
            (1, width),
            check_invariants=True,
        )


@pytest.mark.parametrize("zero", [False, 0.0, 0])
def test_stored_zeros(zero):
    """What is stored is judged, seen or excluded, also when its value is 0."""
    scores = torch.tensor([[0.9, 0.5, 0.1]])
    stored = sparse_row([zero, type(zero)(1)])
    metrics = Collection("recall@1")
    metrics.update(scores, stored)
    assert metrics.compute()["recall@1"].item() == 0.0
    assert metrics.result().counts["truth_rows"] == 2
    only = sparse_row([zero])
    metrics.reset()
    metrics.update(scores, torch.tensor([0]), exclude=only)
    metrics.update(scores, torch.tensor([1]), exclude=only)
    assert metrics.compute()["recall@1"].item() == 0.5
    assert rank(scores, 1, exclude=only).items.tolist() == [[1]]
    lists = Collection("recall@1")
    lists.update(torch.tensor([[0, 1]]), torch.tensor([1]), exclude=only)
    assert lists.compute()["recall@1"].item() == 1.0
    dense = Collection("recall@1")  # the zeros of a dense mask say nothing
    dense.update(
        scores, torch.tensor([0]), exclude=torch.tensor([[zero, zero, zero]]).to(torch.float32)
    )
    assert dense.compute()["recall@1"].item() == 1.0


def test_stored_zeros_of_seen_items_are_those_of_scipy():
    scores = torch.tensor([[0.9, 0.5, 0.1]])
    matrix = csr_array((np.array([0.0]), ([0], [0])), shape=(1, 3))
    for train in (
        sparse_row([0.0]),
        sparse_row([False]),
        sparse_row([0]),
        matrix,
        {"user": [0], "item": [0]},
    ):
        seen = Collection("recall@1", n_items=3, train=train, exclude_seen=True)
        seen.update(scores, torch.tensor([1]), users=torch.tensor([0]))
        assert seen.compute()["recall@1"].item() == 1.0
    assert rw.rank(scores.numpy(), 1, exclude=matrix).frame["item"].to_list() == [1]
    result = rw.evaluate({0: [0, 1]}, {0: {1}}, "recall@1", train=matrix, exclude_seen=True)
    assert result["recall@1"] == 1.0


@pytest.mark.parametrize(
    "kind", [torch.uint8, torch.int16, torch.uint16, torch.int32, torch.uint32]
)
def test_whole_numbers_of_every_size(kind):
    scores = torch.zeros(2, 300)
    scores[0, 255] = 1
    metrics = Collection("recall@1", ties="item")
    metrics.update(scores, torch.tensor([255, 3]).to(kind), users=torch.tensor([0, 1]).to(kind))
    metrics.update(scores, (scores > 0).to(kind), users=torch.tensor([2, 3]).to(kind))
    assert metrics.per_user()["recall@1"].to_list() == [1.0, 0.0, 1.0]


def test_scores_of_eight_bits():
    metrics = Collection("recall@1")
    metrics.update(torch.tensor([[0.1, 0.9]]).to(torch.float8_e5m2), torch.tensor([1]))
    assert metrics.compute()["recall@1"].item() == 1.0


def test_a_split_is_what_is_known_before_its_test_part():
    """Validation items are masked and belong to the history; popularity is that of training."""
    table = pl.DataFrame(
        {"user": [0, 0, 0, 1, 1, 1], "item": [0, 1, 2, 1, 3, 4], "timestamp": [1, 2, 3, 1, 2, 3]}
    )
    split = LeaveOut(1, validation=LeaveOut(1)).split(table)
    scores = np.tile(np.arange(6.0, 0.0, -1.0), (2, 1))
    truth = torch.zeros(2, 6)
    truth[[0, 1], [2, 4]] = 1
    names = ["recall@1", "novelty@2", "repeated@2"]
    for exclude in (True, False):
        metric = Collection(names, train=split, exclude_seen=exclude, n_items=6)
        metric.update(torch.from_numpy(scores), truth, users=torch.arange(2))
        lists = rw.rank(scores, k=2, exclude=split if exclude else None)
        expected = rw.evaluate(lists, split, names)
        assert {name: float(value) for name, value in metric.compute().items()} == expected.values
        assert expected["repeated@2"] == (0.0 if exclude else 0.75)


def test_exclude_beside_lists_of_candidates():
    candidates, scores = torch.tensor([[5, 7, 9]]), torch.tensor([[0.9, 0.5, 0.1]])
    for exclude in (
        torch.tensor([[True, False, False]]),
        torch.tensor([[5, 6, 11]]),
        torch.tensor([[5]]),
    ):
        metrics = Collection("recall@1")
        metrics.update(scores, torch.tensor([7]), candidates=candidates, exclude=exclude)
        assert metrics.compute()["recall@1"].item() == 1.0


def test_ties_in_the_order_of_the_input():
    """Columns, or candidates as they come: not by id."""
    metrics = Collection("recall@1", item_ids=["b", "a"], ties="input")
    metrics.update(torch.tensor([[0.5, 0.5]]), torch.tensor([0]))
    assert metrics.compute()["recall@1"].item() == 1.0
    metrics.reset()
    metrics.update(torch.tensor([[0.5, 0.5]]), torch.tensor([1]), candidates=torch.tensor([[1, 0]]))
    assert metrics.compute()["recall@1"].item() == 1.0


def test_tensors_of_training_name_positions():
    train = torch.tensor([[0, 0], [1, 1]])
    scores = torch.tensor([[0.9, 0.5], [0.9, 0.5]])
    for ids in ({"n_items": 2}, {"item_ids": [1, 0]}, {"item_ids": ["b", "a"], "user_ids": [7, 3]}):
        metrics = Collection("recall@1", train=train, exclude_seen=True, **ids)
        metrics.update(scores, torch.tensor([1, 0]), users=torch.tensor([0, 1]))
        assert metrics.compute()["recall@1"].item() == 1.0
    with pytest.raises(IdError, match="by a position that there is not"):
        Collection("recall@1", train=torch.tensor([[0, 2]]), n_items=2)


def test_an_error_in_forward_loses_nothing(expected):
    metrics = fed(Collection(NAMES, n_items=N_ITEMS))
    scores = torch.full((1, N_ITEMS), torch.nan)
    with pytest.raises(ScoreError):
        metrics(scores, torch.tensor([0]), users=torch.tensor([99]))
    assert metrics.result().values == expected.values
    assert metrics._to_sync
    metrics.set_dtype(torch.float16)
    assert metrics.result().values == expected.values


def test_many_relevant_items_of_few_users():
    """Counting and sorting give the same, also for users who differ in how many they have."""
    generator = torch.Generator().manual_seed(8)
    scores = (torch.rand((6, 400), generator=generator) * 20).round()
    target = torch.rand((6, 400), generator=generator) < 0.005
    target[0] = torch.rand(400, generator=generator) < 0.5
    target[:, 3] = True
    for ties in ("expected", "item", "item_desc"):
        metrics = Collection(["mrr", "ndcg", "gauc", "log_loss"][:3], n_items=400, ties=ties)
        metrics.update(scores, target)
        lists = {u: dict(enumerate(row)) for u, row in enumerate(scores.tolist())}
        truth = {u: row.nonzero()[:, 0].tolist() for u, row in enumerate(target)}
        theirs = rw.evaluate(lists, truth, ["mrr", "ndcg"], ties=ties)
        assert metrics.result()["mrr"] == theirs["mrr"]
        assert metrics.result()["ndcg"] == theirs["ndcg"]


def test_both_kinds_of_lists_in_one_result():
    metrics = Collection("recall@1")
    metrics.update(torch.tensor([[0.9, 0.1]]), torch.tensor([0]))
    metrics.update(torch.tensor([[1, 0]]), torch.tensor([0]))
    assert metrics.result().provenance["settings"]["ties"] == "expected+input"
    assert metrics.compute()["recall@1"].item() == 0.5


def test_rows_without_users_are_different_users():
    metrics = MetricModule("recall@1")
    for _ in range(2):
        metrics.update(torch.tensor([[0.9, 0.1]]), torch.tensor([0]))
    assert metrics.result().counts["users"] == 2
    metrics.update(torch.tensor([[0.9, 0.1]]), torch.tensor([0]), users=torch.tensor([0]))
    with pytest.raises(InputError, match="and not to others"):
        metrics.compute()


def test_who_is_evaluated():
    scores = torch.tensor([[0.9, 0.1], [0.2, 0.3], [-torch.inf, -torch.inf]])
    target = torch.tensor([0, -1, 1])
    for population, users in (
        ("truth", [0, 2]),
        ("both", [0]),
        ("recommended", [0, 1]),
        ("judged", [0, 2]),
        ("all", [0, 1, 2]),
    ):
        metrics = Collection("recall@1", population=population)
        metrics.update(scores, target)
        assert metrics.per_user()["user"].to_list() == users
        assert metrics.result().counts["lists_without_relevant_items"] == 1


SCORES, TARGET = torch.rand(2, 4), torch.tensor([0, 1])
WRONG = {
    "not a tensor": (InputError, [[0.1, 0.2]], TARGET, {}),
    "one row per user and one column per item": (InputError, torch.rand(4), TARGET, {}),
    "bool of shape": (InputError, torch.rand(2, 4) > 0.5, TARGET, {}),
    "one row for each row": (InputError, SCORES, torch.tensor([0, 1, 2]), {}),
    "one column for each item": (InputError, SCORES, torch.rand(2, 5), {}),
    "target names an item outside": (IdError, SCORES, torch.tensor([0, 9]), {}),
    "item -5 of 4": (IdError, SCORES, torch.tensor([0, -5]), {}),
    "target names an item twice": (DuplicateError, SCORES, torch.tensor([[0, 0], [1, 2]]), {}),
    "relevance that is NaN": (ScoreError, SCORES, torch.full((2, 4), torch.nan), {}),
    "in the shape of the scores": (ScoreError, SCORES, torch.tensor([[0, 1, -1, -1]] * 2), {}),
    "a score is NaN": (ScoreError, torch.tensor([[0.1, torch.nan], [0.1, 0.2]]), TARGET, {}),
    "NaN or infinite": (ScoreError, torch.tensor([[0.1, torch.inf], [0.1, 0.2]]), TARGET, {}),
    "users are whole numbers": (InputError, SCORES, TARGET, {"users": torch.rand(2)}),
    "2 rows": (InputError, SCORES, TARGET, {"users": torch.arange(3)}),
    "lists name an item twice": (DuplicateError, torch.tensor([[1, 1], [0, 1]]), TARGET, {}),
    "candidates have the shape": (InputError, SCORES, TARGET, {"candidates": torch.ones(2, 3)}),
    "candidates are bools": (InputError, SCORES, TARGET, {"candidates": torch.ones(2, 4)}),
    "candidates name an item twice": (
        DuplicateError,
        SCORES,
        TARGET,
        {"candidates": torch.ones(2, 4, dtype=torch.int64)},
    ),
    "candidates go with scores": (
        InputError,
        torch.tensor([[1, 2], [0, 1]]),
        TARGET,
        {"candidates": torch.ones(2, 2, dtype=torch.bool)},
    ),
    "two sparse dimensions": (InputError, SCORES, torch.ones(2, 4).to_sparse(1), {}),
    "names an item twice for one user": (
        DuplicateError,
        SCORES,
        torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 1.0], (2, 4), check_invariants=True),
        {},
    ),
    "scores is not a tensor": (InputError, None, TARGET, {}),
    "target is not a tensor": (InputError, SCORES, None, {}),
    "one column per item": (InputError, torch.rand(2, 0), TARGET, {}),
    "lists are whole numbers": (InputError, SCORES.to_sparse(), TARGET, {}),
    "one item per user is a whole number": (InputError, SCORES, TARGET.float(), {}),
    "users is not a tensor": (InputError, SCORES, TARGET, {"users": ["ann", "bob"]}),
    "lists name an item outside": (
        IdError,
        torch.tensor([[7, 3], [1, 0]]),
        torch.tensor([[True, False], [True, False]]),
        {},
    ),
    "different devices": (InputError, SCORES, TARGET.to("meta"), {}),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_is_refused(message):
    error, scores, target, options = WRONG[message]
    metrics = Collection(["recall@2"])
    metrics.update(SCORES, TARGET)
    before = metrics.result()
    with pytest.raises(error, match=message):
        metrics.update(scores, target, **options)
    assert metrics.result().values == before.values


@pytest.mark.parametrize("given", [[[0, 1, 2]], [[4.0, 3.0, 2.0]]], ids=["lists", "scores"])
def test_hits_below_the_cutoff_are_not_read(given):
    given, target = torch.tensor(given), torch.tensor([[0.0, 1.0, 3.0]])
    near, below = Collection(["err@2"]), Collection(["err@3"])
    near.update(given, target)
    assert near.compute()["err@2"] == 0.25
    with pytest.raises(ScoreError, match="above the largest grade"):
        below.update(given, target)


def test_what_is_refused_at_the_start():
    with pytest.raises(MetricError, match="needs training interactions"):
        Collection("novelty@5", n_items=3)
    with pytest.raises(ParameterError, match="exclude_seen needs"):
        Collection("recall@5", exclude_seen=True)
    with pytest.raises(ParameterError, match="item_ids has an id"):
        Collection("recall@5", item_ids=[1, 2], n_items=3)
    with pytest.raises(ParameterError, match="does not take jackknife"):
        Collection("recall@5", jackknife=4)
    with pytest.raises(ParameterError, match="repeated_users"):
        Collection("recall@5", repeated_users="last")
    with pytest.raises(InputError, match="one column for each item"):
        Collection("recall@5", n_items=3).update(torch.rand(1, 4), torch.tensor([0]))
    with pytest.raises(InputError, match="users= is required"):
        Collection("recall@5", weights={0: 1.0}).update(torch.rand(1, 4), torch.tensor([0]))
    with pytest.raises(IdError, match="pass user_ids="):
        Collection("recall@5", n_items=2, train={"ann": [0]})
    with pytest.raises(ParameterError, match="ordered by score"):
        Collection("recall@2", ties="item").update(torch.tensor([[0, 1]]), torch.tensor([0]))
    with pytest.raises(MetricError, match="needs predicted scores"):
        Collection("mean_score@2").update(torch.tensor([[0, 1]]), torch.tensor([0]))


def test_more_places_than_candidates():
    metrics = Collection(["ndcg@10", "coverage@10"], n_items=4)
    metrics.update(SCORES, TARGET)
    assert metrics.result().counts["lists_shorter_than_k"] == 2
    assert metrics.compute()["catalog_coverage@10"].item() == 1.0


def test_list_length_and_whole_rankings():
    scores = torch.tensor([[0.4, 0.3, 0.2, 0.1]])
    whole, cut = Collection("mrr"), Collection("mrr", list_length=2)
    for metrics in (whole, cut):
        metrics.update(scores, torch.tensor([2]))
    assert whole.compute()["mrr"].item() == pytest.approx(1 / 3)
    assert cut.compute()["mrr"].item() == 0.0
    tied = Collection("gauc(seen=included)", n_items=4, list_length=2)
    with pytest.raises(MetricError, match="ties with the last item"):
        tied.update(torch.tensor([[0.4, 0.3, 0.3, 0.1]]), torch.tensor([2]))


def test_constant_scores_take_a_bounded_number_of_rows(monkeypatch):
    """A new model may score all items alike: ranks below the end of the lists take no room."""
    from rankwise.blocks import hits
    from rankwise.torch import ranked

    rows = []
    starts = hits.offsets
    monkeypatch.setattr(
        hits, "offsets", lambda sizes: rows.append(int(sizes.sum())) or starts(sizes)
    )
    monkeypatch.setattr(ranked, "_TIED_RANKS", 300)
    scores, target = torch.zeros(30, 100), torch.zeros(30, 100, dtype=torch.bool)
    target[:, :3] = True
    cut, whole = Collection(["ndcg@10", "mrr@10"]), Collection(["ndcg@10", "mrr"])
    cut.update(scores, target)
    assert rows.pop() <= 300
    whole.update(scores, target)
    assert max(rows) <= 400
    lists = {user: dict.fromkeys(range(100), 0.0) for user in range(30)}
    theirs = rw.evaluate(lists, {u: [0, 1, 2] for u in range(30)}, ["ndcg@10", "mrr", "mrr@10"])
    for name in ("ndcg@10", "mrr@10"):
        assert cut.result()[name] == pytest.approx(theirs[name], rel=1e-12)
    assert whole.result()["mrr"] == pytest.approx(theirs["mrr"], rel=1e-12)


@pytest.mark.parametrize("name", ["trec_eval", "rectools", "recommenders", "sklearn", "lenskit"])
def test_conventions(name):
    """Metrics under a convention have the bits of `rankwise.evaluate` under it, also where tied."""
    generator = torch.Generator().manual_seed(1)
    scores = torch.randint(0, 6, (12, N_ITEMS), generator=generator) / 8
    grades = torch.randint(0, 3, (12, N_ITEMS), generator=generator)
    target = grades * (torch.rand((12, N_ITEMS), generator=generator) < 0.3)
    target[0] = 0
    metrics = Collection(["ndcg@3", "recall@3", "map@5"], n_items=N_ITEMS, convention=name)
    metrics.update(scores, target, users=torch.arange(12))
    rows = {"user": np.repeat(np.arange(12), N_ITEMS), "item": np.tile(np.arange(N_ITEMS), 12)}
    lists = pl.DataFrame({**rows, "score": scores.flatten().numpy()})
    truth = pl.DataFrame({**rows, "relevance": target.flatten().numpy()})
    truth = truth.filter(pl.col("relevance") > 0)
    expected = rw.evaluate(
        lists, truth, ["ndcg@3", "recall@3", "map@5"], items=range(N_ITEMS), convention=name
    )
    values = {cell: value.item() for cell, value in metrics.compute().items()}
    assert values == dict(expected.values)
    assert metrics.result()["ndcg@3"] == expected["ndcg@3"]


def test_ready_lists_under_a_convention_that_orders_ties():
    metric = MetricModule("ndcg@2", convention="cornac")
    metric.update(torch.tensor([[1, 2], [2, 0]]), torch.tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]))
    expected = rw.evaluate({0: [1, 2], 1: [2, 0]}, {0: [1], 1: [0]}, "ndcg@2", convention="cornac")
    assert [metric.compute().item()] == list(expected.values.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_threshold_is_met_in_the_precision_of_the_target(dtype):
    metric = MetricModule("recall@1", threshold=0.7)
    metric.update(
        torch.tensor([[3.0, 1.0], [3.0, 1.0]]), torch.tensor([[0.7, 0.9], [0.1, 0.9]], dtype=dtype)
    )
    assert float(metric.compute()) == 0.25


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_threshold_between_numbers_of_half_precision_is_refused(dtype):
    metric = MetricModule("recall@1", threshold=0.7)
    target = torch.tensor([[0.7, 0.9]], dtype=dtype)
    with pytest.raises(InputError, match="half precision"):
        metric.update(torch.tensor([[3.0, 1.0]]), target)
    metric.update(torch.tensor([[3.0, 1.0]]), target.float())
    between = MetricModule("recall@1", threshold=0.5)
    between.update(torch.tensor([[3.0, 1.0]]), target)
    assert float(between.compute()) == 0.5


@pytest.mark.parametrize("graded", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_digests_are_those_of_tables(graded, text):
    """Of the ground truth in batches of any size, with repeated users, and of training and catalogue."""
    draw = torch.Generator().manual_seed(3)
    scores = torch.rand((12, 9), generator=draw)
    target = (torch.rand((12, 9), generator=draw) < 0.3) * (
        0.7 * torch.randint(1, 4, (12, 9), generator=draw).float()
    )
    target[5] = 0  # no row
    target[5, 8] = 1
    target = target if graded else target > 0
    user_id, item_id = ((lambda u: f"u{u}"), (lambda i: f"i{i}")) if text else (int, int)
    names = {
        "item_ids": [item_id(i) for i in range(9)],
        "user_ids": [user_id(u) for u in range(12)],
    }
    train = [(user_id(u), item_id(u % 9)) for u in range(12)]
    metric = Collection(
        ["ndcg@3", "novelty@3", "gini@3"], train=train, **(names if text else {"n_items": 9})
    )
    for rows in (range(5), range(5, 12), [11, 11]):
        rows = torch.tensor(rows)
        metric.update(scores[rows], target[rows], users=rows)
    cells = target.nonzero().tolist()
    truth = [(user_id(u), item_id(i), *([float(target[u, i])] if graded else [])) for u, i in cells]
    lists = {user_id(u): [item_id(i) for i in range(9)] for u in range(12)}
    whole = rw.evaluate(
        lists,
        truth,
        ["ndcg@3", "novelty@3", "gini@3"],
        train=train,
        items=[item_id(i) for i in range(9)],
    )
    assert metric.result().provenance["digests"] == whole.provenance["digests"]


def test_states_of_a_part_of_a_model_are_upgraded(monkeypatch):
    """The version stands in the metadata of the part, and an upgrade sees its names without the model's."""
    metrics = fed(Collection(NAMES, n_items=N_ITEMS))
    model, other = (
        torch.nn.ModuleDict({"val": metrics}),
        torch.nn.ModuleDict({"val": Collection(NAMES, n_items=N_ITEMS)}),
    )
    older = model.state_dict()
    (users,) = (key for key in older if key.startswith("val.users_"))
    older["val.people"] = older.pop(users)

    def rename(content):
        return {
            users.removeprefix("val.") if name == "people" else name: value
            for name, value in content.items()
        }

    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\)"):
        other.load_state_dict(older.copy())
    form = states.STATE_DICT
    later = replace(form, version=form.version + 1, upgrades=(*form.upgrades, rename))
    monkeypatch.setattr(states, "STATE_DICT", later)
    other.load_state_dict(older)
    assert other["val"].compute() == metrics.compute()


def test_states_of_a_later_version_are_refused():
    model = torch.nn.ModuleDict({"val": fed(Collection(NAMES, n_items=N_ITEMS))})
    newer = model.state_dict()
    newer._metadata["val"]["version"] = 7
    with pytest.raises(FileError, match="use a newer rankwise") as caught:
        model.load_state_dict(newer)
    assert caught.value.where == "state dict, prefix 'val.'"


@pytest.mark.parametrize("beside", [[], ["coverage@2"], ["auc", "gauc"]])
def test_areas_of_ready_lists_know_the_catalogue(beside):
    train = pl.DataFrame({"user": [0, 1], "item": [0, 1]})
    names = ["lauc@2", *beside]
    metrics = Collection(names, n_items=4, train=train)
    lists, target = torch.tensor([[1, 2], [0, 3]]), torch.tensor([2, 0])
    metrics.update(lists, target, users=torch.tensor([0, 1]))
    expected = rw.evaluate(
        {0: [1, 2], 1: [0, 3]}, {0: {2}, 1: {0}}, names, train=train, items=range(4)
    )
    assert {name: value.item() for name, value in metrics.compute().items()} == expected.values
