"""``rankwise leaderboard``: ranks of many systems on many tasks, and which are ties."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import ResultOutput, result_options, signature_options
from rankwise.cli.systems import open_system, read_systems
from rankwise.evidence.leaderboard import leaderboard


@click.command("leaderboard", epilog=examples("rankwise leaderboard board.csv --by borda"))
@click.argument("systems", nargs=-1, required=True, metavar="TABLE | NAME@TASK=PATH …")
@signature_options(
    leaderboard,
    "by",
    "over",
    "missing",
    "confidence",
    "n_resamples",
    "seed",
    "top",
)
@click.option("-m", "--metric", metavar="METRIC", help="Metric of results.  [default: the primary]")
@click.option(
    "--lower-is-better", is_flag=True, help="Of a table: small values are good, on every task."
)
@result_options
@click.pass_context
def leaderboard_command(
    ctx: click.Context,
    /,
    systems: tuple[str, ...],
    out: ResultOutput,
    *,
    lower_is_better: bool,
    **options: Any,
) -> None:
    """Rank many systems on many tasks, with intervals of ranks that hold together.

    TABLE is a file with the columns system, task and value, or system and a column per task.
    NAME@TASK=PATH is a system on a task: a folder that `rankwise evaluate --save` wrote, or a table
    of per-user values; of several with one name the mean counts.
    """
    source: Any = systems[0]
    if len(systems) > 1 or not Path(systems[0]).is_file():
        source = read_systems(ctx, systems, open_system)
    out.write(leaderboard(source, higher_is_better=not lower_is_better, **options))
