"""Bad logs, outcomes and targets: a typed error with the row, and nothing lost."""

from __future__ import annotations

import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import (
    ColumnError,
    DuplicateError,
    EmptyError,
    InputError,
    ParameterError,
    ScoreError,
    UsageError,
)


def log(**columns):
    base = {
        "request": [1, 2, 3],
        "user": ["a", "a", "b"],
        "item": [7, 8, 7],
        "propensity": [0.5, 0.25, 0.5],
    }
    table = base | {"click": [1, 0, 0], "p_new": [0.9, 0.1, 0.9]} | columns
    return pl.DataFrame({name: values for name, values in table.items() if values is not None})


def slate(**columns):
    base = {"request": [1, 1, 2, 2], "item": [7, 8, 8, 7], "position": [1, 2, 1, 2]}
    table = (
        base
        | {"propensity": [0.5, 0.5, 0.5, 1.0], "click": [1, 0, 0, 1], "p_new": [0.5] * 4}
        | columns
    )
    return pl.DataFrame({name: values for name, values in table.items() if values is not None})


def run(exposures=None, outcomes=None, **options):
    return rw.off_policy(
        log() if exposures is None else exposures,
        outcomes,
        **({"targets": {"new": "p_new"}} | options),
    )


@pytest.mark.parametrize(
    ("wrong", "value", "row"),
    [
        ([0.5, 0.0, 0.5], "0 ", "row 2"),
        ([0.5, 0.5, 1.2], "1.2 ", "row 3"),
        ([-0.1, 0.5, 0.5], "-0.1 ", "row 1"),
    ],
)
def test_a_propensity_that_is_none_names_its_row(wrong, value, row):
    with pytest.raises(InputError, match="above 0 and at most 1") as error:
        run(log(propensity=wrong))
    assert value in error.value.found
    assert row in error.value.where


def test_a_missing_propensity_is_refused():
    with pytest.raises(ScoreError, match="propensity is null, NaN or infinite"):
        run(log(propensity=[0.5, None, 0.5]))


def test_without_propensities_the_ways_out_are_named():
    with pytest.raises(ColumnError, match="no column for the propensity") as error:
        run(log(propensity=None))
    assert "uniform" in error.value.hint
    assert "shares" in error.value.hint


def test_a_missing_reward_names_its_row():
    with pytest.raises(ScoreError, match="a reward is null") as error:
        run(log(click=[1, None, 0]))
    assert "row 2" in error.value.where


def test_no_reward_and_no_outcomes():
    with pytest.raises(ColumnError, match="no column for the reward"):
        run(log(click=None))


def test_two_columns_that_could_be_the_reward():
    with pytest.raises(ColumnError, match="two columns could be the reward"):
        run(log(purchase=[0, 0, 1]))


def test_target_probabilities_outside_0_to_1():
    with pytest.raises(InputError, match="probability that is none") as error:
        run(log(p_new=[0.5, 1.5, 0.5]))
    assert "row 2" in error.value.where


def test_target_probabilities_that_add_up_to_more_than_1():
    table = pl.DataFrame(
        {"user": ["a", "a", "b"], "item": [7, 8, 7], "probability": [0.9, 0.4, 1.0]}
    )
    with pytest.raises(InputError, match="add up to more than 1") as error:
        run(targets={"new": table})
    assert "user 'a'" in error.value.where
    assert error.value.found.startswith("1.3000")


@pytest.mark.parametrize(("share", "few"), [(0.4, 1), (0.49, 1), (0.4999, 0), (0.5, 0)])
def test_target_probabilities_that_add_up_to_less_than_1_are_counted(share, few):
    table = pl.DataFrame(
        {"user": ["a", "a", "b"], "item": [7, 8, 7], "probability": [0.5, share, 1.0]}
    )
    counts = run(targets={"new": table}).counts
    name = "new: contexts whose probabilities add up to less than 0.999"
    assert counts.get(name, 0) == few


def test_an_item_twice_in_a_target():
    table = pl.DataFrame(
        {"user": ["a", "a", "b"], "item": [7, 7, 7], "probability": [0.4, 0.4, 1.0]}
    )
    with pytest.raises(DuplicateError, match="occurs twice"):
        run(targets={"new": table})


def test_requests_of_which_a_target_says_nothing():
    table = pl.DataFrame({"user": ["a", "a"], "item": [7, 8], "probability": [0.5, 0.5]})
    with pytest.raises(InputError, match="says nothing about some requests") as error:
        run(targets={"new": table})
    assert "1 of 3 rows" in error.value.found
    logged = run(targets={"new": table}, missing="logged")
    assert logged.per_user["weight(new)"].to_list() == [3.0, 1.0]
    dropped = run(targets={"new": table}, missing="drop")
    assert dropped.counts["requests left out because a target says nothing about them"] == 1
    assert dropped.per_user["user"].to_list() == ["a"]


