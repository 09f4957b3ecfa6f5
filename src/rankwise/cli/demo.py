"""``rankwise demo``: an end-to-end demo on synthetic data."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankwise.cli.options import PATH, examples

if TYPE_CHECKING:
    from rankwise.evaluation.demo import Outcome
    from rankwise.results.comparison import Comparison

__all__ = ["NEXT", "command"]

NEXT = (
    "rankwise evaluate runs/neighbours.csv split -m ndcg@10 --threshold 4",
    "rankwise compare results/popularity results/neighbours -m ndcg@10",
    "rankwise audit split",
    "rankwise run config.yaml",
)
"""What to try in the folder that the demo leaves."""


@click.command("demo", epilog=examples("rankwise demo --seed 1 --save other"))
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the data and of the random baseline."
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
    """Make synthetic data, split it by time, and evaluate, compare and report three baselines."""
    from rankwise.evaluation import demo
    from rankwise.results.display.verdict import verdict_sentences

    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    outcome = demo.run(seed=seed, say=lambda text: click.echo(text, err=True))
    demo.save(outcome, folder)
    comparison = demo.compared(outcome)
    click.echo(demo.tables(outcome, comparison))
    click.echo("\n" + "\n".join(verdict_sentences(comparison.table, comparison.settings)))
    configured, page = _configured(folder), _reported(folder, outcome, comparison)
    extras = (", a configuration file" if configured else "") + page
    tried = [line for line in NEXT if configured or not line.startswith("rankwise run")]
    commands = "".join(f"\n  {line}" for line in (f"cd {shlex.quote(str(folder))}", *tried))
    click.echo(
        f"\nSaved to {folder}/: interactions, items and users, the split, three runs and their "
        f"results{extras}; {time.perf_counter() - start:.1f} s in all. Try next:{commands}",
        err=True,
    )


def _configured(folder: Path) -> bool:
    """Write a configuration file, and return whether the libraries for it are installed."""
    from rankwise.evaluation import demo

    try:
        demo.configuration(folder)
    except ImportError:
        click.echo('no configuration file: pip install "rankwise[config]"', err=True)
        return False
    return True


def _reported(folder: Path, outcome: Outcome, comparison: Comparison) -> str:
    """Write the report, and return what is said of it; nothing without the libraries for it."""
    from rankwise.errors import UsageError
    from rankwise.evaluation import demo

    try:
        page = demo.page(outcome, comparison).save(folder / "report.html")
    except UsageError as error:
        click.echo(f"no report: {error.hint}", err=True)
        return ""
    return f", and the report; open {page} in a browser"
