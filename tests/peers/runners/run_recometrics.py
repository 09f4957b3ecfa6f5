"""recometrics on the random data: users' factors are their scores, items' factors the unit matrix.

`calc_reco_metrics` ranks every item that is not in the user's row of train by the product of two
factors. Every row of the truth with a grade above 0 is an entry of the test matrix, its grade the
value that NDCG reads. Cases without a score for every item, or with tied candidates, are left out:
noise would break the ties. A user has no number where the order of the candidates cannot matter (no
more than k of them, or none that is irrelevant); a metric that some user of the truth lacks is failed.
"""

from __future__ import annotations

from importlib.metadata import version

import common
import numpy as np
import recometrics
from scipy.sparse import csr_matrix

CANNOT = 3
"""The exit code for a case that recometrics cannot express."""
CHOSEN = {"all_metrics": True, "break_ties_with_noise": False, "nthreads": 1}


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every metric at every cut-off.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    if not (data.folder / "scores.npy").exists() or any(has_ties(row) for row in data.masked):
        raise SystemExit(CANNOT)
    train, truth = (csr_matrix(np.maximum(data.matrix(name), 0)) for name in ("train", "truth"))
    users = np.asarray(truth.getnnz(axis=1)) > 0
    factors = np.ascontiguousarray(data.scores, dtype=np.float64), np.eye(data.scores.shape[1])
    for k in (k for k in cutoffs if k < data.scores.shape[1]):
        frame = recometrics.calc_reco_metrics(train, truth, *factors, k=k, **CHOSEN)
        for name, values in frame[users].items():
            with report.guard(str(name)):
                report.add(str(name), values.to_numpy().mean())


def has_ties(scores: common.Array) -> bool:
    """Return whether two candidates have one score.

    Parameters
    ----------
    scores : numpy.ndarray
        Of all items, -inf for those of train.

    Returns
    -------
    bool
        Whether they have.
    """
    candidates = scores[np.isfinite(scores)]
    return len(np.unique(candidates)) < len(candidates)


if __name__ == "__main__":
    common.main("recometrics", version("recometrics"), run)
