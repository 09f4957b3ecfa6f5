"""Click events in the schema of User Behavior Insights: the same result as separate tables, or a clear error."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from command_line import rankwise, rankwise_here
from rankwise.errors import ColumnError, DuplicateError, IdError, InputError, ParameterError

pytestmark = pytest.mark.usefixtures("one_thread")

OTHERS = "events of other actions, which are not read"
TEAMLESS = "queries without a team, left out with their clicks"
REPEATED = "repeated impressions of an item in a query, of which the first is kept"
LISTS = {
    ("q1", "ann"): ["B08:base", "B09:new", "B10:new"],
    ("q2", "ann"): ["B11:new", "B08:base", "B09:base"],
    ("q3", "bob"): ["B10:base", "B12:new", "B13:new"],
    ("q4", "cyd"): ["B14:new", "B10:base", "B11:base"],
}
"""The items of each query and client with their teams, in the order in which they were shown."""
CLICKED = [("q1", "B09"), ("q1", "B10"), ("q2", "B08"), ("q3", "B12"), ("q4", "B14")]
CREDITS = [("ann", 2, 1.0, 2.0), ("bob", 1, 0.0, 1.0), ("cyd", 1, 0.0, 1.0)]
"""By hand: user, requests, and the clicks on items of base and of new."""


def event(action, query, client, item, *, team=None, ordinal=None, minute=0):
    return {
        "action_name": action,
        "query_id": query,
        "client_id": client,
        "session_id": f"{client}-1",
        "timestamp": f"2026-03-01T10:{minute:02}:00Z",
        "event_attributes": {
            "object": {"object_id": item, "object_id_field": "asin", "search_config": team},
            "position": {"ordinal": ordinal},
        },
    }


def impressions(lists=LISTS, minute=0):
    return [
        event("impression", query, client, item, team=team, ordinal=at, minute=minute)
        for (query, client), items in lists.items()
        for at, (item, team) in enumerate(entry.split(":") for entry in items)
    ]


def clicks(action="click", clicked=CLICKED):
    client_of = dict(LISTS.keys())
    return [event(action, query, client_of.get(query), item, minute=5) for query, item in clicked]


EVENTS = [*impressions(), *clicks()]


def flat(events=EVENTS, *, is_bare=False):
    """Return events as `pandas.json_normalize` has them, or with the last part of each name."""
    frame = pl.from_pandas(pd.json_normalize(events))
    return frame.rename(lambda name: name.rpartition(".")[2]) if is_bare else frame


def credits_of(result):
    return result.per_user.select("user", "requests", "base", "new").rows()


def same(one, other):
    return one.table.equals(other.table) and one.per_user.equals(other.per_user)


@pytest.fixture(scope="module")
def separate():
    """The same experiment as tables of exposures and outcomes, read as they always were."""
    rows = [
        {"request": query, "user": client, "position": at, "item": item, "team": team}
        for (query, client), items in LISTS.items()
        for at, (item, team) in enumerate(entry.split(":") for entry in items)
    ]
    outcomes = pl.DataFrame(CLICKED, schema=["request", "item"], orient="row")
    return rw.interleaving(pl.DataFrame(rows), outcomes)


def test_credit_by_hand():
    result = rw.interleaving(EVENTS)
    assert credits_of(result) == CREDITS
    assert result.table.select("system", "baseline", "wins", "losses").row(0) == (
        "base",
        "new",
        0,
        3,
    )
    assert result.counts == {"outcomes": 5, "exposures without an outcome": 7}


SOURCES = {
    "list of events": lambda folder: EVENTS,
    "nested frame": lambda folder: pl.DataFrame(EVENTS),
    "nested pandas frame": lambda folder: pd.DataFrame(EVENTS),
    "columns by name": lambda folder: pl.DataFrame(EVENTS).to_dict(as_series=False),
    "flat frame": lambda folder: flat(),
    "flat pandas frame": lambda folder: pd.json_normalize(EVENTS),
    "flat frame with underscores": lambda folder: pd.json_normalize(EVENTS, sep="_"),
    "flat frame without paths": lambda folder: flat(is_bare=True),
    "frame of categories": lambda folder: flat().with_columns(
        pl.col(pl.String).cast(pl.Categorical)
    ),
    "NDJSON": lambda folder: write(folder / "events.ndjson", "\n".join(map(json.dumps, EVENTS))),
    "JSON lines": lambda folder: write(folder / "events.jsonl", "\n".join(map(json.dumps, EVENTS))),
    "JSON": lambda folder: write(folder / "events.json", json.dumps(EVENTS)),
    "CSV": lambda folder: write(folder / "events.csv", flat().write_csv()),
    "CSV without paths": lambda folder: write(
        folder / "events.csv", flat(is_bare=True).write_csv()
    ),
    "nested Parquet": lambda folder: parquet(folder / "events.parquet", pl.DataFrame(EVENTS)),
    "flat Parquet": lambda folder: parquet(folder / "events.parquet", flat()),
    "folder of Parquet": lambda folder: parquet(folder / "events" / "0.parquet", flat()).parent,
}


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def parquet(path, frame):
    path.parent.mkdir(exist_ok=True)
    frame.write_parquet(path)
    return path


@pytest.mark.parametrize("name", SOURCES)
def test_events_of_every_form_equal_separate_tables(name, separate, tmp_path):
    assert same(rw.interleaving(SOURCES[name](tmp_path)), separate)


def test_events_equal_the_draft_that_they_come_from():
    """A better ranker in a larger experiment, with hundreds of users and numbers as ids."""
    lists = [dict.fromkeys(range(300), order) for order in ((1, 2, 3, 4), (2, 3, 4, 1))]
    draft = rw.interleave.team_draft(*lists, 4, seed=1).with_columns(request=pl.col("user"))
    clicked = draft.filter((pl.col("item") == 1) & (pl.col("user") % 3 == 0))
    names = {"request": "query_id", "user": "client_id", "item": "object_id"}
    names |= {"team": "search_config", "rank": "ordinal"}
    events = pl.concat(
        rows.select(*names).rename(names).with_columns(action_name=pl.lit(action))
        for rows, action in ((draft, "impression"), (clicked, "click"))
    )
    separate = rw.interleaving(draft, clicked.select("request", "item"))
    assert same(rw.interleaving(events), separate)
    assert separate.table["verdict"].item() == "better"


def test_integers_of_a_text_file_are_integers(tmp_path):
    rows = ["action_name,query_id,client_id,object_id,search_config,ordinal"]
    rows += [
        "impression,1,7,100,a,1",
        "impression, 1 ,7,200,b,2",
        "click,1,7, 200,,",
        "login,,8,,,",
    ]
    result = rw.interleaving(write(tmp_path / "events.csv", "\n".join(rows)))
    assert result.per_user.rows() == [(7, 1, 0.0, 1.0)]
    assert result.counts[f"{OTHERS} (login)"] == 1


def test_standard_input_is_read_once(tmp_path):
    events = write(tmp_path / "events.ndjson", "\n".join(map(json.dumps, EVENTS)))
    done = rankwise(tmp_path, "interleaving", "-", stdin=events.read_text())
    assert done.returncode == 0, done.stderr


def test_other_actions_are_counted():
    others = [*clicks("hover", [("q1", "B08")]), *clicks("login", [(None, None)] * 2)]
    result = rw.interleaving([*EVENTS, *others])
    assert credits_of(result) == CREDITS
    assert result.counts[f"{OTHERS} (hover, login)"] == 3
    assert f"{OTHERS} (hover, login): 3" in " ".join(repr(result).split())
    many = [event(f"action {at}", "q1", "ann", "B08") for at in range(5)]
    assert (
        rw.interleaving([*EVENTS, *many]).counts[f"{OTHERS} (action 0, action 1, action 2, …)"] == 5
    )


def test_each_action_has_its_reward():
    """By hand: ann clicks base 1, new 2 and buys one of new for 5; bob's click counts as before."""
    bought = clicks("purchase", [("q1", "B10"), ("q4", "B11")])
    result = rw.interleaving([*EVENTS, *bought], reward={"click": 1, "purchase": 5})
    assert result.settings["reward"] == {"click": 1, "purchase": 5}
    assert credits_of(result) == [("ann", 2, 1.0, 7.0), ("bob", 1, 0.0, 1.0), ("cyd", 1, 5.0, 1.0)]
    alone = rw.interleaving([*EVENTS, *bought], reward={"purchase": 1})
    assert credits_of(alone) == [("ann", 2, 0.0, 1.0), ("bob", 1, 0.0, 0.0), ("cyd", 1, 1.0, 0.0)]
    assert alone.counts[f"{OTHERS} (click)"] == 5


