"""Adapters for models of other libraries, and baselines: random, popularity, neighbours.

Each adapter has ``recommend(user_ids, n)``, which returns ``{user: [(item, score), …]}``, best
first, without users unknown to the model. Padding and masked items in the lists of a library are
removed. Libraries are imported on use.

Each baseline has ``fit(interactions)`` and ``recommend(users, n)``, which returns a table of user,
item, score and rank, without the items that are known of the user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import Count, TimeUnit, check_count, check_fields, check_number
from rankwise.core.arrays import checked_csr
from rankwise.core.hashing import combine_hashes, hash_of_column
from rankwise.errors import IdError, ParameterError, ScoreError
from rankwise.messages import parameter
from rankwise.tables.columns import Columns, check_columns, check_ids
from rankwise.tables.ids import align
from rankwise.tables.read import read_table
from rankwise.tables.table import Table
from rankwise.tables.times import Duration, Times, read_times

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Lists: TypeAlias = "dict[Any, list[tuple[Any, float]]]"
_Clock: TypeAlias = Callable[[Table], Times]


def _ids(role: str, ids: Iterable[Any] | None, size: int) -> list[Any]:
    """Return the ids of rows or columns, by default numbers; raise unless there are ``size``."""
    out = list(range(size)) if ids is None else list(ids)
    if len(out) != size:
        raise ParameterError(
            f"{role}_ids must have one id per {role} of the model",
            found=f"{len(out)} ids, {size} {role}s",
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

    implicit pads lists with item 0, with masked items or with −1, and its neighbour models return
    seen items with a score of 0: these items are removed.

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
        users = [user for user in user_ids if user in self._row]
        if not users:
            return {}
        rows = np.array([self._row[user] for user in users])
        user_items = self.user_items[rows]
        # implicit pads lists with item 0 beyond the catalogue, with the smallest float for a masked
        # item, and with -1 if neighbours run out; neighbour models give seen items the score 0.
        items, scores = self.model.recommend(
            rows,
            user_items,
            N=min(n, len(self._items)),
            filter_already_liked_items=self.filter_seen,
        )
        out: Lists = {}
        for row, user in enumerate(users):
            seen = set(user_items[row].indices.tolist()) if self.filter_seen else set()
            pairs = zip(items[row].tolist(), scores[row].tolist(), strict=True)
            out[user] = [
                (self._items[item], score)
                for item, score in pairs
                if item >= 0 and score > -3e38 and item not in seen
            ]
        return out


class LensKit:
    """Adapter for a trained pipeline of LensKit (2025).

    Its ALS folds users in from their history, so that scores are not the product of its factors.

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

    Users unknown to RecTools are counted as failures.

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


Scores: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
_USERS = 1024  # users per block of scores: bounds memory by that many rows of the catalogue
_UNUSED: Columns = {"relevance": None, "timestamp": None}  # columns that no baseline reads


def _clock_of(interactions: Any, table: Table) -> tuple[TimeUnit | None, str | None]:
    """Return the unit of numbers, or the format of dates, that a split was made by."""
    rows = getattr(interactions, "rows", None)
    times = getattr(rows, "time", None) if "timestamp" in table.frame.columns else None
    if not isinstance(times, Times):
        return None, None
    return (None, times.time_format) if times.is_date else (times.unit, None)


