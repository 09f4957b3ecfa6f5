"""Slices of shown rows, columns of every type, files, crossed names, and what is printed of many groups."""

from __future__ import annotations

import datetime as dt
import math

import polars as pl
import pytest

import rankwise as rw
from command_line import rankwise_here
from rankwise.errors import ColumnError, ParameterError
from rankwise.evaluation.slicing import Bins

CLICKS = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3],
        "item": ["p", "q", "r", "p", "r", "q"],
        "prediction": [0.8, 0.25, 0.4, 0.6, 0.2, 0.1],
        "label": [1, 0, 0, 0, 1, 0],
        "place": ["top", "side", "top", "side", "side", "top"],
    }
)
SHELF = {"item": ["p", "q", "r"], "shelf": ["front", "back", "front"]}
CELLS = ["log_loss", "calibration_ratio"]


def of_rows(rows):
    """Return log loss and calibration ratio of some rows, by hand."""
    pairs = list(zip(rows["prediction"], rows["label"], strict=True))
    loss = -sum(math.log(p if y else 1 - p) for p, y in pairs) / len(pairs)
    clicks = sum(y for _, y in pairs)
    return loss, sum(p for p, _ in pairs) / clicks if clicks else math.nan


def values(result, by, *cells):
    rows = result.slices.filter(pl.col("by") == by).select("group", *(cells or CELLS)).rows()
    return {group: tuple(own) for group, *own in rows}


def near(expected):
    return {name: pytest.approx(own, nan_ok=True) for name, own in expected.items()}


def test_probabilities_are_sliced_by_the_rows_that_were_shown():
    result = rw.evaluate_ratings(CLICKS, CELLS, items=SHELF, by=["item:shelf", "truth:place"])
    shelves = {
        "back": of_rows(CLICKS.filter(pl.col("item") == "q")),
        "front": of_rows(CLICKS.filter(item="p").vstack(CLICKS.filter(item="r"))),
    }
    assert values(result, "item:shelf") == near(shelves)
    places = {name: of_rows(CLICKS.filter(place=name)) for name in ("side", "top")}
    assert values(result, "truth:place") == near(places)
    assert math.isnan(values(result, "item:shelf")["back"][1])  # no click


def test_lists_with_clicks_alone_as_ground_truth_have_the_same_slices():
    clicked = CLICKS.filter(pl.col("label") > 0).select("user", "item", "place")
    lists = CLICKS.select("user", "item", score="prediction")
    by = ["item:shelf", "truth:place"]
    result = rw.evaluate(lists, clicked, CELLS, items=SHELF, by=by, population="all")
    rated = rw.evaluate_ratings(CLICKS, CELLS, items=SHELF, by="item:shelf")
    assert values(result, "item:shelf") == near(values(rated, "item:shelf"))
    # Of a row without a click the ground truth does not say where it was shown.
    assert {*values(result, "truth:place")} == {"side", "top", None}
    assert values(result, "truth:place")[None] == pytest.approx(
        of_rows(CLICKS.filter(label=0)), nan_ok=True
    )


def test_ratings_of_a_slice_are_those_of_all_its_people():
    stars = pl.DataFrame(
        {
            "user": [1, 2, 2],
            "item": [5, 5, 6],
            "prediction": [4.0, 4.0, 3.0],
            "rating": [5.0, 2.0, 3.0],
        }
    )
    train = {"user": [1, 2], "item": [5, 7]}
    by = ["repeat", "item:cold"]
    result = rw.evaluate_ratings(stars, ["rmse", "mae"], train=train, by=by)
    assert values(result, "repeat", "mae") == {"repeat": (1.0,), "new": (1.0,)}
    warm, cold = (math.sqrt(2.5), 1.5), (0.0, 0.0)
    assert values(result, "item:cold", "rmse", "mae") == {"warm": pytest.approx(warm), "cold": cold}


