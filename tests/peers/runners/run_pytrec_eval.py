"""trec_eval, through pytrec_eval, on the random data: lists with scores, graded truth.

Ids become text, as everything in a run file is, and every truth row is handed over, grade 0
included: trec_eval takes grades from `relevance_level` (1) on as relevant, and the rest as judged.
It orders a list by score and never sees the rank column. Users without a list or without a truth
row are left out by `evaluate`; what it returns per user is put together by the library's own
`compute_aggregated_measure`: a mean, for ``num_`` a sum, for ``gm_`` a geometric mean.

Names are those of the results, with the cutoff after an ``@`` (``P@5`` is ``P_5``), and in brackets
what `RelevanceEvaluator` was given beside the measure. ``infAP``, ``Rprec_mult`` and others without
a cutoff come once.
"""

from __future__ import annotations

import re
from importlib.metadata import version

import common
import pytrec_eval

AT_K = ("P", "recall", "map_cut", "ndcg_cut", "success", "relative_P")
ONCE = (
    "map",
    "gm_map",
    "ndcg",
    "ndcg_rel",
    "Rndcg",
    "recip_rank",
    "Rprec",
    "Rprec_mult",
    "bpref",
    "gm_bpref",
    "infAP",
    "iprec_at_recall",
    "11pt_avg",
    "G",
    "binG",
    "utility",
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_map",
    "set_F",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "num_nonrel_judged_ret",
)
BETAS = ("2.0", "0.5")
SETTINGS: dict[str, dict[str, int | bool]] = {
    "": {},
    "relevance_level=2": {"relevance_level": 2},
    "judged_docs_only_flag=True": {"judged_docs_only_flag": True},
}
CUT = re.compile(rf"({'|'.join(AT_K)})_(\d+)")


def label(name: str, setting: str) -> str:
    """Write the name of a result with its setting, and the cutoff last.

    Parameters
    ----------
    name : str
        The key of the result, like ``P_5``.
    setting : str
        What differs from the defaults; may be empty.

    Returns
    -------
    str
        ``P(relevance_level=2)@5``, say.
    """
    inside = f"({setting})" if setting else ""
    found = CUT.fullmatch(name)
    return f"{found[1]}{inside}@{found[2]}" if found else f"{name}{inside}"


def evaluate(
    truth: common.Nested, lists: common.Nested, measures: set[str], settings: dict[str, int | bool]
) -> dict[str, float]:
    """Evaluate the lists and put users together.

    Parameters
    ----------
    truth, lists : dict
        ``{user: {item: value}}``.
    measures : set of str
        What to compute.
    settings : dict
        Other arguments of the evaluator.

    Returns
    -------
    dict
        A number for every result, by its key.
    """
    evaluator = pytrec_eval.RelevanceEvaluator(truth, measures, **settings)
    users = list(evaluator.evaluate(lists).values())
    return {
        name: pytrec_eval.compute_aggregated_measure(name, [values[name] for values in users])
        for name in sorted(users[0])
    }


def run(data: common.Data, cutoffs: list[int], report: common.Report) -> None:
    """Compute every measure with every setting.

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
    at = ",".join(map(str, cutoffs))
    measures = {*ONCE, *(f"{measure}.{at}" for measure in AT_K)}
    for setting, arguments in SETTINGS.items():
        with report.guard(label("all", setting)):
            for name, value in evaluate(truth, lists, measures, arguments).items():
                report.add(label(name, setting), value)
    for beta in BETAS:
        with report.guard(label("set_F", beta)):
            (value,) = evaluate(truth, lists, {f"set_F.{beta}"}, {}).values()
            report.add(f"set_F.{beta}", value)


if __name__ == "__main__":
    common.main("pytrec_eval", version("pytrec-eval-terrier"), run)
