"""The states of a metric between updates, merged over processes, and their `Partial`.

Users who occur twice, in one process or in several, count once: their rows are removed, and what
these added to sums and counts is subtracted. ``DistributedSampler`` fills up the last batches with
users whom another process has as well, so only the lists of the last update are kept to compute
that again.

The settings (``MetricSpec``) and facts of a metric are fixed before the first batch, except for the
number of items, which the first scores tell if it is needed and was not passed: it is then a state,
on which processes, saved and merged states must agree. ``layout_of`` measures a block without
users, so a process without data has the same states; its sums are a column of zeros, which
broadcasts, until the number of items is known.

Reading a value makes Python wait for the device. Therefore metrics create arrays without naming a
device, which is set here; sums over a mask replace selections; cut-offs are Python numbers; and all
checks are read together (``check_none``). ``tests/torch/waits.py`` counts the remaining waits.

State names contain a digest of every setting that can change a value, because after the first batch
``torchmetrics.MetricCollection`` shares the states of metrics whose states look alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
import torch
from torch import Tensor
from torchmetrics import Metric

from rankwise.blocks.partial import BlockValues, GroupSums, ItemColumn, Partial
from rankwise.core.arrays import Array, checks_at_end, count, sum_whole
from rankwise.core.digests import FINALISER, add_digests, start_and_factors
from rankwise.core.populations import POPULATIONS
from rankwise.core.saved_forms import STATE_DICT
from rankwise.errors import DuplicateError, InputError, MetricError, ParameterError, RankwiseError
from rankwise.evaluation.engine import Job
from rankwise.evaluation.plan import Plan
from rankwise.messages import parameter
from rankwise.metrics.base import MetricFailure
from rankwise.tables.table import PASSED, Protocol
from rankwise.torch.batch import MetricSpec
from rankwise.torch.blocks import SideTensors, is_relevant, make_block, map_arrays
from rankwise.torch.ranked import Ranked, Scored, rank_scores
from rankwise.torch.user_items import Rows

RepeatRule: TypeAlias = Literal["error", "first"]

Gather: TypeAlias = Callable[[Tensor], list[Tensor]]
"""Returns a tensor of every process, in the order of processes."""

States: TypeAlias = dict[str, Tensor]
"""What some lists come to.

