"""Options that several commands share."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import click

from rankwise.core.arguments import TimeUnit
from rankwise.core.docstrings import first_sentence, parameter_texts
from rankwise.evaluation.settings import option_fields, option_summary, option_types

if TYPE_CHECKING:
    from rankwise.core.terminal import Detail

PATH = click.Path(path_type=Path)

_F = TypeVar("_F", bound="Callable[..., Any]")
_R = TypeVar("_R")
_Format: TypeAlias = Literal["table", "json", "csv", "markdown", "latex"]
_CompareFormat: TypeAlias = Literal["table", "json", "csv", "markdown", "latex", "methods"]
_TrecFormat: TypeAlias = Literal["table", "json", "csv", "markdown", "latex", "trec"]
_SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex", ".txt": "table"}


def named_values(
    ctx: click.Context,
    option: click.Parameter,
    texts: tuple[str, ...],
    shape: str,
    read: Callable[[str], _R],
    *,
    at_last: bool = False,
) -> dict[str, _R]:
    """Return the values of a repeated option ``NAME=VALUE`` by name.

    Parameters
    ----------
    ctx, option, texts
        As click passes them to the callback of an option.
    shape : str
        What a text should look like, for the message.
    read : callable
        Makes the value of its text; a `ValueError` says that it cannot.
    at_last : bool, default=False
        Whether the last ``=`` divides name and value, because a name may contain others.
    """
    values: dict[str, _R] = {}
    for text in texts:
        name, equals, value = text.rpartition("=") if at_last else text.partition("=")
        name = name.strip()
        try:
            if not name or not equals:
                raise ValueError
            made = read(value)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not {shape}", ctx, option) from None
        if name in values:
            raise click.BadParameter(f"{name!r} is given twice", ctx, option)
        values[name] = made
    return values


def _columns(ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
    """Return the column of each role; None where no column is to be read."""
    return named_values(ctx, option, texts, "ROLE=COLUMN", lambda name: name or None)


class GroupedCommand(click.Command):
    """A command whose help lists options in groups.

    Parameters
    ----------
    groups : mapping of str to str
        The options of each group by its title, as they are called in Python, between spaces. Other
        options are in the last group.
    """

    def __init__(self, *args: Any, groups: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self.groups = {title: names.split() for title, names in groups.items()}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section per group."""
        records = {
            str(option.name): record
            for option in self.get_params(ctx)
            if (record := option.get_help_record(ctx)) is not None
        }
        sections = {
            title: [records.pop(name) for name in names] for title, names in self.groups.items()
        }
        sections[list(sections)[-1]] += records.values()
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def settings_options(*names: str) -> Callable[[_F], _F]:
    """Return a decorator that adds the options of an evaluation, made from `Settings`.

    Without names all of them, except ``columns``, which has a form of its own.
    """

    def decorate(function: _F) -> _F:
        chosen = names or [name for name in option_fields() if name != "columns"]
        for name in reversed(chosen):
            function = _settings_option(name)(function)
        return function

    return decorate


def _settings_option(name: str) -> Callable[[_F], _F]:
    field, kind = option_fields()[name], option_types()[name]
    more: dict[str, Any] = {"show_default": field.default is not None}
    if "by_default" in field.metadata:
        more["show_default"] = field.metadata["by_default"]
    if "metavar" in field.metadata:
        more["metavar"] = field.metadata["metavar"]
    if name == "by":
        more |= {"multiple": True, "show_default": False}
    return _option(
        field.metadata.get("flag", _flag(name)),
        name,
        kind,
        field.default,
        help=option_summary(field),
        least=field.metadata.get("least", 1),
        **more,
    )


def signature_options(
    function: Callable[..., Any], *names: str, **flags: str
) -> Callable[[_F], _F]:
    """Return a decorator that adds parameters of a function as options.

    Type, default and choices are those of its signature, and the help is the first sentence of
    its docstring about the parameter.

    Parameters
    ----------
    function : callable
        The function that the command calls.
    *names : str
        The parameters.
    **flags : str
        The flags of parameters that are not called as in Python.
    """
    parameters, kinds = signature(function).parameters, get_type_hints(function)
    texts = parameter_texts(function)

    def decorate(command: _F) -> _F:
        for name in reversed(names):
            default = parameters[name].default
            command = _option(
                flags.get(name, _flag(name)),
                name,
                kinds[name],
                default,
                help=first_sentence(texts.get(name, "")),  # without docstrings under python -OO
                show_default=default is not None and default is not False,
            )(command)
        return command

    return decorate


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


_METAVARS = {
    "baseline": "NAME",
    "by": "COLUMN",
    "clusters": "COLUMN",
    "items": "FILE",
    "predictions": "FILE",
    "primary": "METRIC",
    "slices": "COLUMN",
    "train": "FILE",
    "truth": "FILE",
    "within": "COLUMN",
}
"""What the text after an option is, where its name alone does not tell."""