def test_kinds_of_separate_outcomes_have_rewards_too():
    shown = pl.DataFrame(
        {"request": [1, 1], "user": [1, 1], "position": [1, 2], "item": [5, 6], "team": ["A", "B"]}
    )
    outcomes = pl.DataFrame({"request": [1, 1], "item": [5, 6], "kind": ["click", "buy"]})
    result = rw.interleaving(shown, outcomes, reward={"click": 1, "buy": 10})
    assert result.per_user.select("A", "B").row(0) == (1.0, 10.0)


def test_the_action_of_a_shown_item_may_have_another_name():
    renamed = [
        {**each, "action_name": "view" if each["action_name"] == "impression" else "click_through"}
        for each in EVENTS
    ]
    result = rw.interleaving(renamed, shown="view", reward={"click_through": 1})
    assert credits_of(result) == CREDITS


def test_columns_of_events_can_be_named(separate):
    renamed = flat().rename({"event_attributes.object.search_config": "ranker", "client_id": "who"})
    assert same(
        rw.interleaving(renamed, columns={"exposures.team": "ranker", "user": "who"}), separate
    )
    swapped = flat().with_columns(team=pl.lit("wrong"), bought="event_attributes.object.object_id")
    assert same(rw.interleaving(swapped, columns={"outcomes.item": "bought"}), separate)
    sessions = rw.interleaving(EVENTS, columns={"user": "session_id"})
    assert sessions.per_user["user"].to_list() == ["ann-1", "bob-1", "cyd-1"]
    by_query = rw.interleaving(EVENTS, columns={"user": "query_id"})
    assert len(by_query.per_user) == 4


