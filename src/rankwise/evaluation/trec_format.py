"""The output of trec_eval: its lines for a run, with the same names in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from rankwise.convention.convention import Convention
from rankwise.errors import MetricError, ParameterError, nearest
from rankwise.evaluation.evaluate import evaluate
from rankwise.messages import parameter
from rankwise.metrics.base import Metric
from rankwise.metrics.retrieval import Grade, Utility
from rankwise.results.result import Result
from rankwise.tables.formats import plain_stem, read_bytes, unpacked

CONVENTIONS = ("trec_eval", "trec_eval-9")
_OFFICIAL = (
    "runid num_q num_ret num_rel num_rel_ret map gm_map Rprec bpref recip_rank iprec_at_recall P"
)
_ALL = (
    f"{_OFFICIAL} relstring recall infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel "
    "Rndcg ndcg_cut "
    "map_cut relative_P success set_P set_relative_P set_recall set_map set_F "
    "num_nonrel_judged_ret rbp rbp_resid unj"
)
_SETS = {
    "official": _OFFICIAL,
    "all_trec": _ALL,
    "set": "runid num_q num_ret num_rel num_rel_ret utility set_P set_recall set_relative_P "
    "set_map set_F",
}
_ORDER = _ALL.replace(" G ", " G dcg ").replace(" rbp ", " yaap rbp ").split()
"""The measures in the order in which trec_eval computes and prints them."""
_TEXTS = ("runid", "relstring")
"""Measures that are no numbers."""
_ONLY_ALL = ("runid", "num_q", "gm_map", "gm_bpref")
"""Measures that are not printed for single topics."""


@dataclass(frozen=True)
class _Line:
    """A line per topic: a label, and the metric whose value is printed."""

    name: str
    label: str
    metric: Metric

    def write(self, topic: str, value: float) -> str:
        number = f"{value:.0f}" if self.name.startswith("num_") else f"{value:6.4f}"
        return f"{self.label:<22}\t{topic}\t{number}"


def trec_lines(
    recommendations: Any,
    truth: Any,
    measures: Sequence[str] = (),
    *,
    convention: Convention,
    run: str = "",
    per_topic: bool = False,
    n_items: int | None = None,
    **options: Any,
) -> str:
    """Return trec_eval's lines over all topics, after the lines per topic if ``per_topic``.

    Parameters
    ----------
    recommendations, truth : table, path or mapping
        The run and the qrels, as in `rankwise.evaluate`.
    measures : sequence of str, default=()
        Names as trec_eval has them, ``"P.5,10"``, or of a set: ``"official"`` (the default),
        ``"all_trec"``, ``"set"``.
    convention : Convention
        That of a version of trec_eval.
    run : str, default=""
        The name of the run.
    per_topic : bool, default=False
        Whether each topic has its lines.
    n_items : int, optional
        The number of documents of the collection, for ``utility``.
    **options
        As in `rankwise.evaluate`.
    """
    requested = _requested(measures or ["official"], convention)
    lines = [
        line
        for name, values in requested.items()
        for line in _lines(name, values, convention, n_items)
    ]
    length = int(float(requested.get("relstring") or 10))
    metrics = [line.metric for line in lines]
    if per_topic and "relstring" in requested and length > 0:
        metrics.append(Grade(range(1, length + 1)))

    texts = [convention.write(metric) for metric in _once(metrics)]
    result = evaluate(recommendations, truth, texts, convention=convention, **options)
    if result.has_requests:
        raise ParameterError(
            "a topic of trec_eval has one list, and these lists belong to requests of users",
            hint=f"take the request for the topic: {parameter('columns', {'user': '…'})}",
        )

    written: list[str] = []
    if per_topic:
        label = "relstring" + (f"_{requested['relstring']}" if requested.get("relstring") else "")
        for row in result.per_user.sort(pl.col("user").cast(pl.String)).to_dicts():
            written += _of_topic(requested, lines, row, label, length)
    written += _of_all(requested, lines, result, run)
    return "".join(f"{line}\n" for line in written)


def _requested(measures: Iterable[str], convention: Convention) -> dict[str, str]:
    """Return the values of each measure, empty for its own, in the order of trec_eval."""
    values: dict[str, str] = {}
    for text in measures:
        name, _, behind = text.partition(".")
        for measure in _measures_called(name, convention):
            values[measure] = values.get(measure) or behind
    return {name: values[name] for name in _ORDER if name in values}


def _measures_called(name: str, convention: Convention) -> list[str]:
    """Return the measures of a set, as far as a version has them, or the one with this name."""
    members = [
        measure
        for measure in _SETS.get(name, name).split()
        if measure in _TEXTS or convention.language.find_entry(measure) is not None
    ]
    if name in _SETS or (name in _ORDER and name in members):
        return members

    if name in members:
        convention.parse(name)  # a name that is refused says what it would be
    hint = nearest(name, [*_ORDER, *_SETS]) or "all_trec has all of them"
    raise MetricError(f"{convention.name} has no measure {name!r}", hint=hint)


def _lines(name: str, values: str, convention: Convention, n_items: int | None) -> list[_Line]:
    if name in _TEXTS:
        return []
    entry = convention.language.find_entry(name)
    assert entry is not None
    values = values or entry.values
    pairs = entry.at(values) if values else [(name, entry.metric)]
    if n_items is not None:
        pairs = [
            (label, replace(m, n_items=n_items) if isinstance(m, Utility) else m)
            for label, m in pairs
        ]
    return [_Line(name, label, metric) for label, metric in pairs]


def _once(metrics: Sequence[Metric]) -> list[Metric]:
    """Return metrics without repetitions, each with all of its cut-offs."""
    cutoffs: dict[Metric, dict[int, None]] = {}
    for metric in metrics:
        cutoffs.setdefault(metric @ () if metric.k else metric, {}).update(dict.fromkeys(metric.k))
    whole = [metric for metric in metrics if not metric.k]
    return [*dict.fromkeys(whole), *(metric @ [*ks] for metric, ks in cutoffs.items() if ks)]


def _of_topic(
    requested: dict[str, str], lines: Sequence[_Line], row: dict[str, Any], label: str, length: int
) -> list[str]:
    """Return the lines of a topic."""
    topic, out = str(row["user"]), dict[str, list[str]]()
    for line in lines:
        if line.name not in _ONLY_ALL:
            out.setdefault(line.name, []).append(line.write(topic, row[line.metric.cells[0]]))
    if "relstring" in requested:
        grades = [row[f"grade@{k}"] for k in range(1, min(length, row["list_length"]) + 1)]
        out["relstring"] = [f"{label:<22}\t{topic}\t'{''.join(map(_letter, grades))}'"]
    return [line for name in requested for line in out.get(name, [])]


def _letter(grade: float) -> str:
    """Return a grade as one letter: ``-`` outside the pool, ``.`` in the pool but not judged."""
    if math.isnan(grade):
        return "-"
    return "." if grade < 0 else ">" if grade > 9 else str(int(grade))


def _of_all(
    requested: dict[str, str], lines: Sequence[_Line], result: Result, run: str
) -> list[str]:
    """Return the lines of all topics together."""
    head = [f"{'runid':<22}\tall\t{run}"] if "runid" in requested else []
    return head + [line.write("all", result.values[line.metric.cells[0]]) for line in lines]


def run_name(source: str) -> str:
    """Return the name of a run: from the last line of a TREC run, else from the file name."""
    if source == "-":
        return "-"
    lines = unpacked(read_bytes(source), source).decode(errors="replace").splitlines()
    fields = next(
        (line.split() for line in reversed(lines) if line.strip() and not line.startswith("#")), []
    )
    return fields[5] if len(fields) > 5 else plain_stem(source)
