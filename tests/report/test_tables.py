from __future__ import annotations

import rankwise as rw
from rankwise.report.tables import footnote, number, rows


def test_numbers():
    assert [number(v) for v in (None, 0.5, 0.0, 1.0, 12.0, -3.0, 1e6)] == [
        "–", "0.5000", "0.0000", "1.0000", "12", "-3", "1000000",
    ]  # fmt: skip


def test_one_row_a_measure_one_column_a_cutoff():
    result = rw.evaluate({1: [5, 6]}, {1: {6}}, ["recall@[1,2]", "mrr", "precision@2"])
    assert rows(result) == [
        ("measure", "@1", "@2", "whole"),
        ("recall", "0.0000", "1.0000", ""),
        ("mrr", "", "", "0.5000"),
        ("precision", "", "0.5000", ""),
    ]


def test_the_footnote_says_what_was_out_of_the_ordinary():
    lists = {1: [(5, 1.0), (6, 1.0)], 2: [(5, 1.0)], 3: [(7, 2.0)]}
    said = footnote(rw.evaluate(lists, {1: {6}, 2: {5}, 4: {5}}, "mrr"))
    for part in ("3 users", "1 without a list", "2 rows with tied scores", "ties=expected"):
        assert part in said