@dataclass
class Baseline:
    """Base class of the baselines: codes of users and items, and the ranking of scores."""

    _users: Table | None = field(default=None, init=False, repr=False)
    _items: pl.Series = field(default_factory=pl.Series, init=False, repr=False)
    _history: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def reads_times(self) -> bool:
        """Whether the times of interactions are read, where there are any."""
        return False

    def fit(
        self,
        interactions: Any,
        *,
        columns: Columns | None = None,
        time_unit: TimeUnit | None = None,
        time_format: str | None = None,
    ) -> Self:
        """Fit to training interactions.

        Parameters
        ----------
        interactions : table, path, mapping, sparse matrix or Split
            One row per interaction, as `rankwise.evaluate` takes ``train``; repeated rows count
            once. Of a `rankwise.splits.Split`, the training part is fitted to, and the items of
            all rows that are known before the test part are not recommended.
        columns : mapping of str to str, optional
            The column of each role, if its name is not recognised: ``{"user": "uid"}``.
        time_unit : {"s", "ms", "us", "ns"}, optional
            The unit of numeric timestamps, where the baseline reads times; by default that of the
            split, else recognised by their size.
        time_format : str, optional
            The format of dates that are text, such as ``"%d/%m/%Y"``; by default that of the split.

        Raises
        ------
        InputError
            If the interactions cannot be read, or there are none.
        """
        check_columns(columns, ["train"])
        unused = {name: None for name in _UNUSED if name != "timestamp" or not self.reads_times}
        table = read_table(interactions, "train", {**(columns or {}), **unused})
        trained = table.trained.frame
        self._items = trained["item"].unique().sort()
        self._users = table.with_frame(pl.DataFrame({"user": table.frame["user"].unique().sort()}))
        self._history = self._matrix(table.frame)
        self._fit(self._history if len(trained) == len(table.frame) else self._matrix(trained))
        if self.reads_times:
            if time_unit is None and time_format is None:
                time_unit, time_format = _clock_of(interactions, table)
            self._fit_in_time(table, partial(read_times, unit=time_unit, time_format=time_format))
        return self

    def _matrix(self, rows: pl.DataFrame) -> csr_array:
        """Return the binary user-item matrix of the rows with trained items."""
        from scipy.sparse import csr_array

        assert self._users is not None
        users = self._users.frame["user"]
        rows = rows.filter(pl.col("item").is_in(self._items.implode()))
        row = (
            rows["user"]
            .replace_strict(users, np.arange(len(users)), return_dtype=pl.Int64)
            .to_numpy()
        )
        column = rows["item"].replace_strict(
            self._items, np.arange(len(self._items)), return_dtype=pl.Int64
        )
        shape = (len(users), len(self._items))
        matrix: csr_array = csr_array((np.ones(len(row)), (row, column.to_numpy())), shape=shape)
        matrix.sum_duplicates()
        matrix.data[:] = 1.0
        return matrix

    def recommend(self, users: Iterable[Any], n: int = 10) -> pl.DataFrame:
        """Return up to n items per user, best first, ties in order of item id.

        A user's list does not depend on the other users of the call.

        Parameters
        ----------
        users : iterable of ids
            The users, with ids of the type that they have in training.
        n : int, default=10
            The length of the lists.

        Returns
        -------
        polars.DataFrame
            Columns ``user``, ``item``, ``score`` and ``rank``. A user without scored items gets no
            row.

        Raises
        ------
        IdError
            If the ids are of another type than in training.
        ParameterError
            If the baseline has not been fitted, or n is no whole number from 1.
        """
        if self._users is None:
            raise ParameterError(
                f"{type(self).__name__} has not been fitted",
                hint=f"{type(self).__name__}().fit(train).recommend(users)",
            )
        check_count(n=n)
        ids = self._ids(users)
        fitted = self._users.frame.with_row_index("code").with_columns(
            pl.col("user").cast(ids.dtype, strict=False)
        )
        codes = ids.to_frame().join(fitted, on="user", how="left", maintain_order="left")["code"]
        rows = codes.cast(pl.Int64).fill_null(-1).to_numpy()
        blocks = [
            self._top_items(ids[start : start + _USERS], rows[start : start + _USERS], n)
            for start in range(0, max(len(ids), 1), _USERS)
        ]
        return pl.concat(blocks)

    def _ids(self, users: Iterable[Any]) -> pl.Series:
        """Return the ids of users; raise if they are not of the type that they have in training."""
        assert self._users is not None
        if isinstance(users, str | bytes) or not isinstance(users, Iterable):
            raise ParameterError(
                "users is an iterable of ids",
                found=parameter("users", users),
                hint=f"[{users!r}]",
            )
        try:
            ids = pl.Series("user", list(users))
        except (TypeError, pl.exceptions.PolarsError) as error:
            raise IdError("ids are integers or strings, not both", where="users") from error
        if not len(ids):
            return ids.cast(self._users.frame["user"].dtype)
        table = Table(ids.to_frame(), "users", "users", "ids", {"user": "user"})
        table = table.with_ids("user", check_ids(ids, "user", table))
        return align([self._users, table], "user")[1].frame["user"]

    def _top_items(self, ids: pl.Series, codes: Any, n: int) -> pl.DataFrame:
        scores = self._scores(ids, codes)
        warm = np.flatnonzero(codes >= 0)
        rows, columns = self._history[codes[warm]].nonzero()
        scores[warm[rows], columns] = -np.inf
        top = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        best = np.take_along_axis(scores, top, axis=1)
        row, column = np.nonzero(np.isfinite(best))
        return pl.DataFrame(
            {
                "user": ids.gather(row),
                "item": self._items.gather(top[row, column]),
                "score": best[row, column],
                "rank": column + 1,
            }
        )

    def _fit(self, seen: csr_array) -> None:
        """Fit to the user-item matrix of training interactions, which holds 1 for each pair."""

    def _fit_in_time(self, table: Table, clock: _Clock) -> None:
        """Fit to the training interactions with their times."""

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        """Return scores of all items for these users (-1: cold-start user); -inf excludes items."""
        raise TypeError(f"{type(self).__name__} does not score items")


