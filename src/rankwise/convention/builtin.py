"""The built-in conventions: plain mappings, of which `Convention` is made.

Every line was found by running the library, and is held against it by ``tests/peers``. Names are
the library's; where a name is also one of rankwise's, it means the library's metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

__all__ = ["BUILT_IN"]

BuiltIn: TypeAlias = dict[str, Any]
"""The parameters of a convention."""


def as_here(names: str) -> dict[str, str]:
    """Return metrics that a library has as rankwise has them, from names with blanks between.

    >>> as_here("recall mrr")
    {'recall': 'recall', 'mrr': 'mrr'}
    """
    return {name: name for name in names.split()}


_PLUS_ONE = "gain=exponential_plus_one"

_ALL_PAIRS = "one ranking of the pairs of all users with all items, which no sums over users give"

_REACHES = "the short head ends where it reaches the ratio; here it ends where it exceeds it"

RECBOLE: BuiltIn = {
    "name": "recbole",
    "library": "RecBole 1.2.1",
    "relevance": "any",
    "note": "tied items are in the order of torch.topk: only GAUC and AUC are defined",
    "metrics": {
        **as_here("precision recall map mrr hit_rate mae rmse arp log_loss"),
        "hit": "hit_rate",
        "ndcg": "ndcg(gain=binary)",
        "gauc": "auc",
        "auc": {"refused": _ALL_PAIRS},
        "tailpercentage": "aplt(pop_ratio=0.9,ratio_of=rarest_items)",
        "itemcoverage": "catalog_coverage(padding=1)",
        "catalog_coverage": "catalog_coverage(padding=1)",
        "averagepopularity": "arp",
        "shannonentropy": "ratio(first=shannon_entropy,second=item_coverage)",
        "shannon_entropy": "ratio(first=shannon_entropy,second=item_coverage)",
        "gini": "gini(corrected=false,padding=1)",
        "giniindex": "gini(corrected=false,padding=1)",
        "logloss": "log_loss",
    },
}

ELLIOT: BuiltIn = {
    "name": "elliot",
    "library": "Elliot 0.3.1",
    "population": "both",
    "list_population": "judged_both",
    "relevance": "any",
    "order_by": "score",
    "ties": "input",
    "catalogue": "train",
    "note": "items that training does not have are taken out of the lists, and those below move up",
    "metrics": {
        **as_here(
            "precision recall f mrr hit_rate item_coverage user_coverage "
            "user_coverage_at_n rsp bias_disparity bias_disparity_source "
            "bias_disparity_recommendation"
        ),
        "ndcg": "ndcg(gain=exponential_plus_one)",
        "nDCGRendle2020": "ndcg_binary",
        "HR": "hit_rate",
        "map": "mean_precision",
        "mar": "mean_recall",
        **{
            name: {
                "metric": name,
                "note": "the library takes 0 for the error of a relevant item that is not listed",
            }
            for name in ("mae", "mse", "rmse")
        },
        "lauc": "lauc(negatives=one_more)",
        "gauc": "gauc(negatives=one_more)",
        "auc": "auc(negatives=one_more)",
        "num_retrieved": {"population": "both", "without_list": "zero"},
        "efd": {
            "metric": "efd(popularity=interactions)",
            "note": "the library divides by the discounts down to the end of a short list",
        },
        "epc": {
            "metric": "epc",
            "note": "the library divides by the discounts down to the end of a short list",
        },
        "gini": "complement(gini)",
        "SEntropy": {
            "metric": "shannon_entropy(log_base=2)",
            "note": "in the library every user weighs the same, however short the list is",
        },
        "arp": "arp(denominator=length)",
        "aplt": {"metric": "aplt(denominator=length)", "note": _REACHES},
        "aclt": {"metric": "aclt", "note": _REACHES},
        "pop_rsp": {"metric": "pop_rsp(denominator=available)", "note": _REACHES},
        "user_mad_ranking": "user_mad_ranking(gain=exponential_plus_one)",
        "user_mad_rating": {"population": "both"},
        "item_mad_ranking": {
            "metric": "item_mad_ranking(gain=exponential_plus_one,discount=none)",
            "population": "both",
        },
        "pop_reo": {"metric": "pop_reo", "population": "both", "note": _REACHES},
        "reo": {"population": "both"},
        "DSC(beta=0.5)": "f(beta=0.5)",
        "DSC(beta=2)": "f(beta=2)",
        "srecall": {
            "metric": "srecall(of=hits,over=all)",
            "note": "the library divides by the number of categories of the items of training",
        },
        "item_mad_rating": {"metric": "item_mad_rating(misses=zero)", "population": "both"},
    },
}

WARPREC: BuiltIn = {
    "name": "warprec",
    "library": "WarpRec 2.2.8",
    "population": "truth",
    "catalogue": "train",
    "note": "computed in 32 bits; tied items are in random order; ground truth of items that "
    "training "
    "does not have is left out",
    "metrics": {
        **as_here(
            "precision recall hit_rate f map mar mrr user_coverage num_retrieved "
            "epc aclt aplt arp user_mad_rating ips_recall snips_recall ips_dcg "
            "snips_dcg"
        ),
        "logloss": {"metric": "log_loss(average=users,scores=logits)", "population": "judged"},
        "F1[nDCG, MAP]": f"f(first=ndcg({_PLUS_ONE}),second=map)",
        "F1[nDCG, MAP](beta=0.5)": f"f(first=ndcg({_PLUS_ONE}),second=map,beta=0.5)",
        "F1[nDCG, EPC](beta=0.5)": f"f(first=ndcg({_PLUS_ONE}),second=epc,beta=0.5)",
        "F1(beta=0.5)": "f(beta=0.5)",
        "F1(beta=2)": "f(beta=2)",
        "ndcg": f"ndcg({_PLUS_ONE})",
        "nDCGRendle2020": "ndcg_binary",
        "auc": "auc(negatives=one_more)",
        "gauc": "gauc(negatives=one_more)",
        "lauc": "lauc(negatives=one_more)",
        **{name: f"{name}(average=users)" for name in ("mae", "mse", "rmse")},
        **{
            name: {"population": "judged"}
            for name in (
                "item_coverage",
                "user_coverage_at_n",
                "gini",
                "shannon_entropy",
                "pop_reo",
                "reo",
                "rsp",
                "item_mad_rating",
                "bias_disparity_source",
                "bias_disparity_recommendation",
                "bias_disparity",
            )
        },
        "efd": "efd(popularity=interactions)",
        "EFD[discounted]": "efd(popularity=interactions,relevance=discounted_plus_one)",
        "EPC[discounted]": "epc(relevance=discounted_plus_one)",
        "srecall": "srecall(of=hits)",
        "pop_rsp": {"metric": "pop_rsp(denominator=available)", "population": "judged"},
        "item_mad_ranking": {
            "metric": f"item_mad_ranking({_PLUS_ONE},discount=none)",
            "population": "judged",
        },
        "user_mad_ranking": f"user_mad_ranking({_PLUS_ONE})",
        "ACLT[Pop50%]": "aclt(pop_ratio=0.5)",
        "APLT[Pop50%]": "aplt(pop_ratio=0.5)",
        "PopREO[Pop50%]": {"metric": "pop_reo(pop_ratio=0.5)", "population": "judged"},
        "PopRSP[Pop50%]": {
            "metric": "pop_rsp(pop_ratio=0.5,denominator=available)",
            "population": "judged",
        },
        "EucDistance": f"euclidean_distance([ndcg({_PLUS_ONE}),recall])",
        "Hypervolume": f"hypervolume([ndcg({_PLUS_ONE}),recall])",
        "EucDistance[Precision, Recall, nDCG][1.0, 1.0, 1.0]": (
            f"euclidean_distance([precision,recall,ndcg({_PLUS_ONE})],utopia=[1,1,1])"
        ),
        "EucDistance[nDCG, EPC][1.0, "
        "1.0]": f"euclidean_distance([ndcg({_PLUS_ONE}),epc],utopia=[1,1])",
        "Hypervolume[nDCG, EPC][0.0, 0.0][true, "
        "true]": f"hypervolume([ndcg({_PLUS_ONE}),epc],nadir=[0,0])",
        "Hypervolume[Precision, Recall, nDCG][0.0, 0.0, 0.0][true, true, true]": (
            f"hypervolume([precision,recall,ndcg({_PLUS_ONE})],nadir=[0,0,0])"
        ),
        "Hypervolume[nDCG, ARP][0.0, 50.0][true, false]": (
            f"hypervolume([ndcg({_PLUS_ONE}),arp],nadir=[0,50],directions=[true,false])"
        ),
    },
}

WARPREC_1_4: BuiltIn = {
    "name": "warprec-1.4",
    "base": WARPREC["name"],
    "library": "WarpRec 1.4.6",
    "note": "computed in 32 bits; tied items are in the order of torch.topk; ground truth of items "
    "that training does not have is left out",
    "metrics": {
        "pop_reo": {"metric": "pop_reo(of=recommended)", "population": "judged"},
        "pop_rsp": {"metric": "pop_rsp", "population": "judged"},
        "PopREO[Pop50%]": {
            "metric": "pop_reo(pop_ratio=0.5,of=recommended)",
            "population": "judged",
        },
        "PopRSP[Pop50%]": {"metric": "pop_rsp(pop_ratio=0.5)", "population": "judged"},
        "bias_disparity_source": {
            "metric": "bias_disparity_source(interactions=truth)",
            "population": "judged",
        },
        "bias_disparity": {"metric": "bias_disparity(interactions=truth)", "population": "judged"},
        "rsp": {
            "metric": "rsp",
            "population": "judged",
            "note": "the library estimates how many items of a group are available",
        },
        **{
            name: {"metric": metric, "population": "all", "undefined": "zero"}
            for name, metric in {
                "f": "f",
                "F1": "f",
                "F1(beta=0.5)": "f(beta=0.5)",
                "F1(beta=2)": "f(beta=2)",
                "F1[nDCG, MAP]": f"f(first=ndcg({_PLUS_ONE}),second=map)",
                "F1[nDCG, MAP](beta=0.5)": f"f(first=ndcg({_PLUS_ONE}),second=map,beta=0.5)",
                "F1[nDCG, EPC](beta=0.5)": f"f(first=ndcg({_PLUS_ONE}),second=epc,beta=0.5)",
            }.items()
        },
    },
}

_OF_LISTS = {"population": "recommended"}

RECTOOLS: BuiltIn = {
    "name": "rectools",
    "library": "RecTools 0.19.0",
    "relevance": "any",
    "list_population": "recommended",
    "metrics": {
        **as_here("precision recall f hit_rate mrr"),
        "Precision(r_precision=True)": "recall(denominator=capped)",
        "F1Beta": "f",
        "F1Beta(beta=2)": "f(beta=2)",
        "F1Beta(beta=0.5)": "f(beta=0.5)",
        "Accuracy": "list_accuracy(short_lists=filled)",
        "mcc": "mcc(short_lists=filled)",
        "map": "map(normaliser=relevant)",
        "MAP(divide_by_k=True)": "map(normaliser=k)",
        "ndcg": "ndcg(gain=binary,ideal=full)",
        "NDCG(divide_by_achievable=True)": "ndcg(gain=binary)",
        "NDCG(log_base=3)": "ndcg(gain=binary,ideal=full,log_base=3)",
        "PartialAUC": "partial_auc",
        "PAP": "partial_auc(positives=top)",
        "MeanInvUserFreq": "novelty",
        "CatalogCoverage": "item_coverage",
        "CatalogCoverage(normalize=True)": "catalog_coverage",
        "AvgRecPopularity": "arp(denominator=length)",
        "IntraListDiversity(cosine of features)": "ild",
        "IntraListDiversity": "ild(distance=hamming)",
        "serendipity": {"undefined": "zero", **_OF_LISTS},
        "SufficientReco": "complement(unsatisfied(as_share=true))",
        "UnrepeatedReco": "complement(duplicate_rate)",
        "UnrepeatedReco(deep=True)": "complement(duplicate_rate)",
        "CoveredUsers": {"metric": "user_coverage(as_share=true)", "population": "truth"},
        "AvgRecPopularity(normalize=True)": "arp(denominator=length,as_share=true)",
        "SufficientReco(deep=True)": {"metric": "num_retrieved(as_share=true)", **_OF_LISTS},
        "Intersection": {
            "metric": "overlap",
            "note": "the library counts 0 for a user without a list in the other run",
        },
    },
}

REPLAY: BuiltIn = {
    "name": "replay",
    "library": "RePlay 0.22.0 (pandas frames)",
    "relevance": "any",
    "list_population": "recommended",
    "order_by": "score",
    "ties": "item_desc",
    "catalogue": "train",
    "metrics": {
        **as_here("precision recall map mrr hit_rate"),
        "ndcg": "ndcg(gain=binary)",
        "HitRate": "hit_rate",
        "Surprisal": "surprisal(denominator=k)",
        "Unexpectedness": {
            "metric": "unexpectedness(denominator=k)",
            "note": "the order of tied items holds for the lists of the other run as well",
        },
        "RocAuc": "list_auc(one_class=by_class)",
        "CategoricalDiversity": {
            "metric": "category_count(categories=group,as_share=true)",
            **_OF_LISTS,
            "note": "each item has one category, in the column group; tied items are in the order "
            "of an unstable sort",
        },
        "Novelty": {
            "metric": "complement(repeated)",
            "note": "the library averages over all training users, and counts 1 without a list",
        },
        "Coverage": "catalog_coverage",
        **{
            f"{name}(mode=Median)": f"quantile(of={metric},q=0.5)"
            for name, metric in {
                "Precision": "precision",
                "Recall": "recall",
                "HitRate": "hit_rate",
                "MAP": "map",
                "MRR": "mrr",
                "NDCG": "ndcg(gain=binary)",
            }.items()
        },
        "Surprisal(mode=Median)": {
            "metric": "quantile(of=surprisal(denominator=k),q=0.5)",
            **_OF_LISTS,
        },
        "Unexpectedness(mode=Median)": {
            "metric": "quantile(of=unexpectedness(denominator=k),q=0.5)",
            **_OF_LISTS,
            "note": "the order of tied items holds for the lists of the other run as well",
        },
    },
}

RECOMMENDERS: BuiltIn = {
    "name": "recommenders",
    "library": "recommenders 1.2.1 (pandas functions)",
    "relevance": "any",
    "population": "both",
    "list_population": "recommended",
    "order_by": "score",
    "ties": "input",
    "metrics": {
        **as_here("precision recall"),
        "rmse": {"population": "truth"},
        "mae": {"population": "truth"},
        "rsquared": {"metric": "r2", "population": "truth"},
        "exp_var": {"metric": "explained_variance", "population": "truth"},
        "logloss": {"metric": "log_loss(epsilon=2.220446049250313e-16)", "population": "truth"},
        "auc": {"refused": _ALL_PAIRS},
        "r_precision_at_k": "r_precision(without_hit=undefined)",
        "diversity": "ild(distance=cooccurrence,single=skip)",
        "precision_at_k": "precision",
        "recall_at_k": "recall",
        "map_at_k": "map",
        "map": "map(normaliser=relevant)",
        "ndcg": {"metric": "ndcg(gain=binary)", "population": "truth"},
        "ndcg_at_k": {"metric": "ndcg(gain=binary)", "population": "truth"},
        "ndcg_at_k(discfun_type=log2)": {"metric": "ndcg(gain=binary)", "population": "truth"},
        "ndcg_at_k(score_type=raw)": {
            "metric": "ndcg",
            "population": "truth",
            "relevance": "positive",
        },
        "ndcg_at_k(score_type=exp)": {
            "metric": "ndcg(gain=exponential)",
            "population": "truth",
            "relevance": "positive",
        },
        "novelty": {
            "metric": "novelty(popularity=interactions,cold=zero)",
            "note": "the library takes the mean over all rows of the lists, not over users",
        },
        "catalog_coverage": {
            "metric": "catalog_coverage",
            "note": "the library counts recommended items that training does not have as well, "
            "and divides by the number of training items: more than 1 is possible",
        },
        "distributional_coverage": "shannon_entropy(log_base=2)",
        "diversity(item_sim_measure=item_feature_vector)": "ild(single=skip)",
        "ild": "ild(single=skip)",
        "serendipity": {"metric": "serendipity(form=history,relevance=none)", **_OF_LISTS},
        "serendipity(item_sim_measure=item_feature_vector)": {
            "metric": "serendipity(form=history,relevance=none,similarity=features)",
            **_OF_LISTS,
        },
        "serendipity(col_relevance=relevance)": {
            "metric": "serendipity(form=history)",
            "undefined": "zero",
            **_OF_LISTS,
        },
        "serendipity(item_sim_measure=item_feature_vector,col_relevance=relevance)": {
            "metric": "serendipity(form=history,similarity=features)",
            "undefined": "zero",
            **_OF_LISTS,
        },
    },
}

LENSKIT: BuiltIn = {
    "name": "lenskit",
    "library": "LensKit 2026.3.0",
    "relevance": "any",
    "population": "both",
    "list_population": "recommended",
    "metrics": {
        **as_here("mrr hit_rate item_coverage num_retrieved popularity_quantile"),
        "precision": {
            "metric": "precision(denominator=length)",
            "population": "recommended",
            "undefined": "zero",
        },
        "recall": "recall(denominator=capped)",
        "Hit": "hit_rate",
        "RecipRank": "mrr",
        "map": "map(normaliser=min_length)",
        "AveragePrecision": "map(normaliser=min_length)",
        "ndcg": "ndcg(gain=binary,discount=log)",
        "NDCG(weight=LogRankWeight(offset=1))": "ndcg(gain=binary)",
        "NDCG(weight=LogRankWeight(base=3))": "ndcg(gain=binary,discount=log)",
        "NDCG(weight=GeometricRankWeight())": "rbp(p=0.85,normaliser=ideal)",
        "NDCG(gain=rating)": "ndcg(discount=log)",
        "NDCG(weight=LogRankWeight(offset=1),gain=rating)": "ndcg",
        "dcg": "dcg(gain=binary,discount=log)",
        "DCG(weight=LogRankWeight(offset=1))": "dcg(gain=binary)",
        "DCG(gain=rating)": "dcg(discount=log)",
        "DCG(weight=LogRankWeight(offset=1),gain=rating)": "dcg",
        "rbp": "rbp(p=0.85)",
        "RBP(patience=0.8)": "rbp(p=0.8)",
        "MeanPopRank": "popularity_quantile",
        "gini": "gini(corrected=false)",
        "ListGini": "gini(corrected=false)",
        "ExposureGini(weight=LogRankWeight(offset=1))": "gini(exposure=log,corrected=false)",
        "ILS": "complement(ild(single=zero))",
        "ListLength": "num_retrieved",
        "UniqueItemCount": "item_coverage",
        "ExposureGini": "gini(exposure=geometric,patience=0.85,corrected=false)",
        **{
            name: {
                "metric": f"category_entropy(log_base=2,{weight}smoothing=1e-06)",
                "note": "the library has the categories of an item in 32 bits",
            }
            for name, weight in {
                "Entropy": "",
                "category_entropy": "",
                "RankBiasedEntropy": "weight=geometric,patience=0.85,",
            }.items()
        },
        "rmse": {"population": "judged"},
        "mae": {"population": "judged"},
        "RMSE.global": {"metric": "rmse", "population": "judged"},
        "MAE.global": {"metric": "mae", "population": "judged"},
        "RMSE.mean": {"metric": "rmse(average=users)", "population": "judged"},
        "MAE.mean": {"metric": "mae(average=users)", "population": "judged"},
    },
}

_THREE_DECIMALS = "the library rounds the value to three decimals"

_CLASSIFIED = {
    name: f"classification(statistic={statistic})"
    for name, statistic in {
        "recall": "recall",
        "precision": "precision",
        "positive_predictive_value": "precision",
        "f1": "f1",
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced_accuracy",
        "fowlkes_mallows_index": "fowlkes_mallows",
        "matthews_correlation_coefficient": "mcc",
    }.items()
}
"""rexmex' statistics of pairs that are relevant if their score is 0.5 or more."""

