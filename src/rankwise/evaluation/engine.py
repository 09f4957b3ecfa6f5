"""The engine's interface: `prepare` a job, `work` on its pieces anywhere, `finish` with a result.

A `Job` and a `Partial` are all that travels between processes and machines: both can be pickled,
and a partial has an Arrow form with a version (``to_bytes``, ``from_bytes``).

``rankwise.evaluate`` is ``finish(job, [work(job, piece)])``. ``rankwise.Evaluator`` is a ``Job``
and a list of ``Partial``s, without other state; ``update`` appends a partial last, so a failing
piece changes nothing.

If no machine has all training interactions, users or reference lists, each piece brings the rows of
its users, and ``prepare(…, training_counts=…)`` receives the counts over all users (popularity, groups).

>>> from rankwise.evaluation.evaluate import read_inputs
>>> settings = Settings.read("recall@2", {})
>>> job = prepare(settings, read_inputs(settings, truth={"ann": {1}, "bob": {2}}))
>>> pieces = [{"ann": [1, 3]}, {"bob": [3, 4]}]
>>> partials = [work(job, read_inputs(settings, recommendations=piece)) for piece in pieces]
>>> finish(job, partials)["recall@2"]
0.5
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import polars as pl

from rankwise.blocks.encoded import Encoded, make_block, plan_blocks
from rankwise.blocks.partial import (
    BlockCollector,
    BlockValues,
    JobFingerprint,
    Partial,
)
from rankwise.core.kernels import default_threads, map_threads, one_blas_thread
from rankwise.core.terminal import progress_bar
from rankwise.core.units import Units
from rankwise.encoding.encoder import Encoder, EncodingRules, normalise
from rankwise.encoding.lists import check_kept
from rankwise.encoding.side_information import SideTables, TrainingCounts
from rankwise.errors import DuplicateError, EmptyError, ParameterError, ScoreError
from rankwise.evaluation.input_warnings import sample_counts
from rankwise.evaluation.plan import (
    Plan,
    check_catalogue,
    check_depth,
    check_exact,
    check_piece,
    check_scores,
)
from rankwise.evaluation.settings import Settings
from rankwise.evaluation.summary import digest_of_truth, digests_of_tables, summarise
from rankwise.evaluation.truth_slices import check_no_truth_slices
from rankwise.evaluation.user_table import JACKKNIFE, UserTable
from rankwise.messages import call, mention, parameter
from rankwise.metrics.base import MetricFailure
from rankwise.results.result import Result
from rankwise.tables.catalogue import ItemNames, outside_catalogue
from rankwise.tables.grades import keep_largest_grade
from rankwise.tables.ids import settle_ids
from rankwise.tables.places import settle_empty_lists
from rankwise.tables.read import read_table
from rankwise.tables.requests import check_no_requests, naming_requests
from rankwise.tables.table import (
    Recommendations,
    Table,
    Tables,
    absent_truth,
    is_absent,
)
from rankwise.tables.training import (
    TrainGroups,
    check_train_groups,
    groups_by_training,
    keep_judged,
    seen_counts,
    train_groups,
)


def evaluate_blocks(
    encoded: Encoded,
    plan: Plan,
    *,
    threads: int = 1,
    block_size: int | None = None,
    progress: bool | None = False,
) -> BlockValues:
    """Compute the metrics of every evaluated user.

    Parameters
    ----------
    encoded : Encoded
        Lists and ground truth.
    plan : Plan
        The metrics.
    threads : int, default=1
        Threads to use; the result does not depend on it.
    block_size : int, optional
        Users per block; by default chosen from the sizes.
    progress : bool or None, default=False
        Whether to show a progress bar; None: on a terminal, after a second.
    """
    jobs = list(plan_blocks(encoded, block_size, threads))
    counted = encoded.is_evaluated(encoded.lists.user)
    users = (int(counted[job].sum()) if isinstance(job, slice) else len(job) for job in jobs)
    firsts = list(
        accumulate(users, initial=0)
    )  # the users evaluated before each block, and after the last
    joined = BlockCollector(firsts)

    def add_values(job: int) -> int:
        block = make_block(encoded, jobs[job])
        try:
            joined.add(plan.block_values(block), job)
        except MetricFailure as failure:
            codes = (
                block.user[:1]
                if failure.user is None
                else block.user[failure.user : failure.user + 1]
            )
            raise failure.of_user(encoded.users.decode(codes)[0]) from failure.__cause__
        return firsts[job + 1] - firsts[job]

    with one_blas_thread(), progress_bar(firsts[-1], "users", shown=progress) as bar:
        for n_users in map_threads(add_values, range(len(jobs)), threads):
            bar.update(n_users)
    return joined.collect()


_BY_USER = ("train", "users", "reference")  # all pieces share them, or each brings its users' rows


@dataclass(frozen=True, eq=False, repr=False)
class Job:
    """The job for every piece (chunk) of lists: settings, and the tables that all pieces share.

    Made by `prepare`; everything else derives from the settings and the shared tables.
    """

    settings: Settings
    shared: Tables
    plan: Plan
    facts: SideTables
    user_table: UserTable
    encoder: Encoder
    about: JobFingerprint
    training_counts: TrainingCounts | None = None
    names: ItemNames | None = None
    all_truth: Table | None = None
    """The ground truth of all pieces, where each brings its part in another form."""

    def __reduce__(self) -> Any:
        return partial(prepare, training_counts=self.training_counts, all_truth=self.all_truth), (
            self.settings,
            self.shared,
        )

    def for_users(self, piece: Tables) -> Job:
        """Return the job for a piece that brings its rows of the tables by user.

        What is known of items, and what was counted over all users, is kept.
        """
        tables = piece.by_role.items()
        parts: dict[Any, Any] = {role: table for role, table in tables if role in _BY_USER}
        if not parts:
            return self
        shared, facts = replace(self.shared, **parts), self.facts.for_users(parts)
        user_table = self.user_table
        if "users" in parts:
            user_table = _user_table(self.settings, shared, user_table.train_groups)
        return replace(
            self,
            shared=shared,
            facts=facts,
            user_table=user_table,
            encoder=Encoder(self.encoder.rules, shared, facts),
        )

    def settle(
        self, piece: Tables, known: Mapping[str, pl.DataType] | None = None
    ) -> tuple[Job, Tables]:
        """Return the job and a piece with one type of each kind of id in all their tables.

        ``known`` are the types of ids in earlier pieces. The job is made anew if its shared tables
        have another type than they have beside the piece.
        """
        units = piece.units or self.shared.units
        everything = replace(self.shared.with_tables(piece.by_role), units=units)
        together = settle_ids(everything, known).by_role
        own = {role: together[role] for role in piece.by_role}
        shared = {role: together[role] for role in self.shared.by_role if role not in own}
        piece = piece.with_tables(own)
        if all(table is self.shared.by_role[role] for role, table in shared.items()):
            return self, piece
        return prepare(
            self.settings,
            self.shared.with_tables(shared),
            complete=True,
            training_counts=self.training_counts,
            all_truth=self.all_truth,
        ), piece


def prepare(
    settings: Settings,
    shared: Tables,
    *,
    complete: bool = False,
    training_counts: TrainingCounts | None = None,
    all_truth: Table | None = None,
) -> Job:
    """Check the settings and the shared tables, and build the job.

    Parameters
    ----------
    settings : Settings
        What is asked.
    shared : Tables
        What all pieces share: ground truth, unless each piece brings its part, and training,
        items, users and reference lists.
    complete : bool, default=False
        Whether exact ranks come with the lists themselves, ranked to the last candidate.
    training_counts : TrainingCounts, optional
        What was counted over all users: every piece then brings its users' rows of the ground
        truth, training interactions, users and reference lists, of which ``shared`` has the
        columns.
    all_truth : Table, optional
        The ground truth of all pieces, where each brings its part in another form.

    Raises
    ------
    UsageError
        If a metric needs what is not there.
    InputError
        If a table does not have what is asked of it.
    """
    _check_prepared(settings, shared)
    shared = normalise(_with_weights(shared, settings), settings)
    shared = replace(shared, truth=keep_largest_grade(shared.truth, settings.grades))
    shared = settle_ids(shared)

    made = _train_groups(settings, shared, training_counts)
    user_table = _user_table(settings, shared, made)
    groups = () if settings.jackknife is None else (JACKKNIFE,)
    plan = Plan(settings.metrics, settings.rules, (*settings.by, *groups), settings.exact)
    tables = {role: table for role, table in shared.by_role.items() if role in _BESIDE}
    if settings.exact and not complete:
        check_exact(plan, tables)
    facts = SideTables(plan.facts, tables, settings.columns, training_counts, made)
    _check_plan(plan, settings, shared)

    # Of requests in pieces, as of buckets of users, one piece may have no relevant item.
    whole_truth = training_counts is None and not (shared.by_request and shared.truth is None)
    rules = EncodingRules(
        options=settings,
        evaluated=settings.evaluated,
        needs=plan.needs,
        deepest=plan.deepest,
        numbers_items=plan.numbers_items,
        exact=settings.exact,
        required=whole_truth and settings.needs_relevant and shared.truth is not None,
        ties_if_scored=settings.ties_if_scored,
    )
    return Job(
        settings,
        shared,
        plan,
        facts,
        user_table,
        Encoder(rules, shared, facts),
        _fingerprint(
            settings,
            plan,
            facts,
            _frames_of_job(shared, user_table, all_truth),
            by_request=shared.by_request,
        ),
        training_counts,
        None if shared.items_named else item_names(settings, shared.items),
        all_truth,
    )


def _with_weights(shared: Tables, settings: Settings) -> Tables:
    """Return the shared tables with the weights of users that were passed by user."""
    if settings.weights is None or isinstance(settings.weights, str) or shared.weights is not None:
        return shared
    return replace(shared, weights=read_table(settings.weights, "users"))


def _user_table(settings: Settings, shared: Tables, made: Mapping[str, TrainGroups]) -> UserTable:
    """Return the groups and weights of the users."""
    weights = settings.weights if isinstance(settings.weights, str) else shared.weights
    return UserTable.check(shared.users, settings.by, weights, made)


def _check_prepared(settings: Settings, shared: Tables) -> None:
    """Raise if the tables have to be adjusted before a job can be made."""
    check_no_truth_slices(settings.by)
    needs_all_lists = settings.exclude_seen or settings.jackknife is not None
    if needs_all_lists and not shared.is_adjusted:
        raise ParameterError(
            f"{mention('exclude_seen')} and jackknife need all lists at once",
            hint=f"pass them to {call('evaluate')}, which adjusts the tables",
        )
    for metric in settings.metrics:
        metric.require_scores()


def _train_groups(
    settings: Settings, shared: Tables, training_counts: TrainingCounts | None
) -> dict[str, TrainGroups]:
    """Return the groups of users that training makes, counted here or over all users before."""
    if training_counts is not None:
        return dict(training_counts.train_groups)
    check_train_groups(settings.by, shared.users, shared.train)
    return train_groups(groups_by_training(settings.by, shared.users), shared.train)


_BESIDE = ("train", "items", "users", "reference", "truth")
"""The tables that facts may come from."""


def _check_plan(plan: Plan, settings: Settings, shared: Tables) -> None:
    """Raise if the metrics of a plan cannot be evaluated together, or on these tables."""
    check_kept(plan.needs, settings, numbers_items=plan.numbers_items)
    plan.check_sums(settings.evaluated)
    check_catalogue(plan, settings.catalogue, shared.by_role)
    plan.check_missing_lists()  # raises as well where a part would have two rules


def _frames_of_job(
    shared: Tables, user_table: UserTable, all_truth: Table | None
) -> dict[str, pl.DataFrame]:
    """Return the rows that all pieces share, by which partials are told to be of one job."""
    frames: dict[str, pl.DataFrame] = {role: table.frame for role, table in shared.by_role.items()}
    if user_table.weights is not None:
        frames["weights"] = user_table.weights.frame
    if all_truth is not None:
        frames["truth"] = all_truth.frame
    if "reference" in frames and not {"rank", "score"} & set(frames["reference"].columns):
        frames["reference"] = frames["reference"].with_row_index("row")  # its order is its ranks
    return frames


def _fingerprint(
    settings: Settings,
    plan: Plan,
    facts: SideTables,
    frames: dict[str, pl.DataFrame],
    *,
    by_request: bool,
) -> JobFingerprint:
    """Return the question of a job: every setting that can change a value, and its tables."""
    saved = settings.to_dict(by_request=by_request)
    about = {name: json.dumps(value) for name, value in saved.items()}
    about["jackknife"] = str(settings.jackknife)
    about["catalogue"] = settings.catalogue
    about["rules"] = repr(settings.exceptions)
    if by_request:
        about["by_request"] = "True"
    columns = (f"{fact}: {facts.columns_of[fact].names}" for fact in sorted(plan.facts))
    about["facts"] = ", ".join(columns)
    return JobFingerprint(about, frames)


def item_names(settings: Settings, items: Table | None) -> ItemNames | None:
    """Return the mapping of the lists' codes or titles to items; None if lists have item ids."""
    kind = settings.item_names
    return None if kind is None else ItemNames.of(kind, getattr(settings, kind), items)


