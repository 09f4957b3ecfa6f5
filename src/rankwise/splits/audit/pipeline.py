"""Leakage in how a split is used: tuning, candidates, stages (L14, L17, L19)."""

from __future__ import annotations

from typing import Any

import polars as pl

from rankwise.errors import ColumnError
from rankwise.splits.audit.findings import Check, not_run, verdict
from rankwise.splits.audit.parts import PAIR, Parts, rows_in

__all__ = ["candidate_order", "stage_leaks", "tuned_on_test"]


def tuned_on_test(parts: Parts) -> Check:
    """L14: runs that were selected, or stopped, on the test part."""
    name = "tuned on test"
    log = parts.extra.get("runs")
    if log is None:
        return not_run("L14", name, "runs=, a log with columns run, part and purpose")
    missing = [column for column in ("run", "part", "purpose") if column not in log.columns]
    if missing:
        raise ColumnError("a log of runs has columns run, part and purpose", where="runs", found=", ".join(log.columns))
    log = log.with_columns(pl.col("part", "purpose").cast(pl.String).fill_null("not said"))
    test = log.filter(pl.col("part") == "test")
    bad = test.filter(pl.col("purpose") != "report")
    finding = f"{len(test):,} evaluations on test of {len(log):,} in the log, {len(bad):,} of them "
    finding += "to select or to stop"
    repeated = test.group_by("run").len().filter(pl.col("len") > 1)
    finding += f"; {len(repeated):,} runs evaluated more than once" if len(repeated) else ""
    status = verdict(len(bad), verdict(len(repeated)), worst="fail")
    return Check("L14", name, status, len(bad), finding, lambda: bad)


def candidate_order(parts: Parts) -> Check:
    """L17: whether positions in the candidate set give the positives away."""
    name = "candidates give answers away"
    if parts.candidates is None:
        return not_run("L17", name, "candidates= in the order in which they are scored")
    ranked = parts.candidates.with_columns(
        place=pl.int_range(pl.len()).over("user"), length=pl.len().over("user")
    ).filter(pl.col("length") > 1)
    positives = rows_in(ranked, parts.test, PAIR)
    if positives.is_empty():
        return Check("L17", name, "warn", None, "no candidate is a test row: do the ids agree?")
    length = positives["length"].to_numpy()
    relative = positives["place"].to_numpy() / (length - 1)
    # In random order, the mean relative position is 1/2, its variance (n + 1) / (12 (n - 1)).
    z = float((relative - 0.5).sum()) / float(((length + 1) / (12 * (length - 1))).sum()) ** 0.5
    first, last = (relative == 0).mean(), (relative == 1).mean()
    finding = f"of {len(positives):,} positives among {len(ranked):,} candidates of "
    finding += f"{ranked['user'].n_unique():,} users {first:.1%} stand first, {last:.1%} last; by chance "
    finding += f"{(1 / length).mean():.1%} each; mean place {relative.mean():.3f}, z {z:.1f}"
    status = verdict(abs(z) > parts.limits.candidate_z)
    return Check("L17", name, status, z, finding, lambda: positives)


def stage_leaks(parts: Parts) -> Check:
    """L19: leaks in a two-stage scheme, such as a ranker trained on the candidate model's rows."""
    name = "leaks between two stages"
    stages = parts.stages
    if "candidate_train" not in stages or "ranker_train" not in stages:
        return not_run("L19", name, "stages= with candidate_train and ranker_train")
    key = [*PAIR, "time"] if parts.has_times else PAIR
    first, ranker = stages["candidate_train"], stages["ranker_train"]
    validation = stages.get("ranker_validation")
    both = [part.select(key) for part in (ranker, validation) if part is not None]
    labels = ranker if validation is None else pl.concat(both)
    leaks: dict[str, Any] = {
        "ranker rows that the candidate model saw": rows_in(labels, first, key),
        "ranker rows that are test rows": rows_in(labels, parts.test, key),
    }
    if validation is not None:
        leaks["ranker users on both sides"] = rows_in(validation, ranker, ["user"])
    late = labels.filter(pl.col("time") <= first["time"].max()) if parts.has_times else labels[:0]
    leaks["ranker rows not after the candidate model's training"] = late
    missing = labels.join(parts.train.select(key), on=key, how="anti")
    leaks["ranker rows missing from train, which is refitted and gives the seen items"] = missing
    if parts.lists is not None:
        leaks["recommended items of the ranker's rows, not filtered as seen"] = rows_in(parts.lists, labels, PAIR)
    bad = {description: rows for description, rows in leaks.items() if len(rows)}
    finding = "; ".join(f"{len(rows):,} {what}" for what, rows in bad.items()) or "no leak"
    finding += f" among {len(labels):,} ranker rows and {len(first):,} of the candidate model"
    rows = next(iter(bad.values()), labels.head(0))
    status = verdict(bad, worst="fail")
    return Check("L19", name, status, sum(map(len, bad.values())), finding, lambda: rows)