_RATE = "classification(statistic={},threshold=none)"
_EXPECTED = {
    **dict.fromkeys(("hit_rate", "sensitivity", "true_positive_rate"), _RATE.format("recall")),
    **dict.fromkeys(
        ("specificity", "selectivity", "true_negative_rate"), _RATE.format("specificity")
    ),
    **dict.fromkeys(("miss_rate", "false_negative_rate"), f"complement({_RATE.format('recall')})"),
    **dict.fromkeys(
        ("fall_out", "false_positive_rate"), f"complement({_RATE.format('specificity')})"
    ),
    **dict.fromkeys(("threat", "critical_success_index"), _RATE.format("jaccard")),
    "negative_predictive_value": _RATE.format("negative_predictive_value"),
    "false_omission_rate": f"complement({_RATE.format('negative_predictive_value')})",
    "false_discovery_rate": f"complement({_RATE.format('precision')})",
    "informedness": _RATE.format("informedness"),
    "markedness": _RATE.format("markedness"),
}
"""rexmex' statistics in which the score of a pair is the probability that it is relevant."""

REXMEX: BuiltIn = {
    "name": "rexmex",
    "library": "rexmex 0.1.3",
    "relevance": "any",
    "population": "both",
    "list_population": "recommended",
    "ties": "input",
    "metrics": {
        **as_here("map personalization"),
        "mean_average_precision_at_k": "map",
        "mean_average_recall_at_k": "map(normaliser=relevant)",
        "hits_at_k": "precision(denominator=length)",
        "mean_reciprocal_rank": {
            "metric": "arhr(normaliser=relevant)",
            "note": "the library raises an error if a relevant item is not in the list",
        },
        "item_coverage": {"metric": "catalog_coverage", "note": _THREE_DECIMALS},
        "user_coverage": {
            "metric": "user_coverage(as_share=true)",
            "population": "all",
            "note": _THREE_DECIMALS,
        },
        **{
            name: {"metric": metric, "population": "recommended", "relevance": "positive"}
            for name, metric in {**_CLASSIFIED, **_EXPECTED}.items()
        },
        **{name: {"refused": _ALL_PAIRS} for name in ("roc_auc", "average_precision")},
        "intra_list_similarity": {
            "metric": "complement(ild)",
            "note": "the library returns NaN as soon as one list has one item",
        },
        "novelty": {
            "metric": "novelty",
            "note": "the library gives an item that training does not have the probability 1e-10/N",
        },
    },
}

