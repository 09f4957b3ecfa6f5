from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from rankwise.core.arguments import (
    bounded,
    check_choice,
    check_count,
    check_flag,
    check_number,
    check_path,
    check_positive,
    described,
    rounded_number,
)
from rankwise.errors import ParameterError


@pytest.mark.parametrize("n", [0, 3, 4])
def test_as_many_values_as_are_allowed_are_read(n):
    assert bounded("items", iter(range(n)), longest=4) == [*range(n)]
    with pytest.raises(ParameterError, match="items has no more than 4 values"):
        bounded("items", count(), longest=4)


@pytest.mark.parametrize(
    "value", ["3", True, float("nan"), float("inf"), pytest.param(10**400, id="huge")]
)
@pytest.mark.parametrize("optional", [False, True])
def test_only_finite_numbers_are_numbers(value, optional):
    with pytest.raises(ParameterError, match="share must be a number"):
        check_number("share", value, optional=optional)
    check_number("share", -0.5, optional=optional)


def test_none_is_a_number_only_where_it_is_optional():
    check_number("share", None)
    with pytest.raises(ParameterError, match="share must be a number"):
        check_number("share", None, optional=False)


@pytest.mark.parametrize("value", [1, 3, 2**62 - 1, np.int32(3)])
def test_counts_are_whole_numbers_from_the_least_that_fit_memory(value):
    check_count(k=value)
    check_positive(k=value, n=None)
    check_count(k=value, least=value)
    for check in (check_count, check_positive):
        with pytest.raises(ParameterError, match=f"k must be a whole number from {value + 1}"):
            check(k=value, least=value + 1)


@pytest.mark.parametrize("value", [0, -1, 2**62, True, 2.0, "2", [2]])
def test_what_is_no_count_is_refused_whichever_argument_it_is(value):
    for check in (check_count, check_positive):
        with pytest.raises(ParameterError, match="n must be a whole number from 1") as caught:
            check(k=1, n=value)
        assert caught.value.found == f"n={value!r}"
    check_count(least=0, n=0)
    with pytest.raises(ParameterError, match="n must be a whole number from 1"):
        check_count(n=None)


def test_flags_are_truth_values_of_python_or_numpy():
    check_flag(one=True, other=np.False_)
    for value in (1, 0, None, "True"):
        with pytest.raises(ParameterError, match="other must be True or False"):
            check_flag(one=True, other=value)


def test_a_choice_is_one_of_the_texts():
    check_choice("side", "left", Literal["left", "right"])
    for value in ("up", None, ["left"], 1):
        with pytest.raises(ParameterError, match="side must be one of left, right") as caught:
            check_choice("side", value, Literal["left", "right"])
        assert caught.value.found == f"side={value!r}"


def test_paths_are_text_or_paths_of_it():
    assert check_path("path", "a/b") == check_path("path", Path("a/b")) == Path("a/b")
    for value in ("", "a\0b", b"a", 3, None):
        with pytest.raises(ParameterError, match="path must be a path"):
            check_path("path", value)


@pytest.mark.parametrize(
    ("text", "number", "half"),
    [
        ("0.25", 0.25, 0.005),
        (0.25, 0.25, 0.005),
        (" 0.250 ", 0.25, 0.0005),
        ("-12", -12.0, 0.5),
        ("3e2", 300.0, 50.0),
        ("12.5%", 0.125, 0.0005),
        ("3%", 0.03, 0.005),
    ],
)
def test_a_number_is_known_to_half_a_unit_of_its_last_digit(text, number, half):
    assert rounded_number(text) == pytest.approx((number, half), rel=1e-12)


@pytest.mark.parametrize("text", ["", "a", "%", "0.5%%", "nan", "inf", "-inf%", "1,5"])
def test_what_is_no_number_is_not_rounded(text):
    with pytest.raises(ParameterError, match="this is not a number") as caught:
        rounded_number(text)
    assert caught.value.found == repr(text)


def test_each_line_of_a_name_is_filled_with_its_text():
    @described(k="k : int", n="n : int")
    def function():
        """Return.

        %(k)s
        %(n)s
        %(other)s
        """

    assert function.__doc__ == "Return.\n\nk : int\nn : int\n%(other)s"
    assert described(k="k")(lambda: 0).__doc__ is None
