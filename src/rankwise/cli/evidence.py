"""``rankwise validate-metrics``, ``judged`` and ``agreement``: launches, labels, rank agreement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    PATH,
    ResultOutput,
    metrics_option,
    result_options,
    signature_options,
)
from rankwise.cli.systems import named_paths
from rankwise.evidence.judged import judged
from rankwise.evidence.launches import validate_metrics
from rankwise.evidence.rank_agreement import rank_agreement


@click.command(
    "validate-metrics", epilog=examples("rankwise validate-metrics launches.csv --different-users")
)
@click.argument("launches", type=PATH)
@click.option(
    "--offline",
    multiple=True,
    metavar="METRIC",
    help="Offline metric; may be repeated.  [default: every column with a column of standard "
    "errors]",
)
@signature_options(
    validate_metrics,
    "online",
    "same_users",
    "confidence",
    same_users="--same-users/--different-users",
)
@result_options
def validate_metrics_command(
    launches: Path, offline: tuple[str, ...], out: ResultOutput, **options: Any
) -> None:
    """Tell which offline metrics predict online effects.

    LAUNCHES has one row per past launch: columns `online` and `online_se`, and for each metric its
    difference, `METRIC_se` and `METRIC_covariance`.
    """
    out.write(validate_metrics(str(launches), offline=list(offline) or None, **options))


@click.command(
    "judged",
    epilog=examples("rankwise judged --human human.csv --judge model.csv --sampled random"),
)
@click.option(
    "--human",
    multiple=True,
    required=True,
    metavar="[NAME=]RESULT",
    help="Result by human labels; may be repeated.",
)
@click.option(
    "--judge",
    multiple=True,
    required=True,
    metavar="[NAME=]RESULT",
    help="Result by the model's; may be repeated.",
)
@signature_options(judged, "sampled", "confidence")
@result_options
@click.pass_context
def judged_command(
    ctx: click.Context,
    /,
    human: tuple[str, ...],
    judge: tuple[str, ...],
    out: ResultOutput,
    **options: Any,
) -> None:
    """Estimate values from few users with human labels and many with labels of a model.

    Each RESULT is a folder that `rankwise evaluate --save` wrote, or a table of per-user values.
    Several systems need names:
    `--human a=people/a --human b=people/b --judge a=model/a --judge b=model/b`.
    """
    from rankwise.cli.systems import open_system

    sides = [named_paths(ctx, texts, open_system) for texts in (human, judge)]
    if [len(side) for side in sides] == [1, 1]:
        sides = [{"result": next(iter(side.values()))} for side in sides]
    out.write(judged(human=sides[0], judge=sides[1], **options))


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
    from rankwise.cli.systems import open_system

    one, other = (named_paths(ctx, texts, open_system) for texts in (first, second))
    out.write(rank_agreement(one, other or None, metrics=list(metrics) or None, **options))
