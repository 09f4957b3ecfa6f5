"""Measures as TorchMetrics modules: fed with batches of scores or lists, computed at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Unpack

import numpy as np
import polars as pl
from torchmetrics import Metric

import torch
from rankwise.core.arguments import check_choice, check_positive
from rankwise.core.partial import Partial
from rankwise.errors import EmptyError, InputError, MeasureError, ParameterError
from rankwise.evaluation.signatures import takes_options
from rankwise.evaluation.work import Job, finish
from rankwise.measures.read import MeasureLike
from rankwise.results.result import Result
from rankwise.tables.protocol import Protocol
from rankwise.torch.batch import Batch, block_rows, read_batch
from rankwise.torch.factors import read_factors
from rankwise.torch.job import KINDS, Asked, MetricOptions
from rankwise.torch.known import Known
from rankwise.torch.ranked import Ranked
from rankwise.torch.sync import RepeatRule, Repeats, States, gathered, signatures, without_repeats
from torch import Tensor

__all__ = ["Collection", "Measure"]


class Collection(Metric):
    """Several measures as one TorchMetrics module: one ranking and one match for all of them.

    ``update`` takes a batch, ``compute`` returns a dict of scalars, ``result`` a
    `rankwise.Result`. Ground truth, ties and every option mean what they mean in
    `rankwise.evaluate`, and the values are the same.

    Parameters
    ----------
    measures : str, measure, or a list of them
        The metrics: ``["ndcg@[10,20]", "recall@20", "gini@10"]``.
    n_items : int, optional
        The number of items, which are the columns of scores. Needed where items are counted
        (coverage, Gini, …) or something is known about them; the catalogue is all of them, unless
        ``items`` names fewer.
    item_ids, user_ids : iterable, optional
        What the numbers of items and of users stand for, in tables and in results. By default
        items and users are called by their numbers.
    train, items, users, baseline : table, path, mapping or tensor, optional
        As in `rankwise.evaluate`. Also tensors: training interactions as pairs of user and item,
        shape (n, 2), or as a sparse matrix; ``{"features": tensor, "group": tensor}`` with one
        entry per item or user; a row of bools is a set of categories.
    exclude_seen : bool, default=False
        Take each user's training interactions out of the lists; needs ``train`` and users.
    list_length : int, optional
        Cut rankings at this length. By default at the largest cut-off; not at all if some measure
        has no cut-off, or reads further down (auc): all candidates are ranked then.
    negatives : int, optional
        The number of sampled negatives per user, where candidates are a sample: it labels results.
    repeated_users : {"error", "first"}, default="error"
        Where a user comes twice with different lists: raise, or count the first list. Equal lists
        count once in any case.
    block_size : int, optional
        Users per block of a batch. By default as many as have 67 million scores.
    safe_names : bool, default=False
        Name values for loggers that take letters, digits, ``_-./`` alone: ``ndcg_at_10``.
    compute_on_cpu, dist_sync_on_step, process_group, dist_sync_fn, sync_on_compute
        As in ``torchmetrics.Metric``.
    %(options)s

    Raises
    ------
    UsageError
        If a measure or an option makes no sense, or a measure needs what is not given.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import Collection
    >>> metrics = Collection(["recall@2", "mrr@2"])
    >>> scores = torch.tensor([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]])
    >>> metrics.update(scores, torch.tensor([2, 2]))
    >>> {name: round(value.item(), 4) for name, value in metrics.compute().items()}
    {'recall@2': 1.0, 'mrr@2': 0.5}
    """

    full_state_update = False
    is_differentiable = False

    @takes_options(MetricOptions)
    def __init__(
        self,
        measures: MeasureLike | Iterable[MeasureLike],
        *,
        n_items: int | None = None,
        item_ids: Iterable[Any] | None = None,
        user_ids: Iterable[Any] | None = None,
        train: Any = None,
        items: Any = None,
        users: Any = None,
        baseline: Any = None,
        exclude_seen: bool = False,
        list_length: int | None = None,
        negatives: int | None = None,
        repeated_users: RepeatRule = "error",
        block_size: int | None = None,
        safe_names: bool = False,
        compute_on_cpu: bool = False,
        dist_sync_on_step: bool = False,
        process_group: Any = None,
        dist_sync_fn: Callable[..., Any] | None = None,
        sync_on_compute: bool = True,
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(
            compute_on_cpu=compute_on_cpu, dist_sync_on_step=dist_sync_on_step,
            process_group=process_group, dist_sync_fn=dist_sync_fn, sync_on_compute=sync_on_compute,
        )  # fmt: skip
        check_choice("repeated_users", repeated_users, RepeatRule)
        check_positive(n_items=n_items, list_length=list_length, negatives=negatives,
                       block_size=block_size)  # fmt: skip
        self.asked = Asked.read(
            measures, options, n_items=n_items, item_ids=item_ids, user_ids=user_ids, train=train,
            items=items, users=users, baseline=baseline, exclude_seen=exclude_seen,
            list_length=list_length, negatives=negatives,
        )  # fmt: skip
        self.repeated_users, self.block_size = repeated_users, block_size
        self.safe_names = safe_names
        self._known: Known = self.asked.known
        self._last: list[Ranked] = []
        self._result: Result | None = None
        self._names = self._add_states()

    def _add_states(self) -> dict[str, str]:
        """Register the states, and return their names.

        They are named after the measures: ``torchmetrics.MetricCollection`` shares the states of
        metrics that look alike after the first batch, and those of a new model are all zeros.
        """
        asked = self.asked
        stem = _safe("_".join(map(str, asked.settings.measures)))
        states = ("users", "columns", "signatures", "sums", "counts")
        names = {name: f"{name}_{stem}".replace(".", "_").replace("/", "_") for name in states}
        for name in states[:3]:
            self.add_state(names[name], default=[], dist_reduce_fx="cat")
        shape = (len(asked.item_sums), asked.n_items if asked.item_sums else 0)
        for name, size in (("sums", shape), ("counts", (len(asked.counts),))):
            zeros = torch.zeros(size, dtype=torch.int64)
            self.add_state(names[name], default=zeros, dist_reduce_fx="sum")
        return names

    def update(
        self,
        scores: Tensor,
        target: Tensor,
        *,
        users: Tensor | None = None,
        exclude: Tensor | None = None,
        candidates: Tensor | None = None,
    ) -> None:
        """Add the lists of some users.

        Parameters
        ----------
        scores : tensor, shape (B, I) or (B, K)
            Scores of all items as floats of any precision, with minus infinity for what is no
            candidate; or ready lists of item numbers as whole numbers, best first, padded with -1.
        target : tensor
            The ground truth: relevances as a dense matrix of bool or float, shape (B, I) (whole
            numbers too, beside scores of that shape); a sparse CSR or COO matrix; lists of item
            numbers, shape (B, T), padded with -1; or one item per user, shape (B,).
        users : tensor of int, shape (B,), optional
            The users. Users who come twice, as those do with whom ``DistributedSampler`` fills up
            the last batch, are then evaluated once. Without it every row is another user.
        exclude : tensor, optional
            Items that are not ranked, in any form of ``target``.
        candidates : tensor, optional
            The candidates: a mask of bool, shape (B, I); or the items that ``scores`` are of,
            shape (B, C), padded with -1.

        Raises
        ------
        InputError
            If shapes or devices do not fit, a score is NaN, or an item is unknown. The states are
            then as they were before.
        """
        self._add(read_batch(
            scores, target, users=users, exclude=exclude, candidates=candidates,
            device=self.device, asked=self.asked,
        ))  # fmt: skip

    def update_factors(
        self,
        user_factors: Tensor,
        item_factors: Tensor,
        target: Tensor,
        *,
        bias: Tensor | None = None,
        dtype: torch.dtype | None = None,
        users: Tensor | None = None,
        exclude: Tensor | None = None,
    ) -> None:
        """Add the lists of some users, ranked from embeddings a block of users at a time.

        Parameters
        ----------
        user_factors, item_factors : tensor of float, shapes (B, d) and (I, d)
            The embeddings; scores are their products.
        target, users, exclude
            As in `update`.
        bias : tensor of float, shape (I,), optional
            Item biases, added to the products.
        dtype : torch.dtype, optional
            The precision of the product; by default that of the embeddings. In half precision the
            factors are rounded, and products are added up and kept in float32.
        """
        self._computed = None
        self._update_count += 1
        self._add(read_batch(
            read_factors(user_factors, item_factors, bias, dtype), target, users=users,
            exclude=exclude, candidates=None, device=self.device, asked=self.asked,
        ))  # fmt: skip
        if self.compute_on_cpu:  # as TorchMetrics does after `update`
            self._move_list_states_to_cpu()

    def _add(self, batch: Batch) -> None:
        from_scores = batch.scores is not None
        with torch.no_grad():
            last = list(self._ranked(batch))
            added = [
                self.asked.sums(ranked, self._known, from_scores=from_scores,
                                with_users=batch.has_users) for ranked in last
            ]  # fmt: skip
            signed = [signatures(ranked) for ranked in last] if batch.has_users else []
        for at, sums in enumerate(added):
            self._state("users").append(sums.user)
            self._state("columns").append(sums.columns)
            signature = signed[at] if signed else torch.zeros_like(sums.user)
            self._state("signatures").append(signature)
            # Not in place: in inference mode tensors of another mode may not be changed.
            self._set_state("sums", self._state("sums") + sums.items)
            self._set_state("counts", self._state("counts") + sums.counts)
        self._last = last if batch.has_users else []

    def compute(self) -> Any:
        """Return the values by name, as scalars on the device of the metric.

        NaN where no user has been evaluated yet. In a distributed run every process gets the
        values of all users.
        """
        names = [name for m in self.asked.settings.measures for name in m.cells]
        try:
            self._result = self._finish()
        except EmptyError:
            self._result = None
        values = dict.fromkeys(names, float("nan")) if self._result is None else self._result.values
        # Apple's devices have no float64.
        kind = torch.float32 if self.device.type == "mps" else torch.float64
        return self._shown({
            name: torch.tensor(value, dtype=kind, device=self.device)
            for name, value in values.items()
        })  # fmt: skip

    def result(self) -> Result:
        """Return everything as a `rankwise.Result`: intervals, per-user values, comparisons.

        In a distributed run it is the result of all users, and all processes have to call it.

        Raises
        ------
        EmptyError
            If no user has been evaluated.
        """
        self._computed = None
        self.compute()
        if self._result is None:
            raise EmptyError("no user has been evaluated yet", hint="call update(…) first")
        return self._result

    def per_user(self) -> pl.DataFrame:
        """Return the values of every user: a table with one row per user."""
        return self.result().per_user

    def reset(self) -> None:
        """Forget all lists."""
        super().reset()
        self._last, self._result = [], None

    def _shown(self, values: dict[str, Tensor]) -> Any:
        if not self.safe_names:
            return values
        shown = {_safe(name): value for name, value in values.items()}
        if len(shown) < len(values):
            raise ParameterError(
                "two values have the same name without the signs that loggers refuse",
                found=", ".join(values), hint="leave safe_names out, or rename groups",
            )  # fmt: skip
        return shown

    def _state(self, name: str) -> Any:
        return getattr(self, self._names[name])

    def _set_state(self, name: str, value: Any) -> None:
        setattr(self, self._names[name], value)

    def _ranked(self, batch: Batch) -> Iterator[Ranked]:
        step = block_rows(batch.width, self.block_size)
        for first in range(0, batch.size, step):
            yield batch.part(first, min(first + step, batch.size)).rank(self.asked, self._known)

    def _states(self) -> States:
        """Return the states as tensors: rows of all updates one after the other."""
        none = torch.zeros(0, dtype=torch.int64, device=self.device)
        n_columns = len(self.asked.columns)
        empty = {
            "users": none, "signatures": none,
            "columns": torch.zeros((0, n_columns), dtype=torch.float64, device=self.device),
        }  # fmt: skip
        out: States = {}
        for name in self._names:
            state = self._state(name)
            if isinstance(state, list):
                state = torch.cat(state) if state else empty[name]
            out[name] = state
        return out

    def _settled(self, gather: Callable[[Tensor], list[Tensor]] | None, rank: int) -> States:
        """Return the states without users who came before, here or in another process."""
        states = self._states()
        total = states["counts"]
        if gather is not None:  # of all processes, so that all of them raise, or none
            total = torch.stack(gather(total)).sum(0)
        counts = dict(zip(self.asked.counts, total.tolist(), strict=True))
        _check_one_kind(counts, complete=self.asked.is_complete)
        if not counts["with_users"]:
            return states
        n_last = sum(ranked.user.shape[0] for ranked in self._last)
        repeats = Repeats(self.repeated_users, n_last, self._take_back)
        states, n = without_repeats(states, repeats, gather, rank)
        own = states["counts"].clone()
        own[self.asked.counts.index("users_repeated")] += n
        return states | {"counts": own}

    def _take_back(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return what some rows of the last update added to sums and counts."""
        sums, counts = self._state("sums") * 0, self._state("counts") * 0
        rows, first = rows.to(self.device), 0
        for ranked in self._last:
            here = rows[(rows >= first) & (rows < first + ranked.user.shape[0])] - first
            first += ranked.user.shape[0]
            if len(here):
                part = self.asked.sums(ranked.select(here), self._known, with_users=True,
                                       from_scores=ranked.scores is not None)  # fmt: skip
                sums, counts = sums + part.items, counts + part.counts
        return sums, counts

    def _sync_dist(self, dist_sync_fn: Any = None, process_group: Any = None) -> None:
        """Gather the states of all processes; a user who came in two of them counts once."""
        group = process_group or self.process_group

        def gather(tensor: Tensor) -> list[Tensor]:
            return list(dist_sync_fn(tensor, group=group))

        is_running = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = torch.distributed.get_rank(group) if is_running else 0
        for name, value in gathered(self._settled(gather, rank), gather).items():
            self._set_state(name, [value] if isinstance(self._state(name), list) else value)

    def _finish(self) -> Result:
        states = self._states() if self._is_synced else self._settled(None, 0)
        counts = dict(zip(self.asked.counts, states["counts"].tolist(), strict=True))
        from_lists = counts["from_lists"] > 0
        job = self.asked.list_job if from_lists else self.asked.job
        return finish(job, [self._partial(job, states, counts, from_lists=from_lists)])

    def _partial(
        self, job: Job, states: States, counts: dict[str, int], *, from_lists: bool
    ) -> Partial:
        asked, users = self.asked, states["users"].cpu().numpy()
        if not counts["with_users"]:
            users = np.arange(len(users))  # every row is another user
        columns = states["columns"].cpu().numpy()
        ids = pl.Series("user", users)
        if asked.user_ids is not None and counts["with_users"]:
            ids = pl.Series("user", list(asked.user_ids)).gather(users)
        whole = [pl.col(name).cast(pl.Int64) for name in ("n_relevant", "list_length")]
        frame = pl.DataFrame({"user": ids} | {
            name: np.ascontiguousarray(columns[:, at]) for at, name in enumerate(asked.columns)
        })  # fmt: skip
        frame = frame.filter(pl.col("n_relevant").is_not_nan()).with_columns(whole)
        items = None
        if asked.plan.needs_catalogue:
            assert asked.axis is not None
            sums = states["sums"].cpu().numpy()
            items = pl.DataFrame({"item": asked.axis.ids} | {
                str(column): sums[at] for at, column in enumerate(asked.item_sums)
            })  # fmt: skip
        card = {"source": "tensors", "format": "tensors", "columns": {}, "unread": [], "ids": {},
                "ids_trimmed": 0, "sha256": None}  # fmt: skip
        negatives = asked.negatives
        sampled = None if negatives is None else Protocol("sampled", negatives=negatives)
        return Partial(
            users=frame,
            about=job.about,
            items=items,
            counts={name: n for name, n in counts.items() if name not in KINDS},
            protocol="" if sampled is None else sampled.write(),
            ties=("input",) if from_lists else (asked.ties,),
            inputs={
                "recommendations": ({**card, "rows": counts["rows"]},),
                "truth": ({**card, "rows": counts["truth_rows"], "split": None},),
            },
            reference_counts=dict(self._known.counts),
        )

    def _apply(self, fn: Callable[..., Any], exclude_state: Sequence[str] = "") -> Any:
        this = super()._apply(fn, exclude_state)
        device = self.device
        self._known = self._known.moved(lambda tensor: tensor.to(device))
        self._last = []
        return this


