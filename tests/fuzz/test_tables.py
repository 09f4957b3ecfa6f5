"""Tables of every type and container, against a reading and an oracle in plain Python.

Every outcome is the number of the oracle, or an error where the tables have no meaning.
"""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import rankwise as rw
from fuzz.containers import CONTAINERS, MEMORY, CannotHoldError
from fuzz.oracle import METRICS, values
from fuzz.reading import NoMeaningError, Reading, matched, without_repeats
from rankwise.errors import ColumnError, InputError
from strategies import fewer

WIDTHS = [
    pl.Int8,
    pl.Int16,
    pl.Int32,
    pl.Int64,
    pl.Int128,
    pl.UInt8,
    pl.UInt16,
    pl.UInt32,
    pl.UInt64,
    pl.UInt128,
]
IDS = {
    "small": lambda n: n,
    "negative": lambda n: -n - 1,
    "above a float": lambda n: 2**53 + n,
    "at the end": lambda n: 2**63 - 10 + n,
    "at the begin": lambda n: -(2**63) + n,
    "past the end": lambda n: 2**63 - 3 + n,
    "at the end of all": lambda n: 2**64 - 8 + n,
    "past 8 bits": lambda n: 2**7 - 3 + n,
    "ten digits": lambda n: 10**10 - 8 + n,
    "digits": str,
    "zeros": lambda n: "0" * (n % 3) + str(n + 1),
    "words": lambda n: f"u{n}",
    "blanks": lambda n: " " * (n % 2) + f"a {n // 2}" + " " * (n % 3),
    "odd text": lambda n: ["a\nb", "a::b", "a/b", "nan", "null", "NA", "1e3", "\u200b"][n],
    "any text": lambda n: ["é", "e\u0301", "日本", "🎬", "a,b", 'a"b', "a|b", "a\tb"][n],
}
TEXTS = [kind for kind, spelling in IDS.items() if isinstance(spelling(0), str)]
NUMBERS = [
    pl.Float64,
    pl.Float32,
    pl.Int8,
    pl.UInt16,
    pl.Int64,
    pl.UInt64,
    pl.Int128,
    pl.Boolean,
    pl.Decimal(9, 3),
]
SMALL = st.integers(0, 7)
GRADES = st.integers(0, 4)


@st.composite
def rows(draw, number=GRADES):
    """Draw up to five rows for each of up to four users, in any order."""
    users = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4, unique=True))
    items = st.lists(st.tuples(SMALL, number), min_size=1, max_size=5, unique_by=lambda r: r[0])
    made = [(user, item, n) for user in users for item, n in draw(items)]
    assume(made)
    return draw(st.permutations(made))


@st.composite
def spelt(draw, drawn, name, kinds, number="number"):
    """Draw the types of columns, and return rows as a frame."""
    series = []
    for column, kind in zip(("user", "item"), kinds, strict=True):
        ids = [IDS[kind](row[len(series)]) for row in drawn]
        dtype = pl.String
        if isinstance(ids[0], int):
            fits = [w for w in WIDTHS if w.min() is None or _fits(ids, w)]
            dtype = draw(st.sampled_from(fits))
        series.append(pl.Series(column, ids, dtype))
    numbers = pl.Series(name, [row[2] for row in drawn], pl.Float64)
    dtype = draw(st.sampled_from(NUMBERS))
    if dtype == pl.Boolean:
        numbers = numbers > 1
    return pl.DataFrame([*series, numbers.cast(dtype)])


def _fits(ids, width):
    low, high = (pl.select(end).item() for end in (width.min(), width.max()))
    return low <= min(ids) and max(ids) <= high


def evaluated(lists, truth, **options):
    """Return the values, or None if rankwise says that the tables have no meaning."""
    try:
        return rw.evaluate(lists, truth, METRICS, **options).values
    except InputError:
        return None


def expected(lists, truth, *, duplicates="error", **options):
    """Return what the oracle says of two readings; None if they have no meaning."""
    try:
        listed, judged = matched(lists, truth)
        listed = without_repeats(listed, duplicates)
        judged = without_repeats(judged, duplicates)
    except NoMeaningError:
        return None
    listed = {user: list(own.items()) for user, own in listed.items()}
    return values(listed, judged, **options)


def rows_read(frame, container):
    """Return the reading of a frame in a container."""
    rows = frame.select("user", "item", frame.columns[2]).rows()
    return Reading(rows, container.is_text, container.has_numbers)