def _option(
    flag: str,
    name: str,
    kind: Any,
    default: Any,
    *,
    help: str,  # noqa: A002 - click's own name
    least: int | None = None,
    **more: Any,
) -> Callable[[_F], _F]:
    """Return the option of a parameter, read as its type asks."""
    members = {member for member in get_args(kind) or (kind,) if member is not type(None)}
    if members == {bool}:
        is_switch = default is None and "/" not in flag
        flag = f"{flag}/--no-{flag[2:]}" if is_switch else flag
        more["show_default"] = isinstance(more["show_default"], str) and more["show_default"]
    if any(get_origin(member) is Sequence for member in (kind, *members)):
        help += "; may be repeated"  # noqa: A001
    as_type = {} if "multiple" in more else _form_of(kind, members, default, least)
    declared = {"metavar": _METAVARS.get(name), "default": default, **more, **as_type}
    return click.option(flag, name, help=f"{help}." if help else None, **declared)


def _form_of(kind: Any, members: set[Any], default: Any, least: int | None) -> dict[str, Any]:
    """Return how click reads a value of a type, of whose alternatives these are the ``members``."""
    choices = [c for part in (*members, kind) for c in get_args(part) if isinstance(c, str)]
    origins = [get_origin(part) for part in (kind, *members)]
    if choices:
        return {"type": click.Choice(list(dict.fromkeys(choices)))}
    if members == {bool}:
        return {} if default is None else {"is_flag": True}
    if {float, str} <= members:
        return {
            "metavar": "SIZE",
            "callback": lambda _ctx, _param, size: None if size is None else margin(size),
        }
    if Sequence in origins:
        return {
            "multiple": True,
            "default": (),
            "show_default": False,
            "callback": lambda _ctx, _param, several: several or default,
        }
    if tuple in origins:
        return {"nargs": 2, "type": float}
    if int in members:
        return {"type": int if least is None else click.IntRange(least)}
    return {"type": float} if float in members else {}


def table_options(function: _F) -> _F:
    """Add the options of the tables beside recommendations and ground truth."""
    texts = {
        "train": "Training interactions, for popularity, histories and the catalogue.",
        "items": "The catalogue, with categories, features or groups of items.",
        "users": "One row per user: groups, and columns for --by and --weights.",
        "reference": "The recommendation lists of another system, for overlap metrics.",
    }
    for role in reversed(texts):
        function = click.option(f"--{role}", metavar="FILE", help=texts[role])(function)
    return function


