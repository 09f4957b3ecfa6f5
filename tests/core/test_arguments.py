from __future__ import annotations

from itertools import count

import pytest

from rankwise.core.arguments import bounded, check_number
from rankwise.errors import ParameterError


@pytest.mark.parametrize("n", [0, 3, 4])
def test_as_many_values_as_are_allowed_are_read(n):
    assert bounded("items", iter(range(n)), most=4) == [*range(n)]
    with pytest.raises(ParameterError, match="items has no more than 4 values"):
        bounded("items", count(), most=4)


@pytest.mark.parametrize("value", ["3", True, float("nan"), float("inf"), pytest.param(10**400, id="huge")])
@pytest.mark.parametrize("optional", [False, True])
def test_only_finite_numbers_are_numbers(value, optional):
    with pytest.raises(ParameterError, match="share must be a number"):
        check_number("share", value, optional=optional)
    check_number("share", -0.5, optional=optional)


def test_none_is_a_number_only_where_it_is_optional():
    check_number("share", None)
    with pytest.raises(ParameterError, match="share must be a number"):
        check_number("share", None, optional=False)