``users``, shape (B,); ``columns``, shape (B, n_columns + 2): their values, NaN for users who are
not evaluated, then the halves of the digest of their ground truth; ``signatures`` of their lists,
shape (B,); ``sums`` by item, shape (n_sums, n_items); ``counts``, shape (n_counts,); and
``n_items`` if scores tell it.
"""
_STATE = re.compile(r"(users|columns|signatures|sums|counts|n_items)_[0-9a-f]{16}")
"""The name of a state in a state dict, with the digest of the settings."""
_ROWS, _SUMS = ("users", "columns", "signatures"), ("sums", "counts")


def drop_repeated_users(ranked: list[Ranked], rule: RepeatRule) -> tuple[list[Ranked], int]:
    """Drop the repeated lists of users from an update, and count the dropped lists.

    Raises
    ------
    DuplicateError
        If two lists of a user differ.
    """
    users, signatures = (
        torch.cat([getattr(x, name) for x in ranked]) for name in ("user", "signature")
    )
    repeated = repeated_rows(torch.stack([users, signatures, torch.ones_like(users)], dim=1), rule)
    n = int(repeated.sum())
    return (_selected(ranked, ~repeated) if n else ranked), n


def _selected(ranked: list[Ranked], keep: Tensor) -> list[Ranked]:
    """Return the lists for which ``keep``, which has an entry for each of all blocks, is true."""
    parts = torch.split(keep, [block.user.shape[0] for block in ranked])
    rows = [(block, part.nonzero()[:, 0]) for block, part in zip(ranked, parts, strict=True)]
    return [block.select(positions) for block, positions in rows if len(positions)]


def gather_states(states: States, gather: Gather) -> States:
    """Return the states of all processes: rows concatenated, sums added, number of items."""
    numbers: States = {}
    if "n_items" in states:  # checked first: sums of different numbers cannot be added
        numbers["n_items"] = torch.full_like(
            states["n_items"], common_n_items(gather(states["n_items"]))
        )
    rows = {name: torch.cat(gather(states[name])) for name in _ROWS}
    sums = {name: reduce(torch.add, gather(states[name])) for name in _SUMS}
    return rows | sums | numbers


def common_n_items(numbers: Iterable[Tensor]) -> int:
    """Return the number of items of several states; 0 where no state knows the number.

    Raises
    ------
    InputError
        If two numbers differ.
    """
    sizes = sorted({*map(int, numbers)} - {0})
    if len(sizes) > 1:
        raise InputError(
            "scores of different numbers of items belong to one evaluation",
            found=" and ".join(f"{size} items" for size in sizes),
            hint="evaluate every catalogue with a metric of its own; where scores are of some "
            f"items, pass {parameter('n_items')} "
            f"to the metric, and these items as {parameter('candidates')} to update",
        )
    return max(sizes, default=0)


def repeated_rows(keys: Tensor, rule: RepeatRule) -> Tensor:
    """Return which rows belong to users with another row that is kept, shape (n,).

    The row that is kept is the first that cannot be taken back, else the first.

    Parameters
    ----------
    keys : tensor of int, shape (n, 3)
        User, signature, and 1 for a list that can be taken back.
    rule : {"error", "first"}
        Whether lists of a user that differ are an error.
    """
    user, signature, is_last = keys.unbind(dim=1)
    order = torch.argsort(is_last, stable=True)
    order = order[torch.argsort(user[order], stable=True)]
    again = torch.zeros_like(user, dtype=torch.bool)
    again[1:] = user[order][1:] == user[order][:-1]
    if not bool(again.any()):
        return again
    heads = torch.where(again, 0, torch.arange(len(user), device=user.device)).cummax(0).values
    differ = again & (signature[order] != signature[order][heads])
    if rule == "error" and bool(differ.any()):
        raise DuplicateError(
            "a user came twice, with different lists or ground truth",
            where=f"user {int(user[order][differ][0])}",
            found=f"{int(differ.sum())} such lists",
            hint="reset() before another epoch is evaluated; give every user once; or pass "
            f"{parameter('repeated_users', 'first')} to count the first list (scores may differ "
            "in their last "
            "digits where batches differ in size)",
        )
    lost = again & (is_last[order] == 0)
    if bool(lost.any()):
        raise InputError(
            "a user came again after other updates, and sums and counts hold both lists",
            where=f"user {int(user[order][lost][0])}",
            found=f"{int(lost.sum())} such lists",
            hint="only users of the last update of a process can be taken back; give every user "
            "once, or reset() before evaluating again",
        )
    repeated = torch.zeros_like(again)
    repeated[order] = again
    return repeated


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
    """The layout of the states, in order: columns of users, sums by item, counts."""

    columns: tuple[str, ...]
    item_sums: tuple[ItemColumn, ...]
    counts: tuple[str, ...]

    @property
    def width(self) -> int:
        """The number of columns, with the two halves of the digest of a user's ground truth."""
        return len(self.columns) + 2


def layout_of(spec: MetricSpec) -> Layout:
    """Return the layout of a metric's states, from an evaluation of no users."""
    none, scores = torch.zeros(0, dtype=torch.int64), torch.zeros((0, 1))
    rows = Rows(none, none, scores[:, 0].to(torch.float64), 0)
    ranked = rank_scores(
        none,
        Scored(scores, None),
        rows,
        dict.fromkeys(spec.facts.user_items, rows),
        order=spec.tie_order(spec.facts),
        depth=spec.depth,
        top=spec.top,
    )
    measured = _metric(spec, ranked, spec.facts, spec.plan)
    sums = tuple(measured.item_sums) if spec.plan.needs_catalogue else ()
    return Layout(tuple(measured.columns), sums, (*_COUNTS, *measured.counts))


