"""Every option on tensors: the numbers of `rankwise.evaluate` to the bit, or refused with a road that takes it."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ParameterError, RankwiseError
from rankwise.evaluation.settings import option_fields
from rankwise.options import ROADS
from road_worlds import differing, plain, probe, refused_on, rows, said, worlds

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torchmetrics", reason="TorchMetrics is not installed")

from tensor_worlds import DEVICE, sparse  # noqa: E402

from rankwise.torch import Collection  # noqa: E402
from rankwise.torch.batch import MetricOptions  # noqa: E402

EXPLICIT = {"exclude_seen", "block_size"}
"""Options that the signature of a collection names."""


def evaluated(world, metrics, options):
    """Evaluate the lists of a world as scores, and its ground truth as sparse targets, in two batches."""
    tables = dict(world.tables)
    lists, truth, items = (
        tables.pop("recommendations"),
        tables.pop("truth"),
        tables.pop("items", None),
    )
    users = pl.concat([lists["user"], truth["user"]]).unique().sort().to_list()
    ids = worlds(text=isinstance(users[0], str))[0].tables["items"]["item"].to_list()
    shape = (len(users), len(ids))
    scores = torch.full(shape, -torch.inf, dtype=torch.float64)
    target = torch.full(shape, torch.nan, dtype=torch.float64)
    for table, name, matrix in ((lists, "score", scores), (truth, "relevance", target)):
        for user, item, value in table.select("user", "item", name).iter_rows():
            matrix[users.index(user), ids.index(item)] = value
    named = (
        {"user_ids": users, "item_ids": ids} if isinstance(users[0], str) else {"n_items": len(ids)}
    )
    if "columns" in options:
        tables["users"] = tables["users"].rename({"user": "who"})
        options = options | {"columns": {"users.user": "who"}}
    collection = Collection(list(metrics), items=items, **named, **tables, **options).to(DEVICE)
    for start in (0, 6):
        part = slice(start, start + 6)
        position = (
            torch.arange(len(users))[part] if named.get("user_ids") else torch.tensor(users[part])
        )
        collection.update(
            scores[part].to(DEVICE), sparse(target[part]).to(DEVICE), users=position.to(DEVICE)
        )
    return collection.result()


@pytest.mark.parametrize("text", [False, True], ids=["integers", "text"])
@pytest.mark.parametrize("row", rows())
def test_tensors_give_the_numbers_of_the_plain_call_or_are_refused(row, text):
    tried = probe(row, text=text) or probe(row, text=not text)
    world = in_order_of_items(worlds(text=text)[0])
    if "torch" in refused_on(row):
        with pytest.raises(RankwiseError) as raised:
            evaluated(world, tried.metrics, tried.options)
        assert f"{ROADS['torch']} does not take {tried.option}=" in str(raised.value)
        assert "rankwise.evaluate takes it" in str(raised.value)
        return
    if row in world.tables:
        world = in_order_of_items(tried.world)
    try:
        result = evaluated(world, tried.metrics, tried.options)
    except RankwiseError as error:
        assert tried.option in str(error), error
        assert "rankwise." in str(error) or "rw." in str(error), error
        return
    options = {name: value for name, value in tried.options.items() if name != "columns"}
    ours, theirs = (numbers(one) for one in (result, plain(world, tried.metrics, options)))
    assert not differing(theirs, ours)


def in_order_of_items(world):
    """Return a world whose lists have their rows in the order of the columns of scores, in which ties are kept."""
    lists = world.tables["recommendations"].sort("user", "item")
    return replace(world, tables={**world.tables, "recommendations": lists})


def numbers(result):
    """Return what tensors say as tables do: values, those of users and of groups; rankings are cut where no metric looks."""
    what = said(result)
    per_user = {name: values for name, values in what["per_user"].items() if name != "list_length"}
    return {name: what[name] for name in ("values", "slices", "small")} | {"per_user": per_user}


def test_a_collection_takes_what_the_declaration_says():
    declared = {
        name for name, entry in option_fields().items() if "torch" not in entry.metadata["not_on"]
    }
    assert {*MetricOptions.__annotations__} - {"k", "threshold"} | EXPLICIT == declared


def test_a_collection_takes_the_default_of_every_option():
    for name, entry in option_fields().items():
        collection = Collection("mrr@2", **{name: entry.default})
        collection.update(torch.tensor([[0.9, 0.1]]), torch.tensor([[0.0, 1.0]]))
        assert collection.compute()["mrr@2"] == 0.5, name


def test_states_of_other_settings_say_which_setting_differs():
    scores, target = torch.tensor([[0.9, 0.1, 0.5]]), torch.tensor([[5.0, 0.0, 2.0]])
    saved = Collection(["ndcg@2", "recall@2"], relevance_threshold=3, population="both")
    saved.update(scores, target)
    other = Collection(["ndcg@2", "recall@2"], population="both")
    with pytest.raises(ParameterError, match="metric with other settings") as raised:
        other.load_state_dict(saved.state_dict())
    assert raised.value.found == "relevance_threshold: 3.0 saved, nothing here"
    with pytest.raises(ParameterError, match="metric with other settings"):
        other.load_state_dict(
            dict(saved.state_dict())
        )  # which has lost what a state dict says of itself
    again = Collection(["ndcg@2", "recall@2"], relevance_threshold=3, population="both")
    again.load_state_dict(saved.state_dict())
    assert again.compute() == saved.compute()


def test_states_within_a_model_name_tables_that_differ():
    model = torch.nn.ModuleDict({"valid": Collection("novelty@1", train={0: [1]}, n_items=3)})
    other = torch.nn.ModuleDict({"valid": Collection("novelty@1", train={0: [2]}, n_items=3)})
    with pytest.raises(ParameterError, match="metric with other settings") as raised:
        other.load_state_dict(model.state_dict())
    assert str(raised.value.found).startswith("train: ")


@pytest.mark.parametrize("relevance", [0.0, 2.0])
def test_users_whose_ratings_are_too_low_are_left_out_and_counted_as_in_tables(relevance):
    metrics = Collection("ndcg@2", relevance_threshold=3)
    metrics.update(
        torch.tensor([[0.9, 0.1], [0.2, 0.8]]), torch.tensor([[4.0, 0.0], [relevance, 0.0]])
    )
    tables = rw.evaluate(
        {0: [0, 1], 1: [1, 0]}, {0: {0: 4.0}, 1: {0: relevance}}, "ndcg@2", relevance_threshold=3
    )
    results = (metrics.result(), tables)
    assert [one.counts["truth_users_without_relevant_items"] for one in results] == [1, 1]
    assert all("1 user without a relevant item, left out" in str(one) for one in results)
