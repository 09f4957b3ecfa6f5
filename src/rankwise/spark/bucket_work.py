"""What runs on an executor: all rows of a bucket of users in, their values and sums out.

A row of the output has the bytes of a `Partial` without its users, which the tree merges, and those
of the users' columns, which stay where they are until somebody asks for them. Errors of our tree
travel in a row of their own: an exception would make Spark try the bucket again, and hide the
message in a stack trace.
"""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from rankwise.core.packing import pack, unpack
from rankwise.core.partial import Partial
from rankwise.core.version import __version__
from rankwise.errors import DuplicateError, ParameterError, RankwiseError
from rankwise.evaluation.shares import EvaluatedUsers, UserShare
from rankwise.evaluation.warm_cold import with_history
from rankwise.evaluation.work import Job, work
from rankwise.results.group_columns import HISTORY
from rankwise.spark.tables import small_strings
from rankwise.tables.columns import TableRole
from rankwise.tables.read import read_table
from rankwise.tables.seen import take_out_seen
from rankwise.tables.table import Table, Tables, absent_truth, is_absent
from rankwise.tables.train_groups import with_train_groups
from rankwise.tables.validation import null_ids, where_in

__all__ = [
    "RELEVANT",
    "SCHEMA",
    "BucketWork",
    "check_row",
    "load_job",
    "merge_rows",
    "rows_of",
    "share_of",
    "users_of",
    "values_of",
]

SCHEMA = "bucket int, buckets array<int>, n_users long, partial binary, users binary, nulls string, error binary"
"""The output of a bucket, in Spark's words."""
_OUTPUT = pa.schema(
    [
        ("bucket", pa.int32()),
        ("buckets", pa.list_(pa.int32())),
        ("n_users", pa.int64()),
        ("partial", pa.binary()),
        ("users", pa.binary()),
        ("nulls", pa.string()),
        ("error", pa.binary()),
    ]
)
_VERSION = 1
RELEVANT = "relevant_truth_rows"
"""The count of relevant rows of the ground truth, for the driver."""


def rows_of(role: TableRole) -> str:
    """Return the name under which the rows of a table are counted, for the driver."""
    return f"rows of {role}"


@dataclass(frozen=True)
class BucketWork:
    """The work on one bucket; pickled once, and sent to every executor.

    Attributes
    ----------
    job : bytes
        The pickled `Job`.
    sources : mapping of str to Table
        The tables by user, without rows: the cards of their sources.
    names : mapping of str to mapping of str to str
        For each of them, except the lists, the column of the union that has each of its columns.
        The order of the tables is that of their numbers in the column ``table`` of the union.
    version : str
        The driver's version of rankwise.
    """

    job: bytes
    sources: Mapping[TableRole, Table]
    names: Mapping[TableRole, Mapping[str, str]]
    version: str = __version__

    def run(self, bucket: int, read: Callable[[], Mapping[TableRole, pl.DataFrame]]) -> pa.Table:
        """Evaluate a bucket, whose rows ``read`` returns by table; return one row of `SCHEMA`."""
        try:
            self._check_version()
            frames = read()
            nulls = _nulls(frames)
            if nulls:
                return _row(bucket, nulls=json.dumps(nulls))
            partial, users = self.evaluate(frames)
        except RankwiseError as error:
            return _row(bucket, error=pickle.dumps(_in_a_bucket(error)))
        evaluated = partial.users
        packed = pack("users", _VERSION, {}, {"evaluated": evaluated} | users)
        partial = replace(partial, users=evaluated.clear())
        return _row(bucket, len(evaluated), partial.to_bytes(), packed)

    def _check_version(self) -> None:
        if self.version != __version__:
            raise ParameterError(
                "driver and executors have different versions of rankwise",
                found=f"{self.version} on the driver, {__version__} on an executor",
                hint="install one version on all machines, or send it: spark-submit --py-files",
            )

    def frames(self, lists: pa.Table, others: pa.Table | None) -> dict[TableRole, pl.DataFrame]:
        """Return the rows of each table, with its columns."""
        columns = self.sources["recommendations"].frame.columns
        out: dict[TableRole, pl.DataFrame] = {"recommendations": pl.DataFrame(lists).select(columns)}
        whole = None if others is None else pl.DataFrame(others)
        for code, (role, names) in enumerate(self.names.items()):
            assert whole is not None
            some = whole.filter(pl.col("table") == code) if len(self.names) > 1 else whole
            out[role] = some.select(pl.col(inside).alias(name) for name, inside in names.items())
        return out

    def evaluate(self, frames: Mapping[TableRole, pl.DataFrame]) -> tuple[Partial, dict[str, pl.DataFrame]]:
        """Return the partial of a bucket, and the rows of its users in the table of users."""
        job = load_job(self.job)
        tables: dict[Any, Any] = {role: self._table(role, frame) for role, frame in frames.items()}
        tables.setdefault("truth", absent_truth(tables["recommendations"]))
        piece, counts = _adjusted(job, Tables(**tables))
        counts.update({rows_of(role): len(frame) for role, frame in frames.items()})
        if piece.truth is not None:
            counts[RELEVANT] = len(piece.truth.relevant(job.settings.relevance_threshold))
        partial = work(job, piece)
        partial = replace(partial, counts=Counter(partial.counts) + counts)
        users = {} if piece.users is None else {"users": piece.users.frame}
        return partial, users

    def _table(self, role: TableRole, frame: pl.DataFrame) -> Table:
        """Return the rows of a table, checked as any source is."""
        source = self.sources[role]
        if frame.is_empty():
            return source.with_frame(frame)
        table = read_table(frame, role, {f"{role}.{name}": name for name in source.columns})
        return source.with_frame(table.frame)


