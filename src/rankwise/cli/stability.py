"""``rankwise stability``: the noise floor of one system, from several of its runs."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import ResultOutput, metrics_option, result_options, signature_options
from rankwise.cli.systems import name_and_path, open_system, read_systems
from rankwise.evidence.stability import stability


@click.command(
    "stability",
    epilog=examples("rankwise stability seeds -m ndcg@10 --difference 0.002"),
)
@click.argument("runs", nargs=-1, required=True, metavar="[NAME=]A [NAME=]B …")
@metrics_option("Metric, the main one first; may be repeated.  [default: all]")
@signature_options(stability, "difference", "power", "confidence", "missing", "force")
@click.option(
    "--at-most",
    type=float,
    metavar="FLOOR",
    help="Exit with 1 if a noise floor is above this number.",
)
@result_options
@click.pass_context
def stability_command(
    ctx: click.Context,
    /,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    at_most: float | None,
    out: ResultOutput,
    **options: Any,
) -> int:
    """Tell how far the same system moves from run to run while nothing is changed.

    Each run is a folder that `rankwise evaluate --save` wrote, or a table of per-user values.
    A pattern in quotation marks, a folder of such folders, or NAME=PATH given several times is one
    system; several paths without a name are runs of one system as well.
    """
    systems = read_systems(ctx, runs, open_system)
    if any(isinstance(of_system, dict) for of_system in systems.values()):
        raise click.UsageError("a noise floor is on one data set: NAME=PATH", ctx)
    are_named = any(name_and_path(ctx, text)[2] for text in runs)
    single = not are_named and not any(isinstance(own, list) for own in systems.values())
    named = {
        name: of_system if isinstance(of_system, list) else [of_system]
        for name, of_system in systems.items()
    }
    found = stability(
        list(systems.values()) if single else named, metrics=list(metrics) or None, **options
    )
    out.write(found)
    return int(at_most is not None and found.is_above(at_most))
