"""``rankwise decide``: ship, hold or stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.options import PATH, choice_option, examples, margin, named_paths
from rankwise.core.choices import Missing

__all__ = ["command"]


def _margins(_ctx: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, float | str]:
    margins: dict[str, float | str] = {}
    for text in given:
        measure, equals, size = text.rpartition("=")
        if not equals or not measure.strip():
            raise click.BadParameter(f"{text!r} is not MEASURE=MARGIN")
        if measure.strip() in margins:
            raise click.BadParameter(f"{measure.strip()!r} is given twice")
        margins[measure.strip()] = margin(size)
    return margins


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
    metavar="MEASURE",
    help="Success metric, of which one has to improve; may be repeated.",
)
@click.option(
    "--guardrail",
    "guardrails",
    multiple=True,
    metavar="MEASURE=MARGIN",
    callback=_margins,
    help="Metric that must lose less than its margin: 'recall@10=1%', 'mrr@10=0.002'; may be repeated.",
)
@click.option(
    "--deterioration",
    multiple=True,
    metavar="MEASURE",
    help="Metric that must not get significantly worse; may be repeated.",
)
@click.option("--slices", multiple=True, metavar="COLUMN", help="Also check each group of users; results need --by.")
@click.option(
    "--min-slice-size",
    type=click.IntRange(2),
    default=100,
    show_default=True,
    help="Groups with fewer users are listed but not checked.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Significance level.")
@choice_option(
    "--missing", kind=Missing, default="error", help="What to do with users who have a value in one result only."
)
@click.option("--record", type=PATH, metavar="FILE", help="Write the decision as canonical JSON with a digest.")
@click.pass_context
def command(ctx: click.Context, /, baseline: str, system: str, record: Path | None, **options: Any) -> int:
    """Decide whether to ship SYSTEM in place of BASELINE.

    Both are folders that `rankwise evaluate --save` wrote, or tables of per-user values. Ship if a
    success metric is better and every guardrail is shown to hold; stop if a metric is worse;
    otherwise hold. Exit codes: ship 0, stop 1, hold 5.
    """
    from rankwise.results.decide import decide
    from rankwise.results.per_user import open_result

    results = named_paths(ctx, (baseline, system), open_result)
    options |= {name: list(options[name]) for name in ("success", "deterioration", "slices")}
    found = decide(results, **options)
    if record is not None:
        click.echo(f"written to {found.save(record)}", err=True)
    click.echo(repr(found))
    return found.exit_code
