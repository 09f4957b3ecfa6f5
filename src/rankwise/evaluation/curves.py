r"""Measures at every cut-off at once, from exact ranks.

A measure that adds up over the list, :math:`S_u(k) / N_u(\min(k, |R_u|))`, changes for a user only
at the ranks of relevant items and at the first :math:`|R_u|` cut-offs. These steps are added up
over all users, rank by rank; the curve is their running sum. It costs as many operations as there
are relevant items, and no more for a million cut-offs than for one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rankwise.core.arguments import check_number, check_positive
from rankwise.core.block import Block
from rankwise.core.cut import blocks
from rankwise.core.ragged import Ints, offsets, positions, runs
from rankwise.encoding.encode import Encoder, EncodingRules
from rankwise.errors import EmptyError, MeasureError, ParameterError
from rankwise.evaluation.preconditions import check_threshold
from rankwise.measures.accuracy import AveragePrecision, HitRate, Precision, Recall
from rankwise.measures.arithmetic import discount, gain_of
from rankwise.measures.graded import DCG, NDCG, NDCGBinary
from rankwise.measures.measure import Measure
from rankwise.measures.read import MeasureLike, parse_all
from rankwise.measures.reciprocal_ranks import ReciprocalRank
from rankwise.ranking.rank_relevant import Ranks
from rankwise.tables.columns import Columns
from rankwise.tables.read import read_table
from rankwise.tables.table import Tables

__all__ = ["curve"]

Floats: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]

_KNOWN = (Recall, Precision, HitRate, ReciprocalRank, AveragePrecision, DCG, NDCG, NDCGBinary)


def curve(
    ranks: Ranks,
    truth: Any,
    measures: MeasureLike | Iterable[MeasureLike] = ("recall", "ndcg"),
    *,
    upto: int | None = None,
    relevance_threshold: float | None = None,
    columns: Columns | None = None,
) -> pl.DataFrame:
    """Compute measures at every cut-off from 1 up, from exact ranks.

    Parameters
    ----------
    ranks : Ranks
        From `rankwise.rank_relevant`.
    truth : table, path, mapping or sparse matrix
        The ground truth that the ranks were computed for.
    measures : str, measure, or a list of them
        Recall, precision, hit_rate, mrr, map, dcg and ndcg with any of their parameters, without
        a cut-off.
    upto : int, optional
        The last cut-off; by default as many as the most candidates of a user.
    relevance_threshold : float, optional
        Truth rows of at least this relevance are relevant. Without it, all above 0.
    columns : mapping, optional
        Which column of the truth has which role.

    Returns
    -------
    polars.DataFrame
        ``k`` and a column for each measure: the mean over all users with a relevant item. Where
        candidates were sampled, the names of the columns say so.

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
        raise ParameterError("a curve is drawn from exact ranks", found=type(ranks).__name__,
                             hint="rw.rank_relevant finds them")  # fmt: skip
    requested = parse_all(measures, cutoffs=False)
    for measure in requested:
        _check(measure)
    check_threshold(ranks.protocol, relevance_threshold)
    table = read_table(truth, "truth", columns)
    rules = EncodingRules(
        needs=frozenset({"ideal"}), exact=True, relevance_threshold=relevance_threshold
    )
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
        out[f"{measure}{label}"] = values / ks if isinstance(measure, Precision) else values
    return pl.DataFrame(out)


def _check(measure: Measure) -> None:
    if not isinstance(measure, _KNOWN):
        raise MeasureError(
            f"there is no curve of {measure.name}",
            hint="take recall, precision, hit_rate, mrr, map, dcg or ndcg",
        )
    if measure.k:
        raise ParameterError("a curve has every cut-off", found=str(measure),
                             hint=f"write {measure @ ()}")  # fmt: skip
    odd = {
        "denominator": {"length", "k"}, "ideal": {"full"},
        "normaliser": {"hits", "k", "length", "min_length"},
    }  # fmt: skip
    for name, values in odd.items():
        if getattr(measure, name, None) in values:
            if isinstance(measure, Precision) and getattr(measure, name) == "k":
                continue
            raise MeasureError(f"there is no curve of {measure}", hint=f"take another {name}")


def _add(steps: Floats, measure: Measure, block: Block, last: int) -> None:
    """Add the steps of every user's values."""
    terms, rank, user = _terms(measure, block), block.hits.rank, block.hits.user
    norm, starts = _norms(measure, block)
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


def _terms(measure: Measure, block: Block) -> Floats:
    """Return what each row of the hits adds."""
    hits = block.hits
    terms: Floats
    if isinstance(measure, HitRate | ReciprocalRank):
        terms = hits.first() / (hits.rank if isinstance(measure, ReciprocalRank) else 1)
    elif isinstance(measure, AveragePrecision):
        terms = hits.probability * hits.position / hits.rank
    elif isinstance(measure, DCG | NDCG | NDCGBinary):
        gains = hits.to_rows(gain_of(_gain(measure), hits.gain))
        terms = hits.probability * gains * discount(hits.rank, getattr(measure, "log_base", 2.0))
    else:
        terms = hits.probability
    return terms


def _gain(measure: DCG | NDCG | NDCGBinary) -> Any:
    return getattr(measure, "gain", "binary")


def _norms(measure: Measure, block: Block) -> tuple[Floats, Ints]:
    """Return what divides each user's sum at the first |R_u| cut-offs, user by user."""
    relevant = np.maximum(block.n_relevant, 1)
    starts = offsets(relevant)
    filled = positions(starts) + 1.0
    if isinstance(measure, NDCG | NDCGBinary):
        gain = np.ones(len(filled))
        if block.ideal is not None:
            has = np.repeat(block.n_relevant, relevant) > 0
            gain[has] = block.ideal.gain
        best = gain_of(_gain(measure), gain) * discount(filled, getattr(measure, "log_base", 2.0))
        total = np.cumsum(best)
        return total - np.repeat(total[starts[:-1]] - best[starts[:-1]], relevant), starts
    capped = isinstance(measure, Recall) and measure.denominator == "capped"
    if capped or (isinstance(measure, AveragePrecision) and measure.normaliser == "min"):
        return filled, starts
    if isinstance(measure, Recall | AveragePrecision):
        return np.repeat(relevant.astype(np.float64), relevant), starts
    return np.ones(len(filled)), starts