CORNAC: BuiltIn = {
    "name": "cornac",
    "library": "Cornac 3.0.1",
    "ties": "pessimistic",
    "note": "tied items are in the order of NumPy's argpartition: only MAP and AUC are defined",
    "metrics": {
        **as_here("precision recall f mrr ncrr hit_rate"),
        "FMeasure": "f",
        "HitRatio": "hit_rate",
        "ndcg": "ndcg(gain=binary)",
        "map": {"metric": "lrap", "ties": "expected"},
        "auc": "gauc",
        **{
            name: {
                "refused": "the error of predictions clipped to the range of training ratings, "
                "which no metric reads: "
                "clip the scores, and evaluate without the convention"
            }
            for name in ("mae", "mse", "rmse")
        },
    },
}

IMPLICIT: BuiltIn = {
    "name": "implicit",
    "library": "implicit 0.7.3",
    "relevance": "any",
    "metrics": {
        **as_here("map"),
        "precision": "micro(of=recall(denominator=capped))",
        "precision_at_k": "micro(of=recall(denominator=capped))",
        "mean_average_precision_at_k": "map",
        "ndcg": "ndcg(gain=binary)",
        "ndcg_at_k": "ndcg(gain=binary)",
        "auc": {
            "metric": "gauc(seen=included)",
            "note": "the library cuts lists at k, and fills short ones with misses",
        },
    },
}