@lru_cache(maxsize=1)
def load_job(data: bytes) -> Job:
    """Return the job, once per Python worker."""
    job: Job = pickle.loads(data)  # noqa: S301 - it comes from the driver of this application
    return job


def _adjusted(job: Job, piece: Tables) -> tuple[Tables, Counter[str]]:
    """Remove seen items, and say who has a training history; None for lists that are empty."""
    settings, counts = job.settings, Counter[str]()
    lists, train = piece.recommendations, piece.train
    assert lists is not None
    if settings.exclude_seen:
        assert train is not None
        truth = None if piece.truth is None or is_absent(piece.truth) else piece.truth
        lists = take_out_seen(lists, train, truth, required=False)
    if lists.frame.is_empty():
        counts.update(lists.counts)
        lists = None
    piece = replace(piece, recommendations=lists)
    piece = with_history(piece) if HISTORY in settings.by else piece
    known = job.counted
    if known is not None:
        piece = with_train_groups(piece, known.train_groups, known.popularity)
    return piece, counts


def _in_a_bucket(error: RankwiseError) -> RankwiseError:
    """Return an error without the number of a row, which is one of the bucket."""
    where = None if error.where is None else re.sub(r", row \d+", "", error.where)
    found = None if error.found is None else error.found.replace(" such ", " such, of one bucket, ")
    return type(error)(error.what, where=where, found=found, hint=error.hint)


def _nulls(frames: Mapping[TableRole, pl.DataFrame]) -> dict[str, int]:
    """Count null ids by table and column."""
    return {
        f"{role}.{name}": frame[name].null_count()
        for role, frame in frames.items()
        for name in ("user", "item")
        if name in frame.columns and frame[name].null_count()
    }


def _row(
    bucket: int,
    n_users: int = 0,
    partial: bytes | None = None,
    users: bytes | None = None,
    *,
    nulls: str | None = None,
    error: bytes | None = None,
    buckets: Sequence[int] | None = None,
) -> pa.Table:
    row = {
        "bucket": bucket,
        "buckets": [bucket] if buckets is None else buckets,
        "n_users": n_users,
        "partial": partial,
        "users": users,
        "nulls": nulls,
        "error": error,
    }
    return pa.Table.from_pylist([row], schema=_OUTPUT)


