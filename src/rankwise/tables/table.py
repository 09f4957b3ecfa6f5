"""Tables with standard column names, tables of one evaluation, cards of splits and candidates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, get_args

import polars as pl

from rankwise.core.arguments import TimeUnit
from rankwise.core.arrays import at_least
from rankwise.core.digests import digest_of_rows
from rankwise.core.hashing import json_hash
from rankwise.core.saved_forms import SPLIT
from rankwise.core.units import Units
from rankwise.errors import FileError

INFERRED = "negatives, to judge by the lists"
"""Candidates of lists that came from a table and look like relevant items among sampled negatives."""
PASSED = "those passed with the scores"
"""Candidates that came beside scores: nothing says how they were chosen."""


@dataclass(frozen=True)
class Protocol:
    """How the candidate set of each user was chosen.

    Attributes
    ----------
    candidates : str
        The candidates, in words: ``"catalogue less seen"``, ``"given items"``, ….
    negatives : int or None, default=None
        Number of sampled negatives per user; None where nothing was sampled.
    seed : int or None, default=None
        The seed of the sample.
    by : str, default=""
        The distribution of sampled negatives: ``"uniform"`` or ``"popularity"``.
    replacement : bool, default=False
        Whether negatives were drawn with replacement.
    digest : str or None, default=None
        A hash of the candidates of all users; None for the catalogue.
    relevance_threshold : float or None, default=None
        Minimum relevance of the positives of a sample.
    power : float, default=1.0
        The exponent of the number of training users, where negatives were drawn by popularity.

    Examples
    --------
    >>> Protocol("sampled", negatives=100, seed=42).label
    'sampled (m=100, seed=42)'
    """

    candidates: str
    negatives: int | None = None
    seed: int | None = None
    by: str = ""
    replacement: bool = False
    digest: str | None = None
    relevance_threshold: float | None = None
    power: float = 1.0

    @property
    def sampled(self) -> bool:
        """Whether candidates are a sample, so that values differ from full-catalogue values."""
        return self.negatives is not None

    @property
    def label(self) -> str:
        """The label of all values computed from sampled negatives; else empty."""
        if not self.sampled:
            return ""
        seed = "" if self.seed is None else f", seed={self.seed}"
        power = "" if self.power == 1 else f"^{self.power:g}"
        by = f", by {self.by}{power}" if self.by not in ("", "uniform") else ""
        replacement = ", with replacement" if self.replacement else ""
        inferred = "looks " if self.candidates == INFERRED else ""
        return f"{inferred}sampled (m={self.negatives}{seed}{by}{replacement})"

    @classmethod
    def of_label(cls, label: str) -> Self | None:
        """Parse the label of a sample; return None for text that is no label.

        >>> Protocol.of_label("sampled (m=100, seed=42, by popularity^0.75)").power
        0.75
        """
        match = re.fullmatch(
            r"(looks )?sampled \(m=(\d+)(?:, seed=(\d+))?(?:, by (\w+)(?:\^(\S+?))?)?(, with "
            r"replacement)?\)",
            label,
        )
        if match is None:
            return None
        inferred, negatives, seed, by, power, replacement = match.groups()
        return cls(
            "sampled" if inferred is None else INFERRED,
            int(negatives),
            None if seed is None else int(seed),
            by or "",
            replacement is not None,
            power=float(power or 1),
        )

    def write(self) -> str:
        """Return the protocol as text: equal text for equal protocols."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Return the protocol that `write` wrote; None for empty text."""
        return cls(**json.loads(text)) if text else None

    def to_dict(self) -> dict[str, Any]:
        """Return the protocol as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, saved: Mapping[str, Any]) -> Self:
        """Return the protocol from the values of `to_dict`."""
        return cls(**saved)


CARD_FILE = "split.json"
_DEFAULTS = {"filter_on": "train", "cold_users": "keep", "cold_items": "keep", "seen": "keep"}
_LARGEST = 1 << 24  # bytes of a file of settings: more is none, or has no end
_DEEPEST = 10  # levels of values within values; a card has six


def read_json(path: Path) -> Any:
    """Return the values in a file of settings.

    Raises
    ------
    FileError
        If it cannot be read, or holds more than settings do.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise FileError(
            "this file cannot be read", where=str(path), found=error.strerror
        ) from error
    if len(data) > _LARGEST:
        raise FileError(
            "this file is too large to hold settings",
            where=str(path),
            found=f"more than {_LARGEST:,} bytes",
        )
    try:
        value = json.loads(data)
        if is_deep(value):
            raise RecursionError
    except RecursionError as error:
        raise FileError("this JSON is nested too deeply", where=str(path)) from error
    except ValueError as error:
        raise FileError("this is not JSON", where=str(path), found=str(error)[:80]) from error
    return value