def test_metrics_of_both_kinds_keep_their_own_users():
    result = rw.evaluate_ratings(
        CLICKS, ["log_loss", "recall@1"], items=SHELF, by="item:shelf", relevance_threshold=1
    )
    front, back = (
        result.slices.filter(group=name).row(0, named=True) for name in ("front", "back")
    )
    assert (front["users"], back["users"]) == (2, 2)
    assert front["recall@1"] == 0.5  # user 1 has p first, user 2 has p before r
    assert math.isnan(back["recall@1"])
    assert result.sliced.filter(group="back")["recall@1"].is_nan().all()
    assert rw.evaluate_ratings(
        CLICKS, "recall@1", items=SHELF, by="item:shelf", relevance_threshold=1
    ).slices["group"].to_list() == ["back", "front"]


def test_depth_does_not_go_with_slices_of_rows():
    lists = CLICKS.select("user", "item", score="prediction")
    truth = CLICKS.filter(pl.col("label") > 0).select("user", "item")
    with pytest.raises(ParameterError, match="depth cuts lists of all slices"):
        rw.evaluate(lists, truth, "log_loss", items=SHELF, by="item:shelf", depth=2)


def test_requests_are_crossed_by_the_integer_ids_of_their_users():
    lists = pl.DataFrame({"user": [1, 1, 2, 2], "request": [1, 2, 1, 1], "item": [10, 11, 10, 12]})
    truth = pl.DataFrame({"user": [1, 1, 2], "request": [1, 2, 1], "item": [10, 12, 12]})
    items = {"item": [10, 11, 12], "kind": ["x", "y", "z"]}
    train = {"user": [1, 2, 2, 3, 3, 3], "item": [10, 10, 11, 10, 11, 12]}
    by = ["activity", "item:kind"]
    result = rw.evaluate(lists, truth, "recall@2", items=items, train=train, by=by, cross=True)
    text = rw.evaluate(
        lists.with_columns(pl.col("user").cast(pl.String)),
        truth.with_columns(pl.col("user").cast(pl.String)),
        "recall@2",
        items=items,
        train=pl.DataFrame(train).with_columns(pl.col("user").cast(pl.String)),
        by=by,
        cross=True,
    )
    rows = result.slices.select("group", "users", "recall@2").rows()
    assert rows == [("low × x", 1, 1.0), ("low × z", 1, 0.0), ("middle × z", 1, 1.0)]
    assert rows == text.slices.select("group", "users", "recall@2").rows()
    assert result.provenance["slice_digests"] == text.provenance["slice_digests"]


def test_crossed_users_with_ids_of_several_widths():
    lists = pl.DataFrame(
        {"user": [1, 2], "item": [1, 2]}, schema={"user": pl.Int8, "item": pl.Int8}
    )
    users = {"user": [1, 2, 2**40], "a": ["x × y", "x", "x"], "b": ["z", "y × z", "q"]}
    result = rw.evaluate(
        lists, {1: {1}, 2: {3}}, "recall@1", users=users, by=["a", "b"], cross=True
    )
    assert result.slices.select("group", "recall@1").rows() == [
        ('x × "y × z"', 0.0),
        ('"x × y" × z', 1.0),
    ]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        (
            "t[1577836800,1577836900]",
            ["below 1577836800", "1577836800 to 1577836900", "1577836900 and above"],
        ),
        ("p[1e6,2.5e6]", ["below 1000000", "1000000 to 2500000", "2500000 and above"]),
        ("p[0.1]", ["below 0.1", "0.1 and above"]),
        ("p[1234567.25]", ["below 1234567.25", "1234567.25 and above"]),
        ("p[-1,1e-7]", ["below -1", "-1 to 1e-07", "1e-07 and above"]),
    ],
)
def test_names_of_bins_have_all_digits(name, names):
    assert Bins.read(name).names == names


def test_integers_are_cut_with_all_their_digits():
    start = 2**62
    truth = pl.DataFrame(
        {"user": [1, 2, 3], "item": [1, 2, 3], "at": [start, start + 1, start + 2]}
    )
    result = rw.evaluate(
        {1: [1], 2: [9], 3: [3]}, truth, "recall@1", by=f"truth:at[{start + 1},{start + 2}]"
    )
    assert result.slices["recall@1"].to_list() == [1.0, 0.0, 1.0]