def state_increments(
    spec: MetricSpec, layout: Layout, ranked: Ranked, facts: SideTensors
) -> States:
    """Return the state increments of ranked lists; facts are on the device of the lists.

    Raises
    ------
    MetricError
        If a metric looks at what these lists do not have.
    """
    plan = spec.job(from_scores=ranked.from_scores).plan
    _check(spec, plan, ranked)
    size, device = ranked.user.shape[0], ranked.user.device
    relevant = is_relevant(ranked.judged, spec.settings.relevance_threshold)
    n_relevant = sum_whole(ranked.judged.rows.row, relevant, size)
    is_judged = count(ranked.judged.rows.row, size) > 0
    counted: Tensor = POPULATIONS[spec.settings.evaluated].includes(
        relevant=n_relevant > 0, listed=ranked.length > 0, judged=is_judged
    )
    rows = None if bool(counted.all()) else counted.nonzero()[:, 0]
    measured = _metric(spec, ranked if rows is None else ranked.select(rows), facts, plan)
    values = [measured.columns[name].to(torch.float64) for name in layout.columns]
    columns = torch.stack(values, dim=1)
    if rows is not None:
        columns = columns.new_full((size, len(values)), torch.nan).index_copy_(0, rows, columns)
    columns = torch.cat([columns, _digests(ranked, facts)], dim=1)
    counts = _counts(ranked, n_relevant > 0, spec.depth) | dict(measured.counts)
    items = [measured.item_sums[column] for column in layout.item_sums]
    return {
        "users": ranked.user,
        "columns": columns,
        "signatures": ranked.signature if ranked.has_users else torch.zeros_like(ranked.user),
        "sums": torch.stack(items) if items else ranked.length.new_zeros((0, 0)),
        "counts": torch.stack([_number(counts.get(name, 0), device) for name in layout.counts]),
    }


def _digests(ranked: Ranked, facts: SideTensors) -> Tensor:
    """Return each user's ground truth digest as two halves of 32 bits in doubles, shape (B, 2).

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


def _counts(ranked: Ranked, has_relevant: Tensor, depth: int | None) -> dict[str, Array]:
    """Return the counts of all lists, evaluated or not."""
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
    """Raise if these lists lack an input that a metric needs."""
    for leaf in plan.leaves:
        if not ranked.from_scores and "scores" in leaf.reads.rows:
            raise MetricError(
                f"{leaf.name} needs predicted scores",
                found="lists of items",
                hint="pass scores to update",
            )
        if ranked.cut_in_tie is not None and leaf.reads_below_k:
            raise MetricError(
                f"{leaf} cannot tell what ties with the last item of a list from what follows it",
                found=f"{parameter('list_length', spec.list_length)}, and scores that tie there",
                hint="leave list_length out: all candidates are ranked then",
            )


def _metric(spec: MetricSpec, ranked: Ranked, facts: SideTensors, plan: Plan) -> BlockValues:
    # Metrics make arrays without saying where; here they are made beside the lists.
    with torch.device(ranked.user.device), checks_at_end():
        block = make_block(
            ranked,
            code=facts.users.codes(ranked.user),
            needs=plan.needs,
            order=spec.tie_order(facts, from_scores=ranked.from_scores),
            facts=facts.by_fact,
            n_items=spec.n_items,
            threshold=spec.settings.relevance_threshold,
            deepest=plan.deepest,
        )
        try:
            return plan.block_values(block)
        except MetricFailure as failure:
            user = None if failure.user is None else ranked.user[failure.user].item()
            raise failure.of_user(user) from failure.__cause__


def _number(value: Array, device: torch.device) -> Tensor:
    """Return a count as a tensor: filled in on the device, where a copy would wait."""
    if isinstance(value, Tensor):
        return value.to(torch.int64)
    return torch.full((), value, dtype=torch.int64, device=device)


def named_counts(spec: MetricSpec, layout: Layout, counts: Tensor) -> dict[str, int]:
    """Return the counts by name.

    Raises
    ------
    InputError
        If updates were of different kinds that do not go together.
    """
    named = dict(zip(layout.counts, counts.tolist(), strict=True))
    if spec.is_complete and named["from_scores"] and named["from_lists"]:
        raise InputError(
            "scores and ready lists were mixed, and some metric looks at whole rankings",
            hint="pass the same kind to every update, or cut-offs to the metrics",
        )
    if named["with_users"] and named["without_users"]:
        raise InputError(
            f"{parameter('users')} was passed to some updates, and not to others",
            found=f"{named['with_users']} and {named['without_users']} lists",
            hint=f"pass {parameter('users')} to every update, or to none",
        )
    return named


def partial_of(
    spec: MetricSpec,
    layout: Layout,
    job: Job,
    states: States,
    counts: Mapping[str, int],
    shared_counts: Mapping[str, int],
) -> Partial:
    """Return the states of all processes as a mergeable result, with ids for numbers.

    ``counts`` are those of the lists by name, ``shared_counts`` those of the tables that facts come
    from.
    """
    ties = {spec.ties(from_scores=kind == "from_scores") for kind in KINDS[:2] if counts[kind]}
    has_items = job.plan.needs_catalogue  # ready lists end where they end, and need its size
    return Partial(
        users=_users(spec, layout, states, named=counts["with_users"] > 0),
        about=job.about,
        items=_items(spec, layout, states["sums"]) if has_items else None,
        group_items=_group_items(spec, layout, states["sums"]) if has_items else None,
        counts=_counts_of_partial(counts),
        protocol=_protocol(spec, counts),
        ties=tuple(sorted(ties)),
        inputs=_cards(counts),
        shared_counts=dict(shared_counts),
        digests=_digest_of_truth(states["columns"]) if counts["with_users"] else {},
    )


def _protocol(spec: MetricSpec, counts: Mapping[str, int]) -> str:
    """Return the candidate set that the lists were ranked from, written; empty if unknown."""
    if spec.negatives is not None:
        return Protocol("sampled", negatives=spec.negatives).write()
    return Protocol(PASSED).write() if counts["with_candidates"] else ""


def _cards(counts: Mapping[str, int]) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return the cards of lists and ground truth."""
    ordered_by = {} if counts["from_lists"] else {"score": "scores"}
    relevant_by = {"relevance": "target"} if counts["graded"] else {}
    truth = _card(counts["truth_rows"], relevant_by) | {"split": None}
    return {"recommendations": (_card(counts["rows"], ordered_by),), "truth": (truth,)}


