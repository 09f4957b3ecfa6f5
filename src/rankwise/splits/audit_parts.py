"""The parts of an audited split, with common ids and unit of time, and the verdicts of checks."""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.core.arguments import Claim, TimeUnit
from rankwise.core.terminal import PAGE, Detail, Marked, TableView, html, markdown, terminal_width
from rankwise.core.vocabularies import whole_numbers
from rankwise.errors import ColumnError, InputError, ParameterError, nearest
from rankwise.messages import Message, parameter, printable
from rankwise.splits.reading import read
from rankwise.splits.split import Folds, Split
from rankwise.tables.columns import Columns
from rankwise.tables.dates import shared_format
from rankwise.tables.ids import align
from rankwise.tables.read import read_table
from rankwise.tables.requests import check_same_units
from rankwise.tables.storage import is_folder
from rankwise.tables.table import Table, TableRole
from rankwise.tables.times import Times, read_times

PAIR = ["user", "item"]
_CLAIMS: dict[str, Claim] = {
    "GlobalTime": "time",
    "SuccessiveTargets": "time",
    "TimeWindows": "time",
    "TwoStage": "time",
    "UserHoldout": "users",
    "UserKFold": "users",
}
_PARTS = ("train", "test", "validation", "history")
_STAGES = ("candidate_train", "ranker_train", "ranker_validation")


@dataclass(frozen=True)
class Limits:
    """The thresholds above which checks warn.

    At these, simulated splits without a leak seldom warn: ``simulations/audit_claims.py`` says how
    they were simulated and how often that is.

    Attributes
    ----------
    unseen : float, default=10.0
        L4: items that the counts of all parts say exist without any row (Chao's estimate), while
        ids run without a gap: they were then numbered by their rows.
    cold_rows : float, default=0.2
        L7, L11: the share of test rows with a cold-start user or item.
    test_span : float, default=0.5
        L9: the time span of test over that of training.
    recent_lift : float, default=1.5
        L10: test rows hit by the ten most popular items of the last tenth of training, over those
        hit by the ten most popular of all training; if they differ by more than three standard
        errors.
    missing : float, default=10.0
        L12: users or items expected just below the least count over all parts, or without a test
        row, where none are.
    knows_test : float, default=0.95
        L13: the share of pairs of ids that a column orders as a statistic with test rows does; of
        all pairs, and of those whose order training does not tell.
    answers : float, default=0.3
        L13: the share of users whose feature is a test item of theirs, minus the share expected
        if the values belonged to other users.
    moments : float, default=0.5
        L13: the share of ids with rows on both sides whose moment in a column lies in the test
        period.
    same_history : float, default=0.005
        L15: the share of users with another user's items, beyond chance; of items with another
        item's title.
    torn : float, default=0.01
        L16: the share of test users cut between equal times.
    candidate_z : float, default=5.0
        L17: standard errors between the mean position of positives and the middle.
    too_good : float, default=5.0
        L18: a model's recall over the best that is reached without knowing the user's test items.
    too_near : float, default=0.5
        L18: the part of the way from that recall to perfect lists that a model covers.
    test_order : float, default=0.95
        L18: the share of pairs of items that lists order as counts in test do; of pairs in a list,
        and of those that training orders otherwise.
    heavy : float, default=0.1
        L20: the share of test rows of one user.
    heavy_mean : float, default=20.0
        L20: the test rows of that user over the mean per user.
    busy_day : float, default=0.25
        L20: the share of test rows of one day. Where only the first row of each user is tested,
        the first days have many.
    shared_codes : float, default=0.05
        L24: the share of test rows whose item shares its code with another item.
    """

    unseen: float = 10.0
    cold_rows: float = 0.2
    test_span: float = 0.5
    recent_lift: float = 1.5
    missing: float = 10.0
    knows_test: float = 0.95
    answers: float = 0.3
    moments: float = 0.5
    same_history: float = 0.005
    torn: float = 0.01
    candidate_z: float = 5.0
    too_good: float = 5.0
    too_near: float = 0.5
    test_order: float = 0.95
    heavy: float = 0.1
    heavy_mean: float = 20.0
    busy_day: float = 0.25
    shared_codes: float = 0.05


