r"""Metrics at every cut-off at once, from exact ranks.

A metric that is a sum over the list, :math:`S_u(k) / N_u(\min(k, |R_u|))`, changes for a user only
at the ranks of relevant items and at the first :math:`|R_u|` cut-offs. These steps are added up
over all users, rank by rank; the curve is their running sum. The cost is proportional to the number
of relevant items, whatever the number of cut-offs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_number, check_positive
from rankwise.core.block import Block
from rankwise.core.cut import blocks
from rankwise.core.ragged import Ints, offsets, positions, runs
from rankwise.core.row_sets import Ideal
from rankwise.encoding.encode import Encoder, EncodingRules
from rankwise.errors import EmptyError, MeasureError, ParameterError
from rankwise.evaluation.preconditions import check_threshold
from rankwise.measures.hit_sums import RunningSum
from rankwise.measures.measure import WHOLE_LIST, Measure
from rankwise.measures.read import MeasureLike, parse_all
from rankwise.ranking.rank_relevant import Ranks
from rankwise.tables.columns import Columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Tables

__all__ = ["curve"]

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


def curve(
    ranks: Ranks,
    truth: Any,
    measures: MeasureLike | Iterable[MeasureLike] = ("recall", "ndcg"),
    *,
    upto: int | None = None,
    relevance_threshold: float | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """Compute metrics at every cut-off k = 1, 2, …, from exact ranks.

    Parameters
    ----------
    ranks : Ranks
        From `rankwise.rank_relevant`.
    truth : table, path, mapping or sparse matrix
        The ground truth that the ranks were computed for.
    measures : str, measure, or a list of them, default=("recall", "ndcg")
        Metrics that are sums over hits, without a cut-off: recall, precision, hit_rate, mrr, arhr,
        ncrr, map, mar, cg, dcg, ndcg, rbp. Not with a parameter that divides by the list length.
    upto : int, optional
        The largest cut-off; by default the size of the largest candidate set.
    relevance_threshold : float, optional
        Rating threshold: minimum relevance of a relevant item. Without it every ground-truth row
        with a relevance above 0 is relevant.
    columns : mapping, optional
        The column of ``truth`` for each role, e.g. ``{"user": "uid"}``.

    Returns
    -------
    polars.DataFrame
        One row per cut-off: ``k``, and one column per metric with the mean over all users who have
        a relevant item. If candidates were sampled, column names carry the label.

    Raises
    ------
    MeasureError
        If a metric is not a sum over hits, or has a cut-off of its own.
    ParameterError
        If ``ranks`` are not exact ranks, or were computed for another rating threshold.
    InputError
        If the ranks were computed for another ground truth, or no user has a relevant item.

    See Also
    --------
    rank_relevant : Compute the exact ranks.

    Examples
    --------
    >>> import numpy as np
    >>> import rankwise as rw
    >>> truth = {0: {2}, 1: {0, 1}}
    >>> ranks = rw.rank_relevant(np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]]), truth=truth)
    >>> rw.curve(ranks, truth, "recall").rows()
    [(1, 0.25), (2, 0.75), (3, 1.0)]
    """
    check_number("relevance_threshold", relevance_threshold)
    check_positive(upto=upto)
    if not isinstance(ranks, Ranks):
        raise ParameterError(
            "a curve is drawn from exact ranks", found=type(ranks).__name__, hint="rw.rank_relevant computes them"
        )
    requested = [_checked(measure) for measure in parse_all(measures, cutoffs=False)]
    check_threshold(ranks.protocol, relevance_threshold)
    table = read_table(truth, "truth", columns)
    rules = EncodingRules(needs=frozenset({"ideal"}), exact=True, relevance_threshold=relevance_threshold)
    encoder = Encoder(rules, Tables(truth=table))
    encoded = encoder.encode(Tables(recommendations=ranks.as_table()))
    last = int(encoded.lists.length.max()) if upto is None else upto
    steps = {str(measure): np.zeros(last + 1) for measure in requested}
    for block in blocks(encoded):
        for measure in requested:
            _add(steps[str(measure)], measure, block, last)
    users = int(encoded.counted.sum())
    if not users:
        raise EmptyError("no user has a relevant item", where=table.source)
    ks = np.arange(1, last + 1)
    label = f", {ranks.protocol.label}" if ranks.protocol.sampled else ""
    out: dict[str, Any] = {"k": ks}
    for measure in requested:
        values = np.cumsum(steps[str(measure)])[1:] / users
        out[f"{measure}{label}"] = values / measure.scale(ks)
    return pl.DataFrame(out)


def _checked(measure: Measure) -> RunningSum:
    """Return a measure that has a curve; raise for others."""
    known = isinstance(measure, RunningSum) and measure.reads.rows <= {"ideal"}
    if not known or measure.reads.facts or not isinstance(measure, RunningSum):
        raise MeasureError(
            f"there is no curve of {measure.name}", hint="take recall, precision, hit_rate, mrr, map, dcg, ndcg or rbp"
        )
    if measure.k:
        raise ParameterError("a curve has every cut-off", found=str(measure), hint=f"write {measure @ ()}")
    if not measure.norm_is_settled:
        raise MeasureError(f"there is no curve of {measure}", hint="choose a divisor that does not depend on the list")
    return measure


def _add(steps: Floats, measure: RunningSum, block: Block, last: int) -> None:
    """Add the steps of every user's values."""
    terms, rank, user = measure.terms(block), block.hits.rank, block.hits.user
    reach = _in_reach(block)
    starts, norm = reach.starts, measure.norm(reach, WHOLE_LIST)
    norm = np.ones(len(reach.filled)) if norm is None else norm
    ends = np.diff(starts)
    # A user's value may change where an item stands, and where what divides it changes.
    at_user = np.concatenate([user, np.repeat(np.arange(block.n_users), ends)])
    at_rank = np.concatenate([rank, positions(starts) + 1])
    worth = np.concatenate([terms, np.zeros(len(norm))])
    order = np.lexsort((at_rank, at_user))
    at_user, at_rank, worth = at_user[order], at_rank[order], worth[order]
    edges = runs(at_user)
    heads = edges[:-1]
    total = np.cumsum(worth)
    before = np.repeat(total[heads] - worth[heads], np.diff(edges))
    by = norm[starts[at_user] + np.minimum(at_rank, ends[at_user]) - 1]
    value = np.divide(total - before, by, out=np.zeros(len(by)), where=by > 0)
    step = np.diff(value, prepend=0.0)
    step[heads] = value[heads]
    near = at_rank <= last
    steps += np.bincount(at_rank[near], weights=step[near], minlength=last + 1)