def _counts_of_partial(counts: Mapping[str, int]) -> dict[str, int]:
    kept = {name: n for name, n in counts.items() if name not in KINDS}
    without = counts["lists_without_relevant_items"]
    if without:  # a row of a target is a user of the ground truth
        kept["truth_users_without_relevant_items"] = without
    return kept


def _digest_of_truth(columns: Tensor) -> dict[str, int]:
    """Return the digest of the ground truth of all users, which the last two columns hold."""
    halves = columns[:, -2:].cpu().numpy().astype(np.uint64)
    low, high = (int(half.sum(dtype=np.uint64)) for half in halves.T)
    return {"truth": add_digests([low, high << 32])}


def _users(spec: MetricSpec, layout: Layout, states: States, *, named: bool) -> pl.DataFrame:
    """Return the values of the users who are evaluated; without names every row is another user."""
    columns = states["columns"].T.contiguous().cpu().numpy()
    numbers = states["users"].cpu().numpy() if named else np.arange(columns.shape[1])
    ids = pl.Series("user", numbers)
    if named and spec.users is not None:
        ids = spec.users.ids.gather(numbers)
    values = dict(zip(layout.columns, columns, strict=False))  # without the digest at the end
    frame = pl.DataFrame({"user": ids} | values).filter(pl.col("n_relevant").is_not_nan())
    return frame.with_columns(pl.col("n_relevant", "list_length").cast(pl.Int64))


def _items(spec: MetricSpec, layout: Layout, sums: Tensor) -> pl.DataFrame:
    """Return the sums by item over all users, and the group sums that metrics read."""
    assert spec.items is not None
    named = {
        str(column): values
        for column, values in _columns_of_items(spec, layout, sums, by_group=False).items()
    }
    return pl.DataFrame({"item": spec.items.ids} | named)


def _group_items(spec: MetricSpec, layout: Layout, sums: Tensor) -> pl.DataFrame | None:
    """Return the sums by item in groups of users that have values of their own."""
    columns = _columns_of_items(spec, layout, sums, by_group=True)
    return (
        pl.concat(one.frame(_Ids(spec)) for one in GroupSums.from_dense(columns))
        if columns
        else None
    )