_Seed: TypeAlias = Annotated[int, lambda name, seed: check_count(least=0, **{name: seed})]


@dataclass
class Random(Baseline):
    """Items in random order: the lower bound for a useful model.

    A score is a hash of seed, user and item, so that it depends on these alone.

    Parameters
    ----------
    seed : int, default=0
        The seed of the random scores.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 2], "item": ["a", "b"]})
    >>> Random(seed=0).fit(table).recommend([1, 2])["item"].to_list()
    ['b', 'a']
    """

    seed: _Seed = 0

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        users, items = hash_of_column(ids), hash_of_column(self._items)
        pairs = combine_hashes(
            [np.repeat(users, len(items)), np.tile(items, len(users))], self.seed
        )
        return pairs.reshape(len(users), len(items)) / 2.0**63


def _check_window(name: str, value: Any) -> None:
    if value is not None:
        Duration.read(name, value)


@dataclass
class Popularity(Baseline):
    """Items by popularity: their number of training users.

    Parameters
    ----------
    last : str or timedelta, optional
        Count the users of the last period of training alone, such as ``"30d"``; items that are
        equally popular in it are ordered by all of training.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 2, 2], "item": ["a", "a", "b"]})
    >>> Popularity().fit(table).recommend([1, 3])["item"].to_list()
    ['b', 'a', 'b']
    >>> timed = table.with_columns(timestamp=pl.Series([10**9, 10**9, 10**9 + 10**7]))
    >>> Popularity(last="30d").fit(timed).recommend([3])["item"].to_list()
    ['b', 'a']
    """

    last: Annotated[Any, _check_window] = None

    @property
    def reads_times(self) -> bool:
        """Whether the times of interactions are read, where there are any."""
        return self.last is not None

    def _fit(self, seen: csr_array) -> None:
        self._popularity = np.asarray(seen.sum(axis=0)).ravel()

    def _fit_in_time(self, table: Table, clock: _Clock) -> None:
        trained = table.trained
        times = clock(trained)
        start = times.earlier(times.values.max(), Duration.read("last", self.last))
        recent = self._matrix(trained.frame.filter(pl.Series(times.values > start)))
        overall = self._popularity / (self._popularity.max() + 1)
        self._popularity = np.asarray(recent.sum(axis=0)).ravel() + overall

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        return np.tile(self._popularity, (len(codes), 1))