def work(job: Job, piece: Tables) -> Partial:
    """Evaluate a piece: the lists of a set of users, or users without a list.

    Parameters
    ----------
    job : Job
        What is asked.
    piece : Tables
        ``recommendations``, with ``truth`` unless the job has it; or ``unlisted`` users. With
        what was counted over all users, also the rows of these users in ``train``, ``users``
        and ``reference``.

    Raises
    ------
    InputError
        If the piece cannot be evaluated as it is.
    """
    return evaluate_piece(job, piece)[1]


def evaluate_piece(
    job: Job, piece: Tables, known: Mapping[str, pl.DataType] | None = None
) -> tuple[Job, Partial]:
    """Evaluate a piece as `work` does; also return the job with the types of ids that it has now.

    ``known`` are the types of ids in earlier pieces.
    """
    check_no_requests(piece.recommendations, "an evaluation in pieces")
    piece = normalise(piece, job.settings)
    piece = replace(piece, truth=keep_largest_grade(piece.truth, job.settings.grades))
    if piece.recommendations is not None:
        piece = replace(piece, recommendations=_of_items(job, piece.recommendations))
    job, piece = job.settle(piece, known)
    if piece.recommendations is not None:
        lists = settle_empty_lists(
            piece.recommendations, present=job.settings.empty_lists == "present"
        )
        piece = replace(piece, recommendations=lists)
    return job, _work(job.for_users(piece), piece)


