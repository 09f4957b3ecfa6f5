"""From states to a `Partial`, from which results are made as in `rankwise.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
from torch import Tensor

from rankwise.core.digests import added
from rankwise.core.partial import Partial
from rankwise.errors import InputError
from rankwise.evaluation.work import Job
from rankwise.tables.protocol import PASSED, Protocol
from rankwise.torch.run import KINDS, Layout
from rankwise.torch.spec import MetricSpec
from rankwise.torch.sync import States

__all__ = ["named_counts", "partial_of"]


def named_counts(spec: MetricSpec, layout: Layout, counts: Tensor) -> dict[str, int]:
    """Return what was counted, by name.

    Raises
    ------
    InputError
        If updates were of different kinds that do not go together.
    """
    named = dict(zip(layout.counts, counts.tolist(), strict=True))
    if spec.is_complete and named["from_scores"] and named["from_lists"]:
        raise InputError(
            "scores and ready lists were mixed, and some measure looks at whole rankings",
            hint="pass the same kind to every update, or cut-offs to the measures",
        )
    if named["with_users"] and named["without_users"]:
        raise InputError(
            "users= was passed to some updates, and not to others",
            found=f"{named['with_users']} and {named['without_users']} lists",
            hint="pass users= to every update, or to none",
        )
    return named


def partial_of(
    spec: MetricSpec,
    layout: Layout,
    job: Job,
    states: States,
    counts: Mapping[str, int],
    reference_counts: Mapping[str, int],
) -> Partial:
    """Return the states as the mergeable result of these users, with ids for numbers.

    Parameters
    ----------
    spec : MetricSpec
        What is asked.
    layout : Layout
        The names of columns and sums.
    job : Job
        The job of it: for scores, or for ready lists.
    states : dict of str to tensor
        The states of all processes.
    counts : dict of str to int
        What was counted, by name.
    reference_counts : dict of str to int
        What was counted in the tables that facts come from.
    """
    protocol = Protocol(PASSED) if counts["with_candidates"] else None
    if spec.negatives is not None:
        protocol = Protocol("sampled", negatives=spec.negatives)
    ordered_by = {} if counts["from_lists"] else {"score": "scores"}
    relevant_by = {"relevance": "target"} if counts["graded"] else {}
    truth = _card(counts["truth_rows"], relevant_by) | {"split": None}
    return Partial(
        users=_users(spec, layout, states, named=counts["with_users"] > 0),
        about=job.about,
        items=_items(spec, layout, states["sums"]) if spec.plan.needs_catalogue else None,
        counts={name: n for name, n in counts.items() if name not in KINDS},
        protocol="" if protocol is None else protocol.write(),
        ties=tuple(
            sorted(
                spec.ties(from_scores=kind == "from_scores") for kind in ("from_scores", "from_lists") if counts[kind]
            )
        ),
        inputs={"recommendations": (_card(counts["rows"], ordered_by),), "truth": (truth,)},
        reference_counts=dict(reference_counts),
        digests=_digest_of_truth(states["columns"]) if counts["with_users"] else {},
    )


def _digest_of_truth(columns: Tensor) -> dict[str, int]:
    """Return the digest of the ground truth of all users, which the last two columns hold."""
    halves = columns[:, -2:].cpu().numpy().astype(np.uint64)
    low, high = (int(half.sum(dtype=np.uint64)) for half in halves.T)
    return {"truth": added([low, high << 32])}


def _users(spec: MetricSpec, layout: Layout, states: States, *, named: bool) -> pl.DataFrame:
    """Return the values of the users who are evaluated; without names every row is another user."""
    columns = states["columns"].cpu().numpy()
    numbers = states["users"].cpu().numpy() if named else np.arange(len(columns))
    ids = pl.Series("user", numbers)
    if named and spec.users is not None:
        ids = spec.users.ids.gather(numbers)
    values = {name: np.ascontiguousarray(columns[:, at]) for at, name in enumerate(layout.columns)}
    frame = pl.DataFrame({"user": ids} | values).filter(pl.col("n_relevant").is_not_nan())
    return frame.with_columns(pl.col("n_relevant", "list_length").cast(pl.Int64))


def _items(spec: MetricSpec, layout: Layout, sums: Tensor) -> pl.DataFrame:
    assert spec.items is not None
    ids, rows = spec.items.ids, sums.cpu().numpy()
    # Before the first scores sums are a column of zeros.
    named = {str(column): np.broadcast_to(rows[at], len(ids)) for at, column in enumerate(layout.item_sums)}
    return pl.DataFrame({"item": ids} | named)


def _card(rows: int, columns: dict[str, str]) -> dict[str, Any]:
    """Return what a result says about where its lists or its ground truth came from."""
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