SURPRISE: BuiltIn = {
    "name": "surprise",
    "library": "scikit-surprise 1.1.5",
    "population": "judged",
    "metrics": {**as_here("rmse mse mae"), "fcp": "fcp(average=users)"},
}

_SET_PRECISION = "precision(denominator=length)@1000000"
_SET_F = "f(first=precision(denominator=length),second=recall{})@1000000"
_BPREF = "bpref(negative_grades=unjudged)"
_LEVELS = [f"{level / 10:.1f}" for level in range(11)]
_CUTOFFS = {"parameter": "k", "values": "5,10,15,20,30,100,200,500,1000"}
_GAINS = {"relevance": "graded", "parameter": "gains="}
_PREFERENCES = (
    "preferences between pairs of documents, from a file of preferences (-R prefs), "
    "which is not read"
)
_JUDGEMENT_GROUPS = (
    "a mean over groups of assessors, from qrels with judgement groups (-R qrels_jg), which are "
    "not "
    "read"
)


def _interpolated(rounding: str) -> dict[str, Any]:
    """Return trec_eval's names of interpolated precision."""
    return {
        "iprec": f"iprec(rounding={rounding})",
        "11pt_avg": {"metric": f"iprec(rounding={rounding})", "parameter": "levels"},
        "iprec_at_recall": {
            "metric": f"iprec(level=0,rounding={rounding})",
            "parameter": "level",
            "values": ",".join(_LEVELS),
        },
    }