def merge_rows(rows: pa.Table) -> pa.Table:
    """Merge the rows of some buckets into one: partials, null ids and errors, without users.

    A bucket that comes twice was split, or counted twice: its users would be, too.
    """
    some = sorted(rows.to_pylist(), key=lambda row: row["bucket"])
    first = some[0]["bucket"]
    buckets = sorted(bucket for row in some for bucket in row["buckets"])
    try:
        twice = next((a for a, b in pairwise(buckets) if a == b), None)
        if twice is not None:
            raise DuplicateError(
                "the rows of one bucket of users were evaluated in two pieces",
                where=f"bucket {twice}",
                hint="report this: Spark has split a group of rows",
            )
        errors = [row["error"] for row in some if row["error"] is not None]
        nulls = Counter[str]()
        for row in some:
            nulls.update(json.loads(row["nulls"] or "{}"))
        if errors or nulls:
            return _row(
                first, nulls=json.dumps(nulls) if nulls else None, buckets=buckets, error=errors[0] if errors else None
            )
        partials = [Partial.from_bytes(row["partial"]) for row in some]
        merged = partials[0].merge(*partials[1:])
    except RankwiseError as error:
        return _row(first, error=pickle.dumps(error), buckets=buckets)
    n_users = sum(row["n_users"] for row in some)
    return _row(first, n_users, merged.to_bytes(), buckets=buckets)


def check_row(row: Mapping[str, Any], sources: Mapping[TableRole, Table]) -> None:
    """Raise the error that a merged row carries."""
    nulls = json.loads(row["nulls"] or "{}")
    for name, count in nulls.items():
        role, _, column = name.partition(".")
        table: Any = sources[role]
        raise null_ids(column, where_in(table, column), count)
    if row["error"] is not None:
        raise pickle.loads(row["error"])  # noqa: S301 - it comes from this application's executors


def users_of(packed: bytes) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the columns of the users of a bucket, and their rows in the table of users."""
    _, frames = unpack("users", _VERSION, packed)
    return frames["evaluated"], frames.get("users")


def evaluated_users(job: Job, packed: bytes, catalogue_size: int) -> EvaluatedUsers:
    """Return the users of a bucket, ready to be summed or listed."""
    evaluated, users = users_of(packed)
    if users is not None:
        assert job.reference.users is not None
        job = job.for_users(Tables(users=job.reference.users.with_frame(users)))
    return _evaluated(job, evaluated, catalogue_size)


def _evaluated(job: Job, users: pl.DataFrame, catalogue_size: int) -> EvaluatedUsers:
    return EvaluatedUsers(
        frame=users,
        settings=job.settings,
        plan=job.plan,
        facts=job.facts,
        user_table=job.user_table,
        catalogue_size=catalogue_size,
    )


def share_of(job: bytes, catalogue_size: int) -> Callable[[Iterable[pa.RecordBatch]], Any]:
    """Return a function from batches of ``users`` to what these users add to a result.

    As in buckets, an error of our tree comes in place of what it prevents.
    """

    def shares(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for packed in _packed(batches):
            share: UserShare | RankwiseError
            try:
                share = evaluated_users(load_job(job), packed, catalogue_size).share()
            except RankwiseError as error:
                share = error
            yield pa.RecordBatch.from_pydict({"share": [pickle.dumps(share)]})

    return shares


def values_of(
    packed: DataFrame, job: bytes, users: pl.DataFrame, catalogue_size: int
) -> tuple[DataFrame, pl.DataFrame]:
    """Return one row per user, as `Result.per_user` has them, and the same columns without rows.

    ``users`` has the columns of the evaluated users, and no rows.
    """
    empty = _evaluated(load_job(job), users, catalogue_size).values()
    schema = small_strings(empty.to_arrow()).schema

    def values(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in _packed(batches):
            frame = evaluated_users(load_job(job), one, catalogue_size).values()
            yield from frame.to_arrow().cast(schema).to_batches()

    return packed.mapInArrow(values, from_arrow_schema(schema)), empty


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    for batch in batches:
        for packed in batch.column("users"):
            if packed.is_valid:
                yield packed.as_py()
