"""Metrics that users define: what fails in them is an error that names the metric, the user and the value."""

from __future__ import annotations

import pytest

import rankwise as rw
from rankwise.errors import MetricError
from rankwise.metrics import PerUser, metric

pytestmark = pytest.mark.usefixtures("own_metrics")
LISTS = {"ann": [4, 5, 6], "bob": [1, 2], "eve": [8]}
TRUTH = {"ann": {4, 6}, "bob": {9, 2}, "eve": {8}}


def defined(plain, **options):
    @metric("tried", **{"range": (0, 1), "higher_is_better": True, **options}, plain=plain)
    class Tried(PerUser):
        """A metric under test."""

    return Tried


def share_of_even(recommended, relevant, k=None):
    return 10 / (len(recommended) - 2)  # bob has two


def raised(**options):
    with pytest.raises(MetricError) as caught:
        rw.evaluate(LISTS, TRUTH, "tried@3", **options)
    return caught.value


def test_an_exception_in_a_definition_names_the_metric_and_the_user():
    defined(share_of_even, range=(-100, 100))
    error = raised()
    assert error.what == "the definition of tried@3 failed"
    assert error.where == "user 'bob'"
    assert error.found == "ZeroDivisionError: division by zero"
    assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("answer", [None, "much", [1]])
def test_what_is_no_number_is_an_error_of_the_metric(answer):
    defined(lambda recommended, relevant, k=None: answer)
    assert "failed" in raised().what


def test_a_value_outside_the_range_names_the_metric_the_user_and_the_value():
    defined(lambda recommended, relevant, k=None: len(recommended) / 2)
    error = raised()
    assert "tried@3 is outside its range, 0 to 1" in error.what
    assert error.where == "user 'ann'"
    assert error.found == "1.5 (1 such users)"


def test_arrays_of_own_metrics_are_checked_as_well():
    @metric("tried", range=(0, 1), higher_is_better=True)
    class Tried(PerUser):
        """A metric under test."""

        def value(self, block, k):
            return block.n_relevant + 0.5

    assert raised().where == "user 'ann'"


def test_rounding_and_users_without_a_value_are_no_values_outside():
    defined(lambda recommended, relevant, k=None: 1 + 1e-12, range=(0.5, 1))
    truth = {**TRUTH, "dan": {3: 0}}
    result = rw.evaluate(
        LISTS,
        {u: dict.fromkeys(t, 1) if u != "dan" else t for u, t in truth.items()},
        "tried@3",
        population="all",
        undefined="zero",
    )
    assert result["tried@3"] == pytest.approx(1)


def test_tensors_are_checked_as_lists_are():
    torch = pytest.importorskip("torch")
    from rankwise.torch import Collection

    defined(share_of_even, range=(-100, 100))
    collection = Collection(["tried@3"])
    with pytest.raises(MetricError, match="the definition of tried@3 failed"):
        collection.update(torch.tensor([[0.9, 0.1]]), torch.tensor([[1, 0]]))
