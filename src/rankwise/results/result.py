"""The result of an evaluation: values, per-user values, and everything to reproduce them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankwise.convention.convention import Convention
from rankwise.core.arguments import check_path
from rankwise.core.saved_forms import RESULT
from rankwise.core.terminal import Format, TableView, export, finite, html, number, plain
from rankwise.errors import MetricError, MissingValueError, ParameterError, UsageError, nearest
from rankwise.metrics.base import Metric, ValueKind, parse
from rankwise.metrics.inputs import read_label
from rankwise.results.intervals import (
    IntervalMethod,
    check_clusters,
    clustered_interval,
    group_column,
    group_interval_of,
    groups_compared,
    interval_of,
    read_group_column,
    within,
)
from rankwise.results.methods import log_mlflow, log_wandb, report_result, result_plots
from rankwise.results.reuse import saved_uses
from rankwise.tables.requests import REQUEST, request_ids
from rankwise.tables.storage import write_folder
from rankwise.tables.table import Protocol, in_words, names_no_columns

if TYPE_CHECKING:
    from rankwise.stats.differences import Interval

__all__ = [
    "Result",
    "Values",
    "canonical_name",
    "footnote",
    "labelled_values",
    "listed",
    "means_of_users",
    "plan_statements",
    "result_views",
    "short_lists",
    "tidy_groups",
    "tidy_values",
    "wide_cells",
]


class Values(dict[str, float]):
    """The values of a result by name; as `Result` is a mapping, ``values()`` works as well."""

    def __call__(self) -> ValuesView[float]:
        """Return the numbers alone."""
        return super().values()


def listed(names: Sequence[str]) -> str:
    """Return the first names in one line, and how many there are."""
    return ", ".join(names[:12]) + (f", … ({len(names)} in all)" if len(names) > 12 else "")


_SCHEMA: dict[str, Any] = {
    "metric": pl.String,
    "k": pl.Int64,
    "cell": pl.String,
    "value": pl.Float64,
    "users": pl.Int64,
    "better": pl.String,
    "label": pl.String,
}
_BETTER = {True: "higher", False: "lower", None: None}


def canonical_name(name: str, names: Iterable[str], read: Callable[[str], Metric] = parse) -> str:
    """Return the canonical name of a value, such as ``"reo@10[item_group=a]"``.

    ``read`` says which metric a text names.
    """
    match = re.match(r"^(.+?)\[(\w+=.*)\]$", name, flags=re.DOTALL)
    if match is None:
        return str(read(name))
    metric, label = str(read(match[1])), read_label(match[2])
    for cell in names:
        head = f"{metric}["
        if cell.startswith(head) and read_label(cell.removeprefix(head)[:-1]) == label:
            return cell
    return f"{metric}[{match[2]}]"


def labelled_values(values: Mapping[str, float], name: str) -> list[tuple[str, float]]:
    """Return label and value of a metric at one cut-off: its own under ``""``, then its cells."""
    head, whole = f"{name}[", [("", values[name])] if name in values else []
    cells = ((cell, value) for cell, value in values.items() if cell.startswith(head))
    return whole + [(cell.removeprefix(head)[:-1], value) for cell, value in cells]


def wide_cells(cells: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    """Return one row per group of a metric with several values; an axis ``of`` names columns of one row.

    >>> wide_cells([("bin=1,of=low", 0.0), ("bin=1,of=high", 0.5)]), wide_cells([("item_group=a", 0.2)])
    ([{'bin': '1', 'low': 0.0, 'high': 0.5}], [{'item_group': 'a', 'value': 0.2}])
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for label, value in cells:
        axes = read_label(label)
        column = axes.pop("of", "value")
        rows.setdefault(tuple(axes.values()), dict(axes))[column] = value
    return list(rows.values())


def tidy_values(
    metrics: Sequence[Metric], values: Mapping[str, float], per_user: pl.DataFrame, label: str
) -> pl.DataFrame:
    """Return one row per value; ``users`` is the number of users who have one."""
    rows = []
    for row in _tidy(metrics, values, label):
        defined = not row["cell"] and row["name"] in per_user.columns
        users = int(per_user[row["name"]].is_not_nan().sum()) if defined else None
        rows.append(row | {"users": users})
    return pl.DataFrame(rows, schema=_SCHEMA)


def tidy_groups(metrics: Sequence[Metric], slices: pl.DataFrame, label: str) -> pl.DataFrame:
    """Return one row per value and group of users."""
    rows = [group | row for group in slices.to_dicts() for row in _tidy(metrics, group, label)]
    return pl.DataFrame(rows, schema=_SCHEMA | {"by": pl.String, "group": pl.String})


def _tidy(metrics: Sequence[Metric], values: Mapping[str, float], label: str) -> list[dict[str, Any]]:
    """Return one row per value; ``name`` is that of its metric at its cut-off."""
    return [
        {
            "name": name,
            "metric": str(metric @ ()),
            "k": k,
            "cell": cell or None,
            "value": value,
            "better": _BETTER[metric.higher_is_better],
            "label": label or None,
        }
        for metric in metrics
        for k, name in zip(metric.k or (None,), metric.cells, strict=True)
        for cell, value in labelled_values(values, name)
    ]


