from __future__ import annotations

from itertools import count

import pytest

from rankwise.core.arguments import bounded
from rankwise.errors import ParameterError


@pytest.mark.parametrize("n", [0, 3, 4])
def test_as_many_values_as_are_allowed_are_read(n):
    assert bounded("items", iter(range(n)), most=4) == [*range(n)]
    with pytest.raises(ParameterError, match="items has no more than 4 values"):
        bounded("items", count(), most=4)
