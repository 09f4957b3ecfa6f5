"""The worked examples on the pages of metrics: a table, and the arithmetic by hand beside the value of the code.

The tables are those of `example_world`. A value is computed when the pages are written, and has to
agree with the arithmetic, which is text: an example that is wrong is never published.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import example_world as world

import rankwise as rw
from rankwise.metrics.base import Metric
from rankwise.metrics.description import Description

__all__ = ["NAMES", "Example", "example", "number"]


class ByHand(NamedTuple):
    """The metric that is evaluated, what to count in the table, and the arithmetic."""

    metric: str
    words: str
    arithmetic: str


ONE_LIST = {
    "arhr": ByHand("arhr@5", "Hits at ranks 1 and 3.", "1/1 + 1/3"),
    "auc": ByHand(
        "auc",
        "Four candidates are irrelevant: alien, brazil, evita, gandhi; heat is a training item. "
        "Above casino are none "
        "of them, above dune is alien; fargo and gandhi are tied below the list, with three above.",
        "(4/4 + 3/4 + (4 - 3 - 1/2)/4) / 3",
    ),
    "bpref": ByHand(
        "bpref",
        "One item is judged not relevant, alien: below casino, above dune; fargo is missing.",
        "(1 + 0 + 0) / 3",
    ),
    "cg": ByHand("cg@5", "The relevance of the hits.", "3 + 1"),
    "complete": ByHand("complete@5", "Fargo is relevant and not in the list.", "0"),
    "condensed": ByHand(
        "condensed(ndcg)@5",
        "The judged items of the list are casino, alien and dune, in this order; the ideal list "
        "has relevance 3, 2, 1.",
        "(3/log2(2) + 1/log2(4)) / (3/log2(2) + 2/log2(3) + 1/log2(4))",
    ),
    "dcg": ByHand("dcg@5", "Relevance 3 at rank 1, and 1 at rank 3.", "3/log2(2) + 1/log2(4)"),
    "err": ByHand(
        "err(max_relevance=3)@5",
        "Casino satisfies with probability (2^3 - 1)/2^3, dune with (2^1 - 1)/2^3.",
        "7/8 / 1 + (1 - 7/8) * 1/8 / 3",
    ),
    "f": ByHand("f@5", "Precision is 2/5, recall 2/3.", "2 * 2/5 * 2/3 / (2/5 + 2/3)"),
    "fallout": ByHand(
        "fallout@5",
        "Five of the eight films are not relevant, three of them are in the list.",
        "3 / 5",
    ),
    "gauc": ByHand(
        "gauc",
        "Four candidates are irrelevant: alien, brazil, evita, gandhi; heat is a training item. "
        "Above casino are none "
        "of them, above dune is alien; fargo and gandhi are tied below the list, with three above.",
        "(4/4 + 3/4 + (4 - 3 - 1/2)/4) / 3",
    ),
    "hit_rate": ByHand("hit_rate@5", "There is a hit in the top 5.", "1"),
    "inferred_average_precision": ByHand(
        "inferred_average_precision",
        "Above dune are two judged items: one relevant, one not.",
        "(1/1 + 1/3 * (1 + 2 * 1/(1 + 1))) / 3",
    ),
    "iprec": ByHand(
        "iprec@5",
        "One hit reaches the recall levels 0 to 0.3 with precision 1, two hits 0.4 to 0.6 with "
        "2/3, none "
        "reaches 0.7 to 1.",
        "(4 * 1 + 3 * 2/3 + 4 * 0) / 11",
    ),
    "lauc": ByHand(
        "lauc@5",
        "Four candidates are irrelevant: alien, brazil, evita, gandhi. Above casino are none of "
        "them, above dune is "
        "alien; fargo is not in the list.",
        "(4/4 + 3/4 + 0) / 3",
    ),
    "list_accuracy": ByHand(
        "list_accuracy@5",
        "Two hits, and two films are neither relevant nor in the list: gandhi and heat.",
        "(2 + 2) / 8",
    ),
    "list_auc": ByHand(
        "list_auc@5",
        "Casino ranks above all three irrelevant items of the list, dune above two.",
        "(3 + 2) / (2 * 3)",
    ),
    "logit_average_precision": ByHand(
        "logit_average_precision",
        "The precisions at the hits add up to s = 1/1 + 2/3.",
        "ln((1 + 5/3) / (1 + 3 - 5/3))",
    ),
    "lrap": ByHand("lrap@5", "Hits at ranks 1 and 3, of three relevant items.", "(1/1 + 2/3) / 3"),
    "map": ByHand("map@5", "Hits at ranks 1 and 3, of three relevant items.", "(1/1 + 2/3) / 3"),
    "mar": ByHand(
        "mar@5", "Recall is 1/3 at the first hit and 2/3 at the second.", "(1/3 + 2/3) / 3"
    ),
    "mcc": ByHand(
        "mcc@5",
        "TP = 2, FP = 3, FN = 1 (fargo), TN = 2 (gandhi, heat).",
        "(2 * 2 - 3 * 1) / sqrt((2 + 3) * (2 + 1) * (2 + 3) * (2 + 1))",
    ),
    "mean_precision": ByHand(
        "mean_precision@5", "Precision at each rank.", "(1/1 + 1/2 + 2/3 + 2/4 + 2/5) / 5"
    ),
    "mean_recall": ByHand(
        "mean_recall@5", "Recall at each rank.", "(1/3 + 1/3 + 2/3 + 2/3 + 2/3) / 5"
    ),
    "mrr": ByHand("mrr@5", "The first hit is at rank 1.", "1 / 1"),
    "ncrr": ByHand(
        "ncrr@5",
        "Hits at ranks 1 and 3; ideal are ranks 1, 2, 3.",
        "(1/1 + 1/3) / (1/1 + 1/2 + 1/3)",
    ),
    "ndcg": ByHand(
        "ndcg@5",
        "Relevance 3 at rank 1, and 1 at rank 3; the ideal list has relevance 3, 2, 1.",
        "(3/log2(2) + 1/log2(4)) / (3/log2(2) + 2/log2(3) + 1/log2(4))",
    ),
    "ndcg_at_levels": ByHand(
        "ndcg_at_levels",
        "The ideal gains 3, 2, 1 fall after ranks 1, 2 and 3; the list is longer, so its length 5 "
        "is the fourth rank.",
        "(3/3 + 3/(3 + 2/log2(3)) + 2 * 3.5/(3 + 2/log2(3) + 0.5)) / 4",
    ),
    "ndcg_at_relevant": ByHand(
        "ndcg_at_relevant",
        "Casino is at rank 1, dune at rank 3; for fargo nDCG is of the whole list.",
        "(3/3 + 2 * 3.5/(3 + 2/log2(3) + 0.5)) / 3",
    ),
    "ndcg_binary": ByHand(
        "ndcg_binary@5",
        "Hits at ranks 1 and 3; three relevant items.",
        "(1/log2(2) + 1/log2(4)) / (1/log2(2) + 1/log2(3) + 1/log2(4))",
    ),
    "normalised_gain": ByHand(
        "normalised_gain",
        "At rank 1 the ideal gain is 3, the gain 3; at rank 3 they are 6 and 4.",
        "(3/log2(2 + 3 - 3) + 1/log2(2 + 6 - 4)) / (3 + 2 + 1)",
    ),
    "partial_auc": ByHand(
        "partial_auc@5",
        "No irrelevant item is above casino, one above dune; fargo is missing.",
        "(5 + 4 + 0) / (5 * 3)",
    ),
    "precision": ByHand("precision@5", "Two hits in five places.", "2 / 5"),
    "r_precision": ByHand(
        "r_precision@5", "Three relevant items, two of them in the top 3.", "2 / 3"
    ),
    "rbp": ByHand("rbp@5", "Hits at ranks 1 and 3, p = 0.8.", "(1 - 0.8) * (1 + 0.8**2)"),
    "recall": ByHand("recall@5", "Two of three relevant items are in the top 5.", "2 / 3"),
    "brier": ByHand(
        "brier(n_bins=2)",
        "Casino and dune are relevant.",
        "((0.9 - 1)**2 + 0.8**2 + (0.6 - 1)**2 + 0.3**2 + 0.1**2) / 5",
    ),
    "calibration_ratio": ByHand(
        "calibration_ratio", "Casino and dune are relevant.", "(0.9 + 0.8 + 0.6 + 0.3 + 0.1) / 2"
    ),
    "classification": ByHand(
        "classification",
        "Scores from 0.5: casino and dune are TP, alien FP; FN = 0.",
        "2 * 2 / (2 * 2 + 1 + 0)",
    ),
    "ece": ByHand(
        "ece(n_bins=2)",
        "Above 0.5: mean score 2.3/3, two of three relevant. Below: 0.4/2, none of two.",
        "3/5 * abs(2.3/3 - 2/3) + 2/5 * abs(0.4/2 - 0)",
    ),
    "explained_variance": ByHand(
        "explained_variance",
        "Errors 0.5, -2 and -0.5 of the ratings 3, 0 and 1: their variances.",
        "1 - ((0.5**2 + 2**2 + 0.5**2)/3 - (2/3)**2) / ((3**2 + 0 + 1**2)/3 - (4/3)**2)",
    ),
    "fcp": ByHand(
        "fcp",
        "Three pairs have different ratings: casino-alien and casino-dune are in order, dune-alien "
        "is not.",
        "2 / (2 + 1)",
    ),
    "xauc": ByHand(
        "xauc",
        "Three pairs have different ratings: casino-alien and casino-dune are in order, dune-alien "
        "is not.",
        "2 / (2 + 1)",
    ),
    "log_loss": ByHand(
        "log_loss",
        "Casino and dune are relevant.",
        "-(ln(0.9) + ln(1 - 0.8) + ln(0.6) + ln(1 - 0.3) + ln(1 - 0.1)) / 5",
    ),
    "mae": ByHand(
        "mae", "Casino, alien and dune have a rating and a score.", "(0.5 + 2 + 0.5) / 3"
    ),
    "mse": ByHand(
        "mse", "Casino, alien and dune have a rating and a score.", "(0.5**2 + 2**2 + 0.5**2) / 3"
    ),
    "normalised_entropy": ByHand(
        "normalised_entropy",
        "The log loss over that of the rate 2/5.",
        "(ln(0.9) + ln(1 - 0.8) + ln(0.6) + ln(1 - 0.3) + ln(1 - 0.1)) / 5 / (2/5 * ln(2/5) + 3/5 "
        "* ln(3/5))",
    ),
    "r2": ByHand(
        "r2",
        "Errors 0.5, 2 and 0.5; the ratings 3, 0 and 1 have the mean 4/3.",
        "1 - (0.5**2 + 2**2 + 0.5**2) / ((3 - 4/3)**2 + (0 - 4/3)**2 + (1 - 4/3)**2)",
    ),
    "reliability_curve": ByHand(
        "reliability_curve(n_bins=2)[bin=2,of=observed]",
        "The second bin has casino, alien and dune; two of them are relevant.",
        "2 / 3",
    ),
    "rmse": ByHand(
        "rmse",
        "Casino, alien and dune have a rating and a score.",
        "sqrt((0.5**2 + 2**2 + 0.5**2) / 3)",
    ),
    "utility": ByHand(
        "utility@5", "Two hits, worth 1 each; three other items, worth -1 each.", "2 * 1 - 3 * 1"
    ),
    "efd": ByHand(
        "efd@5",
        "Of four training users one has casino (2 bits), two have dune (1 bit).",
        "(2/log2(2) + 1/log2(4)) / (1/log2(2) + 1/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6))",
    ),
    "epc": ByHand(
        "epc@5",
        "Of four training users one has casino, two have dune.",
        "((1 - 1/4)/log2(2) + (1 - 2/4)/log2(4)) / (1/log2(2) + 1/log2(3) + 1/log2(4) + 1/log2(5) "
        "+ 1/log2(6))",
    ),
    "novelty": ByHand(
        "novelty@5",
        "Shares 1/4, 2/4, 2/4, 1/4, 4/4 of the training users; brazil, which none has, counts as "
        "if one had it.",
        "(2 + 1 + 1 + 2 + 0) / 5",
    ),
    "serendipity": ByHand(
        "serendipity@5",
        "Casino has rank 1 and popularity rank 3; dune has rank 3 and popularity rank 2, so it is "
        "no surprise.",
        "((8 + 1 - 1)/8 - (8 + 1 - 3)/8 + 0) / 5",
    ),
    "surprisal": ByHand(
        "surprisal@5",
        "Novelty over the largest possible, log2 of four training users.",
        "(2 + 1 + 1 + 2 + 0) / 5 / log2(4)",
    ),
    "unexpectedness": ByHand(
        "unexpectedness@5", "The reference list has casino and alien.", "1 - 2/5"
    ),
    "alpha_ndcg": ByHand(
        "alpha_ndcg@5",
        "Casino brings crime, dune scifi. The ideal list begins with fargo (crime, drama), then "
        "dune, then casino, "
        "whose crime then counts half.",
        "(1/log2(2) + 1/log2(4)) / (2/log2(2) + 1/log2(3) + 0.5/log2(4))",
    ),
    "calibration_error": ByHand(
        "calibration_error@5",
        "The training items are half music, half crime; of the list both are 1/5.",
        "2 * 0.5 * ln(0.5 / (0.99 * 0.2 + 0.01 * 0.5))",
    ),
    "category_count": ByHand("category_count@5", "Crime, horror, scifi, comedy and music.", "5"),
    "category_entropy": ByHand(
        "category_entropy@5",
        "An item's fifth is shared by its categories: crime and music 0.2, horror and comedy 0.1, "
        "scifi 0.4.",
        "-(2 * 0.2 * ln(0.2) + 2 * 0.1 * ln(0.1) + 0.4 * ln(0.4))",
    ),
    "intra_list_diversity": ByHand(
        "intra_list_diversity(distance=jaccard)@5",
        "Ten pairs: alien-dune and dune-brazil share one of two categories, alien-brazil one of "
        "three, the "
        "others none.",
        "(1/2 + 1/2 + 2/3 + 7 * 1) / 10",
    ),
    "subtopic_recall": ByHand(
        "subtopic_recall@5",
        "The relevant items have crime, scifi and drama; drama is not in the list.",
        "2 / 3",
    ),
    "aclt": ByHand(
        "aclt@5",
        "Evita, alien, dune and heat have 10 of 12 training interactions: the short head. Casino "
        "and brazil "
        "are long tail.",
        "1 + 1",
    ),
    "aplt": ByHand(
        "aplt@5",
        "Evita, alien, dune and heat have 10 of 12 training interactions: the short head. Casino "
        "and brazil "
        "are long tail.",
        "2 / 5",
    ),
    "arp": ByHand("arp@5", "Training users of each item.", "(1 + 2 + 2 + 0 + 4) / 5"),
    "popularity_lift": ByHand(
        "popularity_lift@5",
        "The training items of the user, evita and heat, have 4 and 2 training users.",
        "(1 + 2 + 2 + 0 + 4)/5 / ((4 + 2)/2) - 1",
    ),
    "popularity_quantile": ByHand(
        "popularity_quantile@5",
        "Of six items with training users, casino and fargo share ranks 1 and 2; alien, dune, heat "
        "share 3 to 5; "
        "evita is 6; brazil has none.",
        "(1.5/6 + 4/6 + 4/6 + 0 + 6/6) / 5",
    ),
    "ips": ByHand(
        "ips@5",
        "Propensities are sqrt(n/4): casino weighs 1/sqrt(1/4) = 2, dune 1/sqrt(2/4).",
        "(2 + 1/sqrt(2/4)) / 3",
    ),
    "ips_dcg": ByHand(
        "ips_dcg@5",
        "Propensities are sqrt(n/4): casino weighs 1/sqrt(1/4) = 2, dune 1/sqrt(2/4).",
        "2/log2(2) + 1/sqrt(2/4)/log2(4)",
    ),
    "ips_recall": ByHand(
        "ips_recall@5",
        "Propensities are sqrt(n/4): casino weighs 1/sqrt(1/4) = 2, dune 1/sqrt(2/4).",
        "(2 + 1/sqrt(2/4)) / 3",
    ),
    "snips": ByHand(
        "snips@5",
        "Propensities are sqrt(n/4): casino and fargo weigh 1/sqrt(1/4) = 2, dune 1/sqrt(2/4).",
        "(2 + 1/sqrt(2/4)) / (2 + 1/sqrt(2/4) + 2)",
    ),
    "snips_dcg": ByHand(
        "snips_dcg@5",
        "Propensities are sqrt(n/4): casino and fargo weigh 1/sqrt(1/4) = 2, dune 1/sqrt(2/4).",
        "(2/log2(2) + 1/sqrt(2/4)/log2(4)) / (2 + 1/sqrt(2/4) + 2)",
    ),
    "snips_recall": ByHand(
        "snips_recall@5",
        "Propensities are sqrt(n/4): casino and fargo weigh 1/sqrt(1/4) = 2, dune 1/sqrt(2/4).",
        "(2 + 1/sqrt(2/4)) / (2 + 1/sqrt(2/4) + 2)",
    ),
    "stratified": ByHand(
        "stratified@5",
        "Weights are 1/sqrt(n): 1 for casino and fargo, 1/sqrt(2) for dune.",
        "(1 + 1/sqrt(2)) / (1 + 1/sqrt(2) + 1)",
    ),
    "stratified_recall": ByHand(
        "stratified_recall@5",
        "Weights are 1/sqrt(n): 1 for casino and fargo, 1/sqrt(2) for dune.",
        "(1 + 1/sqrt(2)) / (1 + 1/sqrt(2) + 1)",
    ),
    "awrf": ByHand(
        "awrf@5",
        "Old films have ranks 2, 3 and 4. Half of the catalogue is old; the two groups differ from "
        "their "
        "targets alike.",
        "1 - abs((1/log2(3) + 1/log2(4) + 1/log2(5)) "
        "/ (1/log2(2) + 1/log2(3) + 1/log2(4) + 1/log2(5) + 1/log2(6)) - 1/2)",
    ),
    "ee_d": ByHand(
        "ee_d@5",
        "Old films have ranks 2, 3, 4, new ones 1 and 5.",
        "(1/2 + 1/4 + 1/8)**2 + (1 + 1/16)**2",
    ),
    "ee_l": ByHand(
        "ee_l@5",
        "In ideal lists each of three relevant items has (1 + 1/2 + 1/4)/3 = 7/12; one is old, two "
        "are new.",
        "(1/2 + 1/4 + 1/8 - 7/12)**2 + (1 + 1/16 - 2 * 7/12)**2",
    ),
    "ee_r": ByHand(
        "ee_r@5",
        "In ideal lists each of three relevant items has (1 + 1/2 + 1/4)/3 = 7/12; one is old, two "
        "are new.",
        "(1/2 + 1/4 + 1/8) * 7/12 + (1 + 1/16) * 2 * 7/12",
    ),
    "euclidean_distance": ByHand(
        "euclidean_distance@5",
        "nDCG is 0.735, recall 2/3; the ideal is 1 for both.",
        "sqrt((1 - 0.735)**2 + (1 - 2/3)**2)",
    ),
    "hypervolume": ByHand(
        "hypervolume@5", "nDCG is 0.735, recall 2/3; the nadir is 0 for both.", "0.735 * 2/3"
    ),
    "cold_item_share": ByHand("cold_item_share@5", "Brazil has no training user.", "1 / 5"),
    "duplicate_rate": ByHand("duplicate_rate", "Ranks 3 and 5 repeat an item.", "2 / 5"),
    "grade": ByHand("grade@1", "The item at rank 1 is casino.", "3"),
    "judged": ByHand("judged@5", "Casino, alien and dune have a row in the ground truth.", "3 / 5"),
    "mean_score": ByHand("mean_score@5", "Scores of the list.", "(2.5 + 2 + 1.5 + 1 + 0.5) / 5"),
    "overlap": ByHand("overlap@5", "The reference list has casino and alien.", "2 / 5"),
    "rbo": ByHand(
        "rbo@5",
        "The top 1 have no common item, the top 2 to 5 have two; p = 0.9.",
        "(1 - 0.9) * (0 + 0.9 * 2/2 + 0.9**2 * 2/3 + 0.9**3 * 2/4 + 0.9**4 * 2/5) + 0.9**5 * 2/5",
    ),
    "rbp_residual": ByHand(
        "rbp_residual@5",
        "Ranks 1, 2 and 3 are judged, p = 0.8.",
        "1 - (1 - 0.8) * (1 + 0.8 + 0.8**2)",
    ),
    "repeated": ByHand("repeated@5", "Evita is one of the user's training items.", "1 / 5"),
    "hole": ByHand(
        "hole@5", "Brazil and evita have no row in the ground truth of anyone.", "2 / 5"
    ),
    "unjudged": ByHand("unjudged@5", "Brazil and evita have no row in the ground truth.", "2 / 5"),
    "validity": ByHand("validity@5", "The catalogue has no item of the id at rank 5.", "4 / 5"),
}
"""Examples of one user, ann: a row for each rank."""

USERS = {
    "micro": ByHand(
        "micro@5",
        "Hits of all users over min(5, relevant items) of all users.",
        "(2 + 1 + 0) / (3 + 2 + 1)",
    ),
    "fn": ByHand("fn@5", "Relevant items minus hits.", "(3 - 2) + (2 - 1) + (1 - 0)"),
    "fp": ByHand("fp@5", "Items of the lists minus hits.", "(5 - 2) + (5 - 1) + (4 - 0)"),
    "num_judged_irrelevant": ByHand(
        "num_judged_irrelevant@5",
        "Alien in the list of ann is the one item that is judged not relevant.",
        "1 + 0 + 0",
    ),
    "num_relevant": ByHand("num_relevant", "Relevant items.", "3 + 2 + 1"),
    "num_users": ByHand("num_users", "One for each user.", "1 + 1 + 1"),
    "tn": ByHand(
        "tn@5",
        "Of eight films, those that are neither in the list nor relevant.",
        "(8 - 5 - 3 + 2) + (8 - 5 - 2 + 1) + (8 - 4 - 1 + 0)",
    ),
    "tp": ByHand("tp@5", "Hits.", "2 + 1 + 0"),
    "num_retrieved": ByHand("num_retrieved@5", "Items of the lists.", "(5 + 5 + 4) / 3"),
    "user_coverage": ByHand("user_coverage@5", "All three users have a list.", "1 + 1 + 1"),
    "user_coverage_at_n": ByHand(
        "user_coverage_at_n@5", "The list of cyd has four items.", "1 + 1 + 0"
    ),
    "unsatisfied": ByHand("unsatisfied@5", "The list of cyd has four items.", "0 + 0 + 1"),
    "geometric_mean": ByHand(
        "geometric_mean(ndcg)@5",
        "The value of cyd, 0, is raised to 0.00001.",
        "(0.735 * 0.4796 * 0.00001)**(1/3)",
    ),
    "group_gap": ByHand(
        "group_gap(ndcg)@5", "The means of north and south.", "0.735 - (0.4796 + 0)/2"
    ),
    "group_ratio": ByHand(
        "group_ratio(ndcg)@5", "The means of south and north.", "(0.4796 + 0)/2 / 0.735"
    ),
    "quantile": ByHand(
        "quantile(ndcg,q=0.25)@5",
        "Ascending: 0, 0.4796, 0.735. Position 1 + 0.25 * (3 - 1) = 1.5 is half way from the first "
        "to the second.",
        "0.5 * 0 + 0.5 * 0.4796",
    ),
    "user_mad_ranking": ByHand(
        "user_mad_ranking@5", "The means of north and south.", "abs(0.735 - (0.4796 + 0)/2)"
    ),
    "user_mad_rating": ByHand(
        "user_mad_rating@5", "The means of north and south.", "abs(1.5 - (1.5 + 1.25)/2)"
    ),
    "worst": ByHand(
        "worst(ndcg,share=0.5)@5",
        "Half of three users, rounded up: the lowest two.",
        "(0 + 0.4796) / 2",
    ),
}
"""Examples of all users: a row for each."""

ALL_LISTS = {
    "catalog_coverage": ByHand(
        "catalog_coverage@2", "Four of eight films are in a top 2.", "4 / 8"
    ),
    "item_coverage": ByHand("item_coverage@2", "Alien, casino, dune and heat are in a top 2.", "4"),
    "gini": ByHand(
        "gini@2",
        "Ascending counts 0, 0, 0, 0, 1, 1, 2, 2; the weights 2j - 9 of the last four are 1, 3, 5 "
        "and 7.",
        "(1 * 1 + 3 * 1 + 5 * 2 + 7 * 2) / ((8 - 1) * 6)",
    ),
    "herfindahl": ByHand(
        "herfindahl@2",
        "Six recommendations: two of alien and heat, one of casino and dune.",
        "2 * (2/6)**2 + 2 * (1/6)**2",
    ),
    "personalization": ByHand(
        "personalization@2",
        "Ann and bob share alien, bob and cyd heat, ann and cyd nothing.",
        "1 - (1/2 + 1/2 + 0) / 3",
    ),
    "shannon_entropy": ByHand(
        "shannon_entropy@2",
        "Six recommendations: two of alien and heat, one of casino and dune.",
        "-(2 * 2/6 * ln(2/6) + 2 * 1/6 * ln(1/6))",
    ),
    "pop_reo": ByHand(
        "pop_reo@5",
        "Evita, alien, dune and heat are the short head. Of two relevant head items (dune, heat) "
        "both are hits; of "
        "four in the tail (casino, fargo, brazil twice) one. The deviation of two numbers is half "
        "their difference.",
        "(2/2 - 1/4)/2 / ((2/2 + 1/4)/2)",
    ),
    "pop_rsp": ByHand(
        "pop_rsp@2",
        "Evita, alien, dune and heat are the short head, with five recommendations; the four tail "
        "items have one. The "
        "deviation of two numbers is half their difference.",
        "(5/4 - 1/4)/2 / ((5/4 + 1/4)/2)",
    ),
    "bias_disparity": ByHand(
        "bias_disparity@5[user_group=south,item_group=old]",
        "Bob and cyd are south: four of their nine recommendations are old, and two of their five "
        "training items; so "
        "is half of the catalogue.",
        "((4/9)/(4/8) - (2/5)/(4/8)) / ((2/5)/(4/8))",
    ),
    "bias_disparity_recommendation": ByHand(
        "bias_disparity_recommendation@5[user_group=south,item_group=old]",
        "Bob and cyd are south: four of their nine recommendations are old; so is half of the "
        "catalogue.",
        "(4/9) / (4/8)",
    ),
    "bias_disparity_source": ByHand(
        "bias_disparity_source[user_group=south,item_group=old]",
        "Bob and cyd are south: two of their five training items are old (dune, alien); so is half "
        "of the catalogue.",
        "(2/5) / (4/8)",
    ),
    "item_mad_ranking": ByHand(
        "item_mad_ranking@5",
        "New: casino gains 3 for one of three users, heat 2/log2(3) for one of two, evita and "
        "fargo nothing. Old: "
        "dune gains 1/log2(4) for one of two, alien, brazil and gandhi nothing.",
        "abs((3/3 + 2/log2(3)/2 + 0 + 0)/4 - (1/log2(4)/2 + 0 + 0 + 0)/4)",
    ),
    "item_mad_rating": ByHand(
        "item_mad_rating@5",
        "Hits of new films: casino with score 2.5, heat with 2; of old ones: dune with 1.5.",
        "abs((2.5 + 2)/2 - 1.5)",
    ),
    "reo": ByHand(
        "reo@5",
        "New: casino and heat are hits, fargo is not. Old: dune is a hit, brazil is missed twice. "
        "The deviation of "
        "two numbers is half their difference.",
        "(2/3 - 1/3)/2 / ((2/3 + 1/3)/2)",
    ),
    "rsp": ByHand(
        "rsp@5",
        "Seven recommendations each. Candidates leave out training items, unless recommended: 3 + "
        "3 + 2 are new, 4 + "
        "3 + 3 old. The deviation of two numbers is half their difference.",
        "(7/8 - 7/10)/2 / ((7/8 + 7/10)/2)",
    ),
    "complement": ByHand("complement(gini)@2", "Gini is 28/42.", "1 - 28/42"),
    "ratio": ByHand(
        "ratio@2",
        "Entropy over the number of recommended items.",
        "-(2 * 2/6 * ln(2/6) + 2 * 1/6 * ln(1/6)) / 4",
    ),
}
"""Examples of the lists of all users: a row for each item of the catalogue."""

OTHER_LISTS = {
    "duplicate_rate": ["casino", "alien", "casino", "dune", "alien"],
    "validity": ["casino", "alien", "dune", "brazil", "evita (1997)"],
}
"""The list of ann where a metric is about lists that the world does not have."""
_FUNCTIONS = {"log2": math.log2, "ln": math.log, "sqrt": math.sqrt, "abs": abs}


@dataclass(frozen=True)
class Example:
    """A worked example: the metric, its table, and its value by hand and by the code."""

    by_hand: ByHand
    about: str
    head: list[str]
    rows: list[list[str]]
    value: float

    @property
    def value_by_hand(self) -> float:
        """What the arithmetic comes to."""
        return float(eval(self.by_hand.arithmetic, {"__builtins__": {}}, _FUNCTIONS))  # noqa: S307 - text of this file

    def check(self) -> None:
        """Raise unless both values agree in four digits, which is what numbers in the tables have."""
        if not math.isclose(self.value, self.value_by_hand, rel_tol=2e-4, abs_tol=1e-9):
            raise ValueError(
                f"{self.by_hand.metric}: {self.by_hand.arithmetic} is not {self.value}"
            )


NAMES = (*ONE_LIST, *USERS, *ALL_LISTS)
"""The metrics that have a worked example."""


def example(name: str) -> Example:
    """Return the worked example of a metric."""
    kinds = (
        (ONE_LIST, "of the list of ann in", _ranks),
        (USERS, "of the users in", _users),
        (ALL_LISTS, "of all lists in", _items),
    )
    by_hand, about, table_of = next(
        (table[name], *others) for table, *others in kinds if name in table
    )
    metric = rw.parse(by_hand.metric.split("[bin=")[0].split("[user_group=")[0])
    lists = _lists(name, metric)
    truth: dict[str, Any] = world.truth
    if name in ONE_LIST:
        lists, truth = {"ann": OTHER_LISTS.get(name, lists["ann"])}, {"ann": truth["ann"]}
    values = _Values(lists, truth, name)
    made = Example(by_hand, about, *table_of(metric, values), values.of(metric)[by_hand.metric])
    made.check()
    return made


def _lists(name: str, metric: Metric) -> dict[str, Any]:
    """Return the lists of the world with the scores that a metric reads."""
    if "scores" not in Description(type(metric)).needs:
        return world.lists
    probable = type(metric).__module__.endswith("probability") or name == "classification"
    return world.probabilities if probable else world.ratings


@dataclass(frozen=True)
class _Values:
    """The lists and the ground truth of an example, evaluated with the other tables of the world."""

    lists: dict[str, Any]
    truth: dict[str, Any]
    name: str

    def of(self, metric: Metric) -> rw.Result:
        """Return the result of a metric."""
        tables = {
            "train": world.train,
            "items": world.items,
            "users": world.users,
            "reference": world.reference,
        }
        duplicates = {"duplicates": "first"} if self.name == "duplicate_rate" else {}
        return rw.evaluate(self.lists, self.truth, metric, **tables, **duplicates)


def _ranks(metric: Metric, values: _Values) -> tuple[list[str], list[list[str]]]:
    """Return a row for each rank of the list of ann, and for each relevant item that it misses."""
    ((listed, truth),) = zip(values.lists.values(), values.truth.values(), strict=True)
    needs = Description(type(metric)).needs
    columns = {"relevance": {item: f"{grade}" for item, grade in truth.items()}}
    if "scores" in needs:
        columns["score"] = {item: f"{score:g}" for item, score in listed.items()}
    columns |= _of_items(needs)
    if "reference" in needs:
        columns["rank in the reference"] = {
            item: f"{rank}" for rank, item in enumerate(world.reference["ann"], 1)
        }
    missed = [item for item, grade in truth.items() if grade > 0 and item not in listed]
    rows = [
        [rank, item, *(column.get(item, "–") for column in columns.values())]
        for rank, item in [
            *((f"{rank}", item) for rank, item in enumerate(listed, 1)),
            *(("–", item) for item in missed),
        ]
    ]
    head = ["rank", "item", *columns]
    if metric.k and "" in dict(values.of(metric).cells(metric, 0)):
        ranks = tuple(range(1, len(listed) + 1))
        result = values.of(metric @ ranks)
        head.append(f"{type(metric).name} at this rank")
        for rank, row in zip(ranks, rows, strict=False):
            row.append(number(result[str(metric @ rank)]))
        for row in rows[len(ranks) :]:
            row.append("")
    return head, rows


def _of_items(needs: list[str]) -> dict[str, dict[str, str]]:
    """Return what a metric needs to know of items: columns of the table by title."""
    columns: dict[str, dict[str, str]] = {}
    if "train" in needs:
        known = [item for training in world.train.values() for item in training]
        columns["training users"] = {item: f"{known.count(item)}" for item in world.items["item"]}
    for need, title in (
        ("items: categories", "categories"),
        ("items: group", "group"),
        ("items: features", "categories"),
    ):
        if need in needs:
            column = zip(world.items["item"], world.items[title], strict=True)
            columns[title] = {item: text.replace("|", ", ") for item, text in column}
    return columns


def _users(metric: Metric, values: _Values) -> tuple[list[str], list[list[str]]]:
    """Return a row for each user: items, relevant items, hits, and the per-user value that the metric is made of."""
    head, grouped = (
        ["user", "items of the list", "relevant items", "hits"],
        "users: group" in Description(type(metric)).needs,
    )
    if grouped:
        head.insert(1, "group")
    part = metric.parts[0] if metric.parts else metric
    per_user = values.of(part).per_user
    shown = part.has_user_values and type(metric).name != "micro"
    if shown:
        head.append(str(part))
    rows = []
    for user, group in zip(world.users["user"], world.users["group"], strict=True):
        relevant = {item for item, grade in values.truth[user].items() if grade > 0}
        listed = values.lists[user]
        row = [
            user,
            *([group] if grouped else []),
            *(f"{len(own)}" for own in (listed, relevant, relevant & {*listed})),
        ]
        if shown:
            row.append(number(per_user.filter(per_user["user"] == user)[str(part)][0]))
        rows.append(row)
    return head, rows


def _items(metric: Metric, values: _Values) -> tuple[list[str], list[list[str]]]:
    """Return a row for each item of the catalogue: its rank in each list, and whether it is relevant there."""
    k = metric.k[0] if metric.k else 5
    needs = Description(type(metric)).needs
    graded = metric.reads_truth and not metric.parts
    columns = _of_items(needs)
    head = ["item", *columns, *(f"rank for {user}" for user in values.lists), f"in the top {k}"]
    rows = []
    for item in world.items["item"]:
        ranks = {
            user: [*listed].index(item) + 1 if item in listed else None
            for user, listed in values.lists.items()
        }
        cells = []
        for user, rank in ranks.items():
            mark = " (relevant)" if graded and values.truth[user].get(item, 0) > 0 else ""
            cells.append(f"{rank or '–'}{mark}")
        shown = sum(rank is not None and rank <= k for rank in ranks.values())
        rows.append(
            [item, *(column.get(item, "–") for column in columns.values()), *cells, f"{shown}"]
        )
    return head, rows


def number(value: float | None) -> str:
    """Write a value in four digits, without zeros at the end."""
    return "–" if value is None or math.isnan(value) else f"{round(value, 4):g}"
