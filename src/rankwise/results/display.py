"""The display of results: tables of values, and notes on the evaluated users and the rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from rankwise.core.counts import COUNT_WORDS, SAID_WITH
from rankwise.core.populations import POPULATIONS, widest_population
from rankwise.core.terminal import TableView, first_names, format_number
from rankwise.errors import MetricError
from rankwise.metrics.base import Metric, parse
from rankwise.metrics.inputs import read_label
from rankwise.results.sampling_unit import REQUESTS, USERS
from rankwise.results.values import cells_without_metric, labelled_values, wide_cells
from rankwise.tables.table import in_words, names_no_columns


def _no_interval(_: str) -> str:
    """Return the text of an interval where none is shown."""
    return ""


def result_views(
    metrics: Sequence[Metric],
    values: Mapping[str, float],
    slices: pl.DataFrame | None,
    label: str,
    notes: Sequence[str],
    *,
    min_size: int,
    intervals: pl.DataFrame | None = None,
    interval_of: Callable[[str], str] = _no_interval,
    full: bool = True,
) -> list[TableView]:
    """Return the table of values and, if there is one, the table of user groups, with notes.

    ``interval_of`` returns the interval of a value as text, which stands beside that of the largest
    cut-off.

    Unless in ``full``, what was read is left out, and so are the groups of a grouping beyond the
    first 40. ``label`` goes into the first heading, so that sampled candidates are never out of
    sight. The titles, which LaTeX alone has, say who was evaluated by which rules, as ``notes`` do
    elsewhere. Groups of fewer than ``min_size`` users are marked, and have ``intervals`` if these
    are known.
    """
    corner = f", {label}" if label else ""
    groups = _Groups.from_slices(slices, full=full)
    wide = [name for metric in metrics for name in metric.cells if _is_wide(values, name)]
    long = [metric for metric in metrics if not {*metric.cells} & {*wide}]

    views = []
    others = cells_without_metric(metrics, values)
    if long or others or not wide:
        views.append(_value_view(long, others, values, f"metric{corner}", interval_of))
    if intervals is not None:
        views.append(groups.close(_interval_view(groups.of(intervals), f"group{corner}")))
    elif groups.shown and long:
        views.append(groups.close(_group_view(groups.shown, f"group{corner}", wide, min_size)))
    views += [groups.close(_wide_view(name, values, groups.shown, corner)) for name in wide]

    title = _title(notes)
    views = [replace(view, title=f"{view.title} {title}") for view in views]
    below = [*(notes if full else notes[:-1]), *groups.notes(min_size)]
    return [*views[:-1], replace(views[-1], notes=below)]


@dataclass(frozen=True)
class _Groups:
    """The user groups of a result: those that are shown, and how many are not."""

    rows: Sequence[Mapping[str, Any]]
    shown: Sequence[Mapping[str, Any]]

    @classmethod
    def from_slices(cls, slices: pl.DataFrame | None, *, full: bool) -> _Groups:
        """Read the groups of a result; all are shown in ``full``, else the first of a grouping."""
        rows = [] if slices is None else slices.to_dicts()
        return cls(rows, rows if full else _first_groups(rows))

    @property
    def more(self) -> dict[str, int]:
        """The number of groups that are not shown, by grouping."""
        return dict(
            Counter(row["by"] for row in self.rows) - Counter(row["by"] for row in self.shown)
        )

    def of(self, intervals: pl.DataFrame) -> pl.DataFrame:
        """Return the intervals of the groups that are shown."""
        if not self.more:
            return intervals
        keys = {(row["by"], row["group"]) for row in self.shown}
        return intervals.filter(
            [key in keys for key in intervals.select("by", "group").iter_rows()]
        )

    def close(self, view: TableView) -> TableView:
        """Return a table with a last row for each grouping of which groups are left out."""
        blanks = [""] * (len(view.head) - 1)
        rows = [(f"… {count:,} more by {by}", *blanks) for by, count in self.more.items()]
        return replace(view, rows=[*view.rows, *rows])

    def notes(self, min_size: int) -> list[str]:
        """Return notes on groups that are small, and on groups that are not shown."""
        notes = []
        if any(row["users"] < min_size for row in self.rows):
            notes.append(f"* fewer than {min_size} users")
        if self.more:
            notes.append("all groups are in result.slices, and in the output as CSV or JSON")
        return notes


def _first_groups(groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the first groups of each grouping, as many as a reader looks at."""
    counts: Counter[str] = Counter()
    first = []
    for row in groups:
        counts[row["by"]] += 1
        if counts[row["by"]] <= _SHOWN_GROUPS:
            first.append(row)
    return first