def test_items_that_a_target_does_not_know_are_counted():
    table = pl.DataFrame({"user": ["a", "b"], "item": [7, 7], "probability": [1.0, 1.0]})
    result = run(targets={"new": table})
    assert (
        result.counts["new: exposures of items that the target does not know, which it never shows"]
        == 1
    )
    assert result.per_user["weight(new)"].to_list() == [2.0, 2.0]


def test_ids_of_another_type():
    table = pl.DataFrame({"user": [1, 2], "item": [7, 7], "probability": [1.0, 1.0]})
    with pytest.raises(InputError, match="'user' is text in one table and a number in the other"):
        run(targets={"new": table})


def test_positions_with_a_gap():
    with pytest.raises(InputError, match="positions of a request have a gap") as error:
        run(slate(position=[1, 3, 1, 2]), propensities="conditional")
    assert "request 1" in error.value.where


def test_a_position_twice():
    with pytest.raises(DuplicateError, match="a position of a request occurs twice") as error:
        run(slate(position=[1, 1, 1, 2]), propensities="conditional")
    assert "row 1" in error.value.where


def test_a_position_that_is_no_rank():
    with pytest.raises(InputError, match="a position is no rank") as error:
        run(slate(position=[1.0, 2.5, 1.0, 2.0]), propensities="conditional")
    assert "row 2" in error.value.where


def test_slates_need_positions_and_the_kind_of_propensity():
    with pytest.raises(ColumnError, match="rows of a request have no position"):
        run(slate(position=None))
    with pytest.raises(ParameterError, match="say what the propensity of a row is of"):
        run(slate())
    with pytest.raises(ParameterError, match="independent positions only"):
        run(slate(), propensities="marginal", slates="interaction")


def test_a_request_of_two_users():
    with pytest.raises(InputError, match="a request has several users"):
        run(log(request=[1, 1, 2], user=["a", "b", "b"]))


def test_several_policies_are_not_one():
    mixed = log(policy=["a", "b", "b"])
    with pytest.raises(ParameterError, match="one policy is declared for a log of several"):
        run(mixed, propensity="uniform")
    assert run(mixed)["logged"] == pytest.approx(1 / 3)  # each row has its own propensity


