"""Candidate sets: the items that are ranked for each user, the same for every model.

By default all items with a score are ranked, except those in ``exclude=``. For another candidate
set, pass the value of one of these functions as ``candidates=`` to `rankwise.rank`,
`rankwise.rank_relevant` or `rankwise.evaluate_model`.
"""

from rankwise.candidates.candidate_sets import Candidates, of_truth, per_user, sampled, these

__all__ = ["Candidates", "of_truth", "per_user", "sampled", "these"]