class Measure(Collection):
    """A measure as a TorchMetrics module; parameters and methods are those of `Collection`.

    ``compute`` returns one scalar, or a dict of them where the measure has several cut-offs or
    groups. Several measures are faster in one `Collection`, which ranks once for all of them.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import Measure
    >>> ndcg = Measure("ndcg@2")
    >>> ndcg.update(torch.tensor([[0.9, 0.1, 0.5]]), torch.tensor([[False, False, True]]))
    >>> round(ndcg.compute().item(), 4)
    0.6309
    """

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override]
        """Whether larger values are better; None where neither is."""
        measures = self.asked.settings.measures
        return measures[0].higher_is_better

    def _shown(self, values: dict[str, Tensor]) -> Any:
        if len(self.asked.settings.measures) > 1:
            raise MeasureError(
                "Measure is one measure", found=", ".join(map(str, self.asked.settings.measures)),
                hint="pass several to rankwise.torch.Collection",
            )  # fmt: skip
        return next(iter(values.values())) if len(values) == 1 else super()._shown(values)


def _check_one_kind(counts: dict[str, int], *, complete: bool) -> None:
    """Raise if updates were of different kinds that do not go together."""
    if complete and counts["from_scores"] and counts["from_lists"]:
        raise InputError(
            "scores and ready lists were mixed, and some measure looks at whole rankings",
            hint="pass the same kind to every update, or cut-offs to the measures",
        )
    if counts["with_users"] and counts["without_users"]:
        raise InputError(
            "some updates said who the users are, and some did not",
            found=f"{counts['with_users']} and {counts['without_users']} lists",
            hint="pass users= to every update, or to none",
        )


def _safe(name: str) -> str:
    """Return a name of letters, digits, ``_``, ``-``, ``.`` and ``/`` alone.

    >>> _safe("ndcg@10"), _safe("reo@5[item_group=a]")
    ('ndcg_at_10', 'reo_at_5_item_group_a')
    """
    return re.sub(r"[^\w./-]+", "_", name.replace("@", "_at_")).strip("_")