def test_scores_alone_are_three_policies():
    scores = pl.DataFrame({"user": ["a", "b"], "item": [7, 7], "score": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="three policies"):
        run(targets={"new": scores})
    with pytest.raises(ParameterError, match="three policies"):
        rw.policies.Scores(scores)


def test_shares_need_the_columns():
    with pytest.raises(ParameterError, match="needs the columns"):
        run(propensity="shares")
    with pytest.raises(ColumnError, match="no column 'segment'"):
        run(propensity="shares", within=["segment"])


def test_rewards_outside_their_range():
    with pytest.raises(InputError, match="outside reward_range") as error:
        run(log(click=[1, 0, 3]), reward_range=(0, 2))
    assert "row 3" in error.value.where
    with pytest.raises(InputError, match="outside reward_range") as error:
        run(log(click=[1, 4, 3]), reward_range=(0, 2))  # the first of several is named
    assert "row 2" in error.value.where
    assert error.value.found == "4, outside 0 to 2"


def test_targets_and_options():
    with pytest.raises(ParameterError, match="targets are policies"):
        run(targets={})
    with pytest.raises(ParameterError, match="the logging policy is in every result"):
        run(targets={"logged": "p_new"})
    with pytest.raises(ParameterError, match="no policy 'old' for the baseline"):
        run(baseline="old")
    with pytest.raises(ColumnError, match="the exposures have no column 'p_old'"):
        run(targets={"new": "p_old"})
    with pytest.raises(ParameterError, match="not its class"):
        run(targets={"new": rw.policies.Uniform})
    with pytest.raises(EmptyError):
        run(targets={"new": {}})
    with pytest.raises(UsageError, match="alpha"):
        run(alpha=1.5)
    with pytest.raises(ParameterError, match="sndr needs predictions"):
        run(estimator="sndr")
    with pytest.raises(ColumnError, match="no column 'country' for by"):
        run(by="country")
    with pytest.raises(ParameterError, match="epsilon is a share"):
        rw.policies.Lists({"a": [1]}, epsilon=2)


def test_an_empty_log():
    with pytest.raises(EmptyError):
        run(log().clear())


CLICKS = pl.DataFrame({"request": [1, 3], "item": [7, 7]})


def test_outcomes_join_by_request_and_item():
    result = run(log(click=None), CLICKS)
    assert result.per_user["reward"].to_list() == [1.0, 1.0]
    assert result.counts["outcomes"] == 2
    assert result.counts["exposures without an outcome"] == 1


def test_outcomes_without_an_exposure():
    strays = pl.DataFrame({"request": [1, 9], "item": [7, 7]})
    with pytest.raises(InputError, match="outcomes belong to no exposure") as error:
        run(log(click=None), strays)
    assert (error.value.found, error.value.where) == ("1 of 2 outcomes", "outcomes, row 2")
    result = run(log(click=None), strays, missing="drop")
    assert result.counts["outcomes without an exposure"] == 1
    assert result["logged"] == pytest.approx(1 / 3)


def test_repeated_outcomes_are_added_and_counted():
    twice = pl.DataFrame({"request": [1, 1], "item": [7, 7], "kind": ["click", "buy"]})
    result = run(log(click=None), twice, reward={"click": 1, "buy": 10})
    assert result.per_user["reward"].to_list() == [11.0, 0.0]
    assert result.counts["exposures with several outcomes, whose rewards are added"] == 1
    assert result.settings["reward_range"] == [0.0, 11.0]
    assert result.settings["range_from_log"]


def test_outcomes_join_the_last_exposure_of_the_user_within_the_window():
    shown = log(
        request=None, click=None, user=["a", "a", "b"], item=[7, 7, 7], timestamp=[0, 1000, 0]
    )
    done = pl.DataFrame({"user": ["a", "b"], "item": [7, 7], "timestamp": [1500, 200_000]})
    with pytest.raises(InputError, match="belong to no exposure"):
        run(shown, done)
    result = run(shown, done, missing="drop")
    assert result.per_user.select("user", "reward").rows() == [("a", 1.0), ("b", 0.0)]
    assert run(shown, done, window="3d").per_user["reward"].to_list() == [1.0, 1.0]


def test_outcomes_without_request_need_times():
    with pytest.raises(ColumnError, match="by request and item, or else by user, item and time"):
        run(log(request=None, click=None), pl.DataFrame({"user": ["a"], "item": [7]}))


def test_independent_positions_need_marginal_propensities():
    for kind in ("conditional", "prefix", "list"):
        with pytest.raises(
            ParameterError, match="need the propensity of each item at its position"
        ):
            run(slate(), propensities=kind, slates="independent")
    with pytest.raises(ParameterError, match="cascade_dr needs predictions"):
        run(slate(), propensities="conditional", slates="cascade_dr")
    with pytest.raises(ParameterError, match="weight every position by the full list"):
        run(slate(), propensities="list", slates="interaction")


@pytest.mark.parametrize("by", ["item", "position", "request", "click"])
def test_groups_are_of_the_context(by):
    with pytest.raises((ParameterError, ColumnError, InputError)):
        run(slate(), propensities="conditional", by=by)


def test_a_group_has_whole_requests():
    with pytest.raises(InputError, match="a request is in several groups by kind") as error:
        run(slate(kind=["a", "b", "a", "a"]), propensities="conditional", by="kind")
    assert "row 2" in error.value.where


def test_columns_of_the_context_are_there():
    with pytest.raises(ColumnError, match="no column 'segmnt' for within"):
        run(log(segment=[1, 1, 2]), within=["segmnt"])
    assert run(log(segment=[1, 1, 2]), within="segment").settings["within"] == ["segment"]
    with pytest.raises(ParameterError, match="by is one column"):
        run(log(segment=[1, 1, 2]), by=["segment"])


def test_rewards_are_of_kinds_that_occur():
    clicks = pl.DataFrame({"request": [1], "item": [7], "kind": ["click"]})
    with pytest.raises(InputError, match="no outcome is of the kind 'clik'"):
        run(log(click=None), clicks, reward={"clik": 1})
    with pytest.raises(ParameterError, match="there are no outcomes"):
        run(reward={"click": 1})
    for wrong in ((0,), (5, 0), 7, "ab", ("0", "1")):
        with pytest.raises(ParameterError, match="the smallest and the largest reward"):
            run(reward_range=wrong)


def test_targets_columns_of_within_and_names_of_columns_have_their_types():
    for targets in ("p_new", ["p_new"], 4):
        with pytest.raises(ParameterError, match="targets are policies by name"):
            rw.off_policy(log(), targets=targets)
    for within in (3, [4]):
        with pytest.raises(ParameterError, match="within is columns"):
            run(log(segment=[1, 1, 2]), within=within)
    with pytest.raises(ParameterError, match="columns maps roles"):
        run(log(), columns=5)


def test_single_precision_may_round_a_probability_above_1():
    frame = log(propensity=[0.5, 1.0000001, 0.5], p_new=[1.0000001, 0.1, 0.9])
    assert run(frame.cast({"propensity": pl.Float32, "p_new": pl.Float32})).row("new")["n"] == 3