@dataclass(frozen=True, eq=False)
class Parts:
    """Tables with columns user, item and, where they exist, time and relevance."""

    train: pl.DataFrame
    test: pl.DataFrame
    claim: Claim
    repeats: bool
    limits: Limits
    per_second: float | None
    stages: Mapping[str, pl.DataFrame]
    extra: Mapping[str, Any]
    filtered_before: bool  # by the rule of a `Split`
    validation: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    lists: pl.DataFrame | None = None
    candidates: pl.DataFrame | None = None

    @property
    def all_parts(self) -> list[pl.DataFrame]:
        """Training, test and, if there is one, validation."""
        return [self.train, self.test, *([] if self.validation is None else [self.validation])]

    @property
    def named(self) -> dict[str, pl.DataFrame]:
        """Every part that exists, by its name."""
        parts = {name: getattr(self, name) for name in _PARTS}
        return {name: frame for name, frame in parts.items() if frame is not None}

    @property
    def known(self) -> list[pl.DataFrame]:
        """The rows known before the test part: training, validation and history."""
        return [frame for name, frame in self.named.items() if name != "test"]

    @property
    def has_times(self) -> bool:
        """Whether training and test have timestamps."""
        return self.per_second is not None

    def seconds(self, ticks: Any) -> float:
        """Return ticks in seconds."""
        assert self.per_second is not None
        return float(ticks) / self.per_second


def rows_in(left: pl.DataFrame, right: pl.DataFrame, key: str | list[str]) -> pl.DataFrame:
    """Return the rows of the left table whose key also occurs in the right one."""
    return left.join(right.select(key).unique(), on=key, how="semi")


def read_parts(
    sources: Mapping[str, Any],
    *,
    claim: Claim | None,
    repeats: bool,
    limits: Limits,
    stages: Mapping[str, Any] | None,
    columns: Columns | None,
    time_unit: TimeUnit | None,
    time_format: str | None,
    extra: Mapping[str, Any],
) -> Parts:
    """Return all tables, read from any source, with the same ids and the same unit of time."""
    if not isinstance(limits, Limits):
        raise ParameterError("limits is a Limits(…)", found=repr(limits))
    if stages is not None and not isinstance(stages, Mapping):
        raise ParameterError("stages come as {name: table}", found=repr(stages))
    sources = {name: source for name, source in sources.items() if source is not None}
    opened = _open(sources, dict(stages or {}), columns, time_unit, time_format)
    unknown = next((name for name in opened.stages if name not in _STAGES), None)
    if unknown is not None:
        raise ParameterError(f"there is no stage {unknown!r}", found=", ".join(_STAGES))
    tables = {
        name: _read_part(source, name, columns)
        for name, source in {**opened.sources, **opened.stages}.items()
    }
    check_same_units(tables.values(), columns)
    for role in PAIR:
        tables = dict(zip(tables, align(list(tables.values()), role), strict=True))
    frames, per_second = _in_one_unit(
        tables, time_unit or opened.unit, time_format or opened.time_format
    )
    return Parts(
        claim=claim or opened.claim or "none",
        repeats=repeats,
        limits=limits,
        per_second=per_second,
        stages={name: frames.pop(name) for name in opened.stages},
        extra=extra,
        filtered_before=opened.filtered_before,
        **frames,
    )


def _read_part(source: Any, name: str, columns: Columns | None) -> Table:
    """Return the table of a part, which errors name where the source has no name of its own."""
    role: TableRole = "recommendations" if name in ("lists", "candidates") else "interactions"
    called = {"lists": "recommendations", "candidates": "candidates"}.get(name, f"{name} part")
    try:
        table = read_table(source, role, columns)
    except InputError as error:
        where = error.where
        if where is not None and where.split(",")[0] == role:
            where = called + where[len(role) :]
        raise type(error)(error.what, where=where, found=error.found, hint=error.hint) from error
    return replace(table, source=called) if table.source == role else table


