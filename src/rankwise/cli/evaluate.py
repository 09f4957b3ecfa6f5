"""``rankwise evaluate`` and ``rankwise explain``, and the lists of metrics and conventions."""

from __future__ import annotations

import contextlib
import json
import math
import operator
import os
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.main import cli, examples, in_options
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
    output_options,
    settings_options,
    spark_options,
    table_options,
    table_or_json,
    trec_output_options,
    write_out,
)
from rankwise.core.terminal import terminal_width

if TYPE_CHECKING:
    from rankwise.evaluation.across_conventions import AcrossConventions
    from rankwise.metrics.description import Description
    from rankwise.results.result import Result

_UNLIMITED = 10_000  # columns: where there is no terminal, each metric has one line
_PAGE = 80  # columns of a definition where there is no terminal


@click.command(
    "metrics",
    epilog=examples(
        "rankwise metrics", "rankwise metrics ndcg", "rankwise metrics 'ndcg(gain=exponential)@10'"
    ),
)
@click.argument("name", required=False)
@table_or_json
def metrics_command(name: str | None, form: str) -> None:
    """List the metrics by family, describe those of the family NAME, or define the metric NAME."""
    from rankwise.metrics.description import Description, every_description

    family = [entry for entry in every_description() if entry.cls.family == name]
    if family:  # also that of a module of another package
        shown = (
            json.dumps([entry.as_dict() for entry in family], indent=2)
            if form == "json"
            else listing(family)
        )
        click.echo(shown)
    elif name is not None:
        from rankwise.metrics.base import parse

        description = Description(type(parse(name)))
        click.echo(json.dumps(description.as_dict()) if form == "json" else definition(description))
    elif form == "json":
        click.echo(json.dumps([entry.as_dict() for entry in every_description()], indent=2))
    else:
        click.echo(names_by_family(every_description()))


def names_by_family(every: list[Description]) -> str:
    """Return the names of all metrics, a paragraph per family."""
    from rankwise.core.terminal import PAGE

    width = terminal_width() or PAGE
    by_family: dict[str, list[str]] = {}
    for description in every:
        by_family.setdefault(description.cls.family, []).append(description.cls.name)
    room = max(map(len, by_family)) + 2
    lines = [
        textwrap.fill(
            " ".join(names), width, initial_indent=f"{family:{room}}", subsequent_indent=" " * room
        )
        for family, names in by_family.items()
    ]
    return "\n".join(
        [*lines, "", "One family, or one metric: rankwise metrics accuracy, rankwise metrics ndcg"]
    )


def listing(every: list[Description]) -> str:
    """Return one line per metric, wrapped in a terminal."""
    from rankwise.metrics.base import FAMILIES

    width = terminal_width()
    formatter = click.HelpFormatter(width=width or _UNLIMITED)
    for family in dict.fromkeys(description.cls.family for description in every):
        members = (description for description in every if description.cls.family == family)
        with formatter.section(FAMILIES.get(family, family)):
            rows = []
            for one in members:
                needs = f"; needs {', '.join(one.needs)}" if one.needs else ""
                rows.append(
                    (
                        one.cls.name + one.cutoff,
                        f"{one.summary} {one.range}, {one.direction}{needs}.",
                    )
                )
            formatter.write_dl(rows, col_max=30 if width else _UNLIMITED)
    return formatter.getvalue().strip("\n")


def definition(description: Description) -> str:
    """Return the definition of a metric as plain text, no wider than the terminal."""
    formatter = click.HelpFormatter(width=terminal_width() or _PAGE)
    sections = description.sections
    formatter.write(f"{description.cls.name}\n")
    for paragraph in sections[""].split("\n\n"):
        formatter.write_paragraph()
        if paragraph.startswith(".. math::"):
            for line in plain_formula(paragraph.removeprefix(".. math::")).split("\n"):
                filled = textwrap.fill(
                    line, formatter.width, initial_indent="    ", subsequent_indent="        "
                )
                formatter.write(f"{filled}\n")
        else:
            _write_paragraph(formatter, plain_text(paragraph))
    formatter.write_paragraph()
    formatter.write_dl(_facts(description))
    if description.parameters:
        with formatter.section("Parameters"):
            parameters = description.parameters
            texts = [
                (p.name, f"{p.values}; default {p.default}. {plain_text(p.text)}")
                for p in parameters
            ]
            formatter.write_dl(texts)
    for title in ("Notes", "References"):
        if title in sections:
            with formatter.section(title):
                _write_paragraph(formatter, plain_text(sections[title]))
    if "Examples" in sections:
        formatter.write(f"\nExamples:\n{sections['Examples']}\n")
    return formatter.getvalue().rstrip("\n")


