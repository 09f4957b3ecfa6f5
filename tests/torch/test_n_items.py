"""The number of items, where it is not passed: the first scores tell it, or the states of another metric."""

from __future__ import annotations

import pickle

import pytest

from rankwise.errors import EmptyError, IdError, InputError, ParameterError, ScoreError

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
torchmetrics = pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from tensor_worlds import EVERY  # noqa: E402

from rankwise.torch import Collection, MetricModule  # noqa: E402

N_ITEMS, N_USERS = 12, 9
NAMES = ["ndcg@3", "coverage@3", "gini@2"]
BEFORE_UPDATE = pytest.mark.filterwarnings("ignore:The ``compute`` method")  # of TorchMetrics
LATER = torch.tensor([[0.4, 0.3, 0.2, 0.1]])


def batches():
    draw = torch.Generator().manual_seed(21)
    scores = (torch.rand((N_USERS, N_ITEMS), generator=draw) * 8).round() / 8
    target = torch.rand((N_USERS, N_ITEMS), generator=draw) < 0.2
    target[:, 2] = True
    return [(scores[rows], target[rows], rows) for rows in torch.arange(N_USERS).split(4)]


def fed(metrics):
    for scores, target, users in batches():
        metrics.update(scores, target, users=users)
    return metrics


def same(metrics, expected):
    assert metrics.result().values == pytest.approx(expected.values, rel=0, nan_ok=True)
    assert metrics.per_user().equals(expected.per_user)
    assert metrics.result().counts == expected.counts
    assert metrics.result().provenance | {"date": None} == expected.provenance | {"date": None}


@pytest.fixture
def expected():
    return fed(Collection(NAMES, n_items=N_ITEMS)).result()


def side_information():
    items = torch.arange(N_ITEMS)
    return {
        "train": torch.stack([items % N_USERS, items * 7 % N_ITEMS], 1),
        "items": {
            "genres": torch.stack([items % 2 == 0, items % 3 == 0, items % 3 < 2], 1),
            "features": torch.stack([items % 5 + 1.0, items.float()], 1),
            "group": items % 3,
            "propensity": (items + 1.0) / N_ITEMS,
        },
        "users": {"group": torch.arange(N_USERS) % 2},
        "reference": torch.stack([items[:N_USERS], items[:N_USERS] + 1, items[:N_USERS] + 2], 1),
    }


@pytest.mark.slow
@pytest.mark.parametrize("exclude_seen", [True, False])
def test_every_metric_is_that_of_a_metric_with_n_items(exclude_seen):
    options = {**side_information(), "exclude_seen": exclude_seen, "population": "all"}
    same(
        fed(Collection(EVERY, **options)),
        fed(Collection(EVERY, n_items=N_ITEMS, **options)).result(),
    )


def test_text_order_of_item_numbers():
    options = {"convention": "trec_eval"}
    same(
        fed(Collection(["ndcg@3"], **options)),
        fed(Collection(["ndcg@3"], n_items=N_ITEMS, **options)).result(),
    )


def test_a_single_metric_and_embeddings():
    users, items = (
        torch.eye(3),
        torch.tensor([[0.9, 0.1, 0.3], [0.2, 0.8, 0.1], [0.1, 0.2, 0.7], [0.3, 0.3, 0.3]]),
    )
    metric = MetricModule("coverage@1")
    metric.update_factors(users, items, torch.tensor([0, 1, 2]))
    assert metric.compute().item() == 0.75


def test_a_catalogue_of_fewer_items():
    metrics = Collection("coverage@1", items=range(1, 4))
    metrics.update(
        torch.tensor([[-torch.inf, 0.3, 0.8, 0.5], [-torch.inf, 0.9, 0.2, 0.4]]),
        torch.tensor([3, 2]),
    )
    assert metrics.compute()["catalog_coverage@1"].item() == pytest.approx(2 / 3)


def test_another_number_of_columns_names_both(expected):
    metrics = fed(Collection(NAMES))
    for metric in (metrics, metrics.clone(), pickle.loads(pickle.dumps(metrics))):
        for call in (metric.update, metric):  # `forward` restores all
            with pytest.raises(InputError, match=r"4 columns, 12 items\n.*the first batch tells"):
                call(LATER, torch.tensor([0]), users=torch.tensor([99]))
        same(metric, expected)
    metrics.reset()
    with pytest.raises(InputError, match="4 columns, 12 items"):
        metrics.update(LATER, torch.tensor([0]))


def test_a_batch_that_is_refused_tells_nothing(expected):
    metrics = Collection(NAMES)
    with pytest.raises(ScoreError):
        metrics.update(LATER * torch.nan, torch.tensor([0]), users=torch.tensor([0]))
    metrics.update(LATER[:0], torch.zeros(0, dtype=torch.int64))  # nor does an empty one
    same(fed(metrics), expected)


@pytest.mark.parametrize(
    "batch",
    [
        (torch.tensor([[1, 0]]), {}),
        (torch.tensor([[0.4, 0.6]]), {"candidates": torch.tensor([[0, 5]])}),
    ],
    ids=["lists", "candidates"],
)
def test_a_first_batch_without_the_number_of_items(batch):
    (scores, options), target = batch, torch.tensor([0])
    metrics = Collection(NAMES)
    with pytest.raises(ParameterError, match=r"pass n_items=, or item_ids="):
        metrics.update(scores, target, **options)
    metrics.update(LATER, target)
    metrics.update(
        scores[:, :1] * 0, target, **{name: value[:, :1] for name, value in options.items()}
    )
    assert metrics.compute()["ndcg@3"].item() == 1.0
    number = Collection(NAMES, n_items=6)
    number.update(scores, target, **options)
    assert number.compute()["catalog_coverage@3"].item() == pytest.approx(2 / 6)


