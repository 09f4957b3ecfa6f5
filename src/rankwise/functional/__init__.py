"""Plain-Python definitions of every metric, one user at a time: to read, and to test against.

Each function is its definition and nothing else, without arrays or optimisation. The conventions
on which libraries disagree are keyword parameters with the names, values and defaults of the
measures. Common parameters:

- ``recommended`` is a recommendation list: distinct items, best first.
- ``relevant`` is the set of the user's relevant items, ``relevance_scores`` a dict of item to
  relevance, in which items above 0 are relevant.
- ``k`` is the cut-off; None is the whole list.
- ``recommendations`` is a dict of user to recommendation list, for metrics over all users.
- ``popularity`` is a dict of item to its number of training users, ``categories`` a dict of item to
  its set of categories, ``groups`` a dict of item (or user) to the name of its group.

``precision_at_k``, ``recall_at_k``, ``f1_at_k`` and ``ndcg_at_k`` are 0 for a user without relevant
items. Unless a function says otherwise, other metrics that compare a list with the ground truth are NaN for a
user without relevant items, and metrics that describe a list are NaN for an empty list.
"""

from rankwise.functional import (
    accuracy,
    average_precision,
    catalogue,
    confusion,
    diversity,
    exposure,
    first_hits,
    graded,
    groups,
    judged,
    labels,
    novelty,
    over_users,
    pairs,
    popularity,
    rated_lists,
    rating,
    recommended_lists,
    recommender_evaluator,
    topics,
    transformed,
)
from rankwise.functional.accuracy import *
from rankwise.functional.average_precision import *
from rankwise.functional.catalogue import *
from rankwise.functional.confusion import *
from rankwise.functional.diversity import *
from rankwise.functional.exposure import *
from rankwise.functional.first_hits import *
from rankwise.functional.graded import *
from rankwise.functional.groups import *
from rankwise.functional.judged import *
from rankwise.functional.labels import *
from rankwise.functional.novelty import *
from rankwise.functional.over_users import *
from rankwise.functional.pairs import *
from rankwise.functional.popularity import *
from rankwise.functional.rated_lists import *
from rankwise.functional.rating import *
from rankwise.functional.recommended_lists import *
from rankwise.functional.recommender_evaluator import *
from rankwise.functional.topics import *
from rankwise.functional.transformed import *

_MODULES = (
    accuracy,
    average_precision,
    catalogue,
    confusion,
    diversity,
    exposure,
    first_hits,
    graded,
    groups,
    judged,
    labels,
    novelty,
    over_users,
    pairs,
    popularity,
    rated_lists,
    rating,
    recommended_lists,
    recommender_evaluator,
    topics,
    transformed,
)
__all__ = sorted(name for module in _MODULES for name in module.__all__)