@dataclass
class Transitions(Baseline):
    """Items that followed the user's last item in other histories, then items by popularity.

    An item is scored by the number of times that it came next after the user's last item, in order
    of time, or of rows where interactions have no times. A baseline of one line that sequential
    models have to beat.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": ["a", "b", "a", "b", "a"]})
    >>> Transitions().fit(table).recommend([3])["item"].to_list()
    ['b']
    """

    @property
    def reads_times(self) -> bool:
        """Whether the times of interactions are read, where there are any."""
        return True

    def _fit(self, seen: csr_array) -> None:
        popularity = np.asarray(seen.sum(axis=0)).ravel()
        self._popularity = popularity / (popularity.max() + 1)

    def _fit_in_time(self, table: Table, clock: _Clock) -> None:
        from scipy.sparse import csr_array

        assert self._users is not None
        users, items = self._in_time(table.trained, clock)
        follows = users[1:] == users[:-1]
        pairs = (items[:-1][follows], items[1:][follows])
        shape = (len(self._items), len(self._items))
        self._next = csr_array((np.ones(int(follows.sum())), pairs), shape=shape)

        users, items = self._in_time(table, clock)
        self._last = np.full(len(self._users.frame), -1, dtype=np.int64)
        self._last[users] = items  # of each user the last row counts

    def _in_time(self, table: Table, clock: _Clock) -> tuple[Any, Any]:
        """Return the codes of users and items of each row, a user's rows together and in time."""
        assert self._users is not None
        rows = table.frame.filter(pl.col("item").is_in(self._items.implode()))
        order = pl.int_range(pl.len())
        if "timestamp" in table.frame.columns:
            ticks = clock(table.with_frame(rows)).values
            rows, order = rows.with_columns(_at=pl.Series(ticks)), pl.col("_at")
        rows = rows.sort("user", order, maintain_order=True)
        codes = (
            rows[name].replace_strict(ids, np.arange(len(ids)), return_dtype=pl.Int64).to_numpy()
            for name, ids in (("user", self._users.frame["user"]), ("item", self._items))
        )
        users, items = codes
        return users, items

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        scores: Scores = np.tile(self._popularity, (len(codes), 1))
        last = np.where(codes >= 0, self._last[codes], -1)
        known = np.flatnonzero(last >= 0)
        scores[known] += self._next[last[known]].toarray()
        return scores


def _check_shrink(name: str, value: float | None) -> None:
    check_number(name, value)
    if value is None or value < 0:
        raise ParameterError(f"{name} must be a number from 0", found=f"{name}={value!r}")


@dataclass
class ItemNeighbours(Baseline):
    """Items similar to the known items of the user, by the cosine between item columns.

    Parameters
    ----------
    neighbours : int, default=50
        Number of nearest neighbours per item.
    shrink : float, default=10.0
        Added to the denominator of the cosine, against random similarities of rare items.

    Examples
    --------
    >>> table = pl.DataFrame({"user": [1, 1, 2, 2, 3], "item": ["a", "b", "a", "c", "a"]})
    >>> ItemNeighbours().fit(table).recommend([3])["item"].to_list()
    ['b', 'c']
    """

    neighbours: Count = 50
    shrink: Annotated[float, _check_shrink] = 10.0

    def _fit(self, seen: csr_array) -> None:
        from scipy.sparse import csr_array

        co_occurrence = (seen.T @ seen).toarray()
        norms = np.sqrt(np.diagonal(co_occurrence))
        similarity = co_occurrence / (np.outer(norms, norms) + self.shrink)
        np.fill_diagonal(similarity, 0.0)
        if similarity.shape[0] > self.neighbours:
            least = np.partition(similarity, -self.neighbours, axis=0)[-self.neighbours]
            similarity[similarity < least] = 0.0
        self._similarity = csr_array(similarity)

    def _scores(self, ids: pl.Series, codes: Any) -> Scores:
        scores = np.full((len(codes), len(self._items)), -np.inf)
        warm = np.flatnonzero(codes >= 0)
        warm_scores = (self._history[codes[warm]] @ self._similarity).toarray()
        scores[warm] = np.where(warm_scores > 0, warm_scores, -np.inf)
        return scores
