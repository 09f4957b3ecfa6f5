from __future__ import annotations

import json
import math
import sys

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from rankwise.core.terminal import (
    Marked,
    TableView,
    as_json,
    format_number,
    html,
    latex,
    markdown,
    plain,
)
from rankwise.results.per_user import from_per_user


def test_numbers():
    assert [format_number(v) for v in (None, 0.5, 0.0, 1.0, 12.0, -3.0, 1e6)] == [
        "–",
        "0.5000",
        "0.0000",
        "1.0000",
        "12",
        "−3",
        "1000000",
    ]


def test_one_row_a_metric_one_column_a_cutoff():
    result = rw.evaluate({1: [5, 6]}, {1: {6}}, ["recall@[1,2]", "mrr", "precision@2"])
    (view,) = result.views
    assert [view.head, *view.rows] == [
        ("metric", "@1", "@2", "whole"),
        ("recall", "0.0000", "1.0000", ""),
        ("mrr", "", "", "0.5000"),
        ("precision", "", "0.5000", ""),
    ]


def test_a_value_has_its_interval_beside_it_where_that_takes_no_resampling():
    lists, truth = {u: [u % 3, 9] for u in range(200)}, {u: {0} for u in range(200)}
    result = rw.evaluate(lists, truth, ["recall@[1,2]", "novelty@2", "coverage@2"], train=lists)
    (view,) = result.views
    interval = result.interval("recall@2")
    assert view.head == ("metric", "@1", "@2", "95 % interval of the last")
    assert view.rows[0][-1] == f"{interval.low:.4f} to {interval.high:.4f}"
    assert [row[-1] for row in view.rows[1:]] == ["", ""]  # without bounds, and no mean of users


def test_a_value_that_is_no_mean_of_users_has_the_interval_of_the_jackknife():
    lists, truth = {u: [u % 3, 9] for u in range(200)}, {u: {0} for u in range(200)}
    result = rw.evaluate(
        lists, truth, ["gini@2", "coverage@2", "mrr"], items=range(12), jackknife=20
    )
    gini = result.interval("gini@2")
    shown = f"{gini.low:.4f} to {gini.high:.4f}"
    (view,) = result.views
    assert gini.method == "jackknife"
    assert view.rows[0][-1] == shown
    assert view.rows[-1][-1]
    assert shown in str(result.export("markdown"))
    without = rw.evaluate(lists, truth, ["gini@2"], items=range(12))
    assert shown not in str(without)


def test_a_weighted_mean_stands_alone_without_the_jackknife():
    lists, truth = {1: [5, 6], 2: [6, 5], 3: [7, 5]}, {u: {5} for u in (1, 2, 3)}
    (view,) = rw.evaluate(lists, truth, "recall@1", weights={1: 3.0, 2: 1.0, 3: 1.0}).views
    assert [view.head, *view.rows] == [("metric", "@1"), ("recall", "0.6000")]


def test_the_interval_is_of_the_largest_cut_off_however_they_are_listed():
    lists = {u: [1, 3, 2, 5] if u % 2 else [7, 1] for u in range(40)}
    result = rw.evaluate(lists, {u: {1, 2} for u in lists}, "recall@4,1")
    interval = result.interval("recall@4")
    assert result.views[0].rows[0][-1] == f"{interval.low:.4f} to {interval.high:.4f}"


def test_limits_of_few_clusters_stay_within_the_range():
    lists = pl.DataFrame(
        {"user": [1, 1, 2], "request_id": [1, 2, 3], "item": [5, 6, 5], "rank": [1, 1, 1]}
    )
    truth = pl.DataFrame({"user": [1, 1, 2], "request_id": [1, 2, 3], "item": [5, 5, 6]})
    interval = rw.evaluate(lists, truth, "recall@1").interval("recall@1")
    assert (interval.low, interval.high) == (0.0, 1.0)


def test_the_footnote_says_what_was_out_of_the_ordinary():
    lists = {1: [(5, 1.0), (6, 1.0)], 2: [(5, 1.0)], 3: [(7, 2.0)]}
    who, rules, read = rw.evaluate(lists, {1: {6}, 2: {5}, 4: {5}}, "mrr").notes
    assert who.startswith("3 users with a relevant item; 1 without a list")
    assert "2 rows with tied scores" in who
    assert rules == "relevant: every row of the ground truth"
    assert (
        read
        == "lists ordered by score (column 'score'), ties=expected; recommendations: {user: [(item, number)]}; truth: {user: [items]}"
    )


