"""The fields of a dataclass are checked by their annotated types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from rankwise.core.arguments import Count, Number, check_fields
from rankwise.errors import ParameterError


def check_even(name, value):
    if value % 2:
        raise ParameterError(f"{name} must be even", found=f"{name}={value}")


@dataclass
class Rule:
    size: Count | None = None
    weight: Number = 1.5
    order: Literal["up", "down"] = "up"
    strict: bool = True
    pairs: Annotated[int, check_even] = 2
    note: str = ""

    def __post_init__(self):
        check_fields(self)


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("size", 0, "size must be a whole number from 1"),
        ("weight", None, "weight must be a number"),
        ("weight", float("inf"), "weight must be a number"),
        ("order", "left", "order must be one of up, down"),
        ("strict", 1, "strict must be True or False"),
        ("pairs", 3, "pairs must be even"),
    ],
)
def test_each_kind_of_field_is_checked(field, value, what):
    with pytest.raises(ParameterError) as caught:
        Rule(**{field: value})
    assert (caught.value.what, caught.value.found) == (what, f"{field}={value!r}")


def test_none_passes_only_where_the_annotation_has_it():
    assert Rule(size=None).size is None
    with pytest.raises(ParameterError):
        Rule(order=None)


def test_fields_without_a_check_take_anything():
    assert Rule(note=7).note == 7
