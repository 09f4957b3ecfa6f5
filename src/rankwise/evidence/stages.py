"""`stages`: what each stage of a recommender or a search loses, from candidates to the final list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, count
from typing import Any

import polars as pl

from rankwise.core.saved_forms import STAGES
from rankwise.core.terminal import Detail, TableView, brief, count_of, level_text, percent
from rankwise.errors import EmptyError, MetricError, ParameterError
from rankwise.evaluation.evaluate import evaluate
from rankwise.findings.tables import ResultTable
from rankwise.findings.words import limits_text
from rankwise.messages import call, parameter
from rankwise.metrics.base import Metric, parse_all
from rankwise.results.result import Result
from rankwise.splits.reading import truth_and_train
from rankwise.stats.differences import check_level
from rankwise.tables.read import read_table

FLOOR = "random order of the candidates"
CEILING = "best order of the candidates"
RANKED = "ranker"
FINAL = "final list"
_SHARE = "recall"
_OWN = ("population", "undefined", "ties", "duplicates", "depth", "judged_only")
"""Options that stages decide themselves."""
_TAKEN = (
    *("relevance_threshold", "users", "items", "train", "reference"),
    *("threads", "block_size", "progress"),
)
"""Options of an evaluation that leave lists and relevance as they are."""
_OTHER_IDS = ("codes", "titles", "same", "alternatives")
"""Options by which lists and ground truth need not name an item alike."""


@dataclass(frozen=True, eq=False, repr=False)
class Stages(ResultTable):
    """The result of `rankwise.stages`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per stage and metric: ``stage``, ``metric``, ``value``, ``low``, ``high``. A random
        order of the candidates is the floor of a ranker, their best order its ceiling.
    losses : polars.DataFrame
        What becomes of the relevant items, one row per ``fate`` and group (``by`` and ``group`` are
        null for all users): ``share`` is the mean over users of the share of their relevant items,
        with its interval; ``users`` have any such item.
    sources : polars.DataFrame
        One row per source of candidates: the mean number of ``candidates``, the ``recall`` with its
        interval, and ``alone``, the share of relevant items that no other source has.
    overlaps : polars.DataFrame
        One row per pair of sources: the mean ``share`` of their candidates that both have.
    per_user : polars.DataFrame
        One row per user: the share of the user's relevant items by fate.
    settings : dict
        The metrics, the cut-off, the number of users, the confidence level.
    results : dict of str to Result
        The result of each stage, for `rankwise.compare`; not saved.
    """

    table: pl.DataFrame
    losses: pl.DataFrame
    sources: pl.DataFrame
    overlaps: pl.DataFrame
    per_user: pl.DataFrame
    settings: dict[str, Any]
    results: dict[str, Result] = field(default_factory=dict)
    form = STAGES

    def _parts(self) -> tuple[dict[str, pl.DataFrame], dict[str, Any]]:
        """Return the tables, and the plain values; results of stages are saved by themselves."""
        frames, values = super()._parts()
        return frames, {**values, "results": {}}

    @property
    def sentences(self) -> list[str]:
        """What each stage loses, and how much of the possible value each metric reaches."""
        return [
            *self._losses_in_words(),
            *(self._reach_in_words(metric) for metric in self.settings["metrics"]),
        ]

    def _losses_in_words(self) -> Iterator[str]:
        """Yield the share of relevant items that each stage loses."""
        rows = {row["fate"]: row for row in self._of_all_users().to_dicts()}
        never, beyond = rows.pop("never retrieved"), self.settings["shown_unretrieved"]
        if beyond:
            yield (
                f"The candidates lack {percent(never['share'] + beyond)} of a user's relevant items "
                f"on average; {percent(beyond)} are shown though no source has them."
            )
        else:
            yield (
                f"The candidates lack {percent(never['share'])} of a user's relevant items on "
                f"average ({percent(never['low'])} to {percent(never['high'])})."
            )
        shown = rows.pop("shown")
        lost = [f"{percent(row['share'])} are {fate}" for fate, row in rows.items()]
        text = f"{percent(shown['share'])} are shown in the top {self.settings['k']}"
        yield f"{'; '.join([text, *lost])}."
        if tied := self.settings["users_with_tied_cutoff"]:
            yield (
                f"Scores tie at the cut-off for {count_of(tied, 'user')}: the item of the lower id "
                "counts as shown, where values of metrics are means over all orders."
            )

    def _reach_in_words(self, metric: str) -> str:
        """Return where a metric stands between a random and the best order of the candidates."""
        rows = {
            row["stage"]: row["value"]
            for row in self.table.filter(pl.col("metric") == metric).to_dicts()
        }
        floor, ceiling = rows.pop(FLOOR), rows.pop(CEILING)
        reached = "; ".join(f"{stage} {brief(value)}" for stage, value in rows.items())
        most = f"of at most {brief(ceiling)} with these candidates"
        if max(rows.values()) > ceiling + 1e-12:  # items were shown that no source has
            most = f"and {brief(ceiling)} with the best order of these candidates"
        return f"{metric}: {reached}, {most}, {brief(floor)} in random order."

    def _of_all_users(self) -> pl.DataFrame:
        return self.losses.filter(pl.col("by").is_null())

    def _tables_at(self, detail: Detail) -> list[TableView]:
        """Return the sentences, the stages, the losses and the sources."""
        level = level_text(self.settings["confidence"])
        tables = [self._stages_view(level), self._losses_view(self._of_all_users(), level)]
        of_groups = self.losses.filter(pl.col("by").is_not_null())
        tables += [
            self._losses_view(rows, level)
            for rows in of_groups.partition_by("by", "group", maintain_order=True)
        ]
        tables.append(self._sources_view(level))
        return [self._lead, *tables]

    def _stages_view(self, level: str) -> TableView:
        lines = [
            (
                row["stage"],
                row["metric"],
                brief(row["value"]),
                limits_text(row["low"], row["high"], brief),
            )
            for row in self.table.to_dicts()
        ]
        corner = count_of(self.settings["users"], "user")
        return TableView((corner, "metric", "value", f"{level} interval"), lines, left=(0, 1))

    @staticmethod
    def _losses_view(rows: pl.DataFrame, level: str) -> TableView:
        first = rows.row(0, named=True)
        corner = "Relevant items"
        if first["by"] is not None:
            corner = f"{corner}, {first['by']} {first['group']}"
        lines = [
            (
                row["fate"],
                percent(row["share"]),
                limits_text(row["low"], row["high"], percent),
                f"{row['users']:,}",
            )
            for row in rows.to_dicts()
        ]
        return TableView((corner, "share", f"{level} interval", "users"), lines)

    def _sources_view(self, level: str) -> TableView:
        lines = [
            (
                row["source"],
                f"{row['candidates']:.1f}",
                percent(row["recall"]),
                limits_text(row["low"], row["high"], percent),
                percent(row["alone"]),
            )
            for row in self.sources.to_dicts()
        ]
        notes = [
            f"{row['source']} and {row['other']} have {percent(row['share'])} of their candidates "
            "in common."
            for row in self.overlaps.to_dicts()
        ]
        head = ("source", "candidates", "recall", f"{level} interval", "alone")
        return TableView(head, lines, notes)


def stages(
    sources: Mapping[str, Any] | Any,
    truth: Any,
    metrics: str | Sequence[str] = "ndcg@10",
    *,
    ranked: Any = None,
    final: Any = None,
    by: str | Sequence[str] = (),
    confidence: float = 0.95,
    columns: Mapping[str, str | None] | None = None,
    **options: Any,
) -> Stages:
    """Tell what each stage loses: candidates, the ranker's order of them, the final list.

    A ranker can only order what was retrieved. The best order of the candidates is its ceiling, a
    random order its floor, and a relevant item that is not shown was either never retrieved, ranked
    below the cut-off, or filtered afterwards.

    Parameters
    ----------
    sources : mapping of str to lists, or lists
        The candidates of each source by name, each in any form of recommendation lists, or those of
        one source. A mapping with a key for each *user* is one source.
    truth : table, path, mapping or split
        The ground truth: the same for all stages.
    metrics : str or list of str, default="ndcg@10"
        Metrics with a cut-off; the largest cut-off says what is shown.
    ranked : lists, optional
        The candidates in the order of the ranker, with or without scores.
    final : lists, optional
        What is shown in the end, after rules, filters and re-ranking. At least one of ``ranked`` and
        ``final`` is needed.
    by : str or list of str, default=()
        Groups of users, or slices of relevant items, in which losses are told apart, as in
        `rankwise.evaluate`.
    confidence : float, default=0.95
        The confidence level of the intervals.
    columns : mapping, optional
        The column of each role, where its name is not recognised.
    **options : object
        Further options of `rankwise.evaluate`: ``relevance_threshold``, ``users``, ``items``,
        ``train``, ``reference``, ``threads``, ``block_size`` and ``progress``. Others change which
        items are in a list or relevant, and would follow other items than they evaluate.

    Returns
    -------
    Stages

    Raises
    ------
    InputError
        If a table cannot be read, or no user has a relevant item.
    UsageError
        If a metric has no cut-off, or neither order is given.

    See Also
    --------
    rankwise.splits : Two-stage splits, with candidates and rankers trained on separate parts.

    Examples
    --------
    >>> import rankwise as rw
    >>> truth = {"ann": {1: 1, 2: 1, 3: 1, 9: 1}, "bob": {4: 1}}
    >>> sources = {"als": {"ann": [1, 2, 5], "bob": [4, 6]}, "new": {"ann": [3, 7], "bob": [8]}}
    >>> ranked = {"ann": [5, 1, 7, 2, 3], "bob": [4, 6, 8]}
    >>> found = rw.stages(sources, truth, "recall@2", ranked=ranked)
    >>> print(found.sentences[0])
    The candidates lack 12 % of a user's relevant items on average (0 % to 87 %).
    >>> found.losses.select("fate", "share").rows()
    [('shown', 0.625), ('never retrieved', 0.125), ('ranked below 2', 0.25)]
    """
    has_order = ranked is not None or final is not None
    asked, k = check_stages(metrics, confidence=confidence, has_order=has_order)
    _check_options(options)

    truth, train = truth_and_train(truth, options.get("train"), columns)
    if train is not None and by:  # slices by popularity need it
        options["train"] = train
    read = _Tables.read(_sources_of(sources), truth, ranked, final, columns, options)
    fates = read.fates(k)
    given = {**options, "columns": None, "population": "truth"}
    results = {
        stage: evaluate(lists, read.truth, asked, **given, **more)
        for stage, lists, more in read.stages()
    }
    of_fate = {fate: _share(fates, fate, read, {**given, "by": by}) for fate in read.fate_names(k)}
    of_sources = {
        name: evaluate(_ranks(rows), read.truth, _SHARE, **given)
        for name, rows in read.sources.items()
    }
    users = next(iter(results.values())).counts["users"]
    cells = [cell for metric in asked for cell in metric.cells]
    settings = {
        "metrics": cells,
        "k": k,
        "users": users,
        "confidence": confidence,
        "shown_unretrieved": read.share_shown_unretrieved(k),
        "users_with_tied_cutoff": read.users_with_tied_cutoff(k),
    }
    return Stages(
        table=_stage_rows(results, cells, confidence),
        losses=_loss_rows(of_fate, by, confidence),
        sources=_source_rows(of_sources, read, confidence),
        overlaps=_overlap_rows(read),
        per_user=_per_user(of_fate),
        settings=settings,
        results=results,
    )


def check_stages(
    metrics: str | Sequence[str] = "ndcg@10", *, confidence: float = 0.95, has_order: bool = True
) -> tuple[tuple[Metric, ...], int]:
    """Return the metrics and the largest cut-off; raise for options that no lists can mend."""
    check_level("confidence", confidence)
    if not has_order:
        raise ParameterError(
            "candidates alone have one stage: the order of the ranker or the final list is missing",
            hint=f"pass {parameter('ranked')} or {parameter('final')}; the recall of candidates "
            'alone is rw.evaluate(candidates, truth, "recall")',
        )
    asked = parse_all(metrics)
    return asked, _deepest(asked)


def _deepest(metrics: Sequence[Metric]) -> int:
    """Return the largest cut-off; raise if a metric has none, or is no mean over users."""
    for metric in metrics:
        if not metric.k or not metric.has_user_values or not metric.reads_truth:
            raise MetricError(
                "stages are compared by metrics of users with a cut-off",
                found=str(metric),
                hint='such as "ndcg@10"',
            )
    return max(k for metric in metrics for k in metric.k)


def _check_options(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in (*_TAKEN, *_OWN, *_OTHER_IDS):
            raise ParameterError(
                f"stages do not take {name}: items are followed by rankwise's own rules",
                found=parameter(name, options[name]),
                hint=f"evaluate the stages one by one with {call('evaluate')}",
            )
        if name in _OWN:
            raise ParameterError(
                f"stages set {name} themselves",
                found=parameter(name, options[name]),
                hint="evaluate the stages one by one with rw.evaluate",
            )
        if name in _OTHER_IDS and options[name] is not None:
            raise ParameterError(
                "an item is followed through the stages by its id, which all of them share",
                found=parameter(name, options[name]),
                hint="give all tables the same ids first",
            )


def _sources_of(sources: Any) -> dict[str, Any]:
    """Return the sources by name; one without a name is called candidates."""
    from rankwise.evidence.nulls import systems_of

    return systems_of(sources, alone="candidates")


@dataclass(frozen=True, eq=False)
class _Tables:
    """All tables with ids of one type: sources, ground truth, and the orders that there are."""

    sources: dict[str, pl.DataFrame]
    truth: pl.DataFrame
    ranked: pl.DataFrame | None
    final: pl.DataFrame | None
    relevant: pl.DataFrame
    """The user and item of relevant rows."""

    @classmethod
    def read(
        cls,
        sources: Mapping[str, Any],
        truth: Any,
        ranked: Any,
        final: Any,
        columns: Mapping[str, str | None] | None,
        options: Mapping[str, Any],
    ) -> _Tables:
        """Read all tables, and write ids as text if their types differ."""
        given = {name: source for name, source in sources.items() if source is not None}
        frames = {
            f"source {name}": read_table(source, "recommendations", columns).frame
            for name, source in given.items()
        }
        for name, source in (("ranked", ranked), ("final", final)):
            if source is not None:
                frames[name] = read_table(source, "recommendations", columns).frame
        judged = read_table(truth, "truth", columns)
        frames["truth"] = judged.frame
        of_requests = [name for name, frame in frames.items() if "request" in frame.columns]
        if of_requests:
            whose = "the ground truth has" if "truth" in of_requests else "lists have"
            raise ParameterError(
                f"stages are of users, and {whose} requests",
                found=", ".join(of_requests),
                hint="name the requests as users, with "
                f"{parameter('columns', {'truth.user': 'request', 'truth.request': None})}",
            )
        frames = _with_ids_of_one_type(frames)
        judged = replace(judged, frame=frames["truth"])
        relevant = judged.relevant(options.get("relevance_threshold"))
        if relevant.is_empty():
            raise EmptyError("no item is relevant", where="truth")
        return cls(
            {name: frames[f"source {name}"] for name in given},
            judged.frame,
            frames.get("ranked"),
            frames.get("final"),
            relevant.select("user", "item").unique(maintain_order=True),
        )

    @cached_property
    def candidates(self) -> pl.DataFrame:
        """The user and item of every candidate of any source, once."""
        rows = [source.select("user", "item") for source in self.sources.values()]
        return pl.concat(rows).unique(maintain_order=True)

    def stages(self) -> Iterator[tuple[str, pl.DataFrame, dict[str, Any]]]:
        """Yield each stage with its lists, from the floor to the ceiling."""
        candidates = self.candidates
        yield FLOOR, candidates.with_columns(score=pl.lit(0.0)), {"ties": "expected"}
        if self.ranked is not None:
            yield RANKED, self.ranked, {}
        if self.final is not None:
            yield FINAL, self.final, {}
        relevance = [name for name in ("relevance",) if name in self.truth.columns]
        known = self.truth.select("user", "item", *relevance).unique(["user", "item"])
        worth = pl.col("relevance") if relevance else pl.lit(1.0)
        best = candidates.join(known.with_columns(worth=worth), on=["user", "item"], how="left")
        best = best.sort("user", "worth", descending=[False, True], nulls_last=True)
        yield CEILING, _ranks(best), {}

    def fate_names(self, k: int) -> list[str]:
        """Return the fates of relevant items that these stages tell apart, the last one the rest."""
        names = ["shown", "never retrieved"]
        if self.ranked is None:
            return [*names, "not shown"]
        return [*names, f"ranked below {k}", *(["filtered"] if self.final is not None else [])]

    @property
    def shown_lists(self) -> pl.DataFrame:
        """The lists that are shown in the end."""
        last = self.ranked if self.final is None else self.final
        assert last is not None
        return last

    def share_shown_unretrieved(self, k: int) -> float:
        """Return the mean share of a user's relevant items that are shown and no source has."""
        is_shown = _is_in(self.relevant, _top(self.shown_lists, k))
        is_retrieved = _is_in(self.relevant, self.candidates)
        return _mean_share(self.relevant.filter(is_shown & ~is_retrieved), self.relevant)

    def users_with_tied_cutoff(self, k: int) -> int:
        """Count the users with a relevant item among scores that tie across the cut-off."""
        lists = [rows for rows in (self.ranked, self.final) if rows is not None]
        users = [_users_with_tied_cutoff(rows, self.relevant, k) for rows in lists]
        return pl.concat(users).n_unique()

    def fates(self, k: int) -> pl.DataFrame:
        """Return the fate of every relevant item: that it is shown, or the first stage that lost it."""
        is_true = [
            _is_in(self.relevant, _top(self.shown_lists, k)),
            ~_is_in(self.relevant, self.candidates),
        ]
        if self.ranked is not None:
            is_true.append(~_is_in(self.relevant, _top(self.ranked, k)))
        *names, rest = self.fate_names(k)
        fate = pl.repeat(rest, len(self.relevant), eager=True)
        for name, chosen in reversed([*zip(names, is_true, strict=False)]):
            fate = pl.select(pl.when(chosen).then(pl.lit(name)).otherwise(fate)).to_series()
        return self.relevant.with_columns(fate=fate)


