"""Conventions of frameworks for experiments: WarpRec, RecBole, Elliot.

Every line was found by running the library, and is held against it by ``tests/peers``. Names are
the library's; where a name is also one of rankwise's, it means the library's measure.
"""

from __future__ import annotations

from rankwise.convention.convention import Convention
from rankwise.convention.entry import as_here

__all__ = ["FRAMEWORKS"]

_PLUS_ONE = "gain=exponential_plus_one"

_REACHES = "the short head ends where it reaches the ratio; here it ends where it exceeds it"

RECBOLE = Convention(
    "recbole",
    library="RecBole 1.2.1",
    relevance="any",
    note="tied items are in the order of torch.topk: only GAUC and AUC are defined",
    measures={
        **as_here("precision recall map mrr hit_rate mae rmse arp log_loss"),
        "hit": "hit_rate",
        "ndcg": "ndcg(gain=binary)",
        "gauc": "auc",
        "auc": {"refused": "one AUC of all pairs of users and items together"},
        "tailpercentage": {
            "refused": "the share of recommendations among the tenth of the items with the fewest interactions"
        },
        "itemcoverage": "catalog_coverage(padding=1)",
        "catalog_coverage": "catalog_coverage(padding=1)",
        "averagepopularity": "arp",
        "shannonentropy": "ratio(first=shannon_entropy,second=item_coverage)",
        "shannon_entropy": "ratio(first=shannon_entropy,second=item_coverage)",
        "gini": "gini(corrected=false,padding=1)",
        "giniindex": "gini(corrected=false,padding=1)",
        "logloss": "log_loss",
    },
)

ELLIOT = Convention(
    "elliot",
    library="Elliot 0.3.1",
    population="both",
    list_population="judged_both",
    relevance="any",
    order_by="score",
    ties="input",
    catalogue="train",
    note="items that training does not have are taken out of the lists, and those below move up",
    measures={
        **as_here(
            "precision recall f mrr hit_rate item_coverage user_coverage "
            "user_coverage_at_n rsp bias_disparity bias_disparity_source "
            "bias_disparity_recommendation"
        ),
        "ndcg": "ndcg(gain=exponential_plus_one)",
        "nDCGRendle2020": "ndcg_binary",
        "HR": "hit_rate",
        "map": {"refused": "the mean of precision at every rank up to k, hit or not"},
        "mar": {"refused": "the mean of recall at every rank up to k, hit or not"},
        **{
            name: {"measure": name, "note": "the library takes 0 for the error of a relevant item that is not listed"}
            for name in ("mae", "mse", "rmse")
        },
        "lauc": "lauc(negatives=one_more)",
        "gauc": "gauc(negatives=one_more)",
        "auc": "auc(negatives=one_more)",
        "num_retrieved": {"population": "both", "without_list": "zero"},
        "efd": {
            "measure": "efd(popularity=interactions)",
            "note": "the library divides by the discounts down to the end of a short list",
        },
        "epc": {"measure": "epc", "note": "the library divides by the discounts down to the end of a short list"},
        "gini": "complement(gini)",
        "SEntropy": {
            "measure": "shannon_entropy(log_base=2)",
            "note": "in the library every user weighs the same, however short the list is",
        },
        "arp": "arp(denominator=length)",
        "aplt": {"measure": "aplt(denominator=length)", "note": _REACHES},
        "aclt": {"measure": "aclt", "note": _REACHES},
        "pop_rsp": {"measure": "pop_rsp(denominator=available)", "note": _REACHES},
        "user_mad_ranking": "user_mad_ranking(gain=exponential_plus_one)",
        "user_mad_rating": {"population": "both"},
        "item_mad_ranking": {
            "measure": "item_mad_ranking(gain=exponential_plus_one,discount=none)",
            "population": "both",
        },
        "pop_reo": {"measure": "pop_reo", "population": "both", "note": _REACHES},
        "reo": {"population": "both"},
        "DSC(beta=0.5)": "f(beta=0.5)",
        "DSC(beta=2)": "f(beta=2)",
        "srecall": {"refused": "categories of hits over the categories of the whole catalogue"},
        "item_mad_rating": {"refused": "the score of a recommended item, counted 0 where it is not relevant"},
    },
)

