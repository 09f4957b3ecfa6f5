"""Which measure of rankwise is which measure of a library: a table for each library.

Keys are the names that the runners print, without the cut-off. The libraries that use ratings as
grades are in `mapping_graded`.
"""

from __future__ import annotations

import matches as by
from mapping_graded import ELLIOT, WARPREC
from matches import Match, differs, missing, same

RECTOOLS = {
    "Precision": same("precision"),
    "Precision(r_precision=True)": same("recall(denominator=capped)", "r_precision"),
    "Recall": same("recall"),
    "F1Beta": same("f"),
    "F1Beta(beta=2)": same("f(beta=2)", "f(beta=2)"),
    "F1Beta(beta=0.5)": same("f(beta=0.5)", "f(beta=0.5)"),
    "HitRate": same("hit_rate"),
    "Accuracy": missing("share of the catalogue that is TP or TN, from our counts", by.accuracy),
    "MCC": missing("mean over users of the Matthews correlation", by.correlation),
    "MAP": same("map(normaliser=relevant)"),
    "MAP(divide_by_k=True)": same("map(normaliser=k)"),
    "NDCG": same("ndcg(gain=binary,ideal=full)", "ndcg_binary"),
    "NDCG(divide_by_achievable=True)": same("ndcg_binary"),
    "NDCG(log_base=3)": same("ndcg(gain=binary,ideal=full,log_base=3)", "ndcg(log_base=3)"),
    "MRR": same("mrr"),
    "PartialAUC": same("partial_auc"),
    "PAP": same("partial_auc(positives=top)"),
    "MeanInvUserFreq": same("novelty"),
    "CatalogCoverage": same("item_coverage"),
    "CatalogCoverage(normalize=True)": same("catalog_coverage"),
    "AvgRecPopularity": same("arp(denominator=length)"),
    "AvgRecPopularity(normalize=True)": differs(
        "arp", "divides by the number of training interactions", by.share_of_interactions
    ),
    "IntraListDiversity(hamming of genres)": same(
        "ild(distance='ours:hamming')", "ild(distance=jaccard)", view="genres as features"
    ),
    "IntraListDiversity(cosine of features)": same("ild"),
    "Serendipity": same("serendipity"),
    "SufficientReco": differs(
        "unsatisfied(as_share=true)",
        "is 1 less ours",
        lambda at: 1 - at("unsatisfied(as_share=true)"),
    ),
    "SufficientReco(deep=True)": differs(
        "num_retrieved", "divides by k", lambda at: at("num_retrieved") / (at.k or 1)
    ),
    "UnrepeatedReco": missing("share of users without a repeated item in the top k", by.unrepeated),
    "UnrepeatedReco(deep=True)": differs(
        "duplicate_rate",
        "is 1 less ours, of the top k; ours is of the whole list",
        lambda at: 1 - at("duplicate_rate"),
    ),
    "CoveredUsers": same("user_coverage(as_share=true)"),
    "Intersection": same("overlap"),
    "Intersection(ref_k=20)": same(
        "precision(denominator=length)", "overlap", view="baseline as truth"
    ),
}

TAIL = "its tail is {}; ours is what the head leaves of the interactions"
RECBOLE = {
    "hit": same("hit_rate"),
    "mrr": same("mrr"),
    "map": same("map"),
    "recall": same("recall"),
    "ndcg": same("ndcg_binary"),
    "precision": same("precision"),
    "gauc": same(
        "auc",
        "gauc",
        view="full",
        note="a mean of AUC weighted by relevant items is the pooled AUC",
    ),
    "itemcoverage": same(
        "catalog_coverage", view="padded", note="its catalogue has a padding item"
    ),
    "itemcoverage(num_items=80)": same("catalog_coverage"),
    "averagepopularity": same("arp"),
    "shannonentropy": differs(
        "shannon_entropy", "divides by the number of distinct items", by.entropy_per_item
    ),
    "giniindex": differs(
        "gini", "divides by n, not n - 1, and counts a padding item", by.gini_over_n, view="padded"
    ),
    "giniindex(num_items=80)": differs("gini", "divides by n, not n - 1", by.gini_over_n),
    "tailpercentage": missing(TAIL.format("the tenth of the items with fewest interactions")),
    "tailpercentage(tail_ratio=0.2)": missing(
        TAIL.format("the fifth of the items with fewest interactions")
    ),
    "tailpercentage(tail_ratio=5)": missing(TAIL.format("the items with up to 5 interactions")),
    "mae": same("mae", view="full"),
    "rmse": same("rmse", view="full"),
    "auc": same(
        "auc(seen=included)", view="one user", note="it ranks the items of all users in one list"
    ),
    "logloss": same("log_loss", view="full"),
}

HISTORY = "serendipity(form=history,relevance=none{})"
RECOMMENDERS = {
    "rmse": same("rmse", view="full"),
    "mae": same("mae", view="full"),
    "rsquared": same("r2", view="full"),
    "exp_var": same("explained_variance", view="full"),
    "auc": same(
        "auc(seen=included)", view="one user", note="it ranks the items of all users in one list"
    ),
    "logloss": same("log_loss", view="full"),
    "precision_at_k": same("precision"),
    "recall_at_k": same("recall"),
    "r_precision_at_k": differs(
        "r_precision",
        "leaves out users without a hit among as many ranks as they have relevant items, and "
        "reads no further than k",
        by.found_r_precision,
    ),
    "map_at_k": same("map"),
    "map": same("map(normaliser=relevant)"),
    "ndcg_at_k": same("ndcg_binary"),
    "ndcg_at_k(discfun_type=log2)": same("ndcg_binary"),
    "ndcg_at_k(score_type=raw)": same("ndcg"),
    "ndcg_at_k(score_type=exp)": same("ndcg(gain=exponential)", "ndcg(gain=exponential)"),
    "novelty": same("novelty(popularity=interactions)"),
    "catalog_coverage": same("catalog_coverage", note="its catalogue is the items of train"),
    "distributional_coverage": same("shannon_entropy(log_base=2)"),
    "diversity": same("ild", view="users as features"),
    "diversity(item_sim_measure=item_feature_vector)": same("ild"),
    "serendipity": same(HISTORY.format("")),
    "serendipity(item_sim_measure=item_feature_vector)": same(
        HISTORY.format(",similarity=features")
    ),
    "serendipity(col_relevance=relevance)": same("serendipity(form=history)"),
    "serendipity(item_sim_measure=item_feature_vector,col_relevance=relevance)": same(
        "serendipity(form=history,similarity=features)"
    ),
}

LIBRARIES: dict[str, dict[str, Match]] = {
    "rectools": RECTOOLS,
    "recbole": RECBOLE,
    "recommenders": RECOMMENDERS,
    "warprec": WARPREC,
    "elliot": ELLIOT,
}
