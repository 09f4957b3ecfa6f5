"""Surprise on the random data: predictions for the rows of the truth that have a score.

`surprise.accuracy` takes a list of `Prediction`, which its users get from ``algo.test(testset)``:
one for every row of the truth, grade 0 included. The estimate is the score of the pair in
``scores.npy``, or in ``lists.csv`` where there is no such file; rows of the truth without either are
left out, for an algorithm of Surprise never leaves one without an estimate. Under ``(equal scores)``
every estimate is 0.5.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import common
import numpy as np
from surprise import Prediction, accuracy

if TYPE_CHECKING:
    import pandas as pd

FUNCTIONS = (accuracy.rmse, accuracy.mse, accuracy.mae, accuracy.fcp)


def score(data: common.Data) -> pd.DataFrame:
    """Give the rows of the truth their scores.

    Parameters
    ----------
    data : common.Data
        The data set.

    Returns
    -------
    pandas.DataFrame
        User, item, rating and score; rows without a score are left out.
    """
    truth = data.table("truth")
    if (data.folder / "scores.npy").exists():
        return truth.assign(score=data.scores[truth["user"], truth["item"]])
    return truth.merge(data.table("lists").drop(columns="rank"), on=["user", "item"])


def predict(rows: pd.DataFrame) -> list[Prediction]:
    """Write rows the way Surprise's algorithms do.

    Parameters
    ----------
    rows : pandas.DataFrame
        User, item, rating and score.

    Returns
    -------
    list of Prediction
        One a row.
    """
    columns = (rows[name].tolist() for name in ("user", "item", "rating", "score"))
    return [
        Prediction(user, item, float(rating), estimate, {})
        for user, item, rating, estimate in zip(*columns, strict=True)
    ]


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute the four functions; none has a cutoff.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Not used.
    report : common.Report
        Takes the values.
    """
    rows = score(data)
    for end, scored in (("", rows), ("(equal scores)", rows.assign(score=np.float64(0.5)))):
        for function in FUNCTIONS:
            report.measure(
                f"{function.__name__}{end}", partial(function, predict(scored), verbose=False)
            )


if __name__ == "__main__":
    common.main("surprise", version("scikit-surprise"), run)
