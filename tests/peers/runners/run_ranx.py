"""ranx on the random data: lists with scores, graded truth.

Ids become text, for ranx asks for that. The lists go to `Run.from_dict` in the order of the rank
column, with their scores, by which ranx orders them again; all truth rows go to `Qrels.from_dict`,
grade 0 included: grades from the level on (1, or what ``-l2`` says) are relevant. `evaluate` gets
``make_comparable=True``: its default raises where users of lists and truth differ.

Names are ranx's own but for the level, which comes before the cutoff: ``ndcg-l2@5`` is
``ndcg@5-l2``. Without a cutoff the whole list counts. ``interpolated_precision_at_recall`` has no
name in ranx's `evaluate` and is called from `ranx.metrics`; it gives 11 values for each user, which
are averaged over users here.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import common
from ranx import Qrels, Run, evaluate
from ranx.metrics import interpolated_precision_at_recall

CUT = (
    "hits",
    "hit_rate",
    "precision",
    "recall",
    "f1",
    "mrr",
    "map",
    "dcg",
    "dcg_burges",
    "ndcg",
    "ndcg_burges",
)
WHOLE = ("r-precision", "bpref", "rbp.80", "rbp.95")
LEVELS = {"": 1, "-l2": 2}
RECALLS = 11


def interpolate(truth: common.Nested, lists: common.Nested, level: int) -> list[float]:
    """Compute interpolated precision at the recalls 0, 0.1, ..., 1.

    Parameters
    ----------
    truth, lists : dict
        ``{user: {item: value}}``.
    level : int
        The smallest grade of a relevant item.

    Returns
    -------
    list of float
        Means over users.
    """
    qrels, run = Qrels.from_dict(truth), Run.from_dict(lists)
    run.make_comparable(qrels)
    users = interpolated_precision_at_recall(qrels.to_typed_list(), run.to_typed_list(), level)
    return [float(value) for value in users.mean(axis=0)]


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every metric at every cutoff and level.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    truth, lists = data.nested("truth", "rating", int), data.nested("lists", "score", float)

    def compute(metric: str) -> float:
        qrels, ranked = Qrels.from_dict(truth), Run.from_dict(lists)
        return float(evaluate(qrels, ranked, metric, make_comparable=True))

    for suffix, level in LEVELS.items():
        for metric in (*CUT, *WHOLE):
            report.measure(f"{metric}{suffix}", partial(compute, f"{metric}{suffix}"))
        for metric in CUT:
            for k in cutoffs:
                name = f"{metric}{suffix}@{k}"
                report.measure(name, partial(compute, f"{metric}@{k}{suffix}"))
        with report.guard(f"interpolated_precision_at_recall{suffix}"):
            for place, value in enumerate(interpolate(truth, lists, level)):
                recall = place / (RECALLS - 1)
                report.add(f"interpolated_precision_at_recall[{recall}]{suffix}", value)


if __name__ == "__main__":
    common.main("ranx", version("ranx"), run)