def _title(notes: Sequence[str]) -> str:
    """Return who was evaluated and by which rules, from the notes that `footnote` made."""
    *_, who, rules, _read = notes
    return "over " + "; ".join(filter(None, (who.split(";")[0], rules))) + "."


def _value_view(
    metrics: Sequence[Metric],
    others: Sequence[str],
    values: Mapping[str, float],
    corner: str,
    interval_of: Callable[[str], str],
) -> TableView:
    """Return one row per metric or cell, one column per cut-off, and a column of intervals.

    ``others`` are the values that no metric defines.
    """
    columns: list[int | None] = [*sorted({k for metric in metrics for k in metric.k})]
    if others or not all(metric.k for metric in metrics):
        columns.append(None)
    heads = [f"@{k}" if k else "whole" for k in columns]
    title = "95 % interval" if len(columns) == 1 else "95 % interval of the last"

    table: list[tuple[str, ...]] = [(corner, *heads, title)]
    for metric in metrics:
        table += _value_rows(metric, values, columns, interval_of)
    blanks = [""] * (len(columns) - 1)  # these have no cut-off: their value is in the last column
    for name in others:
        table.append((name, *blanks, format_number(values[name]), interval_of(name)))
    has_intervals = any(row[-1] for row in table[1:])
    if not has_intervals:
        table = [row[:-1] for row in table]
    leaving = (len(columns) + 1,) if has_intervals else ()
    return TableView(table[0], table[1:], title="Values", label="rankwise-values", leaving=leaving)


def _value_rows(
    metric: Metric,
    values: Mapping[str, float],
    columns: Sequence[int | None],
    interval_of: Callable[[str], str],
) -> list[tuple[str, ...]]:
    """Return the rows of a metric, one per label of its cells, each with its interval at the end."""
    by_label: dict[str, dict[int | None, str]] = {}
    for k, cell in zip(metric.k or (None,), metric.cells, strict=True):
        for label, value in labelled_values(values, cell):
            by_label.setdefault(label, dict.fromkeys(columns, ""))[k] = format_number(value)

    name = str(metric @ ())
    rows: list[tuple[str, ...]] = []
    if by_label and "" not in by_label:
        rows.append((name, *("" for _ in columns), ""))
    _, last = max(zip(metric.k or (0,), metric.cells, strict=False))
    for label, texts in by_label.items():
        if label:
            rows.append((f"  {label}", *texts.values(), ""))
        else:
            rows.append((name, *texts.values(), interval_of(last)))
    return rows


def _is_wide(values: Mapping[str, float], name: str) -> bool:
    """Return whether a metric's values need several columns, as in a reliability curve."""
    return any("of" in read_label(label) for label, _ in labelled_values(values, name) if label)


def _wide_view(
    name: str, values: Mapping[str, float], groups: Sequence[Mapping[str, Any]], corner: str
) -> TableView:
    """Return the rows of a metric with several values per row, for all users and each group."""
    users = [("all", values), *((_group_head(row), row) for row in groups)]
    rows = [
        (who, row) for who, numbers in users for row in wide_cells(labelled_values(numbers, name))
    ]
    columns = list(rows[0][1])
    texts = [
        (
            *([who] if groups else []),
            *(v if isinstance(v, str) else format_number(v) for v in row.values()),
        )
        for who, row in rows
    ]
    head = (
        (f"{name}{corner}", *columns) if groups else (f"{name}{corner}, {columns[0]}", *columns[1:])
    )
    return TableView(
        head,
        texts,
        left=(0, 1) if groups else (0,),
        title=f"Values of {name}",
        label="rankwise-curve",
    )


