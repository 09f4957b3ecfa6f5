"""Metrics as TorchMetrics modules: updated with batches of scores or lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Unpack

import polars as pl
import torch
from torch import Tensor

from rankwise.core.arguments import check_choice, check_positive, described
from rankwise.errors import EmptyError, MetricError, ParameterError
from rankwise.evaluation.engine import finish
from rankwise.evaluation.settings import options_text, takes_options
from rankwise.metrics.base import MetricLike
from rankwise.results.result import Result
from rankwise.torch.batch import Batch, MetricOptions, MetricSpec, read_batch
from rankwise.torch.factors import read_factors
from rankwise.torch.states import (
    RepeatRule,
    UserStates,
    drop_repeated_users,
    named_counts,
    partial_of,
    safe_name,
    state_increments,
)


@described(options=options_text(MetricOptions))
class Collection(UserStates):
    """Several metrics as one TorchMetrics module, which ranks each batch once for all of them.

    ``update`` takes a batch, ``compute`` returns a dict of scalars, ``result`` a
    `rankwise.Result`. Ground truth, ties and all options have the same meaning as in
    `rankwise.evaluate`, and the values are the same.

    Parameters
    ----------
    metrics : str, metric, or a list of them
        The metrics: ``["ndcg@[10,20]", "recall@20", "gini@10"]``.
    n_items : int, optional
        The number of items, which is the number of columns of score matrices. The catalogue is all
        of these items, unless ``items`` names fewer. If it is needed (items are counted, as for
        coverage and Gini, have side information, or order ties by id as text) and not passed, the
        first batch of scores with one column per item tells it, and all later batches and
        processes must have the same. Required if the first batch has ready lists, or scores of
        ``candidates``.
    item_ids, user_ids : iterable, optional
        The ids of items and of users, by position, as tables and results name them. By default
        ids are positions.
    train, items, users, reference : table, path, mapping or tensor, optional
        As in `rankwise.evaluate`. Also tensors, which name users and items by position: training
        interactions as pairs of user and item, shape (n, 2), or as a sparse matrix; ``{"features":
        tensor, "group": tensor}`` with one entry per item or user, in which a row of bools is a set
        of categories.
    exclude_seen : bool, default=False
        Exclude each user's training interactions from the lists; requires ``train``, and ``users``
        in `update`.
    list_length : int, optional
        Cut rankings at this length. By default they are cut at the largest cut-off, and not at all
        if a metric has no cut-off or reads further down (auc): then all candidates are ranked.
        Ready lists keep their length.
    negatives : int, optional
        The number of sampled negatives per user, if ``candidates`` are a sample. It labels the
        results, which can only be compared with results of the same label.
    repeated_users : {"error", "first"}, default="error"
        What to do if a user occurs twice with different lists: raise, or count the first list. A
        user with the same list twice is counted once, if the repetition is in the last update of a
        process, where ``DistributedSampler`` puts it; earlier repetitions are an error.
    block_size : int, optional
        Users per block of a batch; by default as many as have 67 million scores.
    safe_names : bool, default=False
        Replace characters that loggers reject: ``ndcg@10`` becomes ``ndcg_at_10``.
    compute_on_cpu, dist_sync_on_step, process_group, dist_sync_fn, sync_on_compute
        As in ``torchmetrics.Metric``.
    %(options)s

    Raises
    ------
    MetricError
        If an input that a metric needs is missing.
    ParameterError
        If an option is invalid.
    InputError
        If a table cannot be read, or its ids do not match.

    Notes
    -----
    **Waiting for the device.** `update` copies no data to the host. Ties, short lists and invalid
    inputs are looked up a few times per block of users, for all metrics together. Metrics that go
    through lists step by step wait more often: ``alpha_ndcg``, ``bpref``, ``calibration_error``,
    ``category_count``, ``category_entropy``, ``err``, ``fcp``, ``rbo``, ``subtopic_recall``,
    ``xauc`` and ``serendipity(form=history)``.

    **Memory.** Beyond the inputs, memory holds one block of scores, or the shortlists of as many
    users as have 8 million places. A copy of the block is made only where an item is masked.

    **Constant scores**, as of an untrained model, are slow. With ``ties="expected"`` a tied item
    takes one row for every rank of the list.

    **Precision.** Values are computed in float64, in an order that depends only on the rows of each
    user, so they do not change from run to run. Apple's devices have no float64 and are not
    supported. ``set_dtype`` changes nothing.

    **Checkpoints.** ``state_dict()`` has the states of the epoch so far, with a version. An object
    with the same metrics and options loads it; if settings or tables differ, an error names the
    setting. Users of the last update before saving are not recognised after loading if they are
    also in a second process.

    See Also
    --------
    MetricModule : A single metric.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import Collection
    >>> metrics = Collection(["recall@2", "mrr@2"])
    >>> scores = torch.tensor([[0.9, 0.1, 0.5], [0.2, 0.8, 0.4]])
    >>> metrics.update(scores, torch.tensor([2, 2]))
    >>> {name: round(value.item(), 4) for name, value in metrics.compute().items()}
    {'recall@2': 1.0, 'mrr@2': 0.5}

    The catalogue of coverage is all columns:

    >>> coverage = Collection("coverage@1")
    >>> coverage.update(scores, torch.tensor([2, 2]))
    >>> round(coverage.compute()["catalog_coverage@1"].item(), 4)
    0.6667
    """

    @takes_options(MetricOptions)
    def __init__(
        self,
        metrics: MetricLike | Iterable[MetricLike],
        *,
        n_items: int | None = None,
        item_ids: Iterable[Any] | None = None,
        user_ids: Iterable[Any] | None = None,
        train: Any = None,
        items: Any = None,
        users: Any = None,
        reference: Any = None,
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
        check_choice("repeated_users", repeated_users, RepeatRule)
        check_positive(
            n_items=n_items, list_length=list_length, negatives=negatives, block_size=block_size
        )
        spec = MetricSpec.read(
            metrics,
            options,
            {"train": train, "items": items, "users": users, "reference": reference},
            n_items=n_items,
            item_ids=item_ids,
            user_ids=user_ids,
            exclude_seen=exclude_seen,
            list_length=list_length,
            negatives=negatives,
        )
        super().__init__(
            spec,
            repeated_users,
            compute_on_cpu=compute_on_cpu,
            dist_sync_on_step=dist_sync_on_step,
            process_group=process_group,
            dist_sync_fn=dist_sync_fn,
            sync_on_compute=sync_on_compute,
        )
        self.block_size = block_size
        self.safe_names = safe_names
        self._result: Result | None = None
        self._nothing: EmptyError | None = None
        self._check_metrics()

    def _check_metrics(self) -> None:
        """Raise if this metric does not take several metrics: this one does."""

    def update(
        self,
        scores: Tensor,
        target: Tensor,
        *,
        users: Tensor | None = None,
        exclude: Tensor | None = None,
        candidates: Tensor | None = None,
    ) -> None:
        """Add a batch: the scores or lists of some users.

        Parameters
        ----------
        scores : tensor, shape (B, I) or (B, K)
            Scores of all items as floats of any precision, where −inf excludes an item from the
            candidate set; or ready lists of item positions as integers, best first, padded with -1.
        target : tensor
            The ground truth: relevances as a dense matrix of bool or float, shape (B, I) (integers
            as well, if scores have that shape); a sparse CSR or COO matrix; lists of item
            positions, shape (B, T), padded with -1; or one item per user, shape (B,). If
            ``candidates`` are lists, a dense tensor of their shape has one label per candidate.
        users : tensor of int, shape (B,), optional
            The users. Repeated users, with whom ``DistributedSampler`` fills up the last batch, are
            then evaluated once. Without it every row is a new user.
        exclude : tensor, optional
            Items that are not ranked, in any form of ``target``. Zeros of a dense mask exclude
            nothing; every stored entry of a sparse one excludes its item.
        candidates : tensor, optional
            The candidate sets: a mask of bool, shape (B, I); or the items whose scores are given,
            shape (B, C), padded with -1.

        Raises
        ------
        InputError
            If shapes or devices do not match, a score is NaN, or an item is unknown. The states are
            left unchanged.
        ParameterError
            If the number of items is needed, was not passed, and the first batch does not tell it.
        """
        self._add(read_batch(self.spec, self.device, scores, target, users, exclude, candidates))

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
        """Add a batch from embeddings; its score matrix is never materialised as a whole.

        Parameters
        ----------
        user_factors, item_factors : tensor of float, shapes (B, d) and (I, d)
            User and item embeddings; scores are their inner products.
        target, users, exclude
            As in `update`.
        bias : tensor of float, shape (I,), optional
            Item biases, added to the products.
        dtype : torch.dtype, optional
            The precision of the product; by default that of the embeddings. In half precision the
            factors are rounded, and products are added up and kept in float32.
        """
        factors = read_factors(user_factors, item_factors, bias, dtype)
        self._add(read_batch(self.spec, self.device, factors, target, users, exclude, None))
        self._computed = None  # TorchMetrics keeps these for a method called `update` alone
        self._update_count += 1
        if self.compute_on_cpu:  # as TorchMetrics does after `update`
            self._move_list_states_to_cpu()

    def _add(self, batch: Batch) -> None:
        if not batch.size:
            return
        spec, facts = self._sized(batch.n_items)
        with torch.no_grad():
            blocks = batch.blocks(spec.depth, self.block_size)
            ranked = [
                part
                for block in blocks
                for lists in block.rank(spec, facts)
                for part in lists.parts()
            ]
            ranked, n_repeated = (
                drop_repeated_users(ranked, self.repeated_users) if batch.has_users else (ranked, 0)
            )
            added = [state_increments(spec, self._layout, lists, facts) for lists in ranked]
        self.spec, self._facts = spec, facts
        self._write_n_items()
        self._keep(added, n_repeated)
        self._last = ranked if batch.has_users else []

    def extra_repr(self) -> str:
        """Return the metrics, for `repr`."""
        return ", ".join(repr(str(metric)) for metric in self.spec.settings.metrics)

    def compute(self) -> Any:
        """Return the values by name, as scalars on the device of the metric.

        Values are NaN if no user has been evaluated yet. In a distributed run every process gets
        the values over all users.
        """
        names = [name for m in self.spec.settings.metrics for name in m.cells]
        try:
            self._result, self._nothing = self._finish(), None
        except EmptyError as error:
            self._result, self._nothing = None, error
        values = dict.fromkeys(names, float("nan")) if self._result is None else self._result.values
        return self._named(
            {
                name: torch.tensor(value, dtype=torch.float64, device=self.device)
                for name, value in values.items()
            }
        )

    def result(self) -> Result:
        """Return a `rankwise.Result`, for per-user values, intervals and comparisons.

        In a distributed run it is the result over all users, and all processes have to call it.

        Raises
        ------
        EmptyError
            If no user has been evaluated.
        """
        self._computed = None
        self.compute()
        if self._result is not None:
            return self._result
        if self._nothing is None or not self._update_count:
            raise _no_user()
        raise self._nothing

    def per_user(self) -> pl.DataFrame:
        """Return the per-user values: a table with one row per user."""
        return self.result().per_user

    def _named(self, values: dict[str, Tensor]) -> Any:
        if not self.safe_names:
            return values
        shown = {safe_name(name): value for name, value in values.items()}
        if len(shown) < len(values):
            raise ParameterError(
                "two values have the same name without the signs that loggers refuse",
                found=", ".join(values),
                hint="leave safe_names out, or rename groups",
            )
        return shown

    def _finish(self) -> Result:
        self._read_n_items()
        if self.spec.lacks_items:
            raise _no_user()
        states = self._states() if self._is_synced else self._without_repeats()
        counts = named_counts(self.spec, self._layout, states["counts"])
        job = self.spec.job(from_scores=not counts["from_lists"])
        partial = partial_of(self.spec, self._layout, job, states, counts, self._facts.counts)
        result = finish(job, [partial])
        if counts["with_users"]:
            return result
        return replace(result, provenance={**result.provenance, "users": "rows"})


def _no_user() -> EmptyError:
    return EmptyError("no user has been evaluated yet", hint="call update(…) first")


class MetricModule(Collection):
    """A metric as a TorchMetrics module, with the parameters and methods of `Collection`.

    ``compute`` returns a scalar, or a dict of scalars if the metric has several cut-offs or groups.
    Several metrics are faster in one `Collection`, which ranks once for all of them.

    Examples
    --------
    >>> import torch
    >>> from rankwise.torch import MetricModule
    >>> ndcg = MetricModule("ndcg@2")
    >>> ndcg.update(torch.tensor([[0.9, 0.1, 0.5]]), torch.tensor([[False, False, True]]))
    >>> round(ndcg.compute().item(), 4)
    0.6309
    """

    def _check_metrics(self) -> None:
        metrics = self.spec.settings.metrics
        if len(metrics) > 1:
            raise MetricError(
                "MetricModule is one metric",
                found=", ".join(map(str, metrics)),
                hint="pass several to rankwise.torch.Collection",
            )

    @property
    def higher_is_better(self) -> bool | None:  # type: ignore[override]
        """Whether higher values are better; None if neither direction is."""
        return self.spec.settings.metrics[0].higher_is_better

    def _named(self, values: dict[str, Tensor]) -> Any:
        return next(iter(values.values())) if len(values) == 1 else super()._named(values)
