"""The commands ``rankwise run``, ``plan``, ``check``, ``init``, ``demo`` and ``inspect``."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    PATH,
    column_option,
    detail_of,
    detail_options,
    table_or_json,
    write_out,
)
from rankwise.cli.spelling import spelling_of
from rankwise.messages import marked, printable

if TYPE_CHECKING:
    from rankwise.comparison.comparison import Comparison
    from rankwise.experiments.demo import Outcome
    from rankwise.experiments.experiment import Experiment
    from rankwise.experiments.inputs import Evaluate
    from rankwise.results.result import Result

NOT_AS_PLANNED = 7
"""The exit code of a run that differs from its plan."""


@click.command(
    "run", epilog=examples("rankwise run config.yaml", "rankwise run config.yaml -o elsewhere")
)
@click.argument("config", type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="DIR",
    help="The folder to write to, in place of the file's output.folder.",
)
@click.option(
    "--plan", is_flag=True, help="Check the run against the plan that `rankwise plan` wrote."
)
@detail_options
@click.pass_context
def run_command(
    ctx: click.Context,
    /,
    config: Path,
    output: Path | None,
    *,
    plan: bool,
    verbose: bool,
    quiet: bool,
) -> int:
    """Run everything that the YAML file CONFIG describes.

    It names tables, systems, metrics, comparisons and outputs; paths are relative to the file. All
    results, the comparison, the report and a resolved config.yaml, which reproduces the run bit by
    bit, are written to the output folder. `rankwise init` writes a file to begin with. With a
    section `decision` the exit code is that of `rankwise decide`; a run that is not as planned ends
    with 7, and its decision does not ship.
    """
    detail = detail_of(ctx, verbose=verbose, quiet=quiet)
    experiment = read(config, output)
    from rankwise.experiments.run import execute

    outcome = execute(
        experiment,
        evaluate=_engine(experiment),
        folder=output,
        say=lambda text: click.echo(text, err=True),
        plan=plan,
    )
    shown = [*(outcome.comparisons[:1] or outcome.results.values()), *outcome.evidence]
    for at, each in enumerate(shown):
        if at:
            click.echo()
        write_out(each, "table", None, detail)
    for what, why in outcome.missing.items():
        click.echo(f"the report is without {what}: {why}", err=True)
    click.echo(f"written to {outcome.folder}", err=True)
    if outcome.decision is not None:
        click.echo()
        write_out(outcome.decision, "table", None, detail)
    if not outcome.is_as_planned:
        return NOT_AS_PLANNED
    code = 0 if outcome.decision is None else outcome.decision.exit_code
    return code or int(outcome.is_too_noisy)


@click.command("plan", epilog=examples("rankwise plan config.yaml"))
@click.argument("config", type=PATH)
def plan_command(config: Path) -> None:
    """Write down what the YAML file CONFIG will evaluate and compare, before there are results.

    The plan has the primary metric, margins and tests, the cards of splits, and the systems with
    the hashes of their files. It lies beside CONFIG, with the time and a digest. Then
    `rankwise run --plan` says in every output whether the run was as planned, or what differs.
    Planning again is possible, and the new plan says what has changed.
    """
    experiment = read(config)
    from rankwise.experiments.plan import plan_file, write_plan
    from rankwise.experiments.resolved import resolved

    file = plan_file(config)
    click.echo(write_plan(experiment, resolved(experiment, experiment.folder), file))
    click.echo(f"written to {file}", err=True)


def read(config: Path, output: Path | None = None) -> Experiment:
    """Return the experiment of a file; raise if the extra ``config`` is not installed."""
    from rankwise.errors import UsageError

    try:
        from rankwise.experiments.experiment import read_experiment
    except ImportError as error:
        raise UsageError(
            "configuration files need pydantic and PyYAML",
            found=str(error),
            hint='pip install "rankwise[config]"',
        ) from error
    return read_experiment(config, output=output)


def _engine(experiment: Experiment) -> Evaluate:
    """Return the function that evaluates, in this process or in a Spark session of this command."""
    from rankwise.experiments.inputs import evaluate_locally

    engine = experiment.config.engine
    if engine.name == "local":
        return evaluate_locally
    from rankwise.spark import evaluate, session

    spark = session(engine.master)

    def on_spark(run: Any, truth: Any, metrics: Any, options: Mapping[str, Any], /) -> Result:
        return evaluate(run, truth, metrics, spark=spark, buckets=engine.buckets, **options)

    return on_spark


@click.command("check", epilog=examples("rankwise check config.yaml", "rankwise check --schema"))
@click.argument("config", type=PATH, required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of such files, for editors.")
@click.pass_context
def check_command(ctx: click.Context, /, config: Path | None, *, schema: bool) -> None:
    """Validate the YAML file CONFIG without running it.

    Exit code 2 if it has mistakes: each is listed with its line, its key, and what was probably
    meant.
    """
    if schema == (config is not None):
        raise click.UsageError("give a CONFIG, or --schema", ctx)
    if config is None:
        from rankwise.experiments.schema import json_schema

        click.echo(json.dumps(json_schema(), indent=2))
        return
    experiment = read(config)
    if experiment.systems:
        click.echo(f"systems: {', '.join(experiment.systems)}")
        click.echo(f"metrics: {', '.join(map(str, experiment.settings.metrics))}")
    if experiment.config.off_policy is not None:
        click.echo(f"logged policies: {', '.join(experiment.config.off_policy.targets)}")
    if experiment.splitter is not None:
        click.echo(f"split: {experiment.splitter!r}")
    click.echo("\n".join([*experiment.notes, "no mistakes found"]))


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
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("config.yaml"),
    show_default=True,
    help="The file to write.",
)
@click.pass_context
def init_command(
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
    from rankwise.errors import OutputError, RankwiseError

    if output.exists():
        raise OutputError(
            "this file exists already", where=str(output), hint="choose another name: -o FILE"
        )
    if (truth is None) == (interactions is None):
        raise click.UsageError("give --truth, or --interactions to split", ctx)
    from rankwise.experiments.starter import write_starter

    tables = {
        "truth": truth,
        "train": train,
        "items": items,
        "users": users,
        "interactions": interactions,
    }
    schema = write_starter(
        output, runs, {r: path for r, path in tables.items() if path is not None}
    )
    try:
        read(output)
    except RankwiseError:  # which says what is wrong: the next try needs the name
        output.unlink()
        raise
    click.echo(str(output))
    click.echo(f"its schema is {schema.name}; next: rankwise run {output}", err=True)


NEXT = (
    "rankwise evaluate runs/neighbours.csv split -m ndcg@10 --threshold 4",
    "rankwise compare results/popularity results/neighbours -m ndcg@10",
    "rankwise audit split",
    "rankwise run config.yaml",
)
"""What to try in the folder that the demo leaves."""


@click.command("demo", epilog=examples("rankwise demo --seed 1 --save other"))
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the data and of the random baseline.",
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
def demo_command(seed: int, folder: Path) -> None:
    """Make synthetic data, split it by time, and evaluate, compare and report three baselines."""
    from rankwise.experiments import demo

    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)  # before the work, not after it
    outcome = demo.run(seed=seed, say=lambda text: click.echo(text, err=True))
    demo.save(outcome, folder)
    comparison = demo.compared(outcome)
    click.echo(demo.tables(outcome, comparison))
    configured = True
    try:
        demo.configuration(folder)
    except ImportError:
        click.echo('no configuration file: pip install "rankwise[config]"', err=True)
        configured = False
    extras = (", a configuration file" if configured else "") + _reported(
        folder, outcome, comparison
    )
    tried = [line for line in NEXT if configured or not line.startswith("rankwise run")]
    commands = "".join(f"\n  {line}" for line in (f"cd {shlex.quote(str(folder))}", *tried))
    click.echo(
        f"\nSaved to {folder}/: interactions, items and users, the split, three runs and their "
        f"results, past launches and labels, a log of impressions, interleaved lists{extras}; "
        f"{time.perf_counter() - start:.1f} s in all. Try next:{commands}",
        err=True,
    )


def _reported(folder: Path, outcome: Outcome, comparison: Comparison) -> str:
    """Write the report, and return a phrase on the report; empty if libraries are missing."""
    from rankwise.errors import UsageError
    from rankwise.experiments import demo

    try:
        page = demo.page(outcome, comparison).save(folder / "report.html")
    except UsageError as error:
        click.echo(f"no report: {error.hint}", err=True)
        return ""
    return f", and the report; open {page} in a browser"


@click.command(
    "inspect",
    epilog=examples(
        "rankwise inspect runs/neighbours.csv",
        "rankwise inspect results/neighbours",
        "rankwise inspect split",
    ),
)
@click.argument("path")
@column_option
@table_or_json
def inspect_command(path: str, columns: dict[str, Any], form: str) -> None:
    """Show how PATH is read: the format and columns of a file, or the content of a folder.

    For a table, the role of each column is shown as well; for what rankwise saved, what it says;
    for a split, its card.
    """
    from rankwise.core.terminal import as_json

    facts = _of_saved(Path(path)) or _of_table_or_split(path, columns)
    if form == "json":
        facts.pop("first rows", None)
        click.echo(as_json(facts), nl=False)
        return
    below = {name: facts.pop(name) for name in ("first rows", "says") if facts.get(name)}
    rows = []
    for name, lines in below.items():
        rows += [f"{name}:", *(f"  {line}" for line in lines)]
    click.echo("\n".join(map(printable, [*_table_lines(facts), *rows])))


def _table_lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    """Return facts as lines, with the lines of a group below its name."""
    lines = []
    for name, fact in facts.items():
        if isinstance(fact, dict) and fact:
            lines += [f"{indent}{name}:", *_table_lines(fact, indent + "  ")]
        else:
            text = ", ".join(map(str, fact)) if isinstance(fact, list) else fact
            lines.append(f"{indent}{name}: {'–' if text in (None, '', {}) else text}")
    return lines


_TABLES = (".csv", ".tsv", ".parquet", ".inter", ".txt", ".run", ".qrels")


def _of_saved(path: Path) -> dict[str, Any] | None:
    """Return the content of what rankwise saved; None for splits, and for what it did not save."""
    from rankwise.core.saved_forms import RESULT, SHIPPED, SPLIT
    from rankwise.errors import FileError
    from rankwise.loading import form_of, load
    from rankwise.results.shipped import read_shipped

    try:
        form = form_of(path)
    except FileError:  # the reader of tables says that nothing is there
        return None
    is_table = not path.is_dir() and path.suffix != ".json"
    if is_table or form is None or form is SPLIT:
        return None
    if form is RESULT:
        return _of_result(path)
    if form is SHIPPED:
        result = read_shipped(path).checked_result()
        return {"file": str(path), "holds": f"a {form.name}", "result": _of_result(result)}
    kind, says = "folder" if path.is_dir() else "file", str(load(path)).splitlines()
    return {kind: str(path), "holds": f"a saved {form.name}", "says": says}


def _of_table_or_split(path: str, columns: dict[str, Any]) -> dict[str, Any]:
    from rankwise.tables.files import is_table_folder
    from rankwise.tables.storage import is_folder

    is_split = is_folder(path) and not is_table_folder(path)
    return _of_folder(Path(path), columns) if is_split else _of_file(path, columns)


def _of_folder(folder: Path, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a folder: the parts of a split."""
    from rankwise.errors import FileError
    from rankwise.splits import read
    from rankwise.splits.split import Folds

    try:
        split = read(folder, columns=columns or None)
    except FileError as error:
        tables = sorted(path for path in folder.iterdir() if path.suffix in _TABLES)
        hints = [marked(error.hint)] if error.hint else []
        hints += [f"to inspect one table, pass its file, as {path}" for path in tables[:1]]
        raise FileError(
            "this folder holds neither a saved result nor a split that can be read",
            where=error.where,
            found=f"{error.what}: {error.found}",
            hint="; ".join(hints) or None,
        ) from error
    if isinstance(split, Folds):
        return {"folder": str(folder), "holds": f"{len(split)} folds", "fold 0": split[0].card}
    return {"folder": str(folder), "holds": "a split", **split.card}


