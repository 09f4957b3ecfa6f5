"""``rankwise agreement``: whether two judgments, splits or metrics order systems alike."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import ResultOutput, metrics_option, result_options, signature_options
from rankwise.cli.systems import named_paths, open_system
from rankwise.evidence.rank_agreement import rank_agreement


@click.command(
    "agreement",
    epilog=examples("rankwise agreement results/random results/popularity -m mrr@10 -m ndcg@10"),
)
@click.argument("first", nargs=-1, required=True, metavar="[NAME=]A [NAME=]B …")
@click.option(
    "--second",
    multiple=True,
    metavar="[NAME=]RESULT",
    help="Result of a system by another judgment or split; may be repeated.  [default: the same]",
)
@metrics_option("Metric of both orders, or that of each.  [default: the primary one]")
@signature_options(rank_agreement, "missing", "confidence", "n_resamples", "seed")
@result_options
@click.pass_context
def agreement_command(
    ctx: click.Context,
    /,
    first: tuple[str, ...],
    second: tuple[str, ...],
    metrics: tuple[str, ...],
    out: ResultOutput,
    **options: Any,
) -> None:
    """Tell whether two judgments, splits or metrics order systems alike.

    Each RESULT is a folder that `rankwise evaluate --save` wrote, or a table of per-user values.
    Without `--second`, two metrics are compared.
    """
    one, other = (named_paths(ctx, texts, open_system) for texts in (first, second))
    out.write(rank_agreement(one, other or None, metrics=list(metrics) or None, **options))
