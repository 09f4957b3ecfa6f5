"""`Split` and `Folds`: the parts of a table, the card that describes them, and their files.

A rule sees ``Rows``: coded users and items, and times in ticks. A hash of the row's content decides
equal times and random draws, so neither the order of rows nor the library matters. Parts are masks;
a part is cut, and the card made, when it is read. ``known_rows`` in ``splits/split`` says which
parts a user has before another: ``Split.known``, the rules, the card, the audit and Spark read it.
As training of an evaluation they are one table, whose column ``trained`` marks the training part:
what is counted by item reads ``Table.trained``, what is known of users reads all rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property, reduce
from operator import or_
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np
import polars as pl

from rankwise.core import __version__
from rankwise.core.arguments import FileFormat, Predicted, check_choice, check_path
from rankwise.core.hashing import json_hash
from rankwise.core.saved_forms import SPLIT
from rankwise.core.terminal import TableView, html
from rankwise.errors import OutputError, ParameterError, RankwiseError, nearest
from rankwise.messages import parameter
from rankwise.splits.interactions import Mask, Rows, as_polars, chunks, cut_rows
from rankwise.tables.columns import Columns, SharedName, check_finite, overrides_for, shared_names
from rankwise.tables.frames import from_frame, parse_numbers
from rankwise.tables.storage import file_hash, new_folder, write_text
from rankwise.tables.table import (
    CARD_FILE,
    TRAINED,
    Table,
    TableRole,
    card_text,
    one_line,
    read_json,
)

_PARTS = ("train", "validation", "test")
_RECBOLE = {
    "user": "user_id:token",
    "item": "item_id:token",
    "rating": "rating:float",
    "timestamp": "timestamp:float",
}
_SHORT = {"recbole": "valid", "elliot": "val"}  # of validation
_WARPREC = {"user": "user_id", "item": "item_id"}


class _Contents(NamedTuple):
    """The content of a saved split: the table, its rows, the mask of each part, and the card."""

    source: Any
    rows: Rows
    masks: Mapping[str, Mask]
    card: dict[str, Any]


def write(
    splits: Iterable[_Contents],
    folder: str | Path,
    form: FileFormat,
    *,
    folds: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write one split, or the splits of several folds, into a folder that is new or empty.

    With ``overwrite`` it may hold a split, which is removed when the new one is written.

    Raises
    ------
    OutputError
        If the folder holds other files already, or cannot be written.
    ParameterError
        If the format has no file for a part of the split.
    """
    check_choice("format", form, FileFormat)
    path = check_path("folder", folder)
    earlier = _earlier_split(path) if overwrite and path.is_dir() else []
    if path.exists() and (not path.is_dir() or (not earlier and any(path.iterdir()))):
        raise OutputError(
            "a split is written into a new or empty folder",
            where=str(path),
            hint=f"files of another split in it would be read as well; "
            f"{parameter('overwrite', True)} replaces a "
            "split",
        )
    if folds and form in ("recbole", "warprec"):
        raise ParameterError(
            f"{form} has no files for several folds", hint="write one fold after the other"
        )
    with new_folder(path) as target:
        for number, split in enumerate(splits):
            inner = target / str(number) if folds or form == "elliot" else target
            _write_one(split, inner, path.name, form)
        for file in earlier:  # the new one is whole: it takes the place of the earlier one now
            file.rmdir() if file.is_dir() else file.unlink()
    return path


def _earlier_split(path: Path) -> list[Path]:
    """Return the files and folders of a saved split, innermost first; raise for foreign files."""
    files: set[Path] = set()
    for file in [*path.glob(CARD_FILE), *path.glob(f"*/{CARD_FILE}")]:
        card = read_json(file)
        if isinstance(card, dict) and isinstance(card.get("files"), dict):
            files |= {file, *(file.parent / name for name in card["files"])}
    content = sorted(path.rglob("*"), reverse=True)
    foreign = [
        file for file in content if file not in files and (file.is_symlink() or not file.is_dir())
    ]
    if foreign:
        raise OutputError(
            "the folder holds other files than those of a split",
            where=str(path),
            found=", ".join(str(file.relative_to(path)) for file in sorted(foreign)[:5]),
            hint="write the split into a folder of its own",
        )
    return content


