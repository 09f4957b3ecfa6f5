"""``rankwise conventions``: the conventions that there are, or one with every choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankwise.cli.options import examples

if TYPE_CHECKING:
    from rankwise.convention.convention import Convention

__all__ = ["command"]


@click.command("conventions", epilog=examples("rankwise conventions", "rankwise conventions recbole"))
@click.argument("name", required=False)
def command(name: str | None) -> int:
    """List the conventions, or every choice of the one called NAME.

    A convention is a named set of choices that reproduces a library's values: how nDCG is defined,
    which users are evaluated, how ties are broken. `rankwise evaluate --convention NAME` uses it.
    """
    from rankwise.convention.convention import conventions, find
    from rankwise.core.view import plain

    if name is None:
        from rankwise.convention.listing import listing

        click.echo(plain(listing(list(conventions().values()))))
    else:
        click.echo(_in_full(find(name)))
    return 0


def _in_full(convention: Convention) -> str:
    from rankwise.convention.listing import in_full
    from rankwise.core.view import plain

    return plain(*in_full(convention))
