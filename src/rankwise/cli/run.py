"""``rankwise run``: everything that a configuration file describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.options import PATH, examples

if TYPE_CHECKING:
    from rankwise.evaluation.config.execute import Evaluate
    from rankwise.evaluation.config.experiment import Experiment
    from rankwise.results.result import Result

__all__ = ["command", "read"]


@click.command("run", epilog=examples("rankwise run config.yaml", "rankwise run config.yaml -o elsewhere"))
@click.argument("config", type=PATH)
@click.option(
    "-o", "--output", type=PATH, metavar="DIR", help="The folder to write to, in place of the file's output.folder."
)
def command(config: Path, output: Path | None) -> int:
    """Run everything that the YAML file CONFIG describes.

    It names tables, systems, metrics, comparisons and outputs; paths are relative to the file. All
    results, the comparison, the report and a resolved config.yaml, which reproduces the run bit by
    bit, are written to the output folder. `rankwise init` writes a file to begin with. With a
    section `decision` the exit code is that of `rankwise decide`.
    """
    experiment = read(config, output)
    from rankwise.evaluation.config.execute import execute

    outcome = execute(
        experiment, evaluate=_engine(experiment), folder=output, say=lambda text: click.echo(text, err=True)
    )
    shown: list[Any] = [*outcome.comparisons[:1]] or [*outcome.results.values()]
    click.echo("\n\n".join(map(repr, shown)))
    for what, why in outcome.missing.items():
        click.echo(f"the report is without {what}: {why}", err=True)
    click.echo(f"written to {outcome.folder}", err=True)
    if outcome.decision is None:
        return 0
    click.echo(f"\n{outcome.decision!r}")
    return outcome.decision.exit_code


def read(config: Path, output: Path | None = None) -> Experiment:
    """Return the experiment of a file; raise if the extra ``config`` is not installed."""
    from rankwise.errors import UsageError

    try:
        from rankwise.evaluation.config.experiment import read_experiment
    except ImportError as error:
        raise UsageError(
            "configuration files need pydantic and PyYAML", found=str(error), hint='pip install "rankwise[config]"'
        ) from error
    return read_experiment(config, output=output)


def _engine(experiment: Experiment) -> Evaluate:
    """Return what evaluates: this process, or Spark in a session of this command."""
    from rankwise.evaluation.config.execute import evaluate_locally

    engine = experiment.config.engine
    if engine.name == "local":
        return evaluate_locally
    from rankwise.spark import evaluate, session

    spark = session(engine.master)

    def on_spark(run: Any, truth: Any, measures: Any, options: Mapping[str, Any], /) -> Result:
        return evaluate(run, truth, measures, spark=spark, buckets=engine.buckets, **options)

    return on_spark
