"""Every option on every road: the numbers of the plain call to the bit, or refused with a road that takes it.

Rows, values and refusals are derived from the declaration of the options: a new option is in the matrix by itself, and
fails here as long as nothing shows that it changes something.
"""

from __future__ import annotations

import pytest

import rankwise as rw
from rankwise.errors import RankwiseError
from rankwise.evaluation import settings
from rankwise.evaluation.settings import ListOptions, option_fields
from rankwise.options import ROADS, SHORTHANDS
from road_worlds import (
    BESIDE,
    EVALUATED,
    cells,
    comparable,
    differing,
    expected,
    probe,
    refused_on,
    rows,
    said,
    worlds,
)

CELLS = [(row, road) for row, road in cells() if road in EVALUATED]


@pytest.mark.parametrize("row", rows())
def test_every_option_changes_something(row):
    found = [probe(row, text=text) for text in (False, True)]
    assert any(found), (
        f"{row} changes no result: add values to VALUES, or what it needs to BESIDE, in road_worlds.py"
    )


def cases():
    """Yield each cell with integers and with text; one of the two, in turns, only in a deep check."""
    for at, (row, road) in enumerate(CELLS):
        turn = at + at // len(EVALUATED)  # so that each road has both, and each row too
        for text in (False, True):
            marks = pytest.mark.deep if text is (turn % 2 == 0) else ()
            name = f"{row}-{road}-{'text' if text else 'integers'}"
            yield pytest.param(row, road, text, id=name, marks=marks)


@pytest.mark.parametrize(("row", "road", "text"), [*cases()])
def test_road_gives_the_numbers_of_the_plain_call_or_refuses(row, road, text, tmp_path):
    tried = probe(row, text=text) or probe(row, text=not text)
    if road in refused_on(row):
        if road == "command" or row in SHORTHANDS:
            pytest.skip(f"nothing to refuse: {refused_on(row)[road]}")
        assert_refused(row, road, tried, tmp_path)
        return
    try:
        result = EVALUATED[road](tried, tmp_path)
    except RankwiseError as error:  # not by its declaration: the message says why here
        assert_names_a_road(str(error), tried.option)
        return
    theirs = expected(road, tried)
    assert not differing(comparable(road, said(theirs)), comparable(road, said(result)))


def assert_refused(row, road, tried, folder):
    """Check the error of a road that refuses an option by its declaration."""
    simple = type(tried)(row, tried.option, tried.value, worlds(text=False)[0], tried.metrics)
    with pytest.raises(RankwiseError) as raised:
        EVALUATED[road](simple, folder)
    message = str(raised.value)
    assert f"{ROADS[road]} does not take {tried.option}=" in message
    assert refused_on(row)[road] in message
    assert "hint:  rankwise.evaluate takes it" in message


def assert_names_a_road(message, option):
    """Check that a message names an option and a road that takes it."""
    assert option in message
    assert "rankwise." in message or "rw." in message


def test_typed_dictionaries_have_what_the_declaration_says():
    taken = {
        "pieces": settings.PieceOptions,
        "model": settings.WholeOptions,
        "ratings": settings.RatingOptions,
    }
    explicit = {
        "pieces": {
            "ties",
            "codes",
            "titles",
            "mean_over",
        },  # in the signature, with another default or none
        "model": {"ties", "exclude_seen"},
        "ratings": {"mean_over"},
    }
    for road, dictionary in taken.items():
        declared = {
            name for name, entry in option_fields().items() if road not in entry.metadata["not_on"]
        }
        listed = {*dictionary.__annotations__} - {"k", "threshold"}
        assert listed | explicit[road] == declared, road
    assert {*ListOptions.__annotations__} - {"k", "threshold"} == {*option_fields()}


LISTED = {"ann": ["heat", "jaws"]}
RATED = {"user": ["ann"], "item": ["heat"], "prediction": [4.0], "rating": [5.0]}


class Listed:
    def recommend(self, user, n):
        return LISTED[user][:n]


CALLS = {
    "pieces": lambda **options: rw.Evaluator("mrr@2", truth=LISTED, **options),
    "model": lambda **options: rw.evaluate_model(Listed(), LISTED, "mrr@2", **options),
    "ratings": lambda **options: rw.evaluate_ratings(RATED, "mrr@2", **options),
}


@pytest.mark.parametrize("road", CALLS)
def test_a_road_that_refuses_an_option_takes_its_default(road):
    for name, entry in option_fields().items():
        if road in entry.metadata["not_on"]:
            CALLS[road](**{name: entry.default})
    with pytest.raises(TypeError, match="argument 'poplation'; did you mean 'population'"):
        CALLS[road](poplation=None)


def test_refusals_name_roads_and_options_beside_exist():
    for row in rows():
        assert {*refused_on(row)} <= {*ROADS}, row
        assert "evaluate" not in refused_on(row)
    assert {*BESIDE} <= {name for name, _ in rows().values()}