@pytest.mark.parametrize("name", CONTAINERS)
@fewer(12)
@given(data=st.data())
def test_any_container_is_a_number_of_the_oracle_or_refused(name, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    other = data.draw(st.sampled_from([name, "polars", "table.csv", "mapping"]))
    names = data.draw(st.permutations([name, other]))
    known = {"sparse": ["small"], "nested": TEXTS}.get(name[:6], sorted(IDS))
    kinds = data.draw(st.tuples(*[st.sampled_from(known)] * 2))
    others = data.draw(st.sampled_from([kinds] * 4 + [("digits", "small")]))
    frames, sources = {}, {}
    for role, column, used, kind in zip(
        ("recommendations", "truth"), ("score", "relevance"), names, (kinds, others), strict=True
    ):
        frames[role] = data.draw(spelt(data.draw(rows()), column, kind))
        try:
            sources[role] = CONTAINERS[used](frames[role], role, folder)
        except CannotHoldError:
            assume(False)
    options = {
        "population": data.draw(st.sampled_from(["truth", "both", "recommended", "judged", "all"])),
        "undefined": data.draw(st.sampled_from(["skip", "zero", "nan"])),
        "threshold": data.draw(st.sampled_from([None, 1, 2])),
    }
    readings = [
        rows_read(frame, CONTAINERS[used])
        for frame, used in zip(frames.values(), names, strict=True)
    ]
    # Ranks of the run are no order here, so that its scores are.
    columns = {"recommendations.rank": None}
    found = evaluated(*sources.values(), columns=columns, **options)
    wanted = expected(*readings, **options)
    if (
        found is None and wanted is not None
    ):  # lists without a known item have a meaning, and are refused
        assert not have_common_items(*readings)
        return
    assert_agree(found, wanted)


def have_common_items(lists, truth):
    """Return whether an item of the lists is judged for any user."""
    listed, judged = (
        {item for own in rows.values() for item, _ in own} for rows in matched(lists, truth)
    )
    return bool(listed & judged)


def assert_agree(found, wanted):
    """Assert that two evaluations are errors, or the same but for rounding."""
    if found is None or wanted is None:
        assert (found, wanted) == (None, None)
    else:
        assert dict(found) == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


def plain(drawn, name):
    """Return rows as a frame of the usual types."""
    return pl.DataFrame(drawn, ["user", "item", name], orient="row", infer_schema_length=None)


def read(frame):
    """Return the reading of a frame in memory."""
    return Reading(frame.rows(), is_text=False)


@given(data=st.data(), drawn=rows(), judged=rows(number=st.integers(0, 3)))
def test_order_of_rows_and_columns_threads_and_blocks_move_no_bit(data, drawn, judged):
    lists, truth = plain(drawn, "score"), plain(judged, "relevance")
    options = {"population": "recommended", "undefined": "zero"}
    once = rw.evaluate(lists, truth, [*METRICS, "gini@3", "dcg@3"], **options)
    mixed = [
        pl.DataFrame(data.draw(st.permutations(frame.rows())), frame.schema, orient="row").select(
            data.draw(st.permutations(frame.columns))
        )
        for frame in (lists, truth)
    ]
    options |= {"threads": data.draw(st.integers(1, 5)), "block_size": data.draw(st.integers(1, 5))}
    again = rw.evaluate(*mixed, [*METRICS, "gini@3", "dcg@3"], **options)
    assert again.values == once.values
    assert again.per_user.equals(once.per_user)


@given(data=st.data(), drawn=rows(), judged=rows(number=st.integers(1, 3)))
def test_repeated_rows_are_an_error_or_the_best_of_them_counts(data, drawn, judged):
    lists, truth = plain(drawn, "score"), plain(judged, "relevance")
    lists = pl.concat(
        [lists, lists[-1:].with_columns(score=data.draw(SMALL) + 0 * pl.col("score"))]
    )
    truth = pl.concat([truth, data.draw(st.sampled_from([truth[:0], truth[-1:]]))])
    for duplicates in ("error", "first"):
        found = evaluated(lists, truth, duplicates=duplicates)
        assert_agree(found, expected(read(lists), read(truth), duplicates=duplicates))


@given(data=st.data(), drawn=rows(), judged=rows(number=st.integers(1, 3)))
def test_ranks_order_lists_whatever_the_scores(data, drawn, judged):
    places = data.draw(st.lists(st.integers(1, 99), min_size=20, max_size=20, unique=True))
    lists = plain(
        [(u, i, -place) for (u, i, _), place in zip(drawn, places, strict=False)], "order"
    )
    ranked = lists.select("user", "item", rank=-pl.col("order"), score=pl.lit(1.0))
    truth = plain(judged, "relevance")
    assert_agree(evaluated(ranked, truth), expected(read(lists), read(truth)))


@given(
    name=st.text("abcxyz_#評я", min_size=4, max_size=9), side=st.sampled_from([0, 1]), drawn=rows()
)
def test_numbers_under_a_name_that_nobody_knows_are_asked_for(name, side, drawn):
    tables = [plain(drawn, "score"), plain(drawn, "relevance")]
    renamed = tables[side] = tables[side].rename({tables[side].columns[2]: name})
    with pytest.raises(ColumnError, match=f"{name!r} could be it"):
        rw.evaluate(*tables, METRICS)
    key = ("recommendations.score", "truth.relevance")[side]
    found = evaluated(*tables, columns={key: name})
    assert_agree(found, expected(*map(read, tables)))
    without = evaluated(*tables, columns={key: None})
    order = [(u, i, -row if side == 0 else 1.0) for row, (u, i, _) in enumerate(renamed.rows())]
    tables[side] = plain(order, name)
    assert_agree(without, expected(*map(read, tables)))


@given(drawn=rows(), judged=rows(number=st.integers(1, 4)))
def test_swapped_tables_are_said_to_look_swapped(drawn, judged):
    lists, truth = plain(drawn, "score"), plain(judged, "rating")
    wanted = expected(read(truth), read(lists))
    assert_agree(evaluated(truth, lists), wanted)
    if wanted is not None:
        assert "may be swapped" in repr(rw.evaluate(truth, lists, METRICS))


NAN = float("nan")
MEANINGLESS = {
    "a null id": ("item", None),
    "a number that is none": (2, NAN),
    "infinity": (2, -NAN + 1e999),
    "no number": (2, None),
    "words for a number": (2, "much"),
    "fractions of ids": ("user", 1.5),
    "dates for ids": ("user", date(2026, 1, 1)),
    "bytes for ids": ("item", b"x"),
    "lists for ids": ("user", [1]),
    "two types of ids": ("item", "x"),
    "integers of more than 64 bits": ("item", 2**70),
    "complex numbers": (2, 1j),
    "half of a character": ("item", "\ud800"),
    "nothing but blanks": ("user", "  "),
}


@pytest.mark.parametrize("wrong", MEANINGLESS)
@given(data=st.data(), drawn=rows(number=st.integers(1, 4)))
def test_a_cell_without_a_meaning_is_an_error(wrong, data, drawn, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    roles = {"recommendations": "score", "truth": "relevance"}
    role = data.draw(st.sampled_from(sorted(roles)))
    column, value = MEANINGLESS[wrong]
    at = ("user", "item", column).index(column)
    in_text = at == 2 or value is None  # in text a date or a large number is a name like any
    name = data.draw(st.sampled_from(sorted(CONTAINERS if in_text else MEMORY)))
    changed = [list(row) for row in drawn]
    # Of these only a mixture means nothing, so that one row keeps its own.
    which = data.draw(st.integers(0, len(changed) - 1))
    changed[which][at] = value
    if wrong in ("two types of ids", "nothing but blanks") and len(changed) == 1:
        assume(False)
    sources = {}
    for each, number in roles.items():
        made = [tuple(row) for row in (changed if each == role else drawn)]
        columns = zip(("user", "item", number), zip(*made, strict=True), strict=True)
        try:
            frame = pl.DataFrame([pl.Series(*column) for column in columns])
            sources[each] = CONTAINERS[name](frame, each, folder)
        except (CannotHoldError, TypeError, ValueError, pl.exceptions.PolarsError):
            sources[each] = made
    with pytest.raises(InputError):
        rw.evaluate(*sources.values(), METRICS, columns={"recommendations.rank": None})


@pytest.mark.parametrize("name", CONTAINERS)
def test_an_empty_table_is_an_error(name, tmp_path):
    empty = plain([(0, 0, 1)], "score")[:0]
    try:
        source = CONTAINERS[name](empty, "recommendations", tmp_path)
    except CannotHoldError:
        source = []
    with pytest.raises(InputError):
        rw.evaluate(source, {0: {1}}, METRICS)