def _work(job: Job, piece: Tables) -> Partial:
    """Evaluate a piece whose ids have the types of the job's."""
    settings, recommendations = job.settings, piece.recommendations
    piece = _with_truth(job, piece)
    outside = None
    if recommendations is not None:
        outside = _outside_catalogue(job, recommendations, piece.truth)
        piece = replace(piece, recommendations=_evaluated_rows(job, recommendations, piece))
    threads = settings.threads or default_threads()
    try:
        with job.encoder.rollback_on_error():
            encoded = job.encoder.encode(piece, threads=threads)
            measured = evaluate_blocks(
                encoded,
                job.plan,
                threads=threads,
                block_size=settings.block_size,
                progress=settings.progress if recommendations is not None else False,
            )
    except (DuplicateError, ScoreError) as error:
        if recommendations is None:
            raise
        raise naming_requests(error, recommendations, piece.truth or job.shared.truth) from error
    result = partial_of(job, piece, encoded, measured)
    if recommendations is not None:
        units = piece.units or job.shared.units
        result = _with_seen_counts(
            result, job, recommendations, piece.truth or job.shared.truth, units
        )
    if outside is not None and recommendations is not None:
        result = _with_outside_counts(result, recommendations, outside)
    return replace(
        result, sample=sample_counts(recommendations, result.users, result.counts.get("hits", 0))
    )


