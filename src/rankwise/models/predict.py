"""Scores from ``model.predict``, in batches of users, with failures recorded per user."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from rankwise.errors import EmptyError, InputError
from rankwise.models.recommend import FAILURES, log_failure, reason

__all__ = ["Predictions"]

Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Predictions:
    """Predicted scores of ``model.predict(users)``; minus infinity for users for whom it fails.

    ``width`` is the number of items; 0 for the number of scores of the first user for whom the
    model does not fail. ``failed`` maps the users for whom the model failed to the reason.
    """

    def __init__(self, model: Any, users: Sequence[Any], width: int) -> None:
        self._model, self._users, self.width = model, users, width
        self.failed: dict[Any, str] = {}
        self._width_source = ""
        if not width:
            for user in users:
                self.width = len(self._scores_of_one(user))
                if self.width:
                    self._width_source = f", as for user {user!r}"
                    break
        if not self.width:
            raise self.no_scores()

    def no_scores(self) -> EmptyError:
        """Return the error for a model that fails for all users."""
        return EmptyError(
            "the model predicted no valid scores for any user", found=next(iter(self.failed.values()), None)
        )

    def scores(self, codes: Any) -> Scores:
        """Return the scores of the users with these codes, one row per user."""
        users = [self._users[code] for code in codes]
        try:
            return self._predict(users)
        except FAILURES:  # find out for which user
            return np.stack([self._scores_of_one(user) for user in users])

    def _scores_of_one(self, user: Any) -> Scores:
        """Return the scores of one user; after a failure, record it and return minus infinity."""
        try:
            return np.asarray(self._predict([user])[0])
        except FAILURES as error:
            if user not in self.failed:
                self.failed[user] = reason(error)
                log_failure(len(self.failed), user, self.failed[user])
            return np.full(self.width, -np.inf)

    def _predict(self, users: list[Any]) -> Scores:
        """Return the model's scores of these users; raise if shape or values are not valid."""
        output = self._model.predict(users)
        if np.iscomplexobj(output) or np.ma.isMaskedArray(output):
            raise InputError(
                "predicted scores must be real numbers, without a mask",
                found=f"a {type(output).__name__} of {output.dtype}",
            )
        scores: Scores = np.asarray(output, dtype=np.float64)
        n_items = self.width or "some"
        has_width = scores.ndim == 2 and (not self.width or scores.shape[1] == self.width)
        if not has_width or len(scores) != len(users):
            raise InputError(
                "predict must return one row per user and one column per item",
                found=f"shape {scores.shape} for {len(users)} users and {n_items} items" + self._width_source,
            )
        if np.isnan(scores).any() or (scores == np.inf).any():
            raise InputError("a predicted score is NaN or infinite")
        for user in users:  # the model may have failed for them in an earlier call
            self.failed.pop(user, None)
        return scores
