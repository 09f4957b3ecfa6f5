"""``rankwise compare``: systems user by user."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.gates import tell_gate, without_company
from rankwise.cli.main import cli, examples
from rankwise.cli.options import (
    PATH,
    GroupedCommand,
    column_option,
    compare_output_options,
    detail_of,
    detail_options,
    largest_loss_option,
    metrics_option,
    settings_options,
    signature_options,
    summary_option,
    write_out,
)
from rankwise.cli.spelling import spelling_of
from rankwise.cli.systems import (
    EVALUATE_COMMAND,
    name_and_path,
    open_system,
    read_seeds,
    read_systems,
)
from rankwise.comparison.compare import compare
from rankwise.comparison.gate import NotShown, gate_outcomes, interim_gate_outcomes
from rankwise.comparison.summary import gate_summary
from rankwise.messages import Message
from rankwise.tables.storage import append_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.comparison.comparison import Comparison
    from rankwise.results.result import Result


@click.command(
    "compare",
    cls=GroupedCommand,
    groups={
        "Systems": "metrics baseline truth relevance_threshold train users columns",
        "Tests": "alpha test correction margin largest_loss n_resamples seed earlier",
        "Users": "by missing clusters largest_cluster seeds noise force",
        "Gate": "gate looks not_shown summary",
        "Output": "movers form output verbose quiet save",
    },
    epilog=examples(
        "rankwise compare results/popularity results/neighbours -m ndcg@10",
        "rankwise compare results/neighbours --no-regression results/popularity",
        "rankwise compare runs/random.csv runs/popularity.csv --truth split/test.csv",
    ),
)
@click.argument("systems", nargs=-1, required=True, metavar="[NAME[@DATA]=]A [NAME[@DATA]=]B …")
@metrics_option("Metric to compare, the primary one first; may be repeated.  [default: all]")
@click.option("--truth", metavar="FILE", help="Ground truth, if the systems are run files.")
@settings_options("relevance_threshold")
@click.option("--train", metavar="FILE", help="With --truth: training interactions.")
@click.option("--users", metavar="FILE", help="With --truth: one row per user, for --by.")
@signature_options(compare, "by", "baseline")
@click.option(
    "--no-regression",
    "gate",
    metavar="FILE",
    help="Saved result or per-user table of the baseline: exit with 0 only if every system is "
    "shown "
    "to lose less than --margin on the first --metric.",
)
@click.option(
    "--looks",
    type=PATH,
    metavar="FILE",
    help="With --no-regression: record of repeated looks at growing data; decisions are then valid "
    "over all looks together. For metrics with bounds.",
)
@signature_options(
    compare,
    "alpha",
    "test",
    "correction",
    "margin",
)
@largest_loss_option
@signature_options(
    compare,
    "missing",
    "clusters",
    "largest_cluster",
    "seeds",
    "n_resamples",
    "seed",
    "earlier",
    "force",
)
@click.option(
    "--noise",
    type=PATH,
    default=None,
    metavar="DIR",
    help="Folder that `rankwise stability --save` wrote: intervals then hold for other runs, too.",
)
@click.option(
    "--not-shown",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="With --no-regression: whether too few users to show either end in exit code 5 (fail) or "
    "0 (pass).",
)
@summary_option(
    "With --no-regression: append the verdict, the table and the users that moved most to a file, "
    "in Markdown, as for $GITHUB_STEP_SUMMARY."
)
@click.option(
    "--movers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Of two systems: also print the N users that lose most, and the N that gain most; with "
    "--format, these alone.",
)
@column_option
@compare_output_options
@detail_options
@click.option(
    "--save",
    type=PATH,
    metavar="DIR",
    help="Save the comparison and its results in a folder, for `rankwise report`.",
)
@click.pass_context
def compare_command(
    ctx: click.Context,
    /,
    systems: tuple[str, ...],
    metrics: tuple[str, ...],
    truth: str | None,
    relevance_threshold: float | None,
    train: str | None,
    users: str | None,
    by: str | None,
    columns: dict[str, Any],
    baseline: str | None,
    gate: str | None,
    form: str,
    output: Path | None,
    save: Path | None,
    not_shown: NotShown,
    summary: Path | None,
    looks: Path | None,
    noise: Path | None,
    movers: int | None,
    *,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Compare systems user by user.

    Each system is a folder that `rankwise evaluate --save` wrote, a table of per-user values
    (--per-user), or with --truth a run file.

    NAME=PATH given several times, a pattern in quotation marks or a folder of such folders is one
    system with several seeds. NAME@DATA=PATH is a system on one of several data sets.

    With --no-regression the exit code is 0 only if every system is shown to lose less than the
    margin against the baseline; without a margin, only if it is shown to be better. It is 1 if a
    system is shown to be worse, and 5 if neither is shown.
    """
    groups = tuple(filter(None, (by, options["clusters"])))
    read = partial(
        _read,
        metrics=metrics,
        train=train,
        users=users,
        by=groups,
        columns=columns,
        relevance_threshold=relevance_threshold,
    )
    if noise is not None:
        options["noise"] = _open_noise(noise)

    _check_usage(ctx, gate=gate, baseline=baseline, movers=movers, looks=looks, summary=summary)
    results = read_systems(ctx, systems, partial(read, truth=truth))
    if truth is not None:
        _check_one_data_set(ctx, results)
    if gate is not None:
        seeds = read_seeds(ctx, gate, partial(_read_baseline, read=read, truth=truth))
        baseline, results = _add_baseline(gate, seeds, results)

    primary = next(iter(metrics), None)
    comparison = compare(
        results, baseline=baseline, primary=primary, by=by, metrics=list(metrics) or None, **options
    )
    if save is not None:
        click.echo(f"saved to {comparison.save(save)}", err=True)
    comparison = _spell_reasons(ctx, comparison)
    detail = detail_of(ctx, verbose=verbose, quiet=quiet)
    if movers is not None:
        lists = None if truth is None else _lists_by_name(ctx, systems)
        found = comparison.movers(n=movers, lists=lists, truth=truth, noise=options.get("noise"))
        if form == "table" and output is None:
            write_out(comparison, form, output, detail)
            click.echo()
        write_out(found, form, output)
        return 0

    if gate is None:
        write_out(comparison, form, output, detail)
        return 0

    outcomes = (
        gate_outcomes(comparison) if looks is None else interim_gate_outcomes(comparison, looks)
    )
    shown = without_company(comparison)
    if summary is not None:
        append_text(summary, gate_summary(outcomes, shown))
    if not quiet or form != "table" or output is not None:  # else the gate says the verdict
        write_out(shown, form, output, detail)
    return tell_gate(ctx, outcomes, not_shown)


