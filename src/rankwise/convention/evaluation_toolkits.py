"""Conventions of libraries that evaluate recommendations: RecTools, RePlay, recommenders, LensKit.

Every line was found by running the library, and is held against it by ``tests/peers``. Names are
the library's; where a name is also one of rankwise's, it means the library's measure.
"""

from __future__ import annotations

from rankwise.convention.convention import Convention
from rankwise.convention.entry import as_here

__all__ = ["TOOLKITS"]

_OF_LISTS = {"population": "recommended"}

RECTOOLS = Convention(
    "rectools",
    library="RecTools 0.19.0",
    relevance="any",
    list_population="recommended",
    measures={
        **as_here("precision recall f hit_rate mrr"),
        "Precision(r_precision=True)": "recall(denominator=capped)",
        "F1Beta": "f",
        "F1Beta(beta=2)": "f(beta=2)",
        "F1Beta(beta=0.5)": "f(beta=0.5)",
        "Accuracy": {
            "measure": "list_accuracy",
            "note": "in a list shorter than k the library counts the missing items as misses",
        },
        "mcc": {"measure": "mcc", "note": "in a list shorter than k the library counts the missing items as misses"},
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
        "serendipity": {"undefined": "zero", **_OF_LISTS},
        "SufficientReco": "complement(unsatisfied(as_share=true))",
        "UnrepeatedReco": "complement(duplicate_rate)",
        "UnrepeatedReco(deep=True)": "complement(duplicate_rate)",
        "CoveredUsers": {"measure": "user_coverage(as_share=true)", "population": "truth"},
        "AvgRecPopularity(normalize=True)": {
            "refused": "the mean popularity divided by the number of training interactions"
        },
        "SufficientReco(deep=True)": {"refused": "the number of items in the top k over k"},
        "Intersection": {
            "measure": "overlap",
            "note": "the library counts 0 for a user without a list in the other run",
        },
    },
)

REPLAY = Convention(
    "replay",
    library="RePlay 0.22.0 (pandas frames)",
    relevance="any",
    list_population="recommended",
    order_by="score",
    ties="item_desc",
    catalogue="train",
    measures={
        **as_here("precision recall map mrr hit_rate"),
        "ndcg": "ndcg(gain=binary)",
        "HitRate": "hit_rate",
        "Surprisal": "surprisal(denominator=k)",
        "Unexpectedness": {
            "measure": "unexpectedness(denominator=k)",
            "note": "the order of tied items holds for the lists of the other run as well",
        },
        "RocAuc": {"refused": "the AUC inside the top k: 1 if all are hits, 0 without a hit"},
        "CategoricalDiversity": {
            "refused": "the number of distinct categories over k, of rows that an unstable sort of "
            "the whole table orders"
        },
        "Novelty": {
            "measure": "complement(repeated)",
            "note": "the library averages over all training users, and counts 1 without a list",
        },
        "Coverage": "catalog_coverage",
        **{
            f"{name}(mode=Median)": f"quantile(of={measure},q=0.5)"
            for name, measure in {
                "Precision": "precision",
                "Recall": "recall",
                "HitRate": "hit_rate",
                "MAP": "map",
                "MRR": "mrr",
                "NDCG": "ndcg(gain=binary)",
            }.items()
        },
        "Surprisal(mode=Median)": {"measure": "quantile(of=surprisal(denominator=k),q=0.5)", **_OF_LISTS},
        "Unexpectedness(mode=Median)": {
            "measure": "quantile(of=unexpectedness(denominator=k),q=0.5)",
            **_OF_LISTS,
            "note": "the order of tied items holds for the lists of the other run as well",
        },
    },
)

