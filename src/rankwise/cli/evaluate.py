"""``rankwise evaluate``: the values of recommendations."""

from __future__ import annotations

import contextlib
import math
import operator
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.main import cli, examples
from rankwise.cli.options import (
    PATH,
    GroupedCommand,
    column_option,
    detail_of,
    detail_options,
    engine_options,
    given_options,
    metrics_option,
    named_values,
    settings_options,
    spark_options,
    summary_option,
    table_options,
    trec_output_options,
    write_out,
)
from rankwise.cli.spelling import spelling_of
from rankwise.messages import Message

if TYPE_CHECKING:
    from rankwise.evaluation.across_conventions import AcrossConventions
    from rankwise.results.result import Result


_GATE = r"^\s*(?P<metric>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[-+.\deE]+)\s*$"
_SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def _grades(
    ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float]:
    """Return the relevance of each event, from ``EVENT=GRADE``."""
    grades = named_values(
        ctx, option, texts, "EVENT=GRADE, such as purchase=3", float, at_last=True
    )
    joined = next((event for event in grades if re.search(r"=[^=,]*,", event)), None)
    if joined is not None:
        several = " ".join(
            f"--grade {part.strip()}" for part in f"{joined}={grades[joined]:g}".split(",")
        )
        raise click.BadParameter(f"every event has an option of its own: {several}", ctx, option)
    return grades


