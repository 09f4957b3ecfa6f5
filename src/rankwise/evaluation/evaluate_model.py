"""`evaluate_model`: a model in, a `Result` out; malformed lists are counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypeAlias, Unpack

import polars as pl

from rankwise.candidates.candidate_sets import Candidates
from rankwise.core.arguments import check_choice, check_positive
from rankwise.core.choices import Population
from rankwise.errors import ParameterError
from rankwise.evaluation.evaluate import evaluate_tables
from rankwise.evaluation.model_lists import predicted, recommended
from rankwise.evaluation.option_sets import WholeOptions
from rankwise.evaluation.read_inputs import read_inputs
from rankwise.evaluation.settings import DEFAULT_MEASURES, Settings
from rankwise.evaluation.signatures import takes_options
from rankwise.measures.read import MeasureLike
from rankwise.models.recommend import asks_many, check_model
from rankwise.ranking.rank import TieRule
from rankwise.results.result import Result
from rankwise.tables.align import align
from rankwise.tables.table import Table

__all__ = ["evaluate_model"]

Failed: TypeAlias = Literal["zero", "leave_out"]


@takes_options(WholeOptions)
def evaluate_model(
    model: Any,
    truth: Any,
    measures: MeasureLike | Iterable[MeasureLike] = DEFAULT_MEASURES,
    *,
    k: int | None = None,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    exclude_seen: bool = False,
    candidates: Candidates | None = None,
    ties: TieRule = "expected",
    failed: Failed = "zero",
    many: bool | None = None,
    batch_size: int = 1024,
    **options: Unpack[WholeOptions],
) -> Result:
    """Request a model's recommendation lists for the users of the ground truth, and evaluate them.

    Lists are requested only for users whom ``population`` evaluates.

    Parameters
    ----------
    model : object
        An object with one of these methods. ``recommend(user_id, n)`` returns items or (item,
        score) pairs, best first; their order is kept. ``recommend(user_ids, n)`` returns one list
        per user, ``{user: list}``, a table, or two arrays (items, scores) with one row per user.
        ``predict(user_ids)`` returns a score for every item, in the order of ``items``.
        `rankwise.models` wraps models of other libraries.
    truth : table, path, mapping or sparse matrix
        The ground truth, in any form that `rankwise.evaluate` takes.
    measures : str, measure, or a list of them, default=DEFAULT_MEASURES
        The metrics.
    k : int, optional
        Number of items to request per user; by default the largest cut-off of the metrics.
        Metrics without a cut-off are computed over lists of this length.
    train : table, path or mapping, optional
        Training interactions, as in `rankwise.evaluate`; recommended items that the user has in
        ``train`` are counted.
    items, users
        As in `rankwise.evaluate`. For ``predict``, ``items`` are the ids of its columns, which by
        default are numbered from 0.
    exclude_seen : bool, default=False
        Remove items of ``train`` from the lists; correspondingly more items are requested.
    candidates : Candidates, optional
        The candidate sets to rank, from `rankwise.candidates`. Only for ``predict``: a model with
        ``recommend`` chooses its candidates itself.
    ties : {"expected", "item", "item_desc"}, default="expected"
        How tied scores are ordered, only for ``predict``; see `rankwise.rank`.
    failed : {"zero", "leave_out"}, default="zero"
        What happens to a user for whom the model raises or returns malformed output. ``"zero"``:
        the user has no list and scores 0 (where ``population`` evaluates users without a list);
        ``"leave_out"``: the user is not evaluated. Failures are logged and counted either way.
    many : bool, optional
        Whether ``recommend`` takes many users at once; by default if its first parameter is called
        ``users``, ``user_ids``, ``uids``, ``user_list`` or ``queries``. If a call for many users
        raises, the lists are requested user by user.
    batch_size : int, default=1024
        Number of users per call.
    %(options)s

    Returns
    -------
    Result
        Its ``counts`` hold the number of users for whom the model failed
        (``users_model_failed_for``), returned too few items (``users_with_too_few_items``) or too
        many (``users_with_too_many_items``; only the first are evaluated); and the number of items
        that were repeated (and dropped), seen in training, or unknown. Items are unknown if they
        are not in ``items``; without ``items``, if they are neither in ``train`` nor in the ground
        truth. Counts of 0 are left out.

    Raises
    ------
    InputError
        If the data cannot be evaluated as it is, or the model fails for every user.
    UsageError
        If a metric or option is unknown or invalid, or the model has none of the methods.

    See Also
    --------
    evaluate : Evaluate lists that exist already.
    rank : Rank a score matrix, or user and item factors.

    Examples
    --------
    >>> import rankwise as rw
    >>> class Model:
    ...     def recommend(self, user_id, n):
    ...         return [("a", 0.9), ("b", 0.5), ("b", 0.4)][:n]
    >>> result = rw.evaluate_model(Model(), {"ann": {"a"}, "bob": {"c"}}, "recall@3")
    >>> result["recall@3"], result.counts["items_repeated"]
    (0.5, 2)
    """
    check_choice("failed", failed, Failed)
    check_choice("ties", ties, TieRule)
    check_positive(k=k, batch_size=batch_size)
    settings = Settings.read(measures, options, WholeOptions)
    check_model(model)
    cutoffs = [cutoff for measure in settings.measures for cutoff in measure.k]
    n = int(k) if k else max(cutoffs, default=0)
    if not n:
        raise ParameterError(
            "the number of requested items follows from the cut-offs, and there is none", hint="pass k="
        )
    tables = read_inputs(settings, truth=truth, train=train, items=items, users=users, required=("truth",))
    if exclude_seen and tables.train is None:
        raise ParameterError("exclude_seen needs training interactions", hint="pass train=")
    assert tables.truth is not None
    requested = _users_requested(tables.truth, settings.relevance_threshold, settings.population)
    given: dict[str, Table] = {r: t for r, t in tables.by_role.items() if r != "users"}
    if callable(getattr(model, "recommend", None)):
        if candidates is not None or ties != "expected":
            raise ParameterError(
                "a model with recommend() chooses its candidates, and their order, itself",
                hint="candidates= and ties= are for predict(), rw.rank and rw.rank_relevant",
            )
        lists, counts, lost = recommended(
            model,
            requested,
            n,
            given,
            exclude_seen=exclude_seen,
            many=asks_many(model) if many is None else many,
            batch_size=batch_size,
            progress=settings.progress,
        )
    else:
        lists, counts, lost = predicted(
            model,
            requested,
            n,
            given,
            exclude_seen=exclude_seen,
            candidates=candidates,
            ties=ties,
            batch_size=batch_size,
            progress=settings.progress,
        )
    if failed == "leave_out" and lost:
        # Items of users who are left out belong to the catalogue all the same.
        catalogue = tables.items or _every_item([lists, *given.values()])
        tables = replace(tables, items=catalogue, truth=_without(tables.truth, lost))
    lists = replace(lists, counts={**lists.counts, **counts})
    result = evaluate_tables(settings, replace(tables, recommendations=lists))
    about = {
        "type": f"{type(model).__module__}.{type(model).__qualname__}",
        "asked_for": n,
        "exclude_seen": exclude_seen,
        "failed": failed,
    }
    return replace(result, provenance={**result.provenance, "model": about})


def _users_requested(truth: Table, threshold: float | None, population: Population) -> pl.Series:
    """Return the users whose lists are requested: only those who will be evaluated."""
    frame = truth.relevant(threshold) if population in ("truth", "both") else truth.frame
    return frame["user"].unique(maintain_order=True)


def _without(truth: Table, users: list[Any]) -> Table:
    gone = pl.Series("user", users, dtype=truth.frame["user"].dtype)
    return truth.with_frame(truth.frame.filter(~pl.col("user").is_in(gone.implode())))


def _every_item(tables: Iterable[Table]) -> Table:
    """Return the catalogue: every item that occurs in a table."""
    whole = align(list(tables), "item")
    kind = pl.String if whole[0].frame["item"].dtype == pl.String else pl.Int64
    items = pl.concat([table.trained.frame["item"].cast(kind) for table in whole]).unique().sort()
    return Table(items.to_frame(), "items", "items", "every item seen", {"item": "item"})
