"""``rankwise decide``: ship, hold or stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import (
    PATH,
    detail_of,
    detail_options,
    largest_loss_option,
    margin,
    named_values,
    signature_options,
    summary_option,
    write_out,
)
from rankwise.cli.systems import name_and_path, named_paths, open_system
from rankwise.comparison.decide import decide
from rankwise.comparison.decision import Decision
from rankwise.results.shipped import is_shipped, write_shipped
from rankwise.tables.storage import append_text


def _margins(
    ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> dict[str, float | str]:
    """Return the margin of each metric, whose parameters may contain an equals sign."""
    return named_values(ctx, option, texts, "METRIC=MARGIN", margin, at_last=True)


def _move_pointer(ctx: click.Context, baseline: str, system: str, decision: Decision) -> None:
    """Make the baseline name the system that ships, if it is a pointer."""
    file, result = (Path(name_and_path(ctx, text)[1]) for text in (baseline, system))
    if is_shipped(file):
        shipped = write_shipped(file, result, decision_sha256=decision.sha256)
        click.echo(f"{file} now names {shipped.result}", err=True)


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
@largest_loss_option
@signature_options(decide, "largest_cluster")
@detail_options
@click.option(
    "--record",
    type=PATH,
    metavar="FILE",
    help="Write the decision as canonical JSON with a digest.",
)
@summary_option(
    "Append the verdict, the table and the users that moved most to a file, in Markdown, as for "
    "$GITHUB_STEP_SUMMARY."
)
@click.pass_context
def decide_command(
    ctx: click.Context,
    /,
    baseline: str,
    system: str,
    record: Path | None,
    summary: Path | None,
    *,
    verbose: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Decide whether to ship SYSTEM in place of BASELINE.

    Both are folders that `rankwise evaluate --save` wrote, or tables of per-user values. BASELINE
    may be the file that names the result that shipped last (`rankwise ship`): if the decision is
    ship and recorded (--record), the file then names SYSTEM.

    Ship if a success metric is better and every guardrail is shown to hold; stop if a metric is
    worse; otherwise hold. Exit codes: ship 0, stop 1, hold 5.
    """
    results = named_paths(ctx, (baseline, system), open_system)
    options |= {name: list(options[name]) for name in ("success", "deterioration", "slices")}
    decision = decide(results, **options)
    if record is not None:
        click.echo(f"written to {decision.save(record)}", err=True)
    if summary is not None:
        append_text(summary, decision.summary(results))
    if record is not None and decision.outcome == "ship":
        _move_pointer(ctx, baseline, system, decision)
    write_out(decision, "table", None, detail_of(ctx, verbose=verbose, quiet=quiet))
    return decision.exit_code
