"""Case study: each of two policies from the other's log, beside what it earned on the same traffic (Open Bandit).

    python examples/open_bandit.py FOLDER

FOLDER holds ``random_men.parquet``, ``bts_men.parquet`` and the same for women: 10,000 rows each of
the Open Bandit data, with item_id, position, click and propensity_score. Without it, nothing is
computed, and that is said.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

import rankwise as rw

__all__ = ["case_study"]

DATA = Path(__file__).parents[2] / "shared" / "data" / "open-bandit"
CAMPAIGNS = ("men", "women")


def item_shares(log: pl.DataFrame) -> pl.DataFrame:
    """Return how often a log shows each item at each position: the policy that made it, as a table."""
    share = pl.col("len") / pl.col("len").sum().over("position")
    return (
        log.group_by("position", "item_id").len().select("position", "item_id", probability=share)
    )


def case_study(folder: Path) -> pl.DataFrame:
    """Return one row per question: the estimate from one log, and what the policy earned in its own log."""
    rows = []
    for campaign in CAMPAIGNS:
        random, bts = (
            pl.read_parquet(folder / f"{name}_{campaign}.parquet") for name in ("random", "bts")
        )
        from_random = rw.off_policy(random, propensity="uniform", targets={"bts": item_shares(bts)})
        from_bts = rw.off_policy(bts, targets={"uniform": rw.policies.Uniform()})
        for target, result, earned in (("bts", from_random, bts), ("uniform", from_bts, random)):
            row, pair = result.row(target), result.differences.row(0, named=True)
            rows.append(
                {
                    "campaign": campaign,
                    "log": "random" if target == "bts" else "bts",
                    "target": target,
                    "estimate": row["value"],
                    "low": row["low"],
                    "high": row["high"],
                    "earned": earned["click"].mean(),
                    "support": row["support"],
                    "verdict": pair["verdict"],
                }
            )
    return pl.DataFrame(rows)


def main() -> None:
    """Print the case study, or that the data are not here."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if not folder.is_dir():
        print(f"the Open Bandit logs are not at {folder}: nothing to compute")
        return
    with pl.Config(
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=160,
        float_precision=4,
        tbl_hide_column_data_types=True,
    ):
        print(case_study(folder))


if __name__ == "__main__":
    main()
