"""What evaluations count beside values, and the words for it.

A stage adds to a `collections.Counter` under a name of this module; results show the words of counts
that are not 0. `TOTALS` are counts of what is there in any case, which notes put in other words.
"""

from __future__ import annotations

TOTALS = frozenset(
    {
        "catalogue_items",
        "hits",
        "lists",
        "lists_ranked",
        "lists_with_items_outside_catalogue",
        "recommendations_compared_with_training",
        "recommended_items_outside_catalogue",
        "requests",
        "rows",
        "truth_rows",
        "truth_rows_also_in_training",
        "users",
    }
)
"""What is there in any case, and counts that other notes speak of."""
COUNT_WORDS = {
    "users_without_list": "without a list",
    "users_without_relevant_items": "without a relevant item",
    "truth_users_without_relevant_items": "users of the ground truth without a relevant item",
    "lists_without_relevant_items": "lists of users without a relevant item",
    "tied_rows": "rows with tied scores",
    "duplicates_dropped": "repeated rows dropped",
    "duplicates_kept": "repeated rows kept in their places, not counted",
    "truth_duplicates_dropped": "repeated truth rows dropped",
    "truth_rows_merged": "truth rows of a user and item that has a row of a larger grade",
    "same_merged": "rows of an item that has another row under another id",
    "alternatives_merged": "truth rows that stand for another item of the user",
    "alternatives_repeated": "recommended items whose evidence a list has already, not counted",
    "empty_lists": "lists without an item",
    "lists_with_rank_gaps": "lists with gaps in their ranks",
    "ranks_without_item": "ranks without an item, kept",
    "truth_rows_without_score": "truth rows without a score",
    "recommendations_outside_catalogue": "recommendations outside the catalogue",
    "recommendations_seen_in_training": "recommendations of items in the user's training "
    "interactions",
    "codes_unknown": "recommended codes of no item, kept in their places",
    "codes_truncated": "recommended codes cut short, kept in their places",
    "codes_shared": "recommended codes of several items, which tie",
    "codes_repeated": "recommended codes whose items a list has already, dropped",
    "titles_unknown": "recommended titles of no item, kept in their places",
    "titles_shared": "recommended titles of several items, which tie",
    "titles_repeated": "recommended titles whose items a list has already, dropped",
    "lists_whose_scores_rise": "lists whose scores rise where their ranks fall (ranks decided)",
    "padding": "padded places",
    "recommendations_of_cold_items": "recommendations of items never seen in training",
    "users_without_history": "without a history",
    "users_without_reference": "without a reference list",
    "reference_duplicates_dropped": "repeated reference rows dropped",
    "train_rows_repeated": "repeated training rows, counted once",
    "users_model_failed_for": "for whom the model failed",
    "users_with_nothing_to_rank": "with nothing left to rank",
    "users_with_too_few_items": "with fewer items than requested",
    "users_with_too_many_items": "with more items than requested, of which the first are evaluated",
    "items_repeated": "items repeated by the model, dropped",
    "seen_items_recommended": "recommended items seen in training",
    "unjudged_items_taken_out": "items not judged, removed from lists",
    "seen_items_taken_out": "items seen in training, removed from lists",
    "truth_rows_seen_in_training": "rows of the truth seen in training, which cannot be found",
    "items_unknown": "recommended items that are unknown",
    "users_without_scores": "users of the truth without scores",
    "lists_shorter_than_k": "lists shorter than requested: too few candidates",
    "truth_rows_that_are_no_candidates": "rows of the truth that are not candidates",
    "excluded_without_scores": "excluded rows without scores",
    "candidates_without_scores": "candidates without scores",
    "candidates_repeated": "repeated candidates, ranked once",
    "users_with_fewer_negatives": "with fewer negatives than requested",
    "users_repeated": "repeated users, counted once",
    "history_rows_of_unknown_ids": "training rows of unknown users or items, left out",
    "reference_rows_of_unknown_ids": "reference rows of unknown users or items, left out",
}
"""The words of each irregularity, after its number."""
SAID_WITH = {
    "truth_users_without_relevant_items": (("users_without_relevant_items",), ""),
    "lists_without_relevant_items": (("users_without_relevant_items",), ""),
    "users_with_too_few_items": (("users_with_nothing_to_rank",), ""),
}
"""Counts that are one fact if they are equal, and the words that the note of the first one gets."""
