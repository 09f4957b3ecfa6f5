"""Tables and paragraphs for papers: every number and clause is that of the record."""

from __future__ import annotations

import re

import polars as pl
import pytest

import rankwise as rw
from rankwise import splits
from rankwise.datasets import synthetic
from rankwise.errors import MetricError, ParameterError
from rankwise.models import ItemNeighbours, Popularity

pytestmark = pytest.mark.xdist_group("paper")  # one comparison for all


@pytest.fixture(scope="module")
def comparison():
    data = synthetic()
    split = splits.GlobalTime(share=0.2).split(data.interactions)
    users = split.test["user"].unique().sort()
    results = {
        name: rw.evaluate(
            model.fit(split.train).recommend(users, 10),
            split,
            ["ndcg@10", "recall@10", "catalog_coverage@10"],
            items=data.items,
            users=data.users,
            by="activity",
            threshold=4,
            jackknife=16,
        )
        for name, model in {"pop_1": Popularity(), "knn": ItemNeighbours()}.items()
    }
    return rw.compare(results, baseline="pop_1", primary="ndcg@10")


def rows(table):
    """Return the cells of the body of a LaTeX table."""
    body = table[table.index(r"\midrule") : table.index(r"\bottomrule")]
    return [
        line.removesuffix(r" \\").split(" & ")
        for line in body.splitlines()
        if line.endswith(r" \\")
    ]


def test_a_table_of_systems(comparison):
    table = comparison.export("latex", metrics=["recall@10", "ndcg@10"], label="main")
    assert table.startswith("\\begin{table*}\n\\centering\\small")
    assert table.endswith("\\end{tabular}\n\\end{table*}\n")
    assert r"\label{tab:main}" in table
    assert r"System & Recall@10 & NDCG@10 \\" in table
    row = comparison["ndcg@10", "knn"]
    (baseline, system), text = rows(table), f"{row['mean_system']:.3g}".removeprefix("0")
    assert baseline[0] == r"pop\_1"
    assert system == ["knn", system[1], rf"\textbf{{{text}}}$^{{+}}$"]
    assert r"\addlinespace" in table
    caption = re.search(r"\\caption\{(.*)\}", table)[1]
    for clause in (
        "1,024 users",
        "bounded mean",
        "Holm over 1 pair)",
        "rating 4 or more",
        "381 users",
        "2025-08-07",
        rw.__version__,
    ):
        assert clause in caption


def test_its_options(comparison):
    percent = comparison.export(
        "latex", metrics=["ndcg@10"], percent=True, digits=2, columns="column", caption=False
    )
    mean = comparison["knn"]["mean_system"]
    assert rows(percent)[1][1] == rf"\textbf{{{100 * mean:.1f}}}$^{{+}}$"
    assert r"\begin{table}" in percent
    assert r"\caption" not in percent
    pairs = comparison.export("latex", layout="pairs")
    assert [row[-1] for row in rows(pairs)] == ["better"] * 3
    assert rows(pairs)[0][:2] == ["NDCG@10", r"knn $-$ pop\_1"]
    with pytest.raises(MetricError, match="mrr@3 was not compared"):
        comparison.export("latex", metrics=["mrr@3"])
    for wrong in ({"columns": "both"}, {"layout": "rows"}, {"digits": 0}):
        with pytest.raises(ParameterError):
            comparison.export("latex", **wrong)


def test_groups_are_blocks_of_columns(comparison):
    found = rw.compare(
        comparison.results, baseline="pop_1", by="activity", metrics=["ndcg@10", "recall@10"]
    )
    table = found.export("latex")
    assert re.findall(r"multicolumn\{(\d)\}\{c\}\{activity (\w+) \(\$n=(\d+)", table) == [
        ("2", group, str(found["ndcg@10", "knn", group]["users"]))
        for group in ("low", "middle", "high", "none")
    ]
    assert table.count(r"\cmidrule") == 4
    assert all(len(row) == 9 for row in rows(table))


def test_braces_and_dollars_are_balanced(comparison):
    for layout in ("systems", "pairs"):
        table = comparison.export("latex", layout=layout)
        bare = re.sub(r"\\.", "", table)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        assert not re.search(r"(?<!\\)[%#_]", table)


