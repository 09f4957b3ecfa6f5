"""``rankwise demo``: the whole road once, on data that it makes itself."""

from __future__ import annotations

import time
from pathlib import Path

import click

__all__ = ["command"]


@click.command("demo")
@click.option("--seed", default=0, show_default=True, help="For the data and the random baseline.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    default=Path("rankwise-demo"),
    show_default=True,
    metavar="DIR",
    help="Where the results are saved.",
)
def command(seed: int, save: Path) -> None:
    """Make data, split it by time, run three baselines, evaluate and compare them."""  # fmt: skip
    from rankwise.evaluation.demo import comparison, run

    start = time.perf_counter()
    outcome = run(seed=seed, say=lambda text: click.echo(text, err=True))
    for name, result in outcome.results.items():
        result.save(save / name)
    click.echo(comparison(outcome))
    click.echo(
        f"\nSaved to {save}/ (rankwise.load('{save / 'neighbours'}') reads one back); "
        f"{time.perf_counter() - start:.1f} s in all.\n"
        "Your own files: rankwise evaluate RUN TRUTH -m ndcg@10",
        err=True,
    )