def test_without_a_client_every_query_is_a_user():
    alone = "no user column: every request is a user of its own"
    for result in (
        rw.interleaving(flat().drop("client_id")),
        rw.interleaving(EVENTS, columns={"user": None}),
    ):
        assert len(result.per_user) == 4
        assert result.counts[alone] == 12


def test_the_first_impression_of_a_page_that_was_loaded_again_is_kept(separate):
    """q1 is shown again with the teams turned round: clicks still count for the first teams."""
    again = {("q1", "ann"): ["B08:new", "B09:base", "B10:base"]}
    result = rw.interleaving([*impressions(again, minute=3), *EVENTS])
    assert same(result, separate)
    assert result.draft.equals(separate.draft)
    assert result.counts[REPEATED] == 3
    assert f"{REPEATED}: 3" in " ".join(repr(result).split())


def test_impressions_that_repeat_exactly_are_one():
    """Without times the events cannot be ordered, and equal ones need no order."""
    events = flat([*EVENTS, *impressions()]).drop("timestamp")
    result = rw.interleaving(events)
    assert credits_of(result) == CREDITS
    assert result.counts[REPEATED] == 12


def test_another_item_at_a_position_is_refused():
    again = {("q1", "ann"): ["B99:new"]}
    with pytest.raises(DuplicateError, match="a position of a request occurs twice") as caught:
        rw.interleaving([*EVENTS, *impressions(again, minute=3)])
    assert "impression events" in caught.value.where


def test_queries_outside_of_the_experiment_are_left_out_with_their_clicks():
    outside = {("q8", None): ["B08:", "B09:"], ("q9", "dan"): ["B08:", "B09:"]}
    more = [*impressions(outside), *clicks(clicked=[("q8", "B08"), ("q9", "B09")])]
    for each in more:
        each["event_attributes"]["object"]["search_config"] = None
    result = rw.interleaving([*EVENTS, *more])
    assert credits_of(result) == CREDITS
    assert result.counts == {TEAMLESS: 2, "outcomes": 5, "exposures without an outcome": 7}


@pytest.mark.parametrize(
    ("query", "item"), [("q1", "B77"), ("q7", "B08"), (None, "B08"), ("q1", None)]
)
def test_clicks_on_what_was_not_shown_are_refused_or_counted(query, item):
    events = [*EVENTS, *clicks(clicked=[(query, item)])]
    with pytest.raises(InputError, match="outcomes belong to no exposure") as caught:
        rw.interleaving(events)
    assert caught.value.found == "1 of 6 outcomes"
    result = rw.interleaving(events, missing="drop")
    assert credits_of(result) == CREDITS
    assert result.counts["outcomes without an exposure"] == 1


