"""The reference of the command line: the help of every command."""

from __future__ import annotations

from pathlib import Path

import click

from rankwise.cli.main import cli

__all__ = ["write_commands"]

_BEGIN = (
    "**You need** a command. **You get** its options, their defaults, and examples. **Time** "
    "1 minute."
)


def write_commands(path: Path) -> None:
    """Write the help of every command into one page."""
    context = click.Context(cli, info_name="rankwise", max_content_width=100, terminal_width=100)
    lines = ["Command line", "============", "", _BEGIN, "", *_block(cli.get_help(context))]
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        inner = click.Context(command, parent=context, info_name=name, terminal_width=100)
        lines += [f"rankwise {name}", "-" * len(f"rankwise {name}"), ""]
        lines += _block(command.get_help(inner))
    path.write_text("\n".join(lines), encoding="utf-8")


def _block(text: str) -> list[str]:
    indented = [f"   {line}".rstrip() for line in text.splitlines()]
    return [".. code-block:: text", "", *indented, ""]