def _group_head(row: Mapping[str, Any]) -> str:
    return f"{row['by']}={'–' if row['group'] is None else row['group']}"


_MANY_GROUPS = 8  # from which on groups are rows and not columns
_SHOWN_GROUPS = 40  # of each grouping, on a terminal


def _group_view(
    groups: Sequence[Mapping[str, Any]], corner: str, wide: Sequence[str], min_size: int
) -> TableView:
    """Return the values of user groups, one column per group, or one row per group if many.

    Values of ``wide`` metrics have tables of their own.
    """
    apart = tuple(f"{name}[" for name in wide)
    requests = "requests" in groups[0]
    names = [
        name for name in groups[0] if name not in ("by", "group", "users", "requests", "label")
    ]
    names = [name for name in names if not name.startswith(apart)]
    by = ", ".join(dict.fromkeys(row["by"] for row in groups))
    columns = [
        (
            _group_head(row),
            _size(row["users"], min_size),
            *([f"{row['requests']:,}"] if requests else []),
            *(format_number(row[name]) for name in names),
        )
        for row in groups
    ]
    table = [(corner, "users", *(["requests"] if requests else []), *names), *columns]
    if len(groups) < _MANY_GROUPS:
        table = [*zip(*table, strict=True)]
    return TableView(table[0], table[1:], title=f"Values by {by}", label="rankwise-groups")


def _size(users: int, min_size: int) -> str:
    """Return the number of users of a group, marked if small.

    >>> _size(12, 30), _size(1200, 30)
    ('12*', '1,200')
    """
    return f"{users:,}" + "*" * (users < min_size)


def _interval_view(intervals: pl.DataFrame, corner: str) -> TableView:
    """Return the values of all groups with their confidence intervals."""
    rows = [
        (
            _group_head(row),
            f"{row['users']:,}" + "*" * row["small"],
            row["metric"],
            format_number(row["value"]),
            ""
            if row["low"] != row["low"]
            else f"{format_number(row['low'])} to {format_number(row['high'])}",
        )
        for row in intervals.iter_rows(named=True)
    ]
    heads = (corner, "users", "metric", "value", "interval of the group alone")
    return TableView(
        heads, rows, left=(0, 2), title="Intervals of groups", label="rankwise-intervals"
    )


def footnote(
    counts: Mapping[str, int],
    diagnostics: Mapping[str, Mapping[str, float]],
    provenance: Mapping[str, Any],
    candidates: str | None,
    split: Mapping[str, Any] | None,
    short_lists: str,
) -> list[str]:
    """Return notes on warnings, unusual counts, the evaluated users, the rules and the inputs.

    Doubts come first; the last three lines are who, the rules, and what was read. ``short_lists``
    is the note that `short_lists` makes.
    """
    who = _who_notes(counts, diagnostics, provenance, short_lists)
    rules = _rule_notes(counts, provenance, candidates, split)
    read = _read_notes(provenance, split)
    doubts = [f"check: {doubt}" for doubt in provenance.get("doubts", ())]
    return [*doubts, *("; ".join(filter(None, line)) for line in (who, rules, read))]