def given_options(ctx: click.Context, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given explicitly, because a convention sets the rest."""
    default = click.core.ParameterSource.DEFAULT
    return {
        name: value
        for name, value in options.items()
        if ctx.get_parameter_source(name) is not default
    }


def engine_options(function: _F) -> _F:
    """Add the options that choose where a command works: this process, or Spark."""
    options = (
        click.option(
            "--engine",
            type=click.Choice(["local", "spark"]),
            default="local",
            show_default=True,
            help="Evaluate in this process, or on Spark, which then reads the files.",
        ),
        click.option(
            "--master", metavar="URL", help="Spark's master, such as 'local[4]' or 'yarn'."
        ),
        click.option(
            "--buckets", type=click.IntRange(1), help="Number of buckets of users on Spark."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def spark_options(
    ctx: click.Context, engine: str, master: str | None, buckets: int | None
) -> dict[str, Any] | None:
    """Return the arguments of `rankwise.spark` functions, with a session; None for this process."""
    if engine == "local":
        if master is not None or buckets is not None:
            raise click.UsageError("--master and --buckets need --engine spark", ctx)
        return None
    from rankwise.errors import UsageError

    try:
        from rankwise.spark import session
    except ImportError as error:
        raise UsageError(str(error)) from error
    return {"spark": session(master), "buckets": buckets}


def largest_loss_option(function: _F) -> _F:
    """Add the option ``--largest-loss``: a number for all metrics, or one for each."""
    return click.option(
        "--largest-loss",
        multiple=True,
        default=(),
        show_default=False,
        metavar="[METRIC=]LOSS",
        callback=_largest_losses,
        help="The largest change of one user that is taken to be possible; stated before, for all "
        "metrics (0.5) or one ('ndcg@10=0.5').  [default: the range of the metric]",
    )(function)


def _largest_losses(
    ctx: click.Context, option: click.Parameter, texts: tuple[str, ...]
) -> float | dict[str, float] | None:
    """Return one loss for all metrics, or the loss of each; None if none is stated."""
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        try:
            return float(texts[0])
        except ValueError:
            raise click.BadParameter(f"{texts[0]!r} is not a number", ctx, option) from None
    return named_values(ctx, option, texts, "METRIC=LOSS", float, at_last=True)


def choice_option(*names: str, kind: Any, **more: Any) -> Callable[[_F], _F]:
    """Return an option whose choices are the values of a `Literal`."""
    shown = "default" in more
    return click.option(*names, type=click.Choice(get_args(kind)), show_default=shown, **more)


def margin(text: str) -> float | str:
    """Return a margin as a number, or as text if the margin is a share."""
    if text.strip().endswith("%"):
        return text
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is neither a number nor a share such as 1%") from None


def metrics_option(text: str) -> Callable[[_F], _F]:
    """Return the option ``--metric`` with its help."""
    return click.option("-m", "--metric", "metrics", multiple=True, metavar="METRIC", help=text)


column_option = click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_columns,
    metavar="ROLE=COLUMN",
    help="Column of a role: user=uid, truth.relevance=stars, rank= (none), …; may be repeated.",
)

time_unit_option = choice_option(
    "--time-unit",
    kind=TimeUnit,
    help="Unit of numeric timestamps.  [default: guessed from their magnitude]",
)

time_format_option = click.option(
    "--time-format",
    metavar="FORMAT",
    help="Format of dates, such as %d/%m/%Y.  [default: ISO 8601, or the only one that fits all "
    "rows]",
)


def output_options(function: _F, kind: Any = _Format) -> _F:
    """Add ``--format`` and ``-o``; the format defaults to the suffix of ``-o``."""
    help_text = "Format of the output.  [default: by the suffix of -o, else table]"
    form = choice_option("--format", "form", kind=kind, callback=_format, help=help_text)
    help_text = "File to write to, instead of stdout."
    return form(click.option("-o", "--output", type=PATH, is_eager=True, help=help_text)(function))


def compare_output_options(function: _F) -> _F:
    """Add the same, with the paragraph on the method."""
    return output_options(function, _CompareFormat)


def trec_output_options(function: _F) -> _F:
    """Add the same, with the format of trec_eval and its options."""
    size = click.option(
        "--catalogue-size",
        type=click.IntRange(0),
        help="Number of documents, for utility in --format trec.",
    )
    topics = click.option(
        "--per-topic", is_flag=True, help="With --format trec: lines for each topic as well."
    )
    return output_options(topics(size(function)), _TrecFormat)


def _format(ctx: click.Context, _option: click.Parameter, form: str | None) -> str:
    """Return the format of the output: as given, or by its suffix."""
    output = ctx.params["output"]
    if form is not None or output is None:
        return form or "table"
    if output.suffix not in _SUFFIXES:
        raise click.UsageError(f"-o writes {', '.join(_SUFFIXES)}; else pass --format", ctx)
    return _SUFFIXES[output.suffix]


def detail_options(function: _F) -> _F:
    """Add ``-v`` and ``-q``."""
    text = "Print the verdict alone."
    function = click.option("-q", "--quiet", is_flag=True, help=text)(function)
    text = "Print everything that is known: every column, caveat and input."
    return click.option("-v", "--verbose", is_flag=True, help=text)(function)


def detail_of(ctx: click.Context, *, verbose: bool, quiet: bool) -> Detail:
    """Return how much is printed."""
    if verbose and quiet:
        raise click.UsageError("--verbose and --quiet exclude each other", ctx)
    return "full" if verbose else "verdict" if quiet else "table"


def coloured(stream: Any) -> bool:
    """Return whether a stream is a terminal and ``NO_COLOR`` is not set."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR")


def write_out(shown: Any, form: str, output: Path | None, detail: Detail = "table") -> None:
    """Write a text, or an object with a display and an ``export``, to stdout or into a file."""
    from rankwise.core.terminal import plain
    from rankwise.tables.storage import write_text

    def text() -> str:
        if isinstance(shown, str):
            return shown
        if form != "table":
            return str(shown.export(form))
        return (
            plain(*shown.views_at(detail), coloured=output is None and coloured(sys.stdout)) + "\n"
        )

    if output is None:
        click.echo(text(), nl=False)
    else:
        with contextlib.redirect_stdout(io.StringIO()):  # a file is as wide as its lines
            write_text(output, text())


def summary_option(text: str) -> Callable[[_F], _F]:
    """Return the option ``--summary`` with its help."""
    return click.option("--summary", type=PATH, metavar="FILE", help=text)


@dataclass(frozen=True)
class ResultOutput:
    """Where a command puts its result: on the terminal or in a file, and in a folder."""

    form: str
    output: Path | None
    detail: Detail
    save: Path | None

    def write(self, result: Any) -> None:
        """Save the result if a folder was named, and write it out."""
        if self.save is not None:
            result.save(self.save)
        write_out(result, self.form, self.output, self.detail)


def result_options(function: _F) -> _F:
    """Add ``--save``, ``--format``, ``-o``, ``-v`` and ``-q``; the command gets them as ``out``."""

    @wraps(function)
    def command(
        *args: Any,
        form: str,
        output: Path | None,
        verbose: bool,
        quiet: bool,
        save: Path | None,
        **options: Any,
    ) -> Any:
        detail = detail_of(click.get_current_context(), verbose=verbose, quiet=quiet)
        return function(*args, out=ResultOutput(form, output, detail, save), **options)

    in_folder = click.option("--save", type=PATH, metavar="DIR", help=_SAVE)
    decorated: Any = in_folder(output_options(detail_options(command)))
    return decorated  # type: ignore[no-any-return]


_SAVE = "Save the result in a folder."

table_or_json = choice_option("--format", "form", kind=Literal["table", "json"], default="table")
