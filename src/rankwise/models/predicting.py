"""Scores of a model that predicts them, some users at a time, whatever it does for some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise.errors import EmptyError, InputError
from rankwise.models.asking import log_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Predictions"]

Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Predictions:
    """What ``model.predict(users)`` says; users for whom it fails have minus infinity everywhere.

    Parameters
    ----------
    model : object
        ``predict(users)`` gives a row a user and a column an item.
    users : sequence
        The ids of all users.
    width : int
        How many items there are; 0: as many as the first user gets scores.

    Attributes
    ----------
    lost : dict
        The users for whom it failed, and why.
    """

    def __init__(self, model: Any, users: Sequence[Any], width: int) -> None:
        self._model, self._users, self.width = model, users, width
        self.lost: dict[Any, str] = {}
        self._whose = ""
        if not width:  # whoever is served first says how many items there are
            for user in users:
                self.width = len(self._alone(user))
                if self.width:
                    self._whose = f", as for user {user!r}"
                    break
        if not self.width:
            raise EmptyError(
                "the model predicted nothing for anybody",
                found=next(iter(self.lost.values()), None),
            )

    def of(self, rows: Any) -> Scores:
        """Return the scores of some users, given by number."""
        users = [self._users[row] for row in rows]
        try:
            return self._checked(users)
        except Exception:  # noqa: BLE001 - find out for whom
            return np.stack([self._alone(user) for user in users])

    def _alone(self, user: Any) -> Scores:
        try:
            return np.asarray(self._checked([user])[0])
        except Exception as error:  # noqa: BLE001 - whatever a model does, the run goes on
            if user not in self.lost:
                self.lost[user] = f"{type(error).__name__}: {error}".replace("\n", " ")
                log_failure(len(self.lost), user, self.lost[user])
            return np.full(self.width, -np.inf)

    def _checked(self, users: list[Any]) -> Scores:
        found: Scores = np.asarray(self._model.predict(users), dtype=np.float64)
        wide = found.ndim == 2 and (not self.width or found.shape[1] == self.width)
        if not wide or len(found) != len(users):
            raise InputError(
                "predict gives a row a user and a column an item",
                found=f"shape {found.shape} for {len(users)} users and {self.width or 'some'} items"
                + self._whose,
            )
        if np.isnan(found).any() or (found == np.inf).any():
            raise InputError("a predicted score is NaN or infinite")
        for user in users:  # it may have failed for them when it was asked before
            self.lost.pop(user, None)
        return found
