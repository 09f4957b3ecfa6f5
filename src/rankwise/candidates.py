"""Candidate sets: the items ranked for each user, and sampled negatives shared by all models.

By default all items with a score are ranked, except those in ``exclude=``. For another candidate
set, pass the value of one of these functions as ``candidates=`` to `rankwise.rank`,
`rankwise.rank_relevant` or `rankwise.evaluate_model`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from rankwise.core.arguments import check_choice, check_number, check_positive
from rankwise.core.ragged import Ints, counting_sort, offsets, ragged_rows
from rankwise.core.vocabularies import whole_numbers
from rankwise.errors import EmptyError, ParameterError
from rankwise.messages import parameter
from rankwise.tables.columns import Columns, check_columns
from rankwise.tables.ids import align
from rankwise.tables.read import SPARSE, read_table
from rankwise.tables.table import Protocol, Table, TableRole

__all__ = ["Candidates", "of_truth", "per_user", "sampled", "these"]

_CELLS = 1 << 23  # size of the blocks of users times items for drawing from a dense matrix
_ROUNDS = 20  # of rejection sampling, before the rest is drawn from a dense matrix
_SPARSE = 4  # rejection sampling needs at least this many times n eligible items


def _draw(
    tables: Sequence[Table], n: int, protocol: Protocol
) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int]]:
    """Return the positives and n negatives per user, numbers of eligible items, and counts.

    Users without a relevant item are left out. Negatives are unknown to the user, and drawn as the
    protocol says.
    """
    truth, train, history, catalogue = _aligned(tables)
    relevant = truth.relevant(protocol.relevance_threshold)
    if relevant.is_empty():
        raise EmptyError("no item is relevant", where="truth", hint="lower the threshold")
    users = relevant["user"].unique().sort()
    interactions = [truth.frame.select("user", "item"), *([] if history is None else [history])]
    excluded = pl.concat(interactions).unique()
    user_codes = pl.DataFrame({"user": users, "u": np.arange(len(users))})
    item_codes = pl.DataFrame({"item": catalogue, "i": np.arange(len(catalogue))})
    excluded = excluded.join(user_codes, on="user").join(item_codes, on="item").sort("u", "i")
    starts, _ = counting_sort(excluded["u"].to_numpy(), len(users))
    weights = None
    if protocol.by == "popularity":
        assert train is not None
        popularity = train.unique().group_by("item").len()
        counts = item_codes.join(popularity, on="item", how="left", maintain_order="left")["len"]
        weights = counts.fill_null(0).to_numpy().astype(np.float64) ** protocol.power
    sampler = _Sampler(excluded["i"].to_numpy(), starts, len(catalogue), weights)
    user, item = sampler.draw(
        n, np.random.default_rng(protocol.seed), replacement=protocol.replacement
    )
    negatives = pl.DataFrame({"user": users.gather(user), "item": catalogue.gather(item)})
    positives = relevant.select("user", "item").unique()
    frame = pl.concat([positives, negatives]).sort("user", "item")
    fewer = int((np.bincount(user, minlength=len(users)) < n).sum())
    eligible = pl.DataFrame({"user": users, "eligible": sampler.eligible})
    return frame, eligible, {"users_with_fewer_negatives": fewer}


def _aligned(
    tables: Sequence[Table],
) -> tuple[Table, pl.DataFrame | None, pl.DataFrame | None, pl.Series]:
    """Return truth, training and known interactions, and the sorted catalogue, with ids aligned."""
    for role in ("user", "item"):
        tables = align([*tables], role)
    by_role = {table.role: table for table in tables}
    trained = {role: table.trained.frame for role, table in by_role.items()}
    items = [by_role["items"].frame] if "items" in by_role else list(trained.values())
    ids = [frame["item"] for frame in items]

    truth = by_role["truth"]
    types = {"user": _id_type(truth.frame["user"]), "item": _id_type(ids[0])}
    for table in by_role.values():
        for role in types.keys() & {*table.frame.columns}:
            if table.frame[role].dtype != pl.String:
                whole_numbers(table.frame[role])  # raises if an id does not fit 64 bits

    def with_types(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select("user", "item").cast(types)  # type: ignore[arg-type]

    has_train = "train" in by_role
    return (
        truth.with_frame(truth.frame.cast(types)),  # type: ignore[arg-type]
        with_types(trained["train"]) if has_train else None,
        with_types(by_role["train"].frame) if has_train else None,
        pl.concat([column.cast(types["item"]) for column in ids]).unique().sort(),
    )


def _id_type(ids: pl.Series) -> type[pl.String | pl.Int64]:
    return pl.String if ids.dtype == pl.String else pl.Int64


@dataclass(frozen=True)
class _Sampler:
    """Each user's excluded items, which are not drawn, and the weights of items (None: uniform)."""

    excluded: Ints
    starts: Ints
    n_items: int
    weights: np.ndarray[tuple[int], np.dtype[np.float64]] | None

    @property
    def eligible(self) -> Ints:
        """The number of items that can be drawn for each user."""
        if self.weights is None:
            return np.asarray(self.n_items - np.diff(self.starts))
        ends = offsets(self.weights[self.excluded] > 0)[self.starts]
        return int((self.weights > 0).sum()) - np.diff(ends)

    def draw(self, n: int, rng: np.random.Generator, *, replacement: bool) -> tuple[Ints, Ints]:
        """Draw up to n items per user: by rejection if many are eligible, else from dense rows."""
        eligible = self.eligible
        few = eligible < _SPARSE * n
        dense = np.flatnonzero(few & (eligible > 0))
        draws = [
            self._by_rejection(np.flatnonzero(~few), n, rng, replacement=replacement),
            self._from_dense(dense, np.full(len(dense), n), rng, replacement=replacement),
        ]
        user, item = (np.concatenate(columns) for columns in zip(*draws, strict=True))
        order = np.argsort(user, kind="stable")
        return user[order], item[order]

    def _by_rejection(
        self, users: Ints, n: int, rng: np.random.Generator, *, replacement: bool
    ) -> tuple[Ints, Ints]:
        """Draw n items per user in rounds: reject excluded items, and keep the first n of the rest.

        Rejecting repeated items is exactly drawing without replacement, also for unequal weights.
        """
        width = self.n_items
        keys = (
            np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts)) * width + self.excluded
        )
        cumulative = None if self.weights is None else np.cumsum(self.weights)
        kept, done = np.empty(0, dtype=np.int64), [np.empty(0, dtype=np.int64)]
        missing = np.full(len(users), n)
        for _ in range(_ROUNDS):
            if not missing.any():
                break
            owner = np.repeat(np.arange(len(users)), missing)
            if cumulative is None:
                item = rng.integers(0, width, len(owner))
            else:
                points = rng.random(len(owner)) * cumulative[-1]
                item = np.searchsorted(cumulative, points, side="right")
            allowed = ~_is_in_sorted(users[owner] * width + item, keys)
            kept = np.concatenate([kept, (owner * width + item)[allowed]])
            if not replacement:
                _, first = np.unique(kept, return_index=True)
                kept = kept[np.sort(first)]
            counts = np.bincount(kept // width, minlength=len(users))
            missing = np.where(missing > 0, n - counts, 0)
            complete = missing[kept // width] == 0
            done.append(kept[complete])
            kept = kept[~complete]
        drawn = np.concatenate([*done, kept])
        user, item = users[drawn // width], drawn % width
        if missing.any():  # the eligible items have small weights: too many rejections
            rest = np.flatnonzero(missing)
            more = self._from_dense(
                users[rest], missing[rest], rng, drawn=(user, item), replacement=replacement
            )
            user, item = (np.concatenate(pair) for pair in zip((user, item), more, strict=True))
        return user, item

    def _from_dense(
        self,
        users: Ints,
        n: Ints,
        rng: np.random.Generator,
        *,
        drawn: tuple[Ints, Ints] | None = None,
        replacement: bool,
    ) -> tuple[Ints, Ints]:
        step = max(1, _CELLS // self.n_items)
        out_user, out_item = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for first in range(0, len(users), step):
            block, sizes = users[first : first + step], n[first : first + step]
            weights = self._dense_weights(block, None if replacement else drawn)
            if replacement:
                for user, size, row in zip(block, sizes, weights, strict=True):
                    out_user.append(np.repeat(user, size))
                    out_item.append(rng.choice(self.n_items, size, p=row / row.sum()))
                continue
            # Exponential arrival times with the weights as rates: the first n items to arrive.
            with np.errstate(divide="ignore"):
                time = rng.exponential(size=weights.shape) / weights
            order = np.argsort(time, axis=1)[:, : sizes.max()]
            kept = np.take_along_axis(time, order, axis=1) < np.inf
            kept &= np.arange(order.shape[1]) < sizes[:, None]
            rows, columns = np.nonzero(kept)
            out_user.append(block[rows])
            out_item.append(order[rows, columns])
        return np.concatenate(out_user), np.concatenate(out_item)

    def _dense_weights(self, users: Ints, drawn: tuple[Ints, Ints] | None) -> np.ndarray[Any, Any]:
        """Return the weight of every item for these users; 0 for known and drawn items."""
        row = np.ones(self.n_items) if self.weights is None else self.weights
        weights = np.tile(row, (len(users), 1))
        lengths = np.diff(self.starts)[users]
        rows = ragged_rows(self.starts[users], lengths)
        weights[np.repeat(np.arange(len(users)), lengths), self.excluded[rows]] = 0.0
        if drawn is not None:
            user, item = drawn
            positions = np.full(len(self.starts) - 1, -1)
            positions[users] = np.arange(len(users))
            kept = positions[user] >= 0
            weights[positions[user[kept]], item[kept]] = 0.0
        return weights


def _is_in_sorted(values: Ints, ordered: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if not len(ordered):
        return np.zeros(len(values), dtype=bool)
    nearest = np.searchsorted(ordered, values).clip(max=len(ordered) - 1)
    return np.asarray(ordered[nearest] == values)


_MOST = 1_000_000  # negatives per user that are drawn with replacement


@dataclass(frozen=True, repr=False)
class Candidates:
    """Items to be ranked: one candidate set for all users, or one per user.

    Attributes
    ----------
    frame : polars.DataFrame
        Column ``item``, and a column ``user`` if there is one candidate set per user.
    protocol : Protocol
        How candidates were chosen.
    counts : dict of str to int
        Irregularities, by name.
    eligible : polars.DataFrame or None
        For sampled candidates: one row per ``user`` with the number of items (``eligible``) from
        which its negatives were drawn.
    is_text : bool, default=False
        Whether integer ids were text in a file, so that they can be matched with string ids.
    is_numbered : bool, default=False
        Whether the ids are the numbers of the rows and columns of a sparse matrix.
    """

    frame: pl.DataFrame
    protocol: Protocol
    counts: dict[str, int] = field(default_factory=dict)
    eligible: pl.DataFrame | None = None
    is_text: bool = False
    is_numbered: bool = False

    @property
    def table(self) -> Table:
        """The candidates as a table, for matching ids."""
        return Table(self.frame, "train", "candidates", "candidates", {}, is_text=self.is_text)

    @property
    def per_user(self) -> bool:
        """Whether there is one candidate set per user."""
        return "user" in self.frame.columns

    def __repr__(self) -> str:
        label = self.protocol.label or self.protocol.candidates
        return f"<Candidates: {label}, {len(self.frame):,} rows>"


def of_truth(truth: Any, *, columns: Columns | None = None) -> Candidates:
    """Use all items of the ground truth as the candidate set of every user.

    Parameters
    ----------
    truth : table, path, mapping or sparse matrix
        The ground truth, as for `rankwise.evaluate`.
    columns : mapping, optional
        The column for each role, e.g. ``{"item": "movie"}``.

    Returns
    -------
    Candidates
        One candidate set for all users.

    References
    ----------
    Bellogín, Castells & Cantador 2011, Precision-Oriented Evaluation of Recommender Systems,
    RecSys (TestItems).

    Examples
    --------
    >>> of_truth({"ann": [3, 1], "bob": [3]}).frame["item"].to_list()
    [1, 3]
    """
    check_columns(columns, ["truth"])
    return _for_all_users(read_table(truth, "truth", columns), "items of the test")


def these(items: Any, *, columns: Columns | None = None) -> Candidates:
    """Use the given items, ids or a table, as the candidate set of every user.

    Parameters
    ----------
    items : iterable of ids, table or path
        The candidate set; a table needs a column of items.
    columns : mapping, optional
        The column for each role, e.g. ``{"item": "movie"}``.

    Returns
    -------
    Candidates
        One candidate set for all users.

    Examples
    --------
    >>> these([7, 8]).frame["item"].to_list()
    [7, 8]
    """
    check_columns(columns, ["items"])
    return _for_all_users(read_table(items, "items", columns), "given items")


def per_user(source: Any, *, columns: Columns | None = None) -> Candidates:
    """Use one candidate set per user: ``{user: [items]}`` or a table of users and items.

    With the ground truth as ``source``, a user's held-out items are ranked only against one
    another.

    Parameters
    ----------
    source : table, path, mapping or sparse matrix
        One row per user-item pair. Duplicates are dropped and counted; users without a row have no
        candidates.
    columns : mapping, optional
        The column for each role, e.g. ``{"item": "movie"}``.

    Returns
    -------
    Candidates
        One candidate set per user.

    Examples
    --------
    >>> per_user({"ann": [3, 1], "bob": [3]})
    <Candidates: given lists, 3 rows>
    """
    check_columns(columns, ["train"])
    table = read_table(source, "train", columns)
    frame = table.frame.select("user", "item")
    pairs = frame.unique(maintain_order=True)
    counts = {"candidates_repeated": len(frame) - len(pairs)}
    protocol = Protocol("given lists", digest=_digest(pairs))
    return Candidates(
        pairs, protocol, counts, is_text=table.is_text, is_numbered=table.format == SPARSE
    )


def _check_sample(n: int | None, seed: int | None, *, replacement: bool) -> None:
    """Raise if a sample has no size and seed, or more negatives than can be drawn."""
    check_positive(n=n)
    check_positive(least=0, seed=seed)
    if n is None or seed is None:
        raise ParameterError(
            "a sample needs n and a seed", found=f"{parameter('n', n)}, {parameter('seed', seed)}"
        )
    if replacement and n > _MOST:  # without replacement, the catalogue is the bound
        raise ParameterError(
            f"at most {_MOST:,} negatives are drawn with replacement", found=parameter("n", n)
        )


def _check_distribution(by: str, power: float, train: Any) -> None:
    """Raise if negatives cannot be drawn by this power of the popularity."""
    check_choice("by", by, Literal["uniform", "popularity"])
    check_number("power", power)
    if by == "popularity" and train is None:
        raise ParameterError(
            "drawing by popularity needs training interactions", hint=f"pass {parameter('train')}"
        )
    if power < 0 or (by == "uniform" and power != 1):
        raise ParameterError(
            "power is an exponent of the popularity, 0 or more",
            found=f"{parameter('power', power)}, {parameter('by', by)}",
            hint=f"pass {parameter('by', 'popularity')} with it",
        )


def sampled(
    truth: Any,
    n: int = 100,
    *,
    seed: int,
    items: Any = None,
    train: Any = None,
    by: Literal["uniform", "popularity"] = "uniform",
    power: float = 1.0,
    replacement: bool = False,
    relevance_threshold: float | None = None,
    columns: Columns | None = None,
) -> Candidates:
    """Use each user's relevant items and n sampled negatives, drawn once for all models.

    Sampled metrics differ from those on the full catalogue and can rank models differently
    (Krichene & Rendle 2020): results are labelled as sampled, and `rankwise.correct` estimates the
    values on the full catalogue.

    Parameters
    ----------
    truth : table, path, mapping or sparse matrix
        The ground truth. Its relevant items are the positives; none of a user's ground truth items
        is drawn as a negative.
    n : int, default=100
        Number of negatives per user, at most a million with replacement. Each relevant item of the
        user is ranked against them.
    seed : int
        Seed of the random numbers; the same seed and tables give the same negatives, in any order
        of rows.
    items : iterable of ids or table, optional
        The catalogue; by default all items of ``train`` and ``truth``.
    train : table, path or mapping, optional
        Training interactions: they are not drawn as negatives, and popularity is counted in them.
        Of a `rankwise.splits.Split`, no row that is known before the test part is drawn, and
        popularity is counted in the training part.
    by : {"uniform", "popularity"}, default="uniform"
        Draw items uniformly, or with probability proportional to their number of training users.
    power : float, default=1.0
        With ``by="popularity"``: the exponent of the number of training users, 0 or more. 0.75
        dampens the popularity; 0 draws uniformly, also items without training users.
    replacement : bool, default=False
        Draw with replacement. Such candidates work with `rankwise.rank_relevant`, but not with
        `rankwise.rank`: a list cannot repeat items.
    relevance_threshold : float, optional
        Minimum relevance of a positive; by default any relevance above 0.
    columns : mapping, optional
        The column for each role, e.g. ``{"item": "movie"}``.

    Returns
    -------
    Candidates
        One candidate set per user with a relevant item. Users with fewer than ``n`` eligible items
        get all of them and are counted.

    Raises
    ------
    ParameterError
        If ``n`` is too large to draw with replacement, ``power`` is negative or does not go with
        ``by``, or ``by="popularity"`` has no ``train``.
    EmptyError
        If no item is relevant.

    See Also
    --------
    rankwise.correct : Estimate metrics on the full catalogue from ranks among sampled negatives.

    Examples
    --------
    >>> frozen = sampled({"ann": {7}}, 3, seed=1, items=range(100))
    >>> frozen
    <Candidates: sampled (m=3, seed=1), 4 rows>
    >>> frozen.frame.equals(sampled({"ann": {7}}, 3, seed=1, items=range(100)).frame)
    True
    """
    check_number("relevance_threshold", relevance_threshold)
    _check_sample(n, seed, replacement=replacement)
    _check_distribution(by, power, train)
    n, seed = int(n), int(seed)  # NumPy's numbers cannot be saved as JSON
    threshold = None if relevance_threshold is None else float(relevance_threshold)
    sources: dict[TableRole, Any] = {"truth": truth, "train": train, "items": items}
    optional = [*sources]
    sources = {
        role: source for role, source in sources.items() if source is not None or role == "truth"
    }
    check_columns(columns, sources, optional)
    tables = [read_table(source, role, columns) for role, source in sources.items()]
    protocol = Protocol("sampled", n, seed, by, replacement, None, threshold, float(power))
    frame, eligible, counts = _draw(tables, n, protocol)
    is_text = all(table.is_text for table in tables)
    is_numbered = any(table.format == SPARSE for table in tables)
    return Candidates(
        frame, replace(protocol, digest=_digest(frame)), counts, eligible, is_text, is_numbered
    )


def _for_all_users(table: Table, description: str) -> Candidates:
    frame = table.frame["item"].unique().sort().to_frame()
    protocol = Protocol(description, digest=_digest(frame))
    return Candidates(frame, protocol, is_text=table.is_text, is_numbered=table.format == SPARSE)


def _digest(frame: pl.DataFrame) -> str:
    """Return a hash of candidates, to compare the candidate sets of two results."""
    ordered = frame.sort(frame.columns)
    digest = hashlib.sha256()
    for name in ordered.columns:
        digest.update(ordered[name].cast(pl.String).str.join("\n").item().encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
