"""JSON and CSV to the letter: what is escaped, and what becomes of numbers that JSON has not."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from rankwise.core.terminal import TableView, as_json, csv_text, export, float_of, json_safe
from rankwise.errors import ParameterError


def test_json_is_indented_by_two_and_hides_nothing():
    data = {"a": [1, math.nan], "é\u202e": {"b": math.inf}, "c": "x\x1b\n"}
    text = '{\n  "a": [\n    1,\n    null\n  ],\n  "é\\u202e": {\n    "b": "inf"\n  },\n  "c": "x\\u001b\\n"\n}\n'
    assert as_json(data) == text


@pytest.mark.parametrize(
    ("value", "plain", "back"),
    [
        (0.5, 0.5, 0.5),
        (-math.inf, "-inf", -math.inf),
        (math.inf, "inf", math.inf),
        (3, 3, 3),
        (True, True, True),
    ],
)
def test_numbers_come_back(value, plain, back):
    assert json_safe(value) == plain
    assert json_safe({"a": (value, [value])}) == {"a": [plain, [plain]]}
    assert float_of(plain) == back
    assert json_safe(math.nan) is None
    assert math.isnan(float_of(None))


def test_text_is_no_formula_and_numbers_are_numbers():
    table = pl.DataFrame(
        {"a": ["=1+1", "-x", "-1.5", "+2", "@b", "plain", None, "x\x1by"], "n": [-1.5] * 8}
    )
    lines = csv_text(table).splitlines()
    assert lines[0] == "a,n"
    assert [line.rsplit(",", 1)[0] for line in lines[1:]] == [
        "'=1+1",
        "'-x",
        "-1.5",
        "+2",
        "'@b",
        "plain",
        "",
        "x y",
    ]
    assert {line.rsplit(",", 1)[1] for line in lines[1:]} == {"-1.5"}


def test_each_form_takes_its_own_source():
    view = TableView(["a"], [("1",)])
    forms = [
        export(form, lambda: {"a": 1}, lambda: pl.DataFrame({"a": [1]}), lambda: [view])
        for form in ("json", "csv")
    ]
    assert forms == ['{\n  "a": 1\n}\n', "a\n1\n"]
    text = export("markdown", dict, pl.DataFrame, lambda: [view])
    assert text.splitlines()[0].replace(" ", "") == "|a|"
    assert "\\begin{tabular}" in export("latex", dict, pl.DataFrame, lambda: [view])
    with pytest.raises(ParameterError, match="format"):
        export("xml", dict, pl.DataFrame, list)
    assert as_json(np.float64(0.5)) == "0.5\n"