def _of_items(job: Job, lists: Recommendations) -> Recommendations:
    """Return lists of items, where they are of codes or titles."""
    if job.names is None:
        return lists
    check_scores(job.plan.leaves, lists)
    return job.names.translated(lists)[0]


def _outside_catalogue(job: Job, lists: Recommendations, truth: Table | None) -> pl.Series | None:
    """Return the distinct recommended ids outside the catalogue; None if there is no catalogue."""
    if job.shared.is_slice or lists.is_exact or lists.format == "ratings":
        return None
    known = _tables_of_catalogue(job, truth)
    return None if known is None else outside_catalogue(lists, known)


def _tables_of_catalogue(job: Job, truth: Table | None) -> list[Table] | None:
    """Return the tables whose items are the catalogue; None where no table has all of them."""
    settings, shared = job.settings, job.shared
    if settings.catalogue == "items" and shared.items is not None:
        return [shared.items]

    train = _training_of_all_users(job)
    if train is None:
        return None
    if settings.catalogue == "train":
        return [train]

    whole = shared.truth or job.all_truth
    if whole is not None:
        return [train, whole]  # most items are in training
    is_of_piece = truth is not None and not is_absent(truth)
    return None if is_of_piece else [train]


def _training_of_all_users(job: Job) -> Table | None:
    """Return the training items of all users, of whom a piece may have the rows of its own alone."""
    train = job.shared.train
    if train is None or job.training_counts is None:
        return None if train is None else train.trained
    popularity = job.training_counts.popularity
    return None if popularity is None else train.with_frame(popularity)


