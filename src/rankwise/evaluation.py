"""The road: recommendations and truth in, a `Result` out, at once or in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwise.arguments import check_count
from rankwise.errors import ParameterError
from rankwise.evaluator import Evaluator
from rankwise.io.chunks import read_chunks
from rankwise.io.tables import Table, read_table
from rankwise.leaving_out import GROUP, with_groups
from rankwise.opening import open_split
from rankwise.seen import HISTORY, by_items, take_out_seen, with_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankwise.arguments import Population
    from rankwise.core.lists import Ties
    from rankwise.evaluator import Duplicates
    from rankwise.io.columns import Columns
    from rankwise.measures.parsing import MeasureLike
    from rankwise.measures.plan import Undefined
    from rankwise.result import Result

__all__ = ["DEFAULT_MEASURES", "evaluate"]

DEFAULT_MEASURES = ("precision@10", "recall@10", "ndcg@10", "map@10", "mrr@10", "hit_rate@10")


def evaluate(
    recommendations: Any,
    truth: Any,
    measures: MeasureLike | Iterable[MeasureLike] = DEFAULT_MEASURES,
    *,
    train: Any = None,
    items: Any = None,
    users: Any = None,
    baseline: Any = None,
    relevance_threshold: float | None = None,
    population: Population = "truth",
    undefined: Undefined = "skip",
    ties: Ties | None = None,
    duplicates: Duplicates = "error",
    exclude_seen: bool = False,
    warm_and_cold: bool = False,
    by: str | Sequence[str] = (),
    weights: str | Mapping[Any, float] | None = None,
    jackknife: int | None = None,
    columns: Columns | None = None,
    chunk_rows: int | None = None,
    threads: int | None = None,
    block_size: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Evaluate recommendations against what turned out to be relevant.

    Parameters
    ----------
    recommendations : table, path, mapping, array or sparse matrix
        Ranked lists, or exact ranks: what `rankwise.rank` and `rankwise.rank_relevant` return, or
        lists from elsewhere. A table has a row an item, with user and item, and is ordered by its
        ``rank`` column; without one by falling ``score``; without either as the rows lie.
        Also ``{user: [items]}``, ``{user: [(item, score)]}``, a dense array of item ids with a
        row a user, best first, or a SciPy sparse matrix of scores.
    truth : table, path, mapping, sparse matrix or Split
        Rows of user and item with an optional ``relevance``; or ``{user: {items}}``,
        ``{user: {item: relevance}}``, or a sparse matrix of relevances. A `rankwise.splits.Split`,
        or the folder of one, stands for its test part; its training part is then ``train`` unless
        that is given, and its card is kept in the result.
    measures : str, measure, or a list of them
        ``"ndcg@10"``, ``"recall@[5,10,20]"``, ``rw.NDCG(gain="exponential") @ 10``, ….
    train : table, path or mapping, optional
        Training interactions: how popular items are, and what each user has seen. Their items
        belong to the catalogue.
    items : table, path, mapping, matrix or iterable of ids, optional
        The catalogue, and what is known about its items: categories, feature vectors, groups,
        propensities. ``{"item": [...], "genres": [...]}``, or a matrix with the features of items
        numbered from 0. Without it the catalogue is every item seen in train, truth and
        recommendations.
    users : table, path or mapping, optional
        A row a user: groups for ``by`` and for measures of groups, a column for ``weights``.
    baseline : table, path or mapping, optional
        The lists of another run, in any form that recommendations may have, for measures of what
        two runs have in common.
    relevance_threshold : float, optional
        Truth rows of at least this relevance are relevant. Without it, all above 0.
    population : {"truth", "both", "recommended", "all"}
        Who counts: users with a relevant item; those of them who also have a list; users with a
        list; or all of these. One population for all measures.
    undefined : {"skip", "zero", "nan"}
        What accuracy measures say of a counted user without relevant items: nothing, 0, or NaN
        for the mean too.
    ties : str, optional
        How equal scores are ordered: ``"expected"`` (the mean over all orders; the default where
        scores order the lists), ``"input"``, ``"item"``, ``"item_desc"``, ``"optimistic"``,
        ``"pessimistic"``. Measures that describe lists take tied items in order of item id
        unless told otherwise.
    duplicates : {"error", "first"}
        What to do with an item that stands twice in a list or for one user in the truth: raise,
        or keep the best-ranked (truth: the most relevant) and count what was dropped.
    exclude_seen : bool
        Take what users have in ``train`` out of their lists, and move up what stood below. It is
        counted, and so are relevant items that can then not be found. (`rankwise.rank` takes them
        out before the lists are cut.)
    warm_and_cold : bool
        Give the measures also for users with and without a history in ``train``, and for relevant
        items that are in it and that are not, as slices.
    by : str or list of str
        Columns of ``users``; the result then has the measures of every group too (but for bias
        disparity, whose cells are groups of users already).
    weights : str or mapping, optional
        A weight for each user: a column of ``users``, or ``{user: weight}``. Measures of what is
        added up for items (coverage, Gini, REO, …) take none.
    jackknife : int, optional
        Work everything that is no mean of users (coverage, Gini, entropy, measures of groups, …)
        out without each of so many groups of users too, for its interval (`Result.interval`) and
        its comparison. 64 is plenty; memory for tallies is that many catalogues.
    columns : mapping of str to str or None, optional
        Which column has which role, where the names do not say so: ``{"user": "uid"}``,
        ``{"truth.relevance": "stars"}``; None leaves a column unused.
    chunk_rows : int, optional
        Read a Parquet file of recommendations about this many rows at a time, so that it need
        not fit memory. Its rows must be grouped by user.
    threads : int, optional
        Threads to use; by default one a processor. The result does not depend on it.
    block_size : int, optional
        Users a block; chosen from the sizes by default. The result does not depend on it.
    progress : bool, optional
        Show a progress bar on stderr; by default on a terminal, after a second.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If the data cannot be evaluated as it is; the message says where and what to do.
    UsageError
        If a measure or parameter makes no sense.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate(
    ...     {"ann": ["a", "b", "c"], "bob": ["b", "d", "a"]},
    ...     {"ann": {"a", "c"}, "bob": {"d"}},
    ...     ["precision@2", "ndcg@3"],
    ... )
    >>> result["precision@2"]
    0.5
    >>> result.per_user["ndcg@3"].round(4).to_list()
    [0.9197, 0.6309]
    """
    truth, train = open_split(truth, train)
    seen = exclude_seen or warm_and_cold
    if jackknife is not None:
        check_count(least=2, jackknife=jackknife)
    if jackknife is not None and chunk_rows is not None:
        raise ParameterError(
            "jackknife needs lists in one piece", found=f"chunk_rows={chunk_rows}",
            hint="leave chunk_rows out",
        )  # fmt: skip
    if seen and (train is None or chunk_rows is not None):
        raise ParameterError(
            "exclude_seen and warm_and_cold need training interactions, and lists in one piece",
            found="no train" if train is None else f"chunk_rows={chunk_rows}",
            hint="pass train=" if train is None else "leave chunk_rows out",
        )
    given: dict[str, Any] = {
        "train": train, "items": items, "baseline": baseline, "users": users,
        "relevance_threshold": relevance_threshold, "population": population,
        "undefined": undefined, "ties": ties, "duplicates": duplicates, "by": by,
        "weights": weights, "columns": columns, "threads": threads, "block_size": block_size,
        "progress": progress,
    }  # fmt: skip
    if chunk_rows is not None:
        evaluator = Evaluator(measures, truth=truth, **given)
        for chunk in read_chunks(recommendations, chunk_rows, columns=columns):
            evaluator.update(chunk)
        return evaluator.result()
    listed = read_table(recommendations, "recommendations", columns)
    if jackknife is not None:
        truth = read_table(truth, "truth", columns)
        own = None if users is None else read_table(users, "users", columns)
        given["users"] = with_groups(own, truth, listed, jackknife, relevance_threshold)
        given["by"] = (*([by] if isinstance(by, str) else by), GROUP)
    given["exact"] = listed.lengths is not None
    if seen:
        given["train"] = read_table(train, "train", columns)
        truth = read_table(truth, "truth", columns)
    if exclude_seen:
        listed = take_out_seen(listed, given["train"], truth)
    if warm_and_cold:
        result = _warm_and_cold(listed, truth, measures, given)
    else:
        result = Evaluator(measures, truth=truth, **given).update(listed).result()
    result.provenance["settings"]["exclude_seen"] = exclude_seen
    return result


def _warm_and_cold(
    listed: Table,
    truth: Table,
    measures: MeasureLike | Iterable[MeasureLike],
    given: dict[str, Any],
) -> Result:
    """Evaluate all users, those with and without a history, and warm and cold items alone."""

    def again(other: Table) -> Result:
        return Evaluator(measures, truth=other, **{**given, "by": ()}).update(listed).result()

    own = None if given["users"] is None else read_table(given["users"], "users", given["columns"])
    by = given["by"]
    given["users"] = with_history(own, given["train"], [truth, listed])
    given["by"] = (*([by] if isinstance(by, str) else by), HISTORY)
    result = Evaluator(measures, truth=truth, **given).update(listed).result()
    return by_items(result, truth, given["train"], again)
