"""Ship, hold or stop: one decision from success metrics, guardrails and slices."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import polars as pl

from rankwise.comparison.comparison import Comparison
from rankwise.comparison.summary import join_paragraphs, movers_text, verdict_line
from rankwise.core.arguments import check_path
from rankwise.core.saved_forms import DECISION, form_of_keys
from rankwise.core.terminal import (
    Cell,
    Detail,
    DetailedDisplay,
    Marked,
    Style,
    TableView,
    brief,
    change,
    float_of,
    level_text,
    markdown,
    signed,
)
from rankwise.errors import FileError
from rankwise.findings.columns import columns_of
from rankwise.findings.margins import (
    margin_text,
)
from rankwise.findings.words import (
    NO_LIST,
    group_words,
    interval_text,
    natural_key,
    p_value,
    places,
)
from rankwise.tables.storage import output_errors, refuse_replacing, write_text

Outcome: TypeAlias = Literal["ship", "hold", "stop"]
_CODES: Mapping[Outcome, int] = {"ship": 0, "stop": 1, "hold": 5}  # 2 is wrong usage


@dataclass(frozen=True, kw_only=True)
class Check:
    """One check of a decision; its fields are the columns of `Decision.checks`."""

    role: str
    metric: str
    by: str | None
    group: str | None
    users: int
    mean_baseline: float
    mean_system: float
    difference: float
    low: float
    high: float
    confidence: float
    change: float
    change_low: float
    change_high: float
    margin: float | None = None
    p: float
    p_name: str = ""
    outcome: str
    shown: str | None = None
    condition: float | None = None
    users_for_any_low: int | None = None
    users_for_any_high: int | None = None
    users_needed: int | None = None
    flags: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Whom the check is about, in words."""
        return "all users" if self.by is None else group_words(self.by, self.group)


@dataclass(frozen=True, eq=False, repr=False)
class Decision(DetailedDisplay):
    """The result of `rankwise.decide`: ship, hold or stop, with every check behind the outcome.

    Attributes
    ----------
    outcome : {"ship", "hold", "stop"}
        Ship: a success metric is better, and every guardrail holds. Stop: a metric is worse.
        Hold: neither is shown.
    reasons : list of str
        The verdict in a sentence, then further reasons and what no rule guards, one sentence each.
    checks : polars.DataFrame
        One row per check: its ``role`` (success, guardrail, deterioration), metric, slice, users,
        both means, the difference and the relative ``change`` with intervals of the test and the
        level that decide (``confidence``), margin, the p-value that decides, ``outcome`` (passed,
        failed, not shown, not checked; of a deterioration metric also no loss shown, and passed
        where its guardrail allows the loss), what that p-value has ``shown`` (better, not worse,
        worse, or better if and worse if under a ``condition``, the largest loss of an unseen user;
        null if nothing), for guardrails the number of users needed, and ``flags``.
    small_slices : list of str
        Slices with too few users to be checked.
    record : dict
        The rule, the inputs with their hashes, the checks and the outcome, as plain values.
    """

    outcome: Outcome
    reasons: list[str]
    checks: pl.DataFrame
    small_slices: list[str]
    record: dict[str, Any]

    @property
    def exit_code(self) -> int:
        """The exit code of ``rankwise decide``: ship 0, stop 1, hold 5 (2 is wrong usage)."""
        return _CODES[self.outcome]

    @cached_property
    def text(self) -> str:
        """The record and its version as canonical JSON: sorted keys, no whitespace, a digest."""
        return _canonical({**self._content, "sha256": self.sha256}) + "\n"

    @property
    def sha256(self) -> str:
        """The digest of the record, which `save` writes with it."""
        return _digest(self._content)

    @property
    def _content(self) -> dict[str, Any]:
        """The record and its version."""
        return {DECISION.key: DECISION.version, **self.record}

    @classmethod
    def load(cls, path: str | Path) -> Decision:
        """Read a decision that `save`, or ``rankwise run``, wrote.

        Raises
        ------
        FileError
            If the file holds no decision, one of a version that cannot be read, or one that was
            changed.

        Examples
        --------
        >>> import tempfile
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> old = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
        >>> new = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
        >>> decision = rw.decide({"old": old, "new": new}, success="recall@2")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rw.Decision.load(decision.save(folder + "/decision.json")).outcome
        'ship'
        """
        return _read_decision(check_path("path", path))

    def save(self, path: str | Path) -> Path:
        """Write the record as canonical JSON.

        Raises
        ------
        OutputError
            If the file cannot be written, or is something else than a decision.
        """
        file = check_path("path", path)
        refuse_replacing(file, "a decision", _is_decision)
        with output_errors(file):
            write_text(file, self.text)
        return file

    @property
    def verdict(self) -> str:
        """The decision in a sentence, with the reason that decided."""
        return self.reasons[0]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per metric and slice for readers; of two checks, the failed one decides.

        Beside the columns of `checks` each has ``said``, the outcome in words, ``title``, the part
        of the rule that it belongs to, ``name``, its metric and slice in words, and whether it is a
        slice ``below`` a row of its metric, which alone names that.
        """
        return _merged(self.checks.to_dicts(), self.record["rule"])

    csv_table = "checks"

    def summary(self, results: Mapping[str, Any] | Comparison | None = None) -> str:
        """Return Markdown for a pull request: verdict, checks, and the users that moved most.

        Parameters
        ----------
        results : mapping of str to Result, or Comparison, optional
            What was decided on, for the five users that lose and gain most on the first success
            metric; by default no users are listed.

        Examples
        --------
        >>> import rankwise as rw
        >>> truth = {user: {1, 2} for user in range(40)}
        >>> old = rw.evaluate({user: [1, 3] for user in truth}, truth, "recall@2")
        >>> new = rw.evaluate({user: [1, 2] for user in truth}, truth, "recall@2")
        >>> results = {"old": old, "new": new}
        >>> print(rw.decide(results, success="recall@2").summary(results).splitlines()[0])
        **SHIP** Replace old with new: better on recall@2; nothing else is guarded.
        """
        view = self.views_at("table")[0]
        rule = self.record["rule"]
        by_name = results.results if isinstance(results, Comparison) else results
        pair = (rule["baseline"], rule["system"])
        return join_paragraphs(
            [
                verdict_line(self.outcome.upper(), self.verdict),
                markdown(replace(view, caption="")),
                movers_text(by_name or {}, pair, rule["success"], rule.get("missing", "error")),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the record: rule, checks, outcome and inputs, as plain values."""
        return dict(self.record)

    def views_at(self, detail: Detail) -> list[TableView]:
        """Return the verdict alone, the verdict with a table, or every column of the checks.

        Parameters
        ----------
        detail : {"verdict", "table", "full"}
            How much is shown.
        """
        caption = f"{self.outcome.upper()}  {self.verdict}"
        if detail == "verdict":
            return [TableView((), (), caption=caption)]
        notes = [*self.reasons[1:], *self.record.get("plans", ())]
        if self.small_slices:
            notes.append(f"Too few users to be checked: {', '.join(self.small_slices)}.")
        if detail == "full":
            notes += self._flags()
        return [_decision_view(self.rows, caption, notes, full=detail == "full")]

    def _flags(self) -> list[str]:
        """Return the caveats of checks, each with its metrics and slices."""
        flags: dict[str, dict[str, None]] = {}
        for row in self.checks.iter_rows(named=True):
            for flag in row["flags"]:
                flags.setdefault(flag, {})[f"{row['metric']}, {_slice(row)}"] = None
        return [f"{'; '.join(where)}: {flag}" for flag, where in flags.items()]