def _write_one(split: _Contents, folder: Path, name: str, form: FileFormat) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for path, frame in _files(split, folder, name, form):
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".parquet":
            frame.write_parquet(path)
        else:
            separator = "," if path.suffix == ".csv" else "\t"
            _check_text(frame, form, [split.rows.table.columns.get(r, r) for r in ("user", "item")])
            frame.write_csv(path, separator=separator, include_header=form != "elliot")
        files[str(path.relative_to(folder).as_posix())] = file_hash(path)
    write_text(folder / CARD_FILE, card_text({**split.card, "files": files}))


def _files(
    split: _Contents, folder: Path, name: str, form: FileFormat
) -> Iterator[tuple[Path, pl.DataFrame]]:
    """Yield the path and rows of each file of a split."""
    if form in ("parquet", "csv"):
        table = as_polars(split.source, split.rows)
        for part, mask in split.masks.items():
            if mask.any():  # the card names the empty parts
                yield folder / f"{part}.{form}", table.filter(pl.Series(mask))
        return
    unknown = [part for part in split.masks if part not in _PARTS]
    if unknown:
        raise ParameterError(
            f"{form} has no files for these parts",
            found=", ".join(unknown),
            hint=f'write it with {parameter("format", "parquet")} or "csv"',
        )
    table = _four_columns(split.rows)
    inner = folder / "0" if "validation" in split.masks else folder
    for part, mask in split.masks.items():
        frame = table.filter(pl.Series(mask))
        short = _SHORT.get(form, part) if part == "validation" else part
        if form == "recbole":
            names = {old: new for old, new in _RECBOLE.items() if old in frame.columns}
            yield folder / f"{name}.{short}.inter", frame.rename(names)
        elif form == "warprec":
            yield folder / f"{part}.tsv", frame.rename(_WARPREC)
        else:
            yield (folder if part == "test" else inner) / f"{short}.tsv", frame


def _check_text(frame: pl.DataFrame, form: FileFormat, ids: list[str]) -> None:
    """Raise if a text file could not be read back as the same values."""
    unsafe = r"^$|^\s|\s$" if form == "csv" else r"^$|^\s|\s$|[\t\r\n\"]"
    names = ids if form == "csv" else frame.columns[:2]
    for name, dtype in frame.schema.items():
        column = frame[name]
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise OutputError(
                f"column {name!r} cannot be written as text",
                where=form,
                found=str(dtype),
                hint=f"write it with {parameter('format', 'parquet')}",
            )
        if dtype != pl.String or name not in names:
            continue
        bad = column.filter(column.str.contains(unsafe))
        if len(bad):
            raise OutputError(
                "an id cannot be written as text: it is empty, or holds blanks at an end, a tab, "
                "a line end or a quotation mark",
                where=f"{form}, column {name!r}",
                found=repr(bad[0]),
                hint=f"write it with {parameter('format', 'parquet')}",
            )


def _four_columns(rows: Rows) -> pl.DataFrame:
    """Return user, item, rating (1 without ratings) and timestamp, in seconds for dates."""
    frame = rows.table.frame
    rating: Any = frame["relevance"] if "relevance" in frame.columns else pl.lit(1.0)
    out = frame.select("user", "item").with_columns(rating.alias("rating"))
    if not rows.has_times:
        return out
    time = rows.time
    if not time.is_date:
        return out.with_columns(timestamp=pl.Series(time.values))
    no_fractions = bool((time.values % time.per_second == 0).all())
    seconds = time.values // time.per_second if no_fractions else time.values / time.per_second
    return out.with_columns(timestamp=pl.Series(seconds))


_KNOWN = {
    "test": ("train", "validation", "validation_history", "history"),
    "validation": ("train", "validation_history"),
}
"""The parts whose rows a user has before each part that is predicted."""


