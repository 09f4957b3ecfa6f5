"""Leaks that ids and times hide: dates as text, chosen users, histories without an order, shared codes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankwise as rw
from clean_splits import interactions
from command_line import rankwise_here
from rankwise import datasets, splits
from rankwise.errors import ColumnError, ParameterError
from rankwise.splits.audit_parts import Limits
from rankwise.splits.audit_time import _repetitions
from rankwise.tables.dates import dates_in

TABLE = interactions(1, n_users=500, n_items=800)
SPLIT = splits.GlobalTime(share=0.2, validation=splits.GlobalTime(share=0.1)).split(TABLE)
TRAIN, TEST, VALIDATION = SPLIT.train, SPLIT.test, SPLIT.validation
FORMATS = ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d %B %Y", "%b %d, %Y", "%Y-%m-%dT%H:%M:%S"]


def as_text(rows, role, time_format):
    """Return the last time of each id, written in a format."""
    last = rows.group_by(role).agg(last=pl.from_epoch(pl.col("timestamp").max())).sort(role)
    return last.with_columns(pl.col("last").dt.strftime(time_format))


@pytest.mark.parametrize("time_format", FORMATS)
@pytest.mark.parametrize("role", ["user", "item"])
def test_a_last_time_that_is_written_as_text_knows_the_test(role, time_format):
    for rows, expected in ((TABLE, "fail"), (TRAIN, "pass")):
        found = rw.audit(SPLIT, **{f"{role}s": as_text(rows, role, time_format)})["L13"]
        assert found.status == expected, found.said
    assert "moments lie in the test period" not in found.said


def test_text_that_is_no_date_stays_text():
    for texts in (["heat", "1995-03-01"], ["1", "2"], [], [None, None], ["a;b", None]):
        column = pl.Series(texts, dtype=pl.String)
        assert dates_in(column).dtype == pl.String
    assert dates_in(pl.Series(["03/04/2021", "05/06/2021"])).dtype == pl.String  # either order
    dates = dates_in(pl.Series(["03/04/2021", None, "03/04/2021"]), "%d/%m/%Y")
    assert [str(date)[:10] for date in dates] == ["2021-04-03", "None", "2021-04-03"]


@pytest.mark.parametrize("role", ["user", "item"])
def test_training_rows_that_were_chosen_by_test_rows(role):
    chosen = TRAIN.join(TEST.select(role).unique(), on=role, how="semi")
    found = rw.audit(chosen, TEST)["L12"]
    assert found.status == "warn"
    assert f"every {role} of training has a test row" in found.said
    assert rw.audit(TRAIN, TEST)["L12"].status == "pass"
    assert rw.audit(chosen, TEST, limits=Limits(missing=1e9))["L12"].status == "pass"
    without = [rows.drop("timestamp") for rows in (chosen, TEST)]
    assert rw.audit(*without)["L12"].status == "pass"  # every user may be meant to have a test row


def test_active_users_all_have_test_rows():
    """Of users with fifty training rows each none is expected without a test row."""
    user, step = np.repeat(np.arange(200), 60), np.tile(np.arange(60), 200)
    item = np.random.default_rng(0).permuted(np.tile(np.arange(300), (200, 1)), axis=1)[:, :60]
    rows = pl.DataFrame({"user": user, "item": item.ravel(), "timestamp": 10**9 + 1000 * step})
    before = pl.col("timestamp") < 10**9 + 50_000
    assert rw.audit(rows.filter(before), rows.filter(~before))["L12"].status == "pass"


def test_users_of_a_test_that_are_in_validation():
    users = TABLE["user"].unique().sort()
    test = TABLE.filter(pl.col("user").is_in(users[::10].implode())).drop("timestamp")
    train = TABLE.join(test, on="user", how="anti").drop("timestamp")
    own = test.group_by("user").head(2)
    rest = test.join(own, on=["user", "item"], how="anti")
    found = rw.audit(train, rest, own, claim="users")["L6"]
    assert (found.status, found.value) == ("fail", len(rest))
    n = rest["user"].n_unique()
    assert f"{n} of {n} test users in training or validation" in found.said
    assert rw.audit(train, rest, claim="users")["L6"].status == "pass"


def test_sessions_of_a_test_that_are_in_validation():
    visit = pl.format("{}-{}", "user", pl.int_range(pl.len()).over("user") // 4)
    table = TABLE.sort("user", "timestamp").with_columns(session=visit)
    parts = [
        table.join(part, on=["user", "item"], how="semi") for part in (TRAIN, TEST, VALIDATION)
    ]
    train, test, validation = parts
    shared = test.join(validation, on="session", how="semi")
    apart = train.join(test, on="session", how="anti")
    found = rw.audit(apart, test, validation)["L6"]
    assert (found.status, found.value) == ("fail", len(shared))


def test_a_cut_between_equal_times_after_validation():
    first = TEST.group_by("user").agg(first=pl.col("timestamp").min())
    late = VALIDATION.join(first, on="user").with_columns(timestamp="first").drop("first")
    assert rw.audit(TRAIN, TEST, late)["L16"].status == "warn"
    assert rw.audit(TRAIN, TEST, VALIDATION)["L16"].status == "pass"


def test_repetitions_by_hand():
    """1 after 0 three times, in three pairs of places; 0 after 1 once; users are apart."""
    users = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    items = np.array([0, 1, 0, 1, 0, 1, 2, 2])
    assert _repetitions(users, items) == 3
    assert _repetitions(users[:0], items[:0]) == 0


def test_histories_in_a_shuffled_order_tell_a_sequential_model_nothing():
    rng = np.random.default_rng(0)
    moments = TRAIN.sort("user")["timestamp"].to_numpy()
    shuffled = moments[np.lexsort((rng.random(len(TRAIN)), TRAIN["user"].sort().to_numpy()))]
    found = rw.audit(TRAIN.sort("user").with_columns(timestamp=pl.Series(shuffled)), TEST)["L23"]
    assert (found.status, abs(found.value) < 3) == ("warn", True)
    assert "no order that a sequential model could learn" in found.said
    clean = rw.audit(TRAIN, TEST)["L23"]
    assert (clean.status, clean.value > 10) == ("pass", True)
    few = rw.audit(TRAIN.head(200), TEST)["L23"]
    assert (few.status, few.value, "too few to tell" in few.said) == ("pass", None, True)
    without = [rows.drop("timestamp") for rows in (TRAIN, TEST)]
    assert rw.audit(*without)["L23"].status == "not run"


def test_an_audit_says_the_same_twice():
    assert rw.audit(SPLIT).to_dict() == rw.audit(SPLIT).to_dict()


def test_large_training_is_sampled_by_users(monkeypatch):
    from rankwise.splits import audit_time

    monkeypatch.setattr(audit_time, "_SAMPLED", 6000)
    found = rw.audit(TRAIN, TEST)["L23"]
    rows = int(found.said.split()[1].replace(",", ""))
    assert 3000 < rows < 9000
    assert found.status == "pass"


def test_real_ratings_and_the_example_have_an_order(movietweetings):
    split = splits.GlobalTime(share=0.1).split(movietweetings / "ratings.dat")
    found = rw.audit(split)
    assert (found["L23"].status, found["L23"].value > 20) == ("pass", True)
    assert "should have none" not in found["L12"].said
    made = splits.GlobalTime(share=0.2).split(datasets.synthetic().interactions)
    assert rw.audit(made)["L23"].status == "pass"


def test_codes_that_many_items_share():
    items = TABLE.select("item").unique().sort("item")
    own = items.with_columns(code=pl.format("{}-{}", pl.col("item") // 40, pl.col("item") % 40))
    twin = own.with_columns(code=pl.format("{}-{}", pl.col("item") // 40, pl.col("item") % 8))
    assert rw.audit(SPLIT)["L24"].status == "not run"
    found = rw.audit(SPLIT, items=own, codes="code")["L24"]
    assert (found.status, found.value) == ("pass", 0.0)
    shared = rw.audit(SPLIT, items=twin, codes="code")
    assert (shared["L24"].status, shared["L24"].value) == ("warn", 1.0)
    assert "160 codes" in shared["L24"].said
    assert "at most 5 of one code" in shared["L24"].said
    assert shared.rows("L24").columns == ["name", "item"]
    mapping = {(1, 1): [*range(400)], (1, 2): 401}
    found = rw.audit(SPLIT, codes=mapping)["L24"]
    share = float((TEST["item"] < 400).mean())
    assert found.value == pytest.approx(share)
    without = int(((TEST["item"] >= 400) & (TEST["item"] != 401)).sum())
    assert f"{without:,} of items without a code" in found.said
    kinder = rw.audit(SPLIT, codes=mapping, limits=Limits(shared_codes=1.0))["L24"]
    assert kinder.status == "pass"


def test_codes_that_are_refused():
    with pytest.raises(ParameterError, match="codes is the name of a column"):
        rw.audit(SPLIT, codes=3)
    with pytest.raises(ParameterError, match="items"):
        rw.audit(SPLIT, codes="code")
    with pytest.raises(ColumnError, match="no column 'code'"):
        rw.audit(SPLIT, items=TABLE.select("item").unique(), codes="code")


def test_the_command_line_takes_codes(tmp_path):
    TRAIN.write_csv(tmp_path / "train.csv")
    TEST.write_csv(tmp_path / "test.csv")
    items = (
        TABLE.select("item")
        .unique()
        .sort("item")
        .with_columns(
            code=pl.format("0{}", pl.col("item") % 100)  # text of digits stays text
        )
    )
    items.write_csv(tmp_path / "items.csv")
    files = ("train.csv", "test.csv", "--items", "items.csv")
    done = rankwise_here(tmp_path, "audit", *files, "--codes", "code")
    assert "WARN L24" in done.stdout
    assert f"100 codes of {len(items)} items" in " ".join(done.stdout.split())
    idle = rankwise_here(tmp_path, "audit", *files, "-v").stdout
    assert "needs --codes COLUMN of the items" in " ".join(idle.split())