RECOMMENDERS = Convention(
    "recommenders",
    library="recommenders 1.2.1 (pandas functions)",
    relevance="any",
    population="both",
    list_population="recommended",
    order_by="score",
    ties="input",
    measures={
        **as_here("precision recall"),
        "rmse": {"population": "truth"},
        "mae": {"population": "truth"},
        "rsquared": {"measure": "r2", "population": "truth"},
        "exp_var": {"measure": "explained_variance", "population": "truth"},
        "logloss": {"measure": "log_loss(epsilon=2.220446049250313e-16)", "population": "truth"},
        "auc": {"refused": "one AUC of all pairs of users and items together"},
        "r_precision_at_k": {
            "refused": "hits among the first min(k, |R|) over |R|, averaged only over users who have one"
        },
        "diversity": {"refused": "one minus the cosine similarity of items by the users who have both"},
        "precision_at_k": "precision",
        "recall_at_k": "recall",
        "map_at_k": "map",
        "map": "map(normaliser=relevant)",
        "ndcg": {"measure": "ndcg(gain=binary)", "population": "truth"},
        "ndcg_at_k": {"measure": "ndcg(gain=binary)", "population": "truth"},
        "ndcg_at_k(discfun_type=log2)": {"measure": "ndcg(gain=binary)", "population": "truth"},
        "ndcg_at_k(score_type=raw)": {"measure": "ndcg", "population": "truth", "relevance": "positive"},
        "ndcg_at_k(score_type=exp)": {
            "measure": "ndcg(gain=exponential)",
            "population": "truth",
            "relevance": "positive",
        },
        "novelty": {
            "measure": "novelty(popularity=interactions,cold=zero)",
            "note": "the library takes the mean over all rows of the lists, not over users",
        },
        "catalog_coverage": {
            "measure": "catalog_coverage",
            "note": "the library counts recommended items that training does not have as well, "
            "and divides by the number of training items: more than 1 is possible",
        },
        "distributional_coverage": "shannon_entropy(log_base=2)",
        "diversity(item_sim_measure=item_feature_vector)": "ild(single=skip)",
        "ild": "ild(single=skip)",
        "serendipity": {"measure": "serendipity(form=history,relevance=none)", **_OF_LISTS},
        "serendipity(item_sim_measure=item_feature_vector)": {
            "measure": "serendipity(form=history,relevance=none,similarity=features)",
            **_OF_LISTS,
        },
        "serendipity(col_relevance=relevance)": {
            "measure": "serendipity(form=history)",
            "undefined": "zero",
            **_OF_LISTS,
        },
        "serendipity(item_sim_measure=item_feature_vector,col_relevance=relevance)": {
            "measure": "serendipity(form=history,similarity=features)",
            "undefined": "zero",
            **_OF_LISTS,
        },
    },
)

LENSKIT = Convention(
    "lenskit",
    library="LensKit 2026.3.0",
    relevance="any",
    population="both",
    list_population="recommended",
    measures={
        **as_here("mrr hit_rate item_coverage num_retrieved popularity_quantile"),
        "precision": {"measure": "precision(denominator=length)", "population": "recommended", "undefined": "zero"},
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
        "ExposureGini": {"refused": "a Gini index of exposure that falls geometrically with rank"},
        "category_entropy": {
            "measure": "category_entropy(log_base=2)",
            "note": "the library adds 1e-6 to every category before taking shares",
        },
        "RankBiasedEntropy": {"refused": "an entropy of categories weighted by rank"},
        "rmse": {"population": "judged"},
        "mae": {"population": "judged"},
        "RMSE.global": {"measure": "rmse", "population": "judged"},
        "MAE.global": {"measure": "mae", "population": "judged"},
        "RMSE.mean": {"measure": "rmse(average=users)", "population": "judged"},
        "MAE.mean": {"measure": "mae(average=users)", "population": "judged"},
    },
)

REXMEX = Convention(
    "rexmex",
    library="rexmex 0.1.3",
    relevance="any",
    population="both",
    list_population="recommended",
    ties="input",
    measures={
        **as_here("map personalization"),
        "mean_average_precision_at_k": "map",
        "mean_average_recall_at_k": "map(normaliser=relevant)",
        "hits_at_k": "precision(denominator=length)",
        "mean_reciprocal_rank": {"refused": "the mean of the reciprocal ranks of all relevant items"},
        **{name: {"refused": "rounded to three decimals"} for name in ("item_coverage", "user_coverage")},
        **{
            name: {"refused": "a classification of all pairs, scores above 0.5 as positive"}
            for name in (
                "hit_rate",
                "recall",
                "precision",
                "f1",
                "fall_out",
                "accuracy",
                "roc_auc",
                "average_precision",
                "matthews_correlation_coefficient",
                "balanced_accuracy",
            )
        },
        "intra_list_similarity": {
            "measure": "complement(ild)",
            "note": "the library returns NaN as soon as one list has one item",
        },
        "novelty": {
            "measure": "novelty",
            "note": "the library gives an item that training does not have the probability 1e-10/N",
        },
    },
)

TOOLKITS = (RECTOOLS, REPLAY, LENSKIT, RECOMMENDERS, REXMEX)