TREC_EVAL_9: BuiltIn = {
    "name": "trec_eval-9",
    "library": "trec_eval 9.0.8 through pytrec_eval-terrier 0.5.11",
    "population": "judged_both",
    "undefined": "zero",
    "order_by": "score",
    "ids": "text",
    "score_precision": "float32",
    "ties": "item_desc",
    "metrics": {
        **as_here("precision mrr r_precision hit_rate"),
        "P": {"metric": "precision", **_CUTOFFS},
        "recall": {"metric": "recall", **_CUTOFFS},
        "success": {"metric": "hit_rate", "parameter": "k", "values": "1,5,10"},
        "relative_P": {"metric": "recall(denominator=capped)", **_CUTOFFS},
        "map": "map(normaliser=relevant)",
        "map_cut": {"metric": "map(normaliser=relevant)", **_CUTOFFS},
        "gm_map": "geometric_mean(of=map(normaliser=relevant))",
        "infAP": "inferred_average_precision",
        "recip_rank": "mrr",
        "bpref": _BPREF,
        "gm_bpref": f"geometric_mean(of={_BPREF})",
        "Rprec": "r_precision",
        "Rprec_mult": {
            "metric": "r_precision",
            "parameter": "multiple",
            "values": "0.2,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0",
        },
        **_interpolated("trec_eval"),
        "ndcg": {"metric": "ndcg", **_GAINS},
        "ndcg_cut": {"metric": "ndcg", "relevance": "graded", **_CUTOFFS},
        "ndcg_rel": {"metric": "ndcg_at_relevant", **_GAINS},
        "Rndcg": {"metric": "ndcg_at_levels", **_GAINS},
        "G": {"metric": "normalised_gain", **_GAINS},
        "binG": "normalised_gain(gain=binary)",
        "set_P": _SET_PRECISION,
        "set_relative_P": "recall(denominator=min_length)",
        "set_recall": "recall",
        "set_map": "hypervolume([precision(denominator=length),recall])@1000000",
        "set_F": {"metric": _SET_F.format(""), "parameter": "beta^2"},
        "utility": {
            "metric": "utility(n_items=0)",
            "parameter": "weights",
            "note": "for a topic without a list, -c and weights that are given, trec_eval counts "
            "one item",
        },
        "num_q": "num_users",
        "num_ret": "num_retrieved(total=true)",
        "num_rel": "num_relevant",
        "num_rel_ret": "tp",
        "num_nonrel_judged_ret": "num_judged_irrelevant",
    },
}

