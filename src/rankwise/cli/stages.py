"""``rankwise stages``: what candidates, a ranker and the final list lose, one after the other."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    ResultOutput,
    column_option,
    result_options,
    settings_options,
    signature_options,
)
from rankwise.cli.systems import named_paths
from rankwise.evidence.stages import stages


@click.command(
    "stages",
    epilog=examples(
        "rankwise stages runs/neighbours.csv --truth split --ranked runs/random.csv",
    ),
)
@click.argument("sources", nargs=-1, required=True, metavar="[NAME=]LISTS …")
@click.option(
    "--truth", required=True, metavar="FILE", help="Ground truth, or the folder of a split."
)
@click.option("--ranked", metavar="FILE", help="The candidates in the order of the ranker.")
@click.option("--final", metavar="FILE", help="What is shown in the end.")
@click.option(
    "-m",
    "--metrics",
    multiple=True,
    default=("ndcg@10",),
    show_default=True,
    help="Metric with a cut-off; may be repeated.",
)
@click.option("--by", multiple=True, metavar="COLUMN", help="Groups of users; may be repeated.")
@click.option("--users", metavar="FILE", help="Table of users, for groups.")
@click.option("--items", metavar="FILE", help="Table of items, for slices of relevant items.")
@click.option("--train", metavar="FILE", help="Training interactions, for slices by popularity.")
@signature_options(stages, "confidence")
@settings_options("relevance_threshold")
@column_option
@result_options
@click.pass_context
def stages_command(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    truth: str,
    metrics: tuple[str, ...],
    by: tuple[str, ...],
    users: str | None,
    items: str | None,
    train: str | None,
    out: ResultOutput,
    **options: Any,
) -> None:
    """Tell what candidates, a ranker and the final list lose.

    LISTS are the candidates of one source; several sources are looked at together.
    """
    paths = named_paths(ctx, sources, str)
    tables = {"users": users, "items": items, "train": train}
    options |= {name: source for name, source in tables.items() if source is not None}
    out.write(stages(paths, truth, [*metrics], by=by, **options))
