"""Models of other libraries, asked in the way that each wants to be asked.

Each adapter has ``recommend(user_ids, n)``, which gives ``{user: [(item, score), …]}``, best first;
a user whom the model does not know is not in it. Padding and masked places that a library fills
lists up with are taken out. No library is imported before it is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rankwise.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Cornac", "Implicit", "LensKit", "LightFM", "RecTools", "Surprise"]

Lists: TypeAlias = "dict[Any, list[tuple[Any, float]]]"


def _numbered(role: str, ids: Iterable[Any] | None, size: int) -> list[Any]:
    out = list(range(size)) if ids is None else list(ids)
    if len(out) != size:
        raise ParameterError(f"{role}_ids has an id for every {role} of the model",
                             found=f"{len(out)} ids, {size} {role}s")  # fmt: skip
    return out


def _best(scores: Any, n: int, ids: Sequence[Any], seen: Any) -> list[tuple[Any, float]]:
    """Rank one user's scores of all items; equal scores in the order of the items."""
    own = np.array(scores, dtype=np.float64).ravel()[: len(ids)]  # a copy: some give their own
    if np.isnan(own).any():
        raise ValueError("a score is NaN")
    if seen is not None:
        own[seen] = -np.inf
    order = np.argsort(-own, kind="stable")[:n].tolist()
    return [(ids[at], float(own[at])) for at in order if own[at] > -np.inf]


class Implicit:
    """A model of implicit (0.7).

    Parameters
    ----------
    model : implicit.recommender_base.RecommenderBase
        A fitted model: factors or nearest neighbours.
    user_items : scipy.sparse matrix
        What it was fitted on, users by items.
    user_ids, item_ids : iterable, optional
        The ids of rows and columns; by default numbers from 0.
    filter_seen : bool
        Whether items of ``user_items`` are left out of a user's list.
    """

    def __init__(
        self,
        model: Any,
        user_items: Any,
        *,
        user_ids: Iterable[Any] | None = None,
        item_ids: Iterable[Any] | None = None,
        filter_seen: bool = True,
    ) -> None:
        from scipy.sparse import csr_matrix

        self.model = model
        self.user_items = csr_matrix(user_items)  # it takes no other kind
        users, items = self.user_items.shape
        self._row = {user: at for at, user in enumerate(_numbered("user", user_ids, users))}
        self._items = _numbered("item", item_ids, items)
        self.filter_seen = filter_seen

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model knows."""
        known = [user for user in user_ids if user in self._row]
        if not known:
            return {}
        rows = np.array([self._row[user] for user in known])
        own = self.user_items[rows]
        # It fills lists up with item 0 past the catalogue, with the smallest float where an item
        # is masked, with -1 where neighbours run out, and neighbours score what was seen 0.
        found, scores = self.model.recommend(
            rows,
            own,
            N=min(n, len(self._items)),
            filter_already_liked_items=self.filter_seen,
        )
        out: Lists = {}
        for at, user in enumerate(known):
            seen = set(own[at].indices.tolist()) if self.filter_seen else set()
            pairs = zip(found[at].tolist(), scores[at].tolist(), strict=True)
            out[user] = [
                (self._items[item], score)
                for item, score in pairs
                if item >= 0 and score > -3e38 and item not in seen
            ]
        return out


class LensKit:
    """A trained pipeline of LensKit (2025).

    Parameters
    ----------
    pipeline : lenskit.pipeline.Pipeline
        Trained, from ``topn_pipeline`` or made by hand.
    """

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the pipeline knows."""
        from lenskit import batch

        found = batch.recommend(self.pipeline, list(dict.fromkeys(user_ids)), n, n_jobs=1)
        out: Lists = {}
        for key, listed in found:
            if len(listed):
                scores = listed.scores().astype(float).tolist()
                out[key.user_id] = list(zip(listed.ids().tolist(), scores, strict=True))
        return out