TREC_EVAL: BuiltIn = {
    "name": "trec_eval",
    "base": TREC_EVAL_9["name"],
    "library": "trec_eval 10.0",
    "score_precision": "float64",
    "metrics": {
        **_interpolated("nearest"),
        "yaap": "logit_average_precision",
        "dcg": {"metric": "dcg", **_GAINS},
        "rbp": {"metric": "rbp(p=0.9,top_grade=largest)", "relevance": "graded", "parameter": "p="},
        "rbp_resid": {
            "metric": "rbp_residual(p=0.9,tail=false)",
            "without_list": "zero",
            "parameter": "p=",
        },
        "unj": {
            "metric": "unjudged",
            "without_list": "zero",
            "parameter": "k",
            "values": "5,10,20",
        },
        "runid": {
            "refused": "the name of the run, as text: rankwise evaluate --format trec prints it"
        },
        "relstring": {
            "refused": "the grades at the top of each list, as text: rankwise evaluate --format "
            "trec prints it, "
            "and grade@[1,2,3] has them as numbers"
        },
        **{
            f"prefs_{name}": {"refused": _PREFERENCES}
            for name in (
                *(
                    "num_prefs_poss",
                    "num_prefs_ful",
                    "num_prefs_ful_ret",
                    "avgjg_Rnonrel",
                    "avgjg_Rnonrel_ret",
                ),
                *(
                    f"{kind}{ending}"
                    for kind in ("simp", "pair", "avgjg")
                    for ending in ("", "_ret", "_imp")
                ),
            )
        },
        **{f"{name}_avgjg": {"refused": _JUDGEMENT_GROUPS} for name in ("map", "P", "Rprec_mult")},
    },
}

