"""Adapters for models of other libraries.

Each adapter has ``recommend(user_ids, n)``, which returns ``{user: [(item, score), …]}``, best
first, without users unknown to the model. Padding and masked items in the lists of a library are
removed. Libraries are imported on use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from rankwise.core.sparse import checked_csr
from rankwise.errors import ParameterError, ScoreError

__all__ = ["Cornac", "Implicit", "LensKit", "LightFM", "RecTools", "Surprise"]

Lists: TypeAlias = "dict[Any, list[tuple[Any, float]]]"


def _ids(role: str, ids: Iterable[Any] | None, size: int) -> list[Any]:
    """Return the ids of rows or columns, by default numbers; raise unless there are ``size``."""
    out = list(range(size)) if ids is None else list(ids)
    if len(out) != size:
        raise ParameterError(
            f"{role}_ids must have one id per {role} of the model", found=f"{len(out)} ids, {size} {role}s"
        )
    return out


def _top_items(scores: Any, n: int, ids: Sequence[Any], seen: Any) -> list[tuple[Any, float]]:
    """Return one user's top n unseen items with their scores; ties in order of the items."""
    values = np.array(scores, dtype=np.float64).ravel()[: len(ids)]  # a copy, which may be masked
    if np.isnan(values).any():
        raise ScoreError("a score is NaN")
    if seen is not None:
        values[seen] = -np.inf
    order = np.argsort(-values, kind="stable")[:n].tolist()
    return [(ids[i], float(values[i])) for i in order if values[i] > -np.inf]


class Implicit:
    """Adapter for a model of implicit (0.7).

    Parameters
    ----------
    model : implicit.recommender_base.RecommenderBase
        A fitted model: factors or nearest neighbours.
    user_items : scipy.sparse matrix
        The training interactions, users by items.
    user_ids, item_ids : iterable, optional
        The ids of rows and columns; by default numbers from 0.
    filter_seen : bool, default=True
        Exclude a user's training items from the list.
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
        sparse = user_items if hasattr(user_items, "tocsr") else csr_matrix(user_items)
        # csr_matrix is the only format that implicit accepts.
        self.user_items = csr_matrix(checked_csr(sparse, "user_items"))
        n_users, n_items = self.user_items.shape
        self._row = {user: row for row, user in enumerate(_ids("user", user_ids, n_users))}
        self._items = _ids("item", item_ids, n_items)
        self.filter_seen = filter_seen

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model knows."""
        known = [user for user in user_ids if user in self._row]
        if not known:
            return {}
        rows = np.array([self._row[user] for user in known])
        user_items = self.user_items[rows]
        # implicit pads lists with item 0 beyond the catalogue, with the smallest float for a masked
        # item, and with -1 if neighbours run out; neighbour models give seen items the score 0.
        items, scores = self.model.recommend(
            rows, user_items, N=min(n, len(self._items)), filter_already_liked_items=self.filter_seen
        )
        out: Lists = {}
        for row, user in enumerate(known):
            seen = set(user_items[row].indices.tolist()) if self.filter_seen else set()
            pairs = zip(items[row].tolist(), scores[row].tolist(), strict=True)
            out[user] = [
                (self._items[item], score) for item, score in pairs if item >= 0 and score > -3e38 and item not in seen
            ]
        return out


class LensKit:
    """Adapter for a trained pipeline of LensKit (2025).

    Parameters
    ----------
    pipeline : lenskit.pipeline.Pipeline
        A trained pipeline, from ``topn_pipeline`` or custom.
    """

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the pipeline knows."""
        from lenskit import batch

        lists = batch.recommend(self.pipeline, list(dict.fromkeys(user_ids)), n, n_jobs=1)
        out: Lists = {}
        for key, items in lists:
            if len(items):
                scores = items.scores().astype(float).tolist()
                out[key.user_id] = list(zip(items.ids().tolist(), scores, strict=True))
        return out


class RecTools:
    """Adapter for a model of RecTools (0.19).

    Parameters
    ----------
    model : rectools.models.base.ModelBase
        A fitted model.
    dataset : rectools.dataset.Dataset
        The training dataset.
    filter_seen : bool, default=True
        Exclude a user's training items from the list.
    """

    def __init__(self, model: Any, dataset: Any, *, filter_seen: bool = True) -> None:
        self.model, self.dataset, self.filter_seen = model, dataset, filter_seen

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model supports."""
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
    """Adapter for an algorithm of Surprise (scikit-surprise 1.1).

    All items of the training set are ranked by predicted rating. Predictions are not clipped to the
    rating scale, because this would cause ties. Unknown users, and users for whom all predictions
    are impossible, get no list.

    Parameters
    ----------
    algorithm : surprise.AlgoBase
        A fitted algorithm.
    filter_seen : bool, default=True
        Exclude a user's rated training items from the list.
    """

    def __init__(self, algorithm: Any, *, filter_seen: bool = True) -> None:
        self.algorithm, self.filter_seen = algorithm, filter_seen
        self.trainset = algorithm.trainset
        self._items = [self.trainset.to_raw_iid(inner) for inner in self.trainset.all_items()]

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with predicted ratings for every user that the algorithm knows."""
        out: Lists = {}
        for user in user_ids:
            try:
                inner = self.trainset.to_inner_uid(user)
            except ValueError:
                continue
            predictions = [self.algorithm.predict(user, item, clip=False) for item in self._items]
            scores = [
                -np.inf if prediction.details.get("was_impossible") else float(prediction.est)
                for prediction in predictions
            ]
            seen = [item for item, _ in self.trainset.ur[inner]] if self.filter_seen else None
            items = _top_items(scores, n, self._items, seen)
            if items:
                out[user] = items
        return out


class Cornac:
    """Adapter for a model of Cornac (2 and 3).

    Parameters
    ----------
    model : cornac.models.Recommender
        A fitted model.
    train_set : cornac.data.Dataset, optional
        The training set, whose items are excluded from the list of their user. By default no item
        is excluded.
    """

    def __init__(self, model: Any, train_set: Any = None) -> None:
        self.model, self.train_set = model, train_set
        # The model's lists of ids are those of its first fit; ids from num_items up are untrained.
        self._items = list(model.iid_map)[: model.num_items]

    def recommend(self, user_ids: Sequence[Any], n: int) -> Lists:
        """Return up to n items with their scores for every user that the model knows."""
        out: Lists = {}
        for user in user_ids:
            row = self.model.uid_map.get(user, self.model.num_users)
            if row >= self.model.num_users:
                continue
            seen = None if self.train_set is None else self.train_set.csr_matrix[row].indices
            out[user] = _top_items(self.model.score(row), n, self._items, seen)
        return out


class LightFM:
    """Adapter for a model of LightFM (1.17, or one of its forks).

    Parameters
    ----------
    model : lightfm.LightFM
        A fitted model.
    user_ids, item_ids : iterable or int
        The ids of rows and columns in the order of ``Dataset.mapping()``, or their number.
    seen : scipy.sparse matrix, optional
        Users by items: the items to exclude from each user's list, usually the training
        interactions. By default no item is excluded.
    user_features, item_features : scipy.sparse matrix, optional
        The feature matrices of training: without them LightFM silently returns other scores.
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
        self._row = {user: row for row, user in enumerate(users)}
        self._items = list(range(item_ids) if isinstance(item_ids, int) else item_ids)
        self._seen = None if seen is None else checked_csr(seen, "seen")
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
            out[user] = _top_items(scores, n, self._items, seen)
        return out
