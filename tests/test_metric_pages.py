"""The pages of metrics: when to use each, an example by hand that agrees with the code, and typical values."""

from __future__ import annotations

import csv
import dataclasses
import sys
from pathlib import Path

import pytest

from rankwise.metrics import registry
from rankwise.metrics.description import Description

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "generators"))

import reference  # noqa: E402 - it lies in docs/generators
import worked_examples  # noqa: E402

# A metric with its plain definition beside it is new: its page comes later.
METRICS = [
    cls
    for cls in registry.all_metrics()
    if not (cls.plain and cls.plain.__module__ == cls.__module__)
]
NAMES = [cls.name for cls in METRICS]


@pytest.mark.parametrize("cls", METRICS, ids=NAMES)
def test_every_metric_says_when_to_use_it_and_when_not(cls):
    use, avoid = Description(cls).advice
    assert 20 < len(use) < 160
    assert 20 < len(avoid) < 260


def test_every_metric_has_an_example_by_hand():
    assert sorted(worked_examples.NAMES) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_arithmetic_agrees_with_the_code(name):
    example = worked_examples.example(name)
    assert example.value_by_hand == pytest.approx(example.value, rel=2e-4, abs=1e-9)
    assert {len(row) for row in example.rows} == {len(example.head)}


def test_an_example_that_is_wrong_is_not_published():
    example = worked_examples.example("recall")
    wrong = dataclasses.replace(example, by_hand=example.by_hand._replace(arithmetic="1 / 3"))
    with pytest.raises(ValueError, match=r"recall@5: 1 / 3 is not 0\.66"):
        wrong.check()


@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        (
            "novelty",
            ["rank", "item", "relevance", "training users"],
            ["2", "alien", "0", "2", "1.5"],
        ),
        (
            "gini",
            ["item", "rank for ann", "rank for bob", "rank for cyd"],
            ["alien", "2", "1", "–", "2"],
        ),
        (
            "group_gap",
            ["user", "group", "items of the list", "relevant items"],
            ["bob", "south", "5", "2", "1", "0.4796"],
        ),
    ],
)
def test_tables_have_what_the_arithmetic_reads(name, head, row):
    example = worked_examples.example(name)
    assert example.head[: len(head)] == head
    assert row in example.rows


def test_a_page_has_its_parts_in_order():
    page = reference.page(Description(registry.find("ndcg")), reference.typical_values())
    titles = [
        "keywords: normalized",
        "ndcg: normalised discounted cumulative gain",
        "Normalised DCG",
        "math::",
        "Typical values",
        "When to use it",
        "Example by hand",
        "Parameters",
        "References",
        "Examples",
    ]
    places = [page.index(title) for title in titles]
    assert places == sorted(places)
    assert "= **0.735**" in page
    assert "popularity 0.0592" in page


def test_a_metric_with_other_notes_keeps_them():
    assert reference.when_to_use(None, "About its history.") == [
        "Notes\n-----\n\nAbout its history."
    ]
    assert reference.when_to_use(None, "") == []


def test_typical_values_are_of_every_metric_that_the_case_study_can_evaluate():
    with reference.TYPICAL.open(encoding="utf-8", newline="") as file:
        known = {row["name"] for row in csv.DictReader(file)}
    assert known <= {*registry.names()}
    left = {cls.name for cls in METRICS if cls.name not in known}
    assert all("scores" in Description(registry.find(name)).needs for name in left)