@dataclass(frozen=True)
class _Opened:
    """The sources of an audit; a split is opened as one table per part."""

    sources: dict[str, Any]
    stages: dict[str, Any]
    claim: Claim | None = None
    unit: TimeUnit | None = None
    time_format: str | None = None
    filtered_before: bool = False


def _open(
    sources: dict[str, Any],
    stages: dict[str, Any],
    columns: Columns | None,
    unit: TimeUnit | None,
    time_format: str | None,
) -> _Opened:
    """Return the sources, with the parts of a split, or of a folder that holds one, as tables."""
    split = sources.get("train")
    if isinstance(split, str | Path) and is_folder(split):
        split = read(split, columns=columns, time_unit=unit, time_format=time_format)
    if isinstance(split, Folds):
        raise ParameterError(
            "an audit is of one split",
            found=repr(split),
            hint="one after the other: folds[0], or DIR/0",
        )
    if isinstance(split, Split):
        return _open_split(split, sources, stages)

    missing = [name for name in ("train", "test") if name not in sources]
    if missing:
        raise ParameterError(
            f"an audit needs the {missing[0]} part",
            hint="pass train and test, or a split, or a folder that holds one",
        )
    return _Opened(sources, stages)


def _open_split(split: Split, sources: dict[str, Any], stages: dict[str, Any]) -> _Opened:
    """Return the sources with the parts of a split, its claim and its clock."""
    twice = [name for name in ("test", "validation") if name in sources]
    if twice:
        raise ParameterError(
            f"the split has its own {twice[0]} part", hint=f"leave {twice[0]} out, or pass tables"
        )

    table = split.rows.table
    parts = {
        name: table.with_frame(table.frame.filter(pl.Series(mask)))
        for name, mask in split.masks.items()
        if mask.any()
    }
    main = {name: part for name, part in parts.items() if name in _PARTS}
    stages = {name: parts[name] for name in _STAGES if name in parts} | stages
    opened = _Opened(
        sources={**sources, **main},
        stages=stages,
        claim=_claim_of(split.rule),
        filtered_before=bool(split.rule.get("filters")) and split.rule.get("filter_on") == "all",
    )
    if not split.rows.has_times:
        return opened
    times = split.rows.time
    unit = None if times.is_date else times.unit
    return replace(opened, unit=unit, time_format=times.time_format)


def _claim_of(rule: Mapping[str, Any]) -> Claim | None:
    """Return the claim that a rule makes; None where it does not hold for every row."""
    claim = _CLAIMS.get(str(rule.get("rule")))
    if claim == "users" and not rule.get("strong", True):
        return None
    if claim == "time" and rule.get("sessions"):  # a session may go on after the split
        return None
    return claim


def _in_one_unit(
    tables: dict[str, Table], unit: TimeUnit | None, time_format: str | None
) -> tuple[dict[str, pl.DataFrame], float | None]:
    """Return the tables with times in the same unit, and ticks per second."""
    if time_format is None:
        time_format = _find_time_format(list(tables.values()))

    frames: dict[str, pl.DataFrame] = {}
    clocks: dict[str, Times] = {}
    for name, table in tables.items():
        ids = [table.frame[role] for role in PAIR]
        frame = table.frame.with_columns(
            whole_numbers(column) for column in ids if column.dtype.is_integer()
        )
        if "timestamp" in frame.columns:
            clocks[name] = read_times(table, unit, time_format)
            frame = frame.drop("timestamp").with_columns(time=pl.Series(clocks[name].values))
        frames[name] = frame

    if any(times.values.dtype.kind == "f" for times in clocks.values()):
        real = pl.col("time").cast(pl.Float64)
        frames |= {name: frames[name].with_columns(real) for name in clocks}
    if "train" not in clocks or "test" not in clocks:
        return frames, None

    _refine_dates(frames, clocks)
    _check_clocks(frames, clocks)
    return frames, float(clocks["train"].per_second)


