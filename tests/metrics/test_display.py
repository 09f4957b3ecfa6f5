"""What a notebook shows of a metric."""

from __future__ import annotations

import pytest

import rankwise as rw
from html_tables import read_html
from rankwise.metrics import registry
from rankwise.metrics.base import FAMILIES
from rankwise.metrics.description import Description, describe

HOSTILE = "</td><script>alert(1)</script>\n\x1b[31m\u202e&amp;"


def shown(metric):
    """Return the table of a metric, and its parameters by name with value and default."""
    (facts, *parameters), notes = read_html(metric._repr_html_())
    assert notes == []
    assert all(table[0] == ["parameter", "value", "default"] for table in parameters)
    return dict(facts), {name: tuple(rest) for table in parameters for name, *rest in table[1:]}


def test_what_is_shown_of_a_metric():
    facts, parameters = shown(rw.NDCG(gain="exponential") @ [5, 10])
    assert facts == {
        "metric": "ndcg(gain=exponential)@[5,10]",
        "definition": Description(rw.NDCG).summary,
        "family": "Accuracy",
        "range": "[0, 1]",
        "better": "higher",
        "cut-off k": "5, 10",
        "needs": "recommendations, ground truth",
    }
    assert parameters == {
        "gain": ("exponential", "linear"),
        "gains": ("none", "none"),
        "log_base": ("2.0", "2.0"),
        "discount": ("log_plus_one", "log_plus_one"),
        "ideal": ("relevant", "relevant"),
        "without_relevant": ("undefined", "undefined"),
    }


@pytest.mark.parametrize("cls", registry.all_metrics(), ids=lambda cls: cls.name)
def test_every_metric(cls):
    facts, parameters = shown(cls())
    assert facts["metric"] == cls.name
    assert facts["family"] == FAMILIES[cls.family]
    assert parameters.keys() == cls().parameters.keys()
    for value, default in parameters.values():
        assert value == default


@pytest.mark.parametrize(
    ("text", "row", "value"),
    [
        ("rmse", "better", "lower"),
        ("arp@5", "better", "neither direction"),
        ("arp@5", "needs", "recommendations, train"),
        ("novelty", "cut-off k", "none: the whole list"),
        ("novelty", "range", "[0, inf)"),
        ("rmse", "cut-off k", "none"),
        ("group_gap(serendipity)@5", "needs", "recommendations, ground truth, train, users: group"),
        ("group_gap(ndcg)@5", "needs", "recommendations, ground truth, users: group"),
    ],
)
def test_facts(text, row, value):
    assert shown(rw.parse(text))[0][row] == value


def test_values_as_one_would_write_them():
    _, parameters = shown(rw.parse("hypervolume(metrics=[ndcg,novelty],directions=[true,false])@5"))
    assert parameters["metrics"][0] == "[ndcg, novelty]"
    assert parameters["directions"] == ("[true, false]", "none")


def test_hostile_names_are_text():
    facts, parameters = shown(rw.REO(item_group=HOSTILE) @ 5)
    assert parameters["item_group"][0] == "</td><script>alert(1)</script>  [31m &amp;"
    assert "<script>alert(1)</script>" in facts["metric"]


@pytest.mark.parametrize(
    ("name", "averaged"),
    [
        ("recall", "mean over users: users with a relevant item (without a list: 0)"),
        ("novelty", "mean over users: users with a list"),
        ("f", "mean over users"),
        ("gini", "one value over the lists of all users; no per-user values"),
        ("group_gap", "a function of the means of user groups"),
        ("quantile", "a function of all per-user values, such as a quantile"),
    ],
)
def test_who_has_a_value_is_said_of_metrics_that_users_have(name, averaged):
    assert describe(name).averaged == averaged


def test_properties_are_values_that_json_holds():
    properties = describe("group_gap").as_dict()
    assert properties["range"] == [0, None]
    assert properties["parameters"] == {"user_group": "group", "metric": "ndcg"}
    assert describe("ndcg").as_dict()["parameters"]["log_base"] == 2.0