def is_deep(value: Any) -> bool:
    """Return whether plain values are nested so deeply that reading them might not end.

    >>> is_deep({"a": [1]}), is_deep([[[[[[[[[[[]]]]]]]]]]])
    (False, True)
    """
    level = [value]
    for _ in range(_DEEPEST):
        inner = [
            entry.values() if isinstance(entry, Mapping) else entry
            for entry in level
            if _is_nested(entry)
        ]
        level = [value for values in inner for value in values]
    return any(map(_is_nested, level))


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple)


def read_card(folder: Path) -> dict[str, Any] | None:
    """Return the card in a folder; None if there is none.

    Raises
    ------
    FileError
        If there is a file of that name that is no card, or was changed after it was written.
    """
    path = folder / CARD_FILE
    if not path.is_file():
        return None
    card = read_json(path)
    if not isinstance(card, dict) or SPLIT.key not in card:
        raise FileError("this is not the card of a split", where=str(path))
    version = SPLIT.version_of(card)
    SPLIT.check(version, str(path), written_by=card.get("rankwise"))
    if card.pop("sha256", None) == json_hash(card):
        current: dict[str, Any] = SPLIT.upgrade(card, version)
        if is_card(current) and "files" in current:
            return current
    raise FileError(
        "the card of this split was changed after it was written",
        where=str(path),
        hint=f"restore {CARD_FILE}; without it, the files are recognised by their names",
    )


def is_card(value: Any) -> bool:
    """Return whether a value has everything that is read from a card."""
    if not isinstance(value, dict) or is_deep(value) or not isinstance(value.get("id"), str):
        return False
    if not all(isinstance(value.get(name), dict) for name in ("input", "rule", "found", "parts")):
        return False
    return (
        _are_parts(value["parts"])
        and _is_time(value.get("time", {"unit": "s"}))
        and _are_texts(value["input"].get("columns"))
        and _are_texts(value.get("files", {}))
    )


def _are_parts(parts: dict[str, Any]) -> bool:
    rows = [part.get("rows") if isinstance(part, dict) else None for part in parts.values()]
    return {"train", "test"} <= parts.keys() and all(type(count) is int for count in rows)


def _is_time(time: Any) -> bool:
    return isinstance(time, dict) and time.get("unit") in get_args(TimeUnit)


def _are_texts(names: Any) -> bool:
    return isinstance(names, dict) and all(isinstance(text, str) for text in names.values())


def card_text(card: Mapping[str, Any]) -> str:
    """Return a card as JSON, with a hash of itself."""
    with_hash = {**card, "sha256": json_hash(card)}
    return json.dumps(with_hash, indent=2, ensure_ascii=False) + "\n"


def card_beside(file: str | Path, sha256: str) -> dict[str, Any] | None:
    """Return the card in the folder of a file, if the card lists the file with this hash."""
    path = Path(file)
    try:
        card = read_card(path.parent)
    except FileError:
        return None  # another program's split.json: it tells nothing about this file
    return card if card is not None and card["files"].get(path.name) == sha256 else None


def one_line(rule: Mapping[str, Any]) -> str:
    """Return a splitting rule on one line, without parameters at their default."""
    parameters = [
        f"{name}={one_line(value) if isinstance(value, dict) else repr(value)}"
        for name, value in rule.items()
        if name != "rule" and (name not in _DEFAULTS or _DEFAULTS[name] != value)
    ]
    return f"{rule.get('rule', 'split')}({', '.join(parameters)})"