def _with_ids_of_one_type(frames: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the frames, with ids as text where their types differ."""
    for name in ("user", "item"):
        kinds = {frame.schema[name] for frame in frames.values()}
        if len(kinds) > 1:
            is_whole = all(kind.is_integer() and kind != pl.UInt64 for kind in kinds)
            kind = pl.Int64 if is_whole else pl.String
            frames = {
                role: frame.with_columns(pl.col(name).cast(kind)) for role, frame in frames.items()
            }
    return frames


def _is_in(rows: pl.DataFrame, others: pl.DataFrame) -> pl.Series:
    """Return which rows have a user and item that another table has too."""
    marked = others.select("user", "item").unique().with_columns(is_in=pl.lit(value=True))
    joined = rows.join(marked, on=["user", "item"], how="left", maintain_order="left")
    return joined["is_in"].fill_null(value=False)


def _top(lists: pl.DataFrame, k: int) -> pl.DataFrame:
    """Return the user and item of the first k of each list; ties by item."""
    if "rank" in lists.columns:
        lists = lists.sort("user", "rank", maintain_order=True)
    elif "score" in lists.columns:
        lists = lists.sort("user", "score", "item", descending=[False, True, False])
    return lists.group_by("user", maintain_order=True).head(k).select("user", "item")


def _users_with_tied_cutoff(lists: pl.DataFrame, relevant: pl.DataFrame, k: int) -> pl.Series:
    """Return the users whose ranks k and k + 1 have one score, with a relevant item of that score."""
    if "rank" in lists.columns or "score" not in lists.columns:
        return lists["user"].clear()
    ordered = lists.sort("user", "score", descending=[False, True])
    place = pl.int_range(1, pl.len() + 1).over("user")
    at, after = (ordered.filter(place == rank).select("user", "score") for rank in (k, k + 1))
    tied = at.join(after, on=["user", "score"]).join(lists, on=["user", "score"])
    return tied.join(relevant, on=["user", "item"], how="semi")["user"].unique()


def _ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows as lists in the order in which they come."""
    ids = rows.select("user", "item").unique(maintain_order=True)
    return ids.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))


