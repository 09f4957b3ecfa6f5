"""``rankwise nulls``: how much of a system's value is personal, and what shortcuts score."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

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
from rankwise.evidence.nulls import Shortcut, nulls


@click.command(
    "nulls",
    epilog=examples(
        "rankwise nulls runs/neighbours.csv --truth split --baseline recent",
    ),
)
@click.argument("lists", nargs=-1, required=True, metavar="[NAME=]LISTS …")
@click.option(
    "--truth", required=True, metavar="FILE", help="Ground truth, or the folder of a split."
)
@click.option("-m", "--metric", default="ndcg@10", show_default=True, help="Metric with a cut-off.")
@click.option("--train", metavar="FILE", help="Training interactions.  [default: of the split]")
@click.option(
    "--baseline",
    "baselines",
    multiple=True,
    type=click.Choice([*get_args(Shortcut)]),
    default=("popularity", "recent", "random"),
    show_default=True,
    help="Shortcut to compare with; may be repeated.",
)
@signature_options(nulls, "window", "others", "confidence", "seed")
@settings_options("relevance_threshold")
@column_option
@result_options
@click.pass_context
def nulls_command(
    ctx: click.Context,
    /,
    lists: tuple[str, ...],
    truth: str,
    metric: str,
    baselines: tuple[str, ...],
    out: ResultOutput,
    **options: Any,
) -> None:
    """Tell how much of a system's value is personal, and whether a shortcut does as well.

    LISTS are the recommendation lists of a system; several systems are shown one after the other.
    """
    paths = named_paths(ctx, lists, str)
    source = _split(truth) if Path(truth).is_dir() else truth
    out.write(nulls(paths, source, metric, baselines=baselines, **options))


def _split(folder: str) -> Any:
    """Return the split in a folder, with its training part."""
    from rankwise.splits.reading import read

    return read(folder)
