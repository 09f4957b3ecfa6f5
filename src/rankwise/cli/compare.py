"""``rankwise compare``, ``rankwise decide`` and ``rankwise report``: commands on saved results."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    PATH,
    GroupedCommand,
    coloured,
    column_option,
    compare_output_options,
    detail_of,
    detail_options,
    margin,
    metrics_option,
    named_paths,
    named_values,
    read_seeds,
    read_systems,
    settings_options,
    signature_options,
    write_out,
)
from rankwise.comparison.compare import compare
from rankwise.comparison.decide import decide
from rankwise.errors import printable
from rankwise.reporting.report import report

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankwise.comparison.comparison import Comparison
    from rankwise.results.result import Result
    from rankwise.results.sampling_unit import SamplingUnit


@click.command(
    "report",
    epilog=examples(
        "rankwise report results/popularity results/neighbours -o page.html",
        "rankwise report results/neighbours --items items.csv --assets charts",
    ),
)
@click.argument("systems", nargs=-1, required=True, metavar="[NAME=]RESULT … | COMPARISON | LOG")
@click.option(
    "-o",
    "--output",
    type=PATH,
    default=Path("report.html"),
    show_default=True,
    help="The file to write.",
)
@signature_options(report, "primary", "baseline", "title")
@click.option(
    "--recommendations",
    "runs",
    multiple=True,
    metavar="NAME=FILE",
    help="The lists of a system, for exposure and examples; may be repeated.  [default: the file "
    "that the result names]",
)
@signature_options(report, "truth", "train", "items")
@column_option
@click.option("--audit/--no-audit", default=False, help="Audit TRAIN and TRUTH for leakage.")
@click.option(
    "--assets",
    type=PATH,
    metavar="DIR",
    help="Also write every chart as SVG and PNG, and its data as CSV.",
)
@click.pass_context
def report_command(
    ctx: click.Context,
    /,
    systems: tuple[str, ...],
    output: Path,
    primary: str | None,
    baseline: str | None,
    title: str | None,
    runs: tuple[str, ...],
    truth: str | None,
    train: str | None,
    items: str | None,
    columns: dict[str, Any],
    assets: Path | None,
    *,
    audit: bool,
) -> None:
    """Write an HTML report about results: one self-contained file.

    Each RESULT is a folder that `rankwise evaluate --save` wrote, or a table of per-user values. Or
    give one COMPARISON: a folder that `rankwise compare --save` or `rankwise run` wrote; or one
    LOG: a folder that `rankwise off-policy --save` wrote.
    """
    from rankwise.comparison.comparison import Comparison
    from rankwise.comparison.storage import is_comparison
    from rankwise.offpolicy.result import OffPolicy, is_off_policy

    subject: Any
    if len(systems) == 1 and is_comparison(Path(systems[0])):
        subject = Comparison.load(systems[0])
        if primary is not None or baseline is not None:
            subject = subject.results  # compared again
    elif len(systems) == 1 and is_off_policy(Path(systems[0])):
        subject = OffPolicy.load(systems[0])
    else:
        subject = named_paths(ctx, systems, open_system)
    page = report(
        subject,
        primary=primary,
        baseline=baseline,
        title=title,
        recommendations=named_paths(ctx, runs, str),
        truth=truth,
        train=train,
        items=items,
        columns=columns or None,
        audit=_audit(ctx, train, truth, columns) if audit else None,
    )
    page.save(output)
    if assets is not None:
        files = page.save_assets(assets)
        click.echo(f"{len(files)} files in {assets}", err=True)
    for what, why in page.missing.items():
        click.echo(f"without {what}: {why}", err=True)
    click.echo(str(output))


def _audit(
    ctx: click.Context, train: str | None, truth: str | None, columns: dict[str, Any]
) -> Any:
    from rankwise.splits.audit import audit
    from rankwise.splits.reading import truth_and_train

    truth, train = truth_and_train(truth, train, columns or None)
    if train is None or truth is None:
        raise click.UsageError("--audit needs --train and --truth", ctx)
    return audit(train, truth, columns=columns or None)


@click.command(
    "compare",
    cls=GroupedCommand,
    groups={
        "Systems": "metrics baseline truth relevance_threshold train users columns",
        "Tests": "alpha test correction margin n_resamples seed earlier",
        "Users": "by missing clusters seeds force",
        "Gate": "gate looks not_shown",
        "Output": "form output verbose quiet save",
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
    "missing",
    "clusters",
    "seeds",
    "n_resamples",
    "seed",
    "earlier",
    "force",
)
@click.option(
    "--not-shown",
    type=click.Choice(["fail", "pass"]),
    default="fail",
    show_default=True,
    help="With --no-regression: whether too few users to show either end in exit code 5 (fail) or "
    "0 (pass).",
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
    not_shown: str,
    looks: Path | None,
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
    if looks is not None and gate is None:
        raise click.UsageError("--looks needs --no-regression", ctx)
    results = read_systems(ctx, systems, partial(read, truth=truth))
    if truth is not None and any(isinstance(r, dict) for r in results.values()):
        raise click.UsageError("--truth is for one data set: evaluate --save on each first", ctx)
    if gate is not None:
        if baseline is not None:
            raise click.UsageError("--no-regression is the baseline", ctx)
        baseline = "baseline" if "baseline" not in results else f"{gate} (baseline)"
        seeds = read_seeds(ctx, gate, partial(_read_baseline, read=read, truth=truth))
        results = {baseline: seeds if len(seeds) > 1 else seeds[0], **results}
    primary = metrics[0] if metrics else None
    comparison = compare(
        results, baseline=baseline, primary=primary, by=by, metrics=list(metrics) or None, **options
    )
    if save is not None:
        click.echo(f"saved to {comparison.save(save)}", err=True)
    if (
        gate is None or not quiet or form != "table" or output is not None
    ):  # else the gate says the verdict
        shown = comparison if gate is None else _without_company(comparison)
        write_out(shown, form, output, detail_of(ctx, verbose=verbose, quiet=quiet))
    if gate is None:
        return 0
    return _tell_gate(
        _outcomes(comparison) if looks is None else _looked(comparison, looks), not_shown
    )


def _without_company(comparison: Comparison) -> Comparison:
    """Return a comparison without the record of systems that are saved in the same place.

    The systems of a gate do not compete with systems that are saved beside them.
    """
    return replace(comparison, design=replace(comparison.design, test_set={}))


def _tell_gate(outcomes: list[tuple[str, str, str]], not_shown: str) -> int:
    """Print each system's outcome, and return exit code 0 (passed), 1 (failed) or 5 (not shown)."""
    for outcome, head, below in outcomes:
        line = printable(f"{outcome}  {head}")
        click.echo(click.style(line, bold=True) if coloured(sys.stderr) else line, err=True)
        click.echo(printable(f"      {below}"), err=True)

    words = {outcome for outcome, _, _ in outcomes}
    if "FAIL" in words:
        return 1
    return 5 if "OPEN" in words and not_shown == "fail" else 0


