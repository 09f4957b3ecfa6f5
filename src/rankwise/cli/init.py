"""``rankwise init``: a commented configuration file from the files that are there."""

from __future__ import annotations

from pathlib import Path

import click

from rankwise.cli.options import PATH, examples
from rankwise.cli.run import read

__all__ = ["command"]


@click.command(
    "init",
    epilog=examples(
        "rankwise init runs/popularity.csv --truth split -o one.yaml",
        "rankwise init --interactions interactions.csv -o from-ratings.yaml",
    ),
)
@click.argument("runs", nargs=-1, metavar="[RUN …]")
@click.option("--truth", metavar="FILE", help="The ground truth, or the folder of a split.")
@click.option("--train", metavar="FILE", help="Training interactions.")
@click.option("--items", metavar="FILE", help="The catalogue of items.")
@click.option("--users", metavar="FILE", help="The table of users.")
@click.option("--interactions", metavar="FILE", help="Interactions to split, by time.")
@click.option("-o", "--output", type=PATH, default=Path("config.yaml"), show_default=True, help="The file to write.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    runs: tuple[str, ...],
    truth: str | None,
    train: str | None,
    items: str | None,
    users: str | None,
    interactions: str | None,
    output: Path,
) -> None:
    """Write a commented configuration file for the run files RUN and other tables.

    Without RUN, baselines of rankwise are evaluated. Columns are recognised as `rankwise inspect`
    does. The schema for editors is written beside the file.
    """
    from rankwise.errors import OutputError

    if output.exists():
        raise OutputError("this file exists already", where=str(output), hint="choose another name: -o FILE")
    if (truth is None) == (interactions is None):
        raise click.UsageError("give --truth, or --interactions to split", ctx)
    from rankwise.evaluation.config.starter import write_starter

    tables = {"truth": truth, "train": train, "items": items, "users": users, "interactions": interactions}
    schema = write_starter(output, runs, {r: path for r, path in tables.items() if path is not None})
    read(output)  # what is written is right, or says what is not
    click.echo(str(output))
    click.echo(f"its schema is {schema.name}; next: rankwise run {output}", err=True)