def _who_notes(
    counts: Mapping[str, int],
    diagnostics: Mapping[str, Mapping[str, float]],
    provenance: Mapping[str, Any],
    short_lists: str,
) -> list[str]:
    """Return notes on the evaluated users, and on everything unusual that was counted."""
    population = evaluated_population(provenance)
    who = f" {POPULATIONS[population].words}" if population else ""
    notes = [sample_text(counts) + who]
    if counts.get("hits") == 0:
        notes.append("no recommended item is relevant (do the item ids agree?)")
    notes += _exceptions(counts, population, _in_id_order(counts, provenance["settings"]))
    notes.append(short_lists)
    if unknown := provenance.get("unknown_names"):
        notes.append(f"of no item, such as {', '.join(map(repr, unknown))}")
    notes += [_weight_note(name, row) for name, row in diagnostics.items()]
    return notes + _population_notes(provenance)


def _weight_note(metric: str, row: Mapping[str, float]) -> str:
    """Return the note on the inverse propensity weights of a metric."""
    sizes = f"{row['effective_sample_size']:,.0f} of {row['relevant_items']:,.0f}"
    if "clip" in row:
        sizes += f", {row['clipped_share']:.1%} clipped at {row['clip']:g}"
    largest = f"largest weight {row['largest_weight_share']:.1%}"
    return f"{metric}: effective sample size {sizes}, {largest}"


def _rule_notes(
    counts: Mapping[str, int],
    provenance: Mapping[str, Any],
    candidates: str | None,
    split: Mapping[str, Any] | None,
) -> list[str]:
    """Return notes on the rules of the evaluation."""
    settings = provenance["settings"]
    rules = [_convention_rule(provenance), relevance_rule(settings, provenance["inputs"])]
    if settings.get("weights") is not None:
        rules.append(_user_weights(settings["weights"], provenance.get("unweighted")))
    for kind in ("codes", "titles"):
        if (names := settings.get(kind)) is not None:
            column = "" if names == "given" else f" (column {names!r} of the items)"
            rules.append(f"lists of {kind}{column}")
    if counts.get("empty_lists") and settings.get("empty_lists") == "present":
        rules.append("a list without an item is a list")
    if (same := settings.get("same")) is not None:
        column = "" if same == "given" else f" (column {same!r} of the items)"
        rules.append(f"items under several ids are one{column}")
    if (requests := provenance.get("requests")) is not None:
        rules += _request_rules(requests, settings)
    if candidates is not None:
        rules.append(f"candidates: {candidates}")
    if split is not None:
        rules.append(split_words(split))
    if "catalogue_items" in counts:
        rules.append(f"catalogue: {counts['catalogue_items']:,} items, {settings['catalogue']}")
    return [*rules, *plan_statements([provenance])]


def _user_weights(weights: str, unweighted: Sequence[str] | None) -> str:
    """Return the rule by which users are weighted, and the metrics that leave it out."""
    text = "users weighted" + ("" if weights == "given" else f" by column {weights!r}")
    return f"{text}, except in {', '.join(unweighted)}" if unweighted else text


def _read_notes(provenance: Mapping[str, Any], split: Mapping[str, Any] | None) -> list[str]:
    """Return notes on the columns that were read, and where facts, slices and groups are from."""
    settings, inputs = provenance["settings"], provenance["inputs"]
    read = [_order_rule(settings, inputs)]
    read += [_columns_read(role, card) for role, card in inputs.items()]
    if split is not None:
        read.append(f"split: {in_words(split)}")
    facts = provenance.get("facts", {}).items()
    read += [f"{fact}: {source}" for fact, source in facts if source.startswith("column")]
    read += [f"{by}: {source}" for by, source in provenance.get("slices", {}).items()]
    for by, made in provenance.get("groups", {}).items():
        read.append(
            f"{by}: low up to {made['low_up_to']:g}, middle up to {made['middle_up_to']:g} "
            f"({made['value']}; terciles of {made['training_users']:,} training users)"
        )
    return read


def evaluated_population(provenance: Mapping[str, Any]) -> Any:
    """Return the joint population of all metrics of a result; None if the result has none."""
    settings, rules = provenance["settings"], provenance.get("rules", {})
    population = settings.get("population")
    names = [text.partition("@")[0] for text in settings.get("metrics", ())]
    populations = {rules.get(name, {}).get("population", population) for name in names} - {None}
    return (widest_population(populations) if populations else None) or population