_POPULATIONS = {
    "truth": "those with a relevant item",
    "both": "those with a relevant item and a list",
    "recommended": "those with a list",
    "judged": "those in the ground truth, with or without a relevant item",
    "judged_both": "those in the ground truth, with or without a relevant item, who have a list",
    "all": "those with a relevant item or a list",
}
_COUNTS = {
    "users_without_list": "without a list",
    "users_without_relevant_items": "without relevant items",
    "lists_without_relevant_items": "lists of users without relevant items",
    "truth_users_without_relevant_items": "users of the truth without relevant items",
    "tied_rows": "rows with tied scores",
    "duplicates_dropped": "repeated rows dropped",
    "truth_duplicates_dropped": "repeated truth rows dropped",
    "truth_rows_merged": "truth rows of a user and item that has a row of a larger grade",
    "lists_with_rank_gaps": "lists with gaps in their ranks",
    "ranks_without_item": "ranks without an item, kept",
    "truth_rows_without_score": "truth rows without a score",
    "recommendations_outside_catalogue": "recommendations outside the catalogue",
    "codes_unknown": "recommended codes of no item, kept in their places",
    "codes_truncated": "recommended codes cut short, kept in their places",
    "codes_shared": "recommended codes of several items, which tie",
    "codes_repeated": "recommended codes whose items a list has already, dropped",
    "titles_unknown": "recommended titles of no item, kept in their places",
    "titles_shared": "recommended titles of several items, which tie",
    "titles_repeated": "recommended titles whose items a list has already, dropped",
    "lists_whose_scores_rise": "lists whose scores rise where their ranks fall (ranks decided)",
    "padding": "padded places",
    "recommendations_of_cold_items": "recommendations of items never seen in training",
    "users_without_history": "without a history",
    "users_without_reference": "without a reference list",
    "reference_duplicates_dropped": "repeated reference rows dropped",
    "train_rows_repeated": "repeated training rows, counted once",
    "users_model_failed_for": "for whom the model failed",
    "users_with_nothing_to_rank": "with nothing left to rank",
    "users_with_too_few_items": "with fewer items than requested",
    "users_with_too_many_items": "with more items than requested, of which the first are evaluated",
    "items_repeated": "items repeated by the model, dropped",
    "seen_items_recommended": "recommended items seen in training",
    "unjudged_items_taken_out": "items not judged, removed from lists",
    "seen_items_taken_out": "items seen in training, removed from lists",
    "truth_rows_seen_in_training": "rows of the truth seen in training, which cannot be found",
    "items_unknown": "recommended items that are unknown",
    "users_without_scores": "users of the truth without scores",
    "lists_shorter_than_k": "lists shorter than requested: too few candidates",
    "truth_rows_that_are_no_candidates": "rows of the truth that are not candidates",
    "excluded_without_scores": "excluded rows without scores",
    "candidates_without_scores": "candidates without scores",
    "candidates_repeated": "repeated candidates, ranked once",
    "users_with_fewer_negatives": "with fewer negatives than requested",
    "users_repeated": "repeated users, counted once",
    "history_rows_of_unknown_ids": "training rows of unknown users or items, left out",
    "reference_rows_of_unknown_ids": "reference rows of unknown users or items, left out",
}
_SAID_WITH = {
    "lists_without_relevant_items": (("users_without_relevant_items",), ", as many lists"),
    "truth_users_without_relevant_items": (
        ("users_without_relevant_items", "lists_without_relevant_items"),
        ", as many users of the truth",
    ),
    "users_with_too_few_items": (("users_with_nothing_to_rank",), ""),
}
"""Counts that are one fact if they are equal, and the words that the note of the first one gets."""


def result_views(
    metrics: Sequence[Metric],
    values: Mapping[str, float],
    slices: pl.DataFrame | None,
    label: str,
    notes: Sequence[str],
) -> list[TableView]:
    """Return the table of values, and that of groups of users if there is one, above the notes.

    ``label`` goes into the first heading, so that sampled candidates are never out of sight. The
    titles, which LaTeX alone has, say who was evaluated by which rules, as ``notes`` do elsewhere.
    """
    corner = f", {label}" if label else ""
    groups = [] if slices is None else slices.to_dicts()
    wide = [name for metric in metrics for name in metric.cells if _is_wide(values, name)]
    long = [metric for metric in metrics if not {*metric.cells} & {*wide}]
    views = [_value_view(long, values, f"metric{corner}")] if long or not wide else []
    views += [_group_view(groups, f"group{corner}", wide)] if groups and long else []
    views += [_wide_view(name, values, groups, corner) for name in wide]
    title = _title(notes)
    views = [replace(view, title=f"{view.title} {title}") for view in views]
    return [*views[:-1], replace(views[-1], notes=notes)]


def _title(notes: Sequence[str]) -> str:
    """Return who was evaluated and by which rules, from the notes that `footnote` made."""
    *_, who, rules, _read = notes
    return "over " + "; ".join(filter(None, (who.split(";")[0], rules))) + "."