def in_words(card: Mapping[str, Any]) -> str:
    """Return on one line which split a card describes: rule, moment, test rows and id."""
    test = card["parts"]["test"]
    moment = card["found"].get("moment")
    when = "" if moment is None else f" at {moment}"
    return f"{one_line(card['rule'])}{when}, {test['rows']} test rows, id {card['id'][:12]}"


TableRole: TypeAlias = Literal[
    "recommendations",
    "truth",
    "train",
    "items",
    "users",
    "reference",
    "interactions",
    "exposures",
    "outcomes",
    "targets",
    "predictions",
]


TRAINED = "trained"
"""The column that says which known rows of a split models are trained on; absent if all are."""


@dataclass(frozen=True)
class Origin:
    """Where a table was read from, so that it can be read again.

    Attributes
    ----------
    path : str
        The absolute path of a file, of the folder of a table, or of the folder of a split.
    declared : mapping of str to value, default={}
        The format that was declared for a file whose name and first line do not tell.
    is_split : bool, default=False
        Whether the path is the folder of a split, of which the table is a part.
    """

    path: str
    declared: Mapping[str, Any] = field(default_factory=dict)
    is_split: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of a table's card."""
        declared = {"declared": dict(self.declared)} if self.declared else {}
        return {"paths": [self.path], **declared}


@dataclass(frozen=True, eq=False)
class Table:
    """A table with standard column names.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns ``user``, ``item`` and, where they exist, ``rank``, ``score``, ``relevance``,
        ``timestamp``; tables of users and items keep the names of their other columns.
    role : str
        What the table is for: ``"truth"``, ``"train"``, ….
    source : str
        The file or object that it was read from.
    format : str
        The format or layout of the source.
    columns : dict of str to str
        The name in the source of each column.
    is_text : bool, default=False
        Whether its ids were text in a file, and are integers because all could be converted.
    sha256 : str or None, default=None
        The hash of the file; None for tables in memory.
    split : mapping or None, default=None
        The card of the split that the table is a part of, if known.
    unread : tuple of str, default=()
        Columns of the source that were not read.
    trimmed : int, default=0
        Number of ids of a text file that had blanks around them, which were removed.
    empty_lists : polars.DataFrame or None, default=None
        Of recommendations, where each row or entry of the source is a list: the ``user``, and the
        ``request`` if there are any, of those that have no item.
    counts : mapping of str to int
        What was counted when the table was made: irregularities of lists, merged rows of a ground
        truth.
    origin : Origin or None, default=None
        Where the table lies, if all of it can be read again from there.
    """

    frame: pl.DataFrame
    role: TableRole
    source: str
    format: str
    columns: dict[str, str]
    is_text: bool = False
    sha256: str | None = None
    split: Mapping[str, Any] | None = None
    unread: tuple[str, ...] = ()
    trimmed: int = 0
    empty_lists: pl.DataFrame | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    origin: Origin | None = None

    def with_ids(self, column: str, ids: pl.Series) -> Self:
        """Return the table with the ids of a column replaced."""
        return replace(self, frame=self.frame.with_columns(ids.alias(column)))

    def with_frame(self, frame: pl.DataFrame) -> Self:
        """Return the table with the rows replaced."""
        return replace(self, frame=frame)

    @property
    def names(self) -> list[str]:
        """The columns as the source calls them, for messages."""
        return [self.columns.get(name, name) for name in self.frame.columns]

    @property
    def trained(self) -> Self:
        """The training rows, without other rows that a split knows of its users.

        A user's history has all known rows; items are counted in the training rows alone.
        """
        if TRAINED not in self.frame.columns:
            return self
        return self.with_frame(self.frame.filter(TRAINED).drop(TRAINED))

    @property
    def is_positional(self) -> bool:
        """Whether the source names no columns: a dict by user, tuples, arrays, matrices."""
        return names_no_columns(self.format)

    @cached_property
    def digest(self) -> int:
        """The digest of users, items and relevance (1 where missing), cached for all passes."""
        return digest_of_rows(self.frame, "relevance")

    def relevant(self, threshold: float | None) -> pl.DataFrame:
        """Return the relevant rows: all rows, if there is no relevance."""
        if "relevance" not in self.frame.columns:
            return self.frame
        value = pl.col("relevance")
        return self.frame.filter(value > 0 if threshold is None else at_least(value, threshold))

    @property
    def card(self) -> dict[str, Any]:
        """The table's entry in a result: source, format, rows, columns, ids, hash and paths."""
        ids = {
            name: str(self.frame[name].dtype)
            for name in ("user", "item")
            if name in self.frame.columns
        }
        return {
            "source": self.source,
            "format": self.format,
            "rows": len(self.frame),
            "columns": self.columns,
            "unread": list(self.unread),
            "ids": ids,
            "ids_trimmed": self.trimmed,
            "sha256": self.sha256,
            **({} if self.origin is None else {"file": self.origin.to_dict()}),
        }


