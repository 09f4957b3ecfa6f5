"""``rankwise metrics``: a listing that fits the terminal, and definitions in plain text."""

from __future__ import annotations

import re

import pytest

from rankwise.cli import metrics as command
from rankwise.metrics.description import describe, every_description

EVERY = every_description()


@pytest.mark.parametrize("description", EVERY, ids=[one.cls.name for one in EVERY])
def test_definitions_are_plain_text_and_complete(description):
    text = command.definition(description)
    assert not re.search(r"\\|`|::|:math:|[_^]\{|\n\n\n", text)
    words = " ".join(text.split())
    facts = (*description.cls.aliases, f"-m {description.cls.name}")
    assert all(fact in words for fact in facts)
    assert words.count(f"Range {description.range}; {description.direction}.") == 1
    assert words.count(description.direction) == 1 + (
        description.cls.name == "hypervolume"
    )  # in its formula
    assert f"rankwise.{description.cls.__name__}()" in words
    assert all(needed in words for needed in description.needs)
    for parameter in description.parameters:
        assert f"{parameter.name} {parameter.values}; default {parameter.default}." in words
        assert parameter.text
    assert len(description.parameters) == len(description.cls().parameters)


@pytest.mark.parametrize(
    ("metric", "name", "values", "default"),
    [
        ("ndcg", "gain", "linear, exponential, binary, exponential_plus_one", "linear"),
        ("err", "max_relevance", "a number", "1.0"),
        ("f", "second", "a metric", "recall"),
        (
            "ild",
            "distance",
            "cosine, jaccard, euclidean, hamming, cooccurrence or callable",
            "cosine",
        ),
        ("hypervolume", "metrics", "a list of metrics", "[ndcg, recall]"),
        ("hypervolume", "directions", "a list of true and false", "none"),
        ("unsatisfied", "as_share", "true or false", "false"),
    ],
)
def test_parameters_in_words(metric, name, values, default):
    (found,) = (one for one in describe(metric).parameters if one.name == name)
    assert (found.values, found.default) == (values, default)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_everything_fits_the_terminal(monkeypatch, width):
    monkeypatch.setattr(command, "terminal_width", lambda: width)
    texts = [command.listing(EVERY), *map(command.definition, EVERY)]
    lines = [line for text in texts for line in text.split("Examples:\n")[0].split("\n")]
    assert width - 5 < max(map(len, lines)) <= width


def test_names_start_in_one_column_after_their_family(monkeypatch):
    monkeypatch.setattr(command, "terminal_width", lambda: 60)
    *lines, _, _ = command.names_by_family(EVERY).split("\n")
    assert len({re.match(r"\w* +", line).end() for line in lines}) == 1


def test_without_a_terminal_each_metric_has_one_line():
    lines = command.listing(EVERY).split("\n")
    assert sum(line.startswith("  ") for line in lines) == len(EVERY)
    (ndcg,) = (line.split(maxsplit=1) for line in lines if line.startswith("  ndcg["))
    assert ndcg[0] == "ndcg[@k]"
    assert ndcg[1].endswith("ideal list. [0, 1], higher is better.")
