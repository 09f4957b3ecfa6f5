"""Conventions of libraries for information retrieval and machine learning in general.

Every line was found by running the library, and is held against it by ``tests/peers``.
"""

from __future__ import annotations

from rankwise.convention.convention import Convention
from rankwise.convention.entry import as_here

__all__ = ["RETRIEVAL_LIBRARIES"]

_SET_PRECISION = "precision(denominator=length)@1000000"
_SET_F = "f(first=precision(denominator=length),second=recall{})@1000000"
_BPREF = "bpref(negative_grades=unjudged)"
_LEVELS = [f"{level / 10:.1f}" for level in range(11)]

TREC_EVAL = Convention(
    "trec_eval",
    library="trec_eval 9.0.8 through pytrec_eval-terrier 0.5.10",
    population="judged_both",
    undefined="zero",
    order_by="score",
    ids="text",
    score_precision="float32",
    ties="item_desc",
    measures={
        **as_here("precision recall mrr ndcg r_precision hit_rate"),
        "bpref": _BPREF,
        "map": "map(normaliser=relevant)",
        "map_cut": "map(normaliser=relevant)",
        "ndcg_cut": "ndcg",
        "recip_rank": "mrr",
        "Rprec": "r_precision",
        "Rprec_mult_1.00": "r_precision",
        "relative_P": "recall(denominator=capped)",
        "set_P": _SET_PRECISION,
        "set_recall": "recall",
        "set_F": _SET_F.format(""),
        "set_F.2.0": _SET_F.format(",beta=1.4142135623730951"),
        "set_F.0.5": _SET_F.format(",beta=0.7071067811865476"),
        "gm_map": "geometric_mean(of=map(normaliser=relevant))",
        "gm_bpref": f"geometric_mean(of={_BPREF})",
        "infAP": {"refused": "average precision inferred from a sample of judgements"},
        "iprec": "iprec(rounding=trec_eval)",
        "11pt_avg": "iprec(rounding=trec_eval)",
        **{f"iprec_at_recall_{level}0": f"iprec(level={level},rounding=trec_eval)" for level in _LEVELS},
        "num_rel_ret": "tp",
        "num_q": "user_coverage",
    },
)

IR_MEASURES = Convention(
    "ir_measures",
    base=TREC_EVAL,
    library="ir_measures 0.4.3",
    population="judged",
    measures={
        "Bpref": _BPREF,
        "RR": "mrr",
        "RR@k": {"measure": "mrr", "ties": "item"},
        "AP": "map(normaliser=relevant)",
        "nDCG(dcg='exp-log2')": {
            "measure": "ndcg(gain=exponential)",
            "note": "the library rounds each user's value to five decimals",
        },
        "err": {"measure": "err(max_relevance=4)", "note": "the library rounds each user's value to five decimals"},
        "SetP": _SET_PRECISION,
        "SetR": "recall",
        "SetF": _SET_F.format(""),
        "SetF(beta=2.0)": _SET_F.format(",beta=1.4142135623730951"),
        "SetF(beta=0.5)": _SET_F.format(",beta=0.7071067811865476"),
        **{f"IPrec(recall={level})": f"iprec(level={level},rounding=trec_eval)" for level in _LEVELS},
        "Judged": {"measure": "judged", "ties": "item", "without_list": "zero"},
        "NumRelRet": "tp",
        "NumQ": {"measure": "user_coverage", "population": "judged_both"},
    },
)

RANX = Convention(
    "ranx",
    library="ranx 0.3.21 with make_comparable",
    note="tied items are in the order of the rows only in lists of up to 15 items",
    population="judged",
    undefined="zero",
    order_by="score",
    ids="text",
    ties="input",
    measures={
        **as_here("precision recall f mrr hit_rate ndcg dcg r_precision"),
        "hits": "cg(gain=binary)",
        "rbp": {"refused": "rank-biased precision with grades as gains, which may exceed 1"},
        "bpref": {
            "refused": "bpref, NaN if nothing is judged irrelevant; a user with nothing relevant "
            "changes the values of other users"
        },
        "f1": "f",
        "map": "map(normaliser=relevant)",
        "dcg_burges": "dcg(gain=exponential)",
        "ndcg_burges": "ndcg(gain=exponential)",
        **{
            f"interpolated_precision_at_recall[{level}]": f"iprec(level={level},rounding=trec_eval)"
            for level in _LEVELS
        },
    },
)

TORCHMETRICS = Convention(
    "torchmetrics",
    library="TorchMetrics 1.9.0, all candidates of every user",
    note="tied items are in the order of torch.topk and torch.sort: only nDCG and AUROC without a "
    "cut-off are defined. Given lists alone, the library knows no other relevant items: recall, "
    "nDCG and R-precision are then of the relevant items listed. In its precision, recall, MRR and "
    "MAP an item with a score of 0 or below is never relevant, which is not imitated",
    population="recommended",
    undefined="zero",
    order_by="score",
    score_precision="float32",
    ties="expected",
    measures={
        **as_here("precision recall mrr ndcg r_precision hit_rate"),
        "map": "map(normaliser=hits)",
        "RetrievalMAP": "map(normaliser=hits)",
        "RetrievalPrecision": "precision",
        "RetrievalPrecision(adaptive_k=True)": "precision(denominator=length)",
        "RetrievalRecall": "recall",
        "RetrievalHitRate": "hit_rate",
        "RetrievalMRR": "mrr",
        "RetrievalNormalizedDCG": "ndcg",
        "RetrievalNormalizedDCG(binary target)": "ndcg(gain=binary)",
        "RetrievalNormalizedDCG(aggregation=min)": "quantile(of=ndcg,q=0)",
        "RetrievalNormalizedDCG(aggregation=max)": "quantile(of=ndcg,q=1)",
        "RetrievalRPrecision": "r_precision",
        "fallout": {"refused": "fall-out of the items given, 1 for a user without irrelevant ones"},
        "RetrievalFallOut": {"refused": "fall-out of the items given, 1 for a user without irrelevant ones"},
        **{
            name: {"refused": "the AUC of the items given, 0 for a user without both classes"}
            for name in ("RetrievalAUROC", "list_auc")
        },
    },
)

SKLEARN = Convention(
    "sklearn",
    library="scikit-learn 1.9, all candidates of every user",
    population="recommended",
    undefined="zero",
    order_by="score",
    ties="expected",
    measures={
        **as_here("ndcg dcg"),
        "ndcg_score": "ndcg",
        "ndcg_score(binary)": "ndcg(gain=binary)",
        "dcg_score": "dcg",
        "dcg_score(log_base=3)": "dcg(log_base=3)",
        "map": "lrap",
        "average_precision_score": "lrap",
        "average_precision_score(average=samples)": "lrap",
        "label_ranking_average_precision_score": "lrap(without_relevant=one)",
        "roc_auc_score": {"measure": "list_auc", "undefined": "skip"},
        "auc": {"measure": "list_auc", "undefined": "skip"},
        "log_loss": {"measure": "log_loss(epsilon=2.220446049250313e-16)", "population": "all"},
        **{
            name: {"measure": measure, "population": "all"}
            for name, measure in {
                "mse": "mse",
                "rmse": "rmse",
                "mae": "mae",
                "r2": "r2",
                "explained_variance": "explained_variance",
                "mean_squared_error": "mse",
                "root_mean_squared_error": "rmse",
                "mean_absolute_error": "mae",
                "r2_score": "r2",
                "explained_variance_score": "explained_variance",
            }.items()
        },
    },
)

RETRIEVAL_LIBRARIES = (RANX, TREC_EVAL, IR_MEASURES, TORCHMETRICS, SKLEARN)