@click.command(
    "evaluate",
    cls=GroupedCommand,
    groups={
        "Metrics": "metrics cutoffs convention number",
        "Tables": "train items users reference columns codes titles same chunk_rows",
        "Relevant items": "relevance_threshold relevance grades alternatives",
        "Users": "population undefined without_list weights mean_over",
        "Lists": "ties duplicates ranks empty_lists order_by exclude_seen judged_only depth",
        "Ids and scores": "ids score_precision catalogue",
        "Groups and intervals": "by cross min_size intervals jackknife",
        "Computation": "engine master buckets threads block_size progress",
        "Output": "form output verbose quiet per_user save gates summary per_topic catalogue_size",
    },
    epilog=examples(
        "rankwise evaluate runs/neighbours.csv split -m ndcg@10 --threshold 4",
        "rankwise evaluate runs/neighbours.csv split --by activity",
        'rankwise evaluate runs/neighbours.csv split --require "ndcg@10 >= 0.05"',
    ),
)
@click.argument("run")
@click.argument("truth", required=False)
@metrics_option(
    "Metric: ndcg@10, recall@10,20, 'ndcg(gain=exponential)@10', …; may be repeated.  [default: "
    "precision, recall, ndcg, map, mrr and hit_rate at 10]"
)
@click.option(
    "-k",
    "cutoffs",
    type=click.IntRange(1),
    multiple=True,
    help="Cut-off of metrics that are given without one; may be repeated.",
)
@table_options
@settings_options()
@column_option
@click.option(
    "--chunk-rows",
    type=click.IntRange(1),
    help="Read a Parquet run in chunks of about this many rows.  [default: all at once]",
)
@engine_options
@click.option(
    "--convention-of",
    "number",
    metavar="NUMBER",
    help="Find the conventions and cut-offs that give this value, such as 0.2317.",
)
@trec_output_options
@click.option(
    "--grade",
    "grades",
    multiple=True,
    callback=_grades,
    metavar="EVENT=GRADE",
    help="Relevance of an event of TRUTH, such as purchase=3; may be repeated.",
)
@click.option(
    "--intervals",
    is_flag=True,
    help="Show a 95% confidence interval of each value in each group of --by.",
)
@detail_options
@click.option("--per-user", type=PATH, help="Write per-user values: .parquet, .csv or .json.")
@click.option("--save", type=PATH, metavar="DIR", help="Save the result in a folder.")
@click.option(
    "--require",
    "gates",
    multiple=True,
    metavar="GATE",
    help="Gate such as 'ndcg@10 >= 0.3': exit with 1 if it fails; may be repeated.",
)
@summary_option("With --require: append what holds and the table of values to a file, in Markdown.")
@click.pass_context
def evaluate_command(
    ctx: click.Context,
    /,
    run: str,
    truth: str | None,
    metrics: tuple[str, ...],
    cutoffs: tuple[int, ...],
    form: str,
    output: Path | None,
    per_topic: bool,
    catalogue_size: int | None,
    grades: dict[str, float],
    intervals: bool,
    per_user: Path | None,
    save: Path | None,
    gates: tuple[str, ...],
    summary: Path | None,
    engine: str,
    master: str | None,
    buckets: int | None,
    number: str | None,
    *,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Evaluate the recommendations in RUN against TRUTH.

    Both are files: Parquet, CSV or TSV with a header, JSON, JSON lines, MovieLens '::', RecBole
    .inter, TREC run and qrels, also compressed (gz, bz2, xz, zst, zip); '-' is standard input.
    TRUTH may also be a folder that `rankwise split` wrote: its test part, with its training part
    as --train; --train may be such a folder too. Metrics that describe lists (coverage, Gini,
    novelty, …) need no TRUTH.

    --convention NAME reproduces the values of another library; `rankwise conventions` lists the
    names, and --convention all prints the metrics under every one of them. With --convention
    trec_eval, --format trec prints the lines of trec_eval: -m takes its names and sets (official,
    all_trec, set); --threshold is its -l, --depth -M, --population judged -c, --judged-only -J, and
    --catalogue-size -N.
    """
    _check_outputs(ctx, run, truth, output, per_user, save)
    required = _parse_gates(ctx, gates, summary)
    options = _with_grades(ctx, given_options(ctx, options), grades)
    is_across = number is not None or str(options.get("convention")).lower() == "all"
    is_alone = not required and save is None and per_user is None and engine != "spark"
    if cutoffs:
        if form == "trec" or is_across:
            raise click.UsageError("-k is for -m without a cut-off, in a table of values", ctx)
        options["k"] = list(cutoffs)

    if form == "trec":
        _check_prints_lines(ctx, number, is_alone=is_alone)
        lines = _trec_lines(
            ctx, run, truth, metrics, options, per_topic=per_topic, n_items=catalogue_size
        )
        write_out(lines, form, output)
        return 0
    if per_topic or catalogue_size is not None:
        raise click.UsageError("--per-topic and --catalogue-size are of --format trec", ctx)

    if is_across:
        _check_prints_table(ctx, master, buckets, is_alone=is_alone)
        write_out(_across(ctx, run, truth, metrics, number, options), form, output)
        return 0

    _check_reads_whole_files(ctx, engine, run, truth, options)
    on_spark = spark_options(ctx, engine, master, buckets)
    result = _evaluate(ctx, run, truth, metrics, required, on_spark, options)
    if per_user is not None:
        _write_per_user(result, per_user)
    if save is not None:
        click.echo(f"saved to {result.save(save)}", err=True)

    shown = _spell_warnings(ctx, result.with_intervals() if intervals else result)
    if summary is not None:
        from rankwise.tables.storage import append_text

        append_text(summary, _summary(shown, required))
    # Last, because stdout may be full or gone.
    write_out(shown, form, output, detail_of(ctx, verbose=verbose, quiet=quiet))
    return _hold(result, required)


def _parse_gates(
    ctx: click.Context, gates: tuple[str, ...], summary: Path | None
) -> list[tuple[str, str, float]]:
    """Return the gates that values have to pass; raise for a summary without one."""
    required = [_gate(ctx, text) for text in gates]
    if summary is not None and not required:
        raise click.UsageError("--summary needs --require", ctx)
    return required


def _check_prints_lines(ctx: click.Context, number: str | None, *, is_alone: bool) -> None:
    """Raise for options that lines of trec_eval do not go with."""
    if number is not None or not is_alone:
        raise click.UsageError(
            "--format trec prints lines only: no --require, --save, --per-user or Spark", ctx
        )


def _check_prints_table(
    ctx: click.Context, master: str | None, buckets: int | None, *, is_alone: bool
) -> None:
    """Raise for options that a table of many conventions does not go with."""
    if not is_alone or master is not None or buckets is not None:
        raise click.UsageError(
            "with many conventions there is only a table: no --require, --save, --per-user or "
            "Spark",
            ctx,
        )


def _check_reads_whole_files(
    ctx: click.Context, engine: str, run: str, truth: str | None, options: dict[str, Any]
) -> None:
    """Raise if Spark is to read chunks, or standard input."""
    if engine == "spark" and ("chunk_rows" in options or "-" in (run, truth)):
        raise click.UsageError("Spark reads whole files: no --chunk-rows, no '-'", ctx)


def _with_grades(
    ctx: click.Context, options: dict[str, Any], grades: dict[str, float]
) -> dict[str, Any]:
    """Return options with the relevance of events, if any was given."""
    if not grades:
        return options
    if "relevance" in options:
        raise click.UsageError("--grade and --relevance exclude each other", ctx)
    return {**options, "relevance": grades}


def _evaluate(
    ctx: click.Context,
    run: str,
    truth: str | None,
    metrics: tuple[str, ...],
    required: list[tuple[str, str, float]],
    on_spark: dict[str, Any] | None,
    options: dict[str, Any],
) -> Result:
    """Evaluate the metrics that were asked for, and those that gates name, here or on Spark."""
    from rankwise.evaluation.evaluate import evaluate
    from rankwise.evaluation.settings import DEFAULT_METRICS

    requested = _with_gates(
        ctx, metrics or DEFAULT_METRICS, [gate[0] for gate in required], options.get("convention")
    )
    if on_spark is None:
        return evaluate(run, truth, requested, **options)
    from rankwise.spark import evaluate as evaluate_on_spark

    return evaluate_on_spark(run, truth, requested, **on_spark, **options)


def _across(
    ctx: click.Context,
    run: str,
    truth: str | None,
    metrics: tuple[str, ...],
    number: str | None,
    options: dict[str, Any],
) -> AcrossConventions:
    """Evaluate under every convention, or find the conventions that give a number."""
    from rankwise.evaluation.across_conventions import across_conventions, convention_of
    from rankwise.evaluation.settings import DEFAULT_METRICS, TableOptions

    convention = options.pop("convention", "all")
    allowed = {*TableOptions.__annotations__, "train", "items", "users", "reference"}
    for name in options:
        if name not in allowed:
            raise click.UsageError(
                f"--{name.replace('_', '-')} cannot be used with many conventions", ctx
            )
    chosen = None if convention.lower() == "all" else [convention]
    if number is None:
        return across_conventions(
            run, truth, list(metrics or DEFAULT_METRICS), conventions=chosen, **options
        )
    if len(metrics) != 1:
        raise click.UsageError("--convention-of is about one metric: -m ndcg", ctx)
    return convention_of(number, run, truth, metrics[0], conventions=chosen, **options)


def _trec_lines(
    ctx: click.Context,
    run: str,
    truth: str | None,
    measures: tuple[str, ...],
    options: dict[str, Any],
    **form: Any,
) -> str:
    """Return the lines that trec_eval would print."""
    from rankwise.convention.convention import find
    from rankwise.evaluation.trec_format import CONVENTIONS, run_name, trec_lines

    convention = options.pop("convention", None)
    if convention not in CONVENTIONS:
        raise click.UsageError(f"--format trec needs --convention {' or '.join(CONVENTIONS)}", ctx)
    if truth is None:
        raise click.UsageError("--format trec needs TRUTH, the qrels", ctx)
    return trec_lines(
        run, truth, measures, convention=find(convention), run=run_name(run), **form, **options
    )


def _spell_warnings(ctx: click.Context, result: Result) -> Result:
    """Return a result whose warnings name options as the command line does."""
    doubts = result.provenance["doubts"]
    spell = spelling_of(ctx.command, cli)
    warnings = [Message(text).spelled(spell) for text in doubts]
    return (
        result
        if warnings == doubts
        else replace(result, provenance={**result.provenance, "doubts": warnings})
    )


def _check_outputs(
    ctx: click.Context,
    run: str,
    truth: str | None,
    output: Path | None,
    per_user: Path | None,
    save: Path | None,
) -> None:
    """Raise before the evaluation if an output file or folder cannot be written."""
    from rankwise.errors import OutputError

    if per_user is not None and per_user.suffix not in (".parquet", ".csv", ".json"):
        raise click.UsageError("--per-user writes .parquet, .csv or .json", ctx)
    if run == truth == "-":
        raise click.UsageError("only one of RUN and TRUTH can be standard input", ctx)

    # A path that is too long makes Path.is_file raise; as an input it is refused where it is read.
    taken = [Path(path).resolve() for path in (run, truth) if path and os.path.isfile(path)]  # noqa: PTH113
    for path in filter(None, (output, per_user)):
        if path.resolve() in taken:
            raise OutputError("this file is read or written already", where=str(path))
        taken.append(path.resolve())
        if not path.parent.is_dir():
            raise OutputError("there is no such folder to write to", where=str(path.parent))
        if path.is_dir():
            raise OutputError("this is a folder, not a file", where=str(path))
    if save is not None and save.exists() and not save.is_dir():
        raise OutputError("this is a file, not a folder", where=str(save))


def _gate(ctx: click.Context, text: str) -> tuple[str, str, float]:
    match = re.match(_GATE, text)
    with contextlib.suppress(ValueError):
        if match is not None and math.isfinite(bound := float(match["bound"])):
            return match["metric"], match["sign"], bound
    raise click.UsageError(f"--require {text!r} does not read as 'ndcg@10 >= 0.3'", ctx)


def _with_gates(
    ctx: click.Context, requested: tuple[str, ...], required: list[str], convention: str | None
) -> list[str]:
    """Add the metrics that only a gate asks for."""
    from rankwise.convention.convention import Convention
    from rankwise.metrics.base import parse_all

    reader = Convention.resolve(convention)
    out, parsed = list(requested), list(parse_all(requested, reader))
    for text in required:
        (metric,) = parse_all(text, reader)
        if len(metric.cells) > 1:
            raise click.UsageError(
                f"--require {text!r} has several cut-offs: give each its own", ctx
            )
        if not any(set(metric.cells) <= set(one.cells) for one in parsed):
            out.append(text)
            parsed.append(metric)
    return out


def _write_per_user(result: Result, path: Path) -> None:
    from rankwise.tables.storage import new_file

    new_file(path, getattr(result.per_user, f"write_{path.suffix[1:]}"))


def _summary(result: Result, required: list[tuple[str, str, float]]) -> str:
    """Return which gates hold, those that fail first, and the values, in Markdown."""
    from rankwise.comparison.summary import join_paragraphs, verdict_line

    words = ["PASS" if _holds(result, gate) else "FAIL" for gate in required]
    lines = [
        verdict_line(word, _with_value(result, gate))
        for word, gate in zip(words, required, strict=True)
    ]
    return join_paragraphs([*sorted(lines), result.export("markdown")])


def _holds(result: Result, gate: tuple[str, str, float]) -> bool:
    """Return whether a value holds against a gate; NaN holds against nothing."""
    metric, sign, bound = gate
    return bool(_SIGNS[sign](result[metric], bound))


def _with_value(result: Result, gate: tuple[str, str, float]) -> str:
    """Return a gate and the value that is held against it."""
    metric, sign, bound = gate
    return f"{metric} = {result[metric]:.6g}, required {sign} {bound:g}"


def _hold(result: Result, required: list[tuple[str, str, float]]) -> int:
    """Hold the result against the gates; 1 if one fails."""
    failed = [gate for gate in required if not _holds(result, gate)]
    for gate in failed:
        click.echo(f"failed: {_with_value(result, gate)}", err=True)
    return int(bool(failed))
