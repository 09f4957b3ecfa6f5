"""``rankwise evaluate``: two files in, a table of measures out."""

from __future__ import annotations

import contextlib
import math
import operator
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.options import (
    PATH,
    column_option,
    examples,
    given_options,
    measures_option,
    output_options,
    settings_options,
    table_options,
    write_out,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.results.across_conventions import AcrossConventions
    from rankwise.results.result import Result

__all__ = ["command"]

_GATE = re.compile(r"^\s*(?P<measure>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[-+.\deE]+)\s*$")
_SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


@click.command(
    "evaluate",
    epilog=examples(
        "rankwise evaluate runs/neighbours.csv split -m ndcg@10 --threshold 4",
        "rankwise evaluate runs/neighbours.csv split --by activity",
        'rankwise evaluate runs/neighbours.csv split --require "ndcg@10 >= 0.05"',
    ),
)
@click.argument("run")
@click.argument("truth", required=False)
@measures_option(
    "Metric: ndcg@10, recall@10,20, 'ndcg(gain=exponential)@10', …; may be repeated.  [default: "
    "precision, recall, ndcg, map, mrr and hit_rate at 10]"
)
@table_options
@settings_options()
@column_option
@click.option(
    "--chunk-rows",
    type=click.IntRange(1),
    help="Read a Parquet run in chunks of about this many rows.  [default: all at once]",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Evaluate in this process, or on Spark, which then reads the files.",
)
@click.option("--master", metavar="URL", help="Spark's master, such as 'local[4]' or 'yarn'.")
@click.option("--buckets", type=click.IntRange(1), help="Number of buckets of users on Spark.")
@click.option(
    "--convention-of",
    "number",
    metavar="NUMBER",
    help="Find the conventions and cut-offs that give this value, such as 0.2317.",
)
@output_options
@click.option("--per-user", type=PATH, help="Write per-user values: .parquet, .csv or .json.")
@click.option("--save", type=PATH, metavar="DIR", help="Save the result in a folder.")
@click.option(
    "--require",
    "gates",
    multiple=True,
    metavar="GATE",
    help="Gate such as 'ndcg@10 >= 0.3': exit with 1 if it fails; may be repeated.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    truth: str | None,
    measures: tuple[str, ...],
    form: str,
    output: Path | None,
    per_user: Path | None,
    save: Path | None,
    gates: tuple[str, ...],
    engine: str,
    master: str | None,
    buckets: int | None,
    number: str | None,
    **options: Any,
) -> int:
    """Evaluate the recommendations in RUN against TRUTH.

    Both are files: Parquet, CSV or TSV with a header, JSON, JSON lines, MovieLens '::', RecBole
    .inter, TREC run and qrels, also compressed (gz, bz2, xz, zst, zip); '-' is standard input.
    TRUTH may also be a folder that `rankwise split` wrote: its test part, with its training part
    as --train; --train may be such a folder too. Metrics that describe lists (coverage, Gini,
    novelty, …) need no TRUTH.

    --convention NAME reproduces the values of another library; `rankwise conventions` lists the
    names, and --convention all prints the metrics under every one of them.
    """
    if per_user is not None and per_user.suffix not in (".parquet", ".csv", ".json"):
        raise click.UsageError("--per-user writes .parquet, .csv or .json", ctx)
    _check_outputs(ctx, run, truth, [path for path in (output, per_user) if path], save)
    from rankwise.evaluation.evaluate import evaluate
    from rankwise.evaluation.settings import DEFAULT_MEASURES

    required = [_gate(ctx, text) for text in gates]
    options = given_options(ctx, options)
    if number is not None or str(options.get("convention")).lower() == "all":
        outputs = [*required, save, per_user, master, buckets]
        if engine == "spark" or any(output is not None for output in outputs):
            raise click.UsageError(
                "with many conventions there is only a table: no --require, --save, --per-user or Spark", ctx
            )
        write_out(_across(ctx, run, truth, measures, number, options), form, output)
        return 0
    requested = _with_gates(
        ctx, measures or DEFAULT_MEASURES, [gate[0] for gate in required], options.get("convention")
    )
    if engine == "spark":
        if options.pop("chunk_rows", None) is not None or "-" in (run, truth):
            raise click.UsageError("Spark reads whole files: no --chunk-rows, no '-'", ctx)
        result = _on_spark(run, truth, requested, master, buckets, options)
    elif master is not None or buckets is not None:
        raise click.UsageError("--master and --buckets need --engine spark", ctx)
    else:
        result = evaluate(run, truth, requested, **options)
    if per_user is not None:
        _write_per_user(result, per_user)
    if save is not None:
        click.echo(f"saved to {result.save(save)}", err=True)
    write_out(result, form, output)  # last, because stdout may be full or gone
    return _hold(result, required)


def _across(
    ctx: click.Context,
    run: str,
    truth: str | None,
    measures: tuple[str, ...],
    number: str | None,
    options: dict[str, Any],
) -> AcrossConventions:
    """Evaluate under every convention, or find those that give a number."""
    from rankwise.evaluation.across import across_conventions, convention_of
    from rankwise.evaluation.option_sets import TableOptions
    from rankwise.evaluation.settings import DEFAULT_MEASURES

    asked = options.pop("convention", "all")
    known = {*TableOptions.__annotations__, "train", "items", "users", "baseline"}
    for name in options:
        if name not in known:
            raise click.UsageError(f"--{name.replace('_', '-')} cannot be used with many conventions", ctx)
    chosen = None if asked.lower() == "all" else [asked]
    if number is None:
        wanted = measures or DEFAULT_MEASURES
        return across_conventions(run, truth, list(wanted), conventions=chosen, **options)
    if len(measures) != 1:
        raise click.UsageError("--convention-of is about one measure: -m ndcg", ctx)
    return convention_of(number, run, truth, measures[0], conventions=chosen, **options)


def _on_spark(
    run: str, truth: str | None, measures: list[Any], master: str | None, buckets: int | None, options: dict[str, Any]
) -> Result:
    """Evaluate on Spark, in a session of this command."""
    from rankwise.errors import UsageError

    try:
        from rankwise.spark import evaluate, session
    except ImportError as error:
        raise UsageError(str(error)) from error
    return evaluate(run, truth, measures, spark=session(master), buckets=buckets, **options)


def _check_outputs(ctx: click.Context, run: str, truth: str | None, outputs: list[Path], save: Path | None) -> None:
    """Refuse before any work what could not be written after it."""
    from rankwise.errors import OutputError

    if run == truth == "-":
        raise click.UsageError("only one of RUN and TRUTH can be standard input", ctx)
    # A path that is too long makes Path.is_file raise; as an input it is refused where it is read.
    taken = [Path(path).resolve() for path in (run, truth) if path and os.path.isfile(path)]  # noqa: PTH113
    for path in outputs:
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
    match = _GATE.match(text)
    with contextlib.suppress(ValueError):
        if match is not None and math.isfinite(bound := float(match["bound"])):
            return match["measure"], match["sign"], bound
    raise click.UsageError(f"--require {text!r} does not read as 'ndcg@10 >= 0.3'", ctx)


def _with_gates(
    ctx: click.Context, requested: tuple[str, ...], required: list[str], convention: str | None
) -> list[str]:
    """Add the measures that only a gate asks for."""
    from rankwise.convention.convention import Convention
    from rankwise.measures.read import parse_all

    reader = Convention.named(convention)
    out, known = list(requested), list(parse_all(requested, reader))
    for text in required:
        (measure,) = parse_all(text, reader)
        if len(measure.cells) > 1:
            raise click.UsageError(f"--require {text!r} has several cut-offs: give each its own", ctx)
        if not any(set(measure.cells) <= set(one.cells) for one in known):
            out.append(text)
            known.append(measure)
    return out


def _write_per_user(result: Result, path: Path) -> None:
    from rankwise.tables.atomic_files import new_file

    frame = result.per_user
    writers: dict[str, Callable[[Path], Any]] = {
        ".json": frame.write_json,
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
    }
    new_file(path, writers[path.suffix])


def _hold(result: Result, required: list[tuple[str, str, float]]) -> int:
    """Hold the result against the gates; 1 if one fails."""
    failed = 0
    for measure, sign, bound in required:
        value = result[measure]
        if not _SIGNS[sign](value, bound):  # NaN holds against nothing
            failed = 1
            click.echo(f"failed: {measure} = {value:.6g}, required {sign} {bound:g}", err=True)
    return failed
