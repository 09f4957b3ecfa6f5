"""The result of an off-policy evaluation: values, paired differences, diagnostics and exports."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import polars as pl

from rankwise.core.arguments import check_path
from rankwise.core.saved_forms import OFF_POLICY, SavedForm
from rankwise.core.terminal import TableDisplay, TableView, format_number, json_safe, level_text
from rankwise.errors import MissingValueError, ParameterError
from rankwise.findings.words import p_value
from rankwise.offpolicy.exposures import CHECK
from rankwise.offpolicy.intervals import METHOD
from rankwise.results.methods import logged_plots
from rankwise.stats.differences import Interval, check_above_zero
from rankwise.tables.storage import read_folder, write_folder

LOGGED = "logged"
"""The name of the logging policy in results."""
NO_GROUP = "–"
"""The name of the group of rows without a value."""


def signed(value: float | None) -> str:
    """Return a difference as text, with its sign.

    >>> signed(0.25), signed(float("nan"))
    ('+0.2500', '–')
    """
    return "–" if value is None or math.isnan(value) else f"{value:+.4f}"


def limits_text(low: float, high: float, text: Callable[[float], str] = signed) -> str:
    """Return the limits of an interval as text.

    >>> limits_text(-0.25, 0.5), limits_text(float("nan"), 0.5)
    ('-0.2500 to +0.5000', '–')
    """
    return "–" if math.isnan(low) else f"{text(low)} to {text(high)}"


class SavedTables(TableDisplay):
    """A result of tables and plain values, which is shown, exported, saved and read."""

    form: ClassVar[SavedForm]
    """The form in which it is saved."""
    table: pl.DataFrame

    def _parts(self) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        """Return the tables, and the plain values, by name."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        frames = {name: part for name, part in parts.items() if isinstance(part, pl.DataFrame)}
        return frames, {name: part for name, part in parts.items() if name not in frames}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the values of users as plain values, ready for JSON."""
        frames, values = self._parts()
        tables = {name: frame.to_dicts() for name, frame in frames.items() if name != "per_user"}
        data: dict[str, Any] = json_safe({**tables, **values})
        return data

    def save(self, folder: str | Path) -> Path:
        """Write ``result.json`` and the tables into a folder, which `load` reads.

        Parameters
        ----------
        folder : str or Path
            The folder, made if it does not exist.

        Examples
        --------
        >>> import tempfile
        >>> import rankwise as rw
        >>> log = {"item": [1, 2], "propensity": [0.5, 0.5], "click": [1, 0], "p_new": [1.0, 0.0]}
        >>> result = rw.off_policy(log, targets={"new": "p_new"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rw.OffPolicy.load(result.save(folder)).table["support"].to_list()
        ['observed', 'none']
        """
        path, (frames, values) = check_path("folder", folder), self._parts()
        write_folder(path, {self.form.key: self.form.version, **values}, frames)
        return path

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a result that `save` wrote.

        Parameters
        ----------
        folder : str or Path
            The folder.
        """
        head, frames = read_folder(check_path("folder", folder), cls.form)
        names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        return cls(**{name: frames[name] if name in frames else head[name] for name in names})


@dataclass(frozen=True, eq=False, repr=False)
class OffPolicy(SavedTables):
    """The result of `rankwise.off_policy`: values of policies, and how well the log supports them.

    ``result["new"]`` is the value of a target: NaN where its support is none.

    Attributes
    ----------
    table : polars.DataFrame
        One row per policy: ``value`` per request with its interval ``low`` to ``high``, the
        ``support`` (observed, sound, weak, none) with its ``reasons``, ``n`` requests, ``users``,
        and the diagnostics: effective users, with a reward, users with weight, largest share and
        weight, mean weight with its error and z, share of unused requests, effective requests,
        perplexity, Pareto k, mass without support, and item calibration. With ``by`` also ``by``
        and ``group``.
    differences : polars.DataFrame
        One row per pair: ``baseline``, ``system``, the means of both, the paired ``difference``
        with the interval of the test and the level of its verdict (``confidence``), and that of the
        pair alone (``low_alone`` to ``high_alone``), ``p``, ``p_adjusted``, ``p_non_inferior`` (of
        a loss of the margin or more) with its one-sided limits, ``p_equivalence``,
        ``p_margin_adjusted`` (of what the margin shows, after correction), ``verdict``, the
        ``minimum_detectable`` difference (power 0.8), ``users``, whether it is ``primary``,
        ``flips_at`` (the largest clip of the weights at which the sign turns) and ``flags``.
    sensitivity : polars.DataFrame
        One row per policy, ``method`` (ips, clip, switch, shrink, dm, standard) and ``parameter``:
        the ``value`` by estimators whose bias is unknown, and its ``difference`` from the printed
        one. They have no interval.
    positions : polars.DataFrame
        One row per policy and position: its part of the value, and the effective users.
    per_user : polars.DataFrame
        One row per user: ``requests``, ``reward``, and for each policy the weighted reward (NaN
        without support) and the weight.
    counts : dict
        What was joined, and what was not.
    sources : dict
        The cards of the exposures, the outcomes and the tables of policies: columns, and hashes of
        files.
    settings : dict
        All options, with the estimator and the range of rewards.
    """

    table: pl.DataFrame
    differences: pl.DataFrame
    sensitivity: pl.DataFrame
    positions: pl.DataFrame
    per_user: pl.DataFrame
    counts: dict[str, int]
    sources: dict[str, Any]
    settings: dict[str, Any]
    form = OFF_POLICY

    def row(self, policy: str, group: Any = None) -> dict[str, Any]:
        """Return the row of a policy: of all requests, or of one group."""
        rows = self.table.filter(pl.col("policy") == policy)
        if "group" in rows.columns:
            rows = rows.filter(
                pl.col("group").is_null() if group is None else pl.col("group") == str(group)
            )
        if len(rows) != 1:
            raise MissingValueError(
                f"there is no single row of the policy {policy!r}",
                found=f"policies {', '.join(self.table['policy'].unique(maintain_order=True))}",
                hint="filter the table: result.table",
            )
        return rows.row(0, named=True)

    def __getitem__(self, policy: str) -> float:
        """Return the value of a policy; NaN where its support is none."""
        return float(self.row(policy)["value"])

    def interval(self, policy: str, group: Any = None) -> Interval:
        """Return the printed interval of a policy's value.

        Parameters
        ----------
        policy : str
            The name of a target, or ``"logged"``.
        group : str, optional
            With ``by``: the group of requests; by default all of them.
        """
        row, confidence = self.row(policy, group), 1 - self.settings["alpha"]
        return Interval(
            row["value"],
            row["low"],
            row["high"],
            confidence,
            METHOD,
            row["users"],
            tuple(row["reasons"]),
        )

    def requests_needed(self, policy: str, *, difference: float) -> int:
        """Return the number of requests that would show a difference from the baseline.

        Parameters
        ----------
        policy : str
            The name of a target.
        difference : float
            The true difference, above 0, to be found with probability 0.8.
        """
        check_above_zero("difference", difference)
        row = self.row(policy)
        pairs = self.differences.filter(pl.col("primary") & (pl.col("system") == policy))
        if pairs.is_empty() or math.isnan(pairs["minimum_detectable"][0]):
            raise ParameterError(
                "there is no difference from the baseline for this policy", found=repr(policy)
            )
        ratio = pairs["minimum_detectable"][0] / difference
        requests: int = math.ceil(row["n"] * ratio**2)
        return requests

    plot = cached_property(logged_plots)

    @property
    def per(self) -> str:
        """The unit of a reward: a request if requests have several rows, else a row."""
        return "request" if self.settings["slates"] else "row"

    @property
    def primary(self) -> pl.DataFrame:
        """The differences of all requests from the baseline."""
        return of_all_requests(self.differences).filter(pl.col("primary"))

    @cached_property
    def sentences(self) -> list[str]:
        """The verdict on each target against the baseline, as one sentence each."""
        return [_sentence(self, row) for row in self.primary.iter_rows(named=True)]

    @property
    def verdict(self) -> str:
        """The verdict on the first target against the baseline, as a sentence."""
        return self.sentences[0]

    @property
    def doubts(self) -> list[str]:
        """Checks to make before a verdict is believed, one line each, starting with ``check:``."""
        return doubts_of(self.counts)

    @property
    def notes(self) -> list[str]:
        """Notes on the estimation, reasons of weak support, caveats, and counts."""
        return _notes(self)

    @property
    def policies(self) -> list[str]:
        """The names of the policies, the logging policy first."""
        return self.table["policy"].unique(maintain_order=True).to_list()

    @property
    def inputs(self) -> dict[str, Any]:
        """The hashes of the input tables and of the users' values, and the settings."""
        values = hashlib.sha256(self.per_user.write_csv().encode()).hexdigest()
        tables = {role: card.get("sha256") for role, card in self.sources.items()}
        return {"tables": tables, "settings": json_safe(self.settings), "per_user": values}

    def pair_rows(self, reward: str, baseline: str, system: str) -> list[dict[str, Any]]:
        """Return a pair's rows in the form of a comparison: all requests first, then each group.

        Where support is weak or none a row has no p-value: nothing is shown.
        """
        chosen = self.differences.filter(pl.col("system") == system, pl.col("baseline") == baseline)
        if chosen.is_empty():
            raise ParameterError(
                f"{system} was not compared with {baseline}",
                hint=f"off_policy(…, baseline={baseline!r})",
            )
        rows = []
        for row in chosen.iter_rows(named=True):
            group = row.get("group")
            supports = {name: self.row(name, group) for name in (system, baseline)}
            weak = [
                f"support of {name} is {each['support']}"
                for name, each in supports.items()
                if each["support"] not in ("observed", "sound")
            ]
            unknown: dict[str, Any] = {"p": math.nan, "p_non_inferior": math.nan} if weak else {}
            unknown["users"] = supports[system]["users"]
            head = {
                "metric": reward,
                "by": None if group is None else row["by"],
                "group": group,
                "up": True,
            }
            more = {"p_bound": math.nan, "users_needed": None, "flags": [*weak, *row["flags"]]}
            more |= {
                "level": self.settings["alpha"],
                "margin_lift_low": math.nan,
                "margin_lift_high": math.nan,
            }
            more |= {"margin_low": row["low_non_inferior"], "margin_high": row["high_non_inferior"]}
            rows.append({**row, **head, **more, **unknown})
        return rows

    @property
    def views(self) -> list[TableView]:
        """The tables for readers: values, differences, and notes."""
        values = _value_view(self.table)
        return [
            replace(values, caption="\n".join([*self.doubts, *self.sentences])),
            _difference_view(self),
        ]


def is_off_policy(path: Path) -> bool:
    """Return whether a path is a folder that `OffPolicy.save` wrote."""
    try:
        return OFF_POLICY.key in json.loads((path / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return False


def _value_view(table: pl.DataFrame) -> TableView:
    head = (
        "",
        "value",
        "interval",
        "support",
        "effective users",
        "with reward",
        "largest share",
        "mean weight",
    )
    return TableView(head, [_value_cells(row) for row in table.iter_rows(named=True)], left=(0,))


def _value_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    z = row["mean_weight_z"]
    observed = row["support"] == "observed"
    mean = (
        "1"
        if observed
        else f"{row['mean_weight']:.3f}" + ("" if math.isnan(z) else f" (z {z:+.1f})")
    )
    return (
        f"{row['policy']}{_group(row)}",
        format_number(row["value"]),
        limits_text(row["low"], row["high"], format_number),
        row["support"],
        f"{row['effective_users']:,.0f}",
        f"{row['effective_rewarded']:,.0f}",
        "–" if math.isnan(row["largest_share"]) else f"{row['largest_share']:.2%}",
        mean,
    )


def of_all_requests(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a table that are of no group."""
    return table.filter(pl.col("group").is_null()) if "group" in table.columns else table


def worth(row: Mapping[str, Any]) -> int:
    """Rank the support of a policy, given its row of the table, from 0 (none) to 3 (observed)."""
    return ("none", "weak", "sound", "observed").index(row["support"])


def _group(row: Mapping[str, Any]) -> str:
    """Return the row's group in brackets; an empty text for all requests."""
    return "" if row.get("group") is None else f" [{row['by']}={row['group']}]"


def _deciding_p(row: Mapping[str, Any]) -> float:
    """Return the adjusted p-value that decided a pair's verdict: of the margin or of the test."""
    return float(
        row[
            "p_margin_adjusted"
            if row["verdict"] in ("equivalent", "within the margin")
            else "p_adjusted"
        ]
    )


def _level_beside(row: Mapping[str, Any], level: float) -> str:
    """Return the confidence level of an interval in brackets; empty if equal to ``level``."""
    if math.isnan(row["low"]) or row["confidence"] == level:
        return ""
    return f" ({level_text(row['confidence'])})"


def _difference_view(result: OffPolicy) -> TableView:
    levels = {
        row["confidence"]
        for row in result.differences.to_dicts()
        if not math.isnan(row["confidence"])
    }
    level = levels.pop() if len(levels) == 1 else math.nan
    several = len(result.differences) > 1 and result.settings.get("correction") != "none"
    p_name = "p adjusted" if several else "p"
    rows = [
        (
            f"{row['system']} − {row['baseline']}{_group(row)}",
            signed(row["difference"]),
            limits_text(row["low"], row["high"]) + _level_beside(row, level),
            p_value(_deciding_p(row), result.settings["alpha"]),
            row["verdict"],
        )
        for row in result.differences.iter_rows(named=True)
    ]
    head = (
        "",
        "difference",
        "interval" if math.isnan(level) else f"{level_text(level)} interval",
        p_name,
        "verdict",
    )
    return TableView(head, rows, _notes(result), left=(0, 4))


def _sentence(result: OffPolicy, row: Mapping[str, Any]) -> str:
    """Return the verdict on a pair as a sentence."""
    system, baseline, verdict = row["system"], row["baseline"], row["verdict"]
    target = min((result.row(name) for name in (system, baseline)), key=worth)
    if verdict == "no number":
        return (
            f"The log cannot say what {target['policy']} would have earned: {target['reasons'][0]}."
        )
    means = f"{format_number(row['mean_system'])} against {format_number(row['mean_baseline'])} per {result.per}"
    if verdict in ("better", "worse"):
        return f"{system} is {verdict} than {baseline}: {means}."
    if verdict in ("equivalent", "within the margin"):
        said = "differs from" if verdict == "equivalent" else "loses against"
        return f"{system} {said} {baseline} by less than {format_number(row['margin'])}: {means}."
    if "weak" in verdict:
        return (
            f"No verdict on {target['policy']}, which the log supports weakly "
            f"({target['reasons'][0]}): {means}."
        )
    return f"{system} is not shown to differ from {baseline}: {means}."


_ESTIMATORS = {
    "snips": "self-normalised",
    "sndr": "doubly robust, self-normalised",
    "ips": "inverse propensity scoring",
    "beta_ips": "inverse propensity scoring with a control variate",
    "dr": "doubly robust",
}


def _notes(result: OffPolicy) -> list[str]:
    """Return notes on the estimation, reasons of weak support, caveats and counts."""
    settings = result.settings
    logged = result.table.row(0, named=True)
    low, high = settings["reward_range"]
    per = "request" if settings["slates"] else "row"
    taken = " (taken from the log)" if settings["range_from_log"] else ""
    slates = f", {settings['slates']} by position" if settings["slates"] else ""
    notes = [
        (
            f"{logged['n']:,} requests of {logged['users']:,} users; reward "
            f"{format_number(logged['value'])} per {per}, "
            f"from {low:g} to {high:g}{taken}. Values: "
            f"{_ESTIMATORS[settings['estimator']]}{slates}. "
            f"Intervals: {level_text(1 - settings['alpha'])}, {METHOD} as heavy as the heaviest."
        )
    ]
    notes += [
        f"{row['policy']}{_group(row)}: support is {row['support']}: {'; '.join(row['reasons'])}"
        for row in result.table.iter_rows(named=True)
        if row["reasons"]
    ]
    for row in result.differences.iter_rows(named=True):
        notes += [
            f"{row['system']} − {row['baseline']}{_group(row)}: {flag}" for flag in row["flags"]
        ]
    return notes + notes_of(result.counts)


def doubts_of(counts: Mapping[str, int]) -> list[str]:
    """Return the counts that put a result in doubt, as lines that start with ``check:``."""
    return [f"{name}: {count:,}." for name, count in counts.items() if name.startswith(CHECK)]


def notes_of(counts: Mapping[str, int]) -> list[str]:
    """Return the counts that are not checks, one line each."""
    return [f"{name}: {count:,}" for name, count in counts.items() if not name.startswith(CHECK)]
