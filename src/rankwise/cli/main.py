"""The command ``rankwise``, and what its exit codes mean.

Only what ``--help`` needs is imported here; every command imports its own work when it runs.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback

import click

from rankwise.core.version import __version__
from rankwise.errors import InputError, RankwiseError

__all__ = ["cli", "main"]

_COMMANDS = {
    "audit": "Look for leaks in a split.",
    "compare": "Compare results user by user.",
    "demo": "Run everything once on made-up data.",
    "evaluate": "Evaluate recommendations against the truth.",
    "inspect": "Show what is recognised in a file.",
    "measures": "List the measures, or define one.",
    "split": "Split interactions into training and test.",
}


class _Lazy(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"rankwise.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in sorted(_COMMANDS)])


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 a gate or an audit failed; 2 wrong usage, or an output "
    "that cannot be written; 3 bad input data; 4 an error inside rankwise; 130 interrupted.",
)
@click.version_option(__version__, prog_name="rankwise")
def cli() -> None:
    """Evaluate recommender systems. Data goes to stdout, everything else to stderr."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        outcome = cli.main(arguments, prog_name="rankwise", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except RankwiseError as error:
        click.echo(f"error: {error}", err=True)
        return 3 if isinstance(error, InputError) else 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; what is left to flush must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        click.echo(f"error: this cannot be written or read: {error.strerror or error}", err=True)
        return 2
    except Exception:  # noqa: BLE001 - the last line of defence: told, not hidden
        traceback.print_exc()
        click.echo("error inside rankwise: please report it with the lines above", err=True)
        return 4
    return outcome if isinstance(outcome, int) else 0
