"""The command ``rankwise``: its commands, and the exit code and the message of each error.

Only what ``--help`` needs is imported here; every command imports its own work when it runs.
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import importlib
import io
import os
import re
import signal
import sys
import threading
import traceback
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import TextIO

import click
from click.exceptions import Exit
from click.shell_completion import shell_complete

from rankwise.cli.spelling import spelling_of
from rankwise.core import __version__
from rankwise.errors import InputError, OutputError, RankwiseError, nearest


def examples(*commands: str) -> str:
    """Return the end of a help text: commands that run as they stand after ``rankwise demo``."""
    head = "Examples, in the folder that `rankwise demo` writes:"
    return "\n".join(["\b", head, *(f"  {command}" for command in commands)])


_COMMANDS = {
    "audit": "Check a split for leakage.",
    "check": "Validate a configuration file without running it.",
    "claim": "Tell what a published table can support.",
    "compare": "Compare results user by user.",
    "conventions": "List the conventions of other libraries, or one in full.",
    "decide": "Ship, hold or stop: success, guardrails, slices.",
    "demo": "Run an end-to-end demo on synthetic data.",
    "evaluate": "Evaluate recommendations against the ground truth.",
    "explain": "Explain why two conventions give different numbers.",
    "init": "Write a commented configuration file from your files.",
    "inspect": "Show what is recognised in a file or folder.",
    "interleaving": "Test which ranker of an interleaving experiment users preferred.",
    "judged": "Estimate values from few human labels and many of a model.",
    "leaderboard": "Rank many systems on many tasks, and tell which are ties.",
    "metrics": "List the metrics, or define one.",
    "nulls": "Tell how much of a system's value is personal.",
    "off-policy": "Estimate what other policies would have earned on logged impressions.",
    "plan": "Write down what will be compared, before the results.",
    "agreement": "Tell whether two judgments, splits or metrics order systems alike.",
    "report": "Write an HTML report about results.",
    "run": "Run everything that a configuration file describes.",
    "ship": "Name the result that shipped last.",
    "stability": "Tell how far one system moves from run to run.",
    "stages": "Tell what candidates, ranker and final list lose.",
    "split": "Split interactions into training and test.",
    "validate-metrics": "Tell which offline metrics predict online effects.",
}
_FILES = {
    "check": "run",
    "demo": "run",
    "explain": "conventions",
    "init": "run",
    "inspect": "run",
    "plan": "run",
    "audit": "split",
}
"""Files of the commands that share one."""
_COMPLETION = "_RANKWISE_COMPLETE"  # what shells set to ask for the completion of a word


class _Lazy(click.Group):
    """A group that imports a command only when the command is needed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for before, text in pairwise(["", *args]):
            if not text or re.fullmatch("--[a-z-]+=", text):
                name = text.rstrip("=") or (before if before.startswith("-") else "an argument")
                raise click.UsageError(f"{name} is empty", ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module = importlib.import_module(f"rankwise.cli.{_FILES.get(name, name.replace('-', '_'))}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            hint = nearest(args[0], _COMMANDS)
            raise click.UsageError(
                f"there is no command {args[0]!r}" + (f"; {hint}" if hint else ""), ctx
            )
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _check_given_once(click.Context(command, ctx, name), rest)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name]) for name in sorted(_COMMANDS)])


def _check_given_once(ctx: click.Context, args: list[str]) -> None:
    """Raise if an option of one value is given again: the command would take the last."""
    given = [text.partition("=")[0] for text in args if text.startswith("-")]
    for option in ctx.command.params:
        if not isinstance(option, click.Option) or option.multiple or option.is_flag:
            continue
        times = sum(given.count(name) for name in option.opts)
        if times > 1:
            raise click.UsageError(
                f"{option.opts[0]} is given {times} times, and takes one value", ctx
            )