def _population_notes(provenance: Mapping[str, Any]) -> list[str]:
    """Return notes on metrics over a different population, or one note for all shown rows."""
    settings, rules = provenance["settings"], provenance.get("rules", {})
    if provenance.get("convention") is not None:
        return [_exception(name, rule, settings) for name, rule in rules.items()]
    others = [text for text in settings["metrics"] if text.partition("@")[0] not in rules]
    if not rules or not others:
        return []
    population = POPULATIONS[settings["population"]]
    if not population.needs_of_lists:  # all rows, for every metric
        return []
    shown = f"{', '.join(rules)} over every row that was shown"
    return [f"{shown}, the others over users {population.words}"]


def sample_text(counts: Mapping[str, int]) -> str:
    """Return how many users were evaluated, and with how many requests if they have several.

    >>> sample_text({"users": 80}), sample_text({"users": 80, "requests": 233})
    ('80 users', '233 requests of 80 users')
    """
    if "requests" in counts:
        return REQUESTS.counted(counts["requests"], counts["users"])
    return USERS.counted(counts.get("users", 0))


def _request_rules(requests: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return notes on lists by request, on their ground truth, and on the order of means."""
    truth = {
        "request": "ground truth by request",
        "user": "the ground truth of a user holds for all requests",
        "none": "",
    }[requests["truth"]]
    cells = requests.get("over_requests", [])
    others = (
        f", except {', '.join(cells)}, which {'is' if len(cells) == 1 else 'are'} over requests"
        if cells
        else ""
    )
    means = {
        "requests": "means over requests",
        "users": "means over the requests of each user, then over users",
    }
    return [
        f"lists by request (column {requests['column']!r})",
        *filter(None, [truth]),
        means[settings["mean_over"]] + others,
    ]


_SPLITS = {
    "GlobalTime": "split by time",
    "TimeWindows": "split by windows of time",
    "SuccessiveTargets": "split into successive targets",
    "TwoStage": "split by time in two stages",
    "LeaveOut": "last rows of each user tested",
    "LeavePOut": "rows of each user tested",
    "Holdout": "random split",
    "KFold": "cross-validation",
    "StratifiedKFold": "cross-validation",
    "UserHoldout": "split by users",
    "UserKFold": "cross-validation over users",
    "ItemHoldout": "split by items",
}


def split_words(card: Mapping[str, Any]) -> str:
    """Return how the ground truth was split off, in a few words.

    >>> card = {"rule": {"rule": "GlobalTime", "share": 0.2}, "found": {"moment": 1375122079},
    ...         "time": {"unit": "s"}, "parts": {"test": {"rows": 13611}}}
    >>> split_words(card)
    'split by time at 2013-07-29 (20 %, 13,611 test rows)'
    """
    rule, test = card["rule"], card["parts"].get("test", {})
    name, share = str(rule.get("rule", "split")), rule.get("share")
    moment = moment_text(card["found"].get("moment"), card.get("time") or {})
    size = [f"{100 * share:g} %"] if isinstance(share, float) else []
    size += [f"{test['rows']:,} test rows"] if "rows" in test else []
    text = _SPLITS.get(name, name) + (f" at {moment[:10]}" if moment else "")
    return text + (f" ({', '.join(size)})" if size else "")


def moment_text(value: Any, time: Mapping[str, Any]) -> str:
    """Return a moment of a split as a UTC date if its unit is known; empty without a moment."""
    ticks = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}.get(time.get("unit") or "")
    if value is None:
        return ""
    if ticks is None or not isinstance(value, int | float):
        return str(value)
    try:
        date = datetime.fromtimestamp(value / ticks, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return str(value)
    return f"{date:%Y-%m-%d %H:%M:%S} UTC"


def plan_statements(provenances: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the plan statements of results that were checked against a plan, each once."""
    return list(
        dict.fromkeys(record["plan"]["statement"] for record in provenances if "plan" in record)
    )


def short_lists(lengths: pl.Series, k: int, counts: Mapping[str, int]) -> str:
    """Return a note if most lists are shorter than the largest cut-off and no count says so.

    >>> short_lists(pl.Series([0, 3, 5, 50]), 50, {})
    '2 of 3 lists shorter than k = 50 (median length 5)'
    """
    lengths = lengths.filter(lengths > 0)
    short = int((lengths < k).sum())
    if 2 * short <= len(lengths) or short in map(
        counts.get, ("lists_shorter_than_k", "users_with_too_few_items")
    ):
        return ""
    lists = f"{short:,} of {len(lengths):,} list{'s' * (len(lengths) != 1)}"
    return f"{lists} shorter than k = {k:,} (median length {np.median(lengths):g})"


def _exceptions(
    counts: Mapping[str, int], population: str | None, in_id_order: Sequence[str]
) -> list[str]:
    """Return one note per unusual count, and a joint note for counts of the same users.

    ``in_id_order`` are the metrics that take tied items in order of id.
    """
    notes: dict[str, str] = {}
    for name, text in _count_words(counts, population).items():
        count = counts.get(name, 0)
        if not count or _is_told_elsewhere(name, counts):
            continue
        firsts, addition = SAID_WITH.get(name, ((), ""))
        first = next((first for first in firsts if counts.get(first) == count), None)
        if first is not None:
            notes[first] += addition
            continue
        notes[name] = _counted(count, text) + _within(counts, name)
        if name == "tied_rows" and in_id_order:
            notes[name] += f" (in order of id for {first_names(in_id_order)})"
    return list(notes.values())


def _count_words(counts: Mapping[str, int], population: str | None) -> dict[str, str]:
    """Return the words of every count that a note may be about."""
    words = dict(COUNT_WORDS)
    for name in counts:
        if name.startswith(("recommendations_without_", "users_without_group")):
            words[name] = _without_fact(name)
    if population is not None and POPULATIONS[population].needs_relevant:
        left_out = "users without a relevant item, left out"
        words["truth_users_without_relevant_items"] = left_out
    if "requests" in counts:  # each is counted like a user
        words = {name: re.sub(r"\busers\b", "requests", text) for name, text in words.items()}
    return words


def _is_told_elsewhere(name: str, counts: Mapping[str, int]) -> bool:
    """Return whether the note of another count tells a count: users left out, names of no item."""
    if name == "lists_without_relevant_items":
        return counts[name] <= counts.get("truth_users_without_relevant_items", 0)
    if name == "recommendations_outside_catalogue":
        of_no_item = ("codes_unknown", "codes_truncated", "titles_unknown")
        return counts[name] == sum(counts.get(each, 0) for each in of_no_item)
    return False


def _in_id_order(counts: Mapping[str, int], settings: Mapping[str, Any]) -> list[str]:
    """Return metrics that took tied items in order of id, where ties are averaged over orders."""
    if not counts.get("tied_rows") or "expected" not in settings.get("ties", ""):
        return []
    names = []
    for name in settings["metrics"]:
        with suppress(MetricError):  # metrics of a package that is not installed here
            if parse(name).takes_ties_by_id:
                names.append(name)
    return names


def _without_fact(name: str) -> str:
    """Return the words of a count of rows without a fact, with the column if named otherwise.

    >>> _without_fact("recommendations_without_categories(categories)")
    'recommendations without categories'
    >>> _without_fact("recommendations_without_categories(genres)")
    "recommendations without categories (column 'genres')"
    """
    fact, bracket, column = name.removesuffix(")").partition("(")
    fact = fact.replace("_", " ")
    return fact if not bracket or fact.endswith(f" {column}") else f"{fact} (column {column!r})"


_PARTS = {
    "recommendations_outside_catalogue": {
        "recommended_items_outside_catalogue": "distinct items",
        "lists_with_items_outside_catalogue": "lists",
    },
    "recommendations_seen_in_training": {
        "recommendations_compared_with_training": "recommendations compared"
    },
}
"""Counts that say more of another one: how many distinct items, and in how many lists."""


def _within(counts: Mapping[str, int], name: str) -> str:
    """Return the partial counts of the same rows, in brackets."""
    parts = [
        _counted(counts[part], text)
        for part, text in _PARTS.get(name, {}).items()
        if part in counts
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _counted(count: int, text: str) -> str:
    """Return a count with its text, whose first noun is singular for a count of 1.

    >>> _counted(1, "rows with tied scores"), _counted(2, "rows with tied scores")
    ('1 row with tied scores', '2 rows with tied scores')
    >>> _counted(1, "without relevant items")
    '1 without relevant items'
    """
    if count == 1 and not text.startswith("with"):
        text = re.sub(
            r"\b(list|row|place|item|recommendation|user|request|code|title)s\b",
            r"\1",
            text,
            count=1,
        )
    return f"{count:,} {text}"


def _convention_rule(provenance: Mapping[str, Any]) -> str:
    """Return whose numbers these are."""
    convention = provenance.get("convention")
    if convention is None:
        return ""
    library = convention["library"]
    rule = f"convention {convention['name']}" + (f" ({library})" if library else "")
    definitions = provenance.get("own_definitions")
    return (
        f"{rule}, except rankwise's own {', '.join(definitions.values())}" if definitions else rule
    )


def _exception(name: str, rule: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """Return the differences between a metric's rule and the common rule."""
    differs = [f"{key}={value}" for key, value in rule.items() if settings.get(key) != value]
    return f"{name}: {', '.join(differs)}"


def relevance_rule(settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Return the rule by which items are relevant, in words."""
    if "truth" not in inputs:
        return ""
    column = _columns(inputs["truth"]).get("relevance")
    threshold = settings.get("relevance_threshold")
    if (grades := settings.get("grades")) is not None:
        text = ", ".join(f"{event} {grade:g}" for event, grade in grades.items())
        return f"relevance by {column}: {text}" + (
            "" if threshold is None else f"; relevant: >= {threshold:g}"
        )
    if column is None or (threshold is None and settings.get("relevance") == "any"):
        return "relevant: every row of the ground truth"
    return f"relevant: {column} {'> 0' if threshold is None else f'>= {threshold:g}'}"


def _order_rule(settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Return the order of the lists, in words."""
    if "recommendations" not in inputs or "ties" not in settings:
        return ""
    columns = _columns(inputs["recommendations"])
    by_score = settings.get("order_by") == "score" and "score" in columns
    if "rank" in columns and not by_score:
        return f"lists ordered by rank (column {columns['rank']!r})"
    if "score" in columns:
        return f"lists ordered by score (column {columns['score']!r}), ties={settings['ties']}"
    return "lists in the order of their rows"


def _columns_read(role: str, card: Mapping[str, Any]) -> str:
    """Return the source of a table, which of its columns were read, and which were not."""
    source = card["source"] if card["source"] != role else card.get("format", "")
    named = {} if names_no_columns(str(card.get("format", ""))) else _columns(card)
    columns = [name if name == column else f"{name}={column}" for name, column in named.items()]
    text = f"{role}: {source}" + (f" ({', '.join(columns)})" if columns else "")
    unread = card.get("unread") or []
    text += (
        f", not read: {', '.join(map(repr, unread))}" if isinstance(unread, list) and unread else ""
    )
    trimmed = card.get("ids_trimmed")
    return text + (f", blanks around ids removed: {trimmed:,}" if trimmed else "")


def _columns(card: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the name of each column; none if pieces of the table differ in them."""
    columns = card.get("columns")
    return columns if isinstance(columns, Mapping) else {}
