"""How often the audit warns of splits without a leak, and how many planted leaks it finds.

Prints the counts that docs/audit.md states. Run as ``python simulations/audit_claims.py``; some
three minutes. The simulation is that of the tests (``tests/clean_splits.py``).

Simulated splits without leakage, with and without ratings, have 100 to 5,000 users and 150 to 5,000
items. Items follow a Zipf law, the number of rows per user is lognormal, times are uniform, and of
every four consecutive items the one with the smallest number comes first. The popularity of items
is constant or drifts by a factor of up to two.

A split is clean if its rule keeps its claim: on data with timestamps, rules that claim time
(``GlobalTime``, ``TimeWindows``, ``SuccessiveTargets``, ``TwoStage``); on data without,
``UserHoldout`` and ``UserKFold``, which claim users, and random rules, which claim nothing. Of 756
clean splits one warned. Of 336 further splits, where all users have equally many rows or all items
are equally popular, seven warned: equally popular items all occur in the data, and ids without gaps
make L4 warn. On data with timestamps, rules that do not claim time warn of L3 and L8, and mostly of
L7, L9 or L16.

Leaks were planted into ten simulations with ratings and without drift, split by time: counts over
all data, as their logarithm, rank or z-score, with noise, or cut into two classes; counts in test;
the test item as a feature; lists of test items, and of the items that are popular in test; copied
users; repeated rows. Of these 120 leaks, 117 are found; the three missed ones are classes that
training counts give nearly as well. None of 1,152 lists of popular training items was mistaken for
a leak.
"""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from scipy.stats import binomtest

import rankwise as rw
from rankwise import splits

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from clean_splits import IN_TIME, WITHOUT_TIME, interactions, split_of, warnings_of
from planted_leaks import TRANSFORMS, counts, popularity_lists, with_clones

Shape: TypeAlias = dict[str, Any]

SEEDS = range(6)
CLEAN: tuple[Shape, ...] = (
    {"n_users": 100, "n_items": 150},
    {"n_users": 200, "n_items": 300},
    {"n_users": 300, "n_items": 1500},
    {"n_users": 500, "n_items": 150, "activity": 8.0},
    {"n_users": 800, "n_items": 1000, "spread": 1.2},
    {"n_users": 1000, "n_items": 5000},
    {"n_users": 2000, "n_items": 1000, "activity": 8.0},
    {"n_users": 4000, "n_items": 2000},
    {"n_users": 5000, "n_items": 500, "activity": 5.0, "exponent": 0.8},
)
UNIFORM: tuple[Shape, ...] = (
    {"n_users": 300, "n_items": 400, "spread": 0.0, "drift": 1.0},
    {"n_users": 2000, "n_items": 1000, "spread": 0.0, "drift": 1.0},
    {"n_users": 300, "n_items": 400, "exponent": 0.0, "drift": 1.0},
    {"n_users": 2000, "n_items": 1000, "exponent": 0.0, "drift": 1.0},
)
"""All users have equally many rows, or all items are equally popular, and stay so."""
PLANTED: tuple[Shape, ...] = (
    {"n_users": 100, "n_items": 150},
    {"n_users": 500, "n_items": 800},
    {"n_users": 500, "n_items": 150, "activity": 8.0},
    {"n_users": 800, "n_items": 1000, "spread": 1.2},
    {"n_users": 2000, "n_items": 1000, "activity": 8.0},
)


def warnings(case: tuple[Shape, int]) -> list[list[str]]:
    """Return the codes of the checks that warn, for the split of every rule."""
    return [
        codes
        for rules, times in ((IN_TIME, True), (WITHOUT_TIME, False))
        for codes in warnings_of(*case, rules, times=times)
    ]


FORMS = ("logarithm", "dense rank", "z-score", "with noise", "popular or not")


def planted(case: tuple[Shape, int]) -> dict[str, bool]:
    """Return whether the audit finds each leak that is planted into a split by time."""
    shape, seed = case
    table = interactions(seed, **shape, ratings=True)
    rule = splits.GlobalTime(share=0.2)
    split = rule.split(table)
    items = table.select("item").unique().sort("item")
    users = table.select("user").unique().sort("user")
    of_test = split.test["user"].unique().sort()
    test_item = split.test.unique("user", keep="first", maintain_order=True)

    def warns(code: str, parts: Any = split, **given: Any) -> bool:
        return bool(rw.audit(parts, **given)[code].status in ("warn", "fail"))

    def knows(ids: pl.DataFrame, values: Any) -> bool:
        (role,) = ids.columns
        return warns("L13", **{f"{role}s": ids.with_columns(x=pl.Series(values))})

    n = counts("item", table, items)
    found = {f"counts of items, {form}": knows(items, TRANSFORMS[form](n)) for form in FORMS}
    found["counts of users, logarithm"] = knows(users, np.log1p(counts("user", table, users)))
    found["counts in test"] = knows(items, counts("item", split.test, items))
    found["the test item"] = warns("L13", users=test_item.select("user", favourite="item"))
    found["lists of test items"] = warns("L18", recommendations=split.test.select("user", "item"))
    found["lists of popular test items"] = warns(
        "L18", recommendations=popularity_lists(split.test, of_test)
    )
    found["copied users"] = warns("L15", rule.split(with_clones(table, 10, 1)[0]))
    twice = pl.concat([split.train, split.train.head(7)])
    found["repeated rows"] = rw.audit(twice, split.test)["L21"].status == "warn"
    return found


def mistaken(case: tuple[Shape, int]) -> list[bool]:
    """Return, for each list of popular training items, whether L18 warns."""
    shape, seed = case
    table = interactions(seed, **shape)
    found = []
    for rule in IN_TIME.values():
        split = split_of(rule, table)
        users, late = split.test["user"].unique().sort(), split.train.sort("timestamp")
        for share, seen in product((1, 3, 20), (None, split.train)):
            lists = popularity_lists(late.tail(len(late) // share), users, seen)
            found.append(rw.audit(split, recommendations=lists)["L18"].status != "pass")
    return found


def stated(what: str, flags: list[bool]) -> None:
    """Print how many of the flags are set, and limits of their share with 95 % confidence."""
    n, k = len(flags), sum(flags)
    low, high = binomtest(k, n).proportion_ci(0.95)
    print(f"{what}: {k:,} of {n:,} ({100 * low:.1f} % to {100 * high:.1f} %)", flush=True)


def main() -> None:
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for what, shapes in (
            ("clean splits that warn", CLEAN),
            ("the same, users or items alike", UNIFORM),
        ):
            of_case = pool.map(warnings, [*product(shapes, SEEDS)])
            codes = [codes for one in of_case for codes in one]
            stated(what, [bool(some) for some in codes])
            print("  ", dict(Counter(code for some in codes for code in some)))
        leaks = [*pool.map(planted, [*product(PLANTED, range(2))])]
        stated("planted leaks found", [found for one in leaks for found in one.values()])
        for name in leaks[0]:
            print(f"   {name}: {sum(one[name] for one in leaks)} of {len(leaks)}")
        wrong = pool.map(mistaken, [*product(CLEAN[1:5], SEEDS)])
        stated("lists of popular training items that warn", [one for some in wrong for one in some])


if __name__ == "__main__":
    main()
