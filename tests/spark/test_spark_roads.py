"""Every option on Spark: the numbers of `rankwise.evaluate` to the bit, or refused with a road that takes it."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from spark_worlds import on_spark

import rankwise.spark as rs
from rankwise.errors import RankwiseError
from rankwise.options import ROADS
from road_worlds import comparable, differing, plain, probe, refused_on, rows, said, worlds


def cases():
    """Yield each row with integers and with text.

    A third of what Spark takes always runs, with integers and text in turns, and the rest in a
    deep check: the options of test_spark_evaluate.py always run, and so does all that is refused.
    """
    for at, row in enumerate(rows()):
        for text in (False, True):
            always = not text if "spark" in refused_on(row) else at % 6 == 3 * text
            marks = () if always else pytest.mark.deep
            yield pytest.param(row, text, id=f"{row}-{'text' if text else 'integers'}", marks=marks)


@pytest.mark.parametrize(("row", "text"), [*cases()])
def test_spark_gives_the_numbers_of_the_plain_call_or_refuses(spark, row, text):
    tried = probe(row, text=text) or probe(row, text=not text)
    refused = "spark" in refused_on(row)
    world = worlds(text=False)[0] if refused else tried.world
    tables = on_spark(spark, world.tables)
    lists, truth = tables.pop("recommendations"), tables.pop("truth")
    with pytest.raises(RankwiseError) if refused else nullcontext() as raised:
        try:
            result = rs.evaluate(
                lists, truth, list(tried.metrics), spark=spark, buckets=3, **tables, **tried.options
            )
        except RankwiseError as error:
            if refused:
                raise
            assert tried.option in str(error), error
            assert "rankwise." in str(error) or "rw." in str(error), error
            return
    if refused:
        assert f"{ROADS['spark']} does not take {tried.option}=" in str(raised.value)
        assert "rankwise.evaluate takes it" in str(raised.value)
        return
    theirs = plain(world, tried.metrics, tried.options)
    assert not differing(comparable("spark", said(theirs)), comparable("spark", said(result)))
