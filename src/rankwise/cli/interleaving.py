"""``rankwise interleaving``: which ranker of an interleaving experiment users preferred."""

from __future__ import annotations

from typing import Any

import click

from rankwise.cli.main import examples
from rankwise.cli.options import ResultOutput, column_option, result_options, signature_options
from rankwise.interleave.analysis import interleaving


@click.command("interleaving", epilog=examples("rankwise interleaving drafts.csv"))
@click.argument("exposures")
@click.argument("outcomes", required=False)
@signature_options(interleaving, "teams", "credit", "alpha", "window", "missing")
@column_option
@result_options
def interleaving_command(
    exposures: str,
    outcomes: str | None,
    out: ResultOutput,
    columns: Any,
    **options: Any,
) -> int:
    """Test which ranker of an interleaving experiment users preferred.

    EXPOSURES has one row per item that was shown, with its team, or one row per request with the
    credit of each team (credit_a, credit_b). Users are the sampling units; an unfair draft has no
    verdict.
    """
    result = interleaving(exposures, outcomes, columns=columns or None, **options)
    out.write(result)
    return 0
