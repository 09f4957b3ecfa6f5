"""Plain-Python splits of lists of rows, written apart from the library, and strategies for rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
from hypothesis import strategies as st

from rankwise.core.hashing import combine_hashes, hash_of_column
from strategies import frames_with_ids, id_type


def tables(max_size=30, users=5, items=6, times=8, min_size=1, timed=True):
    """Rows with repeats, equal times and users of one row; without ``timed`` some have no times."""
    row = st.tuples(
        st.integers(0, users - 1),
        st.integers(0, items - 1),
        st.integers(0, times - 1),
        st.sampled_from([1.0, 2.0, 5.0]),
    )
    rows = st.lists(row, min_size=min_size, max_size=max_size).map(frame)
    repeated = st.tuples(rows, st.integers(1, 4)).map(
        lambda pair: pl.concat([pair[0], *[pair[0][:3]] * pair[1]])
    )
    either = frames_with_ids(rows | repeated, user=users, item=items)
    return either if timed else either | either.map(lambda table: table.drop("timestamp"))


def frame(rows):
    ids = {name: id_type([row[at] for row in rows]) for at, name in enumerate(("user", "item"))}
    return pl.DataFrame(
        rows, schema=ids | {"timestamp": pl.Int64, "rating": pl.Float64}, orient="row"
    )


def held(table, mask):
    """Rows as a multiset: which of several equal rows was taken makes no difference."""
    return Counter(table.filter(pl.Series(mask)).rows())


def half_up(share, n):
    exact = Fraction(str(share)) * n + Fraction(1, 2)
    return exact.numerator // exact.denominator


def hash_of(row, seed=0):
    """The hash of user, item and, where there is one, time; a rating is the last of a row."""
    columns = [hash_of_column(pl.Series([value])) for value in row[:-1]]
    return int(combine_hashes(columns, seed)[0])


def rest_of(row):
    return int(combine_hashes([hash_of_column(pl.Series([row[-1]]))], 0)[0])


def of_users(table):
    out = defaultdict(list)
    for row in table.rows():
        out[row[0]].append(row)
    return out


def in_time(rows):
    return sorted(rows, key=lambda row: (row[2], hash_of(row), rest_of(row)))


def at_random(rows, seed):
    return [row for _, row in sorted(draws(sorted(rows, key=rest_of), seed))]


def draws(rows, seed):
    """Rows with their hashes; those of equal ids and time have a number in theirs, from the second."""
    seen, drawn = Counter(), []
    for row in rows:
        number = seen[row[:-1]]
        seen[row[:-1]] += 1
        key = np.array([hash_of(row, seed)], dtype=np.uint64)
        drawn.append(
            (
                int(combine_hashes([key, np.array([number], dtype=np.uint64)], 0)[0])
                if number
                else int(key[0]),
                row,
            )
        )
    return drawn


def users_at_random(users, seed):
    return sorted(
        users, key=lambda user: int(combine_hashes([hash_of_column(pl.Series([user]))], seed)[0])
    )


def last_rows(table, number_for, which="last", seed=0):
    """The test rows, if of n rows of a user the last so many are tested."""
    out = Counter()
    for rows in of_users(table).values():
        own = in_time(rows) if which == "last" else at_random(rows, seed)
        number = number_for(len(rows))
        out.update(own[len(own) - number :])
    return out


def until_of(table, until):
    return table if until is None else table.filter(pl.col("timestamp") < until)


def best_moment(table):
    """The latest moment with the most users on both sides."""
    best = (0, None)
    for moment in sorted(set(table["timestamp"])):
        both = sum(
            any(row[2] < moment for row in rows) and any(row[2] >= moment for row in rows)
            for rows in of_users(table).values()
        )
        if both and both >= best[0]:
            best = (both, moment)
    return best[1]


def k_core(table, users, items):
    rows = table.rows()
    while True:
        by_user, by_item = Counter(r[0] for r in rows), Counter(r[1] for r in rows)
        left = [r for r in rows if by_user[r[0]] >= users and by_item[r[1]] >= items]
        if len(left) == len(rows):
            return Counter(rows)
        rows = left


def leak(train, test):
    """For each test moment the share of training moments after it, sorted by moment."""
    return [float(np.mean([t > at for t in train])) for at in sorted(test)]