@dataclass(frozen=True)
class _InReach(Block):
    """A block with one user for each pair of a user and a cut-off that relevant items can fill.

    So the norm of a measure is computed at all of a user's first |R_u| cut-offs at once.
    """

    filled: Ints = None  # type: ignore[assignment]
    """The cut-off of each pair."""
    starts: Ints = None  # type: ignore[assignment]
    """Where the pairs of each user start."""

    def relevant_in_reach(self, k: int) -> Ints:
        """Return min(k, cut-off, number of relevant items)."""
        return np.minimum(np.minimum(self.n_relevant, self.filled), k)

    def sum_ideal(self, gain: Callable[[Any], Any], discount: Callable[[Any], Any], k: int) -> Floats:
        """Return the ideal DCG at each cut-off, or at k if that is smaller."""
        gains, ideal = np.ones(len(self.filled)), self.row_sets.ideal
        if isinstance(ideal, Ideal):
            gains[self.n_relevant > 0] = ideal.gain
        terms = gain(gains) * discount(self.filled.astype(np.float64))
        total = np.concatenate([[0.0], np.cumsum(terms)])
        first = np.repeat(self.starts[:-1], np.diff(self.starts))
        sums: Floats = total[first + np.minimum(self.filled, k)] - total[first]
        return np.where(self.n_relevant > 0, sums, 0.0)


def _in_reach(block: Block) -> _InReach:
    n = np.maximum(block.n_relevant, 1)
    starts = offsets(n)
    parts = {field.name: getattr(block, field.name) for field in fields(Block) if field.init}
    parts |= {name: np.repeat(parts[name], n) for name in ("n_relevant", "list_length")}
    return _InReach(**parts, filled=positions(starts) + 1, starts=starts)
