"""One user at a time, in plain Python: the readable definitions, and the oracle of the tests.

Each function is its definition and nothing else: no arrays, no speed. The contested choices are
keyword parameters under the same names as on the measures.
"""

from rankwise.functional.catalogue import (
    catalog_coverage,
    gini_coefficient,
    item_counts_at_k,
    mean_average_precision_at_k,
    mean_ndcg_at_k,
    shannon_entropy,
)
from rankwise.functional.diversity import intra_list_diversity
from rankwise.functional.labels import (
    average_precision_score,
    dcg_score,
    hit_rate_score,
    ndcg_score,
    precision_score,
    recall_score,
    reciprocal_rank_score,
)
from rankwise.functional.lists import (
    average_precision_at_k,
    average_recall_at_k,
    cg_at_k,
    confusion_at_k,
    dcg_at_k,
    err_at_k,
    f1_at_k,
    hit_rate_at_k,
    ndcg_at_k,
    precision_at_k,
    r_precision,
    rbp,
    recall_at_k,
    reciprocal_rank_at_k,
)
from rankwise.functional.ratings import (
    explained_variance,
    fraction_of_concordant_pairs,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    r2,
    root_mean_squared_error,
)

__all__ = [
    "average_precision_at_k",
    "average_precision_score",
    "average_recall_at_k",
    "catalog_coverage",
    "cg_at_k",
    "confusion_at_k",
    "dcg_at_k",
    "dcg_score",
    "err_at_k",
    "explained_variance",
    "f1_at_k",
    "fraction_of_concordant_pairs",
    "gini_coefficient",
    "hit_rate_at_k",
    "hit_rate_score",
    "intra_list_diversity",
    "item_counts_at_k",
    "log_loss",
    "mean_absolute_error",
    "mean_average_precision_at_k",
    "mean_ndcg_at_k",
    "mean_squared_error",
    "ndcg_at_k",
    "ndcg_score",
    "precision_at_k",
    "precision_score",
    "r2",
    "r_precision",
    "rbp",
    "recall_at_k",
    "recall_score",
    "reciprocal_rank_at_k",
    "reciprocal_rank_score",
    "root_mean_squared_error",
    "shannon_entropy",
]