def _share(fates: pl.DataFrame, fate: str, read: _Tables, options: Mapping[str, Any]) -> Result:
    """Return the share of each user's relevant items with a fate: the recall of a list of them."""
    rows = fates.filter(pl.col("fate") == fate)
    if rows.is_empty():  # an item that is nobody's, so that every user has the share 0
        rows = pl.DataFrame([fates["user"].head(1), _absent(fates["item"])])
    return evaluate(_ranks(rows), read.truth, _SHARE, **options)


def _absent(items: pl.Series) -> pl.Series:
    """Return an id that is none of these items: of integers the first from 0 that they lack."""
    if items.dtype == pl.String:
        return pl.Series("item", [max(items) + "\x00"])
    known = {*items}
    return pl.Series("item", [next(number for number in count() if number not in known)])


_STAGE = {
    "stage": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


def _stage_rows(
    results: Mapping[str, Result], cells: Sequence[str], confidence: float
) -> pl.DataFrame:
    rows = []
    for cell in cells:
        for stage, result in results.items():
            low, high = result.interval(cell, confidence=confidence)
            value = result.values[cell]
            rows.append({"stage": stage, "metric": cell, "value": value, "low": low, "high": high})
    return pl.DataFrame(rows, schema=_STAGE)


_LOSS = {
    "fate": pl.String,
    "by": pl.String,
    "group": pl.String,
    "share": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "users": pl.Int64,
}


def _loss_rows(
    of_fate: Mapping[str, Result], by: str | Sequence[str], confidence: float
) -> pl.DataFrame:
    """Return the share of each fate, of all users and then of each group."""
    names = [by] if isinstance(by, str) else list(by)
    rows: list[tuple[Any, ...]] = []
    for fate, result in of_fate.items():
        low, high = result.interval(_SHARE, confidence=confidence)
        users = int((result.per_user[_SHARE] > 0).sum())
        share = result.values[_SHARE]
        rows.append((fate, None, None, share, low, high, users))
    for name in names:
        groups = next(iter(of_fate.values())).slices
        assert groups is not None
        for group in groups.filter(pl.col("by") == name)["group"].unique(maintain_order=True):
            for fate, result in of_fate.items():
                rows.append((fate, name, str(group), *_of_group(result, name, group, confidence)))
    return pl.DataFrame(rows, schema=_LOSS, orient="row")


def _of_group(
    result: Result, by: str, group: object, confidence: float
) -> tuple[float, float, float, int]:
    """Return the share of a group, its interval, and the number of its users."""
    assert result.slices is not None
    rows = result.slices.filter((pl.col("by") == by) & pl.col("group").eq_missing(pl.lit(group)))
    row = rows.row(0, named=True)
    low, high = result.interval(_SHARE, confidence=confidence, by=by, group=group)
    return row[_SHARE], low, high, int(row["users"])


def _source_rows(results: Mapping[str, Result], read: _Tables, confidence: float) -> pl.DataFrame:
    rows = []
    users = read.relevant["user"].unique()
    for name, result in results.items():
        own = read.sources[name]
        low, high = result.interval(_SHARE, confidence=confidence)
        others = [other for known, other in read.sources.items() if known != name]
        found = read.relevant.join(own, on=["user", "item"], how="semi")
        for other in others:
            found = found.join(other, on=["user", "item"], how="anti")
        alone = _mean_share(found, read.relevant)
        inside = own.filter(pl.col("user").is_in(users.implode()))
        rows.append(
            {
                "source": name,
                "candidates": inside.select("user", "item").n_unique() / len(users),
                "recall": result.values[_SHARE],
                "low": low,
                "high": high,
                "alone": alone,
            }
        )
    return pl.DataFrame(rows)


def _mean_share(rows: pl.DataFrame, relevant: pl.DataFrame) -> float:
    """Return the mean over users of the share of their relevant items that rows have."""
    n = relevant.group_by("user").agg(pl.len().alias("n"))
    counted = n.join(rows.group_by("user").len("found"), on="user", how="left")
    return _mean(counted["found"].fill_null(0) / counted["n"])


def _mean(shares: pl.Series) -> float:
    """Return the mean of shares, whatever the order in which groups come."""
    return math.fsum(shares) / len(shares)


def _overlap_rows(read: _Tables) -> pl.DataFrame:
    """Return the mean share of two sources' candidates that both have, over users with any."""
    rows = []
    for (name, own), (other, theirs) in combinations(read.sources.items(), 2):
        pair = [frame.select("user", "item").unique() for frame in (own, theirs)]
        both = pair[0].join(pair[1], on=["user", "item"], how="semi")
        either = pl.concat(pair).unique()
        counts = either.group_by("user").len("either")
        counts = counts.join(both.group_by("user").len("both"), on="user", how="left")
        share = _mean(counts["both"].fill_null(0) / counts["either"])
        rows.append({"source": name, "other": other, "share": share})
    schema = {"source": pl.String, "other": pl.String, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _per_user(of_fate: Mapping[str, Result]) -> pl.DataFrame:
    """Return the shares of each user by fate."""
    first, *_ = of_fate.values()
    return first.per_user.select("user", "n_relevant").with_columns(
        result.per_user[_SHARE].alias(fate) for fate, result in of_fate.items()
    )