def _check_usage(
    ctx: click.Context,
    *,
    gate: str | None,
    baseline: str | None,
    movers: int | None,
    looks: Path | None,
    summary: Path | None,
) -> None:
    """Raise for options that cannot be combined."""
    if gate is not None:
        if movers is not None:
            raise click.UsageError("--movers is not for gates", ctx)
        if baseline is not None:
            raise click.UsageError("--no-regression is the baseline", ctx)
        return

    for flag, value in (("--looks", looks), ("--summary", summary)):
        if value is not None:
            raise click.UsageError(f"{flag} needs --no-regression", ctx)


def _check_one_data_set(ctx: click.Context, results: dict[str, Any]) -> None:
    """Raise for systems with several data sets, which need one ground truth each."""
    if any(isinstance(result, dict) for result in results.values()):
        raise click.UsageError("--truth is for one data set: evaluate --save on each first", ctx)


def _add_baseline(
    gate: str, seeds: list[Result], results: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the name of the baseline of a gate, and the results of all systems with it."""
    name = "baseline" if "baseline" not in results else f"{gate} (baseline)"
    return name, {name: seeds if len(seeds) > 1 else seeds[0], **results}


def _lists_by_name(ctx: click.Context, systems: tuple[str, ...]) -> dict[str, str]:
    """Return the run file of each system."""
    return dict(name_and_path(ctx, text)[:2] for text in systems)


def _spell_reasons(ctx: click.Context, comparison: Comparison) -> Comparison:
    """Return a comparison whose reasons name options as the command line does."""
    spell = spelling_of(ctx.command, cli)
    reasons = {
        metric: Message(reason).spelled(spell)
        for metric, reason in comparison.design.not_compared.items()
    }
    return replace(comparison, design=replace(comparison.design, not_compared=reasons))


def _read(path: str, truth: str | None, metrics: tuple[str, ...], **options: Any) -> Result:
    if truth is None:
        return open_system(
            path, f"pass their ground truth: --truth FILE; or first {EVALUATE_COMMAND}"
        )
    from rankwise.evaluation.evaluate import evaluate
    from rankwise.evaluation.settings import DEFAULT_METRICS

    return evaluate(path, truth, metrics or DEFAULT_METRICS, **options)


def _read_baseline(path: str, read: Callable[..., Result], truth: str | None) -> Result:
    """Return the baseline of a gate: a saved result, or lists evaluated with the ground truth."""
    from rankwise.errors import ColumnError

    try:
        return read(path, truth=None)
    except ColumnError:
        if truth is None:
            raise
    return read(path, truth=truth)


def _open_noise(folder: Path) -> Any:
    """Return the stability that was saved in a folder."""
    from rankwise.evidence.stability import Stability

    return Stability.load(folder)