def test_quartiles_of_near_numbers_have_different_names():
    start = 1_600_000_000
    truth = pl.DataFrame(
        {"user": range(20), "item": range(20), "at": [start + 9 * i for i in range(20)]}
    )
    result = rw.evaluate({u: [u] for u in range(20)}, truth, "recall@1", by="truth:at")
    assert result.slices["users"].to_list() == [5] * 4
    assert result.slices["group"].n_unique() == 4


def test_a_column_with_brackets_in_its_name_is_that_column():
    truth = pl.DataFrame({"user": [1, 2], "item": [3, 4], "fee[%]": ["a", "b"]})
    by = ["item:price[usd]", "truth:fee[%]", "size[cm]"]
    items, users = {"item": [3, 4], "price[usd]": [7, 8]}, {"user": [1, 2], "size[cm]": [170, 180]}
    result = rw.evaluate({1: [3], 2: [4]}, truth, "recall@1", items=items, users=users, by=by)
    assert result.slices["group"].to_list() == ["170", "180", "7", "8", "a", "b"]


def test_categories_are_read_as_metrics_read_them():
    items = {
        "item": [1, 2, 3, 4],
        "tags": ["war; sea", " sea", "", " ; "],
        "kinds": ["['war', 'sea']", '["sea"]', "[]", "[None]"],
        "lists": [["war", "sea"], ["sea"], [None], []],
        "is_war": [1, 0, 0, 0],
        "is_sea": [1.0, 1.0, 0.0, math.nan],
    }
    by = ["item:kinds", "item:lists", "item:tags", "item:is_*"]
    truth = pl.DataFrame({"user": [1] * 4, "item": [1, 2, 3, 4], "topic": ["a|b", "b", None, " "]})
    result = rw.evaluate({1: [1, 2]}, truth, "recall@2", items=items, by=[*by, "truth:topic"])
    expected = {"sea": (1.0,), "war": (1.0,), None: (0.0,)}
    for name in ("item:kinds", "item:lists", "item:is_*"):
        assert values(result, name, "recall@2") == expected
    assert values(result, "item:tags", "recall@2") == expected
    assert values(result, "truth:topic", "recall@2") == {"a": (1.0,), "b": (1.0,), None: (0.0,)}
    assert result.provenance["slices"]["item:tags"] == "split at ';'"


def test_groups_and_slices_clean_labels_alike():
    labels = [" sea", "sea ", "", None, "sky"]
    people, things = {"user": range(5), "place": labels}, {"item": range(5), "place": labels}
    lists, truth = {u: [u] for u in range(5)}, {u: {u} for u in range(5)}
    result = rw.evaluate(
        lists, truth, "recall@1", users=people, items=things, by=["place", "item:place"]
    )
    rows = result.slices.select("group", "users").rows()
    assert rows[:3] == rows[3:] == [("sea", 2), ("sky", 1), (None, 2)]


_HOUR = dt.timedelta(hours=1)
COLUMNS = {
    "duration": [_HOUR] * 3,
    "bytes": [b"x", b"y", b"z"],
    "records": [{"a": 1}, {"a": 2}, {"a": 3}],
    "lists of lists": [[["a"]], [["b"]], [[]]],
    "lists of durations": [[_HOUR], [], None],
    "lists of bytes": [[b"x"], [], None],
}
READ = {
    "dates": [dt.date(2026, 1, day) for day in (1, 2, 3)],
    "times of day": [dt.time(day) for day in (1, 2, 3)],
    "truth values": [True, False, None],
    "nothing": [None, None, None],
    "categories": pl.Series(["b", "a", "b"], dtype=pl.Categorical),
    "ordered": pl.Series(["b", "a", "b"], dtype=pl.Enum(["b", "a"])),
    "decimals": pl.Series([1, 2, 3], dtype=pl.Decimal(10, 2)),
    "large": pl.Series([2**70, 1, 2], dtype=pl.Int128),
}
ROADS = {
    "item": lambda column, edges: {
        "items": pl.DataFrame({"item": [1, 2, 3], "c": column}),
        "by": f"item:c{edges}",
    },
    "user": lambda column, edges: {
        "users": pl.DataFrame({"user": [1, 2, 3], "c": column}),
        "by": f"c{edges}",
    },
    "truth": lambda column, edges: {
        "truth": pl.DataFrame({"user": [1, 2, 3], "item": [1, 2, 3], "c": column}),
        "by": f"truth:c{edges}",
    },
    "crossed": lambda column, edges: {
        "users": pl.DataFrame({"user": [1, 2, 3], "c": column}),
        "items": {"item": [1, 2, 3], "kind": ["x", "y", "z"]},
        "by": [f"c{edges}", "item:kind"],
        "cross": True,
    },
}
WHOLE = {
    "recommendations": {1: [1], 2: [2], 3: [3]},
    "truth": {1: {1}, 2: {2}, 3: {3}},
    "metrics": "recall@1",
}