def users_note(result: rw.Result) -> str:
    return result.notes[-3]


def test_notes_say_that_most_lists_are_shorter_than_the_largest_cutoff():
    truth = {user: {0} for user in range(6)}
    lengths = {0: 3, 1: 4, 2: 7, 3: 20, 4: 8}
    result = rw.evaluate(
        {user: list(range(n)) for user, n in lengths.items()}, truth, ["ndcg@5", "recall@9"]
    )
    note = "4 of 5 lists shorter than k = 9 (median length 7)"
    assert users_note(result).endswith(f"6 users with a relevant item; 1 without a list; {note}")
    assert note in result._repr_html_()
    assert note in result.export("markdown")
    assert not any("short" in name for name in result.counts)


def test_notes_say_nothing_of_lists_if_half_are_long_enough_or_there_is_no_cutoff():
    lists = {1: [5, 6, 7], 2: [5]}
    for metrics in ("ndcg@3", "mrr"):
        assert "shorter" not in users_note(rw.evaluate(lists, {1: {5}, 2: {5}}, metrics))
    assert "1 of 1 list shorter than k = 4 (median length 3)" in users_note(
        rw.evaluate(lists, {1: {5}}, "ndcg@4")
    )


def test_notes_say_nothing_of_lists_whose_lengths_are_not_known():
    users = pl.DataFrame({"user": [1, 2], "ndcg@10": [0.5, 1.0]})
    assert "shorter" not in users_note(from_per_user(users))
    users = users.with_columns(list_length=pl.Series([3, 4]))
    assert users_note(from_per_user(users)).endswith(
        "2 of 2 lists shorter than k = 10 (median length 3.5)"
    )


def test_notes_say_once_that_lists_are_shorter_than_requested():
    ranking = rw.rank(np.eye(3), 5)
    notes = users_note(rw.evaluate(ranking, {0: {0}, 1: {1}, 2: {1}}, "ndcg@5"))
    assert "3 lists shorter than requested: too few candidates" in notes
    assert "k = 5" not in notes
    assert "k = 9" in users_note(
        rw.evaluate(rw.rank(np.eye(3), 3), {0: {0}, 1: {1}, 2: {1}}, "ndcg@9")
    )


def test_notes_say_once_that_users_have_nothing_left_to_rank():
    class Model:
        def predict(self, users):
            return np.tile(np.arange(3.0), (len(users), 1))

    truth, train = {1: {8}, 2: {9}}, {1: [7], 2: [7, 8, 9]}
    result = rw.evaluate_model(
        Model(), truth, "recall@2", train=train, exclude_seen=True, items=[7, 8, 9]
    )
    assert (
        result.counts["users_with_too_few_items"]
        == result.counts["users_with_nothing_to_rank"]
        == 1
    )
    assert "1 with nothing left to rank" in users_note(result)
    assert "requested" not in users_note(result)


def test_notes_say_once_what_is_counted_of_lists_and_of_the_truth():
    lists, truth = {1: [5, 6], 2: [5, 6], 3: [5, 6]}, {1: {5: 1}, 2: {6: 0}, 4: {5: 1}}
    ending = {
        "truth": "; 1 without a list; 1 user without a relevant item, left out; 2 lists of users without a relevant item",
        "judged": "; 1 without a list; 1 without a relevant item; 2 lists of users without a relevant item",
        "all": "; 1 without a list; 2 without a relevant item; 1 user of the ground truth without a relevant item",
    }
    for population, expected in ending.items():
        assert users_note(rw.evaluate(lists, truth, "mrr", population=population)).endswith(
            expected
        )
    del lists[3]
    assert users_note(rw.evaluate(lists, truth, "mrr")).endswith(
        "; 1 without a list; 1 user without a relevant item, left out"
    )