def _with_outside_counts(result: Partial, lists: Recommendations, outside: pl.Series) -> Partial:
    """Add the ids outside the catalogue, and the counts of their rows and lists, to a partial."""
    if outside.is_empty():
        return result
    rows = lists.frame.filter(pl.col("item").is_in(outside.implode()))
    counts = {
        "recommendations_outside_catalogue": len(rows),
        "lists_with_items_outside_catalogue": rows["user"].n_unique(),
    }
    return replace(
        result, counts=Counter(result.counts) + Counter(counts), outside_catalogue=outside
    )


def _with_seen_counts(
    result: Partial,
    job: Job,
    lists: Recommendations,
    truth: Table | None,
    units: Units | None,
) -> Partial:
    """Add the number of recommendations that are training interactions of their user."""
    settings, train = job.settings, job.shared.train
    are_seen_kept = not (settings.exclude_seen or job.shared.is_slice or lists.is_exact)
    if train is None or train.frame.is_empty() or not are_seen_kept or lists.format == "ratings":
        return result
    judged = None if truth is None or is_absent(truth) else truth
    if units is not None:  # what a user knows is known in all requests
        lists = lists.with_frame(units.with_users(lists.frame))
        judged = None if judged is None else judged.with_frame(units.with_users(judged.frame))
    return replace(
        result, counts=Counter(result.counts) + Counter(seen_counts(lists, judged, train))
    )


def _evaluated_rows(job: Job, recommendations: Recommendations, piece: Tables) -> Recommendations:
    """Return the rows of the lists that are evaluated, checked."""
    settings = job.settings
    check_piece(job.plan, recommendations, settings.relevance_threshold)
    if settings.depth is not None:
        check_depth(
            job.plan, recommendations, settings.depth, job.encoder.rules.ties_of(recommendations)
        )
    truth = piece.truth or job.shared.truth
    if not settings.judged_only or truth is None or is_absent(truth):
        return recommendations
    return keep_judged(recommendations, truth)