def test_positions_in_tensors_are_checked_against_the_first_scores():
    for options, error in (
        ({"train": torch.tensor([[0, 4]])}, IdError),
        ({"items": {"group": torch.tensor([0, 1, 1, 0, 1])}}, InputError),
    ):
        metrics = Collection("gini@1", **options)
        with pytest.raises(error, match=r"5 entries, 4 items|4 of 4"):
            metrics.update(LATER, torch.tensor([0]))


@BEFORE_UPDATE
def test_an_epoch_after_another(expected):
    metrics = Collection(NAMES)
    assert all(value.isnan() for value in metrics.compute().values())
    with pytest.raises(EmptyError, match="no user has been evaluated yet"):
        metrics.result()
    for _ in range(2):
        same(fed(metrics), expected)
        metrics.reset()
        metrics.to("cpu").double().set_dtype(torch.float16)
    assert all(value.isnan() for value in metrics.compute().values())


def test_forward_adds_batches(expected):
    metrics = Collection(NAMES)
    for scores, target, users in batches():
        alone = Collection(NAMES, n_items=N_ITEMS)
        alone.update(scores, target, users=users)
        assert metrics(scores, target, users=users) == alone.compute()
    same(metrics, expected)


def test_states_are_loaded_where_the_number_is_unknown(expected, tmp_path):
    metrics = fed(Collection(NAMES))
    torch.save(metrics.state_dict(), tmp_path / "metrics.pt")
    states = torch.load(tmp_path / "metrics.pt")
    loaded = Collection(NAMES)
    loaded.load_state_dict(states)
    same(loaded, expected)
    with pytest.raises(InputError, match="4 columns, 12 items"):
        loaded.update(LATER, torch.tensor([0]), users=torch.tensor([99]))
    loaded.reset()
    same(fed(loaded), expected)
    fewer = Collection(NAMES)
    fewer.update(LATER, torch.tensor([0]), users=torch.tensor([99]))
    before = fewer.result()
    with pytest.raises(InputError, match="4 items and 12 items"):
        fewer.load_state_dict(states)
    same(fewer, before)
    metrics.load_state_dict(Collection(NAMES).state_dict())
    same(fed(metrics), expected)


@BEFORE_UPDATE
@pytest.mark.skipif(
    not hasattr(torchmetrics.Metric, "merge_state"), reason="TorchMetrics before 1.6"
)
def test_states_are_merged(expected):
    full, fewer, empty = fed(Collection(NAMES)), Collection(NAMES), Collection(NAMES)
    fewer.update(LATER, torch.tensor([0]), users=torch.tensor([99]))
    full.merge_state(empty)
    empty.merge_state(full)
    for metrics in (full, empty):
        with pytest.raises(InputError, match="4 items and 12 items"):
            metrics.merge_state(fewer)
        same(metrics, expected)


def test_trackers_windows_and_collections(expected):
    tracker = torchmetrics.MetricTracker(MetricModule("gini@2"), maximize=False)
    for _ in range(2):
        tracker.increment()
        fed(tracker)
    assert tracker.compute_all().tolist() == [expected["gini@2"]] * 2
    running = torchmetrics.wrappers.Running(MetricModule("gini@2"), window=len(batches()))
    for scores, target, users in batches()[:1] + batches():
        running(scores, target, users=users)
    assert running.compute().item() == expected["gini@2"]
    several = torchmetrics.MetricCollection({name: MetricModule("gini@2") for name in "ab"})
    for _ in range(2):  # the second metric takes over the states of the first
        fed(several)
        assert {value.item() for value in several.compute().values()} == {expected["gini@2"]}
        several.reset()


@pytest.mark.slow
def test_callback_of_lightning(expected):
    pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    from types import SimpleNamespace

    from rankwise.torch.lightning import Evaluation

    values = {}
    module = SimpleNamespace(
        device=torch.device("cpu"), log_dict=lambda logged, **_: values.update(logged)
    )
    evaluation = Evaluation(Collection(NAMES))
    for _ in range(2):
        evaluation.on_validation_epoch_start(None, module)
        for at, (scores, target, users) in enumerate(batches()):
            outputs = {"scores": scores, "target": target, "users": users}
            evaluation.on_validation_batch_end(None, module, outputs, None, at)
        evaluation.on_validation_epoch_end(SimpleNamespace(sanity_checking=False), module)
    assert [result.values for result in evaluation.results["val"]] == [expected.values] * 2
    assert values["val/gini@2"].item() == expected["gini@2"]


def test_items_of_training_that_have_no_column_leave_similarities_alone():
    name, train = "serendipity(form=history)@2", [(0, 3), (0, 1), (1, 3), (1, 0), (2, 1), (2, 2)]
    values = []
    for n_items in (None, 4):
        for outside in ([], [(user, 8) for user in (3, 4, 5)]):
            metrics = Collection(name, n_items=n_items, train=train + outside)
            metrics.update(LATER.repeat(3, 1), torch.tensor([0, 1, 0]), users=torch.arange(3))
            values.append(metrics.result()[name])
    assert values == [values[0]] * 4
    assert values[0] > 0
