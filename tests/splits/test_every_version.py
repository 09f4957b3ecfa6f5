"""A rule, its seed and a table give the same rows in every version: cards and papers name splits by them."""

from __future__ import annotations

import polars as pl
import pytest

from rankwise import splits

N = 120
TABLE = pl.DataFrame(
    {
        "user": [at * 37 % 101 % 13 for at in range(N)],
        "item": [at * 53 % 97 % 17 + (at * 5 % 97 > 80) * 5 for at in range(N)],
        "timestamp": [1_000_000 + at * 5 % 97 * 3600 for at in range(N)],
        "rating": [at * 3 % 5 + 1 for at in range(N)],
    }
)
FILTERS = [splits.KCore(3), splits.MinRating(2), splits.MinRows(2, 2), splits.Deduplicate("last")]


@pytest.mark.parametrize(
    ("rule", "identifiers"),
    [
        (splits.Holdout(0.3, seed=1), "54101c46"),
        (splits.Holdout(0.3, "user", seed=2), "5b0db0b1"),
        (splits.Holdout(0.45, "user", "last"), "361c950a"),
        (splits.LeaveOut(2), "fc5f6208"),
        (splits.LeaveOut(2, "random", seed=3), "baea9982"),
        (splits.LeaveOut(9, short="some"), "ec376586"),
        (splits.LeaveOut(9, short="test"), "3e9a312d"),
        (splits.LeaveOut(9, short="drop"), "55c54e02"),
        (splits.UserHoldout(0.4, seed=4), "8a22779f"),
        (splits.UserHoldout(0.4, fold_in=None, seed=5), "ecf45e34"),
        (splits.UserHoldout(0.4, fold_in=splits.LeaveOut(1), strong=False, seed=6), "137ba892"),
        (splits.ItemHoldout(0.3, seed=7), "34756b4a"),
        (splits.GlobalTime(share=0.3), "437b6caa"),
        (splits.GlobalTime(at="best"), "b16831ba"),
        (splits.GlobalTime(last="1d12h", gap="6h"), "c887f60c"),
        (splits.GlobalTime(share=0.3, until=1_300_000, target="first"), "44f11e02"),
        (splits.GlobalTime(share=0.5, target="last"), "f6683f97"),
        (splits.GlobalTime(share=0.5, target="random", seed=8), "dfa87f49"),
        (splits.GlobalTime(share=0.3, validation=splits.LeaveOut(1)), "81b4d858"),
        (
            splits.GlobalTime(
                share=0.3, validation=splits.UserHoldout(0.3), seen="drop", cold_users="drop"
            ),
            "260def62",
        ),
        (splits.GlobalTime(share=0.6, cold_items="only"), "db48d8b8"),
        (splits.Holdout(0.3, filters=FILTERS, seed=9), "ce2d7527"),
        (splits.Holdout(0.3, filters=FILTERS, filter_on="all", seed=10), "140a7bda"),
        (splits.TwoStage(share=0.3, inner_share=0.4, validation_share=0.5, seed=11), "851318ad"),
        (splits.TwoStage(last="2d", inner_last="1d", warm_only=False), "776f5046"),
        (splits.KFold(3, seed=12), "660ab562 9ae5a792 408af223"),
        (splits.KFold(3, per_user=True, seed=13), "6a416294 3504a081 e7aa5ccb"),
        (splits.StratifiedKFold(4, "rating", seed=14), "47260289 24c34cc1 af1ab649 dd1a7763"),
        (splits.LeavePOut(3, draws=4, seed=15), "5cfafc0b cc872d5a 08423ce1 66bd6ed2"),
        (splits.LeavePOut(100, draws=2, seed=16), "5e9f7d11 7b54660f"),
        (splits.UserKFold(3, seed=17), "f1a0c0f1 527b8d83 721317a4"),
        (splits.TimeWindows("12h", 3, "2d", gap="2h", step="1d"), "b76d00ce 77f3dd52 4e71ae00"),
        (splits.TimeWindows("1d", 2, align="day"), "f136c3c3 e239dc4c"),
        (splits.SuccessiveTargets(share=0.3), "e93f6c8c 1a8ab645 d078e8f4 20c8b3e4"),
    ],
    ids=repr,
)
def test_a_rule_gives_the_rows_of_every_version(rule, identifiers):
    """The identifier is a hash of user, item and time of the rows of each part."""
    made = rule.split(TABLE)
    made = made[:4] if isinstance(made, splits.Folds) else [made]
    assert " ".join(split.card["id"][:8] for split in made) == identifiers