def _find_time_format(tables: Sequence[Table]) -> str | None:
    """Return the format of dates on the first card that has one, else that of all timestamps."""
    cards = [table.split for table in tables if table.split is not None]
    times = [card["time"] for card in cards if "time" in card]
    saved: str | None = next((time["format"] for time in times if "format" in time), None)
    if saved is not None:
        return saved
    timed = [table.frame for table in tables if "timestamp" in table.frame.columns]
    return shared_format(frame["timestamp"] for frame in timed)


def _refine_dates(frames: dict[str, pl.DataFrame], clocks: dict[str, Times]) -> None:
    """Count dates of all parts in nanoseconds, where those of some parts are."""
    dates = [name for name, times in clocks.items() if times.is_date]
    if {clocks[name].unit for name in dates} != {"us", "ns"}:
        return
    for name in dates:
        if clocks[name].unit == "us":
            clocks[name] = replace(clocks[name], unit="ns")
            frames[name] = frames[name].with_columns(pl.col("time") * 1000)


def _check_clocks(frames: Mapping[str, pl.DataFrame], clocks: Mapping[str, Times]) -> None:
    """Raise if parts measure time in different units, or some of them not at all."""
    units = {(times.is_date, times.unit) for times in clocks.values()}
    if len(units) > 1:
        kinds = {name: "dates" if times.is_date else times.unit for name, times in clocks.items()}
        raise ColumnError(
            "the parts measure time in different units",
            found="; ".join(
                f"{name}: {kinds[name]}, {t.unit_source}" for name, t in clocks.items()
            ),
            hint=f"give all parts timestamps of one kind, or say {parameter('time_unit')}",
        )
    lacking = [name for name in frames if name in ("validation", *_STAGES) and name not in clocks]
    if lacking:
        raise ColumnError(
            "some parts have timestamps, and others none", found=f"none: {', '.join(lacking)}"
        )


