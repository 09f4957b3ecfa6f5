"""``rankwise explain``: why two libraries give different numbers for the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.options import (
    column_option,
    examples,
    given_options,
    output_options,
    settings_options,
    table_options,
    write_out,
)

__all__ = ["command"]


@click.command(
    "explain",
    epilog=examples(
        "rankwise explain runs/neighbours.csv split -m ndcg@10 --between default ranx",
        "rankwise explain runs/neighbours.csv split -m mrr --between ranx trec_eval",
    ),
)
@click.argument("run")
@click.argument("truth")
@click.option("-m", "--measure", required=True, metavar="MEASURE", help="One metric, such as map@10.")
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
def command(
    ctx: click.Context,
    /,
    run: str,
    truth: str,
    measure: str,
    between: tuple[str, str],
    form: str,
    output: Path | None,
    **options: Any,
) -> int:
    """Explain why MEASURE of RUN differs between two conventions, choice by choice.

    The metric is evaluated under both, and the choices in which they differ are switched one at a
    time, in all orders. The effect of a choice is the mean change when it is switched (its Shapley
    value), so that effects add up to the difference.
    """
    from rankwise.evaluation.explain import explain

    explanation = explain(run, truth, measure, *between, **given_options(ctx, options))
    write_out(explanation, form, output)
    return 0
