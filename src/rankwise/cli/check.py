"""``rankwise check``: report all mistakes of a configuration file, without running it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankwise.cli.options import PATH, examples
from rankwise.cli.run import read

if TYPE_CHECKING:
    from rankwise.evaluation.config.experiment import Experiment

__all__ = ["command"]


@click.command("check", epilog=examples("rankwise check config.yaml", "rankwise check --schema"))
@click.argument("config", type=PATH, required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of such files, for editors.")
@click.pass_context
def command(ctx: click.Context, /, config: Path | None, *, schema: bool) -> None:
    """Validate the YAML file CONFIG without running it.

    Exit code 2 if it has mistakes: each is listed with its line, its key, and what was probably
    meant.
    """
    if schema == (config is not None):
        raise click.UsageError("give a CONFIG, or --schema", ctx)
    if config is None:
        from rankwise.evaluation.config.schema import json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        return
    click.echo("\n".join(_lines(read(config))))


def _lines(experiment: Experiment) -> list[str]:
    """Return what would be run, in a few lines."""
    settings = experiment.settings
    lines = [f"systems: {', '.join(experiment.systems)}"]
    lines.append(f"measures: {', '.join(map(str, settings.measures))}")
    if experiment.splitter is not None:
        lines.append(f"split: {experiment.splitter!r}")
    lines += list(experiment.notes)
    return [*lines, "no mistakes found"]