def test_the_footnote_names_the_columns_that_were_read_and_those_that_were_not():
    lists = pl.DataFrame({"uid": [1, 1], "movieId": [5, 6], "rank": [1, 2], "note": "x", "at": "y"})
    truth = pl.DataFrame({"user": [1], "item": [5], "stars": [4.0], "text": ["z"]})
    for threshold, rule in ((None, "> 0"), (4, ">= 4")):
        result = rw.evaluate(lists, truth, "mrr", relevance_threshold=threshold)
        _, rules, read = result.views_at("full")[-1].notes
        assert rules == f"relevant: stars {rule}"
        assert [note.split(":")[0] for note in result.views[-1].notes] == [
            "1 user with a relevant item",
            "relevant",
        ]
        assert read == (
            "lists ordered by rank (column 'rank'); recommendations: polars table (user=uid, item=movieId, rank), not read: 'note', 'at'; "
            "truth: polars table (user, item, relevance=stars), not read: 'text'"
        )


WIDE = TableView(["metric", "a", "bb", "ccc"], [["recall", "0.5000", "0.25", "1"]], ["two words"])


def test_a_table_that_is_too_wide_goes_on_below(monkeypatch):
    monkeypatch.setenv("COLUMNS", "21")  # says nothing of a file or a pipe
    assert plain(WIDE) == "metric       a    bb  ccc\nrecall  0.5000  0.25    1\n\ntwo words"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert plain(WIDE).splitlines() == [
        "metric       a    bb",
        "recall  0.5000  0.25",
        "",
        "metric  ccc",
        "recall    1",
        "",
        "two words",
    ]
    monkeypatch.setenv("COLUMNS", "6")  # no room for a number beside its name: it is not cut
    assert "recall  0.5000\n\nmetric    bb\n" in plain(WIDE)
    assert plain(WIDE).endswith("two\n  words")


def test_a_name_that_leaves_no_room_for_numbers_goes_on_below(monkeypatch):
    long = TableView(
        ["", "a"], [["recall@10  a long name − another 映画館 name", "0.5000"], ["b", "1"]]
    )
    assert "another 映画館 name  0.5000" in plain(long)
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert plain(long).splitlines() == [
        "                             a",
        "recall@10  a long name  0.5000",
        "    − another 映画館",
        "    name",
        "b                            1",
    ]


def test_a_table_of_one_column_takes_the_whole_line(monkeypatch):
    view = TableView(["what was found"], [["a row of 20 columns,"], ["a row of 21 columns, "]])
    assert plain(view).splitlines() == [
        "what was found",
        "a row of 20 columns,",
        "a row of 21 columns,",
    ]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    assert plain(view).splitlines() == [
        "what was found",
        "a row of 20 columns,",
        "a row of 21 columns,",
    ]
    monkeypatch.setenv("COLUMNS", "19")
    assert plain(view).splitlines()[1:3] == ["a row of 20", "    columns,"]


def test_without_a_terminal_lines_are_as_long_as_they_are(monkeypatch):
    for stdout in (sys.stdout, None):
        monkeypatch.setattr(sys, "stdout", stdout)
        assert plain(WIDE).splitlines()[0] == "metric       a    bb  ccc"


def test_wide_characters_take_two_columns():
    view = TableView(["group", "映画館"], [["  映", "1.0000"], ["aa", "2"]])
    assert plain(view) == "group  映画館\n  映   1.0000\naa          2"


def test_foreign_text_is_text_in_every_medium():
    name = "a|b\n<i>*x*</i> $1_000 \x1b[0m"
    view = TableView(["", name], [[name, Marked("1", "bold", "a,b")]], [name], name)
    assert plain(view).count("\n") == 4
    assert "\x1b" not in plain(view)
    assert "&lt;i&gt;*x*&lt;/i&gt; $1_000" in html(view)
    assert "<td style" in html(view)
    assert "<b>1</b><sup>a,b</sup>" in html(view)
    assert r"| a\|b \<i\>\*x\*\</i\> \$1_000  \[0m | " in markdown(view).splitlines()[2]
    assert markdown(view).splitlines()[2].endswith(" **1**<sup>a,b</sup> |")
    assert r"a\textbar{}b $<$i$>$*x*$<$/i$>$ \$1\_000\quad [0m & " in latex(view)
    assert r" \textbf{1}$^{a,b}$ \\" in latex(view)
    assert latex(view).startswith("\\begin{table}\n\\centering\n\\caption{a\\textbar{}b $<$i")


