"""``rankwise ship``: name the result that shipped last."""

from __future__ import annotations

from pathlib import Path

import click

from rankwise.cli.main import examples
from rankwise.cli.options import PATH
from rankwise.cli.systems import open_system
from rankwise.results.shipped import write_shipped


@click.command("ship", epilog=examples("rankwise ship results/popularity shipped.json"))
@click.argument("result", type=PATH)
@click.argument("file", type=PATH)
def ship_command(result: Path, file: Path) -> int:
    """Name RESULT as the one that shipped last, in FILE.

    RESULT is a folder that `rankwise evaluate --save` wrote, or a table of per-user values. FILE is
    a small JSON file with its path and its hash, and stands for it wherever a saved result does.
    `rankwise decide FILE SYSTEM --record …` moves it when the decision is ship; this command begins
    it, and moves it by hand, as after a rollback.
    """
    open_system(str(result))
    shipped = write_shipped(file, result)
    click.echo(f"{file} names {shipped.result}")
    return 0
