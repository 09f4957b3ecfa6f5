"""``rankwise validate-metrics``: which offline metrics predict online effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    PATH,
    ResultOutput,
    result_options,
    signature_options,
)
from rankwise.evidence.launches import validate_metrics


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
