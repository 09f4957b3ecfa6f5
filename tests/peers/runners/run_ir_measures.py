"""ir_measures on the random data, with the providers that it chooses: lists with scores, graded truth.

Tables of text ids with the columns ``query_id``, ``doc_id`` and ``score`` or ``relevance`` go in,
every truth row among them, grade 0 included: grades from `rel` (1) on are relevant. Lists are
ordered by score, and the rank column is not asked for. ``calc_aggregate`` puts users together, all
those of the truth, each measure in a call of its own. RBP is cwl_eval's, which users install as
``ir_measures[cwl-eval]``; nDCG with ``exp-log2`` and ERR are a Perl script's, which ir_measures
brings and which needs ``perl``.

Names are the library's own; only the recall of ``IPrec@0.5``, which is no cutoff, is in brackets:
``IPrec(recall=0.5)``.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import common
import ir_measures

if TYPE_CHECKING:
    import pandas as pd

CUT = (
    "P",
    "P(rel=2)",
    "P(judged_only=True)",
    "R",
    "R(rel=2)",
    "R(judged_only=True)",
    "Success",
    "Success(rel=2)",
    "Success(judged_only=True)",
    "RR",
    "RR(rel=2)",
    "AP",
    "AP(rel=2)",
    "AP(judged_only=True)",
    "nDCG",
    "nDCG(dcg='exp-log2')",
    "nDCG(gains={0:0,1:1,2:3,3:7,4:15,5:31})",
    "nDCG(judged_only=True)",
    "ERR",
    "Judged",
    "Accuracy",
    "RBP(rel=1)",
)
WHOLE = (
    "RR",
    "RR(rel=2)",
    "RR(judged_only=True)",
    "AP",
    "AP(rel=2)",
    "AP(judged_only=True)",
    "infAP",
    "nDCG",
    "nDCG(dcg='exp-log2')",
    "nDCG(judged_only=True)",
    "ERR",
    "Rprec",
    "Rprec(rel=2)",
    "Rprec(judged_only=True)",
    "Bpref",
    "Bpref(rel=2)",
    "RBP",
    "RBP(rel=1)",
    "RBP(rel=2)",
    "RBP(rel=1,p=0.95)",
    "SetP",
    "SetP(rel=2)",
    "SetP(relative=True)",
    "SetP(judged_only=True)",
    "SetR",
    "SetR(rel=2)",
    "SetF",
    "SetF(rel=2)",
    "SetF(beta=2.0)",
    "SetF(beta=0.5)",
    "SetF(judged_only=True)",
    "SetAP",
    "Judged",
    "Accuracy",
    "Compat",
    "Compat(normalize=False)",
    "NumRet",
    "NumRelRet",
    "NumRet(rel=2)",
    "NumRel",
    "NumQ",
    *(f"IPrec(recall={recall})" for recall in (0.0, 0.1, 0.3, 0.5, 0.7, 1.0)),
    "IPrec(recall=0.5,rel=2)",
    "IPrec(recall=0.5,judged_only=True)",
)


def table(data: common.Data, name: str, value: str, role: str) -> pd.DataFrame:
    """Read a table with the column names and the text ids that ir_measures wants.

    Parameters
    ----------
    data : common.Data
        The data set.
    name : str
        ``lists`` or ``truth``.
    value, role : str
        The column of values, and its name for ir_measures.

    Returns
    -------
    pandas.DataFrame
        ``query_id``, ``doc_id`` and the values.
    """
    names = {"user": "query_id", "item": "doc_id", value: role}
    renamed = data.table(name).rename(columns=names)[list(names.values())]
    return renamed.astype({"query_id": str, "doc_id": str})


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every measure at every cutoff.

    Parameters
    ----------
    data : common.Data
        The data set.
    cutoffs : list of int
        Lengths of the lists.
    report : common.Report
        Takes the values.
    """
    truth = table(data, "truth", "rating", "relevance")
    lists = table(data, "lists", "score", "score")

    def compute(name: str) -> float:
        measure = ir_measures.parse_measure(name)
        return float(ir_measures.calc_aggregate([measure], truth, lists)[measure])

    for name in (*WHOLE, *(f"{name}@{k}" for k in cutoffs for name in CUT)):
        report.measure(name, partial(compute, name))


if __name__ == "__main__":
    common.main("ir_measures", version("ir_measures"), run)