IR_MEASURES: BuiltIn = {
    "name": "ir_measures",
    "base": TREC_EVAL_9["name"],
    "library": "ir_measures 0.4.3",
    "population": "judged",
    "metrics": {
        "Bpref": _BPREF,
        "RR": "mrr",
        "RR@k": {"metric": "mrr", "ties": "item"},
        "AP": "map(normaliser=relevant)",
        "nDCG(dcg='exp-log2')": {
            "metric": "ndcg(gain=exponential)",
            "note": "the library rounds each user's value to five decimals",
        },
        "err": {
            "metric": "err(max_relevance=4)",
            "note": "the library rounds each user's value to five decimals",
        },
        "SetP": _SET_PRECISION,
        "SetR": "recall",
        "SetF": _SET_F.format(""),
        "SetF(beta=2.0)": _SET_F.format(",beta=1.4142135623730951"),
        "SetF(beta=0.5)": _SET_F.format(",beta=0.7071067811865476"),
        **{
            f"IPrec(recall={level})": f"iprec(level={level},rounding=trec_eval)"
            for level in _LEVELS
        },
        "Judged": {"metric": "judged", "ties": "item", "without_list": "zero"},
        "NumRelRet": "tp",
        "NumQ": {"metric": "user_coverage", "population": "judged_both"},
    },
}

