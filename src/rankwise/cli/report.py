"""``rankwise report``: results in, one HTML page out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.options import PATH, column_option, examples, named_paths

if TYPE_CHECKING:
    from rankwise.results.report.page import Report

__all__ = ["command"]


@click.command(
    "report",
    epilog=examples(
        "rankwise report results/popularity results/neighbours -o page.html",
        "rankwise report results/neighbours --items items.csv --assets charts",
    ),
)
@click.argument("systems", nargs=-1, required=True, metavar="[NAME=]RESULT … | COMPARISON")
@click.option("-o", "--output", type=PATH, default=Path("report.html"), show_default=True, help="The file to write.")
@click.option("--primary", metavar="MEASURE", help="The primary metric of the comparison.")
@click.option("--baseline", metavar="NAME", help="Compare all others with this one.  [default: all pairs]")
@click.option("--title", help="The title of the page.")
@click.option(
    "--recommendations",
    "runs",
    multiple=True,
    metavar="NAME=FILE",
    help="The lists of a system, for exposure and examples; may be repeated.  [default: the file "
    "that the result names]",
)
@click.option("--truth", metavar="FILE", help="The ground truth.")
@click.option("--train", metavar="FILE", help="Training interactions.")
@click.option("--items", metavar="FILE", help="Items with their titles.")
@column_option
@click.option("--audit/--no-audit", default=False, help="Audit TRAIN and TRUTH for leakage.")
@click.option("--assets", type=PATH, metavar="DIR", help="Also write every chart as SVG and PNG, and its data as CSV.")
@click.pass_context
def command(
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
    give one COMPARISON: a folder that `rankwise compare --save` or `rankwise run` wrote.
    """
    from rankwise.results.comparison import Comparison
    from rankwise.results.comparison_folder import is_comparison
    from rankwise.results.per_user import open_result
    from rankwise.results.report.report import report

    subject: Any
    if len(systems) == 1 and is_comparison(Path(systems[0])):
        subject = Comparison.load(systems[0])
        if primary is not None or baseline is not None:
            subject = subject.results  # compared again
    else:
        subject = named_paths(ctx, systems, open_result)
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
    _write(page, output, assets)


def _audit(ctx: click.Context, train: str | None, truth: str | None, columns: dict[str, Any]) -> Any:
    from rankwise.splits.audit.audit import audit

    if train is None or truth is None:
        raise click.UsageError("--audit needs --train and --truth", ctx)
    return audit(train, truth, columns=columns or None)


def _write(page: Report, output: Path, assets: Path | None) -> None:
    """Write a page and its charts, and say what it is without."""
    page.save(output)
    if assets is not None:
        files = page.save_assets(assets)
        click.echo(f"{len(files)} files in {assets}", err=True)
    for what, why in page.missing.items():
        click.echo(f"without {what}: {why}", err=True)
    click.echo(str(output))