def _write_paragraph(formatter: click.HelpFormatter, text: str) -> None:
    indent = " " * formatter.current_indent
    lines = textwrap.fill(
        " ".join(text.split()),
        formatter.width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    formatter.write(f"{lines}\n")


def _facts(description: Description) -> list[tuple[str, str]]:
    """Return the properties of a metric, and its spelling on the command line and in Python."""
    from rankwise.metrics.base import FAMILIES

    cls = description.cls
    at = "" if cls.cutoff == "none" else "@10"
    call = f"{cls.__module__.split('.')[0]}.{cls.__name__}()" + (" @ 10" if at else "")
    cutoffs = {
        "required": "required",
        "optional": "optional: without it, the whole list",
        "none": "none",
    }
    facts = {
        "also called": ", ".join(cls.aliases),
        "family": FAMILIES.get(cls.family, cls.family),
        "cut-off k": cutoffs[cls.cutoff],
        "needs": ", ".join(["recommendations", "truth", *description.needs]),
        "command line": f"rankwise evaluate RUN TRUTH -m {cls.name}{at}",
        "Python": f'"{cls.name}{at}", or {call}',
        "plain definition": description.plain,
    }
    return [(name, text) for name, text in facts.items() if text]


@click.command(
    "conventions", epilog=examples("rankwise conventions", "rankwise conventions recbole")
)
@click.argument("name", required=False)
def conventions_command(name: str | None) -> int:
    """List the conventions, or every choice of the one called NAME.

    A convention is a named set of choices that reproduces a library's values: how nDCG is defined,
    which users are evaluated, how ties are broken. `rankwise evaluate --convention NAME` uses it.
    """
    from rankwise.convention import convention
    from rankwise.core.terminal import plain

    if name is None:
        click.echo(plain(convention.listing(list(convention.conventions().values()))))
    else:
        click.echo(plain(*convention.convention_views(convention.find(name))))
    return 0


@click.command(
    "explain",
    epilog=examples(
        "rankwise explain runs/neighbours.csv split -m ndcg@10 --between default ranx",
        "rankwise explain runs/neighbours.csv split -m mrr --between ranx trec_eval",
    ),
)
@click.argument("run")
@click.argument("truth")
@click.option("-m", "--metric", required=True, metavar="METRIC", help="One metric, such as map@10.")
@click.option(
    "--between",
    nargs=2,
    required=True,
    metavar="CONVENTION CONVENTION",
    help="The two conventions; `rankwise conventions` lists them.",
)
@table_options
@settings_options("relevance_threshold", "threads")
@column_option
@output_options
@click.pass_context
def explain_command(
    ctx: click.Context,
    /,
    run: str,
    truth: str,
    metric: str,
    between: tuple[str, str],
    form: str,
    output: Path | None,
    **options: Any,
) -> int:
    """Explain why METRIC of RUN differs between two conventions, choice by choice.

    The metric is evaluated under both, and the choices in which they differ are switched one at a
    time, in all orders. The effect of a choice is the mean change when it is switched (its Shapley
    value), so that effects add up to the difference.
    """
    from rankwise.evaluation.explain import explain

    explanation = explain(run, truth, metric, *between, **given_options(ctx, options))
    write_out(explanation, form, output)
    return 0


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
        "Tables": "train items users reference columns codes titles chunk_rows",
        "Relevant items": "relevance_threshold relevance grades",
        "Users": "population undefined without_list weights mean_over",
        "Lists": "ties duplicates ranks order_by exclude_seen judged_only depth",
        "Ids and scores": "ids score_precision catalogue",
        "Groups and intervals": "by cross min_size intervals jackknife",
        "Computation": "engine master buckets threads block_size progress",
        "Output": "form output verbose quiet per_user save gates per_topic catalogue_size",
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
    if per_user is not None and per_user.suffix not in (".parquet", ".csv", ".json"):
        raise click.UsageError("--per-user writes .parquet, .csv or .json", ctx)
    _check_outputs(ctx, run, truth, [path for path in (output, per_user) if path], save)
    from rankwise.evaluation.evaluate import evaluate
    from rankwise.evaluation.settings import DEFAULT_METRICS

    required = [_gate(ctx, text) for text in gates]
    options = given_options(ctx, options)
    if grades and "relevance" in options:
        raise click.UsageError("--grade and --relevance exclude each other", ctx)
    options |= {"relevance": grades} if grades else {}
    if cutoffs and (
        form == "trec" or number is not None or str(options.get("convention")).lower() == "all"
    ):
        raise click.UsageError("-k is for -m without a cut-off, in a table of values", ctx)
    options |= {"k": list(cutoffs)} if cutoffs else {}
    if (per_topic or catalogue_size is not None) and form != "trec":
        raise click.UsageError("--per-topic and --catalogue-size are of --format trec", ctx)
    if form == "trec":
        if (
            number is not None
            or engine == "spark"
            or required
            or any(x is not None for x in (save, per_user))
        ):
            raise click.UsageError(
                "--format trec prints lines only: no --require, --save, --per-user or Spark", ctx
            )
        lines = _trec_lines(
            ctx, run, truth, metrics, options, per_topic=per_topic, n_items=catalogue_size
        )
        write_out(lines, form, output)
        return 0
    if number is not None or str(options.get("convention")).lower() == "all":
        if (
            engine == "spark"
            or required
            or any(x is not None for x in (save, per_user, master, buckets))
        ):
            raise click.UsageError(
                "with many conventions there is only a table: no --require, --save, --per-user or "
                "Spark",
                ctx,
            )
        write_out(_across(ctx, run, truth, metrics, number, options), form, output)
        return 0
    requested = _with_gates(
        ctx, metrics or DEFAULT_METRICS, [gate[0] for gate in required], options.get("convention")
    )
    if engine == "spark" and (options.pop("chunk_rows", None) is not None or "-" in (run, truth)):
        raise click.UsageError("Spark reads whole files: no --chunk-rows, no '-'", ctx)
    on_spark = spark_options(ctx, engine, master, buckets)
    if on_spark is not None:
        from rankwise.spark import evaluate as evaluate_on_spark

        result: Result = evaluate_on_spark(run, truth, requested, **on_spark, **options)
    else:
        result = evaluate(run, truth, requested, **options)
    if per_user is not None:
        _write_per_user(result, per_user)
    if save is not None:
        click.echo(f"saved to {result.save(save)}", err=True)
    if intervals:
        result = result.with_intervals()
    detail = detail_of(ctx, verbose=verbose, quiet=quiet)
    write_out(
        _respelled(ctx, result), form, output, detail
    )  # last, because stdout may be full or gone
    return _hold(result, required)


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


def _respelled(ctx: click.Context, result: Result) -> Result:
    """Return a result whose warnings name options as the command line does."""
    doubts = result.provenance["doubts"]
    warnings = [in_options(text, ctx.command, cli) for text in doubts]
    return (
        result
        if warnings == doubts
        else replace(result, provenance={**result.provenance, "doubts": warnings})
    )


def _check_outputs(
    ctx: click.Context, run: str, truth: str | None, outputs: list[Path], save: Path | None
) -> None:
    """Raise before the evaluation if an output file or folder cannot be written."""
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


def _hold(result: Result, required: list[tuple[str, str, float]]) -> int:
    """Hold the result against the gates; 1 if one fails."""
    failed = [
        gate for gate in required if not _SIGNS[gate[1]](result[gate[0]], gate[2])
    ]  # NaN holds against nothing
    for metric, sign, bound in failed:
        click.echo(f"failed: {metric} = {result[metric]:.6g}, required {sign} {bound:g}", err=True)
    return int(bool(failed))


_SIGN = r"\\[A-Za-z]+|\\.|\s+|\w(?<!_)|."
_SYMBOLS = {
    "sum": "Σ",
    "prod": "Π",
    "in": "∈",
    "cap": "∩",
    "cup": "∪",
    "bigcup": "∪",
    "setminus": "∖",
    "emptyset": "∅",
    "le": "≤",
    "ge": "≥",
    "neq": "≠",
    "cdot": "·",
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "left": "",
    "right": "",
    "quad": "\n",
    ",": " ",
    ";": " ",
}
_ACCENTS = {"hat": "\u0302", "bar": "\u0304"}
_OPEN, _CLOSED, _BARS = "([{", ")]}", "|"
_FACTOR = "\x00"  # stands behind a fraction, until what follows it is known


def plain_text(text: str) -> str:
    r"""Return a paragraph without the marks of reStructuredText.

    >>> plain_text(r'``"full"`` fills :math:`2^{rel} - 1`, min(k, \|R_u\|)')
    '"full" fills 2^rel - 1, min(k, |R_u|)'
    """
    text = re.sub(r":math:`([^`]*)`", lambda match: plain_formula(match[1]), text)
    return re.sub(r"\\([|*_`])", r"\1", text.replace("`", ""))


def plain_formula(latex: str) -> str:
    r"""Return a formula of LaTeX as plain text; a command that is not known becomes its name.

    What ``\quad`` keeps apart goes on lines of its own.

    >>> plain_formula(r"\frac{1}{k} \sum_{i \le k} \frac{g_i - 1}{n_{ui}}")
    '1/k · Σ_(i ≤ k) (g_i - 1)/n_ui'
    """
    text = _sequence(re.findall(_SIGN, " ".join(latex.split()))[::-1])
    text = re.sub(rf"{_FACTOR}\s*(?=[^\W_]|[√ΣΠ(|\[{{])", " · ", text).replace(_FACTOR, "")
    return "\n".join(" ".join(line.split()) for line in text.split("\n"))


def _sequence(signs: list[str]) -> str:
    """Return the text up to the end of a group; signs are taken from the end of the list."""
    text = ""
    while signs and (sign := signs.pop()) != "}":
        text += _term(sign, signs, text)
    return text


def _term(sign: str, signs: list[str], before: str) -> str:
    name = sign.removeprefix("\\")
    if sign == "{":
        return _sequence(signs)
    if sign in "_^":
        script = _argument(signs)
        bare = re.fullmatch(r"\w+|[-+]|\|[^|]*\||", script)
        return f"{sign}{script}" if bare else f"{sign}({script})"
    if sign == r"\frac":
        fraction = f"{_grouped(_argument(signs))}/{_grouped(_argument(signs))}"
        applied = re.search(r"(log(_\w+)?|ln) ?$", before)
        return f"({fraction})" if applied else fraction + _FACTOR
    if sign == r"\sqrt":
        return f"√({_argument(signs)})"
    if sign in (r"\text", r"\mathrm"):
        return _argument(signs)
    if name in _ACCENTS and name != sign:
        return _argument(signs) + _ACCENTS[name]
    return _SYMBOLS.get(name, name) if name != sign else sign


def _argument(signs: list[str]) -> str:
    """Return the text of the next group, or of the next sign if there is none."""
    while signs and signs[-1].isspace():
        signs.pop()
    return _term(signs.pop(), signs, "") if signs else ""


def _grouped(text: str) -> str:
    """Return a part of a fraction, in parentheses if there is more than one factor."""
    depth, bars = 0, 0
    for sign in text:
        depth += (sign in _OPEN) - (sign in _CLOSED)
        bars ^= sign == _BARS
        if sign in " /" and not depth and not bars:
            return f"({text})"
    return text