def partial_of(job: Job, piece: Tables, encoded: Encoded, measured: BlockValues) -> Partial:
    """Return the partial result of a piece, with its counts, cards and hashes."""
    recommendations, truth = piece.recommendations, piece.truth or job.shared.truth
    assert truth is not None
    units = piece.units or job.shared.units
    split = None if truth.split is None else dict(truth.split)
    inputs = {} if is_absent(truth) else {"truth": [{**_card(truth, units), "split": split}]}
    protocol = ""
    if recommendations is not None:
        protocol = recommendations.protocol.write() if recommendations.protocol else ""
        inputs["recommendations"] = [_card(recommendations, units)]
    digests = digest_of_truth(piece.truth, units)
    if job.training_counts is not None:  # rows that repeat are this piece's, not those of all
        digests |= digests_of_tables(job, by_user=True)
        encoded = replace(
            encoded, counts=encoded.counts + Counter(encoded.shared_counts), shared_counts={}
        )
    measured_users = measured.to_partial(
        encoded, job.about, protocol=protocol, inputs=inputs, with_items=job.plan.needs_catalogue
    )
    return replace(measured_users, digests=digests)


def _card(table: Table, units: Units | None) -> dict[str, Any]:
    """Return the card of lists or ground truth; numbers of requests have the type of their users."""
    card = table.card
    if units is not None:
        card["ids"]["user"] = str(units.users.dtype)
    return card


def _with_truth(job: Job, piece: Tables) -> Tables:
    """Return a piece with its ground truth, empty if no metric reads the ground truth."""
    if (piece.truth is None) != (job.shared.truth is None):
        return piece
    unneeded = not job.plan.reads_truth and job.settings.evaluated == "recommended"
    if piece.truth is None and piece.recommendations is not None and unneeded:
        return replace(piece, truth=absent_truth(piece.recommendations))
    raise ParameterError(
        "truth is passed either to the Evaluator or with every chunk",
        hint="pass truth to Evaluator(…) or to update(…); metrics that describe lists need none "
        f"with {parameter('population', 'recommended')}",
    )


def finish(job: Job, partials: Iterable[Partial]) -> Result:
    """Merge the partials, add the users without a list, and summarise.

    Raises
    ------
    EmptyError
        If there is nothing to summarise.
    """
    merged = merge(partials)
    job.about.check(merged.about)
    job, _ = job.settle(Tables(), merged.id_types)
    merged = with_train_items(job, merged)
    if job.shared.truth is not None:
        piece = job.encoder.without_list(merged.users)
        if piece is not None:
            merged = merged.merge(replace(work(job, piece), protocol=merged.protocol))
    return summarise(merged, job)


def with_train_items(job: Job, merged: Partial) -> Partial:
    """Return a merged partial whose catalogue has the training items of all users.

    Pieces that bring their users' rows of training know the items of these rows alone.
    """
    counted = None if job.training_counts is None else job.training_counts.popularity
    if counted is None or merged.items is None:
        return merged
    kind = merged.items.schema["item"]  # of 64 bits
    unseen = counted.select(pl.col("item").cast(kind)).join(merged.items, on="item", how="anti")
    zeros = [pl.lit(0, pl.Int64).alias(name) for name in merged.items.columns if name != "item"]
    items = pl.concat([merged.items, unseen.with_columns(zeros)]).sort("item")
    return replace(merged, items=items)


def merge(partials: Iterable[Partial]) -> Partial:
    """Merge partials of one job; their order does not matter.

    Raises
    ------
    EmptyError
        If there is none.
    """
    partials = list(partials)
    if not partials:
        raise EmptyError("nothing has been evaluated yet", hint="call update(…) first")
    return partials[0].merge(*partials[1:])