Status: TypeAlias = Literal["pass", "warn", "fail", "not run"]


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes
    ----------
    code : str
        ``"L1"`` to ``"L24"``.
    name : str
        The kind of leakage or mistake that it looks for.
    status : {"pass", "warn", "fail", "not run"}
        The verdict; ``"not run"`` if a required input was not given.
    value : float or None
        The number that decides, or the most informative one.
    said : str
        The finding with its other numbers; for checks that were not run, the required inputs.
    find_rows : callable or None
        Returns the rows at fault.
    """

    code: str
    name: str
    status: Status
    value: float | None
    said: str
    find_rows: Callable[[], pl.DataFrame] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "said", printable(Message(self.said))
        )  # it may name columns of strangers


@dataclass(frozen=True, repr=False)
class Audit:
    """The result of `rankwise.audit`: all checks, with the rows at fault.

    Attributes
    ----------
    checks : tuple of Check
        L1 to L24, in order.

    Examples
    --------
    >>> import rankwise as rw
    >>> audit = rw.audit({1: ["a", "b"]}, {1: ["b"]})
    >>> audit["L1"].status, audit["L1"].value, audit.failed
    ('fail', 1, True)
    >>> audit.rows("L1").rows()
    [(1, 'b')]
    """

    checks: tuple[Check, ...]

    @property
    def failed(self) -> bool:
        """Whether any check failed."""
        return any(check.status == "fail" for check in self.checks)

    def __getitem__(self, code: str) -> Check:
        """Return one check by its code."""
        for check in self.checks:
            if check.code == code.upper():
                return check
        hint = nearest(code, [check.code for check in self.checks])
        raise ParameterError(f"there is no check {code!r}", found="L1 to L24", hint=hint)

    def rows(self, code: str) -> pl.DataFrame:
        """Return the rows, users or items at fault in a check; an empty table if there are none."""
        find_rows = self[code].find_rows
        return pl.DataFrame() if find_rows is None else find_rows()

    @property
    def table(self) -> pl.DataFrame:
        """One row per check: ``code``, ``name``, ``status``, ``value``, ``said``."""
        rows = [{name: getattr(check, name) for name in _COLUMNS} for check in self.checks]
        return pl.DataFrame(rows, schema=_COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the rows as plain values, ready for JSON.

        NaN and infinite values are None, because JSON has neither.
        """
        checks = [
            {**row, "value": row["value"] if math.isfinite(row["value"] or 0.0) else None}
            for row in self.table.to_dicts()
        ]
        return {"failed": self.failed, "checks": checks}

    def export(self, format: Literal["json", "markdown"]) -> str:  # noqa: A002
        """Return the checks as text."""
        if format == "json":
            return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if format != "markdown":
            raise ParameterError("format must be one of json, markdown", found=f"{format!r}")
        return markdown(self._view())

    @property
    def verdict(self) -> str:
        """Whether a leak was found, in a sentence, and how many checks had which outcome."""
        failed = [check.code for check in self.checks if check.status == "fail"]
        counts = Counter(check.status for check in self.checks)
        if failed:
            head = f"Leaks: {', '.join(failed)}."
        elif counts["warn"]:
            head = f"No check failed.{self._about_time}"
        else:
            head = f"No leak found.{self._about_time}" if counts["pass"] else "Nothing was checked."
        warnings = "warning" if counts["warn"] == 1 else "warnings"
        words: dict[Status, str] = {
            "fail": "failed",
            "warn": warnings,
            "pass": "passed",
            "not run": "not run",
        }
        numbers = ", ".join(
            f"{counts[status]} {word}" for status, word in words.items() if counts[status]
        )
        return f"{head} {numbers}."

    @property
    def _about_time(self) -> str:
        """A sentence on time if no check failed: not checked, or not a split by time."""
        order = next((check for check in self.checks if check.code == "L3"), None)
        if order is None or order.status == "pass":
            return ""
        if order.status == "not run":
            return " Time was not looked at: no timestamps."
        return (
            f" Not a split by time: {order.value:,.0f} training rows are not before the first "
            "test row."
        )

    def text(self, detail: Detail = "table") -> str:
        """Return the verdict alone, with the checks that fail or warn, or with all checks.

        Parameters
        ----------
        detail : {"verdict", "table", "full"}, default="table"
            How much is shown.
        """
        if detail == "verdict":
            return self.verdict
        limit = terminal_width() or PAGE
        if detail == "full":
            return "\n".join(
                [
                    self.verdict,
                    "",
                    *(line for check in self.checks for line in _lines(check, limit)),
                ]
            )
        bad = [check for check in self.checks if check.status in ("fail", "warn")]
        lines = [line for check in bad for line in _short_lines(check, limit)]
        idle = ", ".join(
            f"{check.code} {check.name}" for check in self.checks if check.status == "not run"
        )
        lines += (
            textwrap.wrap(f"not run: {idle}", limit, subsequent_indent=" " * 10) if idle else []
        )
        return "\n".join([self.verdict, *lines])

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return html(replace(self._view(), notes=[self.verdict]))

    def _view(self) -> TableView:
        """Return one row per check; verdicts are words, so that no reader depends on colour."""
        rows = [
            (
                f"{check.code} {check.name}",
                Marked(check.status, "bold" if check.status in ("fail", "warn") else ""),
                _number(check.value),
                check.said,
            )
            for check in self.checks
        ]
        return TableView(["check", "verdict", "number", "what was found"], rows, left=(0, 1, 3))


_COLUMNS = {
    "code": pl.String,
    "name": pl.String,
    "status": pl.String,
    "value": pl.Float64,
    "said": pl.String,
}


def _short_lines(check: Check, limit: int) -> list[str]:
    """Return a check that fails or warns, its finding wrapped beside its name."""
    head = f"{check.status.upper():5}{check.code:4} {check.name}  "
    return textwrap.wrap(
        head + check.said,
        limit,
        subsequent_indent=" " * 10,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _lines(check: Check, limit: int | None) -> list[str]:
    """Return a check on one line, or with its finding below where the terminal is too narrow."""
    head = f"{check.status.upper():8}{check.code:4} {check.name:28} {_number(check.value):>10}"
    line = f"{head}  {check.said}"
    if limit is None or len(line) <= limit:
        return [line]
    indent = " " * 13  # below the name
    below = textwrap.wrap(
        check.said,
        max(limit, 40),
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return [head, *below]


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"