def test_every_latex_table_has_one_shape():
    lists = {"ann": [5, 6], "bob": [6, 5]}
    users = {"user": ["ann", "bob"], "country": ["AT", "DE"]}
    result = rw.evaluate(
        lists, {"ann": {6}, "bob": {5}, "cyd": {5}}, "mrr", users=users, by="country"
    )
    tables = [text.split("\n") for text in result.export("latex").split("\n\n")]
    tables = [lines for lines in tables if not lines[0].startswith("%")]
    tables.append(rw.compare({"a": result, "b": result}).export("latex").rstrip("\n").split("\n"))
    over = r" over 3 users with a relevant item; relevant: every row of the ground truth.}"
    assert [lines[2] for lines in tables[:2]] == [
        rf"\caption{{Values{over}",
        rf"\caption{{Values by country{over}",
    ]
    assert tables[2][2].startswith(
        r"\caption{Means over 3 users. \textbf{Best}, \underline{second}."
    )
    assert [*tables[2][:2], tables[2][3]] == [
        r"\begin{table*}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        r"\label{tab:rankwise-comparison}",
    ]
    for name, columns, lines in zip(("values", "groups"), ("lrr", "lrrr"), tables[:2], strict=True):
        assert [*lines[:2], *lines[3:6]] == [
            r"\begin{table}",
            r"\centering",
            rf"\label{{tab:rankwise-{name}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
        ]
        assert lines[-3:] == [r"\bottomrule", r"\end{tabular}", r"\end{table}"]


def test_titles_are_for_latex_alone():
    view = TableView(["a"], [["1"]], title="A title", label="slug")
    bare = TableView(["a"], [["1"]])
    for write in (plain, html, markdown):
        assert write(view) == write(bare)
    assert r"\caption" not in latex(bare)
    assert r"\label" not in latex(bare)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Škoda ÿ Œ", "Škoda ÿ Œ"),
        ("e\u0301", "é"),
        ("- -- ---", r"- -\/- -\/-\/-"),
        ("-0.5000", "$-$0.5000"),
        ("-inf", "$-$inf"),
        ("-a", "-a"),
        ("[2pt]", "{}[2pt]"),
        ("a[*]", "a[*]"),
        ("≥ 4…", r"$\geq$ 4\ldots{}"),
        ('"it\'s"', r'\texttt{"}it\textquotesingle{}s\texttt{"}'),
        ("映画 x", r"\ifdefined\Umathcode 映画\else\texttt{U+6620 U+753B}\fi{} x"),
        ("\ufffd", r"\texttt{U+FFFD}"),
    ],
)
def test_text_of_latex(text, written):
    assert latex(TableView([text], [])).split("\n")[4] == rf"{written} \\"


HOSTILE = "=1+1\n\x1b[31m\x9b\u202e\u2066\u200f\ufeff\ud800<script>_a_\\|[x](y)"


def test_hostile_groups_are_harmless_in_every_export():
    users = pl.DataFrame({"user": [1, 2, 3], "group": [HOSTILE.replace("\ud800", ""), "-5", "+a"]})
    result = rw.evaluate(
        {1: [5], 2: [5], 3: [5]}, {1: {5}, 2: {6}, 3: {7}}, "mrr", users=users, by="group"
    )
    forms = {form: result.export(form) for form in ("csv", "json", "markdown", "latex")}
    for text in (*forms.values(), repr(result), result._repr_html_()):
        assert "[31m" in text
        assert not set(text) & set("\x1b\x9b\u202e\u2066\u200f\ufeff")
    groups = pl.read_csv(forms["csv"].encode(), infer_schema=False)["group"]
    assert groups.drop_nulls().to_list() == ["'+a", "-5", "'" + groups[3][1:]]
    assert groups[3].startswith("'=1+1")
    assert json.loads(forms["json"])["slices"][2]["group"] == users["group"][0]
    assert r"\<script\>\_a\_\\\|\[x\](y)" in forms["markdown"]
    assert "&lt;script&gt;" in result._repr_html_()


def test_half_characters_can_be_printed():
    assert plain(TableView([HOSTILE], [])).encode()


@pytest.mark.parametrize(("value", "shown"), [(math.nan, None), (-math.inf, "-inf"), (0.5, 0.5)])
def test_numbers_that_json_lacks(value, shown):
    assert json.loads(as_json({"a": [{"b": value}]})) == {"a": [{"b": shown}]}


def test_a_table_without_rows():
    view = TableView(["metric", "@1"], [])
    assert plain(view) == "metric  @1"
    assert html(view).count('<th scope="col"') == 2
    assert markdown(view).splitlines() == ["| metric |   @1 |", "| ---    | ---: |"]