RANX: BuiltIn = {
    "name": "ranx",
    "library": "ranx 0.3.21 with make_comparable",
    "note": "tied items are in the order of the rows only in lists of up to 15 items",
    "population": "judged",
    "undefined": "zero",
    "order_by": "score",
    "ids": "text",
    "ties": "input",
    "metrics": {
        **as_here("precision recall f mrr hit_rate ndcg dcg r_precision"),
        "hits": "cg(gain=binary)",
        "rbp": "rbp(top_grade=none)",
        **{f"rbp.{percent}": f"rbp(p=0.{percent},top_grade=none)" for percent in (50, 80, 90, 95)},
        "bpref": {
            "refused": "bpref in which a user without relevant items changes the values of other "
            "users; it is NaN if "
            "nothing is judged irrelevant"
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
}

TORCHMETRICS: BuiltIn = {
    "name": "torchmetrics",
    "library": "TorchMetrics 1.9.0, all candidates of every user",
    "note": "tied items are in the order of torch.topk and torch.sort: only nDCG and AUROC without "
    "a "
    "cut-off are defined. Given lists alone, the library knows no other relevant items: recall, "
    "nDCG and R-precision are then of the relevant items listed. In its precision, recall, MRR and "
    "MAP an item with a score of 0 or below is never relevant, which is not imitated",
    "population": "recommended",
    "undefined": "zero",
    "order_by": "score",
    "score_precision": "float32",
    "ties": "expected",
    "metrics": {
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
        "fallout": "fallout(negatives=listed,without_irrelevant=one)",
        "RetrievalFallOut": "fallout(negatives=listed,without_irrelevant=one)",
        "list_auc": "list_auc(one_class=zero)",
        "RetrievalAUROC": "list_auc(one_class=zero)",
    },
}

SKLEARN: BuiltIn = {
    "name": "sklearn",
    "library": "scikit-learn 1.9, all candidates of every user",
    "population": "recommended",
    "undefined": "zero",
    "order_by": "score",
    "ties": "expected",
    "metrics": {
        **as_here("ndcg dcg"),
        "ndcg_score": "ndcg",
        "ndcg_score(binary)": "ndcg(gain=binary)",
        "dcg_score": "dcg",
        "dcg_score(log_base=3)": "dcg(log_base=3)",
        "map": "lrap",
        "average_precision_score": "lrap",
        "average_precision_score(average=samples)": "lrap",
        "label_ranking_average_precision_score": "lrap(without_relevant=one)",
        "roc_auc_score": {"metric": "list_auc", "undefined": "skip"},
        "auc": {"metric": "list_auc", "undefined": "skip"},
        "log_loss": {"metric": "log_loss(epsilon=2.220446049250313e-16)", "population": "all"},
        **{
            name: {"metric": metric, "population": "all"}
            for name, metric in {
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
}

_DEFAULT: BuiltIn = {"name": "default", "library": "rankwise"}

BUILT_IN: Mapping[str, BuiltIn] = {
    built_in["name"]: built_in
    for built_in in (
        _DEFAULT,
        WARPREC,
        WARPREC_1_4,
        RECBOLE,
        ELLIOT,
        RECTOOLS,
        REPLAY,
        LENSKIT,
        RECOMMENDERS,
        REXMEX,
        CORNAC,
        IMPLICIT,
        SURPRISE,
        RANX,
        TREC_EVAL,
        TREC_EVAL_9,
        IR_MEASURES,
        TORCHMETRICS,
        SKLEARN,
    )
}
"""The parameters of every built-in convention, by name."""
