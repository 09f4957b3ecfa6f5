"""``rankwise evaluate``: two files in, a table of measures out."""

from __future__ import annotations

import operator
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.options import (
    column_option,
    format_for,
    format_option,
    output_option,
    write_out,
)

if TYPE_CHECKING:
    from rankwise.result import Result

__all__ = ["command"]

_GATE = re.compile(r"^\s*(?P<measure>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<bound>[-+.\deE]+)\s*$")
_SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_FILE = click.Path(path_type=Path)


@click.command("evaluate")
@click.argument("run")
@click.argument("truth")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="ndcg@10, recall@10,20, 'ndcg(gain=exponential)@10', …; may be repeated.",
)
@click.option(
    "--train", metavar="FILE", help="Training interactions: popularity, histories, catalogue."
)
@click.option(
    "--items", metavar="FILE", help="The catalogue, with categories, features or groups of items."
)
@click.option("--users", metavar="FILE", help="A table of users: groups, --by, --weights.")
@click.option("--baseline", metavar="FILE", help="The lists of another run, to compare with.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Values for every group of users too.")
@click.option("--weights", metavar="COLUMN", help="A column of the users with their weights.")
@click.option(
    "--jackknife",
    type=click.IntRange(2),
    metavar="GROUPS",
    help="Also without each of so many groups of users, for intervals of coverage, Gini, …",
)
@click.option("--threshold", type=float, help="The least relevance that counts as relevant.")
@click.option(
    "--population",
    type=click.Choice(["truth", "both", "recommended", "all"]),
    default="truth",
    show_default=True,
    help="Which users count.",
)
@click.option(
    "--undefined",
    type=click.Choice(["skip", "zero", "nan"]),
    default="skip",
    show_default=True,
    help="Users without relevant items.",
)
@click.option(
    "--ties",
    type=click.Choice(["input", "expected", "item", "item_desc", "optimistic", "pessimistic"]),
    help="Equal scores.  [default: expected where scores order]",
)
@click.option(
    "--exclude-seen", is_flag=True, help="Take items of --train out of their users' lists."
)
@click.option(
    "--warm-and-cold", is_flag=True, help="Also for users and items with and without training."
)
@click.option(
    "--duplicates",
    type=click.Choice(["error", "first"]),
    default="error",
    show_default=True,
    help="An item twice in one list.",
)
@column_option
@click.option("--chunk-rows", type=click.IntRange(1), help="Read a Parquet run in such pieces.")
@click.option("--threads", type=click.IntRange(1), help="Threads to use.  [default: all]")
@format_option
@output_option
@click.option("--per-user", type=_FILE, help="Every user's values, .parquet, .csv or .json.")
@click.option("--save", type=_FILE, metavar="DIR", help="Save the whole result in a folder.")
@click.option(
    "--require",
    "gates",
    multiple=True,
    metavar="GATE",
    help="'ndcg@10 >= 0.3': exit 1 if it does not hold; may be repeated.",
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    run: str,
    truth: str,
    measures: tuple[str, ...],
    format_: str | None,
    output: Path | None,
    per_user: Path | None,
    save: Path | None,
    gates: tuple[str, ...],
    threshold: float | None,
    **options: Any,
) -> int:
    """Evaluate the recommendations in RUN against TRUTH.

    Both are files: Parquet, CSV or TSV with a header (also .gz), JSON lines, MovieLens '::',
    RecBole .inter, TREC run and qrels; '-' is standard input. TRUTH may also be a folder that
    `rankwise split` wrote: its test part, with its training part as --train.
    """  # fmt: skip
    _check_outputs(ctx, run, truth, output, per_user, save)
    form = format_for(ctx, format_, output)
    from rankwise.evaluation import DEFAULT_MEASURES, evaluate

    required = [_gate(ctx, text) for text in gates]
    asked = _with_gates(list(measures) or list(DEFAULT_MEASURES), [g[0] for g in required])
    result = evaluate(run, truth, asked, relevance_threshold=threshold, **options)
    write_out(result, form, output)
    if per_user is not None:
        _write_per_user(result, per_user)
    if save is not None:
        click.echo(f"saved to {result.save(save)}", err=True)
    return _hold(result, required)


def _check_outputs(
    ctx: click.Context,
    /,
    run: str,
    truth: str,
    output: Path | None,
    per_user: Path | None,
    save: Path | None,
) -> None:
    """Refuse before any work what could not be written after it."""  # fmt: skip
    from rankwise.errors import OutputError

    if run == truth == "-":
        raise click.UsageError("only one of RUN and TRUTH can be standard input", ctx)
    if per_user is not None and per_user.suffix not in (".parquet", ".csv", ".json"):
        raise click.UsageError("--per-user writes .parquet, .csv or .json", ctx)
    taken = [path.resolve() for path in (Path(run), Path(truth)) if path.is_file()]
    for path in (output, per_user):
        if path is not None and path.resolve() in taken:
            raise OutputError("this file is read or written already", where=str(path))
        taken += [] if path is None else [path.resolve()]
        if path is not None and not path.parent.is_dir():
            raise OutputError("there is no such folder to write to", where=str(path.parent))
        if path is not None and path.is_dir():
            raise OutputError("this is a folder, not a file", where=str(path))
    if save is not None and save.exists() and not save.is_dir():
        raise OutputError("this is a file, not a folder", where=str(save))


def _gate(ctx: click.Context, text: str) -> tuple[str, str, float]:
    found = _GATE.match(text)
    try:
        if found is not None:
            return found["measure"], found["sign"], float(found["bound"])
    except ValueError:
        pass
    raise click.UsageError(f"--require {text!r} does not read as 'ndcg@10 >= 0.3'", ctx)


def _with_gates(asked: list[str], required: list[str]) -> list[Any]:
    """Add the measures that only a gate asks for."""
    from rankwise.measures.parsing import parse, parse_all

    out = list(parse_all(asked))
    for text in required:
        measure = parse(text)
        if not any(set(measure.cells) <= set(one.cells) for one in out):
            out.append(measure)
    return out


def _write_per_user(result: Result, path: Path) -> None:
    from rankwise.io.writing import new_file

    frame = result.per_user
    if path.suffix == ".json":
        new_file(path, frame.write_json)
    else:
        new_file(path, frame.write_csv if path.suffix == ".csv" else frame.write_parquet)


def _hold(result: Result, required: list[tuple[str, str, float]]) -> int:
    """Hold the result against the gates; 1 if one fails."""
    failed = 0
    for measure, sign, bound in required:
        value = result[measure]
        if not _SIGNS[sign](value, bound):  # NaN holds against nothing
            failed = 1
            click.echo(f"failed: {measure} = {value:.6g}, required {sign} {bound:g}", err=True)
    return failed
