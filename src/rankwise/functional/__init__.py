"""Plain-Python definitions of every metric, one user at a time: to read, and to test against.

Each function is its definition and nothing else, without arrays or optimisation. The conventions on
which libraries disagree are keyword parameters with the names, values and defaults of the metrics.
Common parameters:

- ``recommended`` is a recommendation list: distinct items, best first.
- ``relevant`` is the set of the user's relevant items, ``relevance_scores`` a dict of item to
  relevance, in which items above 0 are relevant.
- ``k`` is the cut-off; None is the whole list.
- ``recommendations`` is a dict of user to recommendation list, for metrics over all users.
- ``popularity`` is a dict of item to its number of training users, ``categories`` a dict of item to
  its set of categories, ``groups`` a dict of item (or user) to the name of its group.

``precision_at_k``, ``recall_at_k``, ``f1_at_k`` and ``ndcg_at_k`` are 0 for a user without relevant
items. Unless a function says otherwise, other metrics that compare a list with the ground truth are
NaN for a user without relevant items, and metrics that describe a list are NaN for an empty list.

Some functions that courses and notebooks know by name (``hit_rate_at_k``, ``reciprocal_rank_at_k``,
``average_precision_at_k``, ``dcg_at_k``) are 0 for such users; ``hit_rate``, ``reciprocal_rank``,
``average_precision`` and ``dcg`` are the definitions of the metrics, and NaN.
"""

from rankwise.functional import (
    accuracy,
    by_name,
    groups,
    labels,
    lists,
    popularity,
    probability,
    retrieval,
)
from rankwise.functional.accuracy import *
from rankwise.functional.by_name import *
from rankwise.functional.groups import *
from rankwise.functional.labels import *
from rankwise.functional.lists import *
from rankwise.functional.popularity import *
from rankwise.functional.probability import *
from rankwise.functional.retrieval import *

_MODULES = (accuracy, by_name, groups, labels, lists, popularity, probability, retrieval)
__all__ = sorted(name for module in _MODULES for name in module.__all__)
