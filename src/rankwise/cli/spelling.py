"""How a command spells what the library's messages name: as its options, or as keys of a file.

The library says ``duplicates="first"``; who typed a command needs ``--duplicates first``, and who
wrote a configuration file ``evaluation: {duplicates: first}``. What an option is called follows
from the options of the command, so that no message is written twice.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

import click

from rankwise.messages import Parameter, Reference

_OF_FILES = ("run", "check", "plan")
"""Commands whose options stand in a configuration file."""


def spelling_of(
    command: click.Command, group: click.Group
) -> Callable[[Parameter | Reference], str]:
    """Return the function that spells parameters and functions as a command does.

    Results are compared, split and audited for the sake of `evaluate`, so that messages of the
    other commands speak of its options too.
    """
    if command.name in _OF_FILES:
        try:
            from rankwise.experiments.keys import spell_as_key
        except ImportError:  # the error is that what reads configurations is not installed
            return str
        return spell_as_key

    context = click.Context(group)
    evaluate = group.get_command(context, "evaluate")
    assert evaluate is not None
    options = _options(evaluate) | _options(command)
    commands = group.list_commands(context)

    def spell(named: Parameter | Reference) -> str:
        if isinstance(named, Parameter):
            return _as_option(named, options)
        name = named.function.replace("_", "-")
        if name not in commands:
            return str(named)
        of_command = group.get_command(context, name)
        assert of_command is not None
        given = [_as_option(parameter, _options(of_command)) for parameter in named.given]
        return " ".join([f"rankwise {name}", *(["…", *given] if given else [])])

    return spell


def flag_of(option: click.Parameter) -> str:
    """Return the long flag of an option."""
    return max(option.opts, key=len)


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return options by the names that the library may use: the parameter's and the flag's."""
    options = [option for option in command.params if isinstance(option, click.Option)]
    by_flag = {
        flag_of(option).lstrip("-").replace("-", "_"): option
        for option in options
        if flag_of(option).startswith("--")
    }
    return by_flag | {option.name: option for option in options if option.name}


def _as_option(parameter: Parameter, options: Mapping[str, click.Option]) -> str:
    """Return a parameter as an option; as in Python if the command has no such option."""
    option = options.get(parameter.name)
    if option is None:
        return str(parameter)
    flag = flag_of(option)
    if parameter.source is None or option.is_flag:
        is_off = parameter.source == "False" and option.secondary_opts
        return option.secondary_opts[-1] if is_off else flag
    if not parameter.source:
        choices = getattr(option.type, "choices", ())
        return f"{flag} {option.metavar or '|'.join(choices) or option.type.name.upper()}"
    words = _words(parameter.value)
    if option.nargs > 1:  # a pair is one value
        return " ".join([flag, *words])
    return " ".join(f"{flag} {word}" for word in words)


def _words(value: object) -> list[str]:
    """Return a value as words of the command line: a mapping or a list as several."""
    if isinstance(value, dict):
        words = [f"{key}={'' if each is None else each}" for key, each in value.items()]
    elif isinstance(value, list | tuple):
        words = [str(each) for each in value]
    else:
        words = [str(value)]
    return [word if re.fullmatch(r"[\w.…@:=-]*", word) else shlex.quote(word) for word in words]
