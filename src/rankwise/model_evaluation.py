"""`evaluate_model`: a model in, a `Result` out, and everything odd about its lists counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from rankwise.arguments import check_choice, check_positive
from rankwise.errors import ParameterError
from rankwise.evaluation import DEFAULT_MEASURES, evaluate
from rankwise.io.align import align
from rankwise.io.tables import Table, read_table
from rankwise.measures.parsing import parse_all
from rankwise.model_lists import predicted, recommended
from rankwise.models.asking import asks_many, check_model
from rankwise.ranking.rank import TieRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankwise.arguments import Population
    from rankwise.candidates import Candidates
    from rankwise.io.columns import Columns
    from rankwise.measures.parsing import MeasureLike
    from rankwise.measures.plan import Undefined
    from rankwise.result import Result

__all__ = ["evaluate_model"]

Failed: TypeAlias = Literal["zero", "leave_out"]


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
    relevance_threshold: float | None = None,
    population: Population = "truth",
    undefined: Undefined = "skip",
    by: str | Sequence[str] = (),
    weights: str | Mapping[Any, float] | None = None,
    columns: Columns | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Result:
    """Ask a model for the lists of all users of the truth, and evaluate them.

    Users without relevant items are not asked about where ``population`` does not count them.

    Parameters
    ----------
    model : object
        With ``recommend(user_id, n)``, which gives items or (item, score) pairs, best first, whose
        order is taken as it is; or
        ``recommend(user_ids, n)``, which gives a list for each user, ``{user: list}``, a table, or
        two arrays (items, scores) with a row a user; or ``predict(user_ids)``, which gives a score
        for every item, in the order of ``items``. Models of other libraries are wrapped:
        `rankwise.models`.
    truth : table, path, mapping or sparse matrix
        What is relevant, as `rankwise.evaluate` takes it.
    measures : str, measure, or a list of them
        What to evaluate.
    k : int, optional
        How many items to ask for; by default the largest cut-off of the measures. Measures
        without a cut-off see that many.
    train : table, path or mapping, optional
        Training interactions: as in `rankwise.evaluate`, and to count what was seen.
    items, users
        As in `rankwise.evaluate`. For ``predict`` the ids of its columns, by default numbered.
    exclude_seen : bool
        Take items of ``train`` out of the lists: the model is asked for so many more.
    candidates : Candidates, optional
        What to rank, for ``predict`` alone: a model with ``recommend`` chooses for itself.
    ties : {"expected", "item", "item_desc"}
        What becomes of equal scores, for ``predict`` alone; see `rankwise.rank`.
    failed : {"zero", "leave_out"}
        A user for whom the model raises, or says nothing readable, has no list and scores 0
        (where ``population`` counts users without a list); or is left out of the evaluation.
        Failures are logged and counted either way.
    many : bool, optional
        Whether ``recommend`` takes many users; by default if its first parameter is called
        ``users``, ``user_ids``, ``uids``, ``user_list`` or ``queries``. Where a call for many
        raises, each is asked alone.
    batch_size : int
        Users asked about at a time.
    relevance_threshold, population, undefined, by, weights, columns, threads, progress
        As in `rankwise.evaluate`.

    Returns
    -------
    Result
        Its ``counts`` say how many users the model failed for (``users_model_failed_for``) or
        gave fewer items than asked (``users_with_too_few_items``), and how many of the items were
        repeated (and dropped), seen in training, or unknown: not in ``items`` if these were given,
        else, if there is ``train``, neither in it nor in the truth. What did not occur has no
        count.

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
    check_positive(k=k, batch_size=batch_size, threads=threads)
    check_model(model)
    asked = parse_all(measures)
    n = int(k) if k else max((cutoff for measure in asked for cutoff in measure.k), default=0)
    if not n:
        raise ParameterError(
            "how many items to ask for follows from the cut-offs, and there is none",
            hint="pass k=",
        )
    tables = {
        kind: read_table(source, kind, columns)  # type: ignore[arg-type]
        for kind, source in (("truth", truth), ("train", train), ("items", items))
        if source is not None
    }
    if exclude_seen and "train" not in tables:
        raise ParameterError("exclude_seen needs to know what was seen", hint="pass train=")
    who = _who(tables["truth"], relevance_threshold, population)
    if callable(getattr(model, "recommend", None)):
        if candidates is not None or ties != "expected":
            raise ParameterError(
                "a model with recommend() chooses its candidates, and their order, itself",
                hint="candidates= and ties= are for predict(), rw.rank and rw.rank_relevant",
            )
        lists, counts, lost = recommended(
            model, who, n, tables, exclude_seen=exclude_seen,
            many=asks_many(model) if many is None else many, batch_size=batch_size,
            progress=progress,
        )  # fmt: skip
    else:
        lists, counts, lost = predicted(
            model, who, n, tables, exclude_seen=exclude_seen, candidates=candidates,
            ties=ties, batch_size=batch_size, progress=progress,
        )  # fmt: skip
    truth_table, catalogue = tables["truth"], tables.get("items")
    if failed == "leave_out" and lost:
        # Items of users who are left out are items all the same.
        catalogue = catalogue or _every_item([lists, *tables.values()])
        truth_table = _without(truth_table, lost)
    lists = replace(lists, counts={**lists.counts, **counts})
    result = evaluate(
        lists, truth_table, asked, train=tables.get("train"), items=catalogue,
        users=users,
        relevance_threshold=relevance_threshold, population=population, undefined=undefined, by=by,
        weights=weights, columns=columns, threads=threads, progress=progress,
    )  # fmt: skip
    said = {"type": f"{type(model).__module__}.{type(model).__qualname__}", "asked_for": n,
            "exclude_seen": exclude_seen, "failed": failed}  # fmt: skip
    return replace(result, provenance={**result.provenance, "model": said})


def _who(truth: Table, threshold: float | None, population: Population) -> pl.Series:
    """Return the users to ask about: nobody is asked for whose list would not count."""
    frame = truth.relevant(threshold) if population in ("truth", "both") else truth.frame
    return frame["user"].unique(maintain_order=True)


def _without(truth: Table, users: list[Any]) -> Table:
    gone = pl.Series("user", users, dtype=truth.frame["user"].dtype)
    return truth.with_frame(truth.frame.filter(~pl.col("user").is_in(gone.implode())))


def _every_item(tables: Iterable[Table]) -> Table:
    """Return the catalogue: every item that stands somewhere."""
    whole = align(list(tables), "item")
    kind = pl.String if whole[0].frame["item"].dtype == pl.String else pl.Int64
    items = pl.concat([table.frame["item"].cast(kind) for table in whole]).unique().sort()
    return Table(items.to_frame(), "items", "items", "every item seen", {"item": "item"})