def test_impressions_without_a_client_are_refused():
    events = [*EVENTS, *impressions({("q5", None): ["B08:base", "B09:new"]})]
    with pytest.raises(IdError, match="a user id is null") as caught:
        rw.interleaving(events)
    assert caught.value.where == "exposures, column 'client_id', row 13"
    assert credits_of(rw.interleaving([*EVENTS, *clicks("login", [(None, None)])])) == CREDITS


def test_an_unfair_draft_has_no_verdict():
    """base is first in each of 40 queries, where a coin would give it about 20."""
    lists = {(f"q{at}", f"c{at}"): ["B08:base", "B09:new"] for at in range(40)}
    clicked = [event("click", f"q{at}", f"c{at}", "B08") for at in range(40)]
    result = rw.interleaving([*impressions(lists), *clicked])
    assert result.draft.select("rows", "share", "fair").row(0) == (40, 1.0, False)
    assert result.table.select("verdict", "why").row(0) == ("not checked", "the draft was not fair")


@pytest.fixture(scope="module")
def shuffled():
    again = {("q1", "ann"): ["B08:new", "B09:base", "B10:base"]}
    outside = flat(impressions({("q9", "dan"): ["B08:", "B09:"]}))
    outside = outside.with_columns(
        pl.lit(None, pl.String).alias("event_attributes.object.search_config")
    )
    events = [*EVENTS, *impressions(again, minute=3), *clicks("hover", [("q1", "B08")])]
    frame = pl.concat([flat(events), outside], how="vertical_relaxed")
    return frame, rw.interleaving(frame)


@given(st.data())
def test_the_order_of_events_changes_no_bit(shuffled, data):
    frame, expected = shuffled
    order = data.draw(st.permutations(range(len(frame))))
    result = rw.interleaving(frame[order])
    assert same(result, expected)
    assert result.draft.equals(expected.draft)
    assert result.counts == expected.counts


def text_attributes(events=EVENTS):
    return pl.DataFrame(
        [{**each, "event_attributes": json.dumps(each["event_attributes"])} for each in events]
    )


