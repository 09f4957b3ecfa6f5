"""Candidates: which items are ranked for whom, frozen so that every model ranks the same.

By default everything that has a score is ranked, less what ``exclude=`` names. The functions here
say otherwise; what they return goes to ``candidates=`` of `rankwise.rank`,
`rankwise.rank_relevant` and `rankwise.evaluate_model`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankwise.arguments import check_choice, check_number, check_positive
from rankwise.errors import ParameterError
from rankwise.io.tables import Table, read_table
from rankwise.protocol import Protocol

if TYPE_CHECKING:
    from rankwise.io.columns import Columns

__all__ = ["Candidates", "of_truth", "per_user", "sampled", "these"]


@dataclass(frozen=True, repr=False)
class Candidates:
    """Items to be ranked: the same for all users, or some for each.

    Attributes
    ----------
    frame : polars.DataFrame
        Column ``item``; with a column ``user``, each user's own.
    protocol : Protocol
        How they were chosen.
    counts : dict of str to int
        What was out of the ordinary.
    eligible : polars.DataFrame or None
        For sampled candidates: each ``user``, and from how many items (``eligible``) its negatives
        were drawn.
    is_text : bool
        Whether ids were text in files, and may become text again.
    """

    frame: pl.DataFrame
    protocol: Protocol
    counts: dict[str, int] = field(default_factory=dict)
    eligible: pl.DataFrame | None = None
    is_text: bool = False

    @property
    def table(self) -> Table:
        """The candidates as a table among others."""
        return Table(self.frame, "train", "candidates", "candidates", {}, is_text=self.is_text)

    @property
    def per_user(self) -> bool:
        """Whether every user has candidates of its own."""
        return "user" in self.frame.columns

    def __repr__(self) -> str:
        label = self.protocol.label or self.protocol.candidates
        return f"<Candidates: {label}, {len(self.frame):,} rows>"


def of_truth(truth: Any, *, columns: Columns | None = None) -> Candidates:
    """Take every item that the truth holds for somebody, for everybody.

    Parameters
    ----------
    truth : table, path, mapping or sparse matrix
        The truth, as `rankwise.evaluate` takes it.
    columns : mapping, optional
        Which column has which role.

    References
    ----------
    Bellogín, Castells & Cantador 2011, Precision-Oriented Evaluation of Recommender Systems,
    RecSys (TestItems).

    Examples
    --------
    >>> of_truth({"ann": [3, 1], "bob": [3]}).frame["item"].to_list()
    [1, 3]
    """
    return _shared(read_table(truth, "truth", columns), "items of the test")


def these(items: Any, *, columns: Columns | None = None) -> Candidates:
    """Take these items for everybody: ids, or a table of items.

    Parameters
    ----------
    items : iterable of ids, table or path
        The items; a table has a column of items.
    columns : mapping, optional
        Which column has which role.

    Examples
    --------
    >>> these([7, 8]).frame["item"].to_list()
    [7, 8]
    """
    return _shared(read_table(items, "items", columns), "given items")


def per_user(source: Any, *, columns: Columns | None = None) -> Candidates:
    """Take each user's own items: ``{user: [items]}`` or a table of users and items.

    Given the truth itself, items are only ranked against the user's other test items.

    Parameters
    ----------
    source : table, path, mapping or sparse matrix
        Rows of user and item. A repetition is ranked once, and counted; users without a row have
        nothing to rank.
    columns : mapping, optional
        Which column has which role.

    Examples
    --------
    >>> per_user({"ann": [3, 1], "bob": [3]})
    <Candidates: given lists, 3 rows>
    """
    table = read_table(source, "train", columns)
    frame = table.frame.select("user", "item")
    once = frame.unique(maintain_order=True)
    counts = {"candidates_repeated": len(frame) - len(once)}
    protocol = Protocol("given lists", digest=_digest(once))
    return Candidates(once, protocol, counts, is_text=table.is_text)


def sampled(
    truth: Any,
    n: int = 100,
    *,
    seed: int,
    items: Any = None,
    train: Any = None,
    by: Literal["uniform", "popularity"] = "uniform",
    replacement: bool = False,
    relevance_threshold: float | None = None,
    columns: Columns | None = None,
) -> Candidates:
    """Take each user's relevant items and n others, drawn once for all models.

    Values over a sample are not those of the whole catalogue and can put models in another order
    (Krichene & Rendle 2020): results carry the label, and `rankwise.correct` estimates what the
    whole catalogue would have given.

    Parameters
    ----------
    truth : table, path, mapping or sparse matrix
        The truth. Its relevant items are the positives; none of its items is drawn for its user.
    n : int
        Negatives for each user. Each relevant item of the user is ranked against them.
    seed : int
        The same seed and tables draw the same items, in whatever order rows come.
    items : iterable of ids or table, optional
        The catalogue; by default all items of ``train`` and ``truth``.
    train : table, path or mapping, optional
        Training interactions: not drawn for their users, and what popularity is counted from.
    by : {"uniform", "popularity"}
        Draw items alike, or in proportion to their training users.
    replacement : bool
        Whether the same item may be drawn again for a user. Such candidates can be counted over
        (`rankwise.rank_relevant`), but do not make a list.
    relevance_threshold : float, optional
        Truth rows of at least this relevance are positives. Without it, all above 0.
    columns : mapping, optional
        Which column has which role.

    Returns
    -------
    Candidates
        A user for whom fewer than ``n`` items are left gets them all, and is counted.

    Examples
    --------
    >>> frozen = sampled({"ann": {7}}, 3, seed=1, items=range(100))
    >>> frozen
    <Candidates: sampled (m=3, seed=1), 4 rows>
    >>> frozen.frame.equals(sampled({"ann": {7}}, 3, seed=1, items=range(100)).frame)
    True
    """
    from rankwise.ranking.sampling import draw

    check_choice("by", by, Literal["uniform", "popularity"])
    check_number("relevance_threshold", relevance_threshold)
    check_positive(n=n)
    check_positive(least=0, seed=seed)
    if n is None or seed is None:
        raise ParameterError("a sample needs n and a seed", found=f"n={n}, seed={seed}")
    if by == "popularity" and train is None:
        raise ParameterError(
            "drawing by popularity needs training interactions", hint="pass train="
        )
    n, seed = int(n), int(seed)  # NumPy's numbers cannot be saved as JSON
    threshold = None if relevance_threshold is None else float(relevance_threshold)
    tables = {
        "truth": read_table(truth, "truth", columns),
        "train": None if train is None else read_table(train, "train", columns),
        "items": None if items is None else read_table(items, "items", columns),
    }
    drawn = draw(tables, n, seed, by, threshold, replacement=replacement)
    digest = _digest(drawn.frame)
    protocol = Protocol("sampled", n, seed, by, replacement, digest, threshold)
    is_text = all(table.is_text for table in tables.values() if table is not None)
    return Candidates(drawn.frame, protocol, drawn.counts, drawn.eligible, is_text)


def _shared(table: Table, words: str) -> Candidates:
    frame = table.frame["item"].unique().sort().to_frame()
    return Candidates(frame, Protocol(words, digest=_digest(frame)), is_text=table.is_text)


def _digest(frame: pl.DataFrame) -> str:
    """Hash candidates, so that two results can tell whether theirs were the same."""
    ordered = frame.sort(frame.columns)
    text = hashlib.sha256()
    for name in ordered.columns:
        text.update(ordered[name].cast(pl.String).str.join("\n").item().encode())
        text.update(b"\0")
    return text.hexdigest()[:16]
