"""``rankwise claim``: what a published table can support."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import polars as pl

from rankwise.cli.main import examples
from rankwise.cli.options import ResultOutput, result_options, signature_options
from rankwise.errors import ColumnError
from rankwise.evidence.claim import claim


@click.command(
    "claim",
    epilog=examples(
        "rankwise claim 0.31 --users 943 --metric ndcg@10 --baseline 0.29",
        "rankwise claim 0.52 --users 100 --metric hit_rate@1 --baseline 0.50",
    ),
)
@click.argument("value")
@signature_options(
    claim,
    "users",
    "metric",
    "kind",
    "alpha",
    "sd",
    "difference_sd",
    "per",
    "most",
)
@click.option(
    "--baseline", metavar="MEAN", help="The mean of the system to compare with, as it is printed."
)
@click.option(
    "--paired/--unpaired",
    default=True,
    show_default=True,
    help="Whether both systems were evaluated on the same users.",
)
@click.option(
    "--bounds",
    nargs=2,
    type=float,
    default=None,
    metavar="LOW HIGH",
    help="The smallest and the largest value of a user.  [default: those of the metric]",
)
@result_options
def claim_command(value: str, out: ResultOutput, **options: Any) -> None:
    """Tell what a published table can support, from its means and the number of users.

    VALUE is a mean as it is printed, 0.31 or 31.0%, or a file with the columns system and value,
    whose values are read as text.
    """
    path = Path(value)
    out.write(claim(_column_of(path) if path.is_file() else value, **options))


def _column_of(path: Path) -> dict[str, str]:
    """Return the printed value of each system in a file."""
    frame = pl.read_csv(path, infer_schema=False)
    if not {"system", "value"} <= {*frame.columns}:
        raise ColumnError(
            "a table of published means has the columns system and value",
            where=str(path),
            found=", ".join(frame.columns),
        )
    return dict(frame.select("system", "value").drop_nulls().iter_rows())
