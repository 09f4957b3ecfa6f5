"""``rankwise compare``: is B better than A, and is it no worse than the baseline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankwise.cli.options import (
    column_option,
    format_for,
    format_option,
    output_option,
    write_out,
)

if TYPE_CHECKING:
    from rankwise.compared import Comparison
    from rankwise.result import Result

__all__ = ["command"]


@click.command("compare")
@click.argument("systems", nargs=-1, required=True, metavar="[NAME=]A [NAME=]B …")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    help="What to compare, the primary measure first; may be repeated.",
)
@click.option("--truth", metavar="FILE", help="Evaluate run files against this.")
@click.option("--threshold", type=float, help="With --truth: the least relevance that counts.")
@click.option("--train", metavar="FILE", help="With --truth: training interactions.")
@click.option(
    "--baseline", metavar="NAME", help="Compare the others with it.  [default: all pairs]"
)
@click.option(
    "--no-regression",
    "gate",
    metavar="FILE",
    help="A saved result or per-user table: exit 1 if a system is worse.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="The level.")
@click.option(
    "--test",
    type=click.Choice(["auto", "t", "sign_flip", "bootstrap", "wilcoxon", "sign"]),
    default="auto",
    show_default=True,
)
@click.option(
    "--correction",
    type=click.Choice(["none", "bonferroni", "holm", "hochberg", "bh", "by", "max_t", "tukey"]),
    default="holm",
    show_default=True,
    help="Over the pairs of the primary measure.",
)
@click.option("--margin", type=float, help="The largest difference that does not matter.")
@click.option(
    "--missing",
    type=click.Choice(["error", "zero", "common"]),
    default="error",
    show_default=True,
    help="Users with a value in one result and none in another.",
)
@click.option(
    "--resamples",
    "n_resamples",
    type=click.IntRange(1),
    help="Of tests that draw some.  [default: 10,000, or more for many pairs]",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--force", is_flag=True, help="Compare what is not comparable all the same.")
@column_option
@format_option
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    truth: str | None,
    threshold: float | None,
    train: str | None,
    columns: dict[str, Any],
    baseline: str | None,
    gate: str | None,
    format_: str | None,
    output: Path | None,
    **options: Any,
) -> int:
    """Compare systems user by user.

    Each is a folder that `rankwise evaluate --save` wrote, a table of users' values (--per-user),
    or with --truth a run file. The exit code is 1 if --no-regression fails.
    """  # fmt: skip
    form = format_for(ctx, format_, output)
    evaluated = {"truth": truth, "threshold": threshold, "train": train, "columns": columns}
    results = _opened(ctx, systems, measures, evaluated)
    if gate is not None:
        if baseline is not None:
            raise click.UsageError("--no-regression is the baseline", ctx)
        baseline = "baseline" if "baseline" not in results else f"{gate} (baseline)"
        results = {baseline: _open(gate, measures, {**evaluated, "truth": None}), **results}
    from rankwise.comparison import compare

    primary = measures[0] if measures else None
    found = compare(results, baseline=baseline, primary=primary,
                    measures=list(measures) or None, **options)  # fmt: skip
    write_out(found, form, output)
    return 0 if gate is None else _hold(found)


def _opened(
    ctx: click.Context, systems: tuple[str, ...], measures: tuple[str, ...],
    evaluated: dict[str, Any],
) -> dict[str, Result]:  # fmt: skip
    results = {}
    for text in systems:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = Path(text).name.split(".")[0] or text, text
        if name in results:
            raise click.UsageError(f"two systems are called {name!r}; say NAME=PATH", ctx)
        results[name] = _open(path, measures, evaluated)
    return results


def _open(path: str, measures: tuple[str, ...], evaluated: dict[str, Any]) -> Result:
    from rankwise.evaluation import DEFAULT_MEASURES, evaluate
    from rankwise.per_user import open_result

    if evaluated["truth"] is None:
        return open_result(path)
    return evaluate(
        path, evaluated["truth"], list(measures) or list(DEFAULT_MEASURES),
        train=evaluated["train"], relevance_threshold=evaluated["threshold"],
        columns=evaluated["columns"],
    )  # fmt: skip


def _hold(found: Comparison) -> int:
    """Say which system is worse than the baseline in the primary measure; 1 if one is.

    What could not be tested has not passed.
    """
    failed = 0
    for row in found.table.iter_rows(named=True):
        if not row["primary"]:
            continue
        pair = f"{row['system']} against {row['baseline']} in {row['measure']}"
        if row["p"] != row["p"] or row["users"] < 2:
            why = "it could not be tested: fewer than two users"
        elif row["verdict"] == "different":
            why = "they differ, and neither direction of this measure is better"
        elif row["verdict"] == "worse":
            why = (
                f"it is worse: {row['mean_baseline']:.4f} to {row['mean_system']:.4f}, adjusted "
                f"p = {row['p_adjusted']:.3g} < {found.settings['alpha']:g}"
            )
        else:
            continue
        failed = 1
        click.echo(f"failed: {pair}: {why}", err=True)
    return failed