def _of_result(folder: Path) -> dict[str, Any]:
    from rankwise.results.storage import load

    result = load(folder)
    provenance = result.provenance
    definitions = provenance.get("own_definitions")
    settings = {name: value for name, value in provenance["settings"].items() if name != "metrics"}
    return {
        "folder": str(folder),
        "holds": "a saved result",
        "date": provenance["date"],
        "versions": provenance["versions"],
        "users": result.counts["users"],
        "values": result.values,
        "settings": settings,
        **({"rankwise's own definitions": ", ".join(definitions.values())} if definitions else {}),
        "inputs": {
            name: f"{source['source']}, {source['rows']} rows"
            for name, source in provenance["inputs"].items()
        },
    }


def _of_file(path: str, columns: dict[str, Any]) -> dict[str, Any]:
    from rankwise.tables.files import read_file, read_parts
    from rankwise.tables.storage import is_folder

    raw = read_parts(path) if is_folder(path) else read_file(path)
    return {
        "file": raw.name,
        "format": str(raw.format),
        "rows": len(raw.frame),
        "sha256": raw.sha256,
        "columns": {name: str(dtype) for name, dtype in raw.frame.schema.items()},
        "as recommendations": _as(raw, "recommendations", columns),
        "as truth": _as(raw, "truth", columns),
        "first rows": ["  ".join(map(str, row)) for row in raw.frame.head(3).iter_rows()],
    }


def _as(raw: Any, kind: Any, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of the file as a table of one kind, or the problem that prevents reading."""
    from rankwise.errors import RankwiseError
    from rankwise.tables.columns import overrides_for
    from rankwise.tables.read import from_file

    try:
        table = from_file(raw, kind, overrides_for(columns, kind))
    except RankwiseError as error:
        ctx = click.get_current_context()
        group = ctx.find_root().command
        assert isinstance(group, click.Group)
        problem = error.spelled(spelling_of(ctx.command, group))
        return {"problem": "; ".join(line.strip() for line in str(problem).splitlines())}
    frame = table.frame
    facts: dict[str, Any] = {
        role: f"column {column!r}, {frame.schema[role]!s}" for role, column in table.columns.items()
    }
    for role in ("user", "item"):
        facts[f"{role}s"] = frame[role].n_unique()
    again = len(frame) - frame.select("user", "item").n_unique()
    facts["repeated user-item pairs"] = again
    for role in ("score", "relevance"):
        if role in frame.columns:
            facts[f"{role} from, to"] = f"{frame[role].min()!s}, {frame[role].max()!s}"
    return facts