@pytest.mark.parametrize("road", [*ROADS])
@pytest.mark.parametrize("edges", ["", "[2]"])
@pytest.mark.parametrize("kind", [*COLUMNS])
def test_columns_without_labels_are_refused_by_name(kind, edges, road):
    with pytest.raises(ColumnError) as caught:
        rw.evaluate(**{**WHOLE, **ROADS[road](COLUMNS[kind], edges)})
    assert "'c" in str(caught.value)


@pytest.mark.parametrize("road", [*ROADS])
@pytest.mark.parametrize("kind", [*READ])
def test_columns_of_every_other_type_have_groups(kind, road):
    result = rw.evaluate(**{**WHOLE, **ROADS[road](READ[kind], "")})
    assert result.slices["users"].sum() == 3


@pytest.mark.parametrize("road", [*ROADS])
def test_infinite_numbers_are_in_the_outer_bins(road):
    sizes = [-math.inf, 5.0, math.inf]
    result = rw.evaluate(**{**WHOLE, **ROADS[road](sizes, "[1,9]")})
    groups = [group.split(" × ")[0] for group in result.slices["group"]]
    assert groups == ["below 1", "1 to 9", "9 and above"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lists.csv").write_text("user,item,rank\n7,a,1\n8,c,1\n9,c,1\n")
    (tmp_path / "truth.csv").write_text(
        "user,item,when\n7,a,2026-03-01T05:00:00\n8,b,2026-03-01 23:00\n9,c,2026-03-02 01:00\n"
    )
    (tmp_path / "items.csv").write_text("item,price,zip\na,100,0110\nb,9.5,0210\nc,40,0110\n")
    (tmp_path / "users.tsv").write_text("user\tage\n7\t100\n8\t9\n9\t40\n")
    return tmp_path


def test_numbers_and_times_of_text_files(folder):
    files = {
        "recommendations": folder / "lists.csv",
        "truth": folder / "truth.csv",
        "items": folder / "items.csv",
        "users": folder / "users.tsv",
    }
    by = ["age", "age[30,50]", "item:price[30,50]", "item:zip", "truth:when"]
    result = rw.evaluate(**files, metrics="recall@1", by=by)
    frames = {
        role: pl.read_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
        for role, path in files.items()
    }
    frames["items"] = frames["items"].with_columns(zip=pl.Series(["0110", "0210", "0110"]))
    same = rw.evaluate(**frames, metrics="recall@1", by=by)
    assert result.slices.equals(same.slices)
    assert result.slices["group"].to_list() == [
        *("9", "40", "100"),
        *("below 30", "30 to 50", "50 and above"),
        *("below 30", "30 to 50", "50 and above"),
        *("0110", "0210"),
        *("2026-03-01", "2026-03-02"),
    ]
    assert result.provenance["slice_digests"] == same.provenance["slice_digests"]


def test_many_numbers_of_a_text_file_are_cut_at_quartiles(tmp_path):
    (tmp_path / "items.item").write_text(
        "item:token\tprice:float\n" + "".join(f"{i}\t{i * i}\n" for i in range(1, 13))
    )
    lists = {u: [u] for u in range(1, 13)}
    result = rw.evaluate(
        lists,
        {u: {u} for u in lists},
        "recall@1",
        items=tmp_path / "items.item",
        by="item:price:float",
    )
    assert result.slices["users"].to_list() == [3] * 4


def test_crossed_groups_in_a_configuration(folder):
    text = (
        "data: {truth: truth.csv, items: items.csv, users: users.tsv}\nsystems: {one: lists.csv}\n"
        "evaluation: {metrics: [recall@1], by: ['age[30]', 'item:price[50]'], cross: true}\n"
    )
    (folder / "config.yaml").write_text(text)
    done = rankwise_here(folder, "run", "config.yaml", "-o", "out")
    assert done.returncode == 0, done.stderr
    saved = rw.load(next(path.parent for path in (folder / "out").rglob("per_user*")))
    assert saved.slices.select("by", "group").rows() == [
        ("age[30] × item:price[50]", "below 30 × below 50"),
        ("age[30] × item:price[50]", "30 and above × below 50"),
        ("age[30] × item:price[50]", "30 and above × 50 and above"),
    ]
    assert [*saved.provenance["slice_digests"]] == ["age[30] × item:price[50]"]


def test_the_first_of_many_groups_are_printed(tmp_path):
    n = 333
    items = {"item": range(n), "tag": [f"t{i:03d}" for i in range(n)]}
    users = {"user": range(4), "town": ["a", "b", "a", "b"]}
    lists = {u: range(n) for u in range(4)}
    truth = {u: set(range(u, n, 4)) for u in range(4)}
    result = rw.evaluate(
        lists, truth, "recall@9", items=items, users=users, by=["item:tag", "town"]
    )
    for shown in (result, result.with_intervals()):
        text = repr(shown)
        assert len(text.splitlines()) < 70
        assert "… 293 more by item:tag" in text
        assert "town=b" in text
        assert "all groups are in result.slices" in text
        assert "t332" not in text
        assert "t332" in shown.export("csv")
    assert len(result.slices) == n + 2


def test_digests_differ_where_a_label_moves():
    lists, truth = {u: [0, 1] for u in range(4)}, {u: {u % 2} for u in range(4)}
    train = {"user": [0, 1], "item": [0, 1]}

    def digests(**tables):
        sources = {"items": {"item": [0, 1, 2], "g": ["x", "y", "x"]}, "train": train, **tables}
        by = ["item:g", "repeat", "item:popularity"]
        return rw.evaluate(lists, truth, "recall@1", by=by, **sources).provenance["slice_digests"]

    first = digests()
    swapped = digests(items={"item": [0, 1, 2], "g": ["y", "x", "x"]})
    assert {name for name in first if swapped[name] != first[name]} == {"item:g"}
    assert (
        digests(items={"item": [2, 0, 1], "g": ["z", "x", "y"]}) == first
    )  # item 2 is in no ground truth
    other = digests(train={"user": [2, 2, 3], "item": [0, 1, 1]})
    assert {name for name in first if other[name] != first[name]} == {"repeat", "item:popularity"}


def test_digests_are_saved_and_loaded(tmp_path):
    result = rw.evaluate_ratings(CLICKS, CELLS, items=SHELF, by="item:shelf")
    back = rw.load(result.save(tmp_path / "out"))
    assert back.provenance["slice_digests"] == result.provenance["slice_digests"]
    assert back.slices.equals(result.slices)


def test_groups_of_numbers_are_compared_in_their_order():
    users = {"user": range(40), "age": [(3, 9, 40, 100)[u % 4] for u in range(40)]}
    truth, by = {u: {u % 3} for u in range(40)}, ["age", "age[5,30,60]"]
    one, two = (
        rw.evaluate(
            {u: [(u + shift) % 4] for u in range(40)}, truth, "recall@1", users=users, by=by
        )
        for shift in (0, 1)
    )
    assert rw.compare(one, two, by="age").table["group"].to_list() == ["3", "9", "40", "100"]
    bins = ["below 5", "5 to 30", "30 to 60", "60 and above"]
    assert rw.compare(one, two, by="age[5,30,60]").table["group"].to_list() == bins