def _read(path: str, truth: str | None, metrics: tuple[str, ...], **options: Any) -> Result:
    if truth is None:
        return open_system(path, f"pass their ground truth: --truth FILE; or first {_EVALUATE}")
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


_EVALUATE = "rankwise evaluate LISTS TRUTH --save DIR"


def open_system(path: str, hint: str = f"evaluate them first: {_EVALUATE}") -> Result:
    """Return a saved result or a table of per-user values; raise for recommendation lists."""
    from rankwise.errors import ColumnError
    from rankwise.results.per_user import LISTS
    from rankwise.results.storage import open_result

    try:
        return open_result(path)
    except ColumnError as error:
        if error.what != LISTS:
            raise
        raise ColumnError(
            "these are recommendation lists", where=error.where, found=error.found, hint=hint
        ) from error


_OUTCOMES = {"passed": "PASS", "failed": "FAIL", "not shown": "OPEN"}


def _looked(comparison: Comparison, file: Path) -> list[tuple[str, str, str]]:
    """Return the outcome of each system in this look, valid at all looks, with its numbers."""
    from rankwise.comparison.looks import record_interim_analysis

    said = {
        "passed": "holds against",
        "failed": "is worse than",
        "not shown": "is not shown to hold against",
    }
    return [
        (
            _OUTCOMES[look.outcome],
            f"{look.system} {said[look.outcome]} {look.baseline} on {look.metric}.",
            look.why,
        )
        for look in record_interim_analysis(comparison, file)
    ]


