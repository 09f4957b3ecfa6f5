"""The saved forms of rankwise: the version of each form, and upgrades of older versions.

A version is raised when what is written changes: a key, a column, a type, or what one of them
means. ``upgrades`` then gets a function that brings the version before to the new one, and
``python scripts/make_fixtures.py`` stores an example of the new version, which all later programs
have to read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rankwise.core import __version__
from rankwise.errors import FileError

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
        """Return the version that a file states; `KeyError` if a required version is missing."""
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
        """Upgrade content of a checked version to the current version."""
        version = self.version_of(content) if version is None else version
        for step in self.upgrades[version - self.oldest :]:
            content = step(content)
        return content


RESULT = SavedForm(
    "result",
    "Result.save",
    "`result.json`, and the tables of users (`per_user-….parquet`) and jackknife values "
    "(`replicates-….parquet`)",
    1,
    key="schema_version",
)
COMPARISON = SavedForm(
    "comparison",
    "Comparison.save",
    "`comparison.json`, and a result per system in `results/`",
    1,
)
DECISION = SavedForm(
    "decision",
    "Decision.save",
    "one JSON file: the rule, the checks, the outcome",
    1,
)
SHIPPED = SavedForm(
    "pointer to what shipped",
    "rankwise decide --record, rankwise ship",
    "one JSON file: the path of the result that shipped last, its hash, and the digest of the "
    "decision",
    1,
    key="shipped_version",
)
LOOKS = SavedForm(
    "record of looks",
    "rankwise compare --looks",
    "one JSON file: every look at each pair of systems",
    1,
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
    1,
    unversioned=1,
)
PARTIAL = SavedForm(
    "partial",
    "Partial.to_bytes",
    "Arrow tables by user and by item, counts, and the fingerprint of the job",
    1,
)
STATE_DICT = SavedForm(
    "state dict",
    "rankwise.torch.Collection.state_dict",
    "tensors of users, items and counts; PyTorch keeps the version and the settings in the "
    "metadata of the state dict",
    1,
    unversioned=1,
)
OFF_POLICY = SavedForm(
    "off-policy result",
    "OffPolicy.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="off_policy_version",
)
INTERLEAVING = SavedForm(
    "interleaving result",
    "Interleaving.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="interleaving_version",
)
JUDGED = SavedForm(
    "judged result",
    "JudgedResult.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="judged_version",
)
LAUNCHES = SavedForm(
    "validation of metrics",
    "MetricValidation.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="launches_version",
)
AGREEMENT = SavedForm(
    "rank agreement",
    "RankAgreement.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="agreement_version",
)
STABILITY = SavedForm(
    "stability",
    "Stability.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="stability_version",
)
CLAIM = SavedForm(
    "claim",
    "Claim.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="claim_version",
)
LEADERBOARD = SavedForm(
    "leaderboard",
    "Leaderboard.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="leaderboard_version",
)
NULLS = SavedForm(
    "nulls",
    "Nulls.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="nulls_version",
)
STAGES = SavedForm(
    "stages",
    "Stages.save",
    "`result.json`, and a Parquet file per table",
    1,
    key="stages_version",
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
        SHIPPED,
        LOOKS,
        OFF_POLICY,
        INTERLEAVING,
        JUDGED,
        LAUNCHES,
        AGREEMENT,
        STABILITY,
        CLAIM,
        LEADERBOARD,
        NULLS,
        STAGES,
        SPLIT,
        CONFIGURATION,
        PARTIAL,
        STATE_DICT,
        BUCKETS,
        BUCKET_USERS,
    )
}
"""Every saved form, by name."""


def form_of_keys(keys: Collection[str]) -> SavedForm | None:
    """Return the form of a JSON file with these keys at the top; None if it is of no saved form.

    >>> form_of_keys({"nulls_version", "settings"}).name
    'nulls'
    >>> form_of_keys({"version", "outcome", "rule", "sha256"}).name
    'decision'
    """
    if {DECISION.key, "outcome", "rule", "sha256"} <= set(keys):  # other files have a version, too
        return DECISION
    own_key = (form for form in FORMS.values() if form.key != "version")
    return next((form for form in own_key if form.key in keys), None)
