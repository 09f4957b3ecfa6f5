"""What a notebook shows of an audit."""

from __future__ import annotations

import json

import polars as pl

import rankwise as rw
from html_tables import read_html

TRAIN = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 5], "timestamp": [1, 2, 3]})
HOSTILE = "</td><script>alert(1)</script>\n\x1b[31m\u202e&amp;"


def test_one_row_per_check_with_its_verdict_in_words():
    found = rw.audit(TRAIN, TRAIN.head(1).with_columns(timestamp=9))
    (table,), (counts,) = read_html(found._repr_html_())
    assert table[0] == ["check", "verdict", "number", "what was found"]
    assert [row[0].split()[0] for row in table[1:]] == [f"L{number}" for number in range(1, 25)]
    assert table[1] == ["L1 same pair on both sides", "fail", "1", found["L1"].said]
    assert [row[1] for row in table[1:]] == [check.status for check in found.checks]
    assert (table[5][1:3], found["L5"].value) == (["not run", "–"], None)
    assert counts == found.verdict == repr(found).splitlines()[0]


def test_verdicts_that_need_attention_are_bold():
    html = rw.audit(TRAIN, TRAIN.head(1).with_columns(timestamp=9))._repr_html_()
    assert "<b>fail</b>" in html
    assert "<b>pass</b>" not in html


def test_hostile_names_are_text():
    items = {"item": [5, 6, 7], HOSTILE: ["x", "x", "y"]}
    found = rw.audit(TRAIN, pl.DataFrame({"user": [2], "item": [6]}), items=items)
    (table,), _ = read_html(found._repr_html_())
    assert "</td><script>alert(1)</script>  [31m &amp; with another" in table[15][3]


def test_json_has_names_as_they_are_written():
    rows = pl.DataFrame({"user": [1, 2], "item": [1, 2]})
    audit = rw.audit(rows, rows, items=pl.DataFrame({"item": [1, 2], "película": ["a", "b"]}))
    text = audit.export("json")
    assert "0 of 2 items share their película with another" in text
    assert text == json.dumps(audit.to_dict(), indent=2, ensure_ascii=False) + "\n"