def _outcomes(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the outcome of each system against the baseline, as a sentence with its numbers."""
    from rankwise.core.terminal import brief
    from rankwise.findings.margins import margin_of, size_of

    outcomes, by, margin = [], comparison.design.by, comparison.design.margin
    unit = comparison.design.unit
    for row in comparison.table.filter("primary").iter_rows(named=True):
        up = comparison.design.directions.get(row["metric"])
        outcome, said, *why = _outcome(
            row, comparison.design.alpha, unit, has_direction=up is not None
        )
        group = "" if by is None else f" for {by} {row['group']}"
        means = f"{brief(row['mean_baseline'])} → {brief(row['mean_system'])}"
        sizes = f"{means}, {_size_text(row, outcome, comparison.design.alpha)}"
        allowed = size_of(margin_of(margin, row["metric"]), row["mean_baseline"])
        limit = (
            []
            if allowed is None
            else [f"allowed {_allowed(margin_of(margin, row['metric']), allowed)}"]
        )
        head = f"{row['system']} {said} {row['baseline']} on {row['metric']}{group}."
        outcomes.append(
            (
                _OUTCOMES[outcome],
                head,
                "; ".join([sizes, *limit, unit.counted_in(row), *why, *row["flags"]]),
            )
        )
    return outcomes


def _allowed(margin: float | str | None, size: float) -> str:
    """Return a margin as text; a share is followed by its size: ``1 % (0.000867)``."""
    from rankwise.core.terminal import brief
    from rankwise.findings.margins import margin_text

    return f"{margin_text(margin)} ({brief(size)})" if isinstance(margin, str) else brief(size)


def _size_text(row: dict[str, Any], outcome: str, alpha: float) -> str:
    """Return the difference and relative change, with intervals of the deciding test and level.

    A margin is tested one-sided at alpha, so that its interval has the level 1 − 2 alpha.
    """
    from rankwise.core.terminal import change, level_text, signed
    from rankwise.findings.words import interval_text, places

    of_word = outcome == "failed" or row["p_non_inferior"] != row["p_non_inferior"]
    of_word = of_word or (row["verdict"] == "better" and row["p_non_inferior"] >= alpha)
    prefix = "" if of_word else "margin_"
    shown = {**row, "low": row[f"{prefix}low"], "high": row[f"{prefix}high"]}
    level = level_text(row["confidence"] if of_word else 1 - 2 * alpha)
    limits = interval_text(shown, signed)
    size = f"{signed(row['difference'], places(row))} ({level} interval {limits})"
    ends = [row[f"{prefix}lift_low"], row[f"{prefix}lift_high"]]
    if limits == "–" or any(end is None or end != end for end in ends):
        return size
    return (
        f"{size}, {change(row['lift'])} ({change(ends[0], unit='')} to {change(ends[1], unit='')})"
    )


def _outcome(
    row: dict[str, Any], alpha: float, unit: SamplingUnit, *, has_direction: bool = True
) -> tuple[str, ...]:
    """Return the outcome of a system, its words, and a reason or the number of users needed."""
    p = row["p_non_inferior"]
    if row["p"] != row["p"] or unit.users_in(row) < 2:
        return "not shown", "could not be tested against", "fewer than two users, or no variance"
    if row["verdict"] == "different":
        why = "the median of the differences is on the other side of 0 than their mean"
        return (
            "failed",
            "differs from",
            why if has_direction else "for this metric neither direction is better",
        )
    if (
        row["verdict"] == "better"
        and (p != p or p < alpha)
        and not (p != p and row["p_bound"] >= alpha)
    ):
        return "passed", "is better than"
    if p == p and p < alpha:
        return "passed", "loses less than the margin against"
    if row["verdict"] == "worse":
        return "failed", "is worse than"
    if p != p:
        return (
            "not shown",
            "is not shown to be better than",
            "pass --margin, the largest loss that does not matter",
        )
    needed = row["users_needed"]
    return (
        "not shown",
        "is not shown to lose less than the margin against",
        *(
            []
            if needed is None
            else [f"about {needed:,} users would show it if this is the true difference"]
        ),
    )


def _margins(
    ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float | str]:
    """Return the margin of each metric, whose parameters may contain an equals sign."""
    return named_values(ctx, option, texts, "METRIC=MARGIN", margin, at_last=True)


@click.command(
    "decide",
    epilog=examples(
        "rankwise decide results/popularity results/neighbours --success ndcg@10",
        "rankwise decide results/random results/popularity --success mrr@10",
    ),
)
@click.argument("baseline", metavar="[NAME=]BASELINE")
@click.argument("system", metavar="[NAME=]SYSTEM")
@click.option(
    "--success",
    multiple=True,
    required=True,
    metavar="METRIC",
    help="Success metric, of which one has to improve; may be repeated.",
)
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="METRIC=MARGIN",
    callback=_margins,
    help="Metric that must lose less than its margin: 'recall@10=1%', 'mrr@10=0.002'; may be "
    "repeated.",
)
@click.option(
    "--deterioration",
    multiple=True,
    metavar="METRIC",
    help="Metric that must not get significantly worse; may be repeated.",
)
@signature_options(decide, "slices", "min_slice_size", "alpha", "missing")
@detail_options
@click.option(
    "--record",
    type=PATH,
    metavar="FILE",
    help="Write the decision as canonical JSON with a digest.",
)
@click.pass_context
def decide_command(
    ctx: click.Context,
    /,
    baseline: str,
    system: str,
    record: Path | None,
    *,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Decide whether to ship SYSTEM in place of BASELINE.

    Both are folders that `rankwise evaluate --save` wrote, or tables of per-user values. Ship if a
    success metric is better and every guardrail is shown to hold; stop if a metric is worse;
    otherwise hold. Exit codes: ship 0, stop 1, hold 5.
    """
    results = named_paths(ctx, (baseline, system), open_system)
    options |= {name: list(options[name]) for name in ("success", "deterioration", "slices")}
    decision = decide(results, **options)
    if record is not None:
        click.echo(f"written to {decision.save(record)}", err=True)
    write_out(decision, "table", None, detail_of(ctx, verbose=verbose, quiet=quiet))
    return decision.exit_code