def _show_version(ctx: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set:
        from rankwise.core import kernels  # loads NumPy, which --help does without

        click.echo(f"rankwise {__version__} (kernels: {kernels.implementation()})")
        ctx.exit()


@click.group(
    cls=_Lazy,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=examples(
        "rankwise evaluate runs/neighbours.csv split -m ndcg@10 --threshold 4",
        "rankwise compare results/popularity results/neighbours -m ndcg@10",
    )
    + "\n\nExit codes: 0 success, or the decision is ship; 1 a gate or an audit failed, or the "
    "decision is stop; 2 wrong usage or mistakes in a configuration file, and nothing else; 3 "
    "invalid input data; 4 an error inside rankwise; 5 the decision is hold; 6 output that cannot "
    "be written; 7 the run was not as planned; 130 interrupted; 141 broken pipe.",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, and whether compiled kernels are used.",
)
def cli() -> None:
    """Evaluate recommender systems. Data goes to stdout, everything else to stderr."""


_OBJECTS = 100_000  # new objects between two searches for garbage: imports make many, and none


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    gc.set_threshold(_OBJECTS)
    is_heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # nohup wants it ignored
    if is_heard:
        signal.signal(signal.SIGINT, _interrupt)

    code = _run(sys.argv[1:] if arguments is None else arguments)
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done: the code shall stay what it is
    sys.exit(code)


_REPEAT_AFTER = 0.1  # seconds


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt once for each interrupt.

    An interrupt within Polars comes here too, after the KeyboardInterrupt that Polars raises by
    itself: a second one would break what cleans up. Modules made by Cython discard every exception
    of some of their first lines: while modules load, an interrupt is repeated.
    """
    if isinstance(sys.exception(), KeyboardInterrupt):
        return

    if _is_loading(frame):
        repeat = threading.Timer(_REPEAT_AFTER, _thread.interrupt_main)
        repeat.daemon = True
        repeat.start()
    raise KeyboardInterrupt


def _is_loading(frame: FrameType | None) -> bool:
    """Return whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _run(arguments: list[str]) -> int:
    """Run a command and return its exit code, also after any exception.

    Click's own ``main`` is not used because it exits by itself when the output breaks.
    """
    _open_closed_streams()
    _replace_on_terminals(sys.stdout)
    ctx = None
    try:
        if _COMPLETION in os.environ:
            return shell_complete(cli, {}, "rankwise", _COMPLETION, os.environ[_COMPLETION])
        with cli.make_context("rankwise", arguments) as ctx:
            outcome = cli.invoke(ctx)
        sys.stdout.flush()
    except BaseException as error:  # noqa: BLE001 - the last line of defence: told, not hidden
        code, message = _verdict(error, ctx)
        with contextlib.suppress(OSError):  # nowhere is left to say it; the code does
            click.echo(message, err=True, nl=bool(message))
        _discard_unwritten(sys.stdout, sys.stderr)
        return code
    return outcome if isinstance(outcome, int) else 0


def _verdict(error: BaseException, ctx: click.Context | None) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    if isinstance(error, Exit):  # --help and --version end so
        return error.exit_code, ""
    if isinstance(error, BrokenPipeError):
        return 141, ""  # as if SIGPIPE had ended it: a gate that nobody heard has not passed
    if isinstance(error, KeyboardInterrupt):
        return 130, "interrupted"
    if isinstance(error, click.ClickException):
        shown = io.StringIO()
        error.show(shown)
        return 2, shown.getvalue().rstrip("\n")
    if isinstance(error, OSError | UnicodeEncodeError):
        error = _unwritable(error)
    if isinstance(error, RankwiseError):
        name = None if ctx is None else ctx.invoked_subcommand
        command = None if ctx is None or name is None else cli.get_command(ctx, name)
        if command is not None:
            error = error.spelled(spelling_of(command, cli))
        code = 3 if isinstance(error, InputError) else 6 if isinstance(error, OutputError) else 2
        return code, f"error: {error}"
    if isinstance(error, MemoryError):
        return 4, f"error inside rankwise: there is not enough memory. {error}".rstrip()
    lines = traceback.format_exception(error, limit=-20)  # the innermost calls, if it is recursion
    return 4, "".join(lines) + "error inside rankwise: please report it with the lines above"


def _unwritable(error: OSError | UnicodeEncodeError) -> RankwiseError:
    """Return an error of a stream or file as a RankwiseError."""
    if isinstance(error, RankwiseError):
        return error
    if isinstance(error, io.UnsupportedOperation):
        return OutputError("standard output is closed")
    if isinstance(error, UnicodeEncodeError):
        return OutputError(
            "the output has a character that its encoding cannot write",
            found=f"{error.object[error.start : error.end]!a} in {error.encoding}",
            hint="set PYTHONIOENCODING=utf-8",
        )
    where = None if error.filename is None else str(error.filename)
    found = error.strerror or str(error)
    return OutputError("this cannot be written or read", where=where, found=found)


def _open_closed_streams() -> None:
    """Replace the streams that were closed when the command began.

    Writing to a closed stdout is an error, which a file that is open for reading raises; stderr is
    for people, and may be closed. In this order each gets its own descriptor, so that no file
    that is opened later takes its place.
    """
    null = Path(os.devnull)
    sys.stdin = sys.stdin or null.open()
    sys.stdout = sys.stdout or null.open()
    sys.stderr = sys.stderr or null.open("w")


def _replace_on_terminals(stream: TextIO) -> None:
    """Replace characters that a terminal's encoding lacks by question marks.

    In files and pipes this would lose data: there it stays an error, with the way out.
    """
    if stream.isatty() and isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _discard_unwritten(*streams: TextIO) -> None:
    """Flush streams, and discard unwritable output so that the exit does not raise again."""
    for stream in streams:
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
