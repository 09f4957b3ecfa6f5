"""Candidate sets: the same items for all users, or one set per user."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from rankwise.candidates.sampling import draw
from rankwise.core.arguments import check_choice, check_number, check_positive
from rankwise.errors import ParameterError
from rankwise.tables.columns import Columns
from rankwise.tables.protocol import Protocol
from rankwise.tables.read import read_table
from rankwise.tables.table import Table

__all__ = ["Candidates", "of_truth", "per_user", "sampled", "these"]

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
    """

    frame: pl.DataFrame
    protocol: Protocol
    counts: dict[str, int] = field(default_factory=dict)
    eligible: pl.DataFrame | None = None
    is_text: bool = False

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
    table = read_table(source, "train", columns)
    frame = table.frame.select("user", "item")
    pairs = frame.unique(maintain_order=True)
    counts = {"candidates_repeated": len(frame) - len(pairs)}
    protocol = Protocol("given lists", digest=_digest(pairs))
    return Candidates(pairs, protocol, counts, is_text=table.is_text)


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
    check_choice("by", by, Literal["uniform", "popularity"])
    check_number("relevance_threshold", relevance_threshold)
    check_number("power", power)
    check_positive(n=n)
    check_positive(least=0, seed=seed)
    if n is None or seed is None:
        raise ParameterError("a sample needs n and a seed", found=f"n={n}, seed={seed}")
    if replacement and n > _MOST:  # without replacement, the catalogue is the bound
        raise ParameterError(f"at most {_MOST:,} negatives are drawn with replacement", found=f"n={n}")
    if by == "popularity" and train is None:
        raise ParameterError("drawing by popularity needs training interactions", hint="pass train=")
    if power < 0 or (by == "uniform" and power != 1):
        raise ParameterError(
            "power is an exponent of the popularity, 0 or more",
            found=f"power={power}, by={by!r}",
            hint='pass by="popularity" with it',
        )
    n, seed = int(n), int(seed)  # NumPy's numbers cannot be saved as JSON
    threshold = None if relevance_threshold is None else float(relevance_threshold)
    tables = {
        "truth": read_table(truth, "truth", columns),
        "train": None if train is None else read_table(train, "train", columns),
        "items": None if items is None else read_table(items, "items", columns),
    }
    drawn = draw(tables, n, seed, float(power) if by == "popularity" else None, threshold, replacement=replacement)
    digest = _digest(drawn.frame)
    protocol = Protocol("sampled", n, seed, by, replacement, digest, threshold, float(power))
    is_text = all(table.is_text for table in tables.values() if table is not None)
    return Candidates(drawn.frame, protocol, drawn.counts, drawn.eligible, is_text)


def _for_all_users(table: Table, description: str) -> Candidates:
    frame = table.frame["item"].unique().sort().to_frame()
    return Candidates(frame, Protocol(description, digest=_digest(frame)), is_text=table.is_text)


def _digest(frame: pl.DataFrame) -> str:
    """Return a hash of candidates, to compare the candidate sets of two results."""
    ordered = frame.sort(frame.columns)
    digest = hashlib.sha256()
    for name in ordered.columns:
        digest.update(ordered[name].cast(pl.String).str.join("\n").item().encode())
        digest.update(b"\0")
    return digest.hexdigest()[:16]