class RecTools:
    """A model of RecTools (0.19).

    Parameters
    ----------
    model : rectools.models.base.ModelBase
        A fitted model.
    dataset : rectools.dataset.Dataset
        What it was fitted on.
    filter_seen : bool
        Whether items that a user has had are left out.
    """

    def __init__(self, model: Any, dataset: Any, *, filter_seen: bool = True) -> None:
        self.model, self.dataset, self.filter_seen = model, dataset, filter_seen

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model serves."""
        frame = self.model.recommend(
            users=list(dict.fromkeys(user_ids)),
            dataset=self.dataset,
            k=n,
            filter_viewed=self.filter_seen,
            on_unsupported_targets="ignore",
        )
        out: Lists = {}
        columns = ("user_id", "item_id", "score")
        for user, item, score in zip(*(frame[name].tolist() for name in columns), strict=True):
            out.setdefault(user, []).append((item, float(score)))
        return out


class Surprise:
    """An algorithm of Surprise (scikit-surprise 1.1).

    Every item of the training set is predicted and ranked: without clipping to the rating scale,
    which would make ties. A user whom it does not know, or for whom all predictions were
    impossible, has no list.

    Parameters
    ----------
    algorithm : surprise.AlgoBase
        A fitted algorithm.
    filter_seen : bool
        Whether rated items of the training set are left out.
    """

    def __init__(self, algorithm: Any, *, filter_seen: bool = True) -> None:
        self.algorithm, self.filter_seen = algorithm, filter_seen
        self.trainset = algorithm.trainset
        self._items = [self.trainset.to_raw_iid(at) for at in self.trainset.all_items()]

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with predicted ratings for every user that the algorithm knows."""
        out: Lists = {}
        for user in user_ids:
            try:
                inner = self.trainset.to_inner_uid(user)
            except ValueError:
                continue
            said = [self.algorithm.predict(user, item, clip=False) for item in self._items]
            scores = [
                -np.inf if one.details.get("was_impossible") else float(one.est) for one in said
            ]
            seen = [item for item, _ in self.trainset.ur[inner]] if self.filter_seen else None
            listed = _best(scores, n, self._items, seen)
            if listed:
                out[user] = listed
        return out


class Cornac:
    """A model of Cornac (2 and 3).

    Parameters
    ----------
    model : cornac.models.Recommender
        A fitted model.
    train_set : cornac.data.Dataset, optional
        What it was fitted on: its items are left out of a user's list. Without it none is.
    """

    def __init__(self, model: Any, train_set: Any = None) -> None:
        self.model, self.train_set = model, train_set
        # Its own lists of ids are those of the first fit; ids beyond its items were never trained.
        self._items = list(model.iid_map)[: model.num_items]

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model knows."""
        out: Lists = {}
        for user in user_ids:
            row = self.model.uid_map.get(user, self.model.num_users)
            if row >= self.model.num_users:
                continue
            seen = None if self.train_set is None else self.train_set.csr_matrix[row].indices
            out[user] = _best(self.model.score(row), n, self._items, seen)
        return out


class LightFM:
    """A model of LightFM (1.17, or one of its forks).

    Parameters
    ----------
    model : lightfm.LightFM
        A fitted model.
    user_ids, item_ids : iterable or int
        The ids of rows and columns in order (as ``Dataset.mapping()`` has them), or how many.
    seen : scipy.sparse matrix, optional
        Users by items: what is left out of a user's list, as a rule the interactions it was
        fitted on.
    user_features, item_features : scipy.sparse matrix, optional
        Those that it was fitted with: without them it gives other scores, and does not say so.
    """

    def __init__(
        self,
        model: Any,
        user_ids: Iterable[Any] | int,
        item_ids: Iterable[Any] | int,
        *,
        seen: Any = None,
        user_features: Any = None,
        item_features: Any = None,
    ) -> None:
        self.model = model
        users = range(user_ids) if isinstance(user_ids, int) else user_ids
        self._row = {user: at for at, user in enumerate(users)}
        self._items = list(range(item_ids) if isinstance(item_ids, int) else item_ids)
        self._seen = None if seen is None else seen.tocsr()
        self._features = {"user_features": user_features, "item_features": item_features}

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model knows."""
        out: Lists = {}
        items = np.arange(len(self._items))
        for user in user_ids:
            if user not in self._row:
                continue
            row = self._row[user]
            scores = self.model.predict(row, items, **self._features)
            seen = None if self._seen is None else self._seen[row].nonzero()[-1]
            out[user] = _best(scores, n, self._items, seen)
        return out
