"""``rankwise judged``: values from few human labels and many of a model."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import ResultOutput, result_options, signature_options
from rankwise.cli.systems import name_and_path, named_paths, open_system
from rankwise.evidence.judged import judged


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
    sides = [named_paths(ctx, texts, open_system) for texts in (human, judge)]
    are_named = all(name_and_path(ctx, text)[2] for text in (*human, *judge))
    if not are_named and [len(side) for side in sides] == [1, 1]:
        sides = [{"result": next(iter(side.values()))} for side in sides]
    out.write(judged(human=sides[0], judge=sides[1], **options))
