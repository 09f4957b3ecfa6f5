"""Running a metric: every block of ranked lists is measured, for the states."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from rankwise.core.arrays import Array, checks_at_end, count, sum_whole
from rankwise.core.choices import Population
from rankwise.core.digests import FINALISER, start_and_factors
from rankwise.core.measured import Measured
from rankwise.core.partial_columns import ItemColumn
from rankwise.core.user_rules import members
from rankwise.errors import MeasureError
from rankwise.evaluation.plan import Plan
from rankwise.torch.cut import cut, is_relevant
from rankwise.torch.fact_tensors import FactTensors
from rankwise.torch.rank_scores import rank_scores
from rankwise.torch.ranked import Ranked
from rankwise.torch.spec import MetricSpec
from rankwise.torch.user_items import Rows

__all__ = ["KINDS", "Layout", "Sums", "layout_of", "measure_lists"]

_HALF = 2**32 - 1
KINDS = ("from_scores", "from_lists", "with_users", "without_users", "with_candidates", "graded")
"""Lists by how they were given, which a result does not count."""
_COUNTS = (
    "rows",
    "lists",
    "lists_without_relevant_items",
    "lists_shorter_than_k",
    "truth_rows",
    "truth_rows_that_are_no_candidates",
    "seen_items_taken_out",
    "users_repeated",
    *KINDS,
)


@dataclass(frozen=True)
class Layout:
    """What the states hold, in order: columns of users, sums of items, counts."""

    columns: tuple[str, ...]
    item_sums: tuple[ItemColumn, ...]
    counts: tuple[str, ...]

    @property
    def width(self) -> int:
        """The number of columns, with the two halves of the digest of a user's ground truth."""
        return len(self.columns) + 2


@dataclass(frozen=True)
class Sums:
    """What some lists add to the states.

    Attributes
    ----------
    user : tensor of int, shape (B,)
        The users.
    columns : tensor of float, shape (B, n_columns + 2)
        Their values; NaN for users who are not evaluated. Then the halves of the digest of their
        ground truth.
    items : tensor of int, shape (n_sums, n_items)
        Sums by item.
    counts : tensor of int, shape (n_counts,)
        What was counted.
    """

    user: Tensor
    columns: Tensor
    items: Tensor
    counts: Tensor


def layout_of(spec: MetricSpec) -> Layout:
    """Return what the states of a metric hold: what measures give for no users tells."""
    none, scores = torch.zeros(0, dtype=torch.int64), torch.zeros((0, 1))
    rows = Rows(none, none, scores[:, 0].to(torch.float64), 0)
    ranked = rank_scores(
        none,
        scores,
        None,
        rows,
        dict.fromkeys(spec.facts.user_items, rows),
        order=spec.tie_order(spec.facts),
        depth=spec.depth,
        top=spec.top,
    )
    measured = _measure(spec, ranked, spec.facts, spec.plan)
    sums = tuple(measured.item_sums) if spec.plan.needs_catalogue else ()
    return Layout(tuple(measured.columns), sums, (*_COUNTS, *measured.counts))


def measure_lists(spec: MetricSpec, layout: Layout, ranked: Ranked, facts: FactTensors) -> Sums:
    """Measure some lists.

    Parameters
    ----------
    spec : MetricSpec
        What is asked.
    layout : Layout
        What the states hold.
    ranked : Ranked
        The lists.
    facts : FactTensors
        What measures need to know, on the device of the lists.

    Raises
    ------
    MeasureError
        If a measure looks at what these lists do not have.
    """
    plan = spec.job(from_scores=ranked.from_scores).plan
    _check(spec, plan, ranked)
    size, device = ranked.user.shape[0], ranked.user.device
    relevant = is_relevant(ranked.judged, spec.settings.relevance_threshold)
    n_relevant = sum_whole(ranked.judged.rows.row, relevant, size)
    counted = _evaluated(spec.settings.evaluated, ranked, n_relevant > 0)
    rows = None if bool(counted.all()) else counted.nonzero()[:, 0]
    measured = _measure(spec, ranked if rows is None else ranked.select(rows), facts, plan)
    values = [measured.columns[name].to(torch.float64) for name in layout.columns]
    columns = torch.stack(values, dim=1)
    if rows is not None:
        columns = columns.new_full((size, len(values)), torch.nan).index_copy_(0, rows, columns)
    columns = torch.cat([columns, _digests(ranked, facts)], dim=1)
    counts = _counts(ranked, n_relevant > 0, spec.depth) | dict(measured.counts)
    items = [measured.item_sums[column] for column in layout.item_sums]
    return Sums(
        user=ranked.user,
        columns=columns,
        items=torch.stack(items) if items else ranked.length.new_zeros((0, 0)),
        counts=torch.stack([_number(counts.get(name, 0), device) for name in layout.counts]),
    )