TEAM = "event_attributes.object.search_config"
ERRORS = {
    "no impressions": (
        lambda: rw.interleaving(clicks()),
        InputError,
        "no event has the action 'impression'",
        "'click' (5)",
        'shown="…"',
    ),
    "no clicks": (
        lambda: rw.interleaving(impressions()),
        InputError,
        "no event has the action 'click', which has a reward",
        "'impression' (12)",
        'reward={"…": 1}',
    ),
    "an action that does not occur": (
        lambda: rw.interleaving(EVENTS, reward={"click": 1, "buy": 5}),
        InputError,
        "no event has the action 'buy'",
        "'impression' (12), 'click' (5)",
        "reward=",
    ),
    "no team": (
        lambda: rw.interleaving(flat().drop(TEAM)),
        ColumnError,
        "impressions have no team",
        "'event_attributes.object.object_id'",
        f'{TEAM}, or say which column it is: columns={{"exposures.team": "…"}}',
    ),
    "no team in any impression": (
        lambda: rw.interleaving(flat().with_columns(pl.lit(None, pl.String).alias(TEAM))),
        ColumnError,
        "impressions have no team",
        f"no value in column '{TEAM}'",
        'columns={"exposures.team": "…"}',
    ),
    "no item": (
        lambda: rw.interleaving(flat().drop("event_attributes.object.object_id")),
        ColumnError,
        "impressions have no item",
        "columns 'action_name'",
        'columns={"exposures.item": "…"}',
    ),
    "no query": (
        lambda: rw.interleaving(flat().drop("query_id")),
        ColumnError,
        "impressions have no query",
        "columns 'action_name'",
        'columns={"exposures.request": "…"}',
    ),
    "no item of clicks": (
        lambda: rw.interleaving(EVENTS, columns={"outcomes.item": None}),
        ColumnError,
        "events with a reward have no item",
        "columns 'action_name'",
        'columns={"outcomes.item": "…"}',
    ),
    "attributes that are text": (
        lambda: rw.interleaving(text_attributes()),
        ColumnError,
        "impressions have no item",
        "text in column 'event_attributes'",
        "export the events as NDJSON",
    ),
    "a column that does not exist": (
        lambda: rw.interleaving(flat(), columns={"exposures.team": "search_confg"}),
        ColumnError,
        "there is no column 'search_confg' for the team",
        "columns 'action_name'",
        "",
    ),
    "a column that is not read": (
        lambda: rw.interleaving(flat(), columns={"exposures.propensity": "query_id"}),
        ParameterError,
        "names a column that is not read of click events",
        "'propensity' of exposures",
        "leave it out",
    ),
    "a flat column beside a nested one": (
        lambda: rw.interleaving(pl.DataFrame(EVENTS).with_columns(pl.lit("x").alias(TEAM))),
        ColumnError,
        "a column stands beside a structure",
        TEAM,
        "drop one of them",
    ),
    "shown without events": (
        lambda: rw.interleaving({"credit_a": [1], "credit_b": [0]}, shown="view"),
        ParameterError,
        "there are no click events",
        'shown="view"',
        "action_name",
    ),
    "rewards without outcomes": (
        lambda: rw.interleaving({"credit_a": [1], "credit_b": [0]}, reward={"click": 1}),
        ParameterError,
        "there are no outcomes",
        "reward=",
        "action_name",
    ),
    "rewards that are no mapping": (
        lambda: rw.interleaving(EVENTS, reward=["click"]),
        ParameterError,
        "reward has a number for each action",
        "click",
        'reward={"click": 1}',
    ),
    "a reward that is no number": (
        lambda: rw.interleaving(EVENTS, reward={"click": "1"}),
        ParameterError,
        "reward must be a number",
        "'1'",
        "",
    ),
    "several shown actions": (
        lambda: rw.interleaving(EVENTS, shown=["impression", "view"]),
        ParameterError,
        "shown is the name of one action",
        "view",
        "",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_read_says_why(name):
    call, kind, what, found, hint = ERRORS[name]
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    assert what in caught.value.what
    assert found in caught.value.found
    assert hint in (caught.value.hint or "")


def test_errors_of_a_file_name_it(tmp_path):
    path = write(tmp_path / "text.csv", text_attributes().write_csv())
    with pytest.raises(ColumnError, match="impressions have no item") as caught:
        rw.interleaving(path)
    assert caught.value.where == str(path)


def test_the_command_reads_events(tmp_path):
    bought = clicks("purchase", [("q4", "B11")])
    write(tmp_path / "events.ndjson", "\n".join(map(json.dumps, [*EVENTS, *bought])))
    options = ("--reward", "click=1", "--reward", "purchase=5", "--save", "out")
    done = rankwise_here(tmp_path, "interleaving", "events.ndjson", *options)
    assert done.returncode == 0, done.stderr
    expected = rw.interleaving(tmp_path / "events.ndjson", reward={"click": 1, "purchase": 5})
    assert same(rw.Interleaving.load(tmp_path / "out"), expected)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--shown", "view"), 3, "no event has the action 'view'"),
        (("--reward", "buy=1"), 3, "say which actions have a reward: --reward"),
        (("--reward", "click"), 2, "'click' is not KIND=NUMBER"),
        (("--column", "exposures.team=ranker"), 3, "there is no column 'ranker' for the team"),
    ],
)
def test_mistakes_of_the_command_have_their_codes(tmp_path, options, code, message):
    write(tmp_path / "events.csv", flat().write_csv())
    done = rankwise_here(tmp_path, "interleaving", "events.csv", *options)
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())


def test_rewarded_items_of_no_team_are_counted():
    rows = {"request": [1, 1, 2, 2, 3, 3], "user": [1, 1, 2, 2, 3, 3], "item": list("abababab")[:6]}
    rows |= {"position": [1, 2] * 3, "team": ["A", "B", "B", "A", None, "A"]}
    rows |= {"reward": [1, 0, 0, 1, 1, 0]}
    found = rw.interleaving(rows)
    assert found.counts["rewarded items of no team, which credit nobody"] == 1
    assert "rewarded items of no team, which credit nobody: 1" in str(found)
