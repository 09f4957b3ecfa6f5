"""``rankwise demo``: an end-to-end demo on synthetic data."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import click

from rankwise.cli.options import PATH, examples

__all__ = ["NEXT", "command"]

NEXT = (
    "rankwise evaluate runs/neighbours.csv split -m ndcg@10 --threshold 4",
    "rankwise compare results/popularity results/neighbours -m ndcg@10",
    "rankwise audit split",
)
"""What to try in the folder that the demo leaves."""


@click.command("demo", epilog=examples("rankwise demo --seed 1 --save other"))
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="For the data and the random baseline.",
)
@click.option(
    "--save",
    "folder",
    type=PATH,
    default=Path("rankwise-demo"),
    show_default=True,
    metavar="DIR",
    help="Where the data, the split, the runs and the results are saved.",
)
def command(seed: int, folder: Path) -> None:
    """Make synthetic data, split it by time, and evaluate and compare three baselines."""
    from rankwise.evaluation.demo import comparison, run, save

    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    outcome = run(seed=seed, say=lambda text: click.echo(text, err=True))
    save(outcome, folder)
    click.echo(comparison(outcome))
    commands = "".join(f"\n  {line}" for line in (f"cd {shlex.quote(str(folder))}", *NEXT))
    click.echo(
        f"\nSaved to {folder}/: interactions, items and users, the split, three runs and their "
        f"results; {time.perf_counter() - start:.1f} s in all. Try next:{commands}",
        err=True,
    )