def _digests(ranked: Ranked, facts: FactTensors) -> Tensor:
    """Return the digest of each user's ground truth as two halves, shape (B, 2): doubles hold 32 bits exactly.

    The digest is that of `rankwise.core.digests.row_digest`, in integers that wrap around.
    """
    rows, user = ranked.judged.rows, ranked.user
    if facts.user_words is not None and len(facts.user_words):
        user = facts.user_words[user.clamp(0, len(facts.user_words) - 1)]
    item = rows.item if facts.item_words is None else facts.item_words[rows.item]
    start, factors = start_and_factors((False, False, rows.value is None))
    hashes = user[rows.row] * _wrapped(factors[0]) + item * _wrapped(factors[1]) + _wrapped(start)
    if rows.value is not None:
        single = rows.value.to(torch.float32) + 0.0  # -0.0 becomes 0.0
        hashes = hashes + (single.view(torch.int32).to(torch.int64) & _HALF) * _wrapped(factors[2])
    for shift, factor in FINALISER:
        hashes = (hashes ^ _shifted(hashes, shift)) * _wrapped(factor)
    hashes = hashes ^ _shifted(hashes, 31)
    total = torch.zeros_like(ranked.user).index_add_(0, rows.row, hashes)
    return torch.stack([total & _HALF, _shifted(total, 32)], dim=1).to(torch.float64)


def _wrapped(number: int) -> int:
    """Return a number of 64 bits as the signed integer of the same bits."""
    return int(number) - 2**64 if number >= 2**63 else int(number)


def _shifted(numbers: Tensor, bits: int) -> Tensor:
    """Return integers shifted to the right, with zeros in front."""
    shifted: Tensor = (numbers >> bits) & (2 ** (64 - bits) - 1)
    return shifted


def _evaluated(population: Population, ranked: Ranked, has_relevant: Tensor) -> Tensor:
    """Return which users are evaluated."""
    has_list = ranked.length > 0
    n_rows: Tensor = count(ranked.judged.rows.row, has_list.shape[0])
    evaluated: Tensor = members(population, has_relevant, has_list, n_rows > 0)
    return evaluated


def _counts(ranked: Ranked, has_relevant: Tensor, depth: int | None) -> dict[str, Array]:
    """Return what is counted of all lists, evaluated or not."""
    size, has_list = ranked.user.shape[0], ranked.length > 0
    counts = {
        "rows": ranked.length.sum(),
        "lists": has_list.sum(),
        "lists_without_relevant_items": (has_list & ~has_relevant).sum(),
        "truth_rows": ranked.judged.rows.row.shape[0],
        "from_scores" if ranked.from_scores else "from_lists": size,
        "with_users" if ranked.has_users else "without_users": size,
        "with_candidates": size if ranked.has_candidates else 0,
        "graded": 0 if ranked.judged.rows.value is None else size,
    }
    if ranked.n_unranked is not None:
        counts["truth_rows_that_are_no_candidates"] = ranked.n_unranked.sum()
    if ranked.n_taken_out is not None:
        counts["seen_items_taken_out"] = ranked.n_taken_out.sum()
    if ranked.from_scores and depth is not None:
        counts["lists_shorter_than_k"] = (has_list & (ranked.length < depth)).sum()
    return counts


def _check(spec: MetricSpec, plan: Plan, ranked: Ranked) -> None:
    """Raise if these lists lack an input that a measure needs."""
    for leaf in plan.leaves:
        if not ranked.from_scores and "scores" in leaf.reads.rows:
            raise MeasureError(
                f"{leaf.name} needs predicted scores", found="lists of items", hint="pass scores to update"
            )
        if ranked.cut_in_tie is not None and leaf.reads_below_k:
            raise MeasureError(
                f"{leaf} cannot tell what ties with the last item of a list from what follows it",
                found=f"list_length={spec.list_length}, and scores that tie there",
                hint="leave list_length out: all candidates are ranked then",
            )


def _measure(spec: MetricSpec, ranked: Ranked, facts: FactTensors, plan: Plan) -> Measured:
    # Measures make arrays without saying where; here they are made beside the lists.
    with torch.device(ranked.user.device), checks_at_end():
        block = cut(
            ranked,
            code=facts.users.codes(ranked.user),
            needs=plan.needs,
            order=spec.tie_order(facts, from_scores=ranked.from_scores),
            facts=facts.by_fact,
            n_items=spec.n_items,
            threshold=spec.settings.relevance_threshold,
        )
        return plan.measure(block)


def _number(value: Array, device: torch.device) -> Tensor:
    """Return a count as a tensor: filled in on the device, where a copy would wait."""
    if isinstance(value, Tensor):
        return value.to(torch.int64)
    return torch.full((), value, dtype=torch.int64, device=device)
