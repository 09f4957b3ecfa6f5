"""Integer ids of any width, at the limits of their types: every option says what it says of 64-bit ids."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwise as rw
from strategies import UNSIGNED, fewer
from tools import deep

LIMITS = {
    pl.Int8: 2**7 - 1,
    pl.UInt8: 2**8 - 1,
    pl.Int16: 2**15 - 1,
    pl.UInt16: 2**16 - 1,
    pl.Int32: 2**31 - 1,
    pl.UInt32: 2**32 - 1,
    pl.Int64: 2**53 + 1,
    pl.UInt64: 2**63 - 1,
}
DESCRIBING = [
    "category_count@2",
    "alpha_ndcg@2",
    "subtopic_recall@2",
    "category_entropy@2",
    "gini@2",
    "novelty@2",
]
OPTIONS = {
    "exclude_seen": {"exclude_seen": True},
    "judged_only": {"judged_only": True},
    "history": {"by": ["history", "item:cold"]},
    "jackknife": {"jackknife": 2},
    "cross": {"by": ["country", "activity"], "cross": True},
    "groups": {"by": ["country", "popularity"]},
    "slices": {"by": ["item:kind", "item:cold", "repeat"]},
    "weights": {"weights": "weight"},
    "population": {"population": "all"},
}
FEW = st.integers(0, 5)


@st.composite
def rows(draw, limit):
    """Draw distinct pairs of user and item, of which the largest of a type are some."""
    ids = st.one_of(FEW, st.integers(limit - 2, limit))
    pairs = draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=6, unique=True))
    return pl.DataFrame(pairs, {"user": pl.Int128, "item": pl.Int128}, orient="row")


@st.composite
def worlds(draw):
    """Draw lists, ground truth, training, items and users, each with a type of its own."""
    types = {
        role: draw(st.sampled_from(list(LIMITS)))
        for role in ("lists", "truth", "train", "items", "users")
    }
    tables = {role: draw(rows(LIMITS[types[role]])) for role in ("lists", "truth", "train")}
    for role, column in (("items", "item"), ("users", "user")):
        limit = LIMITS[types[role]]
        known = pl.concat([tables[other][column] for other in ("lists", "truth", "train")])
        last = pl.Series(column, [limit], pl.Int128)
        tables[role] = pl.concat([known.filter(known <= limit), last]).unique().sort().to_frame()
    number = pl.int_range(pl.len())
    names = pl.concat_str(pl.lit("kind "), number % 3)
    tables["items"] = tables["items"].with_columns(
        kind=names, genres=pl.concat_list(names, pl.lit("any"))
    )
    tables["users"] = tables["users"].with_columns(country=number % 2, weight=1.0 + number)
    return tables, types


def evaluated(tables, types, **options):
    cast = {
        role: table.with_columns(
            pl.col(name).cast(types[role]) for name in ("user", "item") if name in table.columns
        )
        for role, table in tables.items()
    }
    side = {role: cast[role] for role in ("train", "items", "users")}
    try:
        result = rw.evaluate(
            cast["lists"], cast["truth"], ["recall@2", "ndcg@2", *DESCRIBING], **side, **options
        )
    except rw.errors.InputError as error:
        return error.what
    per_user = result.per_user.with_columns(pl.col("user").cast(pl.String)).rows()
    return tuple(map(repr, (result.values, result.counts, result.slices, per_user)))


@pytest.mark.parametrize("option", OPTIONS)
@fewer(10)
@given(world=worlds())
def test_widths_of_ids_change_nothing(option, world):
    tables, types = world
    wide = dict.fromkeys(types, pl.Int64)
    assert evaluated(tables, types, **OPTIONS[option]) == evaluated(tables, wide, **OPTIONS[option])


def wide_tables(world):
    """Return the tables of a world with ids of 64 bits."""
    return {
        role: table.with_columns(pl.selectors.integer().cast(pl.Int64))
        for role, table in world[0].items()
    }


def renamed(tables, name):
    """Return tables whose ids are text."""
    return {
        role: table.with_columns(
            *(pl.format(name, one).alias(one) for one in ("user", "item") if one in table.columns)
        )
        for role, table in tables.items()
    }


def in_any_order(tables, **options):
    """Return what an evaluation says, whatever the users are called."""
    side = {role: tables[role] for role in ("train", "items", "users")}
    try:
        result = rw.evaluate(
            tables["lists"], tables["truth"], ["recall@2", "ndcg@2", *DESCRIBING], **side, **options
        )
    except rw.errors.InputError as error:
        return error.what
    per_user = sorted(map(repr, result.per_user.drop("user").rows()))
    return repr(result.values), repr(result.counts), repr(result.slices), per_user


NAMES = ["{}", "u{}", "a name of more than twelve bytes: {}"]


@pytest.mark.parametrize(
    ("option", "name"),
    # users are dealt to jackknife groups by their ids
    [
        (option, name)
        for option in OPTIONS
        for name in NAMES
        if option != "jackknife" or name == "{}"
    ],
)
@fewer(10)
@given(world=worlds())
def test_ids_of_text_change_nothing(option, name, world):
    tables = wide_tables(world)
    assert in_any_order(renamed(tables, name), **OPTIONS[option]) == in_any_order(
        tables, **OPTIONS[option]
    )


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("roles", [("users", "items"), *deep((("users",),), (("items",),))])
@fewer(10)
@given(world=worlds())
def test_text_of_whole_numbers_is_looked_up_among_whole_numbers(option, roles, world):
    tables = wide_tables(world)
    mixed = tables | renamed({role: tables[role] for role in roles}, "{}")
    assert in_any_order(mixed, **OPTIONS[option]) == in_any_order(tables, **OPTIONS[option])


def in_memory(lists, folder):
    return {lists["user"][0]: lists["item"].to_list()}


def as_table(lists, folder):
    return lists


def as_parquet(lists, folder):
    lists.write_parquet(folder / "lists.parquet")
    return folder / "lists.parquet"


@pytest.mark.parametrize("form", [in_memory, as_table, as_parquet])
@pytest.mark.parametrize("column", ["user", "item"])
@pytest.mark.parametrize("start", UNSIGNED)
def test_integers_beyond_64_bits_with_a_sign_are_refused_as_such(start, column, form, tmp_path):
    first = UNSIGNED[start](6)
    ids = {"user": [1] * 6, "item": [*range(6)]}
    ids[column] = [first + 5] * 6 if column == "user" else [*range(first, first + 6)]
    lists = pl.DataFrame(ids, schema_overrides={column: pl.UInt64})
    for call in (
        rw.evaluate,
        lambda *tables: rw.Evaluator("mrr", truth=tables[1]).update(tables[0]),
    ):
        with pytest.raises(rw.errors.IdError, match="must fit 64 bits with a sign") as error:
            call(form(lists, tmp_path), {1: {1}})
        assert error.value.found == str(first + 5)
        assert error.value.hint == "cast the column to strings in every table"
    as_text = lists.with_columns(pl.col("user", "item").cast(pl.String))
    assert rw.evaluate(as_text, as_text.head(1), "mrr")["mrr"] == 1.0


def test_integers_of_a_text_file_beyond_64_bits_are_text(tmp_path):
    (tmp_path / "lists.csv").write_text(f"user,item\n1,{2**64 - 1}\n1,{2**63 - 1}\n")
    result = rw.evaluate(tmp_path / "lists.csv", {1: {str(2**63 - 1)}}, "mrr")
    assert result["mrr"] == 0.5