def names_no_columns(layout: str) -> bool:
    """Whether sources of a format or layout have no columns with names."""
    return layout.startswith(("{", "[", "dense", "sparse", "list of", "weights", "ids", "tensors"))


@dataclass(frozen=True, eq=False)
class Recommendations(Table):
    """Recommendation lists, or the exact ranks of judged items.

    Attributes
    ----------
    protocol : Protocol or None, default=None
        The candidate sets that the lists were ranked from; None if unknown.
    lengths : polars.DataFrame or None, default=None
        For exact ranks, each ``user`` and the size of its candidate set, ``length``. The rows are
        then judged items only, with the ranks ``first`` to ``last`` that each may have.
    unranked : polars.DataFrame or None, default=None
        For exact ranks, judged items outside the candidate sets: ``user``, ``item``.
    k : int or None, default=None
        For lists that were cut at k, k; they also hold the items tied with their last item.
    """

    protocol: Protocol | None = None
    lengths: pl.DataFrame | None = None
    unranked: pl.DataFrame | None = None
    k: int | None = None

    @property
    def is_exact(self) -> bool:
        """Whether these are exact ranks of judged items, not lists."""
        return self.lengths is not None


def absent_truth(recommendations: Table) -> Table:
    """Return an empty placeholder for a missing ground truth, with the id types of the lists."""
    frame = recommendations.frame.select("user", "item").clear()
    return Table(frame, "truth", "none", "none", {})


def is_absent(truth: Table) -> bool:
    """Return whether a table stands for a ground truth that was not given."""
    return truth.format == "none"


@dataclass(frozen=True, eq=False, repr=False)
class SameItems:
    """The ids that stand for the id of another item.

    Attributes
    ----------
    pairs : polars.DataFrame
        Every such ``item`` and the ``same`` item, whose id holds and stands for no other.
    is_text : bool, default=False
        Whether ids were text in a file, so that numbers are as good as their text.
    """

    pairs: pl.DataFrame
    is_text: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Tables:
    """The tables of an evaluation, or of a piece of one; None for absent tables.

    Attributes
    ----------
    unlisted : Table or None, default=None
        In a piece, the users who are evaluated although the piece has no list of them.
    units : Units or None, default=None
        The requests whose numbers stand for users in lists and ground truth; None where lists are
        of users, or pieces bring their own.
    by_request : bool, default=False
        Whether lists belong to requests, those of pieces included.
    items_named : bool, default=False
        Whether the codes or titles of lists were turned into items.
    is_adjusted : bool, default=False
        Whether seen items were removed and users dealt to jackknife groups, if that is asked for.
    is_slice : bool, default=False
        Whether the ground truth is a slice, of whose users none may have a list.
    same : SameItems or None, default=None
        The ids of items that were replaced in all tables; None if each id is an item.
    """

    recommendations: Recommendations | None = None
    truth: Table | None = None
    train: Table | None = None
    items: Table | None = None
    users: Table | None = None
    reference: Table | None = None
    weights: Table | None = None
    unlisted: Table | None = None
    units: Units | None = None
    by_request: bool = False
    items_named: bool = False
    is_adjusted: bool = False
    is_slice: bool = False
    same: SameItems | None = None

    @property
    def by_role(self) -> dict[TableRole, Table]:
        """The tables that are present."""
        values: dict[Any, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return {role: table for role, table in values.items() if isinstance(table, Table)}

    def with_tables(self, tables: Mapping[TableRole, Table]) -> Tables:
        """Return these tables with others in place of those of the same roles."""
        changed: dict[Any, Any] = {**tables}
        return replace(self, **changed)
