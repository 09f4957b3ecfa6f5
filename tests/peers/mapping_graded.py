"""The tables of `mapping` for WarpRec and Elliot, whose gain grows with the rating."""

from __future__ import annotations

from dataclasses import replace

import matches as by
from matches import Match, differs, same

ITEM_CELLS = [(i, f"item_group={group}") for i, group in enumerate("abc")]
CELLS = [
    (u, i, f"user_group={group},{cell}") for u, group in enumerate("xy") for i, cell in ITEM_CELLS
]
DISPARITIES = {
    "BS": "bias_disparity_source",
    "BR": "bias_disparity_recommendation",
    "BD": "bias_disparity",
}
PLUS_ONE = "gain=exponential_plus_one"
NDCG = f"ndcg({PLUS_ONE})"
DEBIASED = {
    "IPSRecall": "ips_recall",
    "SNIPSRecall": "snips_recall",
    "IPSDCG": "ips_dcg",
    "SNIPSDCG": "snips_dcg",
}
WARPREC: dict[str, Match] = {
    "Precision": same("precision"),
    "Recall": same("recall"),
    "HitRate": same("hit_rate"),
    "F1": same("f"),
    "MAP": same("map"),
    "MAR": same("mar"),
    "MRR": same("mrr"),
    "nDCG": same(NDCG),
    "nDCGRendle2020": same("ndcg_binary"),
    "AUC": same("auc(negatives=one_more)", view="full"),
    "GAUC": same("gauc(negatives=one_more)", view="full"),
    "LAUC": same("lauc(negatives=one_more)", view="full"),
    "LogLoss": differs(
        "log_loss",
        "takes scores as logits, as this view does, and is the mean of the users' means",
        by.mean_of_users("log_loss"),
        view="logistic",
    ),
    "MAE": same("mae(average=users)", view="full"),
    "MSE": same("mse(average=users)", view="full"),
    "RMSE": same("rmse(average=users)", view="full"),
    "ItemCoverage": same("item_coverage"),
    "UserCoverage": same(
        "user_coverage", note="it counts users with a relevant item, with or without a list"
    ),
    "NumRetrieved": same("num_retrieved"),
    "UserCoverageAtN": same(
        "user_coverage_at_n", note="it counts items with a score above 0 as listed"
    ),
    "EFD": same("efd(popularity=interactions)"),
    "EPC": same("epc"),
    "Gini": same("gini"),
    "ShannonEntropy": same("shannon_entropy"),
    "SRecall": same("srecall(of=hits)"),
    "ACLT": same("aclt"),
    "APLT": same("aplt"),
    "ARP": same("arp"),
    "PopREO": same("pop_reo"),
    "PopRSP": same("pop_rsp(denominator=available)"),
    "REO": same("reo"),
    "RSP": same("rsp"),
    "ItemMADRanking": same(f"item_mad_ranking({PLUS_ONE},discount=none)"),
    "ItemMADRating": same("item_mad_rating"),
    "UserMADRanking": same(f"user_mad_ranking({PLUS_ONE})"),
    "UserMADRating": same("user_mad_rating"),
    "F1(beta=0.5)": same("f(beta=0.5)", "f(beta=0.5)"),
    "F1(beta=2)": same("f(beta=2)", "f(beta=2)"),
    "F1[nDCG, MAP]": same(f"f(first={NDCG},second=map)", "f(first=ndcg,second=map)"),
    "F1[nDCG, EPC](beta=0.5)": same(
        f"f(first={NDCG},second=epc,beta=0.5)", "f(first=ndcg,second=epc,beta=0.5)"
    ),
    "EFD[discounted]": same(
        "efd(popularity=interactions,relevance=discounted_plus_one)", "efd(relevance=discounted)"
    ),
    "EPC[discounted]": same("epc(relevance=discounted_plus_one)", "epc(relevance=discounted)"),
    "ACLT[Pop50%]": same("aclt(pop_ratio=0.5)", "aclt(pop_ratio=0.5)"),
    "APLT[Pop50%]": same("aplt(pop_ratio=0.5)", "aplt(pop_ratio=0.5)"),
    "PopREO[Pop50%]": same("pop_reo(pop_ratio=0.5)", "pop_reo(pop_ratio=0.5)"),
    "PopRSP[Pop50%]": same(
        "pop_rsp(pop_ratio=0.5,denominator=available)", "pop_rsp(pop_ratio=0.5)"
    ),
    "EucDistance[Precision, Recall, nDCG][1.0, 1.0, 1.0]": same(
        f"euclidean_distance([precision,recall,{NDCG}],utopia=[1,1,1])",
        "euclidean_distance([precision,recall,ndcg],utopia=[1,1,1])",
    ),
    "EucDistance[nDCG, Gini, EPC][1.0, 0.0, 1.0]": differs(
        f"euclidean_distance([{NDCG},gini,epc],utopia=[1,0,1],of=means)",
        "distance of every user with the same Gini index for all; ours takes means, or measures "
        "of users",
        by.distance_of_users,
        default="euclidean_distance([ndcg,gini,epc],utopia=[1,0,1],of=means)",
    ),
    "Hypervolume[Precision, Recall, nDCG][0.0, 0.0, 0.0][true, true, true]": same(
        f"hypervolume([precision,recall,{NDCG}],nadir=[0,0,0])",
        "hypervolume([precision,recall,ndcg],nadir=[0,0,0])",
    ),
    "Hypervolume[nDCG, ARP][0.0, 50.0][true, false]": same(
        f"hypervolume([{NDCG},arp],nadir=[0,50],directions=[true,false])",
        "hypervolume([ndcg,arp],nadir=[0,50],directions=[true,false])",
    ),
}
WARPREC |= {name: same(ours) for name, ours in DEBIASED.items()}
WARPREC |= {
    f"{name}(power=1,clip=0.05)": same(*[f"{ours}(power=1,clip=0.05)"] * 2)
    for name, ours in DEBIASED.items()
}
WARPREC |= {
    f"{name}_IC{i + 1}": same(name.lower(), cell=cell)
    for name in ("REO", "RSP")
    for i, cell in ITEM_CELLS
}

