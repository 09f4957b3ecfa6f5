"""``rankwise validate-metrics`` and ``rankwise judged``: past launches, and human labels beside a model's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.options import PATH, examples, output_options, write_out

__all__ = ["validate_metrics_command"]

confidence_option = click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Confidence level of intervals."
)


@click.command("validate-metrics", epilog=examples("rankwise validate-metrics launches.csv"))
@click.argument("launches", type=PATH)
@click.option(
    "--offline",
    multiple=True,
    metavar="METRIC",
    help="Offline metric; may be repeated.  [default: every column with a column of standard errors]",
)
@click.option("--online", default="online", show_default=True, metavar="COLUMN", help="Column of the online effects.")
@click.option(
    "--same-users/--different-users",
    default=None,
    help="Whether offline and online differences of a launch come from the same users; if so, the table has a "
    "column of covariances.  [default: the table has one]",
)
@confidence_option
@output_options
def validate_metrics_command(
    launches: Path, offline: tuple[str, ...], form: str, output: Path | None, **options: Any
) -> None:
    """Tell which offline metrics predict online effects.

    LAUNCHES has one row per past launch: columns `online` and `online_se`, and for each metric its difference,
    `METRIC_se` and `METRIC_covariance`.
    """
    from rankwise.evidence.launches import validate_metrics

    write_out(validate_metrics(str(launches), offline=list(offline) or None, **options), form, output)
