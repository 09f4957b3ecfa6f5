"""``rankwise report``: an HTML report about results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankwise.cli.main import cli, examples
from rankwise.cli.options import PATH, column_option, signature_options
from rankwise.cli.spelling import spelling_of
from rankwise.cli.systems import named_paths, open_system
from rankwise.messages import Message
from rankwise.reporting.report import report


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
@click.option(
    "--decision",
    "decided",
    type=PATH,
    metavar="FILE",
    help="The decision that the page is about, as `rankwise decide --record` wrote it.",
)
@click.option(
    "--audit/--no-audit",
    default=True,
    help="Audit training interactions and ground truth for leakage, where both can be read.",
    show_default=True,
)
@click.option(
    "--show-users/--no-show-users",
    default=True,
    help="Whether users are named: those that moved most, and others by id, with their lists and "
    "their last training interactions.",
    show_default=True,
)
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
    decided: Path | None,
    *,
    audit: bool,
    show_users: bool,
) -> None:
    """Write an HTML report about results: one self-contained file.

    Each RESULT is a folder that `rankwise evaluate --save` wrote, or a table of per-user values. Or
    give one COMPARISON: a folder that `rankwise compare --save` or `rankwise run` wrote; or one
    LOG: a folder that `rankwise off-policy --save` wrote.

    The files that a RESULT was evaluated from are read again if they are unchanged; options name
    the files of other tables. TRUTH and TRAIN may be the folder of a split.
    """
    from rankwise.comparison.comparison import Comparison
    from rankwise.comparison.decision import Decision
    from rankwise.comparison.storage import is_comparison
    from rankwise.offpolicy.result import OffPolicy, is_off_policy

    decision = None if decided is None else Decision.load(decided)
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
        audit=None if audit else False,
        show_users=show_users,
        decision=decision,
    )
    page.save(output)
    if assets is not None:
        files = page.save_assets(assets)
        click.echo(f"{len(files)} files in {assets}", err=True)
    spell = spelling_of(ctx.command, cli)
    for what, why in page.missing.items():
        click.echo(f"without {what}: {Message(why).spelled(spell)}", err=True)
    click.echo(str(output))