def _value_view(metrics: Sequence[Metric], values: Mapping[str, float], corner: str) -> TableView:
    """Return one row per metric, and per cell of a metric; one column per cut-off."""
    columns: list[int | None] = [*sorted({k for metric in metrics for k in metric.k})]
    columns += [] if all(metric.k for metric in metrics) else [None]
    rows = []
    for metric in metrics:
        by_label: dict[str, dict[int | None, str]] = {}
        for k, name in zip(metric.k or (None,), metric.cells, strict=True):
            for label, value in labelled_values(values, name):
                by_label.setdefault(label, dict.fromkeys(columns, ""))[k] = number(value)
        name = str(metric @ ())
        if by_label and "" not in by_label:
            rows.append((name, *("" for _ in columns)))
        for label, texts in by_label.items():
            rows.append((f"  {label}" if label else name, *texts.values()))
    head = (corner, *("whole" if k is None else f"@{k}" for k in columns))
    return TableView(head, rows, title="Values", label="rankwise-values")


def _is_wide(values: Mapping[str, float], name: str) -> bool:
    """Whether the values of a metric are columns of a table, as those of a reliability curve are."""
    return any("of" in read_label(label) for label, _ in labelled_values(values, name) if label)


def _wide_view(name: str, values: Mapping[str, float], groups: Sequence[Mapping[str, Any]], corner: str) -> TableView:
    """Return one row per group of a metric with several values for each, over all users and over each group of them."""
    users = [("all", values), *((_group_head(row), row) for row in groups)]
    rows = [(who, row) for who, numbers in users for row in wide_cells(labelled_values(numbers, name))]
    columns = list(rows[0][1])
    texts = [
        (*([who] if groups else []), *(v if isinstance(v, str) else number(v) for v in row.values()))
        for who, row in rows
    ]
    head = (f"{name}{corner}", *columns) if groups else (f"{name}{corner}, {columns[0]}", *columns[1:])
    return TableView(head, texts, left=(0, 1) if groups else (0,), title=f"Values of {name}", label="rankwise-curve")


def _group_head(row: Mapping[str, Any]) -> str:
    return f"{row['by']}={'–' if row['group'] is None else row['group']}"


def _group_view(groups: Sequence[Mapping[str, Any]], corner: str, wide: Sequence[str]) -> TableView:
    """Return one row per value, one column per group of users; values of ``wide`` metrics have tables of their own."""
    heads = map(_group_head, groups)
    rows = [("users", *(f"{row['users']:,}" for row in groups))]
    apart = tuple(f"{name}[" for name in wide)
    names = [name for name in groups[0] if name not in ("by", "group", "users", "label")]
    names = [name for name in names if not name.startswith(apart)]
    rows += [(name, *(number(row[name]) for row in groups)) for name in names]
    by = ", ".join(dict.fromkeys(row["by"] for row in groups))
    return TableView((corner, *heads), rows, title=f"Values by {by}", label="rankwise-groups")


def footnote(
    counts: Mapping[str, int],
    diagnostics: Mapping[str, Mapping[str, float]],
    provenance: Mapping[str, Any],
    candidates: str | None,
    split: str,
    short_lists: str,
) -> list[str]:
    """Return who was evaluated by which rules, what was out of the ordinary, and what was read.

    Doubts come first; the last three lines are who, the rules, and what was read. ``short_lists``
    is the note that `short_lists` makes.
    """
    settings, inputs = provenance["settings"], provenance["inputs"]
    population = settings.get("population")
    who = f": {_POPULATIONS[population]} (population={population})" if population else ""
    people = f"{counts['users']:,} user{'s' * (counts['users'] != 1)}"
    if "requests" in counts:
        people = f"{counts['requests']:,} request{'s' * (counts['requests'] != 1)} of {people}"
    notes = [people + who]
    if counts.get("hits") == 0:
        notes.append("no recommended item is relevant (do the item ids agree?)")
    notes += [*_exceptions(counts), short_lists]
    if unknown := provenance.get("unknown_names"):
        notes.append(f"of no item, such as {', '.join(map(repr, unknown))}")
    for name, row in diagnostics.items():
        sizes = f"{row['effective_sample_size']:,.0f} of {row['relevant_items']:,.0f}"
        sizes += f", {row['clipped_share']:.1%} clipped at {row['clip']:g}" if "clip" in row else ""
        largest = f"largest weight {row['largest_weight_share']:.1%}"
        notes.append(f"{name}: effective sample size {sizes}, {largest}")
    rules = [_convention_rule(provenance), _relevance_rule(settings, inputs), _order_rule(settings, inputs)]
    notes += [_exception(name, rule, settings) for name, rule in provenance.get("rules", {}).items()]
    if settings.get("weights") is not None:
        weights, unweighted = settings["weights"], provenance.get("unweighted")
        text = "users weighted" + ("" if weights == "given" else f" by column {weights!r}")
        rules.append(text + (f", except in {', '.join(unweighted)}" if unweighted else ""))
    named = {kind: settings[kind] for kind in ("codes", "titles") if settings.get(kind) is not None}
    columns = {kind: "" if names == "given" else f" (column {names!r} of the items)" for kind, names in named.items()}
    rules += [f"lists of {kind}{column}" for kind, column in columns.items()]
    if (requests := provenance.get("requests")) is not None:
        rules += _request_rules(requests, settings)
    if candidates is not None:
        rules.append(f"candidates: {candidates}")
    if split:
        rules.append(f"split: {split}")
    if "catalogue_items" in counts:
        rules.append(f"catalogue: {counts['catalogue_items']:,} items, {settings['catalogue']}")
    read = [_columns_read(role, card) for role, card in inputs.items()]
    facts = provenance.get("facts", {}).items()
    read += [f"{fact}: {source}" for fact, source in facts if source.startswith("column")]
    read += [
        f"{by}: low up to {made['low_up_to']:g}, middle up to {made['middle_up_to']:g} "
        f"({made['value']}; terciles of {made['training_users']:,} training users)"
        for by, made in provenance.get("groups", {}).items()
    ]
    rules += plan_statements([provenance])
    doubts = [f"check: {doubt}" for doubt in provenance.get("doubts", ())]
    return [*doubts, *("; ".join(filter(None, line)) for line in (notes, rules, read))]


