"""The states of a metric between updates, and how several processes merge them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from rankwise.errors import RankwiseError
from rankwise.torch.fact_tensors import FactTensors, mapped
from rankwise.torch.partials import named_counts
from rankwise.torch.ranked import Ranked
from rankwise.torch.run import Layout, Sums, layout_of, measure_lists
from rankwise.torch.spec import MetricSpec
from rankwise.torch.sync import Gather, RepeatRule, Repeats, States, common_n_items, gathered, without_repeats

__all__ = ["UserStates", "safe_name"]


class UserStates(Metric):
    """The values of every user, sums by item, and counts, as states of TorchMetrics.

    Parameters
    ----------
    spec : MetricSpec
        What is asked: it names the columns and the sums.
    repeated_users : {"error", "first"}
        What to do with a user who comes twice with different lists.
    compute_on_cpu, dist_sync_on_step, process_group, dist_sync_fn, sync_on_compute
        As in ``torchmetrics.Metric``.
    """

    full_state_update = False
    is_differentiable = False

    def __init__(
        self,
        spec: MetricSpec,
        repeated_users: RepeatRule,
        *,
        compute_on_cpu: bool,
        dist_sync_on_step: bool,
        process_group: Any,
        dist_sync_fn: Callable[..., Any] | None,
        sync_on_compute: bool,
    ) -> None:
        super().__init__(
            compute_on_cpu=compute_on_cpu,
            dist_sync_on_step=dist_sync_on_step,
            process_group=process_group,
            dist_sync_fn=dist_sync_fn,
            sync_on_compute=sync_on_compute,
        )
        self.spec, self.repeated_users = spec, repeated_users
        # Which columns and sums there are does not depend on the number of items: that of one tells it.
        sized = spec.with_items(1) if spec.lacks_items else spec
        self._layout: Layout = layout_of(sized)
        self._facts: FactTensors = sized.facts
        self._last: list[Ranked] = []
        self._names = self._add_states(sized)

    def _add_states(self, spec: MetricSpec) -> dict[str, str]:
        """Register the states, and return their names, which tell what was asked.

        ``torchmetrics.MetricCollection`` shares the states of metrics that look alike after the
        first batch, unless these have other names; and those of a new model are all zeros. Where the
        number of items is not known yet, it is a state; sums are then a column of zeros until scores
        come, which broadcasts to any number.
        """
        layout, rows = self._layout, ("users", "columns", "signatures")
        shape = (len(layout.item_sums), (spec.n_items or 0) if layout.item_sums else 0)
        sizes: dict[str, tuple[int, ...]] = {"sums": shape, "counts": (len(layout.counts),)}
        if self.spec.lacks_items:
            sizes["n_items"] = ()
        names = {name: f"{name}_{spec.digest}" for name in (*rows, *sizes)}
        for name in rows:
            self.add_state(names[name], default=[], dist_reduce_fx="cat", persistent=True)
        for name, size in sizes.items():
            zeros, reduction = torch.zeros(size, dtype=torch.int64), "max" if name == "n_items" else "sum"
            self.add_state(names[name], default=zeros, dist_reduce_fx=reduction, persistent=True)
        return names

    def _sized(self, n_items: int | None) -> tuple[MetricSpec, FactTensors]:
        """Return spec and facts, for a number of items if none is known yet."""
        if not self.spec.lacks_items:
            return self.spec, self._facts
        spec = self.spec.with_scored_items(n_items)
        return spec, mapped(spec.facts, self._moved)

    def _read_n_items(self) -> None:
        """Take the number of items from the states, where another metric or process had scores first."""
        if self.spec.lacks_items and (n_items := int(self._state("n_items"))):
            self.spec, self._facts = self._sized(n_items)

    def _write_n_items(self) -> None:
        """Keep the number of items as a state, if it was not passed."""
        if "n_items" in self._names:
            self._set_state("n_items", torch.full_like(self._state("n_items"), self.spec.n_columns or 0))

    def _keep(self, sums: Sums, signature: Tensor) -> None:
        """Add what some lists came to."""
        self._state("users").append(sums.user)
        self._state("columns").append(sums.columns)
        self._state("signatures").append(signature)
        # Not in place: in inference mode tensors of another mode may not be changed.
        self._set_state("sums", self._state("sums") + sums.items)
        self._set_state("counts", self._state("counts") + sums.counts)

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
            states = self._states() if self._is_synced else self._without_repeats(None, 0)
        except RankwiseError:  # raised again when values are computed
            states = self._states()
        for name, value in states.items():
            key = prefix + self._names[name]
            if key in saved:  # unless `persistent(False)` was called
                saved[key] = value.detach().clone()
        return saved

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        loaded = [name for name in self._names if prefix + self._names[name] in state_dict]
        if "n_items" in loaded:
            common_n_items([self._state("n_items"), state_dict[prefix + self._names["n_items"]]])
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
        for name in loaded:
            value = self._state(name)
            value = torch.cat([*value]) if isinstance(value, list) and value else value
            value = value.to(self.device, copy=True) if isinstance(value, Tensor) else value
            is_list = isinstance(self._defaults[self._names[name]], list)
            self._set_state(name, ([value] if len(value) else []) if is_list else value)
        if loaded:
            self._read_n_items()
            self._write_n_items()
            self._computed, self._last = None, []
            self._update_count = max(self._update_count, int(bool(self._state("users"))))

    def _state(self, name: str) -> Any:
        return getattr(self, self._names[name])

    def _set_state(self, name: str, value: Any) -> None:
        setattr(self, self._names[name], value)

    def _states(self) -> States:
        """Return the states as tensors: rows of all updates one after the other."""
        none = torch.zeros(0, dtype=torch.int64, device=self.device)
        empty = {
            "users": none,
            "signatures": none,
            "columns": torch.zeros((0, self._layout.width), dtype=torch.float64, device=self.device),
        }
        out: States = {}
        for name in self._names:
            state = self._state(name)
            if isinstance(state, list):
                state = torch.cat(state) if state else empty[name]
            out[name] = state
        return out

    def _without_repeats(self, gather: Gather | None, rank: int) -> States:
        """Return the states without users who came before, here or in another process."""
        states = self._states()
        total = states["counts"]
        if gather is not None:  # of all processes, so that all of them raise, or none
            total = torch.stack(gather(total)).sum(0)
        counts = named_counts(self.spec, self._layout, total)
        if not counts["with_users"]:
            return states
        n_last = sum(ranked.user.shape[0] for ranked in self._last)
        repeats = Repeats(self.repeated_users, n_last, self._take_back)
        states, n = without_repeats(states, repeats, gather, rank)
        return states | {"counts": self._with_repeated(states["counts"], n)}

    def _with_repeated(self, counts: Tensor, n: int) -> Tensor:
        """Return the counts with a number of repeated users added."""
        if not n:
            return counts
        counts = counts.clone()
        counts[self._layout.counts.index("users_repeated")] += n
        return counts

    def _count_repeated(self, n: int) -> None:
        self._set_state("counts", self._with_repeated(self._state("counts"), n))

    def _take_back(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return the contribution of some rows of the last update to sums and counts."""
        sums, counts = self._state("sums") * 0, self._state("counts") * 0
        rows, first = rows.to(self.device), 0
        for ranked in self._last:
            here = rows[(rows >= first) & (rows < first + ranked.user.shape[0])] - first
            first += ranked.user.shape[0]
            if len(here):
                part = measure_lists(self.spec, self._layout, ranked.select(here), self._facts)
                sums, counts = sums + part.items, counts + part.counts
        return sums, counts

    def _sync_dist(self, dist_sync_fn: Any = None, process_group: Any = None) -> None:
        """Gather the states of all processes; a user who came in two of them counts once."""
        group = process_group or self.process_group

        def gather(tensor: Tensor) -> list[Tensor]:
            return list(dist_sync_fn(tensor, group=group))

        is_running = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = torch.distributed.get_rank(group) if is_running else 0
        for name, value in gathered(self._without_repeats(gather, rank), gather).items():
            self._set_state(name, [value] if isinstance(self._state(name), list) else value)

    def _reduce_states(self, incoming_state: dict[str, Any]) -> None:
        """Add states of the same number of items."""
        if "n_items" in self._names:
            common_n_items([self._state("n_items"), incoming_state[self._names["n_items"]]])
        super()._reduce_states(incoming_state)
        self._read_n_items()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Add a batch, and return its values; after an error everything is as it was before."""
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
        self._facts = mapped(self._facts, self._moved)
        self._last = [mapped(ranked, self._moved) for ranked in self._last]
        return this

    def _moved(self, value: Any) -> Any:
        """Return a tensor on the device of the metric, and anything else as it is."""
        return value.to(self.device) if isinstance(value, Tensor) else value


def safe_name(name: str) -> str:
    """Return a name of letters, digits, ``_``, ``-``, ``.`` and ``/`` alone.

    >>> safe_name("ndcg@10"), safe_name("reo@5[item_group=a]")
    ('ndcg_at_10', 'reo_at_5_item_group_a')
    """
    return re.sub(r"[^\w./-]+", "_", name.replace("@", "_at_")).strip("_")