def _columns_of_items(
    spec: MetricSpec, layout: Layout, sums: Tensor, *, by_group: bool
) -> dict[ItemColumn, Any]:
    """Return the sums by item: sums for group values if ``by_group``, else all other sums."""
    assert spec.items is not None
    ids, rows = spec.items.ids, sums.cpu().numpy()
    summed = {
        one.column(k) for one, k in (spec.plan.group_sums if by_group else spec.plan.item_sums)
    }
    # Before the first scores sums are a column of zeros.
    return {
        column: np.broadcast_to(rows[at], len(ids))
        for at, column in enumerate(layout.item_sums)
        if replace(column, group="", part="") in summed
    }


@dataclass(frozen=True)
class _Ids:
    """The ids of the items of a metric, by number."""

    spec: MetricSpec

    def decode(self, numbers: Any) -> pl.Series:
        """Return the ids of these items."""
        assert self.spec.items is not None
        return self.spec.items.ids.gather(numbers)


def _card(rows: int, columns: dict[str, str]) -> dict[str, Any]:
    """Return the provenance card of lists or of a ground truth from tensors."""
    return {
        "source": "tensors",
        "format": "tensors",
        "rows": rows,
        "columns": columns,
        "unread": [],
        "ids": {},
        "ids_trimmed": 0,
        "sha256": None,
    }