def _request_rules(requests: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return whose lists and ground truth were evaluated, and what means are over."""
    truth = {
        "request": "ground truth by request",
        "user": "the ground truth of a user holds for all requests",
        "none": "",
    }[requests["truth"]]
    cells = requests.get("over_requests", [])
    others = f", except {', '.join(cells)}, which {'is' if len(cells) == 1 else 'are'} over requests" if cells else ""
    means = {"requests": "means over requests", "users": "means over the requests of each user, then over users"}
    return [
        f"lists by request (column {requests['column']!r})",
        *filter(None, [truth]),
        means[settings["mean_over"]] + others,
    ]


def means_of_users(per_user: pl.DataFrame, cells: Sequence[str], *within: str) -> pl.DataFrame:
    """Return one row per user: the mean of each value over the user's requests for which it is defined."""
    groups = [name for name in per_user.columns if read_group_column(name) is not None]
    return per_user.group_by(*within, "user", maintain_order=True).agg(
        pl.col("n_relevant", "list_length").sum(),
        pl.col(groups).first(),
        *(pl.col(cell).fill_nan(None).mean().fill_null(float("nan")) for cell in cells),
    )


def plan_statements(provenances: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return whether results are as planned, or what differs, for those that were held against a plan."""
    return list(dict.fromkeys(record["plan"]["statement"] for record in provenances if "plan" in record))


def short_lists(lengths: pl.Series, k: int, counts: Mapping[str, int]) -> str:
    """Return a note on lists shorter than the largest cut-off if most are; empty if few are, or a count says it.

    >>> short_lists(pl.Series([0, 3, 5, 50]), 50, {})
    '2 of 3 lists shorter than k = 50 (median length 5)'
    """
    lengths = lengths.filter(lengths > 0)
    short = int((lengths < k).sum())
    if 2 * short <= len(lengths) or short in map(counts.get, ("lists_shorter_than_k", "users_with_too_few_items")):
        return ""
    lists = f"{short:,} of {len(lengths):,} list{'s' * (len(lengths) != 1)}"
    return f"{lists} shorter than k = {k:,} (median length {np.median(lengths):g})"


def _exceptions(counts: Mapping[str, int]) -> list[str]:
    """Return a note for each count of something out of the ordinary; one for counts of the same users."""
    words = _COUNTS | {
        name: name.replace("_", " ")
        for name in counts
        if name.startswith(("recommendations_without_", "users_without_group"))
    }
    notes: dict[str, str] = {}
    names_of_no_item = sum(counts.get(name, 0) for name in ("codes_unknown", "codes_truncated", "titles_unknown"))
    for name, text in words.items():
        if name == "recommendations_outside_catalogue" and counts.get(name) == names_of_no_item:
            continue  # they are told below
        if count := counts.get(name):
            firsts, addition = _SAID_WITH.get(name, ((), ""))
            first = next((first for first in firsts if counts.get(first) == count), None)
            if first is None:
                notes[name] = _counted(count, text) + _within(counts, name)
            else:
                notes[first] += addition
    return list(notes.values())


_PARTS = {
    "recommendations_outside_catalogue": {
        "recommended_items_outside_catalogue": "distinct items",
        "lists_with_items_outside_catalogue": "lists",
    }
}
"""Counts that say more of another one: how many distinct items, and in how many lists."""


def _within(counts: Mapping[str, int], name: str) -> str:
    """Return what else was counted of the same rows, in brackets."""
    parts = [_counted(counts[part], text) for part, text in _PARTS.get(name, {}).items() if part in counts]
    return f" ({', '.join(parts)})" if parts else ""


def _counted(count: int, text: str) -> str:
    """Return a number of things, of one thing in the singular; of users that have many, as it is.

    >>> _counted(1, "rows with tied scores"), _counted(2, "rows with tied scores")
    ('1 row with tied scores', '2 rows with tied scores')
    >>> _counted(1, "without relevant items")
    '1 without relevant items'
    """
    if count == 1 and not text.startswith("with"):
        text = re.sub(r"\b(list|row|place|item|recommendation|user|code|title)s\b", r"\1", text, count=1)
    return f"{count:,} {text}"


def _convention_rule(provenance: Mapping[str, Any]) -> str:
    """Return whose numbers these are."""
    convention = provenance.get("convention")
    if convention is None:
        return ""
    library = convention["library"]
    rule = f"convention {convention['name']}" + (f" ({library})" if library else "")
    definitions = provenance.get("own_definitions")
    return f"{rule}, except rankwise's own {', '.join(definitions.values())}" if definitions else rule


def _exception(name: str, rule: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    """Return the differences between a metric's rule and the common rule."""
    differs = [f"{key}={value}" for key, value in rule.items() if settings.get(key) != value]
    return f"{name}: {', '.join(differs)}"


def _relevance_rule(settings: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """Return the rule by which items are relevant, in words."""
    if "truth" not in inputs:
        return ""
    column = _columns(inputs["truth"]).get("relevance")
    threshold = settings.get("relevance_threshold")
    if (grades := settings.get("grades")) is not None:
        text = ", ".join(f"{event} {grade:g}" for event, grade in grades.items())
        return f"relevance by {column}: {text}" + ("" if threshold is None else f"; relevant: >= {threshold:g}")
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
    text += f", not read: {', '.join(map(repr, unread))}" if isinstance(unread, list) and unread else ""
    trimmed = card.get("ids_trimmed")
    return text + (f", blanks around ids removed: {trimmed:,}" if trimmed else "")


def _columns(card: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the name of each column; none if pieces of the table differ in them."""
    columns = card.get("columns")
    return columns if isinstance(columns, Mapping) else {}


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, float]):
    """The result of an evaluation: a mapping of metric names to values, with per-user values.

    Its keys are canonical names, ``"ndcg@10"``; a value is also found by any alias of its metric,
    and under a convention by its names there. Two results are equal if they are the same object.

    Attributes
    ----------
    metrics : tuple of Metric
        The metrics that were evaluated.
    values : dict of str to float, also callable
        The value of every metric at every cut-off, ``{"ndcg@10": 0.31, …}``, and of each cell of a
        metric that has several values, ``{"reo@10[item_group=a]": 0.2, …}``.
    per_user : polars.DataFrame
        One row per user, in order of id: ``user``, ``n_relevant``, ``list_length``, the groups of
        ``by`` as ``group(country)``, and one column for every value that is defined per user; NaN
        where it is undefined.
    counts : dict of str to int
        Numbers of users, rows, ties, duplicates, …: nothing is dropped without being counted.
    slices : polars.DataFrame or None
        One row per group of users, if ``by`` was given.
    provenance : dict
        Versions, settings, metrics with all parameters, inputs with columns and hashes, date.
    diagnostics : dict of str to dict of str to float
        For debiased metrics: effective sample size, largest weight, clip.
    replicates : polars.DataFrame or None
        With ``jackknife``, every value computed without each group of users.
    sliced : polars.DataFrame or None
        With slices of relevant items, such as ``by="item:genre"``: per-user values in each, with columns ``by`` and
        ``group``.
    kinds : mapping of str to str
        How each value is aggregated: ``"mean"`` over users, ``"weighted mean"``, ``"sum"``,
        ``"pooled"`` over users, over ``"all lists"``, ``"composed"`` of other values, ``"groups"``.

    Examples
    --------
    >>> import rankwise as rw
    >>> result = rw.evaluate({"ann": [1, 3, 5, 7, 9]}, {"ann": {1, 5, 10}}, ["p@5", "ndcg@5"])
    >>> result["precision@5"], result["nDCG@5"]
    (0.4, 0.7039)
    >>> result.scores["metric"].to_list()
    ['precision', 'ndcg']
    >>> dict(result), "map@5" in result
    ({'precision@5': 0.4, 'ndcg@5': 0.7039}, False)
    """

    metrics: tuple[Metric, ...]
    values: Values = field()
    per_user: pl.DataFrame
    counts: dict[str, int]
    slices: pl.DataFrame | None
    provenance: dict[str, Any]
    diagnostics: dict[str, dict[str, float]] = field(default_factory=dict)
    replicates: pl.DataFrame | None = None
    sliced: pl.DataFrame | None = None
    kinds: Mapping[str, ValueKind] = field(default_factory=dict)

    @property
    def protocol(self) -> Protocol | None:
        """The candidate sets from which the lists were ranked; None if unknown."""
        saved = self.provenance.get("candidates")
        return None if saved is None else Protocol.of(saved)

    @cached_property
    def convention(self) -> Convention | None:
        """The convention under which metrics were evaluated; None: rankwise's defaults."""
        saved = self.provenance.get("convention")
        return None if saved is None else Convention.of(saved)

    @property
    def split(self) -> dict[str, Any] | None:
        """The card of the split whose test part is the ground truth; None if unknown."""
        return self.provenance.get("split")

    @property
    def tested_on(self) -> str:
        """The split of the ground truth, described on one line; empty if unknown."""
        return "" if self.split is None else in_words(self.split)

    @property
    def label(self) -> str:
        """The label of values over sampled candidates, in every display; empty for others."""
        return "" if self.protocol is None else self.protocol.label

    def __getitem__(self, metric: str | Metric) -> float:
        """Return one value: ``result["ndcg@10"]``, under any name that the metric has.

        A cell is ``result["reo@10[item_group=a]"]``.

        Raises
        ------
        MissingValueError
            If the result has no such value; it is a `MetricError` and a `KeyError`.
        """
        return self.values[self.cell(metric)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def cell(self, metric: str | Metric) -> str:
        """Return the key of a value in ``values``, given any name of its metric."""
        name = str(metric)
        if name in self.values:
            return name
        try:
            by_text = None if isinstance(metric, Metric) else self.convention
            name = canonical_name(name, self.values, parse if by_text is None else by_text.parse)
        except UsageError as error:
            raise MissingValueError(error.what, where=error.where, found=error.found, hint=error.hint) from error
        if name not in self.values:
            cells = [cell for cell in self.values if cell.startswith(f"{name}[")]
            raise MissingValueError(
                f"{metric} has several values" if cells else f"{metric} was not evaluated",
                found=listed(cells or list(self.values)),
                hint=f"take one of them, or result.table({name!r})" if cells else nearest(name, self.values),
            )
        return name

    def direction(self, cell: str) -> bool | None:
        """Return whether a higher value is better; None if neither direction is.

        The direction is that of the value: lower is better for the spread of recall over groups.
        """
        metrics = (metric for metric in self.metrics if cell in metric.cells)
        return next((metric.higher_is_better for metric in metrics), None)

    def definition_of(self, cell: str) -> str | None:
        """Return whose definition a value follows: the convention's name, or ``"rankwise"``; None if unknown.

        Metrics that a convention does not have follow rankwise's own definition.
        """
        convention = self.provenance["settings"].get("convention")
        if convention in (None, "default"):
            return convention and "rankwise"
        definitions = self.provenance.get("own_definitions", {})
        names = (str(m) for m in self.metrics if any(cell == c or cell.startswith(f"{c}[") for c in m.cells))
        return next(("rankwise" if name in definitions else convention for name in names), None)

    @property
    def has_requests(self) -> bool:
        """Whether lists belong to requests of users, of whom means count each request alike."""
        return REQUEST in self.per_user.columns and self.provenance["settings"].get("mean_over") != "users"

    @cached_property
    def units(self) -> pl.DataFrame:
        """One row per unit that means are over, with an id of its own in ``user``; `per_user`, if users have one list.

        Of requests the id is that of user and request, and ``group(user)`` the user, who is the cluster of them. With
        ``mean_over="users"`` rows are users, with their means over requests.
        """
        return self._as_units(self.per_user)

    def _as_units(self, per_user: pl.DataFrame, *within: str) -> pl.DataFrame:
        """Return rows of users, or of their requests, as rows of units; ``within`` each group of some columns."""
        if REQUEST not in per_user.columns:
            return per_user
        if not self.has_requests:
            cells = [cell for cell in self.values if cell in per_user.columns]
            return means_of_users(per_user, cells, *within)
        of_user = pl.col("user").cast(pl.String).alias(group_column("user"))
        return per_user.with_columns(of_user, user=request_ids(per_user)).drop(REQUEST)

    @property
    def sliced_units(self) -> pl.DataFrame | None:
        """`sliced` with one row per slice and unit; None without slices of relevant items."""
        return None if self.sliced is None else self._as_units(self.sliced, "by", "group")

    def units_within(self, by: str, group: object) -> pl.DataFrame:
        """Return the units of a group of users, or of a slice of relevant items."""
        if self.sliced is None or by not in self.sliced["by"]:
            return within(self.units, by, group)
        assert self.slices is not None
        names = self.slices.filter(pl.col("by") == by)["group"].to_list()
        name = None if group is None else str(group)
        inside = self.sliced.filter(pl.col("by") == by, pl.col("group").eq_missing(name)).drop("by", "group")
        if name not in names:
            raise ParameterError(
                f"there is no slice {group!r} of {by!r}",
                found=", ".join(map(str, names[:12])),
                hint=nearest(str(group), [str(other) for other in names]),
            )
        return self._as_units(inside)

    def slice_intervals(self, metric: str | Metric, *, confidence: float = 0.95) -> pl.DataFrame:
        """Return a metric in every group with its confidence interval: ``by, group, users, value, low, high``.

        Groups are those of `slices`, in their order. Intervals are those of `interval`, of each group alone.

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3, 5] for user in range(30)}
        >>> items = {"item": [0, 1, 2, 5], "genre": ["a", "b", "b", "b"]}
        >>> truth = {user: {0, 5} for user in range(30)}
        >>> result = rw.evaluate(lists, truth, "recall@2", items=items, by="item:genre")
        >>> result.slice_intervals("recall@2").select("group", "value", "low", "high").rows()
        [('a', 0.3333, 0.1729, 0.5281), ('b', 1.0, 0.8843, 1.0)]
        """
        cell = self.cell(metric)
        if self.slices is None:
            raise MetricError("the result has no groups", hint="evaluate with by=")
        schema = {"by": pl.String, "group": pl.String, "users": pl.Int64}
        schema |= dict.fromkeys(("value", "low", "high"), pl.Float64)
        rows = []
        for row in self.slices.select("by", "group", "users", value=cell).iter_rows(named=True):
            low = high = math.nan
            if row["value"] == row["value"] and self.is_mean_of_users(cell):
                interval = self.interval(cell, confidence=confidence, by=row["by"], group=row["group"])
                low, high = interval.low, interval.high
            rows.append({**row, "low": low, "high": high})
        return pl.DataFrame(rows, schema=schema)

    def is_mean_of_users(self, cell: str) -> bool:
        """Return whether a value is the unweighted mean of the per-user values."""
        if self.kinds.get(cell) != "mean":
            return False
        # With undefined="nan" a single user without relevant items leaves no mean.
        return not math.isnan(self.values[cell]) or self.per_user[cell].is_nan().all()

    def interval(
        self,
        metric: str | Metric,
        *,
        confidence: float = 0.95,
        method: IntervalMethod = "auto",
        n_resamples: int = 10_000,
        seed: int = 0,
        by: str | None = None,
        group: object = None,
        clusters: str | None = None,
    ) -> Interval:
        """Return the confidence interval of a value, with users or their clusters as the random sample.

        Parameters
        ----------
        metric : str or Metric
            The metric at one cut-off.
        confidence : float, default=0.95
            The confidence level.
        method : str, default="auto"
            For per-user means: ``"bounded"``, which holds for any distribution on the range of the
            metric, ``"t"``, a bootstrap (``"studentised"``, ``"bca"``, ``"percentile"``,
            ``"basic"``), or ``"auto"``: t from 1,000 users; below, bounded, or studentised for
            metrics without bounds. With 30 users of whom 5 % have a hit, t and BCa cover the mean
            in 76 % of samples at a nominal 95 %, the bounded interval in 99 % or more. For other values
            (coverage, Gini, entropy, rates of groups of items, pooled ones) only ``"jackknife"`` is
            valid, which needs ``rankwise.evaluate(…, jackknife=64)``. For gaps between groups of
            users only ``"auto"``: simultaneous intervals of all pairs of groups, which need each
            user's value (the metric itself, evaluated too) and group (``by=``).
        n_resamples, seed : int, default=10_000, 0
            Number of bootstrap resamples, and their random seed.
        by, group : str, optional
            One of the groups of users in ``slices``: the column that was passed as ``by``, and the
            group, None for users without one. By default the interval is that of all users.
        clusters : str, optional
            A column of the users table, as for ``by``, whose groups are the sampling units, because
            users of a group are not independent: households, or the person behind several sessions.
            For per-user means, with ``"auto"`` or ``"t"``: the interval of `stats.clustered`.

        Examples
        --------
        >>> import rankwise as rw
        >>> lists = {user: [user % 3] for user in range(30)}
        >>> result = rw.evaluate(lists, {user: {0} for user in range(30)}, "recall@1")
        >>> interval = result.interval("recall@1", method="t")
        >>> interval.low, interval.high
        (0.1543, 0.5124)
        >>> users = {"user": range(30), "country": ["AT", "DE"] * 15}
        >>> result = rw.evaluate(lists, {user: {0} for user in lists}, users=users, by="country")
        >>> interval = result.interval("recall@10", by="country", group="AT", method="t")
        >>> interval.estimate, interval.n
        (0.3333, 15)
        >>> users = {"user": range(30), "household": [user // 2 for user in range(30)]}
        >>> result = rw.evaluate(lists, {user: {0} for user in lists}, users=users, by="household")
        >>> interval = result.interval("recall@10", clusters="household")
        >>> interval.method, interval.n
        ('clustered t', 15)
        """
        cell = self.cell(metric)
        if by is None and group is not None:
            raise ParameterError("group= needs by=, the column of the groups", found=f"group={group!r}")
        users = self.units if by is None else self.units_within(by, group)
        user_values = users[cell] if self.is_mean_of_users(cell) else None
        if by is not None and user_values is None:
            raise MetricError(f"{cell} is not a mean over users, so a group of users has no interval")
        check_clusters(clusters)
        if clusters is None and self.has_requests and user_values is not None:
            clusters = "user"
        if clusters is not None:
            if user_values is None:
                raise MetricError(
                    f"{cell} is not a mean over users, so it has no interval over clusters",
                    found=f"clusters={clusters!r}",
                    hint="without clusters= the jackknife treats users as independent",
                )
            return clustered_interval(cell, users, clusters, confidence, method, self.metrics)
        compared = groups_compared(self.metrics, cell)
        if compared is not None:
            value = self.values[cell]
            return group_interval_of(compared, cell, value, self.units, confidence, method, n_resamples, seed)
        return interval_of(
            cell, self.values[cell], user_values, self.replicates, confidence, method, n_resamples, seed, self.metrics
        )

    def table(self, metric: str | Metric, *, by: str | None = None) -> pl.DataFrame:
        """Return a metric that has several values as a table: its groups, and ``value``.

        A reliability curve has one row per ``bin``, with ``low``, ``high``, ``rows``, ``predicted`` and ``observed``.

        Parameters
        ----------
        metric : str or Metric
            The metric at one cut-off.
        by : str, optional
            A column of groups of users that was passed as ``by``: the values of each group, with a first column
            ``group``. By default those of all users.

        Examples
        --------
        >>> import rankwise as rw
        >>> items = {"item": [1, 2], "group": ["a", "b"]}
        >>> result = rw.evaluate({"ann": [1]}, {"ann": {1, 2}}, "reo@1", items=items)
        >>> result.table("reo@1").rows()
        [('a', 1.0), ('b', 0.0)]
        """
        name = str(metric if isinstance(metric, Metric) else parse(metric))
        users = [({}, self.values)] if by is None else [({"group": row["group"]}, row) for row in self._groups(by)]
        rows = [
            who | row
            for who, values in users
            for row in wide_cells(cell for cell in labelled_values(values, name) if cell[0])
        ]
        if not rows:
            raise MetricError(
                f"{metric} has no cells",
                found=listed([cell for cell in self.values if cell.endswith("]")]) or "no cells",
                hint="result[...] gives its value" if name in self.values else None,
            )
        return pl.DataFrame(rows, infer_schema_length=None)

    def _groups(self, by: str) -> list[dict[str, Any]]:
        """Return the values of each group of users by a column."""
        columns = [] if self.slices is None else self.slices["by"].unique(maintain_order=True).to_list()
        if self.slices is None or by not in columns:
            raise ParameterError(
                f"the result has no groups of users by {by!r}",
                found=", ".join(columns) or "no groups",
                hint=nearest(by, columns) or f"evaluate with users= and by={by!r}",
            )
        return self.slices.filter(pl.col("by") == by).to_dicts()

    def cells(self, metric: Metric, at: int) -> list[tuple[str, float]]:
        """Return the labels and values of a metric at its ``at``-th cut-off."""
        return labelled_values(self.values, metric.cells[at])

    @cached_property
    def scores(self) -> pl.DataFrame:
        """One row per value: ``metric, k, cell, value, users, better, label``.

        ``cell`` is null for a metric with one value; ``users`` is the number of users with a value;
        ``label`` tells how candidates were sampled, and is null otherwise.
        """
        return tidy_values(self.metrics, self.values, self.per_user, self.label)

    def _long_table(self) -> pl.DataFrame:
        """Return one row per value, those of groups of users below, and whose definition each follows."""
        table = self.scores
        if self.slices is not None:
            groups = tidy_groups(self.metrics, self.slices, self.label)
            table = pl.concat([table, groups], how="diagonal")
        definitions = [
            (str(metric @ ()), k, self.definition_of(cell))
            for metric in self.metrics
            for k, cell in zip(metric.k or (None,), metric.cells, strict=True)
        ]
        schema = {"metric": pl.String, "k": pl.Int64, "definition_of": pl.String}
        by = pl.DataFrame(definitions, schema=schema, orient="row")
        return table.join(by, on=["metric", "k"], how="left", nulls_equal=True, maintain_order="left")

    @property
    def notes(self) -> list[str]:
        """The evaluated users, the options that differ from defaults, warnings, and the inputs."""
        candidates = None if self.protocol is None else self.label or self.protocol.candidates
        short = self._short_lists()
        return footnote(self.counts, self.diagnostics, self.provenance, candidates, self.tested_on, short)

    def _short_lists(self) -> str:
        """Return the note on lists shorter than the largest cut-off; empty without per-user values here."""
        users: pl.DataFrame | None = self.__dict__.get("per_user")  # those in Spark are not collected for a note
        cutoffs = [k for metric in self.metrics for k in metric.k]
        if users is None or "list_length" not in users.columns or not cutoffs:
            return ""
        return short_lists(users["list_length"], max(cutoffs), self.counts)

    def _views(self) -> list[TableView]:
        return result_views(self.metrics, self.values, self.slices, self.label, self.notes)

    def __repr__(self) -> str:
        return plain(*self._views())

    def _repr_html_(self) -> str:
        return html(*self._views())

    def to_dict(self) -> dict[str, Any]:
        """Return everything except the per-user table as plain values, ready for JSON.

        NaN becomes None, and infinity ``"inf"``, because JSON has neither.
        """
        data: dict[str, Any] = finite(
            {
                RESULT.key: RESULT.version,
                "label": self.label,
                "values": self.values,
                "kinds": self.kinds,
                "counts": self.counts,
                "slices": None if self.slices is None else self.slices.to_dicts(),
                "diagnostics": self.diagnostics,
                "provenance": self.provenance,
            }
        )
        return data

    def export(self, format: Format) -> str:  # noqa: A002
        """Return the scores as text.

        Parameters
        ----------
        format : {"json", "csv", "markdown", "latex"}
            JSON also holds counts and provenance. CSV has the columns of `scores`, and
            ``definition_of``: the convention, or ``rankwise`` for metrics that it does not have.
            LaTeX has one ``table`` of values, labelled ``tab:rankwise-values``, and one of groups;
            it needs the package booktabs.
        """
        return export(format, self.to_dict, self._long_table, self._views)

    def save(self, folder: str | Path) -> Path:
        """Save the result in a folder, atomically; `rankwise.load` reads it.

        ``result.json`` names ``per_user-….parquet``, and with ``jackknife``
        ``replicates-….parquet``, with their hashes. A reader finds this result or the one that it
        replaces, even while several processes save; tables of older results are removed.

        Raises
        ------
        OutputError
            If the folder cannot be written; an older result in it is left unchanged.
        """
        path = check_path("folder", folder)
        frames = {"per_user": self.per_user, "replicates": self.replicates, "sliced": self.sliced}
        content = self.to_dict()
        content["provenance"] |= saved_uses(path, self.provenance, self.per_user)
        write_folder(path, content, {n: f for n, f in frames.items() if f is not None})
        return path

    plot = cached_property(result_plots)
    report = report_result
    log_mlflow = log_mlflow
    log_wandb = log_wandb
