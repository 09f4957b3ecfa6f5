"""Tables of per-user values, as other tools write them."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import rankwise as rw
from rankwise.errors import ColumnError

VALUES = pd.DataFrame({"user": [7, 5, 9], "ndcg@10": [0.5, 1.0, 0.25]})


def saved(folder):
    """Return the table in every form in which pandas writes its index."""
    VALUES.to_csv(folder / "a.csv")
    VALUES.to_csv(folder / "b.csv", index_label="index")
    VALUES.reset_index().to_parquet(folder / "c.parquet")
    VALUES[VALUES["ndcg@10"] < 1].pipe(lambda frame: pd.concat([VALUES.iloc[[1]], frame])).to_csv(folder / "d.csv")
    pd.read_csv(folder / "a.csv").to_csv(folder / "e.csv", index=False)
    VALUES.reset_index().to_json(folder / "f.json", orient="records")
    pl.from_pandas(VALUES).with_row_index().write_csv(folder / "g.tsv", separator="\t")
    return sorted(folder.iterdir())


def test_numbers_of_rows_are_no_metric(tmp_path):
    for path in saved(tmp_path):
        result = rw.from_per_user(path)
        assert dict(result.values) == {"ndcg@10": pytest.approx(1.75 / 3)}, path.name
        assert "not read: " in str(result)
    comparison = rw.compare({path.name: rw.from_per_user(path) for path in tmp_path.iterdir()}, force=True)
    assert {row["measure"] for row in comparison.table.to_dicts()} == {"ndcg@10"}


def test_a_column_of_values_without_a_name_is_refused(tmp_path):
    VALUES.rename(columns={"ndcg@10": ""}).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ColumnError, match="has no name"):
        rw.from_per_user(tmp_path / "a.csv")


def test_a_metric_called_index_that_repeats_is_a_metric():
    assert rw.from_per_user(pl.DataFrame({"user": [1, 2], "index": [0.5, 0.5]}))["index"] == 0.5
