"""Everything that rankwise saves and reads again: the version of each form, and how older versions are read.

A version is raised when what is written changes: a key, a column, a type, or what one of them
means. ``upgrades`` then gets a function that brings the version before to the new one, and
``python scripts/make_fixtures.py`` stores an example of the new version, which all later programs
have to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from rankwise.core import __version__
from rankwise.errors import FileError

__all__ = [
    "BUCKETS",
    "BUCKET_USERS",
    "COMPARISON",
    "CONFIGURATION",
    "DECISION",
    "FORMS",
    "INTERLEAVING",
    "JOB",
    "LOOKS",
    "OFF_POLICY",
    "PARTIAL",
    "RESULT",
    "SPLIT",
    "STATE_DICT",
    "SavedForm",
]

Upgrade: TypeAlias = Callable[[Any], Any]
"""Returns the content of a file as the next version has it."""


@dataclass(frozen=True, eq=False, repr=False)
class SavedForm:
    """A form in which rankwise saves something, with its versions.

    Attributes
    ----------
    name : str
        What is saved.
    writer : str
        The function that writes it, as the documentation names it.
    files : str
        The files, and what they hold.
    version : int
        The version that is written.
    key : str, default="version"
        The key of the version in the file.
    upgrades : tuple of callable, default=()
        One function per older version that can be read, the oldest first; each returns the content
        as the next version has it.
    retired : mapping of int to str, optional
        Versions that are no longer read, each with the last release of rankwise that reads it.
    unversioned : int, optional
        The version of a file without the key; by default such a file is refused.

    Examples
    --------
    >>> def with_label(content):
    ...     return {"label": "", **content}
    >>> form = SavedForm("result", "Result.save", "result.json", 2, upgrades=(with_label,))
    >>> form.readable, form.upgrade({"version": 1, "users": 3})
    ('1 to 2', {'label': '', 'version': 1, 'users': 3})
    """

    name: str
    writer: str
    files: str
    version: int
    key: str = "version"
    upgrades: tuple[Upgrade, ...] = ()
    retired: Mapping[int, str] = field(default_factory=dict)
    unversioned: int | None = None

    @property
    def oldest(self) -> int:
        """The oldest version that can be read."""
        return self.version - len(self.upgrades)

    @property
    def readable(self) -> str:
        """The versions that can be read, as text."""
        return f"{self.oldest} to {self.version}" if self.upgrades else str(self.version)

    def version_of(self, content: Mapping[str, Any]) -> Any:
        """Return the version that a file states; a `KeyError` if it has to state one and does not."""
        return (
            content[self.key]
            if self.unversioned is None
            else content.get(self.key, self.unversioned)
        )

    def check(self, version: Any, where: str, *, written_by: Any = None) -> None:
        """Raise unless a version can be read.

        Parameters
        ----------
        version : object
            What the file states.
        where : str
            The file.
        written_by : object, optional
            The version of rankwise that the file names, if it names one.

        Raises
        ------
        FileError
            If this version of rankwise does not read it; the hint names one that does, if it is
            known.
        """
        if type(version) is int and self.oldest <= version <= self.version:
            return
        raise FileError(
            f"this {self.name} was saved by another version of rankwise",
            where=where,
            found=f"{self.name} version {version!r}; rankwise {__version__} reads {self.readable}",
            hint=self._hint(version, written_by),
        )

    def _hint(self, version: Any, written_by: Any) -> str:
        """Return which rankwise reads a version."""
        number = version if type(version) is int else 0
        if number > self.version:
            return (
                f"use rankwise {written_by} or later"
                if isinstance(written_by, str)
                else "use a newer rankwise"
            )
        if number in self.retired:
            return f"use rankwise {self.retired[number]}, or save it again with this version"
        return "no release of rankwise wrote this version: save it again"

    def upgrade(self, content: Any, version: int | None = None) -> Any:
        """Return content of a version that was checked, as the current version has it."""
        version = self.version_of(content) if version is None else version
        for step in self.upgrades[version - self.oldest :]:
            content = step(content)
        return content


def _unchanged(content: Any) -> Any:
    """Return the content of a form whose next version only states its version."""
    return content


def _rows_with(rows: str, name: str, value: Any) -> Upgrade:
    """Return an upgrade that gives every row of a table a column that older programs did not have."""
    return lambda content: {**content, rows: [{name: value, **row} for row in content[rows]]}


_NOT_SHOWN = {"undecided": "not shown", "undecided (weak support)": "not shown (weak support)"}
"""Words of verdicts that were renamed."""


def _rows_with_verdicts(content: Any) -> Any:
    """Return a comparison with the verdicts of today."""
    pairs = (
        {**row, "verdict": _NOT_SHOWN.get(row["verdict"], row["verdict"])}
        for row in content["pairs"]
    )
    return {**content, "pairs": list(pairs)}


def _decision_with_levels(content: Any) -> Any:
    """Return a decision whose intervals have a level: older ones divided limits by the mean of the baseline."""
    checks = []
    for row in content["checks"]:
        mean = row["mean_baseline"]
        shares = {
            name: row[value] / abs(mean) if mean and isinstance(row[value], int | float) else None
            for name, value in (
                ("change", "difference"),
                ("change_low", "low"),
                ("change_high", "high"),
            )
        }
        checks.append({**row, **shares, "confidence": 1 - content["rule"]["alpha"], "p_name": ""})
    return {**content, "checks": checks}


_MARGIN_LIMITS = ("margin_low", "margin_high", "margin_lift_low", "margin_lift_high")


def _rows_with_levels(content: Any) -> Any:
    """Return a comparison whose intervals have a level, and whose wins are users for whom the system is better.

    Older ones have the interval of a pair alone.
    """
    settings = content["settings"]
    confidence, directions = 1 - settings["alpha"], settings.get("directions", {})
    rows = []
    for row in content["pairs"]:
        more = {"confidence": confidence, "low_alone": row["low"], "high_alone": row["high"]}
        if directions.get(row["metric"]) is False and not row.get("data_sets"):
            more |= {"wins": row["losses"], "losses": row["wins"]}
        rows.append({**row, **more, **dict.fromkeys(_MARGIN_LIMITS)})
    return {**content, "pairs": rows}


def _table_with_verdicts(table: str) -> Upgrade:
    """Return an upgrade of a folder of tables to the verdicts of today."""

    def upgrade(content: Any) -> Any:
        head, frames = content
        return head, {
            **frames,
            table: frames[table].with_columns(pl.col("verdict").replace(_NOT_SHOWN)),
        }

    return upgrade


def _differences_with_margins(content: Any) -> Any:
    """Return an off-policy result with p-values of its margin, which older ones do not have."""
    head, frames = content
    table = frames["differences"].with_columns(p_non_inferior=pl.lit(float("nan")))
    return head, {**frames, "differences": table}


def _differences_with_levels(content: Any) -> Any:
    """Return an off-policy result whose intervals of differences have a level: older ones are of a pair alone."""
    head, frames = content
    unknown = ("p_equivalence", "p_margin_adjusted", "low_non_inferior", "high_non_inferior")
    table = frames["differences"].with_columns(
        pl.lit(1 - head["settings"]["alpha"]).alias("confidence"),
        pl.col("low").alias("low_alone"),
        pl.col("high").alias("high_alone"),
        *(pl.lit(float("nan")).alias(name) for name in unknown),
    )
    return head, {**frames, "differences": table}


def _decision_with_means(content: Any) -> Any:
    """Return a decision whose checks have means, which older ones do not know, and the words of today."""
    checks = [
        {
            "mean_baseline": None,
            "mean_system": None,
            **row,
            "outcome": "no loss shown" if row["outcome"] == "undecided" else row["outcome"],
        }
        for row in content["checks"]
    ]
    return {"unguarded": [], "lower_is_better": [], **content, "checks": checks}


RESULT = SavedForm(
    "result",
    "Result.save",
    "`result.json`, and the tables of users (`per_user-….parquet`) and jackknife values "
    "(`replicates-….parquet`)",
    5,
    key="schema_version",
    upgrades=(_unchanged,),
)
COMPARISON = SavedForm(
    "comparison",
    "Comparison.save",
    "`comparison.json`, and a result per system in `results/`",
    6,
    upgrades=(
        _unchanged,
        _rows_with("pairs", "p_bound", None),
        _unchanged,
        _rows_with_verdicts,
        _rows_with_levels,
    ),
    unversioned=1,
)
DECISION = SavedForm(
    "decision",
    "Decision.save",
    "one JSON file: the rule, the checks, the outcome",
    5,
    upgrades=(
        _unchanged,
        _rows_with("checks", "flags", ()),
        _decision_with_means,
        _decision_with_levels,
    ),
    unversioned=1,
)
LOOKS = SavedForm(
    "record of looks",
    "rankwise compare --looks",
    "one JSON file: every look at each pair of systems",
    3,
)
SPLIT = SavedForm(
    "split",
    "Split.save, Folds.save",
    "the card `split.json`, and a file per part",
    1,
    key="card_version",
)
CONFIGURATION = SavedForm(
    "configuration",
    "rankwise run",
    "`config.yaml`: every option in full, and the hash of every input; a file without a version "
    "has the current one",
    3,
    upgrades=(_unchanged, _unchanged),
    unversioned=3,
)
PARTIAL = SavedForm(
    "partial",
    "Partial.to_bytes",
    "Arrow tables by user and by item, counts, and the fingerprint of the job",
    4,
)
JOB = SavedForm(
    "job",
    "Job.to_bytes",
    "the settings, and the Arrow tables that all pieces share",
    6,
    upgrades=(_unchanged,) * 3,
)
STATE_DICT = SavedForm(
    "state dict",
    "rankwise.torch.Collection.state_dict",
    "tensors of users, items and counts; PyTorch keeps the version and the settings in the "
    "metadata of the state dict",
    2,
    upgrades=(_unchanged,),
    unversioned=1,
)
OFF_POLICY = SavedForm(
    "off-policy result",
    "OffPolicy.save",
    "`result.json`, and a Parquet file per table",
    4,
    key="off_policy_version",
    upgrades=(
        _table_with_verdicts("differences"),
        _differences_with_margins,
        _differences_with_levels,
    ),
)
INTERLEAVING = SavedForm(
    "interleaving result",
    "Interleaving.save",
    "`result.json`, and a Parquet file per table",
    2,
    key="interleaving_version",
    upgrades=(_table_with_verdicts("table"),),
)
BUCKETS = SavedForm(
    "table by bucket",
    "rankwise.spark.bucket",
    "`_rankwise.json`, and a folder of Parquet per bucket",
    1,
)
BUCKET_USERS = SavedForm(
    "users of a bucket",
    "rankwise.spark.evaluate",
    "Arrow tables, from executors to the driver of one run; not kept",
    1,
)

FORMS = {
    form.name: form
    for form in (
        RESULT,
        COMPARISON,
        DECISION,
        LOOKS,
        OFF_POLICY,
        INTERLEAVING,
        SPLIT,
        CONFIGURATION,
        PARTIAL,
        JOB,
        STATE_DICT,
        BUCKETS,
        BUCKET_USERS,
    )
}
"""Every saved form, by name."""