class UserStates(Metric):
    """The values of every user, sums by item, and counts, as states of TorchMetrics.

    Parameters
    ----------
    spec : MetricSpec
        What is asked: it names the columns and the sums.
    repeated_users : {"error", "first"}
        What to do with a user who comes twice with different lists.
    **torchmetrics
        Options of ``torchmetrics.Metric``.
    """

    full_state_update = False
    is_differentiable = False
    _version = STATE_DICT.version  # PyTorch writes it to the metadata of state dicts

    def __init__(self, spec: MetricSpec, repeated_users: RepeatRule, **torchmetrics: Any) -> None:
        super().__init__(**torchmetrics)
        self.spec, self.repeated_users = spec, repeated_users
        # Which columns and sums there are does not depend on the number of items: that of one tells
        # it.
        sized = spec.with_items(1) if spec.lacks_items else spec
        self._layout: Layout = layout_of(sized)
        self._facts: SideTensors = sized.facts
        self._last: list[Ranked] = []
        self._names = self._add_states(sized)

    def _add_states(self, spec: MetricSpec) -> dict[str, str]:
        """Register the states, and return their names, which contain a digest of the settings.

        ``torchmetrics.MetricCollection`` shares the states of metrics that look alike after the
        first batch, unless these have other names; and those of a new model are all zeros. Where
        the number of items is not known yet, it is a state; sums are then a column of zeros until
        scores come, which broadcasts to any number.
        """
        layout = self._layout
        shape = (len(layout.item_sums), (spec.n_items or 0) if layout.item_sums else 0)
        sizes: dict[str, tuple[int, ...]] = {"sums": shape, "counts": (len(layout.counts),)}
        if self.spec.lacks_items:
            sizes["n_items"] = ()
        names = {name: f"{name}_{spec.digest}" for name in (*_ROWS, *sizes)}
        for name in _ROWS:
            self.add_state(names[name], default=[], dist_reduce_fx="cat", persistent=True)
        for name, size in sizes.items():
            zeros, reduction = (
                torch.zeros(size, dtype=torch.int64),
                "max" if name == "n_items" else "sum",
            )
            self.add_state(names[name], default=zeros, dist_reduce_fx=reduction, persistent=True)
        return names

    def _sized(self, n_items: int | None) -> tuple[MetricSpec, SideTensors]:
        """Return spec and facts, for a number of items if none is known yet."""
        if not self.spec.lacks_items:
            return self.spec, self._facts
        spec = self.spec.with_scored_items(n_items)
        return spec, map_arrays(spec.facts, self._moved)

    def _read_n_items(self) -> None:
        """Take the number of items from the states, if first set by another metric or process."""
        if self.spec.lacks_items and (n_items := int(self._state("n_items"))):
            self.spec, self._facts = self._sized(n_items)

    def _write_n_items(self) -> None:
        """Keep the number of items as a state, if the number was not passed."""
        if "n_items" in self._names:
            self._set_state(
                "n_items", torch.full_like(self._state("n_items"), self.spec.n_columns or 0)
            )

    def _keep(self, added: list[States], n_repeated: int) -> None:
        """Add the states of an update's blocks."""
        for states in added:
            for name in _ROWS:
                self._state(name).append(states[name])
            # Not in place: in inference mode tensors of another mode may not be changed.
            for name in _SUMS:
                self._set_state(name, self._state(name) + states[name])
        self._set_state("counts", self._with_repeated(self._state("counts"), n_repeated))

    def reset(self) -> None:
        """Forget all lists; a number of items that scores told stays."""
        for name, value in self._defaults.items():
            if isinstance(value, list):  # new ones: TorchMetrics' `Running` keeps those of before
                setattr(self, name, [])
        super().reset()
        self._write_n_items()
        self._last = []

    def state_dict(  # type: ignore[override]
        self, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Return the states as tensors, in which users who came twice count once.

        The lists of the last update, with which they are subtracted, are not saved.
        """
        saved: dict[str, Any] = super().state_dict(destination, prefix, keep_vars)
        try:
            states = self._states() if self._is_synced else self._without_repeats()
        except RankwiseError:  # raised again when values are computed
            states = self._states()
        for name, value in states.items():
            key = prefix + self._names[name]
            if key in saved:  # unless `persistent(False)` was called
                saved[key] = value.detach().clone()
        metadata = getattr(saved, "_metadata", {}).get(prefix[:-1])
        if metadata is not None:  # by which `load_state_dict` tells what differs
            metadata["settings"] = self.spec.described
        return saved

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        version = STATE_DICT.version_of(local_metadata)
        STATE_DICT.check(version, f"state dict, prefix {prefix!r}")
        states = {
            key.removeprefix(prefix): value
            for key, value in state_dict.items()
            if key.startswith(prefix)
        }
        states_now = STATE_DICT.upgrade(states, version)
        state_dict = {f"{prefix}{name}": value for name, value in states_now.items()}

        loaded = [name for name in self._names if prefix + self._names[name] in state_dict]
        if not loaded and any(map(_STATE.fullmatch, states)):
            raise self._other_settings_error(local_metadata.get("settings"))
        if "n_items" in loaded:
            common_n_items([self._state("n_items"), state_dict[prefix + self._names["n_items"]]])

        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args, **kwargs)
        for name in loaded:
            self._settle_loaded(name)
        if loaded:
            self._read_n_items()
            self._write_n_items()
            self._computed, self._last = None, []
            self._update_count = max(self._update_count, int(bool(self._state("users"))))

    def _settle_loaded(self, name: str) -> None:
        """Move a state that was loaded to the device, as a list of one tensor where it is a list."""
        value = self._state(name)
        if isinstance(value, list) and value:
            value = torch.cat([*value])
        if isinstance(value, Tensor):
            value = value.to(self.device, copy=True)
        if isinstance(self._defaults[self._names[name]], list):
            value = [value] if len(value) else []
        self._set_state(name, value)

    def _other_settings_error(self, saved: Mapping[str, str] | None) -> ParameterError:
        """Return the error for states of different settings, with the differences if saved."""
        here = self.spec.described
        differing = [
            f"{name}: {saved.get(name, 'nothing')} saved, {here.get(name, 'nothing')} here"
            for name in ({} if saved is None else {**saved, **here})
            if saved is not None and saved.get(name) != here.get(name)
        ]
        return ParameterError(
            "these states are those of a metric with other settings",
            found="; ".join(differing) or None,
            hint="make the metric with the settings and tables that it had when it was saved",
        )

    def _state(self, name: str) -> Any:
        return getattr(self, self._names[name])

    def _set_state(self, name: str, value: Any) -> None:
        setattr(self, self._names[name], value)

    def _states(self) -> States:
        """Return the states as tensors, with the rows of all updates concatenated."""
        none = torch.zeros(0, dtype=torch.int64, device=self.device)
        empty = {
            "users": none,
            "signatures": none,
            "columns": torch.zeros(
                (0, self._layout.width), dtype=torch.float64, device=self.device
            ),
        }
        out: States = {}
        for name in self._names:
            state = self._state(name)
            if isinstance(state, list):
                state = torch.cat(state) if state else empty[name]
            out[name] = state
        return out

    def _without_repeats(self, gather: Gather | None = None, rank: int = 0) -> States:
        """Return the states without users who came before, here or in another process.

        Parameters
        ----------
        gather : callable, optional
            Returns a tensor of every process, in a list; None: there is one process.
        rank : int, default=0
            The place of this process in that list.

        Raises
        ------
        DuplicateError
            If lists of a user differ.
        InputError
            If what a list added to sums is not known any more.

        Notes
        -----
        All that raises here depends on what was gathered: all processes raise, or none.
        """
        states = self._states()
        total = states["counts"] if gather is None else torch.stack(gather(states["counts"])).sum(0)
        if not named_counts(self.spec, self._layout, total)["with_users"]:
            return states
        n, n_last = len(states["users"]), sum(ranked.user.shape[0] for ranked in self._last)
        is_last = torch.arange(n, device=states["users"].device) >= n - n_last
        keys = torch.stack([states["users"], states["signatures"], is_last.to(torch.int64)], dim=1)
        parts = [keys] if gather is None else gather(keys)
        first = sum(part.shape[0] for part in parts[:rank])
        repeated = repeated_rows(torch.cat(parts), self.repeated_users)[first : first + n]
        n_repeated = int(repeated.sum())
        if not n_repeated:
            return states
        states |= {name: states[name][~repeated] for name in _ROWS}
        for ranked in _selected(self._last, repeated[n - n_last :].to(self.device)):
            added = state_increments(self.spec, self._layout, ranked, self._facts)
            states |= {name: states[name] - added[name] for name in _SUMS}
        return states | {"counts": self._with_repeated(states["counts"], n_repeated)}

    def _with_repeated(self, counts: Tensor, n: int) -> Tensor:
        """Return the counts with a number of repeated users added."""
        if not n:
            return counts
        counts = counts.clone()
        counts[self._layout.counts.index("users_repeated")] += n
        return counts

    def _sync_dist(self, dist_sync_fn: Any = None, process_group: Any = None) -> None:
        """Gather the states of all processes; a user who came in two of them counts once."""
        group = process_group or self.process_group

        def gather(tensor: Tensor) -> list[Tensor]:
            return list(dist_sync_fn(tensor, group=group))

        is_running = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = torch.distributed.get_rank(group) if is_running else 0
        for name, value in gather_states(self._without_repeats(gather, rank), gather).items():
            self._set_state(name, [value] if isinstance(self._state(name), list) else value)

    def _reduce_states(self, incoming_state: dict[str, Any]) -> None:
        """Add states of the same number of items."""
        if "n_items" in self._names:
            common_n_items([self._state("n_items"), incoming_state[self._names["n_items"]]])
        super()._reduce_states(incoming_state)
        self._read_n_items()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch, and return its values; an error restores the state of before."""
        before, states = dict(self.__dict__), self._copy_state_dict()
        try:
            return super().forward(*args, **kwargs)
        except BaseException:  # TorchMetrics has reset the states by then
            self.__dict__.update(before)
            for name, value in states.items():
                setattr(self, name, value)
            raise

    def set_dtype(self, dst_type: str | torch.dtype) -> Any:
        """Return the metric: its states keep the types that exact sums need."""
        return self

    def _apply(self, fn: Callable[..., Any], exclude_state: Sequence[str] = "") -> Any:
        this = super()._apply(fn, exclude_state)
        self._facts = map_arrays(self._facts, self._moved)
        self._last = [map_arrays(ranked, self._moved) for ranked in self._last]
        return this

    def _moved(self, value: Any) -> Any:
        """Return a tensor on the device of the metric, and any other value unchanged."""
        return value.to(self.device) if isinstance(value, Tensor) else value


def safe_name(name: str) -> str:
    """Return a name of letters, digits, ``_``, ``-``, ``.`` and ``/`` alone.

    >>> safe_name("ndcg@10"), safe_name("reo@5[item_group=a]")
    ('ndcg_at_10', 'reo_at_5_item_group_a')
    """
    return re.sub(r"[^\w./-]+", "_", name.replace("@", "_at_")).strip("_")
