"""``rankwise conventions`` and ``rankwise explain``: conventions, and why two of them differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    column_option,
    given_options,
    output_options,
    settings_options,
    table_options,
    write_out,
)


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