def _slice(row: Mapping[str, Any]) -> str:
    return "all users" if row["by"] is None else group_words(row["by"], row["group"])


_TITLES = {
    "success": "must improve",
    "guardrail": "may lose less than",
    "deterioration": "must not get worse",
}
_SAID = {
    ("success", "passed"): "✓ better",
    ("guardrail", "passed"): "✓ within",
    ("guardrail", "failed"): "✕ loses",
    ("deterioration", "passed"): "✓ within",
    ("deterioration", "no loss shown"): "· no loss shown",
}
"""What a reader is told of an outcome; of any other, that it failed, is not shown or was not checked."""
_OTHERWISE = {"failed": "✕ worse", "not shown": "? not shown", "not checked": "not checked"}
_TONES: Mapping[str, Style] = {"✓": "better", "✕": "worse", "?": "bold"}


def _merged(checks: Sequence[dict[str, Any]], rule: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return one row per metric and slice, by role, metric and slice in their order."""
    rows: dict[tuple[str, str | None, str | None], dict[str, Any]] = {}
    for row in checks:
        first = rows.setdefault((row["metric"], row["by"], row["group"]), dict(row))
        if row["outcome"] == "failed":
            first |= {name: row[name] for name in _DECIDING}
    for row in rows.values():
        if row["metric"] in rule["success"] and row["by"] is None:
            row["role"] = "success"
        row["title"] = _TITLES[row["role"]]
        if row["role"] == "guardrail":
            row["title"] += f" {margin_text(rule['guardrails'][row['metric']])}"

    merged = _under_titles(list(rows.values()), rule)
    for before, row in zip([{}, *merged], merged, strict=False):
        is_named = all(before.get(name) == row[name] for name in ("title", "metric"))
        where = "" if row["by"] is None else group_words(row["by"], row["group"])
        row["below"] = is_named and row["by"] is not None
        row["name"] = where if row["below"] else ", ".join(filter(None, (row["metric"], where)))
        row["said"] = _SAID.get((row["role"], row["outcome"])) or _OTHERWISE[row["outcome"]]
    return merged


def _under_titles(rows: Sequence[dict[str, Any]], rule: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Sort rows by title and metric in the order of the rule, then by slice."""
    order = list(dict.fromkeys([*rule["success"], *rule["guardrails"], *rule["deterioration"]]))
    roles, slices = list(_TITLES), [None, *rule["slices"]]
    titles: list[str] = []
    for row in sorted(rows, key=lambda row: (roles.index(row["role"]), order.index(row["metric"]))):
        titles += [row["title"]] if row["title"] not in titles else []

    def place(row: Mapping[str, Any]) -> tuple[Any, ...]:
        metric = order.index(row["metric"])
        return (
            titles.index(row["title"]),
            metric,
            slices.index(row["by"]),
            natural_key(row["group"]),
        )

    return sorted(rows, key=place)


_DECIDING = ("outcome", "p", "p_name", "low", "high", "confidence", "change_low", "change_high")
"""The columns of a check that decides in the place of another one of the same metric and slice."""


def levels_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the confidence levels of a decision's intervals, each with its parts of the rule."""
    levels: dict[str, dict[str, None]] = {}
    for row in rows:
        if not math.isnan(row["confidence"]):
            levels.setdefault(level_text(row["confidence"]), {})[row["title"]] = None
    return {level: list(titles) for level, titles in levels.items()}


def _decision_view(
    rows: Sequence[Mapping[str, Any]], caption: str, notes: Sequence[str], *, full: bool
) -> TableView:
    """Return one row per metric and slice, each under its part of the rule."""
    body: list[list[Cell]] = []
    levels, last = levels_of(rows), ""
    for row in rows:
        if row["title"] != last:
            last = row["title"]
            body.append([Marked(last, "bold"), *[""] * (7 if full else 4)])
        body.append(_decision_line(row, full=full, with_level=len(levels) > 1))

    interval = f"{next(iter(levels))} interval" if len(levels) == 1 else "interval"
    more = ["difference", "interval", "p"] if full else []
    head = ["", "users", "from → to", f"change ({interval})", *more, ""]
    return TableView(
        head, body, notes, caption=caption, left=(0, len(head) - 1), leaving=() if full else (1, 2)
    )


def _decision_line(row: Mapping[str, Any], *, full: bool, with_level: bool) -> list[Cell]:
    """Return the line of one metric and slice."""
    name = f"{'    ' if row['below'] else '  '}{row['name']}"
    users = f"{row['users']:,}"
    said = Marked(row["said"], _TONES.get(row["said"][0], ""))
    if row["outcome"] == "not checked" or NO_LIST in row["flags"]:
        empty = "no list" if NO_LIST in row["flags"] else "no value"
        return [name, users, "", empty, *([""] * (3 if full else 0)), said]

    means = f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}"
    difference, interval = signed(row["difference"], places(row)), interval_text(row, signed)
    limits = [change(row[name], unit="") for name in ("change_low", "change_high")]
    level = f"; {level_text(row['confidence'])}" if with_level else ""
    size = f"{change(row['change'])} ({' to '.join(limits)}{level})"
    if "–" in limits:
        size = f"{difference} ({interval}{level})"
    more = [difference, interval, _decision_p(row)] if full else []
    return [name, users, means, size, *more, said]