DISPARITIES = {
    "BS": "bias_disparity_source",
    "BR": "bias_disparity_recommendation",
    "BD": "bias_disparity",
}
WARPREC |= {
    f"BiasDisparity{which}_UC{u + 1}_IC{i + 1}": same(ours, cell=cell)
    for which, ours in DISPARITIES.items()
    for u, i, cell in CELLS
}

ELLIOT: dict[str, Match] = {
    "nDCG": same("ndcg(gain=exponential)"),
    "nDCG(relevance_threshold=0)": same(NDCG),
    "nDCG(relevance_threshold=3)": same("ndcg(gain=exponential)", view="from 3 as 1"),
    "MAP": differs(
        "map",
        "mean of the precision at every rank up to k, whether or not it is a hit",
        by.mean_of_ranks("precision"),
    ),
    "MAR": differs(
        "mar",
        "mean of the recall at every rank up to k, whether or not it is a hit",
        by.mean_of_ranks("recall"),
    ),
    "F1": same("f"),
    "MAE": same("mae", view="full"),
    "MSE": same("mse", view="full"),
    "RMSE": same("rmse", view="full"),
    "ItemCoverage": same("item_coverage"),
    "UserCoverage": same("user_coverage"),
    "UserCoverageAtN": same("user_coverage_at_n"),
    "NumRetrieved": same("num_retrieved"),
    "Gini": differs("gini", "is 1 less ours", lambda at: 1 - at("gini")),
    "SEntropy": same("shannon_entropy(log_base=2)"),
    "EFD": same("efd(popularity=interactions)"),
    "EPC": same("epc"),
    "ARP": same("arp(denominator=length)"),
    "APLT": same("aplt(denominator=length)"),
    "ACLT": same("aclt"),
    "PopRSP": same("pop_rsp(denominator=available)"),
    "PopREO": same("pop_reo"),
    "UserMADranking_users": same("user_mad_ranking(gain=exponential)"),
    "UserMADrating_users": same("user_mad_rating"),
    "ItemMADranking_items": same("item_mad_ranking(gain=exponential,discount=none)"),
    "ItemMADrating_items": differs(
        "item_mad_rating",
        "counts a recommended item that is not relevant as a score of 0",
        by.rating_with_misses,
    ),
    "REO_items:items": same("reo"),
    "RSP_items:items": same("rsp"),
    "SRecall": differs(
        "srecall(of=hits)",
        "divides by the categories of the catalogue, not of the user's relevant items",
        by.categories_of_all,
    ),
    "ExtendedF1_m0:nDCG-m1:MAP": differs(
        "f(first=ndcg(gain=exponential),second=map)",
        "made of its own MAP, which differs",
        by.f_with_mean_precision,
        default="f(first=ndcg,second=map)",
    ),
    "DSC(beta=0.5)": same("f(beta=0.5)", "f(beta=0.5)"),
    "DSC(beta=2)": same("f(beta=2)", "f(beta=2)"),
    "ExtendedEFD(relevance=discounted)": same(
        "efd(popularity=interactions,relevance=discounted)", "efd(relevance=discounted)"
    ),
    "ExtendedEPC(relevance=discounted)": same(*["epc(relevance=discounted)"] * 2),
    "ExtendedPopRSP(pop_ratio=0.5)": same(
        "pop_rsp(pop_ratio=0.5,denominator=available)", "pop_rsp(pop_ratio=0.5)"
    ),
    "ExtendedPopREO(pop_ratio=0.5)": same(*["pop_reo(pop_ratio=0.5)"] * 2),
}
OF_THRESHOLD = {
    "nDCGRendle2020": same("ndcg_binary"),
    "Precision": same("precision"),
    "Recall": same("recall"),
    "HR": same("hit_rate"),
    "MRR": same("mrr"),
    "LAUC": same("lauc(negatives=one_more)", view="full"),
    "GAUC": same("gauc(negatives=one_more)", view="full"),
    "AUC": same("auc(negatives=one_more)", view="full"),
}
ELLIOT |= OF_THRESHOLD
ELLIOT |= {
    f"{name}(relevance_threshold=3)": replace(match, view="from 3")
    for name, match in OF_THRESHOLD.items()
}
ELLIOT |= {
    f"{name}-ProbToBeRanked_items:items-{i}": same(name.lower(), cell=cell)
    for name in ("REO", "RSP")
    for i, cell in ITEM_CELLS
}
ELLIOT |= {
    f"BiasDisparity{which}_users:users-{u}_items:items-{i}": same(ours, cell=cell)
    for which, ours in DISPARITIES.items()
    for u, i, cell in CELLS
}