def make_card(
    rows: Rows, masks: Mapping[str, Mask], rule: Mapping[str, Any], notes: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the description of a split as plain values, ready for JSON."""
    parts = {name: _part(rows, mask) for name, mask in masks.items()}
    used = np.zeros(len(rows), dtype=bool)
    for mask in masks.values():
        used |= mask
    card = card_of(rows.table, len(rows), int((~used).sum()), rule, notes, parts)
    card["cold"] = {
        part: _cold(rows, masks, part) for part in ("validation", "test") if part in masks
    }
    if rows.has_times:
        unit = {"unit": rows.time.unit, "unit_known_as": rows.time.unit_source}
        unit |= {} if rows.time.time_format is None else {"format": rows.time.time_format}
        card["time"] = unit | _in_time(rows, masks["train"], masks["test"])
    return card


def card_of(
    table: Table,
    rows: int,
    unused: int,
    rule: Mapping[str, Any],
    notes: Mapping[str, Any],
    parts: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the split card without its cold-start and time sections."""
    digests = [f"{name} {part['digest']}" for name, part in sorted(parts.items())]
    return {
        SPLIT.key: SPLIT.version,
        "rankwise": __version__,
        "id": hashlib.sha256("\n".join(digests).encode()).hexdigest(),
        "rule": dict(rule),
        "order": "time, then a hash of user, item and time",
        "rounding": "to the nearest, halves up",
        "input": {
            "source": table.source,
            "sha256": table.sha256,
            "rows": rows,
            "rows_unused": unused,
            "columns": table.columns,
        },
        "found": {name: plain(value) for name, value in notes.items()},
        "parts": dict(parts),
        "known": {
            part: [name for name in _KNOWN[part] if name in parts]
            for part in _KNOWN
            if part in parts
        },
    }


def _part(rows: Rows, mask: Mask) -> dict[str, Any]:
    """Return the size, density, digest and time range of a part."""
    users, items = (int((codes.count(mask) > 0).sum()) for codes in (rows.user, rows.item))
    count = int(mask.sum())
    part: dict[str, Any] = {
        "rows": count,
        "users": users,
        "items": items,
        "density": rows.count_pairs(mask) / (users * items) if count else 0.0,
        "digest": _digest(rows, mask),
    }
    if rows.has_times and count:
        times = rows.time.values[mask]
        part |= {"first": rows.time.show(times.min()), "last": rows.time.show(times.max())}
    return part


def known_rows(masks: Mapping[str, Mask], part: str, role: str) -> Mask:
    """Return the rows that are known of a user, or of an item, before a part that is predicted.

    A user's rows of training, history and, before the test part, validation are what the user had:
    they are masked, and make the user warm. An item is known from training alone, as models are.
    """
    if role == "item":
        return masks["train"]
    return reduce(or_, (masks[name] for name in _KNOWN[part] if name in masks))


def _digest(rows: Rows, mask: Mask) -> str:
    """Return a digest of user, item and time of all rows, in any order: two sums of hashes."""
    sums = [0, 0]
    for chunk in chunks(len(rows)):
        chosen = chunk.start + np.flatnonzero(mask[chunk])
        for seed in (1, 2):
            sums[seed - 1] += int(rows.key(seed, chosen).sum(dtype=np.uint64))
    return "".join(f"{number % 2**64:016x}" for number in sums)


def _cold(rows: Rows, masks: Mapping[str, Mask], name: str) -> dict[str, Any]:
    """Return the numbers and shares of cold-start users, cold-start items and their rows."""
    mask = masks[name]
    cold_rows: list[Mask] = []
    counts: dict[str, Any] = {}
    for role, codes in (("user", rows.user), ("item", rows.item)):
        is_cold = codes.count(known_rows(masks, name, role)) == 0
        present = codes.count(mask) > 0
        counts[f"{role}s"] = int((present & is_cold).sum())
        counts[f"share_of_{role}s"] = float((present & is_cold).sum() / present.sum())
        cold_rows.append(is_cold[codes.of_row[mask]])
    either = cold_rows[0] | cold_rows[1]
    return counts | {"rows": int(either.sum()), "share_of_rows": float(either.mean())}


def _in_time(rows: Rows, train: Mask, test: Mask) -> dict[str, Any]:
    """Return gap, spans, horizon, leak index and the share of users cut between equal times."""
    time = rows.time
    before, after = time.values[train], time.values[test]
    for values in (before, after):
        values.sort()
    future = future_shares(before, after)
    since = after - before[-1]
    return {
        "gap_seconds": time.seconds(after[0] - before[-1]),
        "test_span_seconds": time.seconds(after[-1] - after[0]),
        "train_span_seconds": time.seconds(before[-1] - before[0]),
        "target_after_train_seconds": {
            "median": time.seconds(np.median(since)),
            "p95": time.seconds(np.quantile(since, 0.95)),
        },
        "leak_index": {"mean": float(future.mean()), "max": float(future.max())},
        "share_of_users_cut_between_equal_times": torn_users(rows, train, test),
    }


def future_shares(train: Any, test: Any) -> Any:
    """Return the share of training rows after each test time, in ascending order of test times.

    >>> future_shares(np.array([1, 2, 3, 4]), np.array([2, 5])).tolist()
    [0.5, 0.0]
    """
    if train.max() <= test.min():
        return np.zeros(len(test))
    ordered = np.sort(test)  # neighbours are then looked up in the same places, which are cached
    return 1.0 - np.searchsorted(np.sort(train), ordered, side="right") / len(train)


def torn_users(rows: Rows, train: Mask, test: Mask) -> float:
    """Return the share of test users whose last training time is their first test time."""
    codes, time = rows.user.of_row, rows.time.values
    limits = np.iinfo(np.int64)
    ends = (limits.min, limits.max) if time.dtype.kind == "i" else (-np.inf, np.inf)
    last, first = (np.full(rows.user.size, end, time.dtype) for end in ends)
    for chunk in chunks(len(rows)):
        in_train, in_test = train[chunk], test[chunk]
        np.maximum.at(last, codes[chunk][in_train], time[chunk][in_train])
        np.minimum.at(first, codes[chunk][in_test], time[chunk][in_test])
    users = np.flatnonzero(rows.user.count(test))
    return float((last[users] == first[users]).mean())


def plain(value: Any) -> Any:
    """Return a value for JSON: a Python number, or text for dates and durations."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        dtype = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
        value = value.astype(f"{dtype}[us]").item()
    if isinstance(value, timedelta):
        return f"{value // timedelta(microseconds=1)}us"
    if isinstance(value, date):  # a datetime is a date
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


def hash_of_part(digest: str, kind: TableRole) -> str:
    """Return the hash of the ground truth or of the training of a split, from that of its files."""
    return json_hash([kind, digest])


_MOST_FOLDS = 10  # in a notebook: each is computed for it, and leave-p-out has millions


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """A split of a table into training, test and other parts.

    Rows are not copied until a part is used. A split can be passed wherever a ground truth is
    expected, which is then its test part (results keep its card), and wherever training
    interactions or items to exclude are expected: these are then the rows that are `known` before
    the test part, of which popularity and the catalogue are counted in the training part alone.

    Attributes
    ----------
    source : table, or whatever was split
        The table as it was given; parts are cut from it, so that the parts of a pandas table are
        pandas tables.
    masks : mapping of str to array of bool, shape (n,)
        For each part, the mask of its rows in the table as it was given.
    rule : dict
        The rule and all its parameters, as plain values.
    found : dict
        The times at which the table was cut, and counts of dropped or exceptional rows and users.

    Examples
    --------
    >>> from rankwise.splits import LeaveOut
    >>> table = pl.DataFrame({"user": [1, 1, 2], "item": [5, 6, 7], "timestamp": [1, 2, 3]})
    >>> split = LeaveOut(1).split(table)
    >>> split.test.rows(), split.masks["train"].tolist()
    ([(1, 6, 2)], [True, False, True])
    """

    source: Any
    rows: Rows
    masks: Mapping[str, Mask]
    rule: Mapping[str, Any]
    found: Mapping[str, Any] = field(default_factory=dict)

    @property
    def train(self) -> Any:
        """The training rows."""
        return self.part("train")

    @property
    def validation(self) -> Any:
        """The validation rows, for choosing models and parameters."""
        return self.part("validation")

    @property
    def test(self) -> Any:
        """The test rows, which are to be predicted."""
        return self.part("test")

    @property
    def history(self) -> Any:
        """The rows of test users that are known at prediction time but not used for training."""
        return self.part("history")

    def known(self, part: Predicted = "test") -> Any:
        """Return the users' rows before a part, which are masked when the part is predicted.

        Parameters
        ----------
        part : {"test", "validation"}, default="test"
            The part to be predicted. Before the test part, the rows of training, validation and
            history are known; before the validation part, those of training and of the history of
            validation users. Rows in no part, such as those in a gap, are not known.

        Examples
        --------
        >>> from rankwise.splits import LeaveOut
        >>> table = pl.DataFrame({"user": [1, 1, 1], "item": [5, 6, 7], "timestamp": [1, 2, 3]})
        >>> split = LeaveOut(1, validation=LeaveOut(1)).split(table)
        >>> split.known()["item"].to_list(), split.known("validation")["item"].to_list()
        ([5, 6], [5])
        """
        check_choice("part", part, Predicted)
        self._check_part(part)
        return cut_rows(self.source, known_rows(self.masks, part, "user"), self.rows)

    def part(self, name: str) -> Any:
        """Return the rows of a part, as a table of the library of the table that was split."""
        self._check_part(name)
        return cut_rows(self.source, self.masks[name], self.rows)

    def _check_part(self, name: str) -> None:
        if name not in self.masks:
            raise ParameterError(
                f"this split has no part {name!r}",
                found=", ".join(self.masks),
                hint=f"give the rule {parameter('validation')}"
                if name == "validation"
                else nearest(name, self.masks),
            )

    @cached_property
    def card(self) -> dict[str, Any]:
        """The card, which describes this split by plain values that are ready for JSON.

        It has the rule with all parameters and the times of its cuts; rows, users, items, density
        (the share of user-item pairs that occur), time range and digest of each part; the parts
        that are `known` before test and validation; cold-start users, items and rows; the gap
        between the parts, the distance of test rows from training, the leak index, and the share
        of users whose cut fell between equal times. ``id`` is a hash of the digests.
        """
        return make_card(self.rows, self.masks, self.rule, self.found)

    @cached_property
    def users(self) -> pl.DataFrame:
        """The test users: ``user``, ``history`` (warm or cold), ``known_rows`` and ``test_rows``.

        Evaluate against the split with ``by="history"`` to compare warm with cold-start users.
        """
        return self._warm_or_cold("user")

    @cached_property
    def items(self) -> pl.DataFrame:
        """The items of training and test: ``item``, ``history``, ``known_rows``, ``test_rows``."""
        return self._warm_or_cold("item")

    def _warm_or_cold(self, role: Literal["user", "item"]) -> pl.DataFrame:
        codes = self.rows.user if role == "user" else self.rows.item
        before = codes.count(known_rows(self.masks, "test", role))
        tested = codes.count(self.masks["test"])
        shown = np.flatnonzero(tested if role == "user" else tested + before)
        return pl.DataFrame(
            {
                role: codes.vocabulary.decode(shown),
                "history": np.where(before[shown] > 0, "warm", "cold"),
                "known_rows": before[shown],
                "test_rows": tested[shown],
            }
        ).sort(role)

    def as_table(self, kind: TableRole = "truth", columns: Columns | None = None) -> Table:
        """Return the rows for a role: test as ground truth, or the rows known before as training.

        ``columns`` name columns that the split itself had no need of, such as the relevance.
        """
        if kind not in ("truth", "train"):
            raise ParameterError(
                f"a split can be passed as truth or train, not as {kind}",
                hint="pass one of its parts: split.train, split.test",
            )
        source, mask = (
            self.rows.table,
            self.masks["test"] if kind == "truth" else known_rows(self.masks, "test", "user"),
        )
        rows = source.frame.filter(pl.Series(mask)).rename(source.columns)
        trained = self.masks["train"][mask]
        only_train = bool(trained.all())
        part = (
            "test part"
            if kind == "truth"
            else "train part"
            if only_train
            else "rows known before the test part"
        )
        chosen = overrides_for(shared_names(columns), kind)
        names = {
            **source.columns,
            **{
                column: name
                for column, name in chosen.items()
                if name in rows.columns or not isinstance(name, SharedName)
            },
        }
        table = from_frame(rows, kind, names, f"{part} of {source.source}", source.format)
        if kind == "train" and not only_train:
            table = table.with_frame(table.frame.with_columns(pl.Series(TRAINED, trained)))
        if "relevance" in table.columns and kind == "truth":
            table = table.with_frame(parse_numbers(table.frame, ["relevance"]))
            check_finite(table.frame["relevance"], "relevance", table)
        table = replace(table, is_text=source.is_text, split=self.card if kind == "truth" else None)
        if source.origin is None or not source.origin.is_split or source.sha256 is None:
            return table
        return replace(table, sha256=hash_of_part(source.sha256, kind), origin=source.origin)

    def save(
        self,
        folder: str | Path,
        *,
        format: FileFormat = "parquet",  # noqa: A002
        overwrite: bool = False,
    ) -> Path:
        """Write the parts and their card, ``split.json``, into a folder, atomically.

        Parameters
        ----------
        folder : str or Path
            A new or empty folder. RecBole's files are named after it.
        format : {"parquet", "csv", "recbole", "elliot", "warprec"}, default="parquet"
            `rankwise.splits.read` reads all of them. RecBole, Elliot and WarpRec have files for
            training, validation and test only, with columns user, item, rating (1 where there is
            none) and timestamp (dates as seconds). Parquet and CSV keep every column, and parts of
            any name.
        overwrite : bool, default=False
            Replace a split that the folder holds. A folder with other files is refused either way.
        """
        return write([self._contents()], folder, format, overwrite=overwrite)

    def _contents(self) -> _Contents:
        return _Contents(self.source, self.rows, self.masks, self.card)

    def __repr__(self) -> str:
        lines = [one_line(self.rule)]
        lines += [
            f"  {name}: {rows} rows, {users} users, {items} items"
            for name, rows, users, items in self._sizes()
        ]
        lines += [f"  {name}: {value}" for name, value in self.found.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        used = np.logical_or.reduce(list(self.masks.values())).sum()
        unused = len(self.rows) - used
        notes = [f"{unused:,} of {len(self.rows):,} rows are in no part"] if unused else []
        parts = TableView(
            ["part", "rows", "users", "items"], list(self._sizes()), notes, one_line(self.rule)
        )
        notes_of_rule = [(name, str(value)) for name, value in self.found.items()]
        return html(
            parts, *([TableView(["found", "value"], notes_of_rule)] if notes_of_rule else [])
        )

    def _sizes(self) -> Iterator[tuple[str, str, str, str]]:
        for name, mask in self.masks.items():
            users, items = (
                (codes.count(mask) > 0).sum() for codes in (self.rows.user, self.rows.item)
            )
            yield name, f"{mask.sum():,}", f"{users:,}", f"{items:,}"


class Folds(Sequence[Split]):
    """Several splits of one table, each computed when indexed."""

    def __init__(self, count: int, make: Callable[[int], Split], again: Any = None) -> None:
        self._count = count
        self._make = make
        self._again = again

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> Any:
        """Let another process compute the folds from the rule and the table."""
        return self._again or (Folds, (self._count, self._make))

    @overload
    def __getitem__(self, at: int) -> Split: ...

    @overload
    def __getitem__(self, at: slice) -> list[Split]: ...

    def __getitem__(self, at: int | slice) -> Split | list[Split]:
        """Return one split, or a list of splits for a slice."""
        if isinstance(at, slice):
            return [self._make(number) for number in range(*at.indices(self._count))]
        if not -self._count <= at < self._count:
            raise IndexError(f"there are {self._count} folds")
        return self._make(at % self._count)

    def save(
        self,
        folder: str | Path,
        *,
        format: FileFormat = "parquet",  # noqa: A002
        overwrite: bool = False,
    ) -> Path:
        """Write each fold into its own subfolder, 0, 1, 2, …, atomically; see `Split.save`."""
        return write(
            (split._contents() for split in self), folder, format, folds=True, overwrite=overwrite
        )

    def __repr__(self) -> str:
        return f"{self._count} folds"

    def _repr_html_(self) -> str:
        sizes: list[dict[str, str]] = []
        rule, notes = "", []
        for number in range(min(self._count, _MOST_FOLDS)):
            try:
                split = self[number]
            except RankwiseError as error:  # an empty part: the other folds can still be shown
                notes.append(f"fold {number}: {error.what}")
                sizes.append({})
            else:
                rule = f"{one_line(split.rule)}: "
                sizes.append({name: rows for name, rows, _, _ in split._sizes()})
        parts = list(dict.fromkeys(name for fold in sizes for name in fold))
        rows = [
            (str(number), *(fold.get(name, "–") for name in parts))
            for number, fold in enumerate(sizes)
        ]
        if self._count > len(rows):
            notes.append(f"the first {len(rows)} of {self._count:,} folds")
        head = ["fold", *(f"{name} rows" for name in parts)]
        return html(TableView(head, rows, notes, f"{rule}{self._count:,} folds"))
