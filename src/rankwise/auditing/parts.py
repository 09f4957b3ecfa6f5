"""The parts of a split as an audit sees them: the same ids and the same clock in all tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from rankwise.core.ids import whole_numbers
from rankwise.errors import ColumnError, ParameterError
from rankwise.io.align import align
from rankwise.io.tables import Table, read_table
from rankwise.splits.reading import read
from rankwise.splits.split import Folds, Split
from rankwise.splits.times import read_times

if TYPE_CHECKING:
    from rankwise.io.columns import Columns
    from rankwise.splits.times import TimeUnit

__all__ = ["PAIR", "Claim", "Limits", "Parts", "read_parts", "rows_in"]

Claim: TypeAlias = Literal["time", "users", "none"]
PAIR = ["user", "item"]
_CLAIMS: dict[str, Claim] = {"GlobalTime": "time", "SuccessiveTargets": "time",
                             "TimeWindows": "time", "TwoStage": "time",
                             "UserHoldout": "users", "UserKFold": "users"}  # fmt: skip
_STAGES = ("candidate_train", "ranker_train", "ranker_validation")


@dataclass(frozen=True)
class Limits:
    """From where on a check warns.

    Attributes
    ----------
    cold_rows : float
        L7, L11: the share of test rows of users or items without training.
    test_span : float
        L9: test span over training span.
    recent_lift : float
        L10: what the top ten of the last tenth of training hit, over what those of all of it do.
    same_history : float
        L15: the share of users who have exactly another user's items.
    torn : float
        L16: the share of test users cut between equal times.
    candidate_z : float
        L17: how many standard errors the mean place of positives may lie from the middle.
    too_good : float
        L18: a model's recall over that of the best list for everybody.
    heavy : float
        L20: the share of test rows of one user, or of one day.
    """

    cold_rows: float = 0.1
    test_span: float = 0.5
    recent_lift: float = 1.5
    same_history: float = 0.01
    torn: float = 0.01
    candidate_z: float = 5.0
    too_good: float = 5.0
    heavy: float = 0.05


@dataclass(frozen=True, eq=False)
class Parts:
    """Tables with columns user, item and, where there are such, time and relevance."""

    train: pl.DataFrame
    test: pl.DataFrame
    validation: pl.DataFrame | None
    lists: pl.DataFrame | None
    claim: Claim
    repeats: bool
    limits: Limits
    per_second: float | None
    candidates: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    stages: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def every(self) -> list[pl.DataFrame]:
        """Training, test and, if there is one, the validation part."""
        return [self.train, self.test, *([] if self.validation is None else [self.validation])]

    @property
    def has_times(self) -> bool:
        """Whether all parts say when rows happened."""
        return self.per_second is not None

    def seconds(self, ticks: Any) -> float:
        """Return how many seconds some ticks are."""
        assert self.per_second is not None
        return float(ticks) / self.per_second


def rows_in(rows: pl.DataFrame, others: pl.DataFrame, key: str | list[str]) -> pl.DataFrame:
    """Return the rows whose key stands in other rows too."""
    return rows.join(others.select(key).unique(), on=key, how="semi")


def read_parts(
    given: Mapping[str, Any],
    *,
    claim: Claim | None,
    repeats: bool,
    limits: Limits,
    stages: Mapping[str, Any] | None,
    columns: Columns | None,
    time_unit: TimeUnit | None,
    extra: Mapping[str, Any],
) -> Parts:
    """Read all tables, whatever they are, and give them the same ids and clock."""
    sources = {name: source for name, source in given.items() if source is not None}
    if not isinstance(limits, Limits):
        raise ParameterError("limits is a Limits(…)", found=repr(limits))
    if stages is not None and not isinstance(stages, Mapping):
        raise ParameterError("stages come as {name: table}", found=repr(stages))
    opened = _opened(sources, dict(stages or {}), columns, time_unit)
    sources, stages, known = opened.sources, opened.stages, opened.claim
    time_unit = time_unit or opened.unit
    unknown = next((name for name in stages if name not in _STAGES), None)
    if unknown is not None:
        raise ParameterError(f"there is no stage {unknown!r}", found=", ".join(_STAGES))
    tables = {
        name: read_table(
            source,
            "recommendations" if name in ("lists", "candidates") else "interactions",
            columns,
        )
        for name, source in {**sources, **stages}.items()
    }
    for role in PAIR:
        tables = dict(zip(tables, align(list(tables.values()), role), strict=True))
    frames, per_second = _in_time(tables, time_unit)
    return Parts(
        frames["train"], frames["test"], frames.get("validation"), frames.get("lists"),
        claim=claim or known or "none", repeats=repeats, limits=limits, per_second=per_second,
        candidates=frames.get("candidates"), history=frames.get("history"),
        stages={name: frames[name] for name in stages}, extra=extra,
    )  # fmt: skip


@dataclass(frozen=True)
class _Opened:
    sources: dict[str, Any]
    stages: dict[str, Any]
    claim: Claim | None = None
    unit: TimeUnit | None = None


def _opened(
    sources: dict[str, Any], stages: dict[str, Any], columns: Columns | None, unit: TimeUnit | None
) -> _Opened:
    """Take a split, or a folder with one, apart."""
    whole = sources["train"]
    if isinstance(whole, str | Path) and Path(whole).is_dir():
        whole = read(whole, columns=columns, time_unit=unit)
    if isinstance(whole, Folds):
        raise ParameterError("an audit is of one split", found=repr(whole),
                             hint="one after the other: folds[0], or DIR/0")  # fmt: skip
    if not isinstance(whole, Split):
        if "test" not in sources:
            raise ParameterError("an audit needs the test part", hint="pass train and test, "
                                 "or a split, or a folder that holds one")  # fmt: skip
        return _Opened(sources, stages)
    twice = [name for name in ("test", "validation") if name in sources]
    if twice:
        raise ParameterError(
            f"the split has its own {twice[0]} part", hint=f"leave {twice[0]} out, or pass tables"
        )
    parts: dict[str, Any] = {}
    for name, mask in whole.masks.items():
        if not mask.any():
            continue
        frame = whole.rows.table.frame.filter(pl.Series(mask))
        parts[name] = replace(whole.rows.table, frame=frame)
    mine = {
        name: part
        for name, part in parts.items()
        if name in ("train", "test", "validation", "history")
    }
    own = {name: parts[name] for name in _STAGES if name in parts}
    claim = _CLAIMS.get(str(whole.rule.get("rule")))
    if claim == "users" and not whole.rule.get("strong", True):
        claim = None
    clock = whole.rows.time if whole.rows.has_times else None
    unit = None if clock is None or clock.is_date else clock.unit
    return _Opened({**sources, **mine}, {**own, **stages}, claim, unit)


def _in_time(
    tables: dict[str, Table], unit: TimeUnit | None
) -> tuple[dict[str, pl.DataFrame], float | None]:
    """Put one clock into all interactions that have one."""
    out, clocks = {}, {}
    for name, table in tables.items():
        ids = [table.frame[role] for role in PAIR]
        frame = table.frame.with_columns(
            whole_numbers(own) if own.dtype.is_integer() else own for own in ids
        )
        if "timestamp" in frame.columns:
            times = read_times(table, unit)
            clocks[name] = times
            frame = frame.drop("timestamp").with_columns(time=pl.Series(times.values))
        out[name] = frame
    fractions = any(times.values.dtype.kind == "f" for times in clocks.values())
    if fractions:
        real = pl.col("time").cast(pl.Float64)
        out |= {name: out[name].with_columns(real) for name in clocks}
    if "train" not in clocks or "test" not in clocks:
        return out, None
    dates = [name for name, times in clocks.items() if times.is_date]
    if {clocks[name].unit for name in dates} == {"us", "ns"}:  # the finer of both, for all
        for name in dates:
            if clocks[name].unit == "us":
                clocks[name] = replace(clocks[name], unit="ns")
                out[name] = out[name].with_columns(pl.col("time") * 1000)
    units = {(times.is_date, times.unit) for times in clocks.values()}
    if len(units) > 1:
        raise ColumnError(
            "the parts measure time in different units",
            found="; ".join(
                f"{name}: {'dates' if t.is_date else t.unit}, {t.said}"
                for name, t in clocks.items()
            ),
            hint="give all parts timestamps of one kind, or say time_unit=",
        )
    lacking = [name for name in out if name in ("validation", *_STAGES) and name not in clocks]
    if lacking:
        raise ColumnError(
            "some parts have timestamps, and others none", found=f"none: {', '.join(lacking)}"
        )
    return out, float(clocks["train"].per_second)
