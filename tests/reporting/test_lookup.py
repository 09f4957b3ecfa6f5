"""Users on the page: their lists and hits, what they had before, and how many there is room for."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.reporting import lookup, report_users
from rankwise.reporting.lookup import Lookup, names_of_systems

TRUTH = {"u1": {"a"}, "u2": {"b", "c"}, "10": {"a"}, "9": {"c"}}
TRAIN = {"u1": [f"t{n}" for n in range(12)], "u2": ["x"]}
RUNS = {
    "old": {"u1": ["a", "b"], "u2": ["x", "y"], "10": ["b", "a"], "9": ["b", "c"]},
    "new": {"u1": ["b", "z"], "u2": ["b", "c"], "10": ["a", "b"], "9": ["b", "c"]},
}
ITEMS = pl.DataFrame({"item": ["a", "b"], "title": ["Alien", "<b>Brazil</script>"]})


@pytest.fixture(scope="module")
def report():
    results = {name: rw.evaluate(run, TRUTH, "ndcg@2") for name, run in RUNS.items()}
    return rw.report(
        results, baseline="old", recommendations=RUNS, truth=TRUTH, train=TRAIN, items=ITEMS
    )


def block_of(report):
    part = next(part for part in report.sections if part.name == "examples")
    (block,) = (block for block in part.blocks if isinstance(block, Lookup))
    return block


def users_of(block):
    data = json.loads(block.data)
    names = [name if isinstance(name, str) else tuple(name) for name in data["items"]]
    return {
        user: [*entry[:2], *([names[at] for at in part] for part in entry[2:])]
        for user, entry in zip(data["ids"], data["users"], strict=True)
    }


def test_a_user_has_both_lists_the_relevant_items_and_the_last_items_before(report):
    users = users_of(block_of(report))
    assert json.loads(block_of(report).data)["systems"] == ["old", "new"]
    alien, brazil = ("a", "Alien"), ("b", "<b>Brazil</script>")
    before = [f"t{n}" for n in range(2, 12)]
    assert users["u1"] == [1.0, 0.0, [alien, brazil], [brazil, "z"], [alien], before]
    assert users["10"][2:] == [[brazil, alien], [alien, brazil], [alien], []]


def test_users_that_moved_most_come_first_and_the_others_by_id(report):
    values = users_of(block_of(report))
    moved = [abs(entry[1] - entry[0]) for entry in values.values()]
    assert moved == sorted(moved, reverse=True)
    assert [*values] == ["u1", "u2", "10", "9"]
    assert block_of(report).summary == "All 4 users of both systems are on this page."


def test_what_does_not_fit_is_said(monkeypatch, report):
    results = {name: rw.evaluate(run, TRUTH, "ndcg@2") for name, run in RUNS.items()}
    monkeypatch.setattr(
        report_users,
        "make_lookup",
        lambda material, pair: lookup.make_lookup(material, pair, room=150),
    )
    small = rw.report(results, baseline="old", recommendations=RUNS, truth=TRUTH)
    block = block_of(small)
    assert 0 < block.shown < 4
    assert [*users_of(block)] == ["u1", "u2", "10", "9"][: block.shown]
    assert block.summary.startswith(f"{block.shown} of 4 users are on this page")
    assert len(block.data) < 400


def test_no_text_of_strangers_ends_the_script(report):
    data = block_of(report).data
    assert "<" not in data
    assert "\\u003c/script\\u003e" in data
    assert json.loads(names_of_systems(["</script>", "a\nb"])) == {"systems": ["</script>", "a b"]}


def test_a_user_without_a_value_has_none():
    truth = {"u1": {"a": 1}, "u2": {"b": 0}, "u3": {"a": 1}}
    lists = {name: {user: [item] for user in truth} for name, item in (("old", "a"), ("new", "b"))}
    results = {
        name: rw.evaluate(run, truth, "mrr", population="judged") for name, run in lists.items()
    }
    made = rw.report(results, baseline="new", recommendations=lists, truth=truth)
    assert users_of(block_of(made))["u2"] == [None, None, ["b"], ["a"], [], []]


def test_a_page_may_name_no_user(tmp_path):
    results = {name: rw.evaluate(run, TRUTH, "ndcg@2") for name, run in RUNS.items()}
    options = {"recommendations": RUNS, "truth": TRUTH, "train": TRAIN, "show_users": False}
    made = rw.compare(results, baseline="old")
    for page in (rw.report(results, baseline="old", **options), made.report(**options)):
        assert "examples" not in [part.name for part in page.sections]
        assert 'id="lookup-data"' not in page.html
        assert not re.search(r"\bu1\b", page.html)
    for name, result in results.items():
        result.save(tmp_path / name)
    shown = rankwise_here(tmp_path, "report", "old", "new", "--no-show-users")
    assert shown.returncode == 0
    assert not re.search(r"\bu1\b", (tmp_path / "report.html").read_text("utf-8"))