def test_every_clause_of_the_method_is_recorded(comparison):
    text = comparison.export("methods")
    row, settings = comparison["knn"], comparison.results["knn"].provenance["settings"]
    for clause in (
        "We compared 1 system with pop_1 on [not recorded: the name of the data set]",
        "11,031 test rows, 800 items",
        "metrics were cut at 10",
        f"rating {settings['relevance_threshold']:g} or more",
        "the 1,024 users with a relevant item; 381 users without one are left out",
        "a user without a list (2 for knn) scores 0",
        "NDCG@10 (gain linear, log base 2.0, discount log plus one, without relevant undefined, ideal relevant) is the primary metric",
        "by Gaffke's limit of a bounded mean, which holds for any users (two-sided, α = 0.05; corrected over 1 pair by Holm)",
        "2 further metrics are exploratory (2 pairs, Benjamini–Hochberg)",
        "jackknife over 16 groups",
        f"knn was better than pop_1 (+{row['difference']:.4f}, 95 % interval +{row['low']:.4f} to +{row['high']:.4f}, adjusted p < 0.0001)",
        f"rankwise {rw.__version__} (split {comparison.results['knn'].split['id'][:12]}; [not recorded: hashes of the lists])",
    ):
        assert clause in text, clause


def test_what_is_not_known_is_said(comparison):
    alone = rw.Comparison(comparison.table, comparison.values, comparison.design)
    text = alone.export("methods")
    for gap in (
        "the split",
        "the candidate set",
        "relevance",
        "the users counted",
        "its parameters",
        "hashes of the lists",
    ):
        assert f"[not recorded: {gap}]" in text


def test_the_p_value_of_equivalence_is_that_of_the_margin():
    values = {
        "a": (),
        "b": (0, 1),
    }  # last digits of users whose values are turned round: as many gain as lose
    tables = {
        name: pl.DataFrame(
            {
                "user": range(200),
                "recall@1": [float((u % 10 in digits) != u % 2) for u in range(200)],
            }
        )
        for name, digits in values.items()
    }
    made = rw.compare(
        {name: rw.from_per_user(table) for name, table in tables.items()}, baseline="a", margin=0.3
    )
    assert "0.0001 (margin) | equivalent |" in re.sub(
        " +", " ", made.export("markdown", layout="pairs")
    )
    assert "adjusted p (margin) < 0.0001" in made.export("methods")


@pytest.mark.parametrize(
    ("users", "said"), [(6, "tested with an exact sign-flip test"), (60, "tested with a sign-flip")]
)
def test_the_article_is_that_of_the_test(users, said):
    values = {"a": [0.0, 0.5] * (users // 2), "b": [0.25, 0.5] * (users // 2)}
    tables = {
        name: pl.DataFrame({"user": range(users), "recall@4": column})
        for name, column in values.items()
    }
    made = rw.compare(
        {name: rw.from_per_user(table) for name, table in tables.items()}, test="sign_flip"
    )
    assert said in made.export("methods")


def test_groups_of_requests_are_counted_by_request():
    """Users 0 to 3 have two requests each in group x, users 4 to 9 one each in group y."""
    views = [(user, view) for user in range(10) for view in range(2 if user < 4 else 1)]
    users = pl.DataFrame({"user": list(range(10)), "team": ["x"] * 4 + ["y"] * 6})
    truth = pl.DataFrame(
        [(*view, 1) for view in views], schema=["user", "request", "item"], orient="row"
    )
    results = {}
    for name, hits in (("a", 3), ("b", 2)):
        rows = [(*view, int(at % hits == 0), 1) for at, view in enumerate(views)]
        lists = pl.DataFrame(rows, schema=["user", "request", "item", "rank"], orient="row")
        results[name] = rw.evaluate(lists, truth, ["recall@1"], users=users, by="team")
    made = rw.compare(results, by="team")
    assert re.findall(r"\{team (\w) \((.*?)\)\}", made.export("latex")) == [
        ("x", "$n=8$ requests"),
        ("y", "$n=6$ requests"),
    ]
    assert (
        "Lists are of requests: those of 4 to 6 users in each group, the sampling units."
        in made.export("methods")
    )