def _decision_p(row: Mapping[str, Any]) -> str:
    """Return the p-value of a check, with the name of its correction if it has one."""
    text = p_value(row["p"])
    if math.isnan(row["p"]) or not row["p_name"]:
        return text
    return f"{text} ({row['p_name']})"


def _is_decision(content: Mapping[str, Any]) -> bool:
    return form_of_keys(content.keys()) is DECISION


def _read_decision(file: Path) -> Decision:
    """Return the decision in a file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        version, digest = DECISION.version_of(content), content.pop("sha256")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(
            "this file does not hold a saved decision",
            where=str(file),
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="Decision.save writes it, and so does rankwise run",
        ) from error
    DECISION.check(version, str(file), written_by=content.get("rankwise"))
    if not _has_digest(content, digest):
        raise FileError(
            "this file was changed after the decision was saved",
            where=str(file),
            hint="decide again",
        )
    record = DECISION.upgrade(content, version)
    record.pop(DECISION.key, None)
    schema = {name: column.dtype for name, column in columns_of(Check).items()}
    try:
        checks = [
            # A check without a margin has none; other numbers that are missing are NaN.
            [
                float_of(row[name])
                if kind == pl.Float64 and name not in ("margin", "condition")
                else row[name]
                for name, kind in schema.items()
            ]
            for row in record["checks"]
        ]
        table = pl.DataFrame(checks, schema=schema, orient="row")
        return Decision(record["outcome"], record["reasons"], table, record["small_slices"], record)
    except (LookupError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise FileError(
            "this saved decision lacks a part", where=str(file), found=f"{error!r}"
        ) from error


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(content).encode()).hexdigest()


def _has_digest(content: Mapping[str, Any], digest: object) -> bool:
    """Return whether a record has this digest; one with NaN or half a character has none."""
    try:
        return digest == _digest(content)
    except ValueError:
        return False


def _canonical(record: Mapping[str, Any]) -> str:
    return json.dumps(
        record, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