WARPREC = Convention(
    "warprec",
    library="WarpRec 2.2.8",
    population="truth",
    catalogue="train",
    note="computed in 32 bits; tied items are in random order; ground truth of items that training "
    "does not have is left out",
    measures={
        **as_here(
            "precision recall hit_rate f map mar mrr user_coverage num_retrieved "
            "epc aclt aplt arp user_mad_rating ips_recall snips_recall ips_dcg "
            "snips_dcg"
        ),
        "logloss": {"refused": "the mean of users' log losses, scores being logits"},
        "F1[nDCG, MAP]": f"f(first=ndcg({_PLUS_ONE}),second=map)",
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
        "pop_rsp": {"measure": "pop_rsp(denominator=available)", "population": "judged"},
        "item_mad_ranking": {"measure": f"item_mad_ranking({_PLUS_ONE},discount=none)", "population": "judged"},
        "user_mad_ranking": f"user_mad_ranking({_PLUS_ONE})",
        "ACLT[Pop50%]": "aclt(pop_ratio=0.5)",
        "APLT[Pop50%]": "aplt(pop_ratio=0.5)",
        "PopREO[Pop50%]": {"measure": "pop_reo(pop_ratio=0.5)", "population": "judged"},
        "PopRSP[Pop50%]": {"measure": "pop_rsp(pop_ratio=0.5,denominator=available)", "population": "judged"},
        "EucDistance[Precision, Recall, nDCG][1.0, 1.0, 1.0]": (
            f"euclidean_distance([precision,recall,ndcg({_PLUS_ONE})],utopia=[1,1,1])"
        ),
        "Hypervolume[Precision, Recall, nDCG][0.0, 0.0, 0.0][true, true, true]": (
            f"hypervolume([precision,recall,ndcg({_PLUS_ONE})],nadir=[0,0,0])"
        ),
        "Hypervolume[nDCG, ARP][0.0, 50.0][true, false]": (
            f"hypervolume([ndcg({_PLUS_ONE}),arp],nadir=[0,50],directions=[true,false])"
        ),
    },
)

WARPREC_1_4 = Convention(
    "warprec-1.4",
    base=WARPREC,
    library="WarpRec 1.4.6",
    note="computed in 32 bits; tied items are in the order of torch.topk; ground truth of items "
    "that training does not have is left out",
    measures={
        "pop_reo": {"measure": "pop_reo(of=recommended)", "population": "judged"},
        "pop_rsp": {"measure": "pop_rsp", "population": "judged"},
        "PopREO[Pop50%]": {"measure": "pop_reo(pop_ratio=0.5,of=recommended)", "population": "judged"},
        "PopRSP[Pop50%]": {"measure": "pop_rsp(pop_ratio=0.5)", "population": "judged"},
        "bias_disparity_source": {"measure": "bias_disparity_source(interactions=truth)", "population": "judged"},
        "bias_disparity": {"measure": "bias_disparity(interactions=truth)", "population": "judged"},
        "rsp": {
            "measure": "rsp",
            "population": "judged",
            "note": "the library estimates how many items of a group are available",
        },
        **{
            name: {"measure": measure, "population": "all", "undefined": "zero"}
            for name, measure in {
                "f": "f",
                "F1": "f",
                "F1(beta=0.5)": "f(beta=0.5)",
                "F1(beta=2)": "f(beta=2)",
                "F1[nDCG, MAP]": f"f(first=ndcg({_PLUS_ONE}),second=map)",
                "F1[nDCG, EPC](beta=0.5)": f"f(first=ndcg({_PLUS_ONE}),second=epc,beta=0.5)",
            }.items()
        },
    },
)

FRAMEWORKS = (WARPREC, WARPREC_1_4, RECBOLE, ELLIOT)
